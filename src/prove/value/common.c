/*
 * common.c - loads that give all threads of a block, or of the grid, one value.
 *
 * All read one cell, in a phase in which nothing may write to it: a number or pointer that one
 * thread put into shared memory before a barrier. That all threads come to the barriers alike is
 * taken for granted here, and what rests on the value (a loop's end) is asked about afterwards: up
 * to the first barrier that they don't come to alike all loads gave one value. A write in another
 * phase that no barrier orders before the load is a pair of its own.
 *
 * On the graph two steps may be in one phase where ways without a barrier lead to both from the
 * entry or from one barrier. Loads of one fixed cell are one value where no way from a barrier to
 * them has a write to it. What one thread surely stored there last, if that is a value of the
 * block, is what they give.
 *
 * Misses: cells of global memory between barriers of blocks, writes by the lanes of a warp before
 * __syncwarp(), numbers of barriers that aren't known.
 * Costs: reachability from each barrier, once a turn, where there is such a load.
 */
#include "prove/value/private.h"

#include <string.h>

#define MAX_SET_WORDS (1u << 18)
/* Until then stores through pointers of which nothing is known yet don't count. */
#define TURNS_OF_HOPE 3
/* From this turn on a load that wasn't such a one once is none. */
#define TURNS_BEFORE_LOSS 8

/* One cell from a barrier on. */
struct cell {
	uint32_t since, bytes; /* since: the block that ends in the barrier */
	uint32_t load;	       /* the step of one of its loads, which the value goes by */
	enum ev_root_kind kind;
	uint64_t id, off;
	bool is_new; /* pointers that malloc gave are all that is stored there */
};

struct ev_common {
	BASE_VEC(struct ev_access) stores; /* of the turn before; mem NULL: to an mbarrier */
	BASE_VEC(struct cell) cells;	   /* of this turn: */
	unsigned cells_turn;
	bool *is_lost;	/* by step */
	bool has_hoped; /* a store was left out in this turn */
	/* Of this turn and rank: where phases begin, and what is reached from there. */
	unsigned turn;
	enum ir_rank rank;
	bool is_off;
	uint32_t words, nsets;
	uint64_t *sets, *ends; /* ends: from where a thread may end without a barrier */
	uint32_t *starts;      /* by set */
};

static bool has(const uint64_t *set, uint32_t b)
{
	return set[b / 64] >> (b % 64) & 1;
}

/* Is the block's last step a barrier that all threads of the rank come to? *is_odd: that isn't
 * known. */
static bool is_barrier(const struct ev *e, uint32_t b, enum ir_rank rank, bool *is_odd)
{
	const struct ir_block *x = &e->ir->blocks.v[b];
	const struct ir_step *st = x->n ? &e->ir->steps.v[x->first + x->n - 1] : NULL;

	if (!st || st->kind != IR_BARRIER)
		return false;
	*is_odd |= st->threads || st->pred != IR_NONE ||
		   (st->src[0] != IR_NONE &&
		    (!e->arg[b] || e->arg[b]->op != EX_CONST || e->arg[b]->imm >= IR_NUMBERS));
	return st->imm >= rank;
}

/* Blocks reached from the start of `from`; not beyond barriers of the rank, nor beyond `stop`. */
static void reach(const struct ev *e, uint32_t from, int rank, uint32_t stop, bool is_back,
		  uint64_t *out)
{
	const struct ir *ir = e->ir;
	BASE_VEC(uint32_t) todo = {0};
	bool is_odd = false;

	out[from / 64] |= 1ull << (from % 64);
	base_vec_push(&todo, from);
	while (todo.n) {
		uint32_t b = todo.v[--todo.n];
		const struct ir_block *x = &ir->blocks.v[b];
		if (b == stop || (rank >= 0 && is_barrier(e, b, (enum ir_rank)rank, &is_odd)))
			continue;
		for (uint32_t k = 0; k < (is_back ? x->npred : x->nsucc); k++) {
			uint32_t s = is_back ? x->pred[k] : x->succ[k];
			if (has(out, s))
				continue;
			out[s / 64] |= 1ull << (s % 64);
			base_vec_push(&todo, s);
		}
	}
	base_vec_free(&todo);
}

/* Finds the blocks from which a thread may end without a barrier of the rank. */
static void find_ends(const struct ev *e, enum ir_rank rank, uint64_t *out)
{
	const struct ir *ir = e->ir;
	bool is_odd = false;

	for (uint32_t i = ir->nrpo; i-- > 0;) {
		uint32_t b = ir->rpo[i];
		if (!ir->blocks.v[b].nsucc)
			out[b / 64] |= 1ull << (b % 64);
	}
	for (bool changes = true; changes;) {
		changes = false;
		for (uint32_t i = ir->nrpo; i-- > 0;) {
			uint32_t b = ir->rpo[i];
			const struct ir_block *x = &ir->blocks.v[b];
			if (has(out, b) || is_barrier(e, b, rank, &is_odd))
				continue;
			for (uint32_t k = 0; k < x->nsucc; k++)
				if (has(out, x->succ[k])) {
					out[b / 64] |= 1ull << (b % 64);
					changes = true;
				}
		}
	}
}

/* Finds the phases of this turn. False: they aren't known. */
static bool find_phases(struct ev *e, struct ev_common *c, enum ir_rank rank)
{
	const struct ir *ir = e->ir;
	uint32_t n = 1;

	if (c->sets && c->turn == e->turn && c->rank == rank)
		return !c->is_off;
	c->turn = e->turn;
	c->rank = rank;
	c->is_off = false;
	c->words = (uint32_t)ir->blocks.n / 64 + 1;
	for (size_t i = 0; i < ir->steps.n; i++)
		c->is_off |= ir_is_partial(&ir->steps.v[i]);
	for (uint32_t i = 0; i < ir->nrpo; i++)
		n += is_barrier(e, ir->rpo[i], rank, &c->is_off) ? ir->blocks.v[ir->rpo[i]].nsucc
								 : 0;
	c->is_off |= n * c->words > MAX_SET_WORDS;
	c->sets = BASE_NEWN(e->arena, uint64_t, c->is_off ? 1 : (size_t)n * c->words);
	c->nsets = 0;
	if (c->is_off)
		return false;
	c->ends = BASE_NEWN(e->arena, uint64_t, c->words);
	c->starts = BASE_NEWN(e->arena, uint32_t, n);
	find_ends(e, rank, c->ends);
	reach(e, ir->rpo[0], (int)rank, IR_NONE, false, c->sets);
	c->starts[c->nsets++] = ir->rpo[0];
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *x = &ir->blocks.v[ir->rpo[i]];
		bool is_odd = false;
		for (uint32_t k = 0; k < x->nsucc && is_barrier(e, ir->rpo[i], rank, &is_odd);
		     k++) {
			reach(e, x->succ[k], (int)rank, IR_NONE, false,
			      c->sets + (size_t)c->nsets * c->words);
			c->starts[c->nsets++] = x->succ[k];
		}
	}
	return true;
}

static bool are_in_one_phase(const struct ev_common *c, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < c->nsets; i++) {
		const uint64_t *set = c->sets + (size_t)i * c->words;
		if (has(set, a) && has(set, b))
			return true;
	}
	return false;
}

/* May the store be to a byte of what is loaded? */
static bool may_touch(const struct ev *e, const struct ev_access *s, const struct ev_access *a)
{
	const struct ex *x = s->off, *y = a->off;

	if (s->is_shared != a->is_shared && !prove_ev_is_generic(e, &s->root) &&
	    !prove_ev_is_generic(e, &a->root))
		return false;
	if (!prove_ev_same_root(&s->root, &a->root))
		return prove_ev_alias(&s->root, &a->root) != EV_APART ||
		       (e->may_alias && !a->is_shared);
	if (!s->mem || s->mem->is_range || s->mem->is_collective || s->mem->matrix ||
	    x->w != y->w || x->hi > UINT64_MAX - 16 || y->hi > UINT64_MAX - 16)
		return true;
	return x->lo < y->hi + a->mem->bytes && y->lo < x->hi + s->mem->bytes;
}

static bool is_late(const struct ev_access *s)
{
	return !s->mem || s->mem->is_async || s->mem->is_bulk || s->mem->matrix;
}

static bool is_somewhere(const struct ev_access *s)
{
	return s->root.kind == EV_ROOT_UNKNOWN || (s->root.kind == EV_ROOT_LOADED && !s->root.slot);
}

/* Does the store count for the load? */
static bool counts(const struct ev *e, struct ev_common *c, const struct ev_access *s,
		   const struct ev_access *a)
{
	if (!may_touch(e, s, a))
		return false;
	bool is_left_out = e->turn < TURNS_OF_HOPE && is_somewhere(s);
	c->has_hoped |= is_left_out;
	return !is_left_out;
}

static bool is_strong(const struct ev_access *s)
{
	return s->mem->kind == RACE_OP_RMW || s->mem->strength != RACE_WEAK || s->mem->is_volatile;
}

/* May a thread store, and end without another barrier, where others load in a later phase? Nothing
 * orders the two, and strong ones don't race, so that no pair reports it. */
static bool is_left_behind(struct ev *e, const struct ev_common *c, const struct ev_access *s,
			   const struct ev_access *a)
{
	if (!is_strong(s) || !is_strong(a) || !has(c->ends, s->block))
		return false;
	uint64_t *to = BASE_NEWN(e->arena, uint64_t, c->words);
	reach(e, a->block, -1, IR_NONE, true, to);
	for (uint32_t i = 0; i < c->nsets; i++)
		if (has(c->sets + (size_t)i * c->words, s->block) && has(to, c->starts[i]))
			return true;
	return false;
}

/* Is no write to the cell in the load's phase, or left for it? */
static bool is_quiet(struct ev *e, struct ev_common *c, const struct ev_access *a)
{
	for (size_t i = 0; i < c->stores.n; i++) {
		const struct ev_access *s = &c->stores.v[i];
		if ((is_late(s) || are_in_one_phase(c, s->block, a->block) ||
		     is_left_behind(e, c, s, a)) &&
		    counts(e, c, s, a))
			return false;
	}
	return true;
}

/* Does a way from the barrier of block b to the load have a write to the cell? */
static bool has_write_between(struct ev *e, struct ev_common *c, const struct ev_access *a,
			      uint32_t b)
{
	uint64_t *from = BASE_NEWN(e->arena, uint64_t, 2 * (size_t)c->words), *to = from + c->words;

	for (uint32_t k = 0; k < e->ir->blocks.v[b].nsucc; k++)
		reach(e, e->ir->blocks.v[b].succ[k], -1, b, false, from);
	reach(e, a->block, -1, b, true, to);
	for (size_t i = 0; i < c->stores.n; i++) {
		const struct ev_access *s = &c->stores.v[i];
		if (s->block != b && has(from, s->block) && has(to, s->block) && counts(e, c, s, a))
			return true;
	}
	return false;
}

/* The first barrier after which the cell is as the load finds it; or IR_NONE. */
static uint32_t find_start(struct ev *e, struct ev_common *c, const struct ev_access *a)
{
	const struct ir *ir = e->ir;
	bool is_odd = false;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t b = ir->rpo[i], loop = ir->blocks.v[b].loop;
		if (b != a->block && is_barrier(e, b, c->rank, &is_odd) &&
		    prove_ir_dominates(ir, b, a->block) &&
		    (loop == IR_NONE || prove_ir_in_loop(&ir->loops[loop], a->block)) &&
		    !has_write_between(e, c, a, b))
			return b;
	}
	return IR_NONE;
}

/* Does the first thread of each block surely come to the store? */
static bool is_sure(struct ev *e, const struct ev_access *s)
{
	const struct ex *g = s->guard;

	for (unsigned d = 0; d < 3; d++)
		g = prove_ex_replace(e->pool, g,
				     prove_ex_spec(e->pool, (enum prove_ex_spec)(EX_TID_X + d)),
				     prove_ex_const(e->pool, 32, 0));
	return g->op == EX_CONST && (g->imm & 1);
}

/* What is stored last before the barrier of block b, if that is one value of the block; or NULL. */
static const struct ex *last_stored(struct ev *e, struct ev_common *c, const struct ev_access *a,
				    uint32_t b)
{
	for (size_t i = 0; i < c->stores.n; i++) {
		const struct ev_access *s = &c->stores.v[i];
		if (!counts(e, c, s, a) || !s->value || s->value->w != 8u * a->mem->bytes ||
		    s->mem->kind != RACE_OP_WRITE || s->mem->bytes != a->mem->bytes ||
		    s->mem->strength != RACE_WEAK || s->mem->is_volatile || s->off != a->off ||
		    s->value->level < EX_CTA || s->value->has_ctr ||
		    e->ir->blocks.v[s->block].loop != IR_NONE || !is_sure(e, s))
			continue;
		uint64_t *after = BASE_NEWN(e->arena, uint64_t, 3 * (size_t)c->words),
			 *later = after + c->words, *before = later + c->words;
		bool is_last = true;
		for (uint32_t k = 0; k < e->ir->blocks.v[s->block].nsucc; k++)
			reach(e, e->ir->blocks.v[s->block].succ[k], -1, IR_NONE, false, after);
		for (uint32_t k = 0; k < e->ir->blocks.v[b].nsucc; k++)
			reach(e, e->ir->blocks.v[b].succ[k], -1, IR_NONE, false, later);
		reach(e, b, -1, IR_NONE, true, before);
		for (size_t j = 0; j < c->stores.n && is_last; j++) {
			const struct ev_access *x = &c->stores.v[j];
			/* Locks and flags may turn the order of a phase around. */
			bool is_before = x->block == s->block
						 ? x->index < s->index
						 : !has(after, x->block) &&
							   !are_in_one_phase(c, x->block, s->block);
			bool is_behind =
				!has(before, x->block) && prove_ir_dominates(e->ir, b, x->block);
			is_last = j == i || is_before || is_behind || !counts(e, c, x, a);
		}
		if (is_last && has(before, s->block) && !has(later, s->block))
			return s->value;
	}
	return NULL;
}

/* Are pointers that malloc gave all that is stored in the cell? */
static bool holds_new(const struct ev *e, struct ev_common *c, const struct ev_access *a)
{
	bool has_one = false;

	for (size_t i = 0; i < c->stores.n; i++) {
		const struct ev_access *s = &c->stores.v[i];
		if (!counts(e, c, s, a))
			continue;
		if (s->off != a->off || !s->value || s->value->w != 64)
			return false;
		if (s->value->op == EX_CONST && !s->value->imm) /* leads nowhere */
			continue;
		struct ev_root r = prove_ev_find_root(e, s->value, IR_GENERIC);
		if (!r.is_new || r.base->level == EX_GRID)
			return false;
		has_one = true;
	}
	return has_one;
}

static const struct ex *value_since(struct ev *e, struct ev_common *c, const struct ev_access *a,
				    uint32_t b)
{
	struct cell x = {b, a->mem->bytes, a->index, a->root.kind, a->root.id, a->off->imm, false};
	enum ex_level level = c->rank == IR_RANK_GRID ? EX_GRID : EX_CTA;
	size_t i = 0;

	x.is_new = a->mem->bytes == 8 && holds_new(e, c, a);
	while (i < c->cells.n && (c->cells.v[i].since != b || c->cells.v[i].bytes != x.bytes ||
				  c->cells.v[i].kind != x.kind || c->cells.v[i].id != x.id ||
				  c->cells.v[i].off != x.off))
		i++;
	if (i == c->cells.n)
		base_vec_push(&c->cells, x);

	return prove_ev_fresh_of(e, b, c->cells.v[i].load, 8u * a->mem->bytes, level);
}

const struct ex *prove_ev_common(struct ev *e, const struct ev_access *a)
{
	struct ev_common *c = e->common;
	bool is_variable = a->root.kind == EV_ROOT_OBJECT;
	enum ir_rank rank = a->is_shared ? IR_RANK_CTA : IR_RANK_GRID;
	enum ex_level level = a->is_shared ? EX_CTA : EX_GRID;

	if (c->cells_turn != e->turn) /* a load is in one cell only */
		c->cells.n = 0;
	c->cells_turn = e->turn;
	if (a->is_way || c->is_lost[a->index] || a->mem->kind != RACE_OP_READ || a->mem->is_async ||
	    a->mem->is_range || a->mem->is_collective || a->mem->matrix ||
	    (!is_variable && (a->root.kind != EV_ROOT_PARAM || a->is_shared)) ||
	    (!a->is_shared && (a->mem->strength != RACE_WEAK || a->mem->is_volatile)) ||
	    a->off->level < level)
		return NULL;
	if (!find_phases(e, c, rank) || !is_quiet(e, c, a)) {
		c->is_lost[a->index] = e->turn >= TURNS_BEFORE_LOSS;
		return NULL;
	}
	uint32_t b = a->off->op == EX_CONST ? find_start(e, c, a) : IR_NONE;
	const struct ex *v = b != IR_NONE && a->is_shared ? last_stored(e, c, a, b) : NULL;
	if (v)
		return v;
	return b != IR_NONE ? value_since(e, c, a, b)
			    : prove_ev_fresh_of(e, a->block, a->index, 8u * a->mem->bytes, level);
}

bool prove_ev_is_untouched(struct ev *e, const struct ev_access *a)
{
	struct ev_common *c = e->common;
	bool is_one = a->root.kind == EV_ROOT_PARAM || a->root.kind == EV_ROOT_OBJECT ||
		      prove_ev_is_one_loaded(&a->root);

	if (!is_one || e->is_all_written)
		return false;
	for (size_t i = 0; i < c->stores.n; i++)
		if (counts(e, c, &c->stores.v[i], a))
			return false;
	return true;
}

bool prove_ev_is_new_cell(const struct ev *e, const struct ex *v)
{
	const struct ev_common *c = e->common;

	for (size_t i = 0; i < c->cells.n && v->level != EX_THREAD; i++)
		if (c->cells.v[i].load == v->imm)
			return c->cells.v[i].is_new;
	return false;
}

static bool are_equal(const struct ev_access *x, const struct ev_access *y)
{
	return x->index == y->index && x->block == y->block && x->off == y->off &&
	       x->guard == y->guard && x->value == y->value &&
	       prove_ev_same_root(&x->root, &y->root);
}

void prove_ev_note_stores(struct ev *e)
{
	BASE_VEC(struct ev_access) now = {0};

	if (!e->common) {
		e->common = BASE_NEW(e->arena, struct ev_common);
		e->common->is_lost = BASE_NEWN(e->arena, bool, e->ir->steps.n + 1);
	}
	e->is_changed |= e->common->has_hoped;
	e->common->has_hoped = false;
	for (size_t i = 0; i < e->accesses.n; i++)
		if (e->accesses.v[i].mem->kind != RACE_OP_READ)
			base_vec_push(&now, e->accesses.v[i]);
	for (size_t i = 0; i < e->mbars.n; i++) {
		const struct ev_mbar *m = &e->mbars.v[i];
		struct ev_access x = {.step = m->step,
				      .block = m->block,
				      .index = m->index,
				      .root = m->root,
				      .off = m->off,
				      .guard = m->guard,
				      .is_shared = true};
		base_vec_push(&now, x);
	}
	bool is_same = now.n == e->common->stores.n;
	for (size_t i = 0; i < now.n && is_same; i++)
		is_same = are_equal(&now.v[i], &e->common->stores.v[i]);
	e->is_changed |= !is_same;
	e->common->stores.n = 0;
	for (size_t i = 0; i < now.n; i++)
		base_vec_push(&e->common->stores, now.v[i]);
	base_vec_free(&now);
}

void prove_ev_free_common(struct ev *e)
{
	if (!e->common)
		return;
	base_vec_free(&e->common->stores);
	base_vec_free(&e->common->cells);
}
