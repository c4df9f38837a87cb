/*
 * stop.c - what ends operations early: faults, kernels that are stopped, deadlocks.
 *
 * After a device's first fault its kernels are dropped and later operations on it end when they
 * would start (op.c). Deadlock is reported when nothing is ready and nothing sleeps although blocks
 * are resident; what host functions do cannot wake a thread at a barrier. Threads that loop for
 * ever: deadlock.c.
 */
#include "cpu/events.h"
#include "cpu/sched.h"

#include <stdio.h>
#include <string.h>

/* ---- faults ----------------------------------------------------------------------------- */

void cpu_engine_fault(struct cpu_machine *m, unsigned device, const struct cpu_fault *f)
{
	struct cpu_engine *e = m->engine;

	/* Which thread's fault is the first must not depend on the host: the launch is repeated. */
	if (e->apart.is_beside) {
		atomic_store(&e->apart.is_wrong, true);
		return;
	}
	/* A race may be the reason, which the machine's judge is to see. */
	if (e->apart.grid && e->apart.grid->has_judges) {
		cpu_judges_leave(e->apart.grid->op);
		return;
	}
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

/* Drops what runs on devices that have a fault. */
void cpu_faults_act(struct cpu_engine *e)
{
	for (unsigned d = 0; d < e->m->opt.devices; d++)
		for (struct cpu_grid *g = e->devices[d].grids; g; g = g->priv->next)
			if (cpu_device_is_faulted(e, d))
				g->priv->is_over = true;
	cpu_workers_pause(e);
	atomic_store(&e->has_fault, false);
	for (unsigned d = 0; d < e->m->opt.devices; d++)
		while (cpu_device_is_faulted(e, d) && e->devices[d].grids)
			cpu_op_end_kernel(e->devices[d].grids->op);
	cpu_workers_resume(e);
}

/* ---- kernels that are stopped ----------------------------------------------------------- */

void cpu_op_stop(struct cpu_op *op)
{
	atomic_store(&op->is_stopped, true);
	atomic_store(&op->m->engine->has_stop, true);
}

bool cpu_engine_waits(struct cpu_grid *g, const char *why)
{
	struct cpu_op *op = g->op;
	int not = CPU_END_NOT;

	if (!op->work.launch.chosen || g->priv->nunits * cpu_grid_unit(g) == g->nblocks)
		return false;
	if (atomic_compare_exchange_strong(&op->how, &not, CPU_END_WAITS))
		op->why = strdup(why);
	cpu_op_stop(op);
	return true;
}

void cpu_ops_stop(struct cpu_engine *e)
{
	int not = CPU_END_NOT;

	if (!atomic_exchange(&e->has_stop, false))
		return;
	cpu_workers_pause(e);
	for (unsigned d = 0; d < e->m->opt.devices; d++)
		for (struct cpu_grid *g = e->devices[d].grids, *next; g; g = next) {
			struct cpu_op *op = g->op;
			next = g->priv->next;
			if (op->is_wrong && op->grid == g && !atomic_load(&op->is_stopped)) {
				cpu_op_again(op);
				continue;
			}
			if (!atomic_load(&op->is_stopped) || op->grid != g)
				continue;
			atomic_compare_exchange_strong(&op->how, &not, CPU_END_STOPPED);
			not = CPU_END_NOT;
			g->priv->is_over = true;
			if (op->rest && op->rest == next)
				next = next->priv->next;
			if (op->rest)
				op->rest->priv->is_over = true;
			cpu_op_end_kernel(op);
		}
	cpu_workers_resume(e);
}

enum cpu_end cpu_op_how(const struct cpu_op *op)
{
	return cpu_op_is_ended(op) ? (enum cpu_end)atomic_load(&op->how) : CPU_END_NOT;
}

const char *cpu_op_why(const struct cpu_op *op)
{
	return cpu_op_is_ended(op) && op->why ? op->why : "";
}

/* ---- deadlocks ---------------------------------------------------------------------------- */

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

/* Nothing is ready and nothing sleeps. True: blocks are resident, so this is a deadlock. */
bool cpu_deadlock_find(struct cpu_engine *e)
{
	bool found = false;

	for (unsigned d = 0; d < e->m->opt.devices; d++)
		for (struct cpu_grid *g = e->devices[d].grids; g; g = g->priv->next) {
			struct cpu_fault f = {.kind = CPU_FAULT_DEADLOCK};
			if (!g->priv->resident)
				continue;
			deadlock_text(g, f.text, sizeof(f.text));
			if (!cpu_engine_waits(g, f.text))
				cpu_engine_fault(e->m, d, &f);
			found = true;
		}
	return found;
}
