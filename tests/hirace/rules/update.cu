// update.cu - Algorithm 1 as CUDA C: that it compiles, and what it costs in registers.
//
// Kernels with accesses that are checked; cuda.sh compiles them. The operations are those of the
// GPU: relaxed, of scope .gpu, ordering nothing.
#include <stdint.h>

#define HIRACE_OVERLAPS(mine, launch) HIRACE_ORDERED

static __device__ __forceinline__ unsigned long long load64(const void *p)
{
	unsigned long long v;

	asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p));
	return v;
}

static __device__ __forceinline__ unsigned int load32(const void *p)
{
	unsigned int v;

	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
	return v;
}

static __device__ __forceinline__ unsigned long long cas64(void *p, unsigned long long old,
							   unsigned long long next)
{
	unsigned long long v;

	asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(v)
		     : "l"(p), "l"(old), "l"(next));
	return v;
}

static __device__ __forceinline__ unsigned int max32(void *p, unsigned int v)
{
	unsigned int old;

	asm volatile("atom.relaxed.gpu.global.max.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v));
	return old;
}

static __device__ __forceinline__ unsigned int or32(void *p, unsigned int v)
{
	unsigned int old;

	asm volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v));
	return old;
}

#define HIRACE_LOAD64(p)	   load64(p)
#define HIRACE_LOAD32(p)	   load32(p)
#define HIRACE_CAS64(p, old, next) cas64(p, old, next)
#define HIRACE_MAX32(p, v)	   max32(p, v)
#define HIRACE_OR32(p, v)	   or32(p, v)

#define HIRACE_FN static __device__ __forceinline__
#include "hirace/update.h"

extern "C" __global__ void checked(uint64_t *words, const uint8_t *table, unsigned int *found,
				   hirace_actor actor, uint32_t access)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t was;

	actor.thread = i;
	actor.block_first = blockIdx.x * blockDim.x;
	actor.block_size = blockDim.x;
	actor.lanes = 0;
	if (hirace_update(&words[i / 2], table, &actor, access, &was) == HIRACE_IS_RACE)
		atomicAdd(found, 1u);
	__syncthreads();
	hirace_on_block_barrier(&actor, &actor.stamps);
	hirace_update(&words[i], table, &actor, access, &was);
}

extern "C" __global__ void masked(uint64_t *words, const uint8_t *table, unsigned int *found,
				  hirace_actor actor, uint32_t access)
{
	uint64_t was;

	if (hirace_update(&words[threadIdx.x], table, &actor, access, &was) == HIRACE_IS_RACE)
		atomicAdd(found, 1u);
}
