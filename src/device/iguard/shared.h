/*
 * shared.h - part of iguard.cu: the entries of a block's shared memory.
 *
 *	__collider_iguard_shared		at a kernel's entry: sets the block's table to 0
 *	__collider_iguard_scratch_of	at its entry and its ends, where there is no table
 */
/* The table of a block: race_history_shared at an address in its window, then entries; or entries
 * in scratch (RACE_TABLE_*); 0: none. */
struct in_table {
	uint64_t first;	 /* entry */
	uint32_t off, n; /* the address's place in what is tracked, and the bytes of that */
};

DEV_FN struct in_table dev_table_of(uint64_t table, uint32_t at)
{
	const struct race_history_shared *head =
		(const struct race_history_shared *)__cvta_shared_to_generic((uint32_t)table);
	struct in_table t = {(uint64_t)(head + 1), at - RACE_TABLE_FIRST(table),
			     RACE_TABLE_TRACKED(table)};

	if (table & RACE_TABLE_IS_SCRATCH) {
		t.first = dev_scratch_words(table);
	} else if (table) {
		t.n = dev_word32(&head->bytes);
		t.off = at - dev_word32(&head->first);
	}
	return t;
}

DEV_FN void dev_in_shared(uint64_t me, uint64_t state, uint64_t table, uint32_t at, uint64_t what,
			  struct held_look *look)
{
	struct in_table t = dev_table_of(table, at);

	if (t.off >= t.n || t.n - t.off < 4u * (32u - __clz(RACE_IGUARD_SURE(what) |
							    RACE_IGUARD_MAYBE(what) | 1u)) -
						  (t.off & 3u)) {
		dev_untracked();
		return;
	}
	t.first += (uint32_t)what & RACE_IGUARD_BYTES ? t.off << 4 : t.off >> 2 << 4;
	dev_entries(me, state, at, t.first, what, !(table & RACE_TABLE_IS_SCRATCH), look);
}

/* The block's rank in its cluster, which shared addresses have, too (race/layout/history.h). */
DEV_FN uint32_t dev_rank(void)
{
	uint32_t rank = 0;

#ifdef IGUARD_SWAPS_PAIRS /* from sm_90 on */
	DEV_SREG32(rank, "%cluster_ctarank");
#endif
	return rank;
}

/* The launch's number, or 0. */
DEV_FN uint32_t dev_launch_of(uint64_t me, uint64_t state)
{
	if (me & RACE_IGUARD_PLAIN)
		return dev_is_aside(me) ? 0 : iguard_context_decode(dev_own(me, 0)).launch;
	return ((const struct state *)state)->launch;
}

/* Before a barrier of ours the block's units are taken, or after it found and given back. */
extern "C" __device__ __noinline__ uint64_t __collider_iguard_scratch_of(uint64_t me,
									 uint64_t state,
									 uint64_t table,
									 uint32_t what)
{
	uint32_t launch = what & RACE_IGUARD_SCRATCH_GIVE ? 0 : dev_launch_of(me, state);

	if (what & RACE_IGUARD_SCRATCH_TAKE)
		dev_scratch_take(launch, what & RACE_IGUARD_SCRATCH_BYTES);
	if (what & RACE_IGUARD_SCRATCH_GIVE)
		dev_scratch_give(table);
	if (!(what & RACE_IGUARD_SCRATCH_FIND))
		return 0;
	table = dev_scratch_find(launch);
	return table ? table | (uint64_t)dev_rank() << RACE_TABLE_RANK_AT : 0;
}

/* All threads of the block; a barrier comes after. bytes: of the table. */
extern "C" __device__ __noinline__ void __collider_iguard_shared(uint32_t table, uint32_t first,
								 uint32_t tracked, uint32_t bytes)
{
	struct place p = dev_place();

	for (uint32_t i = p.in_block; i < bytes / 4u; i += p.block_size) {
		uint32_t v = i == 0 ? first : i == 1u ? tracked : 0u;
		asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(table + 4u * i), "r"(v));
	}
}
