/*
 * twin.c - values of a loop that are set anew from an induction in each iteration (loop.c).
 *
 * for (int i = n; n < end; n += step, i = n), where n may have 64 bits, as PyTorch's loops over a
 * grid have it: i is the low bits of n. That is guessed from what an iteration makes of i, and
 * checked at the end of each turn.
 */
#include "prove/eval.h"

#define MAX_FAILURES 3

const struct ex *prove_ev_low_bits(struct ev *e, const struct ex *v, unsigned w)
{
	return v->w == w ? v : prove_ex_un(e->pool, EX_TRUNC, w, v);
}

/* An induction of the loop in a sum. */
static const struct ex *induction_in(const struct ev *e, uint32_t loop, const struct ex *v)
{
	const struct ex *found;

	if (v->op == EX_IND && v->a[2] == e->loops[loop].ctr)
		return v;
	if (v->op != EX_ADD && v->op != EX_SUB)
		return NULL;
	found = induction_in(e, loop, v->a[0]);
	return found || v->op == EX_SUB ? found : induction_in(e, loop, v->a[1]);
}

static const struct ex *whole(const struct ex *next)
{
	return next->op == EX_TRUNC ? next->a[0] : next;
}

bool prove_ev_keeps_twin(struct ev *e, const struct ev_phi *p, const struct ex *x,
			 const struct ex *next)
{
	const struct ex *sum = whole(next);

	return p->init && sum->w == x->w && p->init == prove_ev_low_bits(e, x->a[0], next->w) &&
	       prove_ev_difference(e, sum, x) == x->a[1];
}

bool prove_ev_try_twin(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	const struct ex *x = induction_in(e, loop, whole(next));

	if (!x || p->twin_failures == MAX_FAILURES || !prove_ev_keeps_twin(e, p, x, next))
		return false;
	p->twin = x;
	return true;
}
