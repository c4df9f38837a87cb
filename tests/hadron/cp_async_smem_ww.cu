// cp_async_smem_ww.cu - two warps copy different numbers into the same tile with cp.async.
// scenario: cp.async SMEM WW
// table 3: race, found
// detector: collide
// expect collide: lost-update at copy
// expect oracle: unordered at copy
// twin: cp_async_smem_ww.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int WARP = 32;
static const int ROUNDS = 32;

__global__ void copy_both(const unsigned *in, unsigned *out)
{
	__shared__ unsigned tiles[2][ROUNDS][WARP];
	int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, mine = 0;
	unsigned acc = 0;

	in += (blockIdx.x * 2 + warp) * ROUNDS * WARP;
	for (int k = 0; k < ROUNDS; k++) {
		int r = warp ? ROUNDS - 1 - k : k;

		CP_ASYNC4(&tiles[mine][r][lane], &in[r * WARP + lane]); // race: copy
	}
	CP_ASYNC_WAIT();
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++)
		acc = acc * 31 + tiles[mine][r][lane];
	out[blockIdx.x * 2 * WARP + threadIdx.x] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * 2 * ROUNDS * WARP, 5);
	std::vector<unsigned> want(BLOCKS * 2 * WARP), got;

	for (size_t i = 0; i < want.size(); i++)
		for (int r = 0; r < ROUNDS; r++)
			want[i] = want[i] * 31 +
				  in[(i / WARP * ROUNDS + (size_t)r) * WARP + i % WARP];
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	copy_both<<<BLOCKS, 2 * WARP>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
