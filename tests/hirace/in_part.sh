#!/bin/sh
# in_part.sh - cp.async that is checked in part: in_part.sh COLLIDER NVCC SOURCE WORK
#
# Each racy kernel of the source loses its race under hirace and iguard: the run must not be complete, and says why, in
# text and by --fail-partial's exit code. Its twin is complete and has no finding. The oracle names the race itself.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
"$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o plain
bad=0

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

partial() { # NUMBER KERNEL REASON
	for detector in hirace iguard; do
		code "$1" --detector=$detector
		[ $rc = 74 ] || fail "$detector, $2: exit code $rc"
		grep -q "$3" report || fail "$detector, $2: no reason"
		code $(($1 + 1)) --detector=$detector --error-exitcode=9
		[ $rc = 0 ] || fail "$detector, $2_fixed: exit code $rc"
	done
}

partial 0 by_call "cp.async whose wait may lie in another function"
partial 2 many "beyond 64 copies of a thread"
partial 4 by_size "cp.async, the end of its source"
partial 6 by_bytes "cp.async, the end of its source"
for detector in hirace iguard; do
	code 8 --detector=$detector --error-exitcode=9
	[ $rc = 9 ] || fail "$detector, beside: exit code $rc"
	code 9 --detector=$detector --error-exitcode=9
	[ $rc = 0 ] || fail "$detector, beside_fixed: exit code $rc"
done
for number in 0 2 4 6; do
	code $number --detector=oracle --error-exitcode=9
	[ $rc = 9 ] || fail "oracle, kernel $number: exit code $rc"
	code $((number + 1)) --detector=oracle --error-exitcode=9
	[ $rc = 0 ] || fail "oracle, kernel $((number + 1)): exit code $rc"
done
exit $bad
