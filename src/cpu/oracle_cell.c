/*
 * oracle_cell.c - where the words of memory are, and the memory of their shadow.
 *
 * A region of 16 KiB holds pages of 256 bytes, made when touched: 16 bytes a word. What words need beyond
 * that comes from one arena, by size. Nothing is given back to the system before the end, so
 * stats.shadow_bytes is the most there was. Costs: a look-up in a small cache of regions; a block
 * whose shared memory is begun anew frees its pages, for the next one to take.
 */
#include "cpu/oracle_impl.h"

static size_t class_of(size_t bytes)
{
	return (bytes + ORACLE_MEM_STEP - 1) / ORACLE_MEM_STEP;
}

void *oracle_mem_new(struct oracle *o, size_t bytes)
{
	size_t k = class_of(bytes);
	void *p;

	if (k < ORACLE_MEM_CLASSES && o->mem.free[k]) {
		p = o->mem.free[k];
		memcpy(&o->mem.free[k], p, sizeof(p));
		return memset(p, 0, k * ORACLE_MEM_STEP);
	}
	o->stats.shadow_bytes += k * ORACLE_MEM_STEP;
	if (k < ORACLE_MEM_CLASSES)
		return base_zalloc(&o->mem.arena, k * ORACLE_MEM_STEP);
	p = calloc(k, ORACLE_MEM_STEP);
	if (!p)
		abort();
	return p;
}

void oracle_mem_free(struct oracle *o, void *p, size_t bytes)
{
	size_t k = class_of(bytes);

	if (!p)
		return;
	if (k < ORACLE_MEM_CLASSES) {
		memcpy(p, &o->mem.free[k], sizeof(p));
		o->mem.free[k] = p;
		return;
	}
	o->stats.shadow_bytes -= k * ORACLE_MEM_STEP;
	free(p);
}

/* ---- pages ---------------------------------------------------------------------------------- */

#define PAGE_CLASS 0u /* its list of free ones: nothing else has no bytes */

static struct oracle_region *region_at(struct oracle *o, uint64_t address, bool is_made)
{
	uint64_t key = address >> ORACLE_REGION_SHIFT;
	struct oracle_region **at = &o->region_cache[key % ORACLE_REGION_CACHE], *r = *at;

	if (r && r->key == key)
		return r;
	HASH_FIND(hh, o->regions, &key, sizeof(key), r);
	if (!r && is_made) {
		r = calloc(1, sizeof(*r));
		if (!r)
			abort();
		r->key = key;
		HASH_ADD(hh, o->regions, key, sizeof(r->key), r);
		o->stats.shadow_bytes += sizeof(*r);
	}
	if (r)
		*at = r;
	return r;
}

static struct oracle_page *page_new(struct oracle *o)
{
	void *p = o->mem.free[PAGE_CLASS];

	if (p) {
		memcpy(&o->mem.free[PAGE_CLASS], p, sizeof(p));
		return memset(p, 0, sizeof(struct oracle_page));
	}
	o->stats.shadow_bytes += sizeof(struct oracle_page);
	return base_zalloc(&o->mem.arena, sizeof(struct oracle_page));
}

struct oracle_page *oracle_page_at(struct oracle *o, uint64_t address, bool is_made)
{
	struct oracle_region *r = region_at(o, address, is_made);

	if (!r)
		return NULL;
	struct oracle_page **p = &r->page[address >> ORACLE_PAGE_SHIFT & (ORACLE_REGION_PAGES - 1)];
	if (!*p && is_made)
		*p = page_new(o);
	return *p;
}

/* Of a page whose words have been forgotten. */
void oracle_page_free(struct oracle *o, uint64_t address)
{
	struct oracle_region *r = region_at(o, address, false);
	struct oracle_page **p = &r->page[address >> ORACLE_PAGE_SHIFT & (ORACLE_REGION_PAGES - 1)];

	memcpy(*p, &o->mem.free[PAGE_CLASS], sizeof(void *));
	o->mem.free[PAGE_CLASS] = *p;
	*p = NULL;
}

void oracle_region_free(struct oracle *o, struct oracle_region *r)
{
	struct oracle_region **at = &o->region_cache[r->key % ORACLE_REGION_CACHE];

	if (*at == r)
		*at = NULL;
	HASH_DEL(o->regions, r);
	free(r);
	o->stats.shadow_bytes -= sizeof(*r);
}

void oracle_cells_free(struct oracle *o)
{
	struct oracle_region *r, *tmp;

	HASH_ITER(hh, o->regions, r, tmp)
	{
		HASH_DEL(o->regions, r);
		free(r);
	}
	base_arena_free(&o->mem.arena);
}

struct oracle_cell *oracle_cell_at(struct oracle *o, uint64_t address, bool is_made)
{
	struct oracle_page *p = oracle_page_at(o, address, is_made);

	return p ? &p->cell[address >> 2 & (ORACLE_PAGE_WORDS - 1)] : NULL;
}

/* ---- cells --------------------------------------------------------------------------------- */

void oracle_readers_unref(struct oracle *o, struct oracle_readers *s, uint32_t words)
{
	s->refs -= words;
	if (!s->refs)
		oracle_mem_free(o, s, sizeof(*s) + s->cap * sizeof(s->v[0]));
}

void oracle_cell_clear(struct oracle *o, struct oracle_cell *c)
{
	if (c->r && !(c->r & 1))
		oracle_readers_unref(o, (struct oracle_readers *)(uintptr_t)c->r, 1);
	if (c->w | c->r)
		o->words--;
	c->w = c->r = 0;
}
