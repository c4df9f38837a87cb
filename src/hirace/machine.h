/*
 * machine.h - HiRace's state machine as host and GPU see it: labels, and what an entry holds.
 *
 * A transition is looked up by the state in the shadow word, the access, what has synchronised
 * since the word was written, and how the accessing thread is related to the one in the word
 * (SC'24, Figure 4 and Algorithm 1, lines 15 to 19). The entries are made at build time
 * (generate.c) from the definition in define.c. A table is an array in global memory, not in
 * .const: the lanes of a warp look up different entries, and constant memory serves one address at
 * a time.
 *
 * Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_HIRACE_MACHINE_H
#define COLLIDER_HIRACE_MACHINE_H

#include "race/layout/history.h"

enum hirace_state {
#define STATE(id, name, histories) HIRACE_##id,
#include "hirace/states.def"
#undef STATE
	HIRACE_STATES,
	/* Beyond the table. For warps that use partial masks, see lanes.h: */
	HIRACE_MIXED = HIRACE_STATES,
	HIRACE_UNSURE,
	/* READ, BATOM and GATOM after a possible race, see update.h: */
	HIRACE_READ_AFTER,
	HIRACE_BATOM_AFTER,
	HIRACE_GATOM_AFTER,
	/* An asynchronous copy writes, and its thread has not waited for it: */
	HIRACE_COPYING,
	HIRACE_STATES_ALL
};

/* What the access does. Atomics are strong operations that may write, of scope .cta or wider. */
enum hirace_access { HIRACE_R, HIRACE_W, HIRACE_BA, HIRACE_GA, HIRACE_ACCESSES };
/* Since the word was written: nothing; the word's warp; the word's block has synchronised. */
enum hirace_sync { HIRACE_SYNC_U, HIRACE_SYNC_W, HIRACE_SYNC_B, HIRACE_SYNCS };
/* The same thread; another lane of its warp; another warp of its block; another block. */
enum hirace_relation { HIRACE_SELF, HIRACE_WARP, HIRACE_BLOCK, HIRACE_GRID, HIRACE_RELATIONS };

/* How two launches are ordered. */
enum hirace_overlap {
	HIRACE_ORDERED, /* or nothing is known */
	HIRACE_OVERLAPPING,
	HIRACE_PERHAPS_SEEN,   /* another kernel, or host code, may have seen strong writes */
	HIRACE_PERHAPS_ORDERED /* or ordered all that the two did */
};

#define HIRACE_TRANSITIONS (HIRACE_STATES * HIRACE_ACCESSES * HIRACE_SYNCS * HIRACE_RELATIONS)
#define HIRACE_TABLE_SIZE  (HIRACE_STATES * 64u)

/* An entry: the next state, and what the generator proved of the update. */
#define HIRACE_NEXT   0x1fu
#define HIRACE_COVERS 0x40u /* who races with an older access races with this one (release.h) */
#define HIRACE_KEEP   0x80u /* the word may stay as it is: no later verdict changes */

RACE_STATIC_ASSERT(HIRACE_STATES == 25 && HIRACE_TRANSITIONS == 1200, "as published");
RACE_STATIC_ASSERT(HIRACE_TABLE_SIZE == RACE_HISTORY_MACHINE, "handed over in the tables");
RACE_STATIC_ASSERT(HIRACE_STATES_ALL <= HIRACE_NEXT + 1u, "a state has 5 bits");

RACE_FN uint32_t hirace_entry(uint32_t state, uint32_t access, uint32_t sync, uint32_t relation)
{
	return state << 6 | access << 4 | sync << 2 | relation;
}

#endif
