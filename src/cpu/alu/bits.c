/*
 * bits.c - integer instructions on bits: popc, clz, brev, bfe, bfi, bfind, fns, szext, bmsk, and
 * the byte and half-word dot products dp4a, dp2a. PTX ISA 9.7.1.
 *
 * Positions and lengths of bit fields may lie beyond the register; the ISA defines all of that bit
 * by bit, here it is shifts that never exceed the width. It says that their low 8 bits count; an
 * H100 does so for 32 bits only and takes all of them for 64.
 * Costs: fns is one lane at a time, popc and clz where the processor has them for scalars only.
 */
#include "cpu/alu/alu.h"

cpu_binder CPU_BINDER(bits);

/* ---- counting ----------------------------------------------------------------- */

ALU_UN_SCALAR(popc_32, uint32_t, uint32_t, __builtin_popcount(a))
ALU_UN_SCALAR(popc_64, uint32_t, uint64_t, __builtin_popcountll(a))
ALU_UN_SCALAR(clz_32, uint32_t, uint32_t, a ? __builtin_clz(a) : 32)
ALU_UN_SCALAR(clz_64, uint32_t, uint64_t, a ? __builtin_clzll(a) : 64)

/* The place of the highest bit that differs from the sign, or all ones. */
static inline uint32_t top_u32(uint32_t v)
{
	return v ? 31u - (uint32_t)__builtin_clz(v) : UINT32_MAX;
}

static inline uint32_t top_u64(uint64_t v)
{
	return v ? 63u - (uint32_t)__builtin_clzll(v) : UINT32_MAX;
}

static inline uint32_t unsign_32(uint32_t v)
{
	return v ^ (0u - (v >> 31));
}

static inline uint64_t unsign_64(uint64_t v)
{
	return v ^ (0u - (v >> 63));
}

/* .shiftamt: by how much to shift left to bring it to the top; all ones stay. */
static inline uint32_t amount(uint32_t top, uint32_t msb)
{
	return top == UINT32_MAX ? top : msb - top;
}

ALU_UN_SCALAR(bfind_u32, uint32_t, uint32_t, top_u32(a))
ALU_UN_SCALAR(bfind_s32, uint32_t, uint32_t, top_u32(unsign_32(a)))
ALU_UN_SCALAR(bfind_u64, uint32_t, uint64_t, top_u64(a))
ALU_UN_SCALAR(bfind_s64, uint32_t, uint64_t, top_u64(unsign_64(a)))
ALU_UN_SCALAR(bfind_amount_u32, uint32_t, uint32_t, amount(top_u32(a), 31))
ALU_UN_SCALAR(bfind_amount_s32, uint32_t, uint32_t, amount(top_u32(unsign_32(a)), 31))
ALU_UN_SCALAR(bfind_amount_u64, uint32_t, uint64_t, amount(top_u64(a), 63))
ALU_UN_SCALAR(bfind_amount_s64, uint32_t, uint64_t, amount(top_u64(unsign_64(a)), 63))

static inline uint32_t reverse_32(uint32_t v)
{
	v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
	v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
	v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
	v = (v >> 8 & 0x00ff00ffu) | (v & 0x00ff00ffu) << 8;
	return v >> 16 | v << 16;
}

static inline uint64_t reverse_64(uint64_t v)
{
	return (uint64_t)reverse_32((uint32_t)v) << 32 | reverse_32((uint32_t)(v >> 32));
}

ALU_UN(brev_32, uint32_t, uint32_t, reverse_32(a))
ALU_UN(brev_64, uint64_t, uint64_t, reverse_64(a))

/*
 * The |offset|-th set bit of mask from `base` on, upwards or downwards; with offset 0, base itself
 * if it is set. All ones: there is none, or base is beyond the word.
 */
static uint32_t find_nth(uint32_t set, uint32_t base, int32_t offset)
{
	if (offset == INT32_MIN) /* there is no such count; this is what GPUs give */
		return 0;
	if (base > 31)
		return UINT32_MAX;
	if (!offset)
		return set >> base & 1u ? base : UINT32_MAX;
	uint32_t count = offset < 0 ? 0u - (uint32_t)offset : (uint32_t)offset;
	if (count > 32)
		return UINT32_MAX;
	if (offset > 0) {
		set &= UINT32_MAX << base;
		while (--count && set)
			set &= set - 1;
		return set ? (uint32_t)__builtin_ctz(set) : UINT32_MAX;
	}
	set &= UINT32_MAX >> (31 - base);
	while (--count && set)
		set &= ~(0x80000000u >> __builtin_clz(set));
	return top_u32(set);
}

ALU_HEAD(fns_32)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]),
		       *c = cpu_u32(w, in->src[2]);

	CPU_EACH_LANE (l, mask)
		d[l] = find_nth(a[l], b[l], (int32_t)c[l]);
	return CPU_OK;
}

/* ---- bit fields -------------------------------------------------------------------- */

/* Shifts that may go past the width: everything is shifted out. */
#define SHIFTS(bits)                                                                               \
	static inline uint##bits##_t left_##bits(uint##bits##_t v, uint32_t n)                     \
	{                                                                                          \
		return n > bits - 1 ? 0 : v << (n & (bits - 1));                                   \
	}                                                                                          \
	static inline uint##bits##_t right_##bits(uint##bits##_t v, uint32_t n)                    \
	{                                                                                          \
		return n > bits - 1 ? 0 : v >> (n & (bits - 1));                                   \
	}                                                                                          \
	static inline uint##bits##_t low_##bits(uint32_t n)                                        \
	{                                                                                          \
		return left_##bits(1, n) - 1;                                                      \
	}                                                                                          \
	/* A signed field ends at the register's top at the latest, and is filled from its own */  \
	/* highest bit; a field of no bits is 0. */                                                \
	static inline int##bits##_t field_##bits(int##bits##_t v, uint32_t pos, uint32_t len)      \
	{                                                                                          \
		pos = pos > bits ? bits : pos;                                                     \
		len = len > bits ? bits : len;                                                     \
		uint32_t end = pos + len > bits ? bits : pos + len;                                \
		uint32_t up = bits - end, down = up + pos > bits - 1 ? bits - 1 : up + pos;        \
		uint##bits##_t top = (uint##bits##_t)v << (up & (bits - 1));                       \
                                                                                                   \
		return len ? (int##bits##_t)top >> down : 0;                                       \
	}
SHIFTS(32)
SHIFTS(64)

ALU_TER(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, right_32(a, b & 255) & low_32(c & 255))
ALU_TER(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, right_64(a, b) & low_64(c))
ALU_TER(bfe_s32, int32_t, int32_t, uint32_t, uint32_t, field_32(a, b & 255, c & 255))
ALU_TER_SCALAR(bfe_s64, int64_t, int64_t, uint32_t, uint32_t, field_64(a, b, c))

/* `a` into `b` at pos, len bits long. */
#define INSERT(bits, USED)                                                                         \
	static inline uint##bits##_t insert_##bits(uint##bits##_t a, uint##bits##_t b,             \
						   uint32_t pos, uint32_t len)                     \
	{                                                                                          \
		uint##bits##_t m = left_##bits(low_##bits(len), pos);                              \
                                                                                                   \
		return (left_##bits(a, pos) & m) | (b & ~m);                                       \
	}                                                                                          \
	ALU_HEAD(bfi_##bits)                                                                       \
	{                                                                                          \
		uint##bits##_t *d = cpu_slot(w, in->dst[0]);                                       \
		const uint##bits##_t *a = cpu_slot(w, in->src[0]), *b = cpu_slot(w, in->src[1]);   \
		const uint32_t *pos = cpu_u32(w, in->src[2]), *len = cpu_u32(w, in->src[3]);       \
                                                                                                   \
		ALU_LOOP_(ALU_HINT_VECTOR, uint##bits##_t, ,                                       \
			  insert_##bits(a[l], b[l], pos[l] & USED, len[l] & USED))                 \
		return CPU_OK;                                                                     \
	}
INSERT(32, 255u)
INSERT(64, UINT32_MAX)

/* Extends the low n bits of a: zeros or copies of bit n - 1 above. n is taken modulo 32 (.wrap),
 * or leaves a as it is when it is 32 or more (.clamp). */
static inline uint32_t extend(uint32_t a, uint32_t n, bool is_signed, bool is_clamp)
{
	uint32_t keep = is_clamp && n > 31 ? UINT32_MAX : low_32(n & 31);
	uint32_t sign = is_signed ? a & keep & ~(keep >> 1) : 0;

	return (a & keep) | (sign ? ~keep : 0);
}

ALU_BIN(szext_wrap_u32, uint32_t, uint32_t, uint32_t, extend(a, b, false, false))
ALU_BIN(szext_wrap_s32, uint32_t, uint32_t, uint32_t, extend(a, b, true, false))
ALU_BIN(szext_clamp_u32, uint32_t, uint32_t, uint32_t, extend(a, b, false, true))
ALU_BIN(szext_clamp_s32, uint32_t, uint32_t, uint32_t, extend(a, b, true, true))

/* b ones from bit a on; what goes past the top is lost. */
ALU_BIN(bmsk_clamp, uint32_t, uint32_t, uint32_t, left_32(low_32(b), a))
ALU_BIN(bmsk_wrap, uint32_t, uint32_t, uint32_t, left_32(low_32(b & 31), a & 31))

/* ---- dot products --------------------------------------------------------------------- */

#define BYTE(T, v, i) ((int32_t)(T)((v) >> 8 * (i)))
#define HALF(T, v, i) ((int32_t)(T)((v) >> 16 * (i)))
/* Unsigned by signed products and sums fit 32 bits except for the last addition, which wraps. */
#define DP4A(name, TA, TB)                                                                         \
	ALU_TER(name, uint32_t, uint32_t, uint32_t, uint32_t,                                      \
		c + (uint32_t)(BYTE(TA, a, 0) * BYTE(TB, b, 0) + BYTE(TA, a, 1) * BYTE(TB, b, 1) + \
			       BYTE(TA, a, 2) * BYTE(TB, b, 2) + BYTE(TA, a, 3) * BYTE(TB, b, 3)))
#define DP2A(name, TA, TB, from)                                                                   \
	ALU_TER(name, uint32_t, uint32_t, uint32_t, uint32_t,                                      \
		c + (uint32_t)(HALF(TA, a, 0) * BYTE(TB, b, from) +                                \
			       HALF(TA, a, 1) * BYTE(TB, b, from + 1)))
DP4A(dp4a_uu, uint8_t, uint8_t)
DP4A(dp4a_us, uint8_t, int8_t)
DP4A(dp4a_su, int8_t, uint8_t)
DP4A(dp4a_ss, int8_t, int8_t)
DP2A(dp2a_lo_uu, uint16_t, uint8_t, 0)
DP2A(dp2a_lo_us, uint16_t, int8_t, 0)
DP2A(dp2a_lo_su, int16_t, uint8_t, 0)
DP2A(dp2a_lo_ss, int16_t, int8_t, 0)
DP2A(dp2a_hi_uu, uint16_t, uint8_t, 2)
DP2A(dp2a_hi_us, uint16_t, int8_t, 2)
DP2A(dp2a_hi_su, int16_t, uint8_t, 2)
DP2A(dp2a_hi_ss, int16_t, int8_t, 2)

/* ---- which handler ------------------------------------------------------------------------ */

static alu_table popc_table = {[PTX_TYPE_B32] = popc_32, [PTX_TYPE_B64] = popc_64};
static alu_table clz_table = {[PTX_TYPE_B32] = clz_32, [PTX_TYPE_B64] = clz_64};
static alu_table brev_table = {[PTX_TYPE_B32] = brev_32, [PTX_TYPE_B64] = brev_64};
static alu_table bfi_table = {[PTX_TYPE_B32] = bfi_32, [PTX_TYPE_B64] = bfi_64};
static alu_table fns_table = {[PTX_TYPE_B32] = fns_32};
#define FOUR(op)                                                                                   \
	{                                                                                          \
		[PTX_TYPE_U32] = op##_u32, [PTX_TYPE_S32] = op##_s32, [PTX_TYPE_U64] = op##_u64,   \
		[PTX_TYPE_S64] = op##_s64                                                          \
	}
static alu_table bfe_table = FOUR(bfe);
static alu_table bfind_table = FOUR(bfind);
static alu_table bfind_amount_table = FOUR(bfind_amount);
/* By sign of a, then of b. */
static cpu_exec *const dp4a_table[2][2] = {{dp4a_uu, dp4a_us}, {dp4a_su, dp4a_ss}};
static cpu_exec *const dp2a_lo_table[2][2] = {{dp2a_lo_uu, dp2a_lo_us}, {dp2a_lo_su, dp2a_lo_ss}};
static cpu_exec *const dp2a_hi_table[2][2] = {{dp2a_hi_uu, dp2a_hi_us}, {dp2a_hi_su, dp2a_hi_ss}};

static enum cpu_bound bind_dot(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_sa = alu_type(f, 0) == PTX_TYPE_S32, is_sb = alu_type(f, 1) == PTX_TYPE_S32;
	unsigned left = f->nmods;
	cpu_exec *fn = NULL;

	if (f->op == PTX_OP_DP4A)
		fn = dp4a_table[is_sa][is_sb];
	else if (alu_take(f, PTX_MOD_LO, &left))
		fn = dp2a_lo_table[is_sa][is_sb];
	else if (alu_take(f, PTX_MOD_HI, &left))
		fn = dp2a_hi_table[is_sa][is_sb];
	return alu_bind_same(d, s, in, left || f->ntypes != 2 ? NULL : fn, PTX_TYPE_B32, 3);
}

static enum cpu_bound bind_mode(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_signed = alu_type(f, 0) == PTX_TYPE_S32;
	unsigned left = f->nmods;
	cpu_exec *fn = NULL;

	if (alu_take(f, PTX_MOD_CLAMP, &left))
		fn = f->op == PTX_OP_BMSK ? bmsk_clamp
		     : is_signed	  ? szext_clamp_s32
					  : szext_clamp_u32;
	else if (alu_take(f, PTX_MOD_WRAP, &left))
		fn = f->op == PTX_OP_BMSK ? bmsk_wrap : is_signed ? szext_wrap_s32 : szext_wrap_u32;
	return alu_bind_same(d, s, in, left ? NULL : fn, PTX_TYPE_B32, 2);
}

enum cpu_bound CPU_BINDER(bits)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0);
	unsigned left = f->nmods;
	const enum ptx_type word[] = {PTX_TYPE_B32, t},
			    field[] = {t, t, PTX_TYPE_B32, PTX_TYPE_B32},
			    insert[] = {t, t, t, PTX_TYPE_B32, PTX_TYPE_B32};

	switch (f->op) {
	case PTX_OP_POPC:
		return alu_bind(d, s, in, left ? NULL : popc_table[t], word, 1);
	case PTX_OP_CLZ:
		return alu_bind(d, s, in, left ? NULL : clz_table[t], word, 1);
	case PTX_OP_BFIND:
		if (alu_take(f, PTX_MOD_SHIFTAMT, &left))
			return alu_bind(d, s, in, left ? NULL : bfind_amount_table[t], word, 1);
		return alu_bind(d, s, in, left ? NULL : bfind_table[t], word, 1);
	case PTX_OP_BREV:
		return alu_bind_same(d, s, in, left ? NULL : brev_table[t], t, 1);
	case PTX_OP_BFE:
		return alu_bind(d, s, in, left ? NULL : bfe_table[t], field, 3);
	case PTX_OP_BFI:
		return alu_bind(d, s, in, left ? NULL : bfi_table[t], insert, 4);
	case PTX_OP_FNS:
		return alu_bind_same(d, s, in, left ? NULL : fns_table[t], t, 3);
	case PTX_OP_DP4A:
	case PTX_OP_DP2A:
		return bind_dot(d, s, in);
	case PTX_OP_SZEXT:
	case PTX_OP_BMSK:
		return bind_mode(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
