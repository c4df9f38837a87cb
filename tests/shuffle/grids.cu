// grids.cu - each block of a grid works once, whatever the order: prints "ok" and how many grids
// were not in the hardware's order. Arguments: the seed; "huge" for a grid of more than 2^32
// blocks, which is stopped after its first ones.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cooperative_groups.h>

#include "race/shuffle/blocks.h"

namespace cg = cooperative_groups;

#define CHECK(e)                                                                                   \
	do {                                                                                       \
		cudaError_t err_ = (e);                                                            \
		if (err_ != cudaSuccess) {                                                         \
			printf("line %d: %s\n", __LINE__, cudaGetErrorString(err_));               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static __device__ __noinline__ unsigned linear_block()
{
	return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

// What a kernel and a function that it calls take themselves for, and when the block came.
__global__ void mark(unsigned *count, unsigned *by_function, unsigned *turn, unsigned *when)
{
	unsigned i = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);

	if (threadIdx.x == 0) {
		atomicAdd(&count[i], 1);
		atomicAdd(&by_function[linear_block()], 1);
		when[i] = atomicAdd(turn, 1);
	}
}

// Clusters: the rank, the shared memory of the neighbour and %clusterid fit the block's id.
__global__ void __cluster_dims__(2, 2, 1) in_clusters(unsigned *count, unsigned *wrong)
{
	__shared__ unsigned mine[3];
	cg::cluster_group cluster = cg::this_cluster();

	if (threadIdx.x == 0) {
		unsigned x, y;
		mine[0] = blockIdx.x;
		mine[1] = blockIdx.y;
		mine[2] = blockIdx.z;
		asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(x));
		asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(y));
		if (x != blockIdx.x / 2 || y != blockIdx.y / 2 ||
		    cluster.block_rank() != blockIdx.x % 2 + 2 * (blockIdx.y % 2))
			atomicAdd(wrong, 1);
		atomicAdd(&count[linear_block()], 1);
	}
	cluster.sync();
	if (threadIdx.x == 0) {
		const unsigned *other = cluster.map_shared_rank(mine, cluster.block_rank() ^ 3);
		if (other[0] != (blockIdx.x ^ 1) || other[1] != (blockIdx.y ^ 1) ||
		    other[2] != blockIdx.z)
			atomicAdd(wrong, 1);
	}
	cluster.sync();
}

__global__ void huge(unsigned *turn, unsigned long long *out, unsigned n)
{
	unsigned long long i = blockIdx.x + (unsigned long long)gridDim.x *
						    (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
	unsigned at = atomicAdd(turn, 1);

	if (at >= n)
		asm volatile("trap;");
	out[at] = i + 1;
}

static unsigned *numbers(size_t n)
{
	unsigned *p;

	CHECK(cudaMallocManaged(&p, n * sizeof(*p)));
	memset(p, 0, n * sizeof(*p));
	return p;
}

static bool run(dim3 grid)
{
	size_t n = (size_t)grid.x * grid.y * grid.z;
	unsigned *count = numbers(n), *called = numbers(n), *when = numbers(n), *turn = numbers(1);
	size_t inversions = 0;

	mark<<<grid, 32>>>(count, called, turn, when);
	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < n; i++) {
		if (count[i] != 1 || called[i] != 1) {
			printf("block %zu of %u x %u x %u ran %u times\n", i, grid.x, grid.y, grid.z,
			       count[i]);
			exit(1);
		}
		inversions += i && when[i] < when[i - 1];
	}
	CHECK(cudaFree(count));
	CHECK(cudaFree(called));
	CHECK(cudaFree(when));
	CHECK(cudaFree(turn));
	return inversions > 0;
}

static void run_clusters(dim3 grid)
{
	size_t n = (size_t)grid.x * grid.y * grid.z;
	unsigned *count = numbers(n), *wrong = numbers(1);

	in_clusters<<<grid, 32>>>(count, wrong);
	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < n; i++)
		if (count[i] != 1 || *wrong) {
			printf("clusters: block %zu ran %u times, %u wrong\n", i, count[i], *wrong);
			exit(1);
		}
}

// The blocks that came first are those that the order puts first.
static int run_huge(unsigned seed)
{
	const uint32_t size[3] = {0x7fffffff, 5, 7}, none[3] = {1, 1, 1};
	struct race_shuffle_keys keys = race_shuffle_keys(seed);
	const unsigned n = 400, resident = 16 * 32 + n;
	unsigned *turn = numbers(1);
	unsigned long long *out;

	CHECK(cudaMallocManaged(&out, n * sizeof(*out)));
	huge<<<dim3(size[0], size[1], size[2]), 1>>>(turn, out, n);
	if (cudaDeviceSynchronize() == cudaSuccess)
		return 1;
	unsigned written = 0;
	for (unsigned i = 0; i < n; i++) {
		bool is_found = !out[i]; // the trap was faster
		written += !is_found;
		for (unsigned p = 0; p < resident && !is_found; p++) {
			uint32_t b[3] = {p, 0, 0};
			race_shuffle_block(RACE_SHUFFLE_AFFINE, &keys, 1, size, none, b);
			is_found = out[i] == 1 + b[0] + size[0] * (b[1] + 5ull * b[2]);
		}
		if (!is_found) {
			printf("block %llu is not one of the first\n", out[i] - 1);
			return 1;
		}
	}
	puts(written > n / 2 ? "ok" : "too few blocks");
	return written <= n / 2;
}

int main(int argc, char **argv)
{
	static const dim3 grids[] = {{1, 1, 1},	  {2, 1, 1},  {3, 1, 1},  {97, 1, 1}, {128, 1, 1},
				     {1009, 1, 1}, {7, 5, 3}, {1, 33, 1}, {2, 1, 31}, {16, 16, 4}};
	unsigned moved = 0;

	if (argc > 2 && strcmp(argv[2], "huge") == 0)
		return run_huge((unsigned)atoi(argv[1]));
	for (const dim3 &g : grids)
		moved += run(g);
	run_clusters(dim3(2, 2, 1));
	run_clusters(dim3(14, 6, 3));
	run_clusters(dim3(64, 2, 1));
	printf("ok %u\n", moved);
	return 0;
}
