// blocks.cu - lanes, warps, blocks; queues and scans (cases.h).
#include "cases.h"

// ---- independent threads of a warp (R2)

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
// A counter that only chooses a place is no flag: nobody waits for the other.
// says: its intra-block inter-block
__global__ void drawn_place_race() { c.word[atomicAdd(&c.count[2], 1) / 2] = me(); }
__global__ void drawn_place_clean() { c.word[atomicAdd(&c.count[2], 1) % 256] = me(); }
// says: its
__global__ void tile_too_small_race() // masks of half a warp, and an exchange over the whole
{
	c.word[me()] = me();
	__syncwarp(threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu);
	sink[me()] = c.word[me() ^ 16];
}
__global__ void tile_large_enough_clean()
{
	c.word[me()] = me();
	__syncwarp(threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu);
	sink[me()] = c.word[me() ^ 8];
}

// Lanes hand on from pair to pair: what 0 wrote is ordered before 2, by way of 1.
#define PAIRS(second)                                                                              \
	if (threadIdx.x < 2) {                                                                     \
		if (threadIdx.x == 0)                                                              \
			c.word[32 * blockIdx.x] = 1;                                               \
		__syncwarp(3);                                                                     \
	}                                                                                          \
	if (threadIdx.x == 1 || threadIdx.x == 2)                                                  \
		__syncwarp(6);                                                                     \
	if (threadIdx.x == second)                                                                 \
		sink[me()] = c.word[32 * blockIdx.x];
__global__ void pairs_of_lanes_clean() { PAIRS(2) }
// says: its
__global__ void pairs_of_lanes_race() { PAIRS(3) } // takes part in none
__global__ void pairs_then_all_clean()
{
	PAIRS(2)
	__syncwarp();
	if (threadIdx.x == 5)
		c.word[32 * blockIdx.x] = 2;
}
// says: its
__global__ void halves_after_all_race() // the full barrier comes too early
{
	__syncwarp();
	c.word[me()] = me();
	__syncwarp(threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu);
	__syncthreads();
	sink[me()] = c.word[me() ^ 16];
	__syncwarp(threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu);
	c.word[me()] = 0;
}

// ---- threads of a block (R3)

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
// Two lanes read, one after the other; a third one writes after a barrier of the warp.
#define READ_BY_LANES(barrier)                                                                        \
	__shared__ unsigned int tile[BLOCK];                                                          \
	unsigned int lane = threadIdx.x % 32;                                                         \
	if (threadIdx.x >= 32 && threadIdx.x < 64) {                                                  \
		if (lane == 0)                                                                        \
			sink[me()] = tile[7];                                                         \
		if (lane == 15)                                                                       \
			sink[me() + 1] = tile[7] + 1;                                                 \
		barrier;                                                                              \
		if (lane == 16)                                                                       \
			tile[7] = me();                                                               \
	}
__global__ void odd_readers_of_warp_clean() { READ_BY_LANES(__syncwarp()) }
// says: its
__global__ void odd_readers_of_warp_race() { READ_BY_LANES() }
// Half of the block leaves, after its accesses: its exit lets the barrier open, and orders nothing.
// says: intra-block
__global__ void left_writing_race()
{
	c.word[me()] = me();
	if (threadIdx.x >= BLOCK / 2)
		return;
	__syncthreads();
	sink[me()] = c.word[me() + BLOCK / 2];
}
__global__ void left_writing_clean()
{
	c.word[me()] = me();
	__syncthreads();
	if (threadIdx.x >= BLOCK / 2)
		return;
	sink[me()] = c.word[me() + BLOCK / 2];
	__syncthreads();
	c.word[me()] = 0;
}
// says: intra-block
__global__ void left_reading_race()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	__syncthreads();
	if (threadIdx.x >= BLOCK / 2) {
		sink[me()] = tile[threadIdx.x - BLOCK / 2];
		return;
	}
	__syncthreads();
	tile[threadIdx.x] = 0;
}
__global__ void left_reading_clean()
{
	__shared__ unsigned int tile[BLOCK];
	unsigned int v = 0;

	tile[threadIdx.x] = me();
	__syncthreads();
	if (threadIdx.x >= BLOCK / 2)
		v = tile[threadIdx.x - BLOCK / 2];
	__syncthreads();
	if (threadIdx.x >= BLOCK / 2) {
		sink[me()] = v;
		return;
	}
	tile[threadIdx.x] = 0;
	__syncthreads();
	tile[threadIdx.x] += 1;
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

#define LAUNCHES "blocks_launches.h"
#include "main.h"
