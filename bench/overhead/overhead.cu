/*
 * overhead.cu - what instrumentation costs: sixteen kernels of different nature, timed.
 *
 *   overhead [--size small|full] [--only NAME] [--repeat N] [--list]
 *
 * Prints "kernel NAME ms MEDIAN sum CHECKSUM" for each: the median GPU time (CUDA events) of N
 * repeats after two for warming up, and a checksum of the result, which must not depend on how the
 * program was built; and on stderr "launches NAME s SECONDS", the host's time of the N repeats.
 * Nothing here races. `small` is for tools that are hundreds of times
 * slower; ratios are only taken between runs of the same size.
 */
#include "example.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <cub/device/device_radix_sort.cuh>

static int repeat = 11;
static bool is_small;

static int sized(int full, int small)
{
	return is_small ? small : full;
}

/* The result of the last launch; `bytes` of it make the checksum. */
static void measure(const char *name, const void *result, size_t bytes,
		    const std::function<void()> &launch)
{
	std::vector<float> ms((size_t)repeat);
	std::chrono::steady_clock::time_point start;
	cudaEvent_t from, to;

	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	for (int i = -2; i < repeat; i++) {
		float t = 0;

		if (i == 0)
			start = std::chrono::steady_clock::now();
		CHECK(cudaEventRecord(from));
		launch();
		CHECK(cudaGetLastError());
		CHECK(cudaEventRecord(to));
		CHECK(cudaEventSynchronize(to));
		CHECK(cudaEventElapsedTime(&t, from, to));
		if (i >= 0)
			ms[(size_t)i] = t;
	}
	std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
	fprintf(stderr, "launches %s s %.6f\n", name, all.count());
	std::sort(ms.begin(), ms.end());
	uint64_t sum = example_checksum(
		example_download((const uint32_t *)result, bytes / sizeof(uint32_t)));
	printf("kernel %s ms %.6f sum %016llx\n", name, ms[(size_t)repeat / 2],
	       (unsigned long long)sum);
	fflush(stdout);
	CHECK(cudaEventDestroy(from));
	CHECK(cudaEventDestroy(to));
}

static std::vector<float> random_floats(size_t n)
{
	std::vector<float> v(n);
	uint32_t seed = (uint32_t)n;

	for (float &x : v)
		x = (float)(example_random(&seed) % 2001) / 1000.0f - 1.0f;
	return v;
}

static std::vector<unsigned> random_words(size_t n)
{
	std::vector<unsigned> v(n);
	uint32_t seed = (uint32_t)n + 1;

	for (unsigned &x : v)
		x = example_random(&seed) * 257u;
	return v;
}

static int blocks_for(int n, int threads)
{
	return (n + threads - 1) / threads;
}

/* ---- streaming ------------------------------------------------------------ */

__global__ void triad(const float *a, const float *b, float *c, float s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] * s + b[i];
}

static void bench_triad(const char *name)
{
	int n = sized(1 << 25, 1 << 18);
	float *a = example_upload(random_floats((size_t)n)),
	      *b = example_upload(random_floats((size_t)n));
	float *c = example_upload(std::vector<float>((size_t)n));

	measure(name, c, (size_t)n * 4,
		[=] { triad<<<blocks_for(n, 256), 256>>>(a, b, c, 3.0f, n); });
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaFree(c));
}

/* ---- matrix product ------------------------------------------------------- */

static const int TILE = 16;

__global__ void matmul(const float *a, const float *b, float *c, int n)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y;
	int col = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
	float sum = 0;

	for (int k = 0; k < n; k += TILE) {
		ta[y][x] = a[row * n + k + x];
		tb[y][x] = b[(k + y) * n + col];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += ta[y][i] * tb[i][x];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

static void bench_matmul(const char *name)
{
	int n = sized(1024, 128);
	size_t nn = (size_t)n * (size_t)n;
	float *a = example_upload(random_floats(nn)), *b = example_upload(random_floats(nn));
	float *c = example_upload(std::vector<float>(nn));
	dim3 grid((unsigned)(n / TILE), (unsigned)(n / TILE)), block(TILE, TILE);

	measure(name, c, nn * 4, [=] { matmul<<<grid, block>>>(a, b, c, n); });
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaFree(c));
}

/* ---- reduction ------------------------------------------------------------ */

__global__ void reduce(const unsigned *in, unsigned *out, int n)
{
	__shared__ unsigned part[256];
	int t = threadIdx.x;
	unsigned v = 0;

	for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
		v += in[i];
	part[t] = v;
	__syncthreads();
	for (int half = 128; half > 0; half /= 2) {
		if (t < half)
			part[t] += part[t + half];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = part[0];
}

static void bench_reduction(const char *name)
{
	int n = sized(1 << 25, 1 << 18), blocks = sized(1024, 64);
	unsigned *in = example_upload(random_words((size_t)n));
	unsigned *out = example_upload(std::vector<unsigned>((size_t)blocks));

	measure(name, out, 4, [=] {
		reduce<<<blocks, 256>>>(in, out, n);
		reduce<<<1, 256>>>(out, out, blocks);
	});
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

/* ---- scan: tiles, their sums, add ------------------------------------------ */

__global__ void scan_tile(const unsigned *in, unsigned *out, unsigned *sums, int n)
{
	__shared__ unsigned s[512];
	int t = threadIdx.x, i = blockIdx.x * 512 + t;

	s[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (int d = 1; d < 512; d *= 2) {
		unsigned left = 0;

		if (t >= d)
			left = s[t - d];
		__syncthreads();
		s[t] += left;
		__syncthreads();
	}
	if (i < n)
		out[i] = s[t];
	if (t == 511 && sums)
		sums[blockIdx.x] = s[t];
}

__global__ void scan_add(unsigned *out, const unsigned *sums, int n)
{
	int i = blockIdx.x * 512 + threadIdx.x;

	if (blockIdx.x > 0 && i < n)
		out[i] += sums[blockIdx.x - 1];
}

static void bench_scan(const char *name)
{
	int n = sized(1 << 23, 1 << 17), tiles = n / 512, above = blocks_for(tiles, 512);
	unsigned *in = example_upload(random_words((size_t)n));
	unsigned *out = example_upload(std::vector<unsigned>((size_t)n));
	unsigned *sums = example_upload(std::vector<unsigned>((size_t)tiles));
	unsigned *top = example_upload(std::vector<unsigned>(512));

	measure(name, out, (size_t)n * 4, [=] {
		scan_tile<<<tiles, 512>>>(in, out, sums, n);
		scan_tile<<<above, 512>>>(sums, sums, top, tiles);
		scan_tile<<<1, 512>>>(top, top, nullptr, above);
		scan_add<<<above, 512>>>(sums, top, tiles);
		scan_add<<<tiles, 512>>>(out, sums, n);
	});
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
	CHECK(cudaFree(sums));
	CHECK(cudaFree(top));
}

/* ---- histogram: shared atomics --------------------------------------------- */

__global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
	__shared__ unsigned mine[256];

	mine[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
		atomicAdd(&mine[in[i]], 1);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

static void bench_histogram(const char *name)
{
	int n = sized(1 << 25, 1 << 18), blocks = sized(1056, 64);
	unsigned *in = example_upload(random_words((size_t)n / 4));
	unsigned *bins = example_upload(std::vector<unsigned>(256));

	measure(name, bins, 1024, [=] {
		CHECK(cudaMemsetAsync(bins, 0, 1024));
		histogram<<<blocks, 256>>>((const unsigned char *)in, bins, n);
	});
	CHECK(cudaFree(in));
	CHECK(cudaFree(bins));
}

/* ---- stencils --------------------------------------------------------------- */

__global__ void stencil2d(const float *in, float *out, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, i = y * n + x;

	if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
		out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

static void bench_stencil2d(const char *name)
{
	int n = sized(4096, 512);
	size_t nn = (size_t)n * (size_t)n;
	float *in = example_upload(random_floats(nn));
	float *out = example_upload(std::vector<float>(nn));
	dim3 grid((unsigned)n / 32, (unsigned)n / 8), block(32, 8);

	measure(name, out, nn * 4, [=] { stencil2d<<<grid, block>>>(in, out, n); });
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

__global__ void stencil3d(const float *in, float *out, int n)
{
	__shared__ float plane[8][34];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	int tx = threadIdx.x + 1, ty = threadIdx.y, nn = n * n;

	for (int z = 1; z < n - 1; z++) {
		int i = (z * n + y) * n + x;

		plane[ty][tx] = in[i];
		if (threadIdx.x == 0 && x > 0)
			plane[ty][0] = in[i - 1];
		if (threadIdx.x == 31 && x < n - 1)
			plane[ty][33] = in[i + 1];
		__syncthreads();
		if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
			out[i] = plane[ty][tx] * -6.0f + plane[ty][tx - 1] + plane[ty][tx + 1] +
				 in[i - n] + in[i + n] + in[i - nn] + in[i + nn];
		__syncthreads();
	}
}

static void bench_stencil3d(const char *name)
{
	int n = sized(256, 64);
	size_t nn = (size_t)n * (size_t)n * (size_t)n;
	float *in = example_upload(random_floats(nn));
	float *out = example_upload(std::vector<float>(nn));
	dim3 grid((unsigned)n / 32, (unsigned)n / 8), block(32, 8);

	measure(name, out, nn * 4, [=] { stencil3d<<<grid, block>>>(in, out, n); });
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

/* ---- breadth-first search on a random graph ---------------------------------- */

__global__ void bfs_level(const int *edges, int *level, const int *front, const int *nfront,
			  int *next, int *nnext, int degree, int depth)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < *nfront;
	     i += gridDim.x * blockDim.x)
		for (int k = 0; k < degree; k++) {
			int v = edges[front[i] * degree + k];

			if (atomicCAS(&level[v], -1, depth) < 0)
				next[atomicAdd(nnext, 1)] = v;
		}
}

static void bench_bfs(const char *name)
{
	const int degree = 8, levels = 12;
	int n = sized(1 << 20, 1 << 14);
	std::vector<int> edges((size_t)n * degree), start((size_t)n, -1), counts(levels + 2);
	uint32_t seed = 5;

	for (int &e : edges)
		e = (int)(example_random(&seed) % (uint32_t)n);
	start[0] = 0;
	counts[0] = 1;
	int *d_edges = example_upload(edges), *d_start = example_upload(start);
	int *d_level = example_upload(start), *d_counts0 = example_upload(counts);
	int *d_counts = example_upload(counts);
	int *f[2] = {example_upload(std::vector<int>((size_t)n)),
		     example_upload(std::vector<int>((size_t)n))};
	measure(name, d_level, (size_t)n * 4, [=] {
		CHECK(cudaMemcpyAsync(d_level, d_start, (size_t)n * 4, cudaMemcpyDeviceToDevice));
		CHECK(cudaMemcpyAsync(d_counts, d_counts0, (levels + 2) * 4,
				      cudaMemcpyDeviceToDevice));
		CHECK(cudaMemsetAsync(f[0], 0, 4));
		for (int d = 0; d < levels; d++)
			bfs_level<<<264, 256>>>(d_edges, d_level, f[d % 2], d_counts + d,
						f[(d + 1) % 2], d_counts + d + 1, degree, d + 1);
	});
	for (int *p : {d_edges, d_start, d_level, d_counts0, d_counts, f[0], f[1]})
		CHECK(cudaFree(p));
}

/* ---- radix sort with CUB ------------------------------------------------------ */

static void bench_radix_sort(const char *name)
{
	int n = sized(1 << 23, 1 << 17);
	unsigned *in = example_upload(random_words((size_t)n));
	unsigned *out = example_upload(std::vector<unsigned>((size_t)n));
	size_t bytes = 0;
	void *tmp = nullptr;

	CHECK(cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n));
	CHECK(cudaMalloc(&tmp, bytes));
	measure(name, out, (size_t)n * 4, [=] {
		size_t b = bytes;
		CHECK(cub::DeviceRadixSort::SortKeys(tmp, b, in, out, n));
	});
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
	CHECK(cudaFree(tmp));
}

/* ---- transpose ------------------------------------------------------------------ */

__global__ void transpose(const float *in, float *out, int n)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int k = 0; k < 32; k += 8)
		tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int k = 0; k < 32; k += 8)
		out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

static void bench_transpose(const char *name)
{
	int n = sized(4096, 512);
	size_t nn = (size_t)n * (size_t)n;
	float *in = example_upload(random_floats(nn));
	float *out = example_upload(std::vector<float>(nn));
	dim3 grid((unsigned)n / 32, (unsigned)n / 32), block(32, 8);

	measure(name, out, nn * 4, [=] { transpose<<<grid, block>>>(in, out, n); });
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

/* ---- sparse matrix times vector, CSR, one warp a row ------------------------------ */

__global__ void spmv(const int *rows, const int *cols, const float *values, const float *x,
		     float *y, int n)
{
	int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	float sum = 0;

	if (row >= n)
		return;
	for (int i = rows[row] + lane; i < rows[row + 1]; i += 32)
		sum += values[i] * x[cols[i]];
	for (int d = 16; d > 0; d /= 2)
		sum += __shfl_down_sync(~0u, sum, d);
	if (lane == 0)
		y[row] = sum;
}

static void bench_spmv(const char *name)
{
	int n = sized(1 << 18, 1 << 13);
	std::vector<int> rows((size_t)n + 1), cols;
	uint32_t seed = 9;

	for (size_t r = 0; r < (size_t)n; r++) {
		for (uint32_t k = example_random(&seed) % 64; k > 0; k--)
			cols.push_back((int)(example_random(&seed) % (uint32_t)n));
		rows[r + 1] = (int)cols.size();
	}
	int *d_rows = example_upload(rows), *d_cols = example_upload(cols);
	float *values = example_upload(random_floats(cols.size()));
	float *x = example_upload(random_floats((size_t)n));
	float *y = example_upload(std::vector<float>((size_t)n));
	measure(name, y, (size_t)n * 4,
		[=] { spmv<<<blocks_for(n, 8), 256>>>(d_rows, d_cols, values, x, y, n); });
	CHECK(cudaFree(d_rows));
	CHECK(cudaFree(d_cols));
	CHECK(cudaFree(values));
	CHECK(cudaFree(x));
	CHECK(cudaFree(y));
}

/* ---- n-body: all pairs, bodies in shared tiles -------------------------------------- */

__global__ void nbody(const float4 *body, float4 *force, int n)
{
	__shared__ float4 tile[256];
	int i = blockIdx.x * 256 + threadIdx.x;
	float4 me = body[i], f = make_float4(0, 0, 0, 0);

	for (int k = 0; k < n; k += 256) {
		tile[threadIdx.x] = body[k + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 256; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
			float s = tile[j].w * r * r * r;

			f.x += dx * s;
			f.y += dy * s;
			f.z += dz * s;
		}
		__syncthreads();
	}
	force[i] = f;
}

static void bench_nbody(const char *name)
{
	int n = sized(16384, 1024);
	float *body = example_upload(random_floats((size_t)n * 4));
	float *force = example_upload(std::vector<float>((size_t)n * 4));

	measure(name, force, (size_t)n * 16,
		[=] { nbody<<<n / 256, 256>>>((const float4 *)body, (float4 *)force, n); });
	CHECK(cudaFree(body));
	CHECK(cudaFree(force));
}

/* ---- softmax: a block a row ------------------------------------------------------------ */

__device__ float block_fold(float v, bool is_max)
{
	__shared__ float part[8];
	int t = threadIdx.x;

	for (int d = 16; d > 0; d /= 2) {
		float o = __shfl_xor_sync(~0u, v, d);
		v = is_max ? fmaxf(v, o) : v + o;
	}
	if (t % 32 == 0)
		part[t / 32] = v;
	__syncthreads();
	v = part[0];
	for (int w = 1; w < 8; w++)
		v = is_max ? fmaxf(v, part[w]) : v + part[w];
	__syncthreads();
	return v;
}

__global__ void softmax(const float *in, float *out, int n)
{
	const float *row = in + (size_t)blockIdx.x * n;
	float top = -INFINITY, sum = 0;

	for (int i = threadIdx.x; i < n; i += 256)
		top = fmaxf(top, row[i]);
	top = block_fold(top, true);
	for (int i = threadIdx.x; i < n; i += 256)
		sum += __expf(row[i] - top);
	sum = block_fold(sum, false);
	for (int i = threadIdx.x; i < n; i += 256)
		out[(size_t)blockIdx.x * n + i] = __expf(row[i] - top) / sum;
}

static void bench_softmax(const char *name)
{
	int rows = sized(8192, 128), n = sized(2048, 1024);
	size_t nn = (size_t)rows * (size_t)n;
	float *in = example_upload(random_floats(nn));
	float *out = example_upload(std::vector<float>(nn));

	measure(name, out, nn * 4, [=] { softmax<<<rows, 256>>>(in, out, n); });
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

/* ---- attention: one query a thread, keys and values in shared tiles, running softmax ----- */

static const int HEAD = 32;

__global__ void __launch_bounds__(128)
	attention(const float *q, const float *k, const float *v, float *out, int n)
{
	__shared__ float tk[32][HEAD], tv[32][HEAD];
	int i = blockIdx.x * 128 + threadIdx.x;
	size_t head = (size_t)blockIdx.y * n * HEAD;
	float mine[HEAD], acc[HEAD] = {}, top = -INFINITY, sum = 0;

	for (int d = 0; d < HEAD; d++)
		mine[d] = q[head + i * HEAD + d];
	for (int from = 0; from < n; from += 32) {
		for (int e = threadIdx.x; e < 32 * HEAD; e += 128) {
			tk[e / HEAD][e % HEAD] = k[head + from * HEAD + e];
			tv[e / HEAD][e % HEAD] = v[head + from * HEAD + e];
		}
		__syncthreads();
		for (int j = 0; j < 32; j++) {
			float s = 0;

			for (int d = 0; d < HEAD; d++)
				s += mine[d] * tk[j][d];
			float now = fmaxf(top, s), keep = __expf(top - now), w = __expf(s - now);
			top = now;
			sum = sum * keep + w;
			for (int d = 0; d < HEAD; d++)
				acc[d] = acc[d] * keep + w * tv[j][d];
		}
		__syncthreads();
	}
	for (int d = 0; d < HEAD; d++)
		out[head + i * HEAD + d] = acc[d] / sum;
}

static void bench_attention(const char *name)
{
	int n = sized(2048, 256), heads = sized(16, 2);
	size_t nn = (size_t)n * (size_t)heads * HEAD;
	float *q = example_upload(random_floats(nn)), *k = example_upload(random_floats(nn));
	float *v = example_upload(random_floats(nn));
	float *out = example_upload(std::vector<float>(nn));
	dim3 grid((unsigned)n / 128, (unsigned)heads);

	measure(name, out, nn * 4, [=] { attention<<<grid, 128>>>(q, k, v, out, n); });
	CHECK(cudaFree(q));
	CHECK(cudaFree(k));
	CHECK(cudaFree(v));
	CHECK(cudaFree(out));
}

/* ---- convolution: 1D, halo in shared memory, weights in constant memory --------------------- */

static const int RADIUS = 8;
__constant__ float weights[2 * RADIUS + 1];

__global__ void convolution(const float *in, float *out, int n)
{
	__shared__ float tile[256 + 2 * RADIUS];
	int i = blockIdx.x * 256 + threadIdx.x, first = blockIdx.x * 256 - RADIUS;
	float sum = 0;

	for (int t = threadIdx.x; t < 256 + 2 * RADIUS; t += 256)
		tile[t] = first + t >= 0 && first + t < n ? in[first + t] : 0.0f;
	__syncthreads();
	for (int k = 0; k <= 2 * RADIUS; k++)
		sum += tile[threadIdx.x + k] * weights[k];
	if (i < n)
		out[i] = sum;
}

static void bench_convolution(const char *name)
{
	int n = sized(1 << 24, 1 << 18);
	std::vector<float> w = random_floats(2 * RADIUS + 1);
	float *in = example_upload(random_floats((size_t)n));
	float *out = example_upload(std::vector<float>((size_t)n));

	CHECK(cudaMemcpyToSymbol(weights, w.data(), w.size() * sizeof(float)));
	measure(name, out, (size_t)n * 4,
		[=] { convolution<<<blocks_for(n, 256), 256>>>(in, out, n); });
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

/* ---- bitonic sort of tiles in shared memory --------------------------------------------------- */

__global__ void bitonic(const unsigned *in, unsigned *out)
{
	__shared__ unsigned s[512];
	int t = threadIdx.x, at = blockIdx.x * 512;

	s[t] = in[at + t];
	s[t + 256] = in[at + t + 256];
	for (int size = 2; size <= 512; size *= 2)
		for (int d = size / 2; d > 0; d /= 2) {
			int i = 2 * t - (t & (d - 1));
			bool is_up = (i & size) == 0;

			__syncthreads();
			unsigned a = s[i], b = s[i + d];
			if ((a > b) == is_up) {
				s[i] = b;
				s[i + d] = a;
			}
		}
	__syncthreads();
	out[at + t] = s[t];
	out[at + t + 256] = s[t + 256];
}

static void bench_bitonic(const char *name)
{
	int n = sized(1 << 22, 1 << 16);
	unsigned *in = example_upload(random_words((size_t)n));
	unsigned *out = example_upload(std::vector<unsigned>((size_t)n));

	measure(name, out, (size_t)n * 4, [=] { bitonic<<<n / 512, 256>>>(in, out); });
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

static const struct bench {
	const char *name;
	void (*run)(const char *name);
} benches[] = {
	{"triad", bench_triad},
	{"matmul", bench_matmul},
	{"reduction", bench_reduction},
	{"scan", bench_scan},
	{"histogram", bench_histogram},
	{"stencil2d", bench_stencil2d},
	{"stencil3d", bench_stencil3d},
	{"bfs", bench_bfs},
	{"radix_sort", bench_radix_sort},
	{"transpose", bench_transpose},
	{"spmv", bench_spmv},
	{"nbody", bench_nbody},
	{"softmax", bench_softmax},
	{"attention", bench_attention},
	{"convolution", bench_convolution},
	{"bitonic", bench_bitonic},
};

static int usage(const char *argv0)
{
	fprintf(stderr, "usage: %s [--size small|full] [--only NAME] [--repeat N] [--list]\n",
		argv0);
	return 2;
}

int main(int argc, char **argv)
{
	const char *only = nullptr;
	bool is_found = false;

	for (int i = 1; i < argc; i++) {
		std::string a = argv[i], v = i + 1 < argc ? argv[i + 1] : "";

		if (a == "--list") {
			for (const bench &b : benches)
				puts(b.name);
			return 0;
		}
		if (a == "--size" && (v == "small" || v == "full"))
			is_small = v == "small";
		else if (a == "--only" && !v.empty())
			only = argv[i + 1];
		else if (a == "--repeat" && atoi(v.c_str()) > 0)
			repeat = atoi(v.c_str());
		else
			return usage(argv[0]);
		i++;
	}
	for (const bench &b : benches) {
		if (only && strcmp(only, b.name) != 0)
			continue;
		is_found = true;
		b.run(b.name);
	}
	return is_found ? 0 : usage(argv[0]);
}
