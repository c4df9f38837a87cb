#!/bin/sh
# together.sh - a kernel that asks which lanes run together is named in a note:
#	together.sh COLLIDER NVCC SOURCE WORK [DEVICE]
#
# What works on lanes that it names computes what it does without checks. DEVICE is cpu or gpu; without
# a GPU the exit code is 77 then.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4 device=${5:-cpu}
[ "$device" = cpu ] || [ -e /dev/nvidia0 ] || exit 77
mkdir -p "$work"

run() { # DETECTOR
	if [ "$device" = gpu ]; then
		"$collider" nvcc --sanitize="$1" -O2 -lineinfo -arch=native "$source" -o "$work/together"
	fi
	"$collider" run --device="$device" --detector="$1" --log-file="$work/report" "$work/together" >"$work/out"
}

[ "$device" = gpu ] || "$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 \
	"$source" -o "$work/together"
for detector in hirace iguard hirace,iguard; do
	run $detector || {
		echo "FAIL $detector: $(cat "$work/out")"
		exit 1
	}
	[ "$(grep -c '^Note: asks(.*which lanes of its warp run together' "$work/report")" = 1 ] &&
		! grep -q '^Note: names_them' "$work/report" || {
		echo "FAIL $detector: no note, or a wrong one"
		cat "$work/report"
		exit 1
	}
done
run collide
! grep -q 'which lanes' "$work/report" || {
	echo "FAIL: a note without checks that part lanes"
	exit 1
}
