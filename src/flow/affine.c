/*
 * affine.c - addresses as linear forms in the thread's index.
 *
 * Forms are computed once for all registers with a single definition, through
 * mov, cvt, cvta, add, sub, neg, mul, mad and shl by constants; what is uniform
 * (uniform.c) is one unknown term. A register is given its form when all that
 * its definition reads has one, so loops and phis yield "not known".
 *
 * Assumption: the form is exact only while 32-bit steps don't wrap. If one wraps, it holds modulo
 * 2^32, so two threads whose forms differ by less than 2^32 still have different values; for that
 * reason coefficients of 32-bit registers are kept below 2^21 (a block has at most 1,024 threads).
 * A form must not be used to prove that an access stays within an object.
 *
 * Misses: or used as add, shifts right, tid times an unknown pitch.
 * Costs: linear; 48 bytes per register.
 */
#include "flow/priv.h"

enum { MAX_COEF_32 = 1 << 21 };

static const struct flow_affine not_known;

/* ---- arithmetic on forms ------------------------------------------------------------ */

static struct flow_affine constant(int64_t c)
{
	return (struct flow_affine){.known = true, .c0 = c};
}

static bool is_constant(const struct flow_affine *a)
{
	return a->known && !a->has_unknown && !a->tid[0] && !a->tid[1] && !a->tid[2];
}

static bool is_uniform_form(const struct flow_affine *a)
{
	return a->known && !a->tid[0] && !a->tid[1] && !a->tid[2];
}

static const struct flow_affine uniform_unknown = {.known = true, .has_unknown = true};

/* a + k*b; not known on overflow. With an unknown term c0 says nothing and is 0. */
static struct flow_affine add_scaled(struct flow_affine a, struct flow_affine b, int64_t k)
{
	int64_t t;
	if (!a.known || !b.known)
		return not_known;
	a.has_unknown = a.has_unknown || b.has_unknown;
	if (__builtin_mul_overflow(b.c0, k, &t) || __builtin_add_overflow(a.c0, t, &a.c0))
		return not_known;
	for (int i = 0; i < 3; i++)
		if (__builtin_mul_overflow(b.tid[i], k, &t) ||
		    __builtin_add_overflow(a.tid[i], t, &a.tid[i]))
			return not_known;
	if (a.has_unknown)
		a.c0 = 0;
	return a;
}

static struct flow_affine product(struct flow_affine a, struct flow_affine b)
{
	if (is_constant(&b))
		return add_scaled(constant(0), a, b.c0);
	if (is_constant(&a))
		return add_scaled(constant(0), b, a.c0);
	return is_uniform_form(&a) && is_uniform_form(&b) ? uniform_unknown : not_known;
}

/* ---- operands ------------------------------------------------------------------------- */

static struct flow_affine special_form(struct ptx_str s)
{
	static const char *const tids[] = {"%tid.x", "%tid.y", "%tid.z"};
	struct flow_affine a = constant(0);
	for (int i = 0; i < 3; i++)
		if (ptx_str_is(s, tids[i])) {
			a.tid[i] = 1;
			return a;
		}
	return not_known;
}

static struct flow_affine operand_form(const struct flow *fl, const struct ptx_opnd *o)
{
	if (o->kind == PTX_OPND_REG && o->reg < fl->priv->nregs && fl->priv->affine[o->reg].known)
		return fl->priv->affine[o->reg];
	if (o->kind == PTX_OPND_INT)
		return constant(o->imm);
	if (o->kind == PTX_OPND_ADDR && o->nsub == 1)
		return add_scaled(operand_form(fl, &o->sub[0]), constant(o->off), 1);
	if (flow_is_uniform_operand(fl, o))
		return uniform_unknown;
	return o->kind == PTX_OPND_SPECIAL ? special_form(o->text) : not_known;
}

/* ---- statements ----------------------------------------------------------------------- */

static bool is_integer(enum ptx_type t)
{
	enum ptx_type_class c = ptx_type_class(t);
	return (c == PTX_CLASS_BITS || c == PTX_CLASS_UINT || c == PTX_CLASS_SINT) &&
	       ptx_type_bytes(t) >= 4 && ptx_type_bytes(t) <= 8;
}

static bool has_integer_types(const struct ptx_form *f)
{
	for (unsigned i = 0; i < f->ntypes; i++)
		if (!is_integer((enum ptx_type)f->types[i]))
			return false;
	return f->ntypes > 0;
}

static struct flow_affine result_form(const struct flow *fl, const struct ptx_stmt *s)
{
	struct flow_affine a[4] = {not_known, not_known, not_known, not_known};
	const struct ptx_form *f = s->form;

	if (!flow_is_pure(s) || s->pred != PTX_NO_REG || !has_integer_types(f) || s->nops < 2 ||
	    s->nops > 4 || s->ops[0].kind != PTX_OPND_REG)
		return not_known;
	for (unsigned i = 1; i < s->nops; i++)
		a[i] = operand_form(fl, &s->ops[i]);
	bool is_low = !ptx_form_has(f, PTX_MOD_HI) && !ptx_form_has(f, PTX_MOD_SAT) &&
		      !ptx_form_has(f, PTX_MOD_CC);
	if (!is_low)
		return not_known;
	switch (f->op) {
	case PTX_OP_MOV:
	case PTX_OP_CVT:
		return a[1];
	case PTX_OP_CVTA: /* the same for global; for others it adds the window's base */
		return f->space == PTX_SPACE_LOCAL ? not_known
						   : add_scaled(a[1], uniform_unknown, 1);
	case PTX_OP_ADD:
		return add_scaled(a[1], a[2], 1);
	case PTX_OP_SUB:
		return add_scaled(a[1], a[2], -1);
	case PTX_OP_NEG:
		return add_scaled(constant(0), a[1], -1);
	case PTX_OP_MUL:
		return product(a[1], a[2]);
	case PTX_OP_MAD:
		return add_scaled(product(a[1], a[2]), a[3], 1);
	case PTX_OP_SHL:
		if (!is_constant(&a[2]) || a[2].c0 < 0 || a[2].c0 > 40)
			return not_known;
		return add_scaled(constant(0), a[1], (int64_t)1 << a[2].c0);
	default:
		return not_known;
	}
}

/* The form of a register that the statement defines, with the limits of its width. */
static struct flow_affine register_form(struct flow *fl, const struct ptx_stmt *s, uint32_t reg)
{
	struct flow_affine a = result_form(fl, s);
	if (!a.known && flow_is_uniform(fl, reg))
		return uniform_unknown;
	unsigned bytes = ptx_type_bytes((enum ptx_type)fl->f->reg_type[reg]);
	for (int i = 0; i < 3; i++)
		if (bytes < 8 && (a.tid[i] > MAX_COEF_32 || a.tid[i] < -MAX_COEF_32))
			return not_known;
	return a;
}

struct forming {
	struct flow *fl;
	struct flow_work *w;
	const struct ptx_stmt *s;
};

static void set_form(uint32_t reg, bool is_write, void *arg)
{
	struct forming *x = arg;
	struct flow_priv *pr = x->fl->priv;

	if (!is_write || reg >= pr->nregs || pr->affine[reg].known || !flow_single_def(x->fl, reg))
		return;
	pr->affine[reg] = register_form(x->fl, x->s, reg);
	if (pr->affine[reg].known)
		flow_work_uses(x->w, reg);
}

static void visit(struct flow *fl, struct flow_work *w, const struct ptx_stmt *s)
{
	struct forming x = {fl, w, s};

	ptx_each_reg(s, set_form, &x);
}

static void solve_forms(struct flow *fl)
{
	flow_need_uniform(fl);
	fl->priv->affine = BASE_NEWN(fl->arena, struct flow_affine, fl->priv->nregs + 1u);
	flow_solve(fl, visit);
}

/* ======================================================================== */

void flow_affine_of(struct flow *fl, const struct ptx_stmt *at, const struct ptx_opnd *op,
		    struct flow_affine *out)
{
	if (!fl->priv->affine)
		solve_forms(fl);
	const struct ptx_opnd *base = op->kind == PTX_OPND_ADDR && op->nsub ? &op->sub[0] : op;
	*out = operand_form(fl, op);
	if (out->known && base->kind == PTX_OPND_REG) {
		const struct ptx_stmt *def = flow_single_def(fl, base->reg);
		if (!def || !flow_def_dominates(fl, def, at))
			*out = not_known;
	}
}
