/*
 * annotate.h - what the programmer knows about races, for all detectors of Collider; after the
 * annotations of Linux' KCSAN.
 *
 *   n = collider_data_race(*p);          races of the accesses in this expression are meant
 *   collider_data_race_region(s++; t++;) the same for statements
 *   collider_assert_exclusive_writer(x); no other thread writes x now, not even atomically
 *   collider_assert_exclusive_access(x); nor reads it (x of 4 or 8 bytes)
 *
 * The first two are calls of a lambda, which the compiler inlines: no code in any build, and they
 * need no build for Collider. Reports leave out findings of which a side is in such a lambda, and
 * count them. `return` and `break` in a region leave the lambda only. The assertions are accesses,
 * which race with those that they exclude: a plain load; an atomic addition of 0 within the block.
 * They are there where __COLLIDER__ is defined (`collider nvcc` does that), and nothing elsewhere.
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

#define collider_assert_exclusive_writer(x) (collider_assert_of<sizeof(x)>::writer(&(x)))
#define collider_assert_exclusive_access(x) (collider_assert_of<sizeof(x)>::access(&(x)))

#else
#define collider_assert_exclusive_writer(x) ((void)0)
#define collider_assert_exclusive_access(x) ((void)0)
#endif

#endif
