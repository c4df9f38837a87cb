// invented_hoist.cu - a load that doesn't change in a loop moves above its condition at -O3.
//
// The words `flag` and `device_flag` are only read under a condition that is false while
// thread 0 stores to them; the optimiser reads them before the loop, whatever the condition.
// expect: nothing
// small: 1 8
// ptx: ld\.global\.u32[^;]*\[device_flag];[^}]*selp\.b32

#include "racefree.h"

static const int THREADS = 256;
static const int BLOCKS = 264;
static const int WORK = 64;

__device__ unsigned device_flag;

__global__ void hoist(const unsigned *use, unsigned *out, int n)
{
	__shared__ unsigned flag;
	int t = threadIdx.x;
	unsigned sum = t;

	for (int i = 0; i < n; i++) {
		const unsigned *u = use + (i % 2) * WORK;

		/* Even rounds: thread 0 stores, none reads. Odd rounds: all read. */
		if (i % 2 == 0 && t == 0)
			flag = i + 3;
		for (int k = 0; k < WORK; k++)
			if (u[k] != 0)
				sum = (sum ^ k) + flag; // invented read
		__syncthreads();
	}
	out[blockIdx.x * THREADS + t] = sum;
}

/* One block of the grid stores while the others pass with a false condition. */
__global__ void hoist_global(const unsigned *use, unsigned *out, int n, int writer)
{
	int t = threadIdx.x;
	unsigned sum = t;

	if ((int)blockIdx.x == writer && t == 0)
		for (int i = 0; i < 8; i++) {
			device_flag = n + i;
			asm volatile("" ::: "memory");
		}
	for (int k = 0; k < n; k++)
		if (use[k] != 0)
			sum = (sum ^ k) + device_flag; // invented read
	out[blockIdx.x * THREADS + t] = sum;
}

static void expected(std::vector<unsigned> &want, const std::vector<unsigned> &use, int n)
{
	unsigned flag = 0;

	for (int i = 0; i < n; i++) {
		if (i % 2 == 0)
			flag = (unsigned)i + 3;
		for (unsigned &s : want)
			for (int k = 0; k < WORK; k++)
				if (use[(size_t)(i % 2 * WORK + k)])
					s = (s ^ (unsigned)k) + flag;
	}
}

int main(int argc, char **argv)
{
	int n = racefree_loops(argc, argv, 64);
	const int blocks = racefree_part(argc, argv, BLOCKS);
	std::vector<unsigned> use(2 * WORK), want(THREADS), all(THREADS * blocks), got;
	bool is_right = true;

	for (int k = 0; k < WORK; k += 5)
		use[(size_t)(WORK + k)] = 1;
	for (int t = 0; t < THREADS; t++)
		want[(size_t)t] = (unsigned)t;
	expected(want, use, n);
	unsigned *d_use = example_upload(use);
	unsigned *d_out = example_upload(all);
	RUN(hoist<<<blocks, THREADS>>>(d_use, d_out, n));
	got = example_download(d_out, all.size());
	for (size_t i = 0; i < got.size(); i++)
		is_right = is_right && got[i] == want[i % THREADS];
	uint64_t sum = example_checksum(got);
	for (int i = 0; i < n; i++)
		RUN(hoist_global<<<blocks, THREADS>>>(d_use, d_out, WORK, i % blocks));
	got = example_download(d_out, all.size());
	for (size_t i = 0; i < got.size(); i++)
		is_right = is_right && got[i] == i % THREADS;
	CHECK(cudaFree(d_use));
	CHECK(cudaFree(d_out));
	return example_finish(is_right, sum);
}
