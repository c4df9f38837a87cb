/*
 * invented.c - is a load the programmer's, or did the compiler invent it?
 *
 * nvcc moves loads above their condition, turns them into selects and widens neighbours to a
 * vector: such a load may race formally although no thread of the source reads there. An element
 * counts as read if every path from the load really uses its value (flow_demand), or if the
 * thread comes to such a use before it loads again (used.c); a race of any other one is only
 * possible.
 *
 * For an instrumented function the analysis ignores insertions: those statements are removed from
 * the list of instructions while it runs.
 * Costs: one flow analysis of each function that is judged.
 */
#include "cpu/events/internal.h"
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

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
	       s->form->space != PTX_SPACE_PARAM && s->form->space != PTX_SPACE_CONST &&
	       s->form->space != PTX_SPACE_LOCAL &&
	       (s->form->sem == PTX_SEM_WEAK || s->form->sem == PTX_SEM_NONE) && s->nops;
}

struct finder {
	struct flow *fl;
	uint32_t nelems, elems[8]; /* of the load at hand: those to be followed, else PTX_NO_REG */
	BASE_VEC(struct flow_start) starts;
	BASE_VEC(struct cpu_site *) sites;
};

/* ---- the load -------------------------------------------------------------------------------- */

/* The bytes that are not surely read. */
static uint32_t invented_of(struct finder *x, struct cpu_func *f, uint32_t pc)
{
	const struct ptx_stmt *s = f->stmts[pc];
	const struct ptx_opnd *to = &s->ops[0];
	const struct ptx_opnd *elem = to->kind == PTX_OPND_VEC ? to->sub : to;
	unsigned n = to->kind == PTX_OPND_VEC ? to->nsub : 1;
	unsigned width = s->form->width;
	uint32_t mask = 0, all = (uint32_t)((1ull << width) - 1);

	x->nelems = n < 8 ? n : 8;
	for (unsigned i = 0; i < x->nelems; i++) {
		struct flow_bytes b = {0, 0}; /* it goes to _ */
		if (elem[i].kind == PTX_OPND_REG)
			b = flow_demand_bytes(x->fl, s, elem[i].reg);
		x->elems[i] = PTX_NO_REG;
		mask |= (all & ~b.sure) << i * width;
		if (!b.maybe)
			continue;
		x->elems[i] = elem[i].reg;
		base_vec_push(&x->starts, ((struct flow_start){s, elem[i].reg}));
	}
	return mask;
}

static void add_load(struct cpu_events *x, struct finder *fi, struct cpu_func *f, uint32_t pc)
{
	uint32_t mask = invented_of(fi, f, pc);
	bool is_followed = false;

	if (!mask)
		return;
	struct cpu_site *site = events_site_new(x, f, pc);
	site->invented = mask;
	site->width = f->stmts[pc]->form->width;
	site->vec = f->stmts[pc]->form->vec;
	for (uint32_t i = 0; i < fi->nelems; i++)
		is_followed |= fi->elems[i] != PTX_NO_REG;
	if (!is_followed)
		return;
	site->nelems = fi->nelems;
	site->elems = base_alloc(&x->arena, fi->nelems * sizeof(*fi->elems));
	memcpy(site->elems, fi->elems, fi->nelems * sizeof(*fi->elems));
	base_vec_push(&fi->sites, site);
}

/* Registers become their numbers in the trace. */
static void number_elements(const struct finder *fi, const struct flow_trace *t)
{
	for (size_t i = 0; i < fi->sites.n; i++)
		for (uint32_t e = 0; e < fi->sites.v[i]->nelems; e++)
			if (fi->sites.v[i]->elems[e] != PTX_NO_REG)
				fi->sites.v[i]->elems[e] = t->index[fi->sites.v[i]->elems[e]];
			else
				fi->sites.v[i]->elems[e] = UINT32_MAX;
}

void events_invented_find(struct cpu_events *x, struct cpu_func *f)
{
	struct base_arena arena = {0};
	struct hidden h = {0};
	struct finder fi = {0};

	uint64_t others = 0;

	hide_inserted(f, &h);
	fi.fl = flow_build(&arena, f->part, f->ptx);
	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		const struct ptx_stmt *s = f->stmts[pc];
		if (!s || s->kind != PTX_STMT_INST || (pc && f->stmts[pc - 1] == s))
			continue;
		if (s->form->op == PTX_OP_LD && s->form->sem == PTX_SEM_VOLATILE &&
		    flow_is_data(fi.fl, s))
			events_site_new(x, f, pc)->is_data = true;
		if (x->m->opt.variable && events_is_other(x, f, fi.fl, s)) {
			events_site_new(x, f, pc)->is_other = true;
			others++;
			continue;
		}
		if (!is_weak_load(s))
			continue;
		add_load(x, &fi, f, pc);
		if (flow_is_seed(fi.fl, s))
			events_site_new(x, f, pc)->is_seed = true;
	}
	if (fi.starts.n) {
		struct flow_trace *t = flow_trace(fi.fl, fi.starts.v, (uint32_t)fi.starts.n);
		number_elements(&fi, t);
		events_used_follow(x, f, fi.fl, t);
	}
	events_others_note(f, others);
	show_hidden(&h);
	base_vec_free(&fi.starts);
	base_vec_free(&fi.sites);
	base_arena_free(&arena);
}
