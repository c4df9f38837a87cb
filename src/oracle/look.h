/*
 * look.h - look-ups whose usual case needs no call: the cells of words, the site of an access.
 */
#ifndef COLLIDER_ORACLE_LOOK_H
#define COLLIDER_ORACLE_LOOK_H

#include "oracle/types.h"

/* ---- cell.c ---------------------------------------------------------------------------------- */

/* The region of the address, if it is in the cache. */
static inline struct oracle_region *oracle_region_near(const struct oracle *o, uint64_t address)
{
	uint64_t key = address >> ORACLE_REGION_SHIFT;
	struct oracle_region *r = o->region_cache[key % ORACLE_REGION_CACHE];

	return r && r->key == key ? r : NULL;
}

/* How many bits are set. (Without the instruction, which not each host has, the compiler calls a
 * function.) */
static inline uint32_t oracle_count_bits(uint64_t x)
{
	x -= x >> 1 & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
	return (uint32_t)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* The place of the one with this bit among those that are there. */
static inline uint32_t oracle_place_of(uint64_t there, uint32_t bit)
{
	return there == UINT64_MAX ? bit : oracle_count_bits(there & ((1ull << bit) - 1));
}

static inline uint32_t oracle_page_number(uint64_t address)
{
	return address >> ORACLE_PAGE_SHIFT & (ORACLE_REGION_PAGES - 1);
}

static inline uint32_t oracle_word_bit(uint64_t address)
{
	return address >> 2 & (ORACLE_PAGE_WORDS - 1);
}

/* The page of the address, if it has all cells and is found at once. */
static inline struct oracle_page *oracle_page_near(const struct oracle *o, uint64_t address)
{
	const struct oracle_region *r = oracle_region_near(o, address);
	uint32_t bit = oracle_page_number(address);

	/* Without a look at the page, whose head is another line of the cache than the cell. */
	return r && r->full >> bit & 1 ? r->page[bit] : NULL;
}

/* The cells of n words of one page; they stay in place until others of the page are made. */
static inline struct oracle_cell *oracle_cells_at(struct oracle *o, uint64_t address, uint32_t n)
{
	struct oracle_page *p = oracle_page_near(o, address);

	return p ? &p->cell[oracle_word_bit(address)] : oracle_cells_make(o, address, n);
}

static inline struct oracle_cell *oracle_cell_at(struct oracle *o, uint64_t address, bool is_made)
{
	struct oracle_page *p = oracle_page_near(o, address);

	if (p)
		return &p->cell[oracle_word_bit(address)];
	return is_made ? oracle_cells_make(o, address, 1) : oracle_cell_find(o, address);
}

/* form_strip.c: the word leaves its strip, and nothing of that is kept. */
void oracle_strip_leave(struct oracle *o, struct oracle_cell *c);
/* form_tile.c: the same of its tile. */
void oracle_tile_leave(struct oracle *o, struct oracle_cell *c);
/* form_narrow.c: nothing of its bytes is kept. */
void oracle_narrow_leave(struct oracle *o, struct oracle_cell *c);

/* ---- oracle.c -------------------------------------------------------------------------------- */

#define ORACLE_SITE_FLAGS ((uint8_t) ~(ORACLE_SAW | ORACLE_SAW_LAST))

static inline bool oracle_is_site_of(const struct oracle_site *s, const struct oracle_acc *acc,
				     uint64_t fences)
{
	return s->a.inst == acc->inst && s->a.bytes == acc->bytes && s->a.kind == acc->kind &&
	       s->a.strength == acc->strength && s->a.scope == acc->scope &&
	       s->a.proxy == acc->proxy && s->a.flags == (acc->flags & ORACLE_SITE_FLAGS) &&
	       s->a.fences == fences;
}

/* Where the last one of the instruction is kept. */
static inline struct oracle_site **oracle_last_site(struct oracle *o, const struct oracle_acc *acc,
						    uint64_t fences)
{
	uintptr_t inst = (uintptr_t)acc->inst;

	return &o->last_sites[(inst + (fences != 0)) * 0x9e3779b97f4a7c15ull >> 32 &
			      (ORACLE_LAST_SITES - 1)];
}

/* The number of the attributes that the access shares with others; `fences`: a tree of those before
 * it. ORACLE_NO_SITE: there are too many with fences. */
static inline uint32_t oracle_site(struct oracle *o, const struct oracle_acc *acc, uint64_t fences)
{
	const struct oracle_site *s = *oracle_last_site(o, acc, fences);

	return s && oracle_is_site_of(s, acc, fences) ? s->index : oracle_site_find(o, acc, fences);
}

static inline const struct oracle_site *oracle_site_at(const struct oracle *o, uint32_t site)
{
	return o->sites.v[site];
}

/* ---- fence_sc.c ------------------------------------------------------------------------------ */

/* The fence.sc's before what the clock knows, if their order is that of communication. */
static inline uint64_t oracle_fences_of(const struct oracle *o, const struct oracle_clock *c)
{
	return o->opt.sc == ORACLE_SC_PROGRAM ? c->root[ORACLE_FENCES] : 0;
}

static inline bool oracle_has_fences(const struct oracle_ext *e)
{
	const struct oracle_bytes *x = e->bytes;

	return x && (x->fences[0] || x->fences[1] || x->fences[2] || x->fences[3]);
}

/* ---- word.c ---------------------------------------------------------------------------------- */

static inline enum oracle_class oracle_class_of(const struct oracle_site *s)
{
	if (s->a.strength != RACE_WEAK)
		return ORACLE_STRONG;
	return s->a.kind & RACE_OP_WRITE ? ORACLE_WRITES : ORACLE_READS;
}

/* The list (or NULL) changes: what it remembered about its order no longer holds. */
static inline void oracle_list_touch(struct oracle *o, struct oracle_list *l)
{
	if (!l || !l->known_to)
		return;
	oracle_clock_unref(&o->pool, l->known_to);
	l->known_to = NULL;
}

#endif
