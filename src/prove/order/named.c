/*
 * named.c - accesses of one block that a numbered barrier of some warps orders, with threads that
 * wait at it and threads that only arrive (order.h).
 *
 * Where no more threads may come to a number's barriers than these count, each once, a thread that
 * waited there goes on after all of them have come (PTX ISA 9.7.13.1). So what one of them surely
 * does before it comes is ordered before what another does after it waited: arriving and waiting
 * synchronise (8.9). They come by whole warps, since a part of a warp may count as all of it.
 *
 * Nothing of this rests on what memory holds.
 *
 * Misses: numbers and counts in registers, barriers in loops (paired.c knows two in turns).
 * Costs: some queries for each number, and one for each access and number.
 */
#include "prove/order/order.h"
#include "ptx/ptx.h"

#define MAX_STEPS 16

/* The barriers of one number. */
struct named {
	struct number {
		struct order_at at[MAX_STEPS];
		bool is_wait[MAX_STEPS]; /* or an arrival */
		uint32_t n;
		uint32_t threads; /* that they count */
		bool is_sure;
		uint8_t *joins; /* by access: 0 not asked, 1 no, 2 whoever does it comes, too */
	} number[IR_NUMBERS];
};

bool named_is_arrival(const struct ir_step *st)
{
	enum ptx_op op = st->at->form->op;

	return op == PTX_OP_BAR_ARRIVE || op == PTX_OP_BARRIER_ARRIVE;
}

static void add_step(const struct check *c, struct named *x, struct order_at at)
{
	const struct ir_step *st = &c->e->ir->steps.v[at.step];
	struct number *k = &x->number[st->imm - IR_PARTIAL];

	if (!k->n) {
		k->is_sure = true;
		k->threads = st->threads;
	}
	k->is_sure &= k->n < MAX_STEPS && st->threads && st->threads == k->threads &&
		      st->threads % 32 == 0 && c->e->ir->blocks.v[at.block].loop == IR_NONE;
	if (k->n == MAX_STEPS)
		return;
	k->at[k->n] = at;
	k->is_wait[k->n++] = !named_is_arrival(st);
}

/* The thread's number in its block. */
static const struct ex *number_of_thread(struct check *c)
{
	struct ex_pool *p = c->pool;
	const struct ex *at = prove_ex_spec(p, EX_TID_Z);

	at = prove_ex_bin(p, EX_ADD, prove_ex_bin(p, EX_MUL, at, prove_ex_spec(p, EX_NTID_Y)),
			  prove_ex_spec(p, EX_TID_Y));
	return prove_ex_bin(p, EX_ADD, prove_ex_bin(p, EX_MUL, at, prove_ex_spec(p, EX_NTID_X)),
			    prove_ex_spec(p, EX_TID_X));
}

bool named_is_among(struct check *c, const struct order_who *w, uint64_t lo, uint64_t end)
{
	struct order_question q = {.guard = w->guard, .block = w->block};
	const struct ex *n = number_of_thread(c);
	const struct ex *low = prove_ex_bin(c->pool, EX_ULT, n, prove_ex_const(c->pool, 32, lo));
	const struct ex *less = prove_ex_bin(c->pool, EX_ULT, n, prove_ex_const(c->pool, 32, end));

	q.denied[0] = prove_ex_and(c->pool, prove_ex_not(c->pool, low), less);
	return order_is_never(c, &q);
}

bool named_is_by_warps(struct check *c, const struct order_who *w)
{
	struct order_question q = {.guard = w->guard, .block = w->block, .are_two = true};

	q.warp = SMT_SAME_WARP;
	q.denied[1] = w->guard;
	return order_is_never(c, &q);
}

bool named_is_never_both(struct check *c, const struct order_who *x, const struct order_who *y)
{
	struct order_question q = {.block = x->block};

	q.guard = prove_ex_and(c->pool, x->guard, y->guard);
	return x->guard != y->guard && order_is_never(c, &q);
}

struct order_who named_who(const struct check *c, uint32_t block)
{
	return (struct order_who){c->e->guard[block], block};
}

/* Come no more threads than count, each once, by whole warps? */
static bool is_counted(struct check *c, const struct number *k)
{
	uint64_t most =
		c->pool->launch.max[0] * (uint64_t)c->pool->launch.max[1] * c->pool->launch.max[2];
	bool is_window = most <= k->threads;

	for (uint32_t i = 0; i < k->n; i++) {
		struct order_who w = named_who(c, k->at[i].block);
		if (!named_is_by_warps(c, &w))
			return false;
		for (uint32_t m = 0; m < i; m++) {
			struct order_who v = named_who(c, k->at[m].block);
			if (!named_is_never_both(c, &v, &w))
				return false;
		}
	}
	for (uint64_t lo = 0; lo < MAX_BLOCK_THREADS && !is_window; lo += 32) {
		is_window = true;
		for (uint32_t i = 0; i < k->n && is_window; i++) {
			struct order_who w = named_who(c, k->at[i].block);
			is_window = named_is_among(c, &w, lo, lo + k->threads);
		}
	}
	return is_window;
}

struct named *named_look(struct check *c)
{
	const struct ir *ir = c->e->ir;
	struct named *x = BASE_NEW(c->arena, struct named);
	bool is_any = false;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t s = b->first; s < b->first + b->n; s++) {
			const struct ir_step *st = &ir->steps.v[s];
			if (!ir_is_partial(st))
				continue;
			if (st->imm == IR_PARTIAL_ANY)
				return NULL;
			add_step(c, x, (struct order_at){ir->rpo[i], s});
			is_any = true;
		}
	}
	if (!is_any)
		return NULL;
	for (uint32_t i = 0; i < IR_NUMBERS; i++) {
		struct number *k = &x->number[i];
		k->is_sure = k->n && k->is_sure && is_counted(c, k);
		k->joins = base_zalloc(c->arena, c->e->accesses.n + 1);
	}
	return x;
}

/* Does a thread that does a come to the number's barriers, and only after it? */
static bool joins(struct check *c, const struct number *k, const struct ev_access *a)
{
	uint8_t *known = &k->joins[a - c->e->accesses.v];
	struct order_question q = {.guard = a->guard, .block = a->block};

	if (*known)
		return *known == 2;
	bool is = true;
	q.denied[0] = prove_ex_const(c->pool, 1, 0);
	for (uint32_t i = 0; i < k->n; i++) {
		is = is && !order_leads_to(c, k->at[i], order_of(a), IR_NONE);
		q.denied[0] = prove_ex_or(c->pool, q.denied[0], c->e->guard[k->at[i].block]);
	}
	is = is && order_is_never(c, &q);
	if (!c->trial.is_on)
		*known = is ? 2 : 1;
	return is;
}

static bool is_before(struct check *c, const struct number *k, const struct ev_access *a,
		      const struct ev_access *b)
{
	for (uint32_t i = 0; i < k->n; i++)
		if (k->is_wait[i] && order_comes_first(c, k->at[i], order_of(b)))
			return joins(c, k, a);
	return false;
}

bool named_order(struct check *c, const struct named *x)
{
	if (c->level.apart > RACE_LEVEL_BLOCK)
		return false;
	for (uint32_t i = 0; i < IR_NUMBERS; i++) {
		const struct number *k = &x->number[i];
		if (k->is_sure && (is_before(c, k, c->pair.a, c->pair.b) ||
				   is_before(c, k, c->pair.b, c->pair.a)))
			return true;
	}
	return false;
}
