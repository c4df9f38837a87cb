#!/bin/sh
# exits.sh - threads that exit before others' barrier: exits.sh COLLIDER NVCC SOURCE WORK
#
# Under hirace and iguard each such kernel of the source is judged in part, with the kernel's name in text and JSON and
# --fail-partial's exit code, found or not; its twin is complete and has no finding. The oracle names the race itself.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
"$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o plain
bad=0
names="by_thread by_number by_value by_call"

fail() {
	echo "FAIL $*"
	cat report
	bad=1
}

code() { # NUMBER OPTION...
	number=$1
	shift
	rc=0
	"$collider" run --device=cpu --fail-partial "$@" -- ./plain "$number" >report 2>&1 || rc=$?
}

for detector in hirace iguard; do
	n=0
	for name in $names; do
		code $n --detector=$detector
		[ $rc = 74 ] || fail "$detector, $name: exit code $rc"
		grep -q "$name(.*different numbers of barriers" report || fail "$detector, $name: no reason"
		code $n --detector=$detector --format=json
		grep -q '"outside-model"' report || fail "$detector, $name: no reason in JSON"
		code $((n + 1)) --detector=$detector --error-exitcode=9
		[ $rc = 0 ] || fail "$detector, ${name}_fixed: exit code $rc"
		n=$((n + 2))
	done
done
n=0
for name in $names; do
	code $n --detector=oracle --error-exitcode=9
	[ $rc = 9 ] || fail "oracle, $name: exit code $rc"
	code $((n + 1)) --detector=oracle --error-exitcode=9
	[ $rc = 0 ] || fail "oracle, ${name}_fixed: exit code $rc"
	n=$((n + 2))
done
exit $bad
