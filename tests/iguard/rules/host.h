/*
 * host.h - update.h for the host: the operations as C11 atomics.
 */
#ifndef COLLIDER_TESTS_IGUARD_RULES_HOST_H
#define COLLIDER_TESTS_IGUARD_RULES_HOST_H

#include <stdint.h>

#include "race/layout/iguard.h"

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
static inline struct iguard_entry host_cas128(struct iguard_entry *p, struct iguard_entry old,
					      struct iguard_entry next)
{
	struct iguard_entry was = *p;

	if (was.writer == old.writer && was.accessor == old.accessor)
		*p = next;
	return was;
}

#define IGUARD_FN		    static inline
#define IGUARD_LOAD64(p)	    __atomic_load_n((p), __ATOMIC_RELAXED)
#define IGUARD_LOAD32(p)	    __atomic_load_n((p), __ATOMIC_RELAXED)
#define IGUARD_CAS64(p, old, next)  host_cas64((p), (old), (next))
#define IGUARD_CAS32(p, old, next)  host_cas32((p), (old), (next))
#define IGUARD_CAS128(p, old, next) host_cas128((p), (old), (next))
#define IGUARD_MAX32(p, v)	    host_max32((p), (v))
#define IGUARD_OR32(p, v)	    ((void)__atomic_fetch_or((p), (v), __ATOMIC_RELAXED))

#include "iguard/update.h"

#endif
