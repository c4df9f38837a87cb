#!/bin/bash
# followed.sh - the kernels of invented/followed.cu under a detector: a race for each that keeps what it reads,
# none for those that discard it. All kernels are launched by one process, and findings name theirs.
#
#   followed.sh COLLIDER PROGRAM DETECTOR LEAST [SEEDS [DEVICE]]
#
# LEAST: of so many of the 80 the race must be certain, in each run. With BUILT_G in the environment the program was
# built with -G, and the twins aren't run: without optimisation they read what they discard. On a GPU (DEVICE gpu)
# PROGRAM must be built with DETECTOR.
collider=$1 program=$2 detector=$3 least=$4 seeds=${5:-2} device=${6:-cpu}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset COLLIDER_OPTIONS COLLIDER_CPU
bad=0

# run MODE SEED: the kernels that were launched in $work/names, those with a data race in $work/races
run() {
	timeout 300 "$collider" run --device=$device --detector=$detector --seed=$2 --json="$work/json" --log-file="$work/log" -- \
		"$program" $1 >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
	grep -q '"type":"summary"' "$work/json" || { cat "$work/out" "$work/log"; exit 1; }
	grep -x '[a-z_0-9]*' "$work/out" | sort >"$work/names"
	# The first "function" is that of the finding.
	grep '"type":"finding".*"counts":true' "$work/json" |
		sed -n 's/"function":"/\n/; s/^[^\n]*\n\([a-z_0-9]*\).*/\1/p' |
		sort -u >"$work/races"
}

for ((seed = 1; seed <= seeds; seed++)); do
	run used $seed
	launched=$(wc -l <"$work/names") found=$(comm -12 "$work/names" "$work/races" | wc -l)
	echo "$detector, seed $seed: $found of $launched are data races"
	[ $launched = 80 ] || { echo "FAIL: $launched kernels, expected 80"; bad=1; }
	if [ $found -lt $least ]; then
		echo "FAIL: expected $least; missing:" $(comm -23 "$work/names" "$work/races")
		bad=1
	fi
	[ -z "$BUILT_G" ] || continue
	run kept $seed
	launched=$(wc -l <"$work/names")
	[ $launched = 73 ] || { echo "FAIL: $launched twins, expected 73"; bad=1; }
	[ ! -s "$work/races" ] || { echo "FAIL: data races of values that are discarded:" $(cat "$work/races"); bad=1; }
done
exit $bad
