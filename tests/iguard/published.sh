#!/bin/sh
# published.sh - published.cu under the papers' rules: published.sh COLLIDER NVCC SOURCE WORK [DEVICE]
#
# iguard: each race and no twin. hirace, which knows barriers alone: each race; of the twins, that with a barrier must
# not be found. DEVICE is cpu or gpu; without a GPU the exit code is 77 then.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4 device=${5:-cpu}
[ "$device" = cpu ] || [ -e /dev/nvidia0 ] || exit 77
mkdir -p "$work"
cd "$work"
if [ "$device" = gpu ]; then
	"$collider" nvcc --sanitize=hirace,iguard -O2 -std=c++14 -lineinfo -arch=native "$source" -o program
else
	"$nvcc" -O2 -std=c++14 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o program
fi
bad=0
for detector in iguard hirace; do
	"$collider" run --device="$device" --detector=$detector --$detector=published --log-file=report ./program
	for name in lock fence ticket barrier; do
		grep -q "in ${name}_race()" report || { echo "FAIL: $detector misses ${name}_race"; bad=1; }
	done
	alarms='_clean()'
	[ $detector = iguard ] || alarms='barrier_clean()'
	! grep "$alarms" report || { echo "FAIL: $detector: right code"; bad=1; }
	# To the corrected detectors volatile accesses are strong.
	"$collider" run --device="$device" --detector=$detector --log-file=report ./program
	! grep '_clean()\|fence_race()\|barrier_race()' report || { echo "FAIL: $detector, corrected"; bad=1; }
	grep -q "in lock_race()" report || { echo "FAIL: $detector, corrected, misses lock_race"; bad=1; }
done
# The path of a source is part of hashes of its code: the same program at another one has the same report.
if [ "$device" = cpu ]; then
	mkdir -p elsewhere
	cp "$source" elsewhere/
	"$nvcc" -O2 -std=c++14 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 \
		"$work/elsewhere/published.cu" -o elsewhere/program
	for detector in iguard "hirace --hirace=published" collide,oracle; do
		# shellcheck disable=SC2086
		"$collider" run --device=cpu --detector=$detector --log-file=here ./program
		# shellcheck disable=SC2086
		(cd elsewhere && "$collider" run --device=cpu --detector=$detector --log-file=../there ./program)
		for f in here there; do
			sed "s,[^ ]*/published.cu,published.cu,g" $f >$f.text
		done
		diff here.text there.text || { echo "FAIL: $detector: another report at another path"; bad=1; }
	done
fi
exit $bad
