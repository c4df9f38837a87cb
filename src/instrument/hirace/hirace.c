/*
 * hirace.c - detector `hirace`: every access asks and updates the history of its location.
 *
 * HiRace (SC'24), Algorithm 1, by calls (src/device/hirace/hirace.cu): before each access one that
 * is given the thread's numbers in one register, the address, and the site. After a barrier of the
 * block or a full __syncwarp the register's clocks are moved on. Kernels that have fences,
 * acquires, releases or strong reads keep release stamps (hirace/release.h) in the thread's own
 * memory, and call beside each of those. What is followed is event.c's; shared memory's words are
 * block_table.c's. Functions that are called are followed in their variants (called/called.c),
 * which have no fast path.
 *
 * Misses: accesses in functions that are called in other ways (counted). What a kernel with other
 * ways to order threads (event.c: unsure) does is only possible. Costs: a call for each access, see
 * hirace.cu.
 */
#include "instrument/hirace/hirace.h"

#include "device/device.h"
#include "race/layout/lanes.h"
#include "race/layout/history.h"
#include "hirace/machine.h"

#include <string.h>

static uint32_t table_bytes(uint32_t tracked, bool has_bytes)
{
	return RACE_HISTORY_SHARED_BYTES(tracked, has_bytes, true);
}

static uint32_t table_bytes_without_sites(uint32_t tracked, bool has_bytes)
{
	return RACE_HISTORY_SHARED_BYTES(tracked, has_bytes, false);
}

static struct inst_hirace_kernel *of(struct inst_follow *f)
{
	return (struct inst_hirace_kernel *)(void *)f;
}

/* ---- at the entry ------------------------------------------------------------------------- */

static void begin_table(struct inst_hirace_kernel *k, const struct inst_block_table *t,
			struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd first = inst_reg(cx, k->first);
	uint64_t rest = (uint64_t)t->tracked << RACE_TABLE_TRACKED_AT |
			(k->f.ev.has_narrow_shared ? RACE_TABLE_HAS_BYTES : 0) |
			(k->has_sites ? RACE_TABLE_HAS_SITES : 0);

	inst_emit(cx, top, "declare_table", T(inst_num(t->bytes)), NH);
	inst_put_lowest(cx, t, first, top);
	inst_emit(cx, top, "table",
		  T(inst_num(RACE_TABLE_OFFSET), inst_num(RACE_TABLE_RANK_SHIFT),
		    inst_num(RACE_TABLE_RANK_AT), inst_num(RACE_TABLE_FIRST_AT),
		    inst_num((int64_t)rest), inst_num(t->bytes)),
		  H(inst_reg(cx, k->f.table), first));
	inst_emit(cx, top, "ready", NT, NH);
}

/* Sites beside the words where there is room for them. */
static void plan_table(struct inst_hirace_kernel *k, struct inst_block_table *t)
{
	struct inst_ctx *cx = k->f.cx;

	if (!k->f.ev.has_shared)
		return;
	k->has_sites = inst_plan_block_table(cx, t, table_bytes, k->f.ev.has_narrow_shared);
	k->has_table = k->has_sites || inst_plan_block_table(cx, t, table_bytes_without_sites,
							     k->f.ev.has_narrow_shared);
	k->tracked = t->tracked;
	/* A thread that exits uncounted would leak the block's scratch units. */
	k->f.has_scratch = !k->has_table && t->has_vars && !k->f.ev.is_apart;
}

static void begin_scratch(struct inst_hirace_kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd me = inst_reg(cx, k->f.me);

	cx->wants_scratch = true;
	inst_emit(cx, top, "scratch_take", T(inst_num(k->f.ev.has_narrow_shared)), H(me));
	inst_emit(cx, top, "ready", NT, NH);
	inst_emit(cx, top, "scratch", NT, H(inst_reg(cx, k->f.table), me));
	if (cx->m->sm >= INST_CLUSTER_SM)
		inst_emit(cx, top, "scratch_rank", T(inst_num(RACE_TABLE_RANK_AT)),
			  H(inst_reg(cx, k->f.table)));
	inst_emit(cx, top, "ready", NT, NH);
}

/*
 * All threads of a warp go to the code without checks, or none: its instructions for whole warps
 * want them together. All of a block do where the checked code has barriers of ours.
 */
static void begin_plain(struct inst_hirace_kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd within = inst_reg(cx, cx->within), me = inst_reg(cx, k->f.me);

	if (k->f.ev.has_alone) {
		inst_emit(cx, top, "alone", T(inst_num(RACE_ACTOR_BESIDE)), H(within, me));
		inst_emit(cx, top, k->f.ev.has_shared ? "whole_block" : "whole_warp", NT,
			  H(within));
	}
	inst_put_skip_within(cx, top, k->f.unchecked);
}

static void new_registers(struct inst_follow *f)
{
	struct inst_hirace_kernel *k = of(f);
	struct inst_ctx *cx = f->cx;

	k->f.me = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->f.state = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->span = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->f.table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->first = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->f.cnt = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->fresh = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
}

static void begin_kernel(struct inst_follow *f, struct ptx_stmt *top)
{
	struct inst_hirace_kernel *k = of(f);
	struct inst_ctx *cx = f->cx;
	struct inst_block_table t;
	uint32_t flags = (k->f.ev.is_unsure ? RACE_ACTOR_UNSURE : 0) |
			 (k->f.ev.is_apart ? RACE_ACTOR_APART : 0) |
			 (k->f.ev.has_lanes ? RACE_ACTOR_LANES : 0);
	uint32_t enter = flags | (k->f.ev.informs ? RACE_ENTER_INFORMS : 0) |
			 (k->f.ev.has_system ? RACE_ENTER_APPEARS : 0) |
			 (k->f.ev.shows_kernels ? RACE_ENTER_SHOWS : 0) |
			 (k->f.ev.orders_kernels ? RACE_ENTER_ORDERS : 0) |
			 (k->f.ev.observes_kernels ? RACE_ENTER_SEES : 0);

	/* "enter" counts the thread among those of its launch. One that goes to the unchecked code
	 * needs that only where the kernel asks whether its launch runs alone. */
	if (k->f.unchecked && !k->f.ev.has_alone)
		begin_plain(k, top);
	inst_emit(cx, top, "enter", T(inst_num(enter)), H(inst_reg(cx, k->f.me)));
	if (k->f.unchecked && k->f.ev.has_alone)
		begin_plain(k, top);
	inst_emit(cx, top, "begin", T(inst_num(flags)), H(inst_reg(cx, k->f.me)));
	if (k->f.ev.has_alone && !k->f.unchecked)
		inst_emit(cx, top, "alone", T(inst_num(RACE_ACTOR_BESIDE)),
			  H(inst_reg(cx, cx->within), inst_reg(cx, k->f.me)));
	inst_emit(cx, top, "span",
		  T(cx->k, BLOCK(machine), inst_num(k->f.ev.has_lanes ? RACE_HISTORY_ASKS : 0)),
		  H(inst_reg(cx, k->f.me), inst_reg(cx, k->span)));
	if (k->has_fresh && k->has_left)
		inst_emit(cx, top, "fresh_left",
			  T(inst_num(RACE_ACTOR_BESIDE), inst_num(LAUNCH_BITS)),
			  H(inst_reg(cx, k->f.me), inst_reg(cx, k->span), inst_reg(cx, k->fresh)));
	else if (k->has_fresh)
		inst_emit(
			cx, top, "fresh",
			T(cx->k, BLOCK(sites), inst_num(RACE_ACTOR_BESIDE), inst_num(LAUNCH_BITS)),
			H(inst_reg(cx, k->f.me), inst_reg(cx, k->span), inst_reg(cx, k->fresh)));
	if (k->has_stamps) {
		inst_emit(
			cx, top, "declare_stamps",
			T(inst_num(RACE_LANES_ROW_AT + (k->f.ev.has_lanes ? RACE_LANE_BYTES : 0))),
			NH);
		inst_emit(cx, top, "stamps", NT, H(inst_reg(cx, k->f.state)));
		if (k->f.ev.has_lanes)
			inst_put_lanes(&k->f, inst_int(cx, 0), RACE_LANES_BEGIN, top);
	} else {
		inst_emit(cx, top, "no_stamps", NT, H(inst_reg(cx, k->f.state)));
	}
	plan_table(k, &t);
	if (k->has_table)
		begin_table(k, &t, top);
	else if (k->f.has_scratch)
		begin_scratch(k, top);
	else
		inst_emit(cx, top, "no_table", NT, H(inst_reg(cx, k->f.table)));
	if (k->f.frame.called)
		inst_frame_of_kernel(cx, &k->f.frame, inst_reg(cx, k->f.state),
				     inst_reg(cx, k->f.table), !k->f.ev.is_apart, top);
}

/*
 * A seed is a weak load that only provides the first guess of a compare-and-swap loop; with an
 * atomic it is no data race. If it were stored in its location's word, the next atomic would turn
 * the word into RACE, and a later plain store would be missed. So a seed is compared and not
 * stored: the compare-and-swap after it is stored, and races with everything that the seed races
 * with, except for atomics.
 */
static void plan_seeds(struct inst_hirace_kernel *k)
{
	for (struct inst_event *e = k->f.ev.first; e; e = e->next) {
		if (e->kind != INST_EVENT_ACCESS || !e->is_seed)
			continue;
		e->is_judged = true;
		e->maybe |= e->sure;
		e->sure = 0;
	}
}

/* ---- accesses ---------------------------------------------------------------------------- */

static void put_sync(struct inst_hirace_kernel *k, struct ptx_opnd at, uint32_t op,
		     struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->f.cx;

	inst_emit(cx, where, "sync", T(inst_num(op)),
		  H(inst_reg(cx, k->f.me), inst_reg(cx, k->f.state), at));
}

/* fence.sc orders what comes before and after weak accesses, too, if the one sees the other: a weak
 * write leaves its thread's release. */
static bool orders(const struct inst_follow *f, const struct inst_event *e)
{
	return e->strength != RACE_WEAK || (e->writes && f->ev.has_fence);
}

/* Release stamps beside a strong access. */
static void order_access(struct inst_follow *f, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_hirace_kernel *k = of(f);
	bool is_release = e->strength == RACE_RELEASE || e->strength == RACE_ACQ_REL;
	bool is_acquire = e->strength == RACE_ACQUIRE || e->strength == RACE_ACQ_REL;
	uint32_t words = 0, all = e->sure | e->maybe, shape;

	while (words < 8 && all >> words)
		words++;
	shape = RACE_SYNC_SHAPE(words, inst_log2(e->access->width), (uint32_t)e->access->vec);
	if (e->writes)
		put_sync(k, at, RACE_SYNC_WRITE | (is_release ? RACE_SYNC_RELEASE : 0) | shape,
			 e->stmt);
	if (e->is_seen || is_acquire)
		put_sync(k, at,
			 RACE_SYNC_READ | (is_acquire ? RACE_SYNC_ACQUIRE : 0) |
				 (e->scope == RACE_SCOPE_SYS ? RACE_SYNC_SYSTEM : 0) | shape,
			 e->stmt->next);
}

/* The whole check, by call. */
static void put_call(struct inst_hirace_kernel *k, const struct inst_event *e, struct ptx_opnd at,
		     struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd me = inst_reg(cx, k->f.me), stamps = inst_reg(cx, k->f.state);
	struct ptx_opnd table = inst_reg(cx, k->f.table);
	struct ptx_str what = inst_hirace_what(k, e);

	if (e->lines) {
		inst_put_matrix(&k->f, e, at);
		return;
	}
	if (e->is_copy) {
		inst_put_copy(&k->f, e, at);
		return;
	}
	switch (e->space) {
	case INST_IN_GLOBAL:
		inst_emit(cx, where, "access_global", T(what), H(me, stamps, at));
		break;
	case INST_IN_SHARED:
		inst_emit(cx, where, "access_shared", T(what), H(me, stamps, table, at));
		break;
	case INST_IN_GENERIC:
	case INST_IN_GENERIC_SHARED:
		inst_emit(cx, where, "access_generic", T(what), H(me, stamps, table, at));
		break;
	}
}

/* ---- groups of reads --------------------------------------------------------------------- */

/*
 * Weak loads of shared memory in one basic block, from one register's value, at distances that rise
 * evenly (unrolled loops), are checked at the first of them: by one look, and one call. Nothing
 * between them orders the thread with another one, so the check of each comes in the same
 * interval of the same clocks as it would beside its load, and stores of the thread's own between
 * them are accesses that no order distinguishes from an earlier or later one. They have one line of
 * the source, since the words get the first one's site.
 */
#define STOPS (INST_ORDERS | PTX_EFF_BRANCH | PTX_EFF_EXIT)

static bool can_group(const struct inst_hirace_kernel *k, const struct inst_event *e)
{
	return e->kind == INST_EVENT_ACCESS && e->space == INST_IN_SHARED &&
	       e->strength == RACE_WEAK && !e->writes && e->stmt->pred == PTX_NO_REG &&
	       e->access->where->sub[0].kind == PTX_OPND_REG && !e->maybe && !e->held &&
	       !e->lanes && !e->lines && inst_hirace_words(k, e) > 0;
}

static bool has_same_line(const struct inst_event *a, const struct inst_event *b)
{
	const struct ptx_loc *p = a->stmt->loc, *q = b->stmt->loc;

	return p == q ||
	       (p && q && p->file == q->file && p->line == q->line && p->in_line == q->in_line &&
		p->in_file == q->in_file && p->in_col == q->in_col);
}

/* Takes `e` into the group that `first` leads, if its words continue what is there. */
static bool join_group(const struct inst_hirace_kernel *k, struct inst_event *first,
		       const struct inst_event *e)
{
	int64_t at = e->access->where->off - first->access->where->off;
	unsigned n = inst_hirace_words(k, e), far = first->far, all = first->nwords;

	if (!can_group(k, e) || e->is_grouped || !has_same_line(first, e) ||
	    e->is_pruned != first->is_pruned ||
	    e->access->where->sub[0].reg != first->access->where->sub[0].reg || at <= 0 || at % 4)
		return false; /* at % 4: the two are not both aligned */
	if (all == 1)
		far = (unsigned)(at / 4);
	if (at / 4 != (int64_t)far * all || (n > 1 && far > 1) || all + n > RACE_STEP_WORDS_MAX ||
	    far * (all + n - 1) + 1 > k->tracked / 4)
		return false;
	first->far = far;
	first->nwords = all + n;
	return true;
}

struct written {
	uint32_t reg;
	bool is;
};

static void note_write(uint32_t reg, bool is_write, void *arg)
{
	struct written *w = arg;

	w->is |= is_write && reg == w->reg;
}

static void plan_group(const struct inst_hirace_kernel *k, struct inst_event *first)
{
	struct written w = {first->access->where->sub[0].reg, false};
	struct inst_event *last = first, *e = first->next;

	first->nwords = inst_hirace_words(k, first);
	first->far = 1;
	for (const struct ptx_stmt *s = first->stmt; s && s->kind != PTX_STMT_LABEL; s = s->next) {
		if (e && s == e->stmt) {
			if (e->kind != INST_EVENT_ACCESS || e->strength != RACE_WEAK)
				return;
			if (join_group(k, first, e)) {
				e->is_grouped = true;
				last->with = e;
				last = e;
			}
			e = e->next;
		}
		if (s->kind != PTX_STMT_INST)
			continue;
		ptx_each_reg(s, note_write, &w);
		if (w.is || s->form->effects & STOPS)
			return;
	}
}

static void plan_groups(struct inst_follow *f)
{
	struct inst_hirace_kernel *k = of(f);

	for (struct inst_event *e = k->f.ev.first; e; e = e->next)
		if (can_group(k, e) && !e->is_grouped)
			plan_group(k, e);
}

/* All accesses of a group, at its first; e->nwords > 0. */
static void put_group(struct inst_follow *follow, const struct inst_event *e)
{
	struct inst_hirace_kernel *k = of(follow);
	struct inst_ctx *cx = follow->cx;
	struct ptx_label *far = ptx_new_label(cx->m, cx->f), *over = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd me = inst_reg(cx, k->f.me), span = inst_reg(cx, k->span);
	struct ptx_opnd first = inst_reg(cx, k->first), stamps = inst_reg(cx, k->f.state);
	struct ptx_opnd at = inst_access_address(follow, e, 32),
			word = inst_fresh(cx, PTX_TYPE_B32);
	struct ptx_opnd all = inst_fresh(cx, PTX_TYPE_B64), any = inst_fresh(cx, PTX_TYPE_B64);
	uint32_t reach = 4 * (e->far * (e->nwords - 1) + 1);
	int64_t same = SAME_BITS;
	const struct inst_hirace_fast f = inst_hirace_fast(HIRACE_R, false);
	const int64_t head = e->access->where->off;

	inst_emit(cx, e->stmt, "fast_shared", T(inst_num(k->tracked - reach)),
		  H(at, word, first, span, ptx_opnd_label(over), ptx_opnd_label(far)));
	for (unsigned i = 0; i < e->nwords; i++) {
		struct ptx_opnd w = inst_fresh(cx, PTX_TYPE_B64);

		inst_emit(cx, e->stmt, "fast_load",
			  T(PTX_STR("shared"), inst_num((int64_t)8 * i * e->far)), H(word, w));
		inst_emit(cx, e->stmt, i ? "group_next" : "group_first", NT, H(w, all, any));
	}
	inst_emit(cx, e->stmt, "group_end",
		  T(inst_num(same | HIRACE_NEXT), inst_num(same), inst_num(HIRACE_NEXT),
		    inst_num(f.warp), inst_num(f.block)),
		  H(me, all, any, span, ptx_opnd_label(over)));
	inst_emit(cx, e->stmt, "step_shared",
		  T(inst_hirace_what(k, e), inst_num(RACE_HISTORY_SHARED_WORDS(k->tracked)),
		    inst_num(k->has_sites), inst_num(RACE_STEP_SHAPE(e->nwords, e->far))),
		  H(me, stamps, at, first, word, span, ptx_opnd_label(over)));
	inst_emit_label(cx, e->stmt, far);
	put_call(k, e, at, e->stmt);
	for (const struct inst_event *w = e->with; w; w = w->with) {
		struct ptx_opnd here = inst_fresh(cx, PTX_TYPE_B32);

		inst_emit(cx, e->stmt, "copy", T(PTX_STR("u32")), H(here, at));
		inst_emit(cx, e->stmt, "add",
			  T(inst_num(32), inst_num(w->access->where->off - head)), H(here, here));
		put_call(k, w, here, e->stmt);
	}
	inst_end_skip(cx, over, e->stmt);
}

/* Inlined, then by call. */
static void put_check(struct inst_follow *f, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_hirace_kernel *k = of(f);
	struct inst_ctx *cx = f->cx;
	unsigned words = inst_hirace_words(k, e);
	bool is_byte = inst_hirace_is_byte(k, e);
	struct ptx_label *over = words || is_byte ? inst_skip_unless(cx, e->stmt, e->stmt) : NULL;

	if ((words || is_byte) && !over)
		over = ptx_new_label(cx->m, cx->f);
	if (words)
		inst_hirace_put_fast(k, e, words, at, over);
	if (is_byte)
		inst_hirace_put_byte(k, e, at, over);
	put_call(k, e, at, e->stmt);
	inst_end_skip(cx, over, e->stmt);
}

/*
 * A strong load isn't stored in its location's word (HIRACE_STRONG_READ), so a later write can't
 * find it there. It is checked a second time after it, for what was written in between.
 */
static void put_again(struct inst_follow *f, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_event again = *e;

	again.is_lockstep = false; /* by then the other lane may have gone on */
	if (e->is_seen && !e->writes)
		put_call(of(f), &again, at, e->stmt->next);
}

/* ---- what synchronises ------------------------------------------------------------------- */

static void put_called(struct inst_follow *f, const struct inst_event *e)
{
	struct inst_hirace_kernel *k = of(f);
	struct inst_ctx *cx = f->cx;

	if (k->has_fresh)
		inst_emit(cx, e->stmt->next, "still_there", NT,
			  H(inst_reg(cx, k->f.me), inst_reg(cx, k->span)));
}

static void put_around(struct inst_follow *f, const struct inst_event *e)
{
	struct inst_hirace_kernel *k = of(f);
	struct inst_ctx *cx = f->cx;
	struct ptx_stmt *s = e->stmt, *behind = s->next;
	struct ptx_opnd me = inst_reg(cx, k->f.me), none = inst_int(cx, 0);
	struct ptx_label *over;

	if (k->has_stamps || e->kind == INST_EVENT_WARP) {
		over = inst_skip_unless(k->f.cx, s, s);
		if (e->kind == INST_EVENT_WARP)
			inst_put_lanes(f, s->ops[0], 0, s);
		else
			put_sync(k, none,
				 e->kind == INST_EVENT_FENCE ? RACE_SYNC_FENCE : RACE_SYNC_POST, s);
		inst_end_skip(k->f.cx, over, s);
	}
	if (e->kind == INST_EVENT_FENCE)
		return;
	inst_settle_after(cx, &k->f.doubt, s, behind);
	over = inst_skip_unless(k->f.cx, s, behind);
	if (e->kind == INST_EVENT_WARP) {
		inst_put_lanes(f, s->ops[0], RACE_LANES_AFTER, behind);
	} else {
		if (k->has_stamps)
			put_sync(k, none, RACE_SYNC_JOIN, behind);
		inst_emit(cx, behind, "barrier", NT, H(me, me));
		if (k->has_fresh)
			inst_emit(cx, behind, "still_there", NT, H(me, inst_reg(cx, k->span)));
	}
	inst_end_skip(k->f.cx, over, behind);
}

static void put_end(struct inst_hirace_kernel *k, struct ptx_stmt *s, bool gives_scratch)
{
	struct ptx_label *over = inst_skip_unless(k->f.cx, s, s);

	if (gives_scratch)
		inst_emit(k->f.cx, s, "scratch_give", NT, H(inst_reg(k->f.cx, k->f.table)));
	inst_emit(k->f.cx, s, "end", NT, H(inst_reg(k->f.cx, k->f.me)));
	inst_end_skip(k->f.cx, over, s);
}

/* A launch's threads are counted at their entry and at each exit. In the unchecked code they are
 * counted at exits only if they were at the entry: where the kernel asks whether it runs alone. */
static void put_ends(struct inst_follow *f)
{
	struct inst_hirace_kernel *k = of(f);

	if (k->f.ev.is_apart)
		return;
	for (struct ptx_stmt *s = k->f.cx->f->first; s; s = s->next)
		if (inst_leaves(s))
			put_end(k, s, k->f.has_scratch);
	if (!k->f.unchecked || !k->f.ev.has_alone)
		return;
	for (struct ptx_stmt *s = NULL; (s = inst_next_way_out(k->f.unchecked, s)) != NULL;)
		put_end(k, s, false);
}

static void put_thread_end(struct inst_follow *f, struct ptx_stmt *s)
{
	struct ptx_label *over = inst_frame_ends(f->cx, &f->frame, s);

	put_end(of(f), s, true);
	inst_end_skip(f->cx, over, s);
}

/* ---- the detector ------------------------------------------------------------------------ */

static void plan(struct inst_follow *f)
{
	struct inst_hirace_kernel *k = of(f);

	f->is_left = f->cx->lent && !inst_is_plain_kernel(f->cx, &f->ev);
	if (f->is_left)
		return;
	inst_find_lockstep(f->cx, &f->ev);
	plan_seeds(k);
	inst_note_unequal(f->cx, &f->ev);
	k->has_stamps = k->f.ev.has_order;
	/* At bar.warp.sync it may step aside. */
	k->has_fresh =
		!k->f.is_variant && (!k->has_stamps || k->f.ev.only_observes) && !k->f.ev.has_warp;
	/* Beside iguard, which has both lines of what hirace judges alone there (iguard.c). */
	k->has_left = (f->cx->opt->sanitize & RACE_DETECT(IGUARD)) != 0;
}

static int64_t what(struct inst_follow *f, const struct inst_event *e)
{
	return inst_hirace_what_bits(of(f), e);
}

static struct ptx_opnd table_of(struct inst_follow *f, struct ptx_stmt *at)
{
	(void)at;
	return inst_reg(f->cx, f->table);
}

static const struct inst_follower follower = {
	.sees = INST_SEES_OVERLAP,
	.plan = plan,
	.new_registers = new_registers,
	.begin_kernel = begin_kernel,
	.plan_groups = plan_groups,
	.put_group = put_group,
	.put_check = put_check,
	.orders = orders,
	.order_access = order_access,
	.put_again = put_again,
	.put_around = put_around,
	.put_called = put_called,
	.put_ends = put_ends,
	.put_thread_end = put_thread_end,
	.what = what,
	.table = table_of,
};

static void put_checks(struct inst_ctx *cx)
{
	struct inst_hirace_kernel k = {0};

	inst_follow(cx, &k.f, &follower);
}

static void put_block(struct inst_ctx *cx, struct ptx_item *at)
{
	inst_add_history_block(cx, at, PTX_STR(RACE_HISTORY_SYMBOL));
}

static bool begin_module(struct inst_ctx *cx)
{
	return inst_begin_follower(cx, race_device_hirace, race_device_hirace_size);
}

static bool end_module(struct inst_ctx *cx)
{
	if (cx->lent)
		inst_add_mark(cx, inst_first_code(cx->m), RACE_HISTORY_FOR_SYMBOL);
	return inst_end_follower(cx);
}

const struct inst_detector inst_detector_hirace = {
	.id = RACE_DETECTOR_HIRACE,
	.pass = INST_PASS_HIRACE,
	.templates = inst_hirace_templates,
	.letter = 'h',
	.parts_lanes = true,
	.put_block = put_block,
	.begin_module = begin_module,
	.function = inst_follow_kernel,
	.put_checks = put_checks,
	.end_module = end_module,
};
