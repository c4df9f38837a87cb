// scopes.cu - scopes of atomics, fences and their halves (cases.h).
#include "cases.h"

// ---- scopes of atomics (R1)

// says: atomic-scope
__global__ void atomic_both_block_race() { atomicAdd_block(&c.word[0], 1); }
__global__ void atomic_both_device_clean() { atomicAdd(&c.word[0], 1); }
// says: atomic-scope
__global__ void atomic_one_block_race()
{
	if (blockIdx.x)
		atomicAdd(&c.word[0], 1);
	else
		atomicAdd_block(&c.word[0], 1);
}
__global__ void atomic_block_own_clean() { atomicAdd_block(&c.word[blockIdx.x], 1); }
// says: atomic-scope
__global__ void exchange_block_race() { sink[me()] = atomicExch_block(&c.word[0], me()); }
__global__ void exchange_device_quiet() { sink[me()] = atomicExch(&c.word[0], me()); }
// says: atomic-scope
__global__ void maximum_block_race() { atomicMax_block(&c.word[blockIdx.x ? 3 : 3], me()); }
__global__ void maximum_device_clean() { atomicMax(&c.word[3], me()); }
// says: atomic-scope
__global__ void work_stealing_race() // Figure 1: the thief's atomic reaches the device, the owner's doesn't
{
	if (!leads())
		return;
	if (atomicAdd_block(&c.count[blockIdx.x], 64) >= 64)
		return;
	sink[me()] = atomicAdd(&c.count[1 - blockIdx.x], 64);
}
__global__ void work_stealing_quiet()
{
	if (!leads())
		return;
	if (atomicAdd(&c.count[blockIdx.x], 64) >= 64)
		return;
	sink[me()] = atomicAdd(&c.count[1 - blockIdx.x], 64);
}
// says: pair-scope
__global__ void strong_pair_race()
{
	unsigned int v;

	if (blockIdx.x == 0) {
		asm volatile("st.relaxed.cta.global.u32 [%0], %1;" ::"l"(&c.word[threadIdx.x]), "r"(1));
	} else {
		asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(&c.word[threadIdx.x]));
		sink[me()] = v;
	}
}
__global__ void strong_pair_quiet()
{
	unsigned int v;

	if (blockIdx.x == 0) {
		asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(&c.word[threadIdx.x]), "r"(1));
	} else {
		asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(&c.word[threadIdx.x]));
		sink[me()] = v;
	}
}

// ---- flags: fences, their scope, their two halves

#define SEND(before)                                                                                  \
	if (me() == 0) {                                                                              \
		c.word[0] = 1;                                                                        \
		before;                                                                               \
		atomicExch(&c.flag[0], 1);                                                            \
	}
#define TAKE(behind)                                                                                  \
	if (me() == BLOCK) {                                                                          \
		while (atomicAdd(&c.flag[0], 0) == 0)                                                 \
			;                                                                             \
		behind;                                                                               \
		sink[0] = c.word[0];                                                                  \
	}

__global__ void message_quiet() { SEND(__threadfence()) TAKE(__threadfence()) }
// says: fence-scope
__global__ void message_block_fence_race() { SEND(__threadfence_block()) TAKE(__threadfence()) }
// says: fence-scope
__global__ void message_block_fence_reader_race() { SEND(__threadfence()) TAKE(__threadfence_block()) }
// says: fence-scope
__global__ void message_block_fences_race() { SEND(__threadfence_block()) TAKE(__threadfence_block()) }
// says: release-missing
__global__ void message_no_release_race() { SEND() TAKE(__threadfence()) }
// says: acquire-missing
__global__ void message_no_acquire_race() { SEND(__threadfence()) TAKE() }
// says: release-missing
__global__ void message_no_fence_race() { SEND() TAKE() }

#define HAND_OVER(before, behind)                                                                     \
	if (threadIdx.x == 0) {                                                                       \
		c.word[blockIdx.x] = 1;                                                               \
		before;                                                                               \
		atomicExch(&c.flag[blockIdx.x], 1);                                                   \
	} else if (threadIdx.x == 32) {                                                               \
		while (atomicAdd(&c.flag[blockIdx.x], 0) == 0)                                        \
			;                                                                             \
		behind;                                                                               \
		sink[blockIdx.x] = c.word[blockIdx.x];                                                \
	}

__global__ void within_block_quiet() { HAND_OVER(__threadfence_block(), __threadfence_block()) }
// says: release-missing
__global__ void within_block_no_release_race() { HAND_OVER(, __threadfence_block()) }
// says: acquire-missing
__global__ void within_block_no_acquire_race() { HAND_OVER(__threadfence_block(), ) }

#define ASM_SEND(op)                                                                                  \
	if (me() == 0) {                                                                              \
		c.word[0] = 1;                                                                        \
		asm volatile(op ".global.u32 [%0], %1;" ::"l"(&c.flag[0]), "r"(1) : "memory");        \
	}
#define ASM_TAKE(op)                                                                                  \
	if (me() == BLOCK) {                                                                          \
		unsigned int v;                                                                       \
		do                                                                                    \
			asm volatile(op ".global.u32 %0, [%1];" : "=r"(v) : "l"(&c.flag[0]) : "memory"); \
		while (v == 0);                                                                       \
		sink[0] = c.word[0];                                                                  \
	}

__global__ void release_acquire_quiet() { ASM_SEND("st.release.gpu") ASM_TAKE("ld.acquire.gpu") }
__global__ void release_block_scope_race() { ASM_SEND("st.release.cta") ASM_TAKE("ld.acquire.gpu") }
__global__ void acquire_block_scope_race() { ASM_SEND("st.release.gpu") ASM_TAKE("ld.acquire.cta") }
__global__ void relaxed_send_race() { ASM_SEND("st.relaxed.gpu") ASM_TAKE("ld.acquire.gpu") }
__global__ void relaxed_take_race() { ASM_SEND("st.release.gpu") ASM_TAKE("ld.relaxed.gpu") }

__global__ void vector_flag_quiet() // the flag is the second element of what is read
{
	if (me() == 0) {
		c.word[0] = 1;
		asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&c.flag[1]), "r"(1)
			     : "memory");
	} else if (me() == BLOCK) {
		unsigned int v, w;
		do
			asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"
				     : "=r"(v), "=r"(w)
				     : "l"(&c.flag[0])
				     : "memory");
		while (w == 0);
		__threadfence();
		sink[0] = c.word[0] + v;
	}
}

#define LAUNCHES "scopes_launches.h"
#include "main.h"
