/*
 * launched.cu - a kernel that is race-free only as it is launched: launched BLOCK.X BLOCK.Y N
 *
 * In blocks of 16 by 16 with N == 16 each thread has an element of its own; with a smaller N, or wider
 * blocks, rows overlap.
 */
#include <stdio.h>
#include <stdlib.h>

#define LAUNCHES 20

__global__ void rows(float *p, int n)
{
	int i = (n + 1) * (16 * blockIdx.y + threadIdx.y) + threadIdx.x;
	p[i] = p[i] * 0.5f + 1;
}

int main(int argc, char **argv)
{
	float *p;

	if (argc != 4 || cudaMalloc(&p, 1 << 20) != cudaSuccess)
		return 2;
	for (int i = 0; i < LAUNCHES; i++)
		rows<<<dim3(1, 64), dim3(atoi(argv[1]), atoi(argv[2]))>>>(p, atoi(argv[3]));
	puts(cudaDeviceSynchronize() == cudaSuccess ? "done" : "failed");
	return 0;
}
