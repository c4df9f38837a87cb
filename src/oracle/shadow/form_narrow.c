/*
 * form_narrow.c - words of bytes and halves that lanes access here and there.
 *
 * Pixels of three bytes, a filter over bytes: a word has accesses of several lanes, each of a part
 * of it. Each byte of such a word has a cell of its own, in which a plain access is kept as a
 * word's: what covers a byte replaces what was there before. So is a whole word's, in each of the
 * bytes, until one replaces all of them. A word with anything else, or whose order isn't found so
 * simply, gets its records from the cells (word.c).
 * Costs: 64 bytes a word, a look-up in the clock for each byte and warp encountered.
 */
#include "oracle/shadow/row.h"

struct oracle_cell *oracle_narrow_cells(const struct oracle_cell *c)
{
	return oracle_cell_narrow(c)->byte;
}

static uint32_t lane_bytes(const struct oracle *o, uint64_t p)
{
	uint32_t bytes = oracle_site_at(o, oracle_packed_site(p))->a.bytes;

	return bytes == 1 || bytes == 2 ? bytes : 4;
}

/* What a packed access of a word is to one of its bytes. */
static uint64_t packed_of_byte(const struct oracle *o, uint64_t p, uint32_t byte)
{
	uint32_t bytes = p && oracle_is_of_lanes(p) ? lane_bytes(o, p) : 4;

	if (bytes == 4)
		return p;
	return oracle_pack(oracle_packed_actor(p) + byte / bytes, oracle_packed_epoch(p),
			   oracle_packed_site(p));
}

/* The cells of the bytes of a word that has none; sets aren't held. */
static void cells_of(const struct oracle *o, const struct oracle_cell *c, struct oracle_cell v[4])
{
	for (uint32_t b = 0; b < 4; b++) {
		v[b].w = packed_of_byte(o, c->w, b);
		v[b].r = oracle_is_set(c->r) ? c->r : packed_of_byte(o, c->r, b);
	}
}

/* Gives the word the cells v. Sets of readers are made here while others are freed, so that a set
 * may lie where one lay of which the row knows something. */
static void split(struct oracle_now *n, struct oracle_cell *c, const struct oracle_cell v[4])
{
	struct oracle *o = n->o;
	struct oracle_narrow *x = oracle_mem_new(o, sizeof(*x));
	struct oracle_readers *s = oracle_is_set(c->r) ? oracle_set_of(c->r) : NULL;

	memcpy(x->byte, v, sizeof(x->byte));
	for (uint32_t b = 1; s && s->is_packed && b < 4; b++)
		x->byte[b].r = (uintptr_t)oracle_singles_copy(o, s);
	if (s && !s->is_packed)
		s->refs += 3;
	n->known = n->alike_set = NULL;
	o->words += !(c->w | c->r);
	c->w = oracle_of_narrow(x);
	c->r = 0;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Is the row's access to a byte's cell after all that conflicts with it? */
static bool is_after(struct oracle_now *n, const struct oracle_row *row,
		     const struct oracle_cell *c, uint32_t word)
{
	if (c->w && !oracle_row_is_after(n, row, c->w, word))
		return false;
	return n->acc->kind == RACE_OP_READ || oracle_row_is_after_reads(n, row, c->r, word);
}

static void keep(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		 uint32_t word)
{
	uint64_t words = n->o->words;

	if (n->acc->kind == RACE_OP_READ) {
		oracle_row_read_word(n, row, c, word);
		n->o->words = words; /* a byte is none */
		return;
	}
	if (oracle_is_set(c->r))
		oracle_readers_unref(n->o, oracle_set_of(c->r), 1);
	c->w = oracle_pack(row->actor, row->own, row->site);
	c->r = 0;
}

bool oracle_narrow_access(struct oracle_now *n, struct oracle_row *row, struct oracle_cell *c)
{
	uint32_t word = oracle_word_number(n->word);
	struct oracle_narrow *x = oracle_cell_narrow(c);
	struct oracle_cell made[4], *v = x ? x->byte : made;

	if (row->clock != n->clock) {
		row->clock = n->clock;
		oracle_row_prepare(n, row);
	}
	oracle_use_clock(n, n->clock);
	row->t = n->t;
	row->actor = n->actor;
	row->own = n->t->own;
	row->address = row->start = n->word;
	if (!(x || !c->w || oracle_is_packed(c->w)) || !oracle_can_pack(row->own, row->site))
		return false;
	if (!x)
		cells_of(n->o, c, v);
	ORACLE_EACH (b, n->mask) {
		if (!is_after(n, row, &v[b], word))
			return false;
	}
	if (!x) {
		split(n, c, v);
		v = oracle_narrow_cells(c);
	}
	ORACLE_EACH (k, n->mask) {
		keep(n, row, &v[k], word);
	}
	return true;
}

/* ---- whole words ----------------------------------------------------------------------------- */

/* The row as the access of the lane, or lanes, that access a byte of the word. */
static struct oracle_row row_of_byte(const struct oracle_row *row, uint32_t word, uint32_t byte)
{
	struct oracle_row x = *row;

	if (!oracle_is_narrow(row->shift))
		return x;
	x.actor = oracle_row_actor(row, word) + (byte << oracle_narrowness(row->shift)) / 4;
	x.address = x.start = oracle_row_word(row, word);
	x.shift = 0;
	x.nwords = 1;
	return x;
}

bool oracle_narrow_row(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		       uint32_t word)
{
	struct oracle_cell *v = oracle_narrow_cells(c);

	for (uint32_t b = 0; b < 4; b++) {
		struct oracle_row x = row_of_byte(row, word, b);
		if (!is_after(n, &x, &v[b], word))
			return false;
	}
	if (n->acc->kind != RACE_OP_READ) {
		oracle_narrow_leave(n->o, c);
		n->o->words--; /* it has nothing now */
		return true;
	}
	for (uint32_t b = 0; b < 4; b++) {
		struct oracle_row x = row_of_byte(row, word, b);
		keep(n, &x, &v[b], word);
	}
	return true;
}

void oracle_narrow_free(struct oracle *o, struct oracle_narrow *x)
{
	for (uint32_t b = 0; b < 4; b++)
		if (oracle_is_set(x->byte[b].r))
			oracle_readers_unref(o, oracle_set_of(x->byte[b].r), 1);
	oracle_mem_free(o, x, sizeof(*x));
}

void oracle_narrow_leave(struct oracle *o, struct oracle_cell *c)
{
	oracle_narrow_free(o, oracle_cell_narrow(c));
	c->w = 0;
}
