/*
 * test_glob.c - the patterns of options and suppressions.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

static void whole(void **state)
{
	(void)state;
	assert_true(base_glob("", ""));
	assert_false(base_glob("", "a"));
	assert_true(base_glob("*", ""));
	assert_true(base_glob("a*c", "abbc"));
	assert_false(base_glob("a*c", "abbcd"));
	assert_true(base_glob("a*b*c", "aXbYbZc"));
	assert_false(base_glob("b", "abc"));
}

/* Names of C++ have these characters of their own. */
static void only_the_star_is_special(void **state)
{
	(void)state;
	assert_true(base_glob("v::operator[](int)", "v::operator[](int)"));
	assert_false(base_glob("f?", "fx"));
	assert_false(base_glob("[ab]", "a"));
	assert_true(base_glob("a\\b", "a\\b"));
	assert_false(base_glob("^a$", "a"));
}

static void part(void **state)
{
	(void)state;
	assert_true(base_glob_part("b", "abc"));
	assert_true(base_glob_part("a*c", "xabbcx"));
	assert_false(base_glob_part("^b", "abc"));
	assert_true(base_glob_part("^a", "abc"));
	assert_false(base_glob_part("b$", "abc"));
	assert_true(base_glob_part("c$", "abcc"));
	assert_true(base_glob_part("^a*c$", "abcc"));
	assert_true(base_glob_part("", "abc"));
}

static void file(void **state)
{
	(void)state;
	assert_true(base_glob_file("a.c", "src/a.c"));
	assert_true(base_glob_file("src/*", "src/a.c"));
	assert_false(base_glob_file("a.c", "src/xa.c"));
	assert_true(base_glob_file("*.c", "a.c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(only_the_star_is_special),
		cmocka_unit_test(part),
		cmocka_unit_test(file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
