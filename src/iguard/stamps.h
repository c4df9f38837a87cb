/*
 * stamps.h - release stamps that know scopes: what locks, flags and fences may have ordered.
 *
 * As in hirace/release.h a thread has a number T that grows along releases, and A, the highest that
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
 *	IGUARD_FN		specifiers of functions that use them
 *	IGUARD_LOAD32(p)		a relaxed load
 *	IGUARD_MAX32(p, v)	a relaxed atomic maximum (numbers only grow)
 *	IGUARD_OR32(p, v)	a relaxed atomic or
 *	IGUARD_CAS32(p, old, new)	a relaxed compare-and-swap, returns what was there
 */
#ifndef COLLIDER_IGUARD_STAMPS_H
#define COLLIDER_IGUARD_STAMPS_H

#include "race/layout/iguard.h"
#include "race/layout/stamps.h"

struct iguard_level {
	struct race_stamps set; /* .seen: what the next wide fence acquires */
	struct race_stamp near; /* what the next fence of scope .cta acquires */
};

/* A thread's; begins as 0. */
struct iguard_stamps {
	struct iguard_level block, device;
};

/* What strong writes of some threads have left. */
struct iguard_part {
	uint32_t now, device_now, device_acquired;
};

/* Of a location; begins as 0. `behind` is left by strong reads. */
struct iguard_side {
	struct iguard_part part[2]; /* the owner's, the others' */
	uint32_t behind, device_behind, read;
	uint32_t owner; /* block + 1; with IGUARD_OTHERS, if others wrote, too */
};
#define IGUARD_OTHERS 0x80000000u

/* An operation that orders. */
struct iguard_op {
	uint32_t owner; /* its thread's block + 1 */
	uint32_t bit;	/* of the location: iguard_read_bit */
	bool is_wide;	/* its scope is wider than .cta */
	bool is_strict; /* it acquires or releases itself */
};

RACE_FN void iguard_join_level(struct iguard_level *t, const struct iguard_level *all)
{
	race_stamps_join(&t->set, &all->set);
	race_stamp_join(&t->near, all->near);
}

/* A barrier: `all` is the join of those that take part. */
RACE_FN void iguard_join_all(struct iguard_stamps *t, const struct iguard_stamps *all)
{
	iguard_join_level(&t->block, &all->block);
	iguard_join_level(&t->device, &all->device);
}

/* The bit of a location, here of the address of its entry. Not RACE_READ_FLAG. */
RACE_FN uint32_t iguard_read_bit(uint64_t address)
{
	uint32_t bit = (uint32_t)((address >> 4) * RACE_READ_HASH >> 59);

	return 1u << (bit < 31u ? bit : 0u);
}

/* What says nothing of where it comes from: after it no stamp is certain. */
RACE_FN struct race_stamp iguard_anything(void)
{
	struct race_stamp any = {0xffffffffu, 0xffffffffu, 0xffffffffu};

	return any;
}

/* A releasing operation begins: before its write. */
RACE_FN void iguard_release(struct iguard_stamps *t, bool is_wide)
{
	race_stamps_release(&t->block.set, true);
	race_stamps_release(&t->device.set, is_wide);
}

/* A fence: it acquires what its scope can have seen, and releases. */
RACE_FN void iguard_fence(struct iguard_stamps *t, bool is_wide)
{
	race_stamp_join(&t->block.set.own, is_wide ? t->block.set.seen : t->block.near);
	race_stamp_join(&t->device.set.own, is_wide ? t->device.set.seen : t->device.near);
	iguard_release(t, is_wide);
}

/*
 * A race that may order the thread's next fence after a fence of another thread, whose stamps are
 * not known: from that fence on no stamp is certain. Only then does T become the highest
 * (race_stamps_release), so that what was seen before stays known for the finding's kind.
 */
RACE_FN void iguard_open(struct iguard_stamps *t)
{
	struct race_stamp any = iguard_anything();

	any.now = 0;
	race_stamp_join(&t->block.set.seen, any);
	race_stamp_join(&t->device.set.seen, any);
	race_stamp_join(&t->block.near, any);
	race_stamp_join(&t->device.near, any);
}

IGUARD_FN void iguard_leave(uint32_t *at, uint32_t v)
{
	if (IGUARD_LOAD32(at) < v)
		IGUARD_MAX32(at, v);
}

IGUARD_FN void iguard_leave_read(uint32_t *at, uint32_t bits)
{
	if (bits & ~IGUARD_LOAD32(at))
		IGUARD_OR32(at, bits);
}

/* The part of a writer of this block. */
IGUARD_FN uint32_t iguard_claim(struct iguard_side *side, uint32_t owner)
{
	uint32_t was = IGUARD_LOAD32(&side->owner);

	if (was == 0)
		was = IGUARD_CAS32(&side->owner, 0, owner);
	if (was == 0 || (was & ~IGUARD_OTHERS) == owner)
		return 0;
	if (!(was & IGUARD_OTHERS))
		IGUARD_OR32(&side->owner, IGUARD_OTHERS);
	return 1;
}

/* What a part of a location has: is_near: its writers may be of the thread's own block, is_home:
 * they all are. `strict`: an acquire of this scope. */
enum iguard_strict { IGUARD_LATER, IGUARD_STRICT_CTA, IGUARD_STRICT_WIDE };

IGUARD_FN void iguard_take(struct iguard_stamps *t, const struct iguard_side *side, uint32_t i,
			   bool is_near, bool is_home, enum iguard_strict strict)
{
	struct race_stamp found = {IGUARD_LOAD32(&side->part[i].now), 0,
				   IGUARD_LOAD32(&side->read)};
	struct race_stamp device = {IGUARD_LOAD32(&side->part[i].device_now), 0, 0};
	uint32_t acquired = IGUARD_LOAD32(&side->part[i].device_acquired);

	found.acquired = found.now;
	device.acquired = is_home ? acquired : device.now;
	is_near |= acquired != 0;
	race_stamp_join(&t->block.set.seen, found);
	race_stamp_join(&t->device.set.seen, device);
	if (is_near) {
		race_stamp_join(&t->block.near, found);
		race_stamp_join(&t->device.near, device);
	}
	if (strict == IGUARD_LATER || (strict == IGUARD_STRICT_CTA && !is_near))
		return;
	race_stamp_join(&t->block.set.own, found);
	race_stamp_join(&t->block.set.released, found);
	race_stamp_join(&t->device.set.own, device);
	race_stamp_join(&t->device.set.released, device);
}

/*
 * A strong write, before the program's; `side` is its location's. A releasing one calls
 * iguard_release() first. All numbers are left before the write is visible. What it overwrites and
 * what was read there may order fences: fence.sc.
 */
IGUARD_FN void iguard_strong_write(struct iguard_stamps *t, struct iguard_side *side,
				   struct iguard_op op)
{
	uint32_t mine = iguard_claim(side, op.owner);
	struct iguard_part *part = &side->part[mine];
	struct race_stamp found = {IGUARD_LOAD32(&side->behind), 0, 0};
	struct race_stamp device = {IGUARD_LOAD32(&side->device_behind), 0, 0};

	found.acquired = found.now;
	device.acquired = device.now;
	race_stamp_join(&t->block.set.seen, found);
	race_stamp_join(&t->block.near, found);
	race_stamp_join(&t->device.set.seen, device);
	race_stamp_join(&t->device.near, device);
	iguard_take(t, side, 0, mine == 0, false, IGUARD_LATER);
	iguard_take(t, side, 1, mine == 1, false, IGUARD_LATER);
	iguard_leave(&part->now, t->block.set.released.now);
	iguard_leave(&part->device_now, t->device.set.released.now);
	iguard_leave(&part->device_acquired, t->device.set.released.acquired);
	iguard_leave(&part->device_acquired, t->device.set.own.acquired);
	iguard_leave_read(&side->read, t->block.set.released.read);
}

/* A strong read, after the program's. A read-modify-write calls iguard_strong_write(), too, and
 * this only if its result is used. */
IGUARD_FN void iguard_strong_read(struct iguard_stamps *t, struct iguard_side *side,
				  struct iguard_op op)
{
	enum iguard_strict strict = !op.is_strict ? IGUARD_LATER
				    : op.is_wide  ? IGUARD_STRICT_WIDE
						  : IGUARD_STRICT_CTA;
	bool is_owner;

	t->block.set.own.read |= op.bit;
	iguard_leave(&side->behind, t->block.set.released.now);
	iguard_leave(&side->device_behind, t->device.set.released.now);
	iguard_leave_read(&side->read, t->block.set.released.read);
	is_owner = (IGUARD_LOAD32(&side->owner) & ~IGUARD_OTHERS) == op.owner;
	iguard_take(t, side, 0, is_owner, is_owner, strict);
	iguard_take(t, side, 1, !is_owner, false, strict);
}

#endif
