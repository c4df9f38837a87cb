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
#include "cpu/sched.h"
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

#define NONE	  UINT32_MAX
#define MAX_PARTS TAINT_PARTS
#define MAX_SLOTS 32u /* that one statement writes */

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
	struct events_frame *fr = cpu_wp(w)->frame;
	struct frame_key key = {w, s->func, s->depth};

	if (fr && fr->key.func == key.func && fr->key.depth == key.depth)
		return fr;
	HASH_FIND(hh, x->frames, &key, sizeof(key), fr);
	if (fr)
		cpu_wp(w)->frame = fr;
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
	while (all->first) {
		struct events_frame *fr = all->first;
		all->first = fr->next;
		for (uint32_t i = 0; i < fr->n; i++) /* most hold nothing */
			if (fr->node[i])
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

static void put_part(struct parts *p, struct taint_part x)
{
	if (x.node && x.lanes && p->n < MAX_PARTS)
		p->v[p->n++] = x;
}

static void add_part(struct parts *p, uint32_t node, uint32_t lanes)
{
	put_part(p, (struct taint_part){node, lanes, false});
}

/* What goes to each slot that the statement writes. */
struct results {
	struct parts to[MAX_SLOTS];
	uint32_t
		old_may[MAX_SLOTS]; /* lanes that don't execute, and may depend on what was there */
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

/* The lanes that take an operand, and those that may. */
struct takes {
	uint32_t lanes, may;
};

/* What depends on each of its slots. */
static void add_operand(struct cpu_warp *w, const struct cpu_inst *in, const struct events_step *st,
			const struct events_frame *fr, const struct events_reg *r,
			struct takes takes, struct results *out)
{
	uint32_t hit[EVENTS_BYTES], lanes = takes.lanes, may = takes.may;

	for (unsigned i = 0; i < r->n && (lanes | may); i++) {
		uint32_t node = fr->node[r->slot + i];
		bool is_tried = st->by_bytes && r->at < EVENTS_FROM;
		if (!node || !(r->taken >> i & 1))
			continue;
		struct events_tried t = {r->at + 1u, i, r->n > 1 ? 1 : 0};
		if (is_tried && !events_tried_bytes(w, in, st, t, lanes, hit)) {
			may |= lanes;
			lanes = 0;
		}
		for (unsigned j = 0; j < out->n; j++) {
			uint32_t is_hit = is_tried ? of_byte(st, hit, out->n, j) : UINT32_MAX;
			if (!(r->from[j] >> i & 1))
				continue;
			add_part(&out->to[j], node, lanes & is_hit);
			put_part(&out->to[j], (struct taint_part){node, may, true});
		}
	}
}

/* Lanes in which two registers, or what two of them will hold, may share a load. */
static uint32_t shared_by(struct taint_graph *g, const struct events_frame *fr,
			  const struct events_reg *a, const struct events_reg *b)
{
	uint32_t lanes = 0;

	for (unsigned i = 0; i < a->n; i++)
		for (unsigned k = 0; k < b->n; k++)
			lanes |= taint_shared(g, fr->node[a->slot + i], fr->node[b->slot + k]);
	return lanes;
}

/* What the operands with a rule of their own hold. */
static void look_at_operands(struct taint_graph *g, const struct events_step *st,
			     const struct events_frame *fr, uint32_t mask, struct events_lanes *x)
{
	const struct events_reg *op[EVENTS_FROM] = {NULL};

	for (uint32_t i = 0; i < st->nreads; i++) {
		const struct events_reg *r = &st->reads[i];
		if (r->reg == st->guard || r->at >= EVENTS_FROM)
			continue;
		op[r->at] = r;
		x->sure[r->at] = lanes_of(g, fr, r) & mask;
	}
	if (op[0] && op[1])
		x->is_same = op[0]->slot == op[1]->slot ||
			     (op[0]->n == 1 && op[1]->n == 1 &&
			      fr->node[op[0]->slot] == fr->node[op[1]->slot]);
	if (st->rule == FLOW_RULE_ANY)
		return;
	for (unsigned i = 0; i < EVENTS_FROM; i++)
		for (unsigned k = 0; k < i; k++)
			if (x->sure[i] & x->sure[k])
				x->shared[i + k - 1] = shared_by(g, fr, op[i], op[k]) & mask;
}

/* A guard in doubt, and what else the instruction reads and overwrites. */
struct guarded {
	const struct events_step *st;
	const struct events_frame *fr;
	uint32_t guard, mask, all;
	uint32_t differ;   /* lanes in which the guard decides what is left, */
	bool is_asked;	   /* if that could be asked */
	uint32_t with_new; /* it shares a load with what is read */
};

/* p ? new : old, of one slot; returns the lanes that may depend on what was there, or not. */
static uint32_t guard_slot(struct taint_graph *g, const struct guarded *x, uint32_t was,
			   struct parts *p)
{
	uint32_t with_old = taint_shared(g, x->guard, was), both = 0, value, sure;

	for (uint32_t i = 0; i < x->st->nreads && was && (x->with_new | with_old); i++)
		for (unsigned k = 0; k < x->st->reads[i].n; k++)
			both |= taint_shared(g, x->fr->node[x->st->reads[i].slot + k], was);
	value = x->differ & ~both;
	for (unsigned i = 0, n = p->n; i < n; i++) {
		struct taint_part may = p->v[i];
		may.lanes &= x->with_new & ~value;
		if (may.is_maybe)
			continue;
		may.is_maybe = true;
		p->v[i].lanes &= ~may.lanes;
		put_part(p, may);
	}
	sure = x->differ & ~((x->mask & with_old) | (~x->mask & x->with_new));
	add_part(p, x->guard, x->all & sure);
	sure = x->all & ~sure & (x->is_asked ? x->differ | x->with_new | with_old : UINT32_MAX);
	put_part(p, (struct taint_part){x->guard, sure, true});
	return ~x->mask & with_old & ~value;
}

static void look_at_guard(struct cpu_events *x, struct cpu_warp *w, const struct cpu_inst *in,
			  const struct events_step *st, const struct events_frame *fr,
			  uint32_t mask, struct results *out)
{
	struct taint_graph *g = events_graph(x->loads);
	struct events_reg own = {.slot = st->guard_slot, .n = 1};
	struct guarded of = {.st = st,
			     .fr = fr,
			     .guard = fr->node[st->guard_slot],
			     .mask = mask,
			     .all = w->cur->mask};
	uint32_t hit[EVENTS_BYTES], any = 0;
	unsigned j = 0;

	of.is_asked = events_guard_decides(w, in, st, of.all, &any, hit);
	for (uint32_t i = 0; i < st->nreads; i++)
		if (st->reads[i].reg != st->guard)
			of.with_new |= shared_by(g, fr, &own, &st->reads[i]);
	for (uint32_t i = 0; i < st->nwrites && !st->is_last; i++)
		for (unsigned k = 0; k < st->writes[i].n && j < out->n; k++, j++) {
			/* One that writes its own guard: without it, that is what it was. */
			bool is_own = st->writes[i].reg == st->guard;
			of.differ = st->writes[i].n > 1 && k < EVENTS_BYTES ? hit[k] : any;
			out->old_may[j] = guard_slot(
				g, &of, is_own ? 0 : fr->node[st->writes[i].slot + k], &out->to[j]);
		}
	of.differ = any;
	if (st->is_last)
		guard_slot(g, &of, st->nwrites ? fr->node[st->writes[0].slot] : 0, &out->to[0]);
}

/* What the result of a pure statement depends on. */
static void sources(struct cpu_events *x, struct cpu_warp *w, const struct cpu_inst *in,
		    const struct events_step *st, const struct events_frame *fr, uint32_t mask,
		    struct results *out)
{
	struct events_lanes of = {0};

	look_at_operands(events_graph(x->loads), st, fr, mask, &of);
	/* By bytes: each is tried, whatever the operand is as a whole. */
	struct events_lanes all = of;
	if (of.sure[0] | of.sure[1] | of.sure[2])
		events_depends(w, in, st, mask, &of);
	for (uint32_t i = 0; i < st->nreads; i++) {
		const struct events_reg *r = &st->reads[i];
		if (r->reg == st->guard)
			continue; /* below */
		struct takes t = {mask, 0};
		if (r->at < EVENTS_FROM)
			t = (struct takes){st->by_bytes ? all.sure[r->at] : of.sure[r->at],
					   of.may[r->at]};
		else if (st->rule == FLOW_RULE_NEVER)
			t = (struct takes){0, mask};
		add_operand(w, in, st, fr, r, t, out);
	}
	if (st->guard != NONE && fr->node[st->guard_slot])
		look_at_guard(x, w, in, st, fr, mask, out);
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

	if (!was && !node)
		return;
	cpu_wp(fr->key.warp)->nheld += (node != 0) - (uint32_t)(was != 0);
	fr->node[slot] = node;
	taint_drop(g, was);
}

static bool are_equal(const struct parts *a, const struct parts *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (a->v[i].node != b->v[i].node || a->v[i].lanes != b->v[i].lanes ||
		    a->v[i].is_maybe != b->v[i].is_maybe)
			return false;
	return true;
}

/* What is written gets its parts, and keeps what it had in lanes that don't execute. */
static void write_results(struct taint_graph *g, const struct cpu_warp *w,
			  const struct events_step *st, struct events_frame *fr,
			  struct results *res, uint32_t mask)
{
	uint32_t node[MAX_SLOTS];
	bool is_own = false; /* a node was made for the slot before this one */
	unsigned j = 0;

	for (uint32_t i = 0; i < st->nwrites; i++) {
		const struct events_reg *r = &st->writes[i];
		uint32_t done = st->is_pure && r->reg == st->guard ? w->cur->mask : mask;
		for (unsigned k = 0; k < r->n && j < MAX_SLOTS; k++, j++) {
			uint32_t was = fr->node[r->slot + k];
			struct parts *p = &res->to[j];
			uint32_t old = taint_lanes(g, was) & ~done;
			add_part(p, was, old & ~res->old_may[j]);
			put_part(p, (struct taint_part){was, old & res->old_may[j], true});
			/* Bytes of one register mostly depend on the same. */
			if (k && p->n && are_equal(p, p - 1)) {
				node[j] = is_own ? taint_again(g, node[j - 1])
						 : taint_keep(g, node[j - 1]);
				continue;
			}
			node[j] = p->n ? taint_join(g, p->v, p->n) : 0;
			is_own = node[j] && g->v[node[j]].refs == 1;
		}
	}
	j = 0;
	for (uint32_t i = 0; i < st->nwrites; i++)
		for (unsigned k = 0; k < st->writes[i].n && j < MAX_SLOTS; k++, j++)
			set_node(g, fr, st->writes[i].slot + k, node[j]);
}

/* Is nothing in doubt of what the statement reads, and does nothing remain of what it overwrites?
 * Then it changes nothing. */
static bool is_over(const struct taint_graph *g, const struct events_step *st,
		    const struct events_frame *fr)
{
	bool is_open = st->guard != NONE && taint_is_open(g, fr->node[st->guard_slot]);

	for (uint32_t i = 0; i < st->nreads; i++)
		for (unsigned k = 0; k < st->reads[i].n; k++)
			is_open |= taint_is_open(g, fr->node[st->reads[i].slot + k]);
	for (uint32_t i = 0; i < st->nwrites; i++)
		for (unsigned k = 0; k < st->writes[i].n; k++)
			is_open |= fr->node[st->writes[i].slot + k] != 0;
	return !is_open;
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
		res->to[j].n = res->old_may[j] = 0;
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
			if (!res.to[0].v[i].is_maybe)
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

	/* What a warp holds is changed by its worker alone: it may look without the lock. */
	if (!cpu_wp(w)->nheld || !x || !follow || x->judges)
		return;
	uint32_t step = follow->step_of[in - f->code];
	struct events_frame *fr = step ? frame_of(x, w) : NULL;
	if (!fr || is_over(events_graph(x->loads), &follow->steps[step - 1], fr))
		return;
	events_lock(x);
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
		struct taint_part both[2] = {{leaf, mask, false},
					     {was, taint_lanes(g, was) & ~mask, false}};
		set_node(g, fr, slot + k, taint_join(g, both, 2));
		taint_drop(g, leaf);
	}
}

void events_used_load(struct cpu_events *x, const struct cpu_warp *w, const struct cpu_site *site,
		      uint32_t mask, const uint64_t *at)
{
	/* Workers' judges have no kernel whose loads are in doubt. */
	if (x->judges)
		return;
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
