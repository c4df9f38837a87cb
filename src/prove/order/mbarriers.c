/*
 * mbarriers.c - accesses of one block that mbarriers order, and bulk copies that complete on them
 * (order.h).
 *
 * A ring is one mbarrier, or an array of S that are used in turn, for numbers n = 0, 1, ...: n % S.
 * An operation in iteration k of a loop is for number k + shift: the same as the iteration's, or
 * one ahead (then the first numbers are in front of the loop), or one late (then the first
 * iterations leave it out). Each thread that takes part arrives once for a number, and no more
 * threads take part than a phase counts. A wait for number n is for phase n / S - lag: its token is
 * of the arrival in the same iteration (lag 0), or its parity is that of this phase, and the thread
 * waits so for each number up to its last (lag 0 or 1, the parity of phase -1 being 1).
 *
 * So if nothing goes wrong, what a thread does before its arrival for number i is ordered before
 * what follows a wait for number i + lag * S or a later one. Wrong could go that a thread arrives
 * twice in a phase. It doesn't where its arrival for number n surely comes after the phase before
 * is complete: where arrivals for number i, over waits and the arrivals of other rings that follow
 * these waits, lead to arrivals at the same ring for number i + S or an earlier one. The argument
 * by induction is in docs/soundness.md.
 *
 * A bulk copy ends with the phase that its issuer's arrival of the same iteration belongs to, as
 * this expects all bytes that complete there. Barriers don't order it, and an ordinary write
 * before it would need a proxy fence (docs/soundness.md, "Proxies"): neither is used.
 *
 * What is in no iteration of such a loop, but in front of it, counts as iteration 0 of one. Whether
 * one access is before another is then a number of iterations that lie between the two. The
 * numbers that are left (a stage is filled while others are read) are asked about one by one.
 *
 * Nothing of this rests on what memory holds: the kernel sets its mbarriers up itself.
 *
 * Misses: loops within loops, what follows a loop, cp.async in front of one, arrivals of a count,
 * of other blocks; waits for other threads.
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

static bool follows(const struct op *a, const struct op *b)
{
	return a->after != IR_NONE && a->after == b->loop;
}

/* May the two be for one number? What follows a loop is for a later one than any there, or in
 * front. */
static bool is_one_number(const struct mbarriers *x, const struct op *a, const struct op *b)
{
	bool is_apart = rings_is_apart(x, a);

	if (follows(a, b) || follows(b, a) || is_apart != rings_is_apart(x, b))
		return false;
	return is_apart || (a->after != IR_NONE && a->after == b->after) ? a->shift == b->shift
									 : true;
}

/* No more threads arrive than are counted, each at one place for a number. */
static bool is_counted(struct check *c, const struct mbarriers *x, struct ring *r)
{
	uint32_t n = 0;

	if (!r->count)
		return false;
	for (uint32_t i = 0; i < x->nops; i++)
		for (uint32_t k = 0; k < i; k++) {
			struct order_who a = rings_who(&x->op[i]), b = rings_who(&x->op[k]);
			if (rings_is_arrival(x, i, r) && rings_is_arrival(x, k, r) &&
			    is_one_number(x, &x->op[i], &x->op[k]) &&
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
	uint64_t first = x->ring[o->ring].stages - (unsigned)o->shift;
	return prove_ex_bin(c->pool, EX_ULT, k, prove_ex_const(c->pool, k->w, first));
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

/* Has a thread that waits in an iteration waited in the one before, if that isn't early? Then it
 * leaves out but the last ones. */
static bool is_first_ones(struct check *c, const struct mbarriers *x, const struct op *o,
			  uint32_t fork, const struct ex *cond)
{
	const struct ex *k = rings_counter(c, o->loop);
	struct order_question q = {.guard = o->m->guard, .block = o->m->block, .is_one = true};

	q.other = c->e->guard[fork];
	q.other_block = fork;
	q.denied[1] = prove_ex_or(c->pool, cond, is_early(c, x, o));
	q.value[0] = k;
	q.value[1] = prove_ex_bin(c->pool, EX_ADD, k, prove_ex_const(c->pool, k->w, 1));
	q.are_same = true;
	return order_is_never(c, &q);
}

/* Is it of the thread alone whether it waits: in each iteration that isn't early, or in none? Or
 * till an iteration, which says nothing of those in which it doesn't. */
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
	if (o->often == cond && !cond->has_ctr && !cond->is_approx)
		return true;
	struct order_question q = {.block = fork, .denied = {cond}};
	q.guard = prove_ex_and(p, c->e->guard[fork], o->often);
	q.guard = prove_ex_and(p, q.guard, prove_ex_not(p, is_early(c, x, o)));
	if (!o->often->has_ctr && !o->often->is_approx &&
	    rings_is_always(c, o, o->often, prove_ex_const(p, 1, 1)) && order_is_never(c, &q))
		return true;
	o->often = prove_ex_const(p, 1, 0);
	return !cond->is_approx && is_first_ones(c, x, o, fork, cond);
}

static bool find_lag(struct check *c, const struct mbarriers *x, struct op *o)
{
	struct ex_pool *p = c->pool;
	const struct ex *k, *arg = o->m->arg;
	unsigned stages = x->ring[o->ring].stages;
	uint64_t first, v;

	if (!o->m->mbar->is_parity) {
		for (uint32_t i = 0; i < x->nops; i++) {
			const struct op *by = &x->op[i];
			if (!rings_is_kind(by, IR_MBAR_ARRIVE) || by->ring != o->ring ||
			    by->loop != o->loop || by->m->result != arg)
				continue;
			if ((by->shift - o->shift) % (int)stages)
				return false;
			o->shift = by->shift;
			return by->m->guard == c->e->guard[by->m->block];
		}
		return false;
	}
	arg = prove_ex_bin(p, EX_AND, arg, prove_ex_const(p, 32, 1));
	if (!rings_number_in(c, arg, o->loop, 0, &first))
		return false;
	o->lag = (int)first;
	/* a wrong one shows soon, without the solver */
	for (uint64_t n = 1; n < 2ull * stages && o->loop != IR_NONE; n++) {
		uint64_t w = (n + (uint64_t)o->shift) / stages + first;
		if (rings_number_in(c, arg, o->loop, n, &v) && v != (w & 1))
			return false;
	}
	k = rings_number(c, o, arg);
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

int rings_waited(struct check *c, const struct mbarriers *x, const struct op *o, struct order_at to,
		 const struct ex *guard)
{
	const struct ir *ir = c->e->ir;
	struct order_question q = {.guard = guard, .block = to.block};

	if (rings_is_in(c, o->spin, to.block))
		return RINGS_NEVER;
	if ((o->m->block == to.block ? o->m->index < to.step
				     : prove_ir_dominates(ir, o->m->block, to.block)) &&
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

int rings_heard(struct check *c, const struct mbarriers *x, const struct ring *r,
		struct order_at to, const struct ex *guard)
{
	int n = RINGS_NEVER;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		/* what is in front of the loop says nothing of an iteration's number */
		if (!rings_is_kind(o, IR_MBAR_WAIT) || &x->ring[o->ring] != r ||
		    (rings_is_apart(x, o) && rings_loop_of(c, x, to.block) != IR_NONE))
			continue;
		int since = rings_waited(c, x, o, to, guard);
		n = rings_least(n, rings_sum(o->lag * (int)r->stages - o->shift, since));
	}
	return n;
}

/*
 * All who arrive at y for number n know of arrivals at r up to number n - link_of(). It is no less
 * than 0: who has heard of no number yet would know of the first one otherwise.
 */
static int link_of(struct check *c, const struct mbarriers *x, const struct ring *r,
		   const struct ring *y)
{
	int most = 0;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		if (!rings_is_arrival(x, i, y))
			continue;
		int n = !r->loop_ops != !y->loop_ops ? RINGS_NEVER
			: o->after != IR_NONE	     ? rings_heard_after(c, x, r, o)
					      : rings_heard(c, x, r, rings_at(o), o->m->guard);
		n = rings_sum(n, o->shift);
		if (rings_is_apart(x, o))
			n = rings_least(n, o->shift + 1);
		most = n > most ? n : most;
	}
	return most;
}

static void close_ways(struct mbarriers *x)
{
	for (uint32_t k = 0; k < x->nrings; k++)
		for (uint32_t i = 0; i < x->nrings; i++)
			for (uint32_t j = 0; j < x->nrings && x->ring[k].is_good; j++)
				x->ring[i].follows[j] = rings_least(
					x->ring[i].follows[j],
					rings_sum(x->ring[i].follows[k], x->ring[k].follows[j]));
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

/* The arrival that expects the copy's bytes, by its thread before it, for the same number; or NULL.
 */
static const struct op *expected_by(struct check *c, const struct mbarriers *x,
				    const struct op *copy)
{
	const struct op *found = NULL;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		struct order_question q = {.guard = copy->m->guard, .block = copy->m->block};
		struct order_who a = rings_who(o), b = rings_who(copy);
		if (!rings_is_kind(o, IR_MBAR_ARRIVE) || o->ring != copy->ring || !o->m->arg ||
		    rings_is_apart(x, o) != rings_is_apart(x, copy) || o->shift != copy->shift)
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
	uint64_t sum[RINGS_MAX_OPS] = {0}; /* by arrival */

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i], *by;
		if (!rings_is_kind(o, IR_MBAR_COPY) || &x->ring[o->ring] != r)
			continue;
		by = expected_by(c, x, o);
		if (!by || !o->m->arg || o->m->arg->op != EX_CONST || by->m->arg->op != EX_CONST)
			return false;
		sum[by - x->op] += o->m->arg->imm;
		if (by->m->arg->imm < sum[by - x->op])
			return false;
	}
	return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Does the operation, in iterations, leave out the first ones, so many? */
static bool begins_at(struct check *c, const struct op *o, unsigned first)
{
	const struct ex *k = rings_counter(c, o->loop);
	const struct ex *later = prove_ex_not(
		c->pool, prove_ex_bin(c->pool, EX_ULT, k, prove_ex_const(c->pool, k->w, first)));

	return rings_is_always(c, o, later, prove_ex_const(c->pool, 1, 1));
}

/* In front of the ring's loops, for a number before theirs; arrivals in the order of numbers? */
static bool is_in_front(struct check *c, const struct mbarriers *x, const struct ring *r,
			const struct op *o)
{
	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *y = &x->op[i];
		bool is_later = !rings_is_apart(x, y) ||
				(y->shift > o->shift && !rings_is_kind(o, IR_MBAR_COPY));
		if (rings_is_arrival(x, i, r) && is_later &&
		    order_leads_to(c, rings_at(y), rings_at(o), IR_NONE))
			return false;
	}
	return o->shift < r->shift;
}

/*
 * Gives the arrivals at a ring their numbers. In loops all have one shift, of which the mbarriers
 * say only the remainder by S: where the first iterations are left out, they are late.
 */
static bool find_shift(struct check *c, struct mbarriers *x, struct ring *r)
{
	const struct op *in = NULL;
	bool has_front = false, is_late = true;

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		if (!rings_is_arrival(x, i, r))
			continue;
		if (rings_is_apart(x, o))
			has_front = true;
		if (rings_is_apart(x, o) || o->after != IR_NONE)
			continue;
		if (in && in->shift != o->shift)
			return false;
		in = o;
		is_late = is_late && o->shift && begins_at(c, o, r->stages - (unsigned)o->shift);
	}
	int was = in ? in->shift : 0;
	r->shift = in ? was : (int)r->stages;
	if (in && is_late && !has_front)
		r->shift -= (int)r->stages;
	for (uint32_t i = 0; i < x->nops; i++) {
		struct op *o = &x->op[i];
		if (&x->ring[o->ring] != r || rings_is_kind(o, IR_MBAR_WAIT))
			continue;
		if (!rings_is_apart(x, o) && o->after == IR_NONE && o->shift == was)
			o->shift = r->shift;
	}
	for (uint32_t i = 0; i < x->nops; i++) {
		struct op *o = &x->op[i];
		if (&x->ring[o->ring] != r || rings_is_kind(o, IR_MBAR_WAIT))
			continue;
		if ((rings_is_apart(x, o) && !is_in_front(c, x, r, o)) ||
		    (o->after != IR_NONE && !rings_number_after(c, x, o)))
			return false;
	}
	return true;
}

/* ---- what there is --------------------------------------------------------------------------- */

static bool find_ops(struct check *c, struct mbarriers *x)
{
	/* those in loops first, which say what rings there are */
	for (size_t i = 0; i < 2 * c->e->mbars.n; i++) {
		const struct ev_mbar *m = &c->e->mbars.v[i % c->e->mbars.n];
		struct op o = {.m = m, .after = IR_NONE};
		if (m->mbar->kind == IR_MBAR_INIT)
			continue;
		if (m->mbar->kind >= IR_MBAR_INVAL || x->nops == RINGS_MAX_OPS)
			return false;
		bool is_known = rings_find_loop(c, &o);
		if (is_known && (o.loop == IR_NONE) != (i >= c->e->mbars.n))
			continue;
		if (is_known && rings_find(c, x, &o))
			x->op[x->nops++] = o;
		else if (m->mbar->kind != IR_MBAR_WAIT)
			return false;
	}
	return x->nops > 0;
}

bool rings_has_front(struct check *c, const struct mbarriers *x, const struct op *o,
		     struct order_at to, const struct ex *guard)
{
	int n = 0;

	if (o->loop == IR_NONE || o->lag || o->shift <= 0)
		return true;
	for (uint32_t i = 0; i < x->nops && n < o->shift; i++) {
		const struct op *y = &x->op[i];
		struct order_question q = {.guard = guard, .block = to.block};
		if (!rings_is_kind(y, IR_MBAR_WAIT) || y->ring != o->ring || y->lag ||
		    !rings_is_apart(x, y) || y->shift != n ||
		    order_leads_to(c, to, rings_at(y), IR_NONE))
			continue;
		q.denied[0] = y->m->guard;
		if (!prove_ir_dominates(c->e->ir, y->m->block, to.block) && !order_is_never(c, &q))
			continue;
		n++;
		i = UINT32_MAX; /* from the first one on, for the next number */
	}
	return n == o->shift;
}

static void keep_waits(struct check *c, struct mbarriers *x)
{
	bool is_kept[RINGS_MAX_OPS];
	uint32_t n = 0;

	rings_join_tries(c, x);
	for (uint32_t i = 0; i < x->nops; i++)
		if (!rings_is_kind(&x->op[i], IR_MBAR_WAIT) || is_wait(c, x, &x->op[i]))
			x->op[n++] = x->op[i];
	x->nops = n;
	for (uint32_t i = 0; i < n; i++)
		is_kept[i] =
			!rings_is_kind(&x->op[i], IR_MBAR_WAIT) ||
			rings_has_front(c, x, &x->op[i], rings_at(&x->op[i]), x->op[i].m->guard);
	x->nops = 0;
	for (uint32_t i = 0; i < n; i++)
		if (is_kept[i])
			x->op[x->nops++] = x->op[i];
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
	for (uint32_t i = 0; i < x->nrings; i++)
		x->ring[i].is_good = find_shift(c, x, &x->ring[i]) && x->ring[i].is_good;
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
