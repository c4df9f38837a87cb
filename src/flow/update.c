/*
 * update.c - is an access half of `x += 1`?
 *
 * A store and an earlier load of the same address (register, offset and space, as written) belong
 * together when the stored value is computed from the loaded one. Then what mends a race between
 * two of them is one atomic operation, and which one follows from the arithmetic between. The
 * answer only chooses words of a report, so it may look at the text alone: the definition of a
 * register is the last one above its use, at most CHAIN_MAX steps back.
 *
 * Misses: addresses that are computed twice, values carried round a loop, results of calls.
 * Costs: a walk over the function's text for each access that races, once.
 */
#include "flow/flow.h"

#include <string.h>

#define LOOK_MAX  4096 /* statements from a load to its store */
#define CHAIN_MAX 5

struct target {
	const struct ptx_form *form;
	const struct ptx_opnd *address;
};

static const struct ptx_opnd *address_of(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++)
		if (s->ops[i].kind == PTX_OPND_ADDR && s->ops[i].nsub)
			return &s->ops[i];
	return NULL;
}

static bool is_plain(const struct ptx_stmt *s, uint32_t effect)
{
	const uint32_t others = PTX_EFF_ATOMIC | PTX_EFF_ASYNC | PTX_EFF_BARRIER | PTX_EFF_CALL;

	return s->kind == PTX_STMT_INST && (s->form->effects & effect) &&
	       !(s->form->effects & others) && s->form->space != PTX_SPACE_PARAM && address_of(s);
}

static bool is_same_address(const struct target *t, const struct ptx_stmt *s)
{
	const struct ptx_opnd *a = t->address, *b = address_of(s);

	if (a->off != b->off || t->form->space != s->form->space ||
	    a->sub[0].kind != b->sub[0].kind || a->sub[0].off != b->sub[0].off)
		return false;
	if (a->sub[0].kind == PTX_OPND_REG)
		return a->sub[0].reg == b->sub[0].reg;
	return a->sub[0].kind == PTX_OPND_SYM && a->sub[0].text.n == b->sub[0].text.n &&
	       !memcmp(a->sub[0].text.p, b->sub[0].text.p, a->sub[0].text.n);
}

struct search {
	uint32_t reg;
	bool is_found;
};

static void look_for(uint32_t reg, bool is_write, void *arg)
{
	struct search *s = arg;

	s->is_found = s->is_found || (is_write && reg == s->reg);
}

static const struct ptx_stmt *definition(const struct ptx_stmt *use, uint32_t reg)
{
	for (const struct ptx_stmt *s = use->prev; s; s = s->prev) {
		struct search find = {.reg = reg};
		if (s->kind != PTX_STMT_INST)
			continue;
		ptx_each_reg(s, look_for, &find);
		if (find.is_found)
			return s;
	}
	return NULL;
}

/* What the instruction does to operand i; NONE: it hands it on as it is. */
static enum flow_update step_of(const struct ptx_stmt *s, unsigned operand)
{
	bool is_float = s->form->ntypes &&
			ptx_type_class((enum ptx_type)s->form->types[0]) == PTX_CLASS_FLOAT;

	switch (s->form->op) {
	case PTX_OP_MOV:
	case PTX_OP_CVT:
	case PTX_OP_SELP:
	case PTX_OP_CVTA:
		return FLOW_UPDATE_NONE;
	case PTX_OP_ADD:
		return FLOW_UPDATE_ADD;
	case PTX_OP_SUB: /* what is subtracted from may be added to */
		return operand == 1 ? FLOW_UPDATE_ADD : FLOW_UPDATE_OTHER;
	case PTX_OP_MAD:
	case PTX_OP_FMA:
		return operand == 3 ? FLOW_UPDATE_ADD : FLOW_UPDATE_OTHER;
	case PTX_OP_MIN:
		return is_float ? FLOW_UPDATE_OTHER : FLOW_UPDATE_MIN;
	case PTX_OP_MAX:
		return is_float ? FLOW_UPDATE_OTHER : FLOW_UPDATE_MAX;
	case PTX_OP_AND:
		return FLOW_UPDATE_AND;
	case PTX_OP_OR:
		return FLOW_UPDATE_OR;
	case PTX_OP_XOR:
		return FLOW_UPDATE_XOR;
	default:
		return FLOW_UPDATE_OTHER;
	}
}

static enum flow_update both(enum flow_update a, enum flow_update b)
{
	if (!a || !b || a == b)
		return a ? a : b;
	return FLOW_UPDATE_OTHER;
}

/* What was done to a load of the target on its way to `reg`, read by `use`; `done` after it. */
static enum flow_update follow(const struct target *t, const struct ptx_stmt *use, uint32_t reg,
			       enum flow_update done, unsigned depth)
{
	const struct ptx_stmt *d = depth < CHAIN_MAX ? definition(use, reg) : NULL;

	if (!d)
		return FLOW_UPDATE_NONE;
	if (is_plain(d, PTX_EFF_READ))
		return is_same_address(t, d) ? done : FLOW_UPDATE_NONE;
	if (d->form->effects & (PTX_EFF_READ | PTX_EFF_CALL | PTX_EFF_ATOMIC))
		return FLOW_UPDATE_NONE;
	for (unsigned i = 0; i < d->nops; i++) {
		if (d->ops[i].kind != PTX_OPND_REG || ptx_stmt_role(d, i) != PTX_ROLE_SRC)
			continue;
		enum flow_update u =
			follow(t, d, d->ops[i].reg, both(done, step_of(d, i)), depth + 1);
		if (u)
			return u;
	}
	return FLOW_UPDATE_NONE;
}

static enum flow_update of_store(const struct ptx_stmt *s)
{
	struct target t = {s->form, address_of(s)};

	for (unsigned i = 0; i < s->nops; i++) {
		const struct ptx_opnd *o = &s->ops[i];
		const struct ptx_opnd *v = o->kind == PTX_OPND_VEC ? o->sub : o;
		unsigned n = o->kind == PTX_OPND_VEC ? o->nsub : 1;
		for (unsigned k = 0; k < n && o->kind != PTX_OPND_ADDR; k++) {
			enum flow_update u = v[k].kind == PTX_OPND_REG
						     ? follow(&t, s, v[k].reg, FLOW_UPDATE_NONE, 0)
						     : FLOW_UPDATE_NONE;
			if (u)
				return u;
		}
	}
	return FLOW_UPDATE_NONE;
}

enum flow_update flow_update_of(const struct ptx_stmt *s)
{
	struct target t;

	if (is_plain(s, PTX_EFF_WRITE))
		return of_store(s);
	if (!is_plain(s, PTX_EFF_READ))
		return FLOW_UPDATE_NONE;
	t = (struct target){s->form, address_of(s)};
	unsigned n = 0;
	for (const struct ptx_stmt *o = s->next; o && n < LOOK_MAX; o = o->next, n++)
		if (is_plain(o, PTX_EFF_WRITE) && is_same_address(&t, o) && of_store(o))
			return of_store(o);
	return FLOW_UPDATE_NONE;
}
