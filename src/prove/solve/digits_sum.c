/*
 * digits_sum.c - takes offsets apart into numbers times digits (digits_impl.h).
 *
 * Each sum, product and induction is looked into as far as nothing in it wraps, by the bounds of
 * its parts; where a choice has terms in common on both sides these are terms, and what is left is
 * one value of the thread's own. Terms that make up a value of which a guard says more than they do
 * (a column, less than the row is long) can be put together again.
 *
 * Misses: choices in choices of more than three levels, or without a term in common.
 */
#include "prove/solve/digits_impl.h"

#define MAX_CHOICES 3		 /* one in another */
#define FRESH	    (3ull << 60) /* identities of what choices add */

static void add_within(struct digit_sum *s, const struct ex *v, int64_t times, int64_t d, int64_t m,
		       struct span in)
{
	in = digits_both(in, digits_span(s->c, s->facts, v, 0));

	if (d != 1 || m) { /* v isn't negative */
		in = (struct span){0, in.hi < LIMIT ? in.hi / d : LIMIT};
		if (m && in.hi >= m)
			in.hi = m - 1;
	}
	for (unsigned i = 0; i < s->n; i++) {
		if (s->term[i].v == v && s->term[i].d == d && s->term[i].m == m) {
			s->term[i].in = digits_both(s->term[i].in, in);
			s->is_lost |=
				__builtin_add_overflow(s->term[i].times, times, &s->term[i].times);
			return;
		}
	}
	if (s->n == MAX_TERMS || times > LIMIT || times < -LIMIT) {
		s->is_lost = true;
		return;
	}
	s->term[s->n].v = v;
	s->term[s->n].times = times;
	s->term[s->n].d = d;
	s->term[s->n].m = m;
	s->term[s->n++].in = in;
}

static void add_term(struct digit_sum *s, const struct ex *v, int64_t times, int64_t d, int64_t m)
{
	add_within(s, v, times, d, m, digits_whole(64));
}

/* Are the upper bits that are cut off nothing but the sign? */
static bool is_kept_whole(const struct digit_sum *s, const struct ex *v)
{
	return digits_is_inside(digits_span(s->c, s->facts, v->a[0], 0), digits_whole(v->w));
}

static const struct ex *bare(const struct digit_sum *s, const struct ex *v)
{
	while (v->op == EX_SEXT ||
	       (v->op == EX_ZEXT && digits_span(s->c, s->facts, v->a[0], 0).lo >= 0) ||
	       (v->op == EX_TRUNC && is_kept_whole(s, v)))
		v = v->a[0];
	return v;
}

/* (v / d) % m, where v itself may be a quotient or a remainder by numbers. */
static void add_digit(struct digit_sum *s, const struct ex *v, int64_t times, int64_t d, int64_t m)
{
	for (unsigned i = 0; i < MAX_DEPTH; i++) {
		v = bare(s, v);
		bool is_div = v->op == EX_UDIV || v->op == EX_SDIV;
		bool is_mask = v->op == EX_AND && v->a[1]->op == EX_CONST &&
			       v->a[1]->imm < INT32_MAX && !(v->a[1]->imm & (v->a[1]->imm + 1));
		bool is_rem = v->op == EX_UREM || v->op == EX_SREM || is_mask;
		if ((!is_div && !is_rem) || v->a[1]->op != EX_CONST ||
		    digits_span(s->c, s->facts, v->a[0], 0).lo < 0)
			break;
		int64_t k = prove_ex_signed(v->a[1]->imm, v->w) + is_mask, next;
		if (k <= 0)
			break;
		if (is_div) { /* ((x / k) / d) % m */
			if (__builtin_mul_overflow(d, k, &next) || next > LIMIT)
				break;
			d = next;
		} else if (!(k % d)) { /* ((x % k) / d) % m, where m divides k / d or comes later */
			int64_t own = k / d;
			if (m && own % m && own > m)
				break;
			m = m && m < own ? m : own;
		} else {
			break;
		}
		v = v->a[0];
	}
	add_term(s, v, times, d, m);
}

/* start + step * counter in a loop whose last iteration is known. */
static bool add_counted(struct digit_sum *s, const struct ex *v, int64_t times, bool is_top)
{
	struct span n = digits_span(s->c, s->facts, v->a[2], 0);
	int64_t k;

	if (v->a[1]->op != EX_CONST || n.lo < 0 || n.hi >= LIMIT ||
	    (!is_top && !digits_is_known(s->c, s->facts, v)) ||
	    __builtin_mul_overflow(times, prove_ex_signed(v->a[1]->imm, v->a[1]->w), &k))
		return false;
	add_within(s, v->a[2], k, 1, 0, n);
	return true;
}

/* start + step * counter, which doesn't wrap: the counter is bounded by what the value may be. */
static bool add_induction(struct digit_sum *s, const struct ex *v, int64_t times)
{
	int64_t step = prove_ex_signed(v->a[1]->imm, v->a[1]->w), k;
	struct span all = digits_span(s->c, s->facts, v, 0),
		    from = digits_span(s->c, s->facts, v->a[0], 0), n = {0, LIMIT};
	bool is_kept = v->imm == EX_IND_SIGNED ||
		       (v->imm == EX_IND_UNSIGNED && all.lo >= 0 && from.lo >= 0);

	if (!is_kept || v->a[1]->op != EX_CONST || step <= 0 || all.hi >= LIMIT ||
	    from.lo <= -LIMIT || __builtin_mul_overflow(times, step, &k))
		return false;
	n.hi = (all.hi - from.lo) / step;
	if (n.hi < 0)
		return false;
	add_within(s, v->a[2], k, 1, 0, n);
	return true;
}

/* Terms that came up and went, as n in n + 4 - (n + i): they say nothing of n. */
void digits_drop_nothing(struct digit_sum *s)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < s->n; i++)
		if (s->term[i].times)
			s->term[kept++] = s->term[i];
	s->n = kept;
}

static int64_t gcd(int64_t a, int64_t b)
{
	a = a < 0 ? -a : a;
	while (a) {
		int64_t rest = b % a;
		b = a;
		a = rest;
	}
	return b;
}

/* The same term of another sum, or NULL. */
struct digit_term *digits_find(struct digit_sum *s, const struct digit_term *t)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->term[i].v == t->v && s->term[i].d == t->d && s->term[i].m == t->m)
			return &s->term[i];
	return NULL;
}

/* A sum without its constant and the terms that another has, too: its bounds, and what divides it.
 * False: too large. */
static bool rest_of(struct digit_sum *s, struct digit_sum *other, int64_t constant,
		    struct span *out, int64_t *divisor)
{
	*out = (struct span){constant, constant};
	if (digits_is_open(*out))
		return false;
	*divisor = gcd(constant, *divisor);
	for (unsigned i = 0; i < s->n; i++) {
		struct digit_term *t = &s->term[i], *o = digits_find(other, t);
		int64_t a, b;
		if (o && o->times == t->times)
			continue;
		if (digits_is_open(t->in) || __builtin_mul_overflow(t->times, t->in.lo, &a) ||
		    __builtin_mul_overflow(t->times, t->in.hi, &b))
			return false;
		out->lo += a < b ? a : b;
		out->hi += a < b ? b : a;
		if (out->lo < -LIMIT || out->hi > LIMIT)
			return false;
		*divisor = gcd(t->times, *divisor);
	}
	return true;
}

/*
 * A choice whose sides have terms in common is these and one more value of the thread's own, times
 * what divides all that is not common: k or k + 4 * i, where a loop began that nvcc unrolled.
 */
static bool add_choice(struct digit_sum *s, const struct ex *v, int64_t times, unsigned depth)
{
	struct facts fx = *s->facts, fy = *s->facts;
	struct digit_sum x = {.c = s->c,
			      .facts = &fx,
			      .keeps_loops = s->keeps_loops,
			      .choices = s->choices + 1,
			      .nfresh = s->nfresh},
			 y = x;
	struct span rx, ry;
	int64_t divisor = 0, gap;
	unsigned common = 0;

	if (s->choices == MAX_CHOICES)
		return false;
	digits_learn(s->c, &fx, v->a[0], false, 0);
	digits_learn(s->c, &fy, v->a[0], true, 0);
	digits_take_apart(&x, v->a[1], times, false, depth + 1);
	y.facts = &fy;
	y.nfresh = x.nfresh;
	digits_take_apart(&y, v->a[2], times, false, depth + 1);
	digits_drop_nothing(&x);
	digits_drop_nothing(&y);
	if (x.is_lost || y.is_lost || __builtin_sub_overflow(y.constant, x.constant, &gap) ||
	    !rest_of(&x, &y, 0, &rx, &divisor) || !rest_of(&y, &x, gap, &ry, &divisor))
		return false;
	for (unsigned i = 0; i < x.n; i++) {
		const struct digit_term *t = &x.term[i], *o = digits_find(&y, t);
		common += o && o->times == t->times;
	}
	if (!common || __builtin_add_overflow(s->constant, x.constant, &s->constant))
		return false;
	s->nfresh = y.nfresh;
	for (unsigned i = 0; i < x.n; i++) {
		const struct digit_term *t = &x.term[i], *o = digits_find(&y, t);
		if (o && o->times == t->times)
			add_within(s, t->v, t->times, t->d, t->m,
				   (struct span){t->in.lo < o->in.lo ? t->in.lo : o->in.lo,
						 t->in.hi > o->in.hi ? t->in.hi : o->in.hi});
	}
	if (!divisor)
		return true;
	const struct ex *own = prove_ex_leaf(s->c->pool, EX_VAR, 64, FRESH | s->nfresh++, EX_THREAD,
					     prove_ex_full(64), EX_NO_ARGS);
	add_within(s, own, divisor, 1, 0,
		   (struct span){(rx.lo < ry.lo ? rx.lo : ry.lo) / divisor,
				 (rx.hi > ry.hi ? rx.hi : ry.hi) / divisor});
	return true;
}

/* is_top: what wraps here wraps as the whole offset does, so that nothing is lost by it. */
void digits_take_apart(struct digit_sum *s, const struct ex *v, int64_t times, bool is_top,
		       unsigned depth)
{
	const struct facts *f = s->facts;
	int64_t k;

	if (depth > MAX_DEPTH || s->is_lost) {
		s->is_lost = true;
		return;
	}
	struct span all = digits_whole(v->w), x = {0, 0}, y = {0, 0}, r;
	if (v->op == EX_ADD || v->op == EX_SUB || v->op == EX_MUL) {
		x = digits_span(s->c, f, v->a[0], 0);
		y = digits_span(s->c, f, v->a[1], 0);
	}
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		k = prove_ex_signed(v->imm, v->w);
		s->is_lost |= __builtin_mul_overflow(k, times, &k) ||
			      __builtin_add_overflow(s->constant, k, &s->constant);
		return;
	case EX_ADD:
	case EX_SUB:
		r = v->op == EX_ADD ? (struct span){x.lo + y.lo, x.hi + y.hi}
				    : (struct span){x.lo - y.hi, x.hi - y.lo};
		/* with an open block size a position is one value */
		if (digits_is_position(s->c, v) ? !s->c->pool->launch.dim[digits_position(s->c, v)]
						: !is_top && !digits_is_inside(r, all))
			break;
		digits_take_apart(s, v->a[0], times, is_top, depth + 1);
		digits_take_apart(s, v->a[1], v->op == EX_ADD ? times : -times, is_top, depth + 1);
		return;
	case EX_MUL:
		if (v->a[1]->op != EX_CONST || y.lo <= 0 ||
		    __builtin_mul_overflow(x.lo, y.lo, &r.lo) ||
		    __builtin_mul_overflow(x.hi, y.lo, &r.hi) ||
		    (!is_top && !digits_is_inside(r, all)) ||
		    __builtin_mul_overflow(times, y.lo, &k))
			break;
		digits_take_apart(s, v->a[0], k, is_top, depth + 1);
		return;
	case EX_SEXT:
		digits_take_apart(s, v->a[0], times, false, depth + 1);
		return;
	case EX_ZEXT:
		if (digits_span(s->c, f, v->a[0], 0).lo < 0)
			break;
		digits_take_apart(s, v->a[0], times, false, depth + 1);
		return;
	case EX_TRUNC:
		if (!is_top && !is_kept_whole(s, v))
			break;
		digits_take_apart(s, v->a[0], times, is_top, depth + 1);
		return;
	case EX_IND:
		if (s->keeps_loops)
			break;
		if (add_counted(s, v, times, is_top))
			digits_take_apart(s, v->a[0], times, is_top, depth + 1);
		else if (add_induction(s, v, times))
			digits_take_apart(s, v->a[0], times, false, depth + 1);
		else
			break;
		return;
	case EX_ITE:
		if (!add_choice(s, v, times, depth))
			break;
		return;
	case EX_UDIV:
	case EX_SDIV:
	case EX_UREM:
	case EX_SREM:
	case EX_AND:
		add_digit(s, v, times, 1, 0);
		return;
	default:
		break;
	}
	add_term(s, v, times, 1, 0);
}

/* ---- bounds of a part ------------------------------------------------------------------------ */

/* How often all terms of v are in s, or 0. *parts: the bounds that these give v. */
static int64_t times_in(struct digit_sum *s, const struct digit_sum *v, struct span *parts)
{
	int64_t times = 0;

	*parts = (struct span){v->constant, v->constant};
	for (unsigned i = 0; i < v->n; i++) {
		const struct digit_term *own = &v->term[i], *t = digits_find(s, own);
		int64_t a, b;
		if (!t || !own->times || t->times % own->times ||
		    (times && t->times / own->times != times) ||
		    __builtin_mul_overflow(own->times, own->in.lo, &a) ||
		    __builtin_mul_overflow(own->times, own->in.hi, &b) || a < -LIMIT || a > LIMIT ||
		    b < -LIMIT || b > LIMIT)
			return 0;
		times = t->times / own->times;
		parts->lo += a < b ? a : b;
		parts->hi += a < b ? b : a;
	}
	return times;
}

int64_t digits_fold(struct digit_sum *s, const struct ex *v)
{
	struct digit_sum own = {
		.c = s->c, .facts = s->facts, .keeps_loops = s->keeps_loops, .nfresh = s->nfresh};
	struct span in = digits_span(s->c, s->facts, v, 0), parts;
	int64_t k;

	digits_take_apart(&own, v, 1, false, 0);
	digits_drop_nothing(&own);
	if (own.is_lost || own.n < 2)
		return 0;
	int64_t times = times_in(s, &own, &parts);
	if (!times || (in.lo <= parts.lo && in.hi >= parts.hi) ||
	    __builtin_mul_overflow(times, own.constant, &k) ||
	    __builtin_sub_overflow(s->constant, k, &s->constant))
		return 0;
	for (unsigned i = 0; i < own.n; i++)
		digits_find(s, &own.term[i])->times = 0;
	digits_drop_nothing(s);
	add_term(s, v, times, 1, 0);
	return times;
}
