/*
 * join.c - blocks that always follow each other become one (ir.h).
 *
 * Text that isn't optimised has a label at each line, and calls that are spliced in begin and end
 * blocks, so that most blocks have one way in and come from one that has one way out. All that
 * comes after costs as many blocks as there are, some of it their square. What can't be reached is
 * left out. A barrier stays the last step of its block: phases begin with blocks.
 *
 * Costs: linear in steps and blocks.
 */
#include "prove/ir.h"

#include <stdlib.h>
#include <string.h>

/* How many ways lead into each block from those that can be reached; 0: it can't be. */
static uint32_t *count_ways(const struct ir *ir)
{
	uint32_t n = (uint32_t)ir->blocks.n, top = 0;
	uint32_t *ways = base_calloc(n + 1, sizeof(*ways));
	uint32_t *stack = base_calloc(n + 1, sizeof(*stack));

	ways[0] = 1; /* the thread begins there */
	stack[top++] = 0;
	while (top) {
		const struct ir_block *b = &ir->blocks.v[stack[--top]];
		for (uint32_t k = 0; k < b->nsucc; k++)
			if (!ways[b->succ[k]]++)
				stack[top++] = b->succ[k];
	}
	free(stack);
	return ways;
}

/* The block that always follows b, and follows nothing else; or IR_NONE. */
static uint32_t follower(const struct ir *ir, uint32_t b, const uint32_t *ways)
{
	const struct ir_block *x = &ir->blocks.v[b];
	const struct ir_step *last = x->n ? &ir->steps.v[x->first + x->n - 1] : NULL;

	if (x->end != IR_JUMP || ways[x->succ[0]] != 1 || !x->succ[0] ||
	    (last && (last->kind == IR_BARRIER || last->kind == IR_WARP_BARRIER)))
		return IR_NONE;
	return x->succ[0];
}

void prove_ir_join_blocks(struct ir *ir)
{
	uint32_t n = (uint32_t)ir->blocks.n;
	uint32_t *ways = count_ways(ir), *name = base_calloc(n + 1, sizeof(*name));
	bool *is_inside = base_calloc(n + 1, sizeof(*is_inside));
	struct ir was = *ir;

	for (uint32_t b = 0; b < n; b++)
		if (ways[b] && follower(ir, b, ways) != IR_NONE)
			is_inside[ir->blocks.v[b].succ[0]] = true;
	memset(&ir->steps, 0, sizeof(ir->steps));
	memset(&ir->blocks, 0, sizeof(ir->blocks));
	for (uint32_t b = 0; b < n; b++) {
		struct ir_block x = {.first = (uint32_t)ir->steps.n};
		if (!ways[b] || is_inside[b])
			continue;
		name[b] = (uint32_t)ir->blocks.n;
		for (uint32_t k = b; k != IR_NONE; k = follower(&was, k, ways)) {
			uint32_t first = x.first;
			x = was.blocks.v[k];
			for (uint32_t i = 0; i < x.n; i++)
				base_vec_push(&ir->steps, was.steps.v[x.first + i]);
			x.first = first;
		}
		x.n = (uint32_t)ir->steps.n - x.first;
		base_vec_push(&ir->blocks, x);
	}
	for (uint32_t b = 0; b < ir->blocks.n; b++)
		for (uint32_t k = 0; k < ir->blocks.v[b].nsucc; k++)
			ir->blocks.v[b].succ[k] = name[ir->blocks.v[b].succ[k]];
	base_vec_free(&was.steps);
	base_vec_free(&was.blocks);
	free(ways);
	free(name);
	free(is_inside);
}
