/*
 * shadow.h - the bits of a history word: the one place that knows where a field lies.
 *
 * A detector with a word for each location (HiRace, SC'24, Figure 2) keeps in 8 bytes who accessed
 * it last, when, and what state the history is in:
 *
 *	bits  0 to  4	state		enum shadow_state of src/shadow/machine.h
 *	bits  5 to 10	stamp		release stamp of the access; 63 stands for 63 and more
 *	bits 11 to 16	warp clock	__syncwarps of the thread since its block's last barrier
 *	bits 17 to 26	launch		1 to 1,023; 0: nobody has accessed it since a sweep
 *	bits 27 to 63	place		block clock * 2^thread_bits + thread
 *
 * Thread and block clock share 37 bits, and the launch says where the border lies: a launch of 2^20
 * threads can count 131,071 barriers of a block, one of 2^31 threads 63. thread_bits is from 10 to
 * 31. Words of shared memory hold the thread's number in its block: 10 bits, and 2^27 - 1 barriers.
 *
 * No field may give a report by being full or by wrapping:
 *
 *  - stamp: stops at 63, which means "63 or more" (release.h says why that is enough);
 *  - warp clock, block clock, thread: a thread whose number doesn't fit *steps aside*: it neither
 *    checks nor stores (shadow_can_track), and is counted. What is left is the history of the
 *    other threads, which is judged as it is;
 *  - launch: after number 1,023 all words are set to 0 (a sweep), and numbers begin at 1 again.
 *
 * Zeroed memory is a word that nobody has accessed. Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_RACE_SHADOW_H
#define COLLIDER_RACE_SHADOW_H

#include <stdbool.h>

#include "race/record.h"

#define SHADOW_STATE_BITS      5u
#define SHADOW_STAMP_BITS      6u
#define SHADOW_WARP_BITS       6u
#define SHADOW_LAUNCH_BITS     10u
#define SHADOW_PLACE_BITS      37u
#define SHADOW_THREAD_BITS_MIN 10u
#define SHADOW_THREAD_BITS_MAX 31u

#define SHADOW_STAMP_AT	 SHADOW_STATE_BITS
#define SHADOW_WARP_AT	 (SHADOW_STAMP_AT + SHADOW_STAMP_BITS)
#define SHADOW_LAUNCH_AT (SHADOW_WARP_AT + SHADOW_WARP_BITS)
#define SHADOW_PLACE_AT	 (SHADOW_LAUNCH_AT + SHADOW_LAUNCH_BITS)

#define SHADOW_STAMP_FULL  ((1u << SHADOW_STAMP_BITS) - 1u)
#define SHADOW_WARP_LAST   ((1u << SHADOW_WARP_BITS) - 1u)
#define SHADOW_LAUNCH_LAST ((1u << SHADOW_LAUNCH_BITS) - 1u)

RACE_STATIC_ASSERT(SHADOW_PLACE_AT + SHADOW_PLACE_BITS == 64, "a word is 8 bytes");

/* A word, taken apart. */
struct shadow_word {
	uint32_t state, stamp, warp_clock, launch, thread, block_clock;
};

RACE_FN uint32_t shadow_bits(uint64_t word, uint32_t at, uint32_t bits)
{
	return (uint32_t)(word >> at) & ((1u << bits) - 1u);
}

/* How many bits the thread numbers of a launch take: what to give as thread_bits. */
RACE_FN uint32_t shadow_thread_bits(uint64_t threads)
{
	uint32_t bits = SHADOW_THREAD_BITS_MIN;

	while (bits < SHADOW_THREAD_BITS_MAX && threads > 1ull << bits)
		bits++;
	return bits;
}

/* The last block clock that a word of such a launch can hold. */
RACE_FN uint32_t shadow_block_last(uint32_t thread_bits)
{
	return (1u << (SHADOW_PLACE_BITS - thread_bits)) - 1u;
}

/* Do the thread's numbers fit? If not it steps aside. */
RACE_FN bool shadow_can_track(uint64_t thread, uint64_t block_clock, uint64_t warp_clock,
			      uint32_t thread_bits)
{
	return !(thread >> thread_bits) && block_clock <= shadow_block_last(thread_bits) &&
	       warp_clock <= SHADOW_WARP_LAST;
}

/* Every field must fit; a stamp above 63 is stored as 63. */
RACE_FN uint64_t shadow_encode(struct shadow_word w, uint32_t thread_bits)
{
	uint64_t place = (uint64_t)w.block_clock << thread_bits | w.thread;
	uint64_t stamp = w.stamp < SHADOW_STAMP_FULL ? w.stamp : SHADOW_STAMP_FULL;

	return place << SHADOW_PLACE_AT | (uint64_t)w.launch << SHADOW_LAUNCH_AT |
	       (uint64_t)w.warp_clock << SHADOW_WARP_AT | stamp << SHADOW_STAMP_AT | w.state;
}

RACE_FN struct shadow_word shadow_decode(uint64_t word, uint32_t thread_bits)
{
	uint64_t place = word >> SHADOW_PLACE_AT;
	struct shadow_word w;

	w.state = shadow_bits(word, 0, SHADOW_STATE_BITS);
	w.stamp = shadow_bits(word, SHADOW_STAMP_AT, SHADOW_STAMP_BITS);
	w.warp_clock = shadow_bits(word, SHADOW_WARP_AT, SHADOW_WARP_BITS);
	w.launch = shadow_bits(word, SHADOW_LAUNCH_AT, SHADOW_LAUNCH_BITS);
	w.thread = (uint32_t)(place & ((1ull << thread_bits) - 1u));
	w.block_clock = (uint32_t)(place >> thread_bits);
	return w;
}

/* The number of the launch behind number `launch`; 0: sweep all words first, then it is 1. */
RACE_FN uint32_t shadow_launch_next(uint32_t launch)
{
	return launch < SHADOW_LAUNCH_LAST ? launch + 1u : 0u;
}

#endif
