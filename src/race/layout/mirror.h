/*
 * mirror.h - watchpoints of kernels where host code can read them.
 *
 * Host and GPU have no atomic operations on each other's memory over PCIe. So a watchpoint on
 * memory that both access is published twice: in the table of layout/watch.h, for other threads of
 * the GPU, and here, in the shared file, by relaxed stores of its one thread. Host code only reads.
 * An entry has all that is known of the watching side, so that a hit needs no answer. Of the lanes
 * that share a slot of that table, each has its entry here.
 *
 * The stores of an entry may become visible in any order, and those of two threads may be mixed,
 * since no entry is claimed. The stamp is made of the other words: where it doesn't match, they
 * say nothing. A thread ends its watchpoint by a store of 0 to `word`; with that of another thread
 * between, a thread's watchpoint is lost, a miss. `last` stays: host code that finds another stamp
 * there than just before, in an interval in which it doesn't synchronise, has met a watchpoint
 * that is over already (docs/soundness.md).
 */
#ifndef COLLIDER_RACE_LAYOUT_MIRROR_H
#define COLLIDER_RACE_LAYOUT_MIRROR_H

#include "race/record.h"

/* A map of the memory that host and device share has a bit for each 2 MiB of the address, modulo
 * RACE_HOST_PAGES. */
#define RACE_HOST_PAGE	  21u
#define RACE_HOST_PAGES	  32768u
#define RACE_MIRROR_SLOTS 32768u /* by words of 4 bytes */
#define RACE_MIRRORS	  4u	 /* contexts of a process that have one at a time */

struct race_mirror_entry {
	uint64_t word;	      /* stamp and RACE_MIRROR_ACTIVE, or 0 */
	uint64_t last;	      /* stamp */
	uint64_t table, grid; /* hash of the site table, %gridid */
	uint64_t half;	      /* RACE_WATCH_HALF_OF, with the context's number */
	uint64_t block;	      /* x, y << 32, z << 48 */
	uint64_t shape;	      /* of the block: RACE_WATCH_SHAPE; from bit 32 on %clock */
	uint64_t where;	      /* address << 4 | logarithm of the bytes << 1 | the access writes */
};

struct race_mirror {
	uint64_t map[RACE_HOST_PAGES / 64];
	struct race_mirror_entry entry[RACE_MIRROR_SLOTS];
};

RACE_STATIC_ASSERT(sizeof(struct race_mirror_entry) == 64, "one line");
RACE_STATIC_ASSERT(sizeof(struct race_mirror) % 4096 == 0, "registered by page");

#define RACE_MIRROR_ACTIVE     (1ull << 63)
#define RACE_MIRROR_ADDRESS(e) ((e)->where >> 4)
#define RACE_MIRROR_BYTES(e)   (1u << ((e)->where >> 1 & 7u))
#define RACE_MIRROR_WRITES(e)  ((e)->where & 1u)

RACE_FN uint32_t race_mirror_slot(uint64_t at)
{
	return (uint32_t)(at >> 2) & (RACE_MIRROR_SLOTS - 1u);
}

/* Never 0. Two of a thread differ by its clock. */
RACE_FN uint64_t race_mirror_stamp(const struct race_mirror_entry *e)
{
	const uint64_t part[6] = {e->table, e->grid, e->half, e->block, e->shape, e->where};
	uint64_t x = 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < 6u; i++) {
		x = (x ^ part[i]) * 0xd6e8feb86659fd93ull;
		x ^= x >> 32;
	}
	return (x & ~RACE_MIRROR_ACTIVE) | 1u;
}

#endif
