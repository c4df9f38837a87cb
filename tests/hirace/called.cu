// called.cu - accesses and synchronisation in functions that are called; cases.py runs and judges.
//
// The ends of names are those of cases.cu, and _unseen: a race that isn't followed (the oracle sees it).
// A function that belongs to one kernel has its name and _in behind it. With optimisation __noinline__
// keeps the calls; cases.py builds this file with -G and with -Xcicc -O0, too.
#include <cuda_runtime.h>

#define BLOCK 64
#define IN    __device__ __noinline__

__device__ __align__(16) unsigned int word[4096];
__device__ __align__(16) unsigned char byte[4096];
__device__ unsigned int flag, lock, sink[4096];

__device__ __forceinline__ unsigned int me() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Called by several kernels, with and without fences, partial masks, tables of shared memory.
IN void all_meet() { __syncthreads(); }
IN void lanes_meet() { __syncwarp(); }

// ---- accesses --------------------------------------------------------------------------------------

IN void same_word_race_in(unsigned int *p) { *p = threadIdx.x; }
__global__ void same_word_race() { same_word_race_in(word); }
IN void own_word_clean_in(unsigned int *p) { *p = threadIdx.x; }
__global__ void own_word_clean() { own_word_clean_in(&word[me()]); }

IN void callee_and_kernel_race_in(unsigned int i) { word[i] = i; }
__global__ void callee_and_kernel_race()
{
	callee_and_kernel_race_in(me());
	sink[me()] = word[me() ^ 33];
}
IN void callee_and_kernel_clean_in(unsigned int i) { word[i] = i; }
__global__ void callee_and_kernel_clean()
{
	callee_and_kernel_clean_in(me());
	sink[me()] = word[me()];
}

IN unsigned int deep_race_in3(const unsigned int *p) { return p[threadIdx.x ^ 40] + 1; }
IN unsigned int deep_race_in2(const unsigned int *p) { return deep_race_in3(p) * 2; }
IN void deep_race_in(unsigned int *p)
{
	p[threadIdx.x] = 3;
	sink[me()] = deep_race_in2(p);
}
__global__ void deep_race() { deep_race_in(&word[blockIdx.x * BLOCK]); }

IN void bytes_race_in(unsigned char *p) { *p = (unsigned char)me(); }
__global__ void bytes_race() { bytes_race_in(&byte[threadIdx.x]); }
IN void bytes_clean_in(unsigned char *p) { *p = (unsigned char)me(); }
__global__ void bytes_clean() { bytes_clean_in(&byte[me()]); }

// The kernel's own accesses are of words.
IN void byte_in_word_race_in(unsigned char *p) { *p = 1; }
__global__ void byte_in_word_race()
{
	if (me() == 0)
		word[0] = 7;
	else if (me() == 33)
		byte_in_word_race_in((unsigned char *)word + 2);
}

struct pack {
	unsigned int v[6];
};
IN struct pack by_value_clean_in(struct pack p, unsigned int *out)
{
	for (int i = 0; i < 6; i++)
		out[i] = p.v[5 - i];
	p.v[0] = out[2];
	return p;
}
__global__ void by_value_clean()
{
	struct pack p = {{me(), 1, 2, 3, 4, 5}};

	sink[me()] = by_value_clean_in(p, &word[8 * me()]).v[0];
}

IN unsigned int table_of_branches_race_in(unsigned int i, unsigned int *p)
{
	switch (i) {
	case 0: return p[3];
	case 1: return p[9] + 1;
	case 2: return p[7] * 3;
	case 3: __syncthreads(); return p[5] ^ 9;
	case 4: return p[11] / 3;
	case 5: p[64] = threadIdx.x; return 2;
	case 6: return p[14] - 1;
	case 7: return p[15] + p[2];
	}
	return 0;
}
__global__ void table_of_branches_race(unsigned int i)
{
	sink[me()] = table_of_branches_race_in(i, word);
}

// ---- barriers --------------------------------------------------------------------------------------

__global__ void barrier_in_callee_clean()
{
	word[me()] = 1;
	all_meet();
	sink[me()] = word[me() ^ 33];
}
__global__ void warp_for_block_race()
{
	word[me()] = 1;
	lanes_meet();
	sink[me()] = word[me() ^ 33];
}
__global__ void warp_in_callee_clean()
{
	word[me()] = 1;
	lanes_meet();
	sink[me()] = word[me() ^ 1];
}
IN void half_of_lanes_race_in(unsigned int mask) { __syncwarp(mask); }
__global__ void half_of_lanes_race()
{
	word[me()] = 1;
	half_of_lanes_race_in(threadIdx.x & 16 ? 0xffff0000u : 0xffffu);
	sink[me()] = word[me() ^ 16];
}
IN void half_of_lanes_clean_in(unsigned int mask) { __syncwarp(mask); }
__global__ void half_of_lanes_clean()
{
	word[me()] = 1;
	half_of_lanes_clean_in(threadIdx.x & 16 ? 0xffff0000u : 0xffffu);
	sink[me()] = word[me() ^ 1];
}
IN void loop_race_in(unsigned int i) { word[me()] = i; }
__global__ void loop_race()
{
	for (unsigned int i = 0; i < 3; i++) {
		loop_race_in(i);
		all_meet();
		sink[me()] = word[me() ^ 33]; // the next iteration writes it
	}
}
IN void loop_clean_in(unsigned int i) { word[me()] = i; }
__global__ void loop_clean()
{
	for (unsigned int i = 0; i < 3; i++) {
		loop_clean_in(i);
		all_meet();
		sink[me()] = word[me() ^ 33];
		all_meet();
	}
}

// ---- recursion -------------------------------------------------------------------------------------

IN unsigned int recursion_race_in(unsigned int n)
{
	unsigned int was = word[me() ^ 33];

	word[me()] = n;
	return n ? recursion_race_in(n - 1) + was : was;
}
__global__ void recursion_race() { sink[me()] = recursion_race_in(3); }
IN unsigned int recursion_clean_in(unsigned int n)
{
	unsigned int was = word[me() ^ 33];

	__syncthreads();
	word[me()] = n;
	__syncthreads();
	return n ? recursion_clean_in(n - 1) + was : was;
}
__global__ void recursion_clean() { sink[me()] = recursion_clean_in(3); }

// ---- shared memory ---------------------------------------------------------------------------------

IN void shared_pointer_race_in(unsigned int *p) { p[threadIdx.x] = me(); }
__global__ void shared_pointer_race()
{
	__shared__ unsigned int tile[BLOCK];

	shared_pointer_race_in(tile);
	sink[me()] = tile[threadIdx.x ^ 33];
}
IN void shared_pointer_clean_in(unsigned int *p) { p[threadIdx.x] = me(); }
__global__ void shared_pointer_clean()
{
	__shared__ unsigned int tile[BLOCK];

	shared_pointer_clean_in(tile);
	all_meet();
	sink[me()] = tile[threadIdx.x ^ 33];
}
IN unsigned int shared_of_callee_race_in()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	return tile[threadIdx.x ^ 33];
}
__global__ void shared_of_callee_race() { sink[me()] = shared_of_callee_race_in(); }
IN unsigned int shared_of_callee_clean_in()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	__syncthreads();
	return tile[threadIdx.x ^ 33];
}
__global__ void shared_of_callee_clean() { sink[me()] = shared_of_callee_clean_in(); }

// ---- atomics, fences, flags ------------------------------------------------------------------------

IN unsigned int add_clean_in(unsigned int *p) { return atomicAdd(p, 1); }
__global__ void add_clean() { sink[me()] = add_clean_in(word); }
IN void add_and_store_race_in(unsigned int *p) { atomicAdd(p, 1); }
__global__ void add_and_store_race()
{
	if (me() == 100)
		word[0] = 0;
	else
		add_and_store_race_in(word);
}
IN void message_quiet_in()
{
	__threadfence();
	atomicExch(&flag, 1);
}
IN void message_quiet_in2()
{
	while (atomicAdd(&flag, 0) == 0)
		;
	__threadfence();
}
__global__ void message_quiet()
{
	if (me() == 0) {
		word[0] = 7;
		message_quiet_in();
	} else if (me() == BLOCK) {
		message_quiet_in2();
		sink[0] = word[0];
	}
}

IN void message_without_fence_race_in() { atomicExch(&flag, 1); }
IN void message_without_fence_race_in2()
{
	while (atomicAdd(&flag, 0) == 0)
		;
	__threadfence();
}
__global__ void message_without_fence_race()
{
	if (me() == 0) {
		word[0] = 7;
		message_without_fence_race_in();
	} else if (me() == BLOCK) {
		message_without_fence_race_in2();
		sink[0] = word[0];
	}
}
IN void lock_quiet_in()
{
	while (atomicCAS(&lock, 0, 1) != 0)
		;
	__threadfence();
}
IN void lock_quiet_in2()
{
	__threadfence();
	atomicExch(&lock, 0);
}
__global__ void lock_quiet()
{
	if (threadIdx.x)
		return;
	lock_quiet_in();
	word[0] += 1;
	lock_quiet_in2();
}

// ---- what ends, or isn't followed ------------------------------------------------------------------

IN void some_leave_race_in(unsigned int i)
{
	if (i % 3 == 0)
		asm volatile("exit;");
	word[i / 4] = i;
}
__global__ void some_leave_race()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	some_leave_race_in(me());
	sink[me()] = tile[threadIdx.x];
}
IN void some_leave_clean_in(unsigned int i)
{
	if (i % 3 == 0)
		asm volatile("exit;");
	word[i] = i;
}
__global__ void some_leave_clean()
{
	__shared__ unsigned int tile[BLOCK];

	tile[threadIdx.x] = me();
	some_leave_clean_in(me());
	sink[me()] = tile[threadIdx.x];
}
IN void named_barrier_possible_in() { asm volatile("barrier.sync 1, 64;" ::: "memory"); }
__global__ void named_barrier_possible()
{
	word[threadIdx.x] = blockIdx.x;
	named_barrier_possible_in();
}
IN void through_pointer_unseen_in(unsigned int i) { word[0] = i; }
__device__ void (*pointer)(unsigned int) = through_pointer_unseen_in;
__global__ void through_pointer_unseen()
{
	void (*volatile p)(unsigned int) = pointer;

	p(me());
}

static void launch(void (*f)()) { f<<<2, BLOCK>>>(); }
static void launch(void (*f)(unsigned int)) { f<<<2, BLOCK>>>(5); }

#define LAUNCH(f)                                                                                     \
	cudaMemset(zeroes, 0, sizeof(unsigned int));                                                  \
	launch(f);                                                                                    \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                   \
		return 1;

int main()
{
	void *zeroes;

	cudaGetSymbolAddress(&zeroes, flag);
#include "launches.h"
	return 0;
}
