/*
 * phase.c - barrier phases of a kernel (phase.h).
 *
 * If all threads that are still running execute the same barriers, two accesses can be
 * concurrent only when the last barrier before both is the same. What a thread can do behind a
 * barrier without meeting another is found on the graph. Loops that hold a barrier are run in step:
 * two threads in one are in the same iteration, or one is in the last phase of an iteration and the
 * other in the first phase of the next, or some way around the loop has no barrier and nothing is
 * known. All other counters are independent.
 *
 * Barriers are executed alike when no branch that threads may take differently decides about one.
 * A branch where one side ends the thread without a barrier is allowed: those threads leave, and
 * what they did last stays concurrent with everything later.
 *
 * The same is asked three times, of the barriers that order the lanes of a warp (those of the CTA
 * and bar.warp.sync of all lanes), the threads of a CTA, and all of the grid.
 */
#include "prove/phase.h"

#include <string.h>

/* Kernels with more blocks are analysed without `entry`. */
#define MAX_WORDS 64

static bool has(const uint64_t *set, uint32_t b)
{
	return set[b / 64] >> (b % 64) & 1;
}

static void put(uint64_t *set, uint32_t b)
{
	set[b / 64] |= 1ull << (b % 64);
}

/*
 * The first branch behind the loop's header in the first iteration, when the values that the loop
 * carries are the start's: does it surely stay in the loop? Then there is no way past the loop
 * without its body. The block that ends in that branch, or IR_NONE.
 */
static uint32_t find_entry(const struct phases *p, uint32_t loop)
{
	struct ev *e = p->e;
	const struct ir_loop *l = &e->ir->loops[loop];
	uint32_t at = l->header;

	while (e->ir->blocks.v[at].end == IR_JUMP && !p->ends[at] &&
	       ir_in_loop(l, e->ir->blocks.v[at].succ[0]) &&
	       e->ir->blocks.v[at].succ[0] != l->header)
		at = e->ir->blocks.v[at].succ[0];
	const struct ir_block *h = &e->ir->blocks.v[at];
	const struct ex *c = e->cond[at];
	if (h->end != IR_BRANCH || !c || e->ir->blocks.v[at].loop != loop)
		return IR_NONE;
	for (uint32_t i = 0; i < e->ncells; i++) {
		const struct ev_phi *f = &e->phi[(size_t)loop * e->ncells + i];
		if (f->is_modified && !f->is_null && f->leaf && f->leaf->op == EX_PHI && f->init &&
		    f->init->w == f->leaf->w && ex_contains(c, f->leaf))
			c = ex_replace(e->pool, c, f->leaf, f->init);
	}
	c = ex_replace(e->pool, c, e->loops[loop].ctr, ex_const(e->pool, 64, 0));
	return c->op == EX_CONST && ir_in_loop(l, h->succ[!(c->imm & 1)]) ? at : IR_NONE;
}

/* Does the edge from b to s leave a loop that was only just come to? */
static bool is_passing_by(const struct phases *p, uint32_t b, uint32_t s, uint32_t from,
			  const uint64_t *seen)
{
	const struct ir *ir = p->e->ir;

	for (uint32_t i = 0; i < ir->nloops; i++) {
		const struct ir_loop *l = &ir->loops[i];
		if (p->entry[i] != b || ir_in_loop(l, s) || ir_in_loop(l, from))
			continue;
		const struct ir_block *h = &ir->blocks.v[l->header];
		bool is_around = false;
		for (uint32_t k = 0; k < h->npred; k++)
			is_around |= ir_in_loop(l, h->pred[k]) && has(seen, h->pred[k]);
		if (!is_around)
			return true;
	}
	return false;
}

/*
 * Blocks reached from `from` without passing a barrier (through: passing them too) and without
 * going around the loops whose bit is set in `fixed`. A block is looked at again when what decides
 * about one of its edges was reached since.
 */
static void reach(const struct phases *p, uint32_t from, const uint64_t *fixed, bool through,
		  uint64_t *out)
{
	const struct ir *ir = p->e->ir;
	BASE_VEC(uint32_t) todo = {0};
	uint64_t again[MAX_WORDS] = {0};

	memset(out, 0, p->words * sizeof(*out));
	base_vec_push(&todo, from);
	put(out, from);
	while (todo.n) {
		uint32_t b = todo.v[--todo.n];
		if (!through && p->ends[b])
			continue;
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++) {
			uint32_t s = ir->blocks.v[b].succ[k];
			bool is_around = false;
			for (uint32_t l = 0; l < ir->nloops; l++) {
				bool is_latch =
					ir->loops[l].header == s && ir_in_loop(&ir->loops[l], b);
				is_around |= fixed && has(fixed, l) && is_latch;
				/* around once: now the loop may be left, too */
				if (is_latch && !is_around && p->entry[l] != IR_NONE &&
				    has(out, p->entry[l]) && !has(again, p->entry[l])) {
					put(again, p->entry[l]);
					base_vec_push(&todo, p->entry[l]);
				}
			}
			if (is_around || has(out, s) || is_passing_by(p, b, s, from, out))
				continue;
			put(out, s);
			base_vec_push(&todo, s);
		}
	}
	base_vec_free(&todo);
}

/* ---- divergence --------------------------------------------------------------------- */

/* Can the block `from` end a thread normally? Traps end the whole kernel. */
static bool can_end(const struct phases *p, uint32_t from)
{
	const struct ir *ir = p->e->ir;
	uint64_t *r = BASE_NEWN(p->e->arena, uint64_t, p->words);

	reach(p, from, NULL, false, r);
	for (uint32_t b = 0; b < ir->blocks.n; b++)
		if (has(r, b) && ir->blocks.v[b].end == IR_EXIT)
			return true;
	return false;
}

static bool is_alive(const struct phases *p, uint32_t b)
{
	return p->is_alive[b];
}

/* May the branch that ends the block go different ways in threads that the barriers are for? */
static bool divides(const struct phases *p, uint32_t b)
{
	const struct ex *c = p->e->cond[b];

	if (!c || c->level == EX_GRID)
		return false;
	if (p->rank == IR_RANK_GRID)
		return true;
	return c->level < EX_CTA && !(p->rank == IR_RANK_WARP && p->is_uniform[b]);
}

/*
 * Which branches' edges to the end don't count: those that only some threads take, as the others
 * go on without them. Where no other way leads out (a loop) the edges count again.
 */
static bool *ignored_ends(const struct phases *p)
{
	const struct ir *ir = p->e->ir;
	bool *ignored = BASE_NEWN(p->e->arena, bool, ir->blocks.n);
	bool *leaves = BASE_NEWN(p->e->arena, bool, ir->blocks.n), changed = true;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t b = ir->rpo[i];
		ignored[b] = divides(p, b);
	}
	while (changed) {
		changed = false;
		for (uint32_t i = ir->nrpo; i-- > 0;) {
			uint32_t b = ir->rpo[i], alive = 0, dead = 0;
			bool is = false;
			for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++) {
				uint32_t s = ir->blocks.v[b].succ[k];
				alive += is_alive(p, s);
				dead += !is_alive(p, s);
				is |= is_alive(p, s) && leaves[s];
			}
			is |= !alive || (dead && !ignored[b]);
			changed |= is != leaves[b];
			leaves[b] = is;
		}
	}
	for (uint32_t b = 0; b < ir->blocks.n; b++)
		ignored[b] &= leaves[b];
	return ignored;
}

/* Post-dominators among the blocks that still meet a barrier; bit set per block. */
static uint64_t *alive_postdominators(const struct phases *p)
{
	const struct ir *ir = p->e->ir;
	uint32_t n = (uint32_t)ir->blocks.n, w = p->words;
	uint64_t *set = BASE_NEWN(p->e->arena, uint64_t, (size_t)n * w);
	uint64_t *t = BASE_NEWN(p->e->arena, uint64_t, w);
	const bool *ignored = ignored_ends(p);
	bool changed = true;

	memset(set, 0xff, (size_t)n * w * sizeof(*set));
	while (changed) {
		changed = false;
		for (uint32_t i = ir->nrpo; i-- > 0;) {
			uint32_t b = ir->rpo[i];
			bool ends = true;
			if (!is_alive(p, b))
				continue;
			memset(t, 0xff, w * sizeof(*t));
			for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++) {
				uint32_t s = ir->blocks.v[b].succ[k];
				if (!is_alive(p, s))
					continue;
				ends = false;
				for (uint32_t x = 0; x < w; x++)
					t[x] &= set[(size_t)s * w + x];
			}
			for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++)
				ends |= !is_alive(p, ir->blocks.v[b].succ[k]) && !ignored[b];
			if (ends)
				memset(t, 0, w * sizeof(*t));
			put(t, b);
			if (memcmp(t, set + (size_t)b * w, w * sizeof(*t)) != 0) {
				memcpy(set + (size_t)b * w, t, w * sizeof(*t));
				changed = true;
			}
		}
	}
	return set;
}

/* A barrier that is reached from one side of the branch at b before all sides meet again; without
 * post-dominators: any that is reached. */
static uint32_t divided_barrier(const struct phases *p, uint32_t b, const uint64_t *post)
{
	const struct ir *ir = p->e->ir;
	const uint64_t *mine = post ? post + (size_t)b * p->words : NULL;
	uint64_t *seen = BASE_NEWN(p->e->arena, uint64_t, p->words);
	BASE_VEC(uint32_t) todo = {0};
	uint32_t found = IR_NONE;

	base_vec_push(&todo, b);
	while (todo.n && found == IR_NONE) {
		uint32_t x = todo.v[--todo.n];
		for (uint32_t k = 0; k < ir->blocks.v[x].nsucc; k++) {
			uint32_t s = ir->blocks.v[x].succ[k];
			if (!p->is_alive[s] || has(seen, s))
				continue;
			/* a strict post-dominator of the branch: all come through it */
			if (post && s != b && has(mine, s))
				continue;
			put(seen, s);
			if (p->ends[s])
				found = s;
			base_vec_push(&todo, s);
		}
	}
	base_vec_free(&todo);
	return found;
}

/* Do the threads that leave and those that stay run common code that accesses memory? Then this
 * is no early end, but a barrier that some threads skip. */
static bool share_code(const struct phases *p, uint32_t x)
{
	const struct ir *ir = p->e->ir;
	uint64_t *dead = BASE_NEWN(p->e->arena, uint64_t, p->words);
	uint64_t *alive = BASE_NEWN(p->e->arena, uint64_t, p->words);
	uint64_t *r = BASE_NEWN(p->e->arena, uint64_t, p->words);

	for (uint32_t k = 0; k < ir->blocks.v[x].nsucc; k++) {
		uint32_t s = ir->blocks.v[x].succ[k];
		reach(p, s, NULL, true, r);
		for (uint32_t w = 0; w < p->words; w++)
			(is_alive(p, s) ? alive : dead)[w] |= r[w];
	}
	for (size_t i = 0; i < p->e->accesses.n; i++)
		if (has(dead, p->e->accesses.v[i].block) && has(alive, p->e->accesses.v[i].block))
			return true;
	return false;
}

/* Blocks that a thread may execute last before it ends while others go on to a barrier. */
static void find_leavers(struct phases *p)
{
	const struct ir *ir = p->e->ir;
	uint64_t *r = BASE_NEWN(p->e->arena, uint64_t, p->words);

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t x = ir->rpo[i];
		if (!p->is_exit_split[x])
			continue;
		p->has_leavers = true;
		for (uint32_t k = 0; k < ir->blocks.v[x].nsucc; k++) {
			uint32_t s = ir->blocks.v[x].succ[k];
			if (p->is_alive[s])
				continue;
			reach(p, s, NULL, false, r);
			for (uint32_t w = 0; w < p->words; w++)
				p->leavers[w] |= r[w];
		}
		for (uint32_t b = 0; b < ir->blocks.n; b++) {
			if (!ir->blocks.v[b].is_reached)
				continue;
			reach(p, b, NULL, false, r);
			if (has(r, x))
				put(p->leavers, b);
		}
	}
}

/* Does a block end in a barrier that counts? */
static bool is_barrier(const struct phases *p, uint32_t b)
{
	const struct ir_block *x = &p->e->ir->blocks.v[b];
	const struct ir_step *st = x->n ? &p->e->ir->steps.v[x->first + x->n - 1] : NULL;

	if (st && st->kind == IR_BARRIER)
		return st->imm >= p->rank;
	/* all lanes of the warp; others may order, see replay.c */
	return st && st->kind == IR_WARP_BARRIER && p->rank == IR_RANK_WARP &&
	       st->pred == IR_NONE && p->e->arg[b] && p->e->arg[b]->op == EX_CONST &&
	       p->e->arg[b]->imm == UINT32_MAX;
}

static void find_barriers(struct phases *p)
{
	const struct ir *ir = p->e->ir;
	bool changed = true;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t b = ir->rpo[i];
		p->ends[b] = is_barrier(p, b);
		p->is_used |= p->ends[b];
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc && p->ends[b]; k++)
			p->behind[ir->blocks.v[b].succ[k]] = true;
	}
	for (uint32_t i = 0; i < ir->nloops; i++)
		for (uint32_t b = 0; b < ir->blocks.n; b++)
			p->has_barrier[i] |= ir_in_loop(&ir->loops[i], b) && p->ends[b];
	while (changed) {
		changed = false;
		for (uint32_t i = ir->nrpo; i-- > 0;) {
			uint32_t b = ir->rpo[i];
			bool is = p->ends[b];
			for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++)
				is |= p->is_alive[ir->blocks.v[b].succ[k]];
			changed |= is != p->is_alive[b];
			p->is_alive[b] = is;
		}
	}
}

static void divergent(struct phases *p, uint32_t branch, uint32_t barrier)
{
	struct ir *ir = p->e->ir;
	const struct ir_block *y = &ir->blocks.v[barrier], *x = &ir->blocks.v[branch];

	p->is_used = false;
	if (p->rank != IR_RANK_WARP)
		ir_problem(ir, ir->steps.v[y->first + y->n - 1].at,
			   "possible barrier divergence: the branch at PTX line %u may go "
			   "different ways in threads of one %s",
			   x->at ? x->at->line : 0, p->rank == IR_RANK_CTA ? "CTA" : "grid");
}

void phase_find(struct phases *p, struct ev *e, enum ir_rank rank, const bool *is_uniform)
{
	struct ir *ir = e->ir;
	uint32_t n = (uint32_t)ir->blocks.n;

	memset(p, 0, sizeof(*p));
	p->e = e;
	p->rank = rank;
	p->is_uniform = is_uniform;
	p->words = (n + ir->nloops + 63) / 64 + 1;
	p->entry = BASE_NEWN(e->arena, uint32_t, ir->nloops + 1);
	memset(p->entry, 0xff, (ir->nloops + 1) * sizeof(*p->entry));
	p->is_exit_split = BASE_NEWN(e->arena, bool, n);
	p->ends = BASE_NEWN(e->arena, bool, n);
	p->behind = BASE_NEWN(e->arena, bool, n);
	p->is_alive = BASE_NEWN(e->arena, bool, n);
	p->has_barrier = BASE_NEWN(e->arena, bool, ir->nloops + 1);
	p->leavers = BASE_NEWN(e->arena, uint64_t, p->words);
	find_barriers(p);
	for (uint32_t l = 0; l < ir->nloops && p->words <= MAX_WORDS; l++)
		p->entry[l] = find_entry(p, l);
	uint64_t *post = alive_postdominators(p);
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t b = ir->rpo[i], alive = 0, dead = 0;
		const struct ir_block *x = &ir->blocks.v[b];
		if (x->nsucc < 2 || !divides(p, b))
			continue;
		for (uint32_t k = 0; k < x->nsucc; k++) {
			alive += is_alive(p, x->succ[k]);
			dead += !is_alive(p, x->succ[k]) && can_end(p, x->succ[k]);
		}
		if (alive && dead)
			p->is_exit_split[b] = true;
		bool skips = p->is_exit_split[b] && share_code(p, b);
		uint32_t at = IR_NONE;
		if (alive > 1 || skips)
			at = divided_barrier(p, b, skips ? NULL : post);
		if (at != IR_NONE)
			divergent(p, b, at);
	}
	find_leavers(p);
}

/* ---- pairs ------------------------------------------------------------------------------ */

struct cases {
	const struct phases *p;
	uint32_t a, b;
	uint32_t chain[16]; /* loops with a barrier around both, outermost first */
	uint32_t depth;
	uint64_t *r, *t, *fixed;
	phase_fn *fn;
	void *arg;
	uint8_t *counters, *edges;
};

static void found(struct cases *c, bool is_exited)
{
	struct phase_case way = {c->counters, c->edges, is_exited};

	c->fn(&way, c->arg);
}

static void find_chain(struct cases *c)
{
	const struct ir *ir = c->p->e->ir;
	uint32_t list[64], n = 0;

	for (uint32_t l = ir->blocks.v[c->a].loop; l != IR_NONE && n < 64; l = ir->loops[l].parent)
		if (c->p->has_barrier[l] && ir_in_loop(&ir->loops[l], c->b))
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
	return ir_in_loop(l, s) && (s == l->header || c->p->behind[s]);
}

static void fix_loops(struct cases *c, uint32_t depth)
{
	memset(c->fixed, 0, c->p->words * sizeof(*c->fixed));
	for (uint32_t i = 0; i < depth; i++)
		put(c->fixed, c->chain[i]);
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

	reach(c->p, c->a, NULL, false, c->r);
	reach(c->p, c->b, NULL, false, c->t);
	bool ends_a = false, ends_b = false;
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		bool in_a = has(c->r, b), in_b = has(c->t, b);
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
	reach(c->p, last, c->fixed, false, c->r);
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		if (!has(c->r, b))
			continue;
		if (ir->blocks.v[b].end == IR_TRAP)
			return true;
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc && !c->p->ends[b]; k++)
			if (ir->blocks.v[b].succ[k] == l->header && ir_in_loop(l, b))
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

	reach(c->p, l->header, c->fixed, false, c->t);
	for (uint32_t k = 0; k < h->npred; k++)
		if (ir_in_loop(l, h->pred[k]) && has(c->t, h->pred[k]) && !c->p->ends[h->pred[k]])
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
		if (ir_in_loop(l, c->a) == ir_in_loop(l, c->b) || !c->p->has_barrier[i] ||
		    c->p->e->loops[i].level < level || goes_around(c, i))
			continue;
		c->edges[i] |= ir_in_loop(l, start) ? PHASE_LAST : PHASE_FIRST;
	}
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
		reach(c->p, s, c->fixed, false, c->r);
		if (!has(c->r, c->a) || !has(c->r, c->b))
			continue;
		is_met = true;
		add_edges(c, s);
	}
	if (is_met)
		found(c, false);
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
	reach(c->p, l->header, c->fixed, false, c->t);
	if (!has(c->t, first))
		return false;
	for (uint32_t s = 0; s < ir->blocks.n; s++) {
		if (!is_start(c, s, level + 1))
			continue;
		reach(c->p, s, c->fixed, false, c->r);
		if (!has(c->r, last))
			continue;
		for (uint32_t k = 0; k < h->npred; k++)
			if (ir_in_loop(l, h->pred[k]) && has(c->r, h->pred[k]) &&
			    !c->p->ends[h->pred[k]])
				return true;
	}
	return false;
}

/* A thread that did a as its last phase and ended; the other may be in any later phase. */
static bool meets_left(struct cases *c, uint32_t a, uint32_t b)
{
	const struct ir *ir = c->p->e->ir;

	if (!c->p->has_leavers || !has(c->p->leavers, a))
		return false;
	for (uint32_t s = 0; s < ir->blocks.n; s++) {
		if (!ir->blocks.v[s].is_reached || (s && !c->p->behind[s]))
			continue;
		reach(c->p, s, NULL, false, c->r);
		if (!has(c->r, a))
			continue;
		reach(c->p, s, NULL, true, c->r);
		if (has(c->r, b))
			return true;
	}
	return false;
}

void phase_each(const struct phases *p, uint32_t a, uint32_t b, phase_fn *fn, void *arg)
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
			found(&c, false);
		}
		if (ba && !is_far) {
			relate(&c, i, SMT_FIRST_AHEAD);
			found(&c, false);
		}
	}
	if (meets_left(&c, a, b) || meets_left(&c, b, a)) {
		relate(&c, 0, SMT_FREE);
		found(&c, true);
	}
	base_arena_free(&tmp);
}
