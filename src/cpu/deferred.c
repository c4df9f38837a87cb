/*
 * deferred.c - updates of global memory that are carried out in the order of groups.
 *
 * A sum of floats depends on the order in which they are added, and so does what two kinds of
 * updates of one word leave. Where no thread has the results of a launch's atomics (apart.c), it
 * doesn't matter when they are carried out, as long as nothing else accesses these words
 * (touch.c: then the launch is taken back). So each worker writes down its group's updates, and
 * they are carried out group by group, in the order in which one worker executes the groups. By
 * whom, is no matter: a worker that ends a group carries out what is to be next, for others, too,
 * unless one does that already. The worker whose group is next doesn't collect much.
 *
 * Strong stores are such updates, too, where groups come to strong loads in their order (order.c):
 * a group that does so carries out its own first.
 *
 * Costs: 32 bytes for each update until all groups before its own have ended; some nanoseconds to
 * write it down. Groups that are far ahead wait when there are MOST of them in all.
 */
#include "cpu/deferred.h"
#include "base/base.h"
#include "cpu/sched.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define CHUNK (1u << 12) /* updates that the group that is next has before it carries them out */
#define MOST  (1u << 23) /* updates in all: 256 MiB */

/* A group that has ended, while others before it haven't. */
struct ended {
	struct ended *next;
	uint64_t first, end;
	struct cpu_update *v;
	size_t n;
};

/* A worker's group. */
struct cpu_deferred {
	struct cpu_deferreds *all;
	uint64_t first, end;
	BASE_VEC(struct cpu_update) list;
};

struct cpu_deferreds {
	struct cpu_engine *e;
	_Atomic uint64_t next; /* group: all before it have been carried out */
	_Atomic uint64_t held; /* updates that are written down */
	pthread_mutex_t lock;  /* of: */
	struct ended *ended;
	bool is_busy; /* a worker carries out what has ended */
	struct cpu_deferred of[];
};

struct cpu_deferreds *cpu_deferreds_new(struct cpu_engine *e)
{
	struct cpu_deferreds *ds = calloc(1, sizeof(*ds) + e->nworkers * sizeof(ds->of[0]));

	if (!ds)
		return NULL;
	ds->e = e;
	pthread_mutex_init(&ds->lock, NULL);
	for (uint32_t i = 0; i < e->nworkers; i++)
		ds->of[i].all = ds;
	return ds;
}

void cpu_deferreds_start(struct cpu_deferreds *ds, uint64_t first)
{
	for (struct ended *x = ds->ended, *next; x; x = next) {
		next = x->next;
		free(x->v);
		free(x);
	}
	ds->ended = NULL;
	for (uint32_t i = 0; i < ds->e->nworkers; i++)
		ds->of[i].list.n = 0;
	atomic_store(&ds->next, first);
	atomic_store(&ds->held, 0);
}

void cpu_deferreds_free(struct cpu_deferreds *ds)
{
	if (!ds)
		return;
	cpu_deferreds_start(ds, 0);
	for (uint32_t i = 0; i < ds->e->nworkers; i++)
		base_vec_free(&ds->of[i].list);
	pthread_mutex_destroy(&ds->lock);
	free(ds);
}

struct cpu_deferred *cpu_deferred_of(struct cpu_deferreds *ds, unsigned worker)
{
	return &ds->of[worker];
}

static void carry_out(struct cpu_deferreds *ds, const struct cpu_update *u, size_t n)
{
	cpu_updates_do(u, n);
	atomic_fetch_sub(&ds->held, n);
}

/* ---- a group that runs ----------------------------------------------------------------------- */

void cpu_deferred_begin(struct cpu_deferred *d, uint64_t first, uint64_t end)
{
	d->first = first;
	d->end = end;
}

static bool is_next(const struct cpu_deferred *d)
{
	return atomic_load(&d->all->next) == d->first;
}

/* The group that is next never waits, nor does a worker that is to stop, so this ends. */
static void await_others(const struct cpu_deferred *d)
{
	while (atomic_load(&d->all->held) > MOST && !is_next(d) && !cpu_apart_must_stop(d->all->e))
		sched_yield();
}

void cpu_deferred_add(struct cpu_deferred *d, struct cpu_update u)
{
	base_vec_push(&d->list, u);
	if (d->list.n % CHUNK)
		return;
	atomic_fetch_add(&d->all->held, CHUNK);
	await_others(d);
	if (!is_next(d))
		return;
	carry_out(d->all, d->list.v, d->list.n);
	d->list.n = 0;
}

bool cpu_deferred_is_next(struct cpu_deferred *d)
{
	if (!is_next(d))
		return false;
	atomic_fetch_add(&d->all->held, d->list.n % CHUNK);
	carry_out(d->all, d->list.v, d->list.n);
	d->list.n = 0;
	return true;
}

/* ---- groups that have ended ------------------------------------------------------------------ */

/* With the lock. NULL: it hasn't ended. */
static struct ended *take_next(struct cpu_deferreds *ds)
{
	uint64_t next = atomic_load(&ds->next);

	for (struct ended **at = &ds->ended; *at; at = &(*at)->next)
		if ((*at)->first == next) {
			struct ended *x = *at;
			*at = x->next;
			return x;
		}
	return NULL;
}

/* With the lock, which others may have meanwhile. */
static void carry_out_all(struct cpu_deferreds *ds)
{
	struct ended *x;

	ds->is_busy = true;
	while ((x = take_next(ds)) != NULL) {
		pthread_mutex_unlock(&ds->lock);
		carry_out(ds, x->v, x->n);
		atomic_store(&ds->next, x->end);
		free(x->v);
		free(x);
		pthread_mutex_lock(&ds->lock);
	}
	ds->is_busy = false;
}

void cpu_deferred_end(struct cpu_deferred *d)
{
	struct cpu_deferreds *ds = d->all;
	struct ended *x = base_malloc(sizeof(*x));

	atomic_fetch_add(&ds->held, d->list.n % CHUNK);
	*x = (struct ended){NULL, d->first, d->end, d->list.v, d->list.n};
	d->list.v = NULL;
	d->list.n = d->list.cap = 0;
	pthread_mutex_lock(&ds->lock);
	x->next = ds->ended;
	ds->ended = x;
	if (!ds->is_busy)
		carry_out_all(ds);
	pthread_mutex_unlock(&ds->lock);
}
