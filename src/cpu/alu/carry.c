/*
 * carry.c - extended precision: add.cc, addc, sub.cc, subc, mad.cc, madc. PTX ISA 9.7.2.
 *
 * The carry flag of the 32 lanes is one word of the warp. A carry leaves the top bit of x + y
 * where both have it set, or one has and the sum has not. These bits are kept by lane and gathered
 * into the word at the end. Subtraction adds the complement, as GPUs do: the flag is then set where
 * there is *no* borrow. The ISA calls it the borrow; only code that mixes sub.cc with addc can
 * observe the difference, and it gets an H100's result.
 * Costs: high halves of 64-bit products are one lane at a time.
 */
#include "cpu/alu/alu.h"

cpu_binder CPU_BINDER(carry);

typedef unsigned __int128 u128;
typedef __int128 s128;

/* X, Y: the two terms. READS, WRITES: does it use the flag, set it? FIRST: the flags to add if it
 * uses none. */
#define CARRY_OP(name, bits, X, Y, READS, WRITES, FIRST)                                           \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		uint##bits##_t *d = cpu_slot(w, in->dst[0]), out[CPU_WARP];                        \
		const uint##bits##_t *as = cpu_slot(w, in->src[0]), *bs = cpu_slot(w, in->src[1]); \
		const uint##bits##_t *cs = cpu_slot(w, in->src[2]);                                \
		const uint32_t flags = (READS) ? w->carry : (FIRST);                               \
                                                                                                   \
		(void)cs;                                                                          \
		CPU_VECTORIZE                                                                      \
		for (unsigned l = 0; l < CPU_WARP; l++) {                                          \
			const uint##bits##_t x = X, y = Y, carry = flags >> l & 1u;                \
			const uint##bits##_t r = x + y + carry;                                    \
			out[l] = (x & y) | ((x | y) & ~r);                                         \
			d[l] = (mask >> l & 1u) ? r : d[l];                                        \
		}                                                                                  \
		if (WRITES)                                                                        \
			w->carry = (w->carry & ~mask) | (alu_signs##bits(out) & mask);             \
		return CPU_OK;                                                                     \
	}
#define THREE(name, bits, X, Y, FIRST)                                                             \
	CARRY_OP(name##_cc_##bits, bits, X, Y, false, true, FIRST)                                 \
	CARRY_OP(name##c_##bits, bits, X, Y, true, false, FIRST)                                   \
	CARRY_OP(name##c_cc_##bits, bits, X, Y, true, true, FIRST)

static inline uint32_t high_u32(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> 32);
}

static inline uint32_t high_s32(uint32_t a, uint32_t b)
{
	return (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32);
}

static inline uint64_t high_u64(uint64_t a, uint64_t b)
{
	return (uint64_t)((u128)a * b >> 64);
}

static inline uint64_t high_s64(uint64_t a, uint64_t b)
{
	return (uint64_t)((s128)(int64_t)a * (int64_t)b >> 64);
}

#define ALL(bits)                                                                                  \
	THREE(add, bits, as[l], bs[l], 0)                                                          \
	THREE(sub, bits, as[l], ~bs[l], UINT32_MAX)                                                \
	THREE(mad_lo, bits, as[l] * bs[l], cs[l], 0)                                               \
	THREE(mad_hi_u, bits, high_u##bits(as[l], bs[l]), cs[l], 0)                                \
	THREE(mad_hi_s, bits, high_s##bits(as[l], bs[l]), cs[l], 0)
ALL(32)
ALL(64)

/* ---- which handler ---------------------------------------------------------------- */

enum { CC, C, C_CC }; /* sets the flag, uses it, both */

#define ROW(name, bits)                                                                            \
	{                                                                                          \
		name##_cc_##bits, name##c_##bits, name##c_cc_##bits                                \
	}
/* By width (64 or not) and use of the flag. */
static cpu_exec *const add_table[2][3] = {ROW(add, 32), ROW(add, 64)};
static cpu_exec *const sub_table[2][3] = {ROW(sub, 32), ROW(sub, 64)};
static cpu_exec *const mad_lo_table[2][3] = {ROW(mad_lo, 32), ROW(mad_lo, 64)};
static cpu_exec *const mad_hi_u_table[2][3] = {ROW(mad_hi_u, 32), ROW(mad_hi_u, 64)};
static cpu_exec *const mad_hi_s_table[2][3] = {ROW(mad_hi_s, 32), ROW(mad_hi_s, 64)};

enum cpu_bound CPU_BINDER(carry)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0);
	unsigned left = f->nmods, nsrc = 2;
	bool is_set = alu_take(f, PTX_MOD_CC, &left), is_64 = ptx_type_bytes(t) == 8;
	bool is_used = f->op == PTX_OP_ADDC || f->op == PTX_OP_SUBC || f->op == PTX_OP_MADC;
	unsigned use = is_used ? (is_set ? C_CC : C) : CC;
	cpu_exec *fn = NULL;

	switch (f->op) {
	case PTX_OP_ADD:
	case PTX_OP_ADDC:
		fn = add_table[is_64][use];
		break;
	case PTX_OP_SUB:
	case PTX_OP_SUBC:
		fn = sub_table[is_64][use];
		break;
	case PTX_OP_MAD:
	case PTX_OP_MADC:
		nsrc = 3;
		if (alu_take(f, PTX_MOD_LO, &left))
			fn = mad_lo_table[is_64][use];
		else if (alu_take(f, PTX_MOD_HI, &left))
			fn = (ptx_type_class(t) == PTX_CLASS_SINT ? mad_hi_s_table
								  : mad_hi_u_table)[is_64][use];
		break;
	default:
		return CPU_NOT_MINE;
	}
	if (!is_set && !is_used)
		return CPU_NOT_MINE;
	if (left || !alu_is_int(t) || ptx_type_bytes(t) < 4 ||
	    ptx_type_class(t) == PTX_CLASS_PACKED)
		fn = NULL;
	/* Handlers with two operands read the third's address nevertheless. */
	in->src[2] = 0;
	return alu_bind_same(d, s, in, fn, t, nsrc);
}
