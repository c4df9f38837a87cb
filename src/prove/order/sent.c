/*
 * sent.c - accesses of different blocks that a flag orders, which one block sets for another:
 * look-back, a producer and those that wait for it (order.h).
 *
 * Flags hold 0 before the launch, and each store to them puts a number of its own, not 0, by one
 * thread of a block, once. So a thread that reads such a number from a place has read what that
 * store put there. Where no two blocks do the store at one place, that was one block; and where the
 * place that is read is the one that the block of the other access stores to, whenever the two
 * accesses meet, it was that block. Then what this block surely does before a fence ahead of the
 * store (a release pattern) is ordered before what lies after a fence behind the read.
 *
 * Like a counter of blocks this rests on what memory holds at first (flags.c).
 *
 * Misses: numbers that a variable holds (rounds, packed values), flags that are lowered again, that
 * two threads of a block set or that a loop sets.
 * Costs: some queries for each pair of a kernel that has such flags.
 */
#include "prove/order/order.h"

#define MAX_SENT  8
#define MAX_READS 16

/* A number that is put, and a read after which a fence lies. */
struct sent {
	struct put {
		const struct ev_access *at;
		uint64_t n;
	} put[MAX_SENT];
	uint32_t nputs;
	struct got {
		uint32_t put; /* it saw this one's number */
		struct order_seen seen;
		const struct ex *off; /* of the flag, as seen at the fence */
	} got[MAX_READS];
	uint32_t ngot;
	const struct order_links *links;
};

/* The number that a store or an exchange puts, or NULL. */
static const struct ex *put_by(const struct check *c, const struct ev_access *a)
{
	const struct ev_assume *t = order_ticket_of(c, a->mem);

	if (a->mem->kind == RACE_OP_WRITE)
		return a->value;
	return t && t->mem->rmw == IR_RMW_EXCH ? t->step : NULL;
}

/* Is it a store of a flag, as this file knows them? Its number in *n. */
static bool is_put(struct check *c, const struct ev_access *a, uint64_t *n)
{
	const struct ex *v = put_by(c, a);

	if (!order_is_strong(c, a) || !v || v->op != EX_CONST || v->w != 8u * a->mem->bytes ||
	    !v->imm || a->off->level < EX_CTA || a->off->has_ctr ||
	    order_access_of(c, a->mem) != a || c->e->ir->blocks.v[a->block].loop != IR_NONE)
		return false;
	*n = v->imm;
	return order_is_one_thread(c, a->guard, a->block);
}

/* No two blocks store there. */
static bool is_of_one_block(struct check *c, const struct ev_access *a)
{
	struct order_question q = {.guard = a->guard, .block = a->block, .are_apart = true};

	q.other = a->guard;
	q.other_block = a->block;
	q.value[0] = q.value[1] = a->off;
	q.are_same = true;
	return order_is_never(c, &q);
}

/* All that may write to the flags of `a` puts a number of its own there. */
static bool find_puts(struct check *c, const struct ev_access *a, struct sent *s)
{
	s->nputs = 0;
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		struct put p = {.at = x};
		if (order_is_poll(c, x) || (x != a && !order_may_touch(c, a, x)))
			continue;
		if (s->nputs == MAX_SENT || x->mem->bytes != a->mem->bytes ||
		    !prove_ev_same_root(&x->root, &a->root) || !is_put(c, x, &p.n))
			return false;
		for (uint32_t k = 0; k < s->nputs; k++)
			if (s->put[k].n == p.n)
				return false;
		s->put[s->nputs++] = p;
	}
	return s->nputs > 0;
}

struct found {
	struct sent *s;
	const struct ev_access *read;
	const struct ex *value;
};

static void add_read(struct check *c, struct order_at fence, void *arg)
{
	struct found *x = arg;
	struct sent *s = x->s;
	uint32_t from = x->read->block;

	if (!order_comes_first(c, order_of(x->read), fence) && fence.step != x->read->index)
		return;
	const struct ex *v = prove_ev_leave(c->e, x->value, from, fence.block);
	for (uint32_t i = 0; i < s->nputs && s->ngot < MAX_READS; i++) {
		struct got *g = &s->got[s->ngot++];
		g->put = i;
		g->seen.read = x->read;
		g->seen.fence = fence;
		g->off = prove_ev_leave(c->e, x->read->off, from, fence.block);
		/* it isn't what was there, nor what others put */
		g->seen.holds = prove_ex_not(
			c->pool, prove_ex_bin(c->pool, EX_EQ, v, prove_ex_const(c->pool, v->w, 0)));
		for (uint32_t k = 0; k < s->nputs; k++) {
			const struct ex *n = prove_ex_const(c->pool, v->w, s->put[k].n);
			const struct ex *is = prove_ex_bin(c->pool, EX_EQ, v, n);
			if (k != i)
				g->seen.holds = prove_ex_and(c->pool, g->seen.holds,
							     prove_ex_not(c->pool, is));
		}
	}
}

static void find_reads(struct check *c, struct sent *s)
{
	const struct ev_access *flag = s->put[0].at;

	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		const struct ev_assume *t = order_ticket_of(c, x->mem);
		struct found f = {.s = s, .read = x};
		if (!order_is_poll(c, x) || !order_is_strong(c, x) ||
		    x->mem->bytes != flag->mem->bytes || !prove_ev_same_root(&x->root, &flag->root))
			continue;
		f.value = x->mem->kind == RACE_OP_READ ? order_loaded(c, x) : t->value;
		if (!f.value)
			continue;
		if (race_is_acquire((enum race_strength)x->mem->strength))
			add_read(c, order_of(x), &f);
		order_each_fence(c, add_read, &f);
	}
}

struct sent *sent_look(struct check *c, const struct order_links *links)
{
	struct sent *s = BASE_NEW(c->arena, struct sent);

	for (size_t i = 0; i < c->e->accesses.n && !s->ngot; i++) {
		const struct ev_access *a = &c->e->accesses.v[i];
		uint64_t n;
		if (is_put(c, a, &n) && find_puts(c, a, s))
			find_reads(c, s);
	}
	s->links = links;
	return s;
}

/* Whenever a in one block and b in another meet: is the flag that b's thread (or the first one of
 * its block) read the one that a's block sets? */
static bool is_its_flag(struct check *c, const struct ev_access *a, const struct ev_access *b,
			const struct put *p, const struct got *g, bool is_own)
{
	struct order_question q = {.guard = a->guard, .block = a->block, .are_apart = true};

	if (!is_own && (g->off->level < EX_CTA || g->off->has_ctr))
		return false;
	q.other = order_guard_after(c, &g->seen, b);
	q.other_block = b->block;
	q.value[0] = p->at->off;
	q.value[1] = is_own ? prove_ev_leave(c->e, g->off, g->seen.fence.block, b->block) : g->off;
	if (!is_own)
		q.other = b->guard;
	if (!c->pair.is_forced && !c->pair.slot[0]) {
		q.bytes[0] = a;
		q.bytes[1] = b;
	}
	return order_is_never(c, &q);
}

/* Is a before b, as b's thread waits for a flag of a's block? */
static bool is_before(struct check *c, const struct sent *s, const struct ev_access *a,
		      const struct ev_access *b)
{
	for (uint32_t i = 0; i < s->ngot; i++) {
		const struct got *g = &s->got[i];
		const struct put *p = &s->put[g->put];
		bool is_own = order_is_after_own(c, &g->seen, b);
		if (!is_own && !order_is_after_first(c, &g->seen, s->links, b))
			continue;
		if (is_its_flag(c, a, b, p, g, is_own) &&
		    order_is_surely_done(c, a, p->at->block) && is_of_one_block(c, p->at) &&
		    order_is_before(c, p->at, a))
			return true;
	}
	return false;
}

static bool is_put_of(const struct sent *s, const struct ev_access *a)
{
	bool is = false;

	for (uint32_t i = 0; i < s->nputs; i++)
		is |= s->put[i].at == a;
	return is;
}

/* A flag that is set while another block reads it, both as volatile: morally strong, and what the
 * flag is for. Else it would be an unordered volatile conflict. */
static bool is_signal(const struct sent *s, const struct ev_access *a, const struct ev_access *b)
{
	for (uint32_t i = 0; i < s->ngot; i++)
		if (s->got[i].seen.read == b)
			return is_put_of(s, a);
	return false;
}

bool sent_order(struct check *c, const struct sent *s)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;

	if (c->level.apart < RACE_LEVEL_CLUSTER || !s->ngot ||
	    !(is_signal(s, a, b) || is_signal(s, b, a) || is_before(c, s, a, b) ||
	      is_before(c, s, b, a)))
		return false;
	return order_assume_zero(c, s->put[0].at, false);
}
