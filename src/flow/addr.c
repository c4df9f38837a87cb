/*
 * addr.c - where an address points, and whether two accesses can overlap.
 *
 * Origins: one value per register from a small lattice, solved once for the
 * whole function. All start at TOP (nothing known yet); each definition lowers
 * its register to the meet over all its definitions; uses of a lowered register are visited again.
 * A sum of a pointer and a number points into the pointer's space, as leaving an object is
 * undefined; the difference of two pointers, or other arithmetic on one, is DIFF, and so is every
 * sum that contains it.
 *
 * Aliasing: both addresses are brought to (base, constant offset) through
 * mov, add, sub and cvta with immediates, as far as the base has the same value
 * at the definition and at the access; then bases and byte ranges are compared.
 *
 * Misses: pointers that pass through memory, parameters without `.ptr .space`,
 * calls. Costs: linear, at most four visits per definition.
 */
#include "flow/priv.h"

/* The lattice, best knowledge first. NUMBER is an integer that is no pointer. */
enum origin {
	ORG_TOP,
	ORG_NUMBER,
	ORG_PRIVATE,
	ORG_GLOBAL,
	ORG_SHARED,
	ORG_CONST,
	ORG_NOT_PRIVATE,
	ORG_UNKNOWN,
	ORG_DIFF
};

enum { MAX_STEPS = 16 };

/* ---- origins ------------------------------------------------------------------- */

static bool is_pointer(enum origin o)
{
	return o >= ORG_PRIVATE && o <= ORG_NOT_PRIVATE;
}

static enum origin meet(enum origin a, enum origin b)
{
	if (a == b || b == ORG_TOP)
		return a;
	if (a == ORG_TOP)
		return b;
	if (a == ORG_DIFF || b == ORG_DIFF)
		return ORG_DIFF;
	bool both = (a == ORG_GLOBAL || a == ORG_SHARED || a == ORG_NOT_PRIVATE) &&
		    (b == ORG_GLOBAL || b == ORG_SHARED || b == ORG_NOT_PRIVATE);
	return both ? ORG_NOT_PRIVATE : ORG_UNKNOWN;
}

/* A pointer or 0: `p ? p : NULL` still points where p does, as NULL is not accessed. */
static enum origin meet_null(enum origin a, const struct ptx_opnd *oa, enum origin b,
			     const struct ptx_opnd *ob)
{
	if (oa->kind == PTX_OPND_INT && oa->imm == 0)
		return b;
	if (ob->kind == PTX_OPND_INT && ob->imm == 0)
		return a;
	return meet(a, b);
}

/* A parameter of an entry can't change; a device function's is private to the thread. */
static enum origin space_origin(const struct flow *fl, uint8_t space)
{
	switch ((enum ptx_space)space) {
	case PTX_SPACE_GLOBAL:
		return ORG_GLOBAL;
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		return ORG_SHARED;
	case PTX_SPACE_LOCAL:
		return ORG_PRIVATE;
	case PTX_SPACE_CONST:
		return ORG_CONST;
	case PTX_SPACE_PARAM:
		return fl->f->is_entry ? ORG_CONST : ORG_PRIVATE;
	default:
		return ORG_UNKNOWN;
	}
}

/* The address of a parameter of this function, by name; other symbols say nothing. */
static enum origin param_origin(const struct flow *fl, const struct ptx_opnd *o)
{
	for (const struct ptx_param *p = fl->f->params; p; p = p->next)
		if (ptx_str_eq(p->name, o->text))
			return space_origin(fl, PTX_SPACE_PARAM);
	return ORG_UNKNOWN;
}

static enum origin operand_origin(const struct flow *fl, const struct ptx_opnd *o)
{
	switch (o->kind) {
	case PTX_OPND_REG:
		return o->reg < fl->priv->nregs ? (enum origin)fl->priv->origin[o->reg]
						: ORG_UNKNOWN;
	case PTX_OPND_INT:
	case PTX_OPND_SPECIAL:
		return ORG_NUMBER;
	case PTX_OPND_SYM:
		return flow_var_of(o) ? space_origin(fl, flow_var_of(o)->space)
				      : param_origin(fl, o);
	default:
		return ORG_UNKNOWN;
	}
}

static enum origin sum(enum origin a, enum origin b)
{
	if (a == ORG_TOP || b == ORG_TOP)
		return ORG_TOP;
	if (a == ORG_DIFF || b == ORG_DIFF || (is_pointer(a) && is_pointer(b)))
		return ORG_DIFF;
	if (is_pointer(a) || is_pointer(b))
		return is_pointer(a) ? a : b;
	return a == ORG_NUMBER && b == ORG_NUMBER ? ORG_NUMBER : ORG_UNKNOWN;
}

static enum origin difference(enum origin a, enum origin b)
{
	if (a == ORG_TOP || b == ORG_TOP)
		return ORG_TOP;
	if (b == ORG_DIFF || is_pointer(b))
		return ORG_DIFF;
	return sum(a, b);
}

/* Arithmetic that makes no pointer: fine on numbers, a difference in disguise on pointers. */
static enum origin other(enum origin a, enum origin b)
{
	if (a == ORG_TOP || b == ORG_TOP)
		return ORG_TOP;
	if (is_pointer(a) || is_pointer(b) || a == ORG_DIFF || b == ORG_DIFF)
		return ORG_DIFF;
	return a == ORG_NUMBER && b == ORG_NUMBER ? ORG_NUMBER : ORG_UNKNOWN;
}

/* and, or: alignment masks keep the pointer, small ones leave a number. */
static enum origin mask(const struct ptx_stmt *s, enum origin a, enum origin b)
{
	const struct ptx_opnd *m = &s->ops[2];
	if (a == ORG_TOP || b == ORG_TOP)
		return ORG_TOP;
	if (!is_pointer(a) || m->kind != PTX_OPND_INT)
		return other(a, b);
	if (s->form->op == PTX_OP_OR)
		return m->imm >= 0 && m->imm < 4096 ? a : ORG_DIFF;
	if (m->imm >= 0 && m->imm < 4096)
		return ORG_NUMBER;
	return m->imm < 0 && m->imm >= -4096 ? a : ORG_DIFF;
}

static enum origin load_origin(const struct flow *fl, const struct ptx_stmt *s)
{
	const struct ptx_opnd *a = ptx_address(s);
	if (s->form->op != PTX_OP_LD || s->form->space != PTX_SPACE_PARAM || !fl->f->is_entry ||
	    !a || a->kind != PTX_OPND_ADDR || !a->nsub || a->sub[0].kind != PTX_OPND_SYM || a->off)
		return ORG_UNKNOWN;
	for (const struct ptx_param *p = fl->f->params; p; p = p->next)
		if (ptx_str_eq(p->name, a->sub[0].text))
			return p->ptr_space == PTX_SPACE_NONE || p->ptr_space == PTX_SPACE_GENERIC
				       ? ORG_UNKNOWN
				       : space_origin(fl, p->ptr_space);
	return ORG_UNKNOWN;
}

/* The origin of what a statement writes. */
static enum origin result_origin(const struct flow *fl, const struct ptx_stmt *s)
{
	enum origin o[4] = {ORG_NUMBER, ORG_NUMBER, ORG_NUMBER, ORG_NUMBER};

	if (!flow_is_pure(s))
		return s->form->effects == PTX_EFF_READ ? load_origin(fl, s) : ORG_UNKNOWN;
	for (unsigned i = 1; i < s->nops && i < 4; i++)
		o[i] = operand_origin(fl, &s->ops[i]);
	if (s->nops < 2 || s->ops[0].kind != PTX_OPND_REG)
		return ORG_UNKNOWN; /* vectors: mov.b64 {a, b}, p */
	switch (s->form->op) {
	case PTX_OP_CVTA:
		return space_origin(fl, s->form->space);
	case PTX_OP_MAPA:
		return ORG_SHARED;
	case PTX_OP_MOV:
		return o[1];
	case PTX_OP_CVT: /* between 32 and 64 bits: shared and local windows fit in 32 */
		return s->ops[1].kind == PTX_OPND_REG ? o[1] : ORG_NUMBER;
	case PTX_OP_ADD:
		return sum(o[1], o[2]);
	case PTX_OP_SUB:
		return difference(o[1], o[2]);
	case PTX_OP_MAD:
		return sum(other(o[1], o[2]), o[3]);
	case PTX_OP_SELP:
		return s->nops == 4 ? meet_null(o[1], &s->ops[1], o[2], &s->ops[2]) : ORG_UNKNOWN;
	case PTX_OP_AND:
	case PTX_OP_OR:
		return s->nops == 3 ? mask(s, o[1], o[2]) : ORG_UNKNOWN;
	default:
		return s->nops > 4 ? ORG_UNKNOWN : other(other(o[1], o[2]), o[3]);
	}
}

struct lowering {
	struct flow_priv *pr;
	struct flow_work *w;
	enum origin org;
};

static void lower(uint32_t reg, bool is_write, void *arg)
{
	struct lowering *x = arg;
	struct flow_priv *pr = x->pr;

	if (!is_write || reg >= pr->nregs)
		return;
	enum origin now = meet((enum origin)pr->origin[reg], x->org);
	if (now == pr->origin[reg])
		return;
	pr->origin[reg] = (uint8_t)now;
	flow_work_uses(x->w, reg);
}

static void visit(struct flow *fl, struct flow_work *w, const struct ptx_stmt *s)
{
	struct lowering x = {fl->priv, w, result_origin(fl, s)};

	if (x.org != ORG_TOP)
		ptx_each_reg(s, lower, &x);
}

static void solve_origins(struct flow *fl)
{
	flow_need_defuse(fl);
	struct flow_priv *pr = fl->priv;

	pr->origin = BASE_NEWN(fl->arena, uint8_t, pr->nregs + 1u);
	for (uint32_t r = 0; r < pr->nregs; r++)
		if (pr->is_param[r])
			pr->origin[r] = ORG_UNKNOWN;
	flow_solve(fl, visit);
}

static enum flow_origin public_origin(enum origin o)
{
	switch (o) {
	case ORG_PRIVATE:
		return FLOW_ORIGIN_PRIVATE;
	case ORG_GLOBAL:
		return FLOW_ORIGIN_GLOBAL;
	case ORG_SHARED:
		return FLOW_ORIGIN_SHARED;
	case ORG_CONST:
		return FLOW_ORIGIN_CONST;
	case ORG_NOT_PRIVATE:
		return FLOW_ORIGIN_NOT_PRIVATE;
	default:
		return FLOW_ORIGIN_UNKNOWN;
	}
}

static enum flow_origin origin_in(struct flow *fl, uint8_t space, const struct ptx_opnd *a)
{
	if (space != PTX_SPACE_GENERIC)
		return public_origin(space_origin(fl, space));
	if (!a || a->kind != PTX_OPND_ADDR || a->nsub != 1)
		return FLOW_ORIGIN_UNKNOWN;
	if (!fl->priv->origin)
		solve_origins(fl);
	return public_origin(operand_origin(fl, &a->sub[0]));
}

/* ---- aliasing ------------------------------------------------------------------- */

/* An address as base + off; the base is a register, a variable, or nothing (absolute). */
struct place {
	uint32_t reg;		   /* PTX_NO_REG: none */
	const struct ptx_var *var; /* NULL: none */
	int64_t off;
};

/*
 * Does register q hold at statement `at` what it held at `def`, the single definition of another
 * register? Yes if q has a single definition too and each of the three dominates the next; or if
 * def and `at` are in one block and nothing writes q between them.
 */
static bool keeps_value(struct flow *fl, uint32_t q, const struct ptx_stmt *def,
			const struct ptx_stmt *at)
{
	struct flow_priv *pr = fl->priv;
	const struct ptx_stmt *qd = flow_single_def(fl, q);
	if (!flow_def_dominates(fl, def, at) || q >= pr->nregs)
		return false;
	if (qd)
		return flow_def_dominates(fl, qd, def);
	uint32_t lo = pr->def_off[q], hi = pr->def_off[q + 1];
	if (lo == hi)
		return true; /* an unwritten parameter */
	if (def->mark != at->mark)
		return false;
	uint32_t k = flow_lower(pr->def_at, lo, hi, flow_place(fl, def));
	return k == hi || pr->def_at[k] >= flow_place(fl, at);
}

/* One step back: the operand that def's result is a constant away from, or NULL. */
static const struct ptx_opnd *step_back(const struct ptx_stmt *def, int64_t *off)
{
	const struct ptx_opnd *o = def->ops;
	if (def->nops == 2 && (def->form->op == PTX_OP_MOV || def->form->op == PTX_OP_CVTA))
		return &o[1];
	if (def->nops != 3 || o[2].kind != PTX_OPND_INT || def->form->ntypes != 1)
		return NULL;
	if (o[2].imm > INT32_MAX || o[2].imm < INT32_MIN)
		return NULL;
	if (def->form->op == PTX_OP_ADD)
		*off += o[2].imm;
	else if (def->form->op == PTX_OP_SUB)
		*off -= o[2].imm;
	else
		return NULL;
	return &o[1];
}

static bool find_place(struct flow *fl, const struct ptx_stmt *s, const struct ptx_opnd *a,
		       struct place *out)
{
	*out = (struct place){.reg = PTX_NO_REG};
	if (!a || a->kind != PTX_OPND_ADDR || a->nsub != 1)
		return false;
	const struct ptx_opnd *o = &a->sub[0];
	out->off = a->off;
	for (int i = 0; i < MAX_STEPS; i++) {
		if (o->kind == PTX_OPND_SYM) {
			out->reg = PTX_NO_REG;
			out->var = flow_var_of(o);
			out->off += o == &a->sub[0] ? 0 : o->off;
			return out->var != NULL;
		}
		if (o->kind != PTX_OPND_REG)
			break;
		out->reg = o->reg;
		const struct ptx_stmt *def = flow_single_def(fl, o->reg);
		int64_t off = out->off;
		const struct ptx_opnd *back =
			def && flow_is_pure(def) && def->nops && def->ops[0].kind == PTX_OPND_REG
				? step_back(def, &off)
				: NULL;
		if (!back || (back->kind == PTX_OPND_REG && !keeps_value(fl, back->reg, def, s)) ||
		    (back->kind != PTX_OPND_REG && back->kind != PTX_OPND_SYM))
			break;
		if (back->kind == PTX_OPND_SYM &&
		    (!flow_var_of(back) || !flow_def_dominates(fl, def, s)))
			break;
		out->off = off;
		o = back;
	}
	return out->reg != PTX_NO_REG;
}

static enum flow_alias compare_ranges(int64_t a, int64_t na, int64_t b, int64_t nb)
{
	if (a == b && na == nb)
		return FLOW_MUST_ALIAS;
	return a + na <= b || b + nb <= a ? FLOW_NO_ALIAS : FLOW_MAY_ALIAS;
}

static bool are_apart(enum flow_origin a, enum flow_origin b)
{
	if (a == FLOW_ORIGIN_UNKNOWN || b == FLOW_ORIGIN_UNKNOWN || a == b)
		return false;
	if (a == FLOW_ORIGIN_NOT_PRIVATE || b == FLOW_ORIGIN_NOT_PRIVATE) {
		enum flow_origin o = a == FLOW_ORIGIN_NOT_PRIVATE ? b : a;
		return o == FLOW_ORIGIN_PRIVATE || o == FLOW_ORIGIN_CONST;
	}
	return true;
}

/* Bytes of one lane's plain access; 0 if the statement accesses more than that. */
static int64_t access_bytes(const struct ptx_stmt *s)
{
	if (s->form->effects & (PTX_EFF_ASYNC | PTX_EFF_COLLECTIVE_MEM | PTX_EFF_UNKNOWN))
		return 0;
	return (int64_t)s->form->vec * s->form->width;
}

/* Several addresses in one statement (copies) are not distinguished. */
static bool has_one_address(const struct ptx_stmt *s)
{
	unsigned n = 0;
	for (unsigned i = 0; i < s->nops; i++)
		n += s->ops[i].kind == PTX_OPND_ADDR;
	return n == 1;
}

/* Is a register written from statement a (itself included: ld r, [r]) up to b? */
static bool is_written_between(struct flow *fl, uint32_t reg, const struct ptx_stmt *a,
			       const struct ptx_stmt *b)
{
	struct flow_priv *pr = fl->priv;
	uint32_t pa = flow_place(fl, a), pb = flow_place(fl, b);
	uint32_t lo = pa < pb ? pa : pb, hi = pa < pb ? pb : pa;
	if (reg >= pr->nregs)
		return true;
	if (a->mark != b->mark)
		return !flow_single_def(fl, reg);
	uint32_t end = pr->def_off[reg + 1];
	uint32_t k = flow_lower(pr->def_at, pr->def_off[reg], end, lo);
	return k < end && pr->def_at[k] < hi;
}

/* ======================================================================== */

enum flow_origin flow_address_origin(struct flow *fl, const struct ptx_stmt *mem)
{
	return origin_in(fl, mem->form->space, ptx_address(mem));
}

enum flow_alias flow_may_alias(struct flow *fl, const struct ptx_stmt *a, const struct ptx_stmt *b)
{
	struct place pa, pb;

	if (!has_one_address(a) || !has_one_address(b))
		return FLOW_MAY_ALIAS;
	if (are_apart(flow_address_origin(fl, a), flow_address_origin(fl, b)))
		return FLOW_NO_ALIAS;
	int64_t na = access_bytes(a), nb = access_bytes(b);
	if (!na || !nb || !find_place(fl, a, ptx_address(a), &pa) ||
	    !find_place(fl, b, ptx_address(b), &pb))
		return FLOW_MAY_ALIAS;
	if (pa.reg != PTX_NO_REG && is_written_between(fl, pa.reg, a, b))
		return FLOW_MAY_ALIAS;
	if (pa.reg == pb.reg && pa.var == pb.var)
		return compare_ranges(pa.off, na, pb.off, nb);
	if (pa.var && pb.var) /* all unsized extern arrays of a space begin at one address */
		return pa.var->is_unsized && pb.var->is_unsized ? FLOW_MAY_ALIAS : FLOW_NO_ALIAS;
	return FLOW_MAY_ALIAS; /* the two may be equal, with one traced back less far */
}
