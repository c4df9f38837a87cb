/*
 * tried.c - a wait that is tried once, and repeated only where it failed (mbarriers.c).
 *
 * So CUTLASS waits: `if (!try_wait(b, parity)) wait(b, parity)`. Where both ways meet again the
 * phase is over. The two are put together to one wait there.
 *
 * Misses: one that is tried in the iteration before, or tried for another stage than is waited for.
 */
#include "prove/order/rings.h"

/* Is the one `tried` the other's first try: on the same mbarrier, for the same phase? */
static bool is_first_try(const struct check *c, const struct op *tried, const struct op *o)
{
	return rings_is_kind(tried, IR_MBAR_WAIT) && tried->spin == IR_NONE &&
	       tried->ring == o->ring && tried->loop == o->loop && tried->m->off == o->m->off &&
	       tried->m->arg && tried->m->arg == o->m->arg && tried->m->result &&
	       tried->m->mbar->is_parity == o->m->mbar->is_parity &&
	       prove_ir_dominates(c->e->ir, tried->m->block, o->m->block);
}

/* The block that decides by the try, at once. */
static uint32_t branch_of(const struct ir *ir, uint32_t b)
{
	while (ir->blocks.v[b].nsucc == 1 && ir->blocks.v[ir->blocks.v[b].succ[0]].npred == 1)
		b = ir->blocks.v[b].succ[0];
	return b;
}

/* Does each way from the branch to where they meet say that the try succeeded, or go through the
 * wait? */
static bool is_waited_for(const struct check *c, const struct op *tried, const struct op *o,
			  uint32_t branch, uint32_t join)
{
	const struct ir_block *x = &c->e->ir->blocks.v[branch];
	const struct ex *no = prove_ex_const(c->pool, 1, 0);

	for (uint32_t k = 0; k < x->nsucc; k++) {
		uint32_t s = x->succ[k];
		const struct ex *goes = prove_ex_replace(c->pool, prove_ev_edge(c->e, branch, s),
							 tried->m->result, no);
		struct order_at from = {s, 0}, to = {join, 1};
		if (goes->op == EX_CONST && !(goes->imm & 1))
			continue;
		if (s != o->m->block && order_leads_to(c, from, to, o->m->block))
			return false;
	}
	return x->nsucc > 1;
}

/* The wait, as one that stands where the two ways meet. */
static const struct ev_mbar *put_together(const struct check *c, const struct ev_mbar *m,
					  uint32_t join)
{
	struct ev_mbar *both = BASE_NEW(c->arena, struct ev_mbar);

	*both = *m;
	both->block = join;
	both->index = c->e->ir->blocks.v[join].first - 1;
	both->guard = c->e->guard[join];
	return both;
}

void rings_join_tries(struct check *c, struct mbarriers *x)
{
	const struct ir *ir = c->e->ir;

	for (uint32_t i = 0; i < x->nops; i++)
		for (uint32_t k = 0; k < x->nops; k++) {
			struct op *o = &x->op[i];
			const struct op *tried = &x->op[k];
			if (!rings_is_kind(o, IR_MBAR_WAIT) || o->spin == IR_NONE ||
			    !is_first_try(c, tried, o))
				continue;
			uint32_t branch = branch_of(ir, tried->m->block);
			uint32_t join = ir->blocks.v[branch].ipdom;
			if (join == IR_NONE || !ir->blocks.v[join].first ||
			    (o->loop != IR_NONE && !rings_is_in(c, o->loop, join)) ||
			    rings_is_in(c, o->spin, join) ||
			    !prove_ir_dominates(ir, branch, join) ||
			    !is_waited_for(c, tried, o, branch, join))
				continue;
			o->m = put_together(c, o->m, join);
			break;
		}
}
