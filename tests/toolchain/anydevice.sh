#!/bin/bash
# anydevice.sh - what is built runs on the CPU device: shared CUDA runtime with a run path, and PTX in
# every program, unless the user says otherwise.
. "$(dirname "$0")/lib.sh"

cat >k.cu <<'CU'
__global__ void k(int *p) { p[threadIdx.x] = 1; }
int main(int argc, char **) { if (argc > 9) k<<<1, 32>>>(nullptr); return 0; }
CU

# build ARGUMENTS...: k.cu into ./k
build()
{
	rm -f k
	rc_of 0 "$nvcc" "$@" k.cu -o k
}
shared() { readelf -d k | grep -q 'NEEDED.*libcudart\.so' || fail "$*: expected the shared runtime"; }
static() { ! readelf -d k | grep -q 'NEEDED.*libcudart\.so' || fail "$*: expected the static runtime"; }
ptx() { grep -aq "^\.target $1" k || fail "expected PTX for $1"; }

build -arch=sm_90
shared -arch=sm_90
ptx sm_90
readelf -d k | grep -q 'R.*PATH.*lib' || fail "expected a run path"
env -u LD_LIBRARY_PATH ./k

build -gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90
ptx sm_90
build --generate-code arch=compute_80,code=[sm_80,sm_86] -gencode arch=compute_100,code=sm_100
ptx sm_80 # the CPU device is a 9.0
build -gencode arch=compute_80,code=compute_80
ptx sm_80

build -arch=sm_90 -cudart static
static -cudart static
build -arch=sm_90 --cudart=static
static --cudart=static
build -gencode arch=compute_90,code=sm_90 --gpu-only
static --gpu-only
! grep -aq '^\.target sm_90' k || fail "--gpu-only: expected no PTX"
COLLIDER_DISABLE=1 build -arch=sm_90
static COLLIDER_DISABLE

# Any tool may link objects; the steps that don't link get no runtime option.
rc_of 0 "$nvcc" -gencode arch=compute_90,code=sm_90 -c k.cu -o k.o
grep -aq '^\.target sm_90' k.o || fail "expected PTX in the object"
rc_of 0 "$nvcc" k.o -o k
shared k.o
