/*
 * copying.h - part of iguard.cu: cp.async, whose write goes on until its thread has waited.
 *
 *	__collider_iguard_copy		before a cp.async: its write
 *	__collider_iguard_copies	at commits and waits (race/layout/copies.h)
 *
 * In a kernel that accesses bytes a copy's words have an entry for each byte.
 */
DEV_FN void dev_copy_done(uint64_t me, uint64_t table, uint32_t at, uint32_t words)
{
	struct in_table t = dev_table_of(table, at);
	bool has_bytes = (at & 1u) != 0; /* see __collider_iguard_copy */
	uint32_t n = has_bytes ? 4u * words : words;

	t.off &= ~1u;
	if (t.off >= t.n || t.n - t.off < 4u * words)
		return;
	t.first += has_bytes ? t.off << 4 : t.off >> 2 << 4;
#pragma unroll 1
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *p = &((struct iguard_entry *)t.first)[i].writer;
		uint64_t was = dev_word(p), next = iguard_completed(was, me);

		if (next != was)
			dev_swap(p, was, next);
	}
}

#define DEV_COPY_DONE(me, state, table, at, words) dev_copy_done(me, table, at, words)
#include "device/copies.h"

/* A copy's address is a multiple of 4: bit 0 of what is kept says that entries are bytes'. */
extern "C" __device__ __noinline__ void __collider_iguard_copy(uint64_t me, uint64_t state,
							       uint64_t table, uint32_t at,
							       uint64_t what, uint64_t copies)
{
	uint32_t words = (uint32_t)__popc((int)RACE_IGUARD_SURE(what));
	uint32_t kept = at | ((uint32_t)what & RACE_IGUARD_BYTES ? 1u : 0u);

	if (at == 0xffffffffu || dev_is_aside(me))
		return;
	if (copies && !(dev_modes() & RACE_IGUARD_MODE_PUBLISHED)) {
		if (dev_copy_note((struct race_copies *)copies, kept, words))
			what |= RACE_COPY_ISSUED;
		else
			dev_untracked(); /* what meets it before its wait isn't seen */
	}
	dev_in_shared(me, state, table, at, what, 0);
}

extern "C" __device__ __noinline__ void
__collider_iguard_copies(uint64_t me, uint64_t state, uint64_t table, uint64_t copies, uint32_t op)
{
	dev_copies(me, state, table, (struct race_copies *)copies, op);
}
