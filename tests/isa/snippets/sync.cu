// targets: sm_80 sm_90; at least 60
// Cooperative groups, cuda::atomic, cuda::barrier, pipelines, fences and votes.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#pragma nv_diag_suppress static_var_with_dynamic_init
namespace cg = cooperative_groups;

__global__ void groups(int *p, volatile int *v)
{
	auto block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	__shared__ int s[256];
	cg::memcpy_async(block, s, p, sizeof(s));
	cg::wait(block);
	int x = cg::reduce(warp, s[threadIdx.x], cg::plus<int>());
	if (warp.any(x > 3) && warp.match_any(x))
		x += warp.shfl_down(x, 1) + __ballot_sync(~0u, x > 1) + v[1];
	v[0] = x;
	auto live = cg::coalesced_threads();
	p[live.thread_rank()] = x;
	__threadfence_block();
	__threadfence();
	__threadfence_system();
	cg::this_grid().sync();
	p[300] = __syncthreads_count(x) + __syncthreads_and(x > 2);
	__nanosleep(100);
}

__global__ void orders(cuda::atomic<int> *a, cuda::atomic<unsigned long long,
		       cuda::thread_scope_device> *d, int *p)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	__shared__ int s[256];
	auto block = cg::this_thread_block();
	if (!threadIdx.x)
		init(&bar, blockDim.x);
	block.sync();
	auto pipe = cuda::make_pipeline(block, &state);
	pipe.producer_acquire();
	cuda::memcpy_async(block, s, p, cuda::aligned_size_t<16>(sizeof(s)), pipe);
	pipe.producer_commit();
	pipe.consumer_wait();
	p[threadIdx.x + 512] = s[threadIdx.x];
	pipe.consumer_release();
	bar.arrive_and_wait();
	cuda::memcpy_async(s + threadIdx.x, p + threadIdx.x, sizeof(int), bar);
	bar.wait(bar.arrive());
	a->store(s[3], cuda::memory_order_release);
	while (!a->load(cuda::memory_order_acquire))
		;
	a->fetch_add(1);
	d->exchange(7, cuda::memory_order_acq_rel);
	d->fetch_or(7, cuda::memory_order_relaxed);
	cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
	__pipeline_commit();
}
