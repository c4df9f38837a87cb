/*
 * smt.c - two threads' values as integers for Z3 (smt.h).
 *
 * A node of w bits becomes an integer term that is congruent to it modulo 2^w, with bounds. Sums
 * and products with constants stay as they are; only where the exact value counts (comparisons,
 * divisions, extensions, the address) a term whose bounds leave the range gets a wrap quotient.
 * A product of two unknowns is a new unknown; for each two products with a common factor S >= 0
 * the solver learns a < b => a*S + S <= b*S, which is what indices like row * pitch + column need.
 *
 * A value that both threads share (by its level, and its counters being the same) is one term.
 * Misses: and, or, xor, shifts by unknowns become unknowns within bounds here (is_loose).
 * Costs: a millisecond to set up; rlimit bounds the solver whatever the machine.
 */
#include "prove/solve/smt_impl.h"

#include <stdlib.h>
#include <string.h>

#define FAR ((wide)1 << 110)

static wide clamp(wide v)
{
	return v > FAR ? FAR : v < -FAR ? -FAR : v;
}

static wide times(wide a, wide b)
{
	wide r;

	if (__builtin_mul_overflow(a, b, &r))
		return (a < 0) == (b < 0) ? FAR : -FAR;
	return clamp(r);
}

Z3_ast prove_smt_number(struct smt *s, wide v)
{
	char text[48], *p = text + sizeof(text) - 1;
	bool is_negative = v < 0;
	unsigned __int128 u = is_negative ? -(unsigned __int128)v : (unsigned __int128)v;

	*p = 0;
	do {
		*--p = (char)('0' + (int)(u % 10));
		u /= 10;
	} while (u);
	if (is_negative)
		*--p = '-';
	return Z3_mk_numeral(s->z, p, s->integer);
}

void prove_smt_hold(struct smt *s, Z3_ast fact)
{
	Z3_solver_assert(s->z, s->solver, fact);
	base_vec_push(&s->held, fact);
}

static Z3_ast le(struct smt *s, Z3_ast a, Z3_ast b)
{
	return Z3_mk_le(s->z, a, b);
}

Z3_ast prove_smt_sum(struct smt *s, Z3_ast a, Z3_ast b)
{
	Z3_ast v[2] = {a, b};

	return Z3_mk_add(s->z, 2, v);
}

static Z3_ast minus(struct smt *s, Z3_ast a, Z3_ast b)
{
	Z3_ast v[2] = {a, b};

	return Z3_mk_sub(s->z, 2, v);
}

static Z3_ast scaled(struct smt *s, Z3_ast a, wide c)
{
	Z3_ast v[2] = {prove_smt_number(s, c), a};

	return c == 1 ? a : Z3_mk_mul(s->z, 2, v);
}

/* A new unknown within bounds. */
struct term prove_smt_unknown(struct smt *s, wide lo, wide hi)
{
	struct term r = {Z3_mk_fresh_const(s->z, "u", s->integer), lo, hi};

	if (lo > -FAR)
		prove_smt_hold(s, le(s, prove_smt_number(s, lo), r.t));
	if (hi < FAR)
		prove_smt_hold(s, le(s, r.t, prove_smt_number(s, hi)));
	return r;
}

static struct term constant(struct smt *s, wide v)
{
	return (struct term){prove_smt_number(s, v), v, v};
}

static wide floor_div(wide a, wide b)
{
	return a / b - (a % b != 0 && a < 0);
}

/* The term moved into [lo, hi], a range of 2^w numbers. */
static struct term into_range(struct smt *s, struct term a, wide lo, unsigned w)
{
	wide size = (wide)1 << w, hi = lo + size - 1;

	if (a.lo >= lo && a.hi <= hi)
		return a;
	wide ql = floor_div(a.lo - lo, size), qh = floor_div(a.hi - lo, size);
	if (ql == qh)
		return (struct term){minus(s, a.t, prove_smt_number(s, times(ql, size))),
				     a.lo - times(ql, size), a.hi - times(ql, size)};
	bool is_far = a.lo <= -FAR || a.hi >= FAR;
	struct term q = prove_smt_unknown(s, is_far ? -FAR : ql, is_far ? FAR : qh);
	struct term r = {minus(s, a.t, scaled(s, q.t, size)), lo, hi};
	prove_smt_hold(s, le(s, prove_smt_number(s, lo), r.t));
	prove_smt_hold(s, le(s, r.t, prove_smt_number(s, hi)));
	return r;
}

/* ---- products ------------------------------------------------------------------------ */

struct term prove_smt_product(struct smt *s, struct term a, struct term b)
{
	if (a.lo == a.hi)
		return (struct term){scaled(s, b.t, a.lo),
				     a.lo < 0 ? times(a.lo, b.hi) : times(a.lo, b.lo),
				     a.lo < 0 ? times(a.lo, b.lo) : times(a.lo, b.hi)};
	if (b.lo == b.hi)
		return prove_smt_product(s, b, a);
	for (uint32_t i = 0; i < s->nproducts; i++) {
		struct product *p = &s->products[i];
		if ((p->a.t == a.t && p->b.t == b.t) || (p->a.t == b.t && p->b.t == a.t))
			return p->r;
	}
	wide c[4] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)};
	wide lo = c[0], hi = c[0];
	for (int i = 1; i < 4; i++) {
		lo = c[i] < lo ? c[i] : lo;
		hi = c[i] > hi ? c[i] : hi;
	}
	struct term r = prove_smt_unknown(s, lo, hi);
	if (s->nproducts < MAX_PRODUCTS)
		s->products[s->nproducts++] = (struct product){a, b, r};
	else
		s->is_loose = true;
	return r;
}

/* a => b, where a is the conjunction of one or two conditions. */
static void hold_if(struct smt *s, Z3_ast also, Z3_ast a, Z3_ast b)
{
	Z3_ast both[2] = {also, a};

	prove_smt_hold(s, Z3_mk_implies(s->z, also ? Z3_mk_and(s->z, 2, both) : a, b));
}

/* With S >= 0: x < y => x*S + S <= y*S, and x = y => equal. */
static void relate(struct smt *s, struct term x, Z3_ast px, struct term y, Z3_ast py, struct term f)
{
	Z3_ast also = f.lo < 0 ? Z3_mk_ge(s->z, f.t, prove_smt_number(s, 0)) : NULL;

	if (f.hi < 0 || x.t == y.t)
		return;
	hold_if(s, also, Z3_mk_lt(s->z, x.t, y.t), le(s, prove_smt_sum(s, px, f.t), py));
	hold_if(s, also, Z3_mk_lt(s->z, y.t, x.t), le(s, prove_smt_sum(s, py, f.t), px));
	hold_if(s, NULL, Z3_mk_eq(s->z, x.t, y.t), Z3_mk_eq(s->z, px, py));
}

/* With S >= 0 and x within small bounds: lo * S <= x*S <= hi * S. */
static void enclose(struct smt *s, struct term x, Z3_ast px, struct term f)
{
	Z3_ast also = Z3_mk_ge(s->z, f.t, prove_smt_number(s, 0));

	if (x.lo < -((wide)1 << 32) || x.hi > (wide)1 << 32)
		return;
	prove_smt_hold(s, Z3_mk_implies(s->z, also, le(s, px, scaled(s, f.t, x.hi))));
	prove_smt_hold(s, Z3_mk_implies(s->z, also, le(s, scaled(s, f.t, x.lo), px)));
}

/* Where x <= T and S >= 0: x*S <= T*S. T are numbers that the query compares something with, so
 * that a bound which only a condition gives bounds the product, too. */
static void bound_by_thresholds(struct smt *s, struct term x, Z3_ast px, struct term f)
{
	for (uint32_t i = 0; i < s->nthresholds; i++) {
		wide most = s->threshold[i];
		if (most >= x.hi || most <= x.lo)
			continue;
		Z3_ast both[2] = {le(s, x.t, prove_smt_number(s, most)),
				  Z3_mk_ge(s->z, f.t, prove_smt_number(s, 0))};
		prove_smt_hold(s, Z3_mk_implies(s->z, Z3_mk_and(s->z, 2, both),
						le(s, px, scaled(s, f.t, most))));
	}
}

static void add_threshold(struct smt *s, const struct ex *v)
{
	if (v->op != EX_CONST || v->w < 16 || v->imm < 2 || v->imm > prove_ex_mask(v->w) >> 1)
		return;
	for (uint32_t i = 0; i < s->nthresholds; i++)
		if (s->threshold[i] == (wide)v->imm)
			return;
	if (s->nthresholds < MAX_THRESHOLDS)
		s->threshold[s->nthresholds++] = (wide)v->imm;
}

/* Facts about each product by itself and each two with a common factor. */
static void learn_products(struct smt *s)
{
	for (uint32_t i = 0; i < s->nproducts; i++) {
		const struct product *p = &s->products[i];
		const struct term zero = constant(s, 0), one = constant(s, 1);
		relate(s, p->a, p->r.t, zero, zero.t, p->b);
		relate(s, p->a, p->r.t, one, p->b.t, p->b);
		relate(s, p->b, p->r.t, zero, zero.t, p->a);
		relate(s, p->b, p->r.t, one, p->a.t, p->a);
		enclose(s, p->a, p->r.t, p->b);
		enclose(s, p->b, p->r.t, p->a);
		bound_by_thresholds(s, p->a, p->r.t, p->b);
		bound_by_thresholds(s, p->b, p->r.t, p->a);
		for (uint32_t k = 0; k < i; k++) {
			const struct product *q = &s->products[k];
			if (p->a.t == q->a.t)
				relate(s, p->b, p->r.t, q->b, q->r.t, p->a);
			if (p->b.t == q->b.t)
				relate(s, p->a, p->r.t, q->a, q->r.t, p->b);
			if (p->a.t == q->b.t)
				relate(s, p->b, p->r.t, q->a, q->r.t, p->a);
			if (p->b.t == q->a.t)
				relate(s, p->a, p->r.t, q->b, q->r.t, p->b);
		}
	}
}

/* ---- values ---------------------------------------------------------------------------- */

struct term prove_smt_unsigned(struct smt *s, const struct ex *v, unsigned t)
{
	struct memo *m = prove_smt_memo(s, v, t);

	if (!m->u.t) {
		struct term r = into_range(s, prove_smt_value(s, v, t), 0, v->w);
		r.lo = r.lo < (wide)v->lo ? (wide)v->lo : r.lo;
		r.hi = r.hi > (wide)v->hi ? (wide)v->hi : r.hi;
		prove_smt_memo(s, v, t)->u = r;
	}
	return prove_smt_memo(s, v, t)->u;
}

struct term prove_smt_signed(struct smt *s, const struct ex *v, unsigned t)
{
	if (v->hi <= prove_ex_mask(v->w) >> 1)
		return prove_smt_unsigned(s, v, t);
	struct memo *m = prove_smt_memo(s, v, t);
	if (!m->s.t) {
		struct term r =
			into_range(s, prove_smt_value(s, v, t), -((wide)1 << (v->w - 1)), v->w);
		prove_smt_memo(s, v, t)->s = r;
	}
	return prove_smt_memo(s, v, t)->s;
}

/* n = d * q + r, 0 <= r < d, for n >= 0 and d > 0 (else anything). */
static void divide(struct smt *s, struct term n, struct term d, struct term *q, struct term *r)
{
	for (uint32_t i = 0; i < s->ndivisions; i++) {
		struct division *x = &s->divisions[i];
		if (x->n.t == n.t && x->d.t == d.t) {
			*q = x->q;
			*r = x->r;
			return;
		}
	}
	wide dl = d.lo > 0 ? d.lo : 1;
	*q = prove_smt_unknown(s, d.lo > 0 ? floor_div(n.lo, n.lo < 0 ? dl : d.hi) : 0,
			       floor_div(n.hi, dl));
	*r = prove_smt_unknown(s, 0, d.hi > 0 ? d.hi - 1 : 0);
	Z3_ast exact = Z3_mk_eq(s->z, n.t, prove_smt_sum(s, prove_smt_product(s, d, *q).t, r->t));
	Z3_ast below = Z3_mk_lt(s->z, r->t, d.t);
	if (d.lo > 0) {
		prove_smt_hold(s, exact);
		prove_smt_hold(s, below);
	} else {
		s->is_loose = true;
	}
	if (s->ndivisions < MAX_PRODUCTS)
		s->divisions[s->ndivisions++] = (struct division){n, d, *q, *r};
}

static struct term opaque(struct smt *s, const struct ex *v)
{
	s->is_loose = true;
	return prove_smt_unknown(s, (wide)v->lo, (wide)v->hi);
}

static struct term either(struct smt *s, Z3_ast c, struct term a, struct term b)
{
	return (struct term){Z3_mk_ite(s->z, c, a.t, b.t), a.lo < b.lo ? a.lo : b.lo,
			     a.hi > b.hi ? a.hi : b.hi};
}

/* Bits of a mask that stand together: ((n / 2^at) % 2^len) * 2^at. */
static struct term masked(struct smt *s, const struct ex *v, unsigned t)
{
	if (v->a[1]->op != EX_CONST || !v->a[1]->imm)
		return opaque(s, v);
	uint64_t m = v->a[1]->imm, at = (uint64_t)__builtin_ctzll(m), up = m >> at;
	struct term q, r, ignore, n = prove_smt_unsigned(s, v->a[0], t);
	if (up & (up + 1))
		return opaque(s, v);
	divide(s, n, constant(s, (wide)1 << at), &q, &ignore);
	if (up == prove_ex_mask(v->w) >> at)
		return (struct term){scaled(s, q.t, (wide)1 << at), times(q.lo, (wide)1 << at),
				     times(q.hi, (wide)1 << at)};
	divide(s, q, constant(s, (wide)up + 1), &ignore, &r);
	return (struct term){scaled(s, r.t, (wide)1 << at), 0, (wide)m};
}

/* a | b where no bit may be set in both: a + b. */
static struct term disjoint_or(struct smt *s, const struct ex *v, unsigned t)
{
	bool is_first = v->a[0]->zeros & 1; /* the one that is counted from below */

	if ((v->a[0]->zeros | v->a[1]->zeros) != prove_ex_mask(v->w))
		return opaque(s, v);
	struct term a = prove_smt_value(s, v->a[!is_first], t),
		    b = prove_smt_unsigned(s, v->a[is_first], t);
	return (struct term){prove_smt_sum(s, a.t, b.t), clamp(a.lo + b.lo), clamp(a.hi + b.hi)};
}

static bool is_of_numbers(const struct ex *v)
{
	return v->op == EX_ITE && v->a[1]->op == EX_CONST && v->a[2]->op == EX_CONST;
}

/* A choice between two numbers, times k: a choice between two multiples of k, which are known. */
static struct term chosen_times(struct smt *s, const struct ex *v, bool is_signed, struct term k,
				unsigned t)
{
	struct term x[2];

	for (unsigned i = 0; i < 2; i++) {
		const struct ex *n = v->a[1 + i];
		x[i] = constant(s, is_signed ? prove_ex_signed(n->imm, n->w) : (wide)n->imm);
		x[i] = prove_smt_product(s, x[i], k);
	}
	return either(s, prove_smt_bool(s, v->a[0], t), x[0], x[1]);
}

static struct term induction(struct smt *s, const struct ex *v, unsigned t)
{
	bool is_pointer = v->imm == EX_IND_WRAPS && v->w == 64 && !s->e->may_wrap &&
			  prove_smt_is_modest(v->a[1], 0);
	bool is_signed = v->imm == EX_IND_SIGNED || is_pointer;
	bool is_down = prove_ex_is_down(v->a[1]);
	const struct ex *back = is_down && v->a[1]->op == EX_SUB ? v->a[1]->a[1] : NULL;
	struct term i =
		is_signed ? prove_smt_signed(s, v->a[0], t) : prove_smt_unsigned(s, v->a[0], t);
	bool is_step_signed = (is_signed || is_down) && !prove_smt_is_of_launch(v->a[1]);
	struct term d = back		 ? prove_smt_unsigned(s, back, t)
			: is_step_signed ? prove_smt_signed(s, v->a[1], t)
					 : prove_smt_unsigned(s, v->a[1], t);
	struct term k = prove_smt_value(s, v->a[2], t);
	struct term p = is_of_numbers(v->a[1]) ? chosen_times(s, v->a[1], is_step_signed, k, t)
					       : prove_smt_product(s, d, k);
	if (back) /* the facts about products are about factors of 0 and more */
		p = (struct term){minus(s, prove_smt_number(s, 0), p.t), -p.hi, -p.lo};
	struct term r = {prove_smt_sum(s, i.t, p.t), clamp(i.lo + p.lo), clamp(i.hi + p.hi)};

	if (k.lo <
	    0) { /* "the iteration before" of the first one: there is none, the start stands in */
		Z3_ast is_none = Z3_mk_lt(s->z, k.t, prove_smt_number(s, 0));
		r.t = Z3_mk_ite(s->z, is_none, i.t, r.t);
		r.lo = r.lo < i.lo ? r.lo : i.lo;
		r.hi = r.hi > i.hi ? r.hi : i.hi;
	}
	if (v->imm == EX_IND_WRAPS && !is_pointer)
		return r;
	wide lo = is_signed ? -((wide)1 << (v->w - 1)) : 0;
	wide hi = lo + ((wide)1 << v->w) - 1;
	if (r.lo < lo)
		prove_smt_hold(s, le(s, prove_smt_number(s, lo), r.t));
	if (r.hi > hi)
		prove_smt_hold(s, le(s, r.t, prove_smt_number(s, hi)));
	r.lo = r.lo < lo ? lo : r.lo;
	r.hi = r.hi > hi ? hi : r.hi;
	return r;
}

static struct term shift_right(struct smt *s, const struct ex *v, unsigned t)
{
	struct term q, r;

	if (v->a[1]->op != EX_CONST || v->op != EX_ASHR || v->a[1]->imm >= v->w)
		return opaque(s, v);
	divide(s, prove_smt_signed(s, v->a[0], t), constant(s, (wide)1 << v->a[1]->imm), &q, &r);
	return q;
}

/* By zero it is any number: PTX says no other. */
static struct term unsigned_division(struct smt *s, const struct ex *v, unsigned t)
{
	/* In this order: which model the solver finds hangs on it. */
	struct term d = prove_smt_unsigned(s, v->a[1], t), n = prove_smt_unsigned(s, v->a[0], t);
	struct term q, r;

	if (d.hi <= 0)
		return opaque(s, v);
	divide(s, n, d, &q, &r);
	q = v->op == EX_UDIV ? q : r;
	if (d.lo > 0)
		return q;
	return either(s, Z3_mk_lt(s->z, prove_smt_number(s, 0), d.t), q, opaque(s, v));
}

/* Signed division truncates: exact only where the sign is known. */
static struct term signed_division(struct smt *s, const struct ex *v, unsigned t)
{
	struct term n = prove_smt_signed(s, v->a[0], t), d = prove_smt_signed(s, v->a[1], t), q, r;

	if (n.lo < 0 || d.lo <= 0) {
		if (d.lo <= 0)
			return opaque(s, v);
		/* |n| = d * q + r, then the sign again */
		Z3_ast neg = Z3_mk_lt(s->z, n.t, prove_smt_number(s, 0));
		wide top = n.hi > -n.lo ? n.hi : -n.lo;
		struct term abs = {Z3_mk_ite(s->z, neg, Z3_mk_unary_minus(s->z, n.t), n.t), 0, top};
		divide(s, abs, d, &q, &r);
		q = (struct term){Z3_mk_ite(s->z, neg, Z3_mk_unary_minus(s->z, q.t), q.t), -q.hi,
				  q.hi};
		r = (struct term){Z3_mk_ite(s->z, neg, Z3_mk_unary_minus(s->z, r.t), r.t), -r.hi,
				  r.hi};
		return v->op == EX_SDIV ? q : r;
	}
	divide(s, n, d, &q, &r);
	return v->op == EX_SDIV ? q : r;
}

/* Either range will do for a factor; the one that comparisons and extensions used already lets the
 * products be related. */
static struct term factor(struct smt *s, const struct ex *v, unsigned t)
{
	struct memo *m = prove_smt_memo(s, v, t);

	return v->op == EX_SEXT || (m->s.t && !m->u.t) ? prove_smt_signed(s, v, t)
						       : prove_smt_unsigned(s, v, t);
}

static struct term arithmetic(struct smt *s, const struct ex *v, unsigned t)
{
	struct term a, b;

	switch ((enum ex_op)v->op) {
	case EX_ADD:
		a = prove_smt_value(s, v->a[0], t);
		b = prove_smt_value(s, v->a[1], t);
		return (struct term){prove_smt_sum(s, a.t, b.t), clamp(a.lo + b.lo),
				     clamp(a.hi + b.hi)};
	case EX_SUB:
		a = prove_smt_value(s, v->a[0], t);
		b = prove_smt_value(s, v->a[1], t);
		return (struct term){minus(s, a.t, b.t), clamp(a.lo - b.hi), clamp(a.hi - b.lo)};
	case EX_NOT:
		a = prove_smt_value(s, v->a[0], t);
		return (struct term){minus(s, prove_smt_number(s, -1), a.t), clamp(-1 - a.hi),
				     clamp(-1 - a.lo)};
	case EX_MUL:
		if (v->a[1]->op == EX_CONST)
			return prove_smt_product(s, prove_smt_value(s, v->a[0], t),
						 prove_smt_value(s, v->a[1], t));
		return prove_smt_product(s, factor(s, v->a[0], t), factor(s, v->a[1], t));
	case EX_UDIV:
	case EX_UREM:
		return unsigned_division(s, v, t);
	case EX_SDIV:
	case EX_SREM:
		return signed_division(s, v, t);
	case EX_AND:
		return masked(s, v, t);
	case EX_OR:
		return disjoint_or(s, v, t);
	case EX_ASHR:
	case EX_LSHR:
		return shift_right(s, v, t);
	case EX_IND:
		return induction(s, v, t);
	default:
		return opaque(s, v);
	}
}

static struct term fresh_value(struct smt *s, const struct ex *v, unsigned t)
{
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		return constant(s, v->imm > prove_ex_mask(v->w) >> 1 && v->w > 1
					   ? prove_ex_signed(v->imm, v->w)
					   : (wide)v->imm);
	case EX_CTR:
	case EX_SPEC:
	case EX_PARAM:
	case EX_SYM:
	case EX_VAR:
	case EX_PHI:
	case EX_KEXIT:
	case EX_PURE:
	case EX_CLOAD:
		return prove_smt_leaf(s, v, t);
	case EX_ITE:
		return either(s, prove_smt_bool(s, v->a[0], t), prove_smt_value(s, v->a[1], t),
			      prove_smt_value(s, v->a[2], t));
	case EX_ZEXT:
		return prove_smt_unsigned(s, v->a[0], t);
	case EX_SEXT:
		return prove_smt_signed(s, v->a[0], t);
	case EX_TRUNC:
		return prove_smt_value(s, v->a[0], t);
	default:
		return arithmetic(s, v, t);
	}
}

struct term prove_smt_value(struct smt *s, const struct ex *v, unsigned t)
{
	if (v->w == 1)
		return (struct term){Z3_mk_ite(s->z, prove_smt_bool(s, v, t),
					       prove_smt_number(s, 1), prove_smt_number(s, 0)),
				     0, 1};
	if (!prove_smt_memo(s, v, t)->v.t) {
		struct term r = fresh_value(s, v, t);
		if (prove_smt_is_in_contract(s, v) && r.hi > INT32_MAX) {
			prove_smt_hold(s, le(s, r.t, prove_smt_number(s, INT32_MAX)));
			r.hi = INT32_MAX;
		}
		prove_smt_memo(s, v, t)->v = r;
	}
	return prove_smt_memo(s, v, t)->v;
}

static Z3_ast equal(struct smt *s, const struct ex *a, const struct ex *b, unsigned t)
{
	struct term x = prove_smt_value(s, a, t), y = prove_smt_value(s, b, t);
	wide size = (wide)1 << a->w;

	if (x.lo - y.hi <= -size || x.hi - y.lo >= size) {
		x = prove_smt_unsigned(s, a, t);
		y = prove_smt_unsigned(s, b, t);
	}
	return Z3_mk_eq(s->z, x.t, y.t);
}

static Z3_ast fresh_bool(struct smt *s, const struct ex *v, unsigned t)
{
	Z3_ast x[2];

	if (v->op == EX_ULT || v->op == EX_SLT) {
		add_threshold(s, v->a[0]);
		add_threshold(s, v->a[1]);
	}

	switch ((enum ex_op)v->op) {
	case EX_CONST:
		return v->imm ? Z3_mk_true(s->z) : Z3_mk_false(s->z);
	case EX_NOT:
		return Z3_mk_not(s->z, prove_smt_bool(s, v->a[0], t));
	case EX_AND:
	case EX_OR:
	case EX_XOR:
		x[0] = prove_smt_bool(s, v->a[0], t);
		x[1] = prove_smt_bool(s, v->a[1], t);
		return v->op == EX_AND	? Z3_mk_and(s->z, 2, x)
		       : v->op == EX_OR ? Z3_mk_or(s->z, 2, x)
					: Z3_mk_xor(s->z, x[0], x[1]);
	case EX_EQ:
		if (v->a[0]->w == 1)
			return Z3_mk_iff(s->z, prove_smt_bool(s, v->a[0], t),
					 prove_smt_bool(s, v->a[1], t));
		return equal(s, v->a[0], v->a[1], t);
	case EX_ULT:
		return Z3_mk_lt(s->z, prove_smt_unsigned(s, v->a[0], t).t,
				prove_smt_unsigned(s, v->a[1], t).t);
	case EX_SLT:
		return Z3_mk_lt(s->z, prove_smt_signed(s, v->a[0], t).t,
				prove_smt_signed(s, v->a[1], t).t);
	case EX_ITE:
		return Z3_mk_ite(s->z, prove_smt_bool(s, v->a[0], t), prove_smt_bool(s, v->a[1], t),
				 prove_smt_bool(s, v->a[2], t));
	case EX_TRUNC: { /* the lowest bit */
		struct term q, r, n = prove_smt_unsigned(s, v->a[0], t);
		divide(s, n, constant(s, 2), &q, &r);
		return Z3_mk_eq(s->z, r.t, prove_smt_number(s, 1));
	}
	default:
		return Z3_mk_eq(s->z, prove_smt_leaf(s, v, t).t, prove_smt_number(s, 1));
	}
}

Z3_ast prove_smt_bool(struct smt *s, const struct ex *v, unsigned t)
{
	if (!prove_smt_memo(s, v, t)->b) {
		Z3_ast r = fresh_bool(s, v, t);
		prove_smt_memo(s, v, t)->b = r;
	}
	return prove_smt_memo(s, v, t)->b;
}

void prove_smt_conflict_integer(struct smt *s, const struct ex *a, unsigned na, const struct ex *b,
				unsigned nb, bool is_partial)
{
	struct term x = prove_smt_value(s, a, 0), y = prove_smt_value(s, b, 1);
	struct term d = {minus(s, x.t, y.t), clamp(x.lo - y.hi), clamp(x.hi - y.lo)};

	d = into_range(s, d, -((wide)1 << (a->w - 1)), a->w);
	prove_smt_hold(s, Z3_mk_lt(s->z, d.t, prove_smt_number(s, (wide)nb)));
	prove_smt_hold(s, Z3_mk_gt(s->z, d.t, prove_smt_number(s, -(wide)na)));
	if (is_partial && na == nb)
		prove_smt_hold(s, Z3_mk_not(s->z, Z3_mk_eq(s->z, d.t, prove_smt_number(s, 0))));
}

void prove_smt_finish_integer(struct smt *s)
{
	learn_products(s);
}
