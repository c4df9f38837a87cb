// rows.cu - the kernels of rows.h under hirace, and rows that the launch before has left. cases.py runs
// and judges it; cases.cu says what names mean.
//
// Two launches that overlap are in launches.cu: they access rows, too.
#include <cuda_runtime.h>

#define BLOCK 64
#define FENCE __threadfence()

__device__ unsigned int flag, sink[4096];

__device__ __forceinline__ unsigned int me()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ bool leads()
{
	return threadIdx.x == 0;
}
__device__ __forceinline__ unsigned int seen(unsigned int *p)
{
	return *(volatile unsigned int *)p;
}
#define FLAG (&flag)
#include "rows.h"

// ---- what the launch before has left in all of r

__global__ void written_before_clean()
{
	r[me()] = 1;
	r[128 + me()] = 1;
}
__global__ void read_after_launch_clean() { sink[me()] = r[BLOCK * 2 - 1 - me()]; }
__global__ void word_after_launch_clean()
{
	if (me() == 70)
		r[3] = 1;
}
__global__ void read_after_launch_race()
{
	sink[me()] = r[threadIdx.x];
	if (me() == 70)
		r[3] = 1;
}

#define LAUNCH(f)                                                                                  \
	cudaMemset(flag_at, 0, sizeof(unsigned int));                                              \
	f<<<2, BLOCK>>>();                                                                         \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                \
		return 1;

int main()
{
	void *flag_at;

	cudaGetSymbolAddress(&flag_at, flag);
#include "launches.h"
	return 0;
}
