/*
 * define.h - what the states stand for, to be executed: histories of one location.
 *
 * A history holds, of all accesses so far, what later verdicts can depend on: which kinds of
 * accesses a thread has made that are ordered before none other, which are ordered for a warp, and
 * which for a block. Synchronisation moves them from thread to warp to block. The universe has two
 * blocks of two warps of two lanes: enough to distinguish all relations of two threads and a third
 * one.
 */
#ifndef COLLIDER_HIRACE_DEFINE_H
#define COLLIDER_HIRACE_DEFINE_H

#include "hirace/machine.h"

#include <stdbool.h>

#define HIRACE_THREADS 8u
#define HIRACE_WARPS   4u
#define HIRACE_BLOCKS  2u

/* Sets of enum hirace_access, a bit each. */
struct hirace_history {
	uint8_t thread[HIRACE_THREADS]; /* ordered for the thread itself only */
	uint8_t warp[HIRACE_WARPS];	/* ordered for the warp */
	uint8_t block[HIRACE_BLOCKS];	/* ordered for the block */
};

/* Do accesses a and b of different threads that nothing orders make a race? */
bool hirace_conflicts(enum hirace_access a, enum hirace_access b, bool is_same_block);

/*
 * What an access would race with: four bits (the kinds) for each relation of enum hirace_relation,
 * the nearest lowest. 0: it is no race.
 */
uint32_t hirace_history_races(const struct hirace_history *h, uint32_t thread,
			      enum hirace_access access);
/*
 * The other way round, four bits for each: which kinds would conflict with it, but are the thread's
 * own (lowest), ordered for its warp, ordered for its block.
 */
uint32_t hirace_history_ordered(const struct hirace_history *h, uint32_t thread,
				enum hirace_access access);
/*
 * Does an access by `thread`, which races with none of the history, cover all of it: does each
 * access that races with an older one, now or later, race with this one, too?
 */
bool hirace_history_covers(const struct hirace_history *h, uint32_t thread,
			   enum hirace_access access);
void hirace_history_access(struct hirace_history *h, uint32_t thread, enum hirace_access access);
void hirace_history_sync_warp(struct hirace_history *h, uint32_t warp);
void hirace_history_sync_block(struct hirace_history *h, uint32_t block);

/* The definition of the states: that of a history without race which ends in this access. */
enum hirace_state hirace_history_state(const struct hirace_history *h, uint32_t last,
				       enum hirace_access access);

#endif
