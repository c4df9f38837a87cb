/*
 * sum.c - values of a run with letters, as sums of numbers times letters (ranks.h).
 *
 * Addition, subtraction and products by a number are the machine's modulo 2^width. A value that is
 * widened is its sum only where that stays within its width, for all that its letters may be;
 * else it is a letter itself. A condition is a letter of 0 or 1; a choice by one between sums that
 * differ by a number is a sum, too. What the facts decide is decided.
 */
#include "prove/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FACT_DEPTH 8
#define LARGE	       ((__int128)1 << 62)

static struct sum sum_under(struct ranks *r, const struct sum_facts *f, const struct ex *v,
			    const struct ex **choice, unsigned depth);

/* ---- sums ---------------------------------------------------------------------------------- */

struct sum sum_add(struct ranks *r, const struct sum *x, const struct sum *y, int64_t times)
{
	struct sum s = {.constant = (int64_t)((uint64_t)x->constant +
					      (uint64_t)y->constant * (uint64_t)times)};
	uint32_t i = 0, k = 0;

	s.term = base_alloc(&r->tmp, (x->n + y->n + 1) * sizeof(*s.term));
	work_add(WORK_STEP, x->n + y->n);
	while (i < x->n || k < y->n) {
		bool is_x = k == y->n || (i < x->n && x->term[i].v->id <= y->term[k].v->id);
		bool is_y = i == x->n || (k < y->n && y->term[k].v->id <= x->term[i].v->id);
		struct sum_term t = {is_x ? x->term[i].v : y->term[k].v, 0};
		uint64_t n = is_x ? (uint64_t)x->term[i].times : 0;
		if (is_y)
			n += (uint64_t)y->term[k].times * (uint64_t)times;
		i += is_x;
		k += is_y;
		t.times = (int64_t)n;
		if (n)
			s.term[s.n++] = t;
	}
	return s;
}

struct sum sum_of_letter(struct ranks *r, const struct ex *v)
{
	struct sum s = {.n = 1, .term = BASE_NEWN(&r->tmp, struct sum_term, 1)};

	s.term[0] = (struct sum_term){v, 1};
	return s;
}

bool sum_range(const struct sum *s, struct sum_range *out)
{
	__int128 lo = s->constant, hi = s->constant;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct sum_term *t = &s->term[i];
		__int128 a = (__int128)t->times * t->v->lo, b = (__int128)t->times * t->v->hi;
		lo += t->times < 0 ? b : a;
		hi += t->times < 0 ? a : b;
		if (lo < -LARGE || hi > LARGE)
			return false;
	}
	*out = (struct sum_range){(int64_t)lo, (int64_t)hi};
	return true;
}

int64_t sum_times(const struct sum *s, const struct ex *v)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->term[i].v == v)
			return s->term[i].times;
	return 0;
}

/* ---- facts --------------------------------------------------------------------------------- */

bool sum_add_fact(struct sum_facts *f, const struct ex *cond, bool is_true)
{
	for (; cond->op == EX_NOT; cond = cond->a[0])
		is_true = !is_true;
	if (cond->op == EX_CONST)
		return (cond->imm & 1) == is_true;
	for (uint32_t i = 0; i < f->n; i++)
		if (f->fact[i].v == cond)
			return f->fact[i].is_true == is_true;
	if (f->n < SUM_MAX_FACTS) {
		f->fact[f->n].v = cond;
		f->fact[f->n++].is_true = is_true;
	}
	/* a false "or" has two false sides */
	return cond->op != (is_true ? EX_AND : EX_OR) ||
	       (sum_add_fact(f, cond->a[0], is_true) && sum_add_fact(f, cond->a[1], is_true));
}

/* v as a sum that is v, and not only what it is modulo 2^width. False: it isn't known as one. */
static bool find_exact(struct ranks *r, const struct sum_facts *f, const struct ex *v,
		       bool is_signed, unsigned depth, struct sum *out)
{
	int64_t least = is_signed ? -(int64_t)(1ull << (v->w - 1)) : 0;
	struct sum_range x;

	if (v->w > 32)
		return false;
	*out = sum_under(r, f, v, NULL, depth + 1);
	if (!sum_range(out, &x))
		return false;
	int64_t all = (int64_t)1 << v->w, over = x.lo - least;
	int64_t turns = over >= 0 ? over / all : -((-over + all - 1) / all);
	out->constant -= turns * all;
	return x.hi - turns * all < least + all;
}

/* Is a less than b, or are they equal: 1, 0, or -1. */
static int compare(struct ranks *r, const struct sum_facts *f, const struct ex *cond,
		   unsigned depth)
{
	bool is_signed = cond->op == EX_SLT;
	struct sum a, b, d;
	struct sum_range x;

	if (!find_exact(r, f, cond->a[0], is_signed, depth, &a) ||
	    !find_exact(r, f, cond->a[1], is_signed, depth, &b))
		return -1;
	d = sum_add(r, &a, &b, -1);
	if (!sum_range(&d, &x))
		return -1;
	if (cond->op == EX_EQ)
		return x.lo > 0 || x.hi < 0 ? 0 : !x.lo && !x.hi ? 1 : -1;
	return x.hi < 0 ? 1 : x.lo >= 0 ? 0 : -1;
}

/* Is it a fact, or a number? */
static int look_up(const struct sum_facts *f, const struct ex *cond)
{
	if (cond->op == EX_CONST)
		return (int)(cond->imm & 1);
	for (uint32_t i = 0; i < f->n; i++)
		if (f->fact[i].v == cond)
			return f->fact[i].is_true;
	return -1;
}

int sum_decide(struct ranks *r, const struct sum_facts *f, const struct ex *cond, unsigned depth)
{
	int a = look_up(f, cond), b;

	if (a >= 0 || depth > MAX_FACT_DEPTH)
		return a;
	switch ((enum ex_op)cond->op) {
	case EX_NOT:
		a = sum_decide(r, f, cond->a[0], depth + 1);
		return a < 0 ? a : !a;
	case EX_AND:
	case EX_OR:
		a = sum_decide(r, f, cond->a[0], depth + 1);
		b = sum_decide(r, f, cond->a[1], depth + 1);
		if (a == (cond->op == EX_OR) || b == (cond->op == EX_OR))
			return cond->op == EX_OR;
		return a < 0 ? a : b;
	case EX_EQ:
	case EX_ULT:
	case EX_SLT:
		return f->n ? compare(r, f, cond, depth + 1) : -1;
	default:
		return -1;
	}
}

/* ---- taking apart -------------------------------------------------------------------------- */

struct adder {
	struct ranks *r;
	const struct sum_facts *f;
	const struct ex **choice;
	unsigned depth; /* of facts */
	int64_t constant;
	BASE_VEC(struct sum_term) terms;
};

static void add_term(struct adder *x, const struct ex *v, int64_t times)
{
	struct sum_term t = {v, times};

	base_vec_push(&x->terms, t);
}

static void add_constant(struct adder *x, int64_t k, int64_t times)
{
	x->constant = (int64_t)((uint64_t)x->constant + (uint64_t)k * (uint64_t)times);
}

static void add_sum(struct adder *x, const struct sum *s, int64_t times)
{
	add_constant(x, s->constant, times);
	for (uint32_t i = 0; i < s->n; i++)
		add_term(x, s->term[i].v, (int64_t)((uint64_t)s->term[i].times * (uint64_t)times));
}

static void add_condition(struct adder *x, const struct ex *c, int64_t times)
{
	for (; c->op == EX_NOT; c = c->a[0]) {
		add_constant(x, 1, times);
		times = -times;
	}
	int is = look_up(x->f, c); /* of hundreds: what follows from facts isn't looked for */
	if (is < 0)
		add_term(x, c, times);
	else
		add_constant(x, is, times);
}

static void add_choice(struct adder *x, const struct ex *v, int64_t times)
{
	int is = sum_decide(x->r, x->f, v->a[0], x->depth);
	struct sum a, b, d;

	if (is >= 0) {
		a = sum_under(x->r, x->f, v->a[is ? 1 : 2], x->choice, x->depth);
		add_sum(x, &a, times);
		return;
	}
	a = sum_under(x->r, x->f, v->a[1], NULL, x->depth);
	b = sum_under(x->r, x->f, v->a[2], NULL, x->depth);
	d = sum_add(x->r, &a, &b, -1);
	if (!d.n) {
		add_sum(x, &b, times);
		add_condition(x, v->a[0], (int64_t)((uint64_t)d.constant * (uint64_t)times));
		return;
	}
	if (x->choice && !*x->choice)
		*x->choice = v->a[0];
	add_term(x, v, times);
}

/*
 * The low bits of a sum, or what is above them: numbers that are packed in one word, as their sums
 * don't reach each other. False: they may.
 */
static bool add_part(struct adder *x, const struct ex *v, int64_t times)
{
	struct sum s, low = {0}, high = {0};
	struct sum_range at;
	int64_t k = (int64_t)v->a[1]->imm;

	if (v->a[1]->op != EX_CONST || k < 2 || (k & (k - 1)) || k > INT32_MAX ||
	    !find_exact(x->r, x->f, v->a[0], false, x->depth, &s))
		return false;
	low.term = base_alloc(&x->r->tmp, 2 * (s.n + 1) * sizeof(*s.term));
	high.term = low.term + s.n + 1;
	for (uint32_t i = 0; i <= s.n; i++) {
		int64_t n = i < s.n ? s.term[i].times : s.constant;
		int64_t h = (n + k / 2) >> __builtin_ctzll((uint64_t)k), l = n - h * k;
		if (i == s.n) {
			low.constant = l;
			high.constant = h;
			break;
		}
		if (l)
			low.term[low.n++] = (struct sum_term){s.term[i].v, l};
		if (h)
			high.term[high.n++] = (struct sum_term){s.term[i].v, h};
	}
	if (low.constant < 0) { /* the number is the nearest multiple's, not the one below it */
		low.constant += k;
		high.constant--;
	}
	if (!sum_range(&low, &at) || at.lo < 0 || at.hi >= k)
		return false;
	add_sum(x, v->op == EX_UREM ? &low : &high, times);
	return true;
}

static void expand(struct adder *x, const struct ex *v, int64_t times)
{
	struct sum s;

	if (v->w == 1) {
		add_condition(x, v, times);
		return;
	}
	if (!x->r->sums_left) {
		add_term(x, v, times);
		return;
	}
	x->r->sums_left--;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		add_constant(x, prove_ex_signed(v->imm, v->w), times);
		return;
	case EX_ADD:
		expand(x, v->a[0], times);
		expand(x, v->a[1], times);
		return;
	case EX_SUB:
		expand(x, v->a[0], times);
		expand(x, v->a[1], -times);
		return;
	case EX_NOT:
		add_constant(x, -1, times);
		expand(x, v->a[0], -times);
		return;
	case EX_MUL:
		if (v->a[1]->op != EX_CONST)
			break;
		times = (int64_t)((uint64_t)times * (uint64_t)prove_ex_signed(v->a[1]->imm, v->w));
		expand(x, v->a[0], times);
		return;
	case EX_TRUNC:
		expand(x, v->a[0], times);
		return;
	case EX_ZEXT:
	case EX_SEXT:
		if (!find_exact(x->r, x->f, v->a[0], v->op == EX_SEXT, x->depth, &s))
			break;
		add_sum(x, &s, times);
		return;
	case EX_UREM:
	case EX_UDIV:
		if (add_part(x, v, times))
			return;
		break;
	case EX_ITE:
		add_choice(x, v, times);
		return;
	default:
		break;
	}
	add_term(x, v, times);
}

static int by_letter(const void *a, const void *b)
{
	const struct sum_term *x = a, *y = b;

	return x->v->id < y->v->id ? -1 : x->v->id > y->v->id;
}

static struct sum sum_under(struct ranks *r, const struct sum_facts *f, const struct ex *v,
			    const struct ex **choice, unsigned depth)
{
	struct adder x = {.r = r, .f = f, .choice = choice, .depth = depth};
	struct sum s;

	expand(&x, v, 1);
	work_add(WORK_STEP, x.terms.n);
	s = (struct sum){.constant = x.constant};
	s.term = base_alloc(&r->tmp, (x.terms.n + 1) * sizeof(*s.term));
	if (x.terms.n)
		qsort(x.terms.v, x.terms.n, sizeof(*x.terms.v), by_letter);
	for (size_t i = 0; i < x.terms.n; i++) {
		struct sum_term t = x.terms.v[i];
		if (s.n && s.term[s.n - 1].v == t.v)
			s.term[s.n - 1].times =
				(int64_t)((uint64_t)s.term[s.n - 1].times + (uint64_t)t.times);
		else
			s.term[s.n++] = t;
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < s.n; i++)
		if (s.term[i].times)
			s.term[kept++] = s.term[i];
	s.n = kept;
	base_vec_free(&x.terms);
	return s;
}

struct sum sum_of(struct ranks *r, const struct sum_facts *f, const struct ex *v,
		  const struct ex **choice)
{
	if (choice)
		*choice = NULL;
	return sum_under(r, f, v, choice, 0);
}

bool ranks_find_count(struct ranks *r, const struct ranks_ticket *t, struct sum *count)
{
	const struct sum_facts none = {.n = 0};
	struct sum_range at;

	return find_exact(r, &none, t->count, false, 0, count) && sum_range(count, &at) &&
	       at.hi <= INT32_MAX;
}

bool ranks_counts_up(struct ranks *r, const struct ir_access *counter)
{
	struct sum count;

	for (size_t i = 0; i < r->tickets.n && r->counter != counter; i++)
		if (r->tickets.v[i].mem == counter &&
		    !ranks_find_count(r, &r->tickets.v[i], &count))
			return false;
	r->counter = counter;
	return true;
}
