#!/bin/bash
# no_memory.sh - without memory calls fail, and nothing of ours ends the program.
#
#   no_memory.sh LIBRARY PROGRAM...   each is run with its Nth allocation failing, for some 60 N, alone
#                                     and with all after it
# The programs check every result: they end with 0, or with 1 and a line about an error code. A signal,
# our exit code 70 or a run that hangs is a failure.
set -u
lib=$1
shift
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0 runs=0 refused=0
export NO_MEMORY_IN=libcudart.so.13
for program; do
	NO_MEMORY_COUNT=$work/count LD_PRELOAD=$lib "$program" >/dev/null 2>&1 || { echo "$program fails by itself"; exit 1; }
	read -r total <"$work/count"
	[ "$total" -gt 20 ] || { echo "FAIL $program: only $total allocations were seen"; exit 1; }
	step=$((total / 30 + 1))
	for ((n = 1; n <= total; n += n < 10 ? 1 : step)); do
		for how in "$n" "$n+"; do
			NO_MEMORY=$how LD_PRELOAD=$lib timeout 60 "$program" >"$work/out" 2>&1
			rc=$?
			runs=$((runs + 1))
			refused=$((refused + (rc != 0)))
			[ $rc -le 1 ] || { echo "FAIL $program, NO_MEMORY=$how: exit code $rc"; tail -3 "$work/out"; failed=1; }
		done
	done
done
[ $refused -gt 0 ] || { echo "FAIL no call was ever refused"; failed=1; }
echo "$runs runs, $refused with a refused call"
exit $failed
