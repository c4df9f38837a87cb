// counter.cu - every thread adds one to the same counter with ++, which is a load and a store:
// most of the increments are lost.
// detector: collide
// expect collide: clobbered-read|lost-update|intra-warp|intra-warp-same at increment
// expect oracle: unordered at increment
// twin: counter.fixed.cu

#include "example.h"

static const int THREADS = 256;
static const int BLOCKS = 64;

__global__ void count(const int *in, unsigned *counter, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && in[i] % 3 == 0)
		(*counter)++; // race: increment
}

int main()
{
	std::vector<int> in(BLOCKS * THREADS);
	std::vector<unsigned> want(1), got(1);
	uint32_t seed = 8;

	for (int &x : in) {
		x = (int)example_random(&seed);
		want[0] += x % 3 == 0;
	}
	int *d_in = example_upload(in);
	unsigned *d_counter = example_upload(got);
	count<<<BLOCKS, THREADS>>>(d_in, d_counter, (int)in.size());
	CHECK(cudaGetLastError());
	got = example_download(d_counter, 1);
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_counter));
	return example_finish(got == want, example_checksum(got));
}
