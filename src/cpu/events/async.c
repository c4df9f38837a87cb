/*
 * async.c - mbarriers and asynchronous copies as the oracle's events.
 *
 * Each lane's part of a transfer is a pseudo-thread, forked when it is issued, in the async proxy
 * for bulk and tensor copies, st.async and red.async. A part that completes on an mbarrier arrives
 * there on its own behalf only. One that belongs to a group is remembered by its warp when it has
 * ended, until its thread waits: parts are joined then, not when they end.
 *
 * The number of an mbarrier's open phase is kept here, since the object itself holds only its
 * parity. A successful wait saw the completion of the phase before the open one (the ISA doesn't
 * let a thread wait for an older one). All operations on the object are relaxed and in the generic
 * proxy, init a weak write, waits reads, all others read-modify-writes: a copy that completes on an
 * object whose init is not ordered before it is a race.
 *
 * Misses: scopes of .cta (below).
 * Costs: 24 bytes for a part of a group that has not been waited for, PARTS_MAX of them in a warp;
 * beyond, those that completed on an mbarrier are forgotten first.
 */
#include "flow/flow.h"
#include "cpu/async/async.h"
#include "cpu/events/internal.h"

#include <stdlib.h>

#define PARTS_MAX 65536
/* A piece of a copy is so many accesses of this size, where it can be: pieces of all lengths are
 * one kind of access then, and what the report says doesn't depend on how copies are cut. */
#define UNIT	 16u
#define EARLY_NS 100000u /* how long a use waits for the init of its mbarrier */

/* ---- mbarriers ------------------------------------------------------------------------------- */

struct events_mbar *events_mbar_at(struct cpu_events *x, uint64_t address)
{
	struct events_mbar *b;

	HASH_FIND(hh, x->mbars, &address, sizeof(address), b);
	if (b)
		return b;
	b = base_calloc(1, sizeof(*b));
	b->address = address;
	b->phase = 1;
	HASH_ADD(hh, x->mbars, address, sizeof(address), b);
	return b;
}

static struct oracle_acc acc_of(const struct cpu_site *site, enum race_op_kind kind, bool is_init)
{
	return (struct oracle_acc){.inst = site,
				   .kind = (uint8_t)kind,
				   .strength = is_init ? RACE_WEAK : RACE_RELAXED,
				   .scope = is_init ? RACE_SCOPE_NONE : RACE_SCOPE_SYS,
				   .flags = ORACLE_MBARRIER | ORACLE_SHARED,
				   .bytes = 8};
}

static void touch(struct cpu_events *x, uint32_t actor, const struct cpu_site *site,
		  uint64_t address, enum race_op_kind kind, bool is_init)
{
	struct oracle_acc a = acc_of(site, kind, is_init);

	events_direct(x, actor, &a, address);
}

/* Programs use a wait of .cta scope even for copies that other blocks have issued. No thread
 * outside of the cluster can reach the object, so device scope is equivalent to the cluster's, and
 * the oracle joins releases of that scope as they come, not at each wait. */
static uint8_t scope_of(const struct cpu_mbar_use *u)
{
	return u->scope == PTX_SCOPE_SYS ? (uint8_t)flow_scope(PTX_SEM_RELAXED, u->scope)
					 : RACE_SCOPE_GPU;
}

/* The reads by waits of lanes. Lock held. */
static void touch_lanes(struct cpu_events *x, struct cpu_warp *w, const struct cpu_inst *in,
			uint32_t mask, uint8_t *const *host)
{
	struct oracle_acc a = acc_of(cpu_site_of(w, in), RACE_OP_READ, false);
	uint64_t at[CPU_WARP];

	if (x->ids) { /* each sees a write of its own */
		CPU_EACH_LANE (l, mask)
			touch(x, events_actor(w) + l, a.inst, (uint64_t)(uintptr_t)host[l],
			      RACE_OP_READ, false);
		return;
	}
	CPU_EACH_LANE (l, mask)
		at[l] = (uint64_t)(uintptr_t)host[l];
	if (mask)
		oracle_access_warp(x->o, events_actor(w), mask, &a, at);
}

void cpu_event_mbarrier(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
			const uint8_t *host, const struct cpu_mbar_use *u)
{
	struct cpu_events *x = cpu_events_of(w);
	uint64_t address = (uint64_t)(uintptr_t)host;
	uint32_t actor = events_actor(w) + lane;
	uint8_t rscope = scope_of(u);
	bool is_relaxed = u->sem == PTX_SEM_RELAXED;
	enum cpu_mbar_event what = u->what;

	if (!cpu_event_takes(w, in))
		return;
	events_lock(x);
	w->nevents++;
	struct events_mbar *b = events_mbar_at(x, address);
	touch(x, actor, cpu_site_of(w, in), address,
	      what == CPU_MBAR_INIT ? RACE_OP_WRITE : RACE_OP_RMW, what == CPU_MBAR_INIT);
	if (what == CPU_MBAR_INIT) {
		b->phase += 2; /* phases before are another object's */
		b->early = 0;
	} else if (what == CPU_MBAR_ARRIVE) {
		oracle_mbarrier_arrive(x->o, actor, address, b->phase,
				       is_relaxed ? RACE_RELAXED : RACE_RELEASE, rscope);
	}
	b->phase += u->ended;
	events_unlock(x);
}

void cpu_event_mbarrier_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			     uint32_t done, uint8_t *const *host, const struct cpu_mbar_use *u)
{
	struct cpu_events *x = cpu_events_of(w);
	bool is_relaxed = u->sem == PTX_SEM_RELAXED;
	const struct events_mbar *b = NULL, *known = NULL; /* of the warp, for one object once */
	uint32_t fresh = done;

	if (!cpu_event_takes(w, in))
		return;
	events_lock(x);
	w->nevents += (uint32_t)__builtin_popcount(done);
	CPU_EACH_LANE (l, mask & ~done)
		fresh |= (uint32_t)!events_is_repeated(x, w, in, l, (uint64_t)(uintptr_t)host[l], 0)
			 << l;
	touch_lanes(x, w, in, fresh, host);
	CPU_EACH_LANE (l, fresh) {
		uint64_t address = (uint64_t)(uintptr_t)host[l];
		uint32_t actor = events_actor(w) + l;
		bool is_over = done >> l & 1;
		if (!is_over && is_relaxed)
			continue;
		if (!b || b->address != address)
			b = events_mbar_at(x, address);
		if (is_over && known != b) {
			events_phase_waited(x, actor, address, b->phase - 1);
			known = b;
		}
		/* A failed wait has acquired what earlier relaxed waits have seen. */
		oracle_mbarrier_wait(x->o, actor, address, is_over ? b->phase - 1 : UINT64_MAX,
				     is_relaxed ? RACE_RELAXED : RACE_ACQUIRE, scope_of(u));
	}
	events_unlock(x);
}

bool cpu_event_early(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		     const uint8_t *host)
{
	struct cpu_events *x = cpu_events_of(w);
	uint64_t address = (uint64_t)(uintptr_t)host, now = w->worker->clock;

	events_lock(x);
	struct events_mbar *b = events_mbar_at(x, address);
	if (!b->early) {
		b->early = now ? now : 1;
		w->nevents++;
		touch(x, events_actor(w) + lane, cpu_site_of(w, in), address, RACE_OP_RMW, false);
	}
	bool is_patient = now - b->early < EARLY_NS;
	events_unlock(x);
	return is_patient;
}

/* ---- transfers ------------------------------------------------------------------------------- */

void cpu_event_issue(struct cpu_transfer *t)
{
	struct cpu_warp *w = t->warp;
	struct cpu_events *x = cpu_events_of(w);
	uint32_t lanes = t->lanes;

	t->site = NULL;
	if (!cpu_event_takes(w, t->in))
		return;
	events_lock(x);
	w->nevents++;
	t->site = cpu_site_of(w, t->in);
	CPU_EACH_LANE (l, lanes) {
		t->actor[l] = oracle_fork(x->o, events_actor(w) + l);
		events_copy_issued(x, t->actor[l]);
	}
	events_unlock(x);
}

void cpu_event_part(struct cpu_transfer *t, unsigned lane, bool is_write, const uint8_t *host,
		    uint64_t bytes)
{
	struct cpu_events *x = cpu_events_of(t->warp);
	const struct cpu_cluster *c = t->warp->cta->cluster;
	uint64_t address = (uint64_t)(uintptr_t)host;
	bool is_shared = false, has_units = !((address | bytes) % UNIT);

	if (!t->site || !bytes)
		return;
	for (uint32_t r = 0; r < c->size; r++)
		is_shared = is_shared || cpu_is_shared_of(c->ctas[r], host);
	struct oracle_acc a = {
		.inst = t->site,
		.kind = is_write ? RACE_OP_WRITE : RACE_OP_READ,
		.proxy = t->kind == CPU_TR_COPY ? RACE_PROXY_GENERIC : RACE_PROXY_ASYNC,
		.flags = is_shared ? ORACLE_SHARED : 0,
		.bytes = has_units ? UNIT : (uint32_t)bytes,
	};
	events_lock(x);
	if (is_write && t->op && bytes) {
		/* A reduction is made of relaxed atomics of gpu scope (PTX ISA 9.7.9.25). */
		uint32_t n = ptx_type_bytes((enum ptx_type)t->type);
		a.kind = RACE_OP_RMW;
		a.strength = RACE_RELAXED;
		a.scope = RACE_SCOPE_GPU;
		a.flags |= ORACLE_RED;
		a.bytes = n ? n : (uint32_t)bytes;
		for (uint64_t at = 0; at + a.bytes <= bytes; at += a.bytes)
			events_direct(x, t->actor[lane], &a, address + at);
	} else {
		events_direct_units(x, t->actor[lane], &a, address, bytes);
	}
	if (is_write)
		events_copy_wrote(x, address, bytes);
	events_unlock(x);
}

/* cp.async.mbarrier.arrive: each copy that the lane has issued before arrives for itself. Later
 * ones may have ended, too. */
static void arrive_copies(struct cpu_events *x, struct cpu_transfer *t, unsigned lane,
			  uint64_t address, uint64_t phase)
{
	struct cpu_async_warp *aw = &t->warp->cta->async->warps[t->warp->index];

	for (size_t i = 0; i < aw->parts.n; i++) {
		struct cpu_event_part *p = &aw->parts.v[i];
		if (p->lane != lane || p->kind != CPU_TR_COPY || p->id > t->id)
			continue;
		oracle_mbarrier_arrive(x->o, p->actor, address, phase, RACE_RELEASE,
				       RACE_SCOPE_GPU);
		p->has_arrived = true;
	}
}

void cpu_event_complete(struct cpu_transfer *t, unsigned lane, const uint8_t *host, bool ended)
{
	struct cpu_events *x = cpu_events_of(t->warp);
	uint64_t address = (uint64_t)(uintptr_t)host;

	if (!t->site)
		return;
	events_lock(x);
	struct events_mbar *b = events_mbar_at(x, address);
	touch(x, t->actor[lane], t->site, address, RACE_OP_RMW, false);
	events_copy_completed(x, t->actor[lane], address, b->phase);
	if (t->kind == CPU_TR_ARRIVE)
		arrive_copies(x, t, lane, address, b->phase);
	else
		oracle_mbarrier_arrive(x->o, t->actor[lane], address, b->phase, RACE_RELEASE,
				       RACE_SCOPE_GPU);
	b->phase += ended;
	events_unlock(x);
}

/* Forgets parts that others wait for through an mbarrier. */
static void make_room(struct cpu_async_warp *aw)
{
	size_t kept = 0;

	for (size_t i = 0; i < aw->parts.n; i++)
		if (!aw->parts.v[i].has_arrived)
			aw->parts.v[kept++] = aw->parts.v[i];
	aw->parts.n = kept;
}

void cpu_event_done(struct cpu_transfer *t, unsigned lane)
{
	struct cpu_async_warp *aw = &t->warp->cta->async->warps[t->warp->index];
	struct cpu_event_part p = {.id = t->id,
				   .actor = t->actor[lane],
				   .group = t->group[lane],
				   .lane = (uint8_t)lane,
				   .completion = t->completion,
				   .kind = t->kind};

	if (!t->site || t->completion == CPU_DONE_MBARRIER)
		return;
	if (aw->parts.n >= PARTS_MAX)
		make_room(aw);
	base_vec_push(&aw->parts, p);
}

void cpu_event_group_wait(struct cpu_warp *w, uint32_t mask, uint8_t completion,
			  const uint32_t *open, uint32_t keep, bool is_read, bool is_all)
{
	struct cpu_events *x = cpu_events_of(w);
	struct cpu_async_warp *aw;
	size_t kept = 0;

	if (!x || !w->cta->async)
		return;
	aw = &w->cta->async->warps[w->index];
	events_lock(x);
	w->nevents++;
	for (size_t i = 0; i < aw->parts.n; i++) {
		struct cpu_event_part p = aw->parts.v[i];
		bool is_joined = mask >> p.lane & 1 && p.completion == completion &&
				 (is_all || open[p.lane] - p.group > keep);
		if (is_joined)
			oracle_join(x->o, events_actor(w) + p.lane, p.actor,
				    is_read ? ORACLE_JOIN_READ : ORACLE_JOIN_ALL);
		if (!is_joined || is_read)
			aw->parts.v[kept++] = p;
	}
	aw->parts.n = kept;
	/* Copies that still write, but have read all. */
	for (struct cpu_transfer *t = aw->first; is_read && t; t = t->next) {
		uint32_t lanes = t->lanes & mask & ~t->reading;
		if (!t->site || t->completion != completion)
			continue;
		CPU_EACH_LANE (l, lanes)
			if (open[l] - t->group[l] > keep)
				oracle_join(x->o, events_actor(w) + l, t->actor[l],
					    ORACLE_JOIN_READ);
	}
	events_unlock(x);
}

void cpu_event_async_free(struct cpu_async_warp *aw)
{
	base_vec_free(&aw->parts);
}
