/*
 * phase.c - barrier phases of a kernel (phase.h).
 *
 * If all threads that are still running execute the same barriers, two accesses can be
 * concurrent only when the last barrier before both is the same. What a thread can do after a
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
 * and bar.warp.sync of all lanes), the threads of a CTA, and all of the grid. Where every
 * bar.warp.sync has one mask, which is a value of the thread, those of the warp order lanes with
 * equal masks: a lane is in its own mask, and waits for all in it (PTX ISA 9.7.13.2).
 */
#include "prove/value/phase_impl.h"

#include <string.h>

/* Kernels with more blocks are analysed without `entry`. */
#define MAX_WORDS 64

/*
 * The first branch after the loop's header in the first iteration, when the values that the loop
 * carries are the start's: does it surely stay in the loop? Then there is no way past the loop
 * without its body. The block that ends in that branch, or IR_NONE.
 */
static uint32_t find_entry(const struct phases *p, uint32_t loop)
{
	struct ev *e = p->e;
	const struct ir_loop *l = &e->ir->loops[loop];
	uint32_t at = l->header;

	while (e->ir->blocks.v[at].end == IR_JUMP && !p->ends[at] &&
	       prove_ir_in_loop(l, e->ir->blocks.v[at].succ[0]) &&
	       e->ir->blocks.v[at].succ[0] != l->header)
		at = e->ir->blocks.v[at].succ[0];
	const struct ir_block *h = &e->ir->blocks.v[at];
	const struct ex *c = e->cond[at];
	if (h->end != IR_BRANCH || !c || e->ir->blocks.v[at].loop != loop)
		return IR_NONE;
	for (uint32_t i = 0; i < e->ncells; i++) {
		const struct ev_phi *f = prove_ev_phi_of(e, loop, i);
		if (f && !f->is_null && f->leaf && f->leaf->op == EX_PHI && f->init &&
		    f->init->w == f->leaf->w && prove_ex_contains(c, f->leaf))
			c = prove_ex_replace(e->pool, c, f->leaf, f->init);
	}
	c = prove_ex_replace(e->pool, c, e->loops[loop].ctr, prove_ex_const(e->pool, 64, 0));
	return c->op == EX_CONST && prove_ir_in_loop(l, h->succ[!(c->imm & 1)]) ? at : IR_NONE;
}

/* Does the edge from b to s leave a loop that was only just come to? */
static bool is_passing_by(const struct phases *p, uint32_t b, uint32_t s, uint32_t from,
			  const uint64_t *seen)
{
	const struct ir *ir = p->e->ir;
	uint32_t in = ir->blocks.v[b].loop;

	if (in == IR_NONE || p->entry[in] != b)
		return false;
	const struct ir_loop *l = &ir->loops[in];
	const struct ir_block *h = &ir->blocks.v[l->header];
	bool is_around = prove_ir_in_loop(l, s) || prove_ir_in_loop(l, from);
	for (uint32_t k = 0; k < h->npred; k++)
		is_around |= prove_ir_in_loop(l, h->pred[k]) && prove_phase_has(seen, h->pred[k]);
	return !is_around;
}

/* A block is looked at again when what decides about one of its edges was reached since. */
void prove_phase_reach(const struct phases *p, uint32_t from, const uint64_t *fixed, bool through,
		       uint64_t *out)
{
	const struct ir *ir = p->e->ir;
	BASE_VEC(uint32_t) todo = {0};
	uint64_t again[MAX_WORDS] = {0};

	memset(out, 0, p->words * sizeof(*out));
	base_vec_push(&todo, from);
	prove_phase_put(out, from);
	while (todo.n) {
		uint32_t b = todo.v[--todo.n];
		if (!through && p->ends[b])
			continue;
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++) {
			uint32_t s = ir->blocks.v[b].succ[k], l = p->heads[s];
			bool is_around = false;
			if (l != IR_NONE && prove_ir_in_loop(&ir->loops[l], b)) {
				is_around = fixed && prove_phase_has(fixed, l);
				/* around once: now the loop may be left, too */
				if (!is_around && p->entry[l] != IR_NONE &&
				    prove_phase_has(out, p->entry[l]) &&
				    !prove_phase_has(again, p->entry[l])) {
					prove_phase_put(again, p->entry[l]);
					base_vec_push(&todo, p->entry[l]);
				}
			}
			if (is_around || prove_phase_has(out, s) ||
			    is_passing_by(p, b, s, from, out))
				continue;
			prove_phase_put(out, s);
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

	prove_phase_reach(p, from, NULL, false, r);
	for (uint32_t b = 0; b < ir->blocks.n; b++)
		if (prove_phase_has(r, b) && ir->blocks.v[b].end == IR_EXIT)
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
	return c->level < EX_CTA && !p->is_uniform[b];
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
	uint32_t n = (uint32_t)ir->blocks.n;
	bool *there = BASE_NEWN(p->e->arena, bool, n), *end = BASE_NEWN(p->e->arena, bool, n);
	const bool *ignored = ignored_ends(p);

	for (uint32_t b = 0; b < n; b++) {
		bool has_alive = false, has_dead = false;
		there[b] = is_alive(p, b);
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++) {
			bool is = is_alive(p, ir->blocks.v[b].succ[k]);
			has_alive |= is;
			has_dead |= !is;
		}
		end[b] = !has_alive || (has_dead && !ignored[b]);
	}
	return prove_ir_postdominators(ir, p->e->arena, p->words, there, end);
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
			if (!p->is_alive[s] || prove_phase_has(seen, s))
				continue;
			/* a strict post-dominator of the branch: all come through it */
			if (post && s != b && prove_phase_has(mine, s))
				continue;
			prove_phase_put(seen, s);
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
		prove_phase_reach(p, s, NULL, true, r);
		for (uint32_t w = 0; w < p->words; w++)
			(is_alive(p, s) ? alive : dead)[w] |= r[w];
	}
	for (size_t i = 0; i < p->e->accesses.n; i++)
		if (prove_phase_has(dead, p->e->accesses.v[i].block) &&
		    prove_phase_has(alive, p->e->accesses.v[i].block))
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
			prove_phase_reach(p, s, NULL, false, r);
			for (uint32_t w = 0; w < p->words; w++)
				p->leavers[w] |= r[w];
		}
		for (uint32_t b = 0; b < ir->blocks.n; b++) {
			if (!ir->blocks.v[b].is_reached)
				continue;
			prove_phase_reach(p, b, NULL, false, r);
			if (prove_phase_has(r, x))
				prove_phase_put(p->leavers, b);
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
	       st->pred == IR_NONE && p->e->arg[b] &&
	       (p->mask ? p->e->arg[b] == p->mask
			: p->e->arg[b]->op == EX_CONST && p->e->arg[b]->imm == UINT32_MAX);
}

/* Does control surely not come to the block, as to a kind of group that isn't the one here? */
static bool is_never(const struct ev *e, uint32_t b)
{
	return e->guard[b] && e->guard[b]->op == EX_CONST && !e->guard[b]->imm;
}

const struct ex *prove_phase_tile(const struct ev *e)
{
	const struct ex *mask = NULL;

	for (uint32_t i = 0; i < e->ir->nrpo; i++) {
		const struct ir_block *x = &e->ir->blocks.v[e->ir->rpo[i]];
		const struct ir_step *st = x->n ? &e->ir->steps.v[x->first + x->n - 1] : NULL;
		const struct ex *arg = e->arg[e->ir->rpo[i]];
		if (!st || st->kind != IR_WARP_BARRIER || is_never(e, e->ir->rpo[i]))
			continue;
		if (!arg || st->pred != IR_NONE || arg->op == EX_CONST || arg->has_ctr ||
		    arg->is_approx || (mask && mask != arg))
			return NULL;
		mask = arg;
	}
	return mask;
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
			p->has_barrier[i] |= prove_ir_in_loop(&ir->loops[i], b) && p->ends[b];
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

/* Where a statement stands: "tile.cu:12", or a line of the PTX. */
static const char *place_of(const struct ir *ir, const struct ptx_stmt *at)
{
	const struct ptx_loc *l = at ? ptx_near_loc(at) : NULL;
	struct ptx_str file = l ? ptx_file_name(ir->m, l->file) : PTX_STR("");
	const char *name = base_strndup(ir->arena, file.p, file.n), *slash = strrchr(name, '/');

	if (!l || !file.n)
		return base_printf(ir->arena, "PTX line %u", at ? at->line : 0);
	return base_printf(ir->arena, "%s:%u", slash ? slash + 1 : name, l->line);
}

void prove_phase_say_divergent(const struct phases *p)
{
	struct ir *ir = p->e->ir;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *x = &ir->blocks.v[ir->rpo[i]];
		if (p->divided[ir->rpo[i]] == IR_NONE)
			continue;
		const struct ir_block *y = &ir->blocks.v[p->divided[ir->rpo[i]]];
		prove_ir_problem(ir, ir->steps.v[y->first + y->n - 1].at,
				 "possible barrier divergence: the branch at %s may go different "
				 "ways in threads of one %s",
				 place_of(ir, x->at), p->rank == IR_RANK_CTA ? "block" : "grid");
	}
}

void prove_phase_find(struct phases *p, struct ev *e, enum ir_rank rank, const bool *is_uniform)
{
	struct ir *ir = e->ir;
	uint32_t n = (uint32_t)ir->blocks.n;

	memset(p, 0, sizeof(*p));
	p->e = e;
	p->rank = rank;
	p->is_uniform = is_uniform;
	p->mask = rank == IR_RANK_WARP ? prove_phase_tile(e) : NULL;
	p->words = (n + ir->nloops + 63) / 64 + 1;
	p->entry = BASE_NEWN(e->arena, uint32_t, ir->nloops + 1);
	memset(p->entry, 0xff, (ir->nloops + 1) * sizeof(*p->entry));
	p->heads = BASE_NEWN(e->arena, uint32_t, n);
	memset(p->heads, 0xff, n * sizeof(*p->heads));
	for (uint32_t l = 0; l < ir->nloops; l++)
		p->heads[ir->loops[l].header] = l;
	p->is_exit_split = BASE_NEWN(e->arena, bool, n);
	p->skipped = BASE_NEWN(e->arena, uint32_t, n);
	p->divided = BASE_NEWN(e->arena, uint32_t, n);
	memset(p->divided, 0xff, n * sizeof(*p->divided));
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
		if (p->is_exit_split[b])
			p->skipped[b] = divided_barrier(p, b, NULL);
		bool skips = p->is_exit_split[b] && share_code(p, b);
		if (alive > 1 || skips)
			p->divided[b] = divided_barrier(p, b, skips ? NULL : post);
		if (p->divided[b] != IR_NONE)
			p->is_used = false;
	}
	find_leavers(p);
}
