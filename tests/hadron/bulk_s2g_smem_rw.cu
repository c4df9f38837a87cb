// bulk_s2g_smem_rw.cu - a bulk copy takes a tile to global memory, and the threads refill the tile
// before the copy has read it.
// scenario: cp.async.bulk (shared->global) SMEM RW
// table 3: race, found
// detector: collide
// expect collide: clobbered-read at copy
// expect oracle: unordered at fill
// expect oracle: unordered at copy
// may: fill
// twin: bulk_s2g_smem_rw.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int TILE = 256;
static const unsigned BYTES = TILE * sizeof(unsigned);
static const int THREADS = 64;
static const int ROUNDS = 8;

__global__ void stream_out(const unsigned *in, unsigned *out)
{
	__shared__ alignas(128) unsigned tile[TILE];

	for (int r = 0; r < ROUNDS; r++) {
		int at = (blockIdx.x * ROUNDS + r) * TILE;

		for (int i = threadIdx.x; i < TILE; i += THREADS)
			tile[i] = in[at + i]; // race: fill
		FENCE_ASYNC();
		__syncthreads();
		if (threadIdx.x == 0) {
			BULK_TO_GLOBAL(&out[at], tile, BYTES); // race: copy
			BULK_COMMIT();
		}
	}
	if (threadIdx.x == 0)
		BULK_WAIT();
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * ROUNDS * TILE, 6), got(in.size());

	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(got);
	stream_out<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, in.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == in, example_checksum(got));
}
