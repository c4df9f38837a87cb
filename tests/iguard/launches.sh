#!/bin/sh
# launches.sh - launches.cu under iguard alone: launches.sh COLLIDER NVCC SOURCE WORK
#
# iguard compares no two launches, whoever judges their kernels: where nothing orders two the run is partial, and
# nothing is reported of two that other kernels order. In one stream the run is complete.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
"$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o program
bad=0
for kernels in strong all; do
	while read -r way says; do
		for seed in 1 2 3; do
			"$collider" run --device=cpu --detector=iguard --iguard-kernels=$kernels --seed=$seed \
				--log-file=report ./program "$way"
			if ! grep -q "^$says" report || grep 'RACE' report; then
				echo "FAIL: $kernels, $way, seed $seed"
				cat report
				bad=1
			fi
		done
	done <<END
together PARTIAL:
chain PARTIAL:
stream Complete:
END
done
exit $bad
