// published.cu - what --hirace=published reports: the false alarms that corrections.def lists.
//
// Two words, each with one execution that the published machine judges wrongly, and one with a race that
// both find.
#include <cstdio>
#include <cuda_runtime.h>

__device__ unsigned int read_then_count, total, sink[64];

// Thread 0 reads; __syncthreads; threads 0 and 32 count: published calls the last two a race.
__global__ void read_then_atomics_clean()
{
	if (threadIdx.x == 0)
		sink[0] = read_then_count;
	__syncthreads();
	if (threadIdx.x == 0)
		atomicAdd(&read_then_count, 1);
	__syncwarp();
	for (int i = 0; i < 100 && threadIdx.x == 32; i++)
		__nanosleep(1000);
	if (threadIdx.x == 32)
		atomicAdd(&read_then_count, 1);
}
__global__ void no_barrier_race()
{
	if (threadIdx.x % 32 == 0)
		total += threadIdx.x;
}
int main()
{
	read_then_atomics_clean<<<1, 64>>>();
	no_barrier_race<<<1, 64>>>();
	puts(cudaDeviceSynchronize() == cudaSuccess ? "PASS" : "FAIL");
	return 0;
}
