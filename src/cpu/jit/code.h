/*
 * code.h - inside cpu/jit: memory for machine code.
 */
#ifndef COLLIDER_CPU_JIT_CODE_H
#define COLLIDER_CPU_JIT_CODE_H

#include <stdint.h>

#include "cpu/jit/ir.h"

/* A run as machine code, in pages of its own that are never writable and executable at once. */
struct jit_code {
	void (*call)(uint8_t *frame, const uint8_t *consts, uint32_t mask, uint32_t zero,
		     const uint8_t *pool, const uint64_t *groups);
	const uint8_t *pool;
	uint32_t bytes; /* of the pages, which begin with this structure */
	uint8_t n;	/* instructions */
	uint8_t ngroups;
	uint8_t ways; /* of its loads (loads.h) */
	struct jit_group groups[];
};

/* n instructions that g has made. NULL: the system gives no executable memory, or all that machine
 * code may take is taken. */
struct jit_code *jit_code_new(const struct jit_text *t, const struct jit_gen *g, unsigned n);
void jit_code_free(struct jit_code *c);

#endif
