/*
 * plan.c - which accesses are checked, and which of them together.
 *
 * Walks a function once. A weak load or store of global, shared or generic
 * memory joins the open group of its basic block; the group is closed (its
 * check goes there) before anything that could make the re-read differ or order
 * it: a barrier, fence, atomic, strong access, call, branch, label, exit, any
 * convergent instruction, unknown text, and a store of the same thread that may
 * touch a byte of the group. It is also closed when it holds 8 accesses or 128
 * bytes of values.
 *
 * ldmatrix and cp.async close the group too and get one of their own (ahead.c).
 *
 * Misses: what isa.def knows as memory but `collide` has no check for (tensor copies,
 * tcgen05.mma, ...), counted by opcode for the report's footer.
 */
#include "instrument/collide/collide.h"

#include <string.h>

#define CLOSES                                                                                     \
	(PTX_EFF_ATOMIC | PTX_EFF_BARRIER | PTX_EFF_FENCE | PTX_EFF_CONVERGENT | PTX_EFF_BRANCH |  \
	 PTX_EFF_CALL | PTX_EFF_EXIT | PTX_EFF_ASYNC | PTX_EFF_WAIT | PTX_EFF_WARP_SYNC |          \
	 PTX_EFF_COLLECTIVE_MEM | PTX_EFF_SLEEP | PTX_EFF_DISCARD | PTX_EFF_SIDE |                 \
	 PTX_EFF_UNKNOWN)

#define MAX_DEPTH 64 /* ptx_parse allows no more */

struct planner {
	struct inst_ctx *cx;
	struct inst_plan *plan;
	struct inst_group *open;
	uint32_t depth;
	bool declares[MAX_DEPTH]; /* by depth: has the scope names of its own? */
};

static void add_group(struct planner *p, struct inst_group *g, struct ptx_stmt *at)
{
	g->flush = at;
	g->depth = p->depth;
	if (p->plan->last)
		p->plan->last->next = g;
	else
		p->plan->first = g;
	p->plan->last = g;
	p->plan->ngroups++;
}

static void close_group(struct planner *p, struct ptx_stmt *at)
{
	struct inst_group *g = p->open;

	if (!g)
		return;
	add_group(p, g, at);
	p->open = NULL;
}

static bool is_checked_space(uint8_t space)
{
	return space == PTX_SPACE_GLOBAL || space == PTX_SPACE_SHARED ||
	       space == PTX_SPACE_SHARED_CLUSTER || space == PTX_SPACE_GENERIC;
}

static bool is_memory(const struct ptx_form *fm)
{
	return (fm->effects & (PTX_EFF_READ | PTX_EFF_WRITE)) != 0;
}

/* Plain one-thread loads and stores: the only forms whose footprint is their operand. */
static bool is_plain(const struct ptx_form *fm)
{
	return (fm->op == PTX_OP_LD || fm->op == PTX_OP_LDU || fm->op == PTX_OP_ST) && fm->width &&
	       fm->vec <= INST_MAX_VEC && !(fm->effects & PTX_EFF_UNKNOWN);
}

static unsigned reg_bits(const struct inst_ctx *cx, const struct ptx_opnd *op)
{
	return 8 * ptx_type_bytes((enum ptx_type)cx->f->reg_type[op->reg]);
}

/* The operand as bits of the store's type, as the memory will hold them. */
static bool immediate_bits(const struct ptx_opnd *op, enum ptx_type type, unsigned width,
			   int64_t *bits)
{
	if (op->kind == PTX_OPND_INT || op->kind == PTX_OPND_F32) {
		*bits = op->imm;
	} else if (op->kind == PTX_OPND_F64 && type == PTX_TYPE_F32) {
		double d;
		memcpy(&d, &op->imm, sizeof(d));
		float f = (float)d;
		uint32_t u;
		memcpy(&u, &f, sizeof(u));
		*bits = u;
	} else if (op->kind == PTX_OPND_F64 && width == 8) {
		*bits = op->imm;
	} else {
		return false;
	}
	if (width < 8)
		*bits &= (int64_t)((1ull << (8 * width)) - 1);
	return width <= 8;
}

static bool elem_is_register(const struct inst_elem *e)
{
	return e->op.kind == PTX_OPND_REG && e->op.comp == 0;
}

/* Decides on the elements of a load. Returns how many are checked. */
static unsigned plan_load(struct planner *p, struct inst_access *a)
{
	unsigned checked = 0;

	for (unsigned i = 0; i < a->vec; i++)
		if (elem_is_register(&a->elem[i]) && reg_bits(p->cx, &a->elem[i].op) > a->bits)
			a->bits = (uint8_t)reg_bits(p->cx, &a->elem[i].op);
	for (unsigned i = 0; i < a->vec; i++) {
		struct inst_elem *e = &a->elem[i];

		if (!elem_is_register(e))
			continue;
		bool twice = false;
		for (unsigned j = 0; j < a->vec; j++)
			twice |= j != i && a->elem[j].op.kind == PTX_OPND_REG &&
				 a->elem[j].op.reg == e->op.reg;
		/* All elements are re-read in one size; registers of another size are left out. */
		if (twice || a->bits < 16 || reg_bits(p->cx, &e->op) != a->bits)
			continue;
		flow_demand(p->cx->fl, a->stmt, e->op.reg, &e->demand);
		if (e->demand.demand == FLOW_DEMAND_DEAD)
			continue;
		/* All bytes are compared: what isn't read of them leaves a change possible. */
		if (!inst_is_whole(p->cx, a->stmt, e->op.reg))
			e->demand = (struct flow_demand_info){.demand = FLOW_DEMAND_MAYBE,
							      .pred = PTX_NO_REG};
		e->speculated = e->demand.demand != FLOW_DEMAND_SURE;
		e->checked = true;
		checked++;
	}
	/* ld leaves the type's own extension in a wider register: the re-read does the same. */
	a->type = (enum ptx_type)a->stmt->form->types[a->stmt->form->ntypes - 1];
	return checked;
}

static const enum ptx_type bits_type[] = {[1] = PTX_TYPE_B8,
					  [2] = PTX_TYPE_B16,
					  [4] = PTX_TYPE_B32,
					  [8] = PTX_TYPE_B64,
					  [16] = PTX_TYPE_B128};

static unsigned plan_store(struct planner *p, struct inst_access *a)
{
	enum ptx_type type = (enum ptx_type)a->stmt->form->types[a->stmt->form->ntypes - 1];
	unsigned bits = 8u * a->width < 16 ? 16 : 8u * a->width;
	unsigned checked = 0;
	int64_t imm;

	for (unsigned i = 0; i < a->vec; i++)
		if (elem_is_register(&a->elem[i]) && reg_bits(p->cx, &a->elem[i].op) > bits)
			bits = reg_bits(p->cx, &a->elem[i].op);
	for (unsigned i = 0; i < a->vec; i++) {
		struct inst_elem *e = &a->elem[i];

		if (elem_is_register(e))
			e->checked = reg_bits(p->cx, &e->op) == bits;
		else if (immediate_bits(&e->op, type, a->width, &imm)) {
			e->op = inst_int(p->cx, imm);
			e->checked = true;
		}
		checked += e->checked;
	}
	a->bits = (uint8_t)bits;
	a->type = bits_type[a->width];
	return checked;
}

static void set_elements(struct inst_access *a, const struct ptx_opnd *op)
{
	if (op->kind == PTX_OPND_VEC) {
		for (unsigned i = 0; i < op->nsub && i < a->vec; i++)
			a->elem[i].op = op->sub[i];
	} else {
		a->elem[0].op = *op;
	}
}

static enum race_access access_kind(const struct ptx_form *fm)
{
	if (fm->effects & PTX_EFF_WRITE)
		return RACE_ACCESS_STORE;
	return fm->effects & PTX_EFF_NONTEMPORAL ? RACE_ACCESS_NC_LOAD : RACE_ACCESS_LOAD;
}

/*
 * Do the addresses of lanes with consecutive tid.x lie at least a store's width apart? Then only
 * the shape of the block must be tested at run time (cold.ptxt, warp_rows). Strides are signed:
 * falling addresses qualify as well.
 */
static bool rises_with_lane(const struct inst_ctx *cx, const struct inst_access *a,
			    const struct ptx_opnd *addr)
{
	struct flow_affine f;

	if (addr->sub[0].kind != PTX_OPND_REG)
		return false;
	flow_affine_of(cx->fl, a->stmt, &addr->sub[0], &f);
	int64_t width = (int64_t)a->vec * a->width, stride = f.known ? f.tid[0] : 0;
	return stride >= width || stride <= -width;
}

/* The statement as an access to check; NULL if it isn't checked (the reason is counted). */
static struct inst_access *make_access(struct planner *p, struct ptx_stmt *s)
{
	struct inst_ctx *cx = p->cx;
	const struct ptx_form *fm = s->form;
	struct ptx_opnd *addr = ptx_address(s);
	int data = ptx_find_role(s, fm->effects & PTX_EFF_WRITE ? PTX_ROLE_SRC : PTX_ROLE_DST);

	/* A register of a vector type (.reg .v2) is one operand without elements to compare. */
	if (!addr || data < 0 || !addr->nsub ||
	    (fm->vec > 1 && s->ops[data].kind != PTX_OPND_VEC)) {
		cx->stats->unsupported++;
		inst_unchecked(cx, fm->text, RACE_WHY_UNSUPPORTED, false);
		return NULL;
	}
	if (!inst_is_chosen(cx, s))
		return NULL;
	struct inst_access *a = BASE_NEW(&cx->scratch, struct inst_access);
	a->stmt = s;
	a->where = addr;
	a->kind = access_kind(fm);
	a->space = (enum ptx_space)fm->space;
	a->vec = fm->vec;
	a->width = fm->width;
	a->elem = BASE_NEWN(&cx->scratch, struct inst_elem, a->vec);
	for (unsigned i = 0; i < a->vec; i++)
		a->elem[i].was = a->elem[i].now = a->elem[i].spec = a->elem[i].early = PTX_NO_REG;
	if (a->space == PTX_SPACE_GENERIC) {
		enum flow_origin o = flow_address_origin(cx->fl, s);
		if (o == FLOW_ORIGIN_PRIVATE || o == FLOW_ORIGIN_CONST) {
			cx->stats->skipped_private++;
			inst_unchecked(cx, PTX_STR("access to the thread's own stack"),
				       RACE_WHY_PRIVATE, false);
			return NULL;
		}
		a->needs_private_test =
			o == FLOW_ORIGIN_UNKNOWN && addr->sub[0].kind == PTX_OPND_REG;
	}
	set_elements(a, &s->ops[data]);
	if (a->kind == RACE_ACCESS_STORE)
		a->rises_with_lane = rises_with_lane(cx, a, addr);
	unsigned n = a->kind == RACE_ACCESS_STORE ? plan_store(p, a) : plan_load(p, a);
	if (n)
		return a;
	if (a->kind == RACE_ACCESS_STORE) {
		cx->stats->unsupported++;
		inst_unchecked(cx, fm->text, RACE_WHY_UNSUPPORTED, false);
	} else {
		cx->stats->skipped_dead++;
		inst_unchecked(cx, PTX_STR("load whose value is never used"), RACE_WHY_DEAD, false);
	}
	return NULL;
}

static void count_unchecked(struct inst_ctx *cx, const struct ptx_form *fm)
{
	if (fm->effects & PTX_EFF_UNKNOWN) {
		cx->stats->unknown++;
		inst_unchecked(cx, fm->text, RACE_WHY_UNKNOWN_OPCODE, false);
	} else if (is_memory(fm) && is_checked_space(fm->space) && fm->sem != PTX_SEM_WEAK &&
		   !is_checked_space(fm->space2)) { /* (a reduction's source is read weakly) */
		cx->stats->strong++;
		inst_unchecked(cx, fm->text, RACE_WHY_STRONG, false);
	} else if (is_memory(fm) && (is_checked_space(fm->space) || is_checked_space(fm->space2) ||
				     fm->space == PTX_SPACE_TMEM)) {
		cx->stats->unsupported++;
		inst_unchecked(cx, fm->text, RACE_WHY_UNSUPPORTED, false);
	}
}

static bool group_may_alias(struct planner *p, const struct ptx_stmt *store)
{
	for (struct inst_access *a = p->open->first; a; a = a->next)
		if (a->base_changed || flow_may_alias(p->cx->fl, a->stmt, store) != FLOW_NO_ALIAS)
			return true;
	return false;
}

static void add_access(struct planner *p, struct inst_access *a, bool is_pruned)
{
	struct inst_ctx *cx = p->cx;
	uint32_t bytes = (uint32_t)a->vec * (a->bits / 8u);
	uint32_t max = cx->opt->group_max ? cx->opt->group_max : INST_MAX_GROUP;

	if (p->open && (p->open->n >= max || p->open->bytes + bytes > INST_GROUP_BYTES ||
			p->open->is_pruned != is_pruned))
		close_group(p, a->stmt);
	if (!p->open)
		p->open = BASE_NEW(&cx->scratch, struct inst_group);
	struct inst_group *g = p->open;
	g->is_pruned = is_pruned;
	p->plan->has_pruned |= is_pruned;
	g->bytes += bytes;
	g->has_load |= a->kind != RACE_ACCESS_STORE;
	for (unsigned i = 0; i < a->vec; i++)
		if (a->elem[i].speculated) {
			cx->stats->speculated++;
			break;
		}
	inst_append_access(cx, g, a);
}

struct written {
	struct inst_group *g;
	const struct ptx_stmt *by;
};

/* Notes which of the registers that the check will read have been overwritten. */
static void note_write(uint32_t reg, bool is_write, void *arg)
{
	struct written *w = arg;

	if (!is_write)
		return;
	for (struct inst_access *a = w->g->first; a; a = a->next) {
		const struct ptx_opnd *base = &a->where->sub[0];

		if (base->kind == PTX_OPND_REG && base->reg == reg)
			a->base_changed = true;
		if (a->stmt->pred == reg)
			a->guard_changed = true;
		if (a->stmt == w->by) /* a load's own destination */
			continue;
		for (unsigned i = 0; i < a->vec; i++)
			if (a->elem[i].op.kind == PTX_OPND_REG && a->elem[i].op.reg == reg)
				a->elem[i].changed = true;
	}
}

/*
 * Braces with declarations of their own: names declared there may hide outer ones (the check could
 * not name its registers), and a call's parameters are declared that way. Other braces have no
 * effect: nvcc puts each half-precision conversion in braces.
 */
static bool scope_declares(const struct ptx_stmt *open)
{
	unsigned depth = 0;

	for (const struct ptx_stmt *s = open; s; s = s->next) {
		if (s->kind == PTX_STMT_OPEN)
			depth++;
		else if (s->kind == PTX_STMT_CLOSE && --depth == 0)
			return false;
		else if (depth == 1 && (s->kind == PTX_STMT_REG || s->kind == PTX_STMT_VAR))
			return true;
	}
	return false;
}

static void plan_inst(struct planner *p, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	bool plain = is_plain(fm), memory = is_memory(fm);
	bool mine = plain && fm->sem == PTX_SEM_WEAK && is_checked_space(fm->space);
	struct inst_access *a = NULL;
	enum inst_pruned prune = INST_PRUNED_NOT;
	struct inst_group *ahead = plain ? NULL : inst_plan_ahead(p->cx, s);

	if (mine)
		prune = inst_prune_of(p->cx, s, INST_SEES_ALL);
	if (mine && prune != INST_PRUNED_ALWAYS)
		a = make_access(p, s);
	else if (mine)
		; /* no check; what it stores may still end a group */
	else if (!ahead)
		count_unchecked(p->cx, fm);
	bool closes =
		(fm->effects & CLOSES) || (memory && !plain) || (plain && fm->sem != PTX_SEM_WEAK);
	/* Arguments of a call outside braces. */
	if (memory && (fm->effects & PTX_EFF_WRITE) && fm->space == PTX_SPACE_PARAM)
		closes = true;
	if (p->open && closes)
		close_group(p, s);
	if (p->open && mine && (fm->effects & PTX_EFF_WRITE) && group_may_alias(p, s))
		close_group(p, s);
	if (ahead)
		add_group(p, ahead, s);
	if (a)
		add_access(p, a, prune == INST_PRUNED_WITHIN);
	if (p->open) {
		struct written w = {p->open, s};
		ptx_each_reg(s, note_write, &w);
	}
}

/* needs: flow.  keeps: everything (nothing is changed). */
void inst_plan_function(struct inst_ctx *cx, struct inst_plan *plan)
{
	struct planner p = {.cx = cx, .plan = plan};
	bool declares;

	ptx_each_stmt(cx->f, s)
	{
		switch (s->kind) {
		case PTX_STMT_INST:
			plan_inst(&p, s);
			break;
		case PTX_STMT_LABEL:
		case PTX_STMT_TARGETS:
		case PTX_STMT_PROTO:
		case PTX_STMT_RAW:
			close_group(&p, s);
			break;
		case PTX_STMT_OPEN:
			declares = scope_declares(s);
			if (declares)
				close_group(&p, s);
			if (p.depth < MAX_DEPTH)
				p.declares[p.depth] = declares;
			p.depth++;
			break;
		case PTX_STMT_CLOSE:
			if (p.depth > MAX_DEPTH || p.declares[p.depth - 1])
				close_group(&p, s);
			p.depth--;
			break;
		default:
			break;
		}
	}
	close_group(&p, NULL);
}
