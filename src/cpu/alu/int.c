/*
 * int.c - integer arithmetic: add, sub, mul, mad, mul24, mad24, sad, div, rem, abs, neg, min,
 * max of all integer types, packed ones included. PTX ISA 9.7.1.
 *
 * Signs matter only where a result or a carry into the high half does; add, sub and the low
 * product have one handler per size. 32-bit division goes through double, which is exact (both
 * operands fit its mantissa) and vector code.
 *
 * Where the ISA leaves results open they are those of the code that ptxas makes for sm_90:
 * division and remainder by zero give all ones in every width, the least value divided by -1
 * gives itself, remainder 0; abs and neg of the least value give itself.
 * Costs: 64-bit division and high products are one lane at a time.
 */
#include "cpu/alu/alu.h"
#include "cpu/jit/rows.h"

#include "race/record.h"

cpu_binder CPU_BINDER(int);

/* ---- sums and differences ------------------------------------------------------ */

ALU_BIN(add_16, uint16_t, uint16_t, uint16_t, a + b)
ALU_BIN(add_32, uint32_t, uint32_t, uint32_t, a + b)
ALU_BIN(add_64, uint64_t, uint64_t, uint64_t, a + b)
ALU_BIN(sub_16, uint16_t, uint16_t, uint16_t, a - b)
ALU_BIN(sub_32, uint32_t, uint32_t, uint32_t, a - b)
ALU_BIN(sub_64, uint64_t, uint64_t, uint64_t, a - b)

static inline int32_t clamp_s32(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

/* The sum of a and b overflows when both have the sign that it has not. */
static inline uint32_t add_sat_one(uint32_t a, uint32_t b)
{
	uint32_t r = a + b, limit = (a >> 31) + 0x7fffffffu;

	return ((a ^ r) & (b ^ r)) >> 31 ? limit : r;
}

static inline uint32_t sub_sat_one(uint32_t a, uint32_t b)
{
	uint32_t r = a - b, limit = (a >> 31) + 0x7fffffffu;

	return ((a ^ b) & (a ^ r)) >> 31 ? limit : r;
}

ALU_BIN(add_sat_s32, uint32_t, uint32_t, uint32_t, add_sat_one(a, b))
ALU_BIN(sub_sat_s32, uint32_t, uint32_t, uint32_t, sub_sat_one(a, b))

ALU_UN(neg_16, uint16_t, uint16_t, 0u - a)
ALU_UN(neg_32, uint32_t, uint32_t, 0u - a)
ALU_UN(neg_64, uint64_t, uint64_t, 0u - a)
ALU_UN(abs_16, uint16_t, uint16_t, a >> 15 ? 0u - a : a)
ALU_UN(abs_32, uint32_t, uint32_t, a >> 31 ? 0u - a : a)
ALU_UN(abs_64, uint64_t, uint64_t, a >> 63 ? 0u - a : a)

/* ---- products --------------------------------------------------------------------- */

typedef unsigned __int128 u128;
typedef __int128 s128;

ALU_BIN(mul_lo_16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b)
ALU_BIN(mul_lo_32, uint32_t, uint32_t, uint32_t, a *b)
ALU_BIN(mul_lo_64, uint64_t, uint64_t, uint64_t, a *b)
ALU_BIN(mul_hi_u16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b >> 16)
ALU_BIN(mul_hi_s16, int16_t, int16_t, int16_t, a *b >> 16)
ALU_BIN(mul_hi_u32, uint32_t, uint32_t, uint32_t, (uint64_t)a *b >> 32)
ALU_BIN(mul_hi_s32, int32_t, int32_t, int32_t, (int64_t)a *b >> 32)
ALU_BIN_SCALAR(mul_hi_u64, uint64_t, uint64_t, uint64_t, (u128)a *b >> 64)
ALU_BIN_SCALAR(mul_hi_s64, int64_t, int64_t, int64_t, (s128)a *b >> 64)
ALU_BIN(mul_wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)a *b)
ALU_BIN(mul_wide_s16, int32_t, int16_t, int16_t, a *b)
ALU_BIN(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a *b)
ALU_BIN(mul_wide_s32, int64_t, int32_t, int32_t, (int64_t)a *b)

ALU_TER(mad_lo_16, uint16_t, uint16_t, uint16_t, uint16_t, (uint32_t)a *b + c)
ALU_TER(mad_lo_32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)
ALU_TER(mad_lo_64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)
ALU_TER(mad_hi_u16, uint16_t, uint16_t, uint16_t, uint16_t, ((uint32_t)a * b >> 16) + c)
ALU_TER(mad_hi_s16, int16_t, int16_t, int16_t, int16_t, (a * b >> 16) + c)
ALU_TER(mad_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, ((uint64_t)a * b >> 32) + c)
ALU_TER(mad_hi_s32, int32_t, int32_t, int32_t, int32_t, ((int64_t)a * b >> 32) + c)
ALU_TER_SCALAR(mad_hi_u64, uint64_t, uint64_t, uint64_t, uint64_t, (uint64_t)((u128)a *b >> 64) + c)
ALU_TER_SCALAR(mad_hi_s64, uint64_t, int64_t, int64_t, uint64_t, (uint64_t)((s128)a *b >> 64) + c)
ALU_TER(mad_hi_sat_s32, int32_t, int32_t, int32_t, int32_t, clamp_s32(((int64_t)a * b >> 32) + c))
ALU_TER(mad_wide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a *b + c)
ALU_TER(mad_wide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)(a *b) + c)
ALU_TER(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a *b + c)
ALU_TER(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a *b) + c)

/* The 48-bit product of the low 24 bits of both: bits 0 to 31, or 16 to 47. */
static inline uint64_t mul24_u(uint32_t a, uint32_t b)
{
	return (uint64_t)(a & 0xffffffu) * (b & 0xffffffu);
}

static inline int64_t mul24_s(uint32_t a, uint32_t b)
{
	return (int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8);
}

ALU_BIN(mul24_lo_u32, uint32_t, uint32_t, uint32_t, mul24_u(a, b))
ALU_BIN(mul24_hi_u32, uint32_t, uint32_t, uint32_t, mul24_u(a, b) >> 16)
ALU_BIN(mul24_lo_s32, uint32_t, uint32_t, uint32_t, mul24_s(a, b))
ALU_BIN(mul24_hi_s32, uint32_t, uint32_t, uint32_t, (uint64_t)mul24_s(a, b) >> 16)
ALU_TER(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)mul24_u(a, b) + c)
ALU_TER(mad24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(mul24_u(a, b) >> 16) + c)
ALU_TER(mad24_lo_s32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)mul24_s(a, b) + c)
ALU_TER(mad24_hi_s32, uint32_t, uint32_t, uint32_t, uint32_t,
	(uint32_t)((uint64_t)mul24_s(a, b) >> 16) + c)
ALU_TER(mad24_hi_sat_s32, uint32_t, uint32_t, uint32_t, uint32_t,
	add_sat_one((uint32_t)((uint64_t)mul24_s(a, b) >> 16), c))

/* ---- sum of absolute differences ------------------------------------------------- */

/* The difference is the distance, which fits the unsigned type. */
ALU_TER(sad_u16, uint16_t, uint16_t, uint16_t, uint16_t, c + (a > b ? a - b : b - a))
ALU_TER(sad_s16, uint16_t, int16_t, int16_t, uint16_t, c + (a > b ? a - b : b - a))
ALU_TER(sad_u32, uint32_t, uint32_t, uint32_t, uint32_t, c + (a > b ? a - b : b - a))
ALU_TER(sad_s32, uint32_t, int32_t, int32_t, uint32_t,
	c + (a > b ? (uint32_t)a - (uint32_t)b : (uint32_t)b - (uint32_t)a))
ALU_TER(sad_u64, uint64_t, uint64_t, uint64_t, uint64_t, c + (a > b ? a - b : b - a))
ALU_TER(sad_s64, uint64_t, int64_t, int64_t, uint64_t,
	c + (a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a))

/* ---- division ----------------------------------------------------------------------- */

/* Unsigned 32-bit values as doubles and back, by way of the signed conversions that vector units
 * have: a bias of 2^31. */
static inline double u32_to_double(uint32_t v)
{
	return (double)(int32_t)(v ^ 0x80000000u) + 2147483648.0;
}

/* The quotient, rounded to double, never reaches the next integer: a / b is at least 1 / b below
 * it, and a * 2^-53 < 1. Above 2^31 the bias comes off first, which is exact. */
static inline uint32_t div_u32_one(uint32_t a, uint32_t b)
{
	double q = u32_to_double(a) / u32_to_double(b + !b);
	uint32_t is_big = q >= 2147483648.0;
	uint32_t r = (uint32_t)(int32_t)(q - (double)(int32_t)is_big * 2147483648.0);

	/* All ones when b is 0. */
	return (r + (is_big << 31)) | (0u - !b);
}

static inline uint32_t abs_one(uint32_t v)
{
	return v >> 31 ? 0u - v : v;
}

static inline uint32_t div_s32_one(uint32_t a, uint32_t b)
{
	uint32_t q = div_u32_one(abs_one(a), abs_one(b));

	return (a ^ b) >> 31 && b ? 0u - q : q;
}

static inline uint32_t rem_u32_one(uint32_t a, uint32_t b)
{
	return (a - div_u32_one(a, b) * b) | (0u - !b);
}

static inline uint32_t rem_s32_one(uint32_t a, uint32_t b)
{
	return (a - div_s32_one(a, b) * b) | (0u - !b);
}

static inline uint64_t div_u64_one(uint64_t a, uint64_t b)
{
	if (!b)
		return UINT64_MAX;
	/* Short operands are common, and the short division several times as fast. */
	if (!((a | b) >> 32))
		return (uint32_t)a / (uint32_t)b;
	return a / b;
}

static inline uint64_t div_s64_one(uint64_t a, uint64_t b)
{
	uint64_t q = div_u64_one(a >> 63 ? 0 - a : a, b >> 63 ? 0 - b : b);

	return b && (a ^ b) >> 63 ? 0 - q : q;
}

ALU_BIN(div_u16, uint16_t, uint16_t, uint16_t, div_u32_one(a, b))
ALU_BIN(div_s16, uint16_t, int16_t, int16_t, div_s32_one((uint32_t)a, (uint32_t)b))
ALU_BIN(div_u32, uint32_t, uint32_t, uint32_t, div_u32_one(a, b))
ALU_BIN(div_s32, uint32_t, uint32_t, uint32_t, div_s32_one(a, b))
ALU_BIN_EACH(div_u64, uint64_t, uint64_t, uint64_t, div_u64_one(a, b))
ALU_BIN_EACH(div_s64, uint64_t, uint64_t, uint64_t, div_s64_one(a, b))
ALU_BIN(rem_u16, uint16_t, uint16_t, uint16_t, rem_u32_one(a, b))
ALU_BIN(rem_s16, uint16_t, int16_t, int16_t, rem_s32_one((uint32_t)a, (uint32_t)b))
ALU_BIN(rem_u32, uint32_t, uint32_t, uint32_t, rem_u32_one(a, b))
ALU_BIN(rem_s32, uint32_t, uint32_t, uint32_t, rem_s32_one(a, b))
ALU_BIN_EACH(rem_u64, uint64_t, uint64_t, uint64_t, b ? a - div_u64_one(a, b) * b : UINT64_MAX)
ALU_BIN_EACH(rem_s64, uint64_t, uint64_t, uint64_t, b ? a - div_s64_one(a, b) * b : UINT64_MAX)

/* ---- minimum and maximum -------------------------------------------------------------- */

#define MIN_MAX(suffix, T)                                                                         \
	ALU_BIN(min_##suffix, T, T, T, a < b ? a : b)                                              \
	ALU_BIN(max_##suffix, T, T, T, a > b ? a : b)
MIN_MAX(u16, uint16_t)
MIN_MAX(s16, int16_t)
MIN_MAX(u32, uint32_t)
MIN_MAX(s32, int32_t)
MIN_MAX(u64, uint64_t)
MIN_MAX(s64, int64_t)

static inline int32_t relu(int32_t v)
{
	return v < 0 ? 0 : v;
}

ALU_BIN(min_relu_s32, int32_t, int32_t, int32_t, relu(a < b ? a : b))
ALU_BIN(max_relu_s32, int32_t, int32_t, int32_t, relu(a > b ? a : b))

/* ---- packed: two halves or four bytes of a word ------------------------------------------ */

static inline int32_t clamp(int32_t v, int32_t low, int32_t high)
{
	return v < low ? low : v > high ? high : v;
}

/* Part p of two words, as elements of type T. */
#define PART(T, v, p) ((int32_t)(T)((v) >> 8 * sizeof(T) * (p)))
#define AT(T, v, p)   ((uint32_t)(v) << (32 - 8 * sizeof(T)) >> (32 - 8 * sizeof(T) * ((p) + 1)))
#define PACKED_2(name, T, F)                                                                       \
	ALU_BIN(name, uint32_t, uint32_t, uint32_t,                                                \
		AT(T, F(T, PART(T, a, 0), PART(T, b, 0)), 0) |                                     \
			AT(T, F(T, PART(T, a, 1), PART(T, b, 1)), 1))
#define PACKED_4(name, T, F)                                                                       \
	ALU_BIN(name, uint32_t, uint32_t, uint32_t,                                                \
		AT(T, F(T, PART(T, a, 0), PART(T, b, 0)), 0) |                                     \
			AT(T, F(T, PART(T, a, 1), PART(T, b, 1)), 1) |                             \
			AT(T, F(T, PART(T, a, 2), PART(T, b, 2)), 2) |                             \
			AT(T, F(T, PART(T, a, 3), PART(T, b, 3)), 3))
#define LOW(T)		    ((T)-1 > 0 ? 0 : -(1 << (8 * sizeof(T) - 1)))
#define HIGH(T)		    (LOW(T) + (1 << 8 * sizeof(T)) - 1)
#define P_ADD(T, a, b)	    ((a) + (b))
#define P_SUB(T, a, b)	    ((a) - (b))
#define P_ADD_SAT(T, a, b)  clamp((a) + (b), (int32_t)LOW(T), (int32_t)HIGH(T))
#define P_SUB_SAT(T, a, b)  clamp((a) - (b), (int32_t)LOW(T), (int32_t)HIGH(T))
#define P_MIN(T, a, b)	    ((a) < (b) ? (a) : (b))
#define P_MAX(T, a, b)	    ((a) > (b) ? (a) : (b))
#define P_MIN_RELU(T, a, b) relu(P_MIN(T, a, b))
#define P_MAX_RELU(T, a, b) relu(P_MAX(T, a, b))
#define PACKED(op, F)                                                                              \
	PACKED_2(op##_u16x2, uint16_t, F)                                                          \
	PACKED_2(op##_s16x2, int16_t, F)                                                           \
	PACKED_4(op##_u8x4, uint8_t, F)                                                            \
	PACKED_4(op##_s8x4, int8_t, F)

PACKED(add, P_ADD)
PACKED(sub, P_SUB)
PACKED(add_sat, P_ADD_SAT)
PACKED(sub_sat, P_SUB_SAT)
PACKED(min, P_MIN)
PACKED(max, P_MAX)
PACKED_2(min_relu_s16x2, int16_t, P_MIN_RELU)
PACKED_2(max_relu_s16x2, int16_t, P_MAX_RELU)
PACKED_4(min_relu_s8x4, int8_t, P_MIN_RELU)
PACKED_4(max_relu_s8x4, int8_t, P_MAX_RELU)

/* ---- which handler -------------------------------------------------------------------------- */

static alu_table add_table = {ALU_SIZES(add), ALU_PACKED(add)};
static alu_table sub_table = {ALU_SIZES(sub), ALU_PACKED(sub)};
static alu_table add_sat_table = {[PTX_TYPE_S32] = add_sat_s32, ALU_PACKED(add_sat)};
static alu_table sub_sat_table = {[PTX_TYPE_S32] = sub_sat_s32, ALU_PACKED(sub_sat)};
static alu_table neg_table = {
	[PTX_TYPE_S16] = neg_16, [PTX_TYPE_S32] = neg_32, [PTX_TYPE_S64] = neg_64};
static alu_table abs_table = {
	[PTX_TYPE_S16] = abs_16, [PTX_TYPE_S32] = abs_32, [PTX_TYPE_S64] = abs_64};
static alu_table min_table = {ALU_SIGNS(min), ALU_PACKED(min)};
static alu_table max_table = {ALU_SIGNS(max), ALU_PACKED(max)};
static alu_table min_relu_table = {[PTX_TYPE_S32] = min_relu_s32,
				   [PTX_TYPE_S16X2] = min_relu_s16x2,
				   [PTX_TYPE_S8X4] = min_relu_s8x4};
static alu_table max_relu_table = {[PTX_TYPE_S32] = max_relu_s32,
				   [PTX_TYPE_S16X2] = max_relu_s16x2,
				   [PTX_TYPE_S8X4] = max_relu_s8x4};
static alu_table div_table = {ALU_SIGNS(div)};
static alu_table rem_table = {ALU_SIGNS(rem)};
static alu_table sad_table = {ALU_SIGNS(sad)};
static alu_table mul_lo_table = {ALU_SIZES(mul_lo)};
static alu_table mul_hi_table = {ALU_SIGNS(mul_hi)};
static alu_table mad_lo_table = {ALU_SIZES(mad_lo)};
static alu_table mad_hi_table = {ALU_SIGNS(mad_hi)};
#define WIDE(op)                                                                                   \
	{                                                                                          \
		[PTX_TYPE_U16] = op##_u16, [PTX_TYPE_S16] = op##_s16, [PTX_TYPE_U32] = op##_u32,   \
		[PTX_TYPE_S32] = op##_s32                                                          \
	}
static alu_table mul_wide_table = WIDE(mul_wide);
static alu_table mad_wide_table = WIDE(mad_wide);
#define WORDS(op)                                                                                  \
	{                                                                                          \
		[PTX_TYPE_U32] = op##_u32, [PTX_TYPE_S32] = op##_s32                               \
	}
static alu_table mul24_lo_table = WORDS(mul24_lo);
static alu_table mul24_hi_table = WORDS(mul24_hi);
static alu_table mad24_lo_table = WORDS(mad24_lo);
static alu_table mad24_hi_table = WORDS(mad24_hi);

/* The instrumentation's count of a thread's checks reaches memory when the thread ends; here it is
 * seen at once. */
static void see_checks(struct cpu_warp *w, const uint32_t *n, uint32_t mask)
{
	uint64_t sum = 0;

	CPU_EACH_LANE (l, mask)
		sum += n[l];
	atomic_fetch_add_explicit(&w->grid->m->checked[w->grid->device], sum, memory_order_relaxed);
}

/* By call (dev_count of src/device/collide/check_parts.h): state += n * RACE_STATE_COUNT. */
static enum cpu_step count_called(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const uint32_t *n = cpu_slot(w, in->src[0]);

	see_checks(w, n, mask);
	return mad_lo_32(w, in, mask);
}

static bool counts_called(const struct ptx_stmt *s, const struct cpu_inst *in, enum ptx_type t)
{
	return (in->flags & CPU_I_INSERTED) && s->form->op == PTX_OP_MAD && t == PTX_TYPE_S32 &&
	       ptx_form_has(s->form, PTX_MOD_LO) && s->ops[0].kind == PTX_OPND_REG &&
	       s->ops[2].kind == PTX_OPND_INT && s->ops[2].imm == RACE_STATE_COUNT &&
	       s->ops[3].kind == PTX_OPND_REG && s->ops[3].reg == s->ops[0].reg;
}

static enum cpu_bound bind_product(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0), wide = t;
	unsigned left = f->nmods;
	bool is_mad = f->op == PTX_OP_MAD || f->op == PTX_OP_MAD24;
	bool is_24 = f->op == PTX_OP_MUL24 || f->op == PTX_OP_MAD24;
	cpu_exec *fn = NULL;

	if (alu_take(f, PTX_MOD_LO, &left)) {
		fn = is_24 ? (is_mad ? mad24_lo_table : mul24_lo_table)[t]
			   : (is_mad ? mad_lo_table : mul_lo_table)[t];
	} else if (alu_take(f, PTX_MOD_HI, &left)) {
		fn = is_24 ? (is_mad ? mad24_hi_table : mul24_hi_table)[t]
			   : (is_mad ? mad_hi_table : mul_hi_table)[t];
		if (is_mad && t == PTX_TYPE_S32 && alu_take(f, PTX_MOD_SAT, &left))
			fn = is_24 ? mad24_hi_sat_s32 : mad_hi_sat_s32;
	} else if (alu_take(f, PTX_MOD_WIDE, &left) && !is_24) {
		fn = (is_mad ? mad_wide_table : mul_wide_table)[t];
		wide = ptx_type_bytes(t) == 2 ? PTX_TYPE_B32 : PTX_TYPE_B64;
	}

	if (counts_called(s, in, t))
		fn = count_called;
	const enum ptx_type types[] = {wide, t, t, wide};
	return alu_bind(d, s, in, left ? NULL : fn, types, is_mad ? 3 : 2);
}

static cpu_exec *pick(const struct ptx_form *f, enum ptx_type t, unsigned *nsrc)
{
	unsigned left = f->nmods;
	bool is_sat = alu_take(f, PTX_MOD_SAT, &left);
	bool is_relu = alu_take(f, PTX_MOD_RELU, &left);

	*nsrc = 2;
	if (left || f->ntypes != 1)
		return NULL;
	switch (f->op) {
	case PTX_OP_ADD:
		return is_relu ? NULL : (is_sat ? add_sat_table : add_table)[t];
	case PTX_OP_SUB:
		return is_relu ? NULL : (is_sat ? sub_sat_table : sub_table)[t];
	case PTX_OP_MIN:
		return is_sat ? NULL : (is_relu ? min_relu_table : min_table)[t];
	case PTX_OP_MAX:
		return is_sat ? NULL : (is_relu ? max_relu_table : max_table)[t];
	default:
		break;
	}
	if (is_sat || is_relu)
		return NULL;
	switch (f->op) {
	case PTX_OP_DIV:
		return div_table[t];
	case PTX_OP_REM:
		return rem_table[t];
	case PTX_OP_SAD:
		*nsrc = 3;
		return sad_table[t];
	case PTX_OP_ABS:
		*nsrc = 1;
		return abs_table[t];
	case PTX_OP_NEG:
		*nsrc = 1;
		return neg_table[t];
	default:
		return NULL;
	}
}

/* Inlined (template count of collide.ptxt). */
static enum cpu_step count_checks(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint32_t *d = cpu_slot(w, in->dst[0]);
	const uint32_t *was = cpu_slot(w, in->src[0]), *n = cpu_slot(w, in->src[1]);
	see_checks(w, n, mask);
	CPU_EACH_LANE (l, mask)
		d[l] = was[l] + n[l];
	return CPU_OK;
}

static bool counts_checks(const struct ptx_stmt *s, const struct cpu_inst *in, enum ptx_type t)
{
	return (in->flags & CPU_I_INSERTED) && s->form->op == PTX_OP_ADD && t == PTX_TYPE_S32 &&
	       !s->form->nmods && s->ops[0].kind == PTX_OPND_REG &&
	       s->ops[1].kind == PTX_OPND_REG && s->ops[0].reg == s->ops[1].reg;
}

enum cpu_bound CPU_BINDER(int)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0);
	unsigned nsrc;
	cpu_exec *fn;

	if (!alu_is_int(t) || ptx_form_has(f, PTX_MOD_CC))
		return CPU_NOT_MINE;
	switch (f->op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_DIV:
	case PTX_OP_REM:
	case PTX_OP_SAD:
	case PTX_OP_ABS:
	case PTX_OP_NEG:
	case PTX_OP_MIN:
	case PTX_OP_MAX:
		fn = pick(f, t, &nsrc);
		if (counts_checks(s, in, t))
			fn = count_checks;
		return alu_bind_same(d, s, in, fn, t, nsrc);
	case PTX_OP_MUL:
	case PTX_OP_MAD:
	case PTX_OP_MUL24:
	case PTX_OP_MAD24:
		return bind_product(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}

/* ---- machine code (jit/) ------------------------------------------------------------------ */

extern const struct jit_handler CPU_HANDLERS(int)[];
const struct jit_handler CPU_HANDLERS(int)[] = {
#define INT(handler, ...) {handler, JIT_INT_##handler},
#include "cpu/jit/rows.def"
	{NULL, JIT_NONE}};
