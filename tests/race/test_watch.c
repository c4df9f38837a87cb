/*
 * test_watch.c - the bits of a watchpoint (race/layout/watch.h) against sets of bytes.
 *
 * An access and a watchpoint meet exactly if they share a byte and one of them writes: all sizes at
 * all places of three granules, two of which share a slot.
 */
#include "race/layout/watch.h"
#include "race/race.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

static bool share_a_byte(uint64_t a, uint32_t na, uint64_t b, uint32_t nb)
{
	return a < b + nb && b < a + na;
}

static uint64_t slot_of(uint64_t at, bool is_shared)
{
	return at >> 2 & (is_shared ? RACE_WATCH_SHARED_MASK : RACE_WATCH_MASK);
}

/* All words of an access of that many bytes. */
static uint32_t all_words(uint32_t log)
{
	return log < 2 ? 1u : (1u << (1u << (log - 2u))) - 1u;
}

static void pair(uint64_t a, uint32_t la, uint64_t b, uint32_t lb, bool is_shared)
{
	for (uint32_t writes = 0; writes < 4; writes++) {
		uint64_t word = race_watch_encode(a, is_shared, la, writes & 1u, 77, 5);
		uint32_t what = (writes & 2u ? RACE_WATCH_IS_WRITE : 0) |
				(is_shared ? RACE_WATCH_IS_SHARED : 0);
		uint32_t bytes = race_watch_own_bytes(b, lb, all_words(lb));
		bool meets = slot_of(a, is_shared) == slot_of(b, is_shared) &&
			     race_watch_meets(word, b, what, bytes);

		assert_int_equal(meets, writes && share_a_byte(a, 1u << la, b, 1u << lb));
		/* Neither a free slot nor one whose watchpoint was met is one. */
		assert_false(race_watch_meets(race_watch_free(word), b, what, bytes));
		assert_false(race_watch_meets(race_watch_seen(word, 63, 4095), b, what, bytes));
	}
}

static void pairs_around(uint64_t base, bool is_shared)
{
	const uint64_t alias = (uint64_t)(is_shared ? RACE_WATCH_SHARED_SLOTS : RACE_WATCH_SLOTS)
			       << RACE_WATCH_GRANULE;
	const uint64_t granules[] = {base, base + 32, base + alias};

	for (uint32_t la = 0; la <= 5; la++)
		for (uint32_t lb = 0; lb <= 5; lb++)
			for (uint32_t i = 0; i < 32; i += 1u << la)
				for (unsigned g = 0; g < 3; g++)
					for (uint32_t j = 0; j < 32; j += 1u << lb)
						pair(base + i, la, granules[g] + j, lb, is_shared);
}

static void meets_what_shares_a_byte(void **state)
{
	(void)state;
	pairs_around(0, false);
	pairs_around(0x7f0012345660, false);
	pairs_around((1ull << RACE_WATCH_ADDRESS_BITS) - 4096 - (64ull << 20), false);
	pairs_around(1024, true);
	pairs_around(200u << 10, true);
}

static void fields_stay_apart(void **state)
{
	uint64_t word = race_watch_encode(~0ull >> 15, false, 7, 1, ~0u, ~0u), seen;

	(void)state;
	assert_true(word == ~RACE_WATCH_CROSSED);
	assert_int_equal(race_watch_free(word), RACE_WATCH_GENERATION);
	assert_true(race_watch_is_free(race_watch_free(word)));
	assert_true(race_watch_is_free(0));
	assert_false(race_watch_is_free(word));
	/* The first address, size and warp: still a watchpoint. */
	assert_false(race_watch_is_free(race_watch_encode(0, false, 0, 0, 0, 0)));
	for (uint32_t i = 0; i < RACE_SLOTS; i++) {
		seen = race_watch_seen(word, i & 63u, i);
		assert_int_equal(race_watch_record(seen), i);
		assert_int_equal(race_watch_context(seen), i & 63u);
		assert_false(race_watch_is_free(seen));
		assert_int_equal(race_watch_free(seen), race_watch_free(word));
	}
}

/* After 2^16 watchpoints a generation comes again, not before. */
static void generations_differ(void **state)
{
	uint64_t first = race_watch_encode(64, false, 2, 1, 3, 1), w = first;

	(void)state;
	for (uint32_t i = 0; i < 65535; i++) {
		w = race_watch_encode(64, false, 2, 1, 3, (uint32_t)race_watch_free(w) + 1u);
		assert_true(w != first);
	}
	w = race_watch_encode(64, false, 2, 1, 3, (uint32_t)race_watch_free(w) + 1u);
	assert_true(w == first);
}

static void halves_keep_their_fields(void **state)
{
	uint64_t h = RACE_WATCH_HALF_OF(1u << 24, 1023, 1022, 63, 255);

	(void)state;
	assert_true(h & RACE_WATCH_HALF);
	assert_int_equal(RACE_WATCH_HALF_SITE(h), 1u << 24);
	assert_int_equal(RACE_WATCH_HALF_X(h), 1023);
	assert_int_equal(RACE_WATCH_HALF_Y(h), 1022);
	assert_int_equal(RACE_WATCH_HALF_Z(h), 63);
	assert_int_equal(RACE_WATCH_HALF_RANK(h), 255);
	assert_int_equal(RACE_WATCH_HALF_RANK(RACE_WATCH_HALF_OF(1u << 24, 2047, 2047, 127, 0)), 0);
}

/* A block of a grid of clusters of 2 x 2 as the record keeps it. */
static uint64_t block_of(uint32_t x, uint32_t y)
{
	return (uint64_t)y << 32 | x;
}

/* A hit on memory of a cluster is a finding exactly if grid, cluster and the owner's rank agree. */
static void one_owner_is_exact(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t j = 0; j < 16; j++)
			for (uint32_t rank = 0; rank < 4; rank++) {
				struct race_record r = {
					.flags = RACE_REC_TWO_SIDES | RACE_REC_ONE_OWNER,
					.block = {i % 4, i / 4, 0},
					.cluster = 2 | 2 << 8 | 1 << 16,
					.grid = 7,
					.was = {1, 7},
					.now = {RACE_WATCH_HALF_OF(1, 5, 6, 7, rank),
						block_of(j % 4, j / 4)},
					.sm = 131 | 3u << RACE_WATCH_SM_RANK_AT};
				bool is_same = i % 4 / 2 == j % 4 / 2 && i / 8 == j / 8;
				assert_int_equal(race_is_one_owner(&r), is_same && rank == 3);
				r.was[1] = 8; /* another grid */
				assert_false(race_is_one_owner(&r));
				r.was[1] = 7;
				r.now[0] = 0; /* one half */
				assert_false(race_is_one_owner(&r));
				r.now[0] = RACE_WATCH_HALF_OF(1, 5, 6, 7, 3);
				r.cluster = 2; /* damaged */
				assert_false(race_is_one_owner(&r));
			}
}

/* No two blocks of a cluster have one address for different bytes. */
static void ranks_have_keys_of_their_own(void **state)
{
	const uint64_t most = 256u << 10; /* bytes of a block, at least */

	(void)state;
	for (uint32_t a = 0; a < 16; a++)
		for (uint32_t b = 0; b < a; b++)
			assert_true(a * RACE_WATCH_RANK_STEP - b * RACE_WATCH_RANK_STEP >= most);
	/* The highest hash, rank and offset are still an address. */
	assert_true(((1ull << RACE_WATCH_ADDRESS_BITS) - (1ull << RACE_WATCH_CLUSTER_AT)) +
			    RACE_WATCH_KEY_LOW + 15 * RACE_WATCH_RANK_STEP +
			    RACE_WATCH_OFFSET_MASK <
		    1ull << RACE_WATCH_ADDRESS_BITS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meets_what_shares_a_byte),
		cmocka_unit_test(fields_stay_apart),
		cmocka_unit_test(generations_differ),
		cmocka_unit_test(halves_keep_their_fields),
		cmocka_unit_test(one_owner_is_exact),
		cmocka_unit_test(ranks_have_keys_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
