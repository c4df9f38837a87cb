/*
 * solve.c - the worklist of the analyses that keep a value for each register.
 *
 * Every instruction is visited in text order, and again whenever more becomes known about a
 * register that it reads, until nothing changes. A visit may only move a register's value one way
 * in a lattice of small height; so the order of visits doesn't matter, and it ends.
 *
 * Costs: 5 bytes a statement while it runs; a visit for each use of each change.
 */
#include "flow/priv.h"

#include <stdlib.h>

struct flow_work {
	const struct flow_priv *pr;
	uint32_t *stack; /* places; each at most once */
	uint8_t *queued; /* by place */
	uint32_t n;
};

static void push(struct flow_work *w, uint32_t at)
{
	if (w->queued[at])
		return;
	w->queued[at] = 1;
	w->stack[w->n++] = at;
}

/* ======================================================================== */

void flow_work_uses(struct flow_work *w, uint32_t reg)
{
	for (uint32_t k = w->pr->use_off[reg]; k < w->pr->use_off[reg + 1]; k++)
		push(w, w->pr->use_at[k]);
	for (uint32_t k = w->pr->our_off[reg]; k < w->pr->our_off[reg + 1]; k++)
		push(w, w->pr->our_at[k]);
}

void flow_solve(struct flow *fl, flow_visit_fn *visit)
{
	flow_need_defuse(fl);
	const struct flow_priv *pr = fl->priv;
	struct flow_work w = {.pr = pr};

	w.stack = base_malloc(sizeof(*w.stack) * (pr->nstmts + 1u));
	w.queued = base_calloc(pr->nstmts + 1u, 1);
	for (uint32_t i = pr->nstmts; i-- > 0;)
		if (pr->stmt[i]->kind == PTX_STMT_INST)
			push(&w, i);
	while (w.n) {
		uint32_t at = w.stack[--w.n];
		w.queued[at] = 0;
		visit(fl, &w, pr->stmt[at]);
	}
	free(w.stack);
	free(w.queued);
}
