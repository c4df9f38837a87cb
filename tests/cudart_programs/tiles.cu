/* Cooperative groups: tiles of every size, coalesced and labelled groups, scans and reductions. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "expect.h"

namespace cg = cooperative_groups;

template <int SIZE> __device__ static void tile(const int *in, int *sum, int *scan)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<SIZE> t = cg::tiled_partition<SIZE>(block);
	int i = (int)block.thread_rank(), v = in[i];

	sum[i] = cg::reduce(t, v, cg::plus<int>());
	scan[i] = cg::exclusive_scan(t, v, cg::plus<int>());
}

template <int SIZE> __global__ void tiles(const int *in, int *sum, int *scan)
{
	tile<SIZE>(in, sum, scan);
}

/* Lanes that take the same branch, or have the same label, count themselves. */
__global__ void groups(const int *in, int *odd, int *label)
{
	cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
	int i = (int)threadIdx.x;

	odd[i] = -1;
	if (in[i] & 1) {
		cg::coalesced_group g = cg::coalesced_threads();
		odd[i] = (int)g.thread_rank();
		g.sync();
	}
	cg::coalesced_group same = cg::labeled_partition(warp, in[i] % 5);
	label[i] = (int)same.size();
}

/* Tiles of several warps meet in the system's part of shared memory, whatever the program itself
 * has there; twice, so that the second finds what the first has left. */
template <int SIZE> __global__ void large_tiles(const int *in, int *sum, int *from)
{
	extern __shared__ int own[];
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<SIZE> t = cg::tiled_partition<SIZE>(block);
	int i = (int)block.thread_rank();

	own[i] = in[i];
	sum[i] = cg::reduce(t, in[i], cg::plus<int>());
	t.sync();
	from[i] = t.shfl(own[i], SIZE / 2 + 1) + own[i];
	sum[i] += cg::reduce(t, in[i], cg::plus<int>());
}

static const int N = 512;

static void check_large_tiles(int size, const int *in, const int *sum, const int *from)
{
	for (int i = 0; i < N; i++) {
		int first = i / size * size, s = 0;
		for (int k = first; k < first + size; k++)
			s += in[k];
		THAT(sum[i] == 2 * s && from[i] == in[first + size / 2 + 1] + in[i]);
	}
}

static void check_tiles(int size, const int *in, const int *sum, const int *scan)
{
	for (int i = 0; i < N; i++) {
		int first = i / size * size, s = 0, before = 0;
		for (int k = first; k < first + size; k++) {
			before += k < i ? in[k] : 0;
			s += in[k];
		}
		THAT(sum[i] == s && scan[i] == before);
	}
}

int main()
{
	int *in, *a, *b;

	OK(cudaMallocManaged(&in, N * sizeof(int)));
	OK(cudaMallocManaged(&a, N * sizeof(int)));
	OK(cudaMallocManaged(&b, N * sizeof(int)));
	for (int i = 0; i < N; i++)
		in[i] = i * 37 % 101;
#define TILES(size)                                                                                \
	do {                                                                                       \
		tiles<size><<<1, N>>>(in, a, b);                                                   \
		OK(cudaDeviceSynchronize());                                                       \
		check_tiles(size, in, a, b);                                                       \
	} while (0)
	TILES(1);
	TILES(4);
	TILES(16);
	TILES(32);
#define LARGE_TILES(size)                                                                          \
	do {                                                                                       \
		large_tiles<size><<<1, N, N * sizeof(int)>>>(in, a, b);                            \
		OK(cudaDeviceSynchronize());                                                       \
		check_large_tiles(size, in, a, b);                                                 \
	} while (0)
	LARGE_TILES(64);
	LARGE_TILES(128);
	LARGE_TILES(256);
	LARGE_TILES(512);
	groups<<<1, N>>>(in, a, b);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < N; i++) {
		int rank = 0, same = 0;
		for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
			rank += k < i && (in[k] & 1);
			same += in[k] % 5 == in[i] % 5;
		}
		THAT(a[i] == (in[i] & 1 ? rank : -1));
		THAT(b[i] == same);
	}
	puts("ok");
}
