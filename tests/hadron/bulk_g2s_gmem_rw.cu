// bulk_g2s_gmem_rw.cu - a bulk copy reads global memory while threads store there.
// scenario: cp.async.bulk (global->shared) GMEM RW
// table 3: race, missed
// detector: collide
// expect collide: clobbered-read at copy
// expect oracle: unordered at copy
// expect oracle: unordered at replace
// may: replace
// twin: bulk_g2s_gmem_rw.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int TILE = 256;
static const unsigned BYTES = TILE * sizeof(unsigned);
static const int THREADS = 64;
static const int ROUNDS = 8;

__global__ void fetch_and_replace(unsigned *data, unsigned *out)
{
	__shared__ alignas(128) unsigned tile[ROUNDS][TILE];
	__shared__ mbarrier bar;

	if (threadIdx.x == 0)
		mbarrier_init(&bar);
	FENCE_ASYNC();
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++) {
		int at = (blockIdx.x * ROUNDS + r) * TILE;
		unsigned *from = &data[at];

		if (threadIdx.x == 0) {
			mbarrier_expect(&bar, BYTES);
			BULK_TO_SHARED(tile[r], from, BYTES, &bar); // race: copy
		}
		for (int i = threadIdx.x; i < TILE; i += THREADS)
			data[at + i] = i; // race: replace
		mbarrier_wait(&bar, r % 2);
		__syncthreads();
		for (int i = threadIdx.x; i < TILE; i += THREADS)
			out[at + i] = tile[r][i];
	}
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * ROUNDS * TILE, 11), got;

	unsigned *d_data = example_upload(in);
	unsigned *d_out = example_upload(in);
	fetch_and_replace<<<BLOCKS, THREADS>>>(d_data, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, in.size());
	CHECK(cudaFree(d_data));
	CHECK(cudaFree(d_out));
	return example_finish(got == in, example_checksum(got));
}
