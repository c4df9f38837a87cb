/*
 * sampled.cu - one kernel, launched a thousand times: sampled every|late|apart.
 *
 * every: two blocks write one word in each launch; late: in the last one alone; apart: never.
 * Prints "ok" once all launches have ended.
 */
#include <cstdio>
#include <cstring>

__global__ void step(int *p, int one)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] += 1;
	if (threadIdx.x == 0)
		p[256 + (one ? 0 : blockIdx.x)] = blockIdx.x;
}

int main(int argc, char **argv)
{
	const int launches = 1000;
	const char *form = argc > 1 ? argv[1] : "apart";
	int *p;

	if (cudaMalloc(&p, 1024 * sizeof(*p)) != cudaSuccess)
		return 2;
	for (int i = 1; i <= launches; i++)
		step<<<2, 64>>>(p, !strcmp(form, "every") || (!strcmp(form, "late") && i == launches));
	if (cudaDeviceSynchronize() != cudaSuccess)
		return 2;
	puts("ok");
	return 0;
}
