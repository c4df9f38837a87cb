/*
 * model.h - what HiRace's detector should find, defined by all that has happened: unbounded
 * history.
 *
 * Every access of a run is kept, with the vector clocks of its thread. There are two orders: the
 * one that barriers of blocks and warps make (partial masks, too), which is HiRace's own, and the
 * whole one with releases and acquires. An access *races* with an earlier one if the two conflict
 * and the whole order doesn't order them; it is *unbarred* if barriers alone don't.
 *
 * Synchronisation by memory: each sync location holds what its last write released. An acquire that
 * reads it (or a fence after a relaxed read) joins that. A read-modify-write continues what it
 * reads. A strong write that a strong read of its own location has seen is ordered before what
 * comes after the read, but nothing that its thread did before is (PTX ISA 8.9: observation order,
 * causality order).
 *
 * Every fence is a fence.sc. Two are ordered where an access after the one communicates (write to
 * read, write to write, read to write) with an access before the other, causality taking the place
 * of program order on either side: otherwise the accesses would contradict the order of the fences.
 */
#ifndef COLLIDER_TESTS_HIRACE_RULES_MODEL_H
#define COLLIDER_TESTS_HIRACE_RULES_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS 16u
#define MODEL_SYNCS   8u

/* `seen`: which of the first 64 accesses are strong writes that a strong read before has seen. */
struct model_clock {
	uint32_t of[MODEL_THREADS];
	uint64_t seen;
};

struct model_access {
	uint8_t thread, kind; /* enum hirace_access */
	uint16_t location;
	uint32_t bar_time, time; /* of its thread, in either order */
	uint32_t stamp;		 /* free for the test */
};

struct model_thread {
	struct model_clock bars, all;
	struct model_clock
		released;	    /* what its last release or fence lets go with a strong write */
	struct model_clock seen;    /* of relaxed reads, for the next fence */
	struct model_clock fences;  /* what the fences before it have released */
	struct model_clock pending; /* of fences that come before its next one */
	struct model_clock let_go;  /* pending at its last release */
	uint32_t block;
};

struct model {
	unsigned threads;
	struct model_thread thread[MODEL_THREADS];
	struct model_clock sync[MODEL_SYNCS];
	/* fences of the threads that wrote and read it; pending of what was released through it */
	struct model_clock writers[MODEL_SYNCS], readers[MODEL_SYNCS], passed[MODEL_SYNCS];
	struct model_access *accesses; /* malloc'd */
	size_t n, room;
};

/* block_of[t]: the block of each thread. */
void model_begin(struct model *m, unsigned threads, const uint32_t *block_of);
void model_end(struct model *m);

/* Barrier of the threads in `set` (a bit each), which are a block, or lanes of a warp. */
void model_barrier(struct model *m, uint32_t set);
/* Strong operations on sync location s. A read-modify-write is write and read with is_rmw. */
void model_release(struct model *m, unsigned thread);
void model_fence(struct model *m, unsigned thread);
void model_strong_write(struct model *m, unsigned thread, unsigned s, bool is_rmw);
void model_strong_read(struct model *m, unsigned thread, unsigned s, bool is_acquire);

/* A strong read of a location of accesses: it sees all strong writes so far. */
void model_observe(struct model *m, unsigned thread, unsigned location);

/* Does `thread`, accessing now with this kind, conflict with a; is it ordered after it? */
bool model_conflicts(const struct model *m, const struct model_access *a, unsigned thread,
		     unsigned kind);
bool model_is_barred(const struct model *m, const struct model_access *a, unsigned thread);
bool model_is_ordered(const struct model *m, const struct model_access *a, unsigned thread);
/* Does the access race with any before it, or is it unbarred? */
bool model_races(const struct model *m, unsigned thread, unsigned location, unsigned kind);
bool model_is_unbarred(const struct model *m, unsigned thread, unsigned location, unsigned kind);
/* Keeps the access. */
struct model_access *model_add(struct model *m, unsigned thread, unsigned location, unsigned kind);

#endif
