/*
 * logic.c - and, or, xor, not, cnot, shl, shr, lop3, shf, prmt. PTX ISA 9.7.8, 9.7.9.
 *
 * Operations on predicates are one word for the 32 lanes. Shift amounts above the width count as
 * the width. lop3's table is applied as a tree of selections on its three inputs, so one handler
 * serves all 256 tables.
 */
#include "cpu/alu/alu.h"
#include "cpu/jit/rows.h"

cpu_binder CPU_BINDER(logic);

/* ---- bitwise ------------------------------------------------------------------ */

ALU_BIN(and_16, uint16_t, uint16_t, uint16_t, a &b)
ALU_BIN(and_32, uint32_t, uint32_t, uint32_t, a &b)
ALU_BIN(and_64, uint64_t, uint64_t, uint64_t, a &b)
ALU_BIN(or_16, uint16_t, uint16_t, uint16_t, a | b)
ALU_BIN(or_32, uint32_t, uint32_t, uint32_t, a | b)
ALU_BIN(or_64, uint64_t, uint64_t, uint64_t, a | b)
ALU_BIN(xor_16, uint16_t, uint16_t, uint16_t, a ^ b)
ALU_BIN(xor_32, uint32_t, uint32_t, uint32_t, a ^ b)
ALU_BIN(xor_64, uint64_t, uint64_t, uint64_t, a ^ b)
ALU_UN(not_16, uint16_t, uint16_t, ~a)
ALU_UN(not_32, uint32_t, uint32_t, ~a)
ALU_UN(not_64, uint64_t, uint64_t, ~a)
ALU_UN(cnot_16, uint16_t, uint16_t, a == 0)
ALU_UN(cnot_32, uint32_t, uint32_t, a == 0)
ALU_UN(cnot_64, uint64_t, uint64_t, a == 0)

/* Predicates: in->imm inverts the sources, 32 lanes each. */
#define PRED_OP(name, ...)                                                                         \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		const uint32_t a = *cpu_pred(w, in->src[0]) ^ (uint32_t)in->imm;                   \
		const uint32_t b = *cpu_pred(w, in->src[1]) ^ (uint32_t)(in->imm >> 32);           \
                                                                                                   \
		(void)b;                                                                           \
		cpu_set_pred(w, in->dst[0], __VA_ARGS__, mask);                                    \
		return CPU_OK;                                                                     \
	}
PRED_OP(and_pred, a &b)
PRED_OP(or_pred, a | b)
PRED_OP(xor_pred, a ^ b)
PRED_OP(not_pred, ~a)

/* ---- shifts ----------------------------------------------------------------------- */

#define SHIFT(bits)                                                                                \
	ALU_BIN(shl_##bits, uint##bits##_t, uint##bits##_t, uint32_t,                              \
		b > bits - 1 ? 0 : a << (b & (bits - 1)))                                          \
	ALU_BIN(shr_u##bits, uint##bits##_t, uint##bits##_t, uint32_t,                             \
		b > bits - 1 ? 0 : a >> (b & (bits - 1)))                                          \
	ALU_BIN(shr_s##bits, int##bits##_t, int##bits##_t, uint32_t,                               \
		a >> (b > bits - 1 ? bits - 1 : b))
SHIFT(16)
SHIFT(32)
SHIFT(64)

/* The funnel: 64 bits b:a, of which 32 come out. An amount of 32 is possible in .clamp only. */
#define FUNNEL(a, b) ((uint64_t)(b) << 32 | (a))
ALU_TER(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t,
	FUNNEL(a, b) << (c > 32 ? 32 : c) >> 32)
ALU_TER(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, FUNNEL(a, b) << (c & 31) >> 32)
ALU_TER(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, FUNNEL(a, b) >> (c > 32 ? 32 : c))
ALU_TER(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, FUNNEL(a, b) >> (c & 31))

/* ---- lop3 --------------------------------------------------------------------------- */

/* All ones if bit i of the table is set. */
static inline uint32_t lut_bit(uint32_t lut, unsigned i)
{
	return 0u - (lut >> i & 1u);
}

static inline uint32_t mux(uint32_t s, uint32_t if0, uint32_t if1)
{
	return if0 ^ (s & (if0 ^ if1));
}

/* Bit i of the result is bit 4 a + 2 b + c of the table. */
static inline uint32_t lop3_one(uint32_t lut, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t f00 = mux(c, lut_bit(lut, 0), lut_bit(lut, 1));
	uint32_t f01 = mux(c, lut_bit(lut, 2), lut_bit(lut, 3));
	uint32_t f10 = mux(c, lut_bit(lut, 4), lut_bit(lut, 5));
	uint32_t f11 = mux(c, lut_bit(lut, 6), lut_bit(lut, 7));

	return mux(a, mux(b, f00, f01), mux(b, f10, f11));
}

ALU_HEAD(lop3_32)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]),
		       *c = cpu_u32(w, in->src[2]);
	const uint32_t lut = (uint32_t)in->imm;

	ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , lop3_one(lut, a[l], b[l], c[l]))
	return CPU_OK;
}

enum { LOP3_AND = 1, LOP3_Q_NOT = 2 };

/* lop3.and / .or d|p, a, b, c, lut, q: p is (d != 0) and / or q. */
ALU_HEAD(lop3_bool)
{
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]),
		       *c = cpu_u32(w, in->src[2]);
	const uint32_t lut = (uint32_t)in->imm;
	uint32_t q = *cpu_pred(w, in->src[3]), r[CPU_WARP], p = 0;

	for (unsigned l = 0; l < CPU_WARP; l++)
		r[l] = lop3_one(lut, a[l], b[l], c[l]);
	for (unsigned l = 0; l < CPU_WARP; l++)
		p |= (uint32_t)(r[l] != 0) << l;
	if (in->dst[0] != CPU_NOSLOT) {
		uint32_t *d = cpu_u32(w, in->dst[0]);
		ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , r[l])
	}
	q = in->sub & LOP3_Q_NOT ? ~q : q;
	cpu_set_pred(w, in->dst[1], in->sub & LOP3_AND ? p & q : p | q, mask);
	return CPU_OK;
}

/* ---- prmt --------------------------------------------------------------------------- */

static inline uint32_t take_byte(uint64_t bytes, uint32_t sel)
{
	uint32_t v = (uint32_t)(bytes >> 8 * (sel & 7)) & 0xff;

	/* Bit 3: eight copies of its sign. */
	return sel & 8 ? (0u - (v >> 7)) & 0xff : v;
}

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t sel)
{
	uint64_t bytes = FUNNEL(a, b);

	return take_byte(bytes, sel) | take_byte(bytes, sel >> 4) << 8 |
	       take_byte(bytes, sel >> 8) << 16 | take_byte(bytes, sel >> 12) << 24;
}

ALU_TER(prmt_32, uint32_t, uint32_t, uint32_t, uint32_t, permute(a, b, c))

/* The modes are permutations chosen by the low two bits of c: four selectors of 16 bits. */
ALU_HEAD(prmt_mode)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]),
		       *c = cpu_u32(w, in->src[2]);
	const uint64_t modes = in->imm;

	ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, ,
		  permute(a[l], b[l], (uint32_t)(modes >> 16 * (c[l] & 3))))
	return CPU_OK;
}

#define MODES(s0, s1, s2, s3)                                                                      \
	((uint64_t)(s3) << 48 | (uint64_t)(s2) << 32 | (uint64_t)(s1) << 16 | (uint64_t)(s0))
static const struct {
	enum ptx_mod mod;
	uint64_t selectors;
} prmt_modes[] = {
	{PTX_MOD_F4E, MODES(0x3210, 0x4321, 0x5432, 0x6543)},
	{PTX_MOD_B4E, MODES(0x5670, 0x6701, 0x7012, 0x0123)},
	{PTX_MOD_RC8, MODES(0x0000, 0x1111, 0x2222, 0x3333)},
	{PTX_MOD_ECL, MODES(0x3210, 0x3211, 0x3222, 0x3333)},
	{PTX_MOD_ECR, MODES(0x0000, 0x1110, 0x2210, 0x3210)},
	{PTX_MOD_RC16, MODES(0x1010, 0x3232, 0x1010, 0x3232)},
};

/* ---- which handler ---------------------------------------------------------------------- */

static alu_table and_table = {ALU_BITS(and)};
static alu_table or_table = {ALU_BITS(or)};
static alu_table xor_table = {ALU_BITS(xor)};
static alu_table not_table = {ALU_BITS(not )};
static alu_table cnot_table = {ALU_BITS(cnot)};
static alu_table shl_table = {ALU_BITS(shl)};
static alu_table shr_table = {[PTX_TYPE_B16] = shr_u16,
			      [PTX_TYPE_B32] = shr_u32,
			      [PTX_TYPE_B64] = shr_u64,
			      ALU_SIGNS(shr)};

static enum cpu_bound bind_pred(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	bool is_not = s->form->op == PTX_OP_NOT;
	cpu_exec *fn = s->form->op == PTX_OP_AND   ? and_pred
		       : s->form->op == PTX_OP_OR  ? or_pred
		       : s->form->op == PTX_OP_XOR ? xor_pred
		       : is_not			   ? not_pred
						   : NULL;
	enum cpu_bound bound = alu_bind_same(d, s, in, fn, PTX_TYPE_PRED, is_not ? 1 : 2);

	if (bound != CPU_BOUND)
		return bound;
	if (is_not)
		in->src[1] = in->src[0];
	in->imm = cpu_dec_is_not(&s->ops[1]) ? UINT32_MAX : 0;
	if (!is_not && cpu_dec_is_not(&s->ops[2]))
		in->imm |= (uint64_t)UINT32_MAX << 32;
	return CPU_BOUND;
}

static enum cpu_bound bind_lop3(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	unsigned left = f->nmods;
	bool is_and = alu_take(f, PTX_MOD_AND, &left), is_or = alu_take(f, PTX_MOD_OR, &left);
	bool is_bool = is_and || is_or;
	const struct ptx_opnd *dst = &s->ops[0];

	if (left || alu_type(f, 0) != PTX_TYPE_B32 || s->nops != (is_bool ? 6 : 5))
		return cpu_dec_unsupported(d, in, "no such form of this instruction");
	if (s->ops[4].kind != PTX_OPND_INT)
		return cpu_dec_unsupported(d, in, "the table of lop3 is not a constant");
	if (is_bool != (dst->kind == PTX_OPND_PAIR))
		return cpu_dec_unsupported(d, in, "unexpected destination");
	for (unsigned i = 1; i < 4; i++) {
		if (!alu_fits(d, &s->ops[i], PTX_TYPE_B32))
			return cpu_dec_unsupported(d, in, "operand of another width than its type");
		in->src[i - 1] = cpu_dec_src(d, &s->ops[i], PTX_TYPE_B32);
	}
	in->imm = (uint64_t)s->ops[4].imm & 0xff;
	if (!is_bool) {
		in->dst[0] = alu_dst(d, dst, PTX_TYPE_B32);
		in->fn = lop3_32;
		return CPU_BOUND;
	}
	in->dst[0] = cpu_dec_dst(d, &dst->sub[0]);
	in->dst[1] = cpu_dec_dst(d, &dst->sub[1]);
	in->src[3] = cpu_dec_src(d, &s->ops[5], PTX_TYPE_PRED);
	in->sub =
		(uint8_t)((is_and ? LOP3_AND : 0) | (cpu_dec_is_not(&s->ops[5]) ? LOP3_Q_NOT : 0));
	in->fn = lop3_bool;
	return CPU_BOUND;
}

static enum cpu_bound bind_shf(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	unsigned left = f->nmods;
	bool is_left = alu_take(f, PTX_MOD_L, &left), is_right = alu_take(f, PTX_MOD_R, &left);
	bool is_clamp = alu_take(f, PTX_MOD_CLAMP, &left),
	     is_wrap = alu_take(f, PTX_MOD_WRAP, &left);
	cpu_exec *fn = is_left ? (is_clamp ? shf_l_clamp : shf_l_wrap)
			       : (is_clamp ? shf_r_clamp : shf_r_wrap);

	if (left || is_left == is_right || is_clamp == is_wrap)
		fn = NULL;
	return alu_bind_same(d, s, in, fn, PTX_TYPE_B32, 3);
}

static enum cpu_bound bind_prmt(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	unsigned left = f->nmods;
	cpu_exec *fn = prmt_32;

	for (size_t i = 0; i < BASE_COUNTOF(prmt_modes); i++) {
		if (alu_take(f, prmt_modes[i].mod, &left)) {
			in->imm = prmt_modes[i].selectors;
			fn = prmt_mode;
		}
	}
	return alu_bind_same(d, s, in, left ? NULL : fn, PTX_TYPE_B32, 3);
}

enum cpu_bound CPU_BINDER(logic)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0);
	const enum ptx_type shift[] = {t, t, PTX_TYPE_B32};
	bool is_plain = !f->nmods;

	switch (f->op) {
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
	case PTX_OP_NOT:
		if (t == PTX_TYPE_PRED && is_plain)
			return bind_pred(d, s, in);
		if (f->op == PTX_OP_NOT)
			return alu_bind_same(d, s, in, is_plain ? not_table[t] : NULL, t, 1);
		return alu_bind_same(d, s, in,
				     !is_plain		   ? NULL
				     : f->op == PTX_OP_AND ? and_table[t]
				     : f->op == PTX_OP_OR  ? or_table[t]
							   : xor_table[t],
				     t, 2);
	case PTX_OP_CNOT:
		return alu_bind_same(d, s, in, is_plain ? cnot_table[t] : NULL, t, 1);
	case PTX_OP_SHL:
		return alu_bind(d, s, in, is_plain ? shl_table[t] : NULL, shift, 2);
	case PTX_OP_SHR:
		return alu_bind(d, s, in, is_plain ? shr_table[t] : NULL, shift, 2);
	case PTX_OP_LOP3:
		return bind_lop3(d, s, in);
	case PTX_OP_SHF:
		return bind_shf(d, s, in);
	case PTX_OP_PRMT:
		return bind_prmt(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}

/* ---- machine code (jit/) ------------------------------------------------------------------ */

extern const struct jit_handler CPU_HANDLERS(logic)[];
const struct jit_handler CPU_HANDLERS(logic)[] = {
#define LOGIC(handler, ...) {handler, JIT_LOGIC_##handler},
#include "cpu/jit/rows.def"
	{NULL, JIT_NONE}};
