// dsmem_rw.cu - the two blocks of a cluster fill their boxes and read each other's, without a
// cluster barrier between.
// scenario: Distributed SMEM RW
// table 3: race, found
// detector: collide
// delays: 100000/20000
// expect collide: clobbered-read at takes
// expect oracle: unordered at gives
// expect oracle: unordered at takes
// may: gives
// twin: dsmem_rw.fixed.cu

#include "hadron.h"

#include <cooperative_groups.h>

static const int BLOCKS = 8;
static const int THREADS = 64;
static const int PASSES = 4;
static const int ROUNDS = 32;

__global__ void __cluster_dims__(2, 1, 1) exchange(const unsigned *in, unsigned *out)
{
	__shared__ unsigned box[PASSES * ROUNDS][THREADS];
	cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
	int t = threadIdx.x;
	unsigned acc = 0, x = in[blockIdx.x * THREADS + t];

	for (int r = 0; r < PASSES * ROUNDS; r++)
		box[r][t] = 0;
	cluster.sync();
	unsigned *theirs = cluster.map_shared_rank(&box[0][0], cluster.block_rank() ^ 1);
	for (int p = 0; p < PASSES; p++) {
		for (int r = p * ROUNDS; r < (p + 1) * ROUNDS; r++)
			box[r][t] = x + r; // race: gives
		for (int r = (p + 1) * ROUNDS - 1; r >= p * ROUNDS; r--)
			acc = acc * 31 + theirs[r * THREADS + t]; // race: takes
		cluster.sync();
	}
	out[blockIdx.x * THREADS + t] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * THREADS, 12), want(in.size()), got;

	for (size_t i = 0; i < want.size(); i++)
		for (int p = 0; p < PASSES; p++)
			for (int r = (p + 1) * ROUNDS - 1; r >= p * ROUNDS; r--)
				want[i] = want[i] * 31 + in[i ^ THREADS] + r;
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	exchange<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
