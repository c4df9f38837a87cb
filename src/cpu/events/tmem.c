/*
 * tmem.c - tensor memory as the oracle's events.
 *
 * Each operation of tcgen05 is a pseudo-thread that knows what its issuer has done. A warp's loads
 * and stores are joined by its waits. Products, copies and shifts that one thread has issued are a
 * *pipe*: which of them are in order is in begin(), by what they have joined of it; a commit
 * arrives with all of it. Another thread's pipe is taken as the same one, if the issuer comes after
 * something that was issued there: the ISA's "pipelined, different thread".
 *
 * What a pipe has done so far is a collector of the oracle, so that joining it is one step, however
 * long the kernel has run. Words of tensor memory are words of the host's memory, by column.
 * Products and copies read shared memory in the async proxy.
 *
 * tcgen05.fence::before_thread_sync is a releasing fence and ::after_thread_sync an acquiring one,
 * so that they order with relaxed barriers. They do so for all memory here, which hides races of
 * ordinary accesses that only such a pair comes between (docs/soundness.md).
 *
 * Misses: pipes of threads beyond the 64th of a block, for other threads; operations of two threads
 * of which the one's first is ordered before the other's, and a later one isn't.
 */
#include "cpu/async/async.h"
#include "cpu/events/internal.h"
#include "cpu/events/units.h"

#include <stdlib.h>

#define PIPES	64u
#define NO_PIPE UINT32_MAX

/* Products that accumulate in one place, by one shape and kind. */
struct chain {
	uint64_t key;
	uint32_t actor;
};

struct pipe {
	uint32_t thread;	    /* the issuer */
	uint32_t epoch;		    /* of its first operation's issue; 0: none yet */
	uint32_t all, reads, moves; /* collectors: of everything, its reads, copies and shifts */
	BASE_VEC(struct chain) chains;
};

/* Of a warp: collectors of its loads and stores; 0: none yet. */
struct mover {
	uint32_t loads, stores;
};

/* By 32 columns: the thread that gave them back last, in which epoch; 0: none. */
struct freed {
	uint32_t thread, epoch;
};

struct events_tensor {
	struct pipe pipes[PIPES];
	uint32_t n;
	struct freed freed[CPU_TMEM_COLS / CPU_TMEM_UNIT];
	struct mover movers[];
};

/* NULL: nothing is judged, or no memory. */
static struct events_tensor *state_of(const struct cpu_warp *w, struct cpu_tmem *tm)
{
	if (!tm->events && cpu_events_of(w))
		tm->events = calloc(1, sizeof(*tm->events) +
					       w->cta->nwarps * sizeof(tm->events->movers[0]));
	return tm->events;
}

void cpu_event_tmem_new(struct cpu_warp *w, struct cpu_tmem *tm)
{
	struct cpu_events *x = cpu_events_of(w);

	if (!x)
		return;
	uint32_t bytes = CPU_TMEM_COLS * CPU_TMEM_LANES * (uint32_t)sizeof(uint32_t);
	uint64_t base = (uint64_t)(uintptr_t)tm->word;
	events_lock(x);
	oracle_forget(x->o, base, bytes);
	events_tensor_add(x, w->cta, base, bytes);
	events_unlock(x);
}

void cpu_event_tmem_free(struct cpu_cta *cta, struct cpu_tmem *tm)
{
	struct events_tensor *t = tm->events;
	struct cpu_events *x = cta->grid->events;

	if (x) {
		events_lock(x);
		events_tensor_remove(x, (uint64_t)(uintptr_t)tm->word);
		events_unlock(x);
	}
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n; i++)
		base_vec_free(&t->pipes[i].chains);
	free(t);
	tm->events = NULL;
}

/* ---- accesses, lock held ---------- */

static void touch(struct cpu_events *x, uint32_t actor, const struct cpu_site *site, bool is_write,
		  const uint32_t *word, uint32_t n)
{
	struct oracle_acc a = {.inst = site,
			       .kind = is_write ? RACE_OP_WRITE : RACE_OP_READ,
			       .bytes = n * (uint32_t)sizeof(*word)};

	oracle_access(x->o, actor, &a, (uint64_t)(uintptr_t)word);
}

static void touch_area(struct cpu_events *x, uint32_t actor, const struct cpu_site *site,
		       bool is_write, const struct cpu_tmem *tm, const struct cpu_tmem_area *a)
{
	if (a->lanes == CPU_TMEM_LANES) {
		touch(x, actor, site, is_write, tm->word[a->at], a->n * CPU_TMEM_LANES);
		return;
	}
	for (uint32_t i = 0; i < a->n; i++)
		touch(x, actor, site, is_write, tm->word[a->at + i] + a->lane, a->lanes);
}

/* ---- alloc, dealloc ---------- */

static uint64_t address_of(const struct cpu_tmem *tm, uint32_t at)
{
	return (uint64_t)(uintptr_t)tm->word[at];
}

void cpu_event_tmem_alloc(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
			  uint32_t at, uint32_t n)
{
	struct cpu_events *x = cpu_events_of(w);

	if (!cpu_event_takes(w, in))
		return;
	events_lock(x);
	w->nevents++;
	oracle_forget(x->o, address_of(tm, at), n * CPU_TMEM_LANES * sizeof(uint32_t));
	events_unlock(x);
}

void cpu_event_tmem_dealloc(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			    struct cpu_tmem *tm, uint32_t at, uint32_t n)
{
	struct cpu_events *x = cpu_events_of(w);
	struct events_tensor *t = state_of(w, tm);
	struct cpu_tmem_area area = {at, n, 0, CPU_TMEM_LANES};

	if (!t || !cpu_event_takes(w, in))
		return;
	events_lock(x);
	w->nevents++;
	for (uint32_t i = at / CPU_TMEM_UNIT; i < (at + n) / CPU_TMEM_UNIT; i++)
		t->freed[i] = (struct freed){events_actor(w), oracle_epoch(x->o, events_actor(w))};
	uint32_t actor = oracle_fork_lanes(x->o, events_actor(w), mask);
	touch_area(x, actor, cpu_site_of(w, in), true, tm, &area);
	oracle_join_lanes(x->o, events_actor(w), mask, &actor, 1);
	events_unlock(x);
}

bool cpu_event_tmem_is_racy(struct cpu_warp *w, unsigned lane, struct cpu_tmem *tm, uint32_t col)
{
	struct cpu_events *x = cpu_events_of(w);
	const struct freed *f = tm->events ? &tm->events->freed[col / CPU_TMEM_UNIT] : NULL;

	if (!x || !f || !f->epoch)
		return false;
	events_lock(x);
	bool is_known =
		oracle_knows(x->o, events_actor(w) + lane, f->thread, f->epoch) == ORACLE_KNOWN;
	events_unlock(x);
	return !is_known;
}

/* ---- ld, st ---------- */

static uint32_t *collector(struct cpu_events *x, uint32_t *actor, uint32_t issuer)
{
	if (!*actor)
		*actor = oracle_collect(x->o, issuer);
	return actor;
}

void cpu_event_tmem_move(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
			 bool is_store, const struct cpu_tmem_area *area, unsigned n)
{
	struct cpu_events *x = cpu_events_of(w);
	struct events_tensor *t = state_of(w, tm);
	uint32_t warp = x ? events_actor(w) : 0;

	if (!t || !cpu_event_takes(w, in))
		return;
	events_lock(x);
	w->nevents++;
	struct mover *m = &t->movers[w->index];
	uint32_t loads = *collector(x, &m->loads, warp), stores = *collector(x, &m->stores, warp);
	uint32_t actor = oracle_fork_lanes(x->o, warp, UINT32_MAX);
	/* What is stored was mostly computed from what was loaded. */
	if (is_store)
		oracle_join(x->o, actor, loads, ORACLE_JOIN_ALL);
	for (unsigned i = 0; i < n; i++)
		touch_area(x, actor, cpu_site_of(w, in), is_store, tm, &area[i]);
	oracle_join(x->o, is_store ? stores : loads, actor, ORACLE_JOIN_ALL);
	if (is_store)
		oracle_join(x->o, stores, loads, ORACLE_JOIN_ALL);
	events_unlock(x);
}

void cpu_event_tmem_wait(struct cpu_warp *w, uint32_t mask, struct cpu_tmem *tm, bool is_store)
{
	struct cpu_events *x = cpu_events_of(w);
	struct events_tensor *t = tm->events;
	uint32_t from = t ? (is_store ? t->movers[w->index].stores : t->movers[w->index].loads) : 0;

	if (!x || !from)
		return;
	events_lock(x);
	w->nevents++;
	oracle_join_lanes(x->o, events_actor(w), mask, &from, 1);
	events_unlock(x);
}

void cpu_event_tmem_fence(struct cpu_warp *w, uint32_t mask, bool is_before)
{
	struct cpu_events *x = cpu_events_of(w);

	events_lock(x);
	w->nevents++;
	oracle_fence(x->o, events_actor(w), mask, is_before ? RACE_RELEASE : RACE_ACQUIRE,
		     RACE_SCOPE_CLUSTER);
	events_unlock(x);
}

/* ---- pipes, lock held ---------- */

static uint32_t issuer_of(const struct cpu_tc_op *op)
{
	return events_actor(op->warp) + op->lane;
}

static uint32_t pipe_of(struct cpu_events *x, struct events_tensor *t, uint32_t thread)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->pipes[i].thread == thread)
			return i;
	if (t->n == PIPES)
		return NO_PIPE;
	t->pipes[t->n] = (struct pipe){.thread = thread,
				       .all = oracle_collect(x->o, thread),
				       .reads = oracle_collect(x->o, thread),
				       .moves = oracle_collect(x->o, thread)};
	return t->n++;
}

/*
 * Whoever comes after one operation of a pipe is taken to come after all: where the issuer goes on
 * meanwhile, it isn't kept which ones the others are.
 */
static bool knows(const struct cpu_events *x, uint32_t thread, const struct pipe *p)
{
	return p->epoch && oracle_knows(x->o, thread, p->thread, p->epoch) == ORACLE_KNOWN;
}

void cpu_event_tc_issue(struct cpu_tc_op *op, struct cpu_tmem *tm)
{
	struct cpu_warp *w = op->warp;
	struct cpu_events *x = cpu_events_of(w);
	struct events_tensor *t = state_of(w, tm);
	uint32_t thread = x ? issuer_of(op) : 0, own;

	if (!t || !cpu_event_takes(w, op->in))
		return;
	events_lock(x);
	w->nevents++;
	own = pipe_of(x, t, thread);
	for (uint32_t i = 0; i < t->n; i++)
		if (i == own || knows(x, thread, &t->pipes[i]))
			op->after |= 1ull << i;
	if (own != NO_PIPE && !t->pipes[own].epoch && op->x->op != CPU_TC_COMMIT)
		t->pipes[own].epoch = oracle_epoch(x->o, thread);
	op->site = cpu_site_of(w, op->in);
	op->actor = oracle_fork(x->o, thread);
	events_copy_issued(x, op->actor);
	events_unlock(x);
}

static uint64_t chain_key(const struct cpu_tc_op *op)
{
	return op->d | (uint64_t)op->shape.n << 32 | (uint64_t)op->shape.m << 42 |
	       (uint64_t)op->x->kind << 52 | (uint64_t)op->x->is_ws << 56 |
	       (uint64_t)op->x->is_sparse << 57;
}

/* Made if `thread` isn't 0. */
static uint32_t chain_of(struct cpu_events *x, struct pipe *p, uint64_t key, uint32_t thread)
{
	for (size_t i = 0; i < p->chains.n; i++)
		if (p->chains.v[i].key == key)
			return p->chains.v[i].actor;
	if (!thread)
		return 0;
	struct chain c = {key, oracle_collect(x->o, thread)};
	base_vec_push(&p->chains, c);
	return c.actor;
}

static struct events_tensor *tensor_of(const struct cpu_tc_op *op)
{
	return op->site && cpu_events_of(op->warp) ? op->warp->cta->async->tmem->events : NULL;
}

/*
 * What the operation comes after (docs/soundness.md): a product after copies and shifts, and after
 * products with its accumulators, shape and kind; a shift after all; everything after what earlier
 * ones have read, and copies after copies and shifts.
 */
static void begin(struct cpu_events *x, struct cpu_tc_op *op, struct pipe *p)
{
	uint32_t chain;

	if (op->x->op == CPU_TC_SHIFT) {
		oracle_join(x->o, op->actor, p->all, ORACLE_JOIN_ALL);
		return;
	}
	oracle_join(x->o, op->actor, p->reads, ORACLE_JOIN_ALL);
	oracle_join(x->o, op->actor, p->moves, ORACLE_JOIN_ALL);
	if (op->x->op != CPU_TC_MMA)
		return;
	chain = chain_of(x, p, chain_key(op), 0);
	if (chain)
		oracle_join(x->o, op->actor, chain, ORACLE_JOIN_ALL);
}

void cpu_event_tc_begin(struct cpu_tc_op *op)
{
	struct events_tensor *t = tensor_of(op);
	struct cpu_events *x = cpu_events_of(op->warp);

	if (!t || op->x->op == CPU_TC_COMMIT)
		return;
	events_lock(x);
	for (uint32_t i = 0; i < t->n; i++)
		if (op->after >> i & 1)
			begin(x, op, &t->pipes[i]);
	events_unlock(x);
}

void cpu_event_tc_units(struct cpu_tc_op *op, const struct cpu_cta *cta, const uint8_t *const *unit,
			uint32_t n)
{
	struct cpu_events *x = cpu_events_of(op->warp);
	struct events_units u;

	if (!tensor_of(op))
		return;
	events_units_begin(&u, cta);
	for (uint32_t i = 0; i < n; i++)
		events_units_add(&u, unit[i]);
	events_lock(x);
	events_units_read(x, op->actor, op->site, &u);
	events_unlock(x);
}

void cpu_event_tc_tmem(struct cpu_tc_op *op, const struct cpu_cta *cta, const struct cpu_tmem *tm,
		       bool is_write, uint32_t at, uint32_t n, const uint32_t lanes[4])
{
	struct cpu_events *x = cpu_events_of(op->warp);
	struct cpu_tmem_area area = {at, n, 0, 0};

	(void)cta;
	if (!tensor_of(op))
		return;
	events_lock(x);
	for (uint32_t l = 0; l < CPU_TMEM_LANES; l = area.lane + area.lanes) {
		area.lane = l;
		area.lanes = 0;
		while (area.lane < CPU_TMEM_LANES && !(lanes[area.lane / 32] >> area.lane % 32 & 1))
			area.lane++;
		for (l = area.lane; l < CPU_TMEM_LANES && lanes[l / 32] >> l % 32 & 1; l++)
			area.lanes++;
		if (area.lanes)
			touch_area(x, op->actor, op->site, is_write, tm, &area);
	}
	events_unlock(x);
}

void cpu_event_tc_commit(struct cpu_tc_op *op, const uint8_t *host, bool has_ended)
{
	struct events_tensor *t = tensor_of(op);
	struct cpu_events *x = cpu_events_of(op->warp);
	uint64_t address = (uint64_t)(uintptr_t)host;
	struct oracle_acc a = {.inst = op->site,
			       .kind = RACE_OP_RMW,
			       .strength = RACE_RELAXED,
			       .scope = RACE_SCOPE_SYS,
			       .flags = ORACLE_MBARRIER | ORACLE_SHARED,
			       .bytes = 8};

	if (!t)
		return;
	events_lock(x);
	struct events_mbar *b = events_mbar_at(x, address);
	events_direct(x, op->actor, &a, address);
	uint32_t own = pipe_of(x, t, issuer_of(op));
	if (own != NO_PIPE)
		oracle_mbarrier_arrive(x->o, t->pipes[own].all, address, b->phase, RACE_RELEASE,
				       RACE_SCOPE_GPU);
	b->phase += has_ended;
	events_unlock(x);
}

void cpu_event_tc_end(struct cpu_tc_op *op)
{
	struct events_tensor *t = tensor_of(op);
	struct cpu_events *x = cpu_events_of(op->warp);
	uint32_t own;

	if (!t || op->x->op == CPU_TC_COMMIT)
		return;
	events_lock(x);
	own = pipe_of(x, t, issuer_of(op));
	if (own != NO_PIPE) {
		struct pipe *p = &t->pipes[own];
		oracle_join(x->o, p->reads, op->actor, ORACLE_JOIN_READ);
		oracle_join(x->o, p->all, op->actor, ORACLE_JOIN_ALL);
		if (op->x->op != CPU_TC_MMA)
			oracle_join(x->o, p->moves, op->actor, ORACLE_JOIN_ALL);
		else
			oracle_join(x->o, chain_of(x, p, chain_key(op), p->thread), op->actor,
				    ORACLE_JOIN_ALL);
	}
	events_unlock(x);
}
