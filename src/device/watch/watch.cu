/*
 * watch.cu - detector `watch` on the device: what an instrumented module calls.
 *
 *	__collider_watch_group	after a group of weak accesses, of which one is drawn or met a
 *				watchpoint: looks again, publishes, waits
 *	__collider_watch_drop	before what may release, and at the end: takes it back
 *	__collider_watch_cross	before a __syncwarp() that it may pass
 *	__collider_watch_hit	a slot had a watchpoint: is it of these bytes?
 *	__collider_watch_span	looks at the slots of a bulk copy
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
 * are for sampled accesses and for slots that are not free. A draw waits for three round trips to
 * L2 besides its sleep. A kernel's registers grow by those of the deepest call: so what lives over
 * a call is in the thread's memory (see struct state).
 */
#define DEV_KNOBS "__collider_watch"
#include "race/layout/mirror.h"
#include "race/layout/watch.h"

#include "device/gpu_ops.h"

#include "device/report_core.h"

RACE_STATIC_ASSERT(offsetof(struct race_record, was) == 24, "written below");
RACE_STATIC_ASSERT(offsetof(struct race_record, now) == 40, "written below");

/* In the thread's own memory; declared in watch.ptxt. slot 0: it watches nothing; the caller writes
 * that, too, where its register `held` says so. held: 2 where its
 * watchpoint stays to the end. The accesses are those of the group that calls. */
struct state {
	uint64_t slot, word;
	uint32_t site; /* from bit 24 on the owner's rank, as in `what`, or the context's number */
	uint32_t held;
	uint64_t key; /* of the block, where it shares a table with others; or of its cluster */
	/* Where else the watchpoint is noted: the block's word that counts it, its entry for host
	 * code + NOTED_FOR_HOST, or 0. */
	uint64_t standing;
	uint64_t met_slot, met_word, met_at; /* what an access has met: see __collider_watch_meet */
	uint32_t met_what, met_kind;
	uint64_t block; /* the group's, as below */
	uint32_t n, look, first, turn, draw;
	uint32_t met_owner; /* the rank, and whether there is one: what64 >> RACE_WATCH_RANK_AT */
	struct {
		uint64_t at, what;
	} item[RACE_WATCH_GROUP];
};

RACE_STATIC_ASSERT(offsetof(struct state, item) == RACE_WATCH_ITEMS_AT, "written by watch.ptxt");
RACE_STATIC_ASSERT(sizeof(struct state) == RACE_WATCH_STATE, "declared in watch.ptxt");

#define NOTED_FOR_HOST 1u
#define NO_SLOT	       1u /* in slot: it stands for host code only */
#define SITE_BITS      24u
#define HAS_OWNER 0x100u /* in met_owner */

RACE_STATIC_ASSERT(RACE_WHAT_SITES == 1u << SITE_BITS &&
			   RACE_WATCH_OF_OWNER == (uint64_t)HAS_OWNER << RACE_WATCH_RANK_AT,
		   "beside the rank");

DEV_FN uint64_t dev_slot(uint64_t table, uint32_t mask, uint64_t at)
{
	return table + ((uint32_t)(at >> 2) & mask);
}

/* Words of the tables. Their threads may be of several devices; the looks that are inlined decide
 * nothing, so these have a smaller scope. */
DEV_FN uint64_t dev_slot_word(uint64_t slot)
{
	uint64_t v;

	asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(v) : "l"(slot));
	return v;
}

DEV_FN uint64_t dev_slot_swap(uint64_t slot, uint64_t old, uint64_t next)
{
	uint64_t v;

	asm volatile("atom.relaxed.sys.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(v)
		     : "l"(slot), "l"(old), "l"(next));
	return v;
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

#include "watching.h"

/* ---- the checking side --------------------------------------------------------------------- */

/* Read where it is needed: registers are what calls cost the kernel. */
#define MET(field) dev_word(&s->met_##field)
#define MET_WHAT() dev_word32(&s->met_what)
#define MET_KIND() dev_word32(&s->met_kind)
#define MET_OWNER() dev_word32(&s->met_owner)

/* This thread's half. The fields of the other one are not touched. */
DEV_FN void dev_own_half(const struct state *s, uint64_t record)
{
	uint32_t what = MET_WHAT(), owner = MET_OWNER(), flags = RACE_REC_TWO_SIDES;
	uint32_t shape = RACE_WATCH_SHAPE(blockDim.x, blockDim.y, blockDim.z);
	uint32_t from = (uint32_t)(MET(word) >> RACE_WATCH_OFFSET_AT) & 31u;

	if (what & RACE_WATCH_IS_BLOCK)
		flags |= owner & HAS_OWNER ? RACE_REC_ONE_OWNER : RACE_REC_ONE_BLOCK;
	DEV_STORE64(record + 8, (uint64_t)(MET_KIND() | flags << 16) << 32 | RACE_WATCH_SITE(what));
	DEV_STORE64(record + 56, (uint64_t)(1u << RACE_WATCH_LOG(what)) << 32 | shape);
	DEV_STORE64(record, dev_table());
	DEV_STORE64(record + 16, MET(at));
	DEV_WHERE(record + 64);
	DEV_STORE64(record + 96, DEV_GRID());
	DEV_ORDER(record + 104);
	DEV_STORE32(record + 120, DEV_SM() | from << RACE_WATCH_SM_FROM_AT |
					  owner << RACE_WATCH_SM_RANK_AT);
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

DEV_FN uint32_t dev_find(const struct state *s, uint32_t variant)
{
	uint64_t table = dev_table() ^ (uint64_t)variant * 0x9e3779b97f4a7c15ull;
	uint64_t key = race_slot_key(table, RACE_WATCH_SITE(MET_WHAT()), MET_KIND());
	uint32_t index = dev_slot_find(dev_rt(), key);

	if (index == DEV_FULL)
		DEV_INC64(dev_rt() + DEV_RT_OVERFLOW);
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
 * one goes to a record with one side. Returns the number of the record, or DEV_FULL where a use of
 * the value says nothing about it.
 */
extern "C" __device__ __noinline__ uint32_t __collider_watch_meet(const struct state *s)
{
	uint32_t index, variant;
	uint64_t joined, word = MET(word);
	bool is_first;

	RACE_STATIC_ASSERT(RACE_WATCH_VARIANTS == 4, "two bits");
	variant = (uint32_t)(word >> RACE_WATCH_WRITES_AT & 1u) | ((uint32_t)MET(at) >> 4 & 2u);
	DEV_NO_UNROLL
	for (;; variant = ONE_SIDE) {
		index = dev_find(s, variant);
		if (index == DEV_FULL)
			return index;
		joined = dev_rt() + offsetof(struct race_rt, joined) + 4u * index;
		is_first = dev_takes(joined);
		if (!is_first)
			break;
		word = MET(word);
		if (variant == ONE_SIDE ||
		    dev_slot_swap(MET(slot), word, race_watch_seen(word, dev_context(), index)) ==
			    word) {
			dev_own_half(s, dev_record(dev_rt(), index));
			break;
		}
		dev_count(offsetof(struct race_rt, watch_lost));
		DEV_STORE32(joined, 0);
		if (MET_WHAT() & RACE_WATCH_IS_BLOCK)
			return DEV_FULL;
	}
	dev_occurred(dev_rt(), index, dev_record(dev_rt(), index));
	/* Where blocks share a table this hit may be of no pair, and the record of one. */
	return !is_first && MET_WHAT() & RACE_WATCH_IS_BLOCK ? DEV_FULL : index;
}

/* Is the word that was found in the slot a watchpoint of these bytes, and another thread's? The
 * number of the record + 1 where the access is a load whose value may be unused. */
DEV_FN uint32_t dev_found(struct state *s, uint64_t slot, uint64_t word, uint64_t at,
			  uint64_t what64)
{
	uint32_t what = (uint32_t)what64, kind = RACE_KIND_WATCH, found;
	uint32_t words = RACE_WATCH_SURE(what64), log = RACE_WATCH_LOG(what);

	if ((s->slot == slot && s->word == word) || at >> RACE_WATCH_ADDRESS_BITS)
		return 0;
	if (word & RACE_WATCH_CROSSED &&
	    (word >> RACE_WATCH_WARP_AT & RACE_WATCH_WARP) == dev_warp())
		return 0;
	if (!race_watch_meets(word, at, what, race_watch_own_bytes(at, log, words))) {
		kind = RACE_KIND_WATCH_POSSIBLE;
		words = RACE_WATCH_MAYBE(what64);
		if (!race_watch_meets(word, at, what, race_watch_own_bytes(at, log, words)))
			return 0;
	} else if (what & RACE_WATCH_IS_NC) {
		kind = RACE_KIND_WATCH_READ_ONLY;
	}
	s->met_slot = slot;
	s->met_word = word;
	if (what & RACE_WATCH_IS_BLOCK)
		at -= s->key + RACE_WATCH_RANK(what64) * RACE_WATCH_RANK_STEP;
	s->met_at = at;
	s->met_what = what;
	s->met_owner = (uint32_t)(what64 >> RACE_WATCH_RANK_AT);
	s->met_kind = kind;
	found = __collider_watch_meet(s) + 1u;
	return dev_word32(&s->met_kind) == RACE_KIND_WATCH_POSSIBLE ? found : 0;
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
	uint64_t slot = dev_slot(table, mask, at), word = dev_slot_word(slot);

	if (first && word != first)
		return 0;
	return dev_found((struct state *)state, slot, word, at, what);
}

/*
 * A bulk copy's bytes from `at` on, 16 at least: a look for each slot. Its site and direction are
 * in `what64`.
 */
extern "C" __device__ __noinline__ void __collider_watch_span(uint64_t state, uint64_t table,
							      uint32_t mask, uint64_t at,
							      uint64_t what64, uint32_t bytes)
{
	struct state *s = (struct state *)state;
	uint32_t what = (uint32_t)what64 & ~(7u << RACE_WATCH_LOG_WHAT_AT);
	uint64_t of = (what64 & RACE_WATCH_OWNER) | what;
	uint64_t of32 = 0xffull << RACE_WATCH_SURE_AT | 5u << RACE_WATCH_LOG_WHAT_AT | of;
	uint64_t of16 = 0xfull << RACE_WATCH_SURE_AT | 4u << RACE_WATCH_LOG_WHAT_AT | of;

	DEV_NO_UNROLL
	for (uint32_t i = 0, n; i < bytes; i += n) {
		uint64_t from = at + i, slot = dev_slot(table, mask, from);
		uint64_t word = dev_slot_word(slot);

		n = (from & 31u) || bytes - i < 32u ? 16u : 32u;
		if (word & RACE_WATCH_ACTIVE)
			dev_found(s, slot, word, from, n == 32u ? of32 : of16);
	}
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
	if (what & (RACE_WATCH_IS_SHARED | RACE_WATCH_IS_BLOCK))
		return false;
	for (uint32_t i = 0; i < counts >> 32; i++) {
		from = dev_block_word(offsetof(struct race_watch, ranges) + 16u * i);
		bytes = dev_block_word(offsetof(struct race_watch, ranges) + 16u * i + 8u);
		if (at < from + bytes && from < at + (1u << RACE_WATCH_LOG(what)))
			return true;
	}
	return false;
}

#define NOT_ASKED 2u

/* Bit 0: the thread has a watchpoint now, a new one or that of before. NOT_ASKED: no wait follows.
 * Where one stands in its place the look that follows examines it. */
DEV_FN uint32_t dev_set(struct state *s, uint64_t slot, uint64_t at, uint64_t what64,
			uint64_t standing)
{
	uint64_t was, next, found;
	uint32_t what = (uint32_t)what64;
	bool is_global = !(what & (RACE_WATCH_IS_SHARED | RACE_WATCH_IS_BLOCK));

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, flags) % 8 == 0, "the low half");
	if (dev_block_word(offsetof(struct race_knobs, flags)) & RACE_KNOB_REPLAY &&
	    !dev_is_asked(at, what))
		return (s->slot != 0) | NOT_ASKED;
	if (!dev_is_turn(slot))
		return is_global && __collider_watch_record(s, at, what, 1) ? 1u : s->slot != 0;
	dev_drop(s);
	was = dev_slot_word(slot);
	next = race_watch_encode(at, what & RACE_WATCH_IS_SHARED, RACE_WATCH_LOG(what),
				 what & RACE_WATCH_IS_WRITE ? 1u : 0u, dev_warp(),
				 (uint32_t)was + 1u);
	if (standing)
		dev_standing(standing, ~0u);
	found = race_watch_is_free(was) ? dev_slot_swap(slot, was, next) : was;
	if (!race_watch_is_free(was) || found != was) {
		if (standing)
			dev_standing(standing, 1u);
		if (is_global && __collider_watch_record(s, at, what, 1))
			return 1;
		dev_count(offsetof(struct race_rt, watch_busy));
		return 0;
	}
	s->slot = slot;
	s->standing = standing;
	s->word = next;
	if (is_global)
		(void)__collider_watch_record(s, at, what, 0);
	s->site = RACE_WATCH_SITE(what) |
		  (what64 & RACE_WATCH_OF_OWNER ? RACE_WATCH_RANK(what64) : dev_context())
			  << SITE_BITS;
	dev_count(offsetof(struct race_rt, counters) +
		  (dev_sm() & (RACE_COUNTERS - 1u)) * sizeof(struct race_counters) +
		  offsetof(struct race_counters, watches));
	return 1;
}

/* `block`: the table of the block for its shared memory. */
DEV_FN uint64_t dev_item_slot(const struct state *s, uint32_t i, uint64_t block)
{
	uint32_t what = (uint32_t)s->item[i].what;
	uint64_t table;

	if (what & RACE_WATCH_IS_SHARED)
		return dev_slot(block, RACE_WATCH_SHARED_MASK, s->item[i].at);
	table = what & RACE_WATCH_IS_BLOCK ? dev_rt() + offsetof(struct race_rt, watch_blocks)
					   : dev_global_table();
	return dev_slot(table, RACE_WATCH_MASK, s->item[i].at);
}

/* Of the loops of a group nothing is in a register while the functions they call run. */
#define STATE64(field) dev_word(&s->field)
#define STATE32(field) dev_word32(&s->field)

extern "C" __device__ __noinline__ void __collider_watch_look(struct state *s)
{
	DEV_NO_UNROLL
	for (uint32_t i = 0; i < STATE32(n); i = STATE32(look)) {
		uint64_t at = s->item[i].at, slot, word;

		s->look = i + 1u;
		if (at >> RACE_WATCH_ADDRESS_BITS)
			continue;
		slot = dev_item_slot(s, i, STATE64(block));
		word = dev_slot_word(slot);
		if (word & RACE_WATCH_ACTIVE)
			dev_found(s, slot, word, at, s->item[i].what);
	}
}

/* Does a watchpoint stand in a slot of the group? The loads of four accesses are under way at once;
 * an access that wasn't executed has a slot, too. */
DEV_FN bool dev_sees(const struct state *s)
{
	uint32_t n = s->n, any = 0;

	DEV_NO_UNROLL
	for (uint32_t i = 0; i < n; i += 4u) {
		uint32_t high[4];
		for (uint32_t j = 0; j < 4u; j++)
			high[j] = dev_word32((const void *)(dev_item_slot(s, i + j < n ? i + j : i,
									  s->block) +
							    4u));
		any |= high[0] | high[1] | high[2] | high[3];
	}
	return (int32_t)any < 0;
}

/* One of the group's accesses is watched: from any of them on the first that may be, at full rate
 * one after another. False: no more. */
DEV_FN bool dev_try(struct state *s)
{
	uint32_t n = STATE32(n), i, result, sleep;

	DEV_NO_UNROLL
	while (s->turn < n) {
		i = s->first + s->turn++;
		i = i < n ? i : i - n;
		if (!(s->item[i].what & RACE_WATCH_MAY_STAND) ||
		    s->item[i].at >> RACE_WATCH_ADDRESS_BITS)
			continue;
		s->draw = s->draw * 1664525u + 1013904223u;
		if (s->held != 2 || s->draw >> 29 < 2u) {
			result = dev_set(s, dev_item_slot(s, i, s->block), s->item[i].at,
					 s->item[i].what,
					 s->item[i].what & RACE_WATCH_IS_SHARED
						 ? s->block + RACE_WATCH_STANDING_AT
						 : 0);
			s->held = result & 1u ? 1u + (s->draw >> 28 & 1u) : 0;
			if (result & NOT_ASKED)
				continue;
		}
		if (dev_dense() != RACE_DENSE_ALL)
			s->turn = n;
		RACE_STATIC_ASSERT(offsetof(struct race_knobs, rsleep) == 8, "the low half");
		sleep = (uint32_t)dev_block_word(8);
		if (sleep)
			dev_nap(__umulhi(s->draw * 0x9E3779B1u, sleep),
				(uint32_t)dev_block_word(offsetof(struct race_knobs, flags)));
		return true;
	}
	return false;
}

/*
 * The accesses of a group are over, and nothing that may acquire or release has come since. Either
 * a look has found a watchpoint (`seen` < 0), or the thread's count has come to `next`. Then one of
 * the accesses is watched, at full rate one after another, and the thread sleeps; after that it
 * looks for all of them again, so that lanes of one warp meet, too. Returns the next `next`, and
 * above it whether the thread has a watchpoint (1, or 2: it stays until the end).
 */
extern "C" __device__ __noinline__ uint64_t __collider_watch_group(uint64_t state, uint64_t block,
								   uint32_t n, uint32_t seen,
								   uint32_t cnt, uint32_t next)
{
	struct state *s = (struct state *)state;

	s->block = block;
	s->n = n;
	if (s->slot == 0)
		s->held = 0;
	if ((int32_t)seen < 0)
		__collider_watch_look(s);
	if ((int32_t)(next - cnt) < 0) {
		next = dev_next(next, cnt);
		s->draw = dev_draw();
		s->first = __umulhi(s->draw * 0x9E3779B1u, n);
		s->turn = dev_joins(s->draw, cnt) ? 0 : n;
		DEV_NO_UNROLL
		while (dev_try(s))
			if (dev_sees(s))
				__collider_watch_look(s);
	}
	return (uint64_t)s->held << 32 | next;
}

/* The value of such a load is used. The record may be of another thread's hit: of its flags only
 * the byte for this is written. */
extern "C" __device__ __noinline__ void __collider_watch_used(uint32_t found)
{
	uint64_t record = dev_record(dev_rt(), found - 1u);

	RACE_STATIC_ASSERT(offsetof(struct race_record, flags) == 14 &&
				   RACE_REC_USED_LATER == 1u << 8,
			   "the high byte");
	asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(record + 15), "r"(1));
}

/* The word of a slot, for a strong access. */
extern "C" __device__ __noinline__ uint64_t __collider_watch_word(uint64_t table, uint32_t mask,
								  uint64_t at)
{
	return dev_slot_word(dev_slot(table, mask, at));
}
