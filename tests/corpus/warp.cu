// Warp intrinsics, special registers, integer and float instructions with odd modifiers.
#include <cuda_fp16.h>
#include <sm_32_intrinsics.h>

__global__ void warp(unsigned *a, float *f, double *d, unsigned long long *l)
{
	unsigned i = threadIdx.x, v = a[i];
	int p;

	v += __shfl_sync(~0u, v, 3) + __shfl_up_sync(~0u, v, 1) + __shfl_xor_sync(0xff, v, 2, 8);
	v += __ballot_sync(~0u, v > 3) + __any_sync(~0u, v) + __all_sync(~0u, v) + __activemask();
	v += __match_any_sync(~0u, v) + __match_all_sync(~0u, l[i], &p) + p;
	v += __syncthreads_count(v & 1) + __syncthreads_or(v) + __syncthreads_and(v);
	v += __byte_perm(v, i, 0x3210) + __funnelshift_l(v, i, 5) + __dp4a(v, i, 3u);
	v += __vadd4(v, i) + __vabsdiffu2(v, i) + __usad(v, i, 7) + __ffs(v) + __umulhi(v, i);
	l[i] += clock64() + __clzll(l[i]) + __umul64hi(l[i], 3);
	f[i] = __fmaf_rz(f[i], 2.0f, 1e-40f) + __fdividef(f[i], 3.0f) + rsqrtf(f[i]) + __sinf(f[i]);
	f[i] += __fsqrt_ru(f[i]) + __saturatef(f[i]) + fminf(f[i], -0.0f) + __expf(f[i]) +
		truncf(f[i]);
	d[i] = __drcp_rn(d[i]) + sqrt(d[i]) + rint(d[i]) + __hiloint2double(v, i) + sin(d[i]);
	__nanosleep(20 + i);
	a[i] = v + __float2int_rd(f[i]) + (unsigned)__double2uint_rz(d[i]) + __float_as_uint(f[i]);
}
