/*
 * gap.h - the gaps of a run, as numbers: rows of gaps.def, for programs and for the report.
 */
#ifndef COLLIDER_RACE_GAP_H
#define COLLIDER_RACE_GAP_H

enum race_gap_why {
	RACE_GAP_NONE,
#define GAP(id, ...) RACE_GAP_##id,
#include "race/gaps.def"
	RACE_GAPS
};

#endif
