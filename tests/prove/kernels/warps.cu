/*
 * warps.cu - what orders the lanes of a warp, and what doesn't.
 */

// prove: warp_sync single
__global__ void warp_sync(float *g)
{
	__shared__ float s[64];
	s[threadIdx.x] = g[threadIdx.x];
	__syncwarp();
	g[threadIdx.x] = s[threadIdx.x ^ 1];
}

// prove: warp_sync_missing true
__global__ void warp_sync_missing(float *g)
{
	__shared__ float s[64];
	s[threadIdx.x] = g[threadIdx.x];
	g[threadIdx.x] = s[threadIdx.x ^ 1];
}

// A warp barrier doesn't order other warps.
// prove: warp_sync_too_small true --block-dim=64
__global__ void warp_sync_too_small(float *g)
{
	__shared__ float s[64];
	s[threadIdx.x] = g[threadIdx.x];
	__syncwarp();
	g[threadIdx.x] = s[63 - threadIdx.x];
}

// prove: warp_reduce single --block-dim=256
__global__ void warp_reduce(float *out, const float *in)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, lane = t % 32;
	s[t] = in[t];
	__syncwarp();
	for (unsigned k = 16; k > 0; k /= 2) {
		if (lane < k)
			s[t] += s[t + k];
		__syncwarp();
	}
	if (lane == 0)
		out[t / 32] = s[t];
}

// prove: warp_reduce_no_barrier true --block-dim=256
__global__ void warp_reduce_no_barrier(float *out, const float *in)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, lane = t % 32;
	s[t] = in[t];
	__syncwarp();
	for (unsigned k = 16; k > 0; k /= 2)
		if (lane < k)
			s[t] += s[t + k];
	if (lane == 0)
		out[t / 32] = s[t];
}

// The branch goes one way in each warp.
// prove: first_warp single --block-dim=128
__global__ void first_warp(float *out, const float *in)
{
	__shared__ float s[128];
	unsigned t = threadIdx.x;
	s[t] = in[t];
	__syncthreads();
	if (t < 32) {
		float v = s[t] + s[t + 32];
		__syncwarp();
		s[t] = v;
		__syncwarp();
		out[t] = s[31 - t];
	}
}

// Half a warp comes to the barrier: it orders nothing for sure.
// prove: half_warp single --block-dim=128
__global__ void half_warp(float *out, const float *in)
{
	__shared__ float s[128];
	unsigned t = threadIdx.x;
	s[t] = in[t];
	__syncthreads();
	if (t < 16) {
		s[t] = 1;
		__syncwarp(0xffff);
		out[t] = s[15 - t];
	}
}

// Lanes 8 to 15 don't wait.
// prove: quarter_warp true --block-dim=128
__global__ void quarter_warp(float *out, const float *in)
{
	__shared__ float s[128];
	unsigned t = threadIdx.x;
	s[t] = in[t];
	__syncthreads();
	if (t < 16) {
		s[t] = 1;
		if (t < 8)
			__syncwarp(0xff);
		out[t] = s[15 - t];
	}
}

// prove: shuffle_orders_nothing true --block-dim=32
__global__ void shuffle_orders_nothing(float *out)
{
	__shared__ float s[32];
	s[threadIdx.x] = 1;
	float v = __shfl_xor_sync(~0u, 1.0f, 1);
	out[threadIdx.x] = s[threadIdx.x ^ 1] + v;
}

// The barrier's lanes have got nothing from elsewhere that they could hand on: two warps still race.
// prove: warps_apart true --block-dim=64
__global__ void warps_apart(float *out)
{
	__shared__ float s[64];
	__syncwarp();
	s[threadIdx.x / 2] = 1;
	__syncwarp();
	out[threadIdx.x] = s[threadIdx.x];
}

// prove: old_reduce single --block-dim=32 --warp-lockstep
// prove: old_reduce true --block-dim=32
__global__ void old_reduce(float *out, const float *in)
{
	__shared__ float s[64];
	unsigned t = threadIdx.x;
	s[t] = in[t];
	s[t + 32] = 0;
	s[t] += s[t + 16];
	s[t] += s[t + 8];
	out[t] = s[t];
}

// One instruction, one address: a race in lockstep too.
// prove: lockstep_same true --block-dim=32 --warp-lockstep
__global__ void lockstep_same(float *out)
{
	out[threadIdx.x / 2] = 1;
}

// prove: lockstep_two_warps true --block-dim=64 --warp-lockstep
__global__ void lockstep_two_warps(float *out)
{
	out[threadIdx.x % 32] = 1;
}

// prove: level_warp race-free --block-dim=64 --level=warp
// prove: level_warp true --block-dim=64 --level=block
__global__ void level_warp(float *out)
{
	out[threadIdx.x % 32] = 1;
}

// Blocks 0 and 1 are one cluster; 0 and 2 are not.
// prove: cluster_same true --level=cluster
__global__ void __cluster_dims__(2, 1, 1) cluster_same(float *y)
{
	y[threadIdx.x] = blockIdx.x;
}

// prove: cluster_apart race-free --level=cluster
// prove: cluster_apart true --level=grid
__global__ void __cluster_dims__(2, 1, 1) cluster_apart(float *y)
{
	y[blockIdx.x % 2 * 1024 + threadIdx.x] = 1;
}

// prove: cluster_scope race-free --level=cluster
// prove: cluster_scope true --level=grid
__global__ void __cluster_dims__(2, 1, 1) cluster_scope(unsigned *sum)
{
	if (blockIdx.x < 8)
		asm volatile("red.relaxed.cluster.global.add.u32 [%0], 1;" ::"l"(sum) : "memory");
}

// prove: cluster_scope_too_small true --level=cluster
__global__ void __cluster_dims__(2, 1, 1) cluster_scope_too_small(unsigned *sum)
{
	if (blockIdx.x < 8)
		asm volatile("red.relaxed.cta.global.add.u32 [%0], 1;" ::"l"(sum) : "memory");
}
