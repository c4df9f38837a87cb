/*
 * fragment.h - inside src/cpu: which element of a matrix each lane's register holds, for mma and
 * wmma. A fragment spread over a warp is one dense matrix to the arithmetic.
 */
#ifndef COLLIDER_CPU_FRAGMENT_H
#define COLLIDER_CPU_FRAGMENT_H

#include "cpu/machine.h"

enum cpu_frag_use { CPU_FRAG_A, CPU_FRAG_B, CPU_FRAG_C, CPU_FRAG_D };

struct cpu_shape {
	uint16_t m, n, k;
};

#define CPU_FRAG_REGS  16
#define CPU_FRAG_CELLS 1024 /* of the largest matrix: m16k64 */

struct cpu_frag {
	uint8_t type;  /* enum ptx_type of an element */
	uint8_t nregs; /* registers of a lane that hold elements of their own */
	uint8_t nops;  /* operands; those from nregs on repeat the first */
	uint8_t per;   /* elements of a register */
	uint8_t bits;  /* of an element */
	/* Index in the dense matrix, A [m][k], B [k][n], C and D [m][n]: pos[(reg * 32 + lane) *
	 * per + i] */
	uint16_t *pos;
	uint32_t slots[CPU_FRAG_REGS];
};

/* The shape in a form's spelling, ".m16n8k16"; false: there is none. */
bool cpu_shape_find(const struct ptx_form *f, struct cpu_shape *s);
/* Which matrix of which product a fragment is. */
struct cpu_frag_kind {
	enum cpu_frag_use use;
	struct cpu_shape shape;
	enum ptx_type type;
	bool is_quad; /* the four 8x8x4 products of m8n8k4 with f16, ... */
	bool is_col;  /* ... of which this is the layout */
	bool is_byte; /* an element of 4 or 6 bits has a byte */
};
/* Fills f from its operand; NULL, or what does not fit. */
const char *cpu_frag_bind(struct cpu_dec *d, struct cpu_frag *f, const struct ptx_opnd *op,
			  const struct cpu_frag_kind *kind);

#endif
