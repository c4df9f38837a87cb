/*
 * machine.c - creating and freeing a machine, and its statistics.
 */
#include "cpu/sched.h"
#include "cpu/pages.h"
#include "cpu/repeat.h"
#include "cpu/events.h"
#include "cpu/past.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void init_sync(struct cpu_engine *e)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&e->lock, NULL);
	pthread_mutex_init(&e->fault_lock, NULL);
	pthread_mutex_init(&e->spare_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->changed, &attr);
	pthread_cond_init(&e->nudge, &attr);
	pthread_condattr_destroy(&attr);
	atomic_store(&e->wanted, 0);
}

static void init_sleep(struct cpu_worker_priv *p)
{
	pthread_mutex_init(&p->sleep_lock, NULL);
	pthread_cond_init(&p->sleep, NULL);
	p->is_asleep = false;
}

/* A worker writes to its own at each turn: none shares a line of the cache with another's. They are
 * not on the C heap, where what the program allocates would lie elsewhere with more of them. */
static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool init_workers(struct cpu_engine *e)
{
	e->nworkers = e->m->opt.threads < e->sms ? e->m->opt.threads : e->sms;
	e->workers = pages(e->nworkers * sizeof(*e->workers));
	for (uint32_t i = 0; e->workers && i < e->nworkers; i++) {
		struct cpu_worker *k = &e->workers[i];
		struct cpu_worker_priv *p = pages(sizeof(*p));

		if (!p)
			return false;
		init_sleep(p);
		k->m = e->m;
		k->rng = e->m->opt.seed + 0x632be59bd9b4e019ull * i;
		k->clock = 1000000; /* %globaltimer 0 would look unset */
		k->priv = p;
		p->k = k;
		p->e = e;
		p->hash = i ? 0 : CPU_HASH_START;
	}
	return e->workers != NULL;
}

bool cpu_engine_init(struct cpu_machine *m)
{
	struct cpu_engine *e = aligned_alloc(_Alignof(struct cpu_engine), sizeof(*e));

	if (!e)
		return false;
	memset(e, 0, sizeof(*e));
	m->engine = e;
	e->m = m;
	e->sms = m->opt.sms ? m->opt.sms : CPU_SMS;
	e->is_replayable = true;
	init_sync(e);
	m->checked = calloc(m->opt.devices, sizeof(*m->checked));
	e->devices = calloc(m->opt.devices, sizeof(*e->devices));
	if (!m->checked || !e->devices || !init_workers(e))
		return false;
	for (unsigned d = 0; d < m->opt.devices; d++) {
		e->devices[d].sms = calloc(e->sms, sizeof(struct cpu_sm));
		if (!e->devices[d].sms)
			return false;
	}
	cpu_repeats_init(e);
	return true;
}

/* Drops operations that haven't begun, and all that wait only for these. */
static void drop_waiting(struct cpu_engine *e)
{
	for (size_t i = 0; i < e->held.n; i++)
		base_vec_push(&e->startable, e->held.v[i]);
	for (size_t i = 0; i < e->polls.n; i++)
		base_vec_push(&e->startable, e->polls.v[i]);
	while (e->startable.n) {
		struct cpu_op *op = e->startable.v[--e->startable.n];

		for (size_t i = 0; i < op->after.n; i++)
			if (!--op->after.v[i]->npending)
				base_vec_push(&e->startable, op->after.v[i]);
		for (size_t i = 0; i < op->before.n; i++)
			cpu_op_put(op->before.v[i]);
		op->before.n = 0;
		cpu_op_put(op);
	}
	base_vec_free(&e->startable);
	base_vec_free(&e->polls);
	base_vec_free(&e->held);
}

void cpu_engine_free(struct cpu_machine *m)
{
	struct cpu_engine *e = m->engine;

	if (!e)
		return;
	cpu_apart_gather(e);
	for (unsigned d = 0; e->devices && d < m->opt.devices; d++) {
		while (e->devices[d].grids) {
			e->devices[d].grids->priv->is_over = true;
			cpu_grid_free(e->devices[d].grids);
		}
		free(e->devices[d].sms);
	}
	cpu_spares_clear(e, NULL);
	cpu_repeats_free(e);
	cpu_apart_free(e);
	for (uint32_t i = 0; e->workers && i < e->nworkers; i++)
		cpu_judge_free(&e->workers[i]);
	for (uint32_t i = 0; e->workers && i < e->nworkers; i++) {
		struct cpu_worker_priv *p = e->workers[i].priv;
		if (!p)
			continue;
		base_vec_free(&p->queue[0]);
		base_vec_free(&p->queue[1]);
		base_vec_free(&p->heap);
		base_vec_free(&p->ended);
		munmap(p, sizeof(*p));
	}
	drop_waiting(e);
	if (e->workers)
		munmap(e->workers, e->nworkers * sizeof(*e->workers));
	free(e->devices);
	free(m->checked);
	free(e);
	m->engine = NULL;
}

struct cpu_machine *cpu_machine_new(const struct cpu_options *opt)
{
	struct cpu_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->opt = *opt;
	if (!m->opt.devices)
		m->opt.devices = 1;
	if (!m->opt.threads)
		m->opt.threads = 1;
	if (!m->opt.sms)
		m->opt.sms = CPU_SMS;
	if (!m->opt.memory)
		m->opt.memory = CPU_MEMORY;
	m->opt.sees_host = m->opt.sees_host && m->opt.oracle != CPU_ORACLE_OFF;
	if (cpu_steer_init(m) && cpu_space_init(m) && cpu_textures_init(m) && cpu_engine_init(m) &&
	    cpu_event_init(m))
		return m;
	cpu_engine_free(m);
	cpu_textures_free(m);
	cpu_space_free(m);
	cpu_steer_free(m);
	free(m);
	return NULL;
}

void cpu_machine_short(struct cpu_machine *m)
{
	if (m && m->events)
		cpu_event_stop(m);
}

void cpu_machine_free(struct cpu_machine *m)
{
	struct cpu_engine *e;

	if (!m)
		return;
	e = m->engine;
	pthread_mutex_lock(&e->lock);
	e->is_closing = true;
	pthread_cond_broadcast(&e->changed);
	pthread_cond_signal(&e->nudge);
	pthread_mutex_unlock(&e->lock);
	if (e->has_background)
		pthread_join(e->background, NULL);
	cpu_workers_join(e);
	/* A host function still runs and will come back here: the machine stays. */
	pthread_mutex_lock(&e->lock);
	bool is_used = e->nhost != 0;
	pthread_mutex_unlock(&e->lock);
	if (is_used)
		return;
	cpu_engine_free(m);
	cpu_pages_free(m);
	cpu_past_free(m);
	cpu_event_free(m);
	cpu_textures_free(m);
	cpu_space_free(m);
	cpu_steer_free(m);
	free(m);
}

void cpu_machine_forked(struct cpu_machine *m)
{
	struct cpu_engine *e = m->engine;

	cpu_space_forked(m);
	init_sync(e);
	cpu_space_forked(m);
	cpu_load_forked();
	e->is_working = e->has_background = e->is_asleep = false;
	e->nhost = e->nops = e->nthreads = 0;
	atomic_store(&e->nbusy, 0);
	atomic_store(&e->awaits, false);
	e->npauses = 0;
	if (e->repeats)
		cpu_repeats_forked(e);
	e->apart.grid = NULL;
	e->apart.is_beside = false;
	atomic_store(&e->apart.is_open, false);
	/* A worker may have changed them meanwhile, or hold their lock. */
	e->apart.touches = NULL;
	e->apart.deferreds = NULL;
	e->startable.n = e->polls.n = e->held.n = 0;
	atomic_store(&e->is_pausing, false);
	atomic_store(&e->has_fault, false);
	for (uint32_t i = 0; i < e->nworkers; i++) {
		struct cpu_worker_priv *p = e->workers[i].priv;
		p->queue[0].n = p->queue[1].n = p->heap.n = p->ended.n = 0;
		p->nblocks = 0;
		p->share = (struct cpu_apart_share){0};
		e->workers[i].touch = NULL;
		e->workers[i].deferred = NULL;
		e->workers[i].judge = NULL;
		init_sleep(p);
	}
	/* Memory of the parent's kernels stays allocated, but is not used again. */
	memset(e->spares, 0, sizeof(e->spares));
	e->spare_bytes = 0;
	for (unsigned d = 0; d < m->opt.devices; d++) {
		e->devices[d].grids = NULL;
		e->devices[d].nops = 0;
		memset(e->devices[d].sms, 0, e->sms * sizeof(struct cpu_sm));
	}
}

uint64_t cpu_get_checked(const struct cpu_machine *m, unsigned device)
{
	return atomic_load_explicit(&m->checked[device], memory_order_relaxed);
}

void cpu_listen(struct cpu_machine *m, cpu_progress_fn *progress, cpu_fault_fn *fault, void *arg)
{
	m->listener.progress = progress;
	m->listener.fault = fault;
	m->listener.arg = arg;
}

void cpu_listen_quiet(struct cpu_machine *m, cpu_quiet_fn *quiet, void *arg)
{
	pthread_mutex_lock(&m->engine->lock);
	m->listener.quiet = quiet;
	m->listener.quiet_arg = arg;
	pthread_mutex_unlock(&m->engine->lock);
}

void cpu_listen_choose(struct cpu_machine *m, cpu_choose_fn *choose, cpu_cut_fn *cut, void *arg)
{
	pthread_mutex_lock(&m->engine->lock);
	m->listener.choose = choose;
	m->listener.cut = cut;
	m->listener.choose_arg = arg;
	pthread_mutex_unlock(&m->engine->lock);
}

void cpu_get_stats(struct cpu_machine *m, struct cpu_stats *out)
{
	struct cpu_engine *e = m->engine;

	pthread_mutex_lock(&e->lock);
	*out = e->stats;
	out->is_replayable = e->is_replayable;
	for (uint32_t i = 0; i < e->nworkers; i++) {
		const struct cpu_worker_priv *p = e->workers[i].priv;
		out->thread_insts += e->workers[i].thread_insts;
		out->warp_insts += e->workers[i].warp_insts;
		out->switches += p->decisions;
	}
	pthread_mutex_unlock(&e->lock);
}

uint64_t cpu_schedule_hash(struct cpu_machine *m)
{
	struct cpu_engine *e = m->engine;
	uint64_t hash = 0;

	pthread_mutex_lock(&e->lock);
	for (uint32_t i = 0; i < e->nworkers; i++)
		hash ^= ((struct cpu_worker_priv *)e->workers[i].priv)->hash;
	pthread_mutex_unlock(&e->lock);
	return hash;
}
