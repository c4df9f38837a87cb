/*
 * cvt.c - cvt between scalar types, cvt.pack.
 *
 * Conversions that compilers generate often have a vector loop, found in the table of fast
 * conversions; integers of all widths share one (mask, xor, subtract extends a sign of any width).
 * The rest, saturation and directed rounding among it, goes value by value through fp_num.h at some
 * 10 ns each. A source register may be wider than its type (the low bits count), a destination too
 * (extended as the destination type says). PTX ISA 9.7.9 cvt: out of range clamps; NaN becomes 0,
 * or 1 << (bits - 1) where the source is f64 or the destination has 64 bits. Packed types are in
 * cvt_pack.c; .rs (stochastic) is refused.
 */
#include "cpu/jit/cvt_int.h"
#include "cpu/alu/fp_num.h"
#include "cpu/jit/rows.h"

cpu_binder CPU_BINDER(cvt);

/* ---- integers to integers ------------------------------------------------------------- */

#define CVT_INT(name, S, D, W)                                                                     \
	static inline D name##_lane(S a, W m0, W s0, W m1, W s1)                                   \
	{                                                                                          \
		W v = (W)((((W)a & m0) ^ s0) - s0);                                                \
                                                                                                   \
		return (D)(((v & m1) ^ s1) - s1);                                                  \
	}                                                                                          \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		const struct cvt_int *c = (const struct cvt_int *)in->aux;                         \
		W m0 = (W)c->mask[0], s0 = (W)c->sign[0];                                          \
		W m1 = (W)c->mask[1], s1 = (W)c->sign[1];                                          \
		const S *a = (const S *)cpu_slot(w, in->src[0]);                                   \
		D *d = (D *)cpu_slot(w, in->dst[0]);                                               \
                                                                                                   \
		FP_LANES(l, mask, D, d, name##_lane(a[l], m0, s0, m1, s1));                        \
		return CPU_OK;                                                                     \
	}

CVT_INT(int_16_16, uint16_t, uint16_t, uint32_t)
CVT_INT(int_32_16, uint16_t, uint32_t, uint32_t)
CVT_INT(int_64_16, uint16_t, uint64_t, uint64_t)
CVT_INT(int_16_32, uint32_t, uint16_t, uint32_t)
CVT_INT(int_32_32, uint32_t, uint32_t, uint32_t)
CVT_INT(int_64_32, uint32_t, uint64_t, uint64_t)
CVT_INT(int_16_64, uint64_t, uint16_t, uint32_t)
CVT_INT(int_32_64, uint64_t, uint32_t, uint32_t)
CVT_INT(int_64_64, uint64_t, uint64_t, uint64_t)
/* [destination register][source register], by class from CPU_B16. */
static cpu_exec *const cvt_ints[3][3] = {
	{int_16_16, int_16_32, int_16_64},
	{int_32_16, int_32_32, int_32_64},
	{int_64_16, int_64_32, int_64_64},
};

/* ---- fast conversions ------------------------------------------------------------------ */

/* d of type D, from a of type S: expr of x. */
#define CVT_FN(name, S, D, expr)                                                                   \
	static inline D name##_lane(S x)                                                           \
	{                                                                                          \
		return (expr);                                                                     \
	}                                                                                          \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		const S *a = (const S *)cpu_slot(w, in->src[0]);                                   \
		D *d = (D *)cpu_slot(w, in->dst[0]);                                               \
                                                                                                   \
		FP_LANES(l, mask, D, d, name##_lane(a[l]));                                        \
		return CPU_OK;                                                                     \
	}

/* Integral or NaN. */
static inline uint32_t whole_to_s32(float x)
{
	float c = x > -0x1p31f ? x : -0x1p31f;

	c = c < 0x1.fffffep30f ? c : 0x1.fffffep30f;
	uint32_t r = (uint32_t)(int32_t)c;

	r = x >= 0x1p31f ? 0x7fffffffu : r;
	return x == x ? r : 0;
}

static inline uint32_t whole_to_u32(float x)
{
	bool is_big = x >= 0x1p31f;
	float c = is_big ? x - 0x1p31f : x;

	c = c > 0.0f ? c : 0.0f;
	c = c < 0x1.fffffep30f ? c : 0x1.fffffep30f;
	uint32_t r = (uint32_t)(int32_t)c;

	r = is_big ? r | 0x80000000u : r;
	return x >= 0x1p32f ? UINT32_MAX : r;
}

/* A NaN becomes 1 << 31, or 1 << 63. */
static inline uint32_t whole64_to_s32(double x)
{
	double c = x > -0x1p31 ? x : -0x1p31;

	c = c < 0x1.fffffffcp30 ? c : 0x1.fffffffcp30;
	return (uint32_t)(int32_t)c;
}

static inline uint32_t whole64_to_u32(double x)
{
	double c = x > 0.0 ? x : 0.0;

	c = c < 0x1.fffffffep31 ? c : 0x1.fffffffep31;
	c = x == x ? c : 0x1p31;
	return (uint32_t)(int32_t)(c - 0x1p31) ^ 0x80000000u;
}

static inline uint64_t whole64_to_s64(double x)
{
	if (!(x > -0x1p63))
		return 1ull << 63;
	return x < 0x1p63 ? (uint64_t)(int64_t)x : INT64_MAX;
}

static inline uint64_t whole64_to_u64(double x)
{
	if (!(x > 0.0))
		return x == x ? 0 : 1ull << 63;
	if (x < 0x1p63)
		return (uint64_t)(int64_t)x;
	return x < 0x1p64 ? (uint64_t)(int64_t)(x - 0x1p63) ^ 1ull << 63 : UINT64_MAX;
}

CVT_FN(f32_s32, uint32_t, uint32_t, fp_b32((float)(int32_t)x))
CVT_FN(f32_u32, uint32_t, uint32_t, fp_b32((float)x))
CVT_FN(f64_s32, uint32_t, uint64_t, fp_b64((double)(int32_t)x))
CVT_FN(f64_u32, uint32_t, uint64_t, fp_b64((double)x))
CVT_FN(f32_s64, uint64_t, uint32_t, fp_b32((float)(int64_t)x))
CVT_FN(f32_u64, uint64_t, uint32_t, fp_b32((float)x))
CVT_FN(f64_s64, uint64_t, uint64_t, fp_b64((double)(int64_t)x))
CVT_FN(f64_u64, uint64_t, uint64_t, fp_b64((double)x))
/* A NaN keeps what fits of its payload, on the GPU as here. */
CVT_FN(f32_f64, uint64_t, uint32_t, fp_b32((float)fp_f64(x)))
CVT_FN(f64_f32, uint32_t, uint64_t, fp_b64((double)fp_f32(x)))
CVT_FN(f32_bf16, uint16_t, uint32_t, (uint32_t)x << 16)
CVT_FN(bf16_f32, uint32_t, uint16_t, fp_to_bf16_one(fp_f32(x)))
CVT_FN(tf32_rna_f32, uint32_t, uint32_t,
       ((x & 0x7fffffffu) < 0x7f800000u ? x + 0x1000u : x) & 0xffffe000u)
CVT_FN(move_32, uint32_t, uint32_t, x)
CVT_FN(move_64, uint64_t, uint64_t, x)
CVT_FN(sat_f32, uint32_t, uint32_t, fp_out32(fp_f32(x), false, true))

#define CVT_ROUNDED(suffix, round32)                                                               \
	CVT_FN(s32_f32_##suffix, uint32_t, uint32_t, whole_to_s32(round32(fp_f32(x))))             \
	CVT_FN(u32_f32_##suffix, uint32_t, uint32_t, whole_to_u32(round32(fp_f32(x))))             \
	CVT_FN(f32_f32_##suffix, uint32_t, uint32_t, fp_out32(round32(fp_f32(x)), false, false))

CVT_ROUNDED(rni, __builtin_rintf)
CVT_ROUNDED(rzi, __builtin_truncf)
CVT_ROUNDED(rmi, __builtin_floorf)
CVT_ROUNDED(rpi, __builtin_ceilf)

#define CVT_ROUNDED64(suffix, round64)                                                             \
	CVT_FN(s32_f64_##suffix, uint64_t, uint32_t, whole64_to_s32(round64(fp_f64(x))))           \
	CVT_FN(u32_f64_##suffix, uint64_t, uint32_t, whole64_to_u32(round64(fp_f64(x))))           \
	CVT_FN(f64_f64_##suffix, uint64_t, uint64_t,                                               \
	       fp_out64(round64(fp_f64(x)), fp_f64(x), fp_f64(x), fp_f64(x)))

CVT_ROUNDED64(rni, __builtin_rint)
CVT_ROUNDED64(rzi, __builtin_trunc)
CVT_ROUNDED64(rmi, __builtin_floor)
CVT_ROUNDED64(rpi, __builtin_ceil)
/* Lane by lane: AVX2 has no such conversion. */
CVT_FN(s64_f64_rzi, uint64_t, uint64_t, whole64_to_s64(fp_f64(x)))
CVT_FN(u64_f64_rzi, uint64_t, uint64_t, whole64_to_u64(__builtin_trunc(fp_f64(x))))
CVT_FN(s64_f32_rzi, uint32_t, uint64_t, whole64_to_s64((double)fp_f32(x)))
CVT_FN(u64_f32_rzi, uint32_t, uint64_t, whole64_to_u64(__builtin_trunc((double)fp_f32(x))))

static enum cpu_step f32_f16(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	float f[CPU_WARP];

	fp_from_half(cpu_u16(w, in->src[0]), f, CPU_WARP);
	FP_LANES(l, mask, uint32_t, d, fp_out32(f[l], false, false));
	return CPU_OK;
}

static enum cpu_step f16_f32(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint16_t *d = cpu_u16(w, in->dst[0]), h[CPU_WARP];
	const uint32_t *a = cpu_u32(w, in->src[0]);
	float f[CPU_WARP];

	for (unsigned l = 0; l < CPU_WARP; l++)
		f[l] = fp_f32(a[l]);
	fp_to_half(f, h, CPU_WARP);
	FP_LANES(l, mask, uint16_t, d, h[l]);
	return CPU_OK;
}

#define T(t) PTX_TYPE_##t
/* Registers as wide as their types, this rounding, no other modifier but .ftz where it says so. */
static const struct cvt_fast {
	uint8_t dtype, stype;
	uint16_t round; /* enum ptx_mod, or 0 */
	bool ftz_too, is_sat;
	cpu_exec *fn;
} cvt_fasts[] = {
	{T(F32), T(S32), PTX_MOD_RN, false, false, f32_s32},
	{T(F32), T(U32), PTX_MOD_RN, false, false, f32_u32},
	{T(F32), T(S64), PTX_MOD_RN, false, false, f32_s64},
	{T(F32), T(U64), PTX_MOD_RN, false, false, f32_u64},
	{T(F64), T(S32), PTX_MOD_RN, false, false, f64_s32},
	{T(F64), T(U32), PTX_MOD_RN, false, false, f64_u32},
	{T(F64), T(S64), PTX_MOD_RN, false, false, f64_s64},
	{T(F64), T(U64), PTX_MOD_RN, false, false, f64_u64},
	{T(F32), T(F64), PTX_MOD_RN, false, false, f32_f64},
	{T(F64), T(F32), 0, false, false, f64_f32},
	{T(F32), T(F16), 0, true, false, f32_f16},
	{T(F32), T(BF16), 0, false, false, f32_bf16},
	{T(F16), T(F32), PTX_MOD_RN, false, false, f16_f32},
	{T(BF16), T(F32), PTX_MOD_RN, false, false, bf16_f32},
	{T(TF32), T(F32), PTX_MOD_RNA, false, false, tf32_rna_f32},
	{T(F32), T(F32), 0, false, false, move_32},
	{T(F64), T(F64), 0, false, false, move_64},
	{T(F32), T(F32), 0, false, true, sat_f32},
	{T(S32), T(F32), PTX_MOD_RNI, true, false, s32_f32_rni},
	{T(S32), T(F32), PTX_MOD_RZI, true, false, s32_f32_rzi},
	{T(S32), T(F32), PTX_MOD_RMI, false, false, s32_f32_rmi},
	{T(S32), T(F32), PTX_MOD_RPI, false, false, s32_f32_rpi},
	{T(U32), T(F32), PTX_MOD_RNI, true, false, u32_f32_rni},
	{T(U32), T(F32), PTX_MOD_RZI, true, false, u32_f32_rzi},
	{T(U32), T(F32), PTX_MOD_RMI, false, false, u32_f32_rmi},
	{T(U32), T(F32), PTX_MOD_RPI, false, false, u32_f32_rpi},
	{T(F32), T(F32), PTX_MOD_RNI, true, false, f32_f32_rni},
	{T(F32), T(F32), PTX_MOD_RZI, true, false, f32_f32_rzi},
	{T(F32), T(F32), PTX_MOD_RMI, false, false, f32_f32_rmi},
	{T(F32), T(F32), PTX_MOD_RPI, false, false, f32_f32_rpi},
	{T(S32), T(F64), PTX_MOD_RNI, false, false, s32_f64_rni},
	{T(S32), T(F64), PTX_MOD_RZI, false, false, s32_f64_rzi},
	{T(S32), T(F64), PTX_MOD_RMI, false, false, s32_f64_rmi},
	{T(S32), T(F64), PTX_MOD_RPI, false, false, s32_f64_rpi},
	{T(U32), T(F64), PTX_MOD_RNI, false, false, u32_f64_rni},
	{T(U32), T(F64), PTX_MOD_RZI, false, false, u32_f64_rzi},
	{T(U32), T(F64), PTX_MOD_RMI, false, false, u32_f64_rmi},
	{T(U32), T(F64), PTX_MOD_RPI, false, false, u32_f64_rpi},
	{T(F64), T(F64), PTX_MOD_RNI, false, false, f64_f64_rni},
	{T(F64), T(F64), PTX_MOD_RZI, false, false, f64_f64_rzi},
	{T(F64), T(F64), PTX_MOD_RMI, false, false, f64_f64_rmi},
	{T(F64), T(F64), PTX_MOD_RPI, false, false, f64_f64_rpi},
	{T(S64), T(F64), PTX_MOD_RZI, false, false, s64_f64_rzi},
	{T(U64), T(F64), PTX_MOD_RZI, false, false, u64_f64_rzi},
	{T(S64), T(F32), PTX_MOD_RZI, true, false, s64_f32_rzi},
	{T(U64), T(F32), PTX_MOD_RZI, true, false, u64_f32_rzi},
};

/* ---- integers of 8 and 16 bits, from and to floats ------------------------------------- */

struct cvt_small {
	uint32_t mask, sign; /* of the source, as in struct cvt_int */
	uint32_t keep;	     /* bits of the destination's slot */
	float least, most;
};

/* Exact, whatever the rounding. */
#define CVT_FROM_SMALL(name, S, D, bits, type)                                                     \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		const struct cvt_small *c = (const struct cvt_small *)in->aux;                     \
		uint32_t m = c->mask, s = c->sign;                                                 \
		const S *a = (const S *)cpu_slot(w, in->src[0]);                                   \
		D *d = (D *)cpu_slot(w, in->dst[0]);                                               \
                                                                                                   \
		FP_LANES(l, mask, D, d, bits((type)(int32_t)(((a[l] & m) ^ s) - s)));              \
		return CPU_OK;                                                                     \
	}
CVT_FROM_SMALL(f32_small_16, uint16_t, uint32_t, fp_b32, float)
CVT_FROM_SMALL(f32_small_32, uint32_t, uint32_t, fp_b32, float)
CVT_FROM_SMALL(f64_small_16, uint16_t, uint64_t, fp_b64, double)
CVT_FROM_SMALL(f64_small_32, uint32_t, uint64_t, fp_b64, double)

static inline uint32_t whole_to_small(float x, float least, float most)
{
	float c = x > least ? x : least;

	c = c < most ? c : most;
	return x == x ? (uint32_t)(int32_t)c : 0;
}

#define CVT_TO_SMALL(name, D, round32)                                                             \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)    \
	{                                                                                          \
		const struct cvt_small *c = (const struct cvt_small *)in->aux;                     \
		float least = c->least, most = c->most;                                            \
		uint32_t k = c->keep;                                                              \
		const uint32_t *a = cpu_u32(w, in->src[0]);                                        \
		D *d = (D *)cpu_slot(w, in->dst[0]);                                               \
                                                                                                   \
		FP_LANES(l, mask, D, d,                                                            \
			 (D)(whole_to_small(round32(fp_f32(a[l])), least, most) & k));             \
		return CPU_OK;                                                                     \
	}
CVT_TO_SMALL(small_16_rni, uint16_t, __builtin_rintf)
CVT_TO_SMALL(small_16_rzi, uint16_t, __builtin_truncf)
CVT_TO_SMALL(small_16_rmi, uint16_t, __builtin_floorf)
CVT_TO_SMALL(small_16_rpi, uint16_t, __builtin_ceilf)
CVT_TO_SMALL(small_32_rni, uint32_t, __builtin_rintf)
CVT_TO_SMALL(small_32_rzi, uint32_t, __builtin_truncf)
CVT_TO_SMALL(small_32_rmi, uint32_t, __builtin_floorf)
CVT_TO_SMALL(small_32_rpi, uint32_t, __builtin_ceilf)

/* ---- everything else ------------------------------------------------------------------------- */

struct cvt_type {
	enum ptx_type type;
	uint8_t bits;
	bool is_signed;
	const struct num_format *format; /* NULL: an integer */
};

static const struct cvt_type cvt_types[] = {
	{T(U8), 8, false, NULL},	 {T(S8), 8, true, NULL},
	{T(U16), 16, false, NULL},	 {T(S16), 16, true, NULL},
	{T(U32), 32, false, NULL},	 {T(S32), 32, true, NULL},
	{T(U64), 64, false, NULL},	 {T(S64), 64, true, NULL},
	{T(B8), 8, false, NULL},	 {T(B16), 16, false, NULL},
	{T(B32), 32, false, NULL},	 {T(B64), 64, false, NULL},
	{T(F16), 16, false, &num_f16},	 {T(BF16), 16, false, &num_bf16},
	{T(F32), 32, false, &num_f32},	 {T(F64), 64, false, &num_f64},
	{T(TF32), 32, false, &num_tf32},
};

static const struct cvt_type *cvt_find(enum ptx_type t)
{
	for (unsigned i = 0; i < BASE_COUNTOF(cvt_types); i++)
		if (cvt_types[i].type == t)
			return &cvt_types[i];
	return NULL;
}

struct cvt_any {
	const struct cvt_type *d, *s;
	uint8_t dbytes, sbytes; /* of the registers */
	bool ftz, sat, relu, satfinite, is_integral;
	enum num_round round;
};

static uint64_t cvt_extend(uint64_t v, unsigned bits, bool is_signed)
{
	v <<= 64 - bits;
	return is_signed ? (uint64_t)((int64_t)v >> (64 - bits)) : v >> (64 - bits);
}

/* To or from f64 a NaN keeps its sign and the upper bits of its payload, quieted. */
static uint64_t cvt_nan(const struct num_format *d, const struct num_format *s, struct num n)
{
	uint64_t payload = n.sig << (52 - s->man_bits) | FP_QUIET64;
	uint64_t top = ((1ull << d->exp_bits) - 1) << d->man_bits;

	return (uint64_t)n.neg << (d->exp_bits + d->man_bits) | top | payload >> (52 - d->man_bits);
}

/* One value, from the bits of the source type to those of the destination type. */
static uint64_t cvt_value(const struct cvt_any *c, uint64_t u)
{
	const struct cvt_type *d = c->d, *s = c->s;
	struct num n;

	u = cvt_extend(u, s->bits, s->is_signed);
	if (s->format) {
		/* For an f16 result subnormals are kept nevertheless (H100; .rm and .rp show the
		 * difference). */
		if (c->ftz && s->type == PTX_TYPE_F32 && d->type != PTX_TYPE_F16)
			u = fp_out32(fp_f32((uint32_t)u), true, false);
		n = num_unpack(s->format, s->type == PTX_TYPE_TF32 ? u >> 13 : u);
	} else {
		n = num_from_int(u, s->is_signed);
	}
	if (!d->format) {
		if (n.kind == NUM_NAN)
			return s->bits == 64 || d->bits == 64 ? 1ull << (d->bits - 1) : 0;
		return num_to_int(n, d->bits, d->is_signed, c->round);
	}
	if (n.kind == NUM_NAN && !c->sat && (s->bits == 64 || d->bits == 64))
		return cvt_nan(d->format, s->format, n);
	if (c->is_integral)
		n = num_integral(n, c->round);
	if (c->sat)
		n = num_saturate(n);
	if (c->relu)
		n = num_relu(n);
	u = num_pack(d->format, n, c->round, c->satfinite);
	if (d->type == PTX_TYPE_TF32)
		u <<= 13;
	if (c->ftz && d->type == PTX_TYPE_F32)
		u = fp_flush32((uint32_t)u);
	return u;
}

static enum cpu_step cvt_exec(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cvt_any *c = (const struct cvt_any *)in->aux;
	const void *a = cpu_slot(w, in->src[0]);
	void *d = cpu_slot(w, in->dst[0]);

	CPU_EACH_LANE (l, mask) {
		uint64_t u = c->sbytes == 8   ? ((const uint64_t *)a)[l]
			     : c->sbytes == 4 ? ((const uint32_t *)a)[l]
					      : ((const uint16_t *)a)[l];
		u = cvt_extend(cvt_value(c, u), c->d->bits, c->d->is_signed);
		if (c->dbytes == 8)
			((uint64_t *)d)[l] = u;
		else if (c->dbytes == 4)
			((uint32_t *)d)[l] = (uint32_t)u;
		else if (c->dbytes == 2)
			((uint16_t *)d)[l] = (uint16_t)u;
		else
			((uint16_t *)d)[l] = (uint8_t)u;
	}
	return CPU_OK;
}

/* ---- cvt.pack ------------------------------------------------------------------------------- */

struct cvt_pack {
	uint32_t bits;
	int64_t least, most;
};

static inline uint32_t pack_clamp(const struct cvt_pack *p, uint32_t v)
{
	int64_t x = (int32_t)v;

	x = x < p->least ? p->least : x;
	x = x > p->most ? p->most : x;
	return (uint32_t)x & ((1u << p->bits) - 1u);
}

/* d = c's low bits : a : b, the last in the lowest bits. */
static enum cpu_step pack_exec(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cvt_pack *p = (const struct cvt_pack *)in->aux;
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]);

	CPU_EACH_LANE (l, mask) {
		uint32_t v = pack_clamp(p, a[l]) << p->bits | pack_clamp(p, b[l]);

		if (in->src[2] != CPU_NOSLOT)
			v |= cpu_u32(w, in->src[2])[l] << 2 * p->bits;
		d[l] = v;
	}
	return CPU_OK;
}

static enum cpu_bound bind_pack(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	static const struct {
		enum ptx_type type;
		uint8_t bits;
		bool is_signed;
	} packs[] = {{T(U2), 2, false}, {T(S2), 2, true}, {T(U4), 4, false},   {T(S4), 4, true},
		     {T(U8), 8, false}, {T(S8), 8, true}, {T(U16), 16, false}, {T(S16), 16, true}};
	const struct ptx_form *f = s->form;
	struct cvt_pack *p = (struct cvt_pack *)cpu_dec_alloc(d, sizeof(*p));

	for (unsigned i = 0; i < BASE_COUNTOF(packs); i++)
		if (packs[i].type == (enum ptx_type)f->types[0]) {
			p->bits = packs[i].bits;
			p->most = ((int64_t)1 << (p->bits - packs[i].is_signed)) - 1;
			p->least = packs[i].is_signed ? -p->most - 1 : 0;
		}
	if (!p->bits || f->ntypes < 2 || f->types[1] != PTX_TYPE_S32 || !FP_ONLY(f, PTX_MOD_SAT) ||
	    s->nops != (p->bits == 16 ? 3 : 4))
		return cpu_dec_unsupported(d, in, "types of cvt.pack");
	in->aux = p;
	in->src[2] = CPU_NOSLOT;
	return fp_bind(d, s, in, PTX_TYPE_B32, s->nops - 1u, pack_exec);
}

/* ---- the binder ------------------------------------------------------------------------------ */

static enum num_round cvt_round(const struct ptx_form *f)
{
	if (ptx_form_has(f, PTX_MOD_RZ) || ptx_form_has(f, PTX_MOD_RZI))
		return NUM_RZ;
	if (ptx_form_has(f, PTX_MOD_RM) || ptx_form_has(f, PTX_MOD_RMI))
		return NUM_RM;
	if (ptx_form_has(f, PTX_MOD_RP) || ptx_form_has(f, PTX_MOD_RPI))
		return NUM_RP;
	return ptx_form_has(f, PTX_MOD_RNA) ? NUM_RNA : NUM_RN;
}

static bool cvt_is_integral(const struct ptx_form *f)
{
	return ptx_form_has(f, PTX_MOD_RNI) || ptx_form_has(f, PTX_MOD_RZI) ||
	       ptx_form_has(f, PTX_MOD_RMI) || ptx_form_has(f, PTX_MOD_RPI);
}

static cpu_exec *cvt_find_fast(const struct ptx_form *f, const struct cvt_any *c)
{
	if (c->relu || c->satfinite || c->dbytes * 8 != c->d->bits || c->sbytes * 8 != c->s->bits)
		return NULL;
	for (unsigned i = 0; i < BASE_COUNTOF(cvt_fasts); i++) {
		const struct cvt_fast *q = &cvt_fasts[i];
		bool has_round = !q->round || ptx_form_has(f, (enum ptx_mod)q->round);

		if (q->dtype == c->d->type && q->stype == c->s->type && has_round &&
		    q->is_sat == c->sat && (!c->ftz || q->ftz_too) &&
		    f->nmods == (q->round != 0) + c->sat + c->ftz)
			return q->fn;
	}
	return NULL;
}

static cpu_exec *find_small(const struct cvt_any *c)
{
	static const struct {
		uint8_t dbytes;
		enum num_round round;
		cpu_exec *fn;
	} to[] = {
		{2, NUM_RN, small_16_rni}, {2, NUM_RZ, small_16_rzi}, {2, NUM_RM, small_16_rmi},
		{2, NUM_RP, small_16_rpi}, {4, NUM_RN, small_32_rni}, {4, NUM_RZ, small_32_rzi},
		{4, NUM_RM, small_32_rmi}, {4, NUM_RP, small_32_rpi},
	};
	unsigned reg = c->dbytes == 1 ? 2 : c->dbytes;

	if (!c->s->format && c->s->bits <= 16 && c->sbytes <= 4) {
		if (c->d->type == PTX_TYPE_F32 && c->dbytes == 4)
			return c->sbytes == 4 ? f32_small_32 : f32_small_16;
		if (c->d->type == PTX_TYPE_F64 && c->dbytes == 8)
			return c->sbytes == 4 ? f64_small_32 : f64_small_16;
		return NULL;
	}
	if (c->d->format || c->d->bits > 16 || c->s->type != PTX_TYPE_F32 || c->sbytes != 4 ||
	    !c->is_integral || (c->ftz && c->round != NUM_RN && c->round != NUM_RZ))
		return NULL;
	for (unsigned i = 0; i < BASE_COUNTOF(to); i++)
		if (to[i].dbytes == reg && to[i].round == c->round)
			return to[i].fn;
	return NULL;
}

/* False: it is none of those. */
static bool bind_small(struct cpu_dec *d, struct cpu_inst *in, const struct cvt_any *c)
{
	cpu_exec *fn = c->sat || c->relu || c->satfinite ? NULL : find_small(c);
	struct cvt_small *k;

	if (!fn)
		return false;
	k = (struct cvt_small *)cpu_dec_alloc(d, sizeof(*k));
	if (!c->s->format) {
		k->mask = (1u << c->s->bits) - 1;
		k->sign = c->s->is_signed ? 1u << (c->s->bits - 1) : 0;
	}
	/* An 8-bit register lies zero-extended in its slot. */
	k->keep = c->dbytes == 1 ? 0xff : UINT32_MAX;
	if (!c->d->format) {
		k->most = (float)((1u << (c->d->bits - c->d->is_signed)) - 1);
		k->least = c->d->is_signed ? -k->most - 1 : 0;
	}
	in->aux = k;
	in->fn = fn;
	return true;
}

static enum cpu_bound bind_int(struct cpu_dec *d, struct cpu_inst *in, const struct cvt_any *c)
{
	static const uint8_t cls[] = {[1] = 0, [2] = 0, [4] = 1, [8] = 2};
	struct cvt_int *k = (struct cvt_int *)cpu_dec_alloc(d, sizeof(*k));
	const struct cvt_type *t[2] = {c->s, c->d};

	for (unsigned i = 0; i < 2; i++) {
		k->mask[i] = UINT64_MAX >> (64 - t[i]->bits);
		k->sign[i] = t[i]->is_signed ? 1ull << (t[i]->bits - 1) : 0;
	}
	/* An 8-bit register lies zero-extended in its slot, so a sign must not spread there. */
	if (c->dbytes == 1)
		k->sign[1] = 0;
	in->aux = k;
	in->fn = cvt_ints[cls[c->dbytes]][cls[c->sbytes]];
	return CPU_BOUND;
}

static enum cpu_bound bind_cvt(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			       const struct cvt_type *dt, const struct cvt_type *st)
{
	const struct ptx_form *f = s->form;
	struct cvt_any *c = (struct cvt_any *)cpu_dec_alloc(d, sizeof(*c));

	if (s->nops != 2 || !FP_ONLY(f, PTX_MOD_RN, PTX_MOD_RZ, PTX_MOD_RM, PTX_MOD_RP, PTX_MOD_RNA,
				     PTX_MOD_RNI, PTX_MOD_RZI, PTX_MOD_RMI, PTX_MOD_RPI,
				     PTX_MOD_FTZ, PTX_MOD_SAT, PTX_MOD_RELU, PTX_MOD_SATFINITE))
		return cpu_dec_unsupported(d, in, "modifier of cvt");
	*c = (struct cvt_any){.d = dt,
			      .s = st,
			      .dbytes = (uint8_t)cpu_dec_bytes(d, &s->ops[0], dt->type),
			      .sbytes = (uint8_t)cpu_dec_bytes(d, &s->ops[1], st->type),
			      .ftz = ptx_form_has(f, PTX_MOD_FTZ),
			      .sat = ptx_form_has(f, PTX_MOD_SAT),
			      .relu = ptx_form_has(f, PTX_MOD_RELU),
			      .satfinite = ptx_form_has(f, PTX_MOD_SATFINITE),
			      .is_integral = cvt_is_integral(f),
			      .round = cvt_round(f)};
	if (!c->dbytes || c->dbytes > 8 || !c->sbytes || c->sbytes > 8 || c->sbytes * 8 < st->bits)
		return cpu_dec_unsupported(d, in, "register of cvt");
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	if (in->dst[0] == CPU_NOSLOT)
		in->dst[0] = cpu_dec_temp(d, CPU_B64);
	in->src[0] = cpu_dec_src(d, &s->ops[1], st->type);
	if (!dt->format && !st->format && !c->sat)
		return bind_int(d, in, c);
	if (bind_small(d, in, c))
		return CPU_BOUND;
	in->aux = c;
	in->fn = cvt_find_fast(f, c);
	if (!in->fn)
		in->fn = cvt_exec;
	return CPU_BOUND;
}

enum cpu_bound CPU_BINDER(cvt)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;

	if (f->op == PTX_OP_CVT_PACK)
		return bind_pack(d, s, in);
	if (f->op != PTX_OP_CVT || f->ntypes != 2)
		return CPU_NOT_MINE;
	const struct cvt_type *dt = cvt_find((enum ptx_type)f->types[0]);
	const struct cvt_type *st = cvt_find((enum ptx_type)f->types[1]);

	return dt && st ? bind_cvt(d, s, in, dt, st) : CPU_NOT_MINE;
}

/* ---- machine code (jit/) ------------------------------------------------------------------ */

extern const struct jit_handler CPU_HANDLERS(cvt)[];
const struct jit_handler CPU_HANDLERS(cvt)[] = {
#define CVT(handler, ...) {handler, JIT_CVT_##handler},
#include "cpu/jit/rows.def"
	{NULL, JIT_NONE}};
