/*
 * define.h - what the states stand for, to be executed: histories of one location.
 *
 * A history holds, of all accesses so far, what later verdicts can depend on: which kinds of
 * accesses a thread has made that are ordered before nobody else, which are ordered for a warp, and
 * which for a block. Synchronisation moves them from thread to warp to block. The universe has two
 * blocks of two warps of two lanes: enough to distinguish all relations of two threads and a third
 * one.
 */
#ifndef COLLIDER_SHADOW_DEFINE_H
#define COLLIDER_SHADOW_DEFINE_H

#include "shadow/machine.h"

#include <stdbool.h>

#define SHADOW_THREADS 8u
#define SHADOW_WARPS   4u
#define SHADOW_BLOCKS  2u

/* Sets of enum shadow_access, a bit each. */
struct shadow_history {
	uint8_t thread[SHADOW_THREADS]; /* ordered for the thread itself only */
	uint8_t warp[SHADOW_WARPS];	/* ordered for the warp */
	uint8_t block[SHADOW_BLOCKS];	/* ordered for the block */
};

/* Do accesses a and b of different threads that nothing orders make a race? */
bool shadow_conflicts(enum shadow_access a, enum shadow_access b, bool is_same_block);

/*
 * What an access would race with: four bits (the kinds) for each relation of enum shadow_relation,
 * the nearest lowest. 0: it is no race.
 */
uint32_t shadow_history_races(const struct shadow_history *h, uint32_t thread,
			      enum shadow_access access);
/*
 * The other way round, four bits for each: which kinds would conflict with it, but are the thread's
 * own (lowest), ordered for its warp, ordered for its block.
 */
uint32_t shadow_history_ordered(const struct shadow_history *h, uint32_t thread,
				enum shadow_access access);
/*
 * Does an access by `thread`, which races with none of the history, cover all of it: whoever races
 * with an older access, now or later, races with this one?
 */
bool shadow_history_covers(const struct shadow_history *h, uint32_t thread,
			   enum shadow_access access);
void shadow_history_access(struct shadow_history *h, uint32_t thread, enum shadow_access access);
void shadow_history_sync_warp(struct shadow_history *h, uint32_t warp);
void shadow_history_sync_block(struct shadow_history *h, uint32_t block);

/* The definition of the states: that of a history without race which ends in this access. */
enum shadow_state shadow_history_state(const struct shadow_history *h, uint32_t last,
				       enum shadow_access access);

#endif
