// warp_sync.fixed.cu - the same with __syncwarp() between giving and taking.
// expect: nothing
// twin: warp_sync.cu

#include "example.h"

static const int WARP = 32;
static const int HALF = WARP / 2;
static const int BLOCKS = 64;
static const int ROUNDS = 32;

#define STEP_TOGETHER() __syncwarp()

__global__ void halves(const unsigned *in, unsigned *out)
{
	__shared__ unsigned sums[HALF], products[HALF];
	int lane = threadIdx.x;
	unsigned acc = in[blockIdx.x * WARP + lane];

	if (lane < HALF)
		sums[lane] = 0;
	else
		products[lane - HALF] = 0;
	__syncwarp();
	for (unsigned round = 1; round <= ROUNDS; round++) {
		if (lane < HALF) {
			acc += round;
			sums[lane] = acc;
			STEP_TOGETHER();
			acc += products[HALF - 1 - lane];
			STEP_TOGETHER();
		} else {
			acc = acc * 5 + 1;
			products[lane - HALF] = acc;
			STEP_TOGETHER();
			acc ^= sums[(lane + 1) % HALF];
			STEP_TOGETHER();
		}
	}
	out[blockIdx.x * WARP + lane] = acc;
}

static void expected(unsigned acc[WARP])
{
	unsigned old[WARP];

	for (unsigned round = 1; round <= ROUNDS; round++) {
		for (int i = 0; i < WARP; i++)
			old[i] = i < HALF ? acc[i] + round : acc[i] * 5 + 1;
		for (int i = 0; i < WARP; i++)
			acc[i] = i < HALF ? old[i] + old[HALF + HALF - 1 - i]
					  : old[i] ^ old[(i + 1) % HALF];
	}
}

int main()
{
	std::vector<unsigned> in(BLOCKS * WARP), want, got;
	uint32_t seed = 7;

	for (unsigned &x : in)
		x = example_random(&seed);
	want = in;
	for (int b = 0; b < BLOCKS; b++)
		expected(&want[(size_t)b * WARP]);
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(in);
	halves<<<BLOCKS, WARP>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
