/*
 * fp_num.h - exact numbers between formats, for the conversions that have no vector loop.
 *
 * Every value of every format with up to 64 bits is sign * sig * 2^exp; packing rounds it once. All
 * in integers, some 10 ns a value. The tests compare the fast paths with these.
 */
#ifndef COLLIDER_CPU_OP_FP_NUM_H
#define COLLIDER_CPU_OP_FP_NUM_H

#include "cpu/alu/fp.h"

enum num_kind { NUM_FINITE, NUM_INF, NUM_NAN };

struct num {
	uint64_t sig; /* 0: zero */
	int exp;
	bool neg;
	uint8_t kind; /* enum num_kind */
};

enum num_round { NUM_RN, NUM_RZ, NUM_RM, NUM_RP, NUM_RNA };

/* A binary format: sign, exponent, significand. */
struct num_format {
	uint8_t exp_bits, man_bits;
	bool has_inf; /* and a whole exponent of NaNs; else NaN is all ones, or there is none */
	bool has_nan;
	uint64_t nan;	 /* what NaN becomes; the largest finite number where there is none */
	uint64_t finite; /* bits of the largest finite number */
};

static const struct num_format num_f16 = {5, 10, true, true, 0x7fff, 0x7bff};
static const struct num_format num_bf16 = {8, 7, true, true, 0x7fff, 0x7f7f};
static const struct num_format num_tf32 = {8, 10, true, true, 0x3ffff, 0x3fbff};
static const struct num_format num_f32 = {8, 23, true, true, FP_NAN32, 0x7f7fffff};
static const struct num_format num_f64 = {11, 52, true, true, FP_NAN64, 0x7fefffffffffffff};
static const struct num_format num_e4m3 = {4, 3, false, true, 0x7f, 0x7e};
static const struct num_format num_e5m2 = {5, 2, true, true, 0x7f, 0x7b};
static const struct num_format num_e2m3 = {2, 3, false, false, 0x1f, 0x1f};
static const struct num_format num_e3m2 = {3, 2, false, false, 0x1f, 0x1f};
static const struct num_format num_e2m1 = {2, 1, false, false, 0x7, 0x7};

static inline struct num num_from_int(uint64_t v, bool is_signed)
{
	bool neg = is_signed && v >> 63;

	return (struct num){neg ? 0 - v : v, 0, neg, NUM_FINITE};
}

static inline struct num num_unpack(const struct num_format *f, uint64_t u)
{
	int bias = (1 << (f->exp_bits - 1)) - 1;
	uint64_t man = u & ((1ull << f->man_bits) - 1), top = (1ull << f->exp_bits) - 1;
	uint64_t e = u >> f->man_bits & top;
	struct num n = {man, 1 - bias - f->man_bits, u >> (f->man_bits + f->exp_bits) & 1, 0};

	if (e == top && (f->has_inf || (f->has_nan && man == (1ull << f->man_bits) - 1))) {
		n.kind = f->has_inf && !man ? NUM_INF : NUM_NAN;
		return n;
	}
	if (e) {
		n.sig |= 1ull << f->man_bits;
		n.exp += (int)e - 1;
	}
	return n;
}

/* sig / 2^shift (shift > 0), rounded. */
static inline uint64_t num_shift(uint64_t sig, int shift, bool neg, enum num_round r)
{
	uint64_t whole = shift > 63 ? 0 : sig >> shift;
	/* The rest against one half: 0 none, 1 less, 2 half, 3 more. */
	unsigned rest;

	if (shift > 64) {
		rest = sig != 0;
	} else {
		uint64_t frac = shift == 64 ? sig : sig << (64 - shift);
		rest = !frac ? 0 : frac < 1ull << 63 ? 1 : frac == 1ull << 63 ? 2 : 3;
	}
	switch (r) {
	case NUM_RN:
		return whole + (rest + (whole & 1u) > 2);
	case NUM_RNA:
		return whole + (rest >= 2);
	case NUM_RM:
		return whole + (neg && rest);
	case NUM_RP:
		return whole + (!neg && rest);
	case NUM_RZ:
		break;
	}
	return whole;
}

/* Rounded to an integer. */
static inline struct num num_integral(struct num n, enum num_round r)
{
	if (n.kind == NUM_FINITE && n.exp < 0) {
		n.sig = num_shift(n.sig, -n.exp, n.neg, r);
		n.exp = 0;
	}
	return n;
}

static inline uint64_t num_pack(const struct num_format *f, struct num n, enum num_round r,
				bool satfinite)
{
	uint64_t sign = (uint64_t)n.neg << (f->exp_bits + f->man_bits);
	uint64_t inf = f->has_inf ? ((1ull << f->exp_bits) - 1) << f->man_bits : f->nan;
	int bias = (1 << (f->exp_bits - 1)) - 1;

	if (n.kind == NUM_NAN)
		return f->nan;
	if (n.kind == NUM_INF)
		return sign | (satfinite ? f->finite : inf);
	if (!n.sig)
		return sign;
	int e = n.exp + 63 - __builtin_clzll(n.sig), least = 1 - bias;
	int shift = (e < least ? least : e) - f->man_bits - n.exp;
	uint64_t m = shift > 0 ? num_shift(n.sig, shift, n.neg, r) : n.sig << -shift;
	int field = (e < least ? least : e) + bias - 1;

	/* The implicit bit counts as one step of the exponent; a carry does the right thing,
	 * too. */
	uint64_t u = ((uint64_t)field << f->man_bits) + m;
	if (field < (1 << f->exp_bits) && u <= f->finite)
		return sign | u;
	bool is_cut = r == NUM_RZ || (r == NUM_RM && !n.neg) || (r == NUM_RP && n.neg);
	return sign | (satfinite || is_cut ? f->finite : inf);
}

/* An integer of `bits` bits, clamped to its range; the caller has dealt with NaN. */
static inline uint64_t num_to_int(struct num n, unsigned bits, bool is_signed, enum num_round r)
{
	uint64_t top = is_signed ? (1ull << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
	uint64_t most = n.neg ? (is_signed ? top + 1 : 0) : top;

	if (n.kind == NUM_INF)
		return n.neg ? 0 - most : most;
	n = num_integral(n, r);
	uint64_t v = n.sig;

	if (v && n.exp > 0)
		v = n.exp > __builtin_clzll(v) ? UINT64_MAX : v << n.exp;
	v = v > most ? most : v;
	return n.neg ? 0 - v : v;
}

/* [0, 1]; NaN and what is below become +0. */
static inline struct num num_saturate(struct num n)
{
	if (n.kind == NUM_NAN || n.neg || (n.kind == NUM_FINITE && !n.sig))
		return (struct num){0, 0, false, NUM_FINITE};
	if (n.kind == NUM_INF || n.exp + 63 - __builtin_clzll(n.sig) >= 0)
		return (struct num){1, 0, false, NUM_FINITE};
	return n;
}

static inline struct num num_relu(struct num n)
{
	if (n.neg && n.kind != NUM_NAN)
		return (struct num){0, 0, false, NUM_FINITE};
	return n;
}

#endif
