/*
 * wgmma.c - wgmma.mma_async: what it multiplies and adds, and how it is decoded.
 *
 * Both matrices are decoded once into floats, then multiplied straight into the accumulators'
 * registers: of a register the 32 lanes are 8 rows of 4 columns, so that with the elements of A
 * four times each and those of B in the lanes' order a step of k is one multiplication and one
 * addition of 8 lanes. Products are exact; sums are in binary32, one rounding each, in the order
 * of k, and in double where binary32 overflows on the way; f16 accumulators are rounded once an
 * instruction. The hardware adds many at a time and drops low bits, with f8 all but some 13, so
 * the last bits differ from it (docs/results/emulator.md). Integers and bits are exact: sums of
 * one instruction stay below 2^24. tf32 ignores the low 13 bits.
 *
 * Costs: see docs/results/emulator.md.
 */
#include "cpu/alu/fp_small.h"
#include "cpu/load/decode.h"
#include "cpu/load/fragment.h"
#include "cpu/wgmma.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

enum { WGMMA_FLOAT, WGMMA_INT, WGMMA_BITS };

/* A as rows, B as columns, along k. */
struct matrices {
	float a[CPU_WGMMA_ROWS][64];
	float b[CPU_WGMMA_COLS][64];
};

/* ---- elements of a unit ---------- */

static void decode16(float *out, const uint8_t *p, unsigned n, bool is_bf16)
{
	uint16_t v[8];

#ifdef __F16C__
	/* Only signalling NaN come out otherwise, and every NaN sum is the same one. */
	if (!is_bf16 && n == 8) {
		_mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const void *)p)));
		return;
	}
#endif
	memcpy(v, p, n * 2u);
	if (is_bf16)
		for (unsigned i = 0; i < n; i++)
			out[i] = as_float((uint32_t)v[i] << 16);
	else
		for (unsigned i = 0; i < n; i++)
			out[i] = from_f16(v[i]);
}

/* At most a unit of elements: their number. */
static unsigned decode(float *out, const uint8_t *p, unsigned bytes, enum ptx_type t)
{
	switch (t) {
	case PTX_TYPE_F16:
	case PTX_TYPE_BF16:
		decode16(out, p, bytes / 2, t == PTX_TYPE_BF16);
		return bytes / 2;
	case PTX_TYPE_TF32:
		for (unsigned i = 0; i < bytes / 4; i++) {
			uint32_t v;
			memcpy(&v, p + i * 4, 4);
			out[i] = as_float(v & 0xffffe000);
		}
		return bytes / 4;
	case PTX_TYPE_E4M3:
		for (unsigned i = 0; i < bytes; i++)
			out[i] = from_e4m3(p[i]);
		return bytes;
	case PTX_TYPE_E5M2:
		for (unsigned i = 0; i < bytes; i++)
			out[i] = from_f16((uint32_t)p[i] << 8);
		return bytes;
	case PTX_TYPE_S8:
		for (unsigned i = 0; i < bytes; i++)
			out[i] = (float)(int8_t)p[i];
		return bytes;
	default: /* U8 */
		for (unsigned i = 0; i < bytes; i++)
			out[i] = (float)p[i];
		return bytes;
	}
}

/* ---- matrices ---------- */

/* From units along k: `n` rows of `units`. */
static void decode_rows(float (*m)[64], const uint8_t *const *unit, unsigned n, unsigned units,
			enum ptx_type t)
{
	for (unsigned r = 0; r < n; r++) {
		float *out = m[r];
		for (unsigned u = 0; u < units; u++)
			out += decode(out, unit[r * units + u], CPU_WGMMA_UNIT, t);
	}
}

/* From units of 8 rows: unit[k * n / 8 + row / 8]. */
static void decode_transposed(float (*m)[64], const uint8_t *const *unit, unsigned n, unsigned k,
			      enum ptx_type t)
{
	float v[8];

	for (unsigned i = 0; i < k; i++)
		for (unsigned r = 0; r < n; r += 8) {
			decode(v, unit[i * (n / 8) + r / 8], CPU_WGMMA_UNIT, t);
			for (unsigned e = 0; e < 8; e++)
				m[r + e][i] = v[e];
		}
}

/* Register i of lane l holds row l / 4 + 8 * (i % 2), and of its 32 bytes 4 from 16 * (i / 2) +
 * 4 * (l % 4) on. */
static void gather_registers(uint8_t out[CPU_WGMMA_ROWS][32], const struct cpu_wgmma_tile *t)
{
	for (unsigned w = 0; w < CPU_GROUP_WARPS; w++)
		for (unsigned i = 0; i < 4; i++)
			for (unsigned l = 0; l < CPU_WARP; l++)
				memcpy(&out[w * 16 + l / 4 + 8 * (i % 2)]
					   [16 * (i / 2) + 4 * (l % 4)],
				       &t->areg[w][i][l], 4);
}

static void decode_a(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t, struct matrices *m)
{
	enum ptx_type type = (enum ptx_type)x->type_a;
	uint8_t rows[CPU_WGMMA_ROWS][32];

	if (x->is_a_reg) {
		gather_registers(rows, t);
		for (unsigned r = 0; r < CPU_WGMMA_ROWS; r++) {
			unsigned n = decode(m->a[r], rows[r], CPU_WGMMA_UNIT, type);
			decode(m->a[r] + n, rows[r] + CPU_WGMMA_UNIT, CPU_WGMMA_UNIT, type);
		}
	} else if (x->is_trans_a) {
		decode_transposed(m->a, t->a, CPU_WGMMA_ROWS, x->is_sparse ? x->k / 2u : x->k,
				  type);
	} else {
		decode_rows(m->a, t->a, CPU_WGMMA_ROWS, x->units_a, type);
	}
	for (unsigned r = 0; x->is_negative && r < CPU_WGMMA_ROWS; r++)
		for (unsigned i = 0; i < 32u * 8 / x->bits; i++)
			m->a[r][i] = -m->a[r][i];
}

/*
 * The metadata of a row, four bits for each pair of stored elements (tf32: for each one): two
 * numbers of two bits among the four that they are of; tf32: 4 is the first of two, 14 the second.
 * Of four lanes two count, the selector's choice: each holds 16 bits of row l / 4 in the low half
 * of its register and 16 of the row 8 below in the high one. With elements of 8 bits all four do:
 * the first and third hold 32 bits of row l / 4 each, the others of the row 8 below. (PTX ISA
 * 9.7.15.6, and so does an H100.)
 */
static uint64_t metadata_of(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t, unsigned row)
{
	const uint32_t *reg = t->meta[row / 16] + row % 8 * 4;
	unsigned half = row / 8 % 2;

	if (x->bits == 8)
		return reg[half] | (uint64_t)reg[half + 2] << 32;
	reg += 2 * x->selector;
	return (reg[0] >> 16 * half & 0xffff) | (reg[1] >> 16 * half & 0xffff) << 16;
}

/* Puts the stored elements of each row where they belong; the rest is zero. */
static void spread_a(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t, struct matrices *m)
{
	float v[64];

	for (unsigned r = 0; r < CPU_WGMMA_ROWS; r++) {
		uint64_t bits = metadata_of(x, t, r);
		memset(v, 0, sizeof(v));
		if (x->type_a == PTX_TYPE_TF32) {
			for (unsigned i = 0; i < x->k / 2u; i++)
				v[2 * i + ((bits >> 4 * i & 15) == 14)] = m->a[r][i];
		} else {
			for (unsigned i = 0; i < x->k / 2u; i++)
				v[i / 2 * 4 + (bits >> 2 * i & 3)] = m->a[r][i];
		}
		memcpy(m->a[r], v, sizeof(v));
	}
}

static void decode_b(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t, struct matrices *m)
{
	if (x->is_trans_b)
		decode_transposed(m->b, t->b, x->n, x->k, (enum ptx_type)x->type_b);
	else
		decode_rows(m->b, t->b, x->n, x->units_b, (enum ptx_type)x->type_b);
}

/* ---- products ---------- */

/* Eight lanes of a register. */
typedef float oct __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t oct_bits __attribute__((vector_size(32), aligned(4), may_alias));

#define OCT(p) (*(oct *)(p))

/* A in the lanes' order: [row half][k][32 lanes]. */
static void order_a(const struct cpu_wgmma *x, float (*a)[64], float *out)
{
	for (unsigned h = 0; h < 2; h++)
		for (unsigned k = 0; k < x->k; k++, out += CPU_WARP)
			for (unsigned r = 0; r < 8; r++)
				for (unsigned c = 0; c < 4; c++)
					out[r * 4 + c] = a[h * 8 + r][k];
}

/* B's columns j ... j + 7: [even, odd][k][the four columns, twice]. */
static void order_b(const struct cpu_wgmma *x, float (*b)[64], float *out)
{
	for (unsigned p = 0; p < 2; p++)
		for (unsigned k = 0; k < x->k; k++, out += 8)
			for (unsigned c = 0; c < 4; c++)
				out[c] = out[c + 4] = b[c * 2 + p][k];
}

/* sum[32 lanes] += a row half of A times four columns of B. */
static void multiply_half(unsigned depth, float *a, float *b, float *sum)
{
	oct p = OCT(sum), q = OCT(sum + 8), r = OCT(sum + 16), s = OCT(sum + 24);

	for (unsigned k = 0; k < depth; k++, a += CPU_WARP, b += 8) {
		oct v = OCT(b);
		p += OCT(a) * v;
		q += OCT(a + 8) * v;
		r += OCT(a + 16) * v;
		s += OCT(a + 24) * v;
	}
	OCT(sum) = p;
	OCT(sum + 8) = q;
	OCT(sum + 16) = r;
	OCT(sum + 24) = s;
}

/* The four registers of 8 columns: [row half][even, odd column]. */
struct block {
	float sum[2][2][CPU_WARP];
};

/* Packed halves of row half h: [even, odd column]. */
static void take_halves(const uint32_t *reg, float sum[2][CPU_WARP])
{
	for (unsigned p = 0; p < 2; p++)
		for (unsigned l = 0; l < CPU_WARP; l++)
			sum[p][l] = from_f16(reg[l] >> 16 * p & 0xffff);
}

static void take_sums(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t, unsigned w,
		      unsigned j, struct block *to)
{
	const oct zero = {0};
	bool is_zero = !t->is_added[w] || x->kind != WGMMA_FLOAT;

	for (unsigned h = 0; h < 2; h++) {
		if (!is_zero && x->is_half) {
			take_halves(t->acc[w][j / 4 + h], to->sum[h]);
			continue;
		}
		for (unsigned p = 0; p < 2; p++) {
			const uint32_t *reg = is_zero ? NULL : t->acc[w][j / 2 + 2 * h + p];
			for (unsigned l = 0; l < CPU_WARP; l += 8)
				OCT(&to->sum[h][p][l]) = is_zero ? zero : OCT(reg + l);
		}
	}
}

static int32_t add_int(uint32_t c, float sum, bool is_sat)
{
	int64_t v = (int64_t)(int32_t)c + (int64_t)sum;

	if (is_sat && v != (int32_t)v)
		return v < 0 ? INT32_MIN : INT32_MAX;
	return (int32_t)(c + (uint32_t)(int32_t)sum);
}

/* Without a branch for each, so that compilers make vectors of it: the exponent of NaN and
 * infinity, and no other, overflows into the sign. */
static bool is_finite(const struct block *sums)
{
	const float *v = &sums->sum[0][0][0];
	oct_bits carry = {0};
	uint32_t any = 0;

	for (unsigned i = 0; i < 4 * CPU_WARP; i += 8)
		carry |= (*(const oct_bits *)(v + i) & 0x7f800000) + 0x00800000;
	for (unsigned i = 0; i < 8; i++)
		any |= carry[i];
	return !(any >> 31);
}

/*
 * Sums that f32 can't hold on the way are made once more in double: the hardware's products and
 * sums have more exponents than f32 (bf16, tf32).
 */
static void widen_sums(const struct cpu_wgmma *x, const struct matrices *m,
		       const struct cpu_wgmma_tile *t, unsigned w, unsigned j, struct block *sums)
{
	struct block was;

	if (is_finite(sums))
		return;
	take_sums(x, t, w, j, &was);
	for (unsigned h = 0; h < 2; h++)
		for (unsigned p = 0; p < 2; p++)
			for (unsigned l = 0; l < CPU_WARP; l++) {
				const float *a = m->a[w * 16 + h * 8 + l / 4];
				const float *b = m->b[j + l % 4 * 2 + p];
				double sum = (double)was.sum[h][p][l];
				for (unsigned k = 0; k < x->k; k++)
					sum += (double)a[k] * (double)b[k];
				if ((as_bits(sums->sum[h][p][l]) & 0x7f800000) == 0x7f800000)
					sums->sum[h][p][l] = (float)sum;
			}
}

static void give_sums(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t, unsigned w,
		      unsigned j, const struct block *from)
{
	for (unsigned h = 0; h < 2; h++) {
		const float *even = from->sum[h][0], *odd = from->sum[h][1];
		if (x->is_half) {
			uint32_t *reg = t->acc[w][j / 4 + h];
			for (unsigned l = 0; l < CPU_WARP; l++)
				reg[l] = to_f16((double)even[l]) | to_f16((double)odd[l]) << 16;
			continue;
		}
		for (unsigned p = 0; p < 2; p++) {
			const float *v = p ? odd : even;
			uint32_t *reg = t->acc[w][j / 2 + 2 * h + p];
			if (x->kind == WGMMA_INT)
				for (unsigned l = 0; l < CPU_WARP; l++)
					reg[l] = (uint32_t)add_int(t->is_added[w] ? reg[l] : 0,
								   v[l], x->is_sat);
			else
				for (unsigned l = 0; l < CPU_WARP; l++)
					reg[l] = v[l] == v[l] ? as_bits(v[l]) : 0x7fffffff;
		}
	}
}

static void multiply(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t)
{
	struct matrices m;
	float a[CPU_GROUP_WARPS][2 * 64 * CPU_WARP], b[2 * 64 * 8];
	struct block sums;

	decode_a(x, t, &m);
	if (x->is_sparse)
		spread_a(x, t, &m);
	decode_b(x, t, &m);
	for (unsigned w = 0; w < CPU_GROUP_WARPS; w++)
		order_a(x, m.a + w * 16, a[w]);
	for (unsigned j = 0; j < x->n; j += 8) {
		order_b(x, m.b + j, b);
		for (unsigned w = 0; w < CPU_GROUP_WARPS; w++) {
			take_sums(x, t, w, j, &sums);
			for (unsigned h = 0; h < 2; h++)
				for (unsigned p = 0; p < 2; p++)
					multiply_half(x->k, a[w] + h * x->k * CPU_WARP,
						      b + p * x->k * 8, sums.sum[h][p]);
			widen_sums(x, &m, t, w, j, &sums);
			give_sums(x, t, w, j, &sums);
		}
	}
}

/* .and.popc of rows of 256 bits. */
static void multiply_bits(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t)
{
	uint64_t a[CPU_WGMMA_ROWS][4], b[4];
	uint8_t rows[CPU_WGMMA_ROWS][32];

	if (x->is_a_reg)
		gather_registers(rows, t);
	for (unsigned r = 0; !x->is_a_reg && r < CPU_WGMMA_ROWS; r++)
		for (unsigned u = 0; u < 2; u++)
			memcpy(rows[r] + 16 * u, t->a[r * 2 + u], 16);
	memcpy(a, rows, sizeof(a));
	for (unsigned c = 0; c < x->n; c++) {
		memcpy(b, t->b[c * 2], 16);
		memcpy(b + 2, t->b[c * 2 + 1], 16);
		for (unsigned r = 0; r < CPU_WGMMA_ROWS; r++) {
			unsigned w = r / 16, l = r % 8 * 4 + c % 8 / 2;
			uint32_t *d = &t->acc[w][c / 8 * 4 + r / 8 % 2 * 2 + c % 2][l];
			uint32_t sum = t->is_added[w] ? *d : 0;
			for (unsigned i = 0; i < 4; i++)
				sum += (uint32_t)__builtin_popcountll(a[r][i] & b[i]);
			*d = sum;
		}
	}
}

/* ---- binding ---------- */

static bool is_float(enum ptx_type t)
{
	return t == PTX_TYPE_F16 || t == PTX_TYPE_BF16 || t == PTX_TYPE_TF32 ||
	       t == PTX_TYPE_E4M3 || t == PTX_TYPE_E5M2;
}

/* Types in the order d, a, b: what is multiplied, and how; false: PTX has no such. */
static bool pick(struct cpu_wgmma *x, const struct ptx_form *f)
{
	enum ptx_type d, a, b;

	if (f->ntypes != 3)
		return false;
	d = (enum ptx_type)f->types[0];
	a = (enum ptx_type)f->types[1];
	b = (enum ptx_type)f->types[2];
	x->type_a = (uint8_t)a;
	x->type_b = (uint8_t)b;
	x->bits = a == PTX_TYPE_B1 ? 1 : (uint8_t)(a == PTX_TYPE_TF32 ? 32 : ptx_type_bytes(a) * 8);
	x->multiply = multiply;
	if (is_float(a)) {
		x->kind = WGMMA_FLOAT;
		x->is_half = d == PTX_TYPE_F16;
		if (!is_float(b) || (x->bits != 8 && a != b) ||
		    ptx_type_bytes(a) != ptx_type_bytes(b))
			return false;
		if (x->is_half)
			return a == PTX_TYPE_F16 || x->bits == 8;
		return d == PTX_TYPE_F32;
	}
	if (d != PTX_TYPE_S32)
		return false;
	if (a == PTX_TYPE_B1) {
		x->kind = WGMMA_BITS;
		x->multiply = multiply_bits;
		return b == a && !x->is_sparse && ptx_form_has(f, PTX_MOD_AND) &&
		       ptx_form_has(f, PTX_MOD_POPC);
	}
	x->kind = WGMMA_INT;
	return (a == PTX_TYPE_S8 || a == PTX_TYPE_U8) && (b == PTX_TYPE_S8 || b == PTX_TYPE_U8);
}

/* Registers of a list; false: not as many. */
static bool bind_list(struct cpu_dec *d, const struct ptx_opnd *op, uint32_t *slots, unsigned n)
{
	if (op->kind != PTX_OPND_VEC || op->nsub != n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (op->sub[i].kind != PTX_OPND_REG)
			return false;
		slots[i] = cpu_dec_src(d, &op->sub[i], PTX_TYPE_B32);
		if (slots[i] == CPU_NOSLOT)
			return false;
	}
	return true;
}

/* imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b: which there are depends on the types. */
static const char *bind_scales(struct cpu_wgmma *x, const struct ptx_stmt *s, unsigned at)
{
	unsigned n = x->kind != WGMMA_FLOAT ? 0 : x->bits != 16 ? 2 : x->is_a_reg ? 3 : 4;
	int64_t v[4] = {1, 1, 0, 0};

	if (s->nops != at + n)
		return "number of operands";
	for (unsigned i = 0; i < n; i++) {
		if (s->ops[at + i].kind != PTX_OPND_INT)
			return "a scale or a transposition that is no constant";
		v[i] = s->ops[at + i].imm;
	}
	x->is_negative = (v[0] < 0) != (v[1] < 0);
	x->is_trans_a = n == 4 && v[2];
	x->is_trans_b = n >= 3 && v[n - 1];
	return NULL;
}

static const char *bind_operands(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_wgmma *x)
{
	unsigned at = 3;

	x->is_a_reg = s->ops[1].kind == PTX_OPND_VEC;
	x->nareg = x->is_a_reg ? 4 : 0;
	if (!bind_list(d, &s->ops[0], x->acc, x->naccs))
		return "number of accumulators";
	if (x->is_a_reg ? !bind_list(d, &s->ops[1], x->areg, 4) : s->ops[1].kind != PTX_OPND_REG)
		return "registers of matrix A";
	x->desc_a = x->is_a_reg ? CPU_NOSLOT : cpu_dec_src(d, &s->ops[1], PTX_TYPE_B64);
	x->desc_b = cpu_dec_src(d, &s->ops[2], PTX_TYPE_B64);
	x->meta = CPU_NOSLOT;
	if (x->is_sparse) {
		if (s->nops < 6 || s->ops[4].kind != PTX_OPND_INT || s->ops[4].imm < 0 ||
		    s->ops[4].imm > (x->bits == 8 ? 0 : 1))
			return "the metadata's selector";
		x->meta = cpu_dec_src(d, &s->ops[3], PTX_TYPE_B32);
		x->selector = (uint8_t)s->ops[4].imm;
		at = 5;
	}
	x->scale = cpu_dec_src(d, &s->ops[at], PTX_TYPE_PRED);
	x->is_scale_not = cpu_dec_is_not(&s->ops[at]);
	return bind_scales(x, s, at + 1);
}

static enum cpu_bound bind(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	struct cpu_wgmma *x = cpu_dec_alloc(d, sizeof(*x));
	struct cpu_shape shape;

	x->is_sparse = f->op == PTX_OP_WGMMA_MMA_ASYNC_SP;
	if (f->has_unknown_mod || s->nops < 4 || !cpu_shape_find(f, &shape))
		return cpu_dec_unsupported(d, in, "operands or shape of a warpgroup's product");
	if (!pick(x, f))
		return cpu_dec_unsupported(d, in, "this combination of element types");
	x->n = shape.n;
	x->k = shape.k;
	x->is_sat = ptx_form_has(f, PTX_MOD_SATFINITE);
	bool is_whole = shape.m == CPU_WGMMA_ROWS && shape.n % 8 == 0 && shape.n &&
			shape.n <= CPU_WGMMA_COLS;
	if (!is_whole || shape.k != (x->is_sparse ? 512u : 256u) / x->bits)
		return cpu_dec_unsupported(d, in, "this shape");
	/* Integers and bits have fewer widths (PTX ISA 9.7.15.2). */
	if (x->kind != WGMMA_FLOAT && shape.n % 16 && shape.n != 8 && shape.n != 24)
		return cpu_dec_unsupported(d, in, "this shape");
	x->naccs = (uint16_t)(x->is_half ? x->n / 4 : x->n / 2);
	x->units_a = 2;
	x->units_b = x->is_sparse ? 4 : 2;
	const char *why = bind_operands(d, s, x);
	if (why)
		return cpu_dec_unsupported(d, in, why);
	x->unfenced = dec_unfenced(d);
	in->aux = x;
	in->flags |= CPU_I_MEMORY | CPU_I_GATHER;
	in->gather = CPU_GATHER_ALL;
	in->fn = cpu_wgmma_issue;
	return CPU_BOUND;
}

cpu_binder CPU_BINDER(wgmma);

enum cpu_bound CPU_BINDER(wgmma)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	switch (s->form->op) {
	case PTX_OP_WGMMA_MMA_ASYNC:
	case PTX_OP_WGMMA_MMA_ASYNC_SP:
		return bind(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
