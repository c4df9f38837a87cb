/*
 * form.h - the forms in which the oracle keeps a word's accesses: 16 bytes a word, `w` for the last
 * write and what came with it, `r` for the reads that no write has replaced.
 *
 * What a word is, `w` says by its low bits, `r` by its lowest; nothing else looks at these bits.
 *
 *   form       of     low bits  when                                             costs
 *   none       w, r   0         no access, or all are ordered before those kept  nothing
 *   one        w, r   01        a plain access (weak, generic) of the whole      nothing more
 *                               word, by one thread                   row.c
 *   lanes      w, r   11        the same by several lanes of one warp: bytes or  nothing more
 *                               halves by neighbours, or all of some lanes read
 *   set        r      0         reads by several warps that nothing orders;      16 bytes a
 *                               words of a row share one       form_readers.c    reader, shared
 *                               ... of one word, each a lane   form_singles.c    8 bytes a reader
 *   narrow     w      1000      bytes and halves by single lanes, each after   64 bytes: a cell
 *                               what conflicts                form_narrow.c    for each byte
 *   log        w      0000      relaxed atomics of many threads, all morally     2 bytes a thread,
 *                               strong with each other         form_log.c        8 a run of them
 *   strip      w      100       relaxed accesses of whole warps to neighbouring  12 bytes a warp,
 *                               words, all morally strong      form_strip.c      shared
 *   tile       w      110       copies and matrix products, each after what      12 bytes an
 *                               conflicts; words of a piece   form_tile.c        access, shared
 *   records    w      010       anything else                  word.c            64 bytes, 32 a
 *                                                                                record
 *
 * A word goes down this list, never up, but where a write or a release of memory replaces all that
 * it had: `one` becomes `lanes` or `set`, all of them `records`. A log, a strip and a tile keep the
 * plain write before them, and reads that come after all of it stay in `r`. With records `r` is 0.
 *
 * A packed access (one, lanes), from the top: actor, epoch, site, whether it is of lanes, 1. One
 * whose epoch or site has more than 16 bits isn't packed: the word gets records. Of lanes: where
 * the site's accesses are of 1 or 2 bytes, the word's bytes (halves) are of four (two) neighbouring
 * lanes, actor being the first; otherwise all of some lanes of a warp read all of it, and the
 * actor's lane is the node of a binary tree over the lanes: 1 is all of them, 2 the lower half, 3
 * the upper one ...
 */
#ifndef COLLIDER_ORACLE_FORM_H
#define COLLIDER_ORACLE_FORM_H

#include "oracle/oracle.h"

#include <stdbool.h>
#include <stdint.h>

struct oracle_ext;
struct oracle_log;
struct oracle_narrow;
struct oracle_readers;
struct oracle_strip;
struct oracle_tile;

struct oracle_cell {
	uint64_t w, r;
};

struct oracle_narrow {
	struct oracle_cell byte[4];
};

/* ---- packed accesses --------------------------------------------------------------------- */

#define ORACLE_SITE_BITS   16
#define ORACLE_EPOCH_BITS  16
#define ORACLE_IS_PACKED   1ull
#define ORACLE_IS_OF_LANES 2ull
#define ORACLE_SITE_SHIFT  2
#define ORACLE_EPOCH_SHIFT (ORACLE_SITE_SHIFT + ORACLE_SITE_BITS)
#define ORACLE_ACTOR_SHIFT (ORACLE_EPOCH_SHIFT + ORACLE_EPOCH_BITS)
_Static_assert(ORACLE_MAX_ACTORS <= 1ull << (64 - ORACLE_ACTOR_SHIFT), "an actor fits");

/* The actor's lane: words of a row differ by it. */
#define ORACLE_LANE_BITS (31ull << ORACLE_ACTOR_SHIFT)

static inline bool oracle_can_pack(uint32_t epoch, uint32_t site)
{
	return epoch >> ORACLE_EPOCH_BITS == 0 && site >> ORACLE_SITE_BITS == 0;
}

static inline uint64_t oracle_pack(uint32_t actor, uint32_t epoch, uint32_t site)
{
	return (uint64_t)actor << ORACLE_ACTOR_SHIFT | (uint64_t)epoch << ORACLE_EPOCH_SHIFT |
	       (uint64_t)site << ORACLE_SITE_SHIFT | ORACLE_IS_PACKED;
}

static inline uint32_t oracle_packed_actor(uint64_t p)
{
	return (uint32_t)(p >> ORACLE_ACTOR_SHIFT);
}

static inline uint32_t oracle_packed_epoch(uint64_t p)
{
	return (uint32_t)(p >> ORACLE_EPOCH_SHIFT) & ((1u << ORACLE_EPOCH_BITS) - 1);
}

static inline uint32_t oracle_packed_site(uint64_t p)
{
	return (uint32_t)(p >> ORACLE_SITE_SHIFT) & ((1u << ORACLE_SITE_BITS) - 1);
}

/* By several lanes, of which the actor says which. */
static inline uint64_t oracle_pack_lanes(uint32_t actor, uint32_t epoch, uint32_t site)
{
	return oracle_pack(actor, epoch, site) | ORACLE_IS_OF_LANES;
}

/* Of `w` or `r`: is it a packed access? Of a packed one: is it of several lanes? */
static inline bool oracle_is_packed(uint64_t p)
{
	return p & ORACLE_IS_PACKED;
}

static inline bool oracle_is_of_lanes(uint64_t p)
{
	return p & ORACLE_IS_OF_LANES;
}

/* Of `w` or `r`: by one thread. */
static inline bool oracle_is_one(uint64_t p)
{
	return (p & (ORACLE_IS_PACKED | ORACLE_IS_OF_LANES)) == ORACLE_IS_PACKED;
}

/* The same but for the lane, where it is packed: 0 in the lanes' bits. */
static inline uint64_t oracle_but_lane(uint64_t p)
{
	return p & ~ORACLE_LANE_BITS;
}

/* The lanes of a node, and the node of these lanes or 0. */
static inline uint32_t oracle_node_lanes(uint32_t node)
{
	uint32_t level = 31 - (uint32_t)__builtin_clz(node), n = 32u >> level;

	return (uint32_t)((1ull << n) - 1) << (node - (1u << level)) * n;
}

static inline uint32_t oracle_lanes_node(uint32_t lanes)
{
	uint32_t n = (uint32_t)__builtin_popcount(lanes), first = (uint32_t)__builtin_ctz(lanes);
	uint32_t node = 32 / n + first / n;

	return n > 1 && !(n & (n - 1)) && oracle_node_lanes(node) == lanes ? node : 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

#define ORACLE_RECORDS_TAG 2u
#define ORACLE_TILE_TAG	   6u
#define ORACLE_STRIP_TAG   4u
#define ORACLE_NARROW_TAG  8u

/* Has it reads in a set? Then: the set. */
static inline bool oracle_is_set(uint64_t r)
{
	return r && !oracle_is_packed(r);
}

static inline struct oracle_readers *oracle_set_of(uint64_t r)
{
	return (struct oracle_readers *)(uintptr_t)r;
}

/* The records, the log, the strip, the tile of a word; NULL: it has none. */
static inline struct oracle_ext *oracle_cell_ext(const struct oracle_cell *c)
{
	return (c->w & 7) == ORACLE_RECORDS_TAG
		       ? (struct oracle_ext *)(uintptr_t)(c->w - ORACLE_RECORDS_TAG)
		       : NULL;
}

static inline struct oracle_log *oracle_cell_log(const struct oracle_cell *c)
{
	return c->w & 15 ? NULL : (struct oracle_log *)(uintptr_t)c->w;
}

static inline struct oracle_strip *oracle_cell_strip(const struct oracle_cell *c)
{
	return (c->w & 7) == ORACLE_STRIP_TAG
		       ? (struct oracle_strip *)(uintptr_t)(c->w - ORACLE_STRIP_TAG)
		       : NULL;
}

static inline struct oracle_tile *oracle_cell_tile(const struct oracle_cell *c)
{
	return (c->w & 7) == ORACLE_TILE_TAG
		       ? (struct oracle_tile *)(uintptr_t)(c->w - ORACLE_TILE_TAG)
		       : NULL;
}

static inline struct oracle_narrow *oracle_cell_narrow(const struct oracle_cell *c)
{
	return (c->w & 15) == ORACLE_NARROW_TAG
		       ? (struct oracle_narrow *)(uintptr_t)(c->w - ORACLE_NARROW_TAG)
		       : NULL;
}

static inline uint64_t oracle_of_records(const struct oracle_ext *e)
{
	return (uintptr_t)e | ORACLE_RECORDS_TAG;
}

static inline uint64_t oracle_of_strip(const struct oracle_strip *s)
{
	return (uintptr_t)s | ORACLE_STRIP_TAG;
}

static inline uint64_t oracle_of_tile(const struct oracle_tile *t)
{
	return (uintptr_t)t | ORACLE_TILE_TAG;
}

static inline uint64_t oracle_of_narrow(const struct oracle_narrow *x)
{
	return (uintptr_t)x | ORACLE_NARROW_TAG;
}

/* A list of words (form_tile.c) that an access has made lately, of which, by its serial number (0:
 * of none); to NULL: free. */
struct oracle_last_tile {
	uint64_t from;
	struct oracle_tile *to;
	uint32_t actor, epoch, site;
};
#define ORACLE_LAST_TILES 128u	/* by a hash */
#define ORACLE_SAME_TILES 1024u /* lists, by a hash of what is in them */

#endif
