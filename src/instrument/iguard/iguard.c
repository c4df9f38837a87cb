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
#include "instrument/templates.h"
#include "race/layout/lanes.h"

#include <string.h>

#define SWAPS_PAIRS_SM 90u

static uint32_t table_bytes(uint32_t tracked, bool has_bytes)
{
	uint32_t entries = has_bytes ? tracked : tracked / 4u;

	return (uint32_t)sizeof(struct race_history_shared) + entries * IGUARD_ENTRY_BYTES;
}

/* The address of the block's table, where it is needed; 0: there is none. */
static struct ptx_opnd table_of(struct inst_iguard_kernel *k, struct ptx_stmt *where)
{
	struct ptx_opnd table;

	if (k->has_scratch || k->is_variant)
		return inst_reg(k->cx, k->table);
	table = inst_fresh(k->cx, PTX_TYPE_B64);
	inst_emit(k->cx, where, k->tracked ? "table_at" : "no_table", NT, H(table));
	return table;
}

/* ---- at the entry ------------------------------------------------------------------------- */

static void begin_table(struct inst_iguard_kernel *k, const struct inst_block_table *t,
			struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd first = inst_fresh(cx, PTX_TYPE_B32);

	inst_emit(cx, top, "declare_table", T(inst_num(t->bytes)), NH);
	for (unsigned i = 0; i < t->nvars; i++) {
		struct ptx_opnd sym = {.kind = PTX_OPND_SYM,
				       .flags = PTX_OPND_VAR,
				       .text = t->vars[i]->name,
				       .var = t->vars[i]};
		inst_emit(cx, top, i ? "lowest" : "lowest_first", NT, H(first, sym));
	}
	k->tracked = t->tracked;
	inst_emit(cx, top, "table", T(inst_num(t->tracked), inst_num(t->bytes)), H(first));
	inst_emit(cx, top, "near", NT, H(inst_reg(cx, k->near), first, inst_reg(cx, k->spans)));
	inst_emit(cx, top, "ready", NT, NH);
}

/* Around bar.warp.sync; when: RACE_LANES_*. */
static void put_lanes(struct inst_iguard_kernel *k, struct ptx_opnd mask, uint32_t when,
		      struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me);

	when |= k->ev.has_lanes ? RACE_LANES_ROW : 0;
	inst_emit(cx, where, "lanes", T(inst_num(when)), H(me, me, inst_reg(cx, k->state), mask));
}

static void put_scratch(struct inst_iguard_kernel *k, uint32_t what, struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;

	inst_emit(cx, where, "scratch", T(inst_num(what)),
		  H(inst_reg(cx, k->me), inst_reg(cx, k->state), inst_reg(cx, k->table)));
}

static void begin_scratch(struct inst_iguard_kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;

	cx->wants_scratch = k->has_scratch = true;
	k->table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	inst_emit(cx, top, "no_table", NT, H(inst_reg(cx, k->table)));
	put_scratch(k, RACE_IGUARD_SCRATCH_TAKE | (k->has_bytes[1] ? RACE_IGUARD_SCRATCH_BYTES : 0),
		    top);
	inst_emit(cx, top, "ready", NT, NH);
	put_scratch(k, RACE_IGUARD_SCRATCH_FIND, top);
	inst_emit(cx, top, "ready", NT, NH);
}

static void new_registers(struct inst_iguard_kernel *k)
{
	struct inst_ctx *cx = k->cx;

	k->me = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->state = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->near = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->spans = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->cnt = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->launch = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->frame.me = k->me;
	k->frame.cnt = k->cnt;
	k->doubt.me = k->me;
	k->doubt.state = k->state;
}

static void begin_variant(struct inst_iguard_kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;

	new_registers(k);
	k->table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	inst_emit(cx, top, "params", NT, NH);
	inst_frame_of_variant(cx, &k->frame, inst_reg(cx, k->state), inst_reg(cx, k->table), top);
}

static void begin_shared(struct inst_iguard_kernel *k, struct ptx_stmt *top)
{
	struct inst_block_table t;

	if (!k->ev.has_shared)
		return;
	if (inst_plan_block_table(k->cx, &t, table_bytes, k->has_bytes[1]))
		begin_table(k, &t, top);
	else if (t.has_vars && !k->ev.is_apart) /* who leaves otherwise would keep the units */
		begin_scratch(k, top);
}

static void begin_kernel(struct inst_iguard_kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;
	uint32_t flags = (k->ev.is_unsure ? RACE_IGUARD_UNSURE : 0) |
			 (k->ev.has_order ? RACE_IGUARD_ORDERS : 0) |
			 (k->is_plain ? RACE_IGUARD_PLAIN : 0) |
			 (k->ev.has_lanes ? RACE_IGUARD_LANES : 0);
	uint32_t bytes = RACE_IGUARD_STATE_BYTES + (k->ev.has_lanes ? RACE_LANE_BYTES : 0);

	new_registers(k);
	inst_emit(cx, top, "params", NT, NH);
	inst_emit(cx, top, "zero", NT, H(inst_reg(cx, k->cnt)));
	inst_emit(cx, top, "launch",
		  T(cx->k, KNOB(rt),
		    inst_num((int64_t)(offsetof(struct race_rt, counters) +
				       offsetof(struct race_counters, launches)))),
		  NH);
	if (k->ev.has_pruned)
		cx->within = inst_put_within(cx, top);
	if (k->unchecked)
		inst_put_skip_within(cx, top, k->unchecked);
	if (k->is_plain)
		inst_emit(cx, top, "begin_plain", T(inst_num(flags)),
			  H(inst_reg(cx, k->me), inst_reg(cx, k->state)));
	else
		inst_emit(cx, top, "begin", T(inst_num(flags), inst_num(bytes)),
			  H(inst_reg(cx, k->me), inst_reg(cx, k->state)));
	if (k->ev.has_lanes)
		put_lanes(k, inst_int(cx, 0), RACE_LANES_BEGIN, top);
	if (k->ev.has_lanes)
		inst_emit(cx, top, "zero", NT, H(inst_reg(cx, k->spans)));
	else
		inst_emit(cx, top, "spans",
			  T(cx->k, BLOCK(modes), inst_num(RACE_IGUARD_MODE_PUBLISHED),
			    inst_num((int64_t)IGUARD_CONTEXT_MASK),
			    inst_num((int64_t)RACE_IGUARD_SPANS(0, 0, 0, true)),
			    inst_num((int64_t)RACE_IGUARD_SPANS(0, 0, 0, false))),
			  H(inst_reg(cx, k->me), inst_reg(cx, k->spans)));
	if (k->can_swap)
		inst_emit(cx, top, "own_launch", T(cx->k, BLOCK(tables), CONTEXTS_AT),
			  H(inst_reg(cx, k->me), inst_reg(cx, k->launch)));
	begin_shared(k, top);
	if (k->frame.called)
		inst_frame_of_kernel(cx, &k->frame, inst_reg(cx, k->state), table_of(k, top),
				     k->has_scratch, top);
}

/* ---- accesses ---------------------------------------------------------------------------- */

/* The address as a register of so many bits: that for nothing where the guard is false. */
static struct ptx_opnd address_of(struct inst_iguard_kernel *k, const struct inst_event *e,
				  unsigned bits)
{
	struct inst_ctx *cx = k->cx;
	const struct ptx_opnd *addr = e->access->where;
	const struct ptx_stmt *s = e->stmt;
	struct ptx_opnd at = inst_fresh(cx, bits == 64 ? PTX_TYPE_B64 : PTX_TYPE_B32);
	struct ptx_opnd base = addr->sub[0];
	struct ptx_str none = bits == 64 ? PTX_STR("0") : PTX_STR("0xffffffff");
	bool is_reg = base.kind == PTX_OPND_REG;
	unsigned has =
		is_reg ? 8u * ptx_type_bytes((enum ptx_type)cx->f->reg_type[base.reg]) : bits;

	if (has != bits)
		inst_emit(cx, e->stmt, "widen", T(inst_num(bits), inst_num(has)), H(at, base));
	else
		inst_emit(cx, e->stmt, "copy", T(bits == 64 ? PTX_STR("u64") : PTX_STR("u32")),
			  H(at, base));
	if (addr->off)
		inst_emit(cx, e->stmt, "add", T(inst_num(bits), inst_num(addr->off)), H(at, at));
	if (s->pred != PTX_NO_REG)
		inst_emit(cx, e->stmt, s->is_pred_not ? "only_unless" : "only_if",
			  T(bits == 64 ? PTX_STR("b64") : PTX_STR("b32"), none),
			  H(at, at, inst_reg(cx, s->pred)));
	return at;
}

int64_t inst_iguard_what(const struct inst_iguard_kernel *k, const struct inst_event *e)
{
	bool is_strong = e->strength != RACE_WEAK;
	uint64_t what = e->access->site;

	what |= e->writes ? RACE_IGUARD_WRITES : 0;
	what |= is_strong ? RACE_IGUARD_STRONG : 0;
	what |= is_strong && e->scope == RACE_SCOPE_CTA ? RACE_IGUARD_CTA : 0;
	what |= e->stmt->form->sem == PTX_SEM_VOLATILE ? RACE_IGUARD_VOLATILE : 0;
	what |= k->has_bytes[e->space != INST_IN_GLOBAL] ? RACE_IGUARD_BYTES : 0;
	what |= (uint64_t)e->narrow << RACE_IGUARD_NARROW_AT;
	what |= (uint64_t)e->sure << RACE_IGUARD_SURE_AT;
	what |= (uint64_t)e->maybe << RACE_IGUARD_MAYBE_AT;
	return (int64_t)what;
}

/* ---- loads in doubt ---------------------------------------------------------------------- */

static struct ptx_opnd held_address(void *k, const struct inst_event *e)
{
	return address_of(k, e, e->space == INST_IN_SHARED ? 32 : 64);
}

static struct ptx_opnd held_table(void *k, struct ptx_stmt *at)
{
	return table_of(k, at);
}

static int64_t held_what(void *k, const struct inst_event *e)
{
	return inst_iguard_what(k, e);
}

static void plan_doubt(struct inst_iguard_kernel *k)
{
	k->doubt = (struct inst_doubt){
		.detector = 'g',
		.arg = k,
		.what = held_what,
		.address = held_address,
		.table = held_table,
	};
	inst_plan_doubt(k->cx, &k->ev, &k->doubt);
}

/* ---- strong accesses and checks ---------------------------------------------------------- */

static void put_sync(struct inst_iguard_kernel *k, struct ptx_opnd at, uint32_t op,
		     struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me);

	inst_emit(cx, where, "sync", T(inst_num(op)), H(me, me, inst_reg(cx, k->state), at));
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
	struct ptx_opnd to = inst_fresh(k->cx, PTX_TYPE_B64);

	inst_emit(k->cx, where, e->stmt->form->width == 4 ? "bits32" : "bits64", NT, H(to, v));
	return to;
}

/* Operands that the instruction may overwrite are read before it. */
static void put_lock(struct inst_iguard_kernel *k, const struct inst_event *e, struct ptx_opnd at,
		     uint32_t op, struct ptx_stmt *behind)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_stmt *s = e->stmt;
	bool is_cas = ptx_form_has(s->form, PTX_MOD_CAS);
	struct ptx_opnd wanted = is_cas ? s->ops[2] : inst_int(cx, 0);
	struct ptx_opnd stored = is_cas ? s->ops[3] : s->ops[2];
	struct ptx_opnd me = inst_reg(cx, k->me), old;

	wanted = bits_of(k, e, wanted, s);
	stored = bits_of(k, e, stored, s);
	struct ptx_label *over = inst_skip_unless(k->cx, s, behind);
	old = bits_of(k, e, s->ops[0], behind);
	op |= is_cas ? 0 : RACE_IGUARD_SYNC_SWAP;
	inst_emit(cx, behind, "lock", T(inst_num(op)),
		  H(me, me, inst_reg(cx, k->state), at, old, wanted, stored));
	inst_end_skip(k->cx, over, behind);
}

/* The value of a sum or a strong read: a ticket, or the turn of who has one? */
static void put_wait(struct inst_iguard_kernel *k, const struct inst_event *e, struct ptx_opnd at,
		     uint32_t op, struct ptx_stmt *behind)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_stmt *s = e->stmt;
	bool is_add = may_draw(e), is_inc = ptx_form_has(s->form, PTX_MOD_INC);
	struct ptx_opnd me = inst_reg(cx, k->me), added = inst_int(cx, is_inc ? 1 : 0), old;

	if (is_add && !is_inc)
		added = bits_of(k, e, s->ops[2], s);
	struct ptx_label *over = inst_skip_unless(k->cx, s, behind);
	old = bits_of(k, e, s->ops[0], behind);
	op |= is_add ? RACE_IGUARD_SYNC_DRAW : RACE_IGUARD_SYNC_LOOK;
	inst_emit(cx, behind, "lock", T(inst_num(op)),
		  H(me, me, inst_reg(cx, k->state), at, old, inst_int(cx, 0), added));
	inst_end_skip(k->cx, over, behind);
}

/* Release stamps and locks beside a strong access; `at` is a generic address. */
static void order_access(struct inst_iguard_kernel *k, const struct inst_event *e,
			 struct ptx_opnd at)
{
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
static void put_check(struct inst_iguard_kernel *k, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me), state = inst_reg(cx, k->state);
	struct ptx_opnd what = inst_fresh(cx, PTX_TYPE_B64), table;
	unsigned words = inst_iguard_words(k, e);
	struct ptx_label *over = words ? inst_skip_unless(cx, e->stmt, e->stmt) : NULL;

	if (words && !over)
		over = ptx_new_label(cx->m, cx->f);
	if (words)
		inst_iguard_put_fast(k, e, words, at, what, over);
	else
		inst_emit(cx, e->stmt, "what", T(inst_num(inst_iguard_what(k, e))), H(what));
	if (e->space != INST_IN_GLOBAL)
		table = table_of(k, e->stmt);
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

static void put_access(struct inst_iguard_kernel *k, const struct inst_event *e)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd guard = inst_none();
	struct ptx_opnd at = address_of(k, e, e->space == INST_IN_SHARED ? 32 : 64);

	if (e->stmt->pred != PTX_NO_REG)
		guard = inst_sense(inst_reg(cx, e->stmt->pred), !e->stmt->is_pred_not);
	inst_emit(cx, e->stmt, "count", NT, H(inst_reg(cx, k->cnt), guard));
	if (e->uses)
		inst_note_load(cx, e, at);
	if (e->is_selected || !(e->sure | e->maybe))
		return;
	put_check(k, e, at);
	if (!k->ev.has_order || e->strength == RACE_WEAK)
		return;
	if (k->ev.only_observes) {
		inst_observe(k->cx, e, at, true);
		return;
	}
	if (e->space == INST_IN_SHARED) {
		struct ptx_opnd generic = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, e->stmt, "from_shared", NT, H(generic, at));
		at = generic;
	}
	order_access(k, e, at);
}

static void put_taken(void *k, const struct inst_event *e, struct ptx_opnd at)
{
	put_check(k, e, at);
}

/* ---- what synchronises ------------------------------------------------------------------- */

static void put_barrier(struct inst_iguard_kernel *k, const struct inst_event *e, bool is_behind,
			struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me), state = inst_reg(cx, k->state);
	struct ptx_label *over = inst_skip_unless(k->cx, e->stmt, where);

	if (e->kind == INST_EVENT_WARP)
		put_lanes(k, e->stmt->ops[0], is_behind ? RACE_LANES_AFTER : 0, where);
	else
		inst_emit(cx, where, "barrier", T(inst_num(is_behind)), H(me, me, state));
	inst_end_skip(k->cx, over, where);
}

static void put_around(struct inst_iguard_kernel *k, const struct inst_event *e)
{
	struct ptx_stmt *s = e->stmt, *behind = s->next;

	if (e->kind == INST_EVENT_FENCE) {
		bool is_wide = s->form->scope != PTX_SCOPE_CTA;
		struct ptx_label *over = inst_skip_unless(k->cx, s, s);
		put_sync(k, inst_int(k->cx, 0),
			 RACE_IGUARD_SYNC_FENCE | (is_wide ? RACE_IGUARD_SYNC_WIDE : 0), s);
		inst_end_skip(k->cx, over, s);
		return;
	}
	if (k->ev.has_order)
		put_barrier(k, e, false, s);
	inst_settle_after(k->cx, &k->doubt, s, behind);
	put_barrier(k, e, true, behind);
}

/* ---- a function -------------------------------------------------------------------------- */

/* Entries of words serve where nobody accesses bytes; a generic address may be of both spaces. */
static void find_bytes(struct inst_iguard_kernel *k)
{
	k->has_bytes[0] = k->ev.has_generic ? k->ev.has_narrow : k->ev.has_narrow_global;
	k->has_bytes[1] = k->ev.has_generic ? k->ev.has_narrow : k->ev.has_narrow_shared;
}

/* The block's last thread gives its units back. */
static void put_ends(struct inst_iguard_kernel *k)
{
	for (struct ptx_stmt *s = k->cx->f->first; s && k->has_scratch; s = s->next) {
		if (!inst_leaves(s))
			continue;
		struct ptx_label *over = inst_skip_unless(k->cx, s, s);
		put_scratch(k, RACE_IGUARD_SCRATCH_GIVE, s);
		inst_end_skip(k->cx, over, s);
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

static void put_event(struct inst_iguard_kernel *k, const struct inst_event *e)
{
	switch (e->kind) {
	case INST_EVENT_ACCESS:
		put_access(k, e);
		break;
	case INST_EVENT_CALL:
		inst_frame_call(k->cx, &k->frame, e->stmt);
		break;
	default:
		put_around(k, e);
		break;
	}
}

/* The ways out of a variant: back to its caller, or the thread's end. */
static void put_returns(struct inst_iguard_kernel *k)
{
	for (struct ptx_stmt *s = k->cx->f->first; s; s = s->next) {
		if (!inst_leaves(s) || inst_frame_returns(k->cx, &k->frame, s))
			continue;
		inst_flush_count_at(k->cx, k->cnt, s);
		struct ptx_label *over = inst_skip_unless(k->cx, s, s);
		struct ptx_label *none = inst_frame_ends(k->cx, &k->frame, s);
		put_scratch(k, RACE_IGUARD_SCRATCH_GIVE, s);
		inst_end_skip(k->cx, none, s);
		inst_end_skip(k->cx, over, s);
	}
}

void inst_iguard_function(struct inst_ctx *cx)
{
	struct inst_iguard_kernel k = {.cx = cx, .is_variant = !cx->f->is_entry};

	k.frame = (struct inst_frame){.called = inst_called_here(cx), .detector = 'g'};
	k.ev.sees = INST_SEES_LAUNCH;
	k.ev.follows_calls = k.frame.called != NULL;
	inst_plan_events(cx, &k.ev);
	inst_plan_uses(cx, &k.ev);
	plan_doubt(&k);
	find_bytes(&k);
	k.is_plain = !k.ev.has_warp && !k.ev.has_order;
	k.can_swap = (k.is_plain || k.ev.only_observes) && !k.frame.called &&
		     cx->m->sm >= SWAPS_PAIRS_SM;
	k.has_waits = has_waits(&k.ev) || (k.frame.called && k.ev.has_update);
	inst_end_body(cx);
	k.unchecked = !k.frame.called && inst_is_all_pruned(cx, &k.ev) ? inst_copy_body(cx) : NULL;
	struct ptx_stmt *top = inst_body_start(cx->f);
	if (k.is_variant)
		begin_variant(&k, top);
	else
		begin_kernel(&k, top);
	inst_begin_doubt(cx, &k.doubt, top);
	inst_put_uses(cx, &k.ev, top, put_taken, &k);
	inst_put_doubt(cx, &k.ev, &k.doubt);
	for (const struct inst_event *e = k.ev.first; e; e = e->next) {
		struct ptx_label *over = e->is_pruned ? inst_skip_within(cx, e->stmt) : NULL;
		put_event(&k, e);
		inst_end_skip(cx, over, e->stmt);
	}
	if (k.is_variant) {
		put_returns(&k);
	} else {
		inst_flush_counts(cx, k.cnt);
		put_ends(&k);
	}
	ptx_declare_new_regs(cx->m, cx->f);
}

static bool one_function(struct inst_ctx *cx, struct ptx_func *f)
{
	return inst_follow_kernel(cx, f, INST_PASS_IGUARD);
}

int inst_iguard(struct inst_ctx *cx)
{
	struct ptx_module *m = cx->m;

	cx->ts = ptx_templates_read(m, inst_iguard_templates, cx->sink);
	if (!cx->ts || !inst_read_doubt(cx))
		return BASE_EXIT_INTERNAL;
	struct ptx_item *last = m->last;
	cx->wants_scratch = false;
	if (!inst_add_guard(cx) || !inst_each_function(cx, last, one_function))
		return BASE_EXIT_INTERNAL;
	inst_add_scratch(cx, RACE_IGUARD_SCRATCH_SYMBOL);
	return 0;
}
