/*
 * tensor.c - cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: tiles, four rows, pixels.
 *
 * The map is read at issue, and says with the coordinates which box is copied; tensor_rows.c moves
 * its rows. The whole box counts for the mbarrier, as many bytes as it has in global memory, parts
 * out of bounds included.
 * Interleaved layouts (PTX ISA 5.5.6) as an H100 has them, since no manual says it: dimension 0
 * counts pixels along W, each a slice of 16 or 32 bytes whatever the element type is; the last
 * dimension but one counts slices of channels. A copy moves one of these, the box's size there and
 * the number of channels of im2col mean nothing. The order is N, C/8, D, H, W, C8.
 * tile::gather4 and tile::scatter4 have four rows of a tensor of rank 2, by their numbers.
 *
 * With .cta_group::2 the mbarrier may be the other block's of the pair; a multicast signals, in the
 * pair of each destination, the block whose number in its pair is that of the mbarrier's block.
 * CUTLASS has the first block's by clearing bit 24 of an address, which is the block's number on
 * hardware: where the address comes from such an `and`, an own address is taken so.
 *
 * A store or reduction may reach over the far edges, and may not start before the near ones (CUDA
 * programming guide, tensor memory access; an H200 ends it as an illegal instruction). The first
 * coordinate must lead to a multiple of 16 bytes, of loads, too (so an H100; no manual says it).
 */
#include "cpu/async/async.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK	 16u
#define SPAN	 128u /* the longest of a swizzle */
#define MAX_RANK CPU_TENSOR_RANK
#define GATHERED 4u /* rows */

struct tensor_aux {
	struct cpu_addr map, shared, mbar;
	uint32_t at[MAX_RANK];	       /* slots */
	uint32_t offset[MAX_RANK - 2]; /* slots, of im2col loads */
	uint8_t rank, op, shared_space;
	uint8_t wide; /* CPU_TENSOR_WIDE_*: then offset[0] is the halo, [1] of W */
	bool is_store, is_rows /* gather4, scatter4 */, is_im2col, is_pair;
	uint32_t cta_mask; /* slot, or CPU_NOSLOT */
};

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

static const char *mode_name(bool is_im2col, uint8_t wide)
{
	static const char *const names[] = {"pixels (im2col)", "pixels (im2col::w)",
					    "pixels (im2col::w::128)"};

	return is_im2col ? names[wide] : "tiles";
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
	if (cpu_tensormap_foreign(w, in, l, p, addr))
		return false;
	const char *why = cpu_tensormap_check(tm);
	if (why)
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "bad tensor map: %s", why);
	else if (x->is_store && tm->swizzle == CPU_SWIZZLE_ATOM_32_FLIP_8)
		cpu_fault(
			w, in, l, CPU_FAULT_ILLEGAL,
			"a tensor store with a swizzle that flips 8 bytes, which only loads have");
	else if (tm->is_im2col != x->is_im2col || tm->wide != x->wide)
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "a tensor map of %s in a copy of %s",
			  mode_name(tm->is_im2col, tm->wide), mode_name(x->is_im2col, x->wide));
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

static uint32_t slice_bytes(const struct cpu_tensormap *tm)
{
	return CHUNK << (tm->interleave - 1);
}

/* Does a row of the box have more than one slice? */
static bool has_long_rows(const struct cpu_tensormap *tm)
{
	return !tm->is_im2col && tm->element_strides[0] == 1;
}

/* An interleaved box: its rows along W; or single slices, and then W is dimension 1, the others
 * follow, and the slice of channels is in the address (set_start). */
static void set_slices(struct cpu_tensor_box *b, const struct cpu_tensormap *tm)
{
	unsigned channels = tm->rank - 2u;

	b->bits = slice_bytes(tm) * 8;
	if (has_long_rows(tm)) {
		b->count[channels] = 1;
		return;
	}
	for (unsigned i = channels; i; i--) {
		uint32_t step = tm->element_strides[i - 1];
		b->step[i] = step;
		b->count[i] = (tm->box[i - 1] + step - 1) / step;
		b->dims[i] = tm->dims[i - 1] + 1ull;
		b->strides[i - 1] = i > 1 ? tm->strides[i - 2] : slice_bytes(tm);
	}
	b->count[0] = 1;
	b->dims[0] = 1;
	if (!tm->is_im2col)
		return;
	for (unsigned i = 1; i < MAX_RANK; i++)
		b->count[i] = i == 1 ? tm->pixels : 1;
	for (unsigned i = 0; i < channels; i++)
		b->upper[i] = (int64_t)tm->dims[i] + tm->upper[i];
}

static void set_start(struct cpu_tensor_box *b, const struct cpu_tensormap *tm, const int32_t *c,
		      unsigned n)
{
	unsigned channels = tm->rank - 2u;

	memcpy(b->at, c, n * sizeof(c[0]));
	if (!tm->interleave || has_long_rows(tm))
		return;
	memcpy(b->at + 1, c, channels * sizeof(c[0]));
	b->at[0] = 0;
	if (c[channels] < 0 || (uint32_t)c[channels] > tm->dims[channels])
		b->dims[0] = 0; /* nothing is inside */
	else
		b->address += (uint32_t)c[channels] * tm->strides[channels - 1];
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
	if (tm->interleave)
		set_slices(b, tm);
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
static bool is_storable(struct cpu_warp *w, const struct cpu_inst *in, unsigned l, const int32_t *c)
{
	for (unsigned i = 0; i < MAX_RANK; i++) {
		if (c[i] >= 0)
			continue;
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
			  "a tensor store to coordinate %d of dimension %u, which is negative",
			  c[i], i);
		return false;
	}
	return true;
}

/* Rows begin with a multiple of 16 bytes; packed types with a whole byte, those with gaps with a
 * whole row of a box. */
static bool is_good_start(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
			  const struct cpu_tensor_box *b)
{
	bool is_packed = b->inner != b->moved || b->bits < 8;
	int32_t of = b->inner != b->moved ? 128 : b->bits < 8 ? 2 : (int32_t)(CHUNK * 8 / b->bits);

	if (of < 2 || b->at[0] % of == 0)
		return true;
	cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
		  "coordinate %d of dimension 0 is no multiple of %d, as %s", b->at[0], of,
		  is_packed ? "this packed type needs it" : "copies begin at 16 bytes");
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

#define W128	  128u /* pixels, with a halo after each 32 */
#define W128_EACH 32u

/* The offsets of an instruction, or its halo. False: a fault was raised. */
static bool set_offsets(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
			struct cpu_tensor_box *b)
{
	const struct tensor_aux *x = in->aux;
	bool is_128 = x->wide == CPU_TENSOR_WIDE_W128;
	uint32_t most = is_128 ? 32 : 512, pixels = is_128 ? W128 : b->count[1];

	if (!x->wide) {
		for (unsigned i = 0; i + 2 < x->rank; i++)
			b->offset[i] = cpu_u16(w, x->offset[i])[l];
		return true;
	}
	b->halo = cpu_u16(w, x->offset[0])[l];
	b->offset[0] = cpu_u16(w, x->offset[1])[l];
	b->each = is_128 ? W128_EACH : pixels;
	b->count[1] = pixels + pixels / b->each * b->halo;
	if (b->halo < most && b->offset[0] < 32)
		return true;
	cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
		  "a halo of %u and an offset of %u: less than %u and 32 are allowed", b->halo,
		  b->offset[0], most);
	return false;
}

/* Only by .cta_group::2 the mbarrier is another block's than the destination. */
static bool is_of_pair(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
		       const struct cpu_bulk_part *part)
{
	const struct tensor_aux *x = in->aux;
	uint32_t a = (uint32_t)part->dst / CPU_RANK, b = part->mbar / CPU_RANK;

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
	int32_t at[MAX_RANK] = {0};
	unsigned n = x->is_rows ? 1 + GATHERED : x->rank;
	enum ptx_space space = (enum ptx_space)x->shared_space;

	if (!read_map(w, in, l, map, &tm))
		return false;
	make_box(b, &tm);
	if (x->is_rows && !set_rows(w, in, l, b))
		return false;
	for (unsigned i = 0; i < n; i++)
		at[i] = (int32_t)cpu_u32(w, x->at[i])[l];
	set_start(b, &tm, at, n);
	if (x->is_im2col && !x->is_store && !set_offsets(w, in, l, b))
		return false;
	if (x->is_store && !b->is_im2col && !is_storable(w, in, l, at))
		return false;
	if (!is_good_start(w, in, l, b))
		return false;
	part.units = b->count[1] * b->count[2] * b->count[3] * b->count[4];
	part.unit = b->inner;
	uint8_t *p = cpu_resolve(w, in, l,
				 &(struct cpu_range){.space = space,
						     .addr = shared,
						     .bytes = (uint64_t)part.units * b->pitch,
						     .align = 128,
						     .is_write = !x->is_store});
	if (!p)
		return false;
	cpu_model_bypass(w, l, p, (uint64_t)part.units * b->pitch);
	if (!x->is_store && !cpu_resolve(w, in, l,
					 &(struct cpu_range){.space = space,
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
	part.src = x->is_store ? cpu_shared_canonical(w->cta, space, shared) : tm.address;
	part.dst = x->is_store ? tm.address : cpu_shared_canonical(w->cta, space, shared);
	part.mbar = x->is_store ? 0 : cpu_shared_canonical(w->cta, space, mbar);
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

/* {w, h, d}, or {halo, w} */
static bool bind_offsets(struct cpu_dec *d, const struct ptx_opnd *op, struct tensor_aux *x)
{
	unsigned n = op->kind == PTX_OPND_VEC ? op->nsub : 1;

	if (n != (x->wide ? 2 : x->rank - 2u))
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
	unsigned n = 2;

	if (f->has_unknown_mod)
		return cpu_dec_unsupported(d, in, "an unknown modifier");
	for (unsigned i = 0; i < BASE_COUNTOF(ranks); i++)
		if (ptx_form_has(f, ranks[i]))
			x->rank = (uint8_t)(i + 1);
	x->is_store = ptx_form_has(f, PTX_MOD_BULK_GROUP);
	x->is_pair = ptx_form_has(f, PTX_MOD_CTA_GROUP_2);
	x->is_rows =
		ptx_form_has(f, PTX_MOD_TILE_GATHER4) || ptx_form_has(f, PTX_MOD_TILE_SCATTER4);
	x->wide = ptx_form_has(f, PTX_MOD_IM2COL_W)	  ? CPU_TENSOR_WIDE_W
		  : ptx_form_has(f, PTX_MOD_IM2COL_W_128) ? CPU_TENSOR_WIDE_W128
							  : CPU_TENSOR_NOT_WIDE;
	x->is_im2col = x->wide || ptx_form_has(f, PTX_MOD_IM2COL) ||
		       ptx_form_has(f, PTX_MOD_IM2COL_NO_OFFS);
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
