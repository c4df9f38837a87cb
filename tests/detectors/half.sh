#!/bin/sh
# half.sh COLLIDER NVCC SOURCE WORK - what hirace or iguard know by one side alone is no finding beside the oracle's of
# that line, which has both; alone it is one, and so is that of another run. The twin has none.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
for d in hirace iguard; do
	for twin in race clean; do
		define=
		[ $twin = race ] || define=-DFIXED
		"$collider" nvcc --sanitize=$d $define -std=c++14 -lineinfo -cudart shared -arch=compute_90 "$source" \
			-o $d.$twin
	done
done
bad=0 halves=0
for d in hirace iguard; do
	# Which seed keeps half of the pair changes with the checks' code: the first of 40, four at least.
	found=0
	for seed in $(seq 1 40); do
		"$collider" run --device=cpu --detector=$d --seed=$seed --log-file=alone ./$d.race
		grep -q '^======== [1-9][0-9]* data race' alone || { echo "FAIL: $d alone, seed $seed, finds nothing"; bad=1; }
		if grep -q 'at a place that was not kept' alone; then
			found=1 halves=$((halves + 1))
		elif [ "$seed" -gt 4 ]; then
			continue
		fi
		"$collider" run --device=cpu --detector=oracle,$d --seed=$seed --log-file=both ./$d.race
		grep -q '^======== 1 data race' both || { echo "FAIL: $d, seed $seed: $(tail -1 both)"; bad=1; }
		! grep 'at a place that was not kept' both || { echo "FAIL: $d, seed $seed: half of a pair"; bad=1; }
		[ $found = 0 ] || [ "$seed" -lt 4 ] || break
	done
	rm -f whole half
	"$collider" run --device=cpu --detector=oracle --save=whole --log-file=other ./$d.race other
	for seed in $(seq 1 40); do
		"$collider" run --device=cpu --detector=$d --seed=$seed --save=half --log-file=alone ./$d.race
		! grep -q 'at a place that was not kept' alone || break
	done
	"$collider" report whole half >merged
	grep -q '^======== 2 data races' merged || { echo "FAIL: $d: two runs, two races: $(tail -1 merged)"; bad=1; }
	"$collider" run --device=cpu --detector=oracle,$d --log-file=both ./$d.clean
	! grep 'RACE' both || { echo "FAIL: $d: a race in right code"; bad=1; }
done
[ $halves -ge 1 ] || { echo "FAIL: no run alone has half of a pair, so nothing is shown"; bad=1; }
exit $bad
