// Clusters, distributed shared memory, multimem, remote mbarriers, async stores, elect (sm_90).
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ unsigned shared_of(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

__global__ void __cluster_dims__(4, 2, 1) cluster(unsigned *out)
{
	__shared__ unsigned mine[64];
	__shared__ unsigned long long bar;
	cg::cluster_group c = cg::this_cluster();
	unsigned *theirs = c.map_shared_rank(mine, (c.block_rank() + 1) % c.num_blocks());
	unsigned remote, v;

	mine[threadIdx.x] = threadIdx.x + c.block_index().y;
	c.sync();
	v = theirs[threadIdx.x] + c.dim_blocks().x;
	atomicAdd(theirs + 1, v);
	auto token = c.barrier_arrive();
	c.barrier_wait(std::move(token));
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
		     : "=r"(remote)
		     : "r"(shared_of(&bar)), "r"(1));
	asm volatile(
		"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::
			"r"(remote + 8),
		"r"(v), "r"(remote)
		: "memory");
	asm volatile(
		"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
		"[%0], %1, [%2];" ::"r"(remote + 8),
		"r"(v), "r"(remote)
		: "memory");
	asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote));
	asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(remote));
	asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 l;\n\telect.sync l|p, 0xffffffff;\n\t"
		     "selp.b32 %0, l, %0, p;\n\t}"
		     : "+r"(v));
	out[blockIdx.x * 64 + threadIdx.x] = v + mine[0];
	c.sync();
}

__global__ void multimem(float *mc, unsigned *mu, float4 *out)
{
	float v, a, b, c, d;

	asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];" : "=f"(v) : "l"(mc));
	asm volatile("multimem.ld_reduce.weak.global.add.v4.f32 {%0,%1,%2,%3}, [%4];"
		     : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
		     : "l"(mc));
	asm volatile("multimem.st.relaxed.sys.global.f32 [%0], %1;" ::"l"(mc), "f"(v));
	asm volatile("multimem.red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(mu), "r"(1));
	asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out), "f"(a), "f"(b),
		     "f"(c), "f"(d));
	*out = make_float4(a, b, c, d);
}
