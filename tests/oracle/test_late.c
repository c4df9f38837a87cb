/*
 * test_late.c - accesses of operations that the shadow gets late (shadow/late.c): never, where
 * nothing can race with them, and in time where something does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle/oracle.h"

#define X     0x10000u
#define BYTES 256u

struct world {
	struct oracle *o;
	uint32_t host;
};

static const char inst[4]; /* the names of instructions */

static struct world world(void)
{
	struct oracle_options opt = {.is_one_host = true};
	struct world w = {.o = oracle_new(&opt)};

	w.host = oracle_host(w.o);
	return w;
}

static void expect(struct world *w, size_t races, bool has_words)
{
	struct oracle_stats s = oracle_get_stats(w->o);

	assert_int_equal(oracle_findings(w->o), races);
	assert_int_equal(s.words != 0, has_words);
	oracle_free(w->o);
}

/* before: 0, or an operation that it starts after. */
static void submit(struct world *w, uint64_t key, uint64_t before)
{
	oracle_op_submit(w->o, w->host, key);
	if (before)
		oracle_op_depend(w->o, key, before);
}

static void access(struct world *w, uint32_t actor, uint8_t kind, uint64_t address)
{
	oracle_access_range(w->o, actor, &inst[kind == RACE_OP_WRITE], kind, address, BYTES);
}

/* A copy from X to X + BYTES. */
static void copy(struct world *w, uint64_t key)
{
	uint32_t actor = oracle_op_start(w->o, key, ORACLE_NO_ACTOR);

	access(w, actor, RACE_OP_READ, X);
	access(w, actor, RACE_OP_WRITE, X + BYTES);
	oracle_op_end(w->o, key);
}

static void test_never_made(void **state)
{
	struct world w = world();

	(void)state;
	submit(&w, 1, 0);
	submit(&w, 2, 1);
	copy(&w, 1);
	copy(&w, 2);
	assert_int_equal(oracle_get_stats(w.o).accesses, 4);
	oracle_host_wait(w.o, w.host, 1);
	oracle_host_wait(w.o, w.host, 2);
	access(&w, w.host, RACE_OP_WRITE, X + 4 * BYTES);
	assert_int_equal(oracle_get_stats(w.o).words, BYTES / 4);
	expect(&w, 0, true);
}

static void test_unordered(void **state)
{
	struct world w = world();

	(void)state;
	submit(&w, 1, 0);
	submit(&w, 2, 0);
	copy(&w, 1);
	copy(&w, 2);
	expect(&w, 1, true);
}

/* The first two are kept; the third comes after the second only. */
static void test_after_one_of_two(void **state)
{
	struct world w = world();

	(void)state;
	submit(&w, 1, 0);
	submit(&w, 2, 0);
	submit(&w, 3, 2);
	copy(&w, 1);
	uint32_t actor = oracle_op_start(w.o, 2, ORACLE_NO_ACTOR);
	access(&w, actor, RACE_OP_READ, X + 4 * BYTES);
	oracle_op_end(w.o, 2);
	copy(&w, 3);
	expect(&w, 1, true);
}

static void test_beside(void **state)
{
	struct world w = world();
	uint32_t actor[2];

	(void)state;
	submit(&w, 1, 0);
	submit(&w, 2, 0);
	actor[0] = oracle_op_start(w.o, 1, ORACLE_NO_ACTOR);
	access(&w, actor[0], RACE_OP_WRITE, X);
	actor[1] = oracle_op_start(w.o, 2, ORACLE_NO_ACTOR);
	access(&w, actor[1], RACE_OP_READ, X);
	oracle_op_end(w.o, 2);
	oracle_op_end(w.o, 1);
	expect(&w, 1, true);
}

/* The host thread accesses what the operation does: before it was submitted, after that, after its
 * end, and when it has waited. */
static void host_accesses(unsigned when, size_t races)
{
	struct world w = world();

	if (when == 0)
		access(&w, w.host, RACE_OP_WRITE, X);
	submit(&w, 1, 0);
	if (when == 1)
		access(&w, w.host, RACE_OP_WRITE, X);
	copy(&w, 1);
	if (when == 2)
		access(&w, w.host, RACE_OP_WRITE, X);
	oracle_host_wait(w.o, w.host, 1);
	if (when == 3)
		access(&w, w.host, RACE_OP_WRITE, X);
	expect(&w, races, true);
}

static void test_host(void **state)
{
	(void)state;
	host_accesses(0, 0);
	host_accesses(1, 1);
	host_accesses(2, 1);
	host_accesses(3, 0);
}

/* A grid's threads: after the operation, or not. */
static void then_grid(uint64_t before, size_t races)
{
	struct world w = world();
	struct oracle_grid g = {.grid = 2, .blocks = 1, .block_threads = 32, .cluster_blocks = 1};
	struct oracle_acc acc = {.inst = &inst[2], .kind = RACE_OP_WRITE, .bytes = 4};
	uint64_t at[ORACLE_LANES];

	submit(&w, 1, 0);
	submit(&w, 2, before);
	copy(&w, 1);
	uint32_t actor = oracle_op_start(w.o, 2, oracle_grid(w.o, &g));
	for (unsigned l = 0; l < ORACLE_LANES; l++)
		at[l] = X + l * 4u;
	oracle_access_warp(w.o, actor, UINT32_MAX, &acc, at);
	oracle_op_end(w.o, 2);
	expect(&w, races, true);
}

static void test_grid(void **state)
{
	(void)state;
	then_grid(1, 0);
	then_grid(0, 1);
}

/* New memory at the same address has no past: all of what was accessed, and a part. */
static void forgotten(uint64_t bytes, size_t races)
{
	struct world w = world();

	submit(&w, 1, 0);
	submit(&w, 2, 0);
	copy(&w, 1);
	oracle_forget(w.o, X, bytes);
	copy(&w, 2);
	expect(&w, races, true);
}

static void test_forget(void **state)
{
	(void)state;
	forgotten(2 * BYTES, 0);
	forgotten(BYTES + 4, 1);
}

/* What makes its accesses itself, when it is asked. */
struct maker {
	struct world *w;
	unsigned made;
};

static void make_all(void *arg, uint32_t actor)
{
	struct maker *t = arg;

	t->made++;
	access(t->w, actor, RACE_OP_WRITE, X);
}

static void whole_launch(struct world *w, struct maker *t, uint64_t key)
{
	struct oracle_grid g = {.grid = key, .blocks = 1, .block_threads = 1, .cluster_blocks = 1};
	uint32_t actor = oracle_op_start(w->o, key, oracle_grid(w->o, &g));

	t->w = w;
	if (!oracle_access_late(w->o, actor, X, BYTES, make_all, t))
		make_all(t, actor);
	oracle_op_end(w->o, key);
}

static void test_maker(void **state)
{
	struct maker t[2] = {{0}};
	struct world w = world();

	(void)state;
	submit(&w, 1, 0);
	submit(&w, 2, 1);
	whole_launch(&w, &t[0], 1);
	whole_launch(&w, &t[1], 2);
	oracle_host_wait(w.o, w.host, 2);
	assert_int_equal(t[0].made + t[1].made, 0);
	expect(&w, 0, false);

	w = world();
	submit(&w, 1, 0);
	submit(&w, 2, 0);
	whole_launch(&w, &t[0], 1);
	assert_int_equal(t[0].made, 0);
	whole_launch(&w, &t[1], 2);
	assert_int_equal(t[0].made, 1);
	assert_int_equal(t[1].made, 1);
	expect(&w, 1, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_made),
		cmocka_unit_test(test_unordered),
		cmocka_unit_test(test_after_one_of_two),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_grid),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_maker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
