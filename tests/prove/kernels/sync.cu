/*
 * sync.cu - atomics, fences, flags, warps: what orders and what doesn't.
 */

// prove: histogram race-free
__global__ void histogram(unsigned *bins, const unsigned char *data, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		atomicAdd(&bins[data[i]], 1u);
}

// prove: histogram_plain potential racy CIDD
__global__ void histogram_plain(unsigned *bins, const unsigned char *data)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	bins[data[i]] += 1u;
}

// prove: histogram_shared race-free --block-dim=256
__global__ void histogram_shared(unsigned *bins, const unsigned char *data, int n)
{
	__shared__ unsigned s[256];
	s[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&s[data[i]], 1u);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

// prove: histogram_no_barrier true --block-dim=256
__global__ void histogram_no_barrier(unsigned *bins, int n)
{
	__shared__ unsigned s[256];
	s[threadIdx.x] = 0;
	bins[threadIdx.x] = s[255 - threadIdx.x];
}

// prove: block_scope true
__global__ void block_scope(unsigned *sum)
{
	atomicAdd_block(sum, threadIdx.x + blockIdx.x);
}

// prove: atomic_and_plain true
__global__ void atomic_and_plain(unsigned *sum)
{
	if (threadIdx.x == 0)
		sum[0] = 0;
	else
		atomicAdd(sum, 1u);
}

// prove: flag potential racy
__global__ void flag(volatile int *f, int *data)
{
	if (threadIdx.x == 0) {
		data[0] = 1;
		__threadfence();
		f[0] = 1;
	} else if (f[0]) {
		__threadfence();
		data[0] = 2;
	}
}

// prove: last_block potential free
__global__ void last_block(float *g, unsigned *ticket)
{
	__shared__ bool last;
	if (threadIdx.x == 0)
		g[blockIdx.x] = 1;
	__threadfence();
	if (threadIdx.x == 0)
		last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
	__syncthreads();
	if (last && threadIdx.x == 0)
		g[0] = g[gridDim.x - 1];
}

// prove: shuffle_only single
__global__ void shuffle_only(float *g)
{
	float v = g[threadIdx.x];
	v += __shfl_down_sync(~0u, v, 1);
	g[threadIdx.x] = v;
}

// prove: recursion unproven free
__device__ int down(int n)
{
	return n > 0 ? down(n - 1) + 1 : 0;
}
__global__ void recursion(int *g)
{
	g[threadIdx.x] = down(g[threadIdx.x]);
}

__device__ void copy_in(int *to, const int *from)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
		     "l"(from)
		     : "memory");
}

// prove: copy_waited single --block-dim=64
__global__ void copy_waited(int *out, const int *in)
{
	__shared__ int s[64];
	copy_in(&s[threadIdx.x], &in[threadIdx.x]);
	asm volatile("cp.async.wait_all;" ::: "memory");
	__syncthreads();
	out[threadIdx.x] = s[63 - threadIdx.x];
}

// prove: copy_no_barrier true --block-dim=64
__global__ void copy_no_barrier(int *out, const int *in)
{
	__shared__ int s[64];
	copy_in(&s[threadIdx.x], &in[threadIdx.x]);
	asm volatile("cp.async.wait_all;" ::: "memory");
	out[threadIdx.x] = s[63 - threadIdx.x];
}

// The barrier doesn't wait for the copy.
// prove: copy_not_waited true racy --block-dim=64
__global__ void copy_not_waited(int *out, const int *in)
{
	__shared__ int s[64];
	copy_in(&s[threadIdx.x], &in[threadIdx.x]);
	__syncthreads();
	out[threadIdx.x] = s[63 - threadIdx.x];
}

// The thread itself must wait, too.
// prove: copy_own_too_early true racy --block-dim=64
__global__ void copy_own_too_early(int *out, const int *in)
{
	__shared__ int s[64];
	copy_in(&s[threadIdx.x], &in[threadIdx.x]);
	int v = s[threadIdx.x];
	asm volatile("cp.async.wait_all;" ::: "memory");
	out[threadIdx.x] = v;
}

// prove: bulk_copy true racy
__global__ void bulk_copy(int *g)
{
	__shared__ int s[4];
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" ::"l"(g),
		     "r"((unsigned)__cvta_generic_to_shared(s)));
	g[threadIdx.x] = s[0];
}

// One lane waits for the other block, the warp barrier hands the order on to its lanes.
// prove: handed_on potential free --block-dim=32 --grid-dim=2
__global__ void handed_on(unsigned *message, unsigned *f, unsigned *heard)
{
	if (blockIdx.x == 0) {
		message[threadIdx.x] = threadIdx.x;
		__syncwarp();
		if (threadIdx.x == 0) {
			__threadfence();
			atomicExch(f, 1);
		}
	} else {
		if (threadIdx.x == 0) {
			while (atomicAdd(f, 0) == 0)
				;
			__threadfence();
		}
		__syncwarp();
		heard[threadIdx.x] = message[(threadIdx.x + 1) % 32];
	}
}

#include <cooperative_groups.h>
#include <utility>
namespace cg = cooperative_groups;

// prove: grid_sync race-free --block-dim=64 --assume=gridDim.y==1&&gridDim.z==1
__global__ void grid_sync(float *a, float *b)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
	a[i] = 1.0f;
	cg::this_grid().sync();
	b[i] = a[n - 1 - i];
}

// prove: grid_sync_missing true --block-dim=64 --assume=gridDim.y==1&&gridDim.z==1
__global__ void grid_sync_missing(float *a, float *b)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
	a[i] = 1.0f;
	__syncthreads();
	b[i] = a[n - 1 - i];
}

// The grid waits for what comes before the arrival; kept apart from the wait it isn't known as one.
#define SPLIT(BEFORE, BETWEEN)                                                                     \
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;            \
	BEFORE;                                                                                    \
	cg::grid_group::arrival_token token = cg::this_grid().barrier_arrive();                    \
	BETWEEN;                                                                                   \
	cg::this_grid().barrier_wait(std::move(token));                                            \
	b[i] = a[n - 1 - i];
// prove: grid_split potential free --block-dim=64 --assume=gridDim.y==1&&gridDim.z==1
__global__ void grid_split(float *a, float *b) { SPLIT(a[i] = 1.0f, ) }
// prove: grid_split_late potential racy --block-dim=64 --assume=gridDim.y==1&&gridDim.z==1
__global__ void grid_split_late(float *a, float *b) { SPLIT(, a[i] = 1.0f) }

// prove: grid_sync_loop race-free --block-dim=64 --assume=gridDim.y==1&&gridDim.z==1
__global__ void grid_sync_loop(float *a, float *b, int n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, last = gridDim.x * blockDim.x - 1;
	cg::grid_group g = cg::this_grid();
	for (int k = 0; k < n; k++) {
		a[i] = b[i];
		g.sync();
		b[i] = a[last - i];
		g.sync();
	}
}

// One barrier of the grid too few: the next iteration's store meets this one's load.
// prove: grid_sync_loop_once true --block-dim=64 --assume=gridDim.y==1&&gridDim.z==1
__global__ void grid_sync_loop_once(float *a, float *b, int n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, last = gridDim.x * blockDim.x - 1;
	cg::grid_group g = cg::this_grid();
	for (int k = 0; k < n; k++) {
		a[i] = b[i];
		g.sync();
		b[i] = a[last - i];
	}
}

// prove: block_group single --block-dim=64
__global__ void block_group(float *a)
{
	__shared__ float s[64];
	s[threadIdx.x] = a[threadIdx.x];
	cg::this_thread_block().sync();
	a[threadIdx.x] = s[63 - threadIdx.x];
}

// prove: mbarrier race-free --block-dim=64 --grid-dim=1
__global__ void mbarrier(float *a)
{
	__shared__ float s[64];
	__shared__ unsigned long long b;
	unsigned at = (unsigned)__cvta_generic_to_shared(&b);
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at));
	__syncthreads();
	s[threadIdx.x] = a[threadIdx.x];
	unsigned long long token;
	unsigned done;
	asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory");
	do {
		asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2;"
			     " selp.u32 %0, 1, 0, p; }"
			     : "=r"(done)
			     : "r"(at), "l"(token)
			     : "memory");
	} while (!done);
	a[threadIdx.x] = s[63 - threadIdx.x];
}
