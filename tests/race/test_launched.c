/*
 * test_launched.c - lines of recorded launches: names as JSON, and hashes of those written.
 */
#include "race/launched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A quote, a backslash, control bytes and what is no UTF-8 in a kernel's name. */
static void names(void **state)
{
	static const char want[] =
		"{\"kernel\":\"a\\\"b\\\\c\\n\\u0001\\ufffdz\",\"block\":[1,2,3],"
		"\"grid\":[4,5,6],\"params\":[{\"offset\":8,\"bytes\":4,"
		"\"value\":7}]}\n";
	static const struct race_param_word word = {.off = 8, .bytes = 4, .value = 7};
	const struct race_launched l = {.kernel = "a\"b\\c\n\x01\xe9z",
					.block = {1, 2, 3},
					.grid = {4, 5, 6},
					.word = &word,
					.nwords = 1};
	char *out = malloc(race_launched_most(&l));

	(void)state;
	size_t n = race_launched_line(&l, NULL, out);
	assert_int_equal(n, strlen(want));
	assert_memory_equal(out, want, n);
	free(out);
}

/* The longest name: each byte takes six, and the line still fits. */
static void longest(void **state)
{
	enum { BYTES = 5000 };
	char name[BYTES + 1];

	(void)state;
	memset(name, 1, BYTES);
	name[BYTES] = 0;
	const struct race_launched l = {.kernel = name,
					.block = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
					.grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
	char *out = malloc(race_launched_most(&l));
	size_t n = race_launched_line(&l, NULL, out);
	assert_true(n > 6 * BYTES && n <= race_launched_most(&l));
	free(out);
}

/* A hash that is taken back is new again; those before it, also of its slot, are not. */
static void undone(void **state)
{
	struct race_lines s = {0};
	const uint64_t slots = 2 * RACE_LINES_MOST, hash[] = {5, 5 + slots, 5 + 2 * slots};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(race_lines_add(&s, hash[i]), RACE_LINES_NEW);
	race_lines_undo(&s, hash[2]);
	assert_int_equal(race_lines_add(&s, hash[0]), RACE_LINES_BEFORE);
	assert_int_equal(race_lines_add(&s, hash[1]), RACE_LINES_BEFORE);
	assert_int_equal(race_lines_add(&s, hash[2]), RACE_LINES_NEW);
	assert_int_equal(race_lines_add(&s, 0), RACE_LINES_NEW);
	race_lines_undo(&s, 0);
	assert_int_equal(race_lines_add(&s, 0), RACE_LINES_NEW);
	assert_int_equal(s.n, 4);
	free(s.slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(longest),
		cmocka_unit_test(undone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
