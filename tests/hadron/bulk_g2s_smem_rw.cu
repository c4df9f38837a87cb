// bulk_g2s_smem_rw.cu - a bulk copy fills a tile, and the threads read the tile before they wait
// for the copy.
// scenario: cp.async.bulk (global->shared) SMEM RW
// table 3: race, found
// detector: collide
// expect collide: clobbered-read at use
// expect oracle: unordered at copy
// expect oracle: unordered at use
// may: copy
// twin: bulk_g2s_smem_rw.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int TILE = 256;
static const unsigned BYTES = TILE * sizeof(unsigned);
static const int THREADS = 64;
static const int ROUNDS = 8;

__global__ void fetch_and_use(const unsigned *in, unsigned *out)
{
	__shared__ alignas(128) unsigned tile[ROUNDS][TILE];
	__shared__ mbarrier bar;
	unsigned acc = 0;

	for (int i = threadIdx.x; i < ROUNDS * TILE; i += THREADS)
		tile[i / TILE][i % TILE] = 0;
	if (threadIdx.x == 0)
		mbarrier_init(&bar);
	FENCE_ASYNC();
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++) {
		const unsigned *from = &in[(blockIdx.x * ROUNDS + r) * TILE];

		if (threadIdx.x == 0) {
			mbarrier_expect(&bar, BYTES);
			BULK_TO_SHARED(tile[r], from, BYTES, &bar); // race: copy
		}
		for (int i = threadIdx.x; i < TILE; i += THREADS)
			acc = acc * 31 + tile[r][TILE - 1 - i]; // race: use
		mbarrier_wait(&bar, r % 2);
		__syncthreads();
	}
	out[blockIdx.x * THREADS + threadIdx.x] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * ROUNDS * TILE, 9);
	std::vector<unsigned> want(BLOCKS * THREADS), got;

	for (size_t b = 0; b < (size_t)BLOCKS; b++)
		for (size_t i = 0; i < (size_t)(ROUNDS * TILE); i++) {
			unsigned *w = &want[b * THREADS + i % THREADS];

			*w = *w * 31 + in[b * ROUNDS * TILE + (i / TILE + 1) * TILE - 1 - i % TILE];
		}
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	fetch_and_use<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
