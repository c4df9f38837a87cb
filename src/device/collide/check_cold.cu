/*
 * check_cold.cu - what the checks of check.cu call when it matters, and what a function with such
 * checks calls at its entry and its ends.
 *
 * Weak, so that the copies of several objects merge. Rules as in report.cu; the warp-wide
 * instructions name the lanes that are active beside them, or some of those.
 */
#include "race/record.h"

#include "device/report_parts.h"

#include "check_parts.h"

/* report.cu */
extern "C" __device__ void __collider_changed(uint64_t table, uint32_t what, uint64_t address,
					      uint64_t was, uint64_t now);
extern "C" __device__ void __collider_warp(uint64_t table, uint32_t what, uint64_t address,
					   uint64_t value, uint32_t fold, uint32_t mask);

/* By the group's first site. */
extern "C" __device__ __noinline__ __attribute__((weak)) uint32_t __collider_chosen(uint64_t table,
										    uint32_t site)
{
	return dev_sampled(race_sample_key(table, site));
}

DEV_FN uint32_t dev_any(bool p, uint32_t mask)
{
	uint32_t any;

	asm volatile("{\n\t"
		     ".reg .pred dev_p, dev_q;\n\t"
		     "setp.ne.u32 dev_p, %1, 0;\n\t"
		     "vote.sync.any.pred dev_q, dev_p, %2;\n\t"
		     "selp.u32 %0, 1, 0, dev_q;\n\t"
		     "}"
		     : "=r"(any)
		     : "r"((uint32_t)p), "r"(mask));
	return any;
}

DEV_FN uint32_t dev_ballot(bool p, uint32_t mask)
{
	uint32_t lanes;

	asm volatile("{\n\t"
		     ".reg .pred dev_p;\n\t"
		     "setp.ne.u32 dev_p, %1, 0;\n\t"
		     "vote.sync.ballot.b32 %0, dev_p, %2;\n\t"
		     "}"
		     : "=r"(lanes)
		     : "r"((uint32_t)p), "r"(mask));
	return lanes;
}

/* The lanes that are here with this site: nearly always all that are active, unless ptxas made
 * one call of two. */
DEV_FN uint32_t dev_together(uint32_t what)
{
	uint32_t active, first;

	/* One block: nothing may come between activemask and the shuffle. */
	asm volatile("{\n\t"
		     ".reg .b32 dev_l;\n\t"
		     "activemask.b32 %0;\n\t"
		     "brev.b32 dev_l, %0;\n\t"
		     "bfind.shiftamt.u32 dev_l, dev_l;\n\t"
		     "shfl.sync.idx.b32 %1, %2, dev_l, 31, %0;\n\t"
		     "}"
		     : "=&r"(active), "=&r"(first)
		     : "r"(what));
	return dev_any(first != what, active) ? dev_match32(what, active) : active;
}

/* The lanes of one store; in some of them it did not happen. Where the address rises from each lane
 * to the next by at least the width (and by less than 64 MB, so that low words can't wrap), or all
 * low words differ, none share one. */
struct dev_store {
	uint32_t what, width;
	uint64_t address, value;
	uint32_t fold; /* of the words after `value` */
	bool happened; /* in this lane */
};

DEV_FN void dev_compare(uint64_t table, const struct dev_store *s, uint32_t active)
{
	uint32_t low = (uint32_t)s->address, lanes = dev_ballot(s->happened, active), below, same;

	DEV_SREG32(below, "%lanemask_lt");
	below &= lanes;
	same = dev_shuffle(low, 31u - (uint32_t)__clz((int)below), active);
	below = s->happened && below && low - same - s->width > 0x3ffffffu;
	if (!dev_any(below, active) || !s->happened)
		return;
	same = dev_match32(low, lanes);
	if (!dev_any((same & (same - 1)) != 0, lanes))
		return;
	__collider_warp(table, s->what, s->address, s->value, s->fold, lanes);
}

/* The word of race_what for item i. */
DEV_FN uint32_t dev_what(uint64_t what, uint32_t i)
{
	uint32_t shape = (uint32_t)(what >> 32), item = shape >> (8 * i) & 0xffu;
	/* Steps up to item i, its own included. */
	uint32_t steps = shape & RACE_ITEM_EACH(RACE_ITEM_STEP) & 0xffffff00u &
			 0xffffffffu >> (24 - 8 * i);

	return (RACE_CHECK_SITE((uint32_t)what) + (uint32_t)__popc(steps)) |
	       race_item_kind(item) << 24 |
	       (item & RACE_ITEM_PAIR ? 2u : item >> RACE_ITEM_WIDTH_AT & 3u) << 28;
}

/* Reports the items that differ: bits of `changed`. */
DEV_FN void dev_items(uint64_t table, uint64_t what, uint32_t changed, const uint64_t *item)
{
	DEV_NO_UNROLL
	for (uint32_t j = 0; j < 2 * RACE_CHECK_ITEMS; j++) {
		uint32_t i = j >> 1, half = j & 1u;
		bool is_pair = (uint32_t)(what >> 32) >> (8 * i) & RACE_ITEM_PAIR;

		if (!(changed >> i & 1u) || (half && !is_pair))
			continue;
		uint64_t at = item[3 * i], was = item[3 * i + 1], now = item[3 * i + 2];
		if (is_pair) {
			was = was >> (32 * half) & 0xffffffffu;
			now = now >> (32 * half) & 0xffffffffu;
			at += 4 * half;
		}
		__collider_changed(table, dev_what(what, i), at, was, now);
	}
}

/* Do lanes of a store share an address? The last item comes first, so that the words after an
 * access's first item are folded when that is reached. */
DEV_FN void dev_lanes(uint64_t table, uint64_t what, uint32_t found, const uint64_t *item)
{
	uint32_t shape = (uint32_t)(what >> 32), wanted = dev_wanted(shape), fold = 0;
	uint32_t active = dev_together((uint32_t)what);

	DEV_NO_UNROLL
	for (uint32_t i = RACE_FOUND_ITEMS(found); i-- > 0;) {
		uint32_t kind = shape >> (8 * i) & 0xffu;
		uint64_t was = item[3 * i + 1];

		if (kind & RACE_ITEM_LANES & wanted >> (8 * i)) {
			struct dev_store s = {dev_what(what, i),
					      kind & RACE_ITEM_PAIR ? 8u : RACE_ITEM_WIDTH(kind),
					      item[3 * i],
					      was,
					      fold,
					      (bool)(RACE_FOUND_HAPPENED(found) >> i & 1u)};
			dev_compare(table, &s, active);
		}
		if (kind & RACE_ITEM_STEP)
			fold = 0;
		else
			fold ^= (uint32_t)was ^ (uint32_t)(was >> 32);
	}
}

/*
 * What a call of check.cu can't settle itself: values that differ, lanes to be compared. `item`
 * holds address, value before and value now of each, in the caller's stack.
 */
extern "C" __device__ __noinline__ __attribute__((weak)) void
__collider_items(uint64_t table, uint64_t what, uint32_t found, const uint64_t *item)
{
	/* The lanes first: here they are together. */
	if (what & RACE_CHECK_LANES && dev_wanted((uint32_t)(what >> 32)))
		dev_lanes(table, what, found, item);
	if (RACE_FOUND_CHANGED(found))
		dev_items(table, what, RACE_FOUND_CHANGED(found), item);
}

/* At a kernel's entry: the first thread of a grid counts the launch, also where the kernel's are
 * counted. */
extern "C" __device__ __noinline__ __attribute__((weak)) void
__collider_launch(uint64_t launched)
{
	uint32_t v, any;
	uint64_t rt;

	DEV_SREG32(any, "%tid.x");
	DEV_SREG32(v, "%tid.y");
	any |= v;
	DEV_SREG32(v, "%tid.z");
	any |= v;
	DEV_SREG32(v, "%ctaid.x");
	any |= v;
	DEV_SREG32(v, "%ctaid.y");
	any |= v;
	DEV_SREG32(v, "%ctaid.z");
	any |= v;
	if (any)
		return;
	asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(launched) : "memory");
	rt = dev_rt();
	if (rt)
		DEV_INC64(rt + offsetof(struct race_rt, counters) +
			  offsetof(struct race_counters, launches));
}

/* How late the block is in its grid. As template `seed` of collide.ptxt. */
DEV_FN uint32_t dev_late_in_grid(void)
{
	uint32_t block, n, y, warps;

	DEV_SREG32(block, "%ctaid.z");
	DEV_SREG32(n, "%nctaid.y");
	DEV_SREG32(y, "%ctaid.y");
	block = block * n + y;
	DEV_SREG32(n, "%nctaid.x");
	DEV_SREG32(y, "%ctaid.x");
	block = block * n + y;
	block = block < 0x100000u ? block : 0x100000u;
	DEV_SREG32(warps, "%ntid.x");
	DEV_SREG32(n, "%ntid.y");
	warps *= n;
	DEV_SREG32(n, "%ntid.z");
	warps = (warps * n + 31u) >> 5;
	warps = warps < RACE_WAVE_WARPS ? RACE_WAVE_WARPS : warps;
	return 31u - (uint32_t)__clz((int)((block * warps >> RACE_WAVE_AT) + 1u));
}

/* How many of the block's first delays are spared. As template `seed`, too. */
DEV_FN uint32_t dev_spared(void)
{
	uint32_t blocks, n, log2;

	DEV_SREG32(blocks, "%nctaid.x");
	DEV_SREG32(n, "%nctaid.y");
	blocks |= n;
	DEV_SREG32(n, "%nctaid.z");
	blocks |= n;
	log2 = 31u - (uint32_t)__clz((int)blocks);
	log2 = log2 < RACE_SPARE_FROM - 4u ? 0 : (log2 - (RACE_SPARE_FROM - 4u)) >> 2;
	return log2 < RACE_SPARE_MOST ? log2 : RACE_SPARE_MOST;
}

/* At a function's entry: the thread's word. `launches`: those that the kernel has had. As templates
 * `seed`, `launched` and `begin`. */
extern "C" __device__ __noinline__ __attribute__((weak)) uint32_t
__collider_begin(uint32_t launches)
{
	uint32_t late = dev_late_in_grid(), closed = 0, seed, looks;
	uint32_t most = launches < RACE_LAUNCHES_MOST ? launches : RACE_LAUNCHES_MOST;

	asm volatile("ld.const.u32 %0, [__collider_knobs+56];" : "=r"(looks));
	if (looks > 32)
		return 0;
	asm volatile("ld.const.u32 %0, [__collider_knobs+20];" : "=r"(seed));
	seed = (seed ^ launches) * RACE_MIX;
	seed = (seed ^ seed >> 15) * 0x2C1B3C6Du;
	if (__umulhi(seed, most) >= RACE_LAUNCHES) {
		late += 31u - (uint32_t)__clz((int)most);
		closed = (seed & 3u) != 0;
	}
	late = late < RACE_LATE_MOST ? late : RACE_LATE_MOST;
	return (late | dev_spared() << RACE_SPARE_AT | closed << RACE_CLOSED_AT)
		       << RACE_STATE_CLASS_AT |
	       RACE_START(late) << RACE_STATE_COUNT_AT;
}

/* Where a part between barriers begins: is the warp late (src/instrument/collide/skew.c)? As
 * template `skew`. */
extern "C" __device__ __noinline__ __attribute__((weak)) void __collider_skew(uint32_t state)
{
	uint32_t random, ns, flags, sample;

	KNOB(sample, 16);
	if (sample > 1 ||
	    (state >> RACE_STATE_COUNT_AT) * RACE_MIX_WINDOW + dev_salt() >= RACE_SKEW_BLOCKS)
		return;
	random = dev_draw() * RACE_MIX;
	if (random >= RACE_SKEW_WARPS || !dev_is_due(state, true))
		return;
	KNOB(flags, 24);
	KNOB(ns, 8);
	dev_nap(__umulhi(random * RACE_MIX, ns), flags);
}

/* At every exit: the thread's count is added to the counter of its SM, in a single reduction if all
 * lanes have the same count. */
extern "C" __device__ __noinline__ __attribute__((weak)) void
__collider_flush(uint32_t state)
{
	uint32_t count = (state >> RACE_STATE_COUNT_AT) -
			 RACE_START(state >> RACE_STATE_CLASS_AT);
	uint32_t peers;
	uint64_t rt = dev_rt(), at;

	if (count == 0 || rt == 0)
		return;
	peers = dev_peers(count);
	if (!dev_is_leader(peers))
		return;
	at = rt + offsetof(struct race_rt, counters) + (dev_sm() & (RACE_COUNTERS - 1u)) * 32u;
	dev_red64(at, (uint64_t)count * DEV_POPC(peers));
}
