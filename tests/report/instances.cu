/*
 * instances.cu - one racy line in two instances of a template, launched from two lines.
 */
#include <cstdio>
#include <cuda_runtime.h>

template <typename T> __global__ void total(T *sum, const T *in)
{
	sum[0] += in[threadIdx.x]; /* race */
}

template <typename T> static void launch(T *sum, const T *in)
{
	total<T><<<1, 64>>>(sum, in); /* launch */
}

int main()
{
	double *memory;

	cudaMalloc(&memory, 65 * sizeof(double));
	cudaMemset(memory, 0, 65 * sizeof(double));
	launch((int *)memory, (int *)memory + 1);
	launch(memory, memory + 1);
	std::printf("%d\n", (int)cudaDeviceSynchronize());
}
