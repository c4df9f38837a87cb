/*
 * mbarriers_ask.c - is one access before another, by the kernel's mbarriers (mbarriers.c)?
 *
 * Of two accesses in loops whose iterations are counted it is found from which number of iterations
 * on each is after the other. What lies between is asked about one by one. A bulk copy is asked
 * about with what its own thread accesses, too.
 *
 * Costs: a dozen of queries for each pair.
 */
#include "prove/order/rings.h"

#define MAX_APART 40 /* numbers of iterations that are asked about */

/* ---- which of two is first? ------------------------------------------------------------------ */

/* Has the thread that does a its part in the ring's phases? */
static bool takes_part(struct check *c, const struct mbarriers *x, const struct ring *r,
		       const struct order_who *a)
{
	if (r->who == WINDOW)
		return named_is_among(c, a, r->lo, r->lo + r->count);
	for (uint32_t i = 0; i < x->nops; i++) {
		struct order_who o = rings_who(&x->op[i]);
		if (rings_is_arrival(x, i, r) &&
		    !rings_is_one_thread(c, a, &o, r->who == WARPS ? SMT_SAME_WARP : SMT_ANY_WARP))
			return false;
	}
	return r->who == ONE || named_is_among(c, a, r->lo, r->lo + 32 * r->count);
}

/* Does a barrier of all lanes of a warp end the block, once in each iteration of the loop, or
 * outside of loops? */
static bool is_warp_barrier(const struct check *c, uint32_t block, uint32_t loop)
{
	const struct ir *ir = c->e->ir;
	const struct ir_block *x = &ir->blocks.v[block];
	const struct ir_step *st = x->n ? &ir->steps.v[x->first + x->n - 1] : NULL;
	const struct ex *mask = c->e->arg[block];

	return st && x->is_reached && st->kind == IR_WARP_BARRIER && st->pred == IR_NONE &&
	       x->loop == loop && mask && mask->op == EX_CONST && mask->imm == UINT32_MAX &&
	       (loop == IR_NONE || prove_ir_dominates(ir, block, ir->loops[loop].latch));
}

/* As arrives_by_warp(), before one arrival: RINGS_NEVER, or a number of iterations. */
static int by_warp_before(const struct check *c, const struct op *by, const struct ev_access *a)
{
	const struct ir *ir = c->e->ir;
	uint32_t loop = by->after != IR_NONE ? by->after : by->loop;
	uint32_t header = loop == IR_NONE ? IR_NONE : ir->loops[loop].header;
	int n = RINGS_NEVER;

	if (!rings_is_in(c, loop, a->block))
		return RINGS_NEVER;
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		struct order_at at = {b, ir->blocks.v[b].first + ir->blocks.v[b].n};
		if (b == by->m->block || !prove_ir_dominates(ir, b, by->m->block))
			continue;
		if (is_warp_barrier(c, b, loop)) {
			int late = order_leads_to(c, at, order_of(a), header);
			/* what the last iteration does after it isn't before by */
			n = late && by->after != IR_NONE ? n : rings_least(n, late);
		} else if (by->after != IR_NONE && is_warp_barrier(c, b, IR_NONE) &&
			   !order_leads_to(c, at, order_of(a), IR_NONE)) {
			n = 0;
		}
	}
	return n;
}

/*
 * One lane of each warp arrives, after a barrier of its lanes: how many iterations after a, which
 * any of them does?
 */
static int arrives_by_warp(struct check *c, const struct mbarriers *x, const struct ring *r,
			   const struct ev_access *a)
{
	struct order_who who = {a->guard, a->block};
	bool is_in = false;
	int n = 0;

	if (!c->phases[IR_RANK_WARP].is_used || c->phases[IR_RANK_WARP].mask ||
	    !named_is_among(c, &who, r->lo, r->lo + 32 * r->count))
		return RINGS_NEVER;
	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *by = &x->op[i];
		if (!rings_is_arrival(x, i, r))
			continue;
		int before =
			rings_is_kind(by, IR_MBAR_ARRIVE) ? by_warp_before(c, by, a) : RINGS_NEVER;
		if (before == RINGS_NEVER || (is_in && by->after == IR_NONE))
			return RINGS_NEVER;
		is_in |= by->after == IR_NONE;
		n = before > n ? before : n;
	}
	n += r->shift;
	return !is_in ? RINGS_NEVER : n > 0 ? n : 0;
}

/* Does a thread that does the one, in any iteration, never do the other, in any? */
static bool is_never_of(struct check *c, const struct order_who *x, const struct order_who *y)
{
	struct order_question q = {.guard = x->guard, .block = x->block, .is_one = true};

	if (!x->guard->has_ctr || !y->guard->has_ctr)
		return named_is_never_both(c, x, y);
	q.other = y->guard;
	q.other_block = y->block;
	return x->guard != y->guard && order_is_never(c, &q);
}

/* A product is over where its thread has waited for it: how many iterations later is that sure at
 * an arrival? */
static int arrives_after(struct check *c, const struct op *o, const struct ev_access *a)
{
	int most;

	if (!products_is_one(a))
		return 0;
	return products_until(c, a, o->m->index, &most) ? most + 1 : RINGS_NEVER;
}

/* Is each of the threads that do the product in one warpgroup, or warp, with one that arrives? */
static bool takes_part_by_group(struct check *c, const struct mbarriers *x, const struct ring *r,
				const struct order_who *a)
{
	uint64_t lo = 0;

	if (r->who == WARPS)
		return named_is_among(c, a, r->lo, r->lo + 32 * r->count);
	if (r->who != ONE)
		return false;
	while (lo < MAX_BLOCK_THREADS && !named_is_among(c, a, lo, lo + 128))
		lo += 128;
	for (uint32_t i = 0; i < x->nops; i++) {
		struct order_who o = rings_who(&x->op[i]);
		if (rings_is_arrival(x, i, r) && !named_is_among(c, &o, lo, lo + 128))
			return false;
	}
	return lo < MAX_BLOCK_THREADS;
}

/*
 * a in iteration k comes before its thread's arrivals at the ring for number k + arrives() and all
 * later ones, which is no less than 0. *is_outside: a is in no iteration of the loop, but before
 * all; then it is the number.
 */
static int arrives(struct check *c, const struct mbarriers *x, const struct ring *r,
		   const struct ev_access *a, bool *is_outside)
{
	struct order_who who = {a->guard, a->block};
	int most = 0, front = 0;

	*is_outside = true;
	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		struct order_who other = rings_who(o);
		if (!rings_is_arrival(x, i, r) || is_never_of(c, &who, &other))
			continue;
		/* of cp.async: what else the thread does isn't released */
		if (!rings_is_kind(o, IR_MBAR_ARRIVE))
			return RINGS_NEVER;
		if (o->after != IR_NONE) {
			if (order_leads_to(c, rings_at(o), order_of(a), IR_NONE) ||
			    arrives_after(c, o, a) > 0)
				return RINGS_NEVER;
		} else if (rings_is_apart(x, o)) {
			if (order_leads_to(c, rings_at(o), order_of(a), IR_NONE) ||
			    arrives_after(c, o, a) > 0)
				front = o->shift >= front ? o->shift + 1 : front;
		} else if (rings_is_in(c, o->loop, a->block)) {
			uint32_t header = c->e->ir->loops[o->loop].header;
			*is_outside = false;
			int n = order_leads_to(c, rings_at(o), order_of(a), header);
			int over = arrives_after(c, o, a);
			most = n > most ? n : most;
			most = over > most ? over : most;
		} else if (order_leads_to(c, rings_at(o), order_of(a), IR_NONE) ||
			   arrives_after(c, o, a) > 0) {
			return RINGS_NEVER;
		}
	}
	if (takes_part(c, x, r, &who) || (products_is_one(a) && takes_part_by_group(c, x, r, &who)))
		return *is_outside ? front : most + r->shift > 0 ? most + r->shift : 0;
	*is_outside = false;
	return r->who == WARPS ? arrives_by_warp(c, x, r, a) : RINGS_NEVER;
}

/*
 * The arrival that cp.async completes with: its thread arrives there in the same iteration, after
 * it, and nowhere else so. In a loop within it would be several copies.
 */
static const struct op *op_of_async(struct check *c, const struct mbarriers *x,
				    const struct ev_access *a)
{
	const struct ir *ir = c->e->ir;
	struct order_who who = {a->guard, a->block};
	const struct op *found = NULL;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		struct order_who other = rings_who(o);
		if (!rings_is_kind(o, IR_MBAR_ARRIVE_ASYNC) || is_never_of(c, &who, &other))
			continue;
		if (found)
			return NULL;
		found = o;
	}
	if (!found || ir->blocks.v[a->block].loop != found->loop)
		return NULL;
	struct order_question q = {.guard = a->guard, .block = a->block};
	uint32_t header = found->loop == IR_NONE ? IR_NONE : ir->loops[found->loop].header;
	q.denied[0] = found->m->guard;
	return order_leads_to(c, order_of(a), rings_at(found), header) &&
			       !order_leads_to(c, rings_at(found), order_of(a), header) &&
			       order_is_never(c, &q)
		       ? found
		       : NULL;
}

/* Which says with what number of which ring a copy completes; a bulk copy's operation is the step
 * after its accesses. */
static const struct op *op_of_copy(struct check *c, const struct mbarriers *x,
				   const struct ev_access *a)
{
	if (!a->mem->is_range)
		return op_of_async(c, x, a);

	for (uint32_t i = 0; i < x->nops; i++)
		if (rings_is_kind(&x->op[i], IR_MBAR_COPY) && x->op[i].m->step->at == a->step->at &&
		    x->op[i].m->step->call == a->step->call)
			return &x->op[i];
	return NULL;
}

/*
 * A product, a barrier of the block after the wait for it, a bulk copy: no fence of proxies is
 * needed, as the product is over. In how many iterations more does the copy surely come after such
 * a barrier, which all threads come to once in each?
 */
static int apart_by_barrier(struct check *c, const struct ev_access *a, const struct ev_access *b)
{
	const struct ir *ir = c->e->ir;
	uint32_t loop = order_outer_loop(c, b->block);
	int least = RINGS_NEVER, most;

	if (!products_is_one(a) || !b->mem->is_bulk || !c->phases[IR_RANK_CTA].is_used)
		return RINGS_NEVER;
	for (uint32_t k = 0; k < ir->blocks.n; k++) {
		const struct ir_block *x = &ir->blocks.v[k];
		struct order_at at = {k, x->first + x->n - 1};
		uint32_t end = loop == IR_NONE ? b->block : ir->loops[loop].latch;
		if (!x->is_reached || !x->n || ir->steps.v[at.step].kind != IR_BARRIER ||
		    x->loop != loop || end == IR_NONE || !prove_ir_dominates(ir, k, end) ||
		    !products_until(c, a, at.step, &most))
			continue;
		if (loop == IR_NONE) {
			if (k != b->block && most < 0 &&
			    !order_leads_to(c, at, order_of(a), IR_NONE))
				return -RINGS_NEVER;
		} else if (rings_is_in(c, loop, a->block)) {
			uint32_t header = ir->loops[loop].header;
			int over = order_leads_to(c, at, order_of(a), header);
			over = most + 1 > over ? most + 1 : over;
			least = rings_least(least,
					    over + order_leads_to(c, order_of(b), at, header));
		}
	}
	return least;
}

/* In how many iterations more is b surely after a? */
static int apart(struct check *c, const struct mbarriers *x, const struct ev_access *a,
		 const struct ev_access *b)
{
	const struct op *own = a->mem->is_bulk ? op_of_copy(c, x, a) : NULL;
	bool is_once = rings_loop_of(c, x, a->block) == IR_NONE;
	int n = apart_by_barrier(c, a, b);

	if (n == -RINGS_NEVER)
		return n;
	/* what ordinary writes change reaches a copy by a fence of proxies */
	if (b->mem->is_range && !a->mem->is_bulk && a->mem->kind != RACE_OP_READ &&
	    !(products_is_one(b) && proxies_are_fenced(c, a)))
		return RINGS_NEVER;
	for (uint32_t i = 0; i < x->nrings; i++) {
		bool is_outside = false;
		if (!x->ring[i].is_good || (a->mem->is_bulk && (!own || i != own->ring)))
			continue;
		int start = own ? own->shift : arrives(c, x, &x->ring[i], a, &is_outside);
		is_outside |= !x->ring[i].loop_ops;
		for (uint32_t k = 0; k < x->nrings && start < RINGS_NEVER; k++) {
			if (!x->ring[k].is_good)
				continue;
			int way = k == i ? 0 : x->ring[i].follows[k];
			int end = way < RINGS_NEVER
					  ? rings_heard(c, x, &x->ring[k], order_of(b), b->guard)
					  : RINGS_NEVER;
			int all = rings_sum(rings_sum(start, way), end);
			if (is_outside && all <= 0)
				return -RINGS_NEVER;
			if (!is_outside || (is_once && x->ring[i].loop_ops))
				n = rings_least(n, all);
		}
	}
	return n;
}

static bool is_same_copy(const struct ev_access *a, const struct ev_access *b)
{
	return a->step->at == b->step->at && a->step->call == b->step->call;
}

/* Where b is `more` iterations after a: can the two not meet? */
static bool is_elsewhere(struct check *c, const struct mbarriers *x, int more, bool are_two)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;
	struct order_question q = {.guard = a->guard, .block = a->block};
	const struct ex *i = rings_counter(c, rings_loop_of(c, x, a->block));
	const struct ex *k = rings_counter(c, rings_loop_of(c, x, b->block));
	const struct ex *n = prove_ex_const(c->pool, 64, (uint64_t)(more < 0 ? -more : more));

	q.are_two = are_two;
	q.is_one = !are_two;
	q.other = b->guard;
	q.other_block = b->block;
	q.value[0] = more > 0 ? prove_ex_bin(c->pool, EX_ADD, i, n) : i;
	q.value[1] = more < 0 ? prove_ex_bin(c->pool, EX_ADD, k, n) : k;
	q.are_same = true;
	q.bytes[0] = a;
	q.bytes[1] = b;
	return order_is_never(c, &q);
}

/* In no iterations at all, of one thread? */
static bool is_nowhere(struct check *c)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;
	struct order_question q = {.guard = a->guard, .block = a->block, .bytes = {a, b}};

	q.is_one = true;
	q.other = b->guard;
	q.other_block = b->block;
	return !c->pair.is_forced && !c->pair.slot[0] && order_is_never(c, &q);
}

/* Are a and b, of one thread or of two, never unordered on a common byte? */
static bool is_kept(struct check *c, const struct mbarriers *x, bool are_two)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;
	int later = apart(c, x, a, b), sooner = apart(c, x, b, a);

	if (later == -RINGS_NEVER || sooner == -RINGS_NEVER)
		return true;
	if (later == RINGS_NEVER && sooner == RINGS_NEVER)
		return false;
	/* what is in iteration 0 alone has no earlier ones beside it */
	if (rings_loop_of(c, x, a->block) == IR_NONE)
		sooner = rings_least(sooner, 1);
	if (rings_loop_of(c, x, b->block) == IR_NONE)
		later = rings_least(later, 1);
	if (later == RINGS_NEVER || sooner == RINGS_NEVER || c->pair.is_forced || c->pair.slot[0] ||
	    later + sooner > MAX_APART)
		return false;
	for (int n = 1 - sooner; n < later; n++)
		if (!(!are_two && !n && is_same_copy(a, b)) && !is_elsewhere(c, x, n, are_two))
			return false;
	return true;
}

bool mbarriers_order(struct check *c, const struct mbarriers *x)
{
	return c->level.apart <= RACE_LEVEL_BLOCK && is_kept(c, x, true);
}

/* Has the copy an alarm already, of two threads? Then one of a thread alone is no news. */
static bool has_alarm(const struct check *c, const struct ev_access *copy)
{
	for (size_t i = 0; i < c->k->alarms.n; i++)
		for (unsigned t = 0; t < 2; t++)
			if (c->k->alarms.v[i].side[t].ptx_line == copy->step->at->line)
				return true;
	return false;
}

void mbarriers_own_copies(struct check *c, const struct mbarriers *x)
{
	for (size_t i = 0; i < c->e->accesses.n; i++)
		for (size_t k = 0; k < c->e->accesses.n; k++) {
			const struct ev_access *a = &c->e->accesses.v[i], *b = &c->e->accesses.v[k];
			bool is_asked = a->mem->is_bulk && (k >= i || !b->mem->is_bulk) &&
					((a->mem->kind | b->mem->kind) & RACE_OP_WRITE);
			c->pair = (struct check_pair){.a = a, .b = b};
			bool is_once = c->e->ir->blocks.v[a->block].loop == IR_NONE;
			if (!is_asked || (is_once && is_same_copy(a, b)) ||
			    !prove_quick_may_alias(c) || has_alarm(c, a) || is_nowhere(c) ||
			    (x && is_kept(c, x, false)))
				continue;
			prove_show_own_copy(c, a, b);
			prove_alarm_problem(
				RACE_PROBLEM_UNPROVEN, b->step->at,
				base_printf(c->arena,
					    "an access while the thread's bulk copy of PTX line %u "
					    "may be under way, perhaps to the same bytes",
					    a->step->at->line),
				c);
			return;
		}
}
