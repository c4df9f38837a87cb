/*
 * object.c - the variable or kernel parameter that an address is computed from.
 *
 * Definitions are followed backwards through copies, sums and selections. In a sum the side that
 * has an object determines it, as leaving an object is undefined: the other side is an index. All
 * definitions of a register, and both sides of a selection, must agree.
 *
 * Misses: pointers that were loaded from memory or returned by a call, members of structures that
 * are parameters, sums of two parameters. Costs: at most STEPS_MAX definitions for each question.
 */
#include "flow/priv.h"
#include "ptx/debug.h"

#define STEPS_MAX 256

enum { OBJ_TOP, OBJ_NUMBER, OBJ_FOUND, OBJ_UNKNOWN };

struct object {
	int kind;
	struct ptx_str name;
	bool is_param;
};

struct search {
	struct flow *fl;
	uint32_t seen[STEPS_MAX]; /* registers on the way: a loop adds nothing new */
	uint32_t n;
};

static struct object object_of(struct search *x, const struct ptx_opnd *o);

static const struct object number = {.kind = OBJ_NUMBER}, unknown = {.kind = OBJ_UNKNOWN};

static bool is_same(const struct object *a, const struct object *b)
{
	return a->kind == b->kind && (a->kind != OBJ_FOUND ||
				      (a->is_param == b->is_param && ptx_str_eq(a->name, b->name)));
}

/* Either of the two. */
static struct object meet(struct object a, struct object b)
{
	if (a.kind == OBJ_TOP || is_same(&a, &b))
		return b;
	return b.kind == OBJ_TOP ? a : unknown;
}

static struct object sum(struct object a, struct object b)
{
	if (a.kind == OBJ_FOUND)
		return b.kind == OBJ_FOUND ? unknown : a;
	if (b.kind == OBJ_FOUND)
		return b;
	/* A pointer that a loop moves on is what it was before the loop. */
	if (a.kind == OBJ_TOP || b.kind == OBJ_TOP)
		return a.kind == OBJ_UNKNOWN || b.kind == OBJ_UNKNOWN
			       ? unknown
			       : (struct object){.kind = OBJ_TOP};
	return a.kind == OBJ_NUMBER && b.kind == OBJ_NUMBER ? number : unknown;
}

static struct object loaded(const struct flow *fl, const struct ptx_stmt *s)
{
	const struct ptx_opnd *a = ptx_address(s);

	if (s->form->op != PTX_OP_LD || s->form->space != PTX_SPACE_PARAM || !fl->f->is_entry ||
	    !a || a->kind != PTX_OPND_ADDR || !a->nsub || a->sub[0].kind != PTX_OPND_SYM ||
	    a->off || s->form->vec != 1)
		return unknown;
	return s->form->width == 8 ? (struct object){OBJ_FOUND, a->sub[0].text, true} : number;
}

static struct object result_of(struct search *x, const struct ptx_stmt *s)
{
	if (!flow_is_pure(s))
		return s->form->effects == PTX_EFF_READ ? loaded(x->fl, s) : unknown;
	if (s->nops < 2 || s->ops[0].kind != PTX_OPND_REG)
		return unknown;
	switch (s->form->op) {
	case PTX_OP_MOV:
	case PTX_OP_CVTA:
	case PTX_OP_CVT:
		return object_of(x, &s->ops[1]);
	case PTX_OP_ADD:
		return sum(object_of(x, &s->ops[1]), object_of(x, &s->ops[2]));
	case PTX_OP_SUB:
		return sum(object_of(x, &s->ops[1]), number);
	case PTX_OP_MAD:
		return s->nops == 4 ? object_of(x, &s->ops[3]) : unknown;
	case PTX_OP_SELP:
		return s->nops == 4 ? meet(object_of(x, &s->ops[1]), object_of(x, &s->ops[2]))
				    : unknown;
	case PTX_OP_MUL:
	case PTX_OP_SHL:
	case PTX_OP_SHR:
		return number;
	default:
		return unknown;
	}
}

static struct object object_of(struct search *x, const struct ptx_opnd *o)
{
	struct object all = {.kind = OBJ_TOP};
	uint32_t n;

	if (o->kind == PTX_OPND_SYM)
		return (struct object){OBJ_FOUND, o->text, flow_var_of(o) == NULL};
	if (o->kind != PTX_OPND_REG)
		return number;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->seen[i] == o->reg)
			return all;
	if (x->n == STEPS_MAX || o->reg >= x->fl->priv->nregs || x->fl->priv->is_param[o->reg])
		return unknown;
	x->seen[x->n++] = o->reg;
	struct ptx_stmt *const *defs = flow_defs(x->fl, o->reg, &n);
	for (uint32_t i = 0; i < n; i++)
		all = meet(all, result_of(x, defs[i]));
	x->n--;
	return n ? all : unknown;
}

bool flow_address_object(struct flow *fl, const struct ptx_stmt *mem, struct flow_object *out)
{
	const struct ptx_opnd *a = ptx_address(mem);
	struct search x = {.fl = fl};
	struct object found = unknown;

	flow_need_defuse(fl);
	if (a && a->kind == PTX_OPND_ADDR && a->nsub)
		found = object_of(&x, &a->sub[0]);
	out->name = found.name;
	out->is_param = found.is_param;
	return found.kind == OBJ_FOUND;
}

size_t flow_object_names(struct base_arena *a, struct ptx_module *m, const struct ptx_func *f,
			 const struct flow_object *o, const char *names[FLOW_OBJECT_NAMES])
{
	unsigned at = 0, i = 0;
	size_t n = 0;

	names[0] = base_strndup(a, o->name.p, o->name.n);
	for (const struct ptx_param *p = o->is_param ? f->params : NULL; p; p = p->next, i++)
		if (ptx_str_eq(p->name, o->name))
			at = i + 1;
	if (!at)
		return 1;
	names[1] = base_printf(a, "$%u", at);
	const struct ptx_debug_var *v = ptx_debug_vars(m, f, &n);
	for (size_t k = 0; k < n; k++)
		if (v[k].is_param && !--at) {
			names[2] = v[k].name;
			return 3;
		}
	return 2;
}
