/*
 * iguard.h - the bits of iGUARD's metadata: the one place that knows where a field lies.
 *
 * iGUARD (SOSP'21, section 6.1, Figure 4) keeps 16 bytes for each 4 of memory: who wrote last and
 * who accessed last, each with thread, block, scope, counters of fences and barriers, and a summary
 * of the locks held. The published 16 bytes are full before a site number is in, and their counters
 * have 6 to 8 bits. Here the 16 bytes are two words of this form:
 *
 *	bits  0 to  1	extent		enum iguard_extent: one access, or some of a warp and so on
 *	bits  2 to  3	after		enum iguard_after: an older weak access comes before them
 *	bit   4		strong		the accesses are strong (else weak)
 *	bit   5		cta		one of the strong ones has scope .cta
 *	bits  6 to 17	site		number of the access in its module, plus 1; 0: not known
 *	bits 18 to 35	context		1 to 262,143: what the accessor has synchronised; 0: none
 *	bits 36 to 63	thread		number in the grid
 *
 * `writer` is about the last write; `accessor` about reads since then (the paper's last accessor is
 * the one of the two that came later). Threads of one warp, block or launch that have passed the
 * same barriers have the same counters, so a word names a *context*, an entry of a table of 2 MiB
 * (the paper's synchronisation metadata have as much), where equal ones are stored once:
 *
 *	bits  0 to  9	launch		1 to 1,023; 0: the entry is free
 *	bits 10 to 27	block clock	__syncthreads of the block so far
 *	bits 28 to 37	warp clock	full __syncwarps of the warp since the block's last barrier
 *	bits 38 to 42	block stamp	releases of any scope (iguard/stamps.h); 31: 31 or more
 *	bits 43 to 47	device stamp	releases of a scope wider than .cta; 31: 31 or more
 *	bits 48 to 63	locks		held by the thread (iguard/locks.h): two bits for each
 *
 * No field may give a report by being full or by wrapping:
 *
 *  - stamps stop at 31, which is never more than the true number: fewer pairs are certain;
 *  - a thread whose number, block clock or warp clock doesn't fit, or for whose context the table
 *    has no room, *steps aside*: it neither checks nor stores, and is counted. A full warp clock
 *    begins again after the block's next barrier;
 *  - a site beyond 4,094 is stored as not known: the report then lacks the earlier line;
 *  - launches beyond 1,023, and contexts beyond 262,143, wait for a sweep (all set to 0).
 *
 * Zeroed memory is a location without accesses. A context of another launch counts as
 * none. Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_RACE_LAYOUT_IGUARD_H
#define COLLIDER_RACE_LAYOUT_IGUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "race/record.h"
#include "race/layout/history.h"

/* ---- a location -------------------------------------------------------------------------- */

struct iguard_entry {
	uint64_t writer, accessor;
};
#define IGUARD_ENTRY_BYTES 16u

enum iguard_extent { IGUARD_ONE, IGUARD_OF_WARP, IGUARD_OF_BLOCK, IGUARD_OF_GRID };

/*
 * Strong accesses don't race with each other, but with weak ones. So an older weak access that is
 * ordered before the strong ones must not be forgotten: by program order, its warp's barrier, its
 * block's. MIXED (of reads, without `strong`): weak and strong ones that nothing orders.
 */
enum iguard_after { IGUARD_PURE, IGUARD_AFTER_SELF, IGUARD_AFTER_WARP, IGUARD_AFTER_BLOCK };
#define IGUARD_MIXED IGUARD_AFTER_SELF

#define IGUARD_AFTER_AT	    2u
#define IGUARD_STRONG	    (1u << 4)
#define IGUARD_CTA	    (1u << 5)
#define IGUARD_SITE_AT	    6u
#define IGUARD_SITE_BITS    12u
#define IGUARD_CONTEXT_AT   18u
#define IGUARD_CONTEXT_BITS 18u
#define IGUARD_THREAD_AT    36u
#define IGUARD_THREAD_BITS  28u

#define IGUARD_SITE_LAST    ((1u << IGUARD_SITE_BITS) - 2u)
#define IGUARD_CONTEXTS	    (1u << IGUARD_CONTEXT_BITS)
#define IGUARD_THREAD_LAST  ((1u << IGUARD_THREAD_BITS) - 1u)
#define IGUARD_CONTEXT_MASK ((uint64_t)(IGUARD_CONTEXTS - 1u) << IGUARD_CONTEXT_AT)

RACE_STATIC_ASSERT(sizeof(struct iguard_entry) == IGUARD_ENTRY_BYTES, "16 bytes a location");
RACE_STATIC_ASSERT(IGUARD_SITE_AT + IGUARD_SITE_BITS == IGUARD_CONTEXT_AT, "no gap");
RACE_STATIC_ASSERT(IGUARD_CONTEXT_AT + IGUARD_CONTEXT_BITS == IGUARD_THREAD_AT, "no gap");
RACE_STATIC_ASSERT(IGUARD_THREAD_AT + IGUARD_THREAD_BITS == 64, "a word is 8 bytes");

/* A word, taken apart. */
struct iguard_word {
	uint32_t extent, after;
	bool is_strong, has_cta;
	uint32_t site; /* plus 1 */
	uint32_t context, thread;
};

RACE_FN uint64_t iguard_encode(struct iguard_word w)
{
	uint64_t site = w.site <= IGUARD_SITE_LAST + 1u ? w.site : 0;

	return (uint64_t)w.thread << IGUARD_THREAD_AT | (uint64_t)w.context << IGUARD_CONTEXT_AT |
	       site << IGUARD_SITE_AT | (w.has_cta ? IGUARD_CTA : 0u) |
	       (w.is_strong ? IGUARD_STRONG : 0u) | w.after << IGUARD_AFTER_AT | w.extent;
}

RACE_FN struct iguard_word iguard_decode(uint64_t word)
{
	struct iguard_word w;

	w.extent = (uint32_t)word & 3u;
	w.after = (uint32_t)word >> IGUARD_AFTER_AT & 3u;
	w.is_strong = (word & IGUARD_STRONG) != 0;
	w.has_cta = (word & IGUARD_CTA) != 0;
	w.site = (uint32_t)(word >> IGUARD_SITE_AT) & ((1u << IGUARD_SITE_BITS) - 1u);
	w.context = (uint32_t)(word >> IGUARD_CONTEXT_AT) & (IGUARD_CONTEXTS - 1u);
	w.thread = (uint32_t)(word >> IGUARD_THREAD_AT);
	return w;
}

/* ---- a context --------------------------------------------------------------------------- */

#define IGUARD_LAUNCH_BITS	10u
#define IGUARD_BLOCK_CLOCK_AT	10u
#define IGUARD_BLOCK_CLOCK_BITS 18u
#define IGUARD_WARP_CLOCK_AT	28u
#define IGUARD_WARP_CLOCK_BITS	10u
#define IGUARD_BLOCK_STAMP_AT	38u
#define IGUARD_DEVICE_STAMP_AT	43u
#define IGUARD_STAMP_BITS	5u
#define IGUARD_LOCKS_AT		48u
#define IGUARD_LOCKS_BITS	16u

#define IGUARD_LAUNCH_LAST	((1u << IGUARD_LAUNCH_BITS) - 1u)
#define IGUARD_BLOCK_CLOCK_LAST ((1u << IGUARD_BLOCK_CLOCK_BITS) - 1u)
#define IGUARD_WARP_CLOCK_LAST	((1u << IGUARD_WARP_CLOCK_BITS) - 1u)
#define IGUARD_STAMP_FULL	((1u << IGUARD_STAMP_BITS) - 1u)

RACE_STATIC_ASSERT(IGUARD_LAUNCH_LAST == RACE_HISTORY_LAUNCHES, "a place in the table of launches");
RACE_STATIC_ASSERT(IGUARD_LAUNCH_BITS == IGUARD_BLOCK_CLOCK_AT, "no gap");
RACE_STATIC_ASSERT(IGUARD_BLOCK_CLOCK_AT + IGUARD_BLOCK_CLOCK_BITS == IGUARD_WARP_CLOCK_AT,
		   "no gap");
RACE_STATIC_ASSERT(IGUARD_WARP_CLOCK_AT + IGUARD_WARP_CLOCK_BITS == IGUARD_BLOCK_STAMP_AT,
		   "no gap");
RACE_STATIC_ASSERT(IGUARD_BLOCK_STAMP_AT + IGUARD_STAMP_BITS == IGUARD_DEVICE_STAMP_AT, "no gap");
RACE_STATIC_ASSERT(IGUARD_DEVICE_STAMP_AT + IGUARD_STAMP_BITS == IGUARD_LOCKS_AT, "no gap");
RACE_STATIC_ASSERT(IGUARD_LOCKS_AT + IGUARD_LOCKS_BITS == 64, "a context is 8 bytes");

struct iguard_context {
	uint32_t launch, block_clock, warp_clock;
	uint32_t block_stamp, device_stamp;
	uint32_t locks;
};

/* 0: a clock doesn't fit, the thread steps aside. */
RACE_FN uint64_t iguard_context_encode(struct iguard_context c)
{
	uint64_t block = c.block_stamp < IGUARD_STAMP_FULL ? c.block_stamp : IGUARD_STAMP_FULL;
	uint64_t device = c.device_stamp < IGUARD_STAMP_FULL ? c.device_stamp : IGUARD_STAMP_FULL;

	if (c.block_clock > IGUARD_BLOCK_CLOCK_LAST || c.warp_clock > IGUARD_WARP_CLOCK_LAST)
		return 0;
	return (uint64_t)c.locks << IGUARD_LOCKS_AT | device << IGUARD_DEVICE_STAMP_AT |
	       block << IGUARD_BLOCK_STAMP_AT | (uint64_t)c.warp_clock << IGUARD_WARP_CLOCK_AT |
	       (uint64_t)c.block_clock << IGUARD_BLOCK_CLOCK_AT | c.launch;
}

RACE_FN struct iguard_context iguard_context_decode(uint64_t v)
{
	struct iguard_context c;

	c.launch = (uint32_t)v & IGUARD_LAUNCH_LAST;
	c.block_clock = (uint32_t)(v >> IGUARD_BLOCK_CLOCK_AT) & IGUARD_BLOCK_CLOCK_LAST;
	c.warp_clock = (uint32_t)(v >> IGUARD_WARP_CLOCK_AT) & IGUARD_WARP_CLOCK_LAST;
	c.block_stamp = (uint32_t)(v >> IGUARD_BLOCK_STAMP_AT) & IGUARD_STAMP_FULL;
	c.device_stamp = (uint32_t)(v >> IGUARD_DEVICE_STAMP_AT) & IGUARD_STAMP_FULL;
	c.locks = (uint32_t)(v >> IGUARD_LOCKS_AT);
	return c;
}

/* ---- the detector ------------------------------------------------------------------------ */

/*
 * Detector `iguard` between host and device. Where the entries are is said as for hirace's words
 * (race/layout/history.h): the same runtime block, directory and pools, with blocks of entries that
 * are twice as large. Nothing lies beside an entry. Kernels that access bytes or halfwords use the
 * entries of bytes for all their accesses: pairs of two launches aren't judged, so the two kinds
 * never meet. Launches are known as there.
 */
#define RACE_IGUARD_SYMBOL "__collider_iguard"

/* race_history.modes: how the detector works. The first two are the paper's (6.4, 6.5). */
#define RACE_IGUARD_MODE_ALONE 1u /* each lane looks at its entry itself: no coalescing */
#define RACE_IGUARD_MODE_EAGER 2u /* a swap that failed is tried again at once: no back-off */
/* Table 2 to the letter (iguard/published.h). Its entries have no launch: the host sweeps before
 * each. */
#define RACE_IGUARD_MODE_PUBLISHED 4u

#define RACE_IGUARD_SIDES  (1u << 16)
#define RACE_IGUARD_BLOCKS (1u << 16)

/* struct iguard_side of a location (iguard/stamps.h), by hash, the launch that wrote it, and the
 * one in which a lock there was given back bare (iguard/locks.h). */
struct race_iguard_side {
	uint32_t stamp[10];
	uint32_t launch, bare;
};

/* What the threads of a block have joined: struct iguard_stamps; locks by number of the barrier. */
struct race_iguard_block {
	uint32_t stamp[24];
	uint32_t locks[4];
	uint32_t reserved[4];
};

/* What the host clears when nothing runs ends where `contexts` begins; a sweep clears all. */
struct race_iguard_tables {
	RACE_HISTORY_HEAD;
	struct race_iguard_side sides[RACE_IGUARD_SIDES];
	struct race_iguard_block blocks[RACE_IGUARD_BLOCKS];
	uint64_t contexts_of[1u << 18];
	uint64_t nows[1u << 17];
};

/* What a check is given in one word, as in race/layout/history.h: the site, the access, and by
 * words of 4 bytes from the address which are certainly accessed, and which perhaps. */
#define RACE_IGUARD_SITE(w) ((uint32_t)(w)&0xffffffu)
#define RACE_IGUARD_WRITES  (1u << 24)
#define RACE_IGUARD_STRONG  (1u << 25)
#define RACE_IGUARD_CTA	    (1u << 26) /* strong, of scope .cta */
#define RACE_IGUARD_BYTES   (1u << 27) /* this kernel's entries are those of bytes */
#define RACE_IGUARD_VOLATILE                                                                       \
	(1u << 30)			 /* strong only in that: the published rules don't know
					  * it */
#define RACE_IGUARD_LOCKSTEP  (1u << 31) /* a volatile load that may count on lockstep */
#define RACE_IGUARD_NARROW(w) ((uint32_t)(w) >> 28 & 3u) /* bytes, if fewer than 4; or 0 */
#define RACE_IGUARD_NARROW_AT 28u
#define RACE_IGUARD_SURE(w)   ((uint32_t)((w) >> 32) & 0xffu)
#define RACE_IGUARD_SURE_AT   32u
#define RACE_IGUARD_MAYBE(w)  ((uint32_t)((w) >> 40) & 0xffu)
#define RACE_IGUARD_MAYBE_AT  40u
/* Which of them a lane accesses for all lanes that are with it; __collider_iguard_step says so. */
#define RACE_IGUARD_FOR_ALL(w) ((uint32_t)((w) >> 48) & 0xffu)
#define RACE_IGUARD_FOR_ALL_AT 48u

/*
 * A thread's number and context are one word in a register: the word that its next access leaves,
 * with the bits of extent used otherwise. Context 0: it steps aside.
 */
#define RACE_IGUARD_UNSURE	1u   /* all that it finds is only possible */
#define RACE_IGUARD_ORDERS	2u   /* the kernel has fences, acquires, releases, strong reads */
#define RACE_IGUARD_STATE_BYTES 160u /* of a thread, in its own memory */
#define RACE_IGUARD_LANES	4u   /* masks may be partial: lanes have rows (layout/lanes.h) */
#define RACE_IGUARD_EXITS	8u   /* threads may leave it before a barrier that others wait at */
/* Nothing orders its threads but barriers of the block: two contexts of a block differ by these,
 * and a context says all that there is to know of a thread, which has no state beside it. */
#define RACE_IGUARD_PLAIN 64u

/*
 * How far a word's members may be from a thread so that it is one of them: shifts of the upper half
 * of the difference of two words, a byte for each extent; 32 and more: anywhere. Do they know who
 * is of another block?
 */
#define RACE_IGUARD_SPANS(one, warp, block, knows)                                                 \
	((uint32_t)(one) | (uint32_t)(warp) << 8 | (uint32_t)(block) << 16 |                       \
	 ((knows) ? 32u : 33u) << 24)
#define RACE_IGUARD_SPANS_UNKNOWN     (1u << 24)
#define RACE_IGUARD_SPANS_KNOW(spans) (((spans)&RACE_IGUARD_SPANS_UNKNOWN) == 0)

/* What an operation that synchronises does: bits of the argument of __collider_iguard_sync. */
#define RACE_IGUARD_SYNC_FENCE	 1u
#define RACE_IGUARD_SYNC_RELEASE 2u
#define RACE_IGUARD_SYNC_WRITE	 4u /* a strong write is next */
#define RACE_IGUARD_SYNC_READ	 8u /* a strong read was just made */
#define RACE_IGUARD_SYNC_ACQUIRE 16u
#define RACE_IGUARD_SYNC_SYSTEM	 32u  /* its scope is .sys, or it is volatile */
#define RACE_IGUARD_SYNC_WIDE	 64u  /* its scope is wider than .cta */
#define RACE_IGUARD_SYNC_LOCK	 128u /* it may take a lock: nothing is given back before it */
#define RACE_IGUARD_SYNC_SWAP	 256u /* an exchange: 0 may mean free, or taken */
/* A sum whose result is used may draw a ticket; a strong read may see its turn. */
#define RACE_IGUARD_SYNC_DRAW  512u
#define RACE_IGUARD_SYNC_LOOK  1024u
#define RACE_IGUARD_SYNC_PLACE 2048u /* the value chooses a place: it is no flag */
/* From bit 16 on: 4 bits, the words of a strong read; from bit 21: 3 bits, the logarithm of an
 * element's bytes; 4 bits, the elements. */
#define RACE_IGUARD_SYNC_WORDS(op)		   ((op) >> 16 & 15u)
#define RACE_IGUARD_SYNC_WIDTH(op)		   (1u << ((op) >> 21 & 7u))
#define RACE_IGUARD_SYNC_ELEMS(op)		   ((op) >> 24 & 15u)
#define RACE_IGUARD_SYNC_SHAPE(words, log2, elems) ((words) << 16 | (log2) << 21 | (elems) << 24)

/* What a kernel without a table asks scratch for (device/scratch.h). */
#define RACE_IGUARD_SCRATCH_BYTES 1u /* it accesses bytes */
#define RACE_IGUARD_SCRATCH_TAKE  2u
#define RACE_IGUARD_SCRATCH_FIND  4u
#define RACE_IGUARD_SCRATCH_GIVE  8u

/*
 * The earlier of the two sides, in a record with RACE_REC_TWO_SIDES:
 *
 *	was[0]	the word that the verdict is about
 *	was[1]	that of this thread
 *	now[0]	the earlier access's site + 1 (0: not known)
 *	now[1]	the block's shape: x, y << 16, z << 32
 */
RACE_STATIC_ASSERT(sizeof(struct race_iguard_side) == 48, "side layout");
RACE_STATIC_ASSERT(sizeof(struct race_iguard_block) == 128, "block layout");
RACE_STATIC_ASSERT(offsetof(struct race_iguard_tables, contexts_of) % 4096 == 0, "whole pages");
RACE_STATIC_ASSERT(sizeof(struct race_iguard_tables) % 4096 == 0, "whole pages");

#endif
