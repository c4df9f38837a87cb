/*
 * scans.cu - prefix sums, compaction, sorting.
 */

// prove: blelloch single --block-dim=256
__global__ void blelloch(float *g)
{
	__shared__ float s[512];
	unsigned t = threadIdx.x, offset = 1;
	s[2 * t] = g[2 * t];
	s[2 * t + 1] = g[2 * t + 1];
	for (unsigned d = 256; d > 0; d >>= 1) {
		__syncthreads();
		if (t < d) {
			unsigned a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
			s[b] += s[a];
		}
		offset *= 2;
	}
	if (t == 0)
		s[511] = 0;
	for (unsigned d = 1; d < 512; d *= 2) {
		offset >>= 1;
		__syncthreads();
		if (t < d) {
			unsigned a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
			float v = s[a];
			s[a] = s[b];
			s[b] += v;
		}
	}
	__syncthreads();
	g[2 * t] = s[2 * t];
	g[2 * t + 1] = s[2 * t + 1];
}

// prove: up_sweep race-free --block-dim=256
__global__ void up_sweep(float *out, const float *g)
{
	__shared__ float s[512];
	unsigned t = threadIdx.x, offset = 1;
	s[2 * t] = g[2 * t];
	s[2 * t + 1] = g[2 * t + 1];
	for (unsigned d = 256; d > 0; d >>= 1) {
		__syncthreads();
		if (t < d)
			s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
		offset <<= 1;
	}
	if (t == 0)
		out[blockIdx.x] = s[511];
}

// prove: up_sweep_no_barrier true --block-dim=256
__global__ void up_sweep_no_barrier(float *g)
{
	__shared__ float s[512];
	unsigned t = threadIdx.x, offset = 1;
	s[2 * t] = g[2 * t];
	s[2 * t + 1] = g[2 * t + 1];
	__syncthreads();
	for (unsigned d = 256; d > 0; d >>= 1) {
		if (t < d)
			s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
		offset <<= 1;
	}
}

// prove: scan_by_warps race-free
__global__ void scan_by_warps(int *out, const int *in)
{
	__shared__ int sums[32];
	unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
	int v = in[blockIdx.x * blockDim.x + t];
	for (unsigned d = 1; d < 32; d *= 2) {
		int other = __shfl_up_sync(~0u, v, d);
		if (lane >= d)
			v += other;
	}
	if (lane == 31)
		sums[warp] = v;
	__syncthreads();
	if (warp == 0) {
		int w = sums[lane];
		for (unsigned d = 1; d < 32; d *= 2) {
			int other = __shfl_up_sync(~0u, w, d);
			if (lane >= d)
				w += other;
		}
		sums[lane] = w;
	}
	__syncthreads();
	if (warp > 0)
		v += sums[warp - 1];
	out[blockIdx.x * blockDim.x + t] = v;
}

// prove: scan_by_warps_too_early true
__global__ void scan_by_warps_too_early(int *out, const int *in)
{
	__shared__ int sums[32];
	unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
	int v = in[blockIdx.x * blockDim.x + t];
	if (lane == 31)
		sums[warp] = v;
	if (warp > 0)
		v += sums[warp - 1];
	out[blockIdx.x * blockDim.x + t] = v;
}

// prove: add_block_sums race-free
__global__ void add_block_sums(int *data, const int *sums, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (blockIdx.x > 0 && i < n)
		data[i] += sums[blockIdx.x - 1];
}

// prove: warp_scan_shared single --block-dim=64
__global__ void warp_scan_shared(int *g)
{
	__shared__ int s[64];
	unsigned t = threadIdx.x, lane = t & 31;
	s[t] = g[t];
	__syncwarp();
	for (unsigned d = 1; d < 32; d <<= 1) {
		int v = lane >= d ? s[t - d] : 0;
		__syncwarp();
		s[t] += v;
		__syncwarp();
	}
	g[t] = s[t];
}

// Positions come from a scan: different by the programmer's word.
// prove: compact race-free
__global__ void compact(int *out, const int *in, const int *position, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && in[i] > 0) {
		int at = position[i];
		collider_distinct(at);
		out[at] = in[i];
	}
}

// prove: compact_unsaid potential racy CDDD
__global__ void compact_unsaid(int *out, const int *in, const int *position, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && in[i] > 0)
		out[position[i]] = in[i];
}

// prove: odd_even_sort single --block-dim=256
__global__ void odd_even_sort(int *g, int n)
{
	__shared__ int s[512];
	unsigned t = threadIdx.x;
	s[t] = g[t];
	s[t + 256] = g[t + 256];
	__syncthreads();
	for (int round = 0; round < n; round++) {
		unsigned i = 2 * t + (round & 1);
		if (i + 1 < 512 && s[i] > s[i + 1]) {
			int v = s[i];
			s[i] = s[i + 1];
			s[i + 1] = v;
		}
		__syncthreads();
	}
	g[t] = s[t];
	g[t + 256] = s[t + 256];
}

// Whether it swaps depends on the data.
// prove: odd_even_sort_no_barrier potential racy CDDI --block-dim=256
__global__ void odd_even_sort_no_barrier(int *g, int n)
{
	__shared__ int s[512];
	unsigned t = threadIdx.x;
	s[t] = g[t];
	s[t + 256] = g[t + 256];
	__syncthreads();
	for (int round = 0; round < n; round++) {
		unsigned i = 2 * t + (round & 1);
		if (i + 1 < 512 && s[i] > s[i + 1]) {
			int v = s[i];
			s[i] = s[i + 1];
			s[i + 1] = v;
		}
	}
	g[t] = s[t];
}

// A step of a bitonic sort of global memory: partners are apart for any j.
// prove: bitonic_step race-free
__global__ void bitonic_step(int *g, unsigned j, unsigned k)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
	if (other > i) {
		int a = g[i], b = g[other];
		if ((i & k) == 0 ? a > b : a < b) {
			g[i] = b;
			g[other] = a;
		}
	}
}

// prove: bitonic_step_no_guard potential racy
__global__ void bitonic_step_no_guard(int *g, unsigned j)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
	int a = g[i], b = g[other];
	if (a > b) {
		g[i] = b;
		g[other] = a;
	}
}

// prove: bitonic_no_barrier true --block-dim=256
__global__ void bitonic_no_barrier(int *g)
{
	__shared__ int s[256];
	unsigned t = threadIdx.x;
	s[t] = g[t];
	__syncthreads();
	for (unsigned k = 2; k <= 256; k *= 2)
		for (unsigned j = k / 2; j > 0; j /= 2) {
			unsigned other = t ^ j;
			if (other > t)
				s[t] = s[other] + k;
			else
				s[t] = j;
		}
	g[t] = s[t];
}

// prove: rank_sort race-free
__global__ void rank_sort(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, rank = 0;
	if (i >= n)
		return;
	for (int k = 0; k < n; k++)
		rank += in[k] < in[i] || (in[k] == in[i] && k < i);
	collider_distinct(rank);
	out[rank] = in[i];
}

// prove: digit_counts race-free --block-dim=64 --grid-dim=64
__global__ void digit_counts(unsigned *out, const unsigned *in, int shift)
{
	__shared__ unsigned count[16 * 64];
	unsigned t = threadIdx.x;
	for (int d = 0; d < 16; d++)
		count[d * 64 + t] = 0;
	for (int i = 0; i < 8; i++)
		count[(in[(blockIdx.x * 8 + i) * 64 + t] >> shift & 15) * 64 + t]++;
	for (int d = 0; d < 16; d++)
		out[(blockIdx.x * 16 + d) * 64 + t] = count[d * 64 + t];
}

// prove: digit_counts_shared potential racy --block-dim=64
__global__ void digit_counts_shared(unsigned *out, const unsigned *in, int shift)
{
	__shared__ unsigned count[16];
	unsigned t = threadIdx.x;
	if (t < 16)
		count[t] = 0;
	__syncthreads();
	count[in[blockIdx.x * 64 + t] >> shift & 15]++;
	__syncthreads();
	if (t < 16)
		out[blockIdx.x * 16 + t] = count[t];
}

// prove: histogram_by_warp race-free --block-dim=128
__global__ void histogram_by_warp(unsigned *bins, const unsigned char *data, int n)
{
	__shared__ unsigned s[4][64];
	unsigned t = threadIdx.x;
	for (unsigned i = t; i < 256; i += 128)
		(&s[0][0])[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&s[t / 32][data[i] & 63], 1u);
	__syncthreads();
	if (t < 64)
		atomicAdd(&bins[t], s[0][t] + s[1][t] + s[2][t] + s[3][t]);
}

// prove: histogram_bytes race-free --block-dim=64
__global__ void histogram_bytes(unsigned *bins, const unsigned char *data)
{
	__shared__ unsigned char s[32 * 64];
	unsigned t = threadIdx.x;
	for (int b = 0; b < 32; b++)
		s[b * 64 + t] = 0;
	for (int i = 0; i < 200; i++)
		s[(data[(blockIdx.x * 200 + i) * 64 + t] & 31) * 64 + t]++;
	__syncthreads();
	if (t < 32) {
		unsigned sum = 0;
		for (int i = 0; i < 64; i++)
			sum += s[t * 64 + i];
		atomicAdd(&bins[t], sum);
	}
}

// prove: histogram_bytes_no_barrier true --block-dim=64
__global__ void histogram_bytes_no_barrier(unsigned *bins)
{
	__shared__ unsigned char s[32 * 64];
	unsigned t = threadIdx.x;
	for (int b = 0; b < 32; b++)
		s[b * 64 + t] = 0;
	if (t < 32) {
		unsigned sum = 0;
		for (int i = 0; i < 64; i++)
			sum += s[t * 64 + i];
		atomicAdd(&bins[t], sum);
	}
}
