/*
 * answers.c - may what the code assumes of an atomic's answer hold of several threads (order.h)?
 *
 * A counter gives each thread another number, a place is claimed by one. An assumption that leaves
 * one answer only, as `slot == 0`, holds in no launch that has two threads there, and as a proof
 * rests on two of them it would prove everything. So where an assumption names an answer, two
 * threads of a block, and of two blocks, are asked about: if they can keep to it, but not with
 * what is known of the answers, it contradicts.
 *
 * Misses: assumptions that leave room for two threads and not for all (`slot < 32`).
 * Costs: up to four queries for each such assumption and atomic; none where there is no such.
 */
#include "prove/order/order.h"

/* Two threads that come to the assumption; with what is known of answers. */
static bool are_possible(struct check *c, const struct ev_assume *as, bool use_answers)
{
	struct smt_query q = {.is_same_cta = c->level.apart <= RACE_LEVEL_BLOCK};

	if (!check_limit(&q, CHECK_QUERY, c->deadline))
		return true;
	q.counters = base_zalloc(c->arena, c->e->ir->nloops + 1);
	c->k->counts.queries++;
	prove_smt_begin(c->smt, &q);
	for (unsigned t = 0; t < 2; t++) {
		prove_hold_side(c, as->guard, as->block, t);
		prove_smt_assert(c->smt, as->fact, t);
	}
	prove_hold_both(c, as->block, as->block);
	if (use_answers)
		prove_meet_hold(c);
	return prove_smt_check(c->smt, NULL) != SMT_IMPOSSIBLE;
}

/* Two threads that are as far apart: never both? */
static bool contradicts(struct check *c, const struct ev_assume *as, const struct ev_assume *t)
{
	static const enum race_level levels[] = {RACE_LEVEL_BLOCK, RACE_LEVEL_GRID};
	const struct ev_access *at = order_access_of(c, t->mem);
	struct ev_access *x = at ? BASE_NEW(c->arena, struct ev_access) : NULL;
	bool is_never = false;

	if (!x)
		return false;
	*x = *at; /* which has that number */
	x->block = as->block;
	x->guard = as->guard;
	x->off = t->value;
	c->pair = (struct check_pair){.a = x, .b = x};
	for (unsigned i = 0; i < BASE_COUNTOF(levels) && !is_never; i++) {
		unsigned first = levels[i] == RACE_LEVEL_BLOCK ? 0 : 3;
		const uint32_t *most = c->pool->launch.max + first;
		c->level = (struct check_level){.apart = levels[i], .cls = RACE_CLASS_RACE};
		is_never = (most[0] > 1 || most[1] > 1 || most[2] > 1) &&
			   !are_possible(c, as, true) && are_possible(c, as, false);
	}
	return is_never;
}

bool answers_are_possible(struct check *c)
{
	const struct ev *e = c->e;
	bool ok = true;

	for (size_t i = 0; i < e->assumes.n; i++) {
		const struct ev_assume *as = &e->assumes.v[i];
		bool is_named = false;
		for (size_t k = 0; k < e->tickets.n && !is_named; k++)
			is_named = as->kind == IR_ASSUME_FACT && as->index != IR_NONE &&
				   e->tickets.v[k].value &&
				   prove_ex_contains(as->fact, e->tickets.v[k].value) &&
				   contradicts(c, as, &e->tickets.v[k]);
		if (is_named)
			prove_alarm_problem(RACE_PROBLEM_VACUOUS, as->at,
					    "no two threads are given the answers that this "
					    "assumption names",
					    c);
		ok &= !is_named;
	}
	return ok;
}
