/*
 * lanes.c - iGUARD's rules in warps that use partial masks, against exact happens-before: all
 * executions up to a length.
 *
 *	lanes DEPTH OTHERS KINDS [full|clocks]
 *
 * Executions are accesses (the first KINDS of weak read, weak write, atomics of scope .cta and
 * wider) of the four lanes of a warp, and of OTHERS (0 to 2) threads: one of another warp of the
 * block, one of another block; __syncwarps of the masks f, 3, c and 5; and with others the block's
 * barrier. Exact order: for each access, the set of threads that it is ordered before (of several
 * accesses of one thread and kind the last one stands for all). A false alarm is a data race where
 * none is, a miss is a race that isn't even possible: both are errors. A race ends an execution.
 * What is only possible is counted, on races and elsewhere; `full`: with the mask f alone nothing
 * may be. `clocks`: each lane has its clock, but no row; that must go wrong.
 */
#include "../../hirace/rules/frontier.h"
#include "../../hirace/rules/rows.h"
#include "host.h"

#include <stdio.h>
#include <string.h>

#define LANES	4u
#define THREADS 6u
#define KINDS	4u
#define ALL	0xfu
#define LONGEST 9u

static const uint8_t masks[] = {0xf, 0x3, 0xc, 0x5};

/* What is left of an execution. */
struct run {
	struct iguard_entry entry;
	uint8_t before[THREADS][KINDS];
	uint8_t seen[LANES][LANES], full, partial;
	uint8_t block_clock;
	uint8_t pad[5];
};
_Static_assert(sizeof(struct run) == 64, "no padding");

static uint64_t contexts[IGUARD_CONTEXTS];
static bool has_rows = true;
static unsigned threads = LANES, kinds, nmasks = sizeof(masks);
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

static void set_actor(struct iguard_actor *me, struct race_lane *row, const struct run *r,
		      unsigned thread)
{
	memset(me, 0, sizeof(*me));
	me->thread = thread < 4 ? thread : thread == 4 ? 32 : 64;
	me->block_first = thread == 5 ? 64 : 0;
	me->block_size = 64;
	me->own.launch = 1;
	me->own.block_clock = thread == 5 ? 0 : r->block_clock;
	me->own.warp_clock = thread < LANES ? r->seen[thread][thread] : 0;
	me->context = iguard_intern(contexts, iguard_context_encode(me->own));
	me->contexts = contexts;
	if (thread >= LANES || !has_rows)
		return;
	set_row(row, r, thread);
	me->lanes = row;
}

static bool is_race(const struct run *r, unsigned thread, unsigned kind)
{
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < KINDS; k++) {
			bool is_same_block = (t < 5) == (thread < 5);
			bool is_atomic =
				k >= 2 && kind >= 2 && (is_same_block || (k == 3 && kind == 3));

			if (r->before[t][k] && !(r->before[t][k] >> thread & 1) && !is_atomic &&
			    (k || kind))
				return true;
		}
	return false;
}

static void sync_threads(struct run *r, unsigned mask)
{
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < KINDS; k++)
			if (r->before[t][k] & mask)
				r->before[t][k] |= (uint8_t)mask;
}

static void sync_warp(struct run *r, unsigned mask)
{
	struct race_lane rows[LANES];

	sync_threads(r, mask);
	for (unsigned i = 0; i < LANES; i++)
		set_row(&rows[i], r, i);
	rows_sync(rows, LANES, mask);
	r->full = (uint8_t)rows[0].full;
	r->partial = 0;
	for (unsigned i = 0; i < LANES; i++) {
		r->partial |= (uint8_t)(rows[i].is_partial << i);
		for (unsigned j = 0; j < LANES; j++)
			r->seen[i][j] = (uint8_t)rows[i].seen[j];
	}
}

static void sync_block(struct run *r)
{
	sync_threads(r, 0x1f);
	r->block_clock++;
	memset(r->seen, 0, sizeof(r->seen));
	r->full = r->partial = 0;
}

/* Does the execution go on? */
static bool do_access(struct run *r, unsigned thread, unsigned kind, unsigned length,
		      uint64_t times)
{
	struct iguard_access a = {kind != 0, kind >= 2, kind == 2, 1, 1};
	struct counts *c = &counts[length];
	bool is_racy = is_race(r, thread, kind);
	struct iguard_actor me;
	struct race_lane row;
	struct iguard_seen s;

	set_actor(&me, &row, r, thread);
	s = iguard_update_words(&r->entry, &me, &a);
	if (s.verdict == IGUARD_IS_RACE && !is_racy)
		c->alarms += times;
	if (s.verdict != IGUARD_IS_RACE && s.verdict != IGUARD_POSSIBLE && is_racy)
		c->misses += times;
	if (s.verdict == IGUARD_POSSIBLE && is_racy)
		c->possible_races += times;
	if (s.verdict == IGUARD_POSSIBLE && !is_racy)
		c->possible_others += times;
	c->races += is_racy ? times : 0;
	if (is_racy || s.verdict == IGUARD_IS_RACE)
		return false;
	/* What comes after a possible race may stay unseen: docs/iguard.md. */
	if (s.verdict == IGUARD_POSSIBLE)
		return false;
	r->before[thread][kind] = (uint8_t)(1u << thread);
	return true;
}

static void step(struct frontier *next, const struct run *r, uint64_t times, unsigned length)
{
	for (unsigned i = 0; i < threads * kinds; i++) {
		struct run to = *r;

		if (do_access(&to, i / kinds, i % kinds, length, times))
			frontier_add(next, &to, times);
	}
	for (unsigned i = 0; i < nmasks && length > 1; i++) {
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
	struct run start;

	memset(&start, 0, sizeof(start));
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
	unsigned depth = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
	bool is_full = argc > 4 && !strcmp(argv[4], "full");
	uint64_t races = 0;
	int failed = 0;

	if (depth < 1 || depth > LONGEST) {
		fprintf(stderr, "usage: lanes DEPTH OTHERS KINDS [full|clocks]\n");
		return 2;
	}
	threads += (unsigned)atoi(argv[2]);
	kinds = (unsigned)atoi(argv[3]);
	nmasks = is_full ? 1 : nmasks;
	has_rows = argc <= 4 || is_full;
	explore(depth);
	for (unsigned l = 1; l <= depth; l++) {
		const struct counts *c = &counts[l];

		printf("length %u: %llu races, %llu of them only possible; %llu possible that are "
		       "none; %llu false alarms, %llu misses\n",
		       l, (unsigned long long)c->races, (unsigned long long)c->possible_races,
		       (unsigned long long)c->possible_others, (unsigned long long)c->alarms,
		       (unsigned long long)c->misses);
		failed |= c->alarms || c->misses;
		failed |= is_full && (c->possible_races || c->possible_others);
		races += c->races;
	}
	return has_rows ? failed || !races : !failed;
}
