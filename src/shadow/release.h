/*
 * release.h - release stamps: which pairs a lock, flag, ticket or grid barrier may have ordered.
 *
 * The machine knows barriers of blocks and warps and no other order. So each thread has a number T that
 * grows along everything else that may order memory, and A, the highest number that reached it so. A
 * race of the machine between an access made at T = s and this thread is a *data race* only if s is at
 * least A; else it is *possible*. The rules:
 *
 *  - T and A begin at 0; a barrier of a block or warp joins both: each thread takes the maximum of all;
 *  - a releasing operation or a fence raises T by one, and the thread notes T as its *release*;
 *  - a strong write (relaxed ones and atomics, too) leaves max(L, the thread's release) in L, a number
 *    beside its location;
 *  - an acquiring read raises T and A to L; a relaxed read keeps L for the thread's next fence.
 *
 * If an access made at T = s happens before b by anything but barriers alone, a release stands on the
 * way: it raised T above s, its L was at least that, and so was A wherever it was acquired, and behind
 * all barriers that followed. So s >= A at b proves that only barriers can order the two
 * (docs/soundness.md has the proof). What the thread itself releases raises T and not A: it doesn't
 * blur what the thread sees. Scopes are not looked at, so a scope that is too small leaves a *possible*
 * finding here.
 *
 * Besides, a strong write that a strong read sees is ordered before what comes behind that read, even
 * without a release (PTX: observation). Only the write itself is, so T must not rise. Instead a thread
 * keeps which locations have been read strongly before it: a set of 32 bits by a hash of the location,
 * joined wherever T is. A race at such a location is *possible*.
 *
 * L must be written before the program's write is visible, and read after the program's read: else an
 * acquire could see the value and not the number. How to see to that on a GPU is the instrumentation's
 * part. L, T and A have 32 bits and stop at the top.
 *
 * Freestanding C, compiled by CUDA C too. The includer defines the two operations on L first:
 *
 *	SHADOW_FN		specifiers of functions that use them
 *	SHADOW_LOAD32(p)	a relaxed load
 *	SHADOW_MAX32(p, v)	a relaxed atomic maximum, returns the number before
 *	SHADOW_OR32(p, v)	a relaxed atomic or, returns the bits before
 */
#ifndef COLLIDER_SHADOW_RELEASE_H
#define COLLIDER_SHADOW_RELEASE_H

#include <stdbool.h>

#include "race/record.h"

/* What a thread has: T, A, and the locations that were read strongly. */
struct shadow_stamp {
	uint32_t now, acquired, read;
};

/* A thread's; begins as 0. */
struct shadow_stamps {
	struct shadow_stamp own;
	struct shadow_stamp released; /* own just after the last release was raised */
	struct shadow_stamp seen;     /* what relaxed reads found, for the next fence */
};

/* L of a location; begins as 0. */
struct shadow_side {
	uint32_t now, read;
};

RACE_FN void shadow_join(struct shadow_stamp *t, struct shadow_stamp other)
{
	if (t->now < other.now)
		t->now = other.now;
	if (t->acquired < other.acquired)
		t->acquired = other.acquired;
	t->read |= other.read;
}

/* The bit of a location, here of the address of its word. */
RACE_FN uint32_t shadow_read_bit(uint64_t address)
{
	return 1u << ((address >> 3) * 0x9e3779b97f4a7c15ull >> 59);
}

/* A releasing operation begins: before its write. */
RACE_FN void shadow_release(struct shadow_stamps *t)
{
	t->own.now += t->own.now != 0xffffffffu;
	t->released = t->own;
}

/* A fence: it acquires what relaxed reads have seen, and releases. */
RACE_FN void shadow_fence(struct shadow_stamps *t)
{
	shadow_join(&t->own, t->seen);
	shadow_release(t);
}

/* A strong write, before the program's; l is its location's. A releasing one calls shadow_release() first. */
SHADOW_FN void shadow_strong_write(const struct shadow_stamps *t, struct shadow_side *l)
{
	if (SHADOW_LOAD32(&l->now) < t->released.now)
		SHADOW_MAX32(&l->now, t->released.now);
	if (t->released.read & ~SHADOW_LOAD32(&l->read))
		SHADOW_OR32(&l->read, t->released.read);
}

/*
 * A strong read, behind the program's, of the location with this bit. A read-modify-write calls
 * shadow_strong_write(), too, and this only if its result is used.
 */
SHADOW_FN void shadow_strong_read(struct shadow_stamps *t, struct shadow_side *l, uint32_t bit,
				  bool is_acquire)
{
	uint32_t now = SHADOW_LOAD32(&l->now);
	struct shadow_stamp found = {now, now, SHADOW_LOAD32(&l->read)};

	t->own.read |= bit;
	shadow_join(is_acquire ? &t->own : &t->seen, found);
}

/*
 * Is a pair without a barrier certainly unordered? `stamp` is T of the earlier side, at most 63, `bit`
 * that of the location.
 */
RACE_FN bool shadow_is_unordered(uint32_t stamp, uint32_t bit, const struct shadow_stamps *later)
{
	return stamp >= later->own.acquired && !(later->own.read & bit);
}

#endif
