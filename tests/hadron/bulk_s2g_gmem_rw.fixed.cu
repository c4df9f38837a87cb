// bulk_s2g_gmem_rw.fixed.cu - the same with cp.async.bulk.wait_group before the barrier.
// scenario: cp.async.bulk (shared->global) GMEM RW
// expect: nothing
// twin: bulk_s2g_gmem_rw.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int TILE = 8192; /* takes longer than the way through a barrier */
static const unsigned BYTES = TILE * sizeof(unsigned);
static const int THREADS = 64;
static const int ROUNDS = 4;

__global__ void out_and_back(const unsigned *in, unsigned *data, unsigned *out)
{
	__shared__ alignas(128) unsigned tile[TILE];
	unsigned acc = 0;

	for (int r = 0; r < ROUNDS; r++) {
		int at = (blockIdx.x * ROUNDS + r) * TILE;

		if (threadIdx.x == 0)
			BULK_WAIT_READ();
		__syncthreads();
		for (int i = threadIdx.x; i < TILE; i += THREADS)
			tile[i] = in[at + i];
		FENCE_ASYNC();
		__syncthreads();
		if (threadIdx.x == 0) {
			BULK_TO_GLOBAL(&data[at], tile, BYTES);
			BULK_COMMIT();
			BULK_WAIT();
		}
		__syncthreads();
		for (int i = threadIdx.x; i < TILE; i += THREADS)
			acc = acc * 31 + data[at + TILE - 1 - i];
	}
	if (threadIdx.x == 0)
		BULK_WAIT();
	out[blockIdx.x * THREADS + threadIdx.x] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * ROUNDS * TILE, 7), zeros(in.size());
	std::vector<unsigned> want(BLOCKS * THREADS), got;

	for (size_t b = 0; b < (size_t)BLOCKS; b++)
		for (size_t i = 0; i < (size_t)(ROUNDS * TILE); i++) {
			unsigned *w = &want[b * THREADS + i % THREADS];

			*w = *w * 31 + in[b * ROUNDS * TILE + (i / TILE + 1) * TILE - 1 - i % TILE];
		}
	unsigned *d_in = example_upload(in);
	unsigned *d_data = example_upload(zeros);
	unsigned *d_out = example_upload(want);
	out_and_back<<<BLOCKS, THREADS>>>(d_in, d_data, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_data));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
