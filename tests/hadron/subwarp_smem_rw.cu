// subwarp_smem_rw.cu - one half of a warp fills a box, the other half empties it from the far end.
// They are one warp, but after the branch nothing keeps the halves in step.
// scenario: Inter-subwarp SMEM RW
// table 3: race, found
// detector: collide
// options: dense=256
// expect collide: clobbered-read at takes
// expect oracle: unordered at gives
// expect oracle: unordered at takes
// may: gives
// twin: subwarp_smem_rw.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int HALF = 16;
static const int ROUNDS = 64;

__global__ void hand_over(const unsigned *in, unsigned *out)
{
	__shared__ unsigned box[ROUNDS][HALF];
	int lane = threadIdx.x;
	unsigned acc = 0, x = in[blockIdx.x * HALF + lane % HALF];

	for (int r = lane / HALF; r < ROUNDS; r += 2)
		box[r][lane % HALF] = 0;
	__syncwarp();
	if (lane < HALF) {
		for (int r = 0; r < ROUNDS; r++)
			box[r][lane] = x + r; // race: gives
	} else {
		for (int r = ROUNDS - 1; r >= 0; r--)
			acc = acc * 31 + box[r][lane - HALF]; // race: takes
		out[blockIdx.x * HALF + lane - HALF] = acc;
	}
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(BLOCKS * HALF, 1), want(in.size()), got;

	for (size_t i = 0; i < in.size(); i++)
		for (int r = ROUNDS - 1; r >= 0; r--)
			want[i] = want[i] * 31 + in[i] + r;
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	hand_over<<<BLOCKS, 2 * HALF>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
