// invented_select.cu - `if (use) v = flag` becomes an unconditional load and a select at -O3.
//
// Thread 0 stores to `flag` in every round while the other warps pass the `if` with a false
// condition: the source reads nothing, the machine code reads a word that is being written and
// throws it away. After a barrier the same `if` is taken, so the compiler can't drop it.
// expect: nothing
// small: 1 8
// ptx: ld\.shared\.u32[^;]*flag];[^}]*selp\.b32

#include "racefree.h"

static const int THREADS = 256;
static const int BLOCKS = 264;

__device__ unsigned device_flag[BLOCKS];

__global__ void rounds(const unsigned char *use, unsigned *out, int n)
{
	__shared__ unsigned flag;
	int t = threadIdx.x;
	unsigned sum = t;

	if (t == 0)
		flag = 1;
	__syncthreads();
	for (int i = 0; i < n; i++) {
		unsigned char u = use[i];
		unsigned v = 7;

		/* While thread 0 stores, `u` is 0 for everybody. */
		if (u == 0 && t == 0)
			flag = sum;
		if (u != 0)
			v = flag; // invented read
		sum = sum * 5 + v;
		if (i % 64 >= 62)
			__syncthreads(); /* round 63 of 64 reads: a barrier before and after */
	}
	out[blockIdx.x * THREADS + t] = sum;
}

/* The same with a word of global memory. */
__global__ void rounds_global(const unsigned char *use, unsigned *out, int n)
{
	int t = threadIdx.x;
	unsigned sum = t;

	if (t == 0)
		device_flag[blockIdx.x] = 1;
	__syncthreads();
	for (int i = 0; i < n; i++) {
		unsigned char u = use[i];
		unsigned v = 7;

		if (u == 0 && t == 0)
			device_flag[0 + blockIdx.x % BLOCKS] = sum;
		if (u != 0)
			v = device_flag[blockIdx.x % BLOCKS]; // invented read
		sum = sum * 5 + v;
		if (i % 64 >= 62)
			__syncthreads();
	}
	out[blockIdx.x * THREADS + t] = sum;
}

int main(int argc, char **argv)
{
	int n = racefree_loops(argc, argv, 512) / 64 * 64 + 64;
	const int blocks = racefree_part(argc, argv, BLOCKS);
	std::vector<unsigned char> use((size_t)n);
	std::vector<unsigned> want(THREADS), all(THREADS * blocks), got;
	bool is_right = true;

	for (int i = 0; i < n; i++)
		use[(size_t)i] = i % 64 == 63;
	for (int t = 0; t < THREADS; t++)
		want[(size_t)t] = (unsigned)t;
	unsigned flag = 1;
	for (int i = 0; i < n; i++) {
		unsigned before = want[0];

		if (!use[(size_t)i])
			flag = before;
		for (unsigned &s : want)
			s = s * 5 + (use[(size_t)i] ? flag : 7);
	}
	unsigned char *d_use = example_upload(use);
	unsigned *d_out = example_upload(all);
	for (int pass = 0; pass < 2; pass++) {
		CHECK(cudaMemset(d_out, 0, all.size() * sizeof(unsigned)));
		if (pass == 0)
			RUN(rounds<<<blocks, THREADS>>>(d_use, d_out, n));
		else
			RUN(rounds_global<<<blocks, THREADS>>>(d_use, d_out, n));
		got = example_download(d_out, all.size());
		for (size_t i = 0; i < got.size(); i++)
			is_right = is_right && got[i] == want[i % THREADS];
	}
	CHECK(cudaFree(d_use));
	CHECK(cudaFree(d_out));
	return example_finish(is_right, example_checksum(got));
}
