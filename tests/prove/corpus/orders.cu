/*
 * orders.cu - sorts, merges, graphs, hash tables, molecules: what moves data by other data.
 */
#include <sm_32_intrinsics.h>

// prove: merge_ranks race-free --block-dim=256 --grid-dim=64
// pin: merge_ranks n=32768 segments=64
__global__ void merge_ranks(unsigned *ranks, const unsigned *keys, int n, int segments)
{
	unsigned pos = blockIdx.x * blockDim.x + threadIdx.x;
	if (pos >= n / 128 * 2)
		return;
	unsigned lo = 0, key = keys[pos * 64 % n];
	for (unsigned step = 64; step > 0; step >>= 1)
		if (lo + step < 128 && keys[(pos / 2 * 128 + lo + step) % n] <= key)
			lo += step;
	ranks[pos] = lo;
}

// prove: merge_shared potential --block-dim=512 --grid-dim=32
__global__ void merge_shared(unsigned *dst, const unsigned *src)
{
	__shared__ unsigned s[1024];
	src += blockIdx.x * 1024 + threadIdx.x;
	dst += blockIdx.x * 1024 + threadIdx.x;
	s[threadIdx.x] = src[0];
	s[threadIdx.x + 512] = src[512];
	for (unsigned stride = 1; stride < 1024; stride <<= 1) {
		unsigned lo = threadIdx.x & (stride - 1);
		unsigned *base = s + 2 * (threadIdx.x - lo);
		__syncthreads();
		unsigned a = base[lo], b = base[lo + stride], pa = 0, pb = 0;
		for (unsigned k = stride; k > 0; k >>= 1) {
			if (pa + k <= stride && base[stride + pa + k - 1] < a)
				pa += k;
			if (pb + k <= stride && base[pb + k - 1] <= b)
				pb += k;
		}
		__syncthreads();
		base[pa + lo] = a;
		base[pb + lo] = b;
	}
	__syncthreads();
	dst[0] = s[threadIdx.x];
	dst[512] = s[threadIdx.x + 512];
}

// prove: odd_even_merge race-free --block-dim=512 --grid-dim=16
__global__ void odd_even_merge(unsigned *data)
{
	__shared__ unsigned s[1024];
	unsigned *mine = data + blockIdx.x * 1024;
	s[threadIdx.x] = mine[threadIdx.x];
	s[threadIdx.x + 512] = mine[threadIdx.x + 512];
	for (unsigned size = 2; size <= 1024; size <<= 1) {
		unsigned stride = size / 2, offset = threadIdx.x & (stride - 1);
		__syncthreads();
		unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
		unsigned a = s[pos], b = s[pos + stride];
		s[pos] = min(a, b);
		s[pos + stride] = max(a, b);
		stride >>= 1;
		for (; stride > 0; stride >>= 1) {
			__syncthreads();
			pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
			if (offset >= stride) {
				a = s[pos - stride];
				b = s[pos];
				s[pos - stride] = min(a, b);
				s[pos] = max(a, b);
			}
		}
	}
	__syncthreads();
	mine[threadIdx.x] = s[threadIdx.x];
	mine[threadIdx.x + 512] = s[threadIdx.x + 512];
}

// prove: merge_global race-free --block-dim=256 --grid-dim=64
// pin: merge_global n=32768 size=4096 stride=512
__global__ void merge_global(unsigned *dst, const unsigned *src, unsigned n, unsigned size, unsigned stride)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, pos = 2 * i - (i & (stride - 1));
	if (stride < size / 2) {
		unsigned offset = i & (size / 2 - 1);
		if (offset >= stride) {
			unsigned a = src[pos - stride], b = src[pos];
			dst[pos - stride] = min(a, b);
			dst[pos] = max(a, b);
		}
	} else {
		unsigned a = src[pos], b = src[pos + stride];
		dst[pos] = min(a, b);
		dst[pos + stride] = max(a, b);
	}
}

// prove: bitonic_step race-free --block-dim=256 --grid-dim=128
// pin: bitonic_step j=64 k=1024
__global__ void bitonic_step(float *v, int j, int k)
{
	unsigned i = threadIdx.x + blockDim.x * blockIdx.x, other = i ^ j;
	if (other > i) {
		float a = v[i], b = v[other];
		if ((i & k) == 0 ? a > b : a < b) {
			v[i] = b;
			v[other] = a;
		}
	}
}

// prove: radix_digits race-free --block-dim=256 --grid-dim=64
// pin: radix_digits n=65536 shift=8
__global__ void radix_digits(unsigned *counts, const unsigned *keys, int n, int shift)
{
	__shared__ unsigned s[16];
	if (threadIdx.x < 16)
		s[threadIdx.x] = 0;
	__syncthreads();
	for (int k = 0; k < 4; k++) {
		int i = (blockIdx.x * 4 + k) * 256 + threadIdx.x;
		if (i < n)
			atomicAdd(&s[keys[i] >> shift & 15], 1);
	}
	__syncthreads();
	if (threadIdx.x < 16)
		counts[threadIdx.x * gridDim.x + blockIdx.x] = s[threadIdx.x];
}

// prove: radix_split race-free --block-dim=256 --grid-dim=64
// pin: radix_split bit=3
__global__ void radix_split(unsigned *keys, int bit)
{
	__shared__ unsigned s[256];
	int t = threadIdx.x;
	unsigned key = keys[blockIdx.x * 256 + t], one = key >> bit & 1;
	s[t] = !one;
	__syncthreads();
	for (int k = 1; k < 256; k *= 2) {
		unsigned v = t >= k ? s[t - k] : 0;
		__syncthreads();
		s[t] += v;
		__syncthreads();
	}
	unsigned zeros = s[255], to = one ? zeros + t - s[t] : s[t] - 1;
	__syncthreads();
	s[to] = key;
	__syncthreads();
	keys[blockIdx.x * 256 + t] = s[t];
}

// prove: count_rank race-free --block-dim=128 --grid-dim=32
// pin: count_rank n=4096
__global__ void count_rank(int *rank, const float *x, int n)
{
	__shared__ float s[128];
	int i = blockIdx.x * 128 + threadIdx.x, r = 0;
	float me = x[i];
	for (int b = 0; b < n; b += 128) {
		s[threadIdx.x] = x[b + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 128; j++)
			r += s[j] < me || (s[j] == me && b + j < i);
		__syncthreads();
	}
	rank[i] = r;
}

// prove: sssp_relax race-free --block-dim=256 --grid-dim=40
// pin: sssp_relax n=10000
__global__ void sssp_relax(int *next, const int *dist, const int *row, const int *col, const int *w, int n)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v < n)
		for (int e = row[v]; e < row[v + 1]; e++)
			atomicMin(&next[col[e]], dist[v] + w[e]);
}

// prove: component_hook potential --block-dim=256 --grid-dim=40
// pin: component_hook edges=10000
// races: component_hook
__global__ void component_hook(int *parent, const int2 *edge, int edges, int *again)
{
	int e = blockIdx.x * blockDim.x + threadIdx.x;
	if (e < edges) {
		int a = parent[edge[e].x], b = parent[edge[e].y];
		if (a != b) {
			parent[max(a, b)] = min(a, b);
			*again = 1;
		}
	}
}

// prove: triangle_count race-free --block-dim=128 --grid-dim=79
// pin: triangle_count n=10000
__global__ void triangle_count(unsigned long long *total, const int *row, const int *col, int n)
{
	int u = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long c = 0;
	if (u < n)
		for (int e = row[u]; e < row[u + 1]; e++) {
			int v = col[e], i = row[u], j = row[v];
			while (i < row[u + 1] && j < row[v + 1]) {
				c += col[i] == col[j];
				if (col[i] <= col[j])
					i++;
				else
					j++;
			}
		}
	if (c)
		atomicAdd(total, c);
}

// prove: frontier_push race-free --block-dim=256 --grid-dim=40
// pin: frontier_push level=3
__global__ void frontier_push(int *level_of, int *out, int *count, const int *in, const int *row, const int *col,
			      int n, int level)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		for (int e = row[in[i]]; e < row[in[i] + 1]; e++)
			if (atomicCAS(&level_of[col[e]], -1, level) == -1)
				out[atomicAdd(count, 1)] = col[e];
}

// prove: colour_max race-free --block-dim=256 --grid-dim=40
// pin: colour_max n=10000 c=2
__global__ void colour_max(int *colour_out, const int *colour, const int *row, const int *col, const int *random,
			   int n, int c)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n)
		return;
	bool is_most = colour[v] == -1;
	for (int e = row[v]; e < row[v + 1] && is_most; e++)
		if (colour[col[e]] == -1 && random[col[e]] >= random[v])
			is_most = false;
	colour_out[v] = is_most ? c : colour[v];
}

// prove: rank_push race-free --block-dim=256 --grid-dim=40
// pin: rank_push n=10000
__global__ void rank_push(float *next, const float *rank, const int *row, const int *col, int n)
{
	for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
		float share = rank[v] / (row[v + 1] - row[v]);
		for (int e = row[v]; e < row[v + 1]; e++)
			atomicAdd(&next[col[e]], share);
	}
}

// prove: table_insert race-free --block-dim=256 --grid-dim=64
// pin: table_insert n=16384
__global__ void table_insert(unsigned *keys, unsigned *values, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned key = in[i], slot = key * 2654435761u >> 16;
	for (;;) {
		unsigned before = atomicCAS(&keys[slot], 0xffffffffu, key);
		if (before == 0xffffffffu || before == key) {
			atomicExch(&values[slot], i);
			return;
		}
		slot = (slot + 1) & 0xffff;
	}
}

// prove: table_find race-free --block-dim=256 --grid-dim=64
// pin: table_find n=16384
__global__ void table_find(unsigned *out, const unsigned *keys, const unsigned *values, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned slot = in[i] * 2654435761u >> 16;
	while (keys[slot] != in[i] && keys[slot] != 0xffffffffu)
		slot = (slot + 1) & 0xffff;
	out[i] = values[slot];
}

// prove: fnv_blocks race-free --block-dim=128 --grid-dim=64
// pin: fnv_blocks words=16
__global__ void fnv_blocks(unsigned *out, const unsigned *in, int words)
{
	__shared__ unsigned s[128 * 17];
	for (int i = threadIdx.x; i < 128 * words; i += 128)
		s[i / words * 17 + i % words] = in[blockIdx.x * 128 * words + i];
	__syncthreads();
	unsigned h = 2166136261u;
	for (int k = 0; k < words; k++)
		h = (h ^ s[threadIdx.x * 17 + k]) * 16777619u;
	out[blockIdx.x * 128 + threadIdx.x] = h;
}

// prove: md5_lanes race-free --block-dim=64 --grid-dim=64
__global__ void md5_lanes(uint4 *out, const unsigned *in)
{
	int i = blockIdx.x * 64 + threadIdx.x;
	unsigned m[16], a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
	for (int k = 0; k < 16; k++)
		m[k] = in[i * 16 + k];
	for (int k = 0; k < 64; k++) {
		unsigned f = k < 16 ? (b & c) | (~b & d) : k < 32 ? (d & b) | (~d & c) : b ^ c ^ d;
		unsigned t = d;
		d = c;
		c = b;
		b += __funnelshift_l(a + f + m[k * 5 & 15], a + f + m[k * 5 & 15], k & 31);
		a = t;
	}
	out[i] = make_uint4(a, b, c, d);
}

// prove: neighbour_list race-free --block-dim=128 --grid-dim=32
// pin: neighbour_list n=4096 most=64
__global__ void neighbour_list(int *list, int *count, const float4 *pos, int n, int most, float cut)
{
	__shared__ float4 s[128];
	int i = blockIdx.x * 128 + threadIdx.x, c = 0;
	float4 me = pos[i];
	for (int b = 0; b < n; b += 128) {
		s[threadIdx.x] = pos[b + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 128; j++) {
			float dx = s[j].x - me.x, dy = s[j].y - me.y;
			if (b + j != i && dx * dx + dy * dy < cut && c < most)
				list[c++ * n + i] = b + j;
		}
		__syncthreads();
	}
	count[i] = c;
}

// prove: verlet_first race-free --block-dim=128
// pin: verlet_first atoms=23558
__global__ void verlet_first(float4 *velm, const long long *force, float4 *delta, int atoms, int padded, float dt)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < atoms; i += blockDim.x * gridDim.x) {
		float4 v = velm[i];
		if (v.w != 0) {
			v.x += dt * force[i] * v.w;
			v.y += dt * force[i + padded] * v.w;
			v.z += dt * force[i + padded * 2] * v.w;
			velm[i] = v;
			delta[i] = make_float4(v.x * dt, v.y * dt, v.z * dt, 0);
		}
	}
}

// prove: reduce_buffers race-free --block-dim=128 --grid-dim=64
// pin: reduce_buffers size=23584 buffers=8
__global__ void reduce_buffers(float4 *buffer, const long long *fixed, int size, int buffers)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) {
		float4 sum = make_float4(fixed[i], fixed[i + size], fixed[i + 2 * size], 0);
		for (int k = i; k < size * buffers; k += size) {
			sum.x += buffer[k].x;
			sum.y += buffer[k].y;
		}
		buffer[i] = sum;
	}
}

// prove: block_bounds race-free --block-dim=64 --grid-dim=46
// pin: block_bounds atoms=23558
__global__ void block_bounds(float4 *center, float4 *size, const float4 *pos, int atoms, int *rebuild)
{
	int b = blockIdx.x * blockDim.x + threadIdx.x, base = b * 32;
	while (base < atoms) {
		float4 lo = pos[base], hi = lo;
		int last = min(base + 32, atoms);
		for (int i = base + 1; i < last; i++) {
			lo.x = fminf(lo.x, pos[i].x);
			hi.x = fmaxf(hi.x, pos[i].x);
		}
		center[b] = make_float4((lo.x + hi.x) * 0.5f, 0, 0, 0);
		size[b] = make_float4(hi.x - lo.x, 0, 0, 0);
		b += blockDim.x * gridDim.x;
		base = b * 32;
	}
	if (blockIdx.x == 0 && threadIdx.x == 0)
		rebuild[0] = 0;
}

// prove: spread_charge race-free --block-dim=128 --grid-dim=64
// pin: spread_charge atoms=23558 gx=64 gy=64 gz=64
__global__ void spread_charge(float *grid, const float4 *pos, int atoms, int gx, int gy, int gz)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < atoms; i += blockDim.x * gridDim.x) {
		float4 p = pos[i];
		int x0 = (int)p.x, y0 = (int)p.y, z0 = (int)p.z;
		for (int k = 0; k < 125; k++) {
			int x = (x0 + k / 25) % gx, y = (y0 + k / 5 % 5) % gy, z = (z0 + k % 5) % gz;
			atomicAdd(&grid[(x * gy + y) * gz + z], p.w);
		}
	}
}

// prove: bond_forces race-free --block-dim=64
// pin: bond_forces bonds=8000 padded=23584
__global__ void bond_forces(unsigned long long *force, const float4 *pos, const int2 *pairs, const float2 *params,
			    int bonds, int padded)
{
	for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < bonds; b += blockDim.x * gridDim.x) {
		int i = pairs[b].x, j = pairs[b].y;
		float d = pos[i].x - pos[j].x, f = params[b].x * (d - params[b].y);
		atomicAdd(&force[i], (unsigned long long)(long long)(f * 4294967296.0f));
		atomicAdd(&force[j + padded], (unsigned long long)(long long)(-f * 4294967296.0f));
	}
}

// prove: virtual_sites potential --block-dim=64 --grid-dim=16
// pin: virtual_sites sites=1000
__global__ void virtual_sites(float4 *pos, const int4 *atoms, const float2 *weights, int sites)
{
	for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < sites; s += blockDim.x * gridDim.x) {
		float4 a = pos[atoms[s].y], b = pos[atoms[s].z];
		pos[atoms[s].x] = make_float4(a.x * weights[s].x + b.x * weights[s].y, 0, 0, a.w);
	}
}

// prove: remove_momentum race-free --block-dim=64 --grid-dim=16
// pin: remove_momentum atoms=23558
__global__ void remove_momentum(float4 *velm, const float4 *group, int atoms)
{
	__shared__ float4 s[64];
	s[threadIdx.x] = threadIdx.x < gridDim.x ? group[threadIdx.x] : make_float4(0, 0, 0, 0);
	__syncthreads();
	for (int k = 32; k > 0; k >>= 1) {
		if (threadIdx.x < k) {
			s[threadIdx.x].x += s[threadIdx.x + k].x;
			s[threadIdx.x].y += s[threadIdx.x + k].y;
		}
		__syncthreads();
	}
	float4 cm = s[0];
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < atoms; i += blockDim.x * gridDim.x) {
		velm[i].x -= cm.x;
		velm[i].y -= cm.y;
	}
}

// prove: bucket_offsets race-free --block-dim=128 --grid-dim=1
// pin: bucket_offsets buckets=1000
__global__ void bucket_offsets(int *offset, int buckets)
{
	extern __shared__ int s[];
	int carry = 0;
	for (int start = 0; start < buckets; start += blockDim.x) {
		int g = start + threadIdx.x;
		s[threadIdx.x] = g < buckets ? offset[g] : 0;
		__syncthreads();
		for (int step = 1; step < blockDim.x; step *= 2) {
			int add = threadIdx.x >= step ? s[threadIdx.x - step] : 0;
			__syncthreads();
			s[threadIdx.x] += add;
			__syncthreads();
		}
		if (g < buckets)
			offset[g] = s[threadIdx.x] + carry;
		carry += s[blockDim.x - 1];
		__syncthreads();
	}
}

// prove: grid_interpolate race-free --block-dim=256 --grid-dim=64
// pin: grid_interpolate n=16384 g=64
__global__ void grid_interpolate(float *out, const float *grid, const float2 *pos, int n, int g)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		int x = (int)pos[i].x % (g - 1), y = (int)pos[i].y % (g - 1);
		out[i] = grid[y * g + x] + grid[y * g + x + 1] + grid[(y + 1) * g + x];
	}
}
