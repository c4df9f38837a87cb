// Atomics of every width, scope and order; fences.
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T, cuda::thread_scope S> __device__ T orders(T *p, T v)
{
	cuda::atomic_ref<T, S> r(*p);
	T seen = r.load(cuda::memory_order_relaxed) + r.load(cuda::memory_order_acquire);

	r.store(v, cuda::memory_order_release);
	seen += r.fetch_add(v, cuda::memory_order_acq_rel);
	seen += r.exchange(v, cuda::memory_order_seq_cst);
	r.compare_exchange_strong(seen, v, cuda::memory_order_release, cuda::memory_order_acquire);
	cuda::atomic_thread_fence(cuda::memory_order_seq_cst, S);
	cuda::atomic_thread_fence(cuda::memory_order_acquire, S);
	return seen;
}

__global__ void scoped(unsigned *a, unsigned long long *b, short *c)
{
	__shared__ unsigned s;
	int t = threadIdx.x;

	s = 0;
	__syncthreads();
	a[t] = orders<unsigned, cuda::thread_scope_device>(a + t, 3) +
	       orders<unsigned, cuda::thread_scope_block>(&s, 4);
	b[t] = orders<unsigned long long, cuda::thread_scope_system>(b + t, 5);
	c[t] = orders<short, cuda::thread_scope_device>(c + t, 6);
}

__global__ void classic(int *i, unsigned *u, unsigned long long *l, float *f, double *d, __half2 *h,
			__nv_bfloat162 *bf)
{
	int t = threadIdx.x;

	atomicAdd(i, t);
	atomicSub(i + 1, t);
	atomicExch(f, 1.0f);
	atomicMin(i + 2, t);
	atomicMax(u, t);
	atomicInc(u + 1, 100);
	atomicDec(u + 2, 100);
	atomicCAS(l, 0ull, 1ull + t);
	atomicAnd(u + 3, 3);
	atomicOr(l + 1, 4ull);
	atomicXor_system(u + 4, t);
	atomicAdd_block(f + 1, 2.0f);
	atomicAdd(d, 3.0);
	atomicAdd(h, __half2half2(__float2half(1.0f)));
	atomicAdd(bf, __float2bfloat162_rn(1.0f));
	i[10] = atomicMin(i + 3, 4) + (int)atomicMax(l + 2, 7ull);
	__threadfence_block();
	__threadfence();
	__threadfence_system();
}
