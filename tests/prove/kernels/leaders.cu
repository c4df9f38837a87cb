// leaders.cu - places that lanes share out of one addition by the first of them; X is what differs.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress 177,550 // not all kernels use all variables
#define ALL 0xffffffffu
#define t threadIdx.x
#define lane (threadIdx.x % 32)
#define g (blockIdx.x * blockDim.x + threadIdx.x)
#define below ((1u << lane) - 1)
#define ARGS unsigned *out, unsigned *count, const int *in, int n
#define EACH for (int i = g; i < n; i += gridDim.x * blockDim.x)

// Lanes that come together.
#define COME(COUNT, IS_FIRST, FROM, RANK, AT)                                                      \
	EACH                                                                                       \
	{                                                                                          \
		if (in[i] <= 0)                                                                    \
			continue;                                                                  \
		unsigned m = __activemask(), base = 0, rank = __popc(m & below);                   \
		if (IS_FIRST)                                                                      \
			base = atomicAdd(count, COUNT);                                            \
		base = __shfl_sync(m, base, FROM);                                                 \
		unsigned at = base + RANK;                                                         \
		out[AT] = i;                                                                       \
	}
#define FIRST (__ffs(m) - 1)
// prove: come race-free
__global__ void come(ARGS) { COME(__popc(m), rank == 0, FIRST, rank, at) }
// prove: come_by_lane race-free --block-dim=128 --grid-dim=4
__global__ void come_by_lane(ARGS) { COME(__popc(m), lane == FIRST, FIRST, rank, at) }
// prove: come_in_pairs race-free --block-dim=128 --grid-dim=4
__global__ void come_in_pairs(ARGS)
{
	COME(__popc(m), rank == 0, FIRST, rank, 2ull * at] = out[2ull * at + 1)
}
// prove: come_halved potential racy --block-dim=128 --grid-dim=4
__global__ void come_halved(ARGS) { COME(__popc(m), rank == 0, FIRST, rank, at / 2) }
// prove: come_short potential racy --block-dim=128 --grid-dim=1024
__global__ void come_short(ARGS) { COME(__popc(m), rank == 0, FIRST, rank, (unsigned short)at) }
// prove: come_less potential racy --block-dim=128 --grid-dim=4
__global__ void come_less(ARGS) { COME(__popc(m) - 1, rank == 0, FIRST, rank, at) }
// prove: come_one potential racy --block-dim=128 --grid-dim=4
__global__ void come_one(ARGS) { COME(1, rank == 0, FIRST, rank, at) }
// prove: come_below potential racy --block-dim=128 --grid-dim=4
__global__ void come_below(ARGS) { COME(rank, rank == 0, FIRST, rank, at) }
// prove: come_unranked potential racy --block-dim=128 --grid-dim=4
__global__ void come_unranked(ARGS) { COME(__popc(m), rank == 0, FIRST, 0, at) }
// prove: come_with_own potential racy --block-dim=128 --grid-dim=4
__global__ void come_with_own(ARGS) { COME(__popc(m), rank == 0, FIRST, __popc(m & (2 * below + 1)), at) }
// prove: come_by_number potential racy --block-dim=128 --grid-dim=4
__global__ void come_by_number(ARGS) { COME(__popc(m), rank == 0, FIRST, lane, at) }
// prove: come_last potential racy --block-dim=128 --grid-dim=4
__global__ void come_last(ARGS) { COME(__popc(m), lane == 31 - __clz(m), FIRST, rank, at) }
// prove: come_from_last potential racy --block-dim=128 --grid-dim=4
__global__ void come_from_last(ARGS) { COME(__popc(m), rank == 0, 31 - __clz(m), rank, at) }
// prove: come_from_0 potential racy --block-dim=128 --grid-dim=4
__global__ void come_from_0(ARGS) { COME(__popc(m), rank == 0, 0, rank, at) }
// prove: come_second potential racy --block-dim=128 --grid-dim=4
__global__ void come_second(ARGS) { COME(__popc(m), rank == 1, FIRST, rank, at) }
// prove: come_sometimes potential racy --block-dim=128 --grid-dim=4
__global__ void come_sometimes(ARGS) { COME(__popc(m), rank == 0 && in[i] != 7, FIRST, rank, at) }
// prove: come_reset potential racy --block-dim=128 --grid-dim=4
__global__ void come_reset(ARGS)
{
	COME(__popc(m), rank == 0, FIRST, rank, at)
	if (g == 0)
		atomicExch(count, 0);
}
// prove: come_per_block potential racy --block-dim=128 --grid-dim=4
__global__ void come_per_block(ARGS)
{
	count += blockIdx.x;
	COME(__popc(m), rank == 0, FIRST, rank, at)
}

// Lanes that came together before some of them went another way.
#define LATER(WHEN, MASK)                                                                          \
	EACH                                                                                       \
	{                                                                                          \
		unsigned m = __activemask(), base = 0, rank = __popc(m & below);                   \
		if (WHEN)                                                                          \
			continue;                                                                  \
		if (rank == 0)                                                                     \
			base = atomicAdd(count, __popc(m));                                        \
		base = __shfl_sync(MASK, base, FIRST);                                             \
		out[base + rank] = i;                                                              \
	}
// prove: later potential free --block-dim=128 --grid-dim=4
__global__ void later(ARGS) { LATER(n < 0, m) }
// prove: later_some potential racy --block-dim=128 --grid-dim=4
__global__ void later_some(ARGS) { LATER(in[i] <= 0, __activemask()) }

// An answer of the turn before, of which the others know nothing.
// prove: late_answer potential racy --block-dim=128 --grid-dim=4
__global__ void late_answer(ARGS)
{
	unsigned last = 0;
	EACH
	{
		unsigned m = __activemask(), rank = __popc(m & below);
		unsigned base = __shfl_sync(m, last, FIRST);
		if (rank == 0)
			last = atomicAdd(count, __popc(m));
		out[base + rank] = i;
	}
}

// All lanes add, and a choice without a branch takes the first one's: before the shuffle, or for
// the one of the next turn, when the same register is written later in the block.
#define CHOOSE(BEFORE, AFTER)                                                                      \
	unsigned last = 0;                                                                         \
	EACH                                                                                       \
	{                                                                                          \
		unsigned m = __activemask(), rank = __popc(m & below);                             \
		unsigned old = atomicAdd(count, __popc(m));                                        \
		BEFORE;                                                                            \
		unsigned base = __shfl_sync(m, last, FIRST);                                       \
		AFTER;                                                                             \
		out[base + rank] = i;                                                              \
	}
// prove: chosen race-free --block-dim=128 --grid-dim=4
__global__ void chosen(ARGS) { CHOOSE(last = rank == 0 ? old : 0, ) }
// prove: chosen_late potential racy --block-dim=128 --grid-dim=4
__global__ void chosen_late(ARGS) { CHOOSE(, last = rank == 0 ? old : 0) }

// Lanes that vote.
#define VOTE(P, LANES, WHEN, COUNT, IS_FIRST, FROM, RANK)                                          \
	EACH                                                                                       \
	{                                                                                          \
		int v = in[i];                                                                     \
		unsigned m = __ballot_sync(LANES, P), base = 0;                                    \
		if (WHEN) {                                                                        \
			if (IS_FIRST)                                                              \
				base = atomicAdd(count, COUNT);                                    \
			base = __shfl_sync(m, base, FROM);                                         \
			out[base + RANK] = i;                                                      \
		}                                                                                  \
	}
#define RANK __popc(m & below)
// prove: vote race-free --block-dim=128 --grid-dim=4
__global__ void vote(ARGS) { VOTE(v > 0, ALL, v > 0, __popc(m), lane == FIRST, FIRST, RANK) }
// prove: vote_by_rank race-free --block-dim=128 --grid-dim=4
__global__ void vote_by_rank(ARGS) { VOTE(v > 0, ALL, v > 0, __popc(m), RANK == 0, FIRST, RANK) }
// prove: vote_other potential racy --block-dim=128 --grid-dim=4
__global__ void vote_other(ARGS) { VOTE(v > 0, ALL, v >= 0, __popc(m), lane == FIRST, FIRST, RANK) }
// prove: vote_against potential racy --block-dim=128 --grid-dim=4
__global__ void vote_against(ARGS) { VOTE(v > 0, ALL, v > 0, __popc(~m), lane == FIRST, FIRST, RANK) }
// prove: vote_above potential racy --block-dim=128 --grid-dim=4
__global__ void vote_above(ARGS) { VOTE(v > 0, ALL, v > 0, __popc(m), lane == FIRST, FIRST, __popc(m & below & ~1)) }
// prove: vote_of_half potential racy --block-dim=128 --grid-dim=4
__global__ void vote_of_half(ARGS)
{
	VOTE(v > 0, lane < 16 ? 0xffffu : 0xffff0000u, v > 0, __popc(m) / 2, lane == FIRST, FIRST, RANK)
}

// All lanes come to the shuffle.
#define VOTE_ALL(WHEN, TWICE)                                                                      \
	EACH                                                                                       \
	{                                                                                          \
		int v = in[i];                                                                     \
		unsigned m = __ballot_sync(ALL, v > 0), base = 0;                                  \
		TWICE;                                                                             \
		if (lane == FIRST)                                                                 \
			base = atomicAdd(count, __popc(m));                                        \
		base = __shfl_sync(ALL, base, FIRST);                                              \
		if (WHEN)                                                                          \
			out[base + RANK] = i;                                                      \
	}
// prove: vote_all race-free --block-dim=128 --grid-dim=4
__global__ void vote_all(ARGS) { VOTE_ALL(v > 0, ) }
// prove: vote_all_store potential racy --block-dim=128 --grid-dim=4
__global__ void vote_all_store(ARGS) { VOTE_ALL(v >= 0, ) }
// prove: vote_all_twice potential free --block-dim=128 --grid-dim=4
__global__ void vote_all_twice(ARGS) { VOTE_ALL(v > 0, m |= __ballot_sync(ALL, v < 0)) }

// A counter of the block.
#define OF_BLOCK(AT)                                                                               \
	__shared__ unsigned own;                                                                   \
	if (t == 0)                                                                                \
		own = 0;                                                                           \
	__syncthreads();                                                                           \
	if (g < n && in[g] > 0) {                                                                  \
		unsigned m = __activemask(), base = 0;                                             \
		if (lane == FIRST)                                                                 \
			base = atomicAdd(&own, __popc(m));                                         \
		base = __shfl_sync(m, base, FIRST);                                                \
		out[AT + base + RANK] = g;                                                         \
	}
// prove: of_block race-free --block-dim=128 --grid-dim=1
__global__ void of_block(ARGS) { OF_BLOCK(0) }
// prove: of_blocks potential racy --block-dim=128 --grid-dim=4
__global__ void of_blocks(ARGS) { OF_BLOCK(0) }

// As cooperative groups have it.
__device__ unsigned next(unsigned *count, unsigned more)
{
	cg::coalesced_group all = cg::coalesced_threads();
	unsigned base = 0;
	if (all.thread_rank() == 0)
		base = atomicAdd(count, all.size() - more);
	return all.shfl(base, 0) + all.thread_rank();
}
// prove: by_group race-free --block-dim=128 --grid-dim=4
__global__ void by_group(ARGS) { EACH if (in[i] > 0) out[next(count, 0)] = i; }
// prove: by_group_less potential racy --block-dim=128 --grid-dim=4
__global__ void by_group_less(ARGS) { EACH if (in[i] > 0) out[next(count, 1)] = i; }
