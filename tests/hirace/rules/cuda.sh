#!/bin/bash
# cuda.sh - the shared headers compile as CUDA C, without warnings: cuda.sh NVCC ROOT
set -u
nvcc=$1 root=$2
T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
for arch in sm_75 sm_90; do
	"$nvcc" -cubin -O3 -arch=$arch -I"$root/src" -Xptxas -v -Werror all-warnings \
		"$root/tests/hirace/rules/update.cu" -o "$T/update.cubin" 2>"$T/err" || {
		cat "$T/err"
		exit 1
	}
	grep -A2 -E 'Function properties|Used' "$T/err" | grep -E 'stack|Used'
	# What is checked with full masks only needs no stack.
	grep -A1 'properties for checked' "$T/err" | grep -q ' 0 bytes stack frame' ||
		{ echo "the update spills"; exit 1; }
done
