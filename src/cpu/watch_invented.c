/*
 * watch_invented.c - has the programmer written this load?
 *
 * nvcc moves loads above their condition, makes selects of them and widens neighbours to a vector:
 * such a load may race by the letter of the model although no thread of the source reads there. An
 * element counts as read only if every path from the load really uses its value (flow_demand); a
 * race of any other one is only possible. A load whose value the source takes on some paths only is
 * told so, too.
 *
 * In an instrumented function the answer is that of the function without what was put in: those
 * statements are taken out of the list of instructions while it is asked.
 * Costs: the flow analysis of a function for each of its loads that races, once.
 */
#include "cpu/watch_impl.h"
#include "flow/flow.h"

struct hidden {
	BASE_VEC(struct ptx_stmt *) stmts;
};

static void hide_inserted(const struct cpu_func *f, struct hidden *h)
{
	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		struct ptx_stmt *s = f->stmts[pc];
		if (!s || s->kind != PTX_STMT_INST || !(f->code[pc].flags & CPU_I_INSERTED))
			continue;
		s->kind = PTX_STMT_PRAGMA;
		base_vec_push(&h->stmts, s);
	}
}

static void show_hidden(struct hidden *h)
{
	for (size_t i = 0; i < h->stmts.n; i++)
		h->stmts.v[i]->kind = PTX_STMT_INST;
	base_vec_free(&h->stmts);
}

static bool is_weak_load(const struct ptx_stmt *s)
{
	return (s->form->op == PTX_OP_LD || s->form->op == PTX_OP_LDU) &&
	       (s->form->sem == PTX_SEM_WEAK || s->form->sem == PTX_SEM_NONE) && s->nops;
}

uint8_t watch_invented_of(const struct cpu_func *f, const struct ptx_stmt *s)
{
	struct base_arena arena = {0};
	struct flow_demand_info info;
	struct hidden h = {0};
	uint8_t mask = 0;

	if (!is_weak_load(s))
		return 0;
	const struct ptx_opnd *to = &s->ops[0];
	const struct ptx_opnd *elem = to->kind == PTX_OPND_VEC ? to->sub : to;
	unsigned n = to->kind == PTX_OPND_VEC ? to->nsub : 1;
	hide_inserted(f, &h);
	struct flow *fl = flow_build(&arena, f->part, f->ptx);
	for (unsigned i = 0; i < n && i < 8; i++) {
		info.demand = FLOW_DEMAND_DEAD; /* the element goes to _ */
		if (elem[i].kind == PTX_OPND_REG)
			flow_demand(fl, s, elem[i].reg, &info);
		mask |= (uint8_t)((info.demand != FLOW_DEMAND_SURE) << i);
	}
	show_hidden(&h);
	base_arena_free(&arena);
	return mask;
}
