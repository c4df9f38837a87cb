/*
 * test_host.c - the runtime of host code, hook by hook, against a device that the test plays.
 *
 * The runtime is linked in as it is into programs. It asks for a shared file when it starts, so
 * this program makes one and starts itself again. It also looks for the CPU device's function
 * collider_cpu_yield, which is here: it changes the memory that a test names, so that what a check
 * sees does not depend on time. The test's own copy of race/file/host_area.c plays the device's
 * part.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "race/race.h"
#include "race/file/shm_write.h"

/* ---- the hooks that the tests call ------------------------------------------------ */

#define SIZES(F)                                                                                   \
	F(1, uint8_t)                                                                              \
	F(2, uint16_t)                                                                             \
	F(4, uint32_t) F(8, uint64_t)
#define DECLARE(n, T)                                                                              \
	void __tsan_read##n(void *p);                                                              \
	void __tsan_write##n(void *p);                                                             \
	void __tsan_volatile_read##n(void *p);                                                     \
	void __tsan_volatile_write##n(void *p);
SIZES(DECLARE)
#define DECLARE_WIDE(n)                                                                            \
	void __tsan_unaligned_read##n(void *p);                                                    \
	void __tsan_unaligned_write##n(void *p);                                                   \
	void __tsan_unaligned_volatile_read##n(void *p);                                           \
	void __tsan_read_write##n(void *p);
DECLARE_WIDE(2)
DECLARE_WIDE(4)
DECLARE_WIDE(8)
DECLARE_WIDE(16)
void __tsan_read16(void *p);
void __tsan_write16(void *p);
void __tsan_read_range(void *p, size_t n);
void __tsan_write_range(void *p, size_t n);
void __tsan_vptr_read(void **p);
void __tsan_vptr_update(void **p, void *v);
void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memset(void *to, int v, size_t n);

/* ---- the device ---------------------------------------------------------------------- */

static struct race_host_area *area;
static unsigned char *victim; /* changed during a delay */
static unsigned yields;
static bool is_away; /* the device does not want the thread */

bool collider_cpu_yield(uint64_t ns);
bool collider_cpu_yield(uint64_t ns)
{
	(void)ns;
	yields++;
	if (is_away)
		return false;
	if (victim)
		++*victim;
	return true;
}

static union {
	unsigned char b[4096];
	uint64_t q[512];
	void *p[512];
} memory __attribute__((aligned(64)));

static uint64_t checked(void)
{
	return __atomic_load_n(&area->checked, __ATOMIC_RELAXED);
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* What is in the file now. */
static struct race_results results;

static size_t findings(void)
{
	race_results_free(&results);
	assert_int_equal(race_shm_read(race_shm_get(), RACE_SHM_BYTES, &results), 0);
	assert_int_equal(results.damaged, 0);
	return results.findings.n;
}

static const struct race_finding *last(void)
{
	return &results.findings.v[results.findings.n - 1];
}

/* The memory is shared, and the device works. */
static int set_up(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	race_host_add(address(&memory), sizeof(memory), RACE_SPACE_MANAGED);
	race_host_busy(0, true);
	victim = NULL;
	is_away = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	race_host_busy(0, false);
	race_host_remove(address(&memory));
	return 0;
}

/* ---- what is looked at ------------------------------------------------------------------ */

static void only_shared_memory_while_the_device_works(void **state)
{
	static unsigned other;
	uint64_t before = checked();

	(void)state;
	__tsan_read4(&other);
	__tsan_write4(&other);
	__tsan_read_range(&other, sizeof(other));
	assert_int_equal(checked(), before);
	race_host_busy(0, false);
	__tsan_read4(&memory);
	__tsan_write_range(&memory, 100);
	assert_int_equal(checked(), before);
	race_host_busy(3, true);
	__tsan_read4(&memory);
	assert_int_equal(checked(), before + 1);
	race_host_busy(3, false);
	race_host_busy(0, true);
	race_host_remove(address(&memory));
	__tsan_read4(&memory);
	assert_int_equal(checked(), before + 1);
}

static void unchanged_memory_is_no_race(void **state)
{
	size_t before = findings();
	uint64_t n = checked();

	(void)state;
	victim = &memory.b[64]; /* a neighbour */
	for (int i = 0; i < 50; i++) {
		__tsan_read8(&memory.b[56]);
		__tsan_write4(&memory.b[60]);
		__tsan_unaligned_read8(&memory.b[65]);
		__tsan_read_range(&memory.b[65], 1000);
		__tsan_write_range(&memory.b[0], 64);
	}
	assert_true(checked() > n + 200);
	assert_int_equal(findings(), before);
}

/* ---- each hook sees a change of its last byte ------------------------------------------------ */

static void expect(size_t before, unsigned kind, unsigned width, bool is_volatile)
{
	assert_int_equal(findings(), before + 1);
	assert_int_equal(last()->kind, kind);
	assert_int_equal(last()->width, width);
	assert_int_equal(last()->is_volatile, is_volatile);
	assert_int_equal(last()->cls, is_volatile ? RACE_CLASS_VOLATILE : RACE_CLASS_RACE);
	assert_int_equal(last()->space, RACE_SPACE_MANAGED);
	assert_memory_not_equal(last()->first.was, last()->first.now, 16);
}

#define SEES(call, at, n, kind, is_volatile)                                                       \
	do {                                                                                       \
		size_t before = findings();                                                        \
		victim = (unsigned char *)(at) + (n)-1;                                            \
		call;                                                                              \
		expect(before, RACE_KIND_##kind, n, is_volatile);                                  \
	} while (0)

static void every_size_is_compared_whole(void **state)
{
	(void)state;
#define CASES(n, T)                                                                                \
	SEES(__tsan_read##n(&memory.b[64]), &memory.b[64], n, CLOBBERED_READ, false);              \
	SEES(__tsan_write##n(&memory.b[64]), &memory.b[64], n, LOST_UPDATE, false);                \
	SEES(__tsan_volatile_read##n(&memory.b[64]), &memory.b[64], n, CLOBBERED_READ, true);      \
	SEES(__tsan_volatile_write##n(&memory.b[64]), &memory.b[64], n, LOST_UPDATE, true);
	SIZES(CASES)
#define WIDE(n)                                                                                    \
	SEES(__tsan_unaligned_read##n(&memory.b[129]), &memory.b[129], n, CLOBBERED_READ, false);  \
	SEES(__tsan_unaligned_write##n(&memory.b[129]), &memory.b[129], n, LOST_UPDATE, false);    \
	SEES(__tsan_unaligned_volatile_read##n(&memory.b[129]), &memory.b[129], n, CLOBBERED_READ, \
	     true);                                                                                \
	SEES(__tsan_read_write##n(&memory.b[128]), &memory.b[128], n, LOST_UPDATE, false);
	WIDE(2)
	WIDE(4)
	WIDE(8)
	WIDE(16)
	SEES(__tsan_read16(&memory.b[64]), &memory.b[64], 16, CLOBBERED_READ, false);
	SEES(__tsan_write16(&memory.b[64]), &memory.b[64], 16, LOST_UPDATE, false);
	SEES(__tsan_vptr_read(&memory.p[9]), &memory.p[9], 8, CLOBBERED_READ, false);
	SEES(__tsan_vptr_update(&memory.p[9], &memory), &memory.p[9], 8, LOST_UPDATE, false);
	SEES(__tsan_read_range(&memory.b[3], 33), &memory.b[3], 33, CLOBBERED_READ, false);
	SEES(__tsan_write_range(&memory.b[3], 33), &memory.b[3], 33, LOST_UPDATE, false);
}

static void the_values_are_those_of_the_element(void **state)
{
	size_t before = findings();

	(void)state;
	memory.q[2] = 0x1122334455667788ull;
	victim = &memory.b[17];
	__tsan_read8(&memory.q[2]);
	assert_int_equal(findings(), before + 1);
	assert_int_equal(last()->first.was[0], 0x1122334455667788ull);
	assert_int_equal(last()->first.now[0], 0x1122334455667888ull);
	assert_int_equal(last()->first.address, address(&memory.q[2]));
	assert_int_equal(last()->first.width, 8);
}

static void one_place_is_one_finding(void **state)
{
	size_t before = findings();

	(void)state;
	victim = &memory.b[200];
	for (int i = 0; i < 40; i++)
		__tsan_read1(&memory.b[200]);
	assert_int_equal(findings(), before + 1);
	assert_int_equal(last()->count, 40);
	assert_string_not_equal(last()->object, "");
}

/* A range that begins before the memory, or reaches over its end. */
static void ranges_are_cut_to_the_memory(void **state)
{
	(void)state;
	race_host_remove(address(&memory));
	race_host_add(address(&memory.b[0]), 128, RACE_SPACE_PINNED);
	size_t before = findings();
	victim = &memory.b[128];
	for (int i = 0; i < 20; i++)
		__tsan_read_range(&memory.b[120], 16);
	assert_int_equal(findings(), before);
	victim = &memory.b[127];
	__tsan_read_range(&memory.b[120], 16);
	assert_int_equal(findings(), before + 1);
	assert_int_equal(last()->space, RACE_SPACE_PINNED);
}

static void memory_functions_do_their_work(void **state)
{
	static unsigned char to[256];
	size_t before = findings();

	(void)state;
	memset(&memory.b[256], 9, 256); /* by --wrap */
	assert_int_equal(memory.b[511], 9);
	victim = &memory.b[300];
	/* Of a long copy a window is compared, at random: often enough it holds the byte. */
	for (int i = 0; i < 100; i++)
		assert_ptr_equal(__tsan_memcpy(to, &memory.b[256], 256), to);
	assert_memory_equal(to, &memory.b[256], 256);
	assert_int_equal(findings(), before + 1);
	assert_int_equal(last()->kind, RACE_KIND_CLOBBERED_READ);
	__tsan_memset(&memory.b[256], 1, 256);
	assert_int_equal(memory.b[256], 1);
	assert_int_equal(memory.b[511], 1);
}

/* ---- how often ---------------------------------------------------------------------------- */

#define MANY 1000000u

static void checks_thin_out(void **state)
{
	uint64_t before = checked(), n;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		__tsan_read4(&memory.b[i & 0xff0]);
	n = checked() - before;
	/* 256 at once, then 256 of n: 256 (1 + ln(1000000 / 256)). */
	assert_in_range(n, 1800, 3000);
	before = checked();
	__tsan_read4(&memory.b[4]); /* another place has its own count */
	assert_int_equal(checked(), before + 1);
}

static void *read_once(void *arg)
{
	__tsan_read4(&memory);
	return arg;
}

/* In a thread of its own, which has passed over nothing yet: places share counts by their hash. */
static void the_delay_is_spun_when_the_device_is_away(void **state)
{
	unsigned before = yields;
	uint64_t n = checked();
	pthread_t t;

	(void)state;
	is_away = true;
	assert_int_equal(pthread_create(&t, NULL, read_once, NULL), 0);
	pthread_join(t, NULL);
	assert_int_equal(yields, before + 1);
	assert_int_equal(checked(), n + 1);
}

static void *flip(void *arg)
{
	volatile unsigned char *p = arg;

	while (p[1] == 0)
		++*p;
	return NULL;
}

/* A real thread instead of the device: seen sooner or later. */
static void another_thread_is_seen(void **state)
{
	size_t before = findings();
	pthread_t t;

	(void)state;
	is_away = true;
	assert_int_equal(pthread_create(&t, NULL, flip, &memory.b[640]), 0);
	for (unsigned i = 0; i < 10000000u && findings() == before; i++)
		for (unsigned j = 0; j < 1000; j++)
			__tsan_read1(&memory.b[640]);
	((volatile unsigned char *)memory.b)[641] = 1;
	pthread_join(t, NULL);
	assert_int_equal(findings(), before + 1);
}

static void nothing_is_checked_in_a_forked_child(void **state)
{
	uint64_t before = checked();
	int status = 1;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		__tsan_read4(&memory);
		_exit(checked() == before ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	__tsan_read4(&memory);
	assert_int_equal(checked(), before + 1);
}

/* ---- atomics -------------------------------------------------------------------------------- */

typedef unsigned __int128 wide;

#define ATOMIC(bits, T)                                                                            \
	T __tsan_atomic##bits##_load(const volatile T *p, int order);                              \
	void __tsan_atomic##bits##_store(volatile T *p, T v, int order);                           \
	T __tsan_atomic##bits##_exchange(volatile T *p, T v, int order);                           \
	T __tsan_atomic##bits##_fetch_add(volatile T *p, T v, int order);                          \
	T __tsan_atomic##bits##_fetch_sub(volatile T *p, T v, int order);                          \
	T __tsan_atomic##bits##_fetch_and(volatile T *p, T v, int order);                          \
	T __tsan_atomic##bits##_fetch_or(volatile T *p, T v, int order);                           \
	T __tsan_atomic##bits##_fetch_xor(volatile T *p, T v, int order);                          \
	T __tsan_atomic##bits##_fetch_nand(volatile T *p, T v, int order);                         \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *e, T v, int order,     \
							  int failure);                            \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *e, T v, int order,       \
							int failure);                              \
	T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T e, T v, int order,           \
						     int failure);                                 \
	static void atomic_##bits(int order)                                                       \
	{                                                                                          \
		volatile T *p = (volatile T *)memory.b;                                            \
		T e = 99;                                                                          \
		__tsan_atomic##bits##_store(p, 5, order);                                          \
		assert_true(__tsan_atomic##bits##_load(p, order) == 5);                            \
		assert_true(__tsan_atomic##bits##_exchange(p, 6, order) == 5);                     \
		assert_true(__tsan_atomic##bits##_fetch_add(p, 4, order) == 6);                    \
		assert_true(__tsan_atomic##bits##_fetch_sub(p, 3, order) == 10);                   \
		assert_true(__tsan_atomic##bits##_fetch_or(p, 8, order) == 7);                     \
		assert_true(__tsan_atomic##bits##_fetch_and(p, 12, order) == 15);                  \
		assert_true(__tsan_atomic##bits##_fetch_xor(p, 3, order) == 12);                   \
		assert_true(__tsan_atomic##bits##_fetch_nand(p, 6, order) == 15);                  \
		assert_true(*p == (T) ~(T)6);                                                      \
		assert_int_equal(                                                                  \
			__tsan_atomic##bits##_compare_exchange_strong(p, &e, 1, order, order), 0); \
		assert_true(e == (T) ~(T)6);                                                       \
		assert_int_equal(                                                                  \
			__tsan_atomic##bits##_compare_exchange_strong(p, &e, 1, order, 0), 1);     \
		e = 1;                                                                             \
		assert_int_equal(                                                                  \
			__tsan_atomic##bits##_compare_exchange_weak(p, &e, 2, order, order), 1);   \
		assert_true(__tsan_atomic##bits##_compare_exchange_val(p, 7, 3, order, 0) == 2);   \
		assert_true(__tsan_atomic##bits##_compare_exchange_val(p, 2, 3, order, 5) == 2);   \
		assert_true(*p == 3);                                                              \
	}

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
ATOMIC(128, wide)

static void atomics_work_in_every_order_and_are_not_checked(void **state)
{
	uint64_t before = checked();
	size_t n = findings();

	(void)state;
	for (int order = __ATOMIC_RELAXED; order <= __ATOMIC_SEQ_CST; order++) {
		atomic_8(order);
		atomic_16(order);
		atomic_32(order);
		atomic_64(order);
		memset(memory.b, 0, 16);
		before = checked(); /* of memset */
		atomic_128(order);
		assert_int_equal(checked(), before);
	}
	assert_int_equal(findings(), n);
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool has(uint64_t at, unsigned space)
{
	struct race_host_range r;

	return race_host_lookup(area, at, &r) && r.space == space && race_host_on_page(area, at);
}

static void ranges_are_found(void **state)
{
	const uint64_t base = 1ull << 40, step = 1ull << 22;

	(void)state;
	for (unsigned i = 0; i < 100; i++) /* neither in rising nor in falling order */
		race_host_add(base + (i * 37 % 100) * step, 4096,
			      i % 2 ? RACE_SPACE_PINNED : RACE_SPACE_MANAGED);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t at = base + (i * 37 % 100) * step;
		assert_true(has(at, i % 2 ? RACE_SPACE_PINNED : RACE_SPACE_MANAGED));
		assert_true(has(at + 4095, i % 2 ? RACE_SPACE_PINNED : RACE_SPACE_MANAGED));
		assert_false(has(at + 4096, RACE_SPACE_PINNED));
		assert_false(has(at - 1, RACE_SPACE_MANAGED));
	}
	/* What overlaps replaces. */
	race_host_add(base + 2 * step + 100, 3 * step, RACE_SPACE_SYSTEM);
	assert_true(has(base + 4 * step, RACE_SPACE_SYSTEM));
	assert_false(has(base + 2 * step, RACE_SPACE_MANAGED));
	assert_int_equal(area->seq % 2, 0);
	race_host_remove(base + 2 * step + 100);
	for (unsigned i = 0; i < 100; i++)
		race_host_remove(base + i * step);
	assert_int_equal(area->nranges, 1); /* the test's own memory */
	race_host_remove(base);		    /* no such range */
	race_host_add(base, 0, RACE_SPACE_MANAGED);
	race_host_add(UINT64_MAX - 10, 100, RACE_SPACE_MANAGED);
	assert_int_equal(area->nranges, 1);
}

static void a_full_table_is_counted(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < RACE_HOST_RANGES + 10; i++)
		race_host_add((i + 1) << 13, 4096, RACE_SPACE_PINNED);
	assert_int_equal(area->nranges, RACE_HOST_RANGES);
	assert_int_equal(area->nlost, 11);
	for (uint64_t i = 0; i < RACE_HOST_RANGES + 10; i++)
		race_host_remove((i + 1) << 13);
	area->nlost = 0;
}

/* ---- the file, then once more ---------------------------------------------------------------- */

static int start_again(char **argv)
{
	static const struct race_shm head = {.magic = RACE_SHM_MAGIC,
					     .version = RACE_SHM_VERSION,
					     .heap_limit = RACE_SHM_HEAP_BYTES,
					     .rdelay = 1000,
					     .dense = 64};
	char number[16];
	int fd = memfd_create("test_host", 0);

	if (fd < 0 || ftruncate(fd, (off_t)RACE_SHM_BYTES) ||
	    write(fd, &head, sizeof(head)) != (ssize_t)sizeof(head))
		return 2;
	snprintf(number, sizeof(number), "%d", fd);
	setenv(RACE_SHM_ENV, number, 1);
	execv("/proc/self/exe", argv);
	return 2;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(only_shared_memory_while_the_device_works),
		TEST(unchanged_memory_is_no_race),
		TEST(every_size_is_compared_whole),
		TEST(the_values_are_those_of_the_element),
		TEST(one_place_is_one_finding),
		TEST(ranges_are_cut_to_the_memory),
		TEST(memory_functions_do_their_work),
		TEST(checks_thin_out),
		TEST(the_delay_is_spun_when_the_device_is_away),
		TEST(another_thread_is_seen),
		TEST(nothing_is_checked_in_a_forked_child),
		TEST(atomics_work_in_every_order_and_are_not_checked),
		TEST(ranges_are_found),
		TEST(a_full_table_is_counted),
	};

	(void)argc;
	if (!getenv(RACE_SHM_ENV))
		return start_again(argv);
	if (!race_shm_open() || !(area = race_host_get()))
		return 2;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	race_results_free(&results);
	return failed;
}
