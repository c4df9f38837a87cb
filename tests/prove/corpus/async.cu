/*
 * async.cu - copies that a thread waits for, matrix accesses, chosen pointers and swapped buffers.
 */
#include <cuda_pipeline_primitives.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <surface_indirect_functions.h>
#include <texture_indirect_functions.h>
namespace cg = cooperative_groups;

// prove: copy_once race-free --block-dim=256 --grid-dim=64
__global__ void copy_once(float *out, const float *in)
{
	__shared__ float b[256];
	__pipeline_memcpy_async(&b[threadIdx.x], &in[blockIdx.x * 256 + threadIdx.x], sizeof(float));
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	out[blockIdx.x * 256 + threadIdx.x] = b[threadIdx.x ^ 1];
}

// prove: copy_twice race-free --block-dim=256 --grid-dim=64
// pin: copy_twice tiles=16
__global__ void copy_twice(float *out, const float *in, int tiles)
{
	__shared__ float b[2][256];
	int t = threadIdx.x;
	float sum = 0;
	__pipeline_memcpy_async(&b[0][t], &in[t], sizeof(float));
	__pipeline_commit();
	for (int i = 0; i < tiles; i++) {
		if (i + 1 < tiles)
			__pipeline_memcpy_async(&b[(i + 1) & 1][t], &in[(i + 1) * 256 + t], sizeof(float));
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		sum += b[i & 1][t ^ 1];
		__syncthreads();
	}
	out[blockIdx.x * 256 + t] = sum;
}

// prove: copy_stages race-free --block-dim=128 --grid-dim=64
__global__ void copy_stages(float *out, const float4 *in)
{
	__shared__ float4 b[3][256];
	int t = threadIdx.x;
	float sum = 0;
	for (int s = 0; s < 2; s++) {
		for (int c = 0; c < 2; c++)
			__pipeline_memcpy_async(&b[s][c * 128 + t], &in[s * 256 + c * 128 + t], 16);
		__pipeline_commit();
	}
	for (int i = 0; i < 16; i++) {
		__pipeline_wait_prior(1);
		__syncthreads();
		int next = i + 2;
		if (next < 16)
			for (int c = 0; c < 2; c++)
				__pipeline_memcpy_async(&b[next % 3][c * 128 + t], &in[next * 256 + c * 128 + t], 16);
		__pipeline_commit();
		sum += b[i % 3][(t ^ 1) + 128].x;
	}
	__pipeline_wait_prior(0);
	out[blockIdx.x * 128 + t] = sum;
}

// prove: copy_tile16 race-free --block-dim=128 --grid-dim=64
__global__ void copy_tile16(float4 *out, const float4 *in)
{
	__shared__ float4 b[2][128];
	int t = threadIdx.x;
	for (int k = 0; k < 4; k++) {
		__pipeline_memcpy_async(&b[k & 1][t], &in[(blockIdx.x * 4 + k) * 128 + t], sizeof(float4));
		__pipeline_commit();
		__pipeline_wait_prior(0);
		__syncthreads();
		out[(blockIdx.x * 4 + k) * 128 + t] = b[k & 1][127 - t];
	}
}

// prove: copy_group race-free --block-dim=128 --grid-dim=64
// pin: copy_group n=1024
__global__ void copy_group(float *out, const float *in, int n)
{
	__shared__ float b[128];
	auto block = cg::this_thread_block();
	float sum = 0;
	for (int i = 0; i < n; i += 128) {
		cg::memcpy_async(block, b, in + i, sizeof(float) * 128);
		cg::wait(block);
		sum += b[threadIdx.x ^ 1];
		block.sync();
	}
	out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// prove: cond_first race-free --block-dim=256
// pin: cond_first n=10
__global__ void cond_first(int *p, int n)
{
	__shared__ int s[256];
	for (int i = 0; i < n; i++) {
		if (i > 0)
			__syncthreads();
		s[threadIdx.x] = i;
		__syncthreads();
		p[threadIdx.x] += s[(threadIdx.x + 1) % blockDim.x];
	}
}

// prove: cond_last race-free --block-dim=256
// pin: cond_last n=10
__global__ void cond_last(int *p, int n)
{
	__shared__ int s[256];
	for (int i = 0; i < n; i++) {
		s[threadIdx.x] = i;
		__syncthreads();
		p[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
		if (i + 1 < n)
			__syncthreads();
	}
}

// prove: swap_rows race-free --block-dim=256
// pin: swap_rows n=10
__global__ void swap_rows(int *p, int n)
{
	__shared__ int s[2][256];
	int *a = s[0], *b = s[1];
	a[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	for (int k = 0; k < n; k++) {
		b[threadIdx.x] = a[(threadIdx.x + 1) % blockDim.x];
		__syncthreads();
		int *t = a;
		a = b;
		b = t;
	}
	p[threadIdx.x] = a[threadIdx.x];
}

struct Many {
	float *p[42];
};
struct Few {
	float *p[4];
};

// prove: list_many race-free --block-dim=256 --grid-dim=64
__global__ void list_many(Many q)
{
	q.p[4][threadIdx.x + blockIdx.x * blockDim.x] = 4.2f;
}

// prove: list_few race-free --block-dim=256 --grid-dim=64
__global__ void list_few(Few q)
{
	q.p[2][threadIdx.x + blockIdx.x * blockDim.x] = 4.2f;
	q.p[1][threadIdx.x + blockIdx.x * blockDim.x] = q.p[3][threadIdx.x];
}

// prove: list_by_block race-free --block-dim=256 --grid-dim=64
__global__ void list_by_block(Few q)
{
	if (blockIdx.x < 4)
		q.p[blockIdx.x][threadIdx.x] = 4.2f;
}

// prove: chosen race-free --block-dim=256 --grid-dim=64
// pin: chosen n=5
__global__ void chosen(float *a, float *b, int n)
{
	float *z = n > 3 ? a : b;
	z[threadIdx.x + blockIdx.x * blockDim.x] = 1;
}

__device__ float *global_pointer;
// prove: by_variable race-free --block-dim=256 --grid-dim=64
__global__ void by_variable()
{
	global_pointer[threadIdx.x + blockIdx.x * blockDim.x] = 1;
}

// prove: own_double race-free --block-dim=64 --grid-dim=16
// pin: own_double width=8
__global__ void own_double(const double *in, double *out, int width)
{
	__shared__ double val[64];
	int t = threadIdx.x;
	double *mine = &val[t];
	*mine = in[blockIdx.x * 64 + t];
	__syncthreads();
	for (int d = 1; d < width; d *= 2) {
		double o = *mine;
		if (t % 8 + d < 8)
			o = mine[d];
		__syncthreads();
		if (o < *mine)
			*mine = o;
		__syncthreads();
	}
	out[blockIdx.x * 64 + t] = *mine;
}

// prove: own_long race-free --block-dim=64 --grid-dim=16
__global__ void own_long(const long long *in, long long *out)
{
	long long a[6];
	for (int i = 0; i < 6; i++)
		a[i] = in[(blockIdx.x * 64 + threadIdx.x) * 6 + i];
	for (int i = 0; i < 6; i++)
		for (int j = i + 1; j < 6; j++)
			if (a[j] < a[i]) {
				long long t = a[i];
				a[i] = a[j];
				a[j] = t;
			}
	for (int i = 0; i < 6; i++)
		out[(blockIdx.x * 64 + threadIdx.x) * 6 + i] = a[i];
}

// prove: by_surface race-free --block-dim=16,16 --grid-dim=32,32
// pin: by_surface w=512 h=512
__global__ void by_surface(cudaSurfaceObject_t s, cudaTextureObject_t t, int w, int h)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < w && y < h)
		surf2Dwrite(tex2D<float>(t, x, y) * 2, s, x * 4, y);
}

__device__ __noinline__ float square(float x)
{
	return x * x;
}
__device__ __noinline__ float cube(float x)
{
	return x * x * x;
}
typedef float (*shape_fn)(float);
__device__ shape_fn shapes[2] = {square, cube};

// prove: by_pointer race-free --block-dim=256 --grid-dim=64
// pin: by_pointer which=1 n=16384
__global__ void by_pointer(float *out, const float *in, int which, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	shape_fn f = shapes[which];
	if (i < n)
		out[i] = f(in[i]);
}

__device__ float outside(float);
// prove: by_name unproven --block-dim=256 --grid-dim=64
// pin: by_name n=16384
__global__ void by_name(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = outside(in[i]);
}

// prove: complex_value race-free --block-dim=256 --grid-dim=64
// pin: complex_value n=16384
__global__ void complex_value(double2 *a, const double2 *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		double2 x = a[i], y = b[i], r;
		r.x = x.x * y.x - x.y * y.y;
		r.y = x.x * y.y + x.y * y.x;
		a[i] = r;
	}
}
