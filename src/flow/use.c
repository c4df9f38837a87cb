/*
 * use.c - how a statement uses a register: really, for its result, or under a condition.
 *
 * Operands that are taken under a condition: the data of selp and slct, both sides of and/or of
 * predicates (`a && *p` becomes and.pred), and/or/min/max whose result is only compared with
 * constants (`!a && !b` becomes !(a | b)), setp.and, instructions under a guard (unless the load
 * has the same guard), and what the value of another operand may mask: `c ? v : 0` may become
 * v & -c, v * c or a shift. Of the latter an engine sees in each execution whether it does
 * (flow_tried_operand).
 *
 * Misses: other arithmetic that ignores an operand (x - x, a float times 0).
 */
#include "flow/priv.h"

/* Is the register an element of the operand? */
bool flow_mentions(const struct ptx_opnd *o, uint32_t reg)
{
	if (o->kind == PTX_OPND_REG)
		return o->reg == reg;
	if (o->kind != PTX_OPND_ADDR && o->kind != PTX_OPND_VEC && o->kind != PTX_OPND_LIST &&
	    o->kind != PTX_OPND_PAIR)
		return false;
	for (unsigned i = 0; i < o->nsub; i++)
		if (flow_mentions(&o->sub[i], reg))
			return true;
	return false;
}

/* Does some operand in [from, to) mention the register? */
static bool mentioned_in(const struct ptx_stmt *s, unsigned from, unsigned to, uint32_t reg)
{
	for (unsigned i = from; i < to && i < s->nops; i++)
		if (flow_mentions(&s->ops[i], reg))
			return true;
	return false;
}

/* Is operand i an immediate; is it that one? */
static bool is_int(const struct ptx_stmt *s, unsigned i)
{
	return i < s->nops && s->ops[i].kind == PTX_OPND_INT;
}

static bool is_value(const struct ptx_stmt *s, unsigned i, int64_t value)
{
	return is_int(s, i) && s->ops[i].imm == value;
}

/* A register that holds 0 or 1 (or 0 or -1): a predicate, or one made into a number. */
static bool is_boolean(struct flow *fl, const struct ptx_opnd *o)
{
	for (int steps = 0; o->kind == PTX_OPND_REG && steps < 6; steps++) {
		if (o->reg < fl->f->nregs && fl->f->reg_type[o->reg] == PTX_TYPE_PRED)
			return true;
		const struct ptx_stmt *d = flow_single_def(fl, o->reg);
		if (!d || !flow_is_pure(d) || d->nops < 2)
			return false;
		int64_t bits = 8 * (int64_t)ptx_type_bytes((enum ptx_type)d->form->types[0]);
		o = &d->ops[1];
		switch (d->form->op) {
		case PTX_OP_SET:
			return true;
		case PTX_OP_SELP:
			return is_int(d, 1) && is_int(d, 2);
		case PTX_OP_SHR: /* the highest bit, spread: (c << 30) >> 31 is -(c & 2) / 2 */
			return is_value(d, 2, bits - 1);
		case PTX_OP_BFE:
			return is_value(d, 3, 1);
		case PTX_OP_AND:
			if (is_value(d, 2, 1))
				return true;
			break;
		case PTX_OP_SUB: /* 0 - b */
			if (d->nops < 3)
				return false;
			o = is_int(d, 1) ? &d->ops[2] : &d->ops[1];
			break;
		case PTX_OP_ADD:
		case PTX_OP_XOR:
			if (!is_int(d, 2))
				return false;
			break;
		case PTX_OP_MOV:
		case PTX_OP_CVT:
		case PTX_OP_NEG:
		case PTX_OP_NOT:
			break;
		default:
			return false;
		}
	}
	return false;
}

/*
 * Is the result only compared with constants? `a == 0 && b == 0` is compiled to (a | b) == 0,
 * `a < 0 || b < 0` to (a | b) < 0, `(a & 1) && (b & 1)` to (a & b) & 1, and so on: there one
 * operand can decide without the other.
 */
static bool feeds_only_tests(struct flow *fl, const struct ptx_stmt *u, int depth)
{
	uint32_t n;
	if (depth > 4 || !u->nops || u->ops[0].kind != PTX_OPND_REG ||
	    !flow_single_def(fl, u->ops[0].reg))
		return false;
	struct ptx_stmt *const *uses = flow_uses(fl, u->ops[0].reg, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_stmt *v = uses[i];
		bool is_test = v->form->op == PTX_OP_SETP && is_int(v, 2);
		bool is_link = v->form->op == PTX_OP_AND || v->form->op == PTX_OP_OR ||
			       v->form->op == PTX_OP_XOR || v->form->op == PTX_OP_CVT;
		if (!is_test && !(is_link && feeds_only_tests(fl, v, depth + 1)))
			return false;
	}
	return n > 0;
}

bool flow_is_boolean(struct flow *fl, const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_REG && is_boolean(fl, o);
}

/* An operand 1 << n: a bit that the program tests, not a condition by itself. */
static bool has_bit(struct flow *fl, const struct ptx_stmt *u)
{
	for (unsigned i = 1; i <= 2 && u->nops > 2; i++) {
		const struct ptx_opnd *o = &u->ops[i];
		const struct ptx_stmt *d =
			o->kind == PTX_OPND_REG ? flow_single_def(fl, o->reg) : NULL;
		if (d && d->form->op == PTX_OP_SHL && is_int(d, 1))
			return true;
	}
	return false;
}

bool flow_feeds_tests(struct flow *fl, const struct ptx_stmt *u)
{
	return feeds_only_tests(fl, u, 0) && !(u->form->op == PTX_OP_AND && has_bit(fl, u));
}

/* min, max: a condition decides alone, or has no effect; also if the result is only compared with
 * constants. */
static bool may_be_outdone(struct flow *fl, const struct ptx_stmt *u, uint32_t reg)
{
	for (unsigned i = 1; i <= 2 && u->nops > 2; i++) {
		const struct ptx_opnd *other = &u->ops[3 - i];
		if (!flow_mentions(&u->ops[i], reg) || other->kind != PTX_OPND_REG ||
		    other->reg == reg)
			continue;
		if (is_boolean(fl, other) || is_boolean(fl, &u->ops[i]) ||
		    feeds_only_tests(fl, u, 0))
			return true;
	}
	return false;
}

/* Can the value of some operand discard another one's? A select discards its predicate if it has
 * equal operands. */
static bool is_masking(const struct ptx_stmt *u)
{
	switch (u->form->op) {
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_LOP3:
	case PTX_OP_PRMT:
	case PTX_OP_SHL:
	case PTX_OP_SHR:
	case PTX_OP_SHF:
	case PTX_OP_BFE:
	case PTX_OP_BFI:
	case PTX_OP_BMSK:
	case PTX_OP_SZEXT:
	case PTX_OP_MUL:
	case PTX_OP_MUL24:
	case PTX_OP_MAD:
	case PTX_OP_MAD24:
	case PTX_OP_DP2A:
	case PTX_OP_DP4A:
	case PTX_OP_DIV:
	case PTX_OP_REM:
		return ptx_type_class((enum ptx_type)u->form->types[0]) != PTX_CLASS_FLOAT;
	default:
		return false;
	}
}

/* The operands that may mask one another: what is added to a product is in the sum. */
static unsigned masking_end(const struct ptx_stmt *u)
{
	bool is_sum = u->form->op == PTX_OP_MAD || u->form->op == PTX_OP_MAD24 ||
		      u->form->op == PTX_OP_DP2A || u->form->op == PTX_OP_DP4A;

	return is_sum && u->nops > 3 ? 3 : u->nops;
}

/* May the value of another operand, a register, discard this one's? */
static bool may_be_masked(const struct ptx_stmt *u, uint32_t reg)
{
	unsigned n = masking_end(u);

	if (!is_masking(u) || !mentioned_in(u, 1, n, reg))
		return false;
	for (unsigned i = 1; i < n; i++)
		if (u->ops[i].kind == PTX_OPND_REG && u->ops[i].reg != reg)
			return true;
	return false;
}

/* Does the predicate of a select matter whatever else the registers hold? */
static bool takes_either(const struct ptx_stmt *u)
{
	return is_int(u, 1) && is_int(u, 2) && u->ops[1].imm != u->ops[2].imm;
}

/* How a pure instruction uses reg, regardless of its guard. */
static enum flow_use pure_use(struct flow *fl, const struct ptx_stmt *u, uint32_t reg)
{
	if (may_be_masked(u, reg))
		return FLOW_USE_MAYBE;
	switch (u->form->op) {
	case PTX_OP_SELP:
		return mentioned_in(u, 1, 3, reg) || !takes_either(u) ? FLOW_USE_MAYBE
								      : FLOW_USE_PURE;
	case PTX_OP_SLCT:
		return FLOW_USE_MAYBE;
	case PTX_OP_SETP:
	case PTX_OP_SET:
		return u->nops > 3 ? FLOW_USE_MAYBE : FLOW_USE_PURE; /* .and/.or/.xor with c */
	case PTX_OP_MIN:
	case PTX_OP_MAX:
		return may_be_outdone(fl, u, reg) ? FLOW_USE_MAYBE : FLOW_USE_PURE;
	default:
		return FLOW_USE_PURE;
	}
}

enum flow_use flow_use_kind(struct flow *fl, const struct ptx_stmt *u, uint32_t reg, uint32_t pred,
			    bool is_not)
{
	uint32_t eff = u->form->effects;
	bool is_guard = u->pred == reg;
	bool holds = u->pred == PTX_NO_REG || (u->pred == pred && u->is_pred_not == is_not);

	if (u->form->op == PTX_OP_UNKNOWN || (eff & PTX_EFF_UNKNOWN))
		return FLOW_USE_MAYBE;
	if (eff & PTX_EFF_PREFETCH)
		return FLOW_USE_NONE;
	/* Perhaps the register holds already what the statement would write. */
	if (is_guard && !eff)
		return FLOW_USE_MAYBE;
	if (is_guard)
		return FLOW_USE_REAL; /* it decides whether this happens */
	if (!holds)
		return FLOW_USE_MAYBE;
	return eff ? FLOW_USE_REAL : pure_use(fl, u, reg);
}
