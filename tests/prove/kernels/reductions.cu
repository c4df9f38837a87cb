/*
 * reductions.cu - sums over a block, a warp, rows, columns and the grid.
 */

// prove: first_add race-free
__global__ void first_add(float *out, const float *in, unsigned n)
{
	extern __shared__ float s[];
	unsigned t = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
	float sum = i < n ? in[i] : 0;
	if (i + blockDim.x < n)
		sum += in[i + blockDim.x];
	s[t] = sum;
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		if (t < k)
			s[t] = sum = sum + s[t + k];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = sum;
}

template <unsigned B> __device__ void last_warp(float *s, unsigned t)
{
	float v = s[t];
	if (B >= 64)
		v += s[t + 32];
	__syncwarp();
	s[t] = v;
	__syncwarp();
	for (unsigned k = 16; k > 0; k /= 2) {
		float other = s[t + k];
		__syncwarp();
		if (t < k)
			s[t] = v = v + other;
		__syncwarp();
	}
}

// prove: unrolled race-free --block-dim=128
__global__ void unrolled(float *out, const float *in)
{
	__shared__ float s[128];
	unsigned t = threadIdx.x;
	s[t] = in[blockIdx.x * 128 + t];
	__syncthreads();
	if (t < 64)
		s[t] += s[t + 64];
	__syncthreads();
	if (t < 32)
		last_warp<128>(s, t);
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// As it was written before sm_70.
// prove: unrolled_old true --block-dim=128
__global__ void unrolled_old(float *out, const float *in)
{
	__shared__ float s[128];
	unsigned t = threadIdx.x;
	s[t] = in[blockIdx.x * 128 + t];
	__syncthreads();
	if (t < 64)
		s[t] += s[t + 64];
	__syncthreads();
	if (t < 32) {
		s[t] += s[t + 32];
		s[t] += s[t + 16];
		s[t] += s[t + 8];
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

__device__ float warp_sum(float v)
{
	for (int k = 16; k > 0; k /= 2)
		v += __shfl_down_sync(~0u, v, k);
	return v;
}

// prove: by_shuffles race-free
__global__ void by_shuffles(float *out, const float *in)
{
	__shared__ float part[32];
	unsigned t = threadIdx.x;
	float v = warp_sum(in[blockIdx.x * blockDim.x + t]);
	if (t % 32 == 0)
		part[t / 32] = v;
	__syncthreads();
	if (t < 32) {
		v = warp_sum(t < blockDim.x / 32 ? part[t] : 0);
		if (t == 0)
			out[blockIdx.x] = v;
	}
}

// prove: by_shuffles_no_barrier true
__global__ void by_shuffles_no_barrier(float *out, const float *in)
{
	__shared__ float part[32];
	unsigned t = threadIdx.x;
	float v = warp_sum(in[blockIdx.x * blockDim.x + t]);
	if (t % 32 == 0)
		part[t / 32] = v;
	if (t < 32) {
		v = warp_sum(t < blockDim.x / 32 ? part[t] : 0);
		if (t == 0)
			out[blockIdx.x] = v;
	}
}

// prove: to_atomic race-free
__global__ void to_atomic(float *sum, const float *in, int n)
{
	__shared__ float total;
	if (threadIdx.x == 0)
		total = 0;
	__syncthreads();
	float v = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	atomicAdd(&total, v);
	__syncthreads();
	if (threadIdx.x == 0)
		atomicAdd(sum, total);
}

// prove: to_atomic_not_cleared true
__global__ void to_atomic_not_cleared(float *sum, const float *in, int n)
{
	__shared__ float total;
	if (threadIdx.x == 0)
		total = 0;
	float v = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	atomicAdd(&total, v);
	__syncthreads();
	if (threadIdx.x == 0)
		atomicAdd(sum, total);
}

// prove: to_word true
__global__ void to_word(float *sum, const float *in)
{
	__shared__ float s[1024];
	s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
	if (threadIdx.x == 0)
		*sum += s[0] + s[1];
}

// prove: row_sums race-free
__global__ void row_sums(float *out, const float *in, int w)
{
	__shared__ float s[1024];
	float v = 0;
	for (int i = threadIdx.x; i < w; i += blockDim.x)
		v += in[blockIdx.x * w + i];
	s[threadIdx.x] = v;
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

// prove: column_sums race-free
__global__ void column_sums(float *out, const float *in, int w, int h)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x;
	if (col >= w)
		return;
	out[col] = 0;
	for (int row = 0; row < h; row++)
		out[col] += in[row * w + col];
}

// prove: row_per_block_sum true
__global__ void row_per_block_sum(float *out, const float *in, int w, int h)
{
	for (int row = threadIdx.x; row < h; row += blockDim.x)
		out[blockIdx.x] += in[row * w + blockIdx.x];
}

struct extremes {
	float least, most;
};

// prove: two_results race-free
__global__ void two_results(struct extremes *out, const float *in)
{
	__shared__ struct extremes s[1024];
	unsigned t = threadIdx.x;
	s[t].least = s[t].most = in[blockIdx.x * blockDim.x + t];
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		if (t < k) {
			s[t].least = fminf(s[t].least, s[t + k].least);
			s[t].most = fmaxf(s[t].most, s[t + k].most);
		}
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: round_up race-free --block-dim=200
__global__ void round_up(float *out, const float *in)
{
	__shared__ float s[200];
	unsigned t = threadIdx.x, n = 200;
	s[t] = in[t];
	__syncthreads();
	while (n > 1) {
		unsigned half = (n + 1) / 2;
		if (t < n / 2)
			s[t] += s[t + half];
		__syncthreads();
		n = half;
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: round_down true --block-dim=200
__global__ void round_down(float *out, const float *in)
{
	__shared__ float s[400];
	unsigned t = threadIdx.x, n = 200;
	s[t] = in[t];
	__syncthreads();
	while (n > 1) {
		if (t <= n / 2)
			s[t] += s[t + n / 2];
		__syncthreads();
		n = n / 2;
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}
