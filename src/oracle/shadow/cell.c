/*
 * cell.c - where the words of memory are, and the memory of their shadow.
 *
 * A region of 16 KiB holds pages of 256 bytes, made on first access: 16 bytes for each word
 * accessed, or for all of a page's words once half of them are. Memory is freed as soon as it isn't
 * needed: that of the shared memory of a block that has ended, and of records that were superseded.
 * Small pieces come from lists by size, and go back to these; they stay the oracle's until its end.
 * stats.shadow_bytes is the most that was held at a time, with what the C library takes for each
 * larger piece. A page counts with its share of a full region's table, not the table: in how many
 * regions memory lies depends on its address. So does in how many pages: of host memory, which lies
 * elsewhere in each run, the bytes differ a little. Costs: a look-up in a small cache of regions.
 */
#include "oracle/look.h"

/* What is taken for this: the C library has a header of 8 bytes, in steps of 16. */
static size_t taken_for(size_t bytes)
{
	return bytes <= ORACLE_SMALL ? (bytes + ORACLE_PIECE - 1) & ~(size_t)(ORACLE_PIECE - 1)
				     : (bytes + 8 + 15) & ~(size_t)15;
}

static void count(struct oracle *o, size_t bytes)
{
	o->shadow_live += bytes;
	if (o->shadow_live > o->stats.shadow_bytes)
		o->stats.shadow_bytes = o->shadow_live;
}

static void count_taken(struct oracle *o, size_t bytes)
{
	count(o, taken_for(bytes));
}

struct oracle_piece {
	struct oracle_piece *next;
};

static struct oracle_piece **pieces_of(struct oracle *o, size_t bytes)
{
	return &o->pieces[(bytes + ORACLE_PIECE - 1) / ORACLE_PIECE];
}

/* AddressSanitizer is to see each piece. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define HAS_PIECES false
#else
#define HAS_PIECES true
#endif

static bool is_piece(size_t bytes)
{
	return HAS_PIECES && bytes <= ORACLE_SMALL;
}

#define REFILL 4160u /* bytes, about: four pages of cells */
#define LINE   64u   /* of a cache: pieces of whole lines lie in whole lines */

static struct oracle_piece *refill(struct oracle *o, size_t size)
{
	size_t n = size < REFILL ? REFILL / size : 1;
	uintptr_t at = (uintptr_t)base_alloc(&o->memory, n * size + LINE - ORACLE_PIECE);
	struct oracle_piece *first = NULL, *p;

	at = (at + LINE - 1) & ~(uintptr_t)(LINE - 1);
	while (n--) {
		p = (struct oracle_piece *)(at + n * size);
		p->next = first;
		first = p;
	}
	return first;
}

static void *take(struct oracle *o, size_t bytes)
{
	struct oracle_piece **list, *p;

	if (!is_piece(bytes))
		return base_malloc(bytes);
	list = pieces_of(o, bytes);
	p = *list;
	if (!p)
		p = refill(o, taken_for(bytes));
	*list = p->next;
	__builtin_prefetch(p->next);
	return p;
}

static void give(struct oracle *o, void *p, size_t bytes)
{
	struct oracle_piece **list, *piece = p;

	if (!is_piece(bytes)) {
		free(p);
		return;
	}
	list = pieces_of(o, bytes);
	piece->next = *list;
	*list = piece;
}

static void *take_zeroed(struct oracle *o, size_t bytes)
{
	return is_piece(bytes) ? memset(take(o, bytes), 0, bytes) : base_calloc(1, bytes);
}

void *oracle_mem_new(struct oracle *o, size_t bytes)
{
	count_taken(o, bytes);
	return take_zeroed(o, bytes);
}

void *oracle_mem_resize(struct oracle *o, void *p, size_t from, size_t to)
{
	void *q;

	if (p)
		o->shadow_live -= taken_for(from);
	count_taken(o, to);
	if (p && is_piece(from) && is_piece(to) && taken_for(from) == taken_for(to))
		return p;
	if (!p)
		return take(o, to);
	if (!is_piece(from) && !is_piece(to))
		return base_realloc(p, to);
	q = memcpy(take(o, to), p, from < to ? from : to);
	give(o, p, from);
	return q;
}

void oracle_mem_free(struct oracle *o, void *p, size_t bytes)
{
	if (!p)
		return;
	o->shadow_live -= taken_for(bytes);
	give(o, p, bytes);
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* A page's share of a region's table. */
#define SHARE ((sizeof(struct oracle_region) + ORACLE_REGION_PAGES - 1) / ORACLE_REGION_PAGES)

static struct oracle_region *region_at(struct oracle *o, uint64_t address, bool is_made)
{
	uint64_t key = address >> ORACLE_REGION_SHIFT;
	struct oracle_region *r = oracle_region_near(o, address);

	if (r)
		return r;
	HASH_FIND(hh, o->regions, &key, sizeof(key), r);
	if (!r && is_made) {
		r = take_zeroed(o, sizeof(*r));
		r->key = key;
		HASH_ADD(hh, o->regions, key, sizeof(r->key), r);
	}
	if (r)
		o->region_cache[key % ORACLE_REGION_CACHE] = r;
	return r;
}

/* Room for this many cells: some more than there are, or each new word would move all of them. */
static uint32_t page_room(uint32_t cells)
{
	uint32_t step = cells > 2 ? 1u << (30 - __builtin_clz(cells)) : 1;

	return (cells + step - 1) & ~(step - 1);
}

/* Without a count of bits for most pages. */
static uint32_t bits_of(uint64_t words)
{
	return words == UINT64_MAX ? ORACLE_PAGE_WORDS : oracle_count_bits(words);
}

static size_t page_bytes(uint64_t words)
{
	uint32_t room = words ? page_room(bits_of(words)) : 0;

	return sizeof(struct oracle_page) + room * sizeof(struct oracle_cell);
}

struct oracle_page *oracle_page_at(struct oracle *o, uint64_t address)
{
	const struct oracle_region *r = region_at(o, address, false);

	return r ? r->page[oracle_page_number(address)] : NULL;
}

uint32_t oracle_page_cells(const struct oracle_page *p)
{
	return bits_of(p->words);
}

/* Gives the page cells for these words, too. */
static struct oracle_page *page_grow(struct oracle *o, struct oracle_page *p, uint64_t more)
{
	uint64_t old = p->words, words = old | more;
	size_t from = page_bytes(old), to;
	uint32_t end = oracle_count_bits(old), n;

	/* A warp's row is half of a page: the other half mostly follows. */
	if (oracle_count_bits(words) >= ORACLE_PAGE_WORDS / 2)
		words = UINT64_MAX;
	to = page_bytes(words);
	if (from != to)
		p = oracle_mem_resize(o, p, from, to);
	p->words = words;
	more = words & ~old;
	n = oracle_count_bits(more);
	/* From the last one on: none comes before its old place. */
	for (; more; n--) {
		uint32_t bit = 63u - (uint32_t)__builtin_clzll(more),
			 at = oracle_place_of(old, bit);
		memmove(&p->cell[at + n], &p->cell[at], (end - at) * sizeof(p->cell[0]));
		p->cell[at + n - 1] = (struct oracle_cell){0};
		end = at;
		more &= ~(1ull << bit);
	}
	return p;
}

struct oracle_cell *oracle_cells_make(struct oracle *o, uint64_t address, uint32_t n)
{
	struct oracle_region *r = region_at(o, address, true);
	struct oracle_page **p = &r->page[oracle_page_number(address)];
	uint32_t first = oracle_word_bit(address);
	uint64_t words = (n == 64 ? UINT64_MAX : (1ull << n) - 1) << first;

	if (!*p) {
		bool is_full = n >= ORACLE_PAGE_WORDS / 2;
		count(o, SHARE);
		*p = oracle_mem_new(o, page_bytes(is_full ? UINT64_MAX : 0));
		(*p)->words = is_full ? UINT64_MAX : 0;
		r->pages |= 1ull << oracle_page_number(address);
		r->full |= (uint64_t)is_full << oracle_page_number(address);
	}
	if (words & ~(*p)->words) {
		*p = page_grow(o, *p, words);
		r->full |= (uint64_t)((*p)->words == UINT64_MAX) << oracle_page_number(address);
	}
	return &(*p)->cell[oracle_place_of((*p)->words, first)];
}

/* Frees a page whose words have been forgotten. */
void oracle_page_free(struct oracle *o, uint64_t address)
{
	struct oracle_region *r = region_at(o, address, false);
	uint32_t at = oracle_page_number(address);

	oracle_mem_free(o, r->page[at], page_bytes(r->page[at]->words));
	o->shadow_live -= SHARE;
	r->page[at] = NULL;
	r->pages &= ~(1ull << at);
	r->full &= r->pages;
	if (r->pages)
		return;
	HASH_DEL(o->regions, r);
	o->region_cache[r->key % ORACLE_REGION_CACHE] = NULL;
	give(o, r, sizeof(*r));
}

struct oracle_cell *oracle_cell_find(struct oracle *o, uint64_t address)
{
	struct oracle_page *p = oracle_page_at(o, address);
	uint32_t bit = oracle_word_bit(address);

	return p && p->words >> bit & 1 ? &p->cell[oracle_place_of(p->words, bit)] : NULL;
}

/* ---- cells --------------------------------------------------------------------------------- */

void oracle_cell_clear(struct oracle *o, struct oracle_cell *c)
{
	if (oracle_is_set(c->r))
		oracle_readers_unref(o, (struct oracle_readers *)(uintptr_t)c->r, 1);
	if (c->w | c->r)
		o->words--;
	if (oracle_cell_log(c))
		oracle_log_free(o, c);
	else if (oracle_cell_strip(c))
		oracle_strip_leave(o, c);
	else if (oracle_cell_tile(c))
		oracle_tile_leave(o, c);
	else if (oracle_cell_narrow(c))
		oracle_narrow_leave(o, c);
	c->w = c->r = 0;
}
