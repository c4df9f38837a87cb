/*
 * products.c - until when matrix products of a warpgroup are under way (order.h).
 *
 * A product reads its matrices up to a wgmma.wait_group for its group. The wait of one thread
 * covers the shares of all four warps (docs/soundness.md, "Matrix products of a warpgroup"), and
 * each thread of the warpgroup executes the same products and waits. So what any of them does
 * after its own wait comes after the product.
 *
 * From the product each way through the graph is followed, with the groups that were made since and
 * the iterations of the outermost loop around it: where a step is reached before a wait surely was
 * for the product, it isn't after it.
 *
 * Misses: blocks of several warpgroups, where only mbarriers and barriers say so (mbarriers_ask.c).
 * Costs: a walk over blocks, groups and iterations for each pair.
 */
#include "prove/order/order.h"

#define MOST 8u /* groups and iterations that are distinguished */

struct walk {
	const struct check *c;
	uint32_t loop, target;
	uint8_t *seen; /* by block, groups and iterations */
	BASE_VEC(uint32_t) todo;
	int most;
};

static void go(struct walk *w, uint32_t block, uint32_t groups, uint32_t behind)
{
	uint32_t k = (block * (MOST + 1) + groups) * (MOST + 1) + behind;

	if (w->seen[k] || !w->c->e->ir->blocks.v[block].is_reached)
		return;
	w->seen[k] = 1;
	base_vec_push(&w->todo, k);
}

/* From step i of a block on. */
static void follow(struct walk *w, uint32_t block, uint32_t i, uint32_t groups, uint32_t behind)
{
	const struct ir *ir = w->c->e->ir;
	const struct ir_block *b = &ir->blocks.v[block];

	for (; i < b->first + b->n; i++) {
		const struct ir_step *st = &ir->steps.v[i];
		bool is_sure = st->pred == IR_NONE && st->op == IR_GROUP_PRODUCT;
		if (st->kind == IR_WAIT && is_sure && groups > st->imm)
			return;
		if (st->kind == IR_COMMIT && is_sure && groups < MOST)
			groups++;
		if (i == w->target && (int)behind > w->most)
			w->most = (int)behind;
	}
	for (uint32_t k = 0; k < b->nsucc; k++) {
		bool is_back = w->loop != IR_NONE && b->succ[k] == ir->loops[w->loop].header &&
			       prove_ir_in_loop(&ir->loops[w->loop], block);
		go(w, b->succ[k], groups, behind + (is_back && behind < MOST));
	}
}

uint32_t order_outer_loop(const struct check *c, uint32_t block)
{
	const struct ir *ir = c->e->ir;
	uint32_t l = ir->blocks.v[block].loop;

	while (l != IR_NONE && ir->loops[l].parent != IR_NONE)
		l = ir->loops[l].parent;
	return l;
}

bool products_until(const struct check *c, const struct ev_access *a, uint32_t target, int *most)
{
	size_t n = c->e->ir->blocks.n * (size_t)(MOST + 1) * (MOST + 1);
	struct order_at at = order_place(c->e->ir, a->index);
	struct walk w = {.c = c, .target = target, .most = -1};

	w.loop = order_outer_loop(c, at.block);
	w.seen = base_zalloc(c->arena, n);
	follow(&w, at.block, at.step + 1, 0, 0);
	while (w.todo.n) {
		uint32_t k = w.todo.v[--w.todo.n], block = k / (MOST + 1) / (MOST + 1);
		follow(&w, block, c->e->ir->blocks.v[block].first, k / (MOST + 1) % (MOST + 1),
		       k % (MOST + 1));
	}
	base_vec_free(&w.todo);
	*most = w.most;
	return w.most < (int)MOST;
}

bool products_is_one(const struct ev_access *a)
{
	return a->mem->matrix != NULL;
}

/* Is it surely one warpgroup? */
static bool is_one_group(const struct check *c)
{
	const uint32_t *most = c->pool->launch.max;

	return (uint64_t)most[0] * most[1] * most[2] <= 128;
}

bool products_are_over(struct check *c, const uint8_t *counters)
{
	bool is_second = products_is_one(c->pair.b);
	const struct ev_access *a = is_second ? c->pair.b : c->pair.a;
	const struct ev_access *y = is_second ? c->pair.a : c->pair.b;
	struct order_at from = order_place(c->e->ir, a->index);
	uint32_t loop = order_outer_loop(c, from.block), header = IR_NONE;
	int later = 0, most;

	if (!products_is_one(a) || products_is_one(y) || y->is_late || !is_one_group(c) ||
	    c->level.apart > RACE_LEVEL_BLOCK || c->o->any_contents ||
	    !products_until(c, a, y->index, &most))
		return false;
	if (loop != IR_NONE && prove_ir_in_loop(&c->e->ir->loops[loop], y->block)) {
		if (counters[loop] == SMT_FREE)
			return false;
		later = (counters[loop] == SMT_SECOND_AHEAD) - (counters[loop] == SMT_FIRST_AHEAD);
		later = (is_second ? -later : later) + a->behind;
		header = c->e->ir->loops[loop].header;
	}
	return later > most && (later > 0 || (order_leads_to(c, from, order_of(y), header) &&
					      !order_leads_to(c, order_of(y), from, header)));
}
