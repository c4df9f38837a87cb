/*
 * release.h - release stamps: which pairs a lock, flag, ticket or grid barrier may have ordered.
 *
 * The machine knows barriers of blocks and warps and no other order. So each thread has a number T that
 * grows along everything else that may order memory, and a pair that no barrier orders is a *data
 * race* only if T shows that nothing else did either; else it is *possible*. The rules:
 *
 *  - T begins at 0; a barrier of a block or warp joins it: each takes the maximum of all;
 *  - a releasing operation or a fence raises T by one, and the thread notes T as its *release*;
 *  - a strong write (relaxed ones and atomics, too) leaves max(L, the thread's release) in L, a number
 *    beside its location;
 *  - an acquiring read takes max(T, L) as T; a relaxed read keeps L for the thread's next fence.
 *
 * If an access a, made at T = s, happens before b by anything but barriers alone, a release stands
 * on the way: it raised T above s, its L was at least that, and so is T wherever it was acquired. So
 * s >= T at b proves that only barriers can order a before b (docs/soundness.md has the proof). Scopes are
 * not looked at, so a scope that is too small leaves a *possible* finding here.
 *
 * L must be written before the program's write is visible, and read after the program's read: else an
 * acquire could see the value and not the number. How to see to that on a GPU is the instrumentation's
 * part. L and T have 32 bits and stop at the top.
 *
 * Freestanding C, compiled by CUDA C too. The includer defines the two operations on L first:
 *
 *	SHADOW_FN		specifiers of functions that use them
 *	SHADOW_LOAD32(p)	a relaxed load
 *	SHADOW_MAX32(p, v)	a relaxed atomic maximum, returns the number before
 */
#ifndef COLLIDER_SHADOW_RELEASE_H
#define COLLIDER_SHADOW_RELEASE_H

#include <stdbool.h>

#include "race/record.h"

/* A thread's numbers; begin as 0. */
struct shadow_stamps {
	uint32_t now;	   /* T */
	uint32_t released; /* T just after the last release was raised */
	uint32_t seen;	   /* the highest L of relaxed reads, for the next fence */
};

RACE_FN uint32_t shadow_later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* A releasing operation begins: before its write. */
RACE_FN void shadow_release(struct shadow_stamps *t)
{
	t->now += t->now != 0xffffffffu;
	t->released = t->now;
}

/* A fence: it acquires what relaxed reads have seen, and releases. */
RACE_FN void shadow_fence(struct shadow_stamps *t)
{
	t->now = shadow_later(t->now, t->seen);
	shadow_release(t);
}

/* A strong write, before the program's. A releasing one calls shadow_release() first. */
SHADOW_FN void shadow_strong_write(const struct shadow_stamps *t, uint32_t *l)
{
	if (SHADOW_LOAD32(l) < t->released)
		SHADOW_MAX32(l, t->released);
}

/* A strong read, behind the program's. An atomic calls shadow_strong_write(), too. */
SHADOW_FN void shadow_strong_read(struct shadow_stamps *t, uint32_t *l, bool is_acquire)
{
	uint32_t v = SHADOW_LOAD32(l);

	if (is_acquire)
		t->now = shadow_later(t->now, v);
	else
		t->seen = shadow_later(t->seen, v);
}

/* A barrier: `others` is the maximum of T of all that take part. */
RACE_FN void shadow_join(struct shadow_stamps *t, uint32_t others)
{
	t->now = shadow_later(t->now, others);
}

/* Is a pair without a barrier certainly unordered? `stamp` is T of the earlier side, at most 63. */
RACE_FN bool shadow_is_unordered(uint32_t stamp, const struct shadow_stamps *later)
{
	return stamp >= later->now;
}

#endif
