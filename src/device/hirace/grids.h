/*
 * grids.h - part of hirace.cu: the numbers of launches, and which of them overlap in time.
 *
 * A grid's first thread takes a place in the launches' table and counts the launches that have
 * begun; each thread that leaves is counted there (hirace/overlap.h). Nothing is concluded
 * about kernels with RACE_ACTOR_APART: programmatic launches begin before the end of what they wait
 * for, device-side ones run beside their parents, and a function that is called may end a thread
 * where it isn't counted. Nor once a graph was launched: of kernels that run beside that, threads
 * may get two numbers. Host code can learn from a running kernel and launch another one, so pairs
 * are only possible once a kernel has run that may release to the system; and so are pairs between
 * whose launches a kernel has ended that may have learned from the earlier one (overlap.h).
 *
 * On the CPU device the host has written down the API's order (race_history_tables.rows).
 *
 * Misses: grids that nothing orders and that ran one after the other (on a GPU). Costs: three loads
 * for each warp that begins, one of them past the L1 cache (and one more in the first wave); for
 * each warp that leaves a reduction at one of RACE_HISTORY_RUN_PARTS places, for which no thread
 * waits; for a grid's first thread a chain of some eight loads and atomics, and up to
 * RACE_HISTORY_RUN_PARTS loads for each launch that was not seen to be over.
 */
#ifndef COLLIDER_DEVICE_HIRACE_GRIDS_H
#define COLLIDER_DEVICE_HIRACE_GRIDS_H

DEV_FN void dev_clear32(void *p, uint32_t bits)
{
	asm volatile("red.relaxed.gpu.and.b32 [%0], %1;" ::"l"(p), "r"(~bits));
}

DEV_FN void dev_set64(void *p, uint64_t v)
{
	asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(p), "l"(v));
}

/* Thread numbers of this launch have so many bits. */
DEV_FN uint32_t dev_thread_bits(struct place p)
{
	return hirace_thread_bits(p.blocks * hirace_block_stride(p.block_size));
}

#define HIRACE_FN		 DEV_FN
#define HIRACE_LOAD64(p)	 dev_word(p)
#define HIRACE_LOAD32(p)	 dev_word32(p)
#define HIRACE_SET64(p, v)	 dev_set64(p, v)
#define HIRACE_SET32(p, v)	 dev_store32(p, v)
#define HIRACE_SWAP32(p, old, v) dev_swap32(p, old, v)
#define HIRACE_CLEAR32(p, bits)	 dev_clear32(p, bits)
#define HIRACE_RAISE64(p, n)	 dev_add64((uint64_t)(p), n)
#include "hirace/overlap.h"

/* The first thread of a launch, when `before` had begun. A call: what it needs must cost the others
 * no register. */
extern "C" __device__ __noinline__ void __collider_hirace_start(uint32_t launch, uint32_t flags,
								uint32_t before)
{
	struct race_history_tables *t = dev_tables();
	struct race_history_run *run = &t->runs[launch - 1u];
	struct place p = dev_place();

	run->table = dev_table();
	run->shape = RACE_HISTORY_SHAPE(blockDim.x, blockDim.y, blockDim.z, dev_thread_bits(p));
	hirace_start(t, launch, p.blocks * p.block_size | RACE_ENTER_RUN(flags), before,
		     flags & RACE_ACTOR_APART);
}

/* This launch's place in the table, from 1; 0: there is none. flags: RACE_ACTOR_*, RACE_ENTER_*. */
DEV_FN uint32_t dev_enter(struct race_history_tables *t, uint32_t flags)
{
	uint64_t grid = race_history_key(dev_grid(), dev_word_near(&t->epoch));
	uint32_t at, before, informs = flags & (RACE_ENTER_INFORMS | RACE_ENTER_APPEARS);
	bool is_first;

	if (flags & RACE_ACTOR_APART)
		grid |= RACE_HISTORY_APART;
	if (informs & ~dev_word32(&t->informs))
		dev_or32(&t->informs, informs);
	at = dev_claim(t, grid, &is_first, &t->begins, &before);
	if (is_first)
		__collider_hirace_start(at, flags, before);
	else if (at == 0)
		hirace_note_learner(t, RACE_ENTER_RUN(flags), ~0u);
	return at;
}

/* Do others run beside this launch now? The fast path then leaves words of theirs to us. */
DEV_FN uint32_t dev_beside(const struct race_history_tables *t)
{
	uint64_t counts;

	RACE_STATIC_ASSERT(offsetof(struct race_history_tables, overs) ==
					   offsetof(struct race_history_tables, begins) + 4u &&
				   offsetof(struct race_history_tables, begins) % 8u == 0,
			   "read at once");
	if (dev_word_near(&t->epoch))
		return 0;
	/* Of launches that nothing orders one may have ended before the other begins. */
	if (dev_word32(&t->unordered))
		return RACE_ACTOR_BESIDE;
	counts = dev_word(&t->begins);
	return (uint32_t)counts - (uint32_t)(counts >> 32) > 1u ? RACE_ACTOR_BESIDE : 0;
}

/* Lanes of a warp that leave together are counted at once; no thread waits for the count. */
DEV_FN void dev_leave(struct race_history_tables *t, uint32_t launch)
{
	struct place p = dev_place();
	uint32_t part = dev_sm() % RACE_HISTORY_PARTS_OF(p.blocks * p.block_size);
	uint32_t peers = dev_active();

	if (dev_is_leader(peers))
		dev_red64((uint64_t)&t->left[part][launch - 1u], (uint64_t)__popc(peers));
}

/* The bit of two grids in table `n` of the CPU device's rows. */
DEV_FN bool dev_row_bit(const struct race_history_tables *t, uint64_t n, uint64_t a, uint64_t b)
{
	uint64_t row = n * RACE_HISTORY_ROW + a % RACE_HISTORY_ROW;
	const uint64_t *words = (const uint64_t *)(t->rows + row * (RACE_HISTORY_ROW / 8u));

	return dev_word(words + b % RACE_HISTORY_ROW / 64u) >> b % 64u & 1u;
}

/* By the CPU device's rows. */
DEV_FN enum hirace_overlap dev_row_overlap(const struct race_history_tables *t, uint64_t a,
					   uint64_t b)
{
	uint64_t far = a > b ? a - b : b - a;

	if (far == 0 || far >= RACE_HISTORY_ROW || !dev_row_bit(t, 0, a, b))
		return HIRACE_ORDERED;
	if (dev_row_bit(t, 1, a, b))
		return HIRACE_PERHAPS_ORDERED;
	return dev_row_bit(t, 2, a, b) ? HIRACE_PERHAPS_SEEN : HIRACE_OVERLAPPING;
}

DEV_FN uint32_t dev_overlap(uint32_t mine, uint32_t other)
{
	struct race_history_tables *t = dev_tables();
	uint64_t a = dev_word(&t->launches[mine - 1u]), b = dev_word(&t->launches[other - 1u]);
	uint32_t informs = dev_word32(&t->informs);
	enum hirace_overlap how;

	if (a == 0 || b == 0)
		return HIRACE_ORDERED;
	if (t->rows)
		how = dev_row_overlap(t, race_history_grid(a), race_history_grid(b));
	else if ((a | b) & RACE_HISTORY_APART || dev_word(&t->epoch))
		return HIRACE_ORDERED;
	else
		how = hirace_overlap_of(t, mine, other,
					dev_word32(&t->unseen) & RACE_HISTORY_GRID_ORDERS);
	if (how == HIRACE_ORDERED || how == HIRACE_PERHAPS_ORDERED || !informs)
		return how;
	return informs & RACE_ENTER_INFORMS ? HIRACE_PERHAPS_ORDERED : HIRACE_PERHAPS_SEEN;
}

/* For a report, the earlier side `was` of another launch; see RACE_EARLIER_IS_OTHER. */
DEV_FN void dev_of_other(uint64_t was, uint64_t *me, uint64_t *earlier, uint64_t *shape)
{
	const struct race_history_tables *t = dev_tables();
	uint32_t other = RACE_ACTOR_HAS(was);
	const struct race_history_run *run = &t->runs[other ? other - 1u : 0];
	uint64_t grid = race_history_grid(dev_word(&t->launches[other ? other - 1u : 0]));

	if (dev_word(&run->table) != dev_table())
		*earlier = 0;
	*earlier |= RACE_EARLIER_OWN(blockDim.x, blockDim.y, blockDim.z);
	*shape = dev_word(&run->shape);
	*me = (RACE_HISTORY_SHAPE_BITS(*shape) - HIRACE_THREAD_BITS_MIN) | RACE_EARLIER_IS_OTHER |
	      grid << RACE_EARLIER_GRID_AT;
}

#endif
