/*
 * collide.c - the fast path of detector `collide`: after a random delay, read again.
 *
 * SuperCollider sections 3.1 (clobbered read), 3.2 (lost update) and 3.3
 * (intra-warp lost update). The user's instruction stays as it is, and what it
 * read or wrote is kept beside it (capture.c); at the end of the group one draw decides for the
 * warp, one sleep follows, all accesses are read again and one branch leads to the cold code
 * (cold.c).
 *
 * Costs per group: see the count above the templates in collide.ptxt.
 */
#include "instrument/collide/collide.h"
#include "instrument/launches.h"

#include <string.h>

static uint32_t new_reg(struct inst_ctx *cx, enum ptx_type t)
{
	return ptx_new_reg(cx->m, cx->f, t);
}

/* ---- at the end of the group ------------------------------------------------ */

static void test_private(struct inst_ctx *cx, struct inst_access *a, struct ptx_stmt *at)
{
	struct ptx_opnd ok = inst_reg(cx, new_reg(cx, PTX_TYPE_PRED)), addr = a->addr.sub[0];

	/* The base alone may lie just outside the window that contains base + offset. */
	if (a->addr.off) {
		addr = inst_reg(cx, new_reg(cx, PTX_TYPE_B64));
		inst_emit(cx, at, "add_offset", NT,
			  H(addr, a->addr.sub[0], inst_int(cx, a->addr.off)));
	}
	if (a->guard.kind == PTX_OPND_SINK) {
		inst_emit(cx, at, "not_private", NT, H(ok, addr));
	} else if (a->guard.flags & PTX_OPND_NOT) {
		struct ptx_opnd g = inst_reg(cx, inst_condition(cx, a->guard.reg, false, at));
		inst_emit(cx, at, "not_private_and", NT, H(ok, addr, g));
	} else {
		inst_emit(cx, at, "not_private_and", NT, H(ok, addr, a->guard));
	}
	a->guard = ok;
}

static struct ptx_str space_suffix(enum ptx_space s)
{
	switch (s) {
	case PTX_SPACE_GLOBAL:
		return ptx_mod_suffix(PTX_MOD_GLOBAL);
	case PTX_SPACE_SHARED:
		return ptx_mod_suffix(PTX_MOD_SHARED);
	case PTX_SPACE_SHARED_CLUSTER:
		return ptx_mod_suffix(PTX_MOD_SHARED_CLUSTER);
	default:
		return PTX_STR("");
	}
}

static void reread(struct inst_ctx *cx, struct inst_access *a, struct ptx_stmt *at)
{
	static const enum ptx_mod vec[] = {
		[1] = PTX_MOD_UNKNOWN, [2] = PTX_MOD_V2, [4] = PTX_MOD_V4, [8] = PTX_MOD_V8};
	struct ptx_opnd now = {.kind = PTX_OPND_VEC, .nsub = a->vec};
	struct ptx_str type = inst_type_of(a->type);

	now.sub = BASE_NEWN(cx->m->arena, struct ptx_opnd, a->vec);
	for (unsigned i = 0; i < a->vec; i++) {
		a->elem[i].now = inst_value_reg(cx, a->bits);
		now.sub[i] = inst_reg(cx, a->elem[i].now);
	}
	if (a->vec == 1)
		now = now.sub[0];
	inst_emit(cx, at, "reread", T(space_suffix(a->space), ptx_mod_suffix(vec[a->vec]), type),
		  H(now, a->addr, a->guard));
}

static void differ(struct inst_ctx *cx, const struct inst_access *a, uint32_t q, bool *first,
		   struct ptx_stmt *at)
{
	for (unsigned i = 0; i < a->vec; i++) {
		const struct inst_elem *e = &a->elem[i];

		if (!e->checked)
			continue;
		struct ptx_opnd was = inst_reg(cx, e->was), now = inst_reg(cx, e->now);
		if (*first && a->guard.kind == PTX_OPND_SINK && a->bits < 128) {
			inst_emit(cx, at, "differ_first", T(inst_num(a->bits)),
				  H(inst_reg(cx, q), was, now));
		} else {
			if (*first)
				inst_emit(cx, at, "clear", NT, H(inst_reg(cx, q)));
			if (a->bits < 128)
				inst_emit(cx, at, "differ", T(inst_num(a->bits)),
					  H(inst_reg(cx, q), was, now, a->guard));
			else
				inst_emit(cx, at, "differ128", NT,
					  H(inst_reg(cx, q), was, now, a->guard));
		}
		*first = false;
	}
}

static void count(struct inst_ctx *cx, const struct inst_group *g, struct ptx_stmt *at)
{
	int64_t unguarded = 0;

	for (const struct inst_access *a = g->first; a; a = a->next) {
		if (a->guard.kind == PTX_OPND_SINK)
			unguarded++;
		else
			inst_emit(cx, at, "count", T(PTX_STR("1"), inst_num(RACE_STATE_COUNT)),
				  H(inst_reg(cx, cx->cnt), a->guard));
	}
	if (unguarded)
		inst_emit(cx, at, "count", T(inst_num(unguarded), inst_num(RACE_STATE_COUNT)),
			  H(inst_reg(cx, cx->cnt), inst_none()));
}

/* Where cold code is placed: after the body, or here if labels of an inner scope are involved. */
static struct ptx_stmt *cold_place(const struct inst_group *g, struct ptx_stmt *at)
{
	return g->depth ? at : NULL;
}

static void branch_cold(struct inst_ctx *cx, const struct inst_group *g, struct ptx_opnd q,
			struct ptx_stmt *at, const struct inst_access *warp, struct ptx_opnd mask)
{
	struct ptx_label *cold = ptx_new_label(cx->m, cx->f), *back = ptx_new_label(cx->m, cx->f);
	struct ptx_stmt *place = cold_place(g, at);

	if (place) { /* inline: jump over it */
		q.flags ^= PTX_OPND_NOT;
		inst_emit(cx, at, "branch_if", NT, H(q, ptx_opnd_label(back)));
	} else {
		inst_emit(cx, at, "branch_if", NT, H(q, ptx_opnd_label(cold)));
		inst_emit_label(cx, NULL, cold);
	}
	if (warp)
		inst_cold_warp(cx, warp, mask, place);
	else
		inst_cold_group(cx, g, place);
	if (!place)
		inst_emit(cx, NULL, "branch", NT, H(ptx_opnd_label(back)));
	inst_emit_label(cx, at, back);
}

/* Compares the lanes' addresses of one store. */
static void check_warp(struct inst_ctx *cx, const struct inst_group *g, struct inst_access *a,
		       struct ptx_stmt *at)
{
	const struct ptx_opnd *base = &a->addr.sub[0];
	struct ptx_opnd mask = inst_reg(cx, new_reg(cx, PTX_TYPE_B32));
	struct ptx_opnd other = inst_reg(cx, new_reg(cx, PTX_TYPE_PRED));

	struct ptx_label *rows = a->rises_with_lane ? ptx_new_label(cx->m, cx->f) : NULL;

	if (rows)
		inst_emit(cx, at, "warp_rows", NT, H(ptx_opnd_label(rows)));
	if (base->kind != PTX_OPND_REG) {
		inst_emit(cx, at, "warp_const", NT, H(mask, other, a->guard));
	} else {
		bool is_wide = ptx_type_bytes((enum ptx_type)cx->f->reg_type[base->reg]) == 8;
		struct ptx_opnd low = *base;

		if (is_wide) {
			low = inst_reg(cx, new_reg(cx, PTX_TYPE_B32));
			inst_emit(cx, at, "widen", T(PTX_STR("32"), PTX_STR("64")), H(low, *base));
		}
		a->low = low;
		inst_emit(cx, at, "warp_rising", T(inst_num((int64_t)a->vec * a->width)),
			  H(mask, low, other, a->guard));
	}
	branch_cold(cx, g, other, at, a, mask);
	if (rows)
		inst_emit_label(cx, at, rows);
}

/*
 * Is this execution checked? One that the draw skips goes straight on, since most are. Under
 * --sample all are drawn, and branch to code of their own, which decides: after the body, or
 * (labels of an inner scope) where end_draw is.
 */
struct draw {
	struct ptx_label *skip, *sampled, *go;
};

static void emit_sampled(struct inst_ctx *cx, const struct inst_group *g, const struct draw *d,
			 struct ptx_stmt *at)
{
	struct ptx_opnd key = inst_late_opnd(cx, INST_LATE_KEY, g->first->site, RACE_KIND_NONE);

	inst_emit_label(cx, at, d->sampled);
	if (cx->call_free)
		inst_emit(cx, at, "sampled",
			  T(cx->k, KNOB(sample), KNOB(seed), inst_num(RACE_MIX), KNOB(rt),
			    RT(cover), inst_num((int64_t)RACE_REGION_COVER),
			    inst_num(RACE_COVER - 1)),
			  H(key, inst_reg(cx, cx->rng), ptx_opnd_label(d->go),
			    ptx_opnd_label(d->skip)));
	else
		inst_emit(cx, at, "sampled_call", NT,
			  H(key, ptx_opnd_label(d->go), ptx_opnd_label(d->skip)));
}

/* After checks are counted. */
static void thin(struct inst_ctx *cx, struct ptx_stmt *at)
{
	inst_emit(cx, at, "thin",
		  T(cx->k, KNOB(looks), inst_num(RACE_STATE_COUNT_AT), inst_num(RACE_DRAW_AT)),
		  H(inst_reg(cx, cx->mask), inst_reg(cx, cx->cnt)));
}

/* The first draw's. */
static void begin_thin(struct inst_ctx *cx, struct ptx_stmt *at)
{
	thin(cx, at);
	inst_emit(cx, at, "none", T(cx->k, KNOB(looks), inst_num(RACE_DRAW_AT)),
		  H(inst_reg(cx, cx->mask)));
	inst_emit(cx, at, "always", NT,
		  H(inst_reg(cx, cx->always), inst_reg(cx, cx->clock), inst_reg(cx, cx->cnt)));
}

void inst_emit_draw(struct inst_ctx *cx, struct ptx_label *skip, struct ptx_stmt *at)
{
	inst_emit(cx, at, "draw", NT,
		  H(inst_reg(cx, cx->rng), inst_reg(cx, cx->mask), inst_reg(cx, cx->always),
		    inst_reg(cx, cx->clock), ptx_opnd_label(skip)));
}

static struct draw begin_draw(struct inst_ctx *cx, const struct inst_group *g)
{
	struct draw d = {ptx_new_label(cx->m, cx->f), ptx_new_label(cx->m, cx->f),
			 ptx_new_label(cx->m, cx->f)};

	inst_emit_draw(cx, d.skip, g->flush);
	inst_emit(cx, g->flush, "is_sampled", T(cx->k, KNOB(sample)), H(ptx_opnd_label(d.sampled)));
	inst_emit_label(cx, g->flush, d.go);
	if (!cold_place(g, g->flush))
		emit_sampled(cx, g, &d, NULL);
	return d;
}

static void end_draw(struct inst_ctx *cx, const struct inst_group *g, const struct draw *d)
{
	thin(cx, g->flush);
	if (cold_place(g, g->flush)) {
		inst_emit(cx, g->flush, "branch", NT, H(ptx_opnd_label(d->skip)));
		emit_sampled(cx, g, d, g->flush);
	}
	inst_emit_label(cx, g->flush, d->skip);
}

struct ptx_opnd inst_random(struct inst_ctx *cx, struct ptx_stmt *at)
{
	struct ptx_opnd number = inst_fresh(cx, PTX_TYPE_B32);

	inst_emit(cx, at, "random", T(inst_num(RACE_MIX), inst_num(RACE_MIX_WINDOW)),
		  H(number, inst_reg(cx, cx->rng)));
	return number;
}

void inst_emit_delay(struct inst_ctx *cx, bool has_load, struct ptx_stmt *at)
{
	struct ptx_opnd is_due = inst_none(), ns = inst_fresh(cx, PTX_TYPE_B32);

	if (has_load) {
		is_due = inst_fresh(cx, PTX_TYPE_PRED);
		inst_emit(cx, at, "delay",
			  T(cx->k, KNOB(rsleep), KNOB(dense), inst_num(RACE_MIX),
			    inst_num(RACE_MIX_WINDOW), inst_num(RACE_DELAY_WINDOW),
			    inst_num(RACE_DELAY_OPEN), inst_num(RACE_DELAY_LEAST),
			    inst_num(RACE_STATE_CLASS_AT + RACE_SPARE_AT),
			    inst_num(RACE_STATE_CLASS_AT + RACE_CLOSED_AT),
			    inst_num(RACE_STATE_COUNT_AT)),
			  H(inst_reg(cx, cx->rng), inst_reg(cx, cx->cnt), is_due, ns));
	} else {
		inst_emit(cx, at, "delay_store",
			  T(cx->k, KNOB(wsleep), inst_num(RACE_MIX_WINDOW),
			    inst_num(RACE_STATE_COUNT_AT)),
			  H(inst_reg(cx, cx->rng), inst_reg(cx, cx->cnt), ns));
	}
	inst_emit_nap(cx, is_due, ns, at);
}

static void check_bulk(struct inst_ctx *cx, struct inst_group *g)
{
	struct draw d = begin_draw(cx, g);
	struct ptx_label *skip = d.skip;

	if (g->ahead == INST_AHEAD_TENSOR)
		inst_emit_tensor(cx, g, g->flush, skip);
	else
		inst_emit_bulk(cx, g, g->flush, skip);
	end_draw(cx, g, &d);
}

/* All lanes take part in accesses to tensor memory: one draw, and one random number, for all of
 * them. */
static void check_tmem(struct inst_ctx *cx, struct inst_group *g)
{
	struct ptx_opnd drawn = inst_fresh(cx, PTX_TYPE_PRED),
			number = inst_fresh(cx, PTX_TYPE_B32);
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	struct ptx_stmt *at = g->flush;
	uint32_t q = new_reg(cx, PTX_TYPE_PRED);
	bool first = true;

	inst_emit(cx, at, "clear", NT, H(drawn));
	struct draw d = begin_draw(cx, g);
	inst_emit(cx, at, "set", NT, H(drawn));
	end_draw(cx, g, &d);
	inst_emit(cx, at, "tmem_draw", NT,
		  H(drawn, number, inst_random(cx, at), ptx_opnd_label(over)));
	inst_emit_tmem(cx, g, number, at);
	count(cx, g, at);
	thin(cx, at);
	for (struct inst_access *a = g->first; a; a = a->next)
		differ(cx, a, q, &first, at);
	branch_cold(cx, g, inst_reg(cx, q), at, NULL, inst_none());
	inst_emit_label(cx, at, over);
}

static void check_group(struct inst_ctx *cx, struct inst_group *g)
{
	struct ptx_stmt *at = g->flush;
	uint32_t q = new_reg(cx, PTX_TYPE_PRED);
	bool first = true;

	if (g->ahead == INST_AHEAD_TILE)
		inst_emit_together(cx, g, at);
	else if (g->ahead == INST_AHEAD_FRAGMENT)
		inst_emit_numbers(cx, g, at);
	struct draw d = begin_draw(cx, g);
	if (g->ahead)
		inst_emit_ahead(cx, g, at);
	inst_emit_delay(cx, g->has_load, at);
	for (struct inst_access *a = g->first; a; a = a->next)
		if (a->needs_private_test)
			test_private(cx, a, at);
	for (struct inst_access *a = g->first; a; a = a->next)
		reread(cx, a, at);
	count(cx, g, at);
	for (struct inst_access *a = g->first; a; a = a->next)
		differ(cx, a, q, &first, at);
	branch_cold(cx, g, inst_reg(cx, q), at, NULL, inst_none());
	for (struct inst_access *a = g->first; a; a = a->next)
		if (a->kind == RACE_ACCESS_STORE && g->ahead != INST_AHEAD_FRAGMENT)
			check_warp(cx, g, a, at);
	if (g->ahead == INST_AHEAD_COPY || g->ahead == INST_AHEAD_STORE)
		inst_emit_dirty(cx, g, at);
	end_draw(cx, g, &d);
}

/* ---- the function's ends ------------------------------------------------------ */

static void flush_counts(struct inst_ctx *cx, struct ptx_stmt *at)
{
	struct ptx_str checked = RT(counters);
	struct ptx_label *over = NULL;

	_Static_assert(offsetof(struct race_counters, checked) == 0, "flush adds to the first");
	_Static_assert((RACE_COUNTERS & (RACE_COUNTERS - 1)) == 0, "masked by and");
	if (at && at->pred != PTX_NO_REG) { /* a guarded ret: only the lanes that leave */
		struct ptx_opnd p = inst_sense(inst_reg(cx, at->pred), at->is_pred_not);
		over = ptx_new_label(cx->m, cx->f);
		inst_emit(cx, at, "branch_if", NT, H(p, ptx_opnd_label(over)));
	}
	if (cx->by_call)
		inst_emit(cx, at, "flush_call", NT, H(inst_reg(cx, cx->cnt)));
	else
		inst_emit(cx, at, cx->m->sm >= 80 ? "flush_redux" : "flush",
			  T(cx->k, KNOB(rt), checked, inst_num(RACE_COUNTERS - 1),
			    inst_num(RACE_STATE_CLASS_AT), inst_num(RACE_LATE_MASK),
			    inst_num(RACE_START_STEP), inst_num(RACE_STATE_COUNT_AT)),
			  H(inst_reg(cx, cx->cnt)));
	if (over)
		inst_emit_label(cx, at, over);
}

static bool leaves(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && !s->inserted &&
	       (s->form->op == PTX_OP_RET || s->form->op == PTX_OP_EXIT);
}

static struct ptx_stmt *skip_declarations(struct ptx_stmt *s)
{
	while (s && (s->kind == PTX_STMT_REG || s->kind == PTX_STMT_VAR ||
		     s->kind == PTX_STMT_LOC || s->kind == PTX_STMT_PRAGMA))
		s = s->next;
	return s;
}

/* With -G labels for the debugger come before some of the declarations. */
struct ptx_stmt *inst_body_start(struct ptx_func *f)
{
	struct ptx_stmt *start = skip_declarations(f->first), *s = start;

	while (s && (s->kind == PTX_STMT_LOC ||
		     (s->kind == PTX_STMT_LABEL && !inst_is_target(f, s->label))))
		s = s->next;
	return s && s->kind == PTX_STMT_VAR ? skip_declarations(s) : start;
}

static bool has_tensor(const struct inst_plan *plan)
{
	for (const struct inst_group *g = plan->first; g; g = g->next)
		if (g->ahead == INST_AHEAD_TENSOR)
			return true;
	return false;
}

static void count_launch(struct inst_ctx *cx, struct ptx_stmt *top)
{
	if (cx->by_call) {
		inst_emit(cx, top, "launch_call", T(inst_launched_at(cx)), NH);
		return;
	}
	inst_emit(cx, top, "launch",
		  T(cx->k, KNOB(rt),
		    inst_num((int64_t)(offsetof(struct race_rt, counters) +
				       offsetof(struct race_counters, launches))),
		    inst_launched_at(cx)),
		  NH);
}

/* All its accesses may be in functions that it calls, even in another object (-rdc). */
static bool has_call(const struct ptx_func *f)
{
	for (const struct ptx_stmt *s = f->first; s; s = s->next)
		if (s->kind == PTX_STMT_INST && s->form->effects & PTX_EFF_CALL)
			return true;
	return false;
}

/* One group, inlined. */
static void inline_group(struct inst_ctx *cx, struct inst_group *g)
{
	if (g->ahead == INST_AHEAD_BULK || g->ahead == INST_AHEAD_TENSOR)
		check_bulk(cx, g);
	else if (g->ahead == INST_AHEAD_TMEM)
		check_tmem(cx, g);
	else
		check_group(cx, g);
}

/* One group: the draw, and calls, or one ahead of the instruction (calls is NULL). */
static void call_group(struct inst_ctx *cx, struct inst_group *g, struct inst_call *calls)
{
	struct ptx_label *skip = ptx_new_label(cx->m, cx->f);

	inst_clear_hits(cx, calls, g->flush);
	inst_emit_draw(cx, skip, g->flush);
	if (calls)
		inst_emit_calls(cx, g, calls);
	else
		inst_call_ahead(cx, g);
	thin(cx, g->flush);
	inst_emit_label(cx, g->flush, skip);
}

static void one_group(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *top)
{
	struct inst_call *calls = cx->by_call ? inst_plan_calls(cx, g) : NULL;
	struct ptx_label *over;

	cx->stats->groups++;
	if (cx->by_call && !g->is_pruned && inst_is_called_ahead(g)) {
		call_group(cx, g, NULL);
		return;
	}
	cx->is_called = calls != NULL;
	inst_begin_calls(cx, calls, top);
	for (struct inst_access *a = g->first; a && !g->ahead; a = a->next)
		inst_capture(cx, a, top, g->flush);
	over = g->is_pruned ? inst_skip_within(cx, g->flush) : NULL;
	if (calls)
		call_group(cx, g, calls);
	else
		inline_group(cx, g);
	inst_end_skip(cx, over, g->flush);
}

/* How many launches the kernel has had, in a register; of a function that is called that isn't
 * known. */
static struct ptx_opnd launches(struct inst_ctx *cx, struct ptx_stmt *top)
{
	struct ptx_opnd n = inst_fresh(cx, PTX_TYPE_B32);

	if (cx->f->is_entry)
		inst_emit(cx, top, "launches", T(inst_launched_at(cx)), H(n));
	else
		inst_emit(cx, top, "no_launches", NT, H(n));
	return n;
}

/* The registers that hold a thread's state. */
static void seed(struct inst_ctx *cx, struct ptx_stmt *top)
{
	struct ptx_opnd late = inst_fresh(cx, PTX_TYPE_B32), spared = inst_fresh(cx, PTX_TYPE_B32);
	struct ptx_opnd word = inst_reg(cx, cx->cnt);

	inst_emit(cx, top, "salt", T(cx->k, KNOB(seed)), H(inst_reg(cx, cx->rng)));
	if (cx->by_call) {
		inst_emit(cx, top, "begin_call", NT, H(word, launches(cx, top)));
		begin_thin(cx, top);
		return;
	}
	inst_emit(cx, top, "place",
		  T(inst_num(RACE_WAVE_AT), inst_num(RACE_WAVE_WARPS),
		    inst_num(RACE_SPARE_FROM - 4), inst_num(RACE_SPARE_MOST)),
		  H(late, spared));
	if (cx->f->is_entry)
		inst_emit(cx, top, "launched",
			  T(cx->k, KNOB(seed), inst_num(RACE_LAUNCHES),
			    inst_num(RACE_LAUNCHES_MOST),
			    inst_num(1 << (RACE_CLOSED_AT - RACE_SPARE_AT))),
			  H(late, spared, launches(cx, top)));
	inst_emit(cx, top, "begin",
		  T(cx->k, KNOB(looks), inst_num(RACE_LATE_MOST), inst_num(RACE_START_STEP),
		    inst_num(RACE_STATE_CLASS_AT + RACE_SPARE_AT), inst_num(RACE_STATE_CLASS_AT),
		    inst_num(RACE_STATE_COUNT_AT)),
		  H(word, late, spared));
	begin_thin(cx, top);
}

/* The state of the draws, and the launch's count, also of one that goes on in plain code. */
static void begin_function(struct inst_ctx *cx, const struct inst_plan *plan, struct ptx_stmt *top,
			   struct ptx_label *plain)
{
	if (!cx->call_free)
		inst_emit(cx, top, "params", NT, NH);
	if (has_tensor(plan))
		inst_emit(cx, top, "params_tensor", NT, NH);
	if (cx->by_call)
		inst_emit(cx, top, "params_check", NT, NH);
	if (plain) {
		count_launch(cx, top);
		inst_plain_enter(cx, inst_plan_launches(cx), plain, top);
	}
	if (plan->has_pruned)
		cx->within = inst_put_within(cx, top);
	seed(cx, top);
	if (cx->f->is_entry && !plain)
		count_launch(cx, top);
}

/* The exit after which no statement is executed, or NULL if control may fall off the end. Labels of
 * debug information may follow it. */
static struct ptx_stmt *last_exit(const struct inst_ctx *cx)
{
	struct ptx_stmt *s = cx->f->last;

	for (; s && s->kind != PTX_STMT_INST; s = s->prev)
		if (s->mark >= cx->fl->nblocks || cx->fl->blocks[s->mark].rpo != UINT32_MAX)
			return NULL;
	return s && s->form->effects & PTX_EFF_EXIT && s->pred == PTX_NO_REG ? s : NULL;
}

/* needs: plan, flow.  keeps: the user's instructions.  breaks: flow. */
void inst_collide_function(struct inst_ctx *cx, struct inst_plan *plan)
{
	struct ptx_func *f = cx->f;

	if (!plan->ngroups) {
		if (f->is_entry && has_call(f))
			count_launch(cx, inst_body_start(f));
		return;
	}
	cx->rng = new_reg(cx, PTX_TYPE_B32);
	cx->cnt = new_reg(cx, PTX_TYPE_B32);
	cx->mask = new_reg(cx, PTX_TYPE_B32);
	cx->clock = new_reg(cx, PTX_TYPE_B32);
	cx->always = new_reg(cx, PTX_TYPE_PRED);
	cx->used_base = PTX_NO_REG;
	inst_collide_begin_uses(cx);
	if (cx->by_call)
		inst_join_matrices(plan);
	/* Falling off the end acts as a ret: cold code is placed after it. */
	struct ptx_stmt *end = ptx_new_stmt(cx->m, PTX_STMT_INST);
	end->form = ptx_form_of(cx->m, PTX_OP_RET, PTX_TYPE_NONE);
	end->pred = PTX_NO_REG;
	struct ptx_stmt *last = last_exit(cx);
	bool falls_off = !last;
	if (falls_off)
		ptx_insert_before(f, NULL, end);
	struct ptx_label *plain = inst_plain_copy(cx, inst_plan_launches(cx));
	struct ptx_stmt *top = inst_body_start(f);
	begin_function(cx, plan, top, plain);
	inst_emit_skews(cx, plan, top);
	for (struct inst_group *g = plan->first; g; g = g->next) {
		/* Code that belongs at the end of the body is placed before the last ret. */
		if (!g->flush)
			g->flush = falls_off ? end : last;
		one_group(cx, g, top);
	}
	inst_collide_uses(cx);
	/* After the checks that are placed before the same ret, since they count too. */
	for (struct ptx_stmt *s = f->first; s; s = s->next)
		if (leaves(s))
			flush_counts(cx, s);
	ptx_declare_new_regs(cx->m, f);
}
