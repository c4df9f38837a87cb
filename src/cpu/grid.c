/*
 * grid.c - grids: the launches that are refused, made of a launch, cut off from judging, freed.
 *
 * A launch whose time is over (--budget) is judged no more: what runs goes on without events, what
 * has not begun becomes a grid of the kernel without checks. Where its blocks don't communicate,
 * none of those that run can wait for one of them: then it starts when these have ended, as a
 * launch that may be executed by several workers (apart.c).
 */
#include "cpu/sched.h"
#include "cpu/events.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- launches ---------------------------------------------------------------------- */

static void cluster_dims(const struct cpu_launch *l, uint32_t out[3])
{
	const uint32_t *c = l->cluster[0] ? l->cluster : l->kernel->info.cluster;

	for (unsigned i = 0; i < 3; i++)
		out[i] = c[i] ? c[i] : 1;
}

__attribute__((format(printf, 2, 3))) static bool refuse(struct cpu_fault *fault, const char *fmt,
							 ...)
{
	va_list ap;

	fault->kind = CPU_FAULT_ILLEGAL;
	va_start(ap, fmt);
	vsnprintf(fault->text, sizeof(fault->text), fmt, ap);
	va_end(ap);
	return true;
}

/* A size of three parts, and what it is compared with: of these a part that isn't written is 1. */
#define PARTS		  "%ux%ux%u"
#define PARTS_OF(n)	  (n)[0], (n)[1], (n)[2]
#define PARTS_REQUIRED(n) (n)[0], (n)[1] ? (n)[1] : 1, (n)[2] ? (n)[2] : 1

/* The size of the grid, of its blocks and clusters, by part. */
static bool refuses_shape(const struct cpu_launch *l, const uint32_t c[3], struct cpu_fault *fault)
{
	const struct cpu_kernel_info *info = &l->kernel->info;
	static const uint32_t grid_max[3] = {0x7fffffff, 65535, 65535};
	static const uint32_t block_max[3] = {1024, 1024, 64};

	for (unsigned i = 0; i < 3; i++) {
		if (!l->grid[i] || l->grid[i] > grid_max[i])
			return refuse(fault, "a grid of " PARTS " blocks, expected 1 to " PARTS,
				      PARTS_OF(l->grid), PARTS_OF(grid_max));
		if (!l->block[i] || l->block[i] > block_max[i])
			return refuse(fault,
				      "a block of " PARTS " threads, expected 1 to " PARTS
				      ", and 1024 in all",
				      PARTS_OF(l->block), PARTS_OF(block_max));
		if (info->reqntid[0] && l->block[i] != (info->reqntid[i] ? info->reqntid[i] : 1))
			return refuse(fault,
				      "a block of " PARTS
				      " threads, the kernel's .reqntid is " PARTS,
				      PARTS_OF(l->block), PARTS_REQUIRED(info->reqntid));
		if (info->cluster[0] && c[i] != (info->cluster[i] ? info->cluster[i] : 1))
			return refuse(fault,
				      "a cluster of " PARTS " blocks, the kernel's "
				      ".reqnctapercluster is " PARTS,
				      PARTS_OF(c), PARTS_REQUIRED(info->cluster));
		if (l->grid[i] % c[i])
			return refuse(fault,
				      "a grid of " PARTS " blocks is no multiple of the cluster "
				      "of " PARTS,
				      PARTS_OF(l->grid), PARTS_OF(c));
	}
	return false;
}

bool cpu_grid_refuses(struct cpu_engine *e, const struct cpu_launch *l, struct cpu_fault *fault)
{
	const struct cpu_kernel_info *info = &l->kernel->info;
	const char *why = cpu_kernel_refused(l->kernel, NULL);
	uint64_t threads = 1, blocks = 1, size = 1, bytes = info->shared_static + l->shared_dyn;
	uint32_t c[3];

	if (why)
		return refuse(fault, "%s", why);
	cluster_dims(l, c);
	if (refuses_shape(l, c, fault))
		return true;
	for (unsigned i = 0; i < 3; i++) {
		threads *= l->block[i];
		blocks *= l->grid[i];
		size *= c[i];
	}
	uint32_t most = info->max_threads && info->max_threads < 1024 ? info->max_threads : 1024;
	if (threads > most)
		return refuse(fault, "a block of %" PRIu64 " threads, expected %u at most", threads,
			      most);
	if (size > CPU_CLUSTER_MAX)
		return refuse(fault, "a cluster of %" PRIu64 " blocks, expected %u at most", size,
			      (unsigned)CPU_CLUSTER_MAX);
	if (l->shared_dyn > CPU_SHARED_OPTIN || bytes > CPU_SHARED_OPTIN)
		return refuse(fault,
			      "a block with %" PRIu64 " bytes of shared memory of its text and "
			      "%" PRIu64 " of the launch, expected %u at most",
			      (uint64_t)info->shared_static, (uint64_t)l->shared_dyn,
			      (unsigned)CPU_SHARED_OPTIN);
	if (l->chosen && (!l->nchosen || l->nchosen > blocks / size || l->plain))
		return refuse(fault, "the chosen blocks are none, or more than the grid's");
	for (uint64_t i = 0; l->chosen && i < l->nchosen; i++)
		if (l->chosen[i] >= blocks / size || (i && l->chosen[i] <= l->chosen[i - 1]))
			return refuse(fault,
				      "the chosen blocks are not rising numbers of the grid's");
	if (l->chosen)
		blocks = l->nchosen * size;
	uint64_t fit =
		l->is_cooperative
			? (uint64_t)e->sms *
				  cpu_kernel_occupancy(l->kernel, (uint32_t)threads, l->shared_dyn)
			: UINT64_MAX;
	if (blocks > fit)
		return refuse(fault,
			      "a cooperative grid of %" PRIu64 " blocks, expected %" PRIu64
			      " at most, which fit on the device together",
			      blocks, fit);
	return false;
}

static void fill_tids(struct cpu_grid *g, uint32_t *tids)
{
	for (uint32_t i = 0; i < g->nwarps * CPU_WARP; i++) {
		uint32_t *t = tids + (size_t)(i / CPU_WARP) * 3 * CPU_WARP + i % CPU_WARP;
		t[0] = i % g->block[0];
		t[CPU_WARP] = i / g->block[0] % g->block[1];
		t[2 * CPU_WARP] = i / g->block[0] / g->block[1];
	}
}

static bool make_workspace(struct cpu_grid *g)
{
	uint32_t *p = cpu_mem_alloc(g->m, g->device, CPU_GRID_WORKSPACE, CPU_MEM_MODULE);

	if (!p)
		return false;
	memset(p, 0, CPU_GRID_WORKSPACE);
	p[0] = CPU_GRID_WORKSPACE;
	g->workspace = (uint64_t)(uintptr_t)p;
	return true;
}

struct cpu_grid *cpu_grid_new(struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;
	struct cpu_grid *g = calloc(1, sizeof(*g));
	struct cpu_grid_priv *p = calloc(1, sizeof(*p));
	uint64_t size = 1;

	if (!g || !p)
		goto fail;
	*g = (struct cpu_grid){.m = op->m,
			       .op = op,
			       .kernel = l->kernel,
			       .func = l->kernel->func,
			       .params = op->copy,
			       .nparam_bytes = l->kernel->nparam_bytes,
			       .device = op->work.device,
			       .events = l->is_plain ? NULL : op->m->events,
			       .is_cooperative = l->is_cooperative,
			       .shared_static = l->kernel->info.shared_static,
			       .shared_dyn = (uint32_t)l->shared_dyn,
			       .nthreads = 1,
			       .nblocks = 1,
			       .priv = p};
	cluster_dims(l, g->cluster);
	g->has_cluster = l->cluster[0] || l->kernel->info.cluster[0];
	for (unsigned i = 0; i < 3; i++) {
		g->grid[i] = l->grid[i];
		g->block[i] = l->block[i];
		g->nthreads *= l->block[i];
		g->nblocks *= l->grid[i];
		size *= g->cluster[i];
	}
	g->nwarps = (g->nthreads + CPU_WARP - 1) / CPU_WARP;
	p->nunits = l->chosen ? l->nchosen : g->nblocks / size;
	p->priority = op->work.priority;
	p->tids = malloc((size_t)g->nwarps * 3 * CPU_WARP * sizeof(uint32_t));
	if (!p->tids)
		goto fail;
	fill_tids(g, p->tids);
	if (g->is_cooperative && !make_workspace(g))
		goto fail;
	return g;
fail:
	if (p)
		free(p->tids);
	free(p);
	free(g);
	return NULL;
}

/* ---- judged no more -------------------------------------------------------------------------- */

bool cpu_grid_cut(struct cpu_grid *g)
{
	if (!g->events)
		return true;
	/* It has no limit, and is all one for the machine's judge. */
	if (g->has_judges)
		return false;
	/* With --verify the oracle must confirm what the checks report later. */
	if (g->kernel->info.is_instrumented && !g->m->opt.steps_aside)
		return false;
	/* Copies under way are actors of their own, with events to come. */
	for (const struct cpu_unit *u = g->priv->resident; u; u = u->next)
		for (uint32_t r = 0; r < u->cluster.size; r++)
			if (u->blocks[r].cta.async)
				return false;
	for (const struct cpu_unit *u = g->priv->resident; u; u = u->next)
		for (uint32_t r = 0; r < u->cluster.size; r++)
			cpu_event_block_end(&u->blocks[r].cta);
	cpu_event_cut(g->op);
	g->events = NULL;
	return true;
}

bool cpu_grid_may_wait(const struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;

	const struct cpu_traits *t = l->plain ? cpu_kernel_traits(l->plain) : NULL;

	return t && t->is_apart && !t->may_wait;
}

bool cpu_grid_has_rest(const struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;
	const struct cpu_grid_priv *p = op->grid->priv;

	return l->plain && !op->grid->is_cooperative && !l->is_programmatic &&
	       p->started != p->nunits && l->plain->nparam_bytes == l->kernel->nparam_bytes &&
	       cpu_kernel_ready(l->plain) &&
	       (l->kernel->info.is_instrumented || cpu_grid_may_wait(op));
}

struct cpu_grid *cpu_grid_rest(struct cpu_op *op)
{
	struct cpu_grid *g = op->grid, *rest;
	struct cpu_launch *l = &op->work.launch;
	struct cpu_kernel *checked = l->kernel;
	struct cpu_grid_priv *p = g->priv, *q;

	if (!cpu_grid_has_rest(op))
		return NULL;
	l->kernel = l->plain;
	rest = cpu_grid_new(op);
	l->kernel = checked;
	if (!rest)
		return NULL;
	rest->id = g->id;
	rest->started = g->started;
	q = rest->priv;
	q->is_rest = true;
	q->fetched = p->fetched;
	q->nwindow = p->nwindow;
	memcpy(q->window, p->window, sizeof(q->window));
	q->started = q->done = p->started;
	p->nunits = p->started;
	p->nwindow = 0;
	return rest;
}

void cpu_grid_ended(struct cpu_grid *g)
{
	struct cpu_op *op = g->op;

	if (!op->rest) {
		if (cpu_proven_is_wrong(op))
			cpu_op_again(op);
		else
			cpu_op_end_kernel(op);
		return;
	}
	bool was_first = op->grid == g;
	if (was_first)
		op->grid = op->rest;
	op->rest = NULL;
	cpu_grid_free(g);
	if (was_first && cpu_grid_may_wait(op))
		cpu_op_start_rest(op);
}

/* ---- ending ---------------------------------------------------------------------------------- */

void cpu_grid_free(struct cpu_grid *g)
{
	struct cpu_grid_priv *p = g->priv;
	struct cpu_device *dev = &g->m->engine->devices[g->device];

	while (p->resident)
		cpu_block_end(p->resident);
	if (g->workspace)
		cpu_mem_free(g->m, (void *)(uintptr_t)g->workspace);
	if (p->is_over)
		cpu_units_free(p->idle);
	else
		cpu_spare_put(g->m->engine, g, p->idle);
	for (struct cpu_grid **at = &dev->grids, *before = NULL; *at;
	     before = *at, at = &before->priv->next)
		if (*at == g) {
			*at = p->next;
			dev->last = dev->last == g ? before : dev->last;
			break;
		}
	free(p->tids);
	free(p);
	free(g);
}
