// recursion.cu - recursive calls with arrays on the stack, compiled for the debugger.
//
// Without optimisation every local variable lives in memory, at the same address in all threads.
// flags: -G
// expect: nothing
// small: 1

#include "racefree.h"

static const int THREADS = 128;
static const int BLOCKS = 132;
static const int LENGTH = 16;

__device__ void quicksort(unsigned *a, int n)
{
	unsigned pivot[1] = {a[n / 2]};
	int i = 0, j = n - 1;

	while (i <= j) {
		while (a[i] < pivot[0])
			i++;
		while (a[j] > pivot[0])
			j--;
		if (i <= j) {
			unsigned swap = a[i];

			a[i++] = a[j];
			a[j--] = swap;
		}
	}
	if (j > 0)
		quicksort(a, j + 1);
	if (i < n - 1)
		quicksort(a + i, n - i);
}

__global__ void sort_each(const unsigned *in, unsigned *out)
{
	unsigned a[LENGTH];
	int at = (blockIdx.x * THREADS + threadIdx.x) * LENGTH;

	for (int i = 0; i < LENGTH; i++)
		a[i] = in[at + i];
	quicksort(a, LENGTH);
	for (int i = 0; i < LENGTH; i++)
		out[at + i] = a[i];
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 2);
	std::vector<unsigned> in(THREADS * BLOCKS * LENGTH), got;
	uint32_t seed = 1;
	bool is_right = true;

	for (unsigned &x : in)
		x = example_random(&seed);
	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
	unsigned *d_in = example_upload(in), *d_out = example_upload(in);
	for (int k = 0; k < loops; k++)
		RUN(sort_each<<<BLOCKS, THREADS>>>(d_in, d_out));
	got = example_download(d_out, in.size());
	for (size_t i = 0; i < got.size(); i++)
		is_right = is_right && (i % LENGTH == 0 || got[i - 1] <= got[i]);
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(is_right, example_checksum(got));
}
