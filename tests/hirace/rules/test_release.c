/*
 * test_release.c - release stamps on the usual ways to synchronise: what is ordered is never a data
 * race, and what is left out of it makes one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "host.h"
#include "hirace/hirace.h"

uint32_t host_overlapping;

#define BLOCK 64u

/* Threads of three blocks; two data words, two strong locations. */
static struct hirace_actor thread[3 * BLOCK];
static uint64_t data[2];
static struct hirace_side flag[2];

static int setup(void **state)
{
	(void)state;
	for (uint32_t t = 0; t < 3 * BLOCK; t++)
		thread[t] = (struct hirace_actor){.thread = t,
						  .block_first = t / BLOCK * BLOCK,
						  .block_size = BLOCK,
						  .launch = 1,
						  .thread_bits = 20};
	data[0] = data[1] = 0;
	flag[0] = flag[1] = (struct hirace_side){0, 0, 0};
	return 0;
}

static enum hirace_verdict access_data(uint32_t t, uint32_t d, uint32_t access)
{
	uint64_t was;

	return hirace_update(&data[d], hirace_table(HIRACE_CORRECTED), &thread[t], access, &was);
}

static void barrier(uint32_t block)
{
	struct race_stamps all = host_none;

	for (uint32_t t = block * BLOCK; t < (block + 1) * BLOCK; t++)
		race_stamps_join(&all, &thread[t].stamps);
	for (uint32_t t = block * BLOCK; t < (block + 1) * BLOCK; t++)
		hirace_on_block_barrier(&thread[t], &all);
}

static void fence(uint32_t t)
{
	hirace_fence(&thread[t].stamps);
}

static void store(uint32_t t, uint32_t f)
{
	hirace_strong_write(&thread[t].stamps, &flag[f]);
}

static void store_release(uint32_t t, uint32_t f)
{
	race_stamps_release(&thread[t].stamps, true);
	store(t, f);
}

static void load(uint32_t t, uint32_t f)
{
	hirace_strong_read(&thread[t].stamps, &flag[f], hirace_read_bit((uintptr_t)&flag[f]),
			   false);
}

static void load_acquire(uint32_t t, uint32_t f)
{
	hirace_strong_read(&thread[t].stamps, &flag[f], hirace_read_bit((uintptr_t)&flag[f]), true);
}

/* A relaxed read-modify-write. */
static void exchange(uint32_t t, uint32_t f)
{
	load(t, f);
	store(t, f);
}

#define W HIRACE_W
#define R HIRACE_R

/* A flag: release store, acquire load; by fences, too. */
static void flag_with_both_halves(void **state)
{
	(void)state;
	access_data(0, 0, W);
	store_release(0, 0);
	load_acquire(BLOCK, 0);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_POSSIBLE);
	setup(NULL);
	access_data(0, 0, W);
	fence(0);
	store(0, 0);
	load(BLOCK, 0);
	fence(BLOCK);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_POSSIBLE);
}

static void flag_without_release(void **state)
{
	(void)state;
	access_data(0, 0, W);
	store(0, 0);
	load_acquire(BLOCK, 0);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_IS_RACE);
}

static void flag_without_acquire(void **state)
{
	(void)state;
	access_data(0, 0, W);
	store_release(0, 0);
	load(BLOCK, 0);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_IS_RACE);
}

/* The release comes too early: it doesn't carry the write after it. */
static void write_behind_the_release(void **state)
{
	(void)state;
	store_release(0, 0);
	access_data(0, 0, W);
	load_acquire(BLOCK, 0);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_IS_RACE);
}

/* Another flag than the one that was released. */
static void wrong_flag(void **state)
{
	(void)state;
	access_data(0, 0, W);
	store_release(0, 0);
	load_acquire(BLOCK, 1);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_IS_RACE);
}

/* A lock by CAS and exchange with fences, handed over twice; a third thread forgets to take it. */
static void lock(void **state)
{
	(void)state;
	for (uint32_t t = 0; t < 3 * BLOCK; t += BLOCK) {
		exchange(t, 0);
		fence(t);
		assert_int_not_equal(access_data(t, 0, W), HIRACE_IS_RACE);
		fence(t);
		exchange(t, 0);
	}
	assert_int_equal(access_data(1, 0, W), HIRACE_IS_RACE);
}

/* Tickets: a relaxed counter to draw, a second location to be served by. */
static void tickets(void **state)
{
	(void)state;
	for (uint32_t t = 0; t < 3 * BLOCK; t += BLOCK) {
		exchange(t, 0);
		load_acquire(t, 1);
		assert_int_not_equal(access_data(t, 0, W), HIRACE_IS_RACE);
		store_release(t, 1);
	}
	exchange(5, 0);
	assert_int_equal(access_data(5, 0, W), HIRACE_IS_RACE);
}

/* threadFenceReduction: all write, fence, barrier, thread 0 counts; the last block reads. */
static void last_block(void **state)
{
	(void)state;
	access_data(1, 0, W);
	fence(1);
	barrier(0);
	exchange(0, 0);
	exchange(BLOCK, 0);
	fence(BLOCK);
	barrier(1);
	assert_int_equal(access_data(BLOCK + 3, 0, R), HIRACE_POSSIBLE);
}

/* A grid barrier in which only thread 0 of a block fences, after the block's barrier: fences are
 * cumulative, so this is no race (iGUARD's Figure 10 blames it). */
static void grid_barrier(void **state)
{
	(void)state;
	access_data(7, 0, W);
	barrier(0);
	fence(0);
	exchange(0, 0);
	load(BLOCK, 0);
	fence(BLOCK);
	barrier(1);
	assert_int_equal(access_data(BLOCK + 9, 0, W), HIRACE_POSSIBLE);
	/* Without the fence it is one. */
	setup(NULL);
	access_data(7, 0, W);
	barrier(0);
	exchange(0, 0);
	load(BLOCK, 0);
	fence(BLOCK);
	barrier(1);
	assert_int_equal(access_data(BLOCK + 9, 0, W), HIRACE_IS_RACE);
}

/* A message by way of a third thread. */
static void three_threads(void **state)
{
	(void)state;
	access_data(0, 0, W);
	store_release(0, 0);
	load_acquire(BLOCK, 0);
	store_release(BLOCK, 1);
	load_acquire(2 * BLOCK, 1);
	assert_int_equal(access_data(2 * BLOCK, 0, R), HIRACE_POSSIBLE);
	/* One that passes on without having acquired. */
	setup(NULL);
	access_data(0, 0, W);
	store_release(0, 0);
	store_release(BLOCK, 1);
	load_acquire(2 * BLOCK, 1);
	/* The numbers don't show which of the two it acquired: never more than possible. */
	assert_int_equal(access_data(2 * BLOCK, 0, R), HIRACE_POSSIBLE);
}

/* fence.sc orders more than release and acquire do: across a barrier, */
static void fence_across_a_barrier(void **state)
{
	(void)state;
	access_data(1, 0, W);
	fence(1);
	barrier(0);
	store(0, 0);
	load(BLOCK, 0);
	fence(BLOCK);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_POSSIBLE);
}

/* through an acquire, */
static void fence_through_an_acquire(void **state)
{
	(void)state;
	access_data(0, 0, W);
	fence(0);
	store(0, 0);
	load_acquire(BLOCK, 0);
	store(BLOCK, 1);
	load(2 * BLOCK, 1);
	fence(2 * BLOCK);
	assert_int_equal(access_data(2 * BLOCK, 0, R), HIRACE_POSSIBLE);
}

/* before a release, */
static void fence_before_a_release(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) /* thread 0 is ahead of the others */
		fence(0);
	access_data(0, 0, W);
	fence(0);
	store(0, 0);
	load(BLOCK, 0);
	store_release(BLOCK, 1);
	load_acquire(2 * BLOCK, 1);
	fence(2 * BLOCK);
	assert_int_equal(access_data(2 * BLOCK, 0, R), HIRACE_POSSIBLE);
}

/* and where a write comes after a read: thread 0 read the flag before it was written. */
static void fence_behind_a_read(void **state)
{
	(void)state;
	access_data(0, 0, W);
	fence(0);
	load(0, 0);
	store(BLOCK, 0);
	fence(BLOCK);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_POSSIBLE);
	setup(NULL);
	access_data(0, 0, W);
	load(0, 0);
	store(BLOCK, 0);
	fence(BLOCK);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_IS_RACE);
}

/* What a thread has observed goes the same ways, whatever the number of the observed write is. */
static void observed_before_a_fence(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		fence(2 * BLOCK);
	access_data(2 * BLOCK, 0, HIRACE_GA);
	hirace_strong_read(&thread[0].stamps, &flag[1], hirace_read_bit((uintptr_t)&data[0]),
			   false);
	fence(0);
	load(0, 0);
	store(BLOCK, 0);
	fence(BLOCK);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_POSSIBLE);
}

/* The consumer is acquired from, but the producer writes again: the missing way back. */
static void missing_way_back(void **state)
{
	(void)state;
	access_data(0, 0, W);
	store_release(0, 0);
	load_acquire(BLOCK, 0);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_POSSIBLE);
	assert_int_equal(access_data(0, 0, W), HIRACE_IS_RACE);
}

/* One consumer acquires, another forgot to. */
static void one_of_two_consumers(void **state)
{
	(void)state;
	access_data(0, 0, W);
	store_release(0, 0);
	load_acquire(BLOCK, 0);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_POSSIBLE);
	assert_int_equal(access_data(2 * BLOCK, 0, R), HIRACE_POSSIBLE);
}

/* Two blocks of different progress, no synchronisation between them: barriers don't blur it. */
static void different_progress(void **state)
{
	(void)state;
	access_data(0, 0, W);
	for (int i = 0; i < 100; i++)
		barrier(1);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_IS_RACE);
}

/* A plain read of a counter whose last value the thread's own atomic returned: observation. */
static void observed_counter(void **state)
{
	uint32_t bit = hirace_read_bit((uintptr_t)&data[0]);

	(void)state;
	access_data(0, 0, HIRACE_GA);
	access_data(BLOCK, 0, HIRACE_GA);
	hirace_strong_read(&thread[BLOCK].stamps, &flag[0], bit, false);
	assert_int_not_equal(access_data(BLOCK, 0, R), HIRACE_IS_RACE);
	/* Whose result isn't used has seen nothing. */
	setup(NULL);
	access_data(0, 0, HIRACE_GA);
	access_data(BLOCK, 0, HIRACE_GA);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_IS_RACE);
	/* And after a barrier the block's other threads have seen it, too. */
	setup(NULL);
	access_data(0, 0, HIRACE_GA);
	hirace_strong_read(&thread[BLOCK].stamps, &flag[0], bit, false);
	barrier(1);
	assert_int_equal(access_data(BLOCK + 40, 0, R), HIRACE_POSSIBLE);
}

/* T0 writes, releases, and meets T1 in its warp; T1 reads with a higher number than the write's.
 * Another block has acquired from T0 and reads: the higher number would make it a race. */
static void the_least_stamp_counts(void **state)
{
	struct race_stamps both = host_none;

	(void)state;
	access_data(0, 0, W);
	store_release(0, 0);
	fence(0);
	race_stamps_join(&both, &thread[0].stamps);
	for (uint32_t t = 0; t < 32; t++)
		hirace_on_full_mask(&thread[t], &both);
	assert_int_equal(access_data(1, 0, R), HIRACE_NO_RACE);
	load_acquire(BLOCK, 0);
	assert_int_equal(access_data(BLOCK, 0, R), HIRACE_POSSIBLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(flag_with_both_halves, setup),
		cmocka_unit_test_setup(flag_without_release, setup),
		cmocka_unit_test_setup(flag_without_acquire, setup),
		cmocka_unit_test_setup(write_behind_the_release, setup),
		cmocka_unit_test_setup(wrong_flag, setup),
		cmocka_unit_test_setup(lock, setup),
		cmocka_unit_test_setup(tickets, setup),
		cmocka_unit_test_setup(last_block, setup),
		cmocka_unit_test_setup(grid_barrier, setup),
		cmocka_unit_test_setup(three_threads, setup),
		cmocka_unit_test_setup(fence_across_a_barrier, setup),
		cmocka_unit_test_setup(fence_through_an_acquire, setup),
		cmocka_unit_test_setup(fence_before_a_release, setup),
		cmocka_unit_test_setup(fence_behind_a_read, setup),
		cmocka_unit_test_setup(observed_before_a_fence, setup),
		cmocka_unit_test_setup(missing_way_back, setup),
		cmocka_unit_test_setup(one_of_two_consumers, setup),
		cmocka_unit_test_setup(different_progress, setup),
		cmocka_unit_test_setup(observed_counter, setup),
		cmocka_unit_test_setup(the_least_stamp_counts, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
