/*
 * overlap.h - which launches ran at the same time, seen by their own threads.
 *
 * A launch that begins while another one has threads left can't be ordered after it by the API,
 * since streams, events and graphs order ends before beginnings. So threads that leave are
 * counted, and none waits for the count: a launch's first thread looks, before it counts its own
 * launch, which of those that ran are over by now, and notes for each how many had begun until
 * then (`over`). A launch with a larger number (`began`) began after that end; one with no larger
 * number had looked before, and found the other one running.
 *
 * `began` is written last: a thread that finds it knows that its own launch has looked. A thread
 * that doesn't find it yet counts for itself whether the other launch still has threads.
 *
 * Memory may order two launches that the API doesn't: the earlier one releases something while it
 * runs, another kernel acquires that and ends, and the later one begins after that end. Or the
 * other kernel reads what the earlier one wrote strongly, and that write is ordered (PTX:
 * observation). So the table has when the last launch was seen to be over whose text may acquire,
 * and may read strongly: where that isn't before the earlier launch's first thread, the order isn't
 * known. That is noted before the end is, so what began after the end finds it.
 *
 * Freestanding C, compiled by CUDA C too. The includer defines, all of them relaxed:
 *
 *	HIRACE_FN			specifiers of functions that use them
 *	HIRACE_LOAD64(p), HIRACE_LOAD32(p)
 *	HIRACE_SET64(p, v), HIRACE_SET32(p, v)
 *	HIRACE_SWAP32(p, old, new)	compare-and-swap, returns what was there
 *	HIRACE_CLEAR32(p, bits)		clears bits
 *	HIRACE_RAISE64(p, n)		adds, returns what was there
 *
 * Each operation's result is there before the next one is made where it depends on it by a branch
 * or a value; nothing more is asked of their order.
 */
#ifndef COLLIDER_HIRACE_OVERLAP_H
#define COLLIDER_HIRACE_OVERLAP_H

#include <stdbool.h>

#include "hirace/machine.h"

/* Have all threads of this launch (a place in the table, from 1) left? False: not known, too. */
HIRACE_FN bool hirace_is_over(const struct race_history_tables *t, uint32_t launch)
{
	uint64_t threads = RACE_RUN_THREADS(HIRACE_LOAD64(&t->runs[launch - 1u].threads));
	uint64_t left = 0;
	uint32_t i = 0;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (; i < RACE_HISTORY_RUN_FEW_PARTS; i++)
		left += HIRACE_LOAD64(&t->left[i][launch - 1u]);
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
	for (; i < RACE_HISTORY_PARTS_OF(threads); i++)
		left += HIRACE_LOAD64(&t->left[i][launch - 1u]);
	return threads && left == threads;
}

/* Each step waits for the last one's result: what comes after finds n there. */
HIRACE_FN void hirace_raise(uint32_t *p, uint32_t n)
{
	uint32_t was = HIRACE_LOAD32(p), found;

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (; was < n; was = found) {
		found = HIRACE_SWAP32(p, was, n);
		if (found == was)
			break;
	}
}

/* A launch that does this (RACE_RUN_*) was seen to be over; ~0u: its end won't be seen. */
HIRACE_FN void hirace_note_learner(struct race_history_tables *t, uint64_t does, uint32_t when)
{
	if (does & RACE_RUN_ORDERS)
		hirace_raise(&t->orderer, when);
	if (does & (RACE_RUN_ORDERS | RACE_RUN_SEES))
		hirace_raise(&t->seer, when);
}

/* Notes the end of a launch that is over. Gives back 1 to the one that was first. Only who takes
 * the launch out of its place gives that back, after the end was noted. */
HIRACE_FN uint32_t hirace_note_end(struct race_history_tables *t, uint32_t launch, uint32_t place)
{
	uint32_t begins = HIRACE_LOAD32(&t->begins);

	hirace_note_learner(t, HIRACE_LOAD64(&t->runs[launch - 1u].threads), begins + 1u);
	bool is_first = HIRACE_SWAP32(&t->runs[launch - 1u].over, 0, begins) == 0;

	if (HIRACE_SWAP32(&t->live[place], launch, 0) == launch)
		HIRACE_CLEAR32(&t->live_places, 1u << place);
	return is_first;
}

/* The lowest bit that is set. */
HIRACE_FN uint32_t hirace_lowest(uint32_t bits)
{
	uint32_t n = 0;

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	while (!(bits >> n & 1u))
		n++;
	return n;
}

/* Notes which launches are over by now. Gives back how many it was the first to see. */
HIRACE_FN uint32_t hirace_settle(struct race_history_tables *t)
{
	uint32_t n = 0;

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t bits = HIRACE_LOAD32(&t->live_places); bits; bits &= bits - 1u) {
		uint32_t place = hirace_lowest(bits), launch = HIRACE_LOAD32(&t->live[place]);

		if (launch && hirace_is_over(t, launch))
			n += hirace_note_end(t, launch, place);
	}
	return n;
}

/* A place among those that run. False: all are taken. */
HIRACE_FN bool hirace_go_live(struct race_history_tables *t, uint32_t launch)
{
	uint32_t was = HIRACE_LOAD32(&t->live_places);

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	while (~was) {
		uint32_t place = hirace_lowest(~was);
		uint32_t found = HIRACE_SWAP32(&t->live_places, was, was | 1u << place);

		if (found == was) {
			HIRACE_SET32(&t->live[place], launch);
			return true;
		}
		was = found;
	}
	return false;
}

/* The first thread of a launch of so many threads, with RACE_RUN_*. is_apart: nothing is concluded
 * about it. What its threads find in `threads` before it is there is 0. */
HIRACE_FN void hirace_start(struct race_history_tables *t, uint32_t launch, uint64_t threads,
			    uint32_t before, bool is_apart)
{
	struct race_history_run *run = &t->runs[launch - 1u];
	uint64_t overs = hirace_settle(t);
	bool is_live = !is_apart && hirace_go_live(t, launch);

	if (!is_live)
		hirace_note_learner(t, threads, ~0u);
	else
		HIRACE_SET64(&run->threads, threads);
	if (is_apart)
		overs++;
	/* begins and overs at once: no reader sees this launch without the ends before it. */
	uint32_t began = (uint32_t)HIRACE_RAISE64(&t->begins, overs << 32 | 1u) + 1u;
	HIRACE_SET64(&run->began, began | (uint64_t)before << 32);
}

/*
 * A thread of `mine` asks: did `other` still run when mine began? True only if it did. False: it
 * was over, or that isn't known.
 */
HIRACE_FN bool hirace_ran_together(const struct race_history_tables *t, uint32_t mine,
				   uint32_t other)
{
	uint32_t began = HIRACE_LOAD32(&t->runs[mine - 1u].began), over;

	if (HIRACE_LOAD64(&t->runs[other - 1u].threads) == 0)
		return false;
	if (began == 0)
		return HIRACE_LOAD32(&t->runs[other - 1u].over) == 0 && !hirace_is_over(t, other);
	over = HIRACE_LOAD32(&t->runs[other - 1u].over);
	return over == 0 || began <= over;
}

/*
 * The same, with what is known of orders through memory. A thread whose launch has no number yet
 * looks for ends itself. has_unseen: there are kernels without a place in the table.
 */
HIRACE_FN enum hirace_overlap hirace_overlap_of(struct race_history_tables *t, uint32_t mine,
						uint32_t other, bool has_unseen)
{
	const struct race_history_run *run = &t->runs[other - 1u];

	if (!hirace_ran_together(t, mine, other))
		return HIRACE_ORDERED;
	if (HIRACE_LOAD32(&t->runs[mine - 1u].began) == 0)
		HIRACE_RAISE64(&t->begins, (uint64_t)hirace_settle(t) << 32);
	/* 0 until it is known. */
	uint32_t before = (uint32_t)(HIRACE_LOAD64(&run->began) >> 32);
	uint64_t does = HIRACE_LOAD64(&run->threads);
	if (does & RACE_RUN_ORDERS && (has_unseen || HIRACE_LOAD32(&t->orderer) > before))
		return HIRACE_PERHAPS_ORDERED;
	return does & RACE_RUN_SHOWS && (has_unseen || HIRACE_LOAD32(&t->seer) > before)
		       ? HIRACE_PERHAPS_SEEN
		       : HIRACE_OVERLAPPING;
}

#endif
