// copies.cu - races of asynchronous copies, with the words that advice must have and must not have.
#include <cuda_runtime.h>
#include <stdint.h>

#define SHARED(p) ((uint32_t)__cvta_generic_to_shared(p))

__device__ void copy(int *to, const int *from)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(from) : "memory");
}

__device__ void commit()
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int n> __device__ void wait_group()
{
	asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

// case copy_wait by oracle: cp\.async\.wait_group not: too early, atomic
__global__ void copy_wait(int *out, const int *p)
{
	__shared__ int s[64];
	copy(&s[threadIdx.x], p + threadIdx.x);
	commit();
	out[threadIdx.x] = s[threadIdx.x];
	wait_group<0>();
}

// case copy_told by oracle: then __syncthreads\(\) not: too early, atomic
__global__ void copy_told(int *out, const int *p)
{
	__shared__ int s[64];
	copy(&s[threadIdx.x], p + threadIdx.x);
	commit();
	wait_group<0>();
	out[threadIdx.x] = s[63 - threadIdx.x];
}

// case copy_off_by_one by oracle: cp\.async\.wait_group not: too early, atomic
__global__ void copy_off_by_one(int *out, const int *p)
{
	__shared__ int s[2][64];
	int sum = 0;
	copy(&s[0][threadIdx.x], p + threadIdx.x);
	commit();
	for (int i = 0; i < 4; i++) {
		wait_group<1>();
		__syncthreads();
		sum += s[i & 1][63 - threadIdx.x];
		__syncthreads();
		copy(&s[~i & 1][threadIdx.x], p + threadIdx.x);
		commit();
	}
	wait_group<0>();
	out[threadIdx.x] = sum;
}

// case copy_refill by oracle hirace iguard unless watch: too early not: wait_group, atomic
__global__ void copy_refill(int *out, const int *p)
{
	__shared__ int s[64];
	int sum = 0;
	for (int i = 0; i < 4; i++) {
		copy(&s[threadIdx.x], p + threadIdx.x);
		commit();
		wait_group<0>();
		__syncthreads();
		sum += s[63 - threadIdx.x];
	}
	out[threadIdx.x] = sum;
}

__device__ void bar_init(uint64_t *bar, unsigned n)
{
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], %1;\n\tfence.proxy.async;" ::"r"(SHARED(bar)),
			     "r"(n)
			     : "memory");
	__syncthreads();
}

__device__ void bulk_load(int *to, const int *from, unsigned bytes, uint64_t *bar)
{
	asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(SHARED(bar)),
		     "r"(bytes)
		     : "memory");
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
			     SHARED(to)),
		     "l"(from), "r"(bytes), "r"(SHARED(bar))
		     : "memory");
}

__device__ void bar_wait(uint64_t *bar, unsigned parity)
{
	asm volatile("{ .reg .pred p;\n"
		     "AGAIN: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
		     "@!p bra AGAIN; }" ::"r"(SHARED(bar)),
		     "r"(parity)
		     : "memory");
}

// case bulk_wait by oracle: wait on the copy's mbarrier not: too early, wait_group
__global__ void bulk_wait(int *out, const int *p)
{
	__shared__ alignas(128) int s[64];
	__shared__ uint64_t bar;
	bar_init(&bar, 1);
	if (threadIdx.x == 0)
		bulk_load(s, p, 256, &bar);
	for (int i = 0; i < 20; i++)
		__nanosleep(500);
	out[threadIdx.x] = s[threadIdx.x];
	bar_wait(&bar, 0);
}

// The copy is issued late: no refill, nothing had been there before.
// case bulk_first by oracle: wait on the copy's mbarrier not: too early, wait_group
__global__ void bulk_first(int *out, const int *p)
{
	__shared__ alignas(128) int s[64];
	__shared__ uint64_t bar;
	bar_init(&bar, 1);
	if (threadIdx.x == 0) {
		for (int i = 0; i < 20; i++)
			__nanosleep(500);
		bulk_load(s, p, 256, &bar);
	}
	out[threadIdx.x] = threadIdx.x >= 32 ? s[threadIdx.x - 32] : 0;
	bar_wait(&bar, 0);
}

// case bulk_phase by oracle: parity not: too early, wait_group
__global__ void bulk_phase(int *out, const int *p)
{
	__shared__ alignas(128) int s[64];
	__shared__ uint64_t bar;
	bar_init(&bar, 1);
	if (threadIdx.x == 0)
		bulk_load(s, p, 256, &bar);
	__syncthreads();
	bar_wait(&bar, 1);
	for (int i = 0; i < 20; i++)
		__nanosleep(500);
	out[threadIdx.x] = s[threadIdx.x];
	bar_wait(&bar, 0);
}

// case bulk_refill by oracle unless watch: too early not: wait on the copy's mbarrier, wait_group
__global__ void bulk_refill(int *out, const int *p)
{
	__shared__ alignas(128) int s[64];
	__shared__ uint64_t bar;
	int sum = 0;
	bar_init(&bar, 1);
	for (int i = 0; i < 4; i++) {
		if (threadIdx.x == 0)
			bulk_load(s, p, 256, &bar);
		bar_wait(&bar, i & 1);
		sum += s[63 - threadIdx.x];
		asm volatile("fence.proxy.async;" ::: "memory");
	}
	out[threadIdx.x] = sum;
}

// case bulk_source by oracle: wait_group\.read not: too early, mbarrier
__global__ void bulk_source(int *out, const int *)
{
	__shared__ alignas(128) int s[64];
	s[threadIdx.x] = 1;
	asm volatile("fence.proxy.async;" ::: "memory");
	__syncthreads();
	if (threadIdx.x == 0)
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n\t"
			     "cp.async.bulk.commit_group;" ::"l"(out),
			     "r"(SHARED(s))
			     : "memory");
	s[threadIdx.x] = 2;
	if (threadIdx.x == 0)
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// case bulk_proxy by oracle: fence\.proxy\.async not: wait_group, too early
__global__ void bulk_proxy(int *out, const int *)
{
	__shared__ alignas(128) int s[64];
	s[threadIdx.x] = 1;
	__syncthreads();
	if (threadIdx.x == 0)
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n\t"
			     "cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::"l"(out + 64),
			     "r"(SHARED(s))
			     : "memory");
}

int main()
{
	int *out, *p;
	cudaMalloc(&out, 4096);
	cudaMalloc(&p, 4096);
	cudaMemset(p, 0, 4096);
	copy_wait<<<1, 64>>>(out, p);
	copy_told<<<1, 64>>>(out, p);
	copy_off_by_one<<<1, 64>>>(out, p);
	copy_refill<<<1, 64>>>(out, p);
	bulk_wait<<<1, 64>>>(out, p);
	bulk_first<<<1, 64>>>(out, p);
	bulk_refill<<<1, 64>>>(out, p);
	bulk_source<<<1, 64>>>(out, p);
	bulk_proxy<<<1, 64>>>(out, p);
	// In some schedules it misses a phase and waits for ever: nothing comes after it.
	bulk_phase<<<1, 64>>>(out, p);
	return cudaDeviceSynchronize() != cudaSuccess;
}
