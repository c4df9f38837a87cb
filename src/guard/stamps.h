/*
 * stamps.h - release stamps that know scopes: what locks, flags and fences may have ordered.
 *
 * As in shadow/release.h a thread has a number T that grows along releases, and A, the highest that
 * reached it: a pair that no barrier orders, with T = s at the earlier access, is certainly
 * unordered if s >= A at the later one. There every release and every acquire counts, whatever its
 * scope. Here all of it is kept twice:
 *
 *  - *block level*: every release raises T. It decides pairs of one block.
 *  - *device level*: only releases of a scope wider than .cta raise T; the others hand on what
 *    there is. It decides pairs of two blocks: on the way from one block to another stands a
 *    pattern whose release and whose acquire both have a scope that holds both threads (PTX ISA
 *    8.7.4), so a number rises there, and A with it. Locks and flags within one block leave A as it
 *    is.
 *
 * What strong writes leave beside a location is kept apart for the block that wrote there first
 * (`owner`) and for all others. So, read by a thread of
 *
 *  - the owner: its own block's part is known, the other part came from elsewhere;
 *  - another block: the owner's part came from elsewhere, the other one perhaps not.
 *
 * A fence or acquire of scope .cta can't complete a synchronisation with another block: what came
 * from elsewhere isn't taken, unless its writers had acquired something of another block: then a
 * fence of this block may stand on the way (it went there and came back, and two fence.sc of one
 * block are ordered by that). `near` holds what a fence of scope .cta may acquire, `seen` what a
 * wider one may. And of its own block's part the device level's A is what the writers had, no more.
 *
 * Observation (a strong write comes before what follows a strong read that saw it, though nothing
 * else of its thread does): the locations that were read strongly are a set of 31 bits, as there.
 * It is one for both levels: a write of scope .cta reaches another block by a wider
 * read-modify-write in between. A weak access is never observed: for it the set isn't asked.
 *
 * docs/soundness.md has the proof. Freestanding C, compiled by CUDA C too. The includer defines
 *
 *	GUARD_FN		specifiers of functions that use them
 *	GUARD_LOAD32(p)		a relaxed load
 *	GUARD_MAX32(p, v)	a relaxed atomic maximum (numbers only grow)
 *	GUARD_OR32(p, v)	a relaxed atomic or
 *	GUARD_CAS32(p, old, new)	a relaxed compare-and-swap, returns what was there
 */
#ifndef COLLIDER_GUARD_STAMPS_H
#define COLLIDER_GUARD_STAMPS_H

#include "race/layout/guard.h"

struct guard_stamp {
	uint32_t now, acquired, read;
};

struct guard_level {
	struct guard_stamp own;
	struct guard_stamp released; /* what a strong write leaves */
	struct guard_stamp seen;     /* what the next wide fence acquires */
	struct guard_stamp near;     /* what the next fence of scope .cta acquires */
};

/* A thread's; begins as 0. */
struct guard_stamps {
	struct guard_level block, device;
};

/* What strong writes of some threads have left. */
struct guard_part {
	uint32_t now, device_now, device_acquired;
};

/* Of a location; begins as 0. `behind` is left by strong reads. */
struct guard_side {
	struct guard_part part[2]; /* the owner's, the others' */
	uint32_t behind, device_behind, read;
	uint32_t owner; /* block + 1; with GUARD_OTHERS, if others wrote, too */
};
#define GUARD_OTHERS 0x80000000u

/* An operation that orders. */
struct guard_op {
	uint32_t owner; /* its thread's block + 1 */
	uint32_t bit;	/* of the location: guard_read_bit */
	bool is_wide;	/* its scope is wider than .cta */
	bool is_strict; /* it acquires or releases itself */
};

RACE_FN void guard_join(struct guard_stamp *t, struct guard_stamp other)
{
	if (t->now < other.now)
		t->now = other.now;
	if (t->acquired < other.acquired)
		t->acquired = other.acquired;
	t->read |= other.read;
}

RACE_FN void guard_join_level(struct guard_level *t, const struct guard_level *all)
{
	guard_join(&t->own, all->own);
	guard_join(&t->released, all->released);
	guard_join(&t->seen, all->seen);
	guard_join(&t->near, all->near);
}

/* A barrier: `all` is the join of those that take part. */
RACE_FN void guard_join_all(struct guard_stamps *t, const struct guard_stamps *all)
{
	guard_join_level(&t->block, &all->block);
	guard_join_level(&t->device, &all->device);
}

/* The bit of a location, here of the address of its entry. Not RACE_READ_FLAG. */
RACE_FN uint32_t guard_read_bit(uint64_t address)
{
	uint32_t bit = (uint32_t)((address >> 4) * RACE_READ_HASH >> 59);

	return 1u << (bit < 31u ? bit : 0u);
}

/* What says nothing of where it comes from: behind it no stamp is certain. */
RACE_FN struct guard_stamp guard_anything(void)
{
	struct guard_stamp any = {0xffffffffu, 0xffffffffu, 0xffffffffu};

	return any;
}

RACE_FN void guard_release_level(struct guard_level *t, bool is_raised)
{
	t->released = t->own;
	guard_join(&t->released, t->seen);
	if (t->released.acquired == 0xffffffffu)
		t->released.now = 0xffffffffu;
	t->released.now += is_raised && t->released.now != 0xffffffffu;
	t->own.now = t->released.now;
}

/* A releasing operation begins: before its write. */
RACE_FN void guard_release(struct guard_stamps *t, bool is_wide)
{
	guard_release_level(&t->block, true);
	guard_release_level(&t->device, is_wide);
}

/* A fence: it acquires what its scope can have seen, and releases. */
RACE_FN void guard_fence(struct guard_stamps *t, bool is_wide)
{
	guard_join(&t->block.own, is_wide ? t->block.seen : t->block.near);
	guard_join(&t->device.own, is_wide ? t->device.seen : t->device.near);
	guard_release(t, is_wide);
}

/*
 * A race that may order the thread's next fence behind a fence of another thread, whose stamps are
 * not known: from that fence on no stamp is certain. Only then does T become the highest
 * (guard_release_level), so that what was seen before stays known for the finding's kind.
 */
RACE_FN void guard_open(struct guard_stamps *t)
{
	struct guard_stamp any = guard_anything();

	any.now = 0;
	guard_join(&t->block.seen, any);
	guard_join(&t->device.seen, any);
	guard_join(&t->block.near, any);
	guard_join(&t->device.near, any);
}

GUARD_FN void guard_leave(uint32_t *at, uint32_t v)
{
	if (GUARD_LOAD32(at) < v)
		GUARD_MAX32(at, v);
}

GUARD_FN void guard_leave_read(uint32_t *at, uint32_t bits)
{
	if (bits & ~GUARD_LOAD32(at))
		GUARD_OR32(at, bits);
}

/* The part of a writer of this block. */
GUARD_FN uint32_t guard_claim(struct guard_side *side, uint32_t owner)
{
	uint32_t was = GUARD_LOAD32(&side->owner);

	if (was == 0)
		was = GUARD_CAS32(&side->owner, 0, owner);
	if (was == 0 || (was & ~GUARD_OTHERS) == owner)
		return 0;
	if (!(was & GUARD_OTHERS))
		GUARD_OR32(&side->owner, GUARD_OTHERS);
	return 1;
}

/* What a part of a location has: is_near: its writers may be of the thread's own block, is_home:
 * they all are. `strict`: an acquire of this scope. */
enum guard_strict { GUARD_LATER, GUARD_STRICT_CTA, GUARD_STRICT_WIDE };

GUARD_FN void guard_take(struct guard_stamps *t, const struct guard_side *side, uint32_t i,
			 bool is_near, bool is_home, enum guard_strict strict)
{
	struct guard_stamp found = {GUARD_LOAD32(&side->part[i].now), 0, GUARD_LOAD32(&side->read)};
	struct guard_stamp device = {GUARD_LOAD32(&side->part[i].device_now), 0, 0};
	uint32_t acquired = GUARD_LOAD32(&side->part[i].device_acquired);

	found.acquired = found.now;
	device.acquired = is_home ? acquired : device.now;
	is_near |= acquired != 0;
	guard_join(&t->block.seen, found);
	guard_join(&t->device.seen, device);
	if (is_near) {
		guard_join(&t->block.near, found);
		guard_join(&t->device.near, device);
	}
	if (strict == GUARD_LATER || (strict == GUARD_STRICT_CTA && !is_near))
		return;
	guard_join(&t->block.own, found);
	guard_join(&t->block.released, found);
	guard_join(&t->device.own, device);
	guard_join(&t->device.released, device);
}

/*
 * A strong write, before the program's; `side` is its location's. A releasing one calls
 * guard_release() first. All numbers are left before the write is visible. What it overwrites and
 * what was read there may order fences: fence.sc.
 */
GUARD_FN void guard_strong_write(struct guard_stamps *t, struct guard_side *side,
				 struct guard_op op)
{
	uint32_t mine = guard_claim(side, op.owner);
	struct guard_part *part = &side->part[mine];
	struct guard_stamp found = {GUARD_LOAD32(&side->behind), 0, 0};
	struct guard_stamp device = {GUARD_LOAD32(&side->device_behind), 0, 0};

	found.acquired = found.now;
	device.acquired = device.now;
	guard_join(&t->block.seen, found);
	guard_join(&t->block.near, found);
	guard_join(&t->device.seen, device);
	guard_join(&t->device.near, device);
	guard_take(t, side, 0, mine == 0, false, GUARD_LATER);
	guard_take(t, side, 1, mine == 1, false, GUARD_LATER);
	guard_leave(&part->now, t->block.released.now);
	guard_leave(&part->device_now, t->device.released.now);
	guard_leave(&part->device_acquired, t->device.released.acquired);
	guard_leave(&part->device_acquired, t->device.own.acquired);
	guard_leave_read(&side->read, t->block.released.read);
}

/* A strong read, after the program's. A read-modify-write calls guard_strong_write(), too, and
 * this only if its result is used. */
GUARD_FN void guard_strong_read(struct guard_stamps *t, struct guard_side *side, struct guard_op op)
{
	enum guard_strict strict = !op.is_strict ? GUARD_LATER
				   : op.is_wide	 ? GUARD_STRICT_WIDE
						 : GUARD_STRICT_CTA;
	bool is_owner;

	t->block.own.read |= op.bit;
	guard_leave(&side->behind, t->block.released.now);
	guard_leave(&side->device_behind, t->device.released.now);
	guard_leave_read(&side->read, t->block.released.read);
	is_owner = (GUARD_LOAD32(&side->owner) & ~GUARD_OTHERS) == op.owner;
	guard_take(t, side, 0, is_owner, is_owner, strict);
	guard_take(t, side, 1, !is_owner, false, strict);
}

#endif
