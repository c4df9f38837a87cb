/*
 * follower.c - the way of a detector through a kernel: hirace's, iguard's and watch's alike.
 *
 * The events of a kernel are planned once (event.c). Then code is put in, in this order: at the
 * entry; at each event, or statement; at the ways out. With words there are also the loads that the
 * compiler may have invented (use.c) and those that are held (doubt/), which come after the entry;
 * and a variant of a function that is called (called/called.c) goes the same way, except for what
 * only a kernel has.
 */
#include "instrument/follower.h"
#include "instrument/launches.h"

#include "race/layout/copies.h"
#include "race/layout/held.h"
#include "race/layout/lanes.h"

#define LANES 32u /* of a warp */

/* ---- addresses ------------------------------------------------------------------------------- */

struct ptx_opnd inst_access_address(struct inst_follow *k, const struct inst_event *e,
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
	if (e->lanes && e->lanes < LANES) {
		struct ptx_opnd names = inst_fresh(cx, PTX_TYPE_PRED);
		inst_emit(cx, e->stmt, "first_lanes", T(inst_num(e->lanes)), H(names));
		inst_emit(cx, e->stmt, "only_if",
			  T(bits == 64 ? PTX_STR("b64") : PTX_STR("b32"), none), H(at, at, names));
	}
	if (e->cut && cx->f->reg_type[e->cut->reg] == PTX_TYPE_PRED)
		inst_emit(cx, e->stmt, "only_unless", T(PTX_STR("b64"), none), H(at, at, *e->cut));
	else if (e->cut)
		inst_emit(cx, e->stmt, "only_whole", T(inst_num(4 * e->access->vec)),
			  H(at, *e->cut));
	return at;
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

void inst_put_copy(struct inst_follow *k, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd copies = inst_fresh(cx, PTX_TYPE_B64);

	inst_emit(cx, e->stmt, k->ev.tracks_copies ? "copies_at" : "no_copies", NT, H(copies));
	inst_emit(cx, e->stmt, "access_copy", T(inst_num(k->by->what(k, e))),
		  H(inst_reg(cx, k->me), inst_reg(cx, k->state), k->by->table(k, e->stmt), at,
		    copies));
}

/* After a wait, and before an arrive, which others may wait for. */
static void put_copies(struct inst_follow *k, const struct inst_event *e)
{
	struct inst_ctx *cx = k->cx;
	bool is_wait = (e->stmt->form->effects & PTX_EFF_WAIT) != 0;
	struct ptx_stmt *at = is_wait ? e->stmt->next : e->stmt;
	struct ptx_opnd copies = inst_fresh(cx, PTX_TYPE_B64);

	if (!k->ev.tracks_copies)
		return;
	struct ptx_label *over = inst_skip_unless(cx, e->stmt, at);
	inst_emit(cx, at, "copies_at", NT, H(copies));
	inst_emit(cx, at, "copies", T(inst_num(e->op)),
		  H(inst_reg(cx, k->me), inst_reg(cx, k->state), k->by->table(k, at), copies));
	inst_end_skip(cx, over, at);
}

static struct ptx_opnd address_of(struct inst_follow *k, const struct inst_event *e)
{
	return inst_access_address(k, e, e->space == INST_IN_SHARED ? 32 : 64);
}

void inst_put_matrix(struct inst_follow *k, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_ctx *cx = k->cx;
	const struct inst_lines *x = e->lines;
	struct ptx_opnd all = inst_fresh(cx, PTX_TYPE_B64), stride = inst_fresh(cx, PTX_TYPE_B32);
	uint64_t matrix = RACE_MATRIX(x->pieces, inst_log2(x->bytes / x->piece), x->piece,
				      inst_log2(x->bits));
	int64_t what = k->by->what(k, e) | (int64_t)e->space << RACE_HELD_SPACE_AT;

	if (e->space == INST_IN_SHARED)
		inst_emit(cx, e->stmt, "widen", T(inst_num(64), inst_num(32)), H(all, at));
	else
		inst_emit(cx, e->stmt, "copy", T(PTX_STR("u64")), H(all, at));
	inst_emit(cx, e->stmt, "copy", T(PTX_STR("u32")),
		  H(stride, e->stmt->nops > 2 ? e->stmt->ops[2] : inst_int(cx, x->elems)));
	inst_emit(cx, e->stmt, "access_matrix", T(inst_num(what), inst_num((int64_t)matrix)),
		  H(inst_reg(cx, k->me), inst_reg(cx, k->state), k->by->table(k, e->stmt), all,
		    stride));
}

void inst_put_lowest(struct inst_ctx *cx, const struct inst_block_table *t, struct ptx_opnd first,
		     struct ptx_stmt *top)
{
	for (unsigned i = 0; i < t->nvars; i++) {
		struct ptx_opnd sym = {.kind = PTX_OPND_SYM,
				       .flags = PTX_OPND_VAR,
				       .text = t->vars[i]->name,
				       .var = t->vars[i]};
		inst_emit(cx, top, i ? "lowest" : "lowest_first", NT, H(first, sym));
	}
}

void inst_put_lanes(struct inst_follow *k, struct ptx_opnd mask, uint32_t when,
		    struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me);

	when |= k->ev.has_lanes ? RACE_LANES_ROW : 0;
	inst_emit(cx, where, "lanes", T(inst_num(when)), H(me, me, inst_reg(cx, k->state), mask));
}

/* ---- loads in doubt -------------------------------------------------------------------------- */

static struct ptx_opnd held_address(void *k, const struct inst_event *e)
{
	return address_of(k, e);
}

static struct ptx_opnd held_table(void *arg, struct ptx_stmt *at)
{
	struct inst_follow *k = arg;

	return k->by->table(k, at);
}

static int64_t held_what(void *arg, const struct inst_event *e)
{
	struct inst_follow *k = arg;

	return k->by->what(k, e);
}

static struct ptx_label *held_skip(void *arg, const struct inst_event *e)
{
	struct inst_follow *k = arg;

	return inst_skip_part(k->cx, k->launches, e);
}

static void plan_doubt(struct inst_follow *k)
{
	k->doubt = (struct inst_doubt){
		.detector = k->frame.detector,
		.arg = k,
		.what = held_what,
		.address = held_address,
		.table = held_table,
		.skip = held_skip,
	};
	inst_plan_doubt(k->cx, &k->ev, &k->doubt);
}

/* ---- the entry ------------------------------------------------------------------------------- */

static void new_registers(struct inst_follow *k, struct ptx_stmt *top)
{
	k->by->new_registers(k);
	k->frame.me = k->me;
	k->frame.cnt = k->cnt;
	k->doubt.me = k->me;
	k->doubt.state = k->state;
	inst_emit(k->cx, top, "params", NT, NH);
}

static void begin_variant(struct inst_follow *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;

	inst_frame_of_variant(cx, &k->frame, inst_reg(cx, k->state), inst_reg(cx, k->table), top);
}

static void begin_launch(struct inst_follow *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;

	inst_emit(cx, top, "launch",
		  T(cx->k, KNOB(rt),
		    inst_num((int64_t)(offsetof(struct race_rt, counters) +
				       offsetof(struct race_counters, launches)))),
		  NH);
	if (k->plain)
		inst_plain_enter(cx, k->launches, k->plain, top);
}

static void begin_counted(struct inst_follow *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;

	inst_emit(cx, top, "zero", NT, H(inst_reg(cx, k->cnt)));
	begin_launch(k, top);
	if (k->ev.has_pruned)
		cx->within = inst_put_within(cx, top);
	inst_begin_part(cx, k->launches, top);
	k->by->begin_kernel(k, top);
	if (k->ev.tracks_copies)
		inst_emit(cx, top, "begin_copies", T(inst_num((int64_t)sizeof(struct race_copies))),
			  NH);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void put_access(struct inst_follow *k, const struct inst_event *e)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd guard = inst_none(), at = inst_none();
	bool is_in_group = e->is_grouped || e->with;

	if (!is_in_group)
		at = address_of(k, e);
	if (e->stmt->pred != PTX_NO_REG)
		guard = inst_sense(inst_reg(cx, e->stmt->pred), !e->stmt->is_pred_not);
	inst_emit(cx, e->stmt, "count", NT, H(inst_reg(cx, k->cnt), guard));
	if (is_in_group) {
		if (!e->is_grouped)
			k->by->put_group(k, e);
		return;
	}
	if (e->uses)
		inst_note_load(cx, e, at);
	if (e->is_selected || !(e->sure | e->maybe))
		return;
	k->by->put_check(k, e, at);
	if (!k->ev.has_order || !k->by->orders(k, e))
		return;
	if (k->by->put_again)
		k->by->put_again(k, e, at);
	if (k->ev.only_observes) {
		inst_observe(cx, e, at, k->by->is_flagged);
		return;
	}
	if (e->space == INST_IN_SHARED) {
		struct ptx_opnd generic = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, e->stmt, "from_shared", NT, H(generic, at));
		at = generic;
	}
	k->by->order_access(k, e, at);
}

static void put_event(struct inst_follow *k, const struct inst_event *e)
{
	switch (e->kind) {
	case INST_EVENT_ACCESS:
		put_access(k, e);
		break;
	case INST_EVENT_CALL:
		inst_frame_call(k->cx, &k->frame, e->stmt);
		if (k->by->put_called)
			k->by->put_called(k, e);
		break;
	case INST_EVENT_COPIES:
		put_copies(k, e);
		break;
	default:
		k->by->put_around(k, e);
		break;
	}
}

static void put_taken(void *arg, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_follow *k = arg;

	k->by->put_check(k, e, at);
}

/* The ways out of a variant: back to its caller, or the thread's end. */
static void put_returns(struct inst_follow *k)
{
	for (struct ptx_stmt *s = k->cx->f->first; s; s = s->next) {
		if (!inst_leaves(s) || inst_frame_returns(k->cx, &k->frame, s))
			continue;
		inst_flush_count_at(k->cx, k->cnt, s);
		k->by->put_thread_end(k, s);
	}
}

/* ---- a function ------------------------------------------------------------------------------ */

static void plan(struct inst_follow *k, bool has_words)
{
	struct inst_ctx *cx = k->cx;
	const struct inst_stats stats = *cx->stats;
	const uint32_t nsites = race_sites_count(cx->sites);

	if (has_words) {
		k->is_variant = !cx->f->is_entry;
		k->frame = (struct inst_frame){.called = inst_called_here(cx),
					       .detector = cx->detector->letter};
	}
	k->ev.sees = k->by->sees;
	k->ev.follows_calls = k->frame.called != NULL;
	if (k->by->choose)
		k->by->choose(k);
	inst_plan_events(cx, &k->ev);
	k->by->plan(k);
	if (k->is_left) {
		*cx->stats = stats;
		race_sites_cut(cx->sites, nsites);
	}
	if (!has_words || k->is_left)
		return;
	inst_plan_uses(cx, &k->ev);
	plan_doubt(k);
}

static void begin_words(struct inst_follow *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;

	new_registers(k, top);
	if (k->is_variant)
		begin_variant(k, top);
	else
		begin_counted(k, top);
	inst_begin_doubt(cx, &k->doubt, top);
	inst_note_parts(k->launches, &k->ev);
	inst_put_uses(cx, &k->ev, top, put_taken, k);
	inst_put_doubt(cx, &k->ev, &k->doubt);
	if (!k->is_variant && k->by->plan_groups)
		k->by->plan_groups(k);
}

static void put_events(struct inst_follow *k)
{
	for (const struct inst_event *e = k->ev.first; e; e = e->next) {
		struct ptx_label *over = e->is_pruned ? inst_skip_within(k->cx, e->stmt) : NULL;
		struct ptx_label *read = inst_skip_part(k->cx, k->launches, e);
		put_event(k, e);
		inst_end_skip(k->cx, read, e->stmt);
		inst_end_skip(k->cx, over, e->stmt);
	}
}

static void put_statements(struct inst_follow *k)
{
	const struct inst_event *e = k->ev.first;
	struct ptx_stmt *next;

	for (struct ptx_stmt *s = k->cx->f->first; s; s = next) {
		next = s->next;
		if (s->inserted)
			continue;
		while (e && e->kind != INST_EVENT_ACCESS)
			e = e->next;
		k->by->put_statement(k, s, e);
		if (e && e->stmt == s)
			e = e->next;
	}
}

/* What the last detector puts in is wanted where it leaves the kernel to another, too. */
static void put_plain(struct inst_follow *k)
{
	k->plain = inst_plain_copy(k->cx, k->launches);
	if (!k->plain)
		return;
	begin_launch(k, inst_body_start(k->cx->f));
	ptx_declare_new_regs(k->cx->m, k->cx->f);
}

void inst_follow(struct inst_ctx *cx, struct inst_follow *k, const struct inst_follower *by)
{
	bool has_words = !by->put_statement;

	k->cx = cx;
	k->by = by;
	plan(k, has_words);
	k->launches = has_words && !k->is_variant ? inst_plan_launches(cx) : NULL;
	inst_end_body(cx);
	if (k->is_left) {
		put_plain(k);
		return;
	}
	cx->is_followed = true;
	if (has_words && !k->frame.called && inst_is_all_pruned(cx, &k->ev))
		k->unchecked = inst_copy_body(cx, NULL, NULL);
	if (!k->unchecked)
		k->plain = inst_plain_copy(cx, k->launches);
	struct ptx_stmt *top = inst_body_start(cx->f);
	if (has_words) {
		begin_words(k, top);
		put_events(k);
	} else {
		by->new_registers(k);
		by->begin_kernel(k, top);
		put_statements(k);
	}
	if (k->is_variant)
		put_returns(k);
	else if (!k->is_beside)
		inst_flush_counts(cx, k->cnt);
	if (!k->is_variant && by->put_ends)
		by->put_ends(k);
	ptx_declare_new_regs(cx->m, cx->f);
}

/* ---- a module -------------------------------------------------------------------------------- */

bool inst_begin_follower(struct inst_ctx *cx, const char *ptx, size_t size)
{
	struct ptx_item *at = inst_first_code(cx->m);

	cx->wants_scratch = false;
	cx->detector->put_block(cx, at);
	return inst_read_doubt(cx) && inst_add_hashed_functions(cx, at, ptx, size);
}

/* The mark of a module whose kernels want scratch, if one does. */
bool inst_end_follower(struct inst_ctx *cx)
{
	if (cx->wants_scratch)
		inst_add_mark(cx, inst_first_code(cx->m), race_words_of(cx->detector->id)->scratch);
	return true;
}
