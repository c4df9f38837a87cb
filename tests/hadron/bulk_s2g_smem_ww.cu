// bulk_s2g_smem_ww.cu - two threads bulk-copy different tiles of shared memory to the same global
// addresses.
// scenario: cp.async.bulk (shared->global) SMEM WW
// table 3: race, found
// detector: collide
// expect collide: lost-update|clobbered-read at copy
// expect oracle: unordered at copy
// twin: bulk_s2g_smem_ww.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int TILE = 256;
static const unsigned BYTES = TILE * sizeof(unsigned);
static const int THREADS = 64;

__global__ void copy_both(const unsigned *in, unsigned *out)
{
	__shared__ alignas(128) unsigned tiles[2][TILE];
	int at = blockIdx.x * 2 * TILE;

	for (int i = threadIdx.x; i < TILE; i += THREADS) {
		tiles[0][i] = in[at + i];
		tiles[1][i] = in[at + TILE + i];
	}
	FENCE_ASYNC();
	__syncthreads();
	if (threadIdx.x % 32 == 0) {
		int k = threadIdx.x / 32;

		BULK_TO_GLOBAL(&out[at], tiles[k], BYTES); // race: copy
		BULK_COMMIT();
		BULK_WAIT();
	}
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * 2 * TILE, 8), got(in.size());

	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(got);
	copy_both<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, in.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == in, example_checksum(got));
}
