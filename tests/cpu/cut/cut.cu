// cut.cu - launches that are far longer than their budget: the oracle judges their first blocks.
//
// expect with --budget: each kernel judged in part; RACY: a race at "here"; never: a finding elsewhere
// Beside barriers, shuffles, shared memory and a flag between blocks, whose other half may not be judged.
#include <cstdio>
#include <cuda_runtime.h>

#define BLOCKS 64
#define BLOCK  256

static __device__ unsigned ready[BLOCKS];

__global__ void first(unsigned *p, unsigned *other)
{
	__shared__ unsigned s[BLOCK];
	unsigned at = blockIdx.x * BLOCK + threadIdx.x, sum = 0;

#ifdef RACY
	other[0] = at; // here
#else
	other[at] = at;
#endif
	for (int k = 0; k < 4; k++) {
		s[threadIdx.x] = at + k;
		__syncthreads();
		sum += s[BLOCK - 1 - threadIdx.x];
		__syncthreads();
		sum += __shfl_xor_sync(~0u, sum, 1);
	}
	p[at] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicExch(&ready[blockIdx.x], 1);
	}
}

// Each block waits for its left neighbour: judged or not.
__global__ void chain(unsigned *p)
{
	unsigned at = blockIdx.x * BLOCK + threadIdx.x;

	p[at] += 1;
	__syncthreads();
	if (threadIdx.x == 0) {
		while (blockIdx.x && atomicAdd(&ready[blockIdx.x - 1], 0) != 2)
			;
		__threadfence();
	}
	__syncthreads();
	if (blockIdx.x)
		p[at] += p[at - BLOCK];
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicExch(&ready[blockIdx.x], 2);
	}
}

int main()
{
	unsigned *p, *other, host[2];

	cudaMalloc(&p, BLOCKS * BLOCK * sizeof(*p));
	cudaMalloc(&other, BLOCKS * BLOCK * sizeof(*p));
	for (int i = 0; i < 3; i++) {
		first<<<BLOCKS, BLOCK>>>(p, other);
		chain<<<BLOCKS, BLOCK>>>(p);
	}
	cudaMemcpy(host, p, sizeof(host), cudaMemcpyDeviceToHost);
	if (cudaDeviceSynchronize() != cudaSuccess)
		return 1;
	puts("done");
	return 0;
}
