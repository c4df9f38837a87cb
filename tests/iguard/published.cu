// published.cu - volatile programs under the papers' rules (--iguard=published, --hirace=published), for which a
// volatile access is an ordinary load or store: locks, fences and atomics of too narrow a scope, a barrier that
// is missing. Run by published.sh; each _race has a twin of the same name that ends with _clean.
#include <cstdio>
#include <cuda_runtime.h>

__device__ unsigned int data[64], lock, ready, count, sink[256];

__device__ volatile unsigned int *cells()
{
	return data;
}

template <bool is_wide> __device__ void take()
{
	while (is_wide ? atomicCAS(&lock, 0, 1) : atomicCAS_block(&lock, 0, 1))
		__nanosleep(100);
	is_wide ? __threadfence() : __threadfence_block();
}

template <bool is_wide> __device__ void give()
{
	is_wide ? __threadfence() : __threadfence_block();
	is_wide ? atomicExch(&lock, 0) : atomicExch_block(&lock, 0);
}

// A lock that holds in a block only, around a volatile counter of all.
template <bool is_wide> __device__ void counts_under_lock()
{
	if (threadIdx.x)
		return;
	take<is_wide>();
	cells()[0] = cells()[0] + 1;
	give<is_wide>();
}
__global__ void lock_race()
{
	counts_under_lock<false>();
}
__global__ void lock_clean()
{
	counts_under_lock<true>();
}

// A message for another block behind a fence that reaches this one only.
template <bool is_wide> __device__ void sends()
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		cells()[1] = 7;
		is_wide ? __threadfence() : __threadfence_block();
		atomicExch(&ready, 1);
	} else {
		while (!atomicAdd(&ready, 0))
			__nanosleep(100);
		is_wide ? __threadfence() : __threadfence_block();
		sink[1] = cells()[1];
	}
}
__global__ void fence_race()
{
	sends<false>();
}
__global__ void fence_clean()
{
	sends<true>();
}

// The last block adds up what all have written.
template <bool is_wide> __device__ void adds_up()
{
	if (threadIdx.x)
		return;
	cells()[2 + blockIdx.x] = blockIdx.x;
	__threadfence();
	unsigned int before = is_wide ? atomicAdd(&count, 1) : atomicAdd_block(&count, 1);
	__threadfence();
	if (before == gridDim.x - 1)
		sink[2] = cells()[2] + cells()[3];
}
__global__ void ticket_race()
{
	adds_up<false>();
}
__global__ void ticket_clean()
{
	adds_up<true>();
}

// The warps of a block exchange elements.
template <bool waits> __device__ void exchanges()
{
	volatile unsigned int *own = cells() + 4;

	if (blockIdx.x)
		return;
	if (threadIdx.x % 32 == 0)
		own[threadIdx.x / 32] = threadIdx.x;
	if (waits)
		__syncthreads();
	if (threadIdx.x % 32 == 0)
		sink[4 + threadIdx.x] = own[1 - threadIdx.x / 32];
}
__global__ void barrier_race()
{
	exchanges<false>();
}
__global__ void barrier_clean()
{
	exchanges<true>();
}

static int clear()
{
	const unsigned int zero = 0;

	return cudaMemcpyToSymbol(lock, &zero, 4) != cudaSuccess ||
	       cudaMemcpyToSymbol(ready, &zero, 4) != cudaSuccess ||
	       cudaMemcpyToSymbol(count, &zero, 4) != cudaSuccess;
}

int main()
{
	void (*const kernels[])() = {lock_race,  lock_clean,  fence_race,   fence_clean,
				     ticket_race, ticket_clean, barrier_race, barrier_clean};

	for (auto kernel : kernels) {
		if (clear())
			return 1;
		kernel<<<2, 64>>>();
		if (cudaDeviceSynchronize() != cudaSuccess)
			return 1;
	}
	return 0;
}
