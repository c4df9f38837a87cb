/*
 * overlap.h - which launches ran at the same time, seen by their own threads.
 *
 * A launch that begins while another one has threads left can't be ordered behind it by the API,
 * since streams, events and graphs order ends before beginnings. So threads that leave are
 * counted, and nobody waits for the count: a launch's first thread looks, before it counts its own
 * launch, which of those that ran are over by now, and notes for each how many had begun until
 * then (`over`). A launch with a larger number (`began`) began behind that end; one with no larger
 * number had looked before, and found the other one running.
 *
 * `began` is written last: who finds it knows that its own launch has looked. A thread that doesn't
 * find it yet counts for itself whether the other launch still has threads.
 *
 * Freestanding C, compiled by CUDA C too. The includer defines, all of them relaxed:
 *
 *	SHADOW_FN			specifiers of functions that use them
 *	SHADOW_LOAD64(p), SHADOW_LOAD32(p)
 *	SHADOW_SET64(p, v), SHADOW_SET32(p, v)
 *	SHADOW_SWAP32(p, old, new)	compare-and-swap, returns what was there
 *	SHADOW_CLEAR32(p, bits)		clears bits
 *	SHADOW_RAISE64(p, n)		adds, returns what was there
 *
 * Each operation's result is there before the next one is made where it depends on it by a branch
 * or a value; nothing more is asked of their order.
 */
#ifndef COLLIDER_SHADOW_OVERLAP_H
#define COLLIDER_SHADOW_OVERLAP_H

#include <stdbool.h>

#include "race/shadow.h"

/* Have all threads of this launch (a place in the table, from 1) left? False: not known, too. */
SHADOW_FN bool shadow_is_over(const struct race_history_tables *t, uint32_t launch)
{
	uint64_t threads = SHADOW_LOAD64(&t->runs[launch - 1u].threads), left = 0;
	uint32_t i = 0;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (; i < RACE_HISTORY_RUN_FEW_PARTS; i++)
		left += SHADOW_LOAD64(&t->left[i][launch - 1u]);
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
	for (; i < RACE_HISTORY_PARTS_OF(threads); i++)
		left += SHADOW_LOAD64(&t->left[i][launch - 1u]);
	return threads && left == threads;
}

/* Notes the end of a launch that is over. Gives back 1 to the one that was first. Only who takes
 * the launch out of its place gives that back, after the end was noted. */
SHADOW_FN uint32_t shadow_note_end(struct race_history_tables *t, uint32_t launch, uint32_t place)
{
	uint32_t begins = SHADOW_LOAD32(&t->begins);
	bool is_first = SHADOW_SWAP32(&t->runs[launch - 1u].over, 0, begins) == 0;

	if (SHADOW_SWAP32(&t->live[place], launch, 0) == launch)
		SHADOW_CLEAR32(&t->live_places, 1u << place);
	return is_first;
}

/* The lowest bit that is set. */
SHADOW_FN uint32_t shadow_lowest(uint32_t bits)
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
SHADOW_FN uint32_t shadow_settle(struct race_history_tables *t)
{
	uint32_t n = 0;

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t bits = SHADOW_LOAD32(&t->live_places); bits; bits &= bits - 1u) {
		uint32_t place = shadow_lowest(bits), launch = SHADOW_LOAD32(&t->live[place]);

		if (launch && shadow_is_over(t, launch))
			n += shadow_note_end(t, launch, place);
	}
	return n;
}

/* A place among those that run. False: all are taken. */
SHADOW_FN bool shadow_go_live(struct race_history_tables *t, uint32_t launch)
{
	uint32_t was = SHADOW_LOAD32(&t->live_places);

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	while (~was) {
		uint32_t place = shadow_lowest(~was);
		uint32_t found = SHADOW_SWAP32(&t->live_places, was, was | 1u << place);

		if (found == was) {
			SHADOW_SET32(&t->live[place], launch);
			return true;
		}
		was = found;
	}
	return false;
}

/* The first thread of a launch of so many threads. is_apart: nothing is concluded about it. What
 * its threads find in `threads` before it is there is 0. */
SHADOW_FN void shadow_start(struct race_history_tables *t, uint32_t launch, uint64_t threads,
			    bool is_apart)
{
	struct race_history_run *run = &t->runs[launch - 1u];
	uint64_t overs = shadow_settle(t);

	if (is_apart)
		overs++;
	else if (shadow_go_live(t, launch))
		SHADOW_SET64(&run->threads, threads);
	/* begins and overs at once: nobody sees this launch and not the ends before it. */
	SHADOW_SET32(&run->began, (uint32_t)SHADOW_RAISE64(&t->begins, overs << 32 | 1u) + 1u);
}

/*
 * A thread of `mine` asks: did `other` still run when mine began? True only if it did. False: it
 * was over, or that isn't known.
 */
SHADOW_FN bool shadow_ran_together(const struct race_history_tables *t, uint32_t mine,
				   uint32_t other)
{
	uint32_t began = SHADOW_LOAD32(&t->runs[mine - 1u].began), over;

	if (SHADOW_LOAD64(&t->runs[other - 1u].threads) == 0)
		return false;
	if (began == 0)
		return SHADOW_LOAD32(&t->runs[other - 1u].over) == 0 && !shadow_is_over(t, other);
	over = SHADOW_LOAD32(&t->runs[other - 1u].over);
	return over == 0 || began <= over;
}

#endif
