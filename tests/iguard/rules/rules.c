/*
 * rules.c - iGUARD's metadata and rules one by one: the layout, full fields, many barriers and
 * fences, locks, and the kinds of what is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"

#include "iguard/kind.h"

#define BLOCK	64u
#define THREADS (3 * BLOCK)

/* Threads of three blocks, one location of data, one that orders. */
static struct actor {
	struct iguard_stamps stamps;
	struct iguard_locks locks;
	struct iguard_context own;
	uint32_t context;
	bool has_small_fence;
} thread[THREADS];
static struct iguard_entry data;
static struct iguard_side flag;
static uint64_t contexts[IGUARD_CONTEXTS], now[IGUARD_NOWS];

static void renew(uint32_t t)
{
	struct actor *a = &thread[t];

	a->own.block_stamp = a->stamps.block.set.own.now;
	a->own.device_stamp = a->stamps.device.set.own.now;
	a->own.locks = iguard_locks_summary(&a->locks, t / BLOCK);
	a->context = iguard_intern(contexts, iguard_context_encode(a->own));
	now[iguard_now_place(t)] = (uint64_t)t << IGUARD_THREAD_AT | (uint64_t)a->context
									     << IGUARD_CONTEXT_AT;
}

static int setup(void **state)
{
	(void)state;
	memset(thread, 0, sizeof(thread));
	memset(&data, 0, sizeof(data));
	memset(&flag, 0, sizeof(flag));
	memset(contexts, 0, sizeof(contexts));
	for (uint32_t t = 0; t < THREADS; t++) {
		thread[t].own.launch = 1;
		renew(t);
	}
	return 0;
}

static uint32_t kind;

static enum iguard_verdict access_as(uint32_t t, struct iguard_access a)
{
	struct actor *me = &thread[t];
	struct iguard_actor actor = {.thread = t,
				     .block_first = t / BLOCK * BLOCK,
				     .block_size = BLOCK,
				     .context = me->context,
				     .own = iguard_context_decode(iguard_context_encode(me->own)),
				     .block_acquired = me->stamps.block.set.own.acquired,
				     .device_acquired = me->stamps.device.set.own.acquired,
				     .read = me->stamps.block.set.own.read,
				     .contexts = contexts,
				     .now = now};
	struct iguard_seen seen = iguard_update_words(&data, &actor, &a);

	kind = seen.verdict == IGUARD_ASIDE || seen.verdict == IGUARD_NO_RACE
		       ? RACE_KIND_NONE
		       : iguard_kind_of(&seen, &actor, &a, &me->stamps, me->has_small_fence);
	return seen.verdict;
}

static enum iguard_verdict load(uint32_t t)
{
	return access_as(t, (struct iguard_access){false, false, false, 2, 1});
}

static enum iguard_verdict store(uint32_t t)
{
	return access_as(t, (struct iguard_access){true, false, false, 1, 1});
}

static enum iguard_verdict add(uint32_t t, bool is_wide)
{
	return access_as(t, (struct iguard_access){true, true, !is_wide, 3, 1});
}

static void fence(uint32_t t, bool is_wide)
{
	struct actor *a = &thread[t];

	a->has_small_fence |= !is_wide && a->stamps.device.near.now < a->stamps.device.set.seen.now;
	iguard_fence(&a->stamps, is_wide);
	iguard_lock_fence(&a->locks, is_wide);
	renew(t);
}

static void set_flag(uint32_t t)
{
	struct iguard_op op = {t / BLOCK + 1, 0, true, false};

	iguard_strong_write(&thread[t].stamps, &flag, op);
	renew(t);
}

/* `bits`: of the location, and RACE_READ_FLAG unless its value only chooses a place. */
static void see(uint32_t t, uint32_t bits)
{
	struct iguard_op op = {t / BLOCK + 1, bits, true, false};

	iguard_strong_read(&thread[t].stamps, &flag, op);
	renew(t);
}

static void see_flag(uint32_t t)
{
	see(t, 2 | RACE_READ_FLAG);
}

static void barrier(uint32_t b)
{
	for (uint32_t t = b * BLOCK; t < (b + 1) * BLOCK; t++) {
		thread[t].own.block_clock++;
		thread[t].own.warp_clock = 0;
		renew(t);
	}
}

/* ---- the layout ---------------------------------------------------------------------------- */

static void words_keep_their_fields(void **state)
{
	uint64_t x = 1;

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		struct iguard_word w = iguard_decode(x);
		w.site = w.site > IGUARD_SITE_LAST + 1u ? 0 : w.site;
		assert_memory_equal(&w.thread, &(uint32_t){(uint32_t)(x >> 36)}, 4);
		assert_true(iguard_encode(w) == (x & ~(w.site ? 0 : 0xfffull << 6)));
		assert_true(iguard_context_encode(iguard_context_decode(x)) == x);
	}
}

static void full_fields_step_aside(void **state)
{
	struct iguard_context c = {.launch = 1};

	(void)state;
	c.block_clock = IGUARD_BLOCK_CLOCK_LAST;
	c.warp_clock = IGUARD_WARP_CLOCK_LAST;
	assert_true(iguard_context_encode(c) != 0);
	c.block_clock++;
	assert_true(iguard_context_encode(c) == 0);
	c.block_clock = 0;
	c.warp_clock++;
	assert_true(iguard_context_encode(c) == 0);
	c.warp_clock = 0;
	c.block_stamp = c.device_stamp = 1000;
	assert_int_equal(iguard_context_decode(iguard_context_encode(c)).device_stamp,
			 IGUARD_STAMP_FULL);
	assert_int_equal(iguard_decode(iguard_encode((struct iguard_word){.site = 4096})).site, 0);
	assert_int_equal(iguard_decode(iguard_encode((struct iguard_word){.site = 4095})).site,
			 4095);
}

static void a_thread_without_context_is_not_judged(void **state)
{
	(void)state;
	store(0);
	thread[70].own.block_clock = IGUARD_BLOCK_CLOCK_LAST + 1u;
	renew(70);
	assert_int_equal(store(70), IGUARD_ASIDE);
	assert_int_equal(store(128), IGUARD_IS_RACE);
}

static void a_full_table_has_no_number(void **state)
{
	(void)state;
	memset(contexts, 0xff, sizeof(contexts));
	renew(0);
	assert_int_equal(thread[0].context, 0);
	assert_int_equal(store(0), IGUARD_ASIDE);
}

static void many_barriers_between(void **state)
{
	static const uint32_t counts[] = {1,	63,   64,    255,   256,  257,
					  1023, 1024, 65535, 65536, 65537};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		setup(state);
		store(0);
		for (uint32_t n = 0; n < counts[i]; n++)
			for (uint32_t t = 0; t < BLOCK; t++)
				thread[t].own.block_clock++;
		renew(33);
		assert_int_equal(load(33), IGUARD_NO_RACE);
		assert_int_equal(load(BLOCK), IGUARD_IS_RACE);
		assert_int_equal(kind, RACE_KIND_IGUARD_GRID);
	}
}

static void many_fences_between(void **state)
{
	static const uint32_t counts[] = {1, 30, 31, 32, 63, 64, 255, 256, 257, 65537};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		setup(state);
		store(0);
		for (uint32_t n = 0; n < counts[i]; n++)
			fence(0, true);
		set_flag(0);
		/* This one has heard nothing; that one may have. */
		assert_int_equal(load(2 * BLOCK), IGUARD_IS_RACE);
		see_flag(BLOCK);
		fence(BLOCK, true);
		assert_int_equal(load(BLOCK), IGUARD_POSSIBLE);
		/* An access after as many fences. */
		setup(state);
		for (uint32_t n = 0; n < counts[i]; n++)
			fence(0, true);
		store(0);
		fence(0, true);
		set_flag(0);
		see_flag(BLOCK);
		fence(BLOCK, true);
		assert_int_equal(load(BLOCK), IGUARD_POSSIBLE);
	}
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static void kinds_of_pairs(void **state)
{
	store(1);
	assert_int_equal(load(0), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_WARP);
	setup(state);
	store(32);
	assert_int_equal(load(0), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_BLOCK);
	setup(state);
	add(0, false);
	assert_int_equal(add(33, true), IGUARD_NO_RACE);
	assert_int_equal(add(64, true), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_ATOMIC);
	setup(state);
	add(0, true);
	assert_int_equal(store(64), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_MIXED);
}

static void halves_of_a_message(void **state)
{
	store(0);
	fence(0, true);
	set_flag(0);
	see_flag(BLOCK);
	assert_int_equal(load(BLOCK), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_ACQUIRE);
	setup(state);
	store(0);
	set_flag(0);
	see_flag(BLOCK);
	fence(BLOCK, true);
	assert_int_equal(load(BLOCK), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_RELEASE);
	setup(state);
	store(0);
	set_flag(0);
	see(BLOCK, 2); /* a place in a list, say */
	assert_int_equal(load(BLOCK), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_GRID);
	setup(state);
	store(0);
	fence(0, false);
	set_flag(0);
	see_flag(BLOCK);
	fence(BLOCK, true);
	assert_int_equal(load(BLOCK), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_FENCE);
	setup(state);
	store(0);
	fence(0, true);
	set_flag(0);
	see_flag(BLOCK);
	fence(BLOCK, false);
	assert_int_equal(load(BLOCK), IGUARD_IS_RACE);
	assert_int_equal(kind, RACE_KIND_IGUARD_FENCE);
}

/* The reader is certain, though others have released a lot: thread 0 has not moved since. */
static void a_still_thread_is_certain(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		fence(2 * BLOCK, true);
	set_flag(2 * BLOCK);
	see_flag(BLOCK);
	fence(BLOCK, true);
	store(0);
	assert_int_equal(load(BLOCK), IGUARD_IS_RACE);
	fence(0, true);
	store(1);
	fence(1, true);
	assert_int_equal(load(BLOCK), IGUARD_POSSIBLE);
}

/* A still thread's own access must be what conflicts: not an older one, which the flag orders. */
static void a_still_thread_speaks_for_itself(void **state)
{
	(void)state;
	load(0);
	barrier(0);
	fence(1, true);
	set_flag(1);
	access_as(2, (struct iguard_access){false, true, false, 2, 1});
	see_flag(BLOCK);
	fence(BLOCK, true);
	assert_int_equal(add(BLOCK, true), IGUARD_POSSIBLE);
	setup(state);
	add(0, false);
	barrier(0);
	fence(1, true);
	set_flag(1);
	access_as(2, (struct iguard_access){false, true, false, 2, 1});
	see_flag(BLOCK);
	fence(BLOCK, true);
	assert_int_equal(add(BLOCK, true), IGUARD_POSSIBLE);
	/* It does conflict with a weak store. */
	setup(state);
	load(0);
	barrier(0);
	fence(1, true);
	set_flag(1);
	access_as(2, (struct iguard_access){false, true, false, 2, 1});
	see_flag(BLOCK);
	fence(BLOCK, true);
	assert_int_equal(store(BLOCK), IGUARD_IS_RACE);
}

/* An older reader that races with more stays: block 0's read isn't hidden by block 1's. */
static void readers_of_two_blocks(void **state)
{
	(void)state;
	load(0);
	load(BLOCK);
	barrier(1);
	assert_int_equal(store(BLOCK + 1), IGUARD_IS_RACE);
}

/* ---- locks ---------------------------------------------------------------------------------- */

/* A lock of the block's scope: threads of one block have it in common, those of two blocks don't.
 */
static void a_small_lock_is_of_one_block(void **state)
{
	struct iguard_locks l = {{0}, 0, 0, 0};

	(void)state;
	iguard_lock_try(&l, 0x1000, false, true);
	for (uint32_t b = 1; b < 8; b++)
		assert_false(
			iguard_locks_meet_in(iguard_locks_own(&l, 0), iguard_locks_own(&l, b)));
	assert_true(iguard_locks_meet_in(iguard_locks_own(&l, 5), iguard_locks_own(&l, 5)));
	iguard_lock_free(&l, 0x1000);
	iguard_lock_try(&l, 0x1000, true, true);
	assert_true(iguard_locks_meet_in(iguard_locks_own(&l, 0), iguard_locks_own(&l, 5)));
}

/* Given back without a release it is a lock no more; a fence before, or a releasing write, is one.
 */
static void a_bare_unlock_is_seen(void **state)
{
	struct iguard_locks l = {{0}, 0, 0, 0};

	(void)state;
	iguard_lock_try(&l, 0x1000, true, true);
	assert_true(iguard_lock_wrote(&l, 0x1000, false));
	assert_false(iguard_lock_wrote(&l, 0x1000, false)); /* not held */
	iguard_lock_try(&l, 0x1000, true, false);
	iguard_lock_fence(&l, true); /* takes it, no more */
	assert_true(iguard_lock_wrote(&l, 0x1000, false));
	iguard_lock_try(&l, 0x1000, true, false);
	iguard_lock_fence(&l, true);
	iguard_lock_fence(&l, true);
	assert_false(iguard_lock_wrote(&l, 0x1000, false));
	iguard_lock_try(&l, 0x1000, true, true);
	assert_false(iguard_lock_wrote(&l, 0x1000, true));
}

static void locks_are_inferred(void **state)
{
	struct iguard_locks l = {{0}, 0, 0, 0};

	(void)state;
	iguard_lock_try(&l, 0x1000, true, false);
	assert_int_equal(iguard_locks_summary(&l, 0), 0); /* no fence yet */
	iguard_lock_fence(&l, false);
	assert_int_equal(iguard_locks_summary(&l, 0), 0); /* too small a one */
	iguard_lock_fence(&l, true);
	assert_int_not_equal(iguard_locks_summary(&l, 0), 0);
	iguard_lock_try(&l, 0x2000, true, true); /* it acquires itself */
	uint32_t both = iguard_locks_summary(&l, 0);
	assert_int_not_equal(iguard_lock_free(&l, 0x1000), 0); /* out of order */
	assert_int_equal(iguard_lock_free(&l, 0x1000), 0);
	assert_true(iguard_locks_meet_in(both, iguard_locks_summary(&l, 0)));
	assert_int_not_equal(iguard_lock_free(&l, 0x2000), 0);
	assert_int_equal(iguard_locks_summary(&l, 0), 0);
	iguard_locks_meet(&l, 5);
	assert_int_equal(iguard_locks_summary(&l, 0), 5);
	for (uint64_t i = 0; i < 5; i++) /* a fourth one doesn't fit */
		iguard_lock_try(&l, 0x4000 + 64 * i, true, true);
	assert_int_equal(iguard_lock_free(&l, 0x4000 + 64 * 3), 0);
	assert_int_not_equal(iguard_lock_free(&l, 0x4000), 0);
}

/* Two words: the number that is drawn, the one that is served. */
static void tickets_are_locks(void **state)
{
	struct iguard_locks l = {{0}, 0, 0, 0};

	(void)state;
	iguard_lock_draw(&l, 0x1000, 7);
	iguard_lock_saw(&l, 0x1000, 7, true, false); /* the counter itself */
	iguard_lock_saw(&l, 0x1100, 6, true, false); /* not yet its turn */
	iguard_lock_fence(&l, true);
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	iguard_lock_saw(&l, 0x1100, 7, true, false);
	assert_int_equal(iguard_locks_own(&l, 0), 0); /* nothing acquires it */
	iguard_lock_fence(&l, true);
	uint32_t held = iguard_locks_own(&l, 0);
	assert_int_not_equal(held, 0);
	iguard_lock_wrote(&l, 0x2000, true); /* elsewhere */
	assert_int_equal(iguard_locks_own(&l, 0), held);
	iguard_lock_wrote(&l, 0x1100, true);
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	iguard_lock_saw(&l, 0x1100, 7, true, true); /* one turn for a ticket */
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	iguard_lock_wrote(&l, 0x1000, false);
	iguard_lock_draw(&l, 0x1000, 8);
	iguard_lock_saw(&l, 0x1100, 8, true, true);
	assert_int_equal(iguard_locks_own(&l, 0), held); /* of all tickets the same lock */
}

/* Who is served raises the number for the next one, and draws no ticket by that. */
static void giving_back_draws_nothing(void **state)
{
	struct iguard_locks l = {{0}, 0, 0, 0};

	(void)state;
	iguard_lock_wrote(&l, 0x1000, false);
	iguard_lock_draw(&l, 0x1000, 1);
	iguard_lock_saw(&l, 0x1100, 1, true, true);
	assert_int_not_equal(iguard_locks_own(&l, 0), 0);
	iguard_lock_wrote(&l, 0x1100, true);
	iguard_lock_draw(&l, 0x1100, 1);
	iguard_lock_saw(&l, 0x5000, 1, true, true); /* a flag */
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	/* It polled by an atomic that nobody follows. */
	iguard_lock_wrote(&l, 0x1000, false);
	iguard_lock_draw(&l, 0x1000, 2);
	iguard_lock_wrote(&l, 0x1100, true);
	iguard_lock_draw(&l, 0x1100, 2);
	iguard_lock_saw(&l, 0x5000, 2, true, true);
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	/* The next ticket counts. */
	iguard_lock_wrote(&l, 0x1000, false);
	iguard_lock_draw(&l, 0x1000, 3);
	iguard_lock_saw(&l, 0x1100, 3, true, true);
	assert_int_not_equal(iguard_locks_own(&l, 0), 0);
}

/* Who arrives at a grid barrier reads how many have, which may be a number drawn before. */
static void arriving_waits_for_no_turn(void **state)
{
	struct iguard_locks l = {{0}, 0, 0, 0};

	(void)state;
	iguard_lock_draw(&l, 0x1000, 2);
	iguard_lock_wrote(&l, 0x1100, true);
	iguard_lock_saw(&l, 0x1100, 2, true, true);
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	/* The counter is written by who draws. */
	iguard_lock_draw(&l, 0x1000, 3);
	iguard_lock_wrote(&l, 0x1000, false);
	iguard_lock_saw(&l, 0x1100, 3, true, true);
	assert_int_not_equal(iguard_locks_own(&l, 0), 0);
}

/* MCS: the last one's node is linked to this thread's; CLH: its own word is waited for. */
static void queues_are_locks(void **state)
{
	struct iguard_locks first = {{0}, 0, 0, 0}, l = first;

	(void)state;
	iguard_lock_begin(&first, 0x1000, true, true);
	uint32_t held = iguard_locks_own(&first, 0);
	assert_int_not_equal(held, 0);
	iguard_lock_wrote(&first, 0x3000, false); /* nothing releases */
	assert_int_equal(iguard_locks_own(&first, 0), held);
	iguard_lock_fence(&first, true);
	iguard_lock_wrote(&first, 0x3000, false); /* the next one's word */
	assert_int_equal(iguard_locks_own(&first, 0), 0);

	iguard_lock_join(&l, 0x1000, 5, true);
	iguard_lock_saw(&l, 0x2000, 1, true, false); /* before it is linked */
	iguard_lock_fence(&l, true);
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	iguard_lock_wrote(&l, 0x2100, false);
	iguard_lock_saw(&l, 0x2200, 0, true, false);
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	iguard_lock_fence(&l, true);
	assert_int_equal(iguard_locks_own(&l, 0), held);
	assert_int_not_equal(iguard_lock_free(&l, 0x1000),
			     0); /* by a compare-and-swap: it is the last */

	iguard_lock_join(&l, 0x1000, 0x2000, true);
	iguard_lock_saw(&l, 0x2100, 0, true, true); /* not in the node that was found */
	assert_int_equal(iguard_locks_own(&l, 0), 0);
	iguard_lock_saw(&l, 0x2008, 0, true, true);
	assert_int_equal(iguard_locks_own(&l, 0), held);
	iguard_lock_wrote(&l, 0x4000, true);
	assert_int_equal(iguard_locks_own(&l, 0), 0);
}

static void lock_by(uint32_t t, uint64_t at)
{
	see_flag(t);
	iguard_lock_try(&thread[t].locks, at, true, false);
	fence(t, true);
}

static void unlock_by(uint32_t t, uint64_t at)
{
	fence(t, true);
	set_flag(t);
	iguard_lock_free(&thread[t].locks, at);
	renew(t);
}

static void a_common_lock_orders(void **state)
{
	(void)state;
	lock_by(0, 0x1000);
	store(0);
	unlock_by(0, 0x1000);
	lock_by(BLOCK, 0x1000);
	assert_int_equal(store(BLOCK), IGUARD_LOCKED);
	unlock_by(BLOCK, 0x1000);
	lock_by(2 * BLOCK, 0x2000); /* the flag is seen, so it may be ordered */
	assert_int_equal(store(2 * BLOCK), IGUARD_POSSIBLE);
	assert_int_equal(kind, RACE_KIND_IGUARD_LOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(words_keep_their_fields, setup),
		cmocka_unit_test_setup(full_fields_step_aside, setup),
		cmocka_unit_test_setup(a_thread_without_context_is_not_judged, setup),
		cmocka_unit_test_setup(a_full_table_has_no_number, setup),
		cmocka_unit_test_setup(many_barriers_between, setup),
		cmocka_unit_test_setup(many_fences_between, setup),
		cmocka_unit_test_setup(kinds_of_pairs, setup),
		cmocka_unit_test_setup(halves_of_a_message, setup),
		cmocka_unit_test_setup(a_still_thread_is_certain, setup),
		cmocka_unit_test_setup(a_still_thread_speaks_for_itself, setup),
		cmocka_unit_test_setup(readers_of_two_blocks, setup),
		cmocka_unit_test_setup(a_small_lock_is_of_one_block, setup),
		cmocka_unit_test_setup(a_bare_unlock_is_seen, setup),
		cmocka_unit_test_setup(locks_are_inferred, setup),
		cmocka_unit_test_setup(tickets_are_locks, setup),
		cmocka_unit_test_setup(giving_back_draws_nothing, setup),
		cmocka_unit_test_setup(arriving_waits_for_no_turn, setup),
		cmocka_unit_test_setup(queues_are_locks, setup),
		cmocka_unit_test_setup(a_common_lock_orders, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
