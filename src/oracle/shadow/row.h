/*
 * row.h - what row.c, alike.c and form_readers.c share: the clock of a row, and words that are
 * alike.
 */
#ifndef COLLIDER_ORACLE_SHADOW_ROW_H
#define COLLIDER_ORACLE_SHADOW_ROW_H

#include "oracle/shadow.h"

static inline bool oracle_is_nc_site(const struct oracle_now *n, uint32_t site)
{
	return oracle_site_at(n->o, site)->a.flags & ORACLE_NC;
}

/* Is the actor of the access's own grid, which is the group found last? */
static inline bool oracle_is_own_grid(const struct oracle_now *n, uint32_t actor)
{
	const struct oracle_group *g = oracle_group_of(n->o, n->actor);

	return g && g->is_grid && actor - g->first < g->n;
}

/* ---- the clock --------------------------------------------------------------------------- */

static inline void oracle_forget_leaf(struct oracle_now *n)
{
	n->leaf_warp = ORACLE_NO_WARP;
	n->known = NULL;
	n->tile_before = NULL;
	n->alike[0].key = n->alike[1].key = 0;
	n->alike_set = NULL;
}

/* After oracle_word_full: pairs of sites may have other places, and clocks may have changed. */
static inline void oracle_forget_pairs(struct oracle_now *n)
{
	n->alike[0].is_asked = n->alike[1].is_asked = false;
	n->alike_set = NULL;
	if (!n->has_communicated && !n->o->opt.has_late_writes)
		return;
	n->has_communicated = false;
	n->leaf_clock = NULL;
	oracle_forget_leaf(n);
}

static inline void oracle_use_clock(struct oracle_now *n, const struct oracle_clock *clock)
{
	n->clock = clock;
	if (n->leaf_clock == clock)
		return;
	n->leaf_clock = clock;
	oracle_forget_leaf(n);
}

/* Before anything is done with rows of this kind. */
static inline void oracle_row_prepare(struct oracle_now *n, struct oracle_row *row)
{
	uint64_t fences = oracle_fences_of(n->o, row->clock);

	row->site = fences ? oracle_site(n->o, n->acc, fences) : n->site;
	n->is_fast = !row->is_mask && row->shift <= 4;
	n->can_be_at_once = !row->is_mask && !oracle_is_narrow(row->shift) &&
			    oracle_can_pack(row->own, row->site);
}

static inline void oracle_row_use(struct oracle_now *n, const struct oracle_row *row)
{
	n->t = row->t;
	n->actor = row->actor;
	oracle_use_clock(n, row->clock);
}

/* ---- the lanes of a packed access ---------------------------------------------------------- */

struct oracle_lanes {
	uint32_t warp, mask;
	uint32_t shift; /* ORACLE_BYTES, ORACLE_HALVES, or 0 for lanes that all access all of it */
};

static inline struct oracle_lanes oracle_packed_lanes(const struct oracle *o, uint64_t p)
{
	uint32_t actor = oracle_packed_actor(p);
	uint32_t bytes = oracle_site_at(o, oracle_packed_site(p))->a.bytes;
	struct oracle_lanes x = {.warp = actor & ~31u};

	if (!oracle_is_of_lanes(p)) {
		x.mask = 1u << (actor & 31);
	} else if (bytes >= 4) {
		x.mask = oracle_node_lanes(actor & 31);
	} else {
		x.shift = bytes == 1 ? ORACLE_BYTES : ORACLE_HALVES;
		x.mask = oracle_lanes_of(x.shift, actor);
	}
	return x;
}

/* ---- sets of readers ----------------------------------------------------------------------- */

/* New readers are compared with the last few. */
static inline uint32_t oracle_set_look_from(const struct oracle *o, const struct oracle_readers *s)
{
	uint32_t last = o->opt.is_tiny ? 2 : 8;

	return s->n > last ? s->n - last : 0;
}

/* So many are sorted, to find those that later ones represent. */
static inline uint32_t oracle_sort_from(const struct oracle *o)
{
	return o->opt.is_tiny ? 2 : 64;
}

static inline uint32_t oracle_set_next_cap(uint32_t cap)
{
	return cap + (cap < 4 ? 2 : cap / 2);
}

size_t oracle_set_bytes(uint32_t cap, bool is_packed);
/* form_readers.c: there is room for one more, or the oldest half is dropped and counted. */
void oracle_set_limit(struct oracle_now *n, struct oracle_readers *s);
/* form_singles.c: the packed read p joins those of a cell's packed set. false: it doesn't fit. */
bool oracle_singles_add(struct oracle_now *n, struct oracle_cell *c, uint64_t p);
/* A reader as a packed read, or 0. */
uint64_t oracle_single_of(const struct oracle_reader *r);
/* The cell's set becomes a packed one of these. false: they don't fit. */
bool oracle_singles_make(struct oracle_now *n, struct oracle_cell *c,
			 const struct oracle_reader r[2]);
/* The cell's set of masks becomes a packed one. false: they don't fit. */
bool oracle_singles_pack(struct oracle_now *n, struct oracle_cell *c);
/* Another packed set of the same reads. */
struct oracle_readers *oracle_singles_copy(struct oracle *o, const struct oracle_readers *old);
/* As oracle_set_is_alike, of a packed set without read-only loads. */
bool oracle_singles_are_alike(struct oracle_now *n, const struct oracle_row *row,
			      const struct oracle_readers *s, uint32_t word,
			      const struct oracle_repeat **pair);
/* The cell's packed set becomes one of masks. */
struct oracle_readers *oracle_singles_unpack(struct oracle *o, struct oracle_cell *c);

/* ---- words that are alike ---------------------------------------------------------------- */

#define ORACLE_KEPT_READERS 32u /* of a word that races: each of its writes looks at all of them */

enum oracle_look {
	ORACLE_LOOK_FULL /* look at it in full */,
	ORACLE_LOOK_BEFORE,
	ORACLE_LOOK_COUNTED
};

/* Is the row's race with a packed access a pair sighted so often? Then it is counted. */
bool oracle_is_packed_counted(struct oracle_now *n, const struct oracle_row *row, uint64_t p,
			      uint64_t least);
/* What the row is to accesses that are alike: those of p's warp, epoch and site. */
void oracle_alike_fill(struct oracle_now *n, const struct oracle_row *row, struct oracle_alike *a,
		       uint64_t p);
/* Is the race of the row with the accesses that are alike of a pair sighted so often? */
bool oracle_is_alike_counted(struct oracle_now *n, const struct oracle_row *row,
			     struct oracle_alike *a, uint64_t least);

/* Is a packed access before the row's, or is their race one of a pair sighted so often? Words of a
 * row mostly have accesses of one warp, epoch and site. */
static inline enum oracle_look oracle_look_at(struct oracle_now *n, const struct oracle_row *row,
					      struct oracle_alike *a, uint64_t p, uint32_t word,
					      uint64_t least)
{
	uint32_t actor = oracle_packed_actor(p);

	if (!n->is_fast)
		return ORACLE_LOOK_FULL;
	if (oracle_but_lane(p) != a->key || a->row != row->site)
		oracle_alike_fill(n, row, a, p);
	if (!a->is_simple)
		return ORACLE_LOOK_FULL;
	if (actor == oracle_row_actor(row, word) ||
	    (a->leaf ? a->leaf[actor & 31] : a->value) >= a->epoch)
		return ORACLE_LOOK_BEFORE;
	return oracle_is_alike_counted(n, row, a, least) ? ORACLE_LOOK_COUNTED : ORACLE_LOOK_FULL;
}

/* How many words from the first on have reads that differ in no more than the lane of packed ones.
 * *words: and writes. */
uint32_t oracle_alike_run(const struct oracle_cell *c, uint32_t len, uint32_t *words);
/* The words, whose accesses are alike, become the row's write. false: nothing is done. */
bool oracle_write_at_once(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			  uint32_t word, uint32_t len);
/* The row reads the words, whose accesses are alike. false: nothing is done. */
bool oracle_read_at_once(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			 uint32_t word, uint32_t len);

#endif
