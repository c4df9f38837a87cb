/*
 * forget.c - memory that is newly allocated: its words lose their past.
 *
 * Whole pages of cells are freed; the records of a word that lies only partly in the range lose
 * these bytes. Costs: a look-up per page that was never accessed.
 */
#include "oracle/shadow.h"

static void cell_forget(struct oracle *o, struct oracle_cell *c)
{
	if (oracle_cell_ext(c)) {
		oracle_ext_free(o, c);
		o->words--;
	} else {
		oracle_cell_clear(o, c);
	}
}

/* Some bytes of a word are new. */
static void bytes_forget(struct oracle *o, struct oracle_cell *c, uint64_t word, uint32_t mask)
{
	if (!c->w && !c->r)
		return;
	struct oracle_ext *e = oracle_ext_of(o, c, word);
	for (unsigned k = 0; k < ORACLE_CLASSES; k++) {
		struct oracle_list *l = e->list[k];
		uint32_t kept = 0;
		for (uint32_t i = 0; l && i < l->n; i++) {
			struct oracle_rec *r = &l->v[i];
			r->bytes = (uint8_t)(r->bytes & ~mask);
			if (r->bytes)
				l->v[kept++] = *r;
			else
				oracle_chain_unref(o, r->chain);
		}
		if (l) {
			l->n = kept;
			oracle_spent_unknown(l);
		}
	}
	oracle_ext_from(o, e, mask, NULL);
	if (e->bytes)
		oracle_fenced_drop(o, e->bytes, mask);
}

/* Has it nothing that is kept elsewhere? */
static bool is_simple(uint64_t p)
{
	return !p || oracle_is_packed(p);
}

/* The page is freed next: its cells needn't be empty. */
static void page_forget(struct oracle *o, struct oracle_page *p)
{
	uint32_t n = oracle_page_cells(p), words = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct oracle_cell *c = &p->cell[i];
		if (is_simple(c->w) && is_simple(c->r))
			words += (c->w | c->r) != 0;
		else
			cell_forget(o, c);
	}
	o->words -= words;
}

void oracle_shadow_forget(struct oracle *o, uint64_t address, uint64_t bytes)
{
	const uint64_t low = (1ull << ORACLE_PAGE_SHIFT) - 1;
	uint64_t end = address + bytes, next;

	oracle_words_peak(o);
	if (o->gone)
		oracle_gone_forget(o, address, bytes);
	for (uint64_t a = address; a < end; a = next) {
		struct oracle_page *p = oracle_page_at(o, a);
		next = (p ? a | 3 : a | low) + 1;
		if (!p)
			continue;
		if (!(a & low) && end - a > low) {
			next = a + low + 1;
			page_forget(o, p);
			oracle_page_free(o, a);
			continue;
		}
		struct oracle_cell *c = oracle_cell_at(o, a, false);
		if (!c)
			continue;
		uint64_t stop = next < end ? next : end;
		if (stop - a == 4)
			cell_forget(o, c);
		else
			bytes_forget(o, c, a & ~3ull, ((1u << (stop - a)) - 1) << (a & 3));
	}
}

void oracle_shadow_free(struct oracle *o)
{
	struct oracle_region *r, *tmp;

	oracle_gone_free(o);
	/* The last page's region is freed with it. */
	HASH_ITER(hh, o->regions, r, tmp)
	{
		for (uint64_t left = r->pages; left; left &= left - 1) {
			uint64_t bit = (uint64_t)__builtin_ctzll(left);
			uint64_t a = r->key << ORACLE_REGION_SHIFT | bit << ORACLE_PAGE_SHIFT;
			page_forget(o, oracle_page_at(o, a));
			oracle_page_free(o, a);
		}
	}
}

void oracle_shadow_retire(struct oracle *o)
{
	oracle_words_peak(o);
	oracle_shadow_free(o);
}
