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
// prove: once_early true racy --block-dim=256
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

// ---- copies that are under way behind barriers

template <int BEHIND, bool SECOND> __device__ __forceinline__ void pipeline(float *out, const float *in)
{
	__shared__ float b[2][128];
	int t = threadIdx.x;
	float sum = 0;
	__pipeline_memcpy_async(&b[0][t], &in[t], 4);
	__pipeline_commit();
	for (int i = 0; i < 16; i++) {
		if (i + 1 < 16)
			__pipeline_memcpy_async(&b[(i + 1) & 1][t], &in[(i + 1) * 128 + t], 4);
		__pipeline_commit();
		__pipeline_wait_prior(BEHIND);
		__syncthreads();
		sum += b[i & 1][t ^ 1];
		if (SECOND)
			__syncthreads();
	}
	__pipeline_wait_prior(0);
	out[blockIdx.x * 128 + t] = sum;
}

// prove: two_stages race-free --block-dim=128
__global__ void two_stages(float *out, const float *in) { pipeline<1, true>(out, in); }

// prove: two_stages_one_barrier true --block-dim=128
__global__ void two_stages_one_barrier(float *out, const float *in) { pipeline<1, false>(out, in); }

// prove: in_no_group true racy --block-dim=128
__global__ void in_no_group(float *out, const float *in)
{
	__shared__ float b[128];
	int t = threadIdx.x;
	__pipeline_memcpy_async(&b[t], &in[t], 4);
	__pipeline_wait_prior(0); // waits for groups only
	__syncthreads();
	out[blockIdx.x * 128 + t] = b[t ^ 1];
	__pipeline_commit();
	__pipeline_wait_prior(0);
}

// prove: own_too_early true racy --block-dim=128
__global__ void own_too_early(float *out, const float *in)
{
	__shared__ float b[128];
	int t = threadIdx.x;
	__pipeline_memcpy_async(&b[t], &in[t], 4);
	__pipeline_commit();
	__syncthreads();
	float v = b[t];
	__pipeline_wait_prior(0);
	out[blockIdx.x * 128 + t] = v;
}

// prove: own_elsewhere race-free --block-dim=128
__global__ void own_elsewhere(float *out, const float *in)
{
	__shared__ float b[128], c[128];
	int t = threadIdx.x;
	__pipeline_memcpy_async(&b[t], &in[t], 4);
	__pipeline_commit();
	c[t] = in[t];
	__syncthreads();
	float v = c[t ^ 1];
	__pipeline_wait_prior(0);
	__syncthreads();
	out[blockIdx.x * 128 + t] = v + b[t ^ 1];
}

// prove: under_way_at_end unproven --block-dim=128
__global__ void under_way_at_end(float *out, const float *in)
{
	__shared__ float b[128];
	__pipeline_memcpy_async(&b[threadIdx.x], &in[threadIdx.x], 4);
	__pipeline_commit();
	out[blockIdx.x * 128 + threadIdx.x] = 0;
}

// Three copies are under way while a fourth buffer is read.
template <int BUFFERS> __device__ void four(float *out, const float *in)
{
	__shared__ float b[BUFFERS][128];
	int t = threadIdx.x;
	float sum = 0;
	for (int s = 0; s < 3; s++) {
		__pipeline_memcpy_async(&b[s][t], &in[s * 128 + t], sizeof(float));
		__pipeline_commit();
	}
	for (int i = 0; i < 64; i++) {
		__pipeline_wait_prior(2);
		__syncthreads();
		sum += b[i % BUFFERS][t ^ 1];
		if (i + 3 < 64)
			__pipeline_memcpy_async(&b[(i + 3) % BUFFERS][t], &in[(i + 3) * 128 + t], sizeof(float));
		__pipeline_commit();
	}
	__pipeline_wait_prior(0);
	out[blockIdx.x * 128 + t] = sum;
}

// prove: four_buffers race-free --block-dim=128 --grid-dim=4
__global__ void four_buffers(float *out, const float *in) { four<4>(out, in); }

// The next copy goes where others still read.
// prove: three_buffers true racy --block-dim=128 --grid-dim=4
__global__ void three_buffers(float *out, const float *in) { four<3>(out, in); }

// A bar.sync by one lane of a warp whose others wait at another one: they wait for ever.
template <bool APART> __device__ void meeting(float *out, float *in)
{
	__shared__ float b[64];
	int t = threadIdx.x;
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&b[t])),
		     "l"(&in[t])
		     : "memory");
	asm volatile("cp.async.commit_group;" ::: "memory");
	if (APART && t == 0)
		asm volatile("bar.sync 0;" ::: "memory");
	asm volatile("bar.sync 0;" ::: "memory");
	out[blockIdx.x * 64 + t] = b[t ^ 1];
	asm volatile("cp.async.wait_all;" ::: "memory");
}

// prove: met true racy --block-dim=64
__global__ void met(float *out, float *in) { meeting<false>(out, in); }

// prove: never_met unproven --block-dim=64
__global__ void never_met(float *out, float *in) { meeting<true>(out, in); }

// Lanes of two warps come to a barrier for one: neither warp comes as a whole.
template <bool HALVES> __device__ void one_warp(float *out, float *in)
{
	__shared__ float b[64];
	int t = threadIdx.x;
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&b[t])),
		     "l"(&in[t])
		     : "memory");
	asm volatile("cp.async.commit_group;" ::: "memory");
	__syncthreads();
	if (HALVES ? t % 32 < 16 : t < 32) {
		asm volatile("bar.sync 1, 32;" ::: "memory");
		out[t] = b[t ^ 1];
	}
	asm volatile("cp.async.wait_all;" ::: "memory");
	asm volatile("bar.sync 0;" ::: "memory");
}

// prove: whole_warp true racy --block-dim=64
__global__ void whole_warp(float *out, float *in) { one_warp<false>(out, in); }

// prove: half_warps potential --block-dim=64
__global__ void half_warps(float *out, float *in) { one_warp<true>(out, in); }
