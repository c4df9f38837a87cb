// async_pipeline.cu - cuda::pipeline: a block-wide ring of stages, and one of each thread.
//
//! buffer in s32 320 = iota
//! buffer out s32 320
//! launch ring grid=1 block=64 -- in out 5:s32
//! launch own grid=1 block=64 -- in out 5:s32
//! expect out = 64*64
//! expect out[64] = 192*64
//! expect out[256] = 576*64
#include <cooperative_groups.h>
#include <cuda/pipeline>

#define BATCH 64

extern "C" __global__ void ring(const int *in, int *out, int batches)
{
	namespace cg = cooperative_groups;
	auto block = cg::this_thread_block();
	__shared__ int buf[2][BATCH];
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	auto pipe = cuda::make_pipeline(block, &state);

	for (int i = 0, fetched = 0; i < batches; i++) {
		for (; fetched < batches && fetched < i + 2; fetched++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, buf[fetched % 2], in + fetched * BATCH,
					   sizeof(int) * BATCH, pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		/* what another thread copied */
		int v = buf[i % 2][BATCH - 1 - threadIdx.x];
		out[i * BATCH + threadIdx.x] = v + 1;
		pipe.consumer_release();
	}
}

extern "C" __global__ void own(const int *in, int *out, int batches)
{
	__shared__ int buf[3][BATCH];
	auto pipe = cuda::make_pipeline();

	for (int i = 0, fetched = 0; i < batches; i++) {
		for (; fetched < batches && fetched < i + 3; fetched++) {
			pipe.producer_acquire();
			cuda::memcpy_async(&buf[fetched % 3][threadIdx.x], in + fetched * BATCH + threadIdx.x,
					   sizeof(int), pipe);
			pipe.producer_commit();
		}
		cuda::pipeline_consumer_wait_prior<2>(pipe);
		if (i + 2 >= batches)
			cuda::pipeline_consumer_wait_prior<0>(pipe);
		out[i * BATCH + threadIdx.x] += buf[i % 3][threadIdx.x];
		pipe.consumer_release();
	}
}
