/*
 * nap.c - the delay of a check, where some lanes of a warp sleep and others don't.
 *
 * PTX promises nothing about lanes after a branch, but ptxas counts on more with elect.sync: an
 * asynchronous copy whose guard is the elected lane becomes one instruction of the whole warp,
 * without a guard (UTMALDG, UBLKCP). A lane that sleeps isn't waited for where branches join
 * (NANOSLEEP, as YIELD, takes it out of the barrier), so a sleep of some lanes between election and
 * copy parts the warp, and each part issues the copy. Seen on an H100: twice the bytes arrive, the
 * mbarrier's phase is over before the data are there, and the program computes wrong results; or
 * registers that only the elected lane has set are read by the others (error 716). A bar.warp.sync
 * after the check is no way out: ptxas makes a branch of it, and the parts go on as parts.
 *
 * So in modules with elect.sync only whole warps sleep. Parts of warps wait awake, and the others
 * wait for them where they join. Instructions that are .aligned need none of this: where some
 * lanes of a function sleep, ptxas puts WARPSYNC before each.
 *
 * iguard's back-off after a swap that failed is left out there, as by --iguard-swaps=eager: those
 * that sleep are always a part of a warp.
 *
 * Costs: where a check of such a module sleeps, three SASS instructions more; while a part of a
 * warp waits, the issue slots of a loop of six instructions.
 */
#include "instrument/internal.h"
#include "instrument/templates.h"

bool inst_begin_nap(struct inst_ctx *cx)
{
	ptx_each_item(cx->m, it) if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto) cx->elects |=
		inst_has_op(it->func, PTX_OP_ELECT_SYNC);
	cx->nap_ts = ptx_templates_read(cx->m, inst_nap_templates, cx->sink);
	return cx->nap_ts != NULL;
}

static void emit(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned nholes,
		 const struct ptx_opnd *holes)
{
	ptx_emit(ptx_template_get(cx->nap_ts, name, NT), cx->f, at, NULL, nholes, holes);
}

void inst_emit_nap(struct inst_ctx *cx, struct ptx_opnd is_due, struct ptx_opnd ns,
		   struct ptx_stmt *at)
{
	struct ptx_label *over = NULL;

	if (!cx->elects) {
		emit(cx, at, "nap", H(is_due, ns));
		return;
	}
	if (is_due.kind != PTX_OPND_SINK) {
		over = ptx_new_label(cx->m, cx->f);
		emit(cx, at, "unless_due", H(is_due, ptx_opnd_label(over)));
	}
	emit(cx, at, "nap_or_wait", H(ns));
	if (over)
		inst_emit_label(cx, at, over);
}

void inst_stay_awake(struct ptx_func *f)
{
	for (struct ptx_stmt *s = f->first, *next; s; s = next) {
		next = s->next;
		if (s->kind == PTX_STMT_INST && s->form->op == PTX_OP_NANOSLEEP)
			ptx_remove(f, s);
	}
}
