// local_generic.cu - generic pointers to the thread's own stack: the same address in every thread.
// expect: nothing
// small: 1

#include "racefree.h"

static const int THREADS = 256;
static const int BLOCKS = 264;

__noinline__ __device__ void fill(unsigned *p, int n, unsigned seed)
{
	for (int i = 0; i < n; i++)
		p[i] = seed = seed * 1664525u + 1013904223u;
}

__noinline__ __device__ unsigned fold(const unsigned *p, int n, unsigned at)
{
	unsigned v = 0;

	for (int i = 0; i < n; i++)
		v = v * 31 + p[(at + i) % n];
	return v;
}

/* The pointer is to shared, global or local memory, depending on the thread. */
__global__ void mixed(unsigned *global, unsigned *out, int loops)
{
	__shared__ unsigned shared[THREADS][4];
	unsigned local[4];
	int i = blockIdx.x * THREADS + threadIdx.x;
	unsigned *p = i % 3 == 0 ? local : i % 3 == 1 ? shared[threadIdx.x] : global + 4 * i;
	unsigned v = i;

	for (int k = 0; k < loops; k++) {
		fill(p, 4, v);
		v = fold(p, 4, v);
	}
	out[i] = v;
}

static unsigned expected(unsigned v, int loops)
{
	for (int k = 0; k < loops; k++) {
		unsigned p[4], seed = v, at = v;

		for (unsigned &x : p)
			x = seed = seed * 1664525u + 1013904223u;
		v = 0;
		for (unsigned i = 0; i < 4; i++)
			v = v * 31 + p[(at + i) % 4];
	}
	return v;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 60);
	std::vector<unsigned> want(THREADS * BLOCKS), got;

	unsigned *d_global = example_upload(std::vector<unsigned>(want.size() * 4));
	unsigned *d_out = example_upload(want);
	RUN(mixed<<<BLOCKS, THREADS>>>(d_global, d_out, loops));
	for (size_t i = 0; i < want.size(); i++)
		want[i] = expected((unsigned)i, loops);
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_global));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
