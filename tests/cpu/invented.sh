#!/bin/bash
# invented.sh - the kernels of invented/taken.cu under a detector: used_* are data races in each run, and
# of kept_* nothing counts: what their loads read is discarded, so a race of it is only possible.
#
#   invented.sh COLLIDER PROGRAM [SEEDS [DETECTOR [DEVICE]]]
#
# On a GPU (DEVICE gpu) PROGRAM must be built with DETECTOR.
collider=$1 program=$2 seeds=${3:-2} detector=${4:-oracle} device=${5:-cpu}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset COLLIDER_OPTIONS COLLIDER_CPU
bad=0 nkernels=0 nraces=0 npossible=0
# By collider, since a machine may have no other CUDA runtime than its CPU device's.
names=$("$collider" run --device=cpu --detector=none --quiet -- "$program" LIST 2>/dev/null)
nkernels=$(wc -w <<<"$names")
for ((seed = 1; seed <= seeds; seed++)); do
	timeout 120 "$collider" run --device=$device --detector=$detector --seed=$seed --json="$work/json" -- \
		"$program" ALL >"$work/out" 2>&1
	# Without an end there is no verdict.
	grep -q '"type":"summary"' "$work/json" || { cat "$work/out"; exit 1; }
	grep '"type":"finding"' "$work/json" >"$work/found"
	for name in $names; do
		counted=$(grep -F "\"function\":\"$name(" "$work/found" | grep -c '"counts":true')
		possible=$(grep -F "\"function\":\"$name(" "$work/found" | grep -c '"counts":false')
		nraces=$((nraces + (counted > 0)))
		npossible=$((npossible + (possible > 0)))
		case $name,$counted in
		used_*,0) echo "FAIL: $name, seed $seed: no data race, $possible possible" && bad=1 ;;
		kept_*,[1-9]*) echo "FAIL: $name, seed $seed: $counted data races" && bad=1 ;;
		esac
	done
done
echo "$nkernels kernels, $seeds seeds each; $nraces runs with a data race, $npossible with a possible one"
[ $nkernels -ge 60 ] || { echo "FAIL: $nkernels kernels, expected 60"; bad=1; }
# nvcc must really have moved loads, or the twins show nothing; others than the oracle need not look.
[ $detector != oracle ] || [ $npossible -ge $((seeds * 15)) ] || { echo "FAIL: hardly any load was moved"; bad=1; }
exit $bad
