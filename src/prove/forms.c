/*
 * forms.c - forms in which compilers write a value (expr.h).
 *
 * A division of 64 bits takes long, so nvcc divides by 32 where the upper halves of both are 0:
 * (n | d) >> 32 == 0 ? (uint32_t)n / (uint32_t)d : n / d. That is n / d. A remainder is written as
 * n - n / d * d, which for a number d is n % d.
 *
 * Costs: nothing for a choice whose condition isn't such a test.
 */
#include "prove/expr.h"

unsigned prove_ex_position(const struct ex_pool *p, const struct ex *v)
{
	if (v->op != EX_ADD || v->w != 32)
		return 3;
	for (unsigned i = 0; i < 4; i++) {
		const struct ex *t = v->a[i & 1], *m = v->a[!(i & 1)];
		if (t->op != EX_SPEC || t->imm > EX_TID_Z || m->op != EX_MUL)
			continue;
		unsigned d = (unsigned)t->imm;
		if (prove_ex_is_spec(m->a[i >> 1], EX_CTAID_X + d) &&
		    prove_ex_is_block_dim(p, m->a[!(i >> 1)], d))
			return d;
	}
	return 3;
}

/* Does c say that n is below 2^32, and d, unless that is known? */
static bool says_small(const struct ex *c, const struct ex *n, const struct ex *d)
{
	const struct ex *t = c->op == EX_EQ ? c->a[0] : NULL;

	if (!t || t->w != 64 || t->n != 2 || c->a[1]->op != EX_CONST || c->a[1]->imm ||
	    t->a[1]->op != EX_CONST)
		return false;
	bool is_upper = (t->op == EX_AND && t->a[1]->imm == ~(uint64_t)UINT32_MAX) ||
			(t->op == EX_UDIV && t->a[1]->imm == (uint64_t)1 << 32);
	const struct ex *x = t->a[0];
	bool has_n = x == n, has_d = false;
	if (x->op == EX_OR) {
		has_n = x->a[0] == n || x->a[1] == n;
		has_d = x->a[0] == d || x->a[1] == d;
	}
	return is_upper && has_n && (has_d || d->hi <= UINT32_MAX);
}

const struct ex *prove_ex_rest(struct ex_pool *p, const struct ex *a, const struct ex *b)
{
	const struct ex *q = b->op == EX_MUL && b->a[1]->op == EX_CONST ? b->a[0] : NULL;

	if (!q || (q->op != EX_UDIV && q->op != EX_SDIV) || q->a[0] != a || q->a[1] != b->a[1] ||
	    !b->a[1]->imm)
		return NULL;
	return prove_ex_bin(p, q->op == EX_UDIV ? EX_UREM : EX_SREM, a, b->a[1]);
}

static bool is_quotient(const struct ex *v)
{
	return v->op == EX_UDIV || v->op == EX_SDIV;
}

/* The quotient that n - n / d * d has; or v itself. */
static const struct ex *division_in(const struct ex *v)
{
	const struct ex *m = v->op == EX_SUB ? v->a[1] : NULL;

	if (m && m->op == EX_MUL)
		for (unsigned i = 0; i < 2; i++)
			if (is_quotient(m->a[i]) && m->a[i]->a[0] == v->a[0] &&
			    m->a[i]->a[1] == m->a[!i])
				return m->a[i];
	return v;
}

bool prove_ex_is_bypass(struct ex_pool *p, const struct ex *c, const struct ex *a,
			const struct ex *b)
{
	const struct ex *few = a, *all = b, *q;

	if (a->op == EX_ZEXT && a->w == 64)
		few = a->a[0];
	else if (b->op == EX_TRUNC)
		all = b->a[0];
	if (few->w != 32 || all->w != 64 || c->op != EX_EQ)
		return false;
	q = division_in(all);
	bool is_rest = q->op == EX_UREM || q->op == EX_SREM;
	if ((!is_quotient(q) && !is_rest) || !q->a[1]->lo || !says_small(c, q->a[0], q->a[1]))
		return false;
	const struct ex *n = prove_ex_un(p, EX_TRUNC, 32, q->a[0]);
	const struct ex *d = prove_ex_un(p, EX_TRUNC, 32, q->a[1]);
	const struct ex *r = prove_ex_bin(p, is_rest ? EX_UREM : EX_UDIV, n, d);
	if (q != all)
		r = prove_ex_bin(p, EX_SUB, n, prove_ex_bin(p, EX_MUL, r, d));
	return r == few;
}
