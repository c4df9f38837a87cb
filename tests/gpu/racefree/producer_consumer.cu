// producer_consumer.cu - a ring of plain words between two blocks, handed over by an atomic with
// release and acquire, in both directions.
// expect: nothing
// flags: -std=c++17
// small: 4

#include "racefree.h"
#include <cuda/atomic>

static const int THREADS = 128;
static const int PAIRS = 32;
static const int SLOTS = 2;

struct ring {
	unsigned filled, freed;
	unsigned words[SLOTS][THREADS];
};

typedef cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter;

__global__ void pairs(ring *rings, unsigned *out, int rounds)
{
	ring *r = rings + blockIdx.x / 2;
	counter filled(r->filled), freed(r->freed);
	unsigned sum = 0, t = threadIdx.x;

	for (unsigned i = 0; i < (unsigned)rounds; i++) {
		unsigned *w = r->words[i % SLOTS];

		if (blockIdx.x % 2 == 0) {
			if (t == 0)
				while (freed.load(cuda::memory_order_acquire) + SLOTS <= i)
					;
			__syncthreads();
			w[t] = i * 7 + t;
			__syncthreads();
			if (t == 0)
				filled.store(i + 1, cuda::memory_order_release);
		} else {
			if (t == 0)
				while (filled.load(cuda::memory_order_acquire) <= i)
					;
			__syncthreads();
			sum = sum * 3 + w[THREADS - 1 - t];
			__syncthreads();
			if (t == 0)
				freed.store(i + 1, cuda::memory_order_release);
		}
	}
	if (blockIdx.x % 2 != 0)
		out[blockIdx.x / 2 * THREADS + t] = sum;
}

int main(int argc, char **argv)
{
	int rounds = racefree_loops(argc, argv, 500);
	std::vector<ring> rings(PAIRS);
	std::vector<unsigned> want(PAIRS * THREADS), got;

	ring *d_rings = example_upload(rings);
	unsigned *d_out = example_upload(want);
	RUN(pairs<<<2 * PAIRS, THREADS>>>(d_rings, d_out, rounds));
	got = example_download(d_out, want.size());
	for (size_t i = 0; i < want.size(); i++)
		for (unsigned k = 0; k < (unsigned)rounds; k++)
			want[i] = want[i] * 3 + k * 7 + (unsigned)(THREADS - 1 - i % THREADS);
	CHECK(cudaFree(d_rings));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
