/*
 * fp.h - what the floating-point files (float, approx, half, cvt*) share.
 *
 * Values travel as bits (uint32_t, uint64_t) and are taken for floats only inside an expression,
 * so that slots keep one C type. Everything is plain IEEE arithmetic in round-to-nearest of which
 * both builds (x86-64-v3 and baseline) give the same bits; the host's MXCSR must be in its default
 * state (no FTZ, no DAZ, round to nearest) when a warp runs.
 *
 * NaN results: f32 0x7fffffff, f16 and bf16 0x7fff; f64 keeps a NaN operand, quieted (the
 * second, third, first in this order, of a division the first), or gives 0xfff8000000000000 where
 * an operation makes one: all as seen on an H100.
 */
#ifndef COLLIDER_CPU_OP_FP_H
#define COLLIDER_CPU_OP_FP_H

#include <fenv.h>
#include <math.h>
#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#include "cpu/machine.h"

#define FP_NAN32 0x7fffffffu
#define FP_NAN64 0xfff8000000000000ull
#define FP_NAN16 0x7fffu

/* ---- bits ------------------------------------------------------------------- */

static inline float fp_f32(uint32_t u)
{
	union {
		uint32_t u;
		float f;
	} x = {.u = u};

	return x.f;
}

static inline uint32_t fp_b32(float f)
{
	union {
		float f;
		uint32_t u;
	} x = {.f = f};

	return x.u;
}

static inline double fp_f64(uint64_t u)
{
	union {
		uint64_t u;
		double f;
	} x = {.u = u};

	return x.f;
}

static inline uint64_t fp_b64(double f)
{
	union {
		double f;
		uint64_t u;
	} x = {.f = f};

	return x.u;
}

/* Subnormal values become zero of the same sign. */
static inline uint32_t fp_flush32(uint32_t u)
{
	return u & 0x7f800000u ? u : u & 0x80000000u;
}

static inline uint64_t fp_flush64(uint64_t u)
{
	return u & 0x7ff0000000000000ull ? u : u & 0x8000000000000000ull;
}

static inline float fp_in32(uint32_t u, bool ftz)
{
	return fp_f32(ftz ? fp_flush32(u) : u);
}

/* What an f32 operation writes for the rounded result r. Saturation makes -0 and NaN +0. */
static inline uint32_t fp_out32(float r, bool ftz, bool sat)
{
	if (sat) {
		r = r > 0.0f ? r : 0.0f;
		r = r < 1.0f ? r : 1.0f;
		return ftz ? fp_flush32(fp_b32(r)) : fp_b32(r);
	}
	uint32_t u = ftz ? fp_flush32(fp_b32(r)) : fp_b32(r);

	return r == r ? u : FP_NAN32;
}

#define FP_QUIET64 0x0008000000000000ull

/* What an f64 operation writes for r: of NaN operands the last one in this list. */
static inline uint64_t fp_out64(double r, double a, double b, double c)
{
	uint64_t u = FP_NAN64;

	u = a == a ? u : fp_b64(a) | FP_QUIET64;
	u = b == b ? u : fp_b64(b) | FP_QUIET64;
	u = c == c ? u : fp_b64(c) | FP_QUIET64;
	return r == r ? fp_b64(r) : u;
}

/* ---- rounding to odd ---------------------------------------------------------- */

/*
 * Given the rounded s of an exact value s + e: the neighbour towards e when s is even. The result
 * keeps all that a later rounding to at least two bits fewer needs, in any direction (Boldo,
 * Melquiond: "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
 * odd"). A NaN in e (s infinite) changes nothing.
 */
static inline float fp_odd32(float s, float e)
{
	uint32_t u = fp_b32(s), v = fp_b32(e);
	uint32_t step = 1u - ((u ^ v) >> 31 << 1);

	step = fp_f32(v & 0x7fffffffu) > 0.0f ? step : 0u;
	return fp_f32(u + (step & ((u & 1u) - 1u)));
}

static inline double fp_odd64(double s, double e)
{
	uint64_t u = fp_b64(s), v = fp_b64(e);
	uint64_t step = 1u - ((u ^ v) >> 63 << 1);

	step = fp_f64(v & 0x7fffffffffffffffull) > 0.0 ? step : 0u;
	return fp_f64(u + (step & ((u & 1u) - 1u)));
}

/* s + e == a + b exactly (Knuth). */
static inline double fp_twosum64(double a, double b, double *e)
{
	double s = a + b, t = s - a;

	*e = (a - (s - t)) + (b - t);
	return s;
}

/* a * b + c of floats, as a double that is rounded to odd: the product is exact. */
static inline double fp_fma_odd(float a, float b, float c)
{
	double e, s = fp_twosum64((double)a * (double)b, (double)c, &e);

	return fp_odd64(s, e);
}

/* A double as a float rounded to odd. Beyond the range it is the largest float, not infinity:
 * whatever rounds that to a smaller format overflows as it must. */
static inline float fp_narrow_odd(double d)
{
	float s = (float)d;
	double e = d - (double)s;
	uint32_t u = fp_b32(s), is_down = (uint32_t)((fp_b64(e) ^ fp_b64(d)) >> 63);
	uint32_t step = 1u - (is_down << 1);

	step = fp_f64(fp_b64(e) & 0x7fffffffffffffffull) > 0.0 ? step : 0u;
	return fp_f32(u + (step & ((u & 1u) - 1u)));
}

static inline float fp_fma32(float a, float b, float c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
	return __builtin_fmaf(a, b, c);
#else
	return (float)fp_fma_odd(a, b, c);
#endif
}

/* ---- lanes -------------------------------------------------------------------- */

/* clang takes a loop of 32 apart before it looks for vectors, unless a pragma forbids it. */
#if defined(__clang__)
#define FP_VECTORIZE _Pragma("clang loop vectorize(assume_safety) unroll(disable)")
#else
#define FP_VECTORIZE _Pragma("GCC ivdep")
#endif

/*
 * d[l] = value for the lanes l of mask. Where some lanes are left out all 32 values are computed,
 * then blended: floating-point code under a condition is not turned into vector code, as it may
 * raise flags. The value must be harmless to compute for any bits.
 */
#define FP_LANES(l, mask, type, d, value)                                                          \
	do {                                                                                       \
		if ((mask) == UINT32_MAX) {                                                        \
			FP_VECTORIZE                                                               \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				(d)[l] = (value);                                                  \
		} else if (!((mask) & ((mask)-1))) {                                               \
			unsigned l = (unsigned)__builtin_ctz(mask);                                \
			(d)[l] = (type)(value);                                                    \
		} else {                                                                           \
			type all_[CPU_WARP];                                                       \
			FP_VECTORIZE                                                               \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				all_[l] = (value);                                                 \
			FP_VECTORIZE                                                               \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				(d)[l] = (mask) >> l & 1u ? all_[l] : (d)[l];                      \
		}                                                                                  \
	} while (0)

/* ---- minimum and maximum ------------------------------------------------------- */

/* -0 is below +0; of a number and a NaN the number, or NaN with is_nan. */
static inline uint32_t fp_minmax32(uint32_t a, uint32_t b, bool is_max, bool is_nan)
{
	int32_t x = (int32_t)(a ^ ((uint32_t)((int32_t)a >> 31) & 0x7fffffffu));
	int32_t y = (int32_t)(b ^ ((uint32_t)((int32_t)b >> 31) & 0x7fffffffu));
	bool a_nan = fp_f32(a) != fp_f32(a), b_nan = fp_f32(b) != fp_f32(b);
	uint32_t r = (is_max ? x > y : x < y) ? a : b;

	if (is_nan)
		return (a_nan | b_nan) ? FP_NAN32 : r;
	r = a_nan ? b : r;
	r = b_nan ? a : r;
	return (a_nan & b_nan) ? FP_NAN32 : r;
}

/* ---- f16 and bf16, 32 or 64 at a time -------------------------------------------- */

static inline float fp_half_one(uint16_t h)
{
	uint32_t m = (uint32_t)(h & 0x7fffu) << 13;
	uint32_t u = fp_b32(fp_f32(m) * 0x1p112f);

	u = m >= 0x0f800000u ? m | 0x7f800000u : u;
	return fp_f32(u | (uint32_t)(h & 0x8000u) << 16);
}

/* To nearest even; NaN is canonical. */
static inline uint16_t fp_to_half_one(float f)
{
	uint32_t x = fp_b32(f) & 0x7fffffffu, sign = fp_b32(f) >> 16 & 0x8000u;
	uint32_t sub = fp_b32(fp_f32(x) + 0.5f) - 0x3f000000u;
	uint32_t norm = (x + 0xfffu + (x >> 13 & 1u) - 0x38000000u) >> 13;
	uint32_t r = x < 0x38800000u ? sub : norm;

	r = x >= 0x477ff000u ? 0x7c00u : r;
	r |= sign;
	return (uint16_t)(x > 0x7f800000u ? FP_NAN16 : r);
}

static inline uint16_t fp_to_bf16_one(float f)
{
	uint32_t u = fp_b32(f), r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;

	return (uint16_t)(f == f ? r : FP_NAN16);
}

static inline void fp_from_half(const uint16_t *h, float *f, unsigned n)
{
#ifdef __F16C__
	for (unsigned i = 0; i < n; i += 8) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(h + i));
		_mm256_storeu_ps(f + i, _mm256_cvtph_ps(v));
	}
#else
	for (unsigned i = 0; i < n; i++)
		f[i] = fp_half_one(h[i]);
#endif
}

static inline void fp_to_half(const float *f, uint16_t *h, unsigned n)
{
#ifdef __F16C__
	const __m128i nan = _mm_set1_epi16(FP_NAN16), inf = _mm_set1_epi16(0x7c00);

	for (unsigned i = 0; i < n; i += 8) {
		__m128i v = _mm256_cvtps_ph(_mm256_loadu_ps(f + i), _MM_FROUND_TO_NEAREST_INT);
		__m128i is_nan = _mm_cmpgt_epi16(_mm_and_si128(v, nan), inf);
		_mm_storeu_si128((__m128i *)(void *)(h + i), _mm_blendv_epi8(v, nan, is_nan));
	}
#else
	for (unsigned i = 0; i < n; i++)
		h[i] = fp_to_half_one(f[i]);
#endif
}

static inline void fp_from_bf16(const uint16_t *h, float *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		f[i] = fp_f32((uint32_t)h[i] << 16);
}

static inline void fp_to_bf16(const float *f, uint16_t *h, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		h[i] = fp_to_bf16_one(f[i]);
}

static inline bool fp_is_half(enum ptx_type t)
{
	return t == PTX_TYPE_F16 || t == PTX_TYPE_BF16 || t == PTX_TYPE_F16X2 ||
	       t == PTX_TYPE_BF16X2;
}

static inline bool fp_is_bf16(enum ptx_type t)
{
	return t == PTX_TYPE_BF16 || t == PTX_TYPE_BF16X2;
}

static inline bool fp_is_x2(enum ptx_type t)
{
	return t == PTX_TYPE_F16X2 || t == PTX_TYPE_BF16X2;
}

/* ---- arithmetic in a given rounding direction -------------------------------------- */

enum fp_arith { FP_ADD, FP_SUB, FP_MUL, FP_FMA, FP_DIV, FP_SQRT, FP_RCP };

/* FE_* of .rn .rz .rm .rp; to nearest when none is given. */
static inline int fp_direction(const struct ptx_form *f)
{
	if (ptx_form_has(f, PTX_MOD_RZ))
		return FE_TOWARDZERO;
	if (ptx_form_has(f, PTX_MOD_RM))
		return FE_DOWNWARD;
	return ptx_form_has(f, PTX_MOD_RP) ? FE_UPWARD : FE_TONEAREST;
}

/*
 * r = op(a, b, c) for 32 lanes. No operation may be moved or folded across the changes of
 * direction: with AVX2 a value passes through an empty volatile asm after the change, its result
 * through another before the direction changes back (volatile ones keep their order); else operands
 * and result are volatile. That is as good as -frounding-math, whose cost would fall on all other
 * code of the file.
 */
#if defined(__AVX2__) && defined(__FMA__)
#define FP_PINNED(x) __asm__ volatile("" : "+x"(x))
/* The direction in MXCSR is that of the x87 unit (FE_*), three bits higher. */
#define FP_TURN(was, direction)                                                                    \
	do {                                                                                       \
		uint32_t csr_;                                                                     \
		__asm__ volatile("stmxcsr %0" : "=m"(was));                                        \
		csr_ = (was) | (uint32_t)(direction) << 3;                                         \
		__asm__ volatile("ldmxcsr %0" : : "m"(csr_));                                      \
	} while (0)
#define FP_TURN_BACK(was) __asm__ volatile("ldmxcsr %0" : : "m"(was))
#define FP_DIRECTED_LOOP(vec, n, load, store, expr)                                                \
	for (unsigned i = 0; i < CPU_WARP; i += (n)) {                                             \
		vec x = load(a + i), y = load(b + i), z = load(c + i), q;                          \
		FP_PINNED(x);                                                                      \
		FP_PINNED(y);                                                                      \
		FP_PINNED(z);                                                                      \
		(void)y, (void)z;                                                                  \
		q = (expr);                                                                        \
		FP_PINNED(q);                                                                      \
		store(r + i, q);                                                                   \
	}
#define FP_DIRECTED(name, type, vec, n, s)                                                         \
	static inline void name(enum fp_arith op, int direction, const type *a, const type *b,     \
				const type *c, type *r)                                            \
	{                                                                                          \
		uint32_t was;                                                                      \
		FP_TURN(was, direction);                                                           \
		switch (op) {                                                                      \
		case FP_ADD:                                                                       \
			FP_DIRECTED_LOOP(vec, n, _mm256_loadu_##s, _mm256_storeu_##s,              \
					 _mm256_add_##s(x, y))                                     \
			break;                                                                     \
		case FP_SUB:                                                                       \
			FP_DIRECTED_LOOP(vec, n, _mm256_loadu_##s, _mm256_storeu_##s,              \
					 _mm256_sub_##s(x, y))                                     \
			break;                                                                     \
		case FP_MUL:                                                                       \
			FP_DIRECTED_LOOP(vec, n, _mm256_loadu_##s, _mm256_storeu_##s,              \
					 _mm256_mul_##s(x, y))                                     \
			break;                                                                     \
		case FP_FMA:                                                                       \
			FP_DIRECTED_LOOP(vec, n, _mm256_loadu_##s, _mm256_storeu_##s,              \
					 _mm256_fmadd_##s(x, y, z))                                \
			break;                                                                     \
		case FP_DIV:                                                                       \
			FP_DIRECTED_LOOP(vec, n, _mm256_loadu_##s, _mm256_storeu_##s,              \
					 _mm256_div_##s(x, y))                                     \
			break;                                                                     \
		case FP_SQRT:                                                                      \
			FP_DIRECTED_LOOP(vec, n, _mm256_loadu_##s, _mm256_storeu_##s,              \
					 _mm256_sqrt_##s(x))                                       \
			break;                                                                     \
		case FP_RCP:                                                                       \
			FP_DIRECTED_LOOP(vec, n, _mm256_loadu_##s, _mm256_storeu_##s,              \
					 _mm256_div_##s(_mm256_set1_##s(1), x))                    \
			break;                                                                     \
		}                                                                                  \
		FP_TURN_BACK(was);                                                                 \
	}
FP_DIRECTED(fp_directed32, float, __m256, 8, ps)
FP_DIRECTED(fp_directed64, double, __m256d, 4, pd)
#else
#define FP_DIRECTED_LOOP(expr)                                                                     \
	for (unsigned i = 0; i < CPU_WARP; i++)                                                    \
	r[i] = (expr)
#define FP_DIRECTED(name, type, fma_fn, sqrt_fn)                                                   \
	static inline void name(enum fp_arith op, int direction, const volatile type *a,           \
				const volatile type *b, const volatile type *c, volatile type *r)  \
	{                                                                                          \
		if (direction != FE_TONEAREST)                                                     \
			fesetround(direction);                                                     \
		switch (op) {                                                                      \
		case FP_ADD:                                                                       \
			FP_DIRECTED_LOOP(a[i] + b[i]);                                             \
			break;                                                                     \
		case FP_SUB:                                                                       \
			FP_DIRECTED_LOOP(a[i] - b[i]);                                             \
			break;                                                                     \
		case FP_MUL:                                                                       \
			FP_DIRECTED_LOOP(a[i] * b[i]);                                             \
			break;                                                                     \
		case FP_FMA:                                                                       \
			FP_DIRECTED_LOOP(fma_fn(a[i], b[i], c[i]));                                \
			break;                                                                     \
		case FP_DIV:                                                                       \
			FP_DIRECTED_LOOP(a[i] / b[i]);                                             \
			break;                                                                     \
		case FP_SQRT:                                                                      \
			FP_DIRECTED_LOOP(sqrt_fn(a[i]));                                           \
			break;                                                                     \
		case FP_RCP:                                                                       \
			FP_DIRECTED_LOOP((type)1 / a[i]);                                          \
			break;                                                                     \
		}                                                                                  \
		if (direction != FE_TONEAREST)                                                     \
			fesetround(FE_TONEAREST);                                                  \
	}
FP_DIRECTED(fp_directed32, float, fmaf, sqrtf)
FP_DIRECTED(fp_directed64, double, fma, sqrt)
#endif

/* ---- binders --------------------------------------------------------------------------- */

/* Slots of a destination and n sources, all of type t. */
static inline enum cpu_bound fp_bind(struct cpu_dec *d, const struct ptx_stmt *s,
				     struct cpu_inst *in, enum ptx_type t, unsigned n, cpu_exec *fn)
{
	static const uint8_t cls[] = {[1] = CPU_B16, [2] = CPU_B16, [4] = CPU_B32, [8] = CPU_B64};

	if (s->nops != n + 1)
		return cpu_dec_unsupported(d, in, "unexpected number of operands");
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	if (in->dst[0] == CPU_NOSLOT)
		in->dst[0] = cpu_dec_temp(d, (enum cpu_class)cls[ptx_type_bytes(t)]);
	for (unsigned i = 0; i < n; i++)
		in->src[i] = cpu_dec_src(d, &s->ops[i + 1], t);
	in->fn = fn;
	return CPU_BOUND;
}

/* Only modifiers that the binder knows may be on a form: others would be ignored silently. */
static inline bool fp_has_only(const struct ptx_form *f, const uint16_t *known, unsigned n)
{
	for (unsigned i = 0; i < f->nmods; i++) {
		unsigned k = 0;

		while (k < n && known[k] != f->mods[i])
			k++;
		if (k == n)
			return false;
	}
	return true;
}
#define FP_ONLY(f, ...)                                                                            \
	fp_has_only(f, (const uint16_t[]){__VA_ARGS__},                                            \
		    BASE_COUNTOF(((const uint16_t[]){__VA_ARGS__})))

#endif
