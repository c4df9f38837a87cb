// scan.cu - prefix sum after Hillis and Steele in one shared array. Each step reads a neighbour's
// old sum, but only one of the two barriers is there: the neighbour may have added already.
// detector: collide
// expect collide: clobbered-read at add
// expect oracle: unordered at add
// never: fill
// never: out
// twin: scan.fixed.cu

#include "example.h"

static const int THREADS = 256;
static const int BLOCKS = 64;

__global__ void scan(const unsigned *in, unsigned *out)
{
	__shared__ unsigned sum[THREADS];
	int t = threadIdx.x, at = blockIdx.x * THREADS + t;

	sum[t] = in[at]; // quiet: fill
	__syncthreads();
	for (int d = 1; d < THREADS; d *= 2) {
		if (t >= d)
			sum[t] += sum[t - d]; // race: add
		__syncthreads();
	}
	out[at] = sum[t]; // quiet: out
}

int main()
{
	std::vector<unsigned> in(BLOCKS * THREADS), want(BLOCKS * THREADS), got;
	uint32_t seed = 9;

	for (size_t i = 0; i < in.size(); i++) {
		in[i] = example_random(&seed) + 1;
		want[i] = in[i] + (i % THREADS ? want[i - 1] : 0);
	}
	unsigned *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	scan<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
