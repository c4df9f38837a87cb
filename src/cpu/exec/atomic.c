/*
 * atomic.c - atom and red: read-modify-write, lane by lane, with the host's atomics.
 *
 * Each (operation, type) is one function on the bytes in memory; integer add, and, or, xor, exch,
 * cas are the host's own, the rest loop over compare-and-swap until that succeeds. Vectors are one
 * atomic an element (PTX ISA 9.7.13, atom). 16 bytes: by cmpxchg16b, or one lock where it isn't.
 *
 * multimem.red is a red on each memory that its address stands for (memory/multicast.c).
 *
 * Misses: without cmpxchg16b 16 bytes aren't atomic beside fewer. Costs: 20 to 40 cycles a lane.
 */
#include "cpu/memory/resolve.h"
#include "cpu/arch.h"
#include "cpu/deferred.h"
#include "cpu/events.h"

#include <string.h>

#define MAX_VEC 8

union value {
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	uint64_t half[2];
	float f32;
	double f64;
};

/* Does the operation on the bytes at p; *old gets the previous value. is_ftz: f32 additions flush
 * subnormals (global memory only, as the ISA says of its implementations). */
typedef void rmw_fn(void *p, const union value *b, const union value *c, union value *old,
		    bool is_ftz);

struct atomic {
	struct cpu_acc acc;
	struct cpu_addr addr;
	rmw_fn *fn;
	uint8_t n;
	bool has_dst, is_cas, is_packed, is_multimem;
	bool is_attempt; /* compare-and-swap, exchange: it may be tried until it succeeds */
	uint32_t step;
	uint32_t dst[MAX_VEC], b[MAX_VEC], c[MAX_VEC];
};

/* ---- integers --------------------------------------------------------------------------- */

#define HOST(name, T, field, builtin)                                                              \
	static void name(void *p, const union value *b, const union value *c, union value *old,    \
			 bool is_ftz)                                                              \
	{                                                                                          \
		(void)c, (void)is_ftz;                                                             \
		old->field = builtin((T *)p, b->field, __ATOMIC_SEQ_CST);                          \
	}
HOST(add_32, uint32_t, u32, __atomic_fetch_add)
HOST(add_64, uint64_t, u64, __atomic_fetch_add)
HOST(and_32, uint32_t, u32, __atomic_fetch_and)
HOST(and_64, uint64_t, u64, __atomic_fetch_and)
HOST(or_32, uint32_t, u32, __atomic_fetch_or)
HOST(or_64, uint64_t, u64, __atomic_fetch_or)
HOST(xor_32, uint32_t, u32, __atomic_fetch_xor)
HOST(xor_64, uint64_t, u64, __atomic_fetch_xor)
HOST(exch_32, uint32_t, u32, __atomic_exchange_n)
HOST(exch_64, uint64_t, u64, __atomic_exchange_n)

#define CAS(name, T, field)                                                                        \
	static void name(void *p, const union value *b, const union value *c, union value *old,    \
			 bool is_ftz)                                                              \
	{                                                                                          \
		(void)is_ftz;                                                                      \
		T was = b->field;                                                                  \
		__atomic_compare_exchange_n((T *)p, &was, c->field, false, __ATOMIC_SEQ_CST,       \
					    __ATOMIC_SEQ_CST);                                     \
		old->field = was;                                                                  \
	}
CAS(cas_16, uint16_t, u16)
CAS(cas_32, uint32_t, u32)
CAS(cas_64, uint64_t, u64)

/* `next` is an expression of was (T), b. */
#define LOOP(name, T, field, next)                                                                 \
	static void name(void *p, const union value *b, const union value *c, union value *old,    \
			 bool is_ftz)                                                              \
	{                                                                                          \
		(void)c, (void)is_ftz;                                                             \
		T was = __atomic_load_n((T *)p, __ATOMIC_RELAXED);                                 \
		while (!__atomic_compare_exchange_n((T *)p, &was, (T)(next), true,                 \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))           \
			;                                                                          \
		old->field = was;                                                                  \
	}
LOOP(min_u32, uint32_t, u32, was < b->u32 ? was : b->u32)
LOOP(max_u32, uint32_t, u32, was > b->u32 ? was : b->u32)
LOOP(min_s32, uint32_t, u32, (int32_t)was < (int32_t)b->u32 ? was : b->u32)
LOOP(max_s32, uint32_t, u32, (int32_t)was > (int32_t)b->u32 ? was : b->u32)
LOOP(min_u64, uint64_t, u64, was < b->u64 ? was : b->u64)
LOOP(max_u64, uint64_t, u64, was > b->u64 ? was : b->u64)
LOOP(min_s64, uint64_t, u64, (int64_t)was < (int64_t)b->u64 ? was : b->u64)
LOOP(max_s64, uint64_t, u64, (int64_t)was > (int64_t)b->u64 ? was : b->u64)
LOOP(inc_u32, uint32_t, u32, was >= b->u32 ? 0 : was + 1)
LOOP(dec_u32, uint32_t, u32, was == 0 || was > b->u32 ? b->u32 : was - 1)

/* ---- floating point ------------------------------------------------------------------------ */

static uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static float float_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static uint32_t flush(uint32_t u)
{
	return u & 0x7f800000u ? u : u & 0x80000000u;
}

static uint32_t sum_f32(uint32_t a, uint32_t b, bool is_ftz)
{
	float s = is_ftz ? float_of(flush(a)) + float_of(flush(b)) : float_of(a) + float_of(b);

	if (s != s)
		return 0x7fffffffu;
	return is_ftz ? flush(bits_of(s)) : bits_of(s);
}

/* A NaN passes through, quieted, the one in memory before the operand's, and one that the sum makes
 * is negative: neither the compiler nor the host's kind may choose. As seen on an H100. */
static uint64_t sum_f64(uint64_t a, uint64_t b)
{
	const uint64_t body = UINT64_MAX >> 1, inf = 0x7ffull << 52, quiet = 1ull << 51;
	double x, y;

	if ((a & body) > inf)
		return a | quiet;
	if ((b & body) > inf)
		return b | quiet;
	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	x += y;
	memcpy(&a, &x, sizeof(a));
	return x != x ? ~0ull << 51 : a;
}

LOOP(add_f32, uint32_t, u32, sum_f32(was, b->u32, is_ftz))
LOOP(add_f64, uint64_t, u64, sum_f64(was, b->u64))

static float from_f16(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, f = h & 0x3ffu;

	if (e == 31)
		return float_of(sign | 0x7f800000u | f << 13);
	if (e)
		return float_of(sign | (e + 112) << 23 | f << 13);
	float v = (float)f * 0x1p-24f;
	return sign ? -v : v;
}

static uint16_t to_f16(float v)
{
	uint32_t u = bits_of(v), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;

	if (a > 0x7f800000u)
		return 0x7fff;
	if (a >= 0x477ff000u) /* 65520 and above round to infinity */
		return (uint16_t)(sign | 0x7c00u);
	if (a < 0x38800000u) {
		/* Subnormal: the addition rounds at 2^-24. */
		uint32_t r = bits_of(float_of(a) + 0.5f);
		return (uint16_t)(sign | (r - 0x3f000000u));
	}
	a += 0xfffu + (a >> 13 & 1u);
	return (uint16_t)(sign | (a - 0x38000000u) >> 13);
}

static float from_bf16(uint16_t h)
{
	return float_of((uint32_t)h << 16);
}

static uint16_t to_bf16(float v)
{
	uint32_t u = bits_of(v);

	if ((u & 0x7fffffffu) > 0x7f800000u)
		return 0x7fff;
	return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* The sum of two 16-bit floats rounded to f32 first rounds the same: 24 >= 2 * 11 + 2. */
static uint16_t sum_f16(uint16_t a, uint16_t b)
{
	return to_f16(from_f16(a) + from_f16(b));
}

static uint16_t sum_bf16(uint16_t a, uint16_t b)
{
	return to_bf16(from_bf16(a) + from_bf16(b));
}

/* As min and max of the type: a number wins over NaN, -0 is below +0. */
static uint16_t pick_16(uint16_t a, uint16_t b, float x, float y, bool is_max)
{
	if (x != x)
		return y != y ? 0x7fff : b;
	if (y != y)
		return a;
	if (x == y)
		return (a & 0x8000u) != 0 ? (is_max ? b : a) : (is_max ? a : b);
	return (x < y) == is_max ? b : a;
}

static uint16_t min_16f(uint16_t a, uint16_t b)
{
	return pick_16(a, b, from_f16(a), from_f16(b), false);
}

static uint16_t max_16f(uint16_t a, uint16_t b)
{
	return pick_16(a, b, from_f16(a), from_f16(b), true);
}

static uint16_t min_16b(uint16_t a, uint16_t b)
{
	return pick_16(a, b, from_bf16(a), from_bf16(b), false);
}

static uint16_t max_16b(uint16_t a, uint16_t b)
{
	return pick_16(a, b, from_bf16(a), from_bf16(b), true);
}

static uint32_t both(uint16_t (*fn)(uint16_t, uint16_t), uint32_t a, uint32_t b)
{
	return (uint32_t)fn((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16 |
	       fn((uint16_t)a, (uint16_t)b);
}

LOOP(add_f16, uint16_t, u16, sum_f16(was, b->u16))
LOOP(add_bf16, uint16_t, u16, sum_bf16(was, b->u16))
LOOP(min_f16, uint16_t, u16, min_16f(was, b->u16))
LOOP(max_f16, uint16_t, u16, max_16f(was, b->u16))
LOOP(min_bf16, uint16_t, u16, min_16b(was, b->u16))
LOOP(max_bf16, uint16_t, u16, max_16b(was, b->u16))
LOOP(add_f16x2, uint32_t, u32, both(sum_f16, was, b->u32))
LOOP(add_bf16x2, uint32_t, u32, both(sum_bf16, was, b->u32))
LOOP(min_f16x2, uint32_t, u32, both(min_16f, was, b->u32))
LOOP(max_f16x2, uint32_t, u32, both(max_16f, was, b->u32))
LOOP(min_bf16x2, uint32_t, u32, both(min_16b, was, b->u32))
LOOP(max_bf16x2, uint32_t, u32, both(max_16b, was, b->u32))

/* ---- 16 bytes ------------------------------------------------------------------------------ */

static void cas_128(void *p, const union value *b, const union value *c, union value *old,
		    bool is_ftz)
{
	uint64_t was[2] = {b->half[0], b->half[1]};

	(void)is_ftz;
	cpu_arch_swap_128(p, was, c->half);
	memcpy(old->half, was, sizeof(was));
}

static void exch_128(void *p, const union value *b, const union value *c, union value *old,
		     bool is_ftz)
{
	uint64_t was[2] = {0, 0};

	(void)c, (void)is_ftz;
	while (!cpu_arch_swap_128(p, was, b->half))
		;
	memcpy(old->half, was, sizeof(was));
}

/* ---- execution ------------------------------------------------------------------------------- */

static inline void get(struct cpu_warp *w, uint32_t slot, unsigned width, unsigned lane,
		       union value *v)
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
		       const union value *v)
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
static bool is_write(const struct atomic *a, const union value *b, const union value *old)
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
		     const uint64_t *addr, struct cpu_window *win)
{
	const struct atomic *a = in->aux;
	struct cpu_span s = cpu_span_of(addr, mask);

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
		union value b = {.u64 = 0};
		get(w, a->b[e], a->acc.width, lane, &b);
		cpu_deferred_add(w->worker->deferred, (struct cpu_update){host, a, b.u64});
	}
	if (w->worker->proof)
		cpu_proof_fail(w->worker);
	return true;
}

void cpu_updates_do(const struct cpu_update *u, size_t n)
{
	for (const struct cpu_update *end = u + n; u < end; u++) {
		union value b = {.u64 = u->value}, old;
		((const struct atomic *)u->what)->fn(u->to, &b, &b, &old, true);
	}
}

/* Has it changed memory? */
static bool do_lane(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane, uint8_t *host,
		    enum cpu_place place, struct lanes *all)
{
	const struct atomic *a = in->aux;
	union value b, c, old;
	struct cpu_elem x = {.lane = lane, .bytes = a->acc.width, .host = host, .place = place};
	bool is_changed = !a->is_attempt;

	if (w->worker->deferred && place == CPU_PLACE_GLOBAL)
		return defer_lane(w, in, lane, host);
	for (unsigned e = 0; e < a->n; e++, x.host += x.bytes) {
		uint8_t *p = x.host;
		if (cpu_model_is_on(w))
			p = cpu_model_atomic(w, lane, (enum ptx_scope)a->acc.scope, x.place, p,
					     x.bytes);
		get(w, a->b[e], x.bytes, lane, &b);
		if (a->c[e] != CPU_NOSLOT)
			get(w, a->c[e], x.bytes, lane, &c);
		a->fn(p, &b, &c, &old, x.place == CPU_PLACE_GLOBAL);
		bool is_written = is_write(a, &b, &old);
		if (a->is_attempt || w->worker->proof) {
			bool differs = memcmp(p, &old, x.bytes) != 0;
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
		if (a->has_dst && a->dst[e] != CPU_NOSLOT)
			put(w, a->dst[e], x.bytes, lane, &old);
	}
	return is_changed;
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
	bool is_done = true, is_changed = false;

	all.is_wanted =
		!is_model && !a->is_cas && !a->is_packed && a->n == 1 && cpu_event_takes(w, in);
	all.mask = 0;
	if (is_model && (sem == PTX_SEM_RELEASE || sem == PTX_SEM_ACQ_REL))
		cpu_release(w, mask, (enum ptx_scope)a->acc.scope);
	bool is_common = find_all(w, in, mask, addr, &win);
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

static enum cpu_step exec_atomic(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct atomic *a = in->aux;
	uint64_t addr[CPU_WARP], at[CPU_WARP] = {0};
	uint32_t now;

	cpu_addresses(w, &a->addr, addr);
	if (a->acc.space != PTX_SPACE_SHARED && !cpu_note_update(w, in, &a->acc, mask, addr))
		return CPU_RETRY;
	if (!a->is_multimem)
		return atomic_at(w, in, mask, addr);
	for (unsigned k = 0; (now = cpu_multicast_lanes(w, mask, addr, k, at)) != 0; k++)
		if (atomic_at(w, in, now, at) == CPU_FAULTED)
			return CPU_FAULTED;
	return CPU_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

struct row {
	enum ptx_mod op;
	enum ptx_type type;
	rmw_fn *fn;
};

static const struct row rows[] = {
	{PTX_MOD_ADD, PTX_TYPE_U32, add_32},	  {PTX_MOD_ADD, PTX_TYPE_S32, add_32},
	{PTX_MOD_ADD, PTX_TYPE_U64, add_64},	  {PTX_MOD_ADD, PTX_TYPE_S64, add_64},
	{PTX_MOD_ADD, PTX_TYPE_F32, add_f32},	  {PTX_MOD_ADD, PTX_TYPE_F64, add_f64},
	{PTX_MOD_ADD, PTX_TYPE_F16, add_f16},	  {PTX_MOD_ADD, PTX_TYPE_BF16, add_bf16},
	{PTX_MOD_ADD, PTX_TYPE_F16X2, add_f16x2}, {PTX_MOD_ADD, PTX_TYPE_BF16X2, add_bf16x2},
	{PTX_MOD_MIN, PTX_TYPE_F16, min_f16},	  {PTX_MOD_MIN, PTX_TYPE_BF16, min_bf16},
	{PTX_MOD_MIN, PTX_TYPE_F16X2, min_f16x2}, {PTX_MOD_MIN, PTX_TYPE_BF16X2, min_bf16x2},
	{PTX_MOD_MAX, PTX_TYPE_F16, max_f16},	  {PTX_MOD_MAX, PTX_TYPE_BF16, max_bf16},
	{PTX_MOD_MAX, PTX_TYPE_F16X2, max_f16x2}, {PTX_MOD_MAX, PTX_TYPE_BF16X2, max_bf16x2},
	{PTX_MOD_MIN, PTX_TYPE_U32, min_u32},	  {PTX_MOD_MIN, PTX_TYPE_S32, min_s32},
	{PTX_MOD_MIN, PTX_TYPE_U64, min_u64},	  {PTX_MOD_MIN, PTX_TYPE_S64, min_s64},
	{PTX_MOD_MAX, PTX_TYPE_U32, max_u32},	  {PTX_MOD_MAX, PTX_TYPE_S32, max_s32},
	{PTX_MOD_MAX, PTX_TYPE_U64, max_u64},	  {PTX_MOD_MAX, PTX_TYPE_S64, max_s64},
	{PTX_MOD_INC, PTX_TYPE_U32, inc_u32},	  {PTX_MOD_DEC, PTX_TYPE_U32, dec_u32},
	{PTX_MOD_AND, PTX_TYPE_B32, and_32},	  {PTX_MOD_AND, PTX_TYPE_B64, and_64},
	{PTX_MOD_OR, PTX_TYPE_B32, or_32},	  {PTX_MOD_OR, PTX_TYPE_B64, or_64},
	{PTX_MOD_XOR, PTX_TYPE_B32, xor_32},	  {PTX_MOD_XOR, PTX_TYPE_B64, xor_64},
	{PTX_MOD_EXCH, PTX_TYPE_B32, exch_32},	  {PTX_MOD_EXCH, PTX_TYPE_B64, exch_64},
	{PTX_MOD_EXCH, PTX_TYPE_B128, exch_128},  {PTX_MOD_CAS, PTX_TYPE_B16, cas_16},
	{PTX_MOD_CAS, PTX_TYPE_B32, cas_32},	  {PTX_MOD_CAS, PTX_TYPE_B64, cas_64},
	{PTX_MOD_CAS, PTX_TYPE_B128, cas_128},	  {PTX_MOD_EXCH, PTX_TYPE_U32, exch_32},
	{PTX_MOD_EXCH, PTX_TYPE_S32, exch_32},	  {PTX_MOD_EXCH, PTX_TYPE_F32, exch_32},
	{PTX_MOD_EXCH, PTX_TYPE_U64, exch_64},	  {PTX_MOD_EXCH, PTX_TYPE_S64, exch_64},
	{PTX_MOD_EXCH, PTX_TYPE_F64, exch_64},	  {PTX_MOD_CAS, PTX_TYPE_U32, cas_32},
	{PTX_MOD_CAS, PTX_TYPE_S32, cas_32},	  {PTX_MOD_CAS, PTX_TYPE_U64, cas_64},
	{PTX_MOD_CAS, PTX_TYPE_S64, cas_64},	  {PTX_MOD_AND, PTX_TYPE_U32, and_32},
	{PTX_MOD_AND, PTX_TYPE_S32, and_32},	  {PTX_MOD_OR, PTX_TYPE_U32, or_32},
	{PTX_MOD_OR, PTX_TYPE_S32, or_32},	  {PTX_MOD_XOR, PTX_TYPE_U32, xor_32},
	{PTX_MOD_XOR, PTX_TYPE_S32, xor_32},
};

static rmw_fn *find_fn(const struct ptx_form *f)
{
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++)
		if (rows[i].type == f->types[0] && ptx_form_has(f, rows[i].op))
			return rows[i].fn;
	return NULL;
}

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
	rmw_fn *fn = f->ntypes ? find_fn(f) : NULL;
	bool is_cas = ptx_form_has(f, PTX_MOD_CAS);
	if (!fn || f->has_unknown_mod || f->vec > MAX_VEC)
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
	a->fn = fn;
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
