// cp_async_gmem_rw.cu - one warp copies global memory into a tile with cp.async, another warp
// replaces what is copied at the same time.
// scenario: cp.async GMEM RW
// table 3: race, found
// detector: collide
// expect collide: clobbered-read at copy
// expect oracle: unordered at copy
// expect oracle: unordered at replace
// may: replace
// twin: cp_async_gmem_rw.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int WARP = 32;
static const int ROUNDS = 32;

__global__ void copy_and_replace(unsigned *data, unsigned *out)
{
	__shared__ unsigned tile[ROUNDS][WARP];
	int lane = threadIdx.x % WARP;
	unsigned acc = 0;

	data += blockIdx.x * ROUNDS * WARP;
	if (threadIdx.x < WARP) {
		for (int r = 0; r < ROUNDS; r++)
			CP_ASYNC4(&tile[r][lane], &data[r * WARP + lane]); // race: copy
		CP_ASYNC_WAIT();
	} else {
		for (int r = ROUNDS - 1; r >= 0; r--)
			data[r * WARP + lane] = r; // race: replace
	}
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++)
		acc = acc * 31 + tile[r][lane];
	out[blockIdx.x * 2 * WARP + threadIdx.x] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * ROUNDS * WARP, 3);
	std::vector<unsigned> want(BLOCKS * 2 * WARP), got;

	for (size_t i = 0; i < want.size(); i++)
		for (int r = 0; r < ROUNDS; r++)
			want[i] = want[i] * 31 +
				  in[(i / WARP / 2 * ROUNDS + (size_t)r) * WARP + i % WARP];
	unsigned *d_data = example_upload(in);
	unsigned *d_out = example_upload(want);
	copy_and_replace<<<BLOCKS, 2 * WARP>>>(d_data, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_data));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
