// cub_block.cu - CUB's block-wide sort, scan and reduction, which reuse one piece of shared memory.
// expect: nothing
// flags: -std=c++17
// small: 1 32

#include "racefree.h"
#include <algorithm>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

static const int THREADS = 128;
static const int ITEMS = 4;
static const int TILE = THREADS * ITEMS;

typedef cub::BlockRadixSort<unsigned, THREADS, ITEMS> Sort;
typedef cub::BlockScan<unsigned, THREADS> Scan;
typedef cub::BlockReduce<unsigned, THREADS> Reduce;

__global__ void all_three(const unsigned *in, unsigned *out, unsigned *sums, int loops)
{
	__shared__ union {
		Sort::TempStorage sort;
		Scan::TempStorage scan;
		Reduce::TempStorage reduce;
	} tmp;
	unsigned v[ITEMS], sum = 0;

	for (int k = 0; k < loops; k++) {
		for (int i = 0; i < ITEMS; i++)
			v[i] = in[blockIdx.x * TILE + threadIdx.x * ITEMS + i];
		Sort(tmp.sort).Sort(v);
		__syncthreads();
		Scan(tmp.scan).InclusiveSum(v, v);
		__syncthreads();
		sum = Reduce(tmp.reduce).Sum(v[0] + v[ITEMS - 1]);
		__syncthreads();
	}
	for (int i = 0; i < ITEMS; i++)
		out[blockIdx.x * TILE + threadIdx.x * ITEMS + i] = v[i];
	if (threadIdx.x == 0)
		sums[blockIdx.x] = sum;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 10);
	size_t blocks = racefree_part(argc, argv, 264);
	std::vector<unsigned> in(blocks * TILE), want, got, sums(blocks), want_sums(blocks);
	uint32_t seed = 1;

	for (unsigned &x : in)
		x = example_random(&seed);
	want = in;
	for (size_t b = 0; b < blocks; b++) {
		unsigned *w = &want[b * TILE], sum = 0;

		std::sort(w, w + TILE);
		for (int i = 0; i < TILE; i++)
			w[i] = sum += w[i];
		for (int i = 0; i < TILE; i += ITEMS)
			want_sums[b] += w[i] + w[i + ITEMS - 1];
	}
	unsigned *d_in = example_upload(in), *d_out = example_upload(in);
	unsigned *d_sums = example_upload(sums);
	RUN(all_three<<<(unsigned)blocks, THREADS>>>(d_in, d_out, d_sums, loops));
	got = example_download(d_out, want.size());
	sums = example_download(d_sums, blocks);
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	CHECK(cudaFree(d_sums));
	return example_finish(got == want && sums == want_sums, example_checksum(got));
}
