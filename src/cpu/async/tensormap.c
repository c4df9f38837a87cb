/*
 * tensormap.c - tensor maps: encoding, changing, and storing them.
 *
 * cpu_tensormap_encode checks what the driver's cuTensorMapEncodeTiled, ...Im2col and
 * ...Im2colWide document and writes our own 128 bytes (struct cpu_tensormap), which a
 * program passes as parameter or keeps in const or global memory.
 * tensormap.replace changes one field; an inconsistency is reported when the map is used.
 * tensormap.cp_fenceproxy copies a map from shared to global memory and releases it.
 *
 * Misses: restrictions of the hardware that no manual states.
 */
#include "cpu/async/async.h"
#include "cpu/memory/resolve.h"
#include "cpu/events.h"

#include <string.h>

#define MAGIC	 0x50414d524f534e54ull /* "TNSORMAP" */
#define MAX_RANK 5u

/* The numbers of cuda.h. */
enum {
	TYPE_F16 = 6,
	TYPE_TF32_FTZ = 12,
	TYPE_4X16 = 13,
	TYPE_COUNT = 16,
	INTERLEAVE_32 = 2,
	SWIZZLE_32 = 1,
	SWIZZLE_64 = 2,
	SWIZZLE_128 = 3,

	SWIZZLE_COUNT = 7
};

unsigned cpu_tensormap_elem_bits(unsigned type)
{
	static const uint8_t bits[TYPE_COUNT] = {8,  16, 32, 32, 64, 64, 16, 32,
						 64, 16, 32, 32, 32, 4,	 4,  6};

	return type < TYPE_COUNT ? bits[type] : 0;
}

static bool is_wide_packed(unsigned type)
{
	return type == CPU_TENSOR_4X16_P64 || type == CPU_TENSOR_6X16;
}

/* Bytes of n elements in shared memory; two packed types have 16 in 16 bytes there. */
static uint64_t bytes_of(unsigned type, uint64_t n)
{
	return is_wide_packed(type) ? n : n * cpu_tensormap_elem_bits(type) / 8;
}

static bool is_float(unsigned type)
{
	return type >= TYPE_F16 && type <= TYPE_TF32_FTZ;
}

static const char *check_shape(const struct cpu_tensormap_desc *d)
{
	uint64_t align = d->interleave == INTERLEAVE_32 || is_wide_packed(d->type) ? 32 : 16;

	if (!d->address || d->address % align)
		return align == 32 ? "the address is no multiple of 32"
				   : "the address is no multiple of 16";
	for (unsigned i = 0; i < d->rank; i++)
		if (!d->dims[i] || d->dims[i] > 1ull << 32)
			return "a dimension is not within 1 to 2^32";
	if (is_wide_packed(d->type) && d->dims[0] % 128)
		return "dimension 0 of a packed type is no multiple of 128";
	if (d->type == TYPE_4X16 && d->dims[0] % 2)
		return "dimension 0 of a packed type is odd";
	for (unsigned i = 0; i + 1 < d->rank; i++) {
		if (d->strides[i] % align)
			return align == 32 ? "a stride is no multiple of 32"
					   : "a stride is no multiple of 16";
		if (d->strides[i] >= 1ull << 40)
			return "a stride is 2^40 or more";
	}
	for (unsigned i = 0; i < d->rank; i++)
		if (!d->element_strides[i] || d->element_strides[i] > 8)
			return "an element stride is not within 1 to 8";
	return NULL;
}

static const char *check_inner(const struct cpu_tensormap_desc *d, uint64_t inner)
{
	static const uint16_t spans[SWIZZLE_COUNT] = {0, 32, 64, 128, 128, 128, 128};

	/* An H100's driver wants that of interleaved layouts, too, where it means nothing. */
	if (inner % 16)
		return "the inner dimension of the box is no multiple of 16 bytes";
	if (d->interleave)
		return NULL;
	if (d->swizzle && inner > spans[d->swizzle])
		return "the inner dimension of the box is wider than the swizzle";
	return NULL;
}

static const char *check_tile(const struct cpu_tensormap_desc *d)
{
	for (unsigned i = 0; i < d->rank; i++)
		if (!d->box[i] || d->box[i] > 256)
			return "a dimension of the box is not within 1 to 256";
	if (is_wide_packed(d->type) && d->box[0] != 128)
		return "dimension 0 of the box of a packed type is not 128";
	return check_inner(d, bytes_of(d->type, d->box[0]));
}

static const char *check_im2col(const struct cpu_tensormap_desc *d)
{
	int32_t most = d->rank == 3 || d->wide ? 32768 : d->rank == 4 ? 128 : 16;
	unsigned corners = d->wide ? 1 : d->rank - 2;

	if (d->rank < 3)
		return "im2col needs a rank of 3 or more";
	if (d->wide > CPU_TENSOR_WIDE_W128)
		return "unknown wide mode";
	if (d->wide && d->interleave)
		return "a wide mode can't be interleaved";
	if (d->wide && d->swizzle != SWIZZLE_64 && d->swizzle != SWIZZLE_128 &&
	    d->swizzle != CPU_SWIZZLE_ATOM_32)
		return "a wide mode needs swizzle 64B, 128B or 128B of 32";
	for (unsigned i = 0; i < corners; i++)
		if (d->lower[i] < -most || d->lower[i] >= most || d->upper[i] < -most ||
		    d->upper[i] >= most)
			return "a corner of the pixel box is out of range";
	for (unsigned i = 0; i < corners; i++)
		if ((int64_t)d->dims[i + !d->interleave] - 1 + d->upper[i] < d->lower[i])
			return "the pixel box is empty";
	if (is_wide_packed(d->type) && d->channels != 128)
		return "the number of channels of a packed type is not 128";
	if (!d->channels || d->channels > 256)
		return "the number of channels is not within 1 to 256";
	if (d->wide != CPU_TENSOR_WIDE_W128 && (!d->pixels || d->pixels > 1024))
		return "the number of pixels is not within 1 to 1024";
	return check_inner(d, bytes_of(d->type, d->channels));
}

static const char *check(const struct cpu_tensormap_desc *d)
{
	if (d->type >= TYPE_COUNT)
		return "unknown data type";
	if (!d->rank || d->rank > MAX_RANK)
		return "the rank is not within 1 to 5";
	if (d->interleave > INTERLEAVE_32)
		return "unknown interleave";
	if (d->interleave && d->rank < 3)
		return "an interleaved layout needs a rank of 3 or more";
	if (d->swizzle >= SWIZZLE_COUNT)
		return "unknown swizzle";
	if (d->interleave == INTERLEAVE_32 && d->swizzle != SWIZZLE_32)
		return "interleave 32B needs swizzle 32B";
	if (is_wide_packed(d->type) && d->interleave)
		return "a packed type can't be interleaved";
	if (is_wide_packed(d->type) && (d->swizzle == SWIZZLE_32 || d->swizzle == SWIZZLE_64))
		return "a packed type with this swizzle";
	if (d->l2 > 3)
		return "unknown L2 promotion";
	if (d->fill > 1 || (d->fill && !is_float(d->type)))
		return "out-of-bounds fill with NaN needs a floating-point type";
	const char *why = check_shape(d);
	if (why)
		return why;
	return d->is_im2col ? check_im2col(d) : check_tile(d);
}

const char *cpu_tensormap_encode(const struct cpu_tensormap_desc *d, void *out)
{
	struct cpu_tensormap tm = {.magic = MAGIC, .address = d->address};
	const char *why = check(d);

	if (why)
		return why;
	tm.type = (uint8_t)d->type;
	tm.rank = (uint8_t)d->rank;
	tm.interleave = (uint8_t)d->interleave;
	tm.swizzle = (uint8_t)d->swizzle;
	tm.atomicity = d->swizzle > SWIZZLE_128 ? (uint8_t)(d->swizzle - SWIZZLE_128) : 0;
	tm.l2 = (uint8_t)d->l2;
	tm.fill = (uint8_t)d->fill;
	tm.is_im2col = d->is_im2col;
	for (unsigned i = 0; i < d->rank; i++) {
		tm.dims[i] = (uint32_t)(d->dims[i] - 1);
		tm.box[i] = (uint16_t)(d->is_im2col ? 0 : d->box[i]);
		tm.element_strides[i] = (uint8_t)d->element_strides[i];
		if (i)
			tm.strides[i - 1] = d->strides[i - 1];
	}
	if (d->is_im2col) {
		for (unsigned i = 0; i < 3; i++) {
			tm.lower[i] = (int16_t)d->lower[i];
			tm.upper[i] = (int16_t)d->upper[i];
		}
		tm.channels = (uint16_t)d->channels;
		tm.pixels = (uint16_t)d->pixels;
		tm.wide = (uint8_t)d->wide;
	}
	memcpy(out, &tm, sizeof(tm));
	return NULL;
}

const char *cpu_tensormap_check(const struct cpu_tensormap *tm)
{
	struct cpu_tensormap_desc d = {
		.type = tm->type,
		.rank = tm->rank,
		.interleave = tm->interleave,
		.swizzle = tm->swizzle,
		.l2 = tm->l2,
		.fill = tm->fill,
		.address = tm->address,
		.is_im2col = tm->is_im2col,
		.channels = tm->channels,
		.pixels = tm->pixels,
		.wide = tm->wide,
	};

	if (tm->magic != MAGIC)
		return "these 128 bytes were not made by cuTensorMapEncode";
	for (unsigned i = 0; i < MAX_RANK; i++) {
		d.dims[i] = tm->dims[i] + 1ull;
		d.box[i] = tm->box[i];
		d.element_strides[i] = tm->element_strides[i];
	}
	memcpy(d.strides, tm->strides, sizeof(d.strides));
	for (unsigned i = 0; i < 3; i++) {
		d.lower[i] = tm->lower[i];
		d.upper[i] = tm->upper[i];
	}
	return check(&d);
}

bool cpu_tensormap_is(const void *map)
{
	struct cpu_tensormap tm;

	memcpy(&tm, map, sizeof(tm));
	return tm.magic == MAGIC;
}

bool cpu_tensormap_foreign(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
			   const void *map, uint64_t addr)
{
	if (!w->grid->m->opt.is_guest || cpu_tensormap_is(map))
		return false;
	cpu_fault(w, in, l, CPU_FAULT_UNKNOWN,
		  "no tensor map is known at 0x%llx: a kernel may have changed it, or it was made "
		  "before the run was followed",
		  (unsigned long long)addr);
	return true;
}

const char *cpu_tensormap_move(void *map, uint64_t address)
{
	struct cpu_tensormap tm;

	memcpy(&tm, map, sizeof(tm));
	tm.address = address;
	const char *why = cpu_tensormap_check(&tm);
	if (!why)
		memcpy(map, &tm, sizeof(tm));
	return why;
}

/* ---- tensormap.replace -------------------------------------------------------------- */

struct replace {
	struct cpu_addr addr;
	uint8_t space;
	uint16_t field; /* enum ptx_mod */
	uint32_t value; /* slot */
	bool is_wide;	/* .b64 */
	uint8_t ord;
};

/* PTX ISA 9.7.9.29 numbers the types in another order than the driver. */
static const uint8_t elem_types[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15};

/* Mode and atomicity are fields of their own; cuda.h numbers their combinations. */
static void set_swizzle(struct cpu_tensormap *tm, uint8_t mode, uint8_t atomicity)
{
	tm->atomicity = atomicity;
	tm->swizzle = mode == SWIZZLE_128 ? (uint8_t)(mode + atomicity) : mode;
}

/* Sets a field; false: the value does not fit it. */
static bool set_field(struct cpu_tensormap *tm, const struct replace *r, uint64_t v)
{
	uint64_t most = 255; /* for the fields of a byte */

	switch (r->field) {
	case PTX_MOD_GLOBAL_ADDRESS:
		tm->address = v;
		return true;
	case PTX_MOD_GLOBAL_STRIDE:
		tm->strides[r->ord] = v;
		return true;
	case PTX_MOD_GLOBAL_DIM: /* 0 stands for 2^32 */
		tm->dims[r->ord] = (uint32_t)(v - 1);
		return true;
	case PTX_MOD_BOX_DIM:
		tm->box[r->ord] = (uint16_t)v;
		return v <= 256;
	case PTX_MOD_ELEMENT_STRIDE:
		tm->element_strides[r->ord] = (uint8_t)v;
		return v <= most;
	case PTX_MOD_RANK: /* one less than the rank */
		tm->rank = (uint8_t)(v + 1);
		return v < MAX_RANK;
	case PTX_MOD_ELEMTYPE:
		if (v >= sizeof(elem_types))
			return false;
		tm->type = elem_types[v];
		return true;
	case PTX_MOD_INTERLEAVE_LAYOUT:
		tm->interleave = (uint8_t)v;
		return v <= 2;
	case PTX_MOD_SWIZZLE_MODE:
		set_swizzle(tm, (uint8_t)v, tm->atomicity);
		return v <= SWIZZLE_128;
	case PTX_MOD_SWIZZLE_ATOMICITY: /* 16 bytes, 32, 32 with a flip of 8, 64 */
		set_swizzle(tm, tm->swizzle < SWIZZLE_128 ? tm->swizzle : SWIZZLE_128, (uint8_t)v);
		return v <= 3;
	case PTX_MOD_FILL_MODE:
		tm->fill = (uint8_t)v;
		return v <= 1;
	default:
		return false;
	}
}

static void watch(struct cpu_warp *w, const struct cpu_inst *in, unsigned l, enum cpu_acc_kind kind,
		  uint8_t space, const uint64_t addr[CPU_WARP])
{
	struct cpu_acc acc = {.kind = (uint8_t)kind, .space = space, .sem = PTX_SEM_WEAK};

	if (cpu_event_takes(w, in))
		cpu_event_access(w, in, &acc, 1u << l, addr, sizeof(struct cpu_tensormap));
}

static enum cpu_step exec_replace(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct replace *r = in->aux;
	uint64_t addr[CPU_WARP];

	cpu_addresses(w, &r->addr, addr);
	CPU_EACH_LANE (l, mask) {
		struct cpu_tensormap tm;
		uint8_t *p = cpu_resolve(w, in, l,
					 &(struct cpu_range){.space = (enum ptx_space)r->space,
							     .addr = addr[l],
							     .bytes = sizeof(tm),
							     .align = 128,
							     .is_write = true});
		uint64_t v = r->is_wide ? cpu_u64(w, r->value)[l] : cpu_u32(w, r->value)[l];
		if (!p)
			return CPU_FAULTED;
		/* One weak access to the whole map (PTX ISA 9.7.9.29). */
		watch(w, in, l, CPU_ACC_STORE, r->space, addr);
		cpu_model_bypass(w, l, p, sizeof(tm));
		memcpy(&tm, p, sizeof(tm));
		if (cpu_tensormap_foreign(w, in, l, p, addr[l]))
			return CPU_FAULTED;
		if (tm.magic != MAGIC)
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "no tensor map is there");
		if (!set_field(&tm, r, v))
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "%llu is out of range for this field",
					 (unsigned long long)v);
		memcpy(p, &tm, sizeof(tm));
		if (cpu_model_has_ids(w))
			cpu_ids_mark(w->grid->m->events, p, sizeof(tm), 0);
	}
	return CPU_OK;
}

static enum cpu_bound bind_replace(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	static const struct {
		uint16_t mod;
		bool has_ord;
		uint8_t ords;
	} fields[] = {
		{PTX_MOD_GLOBAL_ADDRESS, false, 0}, {PTX_MOD_RANK, false, 0},
		{PTX_MOD_BOX_DIM, true, 5},	    {PTX_MOD_GLOBAL_DIM, true, 5},
		{PTX_MOD_GLOBAL_STRIDE, true, 4},   {PTX_MOD_ELEMENT_STRIDE, true, 5},
		{PTX_MOD_ELEMTYPE, false, 0},	    {PTX_MOD_INTERLEAVE_LAYOUT, false, 0},
		{PTX_MOD_SWIZZLE_MODE, false, 0},   {PTX_MOD_SWIZZLE_ATOMICITY, false, 0},
		{PTX_MOD_FILL_MODE, false, 0},
	};
	struct replace *r = cpu_dec_alloc(d, sizeof(*r));
	unsigned f = 0;

	while (f < BASE_COUNTOF(fields) && !ptx_form_has(s->form, (enum ptx_mod)fields[f].mod))
		f++;
	if (f == BASE_COUNTOF(fields))
		return cpu_dec_unsupported(d, in, "this field of a tensor map");
	unsigned v = fields[f].has_ord ? 2 : 1;
	if (s->nops != v + 1)
		return cpu_dec_unsupported(d, in, "operands of tensormap.replace");
	if (fields[f].has_ord) {
		const struct ptx_opnd *ord = &s->ops[1];
		if (ord->kind != PTX_OPND_INT || ord->imm < 0 || ord->imm >= fields[f].ords)
			return cpu_dec_unsupported(d, in, "ordinal of tensormap.replace");
		r->ord = (uint8_t)ord->imm;
	}
	r->field = fields[f].mod;
	r->is_wide = ptx_form_has(s->form, PTX_MOD_GLOBAL_ADDRESS) ||
		     ptx_form_has(s->form, PTX_MOD_GLOBAL_STRIDE);
	r->value = cpu_dec_src(d, &s->ops[v], r->is_wide ? PTX_TYPE_B64 : PTX_TYPE_B32);
	r->space = s->form->space;
	r->addr = cpu_dec_addr(d, s, &s->ops[0]);
	in->aux = r;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_replace;
	return CPU_BOUND;
}

/* ---- tensormap.cp_fenceproxy ----------------------------------------------------------- */

struct fenceproxy {
	struct cpu_addr dst, src;
	uint8_t dst_space, src_space, scope;
	const struct ptx_form *form;
};

static enum cpu_step exec_fenceproxy(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct fenceproxy *x = in->aux;
	unsigned l = (unsigned)__builtin_ctz(mask);
	uint64_t dst[CPU_WARP], src[CPU_WARP];

	cpu_addresses(w, &x->dst, dst);
	cpu_addresses(w, &x->src, src);
	cpu_release(w, mask, (enum ptx_scope)x->scope);
	/* .sync counts as bar.warp.sync: it is not specified which lane makes the copy. */
	cpu_event_warp_sync(w, in, mask);
	/* All lanes name the same two places: the warp makes one copy. */
	uint8_t *to = cpu_resolve(w, in, l,
				  &(struct cpu_range){.space = (enum ptx_space)x->dst_space,
						      .addr = dst[l],
						      .bytes = 128,
						      .align = 128,
						      .is_write = true});
	uint8_t *from = to ? cpu_resolve(w, in, l,
					 &(struct cpu_range){.space = (enum ptx_space)x->src_space,
							     .addr = src[l],
							     .bytes = 128,
							     .align = 128})
			   : NULL;
	if (!from)
		return CPU_FAULTED;
	watch(w, in, l, CPU_ACC_LOAD, x->src_space, src);
	watch(w, in, l, CPU_ACC_STORE, x->dst_space, dst);
	cpu_model_bypass(w, l, to, 128);
	memmove(to, from, 128);
	if (cpu_model_has_ids(w))
		cpu_ids_mark(w->grid->m->events, to, 128, 0);
	cpu_event_warp_sync(w, in, mask);
	if (cpu_event_takes(w, in))
		cpu_event_fence(w, in, mask, x->form, NULL);
	return CPU_OK;
}

static enum cpu_bound bind_fenceproxy(struct cpu_dec *d, const struct ptx_stmt *s,
				      struct cpu_inst *in)
{
	struct fenceproxy *x = cpu_dec_alloc(d, sizeof(*x));

	if (s->nops != 3 || s->ops[2].kind != PTX_OPND_INT || s->ops[2].imm != 128)
		return cpu_dec_unsupported(d, in, "a size other than 128");
	x->dst = cpu_dec_addr(d, s, &s->ops[0]);
	x->src = cpu_dec_addr(d, s, &s->ops[1]);
	x->dst_space = s->form->space;
	x->src_space = s->form->space2;
	x->scope = s->form->scope;
	x->form = s->form;
	in->aux = x;
	in->flags |= CPU_I_MEMORY | CPU_I_GATHER;
	in->gather = 0xff;
	in->fn = exec_fenceproxy;
	return CPU_BOUND;
}

enum cpu_bound cpu_bind_tensormap(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	return s->form->op == PTX_OP_TENSORMAP_REPLACE ? bind_replace(d, s, in)
						       : bind_fenceproxy(d, s, in);
}
