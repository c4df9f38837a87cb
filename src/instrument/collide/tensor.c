/*
 * tensor.c - cp.async.bulk.tensor, checked ahead by a call of __collider_tensor.
 *
 * What bulk.c does for plain bytes is done for boxes of a tensor by a function of Collider's own
 * (src/device/collide/tensor.cu), as the box is known at run time only: from the tensor map, if it
 * was made by cuTensorMapEncodeTiled and has not been changed since. For reductions and multicasts
 * the window's source is summed twice; their destination is not checked, but counted.
 *
 * Misses: im2col, gather and scatter (counted by opcode); at run time what tensor.cu lists (counted
 * by execution).
 * Costs: 25 instructions for the call; one copy of the function, 1,000 instructions and 94
 * registers (ptxas 13.0, sm_90; fewer where the kernel is capped), in modules with tensor copies.
 * Where nothing may be called (warp-specialised kernels with setmaxnreg) the function is inlined at
 * each call.
 */
#include "instrument/collide/collide.h"

#include "race/file/box.h"

#include <string.h>

/* The rank that the spelling has, or 0. */
static unsigned rank_of(const struct ptx_form *fm)
{
	static const enum ptx_mod ranks[] = {PTX_MOD_N1D, PTX_MOD_N2D, PTX_MOD_N3D, PTX_MOD_N4D,
					     PTX_MOD_N5D};

	for (unsigned i = 0; i < BASE_COUNTOF(ranks); i++)
		if (ptx_form_has(fm, ranks[i]))
			return i + 1;
	return 0;
}

/* (.cta_group selects whose mbarrier is signalled; it says nothing about the data.) */
static bool is_plain_tile(const struct ptx_form *fm)
{
	static const enum ptx_mod others[] = {
		PTX_MOD_IM2COL,	      PTX_MOD_IM2COL_NO_OFFS, PTX_MOD_IM2COL_W,
		PTX_MOD_IM2COL_W_128, PTX_MOD_TILE_GATHER4,   PTX_MOD_TILE_SCATTER4,
	};

	for (unsigned i = 0; i < BASE_COUNTOF(others); i++)
		if (ptx_form_has(fm, others[i]))
			return false;
	return true;
}

static unsigned bytes_of(const struct inst_ctx *cx, const struct ptx_opnd *op)
{
	return op->kind == PTX_OPND_REG && !op->comp
		       ? ptx_type_bytes((enum ptx_type)cx->f->reg_type[op->reg])
		       : 0;
}

/* [map, {c0, c1}], the map by a generic address. */
static bool is_map(const struct inst_ctx *cx, const struct ptx_opnd *op, unsigned rank)
{
	if (op->kind != PTX_OPND_ADDR || op->nsub != 2 || bytes_of(cx, &op->sub[0]) != 8)
		return false;
	const struct ptx_opnd *at = &op->sub[1];
	unsigned n = at->kind == PTX_OPND_VEC ? at->nsub : 1;
	for (unsigned i = 0; i < n; i++) {
		const struct ptx_opnd *c = at->kind == PTX_OPND_VEC ? &at->sub[i] : at;
		if (c->kind != PTX_OPND_INT && bytes_of(cx, c) != 4)
			return false;
	}
	return n == rank;
}

static bool is_shared(const struct inst_ctx *cx, const struct ptx_opnd *op, uint8_t space)
{
	return op->kind == PTX_OPND_ADDR && op->nsub &&
	       (op->sub[0].kind == PTX_OPND_SYM || bytes_of(cx, &op->sub[0]) >= 4) &&
	       (space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER);
}

/* The group of a tensor copy, or NULL: not a copy that __collider_tensor could check. */
struct inst_group *inst_plan_tensor(struct inst_ctx *cx, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	bool is_store = ptx_form_has(fm, PTX_MOD_BULK_GROUP);
	bool is_source_only = fm->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR ||
			      ptx_form_has(fm, PTX_MOD_MULTICAST_CLUSTER);
	unsigned rank = rank_of(fm), map = is_store ? 0 : 1, shared = is_store ? 1 : 0;

	if (!rank || s->nops < 2 || !is_plain_tile(fm) || !is_map(cx, &s->ops[map], rank) ||
	    !is_shared(cx, &s->ops[shared], is_store ? fm->space2 : fm->space))
		return NULL;
	struct inst_group *g = BASE_NEW(&cx->scratch, struct inst_group);
	g->ahead = INST_AHEAD_TENSOR;
	g->has_load = true;
	inst_add_side(cx, g, s, &s->ops[1], RACE_ACCESS_LOAD,
		      is_store ? fm->space2 : (uint8_t)PTX_SPACE_GLOBAL);
	if (is_source_only)
		inst_count_destination(cx, fm);
	else
		inst_add_side(cx, g, s, &s->ops[0], RACE_ACCESS_STORE,
			      is_store ? (uint8_t)PTX_SPACE_GLOBAL : fm->space);
	return g;
}

/* An address as a register of its own, offset included. */
static struct ptx_opnd address_of(struct inst_ctx *cx, const struct ptx_opnd *op,
				  struct ptx_stmt *at)
{
	struct ptx_opnd base = op->sub[0], r = inst_fresh(cx, PTX_TYPE_B64);

	if (base.kind != PTX_OPND_REG)
		inst_emit(cx, at, "symbol", NT, H(r, base));
	else if (bytes_of(cx, &base) == 4)
		inst_emit(cx, at, "widen", T(PTX_STR("64"), PTX_STR("32")), H(r, base));
	else
		inst_emit(cx, at, "copy", T(PTX_STR("b64")), H(r, base));
	if (op->off)
		inst_emit(cx, at, "add_offset", NT, H(r, r, inst_int(cx, op->off)));
	return r;
}

static void emit_cold(struct inst_ctx *cx, const struct inst_access *from,
		      const struct ptx_opnd *outs, struct ptx_stmt *at)
{
	struct ptx_label *same = ptx_new_label(cx->m, cx->f);
	struct inst_found f = {
		.at = at,
		.source_site = from->site,
		.destination_site = from->next ? from->next->site : from->site,
		.hit = inst_fresh(cx, PTX_TYPE_PRED),
		.is_source = inst_fresh(cx, PTX_TYPE_PRED),
		.addr = outs[1],
		.was = outs[2],
		.now = outs[3],
		.width = from->next ? from->width : RACE_WIDTH_SUM,
	};

	inst_emit(cx, at, "tensor_found",
		  T(inst_num(RACE_TENSOR_SIDES), inst_num(RACE_TENSOR_FOUND),
		    inst_num(RACE_TENSOR_IN_SOURCE), inst_num(RACE_STATE_COUNT)),
		  H(f.hit, f.is_source, outs[0], inst_reg(cx, cx->cnt)));
	inst_emit(cx, at, "branch_if", NT, H(inst_sense(f.hit, false), ptx_opnd_label(same)));
	inst_report_side(cx, &f);
	inst_emit_label(cx, at, same);
}

/* needs: draw.  Lanes with nothing to check go to `skip`. */
void inst_emit_tensor(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at,
		      struct ptx_label *skip)
{
	const struct ptx_stmt *s = g->first->stmt;
	bool is_store = ptx_form_has(s->form, PTX_MOD_BULK_GROUP);
	const struct ptx_opnd *map = &s->ops[is_store ? 0 : 1], *c = &map->sub[1];
	unsigned rank = rank_of(s->form), n = 0;
	int64_t flags = rank | (is_store ? RACE_TENSOR_STORE : 0) |
			(g->first->next ? 0 : RACE_TENSOR_SOURCE);
	struct ptx_opnd args[10], outs[4], shared = inst_fresh(cx, PTX_TYPE_B32);

	_Static_assert(sizeof(struct race_tensor) == 8 * BASE_COUNTOF(outs), "what it returns");
	if (s->pred != PTX_NO_REG)
		inst_emit(
			cx, at, "branch_if", NT,
			H(inst_sense(inst_reg(cx, s->pred), s->is_pred_not), ptx_opnd_label(skip)));
	args[n++] = address_of(cx, map, at);
	inst_emit(cx, at, "widen", T(PTX_STR("32"), PTX_STR("64")),
		  H(shared, address_of(cx, &s->ops[is_store ? 1 : 0], at)));
	args[n++] = shared;
	for (unsigned i = 0; i < 5; i++)
		args[n++] = i >= rank ? inst_int(cx, 0) : c->kind == PTX_OPND_VEC ? c->sub[i] : *c;
	args[n++] = inst_int(cx, flags);
	args[n++] = inst_reg(cx, cx->rng);
	args[n++] = inst_reg(cx, cx->cnt);
	for (unsigned i = 0; i < BASE_COUNTOF(outs); i++)
		outs[i] = inst_fresh(cx, PTX_TYPE_B64);
	if (cx->call_free)
		inst_splice(cx, cx->tensor, at, args, outs);
	else
		inst_emit(cx, at, "tensor_call", NT,
			  H(outs[0], outs[1], outs[2], outs[3], args[0], args[1], args[2], args[3],
			    args[4], args[5], args[6], args[7], args[8], args[9]));
	emit_cold(cx, g->first, outs, at);
}
