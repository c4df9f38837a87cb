// mbarrier.cuh - mbarriers and bulk copies as CUTLASS writes them, for the kernels beside it.
#pragma once
typedef unsigned long long u64;

__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(u64 *b, unsigned n)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void arrive(u64 *b)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ __forceinline__ void expect(u64 *b, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ unsigned try_wait(u64 *b, unsigned parity)
{
	unsigned is_over;
	asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
		     : "=r"(is_over) : "r"(at(b)), "r"(parity) : "memory");
	return is_over;
}
__device__ __forceinline__ void wait(u64 *b, unsigned parity)
{
	asm volatile("{ .reg .pred p;\nAGAIN:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
		     "@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(at(b)), "r"(parity) : "memory");
}
__device__ __forceinline__ void fill(void *to, const void *from, unsigned bytes, u64 *b)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
		     "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at(b)) : "memory");
}
__device__ __forceinline__ void set_up(u64 *full, unsigned of_full, u64 *empty, unsigned of_empty, int stages)
{
	if (threadIdx.x == 0) {
		for (int i = 0; i < stages; i++) {
			init(&full[i], of_full);
			init(&empty[i], of_empty);
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
}
