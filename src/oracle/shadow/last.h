/*
 * last.h - of each thread the last one: a table from threads to numbers, for one walk over a list.
 */
#ifndef COLLIDER_ORACLE_SHADOW_LAST_H
#define COLLIDER_ORACLE_SHADOW_LAST_H

#include "oracle/types.h"

struct oracle_last {
	uint32_t key; /* actor and kind, 0: free */
	uint32_t value;
};

struct oracle_lasts {
	struct oracle_last *v;
	uint32_t shift; /* 32 - log2 of the size */
};

/* For n entries at most. */
static inline struct oracle_lasts oracle_lasts_new(uint32_t n)
{
	uint32_t bits = 33u - (uint32_t)__builtin_clz(n | 1); /* twice as many */

	return (struct oracle_lasts){base_calloc((size_t)1 << bits, sizeof(struct oracle_last)),
				     32 - bits};
}

/* The entry of an actor and a kind, 0 or 1; UINT32_MAX: it is new. */
static inline uint32_t *oracle_last_of(struct oracle_lasts *t, uint32_t actor, bool kind)
{
	uint32_t key = (actor << 1 | kind) + 1, mask = UINT32_MAX >> t->shift;

	for (uint32_t i = key * 0x9e3779b1u >> t->shift;; i = (i + 1) & mask) {
		if (t->v[i].key == key)
			return &t->v[i].value;
		if (t->v[i].key)
			continue;
		t->v[i] = (struct oracle_last){key, UINT32_MAX};
		return &t->v[i].value;
	}
}

#endif
