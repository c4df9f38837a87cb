#!/bin/bash
# mix.sh - the examples on the CPU device: thread-instructions a second of processor time.
#
#   mix.sh DIR COLLIDER      DIR is what tests/gpu/build.sh made; prints one line a program
#
# The time is the whole process's, loading and host code included.
set -eu
dir=$1
lib=$(dirname "$(readlink -f "$2")")/../lib/collider/cpu/libcudart.so.13
for how in plain collide; do
	total=0
	time=0
	for bin in "$dir/$how"/*; do
		name=$(basename "$bin")
		[ -f "$dir/src/examples/$name.cu" ] || continue
		line=$(COLLIDER_CPU=seed=1:device-stats LD_PRELOAD=$lib "$bin" 2>&1 >/dev/null |
			sed -n 's/.* \([0-9]*\) thread instructions, \([0-9.]*\) s.*/\1 \2/p')
		echo "$how $name $line" | awk '{ printf "%-8s %-22s %12d %7.3f s %8.1f M/s\n", $1, $2, $3, $4, $3 / $4 / 1e6 }'
		total=$(echo "$total + ${line% *}" | bc)
		time=$(echo "$time + ${line#* }" | bc)
	done
	echo "$how all $total $time" | awk '{ printf "%-8s %-22s %12d %7.3f s %8.1f M/s\n", $1, $2, $3, $4, $3 / $4 / 1e6 }'
done
