/*
 * phase_impl.h - what phase.c (which barriers there are) and cases.c (which two accesses they keep
 * apart) share.
 */
#ifndef COLLIDER_PROVE_VALUE_PHASE_IMPL_H
#define COLLIDER_PROVE_VALUE_PHASE_IMPL_H

#include "prove/phase.h"

static inline bool prove_phase_has(const uint64_t *set, uint32_t b)
{
	return set[b / 64] >> (b % 64) & 1;
}

static inline void prove_phase_put(uint64_t *set, uint32_t b)
{
	set[b / 64] |= 1ull << (b % 64);
}

/*
 * Blocks reached from `from` without passing a barrier (through: passing them too) and without
 * going around the loops whose bit is set in `fixed`.
 */
void prove_phase_reach(const struct phases *p, uint32_t from, const uint64_t *fixed, bool through,
		       uint64_t *out);

#endif
