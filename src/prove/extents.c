/*
 * extents.c - which accesses of a kernel a launch may leave unchecked (check.h).
 *
 * A proof takes for granted that each access stays within its variable or array. Of shared memory
 * that is proven here: the offset has bounds, or the solver finds no thread whose access is
 * elsewhere; else with blocks that are no larger than the variable, or than the side of a square
 * that it may be, which a launch can test. Of global memory a launch tests it, so for each of these
 * accesses there is the pointer or the variable that it belongs to. A kernel is *whole* where
 * nothing else needs a check: its own weak loads and stores, barriers of its blocks and warps,
 * nothing that orders threads otherwise.
 *
 * Misses: kernels that call functions, with atomics, fences, asynchronous copies, textures, or with
 * pointers read from memory; none of these is whole.
 * Costs: up to two queries for each access to shared memory without bounds, and as many for each
 * size of blocks that is tried.
 */
#include "flow/flow.h"
#include "prove/check.h"

#include <string.h>

/* The number of an instruction in the kernel's body. */
static uint32_t nth_of(const struct ptx_func *f, const struct ptx_stmt *at)
{
	uint32_t n = 0;

	ptx_each_stmt(f, s)
	{
		if (s == at)
			return n;
		n += s->kind == PTX_STMT_INST;
	}
	return UINT32_MAX;
}

/* ---- shared memory ----------------------------------------------------------------------- */

/* The dynamic part is the last one: an address past its end is past the block's memory. */
#define DYNAMIC_BYTES (1u << 24)

/* No larger blocks; 0: any. */
struct limit {
	uint32_t x, y;
};

static void hold_limit(struct check *c, struct limit l)
{
	struct ex_pool *p = c->pool;

	if (l.x)
		prove_smt_assert(c->smt,
				 prove_ex_bin(p, EX_ULT, prove_ex_spec(p, EX_NTID_X),
					      prove_ex_const(p, 32, (uint64_t)l.x + 1)),
				 0);
	if (l.y)
		prove_smt_assert(c->smt,
				 prove_ex_bin(p, EX_ULT, prove_ex_spec(p, EX_NTID_Y),
					      prove_ex_const(p, 32, (uint64_t)l.y + 1)),
				 0);
}

static bool is_outside_possible(struct check *c, const struct ev_access *x, const struct ex *inside,
				struct limit l)
{
	struct smt_query q = {.is_alone = true, .is_same_cta = true, .is_exact = true};

	q.counters = base_zalloc(c->arena, c->e->ir->nloops + 1);
	for (unsigned turn = 0; turn < 2; turn++) {
		q.use_bits = turn;
		if (!check_limit(&q, CHECK_QUERY, c->deadline))
			return true;
		c->k->counts.queries++;
		prove_smt_begin(c->smt, &q);
		prove_hold_side(c, x->guard, x->block, 0);
		prove_smt_assert(c->smt, prove_ex_not(c->pool, inside), 0);
		hold_limit(c, l);
		enum smt_answer got = prove_smt_check(c->smt, NULL);
		if (got == SMT_IMPOSSIBLE)
			return false;
		/* Bit-vectors would say the same, and may take all the time that there is. */
		if (got == SMT_POSSIBLE)
			return true;
	}
	return true;
}

static uint64_t bytes_of(const struct check *c, const struct ev_access *x)
{
	const struct ir_object *o =
		x->root.kind == EV_ROOT_OBJECT ? &c->e->ir->objects.v[x->root.id] : NULL;

	return !o ? 0 : o->kind == IR_OBJ_DYNAMIC ? DYNAMIC_BYTES : o->bytes;
}

static bool stays_within(struct check *c, const struct ev_access *x, struct limit l)
{
	uint64_t bytes = bytes_of(c, x);

	if (bytes < x->mem->bytes)
		return false;
	const struct ex *last = prove_ex_const(c->pool, x->whole->w, bytes - x->mem->bytes);
	if (x->whole->hi <= last->imm)
		return true;
	return !is_outside_possible(
		c, x, prove_ex_not(c->pool, prove_ex_bin(c->pool, EX_ULT, last, x->whole)), l);
}

/* The side of a square of n elements, or of one with a column more; 0: it is none. */
static uint32_t side_of(uint64_t n)
{
	uint32_t side = 2;

	while ((uint64_t)side * side < n && (uint64_t)side * (side + 1) < n)
		side++;
	return (uint64_t)side * side == n || (uint64_t)side * (side + 1) == n ? side : 0;
}

/* Blocks in which the access stays within its variable. */
static bool find_limit(struct check *c, const struct ev_access *x, struct limit *out)
{
	uint64_t n = bytes_of(c, x) / (x->mem->bytes ? x->mem->bytes : 1);
	const struct ex_launch *launch = &c->pool->launch;

	if (n < 2 || n > UINT16_MAX || launch->dim[0])
		return false;
	struct limit tried[] = {
		{(uint32_t)n, 0}, {(uint32_t)n / 2, 0}, {(uint32_t)n, 1}, {side_of(n), side_of(n)}};
	for (size_t i = 0; i < BASE_COUNTOF(tried); i++) {
		*out = tried[i];
		if (out->x && stays_within(c, x, *out))
			return true;
	}
	return false;
}

static void narrow(uint32_t *to, uint32_t by)
{
	if (by && (!*to || by < *to))
		*to = by;
}

static bool shared_stays(struct check *c)
{
	struct limit all = {0, 0}, one;

	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		bool may_be_shared = x->is_shared || x->root.kind == EV_ROOT_UNKNOWN;
		if (!may_be_shared || stays_within(c, x, all))
			continue;
		if (!find_limit(c, x, &one))
			return false;
		narrow(&all.x, one.x);
		narrow(&all.y, one.y);
	}
	if (all.y)
		c->k->stays_if =
			base_printf(c->arena, "blockDim.x <= %u && blockDim.y <= %u", all.x, all.y);
	else if (all.x)
		c->k->stays_if = base_printf(c->arena, "blockDim.x <= %u", all.x);
	return true;
}

/* ---- the whole kernel -------------------------------------------------------------------- */

/* What the proof took for granted, and a launch can't be tested for. */
static const char *why_contract(const struct check *c)
{
	if (c->assumed.has_slots_disjoint)
		return "the proof takes arrays for disjoint whose pointers are in memory";
	if (c->assumed.has_counts || c->assumed.has_long)
		return "the proof takes for granted that a counter doesn't come around";
	if (c->assumed.has_claims)
		return "the proof takes for granted that nothing else writes to what threads claim";
	if (c->phases[IR_RANK_GRID].is_used)
		return "it has barriers of the grid";
	for (uint32_t i = 0; i < c->e->ir->nloops; i++)
		if (c->e->loops[i].is_assumed)
			return "the proof takes for granted that a counter doesn't wrap";
	for (size_t i = 0; i < c->e->assumes.n; i++)
		if (c->e->assumes.v[i].index != IR_NONE)
			return "the code itself assumes something";
	return NULL;
}

static const char *why_access(const struct ev_access *x)
{
	if (x->mem->strength != RACE_WEAK || x->mem->is_volatile)
		return "it has volatile or strong accesses";
	if (x->step->call)
		return "it calls functions";
	if (x->root.kind != EV_ROOT_OBJECT && x->root.kind != EV_ROOT_PARAM)
		return "it accesses memory behind pointers that were read from memory";
	return NULL;
}

static bool is_same_site(const struct race_free_site *a, const struct race_free_site *b)
{
	return a->nth == b->nth && a->param == b->param && !strcmp(a->variable, b->variable);
}

static void add_site(struct check *c, const struct ev_access *x)
{
	struct race_free_site s = {.nth = nth_of(c->e->ir->f, x->step->at), .variable = ""};

	if (x->root.kind == EV_ROOT_PARAM) {
		s.param = x->root.id;
	} else {
		struct ptx_str name = c->e->ir->objects.v[x->root.id].name;
		s.variable = base_strndup(c->arena, name.p, name.n);
	}
	for (size_t i = 0; i < c->k->frees.n; i++)
		if (is_same_site(&s, &c->k->frees.v[i]))
			return;
	base_vec_push(&c->k->frees, s);
}

static const char *why_checked(struct check *c)
{
	const char *why = why_contract(c);

	ptx_each_stmt(c->e->ir->f, s)
	{
		if (!why && s->kind == PTX_STMT_INST)
			why = flow_why_checked(s);
	}
	for (size_t i = 0; i < c->e->accesses.n && !why; i++)
		why = c->is_open[i] ? "not every pair of its accesses is proven"
				    : why_access(&c->e->accesses.v[i]);
	if (!why && !c->k->stays_shared)
		why = "accesses to shared memory aren't proven to stay within their variables";
	return why;
}

void extents_find(struct check *c)
{
	c->k->stays_shared = shared_stays(c);
	c->k->why_checked = why_checked(c);
	c->k->is_whole = !c->k->why_checked;
	if (!c->k->is_whole)
		return;
	c->k->why_checked = "";
	for (size_t i = 0; i < c->e->accesses.n; i++)
		if (!c->e->accesses.v[i].is_shared)
			add_site(c, &c->e->accesses.v[i]);
}
