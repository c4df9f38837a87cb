/*
 * noted.h - private to src/prune: notes of a kernel's launches, for prune.c.
 */
#ifndef COLLIDER_PRUNE_NOTED_H
#define COLLIDER_PRUNE_NOTED_H

#include "instrument/instrument.h"
#include "race/noted.h"

/* Do all terms hold in all launches that were noted? False: perhaps not. */
bool prune_holds_in(const struct race_noted *all, const struct inst_prune *k);
/* As an assumption: "$4 == 16 && $5 >= 3 && $5 <= 7", or "". Numbers come before bounds, where
 * there are too many. is_wide: bounds for all, the upper ones four times what was noted or more. */
const char *prune_scalars_of(const struct race_noted *all, bool is_wide, struct base_arena *a);
/* Bounds of the dimensions in the set that differ: "gridDim.x <= 127", or "". */
const char *prune_dims_of(const struct race_noted *all, unsigned dims, struct base_arena *a);

#endif
