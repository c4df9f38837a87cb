// subwarp_smem_ww.cu - both halves of a warp fill the same box, in opposite orders, each with its
// own numbers.
// scenario: Inter-subwarp SMEM WW
// table 3: race, found
// detector: collide
// expect collide: lost-update at lower|upper
// expect oracle: unordered at lower
// expect oracle: unordered at upper
// twin: subwarp_smem_ww.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int HALF = 16;
static const int ROUNDS = 64;

__global__ void fill(const unsigned *in, unsigned *out)
{
	__shared__ unsigned boxes[2][ROUNDS][HALF];
	int lane = threadIdx.x;
	unsigned acc = 0, x = in[blockIdx.x * 2 * HALF + lane];

	if (lane < HALF) {
		for (int r = 0; r < ROUNDS; r++)
			boxes[0][r][lane] = x + r; // race: lower
	} else {
		for (int r = ROUNDS - 1; r >= 0; r--)
			boxes[0][r][lane - HALF] = x ^ r; // race: upper
	}
	__syncwarp();
	for (int r = 0; r < ROUNDS; r++)
		acc = acc * 31 + boxes[0][r][lane % HALF];
	out[blockIdx.x * 2 * HALF + lane] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * 2 * HALF, 2), want(in.size()), got;

	for (size_t i = 0; i < in.size(); i++)
		for (unsigned r = 0; r < ROUNDS; r++)
			want[i] = want[i] * 31 + (i / HALF % 2 ? in[i] ^ r : in[i] + r);
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	fill<<<BLOCKS, 2 * HALF>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
