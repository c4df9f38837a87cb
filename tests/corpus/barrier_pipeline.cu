// cuda::barrier, cuda::pipeline, memcpy_async, semaphores, latches, atomics of libcu++.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void pipelined(const float4 *in, float4 *out, int n)
{
	__shared__ float4 tile[2][128];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	cg::thread_block block = cg::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);

	for (int load = 0, use = 0; use < n; use++) {
		for (; load < n && load < use + 2; load++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, tile[load % 2], in + load * 128, sizeof(tile[0]),
					   pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		out[use * 128 + threadIdx.x] = tile[use % 2][127 - threadIdx.x];
		pipe.consumer_release();
	}
}

__global__ void barriers(int *a, int *b, int n)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	extern __shared__ int words[];

	if (threadIdx.x == 0)
		init(&bar, blockDim.x);
	__syncthreads();
	cuda::memcpy_async(words + threadIdx.x, a + threadIdx.x, cuda::aligned_size_t<4>(4), bar);
	bar.arrive_and_wait();
	b[threadIdx.x] = words[n - 1 - threadIdx.x];
	bar.wait(bar.arrive(1));
	if (threadIdx.x == 3)
		bar.arrive_and_drop();
	cg::memcpy_async(cg::this_thread_block(), words, b, n * sizeof(int));
	cg::wait(cg::this_thread_block());
	a[threadIdx.x] = words[threadIdx.x];
}

__global__ void semaphores(cuda::counting_semaphore<cuda::thread_scope_device, 4> *s, int *a,
			   cuda::latch<cuda::thread_scope_device> *l)
{
	s->acquire();
	a[blockIdx.x]++;
	s->release();
	l->arrive_and_wait();
}
