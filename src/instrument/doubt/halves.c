/*
 * halves.c - masks of registers whose halves go ways of their own (flow/bytes.c).
 *
 * A compiler may have joined the reading of two words into one of 8 bytes. A register that holds
 * such a value, and is taken apart later, has a mask for each half; so has what is moved, selected
 * or put together between. Which half a result depends on is flow_bytes_for's answer.
 *
 * Misses: where another register may mask the value, nothing is handed on, and it may be lost
 * (cancel.c).
 * Costs: a register and an instruction more where such a value is moved.
 */
#include "instrument/doubt/doubt.h"

#define LOW_HALF  0x0fu
#define HIGH_HALF 0xf0u

static bool is_halved(const struct inst_doubt_plan *p, uint32_t reg)
{
	return reg < p->nindex && p->trace->index[reg] != UINT32_MAX &&
	       p->high[p->trace->index[reg]] != PTX_NO_REG;
}

struct asking {
	const struct inst_doubt_plan *p;
	bool is_any;
};

static void ask_register(uint32_t reg, bool is_write, void *arg)
{
	struct asking *a = arg;

	(void)is_write;
	a->is_any |= is_halved(a->p, reg);
}

bool inst_has_halves(struct inst_ctx *cx, const struct inst_doubt_plan *p, const struct ptx_stmt *s)
{
	struct asking a = {p, false};

	(void)cx;
	ptx_each_reg(s, ask_register, &a);
	return a.is_any;
}

/* The masks of what these bytes of the register hold. */
static struct ptx_opnd mask_of_bytes(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				     uint32_t reg, uint32_t bytes, struct ptx_stmt *at)
{
	struct ptx_opnd m = inst_mask_of(cx, p, reg), high;

	if (!bytes || !is_halved(p, reg))
		return bytes ? m : inst_none();
	high = inst_reg(cx, p->high[p->trace->index[reg]]);
	if (!(bytes & HIGH_HALF))
		return m;
	return bytes & LOW_HALF ? inst_join_masks(cx, m, high, at) : high;
}

/* Is `reg` all that the pure statement takes from registers, so that nothing masks it? */
static bool is_alone(const struct ptx_stmt *s, uint32_t reg)
{
	for (unsigned i = 1; i < s->nops; i++)
		if (s->ops[i].kind != PTX_OPND_INT &&
		    (s->ops[i].kind != PTX_OPND_REG || s->ops[i].reg != reg))
			return false;
	return true;
}

static bool is_handed_on(const struct flow_step *st, uint32_t reg)
{
	switch (st->rule) {
	case FLOW_RULE_ANY:
		return true;
	case FLOW_RULE_TRY:
	case FLOW_RULE_BITS:
		return is_alone(st->at, reg);
	default:
		return false;
	}
}

struct gathering {
	struct inst_ctx *cx;
	const struct inst_doubt_plan *p;
	const struct flow_step *st;
	uint32_t to, bytes;
	struct ptx_opnd m;
};

static uint32_t wanted(const struct gathering *g, uint32_t reg)
{
	return g->to == PTX_NO_REG ? flow_taken_bytes(g->cx->fl, g->st->at, reg)
				   : flow_bytes_for(g->cx->fl, g->st->at, reg, g->to, g->bytes);
}

static void gather(uint32_t reg, bool is_write, void *arg)
{
	struct gathering *g = arg;
	struct ptx_stmt *s = g->st->at;

	if (is_write || reg == s->pred)
		return;
	struct ptx_opnd m = mask_of_bytes(g->cx, g->p, reg, wanted(g, reg), s);
	if (g->st->is_pure && !is_handed_on(g->st, reg))
		inst_lose(g->cx, g->p, reg, m, s);
	else
		g->m = inst_join_masks(g->cx, g->m, m, s);
}

static enum inst_half half_of(uint32_t bytes)
{
	if (!bytes || (bytes & LOW_HALF && bytes & HIGH_HALF))
		return INST_WHOLE;
	return bytes & LOW_HALF ? INST_LOW : INST_HIGH;
}

static struct ptx_opnd of_select(struct gathering *g)
{
	struct ptx_stmt *s = g->st->at;
	struct ptx_opnd m[2] = {inst_none(), inst_none()};
	struct inst_choice c = {.differ = inst_none()};

	if (s->ops[3].kind != PTX_OPND_REG) {
		inst_lose_reads(g->cx, g->p, s);
		return inst_none();
	}
	for (unsigned i = 0; i < 2; i++)
		if (s->ops[i + 1].kind == PTX_OPND_REG)
			m[i] = mask_of_bytes(g->cx, g->p, s->ops[i + 1].reg,
					     wanted(g, s->ops[i + 1].reg), s);
	c.a = m[0];
	c.b = m[1];
	c.by = inst_reg(g->cx, s->ops[3].reg);
	c.sense = !(s->ops[3].flags & PTX_OPND_NOT);
	c.pred = inst_mask_of(g->cx, g->p, s->ops[3].reg);
	c.meets = (inst_meeting(g->p, s, 1, 3) | inst_meeting(g->p, s, 2, 3)) != 0;
	if (inst_is_mask(c.pred))
		c.differ = inst_differ(g->cx, &s->ops[1], &s->ops[2], half_of(g->bytes), s);
	if (inst_is_mask(c.pred) && !inst_is_mask(c.differ))
		inst_lose(g->cx, g->p, s->ops[3].reg, c.pred, s);
	return inst_choice_mask(g->cx, g->p, &c, s);
}

struct ptx_opnd inst_mask_for(struct inst_ctx *cx, const struct inst_doubt_plan *p,
			      const struct flow_step *st, uint32_t to, uint32_t bytes)
{
	struct gathering g = {cx, p, st, to, bytes, inst_none()};

	if (st->is_pure && st->rule == FLOW_RULE_SELECT)
		return of_select(&g);
	ptx_each_reg(st->at, gather, &g);
	return g.m;
}

/* ---- results ----------------------------------------------------------------------------- */

struct result {
	struct ptx_opnd to, m; /* a mask, and what it gets */
	struct inst_guarded guard;
};

struct results {
	struct inst_ctx *cx;
	const struct inst_doubt_plan *p;
	const struct flow_step *st;
	struct result v[16];
	unsigned n;
};

static void add_result(struct results *r, uint32_t mask, uint32_t reg, uint32_t bytes)
{
	struct ptx_opnd m, copy;

	if (r->n == 16)
		return;
	m = r->st->is_pure && !r->st->is_last && bytes
		    ? inst_mask_for(r->cx, r->p, r->st, reg, bytes)
		    : inst_none();
	if (inst_is_mask(m)) { /* a result may be an operand, too */
		copy = inst_fresh(r->cx, PTX_TYPE_B32);
		inst_doubt_emit(r->cx, r->st->at, "set_mask", NT, H(copy, m));
		m = copy;
	}
	struct inst_guarded guard = {inst_none(), inst_none()};
	if (r->st->is_pure && !r->st->is_last && bytes)
		guard = inst_guard_mask(r->cx, r->p, r->st, half_of(bytes));
	r->v[r->n++] = (struct result){inst_reg(r->cx, mask), m, guard};
}

static void each_result(uint32_t reg, bool is_write, void *arg)
{
	struct results *r = arg;
	const struct inst_doubt_plan *p = r->p;
	uint32_t i = reg < p->nindex ? p->trace->index[reg] : UINT32_MAX;

	if (!is_write || i == UINT32_MAX)
		return;
	uint32_t live = flow_live_bytes(r->cx->fl, reg);
	if (p->high[i] == PTX_NO_REG) {
		add_result(r, p->mask[i], reg, live);
		return;
	}
	add_result(r, p->mask[i], reg, live & LOW_HALF);
	add_result(r, p->high[i], reg, live & HIGH_HALF);
}

void inst_write_halves(struct inst_ctx *cx, const struct inst_doubt_plan *p,
		       const struct flow_step *st)
{
	struct results r = {.cx = cx, .p = p, .st = st};

	ptx_each_reg(st->at, each_result, &r);
	for (unsigned i = 0; i < r.n; i++)
		inst_write_mask(cx, p, st->at, r.v[i].to, r.v[i].m, &r.v[i].guard);
}
