// claims.cu - places that a compare-and-swap, an exchange or a counter gives to one thread.
#include <cuda_fp16.h>
#pragma nv_diag_suppress 177,550 // not all kernels use all variables
#define t threadIdx.x
#define b blockIdx.x
#define g (blockIdx.x * blockDim.x + threadIdx.x)
#define ARGS int *out, int *slot, const int *in
#define PLACES                                                                                     \
	int i = in[g] & 63, j = in[g + 256] & 63;                                                  \
	(void)j;

// Who finds E has the place, if nobody puts E.
#define CAS(E, PUTS, WON, AT)                                                                      \
	PLACES int was = atomicCAS(&slot[i], E, PUTS);                                             \
	if (WON)                                                                                   \
		out[AT] = t;
// prove: cas race-free --block-dim=64 --grid-dim=4
__global__ void cas(ARGS) { CAS(0, g + 1, was == 0, i) }
// prove: cas_puts_it potential racy --block-dim=64 --grid-dim=4
__global__ void cas_puts_it(ARGS) { CAS(0, in[g] & 1, was == 0, i) }
// prove: cas_of_minus_1 race-free --block-dim=64 --grid-dim=4
__global__ void cas_of_minus_1(ARGS) { CAS(-1, g, was == -1, i) }
// prove: cas_puts_minus_1 potential racy --block-dim=64 --grid-dim=4
__global__ void cas_puts_minus_1(ARGS) { CAS(-1, (int)g - 1, was == -1, i) }
// prove: cas_elsewhere potential racy --block-dim=64 --grid-dim=4
__global__ void cas_elsewhere(ARGS) { CAS(0, 7, was == 0, j) }
// prove: cas_or_found potential racy --block-dim=64 --grid-dim=4
__global__ void cas_or_found(ARGS) { CAS(0, 7, was == 0 || was == 7, i) }
// prove: cas_lost potential racy --block-dim=64 --grid-dim=4
__global__ void cas_lost(ARGS) { CAS(0, 7, was != 0, i) }
// prove: cas_halves potential racy --block-dim=64 --grid-dim=4
__global__ void cas_halves(ARGS) { CAS(0, 7, was == 0, i / 2) }

// All put one number, so that one finds another; nobody may put a third one.
#define EXCHANGE(PUTS, ALSO)                                                                       \
	PLACES if (atomicExch(&slot[i], PUTS) == 0)                                                \
	{                                                                                          \
		out[2 * i] = t;                                                                    \
		out[2 * i + 1] = t;                                                                \
		ALSO;                                                                              \
	}
// prove: exchange race-free --block-dim=64 --grid-dim=4
__global__ void exchange(ARGS) { EXCHANGE(1, ) }
// prove: exchange_zero potential racy --block-dim=64 --grid-dim=4
__global__ void exchange_zero(ARGS) { EXCHANGE(0, ) }
// prove: exchange_any potential racy --block-dim=64 --grid-dim=4
__global__ void exchange_any(ARGS) { EXCHANGE(in[g] & 1, ) }
// prove: exchange_back potential racy --block-dim=64 --grid-dim=4
__global__ void exchange_back(ARGS) { EXCHANGE(1, atomicExch(&slot[i], 0)) }
// prove: exchange_other_back potential racy --block-dim=64 --grid-dim=4
__global__ void exchange_other_back(ARGS) { EXCHANGE(1, slot[j] = 0) }
// prove: exchange_and_next potential racy --block-dim=64 --grid-dim=4
__global__ void exchange_and_next(ARGS) { EXCHANGE(1, out[2 * i + 2] = t) }
// prove: exchange_of_block potential racy --block-dim=64 --grid-dim=4
__global__ void exchange_of_block(ARGS)
{
	PLACES if (atomicExch_block(&slot[i], 1) == 0)
		out[i] = t;
}

// A table: the next place is tried until one is free.
#define TABLE(KEY, WON)                                                                            \
	int k = KEY;                                                                               \
	unsigned h = k * 2654435761u >> 26;                                                        \
	for (;;) {                                                                                 \
		int was = atomicCAS(&slot[h], 0, k);                                               \
		if (WON)                                                                           \
			break;                                                                     \
		h = (h + 1) & 63;                                                                  \
	}                                                                                          \
	out[h] = t;
// prove: table race-free --block-dim=64 --grid-dim=4
__global__ void table(ARGS) { TABLE((in[g] & 1023) + 1, was == 0) }
// prove: table_key_0 potential racy --block-dim=64 --grid-dim=4
__global__ void table_key_0(ARGS) { TABLE(in[g] & 1023, was == 0) }
// prove: table_same_key potential racy --block-dim=64 --grid-dim=4
__global__ void table_same_key(ARGS) { TABLE((in[g] & 1023) + 1, was == 0 || was == k) }

// What the last of some tries says; or any of them.
#define TRIES(OK, AT)                                                                              \
	int i, won = 0, n = 0;                                                                     \
	do {                                                                                       \
		i = in[g + 256 * n] & 63;                                                          \
		won OK atomicExch(&slot[i], 1) == 0;                                               \
	} while (++n < 5);                                                                         \
	if (won)                                                                                   \
		out[AT] = t;
// prove: tries_last race-free --block-dim=64 --grid-dim=4
__global__ void tries_last(ARGS) { TRIES(=, i) }
// prove: tries_any potential racy --block-dim=64 --grid-dim=4
__global__ void tries_any(ARGS) { TRIES(|=, i) }
// prove: tries_first potential racy --block-dim=64 --grid-dim=4
__global__ void tries_first(ARGS) { TRIES(=, in[g] & 63) }

// A block's own places, which are free before all claims.
#define OF_BLOCK(AT, LATER)                                                                        \
	__shared__ int s[64];                                                                      \
	s[t] = 0;                                                                                  \
	__syncthreads();                                                                           \
	int i = in[g] & 63;                                                                        \
	if (atomicExch(&s[i], 1) == 0)                                                             \
		out[AT] = t;                                                                       \
	LATER;
// prove: of_block race-free --block-dim=64 --grid-dim=4
__global__ void of_block(ARGS) { OF_BLOCK(b * 64 + i, ) }
// prove: of_block_again race-free --block-dim=64 --grid-dim=4
__global__ void of_block_again(ARGS) { OF_BLOCK(b * 64 + i, __syncthreads(); s[t] = 0) }
// prove: of_blocks potential racy --block-dim=64 --grid-dim=4
__global__ void of_blocks(ARGS) { OF_BLOCK(i, ) }
// prove: of_block_freed potential racy --block-dim=64 --grid-dim=4
__global__ void of_block_freed(ARGS) { OF_BLOCK(b * 64 + i, if (t == 5) atomicExch(&s[3], 0)) }

// A counter of each cell, and so many places.
#define CELLS(STEP, SIZE, LIMIT)                                                                   \
	PLACES unsigned n = atomicAdd(&((unsigned *)slot)[i], STEP);                               \
	if (n < LIMIT)                                                                             \
		out[i * SIZE + n] = t;
// prove: cells race-free --block-dim=64 --grid-dim=4
__global__ void cells(ARGS) { CELLS(1, 40, 40) }
// prove: cells_full potential racy --block-dim=64 --grid-dim=4
__global__ void cells_full(ARGS) { CELLS(1, 40, 41) }
// prove: cells_even potential racy --block-dim=64 --grid-dim=4
__global__ void cells_even(ARGS) { CELLS(in[g], 40, 40) }

// A sum of floats may stay what it was, so that two threads are given one number: 1e9f + 0.1f. Of a
// packed sum each half may.
#define SUMS(TYPE, STEP, BITS, AT)                                                                 \
	PLACES TYPE one = STEP, was = atomicAdd((TYPE *)slot + i, one);                            \
	if (*(unsigned *)&was == BITS)                                                             \
		out[AT] = t;
// prove: sums potential racy --block-dim=64 --grid-dim=4
__global__ void sums(ARGS) { SUMS(float, .1f, 0x4e6e6b28, i) }
// prove: sums_packed potential racy --block-dim=64 --grid-dim=4
__global__ void sums_packed(ARGS) { SUMS(__half2, __floats2half2_rn(.1f, 1), 0x7bff7bff, i) }
// prove: sums_of_one potential racy --block-dim=64 --grid-dim=4
__global__ void sums_of_one(ARGS)
{
	if (__float_as_uint(atomicAdd((float *)slot, .1f)) == 0x4e6e6b28)
		out[0] = t;
}
// prove: sums_apart race-free --block-dim=64 --grid-dim=4
__global__ void sums_apart(ARGS) { SUMS(float, .1f, 0x4e6e6b28, g) }

// The halves of a packed sum are operations of their own: what sets the whole word races with them.
#define HALVES(SET)                                                                                \
	__shared__ unsigned sum;                                                                   \
	if (t == 0)                                                                                \
		sum = 0;                                                                           \
	__syncthreads();                                                                           \
	atomicAdd((__half2 *)&sum, __floats2half2_rn(1, 1));                                       \
	SET;                                                                                       \
	__syncthreads();                                                                           \
	if (t == 0)                                                                                \
		out[blockIdx.x] = sum;
// prove: halves race-free --block-dim=64
__global__ void halves(int *out)
{
	HALVES(if (t == 9) atomicAdd((__half *)&sum + 1, __float2half(2)))
}
// prove: halves_set_later race-free --block-dim=64
__global__ void halves_set_later(int *out)
{
	HALVES(__syncthreads(); if (t == 9) atomicExch(&sum, 5))
}
// prove: halves_set potential racy --block-dim=64
__global__ void halves_set(int *out)
{
	HALVES(if (t == 9) atomicExch(&sum, 5))
}
