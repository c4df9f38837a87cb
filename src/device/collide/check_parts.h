/*
 * check_parts.h - what the checks that are functions share (check.cu, check_ahead.cu): the draw,
 * the delay, the count.
 *
 * Costs: three loads of constants and about 15 instructions for each call.
 */
#ifndef COLLIDER_DEVICE_COLLIDE_CHECK_PARTS_H
#define COLLIDER_DEVICE_COLLIDE_CHECK_PARTS_H

#include "race/record.h"

#include "device/gpu_ops.h"

/* Of check_cold.cu. */
extern "C" __device__ uint32_t __collider_chosen(uint64_t table, uint32_t site);
extern "C" __device__ void __collider_items(uint64_t table, uint64_t what, uint32_t found,
					    const uint64_t *item);

/* ---- knobs and randomness -------------------------------------------------------- */

/* Offsets are spelled as text because src/instrument rewrites ld.const where need be. */
RACE_STATIC_ASSERT(offsetof(struct race_knobs, rsleep) == 8, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, wsleep) == 12, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, sample) == 16, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, seed) == 20, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, flags) == 24, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, dense) == 28, "read below");

#define KNOB(v, at) asm volatile("ld.const.u32 %0, [__collider_knobs+" #at "];" : "=r"(v))

/* Equal in lanes that arrive together, different from warp to warp and from call to call. */
DEV_FN uint32_t dev_draw(void)
{
	uint32_t clock, seed, warp;

	asm volatile("mov.u32 %0, %%clock;" : "=r"(clock));
	DEV_SREG32(warp, "%warpid");
	KNOB(seed, 20);
	clock = ((clock + warp * RACE_MIX_WINDOW) ^ seed) * 0x9E3779B1u;
	return (clock ^ clock >> 15) * 0x2C1B3C6Du;
}

/* The same in a block. */
DEV_FN uint32_t dev_salt(void)
{
	uint32_t block, seed;

	DEV_SREG32(block, "%ctaid.x");
	KNOB(seed, 20);
	return (block ^ seed) * 0x27D4EB2Fu;
}

/* Does the block spare this delay? */
DEV_FN bool dev_spares(uint32_t thread_class, uint32_t count)
{
	return count * RACE_MIX + dev_salt() > 0xffffffffu >> (thread_class >> RACE_SPARE_AT & 3u);
}

/* Does the thread delay now: one of its first, if `is_first` lets it, or in a window? */
DEV_FN bool dev_is_due(uint32_t state, bool is_first)
{
	uint32_t thread_class = state >> RACE_STATE_CLASS_AT, count = state >> RACE_STATE_COUNT_AT;
	uint32_t dense, clock;

	KNOB(dense, 28);
	asm volatile("mov.u32 %0, %%clock;" : "=r"(clock));
	clock = (clock >> RACE_DELAY_WINDOW) * RACE_MIX_WINDOW + dev_salt();
	return (is_first && count < dense && !dev_spares(thread_class, count)) ||
	       (clock < RACE_DELAY_OPEN && !(thread_class >> RACE_CLOSED_AT & 1u));
}

/* As template `delay` of collide.ptxt does it. */
DEV_FN void dev_sleep(uint32_t random, uint32_t what, uint32_t state)
{
	uint32_t ns, flags;
	bool is_due = true;

	random = random * RACE_MIX + (state >> RACE_STATE_COUNT_AT) * RACE_MIX_WINDOW;
	KNOB(flags, 24);
	if (what & RACE_CHECK_LOADS) {
		KNOB(ns, 8);
		is_due = dev_is_due(state, random >= RACE_DELAY_LEAST);
	} else {
		KNOB(ns, 12);
	}
	if (is_due)
		dev_nap(__umulhi(random, ns), flags);
}

/* Is this execution checked? The caller has drawn it already (template `draw`), but for --sample.
 * `random` is for the delay. */
DEV_FN bool dev_is_drawn(uint32_t *state, uint32_t what, uint32_t *random)
{
	uint32_t sample;

	*random = dev_draw();
	*state &= ~RACE_STATE_DRAWN;
	KNOB(sample, 16);
	if (sample > 1 && !__collider_chosen(dev_table(), RACE_CHECK_SITE(what)))
		return false;
	*state |= RACE_STATE_DRAWN;
	return true;
}

/* Counts checked accesses. The CPU device recognises this instruction, and counts the checks of
 * threads that have not ended. */
DEV_FN void dev_count(uint32_t *state, uint32_t n)
{
	RACE_STATIC_ASSERT(RACE_STATE_COUNT == 128, "multiplied below");
	asm volatile("mad.lo.s32 %0, %1, 128, %0;" : "+r"(*state) : "r"(n));
}

#endif
