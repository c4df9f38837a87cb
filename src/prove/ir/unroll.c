/*
 * unroll.c - loops that copy a parameter to the stack, written out (ir.h).
 *
 * A structure of more than some words that a kernel takes by value is copied to the stack by a
 * loop where nothing is optimised. Its address is the counter's, so that the evaluation would
 * forget the stack. Such a loop is one block that counts from a number to a number and loads from
 * the parameters: its steps are written one after the other, as often as it runs.
 *
 * Misses: copies of more than MAX_TURNS pieces.
 * Costs: linear in the steps that come out.
 */
#include "prove/ir.h"

#define MAX_TURNS 1024

/* The step of block b that defines register r last before step `end`, or NULL. */
static const struct ir_step *definition(const struct ir *ir, uint32_t b, uint32_t r, uint32_t end)
{
	const struct ir_block *x = &ir->blocks.v[b];

	for (uint32_t i = x->first + x->n; i-- > x->first;)
		if (i < end && ir->steps.v[i].dst == r)
			return &ir->steps.v[i];
	return NULL;
}

/* What defines *r before step `end`, through copies within the block; NULL: it is older. */
static const struct ir_step *through(const struct ir *ir, uint32_t b, uint32_t *r, uint32_t end)
{
	for (;;) {
		const struct ir_step *d = definition(ir, b, *r, end);
		if (!d || d->kind != IR_COPY)
			return d;
		*r = d->src[0];
		end = (uint32_t)(d - ir->steps.v);
	}
}

/* The number that a register of one definition has, through copies. */
static bool number_of(const struct ir *ir, uint32_t r, uint64_t *v)
{
	for (unsigned i = 0; i < 8; i++) {
		const struct ir_step *d = NULL;
		if (r == IR_NONE || ir->ndefs[r] != 1)
			return false;
		d = definition(ir, ir->def_block[r], r, UINT32_MAX);
		if (d && d->kind == IR_CONST) {
			*v = d->imm;
			return true;
		}
		if (!d || d->kind != IR_COPY)
			return false;
		r = d->src[0];
	}
	return false;
}

/* What register r is before block b is come to: the one definition outside of it, a number. */
static bool start_of(const struct ir *ir, uint32_t b, uint32_t r, uint64_t *v)
{
	const struct ir_step *found = NULL;

	for (uint32_t o = 0; o < ir->blocks.n; o++) {
		const struct ir_block *x = &ir->blocks.v[o];
		for (uint32_t i = x->first; i < x->first + x->n; i++) {
			if (ir->steps.v[i].dst != r || o == b)
				continue;
			if (found)
				return false;
			found = &ir->steps.v[i];
		}
	}
	if (!found)
		return false;
	*v = found->imm;
	return found->kind == IR_CONST ||
	       (found->kind == IR_COPY && number_of(ir, found->src[0], v));
}

/* How often the block, which jumps back to itself where its condition holds, runs; 0: not known. */
static uint64_t turns_of(const struct ir *ir, uint32_t b)
{
	const struct ir_block *x = &ir->blocks.v[b];
	uint32_t end = x->first + x->n, cond = x->cond;
	uint64_t bound, step, start;
	const struct ir_step *test = through(ir, b, &cond, end);

	if (!test || test->kind != IR_VALUE || test->op != EX_ULT || x->is_cond_not ||
	    x->succ[0] != b || !number_of(ir, test->src[1], &bound))
		return 0;
	uint32_t r = test->src[0];
	const struct ir_step *next = through(ir, b, &r, (uint32_t)(test - ir->steps.v));
	if (!next || next->kind != IR_VALUE || next->op != EX_ADD ||
	    !number_of(ir, next->src[1], &step) || !step)
		return 0;
	/* the register that the iteration began with, and that the next one gets */
	uint32_t counter = next->src[0];
	if (through(ir, b, &counter, (uint32_t)(next - ir->steps.v)))
		return 0;
	r = counter;
	if (through(ir, b, &r, end) != next || !start_of(ir, b, counter, &start) || start >= bound)
		return 0;
	return (bound - start + step - 1) / step;
}

static bool is_copy(const struct ir *ir, uint32_t b)
{
	const struct ir_block *x = &ir->blocks.v[b];
	unsigned loads = 0, stores = 0;

	if (x->end != IR_BRANCH || (x->succ[0] != b && x->succ[1] != b))
		return false;
	for (uint32_t i = x->first; i < x->first + x->n; i++) {
		const struct ir_step *st = &ir->steps.v[i];
		if (st->kind > IR_VAR && st->kind != IR_ACCESS)
			return false;
		if (st->kind != IR_ACCESS)
			continue;
		bool is_load = st->mem->kind == RACE_OP_READ && st->mem->space == IR_PARAM;
		bool is_store = st->mem->kind == RACE_OP_WRITE;
		if (st->pred != IR_NONE || (!is_load && !is_store))
			return false;
		loads += is_load;
		stores += is_store;
	}
	return loads && stores;
}

void prove_ir_unroll_copies(struct ir *ir)
{
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		uint64_t turns = is_copy(ir, b) ? turns_of(ir, b) : 0;
		struct ir_block *x = &ir->blocks.v[b];
		uint32_t first = (uint32_t)ir->steps.n;
		if (!turns || turns > MAX_TURNS)
			continue;
		for (uint64_t t = 0; t < turns; t++) {
			for (uint32_t i = 0; i < x->n; i++) {
				struct ir_step st = ir->steps.v[x->first + i];
				base_vec_push(&ir->steps, st);
			}
		}
		x->first = first;
		x->n *= (uint32_t)turns;
		x->end = IR_JUMP;
		x->cond = IR_NONE;
		x->succ[0] = x->succ[1];
		x->nsucc = 1;
	}
}
