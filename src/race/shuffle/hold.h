/*
 * hold.h - kernels of independent streams in another order: --shuffle-streams.
 *
 * A launch on a stream is held back for a while, so that the work of other streams comes first.
 * Only events and waits order streams with each other, and these hold back the launch's successors,
 * too: no order that the program requires is broken. Half of a stream's first RACE_HOLD_DENSE
 * launches are held back, then ever fewer, as with the delays (--dense), for 8 us to 17 ms: all
 * powers of two are equally likely, since it is not known how long kernels last. SuperCollider 3.5
 * shuffles what runs inside a kernel; this is the same between kernels.
 */
#ifndef COLLIDER_RACE_SHUFFLE_HOLD_H
#define COLLIDER_RACE_SHUFFLE_HOLD_H

#include "race/shuffle/blocks.h"

#define RACE_HOLD_DENSE	  64u
#define RACE_HOLD_SHORT	  8192u /* ns */
#define RACE_HOLD_OCTAVES 11u

/* Why a launch is never held back. */
enum race_hold_skip {
	RACE_HOLD_NULL_STREAM,	/* the legacy default stream, which others wait for */
	RACE_HOLD_CAPTURED,	/* written into a graph */
	RACE_HOLD_PROGRAMMATIC, /* it may begin before its predecessor has ended */
	RACE_HOLD_REFUSED,	/* the driver refused */
	RACE_HOLD_SKIPS
};

/* How the launches of one context were treated. */
struct race_holds {
	uint64_t held, passed; /* not drawn */
	uint64_t skipped[RACE_HOLD_SKIPS];
};

/*
 * How long to hold back launch number `launch` of a stream, in ns; 0: not at all. Streams are
 * numbered in the order in which the program made or used them, launches from 0 in each.
 */
RACE_FN uint64_t race_hold_ns(uint32_t seed, uint32_t stream, uint64_t launch)
{
	uint32_t x = race_shuffle_mix(race_shuffle_mix(seed ^ 0x51ed270bu) + stream);
	uint32_t of = RACE_HOLD_DENSE, length;

	x = race_shuffle_mix(x + (uint32_t)launch * 0x9e3779b1u);
	if (launch > RACE_HOLD_DENSE)
		of = launch > 0xffffffffu ? 0xffffffffu : (uint32_t)launch;
	if ((uint64_t)x * of >> 32 >= RACE_HOLD_DENSE / 2)
		return 0;
	x = race_shuffle_mix(x ^ 0x2545f491u);
	length = RACE_HOLD_SHORT << (uint32_t)((uint64_t)x * RACE_HOLD_OCTAVES >> 32);
	return length + (race_shuffle_mix(x) & (length - 1));
}

#endif
