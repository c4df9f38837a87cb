/* Clusters, asked for by the launch and by the kernel. */
#include <cooperative_groups.h>

#include "expect.h"

namespace cg = cooperative_groups;

__global__ void ranks(int *out)
{
	__shared__ int mine;
	cg::cluster_group cluster = cg::this_cluster();

	if (threadIdx.x == 0)
		mine = 100 + (int)cluster.block_rank();
	cluster.sync();
	if (threadIdx.x == 0) {
		unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
		out[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
	}
	cluster.sync();
}
__global__ void __cluster_dims__(2, 1, 1) pairs(int *out)
{
	if (threadIdx.x == 0)
		out[blockIdx.x] = (int)cg::this_cluster().num_blocks();
}

static cudaError_t launch(void (*k)(int *), int *out, int grid, int size)
{
	cudaLaunchConfig_t c = {};
	cudaLaunchAttribute a[1];

	c.gridDim = grid;
	c.blockDim = 32;
	a[0].id = cudaLaunchAttributeClusterDimension;
	a[0].val.clusterDim.x = size;
	a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
	c.attrs = a;
	c.numAttrs = 1;
	return cudaLaunchKernelEx(&c, k, out);
}

int main()
{
	int *out;

	OK(cudaMallocManaged(&out, 64 * sizeof(int)));
	OK(launch(ranks, out, 8, 4));
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 8; i++)
		THAT(out[i] == 100 + (i + 1) % 4);
	EXPECT(launch(ranks, out, 16, 16), cudaErrorInvalidClusterSize);
	OK(cudaFuncSetAttribute(ranks, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
	OK(launch(ranks, out, 16, 16));
	OK(cudaDeviceSynchronize());
	THAT(out[15] == 100 && out[3] == 104);
	EXPECT(launch(ranks, out, 7, 4), cudaErrorInvalidClusterSize); /* not whole clusters */
	pairs<<<4, 32>>>(out);
	OK(cudaDeviceSynchronize());
	THAT(out[0] == 2 && out[3] == 2);
	puts("ok");
}
