/*
 * record.h - what the GPU writes when it detects a race, and where.
 *
 * Shared by host C and CUDA C (freestanding: fixed-size integers only). One
 * runtime block per CUDA context lies in device memory (struct race_rt, at most
 * 2 MiB); the first record of each (site, kind) goes to a slot of a host-mapped
 * region (struct race_region) of the shared file that `collider run` owns, so
 * it survives any death of the program. Slot i of the device table and record i
 * of the region belong together.
 */
#ifndef COLLIDER_RACE_RECORD_H
#define COLLIDER_RACE_RECORD_H

#ifndef __CUDACC_RTC__
#include <stdint.h>
#endif

/* What a check found. The order is that of certainty in reports. */
enum race_kind {
	RACE_KIND_NONE = 0,
#define KIND(id, number, ...) RACE_KIND_##id = number,
#include "race/kinds.def"
	RACE_KIND_COUNT
};

#define RACE_SLOTS	  4096u	       /* (site, kind) pairs per context */
#define RACE_MUTE_COUNT	  (1ull << 20) /* a slot stops counting here */
#define RACE_COUNTERS	  256u	       /* spread of the hot counters, by SM */
#define RACE_COVER	  (1u << 17)   /* places of groups in a coverage map */
#define RACE_RECORD_VALID 0x52414345u  /* "RACE", written last */
#define RACE_WATCH_SLOTS  (1u << 16)   /* watchpoints of a table (layout/watch.h) */
#define RACE_CONTEXTS	  64u	       /* of a process, by number */

/* race_record.flags */
#define RACE_REC_USED	   1u  /* speculated read: its value was really used later */
#define RACE_REC_GENERIC   2u  /* address is generic (else: of the site's space) */
#define RACE_REC_TWO_SIDES 4u  /* was and now describe the earlier access (history.h) */
#define RACE_REC_ONE_BLOCK 8u  /* a finding only if both sides are of one block (layout/watch.h) */
#define RACE_REC_ONE_OWNER 16u /* ... only if both accessed the memory of the same block */
#define RACE_REC_OF_WORD   32u /* hirace's, for iguard: was is a word, whatever the kind */
/* As RACE_REC_USED; alone in its byte, so that threads which didn't write the record may set it. */
#define RACE_REC_USED_LATER 0x100u

/*
 * What may order the two accesses of a pair that hirace or iguard leaves undecided: in `lanes` of
 * its record; COPY is the reader's. MAY(id, name in JSON, words after "what may order them:").
 */
#define RACE_MAYS(MAY)                                                                             \
	MAY(RELEASE, "release", "a fence, flag or lock by which the earlier thread released")      \
	MAY(OBSERVED, "observed", "the later thread has seen a strong write of this memory")       \
	MAY(STRONG_READ, "strong-read", "a strong load reads it: the write may be strong, too")    \
	MAY(MASK, "partial-mask", "a __syncwarp() of some lanes of the warp")                      \
	MAY(KERNEL, "kernel",                                                                      \
	    "an mbarrier, named barrier, cluster barrier or call in this kernel")                  \
	MAY(HOST, "host", "host code or kernels between the two")                                  \
	MAY(EARLIER, "earlier-pair", "what may order an earlier undecided pair of this memory")    \
	MAY(MIXED, "mixed-readers", "weak and strong loads are kept as one here")                  \
	MAY(COPY, "copies", "nothing has to, if they store equal copies of a tensor's element")

enum race_may {
	RACE_MAY_NOTHING,
#define RACE_MAY_ID(id, name, text) RACE_MAY_##id,
	RACE_MAYS(RACE_MAY_ID)
#undef RACE_MAY_ID
		RACE_MAY_COUNT
};

/* First sighting of one (site, kind). 128 bytes; strong stores only, `valid` last. */
struct race_record {
	uint64_t table;	  /* content hash of the module's site table */
	uint32_t site;	  /* index in that table */
	uint16_t kind;	  /* enum race_kind */
	uint16_t flags;	  /* RACE_REC_* */
	uint64_t address; /* of the first differing element */
	uint64_t was[2];  /* value loaded or stored (low, high 64 bits) */
	uint64_t now[2];  /* value found by the re-read */
	uint32_t lanes;	  /* intra-warp: the lanes that share the address; an enum race_may */
	uint32_t width;	  /* bytes of the element compared, or RACE_WIDTH_SUM */
	uint32_t thread[3];
	uint32_t block[3]; /* %ctaid, as the hardware numbers them */
	uint64_t count;	   /* occurrences, updated at each power of two */
	uint64_t grid;	   /* %gridid */
	/* What turns block[], the hardware's number, into the program's (blocks.h). */
	uint32_t grid_x, grid_yz; /* %nctaid; y in the low half */
	uint32_t cluster;	  /* %cluster_nctaid: x | y << 8 | z << 16 */
	uint32_t order;		  /* enum race_shuffle | that of waiting kernels << 8 */
	uint32_t sm;		  /* %smid; of detector watch more (layout/watch.h) */
	uint32_t valid;		  /* RACE_RECORD_VALID */
};

/* One slot of the device table. key 0 is free. */
struct race_slot {
	uint64_t key; /* race_slot_key(table, site, kind) */
	uint64_t count;
};

/* Hot counters: one line of 32 bytes per (%smid mod RACE_COUNTERS). */
struct race_counters {
	uint64_t checked;  /* dynamic accesses (per lane) that were re-read */
	uint64_t warp;	   /* stores (per lane) whose warp was compared */
	uint64_t launches; /* grids that started (counted by their first thread) */
	uint64_t watches;  /* watchpoints that were published */
};

/* Watchpoints in global memory. Contexts that can reach each other's memory share one of them; then
 * a thread finds the records of another context by its number. */
struct race_watch_table {
	uint64_t slot[RACE_WATCH_SLOTS]; /* layout/watch.h */
	uint64_t records[RACE_CONTEXTS]; /* as race_rt.records of each; 0: it is closed */
};

/* Runtime block in device memory, one per context, owned by the agent. */
struct race_rt {
	uint64_t records;    /* device address of the mapped struct race_record[RACE_SLOTS] */
	uint64_t overflow;   /* reports lost because no slot was free */
	uint64_t maps;	     /* device address of struct race_maps (box.h), or 0 */
	uint64_t unboxed;    /* tensor copies that went unchecked: map not known, box clipped */
	uint64_t watch_busy; /* watchpoints that found their slot taken */
	uint64_t watch_lost; /* hits whose other side had gone before it was noted */
	uint64_t looks;	     /* not 0: `checked` counts looks for watchpoints */
	uint64_t mirror;     /* device address of a struct race_mirror (layout/mirror.h), or 0 */
	struct race_counters counters[RACE_COUNTERS];
	struct race_slot slots[RACE_SLOTS];
	uint64_t left; /* threads that left an array of a proof (race/plain.h) */
	uint64_t unused;
	uint8_t cover[RACE_COVER];		 /* sample.h: 1 where a group was checked */
	uint32_t joined[RACE_SLOTS];		 /* detector watch: the record has its checker */
	struct race_watch_table watch;		 /* of this context, if it shares none */
	uint64_t watch_blocks[RACE_WATCH_SLOTS]; /* layout/watch.h, of shared memory */
};

/* Knobs of one instrumented module: the symbol RACE_KNOBS_SYMBOL, .const (or .global when
 * the program's constants leave no room), written by the agent when the module loads. */
struct race_knobs {
	uint64_t rt;	 /* device address of struct race_rt; 0: no agent */
	uint32_t rsleep; /* nanosleep argument bound for groups with a load (ns) */
	uint32_t wsleep; /* the same for groups of stores only */
	uint32_t sample; /* check one group execution in `sample` per warp; 0 or 1: all. From
			  * RACE_SAMPLE_SITES on: see sample.h */
	uint32_t seed;
	uint32_t flags; /* RACE_KNOB_* */
	/* collide: a thread's first `dense` checks are delayed, later ones in windows of time
	 * (RACE_DELAY_*); watch: so many are drawn more often, then dense of n ... */
	uint32_t dense;
	/* Block shuffling (blocks.h): enum race_shuffle of kernels, and of kernels that wait. */
	uint32_t order, shuffle_waiting;
	uint32_t order_a[2], order_b;
	uint32_t window; /* bytes of a bulk copy that are checked at most, a multiple of 16 */
	union {
		uint32_t sparse; /* watch: `dense` of n, with n counted up to `sparse` only */
		/* collide: 1 + the logarithm of the checks of a thread that are all made, before
		 * they thin out; 0: none are, RACE_DENSE_ALL: all, or what `sample` says */
		uint32_t looks;
	};
	uint32_t shuffle_id; /* of the module, as in its order table; the run doesn't change it */
};

/*
 * How collide's checks thin out. A thread that has counted n accesses makes a check with a
 * chance of 2^-b, b being the logarithm of n / looks: in template `draw` of collide.ptxt, where b
 * bits of the SM's clock, from RACE_DRAW_AT on, equal those of the thread's salt.
 *
 * Delays after a thread's first `dense` checks come while the block's window is open: of
 * 2^RACE_DELAY_WINDOW cycles each, one of 2^32 / RACE_DELAY_OPEN, by a hash of the SM's clock and
 * the block. So the warps of a block sleep at the same time, and the sum of all delays has a bound:
 * a share of the kernel's own time. Of the first `dense` the shortest, with a draw below
 * RACE_DELAY_LEAST, are left out; in grids of 2^RACE_SPARE_FROM blocks and more in one direction
 * each block delays half of them, of 16 times as many a quarter, by a hash of the block and the
 * count.
 *
 * In one part between barriers of 2^32 / RACE_SKEW_BLOCKS, by a hash of the block and the count,
 * one warp of 2^32 / RACE_SKEW_WARPS is delayed where the part begins, under the same conditions,
 * so that it comes late (src/instrument/collide/skew.c).
 *
 * A thread's word (RACE_STATE_*) has its count and its class, the same in a block: how late it
 * is (where its count starts, RACE_START), how many of its first delays are spared, and whether
 * its windows stay closed. Late are warps after a grid's first 2^RACE_WAVE_AT, by the logarithm of
 * their place, and all in launches of a kernel after the first RACE_LAUNCHES, by that of the
 * launch's number. Such a launch n is as an early one with a chance of RACE_LAUNCHES in n (at most
 * RACE_LAUNCHES_MOST); of the others one in four has windows. So launches that find nothing cost
 * ever less, and each is looked at.
 *
 * Templates `place`, `launched` and `begin` of collide.ptxt and __collider_begin of check_cold.cu
 * compute it, template `thin` and dev_is_drawn of check_parts.h the chance: detectors.thinning.
 */
#define RACE_DELAY_WINDOW  13u
#define RACE_DELAY_OPEN	   0x40000000u
#define RACE_DELAY_LEAST   0x40000000u
#define RACE_SKEW_BLOCKS   0x40000000u
#define RACE_SKEW_WARPS	   0x80000000u
#define RACE_WAVE_AT	   13u /* 2^13 warps, which a large GPU holds */
#define RACE_WAVE_WARPS	   2u  /* a block counts as so many, as an SM holds so many blocks */
#define RACE_LAUNCHES	   2u
#define RACE_LAUNCHES_MOST 128u
#define RACE_LATE_MOST	   7u
#define RACE_SPARE_FROM	   8u
#define RACE_SPARE_MOST	   2u
/* Bits of a class. */
#define RACE_LATE_MASK	  7u
#define RACE_SPARE_AT	  3u
#define RACE_CLOSED_AT	  5u
#define RACE_CLASS_BITS	  6u
#define RACE_DRAW_AT	  4u
#define RACE_START_STEP	  128u
#define RACE_START(class) ((RACE_START_STEP << ((class) & RACE_LATE_MASK)) - RACE_START_STEP)
#define RACE_MIX	  0x9E3779B1u /* a draw: the clock times that, and the salt */
#define RACE_MIX_WINDOW	  0x85EBCA77u /* the same of a window, and of the count */

#define RACE_KNOB_TRAP	  1u /* brkpt when there is no agent */
#define RACE_KNOB_BESIDE  2u /* of detector watch: collide's checks are beside it, with delays */
#define RACE_KNOB_REPLAY  4u /* of detector watch: it has a filter (layout/watch.h) */
#define RACE_KNOB_ELECTS  8u /* some function has elect.sync: only whole warps sleep */
#define RACE_SAMPLE_NEVER 0xffffffffu
#define RACE_SAMPLE_SITES 0x80000000u /* + limit: groups are chosen, not executions */
#define RACE_DENSE_ALL	  0xffffffffu /* every check is delayed */
#define RACE_SPARSEST	  64u	      /* never fewer than one delay in that many checks */
#define RACE_WINDOW	  1024u	      /* what is checked of a bulk copy */
#define RACE_WINDOW_ALL	  0xfffffff0u

#define RACE_KNOBS_SYMBOL   "__collider_knobs"
#define RACE_SHUFFLE_PREFIX "__collider_shuffle_" /* + hex digits; blocks.h */
#define RACE_SITES_PREFIX   "__collider_sites_"	  /* + 16 hex digits of the table's hash */
#define RACE_REG_PREFIX	    "%collider_"	  /* registers that instrumentation adds */
#define RACE_LABEL_PREFIX   "$collider_"	  /* labels */
/* Between these a kernel has its own code once more, without checks (prune/plain.c). */
#define RACE_PLAIN_BEGIN   "$collider_plain"
#define RACE_PLAIN_END	   "$collider_plain_end"
#define RACE_SYMBOL_PREFIX "__collider_" /* variables, functions, parameters */
/* + a function's name: the program's own code once more, with a parameter that detectors need
 * (instrument/called/called.c). */
#define RACE_CALLED_PREFIX "__collider_called_"

#ifdef __CUDACC__
#define RACE_FN	       static __host__ __device__ __forceinline__
#define RACE_NO_UNROLL _Pragma("unroll 1")
#else
#define RACE_FN static inline
#define RACE_NO_UNROLL
#endif

/*
 * Key of a (site, kind) in race_rt.slots; never 0. A finaliser in the style of splitmix64: the low
 * bits, which choose the slot, depend on all of the table's hash, the site and the kind.
 */
RACE_FN uint64_t race_slot_key(uint64_t table, uint32_t site, uint32_t kind)
{
	uint64_t x = table + (((uint64_t)site << 8) | (kind & 0xffu)) * 0x9e3779b97f4a7c15ull;

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	return x ? x : 1;
}

/*
 * The slot where the search for a key starts. __collider_report probes RACE_PROBES slots from
 * here, modulo RACE_SLOTS; call-free code uses this one only.
 */
RACE_FN uint32_t race_slot_index(uint64_t key)
{
	return (uint32_t)key & (RACE_SLOTS - 1u);
}

#define RACE_PROBES 16u

/* A width: was and now are a number of bytes << 32 | the FNV-1a sum of that many (by words of 8,
 * its halves folded), for more than fits in registers. */
#define RACE_WIDTH_SUM 128u

/*
 * What a check passes to __collider_changed and __collider_warp in one word: site, kind, width of
 * the element, and whether a speculated value was used (RACE_REC_USED).
 */
#define RACE_WHAT_SITES	   (1u << 24)
#define RACE_WHAT_USED	   0x80000000u
#define RACE_WHAT_SITE(w)  ((w)&0xffffffu)
#define RACE_WHAT_KIND(w)  ((w) >> 24 & 15u)
#define RACE_WHAT_WIDTH(w) (1u << ((w) >> 28 & 7u))

RACE_FN uint32_t race_what(uint32_t site, uint32_t kind, uint32_t width, uint32_t used)
{
	uint32_t log2 = 0;

	while (log2 < 7 && (1u << log2) < width)
		log2++;
	return site | kind << 24 | log2 << 28 | (used ? RACE_WHAT_USED : 0);
}

#if defined(__cplusplus)
#define RACE_STATIC_ASSERT(c, m) static_assert(c, m)
#else
#define RACE_STATIC_ASSERT(c, m) _Static_assert(c, m)
#endif
RACE_STATIC_ASSERT(sizeof(struct race_record) == 128, "record crosses host and device");
RACE_STATIC_ASSERT(sizeof(struct race_slot) == 16, "slot crosses host and device");
RACE_STATIC_ASSERT(sizeof(struct race_counters) == 32, "one sector per SM");
RACE_STATIC_ASSERT(sizeof(struct race_knobs) == 64, "knobs cross host and device");
RACE_STATIC_ASSERT(sizeof(struct race_rt) <= (2u << 20), "at most 2 MiB on the GPU");

/* ---- the words of a check by call --------------------------------------------------- */

/*
 * What a check passes to the function that it calls (src/device/collide/check.cu).
 *
 * Accesses that are checked together are split into *items*: up to 8 bytes at one address. A call
 * takes up to RACE_CHECK_ITEMS of them, with what the access loaded or stored:
 *
 *	state' | changed << 32 = check(state, what, (address, was)...)
 *
 * `state` is a thread's word (RACE_STATE_*), `what` says what the items are, `changed` has a bit
 * for each item whose second reading differed. An item whose access did not happen (false guard)
 * has the address 0, RACE_CHECK_NO_SHARED for addresses in the shared window. The next detectors
 * call functions of their own with the same words.
 */
#define RACE_CHECK_TABLE     0xC011DE55C011DE55u /* in check.cu, for the hash of the site table */
#define RACE_CHECK_ITEMS     4u
#define RACE_CHECK_NO_SHARED 0xffffffffu

/* Low word of `what`: the site of the first item, and about the call as a whole. */
#define RACE_CHECK_SITE(w)  ((w)&0xffffffu)
#define RACE_CHECK_FOLLOWS  (1u << 24) /* of the group of the call before: no draw, no delay */
#define RACE_CHECK_LOADS    (1u << 25) /* the group has a load: its delay is that of reads */
#define RACE_CHECK_SURE	    (1u << 26) /* no guard: RACE_CHECK_COUNT accesses happened */
#define RACE_CHECK_LANES    (1u << 27) /* some item has RACE_ITEM_LANES */
#define RACE_CHECK_COUNT(w) ((w) >> 28 & 7u)
#define RACE_CHECK_COUNT_AT 28u

/* High word: a byte for each item. */
#define RACE_ITEM_LOAD	     0u /* kinds */
#define RACE_ITEM_STORE	     1u
#define RACE_ITEM_NC	     2u
#define RACE_ITEM_SPECULATED 3u
#define RACE_ITEM_KIND(b)    ((b)&3u)
#define RACE_ITEM_WIDTH(b)   (1u << ((b) >> 2 & 3u)) /* bytes of an element */
#define RACE_ITEM_WIDTH_AT   2u
#define RACE_ITEM_PAIR	     0x10u /* two elements of 4 bytes */
#define RACE_ITEM_STEP	     0x20u /* of the next site: a new access */
#define RACE_ITEM_LANES	     0x40u /* the first of a store: compare the lanes */
#define RACE_ITEM_RISES                                                                            \
	0x80u /* addresses rise with tid.x: no comparison where rows are whole warps */
#define RACE_ITEM_EACH(b) ((b)*0x01010101u)

/*
 * The high word of `what` of a check ahead of a warp-wide access
 * (src/device/collide/check_ahead.cu). Matrices: pieces, the logarithm of those in a line, bytes of
 * one, the logarithm of an element's bytes. Rows: the lanes whose addresses are taken.
 */
#define RACE_AHEAD_NONE		   0xffffffffffffffffu /* an address: a false guard */
#define RACE_AHEAD_LANES(w)	   ((uint32_t)((w) >> 32) & 0xffu)
#define RACE_MATRIX_PIECES(w)	   ((uint32_t)((w) >> 32) & 0xffu)
#define RACE_MATRIX_LINE(w)	   ((uint32_t)((w) >> 40) & 0xffu)
#define RACE_MATRIX_PIECE(w)	   ((uint32_t)((w) >> 48) & 0xffu)
#define RACE_MATRIX_ELEM(w)	   ((uint32_t)((w) >> 56))
#define RACE_FRAGMENT_IS_SHARED(w) ((w) >> 32 & 1u)
#define RACE_FRAGMENT_IS_COL(w)	   ((w) >> 33 & 1u)
#define RACE_MATRIX(pieces, line, piece, elem)                                                     \
	((uint64_t)(pieces) << 32 | (uint64_t)(line) << 40 | (uint64_t)(piece) << 48 |             \
	 (uint64_t)(elem) << 56)
#define RACE_FRAGMENT(is_shared, is_col) ((uint64_t)(is_shared) << 32 | (uint64_t)(is_col) << 33)

/* What a call found: the items that differ, those that happened (bits), and how many there are. */
#define RACE_FOUND(changed, happened, n) ((changed) | (happened) << 4 | (n) << 8)
#define RACE_FOUND_CHANGED(f)		 ((f)&15u)
#define RACE_FOUND_HAPPENED(f)		 ((f) >> 4 & 15u)
#define RACE_FOUND_ITEMS(f)		 ((f) >> 8)

/* A thread's word, inlined or by call. */
#define RACE_STATE_DRAWN    1u /* by call: the last group was drawn */
#define RACE_STATE_CLASS_AT 1u /* RACE_LATE_MASK, ... */
#define RACE_STATE_COUNT_AT (RACE_STATE_CLASS_AT + RACE_CLASS_BITS)
#define RACE_STATE_COUNT    (1u << RACE_STATE_COUNT_AT) /* one checked access */

/* The record's kind for an item's. */
RACE_FN uint32_t race_item_kind(uint32_t item)
{
	uint32_t kind = RACE_ITEM_KIND(item);

	return kind < RACE_ITEM_NC ? kind + RACE_KIND_CLOBBERED_READ
				   : kind - RACE_ITEM_NC + RACE_KIND_NC_READ;
}

RACE_STATIC_ASSERT(RACE_KIND_LOST_UPDATE == RACE_KIND_CLOBBERED_READ + 1, "race_item_kind");
RACE_STATIC_ASSERT(RACE_KIND_SPECULATED_READ == RACE_KIND_NC_READ + 1, "race_item_kind");

/*
 * Uses of speculated values. Where a value whose second reading differed is really used, the key of
 * (table, site, speculated) is stored at race_used_place(key) of a table in the host's memory; the
 * value of a record whose key is found there was used. If two keys have one place, the last one
 * remains (a miss).
 */
#define RACE_USED (1u << 15)

RACE_FN uint32_t race_used_place(uint64_t key)
{
	return (uint32_t)(key >> 32) & (RACE_USED - 1u);
}

#endif
