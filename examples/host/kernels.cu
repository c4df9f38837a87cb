// kernels.cu - the GPU's part of main.c: element i of the numbers becomes 3 i + 1.
#include <cuda_runtime.h>

#include "numbers.h"

__global__ void fill(unsigned *numbers)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < COUNT)
		numbers[i] = 3 * i + 1;
}

unsigned *numbers_make(void)
{
	unsigned *numbers = nullptr;

	return cudaMallocManaged(&numbers, COUNT * sizeof(unsigned)) == cudaSuccess ? numbers : nullptr;
}

void numbers_fill(unsigned *numbers)
{
	fill<<<(COUNT + 255) / 256, 256>>>(numbers);
}

int numbers_wait(void)
{
	return cudaDeviceSynchronize() == cudaSuccess;
}
