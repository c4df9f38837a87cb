/*
 * steps.c - what the statements of a function do with the registers that used.c follows: which they
 * read and write, which bytes of an operand each byte of a result depends on, and by which rule.
 *
 * Made once a function, from flow_trace; the statements are marked for the run loop.
 * Costs: time and memory by the registers of those statements.
 */
#include "cpu/events/follow.h"
#include "cpu/jit.h"
#include "flow/flow.h"

#include <string.h>

#define NONE UINT32_MAX

struct registers {
	struct cpu_events *x;
	struct flow *fl;
	const struct flow_trace *flow;
	const struct events_follow *f;
	struct events_step *st;
};

static void add_register(struct registers *r, struct events_reg **list, uint32_t *n, uint32_t reg,
			 unsigned at)
{
	struct events_reg *v = base_alloc(&r->x->arena, (*n + 1u) * sizeof(*v));
	uint32_t i = r->flow->index[reg];

	if (*n)
		memcpy(v, *list, *n * sizeof(*v));
	v[(*n)++] = (struct events_reg){.slot = r->f->slot[i],
					.n = (uint8_t)(r->f->slot[i + 1] - r->f->slot[i]),
					.at = (uint8_t)at,
					.reg = i};
	*list = v;
}

static void look_at_register(uint32_t reg, bool is_write, void *arg)
{
	struct registers *r = arg;
	struct events_step *st = r->st;
	const struct ptx_stmt *s = st->s;
	bool is_operand = false;

	if (r->flow->index[reg] == NONE)
		return;
	if (is_write) {
		add_register(r, &st->writes, &st->nwrites, reg, 0);
		return;
	}
	if (s->pred == reg) {
		st->guard = r->flow->index[reg];
		st->guard_slot = r->f->slot[st->guard];
	}
	/* The same register may be several operands. */
	for (unsigned i = 1; st->is_pure && i < s->nops && i <= EVENTS_FROM; i++)
		if (s->ops[i].kind == PTX_OPND_REG && s->ops[i].reg == reg) {
			is_operand = true;
			add_register(r, &st->reads, &st->nreads, reg, i - 1);
		}
	if (!is_operand && s->pred != reg)
		add_register(r, &st->reads, &st->nreads, reg, EVENTS_FROM);
}

/* A set of bytes as one of slots. */
static uint32_t as_slots(const struct events_reg *r, uint32_t bytes)
{
	return r->n > 1 ? bytes : bytes != 0;
}

/* On which slots of a read each slot that is written depends; of a last step: all results. */
static void read_make(struct registers *r, struct events_reg *read, const uint32_t *reg_of)
{
	struct events_step *st = r->st;
	uint32_t reg = reg_of[read->reg];
	unsigned j = 0;

	read->from = BASE_NEWN(&r->x->arena, uint32_t, st->nslots + 1u);
	read->taken = as_slots(read, flow_taken_bytes(r->fl, st->s, reg));
	if (st->is_last)
		read->from[0] = read->taken;
	for (uint32_t i = 0; i < st->nwrites && st->is_pure && !st->is_last; i++) {
		const struct events_reg *to = &st->writes[i];
		for (unsigned k = 0; k < to->n; k++) {
			uint32_t want = to->n > 1 ? 1u << k : r->f->live[to->reg];
			uint32_t from = flow_bytes_for(r->fl, st->s, reg, reg_of[to->reg], want);
			read->from[j++] = as_slots(read, from);
		}
	}
}

/* Is what depends on what to be tried, byte by byte? Not between conditions. */
static bool is_tried_by_bytes(const struct events_step *st)
{
	bool is_split = st->nslots > 1;

	for (uint32_t i = 0; i < st->nreads; i++)
		is_split |= st->reads[i].n > 1;
	if (!is_split || st->s->ops[0].kind != PTX_OPND_REG || st->is_bool[0] || st->is_bool[1] ||
	    st->is_test)
		return false;
	return st->rule == FLOW_RULE_TRY ||
	       (st->rule == FLOW_RULE_BITS && st->s->form->op != PTX_OP_MIN &&
		st->s->form->op != PTX_OP_MAX);
}

static void step_make(struct registers *r, const struct flow_step *from, struct events_step *st,
		      const uint32_t *reg_of)
{
	struct ptx_stmt *s = from->at;

	*st = (struct events_step){
		.s = s,
		.rule = from->rule,
		.is_pure = from->is_pure,
		.is_last = from->is_last,
		.is_test = from->is_test,
		.is_bool = {from->is_bool[0], from->is_bool[1]},
		.guard = NONE,
	};
	r->st = st;
	ptx_each_reg(s, look_at_register, r);
	for (uint32_t i = 0; i < st->nwrites; i++)
		st->nslots += st->writes[i].n;
	for (uint32_t i = 0; i < st->nreads; i++)
		read_make(r, &st->reads[i], reg_of);
	st->by_bytes = is_tried_by_bytes(st);
	if (st->by_bytes)
		st->live = flow_live_bytes(r->fl, s->ops[0].reg);
}

/* The slots of the registers; the registers by their numbers. */
static uint32_t *number_slots(struct cpu_events *x, struct events_follow *out, struct flow *fl,
			      const struct flow_trace *t)
{
	uint32_t *reg_of = BASE_NEWN(&x->arena, uint32_t, t->nregs + 1u);

	out->slot = BASE_NEWN(&x->arena, uint32_t, t->nregs + 1u);
	out->live = BASE_NEWN(&x->arena, uint32_t, t->nregs + 1u);
	for (uint32_t r = 0; r < fl->f->nregs; r++)
		if (t->index[r] != NONE)
			reg_of[t->index[r]] = r;
	for (uint32_t i = 0; i < t->nregs; i++) {
		enum ptx_type type = (enum ptx_type)fl->f->reg_type[reg_of[i]];
		unsigned n = t->is_split[i] ? ptx_type_bytes(type) : 1;
		out->slot[i + 1] = out->slot[i] + (n ? n : 1);
		out->live[i] = flow_live_bytes(fl, reg_of[i]);
	}
	out->nslots = out->slot[t->nregs];
	return reg_of;
}

void events_used_follow(struct cpu_events *x, struct cpu_func *f, struct flow *fl,
			const struct flow_trace *t)
{
	struct events_follow *out = BASE_NEW(&x->arena, struct events_follow);

	if (!x->loads)
		x->loads = events_loads_new(x);
	if (!x->loads)
		return;
	struct registers r = {.x = x, .fl = fl, .flow = t, .f = out};
	const uint32_t *reg_of = number_slots(x, out, fl, t);
	out->steps = BASE_NEWN(&x->arena, struct events_step, t->nsteps + 1u);
	out->step_of = BASE_NEWN(&x->arena, uint32_t, f->ninsts + 1u);
	for (uint32_t i = 0; i < t->nsteps; i++)
		step_make(&r, &t->steps[i], &out->steps[i], reg_of);
	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		uint32_t step = f->stmts[pc] ? flow_step_of(fl, t, f->stmts[pc]) : NONE;
		/* The last one: what comes before it reads a special register for it. */
		if (step == NONE || (pc + 1 < f->ninsts && f->stmts[pc + 1] == f->stmts[pc]))
			continue;
		out->step_of[pc] = step + 1;
		f->code[pc].flags |= CPU_I_NOTED;
		f->code[pc].flags &= (uint16_t)~CPU_I_PLAIN;
	}
	f->follow = out;
	cpu_jit_again(f);
}
