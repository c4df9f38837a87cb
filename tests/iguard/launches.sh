#!/bin/sh
# launches.sh - launches.cu under iguard or hirace alone: launches.sh COLLIDER NVCC SOURCE WORK
#
# iguard compares no two launches, whoever judges their kernels: where nothing orders two the run is partial, and
# nothing is reported of two that other kernels order. In one stream the run is complete. hirace reports what nothing
# can order, and nothing of what kernels or functions of the host may order through memory.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
"$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o program
bad=0 race='1 data race found'
while read -r detector way says; do
	for seed in 1 2; do
		"$collider" run --device=cpu --detector=${detector%+} --iguard-kernels=$(
			case $detector in *+) echo all ;; *) echo strong ;; esac) --seed=$seed \
			--log-file=report ./program "$way"
		if ! grep -q "$says" report || { [ "$says" != "$race" ] && grep 'RACE' report; }; then
			echo "FAIL: $detector, $way, seed $seed"
			cat report
			bad=1
		fi
	done
done <<END
iguard together ^PARTIAL:
iguard+ together ^PARTIAL:
iguard chain ^PARTIAL:
iguard+ chain ^PARTIAL:
iguard stream ^Complete:
iguard+ stream ^Complete:
hirace together 1 data race found
hirace loose 1 data race found
hirace apart 1 data race found
hirace unheard 1 data race found
hirace chain no race seen
hirace own no race seen
hirace host no race seen
hirace stream ^Complete:
END
exit $bad
