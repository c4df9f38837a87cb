/*
 * expect.c - what a race-free program computes, statement by statement.
 */
#include "generate.h"

#include <string.h>

struct state {
	const struct gen_launch *l;
	unsigned char *mem; /* of the launch's region */
	const struct gen_program *k;
	unsigned char *common;
	unsigned char shared[GEN_THREADS][16]; /* of each thread of the grid */
	uint64_t acc[GEN_THREADS];
};

static void put(unsigned char *to, const struct gen_stmt *s, uint64_t acc)
{
	for (unsigned i = 0; i < s->vec; i++) {
		uint64_t v = acc + 7 * i;
		memcpy(to + s->offset + i * s->width, &v, s->width);
	}
}

static void take(const unsigned char *from, const struct gen_stmt *s, uint64_t *acc)
{
	for (unsigned i = 0; i < s->vec; i++) {
		uint64_t v = 0;
		memcpy(&v, from + s->offset + i * s->width, s->width);
		uint64_t sign = 1ull << (8 * s->width - 1);
		if (s->type == 's')
			v = (v ^ sign) - sign;
		*acc = *acc * 31 + v;
	}
}

static void add(unsigned char *to, uint64_t v, size_t bytes)
{
	uint64_t sum = 0;

	memcpy(&sum, to, bytes);
	sum += v;
	memcpy(to, &sum, bytes);
}

static uint64_t combine(unsigned form, uint64_t old, uint64_t v)
{
	switch (form) {
	case 2:
		return old > v ? old : v;
	case 3:
		return old < v ? old : v;
	case 4:
		return old | v;
	case 5:
		return old ^ v;
	case 6:
		return old & v;
	default:
		return old + v;
	}
}

static void count(unsigned char *to, const struct gen_stmt *s, uint64_t v)
{
	size_t bytes = s->width == 4 ? 4 : 8;
	uint64_t old = 0;

	memcpy(&old, to, bytes);
	v = combine(s->form, old, bytes == 4 ? (uint32_t)v : v);
	memcpy(to, &v, bytes);
}

static void copy(struct state *x, const struct gen_stmt *s, unsigned t)
{
	unsigned bytes = s->broken || s->form % 3 == 0 ? 16 : s->form % 3 == 1 ? 8 : 4;
	unsigned offset = s->distance * bytes % 16;
	unsigned read = s->guard & 2 && !s->broken ? bytes / 2 : bytes;

	memset(x->shared[t] + offset, 0, bytes);
	memcpy(x->shared[t] + offset, x->mem + GEN_OWN + 16 * (size_t)t + offset, read);
}

/* What a thread does to its own memory and to counters, or before the others read. */
static void first_half(struct state *x, const struct gen_stmt *s, unsigned i, unsigned t)
{
	unsigned char *own = x->mem + GEN_OWN + 16 * (size_t)t;
	unsigned char *slot = s->is_shared ? x->shared[t] : own;
	unsigned char *spread = x->mem + GEN_SPREAD + GEN_STRIDE * (size_t)i;
	size_t block = t / x->l->threads, lane = t % x->l->threads;
	struct gen_stmt packed = *s;

	packed.offset = 0;
	switch (s->kind) {
	case GEN_STORE:
		if (!(lane & s->guard))
			put(slot, s, x->acc[t]);
		break;
	case GEN_LOAD:
		for (size_t n = 0; n <= (lane & s->trips) && !(lane & s->guard); n++)
			take(slot, s, &x->acc[t]);
		break;
	case GEN_PACKED:
		put(spread + t * (size_t)(s->width * s->vec), &packed, x->acc[t]);
		take(spread + t * (size_t)(s->width * s->vec), &packed, &x->acc[t]);
		break;
	case GEN_READ_ONLY:
		take(own + GEN_CONST, s, &x->acc[t]);
		break;
	case GEN_EXCHANGE:
	case GEN_WARP:
		put(slot, s, x->acc[t]);
		break;
	case GEN_CLUSTER:
		put(x->shared[t], s, x->acc[t]);
		break;
	case GEN_SPLIT:
		if (lane < 32 && x->l->threads >= 64)
			put(slot, s, x->acc[t]);
		break;
	case GEN_ATOMIC:
		if (!s->is_shared || s->scope)
			count(spread + (s->scope ? 0 : 64 * block), s, x->acc[t]);
		break;
	case GEN_COMMON:
		add(x->common + 8 * gen_counter(x->k, i), x->acc[t], 8);
		break;
	case GEN_LAST:
		add(x->mem + GEN_COUNT + 64 * (size_t)i + 8, x->acc[t], 8);
		memcpy(spread + 8 * (size_t)t, &x->acc[t], 8);
		break;
	case GEN_GRID:
		memcpy(spread + 8 * (size_t)t, &x->acc[t], 8);
		break;
	case GEN_LOCK:
		if (lane % 8 == 0 && (!s->is_shared || s->scope))
			add(spread + 16 + (s->scope ? 0 : 64 * block), x->acc[t],
			    s->width == 8 ? 8 : 4);
		break;
	case GEN_COPY:
		copy(x, s, t);
		break;
	case GEN_BULK:
		if (s->form & 1)
			take(x->shared[t], s, &x->acc[t]);
		else
			put(x->shared[t], s, x->acc[t]);
		memcpy(x->shared[t], own + GEN_CONST, 16);
		break;
	default:
		break;
	}
}

/* Each block hears from the next. The payload is at +16, flags are at +0 and +4; on its way it may
 * pass a third thread. */
static void message(struct state *x, const struct gen_stmt *s, unsigned i, size_t from)
{
	unsigned blocks = x->l->blocks, threads = x->l->threads;
	size_t to = s->scope ? (from + blocks - 1) % blocks : from;
	unsigned char bytes[32];
	struct gen_stmt m = *s;

	m.offset = 16;
	put(bytes, &m, x->acc[from * threads]);
	take(bytes, &m, &x->acc[to * threads + threads - 1]);
	if (s->is_shared && !s->scope)
		return;
	unsigned char *object = x->mem + GEN_SPREAD + GEN_STRIDE * (size_t)i + 64 * from;
	memcpy(object + 16, bytes + 16, s->width * s->vec);
	add(object, 1, 4);
	if (s->distance % 2)
		add(object + 4, 1, 4);
}

static void once(struct state *x, const struct gen_stmt *s, unsigned i)
{
	unsigned char *spread = x->mem + GEN_SPREAD + GEN_STRIDE * (size_t)i;
	unsigned blocks = x->l->blocks;

	if (s->kind == GEN_LAST || s->kind == GEN_GRID)
		add(x->mem + GEN_COUNT + 64 * (size_t)i, blocks, 4);
	for (size_t b = 0; b < blocks && s->kind == GEN_MESSAGE; b++)
		message(x, s, i, b);
	if (s->kind == GEN_DEKKER)
		spread[0] = spread[64] = 1;
	/* Tickets: given and served. */
	unsigned per_block = x->l->threads / 8;
	if (s->kind != GEN_LOCK || s->distance % 2 == 0 || (s->is_shared && !s->scope))
		return;
	for (size_t b = 0; b < (s->scope ? 1 : blocks); b++) {
		add(spread + 64 * b, s->scope ? blocks * per_block : per_block, 4);
		add(spread + 64 * b + 4, s->scope ? blocks * per_block : per_block, 4);
	}
}

static void second_half(struct state *x, const struct gen_stmt *s, unsigned i, unsigned t)
{
	unsigned threads = x->l->threads, n = x->l->blocks * threads;
	unsigned first = t - t % threads, lane = t % threads, other;
	bool is_shared = s->is_shared || s->kind == GEN_COPY || s->kind == GEN_CLUSTER ||
			 s->kind == GEN_BULK;

	switch (s->kind) {
	case GEN_EXCHANGE:
		other = (lane + s->distance) % threads;
		break;
	case GEN_WARP:
		other = lane ^ (s->form % 2 ? s->distance : s->distance & ~1u);
		break;
	case GEN_CLUSTER:
		other = (lane + s->distance) % threads;
		first = x->l->cluster ? (first + threads) % n : first;
		break;
	case GEN_SPLIT:
		if (threads < 64 || lane < 32 || lane >= 64)
			return;
		other = lane - 32;
		break;
	case GEN_COPY:
	case GEN_BULK:
		other = s->guard & 1 ? (lane + s->distance) % threads : lane;
		break;
	case GEN_GRID:
		other = (t + s->distance) % n;
		uint64_t v;
		memcpy(&v, x->mem + GEN_SPREAD + GEN_STRIDE * (size_t)i + 8 * (size_t)other, 8);
		x->acc[t] = x->acc[t] * 31 + v;
		return;
	default:
		return;
	}
	take(is_shared ? x->shared[first + other] : x->mem + GEN_OWN + 16 * (size_t)(first + other),
	     s, &x->acc[t]);
}

static void launch(struct state *x, const struct gen_program *k, unsigned number)
{
	unsigned n = x->l->blocks * x->l->threads;

	memset(x->shared, 0, sizeof(x->shared));
	for (unsigned t = 0; t < n; t++)
		x->acc[t] = (uint64_t)t * 40503 + number + 1;
	for (unsigned i = 0; i < k->n; i++) {
		const struct gen_stmt *s = &k->stmt[i];
		if (s->is_removed || s->launch != number)
			continue;
		for (unsigned t = 0; t < n; t++)
			first_half(x, s, i, t);
		once(x, s, i);
		for (unsigned t = 0; t < n; t++)
			second_half(x, s, i, t);
	}
	memcpy(x->mem + GEN_OUT, x->acc, 8 * (size_t)n);
	if (x->l->after == GEN_AFTER_NONE)
		return;
	memcpy(x->mem + GEN_SPARE, x->mem + GEN_OUT, 8 * (size_t)n);
	if (x->l->after == GEN_AFTER_FILL)
		memset(x->mem + GEN_OUT, 7, 4 * (size_t)n);
}

void gen_expect(const struct gen_program *k, const struct program *p, unsigned char *mem)
{
	static struct state x;

	for (unsigned i = 0; i < k->nlaunches; i++) {
		x.k = k;
		x.l = &k->launch[i];
		x.mem = mem + (size_t)x.l->region * p->bytes;
		x.common = mem + (size_t)p->regions * p->bytes;
		if (!x.l->is_removed)
			launch(&x, k, i);
	}
}
