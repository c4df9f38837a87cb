/*
 * locks.h - which locks a thread holds, inferred from what it does (SOSP'21, section 6.3).
 *
 * CUDA has no lock. What takes one is a compare-and-swap that succeeds, or an exchange that finds 0
 * or leaves 0 (cuda::binary_semaphore), then a fence (or that acquires itself); what gives it back
 * is a later strong write to it by the holder. Each thread has a table of three (the paper's
 * number), so threads of a warp may hold different ones; they may be given back in any order. A
 * lane that takes a lock for its warp, and a thread that does so for its block, share it with those
 * that they meet: at a barrier each lane gets the join of the locks of all (guard_locks_meet),
 * until the next one.
 *
 * Differences from the paper: only an attempt that succeeded counts, so a failed try_lock holds
 * nothing; a lock of scope .cta orders one block, so it doesn't count for pairs of two (update.h
 * asks the stamps first); the table is the thread's in all kernels, so nothing switches.
 *
 * A held lock never makes a race: without a common one a pair that may be ordered is *possible*
 * and named improper locking, with a common one it is taken for ordered. What is wrongly taken for
 * a lock can so hide a possible race, no data race.
 *
 * Misses: a fourth lock at once; locks made of loads and stores; tickets (their pairs are
 * possible). Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_GUARD_LOCKS_H
#define COLLIDER_GUARD_LOCKS_H

#include "race/layout/guard.h"

#define GUARD_LOCKS_HELD 3u

/* An entry: 18 bits of the address by a hash, as in the paper's Figure 7. */
#define GUARD_LOCK_HASH	  0x3ffffu
#define GUARD_LOCK_VALID  (1u << 18)
#define GUARD_LOCK_ACTIVE (1u << 19)
#define GUARD_LOCK_WIDE	  (1u << 20) /* taken by an operation of a scope wider than .cta */

/* A thread's; begins as 0. `shared`: of those that it met at the last barrier. */
struct guard_locks {
	uint32_t held[GUARD_LOCKS_HELD];
	uint32_t shared;
};

RACE_FN uint32_t guard_lock_hash(uint64_t address)
{
	return (uint32_t)((address >> 2) * 0x9e3779b97f4a7c15ull >> 46);
}

/* A compare-and-swap or exchange found the lock free. */
RACE_FN void guard_lock_try(struct guard_locks *t, uint64_t address, bool is_wide, bool is_acquire)
{
	uint32_t hash = guard_lock_hash(address);
	uint32_t entry = hash | GUARD_LOCK_VALID | (is_wide ? GUARD_LOCK_WIDE : 0u) |
			 (is_acquire ? GUARD_LOCK_ACTIVE : 0u);
	uint32_t at = GUARD_LOCKS_HELD;

	for (uint32_t i = 0; i < GUARD_LOCKS_HELD; i++) {
		bool is_free = !(t->held[i] & GUARD_LOCK_VALID);
		if (!is_free && (t->held[i] & GUARD_LOCK_HASH) == hash)
			return;
		if (is_free && at == GUARD_LOCKS_HELD)
			at = i;
	}
	for (uint32_t i = 0; i < GUARD_LOCKS_HELD; i++)
		if (i == at)
			t->held[i] = entry;
}

/* A fence makes what was tried with its scope, or a narrower one, a lock that is held. */
RACE_FN void guard_lock_fence(struct guard_locks *t, bool is_wide)
{
	for (uint32_t i = 0; i < GUARD_LOCKS_HELD; i++)
		if (t->held[i] & GUARD_LOCK_VALID && (is_wide || !(t->held[i] & GUARD_LOCK_WIDE)))
			t->held[i] |= GUARD_LOCK_ACTIVE;
}

/* A strong write to this address, other than a successful attempt: true if it gave back a lock. */
RACE_FN bool guard_lock_free(struct guard_locks *t, uint64_t address)
{
	uint32_t hash = guard_lock_hash(address);
	bool is_found = false;

	for (uint32_t i = 0; i < GUARD_LOCKS_HELD; i++)
		if (t->held[i] & GUARD_LOCK_VALID && (t->held[i] & GUARD_LOCK_HASH) == hash) {
			t->held[i] = 0;
			is_found = true;
		}
	return is_found;
}

/* The thread's own locks, two bits of 16 for each. */
RACE_FN uint32_t guard_locks_own(const struct guard_locks *t)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < GUARD_LOCKS_HELD; i++)
		if (t->held[i] & GUARD_LOCK_ACTIVE)
			bits |= 1u << (t->held[i] & 15u) | 1u << (t->held[i] >> 4 & 15u);
	return bits;
}

/* After a barrier; `all`: the join of guard_locks_own() of those that took part. */
RACE_FN void guard_locks_meet(struct guard_locks *t, uint32_t all)
{
	t->shared = all;
}

RACE_FN uint32_t guard_locks_summary(const struct guard_locks *t)
{
	return guard_locks_own(t) | t->shared;
}

/* Do two summaries have a lock in common? Two bits of one lock, or by chance two of two. */
RACE_FN bool guard_locks_meet_in(uint32_t a, uint32_t b)
{
	uint32_t both = a & b;

	return both != 0 && (both & (both - 1u) || a == both || b == both);
}

#endif
