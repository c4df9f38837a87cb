/*
 * copies.c - asynchronous copies of a thread that are still under way after barriers (eval.h).
 *
 * A cp.async may write at any time up to the thread's wait for it (PTX ISA 9.7.9.25): for all that
 * was copied so far, or for all groups but the latest n. From the copy on each way through the
 * graph is followed, with the groups that were made since, until a wait surely is for it. Where the
 * way comes after a barrier the copy is an access once more, `is_late`: at the start of that
 * phase, under the conditions of both places. Such a place may be some iterations after the
 * copy's in the innermost loop around it that waits, makes groups or has a barrier: the counter
 * there is as much greater. Of a loop within, which has none of these, the iteration is any. Of a
 * loop that is entered later the place's iteration is a number. What the thread itself accesses
 * meanwhile is listed, and its end: no phase keeps the two apart.
 *
 * Misses: copies that are under way in the next iteration of a loop around the innermost one, or in
 * nested loops that are entered later: could not prove, but what was found up to there may be an
 * alarm.
 * Costs: for each copy a walk over blocks, groups and iterations, each of these up to MOST.
 */
#include "prove/eval.h"

#define MOST	    8u /* numbers of groups and iterations that are kept */
#define MAX_LATE    512
#define MAX_TOUCHES 4096

/* Where a walk is, at the start of a block. */
struct at {
	uint32_t block;
	uint8_t groups; /* made since the copy */
	uint8_t behind; /* iterations of the copy's own loop since then */
	uint8_t turn;	/* iteration of a loop that was entered since then; MOST: that or later */
	bool is_late;	/* there was a barrier */
	/* The copy's loop was left by its header's comparison with a number. */
	bool is_done;
};

struct walk {
	struct ev *e;
	const struct ev_access *copy;
	uint32_t own;	   /* the copy's loop that waits, or IR_NONE */
	const bool *syncs; /* by loop: it waits, makes groups, or has a barrier */
	uint8_t *seen;
	BASE_VEC(struct at) todo;
	size_t first_late, first_touch;
	bool is_lost;
};

bool prove_ev_has_sync(const struct ir *ir, uint32_t loop)
{
	const struct ir_loop *l = &ir->loops[loop];

	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		const struct ir_block *x = &ir->blocks.v[b];
		for (uint32_t i = x->first; i < x->first + x->n && prove_ir_in_loop(l, b); i++) {
			uint8_t k = ir->steps.v[i].kind;
			if (k == IR_COMMIT || k == IR_WAIT || k == IR_BARRIER ||
			    k == IR_WARP_BARRIER)
				return true;
		}
	}
	return false;
}

/* The innermost loop around b that synchronizes and doesn't hold the copy (is_own: does), or
 * IR_NONE. */
static uint32_t loop_of(const struct walk *w, uint32_t b, bool is_own)
{
	const struct ir *ir = w->e->ir;
	uint32_t l = ir->blocks.v[b].loop;

	while (l != IR_NONE &&
	       (!w->syncs[l] || prove_ir_in_loop(&ir->loops[l], w->copy->block) != is_own))
		l = ir->loops[l].parent;
	return l;
}

/* ---- a value of the copy, as it is named at another place -------------------------------- */

/* Is what a loop's counter decides of v a sum, a product, ...: all that replacing it reaches? */
static bool is_plain(const struct ex *v, const struct ex *ctr)
{
	if (!v->has_ctr || v == ctr)
		return true;
	if (v->op == EX_VAR || v->op == EX_PHI || v->op == EX_KEXIT || v->op == EX_PURE)
		return !prove_ex_contains(v, ctr);
	for (uint32_t i = 0; i < v->n; i++)
		if (!is_plain(v->a[i], ctr))
			return false;
	return true;
}

/* An induction over the counter in v, or NULL. */
static const struct ex *find_induction(const struct ex *v, const struct ex *ctr)
{
	if (v->op == EX_IND && v->a[2] == ctr)
		return v;
	for (uint32_t i = 0; i < v->n && v->has_ctr; i++) {
		const struct ex *x = find_induction(v->a[i], ctr);
		if (x)
			return x;
	}
	return NULL;
}

/* The induction so many iterations before. With a sign and small numbers it doesn't wrap either. */
static const struct ex *earlier(struct ex_pool *p, const struct ex *ind, unsigned behind)
{
	const struct ex *start = ind->a[0], *step = ind->a[1];
	const struct ex *less = prove_ex_bin(p, EX_MUL, step, prove_ex_const(p, ind->w, behind));
	bool is_small = start->op == EX_CONST && start->imm <= prove_ex_mask(ind->w) >> 1 &&
			step->op == EX_CONST && step->imm <= prove_ex_mask(ind->w) >> 8;

	if (ind->imm == EX_IND_SIGNED && ind->w >= 32 && is_small)
		return prove_ex_ind(p, EX_IND_SIGNED, prove_ex_bin(p, EX_SUB, start, less), step,
				    ind->a[2]);
	return prove_ex_bin(p, EX_SUB, ind, less);
}

#define MAX_INDUCTIONS 8

/* v as it was `behind` iterations before. NULL: that isn't known. */
static const struct ex *before(struct ev *e, const struct ex *v, const struct ex *ctr,
			       unsigned behind)
{
	struct ex_pool *p = e->pool;
	const struct ex *ind[MAX_INDUCTIONS], *hole[MAX_INDUCTIONS];
	unsigned n = 0;

	if (!behind || !prove_ex_contains(v, ctr))
		return v;
	if (!is_plain(v, ctr))
		return NULL;
	/* start + step * counter keeps what is known of it, less some steps */
	while ((ind[n] = find_induction(v, ctr))) {
		if (prove_ex_contains(ind[n]->a[0], ctr) || prove_ex_contains(ind[n]->a[1], ctr))
			return NULL;
		hole[n] = prove_ex_leaf(p, EX_VAR, ind[n]->w, UINT64_MAX - n, EX_THREAD,
					prove_ex_full(ind[n]->w), EX_NO_ARGS);
		v = prove_ex_replace(p, v, ind[n], hole[n]);
		if (++n == MAX_INDUCTIONS)
			return NULL;
	}
	v = prove_ex_replace(p, v, ctr,
			     prove_ex_bin(p, EX_SUB, ctr, prove_ex_const(p, ctr->w, behind)));
	for (unsigned i = 0; i < n; i++)
		v = prove_ex_replace(p, v, hole[i], earlier(p, ind[i], behind));
	return v;
}

/* The last iteration in which a condition may hold, by the bound that it gives an induction. */
static uint64_t last_of(const struct ex *cond, const struct ex *ctr)
{
	const struct ex *v = find_induction(cond, ctr);

	if (!v || v->imm == EX_IND_WRAPS || v->a[0]->op != EX_CONST || v->a[1]->op != EX_CONST ||
	    !v->a[1]->imm || v->hi > prove_ex_mask(v->w) >> 1)
		return UINT64_MAX;
	uint64_t most = prove_ev_bound_of(cond, v, 0);
	if (most == UINT64_MAX)
		return most;
	return most < v->a[0]->imm ? 0 : (most - v->a[0]->imm) / v->a[1]->imm;
}

/* The header's branch compares an induction with a number: in which iteration it leaves, or 0. */
static uint64_t exit_of(const struct walk *w)
{
	const struct ir_loop *l = &w->e->ir->loops[w->own];
	const struct ir_block *h = &w->e->ir->blocks.v[l->header];
	const struct ex *ctr = w->e->loops[w->own].ctr;

	for (uint32_t k = 0; k < h->nsucc && h->nsucc == 2; k++) {
		const struct ex *cond = prove_ev_edge(w->e, l->header, h->succ[k]);
		uint64_t last = last_of(cond, ctr);
		if (prove_ir_in_loop(l, h->succ[k]) && !prove_ir_in_loop(l, h->succ[!k]) &&
		    (cond->op == EX_SLT || cond->op == EX_ULT) && cond->a[1]->op == EX_CONST &&
		    cond->a[0]->op == EX_IND && cond->a[0]->a[2] == ctr && last < INT32_MAX)
			return last + 1;
	}
	return 0;
}

/* The counter of the copy's loop when it was left. */
static const struct ex *last_counter(const struct walk *w, const struct at *at)
{
	const struct ev_loop *l = &w->e->loops[w->own];

	return at->is_done ? prove_ex_const(w->e->pool, l->ctr->w, exit_of(w)) : l->kexit;
}

/* A value of the copy as it is named at a place; NULL: that isn't known. */
static const struct ex *seen_from(const struct walk *w, const struct ex *v, const struct at *at)
{
	struct ev *e = w->e;

	if (w->own == IR_NONE)
		return v;
	const struct ev_loop *l = &e->loops[w->own];
	v = before(e, v, l->ctr, at->behind);
	if (v && !prove_ir_in_loop(&e->ir->loops[w->own], at->block) &&
	    prove_ex_contains(v, l->ctr))
		v = is_plain(v, l->ctr) ? prove_ex_replace(e->pool, v, l->ctr, last_counter(w, at))
					: NULL;
	return v;
}

/* Those parts of a condition that can be named there; the others may hold or not. */
static const struct ex *guard_from(const struct walk *w, const struct ex *g, const struct at *at)
{
	struct ex_pool *p = w->e->pool;

	if (g->op == EX_AND && g->w == 1)
		return prove_ex_and(p, guard_from(w, g->a[0], at), guard_from(w, g->a[1], at));
	const struct ex *v = seen_from(w, g, at);
	return v ? v : prove_ex_const(p, 1, 1);
}

/* What the numbers of iterations say. */
static const struct ex *counted(const struct walk *w, const struct at *at)
{
	struct ev *e = w->e;
	struct ex_pool *p = e->pool;
	const struct ex *g = prove_ex_const(p, 1, 1);
	uint32_t other = loop_of(w, at->block, false);

	if (w->own != IR_NONE) {
		const struct ev_loop *l = &e->loops[w->own];
		bool is_in = prove_ir_in_loop(&e->ir->loops[w->own], at->block);
		const struct ex *n = is_in ? l->ctr : last_counter(w, at);
		g = prove_ex_not(p,
				 prove_ex_bin(p, EX_ULT, n, prove_ex_const(p, n->w, at->behind)));
		if (!is_in && is_plain(l->leave, l->ctr))
			g = prove_ex_and(p, g, prove_ex_replace(p, l->leave, l->ctr, n));
	}
	if (other != IR_NONE) {
		const struct ex *n = e->loops[other].ctr, *k = prove_ex_const(p, n->w, at->turn);
		g = prove_ex_and(p, g,
				 at->turn < MOST ? prove_ex_bin(p, EX_EQ, n, k)
						 : prove_ex_not(p, prove_ex_bin(p, EX_ULT, n, k)));
	}
	return g;
}

/* The copy as an access of the place. False: where it goes isn't known. */
static bool move(const struct walk *w, const struct at *at, struct ev_access *out)
{
	struct ex_pool *p = w->e->pool;

	*out = *w->copy;
	out->off = seen_from(w, out->off, at);
	out->whole = seen_from(w, out->whole, at);
	if (!out->off || !out->whole ||
	    (out->root.base && seen_from(w, out->root.base, at) != out->root.base))
		return false;
	out->guard = prove_ex_and(p, guard_from(w, out->guard, at), counted(w, at));
	out->guard = prove_ex_and(p, out->guard, w->e->guard[at->block]);
	out->value = NULL;
	out->block = at->block;
	out->is_late = true;
	out->behind = at->behind;
	return true;
}

/* ---- the ways ---------------------------------------------------------------------------- */

static void add_late(struct walk *w, const struct at *at)
{
	struct ev *e = w->e;
	struct ev_access late;

	if (!move(w, at, &late) || e->accesses.n - w->first_late >= MAX_LATE) {
		w->is_lost = true;
		return;
	}
	for (size_t i = w->first_late; i < e->accesses.n; i++) {
		const struct ev_access *x = &e->accesses.v[i];
		if (x->mem == late.mem && x->block == late.block && x->off == late.off &&
		    x->guard == late.guard)
			return;
	}
	if (late.guard->op != EX_CONST || late.guard->imm)
		base_vec_push(&e->accesses, late);
}

static void add_touch(struct walk *w, const struct at *at, uint32_t step)
{
	struct ev *e = w->e;
	struct ev_touch t;

	for (size_t i = 0; i < w->first_late && !w->is_lost; i++) {
		const struct ev_access *x = &e->accesses.v[i];
		if (x->index != step || !((x->mem->kind | w->copy->mem->kind) & RACE_OP_WRITE))
			continue;
		if (x->is_shared != w->copy->is_shared && !prove_ev_is_generic(e, &x->root))
			continue;
		/* its own other half, or a part of it */
		bool is_own = x->step->at == w->copy->step->at &&
			      x->step->call == w->copy->step->call && !at->behind;
		if (is_own && x->index != w->copy->index)
			continue;
		t.own = *x;
		t.is_again = is_own;
		if (!move(w, at, &t.copy) || e->touches.n - w->first_touch >= MAX_TOUCHES) {
			w->is_lost = true;
			return;
		}
		bool has = false;
		for (size_t k = w->first_touch; k < e->touches.n; k++)
			has |= e->touches.v[k].own.step == x->step &&
			       e->touches.v[k].is_again == is_own &&
			       e->touches.v[k].own.guard == x->guard &&
			       e->touches.v[k].copy.off == t.copy.off &&
			       e->touches.v[k].copy.guard == t.copy.guard;
		if (!has)
			base_vec_push(&e->touches, t);
	}
}

/* The thread ends. */
static void add_end(struct walk *w, const struct at *at)
{
	struct ev_touch t = {.own = {.step = NULL}};

	if (!move(w, at, &t.copy))
		w->is_lost = true;
	else
		base_vec_push(&w->e->touches, t);
}

static void go(struct walk *w, const struct at *at)
{
	const struct ir *ir = w->e->ir;
	size_t k = (((size_t)at->block * (MOST + 1) + at->groups) * (MOST + 1) + at->behind) *
			   (MOST + 1) +
		   at->turn;
	uint8_t bit = (uint8_t)(1u << (at->is_late + 2 * at->is_done));

	if (w->seen[k] & bit || !ir->blocks.v[at->block].is_reached)
		return;
	w->seen[k] |= bit;
	base_vec_push(&w->todo, *at);
}

/* Is it known that the thread doesn't go there, by the iterations that it has done? */
static bool is_no_way(const struct walk *w, const struct at *at, uint32_t to)
{
	struct ev *e = w->e;
	uint32_t l = loop_of(w, at->block, false), own = w->own;
	const struct ex *cond = prove_ev_edge(e, at->block, to);

	if (own != IR_NONE && prove_ir_in_loop(&e->ir->loops[own], at->block) &&
	    at->behind > last_of(cond, e->loops[own].ctr))
		return true;
	if (l == IR_NONE || at->turn == MOST)
		return false;
	const struct ex *ctr = e->loops[l].ctr;
	cond = prove_ex_replace(e->pool, cond, ctr, prove_ex_const(e->pool, ctr->w, at->turn));
	return cond->op == EX_CONST && !(cond->imm & 1);
}

/* From a block to the next one: which iterations is it in then? False: that isn't kept. */
static bool enter(const struct walk *w, struct at *at, uint32_t to)
{
	const struct ir *ir = w->e->ir;
	uint32_t from = at->block, was = loop_of(w, from, false), home = w->copy->block;

	at->block = to;
	if (w->own != IR_NONE && from == ir->loops[w->own].header &&
	    !prove_ir_in_loop(&ir->loops[w->own], to))
		at->is_done = exit_of(w) > 0;
	for (uint32_t l = 0; l < ir->nloops; l++) {
		const struct ir_loop *x = &ir->loops[l];
		bool is_back = x->header == to && prove_ir_in_loop(x, from);
		bool is_around = w->own != IR_NONE && l != w->own &&
				 prove_ir_in_loop(x, ir->loops[w->own].header);
		if (is_around && (is_back || !prove_ir_in_loop(x, to)))
			return false;
		if (!is_back || !w->syncs[l])
			continue;
		if (l == w->own && ++at->behind > MOST)
			return false;
		if (l != w->own && (prove_ir_in_loop(x, home) || l != was))
			return false;
		if (l != w->own && at->turn < MOST)
			at->turn++;
	}
	uint32_t is = loop_of(w, to, false);
	if (is == was)
		return true;
	at->turn = 0;
	/* a loop that was entered later, within another such one */
	uint32_t up = is == IR_NONE ? IR_NONE : ir->loops[is].parent;
	for (; up != IR_NONE; up = ir->loops[up].parent)
		if (w->syncs[up] && !prove_ir_in_loop(&ir->loops[up], home))
			return false;
	return true;
}

/* Is it about the copy's groups? A wait for what was read isn't about what is written. */
static bool is_for(const struct walk *w, const struct ir_step *st)
{
	const struct ir_access *m = w->copy->mem;

	return st->op == IR_GROUP_BULK_READ ? m->group == IR_GROUP_BULK && m->kind == RACE_OP_READ
					    : st->op == m->group;
}

/* From step i of a block on. */
static void follow(struct walk *w, struct at at, uint32_t i)
{
	const struct ir_block *x = &w->e->ir->blocks.v[at.block];
	bool is_barrier = false;

	for (; i < x->first + x->n; i++) {
		const struct ir_step *st = &w->e->ir->steps.v[i];
		bool is_sure = st->pred == IR_NONE; /* else neither waits nor makes a group */
		if (st->kind == IR_WAIT && is_sure && is_for(w, st) &&
		    (st->imm == IR_WAIT_ALL || at.groups > st->imm))
			return;
		if (st->kind == IR_COMMIT && is_sure && is_for(w, st) && at.groups < MOST)
			at.groups++;
		if (st->kind == IR_ACCESS)
			add_touch(w, &at, i);
		is_barrier = st->kind == IR_BARRIER || st->kind == IR_WARP_BARRIER;
	}
	/* what is written to global memory then is done when the kernel is */
	bool is_store = w->copy->mem->group == IR_GROUP_BULK && w->copy->mem->kind == RACE_OP_WRITE;
	if (x->end == IR_EXIT && !is_store)
		add_end(w, &at);
	for (uint32_t k = 0; k < x->nsucc && !w->is_lost; k++) {
		struct at next = at;
		next.is_late |= is_barrier;
		if (is_no_way(w, &at, x->succ[k]))
			continue;
		if (!enter(w, &next, x->succ[k]))
			w->is_lost = true;
		else if (is_barrier)
			add_late(w, &next);
		if (!w->is_lost)
			go(w, &next);
	}
}

static void find_ways(struct walk *w)
{
	struct at at = {.block = w->copy->block};

	follow(w, at, w->copy->index + 1);
	while (w->todo.n && !w->is_lost) {
		at = w->todo.v[--w->todo.n];
		follow(w, at, w->e->ir->blocks.v[at.block].first);
	}
}

void prove_ev_find_copies(struct ev *e)
{
	struct ir *ir = e->ir;
	size_t n = e->accesses.n;
	bool *syncs = NULL;

	e->lost.step = NULL;
	e->touches.n = 0;
	for (size_t i = 0; i < n; i++) {
		struct ev_access copy = e->accesses.v[i];
		if (!copy.mem->is_async)
			continue;
		if (!syncs) {
			syncs = BASE_NEWN(e->arena, bool, ir->nloops + 1);
			for (uint32_t l = 0; l < ir->nloops; l++)
				syncs[l] = prove_ev_has_sync(ir, l);
		}
		struct walk w = {.e = e, .copy = &copy, .syncs = syncs, .first_late = n};
		w.first_touch = e->touches.n;
		w.seen = base_zalloc(e->arena,
				     ir->blocks.n * (size_t)(MOST + 1) * (MOST + 1) * (MOST + 1));
		w.own = loop_of(&w, copy.block, true);
		find_ways(&w);
		base_vec_free(&w.todo);
		if (w.is_lost && !e->lost.step)
			e->lost = copy;
	}
}
