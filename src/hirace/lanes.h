/*
 * lanes.h - what partial __syncwarp masks order, and how the machine is asked then.
 *
 * The machine's label W says that a whole warp has synchronised. A mask that leaves lanes out
 * orders some lanes and not others: each lane has a row of what it has seen (race/layout/lanes.h).
 *
 * An access by the lane in the word is then *after a full mask* (label W, exact), or *mine* (the
 * lane's own, or ordered before this lane), or *other* (not ordered before this lane). From there:
 *
 *  - States whose accesses at the thread's level are the last thread's alone: *other* is label U of
 *    another lane. *Mine* is label U of the same thread where the new access covers those accesses
 *    (whoever is ordered after it is ordered after them, and it conflicts with as much); where it
 *    doesn't cover them, the state is MIXED.
 *  - States of several lanes (WREAD and its like): the word knows the last one only. A conflicting
 *    access races for certain if the last is *other*, or this lane took part in no partial mask
 *    since the last full one, so that nothing of another lane is ordered before it. Else it is
 *    *possible*.
 *  - MIXED: accesses of this warp, all ordered before the last one, that conflict with whatever a
 *    write conflicts with. *Mine* is no race. *Other* is one for a write, else *possible*, as
 *    above.
 *  - UNSURE: what a *possible* leaves, MIXED without the order.
 *
 * For other warps and blocks, and after a full mask or a barrier of the block, MIXED and UNSURE
 * are WRITE. Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_HIRACE_LANES_H
#define COLLIDER_HIRACE_LANES_H

#include "race/layout/lanes.h"
#include "race/layout/history.h"
#include "hirace/machine.h"

#define HIRACE_LANES RACE_LANES

/* What is decided without the table: the next state, and how sure a race is. */
struct hirace_step {
	uint32_t next;
	bool is_race, is_possible, is_covering, can_keep;
};

/* Do several lanes stand after this state, of whom the word names one? */
RACE_FN bool hirace_is_of_lanes(uint32_t state)
{
	return state == HIRACE_WREAD || state == HIRACE_MR_WSYNC || state == HIRACE_W_MR_BWSYNC ||
	       state == HIRACE_BATOM_W || state == HIRACE_GATOM_W || state == HIRACE_WSYNC_ATOM_M ||
	       state == HIRACE_BSYNC_ATOM_W;
}

/* For an access in the word's warp, with no full mask and no barrier since the word was written. */
RACE_FN struct hirace_step hirace_lanes_step(const struct race_lane *m, const uint8_t *table,
					     uint32_t state, uint32_t access,
					     enum race_lane_order order, bool is_same_clock)
{
	struct hirace_step s = {0, false, false, false, false};
	bool is_mine = order == RACE_MINE, is_blind = m->is_partial != 0;
	bool is_beyond = state == HIRACE_MIXED || state == HIRACE_UNSURE;
	uint32_t as = is_beyond ? HIRACE_WRITE : state;
	uint32_t entry =
		table[hirace_entry(as, access, HIRACE_SYNC_U, is_mine ? HIRACE_SELF : HIRACE_WARP)];

	s.next = entry & HIRACE_NEXT;
	s.is_covering = (entry & HIRACE_COVERS) != 0;
	if (is_beyond || (hirace_is_of_lanes(state) && s.next == HIRACE_RACE)) {
		bool is_sure = !is_blind || (!is_mine && (!is_beyond || access == HIRACE_W));

		if (state == HIRACE_MIXED && is_mine)
			s.next = access == HIRACE_W ? HIRACE_WRITE : HIRACE_MIXED;
		else if (is_sure)
			s.next = HIRACE_RACE;
		else
			s.next = access == HIRACE_W ? HIRACE_WRITE : HIRACE_UNSURE;
		s.is_race = s.next == HIRACE_RACE;
		s.is_possible = !s.is_race && !(state == HIRACE_MIXED && is_mine);
		return s;
	}
	s.is_race = s.next == HIRACE_RACE;
	if (is_mine && !is_same_clock && access != HIRACE_W && s.next == HIRACE_WRITE)
		s.next = HIRACE_MIXED;
	return s;
}

#endif
