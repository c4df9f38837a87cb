/*
 * matrix.c - which units of 16 bytes a descriptor of a matrix in shared memory means (matrix.h).
 *
 * A descriptor holds, in units of 16 bytes, where the matrix starts and two offsets, and how it is
 * swizzled (PTX ISA 9.7.15.5.1). Rows along k lie 16, 32, 64 or 128 bytes apart, by swizzle,
 * groups of 8 rows the stride offset apart; without a swizzle the second unit of a row is the
 * leading offset away. Transposed, a unit is 8 elements of one k: the units of 8 k lie as the rows
 * above, groups of 8 k the stride offset apart and groups of rows the leading one; without a
 * swizzle the two offsets change places. A swizzle exchanges units: bits 4 to 6 of an address are
 * changed by bits 7 to 9, as many as it has; the base offset says where its pattern begins.
 * tcgen05 has one more: 128 bytes, of which units of 32 are exchanged, bits 5 and 6 by 7 and 8, and
 * of which groups are of 4 k. And its leading offset may be an address (9.7.16.3.1.2): where a row
 * of 48 bytes leaves the 128 bytes that it begins in, the rest is there.
 */
#include "ptx/matrix.h"

#define FIELD(desc, at) ((uint32_t)((desc) >> (at)&0x3fff) << 4)

struct layout {
	uint32_t start, leading, stride, base;
	uint32_t width;	 /* units of a row of the pattern: 1, 2, 4, 8 */
	bool is_32;	 /* units of 32 bytes are exchanged */
	bool is_address; /* leading: where a row goes on */
};

static struct layout layout_of(uint64_t desc)
{
	static const uint8_t width[4] = {1, 8, 4, 2};

	return (struct layout){.start = FIELD(desc, 0),
			       .leading = FIELD(desc, 16),
			       .stride = FIELD(desc, 32),
			       .base = (uint32_t)(desc >> 49) & 7,
			       .width = desc >> 61 == 1 ? 8 : width[desc >> 62],
			       .is_32 = desc >> 61 == 1,
			       .is_address = (desc >> 52 & 1) != 0};
}

static uint32_t swizzled(const struct layout *l, uint32_t at)
{
	uint32_t row = (at >> 7) - l->base;

	if (l->is_32)
		return at ^ (row & 3) << 5;
	return at ^ (row & (l->width - 1)) << 4;
}

static uint32_t unit_along_k(const struct layout *l, uint32_t row, uint32_t u)
{
	uint32_t at = l->start + row / 8 * l->stride + row % 8 * l->width * PTX_MATRIX_UNIT;
	uint32_t inside = l->width - l->start / PTX_MATRIX_UNIT % l->width; /* units of a row */

	if (l->is_address && u >= inside)
		return swizzled(l, at + (l->leading - l->start) + (u - inside) * PTX_MATRIX_UNIT);
	at += u / l->width * l->leading + u % l->width * PTX_MATRIX_UNIT;
	return swizzled(l, at);
}

/* Unit u of the rows, at one k. */
static uint32_t unit_along_rows(const struct layout *l, uint32_t k, uint32_t u)
{
	uint32_t group = l->is_32 ? 4 : 8;
	uint32_t at = l->start + k % group * l->width * PTX_MATRIX_UNIT;

	if (l->width == 1)
		return at + u * l->stride + k / group * l->leading;
	at += u / l->width * l->leading + u % l->width * PTX_MATRIX_UNIT + k / group * l->stride;
	return swizzled(l, at);
}

static uint32_t across(const struct ptx_matrix_shape *s)
{
	return s->rows / (s->per ? s->per : 8);
}

uint32_t ptx_matrix_count(const struct ptx_matrix_shape *s)
{
	return s->is_transposed ? s->k * across(s) : s->rows * s->units;
}

uint32_t ptx_matrix_units(uint64_t desc, const struct ptx_matrix_shape *s, uint32_t *at)
{
	struct layout l = layout_of(desc);
	uint32_t n = 0;

	if (s->is_transposed) {
		for (uint32_t k = 0; k < s->k; k++)
			for (uint32_t u = 0; u < across(s); u++)
				at[n++] = unit_along_rows(&l, k, u);
		return n;
	}
	for (uint32_t row = 0; row < s->rows; row++)
		for (uint32_t u = 0; u < s->units; u++)
			at[n++] = unit_along_k(&l, row, u);
	return n;
}

uint32_t ptx_matrix_line(uint64_t desc)
{
	return layout_of(desc).width * PTX_MATRIX_UNIT;
}
