/*
 * scratch.h - part of hirace.cu and iguard.cu: words in global memory for a block's shared memory.
 *
 *	dev_scratch_take	at a kernel's entry: the block's first thread takes units
 *	dev_scratch_find	after a barrier: finds and clears them, returns the table
 *	dev_scratch_give	at every way out: the last thread gives them back
 *
 * The includer defines DEV_WORD, the bytes of a word; DEV_SCRATCH_BYTES(n, has_bytes), those of the
 * words of n bytes; and DEV_SCRATCH_FALLS_BACK: does a kernel that accesses bytes do with words?
 *
 * The size of dynamic shared memory is known at launch, which we don't alter, so the words lie in
 * what race_history.scratch has for the SM (race/layout/history.h). The block's threads find the
 * units by the launch's number and the block's: no shared memory of the program's is needed for
 * that, and one of ours could be refused. The whole window is tracked from address 0 on,
 * RACE_SCRATCH_SYSTEM bytes included that the system keeps there.
 *
 * Misses: a block for which its SM has no run of units long enough; its accesses are counted as
 * those without words. A thread whose SM has changed since its block began (preemption at the
 * entry) doesn't find them, either. Costs: two barriers, four loads for each thread, an atomic for
 * each warp that leaves, and the words to clear.
 */
#ifndef COLLIDER_DEVICE_SCRATCH_H
#define COLLIDER_DEVICE_SCRATCH_H

RACE_STATIC_ASSERT(offsetof(struct race_history, scratch) == 136, "read below");

#define NO_UNIT	     0xffffffffu
#define SCRATCH_UNIT RACE_SCRATCH_UNIT_OF(DEV_WORD)

DEV_FN void dev_scratch_set(void *p, uint32_t v)
{
	asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v));
}

DEV_FN uint32_t dev_scratch_add(void *p, uint32_t n)
{
	uint32_t v;

	asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(v) : "l"(p), "r"(n));
	return v;
}

DEV_FN uint64_t dev_scratch(void)
{
	uint64_t v;

	FIELD(v, 136);
	return v;
}

DEV_FN struct race_scratch_sm *dev_scratch_sm(uint64_t scratch, uint32_t sm)
{
	uint64_t head = scratch - RACE_SCRATCH_HEAD;

	return (struct race_scratch_sm *)(head - (sm + 1u) * sizeof(struct race_scratch_sm));
}

/* Whose units this thread's block takes. %smid may be larger than the number of SMs. */
DEV_FN uint32_t dev_scratch_at(uint64_t scratch)
{
	uint32_t sm;

	DEV_SREG32(sm, "%smid");
	return sm % dev_word32((const void *)(scratch - RACE_SCRATCH_HEAD));
}

DEV_FN uint64_t dev_scratch_key(uint32_t launch)
{
	return (uint64_t)launch << 40 | (dev_place().block + 1u);
}

/* Tracked bytes of the block's window; 0: it has no shared memory. */
DEV_FN uint32_t dev_scratch_window(void)
{
	uint32_t n;

	DEV_SREG32(n, "%total_smem_size");
	return n ? (n + RACE_SCRATCH_SYSTEM + 15u) & ~15u : 0;
}

#define HALF_UNITS (RACE_SCRATCH_UNITS / 2u)

/* The bits of a run in one of the two words. */
DEV_FN uint64_t dev_scratch_mask(uint32_t first, uint32_t n, uint32_t half)
{
	uint32_t end = first + n, from = half * HALF_UNITS;
	uint32_t low = first > from ? first - from : 0, high = end > from ? end - from : 0;

	if (high > HALF_UNITS)
		high = HALF_UNITS;
	return low < high ? (~0ull >> (HALF_UNITS - (high - low))) << low : 0;
}

DEV_FN void dev_scratch_release(struct race_scratch_sm *sm, uint32_t first, uint32_t n)
{
#pragma unroll 1
	for (uint32_t half = 0; half < 2u; half++) {
		uint64_t mask = dev_scratch_mask(first, n, half);
		if (mask)
			asm volatile(
				"red.relaxed.gpu.global.and.b64 [%0], %1;" ::"l"(&sm->taken[half]),
				"l"(~mask));
	}
}

/* n units in a row of one word, at most 64; from_start: its first ones. */
DEV_FN uint32_t dev_scratch_in(struct race_scratch_sm *sm, uint32_t half, uint32_t n,
			       bool from_start)
{
	uint64_t *at = &sm->taken[half], taken = dev_word(at), runs, found;

#pragma unroll 1
	for (;;) {
		uint32_t first;

		runs = ~taken;
#pragma unroll 1
		for (uint32_t i = 1; i < n; i++)
			runs &= ~taken >> i;
		if (runs == 0 || (from_start && !(runs & 1u)))
			return NO_UNIT;
		first = half * HALF_UNITS + (uint32_t)__ffsll((long long)runs) - 1u;
		found = dev_swap(at, taken, taken | dev_scratch_mask(first, n, half));
		if (found == taken)
			return first;
		taken = found;
	}
}

/* The first of n units in a row, which are the block's then. */
DEV_FN uint32_t dev_scratch_run(struct race_scratch_sm *sm, uint32_t n)
{
	uint32_t first;

	if (n == 0 || n > RACE_SCRATCH_UNITS)
		return NO_UNIT;
	first = dev_scratch_in(sm, 0, n < HALF_UNITS ? n : HALF_UNITS, false);
	if (n <= HALF_UNITS)
		return first != NO_UNIT ? first : dev_scratch_in(sm, 1u, n, false);
	if (first != NO_UNIT && dev_scratch_in(sm, 1u, n - HALF_UNITS, true) == NO_UNIT) {
		dev_scratch_release(sm, 0, HALF_UNITS);
		first = NO_UNIT;
	}
	return first;
}

/* launch: its number, or 0. */
DEV_FN void dev_scratch_take(uint32_t launch, uint32_t bytes)
{
	uint64_t scratch = dev_scratch();
	uint32_t window = dev_scratch_window(), n, first = NO_UNIT, shape = 0;
	struct race_scratch_sm *sm;

	if (scratch == 0 || window == 0 || launch == 0 || dev_place().in_block)
		return;
	sm = dev_scratch_sm(scratch, dev_scratch_at(scratch));
	/* Where the words of bytes find no room, those of 4 bytes may. */
	for (uint32_t with = bytes; first == NO_UNIT; with = 0) {
		n = (DEV_SCRATCH_BYTES(window, with) + SCRATCH_UNIT - 1u) / SCRATCH_UNIT;
		first = dev_scratch_run(sm, n);
		shape = n | (with ? RACE_SCRATCH_BYTES : 0);
		if (!with || !DEV_SCRATCH_FALLS_BACK)
			break;
	}
	if (first == NO_UNIT)
		return;
	dev_scratch_set(&sm->runs[first].left, 0);
	dev_scratch_set(&sm->runs[first].shape, shape);
	dev_swap(&sm->runs[first].key, 0, dev_scratch_key(launch));
}

/* The block's run, found by the lanes that are here together. */
DEV_FN uint32_t dev_scratch_run_of(const struct race_scratch_sm *sm, uint64_t key)
{
	uint32_t here = __activemask(), below, found = NO_UNIT, who;

	DEV_SREG32(below, "%lanemask_lt");
#pragma unroll 1
	for (uint32_t i = (uint32_t)__popc(here & below); i < RACE_SCRATCH_UNITS;
	     i += (uint32_t)__popc(here))
		if (dev_word(&sm->runs[i].key) == key)
			found = i;
	who = __ballot_sync(here, found != NO_UNIT);
	return who ? __shfl_sync(here, found, __ffs((int)who) - 1) : NO_UNIT;
}

/* The table (RACE_TABLE_*), or 0. A barrier comes before it and after it. */
DEV_FN uint64_t dev_scratch_find(uint32_t launch)
{
	uint64_t scratch = dev_scratch(), words;
	uint32_t window = dev_scratch_window(), at, first, bytes;
	struct race_scratch_sm *sm;
	struct place p = dev_place();
	bool has_bytes;

	if (scratch == 0 || window == 0 || launch == 0)
		return 0;
	at = dev_scratch_at(scratch);
	sm = dev_scratch_sm(scratch, at);
	first = dev_scratch_run_of(sm, dev_scratch_key(launch));
	if (first == NO_UNIT)
		return 0;
	has_bytes = (dev_word32(&sm->runs[first].shape) & RACE_SCRATCH_BYTES) != 0;
	bytes = DEV_SCRATCH_BYTES(window, has_bytes);
	first += at * RACE_SCRATCH_UNITS;
	words = scratch + (uint64_t)first * SCRATCH_UNIT;
#pragma unroll 1
	for (uint32_t i = 16u * p.in_block; i < bytes; i += 16u * p.block_size)
		asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(words + i), "r"(0));
	return first | (uint64_t)window << RACE_TABLE_TRACKED_AT | RACE_TABLE_IS_SCRATCH |
	       (has_bytes ? RACE_TABLE_HAS_BYTES : 0);
}

/* Where the words of a table in scratch begin. */
DEV_FN uint64_t dev_scratch_words(uint64_t table)
{
	return dev_scratch() + (uint64_t)RACE_TABLE_UNIT(table) * SCRATCH_UNIT;
}

DEV_FN void dev_scratch_give(uint64_t table)
{
	uint32_t unit = RACE_TABLE_UNIT(table), first = unit % RACE_SCRATCH_UNITS, peers, n;
	struct race_scratch_sm *sm;
	struct race_scratch_run *run;
	uint64_t key;

	if (!(table & RACE_TABLE_IS_SCRATCH))
		return;
	sm = dev_scratch_sm(dev_scratch(), unit / RACE_SCRATCH_UNITS);
	run = &sm->runs[first];
	peers = dev_peers(unit);
	n = (uint32_t)__popc(peers);
	if (!dev_is_leader(peers) || dev_scratch_add(&run->left, n) + n != dev_place().block_size)
		return;
	n = dev_word32(&run->shape) & ~RACE_SCRATCH_BYTES;
	key = dev_word(&run->key);
	/* The units are free only once the run has no key: the branch waits for the swap. */
	if (dev_swap(&run->key, key, 0) == key)
		dev_scratch_release(sm, first, n);
}

#endif
