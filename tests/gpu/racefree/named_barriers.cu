// named_barriers.cu - half of a block fills, half empties, with named barriers for each direction.
// expect: nothing
// small: 1

#include "racefree.h"

static const int THREADS = 128; /* 64 producers, 64 consumers */
static const int BLOCKS = 264;

__device__ void barrier_sync(int id)
{
	asm volatile("barrier.sync %0, 128;" ::"r"(id) : "memory");
}

__device__ void barrier_arrive(int id)
{
	asm volatile("barrier.arrive %0, 128;" ::"r"(id) : "memory");
}

__global__ void halves(unsigned *out, int rounds)
{
	__shared__ unsigned slot[64];
	int t = threadIdx.x;
	unsigned sum = 0;

	for (int r = 0; r < rounds; r++) {
		if (t < 64) {
			slot[t] = r * 64 + t;
			barrier_arrive(1); /* full */
			barrier_sync(2);   /* empty */
		} else {
			barrier_sync(1);
			sum = sum * 3 + slot[127 - t];
			barrier_arrive(2);
		}
	}
	if (t >= 64)
		out[blockIdx.x * 64 + t - 64] = sum;
}

int main(int argc, char **argv)
{
	int rounds = racefree_loops(argc, argv, 300);
	std::vector<unsigned> want(BLOCKS * 64), got;

	unsigned *d_out = example_upload(want);
	RUN(halves<<<BLOCKS, THREADS>>>(d_out, rounds));
	for (size_t i = 0; i < want.size(); i++)
		for (unsigned r = 0; r < (unsigned)rounds; r++)
			want[i] = want[i] * 3 + r * 64 + (unsigned)(63 - i % 64);
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
