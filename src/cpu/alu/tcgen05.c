/*
 * tcgen05.c - tcgen05.mma: what it multiplies and adds.
 *
 * Both matrices are decoded once into floats, A by lanes of the accumulators, so that a step of k
 * is one multiplication and one addition of all rows of a column. Products are exact; sums are in
 * binary32, one rounding each, in the order of k, and in double where binary32 overflows on the
 * way; f16 accumulators are rounded once an instruction. With block scales each block's sum is
 * scaled in double. Integers are exact: sums of one instruction stay below 2^24. tf32 ignores the
 * low 13 bits. No hardware was asked; this is what the ISA's text says, and where elements lie is
 * as CUTLASS has it (sparse metadata, scales: the ISA has figures only).
 */
#include "cpu/alu/fp_small.h"
#include "cpu/load/decode.h"
#include "cpu/tmem.h"

#define ROWS CPU_TMEM_LANES

struct matrices {
	float a[CPU_TC_K][ROWS]; /* by row of D in the block */
	float b[CPU_TC_COLS][CPU_TC_K];
};

/* ---- elements ---------- */

static float from_byte(uint32_t v, enum ptx_type t)
{
	switch (t) {
	case PTX_TYPE_E4M3:
		return from_e4m3(v);
	case PTX_TYPE_E5M2:
		return from_f16(v << 8);
	case PTX_TYPE_E2M3:
		return from_small(v & 63, 2, 3);
	case PTX_TYPE_E3M2:
		return from_small(v & 63, 3, 2);
	case PTX_TYPE_E2M1:
		return from_small(v & 15, 2, 1);
	case PTX_TYPE_S8:
		return (float)(int8_t)v;
	default: /* U8 */
		return (float)v;
	}
}

static bool is_narrow(enum ptx_type t)
{
	return t == PTX_TYPE_E2M3 || t == PTX_TYPE_E3M2 || t == PTX_TYPE_E2M1;
}

static unsigned decode16(float *out, const uint8_t *p, bool is_bf16)
{
	uint16_t v[8];

	memcpy(v, p, sizeof(v));
	for (unsigned i = 0; i < 8; i++)
		out[i] = is_bf16 ? as_float((uint32_t)v[i] << 16) : from_f16(v[i]);
	return 8;
}

/* 16 elements of 4 or 6 bits, packed; the rest of the unit is padding. */
static unsigned decode_padded(float *out, const uint8_t *p, enum ptx_type t)
{
	unsigned bits = t == PTX_TYPE_E2M1 ? 4 : 6;

	for (unsigned i = 0; i < 16; i++) {
		unsigned at = i * bits;
		uint32_t v = p[at / 8] | (uint32_t)p[at / 8 + 1] << 8;
		out[i] = from_byte(v >> at % 8 & ((1u << bits) - 1), t);
	}
	return 16;
}

/* A unit of 16 bytes: the number of its elements. */
static unsigned decode(float *out, const uint8_t *p, enum ptx_type t, unsigned bits)
{
	switch (bits) {
	case 16:
		return decode16(out, p, t == PTX_TYPE_BF16);
	case 32:
		for (unsigned i = 0; i < 4; i++) {
			uint32_t v;
			memcpy(&v, p + i * 4, 4);
			out[i] = as_float(v & 0xffffe000);
		}
		return 4;
	case 4:
		for (unsigned i = 0; i < 32; i++)
			out[i] = from_byte(p[i / 2] >> i % 2 * 4 & 15, t);
		return 32;
	default:
		if (is_narrow(t))
			return decode_padded(out, p, t);
		for (unsigned i = 0; i < 16; i++)
			out[i] = from_byte(p[i], t);
		return 16;
	}
}

/* ---- matrices ---------- */

/* A matrix in shared memory. */
struct stored {
	const uint8_t *const *unit;
	unsigned rows, k, bits;
	enum ptx_type type;
	bool is_trans;
};

/* Row r from units along k, or, transposed, from unit[k][group of rows]. */
static void decode_row(float *out, const struct stored *x, unsigned r)
{
	unsigned per = 128 / x->bits;
	float v[32];

	if (x->is_trans) {
		for (unsigned i = 0; i < x->k; i++) {
			decode(v, x->unit[i * (x->rows / per) + r / per], x->type, x->bits);
			out[i] = v[r % per];
		}
		return;
	}
	for (unsigned u = 0; u < x->k / per; u++)
		decode(out + u * per, x->unit[r * (x->k / per) + u], x->type, x->bits);
}

static unsigned stored_k(const struct cpu_tc_tile *t)
{
	return t->is_sparse ? t->s->k / 2u : t->s->k;
}

/* From tensor memory: 32-bit words along k; elements of 4 and 6 bits have bytes of their own. */
static void decode_words(float *out, const struct cpu_tc_tile *t, unsigned lane)
{
	const struct cpu_tc_shape *s = t->s;
	enum ptx_type type = (enum ptx_type)s->type_a;
	unsigned per = 32u / s->bits, k = stored_k(t);

	if (t->is_a_shifted && lane + 1 < CPU_TMEM_LANES)
		lane++;
	for (unsigned i = 0; i < k; i++) {
		uint32_t v = t->word[t->at + i / per][lane] >> i % per * s->bits;
		if (s->bits == 32)
			out[i] = as_float(v & 0xffffe000);
		else if (s->bits == 16)
			out[i] = type == PTX_TYPE_BF16 ? as_float(v << 16) : from_f16(v & 0xffff);
		else if (s->bits == 4)
			out[i] = from_byte(v & 15, type);
		else if (type == PTX_TYPE_E2M1)
			out[i] = from_byte(v >> 2 & 15, type);
		else
			out[i] = from_byte(v & 255, type);
	}
}

/*
 * The metadata of a row: two bits for each stored element (pair, of 4-bit ones; tf32: four bits for
 * each), in one column of 32 bits by rows of 16 (f16, tf32: lanes 0 to 7 have the first half of k,
 * 8 to 15 the second, low bits of rows 0 to 7, high ones of 8 to 15), or in two (8 bits and less).
 */
static uint64_t metadata_of(const struct cpu_tc_tile *t, unsigned row, unsigned lane)
{
	const struct cpu_tc_shape *s = t->s;
	uint32_t(*w)[CPU_TMEM_LANES] = t->word + t->meta;
	unsigned first = lane - row % 16 + row % 8, high = row / 8 % 2 * 16;

	if (s->bits <= 8)
		return w[0][lane] | (uint64_t)w[1][lane] << 32;
	w += s->selector;
	return (w[0][first] >> high & 0xffff) | (uint64_t)(w[0][first + 8] >> high & 0xffff) << 16;
}

/* Puts the stored elements of a row where they belong; the rest is zero. */
static void spread(const struct cpu_tc_tile *t, float *v, uint64_t bits)
{
	const struct cpu_tc_shape *s = t->s;
	float out[CPU_TC_K] = {0};

	for (unsigned i = 0; i < s->k / 2u; i++) {
		if (s->bits == 32)
			out[2 * i + ((bits >> 4 * i & 15) == 14)] = v[i];
		else if (s->bits == 4)
			out[i / 4 * 8 + (bits >> i / 2 * 2 & 3) * 2 + i % 2] = v[i];
		else
			out[i / 2 * 4 + (bits >> 2 * i & 3)] = v[i];
	}
	memcpy(v, out, sizeof(out));
}

/* For the part of D whose lanes begin at `lane`. */
static void decode_a(const struct cpu_tc_tile *t, unsigned lane, struct matrices *m)
{
	const struct cpu_tc_shape *s = t->s;
	struct stored a = {t->a,	 s->rows, stored_k(t), s->bits, (enum ptx_type)s->type_a,
			   s->is_trans_a};
	float v[CPU_TC_K];

	for (unsigned r = 0; r < s->rows; r++) {
		unsigned at = lane + cpu_tc_lane(s, r);
		if (t->a)
			decode_row(v, &a, r);
		else
			decode_words(v, t, at);
		if (t->is_sparse)
			spread(t, v, metadata_of(t, r, at));
		for (unsigned k = 0; k < s->k; k++)
			m->a[k][r] = s->is_negative ? -v[k] : v[k];
	}
}

static void decode_b(const struct cpu_tc_tile *t, struct matrices *m)
{
	const struct cpu_tc_shape *s = t->s;
	const struct cpu_tc_zeros *z = t->zeros;

	for (unsigned n = 0; n < s->n; n++) {
		struct stored b = {t->b[n / t->nb],
				   cpu_tc_cols(s, s->n / t->nb, z->shift),
				   s->k,
				   s->bits,
				   (enum ptx_type)s->type_b,
				   s->is_trans_b};
		decode_row(m->b[n], &b, n % t->nb + z->shift);
		if (z->zero[n / 64] >> n % 64 & 1)
			memset(m->b[n], 0, sizeof(m->b[n]));
	}
}

/* ---- products ---------- */

static double scale_of(const struct cpu_tc_shape *s, uint32_t word, unsigned byte)
{
	uint32_t v = word >> byte * 8 & 0xff;

	if (!s->is_scale_e8m0)
		return (double)from_e4m3(v & 0x7f);
	return v == 0xff ? (double)NAN : ldexp(1, (int)v - 127);
}

/* The scale of row or column r of n, in these lanes: the byte may be in the next four's word. */
static double scale_at(const struct cpu_tc_tile *t, uint32_t at, unsigned n, unsigned r,
		       unsigned part, unsigned byte)
{
	uint32_t col = at + r / 32 + byte / 4 * cpu_tc_scale_step(n);

	return scale_of(t->s, t->word[col][part + r % 32], byte % 4);
}

/* sum[rows] += A[from, to) times the column. */
static void multiply_steps(const struct matrices *m, const float *b, unsigned from, unsigned to,
			   float *sum)
{
	for (unsigned k = from; k < to; k++) {
		const float *a = m->a[k];
		float v = b[k];
		for (unsigned r = 0; r < ROWS; r++)
			sum[r] += a[r] * v;
	}
}

/* Column c of the part whose lanes begin at `lane`: block sums, scaled by rows and column. */
static void multiply_scaled(const struct cpu_tc_tile *t, const struct matrices *m, const float *b,
			    unsigned c, unsigned lane, float *sum)
{
	const struct cpu_tc_shape *s = t->s;
	unsigned step = s->k / s->nscales, wide = s->n / s->parts;

	for (unsigned i = 0; i < s->nscales; i++) {
		float block[ROWS] = {0};
		multiply_steps(m, b, i * step, (i + 1) * step, block);
		for (unsigned r = 0; r < s->rows; r++) {
			unsigned part = (lane + cpu_tc_lane(s, r)) / CPU_TMEM_PART * CPU_TMEM_PART;
			double a = scale_at(t, t->sfa, s->rows, r, part, s->scale_a + i);
			double e = scale_at(t, t->sfb, wide, c, part, s->scale_b + i);
			sum[r] = (float)((double)sum[r] + (double)block[r] * (a * e));
		}
	}
}

/* Sums that f32 can't hold on the way, once more in double. */
static void widen(const struct cpu_tc_tile *t, const struct matrices *m, const float *b,
		  const float *was, float *sum)
{
	for (unsigned r = 0; r < t->s->rows; r++) {
		double v = (double)was[r];
		if ((as_bits(sum[r]) & 0x7f800000) != 0x7f800000)
			continue;
		for (unsigned k = 0; k < t->s->k; k++)
			v += (double)m->a[k][r] * (double)b[k];
		sum[r] = (float)v;
	}
}

static float value_of(const struct cpu_tc_tile *t, uint32_t word)
{
	float v = t->s->type_d == PTX_TYPE_F16 ? from_f16(word & 0xffff) : as_float(word);

	return t->shift ? ldexpf(v, -(int)t->shift) : v;
}

static uint32_t add_int(uint32_t c, float sum, bool is_sat)
{
	int64_t v = (int64_t)(int32_t)c + (int64_t)sum;

	if (is_sat && v != (int32_t)v)
		return v < 0 ? 0x80000000 : 0x7fffffff;
	return c + (uint32_t)(int32_t)sum;
}

static uint32_t word_of(const struct cpu_tc_tile *t, uint32_t was, float sum)
{
	if (t->s->type_d == PTX_TYPE_S32)
		return add_int(t->is_added ? was : 0, sum, t->s->is_sat);
	if (t->s->type_d == PTX_TYPE_F16)
		return to_f16((double)sum);
	return sum == sum ? as_bits(sum) : 0x7fffffff;
}

static void multiply_column(const struct cpu_tc_tile *t, const struct matrices *m, unsigned n,
			    unsigned c, unsigned lane)
{
	const struct cpu_tc_shape *s = t->s;
	uint32_t *d = t->word[t->d + c];
	float sum[ROWS] = {0}, was[ROWS];

	if (t->is_added && s->type_d != PTX_TYPE_S32)
		for (unsigned r = 0; r < s->rows; r++)
			sum[r] = value_of(t, d[lane + cpu_tc_lane(s, r)]);
	memcpy(was, sum, sizeof(was));
	if (s->nscales) {
		multiply_scaled(t, m, m->b[n], c, lane, sum);
	} else {
		multiply_steps(m, m->b[n], 0, s->k, sum);
		widen(t, m, m->b[n], was, sum);
	}
	for (unsigned r = 0; r < s->rows; r++) {
		unsigned l = lane + cpu_tc_lane(s, r);
		if (!t->masked || !(t->masked[l / 32] >> l % 32 & 1))
			d[l] = word_of(t, d[l], sum[r]);
	}
}

static void multiply(const struct cpu_tc_tile *t)
{
	const struct cpu_tc_shape *s = t->s;
	unsigned wide = s->n / s->parts;
	struct matrices m;

	memset(m.a, 0, sizeof(m.a));
	decode_b(t, &m);
	for (unsigned q = 0; q < s->parts; q++) {
		unsigned lane = t->lane + q * (CPU_TMEM_LANES / s->parts);
		if (!q || !t->a || t->is_sparse)
			decode_a(t, lane, &m);
		for (unsigned c = 0; c < wide; c++)
			multiply_column(t, &m, q * wide + c, c, lane);
	}
}

cpu_binder CPU_BINDER(tcgen05);

enum cpu_bound CPU_BINDER(tcgen05)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct cpu_tc *x = cpu_dec_alloc(d, sizeof(*x));

	x->multiply = multiply;
	return cpu_tc_bind_mma(d, s, in, x);
}
