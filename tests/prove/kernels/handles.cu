// What a kernel reaches by a handle, a pointer to a function or a counter's answer.
#include <surface_indirect_functions.h>
#include <texture_indirect_functions.h>
typedef float (*shape_fn)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float square(float x) { return x * x; }
__device__ shape_fn shapes[2] = {twice, square};
__device__ int hits;
typedef void (*store_fn)(int *, int);
__device__ void own(int *p, int i) { p[i] = i; }
__device__ void shared_by_two(int *p, int i) { p[i / 2] = i; }
__device__ store_fn stores[2] = {own, shared_by_two};

// prove: by_pointer race-free --block-dim=64 --grid-dim=4
__global__ void by_pointer(float *out, const float *in, int which)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = shapes[which](in[i]);
}

// One of the two that may be called races.
// prove: by_pointer_racy potential racy --block-dim=64 --grid-dim=4
__global__ void by_pointer_racy(int *out, int which)
{
	stores[which](out, blockIdx.x * blockDim.x + threadIdx.x);
}

// prove: to_surface race-free --block-dim=16,16 --grid-dim=4,4
__global__ void to_surface(cudaSurfaceObject_t s)
{
	surf2Dwrite(1.0f, s, (blockIdx.x * 16 + threadIdx.x) * 4, blockIdx.y * 16 + threadIdx.y);
}

// In a narrower surface all are stores to its last column.
// prove: to_edge potential racy --block-dim=16,16 --grid-dim=4,4
__global__ void to_edge(cudaSurfaceObject_t s)
{
	surf2Dwrite(1.0f, s, (blockIdx.x * 16 + threadIdx.x) * 4, blockIdx.y * 16 + threadIdx.y,
		    cudaBoundaryModeClamp);
}

// prove: to_edge_or_not race-free --block-dim=16,16 --grid-dim=4,4
__global__ void to_edge_or_not(cudaSurfaceObject_t s)
{
	surf2Dwrite(1.0f, s, (blockIdx.x * 16 + threadIdx.x) * 4, blockIdx.y * 16 + threadIdx.y,
		    cudaBoundaryModeZero);
}

// x is in bytes.
// prove: to_surface_bytes true --block-dim=16,16 --grid-dim=4,4
__global__ void to_surface_bytes(cudaSurfaceObject_t s)
{
	surf2Dwrite(1.0f, s, blockIdx.x * 16 + threadIdx.x, blockIdx.y * 16 + threadIdx.y);
}

// prove: from_surface true --block-dim=16,16 --grid-dim=4,4
__global__ void from_surface(cudaSurfaceObject_t s)
{
	int x = (blockIdx.x * 16 + threadIdx.x) * 4, y = blockIdx.y * 16 + threadIdx.y;
	surf2Dwrite(surf2Dread<float>(s, x + 4, y), s, x, y);
}

// prove: push_all race-free --block-dim=64 --grid-dim=4
__global__ void push_all(int *out, int *count, const int *in, int n)
{
	for (int i = threadIdx.x; i < n; i += 64)
		if (in[i] > 0)
			out[atomicAdd(count, 1)] = i;
}

// Every answer is for two.
// prove: push_pairs potential racy --block-dim=64 --grid-dim=4
__global__ void push_pairs(int *out, int *count, const int *in, int n)
{
	for (int i = threadIdx.x; i < n; i += 64)
		if (in[i] > 0) {
			int at = atomicAdd(count, 1);
			out[at] = out[at + 1] = i;
		}
}

// prove: same_from_shared benign --block-dim=32 --grid-dim=1 --benign=same-value
__global__ void same_from_shared(int *o)
{
	__shared__ int s[32];
	s[threadIdx.x] = threadIdx.x;
	__syncthreads();
	o[0] = s[0];
}

// The value changes between two loads.
// prove: other_from_shared true --block-dim=32 --grid-dim=1 --benign=same-value
__global__ void other_from_shared(int *o)
{
	__shared__ int s[32];
	s[threadIdx.x] = threadIdx.x;
	__syncthreads();
	o[0] = s[0];
	if (threadIdx.x == 0)
		s[0] = 5;
}

// prove: other_place_of_shared true --block-dim=32 --grid-dim=1 --benign=same-value
__global__ void other_place_of_shared(int *o)
{
	__shared__ int s[32];
	s[threadIdx.x] = threadIdx.x;
	__syncthreads();
	o[0] = s[threadIdx.x ^ 1];
}

// prove: transpose_sized race-free --block-dim=32,8 --grid-dim=4,3 --param=w=128 --param=h=96
__global__ void transpose_sized(float *out, const float *in, int w, int h)
{
	__shared__ float s[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		if (x < w && y + j < h)
			s[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		if (x < h && y + j < w)
			out[(y + j) * h + x] = s[threadIdx.x][threadIdx.y + j];
}
