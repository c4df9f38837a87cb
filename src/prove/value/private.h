/*
 * private.h - private to src/prove/value: what eval.c and private.c share.
 */
#ifndef COLLIDER_PROVE_PRIVATE_H
#define COLLIDER_PROVE_PRIVATE_H

#include "prove/eval.h"

/* eval.c: a value of which nothing is known; `which` distinguishes several of one step. */
const struct ex *prove_ev_fresh(struct ev *e, uint32_t block, uint32_t step, unsigned which,
				unsigned w);

/* ... of this level, by an identity of its own. */
const struct ex *prove_ev_fresh_of(struct ev *e, uint32_t block, uint64_t id, unsigned w,
				   enum ex_level level);

/* common.c: the one value that a load gives all threads of a block, or of the grid; or NULL. */
const struct ex *prove_ev_common(struct ev *e, const struct ev_access *a);
/* ... does nothing write to the bytes of a load from a place of its own in an array? */
bool prove_ev_is_untouched(struct ev *e, const struct ev_access *a);
/* ... what it goes by in the next turn, once this one is done. */
void prove_ev_note_stores(struct ev *e);
void prove_ev_free_common(struct ev *e);

/* cells.c: registers of one definition that are read where not all ways have come by it, so that
 * they need cells. Sets keeps_undefined; where that isn't so there are none. */
const bool *prove_ev_find_open(struct ev *e);
/* Rows without a value for all blocks, in the evaluation's arena. */
void prove_ev_make_cells(struct ev *e);
void prove_ev_set_cell(struct ev *e, uint32_t block, uint32_t cell, struct ev_cell v);
/* What comes into a block, by the conditions of its edges; nothing into the kernel's first one. */
void prove_ev_enter(struct ev *e, uint32_t b);

/* floats.c: the least and the greatest number that the bits of an instruction's result can be. */
struct ex_range prove_ev_float_bounds(const struct ir_step *st, const struct ex *const *x);

/* private.c: does an access to the thread's own memory. What is read, or NULL where that isn't
 * known. */
const struct ex *prove_ev_private(struct ev *e, const struct ev_access *a, const struct ex *guard);

#endif
