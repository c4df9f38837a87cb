/*
 * host.c - host threads as actors, and what orders them.
 *
 * By default all host threads are one actor. They may be ordered by a lock, a join, an atomic or a
 * pipe; in any case one actor can't race with itself, so no report is wrong, and races between host
 * threads alone are not seen. With is_host_apart each is an actor of its own: what it submits
 * starts after what it has done, it comes after what it has waited for, and the caller says what
 * orders threads (cpu_host_release and the others: locks and joins that it sees; the C library's,
 * not atomics of the program's own).
 *
 * For the oracle a lock is an mbarrier: a release arrives in its phase, an acquire waits for it. A
 * mutex has a new phase at each release. A thread that waits for a whole device comes after an
 * operation of ours that comes after all that had ended there.
 * Costs: nothing with one actor; otherwise a lock of ours at each of the program's.
 */
#include "cpu/events/internal.h"

#include <stdlib.h>

/* The calling thread's actor, of the judge with that serial. */
static _Thread_local struct {
	uint64_t serial;
	uint32_t actor;
} self;

static _Atomic uint64_t serials;

bool events_host_init(struct cpu_events *x)
{
	x->serial = atomic_fetch_add(&serials, 1) + 1;
	x->host = oracle_host(x->o);
	x->idle = calloc(x->m->opt.devices, sizeof(*x->idle));
	return x->idle != NULL;
}

void events_host_free(struct cpu_events *x)
{
	struct events_thread *t, *next;

	HASH_ITER(hh, x->threads, t, next)
	{
		HASH_DEL(x->threads, t);
		free(t);
	}
	for (unsigned d = 0; d < x->m->opt.devices; d++)
		base_vec_free(&x->idle[d].ended);
	free(x->idle);
}

static void keep_thread(struct cpu_events *x, uint64_t thread, uint32_t actor)
{
	struct events_thread *t;

	HASH_FIND(hh, x->threads, &thread, sizeof(thread), t);
	if (!t) {
		t = base_calloc(1, sizeof(*t));
		t->self = thread;
		HASH_ADD(hh, x->threads, self, sizeof(t->self), t);
	}
	t->actor = actor;
}

uint32_t events_self(struct cpu_events *x)
{
	if (!x->m->opt.is_host_apart)
		return x->host;
	if (self.serial != x->serial) {
		self.serial = x->serial;
		self.actor = oracle_host(x->o);
		keep_thread(x, (uint64_t)pthread_self(), self.actor);
	}
	return self.actor;
}

/* ---- the end of everything ------------------------------------------------------------------ */

void events_ended(struct cpu_events *x, unsigned device, uint64_t id)
{
	base_vec_push(&x->idle[device].ended, id);
}

static void wait_for_all(struct cpu_events *x, struct events_idle *d)
{
	if (d->ended.n) {
		uint64_t key = ++x->nidle | EVENTS_KEY_IDLE;
		for (size_t i = 0; i < d->ended.n; i++)
			oracle_op_depend(x->o, key, d->ended.v[i]);
		if (d->all)
			oracle_op_depend(x->o, key, d->all);
		oracle_op_start(x->o, key, ORACLE_NO_ACTOR);
		oracle_op_end(x->o, key);
		d->all = key;
		d->ended.n = 0;
	}
	if (d->all)
		oracle_host_wait(x->o, events_self(x), d->all);
}

void cpu_event_idle(struct cpu_machine *m, unsigned device)
{
	struct cpu_events *x = m->events;

	if (!x)
		return;
	events_lock(x);
	for (unsigned d = 0; d < m->opt.devices; d++)
		if (device >= m->opt.devices || d == device)
			wait_for_all(x, &x->idle[d]);
	events_mem_settle(x);
	events_unlock(x);
}

/* ---- between threads ------------------------------------------------------------------------- */

static bool is_apart(const struct cpu_machine *m)
{
	return m->events && m->opt.is_host_apart;
}

void cpu_host_release(struct cpu_machine *m, uint64_t object, bool is_whole)
{
	struct cpu_events *x = m->events;

	if (!is_apart(m))
		return;
	events_lock(x);
	struct events_mbar *b = events_mbar_at(x, object);
	b->phase += is_whole;
	oracle_mbarrier_arrive(x->o, events_self(x), object, b->phase, RACE_RELEASE,
			       RACE_SCOPE_SYS);
	events_unlock(x);
}

void cpu_host_acquire(struct cpu_machine *m, uint64_t object)
{
	struct cpu_events *x = m->events;

	if (!is_apart(m))
		return;
	events_lock(x);
	oracle_mbarrier_wait(x->o, events_self(x), object, events_mbar_at(x, object)->phase,
			     RACE_ACQUIRE, RACE_SCOPE_SYS);
	events_unlock(x);
}

void cpu_host_joined(struct cpu_machine *m, uint64_t thread)
{
	struct cpu_events *x = m->events;
	struct events_thread *t;

	if (!is_apart(m))
		return;
	events_lock(x);
	HASH_FIND(hh, x->threads, &thread, sizeof(thread), t);
	if (t) {
		uint64_t key = ++x->nidle | EVENTS_KEY_IDLE;
		oracle_op_submit(x->o, t->actor, key);
		oracle_op_start(x->o, key, ORACLE_NO_ACTOR);
		oracle_op_end(x->o, key);
		oracle_host_wait(x->o, events_self(x), key);
		HASH_DEL(x->threads, t);
		free(t);
	}
	events_unlock(x);
}
