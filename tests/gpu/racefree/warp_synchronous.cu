// warp_synchronous.cu - warps that exchange values through shared memory with __syncwarp().
// expect: nothing
// small: 1

#include "racefree.h"

static const int THREADS = 256;
static const int BLOCKS = 264;
static const int WARP = 32;

__global__ void exchange(unsigned *out, int loops)
{
	__shared__ unsigned slots[THREADS];
	int lane = threadIdx.x % WARP;
	unsigned *mine = slots + threadIdx.x - lane;
	unsigned v = threadIdx.x + blockIdx.x;

	for (int k = 0; k < loops; k++) {
		for (int half = WARP / 2; half > 0; half /= 2) {
			mine[lane] = v;
			__syncwarp();
			v = v * 3 + mine[lane ^ half];
			__syncwarp();
		}
		/* The halves work apart, with a mask of their own. */
		unsigned half_mask = lane < 16 ? 0xffffu : 0xffff0000u;

		mine[lane] = v + k;
		__syncwarp(half_mask);
		v += lane < 16 ? mine[15 - lane] : 2 * mine[16 + (lane + 1) % 16];
		__syncwarp();
	}
	out[blockIdx.x * THREADS + threadIdx.x] = v;
}

static void expected(unsigned *v, int loops)
{
	unsigned old[WARP];

	for (int k = 0; k < loops; k++) {
		for (int half = WARP / 2; half > 0; half /= 2) {
			for (int i = 0; i < WARP; i++)
				old[i] = v[i];
			for (int i = 0; i < WARP; i++)
				v[i] = old[i] * 3 + old[i ^ half];
		}
		for (int i = 0; i < WARP; i++)
			old[i] = v[i] + (unsigned)k;
		for (int i = 0; i < WARP; i++)
			v[i] += i < 16 ? old[15 - i] : 2 * old[16 + (i + 1) % 16];
	}
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 200);
	std::vector<unsigned> want(THREADS * BLOCKS), got;

	for (size_t i = 0; i < want.size(); i++)
		want[i] = (unsigned)(i % THREADS + i / THREADS);
	unsigned *d_out = example_upload(want);
	for (size_t i = 0; i < want.size(); i += WARP)
		expected(&want[i], loops);
	RUN(exchange<<<BLOCKS, THREADS>>>(d_out, loops));
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
