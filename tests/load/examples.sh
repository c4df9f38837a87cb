#!/bin/bash
# examples.sh - what a GPU would run of each example is what a build makes of it:
# examples.sh COLLIDER BUILT SOURCES [DETECTORS]
#
# Which kernels iguard leaves to hirace differs by default (--iguard-kernels), and which have a sample: a build
# is asked for a load's.
# The tables of sites name headers as nvcc found them, so it is called by the path that collider nvcc calls.
. "$(dirname "$0")/lib.sh"
examples=$here/../../examples
nvcc=$(realpath "$(command -v nvcc)") || exit 2
count=0
for source in "$examples"/*.cu; do
	name=$(basename "$source" .cu)
	flags="-std=c++17 -lineinfo -arch=sm_90 -I$examples $(sed -n 's,^// flags: ,,p' "$source" | sed 's/--host//')"
	# shellcheck disable=SC2086
	"$nvcc" -fatbin $flags "$source" -o "$name.fatbin" &&
		COLLIDER_TOOL_OPTIONS=samples "$collider" nvcc --prune=none --iguard-kernels=strong --sanitize="${4:-collide}" -cubin $flags "$source" -o "$name.cubin" || exit 2
	go e --detector="${4:-collide}" -- "$built/load_program" . "wrapper:$name.fatbin" || fail "$name: $(cat e.err)"
	expect e "cuLibraryLoadData code 0"
	same e.0 "$name.cubin"
	count=$((count + 1))
done
[ $count -ge 20 ] || fail "$count examples"
exit $bad
