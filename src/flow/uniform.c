/*
 * uniform.c - values that are the same in every thread of a block.
 *
 * A register is uniform if it has one unguarded definition, which is pure or
 * reads constant memory, and all that it reads is uniform: immediates, symbols,
 * special registers of the block and the grid, parameters of an entry. As a register with two
 * definitions never is uniform, such a value doesn't depend on the path taken or on the iteration
 * of a loop: it is the same at any time.
 *
 * Misses: loop counters and other phis, results of votes, values loaded from
 * global or shared memory (another thread may have changed them in between).
 * Costs: linear; a register is found uniform at most once.
 */
#include "flow/priv.h"

static bool is_among(struct ptx_str s, const char *const *names, size_t nnames)
{
	uint32_t n = 0;

	while (n < s.n && s.p[n] != '.')
		n++;
	for (size_t i = 0; i < nnames; i++)
		if (ptx_str_is((struct ptx_str){s.p, n}, names[i]))
			return true;
	return false;
}

/* Special registers with one value per block, PTX ISA chapter 10. Those that may change while
 * the block runs (%smid, clocks) are left out. */
static bool is_uniform_special(struct ptx_str s)
{
	static const char *const names[] = {"%ntid",
					    "%ctaid",
					    "%nctaid",
					    "%gridid",
					    "%clusterid",
					    "%nclusterid",
					    "%cluster_ctaid",
					    "%cluster_nctaid",
					    "%cluster_ctarank",
					    "%cluster_nctarank",
					    "%is_explicit_cluster",
					    "%nwarpid",
					    "%nsmid",
					    "%total_smem_size",
					    "%dynamic_smem_size",
					    "%aggr_smem_size",
					    "WARP_SZ"};

	return is_among(s, names, BASE_COUNTOF(names));
}

/* Those with one value per thread. %warpid may change. */
static bool is_thread_special(struct ptx_str s)
{
	static const char *const names[] = {"%tid",	    "%laneid",	    "%lanemask_eq",
					    "%lanemask_le", "%lanemask_lt", "%lanemask_ge",
					    "%lanemask_gt"};

	return is_among(s, names, BASE_COUNTOF(names));
}

bool flow_is_same_operand(const struct flow *fl, const uint8_t *same, enum flow_among among,
			  const struct ptx_opnd *o)
{
	switch (o->kind) {
	case PTX_OPND_REG:
		return o->reg < fl->priv->nregs && same[o->reg];
	case PTX_OPND_SPECIAL:
		return is_uniform_special(o->text) ||
		       (among == FLOW_AMONG_STEPS && is_thread_special(o->text));
	case PTX_OPND_INT:
	case PTX_OPND_F32:
	case PTX_OPND_F64:
	case PTX_OPND_EXPR:
		return true;
	case PTX_OPND_SYM: /* the address of a local variable differs between threads */
		return among == FLOW_AMONG_STEPS || !flow_var_of(o) ||
		       flow_var_of(o)->space != PTX_SPACE_LOCAL;
	case PTX_OPND_ADDR:
	case PTX_OPND_VEC:
		for (unsigned i = 0; i < o->nsub; i++)
			if (!flow_is_same_operand(fl, same, among, &o->sub[i]))
				return false;
		return true;
	default:
		return false;
	}
}

bool flow_is_uniform_operand(const struct flow *fl, const struct ptx_opnd *o)
{
	return flow_is_same_operand(fl, fl->priv->uniform, FLOW_AMONG_THREADS, o);
}

/* Reads what no thread can change: constants, the parameters of an entry. */
static bool is_constant_load(const struct flow *fl, const struct ptx_stmt *s)
{
	if (s->form->op != PTX_OP_LD || (s->form->effects & PTX_EFF_UNKNOWN))
		return false;
	if (s->form->space == PTX_SPACE_CONST)
		return true;
	const struct ptx_opnd *a = ptx_address(s);
	if (s->form->space != PTX_SPACE_PARAM || !fl->f->is_entry || !a ||
	    a->kind != PTX_OPND_ADDR || !a->nsub)
		return false;
	/* A .param variable of the body holds what a call returned. */
	for (const struct ptx_param *p = fl->f->params; p; p = p->next)
		if (ptx_str_eq(p->name, a->sub[0].text))
			return true;
	return false;
}

bool flow_is_same_result(const struct flow *fl, const uint8_t *same, enum flow_among among,
			 const struct ptx_stmt *s)
{
	bool is_plain = flow_is_pure(s) && s->form->op != PTX_OP_ACTIVEMASK &&
			s->form->op != PTX_OP_UNKNOWN && s->form->op != PTX_OP_ADDC &&
			s->form->op != PTX_OP_SUBC && s->form->op != PTX_OP_MADC;
	if (!is_plain && !is_constant_load(fl, s))
		return false;
	for (unsigned i = 0; i < s->nops; i++)
		if (ptx_form_role(s->form, i) != PTX_ROLE_DST &&
		    !flow_is_same_operand(fl, same, among, &s->ops[i]))
			return false;
	return true;
}

struct marking {
	struct flow *fl;
	struct flow_work *w;
};

static void mark_uniform(uint32_t reg, bool is_write, void *arg)
{
	struct marking *x = arg;
	struct flow_priv *pr = x->fl->priv;

	if (!is_write || reg >= pr->nregs || pr->uniform[reg] || !flow_single_def(x->fl, reg))
		return;
	pr->uniform[reg] = 1;
	flow_work_uses(x->w, reg);
}

static void visit(struct flow *fl, struct flow_work *w, const struct ptx_stmt *s)
{
	struct marking x = {fl, w};

	if (s->pred == PTX_NO_REG &&
	    flow_is_same_result(fl, fl->priv->uniform, FLOW_AMONG_THREADS, s))
		ptx_each_reg(s, mark_uniform, &x);
}

void flow_need_uniform(struct flow *fl)
{
	flow_need_defuse(fl);
	if (fl->priv->uniform)
		return;
	fl->priv->uniform = BASE_NEWN(fl->arena, uint8_t, fl->priv->nregs + 1u);
	flow_solve(fl, visit);
}

/* ======================================================================== */

bool flow_is_uniform(struct flow *fl, uint32_t reg)
{
	flow_need_uniform(fl);
	return reg < fl->priv->nregs && fl->priv->uniform[reg];
}
