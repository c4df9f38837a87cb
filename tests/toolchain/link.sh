#!/bin/bash
# link.sh - separate compilation, instrumented and plain objects together, parallel make.
. "$(dirname "$0")/lib.sh"
arch=-arch=sm_90

cat >a.cu <<'CU'
extern __device__ int twice(int *p);
__global__ void __launch_bounds__(1024) k(int *p) { p[threadIdx.x] = twice(p + threadIdx.x); }
void launch(int *p) { k<<<1, 1024>>>(p); }
CU
cat >b.cu <<'CU'
__device__ int twice(int *p) { *p += 1; return *p * 2; }
extern void launch(int *);
int main(int argc, char **) { if (argc > 9) launch(nullptr); return 0; }
CU

rc_of 0 "$nvcc" $arch -dc a.cu b.cu
has a.o
has b.o
rc_of 0 "$nvcc" $arch a.o b.o -o both
has both
./both || fail "the linked program does not start"

# One object instrumented, the other not, linked by either.
rc_of 0 "$real/bin/nvcc" $arch -rdc=true -c b.cu -o plain.o
hasnt plain.o
rc_of 0 "$real/bin/nvcc" $arch a.o plain.o -o mixed
has mixed
rc_of 0 "$nvcc" $arch -dlink a.o plain.o -o dlink.o
rc_of 0 g++ a.o plain.o dlink.o -o mixed2 -L"$real/lib64" -lcudart_static -ldl -lrt -lpthread
./mixed2

# A kernel whose bounds leave 32 registers still links with its instrumented callee.
sed 's/1024) k/1024, 2) k/' a.cu >tight.cu
rc_of 0 "$nvcc" $arch -dc tight.cu
rc_of 0 "$nvcc" $arch tight.o b.o -o tight
has tight

# A small kernel alone under -rdc gets a cap below what the report functions take by themselves:
# they shrink to it, and the kernel keeps its calls instead of the much larger code without.
cat >small.cu <<'CU'
__global__ void small(int *p, const int *q) { p[threadIdx.x] = q[threadIdx.x] + 1; }
CU
rc_of 0 "$real/bin/nvcc" $arch -rdc=true -cubin small.cu -o was.cubin
rc_of 0 "$nvcc" $arch -rdc=true -cubin --keep small.cu -o small.cubin
rc_of 0 "$2" was.cubin small.cubin _Z5smallPiPKi
sed -n '/entry _Z5small/,$p' small.ptx >text
grep -q 'call.*__collider_changed' text || fail "expected a kernel that calls __collider_changed"

# Parallel make from an empty cache: one mirror, nothing half-made.
rm -rf "$XDG_CACHE_HOME/collider"
cat >Makefile <<MK
NVCC := $(printf '%s' "$nvcc" | sed 's/ /\\ /g')
all: m1.o m2.o m3.o m4.o
m%.o: k.cu
	\$(NVCC) --sanitize=collide $arch -c k.cu -o \$@
MK
rc_of 0 make -j4 all
for i in 1 2 3 4; do has m$i.o; done
test "$(ls -A "$XDG_CACHE_HOME/collider" | grep -vc '^kept$')" -eq 1 || fail "expected one mirror"
test -z "$(ls -A "$XDG_CACHE_HOME/collider/kept" 2>/dev/null)" || fail "a trial's result is left"
no_leftovers
