/*
 * watch.c - detector `watch`: a sampled access publishes a watchpoint, every other one looks.
 *
 * KCSAN's idea, as src/race/layout/watch.h and src/device/watch/watch.cu carry it out. Each access
 * looks at the slot of its address: a weak one once, in the region between the last statement that
 * may acquire and the next that may release (group.c); a strong one must find the same watchpoint
 * before and after it, since it may be the very operation that orders the two. A weak access whose
 * bytes are all surely used may be drawn: it publishes a watchpoint. That stays until the thread
 * draws another one or comes to something that may release: until then nothing can order the
 * access before one of another thread, so the longer window costs nothing. Without collide the
 * thread sleeps after each drawn access, and at the end of every second watchpoint. Why a hit is
 * always a race: docs/soundness.md. Accesses are event.c's.
 *
 * Shared memory of other blocks of the cluster: cluster.c; copies and matrices: issued.c.
 *
 * Misses: shared memory in functions that are called, tensor copies, wmma (counted); a pair of two
 * strong accesses. Costs: see watch.ptxt; calls are for sampled accesses and hits.
 */
#include "instrument/watch/watch_internal.h"

#include "device/device.h"
#include "instrument/detector.h"
#include "race/layout/history.h"

#include <string.h>

/* Bytes of shared memory without opting in. On the CPU device there would be more, but a launch
 * with dynamic shared memory beside it is refused there, too. */
#define PLAIN_ROOM ((48u << 10) - 16u)

bool inst_watch_is_beside(const struct inst_ctx *cx)
{
	return cx->opt->sanitize & race_detectors_with(RACE_SLEEPS);
}

static uint32_t table_bytes(uint32_t tracked, bool arg)
{
	(void)tracked;
	(void)arg;
	return RACE_WATCH_SHARED_BYTES;
}

/* Is a state space of shared memory named? */
static bool accesses_shared(const struct inst_watch *k)
{
	ptx_each_stmt(k->f.cx->f, s)
	{
		if (s->kind == PTX_STMT_INST && !s->inserted &&
		    (s->form->space == PTX_SPACE_SHARED || s->form->space2 == PTX_SPACE_SHARED ||
		     s->form->space == PTX_SPACE_SHARED_CLUSTER))
			return true;
	}
	return false;
}

void inst_watch_put_blocks(struct inst_watch *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->f.cx;

	k->key = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->blocks = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	inst_emit(cx, top, "blocks", T(cx->k, KNOB(rt), RT(watch_blocks)),
		  H(inst_reg(cx, k->blocks)));
}

static struct inst_watch *of(struct inst_follow *f)
{
	return (struct inst_watch *)f;
}

static void new_registers(struct inst_follow *f)
{
	struct inst_watch *k = of(f);
	struct inst_ctx *cx = f->cx;

	k->table = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	k->mask = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->held = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->next = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->f.cnt = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	k->block = k->blocks = k->key = k->rank = PTX_NO_REG;
}

static void begin_kernel(struct inst_follow *f, struct ptx_stmt *top)
{
	struct inst_watch *k = of(f);
	struct inst_ctx *cx = f->cx;
	struct inst_block_table t;

	k->top = top;
	inst_emit(cx, top, "params", T(inst_num(RACE_WATCH_STATE)), NH);
	inst_emit(
		cx, top, "begin",
		T(cx->k, KNOB(rt), KNOB(seed),
		  inst_num((int64_t)offsetof(struct race_watch, table)), inst_num(RACE_WATCH_MASK),
		  inst_num((int64_t)offsetof(struct race_watch, first)), inst_num(RACE_WATCH_FAR),
		  inst_num(RACE_WATCH_MOST), inst_num(RACE_WATCH_CROWD), inst_num(RACE_WATCH_THIN)),
		H(inst_reg(cx, k->table), inst_reg(cx, k->mask), inst_reg(cx, k->held),
		  inst_reg(cx, k->next), inst_reg(cx, k->f.cnt)));
	if (!f->is_beside && cx->f->is_entry)
		inst_emit(cx, top, "launch",
			  T(cx->k, KNOB(rt),
			    inst_num((int64_t)(offsetof(struct race_rt, counters) +
					       offsetof(struct race_counters, launches))),
			    RT(looks)),
			  NH);
	/* A function that is called can't know its callers' tables. */
	if (!cx->f->is_entry || (!k->f.ev.has_shared && !accesses_shared(k)))
		return;
	if (k->f.ev.follows_cluster) {
		inst_watch_begin_cluster(k, top);
	} else if (inst_plan_block_table(cx, &t, table_bytes, false) &&
		   t.tracked + t.bytes <= PLAIN_ROOM) {
		k->block = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
		inst_emit(cx, top, "table", T(inst_num(RACE_WATCH_SHARED_BYTES)),
			  H(inst_reg(cx, k->block)));
	} else if (t.has_vars || accesses_shared(k)) {
		struct ptx_opnd number = inst_fresh(cx, PTX_TYPE_B64);
		inst_watch_put_blocks(k, top);
		inst_emit(cx, top, "block_number", NT, H(number));
		inst_emit(cx, top, "key",
			  T(inst_num(RACE_WATCH_KEY_AT), inst_num(RACE_WATCH_KEY_DROP),
			    inst_num(RACE_WATCH_KEY_LOW)),
			  H(inst_reg(cx, k->key), number));
	}
}

/* ---- one access ------------------------------------------------------------------------------ */

/* May it be watched: is it weak, and are all its bytes surely accessed, in memory that is not
 * read-only by declaration? */
static bool is_watched(const struct inst_event *e)
{
	const struct ptx_form *fm = e->stmt->form;
	unsigned bytes = (unsigned)fm->vec * fm->width, words = bytes < 4 ? 1 : bytes / 4;

	return e->strength == RACE_WEAK &&
	       !(fm->effects & (PTX_EFF_NONTEMPORAL | PTX_EFF_ASYNC | PTX_EFF_COLLECTIVE_MEM)) &&
	       !e->maybe && e->sure == (1u << words) - 1u && (bytes & (bytes - 1)) == 0;
}

uint64_t inst_watch_what(const struct inst_watch *k, const struct inst_event *e)
{
	const struct ptx_form *fm = e->stmt->form;
	uint64_t what = e->access->site;

	what |= e->writes ? RACE_WATCH_IS_WRITE : 0;
	what |= is_watched(e) ? RACE_WATCH_MAY_STAND : 0;
	what |= fm->effects & PTX_EFF_NONTEMPORAL ? RACE_WATCH_IS_NC : 0;
	if (e->space == INST_IN_SHARED)
		what |= k->key == PTX_NO_REG ? RACE_WATCH_IS_SHARED : RACE_WATCH_IS_BLOCK;
	what |= (uint64_t)inst_log2((unsigned)e->access->vec * e->access->width)
		<< RACE_WATCH_LOG_WHAT_AT;
	what |= (uint64_t)e->sure << RACE_WATCH_SURE_AT;
	what |= (uint64_t)e->maybe << RACE_WATCH_MAYBE_AT;
	return what;
}

struct ptx_opnd inst_watch_base(struct inst_watch *k, const struct inst_event *e,
				struct ptx_stmt *at, bool *is_narrow)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd base = e->access->where->sub[0], reg;

	*is_narrow = e->space == INST_IN_SHARED || e->access->space == PTX_SPACE_SHARED_CLUSTER;
	if (base.kind == PTX_OPND_REG)
		*is_narrow = ptx_type_bytes((enum ptx_type)cx->f->reg_type[base.reg]) == 4;
	if (base.kind != PTX_OPND_SYM)
		return base;
	reg = inst_fresh(cx, *is_narrow ? PTX_TYPE_B32 : PTX_TYPE_B64);
	inst_emit(cx, at, "symbol", T(*is_narrow ? PTX_STR("u32") : PTX_STR("u64")), H(reg, base));
	return reg;
}

/* The address as 64 bits: of the window, where the space is shared memory. */
struct ptx_opnd inst_watch_address(struct inst_watch *k, const struct inst_event *e,
				   struct ptx_stmt *at)
{
	struct ptx_opnd to = inst_fresh(k->f.cx, PTX_TYPE_B64), base;
	bool is_narrow;

	base = inst_watch_base(k, e, at, &is_narrow);
	inst_emit(k->f.cx, at, is_narrow ? "at32" : "at64", T(inst_num(e->access->where->off)),
		  H(to, base));
	return to;
}

struct ptx_opnd inst_watch_guard(const struct inst_watch *k, const struct inst_event *e)
{
	const struct ptx_stmt *s = e->stmt;

	return s->pred == PTX_NO_REG ? inst_none()
				     : inst_sense(inst_reg(k->f.cx, s->pred), !s->is_pred_not);
}

/* On the CPU device a signed addition of ours counts checks. */
void inst_watch_count(struct inst_watch *k, struct ptx_stmt *at, struct ptx_opnd guard, unsigned n)
{
	struct inst_ctx *cx = k->f.cx;

	inst_emit(cx, at, "counts",
		  T(inst_watch_is_beside(cx) ? PTX_STR("u32") : PTX_STR("s32"), inst_num(n)),
		  H(inst_reg(cx, k->f.cnt), guard));
}

/* Which table? `over`: where an address of another space goes. */
struct inst_watch_look inst_watch_table(struct inst_watch *k, const struct inst_event *e,
					struct ptx_label *over, bool counts)
{
	struct inst_ctx *cx = k->f.cx;
	struct inst_watch_look l = {.at = inst_watch_address(k, e, e->stmt),
				    .tab = inst_fresh(cx, PTX_TYPE_B64),
				    .m = inst_fresh(cx, PTX_TYPE_B32),
				    .w = inst_fresh(cx, PTX_TYPE_B64),
				    .hit = inst_fresh(cx, PTX_TYPE_PRED)};

	if (e->access->space == PTX_SPACE_SHARED_CLUSTER && k->rank == PTX_NO_REG)
		inst_emit(cx, e->stmt, "own", NT, H(l.at, ptx_opnd_label(over)));
	struct ptx_opnd table = inst_reg(cx, k->table), mask = inst_reg(cx, k->mask);
	struct ptx_opnd skip = ptx_opnd_label(over);
	struct ptx_str what = inst_num((int64_t)inst_watch_what(k, e));

	if (k->rank != PTX_NO_REG && e->space != INST_IN_GLOBAL)
		inst_watch_owner(k, e, &l, over);
	else if (e->space == INST_IN_GLOBAL)
		inst_emit(cx, e->stmt, "of_global", T(what), H(l.tab, l.m, l.w, table, mask));
	else if (e->space == INST_IN_SHARED && k->key != PTX_NO_REG)
		inst_emit(cx, e->stmt, "of_block", T(what),
			  H(l.tab, l.m, l.w, l.at, inst_reg(cx, k->blocks), inst_reg(cx, k->key),
			    mask));
	else if (k->key != PTX_NO_REG)
		inst_emit(cx, e->stmt, "of_both", T(what, inst_num(RACE_WATCH_IS_BLOCK)),
			  H(l.tab, l.m, l.w, l.at, table, mask, inst_reg(cx, k->blocks),
			    inst_reg(cx, k->key), skip));
	else if (e->space == INST_IN_SHARED)
		inst_emit(cx, e->stmt, "of_shared", T(what, inst_num(RACE_WATCH_SHARED_MASK)),
			  H(l.tab, l.m, l.w, inst_reg(cx, k->block), mask));
	else if (k->block == PTX_NO_REG)
		inst_emit(cx, e->stmt, "of_generic", T(what),
			  H(l.tab, l.m, l.w, l.at, table, mask, skip));
	else
		inst_emit(cx, e->stmt, "of_either",
			  T(what, inst_num(RACE_WATCH_SHARED_MASK), inst_num(RACE_WATCH_IS_SHARED)),
			  H(l.tab, l.m, l.w, l.at, table, mask, inst_reg(cx, k->block), skip));
	if (counts)
		inst_watch_count(k, e->stmt, inst_none(), 1);
	return l;
}

/* Before the access: does a watchpoint stand in its slot? */
static struct inst_watch_look put_look(struct inst_watch *k, const struct inst_event *e,
				       struct ptx_label *over, bool counts)
{
	struct inst_ctx *cx = k->f.cx;
	struct inst_watch_look l = inst_watch_table(k, e, over, counts);
	bool is_global = e->space == INST_IN_GLOBAL || k->key != PTX_NO_REG; /* the table */

	inst_emit(cx, e->stmt, "look",
		  T(is_global ? PTX_STR(".global") : PTX_STR(""),
		    !is_global && e->space == INST_IN_SHARED ? PTX_STR("cta") : PTX_STR("gpu")),
		  H(l.hit, l.at, l.tab, l.m));
	return l;
}

/* ---- loads whose value may not be used ------------------------------------------------------- */

/* A use of it, always (PTX_NO_REG), under a predicate, or where nothing masks operand `tried`. */
static void put_use(struct inst_watch *k, struct ptx_opnd found, struct ptx_stmt *use,
		    uint32_t pred, bool sense, uint8_t tried)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_label *over = NULL;

	if (tried) {
		struct ptx_opnd p = inst_tried(cx, use, tried, false);
		if (p.kind != PTX_OPND_REG)
			return;
		pred = p.reg;
		sense = true;
	}
	if (pred != PTX_NO_REG) {
		over = ptx_new_label(cx->m, cx->f);
		inst_emit(cx, use, "unless", NT,
			  H(inst_sense(inst_reg(cx, pred), !sense), ptx_opnd_label(over)));
	}
	inst_emit(cx, use, "used", NT, H(found));
	inst_end_skip(cx, over, use);
}

static bool is_among(const struct ptx_stmt *s, struct ptx_stmt *const *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == s)
			return true;
	return false;
}

/* Do all uses read the sum that the value was added to? Then the values of earlier executions of
 * the load are in it, too. */
static bool reads_sum(struct inst_watch *k, const struct flow_demand_info *d, uint32_t sum)
{
	uint32_t n;
	struct ptx_stmt *const *uses = flow_uses(k->f.cx->fl, sum, &n);

	for (uint32_t i = 0; i < d->nuses; i++)
		if (!is_among(d->uses[i], uses, n))
			return false;
	for (uint32_t i = 0; i < d->nconds; i++)
		if (!is_among(d->conds[i].at, uses, n))
			return false;
	return d->demand != FLOW_DEMAND_SELECT;
}

/* The note about a load is cleared where its value is over: at each execution of the load, or of a
 * sum where something else is assigned to it; and at the entry, since other paths lead to a use. */
static void put_clears(struct inst_watch *k, const struct inst_event *e, uint32_t reg,
		       const struct flow_demand_info *d, struct ptx_opnd found)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_stmt *const *defs;
	uint32_t sum, n;

	inst_emit(cx, k->top, "nothing", NT, H(found));
	if (!flow_sum_of(cx->fl, e->stmt, reg, &sum) || !reads_sum(k, d, sum)) {
		inst_emit(cx, e->stmt, "nothing", NT, H(found));
		return;
	}
	defs = flow_defs(cx->fl, sum, &n);
	for (uint32_t i = 0; i < n; i++)
		if (!flow_is_sum_step(defs[i], sum))
			inst_emit(cx, defs[i], "nothing", NT, H(found));
}

/* What a hit has found is noted in a register, which the uses of the value look at. False: no place
 * shows a use. */
static bool put_uses(struct inst_watch *k, const struct inst_event *e, struct ptx_opnd *found)
{
	struct inst_ctx *cx = k->f.cx;
	struct flow_demand_info d;
	int dst = ptx_find_role(e->stmt, PTX_ROLE_DST);

	if (!e->maybe || e->sure || e->is_partial || e->writes || dst < 0 || e->access->is_copy ||
	    e->stmt->ops[dst].kind != PTX_OPND_REG || e->stmt->ops[dst].comp ||
	    e->stmt->form->effects & PTX_EFF_NONTEMPORAL)
		return false;
	flow_demand(cx->fl, e->stmt, e->stmt->ops[dst].reg, &d);
	if (d.demand != FLOW_DEMAND_SELECT && !d.nuses && !d.nconds)
		return false;
	*found = inst_fresh(cx, PTX_TYPE_B32);
	put_clears(k, e, e->stmt->ops[dst].reg, &d, *found);
	if (d.demand == FLOW_DEMAND_SELECT) {
		put_use(k, *found, d.at, d.pred, d.sense, 0);
		return true;
	}
	for (uint32_t i = 0; i < d.nuses; i++) {
		bool is_inst = d.uses[i]->kind == PTX_STMT_INST;
		put_use(k, *found, d.uses[i], is_inst ? d.uses[i]->pred : PTX_NO_REG,
			!is_inst || !d.uses[i]->is_pred_not, 0);
	}
	for (uint32_t i = 0; i < d.nconds; i++)
		put_use(k, *found, d.conds[i].at, d.conds[i].pred, d.conds[i].sense,
			d.conds[i].tried);
	return true;
}

/* By itself: one whose value may not be used, or a copy. */
static void put_weak(struct inst_watch *k, const struct inst_event *e)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd found, held = inst_reg(cx, k->held);
	bool has_uses = put_uses(k, e, &found);
	bool is_near = e->space == INST_IN_SHARED && k->block != PTX_NO_REG &&
		       e->access->space != PTX_SPACE_SHARED_CLUSTER &&
		       !(e->stmt->form->effects & PTX_EFF_COLLECTIVE_MEM);

	if (is_near) {
		inst_watch_count(k, e->stmt, inst_watch_guard(k, e), 1);
		inst_emit(cx, e->stmt, "unless_due", NT,
			  H(inst_watch_standing(k, e), ptx_opnd_label(over)));
	}
	if (e->stmt->pred != PTX_NO_REG)
		inst_emit(cx, e->stmt, "unless", NT,
			  H(inst_sense(inst_reg(cx, e->stmt->pred), e->stmt->is_pred_not),
			    ptx_opnd_label(over)));
	if (e->stmt->form->effects & PTX_EFF_COLLECTIVE_MEM)
		inst_emit(cx, e->stmt, "lanes", T(inst_num(inst_rows_lanes(e->stmt->form))),
			  H(ptx_opnd_label(over)));
	struct inst_watch_look l = put_look(k, e, over, !is_near);
	if (has_uses)
		inst_emit(cx, e->stmt, "hit_maybe", NT,
			  H(l.hit, found, l.tab, l.m, l.at, l.w, held));
	else
		inst_emit(cx, e->stmt, "hit", NT, H(l.hit, l.tab, l.m, l.at, l.w, held));
	inst_emit_label(cx, e->stmt, over);
}

static void put_strong(struct inst_watch *k, const struct inst_event *e)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd first = inst_fresh(cx, PTX_TYPE_B64);
	struct ptx_stmt *behind = e->stmt->next;

	inst_emit(cx, e->stmt, "none", NT, H(first));
	if (e->stmt->pred != PTX_NO_REG)
		inst_emit(cx, e->stmt, "unless", NT,
			  H(inst_sense(inst_reg(cx, e->stmt->pred), e->stmt->is_pred_not),
			    ptx_opnd_label(over)));
	struct inst_watch_look l = put_look(k, e, over, true);
	inst_emit(cx, e->stmt, "before", NT, H(l.hit, first, l.tab, l.m, l.at));
	inst_emit_label(cx, e->stmt, over);
	inst_emit(cx, behind, "after", NT, H(first, l.tab, l.m, l.at, l.w, inst_reg(cx, k->held)));
}

void inst_watch_put_access(struct inst_watch *k, const struct inst_event *e)
{
	if (e->space == INST_IN_SHARED && k->block == PTX_NO_REG && k->key == PTX_NO_REG) {
		inst_unchecked(k->f.cx, PTX_STR("shared memory in a function that is called"),
			       RACE_WHY_UNSUPPORTED, true);
		return;
	}
	if (inst_watch_joins(k, e))
		inst_watch_join(k, e);
	else if (e->strength == RACE_WEAK)
		put_weak(k, e);
	else
		put_strong(k, e);
}

/* ---- where watchpoints end ------------------------------------------------------------------- */

/* May it release what the thread did before? Weak and relaxed accesses don't: a relaxed store is
 * part of a release pattern only with a fence before it, and at that fence the watchpoint ends.
 * Nor do branches, arithmetic and what lanes exchange; nor an acquire, which orders what comes
 * after it. */
bool inst_watch_may_release(const struct ptx_stmt *s)
{
	const uint32_t harmless = PTX_EFF_READ | PTX_EFF_WRITE | PTX_EFF_ATOMIC | PTX_EFF_BRANCH |
				  PTX_EFF_NONTEMPORAL | PTX_EFF_PREFETCH | PTX_EFF_SLEEP |
				  PTX_EFF_CONVERGENT;
	const struct ptx_form *fm = s->form;

	if (s->kind != PTX_STMT_INST)
		return s->kind == PTX_STMT_RAW;
	return (fm->effects & ~harmless) != 0 || fm->sem == PTX_SEM_RELEASE ||
	       fm->sem == PTX_SEM_ACQ_REL || fm->sem == PTX_SEM_SC ||
	       fm->op == PTX_OP_GRIDDEPCONTROL_WAIT ||
	       fm->op == PTX_OP_GRIDDEPCONTROL_LAUNCH_DEPENDENTS;
}

/*
 * __syncwarp() orders the lanes of a warp. What one of them did before it is released to threads of
 * other warps only with something wider, by any of the lanes. A barrier of the block is reached by
 * each of them, and there each ends its own watchpoint. So where nothing wider stands in a kernel
 * but such barriers, watchpoints may stay at __syncwarp(), if threads of the same warp leave them
 * alone.
 */
static bool stays_across(const struct inst_watch *k)
{
	bool has_lanes = false;

	for (const struct inst_event *e = k->f.ev.first; e; e = e->next)
		has_lanes |= e->kind == INST_EVENT_WARP;
	if (!has_lanes || k->f.ev.is_unsure)
		return false;
	ptx_each_stmt(k->f.cx->f, s)
	{
		const struct inst_event *e = k->f.ev.first;
		if (s->inserted || !inst_watch_may_release(s) || s->form->effects & PTX_EFF_EXIT)
			continue;
		while (e && e->stmt != s)
			e = e->next;
		if (!e || (e->kind != INST_EVENT_WARP && e->kind != INST_EVENT_BLOCK))
			return false;
	}
	return true;
}

static void put_end(struct inst_watch *k, struct ptx_stmt *s)
{
	struct inst_ctx *cx = k->f.cx;
	bool is_passed;

	if (!inst_watch_may_release(s))
		return;
	is_passed = k->is_across && s->form->effects & PTX_EFF_WARP_SYNC;
	struct ptx_stmt *at = inst_before_arguments(s);
	if (is_passed) {
		inst_emit(cx, at, "cross", NT, H(inst_reg(cx, k->held)));
		return;
	}
	struct ptx_opnd stays = inst_fresh(cx, PTX_TYPE_PRED), ns = inst_fresh(cx, PTX_TYPE_B32);
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	inst_emit(
		cx, at, "drop_delay", T(cx->k, KNOB(wsleep)),
		H(inst_reg(cx, k->held), inst_reg(cx, k->f.cnt), stays, ns, ptx_opnd_label(over)));
	inst_emit_nap(cx, stays, ns, at);
	inst_emit(cx, at, "drop", NT, H(inst_reg(cx, k->held)));
	inst_emit_label(cx, at, over);
}

/* Groups end, and watchpoints; then the access there, e, has its look. */
static void put_statement(struct inst_follow *f, struct ptx_stmt *s, const struct inst_event *e)
{
	struct inst_watch *k = of(f);

	inst_watch_end_group(k, s, e);
	put_end(k, s);
	if (e && e->stmt == s)
		inst_watch_put_access(k, e);
	else if (s->kind == PTX_STMT_INST)
		inst_watch_put_issued(k, s);
}

/* ---- the detector ---------------------------------------------------------------------------- */

static void choose(struct inst_follow *f)
{
	f->is_beside = inst_watch_is_beside(f->cx);
	f->ev.follows_copies = true;
	f->ev.follows_cluster = f->cx->f->is_entry && inst_watch_sees_cluster(f->cx);
}

static void plan(struct inst_follow *f)
{
	of(f)->is_across = f->cx->f->is_entry && stays_across(of(f));
}

static const struct inst_follower follower = {
	.choose = choose,
	.plan = plan,
	.new_registers = new_registers,
	.begin_kernel = begin_kernel,
	.put_statement = put_statement,
};

static void put_checks(struct inst_ctx *cx)
{
	struct inst_watch k = {0};

	inst_follow(cx, &k.f, &follower);
}

static void put_block(struct inst_ctx *cx, struct ptx_item *at)
{
	inst_choose_space(cx, 2 * sizeof(struct race_history) + sizeof(struct race_knobs) +
				      sizeof(struct race_watch));
	inst_add_knobs(cx, at, PTX_STR(RACE_WATCH_SYMBOL), sizeof(struct race_watch),
		       RACE_SAMPLE_NEVER, inst_watch_is_beside(cx) ? RACE_KNOB_BESIDE : 0);
	inst_add_raw(cx, at, inst_module_text(cx, "watch_none", NT));
}

static bool begin_module(struct inst_ctx *cx)
{
	struct ptx_item *at = inst_first_code(cx->m);

	put_block(cx, at);
	return inst_add_hashed_functions(cx, at, race_device_watch, race_device_watch_size);
}

static bool end_module(struct inst_ctx *cx)
{
	(void)cx;
	return true;
}

static bool issues_bulk(const struct ptx_func *f)
{
	return inst_has_op(f, PTX_OP_CP_ASYNC_BULK) ||
	       inst_has_op(f, PTX_OP_CP_ASYNC_BULK_TENSOR) ||
	       inst_has_op(f, PTX_OP_CP_REDUCE_ASYNC_BULK) ||
	       inst_has_op(f, PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR);
}

/* Some lanes of a warp call what finds watchpoints, which parts the warp; why that mustn't be
 * where a lane is elected for a copy, see nap/nap.c. */
static bool one_function(struct inst_ctx *cx, struct ptx_func *f)
{
	if (inst_has_op(f, PTX_OP_ELECT_SYNC) && issues_bulk(f))
		return inst_leave_function(cx, f, "elect.sync, and copies by the elected lane");
	return inst_follow_function(cx, f);
}

const struct inst_detector inst_detector_watch = {
	.id = RACE_DETECTOR_WATCH,
	.pass = INST_PASS_WATCH,
	.templates = inst_watch_templates,
	.put_block = put_block,
	.begin_module = begin_module,
	.function = one_function,
	.put_checks = put_checks,
	.end_module = end_module,
};
