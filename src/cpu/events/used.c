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
 * (they count as used), what depends.c, loads.c and taint.c miss.
 * Costs: nothing for functions without such loads; else a call for each execution of such a
 * statement, and a few nodes where its registers hold something.
 */
#include "cpu/events/follow.h"
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

#define NONE	  UINT32_MAX
#define MAX_PARTS TAINT_PARTS
#define MAX_SLOTS 32u /* that one statement writes */

/* Of a function, made with its sites. */
struct events_follow {
	uint32_t nslots;
	uint32_t *slot;	   /* by number in the trace: its first; one more at the end */
	uint32_t *live;	   /* by number in the trace: its live bytes */
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
	uint32_t node[]; /* by slot */
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
	struct events_frame *fr = calloc(1, sizeof(*fr) + f->nslots * sizeof(*fr->node));
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
	fr->n = f->nslots;
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

/* What goes to each slot that the statement writes. */
struct results {
	struct parts to[MAX_SLOTS];
	unsigned n;
};

static uint32_t lanes_of(const struct taint_graph *g, const struct events_frame *fr,
			 const struct events_reg *r)
{
	uint32_t lanes = 0;

	for (unsigned i = 0; i < r->n; i++)
		lanes |= taint_lanes(g, fr->node[r->slot + i]);
	return lanes;
}

/* The lanes in which slot j of what is written depends on slot i of the operand, of all. */
static uint32_t of_byte(const struct events_step *st, const uint32_t *hit, unsigned n, unsigned j)
{
	uint32_t lanes = 0;

	if (n > 1)
		return j < EVENTS_BYTES ? hit[j] : 0;
	for (unsigned k = 0; k < EVENTS_BYTES; k++)
		lanes |= st->live >> k & 1 ? hit[k] : 0;
	return lanes;
}

/* Lanes in which the statement takes the operand: what depends on each of its slots. */
static void add_operand(struct cpu_warp *w, const struct cpu_inst *in, const struct events_step *st,
			const struct events_frame *fr, const struct events_reg *r, uint32_t lanes,
			struct results *out)
{
	uint32_t hit[EVENTS_BYTES];

	for (unsigned i = 0; i < r->n && lanes; i++) {
		uint32_t node = fr->node[r->slot + i];
		bool is_tried = st->by_bytes && r->at < EVENTS_FROM;
		if (!node || !(r->taken >> i & 1))
			continue;
		struct events_tried t = {r->at + 1u, i, r->n > 1 ? 1 : 0};
		if (is_tried && !events_tried_bytes(w, in, st, t, lanes, hit))
			return;
		for (unsigned j = 0; j < out->n; j++)
			if (r->from[j] >> i & 1)
				add_part(&out->to[j], node,
					 lanes & (is_tried ? of_byte(st, hit, out->n, j)
							   : UINT32_MAX));
	}
}

/* What the result of a pure statement depends on. */
static void sources(struct cpu_events *x, struct cpu_warp *w, const struct cpu_inst *in,
		    const struct events_step *st, const struct events_frame *fr, uint32_t mask,
		    struct results *out)
{
	const struct taint_graph *g = events_graph(x->loads);
	uint32_t lanes[EVENTS_FROM] = {0}, node[EVENTS_FROM] = {0};

	for (uint32_t i = 0; i < st->nreads; i++) {
		const struct events_reg *r = &st->reads[i];
		if (r->reg == st->guard)
			continue; /* below */
		if (r->at >= EVENTS_FROM) {
			if (st->rule != FLOW_RULE_NEVER)
				add_operand(w, in, st, fr, r, mask, out);
			continue;
		}
		node[r->at] = r->n > 1 ? UINT32_MAX - r->slot : fr->node[r->slot];
		lanes[r->at] = lanes_of(g, fr, r) & mask;
	}
	/* By bytes: each is tried, whatever the operand is as a whole. */
	uint32_t all[EVENTS_FROM] = {lanes[0], lanes[1], lanes[2]};
	if (lanes[0] | lanes[1] | lanes[2])
		events_depends(w, in, st, node[0] && node[0] == node[1], mask, lanes);
	for (uint32_t i = 0; i < st->nreads; i++) {
		const struct events_reg *r = &st->reads[i];
		if (r->reg != st->guard && r->at < EVENTS_FROM)
			add_operand(w, in, st, fr, r, st->by_bytes ? all[r->at] : lanes[r->at],
				    out);
	}
	if (st->guard == NONE || !fr->node[st->guard_slot])
		return;
	uint32_t decides = events_guard_decides(w, in, st, w->cur->mask);
	for (unsigned j = 0; j < out->n; j++)
		add_part(&out->to[j], fr->node[st->guard_slot], decides);
}

static void use_reads(struct taint_graph *g, const struct cpu_warp *w, const struct events_step *st,
		      const struct events_frame *fr, uint32_t mask)
{
	for (uint32_t i = 0; i < st->nreads; i++) {
		const struct events_reg *r = &st->reads[i];
		for (unsigned k = 0; k < r->n; k++)
			if (fr->node[r->slot + k] && r->taken >> k & 1)
				taint_use(g, fr->node[r->slot + k], mask);
	}
	if (st->guard != NONE && fr->node[st->guard_slot])
		taint_use(g, fr->node[st->guard_slot], w->cur->mask);
}

/* The slot gets a node that is its own. */
static void set_node(struct taint_graph *g, struct events_frame *fr, uint32_t slot, uint32_t node)
{
	uint32_t was = fr->node[slot];

	fr->node[slot] = node;
	taint_drop(g, was);
}

/* What is written gets its parts, and keeps what it had in lanes that don't execute. */
static void write_results(struct taint_graph *g, const struct cpu_warp *w,
			  const struct events_step *st, struct events_frame *fr,
			  struct results *res, uint32_t mask)
{
	uint32_t node[MAX_SLOTS];
	unsigned j = 0;

	for (uint32_t i = 0; i < st->nwrites; i++) {
		const struct events_reg *r = &st->writes[i];
		uint32_t done = st->is_pure && r->reg == st->guard ? w->cur->mask : mask;
		for (unsigned k = 0; k < r->n && j < MAX_SLOTS; k++, j++) {
			uint32_t was = fr->node[r->slot + k];
			struct parts *p = &res->to[j];
			add_part(p, was, taint_lanes(g, was) & ~done);
			node[j] = p->n ? taint_join(g, p->v, p->n) : 0;
		}
	}
	j = 0;
	for (uint32_t i = 0; i < st->nwrites; i++)
		for (unsigned k = 0; k < st->writes[i].n && j < MAX_SLOTS; k++, j++)
			set_node(g, fr, st->writes[i].slot + k, node[j]);
}

static bool holds_any(const struct events_step *st, const struct events_frame *fr)
{
	bool any = st->guard != NONE && fr->node[st->guard_slot];

	for (uint32_t i = 0; i < st->nreads && !any; i++)
		for (unsigned k = 0; k < st->reads[i].n; k++)
			any |= fr->node[st->reads[i].slot + k] != 0;
	return any;
}

static void begin_results(struct results *res, unsigned n)
{
	res->n = n < MAX_SLOTS ? n : MAX_SLOTS;
	for (unsigned j = 0; j < res->n; j++)
		res->to[j].n = 0;
}

static void take_step(struct cpu_events *x, struct cpu_warp *w, const struct cpu_inst *in,
		      const struct events_step *st, struct events_frame *fr)
{
	struct taint_graph *g = events_graph(x->loads);
	uint32_t mask = w->cur->mask;
	struct results res;

	begin_results(&res, st->is_last ? 1 : st->nslots);
	if (in->guard != CPU_NOSLOT)
		mask &= *cpu_pred(w, in->guard) ^ (in->flags & CPU_I_GUARD_NOT ? UINT32_MAX : 0);
	if (holds_any(st, fr)) {
		if (st->is_pure)
			sources(x, w, in, st, fr, mask, &res);
		else
			use_reads(g, w, st, fr, mask);
	}
	if (st->is_last) {
		for (unsigned i = 0; i < res.to[0].n; i++)
			taint_use(g, res.to[0].v[i].node, res.to[0].v[i].lanes);
		begin_results(&res, st->nslots);
	}
	write_results(g, w, st, fr, &res, mask);
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

static void load_element(struct cpu_events *x, const struct cpu_warp *w, struct events_frame *fr,
			 const struct cpu_site *site, uint32_t load, uint32_t e, uint32_t mask)
{
	const struct events_follow *f = w->cur->func->follow;
	struct taint_graph *g = events_graph(x->loads);
	uint32_t slot = f->slot[site->elems[e]], n = f->slot[site->elems[e] + 1] - slot;

	for (unsigned k = 0; k < n; k++) {
		uint32_t was = fr->node[slot + k];
		uint32_t bytes = n == 1 ? f->live[site->elems[e]] : 1u << k;
		bytes = flow_element_bytes(w->cur->func->stmts[site->pc]->form, bytes);
		uint32_t leaf =
			events_load_leaf(x->loads, site, load, bytes << e * site->width, mask);
		struct taint_part both[2] = {{leaf, mask}, {was, taint_lanes(g, was) & ~mask}};
		set_node(g, fr, slot + k, taint_join(g, both, 2));
		taint_drop(g, leaf);
	}
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
	for (uint32_t e = 0; e < site->nelems; e++)
		if (site->elems[e] != NONE)
			load_element(x, w, fr, site, load, e, mask);
	events_load_done(x->loads, load);
}

/* ---- making steps -------------------------------------------------------------------------- */

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
