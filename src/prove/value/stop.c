/*
 * stop.c - values of a loop that move on until they have come to an end (loop.c).
 *
 * `if (next != end) { out[next] = ...; next += stride; }`: in each iteration `next` is what it
 * would be if it had always moved, or the end, where it stays. It is a choice between the two by a
 * bit of which nothing is known but that it is the thread's, in this iteration. Where the code
 * asks whether the value is the end, the bit and the answer are one condition, so that after it
 * the value is the one that moves. Where each step comes after such a look, the bit implies that
 * the end wasn't passed (not_past), and that the thread has an end at all.
 *
 * Misses: an end that the loop changes; a value that moves by something else in some iterations.
 */
#include "prove/value/private.h"

/* Identities of these bits; those of other values are below. */
#define STOP_BITS (1ull << 61)

static bool is_bit(const struct ex *v)
{
	return v->op == EX_VAR && v->w == 1 && (v->imm & STOP_BITS);
}

static bool has_bit(const struct ex *cond)
{
	return is_bit(cond) ||
	       (cond->op == EX_AND && cond->w == 1 && (has_bit(cond->a[0]) || has_bit(cond->a[1])));
}

/* Is v a choice between what moves and this end (NULL: any)? */
static bool is_choice(const struct ex *v, const struct ex *end)
{
	return v->op == EX_ITE && has_bit(v->a[0]) && (!end || v->a[2] == end);
}

static const struct ex *under(struct ev *e, const struct ex *v, const struct ex *cond)
{
	v = prove_ex_replace(e->pool, v, cond, prove_ex_const(e->pool, 1, 1));
	if (cond->op == EX_AND && cond->w == 1)
		v = under(e, under(e, v, cond->a[0]), cond->a[1]);
	return v;
}

const struct ex *prove_ev_under(struct ev *e, const struct ex *v, const struct ex *cond)
{
	return e->has_stops && has_bit(cond) ? under(e, v, cond) : v;
}

/* Has what moves in the choice v come to its end? As v->a[0] says that it moves. */
static const struct ex *is_at_end(struct ev *e, const struct ex *v)
{
	return prove_ex_bin(e->pool, EX_EQ, v->a[1], under(e, v->a[2], v->a[0]));
}

/* Does the condition fail only where v is its end? */
static bool fails_at_end(struct ev *e, const struct ex *cond, const struct ex *v)
{
	return is_choice(v, NULL) &&
	       cond == prove_ex_and(e->pool, v->a[0], prove_ex_not(e->pool, is_at_end(e, v)));
}

const struct ex *prove_ev_choose(struct ev *e, const struct ex *cond, const struct ex *a,
				 const struct ex *b)
{
	if (e->has_stops && cond->op == EX_NOT)
		return prove_ev_choose(e, cond->a[0], b, a);
	if (e->has_stops && cond->op == EX_AND) {
		a = prove_ev_under(e, a, cond);
		if (fails_at_end(e, cond, b))
			b = b->a[2];
	}
	return prove_ex_ite(e->pool, cond, a, b);
}

const struct ex *prove_ev_equal(struct ev *e, const struct ex *a, const struct ex *b)
{
	struct ex_pool *p = e->pool;

	for (unsigned turn = 0; turn < 2 && e->has_stops; turn++) {
		const struct ex *x = turn ? b : a, *y = turn ? a : b;
		if (!is_choice(x, y))
			continue;
		const struct ex *goes_on = prove_ex_not(p, is_at_end(e, x));
		return prove_ex_not(p, prove_ex_and(p, x->a[0], goes_on));
	}
	return prove_ex_bin(p, EX_EQ, a, b);
}

#define MAX_DEPTH 12
#define MAX_TESTS 16
#define MAX_MOVES 65536

/* A comparison for equality in v, one side of which has x in it (is_itself: is x), and the other
 * is `end` (NULL: anything without x); or NULL. */
static const struct ex *find_test(const struct ex *v, const struct ex *x, bool is_itself,
				  const struct ex *end, unsigned depth)
{
	const struct ex *found = NULL;

	for (unsigned i = 0; i < 2 && v->op == EX_EQ; i++) {
		const struct ex *mine = v->a[i], *other = v->a[!i];
		if ((mine == x || (!is_itself && prove_ex_contains(mine, x))) &&
		    (end ? other == end : !prove_ex_contains(other, x)))
			return v;
	}
	for (uint32_t i = 0; i < v->n && !found && depth < MAX_DEPTH; i++)
		found = find_test(v->a[i], x, is_itself, end, depth + 1);
	return found;
}

bool prove_ev_find_stop(struct ev *e, uint32_t loop, const struct ex *phi, const struct ex *next,
			const struct ex **end, const struct ex **moved)
{
	const struct ex *test;

	*moved = next;
	if (is_choice(next, NULL)) { /* an inner loop's */
		*end = next->a[2];
		*moved = next->a[1];
	} else {
		test = find_test(next, phi, true, NULL, 0);
		if (!test)
			return false;
		*end = test->a[test->a[0] == phi];
	}
	for (unsigned i = 0; i < MAX_TESTS; i++) {
		test = find_test(*moved, phi, false, *end, 0);
		if (!test)
			break;
		*moved = prove_ex_replace(e->pool, *moved, test, prove_ex_const(e->pool, 1, 0));
	}
	return *moved != next && !prove_ex_contains(*end, phi) &&
	       !prove_ex_contains(*end, e->loops[loop].ctr);
}

/* ---- not past the end ---------------------------------------------------------------------- */

#define MAX_TERMS 12

struct sum {
	unsigned w, n;
	uint64_t constant;
	struct {
		const struct ex *v;
		uint64_t times;
	} term[MAX_TERMS];
};

static bool add_term(struct sum *s, const struct ex *v, uint64_t times)
{
	unsigned i = 0;

	while (i < s->n && s->term[i].v != v)
		i++;
	if (i == MAX_TERMS)
		return false;
	if (i == s->n) {
		s->term[s->n++].v = v;
		s->term[i].times = 0;
	}
	s->term[i].times += times;
	return true;
}

/* Adds v, modulo its width. */
static bool add(struct sum *s, const struct ex *v, uint64_t times, unsigned depth)
{
	bool is_times = v->op == EX_MUL && v->a[1]->op == EX_CONST;
	bool is_ind = v->op == EX_IND && v->a[1]->op == EX_CONST;

	if (depth > MAX_DEPTH)
		return false;
	if (v->op == EX_CONST)
		s->constant += v->imm * times;
	else if (v->op == EX_ADD || v->op == EX_SUB)
		return add(s, v->a[0], times, depth + 1) &&
		       add(s, v->a[1], v->op == EX_ADD ? times : 0 - times, depth + 1);
	else if (is_times)
		return add(s, v->a[0], v->a[1]->imm * times, depth + 1);
	else if (is_ind)
		return add(s, v->a[0], times, depth + 1) &&
		       add_term(s, v->a[2], v->a[1]->imm * times);
	else
		return add_term(s, v, times);
	return true;
}

/* A number, in 64 bits, of which `unit` times as much is b - a, modulo their width; or NULL. */
static const struct ex *quotient(struct ex_pool *p, const struct ex *a, const struct ex *b,
				 int64_t unit)
{
	struct sum s = {.w = a->w};
	const struct ex *q;

	if (!add(&s, b, 1, 0) || !add(&s, a, UINT64_MAX, 0))
		return NULL;
	int64_t k = prove_ex_signed(s.constant, s.w);
	if (k % unit)
		return NULL;
	q = prove_ex_const(p, 64, (uint64_t)(k / unit));
	for (unsigned i = 0; i < s.n; i++) {
		k = prove_ex_signed(s.term[i].times, s.w);
		if (k % unit)
			return NULL;
		const struct ex *v = s.term[i].v;
		v = v->w < 64 ? prove_ex_un(p, EX_SEXT, 64, v) : v;
		v = prove_ex_bin(p, EX_MUL, v, prove_ex_const(p, 64, (uint64_t)(k / unit)));
		q = prove_ex_bin(p, EX_ADD, q, v);
	}
	return q;
}

/*
 * What still moves hasn't been at its end: where the start and q steps are the end, q is negative
 * or not less than the steps that were made. This holds for any such q, as the steps were made
 * one by one, each after a look; so nothing is asked of the start, or of what wraps.
 */
static const struct ex *not_past(struct ev *e, const struct ev_phi *p, const struct ex *start,
				 const struct ex *end, const struct ex *ctr)
{
	struct ex_pool *pool = e->pool;
	const struct ex *made = prove_ex_bin(pool, EX_MUL, ctr, prove_ex_const(pool, 64, p->moves));
	int64_t by = p->step->op == EX_CONST ? prove_ex_signed(p->step->imm, p->step->w) : 0;
	const struct ex *q = NULL;

	if (p->moves && by && by % (int64_t)p->moves == 0)
		q = quotient(pool, start, end, by / (int64_t)p->moves);
	if (!q)
		return prove_ex_const(pool, 1, 1);
	return prove_ex_or(pool, prove_ex_bin(pool, EX_SLT, q, prove_ex_const(pool, 64, 0)),
			   prove_ex_not(pool, prove_ex_bin(pool, EX_SLT, q, made)));
}

static bool has_part(const struct ex *cond, const struct ex *part)
{
	return cond == part || (cond->op == EX_AND && cond->w == 1 &&
				(has_part(cond->a[0], part) || has_part(cond->a[1], part)));
}

/* The bit with a number in place of its loop's counter: a loop that is over, after so many. */
static const struct ex *find_over(const struct ex *cond)
{
	if (is_bit(cond))
		return cond->n && cond->a[0]->op == EX_CONST ? cond : NULL;
	if (cond->op != EX_AND || cond->w != 1)
		return NULL;
	const struct ex *found = find_over(cond->a[0]);
	return found ? found : find_over(cond->a[1]);
}

uint32_t prove_ev_count_moves(struct ev *e, const struct ev_phi *p, const struct ex *next)
{
	struct ex_pool *pool = e->pool;

	if (next->op != EX_ITE || next->a[2] != p->stop || !has_part(next->a[0], p->leaf->a[0]))
		return 0;
	if (has_part(next->a[0], prove_ex_not(pool, is_at_end(e, p->leaf))))
		return 1;
	const struct ex *bit = find_over(next->a[0]);
	if (!bit)
		return 0;
	uint64_t id = bit->imm & ~STOP_BITS, n = bit->a[0]->imm;
	const struct ev_phi *in =
		prove_ev_phi_of(e, (uint32_t)(id / e->ncells), (uint32_t)(id % e->ncells));
	bool is_its =
		in && in->stop == p->stop && in->init == p->leaf && n <= MAX_MOVES &&
		under(e, p->step, next->a[0]) ==
			prove_ex_bin(pool, EX_MUL, in->step, prove_ex_const(pool, in->step->w, n));
	return is_its && in->moves * n <= MAX_MOVES ? in->moves * (uint32_t)n : 0;
}

void prove_ev_stopped(struct ev *e, uint32_t loop, uint32_t cell, struct ev_phi *p,
		      struct ex_args counters)
{
	struct ex_pool *pool = e->pool;
	const struct ex *ctr = e->loops[loop].ctr, *start = p->init, *end = p->stop, *moves;
	const struct ex *yes = prove_ex_const(pool, 1, 1), *no = prove_ex_const(pool, 1, 0);
	uint64_t id = STOP_BITS | ((uint64_t)loop * e->ncells + cell);

	e->has_stops = true;
	moves = prove_ex_leaf(pool, EX_VAR, 1, id, EX_THREAD, prove_ex_full(1), counters);
	if (is_choice(start, end)) { /* it may have come to its end before */
		moves = prove_ex_and(pool, moves, start->a[0]);
		start = start->a[1];
	}
	/* `if (x < n) { next = start; end = ...; } else next = end = 0;`: it moves where x < n */
	const struct ex *when = p->moves && end->op == EX_ITE ? end->a[0] : yes;
	if (when != yes &&
	    (has_part(moves, when) ||
	     prove_ex_replace(pool, start, when, no) == prove_ex_replace(pool, end, when, no))) {
		moves = prove_ex_and(pool, moves, when);
		start = prove_ex_replace(pool, start, when, yes);
		end = prove_ex_replace(pool, end, when, yes);
		p->step = prove_ex_replace(pool, p->step, when, yes);
	}
	p->moving = prove_ex_ind(pool, EX_IND_WRAPS, start, p->step, ctr);
	moves = prove_ex_and(pool, moves, not_past(e, p, start, end, ctr));
	p->leaf = prove_ex_ite(pool, moves, p->moving, p->stop);
}
