/*
 * condition.c - under which condition a block runs (eval.h).
 *
 * A block that post-dominates its dominator runs whenever that does; else its condition is the sum
 * over its edges. Within a loop a condition speaks of one iteration, whose number is the loop's
 * counter; what is used after the loop speaks of the last one.
 *
 * Misses: that a loop between two blocks ends at all. For a proof that adds behaviours; the replay
 * decides about alarms.
 */
#include "prove/eval.h"

const struct ex *prove_ev_leave(struct ev *e, const struct ex *v, uint32_t from, uint32_t to)
{
	uint32_t l = e->ir->blocks.v[from].loop;

	for (; v && l != IR_NONE; l = e->ir->loops[l].parent) {
		if (prove_ir_in_loop(&e->ir->loops[l], to))
			break;
		if (v->has_ctr)
			v = prove_ex_replace(e->pool, v, e->loops[l].ctr, e->loops[l].kexit);
	}
	return v;
}

const struct ex *prove_ev_edge(struct ev *e, uint32_t from, uint32_t to)
{
	const struct ir_block *b = &e->ir->blocks.v[from];
	const struct ex *c = e->cond[from], *r = prove_ex_const(e->pool, 1, 0);

	if (b->end == IR_JUMP)
		return prove_ex_const(e->pool, 1, 1);
	if (b->end == IR_BRANCH) {
		if (b->succ[0] == b->succ[1])
			return prove_ex_const(e->pool, 1, 1);
		return b->succ[0] == to ? c : prove_ex_not(e->pool, c);
	}
	for (uint32_t k = 0; k < b->nsucc; k++)
		if (b->succ[k] == to)
			r = prove_ex_or(
				e->pool, r,
				prove_ex_bin(e->pool, EX_EQ, c, prove_ex_const(e->pool, c->w, k)));
	return r;
}

const struct ex *prove_ev_path(struct ev *e, uint32_t d, uint32_t b)
{
	if (d == b)
		return prove_ex_const(e->pool, 1, 1);
	uint32_t up = e->ir->blocks.v[b].idom;
	return prove_ex_and(e->pool, prove_ev_leave(e, prove_ev_path(e, d, up), up, b),
			    e->local[b]);
}

static bool postdominates(const struct ev *e, uint32_t b, uint32_t d)
{
	for (uint32_t p = e->ir->blocks.v[d].ipdom; p != IR_NONE; p = e->ir->blocks.v[p].ipdom)
		if (p == b)
			return true;
	return false;
}

void prove_ev_find_guard(struct ev *e, uint32_t b)
{
	const struct ir_block *x = &e->ir->blocks.v[b];
	uint32_t d = x->idom;
	const struct ex *c = prove_ex_const(e->pool, 1, 0);

	if (!x->rpo) {
		e->local[b] = e->guard[b] = prove_ex_const(e->pool, 1, 1);
		return;
	}
	if (postdominates(e, b, d)) {
		c = prove_ex_const(e->pool, 1, 1);
	} else {
		for (uint32_t k = 0; k < x->npred; k++) {
			uint32_t p = x->pred[k];
			if (e->ir->blocks.v[p].rpo >= x->rpo)
				continue; /* a back edge */
			const struct ex *t = prove_ex_and(e->pool, prove_ev_path(e, d, p),
							  prove_ev_edge(e, p, b));
			c = prove_ex_or(e->pool, c, prove_ev_leave(e, t, p, b));
		}
	}
	e->local[b] = c;
	e->guard[b] = prove_ex_and(e->pool, prove_ev_leave(e, e->guard[d], d, b), c);
}

/* "This iteration goes on", "the loop is left in this iteration", from its header. */
void prove_ev_loop_conditions(struct ev *e, uint32_t loop)
{
	const struct ir_loop *l = &e->ir->loops[loop];
	const struct ex *back = prove_ex_const(e->pool, 1, 0), *leave = back;

	for (uint32_t b = 0; b < e->ir->blocks.n; b++) {
		const struct ir_block *x = &e->ir->blocks.v[b];
		if (!x->is_reached || !prove_ir_in_loop(l, b))
			continue;
		for (uint32_t k = 0; k < x->nsucc; k++) {
			bool is_back = x->succ[k] == l->header;
			if (!is_back && prove_ir_in_loop(l, x->succ[k]))
				continue;
			const struct ex *t = prove_ex_and(e->pool, prove_ev_path(e, l->header, b),
							  prove_ev_edge(e, b, x->succ[k]));
			/* as seen from the header: inner loops are over */
			t = prove_ev_leave(e, t, b, l->header);
			if (is_back)
				back = prove_ex_or(e->pool, back, t);
			else
				leave = prove_ex_or(e->pool, leave, t);
		}
	}
	e->loops[loop].back = back;
	e->loops[loop].leave = leave;
	uint8_t level = back->level < leave->level ? back->level : leave->level;
	if (level < e->loops[loop].level) {
		e->loops[loop].level = level;
		e->is_changed = true;
	}
}
