#!/bin/sh
# published.sh - collider run --hirace: published.sh COLLIDER NVCC SOURCE WORK
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
"$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o plain

run() {
	"$collider" run --device=cpu --detector=hirace --hirace="$1" --log-file="$1" ./plain
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
