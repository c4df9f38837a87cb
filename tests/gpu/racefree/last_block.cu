// last_block.cu - each block leaves a partial sum; the block that finds itself the last one by an
// atomic counter adds them up, with fences around the counter.
// expect: nothing
// small: 2 32

#include "racefree.h"

static const int THREADS = 256;

__device__ unsigned arrived;

__device__ unsigned block_sum(unsigned v)
{
	__shared__ unsigned part[THREADS];
	int t = threadIdx.x;

	part[t] = v;
	__syncthreads();
	for (int half = THREADS / 2; half > 0; half /= 2) {
		if (t < half)
			part[t] += part[t + half];
		__syncthreads();
	}
	v = part[0];
	__syncthreads();
	return v;
}

__global__ void sum_all(const unsigned *in, unsigned *partial, unsigned *total, int n)
{
	__shared__ bool is_last;
	unsigned v = 0;

	for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
		v += in[i];
	v = block_sum(v);
	if (threadIdx.x == 0) {
		partial[blockIdx.x] = v;
		__threadfence();
		is_last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
		__threadfence();
	}
	__syncthreads();
	if (!is_last)
		return;
	v = 0;
	for (int b = threadIdx.x; b < (int)gridDim.x; b += THREADS)
		v += partial[b];
	v = block_sum(v);
	if (threadIdx.x == 0)
		*total = v;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 20), blocks = racefree_part(argc, argv, 264);
	int n = THREADS * blocks * 32;
	std::vector<unsigned> in((size_t)n), partial(blocks), total(1), got;
	unsigned want = 0;
	uint32_t seed = 1;
	bool is_right = true;

	for (unsigned &x : in)
		want += x = example_random(&seed);
	unsigned *d_in = example_upload(in), *d_partial = example_upload(partial);
	unsigned *d_total = example_upload(total);
	for (int k = 0; k < loops; k++) {
		CHECK(cudaMemset(d_total, 0, sizeof(unsigned)));
		RUN(sum_all<<<blocks, THREADS>>>(d_in, d_partial, d_total, n));
		got = example_download(d_total, 1);
		is_right = is_right && got[0] == want;
	}
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_partial));
	CHECK(cudaFree(d_total));
	return example_finish(is_right, want);
}
