/* Built with machine code only: a launch fails with CUDA's own code for that. */
#include "expect.h"

__device__ int variable;
__global__ void kernel(int *p) { *p = variable; }

int main()
{
	int *p, n = 1;

	OK(cudaMalloc(&p, sizeof(*p)));
	kernel<<<1, 1>>>(p);
	EXPECT(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
	kernel<<<1, 1>>>(p);
	EXPECT(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
	EXPECT(cudaMemcpyToSymbol(variable, &n, sizeof(n)), cudaErrorNoKernelImageForDevice);
	OK(cudaDeviceSynchronize()); /* nothing is broken by it */
	puts("ok");
}
