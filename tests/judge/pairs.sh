#!/bin/bash
# pairs.sh COLLIDER FOLDER PROGRAM... - programs of pairs (pairs/pairs.h) on the CPU device: of each racy
# kernel there is a finding, of no twin. On a GPU the judge beside it finds the same (docs/results/judge.md).
set -u
collider=$1 work=$2
shift 2
unset COLLIDER_OPTIONS
export PAIRS_SMALL=1
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 2
bad=0
for program in "$@"; do
	timeout 300 "$collider" run --device=cpu --cpu-devices=2 --detector=oracle "$program" all >racy.out 2>&1
	[ $? = 3 ] || { echo "$program: exit code"; tail -5 racy.out; bad=1; }
	pairs=0
	for name in $("$collider" run --device=cpu --quiet "$program" 2>/dev/null); do
		pairs=$((pairs + 1))
		grep -q "^    .* k_$name<false>" racy.out || { echo "$name: not found"; bad=1; }
	done
	[ $pairs -ge 3 ] || { echo "$program: $pairs pairs"; bad=1; }
	timeout 300 "$collider" run --device=cpu --cpu-devices=2 --detector=oracle "$program" all.fixed >fixed.out 2>&1
	[ $? = 3 ] && grep -q '^Result *: no race seen in' fixed.out ||
		{ echo "$program, the twins:"; grep -E '^Result| in void k_' fixed.out; bad=1; }
done
exit $bad
