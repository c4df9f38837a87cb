/*
 * splice.c - a function of Collider's own in place of a call of it.
 *
 * For code that must not call: statements are copied with registers and labels of the caller, loads
 * of parameters become moves from the arguments, stores to return parameters become moves to the
 * results, and ret becomes a branch to the end of the copy. Scopes are dropped, as all names in
 * them are new. The names of the new registers mark the copies as inserted.
 *
 * needs: a function without calls and variables.  Costs: the function's size for each use.
 */
#include "instrument/internal.h"

#include <string.h>

struct splice {
	struct inst_ctx *cx;
	const struct ptx_func *callee;
	struct ptx_stmt *at;
	const struct ptx_opnd *args, *outs;
	uint32_t *regs;		   /* by number: ours, or PTX_NO_REG */
	struct ptx_label **labels; /* by id, or NULL */
	uint32_t nlabels;
	struct ptx_label *end;
};

static uint32_t our_reg(struct splice *x, uint32_t reg)
{
	if (x->regs[reg] == PTX_NO_REG)
		x->regs[reg] =
			ptx_new_reg(x->cx->m, x->cx->f, (enum ptx_type)x->callee->reg_type[reg]);
	return x->regs[reg];
}

static struct ptx_label *our_label(struct splice *x, const struct ptx_label *l)
{
	if (!x->labels[l->id])
		x->labels[l->id] = ptx_new_label(x->cx->m, x->cx->f);
	return x->labels[l->id];
}

static struct ptx_opnd our_operand(struct splice *x, const struct ptx_opnd *op)
{
	struct ptx_opnd r = *op;

	switch (op->kind) {
	case PTX_OPND_REG:
		r = inst_reg(x->cx, our_reg(x, op->reg));
		r.flags = op->flags;
		return r;
	case PTX_OPND_SYM:
		return op->flags & PTX_OPND_LABEL ? ptx_opnd_label(our_label(x, op->label)) : r;
	case PTX_OPND_ADDR:
	case PTX_OPND_VEC:
	case PTX_OPND_LIST:
	case PTX_OPND_PAIR:
		r.sub = BASE_NEWN(x->cx->m->arena, struct ptx_opnd, op->nsub);
		for (unsigned i = 0; i < op->nsub; i++)
			r.sub[i] = our_operand(x, &op->sub[i]);
		return r;
	default:
		return r;
	}
}

/* The parameter that an address names: "f_param_3" is number 3. */
static unsigned number_of(const struct ptx_opnd *addr)
{
	struct ptx_str name = addr->sub[0].text;
	unsigned n = 0, ten = 1;

	for (uint32_t i = name.n; i-- && name.p[i] >= '0' && name.p[i] <= '9'; ten *= 10)
		n += (unsigned)(name.p[i] - '0') * ten;
	return n;
}

static void move(struct splice *x, enum ptx_type t, struct ptx_opnd to, struct ptx_opnd from)
{
	inst_emit(x->cx, x->at, "copy", T(ptx_type_bytes(t) == 8 ? PTX_STR("b64") : PTX_STR("b32")),
		  H(to, from));
}

static void copy_inst(struct splice *x, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	enum ptx_type t = fm->ntypes ? (enum ptx_type)fm->types[0] : PTX_TYPE_NONE;

	if (fm->op == PTX_OP_RET) {
		inst_emit(x->cx, x->at, "branch", NT, H(ptx_opnd_label(x->end)));
		return;
	}
	if (fm->op == PTX_OP_LD && fm->space == PTX_SPACE_PARAM) {
		move(x, t, our_operand(x, &s->ops[0]), x->args[number_of(&s->ops[1])]);
		return;
	}
	if (fm->op == PTX_OP_ST && fm->space == PTX_SPACE_PARAM) {
		move(x, t, x->outs[s->ops[0].off / 8], our_operand(x, &s->ops[1]));
		return;
	}
	struct ptx_stmt *c = ptx_new_stmt(x->cx->m, PTX_STMT_INST);
	c->form = fm;
	c->nops = s->nops;
	c->ops = BASE_NEWN(x->cx->m->arena, struct ptx_opnd, s->nops);
	for (unsigned i = 0; i < s->nops; i++)
		c->ops[i] = our_operand(x, &s->ops[i]);
	c->pred = s->pred == PTX_NO_REG ? PTX_NO_REG : our_reg(x, s->pred);
	c->is_pred_not = s->is_pred_not;
	c->inserted = true;
	ptx_insert_before(x->cx->f, x->at, c);
}

static void copy_pragma(struct splice *x, const struct ptx_stmt *s)
{
	struct ptx_stmt *c = ptx_new_stmt(x->cx->m, PTX_STMT_PRAGMA);

	c->text = s->text;
	c->inserted = true;
	ptx_insert_before(x->cx->f, x->at, c);
}

void inst_splice(struct inst_ctx *cx, const struct ptx_func *callee, struct ptx_stmt *at,
		 const struct ptx_opnd *args, const struct ptx_opnd *outs)
{
	struct splice x = {.cx = cx, .callee = callee, .at = at, .args = args, .outs = outs};

	x.end = ptx_new_label(cx->m, cx->f);
	x.regs = BASE_NEWN(&cx->scratch, uint32_t, callee->nregs);
	memset(x.regs, 0xff, callee->nregs * sizeof(*x.regs));
	ptx_each_stmt(callee, s)
	{
		if (s->kind == PTX_STMT_LABEL && s->label->id >= x.nlabels)
			x.nlabels = s->label->id + 1;
	}
	x.labels = BASE_NEWN(&cx->scratch, struct ptx_label *, x.nlabels + 1);
	ptx_each_stmt(callee, s)
	{
		if (s->kind == PTX_STMT_INST)
			copy_inst(&x, s);
		else if (s->kind == PTX_STMT_LABEL)
			inst_emit_label(cx, at, our_label(&x, s->label));
		else if (s->kind == PTX_STMT_PRAGMA)
			copy_pragma(&x, s);
	}
	inst_emit_label(cx, at, x.end);
}
