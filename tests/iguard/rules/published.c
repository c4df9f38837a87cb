/*
 * published.c - the published rules: figures of the paper, Table 2 against its plain second form,
 * and the smallest programs that it judges wrongly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iguard/published.h"
#include "plain.h"

#define BLOCK 64u

/* Threads of three blocks of two warps, and one location, kept in both forms. */
static struct plain_thread thread[3 * BLOCK];
static struct plain_entry plain;
static struct iguard_entry packed;

static int setup(void **state)
{
	(void)state;
	memset(&plain, 0, sizeof(plain));
	memset(&packed, 0, sizeof(packed));
	memset(thread, 0, sizeof(thread));
	for (unsigned t = 0; t < 3 * BLOCK; t++) {
		thread[t].thread = t;
		thread[t].warp = t / 32;
		thread[t].block = t / BLOCK;
		thread[t].active = 1u << t % 32;
	}
	return 0;
}

static struct iguard_pub_counters counters_of(unsigned t)
{
	struct iguard_pub_counters c = {thread[t].dev_fence, thread[t].blk_fence, thread[t].blk_bar,
					thread[t].warp_bar};

	return c;
}

/* An access: both forms agree; the rule. */
static const char *access_by(unsigned t, enum plain_type type, bool is_block_scope)
{
	static const char *const names[] = {"", "R1", "R2", "R3", "R4", "R5"};
	struct iguard_pub_actor me = {t, BLOCK, thread[t].active, thread[t].locks, counters_of(t)};
	struct iguard_pub_access a = {type == PLAIN_LOAD, type == PLAIN_ATOMIC, is_block_scope};
	unsigned before = type == PLAIN_LOAD ? plain.writer.thread : plain.accessor.thread;
	struct iguard_pub_counters earlier = counters_of(before);
	const char *rule = plain_check(&plain, &thread[t], type, &thread[before], true);

	assert_string_equal(names[iguard_pub_check(packed, &me, &a, &earlier)], rule);
	plain_update(&plain, &thread[t], type, is_block_scope);
	packed = iguard_pub_update(packed, &me, &a);
	return rule;
}

static const char *load(unsigned t)
{
	return access_by(t, PLAIN_LOAD, false);
}

static const char *store(unsigned t)
{
	return access_by(t, PLAIN_STORE, false);
}

static void block_barrier(unsigned b)
{
	for (unsigned t = b * BLOCK; t < (b + 1) * BLOCK; t++)
		thread[t].blk_bar++;
}

static void warp_barrier(unsigned w)
{
	for (unsigned t = w * 32; t < (w + 1) * 32; t++)
		thread[t].warp_bar++;
}

static void figure_1_work_stealing(void **state)
{
	(void)state;
	assert_string_equal(access_by(0, PLAIN_ATOMIC, true), "");
	assert_string_equal(access_by(BLOCK, PLAIN_ATOMIC, false), "R1");
}

static void figure_3_group_too_small(void **state)
{
	(void)state;
	assert_string_equal(store(BLOCK), "");
	block_barrier(0);
	block_barrier(1);
	assert_string_equal(load(0), "R4");
}

static void figure_8_missing_syncwarp(void **state)
{
	(void)state;
	assert_string_equal(store(1), "");
	assert_string_equal(load(0), "R2");
}

static void figure_8_with_syncwarp(void **state)
{
	(void)state;
	assert_string_equal(store(1), "");
	warp_barrier(0);
	assert_string_equal(load(0), "");
}

static void figure_9_locks_of_threads(void **state)
{
	(void)state;
	thread[0].locks = 3;
	thread[1].locks = 12;
	assert_string_equal(store(0), "");
	thread[0].dev_fence++;
	assert_string_equal(store(1), "R5");
}

/* What the paper gets wrong, and update.h doesn't. */
static void lanes_active_together_are_not_ordered(void **state)
{
	(void)state;
	thread[0].active = thread[1].active = 3;
	assert_string_equal(store(1), "");
	assert_string_equal(load(0), ""); /* a race: nothing orders the two */
}

static void grid_barrier_by_thread_0_is_blamed(void **state)
{
	(void)state;
	assert_string_equal(store(BLOCK + 5), "");
	block_barrier(1);
	thread[BLOCK].dev_fence++; /* thread 0 of the block fences for all */
	assert_string_equal(load(7), "R4");
}

static void counters_wrap_after_256_barriers(void **state)
{
	(void)state;
	store(0);
	for (unsigned i = 0; i < 256; i++)
		block_barrier(0);
	assert_string_equal(load(33), "R3"); /* ordered 256 times */
}

static void an_earlier_reader_is_forgotten(void **state)
{
	(void)state;
	load(0);
	load(BLOCK);
	thread[BLOCK].dev_fence++;
	assert_string_equal(store(2 * BLOCK), ""); /* races with thread 0, which hasn't fenced */
}

static uint32_t rng = 1;

static unsigned draw(unsigned below)
{
	rng = rng * 1664525u + 1013904223u;
	return (rng >> 8) % below;
}

/* access_by() compares the two forms at every step. */
static void random_histories(void **state)
{
	unsigned rules = 0;

	for (unsigned run = 0; run < 3000; run++) {
		setup(state);
		for (unsigned i = 0; i < 40; i++) {
			unsigned t = draw(6) * 32 + draw(2), what = draw(12);

			if (what == 0)
				block_barrier(t / BLOCK);
			else if (what == 1)
				warp_barrier(t / 32);
			else if (what == 2)
				thread[t].dev_fence += draw(2) ? 1 : 63;
			else if (what == 3)
				thread[t].blk_fence++;
			else if (what == 4)
				thread[t].locks = draw(2) ? 1u << draw(16) | 1u << draw(16) : 0;
			else if (what == 5)
				thread[t].active = 1u << t % 32 | draw(4);
			else
				rules += *access_by(t, (enum plain_type)draw(3), draw(2)) != 0;
		}
	}
	assert_true(rules > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(figure_1_work_stealing, setup),
		cmocka_unit_test_setup(figure_3_group_too_small, setup),
		cmocka_unit_test_setup(figure_8_missing_syncwarp, setup),
		cmocka_unit_test_setup(figure_8_with_syncwarp, setup),
		cmocka_unit_test_setup(figure_9_locks_of_threads, setup),
		cmocka_unit_test_setup(lanes_active_together_are_not_ordered, setup),
		cmocka_unit_test_setup(grid_barrier_by_thread_0_is_blamed, setup),
		cmocka_unit_test_setup(counters_wrap_after_256_barriers, setup),
		cmocka_unit_test_setup(an_earlier_reader_is_forgotten, setup),
		cmocka_unit_test_setup(random_histories, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
