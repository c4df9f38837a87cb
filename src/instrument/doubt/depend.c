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

/* The mask of operand i where c is true; nothing: that isn't known. */
static struct ptx_opnd where_known(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				   struct ptx_stmt *s, unsigned i, struct ptx_opnd m,
				   struct ptx_opnd c)
{
	if (inst_is_mask(c))
		return inst_mask_where(cx, m, c, true, s);
	if (inst_is_mask(m))
		inst_lose(cx, p, s->ops[i].reg, m, s);
	return inst_none();
}

/* The mask of operand i where the result depends on it. */
static struct ptx_opnd tried(struct inst_ctx *cx, const struct inst_doubt_plan *p,
			     const struct flow_step *st, unsigned i)
{
	struct ptx_opnd m = operand_mask(cx, p, st->at, i);

	if (!inst_is_mask(m))
		return m;
	return where_known(cx, p, st->at, i, m,
			   inst_tried(cx, st->at, i, i <= 2 && st->is_bool[i - 1]));
}

/* The bits of operands i and k, where two ways of one value can meet. */
static struct ptx_opnd met(struct inst_ctx *cx, const struct inst_doubt_plan *p, struct ptx_stmt *s,
			   unsigned i, unsigned k)
{
	if (!inst_meeting(p, s, i, k))
		return inst_none();
	return inst_meet(cx, operand_mask(cx, p, s, i), operand_mask(cx, p, s, k), s);
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
	struct ptx_opnd m = inst_none(), x = met(cx, p, s, 1, 2), hidden = inst_none();

	for (unsigned i = 1; i <= 2; i++) {
		struct ptx_opnd own = operand_mask(cx, p, s, i), other = s->ops[3 - i];
		bool is_not = (other.flags & PTX_OPND_NOT) != 0;
		if (inst_is_mask(own) && !is_same(s) && other.kind == PTX_OPND_REG)
			own = inst_mask_where(cx, own, inst_reg(cx, other.reg), alone == is_not, s);
		m = inst_join_masks(cx, m, own, s);
	}
	if (is_same(s) || !inst_is_mask(x))
		return m;
	/* Where both leave the result open, it changes if either does. */
	for (unsigned i = 1; i <= 2; i++) {
		bool is_not = (s->ops[i].flags & PTX_OPND_NOT) != 0;
		hidden = inst_join_masks(
			cx, hidden,
			inst_mask_where(cx, x, inst_reg(cx, s->ops[i].reg), alone != is_not, s), s);
	}
	inst_lose_mask(cx, p, hidden, s);
	return inst_without(cx, m, hidden, s);
}

/* and, or, min, max: the mask of operand i where operand `other` leaves the result open. */
static struct ptx_opnd left_open(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st, unsigned other, struct ptx_opnd m)
{
	struct ptx_stmt *s = st->at;
	const struct ptx_opnd *o = &s->ops[other];
	bool is_bool = st->is_bool[other - 1], is_or = s->form->op == PTX_OP_OR;
	bool is_plain = (!is_bool && !st->is_test) || o->kind != PTX_OPND_REG;

	if (s->form->op == PTX_OP_MIN || s->form->op == PTX_OP_MAX)
		return is_plain ? m : where_known(cx, p, s, 3 - other, m, inst_none());
	if (o->kind != PTX_OPND_REG)
		return m; /* nvcc leaves no operand that decides alone */
	bool is_ones = is_or ? is_plain : st->is_test && !is_bool; /* compared with all ones */
	bool is_equal = is_or ? !is_plain : is_ones;
	struct ptx_opnd q = inst_compared(cx, o, is_ones ? -1 : 0, is_equal, s);
	return where_known(cx, p, s, 3 - other, m, q);
}

/* What two ways of one value may hide. Arithmetic on words is taken to depend on both: what a
 * compiler invents it discards by a condition. */
static struct ptx_opnd of_two_ways(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				   const struct flow_step *st, struct ptx_opnd x, struct ptx_opnd m)
{
	const bool is_condition = st->is_test || st->is_bool[0] || st->is_bool[1];

	if (!inst_is_mask(x))
		return m;
	if (!is_condition && inst_is_mask(m))
		x = inst_without(cx, x, m, st->at);
	inst_lose_mask(cx, p, x, st->at);
	return is_condition ? inst_without(cx, m, x, st->at) : m;
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
			own = left_open(cx, p, st, 3 - i, own);
		m = inst_join_masks(cx, m, own, st->at);
	}
	return is_same(st->at) ? m : of_two_ways(cx, p, st, met(cx, p, st->at, 1, 2), m);
}

static struct ptx_opnd of_tried(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				const struct flow_step *st)
{
	struct ptx_opnd m = inst_none(), x = inst_none();

	for (unsigned i = 1; i <= OPERANDS; i++) {
		m = inst_join_masks(cx, m, tried(cx, p, st, i), st->at);
		for (unsigned k = 1; k < i; k++)
			x = inst_join_masks(cx, x, met(cx, p, st->at, k, i), st->at);
	}
	return of_two_ways(cx, p, st, x, m);
}

static struct ptx_opnd of_select(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st)
{
	struct ptx_stmt *s = st->at;
	struct inst_choice c = {
		.a = operand_mask(cx, p, s, 1),
		.b = operand_mask(cx, p, s, 2),
		.by = inst_reg(cx, s->ops[3].reg),
		.sense = !(s->ops[3].flags & PTX_OPND_NOT),
		.pred = operand_mask(cx, p, s, 3),
		.differ = inst_none(),
		.meets = (inst_meeting(p, s, 1, 3) | inst_meeting(p, s, 2, 3)) != 0,
	};

	if (inst_is_mask(c.pred))
		c.differ = inst_tried(cx, s, 3, false);
	if (inst_is_mask(c.pred) && !inst_is_mask(c.differ))
		inst_lose(cx, p, s->ops[3].reg, c.pred, s);
	return inst_choice_mask(cx, p, &c, s);
}

/* setp.and with a third operand. */
static struct ptx_opnd of_joined(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st)
{
	struct ptx_stmt *s = st->at;
	bool is_or = ptx_form_has(s->form, PTX_MOD_OR);
	bool is_not = (s->ops[3].flags & PTX_OPND_NOT) != 0;
	struct ptx_opnd m, third, x, by, open;

	if (s->ops[3].kind != PTX_OPND_REG) {
		inst_lose_reads(cx, p, s);
		return inst_none();
	}
	by = inst_reg(cx, s->ops[3].reg);
	x = inst_join_masks(cx, met(cx, p, s, 1, 3), met(cx, p, s, 2, 3), s);
	open = inst_is_mask(operand_mask(cx, p, s, 3)) ? inst_tried(cx, s, 3, false) : inst_none();
	third = where_known(cx, p, s, 3, operand_mask(cx, p, s, 3), open);
	m = inst_join_masks(cx, operand_mask(cx, p, s, 1), operand_mask(cx, p, s, 2), s);
	m = inst_join_masks(cx, inst_mask_where(cx, m, by, is_or == is_not, s), third, s);
	if (!inst_is_mask(x))
		return m;
	/* Where both leave the result open, it changes if either does. */
	if (inst_is_mask(open))
		x = inst_join_masks(cx, inst_mask_where(cx, x, by, is_or != is_not, s),
				    inst_mask_where(cx, x, open, false, s), s);
	inst_lose_mask(cx, p, x, s);
	return inst_without(cx, m, x, s);
}

/* ---- guards ------------------------------------------------------------------------------ */

/* Of a statement with a guard: m where it is true, else `old`. */
static struct inst_choice guarded(const struct inst_ctx *cx, const struct inst_doubt_plan *p,
				  const struct ptx_stmt *s, struct ptx_opnd m, struct ptx_opnd old)
{
	return (struct inst_choice){
		.a = m,
		.b = old,
		.by = inst_reg(cx, s->pred),
		.sense = !s->is_pred_not,
		.pred = inst_none(),
		.differ = inst_none(),
		.meets = inst_meeting_guard(p, s) != 0,
	};
}

struct olds {
	struct inst_ctx *cx;
	const struct inst_doubt_plan *p;
	struct ptx_stmt *s;
	struct ptx_opnd m;
};

static void old_mask(uint32_t reg, bool is_write, void *arg)
{
	struct olds *o = arg;
	uint32_t i = reg < o->p->nindex ? o->p->trace->index[reg] : UINT32_MAX;

	if (!is_write || i == UINT32_MAX)
		return;
	o->m = inst_join_masks(o->cx, o->m, inst_mask_of(o->cx, o->p, reg), o->s);
	if (o->p->high[i] != PTX_NO_REG)
		o->m = inst_join_masks(o->cx, o->m, inst_reg(o->cx, o->p->high[i]), o->s);
}

/* ======================================================================== */

struct ptx_opnd inst_result_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st)
{
	struct ptx_stmt *s = st->at;

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
		return of_tried(cx, p, st);
	case FLOW_RULE_SIGN:
	case FLOW_RULE_NEVER:
		break;
	}
	inst_lose_reads(cx, p, s);
	return inst_none();
}

struct inst_guarded inst_guard_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				    const struct flow_step *st, enum inst_half half)
{
	struct ptx_stmt *s = st->at;
	struct inst_guarded g = {inst_none(), inst_none()};
	struct ptx_opnd m = s->pred == PTX_NO_REG ? inst_none() : inst_mask_of(cx, p, s->pred);

	if (!inst_is_mask(m))
		return g;
	g.m = inst_fresh(cx, PTX_TYPE_B32); /* the statement may write its guard */
	inst_doubt_emit(cx, s, "set_mask", NT, H(g.m, m));
	/* It leaves another value than what the register holds. */
	g.differ = inst_tried_guard(cx, s, half);
	if (!inst_is_mask(g.differ))
		inst_lose(cx, p, s->pred, m, s);
	return g;
}

void inst_write_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p, struct ptx_stmt *s,
		     struct ptx_opnd to, struct ptx_opnd m, const struct inst_guarded *g)
{
	if (s->pred != PTX_NO_REG) {
		struct inst_choice c = guarded(cx, p, s, m, to);
		if (g) {
			c.pred = g->m;
			c.differ = g->differ;
		}
		m = inst_choice_mask(cx, p, &c, s);
	}
	if (inst_is_mask(m))
		inst_doubt_emit(cx, s, "set_mask", NT, H(to, m));
	else
		inst_doubt_emit(cx, s, "zero_mask", NT, H(to));
}

struct ptx_opnd inst_last_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
			       struct ptx_stmt *s, struct ptx_opnd m, const struct inst_guarded *g)
{
	struct olds old = {cx, p, s, inst_none()};
	struct inst_choice c;

	if (s->pred == PTX_NO_REG)
		return m;
	if (inst_is_mask(g->m))
		ptx_each_reg(s, old_mask, &old);
	c = guarded(cx, p, s, m, old.m);
	c.pred = g->m;
	c.differ = g->differ;
	c.only_a = true;
	return inst_choice_mask(cx, p, &c, s);
}
