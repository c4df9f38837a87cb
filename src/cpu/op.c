/*
 * op.c - one operation of the engine's graph: made, made to wait for others, ended.
 *
 * All but cpu_op_get, cpu_op_put and cpu_op_new are called under the engine's lock (engine.c).
 */
#include "cpu/sched.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

static void *copy_of(const void *p, size_t n)
{
	void *q = malloc(n ? n : 1);

	if (q && n)
		memcpy(q, p, n);
	return q;
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
	base_vec_free(&op->judge_before);
	free(op->copy);
	free(op->recheck);
	free(op);
}

bool cpu_op_is_ended(const struct cpu_op *op)
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
void cpu_op_end_kernel(struct cpu_op *op)
{
	uint32_t n = 0;

	op->grid->ended = op->m->engine->workers[0].clock;
	cpu_grid_free(op->grid);
	op->grid = NULL;
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
