/*
 * oracle_forget.c - memory that is new: its words lose their past.
 *
 * Whole pages of cells are given back; of a word that only partly lies in the range, the records lose
 * these bytes. Costs: a look-up per page that was never touched.
 */
#include "cpu/oracle_impl.h"

static void cell_forget(struct oracle *o, struct oracle_cell *c)
{
	oracle_ext_free(o, c);
	memset(c, 0, sizeof(*c));
}

/* Some bytes of a word are new. */
static void bytes_forget(struct oracle *o, struct oracle_cell *c, uint64_t word, uint32_t mask)
{
	if (!c->ext && !c->w_epoch && !c->r_epoch)
		return;
	struct oracle_ext *e = oracle_ext_of(o, c, word);
	for (unsigned k = 0; k < ORACLE_CLASSES; k++) {
		size_t kept = 0;
		for (size_t i = 0; i < e->list[k].recs.n; i++) {
			struct oracle_rec *r = &e->list[k].recs.v[i];
			r->bytes = (uint8_t)(r->bytes & ~mask);
			if (r->bytes)
				e->list[k].recs.v[kept++] = *r;
			else
				oracle_chain_unref(r->chain);
		}
		e->list[k].recs.n = kept;
	}
	ORACLE_EACH(b, mask)
	{
		oracle_write_unref(o, e->from[b]);
		oracle_tree_unref(&o->pool, e->all_fences[b]);
		oracle_tree_unref(&o->pool, e->write_fences[b]);
		e->from[b] = NULL;
		e->all_fences[b] = e->write_fences[b] = 0;
	}
}

static void page_free(struct oracle *o, struct oracle_page *p)
{
	for (uint32_t i = 0; i < ORACLE_PAGE_WORDS; i++)
		oracle_ext_free(o, &p->cell[i]);
	HASH_DEL(o->pages, p);
	if (o->last_page == p)
		o->last_page = NULL;
	o->stats.shadow_bytes -= sizeof(*p);
	free(p);
}

void oracle_shadow_forget(struct oracle *o, uint64_t address, uint64_t bytes)
{
	uint64_t end = address + bytes, next;

	for (uint64_t a = address; a < end; a = next) {
		struct oracle_cell *c = oracle_cell_at(o, a, false);
		next = c ? (a | 3) + 1 : (a | ((1ull << ORACLE_PAGE_SHIFT) - 1)) + 1;
		if (!c)
			continue;
		if (!(a & ((1ull << ORACLE_PAGE_SHIFT) - 1)) &&
		    end - a >= 1ull << ORACLE_PAGE_SHIFT) {
			next = a + (1ull << ORACLE_PAGE_SHIFT);
			page_free(o, o->last_page);
			continue;
		}
		uint64_t stop = next < end ? next : end;
		if (stop - a == 4)
			cell_forget(o, c);
		else
			bytes_forget(o, c, a & ~3ull, ((1u << (stop - a)) - 1) << (a & 3));
	}
}

void oracle_shadow_free(struct oracle *o)
{
	struct oracle_page *p, *tmp;

	HASH_ITER(hh, o->pages, p, tmp)
	page_free(o, p);
}
