/*
 * history.h - a detector with history words between host and device: its runtime block, what a
 * check is given, and the two sides of what it reports. A word's own bits are in word.h.
 *
 * The host fills the block of a module when it loads it: first the knobs that every report needs
 * (record.h), then where the history words are. All memory is tracked, whoever allocated it, and
 * words exist for what kernels touch. Addresses are cut into pieces of RACE_HISTORY_PIECE bytes;
 * the first access to a piece takes the next block of the pool and writes its address into the
 * directory. The word of address a is then
 *
 *	directory[a / piece] + (a % piece >> 2 << 3)
 *
 * Bytes and halfwords have words of their own, one for each byte. They come by pages of
 * RACE_HISTORY_PAGE bytes of the program's memory, on demand from a second pool.
 *
 * The pools are address space; the host says how much of them has memory (race_history_pool). When
 * it runs out the pieces that come later go unchecked, and their accesses are counted.
 *
 * A launch is identified by its place in a table by %gridid: the first of its threads that arrives
 * takes a place, whose number is the launch number of the words. When the table is full later
 * launches step aside until the host has swept all words.
 */
#ifndef COLLIDER_RACE_LAYOUT_HISTORY_H
#define COLLIDER_RACE_LAYOUT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "race/layout/word.h"
#include "race/record.h"

#define RACE_HISTORY_SYMBOL "__collider_hirace"
/* A module with managed variables has this one, too: host code may order its threads. */
#define RACE_HISTORY_HOST_SYMBOL "__collider_hirace_host"
/* One that iguard was asked for: hirace judges those of its kernels that the two judge alike. */
#define RACE_HISTORY_FOR_SYMBOL "__collider_hirace_for_iguard"
/* One with iguard of whose kernels none has its checks: it wants no words. */
#define RACE_IGUARD_IDLE_SYMBOL "__collider_iguard_idle"
/* One with iguard whose kernels may access bytes or halfwords: they need entries of their own. */
#define RACE_IGUARD_BYTES_SYMBOL "__collider_iguard_bytes"

/* Addresses that have a place in the directory: those of x86-64, and CUDA's unified ones there. */
#define RACE_HISTORY_ADDRESS_BITS 47u
#define RACE_HISTORY_PIECE_BITS	  21u
#define RACE_HISTORY_PIECE	  (1ull << RACE_HISTORY_PIECE_BITS)
#define RACE_HISTORY_PIECES	  (1ull << (RACE_HISTORY_ADDRESS_BITS - RACE_HISTORY_PIECE_BITS))
#define RACE_HISTORY_PARTS	  256u /* of the directory */
#define RACE_HISTORY_PAGE_BITS	  16u
#define RACE_HISTORY_PAGE	  (1ull << RACE_HISTORY_PAGE_BITS)
#define RACE_HISTORY_PAGES	  (RACE_HISTORY_PIECE / RACE_HISTORY_PAGE) /* of a piece */
/* Bytes of a word, of a block of words, and of a page of bytes' words. iguard's words (entries)
 * have their own size (race/layout/iguard.h). */
#define RACE_HISTORY_WORD_BYTES	    8u
#define RACE_HISTORY_BLOCK_BYTES    RACE_HISTORY_BLOCK_OF(RACE_HISTORY_WORD_BYTES)
#define RACE_HISTORY_BLOCK_OF(word) (RACE_HISTORY_PIECE / 4u * (word))
#define RACE_HISTORY_PAGE_OF(word)  (RACE_HISTORY_PAGE * (word))
/* Entries of the directory and of the pages' table that are no address. */
#define RACE_HISTORY_NONE 0u /* no thread has accessed it */
#define RACE_HISTORY_BUSY 1u /* a thread is taking a block */
#define RACE_HISTORY_FULL 2u /* there was none left */

/* Bytes of the machine's table (hirace/machine.h). */
#define RACE_HISTORY_MACHINE 1600u
/* Places of the launches' table, one for each launch number, and how many are tried. */
#define RACE_HISTORY_LAUNCHES HIRACE_LAUNCH_LAST
#define RACE_HISTORY_PROBES   32u
/* Of the side words of locations that strong accesses touch, and of the joins of blocks: by hash,
 * since locations that share an entry only join more (hirace/release.h). */
#define RACE_HISTORY_SIDES  (1u << 16)
#define RACE_HISTORY_BLOCKS (1u << 16)

/*
 * Order between launches, without knowledge of streams. Every launch is counted when its first
 * thread arrives, and each of its threads when it leaves. A launch that begins before another one's
 * last thread has left is not ordered after it; one that the API orders after it finds it over.
 * RACE_HISTORY_APART in the key: no such conclusion is drawn (RACE_ACTOR_APART).
 */
struct race_history_run {
	/* It has so many, and what its text may do, RACE_RUN_*; 0: not known yet, or it has no
	 * place in `live`. */
	uint64_t threads;
	uint32_t began;	 /* launches that had begun, this one included; 0: not known yet */
	uint32_t before; /* those that had begun before any thread of this one went on */
	uint32_t over;	 /* launches that had begun when it was seen to be over; 0: not seen yet */
	uint32_t reserved;
	/* For reports: the hash of its module's site table, and RACE_HISTORY_SHAPE. */
	uint64_t table, shape;
};

#define RACE_RUN_SHOWS	    (1ull << 61) /* write strongly what other kernels may read */
#define RACE_RUN_ORDERS	    (1ull << 62) /* acquire or release what other kernels have, too */
#define RACE_RUN_SEES	    (1ull << 63) /* or read strongly what they write */
#define RACE_RUN_THREADS(n) ((n) & (RACE_RUN_SHOWS - 1u))

/* Places of launches that were not seen to be over. Where all are taken, nothing is concluded about
 * a launch. */
#define RACE_HISTORY_LIVE 32u

/* The threads that have left are counted apart by the last bits of their SM's number, far from each
 * other: one count for all of them takes an atomic operation of the whole GPU for each warp. Of
 * launches with few threads fewer parts are used, since a thread that asks reads all of them. */
#define RACE_HISTORY_RUN_PARTS	   32u
#define RACE_HISTORY_RUN_FEW_PARTS 4u
#define RACE_HISTORY_RUN_MANY	   (1u << 18)
#define RACE_HISTORY_PARTS_OF(threads)                                                             \
	((threads) < RACE_HISTORY_RUN_MANY ? RACE_HISTORY_RUN_FEW_PARTS : RACE_HISTORY_RUN_PARTS)

/* A block's size, and the thread bits of a launch's words. */
#define RACE_HISTORY_SHAPE(x, y, z, bits)                                                          \
	((uint64_t)(x) | (uint64_t)(y) << 16 | (uint64_t)(z) << 32 | (uint64_t)(bits) << 48)
#define RACE_HISTORY_SHAPE_BITS(s) ((uint32_t)((s) >> 48) & 31u)

/* The CPU device knows the API's order of all launches: rows of RACE_HISTORY_ROW bits by %gridid,
 * 1 where neither is ordered before the other; after them as many, 1 where memory may have ordered
 * them; and as many, 1 where it may have ordered strong writes of the earlier one. */
#define RACE_HISTORY_ROW    1024u
#define RACE_HISTORY_TABLES 3u

/* L and B of a location (struct hirace_side), and the launch that wrote L. */
struct race_history_side {
	uint32_t now, behind, read;
	uint32_t launch; /* and RACE_SIDE_READ */
};
#define RACE_SIDE_READ (1u << 31) /* a strong read has read a location with this entry */

/* What the threads of a block have joined: three of struct race_stamp. */
struct race_history_block {
	uint32_t stamp[9];
	uint32_t reserved[3];
};

/* How many blocks or pages of a pool are taken, and how many have memory. */
struct race_history_pool {
	uint64_t used, limit;
};

/*
 * What the tables of each detector with history begin with, in zeroed memory that the host owns:
 *
 *	launches	race_history_key(); 0: free
 *	threads_aside, accesses_aside	threads without numbers; accesses without words,
 *			or copies for which race/layout/copies.h has no room
 *	words, bytes	the pools
 *	contexts	entries taken in iguard's table of contexts; hirace: 0
 *	ordered_at	where the host wants to see is_ordered, too; 0: nowhere. At
 *			RACE_HISTORY_SHORT_AT after it: that a pool had nothing left
 *	epoch		of graphs, see race_history_key()
 *	unseen		RACE_HISTORY_*_ORDERS
 *	is_ordered	not 0: something stands in sides and blocks
 *	parts		of the directory that have memory of their own; a bit for each
 *	reserved	whole pages: the host gives them back
 */
#define RACE_HISTORY_SHORT_AT 8u
#define RACE_HISTORY_HEAD                                                                          \
	uint64_t launches[RACE_HISTORY_LAUNCHES + 1u];                                             \
	uint64_t threads_aside, accesses_aside;                                                    \
	struct race_history_pool words, bytes;                                                     \
	uint64_t contexts;                                                                         \
	uint64_t ordered_at;                                                                       \
	uint64_t epoch;                                                                            \
	uint32_t unseen, is_ordered;                                                               \
	uint32_t parts[RACE_HISTORY_PARTS / 32u];                                                  \
	uint64_t reserved[498]

/* The tables of hirace. */
struct race_history_tables {
	RACE_HISTORY_HEAD;
	uint64_t rows;	    /* RACE_HISTORY_TABLES of RACE_HISTORY_ROW rows, or 0: by `runs` */
	uint32_t informs;   /* RACE_ENTER_INFORMS, _APPEARS of kernels that have begun */
	uint32_t unordered; /* not 0: a row has had a bit */
	/* The machine's table that --hirace asked for; it fills a page. */
	uint8_t machine[RACE_HISTORY_MACHINE];
	uint64_t to_page[310];
	struct race_history_side sides[RACE_HISTORY_SIDES];
	struct race_history_block blocks[RACE_HISTORY_BLOCKS];
	/* A sweep clears what follows. */
	struct race_history_run runs[RACE_HISTORY_LAUNCHES + 1u]; /* the last place is spare */
	uint32_t begins, overs; /* launches that have begun, that were seen to be over */
	uint32_t live_places;	/* a bit for each place that is taken */
	uint32_t reserved_too;
	uint32_t live[RACE_HISTORY_LIVE]; /* places in the launches' table, from 1; 0: not yet */
	/* When the last launch with RACE_RUN_ORDERS, and with RACE_RUN_SEES, was seen to be over:
	 * one more than the launches that had begun. ~0: an end isn't known. */
	uint32_t orderer, seer;
	uint64_t to_page_too[509 - RACE_HISTORY_LIVE / 2];
	uint64_t left[RACE_HISTORY_RUN_PARTS][RACE_HISTORY_LAUNCHES + 1u]; /* threads */
};

/*
 * What a launch is known by. A kernel of a graph has the same %gridid each time that the graph is
 * launched (seen on an H200), so the host gives each launch of a graph an epoch of its own, written
 * after the graph's last launch and before this one. Launches that run beside that may get two
 * numbers: pairs of theirs are missed, none is invented.
 */
#define RACE_HISTORY_EPOCH_AT 40u
#define RACE_HISTORY_EPOCHS   (1u << 23) /* then they begin anew; bit 63 is RACE_HISTORY_APART */

RACE_FN uint64_t race_history_key(uint64_t grid, uint64_t epoch)
{
	return grid + 1u + (epoch << RACE_HISTORY_EPOCH_AT);
}

/* A kernel that launches kernels, waits for the one before it, or may end without being counted. */
#define RACE_HISTORY_APART (1ull << 63)

RACE_FN uint64_t race_history_grid(uint64_t key)
{
	return (key & ((1ull << RACE_HISTORY_EPOCH_AT) - 1u)) - 1u;
}

/* race_history_tables.unseen: what may order threads of a kernel without being seen. */
#define RACE_HISTORY_HOST_ORDERS 1u /* host code: it has memory in common with kernels */
#define RACE_HISTORY_GRID_ORDERS 2u /* kernels that were not instrumented */
#define RACE_HISTORY_BLIND	 4u /* launches can't be distinguished: no thread gets a number */
#define RACE_HISTORY_HAS_BYTES	 8u /* nothing that orders: iguard's kernels access bytes */

/* The symbols RACE_HISTORY_SYMBOL and RACE_IGUARD_SYMBOL. If all are zero, checks do nothing. */
struct race_history {
	struct race_knobs knobs;
	uint64_t directory;	    /* RACE_HISTORY_PIECES addresses of blocks */
	uint64_t words, sites;	    /* the pool of blocks; beside each word 4 bytes, or 0 */
	uint64_t pages;		    /* RACE_HISTORY_PAGES addresses for each block, or 0 */
	uint64_t bytes, byte_sites; /* the pool of pages */
	uint64_t tables;	    /* struct race_history_tables, race_iguard_tables */
	uint64_t modes;		    /* of iguard: RACE_IGUARD_MODE_*; of hirace: the next one */
	uint64_t machine;	    /* the machine's table in place of the module's own, or 0 */
	uint64_t scratch;	    /* RACE_SCRATCH_*, or 0 */
};

/* hirace wasn't asked for, and works for iguard: races have iguard's kinds. */
#define RACE_HISTORY_FOR_IGUARD 1u

/*
 * What a check is given in one word: the site, the access, and by words of 4 bytes from the address
 * which are certainly accessed, and which perhaps (the compiler may have invented the load).
 */
#define RACE_HISTORY_SITE(w)   ((uint32_t)(w)&0xffffffu)
#define RACE_HISTORY_ACCESS(w) ((uint32_t)(w) >> 24 & 3u) /* enum hirace_access */
#define RACE_HISTORY_ACCESS_AT 24u
#define RACE_HISTORY_STRONG    (1u << 26)		  /* a strong load: compared, not stored */
#define RACE_HISTORY_BYTES     (1u << 27)		  /* this kernel accesses bytes, too */
#define RACE_HISTORY_NARROW(w) ((uint32_t)(w) >> 28 & 3u) /* bytes, if fewer than 4; or 0 */
#define RACE_HISTORY_NARROW_AT 28u
#define RACE_HISTORY_OBSERVES  (1u << 30) /* this kernel marks no location that it reads strongly */
#define RACE_HISTORY_VOLATILE                                                                      \
	(1u << 31) /* strong only in that: --hirace=published doesn't know it */
#define RACE_HISTORY_SURE(w)  ((uint32_t)((w) >> 32) & 0xffu)
#define RACE_HISTORY_SURE_AT  32u
#define RACE_HISTORY_MAYBE(w) ((uint32_t)((w) >> 40) & 0xffu)
#define RACE_HISTORY_MAYBE_AT 40u
/* The seed of a compare-and-swap loop: judged, not stored, as the atomic that follows is. */
#define RACE_HISTORY_SEED (1ull << 58)
/* A volatile load that may count on lockstep. */
#define RACE_HISTORY_LOCKSTEP (1ull << 59)

/* Words that one call steps: how many, and how far one is from the next, in words. */
#define RACE_STEP_SHAPE(n, far) ((n) | (far) << 8)
#define RACE_STEP_WORDS(shape)	((shape)&0xffu)
#define RACE_STEP_FAR(shape)	((shape) >> 8)
#define RACE_STEP_WORDS_MAX	64u

/*
 * A thread's number, clocks and launch are one word in a register: a history word as the thread's
 * next access would leave it, with other uses for the bits of state and stamp. Launch 0: it steps
 * aside.
 */
#define RACE_ACTOR_BITS(me) (((uint32_t)(me)&31u) + HIRACE_THREAD_BITS_MIN)
#define RACE_ACTOR_UNSURE   (1u << 5) /* all its findings are only possible */
#define RACE_ACTOR_ASIDE    (1u << 6) /* until the next barrier of its block */
/* Of the kernel: RACE_HISTORY_APART; other launches run beside it. */
#define RACE_ACTOR_APART  (1u << 7)
#define RACE_ACTOR_BESIDE (1u << 9)
/* The kernel has masks that may be partial: after the stamps comes the lane's row. */
#define RACE_ACTOR_LANES  (1u << 10)
#define RACE_LANES_ROW_AT 40u
/* Of the kernel, for its launch's beginning alone: it may release to host code; writes strongly
 * what host code may read; and from bit RACE_ENTER_RUN_AT on the three of RACE_RUN_*. */
#define RACE_ENTER_INFORMS (1u << 16)
#define RACE_ENTER_APPEARS (1u << 17)
#define RACE_ENTER_RUN_AT  29u
#define RACE_ENTER_SHOWS   (1u << 29)
#define RACE_ENTER_ORDERS  (1u << 30)
#define RACE_ENTER_SEES	   (1u << 31)
#define RACE_ENTER_RUN(flags)                                                                      \
	((uint64_t)((flags) >> RACE_ENTER_RUN_AT) << (32u + RACE_ENTER_RUN_AT))
/* In the stamps of a thread, hirace's and iguard's: the bits of the locations that it has read
 * strongly. Where the bit of an address comes from, here and in inlined code:
 * ((at >> 2) * RACE_READ_HASH) >> 59. */
#define RACE_STAMPS_READ_AT 8u
#define RACE_READ_HASH	    0x9e3779b97f4a7c15ull
/* iguard's set has the bits 0 to 30 (31 is 0), and this one: some location may be a flag, as its
 * value isn't used for addresses alone. It decides nothing but a finding's kind. */
#define RACE_READ_FLAG 0x80000000u
/* Around bar.warp.sync: before it, or after it; of kernels with rows; the row begins. */
#define RACE_LANES_AFTER 1u
#define RACE_LANES_ROW	 2u
#define RACE_LANES_BEGIN 4u
/* In the span (access.ptxt): the run has another machine than the inlined code, or lanes have rows,
 * so it decides nothing. */
#define RACE_HISTORY_ASKS  (1u << 31)
#define RACE_ACTOR_HAS(me) ((uint32_t)((me) >> HIRACE_LAUNCH_AT) & HIRACE_LAUNCH_LAST)

/* What an operation that synchronises does: bits of the argument of __collider_hirace_sync. */
#define RACE_SYNC_FENCE	  1u
#define RACE_SYNC_RELEASE 2u
#define RACE_SYNC_WRITE	  4u /* a strong write is next */
#define RACE_SYNC_READ	  8u /* a strong read was just made */
#define RACE_SYNC_ACQUIRE 16u
#define RACE_SYNC_SYSTEM  32u  /* its scope is .sys, or it is volatile */
#define RACE_SYNC_POST	  64u  /* a barrier is next */
#define RACE_SYNC_JOIN	  128u /* a barrier was just passed */
/* Of a strong access: 4-byte words, log2 of an element's bytes, elements (0: one). */
#define RACE_SYNC_SHAPE(words, log2, elems) ((words) << 16 | (log2) << 20 | (elems) << 24)
#define RACE_SYNC_WORDS(op)		    ((op) >> 16 & 15u)
#define RACE_SYNC_WIDTH(op)		    (1u << ((op) >> 20 & 15u))
#define RACE_SYNC_ELEMS(op)		    ((op) >> 24 ? (op) >> 24 : 1u)

/* In now[0] of a record, see below: the site is that of an access before the word's thread's. */
#define RACE_EARLIER_IS_OLDER (1u << 31)

/*
 * The 4 bytes beside a word: bits 0 to 7 a hash of the word, since the two are not written at once;
 * from bit 8 on the site + 1 of who left it, from bit 20 on that of the last plain write (without
 * one: atomic) in the word's history. 0: not known, or a site whose number doesn't fit.
 */
#define RACE_LEFT_LAST_AT    8u
#define RACE_LEFT_WRITE_AT   20u
#define RACE_LEFT_SITES	     0xfffu
#define RACE_LEFT_HASH	     0xffu
#define RACE_LEFT_HASH_SHIFT 56u

RACE_FN uint32_t race_history_mix(uint64_t word)
{
	return (uint32_t)(word * 0x9e3779b97f4a7c15ull >> RACE_LEFT_HASH_SHIFT);
}

/* What an access leaves, but for the hash. older: the bits that were there, if they were the
 * history's; or 0. */
RACE_FN uint32_t race_history_sites(uint32_t site, bool is_write, bool is_atomic, uint32_t older)
{
	uint32_t own = site < RACE_LEFT_SITES ? site + 1u : 0u;
	uint32_t write = older >> RACE_LEFT_WRITE_AT;

	if (is_write || (is_atomic && write == 0))
		write = own;
	return write << RACE_LEFT_WRITE_AT | own << RACE_LEFT_LAST_AT;
}

RACE_FN bool race_history_is_of(uint32_t left, uint64_t word)
{
	return (left & RACE_LEFT_HASH) == race_history_mix(word);
}

/*
 * The site + 1 that an access races with; 0: not known. A load races with writes only. An atomic
 * whose word has plain accesses that an atomic followed (has_plain) races with those.
 */
RACE_FN uint32_t race_history_who(uint32_t left, uint64_t word, bool is_load, bool has_plain)
{
	uint32_t last = left >> RACE_LEFT_LAST_AT & RACE_LEFT_SITES;
	uint32_t write = left >> RACE_LEFT_WRITE_AT;

	if (!race_history_is_of(left, word))
		return 0;
	if (!(is_load || has_plain) || write == 0 || write == last)
		return last;
	return write | RACE_EARLIER_IS_OLDER;
}

/* The table of a block's static shared memory: a head, and words as above, all in shared memory. */
struct race_history_shared {
	uint32_t first, bytes; /* the tracked range of shared addresses */
	uint32_t has_bytes;    /* there are words for bytes, too */
	uint32_t reserved;
};

/*
 * Of detector `hirace` all of this is one word in a register, and the table is words, sites where
 * they fit, and both again for bytes. No tracked bytes: there is no table.
 *
 *	bits  0 to 17	where the words are in the block's shared memory; of scratch: the first unit
 *	bits 18 to 35	the first tracked address
 *	bits 36 to 53	tracked bytes
 *	bits 54 to 59	the block's rank in its cluster
 *
 * A shared address of a block whose rank in the cluster is not 0 has the rank from bit 24 on: it is
 * the same in the window of the whole cluster. Measured on an H200.
 */
#define RACE_TABLE_OFFSET     0x3ffffu
#define RACE_TABLE_RANK_AT    54u
#define RACE_TABLE_RANK_SHIFT 24u /* of an address */
#define RACE_TABLE_BASE(t)                                                                         \
	(((uint32_t)((t) >> RACE_TABLE_RANK_AT) & 0x3fu) << RACE_TABLE_RANK_SHIFT)
#define RACE_TABLE_UNIT(t)  ((uint32_t)(t)&RACE_TABLE_OFFSET)
#define RACE_TABLE_WORDS(t) (RACE_TABLE_BASE(t) + RACE_TABLE_UNIT(t))
#define RACE_TABLE_FIRST_AT 18u
#define RACE_TABLE_FIRST(t)                                                                        \
	(RACE_TABLE_BASE(t) + ((uint32_t)((t) >> RACE_TABLE_FIRST_AT) & RACE_TABLE_OFFSET))
#define RACE_TABLE_TRACKED_AT 36u
#define RACE_TABLE_TRACKED(t) ((uint32_t)((t) >> RACE_TABLE_TRACKED_AT) & RACE_TABLE_OFFSET)
#define RACE_TABLE_HAS_BYTES  (1ull << 60)
#define RACE_TABLE_HAS_SITES  (1ull << 61)
#define RACE_TABLE_IS_SCRATCH (1ull << 62) /* RACE_TABLE_UNIT is the first unit */

/* Bytes of such a table for that many bytes (a multiple of 16) of shared memory. */
#define RACE_HISTORY_SHARED_WORDS(n) ((n)*2u)
#define RACE_HISTORY_SHARED_SITES(n) (n)
#define RACE_HISTORY_SHARED_BYTES(n, has_bytes, has_sites)                                         \
	((n) * ((has_sites) ? 3u : 2u) * ((has_bytes) ? 5u : 1u))

/*
 * Words of shared memory that has no such table: dynamic, or static with too little room beside it.
 * They lie in global memory. A block takes a run of units from those of its SM when it begins, and
 * gives it back when its last thread leaves: the units have words for nearly all the shared memory
 * of an SM. At race_history.scratch are the units, SM after SM; before
 * it, going down, RACE_SCRATCH_HEAD bytes that begin with the number of SMs, and struct
 * race_scratch_sm of each.
 */
/* A module that has it wants scratch for hirace; for iguard. */
#define RACE_SCRATCH_SYMBOL	   "__collider_hirace_scratch"
#define RACE_IGUARD_SCRATCH_SYMBOL "__collider_iguard_scratch"
#define RACE_SCRATCH_HEAD	   64u
#define RACE_SCRATCH_UNITS	   128u /* of an SM: a bit of two words for each */
/* Bytes of words of so many bytes: 132 SMs have 60 MiB for hirace, 120 MiB for iguard. */
#define RACE_SCRATCH_UNIT_OF(word) (464u * (word))
#define RACE_SCRATCH_SYSTEM	   1024u /* of shared memory, which %total_smem_size leaves out */

struct race_scratch_run {
	uint64_t key;	/* of the block that has it; 0: none has */
	uint32_t left;	/* threads of the block that have left */
	uint32_t shape; /* units, and RACE_SCRATCH_BYTES: words of bytes, too */
};
#define RACE_SCRATCH_BYTES (1u << 31)

struct race_scratch_sm {
	uint64_t taken[2]; /* a bit for each unit; a run of up to 64 is within one of the words */
	struct race_scratch_run runs[RACE_SCRATCH_UNITS]; /* by their first unit */
};

/* Bytes before the units, and of the units. */
RACE_FN uint64_t race_scratch_heads(uint64_t sms)
{
	return RACE_SCRATCH_HEAD + sms * sizeof(struct race_scratch_sm);
}

RACE_FN uint64_t race_scratch_units(uint64_t sms, uint32_t word)
{
	return sms * RACE_SCRATCH_UNITS * RACE_SCRATCH_UNIT_OF(word);
}

/*
 * The earlier of the two sides, in a record with RACE_REC_TWO_SIDES, in place of the values.
 *
 *	was[0]	the word that the verdict is about
 *	was[1]	that of this thread, as RACE_ACTOR_*
 *	now[0]	the earlier access's site + 1 (0: not known), in the same table, and
 *		RACE_EARLIER_IS_OLDER: some other thread's, which the word's thread came after
 *	now[1]	the block's shape: x, y << 16, z << 32
 *
 * Of another launch (RACE_EARLIER_IS_OTHER) the shape and the thread bits in was[1] are those of
 * that one, was[1] has its %gridid from RACE_EARLIER_GRID_AT on, and this block's shape is in the
 * high half of now[0]. Its grid's shape isn't known: a report has the block as one number.
 */
#define RACE_EARLIER_IS_OTHER	  (1u << 10)
#define RACE_EARLIER_GRID_AT	  11u
#define RACE_EARLIER_OWN(x, y, z) ((uint64_t)((x) | (y) << 11 | (z) << 22) << 32)
#define RACE_EARLIER_OWN_X(now0)  ((uint32_t)((now0) >> 32) & 2047u)
#define RACE_EARLIER_OWN_Y(now0)  ((uint32_t)((now0) >> 43) & 2047u)
#define RACE_EARLIER_OWN_Z(now0)  ((uint32_t)((now0) >> 54))
#define RACE_EARLIER_SITE(now0)	  ((uint32_t)(now0)&0xffffffu)

RACE_STATIC_ASSERT(sizeof(struct race_history) == 144, "read by offset in device/hirace/hirace.cu");
RACE_STATIC_ASSERT(sizeof(struct race_scratch_sm) == 2064, "whole 16 bytes");
RACE_STATIC_ASSERT(RACE_SCRATCH_UNIT_OF(8u) % 16u == 0, "units are set to 0 by 16 bytes");
RACE_STATIC_ASSERT(sizeof(struct race_history_run) == 40, "run layout");
RACE_STATIC_ASSERT(sizeof(struct race_history_side) == 16, "side layout");
RACE_STATIC_ASSERT(sizeof(struct race_history_block) == 48, "block layout");
RACE_STATIC_ASSERT(sizeof(struct race_history_tables) % 4096 == 0, "tables are whole pages");

#endif
