/*
 * scans.cu - scans, reductions, sorts, histograms and hashes.
 */

// prove: blelloch race-free --block-dim=256 --grid-dim=64
// pin: blelloch n=512
__global__ void blelloch(float *out, const float *in, int n)
{
	__shared__ float s[512];
	int t = threadIdx.x, offset = 1, base = blockIdx.x * 512;
	s[2 * t] = in[base + 2 * t];
	s[2 * t + 1] = in[base + 2 * t + 1];
	for (int d = 512 >> 1; d > 0; d >>= 1) {
		__syncthreads();
		if (t < d) {
			int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
			s[bi] += s[ai];
		}
		offset *= 2;
	}
	if (t == 0)
		s[511] = 0;
	for (int d = 1; d < 512; d *= 2) {
		offset >>= 1;
		__syncthreads();
		if (t < d) {
			int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
			float v = s[ai];
			s[ai] = s[bi];
			s[bi] += v;
		}
	}
	__syncthreads();
	out[base + 2 * t] = s[2 * t];
	out[base + 2 * t + 1] = s[2 * t + 1];
}

#define AVOID(i) ((i) + ((i) >> 5))
// prove: blelloch_padded race-free --block-dim=256 --grid-dim=64
// pin: blelloch_padded n=512
__global__ void blelloch_padded(float *out, const float *in, int n)
{
	__shared__ float s[AVOID(512)];
	int t = threadIdx.x, offset = 1, base = blockIdx.x * 512;
	s[AVOID(t)] = in[base + t];
	s[AVOID(t + 256)] = in[base + t + 256];
	for (int d = 256; d > 0; d >>= 1) {
		__syncthreads();
		if (t < d) {
			int ai = AVOID(offset * (2 * t + 1) - 1), bi = AVOID(offset * (2 * t + 2) - 1);
			s[bi] += s[ai];
		}
		offset <<= 1;
	}
	__syncthreads();
	out[base + t] = s[AVOID(t)];
	out[base + t + 256] = s[AVOID(t + 256)];
}

// prove: kogge_stone race-free --block-dim=256 --grid-dim=64
// pin: kogge_stone n=256
__global__ void kogge_stone(int *out, const int *in, int n)
{
	__shared__ int s[256];
	int t = threadIdx.x;
	s[t] = in[blockIdx.x * 256 + t];
	for (int d = 1; d < 256; d *= 2) {
		__syncthreads();
		int v = t >= d ? s[t - d] : 0;
		__syncthreads();
		s[t] += v;
	}
	out[blockIdx.x * 256 + t] = s[t];
}

// prove: naive_pingpong race-free --block-dim=512 --grid-dim=1
// pin: naive_pingpong n=512
__global__ void naive_pingpong(float *out, const float *in, int n)
{
	extern __shared__ float temp[];
	int t = threadIdx.x, pout = 0, pin = 1;
	temp[pout * n + t] = t > 0 ? in[t - 1] : 0;
	for (int offset = 1; offset < n; offset *= 2) {
		pout = 1 - pout;
		pin = 1 - pout;
		__syncthreads();
		temp[pout * n + t] = temp[pin * n + t];
		if (t >= offset)
			temp[pout * n + t] += temp[pin * n + t - offset];
	}
	__syncthreads();
	out[t] = temp[pout * n + t];
}

// prove: warp_scan race-free --block-dim=1024 --grid-dim=4
// pin: warp_scan n=4096
__global__ void warp_scan(int *out, int *sums, const int *in, int n)
{
	__shared__ int s[32];
	int i = blockIdx.x * 1024 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int v = in[i];
	for (int d = 1; d < 32; d *= 2) {
		int u = __shfl_up_sync(~0u, v, d);
		if (lane >= d)
			v += u;
	}
	if (lane == 31)
		s[warp] = v;
	__syncthreads();
	if (warp == 0) {
		int w = s[lane];
		for (int d = 1; d < 32; d *= 2) {
			int u = __shfl_up_sync(~0u, w, d);
			if (lane >= d)
				w += u;
		}
		s[lane] = w;
	}
	__syncthreads();
	out[i] = v + (warp ? s[warp - 1] : 0);
	if (threadIdx.x == 1023)
		sums[blockIdx.x] = s[31];
}

// prove: add_sums race-free --block-dim=256 --grid-dim=64
// pin: add_sums n=16384
__global__ void add_sums(uint4 *data, const unsigned *sums, int n)
{
	__shared__ unsigned buf;
	unsigned pos = blockIdx.x * blockDim.x + threadIdx.x;
	if (threadIdx.x == 0)
		buf = sums[blockIdx.x];
	__syncthreads();
	uint4 d = data[pos];
	d.x += buf;
	d.y += buf;
	d.z += buf;
	d.w += buf;
	data[pos] = d;
}

// prove: segmented race-free --block-dim=128 --grid-dim=16
// pin: segmented n=2048
__global__ void segmented(int *data, int *flag, int n)
{
	__shared__ int v[128], f[128];
	int t = threadIdx.x, i = blockIdx.x * 128 + t;
	v[t] = i < n ? data[i] : 0;
	f[t] = i < n ? flag[i] : 1;
	__syncthreads();
	for (int d = 1; d < 128; d <<= 1) {
		int a = 0, b = 0;
		if (t >= d && !f[t]) {
			a = v[t - d];
			b = f[t - d];
		}
		__syncthreads();
		v[t] += a;
		f[t] |= b;
		__syncthreads();
	}
	if (i < n)
		data[i] = v[t];
}

// prove: reduce_tree race-free --block-dim=256 --grid-dim=64
// pin: reduce_tree n=100000
__global__ void reduce_tree(float *out, const float *in, unsigned n)
{
	__shared__ float s[256];
	unsigned t = threadIdx.x, i = blockIdx.x * (256 * 2) + t;
	float sum = i < n ? in[i] : 0;
	if (i + 256 < n)
		sum += in[i + 256];
	s[t] = sum;
	__syncthreads();
	for (unsigned d = blockDim.x / 2; d > 0; d >>= 1) {
		if (t < d)
			s[t] += s[t + d];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: reduce_interleaved race-free --block-dim=256 --grid-dim=64
// pin: reduce_interleaved n=100000
__global__ void reduce_interleaved(float *out, const float *in, unsigned n)
{
	extern __shared__ float dyn[];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	dyn[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (unsigned d = 1; d < blockDim.x; d *= 2) {
		unsigned index = 2 * d * t;
		if (index < blockDim.x)
			dyn[index] += dyn[index + d];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = dyn[0];
}

// prove: reduce_modulo race-free --block-dim=256 --grid-dim=64
// pin: reduce_modulo n=100000
__global__ void reduce_modulo(int *out, const int *in, unsigned n)
{
	__shared__ int s[256];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	s[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (unsigned d = 1; d < 256; d *= 2) {
		if (t % (2 * d) == 0)
			s[t] += s[t + d];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: argmax race-free --block-dim=128 --grid-dim=64
// pin: argmax n=1000
__global__ void argmax(int *where, float *what, const float *in, int n)
{
	__shared__ struct {
		float v;
		int i;
	} best[128];
	const float *row = in + (size_t)blockIdx.x * n;
	float v = -1e30f;
	int at = -1, t = threadIdx.x;
	for (int i = t; i < n; i += 128)
		if (row[i] > v) {
			v = row[i];
			at = i;
		}
	best[t].v = v;
	best[t].i = at;
	__syncthreads();
	for (int d = 64; d; d /= 2) {
		if (t < d && best[t + d].v > best[t].v)
			best[t] = best[t + d];
		__syncthreads();
	}
	if (!t) {
		where[blockIdx.x] = best[0].i;
		what[blockIdx.x] = best[0].v;
	}
}

__device__ static void compare(unsigned &ka, unsigned &va, unsigned &kb, unsigned &vb, unsigned dir)
{
	if ((ka > kb) == dir) {
		unsigned t = ka;
		ka = kb;
		kb = t;
		t = va;
		va = vb;
		vb = t;
	}
}

// prove: bitonic_shared race-free --block-dim=512 --grid-dim=64
// pin: bitonic_shared length=1024 dir=1
__global__ void bitonic_shared(unsigned *dk, unsigned *dv, const unsigned *sk, const unsigned *sv, unsigned length, unsigned dir)
{
	__shared__ unsigned k[1024], v[1024];
	unsigned base = blockIdx.x * 1024 + threadIdx.x;
	k[threadIdx.x] = sk[base];
	v[threadIdx.x] = sv[base];
	k[threadIdx.x + 512] = sk[base + 512];
	v[threadIdx.x + 512] = sv[base + 512];
	for (unsigned size = 2; size < length; size <<= 1) {
		unsigned ddd = dir ^ ((threadIdx.x & (size / 2)) != 0);
		for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
			__syncthreads();
			unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
			compare(k[pos], v[pos], k[pos + stride], v[pos + stride], ddd);
		}
	}
	for (unsigned stride = length / 2; stride > 0; stride >>= 1) {
		__syncthreads();
		unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
		compare(k[pos], v[pos], k[pos + stride], v[pos + stride], dir);
	}
	__syncthreads();
	dk[base] = k[threadIdx.x];
	dv[base] = v[threadIdx.x];
	dk[base + 512] = k[threadIdx.x + 512];
	dv[base + 512] = v[threadIdx.x + 512];
}

// prove: bitonic_global race-free --block-dim=256 --grid-dim=64
// pin: bitonic_global length=32768 size=2048 stride=1024 dir=1
__global__ void bitonic_global(unsigned *dk, unsigned *dv, const unsigned *sk, const unsigned *sv, unsigned length, unsigned size, unsigned stride, unsigned dir)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, c = i & (length / 2 - 1);
	unsigned ddd = dir ^ ((c & (size / 2)) != 0), pos = 2 * i - (i & (stride - 1));
	unsigned ka = sk[pos], va = sv[pos], kb = sk[pos + stride], vb = sv[pos + stride];
	compare(ka, va, kb, vb, ddd);
	dk[pos] = ka;
	dv[pos] = va;
	dk[pos + stride] = kb;
	dv[pos + stride] = vb;
}

// prove: bitonic_xor race-free --block-dim=256 --grid-dim=64
// pin: bitonic_xor j=8 k=16
__global__ void bitonic_xor(float *v, int j, int k)
{
	unsigned i = threadIdx.x + blockDim.x * blockIdx.x, ixj = i ^ j;
	if (ixj > i) {
		if ((i & k) == 0 && v[i] > v[ixj]) {
			float t = v[i];
			v[i] = v[ixj];
			v[ixj] = t;
		}
		if ((i & k) != 0 && v[i] < v[ixj]) {
			float t = v[i];
			v[i] = v[ixj];
			v[ixj] = t;
		}
	}
}

// prove: odd_even race-free --block-dim=512 --grid-dim=64
// pin: odd_even length=1024
__global__ void odd_even(unsigned *data, unsigned length)
{
	__shared__ unsigned k[1024];
	unsigned base = blockIdx.x * 1024 + threadIdx.x;
	k[threadIdx.x] = data[base];
	k[threadIdx.x + 512] = data[base + 512];
	for (unsigned size = 2; size <= 1024; size <<= 1) {
		unsigned stride = size / 2, offset = threadIdx.x & (stride - 1);
		{
			__syncthreads();
			unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
			unsigned a = k[pos], b = k[pos + stride];
			k[pos] = min(a, b);
			k[pos + stride] = max(a, b);
			stride >>= 1;
		}
		for (; stride > 0; stride >>= 1) {
			__syncthreads();
			unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
			if (offset >= stride) {
				unsigned a = k[pos - stride], b = k[pos];
				k[pos - stride] = min(a, b);
				k[pos] = max(a, b);
			}
		}
	}
	__syncthreads();
	data[base] = k[threadIdx.x];
	data[base + 512] = k[threadIdx.x + 512];
}

// prove: brick_sort race-free --block-dim=256 --grid-dim=1
// pin: brick_sort n=512
__global__ void brick_sort(int *data, int n)
{
	__shared__ int s[512];
	int t = threadIdx.x;
	s[t] = data[t];
	s[t + 256] = data[t + 256];
	for (int i = 0; i < n; i++) {
		__syncthreads();
		int at = 2 * t + (i & 1);
		if (at + 1 < 512 && s[at] > s[at + 1]) {
			int v = s[at];
			s[at] = s[at + 1];
			s[at + 1] = v;
		}
	}
	__syncthreads();
	data[t] = s[t];
	data[t + 256] = s[t + 256];
}

// prove: radix_block race-free --block-dim=256 --grid-dim=64
// pin: radix_block shift=8
__global__ void radix_block(unsigned *out, const unsigned *in, unsigned *counts, unsigned shift)
{
	__shared__ unsigned s[256], ranks[257];
	unsigned t = threadIdx.x, i = blockIdx.x * 256 + t, key = in[i];
	for (unsigned bit = shift; bit < shift + 4; bit++) {
		unsigned pred = !(key >> bit & 1);
		ranks[t] = pred;
		__syncthreads();
		for (unsigned d = 1; d < 256; d *= 2) {
			unsigned v = t >= d ? ranks[t - d] : 0;
			__syncthreads();
			ranks[t] += v;
			__syncthreads();
		}
		unsigned total = ranks[255], rank = pred ? ranks[t] - 1 : total + t - ranks[t];
		collider_distinct(rank);
		s[rank] = key;
		__syncthreads();
		key = s[t];
		__syncthreads();
	}
	out[i] = key;
	if (t < 16)
		counts[t * gridDim.x + blockIdx.x] = s[t];
}

// prove: radix_count race-free --block-dim=256 --grid-dim=64
// pin: radix_count n=100000 shift=4
__global__ void radix_count(unsigned *counts, const unsigned *in, int n, int shift)
{
	__shared__ unsigned c[16];
	if (threadIdx.x < 16)
		c[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
		atomicAdd(&c[in[i] >> shift & 15], 1);
	__syncthreads();
	if (threadIdx.x < 16)
		counts[threadIdx.x * gridDim.x + blockIdx.x] = c[threadIdx.x];
}

__device__ static void add_byte(unsigned char *base, unsigned data)
{
	base[data * 64]++;
}

// prove: hist64 race-free --block-dim=64 --grid-dim=240
// pin: hist64 n=1000000
__global__ void hist64(unsigned *partial, const uint4 *data, unsigned n)
{
	__shared__ unsigned char s[64 * 64];
	const unsigned pos = (threadIdx.x & ~63u) | ((threadIdx.x & 15) << 2) | ((threadIdx.x & 48) >> 4);
	unsigned *w = (unsigned *)s;
	for (int i = 0; i < 16; i++)
		w[threadIdx.x + i * 64] = 0;
	__syncthreads();
	unsigned char *base = s + pos;
	for (unsigned i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) {
		uint4 d = data[i];
		add_byte(base, d.x >> 2 & 63);
		add_byte(base, d.y >> 10 & 63);
		add_byte(base, d.z >> 18 & 63);
		add_byte(base, d.w >> 26 & 63);
	}
	__syncthreads();
	unsigned sum = 0;
	const unsigned char *row = s + threadIdx.x * 64;
	for (unsigned i = 0, at = 4 * (threadIdx.x & 15); i < 16; i++) {
		sum += row[at] + row[at + 1] + row[at + 2] + row[at + 3];
		at = (at + 4) & 63;
	}
	partial[blockIdx.x * 64 + threadIdx.x] = sum;
}

// prove: hist256 race-free --block-dim=192 --grid-dim=240
// pin: hist256 n=1000000
__global__ void hist256(unsigned *partial, const unsigned *data, unsigned n)
{
	__shared__ unsigned s[6 * 256];
	unsigned *warp = s + (threadIdx.x >> 5) * 256;
	for (unsigned i = 0; i < 6 * 256 / 192; i++)
		s[threadIdx.x + i * 192] = 0;
	__syncthreads();
	for (unsigned pos = blockIdx.x * blockDim.x + threadIdx.x; pos < n; pos += blockDim.x * gridDim.x) {
		unsigned d = data[pos];
		atomicAdd(warp + (d & 255), 1);
		atomicAdd(warp + (d >> 8 & 255), 1);
		atomicAdd(warp + (d >> 16 & 255), 1);
		atomicAdd(warp + (d >> 24 & 255), 1);
	}
	__syncthreads();
	for (unsigned bin = threadIdx.x; bin < 256; bin += 192) {
		unsigned sum = 0;
		for (unsigned i = 0; i < 6; i++)
			sum += s[bin + i * 256] & 0x7ffffff;
		partial[blockIdx.x * 256 + bin] = sum;
	}
}

// prove: merge_hist race-free --block-dim=256 --grid-dim=64
// pin: merge_hist count=240
__global__ void merge_hist(unsigned *hist, const unsigned *partial, unsigned count)
{
	__shared__ unsigned data[256];
	unsigned sum = 0;
	for (unsigned i = threadIdx.x; i < count; i += 256)
		sum += partial[blockIdx.x + i * 64];
	data[threadIdx.x] = sum;
	for (unsigned stride = 128; stride > 0; stride >>= 1) {
		__syncthreads();
		if (threadIdx.x < stride)
			data[threadIdx.x] += data[threadIdx.x + stride];
	}
	if (threadIdx.x == 0)
		hist[blockIdx.x] = data[0];
}

__constant__ unsigned sha_k[64];
#define ROR(x, n) ((x) >> (n) | (x) << (32 - (n)))

// prove: sha256 race-free --block-dim=256 --grid-dim=64
// pin: sha256 n=16384
__global__ void sha256(unsigned *out, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned w[64], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	if (i >= n)
		return;
	for (int k = 0; k < 16; k++)
		w[k] = in[i * 16 + k];
	for (int k = 16; k < 64; k++) {
		unsigned a = w[k - 15], b = w[k - 2];
		w[k] = w[k - 16] + w[k - 7] + (ROR(a, 7) ^ ROR(a, 18) ^ a >> 3) + (ROR(b, 17) ^ ROR(b, 19) ^ b >> 10);
	}
	for (int k = 0; k < 64; k++) {
		unsigned t = h[7] + (ROR(h[4], 6) ^ ROR(h[4], 11) ^ ROR(h[4], 25)) + sha_k[k] + w[k];
		unsigned u = (ROR(h[0], 2) ^ ROR(h[0], 13)) + ((h[0] & h[1]) ^ (h[0] & h[2]));
		for (int j = 7; j > 0; j--)
			h[j] = h[j - 1];
		h[4] += t;
		h[0] = t + u;
	}
	for (int k = 0; k < 8; k++)
		out[i * 8 + k] = h[k];
}

// prove: hash_rounds race-free --block-dim=64 --grid-dim=32
// pin: hash_rounds rounds=16
__global__ void hash_rounds(unsigned *out, const unsigned *in, int rounds)
{
	__shared__ unsigned s[64][17];
	unsigned *m = s[threadIdx.x];
	for (int k = 0; k < 16; k++)
		m[k] = in[(blockIdx.x * 64 + threadIdx.x) * 16 + k];
#define QUARTER(a, b, c, d) m[a] += m[b]; m[d] = ROR(m[d] ^ m[a], 16); m[c] += m[d]; m[b] = ROR(m[b] ^ m[c], 20);
	for (int r = 0; r < rounds; r++) {
		QUARTER(0, 4, 8, 12)
		QUARTER(1, 5, 9, 13)
		QUARTER(2, 6, 10, 14)
		QUARTER(3, 7, 11, 15)
		QUARTER(0, 5, 10, 15)
		QUARTER(1, 6, 11, 12)
		QUARTER(2, 7, 8, 13)
		QUARTER(3, 4, 9, 14)
	}
	for (int k = 0; k < 16; k++)
		out[(blockIdx.x * 64 + threadIdx.x) * 16 + k] = m[k];
}

// prove: hash_global race-free --block-dim=64 --grid-dim=32
// pin: hash_global n=2048
__global__ void hash_global(unsigned *state, int n)
{
	int i = blockIdx.x * 64 + threadIdx.x;
	if (i >= n)
		return;
	unsigned *m = state + i * 16;
	QUARTER(0, 4, 8, 12)
	QUARTER(1, 5, 9, 13)
	QUARTER(2, 6, 10, 14)
	QUARTER(3, 7, 11, 15)
	QUARTER(0, 5, 10, 15)
	QUARTER(1, 6, 11, 12)
	QUARTER(2, 7, 8, 13)
	QUARTER(3, 4, 9, 14)
}

// prove: merkle race-free --block-dim=128 --grid-dim=64
// pin: merkle n=16384
__global__ void merkle(unsigned *out, const unsigned *in, int n)
{
	__shared__ unsigned s[256];
	int t = threadIdx.x;
	s[t] = in[blockIdx.x * 256 + t];
	s[t + 128] = in[blockIdx.x * 256 + t + 128];
	__syncthreads();
	for (int w = 128; w > 0; w /= 2) {
		unsigned v = 0;
		if (t < w)
			v = s[2 * t] * 31 + s[2 * t + 1];
		__syncthreads();
		if (t < w)
			s[t] = v;
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: walsh race-free --block-dim=512 --grid-dim=64
// pin: walsh log2n=11
__global__ void walsh(float *out, const float *in, int log2n)
{
	extern __shared__ float buf[];
	const int n = 1 << log2n, base = blockIdx.x << log2n;
	for (int pos = threadIdx.x; pos < n; pos += blockDim.x)
		buf[pos] = in[base + pos];
	int stride;
	const int pos = threadIdx.x;
	for (stride = n >> 2; stride > 0; stride >>= 2) {
		int lo = pos & (stride - 1), i0 = ((pos - lo) << 2) + lo, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
		__syncthreads();
		float d0 = buf[i0], d1 = buf[i1], d2 = buf[i2], d3 = buf[i3];
		buf[i0] = d0 + d1 + d2 + d3;
		buf[i1] = d0 - d1 + d2 - d3;
		buf[i2] = d0 + d1 - d2 - d3;
		buf[i3] = d0 - d1 - d2 + d3;
	}
	__syncthreads();
	for (int p = threadIdx.x; p < n; p += blockDim.x)
		out[base + p] = buf[p];
}
