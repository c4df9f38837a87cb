// cluster.cu - blocks of a cluster read each other's shared memory between cluster barriers.
// expect: nothing
// small: 1

#include "racefree.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static const int THREADS = 128;
static const int CLUSTER = 4;
static const int BLOCKS = 64 * CLUSTER;

__global__ void __cluster_dims__(CLUSTER, 1, 1) rotate(unsigned *out, int rounds)
{
	__shared__ unsigned mine[THREADS];
	cg::cluster_group cluster = cg::this_cluster();
	unsigned next = (cluster.block_rank() + 1) % CLUSTER;
	unsigned *theirs = cluster.map_shared_rank(mine, next);
	int t = threadIdx.x;
	unsigned v = blockIdx.x * THREADS + t;

	for (int r = 0; r < rounds; r++) {
		mine[t] = v;
		cluster.sync();
		v = theirs[THREADS - 1 - t] * 3 + r;
		cluster.sync();
	}
	out[blockIdx.x * THREADS + t] = v;
}

int main(int argc, char **argv)
{
	int rounds = racefree_loops(argc, argv, 100);
	const size_t n = THREADS * BLOCKS;
	std::vector<unsigned> want(n), old(n), got;

	unsigned *d_out = example_upload(want);
	RUN(rotate<<<BLOCKS, THREADS>>>(d_out, rounds));
	for (size_t i = 0; i < n; i++)
		want[i] = (unsigned)i;
	for (unsigned r = 0; r < (unsigned)rounds; r++) {
		old = want;
		for (size_t i = 0; i < n; i++) {
			size_t b = i / THREADS;
			size_t next = b / CLUSTER * CLUSTER + (b + 1) % CLUSTER;

			want[i] = old[next * THREADS + THREADS - 1 - i % THREADS] * 3 + r;
		}
	}
	got = example_download(d_out, n);
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
