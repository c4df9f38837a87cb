/*
 * test_word.c - the history word: fields, and what happens where one is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "host.h"
#include "hirace/hirace.h"

uint32_t host_overlapping;

static const uint8_t *table;

static uint64_t draw(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

static void same_word(struct hirace_word a, uint32_t bits)
{
	struct hirace_word b = hirace_decode(hirace_encode(a, bits), bits);

	assert_int_equal(a.state, b.state);
	assert_int_equal(a.stamp, b.stamp);
	assert_int_equal(a.warp_clock, b.warp_clock);
	assert_int_equal(a.launch, b.launch);
	assert_int_equal(a.thread, b.thread);
	assert_int_equal(a.block_clock, b.block_clock);
}

static void encodes_and_decodes(void **state)
{
	uint64_t rng = 1;

	(void)state;
	for (uint32_t bits = HIRACE_THREAD_BITS_MIN; bits <= HIRACE_THREAD_BITS_MAX; bits++) {
		struct hirace_word last = {
			31, 63, 63, 1023, (1u << bits) - 1u, hirace_block_last(bits)};

		same_word(last, bits);
		assert_true(hirace_encode(last, bits) == UINT64_MAX);
		for (int i = 0; i < 2000; i++)
			same_word((struct hirace_word){(uint32_t)draw(&rng) & 31,
						       (uint32_t)draw(&rng) & 63,
						       (uint32_t)draw(&rng) & 63,
						       (uint32_t)draw(&rng) & 1023,
						       (uint32_t)draw(&rng) & last.thread,
						       (uint32_t)draw(&rng) & last.block_clock},
				  bits);
	}
}

/* The layout in the comment of race/layout/history.h, a bit of each field. */
static void lies_as_documented(void **state)
{
	struct hirace_word w = {0};

	(void)state;
	w.state = 1;
	assert_true(hirace_encode(w, 20) == 1ull << 0);
	w = (struct hirace_word){.stamp = 1};
	assert_true(hirace_encode(w, 20) == 1ull << 5);
	w = (struct hirace_word){.warp_clock = 1};
	assert_true(hirace_encode(w, 20) == 1ull << 11);
	w = (struct hirace_word){.launch = 1};
	assert_true(hirace_encode(w, 20) == 1ull << 17);
	w = (struct hirace_word){.thread = 1};
	assert_true(hirace_encode(w, 20) == 1ull << 27);
	w = (struct hirace_word){.block_clock = 1};
	assert_true(hirace_encode(w, 20) == 1ull << 47);
	w = (struct hirace_word){.stamp = 1000000};
	assert_int_equal(hirace_decode(hirace_encode(w, 20), 20).stamp, 63);
	assert_int_equal(hirace_decode(0, 20).state, HIRACE_INIT);
	assert_int_equal(hirace_thread_bits(1), 10);
	assert_int_equal(hirace_thread_bits(1u << 20), 20);
	assert_int_equal(hirace_thread_bits((1u << 20) + 1), 21);
	assert_int_equal(hirace_thread_bits(1ull << 40), 31);
	assert_int_equal(hirace_block_last(20), 131071);
	assert_int_equal(hirace_block_last(31), 63);
	assert_int_equal(hirace_block_last(10), (1 << 27) - 1);
}

static struct hirace_actor actor(uint32_t thread, uint32_t bits)
{
	struct hirace_actor a = {.thread = thread,
				 .block_first = thread / 64 * 64,
				 .block_size = 64,
				 .launch = 1,
				 .thread_bits = bits};

	return a;
}

/* Thread `first` writes, n barriers of the kind follow, thread `second` writes: what is found? */
static enum hirace_verdict apart(uint32_t n, bool is_warp, uint32_t bits, uint32_t first,
				 uint32_t second, uint32_t before)
{
	struct hirace_actor a = actor(first, bits), b = actor(second, bits);
	uint64_t word = 0, was;

	for (uint32_t i = 0; i < before; i++) {
		is_warp ? hirace_on_full_mask(&a, &host_none)
			: hirace_on_block_barrier(&a, &host_none);
		is_warp ? hirace_on_full_mask(&b, &host_none)
			: hirace_on_block_barrier(&b, &host_none);
	}
	hirace_update(&word, table, &a, HIRACE_W, &was);
	for (uint32_t i = 0; i < n; i++)
		is_warp ? hirace_on_full_mask(&b, &host_none)
			: hirace_on_block_barrier(&b, &host_none);
	return hirace_update(&word, table, &b, HIRACE_W, &was);
}

static const uint32_t counts[] = {1,	 2,	62,	63,	64,	65,	126,   127,  128,
				  254,	 255,	256,	257,	511,	512,	1023,  1024, 65535,
				  65536, 65537, 131070, 131071, 131072, 131073, 262144};

static void barriers_never_wrap(void **state)
{
	static const uint32_t widths[] = {10, 20, 28, 31};

	(void)state;
	for (size_t w = 0; w < 4; w++)
		for (size_t i = 0; i < BASE_COUNTOF(counts); i++) {
			/* What a barrier orders is no race, however many there are, */
			enum hirace_verdict v = apart(counts[i], false, widths[w], 0, 40, 0);
			assert_int_equal(v, counts[i] <= hirace_block_last(widths[w])
						    ? HIRACE_NO_RACE
						    : HIRACE_ASIDE);
			/* and what none orders is one as long as the clock fits. */
			v = apart(0, false, widths[w], 0, 40, counts[i]);
			assert_int_equal(v, counts[i] <= hirace_block_last(widths[w])
						    ? HIRACE_IS_RACE
						    : HIRACE_ASIDE);
		}
	/* 65,537 barriers fit a launch of a million threads. */
	assert_int_equal(apart(65537, false, 20, 0, 40, 0), HIRACE_NO_RACE);
	assert_int_equal(apart(0, false, 20, 0, 40, 65537), HIRACE_IS_RACE);
}

static void warp_barriers_never_wrap(void **state)
{
	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(counts); i++) {
		enum hirace_verdict v = apart(counts[i], true, 20, 0, 1, 0);
		assert_int_equal(v, counts[i] <= 63 ? HIRACE_NO_RACE : HIRACE_ASIDE);
		v = apart(0, true, 20, 0, 1, counts[i]);
		assert_int_equal(v, counts[i] <= 63 ? HIRACE_IS_RACE : HIRACE_ASIDE);
	}
}

/* A barrier of the block begins the warp's clock anew, so the warp is back. */
static void a_full_warp_clock_comes_back(void **state)
{
	struct hirace_actor a = actor(0, 20), b = actor(1, 20);
	uint64_t word = 0, was;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		hirace_on_full_mask(&a, &host_none);
		hirace_on_full_mask(&b, &host_none);
	}
	assert_int_equal(hirace_update(&word, table, &a, HIRACE_W, &was), HIRACE_ASIDE);
	assert_int_equal(word, 0);
	hirace_on_block_barrier(&a, &host_none);
	hirace_on_block_barrier(&b, &host_none);
	assert_int_equal(hirace_update(&word, table, &a, HIRACE_W, &was), HIRACE_NO_RACE);
	assert_int_equal(hirace_update(&word, table, &b, HIRACE_W, &was), HIRACE_IS_RACE);
}

static void thread_numbers_up_to_the_last(void **state)
{
	struct hirace_actor a = actor(0x7fffffc0u, 31), b = actor(0x7fffffffu, 31),
			    c = actor(0, 31);
	uint64_t word = 0, was;

	(void)state;
	assert_int_equal(hirace_update(&word, table, &a, HIRACE_R, &was), HIRACE_NO_RACE);
	assert_int_equal(hirace_update(&word, table, &b, HIRACE_W, &was), HIRACE_IS_RACE);
	assert_int_equal(hirace_decode(was, 31).thread, 0x7fffffc0u);
	/* Thread 2^31 would be thread 0 in 31 bits: it doesn't check. */
	word = 0;
	assert_int_equal(hirace_update(&word, table, &c, HIRACE_W, &was), HIRACE_NO_RACE);
	b.is_beyond = true;
	assert_int_equal(hirace_update(&word, table, &b, HIRACE_W, &was), HIRACE_ASIDE);
	b = actor(0x80000000u, 31);
	assert_int_equal(hirace_update(&word, table, &b, HIRACE_W, &was), HIRACE_ASIDE);
	assert_int_equal(hirace_decode(word, 31).thread, 0);
	assert_false(hirace_can_track(1ull << 31, 0, 0, 31));
	assert_false(hirace_can_track(1ull << 32, 0, 0, 31));
	assert_true(hirace_can_track((1ull << 31) - 1, 63, 63, 31));
}

/*
 * A million launches; in each, other locations are written by another thread. No word of an older
 * launch may be taken for one of this, and each race within a launch is found.
 */
static void a_million_launches(void **state)
{
	enum { WORDS = 1500 };
	static uint64_t words[WORDS];
	uint32_t launch = 1, sweeps = 0;
	uint64_t was;

	(void)state;
	for (uint32_t n = 0; n < 1000000; n++) {
		struct hirace_actor a = actor(n % 7 * 64, 20), b = actor(n % 7 * 64 + 64, 20);
		uint64_t *at = &words[n % WORDS];

		a.launch = b.launch = launch;
		assert_int_equal(hirace_update(at, table, &a, HIRACE_W, &was), HIRACE_NO_RACE);
		if (n % 3 == 0)
			assert_int_equal(hirace_update(at, table, &b, HIRACE_R, &was),
					 HIRACE_IS_RACE);
		launch = hirace_launch_next(launch);
		if (!launch) {
			for (uint32_t i = 0; i < WORDS; i++)
				words[i] = 0;
			launch = 1;
			sweeps++;
		}
	}
	assert_int_equal(sweeps, 1000000 / 1023);
}

/* Two grids that may overlap: no order, but what the later side has acquired may give one. */
static void overlapping_launches(void **state)
{
	struct hirace_actor a = actor(0, 20), b = actor(0, 20);
	uint64_t word = 0, was;

	(void)state;
	a.launch = 5;
	b.launch = 6;
	hirace_update(&word, table, &a, HIRACE_W, &was);
	host_overlapping = 5;
	assert_int_equal(hirace_judge(word, table, &b, HIRACE_R, 1).verdict, HIRACE_IS_RACE);
	b.block_clock = 3;
	assert_int_equal(hirace_judge(word, table, &b, HIRACE_R, 1).verdict, HIRACE_IS_RACE);
	b.stamps.own.acquired = 1;
	assert_int_equal(hirace_judge(word, table, &b, HIRACE_R, 1).verdict, HIRACE_POSSIBLE);
	/* However late the earlier side was in its own launch. */
	word = 0;
	a.stamps.own.now = 40;
	hirace_update(&word, table, &a, HIRACE_W, &was);
	assert_int_equal(hirace_judge(word, table, &b, HIRACE_R, 1).verdict, HIRACE_POSSIBLE);
	host_overlapping = 0;
	assert_int_equal(hirace_judge(word, table, &b, HIRACE_R, 1).verdict, HIRACE_NO_RACE);
}

/* A stamp of 63 and more is never taken for less than it is. */
static void full_stamps(void **state)
{
	struct hirace_actor a = actor(0, 20), b = actor(64, 20);
	uint64_t word, was;

	(void)state;
	for (uint32_t s = 60; s < 70; s++)
		for (uint32_t t = 60; t < 70; t++) {
			enum hirace_verdict v;

			a.stamps.own.now = s;
			b.stamps.own.now = b.stamps.own.acquired = t;
			word = 0;
			hirace_update(&word, table, &a, HIRACE_W, &was);
			v = hirace_update(&word, table, &b, HIRACE_W, &was);
			if (v == HIRACE_IS_RACE)
				assert_true(s >= t);
			else
				assert_true(t > s || t > 63);
		}
}

/* The store that a load races with, whoever has loaded since. */
static void sites_beside_a_word(void **state)
{
	const uint64_t one = 0x123456789abcdefull, two = 0xfedcba987654321ull;
	uint32_t left = race_history_sites(7, true, false, 0) | race_history_mix(one);

	(void)state;
	assert_int_equal(race_history_who(left, one, true, false), 8);
	assert_int_equal(race_history_who(left, one, false, false), 8);
	assert_int_equal(race_history_who(left, two, true, false), 0);
	left = race_history_sites(9, false, false, left) | race_history_mix(two);
	assert_int_equal(race_history_who(left, two, true, false), 8 | RACE_EARLIER_IS_OLDER);
	assert_int_equal(race_history_who(left, two, false, false), 10);
	/* An atomic after a store, and one by itself. */
	left = race_history_sites(3, false, true, left) | race_history_mix(one);
	assert_int_equal(race_history_who(left, one, false, true), 8 | RACE_EARLIER_IS_OLDER);
	assert_int_equal(race_history_who(left, one, false, false), 4);
	left = race_history_sites(3, false, true, 0) | race_history_mix(one);
	assert_int_equal(race_history_who(left, one, true, false), 4);
	/* Sites that don't fit. */
	left = race_history_sites(RACE_LEFT_SITES - 1u, true, false, 0) | race_history_mix(one);
	assert_int_equal(race_history_who(left, one, true, false), RACE_LEFT_SITES);
	left = race_history_sites(RACE_LEFT_SITES, true, false, 0) | race_history_mix(one);
	assert_int_equal(race_history_who(left, one, true, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_beside_a_word),
		cmocka_unit_test(encodes_and_decodes),
		cmocka_unit_test(lies_as_documented),
		cmocka_unit_test(barriers_never_wrap),
		cmocka_unit_test(warp_barriers_never_wrap),
		cmocka_unit_test(a_full_warp_clock_comes_back),
		cmocka_unit_test(thread_numbers_up_to_the_last),
		cmocka_unit_test(a_million_launches),
		cmocka_unit_test(overlapping_launches),
		cmocka_unit_test(full_stamps),
	};

	table = hirace_table(HIRACE_CORRECTED);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
