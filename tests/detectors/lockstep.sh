#!/bin/sh
# lockstep.sh COLLIDER NVCC SOURCE WORK - where code counts on lanes in lockstep, some schedules part them: blocks
# disagree in what they compute. Where __syncwarp() orders the lanes they never do, and nothing is reported; nor where
# a flag is polled. iguard and hirace report the same.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
"$nvcc" -O2 -std=c++14 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o lockstep
bad=0 parted=0
for seed in 1 2 3 4 5; do
	"$collider" run --device=cpu --seed=$seed --log-file=report ./lockstep >out
	grep -q '^waits 0$' out || { echo "FAIL seed $seed: right code: $(grep waits out)"; bad=1; }
	grep -q '^counts 0$' out || parted=$((parted + 1))
	grep -q 'VOLATILE CONFLICT.*' report || { echo "FAIL seed $seed: no conflict reported"; bad=1; }
	! grep -q 'sum<true>\|polls\|meets\|DATA RACE' report || { echo "FAIL seed $seed: more than that is reported"; bad=1; }
done
for d in iguard hirace; do
	"$collider" run --device=cpu --detector=$d --log-file=report ./lockstep >out
	grep -q 'VOLATILE CONFLICT.*' report || { echo "FAIL: $d reports no conflict"; bad=1; }
	! grep 'sum<true>\|polls\|meets\|DATA RACE' report || { echo "FAIL: $d reports more than that"; bad=1; }
done
[ $parted -ge 3 ] || { echo "FAIL: lanes parted with $parted of 5 seeds only"; bad=1; }
exit $bad
