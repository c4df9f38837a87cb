// dsmem_ww.cu - both blocks of a cluster fill the box of the first, in opposite orders.
// scenario: Distributed SMEM WW
// table 3: race, found
// detector: collide
// expect collide: lost-update at fill
// expect oracle: unordered at fill
// twin: dsmem_ww.fixed.cu

#include "hadron.h"

#include <cooperative_groups.h>

static const int BLOCKS = 8;
static const int THREADS = 64;
static const int ROUNDS = 32;

__global__ void __cluster_dims__(2, 1, 1) fill_first(const unsigned *in, unsigned *out)
{
	__shared__ unsigned box[2][ROUNDS][THREADS];
	cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
	int t = threadIdx.x, rank = cluster.block_rank(), mine = 0;
	unsigned acc = 0, x = in[blockIdx.x * THREADS + t];

	unsigned *first = cluster.map_shared_rank(&box[mine][0][0], 0);
	cluster.sync();
	for (int k = 0; k < ROUNDS; k++) {
		int r = rank ? ROUNDS - 1 - k : k;

		first[r * THREADS + t] = x + r; // race: fill
	}
	cluster.sync();
	for (int r = 0; r < ROUNDS; r++)
		acc = acc * 31 + first[r * THREADS + t];
	cluster.sync();
	out[blockIdx.x * THREADS + t] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * THREADS, 13), want(in.size()), got;

	for (size_t i = 0; i < want.size(); i++)
		for (int r = 0; r < ROUNDS; r++)
			want[i] = want[i] * 31 + in[i] + r;
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	fill_first<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
