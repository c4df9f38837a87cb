/*
 * int_recipes.c - integers, logic, moves and comparisons as vector operations (rows.def).
 *
 * Each recipe computes what the handler of its row does in alu/, which the tests compare for every
 * row: special operands, all and some lanes.
 */
#include "cpu/jit/ir.h"
#include "cpu/jit/rows.h"

/* ---- arithmetic ------------------------------------------------------------------- */

static bool bin32(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	jit_val a = jit_get(g, in->src[0]), b = jit_get(g, in->src[1]);

	return jit_put(g, in->dst[0], jit_2(g, mn, a, b));
}

static bool bin16(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	jit_val a = jit_get16(g, in->src[0]), b = jit_get16(g, in->src[1]);
	jit_val r = jit_2(g, mn, a, b);

	if (mn == M(VPADDD) || mn == M(VPSUBD) || mn == M(VPMULLD))
		r = jit_2(g, M(VPAND), r, jit_word(g, 0xffff));
	return jit_put16(g, in->dst[0], r);
}

static bool bin64(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	struct jit_pair a = jit_get64(g, in->src[0]), b = jit_get64(g, in->src[1]);

	return jit_put64(g, in->dst[0],
			 (struct jit_pair){jit_2(g, mn, a.lo, b.lo), jit_2(g, mn, a.hi, b.hi)});
}

static bool un32(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	return jit_put(g, in->dst[0], jit_1(g, mn, jit_get(g, in->src[0])));
}

static bool neg32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put(g, in->dst[0], jit_2(g, M(VPSUBD), jit_word(g, 0), jit_get(g, in->src[0])));
}

static bool neg64(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	struct jit_pair a = jit_get64(g, in->src[0]);
	jit_val zero = jit_word(g, 0);

	(void)arg;
	return jit_put64(g, in->dst[0],
			 (struct jit_pair){jit_2(g, M(VPSUBQ), zero, a.lo),
					   jit_2(g, M(VPSUBQ), zero, a.hi)});
}

static bool mad32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	jit_val a = jit_get(g, in->src[0]), b = jit_get(g, in->src[1]);
	jit_val c = jit_get(g, in->src[2]);

	(void)arg;
	return jit_put(g, in->dst[0], jit_2(g, M(VPADDD), jit_2(g, M(VPMULLD), a, b), c));
}

/* Eight words as the low halves of two times four double words; what is above doesn't matter. */
static struct jit_pair spread(struct jit_gen *g, uint32_t slot)
{
	jit_val v = jit_get(g, slot);
	uint32_t c;

	if (jit_const32(g, slot, &c))
		return (struct jit_pair){v, v};
	return (struct jit_pair){jit_grow(g, M(VPMOVZXDQ), v),
				 jit_grow(g, M(VPMOVZXDQ), jit_upper(g, v))};
}

static struct jit_pair product(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	struct jit_pair a = spread(g, in->src[0]), b = spread(g, in->src[1]);

	return (struct jit_pair){jit_2(g, mn, a.lo, b.lo), jit_2(g, mn, a.hi, b.hi)};
}

static bool wide(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	return jit_put64(g, in->dst[0], product(g, in, mn));
}

static bool wide_add(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	struct jit_pair p = product(g, in, mn), c = jit_get64(g, in->src[2]);

	return jit_put64(g, in->dst[0],
			 (struct jit_pair){jit_2(g, M(VPADDQ), p.lo, c.lo),
					   jit_2(g, M(VPADDQ), p.hi, c.hi)});
}

static bool mulhi(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	jit_val a = jit_get(g, in->src[0]), b = jit_get(g, in->src[1]);
	jit_val even = jit_1i(g, M(VPSRLQ), jit_2(g, mn, a, b), 32);
	jit_val odd = jit_2(g, mn, jit_1i(g, M(VPSRLQ), a, 32), jit_1i(g, M(VPSRLQ), b, 32));

	return jit_put(g, in->dst[0], jit_2i(g, M(VPBLENDD), even, odd, 0xaa));
}

static jit_val product64(struct jit_gen *g, jit_val a, jit_val b)
{
	jit_val low = jit_2(g, M(VPMULUDQ), a, b);
	jit_val ab = jit_2(g, M(VPMULUDQ), jit_1i(g, M(VPSRLQ), a, 32), b);
	jit_val ba = jit_2(g, M(VPMULUDQ), jit_1i(g, M(VPSRLQ), b, 32), a);
	jit_val high = jit_1i(g, M(VPSLLQ), jit_2(g, M(VPADDQ), ab, ba), 32);

	return jit_2(g, M(VPADDQ), high, low);
}

/* has_sum: a third operand is added. */
static bool mul64(struct jit_gen *g, const struct cpu_inst *in, uint32_t has_sum)
{
	struct jit_pair a = jit_get64(g, in->src[0]), b = jit_get64(g, in->src[1]);
	struct jit_pair r = {product64(g, a.lo, b.lo), product64(g, a.hi, b.hi)};

	if (has_sum) {
		struct jit_pair c = jit_get64(g, in->src[2]);
		r.lo = jit_2(g, M(VPADDQ), r.lo, c.lo);
		r.hi = jit_2(g, M(VPADDQ), r.hi, c.hi);
	}
	return jit_put64(g, in->dst[0], r);
}

/* ---- logic -------------------------------------------------------------------------- */

static bool not32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put(g, in->dst[0], jit_not(g, jit_get(g, in->src[0])));
}

static bool not16(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put16(g, in->dst[0],
			 jit_2(g, M(VPXOR), jit_get16(g, in->src[0]), jit_word(g, 0xffff)));
}

static bool not64(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	struct jit_pair a = jit_get64(g, in->src[0]);

	(void)arg;
	return jit_put64(g, in->dst[0], (struct jit_pair){jit_not(g, a.lo), jit_not(g, a.hi)});
}

/* imm inverts the operands, 32 bits each. */
static jit_val pred_operand(struct jit_gen *g, uint32_t slot, uint32_t inverts)
{
	jit_val v = jit_get_pred(g, slot);

	return inverts ? jit_not(g, v) : v;
}

static bool pred2(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	jit_val a = pred_operand(g, in->src[0], (uint32_t)in->imm);
	jit_val b = pred_operand(g, in->src[1], (uint32_t)(in->imm >> 32));

	return jit_put_pred(g, in->dst[0], jit_2(g, mn, a, b));
}

static bool pred_not(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put_pred(g, in->dst[0], pred_operand(g, in->src[0], ~(uint32_t)in->imm));
}

/* The processor's shifts of words by words take amounts above 31 as PTX does. */
static bool shift32(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	jit_val a = jit_get(g, in->src[0]);
	uint32_t by;

	if (jit_const32(g, in->src[1], &by) && by < 32) {
		uint32_t fixed = mn == M(VPSLLVD)   ? M(VPSLLD)
				 : mn == M(VPSRLVD) ? M(VPSRLD)
						    : M(VPSRAD);
		return jit_put(g, in->dst[0], jit_1i(g, fixed, a, by));
	}
	return jit_put(g, in->dst[0], jit_2(g, mn, a, jit_get(g, in->src[1])));
}

/* mn 0: arithmetic, which AVX2 lacks; by the logical one, and the sign bit's place after it. */
static jit_val shift64_one(struct jit_gen *g, uint32_t mn, jit_val a, jit_val by)
{
	if (mn)
		return jit_2(g, mn, a, by);
	jit_val most = jit_dword(g, 63), sign = jit_dword(g, 1ull << 63);
	by = jit_blend64(g, by, most, jit_2(g, M(VPCMPGTQ), by, most));
	jit_val r = jit_2(g, M(VPSRLVQ), a, by), m = jit_2(g, M(VPSRLVQ), sign, by);
	return jit_2(g, M(VPSUBQ), jit_2(g, M(VPXOR), r, m), m);
}

static bool shift64(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	struct jit_pair a = jit_get64(g, in->src[0]), by;
	uint32_t c;

	if (jit_const32(g, in->src[1], &c)) {
		by.lo = by.hi = jit_dword(g, c);
	} else {
		jit_val v = jit_get(g, in->src[1]);
		by.lo = jit_grow(g, M(VPMOVZXDQ), v);
		by.hi = jit_grow(g, M(VPMOVZXDQ), jit_upper(g, v));
	}
	return jit_put64(g, in->dst[0],
			 (struct jit_pair){shift64_one(g, mn, a.lo, by.lo),
					   shift64_one(g, mn, a.hi, by.hi)});
}

/* how: 1 to the right, 2 an amount above 32 is 32 (else it is taken modulo 32). */
static bool funnel(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	jit_val a = jit_get(g, in->src[0]), b = jit_get(g, in->src[1]);
	jit_val c = jit_get(g, in->src[2]), whole = jit_word(g, 32);

	c = how & 2 ? jit_2(g, M(VPMINUD), c, whole) : jit_2(g, M(VPAND), c, jit_word(g, 31));
	jit_val rest = jit_2(g, M(VPSUBD), whole, c);
	jit_val x = how & 1 ? jit_2(g, M(VPSRLVD), a, c) : jit_2(g, M(VPSLLVD), b, c);
	jit_val y = how & 1 ? jit_2(g, M(VPSLLVD), b, rest) : jit_2(g, M(VPSRLVD), a, rest);
	return jit_put(g, in->dst[0], jit_2(g, M(VPOR), x, y));
}

/* A bit for each case of a, b, c, in the order of lop3's table: a selection by one of them. */
struct piece {
	bool is_const, ones;
	jit_val v;
};

static jit_val piece_val(struct jit_gen *g, struct piece p)
{
	return p.is_const ? jit_word(g, p.ones ? UINT32_MAX : 0) : p.v;
}

static struct piece select_piece(struct jit_gen *g, jit_val s, struct piece if0, struct piece if1)
{
	struct piece r = {.is_const = false};

	if (if0.is_const == if1.is_const && if0.ones == if1.ones && if0.v == if1.v)
		return if0;
	if (if0.is_const && if1.is_const)
		r.v = if1.ones ? s : jit_not(g, s);
	else if (if0.is_const && !if0.ones)
		r.v = jit_2(g, M(VPAND), s, if1.v);
	else if (if1.is_const && !if1.ones)
		r.v = jit_2(g, M(VPANDN), s, if0.v);
	else if (if1.is_const)
		r.v = jit_2(g, M(VPOR), s, if0.v);
	else
		r.v = jit_2(g, M(VPXOR), piece_val(g, if0),
			    jit_2(g, M(VPAND), s, jit_2(g, M(VPXOR), if1.v, piece_val(g, if0))));
	return r;
}

static bool lop3(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	jit_val op[3];
	struct piece at[8];

	(void)arg;
	for (unsigned i = 0; i < 3; i++)
		op[i] = jit_get(g, in->src[i]);
	for (unsigned i = 0; i < 8; i++)
		at[i] = (struct piece){.is_const = true, .ones = in->imm >> i & 1};
	/* By c, then b, then a: lop3_one of alu/logic.c. */
	for (unsigned k = 3, n = 4; k-- > 0; n /= 2)
		for (unsigned i = 0; i < n; i++)
			at[i] = select_piece(g, op[k], at[2 * i], at[2 * i + 1]);
	return jit_put(g, in->dst[0], piece_val(g, at[0]));
}

/* With a constant selector without signs: bytes of either operand, the others cleared. */
static bool prmt(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	uint64_t table[2][4] = {{0}, {0}};
	uint32_t sel;

	(void)arg;
	if (!jit_const32(g, in->src[2], &sel) || sel & 0x8888)
		return false;
	for (unsigned i = 0; i < 32; i++) {
		unsigned from = sel >> 4 * (i % 4) & 7, lane = i % 16 / 4 * 4;
		for (unsigned k = 0; k < 2; k++) {
			uint64_t byte = from / 4 == k ? lane + from % 4 : 0x80;
			table[k][i / 8] |= byte << i % 8 * 8;
		}
	}
	jit_val a = jit_2(g, M(VPSHUFB), jit_get(g, in->src[0]), jit_table(g, table[0]));
	jit_val b = jit_2(g, M(VPSHUFB), jit_get(g, in->src[1]), jit_table(g, table[1]));
	return jit_put(g, in->dst[0], jit_2(g, M(VPOR), a, b));
}

/* ---- moves ---------------------------------------------------------------------------- */

static bool mov16(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put16(g, in->dst[0], jit_get16(g, in->src[0]));
}

static bool mov64(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put64(g, in->dst[0], jit_get64(g, in->src[0]));
}

static bool mov_pred(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put_pred(g, in->dst[0], pred_operand(g, in->src[0], (uint32_t)in->imm));
}

static bool add_imm(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	struct jit_pair a = jit_get64(g, in->src[0]);
	jit_val by = jit_dword(g, in->imm);

	(void)arg;
	return jit_put64(
		g, in->dst[0],
		(struct jit_pair){jit_2(g, M(VPADDQ), a.lo, by), jit_2(g, M(VPADDQ), a.hi, by)});
}

static bool pack(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	jit_val a = jit_get(g, in->src[0]), b = jit_get(g, in->src[1]);
	/* Words 0 1 4 5 and 2 3 6 7 of both, interleaved. */
	jit_val x = jit_2(g, M(VPUNPCKLDQ), a, b), y = jit_2(g, M(VPUNPCKHDQ), a, b);

	(void)arg;
	return jit_put64(g, in->dst[0],
			 (struct jit_pair){jit_2i(g, M(VPERM2I128), x, y, 0x20),
					   jit_2i(g, M(VPERM2I128), x, y, 0x31)});
}

static bool unpack(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	struct jit_pair a = jit_get64(g, in->src[0]);

	(void)arg;
	for (unsigned i = 0; i < 2; i++) {
		jit_val v = jit_2i(g, M(VSHUFPS), a.lo, a.hi, i ? 0xdd : 0x88);
		if (!jit_put(g, in->dst[i], jit_1i(g, M(VPERMQ), v, 0xd8)))
			return false;
	}
	return true;
}

static bool selp(struct jit_gen *g, const struct cpu_inst *in, uint32_t bytes)
{
	jit_val p = jit_get_pred(g, in->src[2]);
	uint32_t a = in->src[!!in->imm], b = in->src[!in->imm];

	if (bytes == 2)
		return jit_put16(g, in->dst[0], jit_blend(g, jit_get16(g, b), jit_get16(g, a), p));
	if (bytes == 4)
		return jit_put(g, in->dst[0], jit_blend(g, jit_get(g, b), jit_get(g, a), p));
	struct jit_pair m = jit_mask64(g, p), x = jit_get64(g, a), y = jit_get64(g, b);
	return jit_put64(g, in->dst[0],
			 (struct jit_pair){jit_blend64(g, y.lo, x.lo, m.lo),
					   jit_blend64(g, y.hi, x.hi, m.hi)});
}

/* ---- comparisons ------------------------------------------------------------------------ */

/* in->sub of alu/compare.c: setp with one destination and two operands is 0. */
static bool finish(struct jit_gen *g, const struct cpu_inst *in, jit_val t)
{
	if (in->sub)
		return false;
	return jit_put_pred(g, in->dst[0], in->imm ? jit_not(g, t) : t);
}

static bool setp32(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	jit_val a = jit_get(g, in->src[0]), b = jit_get(g, in->src[1]);

	if (!mn) /* unsigned: a is the greater one of both, or it is less */
		return finish(g, in,
			      jit_not(g, jit_2(g, M(VPCMPEQD), jit_2(g, M(VPMAXUD), a, b), a)));
	return finish(g, in, mn == M(VPCMPGTD) ? jit_2(g, mn, b, a) : jit_2(g, mn, a, b));
}

static bool setp16(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	jit_val a = jit_get16(g, in->src[0]), b = jit_get16(g, in->src[1]);

	return finish(g, in, mn == M(VPCMPGTD) ? jit_2(g, mn, b, a) : jit_2(g, mn, a, b));
}

static bool setp64(struct jit_gen *g, const struct cpu_inst *in, uint32_t mn)
{
	struct jit_pair a = jit_get64(g, in->src[0]), b = jit_get64(g, in->src[1]), t = a;

	if (!mn) {
		jit_val sign = jit_dword(g, 1ull << 63);
		a.lo = jit_2(g, M(VPXOR), a.lo, sign);
		a.hi = jit_2(g, M(VPXOR), a.hi, sign);
		b.lo = jit_2(g, M(VPXOR), b.lo, sign);
		b.hi = jit_2(g, M(VPXOR), b.hi, sign);
	}
	if (mn == M(VPCMPEQQ)) {
		t.lo = jit_2(g, mn, a.lo, b.lo);
		t.hi = jit_2(g, mn, a.hi, b.hi);
	} else {
		t.lo = jit_2(g, M(VPCMPGTQ), b.lo, a.lo);
		t.hi = jit_2(g, M(VPCMPGTQ), b.hi, a.hi);
	}
	return finish(g, in, jit_mask_of64(g, t));
}

enum { CMP_EQ = 0, CMP_LT = 17, CMP_LE = 18, CMP_NE = 12, CMP_ORD = 7, FTZ = 1 << 16 };

static bool setp_f32(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	bool ftz = how & FTZ;
	jit_val a = jit_get_f32(g, in->src[0], ftz), b = jit_get_f32(g, in->src[1], ftz);

	return finish(g, in, jit_2i(g, M(VCMPPS), a, b, how & 31));
}

static bool setp_f64(struct jit_gen *g, const struct cpu_inst *in, uint32_t how)
{
	struct jit_pair a = jit_get64(g, in->src[0]), b = jit_get64(g, in->src[1]);
	struct jit_pair t = {jit_2i(g, M(VCMPPD), a.lo, b.lo, how & 31),
			     jit_2i(g, M(VCMPPD), a.hi, b.hi, how & 31)};

	return finish(g, in, jit_mask_of64(g, t));
}

/* ---- the rows ----------------------------------------------------------------------------- */

/* A word moved, which is no NaN of arithmetic that its bits be asked for. */
static bool mov32(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	(void)arg;
	return jit_put(g, in->dst[0],
		       g->guard ? jit_get(g, in->src[0]) : jit_get_f32(g, in->src[0], false));
}

static const struct jit_recipe recipes[JIT_ROWS] = {
#define INT(handler, recipe, arg)     [JIT_INT_##handler] = {recipe, arg},
#define LOGIC(handler, recipe, arg)   [JIT_LOGIC_##handler] = {recipe, arg},
#define MOVE(handler, recipe, arg)    [JIT_MOVE_##handler] = {recipe, arg},
#define COMPARE(handler, recipe, arg) [JIT_COMPARE_##handler] = {recipe, arg},
#include "cpu/jit/rows.def"
};

const struct jit_recipe *jit_int_recipe(unsigned row)
{
	return &recipes[row];
}
