/*
 * known.c - which predicates are known where, because a branch has tested them.
 *
 * After `@%p bra L` the value of %p is known on either way, until something writes it. Programs
 * test one condition several times (`if (i < n) v = a[i]; __syncthreads(); if (i < n) b[i] = v;`):
 * of the ways through such code only those on which the answers agree are ways of a run.
 *
 * Solved forward, to the greatest solution: at the start of a block is known what is known at the
 * end of each block before it, with what its branch adds. A block keeps FLOW_FACTS predicates at
 * most; what is left out is only unknown. Conditions that are computed twice are one where all that
 * they are made of stays as it is (fixed.c); so in a loop, too.
 */
#include "flow/priv.h"

#define UNVISITED UINT32_MAX /* n of a block's facts: all predicates, both ways */

static bool writes_in(struct flow_priv *pr, uint32_t reg, uint32_t from, uint32_t to)
{
	uint32_t hi = pr->def_off[reg + 1];
	uint32_t k = flow_lower(pr->def_at, pr->def_off[reg], hi, from);

	return k < hi && pr->def_at[k] < to;
}

void flow_forget_written(struct flow *fl, struct flow_facts *f, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		if (fl->priv->fixed[f->fact[i].reg] ||
		    !writes_in(fl->priv, f->fact[i].reg, from, to))
			f->fact[n++] = f->fact[i];
	f->n = n;
}

static struct flow_same same_as(const struct flow *fl, uint32_t reg)
{
	return fl->priv->fixed[reg] ? fl->priv->same[reg] : (struct flow_same){reg, false};
}

int flow_known(const struct flow *fl, const struct flow_facts *f, uint32_t reg)
{
	struct flow_same s = same_as(fl, reg);

	for (uint32_t i = 0; i < f->n; i++)
		if (f->fact[i].reg == s.reg)
			return f->fact[i].value != s.is_not;
	return -1;
}

void flow_learn(const struct flow *fl, struct flow_facts *f, uint32_t reg, bool value)
{
	struct flow_same s = same_as(fl, reg);

	if (f->n < FLOW_FACTS && flow_known(fl, f, reg) < 0)
		f->fact[f->n++] = (struct flow_fact){s.reg, value != s.is_not};
}

/* The block that a guarded branch to one label goes to, where that isn't the next one; or
 * FLOW_NONE. */
static uint32_t taken_block(const struct flow *fl, uint32_t b)
{
	const struct ptx_stmt *s = fl->blocks[b].last;
	const struct ptx_label *l;

	if (!s || s->kind != PTX_STMT_INST || s->inserted || s->pred == PTX_NO_REG ||
	    !(s->form->effects & PTX_EFF_BRANCH))
		return FLOW_NONE;
	l = ptx_target(s);
	if (!l || !l->at || l->at->kind != PTX_STMT_LABEL || l->at->mark == b + 1)
		return FLOW_NONE;
	return l->at->mark;
}

bool flow_way_is_open(const struct flow *fl, const struct flow_facts *f, uint32_t b, uint32_t to)
{
	uint32_t taken = f->n ? taken_block(fl, b) : FLOW_NONE;
	int value = taken == FLOW_NONE ? -1 : flow_known(fl, f, fl->blocks[b].last->pred);

	return value < 0 || (to == taken) == ((value != 0) != fl->blocks[b].last->is_pred_not);
}

/* What is known at the end of `b`, on the way to `to`. */
static struct flow_facts facts_along(struct flow *fl, uint32_t b, uint32_t to)
{
	struct flow_priv *pr = fl->priv;
	struct flow_facts f = pr->facts[b];
	const struct ptx_stmt *s = fl->blocks[b].last;
	uint32_t taken = taken_block(fl, b);

	flow_forget_written(fl, &f, pr->start[b], pr->start[b + 1]);
	if (taken != FLOW_NONE)
		flow_learn(fl, &f, s->pred, (to == taken) != s->is_pred_not);
	else if (s && s->kind == PTX_STMT_INST && s->pred != PTX_NO_REG &&
		 s->form->effects & PTX_EFF_EXIT)
		flow_learn(fl, &f, s->pred, s->is_pred_not);
	return f;
}

/* Both. */
static void meet(const struct flow *fl, struct flow_facts *f, const struct flow_facts *other)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		if (flow_known(fl, other, f->fact[i].reg) == f->fact[i].value)
			f->fact[n++] = f->fact[i];
	f->n = n;
}

static bool update(struct flow *fl, uint32_t b)
{
	struct flow_facts *facts = fl->priv->facts, now = {.n = UNVISITED};

	for (uint32_t i = 0; b && i < fl->blocks[b].npred; i++) {
		uint32_t from = fl->blocks[b].pred[i];
		struct flow_facts f;

		if (facts[from].n == UNVISITED)
			continue;
		f = facts_along(fl, from, b);
		if (now.n == UNVISITED)
			now = f;
		else
			meet(fl, &now, &f);
	}
	if (!b || now.n == UNVISITED) /* not reached: nothing is asked about it */
		now.n = 0;
	if (facts[b].n != UNVISITED) {
		/* Only ever fewer: so this ends although a full list has dropped some. */
		uint32_t was = facts[b].n;
		meet(fl, &facts[b], &now);
		return facts[b].n != was;
	}
	facts[b] = now;
	return true;
}

void flow_need_facts(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;
	bool is_changed = true;

	if (pr->facts)
		return;
	flow_need_defuse(fl);
	flow_need_fixed(fl);
	pr->facts = base_alloc(fl->arena, sizeof(*pr->facts) * (fl->nblocks + 1u));
	for (uint32_t b = 0; b < fl->nblocks; b++)
		pr->facts[b].n = fl->blocks[b].rpo == UINT32_MAX ? 0 : UNVISITED;
	while (is_changed) {
		is_changed = false;
		for (uint32_t i = 0; i < fl->nrpo; i++)
			is_changed |= update(fl, fl->rpo[i]);
	}
}
