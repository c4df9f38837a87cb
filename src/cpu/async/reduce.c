/*
 * reduce.c - the element operations of asynchronous reductions.
 *
 * cp.reduce.async.bulk(.tensor) and red.async combine each element at once
 * (relaxed, gpu scope): a compare and exchange on the element's own 2, 4 or 8
 * bytes. f16 and bf16 are computed in f32 and rounded once; f32 holds the sum of
 * two of them well enough that the second rounding is exact (24 >= 2*11+2 bits).
 * f32 addition flushes no subnormals: .ftz is what red does in global memory for
 * the scalar form only.
 */
#include "cpu/async/async.h"

#include <math.h>
#include <string.h>

/* ---- half precision ------------------------------------------------------------ */

float cpu_half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, bits;
	float f;

	if (e == 31) {
		bits = sign | 0x7f800000 | m << 13;
	} else if (e) {
		bits = sign | (e + 112) << 23 | m << 13;
	} else {
		f = ldexpf((float)m, -24);
		return sign ? -f : f;
	}
	memcpy(&f, &bits, 4);
	return f;
}

static uint16_t float_to_half(float f)
{
	uint32_t bits;
	memcpy(&bits, &f, 4);
	uint32_t sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;

	if (a > 0x7f800000)
		return 0x7fff;
	if (a >= 0x477ff000) /* 65520 and more */
		return (uint16_t)(sign | 0x7c00);
	if (a < 0x38800000) { /* subnormal: an integer multiple of 2^-24 */
		float scaled = nearbyintf(ldexpf(fabsf(f), 24));
		return (uint16_t)(sign | (uint32_t)scaled);
	}
	a += 0xfff + (a >> 13 & 1);
	return (uint16_t)(sign | ((a >> 13) - (112u << 10)));
}

static float bfloat_to_float(uint16_t h)
{
	uint32_t bits = (uint32_t)h << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static uint16_t float_to_bfloat(float f)
{
	uint32_t bits;

	if (isnan(f))
		return 0x7fff;
	memcpy(&bits, &f, 4);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- elements -------------------------------------------------------------------- */

/* min and max: a number wins over NaN, -0 is less than +0. */
static bool is_second(double a, double b, bool is_max)
{
	if (isnan(a))
		return true;
	if (isnan(b))
		return false;
	if (a == b)
		return is_max ? signbit(a) && !signbit(b) : !signbit(a) && signbit(b);
	return is_max ? b > a : b < a;
}

static double combine_float(double a, double b, enum cpu_red_op op)
{
	if (op == CPU_RED_ADD)
		return a + b;
	return is_second(a, b, op == CPU_RED_MAX) ? b : a;
}

static uint64_t combine_int(uint64_t a, uint64_t b, enum cpu_red_op op, bool is_signed,
			    unsigned bytes)
{
	int64_t sa = bytes == 4 ? (int32_t)a : (int64_t)a;
	int64_t sb = bytes == 4 ? (int32_t)b : (int64_t)b;
	bool is_less = is_signed ? sb < sa : b < a; /* the second is */

	switch (op) {
	case CPU_RED_ADD:
		return a + b;
	case CPU_RED_MIN:
		return is_less ? b : a;
	case CPU_RED_MAX:
		return is_less ? a : b;
	case CPU_RED_INC:
		return a >= b ? 0 : a + 1;
	case CPU_RED_DEC:
		return a == 0 || a > b ? b : a - 1;
	case CPU_RED_AND:
		return a & b;
	case CPU_RED_OR:
		return a | b;
	case CPU_RED_XOR:
		return a ^ b;
	default:
		return b;
	}
}

static uint64_t combine(uint64_t a, uint64_t b, enum cpu_red_op op, enum ptx_type type)
{
	float fa, fb;
	double da, db;
	uint32_t bits;

	switch (type) {
	case PTX_TYPE_F16:
		return float_to_half((float)combine_float(cpu_half_to_float((uint16_t)a),
							  cpu_half_to_float((uint16_t)b), op));
	case PTX_TYPE_BF16:
		return float_to_bfloat((float)combine_float(bfloat_to_float((uint16_t)a),
							    bfloat_to_float((uint16_t)b), op));
	case PTX_TYPE_F32:
		bits = (uint32_t)a;
		memcpy(&fa, &bits, 4);
		bits = (uint32_t)b;
		memcpy(&fb, &bits, 4);
		/* A double's sum of two floats rounds to what a float's sum is (53 >= 2*24+2). */
		fa = (float)combine_float(fa, fb, op);
		memcpy(&bits, &fa, 4);
		return isnan(fa) ? 0x7fffffff : bits;
	case PTX_TYPE_F64:
		memcpy(&da, &a, 8);
		memcpy(&db, &b, 8);
		da = combine_float(da, db, op);
		memcpy(&a, &da, 8);
		return a;
	default:
		return combine_int(a, b, op, ptx_type_class(type) == PTX_CLASS_SINT,
				   ptx_type_bytes(type));
	}
}

#define DEFINE_REDUCE(name, word)                                                                  \
	static void name(uint8_t *dst, const uint8_t *src, uint32_t n, enum cpu_red_op op,         \
			 enum ptx_type type)                                                       \
	{                                                                                          \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			word *at = (word *)(void *)dst + i, b;                                     \
			word old = __atomic_load_n(at, __ATOMIC_RELAXED), now;                     \
			memcpy(&b, src + i * sizeof(b), sizeof(b));                                \
			do {                                                                       \
				now = (word)combine(old, b, op, type);                             \
			} while (!__atomic_compare_exchange_n(                                     \
				at, &old, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));        \
		}                                                                                  \
	}
DEFINE_REDUCE(reduce_16, uint16_t)
DEFINE_REDUCE(reduce_32, uint32_t)
DEFINE_REDUCE(reduce_64, uint64_t)

/* ---- public ------------------------------------------------------------------------- */

bool cpu_reduce_find(const struct ptx_form *f, enum cpu_red_op *op, enum ptx_type *type)
{
	static const struct {
		enum ptx_mod mod;
		enum cpu_red_op op;
	} ops[] = {
		{PTX_MOD_ADD, CPU_RED_ADD}, {PTX_MOD_MIN, CPU_RED_MIN}, {PTX_MOD_MAX, CPU_RED_MAX},
		{PTX_MOD_INC, CPU_RED_INC}, {PTX_MOD_DEC, CPU_RED_DEC}, {PTX_MOD_AND, CPU_RED_AND},
		{PTX_MOD_OR, CPU_RED_OR},   {PTX_MOD_XOR, CPU_RED_XOR},
	};

	*op = CPU_RED_NONE;
	for (size_t i = 0; i < BASE_COUNTOF(ops); i++)
		if (ptx_form_has(f, ops[i].mod))
			*op = ops[i].op;
	*type = f->ntypes ? (enum ptx_type)f->types[0] : PTX_TYPE_NONE;
	unsigned bytes = ptx_type_bytes(*type);
	enum ptx_type_class cls = ptx_type_class(*type);
	if (cls == PTX_CLASS_FLOAT)
		return (bytes == 2 || bytes == 4 || bytes == 8) && *type != PTX_TYPE_TF32 &&
		       (*op == CPU_RED_ADD || *op == CPU_RED_MIN || *op == CPU_RED_MAX);
	return *op != CPU_RED_NONE && (bytes == 4 || bytes == 8) &&
	       (cls == PTX_CLASS_UINT || cls == PTX_CLASS_SINT || cls == PTX_CLASS_BITS);
}

void cpu_reduce(uint8_t *dst, const uint8_t *src, uint32_t bytes, enum cpu_red_op op,
		enum ptx_type type)
{
	switch (ptx_type_bytes(type)) {
	case 2:
		reduce_16(dst, src, bytes / 2, op, type);
		break;
	case 4:
		reduce_32(dst, src, bytes / 4, op, type);
		break;
	default:
		reduce_64(dst, src, bytes / 8, op, type);
		break;
	}
}
