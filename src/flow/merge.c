/*
 * merge.c - registers of a trace that depend on what another one depends on, always.
 *
 * `t = a + 4`, a alone being of the trace, depends on each load that a does. Where t is written by
 * nothing else, is read in the same block only, and a isn't written before t's last use, who keeps
 * something beside each register keeps one thing for both: t gets a's number. A sum of many terms,
 * as a loop that was unrolled leaves it, is a chain of such registers.
 *
 * Misses: results that are read in other blocks, and those of guarded statements.
 * Costs: each definition and use of the trace's registers once.
 */
#include "flow/priv.h"

#include <string.h>

struct operands {
	const struct flow_trace *t;
	uint32_t from, to; /* the registers read and written, of the trace */
	unsigned nreads, nwrites;
};

static void count_operand(uint32_t reg, bool is_write, void *arg)
{
	struct operands *o = arg;

	if (is_write) {
		o->nwrites++;
		o->to = reg;
	} else if (o->t->index[reg] != FLOW_NONE) {
		o->nreads++;
		o->from = reg;
	}
}

/* Is each read of `reg` in block b, and `root` not written between `at` and the last one? */
static bool is_kept(struct flow *fl, uint32_t b, uint32_t at, uint32_t reg, uint32_t root)
{
	const struct flow_priv *pr = fl->priv;
	uint32_t last = at;

	if (flow_live_out(fl, b)[reg / 64] >> reg % 64 & 1)
		return false;
	for (uint32_t i = pr->use_off[reg]; i < pr->use_off[reg + 1]; i++) {
		if (pr->use[i]->mark != b || pr->use_at[i] <= at)
			return false;
		last = pr->use_at[i] > last ? pr->use_at[i] : last;
	}
	for (uint32_t i = pr->def_off[root]; i < pr->def_off[root + 1]; i++)
		if (pr->def_at[i] > at && pr->def_at[i] < last)
			return false;
	return true;
}

/* Sets root[o->to], if the step's result only depends on what one register does. */
static bool merge_step(struct flow *fl, const struct flow_trace *t, const struct flow_step *st,
		       uint32_t *root)
{
	struct operands o = {.t = t};
	uint32_t at = flow_place(fl, st->at);

	if (!st->is_pure || st->is_last || st->rule != FLOW_RULE_ANY || st->at->pred != PTX_NO_REG)
		return false;
	ptx_each_reg(st->at, count_operand, &o);
	if (o.nreads != 1 || o.nwrites != 1 || o.to == o.from || t->index[o.to] == FLOW_NONE ||
	    t->is_split[t->index[o.to]] || t->is_split[t->index[o.from]] ||
	    !flow_taken_bytes(fl, st->at, o.from) || flow_single_def(fl, o.to) != st->at ||
	    !is_kept(fl, st->at->mark, at, o.to, root[o.from]))
		return false;
	root[o.to] = root[o.from];
	return true;
}

/* The registers that are left have the numbers 0, 1, ... */
static void renumber(const struct flow *fl, struct flow_trace *t, const uint32_t *root)
{
	const uint32_t n = fl->priv->nregs;
	bool *split = BASE_NEWN(fl->arena, bool, t->nregs + 1u);

	t->nregs = 0;
	for (uint32_t r = 0; r < n; r++) {
		if (t->index[r] == FLOW_NONE || root[r] != r)
			continue;
		split[t->nregs] = t->is_split[t->index[r]];
		t->index[r] = t->nregs++;
	}
	for (uint32_t r = 0; r < n; r++)
		if (t->index[r] != FLOW_NONE && root[r] != r)
			t->index[r] = t->index[root[r]];
	t->is_split = split;
}

/* ======================================================================== */

void flow_trace_merge(struct flow *fl, struct flow_trace *t)
{
	uint32_t *root = BASE_NEWN(fl->arena, uint32_t, fl->priv->nregs + 1u);
	bool is_any = false;

	for (uint32_t r = 0; r < fl->priv->nregs; r++)
		root[r] = r;
	/* In the text's order: an operand's root is known before. */
	for (uint32_t at = 0; at < fl->priv->nstmts; at++) {
		uint32_t i = t->step_of[at] - 1u; /* 0: none */
		if (i == FLOW_NONE)
			continue;
		t->steps[i].is_merged = merge_step(fl, t, &t->steps[i], root);
		is_any |= t->steps[i].is_merged;
	}
	if (is_any)
		renumber(fl, t, root);
}
