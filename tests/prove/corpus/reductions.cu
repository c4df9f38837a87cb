/*
 * reductions.cu - sums: the seven steps of the classic ladder, dot products, norms, by row and column.
 */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// prove: sum_modulo race-free --block-dim=256 --grid-dim=64
// pin: sum_modulo n=16384
__global__ void sum_modulo(const float *in, float *out, int n)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	s[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (unsigned k = 1; k < blockDim.x; k *= 2) {
		if (t % (2 * k) == 0)
			s[t] += s[t + k];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: sum_strided race-free --block-dim=256 --grid-dim=64
// pin: sum_strided n=16384
__global__ void sum_strided(const float *in, float *out, int n)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	s[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (unsigned k = 1; k < blockDim.x; k *= 2) {
		unsigned at = 2 * k * t;
		if (at < blockDim.x)
			s[at] += s[at + k];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: sum_sequential race-free --block-dim=256 --grid-dim=64
// pin: sum_sequential n=16384
__global__ void sum_sequential(const float *in, float *out, int n)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	s[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		if (t < k)
			s[t] += s[t + k];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: sum_first_add race-free --block-dim=256 --grid-dim=32
// pin: sum_first_add n=16384
__global__ void sum_first_add(const float *in, float *out, int n)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
	float mine = i < n ? in[i] : 0;
	if (i + blockDim.x < n)
		mine += in[i + blockDim.x];
	s[t] = mine;
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		if (t < k)
			s[t] = mine = mine + s[t + k];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = mine;
}

// prove: sum_last_warp race-free --block-dim=256 --grid-dim=32
// pin: sum_last_warp n=16384
__global__ void sum_last_warp(const float *in, float *out, int n)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
	float mine = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
	s[t] = mine;
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 32; k >>= 1) {
		if (t < k)
			s[t] = mine = mine + s[t + k];
		__syncthreads();
	}
	if (t < 32) {
		mine += s[t + 32];
		for (int k = 16; k > 0; k /= 2)
			mine += __shfl_down_sync(0xffffffff, mine, k);
	}
	if (t == 0)
		out[blockIdx.x] = mine;
}

// prove: sum_unrolled race-free --block-dim=256 --grid-dim=32
// pin: sum_unrolled n=16384
__global__ void sum_unrolled(const float *in, float *out, int n)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, i = blockIdx.x * 512 + t;
	float mine = (i < n ? in[i] : 0) + (i + 256 < n ? in[i + 256] : 0);
	s[t] = mine;
	__syncthreads();
	if (t < 128)
		s[t] = mine = mine + s[t + 128];
	__syncthreads();
	if (t < 64)
		s[t] = mine = mine + s[t + 64];
	__syncthreads();
	if (t < 32) {
		s[t] = mine = mine + s[t + 32];
		__syncwarp();
		float other = s[t + 16];
		__syncwarp();
		s[t] = mine = mine + other;
		__syncwarp();
		other = s[t + 8];
		__syncwarp();
		s[t] = mine = mine + other;
		__syncwarp();
		if (t == 0)
			out[blockIdx.x] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
	}
}

// prove: sum_grid_stride race-free --block-dim=256 --grid-dim=64
// pin: sum_grid_stride n=1048576
__global__ void sum_grid_stride(const float *in, float *out, int n)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x;
	float mine = 0;
	for (unsigned i = blockIdx.x * blockDim.x * 2 + t; i < n; i += blockDim.x * 2 * gridDim.x) {
		mine += in[i];
		if (i + blockDim.x < n)
			mine += in[i + blockDim.x];
	}
	s[t] = mine;
	__syncthreads();
	for (unsigned k = 128; k > 0; k >>= 1) {
		if (t < k)
			s[t] = mine = mine + s[t + k];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = mine;
}

// prove: sum_volatile true --block-dim=128 --grid-dim=32
// pin: sum_volatile n=4096
// races: sum_volatile
__global__ void sum_volatile(const float *in, float *out, int n)
{
	__shared__ float s[128];
	unsigned t = threadIdx.x, i = blockIdx.x * 128 + t;
	s[t] = i < n ? in[i] : 0;
	__syncthreads();
	if (t < 64)
		s[t] += s[t + 64];
	if (t < 32)
		s[t] += s[t + 32];
	__syncthreads();
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: dot_blocks race-free --block-dim=256 --grid-dim=128
// pin: dot_blocks vectors=256 len=4096
__global__ void dot_blocks(float *out, const float *a, const float *b, int vectors, int len)
{
	__shared__ float acc[1024];
	for (int v = blockIdx.x; v < vectors; v += gridDim.x) {
		int base = len * v, end = base + len;
		for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
			float sum = 0;
			for (int at = base + i; at < end; at += 1024)
				sum += a[at] * b[at];
			acc[i] = sum;
		}
		for (int k = 1024 / 2; k > 0; k >>= 1) {
			__syncthreads();
			for (int i = threadIdx.x; i < k; i += blockDim.x)
				acc[i] += acc[k + i];
		}
		__syncthreads();
		if (threadIdx.x == 0)
			out[v] = acc[0];
		__syncthreads();
	}
}

// prove: dot_atomic race-free --block-dim=256 --grid-dim=64
// pin: dot_atomic n=16384
__global__ void dot_atomic(float *out, const float *a, const float *b, int n)
{
	__shared__ float s[8];
	float sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
		sum += a[i] * b[i];
	for (int k = 16; k > 0; k /= 2)
		sum += __shfl_xor_sync(~0u, sum, k);
	if (threadIdx.x % 32 == 0)
		s[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 8) {
		sum = s[threadIdx.x];
		for (int k = 4; k > 0; k /= 2)
			sum += __shfl_xor_sync(0xff, sum, k);
		if (threadIdx.x == 0)
			atomicAdd(out, sum);
	}
}

// prove: row_sums race-free --block-dim=128 --grid-dim=512
// pin: row_sums cols=1000
__global__ void row_sums(float *out, const float *in, int cols)
{
	__shared__ float s[128];
	const float *row = in + blockIdx.x * cols;
	float sum = 0;
	for (int i = threadIdx.x; i < cols; i += blockDim.x)
		sum += row[i];
	s[threadIdx.x] = sum;
	__syncthreads();
	for (int k = blockDim.x / 2; k > 0; k >>= 1) {
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

// prove: column_sums race-free --block-dim=32,8 --grid-dim=32
// pin: column_sums rows=500 cols=1000
__global__ void column_sums(float *out, const float *in, int rows, int cols)
{
	__shared__ float s[8][33];
	int x = blockIdx.x * 32 + threadIdx.x;
	float sum = 0;
	if (x < cols)
		for (int y = threadIdx.y; y < rows; y += 8)
			sum += in[y * cols + x];
	s[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	for (int k = 4; k > 0; k /= 2) {
		if (threadIdx.y < k)
			s[threadIdx.y][threadIdx.x] += s[threadIdx.y + k][threadIdx.x];
		__syncthreads();
	}
	if (threadIdx.y == 0 && x < cols)
		out[x] = s[0][threadIdx.x];
}

// prove: max_and_sum race-free --block-dim=512 --grid-dim=16
// pin: max_and_sum n=65536
__global__ void max_and_sum(float *most, float *sums, const float *in, int n)
{
	__shared__ float m[512], s[512];
	int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	float x = i < n ? in[i] : 0;
	m[t] = x;
	s[t] = x;
	for (int k = blockDim.x / 2; k > 0; k /= 2) {
		__syncthreads();
		if (t < k) {
			m[t] = fmaxf(m[t], m[t + k]);
			s[t] += s[t + k];
		}
	}
	if (!t) {
		most[blockIdx.x] = m[0];
		sums[blockIdx.x] = s[0];
	}
}

// prove: norm_tiles race-free --block-dim=256 --grid-dim=64
// pin: norm_tiles n=65536
__global__ void norm_tiles(float *out, const float *in, int n)
{
	cg::thread_block block = cg::this_thread_block();
	auto tile = cg::tiled_partition<32>(block);
	__shared__ float s[8];
	float x = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x += in[i] * in[i];
	for (int k = 16; k > 0; k /= 2)
		x += tile.shfl_down(x, k);
	if (tile.thread_rank() == 0)
		s[threadIdx.x / 32] = x;
	block.sync();
	if (threadIdx.x == 0) {
		for (int i = 1; i < 8; i++)
			x += s[i];
		out[blockIdx.x] = x;
	}
}

// prove: means race-free --block-dim=64,4 --grid-dim=25
// pin: means groups=100 each=64
__global__ void means(float *mean, const float *in, int groups, int each)
{
	__shared__ float s[4][64];
	int g = blockIdx.x * 4 + threadIdx.y;
	if (g < groups)
		s[threadIdx.y][threadIdx.x] = in[g * each + threadIdx.x];
	else
		s[threadIdx.y][threadIdx.x] = 0;
	__syncthreads();
	for (int k = 32; k; k /= 2) {
		if (threadIdx.x < k)
			s[threadIdx.y][threadIdx.x] += s[threadIdx.y][threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0 && g < groups)
		mean[g] = s[threadIdx.y][0] / each;
}

// prove: count_if race-free --block-dim=256 --grid-dim=64
// pin: count_if n=16384
__global__ void count_if(int *counts, const float *in, int n, float limit)
{
	__shared__ int c;
	if (threadIdx.x == 0)
		c = 0;
	__syncthreads();
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned votes = __ballot_sync(~0u, i < n && in[i] > limit);
	if (threadIdx.x % warpSize == 0)
		atomicAdd(&c, __popc(votes));
	__syncthreads();
	if (threadIdx.x == 0)
		counts[blockIdx.x] = c;
}

__device__ unsigned arrived;

// The thread that takes the ticket fences behind it, too.
// prove: sum_last_fenced race-free --block-dim=256 --grid-dim=64
// pin: sum_last_fenced n=16384
__global__ void sum_last_fenced(float *partial, float *out, const float *in, int n)
{
	__shared__ float s[256];
	__shared__ unsigned ticket;
	int t = threadIdx.x;
	float sum = 0;
	for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x)
		sum += in[i];
	s[t] = sum;
	__syncthreads();
	for (int k = 128; k > 0; k /= 2) {
		if (t < k)
			s[t] += s[t + k];
		__syncthreads();
	}
	if (t == 0) {
		partial[blockIdx.x] = s[0];
		__threadfence();
		ticket = atomicAdd(&arrived, 1);
		__threadfence();
	}
	__syncthreads();
	if (ticket != gridDim.x - 1)
		return;
	s[t] = 0;
	for (int b = t; b < gridDim.x; b += 256)
		s[t] += partial[b];
	__syncthreads();
	for (int k = 128; k > 0; k /= 2) {
		if (t < k)
			s[t] += s[t + k];
		__syncthreads();
	}
	if (t == 0) {
		*out = s[0];
		arrived = 0;
	}
}

// prove: relax_own_barrier race-free --block-dim=128 --grid-dim=40
// pin: relax_own_barrier n=5120
__global__ void relax_own_barrier(float *next, float *cur, unsigned *come, int n)
{
	int i = blockIdx.x * 128 + threadIdx.x;
	if (i > 0 && i < n - 1)
		next[i] = 0.5f * (cur[i - 1] + cur[i + 1]);
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(come, 1);
		while (*(volatile unsigned *)come < gridDim.x)
			;
		__threadfence();
	}
	__syncthreads();
	if (i > 0 && i < n - 1)
		cur[i] = 0.5f * (next[i - 1] + next[i + 1]);
}

// prove: sum_last_block potential --block-dim=256 --grid-dim=64
// pin: sum_last_block n=16384
// races: sum_last_block
__global__ void sum_last_block(float *partial, float *out, const float *in, int n)
{
	__shared__ float s[256];
	__shared__ bool is_last;
	int t = threadIdx.x, i = blockIdx.x * 256 + t;
	s[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (int k = 128; k > 0; k /= 2) {
		if (t < k)
			s[t] += s[t + k];
		__syncthreads();
	}
	if (t == 0) {
		partial[blockIdx.x] = s[0];
		__threadfence();
		is_last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
	}
	__syncthreads();
	if (is_last && t == 0) {
		float sum = 0;
		for (int b = 0; b < gridDim.x; b++)
			sum += partial[b];
		*out = sum;
		arrived = 0;
	}
}

// prove: histogram_reduce race-free --block-dim=64 --grid-dim=256
// pin: histogram_reduce parts=240
__global__ void histogram_reduce(unsigned *out, const unsigned *in, int parts)
{
	__shared__ unsigned s[64];
	unsigned sum = 0;
	for (int i = threadIdx.x; i < parts; i += 64)
		sum += in[blockIdx.x + i * 256];
	s[threadIdx.x] = sum;
	for (unsigned k = 32; k > 0; k >>= 1) {
		__syncthreads();
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}
