/*
 * fp_math.h - the approximated functions, each a branchless expression.
 *
 * In double: relative error below 2^-40 before the result is rounded to f32 or less, so results are
 * correctly rounded except for one in some 10^5. In float, by one rounding for each product and sum
 * (ex2 and lg2, which code calls most): within one unit of the last place. Both are inside PTX's
 * bounds. Only + - * / fma and sqrt are used, in an order that the source fixes: both builds, and
 * all hosts, give the same bits.
 */
#ifndef COLLIDER_CPU_OP_FP_MATH_H
#define COLLIDER_CPU_OP_FP_MATH_H

#include "cpu/alu/fp.h"
#include "cpu/jit/approx.h"

/* Added and subtracted, rounds |x| < 2^51 to an integer; then the low bits are the integer. */
#define FP_ROUNDER 0x1.8p52
/* The same for |x| < 2^22. */
#define FP_ROUNDER32 0x1.8p23f

/*
 * 2^x of a float, within 0.88 units of the last place (tried, all 2^32; so is fp_log2).
 * Subnormal results are made times 2^24. Beyond 128 it is infinity, below -150 zero.
 */
static inline float fp_exp2(float x)
{
	float a = x > 128.0f ? 128.0f : x;

	a = a < -150.0f ? -150.0f : a;
	bool is_small = a < -126.0f;
	a = is_small ? a + 24.0f : a;
	float shifted = a + FP_ROUNDER32, f = a - (shifted - FP_ROUNDER32);
	/* (2^f - 1) / f, |f| <= 1/2 */
	float p = FP_EXP2_5;

	p = fp_fma32(p, f, FP_EXP2_4);
	p = fp_fma32(p, f, FP_EXP2_3);
	p = fp_fma32(p, f, FP_EXP2_2);
	p = fp_fma32(p, f, FP_EXP2_1);
	p = fp_fma32(p, f, FP_EXP2_0);
	p = fp_fma32(p, f, 1.0f);
	p = fp_f32(fp_b32(p) + (fp_b32(shifted) << 23));
	p = is_small ? p * 0x1p-24f : p;
	return x == x ? p : x;
}

/* 2^x of a double. */
static inline double fp_exp2_64(double x)
{
	x = x > 400.0 ? 400.0 : x;
	x = x < -400.0 ? -400.0 : x;
	double shifted = x + FP_ROUNDER, f = x - (shifted - FP_ROUNDER);
	double scale = fp_f64((fp_b64(shifted) + 1023u) << 52);
	/* ln(2)^k / k!, |f| <= 1/2 */
	double p = 0x1.e8cac7351bb22p-32;

	p = p * f + 0x1.e4cf5158b8ec7p-28;
	p = p * f + 0x1.b5253d395e7c1p-24;
	p = p * f + 0x1.62c0223a5c822p-20;
	p = p * f + 0x1.ffcbfc588b0c5p-17;
	p = p * f + 0x1.430912f86c786p-13;
	p = p * f + 0x1.5d87fe78a6730p-10;
	p = p * f + 0x1.3b2ab6fba4e77p-7;
	p = p * f + 0x1.c6b08d704a0bfp-5;
	p = p * f + 0x1.ebfbdff82c58ep-3;
	p = p * f + 0x1.62e42fefa39efp-1;
	p = p * f + 1.0;
	return p * scale;
}

/*
 * The logarithm to base 2 of a float, within 0.99 units of the last place: negative is NaN, zero
 * -inf. The significand is taken between the roots of 1/2 and 2, so that no digits are lost at 1.
 */
static inline float fp_log2(float x)
{
	bool is_small = x < 0x1p-126f;
	uint32_t u = fp_b32(is_small ? x * 0x1p24f : x);
	int32_t e = (int32_t)(u - FP_ROOT_HALF) >> 23;
	float t = fp_f32(u - ((uint32_t)e << 23)) - 1.0f;
	/* log2(1 + t) / t - 1 */
	float p = FP_LOG2_9;

	p = fp_fma32(p, t, FP_LOG2_8);
	p = fp_fma32(p, t, FP_LOG2_7);
	p = fp_fma32(p, t, FP_LOG2_6);
	p = fp_fma32(p, t, FP_LOG2_5);
	p = fp_fma32(p, t, FP_LOG2_4);
	p = fp_fma32(p, t, FP_LOG2_3);
	p = fp_fma32(p, t, FP_LOG2_2);
	p = fp_fma32(p, t, FP_LOG2_1);
	p = fp_fma32(p, t, FP_LOG2_0);
	float r = (float)(is_small ? e - 24 : e) + fp_fma32(p, t, t);

	r = x > 0x1.fffffep127f ? x : r;
	r = x == 0.0f ? -HUGE_VALF : r;
	return x >= 0.0f ? r : NAN;
}

static inline double fp_tanh(double x)
{
	double e = fp_exp2_64(x * 0x1.71547652b82fep+1); /* e^2x */
	double r = (e - 1.0) / (e + 1.0), small = x - x * x * x * (1.0 / 3.0);

	r = x > 40.0 ? 1.0 : r;
	return ((x < 0x1p-10) & (x > -0x1p-10)) ? small : r;
}

/*
 * Sine (quarter 0) or cosine (1) as the hardware reduces it: the argument in turns is the product
 * with the float next to 1/2pi, cut to a float; from there on it is exact. That is where the bound
 * of 2^-14.7 in [-100pi, 100pi] comes from, and why results for larger arguments are meaningless.
 */
static inline double fp_sincos(float x, uint64_t quarter)
{
	double t = fp_f64(fp_b64((double)x * (double)0x1.45f306p-3f) & 0xffffffffe0000000ull);
	double whole = (t + FP_ROUNDER) - FP_ROUNDER;
	double f = ((t < 0x1p24) & (t > -0x1p24)) ? t - whole : t - t;
	double q = f * 4.0 + FP_ROUNDER, g = f - (q - FP_ROUNDER) * 0.25;
	double y = g * 0x1.921fb54442d18p+2, z = y * y; /* 2 pi */
	double s = 1.0 / 6227020800.0, c = -1.0 / 87178291200.0;
	uint64_t k = fp_b64(q) + quarter;

	s = s * z - 1.0 / 39916800.0;
	s = s * z + 1.0 / 362880.0;
	s = s * z - 1.0 / 5040.0;
	s = s * z + 1.0 / 120.0;
	s = s * z - 1.0 / 6.0;
	s = y * (1.0 + z * s); /* keeps the sign of zero */
	c = c * z + 1.0 / 479001600.0;
	c = c * z - 1.0 / 3628800.0;
	c = c * z + 1.0 / 40320.0;
	c = c * z - 1.0 / 720.0;
	c = c * z + 1.0 / 24.0;
	c = c * z - 0.5;
	c = c * z + 1.0;
	s = k & 1u ? c : s;
	return fp_f64(fp_b64(s) ^ (k & 2u) << 62);
}

#endif
