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
#ifndef COLLIDER_SHADOW_MACHINE_H
#define COLLIDER_SHADOW_MACHINE_H

#include "race/shadow.h"

enum shadow_state {
#define STATE(id, name, histories) SHADOW_##id,
#include "shadow/states.def"
#undef STATE
	SHADOW_STATES,
	/* Beyond the table. For warps that use partial masks, see lanes.h: */
	SHADOW_MIXED = SHADOW_STATES,
	SHADOW_UNSURE,
	/* READ, BATOM and GATOM behind a possible race, see update.h: */
	SHADOW_READ_AFTER,
	SHADOW_BATOM_AFTER,
	SHADOW_GATOM_AFTER,
	SHADOW_STATES_ALL
};

/* What the access does. Atomics are strong operations that may write, of scope .cta or wider. */
enum shadow_access { SHADOW_R, SHADOW_W, SHADOW_BA, SHADOW_GA, SHADOW_ACCESSES };
/* Since the word was written: nothing; the word's warp; the word's block has synchronised. */
enum shadow_sync { SHADOW_SYNC_U, SHADOW_SYNC_W, SHADOW_SYNC_B, SHADOW_SYNCS };
/* The same thread; another lane of its warp; another warp of its block; another block. */
enum shadow_relation { SHADOW_SELF, SHADOW_WARP, SHADOW_BLOCK, SHADOW_GRID, SHADOW_RELATIONS };

#define SHADOW_TRANSITIONS (SHADOW_STATES * SHADOW_ACCESSES * SHADOW_SYNCS * SHADOW_RELATIONS)
#define SHADOW_TABLE_SIZE  (SHADOW_STATES * 64u)

/* An entry: the next state, and what the generator proved of the update. */
#define SHADOW_NEXT   0x1fu
#define SHADOW_COVERS 0x40u /* who races with an older access races with this one (release.h) */
#define SHADOW_KEEP   0x80u /* the word may stay as it is: no later verdict changes */

RACE_STATIC_ASSERT(SHADOW_STATES == 25 && SHADOW_TRANSITIONS == 1200, "as published");
RACE_STATIC_ASSERT(SHADOW_TABLE_SIZE == RACE_HISTORY_MACHINE, "handed over in the tables");
RACE_STATIC_ASSERT(SHADOW_STATES_ALL <= SHADOW_NEXT + 1u, "a state has 5 bits");

RACE_FN uint32_t shadow_entry(uint32_t state, uint32_t access, uint32_t sync, uint32_t relation)
{
	return state << 6 | access << 4 | sync << 2 | relation;
}

#endif
