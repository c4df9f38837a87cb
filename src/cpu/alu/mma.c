/*
 * mma.c - mma and wmma.mma: matrix products of a warp.
 *
 * Fragments are gathered into dense matrices by the tables of fragment.c, then
 * multiplied with plain loops over the columns, which become vector code, and
 * scattered again. Products of f16, bf16, tf32 and fp8 are exact in double; the
 * sum, C included, is kept in double and rounded once to f32 or f16 (to
 * nearest). The hardware keeps fewer bits and truncates, so the last bits
 * differ from it. f64 is the sequence of fused multiply-adds in the order of
 * k, as the hardware does; integers are exact, and wrap or saturate at the
 * end (PTX ISA 9.7.14). tf32 ignores the low 13 bits. Sparse forms (mma.sp) put
 * the stored half of A where its metadata say, zeros elsewhere.
 *
 * The kinds of sm_120: elements of 6 and 4 bits lie in bytes, those of 4 in the middle, but packed
 * where both are e2m1 and scaled. Of the lanes of a row (or column) of four, the given one has its
 * scales, the bytes from the given one on (9.7.14.5; CUTLASS's layouts); a scaled element is exact.
 *
 * Registers of lanes that don't
 * exist are used as they are. Costs: 0.5 to 1 us for m16n8k16.
 */
#include "cpu/load/fragment.h"
#include "cpu/alu/fp_small.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

enum mma_kind { MMA_FLOAT, MMA_DOUBLE, MMA_INT, MMA_XOR, MMA_AND };

struct mma {
	struct cpu_frag a, b, c, d;
	struct cpu_shape shape; /* k in elements (b1: words) */
	uint8_t kind;		/* enum mma_kind */
	uint8_t batch;		/* products at the same time */
	bool is_sat;
	bool is_sparse;
	int direction; /* FE_*, of f64 */
	uint8_t selector,
		chunk;	 /* the lanes whose metadata count; elements that four bits are of */
	uint32_t meta;	 /* slot */
	uint8_t nscales; /* of a row of A: 0, 1, 2 or 4 */
	bool is_e8m0;	 /* ..., or e4m3 without a sign */
	struct scales {
		uint32_t reg, byte, lane; /* slots */
	} scales[2];			  /* of A, of B */
};

#define MMA_CELLS (2 * CPU_FRAG_CELLS) /* of a sparse A as it is meant: m16k128 */

/* ---- registers to numbers -------------------------------------------------------- */

/* The i-th element of each lane's word. */
static void decode_floats(float out[CPU_WARP], const uint32_t *reg, unsigned i,
			  const struct cpu_frag *f)
{
	unsigned down = f->bits * i;

	switch (f->type) {
	case PTX_TYPE_F16:
		CPU_LANES(l, UINT32_MAX, out[l] = from_f16(reg[l] >> 16 * i & 0xffff));
		break;
	case PTX_TYPE_BF16:
		CPU_LANES(l, UINT32_MAX, out[l] = as_float(reg[l] >> 16 * i << 16));
		break;
	case PTX_TYPE_TF32:
		CPU_LANES(l, UINT32_MAX, out[l] = as_float(reg[l] & 0xffffe000));
		break;
	case PTX_TYPE_E5M2:
		CPU_LANES(l, UINT32_MAX, out[l] = from_f16((reg[l] >> 8 * i & 0xff) << 8));
		break;
	case PTX_TYPE_E4M3:
		CPU_LANES(l, UINT32_MAX, out[l] = from_e4m3(reg[l] >> 8 * i & 0xff));
		break;
	case PTX_TYPE_E2M3:
		CPU_LANES(l, UINT32_MAX, out[l] = from_small(reg[l] >> down & 63, 2, 3));
		break;
	case PTX_TYPE_E3M2:
		CPU_LANES(l, UINT32_MAX, out[l] = from_small(reg[l] >> down & 63, 3, 2));
		break;
	case PTX_TYPE_E2M1:
		down += f->bits == 8 ? 2 : 0;
		CPU_LANES(l, UINT32_MAX, out[l] = from_small(reg[l] >> down & 15, 2, 1));
		break;
	default: /* F32 */
		CPU_LANES(l, UINT32_MAX, out[l] = as_float(reg[l]));
		break;
	}
}

static void gather_floats(struct cpu_warp *w, const struct cpu_frag *f, double *m)
{
	float v[CPU_WARP];

	for (unsigned r = 0; r < f->nregs; r++) {
		const uint32_t *reg = cpu_u32(w, f->slots[r]);
		for (unsigned i = 0; i < f->per; i++) {
			const uint16_t *pos = f->pos + r * CPU_WARP * f->per + i;
			decode_floats(v, reg, i, f);
			for (unsigned l = 0; l < CPU_WARP; l++)
				m[pos[l * f->per]] = (double)v[l];
		}
	}
}

static void gather_doubles(struct cpu_warp *w, const struct cpu_frag *f, double *m)
{
	for (unsigned r = 0; r < f->nregs; r++)
		for (unsigned l = 0; l < CPU_WARP; l++)
			m[f->pos[r * CPU_WARP + l]] = cpu_f64(w, f->slots[r])[l];
}

/* Words: of b1, 32 elements each; of C and D of integer products, one. */
static void gather_words(struct cpu_warp *w, const struct cpu_frag *f, int32_t *m)
{
	for (unsigned r = 0; r < f->nregs; r++)
		for (unsigned l = 0; l < CPU_WARP; l++)
			m[f->pos[r * CPU_WARP + l]] = (int32_t)cpu_u32(w, f->slots[r])[l];
}

/* Integers of 8 and 4 bits, as floats: their sums stay far below 2^24. */
static void gather_ints(struct cpu_warp *w, const struct cpu_frag *f, float *m)
{
	unsigned down = 32u - f->bits;
	bool is_signed = ptx_type_class((enum ptx_type)f->type) == PTX_CLASS_SINT;
	float v[CPU_WARP];

	for (unsigned r = 0; r < f->nregs; r++) {
		const uint32_t *reg = cpu_u32(w, f->slots[r]);
		for (unsigned i = 0; i < f->per; i++) {
			const uint16_t *pos = f->pos + r * CPU_WARP * f->per + i;
			unsigned up = down - i * f->bits;
			if (is_signed)
				CPU_LANES(l, UINT32_MAX,
					  v[l] = (float)((int32_t)(reg[l] << up) >> down));
			else
				CPU_LANES(l, UINT32_MAX,
					  v[l] = (float)(int32_t)(reg[l] << up >> down));
			for (unsigned l = 0; l < CPU_WARP; l++)
				m[pos[l * f->per]] = v[l];
		}
	}
}

/* ---- numbers to registers ----------------------------------------------------------- */

static void scatter_floats(struct cpu_warp *w, const struct cpu_frag *f, const double *m,
			   uint32_t mask)
{
	uint32_t v[CPU_WARP];

	for (unsigned r = 0; r < f->nregs; r++) {
		const uint16_t *pos = f->pos + r * CPU_WARP * f->per;
		for (unsigned l = 0; l < CPU_WARP; l++) {
			if (f->per == 2) {
				v[l] = to_f16(m[pos[l * 2]]) | to_f16(m[pos[l * 2 + 1]]) << 16;
			} else {
				float s = (float)m[pos[l]];
				v[l] = isnan(s) ? 0x7fffffff : as_bits(s);
			}
		}
		uint32_t *reg = cpu_u32(w, f->slots[r]);
		CPU_LANES(l, mask, reg[l] = v[l]);
	}
}

static void scatter_doubles(struct cpu_warp *w, const struct cpu_frag *f, const double *m,
			    uint32_t mask)
{
	for (unsigned r = 0; r < f->nregs; r++) {
		double *reg = cpu_f64(w, f->slots[r]);
		CPU_EACH_LANE (l, mask)
			reg[l] = m[f->pos[r * CPU_WARP + l]];
	}
}

static void scatter_ints(struct cpu_warp *w, const struct cpu_frag *f, const int32_t *m,
			 uint32_t mask)
{
	for (unsigned r = 0; r < f->nregs; r++) {
		uint32_t *reg = cpu_u32(w, f->slots[r]);
		CPU_EACH_LANE (l, mask)
			reg[l] = (uint32_t)m[f->pos[r * CPU_WARP + l]];
	}
}

/* ---- products: d += a * b, eight columns at a time --------------------------------------- */

/* Four doubles; compilers without AVX split it. */
typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

#define QUAD(p) (*(quad *)(p))

/* Two rows of eight columns at a time: four sums, so that the adder's latency is hidden. */
static void multiply_floats(struct cpu_shape s, const double *a, double *b, double *d)
{
	for (unsigned i = 0; i < s.m; i += 2) {
		const double *a0 = a + i * s.k, *a1 = a0 + s.k;
		for (unsigned j = 0; j < s.n; j += 8) {
			double *d0 = d + i * s.n + j, *d1 = d0 + s.n;
			quad p = QUAD(d0), q = QUAD(d0 + 4), r = QUAD(d1), t = QUAD(d1 + 4);
			for (unsigned k = 0; k < s.k; k++) {
				quad lo = QUAD(b + k * s.n + j), hi = QUAD(b + k * s.n + j + 4);
				p += lo * a0[k];
				q += hi * a0[k];
				r += lo * a1[k];
				t += hi * a1[k];
			}
			QUAD(d0) = p;
			QUAD(d0 + 4) = q;
			QUAD(d1) = r;
			QUAD(d1 + 4) = t;
		}
	}
}

static void multiply_doubles(struct cpu_shape s, const double *restrict a, const double *restrict b,
			     double *restrict d)
{
	for (unsigned i = 0; i < s.m; i++)
		for (unsigned k = 0; k < s.k; k++)
			for (unsigned j = 0; j < s.n; j++)
				d[i * s.n + j] =
					fma(a[i * s.k + k], b[k * s.n + j], d[i * s.n + j]);
}

/* The same, rounded so. What is volatile isn't moved across the changes of direction. */
static void multiply_directed(const struct mma *x, const double *a, const double *b, double *d)
{
	struct cpu_shape s = x->shape;

	fesetround(x->direction);
	for (unsigned i = 0; i < s.m; i++)
		for (unsigned j = 0; j < s.n; j++)
			for (unsigned k = 0; k < s.k; k++) {
				volatile double p = a[i * s.k + k], q = b[k * s.n + j];
				volatile double sum = d[i * s.n + j];
				sum = fma(p, q, sum);
				d[i * s.n + j] = sum;
			}
	fesetround(FE_TONEAREST);
}

static int32_t add_ints(int32_t c, int32_t sum, bool is_sat)
{
	int64_t v = (int64_t)c + sum;

	if (is_sat && v != (int32_t)v)
		return v < 0 ? INT32_MIN : INT32_MAX;
	return (int32_t)((uint32_t)c + (uint32_t)sum);
}

/* Eight floats. */
typedef float oct __attribute__((vector_size(32), aligned(4), may_alias));

#define OCT(p) (*(oct *)(p))

/* Exact: 64 * 255 * 255 is below 2^24. */
static void multiply_ints(const struct mma *x, const float *a, float *b, int32_t *d)
{
	struct cpu_shape s = x->shape;
	float sum[16];

	for (unsigned i = 0; i < s.m; i += 2) {
		const float *a0 = a + i * s.k, *a1 = a0 + s.k;
		for (unsigned j = 0; j < s.n; j += 8) {
			oct p = {0}, q = {0};
			for (unsigned k = 0; k < s.k; k++) {
				oct v = OCT(b + k * s.n + j);
				p += v * a0[k];
				q += v * a1[k];
			}
			OCT(sum) = p;
			OCT(sum + 8) = q;
			for (unsigned c = 0; c < 16; c++) {
				int32_t *to = &d[(i + c / 8) * s.n + j + c % 8];
				*to = add_ints(*to, (int32_t)sum[c], x->is_sat);
			}
		}
	}
}

/* Bits: a word of 32 stands for 32 elements. */
static void multiply_bits(const struct mma *x, const int32_t *a, const int32_t *b, int32_t *d)
{
	struct cpu_shape s = x->shape;

	for (unsigned i = 0; i < s.m; i++) {
		for (unsigned j = 0; j < s.n; j++) {
			int sum = 0;
			for (unsigned k = 0; k < s.k; k++) {
				uint32_t p = (uint32_t)a[i * s.k + k];
				uint32_t q = (uint32_t)b[k * s.n + j];
				sum += __builtin_popcount(x->kind == MMA_XOR ? p ^ q : p & q);
			}
			d[i * s.n + j] = add_ints(d[i * s.n + j], sum, x->is_sat);
		}
	}
}

/* ---- sparse A -------------------------------------------------------------------------------- */

/*
 * The metadata of a row, four bits for each chunk of its elements. Of four lanes one, two or all
 * count, by the length of a row: one or two hold 16 bits of row l / 4 in the low half of the
 * register and 16 of the row 8 below in the high one; elements of 8 and 4 bits have 32 bits of one
 * row in a register, first of row l / 4, then of the row 8 below.
 */
static uint64_t metadata_of(const struct mma *x, const uint32_t *meta, unsigned row)
{
	const uint32_t *reg = meta + row % 8 * 4;
	unsigned half = row / 8 % 2, chunks = x->shape.k / x->chunk;

	if (chunks == 16)
		return reg[half] | (uint64_t)reg[half + 2] << 32;
	if (chunks == 4)
		return reg[x->selector] >> 16 * half & 0xffff;
	reg += 2 * x->selector;
	if (x->a.bits <= 8)
		return reg[half];
	return (reg[0] >> 16 * half & 0xffff) | (reg[1] >> 16 * half & 0xffff) << 16;
}

/* The stored elements, k / 2 a row, where they belong: `size` bytes each; the rest is zero. */
static void spread(const struct mma *x, struct cpu_warp *w, const void *stored, void *a,
		   size_t size)
{
	unsigned half = x->shape.k / 2, each = x->chunk / 4; /* elements that two bits place */

	memset(a, 0, (size_t)x->shape.m * x->shape.k * size);
	for (unsigned r = 0; r < x->shape.m; r++) {
		uint64_t bits = metadata_of(x, cpu_u32(w, x->meta), r);
		for (unsigned i = 0; i < half; i++) {
			unsigned to =
				x->chunk == 2
					? 2 * i + ((bits >> 4 * i & 15) == 14)
					: i / (2 * each) * x->chunk +
						  (unsigned)(bits >> 2 * (i / each) & 3) * each +
						  i % each;
			memcpy((char *)a + (r * 2 * half + to) * size,
			       (const char *)stored + (r * half + i) * size, size);
		}
	}
}

/* ---- scales ---------------------------------------------------------------------------------- */

static double scale_of(const struct mma *x, uint32_t byte)
{
	if (!x->is_e8m0)
		return (double)from_e4m3(byte & 0x7f);
	return byte == 0xff ? (double)NAN : ldexp(1, (int)byte - 127);
}

/* Multiplies the elements of a row of A, or a column of B, by the scale of their part of k. */
static void scale(struct cpu_warp *w, const struct mma *x, unsigned which, double *m)
{
	const struct scales *s = &x->scales[which];
	const uint32_t *reg = cpu_u32(w, s->reg);
	unsigned byte = *cpu_u16(w, s->byte) & 3u, lane = *cpu_u16(w, s->lane) & 3u;
	unsigned n = which ? x->shape.n : x->shape.m, k = x->shape.k, each = k / x->nscales;

	for (unsigned r = 0; r < n; r++) {
		/* Two lanes of a row of four have the scales of two rows of A. */
		unsigned from = which ? 4 * r + lane : r % 8 * 4 + (2 * lane + r / 8) % 4;
		for (unsigned i = 0; i < x->nscales; i++) {
			double v = scale_of(x, reg[from] >> 8 * ((byte + i) % 4) & 0xff);
			for (unsigned at = i * each; at < (i + 1) * each; at++)
				m[which ? at * n + r : r * k + at] *= v;
		}
	}
}

/* ---- instructions -------------------------------------------------------------------------- */

static enum cpu_step exec_float(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mma *x = in->aux;
	struct cpu_shape s = x->shape;
	double a[MMA_CELLS], b[CPU_FRAG_CELLS], d[CPU_FRAG_CELLS], stored[CPU_FRAG_CELLS];

	gather_floats(w, &x->a, x->is_sparse ? stored : a);
	if (x->is_sparse)
		spread(x, w, stored, a, sizeof(*a));
	gather_floats(w, &x->b, b);
	gather_floats(w, &x->c, d);
	if (x->nscales) {
		scale(w, x, 0, a);
		scale(w, x, 1, b);
	}
	for (unsigned i = 0; i < x->batch; i++)
		multiply_floats(s, a + i * s.m * s.k, b + i * s.k * s.n, d + i * s.m * s.n);
	scatter_floats(w, &x->d, d, mask);
	return CPU_OK;
}

static enum cpu_step exec_double(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mma *x = in->aux;
	double a[CPU_FRAG_CELLS], b[CPU_FRAG_CELLS], d[CPU_FRAG_CELLS];

	gather_doubles(w, &x->a, a);
	gather_doubles(w, &x->b, b);
	gather_doubles(w, &x->c, d);
	if (x->direction == FE_TONEAREST)
		multiply_doubles(x->shape, a, b, d);
	else
		multiply_directed(x, a, b, d);
	scatter_doubles(w, &x->d, d, mask);
	return CPU_OK;
}

static enum cpu_step exec_int(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mma *x = in->aux;
	float a[MMA_CELLS], b[CPU_FRAG_CELLS], stored[CPU_FRAG_CELLS];
	int32_t d[CPU_FRAG_CELLS];

	gather_ints(w, &x->a, x->is_sparse ? stored : a);
	if (x->is_sparse)
		spread(x, w, stored, a, sizeof(*a));
	gather_ints(w, &x->b, b);
	gather_words(w, &x->c, d);
	multiply_ints(x, a, b, d);
	scatter_ints(w, &x->d, d, mask);
	return CPU_OK;
}

static enum cpu_step exec_bits(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct mma *x = in->aux;
	int32_t a[CPU_FRAG_CELLS], b[CPU_FRAG_CELLS], d[CPU_FRAG_CELLS];

	gather_words(w, &x->a, a);
	gather_words(w, &x->b, b);
	gather_words(w, &x->c, d);
	multiply_bits(x, a, b, d);
	scatter_ints(w, &x->d, d, mask);
	return CPU_OK;
}

/* ---- binding --------------------------------------------------------------------------------- */

static int direction_of(const struct ptx_form *f)
{
	return ptx_form_has(f, PTX_MOD_RZ)   ? FE_TOWARDZERO
	       : ptx_form_has(f, PTX_MOD_RM) ? FE_DOWNWARD
	       : ptx_form_has(f, PTX_MOD_RP) ? FE_UPWARD
					     : FE_TONEAREST;
}

static bool is_small_float(enum ptx_type t)
{
	return t == PTX_TYPE_F16 || t == PTX_TYPE_BF16 || t == PTX_TYPE_TF32 ||
	       t == PTX_TYPE_E4M3 || t == PTX_TYPE_E5M2;
}

/* Of the kinds of sm_120. */
static bool is_tiny_float(enum ptx_type t)
{
	return t == PTX_TYPE_E4M3 || t == PTX_TYPE_E5M2 || t == PTX_TYPE_E2M3 ||
	       t == PTX_TYPE_E3M2 || t == PTX_TYPE_E2M1;
}

static bool has_bytes(const struct ptx_form *f)
{
	return ptx_form_has(f, PTX_MOD_KIND_F8F6F4) || ptx_form_has(f, PTX_MOD_KIND_MXF8F6F4);
}

static bool has_fours(const struct ptx_form *f)
{
	return ptx_form_has(f, PTX_MOD_KIND_MXF4) || ptx_form_has(f, PTX_MOD_KIND_MXF4NVF4);
}

static bool is_small_int(enum ptx_type t)
{
	return t == PTX_TYPE_S8 || t == PTX_TYPE_U8 || t == PTX_TYPE_S4 || t == PTX_TYPE_U4;
}

static bool is_sum(enum ptx_type t)
{
	return t == PTX_TYPE_F16 || t == PTX_TYPE_F32;
}

/* The function for the four types, in the order d, a, b, c; false: PTX has no such. */
static bool pick(struct mma *x, struct cpu_inst *in, const enum ptx_type t[4],
		 const struct ptx_form *f)
{
	in->fn = exec_int;
	if (t[1] == PTX_TYPE_F64) {
		x->kind = MMA_DOUBLE;
		in->fn = exec_double;
		return t[0] == t[1] && t[2] == t[1] && t[3] == t[1];
	}
	if (has_bytes(f) || has_fours(f)) {
		bool has_types = has_bytes(f) ? is_tiny_float(t[1]) && is_tiny_float(t[2])
					      : t[1] == PTX_TYPE_E2M1 && t[2] == t[1];
		x->kind = MMA_FLOAT;
		in->fn = exec_float;
		return has_types && is_sum(t[0]) && is_sum(t[3]);
	}
	if (is_small_float(t[1])) {
		x->kind = MMA_FLOAT;
		in->fn = exec_float;
		return is_small_float(t[2]) && ptx_type_bytes(t[1]) == ptx_type_bytes(t[2]) &&
		       is_sum(t[0]) && is_sum(t[3]);
	}
	if (t[0] != PTX_TYPE_S32 || t[3] != PTX_TYPE_S32)
		return false;
	if (t[1] == PTX_TYPE_B1) {
		in->fn = exec_bits;
		x->kind = ptx_form_has(f, PTX_MOD_XOR) ? MMA_XOR : MMA_AND;
		return t[2] == t[1] && ptx_form_has(f, PTX_MOD_POPC) &&
		       (x->kind == MMA_XOR || ptx_form_has(f, PTX_MOD_AND));
	}
	x->kind = MMA_INT;
	return is_small_int(t[1]) && is_small_int(t[2]);
}

/* The metadata and their selector, operands 4 and 5; what is wrong, or NULL. */
static const char *bind_sparse(struct cpu_dec *d, const struct ptx_stmt *s, struct mma *x,
			       enum ptx_type a)
{
	static const uint8_t most[] = {[1] = 4, [2] = 2, [4] = 1}; /* selectors, by lanes */
	unsigned bits = has_bytes(s->form) ? 8 : ptx_type_bytes(a) * 8, chunks, lanes;

	if (a == PTX_TYPE_S4 || a == PTX_TYPE_U4 || has_fours(s->form))
		bits = 4;
	x->is_sparse = true;
	x->chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
	chunks = x->shape.k / x->chunk;
	lanes = chunks / 4;
	if (x->shape.m != 16 || x->shape.n != 8 || (lanes != 1 && lanes != 2 && lanes != 4))
		return "this shape";
	if (s->ops[5].kind != PTX_OPND_INT || s->ops[5].imm < 0 || s->ops[5].imm >= most[lanes])
		return "the metadata's selector";
	x->selector = (uint8_t)s->ops[5].imm;
	x->meta = cpu_dec_src(d, &s->ops[4], PTX_TYPE_B32);
	return NULL;
}

/* From the given operand on: registers with scales, which bytes of which lanes; what is wrong, or
 * NULL. */
static const char *bind_scales(struct cpu_dec *d, const struct ptx_stmt *s, struct mma *x,
			       unsigned at)
{
	const struct ptx_form *f = s->form;

	x->nscales = ptx_form_has(f, PTX_MOD_SCALE_VEC_4X)   ? 4
		     : ptx_form_has(f, PTX_MOD_SCALE_VEC_2X) ? 2
		     : has_fours(f)			     ? 2
							     : 1;
	/* A fifth type isn't kept in the form. */
	x->is_e8m0 = f->text.n > 5 && !memcmp(f->text.p + f->text.n - 5, "ue8m0", 5);
	for (unsigned i = 0; i < 2; i++) {
		const struct ptx_opnd *r = &s->ops[at + 2 * i], *which = r + 1;
		if (r->kind == PTX_OPND_VEC && r->nsub == 1)
			r = r->sub;
		if (which->kind != PTX_OPND_VEC || which->nsub != 2)
			return "operands of a scaled product";
		x->scales[i] = (struct scales){cpu_dec_src(d, r, PTX_TYPE_B32),
					       cpu_dec_src(d, &which->sub[0], PTX_TYPE_B16),
					       cpu_dec_src(d, &which->sub[1], PTX_TYPE_B16)};
	}
	return NULL;
}

/* Is the i-th of the two layouts (of A, of B) .col? */
static bool is_col(const struct ptx_form *f, unsigned which)
{
	for (unsigned i = 0; i < f->nmods; i++)
		if (f->mods[i] == PTX_MOD_ROW || f->mods[i] == PTX_MOD_COL)
			if (which-- == 0)
				return f->mods[i] == PTX_MOD_COL;
	return false;
}

static enum cpu_bound bind(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	struct mma *x = cpu_dec_alloc(d, sizeof(*x));
	enum ptx_type t[4] = {PTX_TYPE_NONE};
	const char *why = NULL;
	bool is_scaled = ptx_form_has(f, PTX_MOD_BLOCK_SCALE);

	if (f->has_unknown_mod)
		return cpu_dec_unsupported(d, in, "an unknown modifier");
	if (s->nops != 4u + (f->op == PTX_OP_MMA_SP ? 2 : 0) + (is_scaled ? 4 : 0) ||
	    !cpu_shape_find(f, &x->shape))
		return cpu_dec_unsupported(d, in, "operands or shape of a matrix product");
	for (unsigned i = 0; i < 4 && i < f->ntypes; i++)
		t[i] = (enum ptx_type)f->types[i];
	if (f->ntypes == 2) { /* wmma with f16: of d and c */
		t[3] = t[1];
		t[1] = t[2] = PTX_TYPE_F16;
	}
	x->direction = direction_of(f);
	if (!pick(x, in, t, f) || (x->direction != FE_TONEAREST && x->kind != MMA_DOUBLE))
		return cpu_dec_unsupported(d, in, "this combination of element types");
	bool is_quad = f->op == PTX_OP_MMA && t[1] == PTX_TYPE_F16 && x->shape.m == 8;
	x->batch = is_quad ? 4 : 1;
	x->is_sat = ptx_form_has(f, PTX_MOD_SATFINITE) && x->kind != MMA_FLOAT;
	if (x->shape.m > 32 || x->shape.n > 32 || x->shape.k > 256)
		return cpu_dec_unsupported(d, in, "this shape");
	if (f->op == PTX_OP_MMA_SP)
		why = bind_sparse(d, s, x, t[1]);
	if (!why && is_scaled)
		why = bind_scales(d, s, x, f->op == PTX_OP_MMA_SP ? 6 : 4);
	struct cpu_frag *frag[4] = {&x->a, &x->b, &x->c, &x->d};
	for (unsigned i = 0; i < 4 && !why; i++) {
		unsigned at = (i + 1) % 4; /* the operands are d, a, b, c */
		struct cpu_frag_kind kind = {.use = (enum cpu_frag_use)i,
					     .shape = x->shape,
					     .type = t[at],
					     .is_quad = is_quad,
					     .is_col = i < 2 && is_col(f, i),
					     .is_byte = i < 2 && has_bytes(f)};
		if (i == 0 && x->is_sparse)
			kind.shape.k /= 2;
		why = cpu_frag_bind(d, frag[i], &s->ops[at], &kind);
	}
	if (why)
		return cpu_dec_unsupported(d, in, why);
	if (t[1] == PTX_TYPE_B1)
		x->shape.k /= 32;
	in->aux = x;
	in->flags |= CPU_I_GATHER;
	in->gather = 0xff;
	return CPU_BOUND;
}

cpu_binder CPU_BINDER(mma);

enum cpu_bound CPU_BINDER(mma)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	switch (s->form->op) {
	case PTX_OP_MMA:
	case PTX_OP_MMA_SP:
	case PTX_OP_WMMA_MMA:
		return bind(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
