/*
 * float.c - f32 and f64 arithmetic: add sub mul mad fma div rcp sqrt abs neg min max copysign.
 *
 * Round-to-nearest forms are one vector loop each, made by macros for the four combinations of .ftz
 * and .sat. Directed roundings, and f32x2, go through arrays of 32 and the host's rounding
 * direction (fp_directed32): three times as long, without AVX2 twenty times. fma is fused in both
 * builds; the baseline has no such instruction, so f32 takes a double rounded to odd and f64 calls
 * libm.
 * Flushing looks at the rounded result (tininess after rounding).
 * min, max, abs, neg of integer types belong to int.c, those of f16 and bf16 to half.c,
 * .approx and .full to approx.c. PTX ISA 9.7.3.
 */
#include "cpu/alu/fp.h"
#include "cpu/jit/rows.h"

cpu_binder CPU_BINDER(float);

/* ---- f32, to nearest ---------------------------------------------------------------- */

/* One handler, and what it does to a lane: x, y, z are the operands. */
#define F32_FN(name, ftz, sat, na, expr)                                                           \
	static inline uint32_t name##_lane(uint32_t a, uint32_t b, uint32_t c)                     \
	{                                                                                          \
		float x = fp_in32(a, ftz), y = fp_in32(b, ftz), z = fp_in32(c, ftz);               \
                                                                                                   \
		(void)y, (void)z;                                                                  \
		return fp_out32(expr, ftz, sat);                                                   \
	}                                                                                          \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		uint32_t *d = cpu_u32(w, in->dst[0]);                                              \
		const uint32_t *a = cpu_u32(w, in->src[0]);                                        \
		const uint32_t *b = na > 1 ? cpu_u32(w, in->src[1]) : a;                           \
		const uint32_t *c = na > 2 ? cpu_u32(w, in->src[2]) : a;                           \
                                                                                                   \
		FP_LANES(l, mask, uint32_t, d, name##_lane(a[l], b[l], c[l]));                     \
		return CPU_OK;                                                                     \
	}
/* The four handlers of an operation and their table, by ftz + 2 * sat. */
#define F32_OP(name, na, expr)                                                                     \
	F32_FN(name##_f32, false, false, na, expr)                                                 \
	F32_FN(name##_ftz_f32, true, false, na, expr)                                              \
	F32_FN(name##_sat_f32, false, true, na, expr)                                              \
	F32_FN(name##_ftz_sat_f32, true, true, na, expr)                                           \
	static cpu_exec *const name##_f32_by_mode[4] = {name##_f32, name##_ftz_f32,                \
							name##_sat_f32, name##_ftz_sat_f32};

F32_OP(add, 2, x + y)
F32_OP(sub, 2, x - y)
F32_OP(mul, 2, (x) * (y))
F32_OP(fma, 3, fp_fma32(x, y, z))
F32_OP(div, 2, x / y)
F32_OP(sqrt, 1, __builtin_sqrtf(x))
F32_OP(rcp, 1, 1.0f / x)
/* The hardware uses FADD for these two: a NaN becomes the canonical one. */
F32_OP(abs, 1, fp_f32(fp_b32(x) & 0x7fffffffu))
F32_OP(neg, 1, fp_f32(fp_b32(x) ^ 0x80000000u))

/* ---- f64, to nearest ---------------------------------------------------------------- */

/* The last arguments: the operands in the order in which their NaNs count, the strongest last. */
#define F64_OP(name, na, expr, ...)                                                                \
	static inline uint64_t name##_f64_lane(uint64_t a, uint64_t b, uint64_t c)                 \
	{                                                                                          \
		double x = fp_f64(a), y = fp_f64(b), z = fp_f64(c);                                \
                                                                                                   \
		(void)y, (void)z;                                                                  \
		return fp_out64(expr, __VA_ARGS__);                                                \
	}                                                                                          \
	static enum cpu_step name##_f64(struct cpu_warp *w, const struct cpu_inst *in,             \
					uint32_t mask)                                             \
	{                                                                                          \
		uint64_t *d = cpu_u64(w, in->dst[0]);                                              \
		const uint64_t *a = cpu_u64(w, in->src[0]);                                        \
		const uint64_t *b = na > 1 ? cpu_u64(w, in->src[1]) : a;                           \
		const uint64_t *c = na > 2 ? cpu_u64(w, in->src[2]) : a;                           \
                                                                                                   \
		FP_LANES(l, mask, uint64_t, d, name##_f64_lane(a[l], b[l], c[l]));                 \
		return CPU_OK;                                                                     \
	}

F64_OP(add, 2, x + y, x, x, y)
F64_OP(sub, 2, x - y, x, x, y)
F64_OP(mul, 2, (x) * (y), x, x, y)
F64_OP(fma, 3, __builtin_fma(x, y, z), x, z, y)
F64_OP(div, 2, x / y, y, y, x)
F64_OP(sqrt, 1, __builtin_sqrt(x), x, x, x)
F64_OP(rcp, 1, 1.0 / x, x, x, x)

/* The hardware uses DADD for these: a NaN keeps its sign. */
static inline uint64_t sign_f64_lane(uint64_t u, uint64_t changed)
{
	return fp_f64(u) == fp_f64(u) ? changed : u | FP_QUIET64;
}

static enum cpu_step abs_f64(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]);

	FP_LANES(l, mask, uint64_t, d, sign_f64_lane(a[l], a[l] & 0x7fffffffffffffffull));
	return CPU_OK;
}

static enum cpu_step neg_f64(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]);

	FP_LANES(l, mask, uint64_t, d, sign_f64_lane(a[l], a[l] ^ 0x8000000000000000ull));
	return CPU_OK;
}

/* ---- directed rounding, f32x2 -------------------------------------------------------- */

enum { MODE_FTZ = 1, MODE_SAT = 2, MODE_NAN = 4, MODE_XOR = 8, MODE_ABS = 16 };

/* in->sub: enum fp_arith; imm: MODE_* and, from bit 32, the direction. */
static inline unsigned directed_sources(const struct cpu_inst *in)
{
	return in->sub == FP_FMA ? 3 : in->sub >= FP_SQRT ? 1 : 2;
}

#define DIRECTED_F32(name, ftz, sat)                                                               \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		uint32_t *d = cpu_u32(w, in->dst[0]);                                              \
		unsigned nsrc = directed_sources(in);                                              \
		float x[3][CPU_WARP], r[CPU_WARP];                                                 \
                                                                                                   \
		for (unsigned k = 0; k < 3; k++) {                                                 \
			const uint32_t *a = cpu_u32(w, in->src[k < nsrc ? k : 0]);                 \
                                                                                                   \
			FP_VECTORIZE                                                               \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				x[k][l] = fp_in32(a[l], ftz);                                      \
		}                                                                                  \
		fp_directed32((enum fp_arith)in->sub, (int)(in->imm >> 32), x[0], x[1], x[2], r);  \
		FP_LANES(l, mask, uint32_t, d, fp_out32(r[l], ftz, sat));                          \
		return CPU_OK;                                                                     \
	}

DIRECTED_F32(directed_f32, false, false)
DIRECTED_F32(directed_ftz_f32, true, false)
DIRECTED_F32(directed_sat_f32, false, true)
DIRECTED_F32(directed_ftz_sat_f32, true, true)
static cpu_exec *const directed_f32_by_mode[4] = {directed_f32, directed_ftz_f32, directed_sat_f32,
						  directed_ftz_sat_f32};

static enum cpu_step arith_f32x2(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	bool ftz = in->imm & MODE_FTZ, sat = in->imm & MODE_SAT;
	unsigned nsrc = directed_sources(in);
	float x[3][CPU_WARP] = {{0}}, r[CPU_WARP];

	for (unsigned half = 0; half < 2; half++) {
		uint32_t *d = cpu_u32(w, in->dst[0]) + half;

		for (unsigned k = 0; k < nsrc; k++) {
			const uint32_t *a = cpu_u32(w, in->src[k]) + half;

			for (unsigned l = 0; l < CPU_WARP; l++)
				x[k][l] = fp_in32(a[l * 2], ftz);
		}
		fp_directed32((enum fp_arith)in->sub, (int)(in->imm >> 32), x[0], x[1], x[2], r);
		CPU_EACH_LANE (l, mask)
			d[l * 2] = fp_out32(r[l], ftz, sat);
	}
	return CPU_OK;
}

static enum cpu_step directed_f64(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	unsigned nsrc = directed_sources(in);
	/* The operand whose NaN takes precedence, as above. */
	unsigned first = in->sub == FP_DIV ? 0 : 1, second = nsrc == 3 ? 2 : 1 - first;
	uint64_t *d = cpu_u64(w, in->dst[0]);
	double x[3][CPU_WARP], r[CPU_WARP];

	for (unsigned k = 0; k < 3; k++) {
		const uint64_t *a = cpu_u64(w, in->src[k < nsrc ? k : 0]);

		for (unsigned l = 0; l < CPU_WARP; l++)
			x[k][l] = fp_f64(a[l]);
	}
	fp_directed64((enum fp_arith)in->sub, (int)(in->imm >> 32), x[0], x[1], x[2], r);
	FP_LANES(l, mask, uint64_t, d, fp_out64(r[l], x[0][l], x[second][l], x[first][l]));
	return CPU_OK;
}

/* ---- min, max ---------------------------------------------------------------------------- */

#define F32_MINMAX(name, is_max, ftz, is_nan)                                                      \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		uint32_t *d = cpu_u32(w, in->dst[0]);                                              \
		const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]);           \
                                                                                                   \
		FP_LANES(l, mask, uint32_t, d,                                                     \
			 fp_minmax32(ftz ? fp_flush32(a[l]) : a[l], ftz ? fp_flush32(b[l]) : b[l], \
				     is_max, is_nan));                                             \
		return CPU_OK;                                                                     \
	}

F32_MINMAX(min_f32, false, false, false)
F32_MINMAX(min_ftz_f32, false, true, false)
F32_MINMAX(min_nan_f32, false, false, true)
F32_MINMAX(min_ftz_nan_f32, false, true, true)
F32_MINMAX(max_f32, true, false, false)
F32_MINMAX(max_ftz_f32, true, true, false)
F32_MINMAX(max_nan_f32, true, false, true)
F32_MINMAX(max_ftz_nan_f32, true, true, true)
/* By is_max, then ftz + 2 * nan. */
static cpu_exec *const minmax_f32[2][4] = {
	{min_f32, min_ftz_f32, min_nan_f32, min_ftz_nan_f32},
	{max_f32, max_ftz_f32, max_nan_f32, max_ftz_nan_f32},
};

/* .xorsign.abs and three inputs (with or without .abs); in->sub: is it max? */
static enum cpu_step minmax_f32_any(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	bool is_nan = in->imm & MODE_NAN;
	uint32_t keep = (in->imm & (MODE_XOR | MODE_ABS)) ? 0x7fffffffu : UINT32_MAX;
	unsigned nsrc = in->src[2] == CPU_NOSLOT ? 2 : 3;

	CPU_EACH_LANE (l, mask) {
		uint32_t r = 0, sign = 0;

		for (unsigned k = 0; k < nsrc; k++) {
			uint32_t x = cpu_u32(w, in->src[k])[l];

			x = in->imm & MODE_FTZ ? fp_flush32(x) : x;
			sign ^= x & 0x80000000u;
			r = k ? fp_minmax32(r, x & keep, in->sub, is_nan) : x & keep;
		}
		if (in->imm & MODE_XOR && (r & 0x7fffffffu) <= 0x7f800000u)
			r |= sign;
		cpu_u32(w, in->dst[0])[l] = r;
	}
	return CPU_OK;
}

/* Of two NaNs the second one, quieted, as DSETP.MIN and the selects after it do. */
static inline uint64_t minmax_f64_lane(uint64_t x, uint64_t y, bool is_max)
{
	bool x_nan = fp_f64(x) != fp_f64(x), y_nan = fp_f64(y) != fp_f64(y);
	int64_t i = (int64_t)(x ^ (x >> 63 ? 0x7fffffffffffffffull : 0));
	int64_t j = (int64_t)(y ^ (y >> 63 ? 0x7fffffffffffffffull : 0));
	uint64_t r = (is_max ? i > j : i < j) ? x : y;

	r = x_nan ? y : r;
	r = y_nan ? x : r;
	return (x_nan & y_nan) ? y | FP_QUIET64 : r;
}

static enum cpu_step min_f64(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]), *b = cpu_u64(w, in->src[1]);

	FP_LANES(l, mask, uint64_t, d, minmax_f64_lane(a[l], b[l], false));
	return CPU_OK;
}

static enum cpu_step max_f64(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]), *b = cpu_u64(w, in->src[1]);

	FP_LANES(l, mask, uint64_t, d, minmax_f64_lane(a[l], b[l], true));
	return CPU_OK;
}

/* copysign d, a, b: the sign of a, the rest of b. */
static enum cpu_step copysign_f32(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]);

	CPU_LANES(l, mask, d[l] = (a[l] & 0x80000000u) | (b[l] & 0x7fffffffu));
	return CPU_OK;
}

static enum cpu_step copysign_f64(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint64_t *d = cpu_u64(w, in->dst[0]);
	const uint64_t *a = cpu_u64(w, in->src[0]), *b = cpu_u64(w, in->src[1]);

	CPU_LANES(l, mask, d[l] = (a[l] & 0x8000000000000000ull) | (b[l] & 0x7fffffffffffffffull));
	return CPU_OK;
}

/* ---- the binder ------------------------------------------------------------------------------ */

/* What rounds. */
static const struct arith {
	enum ptx_op op;
	enum fp_arith kind;
	unsigned nsrc;
	cpu_exec *const *f32;
	cpu_exec *f64;
} ariths[] = {
	{PTX_OP_ADD, FP_ADD, 2, add_f32_by_mode, add_f64},
	{PTX_OP_SUB, FP_SUB, 2, sub_f32_by_mode, sub_f64},
	{PTX_OP_MUL, FP_MUL, 2, mul_f32_by_mode, mul_f64},
	{PTX_OP_MAD, FP_FMA, 3, fma_f32_by_mode, fma_f64},
	{PTX_OP_FMA, FP_FMA, 3, fma_f32_by_mode, fma_f64},
	{PTX_OP_DIV, FP_DIV, 2, div_f32_by_mode, div_f64},
	{PTX_OP_SQRT, FP_SQRT, 1, sqrt_f32_by_mode, sqrt_f64},
	{PTX_OP_RCP, FP_RCP, 1, rcp_f32_by_mode, rcp_f64},
};

static enum cpu_bound bind_arith(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
				 const struct arith *a)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = (enum ptx_type)f->types[0];
	bool ftz = ptx_form_has(f, PTX_MOD_FTZ), sat = ptx_form_has(f, PTX_MOD_SAT);
	int direction = fp_direction(f);

	if (!FP_ONLY(f, PTX_MOD_RN, PTX_MOD_RZ, PTX_MOD_RM, PTX_MOD_RP, PTX_MOD_FTZ, PTX_MOD_SAT))
		return cpu_dec_unsupported(d, in, "modifier of floating-point arithmetic");
	in->sub = (uint8_t)a->kind;
	in->imm = (uint64_t)direction << 32 | (ftz ? MODE_FTZ : 0u) | (sat ? MODE_SAT : 0u);
	if (t == PTX_TYPE_F32X2) {
		if (a->kind > FP_FMA)
			return cpu_dec_unsupported(d, in, "operation on f32x2");
		return fp_bind(d, s, in, t, a->nsrc, arith_f32x2);
	}
	if (t == PTX_TYPE_F64)
		return fp_bind(d, s, in, t, a->nsrc,
			       direction == FE_TONEAREST ? a->f64 : directed_f64);
	return fp_bind(d, s, in, t, a->nsrc,
		       (direction == FE_TONEAREST ? a->f32 : directed_f32_by_mode)[ftz + 2 * sat]);
}

static enum cpu_bound bind_minmax(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_max = f->op == PTX_OP_MAX, ftz = ptx_form_has(f, PTX_MOD_FTZ);
	bool is_nan = ptx_form_has(f, PTX_MOD_NAN_PROP), is_xor = ptx_form_has(f, PTX_MOD_XORSIGN);
	bool is_abs = ptx_form_has(f, PTX_MOD_ABS);

	in->sub = is_max;
	if (f->types[0] == PTX_TYPE_F64 && !f->nmods)
		return fp_bind(d, s, in, PTX_TYPE_F64, 2, is_max ? max_f64 : min_f64);
	if (f->types[0] != PTX_TYPE_F32 ||
	    !FP_ONLY(f, PTX_MOD_FTZ, PTX_MOD_NAN_PROP, PTX_MOD_XORSIGN, PTX_MOD_ABS))
		return cpu_dec_unsupported(d, in, "modifier or type of min or max");
	if (s->nops == 3 && !is_xor && !is_abs)
		return fp_bind(d, s, in, PTX_TYPE_F32, 2, minmax_f32[is_max][ftz + 2 * is_nan]);
	in->src[2] = CPU_NOSLOT;
	in->imm = (ftz ? MODE_FTZ : 0u) | (is_nan ? MODE_NAN : 0u) | (is_xor ? MODE_XOR : 0u) |
		  (is_abs ? MODE_ABS : 0u);
	return fp_bind(d, s, in, PTX_TYPE_F32, s->nops == 4 ? 3 : 2, minmax_f32_any);
}

static enum cpu_bound bind_sign(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = (enum ptx_type)f->types[0];
	bool ftz = ptx_form_has(f, PTX_MOD_FTZ), is_f64 = t == PTX_TYPE_F64;

	if (t == PTX_TYPE_F32X2 || !FP_ONLY(f, PTX_MOD_FTZ))
		return cpu_dec_unsupported(d, in, "modifier or type of abs, neg or copysign");
	if (f->op == PTX_OP_COPYSIGN)
		return fp_bind(d, s, in, t, 2, is_f64 ? copysign_f64 : copysign_f32);
	if (f->op == PTX_OP_ABS)
		return fp_bind(d, s, in, t, 1, is_f64 ? abs_f64 : abs_f32_by_mode[ftz]);
	return fp_bind(d, s, in, t, 1, is_f64 ? neg_f64 : neg_f32_by_mode[ftz]);
}

enum cpu_bound CPU_BINDER(float)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = f->ntypes == 1 ? (enum ptx_type)f->types[0] : PTX_TYPE_NONE;

	if ((t != PTX_TYPE_F32 && t != PTX_TYPE_F64 && t != PTX_TYPE_F32X2) ||
	    ptx_form_has(f, PTX_MOD_APPROX) || ptx_form_has(f, PTX_MOD_FULL))
		return CPU_NOT_MINE;
	for (unsigned i = 0; i < BASE_COUNTOF(ariths); i++)
		if (ariths[i].op == f->op)
			return bind_arith(d, s, in, &ariths[i]);
	switch (f->op) {
	case PTX_OP_MIN:
	case PTX_OP_MAX:
		return bind_minmax(d, s, in);
	case PTX_OP_ABS:
	case PTX_OP_NEG:
	case PTX_OP_COPYSIGN:
		return bind_sign(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}

/* ---- machine code (jit/) ------------------------------------------------------------------ */

extern const struct jit_handler CPU_HANDLERS(float)[];
const struct jit_handler CPU_HANDLERS(float)[] = {
#define FLOAT(handler, ...) {handler, JIT_FLOAT_##handler},
#include "cpu/jit/rows.def"
	{NULL, JIT_NONE}};
