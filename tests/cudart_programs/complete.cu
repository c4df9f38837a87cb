/* What of a run was checked (complete.sh): each argument is a step of the program. */
#include <cuda_runtime.h>

#include <cstring>

__global__ void plain(int *p)
{
	p[threadIdx.x] = 1;
}

__global__ void other(int *p)
{
	p[threadIdx.x] = 2;
}

/* All threads store 1 to a word, too often for all pairs of stores to be looked at, and read it. */
__global__ void flag(int *p, int zero, bool waits)
{
	for (int k = 0; k < 8; k++) {
		p[0] = 1;
		if (waits)
			__syncthreads();
		if (p[zero] != 1)
			p[1] = 1;
		__syncthreads();
	}
}

#ifdef RDC
/* The CPU device has no dynamic parallelism. */
__global__ void refused(int *p)
{
	if (threadIdx.x == 0)
		plain<<<1, 32>>>(p);
}
#else
__device__ __noinline__ void newer(int *p)
{
#ifdef SM100A
	asm volatile("{ .reg .b32 t; mapa.u32 t, %1, 0; st.global.u32 [%0], t; }" ::"l"(p), "r"(1));
#else
	asm volatile("trap;");
#endif
	*p = 3;
}

__global__ void refused(int *p)
{
	if (p[0] == 7)
		newer(p);
	p[0] = 4;
}
#endif

int main(int argc, char **argv)
{
	int *p, *aside, *managed, *pinned, h = 0;
	cudaStream_t stream;

	cudaMalloc(&p, 128);
	cudaMalloc(&aside, 128);
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "copy"))
			cudaMemcpy(p, &h, 4, cudaMemcpyHostToDevice);
		else if (!strcmp(argv[i], "plain"))
			plain<<<1, 32>>>(p);
		else if (!strcmp(argv[i], "other"))
			other<<<1, 32>>>(p);
		else if (!strcmp(argv[i], "refused"))
			refused<<<1, 1>>>(p);
		else if (!strcmp(argv[i], "invalid"))
			plain<<<1, 2048>>>(p);
		else if (!strcmp(argv[i], "aside")) /* nothing orders it with another launch */
			other<<<1, 32, 0, stream>>>(aside);
		else if (!strcmp(argv[i], "flag"))
			flag<<<1, 512>>>(p, 0, true);
		else if (!strcmp(argv[i], "early"))
			flag<<<1, 512>>>(p, 0, false);
		else if (!strcmp(argv[i], "wait"))
			cudaDeviceSynchronize();
		else if (!strcmp(argv[i], "managed") && !cudaMallocManaged(&managed, 128))
			plain<<<1, 32>>>(managed);
		else if (!strcmp(argv[i], "staged") && !cudaMallocHost(&pinned, 128)) /* for copies only */
			cudaMemcpyAsync(p, pinned, 128, cudaMemcpyHostToDevice, stream);
		else if (!strcmp(argv[i], "seven"))
			cudaMemset(p, 7, 1);
		else
			return 2;
	}
	cudaDeviceSynchronize();
	return 0;
}
