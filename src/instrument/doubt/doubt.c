/*
 * doubt.c - loads that the compiler may have invented: a race of one is held until the thread uses
 * the value that it loaded, however far that is.
 *
 * use.c checks such a load where its value is taken, if nothing between the two may order threads.
 * Where something does (sums over barriers), or the uses aren't known in advance, this file follows
 * the value: each register that may hold something computed from such values (flow_trace) has a
 * mask beside it, one for those that depend on the same (flow_trace_merge), and each execution of a
 * load a place of the thread's RACE_HELD (held.h) and a bit.
 * A pure statement hands on the bits of the operands on which its result depends (depend.c), any
 * other one uses what it reads. So does one whose result is surely used. Three calls, which each
 * detector has:
 *
 *	hold	at the load: it is looked at, and gets a place
 *	settle	before what may order the thread, after a barrier of the block: those not raced yet
 *		are looked at once more, and leave
 *	used	at a use: a race that was found is a data race; an open read is checked and stored
 *
 * After a settling the masks keep what has raced alone, and places that no mask has are free.
 * Where two ways of one value may cancel out, its bit is lost (cancel.c).
 *
 * needs: flow, inst_plan_uses before. Why it is sound: docs/soundness.md.
 * Misses: vectors of bytes, executions for which all RACE_HELD places are taken, writes that come
 * after the last settling, or that others cover before it; values that leave the function (they
 * count as used); functions of more than MAX_MASKS such registers: some of their loads are only
 * looked at, for which the kernel is judged in part.
 * Costs: a call for each execution of such a load and for each use of one that is open, an addition
 * where a value is computed; some registers.
 */
#include "instrument/doubt/doubt.h"

#include "instrument/templates.h"
#include "race/layout/held.h"

#include <string.h>

#define MAX_MASKS  64u	 /* bits of a set */
#define MAX_PLACES 4096u /* settlings times masks */

RACE_STATIC_ASSERT(RACE_HELD_IN_GLOBAL == INST_IN_GLOBAL && RACE_HELD_IN_SHARED == INST_IN_SHARED,
		   "handed over");

void inst_doubt_emit(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
		     const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes)
{
	ptx_emit(ptx_template_get(cx->doubt_ts, name, ntexts, texts), cx->f, at, NULL, nholes,
		 holes);
}

bool inst_read_doubt(struct inst_ctx *cx)
{
	cx->doubt_ts = ptx_templates_read(cx->m, inst_doubt_templates, cx->sink);
	return cx->doubt_ts != NULL;
}

/* ---- which loads ------------------------------------------------------------------------- */

/* Element i of what the load writes. */
static const struct ptx_opnd *element(const struct inst_event *e, unsigned i)
{
	const struct ptx_opnd *to = &e->stmt->ops[0];

	return to->kind == PTX_OPND_VEC ? &to->sub[i] : to;
}

/* Are the registers that are taken apart, taken apart in words? */
static bool is_by_words(struct inst_ctx *cx, const struct flow_trace *t)
{
	for (uint32_t r = 0; r < cx->f->nregs; r++) {
		uint32_t n;
		if (t->index[r] == UINT32_MAX || !t->is_split[t->index[r]])
			continue;
		struct ptx_stmt *const *uses = flow_uses(cx->fl, r, &n);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t taken = flow_taken_bytes(cx->fl, uses[i], r);
			uint32_t low = taken & 15u, high = taken >> 4;
			if ((low && low != 15u) || (high && high != 15u))
				return false;
		}
	}
	return true;
}

/* The words of element i; 0: it isn't in doubt, or shares a word with another one. */
static uint8_t words_of(struct inst_ctx *cx, const struct inst_event *e, unsigned i)
{
	const struct ptx_form *fm = e->stmt->form;
	const struct ptx_opnd *o = element(e, i);
	uint32_t n = fm->width < 4 ? 1u : fm->width / 4u, words;

	if (o->kind != PTX_OPND_REG || o->comp || (fm->width < 4 && fm->vec > 1))
		return 0;
	words = (((1u << n) - 1u) << i * n) & e->maybe;
	if (!words || n > 2)
		return 0;
	/* A mask is that of a word: one for all its bytes. */
	if (inst_writes_bytes(cx, e->stmt)) {
		struct flow_start start = {e->stmt, o->reg};
		if (!is_by_words(cx, flow_trace(cx->fl, &start, 1)))
			return 0;
	}
	/* One word is sure, the other one in doubt: that has a mask of its own if the two part. */
	if (e->sure >> i * n & ((1u << n) - 1u) && flow_is_whole(cx->fl, o->reg))
		return 0;
	return (uint8_t)words;
}

static bool can_hold(const struct inst_event *e)
{
	const struct ptx_stmt *s = e->stmt;

	return e->kind == INST_EVENT_ACCESS && e->strength == RACE_WEAK && !e->writes && e->maybe &&
	       !e->is_pruned && !e->is_selected && !e->is_judged && !e->is_partial &&
	       s->nops >= 2 && (s->form->op == PTX_OP_LD || s->form->op == PTX_OP_LDU) &&
	       (s->ops[0].kind == PTX_OPND_REG ||
		(s->ops[0].kind == PTX_OPND_VEC && s->ops[0].nsub >= s->form->vec));
}

/* Is `s` among the places where use.c checks the load? */
static bool is_checked_at(const struct inst_event *e, const struct ptx_stmt *s)
{
	for (const struct inst_use *u = e->uses; u; u = u->next)
		if (u->check.stmt == s)
			return true;
	return false;
}

static bool lives_on(struct flow *fl, const struct flow_trace *t, uint32_t block)
{
	const uint64_t *out = flow_live_out(fl, block);

	for (uint32_t r = 0; r < fl->f->nregs; r++)
		if (t->index[r] != UINT32_MAX && out[r / 64] >> r % 64 & 1)
			return true;
	return false;
}

/* Does a register of the trace hold something over a statement that may order threads? */
static bool is_held_over(struct flow *fl, const struct flow_trace *t, const struct ptx_stmt *load)
{
	for (uint32_t b = 0; b < fl->nblocks; b++) {
		bool is_past = false;
		for (const struct ptx_stmt *s = fl->blocks[b].first; s; s = s->next) {
			bool is_inst = s->kind == PTX_STMT_INST && !s->inserted;
			if (s == load)
				is_past = false;
			else if (is_past && is_inst && flow_step_of(fl, t, s) != UINT32_MAX)
				return true;
			is_past |= inst_may_order(s);
			if (s == fl->blocks[b].last)
				break;
		}
		if (is_past && lives_on(fl, t, b))
			return true;
	}
	return false;
}

/* Does use.c do all that there is to do? */
static bool is_enough(struct inst_ctx *cx, const struct inst_event *e)
{
	struct flow_start start = {e->stmt, e->stmt->ops[0].reg};

	if (!e->uses || e->is_lost)
		return false;
	struct flow_trace *t = flow_trace(cx->fl, &start, 1);
	for (uint32_t i = 0; i < t->nsteps; i++)
		if (t->steps[i].is_last && !is_checked_at(e, t->steps[i].at))
			return false;
	return !is_held_over(cx->fl, t, e->stmt);
}

struct starts {
	BASE_VEC(struct flow_start) v;
	BASE_VEC(struct inst_event *) of;
	BASE_VEC(uint8_t) words;
};

static void find_starts(struct inst_ctx *cx, struct inst_events *ev, struct starts *st)
{
	for (struct inst_event *e = ev->first; e; e = e->next) {
		if (!can_hold(e) || (e->uses && is_enough(cx, e)))
			continue;
		for (unsigned i = 0; i < e->stmt->form->vec; i++) {
			uint8_t words = words_of(cx, e, i);
			if (!words)
				continue;
			base_vec_push(&st->v, ((struct flow_start){e->stmt, element(e, i)->reg}));
			base_vec_push(&st->of, e);
			base_vec_push(&st->words, words);
		}
	}
}

static uint32_t count_orders(const struct ptx_func *f)
{
	uint32_t n = 1;

	ptx_each_stmt(f, s) n += inst_may_order(s);
	return n;
}

/* A register with two masks: each for its words. */
static void part_halves(struct inst_ctx *cx, const struct inst_doubt_plan *p, struct inst_event *e,
			struct inst_held *h)
{
	unsigned low_bit = 0, n = e->stmt->form->width / 4u;

	if (p->high[p->trace->index[h->reg]] == PTX_NO_REG)
		return;
	for (unsigned i = 0; i < e->stmt->form->vec; i++)
		if (element(e, i)->kind == PTX_OPND_REG && element(e, i)->reg == h->reg)
			low_bit = n * i;
	uint8_t low = (uint8_t)(h->words & 1u << low_bit), high = (uint8_t)(h->words & ~low);
	h->words = low ? low : high;
	h->is_high = !low;
	if (!low || !high)
		return;
	struct inst_held *more = BASE_NEW(&cx->scratch, struct inst_held);
	*more = (struct inst_held){e->held, h->reg, high, true};
	e->held = more;
}

/* The loads take their words from the ordinary check, and their uses from use.c. */
static void take_over(struct inst_ctx *cx, const struct inst_doubt *d, struct starts *st,
		      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct inst_event *e = st->of.v[i];
		struct inst_held *h = BASE_NEW(&cx->scratch, struct inst_held);

		*h = (struct inst_held){e->held, st->v.v[i].reg, st->words.v[i], false};
		e->held = h;
		e->maybe &= (uint8_t)~h->words;
		part_halves(cx, d->plan, e, h);
		e->uses = NULL;
		e->is_noted = false;
	}
}

/* ---- what is live where threads are ordered ---------------------------------------------- */

struct liveness {
	const struct flow_trace *t;
	const struct ptx_stmt *s;
	uint64_t live;
};

static void kill_written(uint32_t reg, bool is_write, void *arg)
{
	struct liveness *l = arg;

	if (is_write && l->t->index[reg] != UINT32_MAX && l->s->pred == PTX_NO_REG)
		l->live &= ~(1ull << l->t->index[reg]);
}

static void add_live(uint32_t reg, bool is_write, void *arg)
{
	struct liveness *l = arg;

	if (!is_write && l->t->index[reg] != UINT32_MAX)
		l->live |= 1ull << l->t->index[reg];
}

/* A barrier of the block: what comes up to it is looked at when all have passed it. */
static bool is_settled_after(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && s->pred == PTX_NO_REG && flow_is_block_barrier(s);
}

static void add_settle(struct inst_doubt_plan *p, const struct ptx_stmt *s, uint64_t live)
{
	p->settle[p->nsettle++] = (struct inst_settle){s, live};
}

/* The registers of the trace that are read after a settling: that of a call comes before its
 * arguments. */
static void find_live(struct inst_ctx *cx, struct inst_doubt_plan *p)
{
	struct liveness l = {.t = p->trace};

	p->settle = BASE_NEWN(&cx->scratch, struct inst_settle, count_orders(cx->f));
	for (uint32_t b = 0; b < cx->fl->nblocks; b++) {
		const struct flow_block *block = &cx->fl->blocks[b];
		const uint64_t *out = flow_live_out(cx->fl, b);
		const struct ptx_stmt *call = NULL, *place = NULL;
		l.live = 0;
		for (uint32_t r = 0; r < cx->fl->f->nregs; r++)
			if (out[r / 64] >> r % 64 & 1)
				add_live(r, false, &l);
		for (const struct ptx_stmt *s = block->last; s; s = s->prev) {
			bool orders = inst_may_order(s);
			if (orders && is_settled_after(s))
				add_settle(p, s, l.live);
			l.s = s;
			if (s->kind == PTX_STMT_INST && !s->inserted) {
				ptx_each_reg(s, kill_written, &l);
				ptx_each_reg(s, add_live, &l);
			}
			if (orders && !is_settled_after(s)) {
				call = s;
				place = inst_before_arguments((struct ptx_stmt *)(uintptr_t)s);
			}
			if (call && s == place) {
				add_settle(p, call, l.live);
				call = NULL;
			}
			if (s == block->first)
				break;
		}
	}
}

/* Which registers have two masks. */
static void find_halves(struct inst_ctx *cx, struct inst_doubt_plan *p)
{
	for (uint32_t r = 0; r < cx->f->nregs; r++) {
		uint32_t i = r < p->nindex ? p->trace->index[r] : UINT32_MAX;
		if (i == UINT32_MAX)
			continue;
		bool is_wide = ptx_type_bytes((enum ptx_type)cx->f->reg_type[r]) == 8;
		/* Which registers they are is known when the code is made. */
		p->high[i] = p->trace->is_split[i] && is_wide ? 0 : PTX_NO_REG;
	}
}

/* Loads in doubt of which no use is seen, or not each: their races are possible at most. */
static void note_looked_at(struct inst_ctx *cx, const struct inst_events *ev)
{
	for (struct inst_event *e = ev->first; e; e = e->next)
		if (e->kind == INST_EVENT_ACCESS && e->strength == RACE_WEAK && !e->writes &&
		    e->maybe && !e->is_pruned && !e->is_selected && !e->is_judged &&
		    !(e->uses && is_enough(cx, e)))
			inst_unchecked(cx, PTX_STR("load whose value isn't followed"),
				       RACE_WHY_LOOKED_AT, true);
}

void inst_plan_doubt(struct inst_ctx *cx, struct inst_events *ev, struct inst_doubt *d)
{
	struct starts st = {0};
	struct flow_trace *t = NULL;
	uint32_t n, orders = count_orders(cx->f);

	/* Nothing would be certain. */
	if (ev->is_unsure)
		return;
	find_starts(cx, ev, &st);
	for (n = (uint32_t)st.v.n; n; n /= 2) {
		t = flow_trace(cx->fl, st.v.v, n);
		flow_trace_merge(cx->fl, t);
		if (t->nregs <= MAX_MASKS && t->nregs * orders <= MAX_PLACES)
			break;
	}
	if (n) {
		d->plan = BASE_NEW(&cx->scratch, struct inst_doubt_plan);
		d->plan->trace = t;
		d->plan->nindex = cx->f->nregs;
		d->plan->mask = BASE_NEWN(&cx->scratch, uint32_t, t->nregs);
		d->plan->high = BASE_NEWN(&cx->scratch, uint32_t, t->nregs);
		find_halves(cx, d->plan);
		find_live(cx, d->plan);
		inst_find_meeting(cx, d->plan, st.v.v, n);
		take_over(cx, d, &st, n);
	}
	note_looked_at(cx, ev);
	base_vec_free(&st.v);
	base_vec_free(&st.of);
	base_vec_free(&st.words);
}

/* ---- calls ------------------------------------------------------------------------------- */

static struct ptx_label *begin_skip(struct inst_ctx *cx, struct ptx_opnd p, struct ptx_stmt *at)
{
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);

	inst_doubt_emit(cx, at, "skip_if", NT, H(p, ptx_opnd_label(over)));
	return over;
}

static void put_used(struct inst_ctx *cx, const struct inst_doubt *d, struct ptx_opnd m,
		     struct ptx_stmt *at)
{
	struct ptx_opnd p, live = inst_reg(cx, d->live), table;

	if (!inst_is_mask(m))
		return;
	m = inst_without_lost(cx, d->plan, m, at);
	p = inst_fresh(cx, PTX_TYPE_PRED);
	inst_doubt_emit(cx, at, "used_nothing", T(inst_num(RACE_HELD)), H(p, m, live));
	struct ptx_label *over = begin_skip(cx, p, at);
	table = d->table(d->arg, at);
	inst_emit(cx, at, "used", NT,
		  H(inst_reg(cx, d->me), inst_reg(cx, d->state), table, inst_reg(cx, d->places),
		    live, m));
	inst_emit_label(cx, at, over);
}

/* live: masks of registers that are read later; others may keep bits, which are never asked. */
static void put_settle(struct inst_ctx *cx, const struct inst_doubt *d, bool is_after,
		       uint64_t live_masks, struct ptx_stmt *at)
{
	const struct inst_doubt_plan *p = d->plan;
	struct ptx_opnd none = inst_fresh(cx, PTX_TYPE_PRED), live = inst_reg(cx, d->live);
	struct ptx_opnd all = inst_fresh(cx, PTX_TYPE_B32), due = inst_reg(cx, d->due), table;

	inst_doubt_emit(cx, at, "is_nothing_live", NT, H(none, live));
	struct ptx_label *over = begin_skip(cx, none, at);
	inst_doubt_emit(cx, at, "set_mask", NT, H(all, due));
	for (uint64_t m = live_masks; m; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(m);
		inst_doubt_emit(cx, at, "join_masks", NT, H(all, all, inst_reg(cx, p->mask[i])));
		if (p->high[i] != PTX_NO_REG)
			inst_doubt_emit(cx, at, "join_masks", NT,
					H(all, all, inst_reg(cx, p->high[i])));
	}
	all = inst_without_lost(cx, p, all, at);
	table = d->table(d->arg, at);
	inst_emit(cx, at, "settle", T(inst_num(is_after ? (int64_t)RACE_HELD_AFTER : 0)),
		  H(inst_reg(cx, d->me), inst_reg(cx, d->state), table, inst_reg(cx, d->places),
		    live, all));
	inst_doubt_emit(cx, at, "raced", T(inst_num(RACE_HELD)), H(all, live));
	for (uint64_t m = live_masks; m; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(m);
		struct ptx_opnd reg = inst_reg(cx, p->mask[i]);
		inst_doubt_emit(cx, at, "meet_masks", NT, H(reg, reg, all));
		if (p->high[i] == PTX_NO_REG)
			continue;
		reg = inst_reg(cx, p->high[i]);
		inst_doubt_emit(cx, at, "meet_masks", NT, H(reg, reg, all));
	}
	inst_doubt_emit(cx, at, "meet_masks", NT, H(due, due, all));
	inst_emit_label(cx, at, over);
}

/* ---- masks ------------------------------------------------------------------------------- */

/* A register of the trace that the statement writes gets the mask, where its guard is true. */
struct writing {
	struct inst_ctx *cx;
	const struct inst_doubt *d;
	struct ptx_stmt *s;
	struct ptx_opnd m;
	struct inst_guarded guard;
};

static void write_mask(uint32_t reg, bool is_write, void *arg)
{
	struct writing *w = arg;
	struct ptx_opnd to = inst_mask_of(w->cx, w->d->plan, reg);

	if (is_write && inst_is_mask(to))
		inst_write_mask(w->cx, w->d->plan, w->s, to, w->m, &w->guard);
}

/* All that the statement reads, where its guard is true, and the guard. */
struct reading {
	struct inst_ctx *cx;
	const struct inst_doubt_plan *p;
	struct ptx_stmt *s;
	struct ptx_opnd m;
};

static void read_mask(uint32_t reg, bool is_write, void *arg)
{
	struct reading *r = arg;

	if (!is_write && reg != r->s->pred)
		r->m = inst_join_masks(r->cx, r->m, inst_mask_of(r->cx, r->p, reg), r->s);
}

static struct ptx_opnd all_reads(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st, bool has_halves)
{
	struct ptx_stmt *s = st->at;
	struct reading r = {cx, p, s, inst_none()};

	if (has_halves)
		r.m = inst_mask_for(cx, p, st, PTX_NO_REG, 0);
	else
		ptx_each_reg(s, read_mask, &r);
	if (s->pred == PTX_NO_REG)
		return r.m;
	r.m = inst_mask_where(cx, r.m, inst_reg(cx, s->pred), !s->is_pred_not, s);
	return inst_join_masks(cx, r.m, inst_mask_of(cx, p, s->pred), s);
}

/* Nothing with a branch may come between a call and its arguments: it is due after the call. */
static bool is_argument(const struct ptx_stmt *s)
{
	return s->form->space == PTX_SPACE_PARAM || s->form->effects & PTX_EFF_CALL;
}

static void put_effect(struct inst_ctx *cx, const struct inst_doubt *d, const struct flow_step *st,
		       bool has_halves)
{
	struct ptx_stmt *s = st->at;
	struct ptx_opnd m = all_reads(cx, d->plan, st, has_halves), due = inst_reg(cx, d->due);

	if (is_argument(s) && inst_is_mask(m))
		inst_doubt_emit(cx, s, "join_masks", NT, H(due, due, m));
	else
		put_used(cx, d, m, s);
}

static void put_step(struct inst_ctx *cx, const struct inst_doubt *d, const struct flow_step *st)
{
	const struct inst_guarded no_guard = {inst_none(), inst_none()};
	struct writing w = {cx, d, st->at, inst_none(), no_guard};
	bool has_halves = inst_has_halves(cx, d->plan, st->at);

	if (!st->is_pure) {
		put_effect(cx, d, st, has_halves);
	} else if (!has_halves || st->is_last) {
		w.m = has_halves ? inst_mask_for(cx, d->plan, st, PTX_NO_REG, 0)
				 : inst_result_mask(cx, d->plan, st);
		w.guard = inst_guard_mask(cx, d->plan, st, INST_WHOLE);
	}
	if (st->is_pure && st->is_last) {
		put_used(cx, d, inst_last_mask(cx, d->plan, st->at, w.m, &w.guard), st->at);
		w.m = inst_none();
		w.guard = no_guard;
	}
	if (has_halves)
		inst_write_halves(cx, d->plan, st);
	else
		ptx_each_reg(st->at, write_mask, &w);
}

static void put_hold(struct inst_ctx *cx, const struct inst_doubt *d, const struct inst_event *e)
{
	struct ptx_opnd at = d->address(d->arg, e);

	if (e->space == INST_IN_SHARED) {
		struct ptx_opnd wide = inst_fresh(cx, PTX_TYPE_B64);
		inst_doubt_emit(cx, e->stmt, "wide_address", NT, H(wide, at));
		at = wide;
	}
	for (const struct inst_held *h = e->held; h; h = h->next) {
		struct writing w = {
			cx, d, e->stmt, inst_fresh(cx, PTX_TYPE_B32), {inst_none(), inst_none()}};
		struct inst_event part = *e;
		part.sure = 0;
		part.maybe = h->words;
		int64_t what = d->what(d->arg, &part) | (int64_t)e->space << RACE_HELD_SPACE_AT;
		inst_doubt_emit(cx, e->stmt, "zero_mask", NT, H(w.m));
		struct ptx_label *over = d->skip(d->arg, e);
		struct ptx_opnd table = d->table(d->arg, e->stmt);
		inst_emit(cx, e->stmt, "hold", T(inst_num(what)),
			  H(inst_reg(cx, d->me), inst_reg(cx, d->state), table,
			    inst_reg(cx, d->places), at, inst_reg(cx, d->live), w.m));
		inst_end_skip(cx, over, e->stmt);
		if (d->plan->lost != PTX_NO_REG) { /* another execution */
			struct ptx_opnd lost = inst_reg(cx, d->plan->lost);
			inst_doubt_emit(cx, e->stmt, "without_mask", NT, H(lost, lost, w.m));
		}
		if (h->is_high)
			inst_write_mask(cx, d->plan, e->stmt,
					inst_reg(cx, d->plan->high[d->plan->trace->index[h->reg]]),
					w.m, NULL);
		else
			write_mask(h->reg, true, &w);
	}
}

/* ======================================================================== */

void inst_begin_doubt(struct inst_ctx *cx, struct inst_doubt *d, struct ptx_stmt *top)
{
	if (!d->plan)
		return;
	d->live = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	d->due = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	d->places = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	inst_doubt_emit(cx, top, "declare_held",
			T((struct ptx_str){&d->detector, 1}, inst_num(RACE_HELD_BYTES)),
			H(inst_reg(cx, d->places)));
	inst_doubt_emit(cx, top, "zero_mask", NT, H(inst_reg(cx, d->live)));
	inst_doubt_emit(cx, top, "zero_mask", NT, H(inst_reg(cx, d->due)));
	if (d->plan->meet) {
		d->plan->lost = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
		inst_doubt_emit(cx, top, "zero_mask", NT, H(inst_reg(cx, d->plan->lost)));
	}
	for (uint32_t i = 0; i < d->plan->trace->nregs; i++) {
		d->plan->mask[i] = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
		inst_doubt_emit(cx, top, "zero_mask", NT, H(inst_reg(cx, d->plan->mask[i])));
		if (d->plan->high[i] == PTX_NO_REG)
			continue;
		d->plan->high[i] = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
		inst_doubt_emit(cx, top, "zero_mask", NT, H(inst_reg(cx, d->plan->high[i])));
	}
}

static bool has_due(const struct ptx_stmt *s)
{
	return inst_leaves(s) ||
	       (s->kind == PTX_STMT_INST && !s->inserted && s->form->effects & PTX_EFF_CALL);
}

/* In the order of blocks, backwards in each: there are few. */
static uint64_t live_at(const struct inst_doubt_plan *p, const struct ptx_stmt *s)
{
	for (uint32_t i = 0; i < p->nsettle; i++)
		if (p->settle[i].at == s)
			return p->settle[i].live;
	return ~0ull >> (64u - p->trace->nregs); /* unreachable code */
}

void inst_settle_after(struct inst_ctx *cx, const struct inst_doubt *d, const struct ptx_stmt *s,
		       struct ptx_stmt *at)
{
	if (d->plan && is_settled_after(s))
		put_settle(cx, d, true, live_at(d->plan, s), at);
}

void inst_put_doubt(struct inst_ctx *cx, const struct inst_events *ev, const struct inst_doubt *d)
{
	if (!d->plan)
		return;
	for (uint32_t i = 0; i < d->plan->trace->nsteps; i++)
		if (!d->plan->trace->steps[i].is_merged)
			put_step(cx, d, &d->plan->trace->steps[i]);
	for (const struct inst_event *e = ev->first; e; e = e->next)
		if (e->held)
			put_hold(cx, d, e);
	for (struct ptx_stmt *s = cx->f->first, *next; s; s = next) {
		next = s->next;
		if (inst_may_order(s) && !is_settled_after(s))
			put_settle(cx, d, false, live_at(d->plan, s), inst_before_arguments(s));
		if (has_due(s)) {
			struct ptx_stmt *at = inst_leaves(s) ? s : s->next;
			put_used(cx, d, inst_reg(cx, d->due), at);
			inst_doubt_emit(cx, at, "zero_mask", NT, H(inst_reg(cx, d->due)));
		}
	}
}
