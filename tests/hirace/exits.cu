// exits.cu - threads that leave before a barrier of the others, and twins in which all come to it; run by exits.sh.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

// What the second warp writes, nothing orders with what the first one reads.
__global__ void by_thread(int *out)
{
	if (threadIdx.x >= 32) {
		out[threadIdx.x] = 1;
		return;
	}
	__syncthreads();
	out[threadIdx.x] = out[threadIdx.x + 32];
}

__global__ void by_thread_fixed(int *out)
{
	out[threadIdx.x] = 1;
	__syncthreads();
	if (threadIdx.x < 32)
		out[threadIdx.x] = out[threadIdx.x + 32];
}

// Both come to a barrier, the first warp to one more.
__global__ void by_number(int *out)
{
	if (threadIdx.x >= 32) {
		__syncthreads();
		out[threadIdx.x] = 1;
		return;
	}
	__syncthreads();
	out[threadIdx.x] = 2;
	__syncthreads();
	out[threadIdx.x] = out[threadIdx.x + 32];
}

__global__ void by_number_fixed(int *out)
{
	if (threadIdx.x >= 32) {
		__syncthreads();
		out[threadIdx.x] = 1;
	} else {
		__syncthreads();
		out[threadIdx.x] = 2;
	}
	__syncthreads();
	if (threadIdx.x < 32)
		out[threadIdx.x] = out[threadIdx.x + 32];
}

// A branch on what was loaded.
__global__ void by_value(int *out, const int *which)
{
	if (which[threadIdx.x]) {
		out[threadIdx.x] = 1;
		return;
	}
	__syncthreads();
	out[threadIdx.x] = out[threadIdx.x + 32];
}

// All load the same value, and leave together; those beyond the end have done nothing.
__global__ void by_value_fixed(int *out, const int *which)
{
	if (threadIdx.x >= 64)
		return;
	out[threadIdx.x] = 1;
	if (which[blockIdx.x])
		return;
	__syncthreads();
	out[threadIdx.x] = out[threadIdx.x ^ 32] + 1;
}

__device__ __noinline__ void wait_for_all()
{
	__syncthreads();
}

__global__ void by_call(int *out)
{
	if (threadIdx.x >= 32) {
		out[threadIdx.x] = 1;
		return;
	}
	wait_for_all();
	out[threadIdx.x] = out[threadIdx.x + 32];
}

__global__ void by_call_fixed(int *out)
{
	out[threadIdx.x] = 1;
	wait_for_all();
	if (threadIdx.x < 32)
		out[threadIdx.x] = out[threadIdx.x + 32];
}

int main(int argc, char **argv)
{
	int *out, *which, n = argc > 1 ? atoi(argv[1]) : 0, host[64];

	cudaMalloc(&out, 64 * sizeof(int));
	cudaMalloc(&which, sizeof(host));
	for (int i = 0; i < 64; i++)
		host[i] = i >= 32;
	cudaMemcpy(which, host, sizeof(host), cudaMemcpyHostToDevice);
	switch (n) {
	case 0: by_thread<<<1, 64>>>(out); break;
	case 1: by_thread_fixed<<<1, 64>>>(out); break;
	case 2: by_number<<<1, 64>>>(out); break;
	case 3: by_number_fixed<<<1, 64>>>(out); break;
	case 4: by_value<<<1, 64>>>(out, which); break;
	case 5: by_value_fixed<<<1, 64>>>(out, which + 32); break;
	case 6: by_call<<<1, 64>>>(out); break;
	case 7: by_call_fixed<<<1, 64>>>(out); break;
	}
	return cudaDeviceSynchronize() != cudaSuccess;
}
