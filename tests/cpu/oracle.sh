#!/bin/bash
# oracle.sh - the oracle on the examples or the race-free programs, and --verify.
#
#   oracle.sh COLLIDER PROGRAMS [-k SEEDS]
#   SETS=racefree oracle.sh COLLIDER PROGRAMS [-k SEEDS]
#
# PROGRAMS is the folder of tests/gpu/build.sh (here: of the target gpu_programs). Every racy example
# is reported in every seed (20; those with `// detector: oracle seldom` in one of 20), every fixed
# one is clean in all of them, as are the race-free programs of tests/gpu. Then --verify on instrumented
# programs: what collide reports is confirmed (exit code: that of the program), and that it is refused
# without a GPU. Then the examples in the other memory models.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
collider=$(readlink -f "$1")
programs=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset COLLIDER_OPTIONS COLLIDER_CUDART COLLIDER_CPU
if [ "${SETS:-examples}" = racefree ]; then
	[ $# -gt 0 ] || set -- -k 20
	DETECTOR=oracle DEVICE=cpu "$root/tests/gpu/run_racefree.sh" "$programs" "$collider" "$@"
	exit
fi
DETECTOR=oracle DEVICE=cpu "$root/tests/gpu/run_races.sh" "$programs" "$collider" "$@"

for name in reduction histogram.fixed scan warp_sync shared_init; do
	for seed in 1 2; do
		rc=0
		"$collider" run --verify --seed=$seed --log-file=/dev/null -- "$programs/collide/$name" \
			>/dev/null 2>"$work/verify.err" || rc=$?
		[ $rc -le 1 ] && grep -q 'the oracle confirms all' "$work/verify.err" || {
			echo "--verify of $name, seed $seed: exit code $rc"
			cat "$work/verify.err"
			exit 1
		}
	done
done
rc=0
"$collider" run --detector=oracle --device=gpu -- "$programs/plain/scan" 2>/dev/null >&2 || rc=$?
[ $rc -eq 2 ] || [ $rc -eq 3 ] || { echo "--device=gpu: exit code $rc, expected 2"; exit 1; }

# Some in the other memory models; tests/oracle/ptx has more for them.
for model in weak a1; do
	COLLIDER_OPTIONS=memory-model=$model DETECTOR=oracle DEVICE=cpu \
		"$root/tests/gpu/run_races.sh" "$programs" "$collider" -k 1 \
		counter scan histogram warp_sync reduction
done
# Most sightings are within a warp, the others decide what helps.
rc=0
"$collider" run --detector=oracle --log-file="$work/scan.txt" -- "$programs/plain/scan" >/dev/null 2>&1 || rc=$?
grep -q '__syncthreads() between the two' "$work/scan.txt" || {
	echo "scan: exit code $rc, no advice across warps"
	cat "$work/scan.txt"
	exit 1
}
# Limits, made low: what isn't judged is reported; a run that doesn't fit is refused. The twins fit.
limited() { # limited KEY=NUMBER: exit code in $rc, report in limits.txt
	rc=0
	"$collider" run --detector=oracle --log-file="$work/limits.txt" -- \
		env COLLIDER_CPU="seed=1:detector=oracle:$1" "$programs/plain/scan.fixed" \
		>/dev/null 2>"$work/limits.err" || rc=$?
}
limited oracle-actors=10000
[ $rc -eq 72 ] && grep -q 'the oracle is full' "$work/limits.err" &&
	! grep -q 'no race seen' "$work/limits.txt" || {
	echo "10000 actors: exit code $rc, expected 72 and a line"
	cat "$work/limits.err" "$work/limits.txt"
	exit 1
}
limited oracle-actors=1000000
[ $rc -eq 0 ] && grep -q 'no race seen' "$work/limits.txt" || { echo "10^6 actors: $rc"; exit 1; }
rc=0
"$collider" run --detector=oracle --log-file="$work/limits.txt" -- \
	env COLLIDER_CPU=seed=1:detector=oracle:oracle-records=4 "$programs/plain/counter.fixed" >/dev/null || rc=$?
[ $rc -eq 0 ] && grep -q 'accesses forgotten for want of room' "$work/limits.txt" || {
	echo "4 records: exit code $rc"
	cat "$work/limits.txt"
	exit 1
}
echo "verified"
