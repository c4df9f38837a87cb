/*
 * test_tcgen05.c - tcgen05.mma against a plain product, for each kind, layout and way of storage.
 *
 * Matrices of small numbers are put into shared and tensor memory as the PTX ISA and CUTLASS's
 * layouts say (written here from these, byte by byte, not from the implementation), multiplied by a
 * kernel, and all of tensor memory is compared with what it was, the accumulators with the plain
 * product, which is exact in binary32. K = 96 exists on sm_103 only; the CPU device has it wherever
 * it is asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"

#define LANES 128u
#define COLS  512u
#define SMEM  49152u
#define B_AT  16384u
#define A_COL 256u /* of matrix A, metadata, scales in tensor memory */
#define E_COL 300u
#define SFA   320u
#define SFB   340u

enum elem { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, S8, U8, F32, S32 };
enum swizzle { NONE, S32B, S64B, S128B, S128B_32B };

struct form {
	const char *op; /* what follows tcgen05.mma */
	unsigned m, n, k;
	enum elem a, b, d;
	enum swizzle sa, sb;
	bool is_ta, is_tb; /* transposed */
	bool is_a_tmem, is_a_shifted, is_negative, is_ws;
	bool is_sparse;
	unsigned selector; /* of metadata; of scales: their first byte */
	unsigned nscales;
	bool is_e8m0, is_packed; /* packed: two elements of 4 bits in a byte */
	unsigned blocks;
	uint64_t zeros; /* .ws: a descriptor of zero columns; 0: none */
	bool is_cut;	/* rows of 48 bytes begin 96 bytes into their 128, and go on elsewhere */
};

static const struct form forms[] = {
	{".cta_group::1.kind::f16", 128, 64, 16, F16, F16, F32, NONE, NONE, .blocks = 1},
	{".cta_group::1.kind::f16", 128, 256, 16, BF16, BF16, F32, S128B, S64B, .blocks = 1},
	{".cta_group::1.kind::f16", 128, 32, 16, F16, F16, F16, S32B, S32B, .blocks = 1},
	{".cta_group::1.kind::f16", 64, 40, 16, F16, F16, F32, S64B, S128B, .blocks = 1},
	{".cta_group::1.kind::f16", 128, 64, 16, F16, F16, F32, NONE, NONE, .is_ta = true,
	 .is_tb = true, .blocks = 1},
	{".cta_group::1.kind::f16", 128, 128, 16, F16, F16, F32, S128B, S128B, .is_ta = true,
	 .is_tb = true, .blocks = 1},
	{".cta_group::1.kind::f16", 128, 32, 16, BF16, F16, F32, S64B, S32B, .is_ta = true,
	 .is_tb = true, .is_negative = true, .blocks = 1},
	{".cta_group::1.kind::f16", 128, 64, 16, F16, F16, F32, NONE, NONE, .is_a_tmem = true,
	 .blocks = 1},
	{".cta_group::1.kind::f16", 64, 64, 16, F16, F16, F32, NONE, NONE, .is_a_tmem = true,
	 .blocks = 1},
	{".cta_group::1.kind::tf32", 128, 32, 8, TF32, TF32, F32, S128B, S128B, .blocks = 1},
	{".cta_group::1.kind::tf32", 128, 64, 8, TF32, TF32, F32, S128B_32B, S128B_32B,
	 .is_ta = true, .is_tb = true, .blocks = 1},
	{".cta_group::1.kind::tf32", 128, 32, 8, TF32, TF32, F32, NONE, NONE, .is_a_tmem = true,
	 .blocks = 1},
	{".cta_group::1.kind::f16.ashift", 128, 32, 16, F16, F16, F32, NONE, NONE,
	 .is_a_tmem = true, .is_a_shifted = true, .blocks = 1},
	{".cta_group::2.kind::f8f6f4.ashift", 256, 32, 32, E4M3, E4M3, F32, NONE, S128B,
	 .is_a_tmem = true, .is_a_shifted = true, .blocks = 2},
	{".cta_group::1.kind::f8f6f4", 128, 64, 32, E4M3, E5M2, F32, S128B, S128B, .blocks = 1},
	{".cta_group::1.kind::f8f6f4", 128, 64, 32, E4M3, E4M3, F16, S64B, S64B, .is_ta = true,
	 .is_tb = true, .blocks = 1},
	{".cta_group::1.kind::f8f6f4", 128, 64, 32, E2M3, E3M2, F32, S128B, NONE, .blocks = 1},
	{".cta_group::1.kind::f8f6f4", 128, 64, 32, E2M1, E2M1, F32, NONE, S128B, .blocks = 1},
	{".cta_group::1.kind::f8f6f4", 128, 64, 32, E2M1, E5M2, F32, NONE, NONE, .is_a_tmem = true,
	 .blocks = 1},
	{".cta_group::1.kind::i8", 128, 64, 32, S8, U8, S32, S128B, NONE, .blocks = 1},
	{".cta_group::1.kind::i8", 128, 32, 32, U8, S8, S32, S32B, S64B, .is_ta = true,
	 .blocks = 1},
	{".ws.cta_group::1.kind::f16", 32, 64, 16, F16, F16, F32, NONE, NONE, .is_ws = true,
	 .blocks = 1},
	{".ws.cta_group::1.kind::f16", 64, 128, 16, F16, F16, F32, S128B, NONE, .is_ws = true,
	 .blocks = 1},
	{".ws.cta_group::1.kind::f16", 64, 64, 16, F16, F16, F32, NONE, NONE, .is_ws = true,
	 .is_a_tmem = true, .blocks = 1},
	{".ws.cta_group::1.kind::i8", 128, 64, 32, S8, S8, S32, S128B, S128B, .is_ws = true,
	 .blocks = 1},
	{".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", 128, 64, 32, E4M3, E2M1, F32,
	 S128B, NONE, .nscales = 1, .selector = 2, .is_e8m0 = true, .blocks = 1},
	{".cta_group::1.kind::mxf4.block_scale.scale_vec::2X", 128, 128, 64, E2M1, E2M1, F32, S128B,
	 S128B, .nscales = 2, .selector = 2, .is_e8m0 = true, .is_packed = true, .blocks = 1},
	{".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", 128, 64, 64, E2M1, E2M1, F32,
	 NONE, S128B, .nscales = 4, .is_packed = true, .blocks = 1},
	{".sp.cta_group::1.kind::f16", 128, 64, 32, F16, F16, F32, S128B, S128B, .is_sparse = true,
	 .selector = 1, .blocks = 1},
	{".sp.cta_group::1.kind::tf32", 128, 32, 16, TF32, TF32, F32, S32B, S64B, .is_sparse = true,
	 .blocks = 1},
	{".sp.cta_group::1.kind::f8f6f4", 128, 64, 64, E5M2, E4M3, F32, NONE, S128B,
	 .is_sparse = true, .blocks = 1},
	{".sp.cta_group::1.kind::i8", 64, 64, 64, S8, S8, S32, NONE, NONE, .is_sparse = true,
	 .blocks = 1},
	{".cta_group::2.kind::f16", 256, 128, 16, F16, F16, F32, S128B, S128B, .blocks = 2},
	{".cta_group::2.kind::f16", 128, 64, 16, BF16, BF16, F32, NONE, S64B, .is_tb = true,
	 .blocks = 2},
	{".cta_group::2.kind::f16", 128, 64, 16, F16, F16, F32, NONE, NONE, .is_a_tmem = true,
	 .blocks = 2},
	{".cta_group::2.kind::mxf8f6f4.block_scale.scale_vec::1X", 256, 64, 32, E5M2, E5M2, F32,
	 S64B, S128B, .nscales = 1, .is_e8m0 = true, .blocks = 2},
	{".cta_group::2.kind::mxf4nvf4.block_scale.scale_vec::4X", 128, 128, 64, E2M1, E2M1, F32,
	 NONE, S128B, .nscales = 4, .is_packed = true, .blocks = 2},
	{".cta_group::1.kind::mxf4.block_scale.block32", 128, 64, 96, E2M1, E2M1, F32, S128B, S128B,
	 .nscales = 3, .selector = 2, .is_e8m0 = true, .is_packed = true, .blocks = 1,
	 .is_cut = true},
	{".cta_group::1.kind::mxf4nvf4.block_scale.block16", 128, 64, 96, E2M1, E2M1, F32, S128B,
	 S128B, .nscales = 6, .selector = 2, .is_packed = true, .blocks = 1},
	{".cta_group::1.kind::mxf4nvf4.block_scale.block16", 128, 256, 96, E2M1, E2M1, F32, S128B,
	 S128B, .nscales = 6, .is_packed = true, .blocks = 1},
	{".cta_group::2.kind::mxf4nvf4.block_scale.block32", 256, 256, 96, E2M1, E2M1, F32, S128B,
	 S128B, .nscales = 3, .selector = 3, .is_e8m0 = true, .is_packed = true, .blocks = 2},
	{".ws.cta_group::1.kind::f16", 128, 64, 16, F16, F16, F32, S128B, NONE, .is_ws = true,
	 .blocks = 1, .zeros = 0x0003028000000000},
	{".ws.cta_group::1.kind::f16", 64, 64, 16, F16, F16, F32, NONE, S32B, .is_ws = true,
	 .blocks = 1, .zeros = 0x0003028100000000},
	{".ws.cta_group::1.kind::f8f6f4", 32, 128, 32, E4M3, E5M2, F32, NONE, S128B, .is_ws = true,
	 .blocks = 1, .zeros = 0x0203028301020100},
	{".ws.cta_group::1.kind::f16", 32, 64, 16, F16, F16, F32, NONE, NONE, .is_ws = true,
	 .is_tb = true, .blocks = 1, .zeros = 0x0b07008502010705},
	{".ws.sp.cta_group::1.kind::f16", 32, 64, 32, F16, BF16, F32, NONE, NONE, .is_ws = true,
	 .is_sparse = true, .blocks = 1},
	{".ws.sp.cta_group::1.kind::tf32", 64, 64, 16, TF32, TF32, F32, S32B, S64B, .is_ws = true,
	 .is_sparse = true, .blocks = 1},
	{".ws.sp.cta_group::1.kind::f8f6f4", 128, 64, 64, E5M2, E4M3, F32, NONE, S128B,
	 .is_ws = true, .is_sparse = true, .blocks = 1},
	{".ws.sp.cta_group::1.kind::i8", 128, 128, 64, S8, S8, S32, NONE, NONE, .is_ws = true,
	 .is_sparse = true, .blocks = 1},
};

/* ---- numbers ---------- */

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Bits of the exponent, of the fraction. */
static const unsigned parts[][2] = {
	[F16] = {5, 10}, [BF16] = {8, 7}, [TF32] = {8, 23}, [E4M3] = {4, 3}, [E5M2] = {5, 2},
	[E2M3] = {2, 3}, [E3M2] = {3, 2}, [E2M1] = {2, 1},  [F32] = {8, 23}};

static bool is_int(enum elem t)
{
	return t == S8 || t == U8 || t == S32;
}

static unsigned bits_of(enum elem t)
{
	return is_int(t) ? (t == S32 ? 32 : 8) : 1 + parts[t][0] + parts[t][1];
}

/* The code of a number between 1/4 and 4 with at most 3 bits of fraction, or 0; any of int. */
static uint32_t code(enum elem t, uint32_t *seed)
{
	uint32_t v = draw(seed), e, m;

	if (is_int(t))
		return v & 255;
	e = parts[t][0];
	m = parts[t][1];
	if (v % 8 == 7)
		return 0;
	uint32_t bias = (1u << (e - 1)) - 1, exp = e == 2 ? v % 4 : bias - 2 + v % 4;
	uint32_t frac = m > 3 ? (v >> 4 & 7) << (m - 3) : v >> 4 & ((1u << m) - 1);
	return (v >> 9 & 1) << (e + m) | exp << m | frac;
}

static double number(enum elem t, uint32_t v)
{
	if (t == U8)
		return v & 255;
	if (t == S8)
		return (int8_t)v;
	if (t == S32)
		return (int32_t)v;
	unsigned e = parts[t][0], m = parts[t][1];
	int bias = (1 << (e - 1)) - 1, exp = (int)(v >> m & ((1u << e) - 1));
	double f = (double)(v & ((1u << m) - 1)) / (double)(1u << m);
	double mag = exp ? ldexp(1 + f, exp - bias) : ldexp(f, 1 - bias);
	return v >> (e + m) & 1 ? -mag : mag;
}

/* ---- matrices in memory ---------- */

static struct image {
	uint8_t smem[2][SMEM];
	uint32_t tmem[2][COLS][LANES];
} * in, *out;

/* What a swizzle does to an offset. */
static unsigned swizzled(unsigned at, enum swizzle s)
{
	unsigned row = at >> 7;

	return s == S128B_32B ? at ^ (row & 3) << 5 : at ^ (row & ((1u << s) - 1)) << 4;
}

#define CUT_AT 96u
#define CUT    32u    /* bytes of a row that are before the cut */
#define CUT_TO 24576u /* from the matrix on */

/* Bytes `strided` and `fast` (the one that elements lie along) of a matrix. */
struct layout {
	enum swizzle s;
	bool is_trans;
	unsigned width; /* bytes along the fast dimension, of all */
	unsigned leading, stride;
	bool is_cut; /* of 128 bytes a row has the last 32, the rest is `leading` from the start */
};

static struct layout layout_of(enum swizzle s, bool is_trans, unsigned width)
{
	unsigned w = s == S128B_32B ? 128 : 16u << s, group = s == S128B_32B ? 4 : 8;
	struct layout l = {s, is_trans, width, 0, 0, false};

	if (!is_trans) {
		l.leading = s ? 0 : 128;
		l.stride = s ? 8 * w : 8 * width;
	} else if (!s) {
		l.stride = 128;
		l.leading = 8 * width;
	} else {
		l.leading = group * w;
		l.stride = group * width;
	}
	return l;
}

static unsigned place(const struct layout *l, unsigned slow, unsigned fast)
{
	unsigned w = l->s == S128B_32B ? 128 : 16u << l->s, group = l->s == S128B_32B ? 4 : 8;
	unsigned in_group = slow % group * w + fast % w, groups = slow / group;

	if (l->is_cut) {
		unsigned at = fast < CUT ? CUT_AT + fast : l->leading + fast - CUT;
		return swizzled(groups * l->stride + slow % group * w + at, l->s);
	}
	if (!l->is_trans)
		return swizzled(groups * l->stride + in_group + fast / w * l->leading, l->s);
	if (!l->s)
		return fast / 16 * l->stride + in_group + groups * l->leading;
	return swizzled(fast / w * l->leading + in_group + groups * l->stride, l->s);
}

static uint64_t descriptor(const struct layout *l, unsigned at)
{
	static const uint64_t mode[] = {0, 6, 4, 2, 1};

	if (l->is_cut)
		return (at + CUT_AT) >> 4 | (uint64_t)((at + l->leading) >> 4) << 16 |
		       (uint64_t)(l->stride >> 4) << 32 | 1ull << 46 | 1ull << 52 |
		       mode[l->s] << 61;
	return at >> 4 | (uint64_t)(l->leading >> 4) << 16 | (uint64_t)(l->stride >> 4) << 32 |
	       1ull << 46 | mode[l->s] << 61;
}

/* The first bit of element i along the fast dimension. 16 elements of 6 or 4 bits fill 16 bytes,
 * with padding, if they aren't packed. */
static unsigned bit_of(enum elem t, bool is_packed, unsigned i)
{
	unsigned bits = bits_of(t);

	return bits < 8 && !is_packed ? i / 16 * 128 + i % 16 * bits : i * bits;
}

static unsigned container(const struct form *f, enum elem t)
{
	return f->is_packed ? 4 : bits_of(t) < 8 ? 8 : bits_of(t);
}

struct matrix {
	uint32_t v[256][128]; /* codes: of rows of A, of columns of B; sparse A: those stored */
};

static void put_smem(uint8_t *to, const struct layout *l, const struct matrix *x, unsigned rows,
		     unsigned k, enum elem t, bool is_packed)
{
	for (unsigned r = 0; r < rows; r++)
		for (unsigned i = 0; i < k; i++)
			for (unsigned b = 0; b < bits_of(t); b++) {
				unsigned at = bit_of(t, is_packed, l->is_trans ? r : i) + b;
				unsigned byte = place(l, l->is_trans ? i : r, at / 8);
				to[byte] |= (uint8_t)((x->v[r][i] >> b & 1) << at % 8);
			}
}

/* Lane of row r of the block's part of D, columns n and on. */
static unsigned lane_of(const struct form *f, unsigned r, unsigned n, unsigned *col)
{
	unsigned rows = f->m / f->blocks, cut = 1;

	if (f->blocks == 2 && rows == 64 && !f->is_sparse)
		cut = 2;
	else if (f->is_ws)
		cut = 128 / rows;
	else if (rows == 64)
		r = r / 16 * 32 + r % 16;
	*col = n % (f->n / cut);
	return r + n / (f->n / cut) * (128 / cut);
}

static void put_tmem_a(const struct form *f, const struct matrix *x, unsigned block)
{
	unsigned rows = f->m / f->blocks, bits = container(f, f->a), col;

	for (unsigned r = 0; r < rows; r++)
		for (unsigned n = 0; n < f->n; n++)
			for (unsigned i = 0; i < f->k / (f->is_sparse ? 2 : 1); i++) {
				unsigned lane = lane_of(f, r, n, &col);
				uint32_t v = x->v[block * rows + r][i];
				if (f->a == E2M1 && !f->is_packed)
					v <<= 2;
				uint32_t *w = &in->tmem[block][A_COL + i * bits / 32][lane];
				uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
				*w = (*w & ~(mask << i * bits % 32)) | v << i * bits % 32;
			}
}

/* ---- metadata ---------- */

/* Which of four (pairs of) elements the two stored ones of group g are; tf32: which of two. */
static unsigned chosen(const struct form *f, unsigned row, unsigned i)
{
	static const uint8_t two[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

	if (f->a == TF32)
		return (row * 5 + i * 3) % 7 % 2;
	return two[(row + i / 2 * 7) % 6][i % 2];
}

/* The element of the whole row that stored element i is. */
static unsigned whole(const struct form *f, unsigned row, unsigned i)
{
	return f->a == TF32 ? 2 * i + chosen(f, row, i) : i / 2 * 4 + chosen(f, row, i);
}

/* For the part of D that begins at column n, in whose lanes it lies, as A in tensor memory does. */
static void put_metadata_of(const struct form *f, unsigned block, unsigned n)
{
	unsigned rows = f->m / f->blocks, col;

	for (unsigned r = 0; r < rows; r++) {
		uint64_t bits = 0;
		for (unsigned i = 0; i < f->k / 2; i++)
			bits |= f->a == TF32 ? (uint64_t)(chosen(f, r, i) ? 14 : 4) << 4 * i
					     : (uint64_t)chosen(f, r, i) << 2 * i;
		unsigned lane = lane_of(f, r, n, &col);
		if (container(f, f->a) == 8) {
			in->tmem[block][E_COL][lane] = (uint32_t)bits;
			in->tmem[block][E_COL + 1][lane] = (uint32_t)(bits >> 32);
			continue;
		}
		/* 8 rows and the 8 rows below: low and high halves; lanes + 8: k's second half. */
		unsigned first = lane - r % 16 + r % 8, shift = r / 8 % 2 * 16;
		for (unsigned h = 0; h < 2; h++) {
			uint32_t *w = &in->tmem[block][E_COL + f->selector][first + 8 * h];
			*w = (*w & ~(0xffffu << shift)) | (uint32_t)(bits >> 16 * h & 0xffff)
								  << shift;
		}
	}
}

static void put_metadata(const struct form *f, unsigned block)
{
	unsigned n = f->is_ws ? 128 / f->m : 1;

	for (unsigned i = 0; i < n; i++)
		put_metadata_of(f, block, i * f->n / n);
}

/* ---- scales ---------- */

static uint32_t scale_code(const struct form *f, unsigned what, unsigned row, unsigned i)
{
	uint32_t seed = what * 7919 + row * 31 + i * 17 + 5, v = draw(&seed);

	return f->is_e8m0 ? 126 + v % 3 : (6 + v % 3) << 3 | (v >> 5 & 7);
}

static double scale(const struct form *f, unsigned what, unsigned row, unsigned i)
{
	uint32_t v = scale_code(f, what, row, i);

	return f->is_e8m0 ? ldexp(1, (int)v - 127) : number(E4M3, v);
}

/* The i-th of each of n; the fifth byte and on are in the next words, of all n (or 128). */
static void put_scale(const struct form *f, unsigned block, unsigned col, unsigned lane, uint32_t v,
		      unsigned i, unsigned n)
{
	unsigned byte = f->selector + i, next = n > 128 ? 8 : 4;
	uint32_t *w = &in->tmem[block][col + byte / 4 * next][lane];
	unsigned shift = byte % 4 * 8;

	*w = (*w & ~(255u << shift)) | v << shift;
}

/* In each 32 lanes again; B's with the columns that these lanes have. */
static void put_scales(const struct form *f, unsigned block)
{
	unsigned rows = f->m / f->blocks, col;

	for (unsigned r = 0; r < rows; r++)
		for (unsigned n = 0; n < f->n; n++)
			for (unsigned i = 0; i < f->nscales; i++) {
				unsigned part = lane_of(f, r, n, &col) / 32 * 32;
				put_scale(f, block, SFA + r / 32, part + r % 32,
					  scale_code(f, 0, block * rows + r, i), i, rows);
				put_scale(f, block, SFB + col / 32, part + col % 32,
					  scale_code(f, 1, n, i), i,
					  f->blocks == 2 && rows == 64 ? f->n / 2 : f->n);
			}
}

/* ---- kernels ---------- */

static unsigned shift_of(const struct form *f)
{
	return (unsigned)(f->zeros >> 56);
}

/* Is a column zero? A row of spans from the given one on, that many of which are passed over. */
static bool is_zero(const struct form *f, unsigned col)
{
	unsigned wide = f->zeros ? f->n / (128 / f->m) : f->n, part = col / wide;
	unsigned at = col % wide + (unsigned)(f->zeros >> 8 * part & 255);
	unsigned used = (unsigned)(f->zeros >> 48 & 255) + 1;
	unsigned skipped = (unsigned)(f->zeros >> 40 & 255) + 1;

	if (!(f->zeros >> 39 & 1))
		return false;
	at %= used + skipped;
	return f->zeros >> (32 + part) & 1 ? at < skipped : at >= used;
}

/* Columns of B in memory. */
static unsigned columns(const struct form *f)
{
	unsigned per = f->is_tb ? 128 / bits_of(f->b) : 1;

	return f->n / f->blocks + (shift_of(f) + per - 1) / per * per;
}

static uint32_t instruction(const struct form *f)
{
	static const uint8_t type[] = {[F16] = 0,  [BF16] = 1, [TF32] = 2, [E4M3] = 0, [E5M2] = 1,
				       [E2M3] = 3, [E3M2] = 4, [E2M1] = 5, [S8] = 1,   [U8] = 0};
	uint32_t a = f->is_packed ? 1 : type[f->a], b = f->is_packed ? 1 : type[f->b];
	uint32_t v = a << 7 | b << 10 | (uint32_t)f->is_negative << 13 | (uint32_t)f->is_ta << 15 |
		     (uint32_t)f->is_tb << 16 | f->n / 8 << 17 | f->m / 16 << 24 |
		     (uint32_t)f->is_sparse << 2;

	if (f->nscales)
		return v | (uint32_t)(f->k == 96) << 31 | (uint32_t)f->is_e8m0 << 23 |
		       f->selector << 29 | f->selector << 4;
	return v | (f->is_sparse ? f->selector : 0) |
	       (uint32_t)(f->d == F16	? 0
			  : f->d == F32 ? 1
					: 2)
		       << 4;
}

static struct layout layout_a(const struct form *f)
{
	unsigned rows = f->m / f->blocks, k = f->k / (f->is_sparse ? 2 : 1);

	struct layout l =
		layout_of(f->sa, f->is_ta, (f->is_ta ? rows : k) * container(f, f->a) / 8);
	l.is_cut = f->is_cut;
	l.leading = f->is_cut ? CUT_TO : l.leading;
	return l;
}

static struct layout layout_b(const struct form *f)
{
	struct layout l =
		layout_of(f->sb, f->is_tb, (f->is_tb ? columns(f) : f->k) * container(f, f->b) / 8);

	l.is_cut = f->is_cut;
	l.leading = f->is_cut ? CUT_TO : l.leading;
	return l;
}

static void put_product(struct base_buf *t, const struct form *f)
{
	struct layout a = layout_a(f), b = layout_b(f);

	base_buf_printf(t, "add.u64 da, x, 0x%llx;\nadd.u64 db, x, 0x%llx;\nmov.b32 id, 0x%x;\n",
			(unsigned long long)descriptor(&a, 0),
			(unsigned long long)descriptor(&b, B_AT), instruction(f));
	if (f->is_cut) /* an address in the descriptor */
		base_buf_puts(t, "shl.b64 y, x, 16;\nadd.u64 da, da, y;\nadd.u64 db, db, y;\n");
	if (f->zeros)
		base_buf_printf(t, "mov.b64 y, 0x%llx;\n", (unsigned long long)f->zeros);
	base_buf_printf(t, "add.u32 ta, d, %u;\nadd.u32 te, d, %u;\n", A_COL, E_COL);
	base_buf_printf(t, "add.u32 tsa, d, %u;\nadd.u32 tsb, d, %u;\n", SFA, SFB);
	base_buf_printf(t, "@leader tcgen05.mma%s [d], %s, db, ", f->op,
			f->is_a_tmem ? "[ta]" : "da");
	base_buf_printf(t, "%sid, %son%s;\n", f->is_sparse ? "[te], " : "",
			f->nscales ? "[tsa], [tsb], " : "", f->zeros ? ", y" : "");
	base_buf_printf(t,
			"@leader tcgen05.commit.cta_group::%u.mbarrier::arrive::one"
			".shared::cluster%s.b64 [bar]%s;\n",
			f->blocks, f->blocks == 2 ? ".multicast::cluster" : "",
			f->blocks == 2 ? ", both" : "");
}

static void put_kernel(struct base_buf *t, const struct form *f, size_t number)
{
	const char *sync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

	base_buf_printf(t, ".visible .entry k%zu(.param .u64 s, .param .u64 t)\n{\n", number);
	base_buf_puts(t, ".reg .pred p, warp0, first, leader, on, done;\n.reg .b16 both;\n"
			 ".reg .b32 tid, r, v, i, q, d, id, lane, ta, te, tsa, tsb;\n"
			 ".reg .b64 ps, pt, x, y, da, db;\n"
			 ".shared .align 1024 .b8 buf[49152];\n.shared .align 8 .b64 bar;\n"
			 ".shared .b32 where;\n"
			 "ld.param.u64 ps, [s];\nld.param.u64 pt, [t];\nmov.u32 tid, %tid.x;\n"
			 "mov.u32 r, %cluster_ctarank;\nmov.b16 both, 3;\n"
			 "mul.wide.u32 x, r, 49152;\nadd.u64 ps, ps, x;\n"
			 "mul.wide.u32 x, r, 262144;\nadd.u64 pt, pt, x;\n"
			 "setp.lt.u32 warp0, tid, 32;\nsetp.eq.u32 first, tid, 0;\n"
			 "setp.eq.and.u32 leader, r, 0, first;\nsetp.eq.u32 on, 0, 0;\n"
			 "shl.b32 i, tid, 2;\n"
			 "fill:\ncvt.u64.u32 x, i;\nadd.u64 x, x, ps;\nld.global.b32 v, [x];\n"
			 "mov.u32 q, buf;\nadd.u32 q, q, i;\nst.shared.b32 [q], v;\n"
			 "add.u32 i, i, 512;\nsetp.lt.u32 p, i, 49152;\n@p bra fill;\n"
			 "@first mbarrier.init.shared.b64 [bar], 1;\n"
			 "fence.mbarrier_init.release.cluster;\nfence.proxy.async;\n");
	base_buf_printf(t,
			"@warp0 tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 "
			"[where], 512;\n",
			f->blocks);
	base_buf_puts(t, sync);
	base_buf_puts(t, "ld.shared.b32 d, [where];\nshr.u32 lane, tid, 5;\n"
			 "shl.b32 lane, lane, 21;\nadd.u32 lane, lane, d;\n"
			 "mul.wide.u32 y, tid, 4;\nadd.u64 pt, pt, y;\nmov.b64 y, pt;\n"
			 "mov.b32 q, lane;\nmov.b32 i, 0;\n"
			 "store:\nld.global.b32 v, [y];\n"
			 "tcgen05.st.sync.aligned.32x32b.x1.b32 [q], {v};\n"
			 "add.u64 y, y, 512;\nadd.u32 q, q, 1;\nadd.u32 i, i, 1;\n"
			 "setp.lt.u32 p, i, 512;\n@p bra store;\n"
			 "tcgen05.wait::st.sync.aligned;\n");
	base_buf_puts(t, sync);
	base_buf_puts(t, "mov.u32 q, buf;\nshr.u32 q, q, 4;\ncvt.u64.u32 x, q;\n");
	put_product(t, f);
	base_buf_puts(t, "wait:\nmbarrier.try_wait.parity.shared.b64 done, [bar], 0;\n"
			 "@!done bra wait;\ntcgen05.fence::after_thread_sync;\n"
			 "mov.b64 y, pt;\nmov.b32 q, lane;\nmov.b32 i, 0;\n"
			 "load:\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {v}, [q];\n"
			 "tcgen05.wait::ld.sync.aligned;\nst.global.b32 [y], v;\n"
			 "add.u64 y, y, 512;\nadd.u32 q, q, 1;\nadd.u32 i, i, 1;\n"
			 "setp.lt.u32 p, i, 512;\n@p bra load;\n");
	base_buf_puts(t, sync);
	base_buf_printf(t,
			"@warp0 tcgen05.dealloc.cta_group::%u.sync.aligned.b32 d, 512;\n"
			"ret;\n}\n",
			f->blocks);
}

/* ---- running ---------- */

static struct fixture {
	struct base_arena arena;
	struct cpu_machine *m;
	struct cpu_module *mod;
	struct base_buf text; /* as long as the module */
} fix;

static int set_up(void **state)
{
	struct cpu_options opt = {.seed = 5, .threads = 1, .devices = 1};
	struct base_sink sink = {0};

	(void)state;
	base_buf_puts(&fix.text, ".version 8.7\n.target sm_100a\n.address_size 64\n");
	for (size_t i = 0; i < BASE_COUNTOF(forms); i++)
		put_kernel(&fix.text, &forms[i], i);
	base_buf_put(&fix.text, "", 1);
	fix.m = cpu_machine_new(&opt);
	struct ptx_module *ptx =
		ptx_parse(&fix.arena, "tcgen05.ptx", fix.text.p, fix.text.n - 1, &sink);
	fix.mod = ptx ? cpu_module_load(fix.m, 0, &ptx, 1, &sink) : NULL;
	base_sink_print(&sink, stderr);
	in = calloc(1, sizeof(*in));
	out = cpu_mem_alloc(fix.m, 0, sizeof(*out), CPU_MEM_DEVICE);
	return fix.mod && in && out ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(in);
	cpu_module_unload(fix.mod);
	cpu_machine_free(fix.m);
	base_arena_free(&fix.arena);
	base_buf_free(&fix.text);
	return 0;
}

static void launch(size_t number)
{
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault fault = {0};
	void *params[2] = {out->smem, out->tmem};
	unsigned blocks = forms[number].blocks;
	char name[16];

	memcpy(out, in, sizeof(*out));
	snprintf(name, sizeof(name), "k%zu", number);
	w.launch = (struct cpu_launch){.kernel = cpu_module_kernel(fix.mod, name),
				       .grid = {blocks, 1, 1},
				       .block = {LANES, 1, 1},
				       .cluster = {blocks, 1, 1},
				       .params = params};
	struct cpu_op *op = cpu_submit(fix.m, &w, NULL, 0, &fault);
	if (!op)
		fail_msg("%s: %s", forms[number].op, fault.text);
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_fault_get(fix.m, 0, &fault);
	if (fault.kind != CPU_FAULT_NONE)
		fail_msg("%s", fault.text);
}

static struct matrix a, b;

static double plain(const struct form *f, unsigned row, unsigned col, double sum)
{
	unsigned rows = f->m / f->blocks, n = f->k / (f->is_sparse ? 2 : 1);
	unsigned of_a = f->is_a_shifted && row % rows != rows - 1 ? row + 1 : row;

	for (unsigned i = 0; i < n && !is_zero(f, col); i++) {
		unsigned k = f->is_sparse ? whole(f, row % rows, i) : i;
		double v = number(f->a, a.v[of_a][i]) * number(f->b, b.v[col + shift_of(f)][k]);
		unsigned s = f->nscales ? k / (f->k / f->nscales) : 0;
		if (f->nscales)
			v *= scale(f, 0, row, s) * scale(f, 1, col, s);
		sum += f->is_negative ? -v : v;
	}
	return sum;
}

static void fill(const struct form *f)
{
	unsigned rows = f->m / f->blocks, cols = columns(f), k = f->k / (f->is_sparse ? 2 : 1);
	struct layout la = layout_a(f), lb = layout_b(f);
	uint32_t seed = f->m * 31 + f->n * 7 + f->k + f->a;
	struct matrix part;

	memset(in, 0, sizeof(*in));
	for (unsigned r = 0; r < f->m; r++)
		for (unsigned i = 0; i < k; i++)
			a.v[r][i] = code(f->a, &seed);
	for (unsigned r = 0; r < cols * f->blocks; r++)
		for (unsigned i = 0; i < f->k; i++)
			b.v[r][i] = code(f->b, &seed);
	for (unsigned block = 0; block < f->blocks; block++) {
		for (unsigned c = 0; c < COLS; c++)
			for (unsigned l = 0; l < LANES; l++)
				in->tmem[block][c][l] = code(f->d == S32 ? S8 : f->d, &seed);
		memcpy(part.v, a.v[block * rows], rows * sizeof(a.v[0]));
		if (f->is_a_tmem)
			put_tmem_a(f, &a, block);
		else
			put_smem(in->smem[block], &la, &part, rows, k, f->a, f->is_packed);
		memcpy(part.v, b.v[block * cols], cols * sizeof(b.v[0]));
		put_smem(in->smem[block] + B_AT, &lb, &part, cols, f->k, f->b, f->is_packed);
		if (f->is_sparse)
			put_metadata(f, block);
		if (f->nscales)
			put_scales(f, block);
	}
}

static void compare(const struct form *f)
{
	unsigned rows = f->m / f->blocks, col;
	static bool is_d[2][COLS][LANES];

	memset(is_d, 0, sizeof(is_d));
	for (unsigned r = 0; r < f->m; r++)
		for (unsigned n = 0; n < f->n; n++) {
			unsigned block = r / rows, lane = lane_of(f, r % rows, n, &col);
			double was = number(f->d, in->tmem[block][col][lane]);
			double got = number(f->d, out->tmem[block][col][lane]);
			double want = plain(f, r, n, was), off = fabs(got - want);
			is_d[block][col][lane] = true;
			if (f->d == F16 ? off > fabs(want) / 2048 : off > 0)
				fail_msg("form %zu, %s: row %u column %u is %g, not %g",
					 (size_t)(f - forms), f->op, r, n, got, want);
		}
	for (unsigned block = 0; block < f->blocks; block++)
		for (unsigned c = 0; c < COLS; c++)
			for (unsigned l = 0; l < LANES; l++)
				if (!is_d[block][c][l] &&
				    out->tmem[block][c][l] != in->tmem[block][c][l])
					fail_msg("form %zu, %s: lane %u of column %u was changed",
						 (size_t)(f - forms), f->op, l, c);
}

static void test_products(void **state)
{
	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(forms); i++) {
		fill(&forms[i]);
		launch(i);
		compare(&forms[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
