/*
 * move.c - mov (packing and unpacking too), selp, slct, cvta, isspacep, mapa, getctarank,
 * createpolicy. PTX ISA 9.7.6, 9.7.9.
 *
 * mov from a special register is special.c's. The address of a variable is a constant, but in
 * .local it counts from the lane's own frame. Generic addresses are windows (machine.h): cvta adds
 * or subtracts the window's start, without a test, as the hardware does.
 * A cache policy has no effect here: createpolicy gives 0.
 */
#include "cpu/alu/alu.h"
#include "cpu/jit/rows.h"

cpu_binder CPU_BINDER(move);

/* ---- mov ----------------------------------------------------------------------- */

ALU_UN(mov_16, uint16_t, uint16_t, a)
ALU_UN(mov_32, uint32_t, uint32_t, a)
ALU_UN(mov_64, uint64_t, uint64_t, a)

ALU_HEAD(mov_128)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint64_t, , a[l])
	d += CPU_WARP;
	a += CPU_WARP;
	ALU_LOOP_(ALU_HINT_VECTOR, uint64_t, , a[l])
	return CPU_OK;
}

ALU_HEAD(mov_pred)
{
	cpu_set_pred(w, in->dst[0], *cpu_pred(w, in->src[0]) ^ (uint32_t)in->imm, mask);
	return CPU_OK;
}

/* imm, counted from the frame of .local variables of each lane. */
ALU_HEAD(local_32)
{
	const uint32_t *fp = w->fp[w->cur->depth];
	uint32_t *d = cpu_u32(w, in->dst[0]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , fp[l] + (uint32_t)in->imm)
	return CPU_OK;
}

ALU_HEAD(local_64)
{
	const uint32_t *fp = w->fp[w->cur->depth];
	uint64_t *d = cpu_u64(w, in->dst[0]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint64_t, , fp[l] + in->imm)
	return CPU_OK;
}

ALU_HEAD(pack_2x32)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint64_t, , (uint64_t)b[l] << 32 | a[l])
	return CPU_OK;
}

ALU_HEAD(pack_2x16)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint16_t *a = cpu_u16(w, in->src[0]), *b = cpu_u16(w, in->src[1]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , (uint32_t)b[l] << 16 | a[l])
	return CPU_OK;
}

ALU_HEAD(unpack_2x32)
{
	const uint64_t *a = cpu_u64(w, in->src[0]);

	for (unsigned i = 0; i < 2; i++) {
		uint32_t *d = cpu_u32(w, in->dst[i]);
		ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , a[l] >> 32 * i)
	}
	return CPU_OK;
}

ALU_HEAD(unpack_2x16)
{
	const uint32_t *a = cpu_u32(w, in->src[0]);

	for (unsigned i = 0; i < 2; i++) {
		uint16_t *d = cpu_u16(w, in->dst[i]);
		ALU_LOOP_(ALU_HINT_VECTOR, uint16_t, , a[l] >> 16 * i)
	}
	return CPU_OK;
}

/* All other packings: by way of 128 bits per lane. */
struct vector {
	unsigned count, bits; /* of an element */
	uint32_t slots[];     /* CPU_NOSLOT: the sink */
};

static void read_lanes(struct cpu_warp *w, uint32_t slot, unsigned bits, uint64_t v[CPU_WARP])
{
	for (unsigned l = 0; l < CPU_WARP; l++)
		v[l] = bits == 64   ? cpu_u64(w, slot)[l]
		       : bits == 32 ? cpu_u32(w, slot)[l]
				    : cpu_u16(w, slot)[l];
}

static void write_lanes(struct cpu_warp *w, uint32_t slot, unsigned bits, uint32_t mask,
			const uint64_t v[CPU_WARP])
{
	CPU_EACH_LANE (l, mask) {
		if (bits == 64)
			cpu_u64(w, slot)[l] = v[l];
		else if (bits == 32)
			cpu_u32(w, slot)[l] = (uint32_t)v[l];
		else
			cpu_u16(w, slot)[l] = (uint16_t)(bits == 8 ? v[l] & 0xff : v[l]);
	}
}

/* in->imm: bits of the whole. */
ALU_HEAD(pack)
{
	const struct vector *vec = in->aux;
	uint64_t sum[2][CPU_WARP] = {0}, v[CPU_WARP];

	for (unsigned i = 0; i < vec->count; i++) {
		unsigned at = i * vec->bits;
		read_lanes(w, vec->slots[i], vec->bits, v);
		for (unsigned l = 0; l < CPU_WARP; l++)
			sum[at / 64][l] |= v[l] << at % 64;
	}
	if (in->imm < 128) {
		write_lanes(w, in->dst[0], (unsigned)in->imm, mask, sum[0]);
		return CPU_OK;
	}
	uint64_t *d = cpu_u64(w, in->dst[0]);
	CPU_EACH_LANE (l, mask) {
		d[l] = sum[0][l];
		d[l + CPU_WARP] = sum[1][l];
	}
	return CPU_OK;
}

ALU_HEAD(unpack)
{
	const struct vector *vec = in->aux;
	uint64_t whole[2][CPU_WARP] = {0}, v[CPU_WARP];

	read_lanes(w, in->src[0], in->imm < 128 ? (unsigned)in->imm : 64, whole[0]);
	if (in->imm == 128)
		for (unsigned l = 0; l < CPU_WARP; l++)
			whole[1][l] = cpu_u64(w, in->src[0])[l + CPU_WARP];
	for (unsigned i = 0; i < vec->count; i++) {
		unsigned at = i * vec->bits;
		if (vec->slots[i] == CPU_NOSLOT)
			continue;
		for (unsigned l = 0; l < CPU_WARP; l++)
			v[l] = whole[at / 64][l] >> at % 64;
		write_lanes(w, vec->slots[i], vec->bits, mask, v);
	}
	return CPU_OK;
}

/* ---- selection ------------------------------------------------------------------ */

/* in->imm: inverts the predicate. */
#define SELECT(bits)                                                                               \
	ALU_HEAD(selp_##bits)                                                                      \
	{                                                                                          \
		uint##bits##_t *d = cpu_slot(w, in->dst[0]);                                       \
		const uint##bits##_t *a = cpu_slot(w, in->src[0]), *b = cpu_slot(w, in->src[1]);   \
		const uint32_t p = *cpu_pred(w, in->src[2]) ^ (uint32_t)in->imm;                   \
                                                                                                   \
		ALU_LOOP_(ALU_HINT_VECTOR, uint##bits##_t, , (p >> l & 1u) ? a[l] : b[l])          \
		return CPU_OK;                                                                     \
	}                                                                                          \
	ALU_TER(slct_s_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, int32_t,            \
		c >= 0 ? a : b)                                                                    \
	ALU_TER(slct_f_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, uint32_t,           \
		is_not_negative(c) ? a : b)                                                        \
	ALU_TER(slct_ftz_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, uint32_t,         \
		is_not_negative(c & 0x7f800000u ? c : 0) ? a : b)

/* c >= 0.0 of a float's bits: NaN is not, -0.0 is. */
static inline bool is_not_negative(uint32_t c)
{
	return c <= 0x7f800000u || c == 0x80000000u;
}

SELECT(16)
SELECT(32)
SELECT(64)

/* ---- addresses ---------------------------------------------------------------------- */

ALU_HEAD(add_imm)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]);
	const uint64_t by = in->imm;

	ALU_LOOP_(ALU_HINT_VECTOR, uint64_t, , a[l] + by)
	return CPU_OK;
}

ALU_HEAD(isspacep)
{
	const uint64_t *a = cpu_u64(w, in->src[0]);
	uint32_t m = 0;

	CPU_EACH_LANE (l, mask)
		m |= (uint32_t)cpu_is_space(w, a[l], (enum ptx_space)in->sub) << l;
	cpu_set_pred(w, in->dst[0], m, mask);
	return CPU_OK;
}

/* The same offset in the block of rank b; imm: the start of the window for generic addresses. */
#define MAP(b) ((uint64_t)(b)*CPU_RANK)
ALU_HEAD(mapa_32)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , MAP(b[l]) + (a[l] & (CPU_RANK - 1)))
	return CPU_OK;
}

ALU_HEAD(mapa_64)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]), by = in->imm;
	const uint32_t *b = cpu_u32(w, in->src[1]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint64_t, , by + MAP(b[l]) + (a[l] & (CPU_RANK - 1)))
	return CPU_OK;
}

#define RANK(a) ((uint32_t)(a) / CPU_RANK)
ALU_HEAD(rank_32)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , RANK(a[l]))
	return CPU_OK;
}

ALU_HEAD(rank_64)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]);

	ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , RANK(a[l]))
	return CPU_OK;
}

/* ---- binding ------------------------------------------------------------------------- */

static cpu_exec *by_bytes(unsigned bytes, cpu_exec *f16, cpu_exec *f32, cpu_exec *f64)
{
	return bytes == 2 ? f16 : bytes == 4 ? f32 : bytes == 8 ? f64 : NULL;
}

/* The untyped integer type of some bytes. */
static enum ptx_type bits_type(unsigned bytes)
{
	switch (bytes) {
	case 1:
		return PTX_TYPE_B8;
	case 2:
		return PTX_TYPE_B16;
	case 4:
		return PTX_TYPE_B32;
	case 8:
		return PTX_TYPE_B64;
	case 16:
		return PTX_TYPE_B128;
	default:
		return PTX_TYPE_NONE;
	}
}

/*
 * A variable whose address is no constant for decode.c, or is relative to another base: .local and
 * .param. Writes its address plus `by`.
 */
static bool bind_variable(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			  enum ptx_type t, uint64_t by)
{
	const struct ptx_opnd *op = &s->ops[1];
	unsigned bytes = ptx_type_bytes(t);
	struct ptx_opnd base = *op;
	struct ptx_opnd address = {.kind = PTX_OPND_ADDR, .nsub = 1, .sub = &base};
	struct cpu_addr a;

	if (op->kind != PTX_OPND_SYM || bytes < 4)
		return false;
	/* `name + 4`: the offset belongs to the address. */
	address.off = op->off;
	address.flags = op->flags & (PTX_OPND_HAS_OFF | PTX_OPND_MINUS);
	base.off = 0;
	base.flags &= (uint8_t) ~(PTX_OPND_HAS_OFF | PTX_OPND_MINUS);
	a = cpu_dec_addr(d, s, &address);
	if (a.base != CPU_NOSLOT || !(a.is_local_var || a.is_param))
		return false;
	in->dst[0] = alu_dst(d, &s->ops[0], t);
	in->imm = (uint64_t)a.off + by;
	if (a.is_local_var) {
		in->fn = bytes == 4 ? local_32 : local_64;
		return true;
	}
	in->src[0] = cpu_dec_param_address(d, (uint64_t)a.off, by, alu_class(bytes));
	in->fn = bytes == 4 ? mov_32 : mov_64;
	return true;
}

static enum cpu_bound bind_vector(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
				  enum ptx_type t)
{
	bool is_pack = s->ops[1].kind == PTX_OPND_VEC;
	const struct ptx_opnd *vop = &s->ops[is_pack], *whole = &s->ops[!is_pack];
	unsigned n = vop->nsub, bytes = ptx_type_bytes(t);
	enum ptx_type et = n && bytes % n == 0 ? bits_type(bytes / n) : PTX_TYPE_NONE;
	struct vector *vec;

	if (et == PTX_TYPE_NONE || n < 2 || whole->kind == PTX_OPND_VEC)
		return cpu_dec_unsupported(d, in, "no such vector");
	if (!alu_fits(d, whole, t))
		return cpu_dec_unsupported(d, in, "operand of another width than its type");
	vec = cpu_dec_alloc(d, sizeof(*vec) + n * sizeof(vec->slots[0]));
	vec->count = n;
	vec->bits = 8 * ptx_type_bytes(et);
	for (unsigned i = 0; i < n; i++) {
		const struct ptx_opnd *e = &vop->sub[i];
		if (!alu_fits(d, e, et))
			return cpu_dec_unsupported(d, in,
						   "element of another width than its share");
		vec->slots[i] = is_pack ? cpu_dec_src(d, e, et) : cpu_dec_dst(d, e);
	}
	in->aux = vec;
	in->imm = 8 * bytes;
	if (is_pack) {
		in->dst[0] = alu_dst(d, whole, t);
		in->fn = pack;
	} else {
		in->src[0] = cpu_dec_src(d, whole, t);
		in->fn = unpack;
	}
	if (n != 2 || (vec->bits != 32 && vec->bits != 16))
		return CPU_BOUND;
	for (unsigned i = 0; i < 2; i++) {
		if (is_pack)
			in->src[i] = vec->slots[i];
		else
			in->dst[i] = alu_dst(d, &vop->sub[i], et);
	}
	if (is_pack)
		in->fn = vec->bits == 32 ? pack_2x32 : pack_2x16;
	else
		in->fn = vec->bits == 32 ? unpack_2x32 : unpack_2x16;
	return CPU_BOUND;
}

static enum cpu_bound bind_mov(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0);
	enum cpu_bound bound;

	if (s->nops == 2 && s->ops[1].kind == PTX_OPND_SPECIAL && s->ops[1].text.p[0] == '%')
		return CPU_NOT_MINE;
	if (f->nmods || f->ntypes != 1 || s->nops != 2)
		return cpu_dec_unsupported(d, in, "no such form of this instruction");
	if (t == PTX_TYPE_PRED) {
		bound = alu_bind_same(d, s, in, mov_pred, t, 1);
		if (bound == CPU_BOUND && cpu_dec_is_not(&s->ops[1]))
			in->imm = UINT32_MAX;
		return bound;
	}
	if (s->ops[0].kind == PTX_OPND_VEC || s->ops[1].kind == PTX_OPND_VEC)
		return bind_vector(d, s, in, t);
	if (bind_variable(d, s, in, t, 0))
		return CPU_BOUND;
	return alu_bind_same(d, s, in,
			     ptx_type_bytes(t) == 16
				     ? mov_128
				     : by_bytes(ptx_type_bytes(t), mov_16, mov_32, mov_64),
			     t, 1);
}

static enum cpu_bound bind_select(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0), ct = alu_type(f, 1);
	unsigned bytes = ptx_type_bytes(t), left = f->nmods;
	enum ptx_type types[] = {t, t, t, ct};
	cpu_exec *fn = NULL;
	enum cpu_bound bound;

	if (f->op == PTX_OP_SELP) {
		types[3] = PTX_TYPE_PRED;
		fn = left ? NULL : by_bytes(bytes, selp_16, selp_32, selp_64);
		bound = alu_bind(d, s, in, fn, types, 3);
		if (bound == CPU_BOUND && cpu_dec_is_not(&s->ops[3]))
			in->imm = UINT32_MAX;
		return bound;
	}
	if (alu_take(f, PTX_MOD_FTZ, &left) && ct == PTX_TYPE_F32)
		fn = by_bytes(bytes, slct_ftz_16, slct_ftz_32, slct_ftz_64);
	else if (ct == PTX_TYPE_F32)
		fn = by_bytes(bytes, slct_f_16, slct_f_32, slct_f_64);
	else if (ct == PTX_TYPE_S32)
		fn = by_bytes(bytes, slct_s_16, slct_s_32, slct_s_64);
	return alu_bind(d, s, in, left ? NULL : fn, types, 3);
}

static enum cpu_bound bind_cvta(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_to = ptx_form_has(f, PTX_MOD_TO);
	uint64_t window;

	if (alu_type(f, 0) != PTX_TYPE_U64 || s->nops != 2)
		return cpu_dec_unsupported(d, in, "cvta of 32-bit addresses");
	switch (f->space) {
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
		window = 0;
		break;
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		window = CPU_WIN_SHARED;
		break;
	case PTX_SPACE_LOCAL:
		window = CPU_WIN_LOCAL;
		break;
	case PTX_SPACE_PARAM:
		if (!cpu_dec_func(d)->ptx->is_entry)
			return cpu_dec_unsupported(d, in, "cvta.param outside of a kernel");
		window = CPU_WIN_PARAM;
		break;
	default:
		return cpu_dec_unsupported(d, in, "cvta of this state space");
	}
	in->imm = is_to ? 0 - window : window;
	if (bind_variable(d, s, in, PTX_TYPE_U64, in->imm))
		return CPU_BOUND;
	return alu_bind_same(d, s, in, window ? add_imm : mov_64, PTX_TYPE_U64, 1);
}

static enum cpu_bound bind_rank(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0);
	bool is_generic = f->space != PTX_SPACE_SHARED_CLUSTER;

	if ((t != PTX_TYPE_U32 && t != PTX_TYPE_U64) || (is_generic && t == PTX_TYPE_U32))
		return cpu_dec_unsupported(d, in, "no such form of this instruction");
	if (f->op == PTX_OP_GETCTARANK) {
		const enum ptx_type types[] = {PTX_TYPE_B32, t};
		return alu_bind(d, s, in, t == PTX_TYPE_U32 ? rank_32 : rank_64, types, 1);
	}
	const enum ptx_type types[] = {t, t, PTX_TYPE_B32};
	in->imm = is_generic ? CPU_WIN_SHARED : 0;
	return alu_bind(d, s, in, t == PTX_TYPE_U32 ? mapa_32 : mapa_64, types, 2);
}

enum cpu_bound CPU_BINDER(move)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	const enum ptx_type test[] = {PTX_TYPE_PRED, PTX_TYPE_U64};

	switch (f->op) {
	case PTX_OP_MOV:
		return bind_mov(d, s, in);
	case PTX_OP_SELP:
	case PTX_OP_SLCT:
		return bind_select(d, s, in);
	case PTX_OP_CVTA:
		return bind_cvta(d, s, in);
	case PTX_OP_ISSPACEP:
		in->sub = f->space;
		return alu_bind(d, s, in, isspacep, test, 1);
	case PTX_OP_MAPA:
	case PTX_OP_GETCTARANK:
		return bind_rank(d, s, in);
	case PTX_OP_CREATEPOLICY:
		in->dst[0] = alu_dst(d, &s->ops[0], PTX_TYPE_B64);
		in->src[0] = cpu_dec_const(d, 0, CPU_B64);
		in->fn = mov_64;
		return CPU_BOUND;
	default:
		return CPU_NOT_MINE;
	}
}

/* ---- machine code (jit/) ------------------------------------------------------------------ */

extern const struct jit_handler CPU_HANDLERS(move)[];
const struct jit_handler CPU_HANDLERS(move)[] = {
#define MOVE(handler, ...) {handler, JIT_MOVE_##handler},
#include "cpu/jit/rows.def"
	{NULL, JIT_NONE}};
