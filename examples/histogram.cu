// histogram.cu - histogram with plain increments: two threads read the same old count, and one
// of the two new counts is lost.
// detector: collide
// expect collide: clobbered-read|lost-update|intra-warp|intra-warp-same at bin
// expect oracle: unordered at bin
// never: value
// twin: histogram.fixed.cu

#include "example.h"

static const int THREADS = 256;
static const int BLOCKS = 64;
static const int N = BLOCKS * THREADS * 4;
static const int BINS = 64;

__global__ void count(const unsigned char *values, unsigned *bins, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		int v = values[i] % BINS; // quiet: value
		bins[v]++;		  // race: bin
	}
}

int main()
{
	std::vector<unsigned char> values(N);
	std::vector<unsigned> bins(BINS), want(BINS), got;
	uint32_t seed = 3;

	for (unsigned char &v : values) {
		v = (unsigned char)example_random(&seed);
		want[v % BINS]++;
	}
	unsigned char *d_values = example_upload(values);
	unsigned *d_bins = example_upload(bins);
	count<<<BLOCKS, THREADS>>>(d_values, d_bins, N);
	CHECK(cudaGetLastError());
	got = example_download(d_bins, BINS);
	CHECK(cudaFree(d_values));
	CHECK(cudaFree(d_bins));
	return example_finish(got == want, example_checksum(got));
}
