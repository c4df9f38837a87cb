#!/bin/bash
# beside.sh - what is proven of a launch hides no race with what runs beside it (beside.cu).
#
#   beside.sh COLLIDER BESIDE gpu|cpu [FORM...]
#
# Each form without proofs, with those that time allows, and with all of them: its race is found in
# one of SEEDS (5) runs, its twin is silent in each of TWINS (2). Forms that the device can't run are
# named. Exit code 77 without a GPU.
set -u
collider=$1
program=$2
device=$3
shift 3
seeds=${SEEDS:-5}
twins=${TWINS:-2}
rounds=2000
[ "$device" = cpu ] && rounds=40
[ "$device" = cpu ] || nvidia-smi -L >/dev/null 2>&1 || exit 77
[ $# -gt 0 ] || set -- streams late slip reuse managed pinned graph programmatic
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset COLLIDER_OPTIONS
export XDG_CACHE_HOME=$work/cache
mkdir "$work/cache"
bad=0

# run SEED PRUNE FORM: the number of races found, or "skip", or what went wrong
run() {
	local rc judge=
	[ "$device" = cpu ] || judge=--judge=off
	timeout 60 "$collider" run --device="$device" ${judge:+"$judge"} --seed="$1" --prune="$2" \
		--json="$work/report" -- "$program" "$3" $rounds >"$work/out" 2>"$work/err"
	rc=$?
	if grep -q 'not supported' "$work/out" || [ $rc -eq 77 ]; then
		echo skip
	elif [ "$(tail -1 "$work/out")" != "$3" ]; then
		echo "exit code $rc: $(tail -1 "$work/out") $(tail -1 "$work/err")"
	else
		grep '"type"[[:space:]]*:[[:space:]]*"finding"' "$work/report" | grep -vc 'possible'
	fi
}

for form; do
	for prune in none auto proved; do
		found=0
		for ((s = 1; s <= seeds; s++)); do
			found=$(run $s $prune "$form")
			[ "$found" = 0 ] || break
		done
		quiet=0
		for ((t = 1; t <= twins; t++)); do
			quiet=$(run $t $prune "${form}_apart")
			[ "$quiet" = 0 ] || break
		done
		verdict=ok
		if [ "$found" = skip ]; then
			verdict="not on this device"
		elif [[ ! $found =~ ^[0-9]+$ ]] || [ "$found" -eq 0 ] || [ "$quiet" != 0 ]; then
			verdict=FAIL
			bad=1
		fi
		printf '%-13s %-7s race %-3s twin %-3s %s\n' "$form" $prune "$found" "$quiet" "$verdict"
	done
done
# That launches ran unchecked at all.
run 1 proved late >/dev/null
proven=$(grep -cE 'launches proven|proven for these' "$work/err")
[ "$device" = cpu ] || [ "$proven" -gt 0 ] || { echo "FAIL: no launch was proven: $(cat "$work/err")"; bad=1; }
exit $bad
