/*
 * apart.c - launches whose blocks don't communicate: by groups of blocks, on one or more workers.
 *
 * Such a launch (cpu_traits.is_apart), if it is proven, or nothing judges it or reads again, or
 * workers can judge it (events/judges.c), is executed by groups of blocks, each by itself, with
 * draws that follow from the seed, the launch and the group's number. Nothing else runs on the
 * machine meanwhile. So what a group does is the same whoever executes it, and whenever: workers
 * take groups in their order, and the launch leaves the same memory, clock and schedule with any
 * number of them. Each worker starts and ends the blocks of its groups by itself, without a lock,
 * and what it has counted is added up at the end.
 *
 * A launch whose judging is cut off (grid.c) has a rest: blocks that hadn't begun then. They are
 * executed so, too, from the `first` one on, when those before have ended.
 *
 * Atomics whose results are used, and strong loads, are the one way in which blocks may meet. They
 * are executed in the order of groups, as with one worker (order.c). Where a group seems to wait
 * for something else, the launch goes on as others do; strong accesses by which it may communicate
 * with the host are none of its kind, as what is taken back might have been seen.
 *
 * That is so unless a block writes what another one accesses, which is a race. Workers note what
 * they access (touch.c). If they have met, or there was a fault, a deadlock or a loop that seems to
 * have no end, then all stores are undone and the launch is repeated on the first worker, group by
 * group, which is what a run with one thread does in the first place. Where that worker's judge
 * finds something, or there is a fault, the launch is taken back and judged as all others are: with
 * any number of workers.
 *
 * Costs: a group has few blocks, and where nothing is judged turns are long if threads don't wait
 * for each other but at barriers (a warp's registers and a block's shared memory stay in a cache),
 * so fewer orders are seen than with all of the grid's blocks on the machine. For notes see
 * touch.c.
 */
#include "base/base.h"
#include "cpu/arch.h"
#include "cpu/deferred.h"
#include "cpu/events.h"
#include "cpu/sched.h"
#include "cpu/touch.h"

#include <sched.h>
#include <stdlib.h>

#define GROUPS	   128u	      /* about so many, so that workers end at the same time */
#define JUDGED	   64u	      /* ... where a group's blocks are to be seen in many orders */
#define PARTS	   2u	      /* a worker takes so small a part of its share of the rest at once */
#define MOST_UNITS 16u	      /* of a group */
#define MOST	   1024u      /* threads of a group of several: their registers fit in a cache */
#define LONGER	   16u	      /* times the length of turns: from barrier to barrier mostly */
#define FEWEST	   (1u << 14) /* instructions of warps that are worth waking workers: 0.3 ms */
#define MISSES	   2u	      /* launches of a kernel that are repeated, until it has one worker */

struct cpu_apart_count {
	uint64_t warp_insts, thread_insts, waited, decisions;
};

static struct cpu_worker_priv *kp(const struct cpu_worker *k)
{
	return k->priv;
}

/* ---- the start ------------------------------------------------------------------------------- */

/* As the launch and the kernel's text are, and nothing else runs. */
static bool is_apart(const struct cpu_engine *e, const struct cpu_op *op)
{
	const struct cpu_machine *m = op->m;
	const struct cpu_launch *l = &op->work.launch;

	return !op->grid->kernel->info.is_instrumented && !l->chosen && !l->is_cooperative &&
	       !l->is_programmatic && op->grid->priv->nunits > op->grid->priv->started + 1 &&
	       m->opt.model == CPU_MODEL_SC && !m->steer && !m->pages && cpu_engine_is_alone(e) &&
	       cpu_kernel_traits(op->grid->kernel)->is_apart && !op->grid->kernel->has_waited &&
	       !(op->grid->kernel->traits.has_strong && atomic_load(&m->has_host_memory));
}

static bool may_be_apart(const struct cpu_engine *e, const struct cpu_op *op)
{
	const struct cpu_grid *g = op->grid;

	return g->has_judges ||
	       (!g->events && is_apart(e, op) && !(g->proven && g->kernel->traits.has_updates));
}

/* Do workers note which words they access? Of what is proven the proof says it. */
static bool has_notes(const struct cpu_grid *g)
{
	return !g->proven || g->has_judges;
}

/* Are its atomics executed in the order of groups? */
static bool has_order(const struct cpu_grid *g)
{
	return g->kernel->traits.has_order;
}

/* Is something written down, to be carried out in that order? */
static bool has_deferred(const struct cpu_grid *g)
{
	return g->kernel->traits.has_ordered_updates || g->kernel->traits.has_strong;
}

/* Blocks that haven't begun. */
static uint64_t blocks_left(const struct cpu_grid *g)
{
	return g->nblocks - g->priv->started * cpu_grid_unit(g);
}

/* Instructions of warps that these take, as it seems. */
static uint64_t guess_insts(const struct cpu_grid *g)
{
	const struct cpu_kernel *k = g->kernel;

	if (k->last_blocks)
		return k->last_insts / k->last_blocks * blocks_left(g);
	return blocks_left(g) * g->nwarps * k->traits.weight;
}

void cpu_apart_note(struct cpu_kernel *k, uint64_t insts, uint64_t blocks)
{
	if (!insts)
		return;
	k->last_insts = insts;
	k->last_blocks = blocks;
}

static bool is_worth_it(const struct cpu_engine *e, const struct cpu_grid *g)
{
	uint32_t from = e->m->opt.apart_from;

	return from ? blocks_left(g) * g->nthreads >= from : guess_insts(g) >= FEWEST;
}

/* Is it worth it, and is there memory? */
static bool may_be_beside(struct cpu_engine *e, const struct cpu_grid *g)
{
	struct cpu_apart *a = &e->apart;

	if (e->nworkers == 1 || g->kernel->apart_misses >= MISSES || !is_worth_it(e, g))
		return false;
	if (!a->touches && has_notes(g))
		a->touches = cpu_touches_new(e->m, e->nworkers);
	if (!a->deferreds && has_deferred(g))
		a->deferreds = cpu_deferreds_new(e);
	return (a->touches || !has_notes(g)) && (a->deferreds || !has_deferred(g));
}

/* All that decides is the same with any number of workers. */
bool cpu_apart_may_have_judges(struct cpu_engine *e, const struct cpu_op *op)
{
	const struct cpu_grid *g = op->grid;

	return g->events && op->work.launch.until_ns == UINT64_MAX &&
	       g->kernel->judge_misses < MISSES && is_apart(e, op) && !has_order(g) &&
	       !g->kernel->traits.has_narrow_updates && !g->kernel->traits.has_ordered_updates &&
	       !g->kernel->traits.has_calls && is_worth_it(e, g);
}

static void leave(struct cpu_op *op)
{
	struct cpu_apart *a = &op->m->engine->apart;

	if (a->is_beside)
		atomic_store(&a->is_wrong, true);
	else
		cpu_op_take_back(op);
}

void cpu_apart_left(struct cpu_op *op)
{
	if (op->grid->has_judges)
		leave(op);
	else
		cpu_op_take_back(op);
}

bool cpu_apart_is_alone(const struct cpu_worker *k)
{
	if (k->is_beside)
		atomic_store(&k->m->engine->apart.is_wrong, true);
	return !k->is_beside;
}

/* The worker is about to judge blocks of the launch. */
static bool start_judge(struct cpu_worker *k)
{
	struct cpu_grid *g = k->m->engine->apart.grid;

	if (!g->has_judges || cpu_judge_start(k, g))
		return true;
	leave(g->op);
	return false;
}

void cpu_apart_end_judges(struct cpu_engine *e, bool counts)
{
	for (uint32_t i = 0; i < e->nworkers; i++)
		cpu_judge_end(&e->workers[i], counts);
}

static uint64_t count_insts(const struct cpu_engine *e)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->nworkers; i++)
		n += e->workers[i].warp_insts - e->apart.counts[i].warp_insts;
	return n;
}

/* Clusters of a group. */
static uint64_t units_of(const struct cpu_grid *g)
{
	uint64_t groups = g->has_judges ? JUDGED : GROUPS;
	uint64_t units = (g->priv->nunits - g->priv->started) / groups;
	uint64_t most = MOST / ((uint64_t)g->nwarps * CPU_WARP * cpu_grid_unit(g));

	most = most > MOST_UNITS ? MOST_UNITS : most;
	units = units > most ? most : units;
	return units ? units : 1;
}

bool cpu_apart_begin(struct cpu_engine *e, struct cpu_op *op)
{
	struct cpu_apart *a = &e->apart;
	struct cpu_worker *first = e->workers;

	if (!may_be_apart(e, op))
		return false;
	a->grid = op->grid;
	a->rng_before = first->rng;
	a->rng = cpu_random(first);
	a->rng_after = first->rng;
	a->hash = kp(first)->hash;
	a->clock = first->clock;
	a->units = units_of(op->grid);
	/* What is judged is to be seen in as many orders as ever. */
	a->longer =
		op->grid->has_judges || cpu_kernel_traits(op->grid->kernel)->may_spin ? 0 : LONGER;
	a->blocks = e->stats.blocks;
	a->first = op->grid->priv->started;
	atomic_store(&a->next, a->first);
	atomic_store(&a->done, 0);
	atomic_store(&a->is_wrong, false);
	atomic_store(&a->is_open, false);
	atomic_store(&a->ticket, 0);
	a->is_beside = may_be_beside(e, op->grid);
	e->stats.beside += a->is_beside;
	if (a->is_beside)
		cpu_kernel_is_hot(op->grid->kernel);
	bool defers = a->is_beside && has_deferred(op->grid);
	if (defers)
		cpu_deferreds_start(a->deferreds, a->first);
	if (!a->counts)
		a->counts = base_calloc(e->nworkers, sizeof(*a->counts));
	for (uint32_t i = 0; i < e->nworkers; i++) {
		struct cpu_worker *k = &e->workers[i];
		a->counts[i] = (struct cpu_apart_count){k->warp_insts, k->thread_insts, k->waited,
							kp(k)->decisions};
		kp(k)->share = (struct cpu_apart_share){0};
		k->is_beside = a->is_beside;
		k->has_order = a->is_beside && has_order(op->grid);
		atomic_store(&kp(k)->at, UINT64_MAX);
		k->touch = a->is_beside && has_notes(op->grid) ? cpu_touch_of(a->touches, i) : NULL;
		k->deferred = defers ? cpu_deferred_of(a->deferreds, i) : NULL;
	}
	return a->is_beside || start_judge(first);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The group of units from that one on. */
static void start_group(struct cpu_worker *k, uint64_t first)
{
	struct cpu_apart *a = &k->m->engine->apart;
	struct cpu_worker_priv *p = kp(k);

	k->rng = a->rng + 0x632be59bd9b4e019ull * (first + 1);
	k->clock = a->clock;
	p->hash = CPU_HASH_START;
	p->issued = 0;
	p->group_start = k->warp_insts;
	p->longer = a->longer;
	p->is_first = false;
	p->group = first;
	p->ntickets = 0;
	cpu_block_start_from(k, a->grid, first, a->units);
	p->ngroup = p->nblocks;
	if (k->deferred)
		cpu_deferred_begin(k->deferred, first, first + a->units);
}

void cpu_apart_place(struct cpu_worker *k)
{
	const struct cpu_apart *a = &k->m->engine->apart;
	const struct cpu_grid_priv *g = a->grid->priv;

	if (!a->is_beside && !g->is_over && !kp(k)->nblocks && g->started != g->nunits)
		start_group(k, g->started);
}

void cpu_apart_group_ended(struct cpu_worker *k)
{
	struct cpu_apart *a = &k->m->engine->apart;
	struct cpu_worker_priv *p = kp(k);
	uint64_t ns = k->clock - a->clock;

	if (p->nblocks)
		return;
	p->share.ns += ns * p->ngroup;
	p->share.longest = ns > p->share.longest ? ns : p->share.longest;
	p->share.hashes += p->hash;
	if (k->deferred)
		cpu_deferred_end(k->deferred);
	if (!a->is_beside)
		return;
	/* One worker may have opened the launch before the group's end. */
	if (k->has_order && (cpu_apart_is_long(k) || !cpu_apart_has_tickets(k)))
		atomic_store(&a->is_wrong, true);
	atomic_store(&p->at, UINT64_MAX);
	atomic_fetch_add(&a->done, p->ngroup / cpu_grid_unit(a->grid));
}

uint64_t cpu_apart_groups(const struct cpu_apart *a)
{
	return (a->grid->priv->nunits - a->first + a->units - 1) / a->units;
}

bool cpu_apart_is_over(const struct cpu_apart *a)
{
	return atomic_load(&a->is_wrong) ||
	       atomic_load(&a->done) == a->grid->priv->nunits - a->first;
}

/* A launch that has taken too long, or too much memory, goes on with one worker. */
static bool is_too_much(const struct cpu_worker *k)
{
	return cpu_apart_is_long(k) ||
	       (k->touch && cpu_touches_are_full(k->m->engine->apart.touches));
}

bool cpu_apart_must_stop(const struct cpu_engine *e)
{
	return atomic_load_explicit(&e->apart.is_wrong, memory_order_relaxed) ||
	       atomic_load_explicit(&e->is_pausing, memory_order_relaxed);
}

/* Units that a worker takes at once, if the next one is that: groups side by side, which mostly
 * access memory side by side. Workers that took each other's neighbours would write in turn to the
 * same cache lines, of notes above all. Less and less, so that all end at the same time. */
static uint64_t units_at_once(const struct cpu_worker *k, uint64_t next)
{
	const struct cpu_apart *a = &k->m->engine->apart;
	uint64_t left = next < a->grid->priv->nunits ? a->grid->priv->nunits - next : 0;
	uint64_t groups = left / (a->units * PARTS * k->m->engine->nworkers);

	return a->units * (groups && !k->has_order && !k->deferred ? groups : 1);
}

static uint64_t take_next(struct cpu_worker *k)
{
	struct cpu_apart *a = &k->m->engine->apart;
	struct cpu_apart_share *s = &kp(k)->share;
	uint64_t first = s->next;

	if (first == s->end) {
		first = atomic_load(&a->next);
		atomic_store(&kp(k)->at, first);
		do
			s->end = first + units_at_once(k, first);
		while (!atomic_compare_exchange_weak(&a->next, &first, s->end));
	}
	s->next = first + a->units;
	atomic_store(&kp(k)->at, first);
	return first;
}

/* A worker that has had none of the launch's groups has notes of an earlier one. */
static bool take_group(struct cpu_worker *k)
{
	struct cpu_apart *a = &k->m->engine->apart;
	uint64_t first = take_next(k);

	if (first >= a->grid->priv->nunits) {
		cpu_judge_done(k);
		return false;
	}
	if (!kp(k)->share.started) {
		if (k->touch)
			cpu_touch_clear(k->touch);
		if (!start_judge(k))
			return false;
	}
	start_group(k, first);
	return true;
}

bool cpu_apart_turns(struct cpu_worker *k, unsigned n)
{
	struct cpu_engine *e = k->m->engine;
	struct cpu_worker_priv *p = kp(k);

	for (; n && !cpu_apart_must_stop(e); n--) {
		if (!p->nblocks && !take_group(k))
			return false;
		/* Blocks that nothing can wake are a deadlock: which one is found in order. */
		if (!cpu_sched_step(k))
			atomic_store(&e->apart.is_wrong, true);
		/* What is to be taken back is removed as a whole, when all have stopped. */
		if (atomic_load_explicit(&e->apart.is_wrong, memory_order_relaxed))
			return false;
		/* Blocks that have ended leave at once, as they do with one worker: the clock
		 * depends on it. */
		for (size_t i = 0; i < p->ended.n; i++)
			cpu_block_end(p->ended.v[i]);
		p->ended.n = 0;
	}
	if (p->nblocks && is_too_much(k))
		atomic_store(&e->apart.is_wrong, true);
	return !cpu_apart_must_stop(e);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void splice(struct cpu_unit **to, struct cpu_unit *list)
{
	struct cpu_unit *last = list;

	if (!list)
		return;
	while (last->next)
		last = last->next;
	last->next = *to;
	if (*to)
		(*to)->prev = last;
	*to = list;
}

void cpu_apart_gather(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;
	uint64_t triggered = 0;

	if (!a->grid || !a->is_beside)
		return;
	struct cpu_grid_priv *g = a->grid->priv;
	for (uint32_t i = 0; i < e->nworkers; i++) {
		struct cpu_apart_share *s = &kp(&e->workers[i])->share;
		splice(&g->resident, s->resident);
		splice(&g->idle, s->idle);
		g->started += s->started;
		g->done += s->done;
		e->stats.blocks += s->started * cpu_grid_unit(a->grid);
		triggered += s->triggered;
		s->resident = s->idle = NULL;
		s->started = s->done = s->triggered = 0;
		e->workers[i].touch = NULL;
		e->workers[i].deferred = NULL;
		e->workers[i].is_beside = e->workers[i].has_order = false;
		kp(&e->workers[i])->ended.n = 0;
		kp(&e->workers[i])->hash = 0;
	}
	atomic_store(&a->is_open, false);
	a->is_beside = false;
	while (triggered-- && !g->is_over)
		cpu_grid_triggered(a->grid);
	if (a->touches)
		cpu_touches_end(a->touches);
	if (a->deferreds)
		cpu_deferreds_start(a->deferreds, 0);
}

/* The machine's clock and schedule go on after groups that took `ns` in all, and one so long. */
static void go_on(struct cpu_engine *e, uint64_t ns, uint64_t longest, uint64_t hashes)
{
	struct cpu_apart *a = &e->apart;
	struct cpu_worker *first = e->workers;
	uint64_t sms = a->grid->nblocks < e->sms ? a->grid->nblocks : e->sms;

	for (uint32_t i = 0; i < e->nworkers; i++)
		kp(&e->workers[i])->longer = 0;
	first->rng = a->rng_after;
	first->clock = a->clock + (ns / sms > longest ? ns / sms : longest);
	kp(first)->issued = 0;
	kp(first)->hash = a->hash;
	cpu_sched_note(kp(first), hashes);
}

void cpu_apart_open(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;
	const struct cpu_worker_priv *p = kp(e->workers);
	const struct cpu_apart_share *s = &p->share;
	uint64_t ns = e->workers[0].clock - a->clock;

	go_on(e, s->ns, s->longest > ns ? s->longest : ns, s->hashes + p->hash);
	a->grid = NULL;
	e->placing++;
}

void cpu_apart_end(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;
	uint64_t ns = 0, longest = 0, hashes = 0, insts = count_insts(e);

	cpu_apart_gather(e);
	for (uint32_t i = 0; i < e->nworkers; i++) {
		const struct cpu_apart_share *s = &kp(&e->workers[i])->share;
		ns += s->ns;
		hashes += s->hashes;
		longest = s->longest > longest ? s->longest : longest;
	}
	cpu_apart_note(a->grid->kernel, insts,
		       a->grid->nblocks - a->first * cpu_grid_unit(a->grid));
	go_on(e, ns, longest, hashes);
	/* Blocks that are stopped leave while it is known that they hold no multiprocessor. */
	while (a->grid->priv->resident)
		cpu_block_end(a->grid->priv->resident);
	a->grid = NULL;
	e->placing++;
}

/* As many as before the launch: what is taken back has not been. */
static void restore_counts(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;

	for (uint32_t i = 0; i < e->nworkers; i++) {
		struct cpu_worker *k = &e->workers[i];
		k->warp_insts = a->counts[i].warp_insts;
		k->thread_insts = a->counts[i].thread_insts;
		k->waited = a->counts[i].waited;
		kp(k)->decisions = a->counts[i].decisions;
		kp(k)->share.ns = kp(k)->share.longest = kp(k)->share.hashes = 0;
	}
	e->stats.blocks = a->blocks;
}

void cpu_apart_give_up(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;

	cpu_apart_gather(e);
	restore_counts(e);
	/* What judges didn't find clean is executed as if they had never looked at it. */
	if (a->grid->has_judges) {
		a->grid->kernel->judge_misses++;
		a->rng_after = a->rng_before;
	}
	cpu_apart_end(e);
}

/* As if nothing had been executed; no worker executes. */
static void take_back(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;
	struct cpu_grid_priv *p = a->grid->priv;

	p->is_over = true;
	if (a->grid->proven)
		cpu_proven_restart(a->grid->op);
	if (has_notes(a->grid))
		cpu_touches_undo(a->touches);
	cpu_apart_gather(e);
	while (p->resident)
		cpu_block_end(p->resident);
	cpu_units_free(p->idle);
	p->idle = NULL;
	cpu_apart_end_judges(e, false);
	restore_counts(e);
	p->started = p->done = a->first;
	p->triggered = 0;
	p->is_over = false;
	a->grid->kernel->apart_misses++;
	e->stats.taken_back++;
	atomic_store(&a->is_wrong, false);
	(void)start_judge(e->workers);
}

static void look(void *arg, uint64_t part)
{
	cpu_touches_look(arg, part);
}

static bool have_met(struct cpu_engine *e)
{
	struct cpu_touches *ts = e->apart.touches;
	bool are_deferred = has_deferred(e->apart.grid);

	cpu_workers_each(e, cpu_touches_begin_look(ts, are_deferred), look, ts);
	return cpu_touches_meet(ts);
}

/* Has anything been found that depends on the order, or that is to be judged as ever? */
static bool is_wrong(struct cpu_engine *e)
{
	const struct cpu_apart *a = &e->apart;

	if (atomic_load(&a->is_wrong) || (has_notes(a->grid) && have_met(e)))
		return true;
	for (uint32_t i = 0; a->grid->has_judges && i < e->nworkers; i++)
		if (!cpu_judge_is_clean(&e->workers[i]))
			return true;
	return false;
}

bool cpu_apart_settle(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;

	if (!cpu_apart_is_over(a))
		return false;
	cpu_workers_pause(e);
	if (is_wrong(e))
		take_back(e);
	else
		cpu_grid_ended(a->grid);
	cpu_workers_resume(e);
	return true;
}

void cpu_apart_free(struct cpu_engine *e)
{
	cpu_touches_free(e->apart.touches);
	cpu_deferreds_free(e->apart.deferreds);
	free(e->apart.counts);
}
