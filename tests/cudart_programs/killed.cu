/* A race, or none, and then death without an exit handler: the counts must be there. */
#include <csignal>

#include "expect.h"

__global__ void sum(int *total, bool is_fixed)
{
	int mine = is_fixed ? blockIdx.x * blockDim.x + threadIdx.x : 0;

	total[mine] += 1;
}

int main(int argc, char **)
{
	int *total;

	OK(cudaMalloc(&total, 512 * sizeof(*total)));
	OK(cudaMemset(total, 0, 512 * sizeof(*total)));
	sum<<<8, 64>>>(total, argc > 1);
	OK(cudaDeviceSynchronize());
	raise(SIGKILL);
}
