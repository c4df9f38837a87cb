/*
 * test_oracle.c - the oracle's rules one by one, each case that races with a twin that doesn't.
 *
 * A case is a short list of steps by a few threads on two words; `races` counts the pairs reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"

#define X 0x10000ull
#define Y 0x10100ull
#define M 0x10200ull /* an mbarrier */

struct world {
	struct oracle *o;
	uint32_t a, b, far,
		cluster; /* two lanes; a lane of another block, of the block's cluster */
	uint32_t host;
	unsigned races;
	enum oracle_kind last;
};

static void on_race(void *arg, const struct oracle_finding *f)
{
	struct world *w = arg;

	w->races++;
	w->last = f->kind;
}

static uint32_t add_grid(struct world *w, uint64_t key, uint32_t blocks, uint32_t threads)
{
	struct oracle_grid g = {
		.grid = key, .blocks = blocks, .block_threads = threads, .cluster_blocks = 2};
	uint32_t first = oracle_grid(w->o, &g);

	oracle_op_submit(w->o, w->host, key);
	oracle_op_start(w->o, key, first);
	return first;
}

static struct world world_of(struct oracle_options opt)
{
	opt.is_one_host = true;
	struct world w = {.o = oracle_new(&opt)};

	w.host = oracle_host(w.o);
	w.a = add_grid(&w, 1, 4, 64);
	w.b = w.a + 33;
	w.cluster = w.a + oracle_stride(64);
	w.far = w.a + 2 * oracle_stride(64);
	return w;
}

static struct world world_in(enum oracle_sc sc)
{
	return world_of((struct oracle_options){.sc = sc});
}

static struct world world(void)
{
	return world_in(ORACLE_SC_PROGRAM);
}

/* Ends a case: how many races were reported, and of what kind. */
static void expect(struct world *w, unsigned races, enum oracle_kind kind)
{
	assert_int_equal(w->races, races);
	if (races)
		assert_int_equal(w->last, kind);
	oracle_free(w->o);
}

static void none(struct world *w)
{
	expect(w, 0, ORACLE_RACE);
}

static void access_as(struct world *w, uint32_t actor, struct oracle_acc acc, uint64_t address)
{
	acc.inst = w;
	oracle_on_race(w->o, on_race, w);
	oracle_access(w->o, actor, &acc, address);
}

static void load(struct world *w, uint32_t t, uint64_t x)
{
	access_as(w, t, (struct oracle_acc){.kind = RACE_OP_READ, .bytes = 4}, x);
}

static void store(struct world *w, uint32_t t, uint64_t x)
{
	access_as(w, t, (struct oracle_acc){.kind = RACE_OP_WRITE, .bytes = 4}, x);
}

static void get(struct world *w, uint32_t t, uint64_t x, uint8_t strength, uint8_t scope)
{
	access_as(w, t,
		  (struct oracle_acc){
			  .kind = RACE_OP_READ, .strength = strength, .scope = scope, .bytes = 4},
		  x);
}

static void put(struct world *w, uint32_t t, uint64_t x, uint8_t strength, uint8_t scope)
{
	access_as(w, t,
		  (struct oracle_acc){
			  .kind = RACE_OP_WRITE, .strength = strength, .scope = scope, .bytes = 4},
		  x);
}

static void rmw(struct world *w, uint32_t t, uint64_t x, uint8_t strength, uint8_t scope)
{
	access_as(w, t,
		  (struct oracle_acc){
			  .kind = RACE_OP_RMW, .strength = strength, .scope = scope, .bytes = 4},
		  x);
}

static void fence(struct world *w, uint32_t t, uint8_t strength, uint8_t scope)
{
	oracle_fence(w->o, t, 0, strength, scope);
}

/* An access through the async proxy. */
static void copy(struct world *w, uint32_t t, uint8_t kind, uint64_t x)
{
	struct oracle_acc acc = {.inst = w, .kind = kind, .bytes = 4, .proxy = RACE_PROXY_ASYNC};

	oracle_on_race(w->o, on_race, w);
	oracle_access(w->o, t, &acc, x);
}

/* ---- pairs -------------------------------------------------------------------------------- */

static void test_pairs(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.a, X);
	load(&w, w.b, X);
	expect(&w, 1, ORACLE_RACE);
	w = world();
	load(&w, w.a, X);
	store(&w, w.b, X);
	expect(&w, 1, ORACLE_RACE);
	w = world();
	load(&w, w.a, X);
	load(&w, w.b, X);
	store(&w, w.a, Y);
	load(&w, w.a, Y);
	store(&w, w.b, Y + 4);
	none(&w);
}

static void test_bytes(void **state)
{
	struct world w = world();

	(void)state;
	access_as(&w, w.a, (struct oracle_acc){.kind = RACE_OP_WRITE, .bytes = 1}, X);
	access_as(&w, w.b, (struct oracle_acc){.kind = RACE_OP_WRITE, .bytes = 1}, X + 1);
	assert_int_equal(w.races, 0);
	access_as(&w, w.b, (struct oracle_acc){.kind = RACE_OP_READ, .bytes = 2}, X);
	expect(&w, 1, ORACLE_RACE);
}

static void test_strong_pairs(void **state)
{
	struct world w = world();

	(void)state;
	rmw(&w, w.a, X, RACE_RELAXED, RACE_SCOPE_GPU);
	rmw(&w, w.far, X, RACE_RELAXED, RACE_SCOPE_GPU);
	rmw(&w, w.b, Y, RACE_RELAXED, RACE_SCOPE_CTA);
	rmw(&w, w.a, Y, RACE_RELAXED, RACE_SCOPE_CTA);
	none(&w);
	w = world();
	rmw(&w, w.a, X, RACE_RELAXED, RACE_SCOPE_CTA);
	rmw(&w, w.far, X, RACE_RELAXED, RACE_SCOPE_GPU);
	expect(&w, 1, ORACLE_RACE_SCOPE);
	w = world();
	rmw(&w, w.a, X, RACE_RELAXED, RACE_SCOPE_CLUSTER);
	rmw(&w, w.cluster, X, RACE_RELAXED, RACE_SCOPE_CLUSTER);
	assert_int_equal(w.races, 0);
	access_as(&w, w.b,
		  (struct oracle_acc){.kind = RACE_OP_RMW,
				      .strength = RACE_RELAXED,
				      .scope = RACE_SCOPE_GPU,
				      .bytes = 8},
		  X);
	assert_int_equal(w.last, ORACLE_RACE_SIZE);
	oracle_free(w.o);
}

/* ---- release and acquire -------------------------------------------------------------------- */

/* Message passing: a writes X and sets Y, t sees Y and reads X. */
static unsigned passes(uint32_t far, uint8_t release, uint8_t acquire, uint8_t scope)
{
	struct world w = world();
	uint32_t t = far ? w.far : w.b;
	unsigned races;

	store(&w, w.a, X);
	put(&w, w.a, Y, release, scope);
	get(&w, t, Y, acquire, scope);
	load(&w, t, X);
	races = w.races;
	oracle_free(w.o);
	return races;
}

static void test_message(void **state)
{
	(void)state;
	assert_int_equal(passes(1, RACE_RELEASE, RACE_ACQUIRE, RACE_SCOPE_GPU), 0);
	assert_int_equal(passes(1, RACE_RELEASE, RACE_RELAXED, RACE_SCOPE_GPU), 1);
	assert_int_equal(passes(1, RACE_RELAXED, RACE_ACQUIRE, RACE_SCOPE_GPU), 1);
	assert_int_equal(passes(0, RACE_RELEASE, RACE_ACQUIRE, RACE_SCOPE_CTA), 0);
	/* Too narrow: the flag races too. */
	assert_int_equal(passes(1, RACE_RELEASE, RACE_ACQUIRE, RACE_SCOPE_CTA), 2);
}

static unsigned passes_by_fences(uint8_t release, uint8_t acquire, uint8_t scope)
{
	struct world w = world();
	unsigned races;

	store(&w, w.a, X);
	fence(&w, w.a, release, scope);
	put(&w, w.a, Y, RACE_RELAXED, RACE_SCOPE_GPU);
	get(&w, w.far, Y, RACE_RELAXED, RACE_SCOPE_GPU);
	fence(&w, w.far, acquire, scope);
	load(&w, w.far, X);
	races = w.races;
	oracle_free(w.o);
	return races;
}

static void test_fences(void **state)
{
	(void)state;
	assert_int_equal(passes_by_fences(RACE_RELEASE, RACE_ACQUIRE, RACE_SCOPE_GPU), 0);
	assert_int_equal(passes_by_fences(RACE_SC, RACE_SC, RACE_SCOPE_GPU), 0);
	assert_int_equal(passes_by_fences(RACE_ACQUIRE, RACE_ACQUIRE, RACE_SCOPE_GPU), 1);
	assert_int_equal(passes_by_fences(RACE_RELEASE, RACE_RELEASE, RACE_SCOPE_GPU), 1);
	assert_int_equal(passes_by_fences(RACE_ACQ_REL, RACE_ACQ_REL, RACE_SCOPE_CTA), 1);
}

/* What stands between fence and flag is not released. */
static void test_behind_the_fence(void **state)
{
	struct world w = world();

	(void)state;
	fence(&w, w.a, RACE_RELEASE, RACE_SCOPE_GPU);
	store(&w, w.a, X);
	put(&w, w.a, Y, RACE_RELAXED, RACE_SCOPE_GPU);
	get(&w, w.far, Y, RACE_ACQUIRE, RACE_SCOPE_GPU);
	load(&w, w.far, X);
	expect(&w, 1, ORACLE_RACE);
}

static void chain(struct world *w, uint8_t flags, bool is_rmw)
{
	store(w, w->a, X);
	put(w, w->a, Y, RACE_RELEASE, RACE_SCOPE_GPU);
	access_as(w, w->b,
		  (struct oracle_acc){.kind = is_rmw ? RACE_OP_RMW : RACE_OP_WRITE,
				      .strength = RACE_RELAXED,
				      .scope = RACE_SCOPE_GPU,
				      .bytes = 4,
				      .flags = flags},
		  Y);
	get(w, w->far, Y, RACE_ACQUIRE, RACE_SCOPE_GPU);
	load(w, w->far, X);
}

static void test_chain(void **state)
{
	struct world w = world();

	(void)state;
	chain(&w, 0, true);
	none(&w);
	w = world();
	chain(&w, ORACLE_RED, true);
	none(&w);
	w = world();
	chain(&w, 0, false);
	expect(&w, 1, ORACLE_RACE);
}

/* A release, then a later strong write of the same thread to the same place; and its mirror. */
static void test_second_patterns(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.a, X);
	put(&w, w.a, Y, RACE_RELEASE, RACE_SCOPE_GPU);
	put(&w, w.a, Y, RACE_RELAXED, RACE_SCOPE_GPU);
	get(&w, w.far, Y, RACE_RELAXED, RACE_SCOPE_GPU);
	get(&w, w.far, Y, RACE_ACQUIRE, RACE_SCOPE_GPU);
	load(&w, w.far, X);
	none(&w);
	w = world();
	store(&w, w.a, X);
	put(&w, w.a, Y, RACE_RELEASE, RACE_SCOPE_GPU);
	put(&w, w.a, M, RACE_RELAXED, RACE_SCOPE_GPU);
	get(&w, w.far, M, RACE_ACQUIRE, RACE_SCOPE_GPU);
	load(&w, w.far, X);
	expect(&w, 1, ORACLE_RACE);
}

static void test_red_never_acquires(void **state)
{
	struct world w = world();

	(void)state;
	for (int is_red = 0; is_red < 2; is_red++) {
		store(&w, w.a, X);
		put(&w, w.a, Y, RACE_RELEASE, RACE_SCOPE_GPU);
		access_as(&w, w.far,
			  (struct oracle_acc){.kind = RACE_OP_RMW,
					      .strength = RACE_RELAXED,
					      .scope = RACE_SCOPE_GPU,
					      .bytes = 4,
					      .flags = is_red ? ORACLE_RED : 0},
			  Y);
		fence(&w, w.far, RACE_ACQ_REL, RACE_SCOPE_GPU);
		load(&w, w.far, X);
		if (!is_red) {
			none(&w);
			w = world();
		}
	}
	expect(&w, 1, ORACLE_RACE);
}

/* Cumulativity: a -> b by the block, b -> far by the device. */
static void test_cumulative(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.a, X);
	put(&w, w.a, Y, RACE_RELEASE, RACE_SCOPE_CTA);
	get(&w, w.b, Y, RACE_ACQUIRE, RACE_SCOPE_CTA);
	put(&w, w.b, M, RACE_RELEASE, RACE_SCOPE_GPU);
	get(&w, w.far, M, RACE_ACQUIRE, RACE_SCOPE_GPU);
	load(&w, w.far, X);
	none(&w);
}

static void test_observation(void **state)
{
	struct world w = world();

	(void)state;
	put(&w, w.a, X, RACE_RELAXED, RACE_SCOPE_GPU);
	get(&w, w.far, X, RACE_RELAXED, RACE_SCOPE_GPU);
	store(&w, w.far, X);
	none(&w);
	w = world();
	put(&w, w.a, X, RACE_RELAXED, RACE_SCOPE_GPU);
	store(&w, w.far, X);
	expect(&w, 1, ORACLE_RACE);
	/* The write seen, not the one before it. */
	w = world();
	put(&w, w.a, X, RACE_RELAXED, RACE_SCOPE_GPU);
	put(&w, w.a, X, RACE_RELAXED, RACE_SCOPE_GPU);
	get(&w, w.far, X, RACE_RELAXED, RACE_SCOPE_GPU);
	store(&w, w.far, X);
	expect(&w, 1, ORACLE_RACE);
}

static void test_saw(void **state)
{
	struct world w = world();
	struct oracle_acc st = {.inst = &w,
				.kind = RACE_OP_WRITE,
				.strength = RACE_RELEASE,
				.scope = RACE_SCOPE_GPU,
				.bytes = 4,
				.id = 7};
	struct oracle_acc ld = {.inst = &w,
				.kind = RACE_OP_READ,
				.strength = RACE_ACQUIRE,
				.scope = RACE_SCOPE_GPU,
				.bytes = 4,
				.flags = ORACLE_SAW,
				.saw = 7};

	(void)state;
	for (int sees = 1; sees >= 0; sees--) {
		store(&w, w.a, X);
		oracle_access(w.o, w.a, &st, Y);
		put(&w, w.a, Y, RACE_RELAXED, RACE_SCOPE_GPU);
		ld.saw = sees ? 7 : 0;
		oracle_access(w.o, w.far, &ld, Y);
		load(&w, w.far, X);
		if (sees) {
			none(&w);
			w = world();
		}
	}
	expect(&w, 1, ORACLE_RACE);
}

/* ---- fence.sc -------------------------------------------------------------------------------- */

/* Z -> fence -> X of a; X (a communication, or none) of far -> fence -> Z. */
static unsigned sc_races(enum oracle_sc sc, bool communicates, uint8_t scope)
{
	struct world w = world_in(sc);
	unsigned races;

	store(&w, w.a, M);
	fence(&w, w.a, RACE_SC, scope);
	put(&w, w.a, X, RACE_RELAXED, RACE_SCOPE_GPU);
	put(&w, w.far, communicates ? X : Y, RACE_RELAXED, RACE_SCOPE_GPU);
	fence(&w, w.far, RACE_SC, scope);
	load(&w, w.far, M);
	races = w.races;
	oracle_free(w.o);
	return races;
}

static void test_fence_sc(void **state)
{
	(void)state;
	assert_int_equal(sc_races(ORACLE_SC_PROGRAM, true, RACE_SCOPE_GPU), 0);
	assert_int_equal(sc_races(ORACLE_SC_PROGRAM, false, RACE_SCOPE_GPU), 1);
	assert_int_equal(sc_races(ORACLE_SC_PROGRAM, true, RACE_SCOPE_CTA), 1);
	assert_int_equal(sc_races(ORACLE_SC_EXECUTION, false, RACE_SCOPE_GPU), 0);
	assert_int_equal(sc_races(ORACLE_SC_EXECUTION, false, RACE_SCOPE_CTA), 1);
}

/* Two warps of two blocks; all lanes fence, or only those of the first. */
static unsigned coarse_races(bool has_second, uint8_t scope, bool is_late, bool *is_coarse)
{
	struct world w =
		world_of((struct oracle_options){.max_forced = 1, .has_late_writes = is_late});
	unsigned races;

	store(&w, w.a, M);
	oracle_fence(w.o, w.a & ~31u, UINT32_MAX, RACE_SC, scope);
	if (has_second)
		oracle_fence(w.o, w.far & ~31u, UINT32_MAX, RACE_SC, scope);
	load(&w, w.far, M);
	races = w.races;
	*is_coarse = oracle_get_stats(w.o).is_sc_coarse;
	oracle_free(w.o);
	return races;
}

static void test_fence_sc_coarse(void **state)
{
	bool is_coarse;

	(void)state;
	for (int is_late = 0; is_late < 2; is_late++) {
		assert_int_equal(coarse_races(true, RACE_SCOPE_GPU, is_late, &is_coarse), 0);
		assert_true(is_coarse);
		assert_int_equal(coarse_races(false, RACE_SCOPE_GPU, is_late, &is_coarse), 1);
		assert_int_equal(coarse_races(true, RACE_SCOPE_CTA, is_late, &is_coarse), 1);
	}
}

/* ---- barriers -------------------------------------------------------------------------------- */

static unsigned barrier_races(uint8_t first, bool leaves)
{
	struct world w = world();
	unsigned races;

	store(&w, w.a, X);
	oracle_arrive(w.o, w.a, 1, &(struct oracle_arrival){5, 0, 64, first, &w});
	oracle_arrive(
		w.o, w.b & ~31u, 2,
		&(struct oracle_arrival){5, 0, 64, ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES, &w});
	if (leaves)
		oracle_leave(w.o, w.b & ~31u, 2, 5, 0);
	load(&w, w.b, X);
	races = w.races;
	oracle_free(w.o);
	return races;
}

static void test_barrier(void **state)
{
	(void)state;
	assert_int_equal(barrier_races(ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES, true), 0);
	assert_int_equal(barrier_races(ORACLE_BAR_RELEASE, true), 0);
	assert_int_equal(barrier_races(0, true), 1); /* .relaxed */
	assert_int_equal(barrier_races(ORACLE_BAR_RELEASE, false), 1);
}

/* An arrival only releases; what follows it isn't after the others. */
static void test_arrive_only(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.b, X);
	oracle_arrive(w.o, w.a, 1, &(struct oracle_arrival){5, 0, 0, ORACLE_BAR_RELEASE, &w});
	store(&w, w.a, Y);
	oracle_arrive(
		w.o, w.b & ~31u, 2,
		&(struct oracle_arrival){5, 0, 0, ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES, &w});
	oracle_leave(w.o, w.b & ~31u, 2, 5, 0);
	load(&w, w.a, X);
	load(&w, w.b, Y);
	expect(&w, 2, ORACLE_RACE);
}

static void test_barrier_counts(void **state)
{
	struct world w = world();

	(void)state;
	for (uint32_t second = 64; second <= 96; second += 32) {
		oracle_on_race(w.o, on_race, &w);
		oracle_arrive(w.o, w.a, 1,
			      &(struct oracle_arrival){5, second, 64, ORACLE_BAR_RELEASE, &w});
		oracle_arrive(w.o, w.b, 0,
			      &(struct oracle_arrival){5, second, second, ORACLE_BAR_RELEASE, &w});
		assert_int_equal(w.races, second == 96);
	}
	expect(&w, 1, ORACLE_BAR_COUNT);
}

static void test_warp_sync(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.a, X);
	oracle_warp_sync(w.o, w.a, 3);
	load(&w, w.a + 1, X);
	assert_int_equal(w.races, 0);
	load(&w, w.a + 2, X);
	expect(&w, 1, ORACLE_RACE);
}

static unsigned mbarrier_races(uint8_t arrive, uint8_t wait, uint64_t phase)
{
	struct world w = world();
	unsigned races;

	store(&w, w.a, X);
	oracle_mbarrier_arrive(w.o, w.a, M, 0, arrive, RACE_SCOPE_CTA);
	oracle_mbarrier_wait(w.o, w.b, M, phase, wait, RACE_SCOPE_CTA);
	load(&w, w.b, X);
	races = w.races;
	oracle_free(w.o);
	return races;
}

static void test_mbarrier(void **state)
{
	(void)state;
	assert_int_equal(mbarrier_races(RACE_RELEASE, RACE_ACQUIRE, 0), 0);
	assert_int_equal(mbarrier_races(RACE_RELAXED, RACE_ACQUIRE, 0), 1);
	assert_int_equal(mbarrier_races(RACE_RELEASE, RACE_RELAXED, 0), 1);
	assert_int_equal(mbarrier_races(RACE_RELEASE, RACE_ACQUIRE, 1), 1);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void test_copy_joined(void **state)
{
	struct world w = world();

	(void)state;
	for (int what = ORACLE_JOIN_ALL; what <= ORACLE_JOIN_READ; what++) {
		uint32_t p = oracle_fork(w.o, w.a);
		copy(&w, p, RACE_OP_READ, X);
		copy(&w, p, RACE_OP_WRITE, Y);
		oracle_join(w.o, w.a, p, (enum oracle_join)what);
		store(&w, w.a, X);
		load(&w, w.a, Y);
		if (what == ORACLE_JOIN_ALL) {
			none(&w);
			w = world();
		}
	}
	expect(&w, 1, ORACLE_RACE);
}

/* The issuer's stores are seen through a proxy fence only. */
static void test_copy_proxy(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.a, X);
	copy(&w, oracle_fork(w.o, w.a), RACE_OP_READ, X);
	expect(&w, 1, ORACLE_RACE_PROXY);
	w = world();
	store(&w, w.a, X);
	oracle_proxy_fence(w.o, w.a, 0, ORACLE_PROXY_GLOBAL, NULL);
	copy(&w, oracle_fork(w.o, w.a), RACE_OP_READ, X);
	none(&w);
}

/* A completion carries the copy, not what its issuer did. */
static void test_copy_alone(void **state)
{
	struct world w = world();
	uint32_t p;

	(void)state;
	store(&w, w.a, X);
	p = oracle_fork(w.o, w.a);
	copy(&w, p, RACE_OP_WRITE, Y);
	oracle_mbarrier_arrive(w.o, p, M, 0, RACE_RELEASE, RACE_SCOPE_CTA);
	oracle_mbarrier_wait(w.o, w.b, M, 0, RACE_ACQUIRE, RACE_SCOPE_CTA);
	load(&w, w.b, Y);
	assert_int_equal(w.races, 0);
	load(&w, w.b, X);
	expect(&w, 1, ORACLE_RACE);
}

static void test_read_only_load(void **state)
{
	struct world w = world();

	(void)state;
	access_as(&w, w.a,
		  (struct oracle_acc){.kind = RACE_OP_READ, .bytes = 4, .flags = ORACLE_NC}, X);
	oracle_warp_sync(w.o, w.a, 3);
	store(&w, w.a + 1, X);
	expect(&w, 1, ORACLE_RACE_NC);
	w = world();
	load(&w, w.a, X);
	oracle_warp_sync(w.o, w.a, 3);
	store(&w, w.a + 1, X);
	none(&w);
}

/* ---- operations, memory ---------------------------------------------------------------------- */

static unsigned launch_races(bool depends, bool waits)
{
	struct world w = world();
	unsigned races;
	uint32_t t;

	store(&w, w.a, X);
	oracle_op_end(w.o, 1);
	if (depends)
		oracle_op_depend(w.o, 2, 1);
	if (waits)
		oracle_host_wait(w.o, w.host, 1);
	t = add_grid(&w, 2, 1, 32);
	load(&w, t, X);
	races = w.races;
	oracle_free(w.o);
	return races;
}

static void test_launches(void **state)
{
	(void)state;
	assert_int_equal(launch_races(true, false), 0);
	assert_int_equal(launch_races(false, true), 0);
	assert_int_equal(launch_races(false, false), 1);
}

static void test_copies_of_the_host(void **state)
{
	struct world w = world();
	uint32_t c;

	(void)state;
	store(&w, w.a, X + 64);
	oracle_on_race(w.o, on_race, &w);
	oracle_op_submit(w.o, w.host, 9);
	c = oracle_op_start(w.o, 9, ORACLE_NO_ACTOR);
	oracle_access_range(w.o, c, &w, RACE_OP_READ, X, 4096);
	oracle_op_end(w.o, 9);
	expect(&w, 1, ORACLE_RACE);
}

static void test_forget(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.a, X);
	store(&w, w.a, X + 4);
	oracle_forget(w.o, X, 4);
	load(&w, w.b, X);
	assert_int_equal(w.races, 0);
	load(&w, w.b, X + 4);
	expect(&w, 1, ORACLE_RACE);
}

static void test_heap(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.a, X);
	oracle_heap_free(w.o, w.a, M, 64);
	oracle_heap_alloc(w.o, w.b, M, 32);
	load(&w, w.b, X);
	assert_int_equal(w.races, 0);
	load(&w, w.far, X);
	expect(&w, 1, ORACLE_RACE);
}

static void test_inserted(void **state)
{
	struct world w = world();

	(void)state;
	store(&w, w.a, X);
	access_as(&w, w.b,
		  (struct oracle_acc){.kind = RACE_OP_WRITE, .bytes = 4, .flags = ORACLE_INSERTED},
		  X);
	none(&w);
}

static void test_findings(void **state)
{
	struct world w = world();
	const struct oracle_finding *f;

	(void)state;
	store(&w, w.a, X);
	load(&w, w.b, X);
	load(&w, w.far, X);
	assert_int_equal(oracle_findings(w.o), 1);
	f = oracle_get(w.o, 0);
	assert_int_equal(f->count, 2);
	assert_int_equal(f->first.actor, w.a);
	assert_int_equal(f->second.actor, w.b);
	assert_int_equal(f->second.place.warp, 1);
	assert_int_equal(f->address, X);
	oracle_free(w.o);
}

static uint64_t repeats;

static uint64_t *count_all(void *arg, const struct oracle_finding *f, bool *is_same)
{
	(void)arg;
	(void)is_same;
	return f->kind == ORACLE_RACE ? &repeats : NULL;
}

/* The first sighting and the second one are calls, the others numbers; another pair is another. */
static void test_repeats(void **state)
{
	struct world w = world();

	(void)state;
	repeats = 0;
	oracle_count_repeats(w.o, count_all);
	for (unsigned i = 0; i < 10; i++) {
		store(&w, w.a, X + 8 * i);
		load(&w, w.b, X + 8 * i);
	}
	assert_int_equal(w.races, 2);
	assert_int_equal(repeats, 8);
	assert_int_equal(oracle_get(w.o, 0)->count, 10);
	store(&w, w.b, X);
	assert_int_equal(w.races, 3);
	oracle_free(w.o);
}

/* When all has ended, numbers of sites are given out again: another pair is no repeat. */
static void test_repeats_after_the_end(void **state)
{
	struct world w = world();
	uint32_t a;
	int other;

	(void)state;
	oracle_count_repeats(w.o, count_all);
	for (unsigned i = 0; i < 3; i++) {
		store(&w, w.a, X + 8 * i);
		load(&w, w.b, X + 8 * i);
	}
	assert_int_equal(w.races, 2);
	oracle_op_end(w.o, 1);
	oracle_host_wait(w.o, w.host, 1);
	a = add_grid(&w, 2, 1, 64);
	for (uint8_t kind = RACE_OP_WRITE; kind; kind = kind == RACE_OP_WRITE ? RACE_OP_READ : 0) {
		struct oracle_acc acc = {.inst = &other, .kind = kind, .bytes = 4};
		oracle_access(w.o, kind == RACE_OP_WRITE ? a : a + 33, &acc, X);
	}
	assert_int_equal(w.races, 3);
	assert_int_equal(oracle_findings(w.o), 2);
	oracle_free(w.o);
}

static void test_full(void **state)
{
	struct world w = world();
	struct oracle_grid g = {.grid = 2, .blocks = 1u << 20, .block_threads = 1024};

	(void)state;
	assert_int_equal(oracle_grid(w.o, &g), ORACLE_NO_ACTOR);
	assert_true(oracle_is_full(w.o));
	oracle_free(w.o);
}

/* What is full judges nothing more, rather than something wrong. */
static void test_full_is_silent(void **state)
{
	struct oracle_options opt = {.max_actors = 8192};
	struct oracle_grid g = {.grid = 1, .blocks = 4, .block_threads = 64};

	(void)state;
	for (unsigned is_full = 0; is_full < 2; is_full++) {
		struct world w = {.o = oracle_new(&opt)};
		w.a = oracle_grid(w.o, &g);
		oracle_op_start(w.o, 1, w.a);
		g.blocks = is_full ? 1024 : 4;
		assert_int_equal(oracle_grid(w.o, &g) == ORACLE_NO_ACTOR, is_full);
		assert_int_equal(oracle_is_full(w.o), is_full);
		g.blocks = 4;
		store(&w, w.a, X);
		store(&w, w.a + 33, X);
		expect(&w, is_full ? 0 : 1, ORACLE_RACE);
	}
}

/* Readers of one word beyond the limit are forgotten, and counted; below it none is. */
static void test_forgotten(void **state)
{
	(void)state;
	for (uint32_t limit = 4; limit < 20; limit += 12) {
		for (unsigned is_strong = 0; is_strong < 2; is_strong++) {
			struct oracle_options opt = {.max_records = limit};
			struct world w = {.o = oracle_new(&opt)};
			w.a = add_grid(&w, 1, 16, 32);
			for (uint32_t i = 0; i < 10; i++)
				if (is_strong)
					get(&w, w.a + i * 32, X, RACE_RELAXED, RACE_SCOPE_GPU);
				else
					load(&w, w.a + i * 32, X);
			assert_int_equal(oracle_get_stats(w.o).dropped != 0, limit < 10);
			oracle_free(w.o);
		}
	}
}

/* Threads that exist and operations, not the numbers that are set aside for blocks of 32. */
static void test_actors(void **state)
{
	struct world w = {.o = oracle_new(&(struct oracle_options){.is_one_host = true})};

	(void)state;
	w.host = oracle_host(w.o);
	assert_int_equal(oracle_get_stats(w.o).actors, 0);
	uint32_t t = add_grid(&w, 1, 10, 100);
	assert_int_equal(oracle_get_stats(w.o).actors, 1000);
	oracle_fork(w.o, t);
	oracle_fork(w.o, t + oracle_stride(100));
	assert_int_equal(oracle_get_stats(w.o).actors, 1000 + 2);
	none(&w);
}

/* An access that has raced 256 times is let go, and counted; but two of an instruction stay for
 * other instructions that may race with them. */
static void test_raced_out(void **state)
{
	(void)state;
	for (unsigned n = 255; n < 260; n += 4) {
		struct world w = world();
		store(&w, w.a, X);
		for (unsigned i = 0; i < n; i++)
			load(&w, w.far, X);
		assert_int_equal(oracle_get_stats(w.o).raced_out, n > 255);
		get(&w, w.far, X, RACE_RELAXED, RACE_SCOPE_GPU);
		expect(&w, n + 1, ORACLE_RACE);
	}
	struct world w = world();
	for (unsigned i = 0; i < 3; i++)
		store(&w, w.a + 33 * i, X);
	for (unsigned i = 0; i < 300; i++)
		load(&w, w.far, X);
	assert_int_equal(oracle_get_stats(w.o).raced_out, 3);
	get(&w, w.far, X, RACE_RELAXED, RACE_SCOPE_GPU);
	expect(&w, 3 + 254 + 300 + 300 + 2, ORACLE_RACE);
}

static void access_by(struct world *w, uint32_t t, const void *inst, uint8_t kind, uint64_t x)
{
	struct oracle_acc acc = {.inst = inst, .kind = kind, .bytes = 4};

	oracle_access(w->o, t, &acc, x);
}

/* Four warps of a block store, and 300 loads race with each, so that two of the stores are
 * forgotten. Then a thread of the block, or another one, stores by another instruction: how many
 * does it miss? */
static uint64_t missed_by(bool is_far, bool is_after, uint64_t x)
{
	static const char insts[3];
	struct oracle_arrival all = {5, 0, 256, ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES, insts};
	struct world w = world();
	uint32_t block = add_grid(&w, 2, 1, 256), t = is_far ? w.far : block + 200;
	uint64_t n;

	for (uint32_t i = 0; i < 128; i += 32)
		access_by(&w, block + i, &insts[0], RACE_OP_WRITE, X);
	for (unsigned i = 0; i < 300; i++)
		access_by(&w, w.far, &insts[1], RACE_OP_READ, X);
	assert_int_equal(oracle_get_stats(w.o).raced_out, 4);
	assert_int_equal(oracle_get_stats(w.o).missed, 0);
	for (uint32_t i = 0; i < 256 && is_after; i += 32)
		oracle_arrive(w.o, block + i, UINT32_MAX, &all);
	for (uint32_t i = 0; i < 256 && is_after; i += 32)
		oracle_leave(w.o, block + i, UINT32_MAX, 5, 0);
	access_by(&w, t, &insts[2], RACE_OP_WRITE, x);
	n = oracle_get_stats(w.o).missed;
	oracle_free(w.o);
	return n;
}

/* Those that are forgotten count as missed where one of them may race in a new pair: not where a
 * barrier, or the access's place, says that none does. */
static void test_missed(void **state)
{
	(void)state;
	assert_int_equal(missed_by(false, false, X), 2);
	assert_int_equal(missed_by(false, true, X), 0);
	assert_int_equal(missed_by(false, false, Y), 0);
	assert_int_equal(missed_by(true, true, X), 2);
}

/* A barrier keeps a block's threads on one clock: memory doesn't grow with their number of uses,
 * except for the joins that are remembered. */
static void test_barrier_memory(void **state)
{
	struct world w = world();
	uint32_t first = add_grid(&w, 3, 1, 1024);
	uint64_t addresses[32], at_start = 0;

	(void)state;
	for (uint32_t gen = 0; gen < 400; gen++) {
		struct oracle_acc acc = {.inst = &w, .kind = RACE_OP_WRITE, .bytes = 4};
		for (uint32_t i = 0; i < 32; i++) {
			for (uint32_t l = 0; l < 32; l++)
				addresses[l] = X + ((i + gen) % 32 * 32 + l) * 4;
			oracle_access_warp(w.o, first + i * 32, UINT32_MAX, &acc, addresses);
		}
		for (uint32_t i = 0; i < 32; i++)
			oracle_arrive(
				w.o, first + i * 32, UINT32_MAX,
				&(struct oracle_arrival){
					7, gen, 1024, ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES, &w});
		for (uint32_t i = 0; i < 32; i++)
			oracle_leave(w.o, first + i * 32, UINT32_MAX, 7, gen);
		if (gen == 200)
			at_start = oracle_get_stats(w.o).clock_bytes;
	}
	assert_true(at_start < 100 * 1024);
	/* Which joins are remembered depends on addresses: 800 runs came to 1.24. */
	assert_true(oracle_get_stats(w.o).clock_bytes <= at_start * 3 / 2);
	assert_int_equal(oracle_findings(w.o), 0);
	oracle_free(w.o);
}

/* A launch: its threads store, count and synchronise; ended, and waited for. */
static void launch_whole(struct world *w, uint64_t key)
{
	uint32_t t = add_grid(w, key, 2, 64);

	for (uint32_t i = 0; i < 64; i++) {
		store(w, t + i, X + i * 4);
		rmw(w, t + i, Y, RACE_ACQ_REL, RACE_SCOPE_GPU);
		oracle_fence(w->o, t + i, 0, RACE_SC, RACE_SCOPE_GPU);
		rmw(w, t + i, Y + 4, RACE_RELAXED, RACE_SCOPE_GPU);
	}
	oracle_op_end(w->o, key);
	oracle_host_wait(w->o, w->host, key);
}

/* Launches that the host has waited for leave nothing behind. */
static void test_waited_launches(void **state)
{
	struct world w = world();
	struct oracle_stats at_start, s;

	(void)state;
	oracle_op_end(w.o, 1);
	oracle_host_wait(w.o, w.host, 1);
	for (uint64_t key = 2; key < 50; key++)
		launch_whole(&w, key);
	at_start = oracle_get_stats(w.o);
	for (uint64_t key = 50; key < 300; key++)
		launch_whole(&w, key);
	s = oracle_get_stats(w.o);
	assert_true(s.clock_bytes <= at_start.clock_bytes * 2);
	assert_int_equal(s.shadow_bytes, at_start.shadow_bytes);
	/* Those that no thread has waited for race as ever. */
	store(&w, add_grid(&w, 300, 1, 32), X);
	oracle_op_end(w.o, 300);
	load(&w, add_grid(&w, 301, 1, 32), X);
	expect(&w, 1, ORACLE_RACE);
}

/* ... but not while another that may have met them goes on. */
static void test_waited_beside(void **state)
{
	struct world w = world();

	(void)state;
	launch_whole(&w, 2);
	load(&w, w.a, X);
	expect(&w, 1, ORACLE_RACE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_strong_pairs),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_fences),
		cmocka_unit_test(test_behind_the_fence),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_second_patterns),
		cmocka_unit_test(test_red_never_acquires),
		cmocka_unit_test(test_cumulative),
		cmocka_unit_test(test_observation),
		cmocka_unit_test(test_saw),
		cmocka_unit_test(test_fence_sc),
		cmocka_unit_test(test_fence_sc_coarse),
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_arrive_only),
		cmocka_unit_test(test_barrier_counts),
		cmocka_unit_test(test_warp_sync),
		cmocka_unit_test(test_mbarrier),
		cmocka_unit_test(test_copy_joined),
		cmocka_unit_test(test_copy_proxy),
		cmocka_unit_test(test_copy_alone),
		cmocka_unit_test(test_read_only_load),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_copies_of_the_host),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_inserted),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_full_is_silent),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_actors),
		cmocka_unit_test(test_raced_out),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_repeats_after_the_end),
		cmocka_unit_test(test_barrier_memory),
		cmocka_unit_test(test_waited_launches),
		cmocka_unit_test(test_waited_beside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
