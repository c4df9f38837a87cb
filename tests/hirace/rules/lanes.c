/*
 * lanes.c - warps that use partial masks against exact happens-before, all executions up to a
 * length.
 *
 *	lanes matrix|clocks|table DEPTH OTHERS KINDS [ALARMS MISSES]...
 *
 * Executions are accesses (the first KINDS of R, W, BA, GA) of the four lanes of a warp, and of
 * OTHERS (0 to 2) threads: one of another warp of the block, one of another block; __syncwarps of
 * the masks f, 3, c and 5; and with others the block's barrier. They begin with an access of lane
 * 0. Exact order: for each access, the set of threads that it is ordered before. Judged by
 *
 *	matrix	rows for each lane, lanes.h and update.h
 *	clocks	a clock for each lane and the corrected table, the published way: not enough
 *	table	full masks only, judged without rows and with them: both must agree
 *
 * A false alarm is a data race where none is, a miss is a race that isn't even possible. A race is
 * the end of an execution. Possible findings are counted, on races and elsewhere.
 *
 * Costs, one core: `matrix 6 0 4` half a second, `matrix 6 2 4` two.
 */
#include "frontier.h"
#include "host.h"
#include "rows.h"
#include "hirace/hirace.h"

#include <stdio.h>

#define LANES	4u
#define THREADS 6u
#define ALL	0xfu
#define LONGEST 9u

uint32_t host_overlapping;

static const uint8_t masks[] = {0xf, 0x3, 0xc, 0x5};

/* What is left of an execution. */
struct run {
	uint64_t word;
	uint8_t before[THREADS]
		      [HIRACE_ACCESSES]; /* threads that the last such access is ordered before */
	uint8_t clocks[LANES], block_clock;
	uint8_t seen[LANES][LANES], full, partial;
	uint8_t pad[9];
};
_Static_assert(sizeof(struct run) == 64, "no padding");

enum way { MATRIX, CLOCKS, TABLE };
static enum way way;
static unsigned threads = LANES, kinds;

static struct counts {
	uint64_t alarms, misses, races, possible_races, possible_others;
} counts[LONGEST + 1];

static void set_row(struct race_lane *row, const struct run *r, unsigned lane)
{
	memset(row, 0, sizeof(*row));
	for (unsigned i = 0; i < LANES; i++)
		row->seen[i] = r->seen[lane][i];
	row->full = r->full;
	row->is_partial = r->partial >> lane & 1;
}

static void set_actor(struct hirace_actor *me, struct race_lane *row, const struct run *r,
		      unsigned thread)
{
	memset(me, 0, sizeof(*me));
	me->launch = 1;
	me->thread_bits = 10;
	me->block_size = 64;
	me->block_first = thread == 5 ? 64 : 0;
	me->thread = thread < 4 ? thread : thread == 4 ? 32 : 64;
	me->block_clock = thread == 5 ? 0 : r->block_clock;
	me->warp_clock = thread < 4 ? r->clocks[thread] : 0;
	if (way == CLOCKS || thread >= LANES)
		return;
	set_row(row, r, thread);
	me->lanes = row;
}

static bool is_race(const struct run *r, unsigned thread, unsigned kind)
{
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < HIRACE_ACCESSES; k++) {
			bool is_same_block = (t < 5) == (thread < 5);
			bool is_atomic = k >= HIRACE_BA && kind >= HIRACE_BA &&
					 (is_same_block || (k == HIRACE_GA && kind == HIRACE_GA));

			if (r->before[t][k] && !(r->before[t][k] >> thread & 1) && !is_atomic &&
			    (k != HIRACE_R || kind != HIRACE_R))
				return true;
		}
	return false;
}

static void sync_threads(struct run *r, unsigned mask)
{
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < HIRACE_ACCESSES; k++)
			if (r->before[t][k] & mask)
				r->before[t][k] |= (uint8_t)mask;
}

static void sync_warp(struct run *r, unsigned mask)
{
	struct race_lane rows[LANES];

	sync_threads(r, mask);
	if (way == CLOCKS) {
		for (unsigned i = 0; i < LANES; i++)
			r->clocks[i] = (uint8_t)(r->clocks[i] + (mask >> i & 1));
		return;
	}
	for (unsigned i = 0; i < LANES; i++)
		set_row(&rows[i], r, i);
	rows_sync(rows, LANES, mask);
	r->full = (uint8_t)rows[0].full;
	r->partial = 0;
	for (unsigned i = 0; i < LANES; i++) {
		r->clocks[i] = (uint8_t)rows[i].seen[i];
		r->partial |= (uint8_t)(rows[i].is_partial << i);
		for (unsigned j = 0; j < LANES; j++)
			r->seen[i][j] = (uint8_t)rows[i].seen[j];
	}
}

static void sync_block(struct run *r)
{
	sync_threads(r, 0x1f);
	r->block_clock++;
	memset(r->clocks, 0, sizeof(r->clocks));
	memset(r->seen, 0, sizeof(r->seen));
	r->full = r->partial = 0;
}

/* Does the execution go on? */
static bool do_access(struct run *r, unsigned thread, unsigned kind, unsigned length,
		      uint64_t times)
{
	struct counts *c = &counts[length];
	struct hirace_actor me;
	struct race_lane row;
	struct hirace_result v;
	bool is_racy = is_race(r, thread, kind);

	set_actor(&me, &row, r, thread);
	v = hirace_judge(r->word, hirace_table(HIRACE_CORRECTED), &me, kind, 1);
	if (way == TABLE && me.lanes) {
		enum hirace_verdict with = v.verdict;

		me.lanes = NULL;
		v = hirace_judge(r->word, hirace_table(HIRACE_CORRECTED), &me, kind, 1);
		c->alarms += v.verdict != with ? times : 0;
	}
	if (v.verdict == HIRACE_IS_RACE && !is_racy)
		c->alarms += times;
	if (v.verdict == HIRACE_NO_RACE && is_racy)
		c->misses += times;
	if (v.verdict == HIRACE_POSSIBLE && is_racy)
		c->possible_races += times;
	if (v.verdict == HIRACE_POSSIBLE && !is_racy)
		c->possible_others += times;
	c->races += is_racy ? times : 0;
	if (is_racy || v.verdict == HIRACE_IS_RACE)
		return false;
	r->word = v.word;
	r->before[thread][kind] = (uint8_t)(1u << thread);
	return true;
}

static void step(struct frontier *next, const struct run *r, uint64_t times, unsigned length)
{
	unsigned actors = length == 1 ? 1 : threads;

	for (unsigned i = 0; i < actors * kinds; i++) {
		struct run to = *r;

		if (do_access(&to, i / kinds, i % kinds, length, times))
			frontier_add(next, &to, times);
	}
	for (unsigned i = 0; i < (way == TABLE ? 1 : sizeof(masks)) && length > 1; i++) {
		struct run to = *r;

		sync_warp(&to, masks[i]);
		frontier_add(next, &to, times);
	}
	if (length > 1 && threads > LANES) {
		struct run to = *r;

		sync_block(&to);
		frontier_add(next, &to, times);
	}
}

static void explore(unsigned depth)
{
	struct frontier now = {.size = sizeof(struct run)}, next = now;
	struct run start = {0};

	frontier_add(&now, &start, 1);
	for (unsigned length = 1; length <= depth; length++) {
		for (size_t i = 0; i < now.n; i++)
			step(&next, (const struct run *)(const void *)now.items + i, now.times[i],
			     length);
		frontier_free(&now);
		now = next;
		next = (struct frontier){.size = now.size};
	}
	frontier_free(&now);
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 4 ? (unsigned)atoi(argv[2]) : 0;
	uint64_t others = 0;
	int failed = 0;

	if (depth < 1 || depth > LONGEST) {
		fprintf(stderr, "usage: lanes matrix|clocks|table DEPTH OTHERS KINDS "
				"[ALARMS MISSES]...\n");
		return 2;
	}
	way = !strcmp(argv[1], "clocks") ? CLOCKS : !strcmp(argv[1], "table") ? TABLE : MATRIX;
	threads += (unsigned)atoi(argv[3]);
	kinds = (unsigned)atoi(argv[4]);
	explore(depth);
	for (unsigned l = 1; l <= depth; l++) {
		const struct counts *c = &counts[l];
		unsigned at = 3 + 2 * l;
		uint64_t a = (unsigned)argc > at ? strtoull(argv[at], NULL, 10) : 0;
		uint64_t m = (unsigned)argc > at + 1 ? strtoull(argv[at + 1], NULL, 10) : 0;

		printf("length %u: %llu races, %llu of them only possible; %llu possible that are "
		       "none; "
		       "%llu false alarms, %llu misses\n",
		       l, (unsigned long long)c->races, (unsigned long long)c->possible_races,
		       (unsigned long long)c->possible_others, (unsigned long long)c->alarms,
		       (unsigned long long)c->misses);
		failed |= c->alarms != a || c->misses != m;
		others += c->possible_races + c->possible_others;
	}
	/* With full masks nothing is left undecided. */
	return failed || (way == TABLE && others);
}
