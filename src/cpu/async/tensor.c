/*
 * tensor.c - cp.async.bulk.tensor and cp.reduce.async.bulk.tensor, tile and im2col mode.
 *
 * The map is read at issue. The box is cut into rows of its innermost dimension,
 * the units of bulk.c; each row is moved between global memory, element 0's
 * address plus coordinates times strides, and shared memory, where rows lie
 * densely (or at the pitch of the swizzle's span, if that is wider) and 16-byte
 * chunks are permuted by the bits of their shared address. Elements outside of
 * the tensor read as 0 or NaN, and aren't written (PTX ISA 5.5).
 *
 * In im2col mode (5.5.4) a row is a pixel's channels. The pixels follow each other in a box of the
 * spatial dimensions, from the given one on, by the traversal strides: after a row of the box its
 * next, after the box the next image. The offsets of the instruction move them all, afterwards.
 *
 * Packed types of 4 and 6 bits (5.5.1.1.1) lie densely in global memory, and in shared memory, but
 * for the plain one of 4 bits, 16 in 16 bytes: the first 8 or 12 of them (the rest, undefined, is
 * 0 here), or, where 6 bits are stored, one in each byte.
 *
 * The whole box counts for the mbarrier, as many bytes as it has in global memory, parts out of
 * bounds included. Not implemented, refused by name: im2col::w, interleaved layouts (no manual says
 * where the slices lie), the swizzle that flips 8 bytes.
 * tile::gather4 and tile::scatter4 have four rows of a tensor of rank 2, by their numbers.
 *
 * With .cta_group::2 the mbarrier may be the other block's of the pair; a multicast signals, in the
 * pair of each destination, the block whose number in its pair is that of the mbarrier's block.
 * CUTLASS has the first block's by clearing bit 24 of an address, which is the block's number on
 * hardware: where the address comes from such an `and`, an own address is taken so.
 *
 * A store or reduction may reach over the far edges, and may not start before the near ones (CUDA
 * programming guide, tensor memory access; an H200 ends it as an illegal instruction).
 */
#include "cpu/async/async.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

#define ROW_MAX	 2048u /* bytes: 256 elements of 8 bytes */
#define CHUNK	 16u
#define SPAN	 128u /* the longest of a swizzle */
#define MAX_RANK 5u
#define GATHERED 4u /* rows */

struct tensor_aux {
	struct cpu_addr map, shared, mbar;
	uint32_t at[MAX_RANK];	       /* slots */
	uint32_t offset[MAX_RANK - 2]; /* slots, of im2col loads */
	uint8_t rank, op, shared_space;
	bool is_store, is_rows /* gather4, scatter4 */, is_im2col, is_pair,
		is_first /* of the pair */;
	uint32_t cta_mask; /* slot, or CPU_NOSLOT */
};

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
	unsigned image = b->rank - 1u;
	int64_t carry = index;

	for (unsigned i = 1; i < image; i++) {
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

#define ATOM_32	       4 /* of CUtensorMapSwizzle: spans of 128 bytes, units of 32, of 64 */
#define ATOM_32_FLIP_8 5
#define ATOM_64	       6

static uint32_t swizzled(const struct cpu_tensor_box *b, uint32_t at)
{
	uint32_t row = at >> 7;

	if (b->swizzle == ATOM_32)
		return at ^ (row & 3) << 5;
	if (b->swizzle == ATOM_64)
		return at ^ (row & 1) << 6;
	return at ^ (row & ((1u << b->swizzle) - 1)) << 4;
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
		fill_nan(to, b->moved, b->bits / 8);
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

/* ---- issue --------------------------------------------------------------------------- */

/* The read of the map belongs to the issuing thread, but is in the tensormap proxy: hardware reads
 * it some time before the copy completes. */
static void judge_map(struct cpu_warp *w, const struct cpu_inst *in, unsigned l, uint64_t addr)
{
	struct cpu_acc acc = {.kind = CPU_ACC_LOAD,
			      .space = PTX_SPACE_GENERIC,
			      .sem = PTX_SEM_WEAK,
			      .proxy = PTX_PROXY_TENSORMAP};
	uint64_t at[CPU_WARP] = {0};

	at[l] = addr;
	cpu_event_access(w, in, &acc, 1u << l, at, sizeof(struct cpu_tensormap));
}

/* Copies the map of lane l; false: no map, fault raised. */
static bool read_map(struct cpu_warp *w, const struct cpu_inst *in, unsigned l, uint64_t addr,
		     struct cpu_tensormap *tm)
{
	const struct tensor_aux *x = in->aux;
	const uint8_t *p = cpu_resolve(w, in, l,
				       &(struct cpu_range){.space = PTX_SPACE_GENERIC,
							   .addr = addr,
							   .bytes = sizeof(*tm),
							   .align = 64});

	if (!p)
		return false;
	if (cpu_event_takes(w, in))
		judge_map(w, in, l, addr);
	memcpy(tm, p, sizeof(*tm));
	const char *why = cpu_tensormap_check(tm);
	if (why)
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "bad tensor map: %s", why);
	else if (tm->interleave || tm->swizzle == ATOM_32_FLIP_8)
		cpu_fault(w, in, l, CPU_FAULT_UNSUPPORTED, "tensor map with %s",
			  tm->interleave ? "an interleaved layout"
					 : "a swizzle that flips 8 bytes");
	else if (tm->is_im2col != x->is_im2col)
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "a tensor map of %s in a copy of %s",
			  tm->is_im2col ? "pixels (im2col)" : "tiles",
			  x->is_im2col ? "pixels (im2col)" : "tiles");
	else if (x->is_store && tm->type == CPU_TENSOR_4X16_P64)
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
			  "a tensor store of 4-bit elements with gaps");
	else if (tm->rank != x->rank)
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "a tensor map of rank %u in a %uD copy",
			  tm->rank, x->rank);
	else
		return true;
	return false;
}

/* The pixels' box: the corners are from those of the tensor. */
static void set_corners(struct cpu_tensor_box *b, const struct cpu_tensormap *tm)
{
	b->is_im2col = true;
	b->count[0] = tm->channels;
	for (unsigned i = 1; i < MAX_RANK; i++)
		b->count[i] = i == 1 ? tm->pixels : 1;
	for (unsigned i = 0; i + 2 < tm->rank; i++) {
		b->lower[i] = tm->lower[i];
		b->upper[i] = (int64_t)tm->dims[i + 1] + tm->upper[i];
	}
}

static void make_box(struct cpu_tensor_box *b, const struct cpu_tensormap *tm)
{
	b->address = tm->address;
	b->bits = cpu_tensormap_elem_bits(tm->type);
	b->rank = tm->rank;
	b->type = tm->type;
	b->swizzle = tm->swizzle;
	b->is_nan_filled = tm->fill;
	for (unsigned i = 0; i < MAX_RANK; i++) {
		bool is_used = i < tm->rank;
		b->step[i] = is_used && i ? tm->element_strides[i] : 1;
		b->count[i] = is_used ? (tm->box[i] + b->step[i] - 1) / b->step[i] : 1;
		b->dims[i] = is_used ? tm->dims[i] + 1ull : 1;
		b->at[i] = 0;
		if (i)
			b->strides[i - 1] = is_used ? tm->strides[i - 1] : 0;
	}
	if (tm->is_im2col)
		set_corners(b, tm);
	b->moved = b->count[0] * b->bits / 8;
	b->inner = tm->type == CPU_TENSOR_4X16_P64 || tm->type == CPU_TENSOR_6X16 ? b->count[0]
										  : b->moved;
	uint32_t span = b->swizzle > 3 ? SPAN : b->swizzle ? CHUNK << b->swizzle : 0;
	b->pitch = b->inner < span ? span : b->inner;
}

/* The element type of a reduction into the map's tensor; NONE: there is no such. */
static enum ptx_type reduce_type(uint8_t type, uint8_t op)
{
	static const uint8_t types[] = {
		[2] = PTX_TYPE_U32, [3] = PTX_TYPE_S32, [4] = PTX_TYPE_U64,  [5] = PTX_TYPE_S64,
		[6] = PTX_TYPE_F16, [7] = PTX_TYPE_F32, [9] = PTX_TYPE_BF16,
	};
	enum ptx_type t = type < sizeof(types) ? (enum ptx_type)types[type] : PTX_TYPE_NONE;

	if (ptx_type_class(t) == PTX_CLASS_FLOAT && op != CPU_RED_ADD && op != CPU_RED_MIN &&
	    op != CPU_RED_MAX)
		return PTX_TYPE_NONE;
	return t;
}

/* Loads may start before the tensor's first element, stores may not. */
static bool is_storable(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
			const struct cpu_tensor_box *b)
{
	for (unsigned i = 0; i < MAX_RANK; i++) {
		if (b->at[i] >= 0)
			continue;
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
			  "a tensor store to coordinate %lld of dimension %u, which is negative",
			  (long long)b->at[i], i);
		return false;
	}
	return true;
}

/* Packed types begin with a whole byte, those with gaps with a whole row of a box. */
static bool is_packed_start(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
			    const struct cpu_tensor_box *b)
{
	int32_t of = b->inner != b->moved ? 128 : b->bits < 8 ? 2 : 1;

	if (b->at[0] % of == 0)
		return true;
	cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
		  "coordinate %d of dimension 0 is no multiple of %d, as this packed type needs it",
		  b->at[0], of);
	return false;
}

/* Four rows, each of a box of one row. */
static bool set_rows(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
		     struct cpu_tensor_box *b)
{
	if (b->count[1] != 1) {
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
			  "a copy of four rows by a tensor map whose box has %u, not 1",
			  b->count[1]);
		return false;
	}
	b->is_rows = true;
	b->count[1] = GATHERED;
	return true;
}

/* The mbarrier's address in the cluster. */
static uint32_t mbar_of(const struct cpu_warp *w, const struct tensor_aux *x, uint64_t addr)
{
	uint32_t mbar = cpu_shared_canonical(w->cta, addr);

	if (x->is_first && addr < CPU_RANK)
		mbar = mbar % CPU_RANK + ((mbar / CPU_RANK - 1) / 2 * 2 + 1) * CPU_RANK;
	return mbar;
}

/* Only by .cta_group::2 the mbarrier is another block's than the destination. */
static bool is_of_pair(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
		       const struct cpu_bulk_part *part)
{
	const struct tensor_aux *x = in->aux;
	uint32_t a = (uint32_t)part->dst / CPU_RANK - 1, b = part->mbar / CPU_RANK - 1;

	if (!x->is_pair || x->cta_mask != CPU_NOSLOT || a / 2 == b / 2)
		return true;
	cpu_fault(
		w, in, l, CPU_FAULT_ILLEGAL,
		".cta_group::2 with the mbarrier of block %u and memory of block %u, which are no "
		"pair",
		b, a);
	return false;
}

static bool issue_lane(struct cpu_warp *w, const struct cpu_inst *in, unsigned l, uint64_t map,
		       uint64_t shared, uint64_t mbar)
{
	const struct tensor_aux *x = in->aux;
	struct cpu_bulk_part part = {.byte_mask = 0xffff};
	struct cpu_tensor_box *b = &part.box;
	struct cpu_tensormap tm;

	if (!read_map(w, in, l, map, &tm))
		return false;
	make_box(b, &tm);
	if (x->is_rows && !set_rows(w, in, l, b))
		return false;
	for (unsigned i = 0; i < (x->is_rows ? 1 + GATHERED : x->rank); i++)
		b->at[i] = (int32_t)cpu_u32(w, x->at[i])[l];
	for (unsigned i = 0; x->is_im2col && !x->is_store && i + 2 < x->rank; i++)
		b->offset[i] = cpu_u16(w, x->offset[i])[l];
	if (x->is_store && !b->is_im2col && !is_storable(w, in, l, b))
		return false;
	if (!is_packed_start(w, in, l, b))
		return false;
	part.units = b->count[1] * b->count[2] * b->count[3] * b->count[4];
	part.unit = b->inner;
	uint8_t *p = cpu_resolve(w, in, l,
				 &(struct cpu_range){.space = (enum ptx_space)x->shared_space,
						     .addr = shared,
						     .bytes = (uint64_t)part.units * b->pitch,
						     .align = 128,
						     .is_write = !x->is_store});
	if (!p)
		return false;
	cpu_model_bypass(w, l, p, (uint64_t)part.units * b->pitch);
	if (!x->is_store && !cpu_resolve(w, in, l,
					 &(struct cpu_range){.space = PTX_SPACE_SHARED_CLUSTER,
							     .addr = mbar,
							     .bytes = 8,
							     .align = 8,
							     .is_write = true}))
		return false;
	enum ptx_type type = x->op ? reduce_type(tm.type, x->op) : PTX_TYPE_NONE;
	if (x->op && type == PTX_TYPE_NONE) {
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
			  "no such reduction for the tensor map's element type");
		return false;
	}
	part.is_store = part.is_staged = x->is_store;
	part.src_space = x->is_store ? PTX_SPACE_SHARED_CLUSTER : PTX_SPACE_GLOBAL;
	part.dst_space = x->is_store ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED_CLUSTER;
	part.src = x->is_store ? cpu_shared_canonical(w->cta, shared) : tm.address;
	part.dst = x->is_store ? tm.address : cpu_shared_canonical(w->cta, shared);
	part.mbar = x->is_store ? 0 : mbar_of(w, x, mbar);
	if (!x->is_store && !is_of_pair(w, in, l, &part))
		return false;
	struct cpu_bulk_job job = {.kind = CPU_TR_TENSOR,
				   .completion =
					   x->is_store ? CPU_DONE_BULK_GROUP : CPU_DONE_MBARRIER,
				   .op = x->op,
				   .type = (uint8_t)type,
				   .cta_mask = x->cta_mask,
				   .is_pair = x->is_pair,
				   .what = "a tensor copy"};
	return cpu_bulk_issue(w, in, l, &job, &part);
}

static enum cpu_step exec_tensor(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct tensor_aux *x = in->aux;
	uint64_t map[CPU_WARP], shared[CPU_WARP], mbar[CPU_WARP];

	memset(mbar, 0, sizeof(mbar));
	cpu_addresses(w, &x->map, map);
	cpu_addresses(w, &x->shared, shared);
	if (!x->is_store)
		cpu_addresses(w, &x->mbar, mbar);
	if (x->is_store && !x->op)
		mask = cpu_async_distinct(w, mask, map, shared, x->at,
					  x->is_rows ? 1 + GATHERED : x->rank);
	CPU_EACH_LANE (l, mask)
		if (!issue_lane(w, in, l, map[l], shared[l], mbar[l]))
			return CPU_FAULTED;
	return CPU_OK;
}

/* ---- binding -------------------------------------------------------------------------- */

static const char *find_unsupported(const struct ptx_form *f)
{
	static const enum ptx_mod mods[] = {
		PTX_MOD_IM2COL_W,
		PTX_MOD_IM2COL_W_128,
	};

	for (size_t i = 0; i < BASE_COUNTOF(mods); i++)
		if (ptx_form_has(f, mods[i]))
			return ptx_mod_name(mods[i]);
	return f->has_unknown_mod ? "an unknown modifier" : NULL;
}

#define BLOCK_BIT 0x1000000u

/* Is the address from an `and` that clears the bit of the block's number in its pair? */
static bool is_cleared(const struct ptx_stmt *at, const struct ptx_opnd *op)
{
	if (op->kind != PTX_OPND_ADDR || !op->nsub || op->sub[0].kind != PTX_OPND_REG)
		return false;
	for (const struct ptx_stmt *s = at->prev; s; s = s->prev) {
		if (s->kind != PTX_STMT_INST || s->form->op != PTX_OP_AND || s->nops != 3 ||
		    s->ops[0].kind != PTX_OPND_REG || s->ops[0].reg != op->sub[0].reg ||
		    s->ops[2].kind != PTX_OPND_INT)
			continue;
		if ((uint32_t)s->ops[2].imm >> 24 == (uint32_t)~BLOCK_BIT >> 24)
			return true;
	}
	return false;
}

/* [map, {c0, c1}] */
static bool bind_map(struct cpu_dec *d, const struct ptx_stmt *s, const struct ptx_opnd *op,
		     struct tensor_aux *x)
{
	struct ptx_opnd base = *op;

	if (op->kind != PTX_OPND_ADDR || op->nsub != 2)
		return false;
	base.nsub = 1;
	x->map = cpu_dec_addr(d, s, &base);
	const struct ptx_opnd *at = &op->sub[1];
	unsigned n = at->kind == PTX_OPND_VEC ? at->nsub : 1;
	if (n != (x->is_rows ? 1 + GATHERED : x->rank))
		return false;
	for (unsigned i = 0; i < n; i++)
		x->at[i] =
			cpu_dec_src(d, at->kind == PTX_OPND_VEC ? &at->sub[i] : at, PTX_TYPE_S32);
	return true;
}

/* {w, h, d} */
static bool bind_offsets(struct cpu_dec *d, const struct ptx_opnd *op, struct tensor_aux *x)
{
	unsigned n = op->kind == PTX_OPND_VEC ? op->nsub : 1;

	if (n + 2 != x->rank)
		return false;
	for (unsigned i = 0; i < n; i++)
		x->offset[i] =
			cpu_dec_src(d, op->kind == PTX_OPND_VEC ? &op->sub[i] : op, PTX_TYPE_U16);
	return true;
}

enum cpu_bound cpu_bind_tensor(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	static const enum ptx_mod ranks[] = {PTX_MOD_N1D, PTX_MOD_N2D, PTX_MOD_N3D, PTX_MOD_N4D,
					     PTX_MOD_N5D};
	const struct ptx_form *f = s->form;
	struct tensor_aux *x = cpu_dec_alloc(d, sizeof(*x));
	const char *why = find_unsupported(f);
	unsigned n = 2;

	if (why)
		return cpu_dec_unsupported(d, in, why);
	for (unsigned i = 0; i < BASE_COUNTOF(ranks); i++)
		if (ptx_form_has(f, ranks[i]))
			x->rank = (uint8_t)(i + 1);
	x->is_store = ptx_form_has(f, PTX_MOD_BULK_GROUP);
	x->is_pair = ptx_form_has(f, PTX_MOD_CTA_GROUP_2);
	x->is_rows =
		ptx_form_has(f, PTX_MOD_TILE_GATHER4) || ptx_form_has(f, PTX_MOD_TILE_SCATTER4);
	x->is_im2col = ptx_form_has(f, PTX_MOD_IM2COL) || ptx_form_has(f, PTX_MOD_IM2COL_NO_OFFS);
	if (f->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR) {
		enum cpu_red_op op;
		enum ptx_type type;
		(void)cpu_reduce_find(f, &op, &type); /* the type is the map's */
		x->op = (uint8_t)op;
	}
	x->shared_space = x->is_store ? f->space2 : f->space;
	if (s->nops < 2 + !x->is_store || !x->rank ||
	    !bind_map(d, s, &s->ops[x->is_store ? 0 : 1], x))
		return cpu_dec_unsupported(d, in, "operands of a tensor copy");
	x->shared = cpu_dec_addr(d, s, &s->ops[x->is_store ? 1 : 0]);
	if (!x->is_store) {
		x->is_first = x->is_pair && is_cleared(s, &s->ops[n]);
		x->mbar = cpu_dec_addr(d, s, &s->ops[n++]);
	}
	if (x->is_im2col && !x->is_store && (n >= s->nops || !bind_offsets(d, &s->ops[n++], x)))
		return cpu_dec_unsupported(d, in, "offsets of a tensor copy");
	x->cta_mask = CPU_NOSLOT;
	if (ptx_form_has(f, PTX_MOD_MULTICAST_CLUSTER))
		x->cta_mask = cpu_dec_src(d, &s->ops[n++], PTX_TYPE_U16);
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_tensor;
	return CPU_BOUND;
}
