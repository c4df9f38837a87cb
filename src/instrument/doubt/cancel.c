/*
 * cancel.c - two ways of one value that may cancel out.
 *
 * With p ? a : b, where b is p ? c : a, the result is a whatever p is. So where two operands, or a
 * guard and what its instruction reads or overwrites, hold the bit of one execution of a load, the
 * result depends on it for certain only if the other way can't hide it. Else it may depend on it or
 * not: the bit leaves the mask and is *lost*, and no later use counts, wherever the value went
 * besides; so a mask without a bit, of one that isn't lost, means that the register doesn't depend
 * on it. The oracle keeps such parts beside (cpu/events/depends.c), which would be a second mask of
 * each register here. What isn't known to depend (depend.c, halves.c) is lost as well.
 *
 * Which loads can meet in an operation at all is known before: elsewhere nothing is put in.
 * Misses: as the oracle, two ways that arithmetic on words hides.
 * Costs: some seven instructions where two ways meet; where they do, a register, and one
 * instruction at each use, settling and load.
 */
#include "instrument/doubt/doubt.h"

#include "instrument/templates.h"

/* ---- before: which loads can meet -------------------------------------------------------- */

static uint64_t loads_of(const struct inst_doubt_plan *p, uint32_t reg)
{
	uint32_t i = reg < p->nindex ? p->trace->index[reg] : UINT32_MAX;

	return i == UINT32_MAX ? 0 : p->from[i];
}

struct gathered {
	const struct inst_doubt_plan *p;
	const struct ptx_stmt *s;
	uint64_t reads, writes; /* without the guard */
};

static void gather(uint32_t reg, bool is_write, void *arg)
{
	struct gathered *g = arg;

	if (is_write)
		g->writes |= loads_of(g->p, reg);
	else if (reg != g->s->pred)
		g->reads |= loads_of(g->p, reg);
}

struct handed {
	struct inst_doubt_plan *p;
	uint64_t loads;
	bool is_changed;
};

static void hand_on(uint32_t reg, bool is_write, void *arg)
{
	struct handed *h = arg;
	uint32_t i = reg < h->p->nindex ? h->p->trace->index[reg] : UINT32_MAX;

	if (!is_write || i == UINT32_MAX || !(h->loads & ~h->p->from[i]))
		return;
	h->p->from[i] |= h->loads;
	h->is_changed = true;
}

static uint64_t loads_of_operand(const struct inst_doubt_plan *p, const struct ptx_stmt *s,
				 unsigned i)
{
	return i < s->nops && s->ops[i].kind == PTX_OPND_REG ? loads_of(p, s->ops[i].reg) : 0;
}

uint64_t inst_meeting(const struct inst_doubt_plan *p, const struct ptx_stmt *s, unsigned i,
		      unsigned k)
{
	return loads_of_operand(p, s, i) & loads_of_operand(p, s, k);
}

uint64_t inst_meeting_guard(const struct inst_doubt_plan *p, const struct ptx_stmt *s)
{
	struct gathered g = {p, s, 0, 0};

	if (s->pred == PTX_NO_REG)
		return 0;
	ptx_each_reg(s, gather, &g);
	return (g.reads | g.writes) & loads_of(p, s->pred);
}

static uint64_t meeting(const struct inst_doubt_plan *p, const struct flow_step *st)
{
	const struct ptx_stmt *s = st->at;
	uint64_t both = inst_meeting(p, s, 1, 2);
	uint64_t third = inst_meeting(p, s, 1, 3) | inst_meeting(p, s, 2, 3);

	switch (st->rule) {
	case FLOW_RULE_SELECT:
	case FLOW_RULE_JOIN:
		return third;
	case FLOW_RULE_AND:
	case FLOW_RULE_OR:
	case FLOW_RULE_BITS:
		return both;
	case FLOW_RULE_TRY:
		return both | third;
	default:
		return 0;
	}
}

void inst_find_meeting(struct inst_ctx *cx, struct inst_doubt_plan *p,
		       const struct flow_start *starts, uint32_t n)
{
	struct handed h = {p, 0, true};

	p->from = BASE_NEWN(&cx->scratch, uint64_t, p->trace->nregs + 1u);
	p->lost = PTX_NO_REG;
	p->meet = 0;
	for (uint32_t i = 0; i < n; i++) /* one bit may stand for several */
		p->from[p->trace->index[starts[i].reg]] |= 1ull << i % 64;
	while (h.is_changed) {
		h.is_changed = false;
		for (uint32_t i = 0; i < p->trace->nsteps; i++) {
			const struct flow_step *st = &p->trace->steps[i];
			struct gathered g = {p, st->at, 0, 0};
			if (!st->is_pure || st->is_last)
				continue;
			ptx_each_reg(st->at, gather, &g);
			h.loads = g.reads;
			h.loads |= st->at->pred != PTX_NO_REG ? loads_of(p, st->at->pred) : 0;
			ptx_each_reg(st->at, hand_on, &h);
		}
	}
	for (uint32_t i = 0; i < p->trace->nsteps; i++)
		if (p->trace->steps[i].is_pure)
			p->meet |= meeting(p, &p->trace->steps[i]) |
				   inst_meeting_guard(p, p->trace->steps[i].at);
}

/* ---- the code ---------------------------------------------------------------------------- */

void inst_lose_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p, struct ptx_opnd m,
		    struct ptx_stmt *at)
{
	struct ptx_opnd lost;

	if (!inst_is_mask(m) || p->lost == PTX_NO_REG)
		return;
	lost = inst_reg(cx, p->lost);
	inst_doubt_emit(cx, at, "join_masks", NT, H(lost, lost, m));
}

void inst_lose(struct inst_ctx *cx, const struct inst_doubt_plan *p, uint32_t reg,
	       struct ptx_opnd m, struct ptx_stmt *at)
{
	if (loads_of(p, reg) & p->meet)
		inst_lose_mask(cx, p, m, at);
}

struct losing {
	struct inst_ctx *cx;
	const struct inst_doubt_plan *p;
	struct ptx_stmt *s;
};

static void lose_read(uint32_t reg, bool is_write, void *arg)
{
	struct losing *l = arg;

	if (!is_write && reg != l->s->pred)
		inst_lose(l->cx, l->p, reg, inst_mask_of(l->cx, l->p, reg), l->s);
}

void inst_lose_reads(struct inst_ctx *cx, const struct inst_doubt_plan *p, struct ptx_stmt *s)
{
	struct losing l = {cx, p, s};

	ptx_each_reg(s, lose_read, &l);
}

struct ptx_opnd inst_without(struct inst_ctx *cx, struct ptx_opnd m, struct ptx_opnd x,
			     struct ptx_stmt *at)
{
	struct ptx_opnd to;

	if (!inst_is_mask(m) || !inst_is_mask(x))
		return m;
	to = inst_fresh(cx, PTX_TYPE_B32);
	inst_doubt_emit(cx, at, "without_mask", NT, H(to, m, x));
	return to;
}

struct ptx_opnd inst_without_lost(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				  struct ptx_opnd m, struct ptx_stmt *at)
{
	return p->lost == PTX_NO_REG ? m : inst_without(cx, m, inst_reg(cx, p->lost), at);
}

struct ptx_opnd inst_meet(struct inst_ctx *cx, struct ptx_opnd a, struct ptx_opnd b,
			  struct ptx_stmt *at)
{
	struct ptx_opnd m;

	if (!inst_is_mask(a) || !inst_is_mask(b))
		return inst_none();
	m = inst_fresh(cx, PTX_TYPE_B32);
	inst_doubt_emit(cx, at, "meet_masks", NT, H(m, a, b));
	return m;
}

static struct ptx_opnd choose(struct inst_ctx *cx, struct ptx_opnd a, struct ptx_opnd b,
			      struct ptx_opnd by, bool sense, struct ptx_stmt *at)
{
	struct ptx_opnd zero = inst_int(cx, 0), to;

	if (!inst_is_mask(a) && !inst_is_mask(b))
		return inst_none();
	a = inst_is_mask(a) ? a : zero;
	b = inst_is_mask(b) ? b : zero;
	to = inst_fresh(cx, PTX_TYPE_B32);
	inst_doubt_emit(cx, at, "choose_mask", NT, H(to, sense ? a : b, sense ? b : a, by));
	return to;
}

/*
 * If the predicate goes over, the result becomes the operand that isn't taken. Where the two
 * differ, a bit of the predicate is hidden if that one has it, too; where they are equal, if any
 * has it.
 */
static struct ptx_opnd hidden(struct inst_ctx *cx, const struct inst_choice *c, struct ptx_stmt *at)
{
	struct ptx_opnd any = inst_join_masks(cx, c->a, c->b, at);

	if (inst_is_mask(c->differ))
		any = choose(cx, choose(cx, c->b, c->a, c->by, c->sense, at), any, c->differ, true,
			     at);
	return inst_meet(cx, c->pred, any, at);
}

struct ptx_opnd inst_choice_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct inst_choice *c, struct ptx_stmt *at)
{
	struct ptx_opnd b = c->only_a ? inst_none() : c->b, x;
	struct ptx_opnd m = choose(cx, c->a, b, c->by, c->sense, at);

	if (!inst_is_mask(c->pred))
		return m;
	if (inst_is_mask(c->differ))
		m = inst_join_masks(cx, m, inst_mask_where(cx, c->pred, c->differ, true, at), at);
	if (!c->meets)
		return m;
	x = hidden(cx, c, at);
	inst_lose_mask(cx, p, x, at);
	return inst_without(cx, m, x, at);
}
