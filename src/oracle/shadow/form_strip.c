/*
 * form_strip.c - rows of words that warps access strongly: one list for all words.
 *
 * Lanes that read or write neighbouring words with one clock, by relaxed accesses of 32 bits that
 * all are morally strong with each other (scope gpu or wider, one device, generic proxy) and pass
 * on nothing but what they observe, can't race. Chains and observers (write.c) follow from the
 * order, and are the same for each word, lane for lane. So a strip of words has a list of warps.
 * Anything else takes a word out of it, and its records are then made from the list as if they had
 * been made at once. Plain accesses after all of it stay plain. Misses: nothing. Costs: 12 bytes
 * for a warp's access.
 */
#include "oracle/shadow.h"

struct oracle_strip_access {
	uint32_t actor; /* of the first word */
	uint32_t epoch, site;
};

struct oracle_strip {
	uint64_t before,
		step;	     /* the first word's weak write before all of it, packed; to the next */
	uint32_t refs;	     /* words */
	uint32_t at, nwords; /* number of the first word */
	uint32_t place;	     /* oracle_place_key */
	uint32_t n, cap;
	struct oracle_strip_access *v;
	/* All of it, up to known_n, is known to this clock. */
	struct oracle_clock *known_to;
	uint32_t known_n;
};

#define LANES_MIN 8u

/* How many accesses; each word has its own records then. */
static uint32_t most(const struct oracle *o)
{
	return o->opt.is_tiny ? 6 : 1u << 15;
}

static size_t list_bytes(uint32_t cap)
{
	return cap * sizeof(struct oracle_strip_access);
}

static void forget_before(struct oracle *o, struct oracle_strip *s)
{
	oracle_clock_unref(&o->pool, s->known_to);
	s->known_to = NULL;
}

static void unref(struct oracle *o, struct oracle_strip *s)
{
	if (--s->refs)
		return;
	forget_before(o, s);
	oracle_mem_free(o, s->v, list_bytes(s->cap));
	oracle_mem_free(o, s, sizeof(*s));
}

void oracle_strip_leave(struct oracle *o, struct oracle_cell *c)
{
	unref(o, oracle_cell_strip(c));
	c->w = 0;
}

static uint64_t before_of(const struct oracle_strip *s, uint32_t word)
{
	return s->before + (word - s->at) * s->step;
}

/* ---- an access ------------------------------------------------------------------------------- */

/* Do the lanes access neighbouring words of one page with one clock, and without anything more to
 * pass on? */
static bool are_neighbours(const struct oracle_now *n, const struct oracle_thread *t,
			   uint32_t lanes, const uint64_t *addresses)
{
	bool has_order = n->o->opt.sc == ORACLE_SC_PROGRAM;
	uint64_t low = addresses[0] & ((1u << ORACLE_PAGE_SHIFT) - 1);

	if (addresses[0] & 3 || low + lanes * 4 > 1u << ORACLE_PAGE_SHIFT ||
	    (has_order && t->clock->root[ORACLE_FENCES]))
		return false;
	for (uint32_t i = 0; i < lanes; i++)
		if (addresses[i] != addresses[0] + i * 4 || t[i].clock != t->clock ||
		    t[i].own != t->own || t[i].pends || (has_order && t[i].fence))
			return false;
	return true;
}

/* A strip of the row's words, if they have no more than weak writes before it; else NULL. */
static struct oracle_strip *strip_new(struct oracle_now *n, const struct oracle_row *row,
				      struct oracle_cell *c)
{
	uint32_t word = oracle_word_number(row->address);
	uint64_t step = c[1].w - c[0].w;
	struct oracle_strip *s;

	for (uint32_t i = 0; i < row->nwords; i++) {
		if (c[i].r || (c[i].w && !oracle_is_packed(c[i].w)) ||
		    c[i].w != c[0].w + i * step ||
		    (c[i].w && !oracle_row_is_after(n, row, c[i].w, word + i)))
			return NULL;
	}
	s = oracle_mem_new(n->o, sizeof(*s));
	s->before = c[0].w;
	s->step = step;
	s->refs = s->nwords = row->nwords;
	s->at = word;
	s->place = n->place;
	for (uint32_t i = 0; i < row->nwords; i++) {
		n->o->words += !c[i].w;
		c[i].w = oracle_of_strip(s);
	}
	return s;
}

/* Is the row all of the strip, as it was made, and after the weak writes before that? */
static bool is_whole(struct oracle_now *n, const struct oracle_row *row,
		     const struct oracle_strip *s, const struct oracle_cell *c)
{
	if (s->at != oracle_word_number(row->address) || s->nwords != row->nwords ||
	    s->refs != s->nwords || s->place != n->place || s->n >= most(n->o))
		return false;
	for (uint32_t i = 0; i < row->nwords; i++) {
		uint64_t before = before_of(s, s->at + i);
		if (c[i].r || (before && !oracle_row_is_after(n, row, before, s->at + i)))
			return false;
	}
	return true;
}

static void push(struct oracle *o, struct oracle_strip *s, const struct oracle_strip_access *a,
		 bool is_read)
{
	const struct oracle_strip_access *last = s->n ? &s->v[s->n - 1] : NULL;

	if (is_read && last && last->actor == a->actor && last->epoch == a->epoch &&
	    last->site == a->site)
		return;
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 4;
		s->v = oracle_mem_resize(o, s->v, list_bytes(s->cap), list_bytes(cap));
		s->cap = cap;
	}
	s->v[s->n++] = *a;
}

bool oracle_strip_access(struct oracle_now *n, struct oracle_thread *t, uint32_t warp,
			 uint32_t mask, const uint64_t *addresses)
{
	uint32_t first = (uint32_t)__builtin_ctz(mask), lanes = (uint32_t)__builtin_popcount(mask);
	struct oracle_row row = {.t = &t[first],
				 .actor = warp + first,
				 .own = t[first].own,
				 .clock = t[first].clock,
				 .nwords = lanes,
				 .address = addresses[first],
				 .start = addresses[first]};

	/* In shared memory plain accesses mostly follow. */
	if (n->acc->kind == RACE_OP_RMW || n->acc->scope < RACE_SCOPE_GPU ||
	    (n->acc->flags & ORACLE_SHARED && !n->o->opt.is_tiny) ||
	    lanes < (n->o->opt.is_tiny ? 2 : LANES_MIN) ||
	    (mask >> first) + 1ull != 1ull << lanes ||
	    !are_neighbours(n, row.t, lanes, &addresses[first]))
		return false;
	struct oracle_cell *c = oracle_cells_at(n->o, row.address, lanes);
	struct oracle_strip *s = oracle_cell_strip(c);
	n->clock = row.clock;
	n->leaf_warp = ORACLE_NO_WARP;
	if (s ? !is_whole(n, &row, s, c) : !(s = strip_new(n, &row, c)))
		return false;
	struct oracle_strip_access a = {row.actor, row.own, n->site};
	push(n->o, s, &a, n->acc->kind == RACE_OP_READ);
	return true;
}

/* ---- what it stands for ---------------------------------------------------------------------- */

bool oracle_strip_is_before(struct oracle_now *n, const struct oracle_row *row,
			    const struct oracle_cell *c, uint32_t word)
{
	struct oracle_strip *s = oracle_cell_strip(c);
	uint64_t before = before_of(s, word);
	bool is_simple = true; /* the same for each word */

	if (n->acc->flags & ORACLE_NC || (before && !oracle_row_is_after(n, row, before, word)))
		return false;
	if (s->known_to == n->clock && s->known_n == s->n)
		return true;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t actor = s->v[i].actor + (word - s->at);
		if (n->acc->kind == RACE_OP_READ &&
		    oracle_site_at(n->o, s->v[i].site)->a.kind == RACE_OP_READ)
			is_simple = false;
		else if (!oracle_row_others(row, word, actor & ~31u, 1u << (actor & 31)))
			is_simple = false;
		else if (!oracle_row_knows(n, actor, s->v[i].epoch))
			return false;
		is_simple &= !n->leaf;
	}
	if (!is_simple)
		return true;
	forget_before(n->o, s);
	s->known_to = oracle_clock_ref((struct oracle_clock *)(uintptr_t)row->clock);
	s->known_n = s->n;
	return true;
}

uint64_t oracle_strip_before(const struct oracle_cell *c, uint64_t word)
{
	return before_of(oracle_cell_strip(c), oracle_word_number(word));
}

void oracle_strip_expand(struct oracle *o, struct oracle_strip *s, struct oracle_ext *e,
			 uint64_t word)
{
	struct oracle_thread t = {.clock = o->zero};
	struct oracle_acc acc = {.bytes = 4};
	struct oracle_now n = {.o = o,
			       .t = &t,
			       .clock = o->zero,
			       .acc = &acc,
			       .site = ORACLE_NO_SITE,
			       .address = word,
			       .bytes = 4,
			       .word = word,
			       .mask = ORACLE_PLAIN_BYTES,
			       .place = s->place};

	for (uint32_t i = 0; i < s->n; i++) {
		const struct oracle_site *x = oracle_site_at(o, s->v[i].site);
		n.site = x->index;
		n.family = o->families.v[n.site];
		n.actor = s->v[i].actor + (oracle_word_number(word) - s->at);
		t.own = s->v[i].epoch;
		acc.inst = x->a.inst;
		acc.kind = x->a.kind;
		acc.strength = x->a.strength;
		acc.scope = x->a.scope;
		acc.proxy = x->a.proxy;
		acc.flags = x->a.flags;
		oracle_strong_again(&n, e);
	}
	unref(o, s);
}
