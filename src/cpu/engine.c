/*
 * engine.c - the graph of operations: what may start, what has ended; who runs
 * it, and the machine's beginning and end.
 *
 * One lock guards everything. The host thread that waits for an operation does
 * the machine's work meanwhile, holding the lock and letting it go when another
 * thread wants it; other waiters sleep until an operation has ended. When
 * nobody has worked for CPU_GRACE_MS although there is something to do, a
 * thread of the engine's own goes on, and the run is no longer replayable.
 *
 * A host function runs in a thread of its own. The engine waits for it up to
 * CPU_GRACE_MS, so that short ones leave the schedule as it is, then goes on
 * beside it.
 *
 * After a device's first fault its kernels are dropped and later operations on
 * it end when they would start. Deadlock is told when nothing is ready and
 * nothing sleeps although blocks are resident; what host functions do cannot
 * wake a thread at a barrier.
 */
#include "cpu/sched.h"
#include "cpu/events.h"

#include <fenv.h>
#include <sched.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS	    1
#define QUERY_STEPS 4 /* batches */

/* ---- time and the lock ------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Has the calling thread the lock (of whichever machine)? */
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
 * While working: lets others have the lock who want it, or whose wait is over. Those sleep, and
 * what they do next may be what the work waits for: they have the lock before anything else is
 * done.
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

void cpu_engine_wait(struct cpu_engine *e, uint64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	t.tv_sec += (time_t)(ms / 1000) + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&e->changed, &e->lock, &t);
}

/* ---- the ends of operations ----------------------------------------------------------- */

struct cpu_op *cpu_op_get(struct cpu_op *op)
{
	atomic_fetch_add(&op->refs, 1);
	return op;
}

void cpu_op_put(struct cpu_op *op)
{
	if (!op || atomic_fetch_sub(&op->refs, 1) != 1)
		return;
	base_vec_free(&op->after);
	base_vec_free(&op->before);
	base_vec_free(&op->judge_before);
	free(op->copy);
	free(op->recheck);
	free(op);
}

static bool is_ended(const struct cpu_op *op)
{
	return atomic_load(&op->state) == CPU_OP_ENDED;
}

void cpu_op_end(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;

	cpu_judge_end(op);
	atomic_store(&op->time, e->workers[0].clock + 1);
	atomic_store(&op->state, CPU_OP_ENDED);
	for (size_t i = 0; i < op->after.n; i++)
		if (!--op->after.v[i]->npending)
			base_vec_push(&e->startable, op->after.v[i]);
	op->after.n = 0;
	for (size_t i = 0; i < op->before.n; i++)
		cpu_op_put(op->before.v[i]);
	op->before.n = 0;
	e->devices[op->work.device].nops--;
	e->nops--;
	e->has_news = true;
	cpu_op_put(op);
	pthread_cond_broadcast(&e->changed);
}

void cpu_op_trigger(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;
	size_t kept = 0;

	op->has_triggered = true;
	for (size_t i = 0; i < op->after.n; i++) {
		struct cpu_op *next = op->after.v[i];
		bool is_early = next->work.kind == CPU_WORK_KERNEL &&
				next->work.launch.is_programmatic && !next->is_finishing;
		if (!is_early)
			op->after.v[kept++] = next;
		else if (!--next->npending)
			base_vec_push(&e->startable, next);
	}
	op->after.n = kept;
}

/* The blocks have ended. A launch that came early ends after those it came before. */
static void end_kernel(struct cpu_op *op)
{
	uint32_t n = 0;

	op->grid->ended = op->m->engine->workers[0].clock;
	cpu_grid_free(op->grid);
	op->grid = NULL;
	op->is_finishing = true;
	for (size_t i = 0; i < op->before.n; i++)
		if (!is_ended(op->before.v[i])) {
			base_vec_push(&op->before.v[i]->after, op);
			n++;
		}
	op->npending = n;
	if (!n)
		cpu_op_end(op);
}

/* ---- faults ----------------------------------------------------------------------------- */

void cpu_engine_fault(struct cpu_machine *m, unsigned device, const struct cpu_fault *f)
{
	struct cpu_engine *e = m->engine;

	pthread_mutex_lock(&e->fault_lock);
	bool is_first = e->devices[device].fault.kind == CPU_FAULT_NONE;
	if (is_first)
		e->devices[device].fault = *f;
	pthread_mutex_unlock(&e->fault_lock);
	atomic_store(&e->has_fault, true);
	if (is_first && m->listener.fault)
		m->listener.fault(m->listener.arg, device, f);
}

void cpu_fault_get(struct cpu_machine *m, unsigned device, struct cpu_fault *out)
{
	struct cpu_engine *e = m->engine;

	pthread_mutex_lock(&e->fault_lock);
	*out = e->devices[device].fault;
	pthread_mutex_unlock(&e->fault_lock);
}

void cpu_fault_clear(struct cpu_machine *m, unsigned device)
{
	struct cpu_engine *e = m->engine;

	pthread_mutex_lock(&e->fault_lock);
	memset(&e->devices[device].fault, 0, sizeof(e->devices[device].fault));
	pthread_mutex_unlock(&e->fault_lock);
}

static bool is_faulted(const struct cpu_engine *e, unsigned device)
{
	return e->devices[device].fault.kind != CPU_FAULT_NONE;
}

/* Drops what runs on devices that have a fault. */
static void act_on_faults(struct cpu_engine *e)
{
	for (unsigned d = 0; d < e->m->opt.devices; d++)
		for (struct cpu_grid *g = e->devices[d].grids; g; g = g->priv->next)
			if (is_faulted(e, d))
				g->priv->is_over = true;
	cpu_workers_pause(e);
	atomic_store(&e->has_fault, false);
	for (unsigned d = 0; d < e->m->opt.devices; d++)
		while (is_faulted(e, d) && e->devices[d].grids)
			end_kernel(e->devices[d].grids->op);
	cpu_workers_resume(e);
}

static void deadlock_text(const struct cpu_grid *g, char *text, size_t n)
{
	uint64_t blocks = 0;
	char where[256] = "";

	for (const struct cpu_unit *u = g->priv->resident; u; u = u->next)
		for (uint32_t r = 0; r < u->cluster.size; r++) {
			const struct cpu_cta *cta = &u->blocks[r].cta;
			if (!cta->nlive)
				continue;
			/* The list has the newest first: the oldest block is described. */
			cpu_barrier_describe(cta, where, sizeof(where));
			blocks++;
		}
	snprintf(text, n, "deadlock in %s: %llu block%s can't go on; %s", g->func->name,
		 (unsigned long long)blocks, blocks == 1 ? "" : "s", where);
}

/* Nothing is ready and nothing sleeps. True: blocks are resident, so that is for ever. */
static bool find_deadlock(struct cpu_engine *e)
{
	bool found = false;

	for (unsigned d = 0; d < e->m->opt.devices; d++)
		for (struct cpu_grid *g = e->devices[d].grids; g; g = g->priv->next) {
			struct cpu_fault f = {.kind = CPU_FAULT_DEADLOCK};
			if (!g->priv->resident)
				continue;
			deadlock_text(g, f.text, sizeof(f.text));
			cpu_engine_fault(e->m, d, &f);
			found = true;
		}
	return found;
}

/* ---- host functions ---------------------------------------------------------------------- */

static void *host_main(void *arg)
{
	struct cpu_op *op = arg;
	struct cpu_engine *e = op->m->engine;

	cpu_judge_host(op);
	op->work.host.fn(op->work.host.arg);
	lock(e);
	e->nhost--;
	cpu_op_end(op);
	unlock(e);
	cpu_op_put(op);
	return NULL;
}

static void start_host(struct cpu_engine *e, struct cpu_op *op)
{
	pthread_attr_t attr;
	pthread_t t;
	uint64_t until = now_ms() + CPU_GRACE_MS;

	e->nhost++;
	cpu_host_thread();
	cpu_op_get(op);
	cpu_op_get(op);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &attr, host_main, op)) {
		unlock(e); /* no thread to be had: here, then */
		host_main(op);
		take_lock(e);
	}
	pthread_attr_destroy(&attr);
	while (!is_ended(op)) {
		uint64_t now = now_ms();
		if (now >= until) {
			e->is_replayable = false;
			break;
		}
		cpu_engine_wait(e, until - now);
	}
	cpu_op_put(op);
}

/* ---- starting ------------------------------------------------------------------------------ */

static void start_kernel(struct cpu_engine *e, struct cpu_op *op)
{
	struct cpu_grid **at = &e->devices[op->work.device].grids;

	if (!cpu_kernel_ready(op->work.launch.kernel) || !(op->grid = cpu_grid_new(op))) {
		cpu_fault_op(e->m, op->work.device, op, CPU_FAULT_RESOURCES,
			     "host memory is exhausted by a launch of %s",
			     op->work.launch.kernel->info.name);
		cpu_op_end(op);
		return;
	}
	op->grid->id = atomic_fetch_add(&e->m->grids, 1) + 1;
	cpu_judge_start(op);
	op->grid->started = e->workers[0].clock;
	while (*at)
		at = &(*at)->priv->next;
	*at = op->grid;
	e->stats.launches++;
	e->placing++;
}

static void start(struct cpu_engine *e, struct cpu_op *op)
{
	if (op->is_finishing) {
		cpu_op_end(op);
		return;
	}
	atomic_store(&op->state, CPU_OP_RUNNING);
	if (op->work.kind == CPU_WORK_EXTERNAL) {
		if (op->is_finished)
			cpu_op_end(op);
		return;
	}
	if (is_faulted(e, op->work.device)) {
		cpu_op_end(op);
		return;
	}
	switch (op->work.kind) {
	case CPU_WORK_KERNEL:
		start_kernel(e, op);
		break;
	case CPU_WORK_COPY:
	case CPU_WORK_FILL:
	case CPU_WORK_WRITE_VALUE:
		cpu_judge_start(op);
		cpu_recheck_start(&e->workers[0], op);
		op->actor.kind = CPU_ACTOR_OP;
		cpu_sched_push(&e->workers[0], &op->actor);
		break;
	case CPU_WORK_HOST:
		cpu_judge_start(op);
		start_host(e, op);
		break;
	case CPU_WORK_WAIT_VALUE:
		base_vec_push(&e->polls, op);
		break;
	default:
		cpu_op_end(op);
	}
}

/* The clock of what is held back: several workers have no common one, and no replay. */
static uint64_t hold_clock(const struct cpu_engine *e)
{
	return e->nworkers == 1 ? e->workers[0].clock : now_ms() * 1000000;
}

/* Starts what has waited long enough; `is_idle`: nothing else can be done, so time is skipped.
 * False: nothing started. */
static bool start_held(struct cpu_engine *e, bool is_idle)
{
	size_t kept = 0, n = e->held.n, first = 0;
	uint64_t now = hold_clock(e);

	for (size_t i = 1; i < n; i++)
		if (e->held.v[i]->due < e->held.v[first]->due)
			first = i;
	if (is_idle && n && e->held.v[first]->due > now) {
		now = e->held.v[first]->due;
		if (e->nworkers == 1)
			e->workers[0].clock = now;
	}
	for (size_t i = 0; i < n; i++) {
		struct cpu_op *op = e->held.v[i];
		if (op->due <= now || is_faulted(e, op->work.device))
			start(e, op);
		else
			e->held.v[kept++] = op;
	}
	e->held.n = kept;
	return kept != n;
}

/* True: something started. */
static bool start_all(struct cpu_engine *e)
{
	bool any = false;

	for (size_t i = 0; i < e->startable.n; i++) {
		struct cpu_op *op = e->startable.v[i];
		if (op->work.hold && !op->is_finishing) {
			op->due = hold_clock(e) + op->work.hold;
			base_vec_push(&e->held, op);
		} else {
			start(e, op);
		}
		any = true;
	}
	e->startable.n = 0;
	return any;
}

static bool poll_values(struct cpu_engine *e)
{
	size_t kept = 0, n = e->polls.n;

	for (size_t i = 0; i < n; i++) {
		struct cpu_op *op = e->polls.v[i];
		bool holds = cpu_value_holds(op);
		if (holds)
			cpu_judge_op_value(op, false);
		if (is_faulted(e, op->work.device) || holds)
			cpu_op_end(op);
		else
			e->polls.v[kept++] = op;
	}
	e->polls.n = kept;
	return kept != n;
}

/* ---- working --------------------------------------------------------------------------------- */

void cpu_engine_enter(struct cpu_engine *e)
{
	if (e->nworkers > 1)
		lock(e);
}

void cpu_engine_leave(struct cpu_engine *e)
{
	if (e->nworkers > 1)
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
			end_kernel(g->op);
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
	bool did = start_all(e);

	if (e->held.n && start_held(e, false))
		did = true;
	if (atomic_load_explicit(&e->has_fault, memory_order_relaxed)) {
		act_on_faults(e);
		did = true;
	}
	cpu_deadlock_look(e);
	if (cpu_workers_step(e)) {
		did = true;
		if (e->polls.n && !(++e->npolled & 3))
			poll_values(e);
	} else if (e->polls.n && poll_values(e)) {
		did = true;
	} else if (!did && e->held.n && start_held(e, true)) {
		did = true;
	} else if (!did && !e->startable.n && find_deadlock(e)) {
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
	fegetenv(own);
	fesetenv(FE_DFL_ENV);
}

static void stop_working(struct cpu_engine *e, const fenv_t *own)
{
	fesetenv(own);
	e->is_working = false;
	e->last_worked = now_ms();
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
	return is_ended(arg);
}

static bool device_is_idle(struct cpu_engine *e, const void *arg)
{
	unsigned device = *(const unsigned *)arg;

	return device < e->m->opt.devices ? !e->devices[device].nops : !e->nops;
}

static void *background_main(void *arg)
{
	struct cpu_engine *e = arg;
	fenv_t own;

	take_lock(e);
	while (!e->is_closing) {
		if (!e->nops || e->is_working || now_ms() < e->last_worked + CPU_GRACE_MS) {
			cpu_engine_wait(e, e->nops ? CPU_GRACE_MS / 4 : 10000);
			continue;
		}
		start_working(e, &own);
		if (work(e)) {
			e->is_replayable = false;
			while (!e->is_closing && work(e))
				breathe(e);
		}
		stop_working(e, &own);
		cpu_engine_wait(e, e->polls.n ? POLL_MS : CPU_GRACE_MS / 4);
	}
	unlock(e);
	return NULL;
}

/* ---- operations: public ---------------------------------------------------------------------- */

static void *copy_of(const void *p, size_t n)
{
	void *q = malloc(n ? n : 1);

	if (q && n)
		memcpy(q, p, n);
	return q;
}

static struct cpu_op *op_new(struct cpu_machine *m, const struct cpu_work *work)
{
	struct cpu_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->m = m;
	op->work = *work;
	op->refs = 2; /* the caller's, and the engine's until it ends */
	if (work->kind == CPU_WORK_KERNEL)
		op->copy = copy_of(work->launch.params, work->launch.kernel->nparam_bytes);
	else if (work->kind == CPU_WORK_COPY && work->copy.immediate)
		op->copy = copy_of(work->copy.immediate, work->copy.width);
	else
		return op;
	if (op->copy)
		return op;
	free(op);
	return NULL;
}

static void depend(struct cpu_op *op, struct cpu_op *dep)
{
	if (!dep || is_ended(dep))
		return;
	if (op->work.kind == CPU_WORK_KERNEL && op->work.launch.is_programmatic &&
	    dep->work.kind == CPU_WORK_KERNEL) {
		base_vec_push(&op->before, cpu_op_get(dep));
		if (dep->has_triggered)
			return;
	}
	base_vec_push(&dep->after, op);
	op->npending++;
}

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
	const char *why = NULL;
	struct cpu_op *op;

	if (work->device >= m->opt.devices)
		return refuse(fault, CPU_FAULT_ILLEGAL, "there is no such device");
	if (work->kind == CPU_WORK_KERNEL)
		why = cpu_block_refuses(e, &work->launch);
	if (why)
		return refuse(fault, CPU_FAULT_ILLEGAL, why);
	op = op_new(m, work);
	if (!op)
		return refuse(fault, CPU_FAULT_RESOURCES, "host memory is exhausted");
	if (work->kind == CPU_WORK_KERNEL && cpu_kernel_uses_heap(work->launch.kernel))
		cpu_heap_use(m, work->device);
	lock(e);
	op->id = ++e->ids;
	e->nops++;
	e->devices[work->device].nops++;
	cpu_judge_submit(op, deps, n);
	for (size_t i = 0; i < n; i++)
		depend(op, deps[i]);
	if (!op->npending && work->kind == CPU_WORK_EMPTY)
		cpu_op_end(op);
	else if (!op->npending)
		base_vec_push(&e->startable, op);
	if (!e->is_working)
		e->last_worked = now_ms();
	if (!e->has_background)
		e->has_background = !pthread_create(&e->background, NULL, background_main, e);
	pthread_cond_broadcast(&e->changed);
	unlock(e);
	return op;
}

bool cpu_op_query(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;
	fenv_t own;

	if (is_ended(op)) {
		cpu_judge_waited(op);
		return true;
	}
	lock(e);
	if (!e->is_working) {
		start_working(e, &own);
		for (unsigned i = 0; i < QUERY_STEPS && !is_ended(op) && work(e); i++)
			breathe(e);
		stop_working(e, &own);
	}
	unlock(e);
	if (!is_ended(op))
		return false;
	cpu_judge_waited(op);
	return true;
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

	if (!is_ended(op)) {
		lock(e);
		wait_until(e, op_is_done, op);
		unlock(e);
	}
	cpu_judge_waited(op);
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
	cpu_judge_idle(m, device);
}

/* ---- programmatic launches ------------------------------------------------------------------- */

void cpu_grid_triggered(struct cpu_grid *g)
{
	if (++g->priv->triggered == g->nblocks)
		cpu_op_trigger(g->op);
}

void cpu_engine_launch_dependents(struct cpu_grid *g)
{
	cpu_engine_enter(g->m->engine);
	cpu_grid_triggered(g);
	cpu_engine_leave(g->m->engine);
}

bool cpu_engine_dependencies_done(const struct cpu_grid *g)
{
	for (size_t i = 0; i < g->op->before.n; i++)
		if (!is_ended(g->op->before.v[i]))
			return false;
	return true;
}
