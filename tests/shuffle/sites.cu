// sites.cu - two kernels with a race each, accesses that never run, and some that are harmless.
#include <cstdio>

__global__ void first(int *a, int *b)
{
	int i = threadIdx.x;

	if (a[i] >= 0)
		b[i] = a[i] + 1;
	__syncthreads();
	a[64 + i] = b[i ^ 1];
	__syncthreads();
	if (a[64 + i] == 77777)
		b[5] = a[9];
	if (i % 32 == 0)
		b[200] = i; // race: the two warps
}

__global__ void second(int *a, int *b)
{
	int i = threadIdx.x;

	a[i] += 1;
	b[i] = a[(i + 32) % 64]; // race: no barrier
}

int main()
{
	int *a, *b;

	cudaMallocManaged(&a, 1024 * sizeof(int));
	cudaMallocManaged(&b, 1024 * sizeof(int));
	for (int i = 0; i < 1024; i++)
		a[i] = b[i] = i;
	for (int k = 0; k < 20; k++) {
		first<<<1, 64>>>(a, b);
		second<<<1, 64>>>(a, b);
	}
	puts(cudaDeviceSynchronize() == cudaSuccess ? "ok" : "failed");
	return 0;
}
