/*
 * fast.h - part of iguard.cu: the accesses that need few of the rules.
 *
 * Weak accesses that race with none and need no more than this of iguard/update.h: what is in the
 * entry is gone (another launch), the thread's own, or before the last barrier of the block or the
 * warp; and readers join readers. Anything else is judged by __collider_iguard_entry.
 *
 * Before it a module's own code (instrument/iguard/iguard.ptxt, the fast path) looks whether the
 * entry would stay as it is: the thread has written there itself in this context; or there is no
 * other writer, and readers of this context that the thread is among. Both may look at an entry in
 * the L1 cache. What it holds was there, and what is ordered before the access is in it, so an
 * access that stays is one of a group that later writers find, or have found; an access that
 * changes something swaps, so it sees what is there.
 *
 * A thread's own write in this context covers its later reads: whatever races with one of these
 * races with the write. A reader takes the writer of another launch out of the entry, so that those
 * after it need not ask for its context.
 *
 * Whether two threads are of one block or warp is seen from the difference of their words
 * (RACE_IGUARD_SPANS). Where a block's size is no power of two, that doesn't show a thread of
 * another block: then more is left to __collider_iguard_entry.
 *
 * Costs: an access that changes its entry: a load, a swap; a load of a context for another
 * block's or launch's.
 */
/* ---- the fast path ------------------------------------------------------------------------- */

struct quick {
	uint64_t me, state; /* the thread's word; where its context is */
	uint32_t spans;
	bool is_shared; /* the entries are those of the block's table */
};

#define BLOCK_CLOCK_MASK ((uint64_t)IGUARD_BLOCK_CLOCK_LAST << IGUARD_BLOCK_CLOCK_AT)

#define WARP_CLOCK_MASK ((uint64_t)IGUARD_WARP_CLOCK_LAST << IGUARD_WARP_CLOCK_AT)

/* The bits of a word that say what kind of access and members it has. */
#define KIND_MASK 63u

DEV_FN uint32_t dev_spans(void)
{
	uint32_t size = dev_place().block_size, block = 4, warp = 4;
	bool is_power = (size & (size - 1u)) == 0;

	if (size % IGUARD_LANES == 0)
		block = warp = 9;
	if (is_power) {
		block = 4u + 31u - (uint32_t)__clz((int)size);
		warp = block < 9u ? block : 9u;
	}
	return RACE_IGUARD_SPANS(4, warp, block, is_power);
}

/* Is this other thread of the thread's warp (extent IGUARD_OF_WARP) or block? */
DEV_FN bool dev_is_within(const struct quick *q, uint64_t word, uint32_t extent)
{
	uint32_t differs = (uint32_t)((word ^ q->me) >> 32);

	return (q->is_shared && extent == IGUARD_OF_BLOCK) ||
	       differs >> (q->spans >> 8u * extent & 31u) == 0;
}

/* A weak access of the thread alone, in this context? */
DEV_FN bool dev_is_mine(const struct quick *q, uint64_t word)
{
	return ((word ^ q->me) >> IGUARD_CONTEXT_AT) == 0 && ((uint32_t)word & KIND_MASK) == 0;
}

/* What the members of a word are to this thread's accesses. */
enum quick_past { QUICK_IS_GONE, QUICK_IS_PAST, QUICK_IS_UNORDERED };

/* Of a word of another context. */
DEV_FN enum quick_past dev_past_of(const struct quick *q, uint64_t word, bool is_here)
{
	uint64_t differs =
		dev_meaning(dev_number(word)) ^ dev_own(q->me, (const struct state *)q->state);

	if (differs & IGUARD_LAUNCH_LAST)
		return QUICK_IS_GONE;
	/* (One that has left before the barrier is only found by __collider_iguard_entry.) */
	if (is_here && differs & BLOCK_CLOCK_MASK)
		return q->me & RACE_IGUARD_EXITS ? QUICK_IS_UNORDERED : QUICK_IS_PAST;
	if (((uint32_t)word & 3u) <= IGUARD_OF_WARP && differs & WARP_CLOCK_MASK &&
	    dev_is_within(q, word, IGUARD_OF_WARP))
		return QUICK_IS_PAST;
	return QUICK_IS_UNORDERED;
}

DEV_FN enum quick_past dev_past(const struct quick *q, uint64_t word)
{
	bool is_here =
		((uint32_t)word & 3u) != IGUARD_OF_GRID && dev_is_within(q, word, IGUARD_OF_BLOCK);

	if (dev_number(word) == 0)
		return QUICK_IS_GONE;
	if (((uint32_t)word & 3u) == IGUARD_ONE && (word ^ q->me) >> IGUARD_THREAD_AT == 0)
		return QUICK_IS_PAST;
	if (((word ^ q->me) & IGUARD_CONTEXT_MASK) == 0)
		return QUICK_IS_UNORDERED;
	if (is_here && q->me & RACE_IGUARD_PLAIN)
		return QUICK_IS_PAST;
	return dev_past_of(q, word, is_here);
}

/* Not in blocks whose size is neither a power of two nor whole warps. */
DEV_FN bool dev_knows_warps(const struct quick *q)
{
	return RACE_IGUARD_SPANS_KNOW(q->spans) || (q->spans >> 8u * IGUARD_OF_WARP & 31u) == 9u;
}

/* A reader joins unordered readers, all weak: their word, or 0 if that is not all. */
DEV_FN uint64_t dev_joined(const struct quick *q, uint64_t word)
{
	bool is_alike = ((word ^ q->me) & IGUARD_CONTEXT_MASK) == 0;
	uint32_t extent = dev_is_within(q, word, IGUARD_OF_WARP)    ? IGUARD_OF_WARP
			  : dev_is_within(q, word, IGUARD_OF_BLOCK) ? IGUARD_OF_BLOCK
								    : IGUARD_OF_GRID;

	if ((uint32_t)word & (3u << IGUARD_AFTER_AT | IGUARD_STRONG | IGUARD_CTA))
		return 0;
	/* Without fences and locks no context has less than another. */
	if (!is_alike && q->me & RACE_IGUARD_ORDERS)
		return 0;
	if (extent <= ((uint32_t)word & 3u))
		return word;
	/* A thread that isn't within may be of the warp or block all the same. */
	if (extent == IGUARD_OF_GRID && !RACE_IGUARD_SPANS_KNOW(q->spans))
		return 0;
	if (extent == IGUARD_OF_BLOCK && !dev_knows_warps(q))
		return 0;
	return (word & ~3ull) | extent;
}

/* The entry after a read, or accessor 0: it takes more. `mine`: the thread's word. */
DEV_FN struct iguard_entry dev_after_read(const struct quick *q, struct iguard_entry e,
					  uint64_t mine)
{
	enum quick_past writer;

	if (dev_is_mine(q, e.writer))
		return e;
	writer = dev_past(q, e.writer);
	if (writer == QUICK_IS_GONE)
		e.writer = 0;
	if (writer == QUICK_IS_UNORDERED)
		e.accessor = 0;
	else if (dev_past(q, e.accessor) == QUICK_IS_UNORDERED)
		e.accessor = dev_joined(q, e.accessor);
	else if (!dev_is_mine(q, e.accessor))
		e.accessor = mine;
	return e;
}

/* May come from the L1 cache. */
DEV_FN struct iguard_entry dev_near_entry(const struct quick *q, uint64_t at)
{
	struct iguard_entry e;

	if (q->is_shared)
		asm volatile("ld.relaxed.cta.shared.v2.u64 {%0, %1}, [%2];"
			     : "=l"(e.writer), "=l"(e.accessor)
			     : "r"((uint32_t)at));
	else
		asm volatile("ld.relaxed.cta.global.v2.u64 {%0, %1}, [%2];"
			     : "=l"(e.writer), "=l"(e.accessor)
			     : "l"(at));
	return e;
}

DEV_FN bool dev_put_near(const struct quick *q, uint64_t at, struct iguard_entry *was,
			 struct iguard_entry next, bool writes)
{
	if (q->is_shared)
		at = (uint64_t)__cvta_shared_to_generic((uint32_t)at);
	return dev_put((struct iguard_entry *)at, was, next, writes);
}

/* The lanes that are here together, if all have this entry and this context; or 0. Where only the
 * block's barriers order threads, lanes that are together have one context. */
DEV_FN uint32_t dev_together(const struct quick *q, uint64_t entry)
{
	uint32_t lanes;

	if (!(q->me & RACE_IGUARD_PLAIN))
		return dev_alike(entry, q->me & IGUARD_CONTEXT_MASK);
	if (!q->is_shared)
		return dev_all_have(entry);
	asm volatile("{\n\t"
		     ".reg .b32 dev_active;\n\t"
		     "activemask.b32 dev_active;\n\t"
		     "match.all.sync.b32 %0, %1, dev_active;\n\t"
		     "}"
		     : "=r"(lanes)
		     : "r"((uint32_t)entry));
	return lanes;
}

/* What remains to be done by __collider_iguard_entry: its mode, or DONE. */
#define QUICK_DONE  0xffffffffu
#define QUICK_TURNS 8u

/* mode: MODE_WARP or 0. site: plus 1. entry: of shared memory, an address in its window. */
DEV_FN uint32_t dev_try(const struct quick *q, uint64_t entry, bool writes, uint32_t site,
			uint32_t mode)
{
	struct iguard_entry e = dev_near_entry(q, entry);
	uint64_t mine = (q->me & ~((1ull << IGUARD_CONTEXT_AT) - 1u));
	uint32_t modes = dev_modes(), ns = 0;
	bool is_asked = mode != 0 || (modes & RACE_IGUARD_MODE_ALONE) != 0;

	mine |= site <= IGUARD_SITE_LAST + 1u ? site << IGUARD_SITE_AT : 0u;
#pragma unroll 1
	for (uint32_t turn = 0; turn < QUICK_TURNS; turn++) {
		struct iguard_entry next = {mine, 0};

		if (!writes) {
			next = dev_after_read(q, e, mine);
			if (next.writer == e.writer && next.accessor == e.accessor && mode == 0 &&
			    (e.accessor || dev_is_mine(q, e.writer)))
				return QUICK_DONE;
			if (next.accessor == 0)
				break;
			if (!is_asked) {
				uint32_t lanes = dev_together(q, entry);
				if (lanes && !dev_is_leader(lanes))
					return QUICK_DONE;
				mode = lanes & (lanes - 1u) ? MODE_WARP : 0;
				is_asked = true;
			}
			if (mode && ((uint32_t)next.accessor & 3u) == IGUARD_ONE)
				next.accessor |= IGUARD_OF_WARP;
			if (next.accessor == e.accessor && next.writer == e.writer)
				return QUICK_DONE;
		} else if (dev_is_mine(q, e.writer) && e.accessor == 0) {
			return QUICK_DONE; /* the same write once more */
		} else if (dev_past(q, e.writer) == QUICK_IS_UNORDERED ||
			   dev_past(q, e.accessor) == QUICK_IS_UNORDERED) {
			break;
		}
		if (dev_put_near(q, entry, &e, next, writes))
			return QUICK_DONE;
		if (!(modes & RACE_IGUARD_MODE_EAGER))
			ns = __collider_iguard_wait(ns);
	}
	return mode;
}

/* ---- for the inlined fast path -------------------------------------------------------------- */

/* The entries of a weak access to whole words; what: as of __collider_iguard_g. Gives back which of
 * them take more, and from bit 8 on, which of those are for all lanes. */
DEV_FN uint32_t dev_step(const struct quick *q, uint64_t entry, uint64_t what)
{
	uint32_t left = 0, words = RACE_IGUARD_SURE(what);
	bool writes = ((uint32_t)what & RACE_IGUARD_WRITES) != 0;

	if ((q->me & IGUARD_CONTEXT_MASK) == 0)
		return 0;
#pragma unroll 1
	for (uint32_t i = 0; words >> i; i++) {
		uint32_t mode = dev_try(q, entry + IGUARD_ENTRY_BYTES * i, writes,
					RACE_IGUARD_SITE(what) + 1u, 0);

		if (mode != QUICK_DONE)
			left |= (1u | (mode & MODE_WARP ? 256u : 0u)) << i;
	}
	return left;
}

extern "C" __device__ __noinline__ uint32_t __collider_iguard_step(uint64_t me, uint64_t state,
								   uint64_t entry, uint64_t what,
								   uint32_t spans)
{
	struct quick q = {me, state, spans, false};

	return dev_step(&q, entry, what);
}

/* Of shared memory. */
extern "C" __device__ __noinline__ uint32_t __collider_iguard_step_s(uint64_t me, uint64_t state,
								     uint32_t entry, uint64_t what,
								     uint32_t spans)
{
	struct quick q = {me, state, spans, true};

	return dev_step(&q, entry, what);
}
