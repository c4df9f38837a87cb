/*
 * capture.c - beside an access: copies of its address base, guard and values.
 *
 * They are registers of ours, which ptxas coalesces away when nothing overwrites the originals. For
 * a value that may be speculated (flow_demand), its uses note whether it was used.
 */
#include "instrument/collide/collide.h"

#include <stdlib.h>
#include <string.h>

static struct ptx_str bits_suffix(unsigned bits)
{
	switch (bits) {
	case 16:
		return PTX_STR("b16");
	case 32:
		return PTX_STR("b32");
	case 64:
		return PTX_STR("b64");
	default:
		return PTX_STR("b128");
	}
}

static enum ptx_type bits_reg(unsigned bits)
{
	switch (bits) {
	case 16:
		return PTX_TYPE_B16;
	case 32:
		return PTX_TYPE_B32;
	case 64:
		return PTX_TYPE_B64;
	default:
		return PTX_TYPE_B128;
	}
}

uint32_t inst_value_reg(struct inst_ctx *cx, unsigned bits)
{
	return ptx_new_reg(cx->m, cx->f, bits_reg(bits));
}

/* ---- beside the access ---------------------------------------------------- */

static void capture_address(struct inst_ctx *cx, struct inst_access *a)
{
	const struct ptx_opnd *addr = a->where;

	a->addr = *addr;
	a->addr.text = (struct ptx_str){"", 0};
	a->addr.nsub = 1;
	if (addr->sub[0].kind != PTX_OPND_REG || !a->base_changed)
		return;
	enum ptx_type t =
		bits_reg(8 * ptx_type_bytes((enum ptx_type)cx->f->reg_type[addr->sub[0].reg]));
	uint32_t base = ptx_new_reg(cx->m, cx->f, t);
	a->addr.sub = BASE_NEW(cx->m->arena, struct ptx_opnd);
	a->addr.sub[0] = inst_reg(cx, base);
	inst_emit(cx, a->stmt, "copy", T(t == PTX_TYPE_B64 ? PTX_STR("b64") : PTX_STR("b32")),
		  H(inst_reg(cx, base), addr->sub[0]));
}

struct ptx_opnd inst_sense(struct ptx_opnd p, bool positive)
{
	if (!positive)
		p.flags ^= PTX_OPND_NOT;
	return p;
}

/* ok = p, or !p: and.pred takes no negated predicate source in PTX. */
uint32_t inst_condition(struct inst_ctx *cx, uint32_t pred, bool positive, struct ptx_stmt *at)
{
	uint32_t r = ptx_new_reg(cx->m, cx->f, PTX_TYPE_PRED);

	if (positive)
		inst_emit(cx, at, "copy", T(PTX_STR("pred")),
			  H(inst_reg(cx, r), inst_reg(cx, pred)));
	else
		inst_emit(cx, at, "not", NT, H(inst_reg(cx, r), inst_reg(cx, pred)));
	return r;
}

static void capture_guard(struct inst_ctx *cx, struct inst_access *a)
{
	a->guard = inst_none();
	if (a->stmt->pred == PTX_NO_REG)
		return;
	struct ptx_opnd from = inst_reg(cx, a->stmt->pred);
	if (!a->guard_changed) {
		a->guard = inst_sense(from, !a->stmt->is_pred_not);
		return;
	}
	a->guard = inst_reg(cx, inst_condition(cx, a->stmt->pred, !a->stmt->is_pred_not, a->stmt));
}

bool inst_is_integer(const struct inst_ctx *cx, uint32_t reg)
{
	enum ptx_type_class c = ptx_type_class((enum ptx_type)cx->f->reg_type[reg]);

	return c == PTX_CLASS_BITS || c == PTX_CLASS_UINT || c == PTX_CLASS_SINT;
}

static void capture_value(struct inst_ctx *cx, struct inst_access *a, struct inst_elem *e,
			  struct ptx_stmt *at)
{
	unsigned width_bits = 8u * a->width;
	bool reg = e->op.kind == PTX_OPND_REG;
	bool narrow = a->kind == RACE_ACCESS_STORE && width_bits < a->bits && reg;

	/* cvt in the cold code wants an integer register. */
	if (reg && !narrow && !e->changed && inst_is_integer(cx, e->op.reg)) {
		e->was = e->op.reg;
		return;
	}
	/* An argument of a call may be of any type. */
	if (cx->is_called && reg && !narrow && !e->changed && a->bits >= 32) {
		e->was = e->op.reg;
		return;
	}
	e->was = inst_value_reg(cx, a->bits);
	if (narrow) {
		uint64_t mask = (1ull << width_bits) - 1;
		inst_emit(cx, at, "truncate", T(inst_num(a->bits), inst_num((int64_t)mask)),
			  H(inst_reg(cx, e->was), e->op));
	} else {
		inst_emit(cx, at, "copy", T(bits_suffix(a->bits)), H(inst_reg(cx, e->was), e->op));
	}
}

/* Is `what` after `from`, up to and with `to`, in the same run of statements? The check is inserted
 * before `to`, and what is inserted before `to` now still precedes it. */
static bool stands_before(const struct ptx_stmt *from, const struct ptx_stmt *what,
			  const struct ptx_stmt *to)
{
	for (const struct ptx_stmt *s = from; s != to && s->next;) {
		s = s->next;
		if (s == what)
			return true;
	}
	return false;
}

/* A place where a speculated value is used: always (PTX_NO_REG), under a predicate, or where
 * nothing masks operand `tried`. */
struct taken {
	struct ptx_stmt *at;
	uint32_t pred;
	bool sense, is_covered;
	uint8_t tried;
};

/* From so many uses in one statement on, one branch goes past them. */
#define MANY_USES 3u

/* A use after the check. */
struct later_use {
	struct inst_access *a;
	struct inst_elem *e;
	struct taken t;
	size_t number, first; /* its own, and that of the statement's first one */
};

struct inst_uses {
	BASE_VEC(struct later_use) list;
};

/* needs: nothing of the function was checked yet. */
void inst_collide_begin_uses(struct inst_ctx *cx)
{
	cx->uses = BASE_NEW(&cx->scratch, struct inst_uses);
	cx->found = PTX_NO_REG;
}

/* The register that is 0 until the thread has found a speculated value changed. */
static void begin_found(struct inst_ctx *cx, struct ptx_stmt *top)
{
	if (cx->found != PTX_NO_REG)
		return;
	cx->found = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
	inst_emit(cx, top, "zero", NT, H(inst_reg(cx, cx->found)));
}

/* The predicate under which the value is used, PTX_NO_REG: always. False: it never is. */
static bool take_condition(struct inst_ctx *cx, const struct taken *t, uint32_t *cond)
{
	*cond = PTX_NO_REG;
	if (t->tried) {
		struct ptx_opnd p = inst_tried(cx, t->at, t->tried, false);
		*cond = p.reg;
		return p.kind == PTX_OPND_REG;
	}
	if (t->pred != PTX_NO_REG)
		*cond = inst_condition(cx, t->pred, t->sense, t->at);
	return true;
}

/*
 * A use of a speculated value: before the check (same block) it only notes whether the value is
 * really used; after the check it confirms the check's finding.
 */
static void capture_use(struct inst_ctx *cx, struct inst_access *a, struct inst_elem *e,
			const struct taken *t, const struct ptx_stmt *flush)
{
	struct ptx_stmt *use = t->at;
	uint32_t cond;

	if (stands_before(a->stmt, use, flush)) {
		if (!take_condition(cx, t, &cond))
			return;
		if (e->early == PTX_NO_REG) {
			e->early = ptx_new_reg(cx->m, cx->f, PTX_TYPE_PRED);
			inst_emit(cx, a->stmt, "clear", NT, H(inst_reg(cx, e->early)));
		}
		if (cond == PTX_NO_REG)
			inst_emit(cx, use, "set", NT, H(inst_reg(cx, e->early)));
		else
			inst_emit(cx, use, "or", NT,
				  H(inst_reg(cx, e->early), inst_reg(cx, e->early),
				    inst_reg(cx, cond)));
		return;
	}
	struct later_use u = {.a = a, .e = e, .t = *t, .number = cx->uses->list.n};
	base_vec_push(&cx->uses->list, u);
}

/* ---- uses after the check ---------------------------------------------------- */

static void put_use(struct inst_ctx *cx, const struct later_use *u)
{
	struct ptx_stmt *at = u->t.at;
	uint32_t cond, hit;

	if (!take_condition(cx, &u->t, &cond))
		return;
	uint32_t seen = hit = u->e->mask_bits ? inst_take_hit(cx, u->e, at) : u->e->spec;
	if (cond != PTX_NO_REG) {
		hit = ptx_new_reg(cx->m, cx->f, PTX_TYPE_PRED);
		inst_emit(cx, at, "and", NT,
			  H(inst_reg(cx, hit), inst_reg(cx, cond), inst_reg(cx, seen)));
	}
	if (u->e->mask_bits)
		inst_put_used(cx, u->a, hit, at);
	else
		inst_cold_used(cx, u->a, hit, at);
}

static int by_place(const void *a, const void *b)
{
	const struct later_use *u = a, *v = b;
	uintptr_t p = (uintptr_t)u->t.at, q = (uintptr_t)v->t.at;

	return p != q ? (p > q) - (p < q) : (u->number > v->number) - (u->number < v->number);
}

static int by_first(const void *a, const void *b)
{
	const struct later_use *u = a, *v = b;

	return u->first != v->first ? (u->first > v->first) - (u->first < v->first)
				    : (u->number > v->number) - (u->number < v->number);
}

/* Puts the uses of each statement beside one another; the order doesn't depend on addresses. */
static void sort_uses(struct later_use *u, size_t n)
{
	if (!n)
		return;
	qsort(u, n, sizeof(*u), by_place);
	for (size_t i = 0; i < n; i++)
		u[i].first = i && u[i].t.at == u[i - 1].t.at ? u[i - 1].first : u[i].number;
	qsort(u, n, sizeof(*u), by_first);
}

/*
 * Tests at the uses whether the value's second reading differed. A loop may use a hundred values
 * that were loaded before it, in one statement: in a thread that has found none so far one branch
 * goes past them all.
 */
void inst_collide_uses(struct inst_ctx *cx)
{
	struct later_use *u = cx->uses->list.v;
	size_t n = cx->uses->list.n, next;

	sort_uses(u, n);
	for (size_t i = 0; i < n; i = next) {
		struct ptx_label *over = NULL;

		for (next = i + 1; next < n && u[next].first == u[i].first;)
			next++;
		if (next - i >= MANY_USES) {
			over = ptx_new_label(cx->m, cx->f);
			inst_emit(cx, u[i].t.at, "unless_found", NT,
				  H(inst_reg(cx, cx->found), ptx_opnd_label(over)));
		}
		for (size_t j = i; j < next; j++)
			put_use(cx, &u[j]);
		if (over)
			inst_emit_label(cx, u[i].t.at, over);
	}
	base_vec_free(&cx->uses->list);
}

/* ---- where the uses are ------------------------------------------------------ */

/* Is `what` after `from` in its block? */
static bool is_after(const struct ptx_stmt *from, const struct ptx_stmt *what)
{
	uint32_t block = what->mark;

	for (const struct ptx_stmt *s = from->next; s; s = s->next) {
		if (s == what)
			return true;
		if (!s->inserted && s->mark != block)
			return false;
	}
	return false;
}

/* A value that is used under a predicate and under its negation is always used. */
static void join_senses(struct taken *u, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n && u[i].pred != PTX_NO_REG; j++) {
			if (u[j].at != u[i].at || u[j].pred != u[i].pred ||
			    u[j].sense == u[i].sense)
				continue;
			u[i].pred = PTX_NO_REG;
			u[j].is_covered = true;
		}
}

/* Of the uses in one block that always happen the last one is enough: an exit ends a block. */
static void cover_uses(const struct inst_access *a, struct taken *u, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t block = u[i].at->mark;

		if (u[i].is_covered || u[i].pred != PTX_NO_REG || u[i].tried)
			continue;
		/* In the load's own block: a use before the load takes the value of an earlier
		 * iteration. */
		if (block == a->stmt->mark && !is_after(a->stmt, u[i].at))
			continue;
		for (uint32_t j = 0; j < n; j++) {
			if (j == i || u[j].is_covered || u[j].at->mark != block)
				continue;
			if (u[j].at == u[i].at || is_after(u[j].at, u[i].at))
				u[j].is_covered =
					block != a->stmt->mark || is_after(a->stmt, u[j].at);
		}
	}
}

static void capture_demand(struct inst_ctx *cx, struct inst_access *a, struct inst_elem *e,
			   struct ptx_stmt *top, const struct ptx_stmt *flush)
{
	const struct flow_demand_info *d = &e->demand;
	struct taken *u;
	uint32_t n = 0;

	/* The read-only path is a separate kind, never a data race: it stays "possible". */
	if (a->kind == RACE_ACCESS_NC_LOAD)
		return;
	begin_found(cx, top);
	if (!e->mask_bits) {
		e->spec = ptx_new_reg(cx->m, cx->f, PTX_TYPE_PRED);
		inst_emit(cx, top, "clear", NT, H(inst_reg(cx, e->spec)));
		inst_emit(cx, a->stmt, "clear", NT, H(inst_reg(cx, e->spec)));
	}
	if (d->demand == FLOW_DEMAND_SELECT) {
		struct taken one = {.at = d->at, .pred = d->pred, .sense = d->sense};
		capture_use(cx, a, e, &one, flush);
		return;
	}
	u = BASE_NEWN(&cx->scratch, struct taken, d->nuses + d->nconds + 1);
	for (uint32_t i = 0; i < d->nuses; i++) {
		bool is_inst = d->uses[i]->kind == PTX_STMT_INST;
		u[n++] = (struct taken){.at = d->uses[i],
					.pred = is_inst ? d->uses[i]->pred : PTX_NO_REG,
					.sense = !is_inst || !d->uses[i]->is_pred_not};
	}
	for (uint32_t i = 0; i < d->nconds; i++)
		u[n++] = (struct taken){.at = d->conds[i].at,
					.pred = d->conds[i].pred,
					.sense = d->conds[i].sense,
					.tried = d->conds[i].tried};
	join_senses(u, n);
	cover_uses(a, u, n);
	for (uint32_t i = 0; i < n; i++)
		if (!u[i].is_covered)
			capture_use(cx, a, e, &u[i], flush);
}

void inst_capture(struct inst_ctx *cx, struct inst_access *a, struct ptx_stmt *top,
		  const struct ptx_stmt *flush)
{
	struct ptx_stmt *values_at = a->kind == RACE_ACCESS_STORE ? a->stmt : a->stmt->next;

	capture_address(cx, a);
	capture_guard(cx, a);
	for (unsigned i = 0; i < a->vec; i++) {
		struct inst_elem *e = &a->elem[i];

		if (!e->checked)
			continue;
		capture_value(cx, a, e, values_at);
		if (e->speculated)
			capture_demand(cx, a, e, top, flush);
	}
}
