// cp_async_smem_rw.cu - each thread copies with cp.async and reads the copy without waiting for
// it: a race of a thread with its own copies.
// scenario: cp.async SMEM RW
// table 3: race, found
// detector: collide
// expect collide: clobbered-read at use
// expect oracle: unordered at copy
// expect oracle: unordered at use
// may: copy
// twin: cp_async_smem_rw.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int THREADS = 64;
static const int ROUNDS = 32;

__global__ void copy_and_use(const unsigned *in, unsigned *out)
{
	__shared__ unsigned tile[ROUNDS][THREADS];
	int t = threadIdx.x;
	unsigned acc = 0;

	in += blockIdx.x * ROUNDS * THREADS;
	for (int r = 0; r < ROUNDS; r++)
		tile[r][t] = 0;
	for (int r = 0; r < ROUNDS; r++) {
		CP_ASYNC4(&tile[r][t], &in[r * THREADS + t]); // race: copy
		acc = acc * 31 + tile[r][t];		      // race: use
	}
	CP_ASYNC_WAIT();
	out[blockIdx.x * THREADS + t] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * ROUNDS * THREADS, 4);
	std::vector<unsigned> want(BLOCKS * THREADS), got;

	for (size_t i = 0; i < want.size(); i++)
		for (int r = 0; r < ROUNDS; r++)
			want[i] = want[i] * 31 +
				  in[(i / THREADS * ROUNDS + (size_t)r) * THREADS + i % THREADS];
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	copy_and_use<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
