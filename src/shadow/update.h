/*
 * update.h - HiRace's Algorithm 1 (SC'24, section IV), without its machine.
 *
 * Included by the GPU side and by tests (host threads stand in for the GPU's). The includer defines
 * the operations first; all are strong (relaxed) and none orders any other access: a fence here
 * would order the program's memory and hide the races that are looked for.
 *
 *	SHADOW_LOAD64(p)		a relaxed load
 *	SHADOW_CAS64(p, old, new)	a relaxed compare-and-swap, returns what was there
 *	SHADOW_OVERLAPS(mine, launch)	enum shadow_overlap: how the two launches are ordered
 *	and those of release.h
 *
 * Differences from the paper: the word is read first, and written only where that changes a later
 * verdict (SHADOW_KEEP); a word of an older launch is INIT, so nothing is cleared between launches;
 * a race is certain only if no release can have ordered the two (release.h); partial masks
 * (lanes.h); a thread whose numbers don't fit steps aside (race/shadow.h).
 *
 * Behind a *possible* race between accesses a and b the word goes on with b. Whoever is ordered
 * behind b is taken to be ordered behind a, too. Others may race with a: b's state is then
 * READ_AFTER (or BATOM_AFTER, GATOM_AFTER), which is judged as READ is, but leaves a second access
 * that nothing orders with b possible, even where the two don't conflict. A write covers a, so it
 * needs no such state.
 *
 * What it misses: of two grids that overlap, pairs where the later side has acquired anything are
 * only possible. Costs, where the word can stay: one load of 8 bytes, one of the table, some 25
 * operations.
 */
#ifndef COLLIDER_SHADOW_UPDATE_H
#define COLLIDER_SHADOW_UPDATE_H

#include "race/shadow.h"
#include "shadow/lanes.h"
#include "shadow/release.h"

/* The accessing thread. Of shared memory, threads are numbered in their block: block_first is 0. */
struct shadow_actor {
	uint32_t thread;      /* number in the grid, if it fits */
	uint32_t block_first; /* that of its block's first thread */
	uint32_t block_size;  /* threads of the block */
	uint32_t block_clock; /* __syncthreads of the block so far */
	uint32_t warp_clock;  /* __syncwarps of the thread since then */
	uint32_t launch;      /* 1 to SHADOW_LAUNCH_LAST */
	uint32_t thread_bits; /* of the launch: shadow_thread_bits() */
	bool is_beyond;	      /* its thread number doesn't fit */
	struct shadow_stamps stamps;
	const struct race_lane *lanes; /* its row, NULL: full masks only */
};

enum shadow_verdict {
	SHADOW_NO_RACE,
	SHADOW_IS_RACE,	 /* a data race with an access that the word stands for */
	SHADOW_POSSIBLE, /* no barrier orders the two, but something else may */
	SHADOW_ASIDE	 /* not judged: a number doesn't fit the word */
};

/* How two launches are ordered. */
enum shadow_overlap {
	SHADOW_ORDERED, /* or nothing is known */
	SHADOW_OVERLAPPING,
	SHADOW_PERHAPS_ORDERED /* they overlap, but host code may have ordered what they did */
};

/* What an access makes of a word. */
struct shadow_result {
	uint64_t word;
	enum shadow_verdict verdict;
};

RACE_FN uint32_t shadow_relation_of(const struct shadow_actor *me, uint32_t thread)
{
	uint32_t place = thread - me->block_first;

	if (place >= me->block_size)
		return SHADOW_GRID;
	if (thread == me->thread)
		return SHADOW_SELF;
	return place / SHADOW_LANES == (me->thread - me->block_first) / SHADOW_LANES ? SHADOW_WARP
										     : SHADOW_BLOCK;
}

/* The state of the table that stands for one beyond it. */
RACE_FN uint32_t shadow_base(uint32_t state)
{
	if (state == SHADOW_READ_AFTER)
		return SHADOW_READ;
	if (state == SHADOW_BATOM_AFTER)
		return SHADOW_BATOM;
	if (state == SHADOW_GATOM_AFTER)
		return SHADOW_GATOM;
	return state < SHADOW_STATES ? state : (uint32_t)SHADOW_WRITE;
}

/* The other way, for a state of one access; others stay. */
RACE_FN uint32_t shadow_after(uint32_t state)
{
	if (state == SHADOW_READ)
		return SHADOW_READ_AFTER;
	if (state == SHADOW_BATOM)
		return SHADOW_BATOM_AFTER;
	return state == SHADOW_GATOM ? (uint32_t)SHADOW_GATOM_AFTER : state;
}

RACE_FN struct shadow_step shadow_table_step(const uint8_t *table, uint32_t state, uint32_t access,
					     uint32_t sync, uint32_t relation)
{
	struct shadow_step s = {0, false, false, false, false};
	uint32_t as = shadow_base(state);
	uint32_t entry = table[shadow_entry(as, access, sync, relation)];

	s.next = entry & SHADOW_NEXT;
	s.is_race = s.next == SHADOW_RACE;
	s.is_covering = (entry & SHADOW_COVERS) != 0;
	s.can_keep = (entry & SHADOW_KEEP) != 0 && as == state;
	return s;
}

/* Lines 15 to 19 of Algorithm 1. */
RACE_FN struct shadow_step shadow_step_of(const struct shadow_actor *me, const uint8_t *table,
					  const struct shadow_word *w, uint32_t access)
{
	uint32_t relation = shadow_relation_of(me, w->thread), sync = SHADOW_SYNC_U;
	uint32_t lane, place;
	bool is_lanes = w->state == SHADOW_MIXED || w->state == SHADOW_UNSURE;
	enum race_lane_order order;

	if (w->launch != me->launch)
		relation = SHADOW_GRID;
	else if (w->block_clock != me->block_clock)
		sync = SHADOW_SYNC_B;
	else if (relation <= SHADOW_WARP && !me->lanes && w->warp_clock != me->warp_clock)
		sync = SHADOW_SYNC_W;
	if (relation > SHADOW_WARP || sync == SHADOW_SYNC_B || !me->lanes)
		return shadow_table_step(table, w->state, access, sync, relation);
	place = w->thread - me->block_first;
	lane = (me->thread - me->block_first) % SHADOW_LANES;
	order = race_lane_order(me->lanes, lane, place % SHADOW_LANES, w->warp_clock);
	if (order == RACE_BEHIND_FULL)
		return shadow_table_step(table, w->state, access, SHADOW_SYNC_W, relation);
	return shadow_lanes_step(me->lanes, table, is_lanes ? w->state : shadow_base(w->state),
				 access, order,
				 relation == SHADOW_SELF && w->warp_clock == me->warp_clock);
}

/* Of the states that follow READ, BATOM and GATOM: accesses that nothing orders. */
RACE_FN bool shadow_is_group(uint32_t state)
{
	return state == SHADOW_WREAD || state == SHADOW_BREAD || state == SHADOW_GREAD ||
	       state == SHADOW_BATOM_W || state == SHADOW_BATOM_B || state == SHADOW_GATOM_W ||
	       state == SHADOW_GATOM_B || state == SHADOW_GATOM_G;
}

/*
 * Does a race of the access with a word in this state have a weak earlier side, whatever else the
 * word is about? A weak access is never observed. WRITE may be a read and an atomic of one thread:
 * what isn't a read races with the former.
 */
RACE_FN bool shadow_has_weak_side(uint32_t state, uint32_t access)
{
	uint32_t base = shadow_base(state);

	if (state == SHADOW_MIXED || state == SHADOW_UNSURE)
		return false;
	return base == SHADOW_READ || base == SHADOW_WREAD || base == SHADOW_BREAD ||
	       base == SHADOW_GREAD || (base == SHADOW_WRITE && access != SHADOW_R);
}

/* The word of a location behind this access, and the verdict. Pure; bit: shadow_read_bit(). */
SHADOW_FN struct shadow_result shadow_judge(uint64_t old, const uint8_t *table,
					    const struct shadow_actor *me, uint32_t access,
					    uint32_t bit)
{
	struct shadow_word w = shadow_decode(old, me->thread_bits);
	struct shadow_result r = {old, SHADOW_NO_RACE};
	bool is_foreign = w.launch != me->launch;
	enum shadow_overlap overlap = SHADOW_ORDERED;
	uint32_t stamp =
		me->stamps.own.now < SHADOW_STAMP_FULL ? me->stamps.own.now : SHADOW_STAMP_FULL;
	struct shadow_step s;

	if (is_foreign && w.launch && w.state != SHADOW_INIT)
		overlap = SHADOW_OVERLAPS(me->launch, w.launch);
	if (is_foreign && overlap == SHADOW_ORDERED)
		w.state = SHADOW_INIT;
	if (is_foreign && w.state == SHADOW_RACE)
		w.state = SHADOW_INIT;
	if (w.state == SHADOW_RACE)
		return r;
	s = shadow_step_of(me, table, &w, access);
	/* Whatever its stamp: what is left out leaves a shorter history, judged as it is. */
	if (s.can_keep && !is_foreign)
		return r;
	if (shadow_has_weak_side(w.state, access))
		bit = 0;
	if (is_foreign)
		w.stamp = 0; /* T begins anew in each launch; A = 0 has acquired nothing */
	if (s.is_race && (overlap == SHADOW_PERHAPS_ORDERED ||
			  !shadow_is_unordered(w.stamp, bit, &me->stamps))) {
		s.is_race = false;
		s.is_possible = true;
		s.is_covering = true;
		s.next = table[shadow_entry(SHADOW_INIT, access, SHADOW_SYNC_U, SHADOW_SELF)] &
			 SHADOW_NEXT;
		s.next = shadow_after(s.next);
	} else if (w.state >= SHADOW_READ_AFTER && !s.is_race) {
		s.next = shadow_after(s.next);
		if (shadow_is_group(s.next)) {
			r.verdict = SHADOW_POSSIBLE;
			return r;
		}
	}
	if (s.is_race)
		r.verdict = SHADOW_IS_RACE;
	else if (s.is_possible)
		r.verdict = SHADOW_POSSIBLE;
	if (w.state != SHADOW_INIT && !s.is_covering && w.stamp < stamp)
		stamp = w.stamp;
	w.state = s.next;
	w.stamp = stamp;
	w.launch = me->launch;
	w.thread = me->thread;
	w.block_clock = me->block_clock;
	w.warp_clock = me->warp_clock;
	r.word = shadow_encode(w, me->thread_bits);
	return r;
}

/* Has something raced at this location before, so that its word doesn't stand for all? */
RACE_FN bool shadow_has_raced(uint64_t word, const struct shadow_actor *me)
{
	struct shadow_word w = shadow_decode(word, me->thread_bits);

	return w.launch == me->launch && (w.state == SHADOW_RACE || w.state >= SHADOW_READ_AFTER);
}

/* What is done with a location's word. */
enum shadow_how {
	SHADOW_STORE, /* Algorithm 1: it is judged, and stored where that changes a later verdict */
	SHADOW_LOOK,  /* judged only: by a word that stands for more or fewer bytes */
	SHADOW_STRONG_READ
};

/* What was found at a word. */
struct shadow_seen {
	uint64_t was;  /* the verdict is about this one; it names the earlier side */
	uint64_t next; /* this one is there now */
};

/*
 * An access (enum shadow_access) of the location whose word is at `at`; `bit`: shadow_read_bit() of
 * the location. One loop serves all ways, so that a GPU has one copy of it.
 *
 * A strong load is no access of the machine: as R it would race with atomics, as an atomic with
 * reads. What it does race with, a weak write or an atomic whose scope is too small, races with
 * both kinds, so where both race it is *possible*; no more, since a word may stand for a read and
 * an atomic. Nothing is stored: a write behind the load that races with it is missed. `access` is
 * SHADOW_BA or SHADOW_GA then, by the load's scope.
 */
SHADOW_FN enum shadow_verdict shadow_access_at(uint64_t *at, uint32_t bit, const uint8_t *table,
					       const struct shadow_actor *me, uint32_t access,
					       enum shadow_how how, struct shadow_seen *seen)
{
	bool is_first = how == SHADOW_STRONG_READ;
	struct shadow_result r;

	seen->was = seen->next = 0;
	if (me->is_beyond ||
	    !shadow_can_track(me->thread, me->block_clock, me->warp_clock, me->thread_bits))
		return SHADOW_ASIDE;
	seen->was = seen->next = SHADOW_LOAD64(at);
	for (;;) {
		r = shadow_judge(seen->was, table, me, is_first ? (uint32_t)SHADOW_R : access, bit);
		if (is_first && r.verdict != SHADOW_NO_RACE) {
			is_first = false;
			continue;
		}
		if (how != SHADOW_STORE || r.word == seen->was)
			break;
		seen->next = SHADOW_CAS64(at, seen->was, r.word);
		if (seen->next == seen->was) {
			seen->next = r.word;
			break;
		}
		seen->was = seen->next;
	}
	if (how == SHADOW_STRONG_READ && r.verdict != SHADOW_NO_RACE)
		return SHADOW_POSSIBLE;
	return r.verdict;
}

/* Of a location whose bit is that of its word. */
SHADOW_FN enum shadow_verdict shadow_update(uint64_t *at, const uint8_t *table,
					    const struct shadow_actor *me, uint32_t access,
					    uint64_t *was)
{
	struct shadow_seen seen;
	enum shadow_verdict v = shadow_access_at(at, shadow_read_bit((uint64_t)(uintptr_t)at),
						 table, me, access, SHADOW_STORE, &seen);

	*was = seen.was;
	return v;
}

SHADOW_FN enum shadow_verdict shadow_check_strong_read(uint64_t *at, const uint8_t *table,
						       const struct shadow_actor *me,
						       uint32_t access, uint64_t *was)
{
	struct shadow_seen seen;
	enum shadow_verdict v = shadow_access_at(at, shadow_read_bit((uint64_t)(uintptr_t)at),
						 table, me, access, SHADOW_STRONG_READ, &seen);

	*was = seen.was;
	return v;
}

/* Does an atomic stand for older plain accesses in this state? */
RACE_FN bool shadow_has_plain(uint32_t state)
{
	return state == SHADOW_WSYNC_ATOM || state == SHADOW_WSYNC_ATOM_M ||
	       state == SHADOW_BSYNC_ATOM || state == SHADOW_BSYNC_ATOM_B ||
	       state == SHADOW_BSYNC_ATOM_W;
}

/*
 * What may order the access with the earlier one, where they are only possible: enum race_may. For
 * the report; the first reason that holds. is_look: a strong load, which the machine doesn't have.
 */
SHADOW_FN uint32_t shadow_may(uint64_t was, const struct shadow_actor *me, uint32_t access,
			      uint32_t bit, bool is_look)
{
	struct shadow_word w = shadow_decode(was, me->thread_bits);
	bool is_foreign = w.launch != me->launch;

	if (!shadow_has_weak_side(w.state, access) && (me->stamps.own.read & bit) != 0)
		return RACE_MAY_OBSERVED;
	if (is_foreign && me->stamps.own.acquired == 0)
		return RACE_MAY_HOST;
	if ((is_foreign ? 0u : w.stamp) < me->stamps.own.acquired)
		return RACE_MAY_RELEASE;
	if (w.state == SHADOW_MIXED || w.state == SHADOW_UNSURE)
		return RACE_MAY_MASK;
	if (w.state >= SHADOW_READ_AFTER)
		return RACE_MAY_EARLIER;
	return is_look ? RACE_MAY_STRONG_READ : RACE_MAY_MASK;
}

/* ---- what synchronisation does to the actor ---------------------------------------- */

/* A barrier of the whole block. `all`: the join of its threads. Rows end. */
RACE_FN void shadow_on_block_barrier(struct shadow_actor *me, const struct shadow_stamps *all)
{
	me->block_clock += me->block_clock != 0xffffffffu;
	me->warp_clock = 0;
	me->lanes = 0;
	shadow_join_all(&me->stamps, all);
}

/* A full __syncwarp of a warp without rows. */
RACE_FN void shadow_on_full_mask(struct shadow_actor *me, const struct shadow_stamps *all)
{
	me->warp_clock += me->warp_clock <= SHADOW_WARP_LAST;
	shadow_join_all(&me->stamps, all);
}

#endif
