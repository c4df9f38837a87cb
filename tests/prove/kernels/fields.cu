/*
 * fields.cu - branches that are chosen by a field of a packed word, as the kind of a group that is
 * only known when the kernel runs.
 */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

struct team {
	unsigned kind : 4, width : 6, rest : 22;
};

__device__ __noinline__ int sum(cg::thread_group g, int *x, int v)
{
	unsigned t = g.thread_rank();
	for (unsigned i = g.size() / 2; i > 0; i /= 2) {
		x[t] = v;
		g.sync();
		if (t < i)
			v += x[t + i];
		g.sync();
	}
	return v;
}

// prove: sum_of_group race-free --block-dim=64 --grid-dim=4
__global__ void sum_of_group(int *out, const int *in)
{
	__shared__ int x[64];
	cg::thread_block b = cg::this_thread_block();
	int v = sum(b, x, in[blockIdx.x * 64 + threadIdx.x]);
	if (!threadIdx.x)
		out[blockIdx.x] = v;
}

__device__ __noinline__ int sum_early(cg::thread_group g, int *x, int v)
{
	unsigned t = g.thread_rank();
	for (unsigned i = g.size() / 2; i > 0; i /= 2) {
		x[t] = v;
		g.sync();
		if (t < i)
			v += x[t + i];
	}
	return v;
}

// The next round's stores don't wait for the reads of this one.
// prove: sum_of_group_early true --block-dim=64 --grid-dim=4
__global__ void sum_of_group_early(int *out, const int *in)
{
	__shared__ int x[64];
	cg::thread_block b = cg::this_thread_block();
	int v = sum_early(b, x, in[blockIdx.x * 64 + threadIdx.x]);
	if (!threadIdx.x)
		out[blockIdx.x] = v;
}

__device__ void meet(team *t)
{
	if (t->kind == 9)
		__syncthreads();
	else if (t->kind == 10)
		__syncwarp();
}

// Of a word from memory two fields are written; the rest stays as it was.
// prove: kind_of_team race-free --block-dim=64 --grid-dim=4
__global__ void kind_of_team(int *out, const team *in)
{
	__shared__ int x[64];
	team t = in[threadIdx.x];
	t.kind = 9;
	t.width = threadIdx.x & 31;
	x[threadIdx.x] = t.rest;
	meet(&t);
	out[blockIdx.x * 64 + threadIdx.x] = x[63 - threadIdx.x];
}

// The kind that waits for the lanes of a warp only.
// prove: kind_of_team_warp true --block-dim=64 --grid-dim=4
__global__ void kind_of_team_warp(int *out, const team *in)
{
	__shared__ int x[64];
	team t = in[threadIdx.x];
	t.kind = 10;
	t.width = threadIdx.x & 31;
	x[threadIdx.x] = t.rest;
	meet(&t);
	out[blockIdx.x * 64 + threadIdx.x] = x[63 - threadIdx.x];
}

// The same function for the block, then for its tiles, each with a part of the array.
// prove: sum_of_tiles race-free --block-dim=64 --grid-dim=4
__global__ void sum_of_tiles(int *out, const int *in)
{
	__shared__ int x[64];
	cg::thread_block b = cg::this_thread_block();
	int v = sum(b, x, in[blockIdx.x * 64 + threadIdx.x]);
	b.sync();
	auto t = cg::tiled_partition<16>(b);
	v += sum(t, x + (b.thread_rank() - t.thread_rank()), in[threadIdx.x]);
	if (!t.thread_rank())
		out[blockIdx.x * 4 + threadIdx.x / 16] = v;
}

// All tiles have one part.
// prove: sum_of_tiles_in_one potential racy --block-dim=64 --grid-dim=4
__global__ void sum_of_tiles_in_one(int *out, const int *in)
{
	__shared__ int x[64];
	cg::thread_block b = cg::this_thread_block();
	int v = sum(b, x, in[blockIdx.x * 64 + threadIdx.x]);
	b.sync();
	auto t = cg::tiled_partition<16>(b);
	v += sum(t, x, in[threadIdx.x]);
	if (!t.thread_rank())
		out[blockIdx.x * 4 + threadIdx.x / 16] = v;
}

// Tiles of 32 with the parts of tiles of 16.
// prove: sum_of_tiles_across potential racy --block-dim=64 --grid-dim=4
__global__ void sum_of_tiles_across(int *out, const int *in)
{
	__shared__ int x[128];
	cg::thread_block b = cg::this_thread_block();
	auto t = cg::tiled_partition<32>(b);
	int v = sum(t, x + threadIdx.x / 32 * 16, in[threadIdx.x]);
	if (!t.thread_rank())
		out[blockIdx.x * 2 + threadIdx.x / 32] = v;
}

// Ranks by the lanes below in a mask that the lane gives: of a tile, and of each fourth lane.
// prove: rank_in_tile race-free --block-dim=64 --grid-dim=4
__global__ void rank_in_tile(int *out)
{
	__shared__ int x[64];
	unsigned t = threadIdx.x, lane = t & 31, below = (1u << lane) - 1;
	unsigned rank = __popc(0xffu << (lane & ~7u) & below);
	unsigned nth = __popc(0x11111111u << (lane & 3) & below);
	x[(t & ~7u) + rank] = t;
	__syncthreads();
	out[blockIdx.x * 64 + (t & ~31u) + (lane & 3) * 8 + nth] = x[t];
}

// Without the lane's residue, four lanes have one place.
// prove: rank_in_tile_only potential racy --block-dim=64 --grid-dim=4
__global__ void rank_in_tile_only(int *out)
{
	unsigned t = threadIdx.x, lane = t & 31, below = (1u << lane) - 1;
	unsigned nth = __popc(0x11111111u << (lane & 3) & below);
	out[blockIdx.x * 64 + (t & ~31u) + nth] = t;
}
