/*
 * compare.c - setp, set, testp of integers, f32 and f64. PTX ISA 9.3.1, 9.7.3, 9.7.6.
 *
 * Every comparison is one of two primitives for integers (eq, lt) or five for floats (eq, lt, le,
 * ne of ordered values, ordered) with operands exchanged or the result inverted: that includes the
 * unordered ones, since !(b <= a) is "less or unordered". A primitive gives the 32 results as one
 * word; the combination with a third predicate and the second result are word operations then.
 * Costs: .ftz copies both operands first.
 */
#include "cpu/alu/alu.h"
#include "cpu/jit/rows.h"

cpu_binder CPU_BINDER(compare);

/* in->sub */
enum {
	JOIN_AND = 1, /* with a third predicate, src[2] */
	JOIN_OR = 2,
	JOIN_XOR = 3,
	JOIN_MASK = 3,
	JOIN_NOT = 4,	/* the third one is inverted */
	SET_ONES = 8,	/* set: all ones or 0 */
	SET_FLOAT = 16, /* set: 1.0 or 0.0 */
	HAS_Q = 32	/* second destination */
};

static uint32_t join(unsigned how, uint32_t t, uint32_t c)
{
	switch (how & JOIN_MASK) {
	case JOIN_AND:
		return t & c;
	case JOIN_OR:
		return t | c;
	case JOIN_XOR:
		return t ^ c;
	default:
		return t;
	}
}

/* All but setp with one destination and two operands. */
static __attribute__((noinline)) enum cpu_step
finish_slow(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask, uint32_t t)
{
	uint32_t c = 0;

	if (in->sub & JOIN_MASK)
		c = *cpu_pred(w, in->src[2]) ^ (in->sub & JOIN_NOT ? UINT32_MAX : 0);
	const uint32_t p = join(in->sub, t, c), q = join(in->sub, ~t, c);
	if (in->sub & (SET_ONES | SET_FLOAT)) {
		const uint32_t yes = in->sub & SET_FLOAT ? 0x3f800000u : UINT32_MAX;
		uint32_t *d = cpu_u32(w, in->dst[0]);
		ALU_LOOP_(ALU_HINT_VECTOR, uint32_t, , (p >> l & 1u) ? yes : 0)
		return CPU_OK;
	}
	cpu_set_pred(w, in->dst[0], p, mask);
	if (in->sub & HAS_Q)
		cpu_set_pred(w, in->dst[1], q, mask);
	return CPU_OK;
}

static inline enum cpu_step finish(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				   uint32_t t)
{
	uint32_t *p;

	t ^= (uint32_t)in->imm; /* the inversion */
	if (in->sub)
		return finish_slow(w, in, mask, t);
	p = cpu_pred(w, in->dst[0]);
	*p = (*p & ~mask) | (t & mask);
	return CPU_OK;
}

/* ---- primitives ------------------------------------------------------------------- */

#define LOOP(name, T, ...)                                                                         \
	static inline uint32_t name(const T *as, const T *bs)                                      \
	{                                                                                          \
		uint32_t m = 0;                                                                    \
                                                                                                   \
		for (unsigned l = 0; l < CPU_WARP; l++) {                                          \
			const T a = as[l], b = bs[l];                                              \
			m |= (uint32_t)(__VA_ARGS__) << l;                                         \
		}                                                                                  \
		return m;                                                                          \
	}

#ifdef __AVX2__
#define LOAD(p, i) _mm256_loadu_si256((const __m256i *)(const void *)(p) + (i))

#define WORDS(name, T, ...)                                                                        \
	static inline uint32_t name(const T *as, const T *bs)                                      \
	{                                                                                          \
		uint32_t m = 0;                                                                    \
                                                                                                   \
		for (unsigned i = 0; i < 4; i++) {                                                 \
			const __m256i a = LOAD(as, i), b = LOAD(bs, i);                            \
			const __m256i r = __VA_ARGS__;                                             \
			m |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(r)) << 8 * i;        \
		}                                                                                  \
		return m;                                                                          \
	}
#define DOUBLES(name, T, ...)                                                                      \
	static inline uint32_t name(const T *as, const T *bs)                                      \
	{                                                                                          \
		uint32_t m = 0;                                                                    \
                                                                                                   \
		for (unsigned i = 0; i < 8; i++) {                                                 \
			const __m256i a = LOAD(as, i), b = LOAD(bs, i);                            \
			const __m256i r = __VA_ARGS__;                                             \
			m |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(r)) << 4 * i;        \
		}                                                                                  \
		return m;                                                                          \
	}
/* Packing interleaves the halves of both registers; the permutation puts them in order. */
#define HALVES(name, T, ...)                                                                       \
	static inline uint32_t name(const T *as, const T *bs)                                      \
	{                                                                                          \
		__m256i r[2];                                                                      \
                                                                                                   \
		for (unsigned i = 0; i < 2; i++) {                                                 \
			const __m256i a = LOAD(as, i), b = LOAD(bs, i);                            \
			r[i] = __VA_ARGS__;                                                        \
		}                                                                                  \
		r[0] = _mm256_permute4x64_epi64(_mm256_packs_epi16(r[0], r[1]), 0xd8);             \
		return (uint32_t)_mm256_movemask_epi8(r[0]);                                       \
	}
#define FLIP64(v) _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN))
#define FLOAT_IS(op, a, b)                                                                         \
	_mm256_castps_si256(_mm256_cmp_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), op))
#define DOUBLE_IS(op, a, b)                                                                        \
	_mm256_castpd_si256(_mm256_cmp_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b), op))

HALVES(eq_16, uint16_t, _mm256_cmpeq_epi16(a, b))
HALVES(not_lt_u16, uint16_t, _mm256_cmpeq_epi16(_mm256_max_epu16(a, b), a))
HALVES(lt_s16, int16_t, _mm256_cmpgt_epi16(b, a))
WORDS(eq_32, uint32_t, _mm256_cmpeq_epi32(a, b))
WORDS(not_lt_u32, uint32_t, _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a))
WORDS(lt_s32, int32_t, _mm256_cmpgt_epi32(b, a))
DOUBLES(eq_64, uint64_t, _mm256_cmpeq_epi64(a, b))
DOUBLES(lt_u64, uint64_t, _mm256_cmpgt_epi64(FLIP64(b), FLIP64(a)))
DOUBLES(lt_s64, int64_t, _mm256_cmpgt_epi64(b, a))
WORDS(eq_f32, float, FLOAT_IS(_CMP_EQ_OQ, a, b))
WORDS(lt_f32, float, FLOAT_IS(_CMP_LT_OQ, a, b))
WORDS(le_f32, float, FLOAT_IS(_CMP_LE_OQ, a, b))
WORDS(ne_f32, float, FLOAT_IS(_CMP_NEQ_OQ, a, b))
WORDS(ord_f32, float, FLOAT_IS(_CMP_ORD_Q, a, b))
DOUBLES(eq_f64, double, DOUBLE_IS(_CMP_EQ_OQ, a, b))
DOUBLES(lt_f64, double, DOUBLE_IS(_CMP_LT_OQ, a, b))
DOUBLES(le_f64, double, DOUBLE_IS(_CMP_LE_OQ, a, b))
DOUBLES(ne_f64, double, DOUBLE_IS(_CMP_NEQ_OQ, a, b))
DOUBLES(ord_f64, double, DOUBLE_IS(_CMP_ORD_Q, a, b))

static inline uint32_t lt_u16(const uint16_t *as, const uint16_t *bs)
{
	return ~not_lt_u16(as, bs);
}

static inline uint32_t lt_u32(const uint32_t *as, const uint32_t *bs)
{
	return ~not_lt_u32(as, bs);
}
#else
LOOP(eq_16, uint16_t, a == b)
LOOP(lt_u16, uint16_t, a < b)
LOOP(lt_s16, int16_t, a < b)
LOOP(eq_32, uint32_t, a == b)
LOOP(lt_u32, uint32_t, a < b)
LOOP(lt_s32, int32_t, a < b)
LOOP(eq_64, uint64_t, a == b)
LOOP(lt_u64, uint64_t, a < b)
LOOP(lt_s64, int64_t, a < b)
LOOP(eq_f32, float, a == b)
LOOP(lt_f32, float, a < b)
LOOP(le_f32, float, a <= b)
LOOP(ne_f32, float, a<b || a> b)
LOOP(ord_f32, float, a == a && b == b)
LOOP(eq_f64, double, a == b)
LOOP(lt_f64, double, a < b)
LOOP(le_f64, double, a <= b)
LOOP(ne_f64, double, a<b || a> b)
LOOP(ord_f64, double, a == a && b == b)
#endif

#define COMPARE(name, T, primitive)                                                                \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		const T *as = cpu_slot(w, in->src[0]), *bs = cpu_slot(w, in->src[1]);              \
		return finish(w, in, mask, primitive(as, bs));                                     \
	}
COMPARE(setp_eq_16, uint16_t, eq_16)
COMPARE(setp_lt_u16, uint16_t, lt_u16)
COMPARE(setp_lt_s16, int16_t, lt_s16)
COMPARE(setp_eq_32, uint32_t, eq_32)
COMPARE(setp_lt_u32, uint32_t, lt_u32)
COMPARE(setp_lt_s32, int32_t, lt_s32)
COMPARE(setp_eq_64, uint64_t, eq_64)
COMPARE(setp_lt_u64, uint64_t, lt_u64)
COMPARE(setp_lt_s64, int64_t, lt_s64)
COMPARE(setp_eq_f32, float, eq_f32)
COMPARE(setp_lt_f32, float, lt_f32)
COMPARE(setp_le_f32, float, le_f32)
COMPARE(setp_ne_f32, float, ne_f32)
COMPARE(setp_ord_f32, float, ord_f32)
COMPARE(setp_eq_f64, double, eq_f64)
COMPARE(setp_lt_f64, double, lt_f64)
COMPARE(setp_le_f64, double, le_f64)
COMPARE(setp_ne_f64, double, ne_f64)
COMPARE(setp_ord_f64, double, ord_f64)

/* .ftz: subnormal operands are zeros of their sign. */
static inline void flush(const uint32_t *from, uint32_t *to)
{
	CPU_VECTORIZE
	for (unsigned l = 0; l < CPU_WARP; l++)
		to[l] = from[l] & (from[l] & 0x7f800000u ? UINT32_MAX : 0x80000000u);
}

#define COMPARE_FTZ(name, primitive)                                                               \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		union {                                                                            \
			uint32_t bits[CPU_WARP];                                                   \
			float f[CPU_WARP];                                                         \
		} a, b;                                                                            \
                                                                                                   \
		flush(cpu_u32(w, in->src[0]), a.bits);                                             \
		flush(cpu_u32(w, in->src[1]), b.bits);                                             \
		return finish(w, in, mask, primitive(a.f, b.f));                                   \
	}
COMPARE_FTZ(setp_eq_ftz, eq_f32)
COMPARE_FTZ(setp_lt_ftz, lt_f32)
COMPARE_FTZ(setp_le_ftz, le_f32)
COMPARE_FTZ(setp_ne_ftz, ne_f32)
COMPARE_FTZ(setp_ord_ftz, ord_f32)

/* ---- testp ------------------------------------------------------------------------- */

/* Without its sign a value is in the class if it is in a range of bits; zeros count as normal. */
struct range {
	uint64_t low, high;
	bool has_zero;
};

#define TESTP(bits)                                                                                \
	ALU_HEAD(testp_##bits)                                                                     \
	{                                                                                          \
		const struct range *r = in->aux;                                                   \
		const uint##bits##_t *a = cpu_slot(w, in->src[0]);                                 \
		uint32_t m = 0;                                                                    \
                                                                                                   \
		for (unsigned l = 0; l < CPU_WARP; l++) {                                          \
			const uint64_t v = a[l] & (UINT##bits##_MAX >> 1);                         \
			m |= (uint32_t)((v >= r->low && v <= r->high) || (!v && r->has_zero))      \
			     << l;                                                                 \
		}                                                                                  \
		cpu_set_pred(w, in->dst[0], m, mask);                                              \
		return CPU_OK;                                                                     \
	}
TESTP(32)
TESTP(64)

#define INF32 0x7f800000ull
#define MIN32 0x00800000ull
#define INF64 0x7ff0000000000000ull
#define MIN64 0x0010000000000000ull
static const struct {
	enum ptx_mod mod;
	struct range f32, f64;
} classes[] = {
	{PTX_MOD_FINITE, {0, INF32 - 1, true}, {0, INF64 - 1, true}},
	{PTX_MOD_INFINITE, {INF32, INF32, false}, {INF64, INF64, false}},
	{PTX_MOD_NUMBER, {0, INF32, true}, {0, INF64, true}},
	{PTX_MOD_NOTANUMBER, {INF32 + 1, UINT64_MAX, false}, {INF64 + 1, UINT64_MAX, false}},
	{PTX_MOD_NORMAL, {MIN32, INF32 - 1, true}, {MIN64, INF64 - 1, true}},
	{PTX_MOD_SUBNORMAL, {1, MIN32 - 1, false}, {1, MIN64 - 1, false}},
};

static enum cpu_bound bind_testp(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t = alu_type(f, 0);
	const enum ptx_type types[] = {PTX_TYPE_PRED, t};
	unsigned left = f->nmods;

	if (t != PTX_TYPE_F32 && t != PTX_TYPE_F64)
		return CPU_NOT_MINE;
	for (size_t i = 0; i < BASE_COUNTOF(classes); i++)
		if (alu_take(f, classes[i].mod, &left))
			in->aux = t == PTX_TYPE_F32 ? &classes[i].f32 : &classes[i].f64;
	return alu_bind(d, s, in,
			left || !in->aux    ? NULL
			: t == PTX_TYPE_F32 ? testp_32
					    : testp_64,
			types, 1);
}

/* ---- which handler --------------------------------------------------------------------- */

enum primitive { EQ, LT, LE, NE, ORD, PRIMITIVES };

/* How each operator is expressed; integers have only the first ten. */
static const struct compare_op {
	enum ptx_mod mod;
	bool is_unsigned; /* spelled for unsigned integers only */
	struct how {
		uint8_t primitive;
		bool is_swapped, is_inverted;
	} i, f;
} operators[] = {
	{PTX_MOD_EQ, false, {EQ, false, false}, {EQ, false, false}},
	{PTX_MOD_NE, false, {EQ, false, true}, {NE, false, false}},
	{PTX_MOD_LT, false, {LT, false, false}, {LT, false, false}},
	{PTX_MOD_LE, false, {LT, true, true}, {LE, false, false}},
	{PTX_MOD_GT, false, {LT, true, false}, {LT, true, false}},
	{PTX_MOD_GE, false, {LT, false, true}, {LE, true, false}},
	{PTX_MOD_LO, true, {LT, false, false}, {PRIMITIVES, false, false}},
	{PTX_MOD_LS, true, {LT, true, true}, {PRIMITIVES, false, false}},
	{PTX_MOD_HI, true, {LT, true, false}, {PRIMITIVES, false, false}},
	{PTX_MOD_HS, true, {LT, false, true}, {PRIMITIVES, false, false}},
	{PTX_MOD_EQU, false, {PRIMITIVES, false, false}, {NE, false, true}},
	{PTX_MOD_NEU, false, {PRIMITIVES, false, false}, {EQ, false, true}},
	{PTX_MOD_LTU, false, {PRIMITIVES, false, false}, {LE, true, true}},
	{PTX_MOD_LEU, false, {PRIMITIVES, false, false}, {LT, true, true}},
	{PTX_MOD_GTU, false, {PRIMITIVES, false, false}, {LE, false, true}},
	{PTX_MOD_GEU, false, {PRIMITIVES, false, false}, {LT, false, true}},
	{PTX_MOD_NUM, false, {PRIMITIVES, false, false}, {ORD, false, false}},
	{PTX_MOD_NAN, false, {PRIMITIVES, false, false}, {ORD, false, true}},
};

/* The last column: operators that are no primitive of the type. */
static cpu_exec *const handlers[PTX_TYPE_COUNT][PRIMITIVES + 1] = {
	[PTX_TYPE_B16] = {setp_eq_16},
	[PTX_TYPE_U16] = {setp_eq_16, setp_lt_u16},
	[PTX_TYPE_S16] = {setp_eq_16, setp_lt_s16},
	[PTX_TYPE_B32] = {setp_eq_32},
	[PTX_TYPE_U32] = {setp_eq_32, setp_lt_u32},
	[PTX_TYPE_S32] = {setp_eq_32, setp_lt_s32},
	[PTX_TYPE_B64] = {setp_eq_64},
	[PTX_TYPE_U64] = {setp_eq_64, setp_lt_u64},
	[PTX_TYPE_S64] = {setp_eq_64, setp_lt_s64},
	[PTX_TYPE_F32] = {setp_eq_f32, setp_lt_f32, setp_le_f32, setp_ne_f32, setp_ord_f32},
	[PTX_TYPE_F64] = {setp_eq_f64, setp_lt_f64, setp_le_f64, setp_ne_f64, setp_ord_f64},
};
static cpu_exec *const ftz_handlers[PRIMITIVES + 1] = {setp_eq_ftz, setp_lt_ftz, setp_le_ftz,
						       setp_ne_ftz, setp_ord_ftz};

/* Sets imm and sub; *how is what remains of the operator. NULL: no such form. */
static cpu_exec *pick(const struct ptx_form *f, enum ptx_type t, struct cpu_inst *in,
		      struct how *how)
{
	bool is_float = t == PTX_TYPE_F32 || t == PTX_TYPE_F64;
	unsigned left = f->nmods;
	bool is_ftz = alu_take(f, PTX_MOD_FTZ, &left);
	const struct compare_op *op = NULL;

	for (size_t i = 0; i < BASE_COUNTOF(operators); i++)
		if (alu_take(f, operators[i].mod, &left))
			op = &operators[i];
	if (alu_take(f, PTX_MOD_AND, &left))
		in->sub = JOIN_AND;
	else if (alu_take(f, PTX_MOD_OR, &left))
		in->sub = JOIN_OR;
	else if (alu_take(f, PTX_MOD_XOR, &left))
		in->sub = JOIN_XOR;
	if (left || !op || (is_ftz && t != PTX_TYPE_F32))
		return NULL;
	if (op->is_unsigned && ptx_type_class(t) != PTX_CLASS_UINT)
		return NULL;
	*how = is_float ? op->f : op->i;
	in->imm = how->is_inverted ? UINT32_MAX : 0;
	return is_ftz ? ftz_handlers[how->primitive] : handlers[t][how->primitive];
}

static enum cpu_bound bind_compare(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
				   enum ptx_type t)
{
	const struct ptx_opnd *dst = &s->ops[0];
	struct how how;
	bool is_set = s->form->op == PTX_OP_SET;
	cpu_exec *fn = pick(s->form, t, in, &how);

	if (!fn || s->nops != (in->sub ? 4 : 3))
		return cpu_dec_unsupported(d, in, "no such form of this instruction");
	for (unsigned i = 1; i < 3; i++) {
		if (!alu_fits(d, &s->ops[i], t))
			return cpu_dec_unsupported(d, in, "operand of another width than its type");
		in->src[how.is_swapped ? 2 - i : i - 1] = cpu_dec_src(d, &s->ops[i], t);
	}
	if (in->sub) {
		in->src[2] = cpu_dec_src(d, &s->ops[3], PTX_TYPE_PRED);
		in->sub |= cpu_dec_is_not(&s->ops[3]) ? JOIN_NOT : 0;
	}
	in->fn = fn;
	if (is_set) {
		enum ptx_type dt = alu_type(s->form, 0);
		if (!alu_fits(d, dst, dt))
			return cpu_dec_unsupported(d, in, "operand of another width than its type");
		in->sub |= dt == PTX_TYPE_F32 ? SET_FLOAT : SET_ONES;
		in->dst[0] = alu_dst(d, dst, dt);
		return CPU_BOUND;
	}
	if (dst->kind == PTX_OPND_PAIR) {
		in->sub |= HAS_Q;
		in->dst[1] = alu_dst(d, &dst->sub[1], PTX_TYPE_PRED);
		dst = &dst->sub[0];
	}
	in->dst[0] = alu_dst(d, dst, PTX_TYPE_PRED);
	return CPU_BOUND;
}

enum cpu_bound CPU_BINDER(compare)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	enum ptx_type t0 = alu_type(f, 0), t1 = alu_type(f, 1);

	switch (f->op) {
	case PTX_OP_TESTP:
		return bind_testp(d, s, in);
	case PTX_OP_SETP:
		return handlers[t0][EQ] ? bind_compare(d, s, in, t0) : CPU_NOT_MINE;
	case PTX_OP_SET:
		if (t0 != PTX_TYPE_U32 && t0 != PTX_TYPE_S32 && t0 != PTX_TYPE_F32)
			return CPU_NOT_MINE;
		return handlers[t1][EQ] ? bind_compare(d, s, in, t1) : CPU_NOT_MINE;
	default:
		return CPU_NOT_MINE;
	}
}

/* ---- machine code (jit/) ------------------------------------------------------------------ */

extern const struct jit_handler CPU_HANDLERS(compare)[];
const struct jit_handler CPU_HANDLERS(compare)[] = {
#undef COMPARE
#define COMPARE(handler, ...) {handler, JIT_COMPARE_##handler},
#include "cpu/jit/rows.def"
	{NULL, JIT_NONE}};
