// cases.cu - small kernels with and without races for detector watch; cases.py runs and judges them.
//
// The end of a kernel's name is what must be reported of it, in every run:
//	_race		a data race, with both its sides
//	_readonly	a read-only load of memory that changes, and no data race
//	_clean		nothing
// The oracle must find a race in each _race, and none in a _clean. LAUNCH lists the kernels: each is
// launched twice, with two blocks of two warps. Values are read into `sink`, so that no load is dead.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sm_32_intrinsics.h>

#define BLOCK 64
#define TURNS 64

struct cells {
	__align__(32) unsigned int word[256];
	__align__(32) unsigned char byte[256];
	__align__(32) unsigned int flag[8], lock, count;
};
__device__ struct cells c;
__device__ unsigned int sink[4096];

__device__ __forceinline__ unsigned int me() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ bool leads() { return threadIdx.x == 0; }

/* Each turn of a loop has its own. */
#define keep(access)                                                                               \
	do {                                                                                       \
		access;                                                                            \
		asm volatile("" ::: "memory");                                                     \
	} while (0)

// ---- equal values, which no second reading shows -------------------------------------------------

__global__ void same_value_blocks_race()
{
	for (int i = 0; i < TURNS; i++)
		keep(c.word[0] = 1);
}
__global__ void same_value_warps_race()
{
	__shared__ unsigned int tile[64];
	unsigned int *at = &tile[c.lock]; // 0; a place that the compiler doesn't know
	for (int i = 0; i < TURNS; i++)
		keep(*at = 1);
	sink[me()] = *at;
}
__global__ void own_element_clean()
{
	__shared__ unsigned int tile[64];
	for (int i = 0; i < TURNS; i++) {
		keep(c.word[me()] += i);
		keep(tile[threadIdx.x] = i);
	}
	sink[me()] = tile[threadIdx.x];
}

// ---- reads and writes ----------------------------------------------------------------------------

__global__ void write_read_race()
{
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x)
			keep(c.word[threadIdx.x] = i);
		else
			keep(sum += c.word[threadIdx.x]);
	}
	sink[me()] = sum;
}
__global__ void all_read_clean()
{
	for (int i = 0; i < TURNS; i++)
		sink[me()] = c.word[i];
}
__global__ void lost_update_race()
{
	for (int i = 0; i < TURNS; i++)
		keep(c.word[0] += 1);
}
__global__ void atomic_update_clean()
{
	for (int i = 0; i < TURNS; i++)
		atomicAdd(&c.word[0], 1);
}
// A weak access and an atomic one.
__global__ void weak_atomic_race()
{
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x)
			atomicAdd(&c.word[0], 1);
		else
			keep(c.word[0] = i);
	}
}
__global__ void weak_atomic_clean()
{
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x)
			atomicAdd(&c.word[0], 1);
		else
			keep(c.word[1 + threadIdx.x] = i);
	}
}

// ---- bytes and vectors ---------------------------------------------------------------------------

__global__ void byte_neighbours_clean()
{
	for (int i = 0; i < TURNS; i++)
		keep(c.byte[me()] = i);
}
__global__ void byte_in_word_race()
{
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x)
			keep(c.byte[threadIdx.x] = i);
		else
			keep(((unsigned int *)c.byte)[threadIdx.x / 4] = i);
	}
}
__global__ void vector_end_race()
{
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x)
			keep(*(uint4 *)&c.word[4] = make_uint4(i, 1, 2, 3));
		else
			keep(c.word[7] = i);
	}
}
__global__ void vector_end_clean()
{
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x && leads())
			keep(*(uint4 *)&c.word[4] = make_uint4(i, 1, 2, 3));
		else if (me() == 1)
			keep(c.word[8] = i);
		else if (me() == 2)
			keep(c.word[3] = i);
	}
}

// ---- what orders ---------------------------------------------------------------------------------

__global__ void barrier_missing_race()
{
	__shared__ unsigned int tile[BLOCK];
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		tile[threadIdx.x] = i;
		sum += tile[threadIdx.x ^ 32];
		__syncthreads();
	}
	sink[me()] = sum;
}
__global__ void barriers_clean()
{
	__shared__ unsigned int tile[BLOCK];
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		tile[threadIdx.x] = i;
		__syncthreads();
		sum += tile[threadIdx.x ^ 32];
		__syncthreads();
	}
	sink[me()] = sum;
}
__global__ void syncwarp_clean()
{
	__shared__ unsigned int tile[BLOCK];
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		tile[threadIdx.x] = i;
		__syncwarp();
		sum += tile[threadIdx.x ^ 1];
		__syncwarp();
	}
	sink[me()] = sum;
}
// Lanes hand over by __syncwarp(), and one of them for all by a fence.
__global__ void for_the_warp_clean()
{
	volatile unsigned int *flag = &c.flag[0];
	if (blockIdx.x == 0 && threadIdx.x < 32) {
		c.word[threadIdx.x] = threadIdx.x;
		__syncwarp();
		if (leads()) {
			__threadfence();
			*flag = 1;
		}
	} else if (blockIdx.x && leads()) {
		while (*flag == 0)
			;
		__threadfence();
		sink[0] = c.word[5] + c.word[31];
	}
}
__global__ void message_clean()
{
	volatile unsigned int *flag = &c.flag[0];
	if (!leads())
		return;
	for (unsigned int i = 1; i <= TURNS; i++) {
		if (blockIdx.x == 0) {
			c.word[i] = i;
			__threadfence();
			*flag = i;
		} else {
			while (*flag < i)
				;
			__threadfence();
			sink[i] = c.word[i];
		}
	}
}
__global__ void message_without_fence_race()
{
	volatile unsigned int *flag = &c.flag[0], *answer = &c.flag[1];
	if (!leads())
		return;
	for (unsigned int i = 1; i <= TURNS; i++) {
		if (blockIdx.x == 0) {
			c.word[i] = i;
			*flag = i;
			while (*answer < i)
				;
		} else {
			while (*flag < i)
				;
			sink[i] = c.word[i];
			*answer = i;
		}
	}
}
__global__ void lock_clean()
{
	if (!leads())
		return;
	for (int i = 0; i < 8; i++) {
		while (atomicCAS(&c.lock, 0, 1) != 0)
			;
		__threadfence();
		c.count += 1;
		__threadfence();
		atomicExch(&c.lock, 0);
	}
}
__global__ void ticket_clean()
{
	if (!leads())
		return;
	unsigned int mine = atomicAdd(&c.flag[1], 1);
	while (atomicAdd(&c.flag[2], 0) % 1024 != mine % 1024)
		;
	__threadfence();
	c.count += 1;
	__threadfence();
	atomicAdd(&c.flag[2], 1);
}
__global__ void last_block_clean()
{
	__shared__ bool is_last;
	c.word[me()] = me();
	__threadfence();
	__syncthreads();
	if (leads())
		is_last = atomicAdd(&c.flag[3], 1) % 2 == 1;
	__syncthreads();
	if (is_last) {
		__threadfence();
		sink[threadIdx.x] = c.word[threadIdx.x] + c.word[64 + threadIdx.x];
	}
}
// Each launch writes what the one before wrote, by other threads.
__global__ void launches_clean() { c.word[c.flag[4] ? 127 - me() : me()] = me(); }
__global__ void early_exit_clean()
{
	c.word[me()] = 1;
	if (threadIdx.x & 1)
		return;
	__syncthreads();
	sink[me()] = c.word[me()];
}

// ---- asynchronous copies ----------------------------------------------------------------------------

__global__ void copy_source_race()
{
	__shared__ unsigned int tile[BLOCK];
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x) {
			keep(c.word[threadIdx.x] = i);
		} else {
			__pipeline_memcpy_async(&tile[threadIdx.x], &c.word[threadIdx.x], 4);
			__pipeline_commit();
			__pipeline_wait_prior(0);
		}
	}
	sink[me()] = tile[threadIdx.x];
}
__global__ void copy_source_clean()
{
	__shared__ unsigned int tile[BLOCK];
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x) {
			keep(c.word[64 + threadIdx.x] = i);
		} else {
			__pipeline_memcpy_async(&tile[threadIdx.x], &c.word[threadIdx.x], 4);
			__pipeline_commit();
			__pipeline_wait_prior(0);
		}
	}
	sink[me()] = tile[threadIdx.x];
}
// What the other warp reads may still be on its way.
__global__ void copy_not_awaited_race()
{
	__shared__ unsigned int tile[BLOCK];
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		keep(sum += tile[threadIdx.x ^ 32]);
		__pipeline_memcpy_async(&tile[threadIdx.x], &c.word[threadIdx.x], 4);
		__pipeline_commit();
		__pipeline_wait_prior(0);
	}
	sink[me()] = sum;
}
__global__ void copy_awaited_clean()
{
	__shared__ unsigned int tile[BLOCK];
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		__pipeline_memcpy_async(&tile[threadIdx.x], &c.word[threadIdx.x], 4);
		__pipeline_commit();
		__pipeline_wait_prior(0);
		__syncthreads();
		keep(sum += tile[threadIdx.x ^ 32]);
		__syncthreads();
	}
	sink[me()] = sum;
}

// ---- the read-only path, and loads that the compiler may have invented ----------------------------

__global__ void through_ldg_readonly()
{
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x)
			keep(c.word[threadIdx.x] = i);
		else
			sum += __ldg(&c.word[threadIdx.x]);
		if (i % 8 == 7)
			__syncthreads();
	}
	sink[me()] = sum;
}
// The load may stand above the condition; where the value is used it is this thread's own.
__global__ void chosen_value_race()
{
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x) {
			keep(c.word[0] = i);
		} else {
			unsigned int v = threadIdx.x > 5 ? c.word[0] : 0u;
			*(volatile unsigned int *)&sink[me()] = v;
		}
	}
}

// The values of all turns are in the sum that is used at the end; only the first ones race, and
// only with this store.
__global__ void sum_is_used_race()
{
	unsigned int sum = 0;
#pragma unroll 1
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x) {
			if (i < TURNS - 4 && leads())
				keep(c.word[0] = i);
		} else {
			keep(sum += c.word[i < TURNS - 4 ? 0 : 200]);
		}
	}
	if (!blockIdx.x)
		sink[me()] = sum;
}

// ---- shared memory without room for a table of the block's -----------------------------------------

extern __shared__ unsigned int dynamic[]; // BLOCK elements

__global__ void dynamic_shared_race()
{
	for (int i = 0; i < TURNS; i++)
		keep(dynamic[threadIdx.x & 31] = 1);
	sink[me()] = dynamic[0];
}
// Blocks have the same offsets.
__global__ void dynamic_shared_clean()
{
	for (int i = 0; i < TURNS; i++)
		keep(dynamic[threadIdx.x] = i);
	__syncthreads();
	sink[me()] = dynamic[threadIdx.x ^ 32];
}
// Through a generic address, which may be of global memory as well.
__global__ void dynamic_generic_race()
{
	unsigned int *at = c.lock ? c.word : dynamic; // 0
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		if (threadIdx.x < 32)
			keep(at[threadIdx.x] = i);
		else
			keep(sum += at[threadIdx.x - 32]);
	}
	sink[me()] = sum;
}
__global__ void dynamic_generic_clean()
{
	unsigned int *at = c.lock ? c.word : dynamic; // 0
	for (int i = 0; i < TURNS; i++)
		keep(at[threadIdx.x] += i);
	sink[me()] = at[threadIdx.x];
}
// A weak access and an atomic one.
__global__ void dynamic_atomic_race()
{
	for (int i = 0; i < TURNS; i++) {
		if (threadIdx.x < 32)
			atomicAdd(&dynamic[0], 1);
		else
			keep(dynamic[0] = i);
	}
	sink[me()] = dynamic[0];
}
__global__ void full_shared_race()
{
	__shared__ unsigned int tile[48640 / 4];
	unsigned int *at = &tile[c.lock];
	for (int i = 0; i < TURNS; i++)
		keep(at[threadIdx.x & 31] = 1);
	sink[me()] = *at;
}
__global__ void full_shared_clean()
{
	__shared__ unsigned int tile[48640 / 4];
	unsigned int *at = &tile[c.lock];
	for (int i = 0; i < TURNS; i++)
		keep(at[threadIdx.x * 32] = i);
	sink[me()] = at[threadIdx.x * 32];
}

// ---- matrices, bulk copies, functions that are called ----------------------------------------------

__device__ __forceinline__ unsigned int shared_address(const void *at)
{
	return (unsigned int)__cvta_generic_to_shared(at);
}
// The first warp reads 8 rows of 16 bytes; the other one writes there, or behind.
__device__ __forceinline__ void read_rows(unsigned int *tile, unsigned int from)
{
	unsigned int v, sum = 0;
	for (int i = 0; i < TURNS; i++) {
		if (threadIdx.x < 32) {
			asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
				     : "=r"(v)
				     : "r"(shared_address(tile + threadIdx.x % 8 * 4)));
			sum += v;
		} else {
			keep(tile[threadIdx.x - 32 + from] = i);
		}
	}
	sink[me()] = sum;
}
__global__ void matrix_rows_race()
{
	__shared__ __align__(16) unsigned int tile[64];
	read_rows(tile, c.lock); // 0
}
__global__ void matrix_rows_clean()
{
	__shared__ __align__(16) unsigned int tile[64];
	read_rows(tile, 32 + c.lock);
}
// A block copies its tile to the first 64 words; the other one writes there, or behind.
__device__ __forceinline__ void copy_out(unsigned int *tile, unsigned int from)
{
	tile[threadIdx.x] = 1;
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x)
			keep(c.word[threadIdx.x + from] = i);
		else if (leads())
			asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n\t"
				     "cp.async.bulk.commit_group;\n\t"
				     "cp.async.bulk.wait_group 0;" ::"l"(c.word),
				     "r"(shared_address(tile))
				     : "memory");
	}
}
__global__ void bulk_copy_race()
{
	__shared__ __align__(16) unsigned int tile[64];
	copy_out(tile, c.lock); // 0
}
__global__ void bulk_copy_clean()
{
	__shared__ __align__(16) unsigned int tile[64];
	copy_out(tile, 64 + c.lock);
}
// The source: another thread of the block still writes it.
__global__ void bulk_source_race()
{
	__shared__ __align__(16) unsigned int tile[64];
	for (int i = 0; i < TURNS; i++) {
		if (threadIdx.x >= 32)
			keep(tile[threadIdx.x] = i);
		else if (leads())
			asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n\t"
				     "cp.async.bulk.commit_group;\n\t"
				     "cp.async.bulk.wait_group 0;" ::"l"(c.word + 64 * blockIdx.x),
				     "r"(shared_address(tile))
				     : "memory");
	}
}
__device__ __noinline__ void put(unsigned int *at, unsigned int v)
{
	*at = v;
}
__global__ void called_function_race()
{
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		if (blockIdx.x)
			put(&c.word[threadIdx.x], i);
		else
			keep(sum += c.word[threadIdx.x]);
	}
	sink[me()] = sum;
}
__global__ void called_function_clean()
{
	for (int i = 0; i < TURNS; i++)
		put(&c.word[me()], i);
}

__global__ void set_launch(unsigned int n) { c.flag[4] = n; }

#include "main.h"

static int run(const char *name, void (*kernel)(), const char *only)
{
	void *at;

	if (only && strcmp(only, name))
		return 0;
	cudaGetSymbolAddress(&at, c);
	cudaMemset(at, 0, sizeof(struct cells));
	for (unsigned int i = 0; i < 2; i++) {
		set_launch<<<1, 1>>>(i);
		kernel<<<2, BLOCK, BLOCK * sizeof(int)>>>();
		cudaMemset((char *)at + offsetof(struct cells, flag), 0, 3 * sizeof(int));
	}
	return end_of(name);
}
