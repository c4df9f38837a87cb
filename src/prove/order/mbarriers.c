/*
 * mbarriers.c - accesses of one block that mbarriers order, and bulk copies that complete on them
 * (order.h).
 *
 * A ring is one mbarrier, or an array of S that the iterations k of a loop use in turn: k % S. Each
 * thread that takes part arrives once in an iteration, and no more threads take part than a phase
 * counts. A wait in iteration k is for phase k / S - lag: its token is of the arrival in the same
 * iteration (lag 0), or its parity is that of this number, and the thread waits so in each
 * iteration (lag 0 or 1, the parity of phase -1 being 1).
 *
 * So if nothing goes wrong, what a thread does before its arrival in iteration i is ordered before
 * what follows a wait in iteration i + lag * S or a later one. Wrong could go that a thread arrives
 * twice in a phase. It doesn't where its arrival in iteration k surely comes after the phase before
 * is complete: where arrivals in iteration i, over waits and the arrivals of other rings that
 * follow these waits, lead to arrivals at the same ring in iteration i + S or an earlier one. The
 * argument by induction is in docs/soundness.md.
 *
 * A bulk copy ends with the phase that its issuer's arrival of the same iteration belongs to, as
 * this expects all bytes that complete there. Barriers don't order it, and an ordinary write
 * before it would need a proxy fence (docs/soundness.md, "Proxies"): neither is used.
 *
 * Whether one access is before another is then a number of iterations that lie between the two. The
 * numbers that are left (a stage is filled while others are read) are asked about one by one.
 *
 * Nothing of this rests on what memory holds: the kernel sets its mbarriers up itself.
 *
 * Misses: loops within loops, the first iterations written in front of a loop, what follows a loop,
 * arrivals of a count, of other blocks and of cp.async; waits for other threads.
 * Costs: some queries for each operation, and some for each pair.
 */
#include "prove/order/rings.h"

/* ---- who arrives ----------------------------------------------------------------------------- */

/* Do two different threads of a block never do the two? */
bool rings_is_one_thread(struct check *c, const struct order_who *x, const struct order_who *y,
			 enum smt_warp warp)
{
	struct order_question q = {
		.guard = x->guard, .block = x->block, .are_two = true, .warp = warp};

	q.other = y->guard;
	q.other_block = y->block;
	return order_is_never(c, &q);
}

static bool are_one_thread(struct check *c, const struct mbarriers *x, const struct ring *r,
			   enum smt_warp warp)
{
	for (uint32_t i = 0; i < x->nops; i++)
		for (uint32_t k = 0; k <= i; k++) {
			struct order_who a = rings_who(&x->op[i]), b = rings_who(&x->op[k]);
			if (rings_is_arrival(x, i, r) && rings_is_arrival(x, k, r) &&
			    !rings_is_one_thread(c, &a, &b, warp))
				return false;
		}
	return true;
}

static bool are_among(struct check *c, const struct mbarriers *x, const struct ring *r, uint64_t lo,
		      uint64_t n)
{
	for (uint32_t i = 0; i < x->nops; i++) {
		struct order_who a = rings_who(&x->op[i]);
		if (rings_is_arrival(x, i, r) && !named_is_among(c, &a, lo, lo + n))
			return false;
	}
	return true;
}

static bool find_window(struct check *c, const struct mbarriers *x, struct ring *r, uint64_t n)
{
	for (r->lo = 0; r->lo < MAX_BLOCK_THREADS; r->lo += 32)
		if (are_among(c, x, r, r->lo, n))
			return true;
	return false;
}

/* No more threads arrive than are counted, each at one place. */
static bool is_counted(struct check *c, const struct mbarriers *x, struct ring *r)
{
	uint32_t n = 0;

	if (!r->count)
		return false;
	for (uint32_t i = 0; i < x->nops; i++)
		for (uint32_t k = 0; k < i; k++) {
			struct order_who a = rings_who(&x->op[i]), b = rings_who(&x->op[k]);
			if (rings_is_arrival(x, i, r) && rings_is_arrival(x, k, r) &&
			    !named_is_never_both(c, &a, &b))
				return false;
		}
	for (uint32_t i = 0; i < x->nops; i++)
		n += rings_is_arrival(x, i, r);
	if (!n)
		return false;
	r->who = are_one_thread(c, x, r, SMT_ANY_WARP) ? ONE
		 : find_window(c, x, r, r->count)      ? WINDOW
		 : r->count <= 32 && find_window(c, x, r, 32 * r->count) &&
				 are_one_thread(c, x, r, SMT_SAME_WARP)
			 ? WARPS
			 : NOT_COUNTED;
	return r->who != NOT_COUNTED;
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* In iterations that a wait may leave out, as there is nothing to wait for yet. */
static const struct ex *is_early(struct check *c, const struct mbarriers *x, const struct op *o)
{
	const struct ex *k = rings_counter(c, o->loop);

	if (!o->lag || o->loop == IR_NONE)
		return prove_ex_const(c->pool, 1, 0);
	return prove_ex_bin(c->pool, EX_ULT, k,
			    prove_ex_const(c->pool, k->w, x->ring[o->ring].stages));
}

/* The block that each iteration comes to, from which a branch leads to the wait or not. */
static uint32_t fork_of(const struct check *c, const struct op *o)
{
	const struct ir *ir = c->e->ir;
	uint32_t b = o->m->block;

	while (!prove_ir_dominates(ir, b, ir->loops[o->loop].latch))
		b = ir->blocks.v[b].idom;
	return b;
}

/* Is it of the thread alone whether it waits: in each iteration that isn't early, or in none? */
static bool find_often(struct check *c, const struct mbarriers *x, struct op *o)
{
	struct ex_pool *p = c->pool;
	const struct ex *ctr, *cond;
	uint32_t fork;

	o->often = prove_ex_const(p, 1, 1);
	if (o->loop == IR_NONE || (fork = fork_of(c, o)) == o->m->block)
		return true;
	ctr = c->e->loops[o->loop].ctr;
	cond = prove_ev_path(c->e, fork, o->m->block);
	o->often =
		prove_ex_replace(p, cond, ctr, prove_ex_const(p, ctr->w, x->ring[o->ring].stages));
	if (o->often->has_ctr || o->often->is_approx)
		return false;
	if (o->often == cond)
		return true;
	struct order_question q = {.block = fork, .denied = {cond}};
	q.guard = prove_ex_and(p, c->e->guard[fork], o->often);
	q.guard = prove_ex_and(p, q.guard, prove_ex_not(p, is_early(c, x, o)));
	return rings_is_always(c, o, o->often, prove_ex_const(p, 1, 1)) && order_is_never(c, &q);
}

static bool find_lag(struct check *c, const struct mbarriers *x, struct op *o)
{
	struct ex_pool *p = c->pool;
	const struct ex *k = rings_counter_in(c, o->m->arg, o->loop), *arg = o->m->arg;
	unsigned stages = x->ring[o->ring].stages;
	uint64_t first, v;

	if (!o->m->mbar->is_parity) {
		for (uint32_t i = 0; i < x->nops; i++)
			if (rings_is_kind(&x->op[i], IR_MBAR_ARRIVE) && x->op[i].ring == o->ring &&
			    x->op[i].loop == o->loop && x->op[i].m->result == arg)
				return x->op[i].m->guard == c->e->guard[x->op[i].m->block];
		return false;
	}
	arg = prove_ex_bin(p, EX_AND, arg, prove_ex_const(p, 32, 1));
	if (!rings_number_in(c, arg, o->loop, 0, &first))
		return false;
	o->lag = (int)first;
	/* a wrong one shows soon, without the solver */
	for (uint64_t n = 1; n < 2ull * stages && o->loop != IR_NONE; n++)
		if (rings_number_in(c, arg, o->loop, n, &v) && v != ((n / stages + first) & 1))
			return false;
	k = prove_ex_bin(p, EX_UDIV, k, prove_ex_const(p, k->w, stages));
	k = prove_ex_bin(p, EX_ADD, k, prove_ex_const(p, k->w, first));
	k = prove_ex_bin(p, EX_AND, prove_ex_un(p, EX_TRUNC, 32, k), prove_ex_const(p, 32, 1));
	return rings_is_always(c, o, arg, k);
}

/* A wait as this file knows them. What isn't, orders nothing. */
static bool is_wait(struct check *c, const struct mbarriers *x, struct op *o)
{
	return o->spin != IR_NONE && o->m->arg && o->m->result && find_lag(c, x, o) &&
	       find_often(c, x, o);
}

/*
 * A thread that comes to a place, where `guard` lets it, has waited: in the same iteration (0), the
 * one before it (1), or that isn't known.
 */
static int waited(struct check *c, const struct mbarriers *x, const struct op *o,
		  struct order_at to, const struct ex *guard)
{
	const struct ir *ir = c->e->ir;
	struct order_question q = {.guard = guard, .block = to.block};

	if (rings_is_in(c, o->spin, to.block))
		return RINGS_NEVER;
	if (o->m->block != to.block && prove_ir_dominates(ir, o->m->block, to.block) &&
	    (o->loop == IR_NONE || rings_is_in(c, o->loop, to.block)))
		return 0;
	if (!rings_is_in(c, o->loop, to.block))
		return RINGS_NEVER;
	uint32_t header = ir->loops[o->loop].header;
	q.denied[0] = prove_ex_or(c->pool, c->e->guard[o->m->block], is_early(c, x, o));
	if (order_leads_to(c, rings_at(o), to, header) &&
	    !order_leads_to(c, to, rings_at(o), header) && to.block != header &&
	    order_is_never(c, &q))
		return 0;
	q.denied[0] = o->often;
	return order_is_never(c, &q) ? 1 : RINGS_NEVER;
}

/* ---- rings that follow each other ------------------------------------------------------------ */

/* After how many iterations has a thread that comes to a place waited for arrivals at a ring? */
int rings_heard(struct check *c, const struct mbarriers *x, const struct ring *r,
		struct order_at to, const struct ex *guard)
{
	int n = RINGS_NEVER;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		if (rings_is_kind(o, IR_MBAR_WAIT) && &x->ring[o->ring] == r)
			n = rings_least(n, o->lag * (int)r->stages + waited(c, x, o, to, guard));
	}
	return n;
}

/* How many iterations later do all who arrive at y know of arrivals at r? */
static int link_of(struct check *c, const struct mbarriers *x, const struct ring *r,
		   const struct ring *y)
{
	int most = 0;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		if (!rings_is_arrival(x, i, y))
			continue;
		int n = (o->loop == IR_NONE) != !r->loop_ops
				? RINGS_NEVER
				: rings_heard(c, x, r, rings_at(o), o->m->guard);
		most = n > most ? n : most;
	}
	return most;
}

static void close_ways(struct mbarriers *x)
{
	for (uint32_t k = 0; k < x->nrings; k++)
		for (uint32_t i = 0; i < x->nrings; i++)
			for (uint32_t j = 0; j < x->nrings && x->ring[k].is_good; j++)
				x->ring[i].follows[j] =
					rings_least(x->ring[i].follows[j],
						    x->ring[i].follows[k] + x->ring[k].follows[j]);
}

/* Leaves out rings where a thread may arrive twice in a phase, till there is none. */
static void find_good(struct check *c, struct mbarriers *x)
{
	int own[RINGS_MAX][RINGS_MAX];
	bool is_less = true;

	for (uint32_t i = 0; i < x->nrings; i++)
		for (uint32_t k = 0; k < x->nrings; k++)
			own[i][k] = link_of(c, x, &x->ring[i], &x->ring[k]);
	while (is_less) {
		is_less = false;
		for (uint32_t i = 0; i < x->nrings; i++)
			for (uint32_t k = 0; k < x->nrings; k++)
				x->ring[i].follows[k] = x->ring[i].is_good && x->ring[k].is_good
								? own[i][k]
								: RINGS_NEVER;
		close_ways(x);
		for (uint32_t i = 0; i < x->nrings; i++) {
			struct ring *r = &x->ring[i];
			if (r->is_good && r->loop_ops && r->follows[i] > (int)r->stages) {
				r->is_good = false;
				is_less = true;
			}
		}
	}
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The arrival that expects the copy's bytes, by its thread before it, or NULL. */
static const struct op *expected_by(struct check *c, const struct mbarriers *x,
				    const struct op *copy)
{
	const struct op *found = NULL;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		struct order_question q = {.guard = copy->m->guard, .block = copy->m->block};
		struct order_who a = rings_who(o), b = rings_who(copy);
		if (!rings_is_kind(o, IR_MBAR_ARRIVE) || o->ring != copy->ring || !o->m->arg)
			continue;
		q.denied[0] = o->m->guard;
		if (found || o->loop != copy->loop ||
		    !order_comes_first(c, rings_at(o), rings_at(copy)) || !order_is_never(c, &q) ||
		    !rings_is_one_thread(c, &a, &b, SMT_ANY_WARP))
			return NULL;
		found = o;
	}
	return found;
}

/* Do no more bytes complete on a ring than its arrivals expect? */
static bool is_expected(struct check *c, const struct mbarriers *x, const struct ring *r)
{
	const struct op *by = NULL;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		if (!rings_is_kind(o, IR_MBAR_COPY) || &x->ring[o->ring] != r)
			continue;
		by = expected_by(c, x, o);
		if (!by || !o->m->arg || o->m->arg->op != EX_CONST)
			return false;
		sum += o->m->arg->imm;
	}
	return !by || (by->m->arg->op == EX_CONST && by->m->arg->imm >= sum);
}

/* ---- what there is --------------------------------------------------------------------------- */

static bool find_ops(struct check *c, struct mbarriers *x)
{
	for (size_t i = 0; i < c->e->mbars.n; i++) {
		const struct ev_mbar *m = &c->e->mbars.v[i];
		struct op o = {.m = m};
		if (m->mbar->kind == IR_MBAR_INIT)
			continue;
		if (m->mbar->kind >= IR_MBAR_INVAL || x->nops == RINGS_MAX_OPS)
			return false;
		if (rings_find(c, x, &o))
			x->op[x->nops++] = o;
		else if (m->mbar->kind != IR_MBAR_WAIT)
			return false;
	}
	return x->nops > 0;
}

static void keep_waits(struct check *c, struct mbarriers *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->nops; i++)
		if (!rings_is_kind(&x->op[i], IR_MBAR_WAIT) || is_wait(c, x, &x->op[i]))
			x->op[n++] = x->op[i];
	x->nops = n;
}

struct mbarriers *mbarriers_look(struct check *c)
{
	struct mbarriers *x = BASE_NEW(c->arena, struct mbarriers);

	if (!c->e->mbars.n || !c->phases[IR_RANK_CTA].is_used || !find_ops(c, x))
		return NULL;
	for (uint32_t i = 0; i < x->nrings; i++)
		x->ring[i].is_good = true;
	for (size_t i = 0; i < c->e->mbars.n; i++)
		if (c->e->mbars.v[i].mbar->kind == IR_MBAR_INIT &&
		    !rings_add_init(c, x, &c->e->mbars.v[i]))
			return NULL;
	keep_waits(c, x);
	for (uint32_t i = 0; i < x->nrings; i++) {
		struct ring *r = &x->ring[i];
		/* bytes that nothing expects may end any phase */
		if (!is_expected(c, x, r))
			return NULL;
		r->is_good = r->is_good && !(r->loop_ops && r->other_ops) && is_counted(c, x, r) &&
			     !rings_are_touched(c, r);
	}
	find_good(c, x);
	return x;
}
