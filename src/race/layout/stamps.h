/*
 * stamps.h - what hirace and iguard know alike of a thread's releases: T, a number that grows along
 * everything that may order memory but barriers, and A, the highest that reached the thread so.
 *
 * A pair that no barrier orders, with T = s at the earlier access, is certainly unordered if s >= A
 * at the later one. hirace/release.h has the rules and why; iguard/stamps.h keeps all of it by
 * scopes. Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_RACE_STAMPS_H
#define COLLIDER_RACE_STAMPS_H

#include <stdbool.h>

#include "race/layout/history.h"

/* T, A, and the locations that were read strongly, a set of bits by a hash. */
struct race_stamp {
	uint32_t now, acquired, read;
};

/* A thread's; begins as 0. */
struct race_stamps {
	struct race_stamp own;
	struct race_stamp released; /* what a strong write leaves */
	struct race_stamp seen;	    /* what the next fence acquires */
};

RACE_FN void race_stamp_join(struct race_stamp *t, struct race_stamp other)
{
	if (t->now < other.now)
		t->now = other.now;
	if (t->acquired < other.acquired)
		t->acquired = other.acquired;
	t->read |= other.read;
}

/* A barrier: `all` is the join of those that take part. */
RACE_FN void race_stamps_join(struct race_stamps *t, const struct race_stamps *all)
{
	race_stamp_join(&t->own, all->own);
	race_stamp_join(&t->released, all->released);
	race_stamp_join(&t->seen, all->seen);
}

/* A releasing operation begins: before its write. What waits for a fence goes along; is_raised: it
 * raises T, else it hands on what there is. */
RACE_FN void race_stamps_release(struct race_stamps *t, bool is_raised)
{
	t->released = t->own;
	race_stamp_join(&t->released, t->seen);
	if (t->released.acquired == 0xffffffffu)
		t->released.now = 0xffffffffu;
	t->released.now += is_raised && t->released.now != 0xffffffffu;
	t->own.now = t->released.now;
}

#endif
