// Races that show in some schedules only, for collider sweep.
#include <cstdio>
#include <cstdlib>

__global__ void sometimes(int *counter, int *p)
{
	// Which block comes first is the schedule's choice; only block 2 does it wrong, by two threads.
	__shared__ int turn;
	if (threadIdx.x == 0)
		turn = atomicAdd(counter, 1);
	__syncthreads();
	if (turn == 0 && blockIdx.x == 2 && threadIdx.x < 2)
		p[threadIdx.x / 2] = threadIdx.x;
}

__global__ void always(int *p)
{
	p[threadIdx.x / 2 + 64] = threadIdx.x;
}

// Block 0 comes too late: one thread must wait.
__global__ void late(volatile int *flag, int *p)
{
	if (blockIdx.x == 1) {
		p[0] = 1;
		*flag = 1;
	} else if (*flag) {
		p[0] = 2;
	}
}

// Block 0 comes neither first nor last: only drawn turns show it.
__global__ void between(volatile int *flag, int *p)
{
	if (blockIdx.x == 1) {
		p[0] = 1;
		*flag = 1;
		for (int i = 0; i < 3000; i++)
			flag[1] = i;
		*flag = 0;
	} else if (*flag) {
		p[0] = 2;
	}
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
	const char *what = argc > 1 ? argv[1] : "";
	if (*what == 'l')
		late<<<2, 1>>>(p + 512, p);
	else if (*what == 'w')
		between<<<2, 1>>>(p + 512, p);
	else
		sometimes<<<4, 64>>>(p + 512, p);
	if (*what == 'a' || *what == 'b')
		always<<<1, 64>>>(p);
	return cudaDeviceSynchronize() != cudaSuccess;
}
