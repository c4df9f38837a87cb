/*
 * wide.c - event.c's plan for what accesses memory in other ways than a load or a store of a lane.
 *
 * ldmatrix and stmatrix are accesses of the lanes that name rows; wmma.load and wmma.store are the
 * whole warp's, of lines that follow from the form (lines.c). cp.async is a read when it is issued,
 * and a write that goes on until its thread has waited for it: commits and waits are events.
 *
 * Misses: matrices of 8-bit elements, bulk and tensor copies (counted); of a cp.async's source what
 * isn't read as a whole, where the text doesn't say how many words it is (counted).
 */
#include "instrument/internal.h"

#include "race/layout/copies.h"

/* ---- matrices ----------------------------------------------------------------------------- */

/*
 * ldmatrix, stmatrix: each lane that names a row accesses its 16 bytes. Which lane gets which of
 * them orders nothing. As the oracle has it (cpu/exec/matrix.c).
 */
static void plan_rows(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	const struct ptx_opnd *where = ptx_address(s);
	bool writes = fm->op == PTX_OP_STMATRIX, is_generic = fm->space == PTX_SPACE_GENERIC;
	struct inst_event *e = inst_new_event(cx, INST_EVENT_ACCESS, s);

	e->sure = 15;
	e->strength = RACE_WEAK;
	e->scope = RACE_SCOPE_NONE;
	if (!(inst_is_chosen(cx, s) && inst_is_event_left(cx, ev, e)))
		return;
	e->lanes = (uint8_t)inst_rows_lanes(fm);
	e->reads = e->is_seen = !writes;
	e->writes = writes;
	e->space = is_generic ? INST_IN_GENERIC_SHARED : INST_IN_SHARED;
	e->access = inst_new_access(cx, s, where, writes ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD,
				    (enum ptx_space)fm->space, 4);
	e->access->leads = true;
	e->access->site = inst_add_site(cx, e->access);
	cx->stats->sites++;
	cx->stats->groups++;
	ev->has_shared = true;
	ev->has_generic |= is_generic;
	ev->naccesses++;
	inst_add_event(ev, e);
}

/* wmma.load, wmma.store: lines that the whole warp accesses (device/matrix.h). */
static void plan_lines(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	bool writes = fm->op == PTX_OP_WMMA_STORE, is_shared = fm->space == PTX_SPACE_SHARED;
	bool is_generic = fm->space == PTX_SPACE_GENERIC;
	enum flow_origin origin = is_generic ? flow_address_origin(cx->fl, s) : FLOW_ORIGIN_UNKNOWN;
	struct inst_lines *lines = BASE_NEW(&cx->scratch, struct inst_lines);
	struct inst_event *e = inst_new_event(cx, INST_EVENT_ACCESS, s);

	inst_find_lines(fm, lines);
	e->sure = (uint8_t)((1u << lines->piece / 4u) - 1u);
	e->strength = RACE_WEAK;
	e->scope = RACE_SCOPE_NONE;
	if (!(inst_is_chosen(cx, s) && inst_is_event_left(cx, ev, e)))
		return;
	e->lines = lines;
	e->reads = e->is_seen = !writes;
	e->writes = writes;
	e->space = is_shared					 ? INST_IN_SHARED
		   : !is_generic || origin == FLOW_ORIGIN_GLOBAL ? INST_IN_GLOBAL
		   : origin == FLOW_ORIGIN_SHARED		 ? INST_IN_GENERIC_SHARED
								 : INST_IN_GENERIC;
	e->access = inst_new_access(cx, s, ptx_address(s),
				    writes ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD,
				    (enum ptx_space)fm->space, lines->piece / 4u);
	e->access->leads = true;
	e->access->site = inst_add_site(cx, e->access);
	cx->stats->sites++;
	cx->stats->groups++;
	ev->has_shared |= e->space != INST_IN_GLOBAL;
	ev->has_generic |= e->space == INST_IN_GENERIC || e->space == INST_IN_GENERIC_SHARED;
	ev->naccesses++;
	inst_add_event(ev, e);
}

static bool has_lines(const struct inst_events *ev, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	const struct ptx_opnd *where = ptx_address(s);
	struct inst_lines lines;

	return !ev->follows_copies && inst_find_lines(fm, &lines) &&
	       inst_is_followed_space(fm->space) && where && where->nsub &&
	       (where->sub[0].kind == PTX_OPND_REG || fm->space != PTX_SPACE_GENERIC);
}

/* Of 16-bit elements; others are counted. */
static bool has_rows(const struct inst_events *ev, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	const struct ptx_opnd *where = ptx_address(s);

	return !ev->follows_copies && (fm->op == PTX_OP_LDMATRIX || fm->op == PTX_OP_STMATRIX) &&
	       inst_rows_lanes(fm) &&
	       (fm->space == PTX_SPACE_SHARED || fm->space == PTX_SPACE_GENERIC) && where &&
	       where->nsub;
}

/* ---- asynchronous copies ------------------------------------------------------------------ */

static const struct ptx_opnd *operand_of(const struct ptx_stmt *s, enum ptx_role role)
{
	int at = ptx_find_role(s, role);

	return at < 0 || s->ops[at].kind != PTX_OPND_ADDR || !s->ops[at].nsub ? NULL : &s->ops[at];
}

static void plan_side(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s, bool writes,
		      unsigned words)
{
	const struct ptx_opnd *where = operand_of(s, writes ? PTX_ROLE_ADDR_W : PTX_ROLE_ADDR_R);
	struct inst_event *e = inst_new_event(cx, INST_EVENT_ACCESS, s);

	e->sure = (uint8_t)((1u << words) - 1u);
	e->strength = RACE_WEAK;
	e->scope = RACE_SCOPE_NONE;
	if (!words || !(inst_is_chosen(cx, s) && inst_is_event_left(cx, ev, e)))
		return;
	e->reads = e->is_seen = !writes;
	e->writes = e->is_copy = writes;
	e->space = writes ? INST_IN_SHARED : INST_IN_GLOBAL;
	e->access = inst_new_access(cx, s, where, writes ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD,
				    writes ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL, words);
	e->access->is_copy = true;
	e->access->leads = true;
	e->access->site = inst_add_site(cx, e->access);
	cx->stats->sites++;
	cx->stats->groups++;
	ev->has_shared |= writes;
	ev->has_copies |= writes;
	ev->naccesses++;
	inst_add_event(ev, e);
}

#define COPY_DEFS 4u /* of a register, and moves from register to register, that are followed */

static bool is_none_or(const struct ptx_opnd *op, int64_t all)
{
	return op->kind == PTX_OPND_INT && (op->imm == 0 || op->imm == all);
}

/* Is the register's value 0 or `all`, by moves and choices of constants? */
static bool is_all_or_none(struct inst_ctx *cx, uint32_t reg, int64_t all, unsigned depth)
{
	uint32_t n;
	struct ptx_stmt *const *defs = flow_defs(cx->fl, reg, &n);

	for (uint32_t i = 0; i < n && n <= COPY_DEFS; i++) {
		const struct ptx_stmt *d = defs[i];
		bool is_mov = d->kind == PTX_STMT_INST && d->form->op == PTX_OP_MOV;
		bool is_selp = d->kind == PTX_STMT_INST && d->form->op == PTX_OP_SELP;
		if (!(is_mov || is_selp) || d->nops < (is_mov ? 2 : 3))
			return false;
		for (unsigned j = 1; j <= (is_mov ? 1u : 2u); j++) {
			const struct ptx_opnd *op = &d->ops[j];
			bool follows = op->kind == PTX_OPND_REG && !op->comp && depth < COPY_DEFS;
			if (!is_none_or(op, all) &&
			    !(follows && is_all_or_none(cx, op->reg, all, depth + 1)))
				return false;
		}
	}
	return n > 0 && n <= COPY_DEFS;
}

/* Does the text say which words of the source are read? A predicate: all or none. */
static bool is_cut_known(struct inst_ctx *cx, const struct ptx_opnd *cut, int64_t all)
{
	if (!cut)
		return true;
	if (cut->kind != PTX_OPND_REG)
		return cut->kind == PTX_OPND_INT && cut->imm >= 0 && cut->imm % 4 == 0;
	return cx->f->reg_type[cut->reg] == PTX_TYPE_PRED || is_all_or_none(cx, cut->reg, all, 0);
}

/* cp.async: a read when it is issued, and a write that goes on until its thread has waited for it.
 * Of a source that is shorter than the copy only whole words count whose number the text has; where
 * a register has it, all of them or none. */
static void plan_copy(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s)
{
	const struct ptx_opnd *cut = inst_copy_cut(s);
	unsigned words = (unsigned)s->ops[2].imm / 4u, read = words;

	if (cut && cut->kind == PTX_OPND_INT)
		read = cut->imm >= 0 && cut->imm < s->ops[2].imm ? (unsigned)cut->imm / 4u : words;
	plan_side(cx, ev, s, false, read);
	bool is_followed = ev->last && ev->last->stmt == s;
	if (is_followed && cut && cut->kind == PTX_OPND_REG)
		ev->last->cut = cut;
	if ((is_followed || !read) && !is_cut_known(cx, cut, s->ops[2].imm))
		inst_unchecked(cx, PTX_STR("cp.async, the end of its source"), RACE_WHY_UNSUPPORTED,
			       true);
	plan_side(cx, ev, s, true, words);
}

static bool has_copy(const struct inst_events *ev, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	return !ev->follows_copies && fm->op == PTX_OP_CP_ASYNC && s->nops >= 3 &&
	       s->ops[2].kind == PTX_OPND_INT &&
	       (s->ops[2].imm == 4 || s->ops[2].imm == 8 || s->ops[2].imm == 16) &&
	       fm->space == PTX_SPACE_SHARED && fm->space2 == PTX_SPACE_GLOBAL &&
	       operand_of(s, PTX_ROLE_ADDR_R) && operand_of(s, PTX_ROLE_ADDR_W);
}

/* What the statement does to the thread's copies. An mbarrier that they arrive at says when they
 * are complete, which only some wait sees: from then on they count as complete, and the kernel's
 * order isn't known (set_unsure). */
void inst_plan_copies(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s)
{
	uint32_t op = RACE_COPIES_ALL;
	struct inst_event *e;

	switch (s->form->op) {
	case PTX_OP_CP_ASYNC_COMMIT_GROUP:
		op = RACE_COPIES_COMMIT;
		break;
	case PTX_OP_CP_ASYNC_WAIT_GROUP:
		if (s->nops == 1 && s->ops[0].kind == PTX_OPND_INT && s->ops[0].imm >= 0)
			op = (uint32_t)s->ops[0].imm & (RACE_COPIES_COMMIT - 1u);
		else
			ev->is_blind = true;
		break;
	case PTX_OP_CP_ASYNC_WAIT_ALL:
	case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
		break;
	default:
		return;
	}
	if (ev->follows_copies)
		return;
	e = inst_new_event(cx, INST_EVENT_COPIES, s);
	e->op = op;
	inst_add_event(ev, e);
}

/* ---- public ------------------------------------------------------------------------------- */

bool inst_is_wide(const struct inst_events *ev, const struct ptx_stmt *s)
{
	return has_rows(ev, s) || has_lines(ev, s) || has_copy(ev, s);
}

void inst_plan_wide(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s)
{
	if (has_rows(ev, s))
		plan_rows(cx, ev, s);
	else if (has_lines(ev, s))
		plan_lines(cx, ev, s);
	else
		plan_copy(cx, ev, s);
}
