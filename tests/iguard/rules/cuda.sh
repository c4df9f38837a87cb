#!/bin/bash
# cuda.sh - the shared headers compile as CUDA C, without warnings: cuda.sh NVCC ROOT
set -u
nvcc=$1 root=$2
T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
for arch in sm_75 sm_90; do
	"$nvcc" -cubin -O3 -arch=$arch -I"$root/src" -Xptxas -v -Werror all-warnings \
		"$root/tests/iguard/rules/update.cu" -o "$T/update.cubin" 2>"$T/err" || {
		cat "$T/err"
		exit 1
	}
	grep -E "Compiling entry function|Used" "$T/err" | paste - - | sed 's/.*function .\(_Z[0-9]*\)\([a-z_]*\)P.*Used/\2: used/'
done
