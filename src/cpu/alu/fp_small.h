/*
 * fp_small.h - f16 and the types of 8, 6 and 4 bits as floats, for matrix products.
 */
#ifndef COLLIDER_CPU_ALU_FP_SMALL_H
#define COLLIDER_CPU_ALU_FP_SMALL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float as_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static inline uint32_t as_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return bits;
}

/* A small float with exponent and fraction at the top of its `width` bits below the sign, as in
 * f32 except for the exponent's bias: shifting it into place and scaling is exact for subnormals.
 * */
static inline float from_f16(uint32_t h)
{
	float v = as_float((h & 0x7fff) << 13) * 0x1p112f;
	uint32_t bits = (h & 0x7c00) == 0x7c00 ? 0x7f800000 | (h & 0x3ff) << 13 : as_bits(v);

	return as_float(bits | (h & 0x8000) << 16);
}

static inline float from_e4m3(uint32_t h)
{
	float v = as_float((h & 0x7f) << 20) * 0x1p120f;
	uint32_t bits = (h & 0x7f) == 0x7f ? 0x7fc00000 : as_bits(v);

	return as_float(bits | (h & 0x80) << 24);
}

/* Small floats without infinity and NaN: sign, `e` bits of exponent, `m` of fraction. */
static inline float from_small(uint32_t v, unsigned e, unsigned m)
{
	uint32_t sign = v >> (e + m) & 1, mag = v & ((1u << (e + m)) - 1);
	int bias = (1 << (e - 1)) - 1, exp = (int)(mag >> m);
	float f = (float)(mag & ((1u << m) - 1));

	f = exp ? ldexpf(f + (float)(1u << m), exp - bias - (int)m) : ldexpf(f, 1 - bias - (int)m);
	return sign ? -f : f;
}

/* To nearest, even; once, from double: the float in between is rounded to odd. */
static inline uint32_t to_f16(double v)
{
	float f = (float)v;
	uint32_t bits = as_bits(f), sign = bits >> 16 & 0x8000;

	if (isnan(v))
		return 0x7fff;
	if ((double)f != v && !isinf(f)) {
		if (fabs((double)f) > fabs(v))
			bits--;
		bits |= 1;
	}
	uint32_t a = bits & 0x7fffffff;
	if (a >= 0x477ff000) /* 65520 and more */
		return sign | 0x7c00;
	if (a < 0x33000000) /* below half of the least subnormal */
		return sign;
	if (a < 0x38800000) {
		uint32_t down = 126 - (a >> 23), m = (a & 0x7fffff) | 0x800000;
		uint32_t half = 1u << (down - 1), rest = m & ((1u << down) - 1);
		m >>= down;
		return sign | (m + (rest > half || (rest == half && (m & 1))));
	}
	a += 0xfff + (a >> 13 & 1);
	return sign | ((a >> 13) - (112u << 10));
}

#endif
