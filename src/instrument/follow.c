/*
 * follow.c - what detectors that follow a kernel's events (event.c) put into it alike: code that
 * only the lanes of a guarded instruction run, and the count of checked accesses.
 *
 * The templates "unless" and "flush" are those of the detector at work. Functions that are called
 * are followed in their variants (called/called.c), and by detector watch; what else calls them
 * runs their own code, whose accesses are counted.
 */
#include "instrument/detector.h"

#include <stddef.h>

struct ptx_label *inst_skip_unless(struct inst_ctx *cx, const struct ptx_stmt *s,
				   struct ptx_stmt *at)
{
	if (s->pred == PTX_NO_REG)
		return NULL;
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	inst_emit(cx, at, "unless", NT,
		  H(inst_sense(inst_reg(cx, s->pred), s->is_pred_not), ptx_opnd_label(over)));
	return over;
}

void inst_end_skip(struct inst_ctx *cx, struct ptx_label *over, struct ptx_stmt *at)
{
	if (over)
		inst_emit_label(cx, at, over);
}

struct ptx_stmt *inst_before_arguments(struct ptx_stmt *s)
{
	struct ptx_stmt *at = s;

	if (s->kind != PTX_STMT_INST || !(s->form->effects & PTX_EFF_CALL))
		return s;
	for (struct ptx_stmt *p = s->prev; p; p = p->prev) {
		bool is_param = p->kind == PTX_STMT_INST && p->form->op == PTX_OP_ST &&
				p->form->space == PTX_SPACE_PARAM;
		bool is_between = p->kind == PTX_STMT_VAR || p->kind == PTX_STMT_LOC ||
				  (p->kind == PTX_STMT_INST && p->inserted &&
				   !(p->form->effects & PTX_EFF_CALL));
		if (is_param)
			at = p;
		else if (!is_between)
			break;
	}
	return at;
}

bool inst_leaves(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && !s->inserted &&
	       (s->form->op == PTX_OP_RET || s->form->op == PTX_OP_EXIT);
}

void inst_flush_count_at(struct inst_ctx *cx, uint32_t cnt, struct ptx_stmt *s)
{
	_Static_assert(offsetof(struct race_counters, checked) == 0, "flush adds to the first");
	struct ptx_label *over = inst_skip_unless(cx, s, s);
	inst_emit(cx, s, "flush", T(cx->k, KNOB(rt), RT(counters), inst_num(RACE_COUNTERS - 1)),
		  H(inst_reg(cx, cnt)));
	inst_end_skip(cx, over, s);
}

void inst_flush_counts(struct inst_ctx *cx, uint32_t cnt)
{
	for (struct ptx_stmt *s = cx->f->first; s; s = s->next)
		if (inst_leaves(s))
			inst_flush_count_at(cx, cnt, s);
}

void inst_end_body(struct inst_ctx *cx)
{
	const struct ptx_stmt *last = cx->f->last;

	if (last && last->kind == PTX_STMT_INST && last->pred == PTX_NO_REG &&
	    last->form->effects & PTX_EFF_EXIT)
		return;
	struct ptx_stmt *end = ptx_new_stmt(cx->m, PTX_STMT_INST);
	end->form = ptx_form_get(cx->m, PTX_STR("ret"));
	end->pred = PTX_NO_REG;
	ptx_insert_before(cx->f, NULL, end);
}

bool inst_has_op(const struct ptx_func *f, enum ptx_op op)
{
	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_INST && !s->inserted && s->form->op == op)
			return true;
	}
	return false;
}

/* It wasn't asked for, and checks kernels that another leaves: each is seen twice then. */
static bool works_for_other(const struct inst_ctx *cx)
{
	return cx->lent >> cx->detector->id & 1;
}

bool inst_follow_kernel(struct inst_ctx *cx, struct ptx_func *f)
{
	/* What kernels call is followed by the one that was asked for. */
	if (works_for_other(cx) && !f->is_entry)
		return true;
	if (f->is_entry || race_called_name(f->name.p, f->name.n))
		return inst_follow_function(cx, f);
	if (inst_begin_function(cx, f))
		inst_count_unfollowed(cx);
	return true;
}

bool inst_follow_function(struct inst_ctx *cx, struct ptx_func *f)
{
	if (!inst_begin_function(cx, f))
		return true;
	cx->fl = flow_build(&cx->scratch, cx->m, f);
	inst_read_locs(cx);
	if (cx->detector->parts_lanes && inst_has_op(f, PTX_OP_ACTIVEMASK))
		inst_unchecked(cx, PTX_STR("activemask"), RACE_WHY_TOGETHER, true);
	bool is_good = inst_function_pass(cx, cx->detector->pass) &&
		       inst_function_pass(cx, INST_PASS_FRAME);
	inst_forget_locs(cx);
	cx->stats->kernels += f->is_entry && !works_for_other(cx);
	base_arena_reset(&cx->scratch);
	return is_good;
}
