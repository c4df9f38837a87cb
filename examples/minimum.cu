// minimum.cu - smallest element, with a plain look before the atomic "to save atomics". The plain
// load races with the atomics of the other threads.
// detector: collide
// expect collide: clobbered-read at look
// expect oracle: unordered at look
// may: atomic
// never: value
// twin: minimum.fixed.cu

#include "example.h"

static const int THREADS = 256;
static const int BLOCKS = 64;
static const int N = BLOCKS * THREADS * 8;

__global__ void minimum(const unsigned *in, unsigned *best, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		unsigned v = in[i]; // quiet: value

		if (v < *best) // race: look
			atomicMin(best, v); // race: atomic
	}
}

int main()
{
	std::vector<unsigned> in(N), want(1, ~0u), got(1, ~0u);
	uint32_t seed = 10;

	/* Falling values: the minimum changes until the end. */
	for (int i = 0; i < N; i++) {
		in[i] = (unsigned)(N - i) * 1000 + example_random(&seed) % 1000;
		want[0] = in[i] < want[0] ? in[i] : want[0];
	}
	unsigned *d_in = example_upload(in);
	unsigned *d_best = example_upload(got);
	minimum<<<BLOCKS, THREADS>>>(d_in, d_best, N);
	CHECK(cudaGetLastError());
	got = example_download(d_best, 1);
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_best));
	return example_finish(got == want, example_checksum(got));
}
