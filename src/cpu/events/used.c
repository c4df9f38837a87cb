/*
 * used.c - has a thread really used the value that it loaded?
 *
 * The values of loads that nvcc may have invented (invented.c) are followed through the registers
 * of each warp: a register has a node of a graph (taint.c) for what it holds of which execution of
 * which load. Statements that read or overwrite such registers carry CPU_I_NOTED, and the run loop
 * calls cpu_event_noted before it executes one. A pure statement hands on what its result depends
 * on in each lane (depends.c); any other one uses what it reads: it stores, passes on or branches
 * on it, or accesses memory there. So does one whose result is surely used. What a use marks is
 * used, each execution of a load by itself, however often it executes again, through sums, vectors
 * and whatever number of registers.
 *
 * Misses, each of which leaves a pair possible: values that leave the registers of their function
 * (they count as used), packed arithmetic on halves that come from two loads, what depends.c,
 * loads.c and taint.c miss.
 * Costs: nothing for functions without such loads; else a call for each execution of such a
 * statement, and a few nodes where its registers hold something.
 */
#include "cpu/events/follow.h"
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

#define NONE	  UINT32_MAX
#define MAX_PARTS 12u

/* Of a function, made with its sites. */
struct events_follow {
	uint32_t nregs;
	uint32_t *step_of; /* by pc, plus 1 */
	struct events_step *steps;
};

struct frame_key {
	const struct cpu_warp *warp;
	const struct cpu_func *func;
	uint64_t depth;
};

/* What the registers of a function hold, for the lanes of a warp that are in it at this depth. */
struct events_frame {
	struct frame_key key;
	struct events_frame *next; /* of the block */
	UT_hash_handle hh;
	uint32_t n;
	uint32_t node[]; /* by number in the trace */
};

/* All frames of a block. */
struct events_frames {
	const struct cpu_cta *cta;
	struct events_frame *first;
	UT_hash_handle hh;
};

/* ---- frames -------------------------------------------------------------------------------- */

static struct events_frame *frame_of(struct cpu_events *x, const struct cpu_warp *w)
{
	const struct cpu_split *s = w->cur;
	struct events_frame **near = &x->near[((uintptr_t)w / sizeof(*w) + s->depth) % EVENTS_NEAR];
	struct events_frame *fr = *near;
	struct frame_key key = {w, s->func, s->depth};

	if (fr && fr->key.warp == w && fr->key.func == key.func && fr->key.depth == key.depth)
		return fr;
	HASH_FIND(hh, x->frames, &key, sizeof(key), fr);
	if (fr)
		*near = fr;
	return fr;
}

/* NULL: no memory. */
static struct events_frame *frame_add(struct cpu_events *x, const struct cpu_warp *w)
{
	const struct events_follow *f = w->cur->func->follow;
	struct events_frame *fr = calloc(1, sizeof(*fr) + f->nregs * sizeof(*fr->node));
	struct events_frames *all;

	HASH_FIND_PTR(x->blocks_frames, &w->cta, all);
	if (!all && fr) {
		all = calloc(1, sizeof(*all));
		if (all) {
			all->cta = w->cta;
			HASH_ADD_PTR(x->blocks_frames, cta, all);
		}
	}
	if (!fr || !all) {
		free(fr);
		return NULL;
	}
	fr->key = (struct frame_key){w, w->cur->func, w->cur->depth};
	fr->n = f->nregs;
	fr->next = all->first;
	all->first = fr;
	HASH_ADD(hh, x->frames, key, sizeof(fr->key), fr);
	return fr;
}

static void frames_drop(struct cpu_events *x, struct events_frames *all)
{
	memset(x->near, 0, sizeof(x->near));
	while (all->first) {
		struct events_frame *fr = all->first;
		all->first = fr->next;
		for (uint32_t i = 0; i < fr->n; i++)
			taint_drop(events_graph(x->loads), fr->node[i]);
		HASH_DEL(x->frames, fr);
		free(fr);
	}
	HASH_DEL(x->blocks_frames, all);
	free(all);
}

/* ---- a step -------------------------------------------------------------------------------- */

struct parts {
	struct taint_part v[MAX_PARTS];
	unsigned n;
};

static void add_part(struct parts *p, uint32_t node, uint32_t lanes)
{
	if (node && lanes && p->n < MAX_PARTS)
		p->v[p->n++] = (struct taint_part){node, lanes};
}

/* Two halves of one register as the statement takes them. */
static void add_operand(const struct taint_graph *g, const struct events_step *st, struct parts *p,
			uint32_t node, uint32_t lanes)
{
	const struct taint_node *t = &g->v[node];

	if (!taint_is_pack(g, node) || st->keeps_halves || !st->is_pure) {
		add_part(p, node, lanes);
		return;
	}
	enum flow_rule r = st->rule;
	add_part(p, t->kid[0], lanes & t->lanes[0]);
	if (st->takes_low)
		return;
	if (r == FLOW_RULE_TRY || r == FLOW_RULE_BITS || r == FLOW_RULE_NEVER) {
		p->n -= p->n && p->v[p->n - 1].node == t->kid[0]; /* which half, isn't known */
		return;
	}
	add_part(p, t->kid[1], lanes & t->lanes[1]);
}

/* What the result of a pure statement depends on. */
static void sources(struct cpu_events *x, struct cpu_warp *w, const struct cpu_inst *in,
		    const struct events_step *st, const struct events_frame *fr, uint32_t mask,
		    struct parts *out)
{
	const struct taint_graph *g = events_graph(x->loads);
	uint32_t lanes[EVENTS_FROM] = {0}, node[EVENTS_FROM] = {0};

	for (uint32_t i = 0; i < st->nreads; i++) {
		const struct events_reg *r = &st->reads[i];
		if (r->reg == st->guard)
			continue; /* below */
		if (r->at >= EVENTS_FROM) {
			if (st->rule != FLOW_RULE_NEVER)
				add_operand(g, st, out, fr->node[r->reg], mask);
			continue;
		}
		node[r->at] = fr->node[r->reg];
		lanes[r->at] = taint_lanes(g, node[r->at]) & mask;
	}
	if (lanes[0] | lanes[1] | lanes[2])
		events_depends(w, in, st, node[0] == node[1], mask, lanes);
	for (unsigned i = 0; i < EVENTS_FROM; i++)
		if (lanes[i])
			add_operand(g, st, out, node[i], lanes[i]);
	if (st->guard != NONE && fr->node[st->guard])
		add_part(out, fr->node[st->guard], events_guard_decides(w, in, st, w->cur->mask));
}

static void use_reads(struct taint_graph *g, const struct cpu_warp *w, const struct events_step *st,
		      const struct events_frame *fr, uint32_t mask)
{
	for (uint32_t i = 0; i < st->nreads; i++)
		if (fr->node[st->reads[i].reg])
			taint_use(g, fr->node[st->reads[i].reg], mask);
	if (st->guard != NONE && fr->node[st->guard])
		taint_use(g, fr->node[st->guard], w->cur->mask);
}

/* The register gets a node that is its own. */
static void set_node(struct taint_graph *g, struct events_frame *fr, uint32_t reg, uint32_t node)
{
	uint32_t was = fr->node[reg];

	fr->node[reg] = node;
	taint_drop(g, was);
}

/* What register `wr` gets: from `p`, and what it had in lanes that don't execute. */
static void write_parts(struct taint_graph *g, const struct events_step *st,
			struct events_frame *fr, const struct events_reg *wr, const struct parts *p,
			uint32_t mask)
{
	uint32_t was = fr->node[wr->reg];
	struct parts all = {.n = 0};

	for (unsigned i = 0; i < p->n; i++) {
		const struct taint_part *a = &p->v[i];
		if (st->is_parting && taint_is_pack(g, a->node))
			add_part(&all, g->v[a->node].kid[wr->at],
				 a->lanes & g->v[a->node].lanes[wr->at]);
		else
			add_part(&all, a->node, a->lanes);
	}
	add_part(&all, was, taint_lanes(g, was) & ~mask);
	if (all.n || was)
		set_node(g, fr, wr->reg, taint_join(g, all.v, all.n));
}

/* mov.b64 %rd1, {%r1, %r2}. */
static void write_pack(struct taint_graph *g, const struct cpu_warp *w,
		       const struct events_step *st, struct events_frame *fr, uint32_t mask)
{
	struct taint_part half[2] = {{0, 0}, {0, 0}};
	struct parts all = {.n = 0};

	if (!st->nwrites)
		return;
	uint32_t reg = st->writes[0].reg, was = fr->node[reg];
	for (uint32_t i = 0; i < st->nreads; i++)
		if (st->reads[i].at < 2)
			half[st->reads[i].at] =
				(struct taint_part){fr->node[st->reads[i].reg], mask};
	uint32_t pack = taint_pack(g, half[0], half[1]);
	add_part(&all, pack, mask);
	if (st->guard != NONE)
		add_part(&all, fr->node[st->guard], w->cur->mask);
	add_part(&all, was, taint_lanes(g, was) & ~mask);
	set_node(g, fr, reg, taint_join(g, all.v, all.n));
	taint_drop(g, pack);
}

static bool holds_any(const struct events_step *st, const struct events_frame *fr)
{
	bool any = st->guard != NONE && fr->node[st->guard];

	for (uint32_t i = 0; i < st->nreads && !any; i++)
		any = fr->node[st->reads[i].reg] != 0;
	return any;
}

static void take_step(struct cpu_events *x, struct cpu_warp *w, const struct cpu_inst *in,
		      const struct events_step *st, struct events_frame *fr)
{
	struct taint_graph *g = events_graph(x->loads);
	uint32_t mask = w->cur->mask;
	struct parts p = {.n = 0};

	if (in->guard != CPU_NOSLOT)
		mask &= *cpu_pred(w, in->guard) ^ (in->flags & CPU_I_GUARD_NOT ? UINT32_MAX : 0);
	if (holds_any(st, fr)) {
		if (!st->is_pure)
			use_reads(g, w, st, fr, mask);
		else if (!st->is_packing || st->is_last)
			sources(x, w, in, st, fr, mask, &p);
		for (unsigned i = 0; st->is_last && i < p.n; i++)
			taint_use(g, p.v[i].node, p.v[i].lanes);
		if (st->is_last)
			p.n = 0;
	}
	if (st->is_packing && !st->is_last) {
		write_pack(g, w, st, fr, mask);
		return;
	}
	for (uint32_t i = 0; i < st->nwrites; i++) {
		bool is_guard = st->is_pure && st->writes[i].reg == st->guard;
		write_parts(g, st, fr, &st->writes[i], &p, is_guard ? w->cur->mask : mask);
	}
}

void cpu_event_noted(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_events *x = cpu_events_of(w);
	const struct cpu_func *f = w->cur->func;
	const struct events_follow *follow = f->follow;

	if (!x || !follow)
		return;
	events_lock(x);
	struct events_frame *fr = frame_of(x, w);
	uint32_t step = follow->step_of[in - f->code];
	if (fr && step)
		take_step(x, w, in, &follow->steps[step - 1], fr);
	events_unlock(x);
}

void events_used_load(struct cpu_events *x, const struct cpu_warp *w, const struct cpu_site *site,
		      uint32_t mask, const uint64_t *at)
{
	struct events_frame *fr = frame_of(x, w);

	if (!fr)
		fr = frame_add(x, w);
	uint32_t load = fr ? events_load_begin(x->loads, w, site, mask, at) : 0;
	if (!load)
		return;
	struct taint_graph *g = events_graph(x->loads);
	for (uint32_t e = 0; e < site->nelems; e++) {
		if (site->elems[e] == NONE)
			continue;
		uint32_t was = fr->node[site->elems[e]];
		uint32_t leaf = events_load_leaf(x->loads, load, e, mask);
		struct taint_part both[2] = {{leaf, mask}, {was, taint_lanes(g, was) & ~mask}};
		set_node(g, fr, site->elems[e], taint_join(g, both, 2));
		taint_drop(g, leaf);
	}
	events_load_done(x->loads, load);
}

/* ---- making steps -------------------------------------------------------------------------- */

struct registers {
	struct cpu_events *x;
	const struct flow_trace *flow;
	struct events_step *st;
	unsigned operand; /* being looked at */
};

static void add_register(struct registers *r, struct events_reg **list, uint32_t *n, uint32_t reg,
			 uint8_t at)
{
	struct events_reg *v = base_alloc(&r->x->arena, (*n + 1u) * sizeof(*v));

	if (*n)
		memcpy(v, *list, *n * sizeof(*v));
	v[(*n)++] = (struct events_reg){reg, at};
	*list = v;
}

/* Its number in the trace, or NONE. */
static uint32_t number_of(const struct registers *r, uint32_t reg)
{
	return r->flow->index[reg];
}

/* The place of a register among the operands: as a read, as an element of what is written. */
static uint8_t place_of(const struct ptx_stmt *s, uint32_t reg, bool is_write, bool is_mov)
{
	for (unsigned i = is_write ? 0 : 1; i < (is_write ? 1 : s->nops); i++) {
		const struct ptx_opnd *o = &s->ops[i];
		if (o->kind == PTX_OPND_REG && o->reg == reg)
			return (uint8_t)(is_write ? 0 : i - 1 < EVENTS_FROM ? i - 1 : EVENTS_FROM);
		for (unsigned k = 0; o->kind == PTX_OPND_VEC && is_mov && k < o->nsub; k++)
			if (o->sub[k].kind == PTX_OPND_REG && o->sub[k].reg == reg)
				return (uint8_t)(k < EVENTS_FROM ? k : EVENTS_FROM);
	}
	return EVENTS_FROM;
}

static void look_at_register(uint32_t reg, bool is_write, void *arg)
{
	struct registers *r = arg;
	const struct ptx_stmt *s = r->st->s;
	bool is_mov = s->form->op == PTX_OP_MOV;

	if (number_of(r, reg) == NONE)
		return;
	if (is_write) {
		add_register(r, &r->st->writes, &r->st->nwrites, number_of(r, reg),
			     place_of(s, reg, true, is_mov));
		return;
	}
	if (s->pred == reg)
		r->st->guard = number_of(r, reg);
	/* The same register may be several operands. */
	bool is_operand = false;
	for (unsigned i = 1; r->st->is_pure && i < s->nops && i <= EVENTS_FROM; i++)
		if (s->ops[i].kind == PTX_OPND_REG && s->ops[i].reg == reg) {
			is_operand = true;
			add_register(r, &r->st->reads, &r->st->nreads, number_of(r, reg),
				     (uint8_t)(i - 1));
		}
	if (!is_operand && (s->pred != reg || place_of(s, reg, false, is_mov) < EVENTS_FROM))
		add_register(r, &r->st->reads, &r->st->nreads, number_of(r, reg),
			     place_of(s, reg, false, is_mov));
}

static bool is_two(const struct ptx_stmt *s, unsigned op)
{
	return op < s->nops && s->ops[op].kind == PTX_OPND_VEC && s->ops[op].nsub == 2;
}

static void step_make(struct cpu_events *x, const struct flow_trace *flow,
		      const struct flow_step *from, struct events_step *st)
{
	struct ptx_stmt *s = from->at;
	struct registers r = {.x = x, .flow = flow, .st = st};
	bool is_mov = s->form->op == PTX_OP_MOV;

	*st = (struct events_step){
		.s = s,
		.rule = from->rule,
		.is_pure = from->is_pure,
		.is_last = from->is_last,
		.is_test = from->is_test,
		.is_bool = {from->is_bool[0], from->is_bool[1]},
		.guard = NONE,
		.is_packing = is_mov && is_two(s, 1),
		.is_parting = is_mov && is_two(s, 0),
		.keeps_halves = is_mov || s->form->op == PTX_OP_SELP,
		.takes_low = s->form->op == PTX_OP_CVT &&
			     2 * ptx_type_bytes((enum ptx_type)s->form->types[0]) <=
				     ptx_type_bytes((enum ptx_type)s->form->types[1]),
	};
	ptx_each_reg(s, look_at_register, &r);
}

void events_used_follow(struct cpu_events *x, struct cpu_func *f, struct flow *fl,
			const struct flow_trace *t)
{
	struct events_follow *out = BASE_NEW(&x->arena, struct events_follow);

	if (!x->loads)
		x->loads = events_loads_new(x);
	if (!x->loads)
		return;
	out->nregs = t->nregs;
	out->steps = BASE_NEWN(&x->arena, struct events_step, t->nsteps + 1u);
	out->step_of = BASE_NEWN(&x->arena, uint32_t, f->ninsts + 1u);
	for (uint32_t i = 0; i < t->nsteps; i++)
		step_make(x, t, &t->steps[i], &out->steps[i]);
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
}

/* ---- questions ----------------------------------------------------------------------------- */

bool events_is_used(struct cpu_events *x, const struct oracle_side *load,
		    const struct events_sighting *seen)
{
	const struct cpu_site *s = load->inst;

	return s->nelems && x->loads && events_load_is_used(x->loads, load, seen);
}

void events_used_block_end(struct cpu_events *x, const struct cpu_cta *cta)
{
	struct events_frames *all;

	HASH_FIND_PTR(x->blocks_frames, &cta, all);
	if (all)
		frames_drop(x, all);
}

void events_used_free(struct cpu_events *x)
{
	struct events_frames *all, *next;

	HASH_ITER(hh, x->blocks_frames, all, next)
	{
		frames_drop(x, all);
	}
	events_loads_free(x->loads);
}
