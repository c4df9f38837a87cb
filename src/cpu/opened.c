/*
 * opened.c - groups of blocks that seem to wait for later ones, which are let in then.
 *
 * Where atomics are executed in the order of groups (apart.c), a group begins when all before it
 * have ended. A block that waits for a later one would wait for ever. Loops that do so by what an
 * atomic returns are found in the text (flow/waits.c), but for those that store this to memory and
 * read it back, which are told from the end of a queue by nothing. So a group that has executed
 * many instructions without an end *opens* the launch: other blocks begin beside it, as many as the device holds, until there are none left. On
 * several workers the launch is taken back first, and repeated on one: when it is opened follows
 * from what the group does. Later launches of the kernel have all blocks in turns from the start.
 *
 * Costs: a launch that waits takes a second more, once for each kernel. A group that is only
 * long has company then, which changes the schedule.
 */
#include "cpu/sched.h"

#define PATIENCE      (1ull << 29) /* a group's instructions until its end is doubted */
#define WAIT_PATIENCE (1ull << 24) /* ... where the text says that it might wait */

static struct cpu_worker_priv *kp(const struct cpu_worker *k)
{
	return k->priv;
}

static uint64_t patience(const struct cpu_engine *e)
{
	const struct cpu_traits *t = &e->apart.grid->kernel->traits;

	if (t->has_order && e->m->opt.apart_patience)
		return e->m->opt.apart_patience;
	return t->may_wait ? WAIT_PATIENCE : PATIENCE;
}

bool cpu_apart_is_long(const struct cpu_worker *k)
{
	return k->warp_insts - kp(k)->group_start > patience(k->m->engine);
}

bool cpu_apart_may_open(const struct cpu_engine *e)
{
	const struct cpu_apart *a = &e->apart;

	return a->grid && !a->is_beside && !a->is_opened && a->grid->kernel->traits.has_order &&
	       !a->grid->priv->is_over && a->grid->priv->started != a->grid->priv->nunits;
}

void cpu_apart_look(struct cpu_engine *e)
{
	struct cpu_worker_priv *p = kp(e->workers);

	if (!p->nblocks || !cpu_apart_may_open(e) || !cpu_apart_is_long(e->workers))
		return;
	e->apart.is_opened = true;
	e->apart.grid->kernel->has_waited = true;
	e->apart.longer = p->longer = 0;
	e->placing++;
}

void cpu_apart_let_in(struct cpu_worker *k)
{
	const struct cpu_engine *e = k->m->engine;
	struct cpu_grid *g = e->apart.grid;
	uint64_t room =
		(uint64_t)e->sms * cpu_kernel_occupancy(g->kernel, g->nthreads, g->shared_dyn);

	while (!g->priv->is_over && g->priv->started != g->priv->nunits && kp(k)->nblocks < room) {
		cpu_block_start_from(k, g, g->priv->started, 1);
		kp(k)->ngroup += cpu_grid_unit(g);
	}
}
