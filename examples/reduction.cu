// reduction.cu - sum of an array, one tree per block, without the barrier between its levels.
// A warp of the next level reads partial sums that another warp has not written yet.
// detector: collide
// expect collide: clobbered-read at level
// expect oracle: unordered at level
// never: fill
// never: out
// twin: reduction.fixed.cu

#include "example.h"

static const int THREADS = 256;
static const int BLOCKS = 64;

__global__ void reduce(const int *in, int *out)
{
	__shared__ int part[THREADS];
	int t = threadIdx.x;

	part[t] = in[blockIdx.x * THREADS + t]; // quiet: fill
	__syncthreads();
	for (int half = THREADS / 2; half > 0; half /= 2) {
		if (t < half)
			part[t] += part[t + half]; // race: level
	}
	if (t == 0)
		out[blockIdx.x] = part[0]; // quiet: out
}

int main()
{
	std::vector<int> in(BLOCKS * THREADS), want(BLOCKS), got;
	uint32_t seed = 1;
	bool is_right = true;
	uint64_t sum = 0;

	for (size_t i = 0; i < in.size(); i++) {
		in[i] = (int)(example_random(&seed) % 1000) + 1;
		want[i / THREADS] += in[i];
	}
	int *d_in = example_upload(in);
	int *d_out = example_upload(want);
	for (int round = 0; round < 20; round++) {
		CHECK(cudaMemset(d_out, 0, BLOCKS * sizeof(int)));
		reduce<<<BLOCKS, THREADS>>>(d_in, d_out);
		CHECK(cudaGetLastError());
		got = example_download(d_out, BLOCKS);
		is_right = is_right && got == want;
		sum += example_checksum(got);
	}
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(is_right, sum);
}
