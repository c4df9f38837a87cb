/*
 * pair.h - two accesses that raced, as the CPU device's oracle writes them to the shared file.
 *
 * A chunk RACE_CHUNK_PAIR holds one struct race_pair, its frames and its strings. PTX that was
 * never instrumented has no site table, so all words are here; strings are offsets from the start
 * of the strings, NUL-terminated, offset 0 being "". `count` is kept up to date in the file.
 * RACE_CHUNK_ORACLE holds a struct race_oracle, kept up to date, too.
 */
#ifndef COLLIDER_RACE_PAIR_H
#define COLLIDER_RACE_PAIR_H

#include "race/site.h"

/* race_pair_side.flags */
#define RACE_SIDE_VOLATILE 1u
#define RACE_SIDE_ASYNC	   2u /* an asynchronous copy of this thread */
#define RACE_SIDE_HOST	   4u /* an operation of the host: a copy, a fill; no thread */
#define RACE_SIDE_READS	   8u
#define RACE_SIDE_WRITES   16u
#define RACE_SIDE_MBARRIER 32u /* an operation on an mbarrier object */

struct race_pair_side {
	uint64_t address, grid;
	uint32_t func, file, text, kernel; /* strings */
	uint32_t line, col, ptx_line;
	uint32_t bytes; /* of the whole access */
	uint32_t thread[3], block[3];
	uint32_t frame, nframes;	/* inlined calls, innermost first: first and number */
	uint8_t access, space;		/* enum race_access, race_space */
	uint8_t width, vec;		/* bytes of an element, elements */
	uint8_t strength, scope, proxy; /* race/rules.h */
	uint8_t flags;			/* RACE_SIDE_* */
};

struct race_pair {
	uint64_t count;	  /* sightings */
	uint64_t address; /* the first common byte of the first sighting */
	uint32_t kind;	  /* enum race_kind */
	int32_t device;
	uint32_t nframes; /* struct race_frame behind this; their `next` is not used */
	uint32_t strings; /* bytes of strings behind the frames */
	struct race_pair_side side[2];
};

struct race_oracle {
	uint64_t accesses, words, shadow_bytes, clock_bytes, dropped, raced_out;
	uint32_t actors;
	uint32_t is_execution; /* --oracle=execution */
	uint32_t is_full;
	uint32_t launches;
};

RACE_STATIC_ASSERT(sizeof(struct race_pair_side) == 88, "side layout");
RACE_STATIC_ASSERT(sizeof(struct race_pair) == 32 + 2 * 88, "pair layout");
RACE_STATIC_ASSERT(sizeof(struct race_oracle) == 64, "oracle layout");

#endif
