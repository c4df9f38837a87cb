/*
 * block.c - blocks and clusters: made, placed on multiprocessors, ended. Grids: grid.c.
 *
 * A cluster (of one block where there are none) is placed as a whole when its
 * blocks fit on the multiprocessors' threads, blocks and shared memory. Blocks
 * start mostly in the order of their index: the next is drawn from a window of
 * the first CPU_WINDOW that have not started. A cooperative grid starts when
 * all of it fits. Shared memory is filled with a byte drawn by seed, because on hardware it holds
 * what an earlier block left there.
 *
 * The memory of an ended cluster is kept for the next of the same grid, that of a grid for the next
 * launch of the same kernel and shape. The registers that a kernel would use don't limit placement;
 * only cooperative launches are checked against them (grid.c).
 */
#include "cpu/sched.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

static struct cpu_worker_priv *kp(const struct cpu_worker *k)
{
	return k->priv;
}

/* Of a launch that is checked for a limited time, so many are resident: several side by side. */
#define FEW_THREADS 1024u
#define FEW_UNITS   2u

#define SHARED_FILL(m) (int)((m)->opt.seed * 0x9d + 0x5b)

/* ---- memory of a cluster --------------------------------------------------------------- */

static void unit_free(struct cpu_unit *u)
{
	struct cpu_cluster *c = &u->cluster;

	for (uint32_t r = 0; u->blocks && r < c->size; r++) {
		struct cpu_cta *cta = &u->blocks[r].cta;
		for (uint32_t i = 0; cta->warps && i < cta->nwarps; i++)
			cpu_stack_free(&cta->warps[i]);
		cpu_barriers_free(cta);
		if (cta->warps)
			free(cta->warps[0].priv);
		free(cta->warps);
		if (cta->shared)
			free(cta->shared - CPU_SHARED_RESERVED);
	}
	cpu_cluster_barrier_free(c);
	free(u->blocks);
	free(u);
}

void cpu_units_free(struct cpu_unit *u)
{
	for (struct cpu_unit *next; u; u = next) {
		next = u->next;
		unit_free(u);
	}
}

static bool block_alloc(struct cpu_grid *g, struct cpu_cta *cta)
{
	size_t bytes = (size_t)g->shared_static + g->shared_dyn;
	struct cpu_warp_priv *privs = calloc(g->nwarps, sizeof(*privs));
	uint8_t *shared =
		aligned_alloc(1024, CPU_SHARED_RESERVED + ((bytes + 1023) & ~(size_t)1023));

	cta->grid = g;
	cta->nwarps = g->nwarps;
	cta->shared_bytes = (uint32_t)bytes;
	cta->shared = shared ? shared + CPU_SHARED_RESERVED : NULL;
	cta->warps = calloc(g->nwarps, sizeof(*cta->warps));
	if (!privs || !cta->shared || !cta->warps) {
		free(privs);
		return false;
	}
	for (uint32_t i = 0; i < g->nwarps; i++) {
		uint32_t left = g->nthreads - i * CPU_WARP;
		struct cpu_warp *w = &cta->warps[i];
		w->priv = &privs[i];
		w->cta = cta;
		w->grid = g;
		w->index = i;
		w->lanes = left >= CPU_WARP ? UINT32_MAX : (1u << left) - 1;
		privs[i].w = w;
		privs[i].actor.kind = CPU_ACTOR_WARP;
	}
	return true;
}

static struct cpu_unit *unit_new(struct cpu_grid *g)
{
	struct cpu_unit *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->cluster.grid = g;
	u->cluster.size = g->cluster[0] * g->cluster[1] * g->cluster[2];
	u->blocks = calloc(u->cluster.size, sizeof(*u->blocks));
	for (uint32_t r = 0; u->blocks && r < u->cluster.size; r++) {
		struct cpu_block *b = &u->blocks[r];
		u->cluster.ctas[r] = &b->cta;
		b->cta.cluster = &u->cluster;
		b->cta.rank = r;
		b->async.kind = CPU_ACTOR_ASYNC;
		if (!block_alloc(g, &b->cta)) {
			unit_free(u);
			return NULL;
		}
	}
	if (!u->blocks) {
		free(u);
		return NULL;
	}
	return u;
}

/* ---- starting ------------------------------------------------------------------------------ */

/* Where units of the grid are listed: beside other workers each has its own. */
static struct cpu_unit **residents(struct cpu_worker *k, struct cpu_grid *g)
{
	return k->m->engine->apart.is_beside ? &kp(k)->share.resident : &g->priv->resident;
}

static struct cpu_unit **idles(struct cpu_worker *k, struct cpu_grid *g)
{
	return k->m->engine->apart.is_beside ? &kp(k)->share.idle : &g->priv->idle;
}

static struct cpu_unit *unit_get(struct cpu_worker *k, struct cpu_grid *g)
{
	struct cpu_engine *e = k->m->engine;
	struct cpu_unit **idle = idles(k, g), *u = *idle;

	if (!u)
		u = cpu_spare_take(k, g);
	if (u) {
		*idle = u->next;
		return u;
	}
	if ((u = unit_new(g)) != NULL)
		return u;
	cpu_spares_clear(e, NULL);
	return unit_new(g);
}

void cpu_block_hold(struct cpu_sm *s, const struct cpu_grid *g)
{
	s->threads += g->nwarps * CPU_WARP;
	s->shared += (uint64_t)g->shared_static + g->shared_dyn + CPU_SHARED_RESERVED;
	s->ctas++;
}

static bool sm_take(struct cpu_sm *sms, uint32_t n_sms, uint32_t first, const struct cpu_grid *g,
		    uint32_t *sm)
{
	uint32_t threads = g->nwarps * CPU_WARP, best = UINT32_MAX;
	uint64_t shared = (uint64_t)g->shared_static + g->shared_dyn + CPU_SHARED_RESERVED;

	for (uint32_t i = 0; i < n_sms; i++) {
		uint32_t n = first + i < n_sms ? first + i : first + i - n_sms;
		const struct cpu_sm *s = &sms[n];
		if (s->threads + threads > CPU_SM_THREADS || s->ctas >= CPU_SM_CTAS ||
		    s->shared + shared > CPU_SHARED_SM)
			continue;
		if (best == UINT32_MAX || s->threads < sms[best].threads)
			best = n;
	}
	if (best == UINT32_MAX)
		return false;
	cpu_block_hold(&sms[best], g);
	*sm = best;
	return true;
}

static void sm_give(struct cpu_sm *s, const struct cpu_grid *g)
{
	s->threads -= g->nwarps * CPU_WARP;
	s->shared -= (uint64_t)g->shared_static + g->shared_dyn + CPU_SHARED_RESERVED;
	s->ctas--;
}

static bool unit_take(struct cpu_device *dev, uint32_t n_sms, uint32_t first,
		      const struct cpu_grid *g, uint32_t sm[CPU_CLUSTER_MAX])
{
	uint32_t size = g->cluster[0] * g->cluster[1] * g->cluster[2];

	for (uint32_t r = 0; r < size; r++) {
		if (sm_take(dev->sms, n_sms, first, g, &sm[r]))
			continue;
		while (r--)
			sm_give(&dev->sms[sm[r]], g);
		return false;
	}
	return true;
}

/* The position in the grid of block r of cluster `index`. */
static void block_id(const struct cpu_grid *g, struct cpu_unit *u, struct cpu_cta *cta)
{
	uint64_t left = u->index;
	uint32_t rank = cta->rank;

	for (unsigned i = 0; i < 3; i++) {
		uint32_t n = g->grid[i] / g->cluster[i];
		u->cluster.id[i] = (uint32_t)(left % n);
		left /= n;
		cta->id[i] = u->cluster.id[i] * g->cluster[i] + rank % g->cluster[i];
		rank /= g->cluster[i];
	}
	if (g->priv->is_rest) {
		const struct cpu_launch *l = &g->op->work.launch;
		race_shuffle_block(l->order, &l->shuffle_keys, g->id, g->grid, g->cluster, cta->id);
		for (unsigned i = 0; i < 3; i++)
			u->cluster.id[i] = cta->id[i] / g->cluster[i];
	}
	cta->linear = cta->id[0] +
		      (uint64_t)g->grid[0] * (cta->id[1] + (uint64_t)g->grid[1] * cta->id[2]);
}

static bool block_start(struct cpu_worker *k, struct cpu_unit *u, uint32_t rank, uint32_t sm)
{
	struct cpu_block *b = &u->blocks[rank];
	struct cpu_cta *cta = &b->cta;
	struct cpu_grid *g = cta->grid;

	block_id(g, u, cta);
	cta->sm = sm;
	cta->nlive = cta->nwarps;
	cta->async = NULL;
	b->has_triggered = false;
	memset(cta->shared, SHARED_FILL(k->m), cta->shared_bytes);
	cpu_event_block_start(k, cta, u->number * u->cluster.size + rank);
	cpu_barriers_init(cta);
	for (uint32_t i = 0; i < cta->nwarps; i++) {
		struct cpu_warp *w = &cta->warps[i];
		w->worker = k;
		w->nevents = 0;
		if (!cpu_stack_init(w))
			return false;
		cpu_warp_start(w, g->func);
		if (k->m->steer)
			cpu_steer_start(w);
	}
	cpu_model_cta_init(cta);
	return true;
}

void cpu_block_use_reserved(struct cpu_cluster *c)
{
	if (c->uses_reserved)
		return;
	c->uses_reserved = true;
	for (uint32_t r = 0; r < c->size; r++)
		memset(c->ctas[r]->shared - CPU_SHARED_RESERVED, SHARED_FILL(c->grid->m),
		       CPU_SHARED_RESERVED);
}

static uint64_t next_index(struct cpu_worker *k, struct cpu_grid_priv *p)
{
	uint32_t at = 0;

	while (p->nwindow < CPU_WINDOW && p->fetched < p->nunits)
		p->window[p->nwindow++] = p->fetched++;
	if (p->nwindow > 1 && !kp(k)->is_calm && !cpu_random_below(k, 4))
		at = cpu_random_below(k, p->nwindow);

	uint64_t index = p->window[at];

	p->nwindow--;
	memmove(&p->window[at], &p->window[at + 1], (p->nwindow - at) * sizeof(index));
	return index;
}

/* There is no memory for the unit: it is removed as a whole. */
static void start_failed(struct cpu_engine *e, struct cpu_grid *g)
{
	cpu_fault_op(e->m, g->device, CPU_FAULT_RESOURCES,
		     "host memory is exhausted by the blocks of %s", g->func->name);
}

bool cpu_block_cancel(struct cpu_warp *w, uint32_t first[3])
{
	struct cpu_grid *g = w->grid;
	struct cpu_grid_priv *p = g->priv;
	uint64_t left;

	if (cpu_grid_is_apart(g->m->engine, g) || g->op->chosen || g->op->work.launch.chosen ||
	    p->is_rest || p->is_over || g->is_cooperative || !cpu_random_below(w->worker, 4))
		return false;
	if (p->fetched < p->nunits) {
		left = --p->nunits;
	} else if (p->nwindow) {
		left = p->window[--p->nwindow];
		p->nunits--;
		p->fetched--;
	} else {
		return false;
	}
	for (unsigned i = 0; i < 3; i++) {
		uint32_t n = g->grid[i] / g->cluster[i];
		first[i] = (uint32_t)(left % n) * g->cluster[i];
		left /= n;
	}
	return true;
}

/* number: of the unit; NULL: it is drawn. */
static bool unit_start(struct cpu_worker *k, struct cpu_grid *g, const uint64_t *number,
		       const uint32_t *sm)
{
	struct cpu_grid_priv *p = g->priv;
	struct cpu_unit *u = unit_get(k, g), **list = residents(k, g);
	struct cpu_engine *e = k->m->engine;

	if (!u)
		return false;
	u->worker = k;
	cpu_steer_look(k);
	u->number = number ? *number : next_index(k, p);
	u->index = g->op->chosen ? g->op->chosen[u->number] : u->number;
	u->prev = NULL;
	u->next = *list;
	if (u->next)
		u->next->prev = u;
	*list = u;
	kp(k)->nblocks += u->cluster.size;
	if (e->apart.is_beside) {
		kp(k)->share.started++;
	} else {
		p->started++;
		e->stats.blocks += u->cluster.size;
	}
	cpu_cluster_barrier_init(&u->cluster);
	u->cluster.uses_reserved = false;
	for (uint32_t r = 0; r < u->cluster.size; r++)
		if (!block_start(k, u, r, sm[r]))
			return false;
	for (uint32_t r = 0; r < u->cluster.size; r++)
		for (uint32_t i = 0; i < g->nwarps; i++)
			cpu_sched_push(k, &cpu_wp(&u->blocks[r].cta.warps[i])->actor);
	return true;
}

static bool place_one(struct cpu_engine *e, struct cpu_worker *k, struct cpu_grid *g)
{
	struct cpu_device *dev = &e->devices[g->device];
	uint32_t sm[CPU_CLUSTER_MAX];

	if (!unit_take(dev, e->sms, cpu_random_below(k, e->sms), g, sm))
		return false;
	if (unit_start(k, g, NULL, sm))
		return true;
	start_failed(e, g);
	g->priv->is_over = true;
	return false;
}

/* The i-th unit to start. Of a launch's rest the first are those that were to start next. */
static uint64_t unit_at(const struct cpu_grid_priv *p, uint64_t i)
{
	return i < p->fetched ? p->window[p->nwindow - (p->fetched - i)] : i;
}

void cpu_block_start_from(struct cpu_worker *k, struct cpu_grid *g, uint64_t first, uint64_t n)
{
	struct cpu_engine *e = k->m->engine;
	struct cpu_grid_priv *p = g->priv;
	uint32_t size = cpu_grid_unit(g), sm[CPU_CLUSTER_MAX];

	for (uint64_t i = first; i < first + n && i < p->nunits; i++) {
		uint64_t number = unit_at(p, i);
		for (uint32_t r = 0; r < size; r++)
			sm[r] = (uint32_t)((i * size + r) % e->sms);
		if (unit_start(k, g, &number, sm))
			continue;
		start_failed(e, g);
		/* On several workers the launch is repeated (cpu_engine_fault). */
		if (!e->apart.is_beside)
			p->is_over = true;
		return;
	}
}

/* Would all of a cooperative grid fit now? */
static bool fits_whole(struct cpu_engine *e, const struct cpu_grid *g)
{
	struct cpu_device *dev = &e->devices[g->device], trial = *dev;
	uint32_t sm[CPU_CLUSTER_MAX];
	bool fits = true;

	trial.sms = malloc(e->sms * sizeof(*trial.sms));
	if (!trial.sms)
		return false;
	memcpy(trial.sms, dev->sms, e->sms * sizeof(*trial.sms));
	for (uint64_t i = 0; fits && i < g->priv->nunits; i++)
		fits = unit_take(&trial, e->sms, 0, g, sm);
	free(trial.sms);
	return fits;
}

/* A cooperative grid starts when all of it fits and no other one is half placed. */
static bool is_admitted(struct cpu_engine *e, struct cpu_grid *g)
{
	struct cpu_grid *others = e->devices[g->device].grids;

	if (!g->is_cooperative || g->priv->is_admitted)
		return true;
	for (const struct cpu_grid *o = others; o; o = o->priv->next)
		if (o->priv->is_admitted && o->priv->started < o->priv->nunits)
			return false;
	g->priv->is_admitted = fits_whole(e, g);
	return g->priv->is_admitted;
}

/* A launch that is checked for a limited time has few blocks at once, where these don't
 * communicate: those that have begun are executed to their end by one worker, the others by all. */
static bool has_enough(const struct cpu_grid *g)
{
	const struct cpu_launch *l = &g->op->work.launch;
	const struct cpu_grid_priv *p = g->priv;

	return !l->is_plain && l->until_ns != UINT64_MAX && p->started - p->done >= FEW_UNITS &&
	       (p->started - p->done) * cpu_grid_unit(g) * g->nwarps * CPU_WARP >= FEW_THREADS &&
	       cpu_grid_may_wait(g->op);
}

#define PLACE_MAX 64 /* grids considered at a time; hardware runs at most 128 */

void cpu_block_place(struct cpu_worker *k, unsigned device)
{
	struct cpu_engine *e = k->m->engine;
	struct cpu_grid *some[PLACE_MAX];
	uint32_t n = 0;
	int best = INT32_MAX;

	if (e->apart.grid) {
		cpu_apart_place(k);
		return;
	}
	if (k != e->workers)
		return;
	for (struct cpu_grid *g = e->devices[device].grids; g && n < PLACE_MAX; g = g->priv->next) {
		struct cpu_grid_priv *p = g->priv;
		if (p->is_over || p->started == p->nunits || has_enough(g) || !is_admitted(e, g))
			continue;
		if (p->priority < best)
			best = p->priority;
		some[n++] = g;
	}
	while (n) {
		uint32_t i = n > 1 ? cpu_random_below(k, n) : 0;
		/* Biased by priority: mostly the most urgent go first. */
		if (some[i]->priv->priority > best && cpu_random_below(k, 8))
			for (i = 0; some[i]->priv->priority > best && i + 1 < n; i++)
				;
		if (!place_one(e, k, some[i]) || some[i]->priv->started == some[i]->priv->nunits ||
		    has_enough(some[i]))
			some[i] = some[--n];
	}
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void block_stop(struct cpu_worker *k, struct cpu_device *dev, struct cpu_block *b)
{
	struct cpu_cta *cta = &b->cta;

	for (uint32_t i = 0; i < cta->nwarps; i++)
		cpu_sched_drop_warp(&cta->warps[i]);
	if (b->async.list)
		cpu_sched_remove(k, &b->async);
	cpu_async_free(cta);
	cta->async = NULL;
	cpu_event_block_end(cta);
	cpu_model_cta_free(cta);
	if (!cpu_grid_is_apart(k->m->engine, cta->grid))
		sm_give(&dev->sms[cta->sm], cta->grid);
	kp(k)->nblocks--;
}

/* It is no longer listed as one that runs. */
static void unit_unlist(struct cpu_unit *u)
{
	struct cpu_unit **idle = idles(u->worker, u->cluster.grid);

	if (u->prev)
		u->prev->next = u->next;
	else
		*residents(u->worker, u->cluster.grid) = u->next;
	if (u->next)
		u->next->prev = u->prev;
	u->next = *idle;
	*idle = u;
}

void cpu_block_end(struct cpu_unit *u)
{
	struct cpu_grid *g = u->cluster.grid;
	struct cpu_grid_priv *p = g->priv;
	struct cpu_engine *e = g->m->engine;
	struct cpu_device *dev = &e->devices[g->device];
	struct cpu_apart_share *mine = e->apart.is_beside ? &kp(u->worker)->share : NULL;

	cpu_proof_end(u->worker);
	for (uint32_t r = 0; r < u->cluster.size; r++) {
		struct cpu_block *b = &u->blocks[r];
		block_stop(u->worker, dev, b);
		if (!b->has_triggered && !p->is_over) {
			b->has_triggered = true;
			if (mine)
				mine->triggered++;
			else
				cpu_grid_triggered(g);
		}
	}
	unit_unlist(u);
	if (mine) {
		mine->done++;
	} else {
		p->done++;
		e->placing++;
	}
	if (cpu_grid_is_apart(e, g) && !p->is_over)
		cpu_apart_group_ended(u->worker);
}
