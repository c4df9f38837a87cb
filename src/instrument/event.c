/*
 * event.c - a function's memory accesses and synchronisation: the plan for detectors that follow
 * every access, whatever its strength, and everything that orders threads.
 *
 * Walks a function once. Loads and stores, atomics and reductions of global, shared or generic
 * memory become access events with their strength and scope, and with the words of 4 bytes that
 * they surely access: for a load only the bytes whose value is really used (flow_demand_bytes); the
 * compiler may have invented the load of others. Barriers of the block and the warp and fences are
 * events, too. Anything else that orders threads (mbarriers, named and cluster barriers, calls of
 * functions that synchronise) makes the function *unsure*: its pairs may be ordered by something
 * that was not followed. Loads of shared memory that barriers keep apart from every write
 * (flow_is_undisturbed) race with nothing and are no events.
 *
 * A call of a function that has a variant (called/called.c) is an event, where the detector follows
 * calls; what the function does belongs to the kernel's plan then.
 *
 * Accesses of the whole warp, and cp.async: wide.c.
 *
 * Misses: copies (bulk, tensor), textures, memory of other blocks of the cluster (where
 * the caller doesn't ask for it), functions that are called in other ways: all are counted for the
 * report's footer.
 */
#include "instrument/internal.h"

#include "race/layout/history.h"

#include <string.h>

/* ---- accesses -------------------------------------------------------------------------- */

bool inst_is_followed_space(uint8_t space)
{
	return space == PTX_SPACE_GLOBAL || space == PTX_SPACE_SHARED || space == PTX_SPACE_GENERIC;
}

static bool is_followed(const struct ptx_form *fm, bool follows_cluster)
{
	bool is_op = fm->op == PTX_OP_LD || fm->op == PTX_OP_LDU || fm->op == PTX_OP_ST ||
		     fm->op == PTX_OP_ATOM || fm->op == PTX_OP_RED;

	return is_op && fm->width && fm->vec && !(fm->effects & PTX_EFF_UNKNOWN) &&
	       (inst_is_followed_space(fm->space) ||
		(follows_cluster && fm->space == PTX_SPACE_SHARED_CLUSTER)) &&
	       (unsigned)fm->vec * fm->width <= 32;
}

/* What inst_events.follows_copies leaves to the pass: it counts what it doesn't check. */
static bool is_issued(const struct ptx_form *fm)
{
	return fm->op == PTX_OP_CP_ASYNC || fm->op == PTX_OP_CP_ASYNC_BULK ||
	       fm->op == PTX_OP_CP_REDUCE_ASYNC_BULK || fm->op == PTX_OP_LDMATRIX ||
	       fm->op == PTX_OP_STMATRIX;
}

/* Of an element of a load. */
static struct flow_bytes element_bytes(struct inst_ctx *cx, const struct ptx_stmt *s,
				       const struct ptx_opnd *op)
{
	if (op->kind == PTX_OPND_SINK)
		return (struct flow_bytes){0, 0};
	if (op->kind != PTX_OPND_REG || op->comp)
		return (struct flow_bytes){0, (uint32_t)((1ull << s->form->width) - 1)};
	return flow_demand_bytes(cx->fl, s, op->reg);
}

/* Which bytes are surely accessed, and which perhaps: two sets of bits. */
static void bytes_of(struct inst_ctx *cx, const struct ptx_stmt *s, uint32_t *sure, uint32_t *maybe)
{
	const struct ptx_form *fm = s->form;
	bool is_load = !(fm->effects & PTX_EFF_WRITE);
	int dst = is_load && fm->sem == PTX_SEM_WEAK ? ptx_find_role(s, PTX_ROLE_DST) : -1;
	uint32_t elem = (uint32_t)((1ull << fm->width) - 1);

	*sure = *maybe = 0;
	for (unsigned i = 0; i < fm->vec; i++) {
		struct flow_bytes b = {elem, 0};
		if (dst >= 0) {
			const struct ptx_opnd *op = &s->ops[dst];
			bool is_vec = op->kind == PTX_OPND_VEC;
			if (is_vec && i < op->nsub)
				b = element_bytes(cx, s, &op->sub[i]);
			else
				b = fm->vec == 1 ? element_bytes(cx, s, op)
						 : (struct flow_bytes){0, elem};
		}
		*sure |= b.sure << i * fm->width;
		*maybe |= b.maybe << i * fm->width;
	}
}

#define BYTES_KNOWN  1u
#define BYTES_SHARED 2u
#define BYTES_GLOBAL 4u

/* Where an access may go: BYTES_*. */
static uint8_t bytes_in(const struct ptx_form *fm)
{
	return fm->space == PTX_SPACE_SHARED   ? BYTES_SHARED
	       : fm->space == PTX_SPACE_GLOBAL ? BYTES_GLOBAL
	       : fm->space == PTX_SPACE_LOCAL || fm->space == PTX_SPACE_PARAM
		       ? 0
		       : BYTES_SHARED | BYTES_GLOBAL;
}

/* To which memory a function writes less than a word. */
static uint8_t bytes_written(const struct ptx_func *f)
{
	uint8_t in = 0;

	ptx_each_stmt(f, s)
	{
		const struct ptx_form *fm = s->kind == PTX_STMT_INST ? s->form : NULL;
		if (fm && !s->inserted && fm->width && fm->effects & PTX_EFF_WRITE &&
		    fm->width * (fm->vec ? fm->vec : 1u) < 4)
			in |= bytes_in(fm);
	}
	return in;
}

/* Other kernels have other shared memory. */
bool inst_writes_bytes(struct inst_ctx *cx, const struct ptx_stmt *load)
{
	if (!cx->writes_bytes) {
		cx->writes_bytes = BYTES_KNOWN;
		ptx_each_item(cx->m, it)
		{
			const struct ptx_func *f = it->kind == PTX_ITEM_FUNC ? it->func : NULL;
			if (f && !f->is_proto && !it->inserted)
				cx->writes_bytes |= f->is_entry ? bytes_written(f) & BYTES_GLOBAL
								: bytes_written(f);
		}
	}
	if (cx->bytes_of != cx->f) {
		cx->bytes_of = cx->f;
		cx->bytes_here = bytes_written(cx->f);
	}
	return ((cx->writes_bytes | cx->bytes_here) & bytes_in(load->form)) != 0;
}

/* Sets of words from those of bytes: sure where all bytes of the word are, or any byte will do. */
static void set_words(struct inst_event *e, unsigned bytes, uint32_t sure, uint32_t maybe,
		      bool by_bytes)
{
	e->narrow = bytes < 4 ? (uint8_t)bytes : 0;
	for (unsigned i = 0; 4 * i < bytes; i++) {
		uint32_t all = bytes < 4 ? (1u << bytes) - 1 : 15u << 4 * i;
		if ((sure & all) == all || (!by_bytes && sure & all)) {
			e->sure |= (uint8_t)(1u << i);
		} else if ((sure | maybe) & all) {
			e->maybe |= (uint8_t)(1u << i);
			e->is_partial |= by_bytes && (maybe & all) != all;
		}
	}
}

bool inst_is_whole(struct inst_ctx *cx, const struct ptx_stmt *load, uint32_t reg)
{
	struct flow_bytes b = flow_demand_bytes(cx->fl, load, reg);
	unsigned n = load->form->width;
	uint32_t used = b.sure | b.maybe;

	if (used == (uint32_t)((1ull << n) - 1) || inst_writes_bytes(cx, load))
		return used == (uint32_t)((1ull << n) - 1);
	for (unsigned i = 0; i < n; i += 4)
		if (!(used >> i & 15u))
			return false;
	return true;
}

static bool is_only_place(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	int dst = ptx_find_role(s, PTX_ROLE_DST);

	return dst >= 0 && s->ops[dst].kind == PTX_OPND_REG && !s->ops[dst].comp &&
	       flow_is_only_place(cx->fl, s->ops[dst].reg);
}

static enum race_strength strength_of(const struct ptx_form *fm)
{
	switch ((enum ptx_sem)fm->sem) {
	case PTX_SEM_ACQUIRE:
		return RACE_ACQUIRE;
	case PTX_SEM_RELEASE:
		return RACE_RELEASE;
	case PTX_SEM_ACQ_REL:
	case PTX_SEM_SC:
		return RACE_ACQ_REL;
	case PTX_SEM_RELAXED:
	case PTX_SEM_VOLATILE:
	case PTX_SEM_MMIO:
		return RACE_RELAXED;
	default:
		return RACE_WEAK;
	}
}

static enum race_scope scope_of(const struct ptx_form *fm)
{
	if (strength_of(fm) == RACE_WEAK)
		return RACE_SCOPE_NONE;
	if (fm->sem == PTX_SEM_VOLATILE || fm->sem == PTX_SEM_MMIO)
		return RACE_SCOPE_SYS;
	switch ((enum ptx_scope)fm->scope) {
	case PTX_SCOPE_CTA:
		return RACE_SCOPE_CTA;
	case PTX_SCOPE_CLUSTER:
		return RACE_SCOPE_CLUSTER;
	case PTX_SCOPE_GPU:
		return RACE_SCOPE_GPU;
	default:
		return RACE_SCOPE_SYS;
	}
}

static enum race_access kind_of(const struct ptx_form *fm)
{
	if (fm->effects & PTX_EFF_ATOMIC)
		return RACE_ACCESS_ATOMIC;
	if (fm->effects & PTX_EFF_WRITE)
		return RACE_ACCESS_STORE;
	return fm->effects & PTX_EFF_NONTEMPORAL ? RACE_ACCESS_NC_LOAD : RACE_ACCESS_LOAD;
}

void inst_add_event(struct inst_events *ev, struct inst_event *e)
{
	if (ev->last)
		ev->last->next = e;
	else
		ev->first = e;
	ev->last = e;
}

struct inst_event *inst_new_event(struct inst_ctx *cx, enum inst_event_kind kind,
				  struct ptx_stmt *s)
{
	struct inst_event *e = BASE_NEW(&cx->scratch, struct inst_event);

	e->kind = kind;
	e->stmt = s;
	return e;
}

/* For the site table. */
static struct inst_access *access_of(struct inst_ctx *cx, const struct inst_event *e,
				     const struct ptx_opnd *where)
{
	const struct ptx_form *fm = e->stmt->form;
	struct inst_access *a = BASE_NEW(&cx->scratch, struct inst_access);

	a->stmt = e->stmt;
	a->where = where;
	a->kind = kind_of(fm);
	a->space = (enum ptx_space)fm->space;
	a->vec = fm->vec;
	a->width = fm->width;
	a->strength = e->strength;
	a->scope = e->scope;
	a->leads = true;
	a->elem = BASE_NEWN(&cx->scratch, struct inst_elem, a->vec);
	for (unsigned i = 0; i < a->vec; i++)
		a->elem[i].speculated = e->maybe && !e->sure;
	return a;
}

/* Is a plain access followed? Not where --prune has proven that no other access races with it. */
bool inst_is_event_left(struct inst_ctx *cx, struct inst_events *ev, struct inst_event *e)
{
	enum inst_pruned pruned = inst_prune_of(cx, e->stmt, ev->sees);

	e->is_pruned = pruned == INST_PRUNED_WITHIN;
	ev->has_pruned |= e->is_pruned;
	ev->has_alone |= e->is_pruned && cx->opt->prune_alone && ev->sees == INST_SEES_OVERLAP;
	return pruned != INST_PRUNED_ALWAYS;
}

/* Do barriers alone keep a weak load of shared memory apart from all writes? */
static bool is_undisturbed(struct inst_ctx *cx, const struct inst_event *e, enum flow_origin origin)
{
	const struct ptx_form *fm = e->stmt->form;

	return !cx->opt->all_loads && e->strength == RACE_WEAK && !(fm->effects & PTX_EFF_WRITE) &&
	       (fm->space == PTX_SPACE_SHARED || origin == FLOW_ORIGIN_SHARED) &&
	       flow_is_undisturbed(cx->fl, e->stmt);
}

static void plan_access(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	const struct ptx_opnd *where = ptx_address(s);
	enum flow_origin origin = FLOW_ORIGIN_UNKNOWN;
	uint32_t sure, maybe;

	if (!where || !where->nsub) {
		cx->stats->unsupported++;
		inst_unchecked(cx, fm->text, RACE_WHY_UNSUPPORTED, false);
		return;
	}
	if (fm->space == PTX_SPACE_GENERIC)
		origin = flow_address_origin(cx->fl, s);
	if (origin == FLOW_ORIGIN_PRIVATE || origin == FLOW_ORIGIN_CONST) {
		cx->stats->skipped_private++;
		inst_unchecked(cx, PTX_STR("access to the thread's own stack"), RACE_WHY_PRIVATE,
			       false);
		return;
	}
	struct inst_event *e = inst_new_event(cx, INST_EVENT_ACCESS, s);
	bytes_of(cx, s, &sure, &maybe);
	set_words(e, (unsigned)fm->vec * fm->width, sure, maybe, inst_writes_bytes(cx, s));
	if (!e->sure && !e->maybe) {
		cx->stats->skipped_dead++;
		inst_unchecked(cx, PTX_STR("load whose value is never used"), RACE_WHY_DEAD, false);
		return;
	}
	e->strength = strength_of(fm);
	e->scope = scope_of(fm);
	if (is_undisturbed(cx, e, origin)) {
		cx->stats->undisturbed++;
		inst_unchecked(cx, PTX_STR("load of shared memory"), RACE_WHY_UNDISTURBED, false);
		return;
	}
	/* Strong accesses may order others. */
	if (e->strength == RACE_WEAK && !(inst_is_chosen(cx, s) && inst_is_event_left(cx, ev, e)))
		return;
	e->reads = (fm->effects & PTX_EFF_READ) != 0;
	e->writes = (fm->effects & PTX_EFF_WRITE) != 0;
	e->space = origin == FLOW_ORIGIN_SHARED		   ? INST_IN_GENERIC_SHARED
		   : origin == FLOW_ORIGIN_GLOBAL	   ? INST_IN_GLOBAL
		   : fm->space == PTX_SPACE_GLOBAL	   ? INST_IN_GLOBAL
		   : fm->space == PTX_SPACE_SHARED	   ? INST_IN_SHARED
		   : fm->space == PTX_SPACE_SHARED_CLUSTER ? INST_IN_GENERIC_SHARED
							   : INST_IN_GENERIC;
	e->is_seen = e->reads && (!e->writes || flow_is_result_used(cx->fl, s));
	e->is_place = e->is_seen && e->strength != RACE_WEAK && is_only_place(cx, s);
	e->is_seed = e->strength == RACE_WEAK && !e->writes && flow_is_seed(cx->fl, s);
	e->access = access_of(cx, e, where);
	e->access->site = inst_add_site(cx, e->access);
	cx->stats->sites++;
	cx->stats->groups++;
	if (e->maybe)
		cx->stats->speculated++;
	ev->has_narrow |= e->narrow != 0;
	ev->has_narrow_global |=
		e->narrow && e->space != INST_IN_SHARED && e->space != INST_IN_GENERIC_SHARED;
	ev->has_narrow_shared |= e->narrow && e->space != INST_IN_GLOBAL;
	ev->has_shared |= e->space != INST_IN_GLOBAL;
	ev->has_generic |= e->space != INST_IN_GLOBAL && e->space != INST_IN_SHARED;
	ev->has_update |= e->strength != RACE_WEAK && e->is_seen && e->writes;
	ev->naccesses++;
	ev->has_release |= e->strength == RACE_RELEASE || e->strength == RACE_ACQ_REL;
	ev->has_system |= e->writes && e->strength != RACE_WEAK && e->scope == RACE_SCOPE_SYS;
	if (e->strength != RACE_WEAK &&
	    (e->is_seen || e->strength != RACE_RELAXED)) /* else: a relaxed write, a sum */
		ev->has_order = true;
	inst_add_event(ev, e);
}

/* ---- what synchronises -------------------------------------------------------------------- */

/* Does it wait only for what this thread itself has begun? */
static bool is_own_wait(const struct ptx_form *fm)
{
	return !(fm->effects & PTX_EFF_BARRIER) && fm->effects & PTX_EFF_WAIT &&
	       !(fm->effects & (PTX_EFF_READ | PTX_EFF_WRITE));
}

/* An mbarrier without a wait orders nothing; a wait is seen by itself. */
static bool orders_nothing(const struct ptx_form *fm)
{
	return fm->op == PTX_OP_MBARRIER_INIT || fm->op == PTX_OP_MBARRIER_INVAL;
}

static void set_unsure(struct inst_ctx *cx, struct inst_events *ev, struct ptx_str by)
{
	if (!ev->is_unsure)
		inst_unchecked(cx, by, RACE_WHY_ORDERS, true);
	ev->is_unsure = true;
}

/* Does the operand of bar.warp.sync leave no lane out, as far as the text says? */
static bool is_full_mask(struct inst_ctx *cx, const struct ptx_opnd *mask)
{
	uint32_t n;

	if (mask->kind == PTX_OPND_REG) {
		struct ptx_stmt *const *defs = flow_defs(cx->fl, mask->reg, &n);
		if (n != 1 || defs[0]->kind != PTX_STMT_INST || defs[0]->form->op != PTX_OP_MOV ||
		    defs[0]->nops < 2)
			return false;
		mask = &defs[0]->ops[1];
	}
	return mask->kind == PTX_OPND_INT && (uint32_t)mask->imm == ~0u;
}

void inst_join_call(struct inst_ctx *cx, struct inst_events *ev, const struct ptx_stmt *s)
{
	struct inst_callee g = inst_callee_of(cx, s);
	ev->is_apart |= !g.only_returns;
	ev->is_unsure |= !g.is_quiet;
}

static void plan_call(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s)
{
	const struct inst_called *to = ev->follows_calls ? inst_callee(cx, s) : NULL;
	struct inst_events of = {0};

	if (to)
		of = to->all;
	else
		inst_join_call(cx, &of, s);
	if (to)
		inst_add_event(ev, inst_new_event(cx, INST_EVENT_CALL, s));
	ev->is_apart |= of.is_apart;
	if (!to && of.is_unsure)
		ev->orders_kernels = ev->shows_kernels = true;
	if (of.is_unsure)
		set_unsure(cx, ev, PTX_STR("call of a function that synchronises"));
}

/* May it wait for the thread's copies, or commit some, where no event says so? What has a variant
 * may touch their words by code that knows no copies. */
static bool hides_waits(struct inst_ctx *cx, const struct inst_events *ev, const struct ptx_stmt *s)
{
	if (s->form->effects & PTX_EFF_UNKNOWN)
		return true;
	return s->form->effects & PTX_EFF_CALL &&
	       (ev->ignores_calls || inst_callee(cx, s) || !inst_callee_of(cx, s).no_copies);
}

static void plan_inst(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	bool is_memory = fm->effects & (PTX_EFF_READ | PTX_EFF_WRITE);

	ev->has_exit |= fm->op == PTX_OP_EXIT;
	ev->is_apart |= inst_is_of_dependents(fm) || fm->effects & PTX_EFF_UNKNOWN;
	ev->is_blind |= hides_waits(cx, ev, s);
	ev->orders_kernels |= flow_orders_kernels(fm);
	ev->observes_kernels |= flow_observes_kernels(cx->fl, s);
	ev->shows_kernels |= flow_shows_kernels(fm);
	inst_plan_copies(cx, ev, s);
	if (is_followed(fm, ev->follows_cluster)) {
		plan_access(cx, ev, s);
	} else if (inst_is_wide(ev, s)) {
		inst_plan_wide(cx, ev, s);
	} else if (flow_is_block_barrier(s)) {
		inst_add_event(ev, inst_new_event(cx, INST_EVENT_BLOCK, s));
		ev->has_barrier = true;
	} else if (fm->effects & PTX_EFF_WARP_SYNC && s->nops) {
		/* Without a mask ptxas refuses it. */
		inst_add_event(ev, inst_new_event(cx, INST_EVENT_WARP, s));
		ev->has_warp = true;
		ev->has_lanes |= !is_full_mask(cx, &s->ops[0]);
		/* What such a mask orders goes on by stamps. */
		ev->has_order |= ev->has_lanes;
	} else if (fm->effects & PTX_EFF_FENCE && !is_memory) {
		inst_add_event(ev, inst_new_event(cx, INST_EVENT_FENCE, s));
		ev->has_fence = true;
		ev->has_order = true;
		ev->has_release = true;
		ev->informs |= fm->scope == PTX_SCOPE_SYS;
	} else if (fm->effects & PTX_EFF_CALL && ev->ignores_calls) {
		return;
	} else if (fm->effects & PTX_EFF_CALL) {
		plan_call(cx, ev, s);
	} else if (fm->effects & PTX_EFF_UNKNOWN) {
		cx->stats->unknown++;
		inst_unchecked(cx, fm->text, RACE_WHY_UNKNOWN_OPCODE, false);
		set_unsure(cx, ev, fm->text);
	} else if (!orders_nothing(fm) &&
		   (fm->effects & PTX_EFF_BARRIER ||
		    (fm->effects & PTX_EFF_WAIT && !is_own_wait(fm)) || inst_is_strong(fm))) {
		set_unsure(cx, ev, fm->text);
	}
	if (is_memory && !is_followed(fm, ev->follows_cluster) &&
	    !(fm->effects & PTX_EFF_UNKNOWN) && !(ev->follows_copies && is_issued(fm)) &&
	    !inst_is_wide(ev, s) &&
	    (inst_is_followed_space(fm->space) || inst_is_followed_space(fm->space2) ||
	     fm->space == PTX_SPACE_SHARED_CLUSTER || fm->space == PTX_SPACE_TMEM)) {
		cx->stats->unsupported++;
		inst_unchecked(cx, fm->text, RACE_WHY_UNSUPPORTED, false);
	}
}

/* Nothing that is released or acquired, here or by a barrier. */
static bool only_observes(const struct inst_events *ev)
{
	for (const struct inst_event *e = ev->first; e; e = e->next)
		if (e->kind != INST_EVENT_ACCESS ||
		    (e->strength != RACE_WEAK &&
		     (e->strength != RACE_RELAXED ||
		      (e->space != INST_IN_GLOBAL && e->space != INST_IN_SHARED))))
			return false;
	return !ev->is_unsure;
}

/* needs: flow.  keeps: everything (nothing is changed). */
void inst_plan_events(struct inst_ctx *cx, struct inst_events *ev)
{
	*ev = (struct inst_events){.follows_copies = ev->follows_copies,
				   .follows_cluster = ev->follows_cluster,
				   .follows_calls = ev->follows_calls,
				   .ignores_calls = ev->ignores_calls,
				   .sees = ev->sees};
	if (inst_may_launch(cx)) {
		set_unsure(cx, ev, PTX_STR("launch of a kernel by a kernel"));
		ev->is_apart = ev->orders_kernels = ev->shows_kernels = true;
	}
	ptx_each_stmt(cx->f, s)
	{
		if (s->kind == PTX_STMT_RAW)
			set_unsure(cx, ev, PTX_STR("directive that is not known"));
		if (s->kind == PTX_STMT_INST && !s->inserted)
			plan_inst(cx, ev, s);
		ev->is_apart |= s->kind == PTX_STMT_RAW;
		ev->orders_kernels |= s->kind == PTX_STMT_RAW;
		ev->shows_kernels |= s->kind == PTX_STMT_RAW;
		ev->is_blind |= s->kind == PTX_STMT_RAW;
	}
	ev->tracks_copies = ev->has_copies && !ev->is_blind && cx->f->is_entry;
	if (ev->has_copies && !ev->tracks_copies)
		inst_unchecked(cx, PTX_STR("cp.async whose wait may lie in another function"),
			       RACE_WHY_UNSUPPORTED, true);
	if (ev->follows_calls)
		inst_join_called(cx, ev);
	ev->informs |= ev->is_unsure || (ev->has_release && ev->has_system);
	ev->only_observes = ev->has_order && !ev->follows_calls && only_observes(ev);
}

/* An atomic that orders nothing, as its result isn't used, and whose scope has all threads. */
static bool is_sum(const struct inst_event *e)
{
	return e->strength == RACE_RELAXED && e->reads && e->writes && !e->is_seen &&
	       (e->space == INST_IN_SHARED || e->scope >= RACE_SCOPE_GPU);
}

bool inst_is_plain_kernel(struct inst_ctx *cx, const struct inst_events *ev)
{
	if (!cx->f->is_entry || inst_called_here(cx) || ev->is_unsure || ev->has_order ||
	    ev->has_copies || inst_parts_at_exits(cx, ev))
		return false;
	for (const struct inst_event *e = ev->first; e; e = e->next)
		if (e->kind != INST_EVENT_BLOCK &&
		    !(e->kind == INST_EVENT_ACCESS && (e->strength == RACE_WEAK || is_sum(e))))
			return false;
	return true;
}

/* iguard takes no lock without a fence or an acquire. */
void inst_observe(struct inst_ctx *cx, const struct inst_event *e, struct ptx_opnd at,
		  bool is_flagged)
{
	const char *of = e->space == INST_IN_SHARED ? "observe_s" : "observe";
	struct ptx_str hash = inst_num((int64_t)RACE_READ_HASH);
	struct ptx_str read_at = inst_num(RACE_STAMPS_READ_AT);

	for (uint32_t i = 0, all = e->sure | e->maybe; all >> i && e->is_seen; i++) {
		struct ptx_str off = inst_num(4 * (int64_t)i);
		if (is_flagged)
			inst_emit(cx, e->stmt->next, of,
				  T(off, hash, read_at, inst_num(e->is_place ? 0 : RACE_READ_FLAG)),
				  H(at));
		else
			inst_emit(cx, e->stmt->next, of, T(off, hash, read_at), H(at));
	}
}

void inst_count_unfollowed(struct inst_ctx *cx)
{
	bool has_variant = inst_has_variant(cx, cx->f);

	ptx_each_stmt(cx->f, s)
	{
		if (s->kind != PTX_STMT_INST || s->inserted || !is_followed(s->form, false))
			continue;
		inst_unchecked(cx,
			       has_variant
				       ? PTX_STR("access, where a pointer or another module calls,")
				       : PTX_STR("access in a function that is called"),
			       RACE_WHY_UNSUPPORTED, true);
		cx->stats->unsupported++;
	}
}
