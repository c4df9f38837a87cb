// lock.cu - plain accesses in critical sections, under a spin lock with fences on both sides.
// expect: nothing
// small: 1

#include "racefree.h"

static const int THREADS = 64;
static const int BLOCKS = 64;
static const int LOCKS = 16;

struct account {
	unsigned lock, balance, turns, last;
};

__device__ void acquire(unsigned *lock)
{
	while (atomicCAS(lock, 0, 1) != 0)
		__nanosleep(100);
	__threadfence();
}

__device__ void release(unsigned *lock)
{
	__threadfence();
	atomicExch(lock, 0);
}

/* One thread of each warp takes part. */
__global__ void deposit(account *accounts, int loops)
{
	int warp = (blockIdx.x * THREADS + threadIdx.x) / 32;

	if (threadIdx.x % 32 != 0)
		return;
	for (int k = 0; k < loops; k++) {
		account *a = accounts + (warp + k) % LOCKS;

		acquire(&a->lock);
		a->balance = a->balance + warp + 1;
		a->turns++;
		a->last = warp;
		release(&a->lock);
	}
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 16) / LOCKS * LOCKS + LOCKS;
	const unsigned warps = THREADS * BLOCKS / 32;
	std::vector<account> accounts(LOCKS);
	bool is_right = true;
	uint64_t sum = 0;

	account *d_accounts = example_upload(accounts);
	RUN(deposit<<<BLOCKS, THREADS>>>(d_accounts, loops));
	accounts = example_download(d_accounts, LOCKS);
	/* Every warp visits every account the same number of times. */
	unsigned visits = (unsigned)loops / LOCKS;
	for (const account &a : accounts) {
		is_right = is_right && a.turns == warps * visits && a.last < warps &&
			   a.balance == visits * (warps * (warps + 1) / 2);
		sum = racefree_mix(sum, a.balance);
	}
	CHECK(cudaFree(d_accounts));
	return example_finish(is_right, sum);
}
