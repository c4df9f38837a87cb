/*
 * half.c - f16, bf16, f16x2, bf16x2: arithmetic, min, max, set, setp; mixed precision to f32.
 *
 * All 32 (packed: 64) elements become floats, one vector loop computes, the results are rounded
 * once more and the lanes of the mask are written. Two roundings give the same result as one: a
 * product's 16 or 22 bits fit a float (unless they end below 2^-149, then it rounds to 0 or 2^-133
 * both ways), sums and differences have more than twice the bits (Figueroa); fma is rounded to odd
 * first. .oob: where an operand of the product is the marker that copies fill in out of bounds, the
 * result is zero. ex2 and tanh are within the bounds of PTX ISA 9.7.4. Costs about 30 ns a warp.
 */
#include "cpu/alu/fp_math.h"

cpu_binder CPU_BINDER(half);

#define HALF_MAX 64u /* elements of a warp, packed */

struct half_op;
typedef void half_fn(const struct half_op *h, const float *restrict a, const float *restrict b,
		     const float *restrict c, float *restrict r);

/* What an instruction does, in in->aux. */
struct half_op {
	half_fn *fn;
	uint8_t n, nsrc; /* elements, operands */
	bool is_bf16, ftz, sat, relu, is_oob, is_max, is_nan, is_xor;
	/* set, setp */
	uint8_t relations; /* REL_* for which the comparison holds */
	uint8_t combine;   /* COMBINE_* */
	bool is_not;	   /* the third operand is negated */
	uint8_t result;	   /* enum ptx_type of set */
	enum ptx_type stype;
	/* mixed precision */
	enum fp_arith kind;
	int direction;
};

/* ---- operations on arrays -------------------------------------------------------------- */

#define HALF_FN(name, expr)                                                                        \
	static void name(const struct half_op *h, const float *restrict a,                         \
			 const float *restrict b, const float *restrict c, float *restrict r)      \
	{                                                                                          \
		(void)b, (void)c;                                                                  \
		for (unsigned i = 0; i < h->n; i++)                                                \
			r[i] = (expr);                                                             \
	}

/* Exact with round to odd: all that lies between 2^-48 and 2^33 fits floats' exponents. */
static inline float fma_half(float a, float b, float c)
{
	float p = a * b, s = p + c, t = s - p;
	float e = (p - (s - t)) + (c - t);

	return fp_odd32(s, e);
}

HALF_FN(half_add, a[i] + b[i])
HALF_FN(half_sub, a[i] - b[i])
HALF_FN(half_mul, a[i] * b[i])
HALF_FN(half_fma, fma_half(a[i], b[i], c[i]))
HALF_FN(half_fma_bf16, fp_narrow_odd(fp_fma_odd(a[i], b[i], c[i])))
HALF_FN(half_abs, fp_f32(fp_b32(a[i]) & 0x7fffffffu))
HALF_FN(half_neg, fp_f32(fp_b32(a[i]) ^ 0x80000000u))
HALF_FN(half_ex2, (float)fp_exp2_64((double)a[i]))
HALF_FN(half_tanh, (float)fp_tanh((double)a[i]))

static void half_minmax(const struct half_op *h, const float *restrict a, const float *restrict b,
			const float *restrict c, float *restrict r)
{
	uint32_t keep = h->is_xor ? 0x7fffffffu : UINT32_MAX;

	(void)c;
	for (unsigned i = 0; i < h->n; i++) {
		uint32_t x = fp_b32(a[i]), y = fp_b32(b[i]);
		uint32_t u = fp_minmax32(x & keep, y & keep, h->is_max, h->is_nan);

		r[i] = fp_f32(h->is_xor ? u | ((x ^ y) & 0x80000000u) : u);
	}
}

/* ---- the common handler ------------------------------------------------------------------ */

/* Below the smallest normal number of the format (2^-14, 2^-126) a value becomes zero. */
static void half_flush(float *f, unsigned n, bool is_bf16)
{
	uint32_t least = is_bf16 ? 0x00800000u : 0x38800000u;

	for (unsigned i = 0; i < n; i++) {
		uint32_t u = fp_b32(f[i]);

		f[i] = fp_f32((u & 0x7fffffffu) < least ? u & 0x80000000u : u);
	}
}

static void half_load(struct cpu_warp *w, uint32_t slot, const struct half_op *h, float *f)
{
	if (h->is_bf16)
		fp_from_bf16(cpu_u16(w, slot), f, h->n);
	else
		fp_from_half(cpu_u16(w, slot), f, h->n);
	if (h->ftz)
		half_flush(f, h->n, h->is_bf16);
}

static void half_store(struct cpu_warp *w, uint32_t slot, const struct half_op *h, float *f,
		       uint32_t mask)
{
	uint16_t out[HALF_MAX];

	if (h->sat)
		for (unsigned i = 0; i < h->n; i++) {
			float x = f[i] > 0.0f ? f[i] : 0.0f;

			f[i] = x < 1.0f ? x : 1.0f;
		}
	if (h->relu)
		for (unsigned i = 0; i < h->n; i++)
			f[i] = f[i] > 0.0f || f[i] != f[i] ? f[i] : 0.0f;
	if (h->is_bf16)
		fp_to_bf16(f, out, h->n);
	else
		fp_to_half(f, out, h->n);
	if (h->ftz) {
		uint16_t exponent = h->is_bf16 ? 0x7f80 : 0x7c00;

		for (unsigned i = 0; i < h->n; i++)
			out[i] = out[i] & exponent ? out[i] : out[i] & 0x8000u;
	}
	uint16_t *d = cpu_u16(w, slot);

	if (h->n == CPU_WARP) {
		CPU_LANES(l, mask, d[l] = out[l]);
	} else {
		CPU_LANES(l, mask, {
			d[2 * l] = out[2 * l];
			d[2 * l + 1] = out[2 * l + 1];
		});
	}
}

/* PTX ISA gives no value. Of all 65,536 an H100 recognises these bits, with either sign, in a or b,
 * for f16 and for bf16. */
#define HALF_OOB_NAN 0x7ff7u

static void half_zero_oob(struct cpu_warp *w, const struct cpu_inst *in, unsigned n, float *r)
{
	const uint16_t *a = cpu_u16(w, in->src[0]), *b = cpu_u16(w, in->src[1]);

	for (unsigned i = 0; i < n; i++)
		if ((a[i] & 0x7fffu) == HALF_OOB_NAN || (b[i] & 0x7fffu) == HALF_OOB_NAN)
			r[i] = 0.0f;
}

static enum cpu_step half_exec(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct half_op *h = (const struct half_op *)in->aux;
	float x[3][HALF_MAX], r[HALF_MAX];

	for (unsigned k = 0; k < h->nsrc; k++)
		half_load(w, in->src[k], h, x[k]);
	h->fn(h, x[0], x[1], x[2], r);
	if (h->is_oob)
		half_zero_oob(w, in, h->n, r);
	half_store(w, in->dst[0], h, r, mask);
	return CPU_OK;
}

/* Mixed precision: operands 0 and 1 (of add and sub: 0) are half, the others and the result f32. */
static enum cpu_step half_mixed(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct half_op *h = (const struct half_op *)in->aux;
	float x[3][CPU_WARP] = {{0}}, r[CPU_WARP];
	unsigned last = h->nsrc - 1u;

	for (unsigned k = 0; k < last; k++)
		half_load(w, in->src[k], h, x[k]);
	for (unsigned l = 0; l < CPU_WARP; l++)
		x[last][l] = fp_f32(cpu_u32(w, in->src[last])[l]);
	fp_directed32(h->kind, h->direction, x[0], x[1], x[2], r);
	uint32_t *d = cpu_u32(w, in->dst[0]);

	FP_LANES(l, mask, uint32_t, d, fp_out32(r[l], false, h->sat));
	return CPU_OK;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

enum { REL_LT = 1, REL_EQ = 2, REL_GT = 4, REL_UN = 8 };
enum { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR };

static const struct relation {
	uint16_t mod;
	uint8_t relations;
} half_relations[] = {
	{PTX_MOD_EQ, REL_EQ},
	{PTX_MOD_NE, REL_LT | REL_GT},
	{PTX_MOD_LT, REL_LT},
	{PTX_MOD_LE, REL_LT | REL_EQ},
	{PTX_MOD_GT, REL_GT},
	{PTX_MOD_GE, REL_GT | REL_EQ},
	{PTX_MOD_EQU, REL_EQ | REL_UN},
	{PTX_MOD_NEU, REL_LT | REL_GT | REL_UN},
	{PTX_MOD_LTU, REL_LT | REL_UN},
	{PTX_MOD_LEU, REL_LT | REL_EQ | REL_UN},
	{PTX_MOD_GTU, REL_GT | REL_UN},
	{PTX_MOD_GEU, REL_GT | REL_EQ | REL_UN},
	{PTX_MOD_NUM, REL_LT | REL_EQ | REL_GT},
	{PTX_MOD_NAN, REL_UN},
	/* of unsigned integers, in set.f16.u32 */
	{PTX_MOD_LO, REL_LT},
	{PTX_MOD_LS, REL_LT | REL_EQ},
	{PTX_MOD_HI, REL_GT},
	{PTX_MOD_HS, REL_GT | REL_EQ},
};

/* A bit per element for which one of the relations holds. */
static uint64_t half_compare(const float *a, const float *b, unsigned n, uint8_t relations)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned r = a[i] < b[i] ? REL_LT : a[i] > b[i] ? REL_GT : REL_UN;

		r = a[i] == b[i] ? REL_EQ : r;
		bits |= (uint64_t)((r & relations) != 0) << i;
	}
	return bits;
}

/* The same for the other types that set.f16 and set.bf16 compare. */
static uint32_t wide_compare(struct cpu_warp *w, const struct cpu_inst *in, const struct half_op *h)
{
	unsigned bytes = ptx_type_bytes(h->stype), shift = 64 - 8 * bytes;
	bool is_signed = ptx_type_class(h->stype) == PTX_CLASS_SINT;
	uint32_t bits = 0;

	for (unsigned l = 0; l < CPU_WARP; l++) {
		uint64_t v[2];
		unsigned r;

		for (unsigned k = 0; k < 2; k++)
			v[k] = bytes == 8   ? cpu_u64(w, in->src[k])[l]
			       : bytes == 4 ? cpu_u32(w, in->src[k])[l]
					    : cpu_u16(w, in->src[k])[l];
		if (ptx_type_class(h->stype) == PTX_CLASS_FLOAT) {
			double a =
				bytes == 8 ? fp_f64(v[0]) : (double)fp_in32((uint32_t)v[0], h->ftz);
			double b =
				bytes == 8 ? fp_f64(v[1]) : (double)fp_in32((uint32_t)v[1], h->ftz);
			r = a < b ? REL_LT : a > b ? REL_GT : a == b ? REL_EQ : REL_UN;
		} else {
			uint64_t flip = is_signed ? 1ull << 63 : 0;
			uint64_t a = (v[0] << shift) ^ flip, b = (v[1] << shift) ^ flip;
			r = a < b ? REL_LT : a > b ? REL_GT : REL_EQ;
		}
		bits |= (uint32_t)((r & h->relations) != 0) << l;
	}
	return bits;
}

static uint32_t half_combine(struct cpu_warp *w, const struct cpu_inst *in, const struct half_op *h,
			     uint32_t bits)
{
	if (h->combine == COMBINE_NONE)
		return bits;
	uint32_t c = *cpu_pred(w, in->src[2]) ^ (h->is_not ? UINT32_MAX : 0);

	return h->combine == COMBINE_AND  ? bits & c
	       : h->combine == COMBINE_OR ? bits | c
					  : bits ^ c;
}

/* The comparison of all lanes: [0] of the element or the lower one, [1] of the upper one. */
static void half_relate(struct cpu_warp *w, const struct cpu_inst *in, const struct half_op *h,
			uint32_t bits[2])
{
	float x[2][HALF_MAX];

	bits[0] = bits[1] = 0;
	if (!fp_is_half(h->stype)) {
		bits[0] = wide_compare(w, in, h);
		return;
	}
	half_load(w, in->src[0], h, x[0]);
	half_load(w, in->src[1], h, x[1]);
	uint64_t all = half_compare(x[0], x[1], h->n, h->relations);

	if (h->n == CPU_WARP) {
		bits[0] = (uint32_t)all;
		return;
	}
	for (unsigned l = 0; l < CPU_WARP; l++) {
		bits[0] |= (uint32_t)(all >> 2 * l & 1u) << l;
		bits[1] |= (uint32_t)(all >> (2 * l + 1) & 1u) << l;
	}
}

/* Packed: p of the lower elements, q of the upper ones. Otherwise q is the comparison that
 * failed. */
static enum cpu_step half_setp(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct half_op *h = (const struct half_op *)in->aux;
	uint32_t bits[2];

	half_relate(w, in, h, bits);
	uint32_t p = half_combine(w, in, h, bits[0]);
	uint32_t q = half_combine(w, in, h, h->n == CPU_WARP ? ~bits[0] : bits[1]);

	cpu_set_pred(w, in->dst[0], p, mask);
	cpu_set_pred(w, in->dst[1], q, mask);
	return CPU_OK;
}

/* True is 1.0 of a float type, all ones of an integer type (of each half for packed operands). */
static enum cpu_step half_set(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct half_op *h = (const struct half_op *)in->aux;
	enum ptx_type t = (enum ptx_type)h->result;
	uint32_t one = fp_is_half(t) ? fp_is_bf16(t) ? 0x3f80u : 0x3c00u : 0xffffu;
	uint32_t bits[2];

	if (t == PTX_TYPE_F32)
		one = 0x3f800000u;
	half_relate(w, in, h, bits);
	bits[0] = half_combine(w, in, h, bits[0]);
	bits[1] = half_combine(w, in, h, bits[1]);
	if (ptx_type_bytes(t) == 2) {
		CPU_EACH_LANE (l, mask)
			cpu_u16(w, in->dst[0])[l] = (uint16_t)(bits[0] >> l & 1u ? one : 0);
		return CPU_OK;
	}
	if (h->n == CPU_WARP && one == 0xffffu)
		one = UINT32_MAX;
	CPU_EACH_LANE (l, mask) {
		uint32_t v = bits[0] >> l & 1u ? one : 0;

		if (h->n > CPU_WARP)
			v |= bits[1] >> l & 1u ? one << 16 : 0;
		cpu_u32(w, in->dst[0])[l] = v;
	}
	return CPU_OK;
}

/* ---- the binder ------------------------------------------------------------------------------ */

static struct half_op *half_new(struct cpu_dec *d, const struct ptx_form *f, enum ptx_type t)
{
	struct half_op *h = (struct half_op *)cpu_dec_alloc(d, sizeof(*h));

	h->n = fp_is_x2(t) ? HALF_MAX : CPU_WARP;
	h->is_bf16 = fp_is_bf16(t);
	h->ftz = ptx_form_has(f, PTX_MOD_FTZ);
	h->sat = ptx_form_has(f, PTX_MOD_SAT);
	h->relu = ptx_form_has(f, PTX_MOD_RELU);
	h->is_oob = ptx_form_has(f, PTX_MOD_OOB);
	h->is_nan = ptx_form_has(f, PTX_MOD_NAN_PROP);
	h->is_xor = ptx_form_has(f, PTX_MOD_XORSIGN);
	h->is_max = f->op == PTX_OP_MAX;
	h->stype = t;
	return h;
}

static const struct half_row {
	enum ptx_op op;
	uint8_t nsrc;
	half_fn *f16, *bf16;
} half_rows[] = {
	{PTX_OP_ADD, 2, half_add, half_add},	   {PTX_OP_SUB, 2, half_sub, half_sub},
	{PTX_OP_MUL, 2, half_mul, half_mul},	   {PTX_OP_FMA, 3, half_fma, half_fma_bf16},
	{PTX_OP_ABS, 1, half_abs, half_abs},	   {PTX_OP_NEG, 1, half_neg, half_neg},
	{PTX_OP_MIN, 2, half_minmax, half_minmax}, {PTX_OP_MAX, 2, half_minmax, half_minmax},
	{PTX_OP_EX2, 1, half_ex2, half_ex2},	   {PTX_OP_TANH, 1, half_tanh, half_tanh},
};

/* add, sub, fma with a result of f32 and operands of half precision (PTX ISA 9.7.5). */
static enum cpu_bound bind_mixed(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = (enum ptx_type)f->types[1];
	struct half_op *h = half_new(d, f, t);

	h->kind = f->op == PTX_OP_ADD ? FP_ADD : f->op == PTX_OP_SUB ? FP_SUB : FP_FMA;
	h->nsrc = h->kind == FP_FMA ? 3 : 2;
	h->direction = fp_direction(f);
	if (s->nops != h->nsrc + 1 || fp_is_x2(t) ||
	    !FP_ONLY(f, PTX_MOD_RN, PTX_MOD_RZ, PTX_MOD_RM, PTX_MOD_RP, PTX_MOD_SAT))
		return cpu_dec_unsupported(d, in, "mixed precision");
	for (unsigned i = 0; i < h->nsrc; i++)
		in->src[i] = cpu_dec_src(d, &s->ops[i + 1], i + 1 < h->nsrc ? t : PTX_TYPE_F32);
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	in->aux = h;
	in->fn = half_mixed;
	return CPU_BOUND;
}

static enum cpu_bound bind_compare(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_set = f->op == PTX_OP_SET;
	enum ptx_type t = (enum ptx_type)f->types[is_set];
	struct half_op *h = half_new(d, f, t);
	const struct ptx_opnd *dst = &s->ops[0];

	for (unsigned i = 0; i < BASE_COUNTOF(half_relations); i++)
		if (ptx_form_has(f, (enum ptx_mod)half_relations[i].mod))
			h->relations = half_relations[i].relations;
	h->combine = ptx_form_has(f, PTX_MOD_AND)   ? COMBINE_AND
		     : ptx_form_has(f, PTX_MOD_OR)  ? COMBINE_OR
		     : ptx_form_has(f, PTX_MOD_XOR) ? COMBINE_XOR
						    : COMBINE_NONE;
	if (!h->relations || s->nops != (h->combine ? 4 : 3) || f->has_unknown_mod)
		return cpu_dec_unsupported(d, in, "comparison");
	for (unsigned i = 0; i < 2; i++)
		in->src[i] = cpu_dec_src(d, &s->ops[i + 1], t);
	if (h->combine) {
		in->src[2] = cpu_dec_src(d, &s->ops[3], PTX_TYPE_PRED);
		h->is_not = cpu_dec_is_not(&s->ops[3]);
	}
	in->aux = h;
	in->dst[1] = CPU_NOSLOT;
	if (is_set) {
		h->result = f->types[0];
		if (ptx_type_bytes((enum ptx_type)h->result) > 4)
			return cpu_dec_unsupported(d, in, "type of set");
		in->dst[0] = cpu_dec_dst(d, dst);
		in->fn = half_set;
		return CPU_BOUND;
	}
	if (dst->kind == PTX_OPND_PAIR) {
		in->dst[1] = cpu_dec_dst(d, &dst->sub[1]);
		dst = &dst->sub[0];
	}
	in->dst[0] = cpu_dec_dst(d, dst);
	in->fn = half_setp;
	return CPU_BOUND;
}

enum cpu_bound CPU_BINDER(half)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = f->ntypes ? (enum ptx_type)f->types[0] : PTX_TYPE_NONE;
	enum ptx_type last = f->ntypes > 1 ? (enum ptx_type)f->types[1] : PTX_TYPE_NONE;

	if ((f->op == PTX_OP_SET && (fp_is_half(t) || fp_is_half(last))) ||
	    (f->op == PTX_OP_SETP && fp_is_half(t)))
		return bind_compare(d, s, in);
	if ((f->op == PTX_OP_ADD || f->op == PTX_OP_SUB || f->op == PTX_OP_FMA) &&
	    t == PTX_TYPE_F32 && fp_is_half(last))
		return bind_mixed(d, s, in);
	if (f->ntypes != 1 || !fp_is_half(t))
		return CPU_NOT_MINE;
	for (unsigned i = 0; i < BASE_COUNTOF(half_rows); i++) {
		if (half_rows[i].op != f->op)
			continue;
		struct half_op *h = half_new(d, f, t);

		if (!FP_ONLY(f, PTX_MOD_OOB, PTX_MOD_RN, PTX_MOD_FTZ, PTX_MOD_SAT, PTX_MOD_RELU,
			     PTX_MOD_NAN_PROP, PTX_MOD_XORSIGN, PTX_MOD_ABS, PTX_MOD_APPROX))
			return cpu_dec_unsupported(d, in, "modifier of half precision");
		h->nsrc = half_rows[i].nsrc;
		h->fn = h->is_bf16 ? half_rows[i].bf16 : half_rows[i].f16;
		in->aux = h;
		return fp_bind(d, s, in, t, h->nsrc, half_exec);
	}
	return CPU_NOT_MINE;
}
