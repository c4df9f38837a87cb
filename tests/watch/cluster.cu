// cluster.cu - kernels whose blocks access the shared memory of other blocks of their cluster, for detector
// watch: as cases.cu, judged by cases.py.
//
// Clusters have two blocks of two warps, a grid has three of them. All but `apart` kernels are launched twice
// in one stream, those twice at the same time: their clusters have equal ranks and equal offsets. In a kernel
// `first` the only memory that races is that of the first block of each cluster.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 64
#define TURNS 32
#define KERNEL __cluster_dims__(2, 1, 1) __global__ void

namespace cg = cooperative_groups;

__device__ unsigned int zero, sink[4096];

__device__ __forceinline__ unsigned int me() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ unsigned int rank() { return cg::this_cluster().block_rank(); }
__device__ __forceinline__ void meet() { cg::this_cluster().sync(); }
// Its place isn't known to the compiler, so that stores stay apart.
#define TILE(name)                                                                                 \
	__shared__ __align__(16) unsigned int name##_of_block[2 * BLOCK];                          \
	unsigned int *name = &name##_of_block[zero]
template <typename T> __device__ __forceinline__ T *of(T *at, unsigned int rank)
{
	return cg::this_cluster().map_shared_rank(at, rank);
}
__device__ __forceinline__ void keep_sum(unsigned int v) { atomicExch(&sink[me()], v); }

/* Each turn of a loop has its own. */
#define keep(access)                                                                               \
	do {                                                                                       \
		access;                                                                            \
		asm volatile("" ::: "memory");                                                     \
	} while (0)

// The same by .shared::cluster in place of generic addresses.
__device__ __forceinline__ unsigned int window(const void *at, unsigned int rank)
{
	unsigned int a = (unsigned int)__cvta_generic_to_shared(at), to;
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(a), "r"(rank));
	return to;
}
__device__ __forceinline__ void put(unsigned int at, unsigned int v)
{
	asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
}
__device__ __forceinline__ unsigned int get(unsigned int at)
{
	unsigned int v;
	asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
	return v;
}

// ---- own against remote --------------------------------------------------------------------------

// Both blocks write the first one's.
KERNEL two_writers_first_race()
{
	TILE(tile);
	meet();
	unsigned int *first = of(tile, 0);
	for (int i = 0; i < TURNS; i++)
		keep(first[threadIdx.x] = 1);
	meet();
	keep_sum(tile[threadIdx.x]);
}
KERNEL own_write_remote_write_first_race()
{
	TILE(tile);
	meet();
	for (int i = 0; i < TURNS; i++) {
		if (rank())
			keep(of(tile, 0)[threadIdx.x] = i);
		else
			keep(tile[threadIdx.x] = i);
	}
	meet();
	keep_sum(tile[threadIdx.x]);
}
KERNEL own_write_remote_read_first_race()
{
	TILE(tile);
	unsigned int sum = 0;
	meet();
	for (int i = 0; i < TURNS; i++) {
		if (rank())
			keep(sum += of(tile, 0)[threadIdx.x]);
		else
			keep(tile[threadIdx.x] = i);
	}
	meet();
	keep_sum(sum);
}
KERNEL own_read_remote_write_first_race()
{
	TILE(tile);
	unsigned int sum = 0;
	meet();
	for (int i = 0; i < TURNS; i++) {
		if (rank())
			keep(of(tile, 0)[threadIdx.x] = i);
		else
			keep(sum += tile[threadIdx.x]);
	}
	meet();
	keep_sum(sum);
}
KERNEL all_read_clean()
{
	TILE(tile);
	unsigned int sum = 0;
	tile[threadIdx.x] = me();
	meet();
	for (int i = 0; i < TURNS; i++)
		keep(sum += of(tile, 0)[threadIdx.x] + tile[threadIdx.x]);
	meet();
	keep_sum(sum);
}
// Each half has one writer.
KERNEL halves_clean()
{
	TILE(tile);
	meet();
	for (int i = 0; i < TURNS; i++) {
		keep(tile[threadIdx.x] = i);
		keep(of(tile, rank() ^ 1)[BLOCK + threadIdx.x] = i);
	}
	meet();
	keep_sum(tile[threadIdx.x] + tile[BLOCK + threadIdx.x]);
}
// The other block's, and only that: different owners, equal offsets.
KERNEL equal_offsets_clean()
{
	TILE(tile);
	meet();
	unsigned int *theirs = of(tile, rank() ^ 1);
	for (int i = 0; i < TURNS; i++)
		keep(theirs[threadIdx.x] = i);
	meet();
	keep_sum(tile[threadIdx.x]);
}
// One cluster's ranks and offsets are those of the others, and of the other launch.
KERNEL apart_equal_ranks_clean()
{
	TILE(tile);
	meet();
	for (int i = 0; i < TURNS; i++) {
		if (rank())
			keep(of(tile, 0)[threadIdx.x] = i);
		else
			keep(of(tile, 1)[threadIdx.x] = i);
	}
	meet();
	keep_sum(tile[threadIdx.x]);
}
KERNEL apart_two_writers_first_race()
{
	TILE(tile);
	meet();
	for (int i = 0; i < TURNS; i++)
		keep(of(tile, 0)[threadIdx.x] = i);
	meet();
	keep_sum(tile[threadIdx.x]);
}

// ---- .shared::cluster ----------------------------------------------------------------------------

KERNEL window_writes_first_race()
{
	TILE(tile);
	meet();
	unsigned int at = window(&tile[threadIdx.x], 0);
	for (int i = 0; i < TURNS; i++)
		put(at, i);
	meet();
	keep_sum(tile[threadIdx.x]);
}
KERNEL window_read_first_race()
{
	TILE(tile);
	unsigned int sum = 0;
	meet();
	unsigned int at = window(&tile[threadIdx.x], 0);
	for (int i = 0; i < TURNS; i++) {
		if (rank())
			sum += get(at);
		else
			keep(tile[threadIdx.x] = i);
	}
	meet();
	keep_sum(sum);
}
KERNEL window_equal_offsets_clean()
{
	TILE(tile);
	meet();
	unsigned int at = window(&tile[threadIdx.x], rank() ^ 1);
	for (int i = 0; i < TURNS; i++)
		put(at, i);
	meet();
	keep_sum(tile[threadIdx.x]);
}
// By both kinds of address, to the block's own memory.
KERNEL window_own_clean()
{
	TILE(tile);
	meet();
	unsigned int at = window(&tile[threadIdx.x], rank());
	for (int i = 0; i < TURNS; i++) {
		put(at, i);
		keep(tile[threadIdx.x] += 1);
	}
	meet();
	keep_sum(tile[threadIdx.x]);
}
KERNEL window_own_race()
{
	TILE(tile);
	meet();
	unsigned int at = window(&tile[threadIdx.x & 31], rank());
	for (int i = 0; i < TURNS; i++) {
		if (threadIdx.x < 32)
			put(at, i);
		else
			keep(tile[threadIdx.x & 31] = i);
	}
	meet();
	keep_sum(tile[threadIdx.x]);
}

// ---- what orders ---------------------------------------------------------------------------------

KERNEL barriers_clean()
{
	TILE(tile);
	unsigned int sum = 0;
	for (int i = 0; i < TURNS; i++) {
		tile[threadIdx.x] = i;
		meet();
		sum += of(tile, rank() ^ 1)[threadIdx.x];
		meet();
	}
	keep_sum(sum);
}
KERNEL barrier_missing_race()
{
	TILE(tile);
	unsigned int sum = 0;
	meet();
	for (int i = 0; i < TURNS; i++) {
		tile[threadIdx.x] = i;
		sum += of(tile, rank() ^ 1)[threadIdx.x];
		meet();
	}
	keep_sum(sum);
}
// One barrier of the cluster in two parts, with other work between.
KERNEL split_barriers_clean()
{
	TILE(tile);
	unsigned int sum = 0, own = 0;
	for (int i = 0; i < TURNS; i++) {
		of(tile, rank() ^ 1)[threadIdx.x] = i;
		asm volatile("barrier.cluster.arrive.release;" ::: "memory");
		keep(own += tile[BLOCK + threadIdx.x]);
		asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
		sum += tile[threadIdx.x];
		asm volatile("fence.acq_rel.cluster;\n\tbarrier.cluster.arrive.relaxed;\n\t"
			     "barrier.cluster.wait.acquire;" ::
				     : "memory");
	}
	keep_sum(sum + own);
}
// A barrier of the block is too narrow.
KERNEL block_barrier_first_race()
{
	TILE(tile);
	unsigned int sum = 0;
	meet();
	for (int i = 0; i < TURNS; i++) {
		if (rank() == 0)
			keep(tile[threadIdx.x] = i);
		__syncthreads();
		if (rank())
			keep(sum += of(tile, 0)[threadIdx.x]);
		__syncthreads();
	}
	meet();
	keep_sum(sum);
}
// A flag in the first block's memory.
KERNEL message_clean()
{
	TILE(tile);
	unsigned int sum = 0, *flag = of(tile, 0) + BLOCK, v;
	tile[threadIdx.x] = tile[BLOCK + threadIdx.x] = 0;
	meet();
	if (rank() && threadIdx.x == 0) {
		of(tile, 0)[1] = 5;
		asm volatile("st.release.cluster.u32 [%0], 1;" ::"l"(flag) : "memory");
	} else if (threadIdx.x == 0) {
		do
			asm volatile("ld.acquire.cluster.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
		while (!v);
		sum = tile[1];
	}
	meet();
	keep_sum(sum);
}
KERNEL atomic_weak_first_race()
{
	TILE(tile);
	meet();
	for (int i = 0; i < TURNS; i++) {
		if (rank())
			atomicAdd(&of(tile, 0)[threadIdx.x & 1], 1);
		else
			keep(tile[threadIdx.x & 1] = i);
	}
	meet();
	keep_sum(tile[threadIdx.x]);
}
KERNEL atomics_clean()
{
	TILE(tile);
	tile[threadIdx.x] = 0;
	meet();
	for (int i = 0; i < TURNS; i++)
		atomicAdd(&of(tile, 0)[threadIdx.x & 1], 1);
	meet();
	keep_sum(tile[threadIdx.x]);
}

// ---- sizes, spaces, functions --------------------------------------------------------------------

KERNEL bytes_clean()
{
	TILE(tile);
	meet();
	for (int i = 0; i < TURNS; i++)
		keep(((unsigned char *)of(tile, 0))[2 * threadIdx.x + rank()] = i);
	meet();
	keep_sum(tile[threadIdx.x]);
}
KERNEL vector_end_first_race()
{
	TILE(tile);
	meet();
	for (int i = 0; i < TURNS; i++) {
		if (rank())
			keep(*(uint4 *)&of(tile, 0)[threadIdx.x / 32 * 4] = make_uint4(i, 1, 2, 3));
		else if (threadIdx.x % 32 == 3)
			keep(tile[threadIdx.x / 32 * 4 + 3] = i);
	}
	meet();
	keep_sum(tile[threadIdx.x]);
}
extern __shared__ unsigned int dynamic[]; // 2 * BLOCK elements
KERNEL dynamic_first_race()
{
	meet();
	for (int i = 0; i < TURNS; i++)
		keep(of(dynamic, 0)[threadIdx.x] = i);
	meet();
	keep_sum(dynamic[threadIdx.x]);
}
KERNEL dynamic_clean()
{
	meet();
	for (int i = 0; i < TURNS; i++)
		keep(of(dynamic, rank() ^ 1)[threadIdx.x] = i);
	meet();
	keep_sum(dynamic[threadIdx.x]);
}
// One address may be of global memory, too.
KERNEL any_memory_clean()
{
	TILE(tile);
	meet();
	unsigned int *at = zero ? &sink[2048] : of(tile, rank() ^ 1);
	for (int i = 0; i < TURNS; i++)
		keep(at[threadIdx.x] = i);
	meet();
	keep_sum(tile[threadIdx.x]);
}
KERNEL global_race()
{
	TILE(tile);
	meet();
	unsigned int *at = zero ? of(tile, 0) : &sink[2048];
	for (int i = 0; i < TURNS; i++)
		keep(at[threadIdx.x] = i);
	meet();
	keep_sum(tile[threadIdx.x]);
}
// Only the function that is called shows that there are clusters.
__device__ __noinline__ unsigned int *map_to_first(unsigned int *at)
{
	meet();
	return of(at, 0);
}
KERNEL called_function_first_race()
{
	TILE(tile);
	unsigned int *first = map_to_first(tile);
	for (int i = 0; i < TURNS; i++)
		keep(first[threadIdx.x] = i);
	map_to_first(tile);
	keep_sum(tile[threadIdx.x]);
}
// The values that raced aren't used, unless they are.
KERNEL chosen_value_first_race()
{
	TILE(tile);
	unsigned int *first = of(tile, 0);
	meet();
	for (int i = 0; i < TURNS; i++) {
		if (rank()) {
			keep(first[0] = i);
		} else {
			unsigned int v = threadIdx.x > 5 ? tile[0] : 0u;
			atomicExch(&sink[me()], v);
		}
	}
	meet();
}
// A bulk copy to the other block, which writes there, too, or beside it.
__device__ __forceinline__ void copy_to_other(unsigned int *tile, unsigned int from)
{
	__shared__ unsigned long long done;
	unsigned int barrier = (unsigned int)__cvta_generic_to_shared(&done), other, there;
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
			     "fence.mbarrier_init.release.cluster;" ::"r"(barrier)
			     : "memory");
	tile[threadIdx.x] = me();
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	meet();
	for (int i = 0; i < 8; i++) {
		if (rank() == 1 && threadIdx.x == 0) {
			there = window(&done, 0);
			other = window(&tile[BLOCK], 0);
			asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
				     "[%0], [%1], 128, [%2];" ::"r"(other),
				     "r"((unsigned int)__cvta_generic_to_shared(tile)), "r"(there)
				     : "memory");
		} else if (rank() == 0 && threadIdx.x == 0) {
			asm volatile("{\n\t.reg .pred p;\n\t"
				     "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;\n\t"
				     "wait:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t"
				     "@!p bra wait;\n\t}" ::"r"(barrier),
				     "r"(i & 1)
				     : "memory");
		} else if (rank() == 0 && threadIdx.x >= 32) {
			for (int j = 0; j < 8; j++)
				keep(tile[threadIdx.x - 32 + from] = j);
		}
		meet();
	}
	keep_sum(tile[threadIdx.x]);
}
KERNEL bulk_to_other_first_race()
{
	TILE(tile);
	copy_to_other(tile, BLOCK);
}
KERNEL bulk_to_other_clean()
{
	TILE(tile);
	copy_to_other(tile, BLOCK + 32);
}

#include "main.h"

static int run(const char *name, void (*kernel)(), const char *only)
{
	cudaStream_t s[2];

	if (only && strcmp(only, name))
		return 0;
	for (int i = 0; i < 2; i++)
		cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
	for (int i = 0; i < 2; i++)
		kernel<<<6, BLOCK, 2 * BLOCK * sizeof(int), s[strstr(name, "apart") ? i : 0]>>>();
	return end_of(name);
}
