// warp_sync.cu - the two halves of a warp do different work and hand each other a value through
// shared memory. They are one warp, but since Volta nothing keeps them in step: __syncwarp() is
// missing.
// detector: collide
// expect collide: clobbered-read at sum_takes|product_takes
// expect oracle: unordered at sum_takes|product_takes
// may: sum_gives
// may: product_gives
// twin: warp_sync.fixed.cu

#include "example.h"

static const int WARP = 32;
static const int HALF = WARP / 2;
static const int BLOCKS = 64;
static const int ROUNDS = 32;

/* What a careless port from older GPUs looks like: "a warp needs no barrier". */
#define STEP_TOGETHER() ((void)0)

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
			sums[lane] = acc; // race: sum_gives
			STEP_TOGETHER();
			acc += products[HALF - 1 - lane]; // race: sum_takes
			STEP_TOGETHER();
		} else {
			acc = acc * 5 + 1;
			products[lane - HALF] = acc; // race: product_gives
			STEP_TOGETHER();
			acc ^= sums[(lane + 1) % HALF]; // race: product_takes
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
