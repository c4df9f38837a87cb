/*
 * update.c - is an access half of `x += 1`?
 *
 * A store and an earlier load of the same address (register, offset and space, as written) belong
 * together if the stored value is computed from the loaded one. Then a single atomic operation
 * would remove a race between two of them, and the arithmetic between determines which one. Or a
 * branch or guard that is computed from the load decides whether there is a store: check, then set.
 * The answer only selects words of a report, so paths don't matter: the definition of a register is
 * the last one above its use in the text, at most CHAIN_MAX steps back.
 *
 * Misses: addresses that are computed twice, values carried around a loop, results of calls.
 * Costs: for a load, a walk over the stores after it.
 */
#include "flow/priv.h"

#include <string.h>

#define LOOK_MAX  512 /* statements from a load to its store */
#define CHECK_MAX 64  /* ... to one that depends on it */
#define CHAIN_MAX 5

struct target {
	struct flow *fl;
	const struct ptx_form *form;
	const struct ptx_opnd *address;
};

static bool is_plain(const struct ptx_stmt *s, uint32_t effect)
{
	const uint32_t others = PTX_EFF_ATOMIC | PTX_EFF_ASYNC | PTX_EFF_BARRIER | PTX_EFF_CALL;
	const struct ptx_opnd *a = ptx_address(s);

	return a && a->kind == PTX_OPND_ADDR && a->nsub && (s->form->effects & effect) &&
	       !(s->form->effects & others) && s->form->space != PTX_SPACE_PARAM;
}

static bool is_same_address(const struct target *t, const struct ptx_stmt *s)
{
	const struct ptx_opnd *a = t->address, *b = ptx_address(s);

	if (a->off != b->off || t->form->space != s->form->space ||
	    a->sub[0].kind != b->sub[0].kind || a->sub[0].off != b->sub[0].off)
		return false;
	if (a->sub[0].kind == PTX_OPND_REG)
		return a->sub[0].reg == b->sub[0].reg;
	return a->sub[0].kind == PTX_OPND_SYM && a->sub[0].text.n == b->sub[0].text.n &&
	       !memcmp(a->sub[0].text.p, b->sub[0].text.p, a->sub[0].text.n);
}

static const struct ptx_stmt *definition(struct flow *fl, const struct ptx_stmt *use, uint32_t reg)
{
	const struct flow_priv *pr = fl->priv;
	uint32_t at = flow_place(fl, use);

	flow_need_defuse(fl);
	if (reg >= pr->nregs || at == FLOW_NONE)
		return NULL;
	uint32_t k = flow_lower(pr->def_at, pr->def_off[reg], pr->def_off[reg + 1], at);
	return k > pr->def_off[reg] ? pr->def[k - 1] : NULL;
}

/* What the instruction does to operand i; NONE: it passes it on unchanged. */
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
	case PTX_OP_SUB: /* the minuend: x - c is an addition */
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
	const struct ptx_stmt *d = depth < CHAIN_MAX ? definition(t->fl, use, reg) : NULL;

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

static enum flow_update of_store(struct flow *fl, const struct ptx_stmt *s)
{
	struct target t = {fl, s->form, ptx_address(s)};

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

/* ---- check, then set ------------------------------------------------------------------------ */

/* A register of the instrumentation, which loads from the program's addresses, too. */
static bool is_of_check(const struct flow *fl, uint32_t reg)
{
	static const char prefix[] = "%collider_";
	struct ptx_str name = ptx_reg_name(fl->f, reg);

	return name.n >= sizeof(prefix) - 1 && !memcmp(name.p, prefix, sizeof(prefix) - 1);
}

/* Does the instruction's guard come from a load of the target's bytes? */
static bool is_guarded_by(const struct target *t, const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && s->pred != PTX_NO_REG && !is_of_check(t->fl, s->pred) &&
	       follow(t, s, s->pred, FLOW_UPDATE_NONE, 0) != FLOW_UPDATE_NONE;
}

/* Is the register computed from the thread's index in its block? */
static bool is_of_index(struct flow *fl, const struct ptx_stmt *use, uint32_t reg, unsigned depth)
{
	const struct ptx_stmt *d = depth < CHAIN_MAX ? definition(fl, use, reg) : NULL;

	for (unsigned i = 0; d && i < d->nops; i++) {
		const struct ptx_opnd *o = &d->ops[i];
		if (ptx_stmt_role(d, i) != PTX_ROLE_SRC)
			continue;
		if (o->kind == PTX_OPND_SPECIAL && o->text.n > 4 && !memcmp(o->text.p, "%tid", 4))
			return true;
		if (o->kind == PTX_OPND_REG && is_of_index(fl, d, o->reg, depth + 1))
			return true;
	}
	return false;
}

/* Is the instruction left to some threads of the block, by their index? */
static bool is_for_some(struct flow *fl, const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && s->pred != PTX_NO_REG && !is_of_check(fl, s->pred) &&
	       is_of_index(fl, s, s->pred, 0);
}

static bool jumps_over(const struct ptx_stmt *s, const struct ptx_stmt *store)
{
	const struct ptx_label *to = s->form->op == PTX_OP_BRA ? ptx_target(s) : NULL;

	for (const struct ptx_stmt *o = to ? store->next : NULL; o; o = o->next)
		if (o->kind == PTX_STMT_LABEL && o->label == to)
			return true;
	return false;
}

/* Is the store, of a value of its own, carried out only if a load of the same bytes above it says
 * so? Not where threads of some index alone store, after all have looked (a flag that is reset for
 * the next round): each such store may come before another thread's look, as one step, too. */
static bool is_checked(struct flow *fl, const struct ptx_stmt *store)
{
	struct target t = {fl, store->form, ptx_address(store)};
	unsigned n = 0;

	if (is_guarded_by(&t, store))
		return true;
	if (is_for_some(fl, store))
		return false;
	for (const struct ptx_stmt *o = store->prev; o && n < CHECK_MAX; o = o->prev, n++) {
		if (o->kind != PTX_STMT_INST)
			continue;
		if (o->form->effects & (PTX_EFF_BARRIER | PTX_EFF_CALL))
			return false;
		if (o->pred == PTX_NO_REG || !jumps_over(o, store))
			continue;
		if (is_guarded_by(&t, o))
			return true;
		if (is_for_some(fl, o))
			return false;
	}
	return false;
}

static enum flow_update of_write(struct flow *fl, const struct ptx_stmt *s)
{
	enum flow_update u = of_store(fl, s);

	return u || !is_checked(fl, s) ? u : FLOW_UPDATE_CHECK;
}

/* ======================================================================== */

enum flow_update flow_update_of(struct flow *fl, const struct ptx_stmt *s)
{
	struct target t = {fl, s->form, ptx_address(s)};
	unsigned n = 0;

	if (is_plain(s, PTX_EFF_WRITE))
		return of_write(fl, s);
	if (!is_plain(s, PTX_EFF_READ))
		return FLOW_UPDATE_NONE;
	for (const struct ptx_stmt *o = s->next; o && n < LOOK_MAX; o = o->next, n++) {
		enum flow_update u = is_plain(o, PTX_EFF_WRITE) && is_same_address(&t, o)
					     ? of_write(fl, o)
					     : FLOW_UPDATE_NONE;
		if (u)
			return u;
	}
	return FLOW_UPDATE_NONE;
}
