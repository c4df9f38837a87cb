// told_copies.cu - copies of both directions beside a kernel: two findings, each with the function
// that was called and its line. With an argument the copies are after the kernel in its stream.
#include <cuda_runtime.h>

__global__ void put(int *p)
{
	p[threadIdx.x] = (int)threadIdx.x;
}

int main(int argc, char **argv)
{
	int *p, *to, *from;
	cudaStream_t kernels, copies;

	(void)argv;
	cudaMalloc(&p, 128);
	cudaMallocHost(&to, 128);
	cudaMallocHost(&from, 128);
	cudaStreamCreate(&kernels);
	cudaStreamCreate(&copies);
	if (argc > 1)
		copies = kernels;
	put<<<1, 32, 0, kernels>>>(p);
	cudaMemcpyAsync(to, p, 64, cudaMemcpyDeviceToHost, copies); // line 24
	cudaMemcpyAsync(p + 16, from, 64, cudaMemcpyHostToDevice, copies); // line 25
	return cudaDeviceSynchronize() != cudaSuccess;
}
