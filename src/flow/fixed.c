/*
 * fixed.c - predicates that have one value for all of a thread's run, and which of them are one.
 *
 * A register is *fixed* if it has one unguarded definition, which is pure or reads constant memory,
 * and all that it reads is fixed: immediates, symbols, parameters of an entry, special registers
 * that stay as they are. A loop may compute it again, and gets the same. Two fixed predicates that
 * are computed alike, or one as the opposite of the other (lt and ge of integers, not), are one
 * condition: known.c keeps facts about the first of them.
 *
 * Misses: conditions of loaded values and of counters; the opposite of a comparison of floats;
 * operands in another order. Costs: linear; a key of some 30 bytes for each register that a fixed
 * predicate is made of.
 */
#include "flow/priv.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { MAX_DEPTH = 64 }; /* of an expression: what is deeper is taken for a value of its own */

struct value { /* an expression that was met */
	UT_hash_handle hh;
	struct flow_same first; /* the register that has it */
};

struct numbering {
	struct flow *fl;
	struct flow_same *same; /* by register */
	uint8_t *is_done;	/* by register: .same is there */
	struct value *values;
	unsigned depth;
};

/* The comparison of integers, as one of eq, lt, le, lo, ls or the opposite of one. */
static enum ptx_mod compared(const struct ptx_stmt *s, bool *is_not)
{
	static const struct {
		enum ptx_mod opposite, mod;
	} pairs[] = {{PTX_MOD_NE, PTX_MOD_EQ},
		     {PTX_MOD_GE, PTX_MOD_LT},
		     {PTX_MOD_GT, PTX_MOD_LE},
		     {PTX_MOD_HS, PTX_MOD_LO},
		     {PTX_MOD_HI, PTX_MOD_LS}};
	const struct ptx_form *fm = s->form;

	if (fm->op != PTX_OP_SETP || s->nops != 3 || fm->nmods != 1 || fm->ntypes != 1)
		return PTX_MOD_UNKNOWN;
	switch (ptx_type_class((enum ptx_type)fm->types[0])) {
	case PTX_CLASS_BITS:
	case PTX_CLASS_UINT:
	case PTX_CLASS_SINT:
		break;
	default: /* of floats lt and ge may both be false */
		return PTX_MOD_UNKNOWN;
	}
	for (size_t i = 0; i < BASE_COUNTOF(pairs); i++) {
		if (fm->mods[0] == pairs[i].opposite)
			*is_not = true;
		if (fm->mods[0] == pairs[i].opposite || fm->mods[0] == pairs[i].mod)
			return pairs[i].mod;
	}
	return PTX_MOD_UNKNOWN;
}

static struct flow_same number_of(struct numbering *x, uint32_t reg);

static void put_operand(struct numbering *x, struct base_buf *key, const struct ptx_opnd *o)
{
	struct flow_same s;

	base_buf_printf(key, " %u.%u.%u.%lld", o->kind, o->flags, o->comp, (long long)o->off);
	switch (o->kind) {
	case PTX_OPND_REG:
		s = number_of(x, o->reg);
		base_buf_printf(key, " %s%u", s.is_not ? "!" : "", s.reg);
		break;
	case PTX_OPND_ADDR:
	case PTX_OPND_VEC:
		for (unsigned i = 0; i < o->nsub; i++)
			put_operand(x, key, &o->sub[i]);
		break;
	case PTX_OPND_INT:
		base_buf_printf(key, " %lld", (long long)o->imm);
		break;
	default:
		base_buf_put(key, o->text.p, o->text.n);
		break;
	}
}

static bool has_one_result(const struct ptx_stmt *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->nops; i++)
		n += ptx_stmt_role(s, i) == PTX_ROLE_DST;
	return n == 1 && s->nops && s->ops[0].kind == PTX_OPND_REG && !s->ops[0].comp &&
	       ptx_stmt_role(s, 0) == PTX_ROLE_DST;
}

/* The first register with the value that `s` gives to `reg`. */
static struct flow_same look_up(struct numbering *x, const struct ptx_stmt *s, uint32_t reg)
{
	struct base_buf key = {0};
	struct value *v;
	bool is_not = false;
	enum ptx_mod mod = compared(s, &is_not);

	if (mod == PTX_MOD_UNKNOWN)
		base_buf_put(&key, s->form->text.p, s->form->text.n);
	else
		base_buf_printf(&key, "%u %u", mod, s->form->types[0]);
	for (unsigned i = 1; i < s->nops; i++)
		put_operand(x, &key, &s->ops[i]);
	HASH_FIND(hh, x->values, key.p, key.n, v);
	if (!v) {
		char *kept = base_alloc(x->fl->arena, key.n);
		memcpy(kept, key.p, key.n);
		v = base_alloc(x->fl->arena, sizeof(*v));
		v->first = (struct flow_same){reg, is_not};
		HASH_ADD_KEYPTR(hh, x->values, kept, key.n, v);
	}
	base_buf_free(&key);
	return (struct flow_same){v->first.reg, v->first.is_not != is_not};
}

static struct flow_same number_of(struct numbering *x, uint32_t reg)
{
	struct flow_priv *pr = x->fl->priv;
	const struct ptx_stmt *s;
	struct flow_same same = {reg, false};

	if (x->is_done[reg])
		return x->same[reg];
	s = flow_single_def(x->fl, reg);
	if (s && pr->fixed[reg] && has_one_result(s) && x->depth < MAX_DEPTH) {
		bool is_not = s->form->op == PTX_OP_NOT && x->fl->f->reg_type[reg] == PTX_TYPE_PRED;
		x->depth++;
		if ((is_not || s->form->op == PTX_OP_MOV) && s->ops[1].kind == PTX_OPND_REG &&
		    !s->ops[1].comp && !s->ops[1].flags) {
			same = number_of(x, s->ops[1].reg);
			same.is_not ^= is_not;
		} else {
			same = look_up(x, s, reg);
		}
		x->depth--;
	}
	x->is_done[reg] = 1;
	x->same[reg] = same;
	return same;
}

static void number_predicates(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;
	struct numbering x = {.fl = fl, .same = pr->same};

	x.is_done = base_calloc(pr->nregs + 1u, 1);
	for (uint32_t r = 0; r < pr->nregs; r++)
		if (pr->fixed[r] && fl->f->reg_type[r] == PTX_TYPE_PRED)
			number_of(&x, r);
	HASH_CLEAR(hh, x.values);
	free(x.is_done);
}

struct marking {
	struct flow *fl;
	struct flow_work *w;
};

static void mark_fixed(uint32_t reg, bool is_write, void *arg)
{
	struct marking *x = arg;
	struct flow_priv *pr = x->fl->priv;

	if (!is_write || reg >= pr->nregs || pr->fixed[reg] || !flow_single_def(x->fl, reg))
		return;
	pr->fixed[reg] = 1;
	flow_work_uses(x->w, reg);
}

static void visit(struct flow *fl, struct flow_work *w, const struct ptx_stmt *s)
{
	struct marking x = {fl, w};

	if (s->pred == PTX_NO_REG && flow_is_same_result(fl, fl->priv->fixed, FLOW_AMONG_STEPS, s))
		ptx_each_reg(s, mark_fixed, &x);
}

/* ======================================================================== */

void flow_need_fixed(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;

	if (pr->fixed)
		return;
	pr->fixed = BASE_NEWN(fl->arena, uint8_t, pr->nregs + 1u);
	flow_solve(fl, visit);
	pr->same = BASE_NEWN(fl->arena, struct flow_same, pr->nregs + 1u);
	number_predicates(fl);
}
