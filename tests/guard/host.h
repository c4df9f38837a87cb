/*
 * host.h - update.h for the host: the operations as C11 atomics.
 */
#ifndef COLLIDER_TESTS_GUARD_HOST_H
#define COLLIDER_TESTS_GUARD_HOST_H

#include <stdint.h>

#include "race/layout/guard.h"

static inline uint64_t host_cas64(uint64_t *p, uint64_t old, uint64_t next)
{
	__atomic_compare_exchange_n(p, &old, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old;
}

static inline uint32_t host_cas32(uint32_t *p, uint32_t old, uint32_t next)
{
	__atomic_compare_exchange_n(p, &old, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old;
}

static inline void host_max32(uint32_t *p, uint32_t v)
{
	uint32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (old < v &&
	       !__atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* One thread only: the tests with several use words. */
static inline struct guard_entry host_cas128(struct guard_entry *p, struct guard_entry old,
					     struct guard_entry next)
{
	struct guard_entry was = *p;

	if (was.writer == old.writer && was.accessor == old.accessor)
		*p = next;
	return was;
}

#define GUARD_FN		   static inline
#define GUARD_LOAD64(p)		   __atomic_load_n((p), __ATOMIC_RELAXED)
#define GUARD_LOAD32(p)		   __atomic_load_n((p), __ATOMIC_RELAXED)
#define GUARD_CAS64(p, old, next)  host_cas64((p), (old), (next))
#define GUARD_CAS32(p, old, next)  host_cas32((p), (old), (next))
#define GUARD_CAS128(p, old, next) host_cas128((p), (old), (next))
#define GUARD_MAX32(p, v)	   host_max32((p), (v))
#define GUARD_OR32(p, v)	   ((void)__atomic_fetch_or((p), (v), __ATOMIC_RELAXED))

#include "guard/update.h"

#endif
