/*
 * test_model.c - the memory models against plain memory, on random race-free programs.
 *
 * 16 threads of two blocks pass the ownership of groups of words around; words of different groups
 * share sectors. Who gives a group away releases, who takes it acquires, at a scope that holds
 * both; between that the owner loads and stores as it likes, with all widths, weakly, strongly, by
 * atomics and past the caches, while pending writes drain at random. Every load must give what
 * plain memory has. With one scope too narrow, or without the release or the acquire, some load
 * must not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cpu/memory/model.h"

#define BLOCKS	2
#define WARPS	2
#define LANES	4 /* of each warp that are used */
#define THREADS (BLOCKS * WARPS * LANES)
#define GROUPS	8
#define BYTES	1024 /* word i of 8 bytes belongs to group i % GROUPS */

enum flaw { NONE, NARROW, NO_RELEASE, NO_ACQUIRE, NO_SYNC };

struct world {
	struct cpu_machine m;
	struct cpu_grid grid;
	struct cpu_worker worker;
	struct cpu_cta ctas[BLOCKS];
	struct cpu_warp warps[BLOCKS][WARPS];
	_Alignas(64) uint8_t mem[BYTES]; /* what the models see */
	_Alignas(64) uint8_t plain[BYTES];
	uint32_t owner[GROUPS];
	unsigned wrong;
};

static uint32_t pick(struct world *x, uint32_t n)
{
	return cpu_random_below(&x->worker, n);
}

static struct cpu_warp *warp_of(struct world *x, uint32_t thread)
{
	return &x->warps[thread / (WARPS * LANES)][thread / LANES % WARPS];
}

static void start(struct world *x, enum cpu_model model, uint64_t seed, bool is_shared)
{
	memset(x, 0, sizeof(*x));
	x->m.opt.seed = seed;
	x->m.opt.model = model;
	x->worker.m = &x->m;
	x->worker.rng = seed;
	x->grid = (struct cpu_grid){.m = &x->m, .nwarps = WARPS, .grid = {BLOCKS, 1, 1}};
	for (uint32_t b = 0; b < BLOCKS; b++) {
		struct cpu_cta *c = &x->ctas[b];
		c->grid = &x->grid;
		c->linear = b;
		c->warps = x->warps[b];
		c->nwarps = WARPS;
		c->shared = is_shared ? x->mem : NULL;
		c->shared_bytes = is_shared ? BYTES : 0;
		cpu_model_cta_init(c);
		for (uint32_t w = 0; w < WARPS; w++)
			x->warps[b][w] = (struct cpu_warp){.cta = c,
							   .grid = &x->grid,
							   .worker = &x->worker,
							   .index = w,
							   .lanes = LANES};
	}
}

/* One access of a group's owner. */
static void touch(struct world *x, uint32_t group, enum cpu_place place)
{
	static const enum ptx_scope scopes[] = {PTX_SCOPE_CTA, PTX_SCOPE_CLUSTER, PTX_SCOPE_GPU,
						PTX_SCOPE_SYS};
	uint32_t thread = x->owner[group], bytes = 1u << pick(x, 4), lane = thread % LANES;
	uint32_t at =
		(pick(x, BYTES / 8 / GROUPS) * GROUPS + group) * 8 + pick(x, 8 / bytes) * bytes;
	struct cpu_warp *w = warp_of(x, thread);
	struct cpu_acc acc = {.sem = pick(x, 3) ? PTX_SEM_WEAK : PTX_SEM_RELAXED,
			      .scope = (uint8_t)scopes[pick(x, 4)]};
	struct cpu_inst in = {.flags = pick(x, 8) ? 0 : CPU_I_INSERTED};
	uint64_t v = cpu_random(&x->worker), got = 0, want = 0;
	uint8_t *p = x->mem + at;
	struct cpu_elem e = {.lane = lane, .place = place, .bytes = bytes, .host = p};

	memcpy(&want, x->plain + at, bytes);
	if (in.flags)
		acc.sem = PTX_SEM_RELAXED, acc.scope = PTX_SCOPE_SYS;
	switch (in.flags ? 0 : pick(x, 8)) {
	case 0:
	case 1:
	case 2:
		cpu_model_load(w, &in, &acc, &e, &got);
		break;
	case 3:
	case 4:
	case 5:
		cpu_model_store(w, &in, &acc, &e, &v);
		memcpy(x->plain + at, &v, bytes);
		return;
	case 6:
		p = cpu_model_atomic(w, lane, (enum ptx_scope)acc.scope, place, p, bytes);
		memcpy(&got, p, bytes);
		if (!pick(x, 3)) /* a compare-and-swap that fails */
			break;
		memcpy(p, &v, bytes);
		cpu_model_atomic_wrote(w, p, x->mem + at, bytes);
		memcpy(x->plain + at, &v, bytes);
		break;
	default:
		cpu_model_bypass(w, lane, p, bytes);
		if (place == CPU_PLACE_GLOBAL)
			cpu_model_bypass_cta(w->cta, p, bytes);
		memcpy(&got, p, bytes);
		memcpy(p, &v, bytes);
		memcpy(x->plain + at, &v, bytes);
		break;
	}
	x->wrong += got != want;
}

/* The group changes hands. */
static void pass(struct world *x, uint32_t group, bool is_shared, enum flaw flaw)
{
	uint32_t from = x->owner[group], to = pick(x, THREADS);

	if (is_shared) /* shared memory stays in the block: all of it is block 0's here */
		to %= WARPS * LANES;
	struct cpu_warp *a = warp_of(x, from), *b = warp_of(x, to);
	bool is_near = a->cta == b->cta;
	enum ptx_scope scope =
		is_near && pick(x, 2) ? PTX_SCOPE_CTA : PTX_SCOPE_CLUSTER + pick(x, 3);
	if (flaw == NARROW)
		scope = PTX_SCOPE_CTA;
	if (flaw != NO_RELEASE && flaw != NO_SYNC)
		cpu_release(a, 1u << from % LANES, scope);
	for (uint32_t i = pick(x, 4); i-- > 0;)
		cpu_model_tick(warp_of(x, pick(x, THREADS)));
	if (flaw != NO_ACQUIRE && flaw != NO_SYNC)
		cpu_acquire(b, 1u << to % LANES, scope);
	x->owner[group] = to;
}

/* Returns the loads that gave something else than plain memory. */
static unsigned run(enum cpu_model model, uint64_t seed, bool is_shared, enum flaw flaw)
{
	static struct world world;
	struct world *x = &world;
	enum cpu_place place = is_shared ? CPU_PLACE_SHARED : CPU_PLACE_GLOBAL;

	start(x, model, seed, is_shared);
	for (uint32_t i = 0; i < 4000; i++) {
		uint32_t group = pick(x, GROUPS);
		if (pick(x, 8))
			touch(x, group, place);
		else
			pass(x, group, is_shared, flaw);
		if (!pick(x, 3))
			cpu_model_tick(warp_of(x, pick(x, THREADS)));
	}
	for (uint32_t b = 0; b < BLOCKS; b++) {
		for (uint32_t w = 0; w < WARPS; w++)
			cpu_model_flush(&x->warps[b][w]);
		cpu_model_cta_free(&x->ctas[b]);
	}
	if (flaw == NONE)
		assert_memory_equal(x->mem, x->plain, BYTES);
	return x->wrong;
}

static const enum cpu_model models[] = {CPU_MODEL_WEAK, CPU_MODEL_A1};

static void test_race_free(void **state)
{
	(void)state;
	for (unsigned i = 0; i < BASE_COUNTOF(models); i++)
		for (uint64_t seed = 1; seed <= 300; seed++) {
			assert_int_equal(run(models[i], seed, false, NONE), 0);
			assert_int_equal(run(models[i], seed, true, NONE), 0);
		}
}

static unsigned count(enum cpu_model model, bool is_shared, enum flaw flaw)
{
	unsigned n = 0;

	for (uint64_t seed = 1; seed <= 50; seed++)
		n += run(model, seed, is_shared, flaw) != 0;
	return n;
}

static void test_flaws(void **state)
{
	(void)state;
	assert_int_equal(count(CPU_MODEL_WEAK, false, NARROW), 50);
	assert_int_equal(count(CPU_MODEL_WEAK, false, NO_RELEASE), 50);
	assert_int_equal(count(CPU_MODEL_WEAK, false, NO_ACQUIRE), 50);
	assert_int_equal(count(CPU_MODEL_WEAK, true, NO_RELEASE), 50);
	/* A.1 knows neither scopes nor delayed stores, only old views, which any synchronisation of
	 * the thread ends. */
	assert_int_equal(count(CPU_MODEL_A1, false, NO_SYNC), 50);
	assert_int_equal(count(CPU_MODEL_A1, true, NO_SYNC), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_race_free),
		cmocka_unit_test(test_flaws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
