/*
 * choice.c - one pure function decides what is judged, and one which blocks.
 *
 * A kernel does the same in most of its launches: the first two of each shape are taken. Of a small
 * grid all blocks are; of a large one few, then four times as many as long as a trial is cheap or
 * the blocks wait for others, up to MOST. Then the same blocks with other seeds: which of two
 * threads comes first, and so whether a wait for the wrong phase passes, is drawn by the seed.
 *
 * While the program runs, a trial costs it little. What its user notices is the wait at its end:
 * there only the first trial of each kernel is waited for, all of these together twice as long as
 * one, and the rest for a moment.
 *
 * Misses: what only later launches do, or only blocks that aren't chosen.
 */
#include "race/judge/choice.h"

#include <stddef.h>

#define FIRST_LAUNCHES 2u
#define SMALL	       16u   /* blocks of a grid that is taken whole at once */
#define SMALL_THREADS  4096u /* or threads: what so many blocks of 256 have */
#define START	       6u    /* units */
#define GROWS	       4u    /* times */
#define MOST	       256u  /* blocks */
#define SEEDS	       3u
#define CHEAP_NS       100000000ull /* a trial after which there may be more blocks */
#define SEED_NS	       30000000ull  /* after which there may be another seed */

#define SECOND 1000000000ull

struct race_judge_policy race_judge_policy_of(enum race_judge_mode mode)
{
	return (struct race_judge_policy){.mode = mode,
					  .budget = 20,
					  .limit_ns = 3 * SECOND,
					  .at_least_ns = 15 * SECOND,
					  .grace_ns = SECOND * 3 / 20,
					  .first_ns = SECOND * 2 / 5};
}

struct race_judge_policy race_judge_policy_default(void)
{
	return race_judge_policy_of(RACE_JUDGE_AUTO);
}

const char *race_judge_why_text(enum race_judge_why why)
{
	static const char *const texts[RACE_JUDGE_WHYS] = {
		[RACE_JUDGE_TRY] = "",
		[RACE_JUDGE_NOT_ON] = "--judge=off",
		[RACE_JUDGE_PROVEN] = "proven free of races",
		[RACE_JUDGE_SEEN] = "launches like it were judged",
		[RACE_JUDGE_NO_TIME] = "no time was left (--judge-budget)",
		[RACE_JUDGE_ENDED] = "all that was chosen was judged",
		[RACE_JUDGE_DEAR] = "more would have taken too long",
		[RACE_JUDGE_FAILED] = "it could not be executed further",
		[RACE_JUDGE_HASTE] = "the program had ended",
	};

	return why < RACE_JUDGE_WHYS ? texts[why] : "";
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* 0, where b is more. */
static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t budget_ns(const struct race_judge_policy *p, uint64_t program_ns)
{
	return most(program_ns / 100 * p->budget, p->at_least_ns);
}

uint64_t race_judge_left_at_end(const struct race_judge_policy *p,
				const struct race_judge_question *q, uint64_t ran_ns)
{
	uint64_t tenth = q->program_ns / 10, all = most(tenth, p->grace_ns);

	if (q->trials || q->is_known)
		return minus(all, q->waited_ns);
	/* A program of many short kernels would wait for each of them. */
	return least(minus(most(tenth, p->first_ns), least(q->waited_ns, ran_ns)),
		     minus(most(tenth, 2 * p->first_ns), q->waited_ns));
}

/* Until when the next trial may last; 0: it isn't worth its start. */
static uint64_t limit_of(const struct race_judge_policy *p, const struct race_judge_question *q)
{
	uint64_t limit = minus(p->limit_ns, q->launch_ns);

	if (p->mode != RACE_JUDGE_AUTO)
		return limit;
	return least(limit, budget_ns(p, q->program_ns) - q->spent_ns);
}

/* Units that hold at least so many blocks. */
static uint64_t units_of(const struct race_judge_question *q, uint64_t blocks)
{
	uint64_t n = blocks / q->unit_blocks + (blocks % q->unit_blocks != 0);

	return least(n ? n : 1, q->units);
}

static bool is_small(const struct race_judge_question *q)
{
	return q->units <= SMALL / q->unit_blocks ||
	       (q->block_threads &&
		q->units <= SMALL_THREADS / ((uint64_t)q->unit_blocks * q->block_threads));
}

static uint64_t first_units(const struct race_judge_policy *p, const struct race_judge_question *q)
{
	if (p->mode == RACE_JUDGE_VERIFY || p->blocks == UINT64_MAX || (!p->blocks && is_small(q)))
		return q->units;
	return p->blocks ? units_of(q, p->blocks) : least(START, q->units);
}

/* Blocks that wait get others, however many were asked for: otherwise nothing was judged. */
static uint64_t next_units(const struct race_judge_policy *p, const struct race_judge_question *q)
{
	bool is_wanted = q->last_waits || (!p->blocks && q->last_ns < CHEAP_NS);
	uint64_t end = units_of(q, MOST);

	if (!is_wanted || q->last_units >= end)
		return q->last_units;
	return least(q->last_units * GROWS, end);
}

bool race_judge_is_seen(const struct race_judge_policy *p, uint64_t earlier)
{
	return p->mode != RACE_JUDGE_ALL && earlier >= FIRST_LAUNCHES;
}

static enum race_judge_why refuses(const struct race_judge_policy *p,
				   const struct race_judge_question *q)
{
	if (p->mode == RACE_JUDGE_OFF)
		return RACE_JUDGE_NOT_ON;
	if (q->is_proven)
		return RACE_JUDGE_PROVEN;
	if (!q->trials && race_judge_is_seen(p, q->earlier))
		return RACE_JUDGE_SEEN;
	if (p->mode == RACE_JUDGE_AUTO && q->spent_ns >= budget_ns(p, q->program_ns))
		return q->trials ? RACE_JUDGE_DEAR : RACE_JUDGE_NO_TIME;
	if (p->mode == RACE_JUDGE_AUTO && q->waited_ns && !race_judge_left_at_end(p, q, 0))
		return RACE_JUDGE_HASTE;
	return RACE_JUDGE_TRY;
}

struct race_judge_decision race_judge_decide(const struct race_judge_policy *p,
					     const struct race_judge_question *q)
{
	struct race_judge_decision d = {.why = refuses(p, q)};

	if (d.why != RACE_JUDGE_TRY)
		return d;
	d.limit_ns = limit_of(p, q);
	if (!q->trials) {
		d.units = first_units(p, q);
		return d;
	}
	if (q->last_failed)
		d.why = RACE_JUDGE_FAILED;
	else if (!d.limit_ns)
		d.why = RACE_JUDGE_DEAR;
	d.units = next_units(p, q);
	if (d.why != RACE_JUDGE_TRY || d.units > q->last_units)
		return d;
	d.seed = q->last_seeds;
	if (q->last_waits || q->last_seeds >= SEEDS)
		d.why = RACE_JUDGE_ENDED;
	else if (p->mode == RACE_JUDGE_VERIFY)
		d.why = RACE_JUDGE_TRY; /* what all schedules write alike is no matter of order */
	else if (q->last_ns >= SEED_NS)
		d.why = q->last_units < q->units && q->last_ns >= CHEAP_NS ? RACE_JUDGE_DEAR
									   : RACE_JUDGE_ENDED;
	return d;
}

uint64_t race_judge_pick(uint64_t units, uint64_t want, uint64_t *out)
{
	uint64_t part = want / 6, start = want - 2 * part, n = 0;
	uint64_t middle = units / 2 - least(units / 2, part / 2), end = units - least(units, part);

	if (want >= units) {
		for (; n < units; n++)
			out[n] = n;
		return n;
	}
	for (uint64_t i = 0; i < start; i++)
		out[n++] = i;
	for (uint64_t i = 0; i < part; i++)
		if (middle + i >= start && middle + i < end)
			out[n++] = middle + i;
	for (uint64_t i = end; i < units; i++)
		if (i >= start)
			out[n++] = i;
	return n;
}
