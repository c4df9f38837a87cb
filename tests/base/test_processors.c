/*
 * test_processors.c - processors of a control group, from folders as the kernel shows them.
 */
#include "base/processors.h"
#include "base/base.h"

#include <limits.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char root[64];

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/collider_groups_XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void make(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(base_write_file(path, text, strlen(text)), 0);
}

static unsigned ask(const char *groups)
{
	char path[256];

	put("groups", groups);
	snprintf(path, sizeof(path), "%s/groups", root);
	return base_cgroup_processors(path, root);
}

static void unified(void **state)
{
	(void)state;
	assert_int_equal(ask("0::/\n"), UINT_MAX);
	make("a");
	make("a/b");
	assert_int_equal(ask("0::/a/b\n"), UINT_MAX);
	put("a/b/cpu.max", "max 100000\n");
	assert_int_equal(ask("0::/a/b\n"), UINT_MAX);
	put("a/b/cpu.max", "250000 100000\n"); /* two and a half */
	assert_int_equal(ask("0::/a/b\n"), 3);
	put("a/cpu.max", "200000 100000\n"); /* the one above has less */
	assert_int_equal(ask("0::/a/b\n"), 2);
	put("a/b/cpu.max", "1000 100000\n");
	assert_int_equal(ask("0::/a/b\n"), 1);
	assert_int_equal(ask("0::/a\n"), 2);
	assert_int_equal(ask("0::/\n"), UINT_MAX);
}

static void by_controller(void **state)
{
	const char *groups = "5:cpuset:/x\n4:cpu,cpuacct:/c\n0::/\n";

	(void)state;
	make("cpu,cpuacct");
	make("cpuset");
	put("cpuset/cpu.cfs_quota_us", "100000\n"); /* another controller's folder */
	put("cpuset/cpu.cfs_period_us", "100000\n");
	assert_int_equal(ask(groups), UINT_MAX);
	/* In a container the folder is the group's own, whatever its name outside. */
	put("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	put("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	assert_int_equal(ask(groups), UINT_MAX);
	put("cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
	assert_int_equal(ask(groups), 4);
}

static void nothing_to_read(void **state)
{
	(void)state;
	assert_int_equal(base_cgroup_processors("/nowhere", "/nowhere"), UINT_MAX);
	assert_int_equal(ask("no line of a kernel\n"), UINT_MAX);
	assert_true(base_processors() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(unified, make_root, remove_root),
		cmocka_unit_test_setup_teardown(by_controller, make_root, remove_root),
		cmocka_unit_test_setup_teardown(nothing_to_read, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
