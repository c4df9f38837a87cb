/*
 * bits.cu - offsets that are linear in the bits of thread and block, and strides that are powers of
 * two: each with a twin that isn't a permutation.
 */

// Bytes of a histogram: each thread has its own column, in an order without bank conflicts.
__device__ void count4(unsigned char *own, unsigned d)
{
	own[(d >> 2 & 63) * 64]++;
	own[(d >> 10 & 63) * 64]++;
	own[(d >> 18 & 63) * 64]++;
	own[(d >> 26 & 63) * 64]++;
}

// prove: histogram_bytes race-free --block-dim=64
__global__ void histogram_bytes(unsigned *part, const uint4 *in, unsigned n)
{
	__shared__ unsigned char s[64 * 64];
	unsigned t = threadIdx.x, own = (t & ~63u) | (t & 15) << 2 | (t & 48) >> 4;
#pragma unroll
	for (unsigned i = 0; i < 16; i++)
		((unsigned *)s)[t + i * 64] = 0;
	__syncthreads();
	for (unsigned p = blockIdx.x * blockDim.x + t; p < n; p += blockDim.x * gridDim.x) {
		count4(s + own, in[p].x);
		count4(s + own, in[p].y);
		count4(s + own, in[p].z);
		count4(s + own, in[p].w);
	}
	__syncthreads();
	unsigned sum = 0;
	for (unsigned i = 0; i < 64; i++)
		sum += s[t * 64 + (i + t) % 64];
	part[blockIdx.x * 64 + t] = sum;
}

// Bit 3 of the thread is lost: (t & 7) for (t & 15).
// prove: histogram_bytes_clash potential racy --block-dim=64 --grid-dim=64
__global__ void histogram_bytes_clash(unsigned *part, const unsigned *in)
{
	__shared__ unsigned char s[64 * 64];
	unsigned t = threadIdx.x, own = (t & ~63u) | (t & 7) << 2 | (t & 48) >> 4;
	s[own + (in[blockIdx.x * 64 + t] & 63) * 64] = 1;
	__syncthreads();
	part[blockIdx.x * 64 + t] = s[t];
}

// Words of the zeroing lie across the bytes of others: no barrier.
// prove: histogram_bytes_early true --block-dim=64
__global__ void histogram_bytes_early(unsigned *part, unsigned n)
{
	__shared__ unsigned char s[64 * 64];
	unsigned t = threadIdx.x, own = (t & 15) << 2 | (t & 48) >> 4;
	((unsigned *)s)[t] = 0;
	s[own + n % 64 * 64]++;
	__syncthreads();
	part[blockIdx.x * 64 + t] = s[t];
}

// prove: swizzle race-free --block-dim=32,8 --grid-dim=64
__global__ void swizzle(float *out, const float *in)
{
	__shared__ float s[32 * 32];
	for (unsigned r = threadIdx.y; r < 32; r += 8)
		s[r * 32 + (threadIdx.x ^ r)] = in[(blockIdx.x * 32 + r) * 32 + threadIdx.x];
	__syncthreads();
	for (unsigned r = threadIdx.y; r < 32; r += 8)
		out[(blockIdx.x * 32 + r) * 32 + threadIdx.x] = s[threadIdx.x * 32 + (threadIdx.x ^ r)];
}

// The row loses its lowest bit.
// prove: swizzle_clash true --block-dim=32,8
__global__ void swizzle_clash(float *out, const float *in)
{
	__shared__ float s[32 * 32];
	unsigned r = threadIdx.y;
	s[(r & ~1u) * 32 + (threadIdx.x ^ r)] = in[(blockIdx.x * 32 + r) * 32 + threadIdx.x];
	__syncthreads();
	out[(blockIdx.x * 32 + r) * 32 + threadIdx.x] = s[r * 32 + threadIdx.x];
}

// prove: reversed race-free --block-dim=256
__global__ void reversed(int *out)
{
	__shared__ int s[256];
	s[255 - threadIdx.x] = threadIdx.x;
	out[blockIdx.x * 256 + (threadIdx.x >> 4 | (threadIdx.x & 15) << 4)] = s[255 - threadIdx.x];
}

// With 257 threads the last one comes around.
// prove: reversed_clash true --block-dim=260
__global__ void reversed_clash(int *out)
{
	__shared__ int s[256];
	s[(255 - threadIdx.x) & 255] = threadIdx.x;
	out[blockIdx.x * 260 + threadIdx.x] = s[(255 - threadIdx.x) & 255];
}

__device__ void order(unsigned &a, unsigned &b, bool up)
{
	unsigned x = a, y = b;
	if ((x > y) == up) {
		a = y;
		b = x;
	}
}

// prove: bitonic_sort race-free --block-dim=512
__global__ void bitonic_sort(unsigned *keys, unsigned *values, bool up)
{
	__shared__ unsigned k[1024], v[1024];
	unsigned t = threadIdx.x, at = blockIdx.x * 1024 + t;
	k[t] = keys[at];
	v[t] = values[at];
	k[t + 512] = keys[at + 512];
	v[t + 512] = values[at + 512];
	for (unsigned size = 2; size < 1024; size <<= 1)
		for (unsigned s = size / 2; s > 0; s >>= 1) {
			__syncthreads();
			unsigned p = 2 * t - (t & (s - 1));
			order(k[p], k[p + s], up ^ ((t & (size / 2)) != 0));
			order(v[p], v[p + s], up);
		}
	__syncthreads();
	keys[at] = k[t];
	values[at] = v[t];
	keys[at + 512] = k[t + 512];
	values[at + 512] = v[t + 512];
}

// The partner is twice as far away as the pairs are, and other blocks read what block 0 writes back.
// prove: bitonic_sort_far true --block-dim=512
__global__ void bitonic_sort_far(unsigned *keys, bool up)
{
	__shared__ unsigned k[2048];
	unsigned t = threadIdx.x;
	k[t] = keys[t];
	for (unsigned s = 512; s > 0; s >>= 1) {
		__syncthreads();
		unsigned p = 2 * t - (t & (s - 1));
		order(k[p], k[p + 2 * s], up);
	}
	__syncthreads();
	keys[blockIdx.x * 512 + t] = k[t];
}

// A stride of 1 is not always a power of two behind it: 1, 3, 7.
// prove: odd_strides true --block-dim=64
__global__ void odd_strides(int *out, int n)
{
	__shared__ int s[512];
	for (int k = 1; k < n; k = 2 * k + 1) {
		s[2 * threadIdx.x - (threadIdx.x & (k - 1))] = k;
		__syncthreads();
	}
	out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}

// prove: butterfly race-free --block-dim=128 --grid-dim=64
__global__ void butterfly(float *out, const float *in)
{
	__shared__ float s[512];
	unsigned t = threadIdx.x;
	for (unsigned i = t; i < 512; i += 128)
		s[i] = in[blockIdx.x * 512 + i];
	for (int d = 128; d > 0; d >>= 2) {
		unsigned low = t & (d - 1), i = ((t - low) << 2) + low;
		__syncthreads();
		float a = s[i], b = s[i + d], c = s[i + 2 * d], e = s[i + 3 * d];
		s[i] = a + c;
		s[i + d] = b + e;
		s[i + 2 * d] = a - c;
		s[i + 3 * d] = b - e;
	}
	__syncthreads();
	for (unsigned i = t; i < 512; i += 128)
		out[blockIdx.x * 512 + i] = s[i];
}

// One barrier too few: the thread ahead has a quarter of the stride.
// prove: butterfly_unordered true --block-dim=128
__global__ void butterfly_unordered(float *out, const float *in)
{
	__shared__ float s[512];
	unsigned t = threadIdx.x;
	for (unsigned i = t; i < 512; i += 128)
		s[i] = in[blockIdx.x * 512 + i];
	__syncthreads();
	for (int d = 128; d > 0; d >>= 2) {
		unsigned low = t & (d - 1), i = ((t - low) << 2) + low;
		float a = s[i], b = s[i + d], c = s[i + 2 * d], e = s[i + 3 * d];
		s[i] = a + c;
		s[i + d] = b + e;
		s[i + 2 * d] = a - c;
		s[i + 3 * d] = b - e;
	}
	__syncthreads();
	out[blockIdx.x * 128 + t] = s[t];
}

// Where the first and the last bit that is set are.
// prove: rows_by_ffs race-free --block-dim=64 --grid-dim=4 --param=n=64
__global__ void rows_by_ffs(float *out, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, s = __ffs(n) - 1;
	out[(i >> s) * n + (i & (n - 1))] = i;
}

// prove: rows_by_ffs_short true --block-dim=64 --grid-dim=4 --param=n=64
__global__ void rows_by_ffs_short(float *out, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, s = __ffs(n);
	out[(i >> s) * n + (i & (n - 1))] = i;
}

// prove: powers_by_clz race-free --block-dim=64 --grid-dim=1
__global__ void powers_by_clz(float *out)
{
	unsigned t = threadIdx.x;
	if (!(t & (t - 1)))
		out[32 - __clz(t)] = t;
}

// prove: powers_by_clz_all true --block-dim=64 --grid-dim=1
__global__ void powers_by_clz_all(float *out)
{
	out[32 - __clz(threadIdx.x)] = threadIdx.x;
}

// prove: wide_zeros race-free --block-dim=64 --grid-dim=1
__global__ void wide_zeros(float *out)
{
	unsigned long long m = 1ull << threadIdx.x;
	out[__clzll(m)] = threadIdx.x;
	out[(__ffsll(m) - 1) ^ 63] = threadIdx.x;
}

// prove: wide_zeros_clash true --block-dim=64 --grid-dim=1
__global__ void wide_zeros_clash(float *out)
{
	unsigned long long m = 1ull << threadIdx.x;
	out[__clzll(m) >> 1] = threadIdx.x;
}

// Of 0, and of nothing else, __ffs is 0.
// prove: none_is_set race-free --block-dim=64 --grid-dim=1
__global__ void none_is_set(float *out)
{
	unsigned t = threadIdx.x;
	if (!__ffs(t))
		out[0] = t;
	else
		out[t] = __ffs(t);
}

// prove: none_or_first_is_set true --block-dim=64 --grid-dim=1
__global__ void none_or_first_is_set(float *out)
{
	unsigned t = threadIdx.x;
	if (__ffs(t) < 2)
		out[0] = t;
	else
		out[t] = __ffs(t);
}

// What is known of a sum's low bits is found once for each value, however often it is used.
// prove: chained potential racy --block-dim=64 --grid-dim=1
__global__ void chained(unsigned *out, const unsigned *in)
{
	unsigned x = in[threadIdx.x], y = in[threadIdx.x + 64];
#define ROUND x = y + (x | y), y = x + (x | 1);
#define ROUNDS ROUND ROUND ROUND ROUND ROUND ROUND ROUND ROUND
	ROUNDS ROUNDS
	if (x == in[threadIdx.x + 128])
		out[0] = threadIdx.x;
}
