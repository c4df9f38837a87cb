/*
 * tried.c - code that finds out whether the result of a pure statement changes when one of its
 * operands does.
 *
 * A product does where the other factor isn't 0, an `and` where the other word has a bit, an `or`
 * where it lacks one, a shift by less than the width. Otherwise the statement is executed again,
 * with the operand as it is, inverted and with one bit changed: if a result differs, it depends on
 * the operand. So a dependence can be missed and none invented.
 *
 * Misses: registers of vector and 128 bits, what sets the carry.
 * Costs: one comparison, or some eight instructions.
 */
#include "instrument/internal.h"

static void emit(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
		 const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes)
{
	ptx_emit(ptx_template_get(cx->module_ts, name, ntexts, texts), cx->f, at, NULL, nholes,
		 holes);
}

/* The type by which a register's bits are moved and compared; NONE: not known. */
static enum ptx_type bits_of(const struct inst_ctx *cx, const struct ptx_opnd *o)
{
	if (o->kind != PTX_OPND_REG || o->comp || o->reg >= cx->f->nregs)
		return PTX_TYPE_NONE;
	if (cx->f->reg_type[o->reg] == PTX_TYPE_PRED)
		return PTX_TYPE_PRED;
	switch (ptx_type_bytes((enum ptx_type)cx->f->reg_type[o->reg])) {
	case 2:
		return PTX_TYPE_B16;
	case 4:
		return PTX_TYPE_B32;
	case 8:
		return PTX_TYPE_B64;
	default:
		return PTX_TYPE_NONE;
	}
}

/* ---- executed again ---------------------------------------------------------------------- */

/* The statement once more without its guard, operand i replaced (0: none is), into a new register
 * of the same type. */
static struct ptx_opnd once_more(struct inst_ctx *cx, const struct ptx_stmt *s, unsigned i,
				 struct ptx_opnd in_place)
{
	struct ptx_stmt *c = ptx_new_stmt(cx->m, PTX_STMT_INST);

	*c = *s;
	c->prev = c->next = NULL;
	c->inserted = true;
	c->line = c->col = 0;
	c->pred = PTX_NO_REG;
	c->is_pred_not = false;
	c->text = PTX_STR("");
	c->ops = BASE_NEWN(cx->m->arena, struct ptx_opnd, s->nops);
	for (unsigned k = 0; k < s->nops; k++)
		c->ops[k] = s->ops[k];
	c->ops[0] = inst_fresh(cx, (enum ptx_type)cx->f->reg_type[s->ops[0].reg]);
	if (i)
		c->ops[i] = in_place;
	ptx_insert_before(cx->f, (struct ptx_stmt *)(uintptr_t)s, c);
	return c->ops[0];
}

static struct ptx_opnd differ(struct inst_ctx *cx, struct ptx_opnd a, struct ptx_opnd b,
			      enum ptx_type bits, struct ptx_stmt *at)
{
	struct ptx_opnd p = inst_fresh(cx, PTX_TYPE_PRED);

	/* Bits are compared, not numbers. */
	if (bits == PTX_TYPE_PRED)
		emit(cx, at, "tried_differ_pred", NT, H(p, a, b));
	else
		emit(cx, at, "tried_differ", T(inst_type_of(bits)), H(p, a, b));
	return p;
}

/* A register of bits: setp.b32 takes no .f32 register. */
static struct ptx_opnd as_bits(struct inst_ctx *cx, struct ptx_opnd v, enum ptx_type bits,
			       struct ptx_stmt *at)
{
	enum ptx_type_class c = ptx_type_class((enum ptx_type)cx->f->reg_type[v.reg]);

	if (c != PTX_CLASS_FLOAT && c != PTX_CLASS_PACKED)
		return v;
	struct ptx_opnd to = inst_fresh(cx, bits);
	emit(cx, at, "tried_bits", T(inst_type_of(bits)), H(to, v));
	return to;
}

static bool can_execute_again(const struct inst_ctx *cx, const struct ptx_stmt *s, unsigned i)
{
	return bits_of(cx, &s->ops[i]) != PTX_TYPE_NONE &&
	       bits_of(cx, &s->ops[0]) != PTX_TYPE_NONE && !ptx_form_has(s->form, PTX_MOD_CC) &&
	       !s->ops[i].flags;
}

/* is_bool: the operand is a condition, thus has two values, one of which is among those tried: each
 * must change the result. */
static struct ptx_opnd executed_again(struct inst_ctx *cx, struct ptx_stmt *s, unsigned i,
				      bool is_bool)
{
	enum ptx_type from = bits_of(cx, &s->ops[i]), to = bits_of(cx, &s->ops[0]);
	static const char *const ways[] = {"tried_inverted", "tried_disturbed"};
	struct ptx_opnd first, any = inst_none();

	if (!can_execute_again(cx, s, i))
		return any;
	first = as_bits(cx, once_more(cx, s, 0, inst_none()), to, s);
	for (unsigned way = 0; way < (from == PTX_TYPE_PRED ? 1u : 2u); way++) {
		struct ptx_opnd other =
			inst_fresh(cx, (enum ptx_type)cx->f->reg_type[s->ops[i].reg]);
		emit(cx, s, ways[way], T(inst_type_of(from)), H(other, s->ops[i]));
		struct ptx_opnd then = as_bits(cx, once_more(cx, s, i, other), to, s);
		struct ptx_opnd p = differ(cx, first, then, to, s);
		if (any.kind == PTX_OPND_REG)
			emit(cx, s, is_bool ? "tried_both" : "tried_either", NT, H(any, any, p));
		else
			any = p;
	}
	return any;
}

/* ---- short ways -------------------------------------------------------------------------- */

static bool is_low_product(const struct ptx_form *fm)
{
	return (fm->op == PTX_OP_MUL || fm->op == PTX_OP_MAD) &&
	       (ptx_form_has(fm, PTX_MOD_LO) || ptx_form_has(fm, PTX_MOD_WIDE)) &&
	       !ptx_form_has(fm, PTX_MOD_CC);
}

enum other { OTHER_UNKNOWN, OTHER_IS_SHIFT, OTHER_IS_FACTOR, OTHER_IS_OR };

/* What the other operand alone says of operand i. */
static enum other other_of(const struct ptx_stmt *s, unsigned i)
{
	const struct ptx_form *fm = s->form;
	enum ptx_type_class c = ptx_type_class((enum ptx_type)fm->types[0]);
	bool is_shift = (fm->op == PTX_OP_SHL || fm->op == PTX_OP_SHR) && c != PTX_CLASS_SINT;
	bool is_product = is_low_product(fm) && (c == PTX_CLASS_UINT || c == PTX_CLASS_SINT);

	if (i < 1 || i > 2 || s->nops < 3 || s->ops[3 - i].kind != PTX_OPND_REG ||
	    s->ops[3 - i].flags || s->ops[1].reg == s->ops[2].reg)
		return OTHER_UNKNOWN;
	if (is_shift && i == 1)
		return OTHER_IS_SHIFT;
	if (is_product || fm->op == PTX_OP_AND)
		return OTHER_IS_FACTOR;
	return fm->op == PTX_OP_OR ? OTHER_IS_OR : OTHER_UNKNOWN;
}

/* By the other operand alone; nothing: not known. */
static struct ptx_opnd by_other(struct inst_ctx *cx, struct ptx_stmt *s, unsigned i)
{
	struct ptx_opnd p;

	switch (other_of(s, i)) {
	case OTHER_IS_SHIFT:
		p = inst_fresh(cx, PTX_TYPE_PRED);
		int64_t width = 8 * (int64_t)ptx_type_bytes((enum ptx_type)s->form->types[0]);
		emit(cx, s, "tried_below", T(inst_num(width)), H(p, s->ops[2]));
		return p;
	case OTHER_IS_FACTOR:
		return inst_compared(cx, &s->ops[3 - i], 0, false, s);
	case OTHER_IS_OR:
		return inst_compared(cx, &s->ops[3 - i], -1, false, s);
	case OTHER_UNKNOWN:
		break;
	}
	return inst_none();
}

/* ======================================================================== */

struct ptx_opnd inst_compared(struct inst_ctx *cx, const struct ptx_opnd *o, int64_t n,
			      bool is_equal, struct ptx_stmt *at)
{
	enum ptx_type bits = bits_of(cx, o);
	struct ptx_opnd p;

	if (bits == PTX_TYPE_NONE || bits == PTX_TYPE_PRED)
		return inst_none();
	p = inst_fresh(cx, PTX_TYPE_PRED);
	emit(cx, at, is_equal ? "tried_is" : "tried_is_not", T(inst_type_of(bits), inst_num(n)),
	     H(p, as_bits(cx, *o, bits, at)));
	return p;
}

struct ptx_opnd inst_tried(struct inst_ctx *cx, struct ptx_stmt *s, unsigned i, bool is_bool)
{
	struct ptx_opnd p = is_bool ? inst_none() : by_other(cx, s, i);

	return p.kind == PTX_OPND_REG ? p : executed_again(cx, s, i, is_bool);
}

enum inst_trying inst_how_tried(const struct inst_ctx *cx, const struct ptx_stmt *s, unsigned i)
{
	enum ptx_type other =
		other_of(s, i) == OTHER_UNKNOWN ? PTX_TYPE_NONE : bits_of(cx, &s->ops[3 - i]);

	if (other != PTX_TYPE_NONE && other != PTX_TYPE_PRED)
		return INST_TRY_EXACTLY;
	return can_execute_again(cx, s, i) ? INST_TRY_AGAIN : INST_TRY_NOT;
}

struct ptx_opnd inst_differ(struct inst_ctx *cx, const struct ptx_opnd *a, const struct ptx_opnd *b,
			    enum inst_half half, struct ptx_stmt *at)
{
	enum ptx_type bits = bits_of(cx, a->kind == PTX_OPND_REG ? a : b);
	struct ptx_opnd p, x, y;

	if (bits == PTX_TYPE_NONE || (half != INST_WHOLE && bits != PTX_TYPE_B64) ||
	    (a->kind != PTX_OPND_REG && a->kind != PTX_OPND_INT) ||
	    (b->kind != PTX_OPND_REG && b->kind != PTX_OPND_INT))
		return inst_none();
	x = a->kind == PTX_OPND_REG ? as_bits(cx, *a, bits, at) : *a;
	y = b->kind == PTX_OPND_REG ? as_bits(cx, *b, bits, at) : *b;
	if (half == INST_WHOLE)
		return differ(cx, x, y, bits, at);
	p = inst_fresh(cx, PTX_TYPE_PRED);
	emit(cx, at, half == INST_LOW ? "tried_differ_low" : "tried_differ_high", NT, H(p, x, y));
	return p;
}

struct ptx_opnd inst_tried_guard(struct inst_ctx *cx, struct ptx_stmt *s, enum inst_half half)
{
	enum ptx_type to = s->nops ? bits_of(cx, &s->ops[0]) : PTX_TYPE_NONE;

	if (to == PTX_TYPE_NONE || s->ops[0].reg == s->pred || ptx_form_has(s->form, PTX_MOD_CC))
		return inst_none();
	struct ptx_opnd now = once_more(cx, s, 0, inst_none());
	return inst_differ(cx, &now, &s->ops[0], half, s);
}
