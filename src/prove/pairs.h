/*
 * pairs.h - private to src/prove: what a kernel's child process finds, as data for a pipe.
 */
#ifndef COLLIDER_PROVE_PAIRS_H
#define COLLIDER_PROVE_PAIRS_H

#include "prove/eval.h"
#include "prove/prove.h"

/* Analyses one kernel into *k; strings in arena. */
void pairs_check(struct ptx_module *m, struct ptx_func *f, const struct prove_options *o,
		 struct base_arena *arena, struct race_proof *k);

/* wire.c: a kernel's result as bytes and back. Returns false when the bytes are cut off. */
void wire_write(const struct race_proof *k, struct base_buf *out);
bool wire_read(struct base_arena *arena, const char *p, size_t n, struct race_proof *k);

#endif
