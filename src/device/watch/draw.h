/*
 * draw.h - part of watch.cu: which accesses are watched.
 */
#ifndef COLLIDER_DEVICE_WATCH_DRAW_H
#define COLLIDER_DEVICE_WATCH_DRAW_H

#include "race/layout/watch.h"

/* How many accesses of the thread are left out before the next one that is drawn, on average: one
 * in RACE_WATCH_THIN of its first `dense` (in a small grid more of the very first), then ever
 * fewer; at full rate none. */
DEV_FN uint32_t dev_period(uint32_t cnt, uint32_t dense)
{
	uint32_t sample = (uint32_t)dev_block_word(offsetof(struct race_knobs, sample));
	uint32_t sparse = (uint32_t)dev_block_word(offsetof(struct race_knobs, sparse));
	uint32_t n = cnt < sparse ? cnt : sparse;

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, sample) % 8 == 0, "the low half");
	RACE_STATIC_ASSERT(offsetof(struct race_knobs, sparse) % 8 == 0, "the low half");
	sample = sample ? sample : 1u;
	if (dense == RACE_DENSE_ALL)
		return sample < RACE_WATCH_FAR / 2u ? sample : RACE_WATCH_FAR / 2u;
	n = n <= dense || dense == 0 ? 1u : n / dense;
	n *= cnt < 2u * RACE_WATCH_THIN
		     ? race_watch_thin(gridDim.x * gridDim.y, blockDim.x * blockDim.y)
		     : RACE_WATCH_THIN;
	return sample < RACE_WATCH_FAR / 2u / n ? sample * n : RACE_WATCH_FAR / 2u;
}

DEV_FN uint32_t dev_dense(void)
{
	RACE_STATIC_ASSERT(offsetof(struct race_knobs, dense) == 28, "the high half");
	return (uint32_t)(dev_block_word(24) >> 32);
}

/* A number that is equal in lanes that are here together. */
DEV_FN uint32_t dev_draw(void)
{
	uint32_t clock, r;

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, seed) == 20, "the high half");
	DEV_SREG32(clock, "%clock");
	r = (clock ^ (uint32_t)(dev_block_word(16) >> 32)) * 0x27D4EB2Fu + dev_warp() * 0x9E3779B1u;
	return (r ^ r >> 15) * 0x2C1B3C6Du;
}

/* The next draw: equal in threads of a block that have come through the same draws. So the delays
 * of its warps, which wait for each other at barriers, are at the same time, and lanes that have
 * gone different ways don't draw ever more apart. */
DEV_FN uint32_t dev_next(uint32_t next, uint32_t cnt)
{
	uint32_t gap, r;

	/* A thread that has polled is far behind. Were its way there as long as the polling,
	 * another one would poll for longer meanwhile, and so on. */
	DEV_NO_UNROLL
	for (uint32_t i = 0; i < 64u; i++) {
		r = next * 0x9E3779B1u + blockIdx.x * 0x85EBCA77u + blockIdx.y * 0xC2B2AE3Du;
		r = ((r ^ r >> 15) + (uint32_t)(dev_block_word(16) >> 32)) * 0x2C1B3C6Du;
		gap = 2u * dev_period(next, dev_dense()) - 1u;
		next += __umulhi(r ^ r >> 13, gap);
		if ((int32_t)(next - cnt) >= 0)
			return next;
		if (gap == 1u)
			break;
		next++;
	}
	return cnt;
}

/* Of the warps that have come to a draw half do it, as the lanes that are here are a part of
 * theirs: the others run on, and may meet the watchpoints. In a small grid one lane may be all that
 * ever accesses a location (the writer of a message): there lanes that are alone draw, too. */
DEV_FN bool dev_joins(uint32_t draw, uint32_t cnt)
{
	uint32_t part = (uint32_t)__popc(dev_active()), least = 0;

	if (cnt < 2u * RACE_WATCH_THIN)
		least = 32u / race_watch_thin(gridDim.x * gridDim.y, blockDim.x * blockDim.y);
	return dev_dense() == RACE_DENSE_ALL ||
	       __umulhi(draw * 0xC2B2AE3Du, 64u) < (part < least ? least : part);
}

#endif
