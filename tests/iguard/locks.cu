// locks.cu - locks of all kinds (cases.h).
#include "cases.h"

// ---- locks

#define LOCKED(take, behind, what, before, give)                                                      \
	if (leads()) {                                                                                \
		while (take)                                                                          \
			;                                                                             \
		behind;                                                                               \
		what;                                                                                 \
		before;                                                                               \
		give;                                                                                 \
	}

__global__ void lock_quiet()
{
	LOCKED(atomicCAS(&c.lock[0], 0, 1), FENCE, c.word[0] += 1, FENCE, atomicExch(&c.lock[0], 0))
}
// says: atomic-scope
__global__ void lock_block_scope_race()
{
	LOCKED(atomicCAS_block(&c.lock[0], 0, 1), FENCE, c.word[0] += 1, FENCE,
	       atomicExch_block(&c.lock[0], 0))
}
// says: release-missing
__global__ void unlock_without_fence_race()
{
	LOCKED(atomicCAS(&c.lock[0], 0, 1), FENCE, c.word[0] += 1, , atomicExch(&c.lock[0], 0))
}
// says: acquire-missing
__global__ void lock_without_fence_race()
{
	LOCKED(atomicCAS(&c.lock[0], 0, 1), , c.word[0] += 1, FENCE, atomicExch(&c.lock[0], 0))
}
// says: fence-scope
__global__ void lock_block_fences_race()
{
	LOCKED(atomicCAS(&c.lock[0], 0, 1), __threadfence_block(), c.word[0] += 1,
	       __threadfence_block(), atomicExch(&c.lock[0], 0))
}
__global__ void exchange_lock_quiet()
{
	LOCKED(atomicExch(&c.lock[0], 1), FENCE, c.word[0] += 1, FENCE, atomicExch(&c.lock[0], 0))
}
// As nvcc makes cuda::atomic_ref's compare_exchange_strong and store.
__device__ __forceinline__ unsigned int swap_acquire(unsigned int *at, unsigned int old,
						     unsigned int next)
{
	unsigned int was;
	asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(was)
		     : "l"(at), "r"(old), "r"(next)
		     : "memory");
	return was;
}
__device__ __forceinline__ unsigned int swap_relaxed(unsigned int *at, unsigned int old,
						     unsigned int next)
{
	unsigned int was;
	asm volatile("atom.relaxed.gpu.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(was)
		     : "l"(at), "r"(old), "r"(next)
		     : "memory");
	return was;
}
#define STORE(op, at, v) asm volatile(op ".u32 [%0], %1;" ::"l"(at), "r"(v) : "memory")
__global__ void atomic_ref_lock_clean()
{
	LOCKED(swap_acquire(&c.lock[0], 0, 1), , c.word[0] += 1, ,
	       STORE("st.release.gpu", &c.lock[0], 0))
}
// says: acquire-missing release-missing
__global__ void atomic_ref_lock_relaxed_race()
{
	LOCKED(swap_relaxed(&c.lock[0], 0, 1), , c.word[0] += 1, ,
	       STORE("st.release.gpu", &c.lock[0], 0))
}
// says: release-missing
__global__ void atomic_ref_unlock_relaxed_race()
{
	LOCKED(swap_acquire(&c.lock[0], 0, 1), , c.word[0] += 1, ,
	       STORE("st.relaxed.gpu", &c.lock[0], 0))
}
// cuda::counting_semaphore: acquire() takes one off a count that isn't 0, release() adds one.
__device__ __forceinline__ void semaphore_acquire(unsigned int *at)
{
	unsigned int old;
	do
		asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(old) : "l"(at) : "memory");
	while (old == 0 || swap_acquire(at, old, old - 1) != old);
}
#define SEMAPHORE(op)                                                                              \
	if (leads()) {                                                                             \
		if (blockIdx.x == 0)                                                               \
			asm volatile("red.release.gpu.add.u32 [%0], 1;" ::"l"(&c.lock[0])          \
				     : "memory");                                                  \
		semaphore_acquire(&c.lock[0]);                                                     \
		c.word[0] += 1;                                                                    \
		asm volatile(op ".gpu.add.u32 [%0], 1;" ::"l"(&c.lock[0]) : "memory");             \
	}
__global__ void semaphore_clean() { SEMAPHORE("red.release") }
// says: release-missing
__global__ void semaphore_relaxed_race() { SEMAPHORE("red.relaxed") }
// cuda::binary_semaphore: acquire() exchanges the one that is there for 0, release() stores it.
#define BINARY(op)                                                                                 \
	if (leads()) {                                                                             \
		unsigned int was;                                                                  \
		if (blockIdx.x == 0)                                                               \
			STORE("st.release.gpu", &c.lock[0], 1);                                    \
		do                                                                                 \
			asm volatile("atom.acquire.gpu.exch.b32 %0, [%1], 0;"                      \
				     : "=r"(was)                                                   \
				     : "l"(&c.lock[0])                                             \
				     : "memory");                                                  \
		while (was == 0);                                                                  \
		c.word[0] += 1;                                                                    \
		STORE(op, &c.lock[0], 1);                                                          \
	}
__global__ void binary_semaphore_clean() { BINARY("st.release.gpu") }
// says: release-missing
__global__ void binary_semaphore_relaxed_race() { BINARY("st.relaxed.gpu") }
// says: different-locks
__global__ void different_locks_race()
{
	LOCKED(atomicCAS(&c.lock[blockIdx.x], 0, 1), FENCE, c.word[0] += 1, FENCE,
	       atomicExch(&c.lock[blockIdx.x], 0))
}
__global__ void one_side_locks_race()
{
	if (blockIdx.x == 0) {
		LOCKED(atomicCAS(&c.lock[0], 0, 1), FENCE, c.word[0] += 1, FENCE,
		       atomicExch(&c.lock[0], 0))
	} else if (leads()) {
		c.word[0] += 1;
	}
}
__global__ void try_lock_ignored_race() // a failed attempt counts as one that took the lock
{
	if (leads() && blockIdx.x == 0) {
		sink[0] = atomicCAS(&c.lock[0], 0, 1);
		__threadfence();
		c.word[0] += 1;
	} else if (leads()) {
		sink[1] = atomicCAS(&c.lock[0], 0, 1);
		__threadfence();
		c.word[0] += 1;
	}
}
__global__ void try_lock_quiet()
{
	if (leads() && atomicCAS(&c.lock[0], 0, 1) == 0) {
		__threadfence();
		c.word[0] += 1;
		__threadfence();
		atomicExch(&c.lock[0], 0);
	}
}
__global__ void nested_locks_quiet() // in one order, given back out of order
{
	if (!leads())
		return;
	while (atomicCAS(&c.lock[0], 0, 1))
		;
	while (atomicCAS(&c.lock[1], 0, 1))
		;
	__threadfence();
	c.word[0] += 1;
	__threadfence();
	atomicExch(&c.lock[0], 0);
	c.word[1] += 1;
	__threadfence();
	atomicExch(&c.lock[1], 0);
}
// says: different-locks inter-block
__global__ void nested_locks_apart_race() // each pair of locks is another
{
	if (!leads())
		return;
	while (atomicCAS(&c.lock[2 * blockIdx.x], 0, 1))
		;
	while (atomicCAS(&c.lock[2 * blockIdx.x + 1], 0, 1))
		;
	__threadfence();
	c.word[0] += 1;
	__threadfence();
	atomicExch(&c.lock[2 * blockIdx.x + 1], 0);
	atomicExch(&c.lock[2 * blockIdx.x], 0);
}
__global__ void lane_locks_for_warp_race() // the other lanes don't wait for the one that has the lock
{
	if (threadIdx.x >= 32)
		return;
	if (leads()) {
		while (atomicCAS(&c.lock[0], 0, 1))
			;
		__threadfence();
	}
	c.word[threadIdx.x] += 1;
	if (leads()) {
		__threadfence();
		atomicExch(&c.lock[0], 0);
	}
}
__global__ void lane_locks_for_warp_quiet()
{
	if (threadIdx.x >= 32)
		return;
	if (leads()) {
		while (atomicCAS(&c.lock[0], 0, 1))
			;
		__threadfence();
	}
	__syncwarp();
	c.word[threadIdx.x] += 1;
	__syncwarp();
	if (leads()) {
		__threadfence();
		atomicExch(&c.lock[0], 0);
	}
}
// says: its different-locks
__global__ void thread_locks_race() // Figure 9: each lane its own lock, one datum for the warp
{
	unsigned int mine = threadIdx.x % 4;

	if (threadIdx.x >= 4)
		return;
	while (atomicCAS(&c.lock[mine], 0, 1) != 0)
		;
	__threadfence();
	c.word[0] += mine;
	__threadfence();
	atomicExch(&c.lock[mine], 0);
}
__global__ void thread_locks_quiet()
{
	unsigned int mine = threadIdx.x % 4;
	bool is_done = false;

	if (threadIdx.x >= 4)
		return;
	while (!is_done)
		if (atomicCAS(&c.lock[mine], 0, 1) == 0) {
			__threadfence();
			c.word[mine] += mine;
			__threadfence();
			atomicExch(&c.lock[mine], 0);
			is_done = true;
		}
}

// Of two locks, each thread begins with another one, and goes back where the second is taken.
__device__ __forceinline__ void take_both(unsigned int first, unsigned int second)
{
	for (;;) {
		while (atomicCAS(&c.lock[first], 0, 1))
			;
		if (atomicCAS(&c.lock[second], 0, 1) == 0)
			break;
		atomicExch(&c.lock[first], 0);
	}
	__threadfence();
}
#define TWO_ORDERS(inside, outside)                                                                \
	if (leads()) {                                                                             \
		take_both(blockIdx.x, 1 - blockIdx.x);                                             \
		inside;                                                                            \
		__threadfence();                                                                   \
		atomicExch(&c.lock[0], 0);                                                         \
		atomicExch(&c.lock[1], 0);                                                         \
		outside;                                                                           \
	}
__global__ void nested_locks_two_orders_clean() { TWO_ORDERS(c.word[0] += 1, ) }
__global__ void nested_locks_two_orders_race() { TWO_ORDERS(, c.word[0] += 1) } // given back too early

// A semaphore that lets two in is no lock.
__global__ void semaphore_of_two_race()
{
	if (!leads())
		return;
	if (blockIdx.x == 0)
		asm volatile("red.release.gpu.add.u32 [%0], 2;" ::"l"(&c.lock[0]) : "memory");
	semaphore_acquire(&c.lock[0]);
	c.word[0] += 1;
}

// ---- tickets and queues

#define TICKET(n, behind, before)                                                                        \
	if (leads()) {                                                                                \
		unsigned int mine = atomicAdd(&c.count[n], 1);                                        \
		while (seen(&c.flag[n]) != mine)                                                      \
			;                                                                             \
		behind;                                                                               \
		c.word[0] += 1;                                                                       \
		before;                                                                               \
		atomicAdd(&c.flag[n], 1);                                                             \
	}

__global__ void ticket_clean() { TICKET(0, FENCE, FENCE) }
__global__ void ticket_no_release_race() { TICKET(0, FENCE, ) }
__global__ void ticket_no_acquire_race() { TICKET(0, , FENCE) }
// says: different-locks
__global__ void ticket_apart_race() { TICKET(blockIdx.x, FENCE, FENCE) }
// says: different-locks
__global__ void ticket_beside_lock_race() // one side has a ticket, the other the lock
{
	if (blockIdx.x == 0) {
		TICKET(0, FENCE, FENCE)
	} else {
		LOCKED(atomicCAS(&c.lock[0], 0, 1), FENCE, c.word[0] += 1, FENCE,
		       atomicExch(&c.lock[0], 0))
	}
}
__global__ void ticket_one_side_race()
{
	if (blockIdx.x == 0) {
		TICKET(0, FENCE, FENCE)
	} else if (leads()) {
		c.word[0] += 1;
	}
}

// As nvcc makes it of cuda::atomic_ref: fetch_add, load, store.
#define TICKET_REF(load, store)                                                                    \
	if (leads()) {                                                                             \
		unsigned int mine, now;                                                            \
		asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], 1;"                               \
			     : "=r"(mine)                                                          \
			     : "l"(&c.count[0])                                                    \
			     : "memory");                                                          \
		do                                                                                 \
			asm volatile(load ".gpu.u32 %0, [%1];"                                     \
				     : "=r"(now)                                                   \
				     : "l"(&c.flag[0])                                             \
				     : "memory");                                                  \
		while (now != mine);                                                               \
		c.word[0] += 1;                                                                    \
		STORE(store ".gpu", &c.flag[0], mine + 1);                                         \
	}
__global__ void ticket_ref_clean() { TICKET_REF("ld.acquire", "st.release") }
// says: release-missing
__global__ void ticket_ref_relaxed_store_race() { TICKET_REF("ld.acquire", "st.relaxed") }
// says: acquire-missing release-missing
__global__ void ticket_ref_relaxed_load_race() { TICKET_REF("ld.relaxed", "st.release") }

// A lane draws for its warp. A turn that is over by another's write isn't waited for again.
#define WARP_TICKET(before, behind)                                                                \
	unsigned int mine = 0;                                                                     \
	if (threadIdx.x >= 32)                                                                     \
		return;                                                                            \
	if (leads()) {                                                                             \
		mine = atomicAdd(&c.count[0], 1);                                                  \
		while (seen(&c.flag[0]) != mine)                                                   \
			;                                                                          \
		__threadfence();                                                                   \
	}                                                                                          \
	before;                                                                                    \
	c.word[threadIdx.x] += 1;                                                                  \
	behind;                                                                                    \
	if (leads()) {                                                                             \
		__threadfence();                                                                   \
		atomicExch(&c.flag[0], mine + 1);                                                  \
	}
__global__ void lane_ticket_for_warp_clean() { WARP_TICKET(__syncwarp(), __syncwarp()) }
__global__ void lane_ticket_for_warp_race() { WARP_TICKET(, ) } // the others don't wait for it

// The number that a sum had comes again as that of a barrier's arrivals: none of the three threads
// waits for a turn or holds a lock. Behind it one reads, then another one, then the third one writes.
#define COUNTED(release)                                                                           \
	if (leads() || me() == 32) {                                                               \
		while (atomicAdd(&c.count[1 + me() / 32], 1) != 3)                                 \
			;                                                                          \
		FENCE;                                                                             \
		atomicAdd(&c.count[0], 1);                                                         \
		while (seen(&c.count[0]) != 3)                                                     \
			;                                                                          \
		FENCE;                                                                             \
	}                                                                                          \
	if (me() == 32) {                                                                          \
		sink[1] = c.word[0];                                                               \
		release;                                                                           \
		atomicExch(&c.flag[0], 1);                                                         \
	} else if (me() == 0) {                                                                    \
		while (seen(&c.flag[0]) == 0)                                                      \
			;                                                                          \
		FENCE;                                                                             \
		sink[0] = c.word[0];                                                               \
		FENCE;                                                                             \
		atomicExch(&c.flag[1], 1);                                                         \
	} else if (me() == BLOCK) {                                                                \
		while (seen(&c.flag[1]) == 0)                                                      \
			;                                                                          \
		FENCE;                                                                             \
		c.word[0] = 1;                                                                     \
	}
__global__ void barrier_is_no_turn_possible() { COUNTED() } // the first one releases nothing
__global__ void barrier_is_no_turn_quiet() { COUNTED(FENCE) }

// Mellor-Crummey and Scott: each thread waits for a word of its own.
#define MCS(n, behind, before)                                                                     \
	if (leads()) {                                                                             \
		unsigned int node = blockIdx.x + 1, pred;                                          \
		volatile unsigned int *next = c.count, *waits = c.flag;                            \
		waits[node] = 1;                                                                   \
		next[node] = 0;                                                                    \
		__threadfence();                                                                   \
		pred = atomicExch(&c.lock[n], node);                                               \
		if (pred) {                                                                        \
			next[pred] = node;                                                         \
			while (waits[node])                                                        \
				;                                                                  \
		}                                                                                  \
		behind;                                                                            \
		c.word[0] += 1;                                                                    \
		before;                                                                            \
		if (next[node] == 0 && atomicCAS(&c.lock[n], node, 0) == node)                     \
			return;                                                                    \
		while (next[node] == 0)                                                            \
			;                                                                          \
		waits[next[node]] = 0;                                                             \
	}
__global__ void queue_lock_clean() { MCS(0, FENCE, FENCE) }
// says: release-missing
__global__ void queue_lock_no_release_race() { MCS(0, FENCE, ) }
// says: acquire-missing
__global__ void queue_lock_no_acquire_race() { MCS(0, , FENCE) }
// says: different-locks
__global__ void queue_locks_apart_race() { MCS(blockIdx.x, FENCE, FENCE) }

// Craig, Landin and Hagersten: each waits for the word of the one before.
#define CLH(behind, before)                                                                        \
	if (leads()) {                                                                             \
		volatile unsigned int *own = &c.flag[blockIdx.x], *pred;                           \
		*own = 1;                                                                          \
		__threadfence();                                                                   \
		pred = (volatile unsigned int *)atomicExch(&c.tail, (unsigned long long)own);      \
		while (pred && *pred)                                                              \
			;                                                                          \
		behind;                                                                            \
		c.word[0] += 1;                                                                    \
		before;                                                                            \
		*own = 0;                                                                          \
	}
__global__ void node_lock_clean() { CLH(FENCE, FENCE) }
__global__ void node_lock_no_release_race() { CLH(FENCE, ) }
__global__ void node_lock_no_acquire_race() { CLH(, FENCE) }

#define LAUNCHES "locks_launches.h"
#include "main.h"
