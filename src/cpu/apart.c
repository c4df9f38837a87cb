/*
 * apart.c - launches whose blocks don't communicate: by groups of blocks, on one or more workers.
 *
 * Such a launch (cpu_kernel_is_apart), if it is proven, or nothing judges it or reads again, is
 * executed by groups of blocks, each by itself, with draws that follow from the seed, the launch
 * and the group's number. Nothing else runs on the machine meanwhile. So what a group does is the
 * same whoever executes it, and whenever: workers take groups in their order, and the launch leaves
 * the same memory, clock and schedule with any number of them.
 *
 * That is so unless a block writes what another one accesses, which is a race. Workers note what
 * they access (touch.c). If they have met, or there was a fault, a deadlock or a loop that seems to
 * have no end, then all stores are undone and the launch is repeated on the first worker, group by
 * group, which is what a run with one thread does in the first place.
 *
 * Costs: a group has few blocks, so fewer orders of turns between blocks are seen than with all of
 * the grid's on the machine; there is no detector then that looks. For notes see touch.c.
 */
#include "base/base.h"
#include "cpu/events.h"
#include "cpu/sched.h"
#include "cpu/touch.h"

#include <stdlib.h>

#define GROUPS	   64u	      /* about so many, so that workers end at the same time */
#define MOST_UNITS 16u	      /* of a group */
#define FEWEST	   (1u << 13) /* threads of a launch that is worth waking workers */
#define MISSES	   2u	      /* launches of a kernel that are repeated, until it has one worker */
#define PATIENCE   (1ull << 22) /* turns of a group until the loop's end is doubted */

struct cpu_apart_count {
	uint64_t warp_insts, thread_insts, waited, decisions;
};

static struct cpu_worker_priv *kp(const struct cpu_worker *k)
{
	return k->priv;
}

/* ---- the start ------------------------------------------------------------------------------- */

static bool may_be_apart(const struct cpu_engine *e, const struct cpu_op *op)
{
	const struct cpu_machine *m = op->m;
	const struct cpu_launch *l = &op->work.launch;
	const struct cpu_grid *g = op->grid;

	return !g->events && !l->kernel->info.is_instrumented && !l->chosen && !l->is_cooperative &&
	       !l->is_programmatic && g->priv->nunits > 1 && m->opt.model == CPU_MODEL_SC &&
	       !m->steer && !m->pages && cpu_engine_is_alone(e) && cpu_kernel_is_apart(l->kernel);
}

/* Is it worth it, and is there memory? */
static bool may_be_beside(struct cpu_engine *e, const struct cpu_grid *g)
{
	struct cpu_apart *a = &e->apart;
	uint32_t from = e->m->opt.apart_from;

	if (e->nworkers == 1 || g->kernel->apart_misses >= MISSES ||
	    g->nblocks * g->nthreads < (from ? from : FEWEST))
		return false;
	if (!a->touches)
		a->touches = cpu_touches_new(e->m, e->nworkers);
	return a->touches != NULL;
}

bool cpu_apart_begin(struct cpu_engine *e, struct cpu_op *op)
{
	struct cpu_apart *a = &e->apart;
	struct cpu_worker *first = e->workers;
	uint64_t units;

	if (!may_be_apart(e, op))
		return false;
	units = op->grid->priv->nunits / GROUPS;
	a->grid = op->grid;
	a->rng = cpu_random(first);
	a->rng_after = first->rng;
	a->hash = kp(first)->hash;
	a->clock = first->clock;
	a->units = !units ? 1 : units > MOST_UNITS ? MOST_UNITS : units;
	a->ns = a->longest = a->hashes = 0;
	a->blocks = e->stats.blocks;
	atomic_store(&a->is_wrong, false);
	a->is_beside = may_be_beside(e, op->grid);
	e->stats.beside += a->is_beside;
	if (!a->counts)
		a->counts = base_calloc(e->nworkers, sizeof(*a->counts));
	for (uint32_t i = 0; i < e->nworkers; i++) {
		struct cpu_worker *k = &e->workers[i];
		a->counts[i] = (struct cpu_apart_count){k->warp_insts, k->thread_insts, k->waited,
							kp(k)->decisions};
		k->touch = a->is_beside ? cpu_touch_of(a->touches, i) : NULL;
	}
	return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

void cpu_apart_place(struct cpu_worker *k)
{
	struct cpu_engine *e = k->m->engine;
	struct cpu_apart *a = &e->apart;
	struct cpu_grid_priv *g = a->grid->priv;
	struct cpu_worker_priv *p = kp(k);

	if (g->is_over || p->nblocks || g->started == g->nunits || atomic_load(&a->is_wrong) ||
	    (k != e->workers && !a->is_beside))
		return;
	k->rng = a->rng + 0x632be59bd9b4e019ull * (g->started + 1);
	k->clock = a->clock;
	p->hash = CPU_HASH_START;
	p->issued = 0;
	p->group_start = p->decisions;
	cpu_block_start_next(k, a->grid, a->units);
	p->ngroup = p->nblocks;
}

void cpu_apart_group_ended(struct cpu_worker *k)
{
	struct cpu_apart *a = &k->m->engine->apart;
	struct cpu_worker_priv *p = kp(k);
	uint64_t ns = k->clock - a->clock;

	if (p->nblocks)
		return;
	a->ns += ns * p->ngroup;
	a->longest = ns > a->longest ? ns : a->longest;
	a->hashes += p->hash;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void leave_workers(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;

	for (uint32_t i = 0; a->is_beside && i < e->nworkers; i++) {
		e->workers[i].touch = NULL;
		kp(&e->workers[i])->hash = 0;
	}
	if (a->is_beside)
		cpu_touches_clear(a->touches);
	a->is_beside = false;
}

void cpu_apart_end(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;
	struct cpu_worker *first = e->workers;
	uint64_t sms = a->grid->nblocks < e->sms ? a->grid->nblocks : e->sms;
	uint64_t ns = a->ns / sms;

	leave_workers(e);
	first->rng = a->rng_after;
	first->clock = a->clock + (ns > a->longest ? ns : a->longest);
	kp(first)->issued = 0;
	kp(first)->hash = a->hash;
	cpu_sched_note(kp(first), a->hashes);
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
	}
	e->stats.blocks = a->blocks;
}

void cpu_apart_give_up(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;

	restore_counts(e);
	a->ns = a->longest = a->hashes = 0;
	cpu_apart_end(e);
}

/* As if nothing had been executed; no worker executes. */
static void take_back(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;
	struct cpu_grid_priv *p = a->grid->priv;

	p->is_over = true;
	while (p->resident)
		cpu_block_end(p->resident);
	cpu_units_free(p->idle);
	p->idle = NULL;
	cpu_touches_undo(a->touches);
	if (a->grid->proven)
		cpu_proven_restart(a->grid->op);
	restore_counts(e);
	leave_workers(e);
	a->ns = a->longest = a->hashes = 0;
	p->started = p->fetched = p->done = p->triggered = 0;
	p->is_over = false;
	a->grid->kernel->apart_misses++;
	e->stats.taken_back++;
	atomic_store(&a->is_wrong, false);
}

void cpu_apart_look(struct cpu_worker *k)
{
	const struct cpu_worker_priv *p = kp(k);
	struct cpu_apart *a = &k->m->engine->apart;

	if ((p->nblocks && p->decisions - p->group_start > PATIENCE) ||
	    cpu_touches_are_full(a->touches))
		atomic_store(&a->is_wrong, true);
}

bool cpu_apart_settle(struct cpu_engine *e)
{
	struct cpu_apart *a = &e->apart;

	if (!atomic_load(&a->is_wrong) && a->grid->priv->done != a->grid->priv->nunits)
		return false;
	/* What has ended, but isn't reaped yet, is removed with the rest. */
	a->grid->priv->is_over = atomic_load(&a->is_wrong);
	cpu_workers_pause(e);
	a->grid->priv->is_over = false;
	if (atomic_load(&a->is_wrong) || cpu_touches_meet(a->touches))
		take_back(e);
	else
		cpu_grid_ended(a->grid);
	cpu_workers_resume(e);
	return true;
}

void cpu_apart_free(struct cpu_engine *e)
{
	cpu_touches_free(e->apart.touches);
	free(e->apart.counts);
}
