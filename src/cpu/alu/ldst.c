/*
 * ldst.c - ld, ldu and st for 32 lanes at once.
 *
 * In the sc model a warp's access is one of three shapes: lanes side by side
 * (one bounds check, one vector copy between memory and slots), all lanes at
 * one address (one load), or any: one bounds check for the lowest to the highest
 * address, then by groups of eight lanes, which have the same shapes (rows of a block that is 8 or
 * 16 wide), lane by lane at worst (movers.h). A lane that is alone is moved alone. An access that
 * fits none of them, and every one that faults, is done lane by lane through cpu_resolve.
 *
 * What is found so is the access's spread; others with its base register take it (load/spreads.c).
 *
 * In the other models each element goes through model.c. Cache operators and
 * hints are ignored: they change no value.
 * Costs: a vector of n elements is n passes over the lanes.
 */
#include "cpu/alu/movers.h"
#include "cpu/memory/resolve.h"
#include "cpu/events.h"

#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define MAX_VEC 8

/* One access, decoded. */
struct mem {
	struct cpu_acc acc;
	struct cpu_addr addr;
	uint32_t step; /* bytes of a lane: width * vec */
	uint8_t n;     /* elements */
	bool is_uniform;
	uint32_t slot[MAX_VEC];
	const struct mover *mover[MAX_VEC];
	struct cpu_spread_use use;
};

/* Of all lanes together: one address, side by side, or what eight of them have (groups). */
enum { SPREAD_UNIFORM, SPREAD_LINEAR, SPREAD_GROUPS };

/* ---- shapes ------------------------------------------------------------------------ */

/* Are n lanes (a multiple of 4) `apart` bytes from the one before? */
static inline bool are_apart(const uint64_t *addr, unsigned n, uint64_t apart)
{
#ifdef __AVX2__
	int64_t a0 = (int64_t)addr[0], d = (int64_t)apart;
	__m256i want = _mm256_setr_epi64x(a0, a0 + d, a0 + 2 * d, a0 + 3 * d);
	__m256i diff = _mm256_setzero_si256(), step = _mm256_set1_epi64x(4 * d);

	for (unsigned i = 0; i < n; i += 4) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(addr + i));
		diff = _mm256_or_si256(diff, _mm256_xor_si256(a, want));
		want = _mm256_add_epi64(want, step);
	}
	return _mm256_testz_si256(diff, diff);
#else
	uint64_t diff = 0;

	for (unsigned l = 0; l < n; l++)
		diff |= addr[l] ^ (addr[0] + l * apart);
	return !diff;
#endif
}

/* Lanes outside of the mask get the address of one in it. */
static inline void fill_idle(uint64_t *addr, uint32_t mask)
{
	uint64_t first = addr[__builtin_ctz(mask)];

#ifdef __AVX2__
	const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
	const __m256i other = _mm256_set1_epi64x((int64_t)first);

	for (unsigned i = 0; i < CPU_WARP; i += 4) {
		__m256i *p = (__m256i *)(void *)(addr + i);
		__m256i in = _mm256_and_si256(_mm256_set1_epi64x(mask >> i), bits);
		_mm256_storeu_si256(p, _mm256_blendv_epi8(other, _mm256_loadu_si256(p),
							  _mm256_cmpeq_epi64(in, bits)));
	}
#else
	for (unsigned l = 0; l < CPU_WARP; l++)
		addr[l] = mask >> l & 1u ? addr[l] : first;
#endif
}

/* Where the lanes are, as signed numbers, which vector units compare: no valid address is
 * negative. */
struct span {
	int64_t lo, hi, all; /* all: the bits of any */
};

static struct span find_span(const uint64_t *addr)
{
	struct span s = {INT64_MAX, INT64_MIN, 0};

#ifdef __AVX2__
	__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)addr), high = low;
	__m256i any = low;
	int64_t v[3][4];

	for (unsigned i = 4; i < CPU_WARP; i += 4) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(addr + i));
		low = _mm256_blendv_epi8(low, a, _mm256_cmpgt_epi64(low, a));
		high = _mm256_blendv_epi8(high, a, _mm256_cmpgt_epi64(a, high));
		any = _mm256_or_si256(any, a);
	}
	_mm256_storeu_si256((__m256i *)(void *)v[0], low);
	_mm256_storeu_si256((__m256i *)(void *)v[1], high);
	_mm256_storeu_si256((__m256i *)(void *)v[2], any);
	for (unsigned i = 0; i < 4; i++) {
		s.lo = v[0][i] < s.lo ? v[0][i] : s.lo;
		s.hi = v[1][i] > s.hi ? v[1][i] : s.hi;
		s.all |= v[2][i];
	}
#else
	for (unsigned l = 0; l < CPU_WARP; l++) {
		int64_t a = (int64_t)addr[l];
		s.lo = a < s.lo ? a : s.lo;
		s.hi = a > s.hi ? a : s.hi;
		s.all |= a;
	}
#endif
	return s;
}

/* The shape of eight lanes; elements of a vector, or the halves of 16 bytes, are not side by
 * side. */
static inline enum group_kind find_kind(const struct mem *m, const uint64_t *a)
{
	uint64_t apart = a[1] - a[0], side = m->step <= 8 && m->n == 1 ? m->step : 0;

	if (!apart)
		return are_apart(a, GROUP, 0) ? GROUP_SAME : GROUP_ANY;
	return apart == side && are_apart(a, GROUP, apart) ? GROUP_SIDE_BY_SIDE : GROUP_ANY;
}

/* True: each group of eight has a shape; then the span is known, too. */
static inline bool find_groups(const struct mem *m, const uint64_t *addr, uint32_t mask,
			       uint32_t *kinds, struct span *s)
{
	bool is_known = true;

	*kinds = 0;
	*s = (struct span){INT64_MAX, INT64_MIN, 0};
	for (unsigned i = 0; i < CPU_WARP; i += GROUP) {
		int64_t first = (int64_t)addr[i], last = (int64_t)addr[i + GROUP - 1];
		enum group_kind kind =
			(mask >> i & 0xff) == 0xff ? find_kind(m, addr + i) : GROUP_ANY;

		*kinds |= (uint32_t)kind << i;
		is_known &= kind != GROUP_ANY;
		s->lo = first < s->lo ? first : s->lo;
		s->hi = last > s->hi ? last : s->hi;
		s->all |= first | last;
	}
	return is_known;
}

/* False: not aligned, or not an address. The lanes outside of the mask get the address of one in
 * it. */
static bool find_spread(const struct mem *m, uint32_t mask, struct cpu_spread *sh)
{
	uint64_t *addr = sh->addr;
	struct span s;

	if (mask != UINT32_MAX)
		fill_idle(addr, mask);
	s.lo = s.hi = s.all = (int64_t)addr[0];
	if (m->is_uniform || (addr[0] == addr[1] && are_apart(addr, CPU_WARP, 0))) {
		sh->kind = SPREAD_UNIFORM;
		sh->groups = GROUPS_ALL(GROUP_SAME);
	} else if (mask == UINT32_MAX && addr[1] == addr[0] + m->step &&
		   are_apart(addr, CPU_WARP, m->step)) {
		sh->kind = SPREAD_LINEAR;
		s.hi += (int64_t)m->step * (CPU_WARP - 1);
	} else {
		sh->kind = SPREAD_GROUPS;
		if (!find_groups(m, addr, mask, &sh->groups, &s))
			s = find_span(addr);
	}
	sh->lo = (uint64_t)s.lo;
	sh->bytes = (uint64_t)(s.hi - s.lo) + m->step;
	sh->mask = mask;
	return s.all >= 0 && !((uint64_t)s.all & (m->step - 1));
}

/* Moves between registers and the addresses of the spread + apart; false: in no common window. */
static bool move_spread(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_spread *sh,
			uint64_t apart)
{
	const struct mem *m = in->aux;
	bool is_store = m->acc.kind == CPU_ACC_STORE;
	struct cpu_window win;

	if (!cpu_window_find(w, in, (enum ptx_space)m->acc.space, sh->lo + apart, sh->bytes,
			     is_store, &win))
		return false;
	win.delta += apart;
	for (unsigned e = 0; e < m->n; e++, win.delta += m->acc.width) {
		const struct mover *mv = m->mover[e];
		if (m->slot[e] == CPU_NOSLOT)
			continue;
		void *slot = cpu_slot(w, m->slot[e]);
		if (win.stride)
			mv->each(slot, sh->addr, win.delta, win.stride, sh->mask);
		else if (sh->kind == SPREAD_UNIFORM && !is_store)
			mv->uniform(slot, (uint8_t *)(uintptr_t)(sh->lo + win.delta), sh->mask);
		else if (sh->kind == SPREAD_LINEAR)
			mv->linear(slot, (uint8_t *)(uintptr_t)(sh->lo + win.delta), m->step);
		else
			mv->groups(slot, sh->addr, win.delta,
				   &(struct groups){sh->mask, sh->groups});
	}
	return true;
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

static inline enum cpu_step exec(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				 slow_fn *slow)
{
	const struct mem *m = in->aux;
	struct cpu_spread room, *sh = &room, *kept = &w->worker->spreads[m->use.way];
	bool is_slow = cpu_model_is_on(w) && in->sub;

	/* One lane alone leaves no spread, so it must not look for one either. */
	if (!(mask & (mask - 1)) && !is_slow) {
		if (move_one(w, in, mask))
			return CPU_OK;
	} else if (m->use.first && !is_slow && kept->first == m->use.first && kept->w == w &&
		   kept->mask == mask) {
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
		if (m->use.is_first) {
			sh->first = &m->use;
			sh->w = w;
		}
		if (move_spread(w, in, sh, 0))
			return CPU_OK;
	}
	return slow(w, in, m, mask, sh->addr);
}

static enum cpu_step exec_ld(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	return exec(w, in, mask, load_slow);
}

static enum cpu_step exec_st(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	return exec(w, in, mask, store_slow);
}

/* Chosen by the binder when accesses are judged. */
static enum cpu_step exec_judged(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	uint64_t addr[CPU_WARP];

	if (cpu_events_of(w)) {
		cpu_addr_lanes(w, &m->addr, addr);
		cpu_event_access(w, in, &m->acc, mask, addr, m->step);
	}
	return m->acc.kind == CPU_ACC_STORE ? exec_st(w, in, mask) : exec_ld(w, in, mask);
}

/* Chosen for the text without checks, which launches that are proven run, too. */
static enum cpu_step exec_proven(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mem *m = in->aux;
	uint64_t addr[CPU_WARP];

	if (w->grid->proven) {
		cpu_addr_lanes(w, &m->addr, addr);
		if (!cpu_proven_access(w, in, &m->acc, mask, addr, m->step))
			return CPU_RETRY;
	}
	return m->acc.kind == CPU_ACC_STORE ? exec_st(w, in, mask) : exec_ld(w, in, mask);
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
	return CPU_BOUND;
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
	in->fn = is_store ? exec_st : exec_ld;
	if (is_store)
		in->flags |= CPU_I_STORE;
	if (cpu_dec_is_judged(d, in) && in->sub)
		in->fn = exec_judged;
	else if (cpu_dec_is_plain(d) && in->sub && f->space != PTX_SPACE_SHARED)
		in->fn = exec_proven;
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
