/*
 * surfaces.c - surfaces that a launch writes and reads (order.h).
 *
 * What a launch has written to a surface is undefined for its own surface loads, whatever orders
 * the two, in one thread, too (CUDA programming guide, "Read/Write Coherency"); a write after a
 * load is ordered as usual. So a store and a load are asked about without regard to order where
 * the store may come first: by a way from it to the load, or, in two threads, by a flag or the
 * like. In a loop that changes elements in place the load comes first in each iteration; then only
 * different iterations are asked about.
 *
 * Misses: textures (a fetch is of no array that the kernel writes, by the contract); an alarm is
 * never true.
 * Costs: a query or two for each such pair, more for those in loops.
 */
#include "prove/order/order.h"

static uint32_t loop_around_both(const struct ir *ir, uint32_t a, uint32_t b)
{
	uint32_t l = ir->blocks.v[a].loop;

	while (l != IR_NONE && !prove_ir_in_loop(&ir->loops[l], b))
		l = ir->loops[l].parent;
	return l;
}

/* Without another iteration of a loop around both? */
static bool leads_at_once(const struct check *c, const struct ev_access *store,
			  const struct ev_access *load)
{
	uint32_t l = loop_around_both(c->e->ir, store->block, load->block);
	uint32_t header = l == IR_NONE ? IR_NONE : c->e->ir->loops[l].header;

	if (store->block == load->block && store->index < load->index)
		return true;
	return load->block != header && order_leads_to(c, order_of(store), order_of(load), header);
}

/* In different iterations of loop l, and the same ones of those around it: never a common byte? */
static bool are_elsewhere(struct check *c, const struct ev_access *store,
			  const struct ev_access *load, uint32_t l, bool is_one)
{
	uint8_t *counters = base_zalloc(c->arena, c->e->ir->nloops + 1);
	struct phase_case way = {.counters = counters};
	struct order_question q = {.guard = store->guard, .block = store->block, .way = &way};

	for (uint32_t k = c->e->ir->loops[l].parent; k != IR_NONE; k = c->e->ir->loops[k].parent)
		counters[k] = SMT_SAME;
	q.other = load->guard;
	q.other_block = load->block;
	q.bytes[0] = store;
	q.bytes[1] = load;
	q.value[0] = q.value[1] = c->e->loops[l].ctr;
	q.is_one = is_one;
	q.are_two = !is_one;
	return order_is_never(c, &q);
}

/* Do all iterations access elements of their own, in one thread and in two of a block? */
static bool are_own_elements(struct check *c, const struct ev_access *store,
			     const struct ev_access *load)
{
	const struct ir *ir = c->e->ir;

	c->pair = (struct check_pair){.a = store, .b = load};
	if (!prove_quick_may_alias(c))
		return true;
	if (c->pair.is_forced || c->pair.slot[0])
		return false;
	for (uint32_t l = loop_around_both(ir, store->block, load->block); l != IR_NONE;
	     l = ir->loops[l].parent)
		if (!are_elsewhere(c, store, load, l, true) ||
		    !are_elsewhere(c, store, load, l, false))
			return false;
	return true;
}

static bool is_written_first(struct check *c, const struct ev_access *store,
			     const struct ev_access *load, bool *level)
{
	bool is_way = leads_at_once(c, store, load) ||
		      (order_leads_to(c, order_of(store), order_of(load), IR_NONE) &&
		       !are_own_elements(c, store, load));

	level[RACE_LEVEL_THREAD] = is_way;
	level[RACE_LEVEL_BLOCK] = is_way || order_has_any(c);
	level[RACE_LEVEL_GRID] = order_has_any(c) || (is_way && c->phases[IR_RANK_GRID].is_used);
	return level[RACE_LEVEL_BLOCK];
}

static void check_one(struct check *c, const struct ev_access *store, const struct ev_access *load)
{
	bool level[RACE_LEVEL_GRID + 1] = {false};
	size_t alarms = c->k->alarms.n;

	if (!is_written_first(c, store, load, level) ||
	    prove_pair_in_any_order(c, store, load, level))
		return;
	if (c->k->alarms.n == alarms)
		prove_alarm_problem(
			RACE_PROBLEM_UNPROVEN, load->step->at,
			base_printf(c->arena,
				    "a load of a surface after the launch's own store of PTX "
				    "line %u, perhaps to the same element",
				    store->step->at->line),
			c);
	prove_nothing_is_proven(c);
}

void surfaces_check(struct check *c)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->accesses.n; i++)
		for (size_t k = 0; k < e->accesses.n; k++) {
			const struct ev_access *x = &e->accesses.v[i], *y = &e->accesses.v[k];
			if (x->mem->is_surface && y->mem->is_surface &&
			    (x->mem->kind & RACE_OP_WRITE) && y->mem->kind == RACE_OP_READ)
				check_one(c, x, y);
		}
}
