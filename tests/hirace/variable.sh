#!/bin/sh
# variable.sh - --variable: variable.sh COLLIDER NVCC SOURCE WORK [DEVICE]
#
# Each race of the source is reported by hirace, iguard, the oracle and the default exactly when its variable is
# asked for: at run time on the CPU device, and (the first two) when the checks are put in by collider nvcc.
# What matched nothing is named. DEVICE is cpu or gpu; without
# a GPU the exit code is 77 then.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4 device=${5:-cpu}
[ "$device" = cpu ] || [ -e /dev/nvidia0 ] || exit 77
mkdir -p "$work"
cd "$work"
[ "$device" = gpu ] ||
	"$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o plain
arch=sm_90
[ "$device" = cpu ] || arch=native
bad=0

# The names behind "race:" on the lines that were reported.
found() {
	sed -n 's/.*variable.cu:\([0-9]*\):.*/\1/p' report | sort -un | while read -r line; do
		sed -n "${line}s/.*race: //p" "$source"
	done | tr '\n' ' '
}

expect() { # WHAT WANTED
	got=$(found)
	if [ "$got" != "$2" ]; then
		echo "FAIL $1: found $got, not $2"
		bad=1
	fi
}

all="hirace iguard oracle collide,oracle"
[ "$device" = cpu ] || all="hirace iguard"
for detector in $all; do
	while read -r asked wanted; do
		if [ "$device" = gpu ]; then
			"$collider" nvcc --sanitize=$detector ${asked:+--variable="$asked"} -arch=native \
				"$source" -o plain >log 2>&1
			"$collider" run --device=gpu --detector=$detector --log-file=report ./plain >out || true
		else
			"$collider" run --device=cpu --detector=$detector ${asked:+--variable="$asked"} \
				--log-file=report ./plain >out || true
		fi
		expect "$detector $asked" "${wanted:+$wanted }"
	done <<-END
		* first second tile given other
		first first
		space::first first
		second,tile second tile
		t* tile
		\$1 given
		\$2 other
		nothing
	END
done
"$collider" nvcc --sanitize=hirace --variable=second,\$1 -arch=$arch "$source" -o built >log 2>&1
"$collider" run --device="$device" --detector=hirace --log-file=report ./built >out || true
expect "built with it" "second given "
grep -q -e '--variable asks for others' report || {
	echo "FAIL: the report doesn't say what was left out"
	bad=1
}
[ "$device" = cpu ] || exit $bad

# asked CODE LINE VARIABLES DETECTORS: the last line of the report, and the exit code
asked() {
	rc=0
	"$collider" run --device=cpu --detector="$4" --variable="$3" --fail-partial --log-file=report \
		./plain >out || rc=$?
	sed -n '/^========/h; ${x; p;}' report >last
	if [ $rc != "$1" ] || ! grep -q -- "$2" last; then
		echo "FAIL $3 $4: code $rc, not $1, or: $(cat last)"
		bad=1
	fi
}
for detector in oracle collide,oracle hirace iguard; do
	asked 73 'NOTHING WAS CHECKED.*--variable=nothing matched no variable' nothing $detector
	asked 74 'PARTIAL: --variable=nothing matched no variable' 'nothing,first' $detector
	asked 74 'data race' 'f*' $detector
done
"$collider" run --device=cpu --detector=oracle --variable=first --save=saved --log-file=report ./plain >out
# The race of the flag orders its fences, and so the message (rule 8), whatever is asked for.
for detector in oracle collide,oracle; do
	for v in message flag 'message,flag'; do
		"$collider" run --device=cpu --detector=$detector --variable=$v --log-file=report ./plain fences >out
		wanted=
		case $v in *flag) wanted="flag it " ;; esac
		expect "fences $v $detector" "$wanted"
	done
done
grep -q '"why":"not-asked","function":"races(.*"count":6' saved || {
	echo "FAIL: the saved report doesn't name what was left out"
	bad=1
}
exit $bad
