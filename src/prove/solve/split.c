/*
 * split.c - strides that are powers of two, one value after the other (check.h).
 *
 * Butterflies, scans and sorts index by a stride that a loop halves or doubles, or by 1 << n. It
 * has at most as many values as bits: what is hard to say of all of them is simple of each, since
 * then masks, shifts and products have numbers (quick.c, linear.c). That a value carried around a
 * loop is a power of two or 0 follows from its start and from what an iteration makes of it.
 *
 * Where one thread is an iteration ahead, it has what the iteration makes of the other's value.
 *
 * Misses: strides that come from elsewhere, more than two in a pair.
 * Costs: up to 33 values, each a question.
 */
#include "prove/check.h"

#define MAX_ASSUMED 8
#define MAX_DEPTH   2
#define MAX_CASES   200

struct assumed {
	uint64_t phi[MAX_ASSUMED];
	unsigned n;
};

static bool is_power(const struct ev *e, const struct ex *v, struct assumed *as, unsigned depth);

/* All values that the loop gives it, if those before are such. */
static bool is_power_in_loop(const struct ev *e, const struct ex *v, struct assumed *as,
			     unsigned depth)
{
	const struct ev_phi *p = e->phi[v->imm];

	for (unsigned i = 0; i < as->n; i++)
		if (as->phi[i] == v->imm)
			return true;
	if (as->n == MAX_ASSUMED || !v->n || !p->init || !p->next || p->is_null ||
	    p->init->w != v->w || p->next->w != v->w)
		return false;
	as->phi[as->n++] = v->imm;
	return is_power(e, p->init, as, depth + 1) && is_power(e, p->next, as, depth + 1);
}

/* Is it 0 or a power of two, whatever the rest? */
static bool is_power(const struct ev *e, const struct ex *v, struct assumed *as, unsigned depth)
{
	if (depth > 30 || v->w < 8)
		return false;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		return !(v->imm & (v->imm - 1));
	case EX_PHI:
		return is_power_in_loop(e, v, as, depth);
	case EX_SHL:
	case EX_LSHR:
	case EX_ZEXT:
	case EX_TRUNC:
		return is_power(e, v->a[0], as, depth + 1);
	case EX_SEXT:
		return v->a[0]->hi <= prove_ex_mask(v->a[0]->w) >> 1 &&
		       is_power(e, v->a[0], as, depth + 1);
	case EX_ASHR:
	case EX_SDIV:
		if (v->a[0]->hi > prove_ex_mask(v->w) >> 1)
			return false;
		/* fall through */
	case EX_UDIV:
		return v->a[1]->op == EX_CONST && v->a[1]->imm &&
		       v->a[1]->imm <= prove_ex_mask(v->w) >> 1 &&
		       (v->op == EX_ASHR || !(v->a[1]->imm & (v->a[1]->imm - 1))) &&
		       is_power(e, v->a[0], as, depth + 1);
	case EX_MUL:
		return is_power(e, v->a[0], as, depth + 1) && is_power(e, v->a[1], as, depth + 1);
	case EX_ADD:
		return v->a[0] == v->a[1] && is_power(e, v->a[0], as, depth + 1);
	case EX_ITE:
		return is_power(e, v->a[1], as, depth + 1) && is_power(e, v->a[2], as, depth + 1);
	default:
		return false;
	}
}

/* A stride in an offset: carried by a loop, or 1 << n. */
static const struct ex *find_stride(const struct ev *e, const struct ex *v, unsigned depth)
{
	struct assumed as = {.n = 0};
	bool is_shift = v->op == EX_SHL && v->a[0]->op == EX_CONST;

	if (depth > 30)
		return NULL;
	if ((v->op == EX_PHI || is_shift) && is_power(e, v, &as, 0))
		return v;
	for (uint32_t i = 0; i < v->n && v->op != EX_PHI && v->op != EX_CLOAD; i++) {
		const struct ex *r = find_stride(e, v->a[i], depth + 1);
		if (r)
			return r;
	}
	return NULL;
}

/* ---- values -------------------------------------------------------------------------------- */

struct split {
	struct check *c;
	const uint8_t *counters;
	split_fn *fn;
	unsigned cases;
};

static bool split_at(struct split *s, unsigned depth);

/* The n-th value of v: 0, 1, 2, 4 and so on. False: it can't have it. */
static bool value_at(const struct ex *v, unsigned n, uint64_t *out)
{
	*out = n ? 1ull << (n - 1) : 0;
	return *out >= v->lo && *out <= v->hi;
}

/* The pair with the stride's value in both threads. */
static bool is_apart_at(struct split *s, const struct ex *v, const struct ex *x, const struct ex *y,
			unsigned depth)
{
	struct check *c = s->c;
	const struct ev_access *was[2] = {c->pair.a, c->pair.b};
	struct ev_access now[2] = {*c->pair.a, *c->pair.b};
	const struct ex *to[2] = {x, y};
	bool is_reached = true, is_apart;

	for (unsigned t = 0; t < 2; t++) {
		now[t].off = prove_ex_replace(c->pool, now[t].off, v, to[t]);
		now[t].whole = prove_ex_replace(c->pool, now[t].whole, v, to[t]);
		now[t].guard = prove_ex_replace(c->pool, now[t].guard, v, to[t]);
		is_reached &= now[t].guard->op != EX_CONST || (now[t].guard->imm & 1);
	}
	c->pair.a = &now[0];
	c->pair.b = &now[1];
	is_apart = !is_reached ||
		   (++s->cases <= MAX_CASES && (s->fn(c, s->counters) || split_at(s, depth + 1)));
	c->pair.a = was[0];
	c->pair.b = was[1];
	return is_apart;
}

/* Is the one thread an iteration ahead in the loop that carries v, and nothing else different? */
static bool is_ahead(const struct split *s, const struct ex *v, uint8_t *how)
{
	if (v->op != EX_PHI || !v->n || v->a[0]->op != EX_CTR ||
	    v->level < (s->c->level.apart <= RACE_LEVEL_BLOCK ? EX_CTA : EX_GRID))
		return false;
	*how = s->counters[v->a[0]->imm];
	for (uint32_t i = 1; i < v->n; i++)
		if (!quick_is_shared(s->c, v->a[i], s->counters))
			return false;
	return *how == SMT_FIRST_AHEAD || *how == SMT_SECOND_AHEAD;
}

static bool split_at(struct split *s, unsigned depth)
{
	struct check *c = s->c;
	const struct ex *v = find_stride(c->e, c->pair.a->off, 0);
	uint64_t x, y;
	uint8_t how = SMT_SAME;

	if (depth == MAX_DEPTH)
		return false;
	v = v ? v : find_stride(c->e, c->pair.b->off, 0);
	if (!v)
		return false;
	bool is_one = quick_is_shared(c, v, s->counters);
	if (!is_one && !is_ahead(s, v, &how))
		how = SMT_FREE;
	for (unsigned n = 0; n <= v->w; n++) {
		const struct ex *at, *next;
		if (!value_at(v, n, &x))
			continue;
		at = next = prove_ex_const(c->pool, v->w, x);
		if (is_one) {
			if (!is_apart_at(s, v, at, at, depth))
				return false;
			continue;
		}
		if (how != SMT_FREE)
			next = prove_ex_replace(c->pool, c->e->phi[v->imm]->next, v, at);
		if (how != SMT_FREE && next->op == EX_CONST) {
			if (!is_apart_at(s, v, how == SMT_FIRST_AHEAD ? next : at,
					 how == SMT_FIRST_AHEAD ? at : next, depth))
				return false;
			continue;
		}
		for (unsigned k = 0; k <= v->w; k++)
			if (value_at(v, k, &y) &&
			    !is_apart_at(s, v, at, prove_ex_const(c->pool, v->w, y), depth))
				return false;
	}
	return true;
}

bool split_is_apart(struct check *c, const uint8_t *counters, split_fn *fn)
{
	struct split s = {.c = c, .counters = counters, .fn = fn};

	return split_at(&s, 0);
}
