/*
 * launches.cu - which launches a kernel is asked about: dimensions that only a library reads, and
 * kernels that read no thread's or no block's number.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// ---- one thread or block only ------------------------------------------------------------

// prove: one_word single
// prove: one_word true --block-dim=64
// prove: one_word true --block-dim=1 --grid-dim=2
// prove: one_word race-free --block-dim=1 --grid-dim=1
__global__ void one_word(int *y)
{
	y[0] = y[0] + 1;
}

// prove: no_block single --block-dim=64
// prove: no_block race-free --block-dim=64 --grid-dim=1
// prove: no_block true --block-dim=64 --grid-dim=2
__global__ void no_block(int *y)
{
	y[threadIdx.x] += 1;
}

// prove: no_thread single
// prove: no_thread true --block-dim=2
__global__ void no_thread(int *y)
{
	y[blockIdx.x] = 1;
}

// several threads of several blocks: proven without a number
// prove: only_reads race-free
__global__ void only_reads(int *y, const int *x)
{
	if (x[0] == x[1])
		atomicAdd(y, 1);
}

// prove: every_block race-free
__global__ void every_block(int *y)
{
	__shared__ int s[1024];

	s[threadIdx.x] = 1;
	__syncthreads();
	atomicAdd(y, s[threadIdx.x ^ 1]);
}

// prove: forgot_barrier true
__global__ void forgot_barrier(int *y)
{
	__shared__ int s[1024];

	s[threadIdx.x] = 1;
	atomicAdd(y, s[threadIdx.x ^ 1]);
}

// ---- what a library reads ------------------------------------------------------------------

// prove: whole_grid race-free
__global__ void whole_grid(int *x, int *y)
{
	cg::grid_group g = cg::this_grid();
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	x[i] = 1;
	g.sync();
	y[i] = x[i + 1];
}

// prove: whole_block race-free --grid-dim=1
__global__ void whole_block(int *y)
{
	__shared__ int s[1024];
	auto b = cg::this_thread_block();

	s[threadIdx.x] = 1;
	b.sync();
	y[threadIdx.x] = s[threadIdx.x ^ 8];
}

// prove: reduced race-free
__global__ void reduced(float *y, const float *x, int n)
{
	__shared__ float part[32];
	auto b = cg::this_thread_block();
	auto w = cg::tiled_partition<32>(b);
	float v = 0;

	for (int i = threadIdx.x; i < n; i += blockDim.x)
		v += x[i];
	v = cg::reduce(w, v, cg::plus<float>());
	if (w.thread_rank() == 0)
		part[threadIdx.x / 32] = v;
	b.sync();
	if (threadIdx.x == 0)
		y[blockIdx.x] = part[0] + part[1];
}

// what comes out of the library counts: blocks of two rows write one element twice
// prove: by_index true --grid-dim=1
__global__ void by_index(int *y)
{
	auto b = cg::this_thread_block();

	y[b.thread_index().x + b.thread_index().y] = 1;
}

// prove: by_index_of_x race-free --grid-dim=1
__global__ void by_index_of_x(int *y)
{
	auto b = cg::this_thread_block();

	y[b.thread_index().x] = 1;
	b.sync();
}

// prove: by_branch true --grid-dim=1
__global__ void by_branch(int *y)
{
	auto b = cg::this_thread_block();

	if (b.thread_index().y < 2)
		y[threadIdx.x] = 1;
}
