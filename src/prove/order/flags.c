/*
 * flags.c - accesses of different blocks that a counter orders: tickets, barriers made by hand
 * (order.h).
 *
 * A counter that holds 0 before the launch and to which each block adds one at most once, by one
 * thread, says how many blocks have come. A thread that reads as many as there are blocks (the last
 * ticket, gridDim - 1, or the end of a loop that waits for gridDim) reads after all additions. So
 * what a block surely does before a fence of the thread that adds (PTX ISA 8.9: a release pattern)
 * is ordered before what lies after a fence of the thread that read (an acquire pattern). "Before"
 * and "after" are the thread's own order, or that of the block's barriers. What the reading thread
 * found out may pass through a shared variable that it alone writes, before a barrier.
 *
 * What is found rests on what the counter holds at first: the contract says so, and nothing is
 * proven with it that a check at run time would be left out for (prove_options.any_contents).
 *
 * Misses: counters that are used twice, blocks in more than one free dimension.
 * Costs: some queries for each access of a kernel that has such a counter, once.
 */
#include "prove/order/order.h"

#define MAX_WAITS 8

/* A strong read finds that all blocks have added to the counter, and a fence follows it. */
struct wait {
	const struct ev_access *counter;
	struct order_seen seen;
	bool is_ticket;		 /* the last one of all, which one block gets */
	uint8_t *before, *after; /* by access: 0 not asked, 1 no, 2 yes */
};

struct flags {
	struct wait wait[MAX_WAITS];
	uint32_t nwaits;
	const struct order_links *links;
	const struct ex *blocks; /* how many there are, of 32 bits */
};

/* ---- the counter ----------------------------------------------------------------------------- */

/* How many blocks there are, where that doesn't come around in 32 bits. */
static const struct ex *number_of_blocks(struct check *c)
{
	const uint32_t *most = c->pool->launch.max + 3;
	struct ex_pool *p = c->pool;
	const struct ex *n = prove_ex_const(p, 32, 1);
	uint64_t all = 1;

	for (unsigned d = 0; d < 3; d++) {
		if (__builtin_mul_overflow(all, most[d], &all) || all > INT32_MAX)
			return NULL;
		if (most[d] > 1)
			n = prove_ex_bin(p, EX_MUL, n,
					 prove_ex_spec(p, (enum prove_ex_spec)(EX_NCTAID_X + d)));
	}
	return n;
}

static bool is_place(const struct check *c, const struct ev_access *a)
{
	return order_is_strong(c, a) && a->off->level == EX_GRID && !a->off->has_ctr;
}

static bool is_same_place(const struct ev_access *a, const struct ev_access *b)
{
	return prove_ev_same_root(&a->root, &b->root) && a->off == b->off &&
	       a->mem->bytes == b->mem->bytes;
}

static const struct ex *fit(struct check *c, const struct ex *n, unsigned w)
{
	return w > n->w ? prove_ex_un(c->pool, EX_ZEXT, w, n) : n;
}

/* Does it count the blocks: one more by each? */
static bool counts_blocks(struct check *c, const struct flags *f, const struct ev_assume *t)
{
	const struct ex *n = fit(c, f->blocks, t->step->w);
	const struct ex *last = prove_ex_bin(c->pool, EX_SUB, n, prove_ex_const(c->pool, n->w, 1));
	struct order_question q = {
		.denied[0] = prove_ex_not(c->pool, prove_ex_bin(c->pool, EX_ULT, t->step, last))};

	if (t->mem->rmw == IR_RMW_ADD)
		return t->step->op == EX_CONST && t->step->imm == 1;
	return t->mem->rmw == IR_RMW_INC && t->step->level == EX_GRID && !t->step->has_ctr &&
	       order_is_never(c, &q);
}

static bool is_after(struct check *c, const struct flags *f, struct wait *w,
		     const struct ev_access *b)
{
	uint8_t *known = &w->after[b - c->e->accesses.v];

	if (*known)
		return *known == 2;
	bool is = order_is_after_own(c, &w->seen, b) ||
		  order_is_after_first(c, &w->seen, f->links, b);
	if (!c->trial.is_on) /* else it may rest on one more assumption */
		*known = is ? 2 : 1;
	return is;
}

static bool is_before(struct check *c, struct wait *w, const struct ev_access *a)
{
	uint8_t *known = &w->before[a - c->e->accesses.v];

	if (*known)
		return *known == 2;
	bool is = order_is_before(c, w->counter, a);
	if (!c->trial.is_on)
		*known = is ? 2 : 1;
	return is;
}

/* Do only the blocks' additions change it, until the last block has its ticket? */
static bool is_counter(struct check *c, const struct flags *f, struct wait *w)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (x == w->counter || order_is_poll(c, x) || !order_may_touch(c, w->counter, x))
			continue;
		if (!w->is_ticket || x->mem->is_async || !is_after(c, f, w, x))
			return false;
	}
	return true;
}

/* Was it that all blocks have come? No ticket is greater than the last one. */
static const struct ex *is_complete(struct check *c, const struct flags *f, bool is_ticket,
				    const struct ex *value)
{
	const struct ex *n = fit(c, f->blocks, value->w);

	if (is_ticket)
		n = prove_ex_bin(c->pool, EX_SUB, n, prove_ex_const(c->pool, n->w, 1));
	return prove_ex_not(c->pool, prove_ex_bin(c->pool, EX_ULT, value, n));
}

/* ---- what there is --------------------------------------------------------------------------- */

struct found {
	struct flags *f;
	struct wait w;
	const struct ex *value; /* what was read, where it was */
};

static void add_wait(struct check *c, struct order_at fence, void *arg)
{
	struct found *x = arg;
	struct wait w = x->w;
	size_t n = c->e->accesses.n + 1;

	if (!order_comes_first(c, order_of(w.seen.read), fence) && fence.step != w.seen.read->index)
		return;
	w.seen.fence = fence;
	w.before = base_zalloc(c->arena, n);
	w.after = base_zalloc(c->arena, n);
	w.seen.holds = is_complete(c, x->f, w.is_ticket,
				   prove_ev_leave(c->e, x->value, w.seen.read->block, fence.block));
	if (x->f->nwaits < MAX_WAITS && is_counter(c, x->f, &w))
		x->f->wait[x->f->nwaits++] = w;
}

static void find_waits(struct check *c, struct flags *f, const struct ev_assume *t)
{
	const struct ev *e = c->e;
	struct found x = {.f = f, .w.counter = order_access_of(c, t->mem)};
	const struct ev_access *counter = x.w.counter;

	if (!counter || !is_place(c, counter) || t->loop != IR_NONE || !t->step ||
	    !counts_blocks(c, f, t) || !order_is_one_thread(c, counter->guard, counter->block))
		return;
	for (size_t i = 0; i < e->accesses.n; i++) {
		const struct ev_access *read = &e->accesses.v[i];
		const struct ev_assume *poll = order_ticket_of(c, read->mem);
		if (!(read->mem->kind & RACE_OP_READ) || !is_place(c, read) ||
		    !is_same_place(read, counter))
			continue;
		x.w.seen.read = read;
		x.w.is_ticket = read == counter;
		if (!x.w.is_ticket && !order_is_poll(c, read))
			continue;
		x.value = read->mem->kind == RACE_OP_READ ? order_loaded(c, read)
			  : poll			  ? poll->value
							  : NULL;
		if (!x.value)
			continue;
		if (race_is_acquire((enum race_strength)read->mem->strength))
			add_wait(c, order_of(read), &x);
		order_each_fence(c, add_wait, &x);
	}
}

struct flags *flags_look(struct check *c, const struct order_links *links)
{
	struct flags *f = BASE_NEW(c->arena, struct flags);

	f->links = links;
	f->blocks = number_of_blocks(c);
	for (size_t i = 0; f->blocks && i < c->e->tickets.n; i++)
		find_waits(c, f, &c->e->tickets.v[i]);
	return f;
}

/* In all launches whose counter holds 0 at first: is one before and the other after, or can't two
 * blocks do both? */
static bool is_ordered_by(struct check *c, const struct flags *f, struct wait *w)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;
	bool is_a = is_after(c, f, w, a), is_b = is_after(c, f, w, b);

	return (is_a && is_b && w->is_ticket) || (is_b && is_before(c, w, a)) ||
	       (is_a && is_before(c, w, b));
}

bool flags_order(struct check *c, struct flags *f)
{
	if (c->level.apart < RACE_LEVEL_CLUSTER)
		return false;
	for (uint32_t i = 0; i < f->nwaits; i++) {
		if (!is_ordered_by(c, f, &f->wait[i]))
			continue;
		return order_assume_zero(c, f->wait[i].counter, true);
	}
	return false;
}
