/*
 * test_update.c - Algorithm 1 as the GPU runs it: against the plain version, by threads, and on the
 * paper's listings.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"
#include "plain.h"
#include "hirace/hirace.h"

uint32_t host_overlapping;

static uint64_t rng = 0x9e3779b97f4a7c15ull;

static uint32_t draw(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 32) * below >> 32);
}

static struct hirace_actor actor(uint32_t thread, uint32_t block_size)
{
	struct hirace_actor a = {.thread = thread,
				 .block_first = thread / block_size * block_size,
				 .block_size = block_size,
				 .launch = 1,
				 .thread_bits = hirace_thread_bits(1u << 20)};

	return a;
}

/* ---- the plain version -------------------------------------------------------------- */

#define BLOCKS 3u
#define SIZE   70u /* threads of a block: two warps and a part of one */
#define WORDS  3u

struct twins {
	struct hirace_actor actor[BLOCKS * SIZE];
	struct plain_thread thread[BLOCKS * SIZE];
	uint64_t word[WORDS];
	struct plain_word plain[WORDS];
};

static void begin_launch(struct twins *w, uint32_t launch)
{
	for (uint32_t t = 0; t < BLOCKS * SIZE; t++) {
		w->actor[t] = actor(t, SIZE);
		w->actor[t].launch = launch;
		w->thread[t] = (struct plain_thread){.thread = t,
						     .block = t / SIZE,
						     .warp = t / SIZE * 3 + t % SIZE / 32,
						     .launch = launch};
	}
}

static void sync_twins(struct twins *w, uint32_t thread, bool is_block)
{
	for (uint32_t t = 0; t < BLOCKS * SIZE; t++) {
		if (is_block && w->thread[t].block == w->thread[thread].block) {
			hirace_on_block_barrier(&w->actor[t], &host_none);
			w->thread[t].block_clock++;
		} else if (!is_block && w->thread[t].warp == w->thread[thread].warp) {
			hirace_on_full_mask(&w->actor[t], &host_none);
			w->thread[t].warp_clock++;
		}
	}
}

/* One history; few threads, so that they meet. Returns its races. */
static unsigned run_twins(enum hirace_variant variant)
{
	static struct twins w;
	uint32_t some[5], launch = 1, races = 0;

	memset(&w, 0, sizeof(w));
	begin_launch(&w, launch);
	for (uint32_t i = 0; i < 5; i++)
		some[i] = draw(2) ? draw(BLOCKS * SIZE) : draw(40);
	for (uint32_t n = 5 + draw(40); n; n--) {
		uint32_t t = some[draw(5)], what = draw(20), at = draw(WORDS);
		uint32_t access = draw(2) ? HIRACE_R : draw(HIRACE_ACCESSES);
		enum hirace_verdict v;
		uint64_t was;
		bool is_race;

		if (what == 0)
			begin_launch(&w, ++launch);
		if (what < 4)
			sync_twins(&w, t, what & 1);
		v = hirace_update(&w.word[at], hirace_table(variant), &w.actor[t], access, &was);
		is_race = plain_update(&w.plain[at], &w.thread[t], hirace_access_name(access));
		assert_int_equal(v, is_race ? HIRACE_IS_RACE : HIRACE_NO_RACE);
		races += is_race;
	}
	return races;
}

static void agrees_with_the_plain_version(void **state)
{
	(void)state;
	for (int v = 0; v < HIRACE_VARIANTS; v++) {
		unsigned races = 0;

		assert_true(plain_read_table(PUBLISHED, v == HIRACE_CORRECTED));
		for (int i = 0; i < 3000; i++)
			races += run_twins((enum hirace_variant)v);
		assert_in_range(races, 3000, 20000);
	}
}

/* ---- threads of the host ---------------------------------------------------------------- */

#define HOSTS	  8u
#define LOCATIONS 512u
#define ROUNDS	  40u

static uint64_t shared_word[LOCATIONS];
static uint32_t reports[LOCATIONS];
static pthread_barrier_t barrier;

/* Location i mod 4: all read; all use device atomics; one writes between barriers; two race. */
static void *host_thread(void *arg)
{
	struct hirace_actor me = actor((uint32_t)(uintptr_t)arg, 64);
	uint64_t was;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < LOCATIONS; i++) {
			uint32_t access = HIRACE_R;

			if (i % 4 == 1)
				access = HIRACE_GA;
			else if (i % 4 == 2 && round % HOSTS != me.thread)
				continue;
			else if (i % 4 == 2 || (i % 4 == 3 && me.thread < 2))
				access = HIRACE_W;
			if (hirace_update(&shared_word[i], hirace_table(HIRACE_CORRECTED), &me,
					  access, &was) == HIRACE_IS_RACE)
				__atomic_fetch_add(&reports[i], 1, __ATOMIC_RELAXED);
		}
		pthread_barrier_wait(&barrier);
		hirace_on_block_barrier(&me, &host_none);
	}
	return NULL;
}

/* However the updates interleave: each race is found by exactly one thread, once. */
static void threads_agree(void **state)
{
	pthread_t threads[HOSTS];

	(void)state;
	pthread_barrier_init(&barrier, NULL, HOSTS);
	for (uintptr_t i = 0; i < HOSTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, host_thread, (void *)i), 0);
	for (uintptr_t i = 0; i < HOSTS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < LOCATIONS; i++)
		assert_int_equal(reports[i], i % 4 == 3);
}

/* ---- what the paper shows -------------------------------------------------------------- */

#define LISTING_THREADS 8u
#define STEPS		4u

/* What a thread does: an access of data[at], or a barrier of its block. */
struct listing_step {
	enum { END, ACCESS, BARRIER } what;
	uint32_t at, access;
};

struct listing {
	uint32_t threads, block_size;
	struct listing_step step[LISTING_THREADS][STEPS + 1];
};

static bool is_waiting(const struct listing *l, const uint32_t *pc, uint32_t t)
{
	return l->step[t][pc[t]].what == BARRIER;
}

/* A barrier opens when all of the block wait. */
static void open_barrier(const struct listing *l, uint32_t *pc, struct hirace_actor *a,
			 uint32_t block)
{
	uint32_t first = block * l->block_size, last = first + l->block_size;

	for (uint32_t t = first; t < last; t++)
		if (!is_waiting(l, pc, t))
			return;
	for (uint32_t t = first; t < last; t++) {
		pc[t]++;
		hirace_on_block_barrier(&a[t], &host_none);
	}
}

/* Runs it in a random order. Returns the number of races. */
static unsigned run_listing(const struct listing *l)
{
	struct hirace_actor a[LISTING_THREADS];
	uint32_t pc[LISTING_THREADS] = {0}, left = l->threads;
	uint64_t word[LISTING_THREADS + 2] = {0}, was;
	unsigned races = 0;

	for (uint32_t t = 0; t < l->threads; t++)
		a[t] = actor(t, l->block_size);
	while (left) {
		uint32_t t = draw(l->threads);
		const struct listing_step *s = &l->step[t][pc[t]];

		if (s->what == BARRIER)
			open_barrier(l, pc, a, t / l->block_size);
		if (s->what != ACCESS)
			continue;
		races += hirace_update(&word[s->at], hirace_table(HIRACE_CORRECTED), &a[t],
				       s->access, &was) == HIRACE_IS_RACE;
		pc[t]++;
		left = 0;
		for (uint32_t i = 0; i < l->threads; i++)
			left += l->step[i][pc[i]].what != END;
	}
	return races;
}

static void run_often(const struct listing *l, bool is_racy)
{
	for (int i = 0; i < 2000; i++) {
		unsigned races = run_listing(l);

		if (is_racy)
			assert_true(races > 0);
		else
			assert_int_equal(races, 0);
	}
}

/* Listing 1, race_noSync: all read data[0] and write it. */
static void listing_1(void **state)
{
	struct listing l = {.threads = 4, .block_size = 2};
	struct listing_step read = {ACCESS, 0, HIRACE_R}, write = {ACCESS, 0, HIRACE_W};

	(void)state;
	for (uint32_t t = 0; t < l.threads; t++) {
		l.step[t][0] = read;
		l.step[t][1] = write;
	}
	run_often(&l, true);
	/* Its twin: each has a location of its own. */
	for (uint32_t t = 0; t < l.threads; t++)
		l.step[t][0].at = l.step[t][1].at = t;
	run_often(&l, false);
}

/* Listing 2, race_blockSync: all read data[0]; barrier; all but thread 0 of a block write
 * data[tid - 1]. Two blocks race with each other, one alone doesn't. */
static void listing_2(void **state)
{
	struct listing l = {.threads = 4, .block_size = 2};

	(void)state;
	for (uint32_t t = 0; t < l.threads; t++) {
		uint32_t tid = t % l.block_size;

		l.step[t][0] = (struct listing_step){ACCESS, 0, HIRACE_R};
		l.step[t][1] = (struct listing_step){BARRIER, 0, 0};
		if (tid)
			l.step[t][2] = (struct listing_step){ACCESS, tid - 1, HIRACE_W};
	}
	run_often(&l, true);
	l.threads = 2;
	run_often(&l, false);
	/* Without the barrier one block races, too. */
	for (uint32_t t = 0; t < l.threads; t++) {
		l.step[t][1] = l.step[t][2];
		l.step[t][2].what = END;
	}
	run_often(&l, true);
}

/* Listing 3, multiReadRace: read data[tid] and data[tid + 1], write data[tid + 1]. The paper:
 * a detector that remembers a fixed number of readers misses it in some schedules. */
static void listing_3(void **state)
{
	struct listing l = {.threads = 6, .block_size = 6};

	(void)state;
	for (uint32_t t = 0; t < l.threads; t++) {
		l.step[t][0] = (struct listing_step){ACCESS, t, HIRACE_R};
		l.step[t][1] = (struct listing_step){ACCESS, t + 1, HIRACE_R};
		l.step[t][2] = (struct listing_step){ACCESS, t + 1, HIRACE_W};
	}
	run_often(&l, true);
	/* Its twin: a barrier between reads and writes. */
	for (uint32_t t = 0; t < l.threads; t++) {
		l.step[t][3] = l.step[t][2];
		l.step[t][2] = (struct listing_step){BARRIER, 0, 0};
	}
	run_often(&l, false);
}

/* Data that everybody reads is stored by a few and then only loaded. */
static void common_reads_leave_the_word_alone(void **state)
{
	uint64_t word = 0, before, was;
	uint32_t stores = 0;

	(void)state;
	for (uint32_t t = 0; t < 64 * 1024; t++) {
		struct hirace_actor a = actor(t, 1024);

		before = word;
		assert_int_equal(
			hirace_update(&word, hirace_table(HIRACE_CORRECTED), &a, HIRACE_R, &was),
			HIRACE_NO_RACE);
		stores += word != before;
	}
	assert_in_range(stores, 2, 4);
	/* Algorithm 1 as published stores each time. */
	word = 0;
	stores = 0;
	for (uint32_t t = 0; t < 64 * 1024; t++) {
		struct hirace_actor a = actor(t, 1024);

		before = word;
		hirace_update(&word, hirace_table(HIRACE_PUBLISHED), &a, HIRACE_R, &was);
		stores += word != before;
	}
	assert_int_equal(stores, 64 * 1024);
}

/* A thread of another block that has read the location strongly may have observed an atomic there,
 * never a plain access: first accesses, and the one that races with their last. */
static void only_strong_writes_are_observed(void **state)
{
	static const struct {
		uint32_t first[2], n, access;
		enum hirace_verdict verdict;
	} cases[] = {
		{{HIRACE_W}, 1, HIRACE_GA, HIRACE_IS_RACE},
		{{HIRACE_W}, 1, HIRACE_W, HIRACE_IS_RACE},
		{{HIRACE_R}, 1, HIRACE_GA, HIRACE_IS_RACE},
		{{HIRACE_R}, 1, HIRACE_W, HIRACE_IS_RACE},
		{{HIRACE_GA}, 1, HIRACE_R, HIRACE_POSSIBLE},
		{{HIRACE_GA}, 1, HIRACE_W, HIRACE_POSSIBLE},
		{{HIRACE_R, HIRACE_GA}, 2, HIRACE_GA, HIRACE_IS_RACE}, /* with the read */
		{{HIRACE_R, HIRACE_GA}, 2, HIRACE_R, HIRACE_POSSIBLE}, /* with the atomic */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hirace_actor a = actor(0, 32), b = actor(32, 32);
		const uint8_t *table = hirace_table(HIRACE_CORRECTED);
		uint64_t word = 0, was;

		b.stamps.own.read = ~0u;
		for (uint32_t k = 0; k < cases[i].n; k++)
			hirace_update(&word, table, &a, cases[i].first[k], &was);
		assert_int_equal(hirace_update(&word, table, &b, cases[i].access, &was),
				 cases[i].verdict);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_plain_version),
		cmocka_unit_test(threads_agree),
		cmocka_unit_test(listing_1),
		cmocka_unit_test(listing_2),
		cmocka_unit_test(listing_3),
		cmocka_unit_test(common_reads_leave_the_word_alone),
		cmocka_unit_test(only_strong_writes_are_observed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
