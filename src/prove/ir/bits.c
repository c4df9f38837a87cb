/*
 * bits.c - the value steps of bfe, bfi, lop3, prmt and shf (ir.h).
 *
 * As operations of expr.h, by the PTX manual (9.7.1, 9.7.8, 9.7.9). What is constant only when the
 * kernel is evaluated (a function's argument) folds then.
 *
 * Misses: bfi and signed bfe of places that the text doesn't have; prmt's modes.
 */
#include "prove/ir.h"

static uint32_t shifted(struct ir_frame *fr, enum ex_op op, uint32_t v, uint64_t by)
{
	return by ? prove_ir_bin(fr, op, v, prove_ir_const(fr, fr->ir->width.v[v], by)) : v;
}

static uint32_t masked(struct ir_frame *fr, uint32_t v, uint64_t mask)
{
	return prove_ir_bin(fr, EX_AND, v, prove_ir_const(fr, fr->ir->width.v[v], mask));
}

/* The low 8 bits of an operand that says a place or a length, w bits wide. */
static uint32_t place(struct ir_frame *fr, const struct ptx_opnd *o, unsigned w)
{
	return prove_ir_resize(fr, masked(fr, prove_ir_operand(fr, o, 32), 255), w, false);
}

/* bfe d, a, place, length */
static bool lower_bfe(struct ir_frame *fr, const struct ptx_stmt *s, unsigned w, bool is_signed)
{
	bool is_fixed = s->ops[2].kind == PTX_OPND_INT && s->ops[3].kind == PTX_OPND_INT;
	uint32_t v, one;

	if (!is_fixed && is_signed)
		return false;
	if (is_fixed) {
		uint64_t at = (uint64_t)s->ops[2].imm & 255, n = (uint64_t)s->ops[3].imm & 255;
		if (!n || at + n > w)
			return false;
		v = prove_ir_operand(fr, &s->ops[1], w);
		if (is_signed)
			v = shifted(fr, EX_ASHR, shifted(fr, EX_SHL, v, w - at - n), w - n);
		else /* quotient and remainder, as digits are */
			v = shifted(fr, EX_LSHR, v, at);
		if (!is_signed && at + n < w)
			v = masked(fr, v, prove_ex_mask((unsigned)n));
	} else { /* a shift by the width or more is 0, so that all of it is the mask */
		v = prove_ir_bin(fr, EX_LSHR, prove_ir_operand(fr, &s->ops[1], w),
				 place(fr, &s->ops[2], w));
		one = prove_ir_const(fr, w, 1);
		v = prove_ir_bin(
			fr, EX_AND, v,
			prove_ir_bin(fr, EX_SUB,
				     prove_ir_bin(fr, EX_SHL, one, place(fr, &s->ops[3], w)), one));
	}
	prove_ir_write(fr, &s->ops[0], v, false);
	return true;
}

/* bfi d, a, b, place, length: a's low bits in place of b's */
static bool lower_bfi(struct ir_frame *fr, const struct ptx_stmt *s, unsigned w)
{
	if (s->ops[3].kind != PTX_OPND_INT || s->ops[4].kind != PTX_OPND_INT)
		return false;
	uint64_t at = (uint64_t)s->ops[3].imm & 255, n = (uint64_t)s->ops[4].imm & 255;
	if (!n || at + n > w)
		return false;
	uint64_t low = prove_ex_mask((unsigned)n);
	uint32_t a = prove_ir_operand(fr, &s->ops[1], w), b = prove_ir_operand(fr, &s->ops[2], w);
	a = shifted(fr, EX_SHL, n < w ? masked(fr, a, low) : a, at);
	b = masked(fr, b, ~(low << at));
	prove_ir_write(fr, &s->ops[0], prove_ir_bin(fr, EX_OR, a, b), false);
	return true;
}

/* lop3: the sum of the table's minterms */
static bool lower_lop3(struct ir_frame *fr, const struct ptx_stmt *s)
{
	uint32_t x[3], n[3], r = prove_ir_const(fr, 32, 0);

	if (s->nops != 5 || s->ops[4].kind != PTX_OPND_INT || s->ops[0].kind != PTX_OPND_REG)
		return false;
	for (int i = 0; i < 3; i++) {
		x[i] = prove_ir_operand(fr, &s->ops[1 + i], 32);
		n[i] = prove_ir_value(fr, EX_NOT, 32, x[i], IR_NONE, IR_NONE);
	}
	for (unsigned k = 0; k < 8; k++) {
		if (!(s->ops[4].imm >> k & 1))
			continue;
		uint32_t t = prove_ir_bin(fr, EX_AND, k & 4 ? x[0] : n[0], k & 2 ? x[1] : n[1]);
		r = prove_ir_bin(fr, EX_OR, r, prove_ir_bin(fr, EX_AND, t, k & 1 ? x[2] : n[2]));
	}
	prove_ir_write(fr, &s->ops[0], r, false);
	return true;
}

/* The operands 1 and 2 as one number of 64 bits, the second one above. */
static uint32_t both(struct ir_frame *fr, const struct ptx_stmt *s)
{
	uint32_t a = prove_ir_operand(fr, &s->ops[1], 32), b = prove_ir_operand(fr, &s->ops[2], 32);

	b = shifted(fr, EX_SHL, prove_ir_resize(fr, b, 64, false), 32);
	return prove_ir_bin(fr, EX_OR, prove_ir_resize(fr, a, 64, false), b);
}

/* prmt d, a, b, selector: each of its low four nibbles names a byte of both, or that byte's sign */
static bool lower_prmt(struct ir_frame *fr, const struct ptx_stmt *s)
{
	if (s->form->nmods || s->nops != 4)
		return false;
	uint32_t v = both(fr, s), sel = prove_ir_operand(fr, &s->ops[3], 32), r = IR_NONE;
	for (unsigned i = 0; i < 4; i++) {
		uint32_t which = masked(fr, shifted(fr, EX_LSHR, sel, 4 * i), 7);
		uint32_t by = prove_ir_resize(fr, shifted(fr, EX_SHL, which, 3), 64, false);
		uint32_t byte = prove_ir_resize(fr, prove_ir_bin(fr, EX_LSHR, v, by), 8, false);
		uint32_t sign = prove_ir_resize(fr, shifted(fr, EX_LSHR, sel, 4 * i + 3), 1, false);
		byte = prove_ir_value(fr, EX_ITE, 8, sign, shifted(fr, EX_ASHR, byte, 7), byte);
		byte = shifted(fr, EX_SHL, prove_ir_resize(fr, byte, 32, false), 8 * i);
		r = i ? prove_ir_bin(fr, EX_OR, r, byte) : byte;
	}
	prove_ir_write(fr, &s->ops[0], r, false);
	return true;
}

/* shf.l, shf.r: the upper or the lower half of both, shifted; by 32 at most, or modulo 32 */
static bool lower_shf(struct ir_frame *fr, const struct ptx_stmt *s)
{
	bool is_left = ptx_form_has(s->form, PTX_MOD_L),
	     is_wrap = ptx_form_has(s->form, PTX_MOD_WRAP);
	uint32_t n = prove_ir_operand(fr, &s->ops[3], 32);

	if (is_wrap) {
		n = masked(fr, n, 31);
	} else {
		uint32_t most = prove_ir_const(fr, 32, 32);
		uint32_t is_less = prove_ir_bin(fr, EX_ULT, n, most);
		n = prove_ir_value(fr, EX_ITE, 32, is_less, n, most);
	}
	uint32_t v = prove_ir_bin(fr, is_left ? EX_SHL : EX_LSHR, both(fr, s),
				  prove_ir_resize(fr, n, 64, false));
	if (is_left)
		v = shifted(fr, EX_LSHR, v, 32);
	prove_ir_write(fr, &s->ops[0], prove_ir_resize(fr, v, 32, false), false);
	return true;
}

bool prove_ir_lower_bits(struct ir_frame *fr, const struct ptx_stmt *s)
{
	enum ptx_type t = (enum ptx_type)s->form->types[0];
	unsigned w = 8 * ptx_type_bytes(t);

	switch (s->form->op) {
	case PTX_OP_BFE:
		return lower_bfe(fr, s, w, ptx_type_class(t) == PTX_CLASS_SINT);
	case PTX_OP_BFI:
		return lower_bfi(fr, s, w);
	case PTX_OP_LOP3:
		return lower_lop3(fr, s);
	case PTX_OP_PRMT:
		return lower_prmt(fr, s);
	default:
		return lower_shf(fr, s);
	}
}
