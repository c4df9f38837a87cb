/*
 * watching.h - part of watch.cu: the side that waits, with its location in the table, and what it
 * reports of the thread that came.
 */
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

DEV_FN uint64_t dev_global_table(void)
{
	return dev_block_word(offsetof(struct race_watch, table));
}

DEV_FN uint32_t dev_context(void)
{
	RACE_STATIC_ASSERT(offsetof(struct race_watch, context) ==
				   offsetof(struct race_watch, first) + 4,
			   "the high half");
	return (uint32_t)(dev_block_word(offsetof(struct race_watch, first)) >> 32);
}

#include "draw.h"

/* Rare: another thread has met the watchpoint. site: as in struct state. The record is of that
 * thread's context. */
extern "C" __device__ __noinline__ void __collider_watch_half(uint64_t seen, uint32_t site)
{
	uint32_t context = race_watch_context(seen);
	uint64_t records = dev_rt(), record;

	if (context != dev_context())
		records = dev_global_table() + offsetof(struct race_watch_table, records) +
			  8u * context;
	records = dev_load64(records);
	if (records == 0)
		return;
	record = records + race_watch_record(seen) * 128u;
	uint64_t block = (uint64_t)blockIdx.z << 48 | (uint64_t)blockIdx.y << 32 | blockIdx.x;

	DEV_STORE64(record + 24, dev_table());
	DEV_STORE64(record + 32, dev_grid());
	DEV_STORE64(record + 48, block);
	DEV_STORE64(record + 40, RACE_WATCH_HALF_OF(RACE_WATCH_SITE(site) + 1u, threadIdx.x,
						    threadIdx.y, threadIdx.z, site >> SITE_BITS));
}

/* Accesses to shared memory look at this word first. It orders nothing, and decides nothing. */
DEV_FN void dev_standing(uint64_t at, uint32_t n)
{
	asm volatile("red.relaxed.cta.add.u32 [%0], %1;" ::"l"(at), "r"(n));
}

DEV_FN void dev_count(uint64_t offset)
{
	DEV_INC64(dev_rt() + offset);
}

DEV_FN void dev_drop(struct state *s)
{
	uint64_t found;

	if (s->slot == 0)
		return;
	if (s->standing & NOTED_FOR_HOST) {
		DEV_STORE64(s->standing - NOTED_FOR_HOST, 0ull);
		s->standing = 0;
	}
	if (s->slot == NO_SLOT) {
		s->slot = 0;
		return;
	}
	asm volatile("atom.relaxed.sys.exch.b64 %0, [%1], %2;"
		     : "=l"(found)
		     : "l"(s->slot), "l"(race_watch_free(s->word)));
	s->slot = 0;
	if (s->standing)
		dev_standing(s->standing, 1u);
	if (found != s->word)
		__collider_watch_half(found, s->site);
}

/* On memory that host code accesses, too (layout/mirror.h): the watchpoint for its looks. 0: it is
 * other memory, or no thread looks. is_alone: the thread has no slot in the table for it; what it
 * watches ends then. */
extern "C" __device__ __noinline__ uint32_t __collider_watch_record(struct state *s, uint64_t at,
								    uint32_t what,
								    uint32_t is_alone)
{
	uint64_t to = dev_load64(dev_rt() + offsetof(struct race_rt, mirror)), stamp;
	uint32_t page = (uint32_t)(at >> RACE_HOST_PAGE) & (RACE_HOST_PAGES - 1u), clock;
	struct race_mirror_entry e;

	if (to == 0 || (dev_slot_word(to + page / 64u * 8u) >> page % 64u & 1u) == 0)
		return 0;
	if (is_alone) {
		dev_drop(s);
		s->slot = NO_SLOT;
		dev_count(offsetof(struct race_rt, counters) +
			  (dev_sm() & (RACE_COUNTERS - 1u)) * sizeof(struct race_counters) +
			  offsetof(struct race_counters, watches));
	}
	DEV_SREG32(clock, "%clock");
	e.table = dev_table();
	e.grid = dev_grid();
	e.half = RACE_WATCH_HALF_OF(RACE_WATCH_SITE(what) + 1u, threadIdx.x, threadIdx.y,
				    threadIdx.z, dev_context());
	e.block = (uint64_t)blockIdx.z << 48 | (uint64_t)blockIdx.y << 32 | blockIdx.x;
	e.shape = (uint64_t)clock << 32 | RACE_WATCH_SHAPE(blockDim.x, blockDim.y, blockDim.z);
	e.where = at << 4 | RACE_WATCH_LOG(what) << 1 | (what & RACE_WATCH_IS_WRITE ? 1u : 0u);
	stamp = race_mirror_stamp(&e);
	to += offsetof(struct race_mirror, entry) + race_mirror_slot(at) * 64ull;
	DEV_STORE64(to + 16, e.table);
	DEV_STORE64(to + 24, e.grid);
	DEV_STORE64(to + 32, e.half);
	DEV_STORE64(to + 40, e.block);
	DEV_STORE64(to + 48, e.shape);
	DEV_STORE64(to + 56, e.where);
	DEV_STORE64(to + 8, stamp);
	DEV_STORE64(to, stamp | RACE_MIRROR_ACTIVE);
	s->standing = to + NOTED_FOR_HOST;
	return 1;
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

	if (s->slot == 0 || s->slot == NO_SLOT)
		return s->slot != 0;
	if (s->word != crossed && dev_slot_swap(s->slot, s->word, crossed) != s->word)
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
