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

/* What a detector leaves undecided in a run that has it, on either device. */
#define RACE_GAP_UNORDERED "nothing orders it with another launch: races of the two were not sought"
#define RACE_GAP_OVERLAPPING                                                                       \
	"nothing orders it with another launch: races of the two show if both run at once"
#define RACE_GAP_OF_HOST                                                                           \
	"kernels accessed managed or pinned memory: loads and stores of host code were not judged"

#endif
