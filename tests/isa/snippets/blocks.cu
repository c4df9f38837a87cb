// targets: sm_75 sm_90; at least 60
// CUB block and warp primitives, half precision, atomics.
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void blocks(const float *in, unsigned *keys, float *out, __half2 *h, __nv_bfloat16 *b)
{
	using reduce = cub::BlockReduce<float, 128>;
	using scan = cub::BlockScan<float, 128>;
	using sort = cub::BlockRadixSort<unsigned, 128, 4>;
	__shared__ union {
		typename reduce::TempStorage r;
		typename scan::TempStorage s;
		typename sort::TempStorage t;
	} u;
	unsigned i = blockIdx.x * 128 + threadIdx.x, k[4];
	float x = in[i], y;
	for (int j = 0; j < 4; j++)
		k[j] = keys[i * 4 + j];
	float sum = reduce(u.r).Sum(x);
	__syncthreads();
	scan(u.s).ExclusiveSum(x, y);
	__syncthreads();
	sort(u.t).Sort(k);
	for (int j = 0; j < 4; j++)
		keys[i * 4 + j] = __brev(k[j]) ^ __popc(k[j]) + __clz(k[j]);
	if (!threadIdx.x)
		atomicAdd(out + 1, sum);
	out[i + 2] = y + __sinf(x) * rsqrtf(x) + exp2f(x) + fmodf(x, 3.f) + double(x) / 3.0;
	h[i] = __hfma2(h[i], h[i], h[i + 1]);
	b[i] = b[i] * b[i + 1] + __float2bfloat16(x);
	atomicCAS(keys, 1u, 2u);
	atomicMax((int *)keys + 1, 5);
	printf("%f\n", double(x));
}
