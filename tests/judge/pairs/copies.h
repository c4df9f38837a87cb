/*
 * copies.h - for programs of pairs (pairs.h): mbarriers, bulk copies and tensor maps, as the ISA
 * and the driver spell them.
 */
#include "pairs.h"
#include <cuda.h>

static __device__ void mbar_init(uint64_t *b, unsigned n)
{
	asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(smem(b)), "r"(n) : "memory");
	asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static __device__ void mbar_expect(uint64_t *b, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(smem(b)), "r"(bytes)
		     : "memory");
}
static __device__ void mbar_arrive(uint64_t *b)
{
	asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(smem(b)) : "memory");
}
static __device__ void mbar_wait(uint64_t *b, unsigned parity)
{
	asm volatile("{\n.reg .pred p;\nagain:\n"
		     "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(
			     smem(b)),
		     "r"(parity)
		     : "memory");
}
// The same for a while: what waits for a phase that is over may wait for ever.
static __device__ void mbar_try(uint64_t *b, unsigned parity)
{
	unsigned is_over = 0;

	for (int i = 0; i < 20 && !is_over; i++)
		asm volatile("{\n.reg .pred p;\n"
			     "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, "
			     "0, p;\n}"
			     : "=r"(is_over)
			     : "r"(smem(b)), "r"(parity)
			     : "memory");
}
static __device__ void bulk_load(void *to, const void *from, unsigned bytes, uint64_t *b)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1], %2, [%3];" ::"r"(smem(to)),
		     "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(smem(b))
		     : "memory");
}
static __device__ void bulk_store(void *to, const void *from, unsigned bytes)
{
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
			     __cvta_generic_to_global(to)),
		     "r"(smem(from)), "r"(bytes)
		     : "memory");
	asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

static void *find_driver(const char *name)
{
	cudaDriverEntryPointQueryResult found;
	void *at;

	CHECK(cudaGetDriverEntryPointByVersion(name, &at, 12000, cudaEnableDefault, &found));
	return at;
}

// A matrix of 32-bit integers, of which a copy takes 8 rows of 32.
static CUtensorMap make_map(void *at, unsigned rows, unsigned columns)
{
	auto encode = (decltype(&cuTensorMapEncodeTiled))find_driver("cuTensorMapEncodeTiled");
	cuuint64_t dims[] = {columns, rows}, stride = columns * 4;
	cuuint32_t box[] = {32, 8}, each[] = {1, 1};
	CUtensorMap map;

	if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, at, dims, &stride, box, each,
		   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
		   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
		exit(1);
	return map;
}
