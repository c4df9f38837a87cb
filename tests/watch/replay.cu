// replay.cu - two places with a race, in kernels of their own, for replay.sh.
//
// A report of one of them is replayed: then only that one has watchpoints. `quiet` has no race, and
// accesses the address of one.
#include <cuda_runtime.h>

__device__ unsigned int first_word, second_word[64];

/* Each turn of a loop has its own access. */
#define turn() asm volatile("" ::: "memory")

__global__ void first()
{
	for (int i = 0; i < 64; i++) {
		first_word = 1;
		turn();
	}
}

__global__ void second()
{
	for (int i = 0; i < 64; i++) {
		second_word[0] = 1;
		turn();
	}
}

__global__ void quiet()
{
	for (int i = 0; i < 64; i++) {
		second_word[threadIdx.x] = i;
		turn();
	}
}

int main()
{
	first<<<2, 32>>>();
	cudaDeviceSynchronize();
	second<<<2, 32>>>();
	cudaDeviceSynchronize();
	quiet<<<1, 32>>>();
	return cudaDeviceSynchronize() != cudaSuccess;
}
