/*
 * copying.h - part of hirace.cu: cp.async, whose write goes on until its thread has waited.
 *
 *	__collider_hirace_copy		before a cp.async: its write
 *	__collider_hirace_copies	at commits and waits (race/layout/copies.h)
 */
/* One word of a copy that is complete; left: what lies beside it, or 0. */
DEV_FN void dev_copy_done_at(uint64_t me, uint64_t stamps, uint64_t word, uint64_t left)
{
	struct hirace_actor a = dev_actor(me, (const struct race_stamps *)stamps);
	uint64_t was = dev_word((const void *)word), next, found;

#pragma unroll 1
	for (;;) {
		next = hirace_completed(was, &a, dev_is_aside(me));
		if (next == was)
			return;
		found = dev_swap((void *)word, was, next);
		if (found == was)
			break;
		was = found;
	}
	if (left) {
		uint32_t beside = dev_word32((const void *)left);
		if (race_history_is_of(beside, was))
			asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(left),
				     "r"((beside & ~RACE_LEFT_HASH) | race_history_mix(next)));
	}
}

DEV_FN void dev_copy_done(uint64_t me, uint64_t stamps, uint64_t table, uint32_t at, uint32_t n)
{
	uint32_t off = at - RACE_TABLE_FIRST(table), all = RACE_TABLE_TRACKED(table);
	uint64_t words = dev_shared_words(table);

#pragma unroll 1
	for (uint32_t i = 0; i < n && off < all && all - off >= 4u * n; i++)
		dev_copy_done_at(me, stamps, words + ((uint64_t)(off >> 2) + i) * 8u,
				 table & RACE_TABLE_HAS_SITES
					 ? words + RACE_HISTORY_SHARED_WORDS(all) +
						   ((uint64_t)(off >> 2) + i) * 4u
					 : 0);
}

#define DEV_COPY_DONE(me, stamps, table, at, words) dev_copy_done(me, stamps, table, at, words)
#include "device/copies.h"

extern "C" __device__ __noinline__ void __collider_hirace_copy(uint64_t me, uint64_t stamps,
							       uint64_t table, uint32_t at,
							       uint64_t what, uint64_t copies)
{
	uint32_t words = (uint32_t)__popc((int)RACE_HISTORY_SURE(what));

	if (at == 0xffffffffu || dev_is_aside(me))
		return;
	if (copies && !dev_is_published()) {
		if (dev_copy_note((struct race_copies *)copies, at, words))
			what |= RACE_COPY_ISSUED;
		else
			dev_untracked(); /* what meets it before its wait isn't seen */
	}
	dev_in_shared(me, stamps, table, at, what, 0);
}

extern "C" __device__ __noinline__ void
__collider_hirace_copies(uint64_t me, uint64_t stamps, uint64_t table, uint64_t copies, uint32_t op)
{
	dev_copies(me, stamps, table, (struct race_copies *)copies, op);
}
