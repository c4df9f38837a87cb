/*
 * report_test.c - the algorithm of __collider_report, run by host threads.
 *
 * Shows: one record per (site, kind), whichever thread comes first; counts exact up to
 * the mute limit; milestones at powers of two; a full neighbourhood counted as
 * overflow and nothing overwritten. Lanes are simulated one at a time (each
 * lane alone) or as a group of N equal lanes whose leader adds N.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host_report.h"

static struct race_rt *rt;
static struct race_record *records;

static int setup(void **state)
{
	(void)state;
	rt = calloc(1, sizeof(*rt));
	records = calloc(RACE_SLOTS, sizeof(*records));
	assert_non_null(rt);
	assert_non_null(records);
	rt->records = (uint64_t)(uintptr_t)records;
	host_group = 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(rt);
	free(records);
	return 0;
}

static void report(uint64_t table, uint32_t site, uint32_t kind)
{
	struct dev_found f = {table, site, kind | RACE_REC_GENERIC << 16, 0x1000, {1, 2}, {3, 4},
			      5,     8};

	dev_report(&f, (uint64_t)(uintptr_t)rt);
}

static struct race_record *record_of(uint64_t table, uint32_t site, uint32_t kind)
{
	return &records[race_slot_index(race_slot_key(table, site, kind))];
}

static void first_report_fills_the_record(void **state)
{
	struct race_record *r = record_of(77, 9, RACE_KIND_LOST_UPDATE);

	(void)state;
	report(77, 9, RACE_KIND_LOST_UPDATE);
	assert_int_equal(r->valid, RACE_RECORD_VALID);
	assert_int_equal(r->table, 77);
	assert_int_equal(r->site, 9);
	assert_int_equal(r->kind, RACE_KIND_LOST_UPDATE);
	assert_int_equal(r->flags, RACE_REC_GENERIC);
	assert_int_equal(r->address, 0x1000);
	assert_int_equal(r->was[0], 1);
	assert_int_equal(r->was[1], 2);
	assert_int_equal(r->now[0], 3);
	assert_int_equal(r->now[1], 4);
	assert_int_equal(r->lanes, 5);
	assert_int_equal(r->width, 8);
	assert_int_equal(r->thread[1], 11);
	assert_int_equal(r->block[2], 22);
	assert_int_equal(r->grid, 33);
	assert_int_equal(r->sm, 44);
	assert_int_equal(r->count, 1);
	assert_int_equal(rt->overflow, 0);
}

static void null_runtime_touches_nothing(void **state)
{
	(void)state;
	dev_report(&(struct dev_found){1, 2, 3, 4, {5, 6}, {7, 8}, 9, 4}, 0);
}

static void second_report_keeps_the_first_record(void **state)
{
	struct race_record *r = record_of(77, 9, 1);

	(void)state;
	report(77, 9, 1);
	dev_report(
		&(struct dev_found){
			.table = 77, .site = 9, .kind_flags = 1, .address = 0x2000, .width = 4},
		(uint64_t)(uintptr_t)rt);
	assert_int_equal(r->address, 0x1000);
	assert_int_equal(r->count, 2);
}

#define SITES 50u /* with all kinds a third of the slots: each finds one */

static void kinds_and_sites_have_their_own_slots(void **state)
{
	uint64_t sum = 0, used = 0;

	(void)state;
	for (uint32_t site = 0; site < SITES; site++)
		for (uint32_t kind = 1; kind < RACE_KIND_COUNT; kind++)
			report(123456789, site, kind);
	for (unsigned i = 0; i < RACE_SLOTS; i++) {
		used += rt->slots[i].key != 0;
		sum += rt->slots[i].count;
		assert_int_equal(records[i].valid != 0, rt->slots[i].key != 0);
	}
	assert_int_equal(used, SITES * (RACE_KIND_COUNT - 1));
	assert_int_equal(sum, used);
	assert_int_equal(rt->overflow, 0);
}

static void count_in_the_record_moves_at_powers_of_two(void **state)
{
	struct race_record *r = record_of(1, 1, 1);
	uint64_t shown = 0;

	(void)state;
	for (uint64_t n = 1; n <= 1000; n++) {
		report(1, 1, 1);
		if ((n & (n - 1)) == 0)
			shown = n;
		assert_int_equal(r->count, shown);
	}
}

static void groups_add_their_lanes_at_once(void **state)
{
	struct race_slot *s = &rt->slots[race_slot_index(race_slot_key(1, 1, 1))];

	(void)state;
	host_group = 32;
	report(1, 1, 1);
	assert_int_equal(s->count, 32);
	assert_int_equal(record_of(1, 1, 1)->count, 32);
	host_group = 5;
	report(1, 1, 1);
	assert_int_equal(s->count, 37);
	assert_int_equal(record_of(1, 1, 1)->count, 32); /* 64 not reached */
}

static void hot_site_is_muted(void **state)
{
	struct race_slot *s = &rt->slots[race_slot_index(race_slot_key(1, 1, 1))];

	(void)state;
	report(1, 1, 1);
	s->count = RACE_MUTE_COUNT - 1;
	report(1, 1, 1);
	assert_int_equal(s->count, RACE_MUTE_COUNT);
	assert_int_equal(record_of(1, 1, 1)->count, RACE_MUTE_COUNT);
	report(1, 1, 1);
	assert_int_equal(s->count, RACE_MUTE_COUNT);
	assert_int_equal(rt->overflow, 0);
}

static void search_wraps_and_overflow_is_counted(void **state)
{
	uint32_t start = race_slot_index(race_slot_key(5, 0, 1));
	uint32_t site = 0;

	(void)state;
	/* A key near the end, so that the probes wrap around. */
	while ((start = race_slot_index(race_slot_key(5, site, 1))) < RACE_SLOTS - 4)
		site++;
	for (uint32_t i = 0; i < RACE_PROBES - 1; i++)
		rt->slots[(start + i) % RACE_SLOTS].key = 1 + i;
	report(5, site, 1);
	assert_int_equal(records[(start + RACE_PROBES - 1) % RACE_SLOTS].site, site);
	assert_int_equal(rt->overflow, 0);
	rt->slots[(start + RACE_PROBES - 1) % RACE_SLOTS].key = 99;
	report(5, site, 1);
	report(5, site, 1);
	assert_int_equal(rt->overflow, 2);
	assert_int_equal(rt->slots[(start + RACE_PROBES) % RACE_SLOTS].key, 0);
}

static void key_is_never_zero_and_spreads(void **state)
{
	static unsigned hits[RACE_SLOTS];
	unsigned worst = 0;

	(void)state;
	memset(hits, 0, sizeof(hits));
	for (uint32_t site = 0; site < RACE_SLOTS; site++) {
		uint64_t key = race_slot_key(0x0123456789abcdefull, site, 1);

		assert_int_not_equal(key, 0);
		if (++hits[race_slot_index(key)] > worst)
			worst = hits[race_slot_index(key)];
	}
	assert_true(worst <= 10); /* Poisson: about 7 */
}

#define THREADS 4
#define ROUNDS	20000

static void *hammer(void *arg)
{
	for (uint32_t i = 0; i < ROUNDS; i++)
		report(42, i % 64, 1 + (i & 1));
	return arg;
}

static void threads_lose_no_count(void **state)
{
	pthread_t t[THREADS];
	uint64_t sum = 0, valid = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, hammer, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < RACE_SLOTS; i++) {
		sum += rt->slots[i].count;
		valid += records[i].valid == RACE_RECORD_VALID;
	}
	assert_int_equal(sum, (uint64_t)THREADS * ROUNDS);
	assert_int_equal(valid, 64); /* the site's parity is the kind's */
	assert_int_equal(rt->overflow, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_report_fills_the_record),
		TEST(null_runtime_touches_nothing),
		TEST(second_report_keeps_the_first_record),
		TEST(kinds_and_sites_have_their_own_slots),
		TEST(count_in_the_record_moves_at_powers_of_two),
		TEST(groups_add_their_lanes_at_once),
		TEST(hot_site_is_muted),
		TEST(search_wraps_and_overflow_is_counted),
		TEST(key_is_never_zero_and_spreads),
		TEST(threads_lose_no_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
