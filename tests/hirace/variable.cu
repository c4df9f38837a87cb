// variable.cu - one race on each of four variables, for --variable; run by variable.sh.
#include <cstdio>
#include <cuda_runtime.h>

namespace space
{
__device__ unsigned int first;
}
__device__ unsigned int second[2], sink[64];

__global__ void races(unsigned int *given, unsigned int *other, int n)
{
	__shared__ unsigned int tile[2];

	space::first = threadIdx.x;       // race: first
	second[n] = threadIdx.x;          // race: second
	tile[n] = threadIdx.x;            // race: tile
	given[n] = threadIdx.x;           // race: given
	(n ? other : other + 1)[n] = threadIdx.x; // race: other
	__syncthreads();
	sink[threadIdx.x] = tile[1 - n];
}

__device__ unsigned int message, flag;

__global__ void fences()
{
	unsigned int is = 0;

	if (blockIdx.x == 0) {
		message = 42;
		__threadfence();
		asm volatile("st.global.u32 [%0], 1;" ::"l"(&flag) : "memory"); // race: flag
	} else {
		while (!is)
			asm volatile("ld.global.u32 %0, [%1];" : "=r"(is) : "l"(&flag) : "memory"); // race: it
		__threadfence();
		sink[0] = message;
	}
}

int main(int argc, char **)
{
	unsigned int *p;

	cudaMalloc(&p, 4096);
	if (argc > 1)
		fences<<<2, 1>>>();
	else
		races<<<1, 64>>>(p, p + 64, 1);
	puts(cudaDeviceSynchronize() == cudaSuccess ? "PASS" : "FAIL");
	return 0;
}
