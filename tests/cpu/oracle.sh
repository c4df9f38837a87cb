#!/bin/bash
# oracle.sh - the oracle on the examples or the race-free programs, and --verify.
#
#   oracle.sh COLLIDER WORKDIR [-k SEEDS]
#   SETS=racefree oracle.sh COLLIDER WORKDIR [-k SEEDS]
#
# Every racy example is told in every seed (20; those with `// detector: oracle seldom` in one of 20),
# every fixed one is clean in all of them, as are the race-free programs of tests/gpu. Then
# --verify on instrumented programs: what collide tells is confirmed (exit code that of the
# program), and its refusal: no GPU. Then the examples in the other memory models.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
collider=$(readlink -f "$1")
work=$2
shift 2
mkdir -p "$work"
unset COLLIDER_OPTIONS COLLIDER_CUDART COLLIDER_CPU
if [ "${SETS:-examples}" = racefree ]; then
	[ $# -gt 0 ] || set -- -k 20
	HOWS=plain "$root/tests/gpu/build.sh" "$work" "$collider"
	DETECTOR=oracle DEVICE=cpu "$root/tests/gpu/run_racefree.sh" "$work" "$collider" "$@"
	exit
fi
SETS=examples "$root/tests/gpu/build.sh" "$work" "$collider"
DETECTOR=oracle DEVICE=cpu "$root/tests/gpu/run_races.sh" "$work" "$collider" "$@"

for name in reduction histogram.fixed scan warp_sync shared_init; do
	for seed in 1 2; do
		rc=0
		"$collider" run --verify --seed=$seed --log-file=/dev/null -- "$work/collide/$name" \
			>/dev/null 2>"$work/verify.err" || rc=$?
		[ $rc -le 1 ] && grep -q 'the oracle confirms all' "$work/verify.err" || {
			echo "--verify of $name, seed $seed: exit code $rc"
			cat "$work/verify.err"
			exit 1
		}
	done
done
rc=0
"$collider" run --detector=oracle --device=gpu -- "$work/plain/scan" 2>/dev/null >&2 || rc=$?
[ $rc -eq 2 ] || [ $rc -eq 3 ] || { echo "--device=gpu: exit code $rc, expected 2"; exit 1; }

# The other memory models.
for model in weak a1; do
	COLLIDER_OPTIONS=memory-model=$model DETECTOR=oracle DEVICE=cpu \
		"$root/tests/gpu/run_races.sh" "$work" "$collider" -k 2
done
echo "verified"
