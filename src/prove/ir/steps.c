/*
 * steps.c - the value steps of one PTX instruction (ir.h).
 *
 * Integer instructions are taken apart into the operations of expr.h with the exact widths of the
 * PTX manual (9.7.1, 9.7.6, 9.7.8, 9.7.9). Everything else without an effect (floating point, bit
 * counting) becomes an unmodelled function of its operands: equal operands, equal result. What
 * reads the carry flag, a clock or other lanes becomes a new value at each execution.
 *
 * Misses: nothing; what isn't taken apart is approximated.
 */
#include "prove/ir.h"

#include <string.h>

uint32_t prove_ir_new_reg(struct ir *ir, unsigned w)
{
	base_vec_push(&ir->width, (uint8_t)w);
	return (uint32_t)ir->width.n - 1;
}

struct ir_step *prove_ir_push(struct ir_frame *fr, enum ir_kind kind, uint32_t dst)
{
	struct ir *ir = fr->ir;
	struct ir_step st = {.kind = (uint8_t)kind, .dst = dst, .pred = IR_NONE, .at = fr->at};

	st.call = fr->call;
	st.src[0] = st.src[1] = st.src[2] = IR_NONE;
	if (dst != IR_NONE)
		st.w = ir->width.v[dst];
	base_vec_push(&ir->steps, st);
	ir->blocks.v[ir->blocks.n - 1].n++;
	return &ir->steps.v[ir->steps.n - 1];
}

uint32_t prove_ir_value(struct ir_frame *fr, enum ex_op op, unsigned w, uint32_t a, uint32_t b,
			uint32_t c)
{
	uint32_t d = prove_ir_new_reg(fr->ir, w);
	struct ir_step *st = prove_ir_push(fr, IR_VALUE, d);

	st->op = (uint8_t)op;
	st->src[0] = a;
	st->src[1] = b;
	st->src[2] = c;
	return d;
}

uint32_t prove_ir_bin(struct ir_frame *fr, enum ex_op op, uint32_t a, uint32_t b)
{
	bool is_test = op == EX_EQ || op == EX_ULT || op == EX_SLT;

	return prove_ir_value(fr, op, is_test ? 1 : fr->ir->width.v[a], a, b, IR_NONE);
}

static uint32_t un(struct ir_frame *fr, enum ex_op op, unsigned w, uint32_t a)
{
	return prove_ir_value(fr, op, w, a, IR_NONE, IR_NONE);
}

uint32_t prove_ir_const(struct ir_frame *fr, unsigned w, uint64_t v)
{
	uint32_t d = prove_ir_new_reg(fr->ir, w);

	prove_ir_push(fr, IR_CONST, d)->imm = v & prove_ex_mask(w);
	return d;
}

static uint32_t unknown(struct ir_frame *fr, unsigned w)
{
	uint32_t d = prove_ir_new_reg(fr->ir, w);

	prove_ir_push(fr, IR_VAR, d);
	return d;
}

uint32_t prove_ir_resize(struct ir_frame *fr, uint32_t v, unsigned w, bool is_signed)
{
	unsigned from = fr->ir->width.v[v];

	if (from == w)
		return v;
	return un(fr, from > w ? EX_TRUNC : is_signed ? EX_SEXT : EX_ZEXT, w, v);
}

/* ---- operands ---------------------------------------------------------------- */

static uint32_t spec(struct ir_frame *fr, enum prove_ex_spec s)
{
	uint32_t d = prove_ir_new_reg(fr->ir, 32);

	prove_ir_push(fr, IR_SPEC, d)->imm = s;
	return d;
}

/* The lane: the linear number of the thread, modulo 32 (CUDA guide, "SIMT architecture"). */
uint32_t prove_ir_lane(struct ir_frame *fr)
{
	uint32_t yz = prove_ir_bin(
		fr, EX_ADD, prove_ir_bin(fr, EX_MUL, spec(fr, EX_TID_Z), spec(fr, EX_NTID_Y)),
		spec(fr, EX_TID_Y));
	uint32_t t = prove_ir_bin(fr, EX_ADD, prove_ir_bin(fr, EX_MUL, yz, spec(fr, EX_NTID_X)),
				  spec(fr, EX_TID_X));

	return prove_ir_bin(fr, EX_UREM, t, prove_ir_const(fr, 32, 32));
}

/* w: as wide as it is read. What isn't known here may have all of these bits: %globaltimer. */
static uint32_t special(struct ir_frame *fr, struct ptx_str s, unsigned w)
{
	static const struct {
		const char *name;
		enum prove_ex_spec first;
	} dims[] = {{"%tid.", EX_TID_X},
		    {"%ctaid.", EX_CTAID_X},
		    {"%ntid.", EX_NTID_X},
		    {"%nctaid.", EX_NCTAID_X}};

	for (size_t i = 0; i < BASE_COUNTOF(dims); i++) {
		uint32_t n = (uint32_t)strlen(dims[i].name);
		if (s.n == n + 1 && !memcmp(s.p, dims[i].name, n) && s.p[n] >= 'x' && s.p[n] <= 'z')
			return spec(fr, dims[i].first + (enum prove_ex_spec)(s.p[n] - 'x'));
	}
	if (ptx_str_is(s, "WARP_SZ"))
		return prove_ir_const(fr, 32, 32);
	if (ptx_str_is(s, "%laneid"))
		return prove_ir_lane(fr);
	uint32_t mask = prove_ir_lanemask(fr, s);
	return mask != IR_NONE ? mask : unknown(fr, w);
}

static uint32_t address(struct ir_frame *fr, const struct ptx_opnd *o, unsigned w)
{
	uint32_t obj = prove_ir_find_object(fr, o->text, o->flags & PTX_OPND_VAR ? o->var : NULL);

	if (obj == IR_NONE)
		return unknown(fr, w);
	uint32_t d = prove_ir_new_reg(fr->ir, w);
	prove_ir_push(fr, IR_ADDR, d)->imm = obj;
	if (o->off)
		d = prove_ir_bin(fr, EX_ADD, d, prove_ir_const(fr, w, (uint64_t)o->off));
	return d;
}

static uint32_t packed(struct ir_frame *fr, const struct ptx_opnd *o, unsigned w)
{
	unsigned part = o->nsub ? w / o->nsub : 0;
	uint32_t r = IR_NONE;

	if (!part || part * o->nsub != w)
		return unknown(fr, w);
	for (unsigned i = 0; i < o->nsub; i++) {
		uint32_t v = prove_ir_resize(fr, prove_ir_operand(fr, &o->sub[i], part), w, false);
		if (i)
			v = prove_ir_bin(fr, EX_SHL, v, prove_ir_const(fr, w, i * part));
		r = i ? prove_ir_bin(fr, EX_OR, r, v) : v;
	}
	return r;
}

uint64_t prove_ir_literal(const struct ptx_opnd *o, unsigned w)
{
	union {
		uint32_t u;
		float f;
	} single = {.u = (uint32_t)o->imm};
	union {
		uint64_t u;
		double f;
	} wide = {.u = (uint64_t)o->imm};

	if (o->kind == PTX_OPND_F64 && w == 32) {
		single.f = (float)wide.f;
		return single.u;
	}
	if (o->kind == PTX_OPND_F32 && w == 64)
		wide.f = (double)single.f;
	return wide.u;
}

/* !v or -v, where the operand says so; of numbers the parser has done it. */
static uint32_t with_sign(struct ir_frame *fr, const struct ptx_opnd *o, uint32_t v)
{
	unsigned w = fr->ir->width.v[v];

	if (o->flags & PTX_OPND_NOT)
		return un(fr, EX_NOT, w, v);
	return o->flags & PTX_OPND_NEG ? prove_ir_bin(fr, EX_SUB, prove_ir_const(fr, w, 0), v) : v;
}

uint32_t prove_ir_operand(struct ir_frame *fr, const struct ptx_opnd *o, unsigned w)
{
	uint32_t v;

	switch ((enum ptx_opnd_kind)o->kind) {
	case PTX_OPND_REG:
		if (o->comp)
			return unknown(fr, w);
		v = prove_ir_resize(fr, prove_ir_before(fr, o->reg), w, false);
		return with_sign(fr, o, v);
	case PTX_OPND_INT:
	case PTX_OPND_F32:
	case PTX_OPND_F64:
		return prove_ir_const(fr, w, prove_ir_literal(o, w));
	case PTX_OPND_SPECIAL:
		v = prove_ir_resize(fr, special(fr, o->text, w), w, false);
		return with_sign(fr, o, v);
	case PTX_OPND_SYM:
		return address(fr, o, w);
	case PTX_OPND_VEC:
		return packed(fr, o, w);
	default:
		return unknown(fr, w);
	}
}

static void write_reg(struct ir_frame *fr, uint32_t reg, uint32_t v, bool is_signed)
{
	const struct ptx_stmt *s = fr->at;
	uint32_t d = fr->reg_base + reg;

	v = prove_ir_resize(fr, v, fr->ir->width.v[d], is_signed);
	if (s->pred == PTX_NO_REG) {
		prove_ir_push(fr, IR_COPY, d)->src[0] = v;
		return;
	}
	uint32_t p = prove_ir_before(fr, s->pred);
	struct ir_step *st = prove_ir_push(fr, IR_VALUE, d);
	st->op = EX_ITE;
	st->src[0] = p;
	st->src[1] = s->is_pred_not ? d : v;
	st->src[2] = s->is_pred_not ? v : d;
}

void prove_ir_write(struct ir_frame *fr, const struct ptx_opnd *o, uint32_t v, bool is_signed)
{
	unsigned w = fr->ir->width.v[v];

	if (o->kind == PTX_OPND_REG && !o->comp) {
		write_reg(fr, o->reg, v, is_signed);
	} else if (o->kind == PTX_OPND_VEC && o->nsub && w % o->nsub == 0) {
		unsigned part = w / o->nsub;
		for (unsigned i = 0; i < o->nsub; i++) {
			uint32_t x =
				i ? prove_ir_bin(fr, EX_LSHR, v, prove_ir_const(fr, w, i * part))
				  : v;
			prove_ir_write(fr, &o->sub[i], prove_ir_resize(fr, x, part, false), false);
		}
	} else {
		prove_ir_write_unknown(fr, o);
	}
}

void prove_ir_write_common(struct ir_frame *fr, const struct ptx_opnd *o)
{
	if (o->kind != PTX_OPND_REG) {
		prove_ir_write_unknown(fr, o);
		return;
	}
	uint32_t v = unknown(fr, fr->ir->width.v[fr->reg_base + o->reg]);
	fr->ir->steps.v[fr->ir->steps.n - 1].op = EX_CTA;
	write_reg(fr, o->reg, v, false);
}

void prove_ir_write_unknown(struct ir_frame *fr, const struct ptx_opnd *o)
{
	if (o->kind == PTX_OPND_REG)
		write_reg(fr, o->reg, unknown(fr, fr->ir->width.v[fr->reg_base + o->reg]), false);
	if (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_PAIR || o->kind == PTX_OPND_LIST)
		for (unsigned i = 0; i < o->nsub; i++)
			prove_ir_write_unknown(fr, &o->sub[i]);
}

/* ---- instructions -------------------------------------------------------------- */

static unsigned bits_of(enum ptx_type t)
{
	return t == PTX_TYPE_PRED ? 1 : 8 * ptx_type_bytes(t);
}

static bool is_int(enum ptx_type t)
{
	enum ptx_type_class c = ptx_type_class(t);

	return (c == PTX_CLASS_BITS || c == PTX_CLASS_UINT || c == PTX_CLASS_SINT ||
		c == PTX_CLASS_PRED) &&
	       bits_of(t) && bits_of(t) <= 64;
}

/* What more than its operands does the result depend on? The carry flag, or the block: a shared
 * address is one number in all blocks, and another place. */
static bool rests_on_more(enum ptx_op op)
{
	return op == PTX_OP_ADDC || op == PTX_OP_SUBC || op == PTX_OP_MADC || op == PTX_OP_MAPA ||
	       op == PTX_OP_GETCTARANK;
}

/* An unmodelled function of the registers that the instruction reads. */
static void lower_pure(struct ir_frame *fr, const struct ptx_stmt *s)
{
	uint64_t h = base_hash(s->form->text.p, s->form->text.n, BASE_FNV_INIT);
	uint32_t src[3] = {IR_NONE, IR_NONE, IR_NONE}, n = 0;
	bool fits = !ptx_form_has(s->form, PTX_MOD_CC) && !rests_on_more(s->form->op);

	for (unsigned i = 0; i < s->nops && fits; i++) {
		const struct ptx_opnd *o = &s->ops[i];
		if (ptx_stmt_role(s, i) == PTX_ROLE_DST)
			continue;
		h = base_hash(&o->flags, 1, h);
		h = base_hash(&o->kind, sizeof(o->kind), h); /* of (x, 0) and (0, x) */
		if (o->kind == PTX_OPND_REG && !o->comp && n < 3)
			src[n++] = fr->reg_base + o->reg;
		else if (o->kind == PTX_OPND_INT || o->kind == PTX_OPND_F32 ||
			 o->kind == PTX_OPND_F64)
			h = base_hash(&o->imm, sizeof(o->imm), h);
		else
			fits = false;
	}
	if (!s->nops || ptx_stmt_role(s, 0) != PTX_ROLE_DST)
		return;
	if (!fits || s->ops[0].kind != PTX_OPND_REG) {
		prove_ir_write_unknown(fr, &s->ops[0]);
		return;
	}
	uint32_t d = prove_ir_new_reg(fr->ir, fr->ir->width.v[fr->reg_base + s->ops[0].reg]);
	struct ir_step *st = prove_ir_push(fr, IR_PURE, d);
	st->imm = h;
	memcpy(st->src, src, sizeof(src));
	prove_ir_write(fr, &s->ops[0], d, false);
}

static uint32_t compare(struct ir_frame *fr, const struct ptx_form *f, uint32_t a, uint32_t b,
			bool is_signed)
{
	enum ex_op lt = is_signed ? EX_SLT : EX_ULT;

	for (unsigned i = 0; i < f->nmods; i++) {
		switch (f->mods[i]) {
		case PTX_MOD_EQ:
			return prove_ir_bin(fr, EX_EQ, a, b);
		case PTX_MOD_NE:
			return un(fr, EX_NOT, 1, prove_ir_bin(fr, EX_EQ, a, b));
		case PTX_MOD_LT:
			return prove_ir_bin(fr, lt, a, b);
		case PTX_MOD_LO:
			return prove_ir_bin(fr, EX_ULT, a, b);
		case PTX_MOD_GT:
			return prove_ir_bin(fr, lt, b, a);
		case PTX_MOD_HI:
			return prove_ir_bin(fr, EX_ULT, b, a);
		case PTX_MOD_LE:
			return un(fr, EX_NOT, 1, prove_ir_bin(fr, lt, b, a));
		case PTX_MOD_LS:
			return un(fr, EX_NOT, 1, prove_ir_bin(fr, EX_ULT, b, a));
		case PTX_MOD_GE:
			return un(fr, EX_NOT, 1, prove_ir_bin(fr, lt, a, b));
		case PTX_MOD_HS:
			return un(fr, EX_NOT, 1, prove_ir_bin(fr, EX_ULT, a, b));
		default:
			break;
		}
	}
	return unknown(fr, 1);
}

/* setp.CMP[.BOOL].type p[|q], a, b[, [!]c] */
static bool lower_setp(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = (enum ptx_type)f->types[0];
	unsigned w = bits_of(t);

	if (!is_int(t) || s->ops[0].kind != PTX_OPND_REG)
		return false;
	uint32_t a = prove_ir_operand(fr, &s->ops[1], w), b = prove_ir_operand(fr, &s->ops[2], w);
	uint32_t p = compare(fr, f, a, b, ptx_type_class(t) == PTX_CLASS_SINT);
	if (s->nops > 3) {
		uint32_t c = prove_ir_operand(fr, &s->ops[3], 1);
		enum ex_op op = ptx_form_has(f, PTX_MOD_OR)    ? EX_OR
				: ptx_form_has(f, PTX_MOD_XOR) ? EX_XOR
							       : EX_AND;
		p = prove_ir_bin(fr, op, p, c);
	}
	prove_ir_write(fr, &s->ops[0], p, false);
	return true;
}

/* mul, mad in their .lo, .hi and .wide forms */
static bool lower_mul(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = (enum ptx_type)f->types[0];
	bool is_signed = ptx_type_class(t) == PTX_CLASS_SINT;
	unsigned w = bits_of(t), to = ptx_form_has(f, PTX_MOD_WIDE) ? 2 * w : w;
	bool is_high = ptx_form_has(f, PTX_MOD_HI);

	if (ptx_form_has(f, PTX_MOD_CC) || ptx_form_has(f, PTX_MOD_SAT) || (is_high && w > 32))
		return false;
	uint32_t a = prove_ir_operand(fr, &s->ops[1], w), b = prove_ir_operand(fr, &s->ops[2], w);
	unsigned at = is_high ? 2 * w : to;
	a = prove_ir_resize(fr, a, at, is_signed);
	b = prove_ir_resize(fr, b, at, is_signed);
	uint32_t v = prove_ir_bin(fr, EX_MUL, a, b);
	if (is_high)
		v = prove_ir_resize(fr, prove_ir_bin(fr, EX_LSHR, v, prove_ir_const(fr, at, w)), w,
				    false);
	if (f->op == PTX_OP_MAD)
		v = prove_ir_bin(fr, EX_ADD, v, prove_ir_operand(fr, &s->ops[3], to));
	prove_ir_write(fr, &s->ops[0], v, is_signed);
	return true;
}

static bool lower_cvt(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	enum ptx_type to = (enum ptx_type)f->types[0], from = (enum ptx_type)f->types[1];

	if (f->ntypes != 2 || !is_int(to) || !is_int(from) || ptx_form_has(f, PTX_MOD_SAT) ||
	    s->nops != 2)
		return false;
	uint32_t v = prove_ir_operand(fr, &s->ops[1], bits_of(from));
	v = prove_ir_resize(fr, v, bits_of(to), ptx_type_class(from) == PTX_CLASS_SINT);
	prove_ir_write(fr, &s->ops[0], v, ptx_type_class(to) == PTX_CLASS_SINT);
	return true;
}

static bool lower_select(struct ir_frame *fr, const struct ptx_stmt *s, unsigned w)
{
	if (s->ops[3].kind != PTX_OPND_REG || s->nops != 4)
		return false;
	uint32_t a = prove_ir_operand(fr, &s->ops[1], w), b = prove_ir_operand(fr, &s->ops[2], w);
	uint32_t p = prove_ir_operand(fr, &s->ops[3], 1);
	prove_ir_write(fr, &s->ops[0], prove_ir_value(fr, EX_ITE, w, p, a, b), false);
	return true;
}

/* The amount of a shift is 32 bits wide, and clamped in PTX: 32 and more is all out. */
static void lower_shift(struct ir_frame *fr, const struct ptx_stmt *s, enum ex_op op, unsigned w)
{
	uint32_t a = prove_ir_operand(fr, &s->ops[1], w), n = prove_ir_operand(fr, &s->ops[2], 32);

	if (w < 32) { /* a big amount must stay big */
		bool is_signed = op == EX_ASHR;
		uint32_t v = prove_ir_value(fr, op, 32, prove_ir_resize(fr, a, 32, is_signed), n,
					    IR_NONE);
		prove_ir_write(fr, &s->ops[0], prove_ir_resize(fr, v, w, false), false);
		return;
	}
	prove_ir_write(fr, &s->ops[0], prove_ir_bin(fr, op, a, prove_ir_resize(fr, n, w, false)),
		       false);
}

static bool lower_two(struct ir_frame *fr, const struct ptx_stmt *s, enum ptx_type t)
{
	const struct ptx_form *f = s->form;
	bool is_signed = ptx_type_class(t) == PTX_CLASS_SINT;
	unsigned w = bits_of(t);
	enum ex_op op;

	if (ptx_form_has(f, PTX_MOD_CC) || ptx_form_has(f, PTX_MOD_SAT) ||
	    ptx_form_has(f, PTX_MOD_RELU) || s->nops != 3)
		return false;
	/* clang-format off */
	switch (f->op) {
	case PTX_OP_ADD: op = EX_ADD; break;
	case PTX_OP_SUB: op = EX_SUB; break;
	case PTX_OP_DIV: op = is_signed ? EX_SDIV : EX_UDIV; break;
	case PTX_OP_REM: op = is_signed ? EX_SREM : EX_UREM; break;
	case PTX_OP_AND: op = EX_AND; break;
	case PTX_OP_OR: op = EX_OR; break;
	case PTX_OP_XOR: op = EX_XOR; break;
	case PTX_OP_SHL: lower_shift(fr, s, EX_SHL, w); return true;
	case PTX_OP_SHR: lower_shift(fr, s, is_signed ? EX_ASHR : EX_LSHR, w); return true;
	case PTX_OP_MIN: case PTX_OP_MAX: op = is_signed ? EX_SLT : EX_ULT; break;
	default: return false;
	}
	/* clang-format on */
	uint32_t a = prove_ir_operand(fr, &s->ops[1], w), b = prove_ir_operand(fr, &s->ops[2], w),
		 v;
	if (f->op == PTX_OP_MIN)
		v = prove_ir_value(fr, EX_ITE, w, prove_ir_bin(fr, op, a, b), a, b);
	else if (f->op == PTX_OP_MAX)
		v = prove_ir_value(fr, EX_ITE, w, prove_ir_bin(fr, op, a, b), b, a);
	else
		v = prove_ir_bin(fr, op, a, b);
	prove_ir_write(fr, &s->ops[0], v, is_signed);
	return true;
}

static bool lower_one(struct ir_frame *fr, const struct ptx_stmt *s, enum ptx_type t)
{
	unsigned w = bits_of(t);
	uint32_t a, zero, v;

	if (s->nops != 2 || ptx_form_has(s->form, PTX_MOD_SAT))
		return false;
	if (s->form->op == PTX_OP_MOV) {
		prove_ir_write(fr, &s->ops[0], prove_ir_operand(fr, &s->ops[1], w), false);
		return true;
	}
	a = prove_ir_operand(fr, &s->ops[1], w);
	zero = prove_ir_const(fr, w, 0);
	switch (s->form->op) {
	case PTX_OP_NOT:
		v = un(fr, EX_NOT, w, a);
		break;
	case PTX_OP_BREV:
		v = un(fr, EX_BREV, w, a);
		break;
	case PTX_OP_CLZ:
		v = prove_ir_resize(fr, un(fr, EX_CLZ, w, a), 32, false);
		break;
	case PTX_OP_BFIND:
		if (ptx_type_class(t) == PTX_CLASS_SINT)
			return false;
		v = un(fr, EX_CLZ, w, a);
		if (!ptx_form_has(s->form, PTX_MOD_SHIFTAMT))
			v = prove_ir_bin(fr, EX_SUB, prove_ir_const(fr, w, w - 1), v);
		/* of 0 it is all ones */
		v = prove_ir_value(fr, EX_ITE, w, prove_ir_bin(fr, EX_EQ, a, zero),
				   prove_ir_const(fr, w, UINT64_MAX), v);
		v = prove_ir_resize(fr, v, 32, false);
		break;
	case PTX_OP_NEG:
		v = prove_ir_bin(fr, EX_SUB, zero, a);
		break;
	case PTX_OP_CNOT:
		v = un(fr, EX_ZEXT, w, prove_ir_bin(fr, EX_EQ, a, zero));
		break;
	case PTX_OP_ABS:
		v = prove_ir_value(fr, EX_ITE, w, prove_ir_bin(fr, EX_SLT, a, zero),
				   prove_ir_bin(fr, EX_SUB, zero, a), a);
		break;
	default: /* cvta: generic addresses are the spaces' own here, see docs/prove.md */
		v = a;
		break;
	}
	prove_ir_write(fr, &s->ops[0], v, false);
	return true;
}

/* Headers ask it of each address that they get (cooperative_groups, cuda_pipeline). */
static bool lower_is_in(struct ir_frame *fr, const struct ptx_stmt *s)
{
	enum ir_space space = s->form->space == PTX_SPACE_SHARED   ? IR_SHARED
			      : s->form->space == PTX_SPACE_GLOBAL ? IR_GLOBAL
			      : s->form->space == PTX_SPACE_LOCAL  ? IR_LOCAL
								   : IR_GENERIC;

	if (s->nops != 2 || space == IR_GENERIC)
		return false;
	uint32_t a = prove_ir_operand(fr, &s->ops[1], 64), v = prove_ir_new_reg(fr->ir, 1);
	struct ir_step *st = prove_ir_push(fr, IR_IS_IN, v);
	st->w = 1;
	st->src[0] = a;
	st->imm = space;
	prove_ir_write(fr, &s->ops[0], v, false);
	return true;
}

static bool lower_value(struct ir_frame *fr, const struct ptx_stmt *s)
{
	enum ptx_type t = (enum ptx_type)s->form->types[0];

	switch (s->form->op) {
	case PTX_OP_SETP:
		return lower_setp(fr, s);
	case PTX_OP_ISSPACEP:
		return lower_is_in(fr, s);
	case PTX_OP_MOV:
		return bits_of(t) && bits_of(t) <= 64 && lower_one(fr, s, t);
	case PTX_OP_SELP:
		return bits_of(t) && bits_of(t) <= 64 && lower_select(fr, s, bits_of(t));
	default:
		break;
	}
	if (!is_int(t))
		return false;
	switch (s->form->op) {
	case PTX_OP_MUL:
	case PTX_OP_MAD:
		return lower_mul(fr, s);
	case PTX_OP_CVT:
		return lower_cvt(fr, s);
	case PTX_OP_BFE:
	case PTX_OP_BFI:
	case PTX_OP_LOP3:
	case PTX_OP_PRMT:
	case PTX_OP_SHF:
		return prove_ir_lower_bits(fr, s);
	case PTX_OP_NOT:
	case PTX_OP_BREV:
	case PTX_OP_CLZ:
	case PTX_OP_BFIND:
	case PTX_OP_NEG:
	case PTX_OP_CNOT:
	case PTX_OP_ABS:
	case PTX_OP_CVTA:
		return lower_one(fr, s, t);
	default:
		return lower_two(fr, s, t);
	}
}

static void lower_inst(struct ir_frame *fr, const struct ptx_stmt *s)
{
	if (s->form->effects || s->form->op == PTX_OP_ACTIVEMASK)
		prove_ir_lower_effect(fr, s);
	else if (!lower_value(fr, s))
		lower_pure(fr, s);
}

void prove_ir_lower_inst(struct ir_frame *fr, const struct ptx_stmt *s)
{
	prove_ir_keep_overwritten(fr, s);
	lower_inst(fr, s);
	fr->kept = NULL;
}
