// Blocks and clusters: flags, semaphores, look-back, split sums, partners.
// flags: -std=c++17
#include "pairs.h"
#include <cooperative_groups.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;

// Data, then a flag by atomics that order nothing.
template <bool ORDER> __global__ void k_flag(int *data, int *flag, int *out)
{
	if (blockIdx.x == 0) {
		data[threadIdx.x] = threadIdx.x + 1;
		if (ORDER)
			__threadfence();
		__syncthreads();
		if (threadIdx.x == 0)
			atomicExch(flag, 1);
	} else {
		if (threadIdx.x == 0)
			while (atomicAdd(flag, 0) == 0)
				;
		__syncthreads();
		if (ORDER)
			__threadfence();
		out[threadIdx.x] = data[threadIdx.x];
	}
}
template <bool ORDER> void flag()
{
	k_flag<ORDER><<<2, 64>>>(device<int>(64), device<int>(1), device<int>(64));
}

// The last block adds what the others have left.
template <bool ORDER>
__global__ void k_last_block(const int *in, int *part, unsigned *count, int *out)
{
	__shared__ bool is_last;
	int t = threadIdx.x;

	if (t == 0) {
		part[blockIdx.x] = in[blockIdx.x] * 2;
		if (ORDER)
			__threadfence();
		is_last = atomicAdd(count, 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (is_last && t == 0) {
		int sum = 0;
		if (ORDER)
			__threadfence();
		for (unsigned i = 0; i < gridDim.x; i++)
			sum += part[i];
		*out = sum;
	}
}
template <bool ORDER> void last_block()
{
	k_last_block<ORDER>
		<<<12, 32>>>(device<int>(12), device<int>(12), device<unsigned>(1), device<int>(1));
}

// Decoupled look-back: a tile's value before its state.
template <bool ORDER> __global__ void k_look_back(const int *in, int *value, int *state, int *out)
{
	if (threadIdx.x)
		return;
	int b = blockIdx.x, sum = in[b];

	if (b) {
		cuda::atomic_ref<int, cuda::thread_scope_device> before(state[b - 1]);
		while (!before.load(ORDER ? cuda::memory_order_acquire
					  : cuda::memory_order_relaxed))
			;
		sum += value[b - 1];
	}
	value[b] = sum;
	cuda::atomic_ref<int, cuda::thread_scope_device> own(state[b]);
	own.store(1, ORDER ? cuda::memory_order_release : cuda::memory_order_relaxed);
	out[b] = sum;
}
template <bool ORDER> void look_back()
{
	k_look_back<ORDER><<<200, 32>>>(device<int>(200), device<int>(200), device<int>(200),
					device<int>(200));
}

// Split-k: tiles are added in turn, by a semaphore.
template <bool ORDER> __global__ void k_split(float *tile, int *turn, int slices)
{
	int slice = blockIdx.x;

	if (threadIdx.x == 0)
		while (atomicAdd(turn, 0) != slice)
			;
	__syncthreads();
	if (ORDER)
		__threadfence();
	tile[threadIdx.x] += slice;
	if (ORDER)
		__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		atomicExch(turn, slice + 1);
}
template <bool ORDER> void split()
{
	k_split<ORDER><<<6, 64>>>(device<float>(64), device<int>(1), 6);
}

// A release for its own block's threads only.
template <bool ORDER> __global__ void k_scope(int *data, int *flag, int *out)
{
	if (threadIdx.x)
		return;
	constexpr auto scope = ORDER ? cuda::thread_scope_device : cuda::thread_scope_block;
	cuda::atomic_ref<int, scope> f(*flag);

	if (blockIdx.x == 0) {
		*data = 7;
		f.store(1, cuda::memory_order_release);
	} else {
		while (!f.load(cuda::memory_order_acquire))
			;
		*out = *data;
	}
}
template <bool ORDER> void scope()
{
	k_scope<ORDER><<<2, 32>>>(device<int>(1), device<int>(1), device<int>(1));
}

// A partner's shared memory before the cluster has met.
template <bool ORDER> __global__ void __cluster_dims__(2, 1, 1) k_partner(int *out)
{
	__shared__ int s[64];
	cg::cluster_group c = cg::this_cluster();

	s[threadIdx.x] = threadIdx.x + c.block_rank();
	if (ORDER)
		c.sync();
	else
		__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] =
		*c.map_shared_rank(&s[threadIdx.x], c.block_rank() ^ 1);
	c.sync();
}
template <bool ORDER> void partner()
{
	k_partner<ORDER><<<4, 64>>>(device<int>(256));
}

// Clusters chosen at the launch.
template <bool ORDER> __global__ void k_at_launch(int *out)
{
	__shared__ int s[64];
	cg::cluster_group c = cg::this_cluster();

	s[threadIdx.x] = 0;
	c.sync();
	c.map_shared_rank(s, (c.block_rank() + 1) % c.num_blocks())[threadIdx.x] = threadIdx.x;
	if (ORDER)
		c.sync();
	out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
	c.sync();
}
template <bool ORDER> void at_launch()
{
	cudaLaunchConfig_t c = {};
	cudaLaunchAttribute a[1];

	c.gridDim = 8;
	c.blockDim = 64;
	a[0].id = cudaLaunchAttributeClusterDimension;
	a[0].val.clusterDim.x = 4;
	a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
	c.attrs = a;
	c.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&c, k_at_launch<ORDER>, device<int>(512)));
}

// A grid barrier left out of a cooperative kernel.
template <bool ORDER> __global__ void k_grid(int *a, int *b)
{
	cg::grid_group g = cg::this_grid();
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;

	a[i] = i;
	if (ORDER)
		g.sync();
	b[i] = a[n - 1 - i];
}
template <bool ORDER> void grid()
{
	int *a = device<int>(40 * 64), *b = device<int>(40 * 64);
	void *args[] = {&a, &b};

	CHECK(cudaLaunchCooperativeKernel((void *)k_grid<ORDER>, 40, 64, args));
}

// Neighbouring tiles in one buffer.
template <bool ORDER> __global__ void k_halo(const float *in, float *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
	float v = in[(i + 1) % n];

	out[i] = v;
}
template <bool ORDER> void halo()
{
	int n = size(50000, 200) * 64;
	float *a = device<float>(n);

	k_halo<ORDER><<<n / 64, 64>>>(a, ORDER ? device<float>(n) : a);
}

// A barrier left out of dynamic shared memory's exchange, in a grid of millions of threads.
extern __shared__ float dynamic[];
template <bool ORDER> __global__ void k_tile(const float *in, float *out, int n)
{
	int t = threadIdx.y * 32 + threadIdx.x, b = blockIdx.y * gridDim.x + blockIdx.x;

	dynamic[t] = in[(b * 256 + t) % n];
	if (ORDER)
		__syncthreads();
	out[(b * 256 + t) % n] = dynamic[255 - t];
}
template <bool ORDER> void tile()
{
	int n = size(100, 8);

	k_tile<ORDER><<<dim3(n, n), dim3(32, 8), 1024>>>(device<float>(n * n * 256),
							 device<float>(n * n * 256), n * n * 256);
}

// A variable of the module, and a constant table.
__device__ int level[64];
__constant__ int table[64];
template <bool ORDER> __global__ void k_variable(int *out)
{
	int t = threadIdx.x;

	level[table[t]] = t;
	if (ORDER)
		__syncthreads();
	out[t] = level[table[(t + 33) % 64]];
}
template <bool ORDER> void variable()
{
	int host[64];

	for (int i = 0; i < 64; i++)
		host[i] = i ^ 5;
	CHECK(cudaMemcpyToSymbol(table, host, sizeof(host)));
	k_variable<ORDER><<<1, 64>>>(device<int>(64));
}

// Which elements of a list are used twice is in memory.
template <bool ORDER> __global__ void k_scatter(const int *index, int *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[index[i]] = i;
}
template <bool ORDER> void scatter()
{
	static int host[512];
	int *index = device<int>(512);

	for (int i = 0; i < 512; i++)
		host[i] = ORDER ? (i * 5) % 512 : (i * 4) % 512;
	CHECK(cudaMemcpy(index, host, sizeof(host), cudaMemcpyHostToDevice));
	k_scatter<ORDER><<<8, 64>>>(index, device<int>(512));
}

PAIRS(PAIR(flag), PAIR(last_block), PAIR(look_back), PAIR(split), PAIR(scope), PAIR(partner),
      PAIR(at_launch), PAIR(grid), PAIR(halo), PAIR(tile), PAIR(variable), PAIR(scatter))
