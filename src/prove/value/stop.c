/*
 * stop.c - values of a loop that move on until they have come to an end (loop.c).
 *
 * `if (next != end) { out[next] = ...; next += stride; }`: in each iteration `next` is what it
 * would be if it had always moved, or the end, where it stays. It is a choice between the two by a
 * bit of which nothing is known but that it is the thread's, in this iteration. Where the code
 * asks whether the value is the end, the bit and the answer are one condition, so that after it
 * the value is the one that moves.
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

const struct ex *prove_ev_under(struct ev *e, const struct ex *v, const struct ex *cond)
{
	if (!e->has_stops || !has_bit(cond))
		return v;
	v = prove_ex_replace(e->pool, v, cond, prove_ex_const(e->pool, 1, 1));
	if (cond->op == EX_AND)
		v = prove_ev_under(e, prove_ev_under(e, v, cond->a[0]), cond->a[1]);
	return v;
}

/* Does the condition fail only where v is its end? */
static bool fails_at_end(struct ev *e, const struct ex *cond, const struct ex *v)
{
	if (!is_choice(v, NULL))
		return false;
	const struct ex *is_end = prove_ex_bin(e->pool, EX_EQ, v->a[1], v->a[2]);
	return cond == prove_ex_and(e->pool, v->a[0], prove_ex_not(e->pool, is_end));
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
		const struct ex *is_end = prove_ex_bin(p, EX_EQ, x->a[1], y);
		return prove_ex_not(p, prove_ex_and(p, x->a[0], prove_ex_not(p, is_end)));
	}
	return prove_ex_bin(p, EX_EQ, a, b);
}

#define MAX_DEPTH 12
#define MAX_TESTS 16

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

const struct ex *prove_ev_start_of(const struct ex *init, const struct ex *end)
{
	return is_choice(init, end) ? init->a[1] : init;
}

const struct ex *prove_ev_stopped(struct ev *e, uint64_t id, const struct ex *moving,
				  const struct ex *end, struct ex_args counters)
{
	e->has_stops = true;
	return prove_ex_ite(e->pool,
			    prove_ex_leaf(e->pool, EX_VAR, 1, STOP_BITS | id, EX_THREAD,
					  prove_ex_full(1), counters),
			    moving, end);
}
