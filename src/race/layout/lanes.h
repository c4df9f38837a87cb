/*
 * lanes.h - what a lane knows of the order within its warp, where masks of __syncwarp leave lanes
 * out: one row of a matrix of 32 x 32.
 *
 * A mask that leaves lanes out orders some lanes and not others, which one clock of the warp can't
 * say. So each lane counts the __syncwarps that it took part in since its block's last barrier, and
 * keeps in its row what it has seen of each other lane's clock. The rows lie in the lanes' own
 * memory: a lane reads only its own, and at a partial mask those that take part show theirs to each
 * other. A full mask orders all, so all lanes begin anew with one clock that none has had.
 *
 * Kernels whose masks are all full by their text have no rows: one clock says all. Used by hirace
 * (hirace/lanes.h) and iguard (iguard/update.h). Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_RACE_LANES_H
#define COLLIDER_RACE_LANES_H

#include <stdbool.h>

#include "race/record.h"

#define RACE_LANES 32u

struct race_lane {
	/* Accesses of lane j with a clock below seen[j] are ordered before this lane; its own clock
	 * is seen[itself]. */
	uint16_t seen[RACE_LANES];
	uint16_t full;	     /* those of any lane with a clock below it are, before all lanes */
	uint16_t is_partial; /* the lane took part in a partial mask since the last full one */
};
#define RACE_LANE_BYTES 68u
RACE_STATIC_ASSERT(sizeof(struct race_lane) == RACE_LANE_BYTES, "declared in templates");

/* A full mask or the block's barrier came; all lanes have this clock now. */
RACE_FN void race_lane_begin(struct race_lane *l, uint32_t clock)
{
	for (uint32_t i = 0; i < RACE_LANES; i++)
		l->seen[i] = (uint16_t)clock;
	l->full = (uint16_t)clock;
	l->is_partial = 0;
}

/* The lane takes part in a partial mask: first this, then the join of all rows that do. Clocks stop
 * at 65,535; a detector steps aside long before. */
RACE_FN void race_lane_arrive(struct race_lane *l, uint32_t lane)
{
	l->seen[lane] = (uint16_t)(l->seen[lane] + (l->seen[lane] < 0xffffu));
	l->is_partial = 1;
}

RACE_FN void race_lane_join(struct race_lane *l, const struct race_lane *other)
{
	for (uint32_t i = 0; i < RACE_LANES; i++)
		if (l->seen[i] < other->seen[i])
			l->seen[i] = other->seen[i];
}

/* What an access of another lane, or an earlier one of this lane, is to this lane. */
enum race_lane_order { RACE_AFTER_FULL, RACE_MINE, RACE_OTHER };

RACE_FN enum race_lane_order race_lane_order(const struct race_lane *l, uint32_t lane,
					     uint32_t other, uint32_t clock)
{
	if (clock < l->full)
		return RACE_AFTER_FULL;
	return other == lane || clock < l->seen[other] ? RACE_MINE : RACE_OTHER;
}

#endif
