/*
 * host.c - host threads as actors, and what orders them.
 *
 * By default all host threads are one actor. What orders them may be a lock, a join, an atomic or
 * a pipe; whatever it is, one actor can't race with itself, so no report is wrong, and races
 * that are between host threads only are not seen. With is_host_apart each is an actor of its own:
 * what it submits starts after what it has done, it comes after what it has waited for, and the
 * caller says what orders threads (cpu_host_release and the others: locks and joins that it
 * sees; the C library's, not atomics of the program's own).
 *
 * A lock is an mbarrier to the oracle: a release arrives in its phase, an acquire waits for it. A
 * mutex has a new phase at each release. Who waits for a whole device comes after an
 * operation of ours that is after all that had ended there.
 * Costs: nothing in one actor; else a lock of ours at each of the program's.
 */
#include "cpu/judge/judge.h"

#include <stdlib.h>

/* The calling thread's actor, of the watch with that serial. */
static _Thread_local struct {
	uint64_t serial;
	uint32_t actor;
} self;

static _Atomic uint64_t serials;

bool judge_host_init(struct cpu_judge *x)
{
	x->serial = atomic_fetch_add(&serials, 1) + 1;
	x->host = oracle_host(x->o);
	x->idle = calloc(x->m->opt.devices, sizeof(*x->idle));
	return x->idle != NULL;
}

void judge_host_free(struct cpu_judge *x)
{
	struct judge_thread *t, *next;

	HASH_ITER(hh, x->threads, t, next)
	{
		HASH_DEL(x->threads, t);
		free(t);
	}
	for (unsigned d = 0; d < x->m->opt.devices; d++)
		base_vec_free(&x->idle[d].ended);
	free(x->idle);
}

static void keep_thread(struct cpu_judge *x, uint64_t thread, uint32_t actor)
{
	struct judge_thread *t;

	HASH_FIND(hh, x->threads, &thread, sizeof(thread), t);
	if (!t) {
		t = base_calloc(1, sizeof(*t));
		t->self = thread;
		HASH_ADD(hh, x->threads, self, sizeof(t->self), t);
	}
	t->actor = actor;
}

uint32_t judge_self(struct cpu_judge *x)
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

void judge_ended(struct cpu_judge *x, unsigned device, uint64_t id)
{
	base_vec_push(&x->idle[device].ended, id);
}

static void wait_for_all(struct cpu_judge *x, struct judge_idle *d)
{
	if (d->ended.n) {
		uint64_t key = ++x->nidle | JUDGE_KEY_IDLE;
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
		oracle_host_wait(x->o, judge_self(x), d->all);
}

void cpu_judge_idle(struct cpu_machine *m, unsigned device)
{
	struct cpu_judge *x = m->judge;

	if (!x)
		return;
	judge_lock(x);
	for (unsigned d = 0; d < m->opt.devices; d++)
		if (device >= m->opt.devices || d == device)
			wait_for_all(x, &x->idle[d]);
	judge_mem_settle(x);
	judge_unlock(x);
}

/* ---- between threads ------------------------------------------------------------------------- */

static bool is_apart(const struct cpu_machine *m)
{
	return m->judge && m->opt.is_host_apart;
}

void cpu_host_release(struct cpu_machine *m, uint64_t object, bool is_whole)
{
	struct cpu_judge *x = m->judge;

	if (!is_apart(m))
		return;
	judge_lock(x);
	struct judge_mbar *b = judge_mbar_at(x, object);
	b->phase += is_whole;
	oracle_mbarrier_arrive(x->o, judge_self(x), object, b->phase, RACE_RELEASE, RACE_SCOPE_SYS);
	judge_unlock(x);
}

void cpu_host_acquire(struct cpu_machine *m, uint64_t object)
{
	struct cpu_judge *x = m->judge;

	if (!is_apart(m))
		return;
	judge_lock(x);
	oracle_mbarrier_wait(x->o, judge_self(x), object, judge_mbar_at(x, object)->phase,
			     RACE_ACQUIRE, RACE_SCOPE_SYS);
	judge_unlock(x);
}

void cpu_host_joined(struct cpu_machine *m, uint64_t thread)
{
	struct cpu_judge *x = m->judge;
	struct judge_thread *t;

	if (!is_apart(m))
		return;
	judge_lock(x);
	HASH_FIND(hh, x->threads, &thread, sizeof(thread), t);
	if (t) {
		uint64_t key = ++x->nidle | JUDGE_KEY_IDLE;
		oracle_op_submit(x->o, t->actor, key);
		oracle_op_start(x->o, key, ORACLE_NO_ACTOR);
		oracle_op_end(x->o, key);
		oracle_host_wait(x->o, judge_self(x), key);
		HASH_DEL(x->threads, t);
		free(t);
	}
	judge_unlock(x);
}
