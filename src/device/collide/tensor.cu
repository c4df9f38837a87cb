/*
 * tensor.cu - what runs ahead of a tensor copy (cp.async.bulk.tensor): __collider_tensor.
 *
 * The thread that issues the copy looks its tensor map up in the table of maps (race/file/box.h),
 * and then does what src/instrument/collide/bulk.c does for plain bulk copies, over a window of the
 * box's words of 16 bytes: copy, delay, compare both sides, make the destination dirty, fence. Here
 * the words of the global side lie in rows, a stride apart, those of the shared side in the order
 * of the swizzle. Copies by an unknown map, of a box that exceeds the tensor's edge, or with rows
 * that don't begin at multiples of 16 bytes are counted and not checked.
 *
 * Compiled and pasted as report.cu is, into modules that have such copies only. All accesses are
 * .relaxed except those of the map and of the table, which are not written meanwhile.
 * Costs: the look-up reads host memory (keys, then map and box: three trips over the bus, some
 * 4 us), each word about as much as in bulk.c. No loop is unrolled beyond FLIGHT words.
 */
#include "race/file/box.h"

#include "device/gpu_ops.h"

#define DEV_FN static __device__ __forceinline__
#define FLIGHT 2 /* words of each side in flight: 4 would take 96 registers instead of 71 */
#define WORD   16u

struct word {
	uint64_t a, b;
};

/* A place in the box: bytes into its row, the row's address, the row's index by dimension. */
struct place {
	uint64_t row;
	uint32_t col;
	uint32_t at[4];
};

struct copy {
	struct place from; /* where the window begins */
	uint64_t strides[4];
	uint32_t count[4];
	uint32_t inner; /* bytes of a row */
	uint32_t words; /* of the window */
	uint32_t first; /* the window's first word in the box */
	uint32_t shared;
	uint32_t mask;	 /* of the swizzle: chunks that it permutes, minus one */
	uint64_t window; /* generic address of shared address 0 */
	bool is_store;
};

#define KNOB32(v, at) asm volatile("ld.const.u32 %0, [__collider_knobs+" #at "];" : "=r"(v))

RACE_STATIC_ASSERT(offsetof(struct race_knobs, rsleep) == 8, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, flags) == 24, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, dense) == 28, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, window) == 52, "read below");

/* Both sides by generic addresses: one code for both directions. */
DEV_FN struct word load(uint64_t at)
{
	struct word w;

	asm volatile("ld.relaxed.sys.v2.b64 {%0, %1}, [%2];" : "=l"(w.a), "=l"(w.b) : "l"(at));
	return w;
}

DEV_FN void store(uint64_t at, struct word w)
{
	asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};" ::"l"(at), "l"(w.a), "l"(w.b));
}

/* The difference between a generic address and its shared address. */
DEV_FN uint64_t shared_window(uint32_t shared)
{
	uint64_t generic;

	asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(generic) : "l"((uint64_t)shared));
	return generic - shared;
}

/* ---- the map --------------------------------------------------------------------- */

/* The map's entry in the table, or NULL. */
DEV_FN const struct race_map *find_map(const uint64_t *map, const struct race_maps *maps)
{
	uint64_t h = 0;

#pragma unroll 4
	for (uint32_t i = 0; i < RACE_MAP_WORDS; i++)
		h = race_map_mix(h, map[i]);
	h = race_map_key(h);
#pragma unroll 1
	for (uint32_t i = 0; i < RACE_MAP_PROBES; i++) {
		uint32_t at = ((uint32_t)h + i) % RACE_MAPS;
		uint64_t key = maps->keys[at], differ = 0;

		if (key == 0)
			return NULL;
		if (key != h)
			continue;
#pragma unroll 4
		for (uint32_t k = 0; k < RACE_MAP_WORDS; k++)
			differ |= maps->maps[at].words[k] ^ map[k];
		if (!differ)
			return &maps->maps[at];
	}
	return NULL;
}

/* The whole box as a window; false: it is clipped, or not in words. */
DEV_FN bool take_box(struct copy *x, const struct race_box *b, const int32_t *at, uint32_t shared)
{
	uint64_t row = b->address;
	uint32_t elem = b->elem;
	bool is_inside = true;

	x->words = 1;
#pragma unroll
	for (int i = 0; i < 5; i++) {
		uint32_t n = b->count[i];
		is_inside = is_inside && at[i] >= 0 && (uint64_t)at[i] + n <= b->dims[i];
		if (i == 0) {
			row += (uint64_t)(uint32_t)at[0] * elem;
			x->inner = n * elem;
		} else {
			x->strides[i - 1] = b->strides[i - 1];
			row += (uint64_t)(uint32_t)at[i] * x->strides[i - 1];
			x->count[i - 1] = n;
			x->words *= n;
		}
	}
	x->words *= x->inner / WORD;
	x->mask = (1u << b->swizzle) - 1;
	x->shared = shared;
	x->first = 0;
	x->from.row = row;
	x->from.col = 0;
	/* The swizzle's pattern repeats after 8 rows; elsewhere it would not be known. */
	return is_inside && row % WORD == 0 && shared % (128u * (x->mask + 1)) == 0;
}

/* ---- the window ------------------------------------------------------------------ */

DEV_FN void next_row(struct place *p, const struct copy *x)
{
	p->col = 0;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		p->row += x->strides[i];
		if (++p->at[i] < x->count[i])
			return;
		p->row -= x->strides[i] * x->count[i];
		p->at[i] = 0;
	}
}

/* A random window of at most `most` words. */
DEV_FN void take_window(struct copy *x, uint32_t most, uint32_t draw)
{
	uint32_t n = x->words < most ? x->words : most;
	uint32_t first = __umulhi(draw, x->words - n + 1), in_row = x->inner / WORD;
	uint32_t row = first / in_row;

	x->from.col = first % in_row * WORD;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		x->from.at[i] = row % x->count[i];
		row /= x->count[i];
		x->from.row += x->from.at[i] * x->strides[i];
	}
	x->first = first;
	x->words = n;
}

/* Up to FLIGHT words that lie side by side in a row, from word i of the window. */
struct turn {
	uint32_t n;
	uint64_t from[FLIGHT], to[FLIGHT]; /* generic addresses */
};

DEV_FN void next_turn(struct turn *t, struct place *p, const struct copy *x, uint32_t i)
{
	uint64_t global = p->row + p->col;
	uint32_t in_row = (x->inner - p->col) / WORD, left = x->words - i;

	t->n = in_row < left ? in_row : left;
	t->n = t->n < FLIGHT ? t->n : FLIGHT;
#pragma unroll
	for (uint32_t k = 0; k < FLIGHT; k++) {
		uint32_t at = x->shared + (x->first + i + k) * WORD;
		uint64_t shared = x->window + (at ^ (at >> 7 & x->mask) << 4);
		t->from[k] = x->is_store ? shared : global + k * WORD;
		t->to[k] = x->is_store ? global + k * WORD : shared;
	}
	p->col += t->n * WORD;
	if (p->col == x->inner)
		next_row(p, x);
}

DEV_FN uint32_t fold(uint32_t sum, struct word w)
{
	uint64_t v = w.a + w.b; /* xor would cancel equal words */

	return (sum * 16777619u + (uint32_t)v) * 16777619u + (uint32_t)(v >> 32);
}

/* Copies the window. Returns the source's sum. */
DEV_FN uint32_t emulate(const struct copy *x)
{
	struct place p = x->from;
	struct turn t;
	uint32_t sum = 0;

#pragma unroll 1
	for (uint32_t i = 0; i < x->words; i += t.n) {
		struct word w[FLIGHT];

		next_turn(&t, &p, x, i);
#pragma unroll
		for (uint32_t k = 0; k < FLIGHT; k++)
			if (k < t.n)
				w[k] = load(t.from[k]);
#pragma unroll
		for (uint32_t k = 0; k < FLIGHT; k++)
			if (k < t.n) {
				sum = fold(sum, w[k]);
				store(t.to[k], w[k]);
			}
	}
	return sum;
}

/* The first 8 bytes that differ; at 0: there are none. */
struct found {
	uint64_t source, destination; /* or: a source now, and before */
	uint64_t at_source, at_destination;
};

DEV_FN void differ(struct found *f, struct word w, struct word v, uint64_t from, uint64_t to)
{
	bool is_low = w.a != v.a;

	if (f->at_source || (!is_low && w.b == v.b))
		return;
	f->source = is_low ? w.a : w.b;
	f->destination = is_low ? v.a : v.b;
	f->at_source = from + (is_low ? 0 : 8);
	f->at_destination = to + (is_low ? 0 : 8);
}

/* Compares the window and makes the destination dirty. Returns the source's sum. */
DEV_FN uint32_t compare(const struct copy *x, struct found *f)
{
	struct place p = x->from;
	struct turn t;
	uint32_t sum = 0;

#pragma unroll 1
	for (uint32_t i = 0; i < x->words; i += t.n) {
		struct word w[FLIGHT], v[FLIGHT];

		next_turn(&t, &p, x, i);
#pragma unroll
		for (uint32_t k = 0; k < FLIGHT; k++)
			if (k < t.n) {
				w[k] = load(t.from[k]);
				v[k] = load(t.to[k]);
			}
#pragma unroll
		for (uint32_t k = 0; k < FLIGHT; k++) {
			if (k >= t.n)
				continue;
			sum = fold(sum, w[k]);
			differ(f, w[k], v[k], t.from[k], t.to[k]);
			w[k].a ^= 0x0badbeef0badbeefull;
			w[k].b ^= 0x0badbeef0badbeefull;
			store(t.to[k], w[k]);
		}
	}
	return sum;
}

/* ---- delay, report ----------------------------------------------------------------- */

DEV_FN uint32_t clock_now(void)
{
	uint32_t clock;

	asm volatile("mov.u32 %0, %%clock;" : "=r"(clock));
	return clock;
}

/* As template random of collide.ptxt. */
DEV_FN uint32_t random_now(uint32_t salt)
{
	return (clock_now() * RACE_MIX + salt) * RACE_MIX_WINDOW;
}

/* As template delay of collide.ptxt. */
DEV_FN void delay(uint32_t salt, uint32_t state)
{
	uint32_t rsleep, dense, flags, clock = clock_now(), count = state >> RACE_STATE_COUNT_AT;
	uint32_t spared = state >> (RACE_STATE_CLASS_AT + RACE_SPARE_AT) & 3u;
	uint32_t is_closed = state >> (RACE_STATE_CLASS_AT + RACE_CLOSED_AT) & 1u;

	KNOB32(rsleep, 8);
	KNOB32(flags, 24);
	KNOB32(dense, 28);
	if ((count < dense && count * RACE_MIX + salt <= 0xffffffffu >> spared) ||
	    (!is_closed && (clock >> RACE_DELAY_WINDOW) * RACE_MIX_WINDOW + salt < RACE_DELAY_OPEN))
		dev_nap(__umulhi(random_now(salt), rsleep), flags);
}

/* The half of the 8 bytes that differs. If the source has changed, the destination holds its old
 * value. */
DEV_FN void report(struct race_tensor *r, const struct found *f, const struct copy *x,
		   bool is_source)
{
	uint64_t was = is_source ? f->destination : f->source;
	uint64_t now = is_source ? f->source : f->destination;
	uint64_t at = is_source ? f->at_source : f->at_destination;

	if (is_source == x->is_store)
		at -= x->window;
	if ((uint32_t)was == (uint32_t)now) {
		was >>= 32;
		now >>= 32;
		at += 4;
	}
	r->head |= RACE_TENSOR_FOUND | (is_source ? RACE_TENSOR_IN_SOURCE : 0);
	r->address = at;
	r->was = (uint32_t)was;
	r->now = (uint32_t)now;
}

/* FNV-1a of the source's window, by words of 8 bytes, folded: one word that changes, changes it. */
DEV_FN uint32_t sum_source(const struct copy *x)
{
	struct place p = x->from;
	struct turn t;
	uint64_t h = 0xcbf29ce484222325ull;

#pragma unroll 1
	for (uint32_t i = 0; i < x->words; i += t.n) {
		struct word w[FLIGHT];

		next_turn(&t, &p, x, i);
#pragma unroll
		for (uint32_t k = 0; k < FLIGHT; k++)
			if (k < t.n)
				w[k] = load(t.from[k]);
#pragma unroll
		for (uint32_t k = 0; k < FLIGHT; k++)
			if (k < t.n) {
				h = (h ^ w[k].a) * 0x100000001b3ull;
				h = (h ^ w[k].b) * 0x100000001b3ull;
			}
	}
	return (uint32_t)(h ^ h >> 32);
}

/* A source that is only read: its sums, before and after. */
DEV_FN void sum_twice(struct race_tensor *r, const struct copy *x, uint32_t salt, uint32_t state)
{
	uint32_t was, now = 0;

#pragma unroll 1 /* one copy of the code */
	for (uint32_t i = 0; i < 2; i++) {
		was = now;
		now = sum_source(x);
		if (i == 0)
			delay(salt, state);
	}
	r->head = 1;
	if (was == now)
		return;
	r->head |= RACE_TENSOR_FOUND | RACE_TENSOR_IN_SOURCE;
	r->address = x->from.row + x->from.col;
	if (x->is_store) /* the first word's place: the swizzle may have moved it */
		r->address = x->shared + x->first * WORD;
	r->was = (uint64_t)x->words * WORD << 32 | was;
	r->now = (uint64_t)x->words * WORD << 32 | now;
}

DEV_FN struct race_rt *runtime(void)
{
	uint64_t rt;

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, rt) == 0, "read below");
	asm volatile("ld.const.u64 %0, [__collider_knobs];" : "=l"(rt));
	return (struct race_rt *)rt;
}

/*
 * `map`: generic address of the tensor map; `shared`: address of the box in the cluster's shared
 * memory; c0 to c4: its coordinates, 0 above the rank; `flags`: RACE_TENSOR_*; `salt`, `state`: the
 * caller's. Calls nothing and ends in one place, so that it can be spliced into its caller.
 */
extern "C" __device__ __noinline__ __attribute__((weak)) struct race_tensor
__collider_tensor(uint64_t map, uint32_t shared, int32_t c0, int32_t c1, int32_t c2, int32_t c3,
		  int32_t c4, uint32_t flags, uint32_t salt, uint32_t state)
{
	const int32_t at[5] = {c0, c1, c2, c3, c4};
	bool is_source = true;
	struct race_tensor r = {0};
	struct race_rt *rt = runtime();
	struct found f = {0};
	struct copy x;
	uint32_t most;

	if (!rt || !rt->maps)
		return r;
	const struct race_map *m =
		find_map((const uint64_t *)map, (const struct race_maps *)rt->maps);
	if (!m || m->box.rank != RACE_TENSOR_RANK(flags) || !take_box(&x, &m->box, at, shared)) {
		asm volatile("red.relaxed.gpu.global.add.u64 [%0], 1;" ::"l"(&rt->unboxed));
		return r;
	}
	x.is_store = flags & RACE_TENSOR_STORE;
	x.window = shared_window(shared);
	KNOB32(most, 52);
	take_window(&x, most / WORD, random_now(salt));
	if (flags & RACE_TENSOR_SOURCE) {
		sum_twice(&r, &x, salt, state);
	} else {
		uint32_t sum = emulate(&x);
		delay(salt, state);
		is_source = compare(&x, &f) != sum;
		/* Its guard, always true, marks it as ours. */
		asm volatile("{\n\t.reg .pred p;\n\t"
			     "setp.ne.u32 p, %0, 0;\n\t"
			     "@p fence.proxy.async;\n\t}" ::"r"(x.inner)
			     : "memory");
		r.head = 2;
		if (f.at_source)
			report(&r, &f, &x, is_source);
	}
	return r;
}
