// cases.cu - small kernels with and without races for detector iguard; cases.py runs and judges
// them.
//
// The end of a kernel's name is what must be reported of it, in every run:
//	_race		a data race; the line "says:" above it names the kinds of which it must be
//	_possible	a possible race, and no data race
//	_quiet		no data race; what a lock or flag orders may be possible
//	_clean		nothing
// The oracle must find a race in each _race and each _possible, and none in the others. A _race has
// a twin that doesn't race; some share one. LAUNCH lists the kernels with their launches:
// two blocks of two warps. Values are read into `sink`, so that no load is dead.
#include <cuda_runtime.h>
#include <stdio.h>

#define BLOCK 64

struct cells {
	unsigned int word[256];
	__align__(16) unsigned int flag[8];
	unsigned int count[8], lock[64];
	unsigned char byte[256];
};
__device__ struct cells c;
__device__ unsigned int sink[4096];

__device__ __forceinline__ unsigned int me() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ bool leads() { return threadIdx.x == 0; }
__device__ __forceinline__ unsigned int seen(unsigned int *p) { return *(volatile unsigned int *)p; }

// ---- scopes of atomics (R1)
// ----------------------------------------------------------------------

// says: atomic-scope
__global__ void atomic_both_block_race() { atomicAdd_block(&c.word[0], 1); }
__global__ void atomic_both_device_clean() { atomicAdd(&c.word[0], 1); }
// says: atomic-scope
__global__ void atomic_one_block_race()
{
	if (blockIdx.x)
		atomicAdd(&c.word[0], 1);
	else
		atomicAdd_block(&c.word[0], 1);
}
__global__ void atomic_block_own_clean() { atomicAdd_block(&c.word[blockIdx.x], 1); }
// says: atomic-scope
__global__ void exchange_block_race() { sink[me()] = atomicExch_block(&c.word[0], me()); }
__global__ void exchange_device_quiet() { sink[me()] = atomicExch(&c.word[0], me()); }
// says: atomic-scope
__global__ void maximum_block_race() { atomicMax_block(&c.word[blockIdx.x ? 3 : 3], me()); }
__global__ void maximum_device_clean() { atomicMax(&c.word[3], me()); }
// says: atomic-scope
__global__ void work_stealing_race() // Figure 1: the thief's atomic reaches the device, the owner's doesn't
{
	if (!leads())
		return;
	if (atomicAdd_block(&c.count[blockIdx.x], 64) >= 64)
		return;
	sink[me()] = atomicAdd(&c.count[1 - blockIdx.x], 64);
}
__global__ void work_stealing_quiet()
{
	if (!leads())
		return;
	if (atomicAdd(&c.count[blockIdx.x], 64) >= 64)
		return;
	sink[me()] = atomicAdd(&c.count[1 - blockIdx.x], 64);
}
// says: pair-scope
__global__ void strong_pair_race()
{
	unsigned int v;

	if (blockIdx.x == 0) {
		asm volatile("st.relaxed.cta.global.u32 [%0], %1;" ::"l"(&c.word[threadIdx.x]), "r"(1));
	} else {
		asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(&c.word[threadIdx.x]));
		sink[me()] = v;
	}
}
__global__ void strong_pair_quiet()
{
	unsigned int v;

	if (blockIdx.x == 0) {
		asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(&c.word[threadIdx.x]), "r"(1));
	} else {
		asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(&c.word[threadIdx.x]));
		sink[me()] = v;
	}
}

// ---- flags: fences, their scope, their two halves
// ---------------------------------------------------

#define SEND(before)                                                                                  \
	if (me() == 0) {                                                                              \
		c.word[0] = 1;                                                                        \
		before;                                                                               \
		atomicExch(&c.flag[0], 1);                                                            \
	}
#define TAKE(behind)                                                                                  \
	if (me() == BLOCK) {                                                                          \
		while (atomicAdd(&c.flag[0], 0) == 0)                                                 \
			;                                                                             \
		behind;                                                                               \
		sink[0] = c.word[0];                                                                  \
	}

__global__ void message_quiet() { SEND(__threadfence()) TAKE(__threadfence()) }
// says: fence-scope
__global__ void message_block_fence_race() { SEND(__threadfence_block()) TAKE(__threadfence()) }
// says: fence-scope
__global__ void message_block_fence_reader_race() { SEND(__threadfence()) TAKE(__threadfence_block()) }
// says: fence-scope
__global__ void message_block_fences_race() { SEND(__threadfence_block()) TAKE(__threadfence_block()) }
// says: release-missing
__global__ void message_no_release_race() { SEND() TAKE(__threadfence()) }
// says: acquire-missing
__global__ void message_no_acquire_race() { SEND(__threadfence()) TAKE() }
// says: release-missing
__global__ void message_no_fence_race() { SEND() TAKE() }

#define HAND_OVER(before, behind)                                                                     \
	if (threadIdx.x == 0) {                                                                       \
		c.word[blockIdx.x] = 1;                                                               \
		before;                                                                               \
		atomicExch(&c.flag[blockIdx.x], 1);                                                   \
	} else if (threadIdx.x == 32) {                                                               \
		while (atomicAdd(&c.flag[blockIdx.x], 0) == 0)                                        \
			;                                                                             \
		behind;                                                                               \
		sink[blockIdx.x] = c.word[blockIdx.x];                                                \
	}

__global__ void within_block_quiet() { HAND_OVER(__threadfence_block(), __threadfence_block()) }
// says: release-missing
__global__ void within_block_no_release_race() { HAND_OVER(, __threadfence_block()) }
// says: acquire-missing
__global__ void within_block_no_acquire_race() { HAND_OVER(__threadfence_block(), ) }

#define ASM_SEND(op)                                                                                  \
	if (me() == 0) {                                                                              \
		c.word[0] = 1;                                                                        \
		asm volatile(op ".global.u32 [%0], %1;" ::"l"(&c.flag[0]), "r"(1) : "memory");        \
	}
#define ASM_TAKE(op)                                                                                  \
	if (me() == BLOCK) {                                                                          \
		unsigned int v;                                                                       \
		do                                                                                    \
			asm volatile(op ".global.u32 %0, [%1];" : "=r"(v) : "l"(&c.flag[0]) : "memory"); \
		while (v == 0);                                                                       \
		sink[0] = c.word[0];                                                                  \
	}

__global__ void release_acquire_quiet() { ASM_SEND("st.release.gpu") ASM_TAKE("ld.acquire.gpu") }
__global__ void release_block_scope_race() { ASM_SEND("st.release.cta") ASM_TAKE("ld.acquire.gpu") }
__global__ void acquire_block_scope_race() { ASM_SEND("st.release.gpu") ASM_TAKE("ld.acquire.cta") }
__global__ void relaxed_send_race() { ASM_SEND("st.relaxed.gpu") ASM_TAKE("ld.acquire.gpu") }
__global__ void relaxed_take_race() { ASM_SEND("st.release.gpu") ASM_TAKE("ld.relaxed.gpu") }

__global__ void vector_flag_quiet() // the flag is the second element of what is read
{
	if (me() == 0) {
		c.word[0] = 1;
		asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&c.flag[1]), "r"(1)
			     : "memory");
	} else if (me() == BLOCK) {
		unsigned int v, w;
		do
			asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"
				     : "=r"(v), "=r"(w)
				     : "l"(&c.flag[0])
				     : "memory");
		while (w == 0);
		__threadfence();
		sink[0] = c.word[0] + v;
	}
}

// ---- locks
// --------------------------------------------------------------------------------------------

#define LOCKED(take, behind, what, before, give)                                                      \
	if (leads()) {                                                                                \
		while (take)                                                                          \
			;                                                                             \
		behind;                                                                               \
		what;                                                                                 \
		before;                                                                               \
		give;                                                                                 \
	}
#define FENCE __threadfence()

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

// ---- independent threads of a warp (R2)
// ---------------------------------------------------------------

// says: its
__global__ void warp_reduction_race() // Figures 2 and 8
{
	if (me() < 2)
		c.word[me()] = c.word[me()] + c.word[me() + 2];
	if (me() == 0)
		c.word[0] = c.word[0] + c.word[1];
}
__global__ void warp_reduction_clean()
{
	if (me() < 2)
		c.word[me()] = c.word[me()] + c.word[me() + 2];
	__syncwarp();
	if (me() == 0)
		c.word[0] = c.word[0] + c.word[1];
}
// says: its
__global__ void shuffle_for_barrier_race()
{
	c.word[me()] = me();
	unsigned int other = __shfl_xor_sync(0xffffffffu, me(), 1);
	sink[me()] = c.word[other];
}
__global__ void shuffle_and_barrier_clean()
{
	c.word[me()] = me();
	unsigned int other = __shfl_xor_sync(0xffffffffu, me(), 1);
	__syncwarp();
	sink[me()] = c.word[other];
}
// says: its
__global__ void vote_for_barrier_race()
{
	c.word[me()] = me();
	if (__all_sync(0xffffffffu, me() < 4096))
		sink[me()] = c.word[me() ^ 1];
}
// says: its
__global__ void branches_race()
{
	if (threadIdx.x % 32 < 16)
		c.word[me()] = 1;
	else
		sink[me()] = c.word[me() - 16];
}
__global__ void branches_clean()
{
	if (threadIdx.x % 32 < 16)
		c.word[me()] = 1;
	__syncwarp();
	if (threadIdx.x % 32 >= 16)
		sink[me()] = c.word[me() - 16];
}
// says: its
__global__ void lanes_write_one_race() { c.word[me() / 32] = me(); }
__global__ void tile_too_small_possible() // masks of half a warp, and an exchange over the whole
{
	c.word[me()] = me();
	__syncwarp(threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu);
	sink[me()] = c.word[me() ^ 16];
}
__global__ void tile_large_enough_quiet()
{
	c.word[me()] = me();
	__syncwarp(threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu);
	sink[me()] = c.word[me() ^ 8];
}

// ---- threads of a block (R3)
// ---------------------------------------------------------------------------

// says: intra-block
__global__ void warp_barrier_for_block_race()
{
	c.word[me()] = me();
	__syncwarp();
	sink[me()] = c.word[me() ^ 32];
}
__global__ void block_barrier_clean()
{
	c.word[me()] = me();
	__syncthreads();
	sink[me()] = c.word[me() ^ 32];
}
// says: intra-block
__global__ void barrier_before_reuse_race()
{
	c.word[me()] = me();
	__syncthreads();
	sink[me()] = c.word[me() ^ 32];
	c.word[me()] = 0;
}
__global__ void barrier_before_reuse_clean()
{
	c.word[me()] = me();
	__syncthreads();
	sink[me()] = c.word[me() ^ 32];
	__syncthreads();
	c.word[me()] = 0;
}
// says: intra-block
__global__ void shared_exchange_race()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	sink[me()] = tile[threadIdx.x ^ 32];
}
__global__ void shared_exchange_clean()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	__syncthreads();
	sink[me()] = tile[threadIdx.x ^ 32];
}
__global__ void bytes_race() { c.byte[me() / 2] = (unsigned char)me(); }
__global__ void bytes_clean() { c.byte[me()] = (unsigned char)me(); }

// ---- blocks (R4)
// -----------------------------------------------------------------------------------------

// says: inter-block
__global__ void group_of_block_race() // Figure 3: sync(block) where sync(grid) is meant
{
	c.word[me()] = me();
	__syncthreads();
	if (me() == 0)
		for (unsigned int b = 1; b < gridDim.x; b++)
			c.word[0] += c.word[b * BLOCK];
}
// says: inter-block
__global__ void equal_writes_race() { c.word[threadIdx.x] = 7; }
__global__ void own_element_clean() { c.word[me()] = 7; }
// says: inter-block
__global__ void read_then_written_race()
{
	if (blockIdx.x == 0)
		sink[me()] = c.word[threadIdx.x];
	else
		c.word[threadIdx.x] = 1;
}

#define GRID_BARRIER(before, behind)                                                                  \
	__syncthreads();                                                                              \
	if (leads()) {                                                                                \
		before;                                                                               \
		atomicAdd(&c.count[0], 1);                                                            \
		while (seen(&c.count[0]) < gridDim.x)                                                 \
			;                                                                             \
		behind;                                                                               \
	}                                                                                             \
	__syncthreads();

__global__ void grid_barrier_quiet()
{
	c.word[me()] = me();
	GRID_BARRIER(FENCE, FENCE)
	sink[me()] = c.word[127 - me()];
}
__global__ void grid_barrier_without_fence_race()
{
	c.word[me()] = me();
	GRID_BARRIER(, )
	sink[me()] = c.word[127 - me()];
}
__global__ void grid_barrier_block_fence_race()
{
	c.word[me()] = me();
	GRID_BARRIER(__threadfence_block(), FENCE)
	sink[me()] = c.word[127 - me()];
}
__global__ void grid_barrier_no_acquire_race() // Figure 10: nothing acquires after the loop
{
	c.word[me()] = me();
	GRID_BARRIER(FENCE, )
	sink[me()] = c.word[127 - me()];
}

#define LAST_BLOCK(before, behind)                                                                    \
	__shared__ bool is_last;                                                                      \
	c.word[me()] = me();                                                                          \
	before;                                                                                       \
	__syncthreads();                                                                              \
	if (leads()) {                                                                                \
		is_last = atomicAdd(&c.count[0], 1) == gridDim.x - 1;                                 \
		behind;                                                                               \
	}                                                                                             \
	__syncthreads();                                                                              \
	if (is_last)                                                                                  \
		sink[threadIdx.x] = c.word[threadIdx.x] + c.word[threadIdx.x + BLOCK];

__global__ void last_block_quiet() { LAST_BLOCK(FENCE, FENCE) }
__global__ void last_block_no_release_race() { LAST_BLOCK(, FENCE) }
__global__ void last_block_no_acquire_race() { LAST_BLOCK(FENCE, ) }
__global__ void last_block_block_fence_race() { LAST_BLOCK(__threadfence_block(), FENCE) }

// ---- queues, scans, flags read twice
// ------------------------------------------------------------------------

#define TICKET(behind, before)                                                                        \
	if (leads()) {                                                                                \
		unsigned int mine = atomicAdd(&c.count[0], 1);                                        \
		while (seen(&c.flag[0]) != mine)                                                      \
			;                                                                             \
		behind;                                                                               \
		c.word[0] += 1;                                                                       \
		before;                                                                               \
		atomicAdd(&c.flag[0], 1);                                                             \
	}

__global__ void ticket_quiet() { TICKET(FENCE, FENCE) }
__global__ void ticket_no_release_race() { TICKET(FENCE, ) }
__global__ void ticket_no_acquire_race() { TICKET(, FENCE) }

#define RING(before, behind)                                                                          \
	if (me() == 0)                                                                                \
		for (unsigned int i = 0; i < 4; i++) {                                                \
			c.word[i] = i;                                                                \
			before;                                                                       \
			atomicAdd(&c.count[0], 1);                                                    \
		}                                                                                     \
	if (me() == BLOCK)                                                                            \
		for (unsigned int i = 0; i < 4; i++) {                                                \
			while (atomicAdd(&c.count[0], 0) <= i)                                        \
				;                                                                     \
			behind;                                                                       \
			sink[i] = c.word[i];                                                          \
		}

__global__ void ring_quiet() { RING(FENCE, FENCE) }
__global__ void ring_no_release_race() { RING(, FENCE) }
__global__ void ring_no_acquire_race() { RING(FENCE, ) }

#define LOOK_BACK(before, behind)                                                                     \
	if (leads()) {                                                                                \
		unsigned int sum = 1;                                                                 \
		if (blockIdx.x) {                                                                     \
			while (seen(&c.flag[blockIdx.x - 1]) == 0)                                    \
				;                                                                     \
			behind;                                                                       \
			sum += c.word[blockIdx.x - 1];                                                \
		}                                                                                     \
		c.word[blockIdx.x] = sum;                                                             \
		before;                                                                               \
		*(volatile unsigned int *)&c.flag[blockIdx.x] = 1;                                    \
	}

__global__ void look_back_quiet() { LOOK_BACK(FENCE, FENCE) }
__global__ void look_back_no_release_race() { LOOK_BACK(, FENCE) }
__global__ void look_back_no_acquire_race() { LOOK_BACK(FENCE, ) }

// says: mixed-strength
__global__ void double_checked_race() // the first look at the flag is plain
{
	if (leads() && blockIdx.x == 0)
		atomicExch(&c.flag[0], 1);
	else if (leads())
		sink[0] = c.flag[0];
}
__global__ void double_checked_quiet()
{
	if (leads() && blockIdx.x == 0)
		atomicExch(&c.flag[0], 1);
	else if (leads())
		sink[0] = seen(&c.flag[0]);
}
// says: mixed-strength
__global__ void volatile_and_plain_race()
{
	if (blockIdx.x == 0)
		*(volatile unsigned int *)&c.word[threadIdx.x] = 1;
	else
		sink[me()] = c.word[threadIdx.x];
}
__global__ void volatile_both_quiet()
{
	if (blockIdx.x == 0)
		*(volatile unsigned int *)&c.word[threadIdx.x] = 1;
	else
		sink[me()] = *(volatile unsigned int *)&c.word[threadIdx.x];
}
// says: mixed-strength
__global__ void counter_set_up_race() // block 1 may count before block 0 has set the counter
{
	if (me() == 0)
		c.count[0] = 0;
	__syncthreads();
	atomicAdd(&c.count[0], 1);
}
__global__ void counter_set_up_clean()
{
	if (leads())
		c.count[blockIdx.x] = 0;
	__syncthreads();
	atomicAdd(&c.count[blockIdx.x], 1);
}
// says: mixed-strength
__global__ void counter_read_back_race()
{
	atomicAdd(&c.count[0], 1);
	if (me() == 100)
		sink[0] = c.count[0];
}

#define LAUNCH(f)                                                                                     \
	cudaMemset(at, 0, sizeof(struct cells));                                                      \
	f<<<2, BLOCK>>>();                                                                            \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                   \
		return 1;

int main()
{
	void *at;

	cudaGetSymbolAddress(&at, c);
#include "launches.h"
	return 0;
}
