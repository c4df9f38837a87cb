#!/bin/sh
# published.sh - collider run --hirace: published.sh COLLIDER NVCC SOURCE WORK [DEVICE]
#
# DEVICE is cpu or gpu; without a GPU the exit code is 77 then.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4 device=${5:-cpu}
[ "$device" = cpu ] || [ -e /dev/nvidia0 ] || exit 77
mkdir -p "$work"
cd "$work"
if [ "$device" = gpu ]; then
	"$collider" nvcc --sanitize=hirace -O2 -lineinfo -arch=native "$source" -o plain
else
	"$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o plain
fi

run() {
	"$collider" run --device="$device" --detector=hirace --hirace="$1" --log-file="$1" ./plain
	grep -q "no_barrier_race()" "$1" || { echo "FAIL: $1 misses a race"; exit 1; }
}

run corrected
run published
if grep -q "read_then_atomics_clean()" corrected; then
	echo "FAIL: corrected has a false alarm"
	exit 1
fi
grep -q "read_then_atomics_clean()" published || { echo "FAIL: not as published"; exit 1; }
grep -q "Note: --hirace=published" published || { echo "FAIL: no note"; exit 1; }
