// update.cu - iGUARD's rules as CUDA C: that both updates compile, from sm_90 on with one swap of
// 16 bytes.
//
// Kernels with one access that is checked; cuda.sh compiles them. The operations are those of the
// GPU: relaxed, of scope .gpu, ordering nothing.
#include "race/layout/guard.h"

static __device__ __forceinline__ uint64_t load64(const void *p)
{
	unsigned long long v;

	asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p));
	return v;
}

static __device__ __forceinline__ uint32_t load32(const void *p)
{
	unsigned int v;

	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
	return v;
}

static __device__ __forceinline__ uint64_t cas64(void *p, uint64_t old, uint64_t next)
{
	unsigned long long v;

	asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(v)
		     : "l"(p), "l"((unsigned long long)old), "l"((unsigned long long)next));
	return v;
}

static __device__ __forceinline__ uint32_t cas32(void *p, uint32_t old, uint32_t next)
{
	unsigned int v;

	asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(v)
		     : "l"(p), "r"(old), "r"(next));
	return v;
}

static __device__ __forceinline__ void max32(void *p, uint32_t v)
{
	asm volatile("red.relaxed.gpu.global.max.u32 [%0], %1;" ::"l"(p), "r"(v));
}

static __device__ __forceinline__ void or32(void *p, uint32_t v)
{
	asm volatile("red.relaxed.gpu.global.or.b32 [%0], %1;" ::"l"(p), "r"(v));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
static __device__ __forceinline__ struct guard_entry cas128(struct guard_entry *p,
							    struct guard_entry old,
							    struct guard_entry next)
{
	struct guard_entry was;

	asm volatile("{\n\t"
		     ".reg .b128 o, n, w;\n\t"
		     "mov.b128 o, {%3, %4};\n\t"
		     "mov.b128 n, {%5, %6};\n\t"
		     "atom.relaxed.gpu.global.cas.b128 w, [%2], o, n;\n\t"
		     "mov.b128 {%0, %1}, w;\n\t"
		     "}"
		     : "=l"(was.writer), "=l"(was.accessor)
		     : "l"(p), "l"(old.writer), "l"(old.accessor), "l"(next.writer),
		       "l"(next.accessor));
	return was;
}
#define GUARD_CAS128(p, old, next) cas128(p, old, next)
#endif

#define GUARD_FN		  static __device__ __forceinline__
#define GUARD_LOAD64(p)		  load64(p)
#define GUARD_LOAD32(p)		  load32(p)
#define GUARD_CAS64(p, old, next) cas64(p, old, next)
#define GUARD_CAS32(p, old, next) cas32(p, old, next)
#define GUARD_MAX32(p, v)	  max32(p, v)
#define GUARD_OR32(p, v)	  or32(p, v)
#include "guard/kind.h"
#include "guard/published.h"

__global__ void checked(struct guard_entry *e, struct guard_actor me, struct guard_access a,
			struct guard_seen *out)
{
	out[threadIdx.x] = guard_update_words(&e[threadIdx.x], &me, &a);
}

#ifdef GUARD_CAS128
__global__ void checked_pair(struct guard_entry *e, struct guard_actor me, struct guard_access a,
			     struct guard_seen *out)
{
	out[threadIdx.x] = guard_update_pair(&e[threadIdx.x], &me, &a);
}
#endif

__global__ void ordered(struct guard_stamps *s, struct guard_side *side, struct guard_op op)
{
	guard_release(&s[threadIdx.x], op.is_wide);
	guard_strong_write(&s[threadIdx.x], side, op);
	guard_strong_read(&s[threadIdx.x], side, op);
	guard_fence(&s[threadIdx.x], op.is_wide);
}

__global__ void published(struct guard_entry *e, struct guard_pub_actor me,
			  struct guard_pub_access a, struct guard_pub_counters earlier, uint32_t *out)
{
	out[threadIdx.x] = guard_pub_check(e[threadIdx.x], &me, &a, &earlier);
	e[threadIdx.x] = guard_pub_update(e[threadIdx.x], &me, &a);
}
