// bulk_g2s_smem_ww.cu - a bulk copy fills a tile while threads store to every second word of it.
// scenario: cp.async.bulk (global->shared) SMEM WW
// table 3: race, found
// detector: collide
// expect collide: lost-update at patch
// expect oracle: unordered at copy
// expect oracle: unordered at patch
// may: copy
// twin: bulk_g2s_smem_ww.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int TILE = 256;
static const unsigned BYTES = TILE * sizeof(unsigned);
static const int THREADS = 64;
static const int ROUNDS = 8;

__global__ void fetch_and_patch(const unsigned *in, unsigned *out)
{
	__shared__ alignas(128) unsigned tile[ROUNDS][TILE];
	__shared__ mbarrier bar;

	if (threadIdx.x == 0)
		mbarrier_init(&bar);
	FENCE_ASYNC();
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++) {
		int at = (blockIdx.x * ROUNDS + r) * TILE;

		if (threadIdx.x == 0) {
			mbarrier_expect(&bar, BYTES);
			BULK_TO_SHARED(tile[r], &in[at], BYTES, &bar); // race: copy
		}
		for (int i = threadIdx.x; i < TILE / 2; i += THREADS)
			tile[r][2 * i] = i; // race: patch
		mbarrier_wait(&bar, r % 2);
		__syncthreads();
		for (int i = threadIdx.x; i < TILE; i += THREADS)
			out[at + i] = tile[r][i];
	}
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * ROUNDS * TILE, 10), want(in), got;

	for (size_t i = 0; i < want.size(); i += 2)
		want[i] = (unsigned)(i % TILE / 2);
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(in);
	fetch_and_patch<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
