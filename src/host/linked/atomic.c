/*
 * atomic.c - the program's atomic operations, performed on its behalf.
 *
 * Under -fsanitize=thread the compilers generate calls for atomics instead of instructions (an
 * option of clang's prevents that; gcc has none). They are strong operations, so nothing is
 * checked: each is performed with the order that the program asked for, or with the next stronger
 * one that exists. Operations of 16 bytes, even loads, use compare-and-exchange.
 *
 * Functions that programs call by name when they know of ThreadSanitizer (to name locks of
 * their own) are here too, and do nothing.
 */
#include <stdbool.h>
#include <stdint.h>

#define HOOK __attribute__((used))

/* Calls F with the order as a constant, which gives the cheapest instruction. */
#define BY_ORDER(order, F)                                                                         \
	switch ((order)&7) {                                                                       \
	case __ATOMIC_RELAXED:                                                                     \
		return F(__ATOMIC_RELAXED);                                                        \
	case __ATOMIC_CONSUME:                                                                     \
	case __ATOMIC_ACQUIRE:                                                                     \
		return F(__ATOMIC_ACQUIRE);                                                        \
	case __ATOMIC_RELEASE:                                                                     \
		return F(__ATOMIC_RELEASE);                                                        \
	case __ATOMIC_ACQ_REL:                                                                     \
		return F(__ATOMIC_ACQ_REL);                                                        \
	default:                                                                                   \
		return F(__ATOMIC_SEQ_CST);                                                        \
	}

#define LOAD_ACQUIRE(o)                                                                            \
	((o) == __ATOMIC_RELEASE || (o) == __ATOMIC_ACQ_REL ? __ATOMIC_SEQ_CST : (o))
#define STORE_RELEASE(o)                                                                           \
	((o) == __ATOMIC_ACQUIRE || (o) == __ATOMIC_ACQ_REL ? __ATOMIC_SEQ_CST : (o))

#define LOAD(o)	    __atomic_load_n(p, LOAD_ACQUIRE(o))
#define STORE(o)    __atomic_store_n(p, v, STORE_RELEASE(o))
#define EXCHANGE(o) __atomic_exchange_n(p, v, o)
#define ADD(o)	    __atomic_fetch_add(p, v, o)
#define SUB(o)	    __atomic_fetch_sub(p, v, o)
#define AND(o)	    __atomic_fetch_and(p, v, o)
#define OR(o)	    __atomic_fetch_or(p, v, o)
#define XOR(o)	    __atomic_fetch_xor(p, v, o)
#define NAND(o)	    __atomic_fetch_nand(p, v, o)

#define MODIFY(bits, T, name, F)                                                                   \
	HOOK T __tsan_atomic##bits##_##name(volatile T *p, T v, int order)                         \
	{                                                                                          \
		BY_ORDER(order, F)                                                                 \
	}

/* One order that satisfies both the success and the failure order. */
static inline int both(int success, int failure)
{
	success &= 7;
	failure &= 7;
	if (success == __ATOMIC_SEQ_CST || failure == __ATOMIC_SEQ_CST)
		return __ATOMIC_SEQ_CST;
	if (success == __ATOMIC_RELEASE)
		return failure == __ATOMIC_RELAXED ? __ATOMIC_RELEASE : __ATOMIC_ACQ_REL;
	if (success == __ATOMIC_RELAXED)
		return failure == __ATOMIC_RELAXED ? __ATOMIC_RELAXED : __ATOMIC_ACQUIRE;
	return success;
}

#define ON_FAILURE(o)                                                                              \
	((o) == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE                                                \
				 : ((o) == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : (o)))
#define CAS(o) __atomic_compare_exchange_n(p, expected, v, false, o, ON_FAILURE(o))

#define ATOMICS(bits, T)                                                                           \
	HOOK T __tsan_atomic##bits##_load(const volatile T *p, int order){                         \
		BY_ORDER(order, LOAD)} HOOK void __tsan_atomic##bits##_store(volatile T *p, T v,   \
									     int order){BY_ORDER(  \
		order, STORE)} MODIFY(bits, T, exchange, EXCHANGE) MODIFY(bits, T, fetch_add, ADD) \
		MODIFY(bits, T, fetch_sub, SUB) MODIFY(bits, T, fetch_and, AND)                    \
			MODIFY(bits, T, fetch_or, OR) MODIFY(bits, T, fetch_xor, XOR)              \
				MODIFY(bits, T, fetch_nand, NAND) static int cas##bits(            \
					volatile T *p, T *expected, T v,                           \
					int order){BY_ORDER(order, CAS)} COMPARES(bits, T)

#define COMPARES(bits, T)                                                                          \
	HOOK int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *expected, T v,    \
							       int order, int failure)             \
	{                                                                                          \
		return cas##bits(p, expected, v, both(order, failure));                            \
	}                                                                                          \
	HOOK int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *expected, T v,      \
							     int order, int failure)               \
	{                                                                                          \
		return cas##bits(p, expected, v, both(order, failure));                            \
	}                                                                                          \
	HOOK T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T expected, T v,          \
							  int order, int failure)                  \
	{                                                                                          \
		cas##bits(p, &expected, v, both(order, failure));                                  \
		return expected;                                                                   \
	}

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
__extension__ typedef unsigned __int128 wide;

static int cas128(volatile wide *p, wide *expected, wide v, int order)
{
	wide old = __sync_val_compare_and_swap(p, *expected, v);
	int is_done = old == *expected;

	(void)order; /* sequentially consistent, always */
	*expected = old;
	return is_done;
}

HOOK wide __tsan_atomic128_load(const volatile wide *p, int order)
{
	(void)order;
	return __sync_val_compare_and_swap((volatile wide *)(uintptr_t)p, 0, 0);
}

#define MODIFY128(name, result)                                                                    \
	HOOK wide __tsan_atomic128_##name(volatile wide *p, wide v, int order)                     \
	{                                                                                          \
		wide old = *p;                                                                     \
		while (!cas128(p, &old, result, order))                                            \
			;                                                                          \
		return old;                                                                        \
	}

MODIFY128(exchange, v)
MODIFY128(fetch_add, old + v)
MODIFY128(fetch_sub, old - v)
MODIFY128(fetch_and, old &v)
MODIFY128(fetch_or, old | v)
MODIFY128(fetch_xor, old ^ v)
MODIFY128(fetch_nand, ~(old &v))
COMPARES(128, wide)

HOOK void __tsan_atomic128_store(volatile wide *p, wide v, int order)
{
	__tsan_atomic128_exchange(p, v, order);
}
#endif

#define FENCE(o) __atomic_thread_fence(o)

HOOK void __tsan_atomic_thread_fence(int order){BY_ORDER(order, FENCE)}

HOOK void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* ---- what programs say to ThreadSanitizer ------------------------------------------- */

HOOK void __tsan_acquire(void *p)
{
	(void)p;
}

HOOK void __tsan_release(void *p)
{
	(void)p;
}

#define LOCK(name)                                                                                 \
	HOOK void __tsan_mutex_##name(void *p, unsigned flags)                                     \
	{                                                                                          \
		(void)p;                                                                           \
		(void)flags;                                                                       \
	}
#define LOCK_RETURNS(name)                                                                         \
	HOOK int __tsan_mutex_##name(void *p, unsigned flags)                                      \
	{                                                                                          \
		(void)p;                                                                           \
		(void)flags;                                                                       \
		return 0;                                                                          \
	}

LOCK(create)
LOCK(destroy)
LOCK(pre_lock)
LOCK_RETURNS(pre_unlock)
LOCK(post_unlock)
LOCK(pre_signal)
LOCK(post_signal)
LOCK(pre_divert)
LOCK(post_divert)

HOOK void __tsan_mutex_post_lock(void *p, unsigned flags, int depth)
{
	(void)p;
	(void)flags;
	(void)depth;
}
