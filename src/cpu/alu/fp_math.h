/*
 * fp_math.h - the approximated functions, each a branchless double expression.
 *
 * Relative error below 2^-40 before the result is rounded to f32 or less, so results are correctly
 * rounded except for one in some 10^5: well inside PTX's bounds. Only + - * / and sqrt are used, in
 * an order that is written down: both builds, and all hosts, give the same bits.
 */
#ifndef COLLIDER_CPU_OP_FP_MATH_H
#define COLLIDER_CPU_OP_FP_MATH_H

#include "cpu/alu/fp.h"

/* Added and subtracted, rounds |x| < 2^51 to an integer; then the low bits are the integer. */
#define FP_ROUNDER 0x1.8p52

/* 2^x. */
static inline double fp_exp2(double x)
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

/* The logarithm to base 2 of a float: negative is NaN, zero -inf. */
static inline double fp_log2(float x)
{
	uint64_t u = fp_b64((double)x);
	double m = fp_f64((u & 0xfffffffffffffull) | 0x3ff0000000000000ull);
	/* The biased exponent as a double, by way of the significand of 2^52. */
	double e = fp_f64(u >> 52 | 0x4330000000000000ull) - 0x1p52 - 1023.0;
	bool is_big = m > 0x1.6a09e667f3bcdp+0;

	m = is_big ? m * 0.5 : m;
	e = is_big ? e + 1.0 : e;
	double s = (m - 1.0) / (m + 1.0), z = s * s;
	/* atanh: z^k / (2k + 1), z < 0.0295 */
	double p = 1.0 / 19.0;

	p = p * z + 1.0 / 17.0;
	p = p * z + 1.0 / 15.0;
	p = p * z + 1.0 / 13.0;
	p = p * z + 1.0 / 11.0;
	p = p * z + 1.0 / 9.0;
	p = p * z + 1.0 / 7.0;
	p = p * z + 1.0 / 5.0;
	p = p * z + 1.0 / 3.0;
	p = p * z + 1.0;
	double r = e + (s * p) * 0x1.71547652b82fep+1; /* 2 / ln 2 */

	r = x > 0x1.fffffep127f ? HUGE_VAL : r;
	r = x == 0.0f ? -HUGE_VAL : r;
	return x >= 0.0f ? r : NAN;
}

static inline double fp_tanh(double x)
{
	double e = fp_exp2(x * 0x1.71547652b82fep+1); /* e^2x */
	double r = (e - 1.0) / (e + 1.0), small = x - x * x * x * (1.0 / 3.0);

	r = x > 40.0 ? 1.0 : r;
	return ((x < 0x1p-10) & (x > -0x1p-10)) ? small : r;
}

/*
 * Sine (quarter 0) or cosine (1) as the hardware reduces it: the argument in turns is the product
 * with the float next to 1/2pi, cut to a float; from there on it is exact. That is where the bound
 * of 2^-14.7 in [-100pi, 100pi] comes from, and why larger arguments lose all meaning.
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
