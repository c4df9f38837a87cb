/*
 * history.h - detector `hirace` between host and device: its runtime block, what a check is given,
 * and the two sides of what it reports.
 *
 * The host fills the block of a module when it loads it: first the knobs that every report needs
 * (record.h), then where the history words are. The word of address a in the tracked range is
 *
 *	words + ((a - first) >> 2 << 3)
 *
 * and bytes and halfwords have words of their own, one for each byte. With `directory` set the
 * range is cut into pieces of RACE_HISTORY_PIECE bytes, each with words somewhere, or without.
 *
 * A launch is known by its place in a table of %gridid: the first thread of it that comes takes a
 * place, whose number is the launch number of the words (shadow.h). When the table is full later
 * launches step aside until the host has swept all words.
 */
#ifndef COLLIDER_RACE_HISTORY_H
#define COLLIDER_RACE_HISTORY_H

#include "race/record.h"
#include "race/shadow.h"

#define RACE_HISTORY_SYMBOL "__collider_history"
#define RACE_HISTORY_PIECE  (1ull << 21)

/* Places of the launches' table, one for each launch number, and how many are tried. */
#define RACE_HISTORY_LAUNCHES SHADOW_LAUNCH_LAST
#define RACE_HISTORY_PROBES   32u
/* Of the side words of locations that strong accesses touch, and of the joins of blocks: by hash,
 * since who shares an entry only joins more (shadow/release.h). */
#define RACE_HISTORY_SIDES  (1u << 16)
#define RACE_HISTORY_BLOCKS (1u << 16)

/* L and B of a location (struct shadow_side), and the launch that wrote L. */
struct race_history_side {
	uint32_t now, behind, read;
	uint32_t launch;
};

/* What the threads of a block have joined: three of struct shadow_stamp. */
struct race_history_block {
	uint32_t stamp[9];
	uint32_t reserved[3];
};

/* The tables, in one piece of zeroed memory that the host owns. */
struct race_history_tables {
	uint64_t launches[RACE_HISTORY_LAUNCHES + 1u]; /* %gridid + 1; 0: free */
	uint64_t threads_aside, accesses_aside;	       /* threads without numbers; without words */
	uint32_t unseen;			       /* RACE_HISTORY_*_ORDERS */
	uint32_t is_ordered;	/* not 0: something stands in sides and blocks */
	uint64_t reserved[509]; /* whole pages: the host gives them back */
	struct race_history_side sides[RACE_HISTORY_SIDES];
	struct race_history_block blocks[RACE_HISTORY_BLOCKS];
};

/* race_history_tables.unseen: who may order threads of a kernel without our seeing it. */
#define RACE_HISTORY_HOST_ORDERS 1u /* host code: it has memory in common with kernels */
#define RACE_HISTORY_GRID_ORDERS 2u /* kernels that were not instrumented */

/* The symbol RACE_HISTORY_SYMBOL. All zero: no check does anything. */
struct race_history {
	struct race_knobs knobs;
	uint64_t first, bytes; /* the tracked range */
	uint64_t words, byte_words;
	uint64_t sites, byte_sites; /* 4 bytes beside each word, or 0 */
	uint64_t directory;	    /* of words, by piece; 0: one range */
	uint64_t tables;	    /* struct race_history_tables */
	uint64_t reserved[2];
};

/*
 * What a check is given in one word: the site, the access, and by words of 4 bytes from the address
 * which are certainly accessed, and which perhaps (the compiler may have invented the load).
 */
#define RACE_HISTORY_SITE(w)   ((uint32_t)(w)&0xffffffu)
#define RACE_HISTORY_ACCESS(w) ((uint32_t)(w) >> 24 & 3u) /* enum shadow_access */
#define RACE_HISTORY_ACCESS_AT 24u
#define RACE_HISTORY_STRONG    (1u << 26)		  /* a strong load: looked at, not stored */
#define RACE_HISTORY_BYTES     (1u << 27)		  /* this kernel accesses bytes, too */
#define RACE_HISTORY_NARROW(w) ((uint32_t)(w) >> 28 & 3u) /* bytes, if fewer than 4; or 0 */
#define RACE_HISTORY_NARROW_AT 28u
#define RACE_HISTORY_SURE(w)   ((uint32_t)((w) >> 32) & 0xffu)
#define RACE_HISTORY_SURE_AT   32u
#define RACE_HISTORY_MAYBE(w)  ((uint32_t)((w) >> 40) & 0xffu)
#define RACE_HISTORY_MAYBE_AT  40u

/*
 * A thread's number, clocks and launch are one word in a register: a history word as its next access
 * would leave it, with the bits of state and stamp used otherwise. Launch 0: it steps aside.
 */
#define RACE_ACTOR_BITS(me) (((uint32_t)(me)&31u) + SHADOW_THREAD_BITS_MIN)
#define RACE_ACTOR_UNSURE   (1u << 5) /* all it sees is only possible */
#define RACE_ACTOR_ASIDE    (1u << 6) /* until the next barrier of its block */
#define RACE_ACTOR_HAS(me)  ((uint32_t)((me) >> SHADOW_LAUNCH_AT) & SHADOW_LAUNCH_LAST)

/* What an operation that synchronises does: bits of the argument of __collider_history_sync. */
#define RACE_SYNC_FENCE	  1u
#define RACE_SYNC_RELEASE 2u
#define RACE_SYNC_WRITE	  4u /* a strong write is next */
#define RACE_SYNC_READ	  8u /* a strong read was just made */
#define RACE_SYNC_ACQUIRE 16u
#define RACE_SYNC_SYSTEM  32u  /* its scope is .sys, or it is volatile */
#define RACE_SYNC_POST	  64u  /* a barrier is next */
#define RACE_SYNC_JOIN	  128u /* a barrier was just passed */

/*
 * The 4 bytes beside a word: who left it, with some bits of the word, since the two are not written
 * at once. 0: nobody.
 */
RACE_FN uint32_t race_history_mix(uint64_t word)
{
	uint32_t x = (uint32_t)(word ^ word >> 32);

	x ^= x >> 16;
	return (x ^ x >> 8) & 0xffu;
}

RACE_FN uint32_t race_history_left(uint32_t site, uint64_t word)
{
	return (site + 1u) << 8 | race_history_mix(word);
}

/* The table of a block's static shared memory: a head, and words as above, all in shared memory. */
struct race_history_shared {
	uint32_t first, bytes; /* the tracked range of shared addresses */
	uint32_t has_bytes;    /* there are words for bytes, too */
	uint32_t reserved;
};

/* Bytes of such a table for so many bytes (a multiple of 4) of shared memory. */
#define RACE_HISTORY_SHARED_WORDS(n)		((n)*2u)
#define RACE_HISTORY_SHARED_SITES(n)		(n)
#define RACE_HISTORY_SHARED_BYTES(n, has_bytes) (16u + (n)*3u + ((has_bytes) ? (n)*12u : 0u))

/*
 * The earlier of the two sides, in a record with RACE_REC_TWO_SIDES, in place of the values.
 *
 *	was[0]	the word that the verdict is about
 *	was[1]	that of this thread, as RACE_ACTOR_*
 *	now[0]	the earlier access's site + 1 (0: not known); from bit 32 on its table is this one's
 *	now[1]	the block's shape: x, y << 16, z << 32
 */
#define RACE_EARLIER_SITE(now0) ((uint32_t)(now0))

RACE_STATIC_ASSERT(sizeof(struct race_history) == 144, "read by offset in device/history.cu");
RACE_STATIC_ASSERT(sizeof(struct race_history_side) == 16, "side layout");
RACE_STATIC_ASSERT(sizeof(struct race_history_block) == 48, "block layout");
RACE_STATIC_ASSERT(sizeof(struct race_history_tables) % 4096 == 0, "tables are whole pages");

#endif
