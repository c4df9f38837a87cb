/*
 * held.h - part of iguard.cu: loads that the compiler may have invented, whose races are
 * held until their values are used.
 *
 *	__collider_iguard_hold	before such a load
 *	__collider_iguard_settle	before what orders, after a barrier of the block
 *	__collider_iguard_used	before a use of values that masks name
 */
/* Is the word's access one of this block since its last barrier, as the thread's numbers say? */
DEV_FN bool dev_is_of_interval(uint64_t word, const struct iguard_actor *a)
{
	struct iguard_view v = iguard_view_of(word, a);

	return !v.is_across && v.c.block_clock == a->own.block_clock;
}

/* One entry of a read that is only looked at. */
DEV_FN void dev_look_entry(uint64_t me, uint64_t state, uint64_t entry, uint64_t at, uint32_t what,
			   uint32_t width, struct held_look *look)
{
	const struct state *s = (const struct state *)state;
	const struct iguard_stamps *stamps = me & RACE_IGUARD_ORDERS ? &s->stamps : 0;
	struct iguard_access a = {false, false, false, RACE_IGUARD_SITE(what) + 1u,
				  dev_read_bit(at & ~3ull)};
	struct iguard_actor actor = dev_actor(me, s);
	struct iguard_seen seen = {IGUARD_NO_RACE, true, 0, false};
	struct iguard_entry was = dev_entry((struct iguard_entry *)entry);
	struct iguard_result r = iguard_judge(was, &actor, &a);
	uint32_t kind, may = RACE_MAY_NOTHING;

	iguard_note(&seen, &r, &was);
	if (r.open.writer && stamps)
		__collider_iguard_open(s, r.open.writer);
	if (seen.is_open && stamps)
		iguard_open(&((struct state *)state)->stamps);
	if (seen.verdict != IGUARD_POSSIBLE && seen.verdict != IGUARD_IS_RACE)
		return;
	/* Where something else orders threads, too, another block may have come after the read. */
	if (look->way == RACE_HELD_LAST && stamps && !dev_is_of_interval(seen.word, &actor))
		return;
	kind = iguard_kind_of(&seen, &actor, &a, stamps, stamps && s->small_fence);
	if (seen.verdict == IGUARD_POSSIBLE)
		may = iguard_may(&seen, &actor, &a);
	if (look->way == RACE_HELD_FIRST)
		__collider_iguard_record(me, at, seen.word, RACE_IGUARD_SITE(what),
					 (seen.verdict == IGUARD_IS_RACE
						  ? (uint32_t)RACE_KIND_IGUARD_INVENTED
						  : kind) |
						 width << 8 | may << 16);
	if (seen.verdict != IGUARD_IS_RACE || look->is_race)
		return;
	look->is_race = true;
	if (!look->place)
		return;
	look->place->me = me;
	look->place->at = at;
	look->place->was = seen.word;
	look->place->kind = kind | width << 8;
}

/* Its entries, as __collider_iguard_entries has them. */
DEV_FN void dev_look(uint64_t me, uint64_t state, uint64_t at, uint64_t first, uint64_t what64,
		     struct held_look *look)
{
	uint32_t what = (uint32_t)what64, all = RACE_IGUARD_MAYBE(what64);
	uint32_t n = RACE_IGUARD_NARROW(what) ? RACE_IGUARD_NARROW(what) : 4u;
	bool has_bytes = (what & RACE_IGUARD_BYTES) != 0;

#pragma unroll 1
	for (uint32_t i = 0; all >> i; i++) {
#pragma unroll 1
		for (uint32_t k = 0; all >> i & 1u && k < (has_bytes ? n : 1u); k++) {
			uint32_t b = 4u * i + k;
			dev_look_entry(me, state, first + IGUARD_ENTRY_BYTES * (has_bytes ? b : i),
				       at + b, what, has_bytes ? 1u : n, look);
		}
	}
}

extern "C" __device__ __noinline__ uint32_t __collider_iguard_look(uint64_t me, uint64_t state,
								   uint64_t table, uint64_t at,
								   uint64_t what, uint64_t place,
								   uint32_t way)
{
	struct held_look look = {(struct race_held_place *)place, way, false};
	uint32_t space = RACE_HELD_SPACE(what);
	const void *p = (const void *)at;

	if (dev_modes() & RACE_IGUARD_MODE_PUBLISHED)
		return 0;
	if (space == RACE_HELD_IN_SHARED)
		dev_in_shared(me, state, table, (uint32_t)at, what, &look);
	else if (space == RACE_HELD_IN_GLOBAL || __isGlobal(p))
		dev_global(me, state, at, what, &look);
	else if (__isShared(p))
		dev_in_shared(me, state, table, (uint32_t)__cvta_generic_to_shared(p), what, &look);
	return look.is_race;
}

DEV_FN void dev_held_check(uint64_t me, uint64_t state, uint64_t table, uint64_t at, uint64_t what)
{
	if (RACE_HELD_SPACE(what) == RACE_HELD_IN_GLOBAL)
		__collider_iguard_g(me, state, at, what);
	else if (RACE_HELD_SPACE(what) == RACE_HELD_IN_SHARED)
		__collider_iguard_s(me, state, table, (uint32_t)at, what);
	else
		__collider_iguard_x(me, state, table, at, what);
}

#define DEV_HELD_LOOK(me, state, table, at, what, p, way)                                          \
	__collider_iguard_look(me, state, table, at, what, (uint64_t)(p), way)
#define DEV_HELD_CHECK(me, state, table, at, what) dev_held_check(me, state, table, at, what)
#define DEV_HELD_RECORD(p)                                                                         \
	__collider_iguard_record((p)->me, (p)->at, (p)->was, RACE_IGUARD_SITE((p)->what), (p)->kind)
#include "device/held.h"

extern "C" __device__ __noinline__ uint64_t __collider_iguard_hold(uint64_t me, uint64_t state,
								   uint64_t table, uint64_t at,
								   uint64_t what, uint64_t held)
{
	struct race_held *h = (struct race_held *)held;

	return dev_is_aside(me) || dev_is_nothing(at, what)
		       ? h->live
		       : dev_hold(me, state, table, at, what, h);
}

extern "C" __device__ __noinline__ uint64_t __collider_iguard_settle(uint64_t me, uint64_t state,
								     uint64_t table, uint64_t held,
								     uint32_t op)
{
	return dev_settle(me, state, table, (struct race_held *)held, op);
}

extern "C" __device__ __noinline__ uint64_t __collider_iguard_used(uint64_t me, uint64_t state,
								   uint64_t table, uint64_t held,
								   uint32_t mask)
{
	return dev_used(me, state, table, (struct race_held *)held, mask);
}
