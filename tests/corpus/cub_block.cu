// CUB block-wide and warp-wide primitives in one kernel.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

__global__ void block(const unsigned *in, unsigned *out)
{
	typedef cub::BlockLoad<unsigned, 128, 4, cub::BLOCK_LOAD_TRANSPOSE> Load;
	typedef cub::BlockRadixSort<unsigned, 128, 4, int> Sort;
	typedef cub::BlockScan<unsigned, 128> Scan;
	typedef cub::WarpReduce<unsigned> Reduce;
	__shared__ union {
		Load::TempStorage load;
		Sort::TempStorage sort;
		Scan::TempStorage scan;
		Reduce::TempStorage reduce[4];
	} tmp;
	unsigned v[4];
	int at[4] = {0, 1, 2, 3};

	Load(tmp.load).Load(in + blockIdx.x * 512, v);
	__syncthreads();
	Sort(tmp.sort).SortDescending(v, at);
	__syncthreads();
	Scan(tmp.scan).ExclusiveSum(v, v);
	__syncthreads();
	unsigned sum = Reduce(tmp.reduce[threadIdx.x / 32]).Sum(v[0] + at[1]);
	out[blockIdx.x * 128 + threadIdx.x] = sum + v[3];
}
