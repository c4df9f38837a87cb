/*
 * twin.c - values of a loop that are set anew from an induction in each iteration (loop.c).
 *
 * for (int i = n; n < end; n += step, i = n), where n may have 64 bits, as PyTorch's loops over a
 * grid have it: i is the low bits of n. And for (int i = k; i < n; i += step) with n of 64 bits, of
 * which nvcc keeps i widened beside i itself. That is guessed from what an iteration makes of the
 * value, and checked at the end of each turn.
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

const struct ex *prove_ev_twin_value(struct ev *e, const struct ev_phi *p, const struct ex *x,
				     unsigned w)
{
	if (p->twin_widening)
		return x->w < w ? prove_ex_un(e->pool, (enum ex_op)p->twin_widening, w, x) : NULL;
	return x->w >= w ? prove_ev_low_bits(e, x, w) : NULL;
}

/* The sum that a next value is made of: its low bits, or it is the widened sum. */
static const struct ex *whole(const struct ex *next)
{
	return next->op == EX_TRUNC || next->op == EX_SEXT || next->op == EX_ZEXT ? next->a[0]
										  : next;
}

bool prove_ev_keeps_twin(struct ev *e, const struct ev_phi *p, const struct ex *x,
			 const struct ex *next)
{
	const struct ex *sum = whole(next);

	if (!p->init || sum->w != x->w || prove_ev_difference(e, sum, x) != x->a[1])
		return false;
	return p->init == prove_ev_twin_value(e, p, x->a[0], next->w) &&
	       next == prove_ev_twin_value(e, p, sum, next->w);
}

bool prove_ev_try_twin(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	static const uint8_t widenings[] = {0, EX_SEXT, EX_ZEXT};
	const struct ex *x = induction_in(e, loop, whole(next));

	for (unsigned i = 0; x && p->twin_failures < MAX_FAILURES && i < 3; i++) {
		p->twin_widening = widenings[i];
		if (!prove_ev_keeps_twin(e, p, x, next))
			continue;
		p->twin = x;
		return true;
	}
	return false;
}
