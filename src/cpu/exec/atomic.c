/*
 * atomic.c - atom and red: read-modify-write, with the host's atomics (atomic_ops.c).
 *
 * A block that takes its number gets it at once (order.c).
 *
 * Lanes whose atomics nothing follows are one batch: at one address they are one atomic of the
 * host, and in the block's shared memory none is needed. Others go lane by lane. Vectors are one
 * atomic an element (PTX ISA 9.7.13, atom). 16 bytes: by cmpxchg16b, or one lock where it isn't.
 *
 * multimem.red is a red on each memory that its address stands for (memory/multicast.c).
 *
 * Misses: without cmpxchg16b 16 bytes aren't atomic beside fewer. Costs: 20 to 40 cycles a lane,
 * 5 to 20 in a batch.
 */
#include "cpu/arch.h"
#include "cpu/deferred.h"
#include "cpu/events.h"
#include "cpu/exec/atomic_ops.h"
#include "cpu/memory/resolve.h"
#include "cpu/touch.h"

#include <string.h>

#define MAX_VEC 8

struct atomic {
	struct cpu_acc acc;
	struct cpu_addr addr;
	const struct atomic_op *op;
	const struct ptx_stmt *stmt;
	uint8_t n;
	bool has_dst, is_cas, is_packed, is_multimem;
	bool is_attempt; /* compare-and-swap, exchange: it may be tried until it succeeds */
	uint32_t step;
	uint32_t dst[MAX_VEC], b[MAX_VEC], c[MAX_VEC];
};

/* ---- execution ------------------------------------------------------------------------------- */

static inline void get(struct cpu_warp *w, uint32_t slot, unsigned width, unsigned lane,
		       union atomic_value *v)
{
	switch (width) {
	case 2:
		v->u16 = cpu_u16(w, slot)[lane];
		break;
	case 4:
		v->u32 = cpu_u32(w, slot)[lane];
		break;
	case 8:
		v->u64 = cpu_u64(w, slot)[lane];
		break;
	default:
		v->half[0] = cpu_u64(w, slot)[lane];
		v->half[1] = cpu_u64(w, slot)[CPU_WARP + lane];
		break;
	}
}

static inline void put(struct cpu_warp *w, uint32_t slot, unsigned width, unsigned lane,
		       const union atomic_value *v)
{
	switch (width) {
	case 2:
		cpu_u16(w, slot)[lane] = v->u16;
		break;
	case 4:
		cpu_u32(w, slot)[lane] = v->u32;
		break;
	case 8:
		cpu_u64(w, slot)[lane] = v->u64;
		break;
	default:
		cpu_u64(w, slot)[lane] = v->half[0];
		cpu_u64(w, slot)[CPU_WARP + lane] = v->half[1];
		break;
	}
}

/* A compare-and-swap that failed is a read (8.2.2). */
static bool is_write(const struct atomic *a, const union atomic_value *b,
		     const union atomic_value *old)
{
	if (!a->is_cas)
		return true;
	switch (a->acc.width) {
	case 4:
		return b->u32 == old->u32;
	case 8:
		return b->u64 == old->u64;
	default:
		return !memcmp(b, old, a->acc.width);
	}
}

/* Does memory hold something else than before? */
static bool has_changed(const uint8_t *p, const union atomic_value *old, unsigned bytes)
{
	uint32_t now;

	if (bytes != sizeof(now))
		return memcmp(p, old, bytes) != 0;
	memcpy(&now, p, sizeof(now));
	return now != old->u32;
}

/* The event of an element that lies at `p` for the model. Packed halves are atomics of their own
 * (8.2.2). */
static void watch(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_elem *e,
		  const uint8_t *p, bool is_written)
{
	const struct atomic *a = in->aux;
	struct cpu_elem part = *e;
	uint32_t ids[16], id;
	struct cpu_rmw rmw = {.is_write = is_written,
			      .is_red = !a->has_dst,
			      .ids = cpu_model_has_ids(w) ? ids : NULL};

	part.bytes = a->is_packed ? e->bytes / 2 : e->bytes;
	for (unsigned at = 0; at < e->bytes; at += part.bytes, part.host += part.bytes) {
		if (rmw.ids)
			cpu_model_ids(w, p + at, part.host, part.bytes, ids);
		id = cpu_event_atomic(w, in, &a->acc, &part, &rmw);
		if (rmw.ids && is_written)
			cpu_model_mark(w, p + at, part.host, part.bytes, id);
	}
}

/* Lanes that have executed and whose events are still to come: one for all of them. */
struct lanes {
	bool is_wanted; /* each is known to write, and no model follows single bytes */
	uint32_t mask;
	enum cpu_place place;
	uint64_t at[CPU_WARP];
};

static void watch_lanes(struct cpu_warp *w, const struct cpu_inst *in, struct lanes *all)
{
	const struct atomic *a = in->aux;

	if (all->mask)
		cpu_event_atomics(
			w, in, &a->acc, !a->has_dst,
			&(struct cpu_lanes){all->mask, all->place, all->at, CPU_LANES_ANY});
	all->mask = 0;
}

static void watch_later(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_elem *x,
			struct lanes *all)
{
	if (all->place != x->place)
		watch_lanes(w, in, all);
	all->place = x->place;
	all->mask |= 1u << x->lane;
	all->at[x->lane] = (uintptr_t)x->host;
}

/* Where the lane's elements are; NULL: a fault was raised. */
static uint8_t *find_lane(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
			  uint64_t addr, enum cpu_place *place)
{
	const struct atomic *a = in->aux;
	struct cpu_range r = {(enum ptx_space)a->acc.space, addr, a->step, a->step, true, true};
	uint8_t *host = cpu_resolve_place(w, in, lane, &r, place);

	if (host && *place == CPU_PLACE_PRIVATE) {
		cpu_fault(w, in, lane, CPU_FAULT_ADDRESS,
			  "atomic at 0x%llx, which is neither global nor shared memory",
			  (unsigned long long)addr);
		return NULL;
	}
	return host;
}

/* One window that holds all lanes, aligned; false: they are to be found one by one. */
static bool find_all(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
		     const uint64_t *addr, struct cpu_window *win, bool *is_one)
{
	const struct atomic *a = in->aux;
	struct cpu_span s = cpu_span_of(addr, mask);

	*is_one = s.lo == s.hi;
	return !(s.all & (a->step - 1)) && s.hi <= UINT64_MAX - a->step &&
	       cpu_window_find(w, in, (enum ptx_space)a->acc.space, s.lo, s.hi - s.lo + a->step,
			       true, win) &&
	       win->place != CPU_PLACE_PRIVATE;
}

/* Of an atomic without a result: it is written down, and counts as a change. */
static bool defer_lane(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane, uint8_t *host)
{
	const struct atomic *a = in->aux;

	for (unsigned e = 0; e < a->n; e++, host += a->acc.width) {
		union atomic_value b = {.u64 = 0};
		get(w, a->b[e], a->acc.width, lane, &b);
		cpu_deferred_add(w->worker->deferred,
				 (struct cpu_update){.to = host, .what = a, .value = b.u64});
	}
	if (w->worker->proof)
		cpu_proof_fail(w->worker);
	return true;
}

void cpu_updates_do(const struct cpu_update *u, size_t n)
{
	for (; n; n--, u++) { /* of none u is NULL */
		union atomic_value b = {.u64 = u->value}, old;
		if (u->what)
			((const struct atomic *)u->what)->op->one(u->to, &b, &b, &old, true);
		else
			memcpy(u->to, &b, u->bytes);
	}
}

/* Without has_order: then groups come to their atomics in their order. */
static bool is_deferred(const struct cpu_warp *w, enum cpu_place place)
{
	return w->worker->deferred && !w->worker->has_order && place == CPU_PLACE_GLOBAL;
}

/* Has it changed memory? */
static bool do_lane(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane, uint8_t *host,
		    enum cpu_place place, struct lanes *all)
{
	const struct atomic *a = in->aux;
	union atomic_value b, c, olds[MAX_VEC];
	struct cpu_elem x = {.lane = lane, .bytes = a->acc.width, .host = host, .place = place};
	bool is_changed = !a->is_attempt;

	if (is_deferred(w, place))
		return defer_lane(w, in, lane, host);
	for (unsigned e = 0; e < a->n; e++, x.host += x.bytes) {
		union atomic_value *old = &olds[e];
		uint8_t *p = x.host;
		if (cpu_model_is_on(w))
			p = cpu_model_atomic(w, lane, (enum ptx_scope)a->acc.scope, x.place, p,
					     x.bytes);
		get(w, a->b[e], x.bytes, lane, &b);
		if (a->c[e] != CPU_NOSLOT)
			get(w, a->c[e], x.bytes, lane, &c);
		a->op->one(p, &b, &c, old, x.place == CPU_PLACE_GLOBAL);
		bool is_written = is_write(a, &b, old);
		if (a->is_attempt || w->worker->proof) {
			bool differs = has_changed(p, old, x.bytes);
			is_changed |= differs;
			if (differs && w->worker->proof)
				cpu_proof_fail(w->worker);
		}
		if (is_written && cpu_model_is_on(w))
			cpu_model_atomic_wrote(w, p, x.host, x.bytes);
		if (all->is_wanted)
			watch_later(w, in, &x, all);
		else if (cpu_event_takes(w, in))
			watch(w, in, &x, p, is_written);
	}
	/* The result of one element may be in the register that another one adds. */
	for (unsigned e = 0; a->has_dst && e < a->n; e++)
		if (a->dst[e] != CPU_NOSLOT)
			put(w, a->dst[e], a->acc.width, lane, &olds[e]);
	return is_changed;
}

/* Is it one element that always writes, and neither model, judge nor proof asks for each lane? */
static bool is_batch(const struct cpu_warp *w, const struct cpu_inst *in, enum cpu_place place)
{
	const struct atomic *a = in->aux;

	return a->op->batch && a->n == 1 && !cpu_model_is_on(w) && !cpu_event_takes(w, in) &&
	       !w->worker->proof && !is_deferred(w, place);
}

/* Words of lanes that may lie in other processors' caches come all at once: a locked instruction
 * waits for its own. */
static void fetch_lanes(const struct cpu_warp *w, const struct cpu_window *win, uint32_t mask,
			const uint64_t addr[CPU_WARP])
{
	if (!w->worker->is_beside || win->place != CPU_PLACE_GLOBAL)
		return;
	CPU_EACH_LANE (l, mask)
		cpu_arch_fetch((const void *)(uintptr_t)(addr[l] + win->delta));
}

/* What is known of the words of lanes whose events come one by one. */
static void fetch_history(const struct cpu_warp *w, const struct cpu_window *win, uint32_t mask,
			  const uint64_t addr[CPU_WARP], uint32_t bytes)
{
	uint64_t at[CPU_WARP];

	CPU_EACH_LANE (l, mask)
		at[l] = addr[l] + win->delta;
	cpu_event_fetch(w, &(struct cpu_lanes){mask, win->place, at, CPU_LANES_ANY}, bytes);
}

/* An exchange or compare-and-swap that changed nothing for any lane is most often a lock that is
 * held. It takes what a device's would, hundreds of instructions' time: otherwise thousands of
 * attempts are made, and judged, while a check delays the lock's holder. */
static enum cpu_step atomic_at(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			       const uint64_t addr[CPU_WARP])
{
	const struct atomic *a = in->aux;
	struct cpu_window win = {0};
	bool is_model = cpu_model_is_on(w);
	enum ptx_sem sem = (enum ptx_sem)a->acc.sem;
	struct lanes all;
	bool is_done = true, is_changed = false, is_one;

	all.is_wanted =
		!is_model && !a->is_cas && !a->is_packed && a->n == 1 && cpu_event_takes(w, in);
	all.mask = 0;
	if (is_model && (sem == PTX_SEM_RELEASE || sem == PTX_SEM_ACQ_REL))
		cpu_release(w, mask, (enum ptx_scope)a->acc.scope);
	bool is_common = find_all(w, in, mask, addr, &win, &is_one);
	if (is_common && !is_one)
		fetch_lanes(w, &win, mask, addr);
	if (is_common && is_batch(w, in, win.place)) {
		bool has_dst = a->has_dst && a->dst[0] != CPU_NOSLOT;
		a->op->batch(&(struct atomic_batch){.addr = addr,
						    .delta = win.delta,
						    .b = cpu_slot(w, a->b[0]),
						    .d = has_dst ? cpu_slot(w, a->dst[0]) : NULL,
						    .mask = mask,
						    .is_one = is_one,
						    .is_own = win.place == CPU_PLACE_SHARED,
						    .is_ftz = win.place == CPU_PLACE_GLOBAL});
		return CPU_OK;
	}
	if (is_common && !is_one && !all.is_wanted && a->n == 1 && cpu_event_takes(w, in))
		fetch_history(w, &win, mask, addr, a->acc.width);
	CPU_EACH_LANE (l, mask) {
		uint8_t *host = (uint8_t *)(uintptr_t)(addr[l] + win.delta);
		if (!is_common)
			host = find_lane(w, in, l, addr[l], &win.place);
		is_done = host != NULL;
		if (!is_done)
			break;
		is_changed |= do_lane(w, in, l, host, win.place, &all);
	}
	watch_lanes(w, in, &all);
	if (!is_done)
		return CPU_FAULTED;
	if (is_model && (sem == PTX_SEM_ACQUIRE || sem == PTX_SEM_ACQ_REL))
		cpu_acquire(w, mask, (enum ptx_scope)a->acc.scope);
	return is_changed ? CPU_OK : CPU_TRIED;
}

/* One lane takes its block's number (order.c). */
static enum cpu_step exec_ticket(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				 const uint64_t addr[CPU_WARP], const struct cpu_window *win)
{
	const struct atomic *a = in->aux;
	unsigned lane = (unsigned)__builtin_ctz(mask);
	uint8_t *host = (uint8_t *)(uintptr_t)(addr[lane] + win->delta);
	union atomic_value one = {.u64 = 1}, old, now = {.u64 = 0};

	cpu_touch_lanes(w->worker->touch, w, mask, addr, a->step, TOUCH_TICKET);
	if (!cpu_apart_ticket(w->worker, (uintptr_t)host, a->step, &now.u64))
		return CPU_RETRY;
	a->op->one(host, &one, &one, &old, true);
	put(w, a->dst[0], a->acc.width, lane, &now);
	return CPU_OK;
}

static bool is_ticket(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
		      const uint64_t addr[CPU_WARP], struct cpu_window *win)
{
	const struct atomic *a = in->aux;
	bool is_one;

	return w->worker->has_order && a->stmt == w->grid->kernel->traits.ticket &&
	       !(mask & (mask - 1)) && find_all(w, in, mask, addr, win, &is_one) &&
	       win->place == CPU_PLACE_GLOBAL;
}

static enum cpu_step exec_atomic(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct atomic *a = in->aux;
	uint64_t addr[CPU_WARP], at[CPU_WARP] = {0};
	struct cpu_window win;
	uint32_t now;

	cpu_addresses(w, &a->addr, addr);
	if (is_ticket(w, in, mask, addr, &win))
		return exec_ticket(w, in, mask, addr, &win);
	if (a->acc.space != PTX_SPACE_SHARED && !cpu_note_update(w, in, &a->acc, mask, addr))
		return CPU_RETRY;
	if (a->acc.space != PTX_SPACE_SHARED && w->worker->has_order &&
	    !cpu_apart_await_order(w->worker))
		return CPU_RETRY;
	if (!a->is_multimem)
		return atomic_at(w, in, mask, addr);
	for (unsigned k = 0; (now = cpu_multicast_lanes(w, mask, addr, k, at)) != 0; k++)
		if (atomic_at(w, in, now, at) == CPU_FAULTED)
			return CPU_FAULTED;
	return CPU_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* The slots of an operand with n elements; false: it has another number. */
static bool slots_of(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t, bool is_dst,
		     unsigned n, uint32_t *slots)
{
	struct ptx_opnd el[MAX_VEC];

	if (is_dst && op->kind == PTX_OPND_SINK) {
		for (unsigned e = 0; e < n; e++)
			slots[e] = CPU_NOSLOT;
		return true;
	}
	if (cpu_dec_elems(d, op, el, MAX_VEC) != n)
		return false;
	for (unsigned e = 0; e < n; e++)
		slots[e] = is_dst ? cpu_dec_dst(d, &el[e]) : cpu_dec_src(d, &el[e], t);
	return true;
}

cpu_binder cpu_bind_atomic;

enum cpu_bound cpu_bind_atomic(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_atom = f->op == PTX_OP_ATOM;
	unsigned at = is_atom;

	/* red.async.release to global memory (9.7.13.8) may be carried out at once. */
	bool is_async =
		f->op == PTX_OP_RED_ASYNC && !ptx_form_has(f, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
	if (!is_atom && f->op != PTX_OP_RED && !is_async && f->op != PTX_OP_MULTIMEM_RED)
		return CPU_NOT_MINE;
	const struct atomic_op *op = atomic_op_of(f);
	bool is_cas = ptx_form_has(f, PTX_MOD_CAS);
	if (!op || f->has_unknown_mod || f->vec > MAX_VEC)
		return cpu_dec_unsupported(d, in, "no such operation or type");
	if (s->nops < at + 2u + is_cas)
		return cpu_dec_unsupported(d, in, "operands missing");
	struct atomic *a = cpu_dec_alloc(d, sizeof(*a));
	enum ptx_type t = (enum ptx_type)f->types[0];
	a->acc = (struct cpu_acc){.kind = CPU_ACC_ATOMIC,
				  .space = f->space,
				  .sem = is_async ? PTX_SEM_RELEASE : f->sem,
				  .scope = f->scope ? f->scope : PTX_SCOPE_GPU,
				  .proxy = f->proxy,
				  .width = f->width,
				  .vec = f->vec};
	a->op = op;
	a->stmt = s;
	a->n = f->vec;
	a->step = (uint32_t)f->width * f->vec;
	a->has_dst = is_atom;
	a->is_cas = is_cas;
	a->is_multimem = f->op == PTX_OP_MULTIMEM_RED;
	a->is_attempt = is_cas || ptx_form_has(f, PTX_MOD_EXCH);
	a->is_packed = t == PTX_TYPE_F16X2 || t == PTX_TYPE_BF16X2;
	a->addr = cpu_dec_addr(d, s, &s->ops[at]);
	for (unsigned e = 0; e < f->vec; e++)
		a->c[e] = CPU_NOSLOT;
	if ((is_atom && !slots_of(d, &s->ops[0], t, true, a->n, a->dst)) ||
	    !slots_of(d, &s->ops[at + 1], t, false, a->n, a->b) ||
	    (is_cas && !slots_of(d, &s->ops[at + 2], t, false, a->n, a->c)))
		return cpu_dec_unsupported(d, in, "the number of elements is not that of the form");
	in->aux = a;
	in->fn = exec_atomic;
	in->flags |= CPU_I_MEMORY;
	return CPU_BOUND;
}
