/*
 * test_shuffle.c - race/shuffle/blocks.h: a bijection for every grid, the same with and without 64
 * bits.
 */
#include "race/shuffle/hold.h"
#include "race/shuffle/blocks.h"
#include "race/shuffle/image.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ORDERS 4

static void check_bijection(const uint32_t size[3], const uint32_t cluster[3], uint32_t seed,
			    uint64_t grid)
{
	struct race_shuffle_keys k = race_shuffle_keys(seed);
	uint64_t n = (uint64_t)size[0] * size[1] * size[2];

	for (uint32_t order = 0; order < ORDERS; order++) {
		unsigned char *seen = calloc(n, 1);
		for (uint64_t i = 0; i < n; i++) {
			uint32_t b[3] = {(uint32_t)(i % size[0]), (uint32_t)(i / size[0] % size[1]),
					 (uint32_t)(i / size[0] / size[1])};
			uint32_t was[3];
			memcpy(was, b, sizeof(b));
			race_shuffle_block(order, &k, grid, size, cluster, b);
			for (int d = 0; d < 3; d++) {
				assert_true(b[d] < size[d]);
				assert_int_equal(b[d] % cluster[d], was[d] % cluster[d]);
			}
			uint64_t at = b[0] + size[0] * (b[1] + (uint64_t)size[1] * b[2]);
			assert_int_equal(seen[at]++, 0);
		}
		free(seen);
	}
}

static void test_bijection(void **state)
{
	static const uint32_t sizes[][3] = {{1, 1, 1},	 {2, 1, 1},    {3, 1, 1},     {97, 1, 1},
					    {256, 1, 1}, {1000, 1, 1}, {65537, 1, 1}, {7, 5, 3},
					    {1, 64, 1},	 {1, 1, 30},   {32, 32, 32},  {13, 1, 17}};
	static const uint32_t none[3] = {1, 1, 1};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(sizes); i++)
		for (uint32_t seed = 0; seed < 3; seed++)
			for (uint64_t grid = 1; grid < 5; grid++)
				check_bijection(sizes[i], none, seed, grid);
}

/* Blocks of one cluster stay together: their clusters' numbers are equal. */
static void test_clusters(void **state)
{
	static const uint32_t size[3] = {24, 6, 4}, cluster[3] = {4, 2, 1};
	struct race_shuffle_keys k = race_shuffle_keys(5);

	(void)state;
	for (uint64_t grid = 1; grid < 5; grid++)
		check_bijection(size, cluster, 5, grid);
	for (uint32_t x = 0; x < 24; x += 4) {
		uint32_t a[3] = {x, 2, 1}, b[3] = {x + 3, 3, 1};
		race_shuffle_block(RACE_SHUFFLE_AFFINE, &k, 1, size, cluster, a);
		race_shuffle_block(RACE_SHUFFLE_AFFINE, &k, 1, size, cluster, b);
		assert_int_equal(a[0] / 4, b[0] / 4);
		assert_int_equal(a[1] / 2, b[1] / 2);
		assert_int_equal(a[2], b[2]);
	}
}

static uint64_t common(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;
		a = b;
		b = r;
	}
	return a;
}

/* Grids too large to walk: a is coprime with them, and the arithmetic is that of 128 bits. */
static void test_huge(void **state)
{
	static const uint64_t sizes[] = {0x7fffffffull,		0x80000000ull,
					 0xffffffffull,		0x100000000ull,
					 0x7fffffffull * 65535, 0x7fffffffull * 65535 * 65535,
					 3ull * 1431655765 * 2, 0x40000000ull * 32768 * 65535};

	(void)state;
	for (size_t s = 0; s < BASE_COUNTOF(sizes); s++) {
		for (uint32_t seed = 0; seed < 50; seed++) {
			struct race_shuffle_keys k = race_shuffle_keys(seed);
			uint64_t n = sizes[s];
			uint32_t g = 1 + k.b, a = k.a[g >> 1 & 1], b = g * 0x9e3779b1u;

			assert_true(k.a[0] >> 31);
			assert_int_equal(common(n, k.a[0]), 1);
			for (uint64_t i = 0; i < 20; i++) {
				uint64_t x = i < 10 ? i : n - 1 - (i - 10) * 0x12345;
				uint64_t want = (uint64_t)(((unsigned __int128)x * a + b) % n);
				assert_int_equal(
					race_shuffle_linear(RACE_SHUFFLE_AFFINE, &k, 1, x, n),
					want);
				uint64_t v = race_shuffle_linear(RACE_SHUFFLE_FOLD, &k, 1, x, n);
				assert_int_equal(v < (n + 1) / 2 ? 2 * v : 2 * (n - 1 - v) + 1, x);
			}
		}
	}
}

static void test_fold(void **state)
{
	static const uint64_t want[] = {0, 6, 1, 5, 2, 4, 3};
	struct race_shuffle_keys k = race_shuffle_keys(0);

	(void)state;
	for (uint64_t i = 0; i < 7; i++)
		assert_int_equal(race_shuffle_linear(RACE_SHUFFLE_FOLD, &k, 9, i, 7), want[i]);
}

/* Four launches in a row are in four orders under auto. */
static void test_auto(void **state)
{
	struct race_shuffle_keys k = race_shuffle_keys(1);
	unsigned plain = 0, fold = 0;

	(void)state;
	for (uint64_t grid = 1; grid < 5; grid++) {
		bool is_plain = true, is_fold = true;
		for (uint64_t i = 0; i < 100; i++) {
			uint64_t v = race_shuffle_linear(RACE_SHUFFLE_AUTO, &k, grid, i, 100);
			is_plain &= v == i;
			is_fold &= v == race_shuffle_linear(RACE_SHUFFLE_FOLD, &k, grid, i, 100);
		}
		plain += is_plain;
		fold += is_fold;
	}
	assert_int_equal(plain, 1);
	assert_int_equal(fold, 1);
}

static uint64_t hash(const char *name)
{
	return base_hash(name, strlen(name), BASE_FNV_INIT);
}

static enum race_shuffle_verdict judge(uint64_t flags_a, uint64_t flags_b, const char *function)
{
	const uint64_t a[] = {flags_a, hash("kernel"), hash("helper")}, b[] = {flags_b, hash("f")};
	struct race_shuffle_image im = {0};

	race_shuffle_table(&im, a, sizeof(a));
	race_shuffle_table(&im, b, sizeof(b));
	race_shuffle_function(&im, "kernel", 6);
	race_shuffle_function(&im, "__collider_changed", 18);
	race_shuffle_function(&im, "$kernel$helper", 14);
	race_shuffle_function(&im, function, strlen(function));
	return race_shuffle_judge(&im);
}

static void test_images(void **state)
{
	struct race_shuffle_image none = {0};

	(void)state;
	assert_int_equal(judge(0, 0, "f"), RACE_SHUFFLE_FREE);
	assert_int_equal(judge(0, 0, "foreign"), RACE_SHUFFLE_KEEP);
	assert_int_equal(judge(0, RACE_SHUFFLE_FIXED, "f"), RACE_SHUFFLE_KEEP);
	assert_int_equal(judge(RACE_SHUFFLE_WAITS, 0, "f"), RACE_SHUFFLE_FREE);
	assert_int_equal(judge(RACE_SHUFFLE_WAITS, RACE_SHUFFLE_FOLLOWER, "f"),
			 RACE_SHUFFLE_WAITING);
	assert_int_equal(judge(RACE_SHUFFLE_CALLS, 0, "f"), RACE_SHUFFLE_FREE);
	assert_int_equal(judge(RACE_SHUFFLE_CALLS, RACE_SHUFFLE_STRONG, "f"), RACE_SHUFFLE_WAITING);
	assert_int_equal(judge(RACE_SHUFFLE_SKIPPED, 0, "f"), RACE_SHUFFLE_FREE);
	assert_int_equal(judge(RACE_SHUFFLE_SKIPPED, RACE_SHUFFLE_FOLLOWER, "f"),
			 RACE_SHUFFLE_KEEP);
	race_shuffle_function(&none, "kernel", 6);
	assert_int_equal(race_shuffle_judge(&none), RACE_SHUFFLE_KEEP);
}

/* --shuffle-streams: half of a stream's first launches wait, later ever fewer, for all lengths. */
static void test_hold(void **state)
{
	unsigned octaves[RACE_HOLD_OCTAVES] = {0}, first = 0, late = 0, differ = 0;

	(void)state;
	for (uint32_t seed = 0; seed < 100; seed++) {
		for (uint64_t launch = 0; launch < 64; launch++) {
			uint64_t ns = race_hold_ns(seed, 3, launch);
			unsigned octave = 0;

			assert_int_equal(ns, race_hold_ns(seed, 3, launch));
			differ += ns != race_hold_ns(seed, 4, launch);
			if (!ns)
				continue;
			first++;
			assert_true(ns >= RACE_HOLD_SHORT);
			while (ns >> octave >= 2 * RACE_HOLD_SHORT)
				octave++;
			assert_true(octave < RACE_HOLD_OCTAVES);
			octaves[octave]++;
		}
		for (uint64_t launch = 6400; launch < 12800; launch++)
			late += race_hold_ns(seed, 3, launch) != 0;
		assert_int_equal(race_hold_ns(seed, 3, UINT64_MAX), 0);
	}
	assert_in_range(first, 3000, 3400); /* of 6,400 */
	assert_in_range(late, 2000, 2450);  /* 100 * 32 * ln 2 = 2,218 */
	assert_true(differ > 4000);
	for (unsigned i = 0; i < RACE_HOLD_OCTAVES; i++)
		assert_in_range(octaves[i], 200, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bijection), cmocka_unit_test(test_clusters),
		cmocka_unit_test(test_huge),	  cmocka_unit_test(test_fold),
		cmocka_unit_test(test_auto),	  cmocka_unit_test(test_images),
		cmocka_unit_test(test_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
