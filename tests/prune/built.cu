/*
 * built.cu - kernels for built.sh: one that is proven for some launches, and what isn't.
 *
 * The values that are stored differ in all threads, so that a race can be seen.
 */
#include <cstdio>
#include <cstring>

/* Proven for blocks of at most 64 threads. */
__global__ void reversed(unsigned *out)
{
	__shared__ unsigned s[64];
	unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
	s[threadIdx.x] = out[i] + i;
	__syncthreads();
	out[i] = s[blockDim.x - 1 - threadIdx.x];
}

/* The same without the barrier: racy in every launch. */
__global__ void no_barrier(unsigned *out)
{
	__shared__ unsigned s[64];
	unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
	s[threadIdx.x] = out[i] + i;
	out[i] = s[blockDim.x - 1 - threadIdx.x];
}

/* built [no_barrier] */
int main(int argc, char **argv)
{
	unsigned *out;

	cudaMalloc(&out, 256 * sizeof(*out));
	cudaMemset(out, 0, 256 * sizeof(*out));
	if (argc > 1 && !strcmp(argv[1], "no_barrier"))
		no_barrier<<<4, 64>>>(out);
	else
		reversed<<<4, 64>>>(out);
	bool ok = cudaDeviceSynchronize() == cudaSuccess;
	cudaFree(out);
	puts(ok ? "ran" : "failed");
	return !ok;
}
