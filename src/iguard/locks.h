/*
 * locks.h - which locks a thread holds, inferred from what it does (SOSP'21, section 6.3).
 *
 * CUDA has no lock. What takes one is a compare-and-swap that succeeds, or an exchange that finds 0
 * or leaves 0 (cuda::binary_semaphore), then a fence (or that acquires itself); what gives it back
 * is a later strong write to it by the holder. Each thread has a table of three (the paper's
 * number), so threads of a warp may hold different ones; they may be given back in any order. A
 * lane that takes a lock for its warp, and a thread that does so for its block, share it with those
 * that they meet: at a barrier each lane gets the join of the locks of all (iguard_locks_meet),
 * until the next one.
 *
 * Beyond the paper are locks that are waited for after one atomic (`wait`):
 *
 *  - *ticket*: a thread adds 1 to a counter, and waits until another location has the number that
 *    the counter had, without a strong write to any but the counter in between. That location is
 *    the lock: the holder's next strong write to it gives it back;
 *  - *queue*: a thread exchanges its own node for the last one's, and waits: after a strong write
 *    to another location (MCS: it links its node) for any, else (CLH) for one within the node that
 *    it found. The exchanged location is the lock. What gives it back goes elsewhere, so it is any
 *    strong write after a fence, or that releases. The first of a queue finds 0, as in a plain
 *    lock: what was exchanged for 0 counts as a queue's unless it is 1.
 *
 * Differences from the paper: only an attempt that succeeded counts, so a failed try_lock holds
 * nothing; a lock of scope .cta orders one block, so it doesn't count for pairs of two; the table
 * is the thread's in all kernels, so nothing switches.
 *
 * A held lock never makes a race: without a common one a pair that may be ordered is *possible*
 * and named improper locking, with a common one it is taken for ordered. What is wrongly taken for
 * a lock can so hide a possible race, no data race. A location that was given back *bare*, without
 * a fence since it was taken and by no releasing write, is no lock from then on.
 *
 * Misses: a fourth lock at once; a second ticket drawn before the first is served; tickets that are
 * a part of a word; queues of array elements (they look like a ring of messages); locks made of
 * loads and stores. Their pairs are possible. Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_IGUARD_LOCKS_H
#define COLLIDER_IGUARD_LOCKS_H

#include "race/layout/iguard.h"

#define IGUARD_LOCKS_HELD 3u

/* An entry: 18 bits of the address by a hash, as in the paper's Figure 7. */
#define IGUARD_LOCK_HASH   0x3ffffu
#define IGUARD_LOCK_VALID  (1u << 18)
#define IGUARD_LOCK_ACTIVE (1u << 19)
#define IGUARD_LOCK_WIDE   (1u << 20) /* taken by an operation of a scope wider than .cta */
#define IGUARD_LOCK_QUEUE  (1u << 21) /* given back by a write to any location */
#define IGUARD_LOCK_FENCED (1u << 22) /* there was a fence since it is held */
/* In `wait`, beside these bits. */
#define IGUARD_LOCK_TICKET (1u << 23) /* `waited` is the number; else the node that was found */
#define IGUARD_LOCK_LINKED (1u << 24) /* a strong write to another location has followed */
#define IGUARD_LOCK_SEEN   (1u << 25) /* what it waits for has been read */
#define IGUARD_LOCK_GIVEN  (1u << 26) /* its latest strong write gave back a lock */
#define IGUARD_LOCK_NODE   64u	      /* bytes of a node, at most */

/* A thread's; begins as 0. `shared`: of those that it met at the last barrier. */
struct iguard_locks {
	uint32_t held[IGUARD_LOCKS_HELD];
	uint32_t shared;
	uint32_t wait, waited; /* for a ticket or in a queue, or 0 */
};

RACE_FN uint32_t iguard_lock_hash(uint64_t address)
{
	return (uint32_t)((address >> 2) * 0x9e3779b97f4a7c15ull >> 46);
}

/* A lock is in the table from now on: its bits. */
RACE_FN void iguard_lock_enter(struct iguard_locks *t, uint32_t entry)
{
	uint32_t hash = entry & IGUARD_LOCK_HASH, at = IGUARD_LOCKS_HELD;

	for (uint32_t i = 0; i < IGUARD_LOCKS_HELD; i++) {
		bool is_free = !(t->held[i] & IGUARD_LOCK_VALID);
		if (!is_free && (t->held[i] & IGUARD_LOCK_HASH) == hash)
			return;
		if (is_free && at == IGUARD_LOCKS_HELD)
			at = i;
	}
	for (uint32_t i = 0; i < IGUARD_LOCKS_HELD; i++)
		if (i == at)
			t->held[i] = entry;
}

RACE_FN uint32_t iguard_lock_entry(uint64_t address, bool is_wide, bool is_acquire)
{
	return iguard_lock_hash(address) | IGUARD_LOCK_VALID | (is_wide ? IGUARD_LOCK_WIDE : 0u) |
	       (is_acquire ? IGUARD_LOCK_ACTIVE : 0u);
}

/* A compare-and-swap or exchange found the lock free. */
RACE_FN void iguard_lock_try(struct iguard_locks *t, uint64_t address, bool is_wide,
			     bool is_acquire)
{
	iguard_lock_enter(t, iguard_lock_entry(address, is_wide, is_acquire));
}

/* An exchange by which a queue may begin: it found 0. */
RACE_FN void iguard_lock_begin(struct iguard_locks *t, uint64_t address, bool is_wide,
			       bool is_acquire)
{
	iguard_lock_enter(t, iguard_lock_entry(address, is_wide, is_acquire) | IGUARD_LOCK_QUEUE);
}

/*
 * A counter was raised by 1 and had this number. The holder of a ticket lock gives it back by
 * raising the number that is served, which it holds or (if it polled in a way that isn't followed)
 * waits for: to take that for a ticket would make a lock of the next flag with this value.
 */
RACE_FN void iguard_lock_draw(struct iguard_locks *t, uint64_t counter, uint64_t number)
{
	bool is_served = t->wait & IGUARD_LOCK_TICKET && t->waited == (uint32_t)number &&
			 (t->wait & IGUARD_LOCK_HASH) != iguard_lock_hash(counter);

	if (is_served)
		t->wait = 0;
	if (is_served || t->wait & IGUARD_LOCK_GIVEN)
		return;
	t->wait = iguard_lock_hash(counter) | IGUARD_LOCK_VALID | IGUARD_LOCK_TICKET;
	t->waited = (uint32_t)number;
}

/* An exchange found a node, and left another one. */
RACE_FN void iguard_lock_join(struct iguard_locks *t, uint64_t address, uint64_t node, bool is_wide)
{
	t->wait = iguard_lock_entry(address, is_wide, false);
	t->waited = (uint32_t)node;
}

/* What a thread waited for has come, and was acquired. */
RACE_FN void iguard_lock_come(struct iguard_locks *t)
{
	iguard_lock_enter(t, (t->wait & (IGUARD_LOCK_HASH | IGUARD_LOCK_VALID | IGUARD_LOCK_WIDE)) |
				     IGUARD_LOCK_QUEUE | IGUARD_LOCK_ACTIVE);
	t->wait = 0;
}

/* A strong read of this location found this value. */
RACE_FN void iguard_lock_saw(struct iguard_locks *t, uint64_t address, uint64_t value, bool is_wide,
			     bool is_acquire)
{
	if (!(t->wait & IGUARD_LOCK_VALID) ||
	    (t->wait & IGUARD_LOCK_HASH) == iguard_lock_hash(address))
		return;
	if (t->wait & IGUARD_LOCK_TICKET) {
		/* A thread that arrives at a grid barrier and reads how many have arrived waits for
		 * no turn. */
		if ((uint32_t)value != t->waited || t->wait & IGUARD_LOCK_LINKED)
			return;
		t->wait = 0;
		iguard_lock_try(t, address, is_wide, is_acquire);
		return;
	}
	if (!(t->wait & IGUARD_LOCK_LINKED) && (uint32_t)address - t->waited >= IGUARD_LOCK_NODE)
		return;
	t->wait |= IGUARD_LOCK_SEEN;
	if (is_acquire)
		iguard_lock_come(t);
}

/* A fence makes what was tried with its scope, or a narrower one, a lock that is held. */
RACE_FN void iguard_lock_fence(struct iguard_locks *t, bool is_wide)
{
	for (uint32_t i = 0; i < IGUARD_LOCKS_HELD; i++) {
		if (!(t->held[i] & IGUARD_LOCK_VALID))
			continue;
		if (t->held[i] & IGUARD_LOCK_ACTIVE)
			t->held[i] |= IGUARD_LOCK_FENCED;
		else if (is_wide || !(t->held[i] & IGUARD_LOCK_WIDE))
			t->held[i] |= IGUARD_LOCK_ACTIVE;
	}
	if (t->wait & IGUARD_LOCK_SEEN && (is_wide || !(t->wait & IGUARD_LOCK_WIDE)))
		iguard_lock_come(t);
}

/* The holder wrote to its lock, in whatever way: the lock's entry, 0 if it wasn't held. */
RACE_FN uint32_t iguard_lock_free(struct iguard_locks *t, uint64_t address)
{
	uint32_t hash = iguard_lock_hash(address), found = 0;

	for (uint32_t i = 0; i < IGUARD_LOCKS_HELD; i++)
		if (t->held[i] & IGUARD_LOCK_VALID && (t->held[i] & IGUARD_LOCK_HASH) == hash) {
			found = t->held[i];
			t->held[i] = 0;
		}
	return found;
}

/* Was the lock of this entry given back so that nothing is released? Then it orders nothing. */
RACE_FN bool iguard_lock_is_bare(uint32_t entry, bool is_release)
{
	return entry & IGUARD_LOCK_ACTIVE && !(entry & IGUARD_LOCK_FENCED) && !is_release;
}

/* A strong write that is no attempt to take a lock. True: it gave back a lock, and a bare one. */
RACE_FN bool iguard_lock_wrote(struct iguard_locks *t, uint64_t address, bool is_release)
{
	uint32_t entry = iguard_lock_free(t, address);

	t->wait = (t->wait & ~IGUARD_LOCK_GIVEN) | (entry ? IGUARD_LOCK_GIVEN : 0u);
	if (entry)
		return iguard_lock_is_bare(entry, is_release);
	for (uint32_t i = 0; i < IGUARD_LOCKS_HELD; i++)
		if (t->held[i] & IGUARD_LOCK_QUEUE && t->held[i] & IGUARD_LOCK_ACTIVE &&
		    (is_release || t->held[i] & IGUARD_LOCK_FENCED))
			t->held[i] = 0;
	if (t->wait & IGUARD_LOCK_VALID &&
	    (t->wait & IGUARD_LOCK_HASH) != iguard_lock_hash(address))
		t->wait |= IGUARD_LOCK_LINKED;
	return false;
}

/* The thread's own locks, two bits of 16 for each. A lock of scope .cta is another one in each
 * block: it orders no two of them. */
RACE_FN uint32_t iguard_locks_own(const struct iguard_locks *t, uint32_t block)
{
	uint32_t bits = 0, apart = block * 0x9e3779b1u >> 24;

	for (uint32_t i = 0; i < IGUARD_LOCKS_HELD; i++) {
		uint32_t e = t->held[i] & IGUARD_LOCK_WIDE ? t->held[i] : t->held[i] ^ apart;

		if (t->held[i] & IGUARD_LOCK_ACTIVE)
			bits |= 1u << (e & 15u) | 1u << (e >> 4 & 15u);
	}
	return bits;
}

/* After a barrier; `all`: the join of iguard_locks_own() of those that took part. */
RACE_FN void iguard_locks_meet(struct iguard_locks *t, uint32_t all)
{
	t->shared = all;
}

RACE_FN uint32_t iguard_locks_summary(const struct iguard_locks *t, uint32_t block)
{
	return iguard_locks_own(t, block) | t->shared;
}

/* Do two summaries have a lock in common? Two bits of one lock, or by chance two of two. */
RACE_FN bool iguard_locks_meet_in(uint32_t a, uint32_t b)
{
	uint32_t both = a & b;

	return both != 0 && (both & (both - 1u) || a == both || b == both);
}

#endif
