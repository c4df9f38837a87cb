// byte_neighbours.cu - threads that write different bytes, halves and words of one 8-byte cell.
//
// Every thread only touches its own bytes; its neighbours in the same word belong to others, of
// its warp, of other warps and of other blocks. A check must compare the access's bytes alone.
// expect: nothing
// small: 1

#include "racefree.h"

static const int THREADS = 256;
static const int BLOCKS = 264;

template <typename T> __global__ void own_bytes(T *a, unsigned *out, int n, int loops)
{
	__shared__ T s[THREADS];
	int t = threadIdx.x;
	/* Neighbours in memory are far apart in the grid: thread i owns element i * BLOCKS + b. */
	int at = t * BLOCKS + blockIdx.x;
	unsigned sum = 0;

	if (at >= n)
		return;
	a[at] = (T)at;
	s[THREADS - 1 - t] = (T)t;
	for (int k = 0; k < loops; k++) {
		a[at] = (T)(a[at] * 3 + k);
		s[THREADS - 1 - t] = (T)(s[THREADS - 1 - t] * 5 + k);
		asm volatile("" ::: "memory");
		sum += a[at] + s[THREADS - 1 - t];
	}
	out[at] = sum;
}

template <typename T> static bool check(int loops, uint64_t *sum)
{
	const int n = THREADS * BLOCKS;
	std::vector<unsigned> zero(n), got;
	std::vector<T> a(n);
	bool is_right = true;

	T *d_a = example_upload(a);
	unsigned *d_out = example_upload(zero);
	RUN(own_bytes<T><<<BLOCKS, THREADS>>>(d_a, d_out, n, loops));
	got = example_download(d_out, n);
	for (int i = 0; i < n; i++) {
		T x = (T)i, y = (T)(i / BLOCKS);
		unsigned want = 0;

		for (int k = 0; k < loops; k++) {
			x = (T)(x * 3 + k);
			y = (T)(y * 5 + k);
			want += x + y;
		}
		is_right = is_right && got[(size_t)i] == want;
	}
	*sum = racefree_mix(*sum, example_checksum(got));
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_out));
	return is_right;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 200);
	uint64_t sum = 0;
	bool is_right = check<unsigned char>(loops, &sum);

	is_right = check<unsigned short>(loops, &sum) && is_right;
	is_right = check<unsigned>(loops, &sum) && is_right;
	return example_finish(is_right, sum);
}
