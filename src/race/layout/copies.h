/*
 * copies.h - what hirace and iguard keep of a thread's cp.async until the thread waits for them.
 *
 * A copy that is under way is its own thread's no more than any other's: nothing orders it with
 * what any thread accesses after it was issued. Its words say so until the thread's wait, which has
 * to find them again: their addresses are a ring in the thread's own memory, oldest first, with the
 * number of the group that each is in. A copy for which there is no room counts as a write of its
 * thread at once, so that only what happens before the wait is missed; it is counted
 * (accesses_aside).
 *
 * Freestanding C, compiled by CUDA C too.
 */
#ifndef COLLIDER_RACE_LAYOUT_COPIES_H
#define COLLIDER_RACE_LAYOUT_COPIES_H

#include <stdint.h>

#include "race/record.h"

#define RACE_COPIES 64u

struct race_copy {
	uint32_t at; /* an address of shared memory */
	uint32_t is; /* words of 4 bytes, and from bit 3 on the group */
};
#define RACE_COPY_WORDS(is)	   ((is)&7u)
#define RACE_COPY_IS(words, group) ((words) | (group) << 3)

struct race_copies {
	uint32_t first, n; /* of the ring */
	uint32_t group;	   /* groups that were committed; 29 bits count */
	uint32_t reserved;
	struct race_copy place[RACE_COPIES];
};
#define RACE_COPIES_HEAD 16u /* bytes, 0 at a kernel's entry */

/* What a statement does to them: waits until so many groups are left; for all, whatever group they
 * are in; or commits a group. */
#define RACE_COPIES_ALL	   0x80000000u
#define RACE_COPIES_COMMIT 0x40000000u

/* What a check is given of a cp.async's write, beside the bits of race/layout/history.h, iguard.h
 * and held.h. */
#define RACE_COPY_ISSUED (1ull << 60)

RACE_STATIC_ASSERT(sizeof(struct race_copies) == RACE_COPIES_HEAD + 8u * RACE_COPIES, "no gap");

#endif
