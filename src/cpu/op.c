/*
 * op.c - the graph of operations: what may start, what has ended.
 *
 * Called with the engine's lock held, by the thread that does the machine's work (engine.c).
 *
 * A host function runs in a thread of its own. The engine waits for it up to
 * CPU_GRACE_MS of its sleep or work (grace.c), so that short ones don't change the schedule, then
 * continues beside it.
 *
 * Operations on a device that has had a fault end when they would start (stop.c).
 */
#include "base/clock.h"
#include "cpu/begin.h"
#include "cpu/sched.h"
#include "cpu/pages.h"
#include "cpu/repeat.h"
#include "cpu/events.h"
#include "cpu/past.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---------------------------------------------------------------------------------- */

static void *copy_of(const void *p, size_t n)
{
	void *q = malloc(n ? n : 1);

	if (q && n)
		memcpy(q, p, n);
	return q;
}

/* The bytes of a copy's source, without gaps. */
static void *take(const struct cpu_copy *c)
{
	uint8_t *q = malloc(c->width * c->height * c->depth + 1), *to = q;

	for (uint64_t z = 0; q && z < c->depth; z++) {
		const uint8_t *slice = (const uint8_t *)(uintptr_t)c->src + z * c->src_slice;
		for (uint64_t y = 0; y < c->height; y++, to += c->width)
			memcpy(to, slice + y * c->src_pitch, c->width);
	}
	return q;
}

static void *copy_launch(struct cpu_op *op)
{
	struct cpu_launch *l = &op->work.launch;
	void *params = copy_of(l->params, l->kernel->nparam_bytes);

	if (params && l->chosen) {
		op->chosen = copy_of(l->chosen, l->nchosen * sizeof(*l->chosen));
		if (!op->chosen) {
			free(params);
			return NULL;
		}
	}
	l->chosen = op->chosen;
	return params;
}

struct cpu_op *cpu_op_new(struct cpu_machine *m, const struct cpu_work *work)
{
	struct cpu_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->m = m;
	op->work = *work;
	op->refs = 2; /* the caller's, and the engine's until it ends */
	if (work->kind == CPU_WORK_KERNEL)
		op->copy = copy_launch(op);
	else if (work->kind == CPU_WORK_COPY && work->copy.is_taken)
		op->copy = take(&work->copy);
	else
		return op;
	if (op->copy)
		return op;
	free(op);
	return NULL;
}

void cpu_op_depend(struct cpu_op *op, struct cpu_op *dep)
{
	if (!dep || cpu_op_is_ended(dep))
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
	base_vec_free(&op->events_before);
	free(op->copy);
	free(op->chosen);
	free(op->why);
	free(op->recheck);
	cpu_proven_free(op);
	free(op->past);
	free(op);
}

void cpu_op_end(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;
	int how = cpu_device_is_faulted(e, op->work.device) ? CPU_END_FAULT : CPU_END_WHOLE;

	if (atomic_load(&op->how) == CPU_END_NOT)
		atomic_store(&op->how, how);
	cpu_event_end(op);
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
	cpu_engine_changed(e);
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

/* Instructions of warps so far. */
static uint64_t count_insts(const struct cpu_engine *e)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->nworkers; i++)
		n += e->workers[i].warp_insts;
	return n;
}

/* The blocks have ended. A launch that came early ends after those it came before. */
void cpu_op_end_kernel(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;
	bool has_judges = op->grid->has_judges;
	uint32_t n = 0;

	if (!op->work.launch.is_plain) {
		e->nchecked--;
		cpu_time_checked(e);
		if (op->m->listener.checked)
			op->m->listener.checked(op->m->listener.proven_arg, op->work.launch.tag,
						&op->work.launch,
						count_insts(e) - op->insts_before);
	}
	if (cpu_grid_is_apart(e, op->grid))
		cpu_apart_end(e);
	else
		cpu_apart_note(op->grid->kernel, count_insts(e) - op->insts_before,
			       op->grid->nblocks);
	op->grid->ended = e->workers[0].clock;
	cpu_pages_end(op);
	cpu_repeat_end(e, op);
	cpu_grid_free(op->grid);
	op->grid = NULL;
	if (has_judges)
		cpu_apart_end_judges(e, true);
	if (op->rest)
		cpu_grid_free(op->rest);
	op->rest = NULL;
	op->is_finishing = true;
	for (size_t i = 0; i < op->before.n; i++)
		if (!cpu_op_is_ended(op->before.v[i])) {
			base_vec_push(&op->before.v[i]->after, op);
			n++;
		}
	op->npending = n;
	if (!n)
		cpu_op_end(op);
}

void cpu_op_take_back(struct cpu_op *op)
{
	op->is_wrong = true;
	atomic_store(&op->m->engine->has_stop, true);
}

void cpu_op_again(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;
	bool has_judges = op->grid->has_judges;

	op->taken_back = op->grid->id;
	op->is_wrong = false;
	op->grid->priv->is_over = true;
	if (cpu_grid_is_apart(e, op->grid))
		cpu_apart_give_up(e);
	cpu_grid_free(op->grid);
	op->grid = NULL;
	/* It starts as one that is checked, once more. */
	if (has_judges) {
		cpu_apart_end_judges(e, false);
		e->nchecked--;
		cpu_time_checked(e);
	}
	cpu_proven_undo(op);
	base_vec_push(&e->startable, op);
}

/* ---- host functions ---------------------------------------------------------------------- */

static void *host_main(void *arg)
{
	struct cpu_op *op = arg;
	struct cpu_machine *m = op->m;

	cpu_event_host(op);
	cpu_past_waited(op, false);
	op->work.host.fn(op->work.host.arg);
	cpu_engine_hold(m);
	m->engine->nhost--;
	cpu_op_end(op);
	/* Before anybody can go on: a program that ends now must not leave the operation behind. */
	cpu_op_put(op);
	cpu_engine_let_go(m);
	return NULL;
}

static void start_host(struct cpu_engine *e, struct cpu_op *op)
{
	pthread_attr_t attr;
	pthread_t t;
	struct cpu_grace grace;

	e->nhost++;
	cpu_host_thread();
	cpu_op_get(op);
	cpu_op_get(op);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &attr, host_main, op)) {
		cpu_engine_let_go(e->m); /* no thread is available: run it here */
		host_main(op);
		cpu_engine_hold(e->m);
	}
	pthread_attr_destroy(&attr);
	cpu_grace_begin(&grace, base_now_ms());
	while (!cpu_op_is_ended(op)) {
		if (cpu_grace_is_over(e, &grace)) {
			e->is_replayable = false;
			break;
		}
		cpu_engine_wait(e, CPU_GRACE_MS / 4);
	}
	cpu_op_put(op);
}

/* ---- starting ------------------------------------------------------------------------------ */

static void call_if_quiet(const struct cpu_engine *e)
{
	const struct cpu_listener *to = &e->m->listener;

	for (unsigned d = 0; d < e->m->opt.devices; d++)
		if (e->devices[d].grids)
			return;
	if (to->quiet)
		to->quiet(to->quiet_arg);
}

void cpu_listen_begin(struct cpu_machine *m, const struct cpu_begin *begin)
{
	pthread_mutex_lock(&m->engine->lock);
	m->engine->begin = begin;
	pthread_mutex_unlock(&m->engine->lock);
}

void cpu_time_checked(struct cpu_engine *e)
{
	uint64_t now;

	if (!e->m->listener.choose)
		return;
	now = base_now_ns();
	if (e->is_timed)
		e->spent_ns += now - e->timed_since;
	e->timed_since = now;
	e->is_timed = e->is_working && e->nchecked;
}

/* Does the launch take the text with checks? */
static void choose_kernel(struct cpu_engine *e, struct cpu_launch *l)
{
	const struct cpu_listener *to = &e->m->listener;

	cpu_time_checked(e);
	l->until_ns =
		to->choose && l->plain ? to->choose(to->choose_arg, l, e->spent_ns) : UINT64_MAX;
	if (l->until_ns)
		return;
	l->kernel = l->plain;
	l->is_plain = true;
}

static void add_grid(struct cpu_engine *e, struct cpu_grid *g)
{
	struct cpu_device *dev = &e->devices[g->device];

	*(dev->grids ? &dev->last->priv->next : &dev->grids) = g;
	dev->last = g;
	e->placing++;
}

void cpu_op_start_rest(struct cpu_op *op)
{
	struct cpu_engine *e = op->m->engine;

	cpu_apart_begin(e, op);
	add_grid(e, op->grid);
}

/* From now on the launch counts as a plain one. */
static void cut(struct cpu_engine *e, struct cpu_op *op)
{
	const struct cpu_listener *to = &e->m->listener;
	struct cpu_launch *l = &op->work.launch;

	/* Without the oracle there is nothing to end but the checks of blocks to come. */
	if (!op->grid->events && !cpu_grid_has_rest(op))
		return;
	if (!cpu_grid_cut(op->grid))
		return;
	cpu_time_checked(e);
	l->is_plain = true;
	e->nchecked--;
	to->cut(to->choose_arg, l->tag, op->grid->priv->started * cpu_grid_unit(op->grid),
		op->grid->nblocks);
	if (!(op->rest = cpu_grid_rest(op)))
		return;
	if (!cpu_grid_may_wait(op))
		add_grid(e, op->rest);
	if (op->grid->priv->done == op->grid->priv->nunits)
		cpu_grid_ended(op->grid);
}

void cpu_ops_cut(struct cpu_engine *e)
{
	if (!e->nchecked || !e->m->listener.cut)
		return;
	cpu_time_checked(e);
	for (unsigned d = 0; d < e->m->opt.devices; d++)
		for (struct cpu_grid *g = e->devices[d].grids, *next; g; g = next) {
			next = g->priv->next; /* none of its blocks may be left */
			if (g->op->work.launch.is_plain ||
			    e->spent_ns <= g->op->work.launch.until_ns)
				continue;
			/* However little time there was, something of it is judged. */
			if (g->priv->had_turn)
				cut(e, g->op);
			else
				g->priv->had_turn = g->priv->started != 0;
		}
}

static void call_begin(const struct cpu_engine *e, const struct cpu_op *op)
{
	struct cpu_launch l = op->work.launch;

	l.params = op->copy;
	if (e->begin)
		e->begin->fn(e->begin->arg, &l);
}

static void start_kernel(struct cpu_engine *e, struct cpu_op *op)
{
	choose_kernel(e, &op->work.launch);
	if (!op->taken_back) {
		call_begin(e, op);
		cpu_proven_begin(op);
	}
	if (!cpu_kernel_ready(op->work.launch.kernel) || !(op->grid = cpu_grid_new(op))) {
		cpu_fault_op(e->m, op->work.device, CPU_FAULT_RESOURCES,
			     "host memory is exhausted by a launch of %s",
			     op->work.launch.kernel->info.name);
		cpu_op_end(op);
		return;
	}
	if (!op->proven && !op->taken_back && cpu_apart_may_have_judges(e, op))
		op->grid->has_judges = cpu_judges_begin(op);
	op->grid->proven = op->proven;
	call_if_quiet(e);
	op->insts_before = count_insts(e);
	if (!op->work.launch.is_plain) {
		e->nchecked++;
		cpu_time_checked(e);
	}
	op->grid->id = op->taken_back ? op->taken_back : atomic_fetch_add(&e->m->grids, 1) + 1;
	cpu_event_start(op);
	cpu_past_start(op);
	op->grid->started = e->workers[0].clock;
	cpu_pages_begin(op);
	e->stats.launches += !op->taken_back;
	if (cpu_repeat_start(e, op)) {
		cpu_op_end_kernel(op);
		return;
	}
	cpu_apart_begin(e, op);
	add_grid(e, op->grid);
}

/* The contents of what it writes are new, from now on, when it may write some of it. */
static void note_target(struct cpu_engine *e, const struct cpu_op *op)
{
	const struct cpu_work *w = &op->work;

	if (!e->repeats)
		return;
	cpu_space_new_content(e->m, w->kind == CPU_WORK_COPY   ? w->copy.dst
				    : w->kind == CPU_WORK_FILL ? w->fill.dst
							       : w->value.addr);
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
	if (op->work.kind == CPU_WORK_KERNEL && atomic_load(&op->is_stopped))
		atomic_store(&op->how, CPU_END_STOPPED);
	if (cpu_device_is_faulted(e, op->work.device) || atomic_load(&op->how) != CPU_END_NOT) {
		cpu_op_end(op);
		return;
	}
	e->starts++;
	switch (op->work.kind) {
	case CPU_WORK_KERNEL:
		start_kernel(e, op);
		break;
	case CPU_WORK_COPY:
	case CPU_WORK_FILL:
	case CPU_WORK_WRITE_VALUE:
		note_target(e, op);
		cpu_event_start(op);
		cpu_recheck_start(&e->workers[0], op);
		op->actor.kind = CPU_ACTOR_OP;
		cpu_sched_push(&e->workers[0], &op->actor);
		break;
	case CPU_WORK_HOST:
		cpu_event_start(op);
		start_host(e, op);
		break;
	case CPU_WORK_WAIT_VALUE:
		base_vec_push(&e->polls, op);
		break;
	default:
		cpu_op_end(op);
	}
}

/* Starts what has waited long enough; `is_idle`: nothing else can be done, so time is skipped.
 * False: nothing started. */
bool cpu_ops_start_held(struct cpu_engine *e, bool is_idle)
{
	size_t kept = 0, n = e->held.n, first = 0;
	uint64_t now = e->workers[0].clock;

	if (e->apart.grid)
		return false;
	for (size_t i = 1; i < n; i++)
		if (e->held.v[i]->due < e->held.v[first]->due)
			first = i;
	if (is_idle && n && e->held.v[first]->due > now) {
		now = e->held.v[first]->due;
		e->workers[0].clock = now;
	}
	for (size_t i = 0; i < n; i++) {
		struct cpu_op *op = e->held.v[i];
		if (op->due <= now || cpu_device_is_faulted(e, op->work.device))
			start(e, op);
		else
			e->held.v[kept++] = op;
	}
	e->held.n = kept;
	return kept != n;
}

/* True: something started. */
bool cpu_ops_start(struct cpu_engine *e)
{
	size_t kept = 0;
	bool any = false;

	for (size_t i = 0; i < e->startable.n; i++) {
		struct cpu_op *op = e->startable.v[i];
		if (e->apart.grid) {
			e->startable.v[kept++] = op; /* nothing runs beside it */
			continue;
		}
		if (op->work.hold && !op->is_finishing) {
			op->due = e->workers[0].clock + op->work.hold;
			base_vec_push(&e->held, op);
		} else {
			start(e, op);
		}
		any = true;
	}
	e->startable.n = kept;
	return any;
}

bool cpu_ops_poll(struct cpu_engine *e)
{
	size_t kept = 0, n = e->polls.n;

	for (size_t i = 0; i < n; i++) {
		struct cpu_op *op = e->polls.v[i];
		bool holds = cpu_value_holds(op);
		if (holds)
			cpu_event_op_value(op, false);
		if (cpu_device_is_faulted(e, op->work.device) || holds)
			cpu_op_end(op);
		else
			e->polls.v[kept++] = op;
	}
	e->polls.n = kept;
	return kept != n;
}

/* ---- programmatic launches ------------------------------------------------------------------- */

void cpu_grid_triggered(struct cpu_grid *g)
{
	if (++g->priv->triggered == g->priv->nunits * cpu_grid_unit(g))
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
		if (!cpu_op_is_ended(g->op->before.v[i]))
			return false;
	return true;
}
