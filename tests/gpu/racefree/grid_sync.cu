// grid_sync.cu - a cooperative launch: blocks read what other blocks wrote before grid.sync().
// expect: nothing
// small: 4

#include "racefree.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static const int THREADS = 128;
static const int BLOCKS = 64; /* small: every block must be on the GPU at once */
static const int N = THREADS * BLOCKS;

__global__ void smooth(unsigned *a, unsigned *b, int steps)
{
	cg::grid_group grid = cg::this_grid();
	int i = blockIdx.x * THREADS + threadIdx.x;

	for (int s = 0; s < steps; s++) {
		b[i] = a[(i + 1) % N] + 3 * a[i] + a[(i + N - THREADS) % N];
		grid.sync();
		a[i] = b[(i + N / 2) % N] ^ s;
		grid.sync();
	}
}

int main(int argc, char **argv)
{
	int steps = racefree_loops(argc, argv, 200);
	std::vector<unsigned> a(N), b(N), got;
	uint32_t seed = 1;

	for (unsigned &x : a)
		x = example_random(&seed);
	unsigned *d_a = example_upload(a), *d_b = example_upload(b);
	void *args[] = {&d_a, &d_b, &steps};
	CHECK(cudaLaunchCooperativeKernel((const void *)smooth, dim3(BLOCKS), dim3(THREADS), args,
					  0, 0));
	for (int s = 0; s < steps; s++) {
		for (size_t i = 0; i < N; i++)
			b[i] = a[(i + 1) % N] + 3 * a[i] + a[(i + N - THREADS) % N];
		for (size_t i = 0; i < N; i++)
			a[i] = b[(i + N / 2) % N] ^ (unsigned)s;
	}
	got = example_download(d_a, N);
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	return example_finish(got == a, example_checksum(got));
}
