/*
 * guard_fast.h - part of guard.cu: the accesses that need few of the rules.
 */
/* ---- the fast path ------------------------------------------------------------------------- */

/*
 * Weak accesses that race with nobody and need no more than this of guard/update.h: what stands in
 * the entry is gone (another launch), the thread's own, or before the last barrier of the block
 * or the warp; and readers join readers. Anything else is judged by __collider_guard_entry.
 */
struct quick {
	uint64_t me, own; /* the thread's word and context */
	uint64_t *contexts;
	uint32_t block_first, block_size;
};

DEV_FN struct quick dev_quick(uint64_t me, const struct state *s)
{
	struct place p = dev_place();
	struct quick q;

	q.me = me;
	q.own = s->own;
	q.contexts = dev_tables()->contexts_of;
	q.block_first = (uint32_t)(me >> GUARD_THREAD_AT) - p.in_block;
	q.block_size = p.block_size;
	return q;
}

#define BLOCK_CLOCK_MASK ((uint64_t)GUARD_BLOCK_CLOCK_LAST << GUARD_BLOCK_CLOCK_AT)

#define WARP_CLOCK_MASK ((uint64_t)GUARD_WARP_CLOCK_LAST << GUARD_WARP_CLOCK_AT)

/* The thread's number in its block. */
DEV_FN uint32_t dev_lane_place(const struct quick *q)
{
	return (uint32_t)(q->me >> GUARD_THREAD_AT) - q->block_first;
}

/* Is everything that the word stands for gone, or ordered before this thread's accesses? */
DEV_FN bool dev_is_past(const struct quick *q, uint64_t word)
{
	uint32_t number = (uint32_t)(word >> GUARD_CONTEXT_AT) & (GUARD_CONTEXTS - 1u);
	uint32_t extent = (uint32_t)word & 3u, place;
	uint64_t differs = 0;

	if (number == 0)
		return true;
	if ((word ^ q->me) & GUARD_CONTEXT_MASK)
		differs = dev_word(&q->contexts[number]) ^ q->own;
	if (differs & GUARD_LAUNCH_LAST)
		return true;
	place = (uint32_t)(word >> GUARD_THREAD_AT) - q->block_first;
	if (place < q->block_size && extent != GUARD_OF_GRID && differs & BLOCK_CLOCK_MASK)
		return true;
	if (extent <= GUARD_OF_WARP && differs & WARP_CLOCK_MASK && place < q->block_size &&
	    place / GUARD_LANES == dev_lane_place(q) / GUARD_LANES)
		return true;
	return extent == GUARD_ONE && (word ^ q->me) >> GUARD_THREAD_AT == 0;
}

/* A reader joins unordered readers, all weak: their word, or 0 if that is not all. */
DEV_FN uint64_t dev_joined(const struct quick *q, uint64_t word)
{
	uint32_t thread = (uint32_t)(word >> GUARD_THREAD_AT), place = thread - q->block_first;
	uint32_t mine = dev_lane_place(q);
	uint32_t extent = place >= q->block_size		      ? GUARD_OF_GRID
			  : place / GUARD_LANES == mine / GUARD_LANES ? GUARD_OF_WARP
								      : GUARD_OF_BLOCK;
	bool is_alike = ((word ^ q->me) & GUARD_CONTEXT_MASK) == 0;

	if ((uint32_t)word & (3u << GUARD_BEHIND_AT | GUARD_STRONG | GUARD_CTA))
		return 0;
	/* Without fences and locks no context has less than another. */
	if (!is_alike && q->me & RACE_GUARD_ORDERS)
		return 0;
	return extent > ((uint32_t)word & 3u) ? (word & ~3ull) | extent : word;
}

/* What remains to be done by __collider_guard_entry: its mode, or DONE. */
#define QUICK_DONE  0xffffffffu
#define QUICK_TURNS 8u

DEV_FN uint32_t dev_try(const struct quick *q, uint64_t entry, uint32_t what)
{
	struct guard_entry *at = (struct guard_entry *)entry;
	uint64_t mine = (q->me & ~((1ull << GUARD_CONTEXT_AT) - 1u));
	uint32_t modes = dev_modes(), ns = 0, mode = 0, site = RACE_GUARD_SITE(what) + 1u;
	bool writes = (what & RACE_GUARD_WRITES) != 0;

	mine |= site <= GUARD_SITE_LAST + 1u ? site << GUARD_SITE_AT : 0u;
#pragma unroll 1
	for (uint32_t turn = 0; turn < QUICK_TURNS; turn++) {
		struct guard_entry e = dev_entry(at), next = e;
		bool is_past = dev_is_past(q, e.accessor);

		if (!dev_is_past(q, e.writer))
			break;
		if (writes) {
			if (!is_past)
				break;
			next.writer = mine;
			next.accessor = 0;
			/* The same write once more. */
			if (((e.writer ^ mine) >> GUARD_CONTEXT_AT) == 0 && e.accessor == 0 &&
			    ((uint32_t)e.writer & 63u) == 0)
				return QUICK_DONE;
		} else {
			next.accessor = is_past ? mine : dev_joined(q, e.accessor);
			if (next.accessor == 0)
				break;
			if (mode == 0 && (next.accessor == e.accessor ||
					  (((e.accessor ^ mine) >> GUARD_CONTEXT_AT) == 0 &&
					   ((uint32_t)e.accessor & 63u) == 0)))
				return QUICK_DONE;
			if (turn == 0 && !(modes & RACE_GUARD_MODE_ALONE)) {
				uint32_t lanes = dev_alike(entry, q->me & GUARD_CONTEXT_MASK);
				if (lanes && !dev_is_leader(lanes))
					return QUICK_DONE;
				mode = lanes ? MODE_WARP : 0;
			}
			if (mode && ((uint32_t)next.accessor & 3u) == GUARD_ONE)
				next.accessor |= GUARD_OF_WARP;
			if (next.accessor == e.accessor)
				return QUICK_DONE;
		}
		if (dev_put(at, e, next, writes))
			return QUICK_DONE;
		if (!(modes & RACE_GUARD_MODE_EAGER))
			dev_back_off(&ns);
	}
	return mode;
}
