/*
 * atomic_ops.h - inside cpu/exec: an atomic's operation on memory (atomic_ops.c).
 */
#ifndef COLLIDER_CPU_EXEC_ATOMIC_OPS_H
#define COLLIDER_CPU_EXEC_ATOMIC_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx/ptx.h"

union atomic_value {
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	uint64_t half[2];
	float f32;
	double f64;
};

/* Does the operation on the bytes at p; *old gets the previous value. is_ftz: f32 additions flush
 * subnormals (global memory only, as the ISA says of its implementations). */
typedef void atomic_fn(void *p, const union atomic_value *b, const union atomic_value *c,
		       union atomic_value *old, bool is_ftz);

/* Lanes one after the other: lane l's operand is b[l], its memory at addr[l] + delta; d gets the
 * previous values, unless it is NULL. */
struct atomic_batch {
	const uint64_t *addr;
	uint64_t delta;
	const void *b;
	void *d;
	uint32_t mask;
	bool is_one; /* all at one address */
	bool is_own; /* the block's shared memory: no other thread of the host has it */
	bool is_ftz;
};
typedef void atomic_batch_fn(const struct atomic_batch *x);

/* Of an operation on a type. */
struct atomic_op {
	atomic_fn *one;
	atomic_batch_fn *batch; /* NULL: it swaps */
};

/* NULL: there is no such operation. */
const struct atomic_op *atomic_op_of(const struct ptx_form *f);

#endif
