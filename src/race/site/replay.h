/*
 * replay.h - what `collider run --replay` takes from an earlier report: places and addresses.
 *
 * The launcher puts them into the shared file as a chunk RACE_CHUNK_REPLAY. Sites have other
 * numbers in code that was built otherwise, so a place is a function and a line of its source (the
 * line of its PTX where there is none); a loaded module's sites are compared with it. A report of
 * any detector can be replayed that way. What was found goes to the blocks of detector watch
 * (layout/watch.h).
 */
#ifndef COLLIDER_RACE_SITE_REPLAY_H
#define COLLIDER_RACE_SITE_REPLAY_H

#include "race/layout/watch.h"
#include "race/race.h"

/* The chunk: this, the places, the addresses, the strings. Strings are offsets in the chunk. */
struct race_replay {
	uint32_t nplaces, nranges;
	uint32_t lost; /* sites and addresses without room in the blocks */
	uint32_t reserved;
};

struct race_replay_place {
	uint32_t func, file;	 /* strings: mangled; as in .file, "" = unknown */
	uint32_t line, ptx_line; /* line 0: ptx_line counts */
	uint32_t is_found;	 /* a loaded module has such a site */
};

/* Writes the chunk of all places and addresses on a GPU that r's findings have, each once. False:
 * they have no place there. The caller frees *out. */
bool race_replay_make(struct base_buf *out, const struct race_results *r);

/* A line for the report: how much of the chunk was found. False: the chunk contradicts itself. */
bool race_replay_note(struct race_results *out, const void *payload, size_t n);

/* In the program. A loaded module's table: its sites are compared with the places. */
void race_replay_sites(const struct race_sites *t);
/* Fills in the block's filter. False: nothing is replayed. */
bool race_replay_fill(struct race_watch *w);

#endif
