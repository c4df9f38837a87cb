// Cooperative groups: grid, tiles, coalesced groups, reductions, scans.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void groups(unsigned *a, int n)
{
	cg::grid_group grid = cg::this_grid();
	cg::thread_block block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	auto quad = cg::tiled_partition<4>(warp);
	auto dynamic = cg::tiled_partition(block, 16);
	unsigned i = (unsigned)grid.thread_rank(), v = a[i];

	v += warp.shfl_down(v, 3) + quad.shfl_xor(v, 1) + dynamic.size();
	v += cg::reduce(warp, v, cg::plus<unsigned>());
	v += cg::exclusive_scan(quad, v);
	if (v % 3 == 0) {
		cg::coalesced_group some = cg::coalesced_threads();
		v += some.thread_rank() + some.shfl(v, 0) + some.ballot(v & 1);
		if (some.thread_rank() == 0)
			atomicAdd(a + n, some.size());
	}
	auto by_value = cg::labeled_partition(warp, (int)(v & 3));
	v += cg::reduce(by_value, v, cg::greater<unsigned>());
	grid.sync();
	a[i] = v + a[(i + 1) % n];
	block.sync();
	auto at = block.barrier_arrive();
	v = a[i];
	block.barrier_wait(std::move(at));
	a[i] = v + warp.any(v > 7) + warp.match_any(v);
}
