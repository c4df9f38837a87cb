/*
 * cluster.c - detector `watch` where blocks see the shared memory of other blocks of their cluster.
 *
 * All blocks must look up a byte in one table. So a kernel whose text shows that it may reach other
 * blocks' shared memory uses the device's table of blocks for all shared memory, its own included,
 * by the key of the block that owns it (src/race/layout/watch.h). Signs of that are instructions
 * that name the cluster (mapa, getctarank, .shared::cluster, cluster barriers, multicasts), its
 * special registers and directives, in the kernel or, if it calls, in any function of the module;
 * .shared::cluster of bulk and tensor copies alone is none, as kernels without clusters have it.
 * A kernel without a sign looks up its own memory only: it misses, and mistakes nothing.
 *
 * Misses: as watch.c; addresses that other blocks hand over to a kernel without a sign. Costs: see
 * cluster.ptxt; a look goes to L2 in place of the block's own memory.
 */
#include "instrument/watch/watch_internal.h"

#include <string.h>

/* ---- signs --------------------------------------------------------------------------------- */

static bool names_cluster(const struct ptx_opnd *o)
{
	static const char *const parts[] = {"%cluster", "%nclusterid", "%is_explicit_cluster"};

	if (o->kind == PTX_OPND_SPECIAL)
		for (size_t i = 0; i < BASE_COUNTOF(parts); i++)
			if (o->text.n >= strlen(parts[i]) &&
			    !memcmp(o->text.p, parts[i], strlen(parts[i])))
				return true;
	return false;
}

/* Do kernels without clusters name .shared::cluster there, too? */
static bool says_little(const struct ptx_form *fm)
{
	return fm->op == PTX_OP_CP_ASYNC_BULK || fm->op == PTX_OP_CP_REDUCE_ASYNC_BULK ||
	       fm->op == PTX_OP_CP_ASYNC_BULK_TENSOR ||
	       fm->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR || fm->op == PTX_OP_TCGEN05_COMMIT;
}

static bool is_sign(const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	switch (fm->op) {
	case PTX_OP_MAPA:
	case PTX_OP_GETCTARANK:
	case PTX_OP_BARRIER_CLUSTER_ARRIVE:
	case PTX_OP_BARRIER_CLUSTER_WAIT:
		return true;
	default:
		break;
	}
	if (ptx_form_has(fm, PTX_MOD_MULTICAST_CLUSTER) ||
	    ptx_form_has(fm, PTX_MOD_MULTICAST_CLUSTER_ALL) ||
	    (!says_little(fm) && ptx_form_has(fm, PTX_MOD_SHARED_CLUSTER)))
		return true;
	for (unsigned i = 0; i < s->nops; i++)
		if (names_cluster(&s->ops[i]))
			return true;
	return false;
}

static bool has_sign(const struct ptx_func *f, bool *calls)
{
	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST || s->inserted)
			continue;
		if (is_sign(s))
			return true;
		*calls |= (s->form->effects & PTX_EFF_CALL) != 0;
	}
	return f->has_cluster;
}

bool inst_watch_sees_cluster(const struct inst_ctx *cx)
{
	bool calls = false;

	if (cx->m->sm < INST_CLUSTER_SM)
		return false;
	if (has_sign(cx->f, &calls))
		return true;
	if (!calls)
		return false;
	ptx_each_item(cx->m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && !it->inserted && !it->func->is_proto &&
		    !it->func->is_entry && has_sign(it->func, &calls))
			return true;
	}
	return false;
}

/* ---- tables -------------------------------------------------------------------------------- */

void inst_watch_begin_cluster(struct inst_watch *k, struct ptx_stmt *top)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd number = inst_fresh(cx, PTX_TYPE_B64);

	k->rank = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	inst_watch_put_blocks(k, top);
	inst_emit(cx, top, "cluster_number", NT, H(number, inst_reg(cx, k->rank)));
	inst_emit(cx, top, "key",
		  T(inst_num(RACE_WATCH_CLUSTER_AT), inst_num(RACE_WATCH_CLUSTER_DROP),
		    inst_num(RACE_WATCH_KEY_LOW)),
		  H(inst_reg(cx, k->key), number));
}

void inst_watch_owner(struct inst_watch *k, const struct inst_event *e,
		      const struct inst_watch_look *l, struct ptx_label *over)
{
	struct inst_ctx *cx = k->f.cx;
	const uint64_t plain = inst_watch_what(k, e);
	struct ptx_str what =
		inst_num((int64_t)(plain | RACE_WATCH_IS_BLOCK | RACE_WATCH_OF_OWNER));
	struct ptx_str offset = inst_num(RACE_WATCH_OFFSET_MASK);
	struct ptx_str step = inst_num((int64_t)RACE_WATCH_RANK_STEP);
	struct ptx_str rank_at = inst_num(RACE_WATCH_RANK_AT);
	struct ptx_opnd blocks = inst_reg(cx, k->blocks), key = inst_reg(cx, k->key);
	struct ptx_opnd rank = inst_reg(cx, k->rank), mask = inst_reg(cx, k->mask);
	struct ptx_label *done = NULL;

	if (e->space == INST_IN_SHARED && e->access->space != PTX_SPACE_SHARED_CLUSTER) {
		inst_emit(cx, e->stmt, "of_own", T(what, offset, step, rank_at),
			  H(l->tab, l->m, l->w, l->at, blocks, key, rank, mask));
		return;
	}
	if (e->access->space != PTX_SPACE_SHARED_CLUSTER) {
		done = ptx_new_label(cx->m, cx->f);
		inst_emit(cx, e->stmt, "unless_global", T(inst_num((int64_t)plain)),
			  H(l->tab, l->m, l->w, l->at, inst_reg(cx, k->table), mask,
			    ptx_opnd_label(done), ptx_opnd_label(over)));
	}
	inst_emit(cx, e->stmt, "of_owner", T(what, offset, step, rank_at),
		  H(l->tab, l->m, l->w, l->at, blocks, key, mask));
	inst_end_skip(cx, done, e->stmt);
}
