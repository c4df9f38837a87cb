// update.cu - iGUARD's rules as CUDA C: that both updates compile, from sm_90 on with one swap of
// 16 bytes.
//
// Kernels with one access that is checked; cuda.sh compiles them. The operations are those of the
// GPU: relaxed, of scope .gpu, ordering nothing.
#include "race/layout/iguard.h"

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
static __device__ __forceinline__ struct iguard_entry cas128(struct iguard_entry *p,
							    struct iguard_entry old,
							    struct iguard_entry next)
{
	struct iguard_entry was;

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
#define IGUARD_CAS128(p, old, next) cas128(p, old, next)
#endif

#define IGUARD_FN		  static __device__ __forceinline__
#define IGUARD_LOAD64(p)		  load64(p)
#define IGUARD_LOAD32(p)		  load32(p)
#define IGUARD_CAS64(p, old, next) cas64(p, old, next)
#define IGUARD_CAS32(p, old, next) cas32(p, old, next)
#define IGUARD_MAX32(p, v)	  max32(p, v)
#define IGUARD_OR32(p, v)	  or32(p, v)
#include "iguard/kind.h"
#include "iguard/published.h"

__global__ void checked(struct iguard_entry *e, struct iguard_actor me, struct iguard_access a,
			struct iguard_seen *out)
{
	out[threadIdx.x] = iguard_update_words(&e[threadIdx.x], &me, &a);
}

#ifdef IGUARD_CAS128
__global__ void checked_pair(struct iguard_entry *e, struct iguard_actor me, struct iguard_access a,
			     struct iguard_seen *out)
{
	out[threadIdx.x] = iguard_update_pair(&e[threadIdx.x], &me, &a);
}
#endif

__global__ void ordered(struct iguard_stamps *s, struct iguard_side *side, struct iguard_op op)
{
	iguard_release(&s[threadIdx.x], op.is_wide);
	iguard_strong_write(&s[threadIdx.x], side, op);
	iguard_strong_read(&s[threadIdx.x], side, op);
	iguard_fence(&s[threadIdx.x], op.is_wide);
}

__global__ void published(struct iguard_entry *e, struct iguard_pub_actor me,
			  struct iguard_pub_access a, struct iguard_pub_counters earlier, uint32_t *out)
{
	out[threadIdx.x] = iguard_pub_check(e[threadIdx.x], &me, &a, &earlier);
	e[threadIdx.x] = iguard_pub_update(e[threadIdx.x], &me, &a);
}
