// shared_init.cu - every thread of a block sets the same shared variable to the same value.
// It seems harmless, but it is a race: the compiler may assume that only one thread does it.
// detector: collide
// expect collide: intra-warp-same|intra-warp at init
// expect oracle: unordered at init
// never: result
// twin: shared_init.fixed.cu

#include "example.h"

static const int THREADS = 128;
static const int BLOCKS = 64;

__global__ void count_all(int *result)
{
	__shared__ int sum;

	sum = 0; // race: init
	__syncthreads();
	for (int i = 0; i < 4; i++)
		atomicAdd(&sum, 1);
	__syncthreads();
	if (threadIdx.x == 0)
		result[blockIdx.x] = sum; // quiet: result
}

int main()
{
	std::vector<int> want(BLOCKS, 4 * THREADS), got(BLOCKS);
	int *d_result = example_upload(got);

	count_all<<<BLOCKS, THREADS>>>(d_result);
	CHECK(cudaGetLastError());
	got = example_download(d_result, BLOCKS);
	CHECK(cudaFree(d_result));
	return example_finish(got == want, example_checksum(got));
}
