/*
 * places.c - two accesses of one block of known size, by all places that its threads touch.
 *
 * Where an offset is a function of threadIdx and of loops' counters that have bounds, it is
 * computed for each thread and iteration, under those terms of the access's condition that are
 * such functions, too. Two accesses are apart where no two threads touch a common byte. What is
 * computed of an access is kept, so that a kernel with many accesses that the other rules don't
 * know (columns that are split by parity, swizzles) asks the solver about few of them.
 *
 * Misses: offsets with anything else in them; more than MAX_PLACES; how the two are related by
 * barriers, but for the loops in which both are in one iteration.
 * Costs: some nanoseconds for each node of an offset and each place, once for each access.
 */
#include "prove/check.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PLACES  16384
#define MAX_NODES   256
#define MAX_LOOPS   3
#define MAX_TURNS   64
#define MAX_THREADS 1024
#define MAX_MEETING (1u << 18)

struct place {
	uint32_t off;
	uint16_t thread;
	uint8_t turn[MAX_LOOPS];
};

struct places {
	bool is_known;
	uint32_t n, nloops;
	uint32_t loop[MAX_LOOPS]; /* what `turn` counts */
	struct place *v;	  /* by offset */
};

/* The nodes of some expressions, each after its arguments, with their values for one place. */
struct program {
	uint32_t n;
	const struct ex *node[MAX_NODES];
	uint16_t arg[MAX_NODES][3];
	uint64_t value[MAX_NODES];
	uint32_t nloops, loop[MAX_LOOPS];
};

static uint32_t find_node(const struct program *g, const struct ex *v)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->node[i] == v)
			return i;
	return IR_NONE;
}

static bool note_loop(struct program *g, const struct check *c, uint32_t loop)
{
	for (uint32_t i = 0; i < g->nloops; i++)
		if (g->loop[i] == loop)
			return true;
	if (g->nloops == MAX_LOOPS || c->e->loops[loop].last >= MAX_TURNS)
		return false;
	g->loop[g->nloops++] = loop;
	return true;
}

/* Adds v. False: it isn't a function of thread and counters, or is too large. */
static bool add_node(struct program *g, const struct check *c, const struct ex *v)
{
	if (find_node(g, v) != IR_NONE)
		return true;
	bool is_thread = v->op == EX_SPEC && v->imm <= EX_TID_Z;
	bool is_counter = v->op == EX_CTR && note_loop(g, c, (uint32_t)v->imm);
	if (v->n > 3 || (v->op < EX_ADD && v->op != EX_CONST && !is_thread && !is_counter))
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (!add_node(g, c, v->a[i]))
			return false;
	if (g->n == MAX_NODES)
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		g->arg[g->n][i] = (uint16_t)find_node(g, v->a[i]);
	g->value[g->n] = v->imm;
	g->node[g->n++] = v;
	return true;
}

/* The terms of a condition that can be computed, in term[]. Of the others nothing is known. */
static uint32_t add_terms(struct program *g, const struct check *c, const struct ex *cond,
			  uint32_t *term, uint32_t n)
{
	uint32_t nodes = g->n, loops = g->nloops;

	if (cond->op == EX_AND && cond->w == 1) {
		n = add_terms(g, c, cond->a[0], term, n);
		return add_terms(g, c, cond->a[1], term, n);
	}
	if (n < MAX_NODES && add_node(g, c, cond)) {
		term[n++] = find_node(g, cond);
	} else {
		g->n = nodes;
		g->nloops = loops;
	}
	return n;
}

/* False: a division by 0. */
static bool compute(struct program *g, const uint32_t *thread, const uint32_t *turn)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct ex *v = g->node[i];
		uint64_t x[3] = {0, 0, 0};
		for (uint32_t k = 0; k < v->n; k++)
			x[k] = g->value[g->arg[i][k]];
		if (v->op == EX_SPEC)
			g->value[i] = thread[v->imm - EX_TID_X];
		else if (v->op == EX_ITE)
			g->value[i] = x[x[0] & 1 ? 1 : 2];
		else if (v->op == EX_IND)
			g->value[i] = (x[0] + x[1] * x[2]) & prove_ex_mask(v->w);
		else if (v->op >= EX_ADD && !prove_ex_fold((enum ex_op)v->op, v->w, v->a[0]->w,
							   x[0], x[1], &g->value[i]))
			return false;
		for (uint32_t l = 0; v->op == EX_CTR && l < g->nloops; l++)
			if (g->loop[l] == v->imm)
				g->value[i] = turn[l];
	}
	return true;
}

static int by_offset(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	return a->off < b->off ? -1 : a->off > b->off;
}

/* All places of one access. False: they can't be computed. */
static bool find_places(struct check *c, const struct ev_access *a, struct places *p)
{
	const uint32_t *dim = c->pool->launch.dim;
	uint32_t threads = dim[0] * dim[1] * dim[2], term[MAX_NODES], turns = 1;
	struct program g = {.n = 0};

	if (!threads || dim[0] > MAX_THREADS || dim[1] > MAX_THREADS || dim[2] > MAX_THREADS ||
	    threads > MAX_THREADS || a->off->w != 32 || !add_node(&g, c, a->off))
		return false;
	uint32_t nterms = add_terms(&g, c, a->guard, term, 0), off = find_node(&g, a->off);
	for (uint32_t l = 0; l < g.nloops; l++)
		turns *= (uint32_t)c->e->loops[g.loop[l]].last + 1;
	if ((uint64_t)threads * turns > MAX_PLACES)
		return false;
	work_add(WORK_STEP, (uint64_t)threads * turns * (g.n + 8));
	p->v = base_alloc(c->arena, threads * turns * sizeof(*p->v));
	p->nloops = g.nloops;
	memcpy(p->loop, g.loop, sizeof(p->loop));
	for (uint32_t i = 0; i < threads * turns; i++) {
		uint32_t t = i % threads, rest = i / threads, turn[MAX_LOOPS] = {0};
		uint32_t thread[3] = {t % dim[0], t / dim[0] % dim[1], t / dim[0] / dim[1]};
		struct place x = {.thread = (uint16_t)t};
		for (uint32_t l = 0; l < g.nloops; l++) {
			uint32_t most = (uint32_t)c->e->loops[g.loop[l]].last + 1;
			turn[l] = rest % most;
			x.turn[l] = (uint8_t)turn[l];
			rest /= most;
		}
		bool is_there = true;
		if (!compute(&g, thread, turn))
			return false;
		for (uint32_t k = 0; k < nterms && is_there; k++)
			is_there = g.value[term[k]] & 1;
		x.off = (uint32_t)g.value[off];
		if (x.off > UINT32_MAX - UINT16_MAX) /* its bytes may come around */
			return false;
		if (is_there)
			p->v[p->n++] = x;
	}
	qsort(p->v, p->n, sizeof(*p->v), by_offset);
	return true;
}

static const struct places *places_of(struct check *c, const struct ev_access *a)
{
	const struct ev *e = c->e;
	size_t i = (size_t)(a - e->accesses.v);

	if (a < e->accesses.v || i >= e->accesses.n)
		return NULL;
	if (!c->places)
		c->places = BASE_NEWN(c->arena, struct places *, e->accesses.n);
	if (!c->places[i]) {
		c->places[i] = BASE_NEW(c->arena, struct places);
		c->places[i]->is_known = find_places(c, a, c->places[i]);
	}
	return c->places[i]->is_known ? c->places[i] : NULL;
}

/* May the two places be in one phase, in different threads? */
static bool may_meet(const struct check *c, const uint8_t *counters, const struct places *p,
		     const struct place *x, const struct places *q, const struct place *y)
{
	bool is_one_warp = x->thread / 32 == y->thread / 32;

	if (x->thread == y->thread || (c->level.warp == SMT_SAME_WARP && !is_one_warp) ||
	    (c->level.warp == SMT_OTHER_WARP && is_one_warp))
		return false;
	for (uint32_t i = 0; i < p->nloops; i++)
		for (uint32_t k = 0; k < q->nloops; k++)
			if (p->loop[i] == q->loop[k] && counters[p->loop[i]] == SMT_SAME &&
			    x->turn[i] != y->turn[k])
				return false;
	return true;
}

bool places_are_apart(struct check *c, const uint8_t *counters)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;
	uint32_t from = 0, met = 0;

	if (c->level.apart != RACE_LEVEL_WARP && c->level.apart != RACE_LEVEL_BLOCK)
		return false;
	const struct places *p = places_of(c, a), *q = p ? places_of(c, b) : NULL;
	if (!p || !q)
		return false;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct place *x = &p->v[i];
		while (from < q->n && q->v[from].off + b->mem->bytes <= x->off)
			from++;
		for (uint32_t k = from; k < q->n && q->v[k].off < x->off + a->mem->bytes; k++)
			if (++met > MAX_MEETING || may_meet(c, counters, p, x, q, &q->v[k]))
				return false;
	}
	work_add(WORK_STEP, p->n + q->n + met);
	return true;
}
