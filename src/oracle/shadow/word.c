/*
 * word.c - words with other than plain accesses: their records, and where bytes come from.
 *
 * A word's records start with what its cell has kept until then. Each part is there only if needed:
 * 64 bytes for the word, 32 a record, 64 and 32 for a strong write that may still be read and its
 * chain, 96 where bytes differ or fences came before.
 */
#include "oracle/shadow.h"

void oracle_rec_drop(struct oracle *o, struct oracle_rec *r)
{
	oracle_chain_unref(o, r->chain);
	r->chain = NULL;
}

static size_t list_bytes(uint32_t cap)
{
	return sizeof(struct oracle_list) + cap * sizeof(struct oracle_rec);
}

static struct oracle_list *list_new(struct oracle *o, uint32_t cap)
{
	struct oracle_list *l = oracle_mem_new(o, list_bytes(cap));

	l->cap = cap;
	return l;
}

struct oracle_rec *oracle_list_grow(struct oracle *o, struct oracle_list **at)
{
	struct oracle_list *l = *at;

	if (!l) {
		l = *at = list_new(o, 1);
	} else if (l->n == l->cap) {
		uint32_t cap = l->cap + (l->cap < 8 ? 2 : l->cap / 2);
		l = *at = oracle_mem_resize(o, l, list_bytes(l->cap), list_bytes(cap));
		l->cap = cap;
	}
	memset(l->spent_for, 0, sizeof(l->spent_for));
	return &l->v[l->n++];
}

void oracle_list_push(struct oracle *o, struct oracle_list **at, const struct oracle_rec *r)
{
	*oracle_list_grow(o, at) = *r;
	if (oracle_is_spent(r))
		oracle_spent_unknown(*at);
}

static void list_free(struct oracle *o, struct oracle_list *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->n; i++)
		oracle_rec_drop(o, &l->v[i]);
	oracle_list_touch(o, l);
	oracle_mem_free(o, l, list_bytes(l->cap));
}

void oracle_rec_push(struct oracle *o, struct oracle_ext *e, const struct oracle_rec *r)
{
	struct oracle_list **at = &e->list[oracle_class_of(oracle_site_at(o, r->site))];

	oracle_list_touch(o, *at);
	oracle_list_push(o, at, r);
}

/* The offset that a plain record has lost: accesses are aligned. */
static int8_t offset_in(const struct oracle *o, uint32_t site, uint64_t word)
{
	uint32_t bytes = oracle_site_at(o, site)->a.bytes;

	if (bytes > 64 || !bytes || (bytes & (bytes - 1)))
		return ORACLE_OFF_RANGE;
	return (int8_t) - (int)(word & (bytes - 1));
}

/* Fences before a plain access come before all that follows on the word: those in the tree and the
 * actors' own. */
static void push_fences(struct oracle *o, struct oracle_ext *e, uint64_t fences,
			const struct oracle_rec *r, bool is_write)
{
	uint32_t lanes = r->mask ? r->mask : 1;

	if (!o->sc_logs)
		return;
	ORACLE_EACH (l, lanes) {
		uint32_t fence = oracle_fence_before(o, r->actor + l, r->epoch);
		if (fences || fence)
			oracle_fenced_add(o, e, r->bytes, fences, r->actor + l, fence, is_write);
	}
}

/* An access, and the fences before it. */
static void push_fenced(struct oracle *o, struct oracle_ext *e, const struct oracle_rec *r,
			const struct oracle_site *x)
{
	oracle_rec_push(o, e, r);
	push_fences(o, e, x->a.fences, r, x->a.kind & RACE_OP_WRITE);
}

/* For each of the lanes that share the word, from the first one on, its bytes. */
static void push_narrow(struct oracle *o, struct oracle_ext *e, struct oracle_rec r,
			const struct oracle_site *x)
{
	for (uint32_t i = 0; i < 4; i += x->a.bytes, r.actor++) {
		r.bytes = (uint8_t)(((1u << x->a.bytes) - 1) << i);
		r.offset = (int8_t)i;
		push_fenced(o, e, &r, x);
	}
}

/* chain: that begins with the write, held for the record; or NULL. */
static void push_packed(struct oracle *o, struct oracle_ext *e, uint64_t p, uint64_t word,
			struct oracle_chain *chain)
{
	const struct oracle_site *x = oracle_site_at(o, oracle_packed_site(p));
	struct oracle_rec r = {.bytes = ORACLE_PLAIN_BYTES,
			       .actor = oracle_packed_actor(p),
			       .epoch = oracle_packed_epoch(p),
			       .site = x->plain,
			       .chain = chain};

	r.offset = offset_in(o, r.site, word);
	if (oracle_is_of_lanes(p) && x->a.bytes < 4) {
		push_narrow(o, e, r, x);
		return;
	}
	if (oracle_is_of_lanes(p)) {
		r.mask = oracle_node_lanes(r.actor & 31);
		r.actor &= ~31u;
	}
	push_fenced(o, e, &r, x);
}

static void push_reader(struct oracle *o, struct oracle_ext *e, const struct oracle_reader *x,
			uint64_t word)
{
	const struct oracle_site *site = oracle_site_at(o, x->site);
	struct oracle_rec r = {.bytes = ORACLE_PLAIN_BYTES,
			       .actor = x->actor,
			       .mask = x->is_mask ? x->at : 0,
			       .epoch = x->epoch,
			       .site = site->plain};

	r.offset = offset_in(o, r.site, word);
	for (uint32_t w = 0; x->is_mask && w <= x->warps; w++, r.actor += 32)
		push_fenced(o, e, &r, site);
	if (x->is_mask)
		return;
	r.actor += oracle_actor_after(x->shift, (uint32_t)(word >> 2) - x->at);
	if (oracle_is_narrow(x->shift))
		push_narrow(o, e, r, site);
	else
		push_fenced(o, e, &r, site);
}

static void push_readers(struct oracle *o, struct oracle_ext *e, const struct oracle_readers *s,
			 uint64_t word)
{
	e->list[ORACLE_READS] = list_new(o, s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		struct oracle_reader r = oracle_reader_at(s, i);
		push_reader(o, e, &r, word);
	}
}

/* ---- bytes alone ----------------------------------------------------------------------------- */

#define LOOK_BACK 64u

/* An access to a byte of the word. One that has reached other bytes, too, is one record. */
static void push_byte(struct oracle *o, struct oracle_ext *e, struct oracle_rec r, uint64_t word,
		      uint32_t byte)
{
	const struct oracle_site *x = oracle_site_at(o, r.site);
	uint32_t bytes = x->a.bytes == 1 || x->a.bytes == 2 ? x->a.bytes : 4;
	const struct oracle_list *l = e->list[oracle_class_of(x)];
	uint32_t unit = ((1u << bytes) - 1) << (byte & ~(bytes - 1));

	r.bytes = (uint8_t)(1u << byte);
	r.offset = bytes == 4 ? offset_in(o, r.site, word) : (int8_t)(byte & ~(bytes - 1));
	for (uint32_t i = l ? l->n : 0, looked = 0; i-- > 0 && looked < LOOK_BACK; looked++) {
		struct oracle_rec *y = &e->list[oracle_class_of(x)]->v[i];
		if (y->actor != r.actor || y->mask != r.mask || y->epoch != r.epoch ||
		    y->site != r.site || !(y->bytes & unit) || y->bytes & r.bytes)
			continue;
		y->bytes |= r.bytes;
		return;
	}
	oracle_rec_push(o, e, &r);
}

/* ... with the fences before it. */
static void push_byte_fenced(struct oracle *o, struct oracle_ext *e, struct oracle_rec r,
			     uint64_t word, uint32_t byte)
{
	const struct oracle_site *x = oracle_site_at(o, r.site);

	r.site = x->plain;
	push_byte(o, e, r, word, byte);
	r.bytes = (uint8_t)(1u << byte);
	push_fences(o, e, x->a.fences, &r, x->a.kind & RACE_OP_WRITE);
}

static void push_byte_packed(struct oracle *o, struct oracle_ext *e, uint64_t p, uint64_t word,
			     uint32_t byte)
{
	struct oracle_rec r = {.actor = oracle_packed_actor(p),
			       .epoch = oracle_packed_epoch(p),
			       .site = oracle_packed_site(p)};

	if (oracle_is_of_lanes(p)) {
		r.mask = oracle_node_lanes(r.actor & 31);
		r.actor &= ~31u;
	}
	push_byte_fenced(o, e, r, word, byte);
}

static void push_byte_reader(struct oracle *o, struct oracle_ext *e, const struct oracle_reader *x,
			     uint64_t word, uint32_t byte)
{
	struct oracle_rec r = {.actor = x->actor,
			       .mask = x->is_mask ? x->at : 0,
			       .epoch = x->epoch,
			       .site = x->site};

	for (uint32_t w = 0; x->is_mask && w <= x->warps; w++, r.actor += 32)
		push_byte_fenced(o, e, r, word, byte);
	if (x->is_mask)
		return;
	r.actor += oracle_actor_after(x->shift, (uint32_t)(word >> 2) - x->at);
	if (oracle_is_narrow(x->shift))
		r.actor += (byte << oracle_narrowness(x->shift)) / 4;
	push_byte_fenced(o, e, r, word, byte);
}

static void push_narrow_word(struct oracle *o, struct oracle_ext *e, struct oracle_narrow *x,
			     uint64_t word)
{
	for (uint32_t b = 0; b < 4; b++)
		if (x->byte[b].w)
			push_byte_packed(o, e, x->byte[b].w, word, b);
	for (uint32_t b = 0; b < 4; b++) {
		uint64_t r = x->byte[b].r;
		const struct oracle_readers *s = oracle_is_set(r) ? oracle_set_of(r) : NULL;
		for (uint32_t i = 0; s && i < s->n; i++) {
			struct oracle_reader one = oracle_reader_at(s, i);
			push_byte_reader(o, e, &one, word, b);
		}
		if (r && !s)
			push_byte_packed(o, e, r, word, b);
	}
	oracle_narrow_free(o, x);
}

/* ---- words that get records ------------------------------------------------------------------ */

struct oracle_ext *oracle_ext_of(struct oracle *o, struct oracle_cell *c, uint64_t word)
{
	struct oracle_ext *e = oracle_cell_ext(c);

	if (e)
		return e;
	e = oracle_mem_new(o, sizeof(*e));
	struct oracle_strip *strip = oracle_cell_strip(c);
	struct oracle_tile *tile = oracle_cell_tile(c);
	struct oracle_narrow *narrow = oracle_cell_narrow(c);
	struct oracle_chain *own = NULL;
	uint64_t w = c->w;
	if (c->w | c->r)
		o->words--;
	if (oracle_cell_log(c))
		w = oracle_log_expand(o, c, e, word, &own);
	else if (strip)
		w = oracle_strip_before(c, word);
	else if (tile)
		w = oracle_tile_before(c, word);
	else if (narrow)
		w = 0;
	c->w = 0;
	if (w)
		push_packed(o, e, w, word, own);
	if (oracle_is_packed(c->r))
		push_packed(o, e, c->r, word, NULL);
	else if (c->r)
		push_readers(o, e, (const struct oracle_readers *)(uintptr_t)c->r, word);
	o->words += c->r != 0; /* clear counts it */
	oracle_cell_clear(o, c);
	o->words++;
	c->w = oracle_of_records(e);
	if (strip)
		oracle_strip_expand(o, strip, e, word);
	if (tile)
		oracle_tile_expand(o, tile, e);
	if (narrow)
		push_narrow_word(o, e, narrow, word);
	return e;
}

struct oracle_bytes *oracle_ext_bytes(struct oracle *o, struct oracle_ext *e)
{
	if (e->bytes)
		return e->bytes;
	e->bytes = oracle_mem_new(o, sizeof(*e->bytes));
	for (unsigned b = 0; b < 4; b++)
		e->bytes->from[b] = e->from;
	e->from = NULL;
	return e->bytes;
}

void oracle_ext_from(struct oracle *o, struct oracle_ext *e, uint32_t mask, struct oracle_write *w)
{
	if (w)
		w->refs += (unsigned)__builtin_popcount(mask);
	if (!e->bytes && mask == ORACLE_PLAIN_BYTES) {
		for (unsigned b = 0; e->from && b < 4; b++)
			oracle_write_unref(o, e->from);
		e->from = w;
		return;
	}
	if (!e->bytes && e->from == w && !w)
		return;
	struct oracle_bytes *x = oracle_ext_bytes(o, e);
	ORACLE_EACH (b, mask) {
		oracle_write_unref(o, x->from[b]);
		x->from[b] = w;
	}
}

void oracle_ext_forget_fences(struct oracle *o, struct oracle_ext *e)
{
	struct oracle_bytes *x = e->bytes;

	oracle_fenced_drop(o, x, ORACLE_PLAIN_BYTES);
	for (unsigned b = 1; b < 4; b++)
		if (x->from[b] != x->from[0])
			return;
	e->from = x->from[0]; /* with a reference for each byte, as before */
	e->bytes = NULL;
	oracle_mem_free(o, x, sizeof(*x));
}

void oracle_ext_free(struct oracle *o, struct oracle_cell *c)
{
	struct oracle_ext *e = oracle_cell_ext(c);

	if (!e)
		return;
	for (unsigned k = 0; k < ORACLE_CLASSES; k++)
		list_free(o, e->list[k]);
	oracle_ext_from(o, e, ORACLE_PLAIN_BYTES, NULL);
	if (e->bytes)
		oracle_fenced_drop(o, e->bytes, ORACLE_PLAIN_BYTES);
	oracle_mem_free(o, e->bytes, sizeof(*e->bytes));
	oracle_mem_free(o, e, sizeof(*e));
	c->w = c->r = 0;
}

/* ---- back to the plain form ---------------------------------------------------------------- */

static bool has_any(const struct oracle_list *l)
{
	return l && l->n;
}

/* The record of n, just made. */
static const struct oracle_rec *last_of(const struct oracle_now *n, const struct oracle_list *l)
{
	for (uint32_t i = l->n; i-- > 0;)
		if (l->v[i].actor == n->actor && l->v[i].epoch == n->t->own)
			return &l->v[i];
	return NULL;
}

void oracle_ext_shrink(const struct oracle_now *n, struct oracle_cell *c)
{
	struct oracle_ext *e = oracle_cell_ext(c);
	const struct oracle_list *l = e->list[ORACLE_WRITES];
	uint64_t fences = oracle_fences_of(n->o, n->clock);
	uint32_t site;

	if (n->mask != ORACLE_PLAIN_BYTES || !has_any(l) || has_any(e->list[ORACLE_READS]) ||
	    has_any(e->list[ORACLE_STRONG]) || (l->n > 1 && !oracle_are_hot(n, l)))
		return;
	const struct oracle_rec *r = last_of(n, l);
	if (!r || r->bytes != ORACLE_PLAIN_BYTES || r->mask || r->actor != n->actor ||
	    r->epoch != n->t->own || r->site != n->site || n->is_pseudo ||
	    n->acc->proxy != RACE_PROXY_GENERIC)
		return;
	/* The fences of others would be lost. */
	if (n->o->opt.sc == ORACLE_SC_PROGRAM && !oracle_fenced_is(e, n->t, n->actor))
		return;
	for (unsigned b = 0; b < 4; b++)
		if (oracle_ext_source(e, b))
			return;
	site = oracle_site(n->o, n->acc, fences);
	if (!oracle_can_pack(r->epoch, site))
		return;
	uint64_t w = oracle_pack(r->actor, r->epoch, site);
	oracle_gone_others(n, l, r);
	oracle_ext_free(n->o, c);
	c->w = w;
}
