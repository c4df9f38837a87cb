/*
 * lines.c - the bytes that a wmma.load or wmma.store accesses.
 *
 * PTX leaves open which lane has which element of a fragment, but it says which bytes the warp
 * accesses (PTX ISA 9.7.14.3): the matrix's lines (rows or columns, by the layout), a stride apart,
 * each of one length. All lines have a power of two of bytes and begin at multiples of 16 bytes, or
 * of their length, so a warp can share them out by pieces of 16 or 8 bytes, one or two a lane.
 */
#include "instrument/internal.h"

#include <stdio.h>
#include <string.h>

#define PIECE	   16u
#define MAX_PIECES 64u /* of the largest: 32 by 16 elements of 2 bytes, 16 by 16 of 4 */

bool inst_find_shape(const struct ptx_form *fm, unsigned mnk[3], struct ptx_str *spelled)
{
	int end;

	for (uint32_t i = 0; i + 5 < fm->text.n; i++) {
		char part[20];
		uint32_t n = fm->text.n - i < sizeof(part) - 1 ? fm->text.n - i
							       : (uint32_t)sizeof(part) - 1;
		memcpy(part, fm->text.p + i, n);
		part[n] = 0;
		if (sscanf(part, ".m%3un%3uk%3u%n", &mnk[0], &mnk[1], &mnk[2], &end) == 3) {
			*spelled = (struct ptx_str){fm->text.p + i + 1, (uint32_t)end - 1};
			return mnk[0] && mnk[1] && mnk[2];
		}
	}
	return false;
}

static unsigned bits_of(enum ptx_type type)
{
	switch (type) {
	case PTX_TYPE_B1:
		return 1;
	case PTX_TYPE_S4:
	case PTX_TYPE_U4:
		return 4;
	case PTX_TYPE_TF32: /* its elements have 32 bits */
		return 32;
	default:
		return 8 * ptx_type_bytes(type);
	}
}

/* A matrix of neither .a nor .b is C or D. */
bool inst_find_lines(const struct ptx_form *fm, struct inst_lines *x)
{
	bool is_a = ptx_form_has(fm, PTX_MOD_A), is_b = ptx_form_has(fm, PTX_MOD_B);
	bool is_col = ptx_form_has(fm, PTX_MOD_COL);
	struct ptx_str spelled;
	unsigned mnk[3];

	if ((fm->op != PTX_OP_WMMA_LOAD && fm->op != PTX_OP_WMMA_STORE) || !fm->ntypes ||
	    !inst_find_shape(fm, mnk, &spelled) || (!is_col && !ptx_form_has(fm, PTX_MOD_ROW)))
		return false;
	unsigned rows = is_b ? mnk[2] : mnk[0], cols = is_a ? mnk[2] : mnk[1];
	x->is_factor = is_a || is_b;
	x->elems = is_col ? rows : cols;
	x->bits = bits_of((enum ptx_type)fm->types[0]);
	x->bytes = x->elems * x->bits / 8;
	x->piece = x->bytes < PIECE ? x->bytes : PIECE;
	if ((x->piece != PIECE && x->piece != PIECE / 2) || x->bytes & (x->bytes - 1))
		return false;
	x->pieces = (is_col ? cols : rows) * (x->bytes / x->piece);
	return x->pieces <= MAX_PIECES;
}
