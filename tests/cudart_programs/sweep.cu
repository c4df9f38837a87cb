// Races that show in some schedules only, for collider sweep.
#include <cstdio>
#include <cstdlib>

__global__ void sometimes(int *counter, int *p)
{
	// Which block comes first is the schedule's choice; only block 2 does it wrong.
	__shared__ int turn;
	if (threadIdx.x == 0)
		turn = atomicAdd(counter, 1);
	__syncthreads();
	if (turn == 0 && blockIdx.x == 2)
		p[threadIdx.x / 2] = threadIdx.x;
}

__global__ void always(int *p)
{
	p[threadIdx.x / 2 + 64] = threadIdx.x;
}

int main(int argc, char **argv)
{
	const char *count = getenv("COUNT_RUNS");
	int *p;

	if (count) {
		FILE *f = fopen(count, "a");
		fputs("run\n", f);
		fclose(f);
	}
	cudaMalloc(&p, 4096);
	cudaMemset(p, 0, 4096);
	sometimes<<<4, 64>>>(p + 512, p);
	if (argc > 1)
		always<<<1, 64>>>(p);
	return cudaDeviceSynchronize() != cudaSuccess;
}
