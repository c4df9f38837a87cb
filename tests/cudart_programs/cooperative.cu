/* A grid that synchronises as a whole, as large as occupancy allows. */
#include <cooperative_groups.h>

#include "expect.h"

namespace cg = cooperative_groups;

__global__ void sum(int *data, int n, int rounds)
{
	cg::grid_group grid = cg::this_grid();

	for (int r = 0; r < rounds; r++) {
		int i = (int)grid.thread_rank();
		int v = i < n ? data[i] + data[(i + 1) % n] : 0;
		grid.sync();
		if (i < n)
			data[i] = v;
		grid.sync();
	}
}

int main()
{
	int blocks, sms, rounds = 3, *data;
	const int threads = 64;

	OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, threads, 0));
	int grid = blocks * sms < 40 ? blocks * sms : 40, n = grid * threads;
	OK(cudaMallocManaged(&data, n * sizeof(int)));
	int *expected = new int[n], *next = new int[n];
	for (int i = 0; i < n; i++)
		data[i] = expected[i] = i % 5;
	void *args[] = {&data, &n, &rounds};
	EXPECT(cudaLaunchCooperativeKernel((void *)sum, blocks * sms + 1, threads, args, 0, 0),
	       cudaErrorCooperativeLaunchTooLarge);
	OK(cudaLaunchCooperativeKernel((void *)sum, grid, threads, args, 0, 0));
	OK(cudaDeviceSynchronize());
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++)
			next[i] = expected[i] + expected[(i + 1) % n];
		memcpy(expected, next, n * sizeof(int));
	}
	THAT(!memcmp(data, expected, n * sizeof(int)));
	puts("ok");
}
