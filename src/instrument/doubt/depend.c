/*
 * depend.c - code that finds out on which operands the result of a pure statement depends.
 *
 * By the rules of flow/trace.c, as the oracle's judge follows them (cpu/events/depends.c): what
 * depends is what would change. A selp takes the mask of the operand that it takes, an and.pred one
 * side's where the other is true. Where an operand may mask another (lop3, prmt, shifts, integer
 * products, bit fields) tried.c sees whether it does. Registers whose
 * halves go ways of their own have two masks (halves.c).
 *
 * Misses: slct, minimum and maximum of two conditions.
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
	if (i >= s->nops || s->ops[i].kind != PTX_OPND_REG ||
	    !flow_taken_bytes(cx->fl, s, s->ops[i].reg))
		return inst_none();
	return inst_mask_of(cx, p, s->ops[i].reg);
}

/* The mask of operand i where the result depends on it. */
static struct ptx_opnd tried(struct inst_ctx *cx, const struct inst_doubt_plan *p,
			     const struct flow_step *st, unsigned i)
{
	struct ptx_stmt *s = st->at;
	struct ptx_opnd m = operand_mask(cx, p, s, i), c = inst_none();

	if (inst_is_mask(m))
		c = inst_tried(cx, s, i, i <= 2 && st->is_bool[i - 1]);
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

	if (!is_write && reg != a->at->pred && flow_taken_bytes(a->cx->fl, a->at, reg))
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

	if (s->form->op == PTX_OP_MIN || s->form->op == PTX_OP_MAX)
		return is_plain ? m : inst_none();
	if (o->kind != PTX_OPND_REG)
		return m; /* nvcc leaves no operand that decides alone */
	bool is_ones = is_or ? is_plain : st->is_test && !is_bool; /* compared with all ones */
	bool is_equal = is_or ? !is_plain : is_ones;
	struct ptx_opnd q = inst_compared(cx, o, is_ones ? -1 : 0, is_equal, s);
	return inst_is_mask(q) ? inst_mask_where(cx, m, q, true, s) : inst_none();
}

/* Is operand i a condition and the other one a word that is none? */
static bool is_condition_of_word(const struct flow_step *st, unsigned i)
{
	return st->is_bool[i - 1] && !st->is_bool[2 - i] && !st->is_test &&
	       st->at->ops[3 - i].kind == PTX_OPND_REG;
}

static struct ptx_opnd of_words(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				const struct flow_step *st)
{
	struct ptx_opnd m = inst_none();

	for (unsigned i = 1; i <= 2; i++) {
		struct ptx_opnd own = operand_mask(cx, p, st->at, i);
		if (inst_is_mask(own) && is_condition_of_word(st, i))
			own = tried(cx, p, st, i);
		else if (inst_is_mask(own) && !is_same(st->at))
			own = left_open(cx, st, 3 - i, own);
		m = inst_join_masks(cx, m, own, st->at);
	}
	return m;
}

static struct ptx_opnd of_select(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st)
{
	struct ptx_stmt *s = st->at;
	bool is_not = (s->ops[3].flags & PTX_OPND_NOT) != 0;
	struct ptx_opnd by = inst_reg(cx, s->ops[3].reg), m;

	m = inst_mask_where(cx, operand_mask(cx, p, s, 1), by, !is_not, s);
	m = inst_join_masks(cx, m, inst_mask_where(cx, operand_mask(cx, p, s, 2), by, is_not, s),
			    s);
	return inst_join_masks(cx, m, tried(cx, p, st, 3), s);
}

/* setp.and with a third operand. */
static struct ptx_opnd of_joined(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st)
{
	struct ptx_stmt *s = st->at;
	bool is_or = ptx_form_has(s->form, PTX_MOD_OR);
	bool is_not = (s->ops[3].flags & PTX_OPND_NOT) != 0;
	struct ptx_opnd m;

	if (s->ops[3].kind != PTX_OPND_REG)
		return inst_none();
	m = inst_join_masks(cx, operand_mask(cx, p, s, 1), operand_mask(cx, p, s, 2), s);
	m = inst_mask_where(cx, m, inst_reg(cx, s->ops[3].reg), is_or == is_not, s);
	return inst_join_masks(cx, m, tried(cx, p, st, 3), s);
}

/* ======================================================================== */

struct ptx_opnd inst_result_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st)
{
	struct ptx_stmt *s = st->at;
	struct ptx_opnd m = inst_none();

	switch (st->rule) {
	case FLOW_RULE_ANY:
		return any_operand(cx, p, s);
	case FLOW_RULE_SELECT:
		return of_select(cx, p, st);
	case FLOW_RULE_AND:
		return of_predicates(cx, p, s, false);
	case FLOW_RULE_OR:
		return of_predicates(cx, p, s, true);
	case FLOW_RULE_BITS:
		return of_words(cx, p, st);
	case FLOW_RULE_JOIN:
		return of_joined(cx, p, st);
	case FLOW_RULE_TRY:
		for (unsigned i = 1; i <= OPERANDS; i++)
			m = inst_join_masks(cx, m, tried(cx, p, st, i), s);
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
	struct ptx_opnd changes;

	/* It leaves another value than what the register holds. */
	if (!inst_is_mask(m))
		return m;
	changes = inst_tried_guard(cx, s);
	return inst_is_mask(changes) ? inst_mask_where(cx, m, changes, true, s) : inst_none();
}
