/*
 * workers.c - the threads that execute blocks.
 *
 * The thread that works for the machine is the first worker: it executes a turn and then checks for
 * other work, holding the lock. Others take part in launches whose blocks don't communicate, and
 * only there (apart.c): they are called when one begins, take groups of its blocks until none is
 * left, without the lock, and wait for the next call, first awake. The first worker releases the
 * lock for BATCH turns then. Clusters stay on one worker, so only memory and the engine are shared
 * between workers.
 */
#include "base/processors.h"
#include "cpu/arch.h"
#include "cpu/sched.h"

#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#define BATCH	64
#define IDLE_MS 2
#define SPINS	10000u /* looks of a worker that waits, before it sleeps: some 0.1 to 0.5 ms */

static struct cpu_worker_priv *kp(const struct cpu_worker *k)
{
	return k->priv;
}

/* Of the program's signals the machine's threads take none: one that all of the program's own
 * threads block, to wait for it, would end the process. Faults stay open (events/host_signal.c). */
int cpu_thread_start(pthread_t *t, void *(*fn)(void *), void *arg)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t all, own;
	int rc;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, &own);
	rc = pthread_create(t, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &own, NULL);
	return rc;
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Wakes the thread that works, if it sleeps until workers have done something. */
static void notify(struct cpu_engine *e)
{
	if (!atomic_load(&e->awaits))
		return;
	pthread_mutex_lock(&e->lock);
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

/* Until there is another call than that one. */
static uint32_t await_call(struct cpu_engine *e, struct cpu_worker_priv *p, uint32_t last)
{
	for (uint32_t i = 0; i < e->spins; i++) {
		if (atomic_load(&e->round) != last)
			return atomic_load(&e->round);
		cpu_arch_relax();
	}
	pthread_mutex_lock(&p->sleep_lock);
	p->is_asleep = true;
	while (atomic_load(&e->round) == last)
		pthread_cond_wait(&p->sleep, &p->sleep_lock);
	p->is_asleep = false;
	pthread_mutex_unlock(&p->sleep_lock);
	return atomic_load(&e->round);
}

static void call(struct cpu_engine *e, uint64_t n)
{
	atomic_fetch_add(&e->round, 1);
	for (uint32_t i = 1; i <= e->nthreads && i < n; i++) {
		struct cpu_worker_priv *p = kp(&e->workers[i]);
		pthread_mutex_lock(&p->sleep_lock);
		if (p->is_asleep)
			pthread_cond_signal(&p->sleep);
		pthread_mutex_unlock(&p->sleep_lock);
	}
}

static void do_items(struct cpu_shared *s)
{
	for (uint64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n;)
		s->fn(s->arg, i);
}

/* A launch that is paused or has ended since the call has nothing for it: nbusy is counted before
 * that is looked at, and the thread that pauses looks at nbusy after it has said so. */
static void take_part(struct cpu_engine *e, struct cpu_worker *k)
{
	atomic_fetch_add(&e->nbusy, 1);
	if (atomic_load(&e->is_sharing))
		do_items(&e->shared);
	else if (!atomic_load(&e->is_pausing) && atomic_load(&e->apart.is_open))
		while (cpu_apart_turns(k, BATCH))
			;
	atomic_fetch_sub(&e->nbusy, 1);
	notify(e);
}

static void *worker_main(void *arg)
{
	struct cpu_worker *k = arg;
	struct cpu_engine *e = k->m->engine;
	uint32_t last = kp(k)->first_round;

	fesetenv(FE_DFL_ENV); /* a new thread has its creator's */
	for (;;) {
		last = await_call(e, kp(k), last);
		if (atomic_load(&e->is_closing))
			return NULL;
		take_part(e, k);
	}
}

static void start_threads(struct cpu_engine *e)
{
	/* Where there are too few processors one that waits awake keeps others from working. */
	e->spins = base_processors() >= e->nworkers ? SPINS : 0;
	/* The part of a worker without a thread would never run. */
	while (e->nthreads + 1 < e->nworkers) {
		struct cpu_worker *k = &e->workers[e->nthreads + 1];
		kp(k)->first_round = atomic_load(&e->round);
		if (cpu_thread_start(&kp(k)->thread, worker_main, k)) {
			e->nworkers = e->nthreads + 1;
			break;
		}
		e->nthreads++;
	}
}

/* ---- the one that works ---------------------------------------------------------------------- */

/* Waits, awake at first, until no other worker executes, or, if asked for, the launch is over or
 * the machine is to do something else. */
static void await_others(struct cpu_engine *e, bool may_go_on)
{
	for (uint32_t i = 0; i < e->spins; i++) {
		if (!atomic_load(&e->nbusy) || (may_go_on && cpu_apart_is_over(&e->apart)))
			return;
		cpu_arch_relax();
	}
	atomic_store(&e->awaits, true);
	while (atomic_load(&e->nbusy)) {
		if (may_go_on && cpu_apart_is_over(&e->apart))
			break;
		cpu_engine_wait(e, may_go_on ? IDLE_MS : 1000);
		if (may_go_on)
			break;
	}
	atomic_store(&e->awaits, false);
}

void cpu_workers_pause(struct cpu_engine *e)
{
	atomic_store(&e->is_pausing, true);
	await_others(e, false);
}

void cpu_workers_resume(struct cpu_engine *e)
{
	atomic_store(&e->is_pausing, false);
	e->placing++;
	if (e->apart.is_beside && atomic_load(&e->apart.is_open))
		call(e, cpu_apart_groups(&e->apart));
	pthread_cond_broadcast(&e->changed);
}

/* A worker that comes late finds nothing left, and is waited for all the same: it reads what to do.
 * The lock isn't released meanwhile. */
void cpu_workers_each(struct cpu_engine *e, uint64_t n, cpu_item_fn *fn, void *arg)
{
	bool is_shared = e->spins && e->nthreads && n > 1;

	e->shared.fn = fn;
	e->shared.arg = arg;
	e->shared.n = n;
	atomic_store(&e->shared.next, 0);
	if (is_shared) {
		atomic_store(&e->is_sharing, true);
		call(e, n);
	}
	do_items(&e->shared);
	atomic_store(&e->is_sharing, false);
	for (uint32_t i = 0; is_shared && atomic_load(&e->nbusy); i++)
		if (i < e->spins)
			cpu_arch_relax();
		else
			sched_yield();
}

/* Alone: it checks for other work when something has happened that may concern others. */
static bool execute_locked(struct cpu_engine *e, struct cpu_worker *k)
{
	const struct cpu_worker_priv *p = kp(k);
	bool did = false;

	cpu_apart_look(e);
	cpu_engine_reap(k);
	/* The rest of a launch has begun that has several workers. */
	if (e->apart.is_beside)
		return true;
	for (unsigned i = 0; i < BATCH && cpu_sched_step(k); i++) {
		did = true;
		if (p->ended.n || (e->startable.n && !e->apart.grid) ||
		    atomic_load_explicit(&e->has_fault, memory_order_relaxed) ||
		    atomic_load_explicit(&e->has_stop, memory_order_relaxed))
			break;
	}
	if (p->ended.n && !atomic_load_explicit(&e->has_fault, memory_order_relaxed))
		cpu_engine_reap(k);
	if (e->m->listener.progress)
		e->m->listener.progress(e->m->listener.arg);
	return did;
}

/* Beside others: a batch without the lock, which is held before and after. */
static void execute_beside(struct cpu_engine *e, struct cpu_worker *k)
{
	if (!atomic_load(&e->apart.is_open)) {
		if (e->nthreads + 1 < e->nworkers)
			start_threads(e);
		atomic_store(&e->apart.is_open, true);
		call(e, cpu_apart_groups(&e->apart));
	}
	pthread_mutex_unlock(&e->lock);
	bool has_more = cpu_apart_turns(k, BATCH);
	pthread_mutex_lock(&e->lock);
	if (e->m->listener.progress)
		e->m->listener.progress(e->m->listener.arg);
	if (!has_more && !cpu_apart_is_over(&e->apart))
		await_others(e, true);
}

bool cpu_workers_step(struct cpu_engine *e)
{
	struct cpu_worker *k = e->workers;

	if (!e->apart.is_beside)
		return execute_locked(e, k);
	if (!cpu_apart_settle(e))
		execute_beside(e, k);
	return true;
}

void cpu_workers_join(struct cpu_engine *e)
{
	call(e, e->nworkers);
	for (uint32_t i = 1; i <= e->nthreads; i++)
		pthread_join(kp(&e->workers[i])->thread, NULL);
	e->nthreads = 0;
}
