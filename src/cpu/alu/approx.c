/*
 * approx.c - sin cos ex2 lg2 tanh, and rcp rsqrt sqrt div with .approx or .full.
 *
 * The functions are those of fp_math.h: a GPU's result may differ in the last places, within the
 * bounds of PTX ISA 9.7.3, whose tables of special values hold exactly. div.approx gives 0 (NaN for
 * an infinite dividend) beyond a divisor of 2^126, as documented. rcp and rsqrt.approx.ftz.f64 read
 * and write the upper 32 bits only.
 * f16 and bf16 forms are in half.c.
 */
#include "cpu/alu/fp_math.h"
#include "cpu/jit/rows.h"

cpu_binder CPU_BINDER(approx);

#define APPROX_FN(name, ftz, na, expr)                                                             \
	static inline uint32_t name##_lane(uint32_t a, uint32_t b)                                 \
	{                                                                                          \
		float x = fp_in32(a, ftz), y = fp_in32(b, ftz);                                    \
                                                                                                   \
		(void)y;                                                                           \
		return fp_out32((float)(expr), ftz, false);                                        \
	}                                                                                          \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		uint32_t *d = cpu_u32(w, in->dst[0]);                                              \
		const uint32_t *a = cpu_u32(w, in->src[0]);                                        \
		const uint32_t *b = na > 1 ? cpu_u32(w, in->src[1]) : a;                           \
                                                                                                   \
		FP_LANES(l, mask, uint32_t, d, name##_lane(a[l], b[l]));                           \
		return CPU_OK;                                                                     \
	}
#define APPROX_OP(name, na, expr)                                                                  \
	APPROX_FN(name##_f32, false, na, expr)                                                     \
	APPROX_FN(name##_ftz_f32, true, na, expr)

/* a * (1 / b), where the hardware's 1 / b is zero for |b| above 2^126. */
static inline float div_approx(float a, float b)
{
	float q = a / b, zero = a * fp_f32(fp_b32(b) & 0x80000000u);
	float size = fp_f32(fp_b32(b) & 0x7fffffffu);

	return size > 0x1p126f ? zero : q;
}

APPROX_OP(sin, 1, fp_sincos(x, 0))
APPROX_OP(cos, 1, fp_sincos(x, 1))
APPROX_OP(ex2, 1, fp_exp2(x))
APPROX_OP(lg2, 1, fp_log2(x))
APPROX_FN(tanh_f32, false, 1, fp_tanh((double)x))
APPROX_OP(rcp, 1, 1.0f / x)
APPROX_OP(sqrt, 1, __builtin_sqrtf(x))
APPROX_OP(rsqrt, 1, 1.0 / __builtin_sqrt((double)x))
APPROX_OP(div, 2, div_approx(x, y))
APPROX_OP(div_full, 2, x / y)

/* The upper half of a double alone, the result cut to its 20 bits of significand. */
static inline double upper_in(uint64_t u)
{
	return fp_f64(fp_flush64(u & 0xffffffff00000000ull));
}

static inline uint64_t upper_out(double r)
{
	uint64_t u = fp_flush64(fp_b64(r));

	return r == r ? u & 0xffffffff00000000ull : FP_NAN64;
}

#define APPROX_F64(name, expr)                                                                     \
	static inline uint64_t name##_lane(uint64_t a)                                             \
	{                                                                                          \
		return (expr);                                                                     \
	}                                                                                          \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		uint64_t *d = cpu_u64(w, in->dst[0]);                                              \
		const uint64_t *a = cpu_u64(w, in->src[0]);                                        \
                                                                                                   \
		FP_LANES(l, mask, uint64_t, d, name##_lane(a[l]));                                 \
		return CPU_OK;                                                                     \
	}

static inline uint64_t rsqrt64(double x)
{
	return fp_out64(1.0 / __builtin_sqrt(x), x, x, x);
}

APPROX_F64(rcp_ftz_f64, upper_out(1.0 / upper_in(a)))
APPROX_F64(rsqrt_ftz_f64, upper_out(1.0 / __builtin_sqrt(upper_in(a))))
APPROX_F64(rsqrt_f64, rsqrt64(fp_f64(a)))

/* ---- the binder ------------------------------------------------------------------- */

static const struct approx {
	enum ptx_op op;
	bool is_full;
	unsigned nsrc;
	cpu_exec *plain, *ftz;
} approxes[] = {
	{PTX_OP_SIN, false, 1, sin_f32, sin_ftz_f32},
	{PTX_OP_COS, false, 1, cos_f32, cos_ftz_f32},
	{PTX_OP_EX2, false, 1, ex2_f32, ex2_ftz_f32},
	{PTX_OP_LG2, false, 1, lg2_f32, lg2_ftz_f32},
	{PTX_OP_TANH, false, 1, tanh_f32, NULL},
	{PTX_OP_RCP, false, 1, rcp_f32, rcp_ftz_f32},
	{PTX_OP_SQRT, false, 1, sqrt_f32, sqrt_ftz_f32},
	{PTX_OP_RSQRT, false, 1, rsqrt_f32, rsqrt_ftz_f32},
	{PTX_OP_DIV, false, 2, div_f32, div_ftz_f32},
	{PTX_OP_DIV, true, 2, div_full_f32, div_full_ftz_f32},
};

enum cpu_bound CPU_BINDER(approx)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = f->ntypes == 1 ? (enum ptx_type)f->types[0] : PTX_TYPE_NONE;
	bool is_full = ptx_form_has(f, PTX_MOD_FULL), ftz = ptx_form_has(f, PTX_MOD_FTZ);

	if ((t != PTX_TYPE_F32 && t != PTX_TYPE_F64) ||
	    (!is_full && !ptx_form_has(f, PTX_MOD_APPROX)))
		return CPU_NOT_MINE;
	if (!FP_ONLY(f, PTX_MOD_APPROX, PTX_MOD_FULL, PTX_MOD_FTZ))
		return cpu_dec_unsupported(d, in, "modifier of an approximation");
	if (t == PTX_TYPE_F64) {
		if (f->op == PTX_OP_RCP && ftz)
			return fp_bind(d, s, in, t, 1, rcp_ftz_f64);
		if (f->op == PTX_OP_RSQRT)
			return fp_bind(d, s, in, t, 1, ftz ? rsqrt_ftz_f64 : rsqrt_f64);
		return cpu_dec_unsupported(d, in, "f64 approximation");
	}
	for (unsigned i = 0; i < BASE_COUNTOF(approxes); i++) {
		const struct approx *a = &approxes[i];

		if (a->op == f->op && a->is_full == is_full && (!ftz || a->ftz))
			return fp_bind(d, s, in, t, a->nsrc, ftz ? a->ftz : a->plain);
	}
	return CPU_NOT_MINE;
}

/* ---- machine code (jit/) ------------------------------------------------------------------ */

extern const struct jit_handler CPU_HANDLERS(approx)[];
const struct jit_handler CPU_HANDLERS(approx)[] = {
#define APPROX(handler, ...) {handler, JIT_APPROX_##handler},
#include "cpu/jit/rows.def"
	{NULL, JIT_NONE}};
