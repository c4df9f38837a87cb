// Kernels for beside.c, by which the judge beside a GPU is tried without one.
#include <cuda.h>
#include <stdint.h>

extern "C" __global__ void racy(int *p, int n)
{
	__shared__ int s[256];

	s[threadIdx.x] = n;
	p[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}

extern "C" __global__ void right(int *p, int n)
{
	__shared__ int s[256];

	s[threadIdx.x] = n;
	__syncthreads();
	p[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}

// Which element a thread writes is in memory: its own where that holds rising numbers.
extern "C" __global__ void indexed(int *p, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	p[p[i]] = i * n;
}

// Through a pointer in memory, and a variable.
__device__ int level = 3;
extern "C" __global__ void chase(int **p, int n)
{
	p[0][blockIdx.x * 256 + threadIdx.x] = level + n;
}

// What a tensor copy brings is added up; half of the threads don't wait for it if n is 1.
template <class COPY> static __device__ void box(COPY copy, int *out, int n)
{
	__shared__ alignas(128) int s[256];
	__shared__ alignas(8) uint64_t full;
	uint32_t at = (uint32_t)__cvta_generic_to_shared(s);
	uint32_t bar = (uint32_t)__cvta_generic_to_shared(&full);

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(bar)
			     : "memory");
		copy(at, bar);
	}
	for (uint32_t done = n == 1 && threadIdx.x > 127; !done;)
		asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
			     "selp.u32 %0, 1, 0, p;\n}"
			     : "=r"(done)
			     : "r"(bar)
			     : "memory");
	out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void tile(const __grid_constant__ CUtensorMap map, int *out, int n)
{
	box(
		[&](uint32_t at, uint32_t bar) {
			asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile."
				     "mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], [%2];" ::
					     "r"(at),
				     "l"(&map), "r"(bar)
				     : "memory");
		},
		out, n);
}

extern "C" __global__ void column(const __grid_constant__ CUtensorMap map, int *out, int n)
{
	box(
		[&](uint32_t at, uint32_t bar) {
			asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col."
				     "mbarrier::complete_tx::bytes [%0], [%1, {0, 0, 0}], [%2], "
				     "{%3};" ::"r"(at),
				     "l"(&map), "r"(bar), "h"((short)1)
				     : "memory");
		},
		out, n);
}

// For order.c: these have one fault or none, the order in which they run.
extern "C" __global__ void fill(int *p, int *, int n)
{
	p[blockIdx.x * 256 + threadIdx.x] = n;
}

extern "C" __global__ void take(const int *p, int *out, int)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	out[i] = p[i];
}

// The last thread of each block says that its block's elements are there.
extern "C" __global__ void give(int *p, int *flag, int n)
{
	p[blockIdx.x * 256 + threadIdx.x] = n;
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(flag, 1);
	}
}

extern "C" __global__ void await(int *p, int *flag, int n)
{
	if (threadIdx.x == 0) {
		while (atomicAdd(flag, 0) < (int)gridDim.x)
			;
		__threadfence();
	}
	__syncthreads();
	p[blockIdx.x * 256 + threadIdx.x] += n;
}

// It may begin before the launch before it has ended; does it wait for that one's end?
extern "C" __global__ void follow(const int *p, int *out, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (n)
		asm volatile("griddepcontrol.wait;" ::: "memory");
	out[i] = p[i];
}

// An array of 64 columns, as a texture and as a surface.
extern "C" __global__ void texels(cudaTextureObject_t t, int *out, int)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	out[i] = tex2D<int>(t, (float)(i % 64), (float)(i / 64));
}

extern "C" __global__ void paint(cudaSurfaceObject_t s, int *, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	surf2Dwrite(n, s, i % 64 * 4, i / 64);
}

// No two executions leave the same.
extern "C" __global__ void moment(int *p, int n)
{
	long long t;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	p[blockIdx.x * 256 + threadIdx.x] = (int)t + n;
}
