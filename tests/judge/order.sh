#!/bin/bash
# order.sh COLLIDER FOLDER PROGRAM PTX [DRIVER] - what the API orders, judged beside a GPU, or without
# one by the CPU device's driver library (in the folder DRIVER): each case of order.c is found, and
# no twin has a finding.
set -u
collider=$1 work=$2 program=$3 ptx=$4
[ $# -lt 5 ] || export LD_LIBRARY_PATH=$5 COLLIDER_CPU=cpu-devices=2
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS LD_PRELOAD CUDA_MODULE_LOADING
rm -rf "$work" && mkdir -p "$work/tmp" && cd "$work" || exit 2
export XDG_CACHE_HOME=$work/cache TMPDIR=$work/tmp
bad=0
names=$("$collider" run --device=gpu --load=off --detector=none --judge=auto "$program" "$ptx" 2>&1 | grep -E "^[a-z_]+(\.fixed)?$")
[ -n "$names" ] || { echo "FAIL: no cases"; bad=1; }
for name in $names; do
	out=$work/$name.out
	timeout 100 "$collider" run --device=gpu --load=off --detector=none --judge=auto \
		"$program" "$ptx" "$name" >"$out" 2>&1
	rc=$?
	n=$(grep -cE '^[0-9]+\. DATA RACE' "$out")
	case $name in
	*.fixed) want=0 ;;
	*) want=1 ;;
	esac
	[ $rc = 3 ] && [ $((n > 0)) = $want ] && continue
	echo "FAIL: $name: exit code $rc, $n data races"
	cat "$out"
	bad=1
done
# Calls by chance: what is found is a race by the CPU device's oracle, which sees all of the program.
seeds=0
[ $# -lt 5 ] || seeds=8
for seed in $(seq $seeds); do
	timeout 100 "$collider" run --device=gpu --load=off --detector=none --judge=auto \
		"$program" "$ptx" chance "$seed" >judge.out 2>&1
	[ $? = 3 ] || { echo "FAIL: seed $seed"; cat judge.out; bad=1; }
	grep -qE '^[0-9]+\. DATA RACE' judge.out || continue
	for s in 1 2 3 none; do
		[ $s = none ] && { echo "FAIL: seed $seed: no race"; cat judge.out; bad=1; break; }
		timeout 100 "$collider" run --device=cpu --detector=oracle --seed=$s \
			"$program" "$ptx" chance "$seed" >oracle.out 2>&1
		grep -qE '^[0-9]+\. DATA RACE' oracle.out && break
	done
done
exit $bad
