/*
 * test_space.c - allocations of the CPU device: bounds, kinds, limits, what is freed.
 *
 * The map is checked against a plain list through a few thousand random allocations and frees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cpu/memory/space.h"

static struct cpu_machine *machine(uint64_t memory, unsigned devices)
{
	struct cpu_machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->opt =
		(struct cpu_options){.seed = 7, .threads = 1, .devices = devices, .memory = memory};
	assert_true(cpu_space_init(m));
	return m;
}

static void done(struct cpu_machine *m)
{
	cpu_space_free(m);
	free(m);
}

static void test_bounds(void **state)
{
	struct cpu_machine *m = machine(1 << 20, 1);
	struct cpu_mem_info info;
	uint64_t base, end;

	(void)state;
	char *a = cpu_mem_alloc(m, 0, 100, CPU_MEM_DEVICE);
	char *b = cpu_mem_alloc(m, 0, 0, CPU_MEM_DEVICE);
	char *c = cpu_mem_alloc(m, 0, 0, CPU_MEM_DEVICE);
	assert_non_null(a);
	assert_true(b != c && (uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0);
	assert_true(cpu_mem_find(m, (uint64_t)(uintptr_t)a + 99, &info));
	assert_int_equal(info.base, (uint64_t)(uintptr_t)a);
	assert_int_equal(info.bytes, 100);
	assert_false(cpu_mem_find(m, (uint64_t)(uintptr_t)a + 100, &info));
	assert_false(cpu_mem_find(m, (uint64_t)(uintptr_t)a - 1, &info));
	assert_true(cpu_mem_find(m, (uint64_t)(uintptr_t)b, &info));
	assert_true(cpu_space_range(m, 0, (uint64_t)(uintptr_t)a, &base, &end));
	assert_int_equal(end - base, 100);
	assert_false(cpu_space_range(m, 0, (uint64_t)(uintptr_t)b, &base, &end));
	done(m);
}

static void test_limit(void **state)
{
	struct cpu_machine *m = machine(1 << 20, 2);
	uint64_t used, total;

	(void)state;
	void *a = cpu_mem_alloc(m, 0, 1 << 19, CPU_MEM_DEVICE);
	assert_non_null(a);
	assert_null(cpu_mem_alloc(m, 0, (1 << 19) + 1, CPU_MEM_DEVICE));
	assert_non_null(cpu_mem_alloc(m, 1, (1 << 19) + 1, CPU_MEM_DEVICE));
	assert_non_null(cpu_mem_alloc(m, 0, 1 << 21, CPU_MEM_HOST));
	assert_null(cpu_mem_alloc(m, 2, 1, CPU_MEM_DEVICE));
	assert_null(cpu_mem_alloc(m, 0, UINT64_MAX, CPU_MEM_HOST));
	cpu_mem_usage(m, 0, &used, &total);
	assert_int_equal(used, 1 << 19);
	assert_int_equal(total, 1 << 20);
	assert_true(cpu_mem_free(m, a));
	assert_false(cpu_mem_free(m, a));
	cpu_mem_usage(m, 0, &used, &total);
	assert_int_equal(used, 0);
	done(m);
}

static void test_freed(void **state)
{
	struct cpu_machine *m = machine(0, 1);
	struct cpu_mem_info info;
	char why[160];

	(void)state;
	char *a = cpu_mem_alloc(m, 0, 64, CPU_MEM_DEVICE);
	cpu_mem_alloc(m, 0, 64, CPU_MEM_DEVICE);
	assert_false(cpu_mem_free(m, a + 1));
	assert_true(cpu_mem_find(m, (uint64_t)(uintptr_t)a, &info));
	uint64_t generation = info.generation;
	assert_true(cpu_mem_free(m, a));
	assert_false(cpu_mem_find(m, (uint64_t)(uintptr_t)a, &info));
	cpu_space_explain(m, 0, (uint64_t)(uintptr_t)a + 8, 4, why, sizeof(why));
	assert_non_null(strstr(why, "memory freed: allocation of 64 bytes, offset 8"));
	/* Not handed out again soon. */
	for (int i = 0; i < 100; i++) {
		char *p = cpu_mem_alloc(m, 0, 64, CPU_MEM_DEVICE);
		assert_true(p != a);
		assert_true(cpu_mem_find(m, (uint64_t)(uintptr_t)p, &info));
		assert_true(info.generation > generation);
		assert_true(cpu_mem_free(m, p));
	}
	done(m);
}

static void test_pattern(void **state)
{
	struct cpu_machine *m = machine(0, 1);

	(void)state;
	unsigned char *a = cpu_mem_alloc(m, 0, 4096, CPU_MEM_DEVICE);
	for (int i = 0; i < 4096; i++)
		assert_true(a[i] == a[0] && a[i] != 0);
	unsigned char *b = cpu_mem_alloc(m, 0, 5000, CPU_MEM_MODULE);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(b[i], 0);
	/* A GiB costs nothing until it is touched. */
	unsigned char *c = cpu_mem_alloc(m, 0, 1ull << 33, CPU_MEM_DEVICE);
	assert_non_null(c);
	c[(1ull << 33) - 1] = 1;
	unsigned char *d = cpu_mem_alloc(m, 0, 1ull << 32, CPU_MEM_MODULE);
	assert_non_null(d);
	assert_int_equal(d[0], 0);
	done(m);
}

static void test_host(void **state)
{
	struct cpu_machine *m = machine(0, 1);
	static char mine[1000];
	struct cpu_mem_info info;
	uint64_t at = (uint64_t)(uintptr_t)mine, base, end;
	char why[160];

	(void)state;
	assert_false(cpu_space_range(m, 0, at, &base, &end));
	cpu_space_explain(m, 0, at, 4, why, sizeof(why));
	assert_non_null(strstr(why, "host memory"));
	assert_true(cpu_mem_register(m, mine, 500));
	assert_false(cpu_mem_register(m, mine + 499, 10));
	assert_true(cpu_mem_register(m, mine + 500, 500));
	assert_true(cpu_space_range(m, 0, at + 499, &base, &end));
	assert_int_equal(base, at);
	assert_true(cpu_mem_find(m, at + 500, &info));
	assert_int_equal(info.kind, CPU_MEM_HOST);
	assert_false(cpu_mem_free(m, mine));
	assert_false(cpu_mem_unregister(m, mine + 1));
	assert_true(cpu_mem_unregister(m, mine));
	assert_false(cpu_space_range(m, 0, at, &base, &end));
	assert_true(cpu_mem_register(m, mine, 400));
	/* Device memory is known already. */
	void *a = cpu_mem_alloc(m, 0, 100, CPU_MEM_DEVICE);
	assert_false(cpu_mem_register(m, a, 10));
	assert_false(cpu_mem_unregister(m, a));
	done(m);
}

static void test_peers(void **state)
{
	struct cpu_machine *m = machine(0, 3);
	uint64_t base, end;
	char why[160];

	(void)state;
	uint64_t a = (uint64_t)(uintptr_t)cpu_mem_alloc(m, 1, 100, CPU_MEM_DEVICE);
	uint64_t b = (uint64_t)(uintptr_t)cpu_mem_alloc(m, 1, 100, CPU_MEM_MANAGED);
	assert_true(cpu_space_range(m, 1, a, &base, &end));
	assert_false(cpu_space_range(m, 0, a, &base, &end));
	cpu_space_explain(m, 0, a, 4, why, sizeof(why));
	assert_non_null(strstr(why, "no peer access"));
	assert_true(cpu_space_range(m, 0, b, &base, &end));
	uint64_t version = atomic_load(&m->space_version);
	cpu_mem_set_peer(m, 0, 1, true);
	assert_true(atomic_load(&m->space_version) != version);
	assert_true(cpu_space_range(m, 0, a, &base, &end));
	assert_false(cpu_space_range(m, 2, a, &base, &end));
	cpu_mem_set_peer(m, 0, 1, false);
	assert_false(cpu_space_range(m, 0, a, &base, &end));
	done(m);
}

#define LIVE 300

static void test_random(void **state)
{
	struct cpu_machine *m = machine(0, 1);
	struct {
		unsigned char *p;
		size_t n;
		unsigned char value;
	} live[LIVE] = {0};
	struct cpu_mem_info info;

	(void)state;
	srand(3);
	for (int i = 0; i < 30000; i++) {
		int at = rand() % LIVE;
		if (live[at].p) {
			for (size_t j = 0; j < live[at].n; j++)
				assert_int_equal(live[at].p[j], live[at].value);
			assert_true(cpu_mem_find(
				m, (uint64_t)(uintptr_t)live[at].p + live[at].n - 1, &info));
			assert_int_equal(info.bytes, live[at].n);
			assert_true(cpu_mem_free(m, live[at].p));
			live[at].p = NULL;
			continue;
		}
		live[at].n = (size_t)(rand() % 3000) + 1;
		live[at].value = (unsigned char)rand();
		live[at].p = cpu_mem_alloc(m, 0, live[at].n, CPU_MEM_DEVICE);
		assert_non_null(live[at].p);
		memset(live[at].p, live[at].value, live[at].n);
	}
	done(m);
}

/* Far more than the address range holds, so that holes are used again. */
static void test_reuse(void **state)
{
	struct cpu_machine *m = machine(1ull << 38, 1);
	uint64_t first, bytes;

	(void)state;
	/* 2^42 bytes; under ThreadSanitizer 2^36. */
	cpu_mem_region(m, &first, &bytes);
	void *keep = cpu_mem_alloc(m, 0, 1000, CPU_MEM_DEVICE);
	memset(keep, 9, 1000);
	for (int i = 0; i < 200; i++) {
		char *p = cpu_mem_alloc(m, 0, bytes / 64, CPU_MEM_DEVICE);
		assert_non_null(p);
		p[i] = 1;
		assert_true(cpu_mem_free(m, p));
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(((char *)keep)[i], 9);
	done(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_freed),  cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_host),   cmocka_unit_test(test_peers),
		cmocka_unit_test(test_random), cmocka_unit_test(test_reuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
