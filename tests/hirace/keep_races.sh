#!/bin/sh
# keep_races.sh - an example compiled as by --keep-races: keep_races.sh COLLIDER NVCC EXAMPLES WORK [DEVICE]
#
# At -O0 the barriers of warps are in functions of the toolkit that are called. hirace and iguard
# report a data race of the racy one, and nothing of its fixed twin. DEVICE is cpu or gpu; without a GPU
# the exit code is 77 then.
set -eu
collider=$1 nvcc=$2 examples=$3 work=$4 device=${5:-cpu}
[ "$device" = cpu ] || [ -e /dev/nvidia0 ] || exit 77
mkdir -p "$work"
cd "$work"
bad=0
for name in warp_sync; do
	for end in "" .fixed; do
		[ "$device" = gpu ] ||
			"$nvcc" -Xcicc -O0 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 \
				-I "$examples" "$examples/$name$end.cu" -o plain
		for detector in hirace iguard; do
			[ "$device" = cpu ] ||
				"$collider" nvcc --sanitize=$detector --keep-races -arch=native -I "$examples" \
					"$examples/$name$end.cu" -o plain
			"$collider" run --device="$device" --detector=$detector --format=json \
				--log-file=report ./plain >out 2>&1 || true
			races=$(grep '"type":"finding"' report | grep -c '"class":"data-race"') || true
			all=$(grep -c '"type":"finding"' report) || true
			if [ -z "$end" ] && [ "$races" = 0 ]; then
				echo "FAIL $name: no data race by $detector"
				bad=1
			elif [ -n "$end" ] && [ "$all" != 0 ]; then
				echo "FAIL $name$end: $all findings by $detector"
				bad=1
			fi
			grep -q '"type":"summary"' report || { echo "FAIL $name$end: no report"; bad=1; }
		done
	done
done
exit $bad
