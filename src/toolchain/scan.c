/*
 * scan.c - what the functions of a text are, before anything is inserted: their bounds, and the
 * instructions that decide how the checks may be put into them.
 */
#include "toolchain/rewrite.h"

static void scan_stmt(struct tool_func *f, const struct ptx_stmt *s)
{
	if (s->kind != PTX_STMT_INST)
		return;
	f->has_call |= (s->form->effects & PTX_EFF_CALL) != 0;
	f->has_access |= s->form->op == PTX_OP_LD || s->form->op == PTX_OP_ST;
	f->has_wgmma |=
		s->form->op == PTX_OP_WGMMA_MMA_ASYNC || s->form->op == PTX_OP_WGMMA_MMA_ASYNC_SP;
	f->is_specialised |= s->form->op == PTX_OP_SETMAXNREG;
	for (unsigned i = 0; i < s->nops; i++)
		f->has_grid_sync |= ptx_opnd_is_workspace(&s->ops[i]);
}

static unsigned product(const uint32_t d[3])
{
	unsigned n = 1;

	for (int i = 0; i < 3; i++)
		n *= d[i] ? d[i] : 1;
	return d[0] ? n : 0;
}

static void scan_func(struct tool_work *w, const struct ptx_func *pf)
{
	unsigned threads = product(pf->maxntid), exact = product(pf->reqntid);
	struct tool_func f = {
		.name = base_strndup(&w->arena, pf->name.p, pf->name.n),
		.is_entry = pf->is_entry,
		.is_bounded = threads || exact || pf->maxnreg,
		.has_maxnreg = pf->maxnreg != 0,
		.bound = tool_fit_bound(exact ? exact : threads, pf->minnctapersm, pf->maxnreg),
		.cap = TOOL_REGS_MAX};

	f.is_left_out = inst_left_out(&w->io, f.name, f.is_entry) != NULL;
	ptx_each_stmt(pf, s) scan_stmt(&f, s);
	base_vec_push(&w->funcs, f);
}

bool tool_scan(struct tool_work *w, struct base_sink *sink)
{
	struct base_arena arena = {0};
	struct ptx_module *m = ptx_parse(&arena, w->job->name, w->text, w->size, sink);

	if (m && !sink->errors) {
		ptx_each_item(m, it)
		{
			if (it->kind == PTX_ITEM_FUNC && it->func->is_proto)
				w->has_proto |=
					!tool_fit_is_system(it->func->name.p, it->func->name.n);
			else if (it->kind == PTX_ITEM_FUNC)
				scan_func(w, it->func);
		}
	}
	w->is_idle = m && !sink->errors && inst_is_idle(m, w->job->relocatable);
	base_arena_free(&arena);
	return m && !sink->errors;
}
