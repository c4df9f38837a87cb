/*
 * between.c - what lies between two steps of a block's threads, by its barriers (between.h).
 *
 * All threads that still run come to the same barriers one after another (phase.c). So the phase
 * of a step begins at the entry, or after one of those barriers from which the graph leads to it
 * without another, and what other threads do between two steps is reached from the first's phase
 * without the barrier that begins the second's.
 *
 * Misses: kernels in which a barrier isn't of all threads, or has a number that isn't known.
 * Costs: a byte for each barrier and block, and walks over the code.
 */
#include "prove/order/between.h"

#define MAX_MARKS (1u << 22)

static bool ends_phase(const struct check *c, uint32_t b)
{
	const struct ir_block *x = &c->e->ir->blocks.v[b];
	const struct ir_step *st = x->n ? &c->e->ir->steps.v[x->first + x->n - 1] : NULL;

	return st && st->kind == IR_BARRIER && st->imm >= IR_RANK_CTA;
}

/* Is each barrier one of all threads, to which they come alike? */
static bool are_barriers_plain(const struct check *c)
{
	const struct ir *ir = c->e->ir;

	if (!c->phases[IR_RANK_CTA].is_used)
		return false;
	for (size_t i = 0; i < ir->steps.n; i++)
		if (ir_is_partial(&ir->steps.v[i]))
			return false;
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *x = &ir->blocks.v[ir->rpo[i]];
		if (!ends_phase(c, ir->rpo[i]))
			continue;
		const struct ir_step *st = &ir->steps.v[x->first + x->n - 1];
		const struct ex *number = c->e->arg[ir->rpo[i]];
		if (st->threads || st->pred != IR_NONE ||
		    (st->src[0] != IR_NONE && (!number || number->op != EX_CONST)))
			return false;
	}
	return true;
}

void between_mark(const struct check *c, uint32_t from, bool is_phase, uint32_t but,
		  uint32_t header, bool *out)
{
	const struct ir *ir = c->e->ir;
	BASE_VEC(uint32_t) todo = {0};

	if (!out[from])
		base_vec_push(&todo, from);
	out[from] = true;
	while (todo.n) {
		uint32_t b = todo.v[--todo.n];
		if (b == but || (is_phase && ends_phase(c, b)))
			continue;
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++) {
			uint32_t s = ir->blocks.v[b].succ[k];
			if (out[s] || s == header)
				continue;
			out[s] = true;
			base_vec_push(&todo, s);
		}
	}
	base_vec_free(&todo);
}

void between_mark_after(const struct check *c, uint32_t b, uint32_t but, uint32_t header, bool *out)
{
	const struct ir *ir = c->e->ir;

	if (b == IR_NONE)
		between_mark(c, ir->rpo[0], false, but, header, out);
	for (uint32_t k = 0; b != IR_NONE && k < ir->blocks.v[b].nsucc; k++)
		if (ir->blocks.v[b].succ[k] != header)
			between_mark(c, ir->blocks.v[b].succ[k], false, but, header, out);
}

bool *between_none(const struct check *c)
{
	return base_zalloc(c->arena, c->e->ir->blocks.n + 1);
}

static void add_phase(struct between *g, uint32_t after, uint32_t first)
{
	g->after[g->n] = after;
	g->in[g->n] = between_none(g->c);
	between_mark(g->c, first, true, IR_NONE, IR_NONE, g->in[g->n++]);
}

bool between_find(struct between *g, struct check *c)
{
	const struct ir *ir = c->e->ir;
	uint32_t n = 1;

	if (g->n || g->is_off)
		return !g->is_off;
	g->c = c;
	for (uint32_t i = 0; i < ir->nrpo; i++)
		n += ends_phase(g->c, ir->rpo[i]) ? ir->blocks.v[ir->rpo[i]].nsucc : 0;
	g->is_off = n * ir->blocks.n > MAX_MARKS || !are_barriers_plain(c);
	if (g->is_off)
		return false;
	g->after = BASE_NEWN(g->c->arena, uint32_t, n);
	g->in = BASE_NEWN(g->c->arena, bool *, n);
	add_phase(g, IR_NONE, ir->rpo[0]);
	for (uint32_t i = 0; i < ir->nrpo; i++)
		for (uint32_t s = 0;
		     ends_phase(g->c, ir->rpo[i]) && s < ir->blocks.v[ir->rpo[i]].nsucc; s++)
			add_phase(g, ir->rpo[i], ir->blocks.v[ir->rpo[i]].succ[s]);
	return true;
}

bool between_is_one_phase(const struct between *g, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->in[i][a] && g->in[i][b])
			return true;
	return false;
}

bool between_find_start(const struct between *g, uint32_t b, uint32_t *after)
{
	const struct ir *ir = g->c->e->ir;
	bool is_first = true;

	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->in[i][b])
			continue;
		if (!is_first && *after != g->after[i])
			return false;
		*after = g->after[i];
		is_first = false;
	}
	if (is_first || *after == IR_NONE)
		return !is_first && ir->blocks.v[b].loop == IR_NONE;
	return *after != b && ir->blocks.v[*after].loop == ir->blocks.v[b].loop &&
	       prove_ir_dominates(ir, *after, b);
}

uint32_t between_header(const struct check *c, uint32_t loop)
{
	return loop == IR_NONE ? IR_NONE : c->e->ir->loops[loop].header;
}

uint32_t between_round(const struct check *c, uint32_t b)
{
	uint32_t loop = c->e->ir->blocks.v[b].loop;

	while (loop != IR_NONE && !c->phases[IR_RANK_CTA].has_barrier[loop])
		loop = c->e->ir->loops[loop].parent;
	return loop;
}

bool between_is_before(const struct check *c, const struct ev_access *x, const struct ev_access *y)
{
	const struct ir *ir = c->e->ir;

	if (ir->blocks.v[x->block].loop != ir->blocks.v[y->block].loop)
		return false;
	return x->block == y->block ? x->index < y->index
				    : prove_ir_dominates(ir, x->block, y->block);
}
