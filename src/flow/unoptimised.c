/*
 * unoptimised.c - was the function compiled without optimisation (nvcc -G, cicc's -O0)?
 *
 * No load of such a function was invented. The text shows it, whoever made it: a code generator
 * that doesn't optimise ends each block by a jump, to the next line as well, where any other one
 * falls through. So in such a function
 *
 *   1. nothing but branches is guarded, each guarded branch is followed by a jump, and a label that
 *      branches lead to is never reached by falling through;
 *   2. some jump leads to the next line;
 *   3. the text was not optimised before it came to such a generator either: the module is for a
 *      debugger, or there is a jump to a label to which nothing else leads (the two blocks would be
 *      one), or no select has a register to choose.
 *
 * The program's own assembly may do otherwise: what is within { } isn't looked at, nor are
 * insertions.
 * Misses: functions without a branch, in which no load is under a condition; front ends that are
 * neither nvcc's nor LLVM's.
 * Costs: two walks over the statements.
 */
#include "flow/priv.h"

enum end { END_NONE, END_GUARDED, END_JUMP, END_EXIT };

struct shape {
	struct flow *fl;
	uint32_t *leads; /* by label: branches to it */
	bool has_next, has_rest, has_select;
	/* The walk. */
	int depth;
	enum end end; /* of the last instruction */
	const struct ptx_stmt *jump;
};

static bool is_seen(const struct ptx_stmt *s, enum ptx_stmt_kind kind)
{
	return s->kind == kind && !s->inserted;
}

static enum end end_of(const struct ptx_stmt *s)
{
	bool is_guarded = s->pred != PTX_NO_REG;

	if (s->form->effects & PTX_EFF_BRANCH)
		return is_guarded ? END_GUARDED : END_JUMP;
	return s->form->effects & PTX_EFF_EXIT && !is_guarded ? END_EXIT : END_NONE;
}

static void count_lead(struct shape *sh, const struct ptx_label *to)
{
	if (to)
		sh->leads[to->id]++;
}

static void count_leads(struct shape *sh)
{
	ptx_each_stmt(sh->fl->f, s)
	{
		if (is_seen(s, PTX_STMT_INST) && s->form->effects & PTX_EFF_BRANCH)
			count_lead(sh, ptx_target(s));
		for (uint32_t i = 0; is_seen(s, PTX_STMT_TARGETS) && i < s->ntargets; i++)
			count_lead(sh, flow_label_of(&s->targets[i]));
	}
}

static bool is_choice(const struct ptx_stmt *s)
{
	return (s->form->op == PTX_OP_SELP || s->form->op == PTX_OP_SLCT) && s->nops > 2 &&
	       (s->ops[1].kind == PTX_OPND_REG || s->ops[2].kind == PTX_OPND_REG);
}

/* False: such a function has no label here. */
static bool pass_label(struct shape *sh, const struct ptx_stmt *s)
{
	if (sh->depth || !sh->leads[s->label->id])
		return true;
	sh->has_next |= sh->end == END_JUMP && ptx_target(sh->jump) == s->label;
	return sh->end == END_JUMP || sh->end == END_EXIT;
}

static bool pass_instruction(struct shape *sh, const struct ptx_stmt *s)
{
	enum end end = sh->depth ? END_NONE : end_of(s);
	bool is_half = sh->end == END_GUARDED; /* with the guarded branch before it */

	if (is_half && end != END_JUMP)
		return false;
	if (!sh->depth && s->pred != PTX_NO_REG && end != END_GUARDED)
		return false;
	sh->end = end;
	sh->jump = s;
	sh->has_select |= is_choice(s);
	if (end == END_JUMP && !is_half && ptx_target(s))
		sh->has_rest |= sh->leads[ptx_target(s)->id] == 1;
	return true;
}

/* ======================================================================== */

bool flow_is_unoptimised(struct flow *fl)
{
	struct shape sh = {.fl = fl};

	sh.leads = BASE_NEWN(fl->arena, uint32_t, fl->f->nlabels + 1u);
	count_leads(&sh);
	ptx_each_stmt(fl->f, s)
	{
		sh.depth += (s->kind == PTX_STMT_OPEN) - (s->kind == PTX_STMT_CLOSE);
		if (is_seen(s, PTX_STMT_LABEL) && !pass_label(&sh, s))
			return false;
		if (is_seen(s, PTX_STMT_INST) && !pass_instruction(&sh, s))
			return false;
	}
	return sh.has_next && (fl->m->debug || sh.has_rest || !sh.has_select);
}
