/*
 * access.c - loads, stores, atomics, fences and barriers as the oracle's events.
 *
 * Addresses are those on the host, so that shared memory, generic addresses and the cluster's
 * windows need no distinction. A vector is one access if it is weak; strong ones are events element
 * by element, packed types half by half, as the memory model has them (PTX ISA 8.2.1, 8.2.2).
 *
 * An access is an event before it is executed; nothing comes between in the one thread that
 * executes. An atomic is one after its execution, since only then is a failed compare-and-swap
 * known to be a read.
 */
#include "flow/flow.h"
#include "cpu/memory/resolve.h"
#include "cpu/memory/space.h"
#include "cpu/events/internal.h"

/* Of ld and similar instructions; copies of the async proxy are actors of their own. */
static enum race_proxy events_proxy(uint8_t proxy)
{
	return proxy == PTX_PROXY_TEX	      ? RACE_PROXY_TEXTURE
	       : proxy == PTX_PROXY_TENSORMAP ? RACE_PROXY_TENSORMAP
					      : RACE_PROXY_GENERIC;
}

/* ---- loads and stores ----------------------------------------------------------------------- */

/* The lanes of `mask` on the host, by place; private and invalid ones are in neither set. */
struct lanes {
	uint32_t shared, global;
	uint8_t shape;	    /* enum oracle_shape */
	const uint64_t *at; /* the caller's addresses, or `moved` */
	uint64_t moved[CPU_WARP];
};

/* The least and the greatest address. Most warps access neighbours or one place: the first and the
 * last lane's are these, and comparing all with them is simpler than looking for them. */
static struct cpu_span span_of(const uint64_t *addr, uint32_t mask)
{
	uint64_t step = addr[1] - addr[0], end = addr[CPU_WARP - 1], differ = 0;

	if (mask != UINT32_MAX || addr[0] + step * (CPU_WARP - 1) != end)
		return cpu_span_of(addr, mask);
	for (unsigned l = 0; l < CPU_WARP; l++)
		differ |= addr[l] ^ (addr[0] + l * step);
	if (differ || end < addr[0])
		return cpu_span_of(addr, mask);
	return (struct cpu_span){.lo = addr[0], .hi = end};
}

static void locate(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		   uint32_t mask, const uint64_t *addr, uint32_t bytes, struct lanes *out)
{
	enum ptx_space space = (enum ptx_space)acc->space;
	bool is_write = acc->kind == CPU_ACC_STORE;
	struct cpu_span s = span_of(addr, mask);
	struct cpu_window win;

	out->shared = out->global = 0;
	out->shape = ORACLE_ANYHOW;
	out->at = addr;
	if (s.hi <= UINT64_MAX - bytes &&
	    cpu_window_find(w, in, space, s.lo, s.hi - s.lo + bytes, is_write, &win)) {
		if (win.place == CPU_PLACE_PRIVATE)
			return;
		*(win.place == CPU_PLACE_SHARED ? &out->shared : &out->global) = mask;
		if (!win.delta)
			return;
		for (unsigned l = 0; l < CPU_WARP; l++)
			out->moved[l] = addr[l] + win.delta;
		out->at = out->moved;
		return;
	}
	out->at = out->moved;
	CPU_EACH_LANE (l, mask) {
		/* It will fault; a race with the operation that freed it is why. */
		if (cpu_space_is_freed(w->grid->m, addr[l])) {
			out->global |= 1u << l;
			out->moved[l] = addr[l];
			continue;
		}
		if (!cpu_window_find(w, in, space, addr[l], bytes, is_write, &win) ||
		    win.place == CPU_PLACE_PRIVATE)
			continue;
		*(win.place == CPU_PLACE_SHARED ? &out->shared : &out->global) |= 1u << l;
		out->moved[l] = addr[l] + win.delta;
	}
}

bool events_is_repeated(struct cpu_events *x, const struct cpu_warp *w, const struct cpu_inst *in,
			unsigned lane, uint64_t address, uint32_t saw)
{
	uint32_t actor = events_actor(w) + lane;
	struct events_poll *p = &x->polls[actor % EVENTS_POLLS];
	struct events_poll now = {
		.inst = in,
		.address = address,
		/* Neither number ever falls: the sum is equal if and only if both are. */
		.version = x->written[(address >> 6) % EVENTS_LINES] + x->written_all,
		.actor = actor,
		.nevents = w->nevents,
		.saw = saw,
	};

	if (p->inst == now.inst && p->address == now.address && p->version == now.version &&
	    p->actor == now.actor && p->nevents == now.nevents && p->saw == now.saw) {
		x->repeated++;
		return true;
	}
	*p = now;
	return false;
}

static uint32_t without_repeated(struct cpu_events *x, struct cpu_warp *w,
				 const struct cpu_inst *in, uint32_t mask, const uint64_t *at)
{
	uint32_t left = mask;

	CPU_EACH_LANE (l, mask)
		if (events_is_repeated(x, w, in, l, at[l], 0))
			left &= ~(1u << l);
	return left;
}

/* Once for neighbours of one line. */
static void wrote_lanes(struct cpu_events *x, uint32_t mask, const uint64_t *at)
{
	uint64_t line = UINT64_MAX;

	CPU_EACH_LANE (l, mask) {
		if (at[l] >> 6 != line)
			events_wrote(x, at[l]);
		line = at[l] >> 6;
	}
}

static void wrote_lines(struct cpu_events *x, uint64_t first, uint64_t last)
{
	for (uint64_t line = first >> 6; line <= last >> 6; line++)
		events_wrote(x, line << 6);
}

static void hand_over(struct cpu_events *x, struct cpu_warp *w, uint32_t mask,
		      struct oracle_acc *acc, unsigned n, const uint64_t *at)
{
	uint64_t next[CPU_WARP];

	if (!mask)
		return;
	if (mask != UINT32_MAX || n > 1)
		acc->shape = ORACLE_ANYHOW;
	if (acc->kind & RACE_OP_WRITE && acc->bytes * n > 64)
		events_wrote_all(x);
	else if (acc->kind & RACE_OP_WRITE && acc->shape != ORACLE_ANYHOW)
		wrote_lines(x, at[0], at[CPU_WARP - 1]);
	else if (acc->kind & RACE_OP_WRITE)
		wrote_lanes(x, mask, at);
	if (w->cta->async)
		events_executed(x, acc->inst, events_actor(w));
	for (unsigned e = 0; e < n; e++) {
		if (acc->strength != RACE_WEAK)
			events_flags(x, events_actor(w), mask, acc, at);
		oracle_access_warp(x->o, events_actor(w), mask, acc, at);
		for (unsigned l = 0; e + 1 < n && l < CPU_WARP; l++)
			next[l] = at[l] + acc->bytes;
		at = next;
	}
}

/* The model reports these, one by one, with the write that they see. */
static bool is_of_model(const struct cpu_warp *w, const struct cpu_acc *acc)
{
	return cpu_events_of(w)->ids && cpu_model_is_on(w) && flow_strength(acc->sem) != RACE_WEAK;
}

static void access_at(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		      struct lanes *where, uint32_t mask, uint32_t bytes)
{
	struct cpu_events *x = cpu_events_of(w);
	bool is_write = acc->kind == CPU_ACC_STORE;

	events_lock(x);
	struct oracle_acc a = {.inst = cpu_site_of(w, in),
			       .kind = is_write ? RACE_OP_WRITE : RACE_OP_READ,
			       .strength = (uint8_t)flow_strength(acc->sem),
			       .scope = (uint8_t)flow_scope(acc->sem, acc->scope),
			       .proxy = (uint8_t)events_proxy(acc->proxy),
			       .shape = where->shape,
			       .bytes = bytes};
	unsigned n = 1;
	const struct cpu_site *site = a.inst;
	if (site->is_other) {
		if (events_drops_others(x)) {
			events_unlock(x);
			return;
		}
		if (!oracle_is_full(x->o))
			x->nothers += (uint64_t)__builtin_popcount(where->global | where->shared);
	}
	if (site->nelems && !is_write)
		events_used_load(x, w, site, where->global | where->shared, where->at);
	if (acc->sem == PTX_SEM_VOLATILE)
		a.flags |= ORACLE_VOLATILE;
	if (acc->is_nc)
		a.flags |= ORACLE_NC;
	if (a.strength != RACE_WEAK && acc->vec > 1 && acc->width * acc->vec == bytes) {
		n = acc->vec;
		a.bytes = acc->width;
	}
	if (is_write && where->shared)
		where->shared = events_first_copies(w, in, acc, where->shared, where->at);
	if (is_write) {
		w->nevents++;
	} else if (a.strength != RACE_WEAK) {
		where->global = without_repeated(x, w, in, where->global, where->at);
		where->shared = without_repeated(x, w, in, where->shared, where->at);
	}
	if (acc->reg && !cpu_model_is_on(w)) {
		x->storing = w;
		x->stored = acc;
		x->storing_mask = mask;
		x->storing_at = where->at;
		uint32_t lanes = where->global | where->shared;
		if (is_write && lanes && x->has_same && bytes == acc->width)
			events_storing(x, a.inst, lanes, where->at);
	}
	bool is_lockstep = acc->sem == PTX_SEM_VOLATILE && n == 1;
	if (is_lockstep)
		events_volatile_access(x, w, where->global, where->at, &a);
	else if (a.strength != RACE_WEAK)
		events_volatile_order(x, w);
	hand_over(x, w, where->global, &a, n, where->at);
	a.flags |= ORACLE_SHARED;
	if (is_lockstep)
		events_volatile_access(x, w, where->shared, where->at, &a);
	hand_over(x, w, where->shared, &a, n, where->at);
	if (x->has_same)
		oracle_storing(x->o, NULL);
	x->storing = NULL;
	events_unlock(x);
}

void cpu_event_access(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		      uint32_t mask, const uint64_t addr[CPU_WARP], uint32_t bytes)
{
	struct lanes where;

	if (is_of_model(w, acc))
		return;
	locate(w, in, acc, mask, addr, bytes, &where);
	if (where.shared | where.global)
		access_at(w, in, acc, &where, mask, bytes);
}

void cpu_event_access_at(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
			 const struct cpu_lanes *lanes, uint32_t bytes)
{
	bool is_shared = lanes->place == CPU_PLACE_SHARED;
	struct lanes where;

	if (is_of_model(w, acc))
		return;
	where.shared = is_shared ? lanes->mask : 0;
	where.global = is_shared ? 0 : lanes->mask;
	where.shape = lanes->shape == CPU_LANES_SAME   ? ORACLE_ONE_PLACE
		      : lanes->shape == CPU_LANES_SIDE ? ORACLE_SIDE_BY_SIDE
						       : ORACLE_ANYHOW;
	where.at = lanes->at;
	access_at(w, in, acc, &where, lanes->mask, bytes);
}

/* One element of a lane; a.kind is set by the caller. */
static struct oracle_acc strong_acc(struct cpu_warp *w, const struct cpu_inst *in,
				    const struct cpu_acc *acc, const struct cpu_elem *e)
{
	return (struct oracle_acc){.inst = cpu_site_of(w, in),
				   .strength = (uint8_t)flow_strength(acc->sem),
				   .scope = (uint8_t)flow_scope(acc->sem, acc->scope),
				   .flags = e->place == CPU_PLACE_SHARED ? ORACLE_SHARED : 0,
				   .bytes = e->bytes};
}

uint32_t cpu_event_strong(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
			  const struct cpu_elem *e, const uint32_t *ids)
{
	struct cpu_events *x = cpu_events_of(w);
	bool is_write = acc->kind == CPU_ACC_STORE;
	uint32_t id = is_write ? events_id_new(x) : 0;
	uint64_t address = (uint64_t)(uintptr_t)e->host;

	events_lock(x);
	struct oracle_acc a = strong_acc(w, in, acc, e);
	a.kind = is_write ? RACE_OP_WRITE : RACE_OP_READ;
	if (acc->sem == PTX_SEM_VOLATILE)
		a.flags |= ORACLE_VOLATILE;
	if (is_write) {
		w->nevents++;
		events_wrote(x, address);
	}
	if (is_write ||
	    !events_is_repeated(x, w, in, e->lane, address, cpu_ids_same(ids, e->bytes))) {
		events_flag(x, events_actor(w) + e->lane, &a, address);
		events_strong(x, events_actor(w) + e->lane, &a, address, ids, id);
	}
	events_unlock(x);
	return id;
}

void cpu_event_fetch(const struct cpu_warp *w, const struct cpu_lanes *lanes, uint32_t bytes)
{
	struct cpu_events *x = cpu_events_of(w);

	events_lock(x);
	oracle_fetch_strong(x->o, lanes->mask, lanes->at, bytes);
	events_unlock(x);
}

uint32_t cpu_event_atomic(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
			  const struct cpu_elem *e, const struct cpu_rmw *rmw)
{
	struct cpu_events *x = cpu_events_of(w);
	uint64_t address = (uint64_t)(uintptr_t)e->host;
	uint32_t saw = rmw->ids ? cpu_ids_same(rmw->ids, e->bytes) : 0, id = 0;

	events_lock(x);
	events_volatile_order(x, w);
	struct oracle_acc a = strong_acc(w, in, acc, e);
	a.kind = rmw->is_write ? RACE_OP_RMW : RACE_OP_READ;
	if (rmw->is_red)
		a.flags |= ORACLE_RED;
	if (a.strength == RACE_WEAK) {
		a.strength = RACE_RELAXED;
		a.scope = RACE_SCOPE_GPU;
	}
	if (rmw->is_write) {
		w->nevents++;
		events_wrote(x, address);
		id = rmw->ids ? events_id_new(x) : 0;
	}
	if (rmw->is_write || !events_is_repeated(x, w, in, e->lane, address, saw)) {
		events_flag(x, events_actor(w) + e->lane, &a, address);
		if (rmw->ids)
			events_strong(x, events_actor(w) + e->lane, &a, address, rmw->ids, id);
		else
			oracle_access(x->o, events_actor(w) + e->lane, &a, address);
	}
	events_unlock(x);
	return id;
}

void cpu_event_atomics(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		       bool is_red, const struct cpu_lanes *lanes)
{
	struct cpu_events *x = cpu_events_of(w);
	const struct cpu_elem e = {.place = lanes->place, .bytes = acc->width};

	events_lock(x);
	events_volatile_order(x, w);
	struct oracle_acc a = strong_acc(w, in, acc, &e);
	a.kind = RACE_OP_RMW;
	if (is_red)
		a.flags |= ORACLE_RED;
	if (a.strength == RACE_WEAK) {
		a.strength = RACE_RELAXED;
		a.scope = RACE_SCOPE_GPU;
	}
	w->nevents++;
	hand_over(x, w, lanes->mask, &a, 1, lanes->at);
	events_unlock(x);
}

/* ---- fences and barriers --------------------------------------------------------------------- */

static uint8_t proxy_kinds(const struct ptx_form *f)
{
	if (f->proxy == PTX_PROXY_TENSORMAP)
		return f->sem == PTX_SEM_ACQUIRE ? 0 : ORACLE_PROXY_TMAP_RELEASE;
	if (f->proxy != PTX_PROXY_ASYNC)
		return 0; /* .alias: virtual aliases, which the machine doesn't have */
	if (f->space == PTX_SPACE_GLOBAL)
		return ORACLE_PROXY_GLOBAL;
	if (f->space == PTX_SPACE_SHARED || f->space == PTX_SPACE_SHARED_CLUSTER)
		return ORACLE_PROXY_SHARED;
	return ORACLE_PROXY_GLOBAL | ORACLE_PROXY_SHARED;
}

#define MAP_BYTES 128u

/* The acquiring fence of tensor maps, each lane's of its own; of memory that no thread writes
 * there is nothing to acquire. Comes after what the fence acquires as an ordinary one. */
static void acquire_maps(struct cpu_events *x, struct cpu_warp *w, const struct cpu_inst *in,
			 uint32_t mask, const uint64_t *maps)
{
	const struct cpu_acc acc = {.kind = CPU_ACC_LOAD, .space = PTX_SPACE_GENERIC};
	struct lanes where;

	locate(w, in, &acc, mask, maps, MAP_BYTES, &where);
	if (where.global | where.shared)
		oracle_proxy_fence(x->o, events_actor(w), where.global | where.shared,
				   ORACLE_PROXY_TMAP, where.at);
}

void cpu_event_fence(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
		     const struct ptx_form *f, const uint64_t *maps)
{
	struct cpu_events *x = cpu_events_of(w);
	bool is_proxy = f->op == PTX_OP_FENCE_PROXY || f->op == PTX_OP_MEMBAR_PROXY ||
			f->op == PTX_OP_TENSORMAP_CP_FENCEPROXY;
	uint8_t sem = f->sem;

	events_lock(x);
	events_volatile_order(x, w);
	w->nevents++;
	if (f->op == PTX_OP_FENCE_MBARRIER_INIT) {
		oracle_init_fence(x->o, events_actor(w), mask, (uint8_t)flow_scope(sem, f->scope));
		events_unlock(x);
		return;
	}
	if (is_proxy && proxy_kinds(f))
		oracle_proxy_fence(x->o, events_actor(w), mask, proxy_kinds(f), NULL);
	/* fence.proxy.tensormap::generic.release.gpu is a fence, too. */
	if (sem != PTX_SEM_NONE) {
		uint8_t scope = (uint8_t)flow_scope(sem, f->scope ? f->scope : PTX_SCOPE_SYS);
		x->has_fence_sc |= flow_strength(sem) == RACE_SC;
		oracle_fence(x->o, events_actor(w), mask, (uint8_t)flow_strength(sem), scope);
		events_fenced(x, events_actor(w), mask, scope);
	}
	if (maps)
		acquire_maps(x, w, in, mask, maps);
	events_unlock(x);
}

void cpu_event_warp_sync(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_events *x = cpu_events_of(w);

	if (!cpu_event_takes(w, in))
		return;
	events_lock(x);
	events_volatile_order(x, w);
	w->nevents++;
	oracle_warp_sync(x->o, events_actor(w), mask);
	events_unlock(x);
}

static uint64_t barrier_key(const struct cpu_warp *w, uint32_t id)
{
	const struct cpu_cta *owner = id == CPU_EVENT_CLUSTER ? w->cta->cluster->ctas[0] : w->cta;

	return (uint64_t)owner->actor << 8 | id;
}

void cpu_event_arrive(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
		      const struct cpu_arrival *a)
{
	struct cpu_events *x = cpu_events_of(w);

	if (!cpu_event_takes(w, in))
		return;
	events_lock(x);
	w->nevents++;
	struct oracle_arrival arrival = {
		.key = barrier_key(w, a->id),
		.generation = a->generation,
		.expected = a->expected,
		.flags = (uint8_t)((a->leaves ? ORACLE_BAR_LEAVES : 0) |
				   (a->releases ? ORACLE_BAR_RELEASE : 0)),
		.inst = cpu_site_of(w, in),
	};
	oracle_arrive(x->o, events_actor(w), mask, &arrival);
	events_unlock(x);
}

void cpu_event_leave(struct cpu_warp *w, uint32_t mask, uint32_t id, uint64_t generation)
{
	struct cpu_events *x = cpu_events_of(w);

	if (!x)
		return;
	events_lock(x);
	events_volatile_order(x, w);
	w->nevents++;
	oracle_leave(x->o, events_actor(w), mask, barrier_key(w, id), generation);
	events_unlock(x);
}
