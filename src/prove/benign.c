/*
 * benign.c - do two stores to one place store the same value? (check.h)
 *
 * What the solver says of the two values, both made of what each thread knows. A value that was
 * loaded is unknown; but two threads of a block that load from one place, in one phase, get the
 * same where none writes to it in that phase. That is so of a load whose every pair is proven: a
 * write in the phase, by either of the two or by a third thread, would race with one of the loads.
 * Such a load becomes a function of its address. Loads in a loop with a barrier are left out, as
 * the two threads may be in different iterations.
 *
 * Costs: with --benign=same-value every pair is asked about twice, to find those loads first.
 */
#include "prove/check.h"

#include <string.h>

static const struct ev_access *load_at(const struct check *c, uint64_t step, bool *is_stable)
{
	const struct ev_access *found = NULL;

	*is_stable = true;
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		if (c->e->accesses.v[i].index != step)
			continue;
		*is_stable &= !found && !c->is_unstable[i];
		found = &c->e->accesses.v[i];
	}
	return found;
}

static bool is_in_barrier_loop(const struct check *c, uint32_t block)
{
	for (uint32_t l = c->e->ir->blocks.v[block].loop; l != IR_NONE;
	     l = c->e->ir->loops[l].parent)
		if (c->phases[IR_RANK_CTA].has_barrier[l])
			return true;
	return false;
}

/* v with stable loads as functions of their addresses. */
static const struct ex *settled(struct check *c, const struct ex *all, const struct ex *v,
				unsigned depth)
{
	bool is_stable;

	if (depth > 20)
		return all;
	for (uint32_t i = 0; i < v->n && v->op != EX_VAR; i++)
		all = settled(c, all, v->a[i], depth + 1);
	if (v->op != EX_VAR || v->imm > UINT32_MAX)
		return all;
	const struct ev_access *x = load_at(c, v->imm, &is_stable);
	if (!x || !is_stable || x->mem->kind != RACE_OP_READ || x->mem->is_async ||
	    is_in_barrier_loop(c, x->block))
		return all;
	const struct ex *f = prove_ex_leaf(
		c->pool, EX_PURE, v->w, 1ull << 40 | v->imm, EX_CTA, prove_ex_full(v->w),
		(struct ex_args){.n = 1, .a = (const struct ex *const[]){x->off}});
	return prove_ex_replace(c->pool, all, v, f);
}

/* Two stores of as many bytes, whose values are known as expressions. */
static bool are_stores(const struct ev_access *a, const struct ev_access *b)
{
	return a->mem->kind == RACE_OP_WRITE && b->mem->kind == RACE_OP_WRITE && a->value &&
	       b->value && a->mem->bytes == b->mem->bytes && a->value->w == b->value->w;
}

/* One value for all threads in question, without looking further than its expression. */
static bool is_one_value(const struct check *c, const struct ex *v)
{
	return v->level >= (c->level.apart > RACE_LEVEL_BLOCK ? EX_GRID : EX_CTA) && !v->has_ctr;
}

bool benign_would_be(const struct check *c)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;

	return !c->o->is_same_value && !c->pair.is_forced && are_stores(a, b) &&
	       a->value == b->value && is_one_value(c, a->value);
}

bool benign_is_same(struct check *c, benign_ask *ask, const void *arg)
{
	const struct ev_access *was[2] = {c->pair.a, c->pair.b};
	struct ev_access now[2] = {*c->pair.a, *c->pair.b};
	bool is_same;

	if (!c->o->is_same_value || c->pair.is_forced || !are_stores(c->pair.a, c->pair.b))
		return false;
	if (ask(c, arg))
		return true;
	if (c->level.apart > RACE_LEVEL_BLOCK || !c->is_unstable)
		return false;
	for (unsigned t = 0; t < 2; t++)
		now[t].value = settled(c, now[t].value, now[t].value, 0);
	c->pair.a = &now[0];
	c->pair.b = &now[1];
	is_same = ask(c, arg);
	c->pair.a = was[0];
	c->pair.b = was[1];
	return is_same;
}

void benign_find_unstable(struct check *c)
{
	size_t n = c->e->accesses.n;
	bool *none = c->is_open;

	/* what isn't asked about may write */
	for (unsigned l = RACE_LEVEL_WARP; l <= RACE_LEVEL_GRID; l++)
		if (!c->o->level[l])
			return;
	if (!c->o->is_same_value || c->o->is_lockstep)
		return;
	c->is_open = base_zalloc(c->arena, n + 1);
	struct race_proof_counts counts = c->k->counts;
	uint64_t now = prove_now_ms(), end = c->deadline;
	c->deadline = now < end ? now + (end - now) / 3 : now;
	c->trial.is_on = true;
	prove_all_pairs(c);
	c->trial.is_on = false;
	c->is_unstable = prove_now_ms() < c->deadline ? c->is_open : NULL;
	c->deadline = end;
	c->is_open = none;
	uint32_t queries = c->k->counts.queries;
	c->k->counts = counts;
	c->k->counts.queries = queries;
}
