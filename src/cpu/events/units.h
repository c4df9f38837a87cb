/*
 * units.h - which units of 16 bytes of a block's shared memory a matrix instruction reads, as bits:
 * what lies side by side is one access of the oracle.
 */
#ifndef COLLIDER_CPU_EVENTS_UNITS_H
#define COLLIDER_CPU_EVENTS_UNITS_H

#include "cpu/events/internal.h"
#include "cpu/wgmma.h"

#include <string.h>

#define EVENTS_UNIT_WORDS 512u /* of bits: more than a block's shared memory */

struct events_units {
	uint64_t base, bits[EVENTS_UNIT_WORDS];
};

static inline void events_units_begin(struct events_units *u, const struct cpu_cta *cta)
{
	u->base = (uint64_t)(uintptr_t)cta->shared - CPU_SHARED_BASE;
	memset(u->bits, 0, sizeof(u->bits));
}

static inline void events_units_add(struct events_units *u, const uint8_t *host)
{
	uint64_t i = ((uint64_t)(uintptr_t)host - u->base) / CPU_WGMMA_UNIT;

	if (i < EVENTS_UNIT_WORDS * 64)
		u->bits[i / 64] |= 1ull << i % 64;
}

/* The first unit from `at` on that is there, or isn't; EVENTS_UNIT_WORDS * 64: none. */
static inline uint32_t events_units_next(const struct events_units *u, uint32_t at, bool is_there)
{
	uint64_t turn = is_there ? 0 : UINT64_MAX;

	for (uint32_t word = at / 64, skip = at % 64; word < EVENTS_UNIT_WORDS; word++, skip = 0) {
		uint64_t bits = (u->bits[word] ^ turn) >> skip << skip;
		if (bits)
			return word * 64 + (uint32_t)__builtin_ctzll(bits);
	}
	return EVENTS_UNIT_WORDS * 64;
}

/* The pseudo-thread reads them. Lock held. */
static inline void events_units_read(struct cpu_events *x, uint32_t actor,
				     const struct cpu_site *site, const struct events_units *u)
{
	uint32_t from = events_units_next(u, 0, true), to;

	for (; from < EVENTS_UNIT_WORDS * 64; from = events_units_next(u, to, true)) {
		to = events_units_next(u, from, false);
		struct oracle_acc a = {.inst = site,
				       .kind = RACE_OP_READ,
				       .proxy = RACE_PROXY_ASYNC,
				       .flags = ORACLE_SHARED,
				       .bytes = CPU_WGMMA_UNIT};
		oracle_access_units(x->o, actor, &a, u->base + from * (uint64_t)CPU_WGMMA_UNIT,
				    (uint64_t)(to - from) * CPU_WGMMA_UNIT);
	}
}

#endif
