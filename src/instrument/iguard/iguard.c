/*
 * iguard.c - detector `iguard`: every access is judged by who accessed its location before, and
 * with what synchronisation.
 *
 * iGUARD (SOSP'21) by calls (src/device/guard.cu): before each access, unless the inlined fast
 * path finds that its entries stay as they are, one that is given the thread's word, its state in
 * the thread's own memory, the address and the site; around barriers of the block and the warp,
 * beside strong accesses and fences others, which give back the thread's new word. After a
 * compare-and-swap or exchange whose result is used one asks whether that took a lock; where a
 * kernel draws tickets or exchanges, one after each strong read whether it was waited for. What is
 * followed is event.c's; shared memory's entries are in a table of block_table.c, or in scratch.
 * Functions that are called are followed in their variants (called/called.c), which have no fast
 * path.
 *
 * Misses: accesses in functions that are called in other ways (counted). What a kernel with other
 * ways to order threads (event.c: unsure) does is only possible. Costs: a call for each access, see
 * guard.cu.
 */
#include "instrument/internal.h"

#include "device/device.h"
#include "instrument/templates.h"
#include "race/layout/guard.h"
#include "race/layout/lanes.h"
#include "race/shadow.h"

#include <string.h>

struct kernel {
	struct inst_ctx *cx;
	struct inst_events ev;
	uint32_t me, state, near, spans, cnt, launch; /* registers */
	bool can_swap; /* common swaps are inlined: both words at once, blocks order threads */
	bool has_bytes
		[2];	/* global, shared memory is accessed by bytes: entries are those of bytes */
	bool is_plain;	/* only barriers of the block order its threads: RACE_GUARD_PLAIN */
	bool has_waits; /* it may draw tickets or join queues */
	uint32_t tracked; /* bytes of shared memory; 0: no table */
	uint32_t table;	  /* a register: the table in scratch */
	bool has_scratch;
	struct ptx_label *unchecked; /* the code without checks (prune/plain.c), or NULL */
	struct inst_frame frame;     /* of kernels that call variants, and of these */
	bool is_variant;	     /* its table is in `table`, too */
};

#define CONTEXT_LOW    inst_num((uint32_t)GUARD_CONTEXT_MASK)
#define CONTEXT_HIGH   inst_num((int64_t)(GUARD_CONTEXT_MASK >> 32))
#define KINDS	       ((1u << GUARD_SITE_AT) - 1u)
#define BLOCK(field)   inst_num((int64_t)offsetof(struct race_history, field))
#define CONTEXTS_AT    inst_num((int64_t)offsetof(struct race_guard_tables, contexts_of))
#define SWAPS_PAIRS_SM 90u

static uint32_t table_bytes(uint32_t tracked, bool has_bytes)
{
	uint32_t entries = has_bytes ? tracked : tracked / 4u;

	return (uint32_t)sizeof(struct race_history_shared) + entries * GUARD_ENTRY_BYTES;
}

/* The address of the block's table, where it is needed; 0: there is none. */
static struct ptx_opnd table_of(struct kernel *k, struct ptx_stmt *where)
{
	struct ptx_opnd table;

	if (k->has_scratch || k->is_variant)
		return inst_reg(k->cx, k->table);
	table = inst_fresh(k->cx, PTX_TYPE_B64);
	inst_emit(k->cx, where, k->tracked ? "table_at" : "no_table", NT, H(table));
	return table;
}

/* ---- at the entry ------------------------------------------------------------------------- */

static void begin_table(struct kernel *k, const struct inst_block_table *t, struct ptx_stmt *top)
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
static void put_lanes(struct kernel *k, struct ptx_opnd mask, uint32_t when, struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me);

	when |= k->ev.has_lanes ? RACE_LANES_ROW : 0;
	inst_emit(cx, where, "lanes", T(inst_num(when)), H(me, me, inst_reg(cx, k->state), mask));
}

static void put_scratch(struct kernel *k, uint32_t what, struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;

	inst_emit(cx, where, "scratch", T(inst_num(what)),
		  H(inst_reg(cx, k->me), inst_reg(cx, k->state), inst_reg(cx, k->table)));
}

static void begin_scratch(struct kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;

	cx->wants_scratch = k->has_scratch = true;
	k->table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	inst_emit(cx, top, "no_table", NT, H(inst_reg(cx, k->table)));
	put_scratch(k, RACE_GUARD_SCRATCH_TAKE | (k->has_bytes[1] ? RACE_GUARD_SCRATCH_BYTES : 0),
		    top);
	inst_emit(cx, top, "ready", NT, NH);
	put_scratch(k, RACE_GUARD_SCRATCH_FIND, top);
	inst_emit(cx, top, "ready", NT, NH);
}

static void new_registers(struct kernel *k)
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
}

static void begin_variant(struct kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;

	new_registers(k);
	k->table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	inst_emit(cx, top, "params", NT, NH);
	inst_frame_of_variant(cx, &k->frame, inst_reg(cx, k->state), inst_reg(cx, k->table), top);
}

static void begin_shared(struct kernel *k, struct ptx_stmt *top)
{
	struct inst_block_table t;

	if (!k->ev.has_shared)
		return;
	if (inst_plan_block_table(k->cx, &t, table_bytes, k->has_bytes[1]))
		begin_table(k, &t, top);
	else if (t.has_vars && !k->ev.is_apart) /* who leaves otherwise would keep the units */
		begin_scratch(k, top);
}

static void begin_kernel(struct kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;
	uint32_t flags = (k->ev.is_unsure ? RACE_GUARD_UNSURE : 0) |
			 (k->ev.has_order ? RACE_GUARD_ORDERS : 0) |
			 (k->is_plain ? RACE_GUARD_PLAIN : 0) |
			 (k->ev.has_lanes ? RACE_GUARD_LANES : 0);
	uint32_t bytes = RACE_GUARD_STATE_BYTES + (k->ev.has_lanes ? RACE_LANE_BYTES : 0);

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
			  T(cx->k, BLOCK(modes), inst_num(RACE_GUARD_MODE_PUBLISHED),
			    inst_num((int64_t)GUARD_CONTEXT_MASK),
			    inst_num((int64_t)RACE_GUARD_SPANS(0, 0, 0, true)),
			    inst_num((int64_t)RACE_GUARD_SPANS(0, 0, 0, false))),
			  H(inst_reg(cx, k->me), inst_reg(cx, k->spans)));
	if (k->can_swap)
		inst_emit(cx, top, "own_launch", T(cx->k, BLOCK(tables), CONTEXTS_AT),
			  H(inst_reg(cx, k->me), inst_reg(cx, k->launch)));
	begin_shared(k, top);
	if (k->frame.called)
		inst_frame_of_kernel(cx, &k->frame, inst_reg(cx, k->state), table_of(k, top),
				     k->has_scratch, top);
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* The address as a register of so many bits: that for nothing where the guard is false. */
static struct ptx_opnd address_of(struct kernel *k, const struct inst_event *e, unsigned bits)
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

static int64_t what_of(const struct kernel *k, const struct inst_event *e)
{
	bool is_strong = e->strength != RACE_WEAK;
	uint64_t what = e->access->site;

	what |= e->writes ? RACE_GUARD_WRITES : 0;
	what |= is_strong ? RACE_GUARD_STRONG : 0;
	what |= is_strong && e->scope == RACE_SCOPE_CTA ? RACE_GUARD_CTA : 0;
	what |= k->has_bytes[e->space != INST_IN_GLOBAL] ? RACE_GUARD_BYTES : 0;
	what |= (uint64_t)e->narrow << RACE_GUARD_NARROW_AT;
	what |= (uint64_t)e->sure << RACE_GUARD_SURE_AT;
	what |= (uint64_t)e->maybe << RACE_GUARD_MAYBE_AT;
	return (int64_t)what;
}

static void put_sync(struct kernel *k, struct ptx_opnd at, uint32_t op, struct ptx_stmt *where)
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

static struct ptx_opnd bits_of(struct kernel *k, const struct inst_event *e, struct ptx_opnd v,
			       struct ptx_stmt *where)
{
	struct ptx_opnd to = inst_fresh(k->cx, PTX_TYPE_B64);

	inst_emit(k->cx, where, e->stmt->form->width == 4 ? "bits32" : "bits64", NT, H(to, v));
	return to;
}

/* Operands that the instruction may overwrite are read before it. */
static void put_lock(struct kernel *k, const struct inst_event *e, struct ptx_opnd at, uint32_t op,
		     struct ptx_stmt *behind)
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
	op |= is_cas ? 0 : RACE_GUARD_SYNC_SWAP;
	inst_emit(cx, behind, "lock", T(inst_num(op)),
		  H(me, me, inst_reg(cx, k->state), at, old, wanted, stored));
	inst_end_skip(k->cx, over, behind);
}

/* The value of a sum or a strong read: a ticket, or the turn of who has one? */
static void put_wait(struct kernel *k, const struct inst_event *e, struct ptx_opnd at, uint32_t op,
		     struct ptx_stmt *behind)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_stmt *s = e->stmt;
	bool is_add = may_draw(e), is_inc = ptx_form_has(s->form, PTX_MOD_INC);
	struct ptx_opnd me = inst_reg(cx, k->me), added = inst_int(cx, is_inc ? 1 : 0), old;

	if (is_add && !is_inc)
		added = bits_of(k, e, s->ops[2], s);
	struct ptx_label *over = inst_skip_unless(k->cx, s, behind);
	old = bits_of(k, e, s->ops[0], behind);
	op |= is_add ? RACE_GUARD_SYNC_DRAW : RACE_GUARD_SYNC_LOOK;
	inst_emit(cx, behind, "lock", T(inst_num(op)),
		  H(me, me, inst_reg(cx, k->state), at, old, inst_int(cx, 0), added));
	inst_end_skip(k->cx, over, behind);
}

/* Release stamps and locks beside a strong access; `at` is a generic address. */
static void order_access(struct kernel *k, const struct inst_event *e, struct ptx_opnd at)
{
	bool is_release = e->strength == RACE_RELEASE || e->strength == RACE_ACQ_REL;
	bool is_acquire = e->strength == RACE_ACQUIRE || e->strength == RACE_ACQ_REL;
	struct ptx_stmt *behind = e->stmt->next;
	uint32_t words = 0, all = e->sure | e->maybe, op = 0;

	while (words < 8 && all >> words)
		words++;
	op |= RACE_GUARD_SYNC_SHAPE(words, inst_log2(e->stmt->form->width),
				    (uint32_t)e->stmt->form->vec);
	op |= e->scope == RACE_SCOPE_CTA ? 0 : RACE_GUARD_SYNC_WIDE;
	op |= e->scope == RACE_SCOPE_SYS ? RACE_GUARD_SYNC_SYSTEM : 0;
	if (e->writes)
		put_sync(k, at,
			 op | RACE_GUARD_SYNC_WRITE | (is_release ? RACE_GUARD_SYNC_RELEASE : 0) |
				 (may_lock(e) ? RACE_GUARD_SYNC_LOCK : 0),
			 e->stmt);
	op |= is_acquire ? RACE_GUARD_SYNC_ACQUIRE : 0;
	if (e->is_seen || is_acquire)
		put_sync(k, at,
			 op | RACE_GUARD_SYNC_READ | (e->is_place ? RACE_GUARD_SYNC_PLACE : 0),
			 behind);
	if (may_lock(e))
		put_lock(k, e, at, op | (is_release ? RACE_GUARD_SYNC_RELEASE : 0), behind);
	else if (k->has_waits && (may_draw(e) || (has_value(e) && !e->writes)))
		put_wait(k, e, at, op, behind);
}

/* ---- the fast path --------------------------------------------------------------------------- */

#define FAST_WORDS 4u /* of an access; more are called */

/* Of one byte, with the entries of bytes. */
static bool is_byte(const struct kernel *k, const struct inst_event *e)
{
	return e->space == INST_IN_GLOBAL && k->has_bytes[0] && e->narrow == 1 &&
	       (e->sure | e->maybe) == 1;
}

/* The words of a weak access, counted; 0: it is called. */
static unsigned fast_words(const struct kernel *k, const struct inst_event *e)
{
	bool is_shared = e->space == INST_IN_SHARED;
	uint32_t all = e->sure | e->maybe;
	unsigned n = 0;

	if (k->is_variant || !(is_shared ? k->tracked != 0 : e->space == INST_IN_GLOBAL))
		return 0;
	if (e->maybe && e->sure)
		return 0;
	/* Where entries are those of bytes, of global memory and one byte. */
	if (k->has_bytes[is_shared])
		return is_byte(k, e) && e->strength == RACE_WEAK ? 1 : 0;
	/* Of strong accesses: atomics that all threads may use. */
	if (e->strength != RACE_WEAK && (!e->writes || e->scope == RACE_SCOPE_CTA))
		return 0;
	while (n < 8 && all >> n & 1u)
		n++;
	return n <= FAST_WORDS && !(all >> n) ? n : 0;
}

/* One entry: does it stay as it is? */
static void put_fast_entry(struct kernel *k, const struct inst_event *e, struct ptx_opnd w,
			   struct ptx_opnd a, struct ptx_opnd stays)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me), spans = inst_reg(cx, k->spans);
	struct ptx_opnd own = inst_fresh(cx, PTX_TYPE_PRED), none, among;
	bool is_strong = e->strength != RACE_WEAK;

	if (!is_strong)
		inst_emit(cx, e->stmt, "fast_own", T(CONTEXT_LOW, inst_num(KINDS)), H(me, w, own));
	if (e->writes && !is_strong) {
		inst_emit(cx, e->stmt, "fast_write", NT, H(own, a, stays));
		return;
	}
	none = inst_fresh(cx, PTX_TYPE_PRED);
	among = inst_fresh(cx, PTX_TYPE_PRED);
	if (!e->maybe)
		inst_emit(cx, e->stmt, "fast_among",
			  T(inst_num((uint32_t)GUARD_CONTEXT_MASK | (KINDS & ~3u)),
			    inst_num(is_strong ? GUARD_STRONG : 0), CONTEXT_HIGH, inst_num(3),
			    inst_num(0x4440)),
			  H(me, is_strong ? w : a, spans, among));
	if (is_strong && e->space == INST_IN_SHARED) {
		/* What was weak before the block's last barrier is ordered before all of them. */
		struct ptx_opnd behind = inst_fresh(cx, PTX_TYPE_PRED);

		inst_emit(cx, e->stmt, "fast_among",
			  T(inst_num((uint32_t)GUARD_CONTEXT_MASK | (KINDS & ~3u)),
			    inst_num(GUARD_STRONG | GUARD_BEHIND_BLOCK << GUARD_BEHIND_AT),
			    CONTEXT_HIGH, inst_num(3), inst_num(0x4440)),
			  H(me, w, spans, behind));
		inst_emit(cx, e->stmt, "either", NT, H(among, behind));
	}
	if (is_strong) {
		inst_emit(cx, e->stmt, "fast_write", NT, H(among, a, stays));
		return;
	}
	if (e->space == INST_IN_SHARED && k->is_plain)
		inst_emit(cx, e->stmt, "fast_before", T(CONTEXT_LOW, CONTEXT_HIGH), H(me, w, none));
	else
		inst_emit(cx, e->stmt, "fast_unwritten", NT, H(w, none));
	if (e->maybe)
		inst_emit(cx, e->stmt, "fast_look", NT, H(own, none, stays));
	else
		inst_emit(cx, e->stmt, "fast_read", NT, H(own, none, among, stays));
}

/* The swaps of most accesses: of an entry of another launch, in shared memory of another interval;
 * then, in global memory, of readers and atomics that join others of their kind. */
static void put_swap(struct kernel *k, const struct inst_event *e, struct ptx_opnd entry,
		     struct ptx_opnd w, struct ptx_opnd a, struct ptx_label *over,
		     struct ptx_label *again)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me), spans = inst_reg(cx, k->spans), joined;
	struct ptx_opnd to = ptx_opnd_label(over), back = ptx_opnd_label(again);
	struct ptx_label *slow = ptx_new_label(cx->m, cx->f);
	uint32_t site = e->access->site + 1u, kind = e->strength == RACE_WEAK ? 0 : GUARD_STRONG;
	struct ptx_str as;

	as = inst_num((site <= GUARD_SITE_LAST + 1u ? (int64_t)site << GUARD_SITE_AT : 0) | kind);
	if (e->space == INST_IN_SHARED) {
		inst_emit(cx, e->stmt, e->writes ? "fast_write_next" : "fast_read_next",
			  T(CONTEXT_LOW, as), H(me, w, a, entry, to, back));
		return;
	}
	if (e->writes && !kind) {
		inst_emit(cx, e->stmt, "fast_write_first",
			  T(cx->k, BLOCK(tables), CONTEXTS_AT, CONTEXT_LOW, as),
			  H(me, w, a, entry, inst_reg(cx, k->launch), to, back));
		return;
	}
	inst_emit(cx, e->stmt, kind ? "fast_strong_first" : "fast_read_first",
		  T(cx->k, BLOCK(tables), CONTEXTS_AT, CONTEXT_LOW, as, BLOCK(modes),
		    inst_num(RACE_GUARD_MODE_ALONE)),
		  H(me, w, a, entry, inst_reg(cx, k->launch), to, back));
	joined = inst_fresh(cx, PTX_TYPE_B64);
	inst_emit(cx, e->stmt, "join",
		  T(CONTEXT_LOW, inst_num(kind), inst_num((int64_t)RACE_GUARD_SPANS_UNKNOWN)),
		  H(me, kind ? w : a, kind ? a : w, spans, joined, ptx_opnd_label(slow)));
	inst_emit(cx, e->stmt, kind ? "join_writers" : "join_readers",
		  T(cx->k, BLOCK(modes), inst_num(RACE_GUARD_MODE_ALONE)),
		  H(w, a, joined, entry, to, back, ptx_opnd_label(slow)));
	inst_emit_label(cx, e->stmt, slow);
}

/* An access whose entries stay as they are goes to `over`. */
static void put_fast(struct kernel *k, const struct inst_event *e, unsigned words,
		     struct ptx_opnd at, struct ptx_opnd what, struct ptx_label *over)
{
	struct inst_ctx *cx = k->cx;
	bool is_shared = e->space == INST_IN_SHARED;
	struct ptx_label *far = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd me = inst_reg(cx, k->me), state = inst_reg(cx, k->state);
	struct ptx_opnd entry = inst_fresh(cx, is_shared ? PTX_TYPE_B32 : PTX_TYPE_B64);
	struct ptx_opnd stays = inst_fresh(cx, PTX_TYPE_PRED);
	struct ptx_str space = is_shared ? PTX_STR("shared") : PTX_STR("global");

	inst_emit(cx, e->stmt, "what", T(inst_num(what_of(k, e))), H(what));
	if (is_shared)
		inst_emit(cx, e->stmt, "fast_shared",
			  T(inst_num(k->tracked - 4 * words),
			    inst_num((int64_t)sizeof(struct race_history_shared))),
			  H(at, entry, inst_reg(cx, k->near), ptx_opnd_label(far)));
	else
		inst_emit(cx, e->stmt, "fast_global",
			  T(cx->k, BLOCK(directory), inst_num(RACE_HISTORY_PIECE_BITS - 3u),
			    inst_num((int64_t)(RACE_HISTORY_PIECES - 1u) << 3),
			    inst_num((int64_t)(RACE_HISTORY_PIECE - 4u))),
			  H(at, entry, inst_reg(cx, k->spans), ptx_opnd_label(far)));
	if (is_byte(k, e))
		inst_emit(cx, e->stmt, "fast_byte",
			  T(cx->k, BLOCK(words), BLOCK(pages),
			    inst_num(RACE_HISTORY_PIECE_BITS + 2), inst_num(RACE_HISTORY_PAGE_BITS),
			    inst_num(RACE_HISTORY_PAGES - 1), inst_num(RACE_HISTORY_PIECE_BITS)),
			  H(at, entry, ptx_opnd_label(far)));
	/* An atomic of shared memory is called. */
	bool is_swap =
		k->can_swap && words == 1 && !e->maybe && (e->strength == RACE_WEAK || !is_shared);
	struct ptx_label *again = is_swap ? ptx_new_label(cx->m, cx->f) : NULL;
	struct ptx_opnd w, a;
	if (!is_swap)
		inst_emit(cx, e->stmt, "fast_begin", NT, H(stays));
	for (unsigned i = 0; i < words; i++) {
		w = inst_fresh(cx, PTX_TYPE_B64);
		a = inst_fresh(cx, PTX_TYPE_B64);

		inst_emit(cx, e->stmt, "fast_load", T(space, inst_num(GUARD_ENTRY_BYTES * i)),
			  H(entry, w, a));
		if (is_swap) {
			inst_emit_label(cx, e->stmt, again);
			inst_emit(cx, e->stmt, "fast_begin", NT, H(stays));
		}
		put_fast_entry(k, e, w, a, stays);
	}
	inst_emit(cx, e->stmt, "fast_end", NT, H(stays, ptx_opnd_label(over)));
	if (is_swap)
		put_swap(k, e, entry, w, a, over, again);
	if (e->strength == RACE_WEAK && !e->maybe) {
		struct ptx_opnd left = inst_fresh(cx, PTX_TYPE_B32);

		inst_emit(cx, e->stmt, is_shared ? "step_shared" : "step_global",
			  T(inst_num(what_of(k, e))),
			  H(me, state, entry, inst_reg(cx, k->spans), left));
		inst_emit(cx, e->stmt, "step_left",
			  T(inst_num(what_of(k, e)), inst_num(RACE_GUARD_FOR_ALL_AT)),
			  H(left, what, ptx_opnd_label(over)));
	}
	inst_emit_label(cx, e->stmt, far);
}

/* The whole call, where the fast path doesn't decide. */
static void put_check(struct kernel *k, const struct inst_event *e, struct ptx_opnd at)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me), state = inst_reg(cx, k->state);
	struct ptx_opnd what = inst_fresh(cx, PTX_TYPE_B64), table;
	unsigned words = fast_words(k, e);
	struct ptx_label *over = words ? inst_skip_unless(cx, e->stmt, e->stmt) : NULL;

	if (words && !over)
		over = ptx_new_label(cx->m, cx->f);
	if (words)
		put_fast(k, e, words, at, what, over);
	else
		inst_emit(cx, e->stmt, "what", T(inst_num(what_of(k, e))), H(what));
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

static void put_access(struct kernel *k, const struct inst_event *e)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd guard = inst_none();
	struct ptx_opnd at = address_of(k, e, e->space == INST_IN_SHARED ? 32 : 64);

	if (e->stmt->pred != PTX_NO_REG)
		guard = inst_sense(inst_reg(cx, e->stmt->pred), !e->stmt->is_pred_not);
	inst_emit(cx, e->stmt, "count", NT, H(inst_reg(cx, k->cnt), guard));
	put_check(k, e, at);
	if (!k->ev.has_order || e->strength == RACE_WEAK)
		return;
	if (k->ev.only_observes) {
		inst_observe(k->cx, e, at);
		return;
	}
	if (e->space == INST_IN_SHARED) {
		struct ptx_opnd generic = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, e->stmt, "from_shared", NT, H(generic, at));
		at = generic;
	}
	order_access(k, e, at);
}

/* ---- what synchronises ----------------------------------------------------------------------- */

static void put_barrier(struct kernel *k, const struct inst_event *e, bool is_behind,
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

static void put_around(struct kernel *k, const struct inst_event *e)
{
	struct ptx_stmt *s = e->stmt, *behind = s->next;

	if (e->kind == INST_EVENT_FENCE) {
		bool is_wide = s->form->scope != PTX_SCOPE_CTA;
		struct ptx_label *over = inst_skip_unless(k->cx, s, s);
		put_sync(k, inst_int(k->cx, 0),
			 RACE_GUARD_SYNC_FENCE | (is_wide ? RACE_GUARD_SYNC_WIDE : 0), s);
		inst_end_skip(k->cx, over, s);
		return;
	}
	if (k->ev.has_order)
		put_barrier(k, e, false, s);
	put_barrier(k, e, true, behind);
}

/* ---- a function ------------------------------------------------------------------------------ */

/* Entries of words serve where nobody accesses bytes; a generic address may be of both spaces. */
static void find_bytes(struct kernel *k)
{
	k->has_bytes[0] = k->ev.has_generic ? k->ev.has_narrow : k->ev.has_narrow_global;
	k->has_bytes[1] = k->ev.has_generic ? k->ev.has_narrow : k->ev.has_narrow_shared;
}

/* The block's last thread gives its units back. */
static void put_ends(struct kernel *k)
{
	for (struct ptx_stmt *s = k->cx->f->first; s && k->has_scratch; s = s->next) {
		if (!inst_leaves(s))
			continue;
		struct ptx_label *over = inst_skip_unless(k->cx, s, s);
		put_scratch(k, RACE_GUARD_SCRATCH_GIVE, s);
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

static void put_event(struct kernel *k, const struct inst_event *e)
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
static void put_returns(struct kernel *k)
{
	for (struct ptx_stmt *s = k->cx->f->first; s; s = s->next) {
		if (!inst_leaves(s))
			continue;
		if (s->form->op == PTX_OP_RET) {
			struct ptx_label *over = inst_skip_unless(k->cx, s, s);
			inst_frame_keep(k->cx, &k->frame, s);
			inst_end_skip(k->cx, over, s);
			continue;
		}
		inst_flush_count_at(k->cx, k->cnt, s);
		struct ptx_label *over = inst_skip_unless(k->cx, s, s);
		struct ptx_label *none = inst_frame_ends(k->cx, &k->frame, s);
		put_scratch(k, RACE_GUARD_SCRATCH_GIVE, s);
		inst_end_skip(k->cx, none, s);
		inst_end_skip(k->cx, over, s);
	}
}

void inst_iguard_function(struct inst_ctx *cx)
{
	struct kernel k = {.cx = cx, .is_variant = !cx->f->is_entry};

	k.frame = (struct inst_frame){.called = inst_called_here(cx), .detector = 'g'};
	k.ev.sees = INST_SEES_LAUNCH;
	k.ev.follows_calls = k.frame.called != NULL;
	inst_plan_events(cx, &k.ev);
	find_bytes(&k);
	k.is_plain = !k.ev.has_warp && !k.ev.has_order;
	k.can_swap = (k.is_plain || k.ev.only_observes) && !k.frame.called &&
		     cx->m->sm >= SWAPS_PAIRS_SM;
	k.has_waits = has_waits(&k.ev) || (k.frame.called && k.ev.has_update);
	inst_end_body(cx);
	k.unchecked = !k.frame.called && inst_is_all_pruned(cx, &k.ev) ? inst_copy_body(cx) : NULL;
	if (k.is_variant)
		begin_variant(&k, inst_body_start(cx->f));
	else
		begin_kernel(&k, inst_body_start(cx->f));
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
	if (!cx->ts)
		return BASE_EXIT_INTERNAL;
	struct ptx_item *last = m->last;
	cx->wants_scratch = false;
	if (!inst_add_guard(cx) || !inst_each_function(cx, last, one_function))
		return BASE_EXIT_INTERNAL;
	inst_add_scratch(cx, RACE_GUARD_SCRATCH_SYMBOL);
	return 0;
}
