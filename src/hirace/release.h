/*
 * release.h - release stamps: which pairs a lock, flag, ticket or grid barrier may have ordered.
 *
 * The machine knows barriers of blocks and warps and no other order. So each thread has a number T
 * that grows along everything else that may order memory, and A, the highest number that reached it
 * so. A race of the machine between an access made at T = s and this thread is a *data race* only
 * if s is at least A; else it is *possible*. The rules:
 *
 *  - all numbers begin at 0; a barrier of a block or warp joins them: each thread takes the maxima;
 *  - a releasing operation or a fence raises T by one, and the thread keeps T as its *release*;
 *  - a strong write (relaxed ones and atomics, too) leaves its thread's release in L, a number
 *    beside the location; a strong read leaves it in B (both keep the maximum);
 *  - an acquiring read raises T, A and the release to L; a relaxed read keeps L, and a strong write
 *    L and B, for the thread's next fence, which raises T and A to what was kept.
 *
 * If an access made at T = s happens before b by anything but barriers alone, a release stands on
 * the way: it raised T above s, and so was A wherever it arrived. So s >= A at b proves that only
 * barriers can order the two (docs/soundness.md has the proof). What the thread itself releases
 * raises T and not A: it doesn't blur what the thread sees. Every fence is taken for fence.sc,
 * which orders more: across barriers, and where a write comes after a read (B). Scopes are not
 * looked at, so a scope that is too small leaves a *possible* finding here.
 *
 * Besides, a strong write that a strong read sees is ordered before what comes after that read,
 * even without a release (PTX: observation). Only the write itself is, so T must not rise. Instead
 * a thread keeps which locations have been read strongly before it: a set of 32 bits by a hash of
 * the location, joined wherever T is. As many locations share a bit, each of them is marked, too,
 * before its bit goes anywhere. A race at a location with both is *possible*.
 *
 * L must be written before the program's write is visible, and read after the program's read: else
 * an acquire could see the value and not the number. How to see to that on a GPU is the
 * instrumentation's part. L, T and A have 32 bits and stop at the top.
 *
 * Freestanding C, compiled by CUDA C too. The includer defines the two operations on L first:
 *
 *	HIRACE_FN		specifiers of functions that use them
 *	HIRACE_LOAD32(p)	a relaxed load
 *	HIRACE_MAX32(p, v)	a relaxed atomic maximum, returns the number before
 *	HIRACE_OR32(p, v)	a relaxed atomic or, returns the bits before
 */
#ifndef COLLIDER_HIRACE_RELEASE_H
#define COLLIDER_HIRACE_RELEASE_H

#include "race/layout/stamps.h"

/* Of a location; begins as 0. */
struct hirace_side {
	uint32_t now, behind; /* L, B */
	uint32_t read;
};

/* The bit of a location, here of the address of its word. */
RACE_FN uint32_t hirace_read_bit(uint64_t address)
{
	return 1u << ((address >> 3) * RACE_READ_HASH >> 59);
}

/*
 * The thread made an access that races. It may have read or overwritten a value that another thread
 * wrote after a fence of its own. Then this thread's next fence comes after that fence (fence.sc),
 * and no stamp says so, as weak accesses leave none. From its next fence on no stamp of this thread
 * is certain, nor of a thread that acquires from it.
 */
RACE_FN void hirace_open(struct race_stamps *t)
{
	struct race_stamp any = {0, 0xffffffffu, 0xffffffffu};

	race_stamp_join(&t->seen, any);
}

/* A fence: it acquires what was seen, and releases. */
RACE_FN void hirace_fence(struct race_stamps *t)
{
	race_stamp_join(&t->own, t->seen);
	race_stamps_release(t, true);
}

/* The locations read before a release stay beside the location. */
HIRACE_FN void hirace_leave_read(const struct race_stamps *t, struct hirace_side *side)
{
	if (t->released.read & ~HIRACE_LOAD32(&side->read))
		HIRACE_OR32(&side->read, t->released.read);
}

/*
 * A strong write, before the program's; `side` is its location's. A releasing one calls
 * race_stamps_release() first.
 */
HIRACE_FN void hirace_strong_write(struct race_stamps *t, struct hirace_side *side)
{
	uint32_t now = HIRACE_LOAD32(&side->now), behind = HIRACE_LOAD32(&side->behind);
	uint32_t most = now > behind ? now : behind;
	struct race_stamp found = {most, most, HIRACE_LOAD32(&side->read)};

	race_stamp_join(&t->seen, found);
	if (now < t->released.now)
		HIRACE_MAX32(&side->now, t->released.now);
	hirace_leave_read(t, side);
}

/*
 * A strong read, after the program's, of the location with this bit. A read-modify-write calls
 * hirace_strong_write(), too, and this only if its result is used.
 */
HIRACE_FN void hirace_strong_read(struct race_stamps *t, struct hirace_side *side, uint32_t bit,
				  bool is_acquire)
{
	uint32_t now = HIRACE_LOAD32(&side->now);
	struct race_stamp found = {now, now, HIRACE_LOAD32(&side->read)};

	t->own.read |= bit;
	if (HIRACE_LOAD32(&side->behind) < t->released.now)
		HIRACE_MAX32(&side->behind, t->released.now);
	hirace_leave_read(t, side);
	race_stamp_join(&t->seen, found);
	if (!is_acquire)
		return;
	race_stamp_join(&t->own, found);
	race_stamp_join(&t->released, found);
}

/*
 * Is a pair without a barrier certainly unordered? `stamp` is T of the earlier side, at most 63,
 * `bit` that of the location.
 */
RACE_FN bool hirace_is_unordered(uint32_t stamp, uint32_t bit, const struct race_stamps *later)
{
	return stamp >= later->own.acquired && !(later->own.read & bit);
}

#endif
