/*
 * matrix.h - matrices in shared memory that descriptors name (PTX ISA 9.7.15.5.1, 9.7.16.4).
 *
 * One place for what wgmma and tcgen05 read there: the CPU device reads these units, the prover
 * asks how far they reach.
 */
#ifndef COLLIDER_PTX_MATRIX_H
#define COLLIDER_PTX_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#define PTX_MATRIX_UNIT	     16u     /* bytes */
#define PTX_MATRIX_START     0x3fffu /* of a descriptor: where it starts, in units */
#define PTX_MATRIX_MAX_UNITS 1024u   /* of one operand of wgmma: 256 columns of 64 bytes (sparse) */

/* `rows` of A or columns of B, `k` elements each; units along k, if it isn't transposed. */
struct ptx_matrix_shape {
	uint32_t rows, k, units;
	uint32_t per; /* rows of a unit, transposed; 0: 8 */
	bool is_transposed;
};

/* Addresses in .shared of its units of 16 bytes: of a row after the other, transposed of a k after
 * the other; their number, which ptx_matrix_count says before. */
uint32_t ptx_matrix_units(uint64_t desc, const struct ptx_matrix_shape *s, uint32_t *at);
uint32_t ptx_matrix_count(const struct ptx_matrix_shape *s);
/* A swizzle exchanges units within so many bytes, at a multiple of that: 16 (none), 32, 64, 128. */
uint32_t ptx_matrix_line(uint64_t desc);

#endif
