/* Wrong launches and the codes that CUDA gives them; a right one after each. */
#include "expect.h"

__global__ void plain(int *p)
{
	extern __shared__ int s[];
	s[threadIdx.x % 2] = 1;
	if (threadIdx.x == 0 && blockIdx.x == 0)
		*p += 1;
}
__global__ void __launch_bounds__(64) bounded(int *p) { *p = 7; }
void host_function() {}

static int *p;

#define LAUNCH(kernel, grid, block, shared, error)                                                 \
	do {                                                                                       \
		kernel<<<grid, block, shared>>>(p);                                                \
		EXPECT(cudaPeekAtLastError(), error);                                              \
	} while (0)

int main()
{
	void *args[] = {&p};
	int expected = 0;

	OK(cudaMallocManaged(&p, sizeof(*p)));
	*p = 0;
	LAUNCH(plain, 0, 32, 8, cudaErrorInvalidValue);
	LAUNCH(plain, 1, 0, 8, cudaErrorInvalidValue);
	LAUNCH(plain, 1, 1025, 8, cudaErrorInvalidValue);
	LAUNCH(plain, 1, dim3(1, 1, 65), 8, cudaErrorInvalidValue);
	LAUNCH(plain, dim3(1, 65536), 1, 8, cudaErrorInvalidValue);
	LAUNCH(plain, 1, 32, (48 << 10) + 1, cudaErrorInvalidValue);
	LAUNCH(plain, 2, 32, 48 << 10, cudaSuccess);
	expected++;
	EXPECT(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize,
				    228 << 10),
	       cudaErrorInvalidValue);
	OK(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
	LAUNCH(plain, 1, 32, 100 << 10, cudaSuccess);
	expected++;
	LAUNCH(plain, 1, 32, (100 << 10) + 1, cudaErrorInvalidValue);
	LAUNCH(bounded, 1, 65, 0, cudaErrorInvalidValue);
	EXPECT(cudaLaunchKernel((void *)host_function, 1, 1, args, 0, 0),
	       cudaErrorInvalidResourceHandle);
	EXPECT(cudaLaunchKernel((void *)plain, 0, 1, args, 8, 0), cudaErrorInvalidValue);
	EXPECT(cudaLaunchKernel((void *)plain, 1, 1025, args, 8, 0), cudaErrorInvalidValue);
	EXPECT(cudaLaunchCooperativeKernel((void *)plain, 0, 32, args, 8, 0), cudaErrorInvalidValue);
	EXPECT(cudaLaunchCooperativeKernel((void *)plain, 1 << 20, 32, args, 8, 0),
	       cudaErrorCooperativeLaunchTooLarge);
	OK(cudaLaunchCooperativeKernel((void *)plain, 1, 32, args, 8, 0));
	expected++;
	OK(cudaDeviceSynchronize());
	THAT(*p == expected);
	LAUNCH(bounded, 1, 64, 0, cudaSuccess);
	OK(cudaDeviceSynchronize());
	THAT(*p == 7);
	puts("ok");
}
