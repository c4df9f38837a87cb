/*
 * hold.c - what holds for the threads of a query, wherever it is asked (check.h): guards on the way
 * to a block, the loops that it is in, and the contract's assumptions.
 */
#include "prove/check.h"

static bool is_above(const struct check *c, const struct ev_assume *as, uint32_t block)
{
	return as->loop == IR_NONE || prove_ir_in_loop(&c->e->ir->loops[as->loop], block);
}

void prove_hold_side(struct check *c, const struct ex *guard, uint32_t block, unsigned t)
{
	const struct ir *ir = c->e->ir;

	prove_smt_assert(c->smt, guard, t);
	for (uint32_t l = ir->blocks.v[block].loop; l != IR_NONE; l = ir->loops[l].parent)
		prove_smt_in_loop(c->smt, l, t);
	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (as->kind == IR_ASSUME_FACT && is_above(c, as, block))
			prove_smt_assert(c->smt, as->fact, t);
	}
}

/* Assumptions that speak of two threads. */
void prove_hold_both(struct check *c, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (as->kind == IR_ASSUME_DISTINCT && is_above(c, as, a) && is_above(c, as, b))
			prove_smt_across(c->smt, as->guard, as->value, false);
		if (as->kind == IR_ASSUME_APART && is_above(c, as, a) && is_above(c, as, b))
			prove_smt_apart(c->smt, as);
		if ((as->kind == IR_ASSUME_INJECTIVE || as->kind == IR_ASSUME_SORTED ||
		     as->kind == IR_ASSUME_WITHIN) &&
		    as->loop == IR_NONE && as->bytes)
			prove_smt_elements(c->smt, as);
	}
}

const struct ex *prove_is_inside(struct check *c, const struct ev_access *x)
{
	bool is_known = x->root.kind == EV_ROOT_OBJECT || x->root.kind == EV_ROOT_PRIVATE;
	const struct ir_object *o = is_known ? &c->e->ir->objects.v[x->root.id] : NULL;

	if (!o || o->kind == IR_OBJ_DYNAMIC || o->bytes < x->mem->bytes)
		return NULL;
	const struct ex *last = prove_ex_const(c->pool, x->whole->w, o->bytes - x->mem->bytes);
	return prove_ex_not(c->pool, prove_ex_bin(c->pool, EX_ULT, last, x->whole));
}

void prove_hold_inside(struct check *c, const struct ev_access *x, unsigned t)
{
	const struct ex *inside = prove_is_inside(c, x);

	if (inside)
		prove_smt_assert(c->smt, inside, t);
}
