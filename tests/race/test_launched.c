/*
 * test_launched.c - lines of recorded launches: names as JSON.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(longest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
