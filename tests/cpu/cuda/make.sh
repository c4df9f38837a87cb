#!/bin/sh
# make.sh - compiles the programs beside it into ../cases/*.ptx; their lines that start with //!
# become the comments that cpu_run reads. Needs nvcc; the results are checked in.
set -e
cd "$(dirname "$0")"
for cu in *.cu; do
	out=../cases/${cu%.cu}.ptx
	{
		echo "// ${cu%.cu}.ptx - made of cuda/$cu by cuda/make.sh."
		sed -n 's|^//! |// |p' "$cu"
		nvcc -std=c++17 -arch=sm_90 -ptx "$cu" -o - | grep -v '^//'
	} >"$out"
done
