#!/bin/bash
# no_memory.sh - without memory the agent steps aside: the program's results stay, and what went
# unchecked is said.
#
#   no_memory.sh LIBRARY SCENARIO_PROGRAM AGENT FAKE_CUPTI FOLDER
#
# LIBRARY is tests/cudart/no_memory.c. Each scenario is run with each allocation of the agent
# failing, alone and with all after it: the same output and exit code as always, and if the report
# is not the usual one, a line says that there was no memory.
set -u
lib=$1 program=$2 agent=$3 cupti=$4 folder=$5
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export CUDA_INJECTION64_PATH=$agent COLLIDER_CUPTI=$cupti NO_MEMORY_IN=libcollider_agent
unset COLLIDER_OPTIONS
failed=0 runs=0 said=0

play() { # play NAME: what the program writes goes to out, the agent's words to err
	timeout 60 env LD_PRELOAD="$lib" "$program" "$1" "$folder" >"$work/out" 2>"$work/err"
}

for name in races clean plain graph first_use_in_capture two_contexts two_devices two_programs \
	library_before_context handle_again copies_clean streams; do
	NO_MEMORY_COUNT=$work/count play $name
	rc=$?
	[ $rc -eq 0 ] && [ "$(cat "$work/out")" = ok ] || { echo "FAIL $name by itself: $rc"; exit 1; }
	sed 's/0x[0-9a-f]*/0x/g' "$work/err" >"$work/usual"
	read -r total <"$work/count"
	[ "$total" -gt 3 ] || { echo "FAIL $name: only $total allocations were seen"; exit 1; }
	step=$((total / 40 + 1))
	for ((n = 1; n <= total; n += n < 30 ? 1 : step)); do
		for how in "$n" "$n+"; do
			NO_MEMORY=$how play $name
			rc=$?
			runs=$((runs + 1))
			if [ $rc -ne 0 ] || [ "$(cat "$work/out")" != ok ]; then
				echo "FAIL $name, NO_MEMORY=$how: exit code $rc, $(head -c 80 "$work/out")"
				failed=1
			fi
			sed 's/0x[0-9a-f]*/0x/g' "$work/err" | cmp -s - "$work/usual" && continue
			if grep -qE 'no (pinned )?memory|out of memory' "$work/err"; then
				said=$((said + 1))
				continue
			fi
			echo "FAIL $name, NO_MEMORY=$how: another report, and not a word why"
			sed 's/0x[0-9a-f]*/0x/g' "$work/err" | diff "$work/usual" - | head -5
			failed=1
		done
	done
done
[ $said -gt 0 ] || { echo "FAIL nothing was ever unchecked"; failed=1; }
echo "$runs runs, $said of them said what went unchecked"
exit $failed
