/*
 * iguard.c - detector `iguard`: every access is judged by who accessed its location before, and
 * with what synchronisation.
 *
 * iGUARD (SOSP'21) by calls (src/device/guard.cu): before each access one that is given the
 * thread's word, its state in the thread's own memory, the address and the site; around barriers of
 * the block and the warp, beside strong accesses and fences others, which give back the thread's
 * new word. After a compare-and-swap or exchange whose result is used one asks whether that took a
 * lock. What is followed is event.c's; shared memory's entries are in a table of block_table.c.
 *
 * Misses: accesses in functions that are called (counted). What a kernel with other ways to order
 * threads (event.c: unsure) does is only possible. Costs: a call for each access, see guard.cu.
 */
#include "instrument/internal.h"

#include "device/device.h"
#include "instrument/templates.h"
#include "race/layout/guard.h"
#include "race/shadow.h"

#include <string.h>

#define STATE_BYTES 152 /* struct state in guard.cu */

struct kernel {
	struct inst_ctx *cx;
	struct inst_events ev;
	uint32_t me, state, table, cnt; /* registers */
	bool has_bytes
		[2]; /* global, shared memory is accessed by bytes: entries are those of bytes */
};

static uint32_t table_bytes(uint32_t tracked, bool has_bytes)
{
	uint32_t entries = has_bytes ? tracked : tracked / 4u;

	return (uint32_t)sizeof(struct race_history_shared) + entries * GUARD_ENTRY_BYTES;
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
	inst_emit(cx, top, "table", T(inst_num(t->tracked), inst_num(t->bytes)),
		  H(inst_reg(cx, k->table), first));
	inst_emit(cx, top, "ready", NT, NH);
}

static void begin_kernel(struct kernel *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->cx;
	struct inst_block_table t;
	uint32_t flags = (k->ev.is_unsure ? RACE_GUARD_UNSURE : 0) |
			 (k->ev.has_order ? RACE_GUARD_ORDERS : 0);

	k->me = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->state = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->cnt = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	inst_emit(cx, top, "params", NT, NH);
	inst_emit(cx, top, "zero", NT, H(inst_reg(cx, k->cnt)));
	inst_emit(cx, top, "launch",
		  T(cx->k, KNOB(rt),
		    inst_num((int64_t)(offsetof(struct race_rt, counters) +
				       offsetof(struct race_counters, launches)))),
		  NH);
	if (k->ev.has_pruned)
		cx->within = inst_put_within(cx, top);
	inst_emit(cx, top, "begin", T(inst_num(flags), inst_num(STATE_BYTES)),
		  H(inst_reg(cx, k->me), inst_reg(cx, k->state)));
	if (k->ev.has_shared && inst_plan_block_table(cx, &t, table_bytes, k->has_bytes[1]))
		begin_table(k, &t, top);
	else
		inst_emit(cx, top, "no_table", NT, H(inst_reg(cx, k->table)));
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

static struct ptx_str what_of(const struct kernel *k, const struct inst_event *e)
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
	return inst_num((int64_t)what);
}

static void put_sync(struct kernel *k, struct ptx_opnd at, uint32_t op, struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me);

	inst_emit(cx, where, "sync", T(inst_num(op)),
		  H(me, me, inst_reg(cx, k->state), inst_reg(cx, k->table), at));
}

/* May it take a lock: a compare-and-swap or exchange of 4 or 8 bytes whose result is used? */
static bool may_lock(const struct inst_event *e)
{
	const struct ptx_form *fm = e->stmt->form;

	return e->is_seen && e->writes && fm->vec == 1 && (fm->width == 4 || fm->width == 8) &&
	       (ptx_form_has(fm, PTX_MOD_CAS) || ptx_form_has(fm, PTX_MOD_EXCH)) &&
	       e->stmt->nops >= 3 && e->stmt->ops[0].kind == PTX_OPND_REG && !e->stmt->ops[0].comp;
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
	inst_emit(cx, behind, "lock", T(inst_num(op)),
		  H(me, me, inst_reg(cx, k->state), at, old, wanted, stored));
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
		put_sync(k, at, op | RACE_GUARD_SYNC_READ, behind);
	if (may_lock(e))
		put_lock(k, e, at, op, behind);
}

static void put_access(struct kernel *k, const struct inst_event *e)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me), state = inst_reg(cx, k->state);
	struct ptx_opnd table = inst_reg(cx, k->table), guard = inst_none();
	struct ptx_str what = what_of(k, e);
	struct ptx_opnd at = address_of(k, e, e->space == INST_IN_SHARED ? 32 : 64);

	if (e->stmt->pred != PTX_NO_REG)
		guard = inst_sense(inst_reg(cx, e->stmt->pred), !e->stmt->is_pred_not);
	inst_emit(cx, e->stmt, "count", NT, H(inst_reg(cx, k->cnt), guard));
	switch (e->space) {
	case INST_IN_GLOBAL:
		inst_emit(cx, e->stmt, "access_global", T(what), H(me, state, at));
		break;
	case INST_IN_SHARED:
		inst_emit(cx, e->stmt, "access_shared", T(what), H(me, state, table, at));
		break;
	case INST_IN_GENERIC:
	case INST_IN_GENERIC_SHARED:
		inst_emit(cx, e->stmt, "access_generic", T(what), H(me, state, table, at));
		break;
	}
	if (!k->ev.has_order || e->strength == RACE_WEAK)
		return;
	if (e->space == INST_IN_SHARED) {
		struct ptx_opnd generic = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, e->stmt, "from_shared", NT, H(generic, at));
		at = generic;
	}
	order_access(k, e, at);
}

/* ---- what synchronises ----------------------------------------------------------------------- */

static void put_barrier(struct kernel *k, const struct inst_event *e, const char *is_behind,
			struct ptx_stmt *where)
{
	struct inst_ctx *cx = k->cx;
	struct ptx_opnd me = inst_reg(cx, k->me), state = inst_reg(cx, k->state);
	struct ptx_str text = {is_behind, (uint32_t)strlen(is_behind)};
	struct ptx_label *over = inst_skip_unless(k->cx, e->stmt, where);

	if (e->kind == INST_EVENT_WARP)
		inst_emit(cx, where, "lanes", T(text), H(me, me, state, e->stmt->ops[0]));
	else
		inst_emit(cx, where, "barrier", T(text), H(me, me, state));
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
	put_barrier(k, e, "0", s);
	put_barrier(k, e, "1", behind);
}

/* ---- a function ------------------------------------------------------------------------------ */

/* Entries of words serve where nobody accesses bytes; a generic address may be of both spaces. */
static void find_bytes(struct kernel *k)
{
	bool has_generic = false;

	for (const struct inst_event *e = k->ev.first; e; e = e->next) {
		if (e->kind != INST_EVENT_ACCESS)
			continue;
		has_generic |= e->space != INST_IN_GLOBAL && e->space != INST_IN_SHARED;
		k->has_bytes[e->space != INST_IN_GLOBAL] |= e->narrow != 0;
	}
	if (has_generic)
		k->has_bytes[0] = k->has_bytes[1] = k->ev.has_narrow;
}

void inst_iguard_function(struct inst_ctx *cx)
{
	struct kernel k = {.cx = cx};

	inst_plan_events(cx, &k.ev);
	find_bytes(&k);
	inst_end_body(cx);
	begin_kernel(&k, inst_body_start(cx->f));
	for (const struct inst_event *e = k.ev.first; e; e = e->next) {
		struct ptx_label *over = e->is_pruned ? inst_skip_within(cx, e->stmt) : NULL;
		if (e->kind == INST_EVENT_ACCESS)
			put_access(&k, e);
		else
			put_around(&k, e);
		inst_end_skip(cx, over, e->stmt);
	}
	inst_flush_counts(cx, k.cnt);
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
	return inst_add_guard(cx) && inst_each_function(cx, last, one_function)
		       ? 0
		       : BASE_EXIT_INTERNAL;
}
