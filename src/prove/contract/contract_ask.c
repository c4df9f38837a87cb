/*
 * contract_ask.c - can a launch, or one thread at a place, keep to the contract (check.h)?
 *
 * Small launches are tried on numbers first, as most questions have an easy example. Then the
 * solver is asked: integers first; a "yes" counts only from bit-vectors, because integers know
 * products by their bounds and order alone.
 *
 * Costs: microseconds where a small launch will do, else one or two queries.
 */
#include "prove/check.h"

/* ---- the solver ------------------------------------------------------------------------- */

static void hold_assumes(struct contract *c, const struct contract_question *q, unsigned t)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->assumes.n && !q->use_none; i++) {
		const struct ev_assume *as = &e->assumes.v[i];
		if ((q->is_out && q->is_out[i]) || as->kind != IR_ASSUME_FACT)
			continue;
		if (q->is_launch || as->loop == IR_NONE ||
		    prove_ir_in_loop(&e->ir->loops[as->loop], q->block))
			prove_smt_assert(c->smt, as->fact, t);
	}
}

/* Thread 0 is the launch's first, thread 1 its last; a block has at most 1024 threads. */
static void hold_launch(struct contract *c)
{
	struct ex_pool *p = c->e->pool;
	const struct ex *n = prove_ex_const(p, 32, 1);

	for (unsigned d = 0; d < 3; d++) {
		const struct ex *size = prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d));
		const struct ex *grid = prove_ex_spec(p, (enum prove_ex_spec)(EX_NCTAID_X + d));
		const struct ex *x = prove_ex_spec(p, (enum prove_ex_spec)(EX_TID_X + d));
		const struct ex *y = prove_ex_spec(p, (enum prove_ex_spec)(EX_CTAID_X + d));
		const struct ex *one = prove_ex_const(p, 32, 1), *zero = prove_ex_const(p, 32, 0);
		n = prove_ex_bin(p, EX_MUL, n, size);
		prove_smt_assert(c->smt, prove_ex_bin(p, EX_EQ, x, zero), 0);
		prove_smt_assert(c->smt, prove_ex_bin(p, EX_EQ, y, zero), 0);
		prove_smt_assert(c->smt,
				 prove_ex_bin(p, EX_EQ, prove_ex_bin(p, EX_ADD, x, one), size), 1);
		prove_smt_assert(c->smt,
				 prove_ex_bin(p, EX_EQ, prove_ex_bin(p, EX_ADD, y, one), grid), 1);
	}
	prove_smt_assert(c->smt,
			 prove_ex_bin(p, EX_ULT, n, prove_ex_const(p, 32, MAX_BLOCK_THREADS + 1)),
			 0);
}

static enum smt_answer ask_once(struct contract *c, const struct contract_question *q,
				bool use_bits)
{
	struct smt_query sq = {.is_alone = true, .use_bits = use_bits, .is_exact = true};

	if (!check_limit(&sq, CHECK_QUERY, c->deadline))
		return SMT_GAVE_UP;
	sq.counters = base_zalloc(c->arena, c->e->ir->nloops + 1);
	c->counts->queries++;
	prove_smt_begin(c->smt, &sq);
	hold_assumes(c, q, 0);
	if (q->is_launch) {
		hold_assumes(c, q, 1);
		hold_launch(c);
	} else {
		uint32_t l = c->e->ir->blocks.v[q->block].loop;
		prove_smt_assert(c->smt, q->guard, 0);
		if (q->holds)
			prove_smt_assert(c->smt, q->holds, 0);
		for (; l != IR_NONE; l = c->e->ir->loops[l].parent)
			prove_smt_in_loop(c->smt, l, 0);
	}
	return prove_smt_check(c->smt, NULL);
}

/* ---- small values, tried before the solver ----------------------------------------------- */

static bool is_kept_in(struct contract *c, const struct contract_question *q,
		       const struct ev_trial *t)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->assumes.n && !q->use_none; i++) {
		const struct ev_assume *as = &e->assumes.v[i];
		if ((q->is_out && q->is_out[i]) || as->kind != IR_ASSUME_FACT)
			continue;
		if ((q->is_launch || as->loop == IR_NONE ||
		     prove_ir_in_loop(&e->ir->loops[as->loop], q->block)) &&
		    !prove_ev_holds(t, as->fact))
			return false;
	}
	return q->is_launch ||
	       (prove_ev_holds(t, q->guard) && (!q->holds || prove_ev_holds(t, q->holds)));
}

/* A launch that the contract allows, its dimensions up to `size` where they are free; its first
 * thread, the last one, or one between. False: there is none of this size. */
static bool set_launch(const struct contract *c, struct ev_trial *t, uint32_t size, unsigned which)
{
	const struct ex_launch *l = &c->e->pool->launch;
	uint64_t threads = 1;

	for (unsigned d = 0; d < 6; d++) {
		uint32_t n = l->dim[d] ? l->dim[d] : size > l->max[d] ? l->max[d] : size;
		n = l->dim[d] || d % 3 == 0 ? n : 1;
		threads *= d < 3 ? n : 1;
		t->spec[d < 3 ? EX_NTID_X + d : EX_NCTAID_X + d - 3] = n;
		t->spec[d < 3 ? EX_TID_X + d : EX_CTAID_X + d - 3] = which * (n - 1) / 2;
	}
	return threads <= prove_launch_max_threads(c->e->ir) && threads <= MAX_BLOCK_THREADS;
}

/* With these numbers? */
static bool is_kept_by(struct contract *c, const struct contract_question *q, struct ev_trial *t)
{
	static const uint32_t sizes[] = {1, 64};
	bool is_kept[3];

	for (size_t i = 0; i < BASE_COUNTOF(sizes); i++) {
		for (unsigned which = 0; which < 3; which++) {
			if (!set_launch(c, t, sizes[i], which))
				return false;
			is_kept[which] = is_kept_in(c, q, t);
			if (!q->is_launch && is_kept[which])
				return true;
		}
		if (is_kept[0] && is_kept[2])
			return true;
	}
	return false;
}

/*
 * A launch that keeps to everything is often a small one with all parameters alike, whose threads
 * come to an access in the first iteration of its loops. Trying some takes microseconds. True:
 * there is one.
 */
static bool has_small_launch(struct contract *c, const struct contract_question *q)
{
	static const uint64_t values[] = {1, 2, 3, 16, 64, 128, 1024, 0};
	struct ev_trial t = {.e = c->e, .pin = c->pin, .npins = c->npins};

	for (size_t i = 0; i < BASE_COUNTOF(values); i++) {
		t.param = values[i];
		for (t.times = 1; t.times <= 16; t.times *= 16)
			for (t.any = 0; t.any < 2; t.any++)
				if (is_kept_by(c, q, &t))
					return true;
	}
	return false;
}

enum smt_answer prove_contract_ask(struct contract *c, const struct contract_question *q)
{
	if (has_small_launch(c, q))
		return SMT_POSSIBLE;
	enum smt_answer x = ask_once(c, q, false);

	if (x == SMT_IMPOSSIBLE) {
		c->counts->by_integers++;
		return x;
	}
	x = ask_once(c, q, true);
	if (x == SMT_GAVE_UP)
		c->counts->gave_up++;
	else
		c->counts->by_bits++;
	return x;
}
