/*
 * test_notes.c - what a proven launch keeps of its accesses, compared with a byte map.
 *
 * Warps in random order execute instructions that access an array in loops, side by side, at some
 * distance, or anyhow. A second, plain implementation has a thread for each byte. Both must have
 * the same bytes, the same least thread of each, and what was there before stores. At times there
 * is no memory for notes: what the launch has written until then can be undone all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cpu/events/proven_run.h"

#define SITES	8u
#define ROUNDS	400u
#define LARGEST (1u << 16)
#define NONE	UINT32_MAX

/* A launch of which nothing is there, apart from what notes need. */
struct launch {
	struct cpu_proven_run *r;
	struct cpu_machine *m;
	struct cpu_engine *engine;
	struct cpu_grid *grid;
	struct cpu_cta *cta;
	struct cpu_warp *w;
	uint64_t rng, bytes;
	uint8_t *memory, *before;
	uint32_t *least[SITES]; /* by byte: the plain implementation */
	uint32_t warps;
	bool is_beside;
};

/* Rooms that can still be taken. */
static uint32_t rooms = UINT32_MAX;
/* Launches for whose notes there was none, or none to settle them. */
static uint32_t nshort, nunsettled;

void *__real_proven_room_take(uint64_t bytes, bool is_zero);
void *__wrap_proven_room_take(uint64_t bytes, bool is_zero);

void *__wrap_proven_room_take(uint64_t bytes, bool is_zero)
{
	if (!rooms)
		return NULL;
	rooms -= rooms != UINT32_MAX;
	return __real_proven_room_take(bytes, is_zero);
}

/* What a warp is doing with an instruction: the next access is `step` bytes from this one. */
struct loop {
	uint64_t addr[CPU_WARP], step;
	uint32_t mask, left;
	uint64_t first[CPU_WARP]; /* where it began */
	uint32_t all;
};

static uint32_t below(struct launch *x, uint32_t n)
{
	return base_random_below(&x->rng, n);
}

static void make(struct launch *x, uint64_t seed)
{
	*x = (struct launch){.rng = seed};
	uint32_t blocks = 1 + below(x, 12), per = 1 + below(x, 4), all = blocks * per * CPU_WARP;

	x->warps = blocks * per;
	x->is_beside = below(x, 2);
	/* Large enough that warps have notes, mostly. */
	x->bytes = (below(x, 4) ? 64u * x->warps : 16) + 16 * below(x, LARGEST / 32);
	x->memory = aligned_alloc(16, (x->bytes + 31) / 16 * 16);
	x->before = malloc(x->bytes);
	for (uint64_t i = 0; i < x->bytes; i++)
		x->memory[i] = x->before[i] = (uint8_t)below(x, 256);
	x->m = calloc(1, sizeof(*x->m));
	x->engine = calloc(1, sizeof(*x->engine));
	x->grid = calloc(1, sizeof(*x->grid));
	x->cta = calloc(1, sizeof(*x->cta));
	x->w = calloc(1, sizeof(*x->w));
	x->r = calloc(1, sizeof(*x->r));
	x->m->engine = x->engine;
	x->engine->nworkers = 1;
	x->engine->workers = base_aligned(CPU_LINES, sizeof(*x->engine->workers));
	memset(x->engine->workers, 0, sizeof(*x->engine->workers));
	x->engine->workers->m = x->m;
	x->engine->workers->is_beside = x->is_beside;
	x->w->worker = x->engine->workers;
	x->w->grid = x->grid;
	x->w->cta = x->cta;
	x->grid->proven = x->r;
	x->grid->m = x->m;
	pthread_mutex_init(&x->r->lock, NULL);
	x->r->block_threads = per * CPU_WARP;
	x->r->nthreads = all;
	x->r->ncounts = 1;
	x->r->count = base_aligned(CPU_LINES, sizeof(*x->r->count));
	x->r->count->n = 0;
	x->r->touch = calloc(SITES, sizeof(*x->r->touch));
	x->r->proven.nsites = SITES;
	x->r->proven.nextents = 1;
	x->r->proven.site = calloc(SITES, sizeof(*x->r->proven.site));
	x->r->array[0].base = x->r->array[0].extent.base = (uint64_t)(uintptr_t)x->memory;
	x->r->array[0].extent.bytes = x->bytes;
	for (uint32_t s = 0; s < SITES; s++) {
		x->least[s] = malloc(x->bytes * sizeof(uint32_t));
		memset(x->least[s], 0xff, x->bytes * sizeof(uint32_t));
	}
}

static void drop(struct launch *x)
{
	proven_forget(x->r, NULL);
	pthread_mutex_destroy(&x->r->lock);
	for (uint32_t s = 0; s < SITES; s++)
		free(x->least[s]);
	free(x->r->touch);
	free(x->r->count);
	free(x->r->proven.site);
	free(x->r);
	free(x->engine->workers);
	free(x->engine);
	free(x->m);
	free(x->grid);
	free(x->cta);
	free(x->w);
	free(x->memory);
	free(x->before);
}

static bool is_inside(const struct launch *x, uint64_t addr, uint32_t bytes)
{
	uint64_t at = addr - (uint64_t)(uintptr_t)x->memory;

	return at < x->bytes && bytes <= x->bytes - at;
}

static bool are_inside(const struct launch *x, const struct loop *l, uint32_t bytes)
{
	CPU_EACH_LANE (i, l->mask)
		if (!is_inside(x, l->addr[i], bytes))
			return false;
	return true;
}

static uint32_t random_mask(struct launch *x)
{
	uint32_t first = below(x, CPU_WARP), n = 1 + below(x, CPU_WARP - first);

	switch (below(x, 6)) {
	case 0:
		return (uint32_t)(((1ull << n) - 1) << first);
	case 1:
		return (uint32_t)((1ull << n) - 1);
	case 2:
		return (uint32_t)base_random(&x->rng) | 1u << first;
	default:
		return UINT32_MAX;
	}
}

/* A loop that begins inside of the array. */
static void start(struct launch *x, struct loop *l, uint32_t bytes)
{
	static const int distances[] = {1, 1, 1, 0, 2, 3, -1, 8, 17, -5};
	uint64_t elements = x->bytes / bytes, base = (uint64_t)(uintptr_t)x->memory;
	uint32_t how = below(x, 12), group = 4u << below(x, 3);

	do {
		uint64_t first = base + below(x, (uint32_t)elements) * bytes;
		uint64_t other = base + below(x, (uint32_t)elements) * bytes;
		int64_t apart = distances[how % 10] * (int64_t)bytes;
		l->mask = random_mask(x);
		for (uint32_t i = 0; i < CPU_WARP; i++) {
			l->addr[i] = first + (uint64_t)(apart * (int64_t)i);
			if (how == 10) /* anyhow */
				l->addr[i] = base + below(x, (uint32_t)elements) * bytes;
			if (how == 11) /* groups */
				l->addr[i] =
					first + i % group * bytes + i / group * (other - first);
		}
		how = below(x, 8) ? how : 0;
		if (!how && !below(x, 8))
			l->mask &= 1u << below(x, CPU_WARP) | 1;
	} while (!l->mask || !are_inside(x, l, bytes));
	l->step = bytes * (below(x, 3) ? CPU_WARP : below(x, 70));
	if (!below(x, 4))
		l->step = -l->step;
	l->left = 1 + below(x, below(x, 3) ? 2 : 30);
	memcpy(l->first, l->addr, sizeof(l->first));
	l->all = l->mask;
}

/* The last turn has fewer lanes, often; others have others at times. Some loops begin again. */
static void turn(struct launch *x, struct loop *l)
{
	for (uint32_t i = 0; i < CPU_WARP; i++)
		l->addr[i] += l->step;
	l->left--;
	if (!below(x, 6)) {
		memcpy(l->addr, l->first, sizeof(l->addr));
		l->mask = l->all;
		l->left = 1 + below(x, 6);
		return;
	}
	if ((l->left == 1 && below(x, 2)) || !below(x, 20)) {
		uint32_t kept = l->mask & (uint32_t)((1ull << (1 + below(x, CPU_WARP))) - 1);
		l->mask = kept ? kept : l->mask;
	}
}

static uint32_t bytes_of(uint32_t site)
{
	return 1u << site % 5;
}

static bool is_store(uint32_t site)
{
	return site % 2;
}

/* False: there is no memory for it. Nothing is accessed then. */
static bool note(struct launch *x, uint32_t site, uint32_t warp, const struct loop *l)
{
	uint32_t bytes = bytes_of(site), per = x->r->block_threads;
	struct cpu_acc acc = {.kind = is_store(site) ? CPU_ACC_STORE : CPU_ACC_LOAD,
			      .width = (uint8_t)bytes,
			      .vec = 1};
	const struct proven_lanes lanes = {l->addr, l->mask, bytes,
					   cpu_are_row(l->addr, l->mask, bytes)};
	uint64_t at = l->addr[0] - (uint64_t)(uintptr_t)x->memory;
	bool is_one = true;

	x->w->index = (uint16_t)(warp % (per / CPU_WARP));
	x->cta->actor = warp * CPU_WARP - x->w->index * CPU_WARP;
	for (uint32_t i = 1; i < CPU_WARP; i++)
		is_one &= l->addr[i] == l->addr[0];
	if (l->mask != UINT32_MAX || !(is_one || lanes.is_row) || below(x, 2) ||
	    !proven_note_warp(x->w, site, at, is_one))
		if (!proven_note(x->w, site, site, &acc, &lanes))
			return false;
	CPU_EACH_LANE (i, l->mask) {
		uint64_t to = l->addr[i] - (uint64_t)(uintptr_t)x->memory;
		uint32_t thread = warp * CPU_WARP + i;
		for (uint32_t b = 0; b < bytes; b++) {
			uint32_t *least = &x->least[site][to + b];
			*least = thread < *least ? thread : *least;
			if (is_store(site))
				x->memory[to + b] = (uint8_t)below(x, 256);
		}
	}
	return true;
}

/* ---- comparing ----------------------------------------------------------------------------- */

struct seen {
	const struct launch *x;
	uint32_t site;
	uint64_t end; /* of the last range */
	uint8_t *has;
};

static void see(void *arg, const struct proven_touch *t, uint64_t address, uint64_t bytes)
{
	struct seen *s = arg;
	uint64_t at = address - (uint64_t)(uintptr_t)s->x->memory;

	(void)t;
	assert_true(bytes && at < s->x->bytes && bytes <= s->x->bytes - at);
	/* One after the other, and none beside the next. */
	assert_true(!s->end || at > s->end);
	s->end = at + bytes;
	memset(&s->has[at], 1, bytes);
}

static void compare(struct launch *x, uint32_t site)
{
	const struct proven_array *a = &x->r->array[0];
	struct proven_touch *t = &x->r->touch[site];
	struct seen s = {x, site, 0, calloc(1, x->bytes)};

	proven_each(t, a, see, &s);
	for (uint64_t i = 0; i < x->bytes; i++) {
		uint32_t least = x->least[site][i];
		assert_int_equal(s.has[i], least != NONE);
		if (!t->is_made)
			continue;
		assert_int_equal(proven_has(a, t, i), least != NONE);
		if (least != NONE) {
			assert_int_equal(proven_least(t, proven_element(a, t, i)), least);
			assert_true(!t->is_write || !a->kept || a->old[i] == x->before[i]);
		}
	}
	free(s.has);
}

/* ---- without memory ------------------------------------------------------------------------ */

static void restore(void *arg, const struct proven_touch *t, uint64_t address, uint64_t bytes)
{
	const struct proven_array *a = arg;

	(void)t;
	memcpy((void *)(uintptr_t)address, a->old + (address - a->base), bytes);
}

static void mark(void *arg, const struct proven_touch *t, uint64_t address, uint64_t bytes)
{
	struct seen *s = arg;
	uint64_t at = address - (uint64_t)(uintptr_t)s->x->memory;

	(void)t;
	assert_true(bytes && at < s->x->bytes && bytes <= s->x->bytes - at);
	memset(&s->has[at], 1, bytes);
}

/* All that was accessed is in one kind of notes or the other. is_short: so may be a part of the
 * access for which there was no memory. */
static void compare_unsettled(struct launch *x, uint32_t site, bool is_short)
{
	const struct proven_array *a = &x->r->array[0];
	struct proven_touch *t = &x->r->touch[site];
	struct seen s = {x, site, 0, calloc(1, x->bytes)};

	proven_each(t, a, mark, &s);
	proven_each_way(x->r, t, a, mark, &s);
	for (uint64_t i = 0; i < x->bytes; i++)
		assert_true(s.has[i] == (x->least[site][i] != NONE) || (s.has[i] && is_short));
	free(s.has);
}

/* The launch is taken back. */
static void undo(struct launch *x)
{
	struct proven_array *a = &x->r->array[0];

	for (uint32_t site = 0; site < SITES; site++) {
		struct proven_touch *t = &x->r->touch[site];
		if (!t->is_write || !a->old)
			continue;
		proven_each(t, a, restore, a);
		proven_each_way(x->r, t, a, restore, a);
	}
	assert_memory_equal(x->memory, x->before, x->bytes);
}

/* has_all: there is memory for all notes. */
static void one(uint64_t seed, bool has_all)
{
	struct launch x;
	struct loop *loops;
	uint64_t n = 0;

	bool is_short = false;

	make(&x, seed);
	loops = calloc((size_t)x.warps * SITES, sizeof(*loops));
	rooms = has_all ? UINT32_MAX : below(&x, 60);
	for (uint32_t i = 0; i < x.warps * 40u && !is_short; i++) {
		uint32_t warp = below(&x, x.warps), site = below(&x, SITES);
		struct loop *l = &loops[warp * SITES + site];
		for (uint32_t k = 1 + below(&x, 12); k > 0; k--) {
			if (!l->left)
				start(&x, l, bytes_of(site));
			if (are_inside(&x, l, bytes_of(site))) {
				is_short = !note(&x, site, warp, l);
				n += !is_short;
			}
			if (is_short)
				break;
			turn(&x, l);
		}
	}
	assert_true(!has_all || !is_short);
	assert_true(is_short || x.r->count->n == n);
	if (!has_all) {
		rooms = below(&x, 2);
		bool is_settled = proven_settle(x.r);
		nunsettled += !is_settled;
		nshort += is_short;
		for (uint32_t site = 0; site < SITES; site++)
			compare_unsettled(&x, site, is_short);
		undo(&x);
		rooms = UINT32_MAX;
		free(loops);
		drop(&x);
		return;
	}
	if (below(&x, 2))
		proven_drop_old(x.r);
	/* Often nothing asks. The next launch has the memory then, as it is left. */
	bool is_asked = below(&x, 4);
	if (is_asked)
		proven_settle(x.r);
	for (uint32_t site = 0; site < SITES && is_asked; site++)
		compare(&x, site);
	free(loops);
	drop(&x);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		one(seed, true);
}

static void test_no_memory(void **state)
{
	(void)state;
	nshort = nunsettled = 0;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		one(seed, false);
	assert_true(nshort > ROUNDS / 10 && nshort < ROUNDS - ROUNDS / 10);
	assert_true(nunsettled > ROUNDS / 10);
}

/* A room is given to the next launch as it was: zero. */
static void test_room_is_zero(void **state)
{
	(void)state;
	for (uint64_t bytes = 8; bytes < 1 << 16; bytes *= 2) {
		uint8_t *p = proven_room_take(bytes, true);
		for (uint64_t i = 0; i < bytes; i++)
			assert_int_equal(p[i], 0);
		proven_room_give(p, bytes, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_room_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
