/*
 * outside.c - accesses that can't be within their array (check.h).
 *
 * By the contract each access stays within its array, and pairs are asked about as if it did. An
 * access that never does would so be proven apart from everything, and a kernel whose every launch
 * leaves an array would be proven for no launch at all. Both are findings, and nothing of the
 * kernel counts as proven. The sizes of shared memory and of variables are known; of arrays that
 * the caller hands over they are only in the contract.
 *
 * An access is always outside where no values let a thread come to it and be inside. Some thread of
 * every launch is outside where thread and block decide alone whether it comes there, and where:
 * then a thread that the solver finds is one of each launch, if its numbers are below the
 * dimensions that are fixed, and 0 or 1 in others (but for launches of one thread or block).
 *
 * In blocks of given size the first and last threads are run on numbers, too, so that it is seen
 * what loops carry: what parameters and memory hold is unknown there (replay.h). Then there is no
 * launch of which an alarm could be one.
 *
 * Misses: launches that are all left by different threads of a free dimension; what depends on
 * parameters, or on what a loop carries there; dynamic shared memory. A thread's own arrays are
 * one, as the compiler lays them side by side on its stack.
 * Costs: nothing for accesses whose bounds show that they are inside; for others a few small
 * launches on numbers, seldom the solver, by a twentieth of the time that is left; at most a
 * millisecond for threads that are run (eight where there are alarms).
 */
#include "prove/check.h"
#include "prove/replay.h"

#include <string.h>

#define MAX_NODES    4000 /* of an expression that is looked at */
#define EVERY_LAUNCH "some thread of every launch"

/* Do thread and block alone decide about the value, wherever the launch has its free dimensions? */
static bool is_of_thread(const struct check *c, const struct ex *v, unsigned *budget)
{
	if (!*budget || v->is_approx)
		return false;
	--*budget;
	if (v->op == EX_SPEC && v->imm >= EX_NTID_X)
		return c->pool->launch.dim[v->imm - EX_NTID_X] != 0;
	if (v->op == EX_PARAM || v->op == EX_SYM || v->op == EX_VAR || v->op == EX_PHI ||
	    v->op == EX_KEXIT || v->op == EX_PURE || v->op == EX_CLOAD)
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (!is_of_thread(c, v->a[i], budget))
			return false;
	return true;
}

/* Where "the loop goes on" is all comparisons by order, it was so in the iterations before, too;
 * counting down until a number is met goes on after it, if only one iteration is looked at. */
static bool is_by_order(const struct ex *back)
{
	if (back->op == EX_NOT || (back->op == EX_AND && back->w == 1))
		return is_by_order(back->a[0]) && (back->n == 1 || is_by_order(back->a[1]));
	return back->op == EX_CONST || back->op == EX_ULT || back->op == EX_SLT;
}

/* ... also about the iterations of the loops around the access. */
static bool is_decided(const struct check *c, const struct ev_access *x)
{
	unsigned budget = MAX_NODES;

	if (!is_of_thread(c, x->whole, &budget) || !is_of_thread(c, x->guard, &budget))
		return false;
	for (uint32_t l = c->e->ir->blocks.v[x->block].loop; l != IR_NONE;
	     l = c->e->ir->loops[l].parent)
		if (!is_of_thread(c, c->e->loops[l].back, &budget) ||
		    (!c->e->loops[l].trips && !is_by_order(c->e->loops[l].back)))
			return false;
	return true;
}

/* Does the value depend on a function that isn't modelled (floating-point numbers)? */
static bool has_unmodelled(const struct ex *v, unsigned *budget)
{
	if (v->op == EX_PURE || !*budget)
		return true;
	--*budget;
	for (uint32_t i = 0; i < v->n && v->is_approx; i++)
		if (has_unmodelled(v->a[i], budget))
			return true;
	return false;
}

/* The numbers that each launch has, but those of one thread or block. */
static const struct ex *is_in_each_launch(struct check *c)
{
	const struct ex_launch *l = &c->pool->launch;
	const struct ex *all = prove_ex_const(c->pool, 1, 1), *two = prove_ex_const(c->pool, 32, 2);

	for (unsigned d = 0; d < 6; d++) {
		const struct ex *at = prove_ex_spec(
			c->pool, (enum prove_ex_spec)(d < 3 ? EX_TID_X + d : EX_CTAID_X + d - 3));
		if (!l->dim[d])
			all = prove_ex_and(c->pool, all, prove_ex_bin(c->pool, EX_ULT, at, two));
	}
	return all;
}

/* What reads such a table stays in it: no thread comes where it would not. */
static bool is_math_table(const struct check *c, const struct ev_access *x)
{
	const struct ir_object *o = &c->e->ir->objects.v[x->root.id];

	return x->root.kind == EV_ROOT_OBJECT && race_is_math_table(o->name.p, o->name.n);
}

/* NULL: nothing is known against it. */
static const char *why_outside(struct check *c, struct contract *contract,
			       const struct ev_access *x, bool is_own)
{
	const struct ex *inside = prove_is_inside(c, x);
	struct contract_question q = {.block = x->block, .guard = x->guard};
	unsigned budget = MAX_NODES;

	if (!inside || (inside->op == EX_CONST && (inside->imm & 1)) || is_math_table(c, x))
		return NULL;
	/* the way there may be none: sine and cosine have one for large numbers */
	if (is_own && has_unmodelled(x->guard, &budget))
		return NULL;
	q.holds = inside;
	if (prove_contract_ask(contract, &q) == SMT_IMPOSSIBLE) {
		q.holds = NULL;
		return prove_contract_ask(contract, &q) == SMT_IMPOSSIBLE
			       ? NULL
			       : "each thread that comes here";
	}
	if (!is_decided(c, x))
		return NULL;
	q.guard = prove_ex_and(c->pool, x->guard, is_in_each_launch(c));
	q.holds = prove_ex_not(c->pool, inside);
	return prove_contract_ask(contract, &q) == SMT_POSSIBLE ? EVERY_LAUNCH : NULL;
}

/* Of an earlier access of the list the same was asked. */
static bool is_known(const struct ev_access *list, size_t i)
{
	const struct ev_access *a = &list[i];

	for (size_t k = 0; k < i; k++) {
		const struct ev_access *b = &list[k];
		if (a->block == b->block && a->guard == b->guard && a->whole == b->whole &&
		    a->mem->bytes == b->mem->bytes && prove_ev_same_root(&a->root, &b->root))
			return true;
	}
	return false;
}

static void say(struct check *c, const struct ev_access *x, const char *who)
{
	prove_nothing_is_proven(c);
	if (!strcmp(who, EVERY_LAUNCH)) /* they are of no launch */
		c->k->alarms.n = 0;
	prove_alarm_problem(
		RACE_PROBLEM_UNPROVEN, x->step->at,
		base_printf(c->arena,
			    "%s accesses memory outside of %s, which has %llu bytes: by the "
			    "contract there is no such launch, so that nothing is proven",
			    who, prove_alarm_object(c, x),
			    (unsigned long long)c->e->ir->objects.v[x->root.id].bytes),
		c);
}

static bool look_at(struct check *c, struct contract *mine, const struct ev_access *list, size_t n,
		    bool is_own)
{
	for (size_t i = 0; i < n; i++) {
		const struct ev_access *x = &list[i];
		/* a product's lines are in its descriptor (matrix.c) */
		if (x->is_late || x->mem->matrix || is_known(list, i))
			continue;
		const char *who = why_outside(c, mine, x, is_own);
		if (!who)
			continue;
		say(c, x, who);
		return true;
	}
	return false;
}

/* Where bounds don't show that all threads are inside. */
static bool may_leave(struct check *c)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ex *inside = prove_is_inside(c, &c->e->accesses.v[i]);
		if (inside && (inside->op != EX_CONST || !(inside->imm & 1)))
			return true;
	}
	return false;
}

/* Does a thread that is run leave its array in each launch? */
static void look_at_threads(struct check *c)
{
	const uint32_t *dim = c->pool->launch.dim;
	uint32_t at = dim[0] && dim[1] && dim[2] && may_leave(c)
			      ? prove_replay_find_leave(c->e, c->k->alarms.n > 0)
			      : IR_NONE;

	for (size_t i = 0; i < c->e->accesses.n && at != IR_NONE; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (x->index != at || x->root.kind != EV_ROOT_OBJECT)
			continue;
		say(c, x, EVERY_LAUNCH);
		return;
	}
}

/* Of what is only potential: may it be that no launch is left? */
static bool has_launch(const struct race_proof *k)
{
	for (size_t i = 0; i < k->alarms.n; i++)
		if (k->alarms.v[i].is_true)
			return true;
	for (size_t i = 0; i < k->alarms.n; i++)
		if (!strcmp(k->alarms.v[i].reason, REPLAY_LEAVES))
			return false;
	return k->alarms.n > 0;
}

void prove_find_outside(struct check *c, const struct contract *contract)
{
	struct contract mine = *contract;
	uint64_t now = prove_now_ms();

	if (now >= c->deadline || has_launch(c->k))
		return;
	mine.deadline = now + (c->deadline - now) / 20;
	mine.npins = prove_pins_find(c->e, mine.pin);
	if (!look_at(c, &mine, c->e->accesses.v, c->e->accesses.n, false) &&
	    !look_at(c, &mine, c->e->own.v, c->e->own.n, true))
		look_at_threads(c);
}
