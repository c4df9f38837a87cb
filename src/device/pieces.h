/*
 * pieces.h - part of hirace.cu and iguard.cu: who a thread is, which launch it belongs to, and
 * where the words of an address are (race/layout/history.h).
 *
 * The includer defines DEV_KNOBS, the symbol of its runtime block; DEV_TAKE and DEV_BLOCK_OF, the
 * names of two functions of its own; DEV_WORD, the bytes of a word.
 */
#ifndef COLLIDER_DEVICE_PIECES_H
#define COLLIDER_DEVICE_PIECES_H

#include "race/layout/history.h"

/* ---- the runtime block ------------------------------------------------------------------ */

/* Offsets are spelled as text because src/instrument rewrites ld.const where need be. */
#define FIELD(v, at) asm volatile("ld.const.u64 %0, [" DEV_KNOBS "+" #at "];" : "=l"(v))
RACE_STATIC_ASSERT(offsetof(struct race_history, directory) == 64, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_history, words) == 72, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_history, sites) == 80, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_history, pages) == 88, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_history, bytes) == 96, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_history, byte_sites) == 104, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_history, tables) == 112, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_history, modes) == 120, "read below");

/* What all tables begin with: RACE_HISTORY_HEAD. */
DEV_FN struct race_history_tables *dev_head(void)
{
	uint64_t v;

	FIELD(v, 112);
	return (struct race_history_tables *)v;
}

/* ---- who a thread is --------------------------------------------------------------------- */

struct place {
	uint32_t in_block, block_size;
	uint64_t block, blocks;
};

DEV_FN struct place dev_place(void)
{
	struct place p;

	p.block_size = blockDim.x * blockDim.y * blockDim.z;
	p.in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	p.block = ((uint64_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	p.blocks = (uint64_t)gridDim.z * gridDim.y * gridDim.x;
	return p;
}

/*
 * Takes a free place for a launch, or gives back which one has it. One of the lanes that are here
 * asks for all: when a grid begins no thread finds it, and each compare-and-swap at this one place
 * waits for all others.
 */
DEV_FN uint64_t dev_claim_at(uint64_t *place, uint64_t grid, bool *is_first, const uint32_t *count,
			     uint32_t *was)
{
	uint32_t peers = dev_active();
	uint64_t found = 0;

	if (dev_is_leader(peers)) {
		*was = count ? dev_word32(count) : 0;
		found = dev_swap(place, *was == ~0u, grid); /* so that it comes after the load */
		*is_first = found == 0;
	}
	return __shfl_sync(peers, found, __ffs((int)peers) - 1);
}

/* A launch's place in the table, from 1; 0: there is none. is_first: this thread has taken it; then
 * *was is what stood at `count` (NULL: nothing) before any other thread of the launch went on. */
DEV_FN uint32_t dev_claim(struct race_history_tables *t, uint64_t grid, bool *is_first,
			  const uint32_t *count, uint32_t *was)
{
	/* Grids have numbers in a row; launches of one graph have one, and epochs above it. */
	uint32_t low = (uint32_t)grid, high;
	uint32_t at;

	high = (uint32_t)((grid & ~RACE_HISTORY_APART) >> RACE_HISTORY_EPOCH_AT);
	at = (low + high) % RACE_HISTORY_LAUNCHES;

	*is_first = false;
#pragma unroll 1
	for (uint32_t i = 0; i < RACE_HISTORY_PROBES; i++) {
		/* From the L1 cache: all warps of a grid read it, and it stays. */
		uint64_t found = dev_word_near(&t->launches[at]);

		if (found == 0)
			found = dev_claim_at(&t->launches[at], grid, is_first, count, was);
		if (found == 0 || found == grid)
			return at + 1u;
		at = at + 1u < RACE_HISTORY_LAUNCHES ? at + 1u : 0u;
	}
	return 0;
}

/* The same for a detector that judges no pair of two launches. */
DEV_FN uint32_t dev_launch(void)
{
	struct race_history_tables *t = dev_head();
	uint32_t was;
	bool is_first;

	if (t->unseen & RACE_HISTORY_BLIND)
		return 0;
	return dev_claim(t, race_history_key(dev_grid(), dev_word_near(&t->epoch)), &is_first, 0,
			 &was);
}

/* ---- where the words are ------------------------------------------------------------------- */

#define WAIT_TURNS 4096u /* of a thread for another one's block of words */

/* Of all lanes that are here, one counts. */
DEV_FN void dev_untracked(void)
{
	uint32_t peers = dev_peers(0);

	if (dev_is_leader(peers))
		dev_red64((uint64_t)&dev_head()->accesses_aside, (uint64_t)__popc(peers));
}

/*
 * The entry at `at` of the directory or of the pages' table. Where no thread has touched it the
 * first thread takes the next block; others wait for it, with an end, since they may be lanes of
 * its warp. Nothing is lost by going on without a block but one check.
 */
extern "C" __device__ __noinline__ uint64_t DEV_TAKE(uint64_t at, uint64_t pool, uint64_t first,
						     uint64_t bytes)
{
	struct race_history_pool *p = (struct race_history_pool *)pool;
	uint64_t old = dev_load64(at), was = old, now = RACE_HISTORY_FULL;

	if (old == RACE_HISTORY_FULL && dev_word(&p->used) >= dev_word(&p->limit))
		return old;
	if (old == RACE_HISTORY_NONE || old == RACE_HISTORY_FULL)
		was = dev_cas64(at, old, RACE_HISTORY_BUSY);
	if (was == old && old != RACE_HISTORY_BUSY && old <= RACE_HISTORY_FULL) {
		uint64_t n = dev_word(&p->used) < dev_word(&p->limit) ? dev_add64(pool, 1) : ~0ull;
		if (n < dev_word(&p->limit))
			now = first + n * bytes;
		else if (dev_head()->ordered_at)
			DEV_STORE32(dev_head()->ordered_at + RACE_HISTORY_SHORT_AT, 1);
		asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(now));
		return now;
	}
#pragma unroll 1
	for (uint32_t i = 0; was == RACE_HISTORY_BUSY && i < WAIT_TURNS; i++)
		was = dev_load64(at);
	return was;
}

/* The piece's block of words; up to RACE_HISTORY_FULL: it has none. */
extern "C" __device__ __noinline__ uint64_t DEV_BLOCK_OF(uint64_t at)
{
	struct race_history_tables *t = dev_head();
	uint64_t directory, words;
	uint32_t part = (uint32_t)(at >> (RACE_HISTORY_ADDRESS_BITS - 8u));

	FIELD(directory, 64);
	FIELD(words, 72);
	if (part >= RACE_HISTORY_PARTS || !(t->parts[part / 32u] >> part % 32u & 1u))
		return RACE_HISTORY_FULL;
	return DEV_TAKE(directory + at / RACE_HISTORY_PIECE * 8u, (uint64_t)&t->words, words,
			RACE_HISTORY_BLOCK_OF(DEV_WORD));
}

/* The block of words of the piece that an address lies in; 0: it has none. */
DEV_FN uint64_t dev_block_at(uint64_t at)
{
	uint64_t directory, block = RACE_HISTORY_FULL;

	FIELD(directory, 64);
	if (!(at >> RACE_HISTORY_ADDRESS_BITS)) {
		block = dev_load64(directory + at / RACE_HISTORY_PIECE * 8u);
		if (block <= RACE_HISTORY_FULL)
			block = DEV_BLOCK_OF(at);
	}
	return block > RACE_HISTORY_FULL ? block : 0;
}

/* The words of bytes of this address, in the block's page; 0: none. */
DEV_FN uint64_t dev_bytes(uint64_t at, uint64_t block, bool is_store)
{
	uint64_t pages, words, first, page, entry;

	FIELD(pages, 88);
	FIELD(words, 72);
	FIELD(first, 96);
	if (pages == 0)
		return 0;
	entry = pages + ((block - words) / RACE_HISTORY_BLOCK_OF(DEV_WORD) * RACE_HISTORY_PAGES +
			 at % RACE_HISTORY_PIECE / RACE_HISTORY_PAGE) *
				8u;
	page = dev_load64(entry);
	if (page <= RACE_HISTORY_FULL && is_store)
		page = DEV_TAKE(entry, (uint64_t)&dev_head()->bytes, first,
				RACE_HISTORY_PAGE_OF(DEV_WORD));
	return page > RACE_HISTORY_FULL ? page + at % RACE_HISTORY_PAGE * DEV_WORD : 0;
}

#endif
