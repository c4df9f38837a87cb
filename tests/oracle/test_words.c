/*
 * test_words.c - words that many threads access, as the oracle keeps them: sets of readers, lanes
 * of a word's bytes, logs of atomics.
 *
 * Each case: some threads access a word, a stranger comes after all of them, or after all but
 * one, by a chain of releases at another word, and accesses it. After all: no race; else there is
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle/oracle.h"

#define X	0x10000ull
#define FLAG	0x20000ull
#define THREADS 128u
#define NOBODY	UINT32_MAX

struct world {
	struct oracle *o;
	uint32_t first, stranger;
	unsigned races, told; /* told: those with `watched` */
	uint32_t watched;
	enum oracle_kind last;
};

static void on_race(void *arg, const struct oracle_finding *f)
{
	struct world *w = arg;

	w->races++;
	w->told += f->first.actor == w->watched;
	w->last = f->kind;
}

static void begin(struct world *w, bool is_tiny)
{
	struct oracle_options opt = {.is_tiny = is_tiny};
	struct oracle_grid g = {
		.grid = 1, .blocks = 2, .block_threads = THREADS, .cluster_blocks = 1};

	*w = (struct world){.o = oracle_new(&opt)};
	w->first = oracle_grid(w->o, &g);
	oracle_op_start(w->o, 1, w->first);
	w->stranger = w->first + oracle_stride(THREADS) + 5;
	oracle_on_race(w->o, on_race, w);
}

/* Lanes of a warp access X + step * lane. */
static void lanes(struct world *w, uint32_t warp, uint32_t mask, uint8_t kind, uint32_t bytes,
		  uint32_t step)
{
	struct oracle_acc acc = {.inst = w, .kind = kind, .bytes = bytes};
	uint64_t at[ORACLE_LANES];

	for (uint32_t l = 0; l < ORACLE_LANES; l++)
		at[l] = X + l * step;
	oracle_access_warp(w->o, w->first + warp * 32, mask, &acc, at);
}

static void one(struct world *w, uint32_t actor, uint8_t kind, uint8_t strength, uint8_t flags,
		uint64_t address, uint32_t bytes)
{
	struct oracle_acc acc = {.inst = w,
				 .kind = kind,
				 .strength = strength,
				 .scope = strength == RACE_WEAK ? RACE_SCOPE_NONE : RACE_SCOPE_GPU,
				 .flags = flags,
				 .bytes = bytes};

	oracle_access(w->o, actor, &acc, address);
}

/* ... strongly, neighbouring words. */
static void flags(struct world *w, uint32_t warp, uint32_t mask, uint8_t kind)
{
	struct oracle_acc acc = {.inst = w,
				 .kind = kind,
				 .strength = RACE_RELAXED,
				 .scope = RACE_SCOPE_SYS,
				 .bytes = 4};
	uint64_t at[ORACLE_LANES];

	for (uint32_t l = 0; l < ORACLE_LANES; l++)
		at[l] = X + l * 4;
	oracle_access_warp(w->o, w->first + warp * 32, mask, &acc, at);
}

/* The stranger comes after all threads of its `n`, each `step`th, but `but`. */
static void come_behind(struct world *w, uint32_t n, uint32_t step, uint32_t but)
{
	for (uint32_t t = 0; t < n * step; t += step)
		if (t != but)
			one(w, w->first + t, RACE_OP_RMW, RACE_RELEASE, ORACLE_RED, FLAG, 4);
	one(w, w->stranger, RACE_OP_RMW, RACE_ACQUIRE, 0, FLAG, 4);
}

static void expect(struct world *w, bool is_race)
{
	assert_int_equal(w->races != 0, is_race);
	oracle_free(w->o);
}

/* Whole warps, in an order in which their readers join from both sides; halves of warps; single
 * lanes. */
static void test_readers(void **state)
{
	static const uint32_t parts[][4] = {{~0u}, {0xffff, 0xffff0000}, {0xf0, 0xf, ~0xffu}};
	static const uint32_t order[] = {2, 0, 3, 1};

	(void)state;
	for (unsigned i = 0; i < 3 * 2; i++) {
		for (uint32_t but = 0; but <= THREADS; but += 3) {
			struct world w;
			begin(&w, i & 1);
			for (unsigned k = 0; k < 4; k++)
				for (unsigned p = 0; p < 3 && parts[i / 2][p]; p++)
					lanes(&w, order[k], parts[i / 2][p], RACE_OP_READ, 4, 0);
			come_behind(&w, THREADS, 1, but < THREADS ? but : NOBODY);
			one(&w, w.stranger, RACE_OP_WRITE, RACE_WEAK, 0, X, 4);
			expect(&w, but < THREADS);
		}
	}
}

/* Single lanes of four warps read a word in one epoch after the other; beside one of them perhaps
 * another lane of its warp does, once. */
static void test_single_lanes(void **state)
{
	enum { LANES = 4, STEP = 37, ROUNDS = 12 };

	(void)state;
	for (unsigned i = 0; i < 2 * 2; i++) {
		for (uint32_t but = 0; but <= LANES; but++) {
			struct world w;
			begin(&w, i & 1);
			for (uint32_t k = 0; k < LANES * ROUNDS; k++) {
				uint32_t t = w.first + k % LANES * STEP;
				if (k >= LANES)
					one(&w, t, RACE_OP_RMW, RACE_RELEASE, ORACLE_RED, FLAG, 4);
				lanes(&w, k % LANES * STEP / 32, 1u << k % LANES * STEP % 32,
				      RACE_OP_READ, 4, 0);
				if (i & 2 && k == LANES - 1)
					lanes(&w, 1, 1u << 6, RACE_OP_READ, 4, 0);
			}
			one(&w, w.first + 38, RACE_OP_RMW, RACE_RELEASE, ORACLE_RED, FLAG, 4);
			come_behind(&w, LANES, STEP, but < LANES ? but * STEP : NOBODY);
			one(&w, w.stranger, RACE_OP_WRITE, RACE_WEAK, 0, X, 4);
			expect(&w, but < LANES);
		}
	}
}

/* Warps of which not the same lanes read don't become one reader. */
static void test_other_lanes(void **state)
{
	(void)state;
	for (uint32_t but = 0; but < 64; but++) {
		struct world w;
		begin(&w, false);
		lanes(&w, 0, 0xf, RACE_OP_READ, 4, 0);
		lanes(&w, 1, 0xff, RACE_OP_READ, 4, 0);
		come_behind(&w, 64, 1, but);
		one(&w, w.stranger, RACE_OP_WRITE, RACE_WEAK, 0, X, 4);
		expect(&w, but < 4 || (but >= 32 && but < 40));
	}
}

/* Bytes and halves of one word, read or written by neighbouring lanes, once or twice. */
static void test_narrow(void **state)
{
	(void)state;
	for (uint32_t bytes = 1; bytes <= 2; bytes++) {
		for (uint32_t but = 0; but <= 8; but++) {
			for (unsigned is_write = 0; is_write < 2; is_write++) {
				uint32_t mine = 4 / bytes; /* lanes of the first word */
				struct world w;
				begin(&w, false);
				lanes(&w, 0, 0xff, RACE_OP_READ, bytes, bytes);
				if (is_write)
					lanes(&w, 0, 0xff, RACE_OP_WRITE, bytes, bytes);
				come_behind(&w, 8, 1, but < 8 ? but : NOBODY);
				one(&w, w.stranger, RACE_OP_WRITE, RACE_WEAK, 0, X, 4);
				expect(&w, but < mine);
			}
		}
	}
}

/* Pixels of three bytes, a lane each, byte after byte; a second warp reads them, or none. The
 * stranger writes a byte of one, or a word that has parts of two. */
static void pixels(struct world *w, uint32_t warp, uint8_t kind)
{
	struct oracle_acc acc = {.inst = w, .kind = kind, .bytes = 1};
	uint64_t at[ORACLE_LANES];

	for (uint32_t b = 0; b < 3; b++) {
		for (uint32_t l = 0; l < ORACLE_LANES; l++)
			at[l] = X + l * 3 + b;
		oracle_access_warp(w->o, w->first + warp * 32, UINT32_MAX, &acc, at);
	}
}

static void test_pixels(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 2 * 2 * 2; how++) {
		uint32_t bytes = how & 2 ? 4 : 1;
		for (uint32_t but = 0; but < 8; but++) {
			struct world w;
			begin(&w, how & 1);
			pixels(&w, 0, how & 4 ? RACE_OP_READ : RACE_OP_WRITE);
			come_behind(&w, 32, 1, but);
			/* 8 of a byte, or all of a word: lanes 2 and 3 have bytes 8 to 11 */
			one(&w, w.stranger, RACE_OP_WRITE, RACE_WEAK, 0, X + 8, bytes);
			expect(&w, but == 2 || (bytes == 4 && but == 3));
		}
	}
}

/* ... in few bytes: no records of each, which took 300. */
static void test_pixels_bytes(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false);
	pixels(&w, 0, RACE_OP_WRITE);
	pixels(&w, 0, RACE_OP_READ);
	assert_int_equal(oracle_get_stats(w.o).words, 24);
	assert_in_range(oracle_get_stats(w.o).shadow_bytes, 1, 24 * 110);
	expect(&w, false);
}

/* A lane accesses a word of which another one has written bytes, after the lanes have met or not;
 * then the stranger comes, after one of them. */
static void test_pixels_rows(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		bool is_after = how & 1, is_read = how & 2;
		for (uint32_t by = 2; by < 4; by++) {
			struct world w;
			begin(&w, false);
			pixels(&w, 0, RACE_OP_WRITE);
			if (is_after)
				oracle_warp_sync(w.o, w.first, UINT32_MAX);
			/* lane 2 has word 2: bytes 8 to 11 */
			lanes(&w, 0, 4, is_read ? RACE_OP_READ : RACE_OP_WRITE, 4, 4);
			assert_int_equal(w.races != 0, !is_after);
			w.races = 0;
			one(&w, w.first + by, RACE_OP_RMW, RACE_RELEASE, ORACLE_RED, FLAG, 4);
			one(&w, w.stranger, RACE_OP_RMW, RACE_ACQUIRE, 0, FLAG, 4);
			one(&w, w.stranger, RACE_OP_WRITE, RACE_WEAK, 0, X + 11, 1);
			expect(&w, !is_after || by == 3);
		}
	}
}

/* Relaxed reductions, which observe nothing: each counts. */
static void test_reductions(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 8; how++) {
		for (uint32_t but = 0; but <= THREADS; but += 16) {
			uint32_t times = how & 1 ? 9 : 1;
			struct world w;
			begin(&w, how & 2);
			for (uint32_t i = 0; i < times; i++)
				for (uint32_t t = 0; t < THREADS; t += 8)
					one(&w, w.first + t, RACE_OP_RMW, RACE_RELAXED, ORACLE_RED,
					    X, 4);
			come_behind(&w, THREADS / 8, 8, but < THREADS ? but : NOBODY);
			one(&w, w.stranger, how & 4 ? RACE_OP_WRITE : RACE_OP_READ, RACE_WEAK, 0, X,
			    4);
			expect(&w, but < THREADS);
		}
	}
}

/* Who is after the last of atomics that return a value is after all of them: it has seen them. */
static void test_observed(void **state)
{
	(void)state;
	for (unsigned is_last = 0; is_last < 2; is_last++) {
		struct world w;
		begin(&w, false);
		for (uint32_t t = 0; t < 8; t++)
			one(&w, w.first + t, RACE_OP_RMW, RACE_RELAXED, 0, X, 4);
		one(&w, w.first + (is_last ? 7 : 6), RACE_OP_RMW, RACE_RELEASE, ORACLE_RED, FLAG,
		    4);
		one(&w, w.stranger, RACE_OP_RMW, RACE_ACQUIRE, 0, FLAG, 4);
		one(&w, w.stranger, RACE_OP_READ, RACE_WEAK, 0, X, 4);
		expect(&w, !is_last);
	}
}

/* A barrier of the first two warps. */
static void meet(struct world *w, uint64_t generation)
{
	struct oracle_arrival at = {.key = 1,
				    .generation = generation,
				    .expected = 64,
				    .flags = ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES};

	for (uint32_t i = 0; i < 2; i++)
		oracle_arrive(w->o, w->first + i * 32, ~0u, &at);
	for (uint32_t i = 0; i < 2; i++)
		oracle_leave(w->o, w->first + i * 32, ~0u, at.key, generation);
}

/* Atomics, a barrier, a plain read, a barrier, n times: entries of the word's log that were looked
 * at. */
static uint64_t looked_at(uint64_t n)
{
	struct world w;

	begin(&w, false);
	for (uint64_t i = 0; i < n; i++) {
		for (uint32_t t = 0; t < 64; t++)
			one(&w, w.first + t, RACE_OP_RMW, RACE_RELAXED, ORACLE_RED, X, 4);
		meet(&w, 2 * i);
		one(&w, w.first + (uint32_t)(i & 63), RACE_OP_READ, RACE_WEAK, 0, X, 4);
		meet(&w, 2 * i + 1);
	}
	uint64_t looked = oracle_get_stats(w.o).looked;
	expect(&w, false);
	return looked;
}

/* The log grows as long as the loop runs; what each read looks at doesn't. */
static void test_loop(void **state)
{
	uint64_t some = looked_at(200), all = looked_at(1600);

	(void)state;
	assert_in_range(some, 200, 200 * 64 * 16);
	assert_in_range(all, 1600, 12 * some);
}

/* Threads take numbers by atomics of 8 bytes, and then one reads the last number plainly: the last
 * one has seen all others' atomics, the one before hasn't, nor has one that took none. Whether an
 * atomic was seen isn't asked of each observer anew. */
static void test_observers(void **state)
{
	(void)state;
	for (uint32_t by = 0; by < 3; by++) {
		struct world w;
		begin(&w, false);
		const uint32_t readers[] = {w.first + THREADS - 1, w.first + THREADS - 2,
					    w.stranger};
		for (uint32_t t = 0; t < THREADS; t++)
			one(&w, w.first + t, RACE_OP_RMW, RACE_RELAXED, 0, X, 8);
		one(&w, readers[by], RACE_OP_READ, RACE_WEAK, 0, X, 8);
		assert_in_range(oracle_get_stats(w.o).looked, 2, 4 * THREADS);
		expect(&w, by > 0);
	}
}

/*
 * One grid's threads update a word, whole warps at a time; the next grid, all of whose threads come
 * after these, loads it read-only, and so looks at nothing, but where one of its own threads has
 * updated the word before: that is a race in any order, and each load is compared with all updates.
 */
static void test_next_grid(void **state)
{
	enum { BLOCKS = 16 };
	const struct oracle_grid g = {
		.grid = 2, .blocks = BLOCKS, .block_threads = THREADS, .cluster_blocks = 1};
	struct oracle_acc update = {.kind = RACE_OP_RMW,
				    .strength = RACE_RELAXED,
				    .scope = RACE_SCOPE_GPU,
				    .flags = ORACLE_RED,
				    .bytes = 4};
	struct oracle_acc load = {.kind = RACE_OP_READ, .flags = ORACLE_NC, .bytes = 4};
	uint64_t at[ORACLE_LANES];

	(void)state;
	for (uint32_t l = 0; l < ORACLE_LANES; l++)
		at[l] = X;
	for (unsigned is_own = 0; is_own < 2; is_own++) {
		struct world w;
		begin(&w, false);
		update.inst = &w;
		load.inst = &load;
		for (uint32_t t = 0; t < THREADS; t += 32)
			oracle_access_warp(w.o, w.first + t, ~0u, &update, at);
		oracle_op_end(w.o, 1);
		oracle_op_depend(w.o, 2, 1);
		uint32_t next = oracle_grid(w.o, &g);
		oracle_op_start(w.o, 2, next);
		if (is_own)
			oracle_access(w.o, next, &update, X);
		for (uint32_t t = 0; t < BLOCKS * THREADS; t += 32)
			oracle_access_warp(w.o, next + t, ~0u, &load, at);
		if (!is_own)
			assert_in_range(oracle_get_stats(w.o).looked, 0, THREADS);
		expect(&w, is_own);
	}
}

static const char places[ORACLE_LANES];

/* A lane reads a word, each by an instruction of its own. */
static void read_alone(struct world *w, uint32_t warp, uint32_t lane, uint64_t address)
{
	struct oracle_acc acc = {.inst = &places[lane], .kind = RACE_OP_READ, .bytes = 4};
	uint64_t at[ORACLE_LANES];

	at[lane] = address;
	oracle_access_warp(w->o, warp, 1u << lane, &acc, at);
}

/* Lanes of a warp write bytes: one of a word whose readers were in the grid before, which frees
 * their set, two of a word that the first of these two has read besides, in an earlier epoch or in
 * this one. */
static void test_bytes_of_sets(void **state)
{
	const struct oracle_grid g = {
		.grid = 2, .blocks = 1, .block_threads = THREADS, .cluster_blocks = 1};

	(void)state;
	for (unsigned how = 0; how < 2 * 2; how++) {
		bool is_after = how & 1;
		uint64_t at[ORACLE_LANES] = {X, X + 64, X + 65};
		struct oracle_acc acc = {.kind = RACE_OP_WRITE, .bytes = 1};
		struct world w;
		begin(&w, how & 2);
		acc.inst = &w;
		for (uint32_t l = 4; l < 6; l++) {
			read_alone(&w, w.first, l, X);
			read_alone(&w, w.first, l, X + 64);
		}
		oracle_op_end(w.o, 1);
		oracle_op_depend(w.o, 2, 1);
		uint32_t next = oracle_grid(w.o, &g);
		oracle_op_start(w.o, 2, next);
		read_alone(&w, next, 1, X + 64);
		if (is_after)
			oracle_warp_sync(w.o, next, UINT32_MAX);
		oracle_access_warp(w.o, next, 7, &acc, at);
		expect(&w, !is_after);
	}
}

/* Packed additions, each of two halves of a word, are compared with none of those before; an atomic
 * of the whole word races with them, as does one of a block's scope. */
static void test_halves(void **state)
{
	const struct oracle_acc others[] = {{.scope = RACE_SCOPE_GPU, .bytes = 4},
					    {.scope = RACE_SCOPE_CTA, .bytes = 2},
					    {.scope = RACE_SCOPE_GPU, .bytes = 2}};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct world w;
		struct oracle_acc other = others[i];
		begin(&w, false);
		for (uint32_t t = 0; t < 2 * THREADS; t++)
			one(&w, w.first + t % THREADS, RACE_OP_RMW, RACE_RELAXED, ORACLE_RED,
			    X + t % 2 * 2, 2);
		assert_in_range(oracle_get_stats(w.o).looked, 0, THREADS);
		other.inst = &other;
		other.kind = RACE_OP_RMW;
		other.strength = RACE_RELAXED;
		oracle_access(w.o, w.stranger, &other, X);
		expect(&w, i < 2);
	}
}

/* What an atomic has observed holds for those who know of it, also when its thread makes others
 * later, in another epoch, that they don't know. */
static void test_epochs(void **state)
{
	(void)state;
	for (unsigned is_after = 0; is_after < 2; is_after++) {
		struct world w;
		begin(&w, true);
		uint32_t a = w.first, b = w.first + 32, c = w.first + 64;
		w.watched = b;
		one(&w, b, RACE_OP_RMW, RACE_RELAXED, 0, X, 4);
		one(&w, a, RACE_OP_RMW, RACE_RELAXED, 0, X, 4);
		oracle_arrive(w.o, a, 1,
			      &(struct oracle_arrival){7, 1, 2,
						       ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES, &w});
		oracle_arrive(w.o, c, 1,
			      &(struct oracle_arrival){7, 1, 2,
						       ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES, &w});
		oracle_leave(w.o, a, 1, 7, 1);
		if (is_after)
			oracle_leave(w.o, c, 1, 7, 1);
		for (uint32_t i = 0; i < 20; i++)
			one(&w, a, RACE_OP_RMW, RACE_RELAXED, 0, X, 4);
		one(&w, c, RACE_OP_READ, RACE_WEAK, 0, X, 4);
		assert_int_equal(w.told, !is_after);
		expect(&w, true); /* with the later ones */
	}
}

/* Failed compare-and-swaps race with writes, not with reads, and see what came before. */
static void test_failed(void **state)
{
	(void)state;
	for (unsigned is_write = 0; is_write < 2; is_write++) {
		struct world w;
		begin(&w, false);
		one(&w, w.first, RACE_OP_RMW, RACE_RELAXED, 0, X, 4);
		one(&w, w.first + 1, RACE_OP_READ, RACE_RELAXED, 0, X, 4);
		one(&w, w.first + 2, RACE_OP_READ, RACE_RELAXED, 0, X, 4);
		one(&w, w.first + 1, RACE_OP_RMW, RACE_RELEASE, ORACLE_RED, FLAG, 4);
		one(&w, w.stranger, RACE_OP_RMW, RACE_ACQUIRE, 0, FLAG, 4);
		one(&w, w.stranger, is_write ? RACE_OP_WRITE : RACE_OP_READ, RACE_WEAK, 0, X, 4);
		expect(&w, is_write);
	}
}

/* A log meets an access of another size, and one that is alike. */
static void test_sizes(void **state)
{
	(void)state;
	for (uint32_t bytes = 4; bytes <= 8; bytes += 4) {
		struct world w;
		begin(&w, false);
		one(&w, w.first, RACE_OP_RMW, RACE_RELAXED, 0, X, 4);
		one(&w, w.stranger, RACE_OP_RMW, RACE_RELAXED, 0, X, bytes);
		if (bytes == 8)
			assert_int_equal(w.last, ORACLE_RACE_SIZE);
		expect(&w, bytes == 8);
	}
}

/* Many atomics of many threads to one word: a few bytes for each. */
static void test_memory(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false);
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t t = 0; t < THREADS; t++)
			one(&w, w.first + t, RACE_OP_RMW, RACE_RELAXED, 0, X, 4);
	assert_true(oracle_get_stats(w.o).shadow_bytes < 4096);
	oracle_free(w.o);
}

static uint64_t repeats;

static uint64_t *count_all(void *arg, const struct oracle_finding *f, bool *is_same)
{
	(void)arg;
	(void)is_same;
	(void)f;
	return &repeats;
}

/* A row of 32 words. */
static void row(struct world *w, uint32_t warp, uint8_t kind, unsigned number)
{
	struct oracle_acc acc = {.inst = w, .kind = kind, .bytes = 4};
	uint64_t at[ORACLE_LANES];

	for (uint32_t l = 0; l < ORACLE_LANES; l++)
		at[l] = X + number * 128 + l * 4;
	oracle_access_warp(w->o, w->first + warp * 32, ~0u, &acc, at);
}

static const char unrolled[25]; /* instructions: the last one is of another line */

static const void *line_of(void *arg, const void *inst)
{
	(void)arg;
	return inst == &unrolled[24] ? inst : unrolled;
}

/* Stores of an unrolled loop, by all threads: a few of them are kept, not some for each of its
 * instructions, and another line's load races with them unless it comes after all. */
static void test_one_line(void **state)
{
	(void)state;
	for (unsigned is_after = 0; is_after < 2; is_after++) {
		struct oracle_acc acc = {.kind = RACE_OP_WRITE, .bytes = 4};
		struct oracle_acc other = {.kind = RACE_OP_READ, .bytes = 4, .inst = &unrolled[24]};
		struct world w;
		begin(&w, false);
		oracle_count_repeats(w.o, count_all);
		oracle_group_lines(w.o, line_of);
		for (uint32_t i = 0; i < 24; i++) {
			acc.inst = &unrolled[i];
			for (uint32_t t = 0; t < THREADS; t++)
				oracle_access(w.o, w.first + t, &acc, X);
		}
		for (uint32_t t = 0; t < THREADS; t++)
			if (is_after || t < THREADS - 1)
				one(&w, w.first + t, RACE_OP_RMW, RACE_RELEASE, ORACLE_RED, FLAG,
				    4);
		one(&w, w.stranger, RACE_OP_RMW, RACE_ACQUIRE, 0, FLAG, 4);
		assert_true(oracle_get_stats(w.o).shadow_bytes < 2112);
		w.races = 0;
		oracle_access(w.o, w.stranger, &other, X);
		expect(&w, !is_after);
	}
}

/*
 * A pair is counted exactly a thousand times, then at least once a word, and forgets neither side:
 * a write of another line that comes after the write and not the reads races. One reader, and two.
 */
static void test_counted(void **state)
{
	enum { ROWS = 40 }; /* more than 1,000 words */

	(void)state;
	for (unsigned readers = 1; readers < 3; readers++) {
		for (unsigned is_after = 0; is_after < 2; is_after++) {
			struct oracle_acc other = {
				.kind = RACE_OP_WRITE, .bytes = 4, .inst = state};
			struct world w;
			begin(&w, false);
			oracle_count_repeats(w.o, count_all);
			for (unsigned i = 0; i < ROWS; i++) {
				for (unsigned k = 1; k <= readers; k++)
					row(&w, k, RACE_OP_READ, i);
				row(&w, 0, RACE_OP_WRITE, i);
			}
			assert_int_equal(oracle_findings(w.o), 1);
			assert_int_equal(oracle_get(w.o, 0)->count,
					 readers == 1 ? ROWS * 32 : 1000 + ROWS * 32 - 1000 / 2);
			for (uint32_t t = 0; t < THREADS; t++)
				if (is_after || t < 32)
					one(&w, w.first + t, RACE_OP_RMW, RACE_RELEASE, ORACLE_RED,
					    FLAG, 4);
			one(&w, w.stranger, RACE_OP_RMW, RACE_ACQUIRE, 0, FLAG, 4);
			w.races = 0;
			oracle_access(w.o, w.stranger, &other, X + (ROWS - 1) * 128);
			expect(&w, !is_after);
		}
	}
}

/* The first warps of the block pass a barrier. */
static void pass(struct world *w, uint32_t warps)
{
	struct oracle_arrival a = {.expected = warps * 32,
				   .flags = ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES};

	for (uint32_t i = 0; i < warps; i++)
		oracle_arrive(w->o, w->first + i * 32, ~0u, &a);
	for (uint32_t i = 0; i < warps; i++)
		oracle_leave(w->o, w->first + i * 32, ~0u, 0, 0);
}

/* Words share a set of readers, the last of which are the warp's own lanes. Then one lane writes
 * its own word, and another one that of a third. With a __syncwarp() before there is no race. */
static void test_own_words(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct oracle_acc acc = {.kind = RACE_OP_WRITE, .bytes = 4, .inst = state};
		uint64_t at[ORACLE_LANES] = {X, 0, X + 12};
		struct world w;
		begin(&w, i & 1);
		row(&w, 2, RACE_OP_READ, 0);
		row(&w, 1, RACE_OP_READ, 0);
		pass(&w, 3);
		row(&w, 1, RACE_OP_READ, 0);
		if (i / 2)
			oracle_warp_sync(w.o, w.first + 32, ~0u);
		oracle_access_warp(w.o, w.first + 32, 5, &acc, at);
		expect(&w, !(i / 2));
	}
}

/* A warp writes flags, another one reads them; is_again: then the first one writes them once more.
 * The reader of a flag has seen the write that it read. */
static void test_flags(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * 2 * 3; i++) {
		bool is_again = i & 2;
		unsigned who = i / 4; /* the reader, its neighbour, the writer */
		struct world w;
		begin(&w, i & 1);
		flags(&w, 0, ~0u, RACE_OP_WRITE);
		flags(&w, 1, ~0u, RACE_OP_READ);
		if (is_again)
			flags(&w, 0, ~0u, RACE_OP_WRITE);
		one(&w,
		    w.first + (who == 2	  ? 3
			       : who == 1 ? 36
					  : 35),
		    RACE_OP_WRITE, RACE_WEAK, 0, X + 12, 4);
		expect(&w, who || is_again);
	}
}

/* A stranger after all of them, or all but one; it reads or writes plainly, or strongly another
 * number of bytes. */
static void test_behind_flags(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * 2 * 3; i++) {
		bool is_again = i & 2;
		unsigned how = i / 4;
		for (uint32_t but = 0; but <= 64; but++) {
			bool is_left = but == 35 ? how != 0 : but == 3 && is_again;
			struct world w;
			begin(&w, i & 1);
			flags(&w, 0, ~0u, RACE_OP_WRITE);
			flags(&w, 1, ~0u, RACE_OP_READ);
			flags(&w, 1, ~0u, RACE_OP_READ);
			if (is_again)
				flags(&w, 0, ~0u, RACE_OP_WRITE);
			come_behind(&w, 64, 1, but < 64 ? but : NOBODY);
			one(&w, w.stranger, how ? RACE_OP_WRITE : RACE_OP_READ,
			    how == 2 ? RACE_RELAXED : RACE_WEAK, 0, X + 12 + (how == 2),
			    how == 2 ? 1 : 4);
			expect(&w, is_left);
		}
	}
}

/* Plain writes of a warp come before its own strong reads, not before another warp's. */
static void test_before_flags(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct world w;
		begin(&w, i & 1);
		lanes(&w, 0, ~0u, RACE_OP_WRITE, 4, 4);
		flags(&w, 0, ~0u, RACE_OP_READ);
		flags(&w, i / 2, ~0u, RACE_OP_READ);
		expect(&w, i / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers),	      cmocka_unit_test(test_other_lanes),
		cmocka_unit_test(test_pixels),	      cmocka_unit_test(test_pixels_rows),
		cmocka_unit_test(test_pixels_bytes),  cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_bytes_of_sets), cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_loop),	      cmocka_unit_test(test_halves),
		cmocka_unit_test(test_observers),     cmocka_unit_test(test_next_grid),
		cmocka_unit_test(test_observed),      cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_failed),	      cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_memory),	      cmocka_unit_test(test_counted),
		cmocka_unit_test(test_one_line),      cmocka_unit_test(test_flags),
		cmocka_unit_test(test_behind_flags),  cmocka_unit_test(test_before_flags),
		cmocka_unit_test(test_own_words),     cmocka_unit_test(test_single_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
