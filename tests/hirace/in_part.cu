// in_part.cu - cp.async of which a check leaves something out, each with a twin that is checked whole; run by in_part.sh.
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK 64
#define MANY  80 // more copies than a thread's ring has room for
#define FEW   40

__device__ unsigned int sink[BLOCK];
__device__ __align__(16) unsigned int source[4 * BLOCK];
extern __shared__ __align__(16) unsigned int tile[];

__device__ __forceinline__ unsigned int near_at(const void *p)
{
	return (unsigned int)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ const void *far_at(const void *p)
{
	return (const void *)__cvta_generic_to_global(p);
}
__device__ __forceinline__ void copy(unsigned int to, unsigned int from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(near_at(tile + 4 * to)),
		     "l"(far_at(source + 4 * from))
		     : "memory");
}
__device__ __forceinline__ void copy_part(unsigned int to, unsigned int from, int size)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(near_at(tile + 4 * to)),
		     "l"(far_at(source + 4 * from)), "r"(size)
		     : "memory");
}
template <int SIZE> __device__ __forceinline__ void copy_first(unsigned int to, unsigned int from)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(near_at(tile + 4 * to)),
		     "l"(far_at(source + 4 * from)), "n"(SIZE)
		     : "memory");
}
__device__ __forceinline__ void wait()
{
	asm volatile("cp.async.wait_all;" ::: "memory");
}

// Read by another thread before the wait, which lies in a function.
__device__ __noinline__ void wait_in()
{
	asm volatile("cp.async.wait_all;" ::: "memory");
}
__global__ void by_call()
{
	copy(threadIdx.x, threadIdx.x);
	__syncthreads();
	sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)];
	wait_in();
}
__global__ void by_call_fixed()
{
	copy(threadIdx.x, threadIdx.x);
	wait();
	__syncthreads();
	sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)];
}

// The last copies of many find no room.
__device__ __forceinline__ void some(unsigned int n, bool waits)
{
	if (threadIdx.x == 0)
		for (unsigned int i = 0; i < n; i++)
			copy(i, i % BLOCK);
	if (waits)
		wait();
	__syncthreads();
	if (threadIdx.x == 1)
		sink[0] = tile[4 * n - 4];
	wait();
}
__global__ void many()
{
	some(MANY, false);
}
__global__ void many_fixed()
{
	some(FEW, true);
}

// Of the source 12 bytes are read, or all; and the last of them are another thread's.
__device__ __forceinline__ void part(int size)
{
	source[4 * threadIdx.x + 2] = threadIdx.x;
	copy_part(threadIdx.x, BLOCK - 1 - threadIdx.x, size);
	wait();
}
__global__ void by_size()
{
	part(sink[0] == 77777 ? 16 : 12);
}
__global__ void by_size_fixed()
{
	part(sink[0] == 77777 ? 16 : 0);
}

// 6 bytes: the last two of them are another thread's.
template <int SIZE> __device__ __forceinline__ void first()
{
	((unsigned short *)source)[8 * threadIdx.x + 2] = (unsigned short)threadIdx.x;
	copy_first<SIZE>(threadIdx.x, BLOCK - 1 - threadIdx.x);
	wait();
}
__global__ void by_bytes()
{
	first<6>();
}
__global__ void by_bytes_fixed()
{
	first<4>();
}

// A function that has nothing to do with copies hides no wait: the race is found.
__device__ __noinline__ unsigned int mix_in(unsigned int x)
{
	for (int i = 0; i < 5; i++)
		x = x * x + i;
	return x;
}
__device__ __forceinline__ void mixed(bool waits)
{
	copy(threadIdx.x, threadIdx.x);
	if (waits)
		wait();
	unsigned int sum = mix_in(threadIdx.x);
	__syncthreads();
	sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)] + sum;
	wait();
}
__global__ void beside()
{
	mixed(false);
}
__global__ void beside_fixed()
{
	mixed(true);
}

int main(int argc, char **argv)
{
	static void (*const kernels[])() = {by_call, by_call_fixed, many,     many_fixed,
					    by_size, by_size_fixed, by_bytes, by_bytes_fixed,
					    beside,  beside_fixed};
	int n = argc > 1 ? atoi(argv[1]) : 0;

	kernels[n]<<<1, BLOCK, 16 * MANY>>>();
	return cudaDeviceSynchronize() != cudaSuccess;
}
