/*
 * between.h - private to src/prove/order: what lies between two steps of a block's threads.
 */
#ifndef COLLIDER_PROVE_ORDER_BETWEEN_H
#define COLLIDER_PROVE_ORDER_BETWEEN_H

#include "prove/order/order.h"

/* Where phases begin, and the blocks that are reached from there before the next barrier. */
struct between {
	struct check *c;
	uint32_t n;
	uint32_t *after; /* the block that ends in the barrier; IR_NONE: the entry */
	bool **in;
	bool is_off;
};

/* Finds the phases when they are first asked for. False: they aren't known, or too many. */
bool between_find(struct between *g, struct check *c);
bool between_is_one_phase(const struct between *g, uint32_t a, uint32_t b);
/*
 * The block whose barrier begins each phase with block b, if that dominates b and is in the same
 * loop: then an iteration comes there once, and to b once after it. IR_NONE: that is the kernel's
 * entry, and b in no loop. False: there are several, or another loop's.
 */
bool between_find_start(const struct between *g, uint32_t b, uint32_t *after);

/* Marks of blocks: none yet. */
bool *between_none(const struct check *c);
/*
 * Marks what is reached from the start of a block: of the phase only, or through barriers, but not
 * beyond the block `but`, nor into `header` (IR_NONE: anywhere).
 */
void between_mark(const struct check *c, uint32_t from, bool is_phase, uint32_t but,
		  uint32_t header, bool *out);
/* ... what is reached after block b, or (IR_NONE) from the kernel's entry on. */
void between_mark_after(const struct check *c, uint32_t b, uint32_t but, uint32_t header,
			bool *out);

uint32_t between_header(const struct check *c, uint32_t loop);
/* The innermost loop with a barrier around a block, or IR_NONE. */
uint32_t between_round(const struct check *c, uint32_t b);
/* Does each thread that comes to y come to x before, in the same iteration of their loop? */
bool between_is_before(const struct check *c, const struct ev_access *x, const struct ev_access *y);

#endif
