/*
 * bands.c - values that depend on whether the thread's number is below numbers (check.h).
 *
 * "if (t < active) { ...; active /= 2; }" in a loop: what rounds.c computes of an iteration is a
 * choice within choices, by comparisons of t with numbers. They part the threads into bands; in one
 * of them all choices are made, and what is left is simple again (quick.c). Each band of the one
 * thread is asked about with each of the other's; where an access isn't reached in a band it is no
 * pair.
 *
 * Misses: choices by other conditions than a comparison with a number.
 * Costs: up to MAX_BANDS^2 questions of some microseconds.
 */
#include "prove/check.h"

#define MAX_BANDS  24
#define MAX_VALUES 3  /* that are compared with numbers */
#define MAX_DEPTH  40 /* comparisons, one after the other */

/* What is compared, and its bounds, both included. */
struct bound {
	const struct ex *v;
	uint64_t lo, hi;
};

struct band {
	struct ev_access a;
	const struct ex *where; /* the comparisons that hold */
	struct bound bound[MAX_VALUES];
	unsigned nbounds;
};

struct bands {
	struct check *c;
	struct band v[MAX_BANDS];
	unsigned n;
	bool is_lost;
};

/* v < k or k <= v, of numbers without a sign, or v == k. */
static bool is_test(const struct ex *x)
{
	bool has_number = x->n == 2 && (x->a[0]->op == EX_CONST || x->a[1]->op == EX_CONST);

	return has_number && (x->op == EX_ULT || x->op == EX_EQ);
}

static const struct ex *test_in(const struct ex *x, unsigned depth)
{
	const struct ex *found = NULL;

	if (is_test(x))
		return x;
	for (uint32_t i = 0; i < x->n && depth < 8 && x->w == 1 && !found; i++)
		found = x->a[i]->w == 1 ? test_in(x->a[i], depth + 1) : NULL;
	return found;
}

/* The test of the innermost choice in x. *is_lost: a choice has no test. */
static const struct ex *find_choice(const struct ex *x, unsigned char *seen, bool *is_lost)
{
	const struct ex *found = NULL;

	if (!x->n || seen[x->id])
		return NULL;
	seen[x->id] = 1;
	for (uint32_t i = 0; i < x->n && !found; i++)
		found = find_choice(x->a[i], seen, is_lost);
	if (found || x->op != EX_ITE)
		return found;
	found = test_in(x->a[0], 0);
	*is_lost |= !found;
	return found;
}

static const struct ex *next_test(struct bands *s, const struct ev_access *a)
{
	struct base_arena tmp = {0};
	unsigned char *seen = base_zalloc(&tmp, s->c->pool->n + 1u);
	const struct ex *found = find_choice(a->off, seen, &s->is_lost);

	if (!found)
		found = find_choice(a->guard, seen, &s->is_lost);
	base_arena_free(&tmp);
	return found;
}

/* Narrows the bounds of what is compared to where the test says so. False: nothing is left. */
static bool narrow(struct band *x, const struct ex *test, bool is_so)
{
	bool is_left = test->a[0]->op == EX_CONST; /* k < v */
	const struct ex *v = test->a[is_left];
	uint64_t k = test->a[!is_left]->imm;
	struct bound *at = NULL;

	for (unsigned i = 0; i < x->nbounds; i++)
		at = x->bound[i].v == v ? &x->bound[i] : at;
	if (!at) {
		if (x->nbounds == MAX_VALUES)
			return true; /* not known, so it may be */
		at = &x->bound[x->nbounds++];
		*at = (struct bound){v, v->lo, v->hi};
	}
	if (test->op == EX_EQ) {
		if (is_so) {
			at->lo = k > at->lo ? k : at->lo;
			at->hi = k < at->hi ? k : at->hi;
		} else if (at->lo == at->hi && at->lo == k) {
			return false;
		}
	} else if (is_so != is_left) { /* v < k, or !(k < v): v < k + 1 */
		uint64_t hi = is_left ? k : k - 1;
		if (!is_left && !k)
			return false;
		at->hi = hi < at->hi ? hi : at->hi;
	} else { /* k < v, or !(v < k) */
		uint64_t lo = is_left ? k + 1 : k;
		if (is_left && k == UINT64_MAX)
			return false;
		at->lo = lo > at->lo ? lo : at->lo;
	}
	return at->lo <= at->hi;
}

static void part(struct bands *s, struct band x, unsigned depth)
{
	struct ex_pool *p = s->c->pool;
	const struct ex *test = next_test(s, &x.a);

	if (s->is_lost || depth > MAX_DEPTH || (!test && s->n == MAX_BANDS)) {
		s->is_lost = true;
		return;
	}
	if (!test) {
		x.a.guard = prove_ex_and(p, x.where, x.a.guard);
		s->v[s->n++] = x;
		return;
	}
	for (unsigned is_so = 0; is_so < 2 && !s->is_lost; is_so++) {
		struct band y = x;
		const struct ex *said = prove_ex_const(p, 1, is_so);
		if (!narrow(&y, test, is_so))
			continue;
		y.a.off = prove_ex_replace(p, y.a.off, test, said);
		y.a.whole = prove_ex_replace(p, y.a.whole, test, said);
		y.a.guard = prove_ex_replace(p, y.a.guard, test, said);
		y.where = prove_ex_and(p, y.where, is_so ? test : prove_ex_not(p, test));
		if (y.a.guard->op != EX_CONST || (y.a.guard->imm & 1))
			part(s, y, depth + 1);
	}
}

bool bands_are_apart(struct check *c, const uint8_t *counters, split_fn *fn)
{
	struct check_pair was = c->pair;
	const struct ev_access *of[2] = {was.a, was.b};
	struct bands s[2];
	bool is_apart = true;

	for (unsigned t = 0; t < 2; t++) {
		struct band all = {.a = *of[t], .where = prove_ex_const(c->pool, 1, 1)};
		s[t] = (struct bands){.c = c};
		part(&s[t], all, 0);
		if (s[t].is_lost)
			return false;
	}
	if (s[0].n == 1 && s[1].n == 1 && s[0].v[0].a.off == of[0]->off &&
	    s[1].v[0].a.off == of[1]->off)
		return false; /* nothing new */
	for (unsigned i = 0; i < s[0].n && is_apart; i++) {
		for (unsigned k = 0; k < s[1].n && is_apart; k++) {
			c->pair.a = &s[0].v[i].a;
			c->pair.b = &s[1].v[k].a;
			is_apart = fn(c, counters);
		}
	}
	c->pair = was;
	return is_apart;
}
