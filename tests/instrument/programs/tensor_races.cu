// tensor_races.cu - a tile comes by a tensor load, is changed, and leaves by a tensor store and a reduction. With
// an argument there is a race: 1 another warp writes the load's source, 2 its destination, 3 reads that without
// having waited; 4 writes the store's source, 5 its destination, 6 reads that without having waited; 7 writes
// the reduction's source.
// expect 1: clobbered-read at load
// expect 2: lost-update at load|patch
// expect 3: clobbered-read at early
// expect 4: clobbered-read at store
// expect 5: lost-update at store|patch_out
// expect 6: clobbered-read at look
// expect 7: clobbered-read at reduce
// never 1: lost-update at load
// never 4: lost-update at store
// also: --copy-window=0
// also built, in soak: --call-free

#include "example.h"
#include "told.h"

#include <cuda.h>

static const int BLOCKS = 4;
static const int THREADS = 64;
static const int ROUNDS = 6;
static const unsigned SIDE = 16, TILE = SIDE * SIDE;

static __device__ void wait(unsigned long long *bar, unsigned parity)
{
	unsigned is_done = 0;

	while (!is_done)
		asm volatile("{\n\t.reg .pred p;\n\t"
			     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
			     "selp.u32 %0, 1, 0, p;\n\t}"
			     : "=r"(is_done)
			     : "r"(SMEM(bar)), "r"(parity)
			     : "memory");
}

#define LOAD(to, map, bar, y)                                                                      \
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"                         \
		     ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(SMEM(to)),  \
		     "l"(map), "r"(SMEM(bar)), "r"(0), "r"(y)                                      \
		     : "memory")
#define STORE(map, from, y)                                                                        \
	asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "                 \
		     "[%0, {%2, %3}], [%1];" ::"l"(map),                                           \
		     "r"(SMEM(from)), "r"(0), "r"(y)                                               \
		     : "memory")

#define REDUCE(map, from, y)                                                                       \
	asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "      \
		     "[%0, {%2, %3}], [%1];" ::"l"(map),                                           \
		     "r"(SMEM(from)), "r"(0), "r"(y)                                               \
		     : "memory")

__global__ void tiles(const __grid_constant__ CUtensorMap m_in, const __grid_constant__ CUtensorMap m_out,
		      const __grid_constant__ CUtensorMap m_total,
		      unsigned *in, unsigned *out, unsigned *sums, int race)
{
	__shared__ alignas(128) unsigned tile[TILE];
	__shared__ unsigned long long bar;
	__shared__ unsigned flag;
	unsigned t = threadIdx.x, lane = t - 32, told = SMEM(&flag);
	unsigned *mine = sums + blockIdx.x * 32 + lane % 32;
	bool is_racing = t >= 32;

	if (t == 0) {
		flag = 0;
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SMEM(&bar)) : "memory");
	}
	asm volatile("fence.proxy.async;" ::: "memory");
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++) {
		int box = r * BLOCKS + blockIdx.x;

		if (t == 0) {
			asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
					     SMEM(&bar)),
				     "r"(TILE * 4)
				     : "memory");
			LOAD(tile, &m_in, &bar, box * SIDE); // race: load
			tell(told, 3 * r + 1);
		}
		if (race == 1 && is_racing)
			UNTIL_TOLD(pass, told, 3 * r + 1)
				for (unsigned i = lane; i < TILE; i += 32)
					in[box * TILE + i] = pass; // race: patch_in
		if (race == 2 && is_racing)
			UNTIL_TOLD(pass, told, 3 * r + 1)
				for (unsigned i = lane; i < TILE; i += 32)
					tile[i] = pass; // race: patch
		if (race == 3 && is_racing)
			UNTIL_TOLD(pass, told, 3 * r + 1)
				for (unsigned i = lane; i < TILE; i += 32)
					mine[0] += tile[i]; // race: early
		wait(&bar, r % 2);
		for (unsigned i = t; i < TILE; i += THREADS)
			tile[i] = tile[i] * 3 + 1; // race: change
		asm volatile("fence.proxy.async;" ::: "memory");
		__syncthreads();
		if (t == 0) {
			STORE(&m_out, tile, box * SIDE); // race: store
			tell(told, 3 * r + 2);
			REDUCE(&m_total, tile, box * SIDE); // race: reduce
			asm volatile("cp.async.bulk.commit_group;" ::: "memory");
			tell(told, 3 * r + 3);
		}
		if (race == 4 && is_racing)
			UNTIL_TOLD(pass, told, 3 * r + 2)
				for (unsigned i = lane; i < TILE; i += 32)
					tile[i] = pass; // race: refill
		if (race == 5 && is_racing)
			UNTIL_TOLD(pass, told, 3 * r + 2)
				for (unsigned i = lane; i < TILE; i += 32)
					out[box * TILE + i] = pass; // race: patch_out
		if (race == 6 && is_racing)
			UNTIL_TOLD(pass, told, 3 * r + 2)
				for (unsigned i = lane; i < TILE; i += 32)
					mine[0] += out[box * TILE + i]; // race: look
		if (race == 7 && is_racing)
			UNTIL_TOLD(pass, told, 3 * r + 3)
				for (unsigned i = lane; i < TILE; i += 32)
					tile[i] = pass; // race: refill
		if (t == 0)
			asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
		__syncthreads();
	}
}

static CUtensorMap encode(unsigned *p)
{
	cuuint64_t dims[2] = {SIDE, (cuuint64_t)SIDE * BLOCKS * ROUNDS}, strides[1] = {SIDE * 4};
	cuuint32_t box[2] = {SIDE, SIDE}, one[2] = {1, 1};
	cudaDriverEntryPointQueryResult status;
	void *fn = NULL;
	CUtensorMap map;

	CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &fn, 12000,
					       cudaEnableDefault, &status));
	CUresult r = ((decltype(&cuTensorMapEncodeTiled))fn)(
		&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, p, dims, strides, box, one,
		CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
		CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	if (r != CUDA_SUCCESS) {
		printf("cuTensorMapEncodeTiled: %d\n", (int)r);
		exit(2);
	}
	return map;
}

int main(int argc, char **argv)
{
	std::vector<unsigned> in(TILE * BLOCKS * ROUNDS), want(in.size()), sums(32 * BLOCKS), got;
	std::vector<unsigned> total(in.size());
	uint32_t seed = 19;

	for (unsigned &x : in)
		x = example_random(&seed);
	unsigned *d_in = example_upload(in), *d_out = example_upload(want);
	unsigned *d_total = example_upload(total), *d_sums = example_upload(sums);
	for (size_t i = 0; i < in.size(); i++)
		want[i] = in[i] * 3 + 1;
	tiles<<<BLOCKS, THREADS>>>(encode(d_in), encode(d_out), encode(d_total), d_in, d_out, d_sums,
				   race_of(argc, argv));
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	total = example_download(d_total, total.size());
	return example_finish(got == want && total == want, example_checksum(got));
}
