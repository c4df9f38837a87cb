/*
 * test_hand.c - the handing out of runs: each run once, lost ones again, the end; and in virtual
 * time a thousand ranks, which must be busy for nine tenths of it.
 */
#include "mpi/hand.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATIENCE 2000000u /* us */

static void test_once(void **state)
{
	struct hand h;
	bool seen[100] = {false};

	(void)state;
	assert_true(hand_init(&h, 100, true));
	hand_done(&h, 7, 0, NULL, 0);
	for (unsigned i = 0; i < 99; i++) {
		uint32_t run = hand_next(&h, i, PATIENCE);
		assert_true(run < 100 && run != 7 && !seen[run]);
		seen[run] = true;
		assert_false(hand_is_over(&h));
		if (i > 3)
			hand_done(&h, run, i, NULL, 0);
	}
	assert_int_equal(hand_next(&h, 100, PATIENCE), HAND_NONE);
	assert_false(hand_is_over(&h));
	for (unsigned i = 0; i < 4; i++)
		hand_done(&h, i, 101, NULL, 0);
	assert_true(hand_is_over(&h));
	hand_free(&h);
}

static void test_lost(void **state)
{
	struct hand h;

	(void)state;
	assert_true(hand_init(&h, 3, true));
	assert_int_equal(hand_next(&h, 0, PATIENCE), 0);
	assert_int_equal(hand_next(&h, 1, PATIENCE), 1);
	assert_int_equal(hand_next(&h, 2, PATIENCE), 2);
	/* Known to be lost: at once. */
	hand_lost(&h, 1);
	assert_int_equal(hand_next(&h, 10, PATIENCE), 1);
	/* Silent: after patience, and thrice the longest run. */
	hand_done(&h, 1, 1000010, NULL, 0);
	assert_int_equal(hand_next(&h, PATIENCE + 1, PATIENCE), HAND_NONE);
	assert_int_equal(hand_next(&h, 3000001, PATIENCE), 0);
	assert_int_equal(hand_next(&h, 3000002, PATIENCE), 2);
	hand_done(&h, 0, 3100000, NULL, 0);
	hand_done(&h, 0, 3100001, NULL, 0); /* both ranks have made it */
	assert_int_equal(h.ndone, 2);
	hand_done(&h, 2, 3200000, NULL, 0);
	hand_lost(&h, 2);
	assert_true(hand_is_over(&h));
	hand_free(&h);
}

static void test_saturated(void **state)
{
	const uint64_t both[] = {1, 2};
	struct hand h;

	(void)state;
	for (unsigned goes_on = 0; goes_on < 2; goes_on++) {
		assert_true(hand_init(&h, 1000, goes_on));
		hand_done(&h, 0, 0, both, 2);
		for (unsigned i = 1; i < 19; i++)
			hand_done(&h, i, 0, both, 1);
		assert_false(hand_is_over(&h)); /* 19 runs */
		hand_done(&h, 19, 0, both, 1);
		assert_false(hand_is_over(&h)); /* one was seen once */
		hand_done(&h, 20, 0, both + 1, 1);
		assert_int_equal(hand_is_over(&h), !goes_on);
		assert_int_equal(hand_next(&h, 0, PATIENCE), goes_on ? 21 : HAND_NONE);
		hand_free(&h);
	}
}

/* ---- a thousand ranks --------------------------------------------------------------------- */

/* Milliseconds of processor time of a run on the CPU device: the examples and the programs of
 * tests/hadron, one each, both detectors. */
static const unsigned run_ms[] = {
#include "run_ms.h"
};

#define RANKS	1000u
#define RUNS	100000u
#define WAY	1000u /* us: a message, and the look for it */
#define SERVICE 50u   /* us of rank 0 for a message; it takes one after the other */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Each run takes what one of the programs does, a fourth more or less. */
static uint64_t time_of(uint32_t run)
{
	uint64_t h = mix(run + 1), ms = run_ms[h % (sizeof(run_ms) / sizeof(run_ms[0]))];

	return ms * 750 + ms * (h >> 32) % (ms * 500 + 1);
}

static void test_thousand(void **state)
{
	uint64_t asks[RANKS], busy = 0, server = 0, end = 0;
	uint32_t run[RANKS], made = 0;
	unsigned left = RANKS;
	struct hand h;

	(void)state;
	assert_true(hand_init(&h, RUNS, true));
	for (unsigned r = 0; r < RANKS; r++) {
		asks[r] = mix(r + 77) % 100000; /* processes start within 100 ms */
		run[r] = HAND_NONE;
	}
	while (left) {
		unsigned r = 0;
		for (unsigned i = 1; i < RANKS; i++)
			if (asks[i] < asks[r])
				r = i;
		if (asks[r] == UINT64_MAX)
			break;
		server = (asks[r] > server ? asks[r] : server) + SERVICE;
		if (run[r] != HAND_NONE) {
			hand_done(&h, run[r], server, NULL, 0);
			end = asks[r] > end ? asks[r] : end;
		}
		run[r] = hand_next(&h, server, PATIENCE);
		if (run[r] == HAND_NONE) {
			/* Rank 0 keeps it waiting, or the sweep is over. */
			asks[r] = hand_is_over(&h) ? UINT64_MAX : server + 2000;
			left -= hand_is_over(&h);
			continue;
		}
		made++;
		busy += time_of(run[r]);
		asks[r] = server + 2 * WAY + time_of(run[r]);
	}
	assert_int_equal(h.ndone, RUNS);
	double part = (double)busy / ((double)end * RANKS);
	print_message("%u ranks, %u runs (%u made): busy %.1f%%\n", RANKS, RUNS, made, part * 100);
	assert_true(part > 0.9);
	/* Nothing was lost, so hardly a run was made twice. */
	assert_true(made < RUNS + RUNS / 100);
	hand_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_saturated),
		cmocka_unit_test(test_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
