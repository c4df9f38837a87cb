/*
 * cases.c - in which ways two accesses are in one phase (phase.h).
 *
 * The graph says which phases a thread can be in; loops that hold a barrier relate the iterations
 * of the two threads. A barrier behind a condition may lie between the two accesses: then it was
 * not executed, which is a condition of the case.
 *
 * Misses: conditional barriers in loops within the innermost loop around both.
 * Costs: some walks over the graph for each pair.
 */
#include "prove/value/phase_impl.h"

#include <string.h>

struct cases {
	const struct phases *p;
	uint32_t a, b;
	uint32_t chain[16]; /* loops with a barrier around both, outermost first */
	uint32_t depth;
	uint64_t *r, *t, *fixed;
	phase_fn *fn;
	void *arg;
	uint8_t *counters, *edges;
	BASE_VEC(uint32_t) skipped[2];
};

static void found(struct cases *c, bool is_exited)
{
	struct phase_case way = {c->counters, c->edges, is_exited, {NULL, NULL}, {0, 0}};

	for (unsigned t = 0; t < 2; t++) {
		way.skipped[t] = c->skipped[t].v;
		way.nskipped[t] = (uint32_t)c->skipped[t].n;
	}
	c->fn(&way, c->arg);
}

static void find_chain(struct cases *c)
{
	const struct ir *ir = c->p->e->ir;
	uint32_t list[64], n = 0;

	for (uint32_t l = ir->blocks.v[c->a].loop; l != IR_NONE && n < 64; l = ir->loops[l].parent)
		if (c->p->has_barrier[l] && prove_ir_in_loop(&ir->loops[l], c->b))
			list[n++] = l;
	while (n && c->depth < 16)
		c->chain[c->depth++] = list[--n];
}

/* Is s a place where a phase may begin, within the innermost of the first `depth` loops? */
static bool is_start(const struct cases *c, uint32_t s, uint32_t depth)
{
	const struct ir *ir = c->p->e->ir;

	if (!ir->blocks.v[s].is_reached)
		return false;
	if (!depth)
		return s == 0 || c->p->behind[s];
	const struct ir_loop *l = &ir->loops[c->chain[depth - 1]];
	return prove_ir_in_loop(l, s) && (s == l->header || c->p->behind[s]);
}

static void fix_loops(struct cases *c, uint32_t depth)
{
	memset(c->fixed, 0, c->p->words * sizeof(*c->fixed));
	for (uint32_t i = 0; i < depth; i++)
		prove_phase_put(c->fixed, c->chain[i]);
}

static void relate(struct cases *c, uint32_t same, enum smt_counter next)
{
	memset(c->counters, SMT_FREE, c->p->e->ir->nloops + 1);
	memset(c->edges, PHASE_ANYWHERE, c->p->e->ir->nloops + 1);
	for (uint32_t i = 0; i < same; i++)
		c->counters[c->chain[i]] = SMT_SAME;
	if (same < c->depth)
		c->counters[c->chain[same]] = (uint8_t)next;
}

/*
 * Threads in one phase meet the same barrier next, or end both (a thread that ends early is a case
 * of its own). A trap may stop a thread anywhere, and decides nothing.
 */
static bool meet_same_barrier(struct cases *c)
{
	const struct ir *ir = c->p->e->ir;

	prove_phase_reach(c->p, c->a, NULL, false, c->r);
	prove_phase_reach(c->p, c->b, NULL, false, c->t);
	bool ends_a = false, ends_b = false;
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		bool in_a = prove_phase_has(c->r, b), in_b = prove_phase_has(c->t, b);
		if ((in_a || in_b) && ir->blocks.v[b].end == IR_TRAP)
			return true;
		if (in_a && in_b && c->p->ends[b])
			return true;
		ends_a |= in_a && ir->blocks.v[b].end == IR_EXIT;
		ends_b |= in_b && ir->blocks.v[b].end == IR_EXIT;
	}
	return ends_a && ends_b;
}

/* Can a thread at block `last` begin the next iteration without a barrier? */
static bool can_go_on(struct cases *c, uint32_t level, uint32_t last)
{
	const struct ir *ir = c->p->e->ir;
	const struct ir_loop *l = &ir->loops[c->chain[level]];

	fix_loops(c, level + 1);
	prove_phase_reach(c->p, last, c->fixed, false, c->r);
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		if (!prove_phase_has(c->r, b))
			continue;
		if (ir->blocks.v[b].end == IR_TRAP)
			return true;
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc && !c->p->ends[b]; k++)
			if (ir->blocks.v[b].succ[k] == l->header && prove_ir_in_loop(l, b))
				return true;
	}
	return false;
}

/* Is there a way around the loop without any barrier? */
static bool goes_around(struct cases *c, uint32_t loop)
{
	const struct ir *ir = c->p->e->ir;
	const struct ir_loop *l = &ir->loops[loop];
	const struct ir_block *h = &ir->blocks.v[l->header];

	prove_phase_reach(c->p, l->header, c->fixed, false, c->t);
	for (uint32_t k = 0; k < h->npred; k++)
		if (prove_ir_in_loop(l, h->pred[k]) && prove_phase_has(c->t, h->pred[k]) &&
		    !c->p->ends[h->pred[k]])
			return true;
	return false;
}

/*
 * A phase that begins at `start` and reaches both blocks. In a loop that only one of them is in and
 * that can't be gone around without a barrier, the phase is in the first iteration if it began
 * outside the loop; else the other thread leaves the loop in this iteration or the next one, and
 * as all leave in the same one, so does this thread.
 */
static void add_edges(struct cases *c, uint32_t start)
{
	const struct ir *ir = c->p->e->ir;
	enum ex_level level = c->p->rank == IR_RANK_GRID ? EX_GRID : EX_CTA;

	for (uint32_t i = 0; i < ir->nloops; i++) {
		const struct ir_loop *l = &ir->loops[i];
		if (prove_ir_in_loop(l, c->a) == prove_ir_in_loop(l, c->b) ||
		    !c->p->has_barrier[i] || c->p->e->loops[i].level < level || goes_around(c, i))
			continue;
		c->edges[i] |= prove_ir_in_loop(l, start) ? PHASE_LAST : PHASE_FIRST;
	}
}

/* Within one iteration of the innermost of `depth` loops: does y only come after x? */
static bool is_after(struct cases *c, uint32_t depth, uint32_t x, uint32_t y)
{
	fix_loops(c, depth);
	prove_phase_reach(c->p, x, c->fixed, true, c->r);
	bool follows = x != y && prove_phase_has(c->r, y);
	prove_phase_reach(c->p, y, c->fixed, true, c->r);
	return follows && !prove_phase_has(c->r, x);
}

/*
 * Barriers behind conditions, in no loop within the innermost of `depth` loops. A thread that did
 * `last` and one that does `first` later, in the same iteration or the next one, are ordered by one
 * that lies behind `last` in its iteration, and by one that lies before `first` in that one's.
 * `t` is the thread of `last`; in the same iteration either must lie between.
 */
static void find_skipped(struct cases *c, uint32_t depth, uint32_t last, uint32_t first, unsigned t,
			 bool is_next)
{
	const struct ir *ir = c->p->e->ir;
	uint32_t loop = depth ? c->chain[depth - 1] : IR_NONE;

	for (uint32_t x = 0; x < ir->blocks.n; x++) {
		if (!c->p->ends[x] || !ir->blocks.v[x].is_reached || ir->blocks.v[x].loop != loop ||
		    c->p->e->guard[x]->op == EX_CONST)
			continue;
		bool is_last = is_after(c, depth, last, x);
		bool is_first = is_after(c, depth, x, first);
		if (is_last && (is_next || is_first))
			base_vec_push(&c->skipped[t], x);
		if (is_first && is_next)
			base_vec_push(&c->skipped[!t], x);
	}
}

static void forget_skipped(struct cases *c)
{
	c->skipped[0].n = c->skipped[1].n = 0;
}

static void same_iteration(struct cases *c)
{
	bool is_met = false;

	if (!meet_same_barrier(c))
		return;
	relate(c, c->depth, SMT_FREE);
	fix_loops(c, c->depth);
	for (uint32_t s = 0; s < c->p->e->ir->blocks.n; s++) {
		if (!is_start(c, s, c->depth))
			continue;
		prove_phase_reach(c->p, s, c->fixed, false, c->r);
		if (!prove_phase_has(c->r, c->a) || !prove_phase_has(c->r, c->b))
			continue;
		is_met = true;
		add_edges(c, s);
	}
	if (is_met) {
		find_skipped(c, c->depth, c->a, c->b, 0, false);
		find_skipped(c, c->depth, c->b, c->a, 1, false);
		found(c, false);
		forget_skipped(c);
	}
}

/* Some start in iteration i from which `last` is reached, and the latch too; and `first` from the
 * header, in iteration i + 1. */
static bool meets_next(struct cases *c, uint32_t level, uint32_t last, uint32_t first)
{
	const struct ir *ir = c->p->e->ir;
	const struct ir_loop *l = &ir->loops[c->chain[level]];
	const struct ir_block *h = &ir->blocks.v[l->header];

	if (!can_go_on(c, level, last))
		return false;
	fix_loops(c, level + 1);
	prove_phase_reach(c->p, l->header, c->fixed, false, c->t);
	if (!prove_phase_has(c->t, first))
		return false;
	for (uint32_t s = 0; s < ir->blocks.n; s++) {
		if (!is_start(c, s, level + 1))
			continue;
		prove_phase_reach(c->p, s, c->fixed, false, c->r);
		if (!prove_phase_has(c->r, last))
			continue;
		for (uint32_t k = 0; k < h->npred; k++)
			if (prove_ir_in_loop(l, h->pred[k]) && prove_phase_has(c->r, h->pred[k]) &&
			    !c->p->ends[h->pred[k]])
				return true;
	}
	return false;
}

/* A thread that did a as its last phase and ended; the other may be in any later phase. */
static bool meets_left(struct cases *c, uint32_t a, uint32_t b)
{
	const struct ir *ir = c->p->e->ir;

	if (!c->p->has_leavers || !prove_phase_has(c->p->leavers, a))
		return false;
	for (uint32_t s = 0; s < ir->blocks.n; s++) {
		if (!ir->blocks.v[s].is_reached || (s && !c->p->behind[s]))
			continue;
		prove_phase_reach(c->p, s, NULL, false, c->r);
		if (!prove_phase_has(c->r, a))
			continue;
		prove_phase_reach(c->p, s, NULL, true, c->r);
		if (prove_phase_has(c->r, b))
			return true;
	}
	return false;
}

void prove_phase_each(const struct phases *p, uint32_t a, uint32_t b, phase_fn *fn, void *arg)
{
	struct base_arena tmp = {0};
	struct cases c = {.p = p, .a = a, .b = b, .fn = fn, .arg = arg};

	c.r = BASE_NEWN(&tmp, uint64_t, p->words);
	c.t = BASE_NEWN(&tmp, uint64_t, p->words);
	c.fixed = BASE_NEWN(&tmp, uint64_t, p->words);
	c.counters = BASE_NEWN(&tmp, uint8_t, p->e->ir->nloops + 1);
	c.edges = BASE_NEWN(&tmp, uint8_t, p->e->ir->nloops + 1);
	find_chain(&c);
	same_iteration(&c);
	for (uint32_t i = 0; i < c.depth; i++) {
		bool ab = meets_next(&c, i, a, b), ba = meets_next(&c, i, b, a);
		fix_loops(&c, i + 1);
		bool is_far = (ab || ba) && goes_around(&c, c.chain[i]);
		if (is_far || ab) {
			relate(&c, i, is_far ? SMT_FREE : SMT_SECOND_AHEAD);
			if (!is_far)
				find_skipped(&c, i + 1, a, b, 0, true);
			found(&c, false);
			forget_skipped(&c);
		}
		if (ba && !is_far) {
			relate(&c, i, SMT_FIRST_AHEAD);
			find_skipped(&c, i + 1, b, a, 1, true);
			found(&c, false);
			forget_skipped(&c);
		}
	}
	if (meets_left(&c, a, b) || meets_left(&c, b, a)) {
		relate(&c, 0, SMT_FREE);
		found(&c, true);
	}
	base_vec_free(&c.skipped[0]);
	base_vec_free(&c.skipped[1]);
	base_arena_free(&tmp);
}
