/*
 * assume.h - private to src/prove: assumptions that come as text (--assume).
 */
#ifndef COLLIDER_PROVE_ASSUME_H
#define COLLIDER_PROVE_ASSUME_H

#include "prove/names.h"

/*
 * Reads an expression in C's syntax over blockDim.x and its like, parameters by name or number
 * ($2),
 * and numbers; or distinct(VARIABLE), injective(PARAMETER) and injective(PARAMETER, N). All
 * arithmetic is
 * that of 64-bit signed numbers. NULL: *out has the assumption; else what is wrong, in n->arena.
 * n->e NULL: only the syntax is looked at.
 */
const char *assume_read(struct names *n, struct ev *e, const char *text, struct ev_assume *out);

#endif
