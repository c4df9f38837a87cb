/*
 * cell.c - where the words of memory are, and the memory of their shadow.
 *
 * A region of 16 KiB holds pages of 256 bytes, made on first access: 16 bytes for each word
 * accessed, or for all of a page's words once half of them are. All memory comes from the C library
 * and is freed as soon as it isn't needed: that of the shared memory of a block that has ended, and
 * of records that were superseded. stats.shadow_bytes is the most that was held at a time, with
 * what the library itself takes for each piece. Costs: a look-up in a small cache of regions.
 */
#include "oracle/impl.h"

/* What the C library uses for this: a header of 8 bytes, in steps of 16. */
static size_t taken_for(size_t bytes)
{
	return bytes <= 24 ? 32 : (bytes + 8 + 15) & ~(size_t)15;
}

static void count_taken(struct oracle *o, size_t bytes)
{
	o->shadow_live += taken_for(bytes);
	if (o->shadow_live > o->stats.shadow_bytes)
		o->stats.shadow_bytes = o->shadow_live;
}

#define SMALL 1024u

void *oracle_mem_new(struct oracle *o, size_t bytes)
{
	/* The C library's calloc doesn't look where it keeps small pieces just freed. */
	void *p = bytes <= SMALL ? memset(base_malloc(bytes), 0, bytes) : base_calloc(1, bytes);

	count_taken(o, bytes);
	return p;
}

void *oracle_mem_resize(struct oracle *o, void *p, size_t from, size_t to)
{
	if (p)
		o->shadow_live -= taken_for(from);
	p = base_realloc(p, to);
	count_taken(o, to);
	return p;
}

void oracle_mem_free(struct oracle *o, void *p, size_t bytes)
{
	if (!p)
		return;
	o->shadow_live -= taken_for(bytes);
	free(p);
}

/* ---- pages ---------------------------------------------------------------------------------- */

static struct oracle_region *region_at(struct oracle *o, uint64_t address, bool is_made)
{
	uint64_t key = address >> ORACLE_REGION_SHIFT;
	struct oracle_region **at = &o->region_cache[key % ORACLE_REGION_CACHE], *r = *at;

	if (r && r->key == key)
		return r;
	HASH_FIND(hh, o->regions, &key, sizeof(key), r);
	if (!r && is_made) {
		r = oracle_mem_new(o, sizeof(*r));
		r->key = key;
		HASH_ADD(hh, o->regions, key, sizeof(r->key), r);
	}
	if (r)
		*at = r;
	return r;
}

/* The place of the one with this bit among those that are there. */
static uint32_t place_of(uint64_t there, uint32_t bit)
{
	uint64_t below = there & ((1ull << bit) - 1);

	return there == UINT64_MAX ? bit : (uint32_t)__builtin_popcountll(below);
}

static uint32_t page_number(uint64_t address)
{
	return address >> ORACLE_PAGE_SHIFT & (ORACLE_REGION_PAGES - 1);
}

static struct oracle_page **page_find(const struct oracle_region *r, uint64_t address)
{
	uint32_t bit = page_number(address);

	return r && r->pages >> bit & 1 ? &r->page[place_of(r->pages, bit)] : NULL;
}

static size_t pointers(uint64_t pages)
{
	return (size_t)__builtin_popcountll(pages) * sizeof(struct oracle_page *);
}

/* Room for this many cells: some more than there are, or each new word would move all of them. */
static uint32_t page_room(uint32_t cells)
{
	uint32_t step = cells > 2 ? 1u << (30 - __builtin_clz(cells)) : 1;

	return (cells + step - 1) & ~(step - 1);
}

static size_t page_bytes(uint64_t words)
{
	uint32_t room = words ? page_room((uint32_t)__builtin_popcountll(words)) : 0;

	return sizeof(struct oracle_page) + room * sizeof(struct oracle_cell);
}

struct oracle_page *oracle_page_at(struct oracle *o, uint64_t address)
{
	struct oracle_page **p = page_find(region_at(o, address, false), address);

	return p ? *p : NULL;
}

uint32_t oracle_page_cells(const struct oracle_page *p)
{
	return (uint32_t)__builtin_popcountll(p->words);
}

static struct oracle_page **page_make(struct oracle *o, struct oracle_region *r, uint64_t address)
{
	uint32_t bit = page_number(address), at = place_of(r->pages, bit);
	uint64_t pages = r->pages | 1ull << bit;

	r->page = oracle_mem_resize(o, r->page, pointers(r->pages), pointers(pages));
	memmove(r->page + at + 1, r->page + at, pointers(r->pages) - at * sizeof(r->page[0]));
	r->pages = pages;
	r->page[at] = oracle_mem_new(o, page_bytes(0));
	return &r->page[at];
}

/* Gives the page cells for these words, too. */
static struct oracle_page *page_grow(struct oracle *o, struct oracle_page *p, uint64_t more)
{
	uint64_t old = p->words, words = old | more;
	size_t from = page_bytes(old), to;
	uint32_t end = (uint32_t)__builtin_popcountll(old), n;

	if (__builtin_popcountll(words) > (int)ORACLE_PAGE_WORDS / 2)
		words = UINT64_MAX;
	to = page_bytes(words);
	if (from != to)
		p = oracle_mem_resize(o, p, from, to);
	p->words = words;
	more = words & ~old;
	n = (uint32_t)__builtin_popcountll(more);
	/* From the last one on: none comes before its old place. */
	for (; more; n--) {
		uint32_t bit = 63u - (uint32_t)__builtin_clzll(more), at = place_of(old, bit);
		memmove(&p->cell[at + n], &p->cell[at], (end - at) * sizeof(p->cell[0]));
		p->cell[at + n - 1] = (struct oracle_cell){0};
		end = at;
		more &= ~(1ull << bit);
	}
	return p;
}

struct oracle_cell *oracle_cells_at(struct oracle *o, uint64_t address, uint32_t n)
{
	struct oracle_region *r = region_at(o, address, true);
	struct oracle_page **p = page_find(r, address);
	uint32_t first = address >> 2 & (ORACLE_PAGE_WORDS - 1);
	uint64_t words = (n == 64 ? UINT64_MAX : (1ull << n) - 1) << first;

	if (!p)
		p = page_make(o, r, address);
	if (words & ~(*p)->words)
		*p = page_grow(o, *p, words);
	return &(*p)->cell[place_of((*p)->words, first)];
}

/* Frees a page whose words have been forgotten. */
void oracle_page_free(struct oracle *o, uint64_t address)
{
	struct oracle_region *r = region_at(o, address, false);
	uint32_t bit = page_number(address), at = place_of(r->pages, bit);
	uint64_t pages = r->pages & ~(1ull << bit);

	oracle_mem_free(o, r->page[at], page_bytes(r->page[at]->words));
	memmove(r->page + at, r->page + at + 1, pointers(pages) - at * sizeof(r->page[0]));
	if (pages) {
		r->page = oracle_mem_resize(o, r->page, pointers(r->pages), pointers(pages));
		r->pages = pages;
		return;
	}
	oracle_mem_free(o, r->page, pointers(r->pages));
	HASH_DEL(o->regions, r);
	o->region_cache[r->key % ORACLE_REGION_CACHE] = NULL;
	oracle_mem_free(o, r, sizeof(*r));
}

struct oracle_cell *oracle_cell_at(struct oracle *o, uint64_t address, bool is_made)
{
	struct oracle_page *p;
	uint32_t bit = address >> 2 & (ORACLE_PAGE_WORDS - 1);

	if (is_made)
		return oracle_cells_at(o, address, 1);
	p = oracle_page_at(o, address);
	return p && p->words >> bit & 1 ? &p->cell[place_of(p->words, bit)] : NULL;
}

/* ---- cells --------------------------------------------------------------------------------- */

void oracle_cell_clear(struct oracle *o, struct oracle_cell *c)
{
	if (c->r && !(c->r & 1))
		oracle_readers_unref(o, (struct oracle_readers *)(uintptr_t)c->r, 1);
	if (c->w | c->r)
		o->words--;
	if (oracle_cell_log(c))
		oracle_log_free(o, c);
	c->w = c->r = 0;
}
