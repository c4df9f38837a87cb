/*
 * leaders.c - places that lanes share out of one addition by the first of them (order.h).
 *
 * Lanes that come together to a place in the code, or vote for it, are a mask M. The first lane of
 * M adds popc(M) to a counter, and gives what it gave back to the others by a shuffle; each adds
 * its rank, the number of lanes of M below its own: "warp-aggregated atomics". The sums differ
 * between any two lanes:
 * - activemask gives each lane that executes it with others the same mask, those lanes (PTX ISA
 *   9.7.13.5). A ballot of all lanes gives all that take part the mask of those that voted for it.
 * - A lane of M goes from there to the shuffle, on each way, before it comes to another exchange
 *   between lanes, its end, or the mask again. So the next exchange of all of them is this one, and
 *   what they get is what the first lane's operand was then: the answer that its addition gave.
 * - Ranks of two lanes of M differ and are below popc(M), and two groups' additions took numbers
 *   of their own, if nothing else writes to the counter and it doesn't come around
 *   (meet_has_own_counter).
 *
 * Misses: a leader that is always one lane, several additions to one counter, counters of 64 bits,
 * masks of labeled_partition (match), more than one ballot.
 * Costs: a walk over the code for each shuffle.
 */
#include "prove/order/order.h"

#define MAX_LEADERS 8
#define ALL_LANES   UINT32_MAX

struct leader {
	const struct ir_access *counter;
	const struct ex *guard;	    /* of a lane that has the bit of M */
	const struct ex *number[2]; /* its own, by each form of lanes_below */
};

struct leaders {
	struct leader v[MAX_LEADERS];
	uint32_t n;
};

/* What is looked at: from where the mask is made to the shuffle. */
struct hand {
	struct check *c;
	struct order_at from, to;
	const struct ex *mask; /* M */
	const struct ex *vote; /* what the lanes of M voted for; NULL: they came there */
	const struct ex *ones; /* popc(M) */
	const struct ex *rank, *below;
	bool is_by_all; /* lanes that aren't in M come to the shuffle, too */
};

/* ---- masks and lanes ------------------------------------------------------------------------- */

static const struct ex *own_lane(struct ex_pool *p)
{
	const struct ex *at = prove_ex_spec(p, EX_TID_Z);

	for (unsigned d = 2; d-- > 0;)
		at = prove_ex_bin(
			p, EX_ADD,
			prove_ex_bin(p, EX_MUL, at,
				     prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d))),
			prove_ex_spec(p, (enum prove_ex_spec)(EX_TID_X + d)));
	return prove_ex_bin(p, EX_AND, at, prove_ex_const(p, 32, 31));
}

/* How many bits of v are set, as the kernel's own instruction says it; NULL: it has none. */
static const struct ex *count_of(const struct check *c, const struct ex *v)
{
	const struct ir *ir = c->e->ir;

	for (size_t i = 0; i < ir->steps.n; i++) {
		const struct ir_step *st = &ir->steps.v[i];
		if (st->kind == IR_PURE && st->at && st->at->form->op == PTX_OP_POPC &&
		    st->w == 32 && st->src[1] == IR_NONE && ir->width.v[st->src[0]] == 32)
			return prove_ex_leaf(c->pool, EX_PURE, 32, st->imm, EX_GRID,
					     (struct ex_range){0, 32},
					     (struct ex_args){.n = 1, .a = &v});
	}
	return NULL;
}

/* Is v the number of M's first lane, where M isn't 0? */
static bool is_first(const struct hand *h, const struct ex *v)
{
	struct ex_pool *p = h->c->pool;
	const struct ex *turned = prove_ex_un(p, EX_BREV, 32, h->mask);
	const struct ex *none = prove_ex_const(p, 32, 0);

	if (v->op == EX_ITE && (v->a[0] == prove_ex_bin(p, EX_EQ, turned, none) ||
				v->a[0] == prove_ex_bin(p, EX_EQ, h->mask, none)))
		v = v->a[2];
	return v == prove_ex_un(p, EX_CLZ, 32, turned);
}

/* Does only the first lane of M keep to the condition? */
static bool is_leader(const struct hand *h, const struct ex *v)
{
	struct ex_pool *p = h->c->pool;
	const struct ex *none = prove_ex_const(p, 32, 0), *lane = own_lane(p);

	if (v == prove_ex_bin(p, EX_EQ, h->rank, none) ||
	    v == prove_ex_bin(p, EX_EQ, h->below, none))
		return true;
	return v->op == EX_EQ && ((v->a[0] == lane && is_first(h, v->a[1])) ||
				  (v->a[1] == lane && is_first(h, v->a[0])));
}

/* ---- the way to the shuffle ------------------------------------------------------------------ */

/* Do lanes wait for each other there, in another instruction than the shuffle? */
static bool is_exchange(const struct hand *h, const struct ir_step *st)
{
	const struct ir_step *to = &h->c->e->ir->steps.v[h->to.step];

	if (st->at == to->at && st->call == to->call)
		return false;
	return st->kind == IR_BARRIER || st->kind == IR_WARP_BARRIER || st->mbar ||
	       ir_is_partial(st) ||
	       ((st->kind == IR_VAR || st->kind == IR_UNKNOWN) && st->at &&
		(st->at->form->effects & PTX_EFF_CONVERGENT));
}

/* Do the steps of block b, from the first of them on, lead to the shuffle? 1: yes, -1: never, 0:
 * the block's end comes first. */
static int walk(const struct hand *h, uint32_t b, uint32_t first)
{
	const struct ir_block *x = &h->c->e->ir->blocks.v[b];

	for (uint32_t i = first; i < x->first + x->n; i++) {
		if (i == h->to.step)
			return 1;
		if (i == h->from.step || is_exchange(h, &h->c->e->ir->steps.v[i]))
			return -1;
	}
	return x->end == IR_EXIT ? -1 : 0;
}

/* Does no lane that has voted for M find that a branch's condition is so? */
static bool votes_against(const struct hand *h, const struct ex *cond, bool is_so)
{
	struct ex_pool *p = h->c->pool;
	struct order_question q = {.block = h->from.block};

	if (!h->vote || h->is_by_all)
		return false;
	q.guard = prove_ex_and(p, h->vote, is_so ? cond : prove_ex_not(p, cond));
	return q.guard->op == EX_CONST ? !q.guard->imm : order_is_never(h->c, &q);
}

/* Does each lane of M come from where M is made to the shuffle? */
static bool comes_to_shuffle(const struct hand *h)
{
	const struct ir *ir = h->c->e->ir;
	bool *seen = base_zalloc(h->c->arena, ir->blocks.n);
	BASE_VEC(uint32_t) todo = {0};
	int way = walk(h, h->from.block, h->from.step + 1);

	if (!way)
		base_vec_push(&todo, h->from.block);
	while (todo.n && way >= 0) {
		uint32_t b = todo.v[--todo.n];
		const struct ir_block *x = &ir->blocks.v[b];
		const struct ex *cond = x->end == IR_BRANCH ? h->c->e->cond[b] : NULL;
		for (uint32_t k = 0; k < x->nsucc && way >= 0; k++) {
			uint32_t s = x->succ[k];
			if (seen[s] || (cond && votes_against(h, cond, k == 0)))
				continue;
			seen[s] = true;
			way = walk(h, s, ir->blocks.v[s].first);
			if (!way)
				base_vec_push(&todo, s);
		}
	}
	base_vec_free(&todo);
	return way >= 0;
}

/* ---- what a shuffle hands on ----------------------------------------------------------------- */

/* Is a value the addition's answer in the first lane of M? */
static bool is_answer(const struct hand *h, const struct ev_assume *t, const struct ex *given)
{
	return t->mem->rmw == IR_RMW_ADD &&
	       ((given->a[1] == t->value && is_leader(h, given->a[0])) ||
		(given->a[2] == t->value && is_leader(h, prove_ex_not(h->c->pool, given->a[0]))));
}

/* Is it the only ballot of the kernel, and of all lanes? */
static bool is_only_ballot(const struct check *c, const struct ev_lanes *vote)
{
	const struct ir *ir = c->e->ir;
	const struct ex *who = vote->in[2];

	for (size_t i = 0; i < ir->steps.n; i++) {
		const struct ir_step *st = &ir->steps.v[i];
		if (i != vote->step && st->dst != IR_NONE && st->at &&
		    (st->kind == IR_VAR || st->kind == IR_UNKNOWN) &&
		    st->at->form->op == PTX_OP_VOTE_SYNC)
			return false;
	}
	return who->op == EX_CONST && who->imm == ALL_LANES;
}

static const struct ev_lanes *vote_at(const struct check *c, uint32_t step)
{
	for (size_t i = 0; i < c->e->lanes.n; i++)
		if (c->e->lanes.v[i].step == step)
			return &c->e->lanes.v[i];
	return NULL;
}

/* Where M is made: by lanes that come together, or by a vote. */
static bool find_mask(struct hand *h)
{
	struct check *c = h->c;
	const struct ex *m = h->mask;
	const struct ir_step *st;

	if (m->op != EX_VAR || m->w != 32 || m->imm >= c->e->ir->steps.n)
		return false;
	h->from = order_place(c->e->ir, (uint32_t)m->imm);
	st = &c->e->ir->steps.v[h->from.step];
	if (h->from.block == IR_NONE || st->kind != IR_VAR || !st->at ||
	    st->at->pred != PTX_NO_REG ||
	    c->e->ir->blocks.v[h->from.block].loop != c->e->ir->blocks.v[h->to.block].loop ||
	    !prove_ir_dominates(c->e->ir, h->from.block, h->to.block))
		return false;
	if (st->imm == IR_LANES_VOTE) {
		const struct ev_lanes *vote = vote_at(c, h->from.step);
		h->vote = vote ? vote->in[0] : NULL;
		return vote && is_only_ballot(c, vote);
	}
	return st->at->form->op == PTX_OP_ACTIVEMASK && !h->is_by_all;
}

/* The lanes that a shuffle names, with its segments above them: is it M, or all? */
static bool find_lanes(struct hand *h, const struct ex *lanes)
{
	struct ex_pool *p = h->c->pool;
	const struct ex *segments = prove_ex_bin(p, EX_LSHR, lanes, prove_ex_const(p, 64, 32));
	const struct ex *who = prove_ex_un(p, EX_TRUNC, 32, lanes);

	h->is_by_all = who->op == EX_CONST && who->imm == ALL_LANES;
	return segments->op == EX_CONST && segments->imm == 31 && (h->is_by_all || who == h->mask);
}

/* The lanes of M below the own one, in one of two forms: 2^lane - 1, or not -2^lane. */
static const struct ex *lanes_below(const struct hand *h, bool is_turned)
{
	struct ex_pool *p = h->c->pool;
	const struct ex *first = prove_ex_const(p, 32, is_turned ? ALL_LANES : 1);
	const struct ex *v = prove_ex_bin(p, EX_SHL, first, own_lane(p));

	v = is_turned ? prove_ex_not(p, v) : prove_ex_bin(p, EX_SUB, v, prove_ex_const(p, 32, 1));
	return prove_ex_and(p, h->mask, v);
}

/* Does the shuffle hand on what the first lane of M was given? */
static bool hands_on(struct hand *h, const struct ev_assume *t, const struct ex *const in[3])
{
	h->ones = t->step;
	if (!t->value || (in[0]->a[1] != t->value && in[0]->a[2] != t->value) ||
	    t->step->op != EX_PURE || t->step->n != 1)
		return false;
	h->mask = t->step->a[0];
	if (h->ones != count_of(h->c, h->mask) || !find_lanes(h, in[2]) || !find_mask(h) ||
	    !is_first(h, in[1]) || !comes_to_shuffle(h))
		return false;
	for (unsigned turn = 0; turn < 2; turn++) {
		h->below = lanes_below(h, turn);
		h->rank = count_of(h->c, h->below);
		if (is_answer(h, t, in[0]))
			return true;
	}
	return false;
}

static void look_at(struct check *c, struct leaders *all, const struct ev_lanes *x)
{
	struct hand h = {.c = c, .to = {x->block, x->step}};

	if (x->in[0]->op != EX_ITE || x->in[0]->w != 32)
		return;
	for (size_t i = 0; i < c->e->tickets.n && all->n < MAX_LEADERS; i++) {
		const struct ev_assume *t = &c->e->tickets.v[i];
		if (!hands_on(&h, t, x->in))
			continue;
		const struct ex *guard = c->e->guard[x->block];
		struct leader found = {.counter = t->mem, .guard = guard};
		if (h.vote)
			found.guard = prove_ex_and(c->pool, guard, h.vote);
		for (unsigned form = 0; form < 2; form++) {
			const struct ex *rank = count_of(c, lanes_below(&h, form));
			found.number[form] = prove_ex_bin(c->pool, EX_ADD, x->got, rank);
		}
		all->v[all->n++] = found;
	}
}

struct leaders *leaders_look(struct check *c)
{
	struct leaders *all = BASE_NEW(c->arena, struct leaders);

	for (size_t i = 0; i < c->e->lanes.n; i++)
		if (c->e->ir->steps.v[c->e->lanes.v[i].step].imm == IR_LANES_OF)
			look_at(c, all, &c->e->lanes.v[i]);
	return all->n ? all : NULL;
}

void leaders_hold(struct check *c, const struct leaders *all)
{
	for (uint32_t i = 0; i < all->n; i++)
		for (unsigned k = 0; k < 2; k++)
			if (meet_has_own_counter(c, all->v[i].counter))
				prove_smt_across(c->smt, all->v[i].guard, all->v[i].number[k],
						 false);
}
