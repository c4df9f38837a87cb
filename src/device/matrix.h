/*
 * matrix.h - part of hirace.cu and iguard.cu: wmma.load and wmma.store, as accesses of the warp.
 *
 * PTX says which bytes the warp accesses, lines a stride apart (instrument/lines.c), and leaves
 * open which lane accesses which. So the lanes share them out, by pieces of 16 bytes or 8. Who has
 * a piece follows from its address alone: two matrices of one warp that have bytes in common have
 * them in the same lane, as a warp may store a fragment and load it again with nothing in between.
 * Any other lane of the warp, or thread, is one that nothing orders with the access.
 *
 * `matrix` is RACE_MATRIX, with the logarithm of an element's bits, and the stride in the low word.
 * The includer has included device/held.h. Misses: what races within the warp with the one lane
 * that has the piece; lines that don't begin at a multiple of a piece. Costs: 64 rounds of ten
 * instructions, and a call for each piece, two or three of one lane.
 */
#ifndef COLLIDER_DEVICE_MATRIX_H
#define COLLIDER_DEVICE_MATRIX_H

DEV_FN void dev_matrix(uint64_t me, uint64_t state, uint64_t table, uint64_t base, uint64_t what,
		       uint64_t matrix)
{
	uint32_t shift = RACE_MATRIX_LINE(matrix), bytes = RACE_MATRIX_PIECE(matrix), lane;

	DEV_SREG32(lane, "%laneid");
#pragma unroll 1
	for (uint32_t i = 0; i < RACE_MATRIX_PIECES(matrix); i++) {
		uint64_t at =
			base +
			((uint64_t)(i >> shift) * (uint32_t)matrix << RACE_MATRIX_ELEM(matrix) >>
			 3) +
			(i & ((1u << shift) - 1u)) * bytes;

		if (at % bytes == 0 && (uint32_t)(at >> 4) * 0x9e3779b1u >> 27 == lane)
			DEV_HELD_CHECK(me, state, table, at, what);
	}
}

#endif
