/*
 * test_fp.c - floating point and conversions: both builds against each other and exact references.
 *
 * The instruction is parsed from its text; the decoder is replaced by one that gives each register
 * %a %b %c %d of any width a slot of its own, so that the binder's handler can be called on values
 * that the test chooses: special ones in all combinations, then random ones. References compute in
 * 128-bit integers, or with libm where only a bound is asked.
 */
#include "cpu/alu/fp_num.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants those three first */
#include <cmocka.h>

#define HEAD                                                                                       \
	".version 9.0\n.target sm_100a\n.address_size 64\n.entry k()\n{\n"                         \
	".reg .b16 %h<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n.reg .pred %p<4>;\n"

/* ---- builds ------------------------------------------------------------------- */

#define DECLARE(name) cpu_binder cpu_bind_##name##_base, cpu_bind_##name##_v3;
DECLARE(float)
DECLARE(approx)
DECLARE(half)
DECLARE(cvt)
DECLARE(cvtpack)

#define BINDERS(isa)                                                                               \
	{                                                                                          \
		cpu_bind_float_##isa, cpu_bind_approx_##isa, cpu_bind_half_##isa,                  \
			cpu_bind_cvt_##isa, cpu_bind_cvtpack_##isa                                 \
	}
#ifdef CPU_HAS_V3
#define BUILDS 2
static cpu_binder *const binders[BUILDS][5] = {BINDERS(base), BINDERS(v3)};
#else
#define BUILDS 1
static cpu_binder *const binders[BUILDS][5] = {BINDERS(base)};
#endif

static unsigned builds(void)
{
#ifdef CPU_HAS_V3
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? BUILDS : 1;
#else
	return BUILDS;
#endif
}

/* ---- the decoder's place ---------------------------------------------------------- */

struct cpu_dec {
	struct base_arena arena;
	uint32_t temps;
};

#define SLOT 512u

static uint32_t slot_of(const struct ptx_opnd *op)
{
	static const char *const kinds = "hrdp";

	assert_int_equal(op->kind, PTX_OPND_REG);
	assert_int_equal(op->text.n, 3);
	return (uint32_t)(strchr(kinds, op->text.p[1]) - kinds) * 4 * SLOT +
	       (uint32_t)(op->text.p[2] - '0') * SLOT;
}

uint32_t cpu_dec_src(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t)
{
	(void)d, (void)t;
	return slot_of(op);
}

uint32_t cpu_dec_dst(struct cpu_dec *d, const struct ptx_opnd *op)
{
	(void)d;
	return slot_of(op);
}

unsigned cpu_dec_bytes(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t)
{
	(void)d, (void)t;
	return op->text.p[1] == 'h' ? 2 : op->text.p[1] == 'r' ? 4 : 8;
}

bool cpu_dec_is_not(const struct ptx_opnd *op)
{
	return op->flags & PTX_OPND_NOT;
}

uint32_t cpu_dec_temp(struct cpu_dec *d, enum cpu_class cls)
{
	(void)cls;
	return (16 + d->temps++) * SLOT;
}

void *cpu_dec_alloc(struct cpu_dec *d, size_t bytes)
{
	return base_zalloc(&d->arena, bytes);
}

enum cpu_bound cpu_dec_unsupported(struct cpu_dec *d, struct cpu_inst *in, const char *why)
{
	(void)d, (void)in;
	fail_msg("unsupported: %s", why);
	return CPU_BAD;
}

/* ---- one instruction ------------------------------------------------------------------ */

struct test {
	struct cpu_dec dec;
	struct ptx_stmt *stmt;
	struct cpu_inst inst[BUILDS];
	uint64_t frame[BUILDS][24 * SLOT / 8];
	struct cpu_warp w;
};

static struct test t;

/* Binds the text, whose registers are %h0-3, %r0-3, %d0-3, %p0-3. */
static void bind(const char *text)
{
	struct base_sink sink = {0};

	base_arena_free(&t.dec.arena);
	memset(&t, 0, sizeof(t));
	char *all = base_printf(&t.dec.arena, "%s%s\nret;\n}\n", HEAD, text);
	struct ptx_module *m = ptx_parse(&t.dec.arena, "test", all, strlen(all), &sink);

	assert_non_null(m);
	assert_int_equal(sink.errors, 0);
	for (struct ptx_item *i = m->first; i; i = i->next)
		for (struct ptx_stmt *s = i->kind == PTX_ITEM_FUNC ? i->func->first : NULL;
		     s && !t.stmt; s = s->next)
			t.stmt = s->kind == PTX_STMT_INST ? s : NULL;
	for (unsigned b = 0; b < builds(); b++) {
		enum cpu_bound r = CPU_NOT_MINE;

		for (unsigned i = 0; i < 5 && r == CPU_NOT_MINE; i++)
			r = binders[b][i](&t.dec, t.stmt, &t.inst[b]);
		assert_int_equal(r, CPU_BOUND);
	}
}

static void put(char kind, unsigned n, unsigned lane, uint64_t v)
{
	char name[] = {'%', kind, (char)('0' + n)};
	struct ptx_opnd op = {.kind = PTX_OPND_REG, .text = {name, 3}};

	for (unsigned b = 0; b < builds(); b++) {
		t.w.base[0] = (uint8_t *)t.frame[b];
		if (kind == 'h')
			cpu_u16(&t.w, slot_of(&op))[lane] = (uint16_t)v;
		else if (kind == 'r')
			cpu_u32(&t.w, slot_of(&op))[lane] = (uint32_t)v;
		else
			cpu_u64(&t.w, slot_of(&op))[lane] = v;
	}
}

static uint64_t get(unsigned b, char kind, unsigned n, unsigned lane)
{
	char name[] = {'%', kind, (char)('0' + n)};
	struct ptx_opnd op = {.kind = PTX_OPND_REG, .text = {name, 3}};

	t.w.base[0] = (uint8_t *)t.frame[b];
	if (kind == 'h')
		return cpu_u16(&t.w, slot_of(&op))[lane];
	return kind == 'r' ? cpu_u32(&t.w, slot_of(&op))[lane] : cpu_u64(&t.w, slot_of(&op))[lane];
}

/* Executes in all builds; they must agree on all of the frame, and the lanes outside of mask must
 * be as they were. */
static void run(uint32_t mask)
{
	for (unsigned b = 0; b < builds(); b++) {
		t.w.base[0] = (uint8_t *)t.frame[b];
		assert_int_equal(t.inst[b].fn(&t.w, &t.inst[b], mask), CPU_OK);
	}
	if (builds() > 1 && memcmp(t.frame[0], t.frame[BUILDS - 1], sizeof(t.frame[0])))
		fail_msg("%.*s: the builds differ", (int)t.stmt->text.n, t.stmt->text.p);
}

/* ---- values --------------------------------------------------------------------------- */

static uint64_t rng = 1;

static uint64_t draw(void)
{
	struct cpu_worker k = {.rng = rng};
	uint64_t v = cpu_random(&k);

	rng = k.rng;
	return v;
}

/* Bits of a float format: special, near a power of two, or random. */
static uint64_t draw_float(const struct num_format *f)
{
	unsigned bits = 1u + f->exp_bits + f->man_bits;
	uint64_t v = draw(), all = UINT64_MAX >> (64 - bits), top = 1ull << f->man_bits;
	uint64_t inf = ((1ull << f->exp_bits) - 1) << f->man_bits, one = inf >> 1 & ~(top - 1);

	switch (draw() % 8) {
	case 0:
		return (v & 1) << (bits - 1);
	case 1:
		return (inf | (v & 1) << (bits - 1)) - (v >> 1 & 1);
	case 2:
		return (v & 3) ? v & (top - 1) : inf + 1;
	case 3:
		return (one + (v & 7) * top / 4) | (v >> 8 & 1) << (bits - 1);
	case 4:
		return (one + (v % 64) * top - (v >> 6 & 3)) & all;
	default:
		return v & all;
	}
}

/* ---- the exact reference ----------------------------------------------------------------- */

/* The sum of two exact numbers, the last bit sticky. */
static struct num exact_sum(unsigned __int128 a, int ea, bool na, unsigned __int128 b, int eb,
			    bool nb)
{
	struct num r = {0, 0, na && nb, NUM_FINITE};

	if (!a || (b && eb > ea)) {
		unsigned __int128 x = a;
		int e = ea;
		bool n = na;
		a = b, ea = eb, na = nb;
		b = x, eb = e, nb = n;
	}
	if (!a)
		return r;
	/* a has the greater exponent; bring them together, a up as far as it goes. */
	while (ea > eb && b && !(a >> 125)) {
		a <<= 1;
		ea--;
	}
	while (ea > eb && b) {
		b = b >> 1 | (b & 1);
		eb++;
		if (b <= 1) {
			eb = ea;
			break;
		}
	}
	unsigned __int128 s = na == nb ? a + b : a > b ? a - b : b - a;

	r.neg = !s ? na && nb : na == nb || a > b ? na : nb;
	r.exp = b ? eb < ea ? eb : ea : ea;
	while (s >> 63) {
		s = s >> 1 | (s & 1);
		r.exp++;
	}
	r.sig = (uint64_t)s;
	return r;
}

/* a * b + c, before rounding. rm: an exact zero of opposite signs is -0. */
static struct num exact_fma(struct num a, struct num b, struct num c, bool rm)
{
	bool neg = a.neg != b.neg;
	bool a_zero = a.kind == NUM_FINITE && !a.sig, b_zero = b.kind == NUM_FINITE && !b.sig;
	bool p_inf = a.kind == NUM_INF || b.kind == NUM_INF;

	if (a.kind == NUM_NAN || b.kind == NUM_NAN || c.kind == NUM_NAN ||
	    (p_inf && (a_zero || b_zero)) || (p_inf && c.kind == NUM_INF && neg != c.neg))
		return (struct num){1, 0, false, NUM_NAN};
	if (p_inf)
		return (struct num){0, 0, neg, NUM_INF};
	if (c.kind == NUM_INF)
		return c;
	struct num r = exact_sum((unsigned __int128)a.sig * b.sig, a.exp + b.exp, neg, c.sig, c.exp,
				 c.neg);
	if (!r.sig)
		r.neg = neg == c.neg ? neg : rm;
	return r;
}

static const struct arith_case {
	const char *text;
	const struct num_format *f, *g; /* of the operands; of the last operand and the result */
	char op;			/* + - * f */
	enum num_round round;
} ariths[] = {
	{"add.f32 %r0, %r1, %r2;", &num_f32, &num_f32, '+', NUM_RN},
	{"sub.rn.f32 %r0, %r1, %r2;", &num_f32, &num_f32, '-', NUM_RN},
	{"mul.f32 %r0, %r1, %r2;", &num_f32, &num_f32, '*', NUM_RN},
	{"fma.rn.f32 %r0, %r1, %r2, %r3;", &num_f32, &num_f32, 'f', NUM_RN},
	{"add.rz.f32 %r0, %r1, %r2;", &num_f32, &num_f32, '+', NUM_RZ},
	{"mul.rm.f32 %r0, %r1, %r2;", &num_f32, &num_f32, '*', NUM_RM},
	{"fma.rz.f32 %r0, %r1, %r2, %r3;", &num_f32, &num_f32, 'f', NUM_RZ},
	{"fma.rm.f32 %r0, %r1, %r2, %r3;", &num_f32, &num_f32, 'f', NUM_RM},
	{"fma.rp.f32 %r0, %r1, %r2, %r3;", &num_f32, &num_f32, 'f', NUM_RP},
	{"add.f16 %h0, %h1, %h2;", &num_f16, &num_f16, '+', NUM_RN},
	{"sub.f16 %h0, %h1, %h2;", &num_f16, &num_f16, '-', NUM_RN},
	{"mul.f16 %h0, %h1, %h2;", &num_f16, &num_f16, '*', NUM_RN},
	{"fma.rn.f16 %h0, %h1, %h2, %h3;", &num_f16, &num_f16, 'f', NUM_RN},
	{"add.bf16 %h0, %h1, %h2;", &num_bf16, &num_bf16, '+', NUM_RN},
	{"sub.bf16 %h0, %h1, %h2;", &num_bf16, &num_bf16, '-', NUM_RN},
	{"mul.bf16 %h0, %h1, %h2;", &num_bf16, &num_bf16, '*', NUM_RN},
	{"fma.rn.bf16 %h0, %h1, %h2, %h3;", &num_bf16, &num_bf16, 'f', NUM_RN},
	{"add.rz.f32.f16 %r0, %h1, %r2;", &num_f16, &num_f32, '+', NUM_RZ},
	{"sub.f32.bf16 %r0, %h1, %r2;", &num_bf16, &num_f32, '-', NUM_RN},
	{"fma.rn.f32.bf16 %r0, %h1, %h2, %r3;", &num_bf16, &num_f32, 'f', NUM_RN},
};

static void test_arith(void **state)
{
	(void)state;
	for (unsigned k = 0; k < BASE_COUNTOF(ariths); k++) {
		const struct arith_case *c = &ariths[k];
		unsigned nsrc = c->op == 'f' ? 3 : 2;
		char result = c->g == &num_f32 ? 'r' : 'h', source = c->f == &num_f32 ? 'r' : 'h';
		uint64_t v[3][CPU_WARP];

		bind(c->text);
		for (unsigned round = 0; round < 4000; round++) {
			uint32_t mask = round & 1 ? (uint32_t)draw() | 1u : UINT32_MAX;

			for (unsigned l = 0; l < CPU_WARP; l++) {
				for (unsigned i = 0; i < nsrc; i++) {
					bool is_last = i + 1 == nsrc;

					v[i][l] = draw_float(is_last ? c->g : c->f);
					put(is_last ? result : source, i + 1, l, v[i][l]);
				}
				put(result, 0, l, 0x5555);
			}
			run(mask);
			for (unsigned l = 0; l < CPU_WARP; l++) {
				struct num one = {1, 0, false, NUM_FINITE}, zero = {0, 0, false, 0};
				struct num x = num_unpack(c->f, v[0][l]);
				struct num y = num_unpack(nsrc == 3 ? c->f : c->g, v[1][l]), r;

				if (c->op == 'f') {
					r = exact_fma(x, y, num_unpack(c->g, v[2][l]),
						      c->round == NUM_RM);
				} else if (c->op == '*') {
					zero.neg = x.neg != y.neg;
					r = exact_fma(x, y, zero, false);
				} else {
					y.neg ^= c->op == '-';
					r = exact_fma(x, one, y, c->round == NUM_RM);
				}
				uint64_t want = num_pack(c->g, r, c->round, false);
				uint64_t is = get(0, result, 0, l);

				want = mask >> l & 1 ? want : 0x5555;
				if (is != want)
					fail_msg("%s of %llx %llx %llx: %llx, not %llx", c->text,
						 (unsigned long long)v[0][l],
						 (unsigned long long)v[1][l],
						 (unsigned long long)v[2][l],
						 (unsigned long long)is, (unsigned long long)want);
			}
		}
	}
}

/* ---- f64: fused, and directed rounding --------------------------------------------------- */

static void test_f64(void **state)
{
	static const struct {
		const char *text;
		double a, b, c;
		uint64_t want;
	} cases[] = {
		/* (1 + u)^2 - (1 + 2u) = u^2, lost without fusing */
		{"fma.rn.f64 %d0, %d1, %d2, %d3;", 0x1.0000000000001p0, 0x1.0000000000001p0,
		 -0x1.0000000000002p0, 0x3970000000000000ull},
		{"add.rp.f64 %d0, %d1, %d2;", 1.0, 0x1p-1074, 0, 0x3ff0000000000001ull},
		{"add.rm.f64 %d0, %d1, %d2;", 1.0, 0x1p-1074, 0, 0x3ff0000000000000ull},
		{"add.rm.f64 %d0, %d1, %d2;", 1.0, -1.0, 0, 0x8000000000000000ull},
		{"sub.rz.f64 %d0, %d1, %d2;", 1.0, 0x1p-1074, 0, 0x3fefffffffffffffull},
		{"mul.rp.f64 %d0, %d1, %d2;", 0x1p-1074, 0x1p-1074, 0, 1},
		{"mul.rz.f64 %d0, %d1, %d2;", 0x1p1023, 2.0, 0, 0x7fefffffffffffffull},
		{"div.rn.f64 %d0, %d1, %d2;", 1.0, 3.0, 0, 0x3fd5555555555555ull},
		{"div.rp.f64 %d0, %d1, %d2;", 1.0, 3.0, 0, 0x3fd5555555555556ull},
		{"sqrt.rm.f64 %d0, %d1;", 2.0, 0, 0, 0x3ff6a09e667f3bccull},
		{"sqrt.rp.f64 %d0, %d1;", 2.0, 0, 0, 0x3ff6a09e667f3bcdull},
		{"rcp.rn.f64 %d0, %d1;", 0.0, 0, 0, 0x7ff0000000000000ull},
		{"sub.f64 %d0, %d1, %d2;", HUGE_VAL, HUGE_VAL, 0, FP_NAN64},
	};

	(void)state;
	for (unsigned k = 0; k < BASE_COUNTOF(cases); k++) {
		bind(cases[k].text);
		for (unsigned l = 0; l < CPU_WARP; l++) {
			put('d', 1, l, fp_b64(cases[k].a));
			put('d', 2, l, fp_b64(cases[k].b));
			put('d', 3, l, fp_b64(cases[k].c));
		}
		run(UINT32_MAX);
		for (unsigned l = 0; l < CPU_WARP; l++)
			assert_int_equal(get(0, 'd', 0, l), cases[k].want);
	}
	/* The direction does not stay behind. */
	volatile double third = 1.0;
	assert_true(fp_b64(third / 3.0) == 0x3fd5555555555555ull && fegetround() == FE_TONEAREST);
}

/* ---- conversions ---------------------------------------------------------------------------- */

static const struct cvt_case {
	const char *text;
	char d, s;
	const struct num_format *to, *from; /* NULL: an integer */
	uint8_t to_bits, from_bits;	    /* of an integer; negative would be signed, see below */
	bool to_signed, from_signed;
	enum num_round round;
} cvts[] = {
	{"cvt.rn.f16.f32 %h0, %r1;", 'h', 'r', &num_f16, &num_f32, 0, 0, 0, 0, NUM_RN},
	{"cvt.rz.f16.f32 %h0, %r1;", 'h', 'r', &num_f16, &num_f32, 0, 0, 0, 0, NUM_RZ},
	{"cvt.rn.bf16.f32 %h0, %r1;", 'h', 'r', &num_bf16, &num_f32, 0, 0, 0, 0, NUM_RN},
	{"cvt.f32.f16 %r0, %h1;", 'r', 'h', &num_f32, &num_f16, 0, 0, 0, 0, NUM_RN},
	{"cvt.rn.f32.s32 %r0, %r1;", 'r', 'r', &num_f32, NULL, 0, 32, 0, 1, NUM_RN},
	{"cvt.rn.f32.u32 %r0, %r1;", 'r', 'r', &num_f32, NULL, 0, 32, 0, 0, NUM_RN},
	{"cvt.rn.f32.s64 %r0, %d1;", 'r', 'd', &num_f32, NULL, 0, 64, 0, 1, NUM_RN},
	{"cvt.rn.f32.u64 %r0, %d1;", 'r', 'd', &num_f32, NULL, 0, 64, 0, 0, NUM_RN},
	{"cvt.rn.f64.s64 %d0, %d1;", 'd', 'd', &num_f64, NULL, 0, 64, 0, 1, NUM_RN},
	{"cvt.rn.f64.u64 %d0, %d1;", 'd', 'd', &num_f64, NULL, 0, 64, 0, 0, NUM_RN},
	{"cvt.rn.f64.u32 %d0, %r1;", 'd', 'r', &num_f64, NULL, 0, 32, 0, 0, NUM_RN},
	{"cvt.rn.f64.s32 %d0, %r1;", 'd', 'r', &num_f64, NULL, 0, 32, 0, 1, NUM_RN},
	{"cvt.rni.s32.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 32, 0, 1, 0, NUM_RN},
	{"cvt.rzi.s32.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 32, 0, 1, 0, NUM_RZ},
	{"cvt.rmi.s32.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 32, 0, 1, 0, NUM_RM},
	{"cvt.rpi.s32.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 32, 0, 1, 0, NUM_RP},
	{"cvt.rni.u32.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 32, 0, 0, 0, NUM_RN},
	{"cvt.rzi.u32.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 32, 0, 0, 0, NUM_RZ},
	{"cvt.rpi.u32.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 32, 0, 0, 0, NUM_RP},
	{"cvt.rzi.s32.f64 %r0, %d1;", 'r', 'd', NULL, &num_f64, 32, 0, 1, 0, NUM_RZ},
	{"cvt.rzi.s64.f32 %d0, %r1;", 'd', 'r', NULL, &num_f32, 64, 0, 1, 0, NUM_RZ},
	{"cvt.rn.f16.s16 %h0, %h1;", 'h', 'h', &num_f16, NULL, 0, 16, 0, 1, NUM_RN},
	{"cvt.rn.f32.u16 %r0, %h1;", 'r', 'h', &num_f32, NULL, 0, 16, 0, 0, NUM_RN},
	{"cvt.rz.f32.s16 %r0, %h1;", 'r', 'h', &num_f32, NULL, 0, 16, 0, 1, NUM_RZ},
	{"cvt.rn.f32.s8 %r0, %r1;", 'r', 'r', &num_f32, NULL, 0, 8, 0, 1, NUM_RN},
	{"cvt.rn.f64.u8 %d0, %h1;", 'd', 'h', &num_f64, NULL, 0, 8, 0, 0, NUM_RN},
	{"cvt.rn.f64.s16 %d0, %r1;", 'd', 'r', &num_f64, NULL, 0, 16, 0, 1, NUM_RN},
	{"cvt.rni.u8.f32 %h0, %r1;", 'h', 'r', NULL, &num_f32, 8, 0, 0, 0, NUM_RN},
	{"cvt.rzi.u8.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 8, 0, 0, 0, NUM_RZ},
	{"cvt.rmi.u16.f32 %r0, %r1;", 'r', 'r', NULL, &num_f32, 16, 0, 0, 0, NUM_RM},
	{"cvt.rpi.u16.f32 %h0, %r1;", 'h', 'r', NULL, &num_f32, 16, 0, 0, 0, NUM_RP},
	{"cvt.rzi.s16.f32 %h0, %r1;", 'h', 'r', NULL, &num_f32, 16, 0, 1, 0, NUM_RZ},
	{"cvt.rmi.s16.f32 %h0, %r1;", 'h', 'r', NULL, &num_f32, 16, 0, 1, 0, NUM_RM},
	{"cvt.rni.s32.f64 %r0, %d1;", 'r', 'd', NULL, &num_f64, 32, 0, 1, 0, NUM_RN},
	{"cvt.rmi.s32.f64 %r0, %d1;", 'r', 'd', NULL, &num_f64, 32, 0, 1, 0, NUM_RM},
	{"cvt.rzi.u32.f64 %r0, %d1;", 'r', 'd', NULL, &num_f64, 32, 0, 0, 0, NUM_RZ},
	{"cvt.rpi.u32.f64 %r0, %d1;", 'r', 'd', NULL, &num_f64, 32, 0, 0, 0, NUM_RP},
	{"cvt.rzi.s64.f64 %d0, %d1;", 'd', 'd', NULL, &num_f64, 64, 0, 1, 0, NUM_RZ},
	{"cvt.rzi.u64.f64 %d0, %d1;", 'd', 'd', NULL, &num_f64, 64, 0, 0, 0, NUM_RZ},
	{"cvt.rzi.u64.f32 %d0, %r1;", 'd', 'r', NULL, &num_f32, 64, 0, 0, 0, NUM_RZ},
};

/* By way of alu/fp_num.h, against which the fast paths are written independently. */
static uint64_t cvt_reference(const struct cvt_case *c, uint64_t v)
{
	uint64_t u =
		c->from || !c->from_signed
			? v
			: (uint64_t)((int64_t)(v << (64 - c->from_bits)) >> (64 - c->from_bits));
	struct num n = c->from ? num_unpack(c->from, v) : num_from_int(u, c->from_signed);

	if (c->to)
		return num_pack(c->to, n, c->round, false);
	if (n.kind == NUM_NAN)
		return c->from == &num_f64 || c->to_bits == 64 ? 1ull << (c->to_bits - 1) : 0;
	return num_to_int(n, c->to_bits, c->to_signed, c->round) & UINT64_MAX >> (64 - c->to_bits);
}

static void test_cvt(void **state)
{
	(void)state;
	for (unsigned k = 0; k < BASE_COUNTOF(cvts); k++) {
		const struct cvt_case *c = &cvts[k];
		uint64_t v[CPU_WARP];

		bind(c->text);
		for (unsigned round = 0; round < 3000; round++) {
			uint32_t mask = round & 1 ? (uint32_t)draw() | 1u : UINT32_MAX;

			for (unsigned l = 0; l < CPU_WARP; l++) {
				/* A few bits and runs of bits make halves of the last place. */
				v[l] = c->from ? draw_float(c->from) : draw() >> draw() % 64;
				if (!c->from) {
					v[l] = draw() & 1 ? v[l]
							  : v[l] & ~(UINT64_MAX >> draw() % 64);
					v[l] &= UINT64_MAX >> (64 - c->from_bits);
				}
				put(c->s, 1, l, v[l]);
				put(c->d, 0, l, 0x5555);
			}
			run(mask);
			for (unsigned l = 0; l < CPU_WARP; l++) {
				uint64_t want = mask >> l & 1 ? cvt_reference(c, v[l]) : 0x5555;
				uint64_t is = get(0, c->d, 0, l);

				if (is != want)
					fail_msg("%s of %llx: %llx, not %llx", c->text,
						 (unsigned long long)v[l], (unsigned long long)is,
						 (unsigned long long)want);
			}
		}
	}
}

/* All 65536 values: f16 to f32 and back, and each float between two halves rounds to the even. */
static void test_half_exhaustive(void **state)
{
	(void)state;
	for (unsigned h = 0; h < 0x10000; h++) {
		float f = fp_half_one((uint16_t)h);
		struct num n = num_unpack(&num_f16, h);
		uint64_t want = num_pack(&num_f32, n, NUM_RN, false);

		if (n.kind == NUM_NAN) {
			assert_true(f != f && fp_to_half_one(f) == FP_NAN16);
			continue;
		}
		assert_int_equal(fp_b32(f), want);
		assert_int_equal(fp_to_half_one(f), h);
		for (unsigned around = 0; around < 3 && n.kind == NUM_FINITE; around++) {
			uint32_t u = fp_b32(f) + 0x1000u - 1u + around;

			assert_int_equal(
				fp_to_half_one(fp_f32(u)),
				num_pack(&num_f16, num_unpack(&num_f32, u), NUM_RN, false));
			assert_int_equal(
				fp_to_bf16_one(fp_f32(u << 3)),
				num_pack(&num_bf16, num_unpack(&num_f32, u << 3), NUM_RN, false));
		}
	}
}

/* Packed 8-, 6- and 4-bit formats: what is exact comes back, NaN and what is too large as
 * specified. */
static void test_cvt_packed(void **state)
{
	static const struct {
		const char *text;
		float a, b;
		uint32_t want;
	} cases[] = {
		{"cvt.rn.f16x2.f32 %r0, %r1, %r2;", 1.0f, -2.0f, 0x3c00c000},
		{"cvt.rn.relu.bf16x2.f32 %r0, %r1, %r2;", 1.0f, -2.0f, 0x3f800000},
		{"cvt.rz.bf16x2.f32 %r0, %r1, %r2;", 0x1.fep0f, 0x1.ffp0f, 0x3fff3fff},
		{"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", 448.0f, 1e9f, 0x7e7e},
		{"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", NAN, -0x1p-9f, 0x7f81},
		{"cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2;", -HUGE_VALF, 1.25f, 0xfb3d},
		{"cvt.rn.satfinite.e2m3x2.f32 %h0, %r1, %r2;", 7.5f, -100.0f, 0x1f3f},
		{"cvt.rn.satfinite.e3m2x2.f32 %h0, %r1, %r2;", NAN, 28.0f, 0x1f1f},
		{"cvt.rp.satfinite.ue8m0x2.f32 %h0, %r1, %r2;", 1.0f, 1.5f, 0x7f80},
		{"cvt.rz.satfinite.ue8m0x2.f32 %h0, %r1, %r2;", NAN, 1.5f, 0xff7f},
	};

	(void)state;
	for (unsigned k = 0; k < BASE_COUNTOF(cases); k++) {
		char d = cases[k].text[strcspn(cases[k].text, "%") + 1];

		bind(cases[k].text);
		put('r', 1, 5, fp_b32(cases[k].a));
		put('r', 2, 5, fp_b32(cases[k].b));
		run(1u << 5);
		assert_int_equal(get(0, d, 0, 5), cases[k].want);
		assert_int_equal(get(0, d, 0, 6), 0);
	}
}

/* ---- approximations -------------------------------------------------------------------------- */

static double rsqrt_of(double x)
{
	return 1.0 / sqrt(x);
}

static double rcp_of(double x)
{
	return 1.0 / x;
}

/* The bounds of PTX ISA 9.7.3; of ex2 and lg2 one unit of the last place, which is less. */
static void test_approx(void **state)
{
	static const struct {
		const char *text;
		double (*f)(double);
		double from, to, relative, absolute;
	} cases[] = {
		{"sin.approx.f32 %r0, %r1;", sin, -3.14159, 3.14159, 0, 0x1p-20},
		{"cos.approx.f32 %r0, %r1;", cos, -3.14159, 3.14159, 0, 0x1p-20},
		{"sin.approx.f32 %r0, %r1;", sin, -314, 314, 0, 0x1p-14},
		{"ex2.approx.f32 %r0, %r1;", exp2, -126, 127, 0x1p-23, 0},
		{"ex2.approx.f32 %r0, %r1;", exp2, -0x1p-20, 0x1p-20, 0x1p-23, 0},
		{"ex2.approx.f32 %r0, %r1;", exp2, -150, -126, 0, 0x1p-149},
		{"lg2.approx.f32 %r0, %r1;", log2, 0.5, 2, 0x1p-23, 0},
		{"lg2.approx.f32 %r0, %r1;", log2, 1, 1.001, 0x1p-23, 0},
		{"lg2.approx.f32 %r0, %r1;", log2, 0x1p-149, 0x1p-126, 0x1p-23, 0},
		{"lg2.approx.ftz.f32 %r0, %r1;", log2, 2, 1e30, 0x1p-23, 0},
		{"tanh.approx.f32 %r0, %r1;", tanh, -10, 10, 0x1p-11, 0},
		{"rsqrt.approx.f32 %r0, %r1;", rsqrt_of, 1e-30, 1e30, 0x1p-22, 0},
		{"rcp.approx.f32 %r0, %r1;", rcp_of, 1e-30, 1e30, 0x1p-23, 0},
		{"sqrt.approx.f32 %r0, %r1;", sqrt, 1e-30, 1e30, 0x1p-23, 0},
	};

	(void)state;
	for (unsigned k = 0; k < BASE_COUNTOF(cases); k++) {
		bind(cases[k].text);
		for (unsigned round = 0; round < 500; round++) {
			float x[CPU_WARP];

			for (unsigned l = 0; l < CPU_WARP; l++) {
				double u = (double)(draw() >> 11) * 0x1p-53;

				x[l] = (float)(cases[k].from +
					       u * u * (cases[k].to - cases[k].from));
				put('r', 1, l, fp_b32(x[l]));
			}
			run(UINT32_MAX);
			for (unsigned l = 0; l < CPU_WARP; l++) {
				double want = cases[k].f((double)x[l]);
				double is = (double)fp_f32((uint32_t)get(0, 'r', 0, l));

				if (!(fabs(is - want) <=
				      fabs(want) * cases[k].relative + cases[k].absolute))
					fail_msg("%s of %a: %a, not %a", cases[k].text,
						 (double)x[l], is, want);
			}
		}
	}
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static void test_setp_packed(void **state)
{
	(void)state;
	bind("setp.lt.and.f16x2 %p0|%p1, %r1, %r2, !%p2;");
	put('r', 1, 0, 0x3c003c00); /* 1, 1 < 2, 1 */
	put('r', 2, 0, 0x3c004000);
	put('r', 1, 1, 0x7e003c00); /* NaN, 1 < 2, 1 */
	put('r', 2, 1, 0x40003c00);
	put('r', 1, 2, 0x3c003c00); /* 1, 1 < 2, 2 but the third operand is true */
	put('r', 2, 2, 0x40004000);
	put('p', 2, 0, 4);
	run(7);
	assert_int_equal(get(0, 'p', 0, 0) & 0xffffffffu, 1);
	assert_int_equal(get(0, 'p', 1, 0) & 0xffffffffu, 0);
	bind("set.geu.u32.f16x2 %r0, %r1, %r2;");
	put('r', 1, 0, 0x7e003c00);
	put('r', 2, 0, 0x40004000);
	run(1);
	assert_int_equal(get(0, 'r', 0, 0), 0xffff0000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arith),	    cmocka_unit_test(test_f64),
		cmocka_unit_test(test_cvt),	    cmocka_unit_test(test_half_exhaustive),
		cmocka_unit_test(test_cvt_packed),  cmocka_unit_test(test_approx),
		cmocka_unit_test(test_setp_packed),
	};
	int r = cmocka_run_group_tests_name("fp", tests, NULL, NULL);

	base_arena_free(&t.dec.arena);
	return r;
}
