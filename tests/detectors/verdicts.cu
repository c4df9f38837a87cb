// verdicts.cu - small kernels about what a finding is called; verdicts.py runs and judges them.
//
// The end of a kernel's name is what every detector must say of it:
//	_race	a data race
//	_seed	no data race; the load is the seed of a compare-and-swap loop
//	_same	a data race of equal values: the oracle says so, --same-value=ignore leaves it out
//	_lockstep	the oracle: an unordered volatile conflict; hirace, iguard: nothing
//	_clean	nothing
// Each is launched with two blocks of two warps.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define BLOCK	    64
#define SEEDS(name) __global__ void name##_seed()
#define RACES(name) __global__ void name##_race()

struct cells {
	int word[64];
	float sum[4];
	double high[4];
	__half2 pair[4];
	unsigned short narrow[4];
	int flag[4];
};
__device__ struct cells c;
__device__ int sink[4096];

__device__ __forceinline__ int me()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

/* ---- the seed of a compare-and-swap loop --------------------------------------------------- */

/* As the CUDA guide writes it; a macro, so that each kernel has a line of its own. */
#define CAS(T, at, next)                                                                           \
	do {                                                                                       \
		T old = *(at), assumed;                                                            \
		do {                                                                               \
			assumed = old;                                                             \
			old = atomicCAS(at, assumed, (T)(next));                                   \
		} while (assumed != old);                                                          \
	} while (0)
#define AS_LONG(x) __double_as_longlong(__longlong_as_double((long long)assumed) + (x))

SEEDS(of_an_int) { CAS(int, &c.word[1], assumed + 3); }
SEEDS(of_a_float) { CAS(int, (int *)&c.sum[1], __float_as_int(__int_as_float(assumed) + 1.0f)); }
SEEDS(of_a_double) { CAS(unsigned long long, (unsigned long long *)&c.high[1], AS_LONG(1.0)); }
SEEDS(of_a_maximum)
{
	float mine = (float)me();
	CAS(int, (int *)&c.sum[2], __float_as_int(fmaxf(mine, __int_as_float(assumed))));
}
SEEDS(of_two_halves) { CAS(unsigned int, (unsigned int *)&c.pair[1], assumed + 0x00010001u); }
SEEDS(of_16_bits) { CAS(unsigned short, &c.narrow[2], assumed + 1); }
SEEDS(beside_a_sum)
{
	if (me() & 1)
		CAS(int, &c.word[2], assumed + 1);
	else
		atomicAdd(&c.word[2], 1);
}
__global__ void in_shared_memory_seed()
{
	__shared__ int s;
	if (threadIdx.x == 0)
		s = 0;
	__syncthreads();
	CAS(int, &s, assumed + 1);
	__syncthreads();
	sink[me()] = s;
}
// The other side is a plain store.
RACES(beside_a_store)
{
	if (me() == 100)
		c.word[3] = 5;
	else
		CAS(int, &c.word[3], assumed + 1);
}
// The value decides whether anything is added.
RACES(decides)
{
	int old = c.word[4], assumed;
	while (old < 40) {
		assumed = old;
		old = atomicCAS(&c.word[4], assumed, assumed + 1);
		if (old == assumed)
			break;
	}
}
// The value goes elsewhere, too.
RACES(is_kept)
{
	int old = c.word[5], first = old, assumed;
	do {
		assumed = old;
		old = atomicCAS(&c.word[5], assumed, assumed + 1);
	} while (assumed != old);
	sink[me()] = first;
}
// Of another location.
RACES(of_another)
{
	int old = c.word[6];
	atomicCAS(&c.word[7], old, old + 1);
	atomicAdd(&c.word[6], 1);
}
// The twin: the seed is loaded strongly.
__global__ void relaxed_clean()
{
	int old = *(volatile int *)&c.word[8], assumed;
	do {
		assumed = old;
		old = atomicCAS(&c.word[8], assumed, assumed + 1);
	} while (assumed != old);
}

/* ---- equal values ---------------------------------------------------------------------------- */

// Lanes of several warps, in one and in several instructions.
__global__ void flags_same()
{
	__shared__ int seen;
	if (threadIdx.x == 0)
		seen = 0;
	__syncthreads();
	if (threadIdx.x % 3 == 0)
		seen = 1;
	__syncthreads();
	sink[me()] = seen;
}
__global__ void of_blocks_same()
{
	c.flag[1] = 7;
}
RACES(of_one_warp_differ)
{
	if (threadIdx.x < 32)
		c.flag[2] = (int)threadIdx.x / 16;
}
RACES(of_warps_differ)
{
	c.flag[3] = (int)threadIdx.x / 32;
}
// Equal thousands of times, and then they differ: within a warp, and of two warps.
RACES(of_one_warp_differ_late)
{
	__shared__ int at;
	for (int i = 0; i < 200 && threadIdx.x < 32; i++) {
		at = i < 199 ? 7 : (int)threadIdx.x;
		__threadfence_block();
	}
	__syncthreads();
	sink[me()] = at;
}
RACES(of_warps_differ_late)
{
	__shared__ int at;
	for (int i = 0; i < 200; i++) {
		at = i < 199 ? 7 : 7 + (int)threadIdx.x / 32;
		__threadfence_block();
	}
	__syncthreads();
	sink[me()] = at;
}
__global__ void often_same()
{
	for (int i = 0; i < 200; i++) {
		c.word[50] = 7;
		__threadfence();
	}
}
__global__ void by_one_clean()
{
	__shared__ int seen;
	if (threadIdx.x == 0)
		seen = 1;
	__syncthreads();
	sink[me()] = seen;
}

/* ---- lockstep -------------------------------------------------------------------------------- */

// The tail of a reduction that counts on lanes in lockstep.
__device__ __forceinline__ void tail(volatile int *s, int t, bool is_synced)
{
#pragma unroll
	for (int d = 16; d; d /= 2) {
		int v = s[t] + s[t + d];
		if (is_synced)
			__syncwarp();
		s[t] = v;
		if (is_synced)
			__syncwarp();
	}
}
__device__ __forceinline__ void sum_by(bool is_synced)
{
	__shared__ int s[2 * BLOCK];
	s[threadIdx.x] = me();
	s[threadIdx.x + BLOCK] = 0;
	__syncthreads();
	if (threadIdx.x < 32)
		tail(s, threadIdx.x, is_synced);
	__syncthreads();
	if (threadIdx.x == 0)
		sink[me()] = s[0];
}
__global__ void tail_lockstep() { sum_by(false); }
__global__ void tail_clean() { sum_by(true); }
// Each lane shifts its neighbour's value.
__global__ void shift_lockstep()
{
	volatile int *w = c.word + 32;
	if (me() < 16) {
		int v = w[me() + 1];
		w[me()] = v;
	}
}
// A flag between lanes is polled, and what it orders is behind fences.
__global__ void polled_clean()
{
	volatile int *flag = &c.flag[0], *data = &c.word[30];
	if (me() == 0) {
		*data = 5;
		__threadfence();
		*flag = 1;
	} else if (me() == 1) {
		while (*flag == 0)
			;
		__threadfence();
		sink[1] = *data;
	}
}
// A lock between lanes.
__global__ void locked_clean()
{
	volatile int *data = &c.word[31];
	for (int i = 0; i < 32; i++) {
		if ((int)threadIdx.x % 32 == i) {
			while (atomicCAS(&c.flag[1], 0, 1) != 0)
				;
			__threadfence();
			*data = *data + 1;
			__threadfence();
			atomicExch(&c.flag[1], 0);
		}
	}
}
// A lock that every lane takes. While a check delays the lock's holder the others don't try for ever.
__global__ void all_lanes_clean()
{
	for (bool done = false; !done;) {
		if (atomicExch(&c.flag[1], 1) == 0) {
			__threadfence();
			c.word[30] += c.word[30] < me() ? me() : 1;
			__threadfence();
			atomicExch(&c.flag[1], 0);
			done = true;
		}
	}
}
// Its own locations only.
__global__ void own_clean()
{
	volatile int *w = c.word;
	if (me() < 64)
		w[me()] = w[me()] + 1;
}

/* ---- who races with whom --------------------------------------------------------------------- */

// A part of what another warp stores: each side has its own address.
RACES(within_a_vector)
{
	__shared__ __align__(16) int4 s[2];
	for (int i = 0; i < 20; i++) {
		if (threadIdx.x == 0)
			s[1] = make_int4(i, 1, 2, 3);
		if (threadIdx.x == 32)
			((volatile int *)s)[6] = i;
	}
	__syncthreads();
	sink[me()] = s[1].z;
}
// The word's last thread has loaded; the store is what the other block's load races with.
RACES(store_then_load)
{
	if (blockIdx.x == 1) {
		if (threadIdx.x == 0)
			c.word[20] = 1;
		__syncthreads();
		if (threadIdx.x == 1)
			sink[1] = c.word[20];
	} else if (threadIdx.x == 1) {
		__nanosleep(100000);
		sink[0] = c.word[20];
	}
}
// All load, and the first of them stores.
RACES(loads_then_store)
{
	int v = c.word[21];
	sink[me()] = v;
	if (me() == 0)
		c.word[21] = v + 1;
}

#define LAUNCH(f)                                                                                  \
	cudaMemset(at, 0, sizeof(struct cells));                                                   \
	f<<<2, BLOCK>>>();                                                                         \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                \
		return 1;

int main()
{
	void *at;

	cudaGetSymbolAddress(&at, c);
#include "launches.h"
	return 0;
}
