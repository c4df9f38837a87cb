/*
 * model.h - what iGUARD should find, defined by all that has happened: unbounded history.
 *
 * Every access of a run is kept, with the vector clocks of its thread. An access *races* with an
 * earlier one if the two conflict (of different threads, one writes, not both strong with scopes
 * that hold both threads) and causality doesn't order them; it is *unbarred* if barriers and
 * program order alone don't. Unlike tests/hirace/rules/model.h this one knows scopes:
 *
 *  - a fence or operation of scope .cta takes part in no synchronisation between two blocks;
 *  - a strong read observes its location's last write, and through read-modify-writes those before
 *    it, as far as each step is between operations whose scopes hold both threads.
 *
 * Every fence is a fence.sc. Two of them are ordered where the scopes of both hold both threads,
 * and an access after the one communicates with an access before the other.
 */
#ifndef COLLIDER_TESTS_IGUARD_RULES_MODEL_H
#define COLLIDER_TESTS_IGUARD_RULES_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS 12u
#define MODEL_BLOCKS  3u
#define MODEL_SYNCS   8u
#define MODEL_CHAIN   64u

struct model_clock {
	uint32_t of[MODEL_THREADS];
	uint64_t seen; /* of the first 64 accesses: strong writes that were observed */
};

/* By who may use it: threads of the block that it comes from; wide operations of all. */
struct model_scoped {
	struct model_clock home[MODEL_BLOCKS], wide;
};

struct model_access {
	uint8_t thread;
	bool writes, is_strong, has_cta;
	uint16_t location;
	uint32_t bar_time, time;	    /* of its thread, in either order */
	uint32_t block_stamp, device_stamp; /* free for the test */
};

struct model_thread {
	uint32_t block;
	struct model_clock bars, all;
	struct model_scoped fenced;	     /* released by its last fences */
	struct model_scoped op[MODEL_SYNCS]; /* by its last release of a location */
	struct model_scoped seen;	     /* of reads, for its next fence */
	struct model_scoped fences, pending; /* of fence.sc: before it; those before its next */
};

struct model_write {
	struct model_scoped released, fences;
	uint32_t thread, access; /* access: of the list, plus 1 */
	bool has_cta, is_rmw;
};

struct model {
	unsigned threads;
	struct model_thread thread[MODEL_THREADS];
	struct model_write chain[MODEL_SYNCS][MODEL_CHAIN];
	unsigned nchain[MODEL_SYNCS];
	struct model_scoped writers[MODEL_SYNCS], readers[MODEL_SYNCS];
	struct model_access *accesses; /* malloc'd */
	size_t n, room;
};

void model_begin(struct model *m, unsigned threads, const uint32_t *block_of);
void model_end(struct model *m);
/* Barrier of the threads in `set` (a bit each). */
void model_barrier(struct model *m, uint32_t set);
void model_fence(struct model *m, unsigned thread, bool is_wide);
/* Strong operations on sync location s. A releasing write calls model_release first. A
 * read-modify-write is a read, then a write with is_rmw. access: as in struct model_write. */
void model_release(struct model *m, unsigned thread, unsigned s, bool is_wide);
void model_strong_write(struct model *m, unsigned thread, unsigned s, bool is_wide, bool is_rmw,
			size_t access);
void model_strong_read(struct model *m, unsigned thread, unsigned s, bool is_wide, bool is_acquire);

bool model_conflicts(const struct model *m, const struct model_access *a, unsigned thread,
		     const struct model_access *b);
bool model_is_barred(const struct model *m, const struct model_access *a, unsigned thread);
bool model_is_ordered(const struct model *m, const struct model_access *a, unsigned thread);
/* Does this access race with any before it? */
bool model_races(const struct model *m, const struct model_access *b);
/* Keeps it, with its times. */
struct model_access *model_add(struct model *m, const struct model_access *b);

#endif
