/*
 * depend.c - code that finds out on which operands the result of a pure statement depends.
 *
 * By the rules of flow/trace.c, as the oracle's judge follows them (cpu/events/depends.c): what
 * depends is what would change. A selp takes the mask of the operand that it takes, an and.pred one
 * side's where the other is true. Where an operand may mask another (lop3, prmt, shifts, integer
 * products, bit fields) the statement is executed again with the operand inverted, and with one bit
 * changed in it; if a result differs, it depends on it. Two halves that are moved into one register
 * leave what is in both, as which of them is taken later isn't known.
 *
 * Misses: slct, minimum and maximum between conditions, packed halves of two loads.
 * Costs: one instruction for most statements, some ten where an operand may mask another.
 */
#include "instrument/doubt/doubt.h"

#define OPERANDS 3u /* with a rule of their own */

struct ptx_opnd inst_mask_of(const struct inst_ctx *cx, const struct inst_doubt_plan *p,
			     uint32_t reg)
{
	uint32_t i = reg < p->nindex ? p->trace->index[reg] : UINT32_MAX;

	return i == UINT32_MAX ? inst_none() : inst_reg(cx, p->mask[i]);
}

bool inst_is_mask(struct ptx_opnd m)
{
	return m.kind == PTX_OPND_REG;
}

struct ptx_opnd inst_join_masks(struct inst_ctx *cx, struct ptx_opnd a, struct ptx_opnd b,
				struct ptx_stmt *at)
{
	if (!inst_is_mask(a) || !inst_is_mask(b) || a.reg == b.reg)
		return inst_is_mask(a) ? a : b;
	struct ptx_opnd m = inst_fresh(cx, PTX_TYPE_B32);
	inst_doubt_emit(cx, at, "join_masks", NT, H(m, a, b));
	return m;
}

struct ptx_opnd inst_mask_where(struct inst_ctx *cx, struct ptx_opnd m, struct ptx_opnd p,
				bool sense, struct ptx_stmt *at)
{
	struct ptx_opnd to;

	if (!inst_is_mask(m))
		return m;
	to = inst_fresh(cx, PTX_TYPE_B32);
	inst_doubt_emit(cx, at, sense ? "mask_if" : "mask_unless", NT, H(to, m, p));
	return to;
}

static struct ptx_opnd operand_mask(const struct inst_ctx *cx, const struct inst_doubt_plan *p,
				    const struct ptx_stmt *s, unsigned i)
{
	if (i >= s->nops || s->ops[i].kind != PTX_OPND_REG)
		return inst_none();
	return inst_mask_of(cx, p, s->ops[i].reg);
}

/* ---- does the result change? ------------------------------------------------------------- */

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
		inst_doubt_emit(cx, at, "differ_pred", NT, H(p, a, b));
	else
		inst_doubt_emit(cx, at, "differ", T(inst_type_of(bits)), H(p, a, b));
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
	inst_doubt_emit(cx, at, "copy_bits", T(inst_type_of(bits)), H(to, v));
	return to;
}

/* Does the result change when operand i does? A predicate, or nothing: not known. */
static struct ptx_opnd changes(struct inst_ctx *cx, struct ptx_stmt *s, unsigned i)
{
	enum ptx_type from = bits_of(cx, &s->ops[i]), to = bits_of(cx, &s->ops[0]);
	static const char *const ways[] = {"inverted", "disturbed"};
	struct ptx_opnd first, any = inst_none();

	if (from == PTX_TYPE_NONE || to == PTX_TYPE_NONE || ptx_form_has(s->form, PTX_MOD_CC) ||
	    s->ops[i].flags)
		return any;
	first = as_bits(cx, once_more(cx, s, 0, inst_none()), to, s);
	for (unsigned way = 0; way < (from == PTX_TYPE_PRED ? 1u : 2u); way++) {
		struct ptx_opnd other =
			inst_fresh(cx, (enum ptx_type)cx->f->reg_type[s->ops[i].reg]);
		inst_doubt_emit(cx, s, ways[way], T(inst_type_of(from)), H(other, s->ops[i]));
		struct ptx_opnd then = as_bits(cx, once_more(cx, s, i, other), to, s);
		struct ptx_opnd p = differ(cx, first, then, to, s);
		if (inst_is_mask(any))
			inst_doubt_emit(cx, s, "either", NT, H(any, any, p));
		else
			any = p;
	}
	return any;
}

/* The mask of operand i where the result depends on it. */
static struct ptx_opnd tried(struct inst_ctx *cx, const struct inst_doubt_plan *p,
			     struct ptx_stmt *s, unsigned i)
{
	struct ptx_opnd m = operand_mask(cx, p, s, i);
	struct ptx_opnd c = inst_is_mask(m) ? changes(cx, s, i) : inst_none();

	return inst_is_mask(c) ? inst_mask_where(cx, m, c, true, s) : inst_none();
}

/* ---- rules ------------------------------------------------------------------------------- */

struct all_reads {
	struct inst_ctx *cx;
	const struct inst_doubt_plan *p;
	struct ptx_stmt *at;
	struct ptx_opnd m;
};

static void add_read(uint32_t reg, bool is_write, void *arg)
{
	struct all_reads *a = arg;

	if (!is_write && reg != a->at->pred)
		a->m = inst_join_masks(a->cx, a->m, inst_mask_of(a->cx, a->p, reg), a->at);
}

static struct ptx_opnd any_operand(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				   struct ptx_stmt *s)
{
	struct all_reads a = {cx, p, s, inst_none()};

	ptx_each_reg(s, add_read, &a);
	return a.m;
}

static bool is_same(const struct ptx_stmt *s)
{
	return s->ops[1].kind == PTX_OPND_REG && s->ops[2].kind == PTX_OPND_REG &&
	       s->ops[1].reg == s->ops[2].reg;
}

/* Of two predicates, one decides alone where it is `alone`. */
static struct ptx_opnd of_predicates(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				     struct ptx_stmt *s, bool alone)
{
	struct ptx_opnd m = inst_none();

	for (unsigned i = 1; i <= 2; i++) {
		struct ptx_opnd own = operand_mask(cx, p, s, i), other = s->ops[3 - i];
		bool is_not = (other.flags & PTX_OPND_NOT) != 0;
		if (inst_is_mask(own) && !is_same(s) && other.kind == PTX_OPND_REG)
			own = inst_mask_where(cx, own, inst_reg(cx, other.reg), alone == is_not, s);
		m = inst_join_masks(cx, m, own, s);
	}
	return m;
}

/* and, or, min, max: the mask of operand i where operand `other` leaves the result open. */
static struct ptx_opnd left_open(struct inst_ctx *cx, const struct flow_step *st, unsigned other,
				 struct ptx_opnd m)
{
	struct ptx_stmt *s = st->at;
	const struct ptx_opnd *o = &s->ops[other];
	bool is_bool = st->is_bool[other - 1], is_or = s->form->op == PTX_OP_OR;
	bool is_plain = (!is_bool && !st->is_test) || o->kind != PTX_OPND_REG;
	enum ptx_type bits = bits_of(cx, o);

	if (s->form->op == PTX_OP_MIN || s->form->op == PTX_OP_MAX)
		return is_plain ? m : inst_none();
	if (o->kind != PTX_OPND_REG)
		return m; /* nvcc leaves no operand that decides alone */
	if (bits == PTX_TYPE_NONE || bits == PTX_TYPE_PRED)
		return inst_none();
	bool is_ones = is_or ? is_plain : st->is_test && !is_bool; /* compared with all ones */
	bool is_equal = is_or ? !is_plain : is_ones;
	struct ptx_opnd q = inst_fresh(cx, PTX_TYPE_PRED);
	inst_doubt_emit(cx, s, is_equal ? "is_equal" : "is_not",
			T(inst_type_of(bits), inst_num(is_ones ? -1 : 0)),
			H(q, as_bits(cx, *o, bits, s)));
	return inst_mask_where(cx, m, q, true, s);
}

static struct ptx_opnd of_words(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				const struct flow_step *st)
{
	struct ptx_opnd m = inst_none();

	for (unsigned i = 1; i <= 2; i++) {
		struct ptx_opnd own = operand_mask(cx, p, st->at, i);
		if (inst_is_mask(own) && !is_same(st->at))
			own = left_open(cx, st, 3 - i, own);
		m = inst_join_masks(cx, m, own, st->at);
	}
	return m;
}

static struct ptx_opnd of_select(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 struct ptx_stmt *s)
{
	bool is_not = (s->ops[3].flags & PTX_OPND_NOT) != 0;
	struct ptx_opnd by = inst_reg(cx, s->ops[3].reg), m;

	m = inst_mask_where(cx, operand_mask(cx, p, s, 1), by, !is_not, s);
	m = inst_join_masks(cx, m, inst_mask_where(cx, operand_mask(cx, p, s, 2), by, is_not, s),
			    s);
	return inst_join_masks(cx, m, tried(cx, p, s, 3), s);
}

/* setp.and with a third operand. */
static struct ptx_opnd of_joined(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 struct ptx_stmt *s)
{
	bool is_or = ptx_form_has(s->form, PTX_MOD_OR);
	bool is_not = (s->ops[3].flags & PTX_OPND_NOT) != 0;
	struct ptx_opnd m;

	if (s->ops[3].kind != PTX_OPND_REG)
		return inst_none();
	m = inst_join_masks(cx, operand_mask(cx, p, s, 1), operand_mask(cx, p, s, 2), s);
	m = inst_mask_where(cx, m, inst_reg(cx, s->ops[3].reg), is_or == is_not, s);
	return inst_join_masks(cx, m, tried(cx, p, s, 3), s);
}

static bool is_packing(const struct ptx_stmt *s)
{
	return s->form->op == PTX_OP_MOV && s->nops == 2 && s->ops[1].kind == PTX_OPND_VEC;
}

/* What all halves have. */
static struct ptx_opnd of_halves(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 struct ptx_stmt *s)
{
	struct ptx_opnd m = inst_none();

	for (unsigned i = 0; i < s->ops[1].nsub; i++) {
		const struct ptx_opnd *o = &s->ops[1].sub[i];
		struct ptx_opnd own =
			o->kind == PTX_OPND_REG ? inst_mask_of(cx, p, o->reg) : inst_none();
		if (!inst_is_mask(own))
			return own;
		if (i) {
			struct ptx_opnd both = inst_fresh(cx, PTX_TYPE_B32);
			inst_doubt_emit(cx, s, "meet_masks", NT, H(both, m, own));
			own = both;
		}
		m = own;
	}
	return m;
}

/* ======================================================================== */

struct ptx_opnd inst_result_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st)
{
	struct ptx_stmt *s = st->at;
	struct ptx_opnd m = inst_none();

	if (is_packing(s))
		return of_halves(cx, p, s);
	switch (st->rule) {
	case FLOW_RULE_ANY:
		return any_operand(cx, p, s);
	case FLOW_RULE_SELECT:
		return of_select(cx, p, s);
	case FLOW_RULE_AND:
		return of_predicates(cx, p, s, false);
	case FLOW_RULE_OR:
		return of_predicates(cx, p, s, true);
	case FLOW_RULE_BITS:
		return of_words(cx, p, st);
	case FLOW_RULE_JOIN:
		return of_joined(cx, p, s);
	case FLOW_RULE_TRY:
		for (unsigned i = 1; i <= OPERANDS; i++)
			m = inst_join_masks(cx, m, tried(cx, p, s, i), s);
		return m;
	case FLOW_RULE_SIGN:
	case FLOW_RULE_NEVER:
		break;
	}
	return m;
}

struct ptx_opnd inst_guard_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				const struct flow_step *st)
{
	struct ptx_stmt *s = st->at;
	struct ptx_opnd m = s->pred == PTX_NO_REG ? inst_none() : inst_mask_of(cx, p, s->pred);
	enum ptx_type to = s->nops ? bits_of(cx, &s->ops[0]) : PTX_TYPE_NONE;

	/* It leaves another value than what the register holds. */
	if (!inst_is_mask(m) || to == PTX_TYPE_NONE || s->ops[0].reg == s->pred ||
	    ptx_form_has(s->form, PTX_MOD_CC))
		return inst_none();
	struct ptx_opnd now = as_bits(cx, once_more(cx, s, 0, inst_none()), to, s);
	struct ptx_opnd was = as_bits(cx, s->ops[0], to, s);
	return inst_mask_where(cx, m, differ(cx, now, was, to, s), true, s);
}
