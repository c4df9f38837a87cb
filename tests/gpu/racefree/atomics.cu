// atomics.cu - counters, bins and slots that are only touched by atomics while others do so,
// and by plain loads after a barrier or after the kernel.
// expect: nothing
// small: 1 64

#include "racefree.h"

static const int THREADS = 256;
static const int BINS = 64;

__global__ void bins(const unsigned char *in, unsigned *total, unsigned *slots, unsigned *nslots,
		     int n)
{
	__shared__ unsigned mine[BINS];

	for (int b = threadIdx.x; b < BINS; b += THREADS)
		mine[b] = 0;
	__syncthreads();
	for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
		unsigned v = in[i];

		atomicAdd(&mine[v % BINS], 1);
		if (v % 16 == 0)
			slots[atomicAdd(nslots, 1)] = v; /* a slot of its own for everybody */
	}
	__syncthreads();
	for (int b = threadIdx.x; b < BINS; b += THREADS)
		if (mine[b] != 0)
			atomicAdd(&total[b], mine[b]);
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 8), blocks = racefree_part(argc, argv, 264);
	int n = THREADS * blocks * 64;
	std::vector<unsigned char> in((size_t)n);
	std::vector<unsigned> want(BINS), zero(BINS), one(1), got, slots((size_t)n);
	unsigned nslots = 0, slot_sum = 0, got_sum = 0;
	bool is_right = true;
	uint32_t seed = 1;

	for (unsigned char &v : in) {
		v = (unsigned char)example_random(&seed);
		want[v % BINS]++;
		nslots += v % 16 == 0;
		slot_sum += v % 16 == 0 ? v : 0;
	}
	unsigned char *d_in = example_upload(in);
	unsigned *d_total = example_upload(zero), *d_slots = example_upload(slots);
	unsigned *d_nslots = example_upload(one);
	for (int k = 0; k < loops; k++) {
		CHECK(cudaMemset(d_total, 0, BINS * sizeof(unsigned)));
		CHECK(cudaMemset(d_nslots, 0, sizeof(unsigned)));
		RUN(bins<<<blocks, THREADS>>>(d_in, d_total, d_slots, d_nslots, n));
		got = example_download(d_total, BINS);
		is_right = is_right && got == want && example_download(d_nslots, 1)[0] == nslots;
	}
	for (unsigned v : example_download(d_slots, nslots))
		got_sum += v;
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_total));
	CHECK(cudaFree(d_slots));
	CHECK(cudaFree(d_nslots));
	return example_finish(is_right && got_sum == slot_sum, example_checksum(got));
}
