// async_copy.cu - tiles come through cuda::pipeline and memcpy_async, two stages ahead of use.
// expect: nothing
// flags: -std=c++17
// small: 6 32

#include "racefree.h"
#include <cooperative_groups.h>
#include <cuda/pipeline>

static const int THREADS = 128;
static const int STAGES = 2;

#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void fold(const unsigned *in, unsigned *out, int tiles)
{
	__shared__ unsigned tile[STAGES][THREADS];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
	auto block = cooperative_groups::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);
	unsigned t = threadIdx.x, sum = 0;

	in += (size_t)blockIdx.x * tiles * THREADS;
	for (int load = 0, use = 0; use < tiles; use++) {
		for (; load < tiles && load < use + STAGES; load++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, tile[load % STAGES], in + load * THREADS,
					   sizeof(tile[0]), pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		sum = sum * 3 + tile[use % STAGES][THREADS - 1 - t];
		pipe.consumer_release();
	}
	out[blockIdx.x * THREADS + t] = sum;
}

int main(int argc, char **argv)
{
	int tiles = racefree_loops(argc, argv, 64), blocks = racefree_part(argc, argv, 264);
	std::vector<unsigned> in((size_t)tiles * blocks * THREADS), want((size_t)blocks * THREADS), got;
	uint32_t seed = 1;

	for (unsigned &x : in)
		x = example_random(&seed);
	unsigned *d_in = example_upload(in), *d_out = example_upload(want);
	RUN(fold<<<blocks, THREADS>>>(d_in, d_out, tiles));
	for (size_t i = 0; i < want.size(); i++)
		for (size_t k = 0; k < (size_t)tiles; k++)
			want[i] =
				want[i] * 3 +
				in[(i / THREADS * tiles + k) * THREADS + THREADS - 1 - i % THREADS];
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
