#!/bin/sh
# together.sh - a kernel that asks which lanes run together is named in a note: together.sh COLLIDER NVCC SOURCE WORK
#
# What works on lanes that it names computes what it does without checks.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
"$nvcc" -O2 -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 "$source" -o "$work/together"
for detector in hirace iguard hirace,iguard; do
	"$collider" run --device=cpu --detector=$detector --log-file="$work/report" "$work/together" >"$work/out" || {
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
"$collider" run --device=cpu --detector=collide --log-file="$work/report" "$work/together" >"$work/out"
! grep -q 'which lanes' "$work/report" || {
	echo "FAIL: a note without checks that part lanes"
	exit 1
}
