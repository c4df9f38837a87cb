/*
 * held.h - part of hirace.cu: loads that the compiler may have invented, whose races are
 * held until their values are used.
 *
 *	__collider_hirace_hold		before such a load
 *	__collider_hirace_settle	before what orders, after a barrier of the block
 *	__collider_hirace_used		before a use of values that masks name
 */
/* Is the word's access one of this block since its last barrier, as the thread's numbers say? */
DEV_FN bool dev_is_of_interval(uint64_t was, const struct hirace_actor *a)
{
	struct hirace_word w = hirace_decode(was, a->thread_bits);

	return w.launch == a->launch && w.block_clock == a->block_clock &&
	       hirace_relation_of(a, w.thread) != HIRACE_GRID;
}

/* A word, what lies beside it or 0, and the address and bytes that it stands for. */
struct held_word {
	uint64_t word, left, at;
	uint32_t width;
};

/* One word of a read that is only looked at. */
DEV_FN void dev_look_word(uint64_t me, uint64_t stamps, const struct held_word *h, uint32_t what,
			  struct held_look *look)
{
	uint64_t at = h->at;
	struct hirace_actor a = dev_actor(me, (const struct race_stamps *)stamps);
	uint32_t beside = 0, bit = dev_asked(me, &a, at, what, dev_read_bit(at & ~3ull));
	enum hirace_verdict verdict;
	struct hirace_seen seen;

	verdict = hirace_access_at((uint64_t *)h->word, bit, dev_machine(), &a, HIRACE_R,
				   HIRACE_LOOK, &seen);
	if (stamps && (verdict == HIRACE_IS_RACE || verdict == HIRACE_POSSIBLE ||
		       hirace_has_raced(seen.was, &a)))
		hirace_open((struct race_stamps *)stamps);
	if (verdict != HIRACE_IS_RACE && verdict != HIRACE_POSSIBLE)
		return;
	/* Where something else orders threads, too, another block may have come after the read. */
	if (look->way == RACE_HELD_LAST && stamps && !dev_is_of_interval(seen.was, &a))
		return;
	if (h->left)
		beside = dev_word32((const void *)h->left);
	beside = dev_who(beside, seen.was, what, a.thread_bits);
	if (look->way == RACE_HELD_FIRST) {
		uint32_t kind = verdict == HIRACE_IS_RACE
					? RACE_KIND_HISTORY_INVENTED
					: RACE_KIND_HISTORY_POSSIBLE |
						  dev_may(me, seen.was, &a, bit, what) << 16;
		__collider_hirace_record(me, at, seen.was, beside, RACE_HISTORY_SITE(what),
					 kind | h->width << 8);
	}
	if (verdict != HIRACE_IS_RACE || look->is_race)
		return;
	look->is_race = true;
	if (!look->place)
		return;
	look->place->me = me;
	look->place->at = at;
	look->place->was = seen.was;
	look->place->earlier = beside;
	look->place->kind = RACE_KIND_HISTORY | h->width << 8;
}

/* The words of it, as __collider_hirace_words has them. */
DEV_FN void dev_look(uint64_t me, uint64_t stamps, const struct where *w, uint64_t what64,
		     struct held_look *look)
{
	uint32_t what = (uint32_t)what64, all = RACE_HISTORY_MAYBE(what64);
	uint32_t n = RACE_HISTORY_NARROW(what) ? RACE_HISTORY_NARROW(what) : 4u;

#pragma unroll 1
	for (uint32_t i = 0; all >> i; i++) {
#pragma unroll 1
		for (uint32_t k = 0; k <= n && all >> i & 1u; k++) {
			bool is_word = k == n;
			uint32_t b = 4u * i + (is_word ? 0u : k);
			struct held_word h = {is_word ? w->words + 8u * i : w->bytes + 8u * b,
					      is_word ? w->left : w->bytes_left, w->at + b,
					      is_word ? n : 1u};
			if (!is_word && !w->bytes)
				continue;
			if (h.left)
				h.left += 4u * (is_word ? i : b);
			dev_look_word(me, stamps, &h, what, look);
		}
	}
}

extern "C" __device__ __noinline__ uint32_t __collider_hirace_look(uint64_t me, uint64_t stamps,
								   uint64_t table, uint64_t at,
								   uint64_t what, uint64_t place,
								   uint32_t way)
{
	struct held_look look = {(struct race_held_place *)place, way, false};
	uint32_t space = RACE_HELD_SPACE(what);
	const void *p = (const void *)at;

	if (space == RACE_HELD_IN_SHARED)
		dev_in_shared(me, stamps, table, (uint32_t)at, what, &look);
	else if (space == RACE_HELD_IN_GLOBAL || __isGlobal(p))
		dev_global(me, stamps, at, what, &look);
	else if (__isShared(p))
		dev_in_shared(me, stamps, table, (uint32_t)__cvta_generic_to_shared(p), what,
			      &look);
	return look.is_race;
}

DEV_FN void dev_held_check(uint64_t me, uint64_t stamps, uint64_t table, uint64_t at, uint64_t what)
{
	if (RACE_HELD_SPACE(what) == RACE_HELD_IN_GLOBAL)
		__collider_hirace_g(me, stamps, at, what);
	else if (RACE_HELD_SPACE(what) == RACE_HELD_IN_SHARED)
		__collider_hirace_s(me, stamps, table, (uint32_t)at, what);
	else
		__collider_hirace_x(me, stamps, table, at, what);
}

#define DEV_HELD_LOOK(me, state, table, at, what, p, way)                                          \
	__collider_hirace_look(me, state, table, at, what, (uint64_t)(p), way)
#define DEV_HELD_CHECK(me, state, table, at, what) dev_held_check(me, state, table, at, what)
#define DEV_HELD_RECORD(p)                                                                         \
	__collider_hirace_record((p)->me, (p)->at, (p)->was, (p)->earlier,                         \
				 RACE_HISTORY_SITE((p)->what), (p)->kind)
#include "device/held.h"

extern "C" __device__ __noinline__ uint64_t __collider_hirace_hold(uint64_t me, uint64_t stamps,
								   uint64_t table, uint64_t at,
								   uint64_t what, uint64_t held)
{
	struct race_held *h = (struct race_held *)held;

	return dev_is_aside(me) || dev_is_nothing(at, what)
		       ? h->live
		       : dev_hold(me, stamps, table, at, what, h);
}

extern "C" __device__ __noinline__ uint64_t __collider_hirace_settle(uint64_t me, uint64_t stamps,
								     uint64_t table, uint64_t held,
								     uint32_t op)
{
	return dev_settle(me, stamps, table, (struct race_held *)held, op);
}

extern "C" __device__ __noinline__ uint64_t __collider_hirace_used(uint64_t me, uint64_t stamps,
								   uint64_t table, uint64_t held,
								   uint32_t mask)
{
	return dev_used(me, stamps, table, (struct race_held *)held, mask);
}
