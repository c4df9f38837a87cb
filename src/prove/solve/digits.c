/*
 * digits.c - pairs whose offsets are sums of numbers times digits (check.h).
 *
 * An offset is taken apart into a number and numbers times positions of the thread, loop counters,
 * values of which each thread has its own, and digits (n / d) % m of a value n, as far as nothing
 * in it wraps: by the bounds of its parts, and by what the access's own guard says of them. The
 * difference of two offsets is then a sum of numbers times small unknown differences, and whether
 * it can be less than an access is wide is found by trying them all, the largest step first; what
 * the smaller steps can add up to leaves few to try. Two different threads differ in some position,
 * so a solution in which all positions are equal is none. Digits that make up all of n are equal
 * only where n is; that n is another in each thread is asked in the same way. Digits of one value
 * to which different numbers are added (stages of a pipeline) differ by two numbers.
 *
 * Costs: some microseconds; at most MAX_NODES differences.
 */
#include "prove/solve/digits_impl.h"

#include <string.h>

#define MAX_NODES 20000

/* ---- differences ----------------------------------------------------------------------------- */

/* An unknown difference (or one thread's own value) times a number. */
struct unknown {
	int64_t times, lo, hi;
	bool counts; /* a position, or a digit: where all these are 0 it is one thread */
};

struct unknowns {
	struct unknown v[3 * MAX_TERMS];
	unsigned n, nodes;
	int64_t na, nb;
};

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Is there a way to come from `at` into the window with the unknowns from i on? Too many to try
 * counts as yes. */
static bool can_meet(struct unknowns *u, unsigned i, int64_t at, bool differs)
{
	int64_t less = 0, more = 0;

	if (++u->nodes > MAX_NODES)
		return true;
	if (i == u->n)
		return differs && at > -u->na && at < u->nb;
	for (unsigned k = i + 1; k < u->n; k++) {
		less += u->v[k].times * u->v[k].lo;
		more += u->v[k].times * u->v[k].hi;
	}
	/* -na < at + times * x + rest < nb */
	int64_t t = u->v[i].times;
	int64_t lo = -floor_div(at + more + u->na - 1, t), hi = floor_div(u->nb - 1 - at - less, t);
	lo = lo < u->v[i].lo ? u->v[i].lo : lo;
	hi = hi > u->v[i].hi ? u->v[i].hi : hi;
	if (hi - lo > MAX_NODES)
		return true;
	for (int64_t x = lo; x <= hi; x++)
		if (can_meet(u, i + 1, at + t * x, differs || (u->v[i].counts && x)))
			return true;
	return false;
}

/* Steps become positive, the largest comes first. False: all together may wrap. */
static bool order(struct unknowns *u, int64_t most)
{
	int64_t sum = 0, part;

	for (unsigned i = 0; i < u->n; i++) {
		struct unknown *x = &u->v[i];
		if (x->times < 0)
			*x = (struct unknown){-x->times, -x->hi, -x->lo, x->counts};
		int64_t far = x->hi > -x->lo ? x->hi : -x->lo;
		if (x->lo < -LIMIT || x->hi > LIMIT || far >= LIMIT ||
		    __builtin_mul_overflow(x->times, far, &part) ||
		    __builtin_add_overflow(sum, part, &sum) || sum > most)
			return false;
	}
	for (unsigned i = 1; i < u->n; i++)
		for (unsigned k = i; k && u->v[k - 1].times < u->v[k].times; k--) {
			struct unknown x = u->v[k];
			u->v[k] = u->v[k - 1];
			u->v[k - 1] = x;
		}
	return true;
}

/* Which dimensions of thread (bit d) and block (bit 3 + d) the launch leaves more than one of, and
 * must differ somewhere between the two. */
static unsigned wanted(const struct check *c)
{
	const uint32_t *max = c->pool->launch.max;
	unsigned bits = 0, first = c->level.apart >= RACE_LEVEL_CLUSTER ? DIMS : 0;

	for (unsigned d = 0; d < DIMS; d++)
		bits |= (unsigned)(max[first + d] > 1) << (first + d);
	return bits;
}

/* Offsets, what their guards say, and how many bytes are accessed there. */
struct question {
	const struct ex *a, *b;
	const struct facts *fa, *fb;
	int64_t na, nb;
	bool keeps_loops;
	bool folds;    /* values that the guards bound are one term */
	bool is_alone; /* one thread, which accesses both */
};

static bool is_apart(struct check *c, const uint8_t *counters, const struct question *q,
		     unsigned depth);

/* Do all digits of v stand in s, so that they are equal only where v is? */
static bool has_all_digits(const struct digit_sum *s, const struct ex *v, int64_t top)
{
	int64_t d = 1;

	for (unsigned turn = 0; turn < s->n; turn++) {
		for (unsigned i = 0; i < s->n; i++) {
			if (s->term[i].v != v || s->term[i].d != d || !s->term[i].is_both)
				continue;
			if (!s->term[i].m || (top < LIMIT && s->term[i].m > top / d))
				return true;
			if (__builtin_mul_overflow(d, s->term[i].m, &d))
				return true;
			break;
		}
	}
	return false;
}

static bool is_sum(const struct ex *v)
{
	return v->op == EX_ADD || v->op == EX_SUB || v->op == EX_MUL || v->op == EX_IND;
}

/* Puts values that one side's guard bounds together again, where both offsets have all of one. */
static void fold(const struct facts *f, struct digit_sum *a, struct digit_sum *b)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct digit_sum x = *a, y = *b;
		const struct ex *v = f->v[i].v;
		int64_t times = is_sum(v) ? digits_fold(&x, v) : 0;
		if (!times || digits_fold(&y, v) != times)
			continue;
		*a = x;
		*b = y;
	}
}

/*
 * Positions that are equal where the value of a term is, or all digits of what it is one of: by
 * what both sides' guards say of it, as digits that are all of n below 32 aren't all from 32 on.
 */
static unsigned covered(struct check *c, const uint8_t *counters, const struct digit_sum *s,
			const struct facts *other, unsigned i, unsigned depth)
{
	const struct ex *v = s->term[i].v;
	bool is_far = c->level.apart >= RACE_LEVEL_CLUSTER,
	     is_whole = s->term[i].d == 1 && !s->term[i].m;
	unsigned d = is_whole ? digits_position(c, v) : DIMS;

	if (d < DIMS)
		return 1u << (is_far ? DIMS + d : d);
	if (is_whole && v->op == EX_SPEC && v->imm <= EX_CTAID_Z) {
		d = (unsigned)v->imm % DIMS;
		return v->imm <= EX_TID_Z ? (is_far ? 0 : 1u << d) : 1u << (DIMS + d);
	}
	if (is_whole && meet_is_ticket(c, v))
		return UINT32_MAX;
	struct span x = digits_span(c, s->facts, v, 0), y = digits_span(c, other, v, 0);
	bool has_all = is_whole ? is_sum(v)
				: x.lo >= 0 && y.lo >= 0 &&
					  has_all_digits(s, v, x.hi > y.hi ? x.hi : y.hi);
	struct question q = {
		.a = v, .b = v, .fa = s->facts, .fb = other, .na = 1, .nb = 1, .is_alone = false};
	return has_all && !depth && is_apart(c, counters, &q, 1) ? UINT32_MAX : 0;
}

/* The number of a dimension of thread or block: which position of `wanted` is equal where it is, or
 * 0. */
static unsigned position_bit(const struct check *c, const struct ex *v)
{
	if (v->op != EX_SPEC || v->imm > EX_CTAID_Z)
		return 0;
	if (v->imm <= EX_TID_Z)
		return c->level.apart >= RACE_LEVEL_CLUSTER ? 0 : 1u << v->imm;
	return 1u << (DIMS + v->imm - EX_CTAID_X);
}

/*
 * (x + y) % m, where x is equal as other terms are: then y is, if it is less than m. So blocks are
 * numbered along diagonals.
 */
static unsigned covered_beside(const struct check *c, const struct digit_term *t, unsigned has)
{
	const struct ex *v = t->v;

	if (t->d != 1 || !t->m || v->op != EX_ADD)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		unsigned x = position_bit(c, v->a[i]), y = position_bit(c, v->a[1 - i]);
		if (x && y && (has & x) && v->a[1 - i]->hi < (uint64_t)t->m &&
		    v->a[i]->hi + v->a[1 - i]->hi <= (uint64_t)INT32_MAX)
			return y;
	}
	return 0;
}

static void add_unknown(struct unknowns *u, int64_t times, struct span in, bool counts)
{
	if (times && (in.lo || in.hi))
		u->v[u->n++] = (struct unknown){times, in.lo, in.hi, counts};
}

/* v as a value and a number that is added to it, where that surely doesn't wrap. */
static const struct ex *apart_from(const struct digit_sum *s, const struct ex *v, int64_t *more)
{
	struct span x = digits_span(s->c, s->facts, v->n ? v->a[0] : v, 0);

	*more = 0;
	if (v->op == EX_ADD && v->a[1]->op == EX_CONST) {
		*more = prove_ex_signed(v->a[1]->imm, v->w);
		x = (struct span){x.lo + *more, x.hi + *more};
		return digits_is_inside(x, (struct span){0, digits_whole(v->w).hi}) ? v->a[0]
										    : NULL;
	}
	return v;
}

/*
 * (x + k) % m and x % m of one x (stages of a pipeline) differ by k % m, or by m less. Takes such
 * terms out of both sums: what they add to the gap, and an unknown.
 */
static void match_stages(const struct check *c, const uint8_t *counters, struct digit_sum *a,
			 struct digit_sum *b, int64_t *gap, struct unknowns *u)
{
	for (unsigned i = 0; i < a->n; i++) {
		struct digit_term *s = &a->term[i];
		for (unsigned k = 0; k < b->n && s->times; k++) {
			struct digit_term *t = &b->term[k];
			int64_t x, y, far;
			if (!s->m || s->m != t->m || s->d != 1 || t->d != 1 ||
			    s->times != t->times || s->v == t->v)
				continue;
			const struct ex *v = apart_from(a, s->v, &x), *w = apart_from(b, t->v, &y);
			if (!v || !w || !digits_are_in_step(v, w, &far) ||
			    !quick_is_shared(c, v, counters))
				continue;
			far = ((far + x - y) % s->m + s->m) % s->m;
			if (!far)
				continue;
			*gap += s->times * (far - s->m);
			u->v[u->n++] = (struct unknown){s->times * s->m, 0, 1, false};
			s->times = t->times = 0;
		}
	}
}

/* Do both sides have the same value? */
static bool is_shared(const struct check *c, const struct ex *v, const uint8_t *counters,
		      bool is_alone)
{
	return (is_alone && v->op == EX_SPEC) || quick_is_shared(c, v, counters);
}

/* Of terms that don't come as often in both: false where both threads have one value. */
static bool add_others(const struct check *c, const uint8_t *counters, struct digit_sum *s,
		       struct digit_sum *other, int64_t sign, struct unknowns *u)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct digit_term *t = &s->term[i], *o = digits_find(other, t);
		t->is_both = o && o->times == t->times;
		if (t->is_both)
			continue;
		if (o && quick_is_shared(c, t->v, counters))
			return false;
		add_unknown(u, sign * t->times, t->in, false);
	}
	return true;
}

static bool is_apart(struct check *c, const uint8_t *counters, const struct question *q,
		     unsigned depth)
{
	struct digit_sum a = {.c = c, .facts = q->fa, .keeps_loops = q->keeps_loops},
			 b = {.c = c, .facts = q->fb, .keeps_loops = q->keeps_loops};
	struct unknowns u = {.na = q->na, .nb = q->nb};
	unsigned need = wanted(c), has = 0;
	/* within it a difference is 0, as machine words, only where it is 0 */
	int64_t most = q->a->w <= 60 ? ((int64_t)1 << q->a->w) - q->na - q->nb : INT64_MAX >> 3;

	digits_take_apart(&a, q->a, 1, true, 0);
	digits_take_apart(&b, q->b, 1, true, 0);
	digits_drop_nothing(&a);
	digits_drop_nothing(&b);
	if (q->folds && !a.is_lost && !b.is_lost) {
		fold(q->fa, &a, &b);
		fold(q->fb, &a, &b);
	}
	int64_t gap = a.constant - b.constant;
	if (!a.is_lost && !b.is_lost)
		match_stages(c, counters, &a, &b, &gap, &u);
	digits_drop_nothing(&a);
	digits_drop_nothing(&b);
	if (a.is_lost || b.is_lost || gap > most / 2 || gap < -(most / 2) ||
	    !add_others(c, counters, &b, &a, -1, &u) || !add_others(c, counters, &a, &b, 1, &u))
		return false;
	unsigned bits[MAX_TERMS] = {0};
	for (unsigned i = 0; i < a.n && !q->is_alone; i++) {
		if (!a.term[i].is_both || is_shared(c, a.term[i].v, counters, false))
			continue;
		bits[i] = covered(c, counters, &a, q->fb, i, depth);
		has |= bits[i];
	}
	for (unsigned i = 0; i < a.n && !q->is_alone; i++) {
		if (bits[i] || !a.term[i].is_both)
			continue;
		bits[i] = covered_beside(c, &a.term[i], has);
		has |= bits[i];
	}
	for (unsigned i = 0; i < a.n; i++) {
		struct digit_term *t = &a.term[i];
		if (!t->is_both || is_shared(c, t->v, counters, q->is_alone))
			continue;
		struct span x = t->in, y = digits_find(&b, t)->in, far = digits_whole(64);
		if (!digits_is_open(x) && !digits_is_open(y))
			far = (struct span){x.lo - y.hi, x.hi - y.lo};
		add_unknown(&u, t->times, far, bits[i] != 0);
	}
	/* where equal positions aren't seen they mustn't meet either */
	bool differs = q->is_alone || !need || need & ~has;
	most -= gap < 0 ? -gap : gap;
	return order(&u, most) && !can_meet(&u, 0, gap, differs);
}

static void learn(const struct check *c, struct facts *fa, struct facts *fb)
{
	digits_learn_loops(c, fa, c->pair.a->block);
	digits_learn_loops(c, fb, c->pair.b->block);
	digits_learn(c, fa, c->pair.a->guard, false, 0);
	digits_learn(c, fb, c->pair.b->guard, false, 0);
}

bool digits_are_apart(struct check *c, const uint8_t *counters, bool is_alone)
{
	struct facts fa = {.n = 0}, fb = {.n = 0};

	if (c->pair.a->off->w != c->pair.b->off->w)
		return false;
	learn(c, &fa, &fb);
	struct question q = {.a = c->pair.a->off,
			     .b = is_alone ? c->pair.b->off : meet_same_ticket(c, c->pair.b->off),
			     .fa = &fa,
			     .fb = &fb,
			     .na = c->pair.a->mem->bytes,
			     .nb = c->pair.b->mem->bytes,
			     .is_alone = is_alone};
	/* the bounds of start + step * counter are less than those of its parts add up to, and so
	 * may be those of what a guard bounds */
	for (unsigned i = 0; i < 4; i++) {
		q.keeps_loops = i & 1;
		q.folds = i & 2;
		if (is_apart(c, counters, &q, 0))
			return true;
	}
	return false;
}

bool digits_differ(struct check *c, const uint8_t *counters, const struct ex *v)
{
	struct facts fa = {.n = 0}, fb = {.n = 0};

	learn(c, &fa, &fb);
	struct question q = {.a = v, .b = v, .fa = &fa, .fb = &fb, .na = 1, .nb = 1};
	return is_apart(c, counters, &q, 0);
}
