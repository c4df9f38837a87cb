/*
 * shadow.h - what access.c and row.c share: the access being checked.
 */
#ifndef COLLIDER_ORACLE_SHADOW_H
#define COLLIDER_ORACLE_SHADOW_H

#include "oracle/look.h"

#define ORACLE_PLAIN_BYTES 0xfu

/* The members of a set of readers: records, or 8 bytes each for single lanes (form_singles.c). */
static inline uint64_t *oracle_singles_of(struct oracle_readers *s)
{
	return (uint64_t *)(void *)s->v;
}

static inline uint64_t oracle_single_at(const struct oracle_readers *s, uint32_t i)
{
	return ((const uint64_t *)(const void *)s->v)[i];
}

static inline struct oracle_reader oracle_reader_at(const struct oracle_readers *s, uint32_t i)
{
	uint64_t p;

	if (!s->is_packed)
		return s->v[i];
	p = oracle_single_at(s, i);
	return (struct oracle_reader){.actor = oracle_packed_actor(p) & ~31u,
				      .epoch = oracle_packed_epoch(p),
				      .at = 1u << (oracle_packed_actor(p) & 31),
				      .site = oracle_packed_site(p) &
					      ((1u << ORACLE_SITE_BITS) - 1),
				      .is_mask = 1};
}

/* What a warp accesses with four bytes a lane: the words of such a piece are mostly alike. */
#define ORACLE_ROW_BYTES 128u

static inline bool oracle_is_narrow(uint32_t shift)
{
	return shift == ORACLE_BYTES || shift == ORACLE_HALVES;
}

/* log2 of the lanes that share a word. */
static inline uint32_t oracle_narrowness(uint32_t shift)
{
	return shift == ORACLE_BYTES ? 2 : shift == ORACLE_HALVES ? 1 : 0;
}

/* Actors of consecutive lanes have consecutive numbers: how much higher than the row's first actor
 * is the (first) actor of the word `at` words after its first word? */
static inline uint32_t oracle_actor_after(uint32_t shift, uint32_t at)
{
	return oracle_is_narrow(shift) ? at << oracle_narrowness(shift) : at >> shift;
}

/* The lanes, of the warp of `first`, that access a word whose first actor is `first`. */
static inline uint32_t oracle_lanes_of(uint32_t shift, uint32_t first)
{
	return ((1u << (1u << oracle_narrowness(shift))) - 1) << (first & 31);
}

/* Packed accesses of one warp, epoch and site, as a row sees them (row.c). */
struct oracle_alike {
	uint64_t key; /* 0: none */
	uint32_t row; /* the row's site */
	bool is_simple;
	uint32_t epoch, value;
	const uint32_t *leaf;		  /* what the clock knows of the warp, or `value` */
	bool is_asked;			  /* the pair has been looked up */
	const struct oracle_repeat *pair; /* NULL: a race with them must be found anew */
};

struct oracle_now {
	struct oracle *o;
	struct oracle_thread *t;
	const struct oracle_clock *clock;
	uint32_t actor, warp; /* warp: of oracle_shadow_warp */
	const struct oracle_acc *acc;
	uint32_t site, family;
	uint64_t address, bytes; /* of all of the access */
	uint64_t word;		 /* the word being checked */
	uint32_t mask;		 /* its bytes */
	uint32_t place;		 /* oracle_place_key of strong ones */
	struct oracle_chain *chain;
	uint32_t pos;
	bool is_range, is_pseudo, is_nothing_new /* oracle_word_full */;
	bool is_none_spent;    /* of the reads, which the access is added to */
	bool has_communicated; /* oracle_word_full has changed a clock, perhaps */
	/* What `clock` knows of the warp looked up last (row.c). */
	const struct oracle_clock *leaf_clock;
	uint32_t leaf_warp, leaf_value;
	const uint32_t *leaf;
	const struct oracle_readers *known;    /* all of these are known to leaf_clock */
	const struct oracle_tile *tile_before; /* this list is before a row with leaf_clock */
	/* The pair of sites that was looked up last (row.c), and its families. */
	const struct oracle_repeat *pair;
	uint32_t pair_first, pair_second, pair_families[2];
	/* The packed write and read that the row met last: a word with equal ones has the same
	 * answer (where can_be_at_once). */
	struct oracle_alike alike[2];
	/* A set of readers that has one answer for each word of a row of the site alike_row: all
	 * are ordered before it, or (alike_pair) a pair is counted. has_alike_own: the set has
	 * lanes of the row's own warp, so the answer holds for words of lanes alike_lanes only. */
	const struct oracle_readers *alike_set;
	const struct oracle_repeat *alike_pair;
	uint32_t alike_row, alike_lanes;
	bool has_alike_own, is_fast, can_be_at_once;
};

#define ORACLE_NO_WARP UINT32_MAX

/* Begins an access. Sets only the fields that are read before they are written: zeroing all of *n
 * costs as much as a simple access. */
static inline void oracle_now_begin(struct oracle_now *n, struct oracle *o,
				    const struct oracle_acc *acc)
{
	n->o = o;
	n->t = NULL;
	n->clock = n->leaf_clock = NULL;
	n->actor = n->mask = n->place = n->pos = 0;
	n->acc = acc;
	n->site = oracle_site(o, acc, 0);
	n->family = o->families.v[n->site];
	n->address = n->word = 0;
	n->bytes = acc->bytes;
	n->chain = NULL;
	n->is_range = acc->bytes > 64;
	n->is_pseudo = n->is_nothing_new = n->is_none_spent = n->has_communicated = false;
	n->leaf_warp = ORACLE_NO_WARP;
	n->leaf = NULL;
	n->known = NULL;
	n->tile_before = NULL;
	n->pair = NULL;
	for (unsigned i = 0; i < 2; i++) {
		n->alike[i].key = 0;
		n->alike[i].is_asked = false;
		n->alike[i].pair = NULL;
	}
	n->alike_set = NULL;
	n->is_fast = n->can_be_at_once = false;
}

/* A pair of sites whose race has been found, so that another one only adds to a count. struct
 * oracle has ORACLE_REPEATS of them, by a hash. */
struct oracle_repeat {
	uint32_t first, second;
	enum oracle_kind kind;
	uint64_t *count; /* of the oracle's user, beside ours; NULL: the entry is free */
	uint64_t index;	 /* of our finding */
	bool is_same;	 /* only sightings of equal values are counted so (oracle_storing) */
};
#define ORACLE_REPEATS 4096u

/*
 * A known pair is only counted where that forgets nothing: for whole rows at once. After this many
 * sightings it is only counted, too, where the write replaces the write with which it races. The
 * history is shorter then, and what races with a part of a history races with all of it; other
 * pairs of the replaced write may be missed.
 */
#define ORACLE_HOT 1000u

/* Consecutive words that one actor, or consecutive lanes, access with one clock. */
struct oracle_row {
	struct oracle_thread *t; /* of the actor */
	uint32_t actor;		 /* of the first word; is_mask: of lane 0 */
	uint32_t own;		 /* the epoch of all */
	uint32_t site;		 /* with the fences before it; made by oracle_row_access */
	const struct oracle_clock *clock;
	uint32_t lanes; /* is_mask: all of these access all of the words */
	uint32_t shift; /* log2 of the words of a lane; ORACLE_ONE_ACTOR ... */
	uint32_t nwords;
	uint64_t address, start; /* of the first word; of the access of its actor */
	bool is_mask;
};

/* The entry of a pair of sites among those that are only counted. Sites become families: sites of
 * one line, whatever fences come before them. */
static inline struct oracle_repeat *oracle_repeat_at(struct oracle *o, uint32_t *first,
						     uint32_t *second, enum oracle_kind kind)
{
	*first = o->families.v[*first];
	*second = o->families.v[*second];
	uint32_t hash = *first * 0x9e3779b9u ^ (*second + (uint32_t)kind) * 0x85ebca6bu;
	return &o->repeats[(hash ^ hash >> 15) % ORACLE_REPEATS];
}

/* The pair's entry, if it is one of those that are only counted, or NULL. */
static inline const struct oracle_repeat *oracle_repeat_of(struct oracle *o, uint32_t first,
							   uint32_t second, enum oracle_kind kind)
{
	const struct oracle_repeat *x = oracle_repeat_at(o, &first, &second, kind);

	return x->count && x->first == first && x->second == second && x->kind == kind ? x : NULL;
}

/* Is the pair only counted, whatever its values are, and was it sighted at least `least` times? */
static inline bool oracle_is_repeated(struct oracle *o, uint32_t first, uint32_t second,
				      uint64_t least, enum oracle_kind kind)
{
	const struct oracle_repeat *x = oracle_repeat_of(o, first, second, kind);

	return x && !x->is_same && o->findings.v[x->index].count >= least;
}

/* Does the store of the actor `by`, which is being judged, put the value that an access of this
 * site by that actor has left? Lanes are judged in turn: those before `by` have stored just now. */
static inline bool oracle_is_stored_same(const struct oracle *o, uint32_t site, uint32_t actor,
					 uint32_t by)
{
	const struct oracle_stored *s = &o->stored;
	uint32_t lane = actor - s->warp;

	if (!s->inst || oracle_site_at(o, site)->a.inst != s->inst)
		return false;
	return s->is_there ||
	       (s->is_one && actor < by && lane < ORACLE_LANES && s->mask >> lane & 1);
}

/* Another sighting of such a pair. */
static inline void oracle_count_pair(struct oracle *o, const struct oracle_repeat *x)
{
	o->races++;
	o->findings.v[x->index].count++;
	++*x->count;
}

static inline void oracle_count(struct oracle *o, uint32_t first, uint32_t second)
{
	oracle_count_pair(o, oracle_repeat_at(o, &first, &second, ORACLE_RACE));
}

#define ORACLE_OFF_RANGE (-128)

/* spent.c: a record that has raced this often is spent. */
#define ORACLE_RACED_MAX 256u

static inline bool oracle_is_spent(const struct oracle_rec *r)
{
	return r->raced == ORACLE_RACED_MAX;
}

/* The list's records are moved or taken out: where the spent ones are isn't known. */
static inline void oracle_spent_unknown(struct oracle_list *l)
{
	l->spent.n = ORACLE_SPENT_UNKNOWN;
}

/* The record at `at` is spent, and comes after those noted so far. */
static inline void oracle_spent_note(struct oracle_list *l, uint32_t at)
{
	if (l->spent.n < ORACLE_SPENT_PLACES && at < UINT16_MAX)
		l->spent.at[l->spent.n++] = (uint16_t)at;
	else
		l->spent.n = ORACLE_SPENT_MANY;
}

/* The record at `at` is taken out, and those after it move down. */
void oracle_spent_removed(struct oracle_list *l, uint32_t at);
/* Has a race between a line of x and that of the access been found? */
bool oracle_is_pair_known(const struct oracle_now *n, const struct oracle_site *x);
/* The family and bytes of an access, as a list remembers them; 0: no room for its number. */
static inline uint32_t oracle_spent_key(const struct oracle_now *n)
{
	return n->family >> 28 ? 0 : n->family << 4 | n->mask;
}

/* Can the access find nothing new in the list: are all records spent, and their pairs with it
 * known? */
bool oracle_are_spent_now(const struct oracle_now *n, struct oracle_list *l);
static inline bool oracle_are_spent(const struct oracle_now *n, struct oracle_list *l)
{
	uint32_t key = oracle_spent_key(n);

	/* The same family, and no other bytes. */
	for (unsigned i = 0; i < 2; i++)
		if (key && (l->spent_for[i] | 0xf) == (key | 0xf) && !(key & ~l->spent_for[i]))
			return true;
	return oracle_are_spent_now(n, l);
}
/* Are all records spent and of the access's own line, so that a row may count them at once? */
bool oracle_are_hot(const struct oracle_now *n, const struct oracle_list *l);
/* May the i-th record be dropped: does the list keep enough others of its line and bytes, among the
 * first `kept` and after the i-th? */
bool oracle_has_others(const struct oracle *o, const struct oracle_list *l, uint32_t kept,
		       uint32_t i);
/* Stores the new access over a spent record of its line, if enough of them are left. It takes the
 * record whose actor has the nearest number, so that those left are of other warps or blocks. */
bool oracle_replace_spent(const struct oracle_now *n, struct oracle_list *l);

/* The lanes of its warp that a record covers. */
static inline uint32_t oracle_rec_lanes(const struct oracle_rec *r)
{
	return r->mask ? r->mask : 1u << (r->actor & 31);
}

static inline int8_t oracle_offset_of(const struct oracle_now *n)
{
	return n->is_range ? ORACLE_OFF_RANGE : (int8_t)(int64_t)(n->address - n->word);
}

/* Makes *r the record of the access, field by field: a copy of a whole record that was just written
 * in parts stalls on the processor's store buffer. */
static inline void oracle_rec_set(const struct oracle_now *n, struct oracle_rec *r)
{
	r->actor = n->actor;
	r->mask = 0;
	r->epoch = n->t->own;
	r->site = n->site;
	r->pos = n->pos;
	r->bytes = (uint8_t)n->mask;
	r->offset = oracle_offset_of(n);
	r->raced = 0;
	r->chain = n->chain;
}

/* The length from which on a list is compacted. */
static inline uint32_t oracle_compact_from(const struct oracle *o)
{
	return o->opt.is_tiny ? 3 : 16;
}

/* strong.c: is the strong access morally strong with each strong record of its bytes? in_place: of
 * their place, too. */
bool oracle_is_uniform_strong(const struct oracle_now *n, const struct oracle_ext *e);
bool oracle_is_in_place(const struct oracle_now *n, const struct oracle_ext *e);
/* Before one is added: of the last few records drops those that race with nothing with which the
 * new one doesn't race, and says whether all are uniform with it. */
void oracle_strong_begin(const struct oracle_now *n, struct oracle_ext *e);
/* Drops such records of all of the list, against one another; each time the list has doubled. */
void oracle_strong_compact(const struct oracle_now *n, struct oracle_list *l);

/* split.c: prefetches the records of all words that the lanes access, so that their cache misses
 * overlap. Returns how many words have records; e: the records. */
uint32_t oracle_fetch(struct oracle *o, uint32_t mask, const uint64_t *addresses,
		      const struct oracle_ext **e);
static inline void oracle_fetch_lists(const struct oracle_ext *e)
{
	/* The head and the first two records. */
	for (unsigned k = 0; k < ORACLE_CLASSES; k++) {
		if (!e->list[k])
			continue;
		__builtin_prefetch(e->list[k]);
		__builtin_prefetch(&e->list[k]->v[1]);
	}
}

/* sort.c: what a list is sorted by, and where it was. */
struct oracle_key {
	uint64_t high, low;
	uint32_t at;
};
void oracle_sort(struct oracle_key *v, uint32_t n);

/* chain.c: what one access has found out about a chain. The writes at positions before `seen` are
 * observed by one that comes before it, those from `unseen` on aren't. All zero: nothing. looked:
 * observations that it was compared with. */
struct oracle_sight {
	const struct oracle_chain *chain;
	uint32_t seen, unseen, looked;
};
/* Is an access of the actor after an observation of the write at `pos`? By the tree `read` if a
 * read made it, else by `rmw`. *x: the same access's, while the chain stays as it is. */
bool oracle_chain_is_seen(struct oracle_sight *x, const struct oracle_chain *c, uint32_t pos,
			  uint32_t actor, uint64_t read, uint64_t rmw);

/* word.c: records by class. */
void oracle_rec_drop(struct oracle *o, struct oracle_rec *r);
/* The place of one more record. */
struct oracle_rec *oracle_list_grow(struct oracle *o, struct oracle_list **at);
/* Back to the plain form if the plain write n, just made, is all that is left. */
void oracle_ext_shrink(const struct oracle_now *n, struct oracle_cell *c);
/* Adds it to its class's list. */
void oracle_rec_push(struct oracle *o, struct oracle_ext *e, const struct oracle_rec *r);
void oracle_list_push(struct oracle *o, struct oracle_list **at, const struct oracle_rec *r);
/* access.c: is the actor's access in that epoch before n, by its proxies, too? */
bool oracle_is_ordered(const struct oracle_now *n, uint32_t actor, uint32_t epoch,
		       const struct oracle_site *x);
/* A read-only load is kept for the writes of its grid while that runs. */
bool oracle_is_nc_kept(struct oracle *o, const struct oracle_site *x, uint32_t actor);
/* Checks the access to one word and stores it, in any form; n->word and n->mask are set. true: it
 * found nothing new, and neither would other lanes with the same clock and epoch, so of those only
 * the last one needs to be stored. */
bool oracle_word_full(struct oracle_now *n, struct oracle_cell *c);

/* gone.c: notes what a word forgets: a record; all of the list except for `kept`; a packed access;
 * lanes of a warp that make the access of n with the same clock. */
static inline void oracle_gone_rec(const struct oracle_now *n, const struct oracle_rec *r)
{
	struct oracle_actors a = {r->actor, r->mask ? r->mask : 1, r->epoch};

	oracle_gone_add(n->o, n->word, r->bytes, r->site, a);
}
void oracle_gone_others(const struct oracle_now *n, const struct oracle_list *l,
			const struct oracle_rec *kept);
static inline void oracle_gone_packed(struct oracle *o, uint64_t word, uint64_t p)
{
	struct oracle_actors a = {oracle_packed_actor(p), 1, oracle_packed_epoch(p)};

	oracle_gone_add(o, word, ORACLE_PLAIN_BYTES, oracle_packed_site(p), a);
}
void oracle_gone_lanes(const struct oracle_now *n, uint32_t warp, uint32_t lanes);

/* Of lanes that have the same answer the last one, which is stored for all; the others are counted
 * as spent and noted as forgotten. */
static inline uint32_t oracle_last_lane(const struct oracle_now *n, uint32_t warp, uint32_t lanes)
{
	uint32_t last;

	if (!lanes)
		return 0;
	last = 1u << (31 - __builtin_clz(lanes));
	n->o->stats.raced_out += (unsigned)__builtin_popcount(lanes) - 1;
	if (lanes != last)
		oracle_gone_lanes(n, warp, lanes & ~last);
	return last;
}

/* Lane l and those after it, up to the first whose address or clock is another. */
static inline uint32_t oracle_alike_from(const struct oracle_thread *t, uint32_t mask, uint32_t l,
					 const uint64_t *addresses)
{
	uint32_t same = 0;

	ORACLE_EACH (i, mask) {
		if (addresses[i] != addresses[l] || t[i].clock != t[l].clock ||
		    t[i].own != t[l].own || t[i].fence || t[i].pends)
			break;
		same |= 1u << i;
	}
	return same;
}

/* ---- row.c: the actors of a row's words, what its clock knows ---------------------- */

static inline uint32_t oracle_word_number(uint64_t address)
{
	return (uint32_t)(address >> 2);
}

static inline uint64_t oracle_row_word(const struct oracle_row *row, uint32_t word)
{
	return (row->address & ~3ull) + 4ull * (word - oracle_word_number(row->address));
}

/* The (first) actor of a word. */
static inline uint32_t oracle_row_actor(const struct oracle_row *row, uint32_t word)
{
	return row->actor + oracle_actor_after(row->shift, word - oracle_word_number(row->address));
}

static inline uint32_t oracle_reader_actor(const struct oracle_reader *r, uint32_t word)
{
	return r->actor + oracle_actor_after(r->shift, word - r->at);
}

static inline void oracle_look_up(struct oracle_now *n, uint32_t actor)
{
	if (n->leaf_warp == actor >> 5)
		return;
	n->leaf_warp = actor >> 5;
	n->leaf = oracle_tree_leaf(n->clock->root[ORACLE_HB], actor, &n->leaf_value);
}

static inline bool oracle_row_knows(struct oracle_now *n, uint32_t actor, uint32_t epoch)
{
	oracle_look_up(n, actor);
	return (n->leaf ? n->leaf[actor & 31] : n->leaf_value) >= epoch;
}

/* The same of all these lanes of a warp. */
bool oracle_row_knows_lanes(struct oracle_now *n, uint32_t warp, uint32_t lanes, uint32_t epoch);
/* `lanes` of the warp, without the lane that makes the row's access to the word, if it is the only
 * one that does. */
uint32_t oracle_row_others(const struct oracle_row *row, uint32_t word, uint32_t warp,
			   uint32_t lanes);
/* May the access replace a read that is ordered before it? */
bool oracle_row_may_replace(const struct oracle_now *n, uint32_t actor, uint32_t site);

/* Is the packed write ordered before the row's access to this word, or of the same actor? */
bool oracle_row_is_after(struct oracle_now *n, const struct oracle_row *row, uint64_t w,
			 uint32_t word);
/* Are all reads that a cell has in `r` ordered before the row's access? */
bool oracle_row_is_after_reads(struct oracle_now *n, const struct oracle_row *row, uint64_t r,
			       uint32_t word);

/* form_log.c: is all of the word's log ordered before the row's access? */
bool oracle_log_is_before(struct oracle_now *n, const struct oracle_row *row,
			  const struct oracle_cell *c, uint32_t word);

/* form_strip.c: strong accesses of a warp to neighbouring words; n->site and n->place are set.
 * false: nothing is done. */
bool oracle_strip_access(struct oracle_now *n, struct oracle_thread *t, uint32_t warp,
			 uint32_t mask, const uint64_t *addresses);
/* Is all of the strip ordered before the row's access to a word of it? */
bool oracle_strip_is_before(struct oracle_now *n, const struct oracle_row *row,
			    const struct oracle_cell *c, uint32_t word);
/* For a word that leaves the strip: the packed write that came before the strip, or 0; and the
 * strip's accesses as records in e. */
uint64_t oracle_strip_before(const struct oracle_cell *c, uint64_t word);
void oracle_strip_expand(struct oracle *o, struct oracle_strip *s, struct oracle_ext *e,
			 uint64_t word);

/* form_tile.c: may the access of n be stored once for many words? */
bool oracle_is_tiled(const struct oracle_now *n);
/* Checks and stores its part from `from` up to `to`, whole words. */
void oracle_tile_access(struct oracle_now *n, uint64_t from, uint64_t to);
/* As oracle_strip_is_before, oracle_strip_before and oracle_strip_expand. */
bool oracle_tile_is_before(struct oracle_now *n, const struct oracle_row *row,
			   const struct oracle_cell *c, uint32_t word);
uint64_t oracle_tile_before(const struct oracle_cell *c, uint64_t word);
void oracle_tile_expand(struct oracle *o, struct oracle_tile *t, struct oracle_ext *e);

/* form_narrow.c: checks and keeps a plain access of n->actor to a part of the word, n->mask. row:
 * for all such of n, of one word; without a clock at first, and after clocks have changed. false:
 * nothing is done. */
bool oracle_narrow_access(struct oracle_now *n, struct oracle_row *row, struct oracle_cell *c);
/* The cells of the bytes of such a word. */
struct oracle_cell *oracle_narrow_cells(const struct oracle_cell *c);
/* The row reads all of the word, or writes it: then the cell's w is empty. false: nothing is done,
 * as the row isn't after all that conflicts. */
bool oracle_narrow_row(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		       uint32_t word);
void oracle_narrow_free(struct oracle *o, struct oracle_narrow *x);

/* write.c, access.c: stores a strong access without comparing it with anything. */
void oracle_strong_again(struct oracle_now *n, struct oracle_ext *e);
void oracle_rec_add(const struct oracle_now *n, struct oracle_ext *e);

/* May the thread's accesses pass on nothing more than what it observes: has no fence come before
 * them, and no release? */
static inline bool oracle_is_simple_thread(const struct oracle *o, const struct oracle_thread *t)
{
	return !t->pends &&
	       (o->opt.sc != ORACLE_SC_PROGRAM || (!t->fence && !t->clock->root[ORACLE_FENCES]));
}

/* form_log.c: accesses of the lanes of `mask`, to the words of these cells, that logs can keep, in
 * turn. Returns the lanes that are done, the first ones; 0: none. No cell is made. */
uint32_t oracle_log_lanes(struct oracle_now *n, struct oracle_thread *t, uint32_t warp,
			  uint32_t mask, const uint64_t *addresses, struct oracle_cell *const *c);

/* form_readers.c: sets of readers that words share. */
struct oracle_reader oracle_reader_of(const struct oracle_row *row, uint32_t word);
/* Makes a set for `len` words from `word` on, of the readers `old` (no actor: none) and the row. */
void oracle_set_make(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		     uint32_t word, uint32_t len, const struct oracle_reader *old);
/* Adds the row to the set that `len` words from `word` on share. */
void oracle_set_add(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		    uint32_t word, uint32_t len);
/* Are all readers of the set ordered before the row's access to the word? */
bool oracle_set_is_before(struct oracle_now *n, const struct oracle_row *row,
			  struct oracle_readers *s, uint32_t word);
/* Has the set one answer for all words of the row, of which `word` is one: all readers are ordered
 * before the row's accesses (*pair: NULL), or those that aren't are of one line, and their races
 * with it are only counted (*pair)? */
bool oracle_set_is_alike(struct oracle_now *n, const struct oracle_row *row,
			 const struct oracle_readers *s, uint32_t word,
			 const struct oracle_repeat **pair);
/* Counts the races with the readers that aren't ordered before the row's access, if all of them are
 * pairs that are only counted; else false. */
bool oracle_set_count(struct oracle_now *n, const struct oracle_row *row,
		      const struct oracle_readers *s, uint32_t word);

/* row.c: the row reads the word of this cell, whose write is before it, or none. */
void oracle_row_read_word(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			  uint32_t word);
/* May the access be stored in a cell, without records? */
bool oracle_is_plain(const struct oracle_now *n);
/* Checks and stores a plain access of whole words. */
void oracle_row_access(struct oracle_now *n, struct oracle_row *row);
/* Accesses of the lanes of `mask`, row->nwords each; of reads no two of the same words. row->t and
 * actor are lane 0's, own and clock those of the first of `mask`. Returns the lanes that are done,
 * the first ones of `mask`; the next lane needs oracle_row_access. */
uint32_t oracle_lanes_access(struct oracle_now *n, struct oracle_row *row, uint32_t mask,
			     const uint64_t *addresses);

#endif
