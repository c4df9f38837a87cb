/*
 * ldst.c - ld, ldu and st for 32 lanes at once.
 *
 * In the sc model most accesses are of all lanes, at one address or side by side, in memory that
 * the instruction, or its group, has accessed before: exec_near sees that by the base register
 * alone, with one comparison for the bounds, and moves one vector. Others are of one of three
 * shapes: lanes side by side, all at one address, or any: one bounds check for the lowest to the
 * highest address, then by groups of eight lanes, which have the same shapes (rows of a block that
 * is 8 or 16 wide), lane by lane at worst (movers.h). A lane that is alone is moved alone. An
 * access that fits none of them, and every one that faults, is done lane by lane through
 * cpu_resolve.
 *
 * What is found so is the access's spread; others with its base register take it, with the memory
 * around it (load/spreads.c).
 *
 * In the other models each element goes through model.c. Cache operators and hints are ignored:
 * they change no value. Costs: some 50 instructions of the host for an access of a group; a vector
 * of n elements is n passes over the lanes where vectors.h doesn't have it.
 */
#include "cpu/alu/ldst.h"
#include "cpu/jit/loads.h"
#include "cpu/jit/rows.h"
#include "cpu/events.h"
#include "cpu/touch.h"

#include <string.h>

static inline bool is_kept(const struct cpu_warp *w, const struct mem *m,
			   const struct cpu_spread *kept, uint32_t mask)
{
	return kept->first == m->use.first && kept->w == w && kept->mask == mask;
}

/* As struct cpu_near has it. */
static inline uint32_t use_here(const struct cpu_warp *w, const struct mem *m)
{
	return m->access ? (w->grid->device << 2) + m->access : 0;
}

/* Moves all lanes; the first of them is at `host`. sh: where they are, in groups. */
static inline void move_near(struct cpu_warp *w, const struct mem *m, uint32_t kind, uint64_t host,
			     const struct cpu_spread *sh)
{
	uint8_t *p = (uint8_t *)(uintptr_t)host;

	if (kind != SPREAD_GROUPS && m->vector) {
		m->vector[kind](w, m->slot, p);
		return;
	}
	if (kind != SPREAD_GROUPS && m->n == 1 && m->slot[0] != CPU_NOSLOT) {
		m->mover[0]->whole[kind](cpu_slot(w, m->slot[0]), p);
		return;
	}
	for (unsigned e = 0; e < m->n; e++, p += m->acc.width) {
		if (m->slot[e] == CPU_NOSLOT)
			continue;
		void *slot = cpu_slot(w, m->slot[e]);
		if (kind == SPREAD_LINEAR)
			m->mover[e]->linear(slot, p, m->step);
		else if (kind == SPREAD_UNIFORM)
			m->mover[e]->uniform(slot, p, UINT32_MAX);
		else
			m->mover[e]->groups(slot, sh->addr, (uint64_t)(uintptr_t)p - sh->lo,
					    &(struct groups){UINT32_MAX, sh->groups});
	}
}

/* The only lane of the mask; false: no such memory, or not aligned. */
static bool move_one(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	uint64_t addr[CPU_WARP];
	unsigned l = (unsigned)__builtin_ctz(mask);
	struct cpu_window win;

	addr[l] = cpu_addr_lane(w, &m->addr, l);
	if (addr[l] & (m->step - 1) ||
	    !cpu_window_find(w, in, (enum ptx_space)m->acc.space, addr[l], m->step,
			     m->acc.kind == CPU_ACC_STORE, &win))
		return false;
	for (unsigned e = 0; e < m->n; e++)
		if (m->slot[e] != CPU_NOSLOT)
			m->mover[e]->each(cpu_slot(w, m->slot[e]), addr,
					  win.delta + e * m->acc.width, win.stride, mask);
	return true;
}

/* ---- the other models, and unusual cases ----------------------------------------------- */

static void load_lane(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		      const struct mem *m, enum cpu_place place, uint8_t *host, uint8_t *out)
{
	if (!cpu_model_is_on(w) || place == CPU_PLACE_PRIVATE) {
		memcpy(out, host, m->step);
		return;
	}
	struct cpu_elem x = {.lane = lane, .place = place, .bytes = m->acc.width};
	for (unsigned e = 0; e < m->n; e++) {
		x.host = host + e * m->acc.width;
		cpu_model_load(w, in, &m->acc, &x, out + e * m->acc.width);
	}
}

static struct cpu_range range_of(const struct mem *m)
{
	return (struct cpu_range){.space = (enum ptx_space)m->acc.space,
				  .bytes = m->step,
				  .align = m->step,
				  .is_write = m->acc.kind == CPU_ACC_STORE};
}

typedef enum cpu_step slow_fn(struct cpu_warp *w, const struct cpu_inst *in, const struct mem *m,
			      uint32_t mask, const uint64_t *addr);

static enum cpu_step load_slow(struct cpu_warp *w, const struct cpu_inst *in, const struct mem *m,
			       uint32_t mask, const uint64_t *addr)
{
	uint8_t data[CPU_WARP][32];
	uint64_t at[CPU_WARP];
	enum cpu_place place = CPU_PLACE_PRIVATE;
	struct cpu_range r = range_of(m);

	CPU_EACH_LANE (l, mask) {
		r.addr = addr[l];
		uint8_t *host = cpu_resolve_place(w, in, l, &r, &place);
		if (!host)
			return CPU_FAULTED;
		load_lane(w, in, l, m, place, host, data[l]);
		at[l] = (uint64_t)(uintptr_t)data[l];
	}
	for (unsigned e = 0; e < m->n; e++)
		if (m->slot[e] != CPU_NOSLOT)
			m->mover[e]->each(cpu_slot(w, m->slot[e]), at, e * m->acc.width, 0, mask);
	if (m->acc.sem == PTX_SEM_ACQUIRE)
		cpu_acquire(w, mask, (enum ptx_scope)m->acc.scope);
	return CPU_OK;
}

static enum cpu_step store_slow(struct cpu_warp *w, const struct cpu_inst *in, const struct mem *m,
				uint32_t mask, const uint64_t *addr)
{
	uint8_t data[CPU_WARP][32], *host[CPU_WARP];
	uint64_t at[CPU_WARP];
	enum cpu_place place[CPU_WARP];
	struct cpu_range r = range_of(m);

	CPU_EACH_LANE (l, mask) {
		at[l] = (uint64_t)(uintptr_t)data[l];
		r.addr = addr[l];
		host[l] = cpu_resolve_place(w, in, l, &r, &place[l]);
		if (!host[l])
			return CPU_FAULTED;
	}
	for (unsigned e = 0; e < m->n; e++)
		m->mover[e]->each(cpu_slot(w, m->slot[e]), at, e * m->acc.width, 0, mask);
	if (m->acc.sem == PTX_SEM_RELEASE)
		cpu_release(w, mask, (enum ptx_scope)m->acc.scope);
	CPU_EACH_LANE (l, mask) {
		if (!cpu_model_is_on(w) || place[l] == CPU_PLACE_PRIVATE) {
			memcpy(host[l], data[l], m->step);
			continue;
		}
		struct cpu_elem x = {.lane = l, .place = place[l], .bytes = m->acc.width};
		for (unsigned e = 0; e < m->n; e++) {
			x.host = host[l] + e * m->acc.width;
			cpu_model_store(w, in, &m->acc, &x, data[l] + e * m->acc.width);
		}
	}
	return CPU_OK;
}

/* ---- execution ------------------------------------------------------------------------------- */

/* The memory in which the spread's accesses are. */
static inline void keep_window(const struct mem *m, struct cpu_spread *sh,
			       const struct cpu_near *win)
{
	sh->access = m->access;
	sh->below = sh->lo - win->base;
	sh->room = win->bytes - sh->bytes + 1;
	sh->version = win->version;
	sh->host = sh->lo + win->delta;
}

/* Any access: the lanes' addresses are made and looked at. */
__attribute__((noinline)) static enum cpu_step exec_any(struct cpu_warp *w,
							const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	slow_fn *slow = m->acc.kind == CPU_ACC_STORE ? store_slow : load_slow;
	struct cpu_spread room, *sh = &room, *kept = &w->worker->spreads[m->use.way];
	bool is_slow = cpu_model_is_on(w) && in->sub;
	struct cpu_near win;

	/* One lane alone leaves no spread, so it must not look for one either. What is kept is of
	 * an earlier turn of a loop then. */
	if (!(mask & (mask - 1)) && !is_slow) {
		if (m->use.is_first)
			kept->first = NULL;
		if (move_one(w, in, mask))
			return CPU_OK;
	} else if (m->use.first && !is_slow && kept->has_addr && is_kept(w, m, kept, mask)) {
		if (move_spread(w, in, kept, (uint64_t)m->use.apart))
			return CPU_OK;
	}
	if (m->use.is_first) {
		sh = kept;
		sh->first = NULL;
	}
	cpu_addr_lanes(w, &m->addr, sh->addr);
	if (is_slow)
		return slow(w, in, m, mask, sh->addr);
	if (find_spread(m, mask, sh)) {
		bool is_moved = move_spread(w, in, sh, 0);
		if (m->use.is_first) {
			sh->first = &m->use;
			sh->w = w;
			sh->room = 0;
			if (is_moved && m->is_near && mask == UINT32_MAX &&
			    cpu_window_near(w, in, use_here(w, m), sh->lo, sh->bytes, &win))
				keep_window(m, sh, &win);
		}
		if (is_moved)
			return CPU_OK;
	}
	return slow(w, in, m, mask, sh->addr);
}

/* In memory that another access of the group has used: at `apart` bytes from there. */
static inline bool is_near_kept(const struct cpu_warp *w, const struct mem *m,
				const struct cpu_spread *kept)
{
	return is_kept(w, m, kept, UINT32_MAX) &&
	       (uint64_t)m->use.apart + kept->below < kept->room && kept->access == m->access &&
	       (!m->access || kept->version == cpu_map_version(w));
}

/* Where all lanes are on the host. */
struct near {
	uint32_t kind;
	uint64_t host;		     /* of the least address */
	const struct cpu_spread *sh; /* of SPREAD_GROUPS */
};

/* All lanes, at one address or side by side, in memory that was used before: most accesses. The
 * lanes' addresses aren't made; their base register is looked at. False: it isn't so. */
static inline bool find_near(struct cpu_warp *w, const struct cpu_inst *in, const struct mem *m,
			     struct near *out)
{
	struct cpu_spread *kept = &w->worker->spreads[m->use.way];
	const void *base = cpu_slot(w, m->addr.base);
	struct cpu_near win;

	if (m->use.first && is_near_kept(w, m, kept)) {
		*out = (struct near){kept->kind, kept->host + (uint64_t)m->use.apart, kept};
		return true;
	}
	uint32_t kind = m->addr.is_base32 ? shape_of_32(base, m->step) : shape_of_64(base, m->step);
	if (kind == SPREAD_GROUPS)
		return false;
	uint64_t lo = m->addr.is_base32 ? *(const uint32_t *)base : *(const uint64_t *)base;
	uint64_t bytes = kind == SPREAD_UNIFORM ? m->step : (uint64_t)m->step * CPU_WARP;
	lo += (uint64_t)m->addr.off;
	if (lo & (m->step - 1) || cpu_model_is_on(w) ||
	    !cpu_window_near(w, in, use_here(w, m), lo, bytes, &win))
		return false;
	/* One that isn't the group's first: another warp has had its turn since. */
	if (m->use.first || m->use.is_first) {
		kept->first = m->use.first ? m->use.first : &m->use;
		kept->w = w;
		kept->mask = UINT32_MAX;
		kept->kind = kind;
		kept->has_addr = false;
		kept->lo = lo - (uint64_t)m->use.apart;
		kept->bytes = bytes;
		keep_window(m, kept, &win);
	}
	*out = (struct near){kind, lo + win.delta, NULL};
	return true;
}

static inline bool may_be_near(const struct cpu_warp *w, const struct mem *m, uint32_t mask)
{
	return mask == UINT32_MAX && m->is_near && !w->worker->proof;
}

__attribute__((noinline)) static bool exec_near(struct cpu_warp *w, const struct cpu_inst *in,
						const struct mem *m)
{
	struct near at;

	if (!find_near(w, in, m, &at))
		return false;
	move_near(w, m, at.kind, at.host, at.sh);
	return true;
}

static enum cpu_step exec_ld_st(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;

	if (may_be_near(w, m, mask) && exec_near(w, in, m))
		return CPU_OK;
	return exec_any(w, in, mask);
}

/* One element, at a distance from an access of its group. */
static enum cpu_step exec_next(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	const struct cpu_spread *kept = &w->worker->spreads[m->use.way];

	if (mask == UINT32_MAX && is_near_kept(w, m, kept) && kept->kind != SPREAD_GROUPS &&
	    !w->worker->proof) {
		m->mover[0]->whole[kept->kind](cpu_slot(w, m->slot[0]),
					       (uint8_t *)(uintptr_t)kept->host + m->use.apart);
		return CPU_OK;
	}
	return exec_ld_st(w, in, mask);
}

/* A parameter of the kernel by its name: one place for all lanes. */
static enum cpu_step exec_param(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	uint8_t *p = (uint8_t *)(uintptr_t)w->grid->params + m->addr.off;

	if ((uint64_t)m->addr.off + m->step > w->grid->nparam_bytes)
		return exec_any(w, in, mask);
	for (unsigned e = 0; e < m->n; e++, p += m->acc.width)
		if (m->slot[e] != CPU_NOSLOT)
			m->mover[e]->uniform(cpu_slot(w, m->slot[e]), p, mask);
	return CPU_OK;
}

/* ld.acquire, st.release: what the host's threads exchange with the kernel by it (memory of both)
 * is ordered on the host's processor, too. */
static enum cpu_step exec_ordered(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;

	if (m->acc.sem == PTX_SEM_RELEASE)
		atomic_thread_fence(memory_order_release);
	enum cpu_step step = m->plain(w, in, mask);
	if (m->acc.sem == PTX_SEM_ACQUIRE)
		atomic_thread_fence(memory_order_acquire);
	return step;
}

/* Of a launch on several workers whose strong accesses come in the order of groups (order.c). */
static enum cpu_step exec_strong(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	uint64_t addr[CPU_WARP];

	if (!w->worker->has_order)
		return m->plain(w, in, mask);
	cpu_addr_lanes(w, &m->addr, addr);
	cpu_touch_lanes(w->worker->touch, w, mask, addr, m->step, TOUCH_UPDATE);
	if (m->acc.kind == CPU_ACC_STORE && cpu_apart_store(w, in, &m->acc, mask, addr)) {
		/* It leaves no spread. What is kept is of an earlier turn of a loop. */
		if (m->use.is_first)
			w->worker->spreads[m->use.way].first = NULL;
		return CPU_OK;
	}
	if (!cpu_apart_await_order(w->worker))
		return CPU_RETRY;
	return exec_any(w, in, mask);
}

/* A judged access whose lanes are at one address or side by side. False: nothing was done. */
static inline bool judge_near(struct cpu_warp *w, const struct cpu_inst *in, const struct mem *m)
{
	uint64_t at[CPU_WARP];
	struct near near;

	if (!find_near(w, in, m, &near) || near.kind == SPREAD_GROUPS)
		return false;
	bool is_one = near.kind == SPREAD_UNIFORM;
	uint64_t step = is_one ? 0 : m->step;
	for (unsigned l = 0; l < 4; l++)
		at[l] = near.host + l * step;
	for (unsigned l = 4; l < CPU_WARP; l++)
		at[l] = at[l - 4] + 4 * step;
	const struct cpu_lanes lanes = {.mask = UINT32_MAX,
					.place = m->access ? CPU_PLACE_GLOBAL : CPU_PLACE_SHARED,
					.at = at,
					.shape = is_one ? CPU_LANES_SAME : CPU_LANES_SIDE};
	cpu_event_access_at(w, in, &m->acc, &lanes, m->step);
	move_near(w, m, near.kind, near.host, NULL);
	return true;
}

/* Chosen where launches may have several workers: what is accessed is noted then (touch.h). */
static enum cpu_step exec_noted(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	struct cpu_touch *t = w->worker->touch;
	enum touch_kind kind = m->acc.kind == CPU_ACC_STORE ? TOUCH_WRITE : TOUCH_READ;
	uint64_t addr[CPU_WARP];
	struct near at;

	if (!t)
		return exec_ld_st(w, in, mask);
	if (may_be_near(w, m, mask) && find_near(w, in, m, &at)) {
		bool is_one = at.kind == SPREAD_UNIFORM;
		if (at.kind == SPREAD_GROUPS)
			note_groups(t, at.sh, at.host, m->step, kind);
		else
			cpu_touch_row(t, at.host, is_one ? m->step : m->step * CPU_WARP, kind);
		move_near(w, m, at.kind, at.host, at.sh);
		return CPU_OK;
	}
	cpu_addr_lanes(w, &m->addr, addr);
	cpu_touch_lanes(t, w, mask, addr, m->step, kind);
	return exec_any(w, in, mask);
}

/* Chosen by the binder when accesses are judged. */
static enum cpu_step exec_judged(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	uint64_t addr[CPU_WARP];

	if (cpu_events_of(w)) {
		bool is_noted = w->grid->has_judges && m->acc.space != PTX_SPACE_SHARED;
		if (is_noted) {
			cpu_addr_lanes(w, &m->addr, addr);
			if (!cpu_proven_access(w, in, &m->acc, mask, addr, m->step))
				return CPU_RETRY;
		}
		if (may_be_near(w, m, mask) && judge_near(w, in, m))
			return CPU_OK;
		if (!is_noted)
			cpu_addr_lanes(w, &m->addr, addr);
		cpu_event_access(w, in, &m->acc, mask, addr, m->step);
		return exec_ld_st(w, in, mask);
	}
	return exec_noted(w, in, mask);
}

/* Chosen for the text without checks, which launches that are proven run, too. */
static enum cpu_step exec_proven(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	uint64_t addr[CPU_WARP];
	struct near at;

	if (w->grid->proven) {
		if (may_be_near(w, m, mask) && find_near(w, in, m, &at) &&
		    at.kind != SPREAD_GROUPS &&
		    cpu_proven_near(w, in, at.host, m->step, at.kind == SPREAD_UNIFORM)) {
			move_near(w, m, at.kind, at.host, at.sh);
			return CPU_OK;
		}
		cpu_addr_lanes(w, &m->addr, addr);
		if (!cpu_proven_access(w, in, &m->acc, mask, addr, m->step))
			return CPU_RETRY;
		return exec_ld_st(w, in, mask);
	}
	return exec_noted(w, in, mask);
}

/* ---- decoding -------------------------------------------------------------------------------- */

static bool is_signed(enum ptx_type t)
{
	return ptx_type_class(t) == PTX_CLASS_SINT;
}

static bool is_shared_by_threads(enum ptx_space s)
{
	return s == PTX_SPACE_GENERIC || s == PTX_SPACE_GLOBAL || s == PTX_SPACE_SHARED ||
	       s == PTX_SPACE_SHARED_CLUSTER;
}

static const struct mover *pick(bool is_store, enum ptx_type t, unsigned reg)
{
	unsigned width = ptx_type_bytes(t);

	if (!width || !reg || width > 16 || reg > 16)
		return NULL;
	unsigned w = (unsigned)__builtin_ctz(width), r = (unsigned)__builtin_ctz(reg);
	return is_store ? storers[w][r] : loaders[is_signed(t)][w][r];
}

/* The element operands of ld and st. */
static enum cpu_bound bind_elements(struct cpu_dec *d, struct cpu_inst *in, struct mem *m,
				    const struct ptx_opnd *op, enum ptx_type t)
{
	bool is_store = m->acc.kind == CPU_ACC_STORE;
	struct ptx_opnd el[MAX_VEC];
	unsigned n = cpu_dec_elems(d, op, el, MAX_VEC);

	if (n != m->acc.vec)
		return cpu_dec_unsupported(d, in, "the number of elements is not that of the form");
	m->n = (uint8_t)n;
	for (unsigned e = 0; e < n; e++) {
		unsigned reg = cpu_dec_bytes(d, &el[e], t);
		if (!is_store && el[e].kind == PTX_OPND_SINK) {
			m->slot[e] = CPU_NOSLOT;
			continue;
		}
		m->slot[e] = is_store ? cpu_dec_src(d, &el[e], t) : cpu_dec_dst(d, &el[e]);
		m->mover[e] = pick(is_store, t, reg);
		if (m->slot[e] != CPU_NOSLOT && !m->mover[e])
			return cpu_dec_unsupported(d, in, "no register of that size for the type");
		m->acc.reg = is_store && n == 1 ? (uint8_t)reg : 0;
		m->acc.value = m->slot[e];
		m->acc.values = is_store && (!e || reg == m->acc.each) ? m->slot : NULL;
		m->acc.each = (uint8_t)reg;
	}
	m->vector = pick_vector(is_store, m->acc.width, m->mover, m->slot, n);
	return CPU_BOUND;
}

static bool is_kernel_param(const struct mem *m)
{
	return m->acc.space == PTX_SPACE_PARAM && m->acc.kind == CPU_ACC_LOAD && m->is_uniform &&
	       (uint64_t)m->addr.off < CPU_PARAM_AREA && !((uint64_t)m->addr.off & (m->step - 1));
}

static struct mem *new_mem(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			   const struct ptx_opnd *address, bool is_store)
{
	const struct ptx_form *f = s->form;
	struct mem *m = cpu_dec_alloc(d, sizeof(*m));

	m->acc = (struct cpu_acc){.kind = is_store ? CPU_ACC_STORE : CPU_ACC_LOAD,
				  .space = f->space,
				  .sem = f->sem,
				  .scope = f->scope,
				  .proxy = f->proxy,
				  .is_nc = ptx_form_has(f, PTX_MOD_NC) || f->op == PTX_OP_LDU,
				  .width = f->width,
				  .vec = f->vec};
	m->addr = cpu_dec_addr(d, s, address);
	m->step = (uint32_t)f->width * f->vec;
	m->is_uniform = m->addr.base == CPU_NOSLOT && !m->addr.is_local_var;
	in->aux = m;
	/* Only memory that threads share has a model. */
	in->sub = is_shared_by_threads((enum ptx_space)f->space);
	if (in->sub) {
		in->flags |= CPU_I_MEMORY;
		cpu_dec_spread(d, s, address, f->vec, m->step, &m->use);
		m->is_near = m->addr.base != CPU_NOSLOT && !m->addr.is_local_var &&
			     f->space != PTX_SPACE_SHARED_CLUSTER;
	}
	return m;
}

static enum cpu_bound bind_ld_st(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_store = f->op == PTX_OP_ST || f->op == PTX_OP_ST_ASYNC;

	if (f->has_unknown_mod)
		return cpu_dec_unsupported(d, in, "unknown modifier");
	if (s->nops < 2 || !f->ntypes || !f->width || (uint32_t)f->width * f->vec > 32)
		return cpu_dec_unsupported(d, in, "no such type or operands");
	struct mem *m = new_mem(d, s, in, &s->ops[is_store ? 0 : 1], is_store);
	/* st.async.release to global memory (9.7.9.12) may be carried out at once. */
	if (f->op == PTX_OP_ST_ASYNC)
		m->acc.sem = PTX_SEM_RELEASE;
	in->fn = exec_ld_st;
	if (is_store)
		in->flags |= CPU_I_STORE;
	if (cpu_dec_is_judged(d, in) && in->sub)
		in->fn = exec_judged;
	else if (cpu_dec_is_plain(d) && in->sub && f->space != PTX_SPACE_SHARED)
		in->fn = exec_proven;
	else if (cpu_dec_has_workers(d) && in->sub && f->space != PTX_SPACE_SHARED)
		in->fn = exec_noted;
	else if (is_kernel_param(m))
		in->fn = exec_param;
	m->access = f->space == PTX_SPACE_SHARED ? 0 : (uint8_t)(1 + cpu_use_of(in, is_store));
	if (in->fn == exec_ld_st && m->use.first && m->is_near && m->acc.vec == 1 &&
	    s->ops[is_store ? 1 : 0].kind != PTX_OPND_SINK)
		in->fn = exec_next;
	if (in->sub && f->space != PTX_SPACE_SHARED &&
	    (m->acc.sem == PTX_SEM_ACQUIRE || m->acc.sem == PTX_SEM_RELEASE)) {
		m->plain = in->fn;
		in->fn = exec_ordered;
	} else if (in->sub && f->space != PTX_SPACE_SHARED && cpu_dec_has_workers(d) &&
		   cpu_is_ordered(f)) {
		m->plain = in->fn;
		in->fn = exec_strong;
	}
	return bind_elements(d, in, m, &s->ops[is_store ? 1 : 0], (enum ptx_type)f->types[0]);
}

cpu_binder CPU_BINDER(ldst);

enum cpu_bound CPU_BINDER(ldst)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	enum ptx_op op = s->form->op;
	bool is_async =
		op == PTX_OP_ST_ASYNC && !ptx_form_has(s->form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);

	return op == PTX_OP_LD || op == PTX_OP_LDU || op == PTX_OP_ST || is_async
		       ? bind_ld_st(d, s, in)
		       : CPU_NOT_MINE;
}

/* ---- machine code (jit/) ------------------------------------------------------------------ */

bool CPU_ISA_PASTE(cpu_jit_load, CPU_ISA_SUFFIX)(const struct cpu_inst *in, struct jit_load *out)
{
	const struct mem *m = in->aux;
	bool is_param = in->fn == exec_param;

	if (m->acc.kind != CPU_ACC_LOAD || !(m->is_near || m->is_uniform) ||
	    !(in->sub || is_param) || m->acc.space == PTX_SPACE_SHARED_CLUSTER ||
	    (m->acc.width != 4 && m->acc.width != 8) || m->n > BASE_COUNTOF(out->slot))
		return false;
	*out = (struct jit_load){.off = m->addr.off,
				 .base = m->addr.base,
				 .is_base32 = m->addr.is_base32,
				 .space = m->acc.space,
				 .access = is_param ? 0 : m->access,
				 .width = m->acc.width,
				 .n = m->n,
				 .ways = m->use.is_first ? (uint8_t)(1u << m->use.way) : 0};
	for (unsigned e = 0; e < m->n; e++) {
		const struct mover *same = m->acc.width == 4 ? &ld_u32_32 : &ld_u64_64;
		out->slot[e] = m->slot[e];
		/* The other build of this file has movers of its own, and finds nothing. */
		if (m->slot[e] != CPU_NOSLOT && m->mover[e] != same)
			return false;
	}
	return true;
}

extern const struct jit_handler CPU_HANDLERS(ldst)[];
const struct jit_handler CPU_HANDLERS(ldst)[] = {
#define LDST(handler, ...) {handler, JIT_LDST_##handler},
#include "cpu/jit/rows.def"
	{NULL, JIT_NONE}};
