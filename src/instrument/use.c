/*
 * use.c - loads that the compiler may have invented, checked where their value is taken.
 *
 * nvcc moves a load above its condition. Where it is, such a load is only looked at (possible,
 * never stored). If the thread takes the value later (flow_demand: a select whose predicate says
 * so, a block that uses it), the load was the program's own: there the access is checked and stored
 * as a sure one. The address is kept in a register, the note. It is dropped at whatever may order
 * threads, as the check would be of a later interval; so no order of the load with another access
 * is changed (docs/soundness.md). A select in the load's own block with nothing between that orders
 * has the whole condition: then nothing is checked at the load. So has a product there, or another
 * operation whose other operand says alone whether the value matters (tried.c).
 *
 * Misses: vectors, guarded loads, uses after what orders, among arguments of calls, and those that
 * flow_demand doesn't list: these loads are left to doubt/doubt.c.
 * Costs: a register from the load to the use, a branch and a check at the use; nothing for others.
 */
#include "instrument/internal.h"

#define MAX_NOTES 16u /* of a function: each may take a register all the way */

bool inst_may_order(const struct ptx_stmt *s)
{
	if (s->kind == PTX_STMT_RAW)
		return true;
	if (s->kind != PTX_STMT_INST || s->inserted)
		return false;
	const struct ptx_form *fm = s->form;
	/* Shuffles, votes, matches, mma: registers only. No one of them orders memory (PTX ISA
	 * 9.7.9.6, 9.7.13), and the oracle and iguard take none for an order. */
	if (fm->effects == PTX_EFF_CONVERGENT)
		return false;
	return fm->effects & INST_ORDERS || (fm->effects & (PTX_EFF_READ | PTX_EFF_WRITE) &&
					     fm->sem != PTX_SEM_WEAK && fm->sem != PTX_SEM_NONE);
}

/* ---- planning ----------------------------------------------------------------------------- */

static struct inst_use *use_of(const struct inst_event *e, const struct ptx_stmt *s)
{
	for (struct inst_use *u = e->uses; u; u = u->next)
		if (u->check.stmt == s)
			return u;
	return NULL;
}

/* Where and when a value is taken. */
struct taken {
	struct ptx_stmt *at;
	uint32_t pred;
	bool sense;
	uint8_t tried;
};

static void add_use(struct inst_ctx *cx, struct inst_event *e, const struct taken *t)
{
	struct ptx_stmt *at = t->at;
	bool is_inst = at->kind == PTX_STMT_INST;

	/* Code with branches can't come between a call and its arguments. */
	if (!is_inst || at->form->effects & PTX_EFF_CALL || at->form->space == PTX_SPACE_PARAM ||
	    use_of(e, at))
		return;
	struct inst_use *u = BASE_NEW(&cx->scratch, struct inst_use);
	u->check = *e;
	u->check.uses = NULL;
	u->check.stmt = at;
	u->check.sure = e->maybe;
	u->check.maybe = 0;
	u->pred = t->pred;
	u->sense = t->sense;
	u->tried = t->tried;
	u->next = e->uses;
	e->uses = u;
}

struct walk {
	const struct inst_event *e;
	const struct inst_use **found;
	unsigned nfound;
	bool *seen;
	uint32_t *queue;
	uint32_t n;
};

/* From `s` to the end of block b; what orders ends the way. */
static void walk_block(struct inst_ctx *cx, struct walk *w, uint32_t b, const struct ptx_stmt *s)
{
	const struct flow_block *block = &cx->fl->blocks[b];

	for (; s; s = s->next) {
		const struct inst_use *u = use_of(w->e, s);
		if (u)
			w->found[w->nfound++] = u;
		if (inst_may_order(s))
			return;
		if (s == block->last)
			break;
	}
	for (uint32_t i = 0; i < block->nsucc; i++)
		if (!w->seen[block->succ[i]]) {
			w->seen[block->succ[i]] = true;
			w->queue[w->n++] = block->succ[i];
		}
}

/* Leaves the uses that can be reached with nothing between that orders. */
static void keep_reached(struct inst_ctx *cx, struct inst_event *e, unsigned nuses)
{
	struct walk w = {.e = e};
	struct inst_use *kept = NULL;

	/* The load's block may be walked twice: its end, and all of it. */
	w.found = BASE_NEWN(&cx->scratch, const struct inst_use *, 2 * nuses);
	w.seen = BASE_NEWN(&cx->scratch, bool, cx->fl->nblocks);
	w.queue = BASE_NEWN(&cx->scratch, uint32_t, cx->fl->nblocks + 1u);
	bool is_last = e->stmt == cx->fl->blocks[e->stmt->mark].last;
	walk_block(cx, &w, e->stmt->mark, is_last ? NULL : e->stmt->next);
	for (uint32_t i = 0; i < w.n; i++)
		walk_block(cx, &w, w.queue[i], cx->fl->blocks[w.queue[i]].first);
	for (struct inst_use *u = e->uses, *next; u; u = next) {
		bool is_found = false;
		next = u->next;
		for (unsigned i = 0; i < w.nfound; i++)
			is_found |= w.found[i] == u;
		e->is_lost |= !is_found;
		if (!is_found)
			continue;
		u->next = kept;
		kept = u;
	}
	e->uses = kept;
}

/* Is `at` in the load's block after it, with nothing between that orders? */
static bool is_near(const struct inst_event *e, const struct ptx_stmt *at)
{
	if (at->mark != e->stmt->mark)
		return false;
	for (const struct ptx_stmt *s = e->stmt->next; s && s->kind != PTX_STMT_LABEL; s = s->next)
		if (s == at)
			return true;
		else if (inst_may_order(s))
			return false;
	return false;
}

/* Is this the only use of the value, in the load's own block, and does another operand of it say
 * alone whether the value matters? Then that is the whole condition. */
static bool is_only_tried(struct inst_ctx *cx, const struct inst_event *e,
			  const struct flow_demand_info *info)
{
	const struct flow_cond_use *c = info->conds;
	uint32_t reg = e->stmt->ops[0].reg, ndefs, nuses;

	if (info->nuses || info->nconds != 1 || !c->tried ||
	    inst_how_tried(cx, c->at, c->tried) != INST_TRY_EXACTLY || !is_near(e, c->at))
		return false;
	flow_defs(cx->fl, reg, &ndefs);
	flow_uses(cx->fl, reg, &nuses);
	return ndefs == 1 && nuses == 1;
}

static void plan_load(struct inst_ctx *cx, struct inst_event *e)
{
	const struct ptx_stmt *s = e->stmt;
	struct flow_demand_info info;

	flow_demand(cx->fl, s, s->ops[0].reg, &info);
	if (info.demand == FLOW_DEMAND_SELECT) {
		if (!is_near(e, info.at))
			return;
		add_use(cx, e, &(struct taken){info.at, info.pred, info.sense, 0});
		e->is_selected = e->uses != NULL;
		return;
	}
	if (info.demand != FLOW_DEMAND_MAYBE)
		return;
	unsigned n = info.nuses + info.nconds;
	for (uint32_t i = 0; i < info.nuses; i++)
		add_use(cx, e, &(struct taken){info.uses[i], PTX_NO_REG, true, 0});
	for (uint32_t i = 0; i < info.nconds; i++) {
		const struct flow_cond_use *c = &info.conds[i];
		if (!c->tried || inst_how_tried(cx, c->at, c->tried) != INST_TRY_NOT)
			add_use(cx, e, &(struct taken){c->at, c->pred, c->sense, c->tried});
	}
	if (!e->uses)
		return;
	if (is_only_tried(cx, e, &info)) {
		e->is_selected = true;
		return;
	}
	keep_reached(cx, e, n);
	e->is_noted = e->uses != NULL;
}

void inst_plan_uses(struct inst_ctx *cx, struct inst_events *ev)
{
	unsigned n = 0;

	for (struct inst_event *e = ev->first; e && n < MAX_NOTES; e = e->next) {
		if (e->kind != INST_EVENT_ACCESS || e->strength != RACE_WEAK || e->writes ||
		    !e->maybe || e->sure || e->is_pruned || e->is_judged || e->is_partial)
			continue;
		const struct ptx_stmt *s = e->stmt;
		if (s->pred != PTX_NO_REG || s->form->vec != 1 || !s->nops ||
		    s->ops[0].kind != PTX_OPND_REG || s->ops[0].comp)
			continue;
		plan_load(cx, e);
		n += e->uses != NULL && !e->is_selected;
	}
}

/* ---- the code ----------------------------------------------------------------------------- */

static struct ptx_str width_of(const struct inst_event *e)
{
	return e->space == INST_IN_SHARED ? PTX_STR("u32") : PTX_STR("u64");
}

/* An address for nothing. */
static struct ptx_opnd none_of(struct inst_ctx *cx, const struct inst_event *e)
{
	return inst_int(cx, e->space == INST_IN_SHARED ? 0xffffffff : 0);
}

static void drop_note(struct inst_ctx *cx, const struct inst_event *e, struct ptx_stmt *at)
{
	inst_emit(cx, at, "copy", T(width_of(e)), H(inst_reg(cx, e->note), none_of(cx, e)));
}

static void begin_notes(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *top)
{
	for (struct inst_event *e = ev->first; e; e = e->next) {
		if (!e->uses)
			continue;
		e->note = ptx_new_reg(cx->m, cx->f,
				      e->space == INST_IN_SHARED ? PTX_TYPE_B32 : PTX_TYPE_B64);
		if (e->is_noted && !e->is_selected)
			drop_note(cx, e, top);
	}
}

void inst_note_nothing(struct inst_ctx *cx, const struct inst_event *e)
{
	drop_note(cx, e, e->stmt);
}

void inst_note_load(struct inst_ctx *cx, const struct inst_event *e, struct ptx_opnd at)
{
	inst_emit(cx, e->stmt, "copy", T(width_of(e)), H(inst_reg(cx, e->note), at));
}

static struct ptx_label *begin_use(struct inst_ctx *cx, const struct inst_event *e,
				   const struct inst_use *u, struct ptx_opnd *at)
{
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd to = ptx_opnd_label(over), note = inst_reg(cx, e->note);
	struct ptx_stmt *s = u->check.stmt;

	if (s->pred != PTX_NO_REG)
		inst_emit(cx, s, "unless", NT,
			  H(inst_sense(inst_reg(cx, s->pred), s->is_pred_not), to));
	if (u->pred != PTX_NO_REG)
		inst_emit(cx, s, "unless", NT, H(inst_sense(inst_reg(cx, u->pred), !u->sense), to));
	if (e->is_noted)
		inst_emit(cx, s, "unless_noted", T(width_of(e)), H(note, none_of(cx, e), to));
	if (u->tried)
		inst_emit(cx, s, "unless", NT,
			  H(inst_sense(inst_tried(cx, s, u->tried, false), false), to));
	*at = inst_fresh(cx, e->space == INST_IN_SHARED ? PTX_TYPE_B32 : PTX_TYPE_B64);
	inst_emit(cx, s, "copy", T(width_of(e)), H(*at, note));
	if (e->is_noted) /* once for each load */
		drop_note(cx, e, s);
	return over;
}

/* The notes are dropped before what orders. */
static void end_notes(struct inst_ctx *cx, const struct inst_events *ev)
{
	const struct inst_event *noted[MAX_NOTES];
	unsigned n = 0;

	for (const struct inst_event *e = ev->first; e; e = e->next)
		if (e->uses && e->is_noted && !e->is_selected)
			noted[n++] = e;
	for (struct ptx_stmt *s = cx->f->first; s && n; s = s->next)
		for (unsigned i = 0; inst_may_order(s) && i < n; i++)
			drop_note(cx, noted[i], s);
}

void inst_put_uses(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *top,
		   inst_put_check *put, void *arg)
{
	begin_notes(cx, ev, top);
	for (const struct inst_event *e = ev->first; e; e = e->next)
		for (const struct inst_use *u = e->uses; u; u = u->next) {
			struct ptx_opnd at;
			struct ptx_label *over = begin_use(cx, e, u, &at);
			put(arg, &u->check, at);
			inst_emit_label(cx, u->check.stmt, over);
		}
	end_notes(cx, ev);
}
