/*
 * ends.c - what stands at the ends of a function: the count of a launch, and of its threads' checks.
 *
 * Costs: see launch and flush in collide.ptxt; one test for each thread, one reduction for a warp.
 */
#include "instrument/internal.h"

struct ptx_stmt *inst_body_start(struct ptx_func *f)
{
	struct ptx_stmt *s = f->first;

	while (s && (s->kind == PTX_STMT_REG || s->kind == PTX_STMT_VAR ||
		     s->kind == PTX_STMT_LOC || s->kind == PTX_STMT_PRAGMA))
		s = s->next;
	return s;
}

void inst_count_launch(struct inst_ctx *cx, struct ptx_stmt *top)
{
	inst_emit(cx, top, "launch",
		  T(cx->k, KNOB(rt),
		    inst_num((int64_t)(offsetof(struct race_rt, counters) +
				       offsetof(struct race_counters, launches)))),
		  NH);
}

void inst_flush_counts(struct inst_ctx *cx, struct ptx_stmt *at)
{
	struct ptx_str checked = inst_num((int64_t)offsetof(struct race_rt, counters));
	struct ptx_label *over = NULL;

	_Static_assert(offsetof(struct race_counters, checked) == 0, "flush adds to the first");
	_Static_assert((RACE_COUNTERS & (RACE_COUNTERS - 1)) == 0, "masked by and");
	if (at && at->pred != PTX_NO_REG) { /* a guarded ret: only the lanes that leave */
		struct ptx_opnd p = inst_sense(inst_reg(cx, at->pred), at->is_pred_not);
		over = ptx_new_label(cx->m, cx->f);
		inst_emit(cx, at, "branch_if", NT, H(p, ptx_opnd_label(over)));
	}
	if (cx->by_call)
		inst_emit(cx, at, "flush_call", NT, H(inst_reg(cx, cx->state)));
	else
		inst_emit(cx, at, cx->m->sm >= 80 ? "flush_redux" : "flush",
			  T(cx->k, KNOB(rt), checked, inst_num(RACE_COUNTERS - 1)),
			  H(inst_reg(cx, cx->cnt)));
	if (over)
		inst_emit_label(cx, at, over);
}
