#!/bin/bash
# cmake.sh - a CMake CUDA project builds unchanged with CMAKE_CUDA_COMPILER=collider-nvcc.
project=$(readlink -f "$(dirname "$0")/project")
. "$(dirname "$0")/lib.sh"

configure()
{
	rc_of 0 cmake -S "$project" -B "$1" -G "Unix Makefiles" -DCMAKE_CUDA_COMPILER="$2" \
		-DCMAKE_CUDA_ARCHITECTURES=90
	grep FOUND log
}

configure got "$nvcc" >got.txt
configure want "$real/bin/nvcc" >want.txt
diff got.txt want.txt >&2 || fail "CMake finds another toolkit than with nvcc"
grep -q NVIDIA got.txt || fail "expected the compiler to be identified as NVIDIA"
var='CMAKE_CUDA_(COMPILER_VERSION|COMPILER_LIBRARY_ROOT|HOST_COMPILER|IMPLICIT_LINK_LIBRARIES) '
for d in got want; do
	cat $d/CMakeFiles/*/CMakeCUDACompiler.cmake | grep -E "$var" | sed 's|/bin/\.\.||' >$d.txt
	test -s $d.txt || fail "no variables"
done
diff got.txt want.txt >&2 || fail "other variables than with nvcc"
rc_of 0 cmake --build got -j 2
has got/app
has got/libops.a
# A toolkit outside the loader's folders: no run path is set by nvcc either.
LD_LIBRARY_PATH="$real/lib64" got/app || fail "the program does not start"
# Nothing to do a second time: dependency files are right.
rc_of 0 cmake --build got
if grep -q 'Building' log; then cat log >&2; fail "expected nothing to be built again"; fi
no_leftovers
