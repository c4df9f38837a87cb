/*
 * engine.c - which thread does the machine's work, and which wait for it.
 *
 * One lock guards everything. The host thread that waits for an operation does
 * the machine's work meanwhile, holding the lock and releasing it when another thread wants it;
 * other waiters sleep until an operation has ended. If no thread has worked for CPU_GRACE_MS
 * although there is something to do, as the program does something else (grace.c), a thread of the
 * engine's own continues, and the run is no longer replayable. What may start and what has ended is
 * op.c's.
 */
#include "base/clock.h"
#include "cpu/sched.h"
#include "cpu/repeat.h"
#include "cpu/events.h"
#include "cpu/past.h"

#include <fenv.h>
#include <sched.h>

#include <time.h>
#include <unistd.h>

#define POLL_MS	    1
#define QUERY_STEPS 4 /* batches */
#define IDLE_LOOKS  20

/* ---- time and the lock ------------------------------------------------------------- */

/* Does the calling thread hold the lock (of whichever machine)? */
static _Thread_local bool holds_lock;

static void take_lock(struct cpu_engine *e)
{
	pthread_mutex_lock(&e->lock);
	holds_lock = true;
}

static void lock(struct cpu_engine *e)
{
	atomic_fetch_add(&e->wanted, 1);
	take_lock(e);
	atomic_fetch_sub(&e->wanted, 1);
}

static void unlock(struct cpu_engine *e)
{
	holds_lock = false;
	pthread_mutex_unlock(&e->lock);
}

void cpu_engine_hold(struct cpu_machine *m)
{
	lock(m->engine);
}

void cpu_engine_let_go(struct cpu_machine *m)
{
	unlock(m->engine);
}

bool cpu_engine_is_held(const struct cpu_machine *m)
{
	(void)m;
	return holds_lock;
}

void cpu_engine_forget(struct cpu_machine *m, const struct cpu_module *mod)
{
	bool is_mine = !holds_lock;

	if (is_mine)
		lock(m->engine);
	cpu_spares_clear(m->engine, mod);
	cpu_repeats_forget(m, mod);
	if (is_mine)
		unlock(m->engine);
}

/* The calling thread's own, in wait_until. */
static _Thread_local const struct cpu_waiter *my_wait;

bool cpu_engine_all_wait(struct cpu_engine *e)
{
	for (const struct cpu_waiter *w = e->waiters; w; w = w->next)
		if (w != my_wait && w->is_done(e, w->arg))
			return false;
	return true;
}

/*
 * While working: gives the lock to threads that want it, or whose wait is over. These sleep, and
 * the work may depend on what they do next, so they get the lock before anything else is done.
 */
static void breathe(struct cpu_engine *e)
{
	bool has_news = e->has_news && !cpu_engine_all_wait(e);
	uint32_t n = atomic_load(&e->nwaiters);

	e->has_news = has_news;
	if (!has_news && !atomic_load_explicit(&e->wanted, memory_order_relaxed))
		return;
	unlock(e);
	for (unsigned i = 0; i < 1000; i++) {
		if (!atomic_load(&e->wanted) && !(has_news && atomic_load(&e->nwaiters) == n))
			break;
		sched_yield();
	}
	take_lock(e);
}

static void wait_for(struct cpu_engine *e, pthread_cond_t *cond, uint64_t ms)
{
	struct timespec t = base_clock_after(CLOCK_MONOTONIC, ms);

	pthread_cond_timedwait(cond, &e->lock, &t);
}

void cpu_engine_wait(struct cpu_engine *e, uint64_t ms)
{
	wait_for(e, &e->changed, ms);
}

void cpu_engine_changed(struct cpu_engine *e)
{
	if (e->is_asleep)
		pthread_cond_signal(&e->nudge);
	pthread_cond_broadcast(&e->changed);
}

/* ---- working --------------------------------------------------------------------------------- */

void cpu_engine_enter(struct cpu_engine *e)
{
	if (e->apart.is_beside)
		lock(e);
}

void cpu_engine_leave(struct cpu_engine *e)
{
	if (e->apart.is_beside)
		unlock(e);
}

void cpu_engine_reap(struct cpu_worker *k)
{
	struct cpu_engine *e = k->m->engine;
	struct cpu_worker_priv *p = k->priv;

	for (size_t i = 0; i < p->ended.n; i++) {
		struct cpu_grid *g = p->ended.v[i]->cluster.grid;
		cpu_block_end(p->ended.v[i]);
		if (g->priv->done == g->priv->nunits)
			cpu_grid_ended(g);
	}
	p->ended.n = 0;
	if (p->placed == e->placing)
		return;
	p->placed = e->placing;
	for (unsigned d = 0; d < e->m->opt.devices; d++)
		if (e->devices[d].grids)
			cpu_block_place(k, d);
}

/* A piece of work. False: there is nothing that could be done now. */
static bool work(struct cpu_engine *e)
{
	bool did = cpu_ops_start(e);

	if (e->held.n && cpu_ops_start_held(e, false))
		did = true;
	if (atomic_load_explicit(&e->has_fault, memory_order_relaxed)) {
		cpu_faults_act(e);
		did = true;
	}
	if (atomic_load_explicit(&e->has_stop, memory_order_relaxed)) {
		cpu_ops_stop(e);
		did = true;
	}
	cpu_deadlock_look(e);
	cpu_ops_cut(e);
	if (cpu_workers_step(e)) {
		did = true;
		if (e->polls.n && !(++e->npolled & 3))
			cpu_ops_poll(e);
	} else if (e->polls.n && cpu_ops_poll(e)) {
		did = true;
	} else if (!did && e->held.n && cpu_ops_start_held(e, true)) {
		did = true;
	} else if (!did && (!e->startable.n || e->apart.grid) && cpu_deadlock_find(e)) {
		did = true;
	}
	return did;
}

typedef bool done_fn(struct cpu_engine *e, const void *arg);

/*
 * The host's thread works with the rounding and flushing of a fresh thread; its own, which a host
 * built with -ffast-math or a call of fesetround has changed, come back in `own`.
 */
static void start_working(struct cpu_engine *e, fenv_t *own)
{
	e->is_working = true;
	cpu_time_checked(e);
	fegetenv(own);
	fesetenv(FE_DFL_ENV);
	if (e->apart.is_beside)
		cpu_workers_resume(e);
}

static void stop_working(struct cpu_engine *e, const fenv_t *own)
{
	/* Others execute only while a thread works. */
	if (e->apart.is_beside)
		cpu_workers_pause(e);
	fesetenv(own);
	e->is_working = false;
	cpu_time_checked(e);
	e->last_worked = base_now_ms();
	pthread_cond_broadcast(&e->changed);
}

static void wait_until(struct cpu_engine *e, done_fn *is_done, const void *arg)
{
	struct cpu_waiter me = {e->waiters, is_done, arg}, **at = &e->waiters;
	fenv_t own;

	e->waiters = &me;
	my_wait = &me;
	e->nwaiters++;
	while (!is_done(e, arg)) {
		if (e->is_working) {
			cpu_engine_wait(e, 1000);
			continue;
		}
		bool did = true;
		start_working(e, &own);
		while (!is_done(e, arg) && (did = work(e)))
			breathe(e);
		stop_working(e, &own);
		if (!is_done(e, arg) && !did)
			cpu_engine_wait(e, e->polls.n ? POLL_MS : 1000);
	}
	while (*at != &me)
		at = &(*at)->next;
	*at = me.next;
	my_wait = NULL;
	e->nwaiters--;
}

static bool op_is_done(struct cpu_engine *e, const void *arg)
{
	(void)e;
	return cpu_op_is_ended(arg);
}

struct bounded {
	const struct cpu_op *op;
	uint64_t until; /* base_now_ms */
};

static bool op_is_done_or_late(struct cpu_engine *e, const void *arg)
{
	const struct bounded *b = arg;

	return op_is_done(e, b->op) || base_now_ms() >= b->until;
}

static bool device_is_idle(struct cpu_engine *e, const void *arg)
{
	unsigned device = *(const unsigned *)arg;

	return device < e->m->opt.devices ? !e->devices[device].nops : !e->nops;
}

static bool is_left(struct cpu_engine *e, const struct cpu_grace *g)
{
	return e->nops && !e->npauses && !e->is_working && !e->is_closing &&
	       g->since == e->last_worked;
}

/* Is there work, and does the program do something else? Gives the lock away meanwhile, as a thread
 * that waits for it seems to sleep. */
static bool is_abandoned(struct cpu_engine *e, struct cpu_grace *g)
{
	if (g->since != e->last_worked)
		cpu_grace_begin(g, e->last_worked);
	if (!is_left(e, g))
		return false;
	unlock(e);
	bool is_over = cpu_grace_is_over(e, g);
	take_lock(e);
	return is_over && is_left(e, g);
}

/* It looks by itself whether there is something to do, and isn't woken by each launch: only where
 * the work is its own, or when there has been none for some time. */
static void *background_main(void *arg)
{
	struct cpu_engine *e = arg;
	struct cpu_grace grace = {0};
	unsigned idle = 0;
	fenv_t own;

	take_lock(e);
	while (!e->is_closing) {
		idle = e->nops ? 0 : idle + 1;
		if (!is_abandoned(e, &grace)) {
			if (e->is_closing)
				break;
			e->is_asleep = idle > IDLE_LOOKS;
			wait_for(e, &e->nudge, e->is_asleep ? 10000 : CPU_GRACE_MS / 4);
			e->is_asleep = false;
			continue;
		}
		start_working(e, &own);
		if (work(e)) {
			e->is_replayable = false;
			while (!e->is_closing && work(e))
				breathe(e);
		}
		stop_working(e, &own);
		e->is_asleep = true;
		wait_for(e, &e->nudge, e->polls.n ? POLL_MS : CPU_GRACE_MS / 4);
		e->is_asleep = false;
	}
	unlock(e);
	return NULL;
}

/* ---- operations: public ---------------------------------------------------------------------- */

static struct cpu_op *refuse(struct cpu_fault *fault, enum cpu_fault_kind kind, const char *why)
{
	if (fault) {
		fault->kind = kind;
		snprintf(fault->text, sizeof(fault->text), "%s", why);
	}
	return NULL;
}

struct cpu_op *cpu_submit(struct cpu_machine *m, const struct cpu_work *work,
			  struct cpu_op *const *deps, size_t n, struct cpu_fault *fault)
{
	struct cpu_engine *e = m->engine;
	struct cpu_fault why;
	struct cpu_op *op;

	if (work->device >= m->opt.devices)
		return refuse(fault, CPU_FAULT_ILLEGAL, "there is no such device");
	if (work->kind == CPU_WORK_KERNEL && cpu_grid_refuses(e, &work->launch, &why))
		return refuse(fault, why.kind, why.text);
	op = cpu_op_new(m, work);
	if (!op)
		return refuse(fault, CPU_FAULT_RESOURCES, "host memory is exhausted");
	if (work->kind == CPU_WORK_KERNEL && cpu_kernel_uses_heap(work->launch.kernel))
		cpu_heap_use(m, work->device);
	lock(e);
	op->id = ++e->ids;
	e->nops++;
	e->devices[work->device].nops++;
	cpu_event_submit(op, deps, n);
	cpu_past_submit(op, deps, n);
	for (size_t i = 0; i < n; i++)
		cpu_op_depend(op, deps[i]);
	if (!op->npending && work->kind == CPU_WORK_EMPTY)
		cpu_op_end(op);
	else if (!op->npending)
		base_vec_push(&e->startable, op);
	if (!e->is_working)
		e->last_worked = base_now_ms();
	if (!e->has_background)
		e->has_background = !cpu_thread_start(&e->background, background_main, e);
	cpu_engine_changed(e);
	unlock(e);
	return op;
}

bool cpu_engine_is_alone(const struct cpu_engine *e)
{
	const struct cpu_worker_priv *p = e->workers[0].priv;

	for (unsigned d = 0; d < e->m->opt.devices; d++)
		if (e->devices[d].grids)
			return false;
	return !p->queue[0].n && !p->queue[1].n && !p->heap.n && !e->nhost;
}

/* Has it ended? Then what the host does from now on comes after it. */
static bool is_waited_for(struct cpu_op *op)
{
	if (!cpu_op_is_ended(op))
		return false;
	cpu_event_waited(op);
	cpu_past_waited(op, true);
	return true;
}

bool cpu_op_query(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;
	fenv_t own;

	if (is_waited_for(op))
		return true;
	lock(e);
	if (!e->is_working) {
		start_working(e, &own);
		for (unsigned i = 0; i < QUERY_STEPS && !cpu_op_is_ended(op) && work(e); i++)
			breathe(e);
		stop_working(e, &own);
	}
	unlock(e);
	return is_waited_for(op);
}

bool cpu_run_for(struct cpu_machine *m, uint64_t ns)
{
	struct cpu_engine *e = m->engine;
	bool is_mine;
	fenv_t own;

	lock(e);
	is_mine = !e->is_working;
	if (is_mine && e->nops) {
		uint64_t end = e->workers[0].clock + ns;
		start_working(e, &own);
		while (e->workers[0].clock < end && work(e))
			breathe(e);
		stop_working(e, &own);
	}
	unlock(e);
	return is_mine;
}

void cpu_op_wait(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;

	if (!cpu_op_is_ended(op)) {
		lock(e);
		wait_until(e, op_is_done, op);
		unlock(e);
	}
	cpu_event_waited(op);
	cpu_past_waited(op, true);
}

bool cpu_op_wait_for(struct cpu_op *op, uint64_t ms)
{
	struct cpu_engine *e = op->m->engine;
	struct bounded b = {op, base_now_ms() + ms};

	if (!cpu_op_is_ended(op)) {
		lock(e);
		wait_until(e, op_is_done_or_late, &b);
		unlock(e);
	}
	return is_waited_for(op);
}

void cpu_grace_pause(struct cpu_machine *m)
{
	lock(m->engine);
	m->engine->npauses++;
	unlock(m->engine);
}

void cpu_grace_resume(struct cpu_machine *m)
{
	lock(m->engine);
	m->engine->npauses--;
	m->engine->last_worked = base_now_ms();
	unlock(m->engine);
}

void cpu_op_finish(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;

	lock(e);
	if (!op->is_finished) {
		op->is_finished = true;
		if (atomic_load(&op->state) == CPU_OP_RUNNING)
			cpu_op_end(op);
	}
	unlock(e);
}

uint64_t cpu_op_time(const struct cpu_op *op)
{
	return atomic_load(&op->time);
}

void cpu_wait_idle(struct cpu_machine *m, unsigned device)
{
	lock(m->engine);
	wait_until(m->engine, device_is_idle, &device);
	unlock(m->engine);
	cpu_event_idle(m, device);
	cpu_past_idle(m, device);
}
