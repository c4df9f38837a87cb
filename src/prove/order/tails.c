/*
 * tails.c - arrivals that follow the loop of a ring, for its last stages (mbarriers.c).
 *
 * CUTLASS gives a stage back an iteration late, and the last ones after the loop. Such an arrival
 * is for number k + shift, where k is the iteration in which the loop was left, or, where the loop
 * wasn't entered, what comes before iteration 0. The shift is the least with which the number is
 * greater than those of the thread's arrivals in the loop and in front of it. Any numbers do for
 * which docs/soundness.md, "Mbarriers in proofs", holds.
 *
 * Misses: loops that are left in several places, arrivals in a second loop, waits after a loop.
 */
#include "prove/order/rings.h"

/* The block from which the loop is left; IR_NONE: there are several. */
static uint32_t exit_of(const struct check *c, uint32_t loop)
{
	const struct ir *ir = c->e->ir;
	uint32_t found = IR_NONE;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t b = ir->rpo[i];
		bool leaves = ir->blocks.v[b].end == IR_EXIT;
		if (!prove_ir_in_loop(&ir->loops[loop], b))
			continue;
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++)
			leaves |= !prove_ir_in_loop(&ir->loops[loop], ir->blocks.v[b].succ[k]);
		if (leaves && found != IR_NONE)
			return IR_NONE;
		found = leaves ? b : found;
	}
	return found;
}

/* The end of that block, where the loop is left. */
static struct order_at end_of(const struct check *c, uint32_t loop)
{
	uint32_t b = exit_of(c, loop);

	return (struct order_at){
		b, b == IR_NONE ? 0 : c->e->ir->blocks.v[b].first + c->e->ir->blocks.v[b].n};
}

/* Is an operation of the loop done in the iteration that leaves it, perhaps? */
static bool is_in_last(const struct check *c, uint32_t loop, const struct op *y)
{
	struct order_at end = end_of(c, loop);
	uint32_t header = c->e->ir->loops[loop].header;

	return y->m->block == end.block ||
	       (end.block != header && order_leads_to(c, rings_at(y), end, header));
}

/* An iteration that leaves the loop at its end was one; at its begin, none. */
static bool is_left_late(const struct check *c, uint32_t loop)
{
	return exit_of(c, loop) == c->e->ir->loops[loop].latch;
}

/* What the thread's place says: that the loop was left, if it was entered. */
static const struct ex *guard_after(struct check *c, const struct op *o)
{
	struct ex_pool *p = c->pool;
	uint32_t header = c->e->ir->loops[o->after].header;
	const struct ex *left =
		prove_ev_leave(c->e, c->e->loops[o->after].leave, header, o->m->block);

	left = prove_ex_or(p, left, prove_ex_not(p, c->e->guard[header]));
	return prove_ex_and(p, o->m->guard, left);
}

/* Is its mbarrier the ring's for number k + shift? */
static bool is_for(struct check *c, const struct ring *r, const struct op *o, int shift)
{
	struct ex_pool *p = c->pool;
	const struct ex *k = c->e->loops[o->after].kexit;
	const struct ex *entered = c->e->guard[c->e->ir->loops[o->after].header];
	int late = is_left_late(c, o->after);
	const struct ex *none = prove_ex_const(p, k->w, (uint64_t)(shift - late));
	struct order_question q = {.guard = guard_after(c, o), .block = o->m->block};

	k = prove_ex_bin(p, EX_ADD, k, prove_ex_const(p, k->w, (uint64_t)shift));
	k = prove_ex_bin(p, EX_UREM, prove_ex_ite(p, entered, k, none),
			 prove_ex_const(p, k->w, r->stages));
	k = prove_ex_bin(p, EX_MUL, prove_ex_un(p, EX_TRUNC, 32, k), prove_ex_const(p, 32, 8));
	k = prove_ex_bin(p, EX_ADD, k, prove_ex_const(p, 32, r->base));
	q.denied[0] = prove_ex_bin(p, EX_EQ, prove_ex_un(p, EX_TRUNC, 32, o->m->off), k);
	return order_is_never(c, &q);
}

/* The outermost loop of the ring's arrivals that leads to the operation. */
static uint32_t loop_before(const struct check *c, const struct mbarriers *x, uint32_t ring,
			    const struct op *o)
{
	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *y = &x->op[i];
		if (rings_is_arrival(x, i, &x->ring[ring]) && y->loop != IR_NONE &&
		    order_leads_to(c, rings_at(y), rings_at(o), IR_NONE) &&
		    !order_leads_to(c, rings_at(o), rings_at(y), IR_NONE))
			return y->loop;
	}
	return IR_NONE;
}

bool rings_find_after(struct check *c, const struct mbarriers *x, struct op *o)
{
	const struct ir *ir = c->e->ir;

	if (o->loop != IR_NONE || !rings_is_kind(o, IR_MBAR_ARRIVE))
		return false;
	for (uint32_t i = 0; i < x->nrings; i++) {
		const struct ring *r = &x->ring[i];
		o->after = prove_ev_same_root(&r->root, &o->m->root) ? loop_before(c, x, i, o)
								     : IR_NONE;
		if (o->after == IR_NONE || exit_of(c, o->after) == IR_NONE ||
		    (!is_left_late(c, o->after) &&
		     !prove_ir_dominates(ir, ir->loops[o->after].header, o->m->block)))
			continue;
		for (o->shift = 1; o->shift <= (int)r->stages; o->shift++)
			if (is_for(c, r, o, o->shift)) {
				o->ring = i;
				return true;
			}
	}
	o->after = IR_NONE;
	o->shift = 0;
	return false;
}

/* Is the number 0 or more wherever the arrival is done? A shift below 0 needs iterations. */
static bool is_number(struct check *c, const struct op *o, int shift)
{
	struct ex_pool *p = c->pool;
	const struct ex *k = c->e->loops[o->after].kexit;
	const struct ex *entered = c->e->guard[c->e->ir->loops[o->after].header];
	struct order_question q = {.guard = guard_after(c, o), .block = o->m->block};
	const struct ex *few;

	if (shift >= is_left_late(c, o->after))
		return true;
	few = prove_ex_bin(p, EX_ULT, k, prove_ex_const(p, k->w, shift < 0 ? (uint64_t)-shift : 0));
	q.denied[0] = prove_ex_and(p, entered, prove_ex_not(p, few));
	return order_is_never(c, &q);
}

bool rings_number_after(struct check *c, const struct mbarriers *x, struct op *o)
{
	const struct ring *r = &x->ring[o->ring];
	int least = r->shift + is_left_late(c, o->after);

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *y = &x->op[i];
		if (!rings_is_arrival(x, i, r) || y->loop == IR_NONE)
			continue;
		/* of what other loops' threads have done by then nothing is known */
		if (y->loop == o->after && is_in_last(c, o->after, y) && least < r->shift + 1)
			least = r->shift + 1;
		if (y->loop != o->after && order_leads_to(c, rings_at(y), rings_at(o), IR_NONE))
			return false;
	}
	/* the remainder by the number of stages is known: the least that fits */
	while (o->shift - (int)r->stages >= least)
		o->shift -= (int)r->stages;
	while (o->shift < least || !is_number(c, o, o->shift))
		o->shift += (int)r->stages;
	return true;
}

int rings_heard_after(struct check *c, const struct mbarriers *x, const struct ring *r,
		      const struct op *o)
{
	struct order_at end = end_of(c, o->after), to = rings_at(o);
	int n = RINGS_NEVER;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *w = &x->op[i];
		if (!rings_is_kind(w, IR_MBAR_WAIT) || &x->ring[w->ring] != r ||
		    w->loop != o->after || !rings_has_front(c, x, w, to, guard_after(c, o)))
			continue;
		int since = rings_waited(c, x, w, end, c->e->guard[end.block]);
		n = rings_least(n, rings_sum(w->lag * (int)r->stages - w->shift, since));
	}
	return n;
}
