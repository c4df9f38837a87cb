// half.cu - one pair of accesses, which the oracle sees whole and hirace or iguard often by one side alone: one
// finding, run by half.sh. Where each thread has an element of its own (FIXED) none.
#include <cuda_runtime.h>

__global__ void first(int *p)
{
#ifdef FIXED
	p[2 + blockIdx.x * blockDim.x + threadIdx.x] = p[1];
#else
	p[0] = (int)threadIdx.x + p[1];
#endif
}

int main()
{
	int *p;

	cudaMalloc(&p, (2 + 64 * 256) * sizeof(int));
	cudaMemset(p, 0, (2 + 64 * 256) * sizeof(int));
	first<<<64, 256>>>(p);
	return cudaDeviceSynchronize() != cudaSuccess;
}
