/*
 * tensor_rows.c - the rows of a tensor copy's box: where they are, moved on the way of the box.
 *
 * The box is cut into rows of its innermost dimension, the units of bulk.c; each row is moved
 * between global memory, element 0's address plus coordinates times strides, and shared memory,
 * where rows lie densely (or at the pitch of the swizzle's span, if that is wider) and 16-byte
 * chunks are permuted by the bits of their shared address. Elements outside of the tensor read as 0
 * or NaN, and aren't written (PTX ISA 5.5).
 *
 * In im2col mode (5.5.4) a row is a pixel's channels. The pixels follow each other in a box of the
 * spatial dimensions, from the given one on, by the traversal strides: after a row of the box its
 * next, after the box the next image. The offsets of the instruction move them all, afterwards.
 * In im2col::w and ::w::128 (5.5.5) the box is one of a row; after its end comes the next image;
 * the offset moves the box, too. The halo's pixels follow, in the same row, the last one of all, or
 * of each 32: the ISA doesn't say what they are where the row ends. They may be outside.
 *
 * Packed types of 4 and 6 bits (5.5.1.1.1) lie densely in global memory, and in shared memory, but
 * for the plain one of 4 bits, 16 in 16 bytes: the first 8 or 12 of them (the rest, undefined, is
 * 0 here), or, where 6 bits are stored, one in each byte.
 *
 * Rows of interleaved layouts have slices of 16 or 32 bytes as elements (tensor.c).
 */
#include "cpu/async/async.h"
#include "cpu/events.h"

#include <string.h>

#define ROW_MAX	 8192u /* bytes: 256 slices of 32 bytes */
#define CHUNK	 16u
#define MAX_RANK CPU_TENSOR_RANK

/* ---- rows ------------------------------------------------------------------------ */

/* The place of a row: address of its element 0, which may be out of bounds. */
struct row {
	bool is_inside;	     /* in all dimensions but the innermost */
	uint64_t address;    /* of the first element inside */
	uint32_t from, upto; /* bytes of the row that are inside */
};

/* The k-th place of the box along a dimension. */
static int64_t place_along(const struct cpu_tensor_box *b, unsigned dim, uint32_t k)
{
	if (b->is_rows)
		return dim == 1 ? b->at[1 + k] : 0;
	return b->at[dim] + (int64_t)k * b->step[dim];
}

/* Coordinates, without the innermost, of the pixel so many after the first. */
static void place_pixel(const struct cpu_tensor_box *b, uint32_t index, int64_t c[MAX_RANK])
{
	unsigned image = b->rank - 1u, walked = b->each ? 2 : image;
	uint32_t beyond = 0; /* pixels of the halo, up to this one */
	int64_t carry = index;

	if (b->each) {
		uint32_t in = index % (b->each + b->halo);
		beyond = in < b->each ? 0 : in - b->each + 1;
		carry = index / (b->each + b->halo) * b->each + in - beyond;
	}
	for (unsigned i = walked; i < image; i++)
		c[i] = b->at[i];
	for (unsigned i = 1; i < walked; i++) {
		int64_t step = b->step[i], lower = b->lower[i - 1], upper = b->upper[i - 1];
		int64_t first = b->at[i] <= upper ? (upper - b->at[i]) / step + 1 : 1;
		int64_t each = (upper - lower) / step + 1;

		if (carry < first) {
			c[i] = b->at[i] + carry * step;
			carry = 0;
		} else {
			c[i] = lower + (carry - first) % each * step;
			carry = (carry - first) / each + 1;
		}
		c[i] += b->offset[i - 1];
	}
	c[1] += (int64_t)beyond * b->step[1];
	c[image] = b->at[image] + carry;
}

static void place_box(const struct cpu_tensor_box *b, uint32_t index, int64_t c[MAX_RANK])
{
	for (unsigned i = 1; i < MAX_RANK; i++) {
		c[i] = place_along(b, i, index % b->count[i]);
		index /= b->count[i];
	}
}

static struct row place_row(const struct cpu_tensor_box *b, uint32_t index)
{
	struct row r = {.is_inside = true, .address = b->address};
	int64_t first = b->at[0], dim = (int64_t)b->dims[0], n = b->count[0], c[MAX_RANK] = {0};

	if (b->is_im2col)
		place_pixel(b, index, c);
	else
		place_box(b, index, c);
	for (unsigned i = 1; i < MAX_RANK; i++) {
		if (c[i] < 0 || (uint64_t)c[i] >= b->dims[i])
			r.is_inside = false;
		else
			r.address += (uint64_t)c[i] * b->strides[i - 1];
	}
	int64_t lo = first < 0 ? -first : 0, hi = dim - first < n ? dim - first : n;
	if (lo >= hi)
		r.is_inside = false;
	r.from = (uint32_t)lo * b->bits / 8;
	r.upto = (uint32_t)hi * b->bits / 8;
	r.address += (uint64_t)((first + lo) * b->bits / 8);
	return r;
}

static uint32_t swizzled(const struct cpu_tensor_box *b, uint32_t at)
{
	uint32_t row = at >> 7;

	if (b->swizzle == CPU_SWIZZLE_ATOM_32 || b->swizzle == CPU_SWIZZLE_ATOM_32_FLIP_8)
		return at ^ (row & 3) << 5;
	if (b->swizzle == CPU_SWIZZLE_ATOM_64)
		return at ^ (row & 1) << 6;
	return at ^ (row & ((1u << b->swizzle) - 1)) << 4;
}

static void flip(uint8_t *chunk)
{
	uint64_t half[2];

	memcpy(half, chunk, CHUNK);
	memcpy(chunk, &half[1], 8);
	memcpy(chunk + 8, &half[0], 8);
}

/* Copies a row between `plain` bytes and its chunks at the shared address `at`. */
static void swizzle_row(const struct cpu_tensor_box *b, uint32_t at, uint8_t *shared,
			uint8_t *plain, bool is_store)
{
	if (!b->swizzle && is_store)
		memcpy(plain, shared, b->inner);
	else if (!b->swizzle)
		memcpy(shared, plain, b->inner);
	for (uint32_t off = 0; b->swizzle && off < b->inner; off += CHUNK) {
		uint32_t to = swizzled(b, at + off);
		if (is_store)
			memcpy(plain + off, shared + (to - at), CHUNK);
		else
			memcpy(shared + (to - at), plain + off, CHUNK);
		/* Loads only: each other line of 128 bytes has the halves of chunks exchanged. */
		if (b->swizzle == CPU_SWIZZLE_ATOM_32_FLIP_8 && to >> 7 & 1)
			flip(shared + (to - at));
	}
}

static void fill_nan(uint8_t *p, uint32_t bytes, uint32_t elem)
{
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = i % elem == elem - 1 ? 0x7f : 0xff;
}

static void flush_subnormals(uint8_t *p, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i += 4) {
		uint32_t v;
		memcpy(&v, p + i, 4);
		if (!(v & 0x7f800000))
			v &= 0x80000000;
		memcpy(p + i, &v, 4);
	}
}

#define PACKED 16u /* elements, in a chunk of shared memory */

/* Each 16 elements to the beginning of 16 bytes. */
static void unpack(const struct cpu_tensor_box *b, const uint8_t *from, uint8_t *plain)
{
	uint32_t bytes = PACKED * b->bits / 8;

	memset(plain, 0, b->inner);
	for (uint32_t i = 0; i < b->count[0] / PACKED; i++)
		memcpy(plain + i * CHUNK, from + i * bytes, bytes);
}

/* The low 6 bits of each byte. */
static void pack_6(const uint8_t *plain, uint8_t *to, uint32_t n)
{
	memset(to, 0, n * 6 / 8);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = (uint32_t)(plain[i] & 63) << i * 6 % 8, at = i * 6 / 8;
		to[at] |= (uint8_t)v;
		if (v >> 8)
			to[at + 1] |= (uint8_t)(v >> 8);
	}
}

/* Global to `plain`. */
static bool load_row(struct cpu_transfer *t, const struct row *r, uint8_t *plain)
{
	const struct cpu_tensor_box *b = &t->bulk.box;
	uint8_t dense[ROW_MAX], *to = b->inner == b->moved ? plain : dense;

	if (b->is_nan_filled)
		fill_nan(to, b->moved, cpu_tensormap_elem_bits(b->type) / 8);
	else
		memset(to, 0, b->moved);
	if (r->is_inside) {
		const uint8_t *src = cpu_resolve_async(t->warp->cta, t->in, PTX_SPACE_GLOBAL,
						       r->address, r->upto - r->from, 0, false);
		if (!src)
			return false;
		cpu_event_part(t, cpu_transfer_lane(t), false, src, r->upto - r->from);
		memcpy(to + r->from, src, r->upto - r->from);
		if (b->type == 10 || b->type == 12) /* FLOAT32_FTZ, TFLOAT32_FTZ */
			flush_subnormals(to + r->from, r->upto - r->from);
	}
	if (to != plain)
		unpack(b, to, plain);
	return true;
}

static bool store_row(struct cpu_transfer *t, const struct row *r, const uint8_t *plain)
{
	const struct cpu_tensor_box *b = &t->bulk.box;
	uint8_t dense[ROW_MAX];

	if (!r->is_inside)
		return true;
	uint8_t *dst = cpu_resolve_async(t->warp->cta, t->in, PTX_SPACE_GLOBAL, r->address,
					 r->upto - r->from, 0, true);
	if (!dst)
		return false;
	cpu_event_part(t, cpu_transfer_lane(t), true, dst, r->upto - r->from);
	if (b->inner != b->moved) {
		pack_6(plain, dense, b->count[0]);
		plain = dense;
	}
	if (t->op)
		cpu_reduce(dst, plain + r->from, r->upto - r->from, (enum cpu_red_op)t->op,
			   (enum ptx_type)t->type);
	else
		memcpy(dst, plain + r->from, r->upto - r->from);
	return true;
}

static bool shared_row(struct cpu_transfer *t, uint32_t index, uint8_t *plain)
{
	const struct cpu_bulk_part *b = &t->bulk;
	uint32_t at = (uint32_t)(b->is_store ? b->src : b->dst) + index * b->box.pitch;
	uint8_t *shared = cpu_resolve_async(t->warp->cta, t->in, PTX_SPACE_SHARED_CLUSTER, at,
					    b->box.pitch, 0, !b->is_store);

	if (shared)
		cpu_event_part(t, cpu_transfer_lane(t), !b->is_store, shared, b->box.pitch);
	if (shared)
		swizzle_row(&b->box, at, shared, plain, b->is_store);
	return shared != NULL;
}

bool cpu_tensor_rows(struct cpu_transfer *t, uint32_t row, uint32_t n, bool is_read, bool is_write)
{
	struct cpu_bulk_part *b = &t->bulk;
	uint8_t local[ROW_MAX];

	for (uint32_t i = row; i < row + n; i++) {
		uint8_t *plain = b->is_staged ? b->buffer + (size_t)i * b->box.inner : local;
		struct row r = place_row(&b->box, i);
		if (is_read && !(b->is_store ? shared_row(t, i, plain) : load_row(t, &r, plain)))
			return false;
		if (is_write && !(b->is_store ? store_row(t, &r, plain) : shared_row(t, i, plain)))
			return false;
	}
	return true;
}
