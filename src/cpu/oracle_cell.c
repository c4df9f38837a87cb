/*
 * oracle_cell.c - where the words of memory are, and the memory of their shadow.
 *
 * A region of 16 KiB holds pages of 256 bytes, made when touched: 16 bytes a word. All comes from
 * the C library and goes back as soon as it isn't needed: the shared memory of a block that has
 * ended, records that were superseded. stats.shadow_bytes is the most that was held at a time, with
 * what the library itself takes for each piece. Costs: a look-up in a small cache of regions.
 */
#include "cpu/oracle_impl.h"

/* What the C library takes for this: a header of 8 bytes, in steps of 16. */
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

void *oracle_mem_new(struct oracle *o, size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		abort();
	count_taken(o, bytes);
	return p;
}

void *oracle_mem_resize(struct oracle *o, void *p, size_t from, size_t to)
{
	if (p)
		o->shadow_live -= taken_for(from);
	p = realloc(p, to);
	if (!p)
		abort();
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

struct oracle_page *oracle_page_at(struct oracle *o, uint64_t address, bool is_made)
{
	struct oracle_region *r = region_at(o, address, is_made);

	if (!r)
		return NULL;
	struct oracle_page **p = &r->page[address >> ORACLE_PAGE_SHIFT & (ORACLE_REGION_PAGES - 1)];
	if (!*p && is_made)
		*p = oracle_mem_new(o, sizeof(struct oracle_page));
	return *p;
}

/* Of a page whose words have been forgotten. */
void oracle_page_free(struct oracle *o, uint64_t address)
{
	struct oracle_region *r = region_at(o, address, false);
	struct oracle_page **p = &r->page[address >> ORACLE_PAGE_SHIFT & (ORACLE_REGION_PAGES - 1)];

	oracle_mem_free(o, *p, sizeof(struct oracle_page));
	*p = NULL;
}

void oracle_region_free(struct oracle *o, struct oracle_region *r)
{
	struct oracle_region **at = &o->region_cache[r->key % ORACLE_REGION_CACHE];

	if (*at == r)
		*at = NULL;
	HASH_DEL(o->regions, r);
	oracle_mem_free(o, r, sizeof(*r));
}

void oracle_cells_free(struct oracle *o)
{
	struct oracle_region *r, *tmp;

	HASH_ITER(hh, o->regions, r, tmp)
	{
		HASH_DEL(o->regions, r);
		oracle_mem_free(o, r, sizeof(*r));
	}
}

struct oracle_cell *oracle_cell_at(struct oracle *o, uint64_t address, bool is_made)
{
	struct oracle_page *p = oracle_page_at(o, address, is_made);

	return p ? &p->cell[address >> 2 & (ORACLE_PAGE_WORDS - 1)] : NULL;
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
