// volatile_flags.cu - warps of a block hand a plain word on through volatile flags and fences.
//
// Volatile accesses are strong in PTX (a race in C++): never checked as weak ones.
// expect: nothing
// small: 2 32

#include "racefree.h"

static const int WARPS = 8;

__global__ void relay(unsigned *out, int rounds)
{
	__shared__ volatile unsigned turn;
	__shared__ unsigned word[32];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

	if (threadIdx.x == 0)
		turn = 0;
	if (warp == 0)
		word[lane] = blockIdx.x + lane;
	__syncthreads();
	for (int r = 0; r < rounds; r++) {
		while (turn != (unsigned)(r * WARPS + warp))
			;
		__threadfence_block();
		__syncwarp();
		word[lane] = word[lane] * 3 + warp;
		__threadfence_block();
		__syncwarp();
		if (lane == 0)
			turn = r * WARPS + warp + 1;
	}
	__syncthreads();
	if (warp == 1)
		out[blockIdx.x * 32 + lane] = word[lane];
}

int main(int argc, char **argv)
{
	int rounds = racefree_loops(argc, argv, 40), blocks = racefree_part(argc, argv, 264);
	std::vector<unsigned> want((size_t)blocks * 32), got;

	unsigned *d_out = example_upload(want);
	RUN(relay<<<blocks, WARPS * 32>>>(d_out, rounds));
	for (size_t i = 0; i < want.size(); i++) {
		unsigned v = (unsigned)(i / 32 + i % 32);

		for (int r = 0; r < rounds; r++)
			for (unsigned w = 0; w < (unsigned)WARPS; w++)
				v = v * 3 + w;
		want[i] = v;
	}
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
