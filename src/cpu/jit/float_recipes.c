/*
 * float_recipes.c - f32 and f64 arithmetic, approximations and conversions as vector operations
 * (rows.def).
 *
 * The approximations are those of alu/fp_math.h, operation by operation, so that results are the
 * same to the last bit; products and sums are fused where they are there.
 */
#include <math.h>
#include <string.h>

#include "cpu/jit/approx.h"
#include "cpu/jit/cvt_int.h"
#include "cpu/jit/ir.h"
#include "cpu/jit/rows.h"

enum { FTZ = 1 << 16, SAT = 1 << 17, LOW = 0xffff };
enum { EQ = 0, GE = 29, GT = 30, LT = 17, ORDERED = 7, UNORDERED = 3 }; /* of vcmpps, vcmppd */
#define NEAREST_EVEN_QUIET 8u /* and the direction: of vroundps */

/* ---- f32 --------------------------------------------------------------------------- */

static jit_val in32(struct jit_gen *g, const struct cpu_inst *in, unsigned k, uint32_t how)
{
	return jit_get_f32(g, in->src[k], how & FTZ);
}

static bool out32(struct jit_gen *g, const struct cpu_inst *in, jit_val v, uint32_t how)
{
	return jit_put_f32(g, in->dst[0], v, how & FTZ, how & SAT);
}

static bool arith(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	jit_val a = in32(g, in, 0, how), b = in32(g, in, 1, how);

	return out32(g, in, jit_2(g, how & LOW, a, b), how);
}

static bool fma32(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	jit_val a = in32(g, in, 0, how), b = in32(g, in, 1, how), c = in32(g, in, 2, how);

	return out32(g, in, jit_fma(g, M(VFMADD231PS), a, b, c), how);
}

static bool sqrt32(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	return out32(g, in, jit_1(g, M(VSQRTPS), in32(g, in, 0, how)), how);
}

static bool rcp32(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	jit_val one = jit_word(g, 0x3f800000u);

	return out32(g, in, jit_2(g, M(VDIVPS), one, in32(g, in, 0, how)), how);
}

/* 0: without sign; 1: with the other one. */
static bool sign32(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	jit_val a = in32(g, in, 0, how);
	jit_val r = how & 1 ? jit_2(g, M(VPXOR), a, jit_word(g, 0x80000000u))
			    : jit_2(g, M(VPAND), a, jit_word(g, 0x7fffffffu));

	return out32(g, in, r, how);
}

static bool copysign32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	jit_val sign = jit_2(g, M(VPAND), jit_get(g, in->src[0]), jit_word(g, 0x80000000u));
	jit_val rest = jit_2(g, M(VPAND), jit_get(g, in->src[1]), jit_word(g, 0x7fffffffu));

	(void)arg;
	return jit_put(g, in->dst[0], jit_2(g, M(VPOR), sign, rest));
}

/* Of both orders: two zeros give -0 to one of them, a NaN its other operand. */
static bool minmax(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	bool is_max = how & 1;
	uint32_t mn = is_max ? M(VMAXPS) : M(VMINPS), c;
	jit_val a = in32(g, in, 0, how), b = in32(g, in, 1, how), r;

	/* The processor gives the second operand for a NaN and for two zeros, which a subnormal one
	 * may become. */
	if (jit_const32(g, in->src[1], &c) && (c & 0x7fffffffu) <= 0x7f800000u &&
	    (c & 0x7f800000u || c >> 31 == !is_max))
		return out32(g, in, jit_2(g, mn, a, b), how);
	r = jit_2(g, is_max ? M(VPAND) : M(VPOR), jit_2(g, mn, a, b), jit_2(g, mn, b, a));
	r = jit_blend(g, r, b, jit_2i(g, M(VCMPPS), a, a, UNORDERED));
	r = jit_blend(g, r, a, jit_2i(g, M(VCMPPS), b, b, UNORDERED));
	return out32(g, in, r, how);
}

/* ---- f64 ----------------------------------------------------------------------------- */

/* Where v is a NaN, it is the result, quieted. */
static jit_val keep_nan(struct jit_gen *g, jit_val r, jit_val v)
{
	jit_val quiet = jit_2(g, M(VPOR), v, jit_dword(g, 0x0008000000000000ull));

	return jit_blend64(g, r, quiet, jit_2i(g, M(VCMPPD), v, v, UNORDERED));
}

/* Of two NaNs the processor keeps its first operand, PTX the second, of a division the first. */
static jit_val arith64_half(struct jit_gen *g, uint32_t mn, jit_val a, jit_val b)
{
	if (mn == M(VADDPD) || mn == M(VMULPD))
		return jit_2(g, mn, b, a);
	jit_val r = jit_2(g, mn, a, b);
	return mn == M(VSUBPD) ? keep_nan(g, r, b) : r;
}

static bool arith64(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	struct jit_pair a = jit_get64(g, in->src[0]), b = jit_get64(g, in->src[1]);

	return jit_put64(g, in->dst[0],
			 (struct jit_pair){arith64_half(g, mn, a.lo, b.lo),
					   arith64_half(g, mn, a.hi, b.hi)});
}

/* Where an operand is a NaN: b, else c, else a, as sums with it first give it (and quiet). */
static jit_val fma64_half(struct jit_gen *g, jit_val a, jit_val b, jit_val c)
{
	jit_val r = jit_fma(g, M(VFMADD231PD), a, b, c);
	jit_val nan = jit_2(g, M(VADDPD), b, jit_2(g, M(VADDPD), c, a));
	jit_val is_nan = jit_2(g, M(VORPD), jit_2i(g, M(VCMPPD), a, b, UNORDERED),
			       jit_2i(g, M(VCMPPD), c, c, UNORDERED));

	return jit_blend64(g, r, nan, is_nan);
}

static bool fma64(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	struct jit_pair a = jit_get64(g, in->src[0]), b = jit_get64(g, in->src[1]);
	struct jit_pair c = jit_get64(g, in->src[2]);

	(void)arg;
	return jit_put64(g, in->dst[0],
			 (struct jit_pair){fma64_half(g, a.lo, b.lo, c.lo),
					   fma64_half(g, a.hi, b.hi, c.hi)});
}

/* ---- approximations ---------------------------------------------------------------------- */

static jit_val add(struct jit_gen *g, jit_val a, jit_val b)
{
	return jit_2(g, M(VADDPD), a, b);
}

static jit_val sub(struct jit_gen *g, jit_val a, jit_val b)
{
	return jit_2(g, M(VSUBPD), a, b);
}

static jit_val mul(struct jit_gen *g, jit_val a, jit_val b)
{
	return jit_2(g, M(VMULPD), a, b);
}

static jit_val num(struct jit_gen *g, double v)
{
	return jit_f64(g, v);
}

static jit_val num32(struct jit_gen *g, float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	return jit_word(g, u);
}

/* a polynomial in x, the highest coefficient first */
static jit_val poly(struct jit_gen *g, jit_val x, const double *c, unsigned n)
{
	jit_val p = num(g, c[0]);

	for (unsigned i = 1; i < n; i++)
		p = add(g, mul(g, p, x), num(g, c[i]));
	return p;
}

/* A function of doubles for both halves of a strip of floats. */
typedef jit_val jit_half_fn(struct jit_gen *g, jit_val x, uint32_t arg);

static bool by_halves(struct jit_gen *g, const struct cpu_inst *in, uint32_t how, jit_half_fn *fn)
{
	jit_val a = in32(g, in, 0, how), r[2];

	for (unsigned i = 0; i < 2; i++) {
		jit_val x = jit_grow(g, M(VCVTPS2PD), i ? jit_upper(g, a) : a);
		r[i] = jit_shrink(g, M(VCVTPD2PS), fn(g, x, how));
	}
	return out32(g, in, jit_concat(g, r[0], r[1]), how);
}

/* A polynomial in x of floats, the constant term first. */
static jit_val fused_poly(struct jit_gen *g, jit_val x, const float *c, unsigned n)
{
	jit_val p = num32(g, c[--n]);

	while (n)
		p = jit_fma(g, M(VFMADD231PS), p, x, num32(g, c[--n]));
	return p;
}

/* fp_exp2 of alu/fp_math.h. */
static bool ex2(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	static const float c[] = {1.0f,	     FP_EXP2_0, FP_EXP2_1, FP_EXP2_2,
				  FP_EXP2_3, FP_EXP2_4, FP_EXP2_5};
	/* The constant first: a NaN comes second and stays. */
	jit_val a = jit_2(g, M(VMINPS), num32(g, 128.0f), in32(g, in, 0, how)), small = 0;

	/* Results that .ftz takes for zero need only be small. */
	a = jit_2(g, M(VMAXPS), num32(g, how & FTZ ? -127.0f : -150.0f), a);
	if (!(how & FTZ)) {
		small = jit_2i(g, M(VCMPPS), a, num32(g, -126.0f), LT);
		a = jit_2(g, M(VADDPS), a, jit_2(g, M(VPAND), small, num32(g, 24.0f)));
	}
	jit_val n = jit_1(g, M(VCVTPS2DQ), a);
	jit_val f = jit_2(g, M(VSUBPS), a, jit_1(g, M(VCVTDQ2PS), n));
	/* Of a NaN n is 2^31, from which nothing is left: it stays a NaN. */
	jit_val r = jit_2(g, M(VPADDD), fused_poly(g, f, c, BASE_COUNTOF(c)),
			  jit_1i(g, M(VPSLLD), n, 23));
	if (small)
		r = jit_2(g, M(VMULPS), r, jit_blend(g, num32(g, 1.0f), num32(g, 0x1p-24f), small));
	return out32(g, in, r, how);
}

/* fp_log2 of alu/fp_math.h. */
static bool lg2(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	static const float c[] = {FP_LOG2_0, FP_LOG2_1, FP_LOG2_2, FP_LOG2_3, FP_LOG2_4,
				  FP_LOG2_5, FP_LOG2_6, FP_LOG2_7, FP_LOG2_8, FP_LOG2_9};
	jit_val a = in32(g, in, 0, how), x = a, zero = jit_word(g, 0), from = 0;

	if (!(how & FTZ)) { /* subnormal ones times 2^24 */
		jit_val small = jit_2i(g, M(VCMPPS), a, num32(g, 0x1p-126f), LT);
		x = jit_blend(g, a, jit_2(g, M(VMULPS), a, num32(g, 0x1p24f)), small);
		from = jit_2(g, M(VPAND), small, jit_word(g, 24));
	}
	jit_val e = jit_1i(g, M(VPSRAD), jit_2(g, M(VPSUBD), x, jit_word(g, FP_ROOT_HALF)), 23);
	jit_val m = jit_2(g, M(VPSUBD), x, jit_1i(g, M(VPSLLD), e, 23));
	jit_val t = jit_2(g, M(VSUBPS), m, num32(g, 1.0f));
	if (from)
		e = jit_2(g, M(VPSUBD), e, from);
	jit_val r = jit_fma(g, M(VFMADD231PS), fused_poly(g, t, c, BASE_COUNTOF(c)), t, t);
	r = jit_2(g, M(VADDPS), jit_1(g, M(VCVTDQ2PS), e), r);
	r = jit_blend(g, r, a, jit_2i(g, M(VCMPPS), a, jit_word(g, 0x7f800000u), EQ));
	r = jit_blend(g, r, jit_word(g, 0xff800000u), jit_2i(g, M(VCMPPS), a, zero, EQ));
	r = jit_blend(g, jit_word(g, 0x7fffffffu), r, jit_2i(g, M(VCMPPS), a, zero, GE));
	return out32(g, in, r, how);
}

/* Two steps in double from y, which is right to 2^-11: to 2^-34, then to half a unit or so. */
static jit_val rsqrt_half(struct jit_gen *g, jit_val x, jit_val y)
{
	jit_val one = num(g, 1.0), half = num(g, 0.5);
	jit_val e = jit_fma(g, M(VFNMADD231PD), mul(g, x, y), y, one);
	jit_val p = jit_fma(g, M(VFMADD231PD), e, num(g, 0.375), half);

	y = jit_fma(g, M(VFMADD231PD), mul(g, y, e), p, y);
	e = jit_fma(g, M(VFNMADD231PD), mul(g, x, y), y, one);
	return jit_fma(g, M(VFMADD231PD), mul(g, y, e), half, y);
}

/*
 * The handler divides 1 by the root, in double, and rounds to float. Of the 2^24 significands and
 * parities of the exponent one lies a unit of double from the middle of two floats, the others 11
 * units or more; all round to the same float here, whatever the processor's first approximation
 * (tried: each of them, and the nearest ones from millions of starts). Subnormal arguments are
 * taken times 2^24. Where the steps make a NaN (0, infinity, negative) the approximation is exact.
 */
static bool rsqrt(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	jit_val a = in32(g, in, 0, how), first, r[2], scale = 0;

	if (!(how & FTZ)) {
		jit_val size = jit_2(g, M(VPAND), a, jit_word(g, 0x7fffffffu));
		jit_val small = jit_2i(g, M(VCMPPS), size, jit_word(g, 0x00800000u), LT);
		jit_val one = jit_word(g, 0x3f800000u);
		a = jit_2(g, M(VMULPS), a, jit_blend(g, one, jit_word(g, 0x4b800000u), small));
		scale = jit_blend(g, one, jit_word(g, 0x45800000u), small);
	}
	first = jit_1(g, M(VRSQRTPS), a);
	for (unsigned i = 0; i < 2; i++) {
		jit_val x = jit_grow(g, M(VCVTPS2PD), i ? jit_upper(g, a) : a);
		jit_val y = jit_grow(g, M(VCVTPS2PD), i ? jit_upper(g, first) : first);
		r[i] = jit_shrink(g, M(VCVTPD2PS), rsqrt_half(g, x, y));
	}
	jit_val all = jit_concat(g, r[0], r[1]);
	all = jit_blend(g, all, first, jit_2i(g, M(VCMPPS), all, all, UNORDERED));
	return out32(g, in, scale ? jit_2(g, M(VMULPS), all, scale) : all, how);
}

static bool div_approx(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	jit_val a = in32(g, in, 0, how), b = in32(g, in, 1, how);
	jit_val sign = jit_2(g, M(VPAND), b, jit_word(g, 0x80000000u));
	jit_val size = jit_2(g, M(VPAND), b, jit_word(g, 0x7fffffffu));
	jit_val big = jit_2i(g, M(VCMPPS), size, jit_word(g, 0x7e800000u), GT);

	return out32(g, in,
		     jit_blend(g, jit_2(g, M(VDIVPS), a, b), jit_2(g, M(VMULPS), a, sign), big),
		     how);
}

/* arg 1: a quarter of a turn on. */
static jit_val sincos_half(struct jit_gen *g, jit_val x, uint32_t arg)
{
	static const double sc[] = {1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
				    -1.0 / 5040.0,	1.0 / 120.0,	   -1.0 / 6.0};
	static const double cc[] = {-1.0 / 87178291200.0,
				    1.0 / 479001600.0,
				    -1.0 / 3628800.0,
				    1.0 / 40320.0,
				    -1.0 / 720.0,
				    1.0 / 24.0,
				    -0.5,
				    1.0};
	jit_val rounder = num(g, 0x1.8p52);
	jit_val t = jit_2(g, M(VPAND), mul(g, x, num(g, (double)0x1.45f306p-3f)),
			  jit_dword(g, 0xffffffffe0000000ull));
	jit_val whole = sub(g, add(g, t, rounder), rounder);
	jit_val near = jit_2(g, M(VPAND), jit_2i(g, M(VCMPPD), t, num(g, 0x1p24), LT),
			     jit_2i(g, M(VCMPPD), t, num(g, -0x1p24), GT));
	jit_val f = jit_blend64(g, sub(g, t, t), sub(g, t, whole), near);
	jit_val q = add(g, mul(g, f, num(g, 4.0)), rounder);
	jit_val turn = sub(g, f, mul(g, sub(g, q, rounder), num(g, 0.25)));
	jit_val y = mul(g, turn, num(g, 0x1.921fb54442d18p+2)), z = mul(g, y, y);
	jit_val s = poly(g, z, sc, BASE_COUNTOF(sc)), c = poly(g, z, cc, BASE_COUNTOF(cc));
	jit_val k = arg & 1 ? jit_2(g, M(VPADDQ), q, jit_dword(g, 1)) : q;

	s = mul(g, y, add(g, num(g, 1.0), mul(g, z, s)));
	s = jit_blend64(g, s, c, jit_1i(g, M(VPSLLQ), k, 63));
	return jit_2(g, M(VPXOR), s,
		     jit_2(g, M(VPAND), jit_1i(g, M(VPSLLQ), k, 62),
			   jit_dword(g, 0x8000000000000000ull)));
}

static bool sine_cosine(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	return by_halves(g, in, how, sincos_half);
}

/* ---- conversions ---------------------------------------------------------------------------- */

/* ((v & mask) ^ sign) - sign extends a sign of any width; double: of double words. */
static jit_val extend(struct jit_gen *g, jit_val v, uint64_t mask, uint64_t sign, bool is_double)
{
	uint64_t all = is_double ? UINT64_MAX : UINT32_MAX;

	mask &= all;
	sign &= all;
	if (mask != all)
		v = jit_2(g, M(VPAND), v,
			  is_double ? jit_dword(g, mask) : jit_word(g, (uint32_t)mask));
	if (!sign || (mask == all && sign == all / 2 + 1))
		return v;
	jit_val s = is_double ? jit_dword(g, sign) : jit_word(g, (uint32_t)sign);
	return jit_2(g, is_double ? M(VPSUBQ) : M(VPSUBD), jit_2(g, M(VPXOR), v, s), s);
}

/* how: bytes of the destination's register, of the source's. */
static bool cvt_int(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	const struct cvt_int *c = in->aux;
	unsigned to = how >> 4, from = how & 15;
	jit_val v;

	if (from == 8) { /* the low words */
		struct jit_pair a = jit_get64(g, in->src[0]);
		v = jit_1i(g, M(VPERMQ), jit_2i(g, M(VSHUFPS), a.lo, a.hi, 0x88), 0xd8);
	} else {
		v = from == 2 ? jit_get16(g, in->src[0]) : jit_get(g, in->src[0]);
	}
	if (to == 8) {
		bool is_signed = c->mask[0] == UINT32_MAX && c->sign[0] == 0x80000000u;
		uint32_t mn = is_signed ? M(VPMOVSXDQ) : M(VPMOVZXDQ);
		jit_val h[2] = {jit_grow(g, mn, v), jit_grow(g, mn, jit_upper(g, v))};
		for (unsigned i = 0; i < 2; i++) {
			if (!is_signed)
				h[i] = extend(g, h[i], c->mask[0], c->sign[0], true);
			h[i] = extend(g, h[i], c->mask[1], c->sign[1], true);
		}
		return jit_put64(g, in->dst[0], (struct jit_pair){h[0], h[1]});
	}
	v = extend(g, v, c->mask[0], c->sign[0], false);
	v = extend(g, v, c->mask[1], c->sign[1], false);
	if (to == 4)
		return jit_put(g, in->dst[0], v);
	return jit_put16(g, in->dst[0], jit_2(g, M(VPAND), v, jit_word(g, 0xffff)));
}

static bool mov32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put(g, in->dst[0], jit_get(g, in->src[0]));
}

static bool mov64(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put64(g, in->dst[0], jit_get64(g, in->src[0]));
}

static bool from_s32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put(g, in->dst[0], jit_1(g, M(VCVTDQ2PS), jit_get(g, in->src[0])));
}

/* Both halves are exact, so is one times 2^16, and their sum is rounded once. */
static bool from_u32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	jit_val v = jit_get(g, in->src[0]);
	jit_val low = jit_1(g, M(VCVTDQ2PS), jit_2(g, M(VPAND), v, jit_word(g, 0xffff)));
	jit_val high = jit_1(g, M(VCVTDQ2PS), jit_1i(g, M(VPSRLD), v, 16));

	(void)arg;
	high = jit_2(g, M(VMULPS), high, jit_word(g, 0x47800000u));
	return jit_put(g, in->dst[0], jit_2(g, M(VADDPS), high, low));
}

static bool grow_words(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	jit_val v = jit_get(g, in->src[0]);

	return jit_put64(g, in->dst[0],
			 (struct jit_pair){jit_grow(g, mn, v), jit_grow(g, mn, jit_upper(g, v))});
}

static bool from_s32_64(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return grow_words(g, in, M(VCVTDQ2PD));
}

static bool widen(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return grow_words(g, in, M(VCVTPS2PD));
}

static bool narrow(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	struct jit_pair a = jit_get64(g, in->src[0]);

	(void)arg;
	return jit_put(g, in->dst[0],
		       jit_concat(g, jit_shrink(g, M(VCVTPD2PS), a.lo),
				  jit_shrink(g, M(VCVTPD2PS), a.hi)));
}

static bool sat32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put_f32(g, in->dst[0], jit_get_f32(g, in->src[0], false), false, true);
}

static jit_val rounded(struct jit_gen *g, const struct cpu_inst *in, uint32_t direction)
{
	return jit_1i(g, M(VROUNDPS), jit_get_f32(g, in->src[0], false),
		      NEAREST_EVEN_QUIET | direction);
}

static bool round32(struct jit_gen *g, const struct cpu_inst *in, uint32_t direction)
{
	return out32(g, in, rounded(g, in, direction), 0);
}

/* whole_to_s32 of alu/cvt.c */
static bool to_s32(struct jit_gen *g, const struct cpu_inst *in, uint32_t direction)
{
	jit_val x = rounded(g, in, direction);
	jit_val c = jit_2(g, M(VMAXPS), x, jit_word(g, 0xcf000000u));
	jit_val r = jit_1(g, M(VCVTTPS2DQ), jit_2(g, M(VMINPS), c, jit_word(g, 0x4effffffu)));
	jit_val big = jit_2i(g, M(VCMPPS), x, jit_word(g, 0x4f000000u), GE);

	r = jit_blend(g, r, jit_word(g, 0x7fffffffu), big);
	return jit_put(g, in->dst[0], jit_2(g, M(VPAND), r, jit_2i(g, M(VCMPPS), x, x, ORDERED)));
}

/* whole_to_u32 of alu/cvt.c */
static bool to_u32(struct jit_gen *g, const struct cpu_inst *in, uint32_t direction)
{
	jit_val x = rounded(g, in, direction), limit = jit_word(g, 0x4f000000u);
	jit_val big = jit_2i(g, M(VCMPPS), x, limit, GE);
	jit_val c = jit_blend(g, x, jit_2(g, M(VSUBPS), x, limit), big);

	c = jit_2(g, M(VMINPS), jit_2(g, M(VMAXPS), c, jit_word(g, 0)), jit_word(g, 0x4effffffu));
	jit_val r = jit_1(g, M(VCVTTPS2DQ), c);
	r = jit_2(g, M(VPOR), r, jit_2(g, M(VPAND), big, jit_word(g, 0x80000000u)));
	jit_val most = jit_2i(g, M(VCMPPS), x, jit_word(g, 0x4f800000u), GE);
	return jit_put(g, in->dst[0], jit_2(g, M(VPOR), r, most));
}

/* ---- the rows -------------------------------------------------------------------------------- */

static const struct jit_recipe recipes[JIT_ROWS] = {
#define FLOAT(handler, recipe, arg)  [JIT_FLOAT_##handler] = {recipe, arg},
#define APPROX(handler, recipe, arg) [JIT_APPROX_##handler] = {recipe, arg},
#define CVT(handler, recipe, arg)    [JIT_CVT_##handler] = {recipe, arg},
#include "cpu/jit/rows.def"
};

const struct jit_recipe *jit_float_recipe(unsigned row)
{
	return &recipes[row];
}
