// Tiles of a warp: every barrier of lanes has the mask of the thread's own tile.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// prove: exchange race-free --block-dim=64 --grid-dim=1
__global__ void exchange(int *p)
{
	__shared__ int s[1024];
	auto t = cg::tiled_partition<16>(cg::this_thread_block());
	int i = threadIdx.x;
	s[i] = i;
	t.sync();
	p[i] = s[i ^ 8];
}

// prove: exchange_far potential racy --block-dim=64 --grid-dim=1
__global__ void exchange_far(int *p)
{
	__shared__ int s[1024];
	auto t = cg::tiled_partition<16>(cg::this_thread_block());
	int i = threadIdx.x;
	s[i] = i;
	t.sync();
	p[i] = s[i ^ 16];
}

// prove: exchange_some true --block-dim=64 --grid-dim=1
__global__ void exchange_some(int *p)
{
	__shared__ int s[1024];
	auto t = cg::tiled_partition<16>(cg::this_thread_block());
	int i = threadIdx.x;
	s[i] = i;
	if (i & 8)
		t.sync();
	p[i] = s[i ^ 8];
}

// prove: tree_of_tile race-free --block-dim=64 --grid-dim=1
__global__ void tree_of_tile(int *p)
{
	__shared__ int s[1024];
	auto t = cg::tiled_partition<8>(cg::this_thread_block());
	int i = threadIdx.x, l = t.thread_rank();
	s[i] = p[i];
	t.sync();
	for (int k = 4; k > 0; k /= 2) {
		if (l < k)
			s[i] += s[i + k];
		t.sync();
	}
	p[i] = s[i - l];
}

// The first of the halves reaches into the next tile.
// prove: tree_too_high potential racy --block-dim=64 --grid-dim=1
__global__ void tree_too_high(int *p)
{
	__shared__ int s[1024];
	auto t = cg::tiled_partition<8>(cg::this_thread_block());
	int i = threadIdx.x, l = t.thread_rank();
	s[i] = p[i];
	t.sync();
	for (int k = 8; k > 0; k /= 2) {
		if (l < k)
			s[i] += s[i + k];
		t.sync();
	}
	p[i] = s[i - l];
}
