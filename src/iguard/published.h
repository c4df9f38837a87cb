/*
 * published.h - iGUARD's Table 2 to the letter of the paper (SOSP'21, sections 6.1 to 6.4), for
 * comparison.
 *
 * 16 bytes a location with the published fields and widths: fence counters of 6 bits and barrier
 * counters of 8 wrap, one summary of locks, the flags Modified, Atomic, Scope, DevShared,
 * BlkShared. The address tag of Figure 4 isn't needed where the entry is found by address; its room
 * holds the thread's number.
 *
 *	writer		bits 0 to 24 thread, 25 to 52 counters, 53 to 63 locks (low 11 bits)
 *	accessor	bits 0 to 24 thread, 25 to 52 counters, 53 to 57 locks (high 5), then flags
 *	counters	DevFenceID 6, BlkFenceID 6, BlkBarID 8, WarpBarID 8
 *
 * Where the letter leaves it open: of the fence counters `sm` is the earlier accessor's own (the
 * text: "separated by a fence"), of the barrier counters that of the checker's block and warp,
 * which it shares with the earlier accessor where the rule is asked; mm.Locks is the accessor's.
 * DevShared and BlkShared are set before the check, or R3 would take the pairs of R4, and never
 * unset; the rest is updated after it.
 *
 * It reports what doesn't race and misses what does: tests/iguard/rules/published.c has the
 * smallest programs. Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_IGUARD_PUBLISHED_H
#define COLLIDER_IGUARD_PUBLISHED_H

#include "race/layout/iguard.h"

#define IGUARD_PUB_THREAD_BITS 25u
#define IGUARD_PUB_MODIFIED    1u
#define IGUARD_PUB_ATOMIC      2u
#define IGUARD_PUB_SCOPE       4u /* the last atomic had block scope */
#define IGUARD_PUB_DEV_SHARED  8u
#define IGUARD_PUB_BLK_SHARED  16u
#define IGUARD_PUB_VALID       32u

/* Counters of a thread now; they wrap. */
struct iguard_pub_counters {
	uint32_t dev_fence, blk_fence; /* the thread's, 6 bits */
	uint32_t blk_bar, warp_bar;    /* its block's, its warp's, 8 bits */
};

/* The accessing thread. */
struct iguard_pub_actor {
	uint32_t thread, block_size; /* number in the grid; blocks have whole warps here */
	uint32_t active;	     /* lanes that execute this instruction together */
	uint32_t locks;
	struct iguard_pub_counters now;
};

struct iguard_pub_access {
	bool is_load, is_atomic, has_block_scope;
};

struct iguard_pub_side {
	uint32_t thread;
	struct iguard_pub_counters at;
};

enum iguard_pub_rule { IGUARD_PUB_NONE, IGUARD_R1, IGUARD_R2, IGUARD_R3, IGUARD_R4, IGUARD_R5 };

RACE_FN struct iguard_pub_side iguard_pub_side_of(uint64_t word)
{
	struct iguard_pub_side s;

	s.thread = (uint32_t)word & ((1u << IGUARD_PUB_THREAD_BITS) - 1u);
	s.at.dev_fence = (uint32_t)(word >> 25) & 63u;
	s.at.blk_fence = (uint32_t)(word >> 31) & 63u;
	s.at.blk_bar = (uint32_t)(word >> 37) & 255u;
	s.at.warp_bar = (uint32_t)(word >> 45) & 255u;
	return s;
}

RACE_FN uint64_t iguard_pub_word(const struct iguard_pub_actor *me)
{
	return me->thread | (uint64_t)(me->now.dev_fence & 63u) << 25 |
	       (uint64_t)(me->now.blk_fence & 63u) << 31 |
	       (uint64_t)(me->now.blk_bar & 255u) << 37 | (uint64_t)(me->now.warp_bar & 255u) << 45;
}

RACE_FN uint32_t iguard_pub_flags(struct iguard_entry e)
{
	return (uint32_t)(e.accessor >> 58);
}

RACE_FN uint32_t iguard_pub_locks(struct iguard_entry e)
{
	return (uint32_t)(e.writer >> 53) | ((uint32_t)(e.accessor >> 53) & 31u) << 11;
}

/* The flags with those that this access sets before it is checked. */
RACE_FN uint32_t iguard_pub_shared(struct iguard_entry e, const struct iguard_pub_actor *me)
{
	uint32_t flags = iguard_pub_flags(e), last = iguard_pub_side_of(e.accessor).thread;

	if (!(flags & IGUARD_PUB_VALID))
		return flags;
	if (last / me->block_size != me->thread / me->block_size)
		return flags | IGUARD_PUB_DEV_SHARED;
	return last / 32u != me->thread / 32u ? flags | IGUARD_PUB_BLK_SHARED : flags;
}

/* What Table 2 says of the access. `earlier`: the counters now of the thread in md (fences). */
RACE_FN enum iguard_pub_rule iguard_pub_check(struct iguard_entry e,
					      const struct iguard_pub_actor *me,
					      const struct iguard_pub_access *a,
					      const struct iguard_pub_counters *earlier)
{
	struct iguard_pub_side md = iguard_pub_side_of(a->is_load ? e.writer : e.accessor);
	struct iguard_pub_side writer = iguard_pub_side_of(e.writer);
	uint32_t flags = iguard_pub_shared(e, me), locks = iguard_pub_locks(e);
	uint32_t block = me->thread / me->block_size;
	bool is_dev = flags & IGUARD_PUB_DEV_SHARED, is_blk = flags & IGUARD_PUB_BLK_SHARED;
	bool is_same_block = md.thread / me->block_size == block;
	bool is_same_warp = md.thread / 32u == me->thread / 32u;
	bool is_same_dev = md.at.dev_fence == (earlier->dev_fence & 63u);
	bool is_same_blk = md.at.blk_fence == (earlier->blk_fence & 63u);
	bool has_block_scope = flags & IGUARD_PUB_SCOPE, is_atomic = flags & IGUARD_PUB_ATOMIC;

	/* P1 to P6 */
	if (!(flags & IGUARD_PUB_VALID) || (!(flags & IGUARD_PUB_MODIFIED) && a->is_load))
		return IGUARD_PUB_NONE;
	if (!is_dev && !is_blk && md.thread == me->thread)
		return IGUARD_PUB_NONE;
	if (!is_dev && !is_blk && is_same_warp &&
	    (md.at.warp_bar != (me->now.warp_bar & 255u) || me->active >> md.thread % 32u & 1u))
		return IGUARD_PUB_NONE;
	if (!is_dev && is_same_block && md.at.blk_bar != (me->now.blk_bar & 255u))
		return IGUARD_PUB_NONE;
	if (is_atomic && a->is_atomic && (is_same_block || !has_block_scope))
		return IGUARD_PUB_NONE;
	/* R1 to R5 */
	if (is_atomic && has_block_scope && writer.thread / me->block_size != block)
		return IGUARD_R1;
	if (is_same_warp && is_same_dev && is_same_blk && !is_dev && !is_blk && is_same_block)
		return IGUARD_R2;
	if (is_same_dev && is_same_blk && !is_dev)
		return IGUARD_R3;
	if (!is_same_block && is_same_dev)
		return IGUARD_R4;
	if ((locks || me->locks) && !(locks & me->locks))
		return IGUARD_R5;
	return IGUARD_PUB_NONE;
}

/* Section 6.2: the entry after the access. */
RACE_FN struct iguard_entry iguard_pub_update(struct iguard_entry e,
					      const struct iguard_pub_actor *me,
					      const struct iguard_pub_access *a)
{
	uint32_t flags = iguard_pub_shared(e, me), locks = me->locks & 0xffffu;
	uint64_t word = iguard_pub_word(me), writer = e.writer & ((1ull << 53) - 1u);

	flags |= IGUARD_PUB_VALID;
	if (!a->is_load) {
		flags |= IGUARD_PUB_MODIFIED;
		writer = word;
	}
	if (a->is_atomic) {
		flags |= IGUARD_PUB_ATOMIC;
		flags &= ~IGUARD_PUB_SCOPE;
		flags |= a->has_block_scope ? IGUARD_PUB_SCOPE : 0;
	}
	e.writer = writer | (uint64_t)(locks & 0x7ffu) << 53;
	e.accessor = word | (uint64_t)(locks >> 11) << 53 | (uint64_t)flags << 58;
	return e;
}

#endif
