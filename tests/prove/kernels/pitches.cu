// Rows and planes of several sizes: pitches in bytes, products of many factors, digits in rows of
// shared memory, elements at fixed places of each row. Each has a twin whose rows are too short.
#include <stddef.h>
#include <stdint.h>

// prove: bytes race-free --block-dim=32,4 --grid-dim=4,8
__global__ void bytes(float2 *v, int w, int lines, size_t pitch)
{
	__requires(lines >= 1 && lines <= 64 && pitch <= 65536 && pitch >= (size_t)w * 8);
	int x = blockIdx.x * 32 + threadIdx.x, y = (blockIdx.y * 4 + threadIdx.y) * lines;
	for (int i = 0; i < lines && x < w; i++)
		((float2 *)((char *)v + (y + i) * pitch))[x] = make_float2(x, y);
}

// prove: bytes_short true --block-dim=32,4 --grid-dim=4,8
__global__ void bytes_short(float2 *v, int w, int lines, size_t pitch)
{
	__requires(lines >= 1 && lines <= 64 && pitch <= 65536 && pitch >= (size_t)w * 8 - 8);
	int x = blockIdx.x * 32 + threadIdx.x, y = (blockIdx.y * 4 + threadIdx.y) * lines;
	for (int i = 0; i < lines && x < w; i++)
		((float2 *)((char *)v + (y + i) * pitch))[x] = make_float2(x, y);
}

// prove: heads race-free --block-dim=64 --grid-dim=128,12,8
__global__ void heads(float *out, int seq, int n, int dim)
{
	__requires(dim >= 64 && seq >= 128 && n >= 12);
	__requires((long)seq * n <= 134217728 && (long)seq * dim <= 2147483647);
	__requires((long)seq * n * dim * 7 + (long)seq * dim * 11 + (long)dim * 127 <= 2147483584);
	out[((blockIdx.z * n + blockIdx.y) * seq + blockIdx.x) * dim + threadIdx.x] = seq;
}

// prove: heads_few true --block-dim=64 --grid-dim=128,12,8
__global__ void heads_few(float *out, int seq, int n, int dim)
{
	__requires(dim == 64 && seq == 128 && n >= 11 && n <= 100);
	out[((blockIdx.z * n + blockIdx.y) * seq + blockIdx.x) * dim + threadIdx.x] = seq;
}

// Each channel becomes r rows of r elements for each pixel.
#define PIXELS(i, columns)                                                                         \
	__requires(h >= 1 && w >= 1 && r >= 1 && (long)h * w <= 65536 && (long)r * r <= 64);       \
	int i = blockIdx.x * 256 + threadIdx.x;                                                    \
	int x = i % w, y = i / w % h, k = i / (w * h) % (r * r), c = i / (w * h * r * r);          \
	out[((c * h + y) * r + k / r) * w * columns + x * columns + k % r] = 1

// prove: pixels race-free --block-dim=256 --grid-dim=256
__global__ void pixels(float *out, int h, int w, int r)
{
	PIXELS(i, r);
}

// prove: pixels_halved true --block-dim=256 --grid-dim=256
__global__ void pixels_halved(float *out, int h, int w, int r)
{
	__requires(r >= 2);
	PIXELS(i, r / 2);
}

// prove: words race-free --block-dim=128 --grid-dim=4
__global__ void words(int *out, int n)
{
	__requires(n >= 1 && n <= 17);
	__shared__ int s[128 * 17];
	for (int i = threadIdx.x; i < 128 * n; i += 128)
		s[i / n * 17 + i % n] = i;
	__syncthreads();
	out[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x * 17];
}

// prove: words_long true --block-dim=128 --grid-dim=4
__global__ void words_long(int *out, int n)
{
	__requires(n >= 1 && n <= 18);
	__shared__ int s[128 * 18];
	for (int i = threadIdx.x; i < 128 * n; i += 128)
		s[i / n * 17 + i % n] = i;
	__syncthreads();
	out[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x * 17];
}

// prove: places race-free --block-dim=32 --grid-dim=4
__global__ void places(float *out, int rows, int n)
{
	__requires(rows >= 1 && n >= 39 && (long)rows * n <= 2147483647);
	int id = blockIdx.x * 32 + threadIdx.x;
	if (id >= rows)
		return;
	out[id * n] = 1;
	for (int k = 2; k < 38; k++)
		out[id * n + k] = 2;
	out[id * n + 38] = 3;
}

// prove: places_short true --block-dim=32 --grid-dim=4
__global__ void places_short(float *out, int rows, int n)
{
	__requires(rows >= 1 && n >= 38 && (long)rows * n <= 2147483647);
	int id = blockIdx.x * 32 + threadIdx.x;
	if (id >= rows)
		return;
	out[id * n] = 1;
	for (int k = 2; k < 38; k++)
		out[id * n + k] = 2;
	out[id * n + 38] = 3;
}
