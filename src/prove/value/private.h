/*
 * private.h - private to src/prove/value: what eval.c and private.c share.
 */
#ifndef COLLIDER_PROVE_PRIVATE_H
#define COLLIDER_PROVE_PRIVATE_H

#include "prove/eval.h"

/* eval.c: a value of which nothing is known; `which` distinguishes several of one step. */
const struct ex *prove_ev_fresh(struct ev *e, uint32_t block, uint32_t step, unsigned which,
				unsigned w);

/* private.c: does an access to the thread's own memory. What is read, or NULL where that isn't
 * known. */
const struct ex *prove_ev_private(struct ev *e, const struct ev_access *a, const struct ex *guard);

#endif
