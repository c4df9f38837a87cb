/*
 * word.h - the bits of a history word: the one place that knows where a field lies.
 *
 * A detector with a word for each location (HiRace, SC'24, Figure 2) keeps in 8 bytes which thread
 * accessed it last, when, and the state of the history:
 *
 *	bits  0 to  4	state		enum hirace_state of src/hirace/machine.h
 *	bits  5 to 10	stamp		release stamp of the access; 63 stands for 63 and more
 *	bits 11 to 16	warp clock	__syncwarps of the thread since its block's last barrier
 *	bits 17 to 26	launch		1 to 1,023; 0: not accessed since a sweep
 *	bits 27 to 63	place		block clock * 2^thread_bits + thread
 *
 * Thread and block clock share 37 bits, and the launch determines the boundary: a launch of 2^20
 * threads can count 131,071 barriers of a block, one of 2^31 threads 63. thread_bits is from 10 to
 * 31. Words of shared memory hold the thread's number in its block: 10 bits, and 2^27 - 1 barriers.
 *
 * No field may cause a report by being full or by wrapping:
 *
 *  - stamp: stops at 63, which means "63 or more" (release.h says why that is enough);
 *  - warp clock, block clock, thread: a thread whose number doesn't fit *steps aside*: it neither
 *    checks nor stores (hirace_can_track), and is counted. The word then holds the history of the
 *    other threads, which is judged as usual;
 *  - launch: after number 1,023 all words are set to 0 (a sweep), and numbers begin at 1 again.
 *
 * Zeroed memory is a word that has not been accessed. Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_RACE_LAYOUT_WORD_H
#define COLLIDER_RACE_LAYOUT_WORD_H

#include <stdbool.h>
#include <stddef.h>

#include "race/record.h"

#define HIRACE_STATE_BITS      5u
#define HIRACE_STAMP_BITS      6u
#define HIRACE_WARP_BITS       6u
#define HIRACE_LAUNCH_BITS     10u
#define HIRACE_PLACE_BITS      37u
#define HIRACE_THREAD_BITS_MIN 10u
#define HIRACE_THREAD_BITS_MAX 31u

#define HIRACE_STAMP_AT	 HIRACE_STATE_BITS
#define HIRACE_WARP_AT	 (HIRACE_STAMP_AT + HIRACE_STAMP_BITS)
#define HIRACE_LAUNCH_AT (HIRACE_WARP_AT + HIRACE_WARP_BITS)
#define HIRACE_PLACE_AT	 (HIRACE_LAUNCH_AT + HIRACE_LAUNCH_BITS)

#define HIRACE_STAMP_FULL  ((1u << HIRACE_STAMP_BITS) - 1u)
#define HIRACE_WARP_LAST   ((1u << HIRACE_WARP_BITS) - 1u)
#define HIRACE_LAUNCH_LAST ((1u << HIRACE_LAUNCH_BITS) - 1u)

RACE_STATIC_ASSERT(HIRACE_PLACE_AT + HIRACE_PLACE_BITS == 64, "a word is 8 bytes");

/* A word, taken apart. */
struct hirace_word {
	uint32_t state, stamp, warp_clock, launch, thread, block_clock;
};

RACE_FN uint32_t hirace_bits(uint64_t word, uint32_t at, uint32_t bits)
{
	return (uint32_t)(word >> at) & ((1u << bits) - 1u);
}

/* The smallest k with n <= 2^k; n from 2 to 2^31. */
RACE_FN uint32_t race_log2_up(uint32_t n)
{
#ifdef __CUDACC__
	return 32u - (uint32_t)__clz((int)(n - 1u));
#else
	return 32u - (uint32_t)__builtin_clz(n - 1u);
#endif
}

/*
 * Threads are numbered so that those of a block have numbers of their own from a multiple of a
 * power of two on, and those of a warp from a multiple of 32 on: two words then say by their
 * difference how their threads are related (device/hirace/step.h).
 * The step from block to block; size: its threads.
 */
RACE_FN uint32_t hirace_block_stride(uint32_t size)
{
	return size <= 32u ? 32u : 1u << race_log2_up(size);
}

/* How many bits the thread numbers of a launch take: the value for thread_bits. */
RACE_FN uint32_t hirace_thread_bits(uint64_t threads)
{
	uint32_t low = (uint32_t)threads, bits;

	if (threads >> 31)
		return HIRACE_THREAD_BITS_MAX;
	bits = low > 1u ? race_log2_up(low) : 0;
	return bits < HIRACE_THREAD_BITS_MIN ? HIRACE_THREAD_BITS_MIN : bits;
}

/* The last block clock that a word of such a launch can hold. */
RACE_FN uint32_t hirace_block_last(uint32_t thread_bits)
{
	return (1u << (HIRACE_PLACE_BITS - thread_bits)) - 1u;
}

/* Do the thread's numbers fit? If not it steps aside. */
RACE_FN bool hirace_can_track(uint64_t thread, uint64_t block_clock, uint64_t warp_clock,
			      uint32_t thread_bits)
{
	return !(thread >> thread_bits) && block_clock <= hirace_block_last(thread_bits) &&
	       warp_clock <= HIRACE_WARP_LAST;
}

/* Every field must fit; a stamp above 63 is stored as 63. */
RACE_FN uint64_t hirace_encode(struct hirace_word w, uint32_t thread_bits)
{
	uint64_t place = (uint64_t)w.block_clock << thread_bits | w.thread;
	uint64_t stamp = w.stamp < HIRACE_STAMP_FULL ? w.stamp : HIRACE_STAMP_FULL;

	return place << HIRACE_PLACE_AT | (uint64_t)w.launch << HIRACE_LAUNCH_AT |
	       (uint64_t)w.warp_clock << HIRACE_WARP_AT | stamp << HIRACE_STAMP_AT | w.state;
}

RACE_FN struct hirace_word hirace_decode(uint64_t word, uint32_t thread_bits)
{
	uint64_t place = word >> HIRACE_PLACE_AT;
	struct hirace_word w;

	w.state = hirace_bits(word, 0, HIRACE_STATE_BITS);
	w.stamp = hirace_bits(word, HIRACE_STAMP_AT, HIRACE_STAMP_BITS);
	w.warp_clock = hirace_bits(word, HIRACE_WARP_AT, HIRACE_WARP_BITS);
	w.launch = hirace_bits(word, HIRACE_LAUNCH_AT, HIRACE_LAUNCH_BITS);
	w.thread = (uint32_t)(place & ((1ull << thread_bits) - 1u));
	w.block_clock = (uint32_t)(place >> thread_bits);
	return w;
}

/* The number of the launch after number `launch`; 0: sweep all words first, then it is 1. */
RACE_FN uint32_t hirace_launch_next(uint32_t launch)
{
	return launch < HIRACE_LAUNCH_LAST ? launch + 1u : 0u;
}

#endif
