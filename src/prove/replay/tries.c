/*
 * tries.c - small launches that are run instead of asking the solver, or after it (check.h).
 *
 * Most races happen in any launch, so a few threads with a few scalars are run first: that takes
 * microseconds where a query takes milliseconds, and the alarm names the smallest launch. Where the
 * solver's model can't be replayed (it guesses what loops and products come to), launches near to
 * it are run. Every thread of the first blocks is executed, the accesses are sorted by address, and
 * the first neighbours that overlap in one phase are replayed.
 *
 * A launch must keep to the contract: dimensions within it, and what --assume, --param and
 * --launches say true of it; what the code itself assumes the replay checks.
 *
 * Misses: with --assume='distinct(...)' nothing is tried, and neither where parts of one parameter
 * are read in several widths; pairs beyond 64 neighbours, blocks after the first 16 of a launch.
 * Costs: EAGER_STEPS steps for a kernel before the solver (some 3 ms), FIRST_STEPS (20 ms),
 * MAX_SEARCHES searches and NEAR_STEPS steps after it.
 */
#include "prove/check.h"
#include "prove/replay/replay_impl.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_STEPS  (1u << 20)
#define EAGER_STEPS  (1u << 17) /* before the solver; as many again after each race */
#define TRIAL_STEPS  (1u << 17) /* of an analysis that only a remedy is tried with */
#define NEAR_STEPS   (8u << 20)
#define LONG_ALL     (160u << 20) /* some 2 s */
#define MAX_SEARCHES 60

/* ---- any two threads of a launch --------------------------------------------------------- */

/* An access of some thread of the launch, for sorting. */
struct seen {
	uint64_t addr;
	uint32_t group, tid[3], ctaid[3]; /* group: the CTA, or 0 for the grid */
	uint32_t warp, phase, turn;
	unsigned which;
	bool is_ordered, has_ended; /* the thread ended in this phase */
};

static int by_address(const void *x, const void *y)
{
	const struct seen *a = x, *b = y;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->is_ordered != b->is_ordered) /* what nothing may order comes first */
		return a->is_ordered ? 1 : -1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

struct search {
	struct run r;
	struct thread *thread; /* the one that runs: each begins anew in it */
	BASE_VEC(struct seen) seen;
	bool is_same_cta;
};

static void search_thread(struct search *s, const uint32_t *tid, const uint32_t *ctaid,
			  uint32_t cta)
{
	struct thread *t = s->thread;
	enum ir_rank k = prove_replay_rank_of(s->r.p);

	*t = (struct thread){.events = t->events, .max_events = t->max_events};
	prove_replay_run_thread(&s->r, t, tid, ctaid, IR_RANK_CTA, UINT32_MAX);
	for (uint32_t i = 0; i < t->nevents; i++) {
		struct seen x = {.addr = t->events[i].addr, .which = t->events[i].which};
		memcpy(x.tid, tid, sizeof(x.tid));
		memcpy(x.ctaid, ctaid, sizeof(x.ctaid));
		x.group = s->is_same_cta ? cta : 0;
		x.warp = prove_replay_warp_of(s->r.m, tid);
		x.turn = t->events[i].turn;
		x.phase = t->events[i].phase[k];
		x.has_ended = !t->is_lost && !t->is_trapped && t->nbars[k] == x.phase;
		x.is_ordered =
			!s->r.p->in_any_order &&
			(s->is_same_cta ? t->events[i].order : t->events[i].order_ever) != IR_NONE;
		base_vec_push(&s->seen, x);
	}
}

/* Each thread of at most SEARCH_CTAS blocks. */
static void search_launch(struct search *s)
{
	const struct smt_model *m = s->r.m;
	uint32_t tid[3], ctaid[3], ctas = 0;

	for (ctaid[2] = 0; ctaid[2] < m->nctaid[2]; ctaid[2]++)
		for (ctaid[1] = 0; ctaid[1] < m->nctaid[1]; ctaid[1]++)
			for (ctaid[0] = 0; ctaid[0] < m->nctaid[0]; ctaid[0]++) {
				if (++ctas > (s->is_same_cta ? 1 : SEARCH_CTAS))
					return;
				for (uint32_t i = 0; i < m->ntid[0] * m->ntid[1] * m->ntid[2];
				     i++) {
					tid[0] = i % m->ntid[0];
					tid[1] = i / m->ntid[0] % m->ntid[1];
					tid[2] = i / m->ntid[0] / m->ntid[1];
					search_thread(s, tid, ctaid, ctas);
				}
			}
}

static bool is_pair(const struct search *s, const struct seen *x, const struct seen *y)
{
	const struct run *r = &s->r;
	bool same_cta = !memcmp(x->ctaid, y->ctaid, sizeof(x->ctaid));
	bool is_one = same_cta && !memcmp(x->tid, y->tid, sizeof(x->tid));

	if (!(x->which & 1) || !(y->which & 2) || same_cta != s->is_same_cta)
		return false;
	if (is_one != (r->p->level == RACE_LEVEL_THREAD))
		return false;
	if (s->is_same_cta && (r->p->level == RACE_LEVEL_WARP || r->p->is_split) &&
	    (x->warp == y->warp) != (r->p->level == RACE_LEVEL_WARP))
		return false;
	if (r->p->is_lockstep && x->turn != y->turn)
		return false;
	if (r->p->is_partial && x->addr == y->addr && r->a->mem->bytes == r->b->mem->bytes)
		return false;
	if (!r->p->in_any_order && x->phase != y->phase && !(x->has_ended && x->phase < y->phase) &&
	    !(y->has_ended && y->phase < x->phase))
		return false;
	return x->group == y->group && x->addr < y->addr + r->b->mem->bytes &&
	       y->addr < x->addr + r->a->mem->bytes;
}

/* Threads one by one, as far as barriers alone order them. */
static bool search_threads(struct ev *e, struct smt_model *m, const struct replay_pair *p,
			   struct replay_meeting *out)
{
	struct search s = {.r = {.e = e, .m = m, .p = p, .a = p->a, .b = p->b}};
	struct replay_pair quiet = *p;
	struct smt_model try = *m;
	unsigned tries = 0;
	bool found = false, is_cut = false; /* the replay had too few steps */

	memset(out, 0, sizeof(*out));
	memset(try.tid, 0, sizeof(try.tid));
	memset(try.ctaid, 0, sizeof(try.ctaid));
	s.r.m = &try;
	s.is_same_cta = p->level != RACE_LEVEL_GRID;
	quiet.watch[0] = quiet.watch[1] = NULL;
	s.r.p = &quiet;
	if (!prove_replay_is_legal(&s.r))
		return false;
	prove_replay_open(&s.r, SEARCH_STEPS);
	s.thread = prove_replay_thread(&s.r, SEARCH_EVENTS, false);
	search_launch(&s);
	if (s.seen.n)
		qsort(s.seen.v, s.seen.n, sizeof(*s.seen.v), by_address);
	/* Equal or overlapping addresses are neighbours; widths are at most 16 bytes. */
	for (size_t i = 0; i < s.seen.n && !found && !is_cut && tries < 8; i++) {
		for (size_t k = i; k-- > 0 && i - k < 64 && !found && !is_cut && tries < 8;) {
			const struct seen *x = &s.seen.v[i], *y = &s.seen.v[k];
			if (!is_pair(&s, x, y)) {
				const struct seen *t = x;
				x = y;
				y = t;
			}
			if (!is_pair(&s, x, y))
				continue;
			memcpy(try.tid[0], x->tid, sizeof(x->tid));
			memcpy(try.tid[1], y->tid, sizeof(y->tid));
			memcpy(try.ctaid[0], x->ctaid, sizeof(x->ctaid));
			memcpy(try.ctaid[1], y->ctaid, sizeof(y->ctaid));
			tries++;
			found = prove_replay_run(e, &try, p, out) == REPLAY_RACES;
			is_cut = !found && out->is_cut; /* so would the others be */
		}
	}
	if (found || is_cut)
		*m = try;
	base_vec_free(&s.seen);
	prove_replay_close(&s.r);
	return found;
}

bool prove_replay_search(struct ev *e, struct smt_model *m, const struct replay_pair *p,
			 struct replay_meeting *out)
{
	if (!p->is_copy && search_threads(e, m, p, out))
		return true;
	return (p->is_copy || e->mbars.n) && prove_replay_schedule(e, m, p, out);
}

/* ---- is it within the contract? ---------------------------------------------------------- */

/* What the options assume of every launch; the code's own assumptions are steps of the replay. */
static bool is_kept(const struct check *c, const struct smt_model *m)
{
	struct ev_trial t = prove_ev_trial_of(m, 0);

	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (!as->text && !as->param)
			continue;
		if (as->kind == IR_ASSUME_DISTINCT || as->kind == IR_ASSUME_APART)
			return false;
		if (as->kind == IR_ASSUME_FACT && !prove_ev_holds(&t, as->fact))
			return false;
	}
	return true;
}

/* True: *m is a launch of the contract in which the pair races. */
static bool try(struct check *c, const struct replay_pair *p, struct smt_model *m,
		struct replay_meeting *met)
{
	return is_kept(c, m) && prove_replay_search(c->e, m, p, met);
}

/* ---- before the solver ------------------------------------------------------------------- */

/* Of 64 bits, a number only where the debug information says so. */
static bool is_pointer(const struct check *c, const struct ex *v)
{
	const struct names_param *n = prove_names_param_at(&c->names, v->imm);

	return v->w == 64 &&
	       (!n || !n->is_known || n->is_pointer || prove_ev_is_array(c->e, v->imm));
}

/* The parameters that aren't pointers, with values to be set. False: some overlap. */
static bool find_scalars(const struct check *c, struct smt_model *m)
{
	for (uint32_t i = 0; i < c->pool->cap; i++) {
		const struct ex *v = c->pool->table[i];
		if (!v || v->op != EX_PARAM || is_pointer(c, v))
			continue;
		unsigned bytes = (v->w + 7u) / 8;
		bool is_known = false;
		for (uint32_t k = 0; k < m->nparams && !is_known; k++) {
			is_known = m->param[k].off == v->imm && m->param[k].bytes == bytes;
			if (!is_known && m->param[k].off < v->imm + bytes &&
			    v->imm < m->param[k].off + m->param[k].bytes)
				return false;
		}
		if (is_known)
			continue;
		if (m->nparams == SMT_MAX_PARAMS)
			return false;
		m->param[m->nparams].off = v->imm;
		m->param[m->nparams++].bytes = bytes;
	}
	return true;
}

/* What a fact says a parameter is: "n == 2", also as a part of a conjunction. */
static void obey(struct smt_model *m, const struct ex *fact)
{
	const struct ex *v = fact->n == 2 ? fact->a[0] : NULL;

	if (fact->op == EX_AND) {
		obey(m, fact->a[0]);
		obey(m, fact->a[1]);
	}
	if (fact->op != EX_EQ || fact->a[1]->op != EX_CONST)
		return;
	while (v->op == EX_SEXT || v->op == EX_ZEXT)
		v = v->a[0];
	for (uint32_t k = 0; k < m->nparams && v->op == EX_PARAM; k++)
		if (m->param[k].off == v->imm && 8 * m->param[k].bytes == v->w)
			m->param[k].value = fact->a[1]->imm & prove_ex_mask(v->w);
}

static void set_scalars(const struct check *c, struct smt_model *m, uint64_t value)
{
	for (uint32_t k = 0; k < m->nparams; k++)
		m->param[k].value = value & prove_ex_mask(8 * m->param[k].bytes);
	for (size_t i = 0; i < c->e->assumes.n; i++)
		if (c->e->assumes.v[i].kind == IR_ASSUME_FACT)
			obey(m, c->e->assumes.v[i].fact);
	prove_smt_pin_model(m, c->pool);
}

/* Sizes in x, y and z as far as the contract leaves them open. */
struct shape {
	uint32_t threads[3], blocks[3];
};

static void set_launch(const struct check *c, struct smt_model *m, const struct shape *s)
{
	const struct ex_launch *l = &c->pool->launch;

	for (unsigned d = 0; d < 3; d++) {
		uint32_t t = s->threads[d], b = s->blocks[d];
		m->ntid[d] = l->dim[d] ? l->dim[d] : l->max[d] < t ? l->max[d] : t;
		m->nctaid[d] = l->dim[3 + d]	   ? l->dim[3 + d]
			       : l->max[3 + d] < b ? l->max[3 + d]
						   : b;
		if (!l->dim[3 + d] && m->nctaid[d] % l->cluster[d])
			m->nctaid[d] += l->cluster[d] - m->nctaid[d] % l->cluster[d];
	}
	for (unsigned d = 3; d-- > 1;) /* one row where the kernel takes no more threads */
		if (!l->dim[d] && m->ntid[0] * m->ntid[1] * m->ntid[2] > l->threads)
			m->ntid[d] = 1;
}

static bool try_first(struct check *c, const struct replay_pair *pair, struct smt_model *m,
		      struct replay_meeting *met)
{
	/* scalars: as many as threads, or so many; blocks side by side, or in all dimensions */
	static const struct {
		uint32_t threads;
		uint64_t scalar;
		bool is_row;
	} tries[] = {{4, 0, false}, {4, 3, false}, {128, 0, false}, {4, 1, false}, {4, 0, true}};
	struct replay_pair p = *pair;
	uint32_t blocks = c->level.apart == RACE_LEVEL_GRID ? 2 : 1;

	p.budget = &c->effort.steps_left;
	memset(m, 0, sizeof(*m));
	if (c->pair.is_split_cluster || c->pair.is_forced || !find_scalars(c, m))
		return false;
	for (size_t i = 0; i < BASE_COUNTOF(tries) && c->effort.steps_left; i++) {
		struct shape s = {{tries[i].threads, 2, 2}, {blocks, blocks, blocks}};
		uint64_t n = 1;
		if (tries[i].is_row && blocks == 1)
			continue;
		if (tries[i].is_row)
			s = (struct shape){{4, 4, 4}, {16, 1, 1}};
		if (c->level.warp == SMT_OTHER_WARP && s.threads[0] < 64)
			s.threads[0] = 64;
		set_launch(c, m, &s);
		for (unsigned d = 0; d < 3; d++)
			n *= (uint64_t)m->ntid[d] * m->nctaid[d];
		if (i && !m->nparams && tries[i].threads == 4 && !tries[i].is_row)
			continue;
		set_scalars(c, m, tries[i].scalar ? tries[i].scalar : n);
		if (try(c, &p, m, met))
			return true;
	}
	return false;
}

/* Where the steps end before all was tried, the pair is tried again when the solver was asked. */
bool prove_tries_first(struct check *c, const struct replay_pair *p, bool is_eager,
		       struct smt_model *m, struct replay_meeting *met)
{
	struct check_effort *e = &c->effort;
	uint64_t kept =
		is_eager && e->steps_left > e->eager_left ? e->steps_left - e->eager_left : 0;

	e->steps_left -= kept;
	bool found = try_first(c, p, m, met);
	c->level.is_tried = e->steps_left > 0 || !kept;
	if (is_eager || found)
		e->eager_left = found ? EAGER_STEPS : e->steps_left;
	e->steps_left += kept;
	return found;
}

void prove_tries_open(struct check *c)
{
	c->effort.steps_left = c->task->trial ? TRIAL_STEPS : FIRST_STEPS;
	c->effort.eager_left = EAGER_STEPS;
	c->effort.near_left = NEAR_STEPS;
	c->effort.long_left = LONG_ALL;
}

/* ---- after it ---------------------------------------------------------------------------- */

static bool may_go_on(const struct check *c)
{
	return c->effort.near_left && c->deadline >= prove_now_ms() + 50 &&
	       c->effort.searches < MAX_SEARCHES;
}

/* A launch; two threads of it whose replay needs more steps than are usual may have them. */
static bool try_near(struct check *c, const struct replay_pair *pair, struct smt_model *m,
		     struct replay_meeting *met)
{
	struct replay_pair p = *pair;

	c->effort.searches++;
	met->is_cut = false;
	p.budget = &c->effort.near_left;
	if (try(c, &p, m, met))
		return true;
	p.budget = &c->effort.long_left;
	p.is_long = true;
	return met->is_cut && c->effort.long_left &&
	       prove_replay_run(c->e, m, &p, met) == REPLAY_RACES;
}

/* The model's launch with other scalars. */
static bool try_scalars(struct check *c, const struct replay_pair *p, struct smt_model *m,
			struct replay_meeting *met)
{
	static const uint32_t values[] = {7, 3, 100, 1};

	for (size_t i = 0; i < BASE_COUNTOF(values); i++) {
		struct smt_model try_it = *m;
		bool has_scalar = false;
		if (!may_go_on(c))
			return false;
		for (uint32_t k = 0; k < try_it.nparams; k++) {
			if (try_it.param[k].bytes != 4)
				continue;
			try_it.param[k].value = values[i];
			has_scalar = true;
		}
		if (!has_scalar)
			return false;
		prove_smt_pin_model(&try_it, c->pool);
		if (try_near(c, p, &try_it, met)) {
			*m = try_it;
			return true;
		}
	}
	return false;
}

bool prove_tries_near(struct check *c, const struct replay_pair *p, struct smt_model *m,
		      struct replay_meeting *met)
{
	static const struct shape shapes[] = {
		{{0, 0, 0}, {0, 0, 0}}, /* the model's */
		{{4, 4, 4}, {2, 2, 2}},	  {{32, 4, 4}, {2, 2, 2}},  {{64, 4, 4}, {2, 2, 2}},
		{{128, 4, 4}, {2, 2, 2}}, {{320, 4, 4}, {2, 2, 2}}, {{4, 4, 4}, {16, 1, 1}},
	};

	if (c->pair.is_split_cluster)
		return false;
	for (size_t i = 0; i < BASE_COUNTOF(shapes); i++) {
		struct smt_model try_it = *m;
		struct shape s = shapes[i];
		for (unsigned d = 0; d < 3 && c->level.apart != RACE_LEVEL_GRID; d++)
			s.blocks[d] = 1;
		if (!may_go_on(c))
			return false;
		if (i)
			set_launch(c, &try_it, &s);
		if (try_near(c, p, &try_it, met)) {
			*m = try_it;
			return true;
		}
	}
	return try_scalars(c, p, m, met);
}

/* ---- launches that are known -------------------------------------------------------------- */

void prove_tries_note(struct check *c, const struct smt_model *m)
{
	struct smt_model *kept = BASE_NEW(c->arena, struct smt_model);

	*kept = *m;
	c->race[c->nraces++ % CHECK_RACES] = (struct check_race){c->pair.a, c->pair.b, kept};
}

bool prove_tries_known(const struct check *c)
{
	for (unsigned i = 0; i < c->nraces && i < CHECK_RACES; i++) {
		const struct check_race *r = &c->race[i];
		if (r->a == c->pair.a && r->b == c->pair.b && is_kept(c, r->m))
			return true;
	}
	return false;
}
