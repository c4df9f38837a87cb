/*
 * test_noted.c - what all launches had in common, and its file (race/noted.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "race/noted.h"

static bool add(struct race_noted *all, uint32_t threads, uint32_t blocks, int n, int k)
{
	uint64_t pointer = 0x7f123456789a;
	const uint32_t dim[6] = {threads, 2, 1, blocks, 1, 1};
	const void *params[] = {&pointer, &n, &k};

	return race_noted_add(all, dim, params, 6);
}

static void dimensions_that_differ_have_bounds(void **state)
{
	struct race_noted all;

	(void)state;
	race_noted_init(&all, 1);
	assert_false(add(&all, 32, 0, 16, 0)); /* no driver takes it */
	assert_false(all.has_launch);
	assert_true(add(&all, 32, 4, 16, 0));
	assert_int_equal(all.scalars, 6);
	assert_false(add(&all, 32, 4, 16, 0));
	assert_int_equal(all.dim[3].least, 4);
	assert_int_equal(all.dim[3].most, 4);
	assert_true(add(&all, 32, 8, 16, 0));
	assert_false(add(&all, 32, 15, 16, 0));
	assert_int_equal(all.dim[3].least, 4);
	assert_int_equal(all.dim[3].most, 15);
	assert_int_equal(all.dim[0].least, 32);
	assert_int_equal(all.dim[0].most, 32);
	assert_int_equal(all.scalars, 6);
	/* Parameters that aren't known have no bounds. */
	const uint32_t dim[6] = {32, 2, 1, 8, 1, 1};
	assert_true(race_noted_add(&all, dim, NULL, 6));
	assert_int_equal(all.scalars, 0);
}

/* A file may name parameters that the module doesn't have. */
static void only_the_modules_scalars_are_read(void **state)
{
	struct race_noted all;

	(void)state;
	race_noted_init(&all, 1);
	assert_true(add(&all, 32, 4, 16, 0));
	all.scalars |= 1ull << 63 | 1;
	assert_false(add(&all, 32, 4, 16, 0));
	assert_int_equal(all.scalars, 6);
}

static void scalars_that_differ_have_bounds(void **state)
{
	struct race_noted all;

	(void)state;
	race_noted_init(&all, 1);
	assert_true(add(&all, 32, 4, 16, 5));
	assert_int_equal(all.scalar[1].least, 16);
	assert_int_equal(all.scalar[1].most, 16);
	/* Which don't move with each launch. */
	for (int k = 0; k < 100; k++)
		assert_int_equal(add(&all, 32, 4, 16, 5 + k),
				 k == 1 || 5 + k == 8 || 5 + k == 16 || 5 + k == 32 || 5 + k == 64);
	assert_int_equal(all.scalar[2].least, 5);
	assert_int_equal(all.scalar[2].most, 127);
	assert_int_equal(all.scalar[1].most, 16);
	assert_true(add(&all, 32, 4, 16, 3));
	assert_int_equal(all.scalar[2].least, 2);
	assert_true(add(&all, 32, 4, 16, 0));
	assert_int_equal(all.scalar[2].least, 0);
	assert_true(add(&all, 32, 4, 16, INT32_MAX));
	assert_int_equal(all.scalar[2].most, INT32_MAX);
	assert_false(add(&all, 32, 4, 16, 128));
	assert_int_equal(all.scalars, 6);
}

static void negative_numbers_are_not_noted(void **state)
{
	struct race_noted all;

	(void)state;
	race_noted_init(&all, 1);
	assert_true(add(&all, 32, 4, -1, 0));
	assert_int_equal(all.scalars, 4);
	assert_true(add(&all, 32, 4, 1, -1));
	assert_int_equal(all.scalars, 0);
	assert_int_equal(all.scalar[2].most, 0);
	assert_false(add(&all, 32, 4, 1, 7)); /* it doesn't come back */
	assert_int_equal(all.scalars, 0);
}

static void no_pointer_is_noted(void **state)
{
	static const uint64_t pointer = 0x7f123456789a;
	struct race_noted all;
	const char *p = (const char *)&all;

	(void)state;
	race_noted_init(&all, 1);
	add(&all, 32, 4, 16, 0);
	for (size_t i = 0; i + sizeof(pointer) <= sizeof(all); i++)
		assert_memory_not_equal(p + i, &pointer, sizeof(pointer));
}

static void a_file_is_whole_or_none(void **state)
{
	char folder[] = "/tmp/noted.XXXXXX", path[64];
	struct race_noted all, read;

	(void)state;
	assert_non_null(mkdtemp(folder));
	race_noted_init(&all, 0xabcdef);
	add(&all, 32, 4, 16, 0);
	assert_false(race_noted_read(folder, all.id, &read));
	assert_true(race_noted_write(folder, &all));
	assert_true(race_noted_read(folder, all.id, &read));
	assert_memory_equal(&all, &read, sizeof(all));
	snprintf(path, sizeof(path), "%s/%016llx-launches", folder, (unsigned long long)all.id);
	assert_int_equal(access(path, F_OK), 0);
	/* A number of another launch, with the old sum. */
	int fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "\x11", 1, offsetof(struct race_noted, scalar[1])), 1);
	assert_false(race_noted_read(folder, all.id, &read));
	assert_int_equal(ftruncate(fd, sizeof(all) - 1), 0);
	close(fd);
	assert_false(race_noted_read(folder, all.id, &read));
	/* Another kernel's. */
	assert_true(race_noted_write(folder, &all));
	char other[64];
	snprintf(other, sizeof(other), "%s/%016llx-launches", folder, 1ull);
	assert_int_equal(rename(path, other), 0);
	assert_false(race_noted_read(folder, 1, &read));
	assert_int_equal(unlink(other), 0);
	assert_int_equal(rmdir(folder), 0); /* nothing else is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dimensions_that_differ_have_bounds),
		cmocka_unit_test(only_the_modules_scalars_are_read),
		cmocka_unit_test(scalars_that_differ_have_bounds),
		cmocka_unit_test(negative_numbers_are_not_noted),
		cmocka_unit_test(no_pointer_is_noted),
		cmocka_unit_test(a_file_is_whole_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
