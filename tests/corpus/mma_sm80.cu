// ldmatrix, mma.sync, sparse mma, cp.async and redux through inline asm (sm_80 and later).
#include <cuda_pipeline.h>

__device__ unsigned shared_of(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

__global__ void product(const uint4 *in, float *out, const unsigned *meta)
{
	__shared__ __align__(128) uint4 tile[64];
	unsigned a[4], b[2], t = threadIdx.x;
	float c[4] = {0, 0, 0, 0};
	int d[4] = {0, 0, 0, 0};

	__pipeline_memcpy_async(tile + t, in + t, 16);
	__pipeline_memcpy_async((char *)(tile + 32 + t), (const char *)(in + t), 8, 4);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncwarp();
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
		     : "r"(shared_of(tile + t)));
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
		     : "=r"(b[0]), "=r"(b[1])
		     : "r"(shared_of(tile + t)));
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
		     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, "
		     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
		     "{%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x0;"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(meta[t]));
	out[t] = c[0] + c[1] + c[2] + c[3] + d[0] + __reduce_add_sync(~0u, d[1]);
	out[t + 32] = __reduce_xor_sync(0xffffu, a[0]) + __reduce_min_sync(~0u, d[2]);
}

__global__ void hints(const unsigned *in, unsigned *out, unsigned long long policy)
{
	__shared__ unsigned s[32];
	unsigned v;
	unsigned long long made;

	asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;"
		     : "=l"(made));
	asm volatile("ld.global.L2::cache_hint.L2::128B.u32 %0, [%1], %2;"
		     : "=r"(v)
		     : "l"(in + threadIdx.x), "l"(policy));
	asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(out), "r"(v), "l"(made));
	asm volatile("ld.global.nc.L1::no_allocate.L2::256B.u32 %0, [%1];"
		     : "=r"(v)
		     : "l"(in + 32));
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_of(s)), "l"(in));
	asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_of(s)),
		     "l"(in), "r"(v));
	asm volatile("cp.async.wait_all;" ::: "memory");
	asm volatile("prefetch.global.L2 [%0];" ::"l"(in));
	asm volatile("prefetchu.L1 [%0];" ::"l"(in));
	asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(out));
	asm volatile("discard.global.L2 [%0], 128;" ::"l"(out + 64));
	out[threadIdx.x] = s[threadIdx.x] + v;
}
