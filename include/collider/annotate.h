/*
 * annotate.h - what the programmer knows about races, for all detectors of Collider; after the
 * annotations of Linux' KCSAN.
 *
 *   n = collider_data_race(*p);          races of the accesses in this expression are meant
 *   collider_data_race_region(s++; t++;) the same for statements
 *   collider_assert_exclusive_writer(x); no other thread writes x now, not even atomically
 *   collider_assert_exclusive_access(x); nor reads it (x of 4 or 8 bytes)
 *   collider_lock_acquired(&flag);       this flag is a lock: the thread has got it, and
 *   collider_lock_released(&flag);       is about to give it back
 *
 * The first two are calls of a lambda, which the compiler inlines: no code in any build, and they
 * need no build for Collider. Reports leave out findings of which a side is in such a lambda, and
 * count them. `return` and `break` in a region leave the lambda only. The assertions are accesses,
 * which race with those that they exclude: a plain load; an atomic addition of 0 within the block.
 *
 * A lock's first call comes after what takes it, its second before what gives it back: what follows
 * the first is ordered after all that came before a second of the same flag, for every detector, as
 * both are atomic operations on a word of ours that belongs to the flag; the flag is neither read
 * nor written. So a flag that is accessed weakly, or without fences, is a lock where the hardware
 * at hand makes it one; its own accesses are then collider_data_race. Flags 16 KiB apart share a
 * word: what the other's holder did is ordered, too. A flag in shared memory orders its block.
 *
 * Assertions and locks are there where __COLLIDER__ is defined (`collider nvcc` does that; for
 * plain nvcc and the CPU device: -D__COLLIDER__), and nothing elsewhere.
 */
#ifndef COLLIDER_ANNOTATE_H
#define COLLIDER_ANNOTATE_H

#ifdef __cplusplus

/* The name by which reports know the lambda: it is a part of its own. */
struct collider_data_race_t {
};

#define collider_data_race(e) ([&](collider_data_race_t) { return (e); }(collider_data_race_t{}))
#define collider_data_race_region(...)                                                             \
	([&](collider_data_race_t) { __VA_ARGS__ }(collider_data_race_t{}))

#else
#define collider_data_race(e) (e)
#define collider_data_race_region(...)                                                             \
	do {                                                                                       \
		__VA_ARGS__                                                                        \
	} while (0)
#endif

#if defined(__COLLIDER__) && defined(__CUDA_ARCH__)

/* Each value is used, by a branch to where it goes anyway: a load without a use isn't a race. */
#define COLLIDER_LOADS(type, reg)                                                                  \
	asm volatile("{ .reg ." reg " t; .reg .pred q;\n\t"                                        \
		     "ld." type " t, [%0];\n\t"                                                    \
		     "setp.eq." reg " q, t, 0;\n\t"                                                \
		     "@q bra NEXT;\n"                                                              \
		     "NEXT: }" ::"l"(p))

template <unsigned size> struct collider_assert_of {
	static_assert(size == 1 || size == 2 || size == 4 || size == 8,
		      "collider_assert_exclusive_...: of 1, 2, 4 or 8 bytes");
};

template <> struct collider_assert_of<1> {
	static __device__ __forceinline__ void writer(const volatile void *p)
	{
		COLLIDER_LOADS("u8", "u32");
	}
};

template <> struct collider_assert_of<2> {
	static __device__ __forceinline__ void writer(const volatile void *p)
	{
		COLLIDER_LOADS("u16", "u16");
	}
};

template <> struct collider_assert_of<4> {
	static __device__ __forceinline__ void writer(const volatile void *p)
	{
		COLLIDER_LOADS("u32", "u32");
	}
	static __device__ __forceinline__ void access(volatile void *p)
	{
		asm volatile("red.relaxed.cta.add.u32 [%0], 0;" ::"l"(p));
	}
};

template <> struct collider_assert_of<8> {
	static __device__ __forceinline__ void writer(const volatile void *p)
	{
		COLLIDER_LOADS("u64", "u64");
	}
	static __device__ __forceinline__ void access(volatile void *p)
	{
		asm volatile("red.relaxed.cta.add.u64 [%0], 0;" ::"l"(p));
	}
};

#define COLLIDER_LOCK_WORDS 4096u

/* The flag's word. A template, so that all files of a module have the same words. */
template <int one> __device__ __forceinline__ unsigned *collider_lock_word(const volatile void *p)
{
	static __device__ unsigned words[COLLIDER_LOCK_WORDS];
	unsigned long long at = (unsigned long long)p >> 2;

	/* Each block has its own flag at this address. */
	if (__isShared((const void *)p))
		at += (blockIdx.x + 31ull * blockIdx.y + 1009ull * blockIdx.z) * 61;
	return &words[at % COLLIDER_LOCK_WORDS];
}

static __device__ __forceinline__ void collider_lock_acquired(const volatile void *p)
{
	asm volatile("{ .reg .b32 t;\n\t"
		     "atom.acquire.gpu.or.b32 t, [%0], 0; }" ::"l"(collider_lock_word<0>(p))
		     : "memory");
}

static __device__ __forceinline__ void collider_lock_released(const volatile void *p)
{
	asm volatile("red.release.gpu.or.b32 [%0], 0;" ::"l"(collider_lock_word<0>(p)) : "memory");
}

#define collider_assert_exclusive_writer(x) (collider_assert_of<sizeof(x)>::writer(&(x)))
#define collider_assert_exclusive_access(x) (collider_assert_of<sizeof(x)>::access(&(x)))

#else
#define collider_lock_acquired(p)	    ((void)0)
#define collider_lock_released(p)	    ((void)0)
#define collider_assert_exclusive_writer(x) ((void)0)
#define collider_assert_exclusive_access(x) ((void)0)
#endif

#endif
