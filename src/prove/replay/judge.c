/*
 * judge.c - do two threads that have run alone race in that launch? (replay.h)
 *
 * Both threads must reach their access, after the same barriers when they share a CTA; all other
 * threads of their CTAs must pass those barriers or end before, where that lets the others pass,
 * and none may wait for ever at one of fewer threads. They are run for that, unless the control
 * flow shows that barriers are all that they wait at, the same ones for all. Then the race happens
 * for any contents of memory.
 */
#include "prove/replay/replay_impl.h"

#include <string.h>

/* The index of the nth thread of a CTA, or of the nth CTA of a grid. */
static void find_place(const uint32_t *dim, uint32_t n, uint32_t *at)
{
	at[0] = n % dim[0];
	at[1] = n / dim[0] % dim[1];
	at[2] = n / dim[0] / dim[1];
}

/* Some threads of a launch that must pass the first n barriers of a rank that `like` passes. */
struct passing {
	const struct thread *like;
	enum ir_rank rank;
	uint32_t n;
	uint32_t warp; /* only its lanes, or IR_NONE */
	uint32_t order;
};

/*
 * Thread i of a CTA has ended without some of them: do the others pass all the same? Not one with a
 * count of threads, which is of arrivals; nor one of the grid, where thread 0 arrives for its CTA.
 */
static bool may_miss(const struct run *r, const struct passing *p, uint32_t i, uint32_t passed)
{
	for (uint32_t k = passed; k < p->n; k++) {
		const struct ir_step *st = &r->e->ir->steps.v[p->like->bars[p->rank][k]];
		if (st->kind != IR_BARRIER)
			continue;
		if (st->threads || (st->imm == IR_RANK_GRID && !i))
			return false;
	}
	return true;
}

/* Do all threads of a CTA pass them (or end normally before, where they may)? */
static bool all_pass(struct run *r, const uint32_t *ctaid, struct passing *p)
{
	struct thread *t = base_alloc(&r->arena, sizeof(*t));
	uint32_t *bars = base_alloc(&r->arena, MAX_BARS * sizeof(*bars));
	const struct smt_model *m = r->m;
	uint32_t n = m->ntid[0] * m->ntid[1] * m->ntid[2];

	for (uint32_t i = 0; i < n && p->n; i++) {
		uint32_t tid[3];
		find_place(m->ntid, i, tid);
		if (p->warp != IR_NONE && prove_replay_warp_of(m, tid) != p->warp)
			continue;
		memset(t, 0, sizeof(*t));
		t->bars[p->rank] = bars;
		prove_replay_run_thread(r, t, tid, ctaid, p->rank, p->n);
		if (t->order_ever != IR_NONE)
			p->order = t->order_ever;
		if (t->is_lost || t->is_trapped ||
		    memcmp(bars, p->like->bars[p->rank], t->nbars[p->rank] * sizeof(*bars)) != 0 ||
		    !may_miss(r, p, i, t->nbars[p->rank]))
			return false;
	}
	return true;
}

struct match {
	const struct event *x, *y;
	uint32_t order; /* step that may order them, or IR_NONE */
};

/* Had thread t ended after its event x when another was in a later phase? */
static bool has_left(const struct thread *t, const struct event *x, const struct event *other,
		     enum ir_rank k)
{
	return !t->is_lost && !t->is_trapped && t->nbars[k] == x->phase[k] &&
	       x->phase[k] < other->phase[k];
}

static uint32_t order_of(const struct event *x, const struct event *y, bool is_grid)
{
	uint32_t a = is_grid ? x->order_ever : x->order, b = is_grid ? y->order_ever : y->order;

	return a != IR_NONE ? a : b;
}

static void find_match(const struct run *r, struct thread *const *t, struct match *out)
{
	enum ir_rank k = prove_replay_rank_of(r->p);

	out->x = NULL;
	for (uint32_t i = 0; i < t[0]->nevents; i++) {
		const struct event *x = &t[0]->events[i];
		for (uint32_t n = 0; n < t[1]->nevents && (x->which & 1); n++) {
			const struct event *y = &t[1]->events[n];
			bool meets = r->p->in_any_order || x->phase[k] == y->phase[k] ||
				     has_left(t[0], x, y, k) || has_left(t[1], y, x, k);
			if (r->p->is_lockstep && x->turn != y->turn)
				continue;
			if (!(y->which & 2) || !meets)
				continue;
			if (r->p->is_partial && x->addr == y->addr &&
			    r->a->mem->bytes == r->b->mem->bytes)
				continue;
			if (x->addr >= y->addr + r->b->mem->bytes ||
			    y->addr >= x->addr + r->a->mem->bytes)
				continue;
			uint32_t order = order_of(x, y, r->p->level == RACE_LEVEL_GRID);
			if (r->p->in_any_order)
				order = IR_NONE;
			if (out->x && order != IR_NONE)
				continue;
			*out = (struct match){x, y, order};
			if (order == IR_NONE)
				return;
		}
	}
}

#define MAX_GRID_THREADS     4096
#define MAX_ASSUMING_THREADS 16384

/* May a thread stop at the step, or hand on an order there? Barriers are asked about apart. */
static bool may_stop(const struct ir_step *st)
{
	switch ((enum ir_kind)st->kind) {
	case IR_ACCESS:
		return st->mem->kind == RACE_OP_RMW || st->mem->strength != RACE_WEAK ||
		       st->mem->is_volatile || st->mem->is_async || st->mem->is_bulk;
	case IR_WARP_BARRIER:
	case IR_ORDER:
	case IR_COMMIT:
	case IR_WAIT:
	case IR_TOGETHER:
	case IR_UNKNOWN:
	case IR_ENDLESS:
		return true;
	default:
		return false;
	}
}

/* Is that so by the control flow alone? */
static bool pass_by_form(const struct run *r, struct thread *const *t)
{
	const struct ir *ir = r->e->ir;
	bool is_open = !r->p->is_alike || r->has_meets || r->has_partial ||
		       t[0]->nbars[IR_RANK_GRID] || t[1]->nbars[IR_RANK_GRID];

	for (uint32_t i = 0; i < ir->nrpo && !is_open; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		is_open = b->end == IR_TRAP;
		for (uint32_t k = b->first; k < b->first + b->n; k++)
			is_open |= may_stop(&ir->steps.v[k]);
	}
	return !is_open;
}

/* Do all others let the two threads come as far as their accesses? */
static bool others_pass(struct run *r, struct thread *const *t, const struct match *m,
			uint32_t *order)
{
	const struct smt_model *l = r->m;
	const struct event *ev[2] = {m->x, m->y};
	struct passing p = {.order = IR_NONE, .warp = IR_NONE};
	uint64_t n = 1;

	if (pass_by_form(r, t))
		return true;
	for (unsigned i = 0; i < 2; i++) {
		p.like = t[i];
		p.rank = IR_RANK_CTA;
		p.n = ev[i]->phase[IR_RANK_CTA];
		p.warp = IR_NONE;
		if (!all_pass(r, l->ctaid[i], &p))
			return false;
		p.rank = IR_RANK_WARP;
		p.n = ev[i]->phase[IR_RANK_WARP];
		p.warp = prove_replay_warp_of(l, l->tid[i]);
		if (r->p->use_warp && !all_pass(r, l->ctaid[i], &p))
			return false;
	}
	*order = p.order;
	p.n = m->x->phase[IR_RANK_CTA] > m->y->phase[IR_RANK_CTA] ? m->x->phase[IR_RANK_CTA]
								  : m->y->phase[IR_RANK_CTA];
	p.like = m->x->phase[IR_RANK_CTA] == p.n ? t[0] : t[1];
	p.rank = IR_RANK_CTA;
	p.warp = IR_NONE;
	for (unsigned d = 0; d < 3; d++)
		n *= (uint64_t)l->ntid[d] * l->nctaid[d];
	if (!p.like->nbars[IR_RANK_GRID])
		return true;
	if (n > MAX_GRID_THREADS)
		return false;
	for (uint32_t c = 0; c < l->nctaid[0] * l->nctaid[1] * l->nctaid[2]; c++) {
		uint32_t ctaid[3];
		find_place(l->nctaid, c, ctaid);
		if (!all_pass(r, ctaid, &p))
			return false;
	}
	return true;
}

#define MAX_WARPS 32

/* The warps of a CTA, by the barriers of fewer threads that they pass. */
struct warps {
	uint64_t partial[MAX_WARPS];
	uint32_t numbers[MAX_WARPS], n, repeated;
	uint16_t threads[IR_NUMBERS]; /* that a number waits for; 0: not known, or several */
};

/* Do those that come to a number come as often as all it waits for, by the same way? */
static bool is_met(const struct warps *w, uint32_t number)
{
	uint32_t first = MAX_WARPS, n = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		if (!(w->numbers[i] >> number & 1))
			continue;
		first = first == MAX_WARPS ? i : first;
		n++;
		if (w->partial[i] != w->partial[first])
			return false;
	}
	if (!n || number == IR_NUMBERS || !w->threads[number])
		return !n;
	/* Once each, they may also come in several groups. */
	return n * 32 == w->threads[number] ||
	       (!(w->repeated >> number & 1) && n * 32 % w->threads[number] == 0);
}

static void find_counts(const struct ir *ir, struct warps *w)
{
	bool is_seen[IR_NUMBERS] = {false};

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = b->first; k < b->first + b->n; k++) {
			const struct ir_step *st = &ir->steps.v[k];
			if (!ir_is_partial(st) || st->imm == IR_PARTIAL_ANY)
				continue;
			uint16_t *of = &w->threads[st->imm - IR_PARTIAL];
			*of = !is_seen[st->imm - IR_PARTIAL] || *of == st->threads ? st->threads
										   : 0;
			is_seen[st->imm - IR_PARTIAL] = true;
		}
	}
}

/*
 * Does no thread of a CTA wait for ever at a barrier of fewer threads? Sure where whole warps come
 * to each number, as many as it waits for, and all of them pass the same barriers in the same order
 * to their end; a warp that only arrives goes on, and must not come again while others still wait.
 */
static bool none_stays(struct run *r, const uint32_t *ctaid)
{
	struct thread *t = base_alloc(&r->arena, sizeof(*t));
	const struct smt_model *m = r->m;
	uint32_t n = m->ntid[0] * m->ntid[1] * m->ntid[2];
	struct warps w = {.n = (n + 31) / 32};
	uint32_t arrived = 0;

	find_counts(r->e->ir, &w);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t tid[3];
		find_place(m->ntid, i, tid);
		memset(t, 0, sizeof(*t));
		prove_replay_run_thread(r, t, tid, ctaid, IR_RANK_CTA, UINT32_MAX);
		if (t->is_lost || t->is_trapped || (i % 32 && t->partial != w.partial[i / 32]))
			return false;
		w.partial[i / 32] = t->partial;
		w.numbers[i / 32] = t->numbers;
		arrived |= t->arrived;
		w.repeated |= t->repeated;
	}
	if (arrived & w.repeated)
		return false;
	for (uint32_t k = 0; k <= IR_NUMBERS; k++)
		if (!is_met(&w, k))
			return false;
	return true;
}

/* The contract speaks of all threads of a launch: does none break what the code assumes? */
static bool all_keep(struct run *r)
{
	struct thread *t = base_zalloc(&r->arena, sizeof(*t));
	const struct smt_model *m = r->m;
	uint64_t block = (uint64_t)m->ntid[0] * m->ntid[1] * m->ntid[2], n = block;

	for (unsigned d = 0; d < 3; d++)
		if (__builtin_mul_overflow(n, (uint64_t)m->nctaid[d], &n))
			return false;
	if (n > MAX_ASSUMING_THREADS)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t at = (uint32_t)(i % block), cta = (uint32_t)(i / block);
		uint32_t tid[3], ctaid[3];
		find_place(m->ntid, at, tid);
		find_place(m->nctaid, cta, ctaid);
		memset(t, 0, sizeof(*t));
		prove_replay_run_thread(r, t, tid, ctaid, IR_RANK_CTA, UINT32_MAX);
		if (t->is_denied || !r->budget)
			return false;
	}
	return true;
}

bool prove_replay_keeps(struct run *r)
{
	return !r->has_assumes || all_keep(r);
}

#define CORNERS 8

bool prove_replay_stays(struct run *r)
{
	struct thread *t = base_alloc(&r->arena, sizeof(*t));
	uint64_t left = r->budget;
	bool is_inside = true;

	for (unsigned i = 0; i < 2 * CORNERS && is_inside; i++) {
		const uint32_t *cta = r->m->ctaid[i / CORNERS];
		uint32_t tid[3];
		bool is_new =
			i < CORNERS || memcmp(cta, r->m->ctaid[0], sizeof(r->m->ctaid[0])) != 0;
		for (unsigned d = 0; d < 3; d++) {
			bool is_last = i >> d & 1;
			tid[d] = is_last ? r->m->ntid[d] - 1 : 0;
			is_new &= !is_last || tid[d];
		}
		if (!is_new)
			continue;
		uint64_t share = left / (2 * CORNERS);
		r->budget = share;
		memset(t, 0, sizeof(*t));
		prove_replay_run_thread(r, t, tid, cta, IR_RANK_CTA, UINT32_MAX);
		left -= share - r->budget;
		is_inside = !t->is_outside;
	}
	r->budget = left;
	return is_inside;
}

/* Where do the first or last threads of the first block leave a variable? */
static uint32_t find_leave(struct run *r)
{
	const struct smt_model *m = r->m;
	struct thread *t = base_alloc(&r->arena, sizeof(*t));
	uint32_t tid[3];
	uint64_t share = r->budget / CORNERS;

	for (unsigned i = 0; i < CORNERS; i++) {
		for (unsigned d = 0; d < 3; d++)
			tid[d] = i >> d & 1 ? m->ntid[d] - 1 : 0;
		memset(t, 0, sizeof(*t));
		r->budget = share;
		prove_replay_run_thread(r, t, tid, m->ctaid[0], IR_RANK_CTA, UINT32_MAX);
		if (t->is_outside)
			return t->left_at;
	}
	return IR_NONE;
}

static void take_values(const struct run *r, const struct match *m, struct replay_meeting *out)
{
	const struct event *ev[2] = {m->x, m->y};

	for (unsigned i = 0; i < 2; i++) {
		for (uint32_t k = 0; r->p->watch[i] && k < r->p->watch[i]->n; k++) {
			if (!ev[i]->seen[i])
				continue;
			out->value[i][k] = ev[i]->seen[i][k].v;
			out->is_known[i][k] = ev[i]->seen[i][k].known;
		}
	}
}

/* Why the solver's launch isn't seen to race. */
static const char *why_none(const struct run *r, bool is_lost)
{
	bool is_path = r->a->guard->is_approx || r->b->guard->is_approx;
	bool is_index = r->a->off->is_approx || r->b->off->is_approx;

	if (is_path && is_index)
		return "whether both are reached, and where, depends on what memory holds";
	if (is_path)
		return "whether both are reached depends on what memory holds";
	if (is_index)
		return "whether the indices meet depends on what memory holds";
	return is_lost ? "a branch or address on the way depends on what memory holds"
		       : "no launch that races was found, and none is ruled out";
}

enum replay_answer prove_replay_judge(struct run *r, struct thread *const *t,
				      struct replay_meeting *out)
{
	struct match m = {0};
	uint32_t order = IR_NONE;
	bool is_grid = r->p->level == RACE_LEVEL_GRID;

	find_match(r, t, &m);
	if (!m.x) {
		bool is_lost = t[0]->is_lost || t[1]->is_lost || t[0]->is_vague || t[1]->is_vague;
		out->why = why_none(r, is_lost);
		return is_lost ? REPLAY_UNSURE : REPLAY_DENIES;
	}
	out->phase[0] = m.x->phase[IR_RANK_CTA];
	out->phase[1] = m.y->phase[IR_RANK_CTA];
	take_values(r, &m, out);
	if (!prove_replay_is_inside(r, r->a, m.x->addr, &out->offset[0]) ||
	    !prove_replay_is_inside(r, r->b, m.y->addr, &out->offset[1])) {
		out->why =
			"they would meet outside of the array, where by the contract no access is";
		return REPLAY_UNSURE;
	}
	if (!others_pass(r, t, &m, &order)) {
		out->why = "other threads may not pass the barriers before it";
		return REPLAY_UNSURE;
	}
	if (r->has_partial &&
	    (!none_stays(r, r->m->ctaid[0]) || (is_grid && !none_stays(r, r->m->ctaid[1])))) {
		out->why = "a thread may wait for ever at a numbered barrier";
		return REPLAY_UNSURE;
	}
	if (!r->p->in_any_order && (m.order != IR_NONE || (is_grid && order != IR_NONE))) {
		out->order = m.order != IR_NONE ? m.order : order;
		out->why = "a fence, atomic or other synchronisation may order the two";
		return REPLAY_ORDERED;
	}
	if (t[0]->is_outside || t[1]->is_outside || !prove_replay_stays(r)) {
		out->why = REPLAY_LEAVES;
		return REPLAY_UNSURE;
	}
	if (!prove_replay_keeps(r)) {
		out->why = "other threads of that launch may break an assumption of the code";
		return REPLAY_UNSURE;
	}
	for (unsigned i = 0; i < 2 && r->has_meets; i++) {
		const struct event *x = i ? m.y : m.x;
		if (prove_replay_comes(r, r->m->tid[i], r->m->ctaid[i], x))
			continue;
		out->why = "lanes of a warp may wait for ever for others of it";
		return REPLAY_UNSURE;
	}
	return REPLAY_RACES;
}

#define LEAVE_STEPS (1u << 17) /* a millisecond; of a kernel with alarms eight times that */

uint32_t prove_replay_find_leave(struct ev *e, bool has_alarms)
{
	const struct ex_pool *pool = e->pool;
	struct smt_model m = {0};
	struct replay_pair p = {.level = RACE_LEVEL_BLOCK};
	struct run r = {.e = e, .m = &m, .p = &p, .is_every = true};
	uint32_t at = IR_NONE;

	for (unsigned d = 0; d < 3; d++) {
		m.ntid[d] = pool->launch.dim[d];
		m.nctaid[d] = pool->launch.dim[3 + d] ? pool->launch.dim[3 + d] : 1;
	}
	for (uint32_t i = 0; i < pool->npins && m.nparams < SMT_MAX_PARAMS; i++) {
		const struct ex_pin *x = &pool->pin[i];
		if (x->lo != x->hi)
			continue;
		m.param[m.nparams].off = x->off;
		m.param[m.nparams].bytes = x->w / 8;
		m.param[m.nparams++].value = x->lo;
	}
	if (!e->accesses.n || !prove_replay_is_legal(&r))
		return IR_NONE;
	p.a = p.b = r.a = r.b = &e->accesses.v[0];
	prove_replay_open(&r, has_alarms ? 8 * LEAVE_STEPS : LEAVE_STEPS);
	at = find_leave(&r);
	prove_replay_close(&r);
	return at;
}
