// half.cu - one pair of accesses, which the oracle sees whole and hirace or iguard often by one side alone: one
// finding, run by half.sh. Where each thread has an element of its own (FIXED) none. With an argument the line of the
// stores races with another line, and with itself no more.
#include <cuda_runtime.h>

__global__ void first(int *p, int writers)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
	p[2 + i] = p[1] + writers;
#else
	if (i < writers)
		p[0] = i + p[1];
	if (writers == 1 && i == 300)
		p[2] = p[0];
#endif
}

int main(int n, char **)
{
	int *p;

	cudaMalloc(&p, (2 + 8 * 256) * sizeof(int));
	cudaMemset(p, 0, (2 + 8 * 256) * sizeof(int));
	first<<<8, 256>>>(p, n > 1 ? 1 : 8 * 256);
	return cudaDeviceSynchronize() != cudaSuccess;
}
