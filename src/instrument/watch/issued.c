/*
 * issued.c - copies and matrix instructions under detector `watch`: one look when they are issued.
 *
 * What orders a copy comes after it was issued, and what it is ordered after came before; so one
 * look there is enough. It is never watched: when it happens is not known. Misses: tensor copies,
 * wmma; where a bulk copy writes to several blocks, to some of the bytes or by atomic operations,
 * its destination (counted).
 */
#include "instrument/watch/watch_internal.h"

/* One side of it, as an access; words 0: of any size. */
static bool plan_side(struct inst_watch *k, struct ptx_stmt *s, const struct ptx_opnd *where,
		      bool writes, enum ptx_space space, unsigned words, struct inst_event *e)
{
	if (!where || where->kind != PTX_OPND_ADDR || !where->nsub)
		return false;
	*e = (struct inst_event){.kind = INST_EVENT_ACCESS, .stmt = s, .writes = writes};
	e->access = inst_new_access(k->f.cx, s, where,
				    writes ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD, space, words);
	e->access->is_copy = (s->form->effects & PTX_EFF_ASYNC) != 0;
	e->access->leads = true;
	e->access->site = inst_add_site(k->f.cx, e->access);
	e->space = space == PTX_SPACE_GLOBAL	? INST_IN_GLOBAL
		   : space == PTX_SPACE_GENERIC ? INST_IN_GENERIC
						: INST_IN_SHARED;
	e->strength = RACE_WEAK;
	e->reads = !writes;
	k->f.cx->stats->sites++;
	return true;
}

static const struct ptx_opnd *operand_of(const struct ptx_stmt *s, enum ptx_role role)
{
	int at = ptx_find_role(s, role);

	return at < 0 ? NULL : &s->ops[at];
}

/* A side of a cp.async. */
static void put_side(struct inst_watch *k, struct ptx_stmt *s, enum ptx_role role, unsigned words,
		     unsigned sure)
{
	bool writes = role == PTX_ROLE_ADDR_W;
	struct inst_event e;

	if (!plan_side(k, s, operand_of(s, role), writes,
		       writes ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL, words, &e))
		return;
	e.sure = (uint8_t)((1u << sure) - 1u);
	e.maybe = (uint8_t)((1u << words) - 1u) & (uint8_t)~e.sure;
	inst_watch_put_access(k, &e);
}

/* ldmatrix, stmatrix: each lane that names a row looks at its 16 bytes. */
static void put_rows(struct inst_watch *k, struct ptx_stmt *s)
{
	struct inst_event e;

	if (!inst_rows_lanes(s->form) ||
	    !plan_side(k, s, ptx_address(s), s->form->op == PTX_OP_STMATRIX,
		       (enum ptx_space)s->form->space, 4, &e)) {
		inst_unchecked(k->f.cx, s->form->text, RACE_WHY_UNSUPPORTED, false);
		return;
	}
	e.sure = 15;
	inst_watch_put_access(k, &e);
}

/* A side of a bulk copy: a part of it, by the thread that issues it. */
static void put_span(struct inst_watch *k, struct ptx_stmt *s, enum ptx_role role, uint8_t space)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	struct inst_event e;

	if (!plan_side(k, s, operand_of(s, role), role == PTX_ROLE_ADDR_W, (enum ptx_space)space, 0,
		       &e) ||
	    (e.space == INST_IN_SHARED && k->block == PTX_NO_REG && k->key == PTX_NO_REG)) {
		inst_unchecked(cx, s->form->text, RACE_WHY_UNSUPPORTED, false);
		return;
	}
	if (s->pred != PTX_NO_REG)
		inst_emit(
			cx, s, "unless", NT,
			H(inst_sense(inst_reg(cx, s->pred), s->is_pred_not), ptx_opnd_label(over)));
	struct inst_watch_look l = inst_watch_table(k, &e, over, true);
	inst_emit(cx, s, "span", T(cx->k, KNOB(window)),
		  H(l.tab, l.m, l.at, l.w, s->ops[2], inst_reg(cx, k->held)));
	inst_emit_label(cx, s, over);
}

static bool is_of_block(uint8_t space)
{
	return space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER;
}

/* cp.async.bulk, cp.reduce.async.bulk. Where it writes to several blocks, to some of the bytes, or
 * by atomic operations, only the source is looked at. */
static void put_bulk(struct inst_watch *k, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	bool is_known = (is_of_block(fm->space) || is_of_block(fm->space2)) &&
			(is_of_block(fm->space) || fm->space == PTX_SPACE_GLOBAL) &&
			(is_of_block(fm->space2) || fm->space2 == PTX_SPACE_GLOBAL);

	if (s->nops < 3 || !is_known || ptx_form_has(fm, PTX_MOD_IGNORE_OOB)) {
		inst_unchecked(k->f.cx, fm->text, RACE_WHY_UNSUPPORTED, false);
		return;
	}
	put_span(k, s, PTX_ROLE_ADDR_R, fm->space2);
	if (fm->op == PTX_OP_CP_REDUCE_ASYNC_BULK || ptx_form_has(fm, PTX_MOD_MULTICAST_CLUSTER) ||
	    ptx_form_has(fm, PTX_MOD_CP_MASK))
		inst_count_destination(k->f.cx, fm);
	else
		put_span(k, s, PTX_ROLE_ADDR_W, fm->space);
}

static void put_copy(struct inst_watch *k, struct ptx_stmt *s)
{
	const struct ptx_opnd *size = s->nops >= 3 ? &s->ops[2] : NULL;

	if (!size || size->kind != PTX_OPND_INT || s->form->space != PTX_SPACE_SHARED ||
	    s->form->space2 != PTX_SPACE_GLOBAL || size->imm < 4 || size->imm > 16) {
		inst_unchecked(k->f.cx, s->form->text, RACE_WHY_UNSUPPORTED, false);
		return;
	}
	unsigned words = (unsigned)size->imm / 4u, sure = words;
	const struct ptx_opnd *cut = inst_copy_cut(s);
	if (cut) /* bytes that are read, the others become 0; in a register they aren't known */
		sure = cut->kind == PTX_OPND_INT && cut->imm >= 0 && cut->imm <= size->imm
			       ? (unsigned)cut->imm / 4u
			       : 0;
	if (!cut || cut->kind != PTX_OPND_INT)
		put_side(k, s, PTX_ROLE_ADDR_R, words, sure);
	else if (sure)
		put_side(k, s, PTX_ROLE_ADDR_R, sure, sure);
	put_side(k, s, PTX_ROLE_ADDR_W, words, words);
}

void inst_watch_put_issued(struct inst_watch *k, struct ptx_stmt *s)
{
	switch (s->form->op) {
	case PTX_OP_CP_ASYNC:
		put_copy(k, s);
		break;
	case PTX_OP_CP_ASYNC_BULK:
	case PTX_OP_CP_REDUCE_ASYNC_BULK:
		put_bulk(k, s);
		break;
	case PTX_OP_LDMATRIX:
	case PTX_OP_STMATRIX:
		put_rows(k, s);
		break;
	default:
		break;
	}
}
