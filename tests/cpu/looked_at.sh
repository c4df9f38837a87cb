#!/bin/sh
# looked_at.sh - loads that are only looked at make a run partial: looked_at.sh COLLIDER NVCC SOURCE WORK
#
# hirace and iguard follow the values of kernel `few`, and of `many` not all: that is partial, and names the
# kernel. The default judges all accesses, so both are complete. Nothing is found in either.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
"$nvcc" -O3 -std=c++14 -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o sums
bad=0

expect() { # DETECTOR KERNEL WHAT: the arguments' rest is the program's
	detector=$1 kernel=$2 what=$3
	shift 3
	"$collider" run --device=cpu --seed=1 $detector --error-exitcode=9 --log-file=report ./sums "$@"
	grep -q "$what" report || { cat report; echo "FAIL $kernel, ${detector:-default}: not '$what'"; bad=1; }
}

for detector in --detector=hirace --detector=iguard; do
	expect $detector few '^Complete:'
	expect $detector many '^  kernel many(int), [0-9]* loads: loads that were only looked at' x
done
expect "" few '^Complete:'
expect "" many '^Complete:' x
exit $bad
