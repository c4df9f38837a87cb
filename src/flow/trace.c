/*
 * trace.c - the statements between loads and the uses of their values, for an engine.
 *
 * demand.c decides for all runs; where the answer is "on some paths only", an engine can decide for
 * each execution: it follows the values through the registers of the trace. A step is a statement
 * that reads one of them, with the rule by which its result depends on the operand, or that
 * overwrites one. A step is the last one where the value takes effect: an effect of its own (an
 * address, a value that is stored, a branch), or a result that is surely used from there on
 * (demand.c).
 *
 * One trace serves all loads in doubt of a function, so its size is that of the function.
 * Costs: each use and definition of those registers once.
 */
#include "flow/priv.h"

struct tracer {
	struct flow *fl;
	struct flow_trace *out;
	uint32_t *regs; /* by number */
};

static void add_register(struct tracer *tr, uint32_t reg)
{
	struct flow_trace *t = tr->out;

	if (reg >= tr->fl->priv->nregs || t->index[reg] != FLOW_NONE)
		return;
	tr->regs[t->nregs] = reg;
	t->index[reg] = t->nregs++;
}

static void add_result(uint32_t reg, bool is_write, void *arg)
{
	struct tracer *tr = arg;

	if (is_write && reg < tr->fl->priv->nregs && tr->fl->priv->live[reg])
		add_register(tr, reg);
}

/* ---- on which operands a result depends -------------------------------------------------- */

static bool is_float(const struct ptx_stmt *s)
{
	return ptx_type_class((enum ptx_type)s->form->types[0]) == PTX_CLASS_FLOAT;
}

static enum flow_rule rule_of_op(const struct ptx_stmt *s)
{
	bool is_pred = s->form->types[0] == PTX_TYPE_PRED;

	switch (s->form->op) {
	case PTX_OP_SELP:
		return s->nops == 4 ? FLOW_RULE_SELECT : FLOW_RULE_NEVER;
	case PTX_OP_SLCT:
		return FLOW_RULE_SIGN;
	case PTX_OP_AND:
		return is_pred ? FLOW_RULE_AND : FLOW_RULE_BITS;
	case PTX_OP_OR:
		return is_pred ? FLOW_RULE_OR : FLOW_RULE_BITS;
	case PTX_OP_MIN:
	case PTX_OP_MAX:
		return FLOW_RULE_BITS;
	case PTX_OP_MUL:
	case PTX_OP_MAD:
		return is_float(s) || ptx_form_has(s->form, PTX_MOD_CC) ? FLOW_RULE_ANY
									: FLOW_RULE_TRY;
	case PTX_OP_LOP3: /* with a predicate as second result: not tried */
		return s->nops == 5 ? FLOW_RULE_TRY : FLOW_RULE_NEVER;
	case PTX_OP_DIV:
	case PTX_OP_REM:
		return is_float(s) ? FLOW_RULE_ANY : FLOW_RULE_TRY;
	case PTX_OP_MUL24:
	case PTX_OP_MAD24:
	case PTX_OP_PRMT:
	case PTX_OP_SHL:
	case PTX_OP_SHR:
	case PTX_OP_SHF:
	case PTX_OP_BFE:
	case PTX_OP_BFI:
	case PTX_OP_BMSK:
	case PTX_OP_SZEXT:
	case PTX_OP_DP2A:
	case PTX_OP_DP4A:
		return FLOW_RULE_TRY;
	case PTX_OP_SETP:
	case PTX_OP_SET:
		if (s->nops < 4)
			return FLOW_RULE_ANY;
		return ptx_form_has(s->form, PTX_MOD_XOR) ? FLOW_RULE_ANY : FLOW_RULE_JOIN;
	default:
		return FLOW_RULE_ANY;
	}
}

static enum flow_rule rule_of(const struct ptx_stmt *s)
{
	enum flow_rule r = rule_of_op(s);

	if (ptx_type_class((enum ptx_type)s->form->types[0]) == PTX_CLASS_PACKED)
		return r == FLOW_RULE_SELECT ? r : FLOW_RULE_ANY;
	return r;
}

static bool is_logic(const struct ptx_stmt *s)
{
	return s->form->op == PTX_OP_AND || s->form->op == PTX_OP_OR;
}

/* ---- steps ------------------------------------------------------------------------------- */

static struct flow_step *step_at(struct tracer *tr, struct ptx_stmt *s)
{
	struct flow_trace *t = tr->out;
	uint32_t *step = &tr->out->step_of[flow_place(tr->fl, s)];

	if (!*step) {
		bool is_pure = flow_is_pure(s);
		t->steps[t->nsteps] = (struct flow_step){
			.at = s,
			.is_pure = is_pure,
			.rule = is_pure ? rule_of(s) : FLOW_RULE_NEVER,
		};
		*step = ++t->nsteps;
	}
	return &t->steps[*step - 1];
}

static void add_use(struct tracer *tr, struct ptx_stmt *u)
{
	if (u->form->op == PTX_OP_UNKNOWN || (u->form->effects & PTX_EFF_PREFETCH))
		return;
	struct flow_step *step = step_at(tr, u);
	step->is_last = !step->is_pure || flow_result_sure(tr->fl, u);
	step->is_test = step->is_pure && flow_feeds_tests(tr->fl, u);
	for (unsigned i = 0; i < 2 && step->is_pure && i + 1 < u->nops; i++)
		step->is_bool[i] = flow_is_boolean(tr->fl, &u->ops[i + 1]);
	if (!step->is_last)
		ptx_each_reg(u, add_result, tr);
}

/* ---- split registers ---------------------------------------------------------------------- */

struct splitting {
	struct tracer *tr;
	bool is_split; /* some result is */
};

static void is_split_result(uint32_t reg, bool is_write, void *arg)
{
	struct splitting *s = arg;
	const struct flow_trace *t = s->tr->out;

	if (is_write && reg < s->tr->fl->priv->nregs && t->index[reg] != FLOW_NONE)
		s->is_split |= t->is_split[t->index[reg]];
}

static bool goes_to_split(struct tracer *tr, uint32_t reg)
{
	struct splitting s = {tr, false};
	uint32_t n;
	struct ptx_stmt *const *uses = flow_uses(tr->fl, reg, &n);

	for (uint32_t i = 0; i < n && !s.is_split; i++)
		if (flow_is_pure(uses[i]))
			ptx_each_reg(uses[i], is_split_result, &s);
	return s.is_split;
}

/* A register is split if its uses take different bytes, or it is put into one that is. */
static void find_split(struct tracer *tr)
{
	struct flow_trace *t = tr->out;
	bool is_changed = true;

	t->is_split = BASE_NEWN(tr->fl->arena, bool, t->nregs + 1u);
	for (uint32_t i = 0; i < t->nregs; i++)
		t->is_split[i] = !flow_is_whole(tr->fl, tr->regs[i]);
	while (is_changed) {
		is_changed = false;
		for (uint32_t i = t->nregs; i-- > 0;) /* results come after what they are made of */
			if (!t->is_split[i] && goes_to_split(tr, tr->regs[i]))
				is_changed = t->is_split[i] = true;
	}
}

/* ---- one statement ----------------------------------------------------------------------- */

/* The only operand, of those that are tried, that is the register; 0: none. */
static unsigned operand_of(const struct ptx_stmt *u, uint32_t reg)
{
	unsigned at = 0;

	for (unsigned i = 1; i < u->nops; i++) {
		const struct ptx_opnd *o = &u->ops[i];
		if (o->kind != PTX_OPND_REG || o->reg != reg)
			continue;
		if (at || i > FLOW_TRIED || o->flags || o->comp)
			return 0;
		at = i;
	}
	return at;
}

unsigned flow_tried_operand(struct flow *fl, const struct ptx_stmt *u, uint32_t reg)
{
	unsigned i;

	if (!flow_is_pure(u) || u->pred != PTX_NO_REG || !u->nops ||
	    u->ops[0].kind != PTX_OPND_REG || u->ops[0].comp || ptx_form_has(u->form, PTX_MOD_CC))
		return 0;
	i = operand_of(u, reg);
	/* Which two values a condition may have isn't known. */
	if (i && i <= 2 && flow_is_boolean(fl, &u->ops[i]))
		return 0;
	switch (rule_of(u)) {
	case FLOW_RULE_TRY:
		return i;
	case FLOW_RULE_BITS:
		return is_logic(u) && !flow_feeds_tests(fl, u) ? i : 0;
	case FLOW_RULE_SELECT:
		return i == 3 ? i : 0;
	default:
		return 0;
	}
}

/* ======================================================================== */

struct flow_trace *flow_trace(struct flow *fl, const struct flow_start *starts, uint32_t n)
{
	struct flow_priv *pr = fl->priv;
	struct flow_trace *t = BASE_NEWN(fl->arena, struct flow_trace, 1);
	struct tracer tr = {.fl = fl, .out = t};

	flow_need_demand(fl); /* what is sure, and what is used at all */
	t->steps = BASE_NEWN(fl->arena, struct flow_step, pr->nstmts + 1u);
	t->index = base_alloc(fl->arena, sizeof(*t->index) * (pr->nregs + 1u));
	for (uint32_t i = 0; i < pr->nregs; i++)
		t->index[i] = FLOW_NONE;
	tr.regs = BASE_NEWN(fl->arena, uint32_t, pr->nregs + 1u);
	t->step_of = BASE_NEWN(fl->arena, uint32_t, pr->nstmts + 1u);
	for (uint32_t i = 0; i < n; i++)
		add_register(&tr, starts[i].reg);
	for (uint32_t i = 0; i < t->nregs; i++) {
		uint32_t nuses;
		struct ptx_stmt *const *uses = flow_uses(fl, tr.regs[i], &nuses);
		for (uint32_t k = 0; k < nuses; k++)
			add_use(&tr, uses[k]);
	}
	for (uint32_t i = 0; i < t->nregs; i++) {
		uint32_t ndefs;
		struct ptx_stmt *const *defs = flow_defs(fl, tr.regs[i], &ndefs);
		for (uint32_t k = 0; k < ndefs; k++)
			step_at(&tr, defs[k]);
	}
	find_split(&tr);
	return t;
}

uint32_t flow_step_of(struct flow *fl, const struct flow_trace *t, const struct ptx_stmt *s)
{
	uint32_t at = flow_place(fl, s);

	return at == FLOW_NONE ? FLOW_NONE : t->step_of[at] - 1u; /* 0: none */
}
