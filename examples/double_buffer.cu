// double_buffer.cu - two shared tiles, one used while the other waits. The barrier between using a
// tile and refilling it is missing: a fast warp refills what a slow warp still reads.
// detector: collide
// expect collide: clobbered-read at use
// expect oracle: unordered at use
// may: refill
// never: first
// twin: double_buffer.fixed.cu

#include "example.h"

static const int THREADS = 256;
static const int BLOCKS = 32;
static const int TILES = 32;

__global__ void blend(const unsigned *in, unsigned *out)
{
	__shared__ unsigned tile[2][THREADS];
	int t = threadIdx.x;
	unsigned sum = 0;

	in += blockIdx.x * TILES * THREADS;
	tile[0][t] = in[t];	      // quiet: first
	tile[1][t] = in[THREADS + t]; // quiet: first
	for (int k = 0; k < TILES; k++) {
		unsigned *cur = tile[k % 2];

		__syncthreads();
		for (int j = 0; j < THREADS; j += 37)
			sum = sum * 31 + cur[(t + j) % THREADS]; // race: use
		if (k + 2 < TILES)
			cur[t] = in[(k + 2) * THREADS + t]; // race: refill
	}
	out[blockIdx.x * THREADS + t] = sum;
}

int main()
{
	std::vector<unsigned> in(BLOCKS * TILES * THREADS), want(BLOCKS * THREADS), got;
	uint32_t seed = 6;

	for (unsigned &x : in)
		x = example_random(&seed);
	for (size_t i = 0; i < want.size(); i++)
		for (int k = 0; k < TILES; k++)
			for (int j = 0; j < THREADS; j += 37) {
				size_t tile = i / THREADS * TILES + (size_t)k;

				want[i] = want[i] * 31 +
					  in[tile * THREADS + (i % THREADS + (size_t)j) % THREADS];
			}
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	blend<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
