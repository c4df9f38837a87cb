/*
 * test_judge_choice.c - which launches a judge takes, which blocks, and when it stops.
 *
 * A launch is played: a trial costs what its blocks cost, and waits where the test says so. What is
 * decided is compared with the rules as the head of choice.h and docs/judge.md have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "race/judge/choice.h"

#define MS 1000000ull

/* How a launch behaves. */
struct play {
	uint64_t units;
	uint32_t unit_blocks;
	uint64_t block_ns;
	uint64_t waits_below; /* units */
};

struct outcome {
	uint32_t trials, seeds; /* seeds: with the last number of units */
	uint64_t units;		/* of the last trial */
	enum race_judge_why why;
};

static struct outcome play(const struct race_judge_policy *p, const struct play *x)
{
	struct race_judge_question q = {.units = x->units, .unit_blocks = x->unit_blocks};
	struct outcome o = {0};

	for (;;) {
		struct race_judge_decision d = race_judge_decide(p, &q);
		o.why = d.why;
		if (d.why != RACE_JUDGE_TRY)
			return o;
		assert_true(d.units >= 1 && d.units <= x->units);
		assert_true(d.limit_ns > 0);
		assert_true(d.units >= q.last_units);
		assert_int_equal(d.seed, d.units == q.last_units ? q.last_seeds : 0);
		q.last_seeds = d.units == q.last_units ? q.last_seeds + 1 : 1;
		q.last_units = d.units;
		q.last_ns = d.units * x->unit_blocks * x->block_ns;
		if (q.last_ns > d.limit_ns)
			q.last_ns = d.limit_ns;
		q.last_waits = d.units < x->waits_below;
		q.launch_ns += q.last_ns;
		q.spent_ns += q.last_ns;
		q.trials++;
		o = (struct outcome){q.trials, q.last_seeds, d.units, d.why};
		assert_true(o.trials < 100);
	}
}

static void expect(const struct race_judge_policy *p, struct play x, struct outcome want)
{
	struct outcome o = play(p, &x);

	assert_int_equal(o.why, want.why);
	assert_int_equal(o.units, want.units);
	assert_int_equal(o.seeds, want.seeds);
	assert_int_equal(o.trials, want.trials);
}

static void test_blocks(void **state)
{
	const struct race_judge_policy p = race_judge_policy_default();

	(void)state;
	/* Small grids whole, with three seeds while they are quick. */
	expect(&p, (struct play){16, 1, MS / 10, 0}, (struct outcome){3, 3, 16, RACE_JUDGE_ENDED});
	expect(&p, (struct play){1, 1, 40 * MS, 0}, (struct outcome){1, 1, 1, RACE_JUDGE_ENDED});
	expect(&p, (struct play){4, 4, MS / 10, 0}, (struct outcome){3, 3, 4, RACE_JUDGE_ENDED});
	/* Large ones: 6, 24, 96, 256 blocks, then seeds. */
	expect(&p, (struct play){100000, 1, MS / 100, 0},
	       (struct outcome){6, 3, 256, RACE_JUDGE_ENDED});
	/* Until a trial takes 0.1 s. */
	expect(&p, (struct play){100000, 1, 2 * MS, 0},
	       (struct outcome){3, 1, 96, RACE_JUDGE_DEAR});
	expect(&p, (struct play){100000, 1, 200 * MS, 0},
	       (struct outcome){1, 1, 6, RACE_JUDGE_DEAR});
	/* Clusters of 8: 6, 24, then the 32 that have 256 blocks. */
	expect(&p, (struct play){1000, 8, MS / 1000, 0},
	       (struct outcome){5, 3, 32, RACE_JUDGE_ENDED});
	/* A grid between: no more than it has. */
	expect(&p, (struct play){20, 1, MS / 1000, 0},
	       (struct outcome){4, 3, 20, RACE_JUDGE_ENDED});
}

static void test_waits(void **state)
{
	struct race_judge_policy p = race_judge_policy_default();

	(void)state;
	/* Blocks that wait for others get them, dear or not; those that still wait no seeds. */
	expect(&p, (struct play){100000, 1, 30 * MS, 20},
	       (struct outcome){2, 1, 24, RACE_JUDGE_DEAR});
	expect(&p, (struct play){100000, 1, MS / 10, 100000},
	       (struct outcome){4, 1, 256, RACE_JUDGE_ENDED});
	/* Even where their number was asked for. */
	p.blocks = 2;
	expect(&p, (struct play){100000, 1, MS / 10, 0},
	       (struct outcome){3, 3, 2, RACE_JUDGE_ENDED});
	/* Of a small grid, too. */
	expect(&p, (struct play){16, 1, MS / 10, 0}, (struct outcome){3, 3, 2, RACE_JUDGE_ENDED});
	expect(&p, (struct play){100000, 1, MS / 10, 3},
	       (struct outcome){4, 3, 8, RACE_JUDGE_ENDED});
}

static void test_limits(void **state)
{
	struct race_judge_policy p = race_judge_policy_default();
	struct race_judge_question q = {.units = 64, .unit_blocks = 1};

	(void)state;
	/* All blocks, if that is asked for; no longer than 3 s. */
	p.blocks = UINT64_MAX;
	expect(&p, (struct play){1000, 1, MS / 1000, 0},
	       (struct outcome){3, 3, 1000, RACE_JUDGE_ENDED});
	expect(&p, (struct play){1000, 1, 10 * MS, 0},
	       (struct outcome){1, 1, 1000, RACE_JUDGE_DEAR});
	p.mode = RACE_JUDGE_VERIFY;
	p.blocks = 0;
	assert_int_equal(race_judge_decide(&p, &q).units, 64);
	/* A grid of few threads is small, too, however many blocks it has. */
	p.mode = RACE_JUDGE_AUTO;
	q.block_threads = 64;
	assert_int_equal(race_judge_decide(&p, &q).units, 64);
	q.block_threads = 65;
	assert_int_equal(race_judge_decide(&p, &q).units, 6);
	q.block_threads = 0;
	assert_int_equal(race_judge_decide(&p, &q).units, 6);
	/* A trial that ended early is not made again. */
	q.trials = 1;
	q.last_failed = true;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_FAILED);
}

static void test_launches(void **state)
{
	struct race_judge_policy p = race_judge_policy_default();
	struct race_judge_question q = {.units = 64, .unit_blocks = 1};

	(void)state;
	/* Two of each shape. */
	for (q.earlier = 0; q.earlier < 4; q.earlier++)
		assert_int_equal(race_judge_decide(&p, &q).why,
				 q.earlier < 2 ? RACE_JUDGE_TRY : RACE_JUDGE_SEEN);
	p.mode = RACE_JUDGE_ALL;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_TRY);
	q.is_proven = true;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_PROVEN);
	p.mode = RACE_JUDGE_OFF;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_NOT_ON);
	/* A fifth of the program's time, or 15 s. */
	p.mode = RACE_JUDGE_AUTO;
	q = (struct race_judge_question){.units = 64, .unit_blocks = 1};
	q.spent_ns = 15000 * MS - 1;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_TRY);
	q.spent_ns++;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_NO_TIME);
	q.program_ns = 100000 * MS;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_TRY);
	q.spent_ns = 20000 * MS;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_NO_TIME);
	p.mode = RACE_JUDGE_ALL;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_TRY);
	for (int w = 0; w < RACE_JUDGE_WHYS; w++)
		assert_int_equal(*race_judge_why_text((enum race_judge_why)w) == 0,
				 w == RACE_JUDGE_TRY);
}

/* At the program's end: a kernel's first trial is waited for longer than the rest. */
static void test_end(void **state)
{
	const struct race_judge_policy p = race_judge_policy_default();
	struct race_judge_question q = {
		.units = 64, .unit_blocks = 1, .program_ns = 1000 * MS, .waited_ns = 100 * MS};

	(void)state;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_TRY);
	assert_int_equal(race_judge_left_at_end(&p, &q, 0), 400 * MS);
	assert_int_equal(race_judge_left_at_end(&p, &q, 60 * MS), 340 * MS);
	assert_int_equal(race_judge_left_at_end(&p, &q, 3000 * MS), 300 * MS);
	/* All first trials together: no more than two of them. */
	q.waited_ns = 700 * MS;
	assert_int_equal(race_judge_left_at_end(&p, &q, 0), 100 * MS);
	q.waited_ns = 800 * MS;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_HASTE);
	q.waited_ns = 100 * MS;
	q.is_known = true;
	assert_int_equal(race_judge_left_at_end(&p, &q, 0), 50 * MS);
	q.waited_ns = 200 * MS;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_HASTE);
	/* A tenth of a program's time, if that is more. */
	q.program_ns = 8000 * MS;
	assert_int_equal(race_judge_left_at_end(&p, &q, 0), 600 * MS);
	q.is_known = false;
	q.trials = 1;
	q.last_units = 6;
	q.last_ns = q.launch_ns = MS;
	assert_int_equal(race_judge_left_at_end(&p, &q, 0), 600 * MS);
	q.waited_ns = 800 * MS;
	assert_int_equal(race_judge_decide(&p, &q).why, RACE_JUDGE_HASTE);
	/* Whatever is asked of a trial, the budget is kept. */
	q.waited_ns = 0;
	q.spent_ns = 15000 * MS - 7;
	assert_int_equal(race_judge_decide(&p, &q).limit_ns, 7);
}

static void test_pick(void **state)
{
	uint64_t v[300];

	(void)state;
	assert_int_equal(race_judge_pick(1000, 6, v), 6);
	const uint64_t six[] = {0, 1, 2, 3, 500, 999};
	assert_memory_equal(v, six, sizeof(six));
	/* Whatever the numbers: rising, of the grid, the first one and the last. */
	for (uint64_t units = 1; units < 300; units++)
		for (uint64_t want = 1; want < 300; want += 1 + want / 7) {
			uint64_t n = race_judge_pick(units, want, v);
			assert_true(n >= 1 && n <= want && n <= units && v[0] == 0);
			assert_true(want < 6 || v[n - 1] == units - 1);
			for (uint64_t i = 1; i < n; i++)
				assert_true(v[i] > v[i - 1] && v[i] < units);
			if (want >= units)
				assert_int_equal(n, units);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_launches),
		cmocka_unit_test(test_end),    cmocka_unit_test(test_pick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
