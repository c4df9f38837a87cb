/* -rdc: kernels, functions and variables of two objects, linked by the facade. */
#include "expect.h"
#include "rdc.h"

__device__ int counter = 40;
static __device__ int own = 1;
__managed__ int managed = 9;

__global__ void here(int *p)
{
	p[0] = there_function(own) + counter;
	p[1] = managed;
}

int main()
{
	int *p, n;

	OK(cudaMallocManaged(&p, 4 * sizeof(int)));
	managed = 10;
	here<<<1, 1>>>(p);
	there<<<1, 1>>>(p);
	launch_private(p);
	OK(cudaDeviceSynchronize());
	THAT(p[0] == 1 + 1000 + 41); /* there_function increments counter */
	THAT(p[1] == 10);
	THAT(p[2] == 42); /* there() increments it again */
	THAT(p[3] == 2);
	OK(cudaMemcpyFromSymbol(&n, counter, sizeof(n)));
	THAT(n == 42);
	puts("ok");
}
