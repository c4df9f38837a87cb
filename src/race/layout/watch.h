/*
 * watch.h - the bits of a watchpoint: the one place that knows where a field lies.
 *
 * Detector `watch` keeps a table of watchpoints, as the Linux kernel's KCSAN does: direct-mapped by
 * address, one 64-bit word for 32 bytes (a granule). Accesses are naturally aligned and have at
 * most 32 bytes, so each meets one slot. A sampled access publishes its address there; every other
 * access of the bytes looks at the slot. A word is in one of three states:
 *
 *	active	63: 1
 *		62..35	tag: the address above the bits that choose the slot
 *		34..30	offset in the granule
 *		29..27	logarithm of the bytes
 *		26	the watched access writes
 *		25	a __syncwarp() was passed since
 *		24..16	a hash of the warp
 *		15..0	generation
 *	seen	63: 0, 62: 1
 *		51..44	the context that has it, and
 *		43..32	the record that its two halves go to
 *		15..0	generation
 *	free	all 0 but
 *		15..0	generation of the last watch
 *
 * A generation is one more than that of the watch before in the slot, and is never reset, so what
 * was found for one watch can't be taken for another one's before 2^16 others have stood there.
 * Slots are chosen by the low bits, so that what a warp looks up together lies together.
 */
#ifndef COLLIDER_RACE_LAYOUT_WATCH_H
#define COLLIDER_RACE_LAYOUT_WATCH_H

#include "race/record.h"

#define RACE_WATCH_SYMBOL "__collider_watch"

/* The granule's logarithm; the slot's address is table + (at >> 2 & mask). */
#define RACE_WATCH_GRANULE	5u
#define RACE_WATCH_MASK		((RACE_WATCH_SLOTS - 1u) << 3)
#define RACE_WATCH_SHARED_SLOTS 128u
#define RACE_WATCH_SHARED_MASK	((RACE_WATCH_SHARED_SLOTS - 1u) << 3)
/* After a block's table: minus the number of watchpoints in it, a word of 4 bytes. */
#define RACE_WATCH_STANDING_AT	(RACE_WATCH_SHARED_SLOTS * 8u)
#define RACE_WATCH_SHARED_BYTES (RACE_WATCH_STANDING_AT + 16u)
#define RACE_WATCH_ADDRESS_BITS 49u
#define RACE_WATCH_TAG_AT	35u
#define RACE_WATCH_TAG_BITS	28u
#define RACE_WATCH_OFFSET_AT	30u
#define RACE_WATCH_LOG_AT	27u
#define RACE_WATCH_WRITES_AT	26u
#define RACE_WATCH_WARP_AT	16u
#define RACE_WATCH_WARP		511u
#define RACE_WATCH_CROSSED	(1ull << 25)
#define RACE_WATCH_GENERATION	((1u << 16) - 1u)
#define RACE_WATCH_ACTIVE	(1ull << 63)
#define RACE_WATCH_SEEN		(1ull << 62)
#define RACE_WATCH_RECORD_AT	32u
#define RACE_WATCH_CONTEXT_AT	44u
#define RACE_WATCH_GROUP	16u	    /* accesses that are looked up together */
#define RACE_WATCH_STATE	360u	    /* bytes of a thread's own memory */
#define RACE_WATCH_ITEMS_AT	104u	    /* the accesses of a group in it, 16 bytes each */
#define RACE_WATCH_THIN		16u	    /* one access in so many is drawn, but at full rate */
#define RACE_WATCH_CROWD	9u	    /* and in grids with fewer than 16 << 9 threads */
#define RACE_WATCH_MOST		0xffffu	    /* blocks: no product of them and threads overflows */
#define RACE_WATCH_FAR		0x7fffffffu /* no draw any more */
#define RACE_WATCH_VARIANTS	4u	    /* records of one site with different other sides */

RACE_STATIC_ASSERT(RACE_SLOTS <= 1u << 12 && RACE_CONTEXTS <= 1u << 8,
		   "a record's number has 12 bits in a seen word, that of its context 8");
RACE_STATIC_ASSERT(RACE_WATCH_ADDRESS_BITS - RACE_WATCH_GRANULE - 16u == RACE_WATCH_TAG_BITS &&
			   RACE_WATCH_SLOTS == 1u << 16,
		   "tag and slot are the whole address");

/* What a call says of an access: the low word. */
#define RACE_WATCH_SITE(w)     ((uint32_t)(w)&0xffffffu)
#define RACE_WATCH_IS_WRITE    (1u << 24)
#define RACE_WATCH_IS_SHARED   (1u << 25) /* at is an offset in the block's window */
#define RACE_WATCH_IS_NC       (1u << 26) /* through the read-only path */
#define RACE_WATCH_MAY_STAND   (1u << 31) /* may be watched */
#define RACE_WATCH_IS_BLOCK    (1u << 30) /* at is an offset + the block's key */
#define RACE_WATCH_LOG(w)      ((uint32_t)(w) >> 27 & 7u)
#define RACE_WATCH_LOG_WHAT_AT 27u
/* The high word: words of 4 bytes from the address that are surely accessed, and perhaps; of an
 * access of fewer bytes bit 0. */
#define RACE_WATCH_SURE(w)  ((uint32_t)((w) >> 32) & 0xffu)
#define RACE_WATCH_MAYBE(w) ((uint32_t)((w) >> 40) & 0xffu)
#define RACE_WATCH_SURE_AT  32u
#define RACE_WATCH_MAYBE_AT 40u
/* Of shared memory that other blocks of the cluster see: the rank of the block that owns it. */
#define RACE_WATCH_RANK(w)  ((uint32_t)((w) >> 48) & 0xffu)
#define RACE_WATCH_RANK_AT  48u
#define RACE_WATCH_OF_OWNER (1ull << 56) /* beside RACE_WATCH_IS_BLOCK: at has its owner's key */
#define RACE_WATCH_OWNER    (RACE_WATCH_OF_OWNER | 0xffull << RACE_WATCH_RANK_AT)

/*
 * Shared memory of a block that has no room for a table, or room that only the launch knows: one
 * table of the device holds the words of all such blocks. An address there is the offset in the
 * window plus the block's key, made of its grid and number: from bit 28 on a hash, bits 5 to 19 by
 * another part of it, so that blocks meet in few slots. Blocks with equal keys are possible. A
 * record of such a hit is a finding only if its halves, which name grid and block in full, are of
 * one block; the host compares them (RACE_REC_ONE_BLOCK). One with a single half is none.
 */
#define RACE_WATCH_KEY_AT   28u
#define RACE_WATCH_KEY_DROP (64u - (RACE_WATCH_ADDRESS_BITS - RACE_WATCH_KEY_AT))
#define RACE_WATCH_KEY_LOW  (((1u << 15) - 1u) << RACE_WATCH_GRANULE)

/*
 * Kernels whose blocks may see the shared memory of others of their cluster use that table, too,
 * for their own and for the others'. The key is that of the block that owns the memory: the
 * cluster's, in the same bits but for the lowest four of the hash, and a step for each rank. So two
 * blocks of a cluster never have the same, and every block computes the key of every other one. An
 * offset there has 24 bits. A record of such a hit is a finding only if its halves are of one grid
 * and cluster, and name the same rank (RACE_REC_ONE_OWNER): then they are of one byte.
 */
#define RACE_WATCH_CLUSTER_AT	32u
#define RACE_WATCH_CLUSTER_DROP (64u - (RACE_WATCH_ADDRESS_BITS - RACE_WATCH_CLUSTER_AT))
#define RACE_WATCH_RANK_STEP	(1ull << RACE_WATCH_KEY_AT | 1ull << 17)
#define RACE_WATCH_OFFSET_MASK	0xffffffu

/* Of a thread's first 2 * RACE_WATCH_THIN accesses one in how many is drawn, by the threads of the
 * grid: where few run, no other thread will draw what each does. For longer it would cost up to 12
 * times as much (attention of bench/overhead, size small, on an H200). */
RACE_FN uint32_t race_watch_thin(uint32_t blocks, uint32_t threads)
{
	uint32_t n = (blocks < RACE_WATCH_MOST ? blocks : RACE_WATCH_MOST) * threads;

	n >>= RACE_WATCH_CROWD;
	n = n < RACE_WATCH_THIN ? n : RACE_WATCH_THIN;
	return n ? n : 1u;
}

RACE_FN uint64_t race_watch_tag(uint64_t at, uint32_t is_shared)
{
	uint32_t shift = RACE_WATCH_GRANULE + (is_shared ? 7u : 16u);

	return at >> shift & ((1ull << RACE_WATCH_TAG_BITS) - 1u);
}

RACE_FN uint64_t race_watch_encode(uint64_t at, uint32_t is_shared, uint32_t log, uint32_t writes,
				   uint32_t warp, uint32_t generation)
{
	return RACE_WATCH_ACTIVE | race_watch_tag(at, is_shared) << RACE_WATCH_TAG_AT |
	       (at & 31u) << RACE_WATCH_OFFSET_AT | (uint64_t)log << RACE_WATCH_LOG_AT |
	       (uint64_t)writes << RACE_WATCH_WRITES_AT |
	       (uint64_t)(warp & RACE_WATCH_WARP) << RACE_WATCH_WARP_AT |
	       (generation & RACE_WATCH_GENERATION);
}

RACE_FN uint64_t race_watch_seen(uint64_t word, uint32_t context, uint32_t record)
{
	return RACE_WATCH_SEEN | (uint64_t)context << RACE_WATCH_CONTEXT_AT |
	       (uint64_t)record << RACE_WATCH_RECORD_AT | (word & RACE_WATCH_GENERATION);
}

RACE_FN uint32_t race_watch_record(uint64_t seen)
{
	return (uint32_t)(seen >> RACE_WATCH_RECORD_AT) & (RACE_SLOTS - 1u);
}

RACE_FN uint32_t race_watch_context(uint64_t seen)
{
	return (uint32_t)(seen >> RACE_WATCH_CONTEXT_AT) & 0xffu;
}

RACE_FN uint64_t race_watch_free(uint64_t word)
{
	return word & RACE_WATCH_GENERATION;
}

RACE_FN uint32_t race_watch_is_free(uint64_t word)
{
	return word >> RACE_WATCH_WRITES_AT == 0;
}

/* The watched bytes of the granule, as bits. */
RACE_FN uint32_t race_watch_bytes(uint64_t word)
{
	uint32_t n = 1u << (word >> RACE_WATCH_LOG_AT & 7u);

	return (n >= 32u ? ~0u : (1u << n) - 1u) << (word >> RACE_WATCH_OFFSET_AT & 31u);
}

/* Those of an access at `at`, of so many bytes, in these words (RACE_WATCH_SURE). */
RACE_FN uint32_t race_watch_own_bytes(uint64_t at, uint32_t log, uint32_t words)
{
	uint32_t bytes = 0;

	if (log < 2)
		return words ? ((1u << (1u << log)) - 1u) << (at & 31u) : 0;
	RACE_NO_UNROLL
	for (uint32_t i = 0; i < 8u; i++)
		bytes |= words >> i & 1u ? 15u << 4u * i : 0;
	return bytes << (at & 31u);
}

/* Enough of a verdict: may an access and the watched one race, by what they do and where? */
RACE_FN uint32_t race_watch_meets(uint64_t word, uint64_t at, uint32_t what, uint32_t bytes)
{
	uint32_t writes = (uint32_t)(word >> RACE_WATCH_WRITES_AT & 1u) |
			  (what & RACE_WATCH_IS_WRITE ? 1u : 0u);
	uint64_t tag = word >> RACE_WATCH_TAG_AT & ((1ull << RACE_WATCH_TAG_BITS) - 1u);

	return word & RACE_WATCH_ACTIVE && writes &&
	       tag == race_watch_tag(at, what & RACE_WATCH_IS_SHARED) &&
	       (race_watch_bytes(word) & bytes) != 0;
}

/*
 * The half of the watching side, in a record with RACE_REC_TWO_SIDES, in place of the values; the
 * record's other fields are the checker's, with the shape of its block in place of the lanes (x
 * from bit 0, y from 11, z from 22). now[0] is written last, and 0 until then.
 *
 *	was[0]	the hash of its site table
 *	was[1]	its %gridid
 *	now[0]	its site + 1, thread, RACE_WATCH_HALF, and the rank of the memory's owner; of memory
 *		without one (no RACE_REC_ONE_OWNER) the number of its context
 *	now[1]	its block: x, y << 32, z << 48
 *
 * The rank that the checker has found is in `sm`, and where in the granule the watched bytes begin.
 */
#define RACE_WATCH_SHAPE(x, y, z) ((x) | (y) << 11 | (z) << 22)
#define RACE_WATCH_HALF		  (1ull << 63)
#define RACE_WATCH_HALF_SITE(h)	  ((uint32_t)(h)&0x1ffffffu)
#define RACE_WATCH_HALF_X(h)	  ((uint32_t)((h) >> 25) & 0x7ffu)
#define RACE_WATCH_HALF_Y(h)	  ((uint32_t)((h) >> 36) & 0x7ffu)
#define RACE_WATCH_HALF_Z(h)	  ((uint32_t)((h) >> 47) & 0x7fu)
#define RACE_WATCH_HALF_RANK(h)	  ((uint32_t)((h) >> 54) & 0xffu)
#define RACE_WATCH_HALF_OF(site, x, y, z, rank)                                                    \
	(RACE_WATCH_HALF | (uint64_t)(site) | (uint64_t)(x) << 25 | (uint64_t)(y) << 36 |          \
	 (uint64_t)(z) << 47 | (uint64_t)(rank) << 54)
#define RACE_WATCH_SM_FROM_AT  16u
#define RACE_WATCH_SM_RANK_AT  24u
#define RACE_WATCH_SM(sm)      ((sm)&0xffffu)
#define RACE_WATCH_SM_FROM(sm) ((sm) >> RACE_WATCH_SM_FROM_AT & 31u)
#define RACE_WATCH_SM_RANK(sm) ((sm) >> RACE_WATCH_SM_RANK_AT)

/* Addresses of an earlier report's findings (--replay). */
#define RACE_WATCH_KEYS	  128u
#define RACE_WATCH_RANGES 32u
struct race_watch_range {
	uint64_t at, bytes;
};

/* The runtime block of a module. flags: RACE_KNOB_BESIDE, RACE_KNOB_REPLAY. With the latter only
 * what the lists name is watched; every access looks all the same. */
struct race_watch {
	struct race_knobs knobs;
	uint32_t nkeys, nranges;
	uint32_t first;	  /* times the grid's race_watch_thin(): of so many of a thread's first
			   * accesses, less one, one is drawn first; never less than the first */
	uint32_t context; /* its number in the process */
	uint64_t table;	  /* address of the struct race_watch_table for global memory */
	uint64_t reserved;
	uint64_t keys[RACE_WATCH_KEYS]; /* race_slot_key(table, site, 0), ascending */
	struct race_watch_range ranges[RACE_WATCH_RANGES]; /* of global memory */
};

RACE_STATIC_ASSERT(sizeof(struct race_watch) % 16 == 0, "its alignment");

#endif
