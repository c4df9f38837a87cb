#!/bin/bash
# assembler.sh - the stand-in for ptxas: PTX that nobody instrumented, and registers that fit.
regs=$(readlink -f "$2")
. "$(dirname "$0")/lib.sh"
unset NVCC_PREPEND_FLAGS # cooperative groups are of C++17
arch=-arch=sm_90

"$real/bin/nvcc" $arch -ptx k.cu -o plain.ptx
rc_of 0 bin/collider-ptxas $arch plain.ptx -o p.cubin
has p.cubin
hasnt plain.ptx
# .ptx as nvcc's input; the input itself stays as it is.
rc_of 0 "$nvcc" $arch -cubin plain.ptx -o q.cubin
has q.cubin
hasnt plain.ptx
# The marker: nothing is instrumented twice.
rc_of 0 "$nvcc" $arch -ptx k.cu -o once.ptx
rc_of 0 bin/collider-ptxas $arch once.ptx -o once.cubin
rc_of 0 "$real/bin/ptxas" $arch once.ptx -o once2.cubin
cmp once.cubin once2.cubin || fail "marked PTX must pass through"
rc_of 0 bin/collider-ptxas --version
grep -qi 'ptx optimizing assembler' log || fail "expected the version of ptxas"
# Messages and codes of the real one, about the user's file.
sed 's/^}/ nonsense r1;\n}/' plain.ptx >broken.ptx
rc=0
"$real/bin/ptxas" $arch broken.ptx -o b.cubin >want 2>&1 || rc=$?
rc_of $rc bin/collider-ptxas $arch broken.ptx -o b.cubin
grep -v '^collider: ' log | diff - want >&2 || fail "other messages than those of ptxas"
test ! -e b.cubin || fail "half-written b.cubin"

# Registers: whatever block size the original accepts, the instrumented kernel accepts.
cat >fit.cu <<'CU'
#include <cooperative_groups.h>
template <int N> __device__ void body(float *p, int n)
{
	float a[N];
#pragma unroll
	for (int i = 0; i < N; i++) a[i] = p[i * n];
	for (int j = 0; j < n; j++) {
#pragma unroll
		for (int i = 0; i < N; i++) a[i] = a[i] * a[(i + 7) % N] + p[i + j];
	}
#pragma unroll
	for (int i = 0; i < N; i++) p[threadIdx.x + i * n] = a[i];
}
extern "C" __global__ void k20(float *p, int n) { body<20>(p, n); }
extern "C" __global__ void k40(float *p, int n) { body<40>(p, n); }
extern "C" __global__ void k90(float *p, int n) { body<90>(p, n); }
extern "C" __global__ void __launch_bounds__(512) bounded(float *p, int n) { body<40>(p, n); }
extern "C" __global__ void grid(float *p, int n)
{
	p[threadIdx.x] = 1;
	cooperative_groups::this_grid().sync();
	p[0] += n;
}
CU
"$real/bin/nvcc" -lineinfo $arch -cubin fit.cu -o want.cubin
rc_of 0 "$nvcc" --collider-verbose $arch -cubin fit.cu -o got.cubin
grep -q '5 kernels' log || fail "expected 5 kernels: $(cat log)"
has got.cubin
"$regs" want.cubin got.cubin k20 k40 k90 || fail "a kernel lost block sizes"
"$regs" --exact want.cubin got.cubin grid || fail "a grid barrier's kernel lost occupancy"
# Without the fit at least one of them does lose some: the check above can fail.
rc_of 0 "$nvcc" --no-fit $arch -cubin fit.cu -o free.cubin
if "$regs" --exact want.cubin free.cubin grid 2>/dev/null; then
	fail "the grid kernel no longer shows what the fit is for"
fi
no_leftovers
