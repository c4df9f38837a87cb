/* What a program may ask about its kernels. */
#include "expect.h"

struct three {
	char c[3];
};

__global__ void kernel(char a, double b, three t, int *p)
{
	__shared__ int s[256];
	s[threadIdx.x] = (int)b + a + t.c[0];
	__syncthreads();
	p[threadIdx.x] = s[255 - threadIdx.x];
}
__global__ void __launch_bounds__(128) bounded(int *p) { *p = 1; }

/* 200 values live at once: what the assembler would spill, an estimate must not refuse. */
__global__ void __launch_bounds__(1024) crowded(const volatile int *in, int *out)
{
	int v[200], sum = 0;

#pragma unroll
	for (int i = 0; i < 200; i++)
		v[i] = in[i];
#pragma unroll
	for (int i = 199; i >= 0; i--)
		sum = sum * 3 + v[i];
	out[threadIdx.x] = sum;
}

int main()
{
	cudaFuncAttributes a;
	size_t offset, size;
	cudaFunction_t f;
	const char *name;
	int blocks, min_grid, best;

	OK(cudaFuncGetAttributes(&a, kernel));
	THAT(a.sharedSizeBytes == 1024);
	THAT(a.maxThreadsPerBlock == 1024 && a.numRegs > 0 && a.numRegs <= 255);
	THAT(a.ptxVersion == 90 && a.binaryVersion == 90);
	THAT(a.maxDynamicSharedSizeBytes == (48 << 10) - 1024);
	OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
	OK(cudaFuncGetAttributes(&a, kernel));
	THAT(a.maxDynamicSharedSizeBytes == 200 << 10);
	OK(cudaFuncGetAttributes(&a, bounded));
	THAT(a.maxThreadsPerBlock == 128);
	EXPECT(cudaFuncGetAttributes(&a, main), cudaErrorInvalidResourceHandle);
	OK(cudaFuncGetAttributes(&a, crowded));
	THAT(a.numRegs <= 64 && a.maxThreadsPerBlock == 1024);
	int *many;
	OK(cudaMalloc(&many, 2048 * sizeof(int)));
	crowded<<<1, 1024>>>(many, many + 1024);
	OK(cudaDeviceSynchronize());
	EXPECT(cudaFuncSetAttribute((void *)main, cudaFuncAttributePreferredSharedMemoryCarveout, 1),
	       cudaErrorInvalidResourceHandle);
	EXPECT(cudaFuncGetName(&name, (void *)main), cudaErrorInvalidResourceHandle);
	EXPECT(cudaGetFuncBySymbol(&f, (void *)main), cudaErrorInvalidDeviceFunction);

	OK(cudaFuncGetName(&name, (void *)kernel));
	THAT(!strcmp(name, "_Z6kernelcd5threePi"));
	static const size_t expected[][2] = {{0, 1}, {8, 8}, {16, 3}, {24, 8}};
	for (int i = 0; i < 4; i++) {
		OK(cudaFuncGetParamInfo((void *)kernel, i, &offset, &size));
		THAT(offset == expected[i][0] && size == expected[i][1]);
	}
	EXPECT(cudaFuncGetParamInfo((void *)kernel, 4, &offset, &size), cudaErrorInvalidValue);

	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, 0));
	THAT(blocks >= 1 && blocks <= 2);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 200 << 10));
	THAT(blocks == 1);
	/* Blocks that can't be launched: launch bounds aren't asked, the other limits are. */
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 256, 0));
	THAT(blocks == 8);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 1056, 0));
	THAT(blocks == 0);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 64 << 10));
	THAT(blocks == 0); /* more than 48 KB, and not opted in */
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 201 << 10));
	THAT(blocks == 0); /* opted in to less */
	OK(cudaOccupancyMaxPotentialBlockSize(&min_grid, &best, kernel));
	THAT(best >= 256 && best <= 1024 && min_grid >= 1);
	OK(cudaOccupancyAvailableDynamicSMemPerBlock(&size, kernel, 2, 256));
	THAT(size > 64 << 10 && size < 114 << 10);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, size));
	/* An H100 leaves out what the system reserves in each block, so that its size isn't one
	 * for two blocks; here it is. */
	THAT(!is_cpu_device() || blocks == 2);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, size + 1024));
	THAT(blocks == 1);
	OK(cudaOccupancyAvailableDynamicSMemPerBlock(&size, kernel, 1, 256));
	THAT(size == 200 << 10); /* what is opted in to */

	/* A function handle is as good as the function. */
	OK(cudaGetFuncBySymbol(&f, (void *)bounded));
	int *p;
	OK(cudaMallocManaged(&p, sizeof(*p)));
	void *args[] = {&p};
	OK(cudaLaunchKernel((void *)f, 1, 1, args, 0, 0));
	OK(cudaDeviceSynchronize());
	THAT(*p == 1);
	puts("ok");
}
