/*
 * skew.c - warps that come late: a delay in front of what a missing barrier should have ordered.
 *
 * A second reading shows a store that comes after the load. Warps that leave a barrier together
 * store together, too, and load after that: `s[t] = x; y = s[t ^ 32];` without a barrier between
 * has read what it should long before the delay. So some warps are delayed where a part between
 * barriers begins, at a kernel's entry and after each barrier, and store when the others have
 * loaded.
 *
 * As the delays after loads these thin out, and a block spares them (race/record.h). A block has
 * late warps in one such part of 2^32 / RACE_SKEW_BLOCKS, by a hash of its threads' counts, and
 * there one of 2^32 / RACE_SKEW_WARPS is late. All lanes of a warp that come together are: a
 * program may rely on them to stay together, where it asks __activemask().
 *
 * Misses: races between the lanes of a warp, and stores right after an atomic that publishes them.
 * Costs: three SASS instructions for each barrier where nothing is drawn, about 10 where it is, and
 * 25 more where the block has late warps.
 */
#include "instrument/collide/collide.h"

/* Is there a load whose second reading may see what comes late? */
static bool has_loads(const struct inst_plan *plan)
{
	for (const struct inst_group *g = plan->first; g; g = g->next)
		if (g->has_load && !g->is_pruned)
			return true;
	return false;
}

/* Does the thread wait here for others of its block or cluster? */
static bool waits(const struct ptx_stmt *s)
{
	if (s->kind != PTX_STMT_INST || s->inserted)
		return false;
	switch (s->form->op) {
	case PTX_OP_BAR_SYNC:
	case PTX_OP_BAR_RED:
	case PTX_OP_BARRIER_SYNC:
	case PTX_OP_BARRIER_RED:
	case PTX_OP_BARRIER_CLUSTER_WAIT:
		return true;
	default:
		return false;
	}
}

static void put_skew(struct inst_ctx *cx, struct ptx_stmt *at)
{
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd is_late = inst_fresh(cx, PTX_TYPE_PRED), ns = inst_fresh(cx, PTX_TYPE_B32);

	inst_emit_draw(cx, over, at);
	if (cx->by_call) {
		inst_emit(cx, at, "skew_call", NT, H(inst_reg(cx, cx->cnt)));
		inst_emit_label(cx, at, over);
		return;
	}
	inst_emit(cx, at, "is_sampled", T(cx->k, KNOB(sample)), H(ptx_opnd_label(over)));
	inst_emit(cx, at, "skews",
		  T(inst_num(RACE_MIX_WINDOW), inst_num(RACE_SKEW_BLOCKS),
		    inst_num(RACE_STATE_COUNT_AT)),
		  H(inst_reg(cx, cx->rng), inst_reg(cx, cx->cnt), ptx_opnd_label(over)));
	inst_emit(cx, at, "skew",
		  T(cx->k, KNOB(rsleep), KNOB(dense), inst_num(RACE_MIX), inst_num(RACE_MIX_WINDOW),
		    inst_num(RACE_DELAY_WINDOW), inst_num(RACE_DELAY_OPEN),
		    inst_num(RACE_SKEW_WARPS), inst_num(RACE_STATE_CLASS_AT + RACE_SPARE_AT),
		    inst_num(RACE_STATE_CLASS_AT + RACE_CLOSED_AT), inst_num(RACE_STATE_COUNT_AT)),
		  H(inst_reg(cx, cx->rng), inst_reg(cx, cx->cnt), is_late, ns));
	inst_emit_nap(cx, is_late, ns, at);
	inst_emit_label(cx, at, over);
}

/* needs: plan; the state's registers are set before `top`.  keeps: the user's instructions. */
void inst_emit_skews(struct inst_ctx *cx, const struct inst_plan *plan, struct ptx_stmt *top)
{
	if (!has_loads(plan))
		return;
	if (cx->f->is_entry)
		put_skew(cx, top);
	for (struct ptx_stmt *s = top, *next; s; s = next) {
		next = s->next;
		if (waits(s) && next)
			put_skew(cx, next);
	}
}
