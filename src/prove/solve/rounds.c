/*
 * rounds.c - loops of few iterations, one iteration after the other (check.h).
 *
 * Trees, scans, butterflies and sorts go through a loop whose number of iterations is a number. In
 * each of them what the loop carries (a stride that is doubled, a count that is halved) is a
 * number, too, or a simple function of the thread: it is computed from the start, iteration by
 * iteration. With that put in, quick.c decides. All iterations in which the two threads may be are
 * tried, as the phase says how they are related; loops around others come first. What the thread's
 * number chooses is asked about band by band (bands.c), where there are no such loops, too.
 *
 * Misses: loops whose end depends on the thread or on a parameter, or is beyond MAX_ROUNDS.
 * Costs: up to MAX_CASES questions of some microseconds.
 */
#include "prove/check.h"

#define MAX_ROUNDS 64
#define MAX_LOOPS  4
#define MAX_CARRY  12
#define MAX_CASES  3000

/* Replacements that are made in an access, in this order. */
struct put {
	const struct ex *from[MAX_LOOPS * (MAX_CARRY + 1)], *to[MAX_LOOPS * (MAX_CARRY + 1)];
	unsigned n;
};

struct rounds {
	struct check *c;
	const uint8_t *counters;
	split_fn *fn;
	uint32_t loop[MAX_LOOPS];
	unsigned nloops, cases;
	struct put put[2];
	const struct ev_access *whole[2]; /* before anything was put in */
};

/* What a loop carries, by iteration: value[n] of leaf. */
struct carried {
	const struct ex *leaf[MAX_CARRY], *next[MAX_CARRY];
	const struct ex **value[MAX_CARRY];
	unsigned n;
	unsigned rounds; /* iterations that may be reached; 0: not known, or too many */
};

static const struct ex *put_in(struct check *c, const struct put *p, const struct ex *v)
{
	for (unsigned i = 0; i < p->n; i++)
		v = prove_ex_replace(c->pool, v, p->from[i], p->to[i]);
	return v;
}

static void find_carried(struct check *c, uint32_t loop, const struct ex *v, struct carried *out);

/* Of one node: seen has a place for each. */
static void walk(struct check *c, uint32_t loop, const struct ex *v, unsigned char *seen,
		 struct carried *out)
{
	if (!v->n || seen[v->id])
		return;
	seen[v->id] = 1;
	for (uint32_t i = 0; i < v->n; i++)
		walk(c, loop, v->a[i], seen, out);
	if (v->op != EX_PHI || v->imm / c->e->ncells != loop)
		return;
	const struct ev_phi *p = c->e->phi[v->imm];
	bool is_old = p->leaf != v || p->is_null || !p->init || !p->next || p->init->w != v->w ||
		      p->next->w != v->w || out->n == MAX_CARRY;
	for (unsigned k = 0; k < out->n; k++)
		is_old |= out->leaf[k] == v;
	if (is_old)
		return;
	out->leaf[out->n] = v;
	out->next[out->n++] = p->next;
	find_carried(c, loop, p->next, out);
}

/* The values that the loop carries and v depends on; what there is no room for stays as it is. */
static void find_carried(struct check *c, uint32_t loop, const struct ex *v, struct carried *out)
{
	struct base_arena tmp = {0};

	walk(c, loop, v, base_zalloc(&tmp, v->id + 1u), out);
	base_arena_free(&tmp);
}

/* v in iteration n. */
static const struct ex *in_round(struct check *c, const struct carried *x, const struct ex *ctr,
				 const struct ex *v, unsigned n)
{
	for (unsigned k = 0; k < x->n; k++)
		v = prove_ex_replace(c->pool, v, x->leaf[k], x->value[k][n]);
	return prove_ex_replace(c->pool, v, ctr, prove_ex_const(c->pool, 64, n));
}

/* Follows the loop of one thread until it surely ends. */
static void follow(struct rounds *r, uint32_t loop, unsigned t, struct carried *x)
{
	struct check *c = r->c;
	const struct ev_loop *l = &c->e->loops[loop];
	const struct ex *back = put_in(c, &r->put[t], l->back);

	x->n = x->rounds = 0;
	find_carried(c, loop, l->back, x);
	find_carried(c, loop, r->whole[t]->off, x);
	find_carried(c, loop, r->whole[t]->guard, x);
	for (unsigned k = 0; k < x->n; k++) {
		x->value[k] = BASE_NEWN(c->arena, const struct ex *, MAX_ROUNDS + 1);
		x->value[k][0] = put_in(c, &r->put[t], c->e->phi[x->leaf[k]->imm]->init);
		x->leaf[k] = put_in(c, &r->put[t], x->leaf[k]);
		x->next[k] = put_in(c, &r->put[t], x->next[k]);
	}
	for (unsigned n = 0; n < MAX_ROUNDS; n++) {
		const struct ex *on = in_round(c, x, l->ctr, back, n);
		if (n >= l->last || (on->op == EX_CONST && !(on->imm & 1))) {
			x->rounds = n + 1;
			return;
		}
		for (unsigned k = 0; k < x->n; k++)
			x->value[k][n + 1] = in_round(c, x, l->ctr, x->next[k], n);
	}
}

static bool is_apart_from(struct rounds *r, unsigned at);

static void put_round(struct rounds *r, uint32_t loop, unsigned t, const struct carried *x,
		      unsigned n)
{
	struct put *p = &r->put[t];

	for (unsigned k = 0; k < x->n; k++) {
		p->from[p->n] = x->leaf[k];
		p->to[p->n++] = x->value[k][n];
	}
	p->from[p->n] = r->c->e->loops[loop].ctr;
	p->to[p->n++] = prove_ex_const(r->c->pool, 64, n);
}

/* The pair with what was put in; one that isn't reached then is no pair. */
static bool is_apart_so(struct rounds *r, unsigned at)
{
	struct check *c = r->c;
	struct ev_access now[2] = {*r->whole[0], *r->whole[1]};
	bool is_reached = true, is_apart;

	for (unsigned t = 0; t < 2; t++) {
		now[t].guard = put_in(c, &r->put[t], now[t].guard);
		is_reached &= now[t].guard->op != EX_CONST || (now[t].guard->imm & 1);
	}
	if (!is_reached)
		return true;
	if (at < r->nloops)
		return is_apart_from(r, at);
	if (++r->cases > MAX_CASES || prove_now_ms() >= c->deadline)
		return false;
	for (unsigned t = 0; t < 2; t++) {
		now[t].off = put_in(c, &r->put[t], now[t].off);
		now[t].whole = put_in(c, &r->put[t], now[t].whole);
	}
	c->pair.a = &now[0];
	c->pair.b = &now[1];
	is_apart = r->fn(c, r->counters) || bands_are_apart(c, r->counters, r->fn);
	c->pair.a = r->whole[0];
	c->pair.b = r->whole[1];
	return is_apart;
}

static bool is_possible(uint8_t how, unsigned x, unsigned y)
{
	return how == SMT_SAME		 ? x == y
	       : how == SMT_SECOND_AHEAD ? y == x + 1
	       : how == SMT_FIRST_AHEAD	 ? x == y + 1
					 : true;
}

static bool is_apart_from(struct rounds *r, unsigned at)
{
	const struct ir *ir = r->c->e->ir;
	uint32_t loop = r->loop[at];
	struct carried x[2];
	bool in[2] = {prove_ir_in_loop(&ir->loops[loop], r->whole[0]->block),
		      prove_ir_in_loop(&ir->loops[loop], r->whole[1]->block)};
	unsigned most[2] = {1, 1}, was[2] = {r->put[0].n, r->put[1].n};

	for (unsigned t = 0; t < 2; t++) {
		if (!in[t])
			continue;
		follow(r, loop, t, &x[t]);
		most[t] = x[t].rounds;
		if (!most[t])
			return false;
	}
	for (unsigned n = 0; n < most[0]; n++) {
		for (unsigned m = 0; m < most[1]; m++) {
			if (in[0] && in[1] && !is_possible(r->counters[loop], n, m))
				continue;
			r->put[0].n = was[0];
			r->put[1].n = was[1];
			if (in[0])
				put_round(r, loop, 0, &x[0], n);
			if (in[1])
				put_round(r, loop, 1, &x[1], m);
			bool is_apart = is_apart_so(r, at + 1);
			r->put[0].n = was[0];
			r->put[1].n = was[1];
			if (!is_apart)
				return false;
		}
	}
	return true;
}

static bool depends_on(const struct check *c, const struct ev_access *x, uint32_t loop)
{
	const struct ex *ctr = c->e->loops[loop].ctr;

	return prove_ir_in_loop(&c->e->ir->loops[loop], x->block) &&
	       (prove_ex_contains(x->off, ctr) || prove_ex_contains(x->guard, ctr));
}

bool rounds_are_apart(struct check *c, const uint8_t *counters, split_fn *fn)
{
	const struct ir *ir = c->e->ir;
	struct rounds r = {.c = c, .counters = counters, .fn = fn, .whole = {c->pair.a, c->pair.b}};

	for (uint32_t depth = 0; depth < 8; depth++) {
		for (uint32_t l = 0; l < ir->nloops; l++) {
			if (ir->loops[l].depth != depth ||
			    (!depends_on(c, c->pair.a, l) && !depends_on(c, c->pair.b, l)))
				continue;
			if (r.nloops == MAX_LOOPS)
				return false;
			r.loop[r.nloops++] = l;
		}
	}
	return (r.nloops && is_apart_from(&r, 0)) || bands_are_apart(c, counters, fn);
}
