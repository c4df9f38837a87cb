/*
 * update.h - HiRace's Algorithm 1 (SC'24, section IV), without its machine.
 *
 * Included by the GPU side and by tests (host threads stand in for the GPU's). The includer defines
 * the operations first; all are strong (relaxed) and none orders any other access: a fence here
 * would order the program's memory and hide the races that are looked for.
 *
 *	HIRACE_LOAD64(p)		a relaxed load
 *	HIRACE_CAS64(p, old, new)	a relaxed compare-and-swap, returns what was there
 *	HIRACE_OVERLAPS(mine, launch)	enum hirace_overlap: how the two launches are ordered
 *	and those of release.h
 *
 * Differences from the paper: the word is read first, and written only where that changes a later
 * verdict (HIRACE_KEEP); a word of an older launch is INIT, so nothing is cleared between launches;
 * a race is certain only if no release can have ordered the two (release.h); partial masks
 * (lanes.h); a thread whose numbers don't fit steps aside (race/layout/history.h).
 *
 * After a *possible* race between accesses a and b the word goes on with b. An access that is
 * ordered after b is taken to be ordered after a, too. Others may race with a: b's state is then
 * READ_AFTER (or BATOM_AFTER, GATOM_AFTER), which is judged as READ is, but leaves a second access
 * that nothing orders with b possible, even where the two don't conflict. A write covers a, so it
 * needs no such state.
 *
 * What it misses: of two grids that overlap, pairs where the later side has acquired anything are
 * only possible. Costs, where the word can stay: one load of 8 bytes, one of the table, some 25
 * operations.
 */
#ifndef COLLIDER_HIRACE_UPDATE_H
#define COLLIDER_HIRACE_UPDATE_H

#include "race/layout/history.h"
#include "hirace/lanes.h"
#include "hirace/release.h"

/* The accessing thread. Of shared memory, threads are numbered in their block: block_first is 0. */
struct hirace_actor {
	uint32_t thread;      /* number in the grid, if it fits */
	uint32_t block_first; /* that of its block's first thread */
	uint32_t block_size;  /* threads of the block */
	uint32_t block_clock; /* __syncthreads of the block so far */
	uint32_t warp_clock;  /* __syncwarps of the thread since then */
	uint32_t launch;      /* 1 to HIRACE_LAUNCH_LAST */
	uint32_t thread_bits; /* of the launch: hirace_thread_bits() */
	bool is_beyond;	      /* its thread number doesn't fit */
	struct race_stamps stamps;
	const struct race_lane *lanes; /* its row, NULL: full masks only */
};

enum hirace_verdict {
	HIRACE_NO_RACE,
	HIRACE_IS_RACE,	 /* a data race with an access that the word stands for */
	HIRACE_POSSIBLE, /* no barrier orders the two, but something else may */
	HIRACE_ASIDE	 /* not judged: a number doesn't fit the word */
};

/* What an access makes of a word. */
struct hirace_result {
	uint64_t word;
	enum hirace_verdict verdict;
};

RACE_FN uint32_t hirace_relation_of(const struct hirace_actor *me, uint32_t thread)
{
	uint32_t place = thread - me->block_first;

	if (place >= me->block_size)
		return HIRACE_GRID;
	if (thread == me->thread)
		return HIRACE_SELF;
	return place / HIRACE_LANES == (me->thread - me->block_first) / HIRACE_LANES ? HIRACE_WARP
										     : HIRACE_BLOCK;
}

/* The state of the table that stands for one beyond it. */
RACE_FN uint32_t hirace_base(uint32_t state)
{
	if (state == HIRACE_READ_AFTER)
		return HIRACE_READ;
	if (state == HIRACE_BATOM_AFTER)
		return HIRACE_BATOM;
	if (state == HIRACE_GATOM_AFTER)
		return HIRACE_GATOM;
	return state < HIRACE_STATES ? state : (uint32_t)HIRACE_WRITE;
}

/* The other way, for a state of one access; others stay. */
RACE_FN uint32_t hirace_after(uint32_t state)
{
	if (state == HIRACE_READ)
		return HIRACE_READ_AFTER;
	if (state == HIRACE_BATOM)
		return HIRACE_BATOM_AFTER;
	return state == HIRACE_GATOM ? (uint32_t)HIRACE_GATOM_AFTER : state;
}

RACE_FN struct hirace_step hirace_table_step(const uint8_t *table, uint32_t state, uint32_t access,
					     uint32_t sync, uint32_t relation)
{
	struct hirace_step s = {0, false, false, false, false};
	uint32_t as = hirace_base(state);
	uint32_t entry = table[hirace_entry(as, access, sync, relation)];

	s.next = entry & HIRACE_NEXT;
	s.is_race = s.next == HIRACE_RACE;
	s.is_covering = (entry & HIRACE_COVERS) != 0;
	s.can_keep = (entry & HIRACE_KEEP) != 0 && as == state;
	return s;
}

/* Lines 15 to 19 of Algorithm 1. */
RACE_FN struct hirace_step hirace_step_of(const struct hirace_actor *me, const uint8_t *table,
					  const struct hirace_word *w, uint32_t access)
{
	uint32_t relation = hirace_relation_of(me, w->thread), sync = HIRACE_SYNC_U;
	uint32_t lane, place;
	bool is_lanes = w->state == HIRACE_MIXED || w->state == HIRACE_UNSURE;
	enum race_lane_order order;

	if (w->launch != me->launch)
		relation = HIRACE_GRID;
	else if (w->block_clock != me->block_clock)
		sync = HIRACE_SYNC_B;
	else if (relation <= HIRACE_WARP && !me->lanes && w->warp_clock != me->warp_clock)
		sync = HIRACE_SYNC_W;
	if (relation > HIRACE_WARP || sync == HIRACE_SYNC_B || !me->lanes)
		return hirace_table_step(table, w->state, access, sync, relation);
	place = w->thread - me->block_first;
	lane = (me->thread - me->block_first) % HIRACE_LANES;
	order = race_lane_order(me->lanes, lane, place % HIRACE_LANES, w->warp_clock);
	if (order == RACE_AFTER_FULL)
		return hirace_table_step(table, w->state, access, HIRACE_SYNC_W, relation);
	return hirace_lanes_step(me->lanes, table, is_lanes ? w->state : hirace_base(w->state),
				 access, order,
				 relation == HIRACE_SELF && w->warp_clock == me->warp_clock);
}

/* Of the states that follow READ, BATOM and GATOM: accesses that nothing orders. */
RACE_FN bool hirace_is_group(uint32_t state)
{
	return state == HIRACE_WREAD || state == HIRACE_BREAD || state == HIRACE_GREAD ||
	       state == HIRACE_BATOM_W || state == HIRACE_BATOM_B || state == HIRACE_GATOM_W ||
	       state == HIRACE_GATOM_B || state == HIRACE_GATOM_G;
}

/*
 * Is the earlier side weak for certain, if the access races with a word in this state? A weak
 * access is never observed, so no strong read can have ordered it. WRITE may stand for a read and
 * an atomic of one thread; an access that isn't a read races with that read.
 */
RACE_FN bool hirace_has_weak_side(uint32_t state, uint32_t access)
{
	uint32_t base = hirace_base(state);

	if (state == HIRACE_MIXED || state == HIRACE_UNSURE)
		return false;
	return base == HIRACE_READ || base == HIRACE_WREAD || base == HIRACE_BREAD ||
	       base == HIRACE_GREAD || (base == HIRACE_WRITE && access != HIRACE_R);
}

/* An access while a copy writes: nothing orders the two, as only the copy's thread orders it, by
 * its wait, and what was ordered before the copy was judged when it was issued. */
RACE_FN struct hirace_step hirace_race_step(void)
{
	struct hirace_step s = {HIRACE_RACE, false, false, false, false};

	s.is_race = true;
	return s;
}

/* The word of a location after this access, and the verdict. Pure; bit: hirace_read_bit(). */
HIRACE_FN struct hirace_result hirace_judge(uint64_t old, const uint8_t *table,
					    const struct hirace_actor *me, uint32_t access,
					    uint32_t bit)
{
	struct hirace_word w = hirace_decode(old, me->thread_bits);
	struct hirace_result r = {old, HIRACE_NO_RACE};
	bool is_foreign = w.launch != me->launch;
	enum hirace_overlap overlap = HIRACE_ORDERED;
	uint32_t stamp =
		me->stamps.own.now < HIRACE_STAMP_FULL ? me->stamps.own.now : HIRACE_STAMP_FULL;
	struct hirace_step s;
	bool is_copying, has_weak_side;

	if (is_foreign && w.launch && w.state != HIRACE_INIT)
		overlap = HIRACE_OVERLAPS(me->launch, w.launch);
	if (is_foreign && overlap == HIRACE_ORDERED)
		w.state = HIRACE_INIT;
	if (is_foreign && w.state == HIRACE_RACE)
		w.state = HIRACE_INIT;
	if (w.state == HIRACE_RACE)
		return r;
	is_copying = w.state == HIRACE_COPYING;
	s = is_copying ? hirace_race_step() : hirace_step_of(me, table, &w, access);
	/* Whatever the access's stamp is: the history without it is shorter, and judged rightly. */
	if (s.can_keep && !is_foreign)
		return r;
	has_weak_side = hirace_has_weak_side(w.state, access);
	if (has_weak_side)
		bit = 0;
	if (is_foreign)
		w.stamp = 0; /* T begins anew in each launch; A = 0 has acquired nothing */
	if (s.is_race && !is_copying &&
	    (overlap == HIRACE_PERHAPS_ORDERED ||
	     (overlap == HIRACE_PERHAPS_SEEN && !has_weak_side) ||
	     !hirace_is_unordered(w.stamp, bit, &me->stamps))) {
		s.is_race = false;
		s.is_possible = true;
		s.is_covering = true;
		s.next = table[hirace_entry(HIRACE_INIT, access, HIRACE_SYNC_U, HIRACE_SELF)] &
			 HIRACE_NEXT;
		s.next = hirace_after(s.next);
	} else if (w.state >= HIRACE_READ_AFTER && !s.is_race) {
		s.next = hirace_after(s.next);
		if (hirace_is_group(s.next)) {
			r.verdict = HIRACE_POSSIBLE;
			return r;
		}
	}
	if (s.is_race)
		r.verdict = HIRACE_IS_RACE;
	else if (s.is_possible)
		r.verdict = HIRACE_POSSIBLE;
	if (w.state != HIRACE_INIT && !s.is_covering && w.stamp < stamp)
		stamp = w.stamp;
	w.state = s.next;
	w.stamp = stamp;
	w.launch = me->launch;
	w.thread = me->thread;
	w.block_clock = me->block_clock;
	w.warp_clock = me->warp_clock;
	r.word = hirace_encode(w, me->thread_bits);
	return r;
}

/* Has something raced at this location before, so that its word no longer has the whole history? */
RACE_FN bool hirace_has_raced(uint64_t word, const struct hirace_actor *me)
{
	struct hirace_word w = hirace_decode(word, me->thread_bits);

	return w.launch == me->launch && (w.state == HIRACE_RACE || (w.state >= HIRACE_READ_AFTER &&
								     w.state != HIRACE_COPYING));
}

/* What is done with a location's word. */
enum hirace_how {
	HIRACE_STORE, /* Algorithm 1: it is judged, and stored where that changes a later verdict */
	HIRACE_LOOK,  /* judged only: by a word that stands for more or fewer bytes */
	HIRACE_STRONG_READ,
	HIRACE_ISSUE /* the write of a copy: judged, and stored as one that is under way */
};

/* What was found at a word. */
struct hirace_seen {
	uint64_t was;  /* the verdict is about this one; it names the earlier side */
	uint64_t next; /* this one is there now */
};

/* The word of this thread in a state of one access. */
RACE_FN uint64_t hirace_word_of(const struct hirace_actor *me, uint32_t state)
{
	struct hirace_word w = {0, 0, 0, 0, 0, 0};

	w.state = state;
	w.stamp = me->stamps.own.now;
	w.warp_clock = me->warp_clock;
	w.launch = me->launch;
	w.thread = me->thread;
	w.block_clock = me->block_clock;
	return hirace_encode(w, me->thread_bits);
}

/* Is a copy of this launch under way there? */
RACE_FN bool hirace_is_copying(uint64_t word, const struct hirace_actor *me)
{
	struct hirace_word w = hirace_decode(word, me->thread_bits);

	return w.state == HIRACE_COPYING && w.launch == me->launch;
}

/* A write becomes one that is under way; what has raced stays so. */
RACE_FN uint64_t hirace_issued(uint64_t word, const struct hirace_actor *me)
{
	struct hirace_word w = hirace_decode(word, me->thread_bits);

	return w.state == HIRACE_RACE && w.launch == me->launch
		       ? word
		       : hirace_word_of(me, HIRACE_COPYING);
}

/* This thread has waited for its copy: from now on it is its write, which its next barrier orders.
 * Of a thread whose numbers no longer fit (is_aside) nothing is left. */
RACE_FN uint64_t hirace_completed(uint64_t word, const struct hirace_actor *me, bool is_aside)
{
	struct hirace_word w = hirace_decode(word, me->thread_bits);

	if (w.state != HIRACE_COPYING)
		return word;
	if (is_aside)
		return 0;
	return w.launch == me->launch && w.thread == me->thread ? hirace_word_of(me, HIRACE_WRITE)
								: word;
}

/*
 * An access (enum hirace_access) of the location whose word is at `at`; `bit`: hirace_read_bit() of
 * the location. One loop serves all ways, so that a GPU has one copy of it.
 *
 * A strong load is no access of the machine: as R it would race with atomics, as an atomic with
 * reads. What it does race with, a weak write or an atomic whose scope is too small, races with
 * both kinds, so where both race it is *possible*; no more, since a word may stand for a read and
 * an atomic. Nothing is stored: a write after the load that races with it is missed. `access` is
 * HIRACE_BA or HIRACE_GA then, by the load's scope.
 */
HIRACE_FN enum hirace_verdict hirace_access_at(uint64_t *at, uint32_t bit, const uint8_t *table,
					       const struct hirace_actor *me, uint32_t access,
					       enum hirace_how how, struct hirace_seen *seen)
{
	bool is_first = how == HIRACE_STRONG_READ;
	struct hirace_result r;

	seen->was = seen->next = 0;
	if (me->is_beyond ||
	    !hirace_can_track(me->thread, me->block_clock, me->warp_clock, me->thread_bits))
		return HIRACE_ASIDE;
	seen->was = seen->next = HIRACE_LOAD64(at);
	for (;;) {
		r = hirace_judge(seen->was, table, me, is_first ? (uint32_t)HIRACE_R : access, bit);
		if (is_first && r.verdict != HIRACE_NO_RACE) {
			is_first = false;
			continue;
		}
		if (how == HIRACE_ISSUE)
			r.word = hirace_issued(r.word, me);
		if ((how != HIRACE_STORE && how != HIRACE_ISSUE) || r.word == seen->was)
			break;
		seen->next = HIRACE_CAS64(at, seen->was, r.word);
		if (seen->next == seen->was) {
			seen->next = r.word;
			break;
		}
		seen->was = seen->next;
	}
	if (how == HIRACE_STRONG_READ && r.verdict != HIRACE_NO_RACE &&
	    !hirace_is_copying(seen->was, me))
		return HIRACE_POSSIBLE;
	return r.verdict;
}

/* Of a location whose bit is that of its word. */
HIRACE_FN enum hirace_verdict hirace_update(uint64_t *at, const uint8_t *table,
					    const struct hirace_actor *me, uint32_t access,
					    uint64_t *was)
{
	struct hirace_seen seen;
	enum hirace_verdict v = hirace_access_at(at, hirace_read_bit((uint64_t)(uintptr_t)at),
						 table, me, access, HIRACE_STORE, &seen);

	*was = seen.was;
	return v;
}

HIRACE_FN enum hirace_verdict hirace_check_strong_read(uint64_t *at, const uint8_t *table,
						       const struct hirace_actor *me,
						       uint32_t access, uint64_t *was)
{
	struct hirace_seen seen;
	enum hirace_verdict v = hirace_access_at(at, hirace_read_bit((uint64_t)(uintptr_t)at),
						 table, me, access, HIRACE_STRONG_READ, &seen);

	*was = seen.was;
	return v;
}

/* Does an atomic stand for older plain accesses in this state? */
RACE_FN bool hirace_has_plain(uint32_t state)
{
	return state == HIRACE_WSYNC_ATOM || state == HIRACE_WSYNC_ATOM_M ||
	       state == HIRACE_BSYNC_ATOM || state == HIRACE_BSYNC_ATOM_B ||
	       state == HIRACE_BSYNC_ATOM_W;
}

/*
 * What may order the access with the earlier one, where they are only possible: enum race_may. For
 * the report; the first reason that holds. is_look: a strong load, which the machine doesn't have.
 */
HIRACE_FN uint32_t hirace_may(uint64_t was, const struct hirace_actor *me, uint32_t access,
			      uint32_t bit, bool is_look)
{
	struct hirace_word w = hirace_decode(was, me->thread_bits);
	bool is_foreign = w.launch != me->launch;

	if (!hirace_has_weak_side(w.state, access) && (me->stamps.own.read & bit) != 0)
		return RACE_MAY_OBSERVED;
	if (is_foreign && me->stamps.own.acquired == 0)
		return RACE_MAY_HOST;
	if ((is_foreign ? 0u : w.stamp) < me->stamps.own.acquired)
		return RACE_MAY_RELEASE;
	if (w.state == HIRACE_MIXED || w.state == HIRACE_UNSURE)
		return RACE_MAY_MASK;
	if (w.state >= HIRACE_READ_AFTER)
		return RACE_MAY_EARLIER;
	return is_look ? RACE_MAY_STRONG_READ : RACE_MAY_MASK;
}

/*
 * Does the volatile load read what another lane of its warp wrote, with nothing between that may
 * order the two? Both are strong, so that is no race, but the program counts on lockstep. Asked
 * only where no strong read can order lanes and atomics are volatile stores
 * (instrument/lockstep.c), and not with partial masks.
 */
HIRACE_FN bool hirace_counts_on_lockstep(uint64_t was, const struct hirace_actor *me)
{
	struct hirace_word w = hirace_decode(was, me->thread_bits);
	uint32_t stamp =
		me->stamps.own.now < HIRACE_STAMP_FULL ? me->stamps.own.now : HIRACE_STAMP_FULL;
	bool is_stored = w.state == HIRACE_BATOM || w.state == HIRACE_BATOM_W ||
			 w.state == HIRACE_GATOM || w.state == HIRACE_GATOM_W ||
			 hirace_has_plain(w.state);

	return is_stored && !me->lanes && w.launch == me->launch &&
	       hirace_relation_of(me, w.thread) == HIRACE_WARP &&
	       w.block_clock == me->block_clock && w.warp_clock == me->warp_clock &&
	       w.stamp == stamp;
}

/* ---- what synchronisation does to the actor ---------------------------------------- */

/* A barrier of the whole block. `all`: the join of its threads. Rows end. */
RACE_FN void hirace_on_block_barrier(struct hirace_actor *me, const struct race_stamps *all)
{
	me->block_clock += me->block_clock != 0xffffffffu;
	me->warp_clock = 0;
	me->lanes = 0;
	race_stamps_join(&me->stamps, all);
}

/* A full __syncwarp of a warp without rows. */
RACE_FN void hirace_on_full_mask(struct hirace_actor *me, const struct race_stamps *all)
{
	me->warp_clock += me->warp_clock <= HIRACE_WARP_LAST;
	race_stamps_join(&me->stamps, all);
}

#endif
