/*
 * host.h - update.h for the host: the operations as C11 atomics.
 */
#ifndef COLLIDER_TESTS_HIRACE_RULES_HOST_H
#define COLLIDER_TESTS_HIRACE_RULES_HOST_H

#include <stdint.h>

static inline uint64_t host_cas64(uint64_t *p, uint64_t old, uint64_t new)
{
	__atomic_compare_exchange_n(p, &old, new, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old;
}

static inline uint32_t host_max32(uint32_t *p, uint32_t v)
{
	uint32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (old < v &&
	       !__atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return old;
}

/* Launches that may run beside the actor's: a test sets it. */
extern uint32_t host_overlapping;

#define HIRACE_FN		  static inline
#define HIRACE_LOAD64(p)	  __atomic_load_n((p), __ATOMIC_RELAXED)
#define HIRACE_CAS64(p, old, new) host_cas64((p), (old), (new))
#define HIRACE_LOAD32(p)	  __atomic_load_n((p), __ATOMIC_RELAXED)
#define HIRACE_MAX32(p, v)	  host_max32((p), (v))
#define HIRACE_OR32(p, v)	  __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define HIRACE_OVERLAPS(mine, launch)                                                              \
	((launch) == host_overlapping ? HIRACE_OVERLAPPING : HIRACE_ORDERED)

#include "hirace/update.h"

/* No stamps: what barriers join where nothing is released. */
static const struct race_stamps host_none;

#endif
