/*
 * guard.h - the bits of iGUARD's metadata: the one place that knows where a field lies.
 *
 * iGUARD (SOSP'21, section 6.1, Figure 4) keeps 16 bytes for each 4 of memory: who wrote last and
 * who accessed last, each with thread, block, scope, counters of fences and barriers, and a summary
 * of the locks held. The published 16 bytes are full before a site number is in, and their counters
 * have 6 to 8 bits. Here the 16 bytes are two words of this form:
 *
 *	bits  0 to  1	extent		enum guard_extent: one access, or some of a warp, block,
 *	grid
 *	bits  2 to  3	behind		enum guard_behind: an older weak access comes before them
 *	bit   4		strong		the accesses are strong (else weak)
 *	bit   5		cta		one of the strong ones has scope .cta
 *	bits  6 to 17	site		number of the access in its module, plus 1; 0: not known
 *	bits 18 to 35	context		1 to 262,143: what the accessor has synchronised; 0: nobody
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
 *	bits 38 to 42	block stamp	releases of any scope (guard/stamps.h); 31: 31 or more
 *	bits 43 to 47	device stamp	releases of a scope wider than .cta; 31: 31 or more
 *	bits 48 to 63	locks		held by the thread (guard/locks.h): two bits for each
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
 * Zeroed memory is a location that nobody has accessed. A context of another launch counts as
 * nobody's. Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_RACE_GUARD_H
#define COLLIDER_RACE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "race/record.h"
#include "race/shadow.h"

/* ---- a location -------------------------------------------------------------------------- */

struct guard_entry {
	uint64_t writer, accessor;
};
#define GUARD_ENTRY_BYTES 16u

enum guard_extent { GUARD_ONE, GUARD_OF_WARP, GUARD_OF_BLOCK, GUARD_OF_GRID };

/*
 * Strong accesses don't race with each other, but with weak ones. So an older weak access that is
 * ordered before the strong ones must not be forgotten: by program order, its warp's barrier, its
 * block's. MIXED (of reads, without `strong`): weak and strong ones that nothing orders.
 */
enum guard_behind { GUARD_PURE, GUARD_BEHIND_SELF, GUARD_BEHIND_WARP, GUARD_BEHIND_BLOCK };
#define GUARD_MIXED GUARD_BEHIND_SELF

#define GUARD_EXTENT_AT	   0u
#define GUARD_BEHIND_AT	   2u
#define GUARD_STRONG	   (1u << 4)
#define GUARD_CTA	   (1u << 5)
#define GUARD_SITE_AT	   6u
#define GUARD_SITE_BITS	   12u
#define GUARD_CONTEXT_AT   18u
#define GUARD_CONTEXT_BITS 18u
#define GUARD_THREAD_AT	   36u
#define GUARD_THREAD_BITS  28u

#define GUARD_SITE_LAST	   ((1u << GUARD_SITE_BITS) - 2u)
#define GUARD_CONTEXTS	   (1u << GUARD_CONTEXT_BITS)
#define GUARD_THREAD_LAST  ((1u << GUARD_THREAD_BITS) - 1u)
#define GUARD_CONTEXT_MASK ((uint64_t)(GUARD_CONTEXTS - 1u) << GUARD_CONTEXT_AT)

RACE_STATIC_ASSERT(sizeof(struct guard_entry) == GUARD_ENTRY_BYTES, "16 bytes a location");
RACE_STATIC_ASSERT(GUARD_SITE_AT + GUARD_SITE_BITS == GUARD_CONTEXT_AT, "no gap");
RACE_STATIC_ASSERT(GUARD_CONTEXT_AT + GUARD_CONTEXT_BITS == GUARD_THREAD_AT, "no gap");
RACE_STATIC_ASSERT(GUARD_THREAD_AT + GUARD_THREAD_BITS == 64, "a word is 8 bytes");

/* A word, taken apart. */
struct guard_word {
	uint32_t extent, behind;
	bool is_strong, has_cta;
	uint32_t site; /* plus 1 */
	uint32_t context, thread;
};

RACE_FN uint64_t guard_encode(struct guard_word w)
{
	uint64_t site = w.site <= GUARD_SITE_LAST + 1u ? w.site : 0;

	return (uint64_t)w.thread << GUARD_THREAD_AT | (uint64_t)w.context << GUARD_CONTEXT_AT |
	       site << GUARD_SITE_AT | (w.has_cta ? GUARD_CTA : 0u) |
	       (w.is_strong ? GUARD_STRONG : 0u) | w.behind << GUARD_BEHIND_AT | w.extent;
}

RACE_FN struct guard_word guard_decode(uint64_t word)
{
	struct guard_word w;

	w.extent = (uint32_t)word & 3u;
	w.behind = (uint32_t)word >> GUARD_BEHIND_AT & 3u;
	w.is_strong = (word & GUARD_STRONG) != 0;
	w.has_cta = (word & GUARD_CTA) != 0;
	w.site = (uint32_t)(word >> GUARD_SITE_AT) & ((1u << GUARD_SITE_BITS) - 1u);
	w.context = (uint32_t)(word >> GUARD_CONTEXT_AT) & (GUARD_CONTEXTS - 1u);
	w.thread = (uint32_t)(word >> GUARD_THREAD_AT);
	return w;
}

/* ---- a context --------------------------------------------------------------------------- */

#define GUARD_LAUNCH_BITS      10u
#define GUARD_BLOCK_CLOCK_AT   10u
#define GUARD_BLOCK_CLOCK_BITS 18u
#define GUARD_WARP_CLOCK_AT    28u
#define GUARD_WARP_CLOCK_BITS  10u
#define GUARD_BLOCK_STAMP_AT   38u
#define GUARD_DEVICE_STAMP_AT  43u
#define GUARD_STAMP_BITS       5u
#define GUARD_LOCKS_AT	       48u
#define GUARD_LOCKS_BITS       16u

#define GUARD_LAUNCH_LAST      ((1u << GUARD_LAUNCH_BITS) - 1u)
#define GUARD_BLOCK_CLOCK_LAST ((1u << GUARD_BLOCK_CLOCK_BITS) - 1u)
#define GUARD_WARP_CLOCK_LAST  ((1u << GUARD_WARP_CLOCK_BITS) - 1u)
#define GUARD_STAMP_FULL       ((1u << GUARD_STAMP_BITS) - 1u)

RACE_STATIC_ASSERT(GUARD_LAUNCH_LAST == RACE_HISTORY_LAUNCHES, "a place in the table of launches");
RACE_STATIC_ASSERT(GUARD_LAUNCH_BITS == GUARD_BLOCK_CLOCK_AT, "no gap");
RACE_STATIC_ASSERT(GUARD_BLOCK_CLOCK_AT + GUARD_BLOCK_CLOCK_BITS == GUARD_WARP_CLOCK_AT, "no gap");
RACE_STATIC_ASSERT(GUARD_WARP_CLOCK_AT + GUARD_WARP_CLOCK_BITS == GUARD_BLOCK_STAMP_AT, "no gap");
RACE_STATIC_ASSERT(GUARD_BLOCK_STAMP_AT + GUARD_STAMP_BITS == GUARD_DEVICE_STAMP_AT, "no gap");
RACE_STATIC_ASSERT(GUARD_DEVICE_STAMP_AT + GUARD_STAMP_BITS == GUARD_LOCKS_AT, "no gap");
RACE_STATIC_ASSERT(GUARD_LOCKS_AT + GUARD_LOCKS_BITS == 64, "a context is 8 bytes");

struct guard_context {
	uint32_t launch, block_clock, warp_clock;
	uint32_t block_stamp, device_stamp;
	uint32_t locks;
};

/* 0: a clock doesn't fit, the thread steps aside. */
RACE_FN uint64_t guard_context_encode(struct guard_context c)
{
	uint64_t block = c.block_stamp < GUARD_STAMP_FULL ? c.block_stamp : GUARD_STAMP_FULL;
	uint64_t device = c.device_stamp < GUARD_STAMP_FULL ? c.device_stamp : GUARD_STAMP_FULL;

	if (c.block_clock > GUARD_BLOCK_CLOCK_LAST || c.warp_clock > GUARD_WARP_CLOCK_LAST)
		return 0;
	return (uint64_t)c.locks << GUARD_LOCKS_AT | device << GUARD_DEVICE_STAMP_AT |
	       block << GUARD_BLOCK_STAMP_AT | (uint64_t)c.warp_clock << GUARD_WARP_CLOCK_AT |
	       (uint64_t)c.block_clock << GUARD_BLOCK_CLOCK_AT | c.launch;
}

RACE_FN struct guard_context guard_context_decode(uint64_t v)
{
	struct guard_context c;

	c.launch = (uint32_t)v & GUARD_LAUNCH_LAST;
	c.block_clock = (uint32_t)(v >> GUARD_BLOCK_CLOCK_AT) & GUARD_BLOCK_CLOCK_LAST;
	c.warp_clock = (uint32_t)(v >> GUARD_WARP_CLOCK_AT) & GUARD_WARP_CLOCK_LAST;
	c.block_stamp = (uint32_t)(v >> GUARD_BLOCK_STAMP_AT) & GUARD_STAMP_FULL;
	c.device_stamp = (uint32_t)(v >> GUARD_DEVICE_STAMP_AT) & GUARD_STAMP_FULL;
	c.locks = (uint32_t)(v >> GUARD_LOCKS_AT);
	return c;
}

/* ---- the detector ------------------------------------------------------------------------ */

/*
 * Detector `iguard` between host and device. Where the entries are is said as for hirace's words
 * (race/shadow.h): the same runtime block, directory and pools, with blocks of entries that are
 * twice as large. Nothing lies beside an entry. Kernels that access bytes or halfwords use the
 * entries of bytes for all their accesses: pairs of two launches aren't judged, so the two kinds
 * never meet. Launches are known as there.
 */
#define RACE_GUARD_SYMBOL "__collider_guard"

/* race_history.modes: how the detector works. The first two are the paper's (6.4, 6.5). */
#define RACE_GUARD_MODE_ALONE 1u /* each lane looks at its entry itself: no coalescing */
#define RACE_GUARD_MODE_EAGER 2u /* a swap that failed is tried again at once: no back-off */
/* Table 2 to the letter (guard/published.h). Its entries have no launch: the host sweeps before
 * each. */
#define RACE_GUARD_MODE_PUBLISHED 4u

#define RACE_GUARD_SIDES  (1u << 16)
#define RACE_GUARD_BLOCKS (1u << 16)

/* struct guard_side of a location (guard/stamps.h), by hash, the launch that wrote it, and the one
 * in which a lock there was given back bare (guard/locks.h). */
struct race_guard_side {
	uint32_t stamp[10];
	uint32_t launch, bare;
};

/* What the threads of a block have joined: struct guard_stamps; locks by number of the barrier. */
struct race_guard_block {
	uint32_t stamp[24];
	uint32_t locks[4];
	uint32_t reserved[4];
};

/* What the host clears when nothing runs ends where `contexts` begins; a sweep clears all. */
struct race_guard_tables {
	RACE_HISTORY_HEAD;
	struct race_guard_side sides[RACE_GUARD_SIDES];
	struct race_guard_block blocks[RACE_GUARD_BLOCKS];
	uint64_t contexts_of[1u << 18];
	uint64_t nows[1u << 17];
};

/* What a check is given in one word, as in race/shadow.h: the site, the access, and by words of 4
 * bytes from the address which are certainly accessed, and which perhaps. */
#define RACE_GUARD_SITE(w)   ((uint32_t)(w)&0xffffffu)
#define RACE_GUARD_WRITES    (1u << 24)
#define RACE_GUARD_STRONG    (1u << 25)
#define RACE_GUARD_CTA	     (1u << 26) /* strong, of scope .cta */
#define RACE_GUARD_BYTES     (1u << 27) /* this kernel's entries are those of bytes */
#define RACE_GUARD_VOLATILE  (1u << 30) /* strong only in that: the published rules don't know it */
#define RACE_GUARD_NARROW(w) ((uint32_t)(w) >> 28 & 3u) /* bytes, if fewer than 4; or 0 */
#define RACE_GUARD_NARROW_AT 28u
#define RACE_GUARD_SURE(w)   ((uint32_t)((w) >> 32) & 0xffu)
#define RACE_GUARD_SURE_AT   32u
#define RACE_GUARD_MAYBE(w)  ((uint32_t)((w) >> 40) & 0xffu)
#define RACE_GUARD_MAYBE_AT  40u
/* Which of them a lane accesses for all lanes that are with it; __collider_guard_step says so. */
#define RACE_GUARD_FOR_ALL(w) ((uint32_t)((w) >> 48) & 0xffu)
#define RACE_GUARD_FOR_ALL_AT 48u

/*
 * A thread's number and context are one word in a register: the word that its next access leaves,
 * with the bits of extent used otherwise. Context 0: it steps aside.
 */
#define RACE_GUARD_UNSURE      1u   /* all that it finds is only possible */
#define RACE_GUARD_ORDERS      2u   /* the kernel has fences, acquires, releases, strong reads */
#define RACE_GUARD_STATE_BYTES 160u /* of a thread, in its own memory */
#define RACE_GUARD_LANES       4u   /* masks may be partial: lanes have rows (layout/lanes.h) */
/* Nothing orders its threads but barriers of the block: two contexts of a block differ by these,
 * and a context says all that there is to know of a thread, which has no state beside it. */
#define RACE_GUARD_PLAIN 64u

/*
 * How far a word's members may be from a thread so that it is one of them: shifts of the upper half
 * of the difference of two words, a byte for each extent; 32 and more: anywhere. Do they know who
 * is of another block?
 */
#define RACE_GUARD_SPANS(one, warp, block, knows)                                                  \
	((uint32_t)(one) | (uint32_t)(warp) << 8 | (uint32_t)(block) << 16 |                       \
	 ((knows) ? 32u : 33u) << 24)
#define RACE_GUARD_SPANS_UNKNOWN     (1u << 24)
#define RACE_GUARD_SPANS_KNOW(spans) (((spans)&RACE_GUARD_SPANS_UNKNOWN) == 0)

/* What an operation that synchronises does: bits of the argument of __collider_guard_sync. */
#define RACE_GUARD_SYNC_FENCE	1u
#define RACE_GUARD_SYNC_RELEASE 2u
#define RACE_GUARD_SYNC_WRITE	4u /* a strong write is next */
#define RACE_GUARD_SYNC_READ	8u /* a strong read was just made */
#define RACE_GUARD_SYNC_ACQUIRE 16u
#define RACE_GUARD_SYNC_SYSTEM	32u  /* its scope is .sys, or it is volatile */
#define RACE_GUARD_SYNC_WIDE	64u  /* its scope is wider than .cta */
#define RACE_GUARD_SYNC_LOCK	128u /* it may take a lock: nothing is given back before it */
#define RACE_GUARD_SYNC_SWAP	256u /* an exchange: 0 may mean free, or taken */
/* A sum whose result is used may draw a ticket; a strong read may see its turn. */
#define RACE_GUARD_SYNC_DRAW  512u
#define RACE_GUARD_SYNC_LOOK  1024u
#define RACE_GUARD_SYNC_PLACE 2048u /* the value chooses a place: it is no flag */
/* From bit 16 on: 4 bits, the words of a strong read; from bit 21: 3 bits, the logarithm of an
 * element's bytes; 4 bits, the elements. */
#define RACE_GUARD_SYNC_WORDS(op)		  ((op) >> 16 & 15u)
#define RACE_GUARD_SYNC_WIDTH(op)		  (1u << ((op) >> 21 & 7u))
#define RACE_GUARD_SYNC_ELEMS(op)		  ((op) >> 24 & 15u)
#define RACE_GUARD_SYNC_SHAPE(words, log2, elems) ((words) << 16 | (log2) << 21 | (elems) << 24)

/* What a kernel without a table asks scratch for (device/scratch.h). */
#define RACE_GUARD_SCRATCH_BYTES 1u /* it accesses bytes */
#define RACE_GUARD_SCRATCH_TAKE	 2u
#define RACE_GUARD_SCRATCH_FIND	 4u
#define RACE_GUARD_SCRATCH_GIVE	 8u

/*
 * The earlier of the two sides, in a record with RACE_REC_TWO_SIDES:
 *
 *	was[0]	the word that the verdict is about
 *	was[1]	that of this thread
 *	now[0]	the earlier access's site + 1 (0: not known)
 *	now[1]	the block's shape: x, y << 16, z << 32
 */
RACE_STATIC_ASSERT(sizeof(struct race_guard_side) == 48, "side layout");
RACE_STATIC_ASSERT(sizeof(struct race_guard_block) == 128, "block layout");
RACE_STATIC_ASSERT(offsetof(struct race_guard_tables, contexts_of) % 4096 == 0, "whole pages");
RACE_STATIC_ASSERT(sizeof(struct race_guard_tables) % 4096 == 0, "whole pages");

#endif
