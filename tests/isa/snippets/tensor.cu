// targets: sm_90a sm_100a; at least 45
// wmma, fp8, clusters, TMA and the cuda::ptx wrappers.
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <cuda_fp8.h>
#include <mma.h>
namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;

__global__ void matrices(const half *a, const half *b, float *c, __nv_fp8_e4m3 *q)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> x;
	fragment<matrix_b, 16, 16, 16, half, col_major> y;
	fragment<accumulator, 16, 16, 16, float> z;
	fill_fragment(z, 0.f);
	load_matrix_sync(x, a, 16);
	load_matrix_sync(y, b, 16);
	mma_sync(z, x, y, z);
	store_matrix_sync(c, z, 16, mem_row_major);
	q[threadIdx.x] = __nv_fp8_e4m3(c[threadIdx.x] + float(q[threadIdx.x + 1]));
}

__global__ void __cluster_dims__(2) copies(int *p, const int *in, const void *map)
{
	__shared__ alignas(128) int s[1024];
	__shared__ uint64_t bar;
	auto cluster = cg::this_cluster();
	int *peer = cluster.map_shared_rank(s, 1);
	if (!threadIdx.x) {
		ptx::mbarrier_init(&bar, 1);
		ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
		ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, in, 4096, &bar);
		int at[2] = {0, 0};
		ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s, map, at, &bar);
		ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
					       &bar, 4096);
	}
	while (!ptx::mbarrier_try_wait_parity(&bar, 0))
		;
	peer[threadIdx.x] = s[threadIdx.x];
	cluster.sync();
	ptx::fence_proxy_async(ptx::space_shared);
	ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, p, s, 4096);
	ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, p, s, 4096);
	ptx::cp_async_bulk_commit_group();
	ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
	asm volatile("setmaxnreg.inc.sync.aligned.u32 64;");
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
	asm volatile("wgmma.fence.sync.aligned;");
	asm volatile("wgmma.commit_group.sync.aligned;");
#endif
	asm volatile("{ .reg .pred q; elect.sync _|q, -1; @q st.global.u32 [%0], 1; }" ::"l"(p));
	asm volatile("griddepcontrol.launch_dependents;");
}
