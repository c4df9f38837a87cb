/*
 * atomic_ops.c - the operations of atom and red on the bytes in memory.
 *
 * Each (operation, type) is a row: one function for a lane, by the host's atomics; and, for those
 * that don't swap, one for the lanes of a warp (struct atomic_batch). Integer add, and, or, xor,
 * exch, cas of a lane are the host's own, the rest loop over compare-and-swap until that succeeds.
 */
#include "cpu/exec/atomic_ops.h"

#include <string.h>

#include "cpu/arch.h"
#include "cpu/machine.h"

/* ---- integers --------------------------------------------------------------------------- */

/* `next` is an expression of was (T), b. */
#define BATCH(name, T, field, next)                                                                \
	static void name##_batch(const struct atomic_batch *x)                                     \
	{                                                                                          \
		const T *from = x->b;                                                              \
		T *to = x->d, all[CPU_WARP];                                                       \
		bool is_ftz = x->is_ftz;                                                           \
		union atomic_value value, *b = &value, old;                                        \
		(void)is_ftz;                                                                      \
		if (x->is_one) {                                                                   \
			T *p = AT(T, x, __builtin_ctz(x->mask)), start, was;                       \
			start = __atomic_load_n(p, __ATOMIC_RELAXED);                              \
			do {                                                                       \
				was = start;                                                       \
				CPU_EACH_LANE (l, x->mask) {                                       \
					b->field = from[l];                                        \
					all[l] = was;                                              \
					was = (T)(next);                                           \
				}                                                                  \
			} while (!__atomic_compare_exchange_n(                                     \
				p, &start, was, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));        \
		} else if (x->is_own) {                                                            \
			CPU_EACH_LANE (l, x->mask) {                                               \
				T *p = AT(T, x, l), was = *p;                                      \
				b->field = from[l];                                                \
				all[l] = was;                                                      \
				*p = (T)(next);                                                    \
			}                                                                          \
		} else {                                                                           \
			CPU_EACH_LANE (l, x->mask) {                                               \
				b->field = from[l];                                                \
				name(AT(T, x, l), b, NULL, &old, is_ftz);                          \
				all[l] = old.field;                                                \
			}                                                                          \
		}                                                                                  \
		if (to)                                                                            \
			CPU_LANES(l, x->mask, to[l] = all[l]);                                     \
	}
#define AT(T, x, l) ((T *)(uintptr_t)((x)->addr[l] + (x)->delta))

#define HOST(name, T, field, builtin)                                                              \
	static inline void name(void *p, const union atomic_value *b, const union atomic_value *c, \
				union atomic_value *old, bool is_ftz)                              \
	{                                                                                          \
		(void)c, (void)is_ftz;                                                             \
		old->field = builtin((T *)p, b->field, __ATOMIC_SEQ_CST);                          \
	}
#define HOST_BATCH(name, T, field, builtin, next)                                                  \
	HOST(name, T, field, builtin)                                                              \
	BATCH(name, T, field, next)
HOST_BATCH(add_32, uint32_t, u32, __atomic_fetch_add, was + b->u32)
HOST_BATCH(add_64, uint64_t, u64, __atomic_fetch_add, was + b->u64)
HOST_BATCH(and_32, uint32_t, u32, __atomic_fetch_and, was & b->u32)
HOST_BATCH(and_64, uint64_t, u64, __atomic_fetch_and, was & b->u64)
HOST_BATCH(or_32, uint32_t, u32, __atomic_fetch_or, was | b->u32)
HOST_BATCH(or_64, uint64_t, u64, __atomic_fetch_or, was | b->u64)
HOST_BATCH(xor_32, uint32_t, u32, __atomic_fetch_xor, was ^ b->u32)
HOST_BATCH(xor_64, uint64_t, u64, __atomic_fetch_xor, was ^ b->u64)
HOST(exch_32, uint32_t, u32, __atomic_exchange_n)
HOST(exch_64, uint64_t, u64, __atomic_exchange_n)

#define CAS(name, T, field)                                                                        \
	static void name(void *p, const union atomic_value *b, const union atomic_value *c,        \
			 union atomic_value *old, bool is_ftz)                                     \
	{                                                                                          \
		(void)is_ftz;                                                                      \
		T was = b->field;                                                                  \
		__atomic_compare_exchange_n((T *)p, &was, c->field, false, __ATOMIC_SEQ_CST,       \
					    __ATOMIC_SEQ_CST);                                     \
		old->field = was;                                                                  \
	}
CAS(cas_16, uint16_t, u16)
CAS(cas_32, uint32_t, u32)
CAS(cas_64, uint64_t, u64)

#define LOOP(name, T, field, next)                                                                 \
	static inline void name(void *p, const union atomic_value *b, const union atomic_value *c, \
				union atomic_value *old, bool is_ftz)                              \
	{                                                                                          \
		(void)c, (void)is_ftz;                                                             \
		T was = __atomic_load_n((T *)p, __ATOMIC_RELAXED);                                 \
		while (!__atomic_compare_exchange_n((T *)p, &was, (T)(next), true,                 \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))           \
			;                                                                          \
		old->field = was;                                                                  \
	}                                                                                          \
	BATCH(name, T, field, next)
LOOP(min_u32, uint32_t, u32, was < b->u32 ? was : b->u32)
LOOP(max_u32, uint32_t, u32, was > b->u32 ? was : b->u32)
LOOP(min_s32, uint32_t, u32, (int32_t)was < (int32_t)b->u32 ? was : b->u32)
LOOP(max_s32, uint32_t, u32, (int32_t)was > (int32_t)b->u32 ? was : b->u32)
LOOP(min_u64, uint64_t, u64, was < b->u64 ? was : b->u64)
LOOP(max_u64, uint64_t, u64, was > b->u64 ? was : b->u64)
LOOP(min_s64, uint64_t, u64, (int64_t)was < (int64_t)b->u64 ? was : b->u64)
LOOP(max_s64, uint64_t, u64, (int64_t)was > (int64_t)b->u64 ? was : b->u64)
LOOP(inc_u32, uint32_t, u32, was >= b->u32 ? 0 : was + 1)
LOOP(dec_u32, uint32_t, u32, was == 0 || was > b->u32 ? b->u32 : was - 1)

/* ---- floating point ------------------------------------------------------------------------ */

static uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static float float_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static uint32_t flush(uint32_t u)
{
	return u & 0x7f800000u ? u : u & 0x80000000u;
}

static uint32_t sum_f32(uint32_t a, uint32_t b, bool is_ftz)
{
	float s = is_ftz ? float_of(flush(a)) + float_of(flush(b)) : float_of(a) + float_of(b);

	if (s != s)
		return 0x7fffffffu;
	return is_ftz ? flush(bits_of(s)) : bits_of(s);
}

/* A NaN passes through, quieted, the one in memory before the operand's, and one that the sum makes
 * is negative: neither the compiler nor the host's kind may choose. As seen on an H100. */
static uint64_t sum_f64(uint64_t a, uint64_t b)
{
	const uint64_t body = UINT64_MAX >> 1, inf = 0x7ffull << 52, quiet = 1ull << 51;
	double x, y;

	if ((a & body) > inf)
		return a | quiet;
	if ((b & body) > inf)
		return b | quiet;
	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	x += y;
	memcpy(&a, &x, sizeof(a));
	return x != x ? ~0ull << 51 : a;
}

LOOP(add_f32, uint32_t, u32, sum_f32(was, b->u32, is_ftz))
LOOP(add_f64, uint64_t, u64, sum_f64(was, b->u64))

static float from_f16(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, f = h & 0x3ffu;

	if (e == 31)
		return float_of(sign | 0x7f800000u | f << 13);
	if (e)
		return float_of(sign | (e + 112) << 23 | f << 13);
	float v = (float)f * 0x1p-24f;
	return sign ? -v : v;
}

static uint16_t to_f16(float v)
{
	uint32_t u = bits_of(v), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;

	if (a > 0x7f800000u)
		return 0x7fff;
	if (a >= 0x477ff000u) /* 65520 and above round to infinity */
		return (uint16_t)(sign | 0x7c00u);
	if (a < 0x38800000u) {
		/* Subnormal: the addition rounds at 2^-24. */
		uint32_t r = bits_of(float_of(a) + 0.5f);
		return (uint16_t)(sign | (r - 0x3f000000u));
	}
	a += 0xfffu + (a >> 13 & 1u);
	return (uint16_t)(sign | (a - 0x38000000u) >> 13);
}

static float from_bf16(uint16_t h)
{
	return float_of((uint32_t)h << 16);
}

static uint16_t to_bf16(float v)
{
	uint32_t u = bits_of(v);

	if ((u & 0x7fffffffu) > 0x7f800000u)
		return 0x7fff;
	return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* The sum of two 16-bit floats rounded to f32 first rounds the same: 24 >= 2 * 11 + 2. */
static uint16_t sum_f16(uint16_t a, uint16_t b)
{
	return to_f16(from_f16(a) + from_f16(b));
}

static uint16_t sum_bf16(uint16_t a, uint16_t b)
{
	return to_bf16(from_bf16(a) + from_bf16(b));
}

/* As min and max of the type: a number wins over NaN, -0 is below +0. */
static uint16_t pick_16(uint16_t a, uint16_t b, float x, float y, bool is_max)
{
	if (x != x)
		return y != y ? 0x7fff : b;
	if (y != y)
		return a;
	if (x == y)
		return (a & 0x8000u) != 0 ? (is_max ? b : a) : (is_max ? a : b);
	return (x < y) == is_max ? b : a;
}

static uint16_t min_16f(uint16_t a, uint16_t b)
{
	return pick_16(a, b, from_f16(a), from_f16(b), false);
}

static uint16_t max_16f(uint16_t a, uint16_t b)
{
	return pick_16(a, b, from_f16(a), from_f16(b), true);
}

static uint16_t min_16b(uint16_t a, uint16_t b)
{
	return pick_16(a, b, from_bf16(a), from_bf16(b), false);
}

static uint16_t max_16b(uint16_t a, uint16_t b)
{
	return pick_16(a, b, from_bf16(a), from_bf16(b), true);
}

static uint32_t both(uint16_t (*fn)(uint16_t, uint16_t), uint32_t a, uint32_t b)
{
	return (uint32_t)fn((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16 |
	       fn((uint16_t)a, (uint16_t)b);
}

LOOP(add_f16, uint16_t, u16, sum_f16(was, b->u16))
LOOP(add_bf16, uint16_t, u16, sum_bf16(was, b->u16))
LOOP(min_f16, uint16_t, u16, min_16f(was, b->u16))
LOOP(max_f16, uint16_t, u16, max_16f(was, b->u16))
LOOP(min_bf16, uint16_t, u16, min_16b(was, b->u16))
LOOP(max_bf16, uint16_t, u16, max_16b(was, b->u16))
LOOP(add_f16x2, uint32_t, u32, both(sum_f16, was, b->u32))
LOOP(add_bf16x2, uint32_t, u32, both(sum_bf16, was, b->u32))
LOOP(min_f16x2, uint32_t, u32, both(min_16f, was, b->u32))
LOOP(max_f16x2, uint32_t, u32, both(max_16f, was, b->u32))
LOOP(min_bf16x2, uint32_t, u32, both(min_16b, was, b->u32))
LOOP(max_bf16x2, uint32_t, u32, both(max_16b, was, b->u32))

/* ---- 16 bytes ------------------------------------------------------------------------------ */

static void cas_128(void *p, const union atomic_value *b, const union atomic_value *c,
		    union atomic_value *old, bool is_ftz)
{
	uint64_t was[2] = {b->half[0], b->half[1]};

	(void)is_ftz;
	cpu_arch_swap_128(p, was, c->half);
	memcpy(old->half, was, sizeof(was));
}

static void exch_128(void *p, const union atomic_value *b, const union atomic_value *c,
		     union atomic_value *old, bool is_ftz)
{
	uint64_t was[2] = {0, 0};

	(void)c, (void)is_ftz;
	while (!cpu_arch_swap_128(p, was, b->half))
		;
	memcpy(old->half, was, sizeof(was));
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct row {
	enum ptx_mod op;
	enum ptx_type type;
	struct atomic_op fns;
};

#define ROW(op, type, fn)                                                                          \
	{                                                                                          \
		PTX_MOD_##op, PTX_TYPE_##type,                                                     \
		{                                                                                  \
			fn, fn##_batch                                                             \
		}                                                                                  \
	}
#define SWAP(op, type, fn)                                                                         \
	{                                                                                          \
		PTX_MOD_##op, PTX_TYPE_##type,                                                     \
		{                                                                                  \
			fn, NULL                                                                   \
		}                                                                                  \
	}
static const struct row rows[] = {
	ROW(ADD, U32, add_32),	      ROW(ADD, S32, add_32),	    ROW(ADD, U64, add_64),
	ROW(ADD, S64, add_64),	      ROW(ADD, F32, add_f32),	    ROW(ADD, F64, add_f64),
	ROW(ADD, F16, add_f16),	      ROW(ADD, BF16, add_bf16),	    ROW(ADD, F16X2, add_f16x2),
	ROW(ADD, BF16X2, add_bf16x2), ROW(MIN, F16, min_f16),	    ROW(MIN, BF16, min_bf16),
	ROW(MIN, F16X2, min_f16x2),   ROW(MIN, BF16X2, min_bf16x2), ROW(MAX, F16, max_f16),
	ROW(MAX, BF16, max_bf16),     ROW(MAX, F16X2, max_f16x2),   ROW(MAX, BF16X2, max_bf16x2),
	ROW(MIN, U32, min_u32),	      ROW(MIN, S32, min_s32),	    ROW(MIN, U64, min_u64),
	ROW(MIN, S64, min_s64),	      ROW(MAX, U32, max_u32),	    ROW(MAX, S32, max_s32),
	ROW(MAX, U64, max_u64),	      ROW(MAX, S64, max_s64),	    ROW(INC, U32, inc_u32),
	ROW(DEC, U32, dec_u32),	      ROW(AND, B32, and_32),	    ROW(AND, B64, and_64),
	ROW(OR, B32, or_32),	      ROW(OR, B64, or_64),	    ROW(XOR, B32, xor_32),
	ROW(XOR, B64, xor_64),	      SWAP(EXCH, B32, exch_32),	    SWAP(EXCH, B64, exch_64),
	SWAP(EXCH, B128, exch_128),   SWAP(CAS, B16, cas_16),	    SWAP(CAS, B32, cas_32),
	SWAP(CAS, B64, cas_64),	      SWAP(CAS, B128, cas_128),	    SWAP(EXCH, U32, exch_32),
	SWAP(EXCH, S32, exch_32),     SWAP(EXCH, F32, exch_32),	    SWAP(EXCH, U64, exch_64),
	SWAP(EXCH, S64, exch_64),     SWAP(EXCH, F64, exch_64),	    SWAP(CAS, U32, cas_32),
	SWAP(CAS, S32, cas_32),	      SWAP(CAS, U64, cas_64),	    SWAP(CAS, S64, cas_64),
	ROW(AND, U32, and_32),	      ROW(AND, S32, and_32),	    ROW(OR, U32, or_32),
	ROW(OR, S32, or_32),	      ROW(XOR, U32, xor_32),	    ROW(XOR, S32, xor_32),
};

const struct atomic_op *atomic_op_of(const struct ptx_form *f)
{
	for (size_t i = 0; f->ntypes && i < BASE_COUNTOF(rows); i++)
		if (rows[i].type == f->types[0] && ptx_form_has(f, rows[i].op))
			return &rows[i].fns;
	return NULL;
}
