/*
 * watch.cu - detector `watch` on the device: what an instrumented module calls.
 *
 *	__collider_watch_set	before a sampled weak access: publishes a watchpoint
 *	__collider_watch_drop	before what may release, and at the end: takes it back
 *	__collider_watch_cross	before a __syncwarp() that it may pass
 *	__collider_watch_hit	a slot had a watchpoint: is it of these bytes?
 *
 * The words are race/layout/watch.h's. A thread has at most one watchpoint, which stands from its
 * access to the next instruction that may release. Where another thread's access meets it, that
 * thread reserves a record (race/record.h), exchanges the word for one that names the record, and
 * writes its half of it; the watching thread finds that word when it takes its own back, and writes
 * the other half. So the two need no common lock, and nothing orders them.
 *
 * All accesses are relaxed, none of them orders memory. Misses: a slot that another watchpoint
 * holds (counted); addresses from 2^49 on; a hit whose watchpoint was taken back before its record
 * was named: then the record has one side (counted). Costs: the look is inlined (watch.ptxt), calls
 * are for sampled accesses and for slots that are not free.
 */
#define DEV_KNOBS "__collider_watch"
#include "race/layout/watch.h"

#include "gpu_ops.h"

#include "report_core.h"

RACE_STATIC_ASSERT(offsetof(struct race_record, was) == 24, "written below");
RACE_STATIC_ASSERT(offsetof(struct race_record, now) == 40, "written below");

/* In the thread's own memory; declared in watch.ptxt. slot 0: it watches nothing. */
struct state {
	uint64_t slot, word;
	uint32_t site, reserved;
};

DEV_FN uint64_t dev_slot(uint64_t table, uint32_t mask, uint64_t at)
{
	return table + ((uint32_t)(at >> 2) & mask);
}

DEV_FN uint64_t dev_record(uint64_t rt, uint32_t index)
{
	return dev_load64(rt) + (uint64_t)index * 128u;
}

/* Equal in the lanes of a warp; two warps seldom have the same. */
DEV_FN uint32_t dev_warp(void)
{
	uint32_t in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	uint32_t h = (block * 32u + in_block / 32u) * 0x9E3779B1u + (uint32_t)dev_grid();

	return (h ^ h >> 15) * 0x85EBCA77u >> 23;
}

/* ---- the watching side ---------------------------------------------------------------------- */

/* Rare: another thread has met the watchpoint. */
extern "C" __device__ __noinline__ void __collider_watch_half(uint64_t seen, uint32_t site)
{
	uint64_t record = dev_record(dev_rt(), race_watch_record(seen));
	uint64_t block = (uint64_t)blockIdx.z << 48 | (uint64_t)blockIdx.y << 32 | blockIdx.x;

	DEV_STORE64(record + 24, dev_table());
	DEV_STORE64(record + 32, dev_grid());
	DEV_STORE64(record + 48, block);
	DEV_STORE64(record + 40,
		    RACE_WATCH_HALF_OF(site + 1u, threadIdx.x, threadIdx.y, threadIdx.z));
}

DEV_FN void dev_drop(struct state *s)
{
	uint64_t found;

	if (s->slot == 0)
		return;
	asm volatile("atom.relaxed.gpu.exch.b64 %0, [%1], %2;"
		     : "=l"(found)
		     : "l"(s->slot), "l"(race_watch_free(s->word)));
	s->slot = 0;
	if (found != s->word)
		__collider_watch_half(found, s->site);
}

extern "C" __device__ __noinline__ void __collider_watch_drop(uint64_t state)
{
	dev_drop((struct state *)state);
}

/* Before a __syncwarp(), where watchpoints stand across: threads of the warp are to see that it was
 * passed. Not 0: it still stands. */
extern "C" __device__ __noinline__ uint32_t __collider_watch_cross(uint64_t state)
{
	struct state *s = (struct state *)state;
	uint64_t crossed = s->word | RACE_WATCH_CROSSED;

	if (s->slot == 0)
		return 0;
	if (s->word != crossed && dev_swap((void *)s->slot, s->word, crossed) != s->word)
		dev_drop(s);
	s->word = crossed;
	return s->slot != 0;
}

/* Of the lanes that have one slot, one publishes; which one changes from time to time. */
DEV_FN bool dev_is_turn(uint64_t slot)
{
	uint32_t peers = dev_peers((uint32_t)slot), turn, lane, next;

	DEV_SREG32(turn, "%clock");
	DEV_SREG32(lane, "%laneid");
	turn = turn >> 4 & 31u;
	next = peers & ~0u << turn;
	next = next ? next : peers;
	return (next & (0u - next)) == 1u << lane;
}

DEV_FN void dev_count(uint64_t offset)
{
	DEV_INC64(dev_rt() + offset);
}

/* ---- the checking side --------------------------------------------------------------------- */

/* This thread's half. The fields of the other one are not touched. */
DEV_FN void dev_own_half(uint64_t record, uint64_t at, uint32_t what, uint32_t kind)
{
	uint32_t log = RACE_WATCH_LOG(what);
	uint32_t shape = RACE_WATCH_SHAPE(blockDim.x, blockDim.y, blockDim.z);

	DEV_STORE64(record, dev_table());
	DEV_STORE64(record + 8,
		    (uint64_t)(kind | RACE_REC_TWO_SIDES << 16) << 32 | RACE_WATCH_SITE(what));
	DEV_STORE64(record + 16, at);
	DEV_STORE64(record + 56, (uint64_t)(1u << log) << 32 | shape);
	DEV_WHERE(record + 64);
	DEV_STORE64(record + 96, DEV_GRID());
	DEV_ORDER(record + 104);
	DEV_STORE32(record + 120, DEV_SM());
	DEV_STORE32(record + 124, RACE_RECORD_VALID);
}

DEV_FN void dev_occurred(uint64_t rt, uint32_t index, uint64_t record)
{
	uint64_t at = rt + DEV_RT_SLOTS + (uint64_t)index * 16u + 8u, old;

	if (DEV_LOAD64(at) >= RACE_MUTE_COUNT)
		return;
	old = DEV_ADD64(at, 1);
	if ((old ^ (old + 1u)) > old)
		DEV_STORE64(record + 88, old + 1u);
}

/* A slot of the records: those of one site differ by the other side as far as is known. */
#define ONE_SIDE RACE_WATCH_VARIANTS

DEV_FN uint32_t dev_find(uint64_t rt, uint32_t what, uint32_t kind, uint32_t variant)
{
	uint64_t table = dev_table() ^ (uint64_t)variant * 0x9e3779b97f4a7c15ull;
	uint32_t index = dev_slot_find(rt, race_slot_key(table, RACE_WATCH_SITE(what), kind));

	if (index == DEV_FULL)
		DEV_INC64(rt + DEV_RT_OVERFLOW);
	return index == DEV_FULL ? index : index & ~DEV_CLAIMED;
}

/* A record is written by the thread that turns its `joined` from 0 to 1. */
DEV_FN bool dev_takes(uint64_t joined)
{
	uint32_t old;

	asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(old)
		     : "l"(joined), "r"(0), "r"(1));
	return old == 0;
}

/*
 * A watchpoint is of these bytes. The watching thread finds the number of the record in the word
 * when it takes that back. If it has done so already the record is free for a later hit, and this
 * one goes to a record with one side. Returns the number of the record, or DEV_FULL.
 */
extern "C" __device__ __noinline__ uint32_t __collider_watch_meet(uint64_t slot, uint64_t word,
								  uint64_t at, uint32_t what,
								  uint32_t kind)
{
	uint64_t rt = dev_rt(), all = rt + offsetof(struct race_rt, joined), joined;
	uint32_t variant = (uint32_t)(word >> RACE_WATCH_WRITES_AT & 1u) | ((uint32_t)at >> 4 & 2u);
	uint32_t index = dev_find(rt, what, kind, variant);

	RACE_STATIC_ASSERT(RACE_WATCH_VARIANTS == 4, "two bits");
	if (index == DEV_FULL)
		return index;
	joined = all + 4u * index;
	if (dev_takes(joined)) {
		if (dev_swap((void *)slot, word, race_watch_seen(word, index)) == word) {
			dev_own_half(dev_record(rt, index), at, what, kind);
		} else {
			dev_count(offsetof(struct race_rt, watch_lost));
			DEV_STORE32(joined, 0);
			index = dev_find(rt, what, kind, ONE_SIDE);
			if (index == DEV_FULL)
				return index;
			if (dev_takes(all + 4u * index))
				dev_own_half(dev_record(rt, index), at, what, kind);
		}
	}
	dev_occurred(rt, index, dev_record(rt, index));
	return index;
}

/* Is the word that was found in the slot a watchpoint of these bytes, and another thread's? The
 * number of the record + 1 where the access is a load whose value may not be used. */
DEV_FN uint32_t dev_found(const struct state *s, uint64_t slot, uint64_t word, uint64_t at,
			  uint64_t what64)
{
	uint32_t what = (uint32_t)what64, log = RACE_WATCH_LOG(what);
	uint32_t sure = race_watch_own_bytes(at, log, RACE_WATCH_SURE(what64));
	uint32_t maybe = race_watch_own_bytes(at, log, RACE_WATCH_MAYBE(what64));

	if ((s->slot == slot && s->word == word) || at >> RACE_WATCH_ADDRESS_BITS)
		return 0;
	if (word & RACE_WATCH_CROSSED &&
	    (word >> RACE_WATCH_WARP_AT & RACE_WATCH_WARP) == dev_warp())
		return 0;
	if (race_watch_meets(word, at, what, sure))
		__collider_watch_meet(slot, word, at, what,
				      what & RACE_WATCH_IS_NC ? RACE_KIND_WATCH_READ_ONLY
							      : RACE_KIND_WATCH);
	else if (race_watch_meets(word, at, what, maybe))
		return __collider_watch_meet(slot, word, at, what, RACE_KIND_WATCH_POSSIBLE) + 1u;
	return 0;
}

/*
 * `first`: 0 for a weak access, which looks once, before it. Of a strong one what it found before
 * it: the same watchpoint must still stand after it. Returns what dev_found does: such a pair is
 * possible until __collider_watch_used.
 */
extern "C" __device__ __noinline__ uint32_t __collider_watch_hit(uint64_t state, uint64_t table,
								 uint32_t mask, uint64_t at,
								 uint64_t what, uint64_t first)
{
	uint64_t slot = dev_slot(table, mask, at), word = dev_word((const void *)slot);

	if (first && word != first)
		return 0;
	return dev_found((const struct state *)state, slot, word, at, what);
}

/* A word of the module's block. */
DEV_FN uint64_t dev_block_word(uint32_t offset)
{
	uint64_t v;

	asm volatile("{\n\t"
		     ".reg .b64 dev_at;\n\t"
		     "mov.u64 dev_at, " DEV_KNOBS ";\n\t"
		     "add.u64 dev_at, dev_at, %1;\n\t"
		     "ld.const.u64 %0, [dev_at];\n\t"
		     "}"
		     : "=l"(v)
		     : "l"((uint64_t)offset));
	return v;
}

/* --replay: is it a place or an address of the earlier report? */
DEV_FN bool dev_is_asked(uint64_t at, uint32_t what)
{
	uint64_t key = race_slot_key(dev_table(), RACE_WATCH_SITE(what), RACE_KIND_NONE);
	uint64_t counts = dev_block_word(offsetof(struct race_watch, nkeys)), bytes, from, found;
	uint32_t low = 0, high = (uint32_t)counts, mid;

	RACE_STATIC_ASSERT(offsetof(struct race_watch, nranges) ==
				   offsetof(struct race_watch, nkeys) + 4,
			   "read together");
	while (low < high) {
		mid = (low + high) / 2;
		found = dev_block_word(offsetof(struct race_watch, keys) + 8u * mid);
		if (found == key)
			return true;
		low = found < key ? mid + 1u : low;
		high = found < key ? high : mid;
	}
	for (uint32_t i = 0; i < counts >> 32 && !(what & RACE_WATCH_IS_SHARED); i++) {
		from = dev_block_word(offsetof(struct race_watch, ranges) + 16u * i);
		bytes = dev_block_word(offsetof(struct race_watch, ranges) + 16u * i + 8u);
		if (at < from + bytes && from < at + (1u << RACE_WATCH_LOG(what)))
			return true;
	}
	return false;
}

#define NOT_ASKED 2u

/* Bit 0: the thread has a watchpoint now, a new one or that of before. NOT_ASKED: no wait follows.
 * `mask` 0: there is no table. A watchpoint that stands in its place may be a hit: the access comes
 * next. */
extern "C" __device__ __noinline__ uint32_t __collider_watch_set(uint64_t state, uint64_t table,
								 uint32_t mask, uint64_t at,
								 uint64_t what64)
{
	struct state *s = (struct state *)state;
	uint64_t slot = dev_slot(table, mask, at), was, next, found;
	uint32_t what = (uint32_t)what64;

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, flags) % 8 == 0, "the low half");
	if (dev_block_word(offsetof(struct race_knobs, flags)) & RACE_KNOB_REPLAY &&
	    !dev_is_asked(at, what))
		return (s->slot != 0) | NOT_ASKED;
	if (mask == 0 || at >> RACE_WATCH_ADDRESS_BITS || !dev_is_turn(slot))
		return s->slot != 0;
	dev_drop(s);
	was = dev_word((const void *)slot);
	next = race_watch_encode(at, what & RACE_WATCH_IS_SHARED, RACE_WATCH_LOG(what),
				 what & RACE_WATCH_IS_WRITE ? 1u : 0u, dev_warp(),
				 (uint32_t)was + 1u);
	found = race_watch_is_free(was) ? dev_swap((void *)slot, was, next) : was;
	if (!race_watch_is_free(was) || found != was) {
		dev_count(offsetof(struct race_rt, watch_busy));
		dev_found(s, slot, found, at, what64);
		return 0;
	}
	s->slot = slot;
	s->word = next;
	s->site = RACE_WATCH_SITE(what);
	dev_count(offsetof(struct race_rt, counters) +
		  (dev_sm() & (RACE_COUNTERS - 1u)) * sizeof(struct race_counters) +
		  offsetof(struct race_counters, watches));
	return 1;
}

/* The value of such a load is used. */
extern "C" __device__ __noinline__ void __collider_watch_used(uint32_t found)
{
	uint64_t record = dev_record(dev_rt(), found - 1u);

	DEV_STORE32(record + 12, RACE_KIND_WATCH_POSSIBLE | (RACE_REC_TWO_SIDES | RACE_REC_USED)
								    << 16);
}

/* The word of a slot, for a strong access. */
extern "C" __device__ __noinline__ uint64_t __collider_watch_word(uint64_t table, uint32_t mask,
								  uint64_t at)
{
	return dev_word((const void *)dev_slot(table, mask, at));
}
