// cases.cu - small kernels with and without races for detector hirace; cases.py runs and judges them.
//
// The end of a kernel's name is what must be reported of it:
//	_race		a data race
//	_possible	a possible race, and no data race
//	_quiet		no data race; what a lock or flag orders may be possible
//	_clean		nothing
// The oracle must find a race in each _race and each _possible, and none in the others. LAUNCH lists
// the kernels with their launches. Values are read into `sink`, so that no load is dead.
#include <cuda_runtime.h>
#include <stdio.h>

#define BLOCK 64

__device__ __align__(16) unsigned int word[4096];
__device__ __align__(16) unsigned char byte[4096];
__device__ __align__(16) unsigned short half[4096];
__device__ unsigned int flag, count, lock, sink[4096];
__device__ struct __align__(8) {
	unsigned int v[2]; // used by one kernel, once
} flags;

__device__ __forceinline__ unsigned int me() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ---- global memory, nothing synchronises -----------------------------------------------------------

__global__ void same_value_warps_race() { word[0] = 1; }
__global__ void own_element_clean() { word[me()] = 1; }
__global__ void write_write_blocks_race() { if (threadIdx.x == 0) word[0] = blockIdx.x; }
__global__ void one_block_writes_clean() { if (me() == 0) word[0] = blockIdx.x; }
__global__ void write_read_blocks_race()
{
	if (blockIdx.x == 0)
		word[threadIdx.x] = 1;
	else
		sink[me()] = word[threadIdx.x];
}
__global__ void all_read_clean() { sink[me()] = word[threadIdx.x]; }
__global__ void read_then_write_race()
{
	sink[me()] = word[threadIdx.x ^ 1];
	word[threadIdx.x] = 2;
}
__global__ void grid_too_large_race() { word[threadIdx.x + blockIdx.x * (BLOCK - 1)] = 1; }
__global__ void lost_update_race() { word[0] += 1; }
__global__ void atomic_update_clean() { atomicAdd(&word[0], 1); }
__global__ void wide_and_narrow_race()
{
	if (me() == 0)
		*(uint2 *)&word[2] = make_uint2(1, 2);
	else if (me() == 40)
		word[3] = 3;
}
__global__ void wide_neighbours_clean()
{
	if (me() == 0)
		*(uint2 *)&word[2] = make_uint2(1, 2);
	else if (me() == 40)
		word[4] = 3;
}
__global__ void vector_element_race()
{
	if (me() == 0)
		*(uint4 *)&word[8] = make_uint4(1, 2, 3, 4);
	else if (me() == 70)
		sink[0] = word[11];
}

// ---- bytes and halfwords ---------------------------------------------------------------------------

__global__ void byte_neighbours_clean() { byte[me()] = 1; }
__global__ void same_byte_race() { byte[threadIdx.x] = (unsigned char)blockIdx.x; }
__global__ void half_neighbours_clean() { half[me()] = 1; }
__global__ void same_half_race() { half[threadIdx.x / 2] = (unsigned short)me(); }
__global__ void byte_in_word_race()
{
	if (me() == 0)
		*(unsigned int *)byte = 7;
	else if (me() == 33)
		byte[2] = 1;
}
__global__ void word_over_byte_race()
{
	if (me() == 33)
		byte[6] = 1;
	__syncwarp();
	if (me() == 1)
		sink[0] = *(volatile unsigned int *)(byte + 64) + *(unsigned int *)(byte + 4);
}
__global__ void byte_beside_word_clean()
{
	if (me() == 0)
		*(unsigned int *)byte = 7;
	else if (me() == 33)
		byte[5] = 1;
}

// ---- barriers of the block ---------------------------------------------------------------------------

__global__ void exchange_race()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	sink[me()] = tile[BLOCK - 1 - threadIdx.x];
}
__global__ void exchange_clean()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	__syncthreads();
	sink[me()] = tile[BLOCK - 1 - threadIdx.x];
}
__global__ void reduction_race()
{
	__shared__ unsigned int part[BLOCK];

	part[threadIdx.x] = threadIdx.x;
	__syncthreads();
	for (unsigned int n = BLOCK / 2; n; n /= 2)
		if (threadIdx.x < n)
			part[threadIdx.x] += part[threadIdx.x + n];
	if (threadIdx.x == 0)
		sink[blockIdx.x] = part[0];
}
__global__ void reduction_clean()
{
	__shared__ unsigned int part[BLOCK];

	part[threadIdx.x] = threadIdx.x;
	for (unsigned int n = BLOCK / 2; n; n /= 2) {
		__syncthreads();
		if (threadIdx.x < n)
			part[threadIdx.x] += part[threadIdx.x + n];
	}
	if (threadIdx.x == 0)
		sink[blockIdx.x] = part[0];
}
__global__ void scan_race()
{
	__shared__ unsigned int a[BLOCK];

	a[threadIdx.x] = 1;
	__syncthreads();
	for (unsigned int d = 1; d < BLOCK; d *= 2) {
		unsigned int v = threadIdx.x >= d ? a[threadIdx.x - d] : 0;
		__syncthreads(); // and none behind the store
		a[threadIdx.x] += v;
	}
	sink[me()] = a[threadIdx.x];
}
__global__ void scan_clean()
{
	__shared__ unsigned int a[BLOCK];

	a[threadIdx.x] = 1;
	__syncthreads();
	for (unsigned int d = 1; d < BLOCK; d *= 2) {
		unsigned int v = threadIdx.x >= d ? a[threadIdx.x - d] : 0;
		__syncthreads();
		a[threadIdx.x] += v;
		__syncthreads();
	}
	sink[me()] = a[threadIdx.x];
}
__global__ void tile_reused_race()
{
	__shared__ unsigned int tile[BLOCK];

	for (int i = 0; i < 3; i++) {
		tile[threadIdx.x] = me() + i;
		__syncthreads();
		sink[me()] += tile[threadIdx.x ^ 33];
	}
}
__global__ void tile_reused_clean()
{
	__shared__ unsigned int tile[BLOCK];

	for (int i = 0; i < 3; i++) {
		tile[threadIdx.x] = me() + i;
		__syncthreads();
		sink[me()] += tile[threadIdx.x ^ 33];
		__syncthreads();
	}
}
__global__ void stencil_in_place_race()
{
	if (me() > 0 && me() < 127)
		word[me()] = word[me() - 1] + word[me() + 1];
}
__global__ void barrier_is_no_grid_barrier_race()
{
	word[me()] = 1;
	__syncthreads();
	sink[me()] = word[127 - me()];
}
__global__ void barrier_in_block_clean()
{
	word[me()] = 1;
	__syncthreads();
	sink[me()] = word[blockIdx.x * BLOCK + BLOCK - 1 - threadIdx.x];
}
__global__ void two_variables_clean()
{
	__shared__ unsigned int a[BLOCK];
	__shared__ unsigned char b[BLOCK];

	a[threadIdx.x] = 1;
	b[threadIdx.x] = 2;
	__syncthreads();
	sink[me()] = a[threadIdx.x ^ 32] + b[threadIdx.x ^ 32];
}
__global__ void shared_bytes_race()
{
	__shared__ unsigned char b[BLOCK];

	b[threadIdx.x / 2] = (unsigned char)threadIdx.x;
	__syncthreads();
	sink[me()] = b[threadIdx.x];
}

// ---- warps ----------------------------------------------------------------------------------------------

__global__ void warp_exchange_race()
{
	__shared__ unsigned int a[BLOCK];

	a[threadIdx.x] = 1;
	sink[me()] = a[threadIdx.x ^ 1];
}
__global__ void warp_exchange_clean()
{
	__shared__ unsigned int a[BLOCK];

	a[threadIdx.x] = 1;
	__syncwarp();
	sink[me()] = a[threadIdx.x ^ 1];
}
__global__ void syncwarp_across_warps_race()
{
	__shared__ unsigned int a[BLOCK];

	a[threadIdx.x] = 1;
	__syncwarp();
	sink[me()] = a[threadIdx.x ^ 32];
}
__global__ void half_masks_clean()
{
	__shared__ unsigned int a[BLOCK];

	a[threadIdx.x] = 1;
	__syncwarp(threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu);
	sink[me()] = a[threadIdx.x ^ 1];
}
__global__ void half_masks_race()
{
	__shared__ unsigned int a[BLOCK];

	a[threadIdx.x] = 1;
	__syncwarp(threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu);
	sink[me()] = a[threadIdx.x ^ 16];
}
// What lane 0 wrote is ordered before lane 2 by way of lane 1, and not before another.
__device__ unsigned int handed[2];
__device__ __forceinline__ void hand_on(unsigned int last)
{
	if (threadIdx.x < 2) {
		if (threadIdx.x == 0)
			handed[blockIdx.x] = 1;
		__syncwarp(3);
	}
	if (threadIdx.x == 1 || threadIdx.x == 2)
		__syncwarp(6);
	if (threadIdx.x == last)
		sink[me()] = handed[blockIdx.x];
}
__global__ void lane_pairs_clean() { hand_on(2); }
__global__ void lane_pairs_race() { hand_on(3); }
__global__ void shuffle_orders_nothing_race()
{
	__shared__ unsigned int a[BLOCK];

	a[threadIdx.x] = 1;
	unsigned int v = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
	sink[me()] = a[v];
}

// ---- atomics and scopes -----------------------------------------------------------------------------------

__global__ void atomic_and_plain_race()
{
	if (blockIdx.x == 0)
		atomicAdd(&word[0], 1);
	else if (threadIdx.x == 0)
		word[0] = 5;
}
__global__ void atomic_and_load_race()
{
	if (blockIdx.x == 0)
		atomicAdd(&word[0], 1);
	else
		sink[me()] = word[0];
}
__global__ void block_scope_race() { atomicAdd_block(&word[0], 1); }
__global__ void block_scope_clean() { atomicAdd_block(&word[blockIdx.x], 1); }
__global__ void histogram_clean()
{
	__shared__ unsigned int bins[8];

	if (threadIdx.x < 8)
		bins[threadIdx.x] = 0;
	__syncthreads();
	atomicAdd(&bins[threadIdx.x % 8], 1);
	__syncthreads();
	if (threadIdx.x < 8)
		atomicAdd(&word[threadIdx.x], bins[threadIdx.x]);
}
__global__ void zeroed_too_late_race()
{
	__shared__ unsigned int bins[8];

	if (threadIdx.x < 8)
		bins[threadIdx.x] = 0;
	atomicAdd(&bins[threadIdx.x % 8], 1);
	__syncthreads();
	if (threadIdx.x < 8)
		atomicAdd(&word[threadIdx.x], bins[threadIdx.x]);
}

// ---- locks, flags, tickets, the last block, a grid barrier --------------------------------------------------

__global__ void lock_quiet()
{
	if (threadIdx.x)
		return;
	while (atomicCAS(&lock, 0, 1))
		;
	__threadfence();
	word[0] += 1;
	__threadfence();
	atomicExch(&lock, 0);
}
__global__ void message_quiet()
{
	if (me() == 0) {
		word[0] = 1;
		__threadfence();
		atomicExch(&flag, 1);
	} else if (me() == BLOCK) {
		while (atomicAdd(&flag, 0) == 0)
			;
		__threadfence();
		sink[0] = word[0];
	}
}
__global__ void message_without_fence_race()
{
	if (me() == 0) {
		word[0] = 1;
		atomicExch(&flag, 1);
	} else if (me() == BLOCK) {
		while (atomicAdd(&flag, 0) == 0)
			;
		__threadfence();
		sink[0] = word[0];
	}
}
// The flag is the second element of what is read: its stamp, and not the first one's, is to be joined.
__global__ void vector_flag_quiet()
{
	if (me() == 0) {
		word[1] = 1;
		asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&flags.v[1]), "r"(1)
			     : "memory");
	} else if (me() == BLOCK) {
		unsigned int v, w;
		do
			asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"
				     : "=r"(v), "=r"(w)
				     : "l"(&flags.v[0])
				     : "memory");
		while (w == 0);
		__threadfence();
		sink[0] = word[1] + v;
	}
}
__global__ void ticket_quiet()
{
	if (threadIdx.x)
		return;
	unsigned int mine = atomicAdd(&count, 1);
	while (*(volatile unsigned int *)&flag != mine)
		;
	__threadfence();
	word[0] += 1;
	__threadfence();
	atomicAdd(&flag, 1);
}
__global__ void last_block_quiet()
{
	__shared__ bool is_last;

	word[me()] = me();
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0) {
		is_last = atomicAdd(&count, 1) == gridDim.x - 1;
		__threadfence();
	}
	__syncthreads();
	if (is_last)
		sink[threadIdx.x] = word[threadIdx.x] + word[threadIdx.x + BLOCK];
}
__global__ void last_block_without_fence_race()
{
	__shared__ bool is_last;

	word[me()] = me();
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		is_last = atomicAdd(&count, 1) == gridDim.x - 1;
	__syncthreads();
	if (is_last)
		sink[threadIdx.x] = word[threadIdx.x] + word[threadIdx.x + BLOCK];
}
__global__ void grid_barrier_quiet()
{
	word[me()] = me();
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(&count, 1);
		while (*(volatile unsigned int *)&count < gridDim.x)
			;
		__threadfence();
	}
	__syncthreads();
	sink[me()] = word[127 - me()];
}
__global__ void counted_then_plain_race() // an atomic whose result is used orders nothing else
{
	sink[me()] = atomicAdd(&count, 1);
	if (threadIdx.x == 0)
		word[0] = blockIdx.x;
}
__global__ void many_counted_then_plain_race() // nor do many, of other locations
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < 256; i++)
		n += atomicAdd(&word[64 + i], 1);
	sink[me()] = n;
	word[threadIdx.x] = blockIdx.x;
}

// ---- pictures of the paper (listings 1 to 3): a race in one block, hidden by atomics, across blocks -----------

__global__ void counter_read_back_race()
{
	atomicAdd(&word[threadIdx.x % 4], 1);
	if (me() == 100)
		word[0] = 0;
}
__global__ void counter_read_behind_barrier_clean()
{
	__shared__ unsigned int n;

	if (threadIdx.x == 0)
		n = 0;
	__syncthreads();
	atomicAdd(&n, 1);
	__syncthreads();
	sink[me()] = n;
}

#define LAUNCH(f)                                                                                     \
	cudaMemset(zeroes, 0, sizeof(unsigned int));                                                  \
	cudaMemset(count_at, 0, sizeof(unsigned int));                                                \
	cudaMemset(lock_at, 0, sizeof(unsigned int));                                                 \
	f<<<2, BLOCK>>>();                                                                            \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                   \
		return 1;

int main()
{
	void *zeroes, *count_at, *lock_at;

	cudaGetSymbolAddress(&zeroes, flag);
	cudaGetSymbolAddress(&count_at, count);
	cudaGetSymbolAddress(&lock_at, lock);
#include "launches.h"
	return 0;
}
