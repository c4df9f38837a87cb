/*
 * private.h - private to src/prove/value: what eval.c and private.c share.
 */
#ifndef COLLIDER_PROVE_PRIVATE_H
#define COLLIDER_PROVE_PRIVATE_H

#include "prove/eval.h"

/* eval.c: a value of which nothing is known; `which` distinguishes several of one step. */
const struct ex *prove_ev_fresh(struct ev *e, uint32_t block, uint32_t step, unsigned which,
				unsigned w);

/* cells.c: rows without a value for all blocks, in the evaluation's arena. */
void prove_ev_make_cells(struct ev *e);
void prove_ev_set_cell(struct ev *e, uint32_t block, uint32_t cell, struct ev_cell v);
/* What comes into a block, by the conditions of its edges; nothing into the kernel's first one. */
void prove_ev_enter(struct ev *e, uint32_t b);

/* private.c: does an access to the thread's own memory. What is read, or NULL where that isn't
 * known. */
const struct ex *prove_ev_private(struct ev *e, const struct ev_access *a, const struct ex *guard);

#endif
