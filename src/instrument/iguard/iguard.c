/*
 * iguard.c - detector `iguard`: every access is judged by who accessed its location before, and
 * with what synchronisation.
 *
 * iGUARD (SOSP'21) by calls (src/device/iguard/iguard.cu): before each access, unless the inlined
 * fast path finds that its entries stay as they are, one that is given the thread's word, its state
 * in the thread's own memory, the address and the site; around barriers of the block and the warp,
 * beside strong accesses and fences others, which give back the thread's new word. After a
 * compare-and-swap or exchange whose result is used one asks whether that took a lock; where a
 * kernel draws tickets or exchanges, one after each strong read whether it was waited for. What is
 * followed is event.c's; shared memory's entries are in a table of block_table.c, or in scratch.
 * Functions that are called are followed in their variants (called/called.c), which have no fast
 * path.
 *
 * Misses: accesses in functions that are called in other ways (counted). What a kernel with other
 * ways to order threads (event.c: unsure) does is only possible. Costs: a call for each access, see
 * iguard.cu.
 */
#include "instrument/iguard/iguard.h"

#include "device/device.h"
#include "race/layout/lanes.h"

#include <string.h>

/* What iguard90.cu needs, the second text of iguard.cu: atom.cas.b128. */
#define SWAPS_PAIRS_SM	90u
#define SWAPS_PTX_MAJOR 8
#define SWAPS_PTX_MINOR 4

static uint32_t table_bytes(uint32_t tracked, bool has_bytes)
{
	uint32_t entries = has_bytes ? tracked : tracked / 4u;

	return (uint32_t)sizeof(struct race_history_shared) + entries * IGUARD_ENTRY_BYTES;
}

static struct inst_iguard_kernel *of(struct inst_follow *f)
{
	return (struct inst_iguard_kernel *)(void *)f;
}

/* The address of the block's table, where it is needed; 0: there is none. */
static struct ptx_opnd table_of(struct inst_follow *f, struct ptx_stmt *where)
{
	struct inst_iguard_kernel *k = of(f);
	struct ptx_opnd table;

	if (k->f.has_scratch || k->f.is_variant)
		return inst_reg(k->f.cx, k->f.table);
	table = inst_fresh(k->f.cx, PTX_TYPE_B64);
	inst_emit(k->f.cx, where, k->tracked ? "table_at" : "no_table", NT, H(table));
	return table;
}

/* ---- at the entry ------------------------------------------------------------------------- */

static void begin_table(struct inst_iguard_kernel *k, const struct inst_block_table *t,
			struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd first = inst_fresh(cx, PTX_TYPE_B32);

	inst_emit(cx, top, "declare_table", T(inst_num(t->bytes)), NH);
	inst_put_lowest(cx, t, first, top);
	k->tracked = t->tracked;
	inst_emit(cx, top, "table", T(inst_num(t->tracked), inst_num(t->bytes)), H(first));
	inst_emit(cx, top, "near", NT, H(inst_reg(cx, k->near), first, inst_reg(cx, k->spans)));
	inst_emit(cx, top, "ready", NT, NH);
}

static void put_scratch(struct inst_iguard_kernel *k, uint32_t what, struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->f.cx;

	inst_emit(cx, where, "scratch", T(inst_num(what)),
		  H(inst_reg(cx, k->f.me), inst_reg(cx, k->f.state), inst_reg(cx, k->f.table)));
}

static void begin_scratch(struct inst_iguard_kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->f.cx;

	cx->wants_scratch = k->f.has_scratch = true;
	k->f.table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	inst_emit(cx, top, "no_table", NT, H(inst_reg(cx, k->f.table)));
	put_scratch(k, RACE_IGUARD_SCRATCH_TAKE | (k->has_bytes[1] ? RACE_IGUARD_SCRATCH_BYTES : 0),
		    top);
	inst_emit(cx, top, "ready", NT, NH);
	put_scratch(k, RACE_IGUARD_SCRATCH_FIND, top);
	inst_emit(cx, top, "ready", NT, NH);
}

static void new_registers(struct inst_follow *f)
{
	struct inst_iguard_kernel *k = of(f);
	struct inst_ctx *cx = f->cx;

	k->f.me = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->f.state = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->near = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->spans = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->f.cnt = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->launch = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	if (k->f.is_variant)
		k->f.table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
}

static void begin_shared(struct inst_iguard_kernel *k, struct ptx_stmt *top)
{
	struct inst_block_table t;

	if (!k->f.ev.has_shared)
		return;
	if (inst_plan_block_table(k->f.cx, &t, table_bytes, k->has_bytes[1]))
		begin_table(k, &t, top);
	else if (t.has_vars && !k->f.ev.is_apart) /* uncounted exits would keep the units */
		begin_scratch(k, top);
}

static void begin_kernel(struct inst_follow *f, struct ptx_stmt *top)
{
	struct inst_iguard_kernel *k = of(f);
	struct inst_ctx *cx = f->cx;
	uint32_t flags = (k->f.ev.is_unsure ? RACE_IGUARD_UNSURE : 0) |
			 (k->f.ev.has_order ? RACE_IGUARD_ORDERS : 0) |
			 (k->has_exits ? RACE_IGUARD_EXITS : 0) |
			 (k->is_plain ? RACE_IGUARD_PLAIN : 0) |
			 (k->f.ev.has_lanes ? RACE_IGUARD_LANES : 0);
	uint32_t bytes = RACE_IGUARD_STATE_BYTES + (k->f.ev.has_lanes ? RACE_LANE_BYTES : 0);

	if (k->f.unchecked)
		inst_put_skip_within(cx, top, k->f.unchecked);
	if (k->is_plain)
		inst_emit(cx, top, "begin_plain", T(inst_num(flags)),
			  H(inst_reg(cx, k->f.me), inst_reg(cx, k->f.state)));
	else
		inst_emit(cx, top, "begin", T(inst_num(flags), inst_num(bytes)),
			  H(inst_reg(cx, k->f.me), inst_reg(cx, k->f.state)));
	if (k->f.ev.has_lanes)
		inst_put_lanes(f, inst_int(cx, 0), RACE_LANES_BEGIN, top);
	if (k->f.ev.has_lanes)
		inst_emit(cx, top, "zero", NT, H(inst_reg(cx, k->spans)));
	else
		inst_emit(cx, top, "spans",
			  T(cx->k, BLOCK(modes), inst_num(RACE_IGUARD_MODE_PUBLISHED),
			    inst_num((int64_t)IGUARD_CONTEXT_MASK),
			    inst_num((int64_t)RACE_IGUARD_SPANS(0, 0, 0, true)),
			    inst_num((int64_t)RACE_IGUARD_SPANS(0, 0, 0, false))),
			  H(inst_reg(cx, k->f.me), inst_reg(cx, k->spans)));
	if (k->can_swap)
		inst_emit(cx, top, "own_launch", T(cx->k, BLOCK(tables), CONTEXTS_AT),
			  H(inst_reg(cx, k->f.me), inst_reg(cx, k->launch)));
	begin_shared(k, top);
	if (k->f.frame.called)
		inst_frame_of_kernel(cx, &k->f.frame, inst_reg(cx, k->f.state), table_of(f, top),
				     k->f.has_scratch, top);
}

/* ---- accesses ---------------------------------------------------------------------------- */

int64_t inst_iguard_what(const struct inst_iguard_kernel *k, const struct inst_event *e)
{
	bool is_strong = e->strength != RACE_WEAK;
	uint64_t what = e->access->site;

	what |= e->writes ? RACE_IGUARD_WRITES : 0;
	what |= is_strong ? RACE_IGUARD_STRONG : 0;
	what |= is_strong && e->scope == RACE_SCOPE_CTA ? RACE_IGUARD_CTA : 0;
	what |= e->stmt->form->sem == PTX_SEM_VOLATILE ? RACE_IGUARD_VOLATILE : 0;
	what |= e->is_lockstep ? RACE_IGUARD_LOCKSTEP : 0;
	what |= k->has_bytes[e->space != INST_IN_GLOBAL] ? RACE_IGUARD_BYTES : 0;
	what |= (uint64_t)e->narrow << RACE_IGUARD_NARROW_AT;
	what |= (uint64_t)e->sure << RACE_IGUARD_SURE_AT;
	what |= (uint64_t)e->maybe << RACE_IGUARD_MAYBE_AT;
	return (int64_t)what;
}

/* ---- strong accesses and checks ---------------------------------------------------------- */

static void put_sync(struct inst_iguard_kernel *k, struct ptx_opnd at, uint32_t op,
		     struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd me = inst_reg(cx, k->f.me);

	inst_emit(cx, where, "sync", T(inst_num(op)), H(me, me, inst_reg(cx, k->f.state), at));
}

/* Is it strong, of one value of 4 or 8 bytes that is used? */
static bool has_value(const struct inst_event *e)
{
	const struct ptx_form *fm = e->stmt->form;

	return e->is_seen && e->strength != RACE_WEAK && fm->vec == 1 &&
	       (fm->width == 4 || fm->width == 8) && e->stmt->nops >= 2 &&
	       e->stmt->ops[0].kind == PTX_OPND_REG && !e->stmt->ops[0].comp;
}

/* May it take a lock: a compare-and-swap or exchange? */
static bool may_lock(const struct inst_event *e)
{
	const struct ptx_form *fm = e->stmt->form;

	return has_value(e) && e->writes && e->stmt->nops >= 3 &&
	       (ptx_form_has(fm, PTX_MOD_CAS) || ptx_form_has(fm, PTX_MOD_EXCH));
}

/* May it draw a ticket: a sum of integers? atom.inc raises by 1. */
static bool may_draw(const struct inst_event *e)
{
	const struct ptx_form *fm = e->stmt->form;
	enum ptx_type_class c =
		fm->ntypes ? ptx_type_class((enum ptx_type)fm->types[0]) : PTX_CLASS_NONE;

	return has_value(e) && e->writes && e->stmt->nops >= 3 &&
	       (c == PTX_CLASS_UINT || c == PTX_CLASS_SINT) &&
	       (ptx_form_has(fm, PTX_MOD_ADD) || ptx_form_has(fm, PTX_MOD_INC));
}

static struct ptx_opnd bits_of(struct inst_iguard_kernel *k, const struct inst_event *e,
			       struct ptx_opnd v, struct ptx_stmt *where)
{
	struct ptx_opnd to = inst_fresh(k->f.cx, PTX_TYPE_B64);

	inst_emit(k->f.cx, where, e->stmt->form->width == 4 ? "bits32" : "bits64", NT, H(to, v));
	return to;
}

/* Operands that the instruction may overwrite are read before it. */
static void put_lock(struct inst_iguard_kernel *k, const struct inst_event *e, struct ptx_opnd at,
		     uint32_t op, struct ptx_stmt *behind)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_stmt *s = e->stmt;
	bool is_cas = ptx_form_has(s->form, PTX_MOD_CAS);
	struct ptx_opnd wanted = is_cas ? s->ops[2] : inst_int(cx, 0);
	struct ptx_opnd stored = is_cas ? s->ops[3] : s->ops[2];
	struct ptx_opnd me = inst_reg(cx, k->f.me), old;

	wanted = bits_of(k, e, wanted, s);
	stored = bits_of(k, e, stored, s);
	struct ptx_label *over = inst_skip_unless(k->f.cx, s, behind);
	old = bits_of(k, e, s->ops[0], behind);
	op |= is_cas ? 0 : RACE_IGUARD_SYNC_SWAP;
	inst_emit(cx, behind, "lock", T(inst_num(op)),
		  H(me, me, inst_reg(cx, k->f.state), at, old, wanted, stored));
	inst_end_skip(k->f.cx, over, behind);
}

/* The value of a sum or a strong read: a ticket, or the turn of who has one? */
static void put_wait(struct inst_iguard_kernel *k, const struct inst_event *e, struct ptx_opnd at,
		     uint32_t op, struct ptx_stmt *behind)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_stmt *s = e->stmt;
	bool is_add = may_draw(e), is_inc = ptx_form_has(s->form, PTX_MOD_INC);
	struct ptx_opnd me = inst_reg(cx, k->f.me), added = inst_int(cx, is_inc ? 1 : 0), old;

	if (is_add && !is_inc)
		added = bits_of(k, e, s->ops[2], s);
	struct ptx_label *over = inst_skip_unless(k->f.cx, s, behind);
	old = bits_of(k, e, s->ops[0], behind);
	op |= is_add ? RACE_IGUARD_SYNC_DRAW : RACE_IGUARD_SYNC_LOOK;
	inst_emit(cx, behind, "lock", T(inst_num(op)),
		  H(me, me, inst_reg(cx, k->f.state), at, old, inst_int(cx, 0), added));
	inst_end_skip(k->f.cx, over, behind);
}

static bool orders(const struct inst_follow *f, const struct inst_event *e)
{
	(void)f;
	return e->strength != RACE_WEAK;
}

/* Release stamps and locks beside a strong access. */
static void order_access(struct inst_follow *f, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_iguard_kernel *k = of(f);
	bool is_release = e->strength == RACE_RELEASE || e->strength == RACE_ACQ_REL;
	bool is_acquire = e->strength == RACE_ACQUIRE || e->strength == RACE_ACQ_REL;
	struct ptx_stmt *behind = e->stmt->next;
	uint32_t words = 0, all = e->sure | e->maybe, op = 0;

	while (words < 8 && all >> words)
		words++;
	op |= RACE_IGUARD_SYNC_SHAPE(words, inst_log2(e->stmt->form->width),
				     (uint32_t)e->stmt->form->vec);
	op |= e->scope == RACE_SCOPE_CTA ? 0 : RACE_IGUARD_SYNC_WIDE;
	op |= e->scope == RACE_SCOPE_SYS ? RACE_IGUARD_SYNC_SYSTEM : 0;
	if (e->writes)
		put_sync(k, at,
			 op | RACE_IGUARD_SYNC_WRITE | (is_release ? RACE_IGUARD_SYNC_RELEASE : 0) |
				 (may_lock(e) ? RACE_IGUARD_SYNC_LOCK : 0),
			 e->stmt);
	op |= is_acquire ? RACE_IGUARD_SYNC_ACQUIRE : 0;
	if (e->is_seen || is_acquire)
		put_sync(k, at,
			 op | RACE_IGUARD_SYNC_READ | (e->is_place ? RACE_IGUARD_SYNC_PLACE : 0),
			 behind);
	if (may_lock(e))
		put_lock(k, e, at, op | (is_release ? RACE_IGUARD_SYNC_RELEASE : 0), behind);
	else if (k->has_waits && (may_draw(e) || (has_value(e) && !e->writes)))
		put_wait(k, e, at, op, behind);
}

/* The whole call, where the fast path doesn't decide. */
static void put_check(struct inst_follow *f, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_iguard_kernel *k = of(f);
	struct inst_ctx *cx = f->cx;
	struct ptx_opnd me = inst_reg(cx, k->f.me), state = inst_reg(cx, k->f.state);
	struct ptx_opnd what = inst_fresh(cx, PTX_TYPE_B64), table;
	unsigned words = inst_iguard_words(k, e);
	struct ptx_label *over = words ? inst_skip_unless(cx, e->stmt, e->stmt) : NULL;

	if (e->lines) {
		inst_put_matrix(f, e, at);
		return;
	}
	if (e->is_copy) {
		inst_put_copy(f, e, at);
		return;
	}
	if (words && !over)
		over = ptx_new_label(cx->m, cx->f);
	if (words)
		inst_iguard_put_fast(k, e, words, at, what, over);
	else
		inst_emit(cx, e->stmt, "what", T(inst_num(inst_iguard_what(k, e))), H(what));
	if (e->space != INST_IN_GLOBAL)
		table = table_of(f, e->stmt);
	switch (e->space) {
	case INST_IN_GLOBAL:
		inst_emit(cx, e->stmt, "access_global", NT, H(me, state, at, what));
		break;
	case INST_IN_SHARED:
		inst_emit(cx, e->stmt, "access_shared", NT, H(me, state, table, at, what));
		break;
	case INST_IN_GENERIC:
	case INST_IN_GENERIC_SHARED:
		inst_emit(cx, e->stmt, "access_generic", NT, H(me, state, table, at, what));
		break;
	}
	inst_end_skip(cx, over, e->stmt);
}

/* ---- what synchronises ------------------------------------------------------------------- */

static void put_barrier(struct inst_iguard_kernel *k, const struct inst_event *e, bool is_after,
			struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd me = inst_reg(cx, k->f.me), state = inst_reg(cx, k->f.state);
	struct ptx_label *over = inst_skip_unless(k->f.cx, e->stmt, where);

	if (e->kind == INST_EVENT_WARP)
		inst_put_lanes(&k->f, e->stmt->ops[0], is_after ? RACE_LANES_AFTER : 0, where);
	else
		inst_emit(cx, where, "barrier", T(inst_num(is_after)), H(me, me, state));
	inst_end_skip(k->f.cx, over, where);
}

static void put_around(struct inst_follow *f, const struct inst_event *e)
{
	struct inst_iguard_kernel *k = of(f);
	struct ptx_stmt *s = e->stmt, *behind = s->next;

	if (e->kind == INST_EVENT_FENCE) {
		bool is_wide = s->form->scope != PTX_SCOPE_CTA;
		struct ptx_label *over = inst_skip_unless(k->f.cx, s, s);
		put_sync(k, inst_int(k->f.cx, 0),
			 RACE_IGUARD_SYNC_FENCE | (is_wide ? RACE_IGUARD_SYNC_WIDE : 0), s);
		inst_end_skip(k->f.cx, over, s);
		return;
	}
	if (k->f.ev.has_order)
		put_barrier(k, e, false, s);
	inst_settle_after(k->f.cx, &k->f.doubt, s, behind);
	put_barrier(k, e, true, behind);
}

/* ---- the detector -------------------------------------------------------------------------- */

/* Entries of words serve where no access is of bytes; a generic address may be of both spaces. */
static void find_bytes(struct inst_iguard_kernel *k)
{
	k->has_bytes[0] = k->f.ev.has_generic ? k->f.ev.has_narrow : k->f.ev.has_narrow_global;
	k->has_bytes[1] = k->f.ev.has_generic ? k->f.ev.has_narrow : k->f.ev.has_narrow_shared;
}

/* The block's last thread gives its units back. */
static void put_ends(struct inst_follow *f)
{
	struct inst_iguard_kernel *k = of(f);

	for (struct ptx_stmt *s = k->f.cx->f->first; s && k->f.has_scratch; s = s->next) {
		if (!inst_leaves(s))
			continue;
		struct ptx_label *over = inst_skip_unless(k->f.cx, s, s);
		put_scratch(k, RACE_IGUARD_SCRATCH_GIVE, s);
		inst_end_skip(k->f.cx, over, s);
	}
}

static bool has_waits(const struct inst_events *ev)
{
	for (const struct inst_event *e = ev->first; e; e = e->next)
		if (e->kind == INST_EVENT_ACCESS &&
		    (may_draw(e) || (may_lock(e) && ptx_form_has(e->stmt->form, PTX_MOD_EXCH))))
			return true;
	return false;
}

static void put_thread_end(struct inst_follow *f, struct ptx_stmt *s)
{
	struct ptx_label *over = inst_skip_unless(f->cx, s, s);
	struct ptx_label *none = inst_frame_ends(f->cx, &f->frame, s);

	put_scratch(of(f), RACE_IGUARD_SCRATCH_GIVE, s);
	inst_end_skip(f->cx, none, s);
	inst_end_skip(f->cx, over, s);
}

static void plan(struct inst_follow *f)
{
	struct inst_iguard_kernel *k = of(f);

	/* Where barriers of the block are all that orders threads, hirace's machine and the rules
	 * find the same races (docs/iguard.md), and hirace pays less for it. */
	k->f.is_left = f->cx->opt->leaves_plain && f->cx->opt->sanitize & RACE_DETECT(HIRACE) &&
		       inst_is_plain_kernel(f->cx, &f->ev);
	inst_find_lockstep(k->f.cx, &k->f.ev);
	find_bytes(k);
	/* Such a thread is known by what it says before it synchronises. */
	k->has_exits = !k->f.frame.called && inst_parts_at_exits(k->f.cx, &k->f.ev);
	inst_note_unequal(f->cx, &f->ev);
	k->f.ev.has_order |= k->has_exits;
	k->is_plain = !k->f.ev.has_warp && !k->f.ev.has_order;
	k->can_swap = (k->is_plain || k->f.ev.only_observes) && !k->f.frame.called &&
		      k->f.cx->m->sm >= SWAPS_PAIRS_SM;
	k->has_waits = has_waits(&k->f.ev) || (k->f.frame.called && k->f.ev.has_update);
}

static int64_t what(struct inst_follow *f, const struct inst_event *e)
{
	return inst_iguard_what(of(f), e);
}

static const struct inst_follower follower = {
	.sees = INST_SEES_LAUNCH,
	.is_flagged = true,
	.plan = plan,
	.new_registers = new_registers,
	.begin_kernel = begin_kernel,
	.put_check = put_check,
	.orders = orders,
	.order_access = order_access,
	.put_around = put_around,
	.put_ends = put_ends,
	.put_thread_end = put_thread_end,
	.what = what,
	.table = table_of,
};

static void put_checks(struct inst_ctx *cx)
{
	struct inst_iguard_kernel k = {0};

	inst_follow(cx, &k.f, &follower);
}

/* Does code of the program access memory by bytes or halfwords? */
static bool has_narrow(const struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		ptx_each_stmt(it->func, s)
		{
			if (s->kind == PTX_STMT_INST && !s->inserted && s->form->width < 4 &&
			    s->form->effects & (PTX_EFF_READ | PTX_EFF_WRITE))
				return true;
		}
	}
	return false;
}

static void put_block(struct inst_ctx *cx, struct ptx_item *at)
{
	if (has_narrow(cx->m))
		inst_add_mark(cx, at, RACE_IGUARD_BYTES_SYMBOL);
	inst_add_history_block(cx, at, PTX_STR(RACE_IGUARD_SYMBOL));
}

static bool begin_module(struct inst_ctx *cx)
{
	if (cx->m->sm < SWAPS_PAIRS_SM)
		return inst_begin_follower(cx, race_device_iguard, race_device_iguard_size);
	ptx_raise_version(cx->m, SWAPS_PTX_MAJOR, SWAPS_PTX_MINOR);
	return inst_begin_follower(cx, race_device_iguard90, race_device_iguard90_size);
}

const struct inst_detector inst_detector_iguard = {
	.id = RACE_DETECTOR_IGUARD,
	.pass = INST_PASS_IGUARD,
	.templates = inst_iguard_templates,
	.letter = 'g',
	.parts_lanes = true,
	.put_block = put_block,
	.begin_module = begin_module,
	.function = inst_follow_kernel,
	.put_checks = put_checks,
	.end_module = inst_end_follower,
};
