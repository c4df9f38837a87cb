/*
 * alu.h - inside cpu/alu: how integer handlers are defined, and how their operands are bound.
 *
 * A handler is one loop over the lanes, from a macro that takes the types of its slots and an
 * expression in a, b, c (the lane's operands). The full warp has a loop without a test; else each
 * lane computes and keeps its old value when its bit is clear, which becomes a blend: masked
 * stores are slow on some processors, and there are none for 16 bits. So expressions must be
 * defined for any operands, those of idle lanes included.
 *
 * Misses: nothing is checked when it runs; alu_bind refuses registers of another width.
 */
#ifndef COLLIDER_CPU_ALU_H
#define COLLIDER_CPU_ALU_H

#include "cpu/machine.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* ---- loops over lanes ------------------------------------------------------ */

#define ALU_LOOP_(HINT, TD, LOAD, ...)                                                             \
	if (mask == UINT32_MAX) {                                                                  \
		HINT for (unsigned l = 0; l < CPU_WARP; l++)                                       \
		{                                                                                  \
			LOAD d[l] = (TD)(__VA_ARGS__);                                             \
		}                                                                                  \
	} else if (!(mask & (mask - 1))) {                                                         \
		unsigned l = (unsigned)__builtin_ctz(mask);                                        \
		LOAD d[l] = (TD)(__VA_ARGS__);                                                     \
	} else {                                                                                   \
		HINT for (unsigned l = 0; l < CPU_WARP; l++)                                       \
		{                                                                                  \
			LOAD const TD new_ = (TD)(__VA_ARGS__);                                    \
			d[l] = (mask >> l & 1u) ? new_ : d[l];                                     \
		}                                                                                  \
	}
#define ALU_HINT_VECTOR CPU_VECTORIZE
#define ALU_HINT_SCALAR /* calls and divisions: nothing to gain, and clang says so */

#define ALU_HEAD(name)                                                                             \
	static enum cpu_step name(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)

#define ALU_UN_(HINT, name, TD, TA, ...)                                                           \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		TD *d = cpu_slot(w, in->dst[0]);                                                   \
		const TA *as = cpu_slot(w, in->src[0]);                                            \
		ALU_LOOP_(HINT, TD, const TA a = as[l];, __VA_ARGS__)                              \
		return CPU_OK;                                                                     \
	}
#define ALU_BIN_(HINT, name, TD, TA, TB, ...)                                                      \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		TD *d = cpu_slot(w, in->dst[0]);                                                   \
		const TA *as = cpu_slot(w, in->src[0]);                                            \
		const TB *bs = cpu_slot(w, in->src[1]);                                            \
		ALU_LOOP_(HINT, TD, const TA a = as[l]; const TB b = bs[l];, __VA_ARGS__)          \
		return CPU_OK;                                                                     \
	}
#define ALU_TER_(HINT, name, TD, TA, TB, TC, ...)                                                  \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		TD *d = cpu_slot(w, in->dst[0]);                                                   \
		const TA *as = cpu_slot(w, in->src[0]);                                            \
		const TB *bs = cpu_slot(w, in->src[1]);                                            \
		const TC *cs = cpu_slot(w, in->src[2]);                                            \
		ALU_LOOP_(HINT, TD, const TA a = as[l]; const TB b = bs[l]; const TC c = cs[l];    \
			  , __VA_ARGS__)                                                           \
		return CPU_OK;                                                                     \
	}
/* name: handler; TD, TA..: element types of its slots; then the expression. */
#define ALU_UN(...)	    ALU_UN_(ALU_HINT_VECTOR, __VA_ARGS__)
#define ALU_BIN(...)	    ALU_BIN_(ALU_HINT_VECTOR, __VA_ARGS__)
#define ALU_TER(...)	    ALU_TER_(ALU_HINT_VECTOR, __VA_ARGS__)
#define ALU_UN_SCALAR(...)  ALU_UN_(ALU_HINT_SCALAR, __VA_ARGS__)
#define ALU_BIN_SCALAR(...) ALU_BIN_(ALU_HINT_SCALAR, __VA_ARGS__)
#define ALU_TER_SCALAR(...) ALU_TER_(ALU_HINT_SCALAR, __VA_ARGS__)

/* Only the lanes of mask, one by one: for operations that would cost too much on an idle lane's
 * operands. */
#define ALU_BIN_EACH(name, TD, TA, TB, ...)                                                        \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		TD *d = cpu_slot(w, in->dst[0]);                                                   \
		const TA *as = cpu_slot(w, in->src[0]);                                            \
		const TB *bs = cpu_slot(w, in->src[1]);                                            \
		CPU_EACH_LANE (l, mask) {                                                          \
			const TA a = as[l];                                                        \
			const TB b = bs[l];                                                        \
			d[l] = (TD)(__VA_ARGS__);                                                  \
		}                                                                                  \
		return CPU_OK;                                                                     \
	}

/* ---- tables: handler by type -------------------------------------------------- */

typedef cpu_exec *const alu_table[PTX_TYPE_COUNT];

/* Where the sign makes no difference: op##_16, op##_32, op##_64. */
#define ALU_SIZES(op)                                                                              \
	[PTX_TYPE_U16] = op##_16, [PTX_TYPE_S16] = op##_16, [PTX_TYPE_U32] = op##_32,              \
	[PTX_TYPE_S32] = op##_32, [PTX_TYPE_U64] = op##_64, [PTX_TYPE_S64] = op##_64
#define ALU_BITS(op) [PTX_TYPE_B16] = op##_16, [PTX_TYPE_B32] = op##_32, [PTX_TYPE_B64] = op##_64
#define ALU_SIGNS(op)                                                                              \
	[PTX_TYPE_U16] = op##_u16, [PTX_TYPE_S16] = op##_s16, [PTX_TYPE_U32] = op##_u32,           \
	[PTX_TYPE_S32] = op##_s32, [PTX_TYPE_U64] = op##_u64, [PTX_TYPE_S64] = op##_s64
#define ALU_PACKED(op)                                                                             \
	[PTX_TYPE_U16X2] = op##_u16x2, [PTX_TYPE_S16X2] = op##_s16x2, [PTX_TYPE_U8X4] = op##_u8x4, \
	[PTX_TYPE_S8X4] = op##_s8x4

/* ---- masks ----------------------------------------------------------------------- */

/* A bit per lane from the top bit of 32 words. */
static inline uint32_t alu_signs32(const uint32_t *v)
{
	uint32_t m = 0;
#ifdef __AVX2__
	for (unsigned i = 0; i < 4; i++)
		m |= (uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const float *)(v + 8 * i)))
		     << 8 * i;
#else
	for (unsigned l = 0; l < CPU_WARP; l++)
		m |= v[l] >> 31 << l;
#endif
	return m;
}

static inline uint32_t alu_signs64(const uint64_t *v)
{
	uint32_t m = 0;
#ifdef __AVX2__
	for (unsigned i = 0; i < 8; i++)
		m |= (uint32_t)_mm256_movemask_pd(_mm256_loadu_pd((const double *)(v + 4 * i)))
		     << 4 * i;
#else
	for (unsigned l = 0; l < CPU_WARP; l++)
		m |= (uint32_t)(v[l] >> 63) << l;
#endif
	return m;
}

/* ---- operands ------------------------------------------------------------------- */

static inline enum cpu_class alu_class(unsigned bytes)
{
	switch (bytes) {
	case 1:
	case 2:
		return CPU_B16;
	case 4:
		return CPU_B32;
	case 8:
		return CPU_B64;
	default:
		return CPU_B128;
	}
}

/* Bytes of a register of this type; predicates have none. */
static inline unsigned alu_bytes(enum ptx_type t)
{
	return t == PTX_TYPE_PRED ? 0 : ptx_type_bytes(t);
}

/* Whether an operand is as wide as type t says; constants are. */
static inline bool alu_fits(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t)
{
	return op->kind == PTX_OPND_SINK || cpu_dec_bytes(d, op, t) == alu_bytes(t);
}

/* The slot to write; a result for the sink `_` is written to a temporary. */
static inline uint32_t alu_dst(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t)
{
	uint32_t slot = cpu_dec_dst(d, op);

	if (slot == CPU_NOSLOT)
		slot = cpu_dec_temp(d, t == PTX_TYPE_PRED ? CPU_PRED : alu_class(alu_bytes(t)));
	return slot;
}

/*
 * Binds an instruction with one result and n sources: types[0] is the result's, types[1..n] the
 * sources'. A NULL handler is a form that does not exist.
 */
static inline enum cpu_bound alu_bind(struct cpu_dec *d, const struct ptx_stmt *s,
				      struct cpu_inst *in, cpu_exec *fn, const enum ptx_type *types,
				      unsigned n)
{
	if (!fn)
		return cpu_dec_unsupported(d, in, "no such form of this instruction");
	if (s->nops != n + 1)
		return cpu_dec_unsupported(d, in, "unexpected number of operands");
	for (unsigned i = 0; i <= n; i++)
		if (!alu_fits(d, &s->ops[i], types[i]))
			return cpu_dec_unsupported(d, in, "operand of another width than its type");
	for (unsigned i = 0; i < n; i++)
		in->src[i] = cpu_dec_src(d, &s->ops[i + 1], types[i + 1]);
	in->dst[0] = alu_dst(d, &s->ops[0], types[0]);
	in->fn = fn;
	return CPU_BOUND;
}

/* The same where all operands have one type. */
static inline enum cpu_bound alu_bind_same(struct cpu_dec *d, const struct ptx_stmt *s,
					   struct cpu_inst *in, cpu_exec *fn, enum ptx_type t,
					   unsigned n)
{
	const enum ptx_type types[5] = {t, t, t, t, t};

	return alu_bind(d, s, in, fn, types, n);
}

/* The i-th type of a form, or NONE. */
static inline enum ptx_type alu_type(const struct ptx_form *f, unsigned i)
{
	return i < f->ntypes ? (enum ptx_type)f->types[i] : PTX_TYPE_NONE;
}

/* Whether the form has a modifier; *left counts those not queried yet, so that an unknown one isn't
 * ignored. */
static inline bool alu_take(const struct ptx_form *f, enum ptx_mod m, unsigned *left)
{
	bool has = ptx_form_has(f, m);

	*left -= has;
	return has;
}

/* Is it an integer type of section 9.7.1, packed ones included? The rest belongs to other
 * binders. */
static inline bool alu_is_int(enum ptx_type t)
{
	switch (ptx_type_class(t)) {
	case PTX_CLASS_UINT:
	case PTX_CLASS_SINT:
		return true;
	case PTX_CLASS_PACKED:
		return t == PTX_TYPE_U16X2 || t == PTX_TYPE_S16X2 || t == PTX_TYPE_U8X4 ||
		       t == PTX_TYPE_S8X4;
	default:
		return false;
	}
}

#endif
