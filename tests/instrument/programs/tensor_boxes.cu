// tensor_boxes.cu - tensor copies in both directions, of 1 to 5 dimensions, with and without swizzle,
// also over the tensor's edge; a reduction and a multicast. Each word that was copied is compared, so a
// dirty value that stayed would show. -DRACY: another warp refills the tile while it is copied out.
// How many copies over an edge are met depends on the seed, as checks thin out after 64 of a thread.
// expect: clobbered-read at copy
// told: whose map is not known or whose box reaches over an edge
// told: 1 unchecked instruction: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group (destination)
// also: --copy-window=0
// also built, in soak: --call-free

#include "example.h"
#include "told.h"

#include <cuda.h>
#include <string.h>

static const int BLOCKS = 4; // two clusters
static const int THREADS = 64;
static const unsigned TILE = 16 * 16; // words of each box

#define FENCE() asm volatile("fence.proxy.async;" ::: "memory")
#define CLUSTER_SYNC()                                                                             \
	asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")
#define LOAD(DIM, to, map, bar, at, ...)                                                           \
	asm volatile("cp.async.bulk.tensor." DIM ".shared::cluster.global.tile"                    \
		     ".mbarrier::complete_tx::bytes [%0], [%1, {" at "}], [%2];" ::"r"(SMEM(to)),  \
		     "l"(map), "r"(SMEM(bar)), __VA_ARGS__                                         \
		     : "memory")
#define LOAD_BOTH(to, map, bar, x, y)                                                              \
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"                         \
		     ".mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], "     \
		     "[%2], %5;" ::"r"(SMEM(to)),                                                  \
		     "l"(map), "r"(SMEM(bar)), "r"(x), "r"(y), "h"((unsigned short)3)              \
		     : "memory")
#define STORE(DIM, map, from, at, ...)                                                             \
	asm volatile("cp.async.bulk.tensor." DIM ".global.shared::cta.tile.bulk_group "            \
		     "[%0, {" at "}], [%1];" ::"l"(map),                                           \
		     "r"(SMEM(from)), __VA_ARGS__                                                  \
		     : "memory")

#define REDUCE(map, from, x, y)                                                                    \
	asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "      \
		     "[%0, {%2, %3}], [%1];" ::"l"(map),                                           \
		     "r"(SMEM(from)), "r"(x), "r"(y)                                               \
		     : "memory")

struct maps {
	CUtensorMap plain[5];	/* 1D to 5D, all of the same words */
	CUtensorMap swizzled[2]; /* rows of 64 and 32 bytes */
	CUtensorMap out[5], out_swizzled[2], out_edge, sum;
};

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

static const int KINDS = 8;

/* Box number i of the tensor, in each of its shapes. The words of a box are not the same in all. */
static __device__ void fetch(const maps *m, int kind, unsigned *tile, unsigned long long *bar, int i)
{
	switch (kind) {
	case 0:
		LOAD("1d", tile, &m->plain[0], bar, "%3", "r"(i * 256)); // race: load
		break;
	case 1:
		LOAD("2d", tile, &m->plain[1], bar, "%3, %4", "r"(i % 2 * 16), "r"(i / 2 * 16)); // race: load
		break;
	case 2:
		LOAD("3d", tile, &m->plain[2], bar, "%3, %4, %5", "r"(0), "r"(i % 2 * 8), "r"(i / 2 * 2)); // race: load
		break;
	case 3:
		LOAD("4d", tile, &m->plain[3], bar, "%3, %4, %5, %6", "r"(0), "r"(0), "r"(0), "r"(i)); // race: load
		break;
	case 4:
		LOAD("5d", tile, &m->plain[4], bar, "%3, %4, %5, %6, %7", "r"(0), "r"(0), "r"(0), "r"(0), "r"(i)); // race: load
		break;
	case 5:
		LOAD("2d", tile, &m->swizzled[0], bar, "%3, %4", "r"(i % 2 * 16), "r"(i / 2 * 16)); // race: load
		break;
	case 6:
		LOAD("2d", tile, &m->swizzled[1], bar, "%3, %4", "r"(i % 4 * 8), "r"(i / 4 * 32)); // race: load
		break;
	case 7: // over the edge: the rest is zero
		LOAD("2d", tile, &m->plain[1], bar, "%3, %4", "r"(24), "r"(i * 16)); // race: load
		break;
	}
}

static __device__ void put(const maps *m, int kind, unsigned *tile, int i)
{
	switch (kind) {
	case 0:
		STORE("1d", &m->out[0], tile, "%2", "r"(i * 256)); // race: copy
		break;
	case 1:
		STORE("2d", &m->out[1], tile, "%2, %3", "r"(i % 2 * 16), "r"(i / 2 * 16)); // race: copy
		break;
	case 2:
		STORE("3d", &m->out[2], tile, "%2, %3, %4", "r"(0), "r"(i % 2 * 8), "r"(i / 2 * 2)); // race: copy
		break;
	case 3:
		STORE("4d", &m->out[3], tile, "%2, %3, %4, %5", "r"(0), "r"(0), "r"(0), "r"(i)); // race: copy
		break;
	case 4:
		STORE("5d", &m->out[4], tile, "%2, %3, %4, %5, %6", "r"(0), "r"(0), "r"(0), "r"(0), "r"(i)); // race: copy
		break;
	case 5:
		STORE("2d", &m->out_swizzled[0], tile, "%2, %3", "r"(i % 2 * 16), "r"(i / 2 * 16)); // race: copy
		break;
	case 6:
		STORE("2d", &m->out_swizzled[1], tile, "%2, %3", "r"(i % 4 * 8), "r"(i / 4 * 32)); // race: copy
		break;
	case 7:
		STORE("2d", &m->out_edge, tile, "%2, %3", "r"(24), "r"(i * 16)); // race: copy
		break;
	}
}

__global__ void __cluster_dims__(2) boxes(const __grid_constant__ maps m, unsigned *wrong)
{
	__shared__ alignas(1024) unsigned tile[TILE], both[TILE];
	__shared__ unsigned long long bar[2];
	__shared__ unsigned flag;
	int t = threadIdx.x, b = blockIdx.x, rank = b % 2;

	if (t == 0)
		for (int k = 0; k < 2; k++)
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SMEM(&bar[k]))
				     : "memory");
	if (t == 0)
		flag = 0;
	FENCE();
	CLUSTER_SYNC();
	for (int kind = 0; kind < KINDS; kind++) {
		if (t == 0) {
			for (int k = 0; k < 2; k++)
				asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], "
					     "%1;" ::"r"(SMEM(&bar[k])),
					     "r"(TILE * 4)
					     : "memory");
			fetch(&m, kind, tile, &bar[0], b); // race: load
		}
		wait(&bar[0], kind % 2);
		for (unsigned i = t; i < TILE; i += THREADS)
			tile[i] += 5; // race: fill
		FENCE();
		CLUSTER_SYNC();
		if (t == 0) {
			put(&m, kind, tile, b); // race: copy
			if (kind == 1)
				REDUCE(&m.sum, tile, b % 2 * 16, b / 2 * 16); // race: copy
			asm volatile("cp.async.bulk.commit_group;" ::: "memory");
			tell(SMEM(&flag), kind + 1);
			if (rank == 0)
				LOAD_BOTH(both, &m.plain[1], &bar[1], 0, b / 2 * 16); // race: load
#ifndef RACY
			asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
		}
#ifdef RACY
		if (t >= 32)
			UNTIL_TOLD(pass, SMEM(&flag), kind + 1)
				for (unsigned i = t - 32; i < TILE; i += 32)
					tile[i] = pass; // race: fill
#endif
		wait(&bar[1], kind % 2);
		for (unsigned i = t; i < TILE; i += THREADS)
			if (both[i] != (b / 2 * 16 + i / 16) * 32 + i % 16 + 1000) // race: use
				*wrong = 1; // race: use
		CLUSTER_SYNC();
	}
	if (t == 0)
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

static CUtensorMap encode(unsigned *p, int rank, const cuuint64_t *dims, const cuuint32_t *box,
			  CUtensorMapSwizzle swizzle)
{
	void *fn = NULL;
	cudaDriverEntryPointQueryResult status;
	cuuint32_t one[5] = {1, 1, 1, 1, 1};
	cuuint64_t strides[4], bytes = 4;
	CUtensorMap map;

	CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &fn, 12000,
					       cudaEnableDefault, &status));
	for (int i = 0; i + 1 < rank; i++)
		strides[i] = bytes *= dims[i];
	CUresult r = ((decltype(&cuTensorMapEncodeTiled))fn)(
		&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, (cuuint32_t)rank, p, dims, strides, box, one,
		CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
		CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	if (r != CUDA_SUCCESS) {
		printf("cuTensorMapEncodeTiled: %d\n", (int)r);
		exit(2);
	}
	return map;
}

static const cuuint64_t dims[5][5] = {
	{1024}, {32, 32}, {16, 16, 4}, {4, 16, 4, 4}, {4, 4, 4, 4, 4}};
static const cuuint32_t box[5][5] = {
	{256}, {16, 16}, {16, 8, 2}, {4, 16, 4, 1}, {4, 4, 4, 4, 1}};

int main()
{
	const unsigned N = 1024;
	std::vector<unsigned> in(N), zeros(N), got, flag(1);
	unsigned *d_in, *d_out[KINDS], *d_sum, *d_wrong;
	bool is_right = true;
	maps m;

	for (unsigned i = 0; i < N; i++)
		in[i] = i + 1000;
	d_in = example_upload(in);
	for (int k = 0; k < KINDS; k++)
		d_out[k] = example_upload(zeros);
	d_sum = example_upload(zeros);
	d_wrong = example_upload(flag);
	for (int k = 0; k < 5; k++) {
		cuuint32_t b[5];
		memcpy(b, box[k], sizeof(b));
		if (k == 0)
			b[0] = 256;
		m.plain[k] = encode(d_in, k + 1, dims[k], b, CU_TENSOR_MAP_SWIZZLE_NONE);
		m.out[k] = encode(d_out[k], k + 1, dims[k], b, CU_TENSOR_MAP_SWIZZLE_NONE);
	}
	cuuint32_t wide[2] = {16, 16}, narrow[2] = {8, 32};
	m.swizzled[0] = encode(d_in, 2, dims[1], wide, CU_TENSOR_MAP_SWIZZLE_64B);
	m.swizzled[1] = encode(d_in, 2, dims[1], narrow, CU_TENSOR_MAP_SWIZZLE_32B);
	m.out_swizzled[0] = encode(d_out[5], 2, dims[1], wide, CU_TENSOR_MAP_SWIZZLE_64B);
	m.out_swizzled[1] = encode(d_out[6], 2, dims[1], narrow, CU_TENSOR_MAP_SWIZZLE_32B);
	m.out_edge = encode(d_out[7], 2, dims[1], wide, CU_TENSOR_MAP_SWIZZLE_NONE);
	m.sum = encode(d_sum, 2, dims[1], wide, CU_TENSOR_MAP_SWIZZLE_NONE);
	boxes<<<BLOCKS, THREADS>>>(m, d_wrong);
	CHECK(cudaGetLastError());
	for (int k = 0; k <= KINDS; k++) {
		got = example_download(k < KINDS ? d_out[k] : d_sum, N);
		for (unsigned i = 0; i < N; i++) /* of the edge's tensor 8 columns are written */
			is_right = is_right &&
				   got[i] == (k == 7 && i % 32 < 24 ? 0 : in[i] + 5);
	}
	is_right = is_right && !example_download(d_wrong, 1)[0];
	return example_finish(is_right, example_checksum(got));
}
