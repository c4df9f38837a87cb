/*
 * trace.c - the statements between a load and the uses of its value, for an engine.
 *
 * demand.c decides for all runs; where the answer is "on some paths only", an engine can decide for
 * each execution: it follows the value through the registers of the trace. A step is a statement
 * that reads one of them, with the rule by which its result depends on the operand, or that
 * overwrites one. A step is the last one where the value takes effect: an effect of its own (an
 * address, a value that is stored), or a result that is surely used from there on (demand.c).
 *
 * Misses: what a slct, a min or max between conditions, and the operand c of setp.and depend on;
 * loads whose value reaches more than FLOW_TRACE_REGS registers or MAX_STEPS statements (no trace).
 * Costs: the uses and definitions of those registers, once per load.
 */
#include "flow/priv.h"

enum { MAX_STEPS = 96 };

struct tracer {
	struct flow *fl;
	struct flow_trace *out;
	const struct ptx_stmt *load;
	bool is_full;
};

static int index_of(const struct flow_trace *t, uint32_t reg)
{
	for (uint32_t i = 0; i < t->nregs; i++)
		if (t->regs[i] == reg)
			return (int)i;
	return -1;
}

static void add_result(uint32_t reg, bool is_write, void *arg)
{
	struct tracer *tr = arg;
	struct flow_trace *t = tr->out;

	if (!is_write || reg >= tr->fl->priv->nregs || !tr->fl->priv->needed[reg] ||
	    index_of(t, reg) >= 0)
		return;
	if (t->nregs == FLOW_TRACE_REGS)
		tr->is_full = true;
	else
		t->regs[t->nregs++] = reg;
}

static struct flow_step *step_at(struct tracer *tr, struct ptx_stmt *s)
{
	struct flow_trace *t = tr->out;

	for (uint32_t i = 0; i < t->nsteps; i++)
		if (t->steps[i].at == s)
			return &t->steps[i];
	if (t->nsteps == MAX_STEPS) {
		tr->is_full = true;
		return NULL;
	}
	t->steps[t->nsteps] = (struct flow_step){.at = s};
	return &t->steps[t->nsteps++];
}

static void add_use(struct tracer *tr, struct ptx_stmt *u)
{
	struct flow_step *step;

	if (u->form->op == PTX_OP_UNKNOWN || (u->form->effects & PTX_EFF_PREFETCH))
		return;
	step = step_at(tr, u);
	if (!step)
		return;
	step->is_pure = flow_is_pure(u);
	step->is_last = !step->is_pure || flow_result_sure(tr->fl, u);
	step->is_test = step->is_pure && flow_feeds_tests(tr->fl, u);
	for (unsigned i = 0; i < 2 && step->is_pure && i + 1 < u->nops; i++)
		step->is_bool[i] = flow_is_boolean(tr->fl, &u->ops[i + 1]);
	if (!step->is_last)
		ptx_each_reg(u, add_result, tr);
}

struct flow_trace *flow_trace(struct flow *fl, const struct ptx_stmt *load, uint32_t reg)
{
	struct flow_trace *t = BASE_NEWN(fl->arena, struct flow_trace, 1);
	struct tracer tr = {fl, t, load, false};
	struct flow_demand_info info;

	flow_demand(fl, load, reg, &info); /* what is sure, and what is needed at all */
	t->steps = BASE_NEWN(fl->arena, struct flow_step, MAX_STEPS);
	t->regs[t->nregs++] = reg;
	for (uint32_t i = 0; i < t->nregs && !tr.is_full; i++) {
		uint32_t n;
		struct ptx_stmt *const *uses = flow_uses(fl, t->regs[i], &n);
		for (uint32_t k = 0; k < n; k++)
			add_use(&tr, uses[k]);
	}
	for (uint32_t i = 0; i < t->nregs && !tr.is_full; i++) {
		uint32_t n;
		struct ptx_stmt *const *defs = flow_defs(fl, t->regs[i], &n);
		for (uint32_t k = 0; k < n; k++)
			if (defs[k] != load)
				step_at(&tr, defs[k]);
	}
	return tr.is_full ? NULL : t;
}
