/*
 * copies.cu - cp.async by CUDA's headers.
 */
#include <cuda_pipeline_primitives.h>

// prove: once race-free --block-dim=256
__global__ void once(float *out, const float *in)
{
	__shared__ float b[256];
	__pipeline_memcpy_async(&b[threadIdx.x], &in[blockIdx.x * 256 + threadIdx.x], sizeof(float));
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	out[blockIdx.x * 256 + threadIdx.x] = b[threadIdx.x ^ 1];
}

// The barrier is before the wait.
// prove: once_early unproven --block-dim=256
__global__ void once_early(float *out, const float *in)
{
	__shared__ float b[256];
	__pipeline_memcpy_async(&b[threadIdx.x], &in[blockIdx.x * 256 + threadIdx.x], sizeof(float));
	__pipeline_commit();
	__syncthreads();
	__pipeline_wait_prior(0);
	out[blockIdx.x * 256 + threadIdx.x] = b[threadIdx.x ^ 1];
}

// prove: tiles race-free --block-dim=128 --grid-dim=64
__global__ void tiles(float4 *out, const float4 *in)
{
	__shared__ float4 b[2][128];
	int t = threadIdx.x;
	for (int k = 0; k < 4; k++) {
		__pipeline_memcpy_async(&b[k & 1][t], &in[(blockIdx.x * 4 + k) * 128 + t], sizeof(float4));
		__pipeline_commit();
		__pipeline_wait_prior(0);
		__syncthreads();
		out[(blockIdx.x * 4 + k) * 128 + t] = b[k & 1][127 - t];
	}
}

// The header asks whether the address is shared memory's.
// prove: tiles_one_buffer true racy --block-dim=128 --grid-dim=64
__global__ void tiles_one_buffer(float4 *out, const float4 *in)
{
	__shared__ float4 b[2][128];
	int t = threadIdx.x;
	for (int k = 0; k < 4; k++) {
		__pipeline_memcpy_async(&b[k >> 2][t], &in[(blockIdx.x * 4 + k) * 128 + t], sizeof(float4));
		__pipeline_commit();
		__pipeline_wait_prior(0);
		__syncthreads();
		out[(blockIdx.x * 4 + k) * 128 + t] = b[k >> 2][127 - t];
	}
}

// prove: many_each race-free --block-dim=64
__global__ void many_each(float *out, const float *in, int n)
{
	__shared__ float b[512];
	int t = threadIdx.x;
	for (int k = 0; k < n; k++) {
		for (int i = t; i < 512; i += 64)
			__pipeline_memcpy_async(&b[i], &in[k * 512 + i], 4);
		__pipeline_commit();
		__pipeline_wait_prior(0);
		__syncthreads();
		out[(blockIdx.x * 64 + t)] += b[511 - t];
		__syncthreads();
	}
}
