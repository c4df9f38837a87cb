// own_location.cu - a thread that rewrites its own words many times, through several pointers.
//
// Groups of accesses to one address: a store that a later store of the same thread replaces
// isn't lost, and a load before an own store isn't clobbered.
// expect: nothing
// small: 1

#include "racefree.h"

static const int THREADS = 256;
static const int BLOCKS = 264;

__global__ void rewrite(unsigned *a, int loops)
{
	__shared__ unsigned s[THREADS];
	int i = blockIdx.x * THREADS + threadIdx.x;
	unsigned *p = a + i, *q = s + threadIdx.x;

	*q = i;
	*p = 0;
	for (int k = 0; k < loops; k++) {
		unsigned v = *p;

		*p = v + 1;
		asm volatile("" ::: "memory");
		*p = v + 2 + *q % 3;
		asm volatile("" ::: "memory");
		*q = *p;
		*p = *q ^ k;
		*q = *q + 1;
		asm volatile("" ::: "memory");
	}
}

/* May alias, does alias: the same element through two pointers in one basic block. */
__global__ void aliased(unsigned *a, unsigned *b, unsigned *c)
{
	int i = blockIdx.x * THREADS + threadIdx.x;
	unsigned before = a[i];

	b[i] = before + 1;
	c[i] = a[i] + b[i];
	a[i] = c[i] * 2 + before;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 300);
	std::vector<unsigned> want(THREADS * BLOCKS), got;

	unsigned *d_a = example_upload(want);
	RUN(rewrite<<<BLOCKS, THREADS>>>(d_a, loops));
	RUN(aliased<<<BLOCKS, THREADS>>>(d_a, d_a, d_a));
	for (size_t i = 0; i < want.size(); i++) {
		unsigned p = 0, q = (unsigned)i;

		for (unsigned k = 0; k < (unsigned)loops; k++) {
			p = p + 2 + q % 3;
			q = p;
			p = q ^ k;
			q = q + 1;
		}
		unsigned before = p;
		p = before + 1;
		p = p + p;
		p = p * 2 + before;
		want[i] = p;
	}
	got = example_download(d_a, want.size());
	CHECK(cudaFree(d_a));
	return example_finish(got == want, example_checksum(got));
}
