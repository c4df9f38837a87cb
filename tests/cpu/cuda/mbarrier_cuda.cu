// mbarrier_cuda.cu - cuda::barrier: producers and consumers in one block, and a bulk copy (TMA).
//
//! buffer out s32 384
//! buffer in s32 512 = iota
//! buffer twice s32 512
//! launch exchange grid=1 block=128 -- out
//! launch bulk grid=2 block=96 -- in twice
//! expect out = 63 62 61
//! expect out[63] = 0 1063 1062
//! expect out[320] = 5063 5062
//! expect twice = 1 3 5 7
//! expect twice[511] = 1023
#include <cuda/barrier>
#include <cuda/ptx>

#define ITEMS 64
#define ROUNDS 6

using barrier = cuda::barrier<cuda::thread_scope_block>;

/* Threads 0..63 produce, 64..127 consume; two buffers, a full and an empty barrier for each. */
extern "C" __global__ void exchange(int *out)
{
	__shared__ int buf[2][ITEMS];
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ barrier full[2], empty[2];
	if (threadIdx.x < 4)
		init(threadIdx.x < 2 ? &full[threadIdx.x] : &empty[threadIdx.x - 2], 2 * ITEMS);
	__syncthreads();
	int t = threadIdx.x % ITEMS;
	if (threadIdx.x < ITEMS) {
		for (int i = 0; i < ROUNDS; i++) {
			empty[i % 2].arrive_and_wait();
			buf[i % 2][t] = i * 1000 + t;
			(void)full[i % 2].arrive();
		}
	} else {
		(void)empty[0].arrive();
		(void)empty[1].arrive();
		for (int i = 0; i < ROUNDS; i++) {
			full[i % 2].arrive_and_wait();
			out[i * ITEMS + t] = buf[i % 2][ITEMS - 1 - t];
			if (i + 2 < ROUNDS)
				(void)empty[i % 2].arrive();
		}
	}
}

/* One thread copies a block's slice in and out in bulk. */
extern "C" __global__ void bulk(const int *in, int *out)
{
	__shared__ alignas(16) int buf[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ barrier bar;
	if (threadIdx.x == 0) {
		init(&bar, blockDim.x);
		cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
	}
	__syncthreads();
	barrier::arrival_token token;
	if (threadIdx.x == 0) {
		cuda::memcpy_async(buf, in + blockIdx.x * 256, cuda::aligned_size_t<16>(sizeof(buf)), bar);
		token = cuda::device::barrier_arrive_tx(bar, 1, 0);
	} else {
		token = bar.arrive();
	}
	bar.wait(std::move(token));
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		buf[i] = buf[i] * 2 + 1;
	cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
	__syncthreads();
	if (threadIdx.x == 0) {
		cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared,
					 out + blockIdx.x * 256, buf, sizeof(buf));
		cuda::ptx::cp_async_bulk_commit_group();
		cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
	}
}
