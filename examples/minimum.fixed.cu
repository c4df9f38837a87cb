// minimum.fixed.cu - the look is a relaxed atomic load.
// expect: nothing
// flags: -std=c++17
// twin: minimum.cu

#include "example.h"

#include <cuda/atomic>

static const int THREADS = 256;
static const int BLOCKS = 64;
static const int N = BLOCKS * THREADS * 8;

__global__ void minimum(const unsigned *in, unsigned *best, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		unsigned v = in[i];

		cuda::atomic_ref<unsigned, cuda::thread_scope_device> seen(*best);

		if (v < seen.load(cuda::memory_order_relaxed))
			atomicMin(best, v);
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
