/*
 * claims.c - places that an atomic operation gives to one thread (order.h).
 *
 * Of all threads that compare a place with E and put something else, one finds E: the place never
 * holds E again, if whatever else the launch writes there isn't E either. Of all that exchange it
 * for one number, only the first finds another. Of all that add to it, each is given a number of
 * its own. So two threads that have won one place, or were given one number there, don't exist, and
 * that is held in a question about two threads. What the place holds at first doesn't matter, but
 * nothing else may write there meanwhile; the contract says so.
 *
 * A place in shared memory is the block's, and may be set again in other phases than its claims'.
 *
 * Misses: bits of one word, exchanges for different numbers, places that a loop sets again, two
 * instructions that claim the same places.
 * Costs: a few queries for each such instruction whose number isn't known not to be E.
 */
#include "prove/order/order.h"

#define MAX_CLAIMS 8

struct claim {
	const struct ev_assume *of;
	const struct ev_access *at;
	const struct ex *won; /* of what it gave back; NULL: each answer is another one */
};

struct claims {
	struct claim v[MAX_CLAIMS];
	uint32_t n;
};

/* Is a number surely not k, where control comes to the block under the guard? */
static bool is_never(struct check *c, const struct ex *v, const struct ex *k,
		     const struct ex *guard, uint32_t block)
{
	struct order_question q = {.guard = guard, .block = block};

	if (!v || v->w != k->w)
		return false;
	if (k->imm < v->lo || k->imm > v->hi)
		return true;
	q.denied[0] = prove_ex_not(c->pool, prove_ex_bin(c->pool, EX_EQ, v, k));
	return v->op != EX_CONST && order_is_never(c, &q);
}

/* What a write puts; NULL: that isn't known. */
static const struct ex *put_by(const struct check *c, const struct ev_access *x)
{
	const struct ev_assume *t = order_ticket_of(c, x->mem);

	if (x->mem->kind == RACE_OP_WRITE)
		return x->value;
	return t && (t->mem->rmw == IR_RMW_CAS || t->mem->rmw == IR_RMW_EXCH) ? t->step : NULL;
}

/* Does a write beside the claim's own leave the claims what they are? */
static bool keeps(struct check *c, const struct claim *k, const struct ev_access *x)
{
	const struct ex *v = put_by(c, x);

	if (!k->won || x->mem->bytes != k->at->mem->bytes ||
	    !prove_ev_same_root(&x->root, &k->at->root))
		return false;
	if (k->of->mem->rmw == IR_RMW_EXCH)
		return v == k->of->step;
	return is_never(c, v, k->of->old, x->guard, x->block);
}

static bool is_claim(struct check *c, const struct claim *k)
{
	const struct ev_access *at = k->at;

	if ((at->root.kind != EV_ROOT_PARAM && at->root.kind != EV_ROOT_OBJECT) ||
	    at->mem->bytes < 4 ||
	    at->mem->scope < (at->is_shared ? RACE_SCOPE_CTA : RACE_SCOPE_GPU))
		return false;
	if (at->is_shared && meet_is_set_again(c, at))
		return false;
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (x != at && (x->mem->kind & RACE_OP_WRITE) &&
		    prove_ev_alias(&x->root, &at->root) != EV_APART &&
		    !meet_is_other_phase(c, x, at) && !keeps(c, k, x))
			return false;
	}
	return true;
}

/* What the operation gave back where it has won. False: it never says so. */
static bool find_won(struct check *c, struct claim *k)
{
	const struct ev_assume *t = k->of;
	struct ex_pool *p = c->pool;

	switch ((enum ir_rmw)t->mem->rmw) {
	case IR_RMW_ADD: /* a counter of all is meet.c's */
		return !c->e->may_wrap && k->at->off->op != EX_CONST && t->step->op == EX_CONST &&
		       (t->step->imm & 1);
	case IR_RMW_EXCH:
		if (t->step->op != EX_CONST)
			return false;
		k->won = prove_ex_not(p, prove_ex_bin(p, EX_EQ, t->value, t->step));
		return true;
	case IR_RMW_CAS:
		if (!t->old || t->old->op != EX_CONST ||
		    !is_never(c, t->step, t->old, t->guard, t->block))
			return false;
		k->won = prove_ex_bin(p, EX_EQ, t->value, t->old);
		return true;
	default:
		return false;
	}
}

struct claims *claims_look(struct check *c)
{
	struct claims *all = BASE_NEW(c->arena, struct claims);

	for (size_t i = 0; i < c->e->tickets.n && all->n < MAX_CLAIMS; i++) {
		const struct ev_assume *t = &c->e->tickets.v[i];
		struct claim k = {.of = t, .at = order_access_of(c, t->mem)};
		if (t->value && k.at && find_won(c, &k) && is_claim(c, &k))
			all->v[all->n++] = k;
	}
	return all->n ? all : NULL;
}

/* As it is where a thread accesses something after it. */
static struct smt_claim seen_at(struct check *c, const struct claim *k, uint32_t block)
{
	const struct ev_assume *t = k->of;
	const struct ex *when = k->won ? prove_ex_and(c->pool, t->guard, k->won) : t->guard;

	return (struct smt_claim){
		.when = prove_ev_leave(c->e, when, t->block, block),
		.place = prove_ev_leave(c->e, k->at->off, t->block, block),
		.number = k->won ? NULL : prove_ev_leave(c->e, t->value, t->block, block)};
}

/* The loops between the two are over: what ended them holds of their last iterations. */
static void hold_ends(struct check *c, uint32_t from, uint32_t to, unsigned t)
{
	const struct ir *ir = c->e->ir;

	for (uint32_t l = ir->blocks.v[from].loop; l != IR_NONE; l = ir->loops[l].parent)
		if (!prove_ir_in_loop(&ir->loops[l], to) && c->e->loops[l].leave)
			prove_smt_assert(c->smt,
					 prove_ev_leave(c->e, c->e->loops[l].leave, from, to), t);
}

void claims_hold(struct check *c, const struct claims *all)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct claim *k = &all->v[i];
		if ((k->at->is_shared && c->level.apart > RACE_LEVEL_BLOCK) ||
		    !prove_ir_dominates(c->e->ir, k->of->block, a->block) ||
		    !prove_ir_dominates(c->e->ir, k->of->block, b->block))
			continue;
		struct smt_claim x = seen_at(c, k, a->block), y = seen_at(c, k, b->block);
		prove_smt_claims(c->smt, &x, &y);
		hold_ends(c, k->of->block, a->block, 0);
		hold_ends(c, k->of->block, b->block, 1);
		c->assumed.has_claims = true;
		c->assumed.has_counts |= !k->won;
	}
}
