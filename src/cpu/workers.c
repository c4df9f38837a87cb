/*
 * workers.c - the threads that execute blocks.
 *
 * The thread that works for the machine is the first worker: it executes a turn and then checks for
 * other work, holding the lock. Others take part in launches whose blocks don't communicate, and
 * only there (apart.c): then each executes BATCH turns without the lock, and ends and starts blocks
 * with it. Clusters stay on one worker, so only memory and the engine are shared between workers.
 */
#include "cpu/sched.h"

#include <fenv.h>
#include <stdlib.h>

#define BATCH	64
#define IDLE_MS 2

static struct cpu_worker_priv *kp(const struct cpu_worker *k)
{
	return k->priv;
}

/* A worker that executes has work; its queues are then its own. */
static bool has_work(const struct cpu_engine *e, const struct cpu_worker *k)
{
	const struct cpu_worker_priv *p = kp(k);

	return p->is_busy || p->queue[0].n || p->queue[1].n || p->heap.n || p->ended.n ||
	       p->placed != e->placing;
}

/* Executes a batch without the lock, which is held before and after. */
static bool execute(struct cpu_engine *e, struct cpu_worker *k)
{
	bool did = false;

	cpu_engine_reap(k);
	e->nbusy++;
	kp(k)->is_busy = true;
	pthread_mutex_unlock(&e->lock);
	for (unsigned i = 0; i < BATCH && cpu_sched_step(k); i++) {
		did = true;
		/* Blocks that have ended leave at once, as they do with one worker: the clock
		 * depends on it. */
		if (kp(k)->ended.n || atomic_load_explicit(&e->is_pausing, memory_order_relaxed) ||
		    atomic_load_explicit(&e->apart.is_wrong, memory_order_relaxed))
			break;
	}
	pthread_mutex_lock(&e->lock);
	kp(k)->is_busy = false;
	cpu_apart_look(k);
	if (!--e->nbusy || atomic_load(&e->is_pausing))
		pthread_cond_broadcast(&e->changed);
	if (k == e->workers && e->m->listener.progress)
		e->m->listener.progress(e->m->listener.arg);
	/* What is to be taken back is removed as a whole, when all have stopped. */
	if (!atomic_load(&e->apart.is_wrong))
		cpu_engine_reap(k);
	return did;
}

static void *worker_main(void *arg)
{
	struct cpu_worker *k = arg;
	struct cpu_engine *e = k->m->engine;

	fesetenv(FE_DFL_ENV); /* a new thread has its creator's */
	pthread_mutex_lock(&e->lock);
	while (!e->is_closing) {
		if (!e->is_working || !e->apart.is_beside || !has_work(e, k) ||
		    atomic_load(&e->is_pausing) || atomic_load(&e->apart.is_wrong))
			cpu_engine_wait(e, 1000);
		else
			execute(e, k);
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static void start_threads(struct cpu_engine *e)
{
	/* The part of a worker without a thread would never run. */
	while (e->nthreads + 1 < e->nworkers) {
		struct cpu_worker *k = &e->workers[e->nthreads + 1];
		if (pthread_create(&kp(k)->thread, NULL, worker_main, k)) {
			e->nworkers = e->nthreads + 1;
			break;
		}
		e->nthreads++;
	}
}

void cpu_workers_pause(struct cpu_engine *e)
{
	atomic_store(&e->is_pausing, true);
	while (e->nbusy)
		cpu_engine_wait(e, 1000);
	for (uint32_t i = 0; i < e->nworkers; i++) {
		struct cpu_worker_priv *p = kp(&e->workers[i]);
		size_t kept = 0;
		/* Blocks of grids that are over are removed with their grid. */
		for (size_t j = 0; j < p->ended.n; j++)
			if (!p->ended.v[j]->cluster.grid->priv->is_over)
				p->ended.v[kept++] = p->ended.v[j];
		p->ended.n = kept;
	}
}

void cpu_workers_resume(struct cpu_engine *e)
{
	atomic_store(&e->is_pausing, false);
	e->placing++;
	pthread_cond_broadcast(&e->changed);
}

/* The first worker alone: it checks for other work when something has happened that may concern
 * others. */
static bool execute_locked(struct cpu_engine *e, struct cpu_worker *k)
{
	const struct cpu_worker_priv *p = kp(k);
	bool did = false;

	cpu_engine_reap(k);
	for (unsigned i = 0; i < BATCH && cpu_sched_step(k); i++) {
		did = true;
		if (p->ended.n || (e->startable.n && !e->apart.grid) ||
		    atomic_load_explicit(&e->has_fault, memory_order_relaxed))
			break;
	}
	if (p->ended.n && !atomic_load_explicit(&e->has_fault, memory_order_relaxed))
		cpu_engine_reap(k);
	if (e->m->listener.progress)
		e->m->listener.progress(e->m->listener.arg);
	return did;
}

bool cpu_workers_step(struct cpu_engine *e)
{
	struct cpu_worker *k = e->workers;

	if (!e->apart.is_beside)
		return execute_locked(e, k);
	if (cpu_apart_settle(e))
		return true;
	if (e->nthreads + 1 < e->nworkers)
		start_threads(e);
	for (uint32_t i = 1; i < e->nworkers; i++)
		if (has_work(e, &e->workers[i])) {
			pthread_cond_broadcast(&e->changed);
			break;
		}
	if (execute(e, k) || cpu_apart_settle(e))
		return true;
	for (uint32_t i = 1; i < e->nworkers; i++)
		if (has_work(e, &e->workers[i])) {
			cpu_engine_wait(e, IDLE_MS);
			return true;
		}
	if (e->nbusy)
		cpu_engine_wait(e, IDLE_MS);
	return e->nbusy != 0 || has_work(e, k);
}

void cpu_workers_join(struct cpu_engine *e)
{
	for (uint32_t i = 1; i <= e->nthreads; i++)
		pthread_join(kp(&e->workers[i])->thread, NULL);
	e->nthreads = 0;
}
