/*
 * apart_order.h - random kernels of which the order of groups of blocks decides what they leave.
 */
#ifndef TESTS_CPU_APART_ORDER_H
#define TESTS_CPU_APART_ORDER_H

#include "base/base.h"

#define APART_WORDS    16384u		       /* of an array */
#define APART_COUNTER  (4 * (APART_WORDS - 2)) /* of blocks, in the last array */
#define APART_COUNTER2 (4 * (APART_WORDS - 4)) /* another one */
#define APART_SLOTS    (4 * (APART_WORDS / 2)) /* what blocks have published, by number: 1,024 */

/* How blocks of a kernel take numbers: the first thread of each, of one counter; or not quite. */
enum apart_tickets {
	APART_NONE,
	APART_EACH,
	APART_WIDE,    /* of 64 bits */
	APART_HALF,    /* every second block */
	APART_TWO,     /* of two counters */
	APART_ROWS,    /* the first thread of each warp: blocks have two rows of 32 threads */
	APART_LANES,   /* several threads of one warp: four rows of eight */
	APART_CLUSTER, /* blocks come in pairs */
	APART_TICKETS
};

/* What few accesses do otherwise. */
enum apart_rare {
	APART_PLAIN,
	APART_SHARED, /* a generic address is one of shared memory */
	APART_FAULT,  /* a strong store is at no multiple of its bytes */
	APART_END,    /* ... or after the array's end */
	/* Blocks meet otherwise, or a thread its own strong accesses: */
	APART_OWN_READ, /* it stores strongly, and loads that */
	APART_OWN_WRITE,
	APART_READ, /* a flag is read, where others store strongly */
	APART_WRITE,
	APART_BOTH, /* each thread stores the same word strongly, and reads it */
	APART_COUNT_READ,
	APART_COUNT_WRITE,
	APART_COUNT_STRONG,
	APART_COUNT_UPDATE,
	APART_WEAK_WRITES, /* neighbours write each other's words */
	APART_WEAK_READS,
	APART_RARE
};

struct apart_order {
	enum apart_tickets tickets;
	bool is_strong; /* flags are accessed by loads and stores, too, not by atomics only */
	enum apart_rare rare;
};

/* What the kernels of a program have in common; makes draws. */
struct apart_order apart_order_draw(uint64_t *rng, bool is_right);
/* A kernel `k<number>`(in, out, sums, queue, base), as apart_random.c launches it. */
void apart_order_kernel(const struct apart_order *o, uint64_t *rng, struct base_buf *to,
			unsigned number);

#endif
