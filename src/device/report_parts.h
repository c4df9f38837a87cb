/*
 * report_parts.h - what report.cu and check_cold.cu share: --sample, and lanes that share an
 * address.
 */
#ifndef COLLIDER_DEVICE_REPORT_PARTS_H
#define COLLIDER_DEVICE_REPORT_PARTS_H

#include "race/site/sample.h"
#include "race/file/shm.h"

#include "gpu_ops.h"

#include "report_core.h"

/* --sample: is the group with this key to be checked (race/site/sample.h)? Marks its place then. */
DEV_FN uint32_t dev_sampled(uint64_t key)
{
	uint32_t sample, seed, seen, clock;
	uint64_t rt, at;

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, sample) == 16, "read below");
	RACE_STATIC_ASSERT(offsetof(struct race_knobs, seed) == 20, "read below");
	asm volatile("ld.const.u32 %0, [__collider_knobs+16];" : "=r"(sample));
	asm volatile("ld.const.u32 %0, [__collider_knobs+20];" : "=r"(seed));
	if (sample == RACE_SAMPLE_NEVER)
		return 0;
	if (sample < RACE_SAMPLE_SITES) {
		asm volatile("mov.u32 %0, %%clock;" : "=r"(clock));
		return (uint32_t)((uint64_t)((clock ^ seed) * RACE_MIX) * sample >> 32) == 0;
	}
	if (race_sample_number(key, seed) >= (sample & ~RACE_SAMPLE_SITES))
		return 0;
	rt = dev_rt();
	if (rt == 0)
		return 1;
	at = rt + offsetof(struct race_rt, cover) + race_sample_place(key);
	asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];" : "=r"(seen) : "l"(at));
	if (seen)
		return 1;
	asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(at), "r"(1));
	at = dev_load64(rt) + RACE_REGION_COVER + race_sample_place(key);
	asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(at), "r"(1));
	return 1;
}

/* The lanes of `same` share an address: the lowest reports, with the value of the last lane that
 * stores another one. */
DEV_FN void dev_share(uint64_t table, uint32_t what, uint64_t address, uint64_t value,
		      uint32_t fold, uint32_t same)
{
	uint32_t other = same & ~(dev_match64(value, same) & dev_match32(fold, same));
	uint32_t lane = 31u - (uint32_t)__clz((int)(other ? other : same));
	uint32_t lo = dev_shuffle((uint32_t)value, lane, same);
	uint32_t hi = dev_shuffle((uint32_t)(value >> 32), lane, same);

	if (!dev_is_leader(same))
		return;
	struct dev_found f = {table,
			      RACE_WHAT_SITE(what),
			      (uint32_t)(other ? RACE_KIND_INTRA_WARP : RACE_KIND_INTRA_WARP_SAME),
			      address,
			      {value, 0},
			      {(uint64_t)hi << 32 | lo, 0},
			      same,
			      RACE_WHAT_WIDTH(what)};
	dev_report(&f, dev_rt());
}

#endif
