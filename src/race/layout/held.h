/*
 * held.h - reads that are held: what hirace and iguard keep of a load that the compiler may have
 * invented, until the thread uses its value (docs/soundness.md).
 *
 * Each execution of such a load has a place of its thread's RACE_HELD, in the thread's own memory.
 * A mask beside each register that may hold something computed from such values says of which
 * places. A place is *open* until the thread does something that may order it with others: until
 * then the read can still be judged again; it is *raced* where a race of the read was found. A
 * place is free again when no register has its bit.
 *
 * Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_RACE_LAYOUT_HELD_H
#define COLLIDER_RACE_LAYOUT_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "race/record.h"

#define RACE_HELD	16u
#define RACE_HELD_MASK	((1u << RACE_HELD) - 1u)
#define RACE_HELD_BYTES ((uint32_t)sizeof(struct race_held))

/* In what a check is given: which memory it is of, as enum inst_event_space. */
#define RACE_HELD_SPACE_AT  56u
#define RACE_HELD_SPACE(w)  ((uint32_t)((w) >> RACE_HELD_SPACE_AT) & 3u)
#define RACE_HELD_IN_GLOBAL 0u
#define RACE_HELD_IN_SHARED 1u
/* ... and which words perhaps, which surely: as RACE_HISTORY_*, RACE_IGUARD_*. */
#define RACE_HELD_SURE_AT  32u
#define RACE_HELD_MAYBE_AT 40u
/* Of what is settled: the registers' bits, and whether a barrier of the block is just passed. */
#define RACE_HELD_AFTER (1u << 31)

/* When a read is looked at: at the load, where what is found is reported as possible, too; before
 * something that orders; after a barrier of the block that the thread has just passed, and which
 * its numbers don't have yet. */
enum race_held_way { RACE_HELD_FIRST, RACE_HELD_AGAIN, RACE_HELD_LAST };

struct race_held_place {
	uint64_t me;		/* raced: the thread's word */
	uint64_t at;		/* the address; raced: of the word or byte */
	uint64_t what;		/* as a check is given it */
	uint64_t was;		/* raced: the word of the other side */
	uint32_t earlier, kind; /* raced: what else a report is given */
};

struct race_held {
	uint32_t taken;
	uint32_t live; /* open; from bit RACE_HELD on: raced */
	struct race_held_place place[RACE_HELD];
};

RACE_STATIC_ASSERT(sizeof(struct race_held_place) == 40, "place layout");

#endif
