/*
 * sync.c - barriers with numbers or made of atomics, and elect.sync (ir.h).
 *
 * cooperative_groups' grid_group::sync() is inlined even without optimisation: barrier 0, one
 * atomic operation of thread 0, a loop that reads until all blocks have come, barrier 0. It is
 * recognised by its place in CUDA's header, which .loc names, or, in optimised text, by the address
 * of the counter: that of the grid's workspace, which only the library reads. The second barrier is
 * one of the whole grid, and the accesses to the counter between the two are the library's.
 *
 * elect.sync chooses one lane of a warp, the same one for the same mask each time (PTX ISA 9.7.13):
 * an unknown function of the mask, to which the thread's lane is equal or not.
 *
 * Misses: barrier_arrive() and barrier_wait() with any access between them; grid.sync() without
 * line numbers where its counter's address goes through memory (the pairs are then potential
 * alarms, for the atomics).
 */
#define _GNU_SOURCE
#include "prove/eval.h"

#include <string.h>

#define ELECTED 0xe1ec7ull /* that function's number, among the hashes of instructions */

bool prove_ir_lower_elect(struct ir_frame *fr, const struct ptx_stmt *s)
{
	if (s->nops != 2 || s->ops[0].kind != PTX_OPND_PAIR || s->ops[0].nsub != 2)
		return false;
	uint32_t mask = prove_ir_operand(fr, &s->ops[1], 32), d = prove_ir_new_reg(fr->ir, 32);
	uint32_t warp_size = prove_ir_new_reg(fr->ir, 32);
	struct ir_step *st = prove_ir_push(fr, IR_PURE, d);
	st->w = 32;
	st->imm = ELECTED;
	st->src[0] = mask;
	prove_ir_push(fr, IR_CONST, warp_size)->imm = 32;
	d = prove_ir_value(fr, EX_UREM, 32, d, warp_size, IR_NONE);
	uint32_t is_it = prove_ir_value(fr, EX_EQ, 1, prove_ir_lane(fr), d, IR_NONE);
	if (s->ops[0].sub[0].kind == PTX_OPND_REG)
		prove_ir_write(fr, &s->ops[0].sub[0], d, false);
	if (s->ops[0].sub[1].kind == PTX_OPND_REG)
		prove_ir_write(fr, &s->ops[0].sub[1], is_it, false);
	return true;
}

static bool is_at(const struct ir *ir, const struct ir_step *st, const char *file)
{
	const struct ptx_loc *l = st->at ? ptx_near_loc(st->at) : NULL;
	size_t n = strlen(file);

	/* the barrier may be in a function of its own: where that is called counts */
	for (uint32_t c = st->call; l; c = ir->calls.v[c].outer) {
		struct ptx_str at = ptx_file_name(ir->m, l->file);
		if (at.n >= n && !memcmp(at.p + at.n - n, file, n))
			return true;
		l = c && ir->calls.v[c].at ? ptx_near_loc(ir->calls.v[c].at) : NULL;
	}
	return false;
}

static void take_way(struct ir_block *b, unsigned way)
{
	b->succ[0] = b->succ[way];
	b->nsucc = 1;
	b->end = IR_JUMP;
	b->cond = IR_NONE;
}

/* The loop between steps `from` and `to` that waits for the other blocks is over some time. */
static void leave_waiting(struct ir *ir, size_t from, size_t to)
{
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		struct ir_block *x = &ir->blocks.v[b];
		if (x->first <= from || x->first > to || x->end != IR_BRANCH)
			continue;
		for (unsigned k = 0; k < 2 && x->nsucc == 2; k++)
			if (x->succ[k] <= b)
				take_way(x, !k);
	}
}

static bool leads_to_trap(const struct ir *ir, uint32_t b)
{
	for (unsigned i = 0; i < 8 && ir->blocks.v[b].end == IR_JUMP; i++)
		b = ir->blocks.v[b].succ[0];
	return ir->blocks.v[b].end == IR_TRAP;
}

/* The step that defines each register once; NULL: none, or several do. */
static const struct ir_step **definitions(const struct ir *ir)
{
	const struct ir_step **def = BASE_NEWN(ir->arena, const struct ir_step *, ir->width.n);

	for (size_t i = 0; i < ir->steps.n; i++) {
		const struct ir_step *st = &ir->steps.v[i];
		if (st->dst != IR_NONE && ir->ndefs[st->dst] == 1)
			def[st->dst] = st;
	}
	return def;
}

#define MAX_DEPTH 24

/* Is a register made of constants and of the workspace's address alone? Counts reads of that. */
static bool is_of_workspace(const struct ir_step *const *def, uint32_t reg, unsigned depth,
			    unsigned *reads)
{
	const struct ir_step *st = reg == IR_NONE ? NULL : def[reg];

	if (!st || depth == MAX_DEPTH)
		return false;
	if (st->kind == IR_VAR) {
		++*reads;
		return st->at && st->at->nops == 2 && ptx_opnd_is_workspace(&st->at->ops[1]);
	}
	if (st->kind != IR_VALUE && st->kind != IR_COPY)
		return st->kind == IR_CONST;
	for (unsigned i = 0; i < BASE_COUNTOF(st->src); i++)
		if (st->src[i] != IR_NONE && !is_of_workspace(def, st->src[i], depth + 1, reads))
			return false;
	return true;
}

static bool is_workspace(const struct ir_step *const *def, uint32_t reg)
{
	unsigned reads = 0;

	return is_of_workspace(def, reg, 0, &reads) && reads;
}

/* grid_group::sync() traps where the launch isn't cooperative: the contract says that it is. */
static void leave_check(struct ir *ir, const struct ir_step *const *def)
{
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		struct ir_block *x = &ir->blocks.v[b];
		struct ir_step at = {.at = x->at};
		if (x->end != IR_BRANCH ||
		    (!is_at(ir, &at, "/cooperative_groups.h") && !is_workspace(def, x->cond)))
			continue;
		for (unsigned k = 0; k < 2 && x->nsucc == 2; k++)
			if (leads_to_trap(ir, x->succ[k]))
				take_way(x, !k);
	}
}

static uint32_t block_of(const struct ir *ir, size_t step)
{
	uint32_t b = 0;

	while (b + 1 < ir->blocks.n && ir->blocks.v[b + 1].first <= step)
		b++;
	return b;
}

/* Do all ways from the barrier of step `first` lead to that of step `last`, which has no other way
 * to it, and are the accesses between them to the workspace (or a parameter)? */
static bool is_closed(const struct ir *ir, const struct ir_step *const *def, size_t first,
		      size_t last)
{
	const struct ir_step *v = ir->steps.v;
	uint32_t from = block_of(ir, first), to = block_of(ir, last);

	if (v[first].pred != IR_NONE || v[last].pred != IR_NONE || v[first].threads ||
	    v[last].threads)
		return false;
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		bool is_inside = b >= from && b < to;
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++) {
			uint32_t s = ir->blocks.v[b].succ[k];
			if (is_inside != (s > from && s <= to))
				return false;
		}
		if (is_inside && !ir->blocks.v[b].nsucc)
			return false;
	}
	for (size_t i = first + 1; i < last; i++)
		if (v[i].kind == IR_UNKNOWN ||
		    (v[i].kind == IR_ACCESS && v[i].mem->space != IR_PARAM &&
		     (v[i].mem->strength == RACE_WEAK || !is_workspace(def, v[i].src[0]))))
			return false;
	return true;
}

/* Are both barriers, the atomic operation and all accesses between the two the library's? Between
 * barrier_arrive() and barrier_wait() the program's own may be, which the grid doesn't wait for. */
static bool is_library(const struct ir *ir, size_t first, size_t atomic, size_t last)
{
	static const char header[] = "cooperative_groups/details/sync.h";
	const struct ir_step *v = ir->steps.v;

	for (size_t i = first; i <= last; i++)
		if (v[i].kind == IR_ACCESS && v[i].mem->space != IR_PARAM &&
		    v[i].mem->space != IR_LOCAL && !is_at(ir, &v[i], header) &&
		    !is_at(ir, &v[i], "/cooperative_groups.h"))
			return false;
	return is_at(ir, &v[first], header) && is_at(ir, &v[atomic], header) &&
	       is_at(ir, &v[last], header);
}

/* The barrier of step `last` is one of the whole grid. */
static void make_grid_sync(struct ir *ir, const struct ir_step *const *def, size_t first,
			   size_t last)
{
	ir->steps.v[last].imm = IR_RANK_GRID;
	leave_waiting(ir, first, last);
	leave_check(ir, def);
	for (size_t k = first + 1; k < last; k++) {
		struct ir_step *x = &ir->steps.v[k];
		if (x->kind == IR_ORDER)
			x->kind = IR_NOTHING;
		if (x->kind == IR_ACCESS && x->mem->strength != RACE_WEAK)
			x->kind = x->dst == IR_NONE ? IR_NOTHING : IR_VAR;
	}
}

/* Steps in the order of the text: that is the library's own order. */
void prove_ir_find_grid_syncs(struct ir *ir)
{
	size_t first = SIZE_MAX, atomic = SIZE_MAX;
	const struct ir_step **def = NULL;

	for (size_t i = 0; i < ir->steps.n; i++) {
		const struct ir_step *st = &ir->steps.v[i];
		if (st->kind == IR_ACCESS && st->mem->kind == RACE_OP_RMW && first != SIZE_MAX &&
		    st->mem->strength == RACE_RELEASE && st->mem->scope == RACE_SCOPE_GPU)
			atomic = i;
		if (st->kind != IR_BARRIER || st->imm != IR_RANK_CTA)
			continue;
		if (atomic != SIZE_MAX && !def)
			def = definitions(ir);
		if (atomic != SIZE_MAX &&
		    (is_library(ir, first, atomic, i) || is_closed(ir, def, first, i))) {
			make_grid_sync(ir, def, first, i);
			first = SIZE_MAX;
		} else {
			first = i;
		}
		atomic = SIZE_MAX;
	}
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* The barrier that ends block b, or NULL. */
static struct ir_step *barrier_of(struct ir *ir, uint32_t b)
{
	const struct ir_block *x = &ir->blocks.v[b];
	struct ir_step *st = x->n ? &ir->steps.v[x->first + x->n - 1] : NULL;

	return st && st->kind == IR_BARRIER ? st : NULL;
}

/* Its number, or IR_NUMBERS where that isn't known. */
static uint64_t number_of(const struct ev *e, const struct ir_step *st, uint32_t b)
{
	const struct ex *v = e->arg[b];

	if (st->src[0] == IR_NONE)
		return 0;
	return v && v->op == EX_CONST && v->imm < IR_NUMBERS ? v->imm : IR_NUMBERS;
}

/* Does it wait for all threads of the CTA, whose warps count as whole ones (9.7.13.1)? */
static bool waits_for_all(const struct ir_step *st, const struct ex_launch *l)
{
	uint64_t n = (uint64_t)l->dim[0] * l->dim[1] * l->dim[2];

	return !st->threads || (n && st->threads == (n + 31) / 32 * 32);
}

/*
 * What a barrier orders is sure only where its number is known, and all that has this number waits
 * for all threads: an arrival, or a barrier of fewer, may complete it instead of a thread.
 */
void prove_ev_settle_barriers(struct ev *e)
{
	struct ir *ir = e->ir;
	bool is_partial[IR_NUMBERS + 1] = {false};

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		const struct ir_step *st = barrier_of(ir, ir->rpo[i]);
		if (st && !waits_for_all(st, &e->pool->launch))
			is_partial[number_of(e, st, ir->rpo[i])] = true;
		if (st && number_of(e, st, ir->rpo[i]) == IR_NUMBERS)
			is_partial[IR_NUMBERS] = true;
		for (uint32_t k = b->first; k < b->first + b->n; k++)
			if (ir_is_partial(&ir->steps.v[k]))
				is_partial[ir->steps.v[k].imm - IR_PARTIAL] = true;
	}
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		struct ir_step *st = barrier_of(ir, ir->rpo[i]);
		if (st && st->imm == IR_RANK_CTA &&
		    (is_partial[IR_NUMBERS] || is_partial[number_of(e, st, ir->rpo[i])])) {
			st->kind = IR_ORDER;
			st->imm = IR_PARTIAL + number_of(e, st, ir->rpo[i]);
			if (st->at->form->op == PTX_OP_BAR_RED ||
			    st->at->form->op == PTX_OP_BARRIER_RED) /* one result was assumed */
				prove_ir_problem(ir, st->at,
						 "a reduction at a barrier that isn't surely for "
						 "all threads");
		}
	}
}
