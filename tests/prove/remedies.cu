// remedies.cu - kernels of which remedies.sh asks by what assumptions they are race-free.
#include <cuda_pipeline.h>

// blocks within the tile that the index shows, whole warps
__global__ void tiled(float *y) { y[blockIdx.x * 256 + threadIdx.x] = 1.0f; }
__global__ void pairs(float *y)
{
	y[blockIdx.x * 512 + threadIdx.x] = 1.0f;
	y[blockIdx.x * 512 + threadIdx.x + 256] = 1.0f;
}
__global__ void rows(float *y)
{
	if (threadIdx.x % 32 == 0)
		y[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = 1.0f;
}
__global__ void inner(float *y, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 8 + threadIdx.y;
	if (x > 0 && y0 > 0 && x < n - 1 && y0 < n - 1)
		y[y0 * n + x] = 1.0f;
}
__global__ void whole(float *y, int n)
{
	int x = blockIdx.x * 16 + threadIdx.x, y0 = blockIdx.y * 16 + threadIdx.y;
	y[y0 * n + x] = 1.0f;
}
__global__ void oblong(float *y, int width, int height)
{
	int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 8 + threadIdx.y;
	if (x < width && y0 < height)
		y[y0 * width + x] = 1.0f;
}
__global__ void column(float *y, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 8 + threadIdx.y;
	if (x < n && y0 < n)
		y[y0 * (n - 1) + x] = 1.0f;
}

// rows, and each row's elements one less far apart than the threads
template <int LESS> __device__ void fill(float *y, int w, int h)
{
	int x = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16;
	if (x < w && r < h)
		y[r * w + x + LESS - LESS * threadIdx.y] = 1;
}
__global__ void filled(float *y, int w, int h) { fill<0>(y, w, h); }
__global__ void filled_askew(float *y, int w, int h) { fill<1>(y, w, h); }

// rows of at least a size, or of just one; the twin's strips overlap, whatever the pitch
template <int ROWS> __device__ void strip(float *a, int pitch)
{
	a += (blockIdx.y * ROWS + threadIdx.y) * pitch + blockIdx.x * 16 + threadIdx.x;
	for (int i = 0; i < 8; i++)
		a[i * 8 * pitch] = i;
}
__global__ void strips(float *a, int pitch) { strip<64>(a, pitch); }
__global__ void strips_overlap(float *a, int pitch) { strip<32>(a, pitch); }
__global__ void colour(float *u, int n, int colour)
{
	int y = blockIdx.y * 16 + threadIdx.y, x = 2 * (blockIdx.x * 16 + threadIdx.x) + ((y + colour) & 1);
	if (x > 0 && x < n - 1 && y > 0 && y < n - 1)
		u[y * n + x] = u[y * n + x - 1] + u[(y - 1) * n + x];
}

// a stride that is a power of two, a size's logarithm
__global__ void butterfly(float *out, int stride)
{
	int pos = blockIdx.x * blockDim.x + threadIdx.x, lo = pos & (stride - 1), i = 2 * (pos - lo) + lo;
	out[i] = out[i + stride] = 1;
}
template <int LESS> __device__ void shift(int *out, int log2n)
{
	for (int p = threadIdx.x; p < 1 << log2n; p += blockDim.x)
		out[(blockIdx.x << (log2n - LESS)) + p] = p;
}
__global__ void shifted(int *out, int log2n) { shift<0>(out, log2n); }
__global__ void shifted_overlap(int *out, int log2n) { shift<1>(out, log2n); }

// lanes that lack a barrier and a row's size; copies of which one at least is waited for
__global__ void lanes_rows(int *m, int dim)
{
	for (int i = 0; i < 16; i++)
		m[i * dim + threadIdx.x] = i;
}
__global__ void copy_stages(float *out, const float *in, int n)
{
	__shared__ float b[2][64];
	int t = threadIdx.x;
	__pipeline_memcpy_async(&b[0][t], &in[t], 4);
	__pipeline_commit();
	for (int i = 0; i < n; i++) {
		if (i + 1 < n)
			__pipeline_memcpy_async(&b[(i + 1) & 1][t], &in[(i + 1) * 64 + t], 4);
		__pipeline_commit();
		__pipeline_wait_prior(1);
		out[i * 64 + t] = b[i & 1][t];
	}
}

// sizes that no dimension shows: a pitch in bytes, digits in shared memory, four sizes in a product,
// places of a row
__global__ void in_bytes(float2 *v, int w, int lines, size_t pitch)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = (blockIdx.y * 4 + threadIdx.y) * lines;
	for (int i = 0; i < lines && x < w; i++)
		((float2 *)((char *)v + (y + i) * pitch))[x] = make_float2(x, y);
}
__global__ void in_words(int *out, int n)
{
	__shared__ int s[128 * 17];
	for (int i = threadIdx.x; i < 128 * n; i += 128)
		s[i / n * 17 + i % n] = i;
	__syncthreads();
	out[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x * 17];
}
__global__ void in_heads(float *out, int seq, int n, int dim)
{
	out[((blockIdx.z * n + blockIdx.y) * seq + blockIdx.x) * dim + threadIdx.x] = seq;
}
__global__ void in_places(float *out, int rows, int n)
{
	int id = blockIdx.x * 32 + threadIdx.x;
	if (id < rows)
		out[id * n] = out[id * n + 38] = 1;
}

// more pairs race than there is room for alarms; the last one does whatever n is
#define PUT(i) a[(n > 0 ? t * 16 : 0) + i] = t;
#define SOME PUT(0) PUT(1) PUT(2) PUT(3) PUT(4) PUT(5) PUT(6) PUT(7) PUT(8) PUT(9) PUT(10)
__global__ void many(int *a, int *b, int n)
{
	int t = blockIdx.x * 64 + threadIdx.x;
	SOME SOME SOME SOME
	b[t] = t;
}
__global__ void many_halves(int *a, int *b, int n)
{
	int t = blockIdx.x * 64 + threadIdx.x;
	SOME SOME SOME SOME
	b[t / 2] = t;
}

// what lies above a tile of a diagonal is nobody's tile
template <int WIDTH> __device__ void diagonal(int *a, int cols, int i)
{
	int bx = blockIdx.x, at = cols * 16 * (i - 1 - bx) + WIDTH * bx + threadIdx.x + 1, up = a[at];
	for (int y = 1; y <= 16; y++)
		a[at + y * cols] = up;
}
__global__ void tiles(int *a, int cols, int i) { diagonal<16>(a, cols, i); }
__global__ void narrow(int *a, int cols, int i) { diagonal<15>(a, cols, i); }

// nine planes of each pixel, by a pointer that two loops move
__global__ void put_down(float *out, int n, int h, int w)
{
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) {
		float *p = out + (i / w / h * 9 * h + i / w % h) * w + i % w;
		for (int k = 0; k < 3; k++)
			for (int j = 0; j < 3; j++, p += h * w)
				*p = i;
	}
}

// every 32nd element, until a sum of steps is beyond n
__global__ void counted(float *a, int n)
{
	for (int b = blockIdx.x * 64 + threadIdx.x, base = b * 32; base < n; base = b * 32) {
		a[b] = base;
		b += 64 * gridDim.x;
	}
}

// places of a table of the module
__constant__ int places[1024];
__global__ void through_table(float *out)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	out[places[i]] = i;
}

// so many places from one that memory gives
__global__ void counted_parts(float *out, const int *first, const int *count)
{
	int i = blockIdx.x * 256 + threadIdx.x, from = first[i], n = count[i];
	for (int k = 0; k < n; k++)
		out[from + k] = i;
}

// Rows with a pitch of their own, where what is read beside them is the same for one place; and a
// place for each two blocks.
__global__ void columns_of(float *v, const int *col, const float *x, int n, int width, int pitch)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r >= n)
		return;
	for (int k = 0; k < width; k++) {
		int c = col[k * pitch + r];
		if (c >= 0)
			v[k * pitch + r] *= x[c];
	}
}
__global__ void parts(float *y)
{
	y[blockIdx.x / 2] += 1.0f;
}
// The first of each run of equal keys.
__global__ void heads(int *first, const int *key, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && (i == 0 || key[i] != key[i - 1]))
		first[key[i]] = i;
}

#define at (int)(threadIdx.y * blockDim.x + threadIdx.x)
#define OWN (int)(blockIdx.y * gridDim.x + blockIdx.x) * (int)(blockDim.x * blockDim.y) + at
// Blocks whose numbers wrap; and a barrier that some threads don't come to, which no assumption mends.
__global__ void numbered(int *out, int n)
{
	__shared__ int s[64];
	s[at] = n;
	__syncthreads();
	out[OWN] = s[at ^ 1];
}
__global__ void numbered_apart(int *out, const int *in, int n)
{
	__shared__ int s[64];
	s[at] = n;
	if (in[at] == 0)
		__syncthreads();
	out[OWN] = s[at];
}
// A barrier too few: its pairs come in two kinds, of which some vanish and others come.
__global__ void in_turns(int *out, int n)
{
	__shared__ int s[64];
	int v = 0;
	if (n == 3)
		return;
	for (int i = at; i < n; i += (int)(blockDim.x * blockDim.y)) {
		s[at] = i;
		v += s[at ^ 1];
		__syncthreads();
	}
	out[OWN] = v;
}
