// Hopper: wgmma, TMA copies of every direction, mbarriers, setmaxnreg, clusters (sm_90a).
#include <cuda.h>

__device__ unsigned shared_of(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256, 1)
	tma(const __grid_constant__ CUtensorMap map, float *out, const void *bulk, void *to)
{
	extern __shared__ __align__(1024) unsigned char tile[];
	__shared__ __align__(8) unsigned long long bar;
	unsigned s = shared_of(tile), b = shared_of(&bar);
	float d[4] = {0, 0, 0, 0};

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(1));
		asm volatile("fence.mbarrier_init.release.cluster;");
		asm volatile("fence.proxy.async.shared::cta;");
		asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
	}
	asm volatile(
		"barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;");
	if (threadIdx.x >= 128)
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
	else
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
	if (threadIdx.x == 0) {
		asm volatile(
			"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
				b),
			"r"(16384));
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
			     "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(s),
			     "l"(&map), "r"(0), "r"(64), "r"(b)
			     : "memory");
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
			     "complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], "
			     "%5;" ::"r"(s + 8192),
			     "l"(&map), "r"(0), "r"(64), "r"(b), "h"((short)3)
			     : "memory");
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			     "[%0], [%1], %2, [%3];" ::"r"(s),
			     "l"(bulk), "r"(256), "r"(b)
			     : "memory");
	}
	asm volatile("{\n\t.reg .pred P1;\n"
		     "LAB_WAIT:\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n\t"
		     "@P1 bra DONE;\n\t"
		     "bra LAB_WAIT;\n"
		     "DONE:\n\t}" ::"r"(b),
		     "r"(0)
		     : "memory");
	unsigned long long da = (s >> 4) | 1ull << 62, db = ((s + 8192) >> 4) | 1ull << 62;
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
	asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %6, 0;\n\t"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, "
		     "p, 1, 1, 0, 0;\n\t}"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "l"(da), "l"(db), "r"(1));
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
	asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
	asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(s),
		     "r"(__float_as_uint(d[0])), "r"(__float_as_uint(d[1])));
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
		asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, "
			     "%2}], [%3];" ::"l"(&map),
			     "r"(0), "r"(0), "r"(s)
			     : "memory");
		asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
			     " [%0, {%1, %2}], [%3];" ::"l"(&map),
			     "r"(0), "r"(0), "r"(s)
			     : "memory");
		asm volatile(
			"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(to),
			"r"(s)
			: "memory");
		asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], "
			     "[%1], 64;" ::"l"(to),
			     "r"(s)
			     : "memory");
		asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" ::"l"(bulk));
		asm volatile("cp.async.bulk.commit_group;");
		asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
	}
	out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
