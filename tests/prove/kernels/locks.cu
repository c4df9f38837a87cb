// locks.cu - order by locks: one lock, a lock for each place; each with what takes the order away.
#define LOCKED(take, acquire, what, release, give)                                                             \
	if (threadIdx.x == 0) {                                                                                \
		while (take)                                                                                   \
			;                                                                                      \
		acquire;                                                                                       \
		what;                                                                                          \
		release;                                                                                       \
		give;                                                                                          \
	}
#define FENCE __threadfence()

// prove: lock_cas race-free --block-dim=64 --grid-dim=8
__global__ void lock_cas(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, FENCE, atomicExch(lock, 0))
}
// prove: lock_exchange race-free --block-dim=64 --grid-dim=8
__global__ void lock_exchange(unsigned *lock, float *sum)
{
	LOCKED(atomicExch(lock, 1), FENCE, *sum += 1, FENCE, *(volatile unsigned *)lock = 0)
}
// prove: lock_no_release potential --block-dim=64 --grid-dim=8
__global__ void lock_no_release(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, , atomicExch(lock, 0))
}
// prove: lock_no_acquire potential --block-dim=64 --grid-dim=8
__global__ void lock_no_acquire(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 1), , *sum += 1, FENCE, atomicExch(lock, 0))
}
// prove: lock_near true --block-dim=64 --grid-dim=8
__global__ void lock_near(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS_block(lock, 0, 1), FENCE, *sum += 1, FENCE, atomicExch_block(lock, 0))
}
// prove: lock_near_fence potential --block-dim=64 --grid-dim=8
__global__ void lock_near_fence(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 1), __threadfence_block(), *sum += 1, FENCE, atomicExch(lock, 0))
}
// prove: lock_from_one potential --block-dim=64 --grid-dim=8
__global__ void lock_from_one(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 1, 1) > 1, FENCE, *sum += 1, FENCE, atomicExch(lock, 0))
}
// prove: lock_puts_zero potential --block-dim=64 --grid-dim=8
__global__ void lock_puts_zero(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 0), FENCE, *sum += 1, FENCE, atomicExch(lock, 0))
}
// prove: lock_by_block potential --block-dim=64 --grid-dim=8
__global__ void lock_by_block(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock + blockIdx.x, 0, 1), FENCE, *sum += 1, FENCE, atomicExch(lock + blockIdx.x, 0))
}
// prove: lock_weak_give potential --block-dim=64 --grid-dim=8
__global__ void lock_weak_give(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, FENCE, *lock = 0)
}
// prove: lock_late_access potential --block-dim=64 --grid-dim=8
__global__ void lock_late_access(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, FENCE, (atomicExch(lock, 0), *sum += 1))
}
// prove: lock_given_by_all potential --block-dim=64 --grid-dim=8
__global__ void lock_given_by_all(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, FENCE, atomicExch(lock, 0))
	if (threadIdx.x == 1)
		atomicExch(lock, 0);
}
// prove: lock_given_twice potential --block-dim=64 --grid-dim=8
__global__ void lock_given_twice(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, FENCE, (atomicExch(lock, 0), FENCE, atomicExch(lock, 0)))
}
// prove: lock_given_in_loop potential --block-dim=64 --grid-dim=8
__global__ void lock_given_in_loop(unsigned *lock, float *sum, int n)
{
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, FENCE,
	       for (int i = 0; i < n; i++) atomicExch(lock, 0))
}
// prove: lock_ignored potential --block-dim=64 --grid-dim=8
__global__ void lock_ignored(unsigned *lock, float *sum)
{
	LOCKED((atomicCAS(lock, 0, 1), false), FENCE, *sum += 1, FENCE, atomicExch(lock, 0))
}

// prove: lock_tried race-free --block-dim=64 --grid-dim=8
__global__ void lock_tried(unsigned *lock, float *sum)
{
	if (atomicCAS(lock, 0, 1) == 0) {
		FENCE;
		*sum += 1;
		FENCE;
		atomicExch(lock, 0);
	}
}
// prove: lock_tried_wrong potential --block-dim=64 --grid-dim=8
__global__ void lock_tried_wrong(unsigned *lock, float *sum)
{
	if (atomicCAS(lock, 0, 1) == 1) {
		FENCE;
		*sum += 1;
		FENCE;
		atomicExch(lock, 0);
	}
}

// Each thread, as lanes of a warp can: the lock is given in the turn that took it.
#define EACH(at, what, give)                                                                                   \
	for (bool done = false; !done;) {                                                                      \
		if (atomicCAS(at, 0, 1) == 0) {                                                                \
			FENCE;                                                                                 \
			what;                                                                                  \
			FENCE;                                                                                 \
			atomicExch(give, 0);                                                                   \
			done = true;                                                                           \
		}                                                                                              \
	}

// prove: lock_each race-free
__global__ void lock_each(unsigned *lock, float *sum)
{
	EACH(lock, *sum += 1, lock)
}
// prove: lock_bin race-free --block-dim=64 --grid-dim=4
__global__ void lock_bin(unsigned *lock, float *sum)
{
	unsigned i = (blockIdx.x * 64 + threadIdx.x) % 10;
	EACH(lock + i, sum[i] += 1, lock + i)
}
// prove: lock_key race-free --block-dim=64 --grid-dim=4
__global__ void lock_key(unsigned *lock, float *sum, const unsigned char *key)
{
	unsigned i = key[blockIdx.x * 64 + threadIdx.x];
	EACH(lock + i, sum[i] += 1, lock + i)
}
// prove: lock_bin_other potential --block-dim=64 --grid-dim=4
__global__ void lock_bin_other(unsigned *lock, float *sum)
{
	unsigned i = (blockIdx.x * 64 + threadIdx.x) % 10;
	EACH(lock + i, sum[i / 2] += 1, lock + i)
}
// prove: lock_bin_gives_other potential --block-dim=64 --grid-dim=4
__global__ void lock_bin_gives_other(unsigned *lock, float *sum)
{
	unsigned i = (blockIdx.x * 64 + threadIdx.x) % 10;
	EACH(lock + i, sum[i] += 1, lock + (i + 1) % 10)
}

// prove: lock_twice race-free --block-dim=64 --grid-dim=8
__global__ void lock_twice(unsigned *lock, float *sum, float *most)
{
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, FENCE, atomicExch(lock, 0))
	LOCKED(atomicCAS(lock, 0, 1), FENCE, *most = *sum, FENCE, atomicExch(lock, 0))
}
// prove: lock_one_side potential --block-dim=64 --grid-dim=8
__global__ void lock_one_side(unsigned *lock, float *sum)
{
	if (blockIdx.x == 3 && threadIdx.x == 0)
		*sum = 1;
	else
		LOCKED(atomicCAS(lock, 0, 1), FENCE, *sum += 1, FENCE, atomicExch(lock, 0))
}

// prove: lock_taken_twice potential --block-dim=64 --grid-dim=8
__global__ void lock_taken_twice(unsigned *lock, float *sum)
{
	if (threadIdx.x || atomicCAS(lock, 0, 1))
		return;
	FENCE;
	atomicExch(lock, 0);
	if (atomicCAS(lock + 1, 0, 1))
		return;
	FENCE;
	*sum += 1;
	FENCE;
	atomicExch(lock + 1 + blockIdx.x / 8, 0);
	if (blockIdx.x == 2)
		*sum = 5;
}
// prove: lock_second_ignored potential --block-dim=64 --grid-dim=8
__global__ void lock_second_ignored(unsigned *lock, float *sum)
{
	if (threadIdx.x || atomicCAS(lock, 0, 1))
		return;
	FENCE;
	*sum += 1;
	atomicCAS(lock, 0, 1);
	atomicExch(lock, 0);
}
// prove: lock_some_release potential --block-dim=64 --grid-dim=8
__global__ void lock_some_release(unsigned *lock, float *sum)
{
	if (threadIdx.x || atomicCAS(lock, 0, 1))
		return;
	FENCE;
	*sum += 1;
	if (blockIdx.x == 1) {
		atomicExch(lock, 0);
		return;
	}
	FENCE;
	atomicExch(lock, 0);
}
// prove: lock_union true --block-dim=64 --grid-dim=8
union word {
	unsigned n;
	unsigned char byte[4];
};
__global__ void lock_union(union word *lock, float *sum)
{
	LOCKED(atomicCAS(&lock->n, 0, 1), FENCE, *sum += 1, FENCE, atomicExch(&lock->n, 0))
	if (threadIdx.x == 7 && blockIdx.x == 1)
		lock->byte[0] = 0;
}
// prove: lock_in_data potential --block-dim=64 --grid-dim=8
__global__ void lock_in_data(float *sum)
{
	unsigned *lock = (unsigned *)sum + 4;
	LOCKED(atomicCAS(lock, 0, 1), FENCE, sum[blockIdx.x] = 0, FENCE, atomicExch(lock, 0))
}
// prove: lock_wide potential --block-dim=64 --grid-dim=8
__global__ void lock_wide(unsigned *lock, float *sum)
{
	LOCKED(atomicCAS((unsigned long long *)lock, 0ull, 1ull << 32), FENCE, *sum += 1, FENCE, atomicExch(lock, 0))
}
// prove: lock_kept_over_turns potential --block-dim=64 --grid-dim=8
__global__ void lock_kept_over_turns(unsigned *lock, float *sum)
{
	if (threadIdx.x)
		return;
	for (int i = 0; i < 3; i++) {
		unsigned was = i == 1 ? 0 : atomicCAS(lock, 0, 1);
		if (was == 0) {
			FENCE;
			*sum += 1;
			FENCE;
			atomicExch(lock, 0);
		}
	}
}
// prove: lock_stale_answer potential --block-dim=64 --grid-dim=8
__global__ void lock_stale_answer(unsigned *lock, float *sum)
{
	if (threadIdx.x)
		return;
	unsigned was = 1;
	for (int i = 0; i < 3; i++) {
		if (i == 0)
			was = atomicCAS(lock, 0, 1);
		FENCE;
		if (was == 0) {
			*sum += 1;
			FENCE;
			atomicExch(lock, 0);
		}
	}
}

// prove: lock_tried_first race-free --block-dim=64 --grid-dim=8
__global__ void lock_tried_first(unsigned *lock, float *sum)
{
	if (threadIdx.x == 0 && atomicCAS(lock, 0, 1) == 0) {
		FENCE;
		*sum += 1;
		FENCE;
		atomicExch(lock, 0);
	}
}
// prove: lock_tried_or potential --block-dim=64 --grid-dim=8
__global__ void lock_tried_or(unsigned *lock, float *sum)
{
	if (threadIdx.x == 0 || atomicCAS(lock, 0, 1) == 0) {
		FENCE;
		if (threadIdx.x < 2)
			*sum += 1;
		FENCE;
		if (threadIdx.x)
			atomicExch(lock, 0);
	}
}
// prove: lock_two_nested race-free --block-dim=64 --grid-dim=8
__global__ void lock_two_nested(unsigned *lock, float *sum)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(&lock[0], 0, 1))
		;
	while (atomicCAS(&lock[1], 0, 1))
		;
	FENCE;
	sum[0] += 1;
	FENCE;
	atomicExch(&lock[0], 0);
	sum[1] += 1;
	FENCE;
	atomicExch(&lock[1], 0);
}
// prove: lock_two_nested_wrong potential --block-dim=64 --grid-dim=8
__global__ void lock_two_nested_wrong(unsigned *lock, float *sum)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(&lock[0], 0, 1))
		;
	while (atomicCAS(&lock[blockIdx.x % 2 + 1], 0, 1))
		;
	FENCE;
	sum[0] += 1;
	FENCE;
	atomicExch(&lock[0], 0);
	sum[1] += 1;
	FENCE;
	atomicExch(&lock[blockIdx.x % 2 + 1], 0);
}

// The block's first thread has the lock, all of the block do the work.
#define OF_BLOCK(before, after, what)                                                                          \
	if (threadIdx.x == 0) {                                                                                \
		while (atomicCAS(lock, 0, 1))                                                                  \
			;                                                                                      \
		FENCE;                                                                                         \
	}                                                                                                      \
	before;                                                                                                \
	what;                                                                                                  \
	after;                                                                                                 \
	if (threadIdx.x == 0) {                                                                                \
		FENCE;                                                                                         \
		atomicExch(lock, 0);                                                                           \
	}

// prove: lock_of_block race-free --block-dim=64 --grid-dim=8
__global__ void lock_of_block(unsigned *lock, float *sum)
{
	OF_BLOCK(__syncthreads(), __syncthreads(), sum[threadIdx.x] += 1)
}
// prove: lock_of_block_early true --block-dim=64 --grid-dim=8
__global__ void lock_of_block_early(unsigned *lock, float *sum)
{
	OF_BLOCK(, __syncthreads(), sum[threadIdx.x] += 1)
}
// prove: lock_of_block_late potential --block-dim=64 --grid-dim=8
__global__ void lock_of_block_late(unsigned *lock, float *sum)
{
	OF_BLOCK(__syncthreads(), , sum[threadIdx.x] += 1)
}
// prove: lock_of_block_shared potential --block-dim=64 --grid-dim=8
__global__ void lock_of_block_shared(unsigned *lock, float *sum)
{
	OF_BLOCK(__syncthreads(), __syncthreads(), sum[threadIdx.x / 2] += 1)
}
// prove: lock_of_block_turns potential --block-dim=64 --grid-dim=8
__global__ void lock_of_block_turns(unsigned *lock, float *sum, int n)
{
	for (int i = 0; i < n; i++) {
		OF_BLOCK(__syncthreads(), , sum[threadIdx.x] += 1)
	}
}
