/*
 * floats_test.c - bounds of floating-point instructions hold what they give (value/floats.c).
 *
 * Each instruction is given random bounds of its operands and then random operands within them. The
 * host calculates it in the rounding that it names; an approximate one is a few units off, a sum
 * without a rounding is also one of what rounds to its operands.
 */
#include "prove/value/private.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <float.h>
#include <string.h>

static const char text[] =
	".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
	".reg .f32 %f<4>;\n.reg .f64 %d<4>;\n.reg .b32 %r<4>;\n.reg .b64 %l<4>;\n"
	"mul.f32 %f0, %f1, %f2;\nmul.rz.f32 %f0, %f1, %f2;\nmul.rp.ftz.f32 %f0, %f1, %f2;\n"
	"mul.rn.f64 %d0, %d1, %d2;\nmul.rm.f64 %d0, %d1, %d2;\n"
	"add.f32 %f0, %f1, %f2;\nadd.rn.f32 %f0, %f1, %f2;\nadd.rp.f32 %f0, %f1, %f2;\n"
	"add.rm.f64 %d0, %d1, %d2;\nadd.ftz.f32 %f0, %f1, %f2;\nsub.ftz.f32 %f0, %f1, %f2;\n"
	"sub.f32 %f0, %f1, %f2;\nsub.rn.ftz.f32 %f0, %f1, %f2;\nsub.rm.f64 %d0, %d1, %d2;\n"
	"div.rn.f32 %f0, %f1, %f2;\ndiv.rn.ftz.f32 %f0, %f1, %f2;\ndiv.rp.f64 %d0, %d1, %d2;\n"
	"div.approx.f32 %f0, %f1, %f2;\ndiv.full.ftz.f32 %f0, %f1, %f2;\n"
	"fma.rn.f32 %f0, %f1, %f2, %f3;\nfma.rz.f32 %f0, %f1, %f2, %f3;\n"
	"fma.rp.f64 %d0, %d1, %d2, %d3;\n"
	"rcp.rn.f32 %f0, %f1;\nrcp.approx.ftz.f32 %f0, %f1;\nrcp.rz.f64 %d0, %d1;\n"
	"sqrt.rn.f32 %f0, %f1;\nsqrt.approx.f32 %f0, %f1;\nsqrt.rp.f64 %d0, %d1;\n"
	"min.f32 %f0, %f1, %f2;\nmax.f32 %f0, %f1, %f2;\nmax.f64 %d0, %d1, %d2;\n"
	"cvt.rn.f32.s32 %f0, %r1;\ncvt.rz.f32.u32 %f0, %r1;\ncvt.rp.f32.s64 %f0, %l1;\n"
	"cvt.rn.f64.s32 %d0, %r1;\ncvt.rm.f64.u64 %d0, %l1;\ncvt.rn.f64.u64 %d0, %l1;\n"
	"cvt.f64.f32 %d0, %f1;\ncvt.rn.f32.f64 %f0, %d1;\ncvt.rp.f32.f64 %f0, %d1;\n"
	"cvt.rmi.f32.f32 %f0, %f1;\ncvt.rpi.ftz.f32.f32 %f0, %f1;\ncvt.rni.f64.f64 %d0, %d1;\n"
	"cvt.rzi.s32.f32 %r0, %f1;\ncvt.rpi.u32.f32 %r0, %f1;\ncvt.rni.s64.f32 %l0, %f1;\n"
	"cvt.rmi.s32.f64 %r0, %d1;\ncvt.rpi.u64.f64 %l0, %d1;\ncvt.rzi.s64.f64 %l0, %d1;\n"
	"ret;\n}\n";

static uint64_t state = 88172645463325252ull;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static unsigned bits_of(unsigned type)
{
	return 8 * ptx_type_bytes((enum ptx_type)type);
}

static bool is_float(unsigned type)
{
	return ptx_type_class((enum ptx_type)type) == PTX_CLASS_FLOAT;
}

static double number(unsigned type, uint64_t v)
{
	uint32_t low = (uint32_t)v;
	float f;
	double d;

	memcpy(&f, &low, sizeof(f));
	memcpy(&d, &v, sizeof(d));
	return bits_of(type) == 32 ? (double)f : d;
}

static uint64_t bits(unsigned type, double v)
{
	float f = (float)v;
	uint32_t low;
	uint64_t r;

	memcpy(&low, &f, sizeof(low));
	memcpy(&r, &v, sizeof(r));
	return bits_of(type) == 32 ? low : r;
}

/* Bits of any value of the type; of floating point mostly what calculations meet. */
static uint64_t any(unsigned type)
{
	uint64_t v = draw() >> (64 - bits_of(type));

	if (!is_float(type))
		return v >> draw() % bits_of(type);
	switch (draw() % 8) {
	case 0:
		return v;
	case 1:
		return v >> 1;
	case 2:
		return bits(type, 0);
	case 3:
		return bits(type, (double)(draw() % 70000));
	case 4:
		return v >> (bits_of(type) == 32 ? 10 : 13); /* small, too small for ftz */
	default:
		return bits(type, ldexp((double)(draw() >> 11), (int)(draw() % 40) - 60));
	}
}

static int rounding(const struct ptx_form *f)
{
	return ptx_form_has(f, PTX_MOD_RZ)   ? FE_TOWARDZERO
	       : ptx_form_has(f, PTX_MOD_RM) ? FE_DOWNWARD
	       : ptx_form_has(f, PTX_MOD_RP) ? FE_UPWARD
					     : FE_TONEAREST;
}

static double flushed(const struct ptx_form *f, double v)
{
	return ptx_form_has(f, PTX_MOD_FTZ) && fabs(v) < (double)FLT_MIN ? copysign(0, v) : v;
}

/* PTX takes the other one where one is no number; fmin doesn't of each that is none. */
static double lesser(double a, double b)
{
	return isnan(a) ? b : isnan(b) || a < b || (a == b && signbit(a)) ? a : b;
}

/* In single precision; the volatile ones keep the compiler from calculating beforehand. */
static double single(enum ptx_op op, double a, double b, double c)
{
	volatile float x = (float)a, y = (float)b, z = (float)c, r;

	/* clang-format off */
	switch (op) {
	case PTX_OP_MUL: r = x * y; break;
	case PTX_OP_ADD: r = x + y; break;
	case PTX_OP_SUB: r = x - y; break;
	case PTX_OP_DIV: r = x / y; break;
	case PTX_OP_RCP: r = 1 / x; break;
	case PTX_OP_SQRT: r = sqrtf(x); break;
	case PTX_OP_MIN: r = (float)lesser(x, y); break;
	case PTX_OP_MAX: r = (float)-lesser(-x, -y); break;
	default: r = fmaf(x, y, z); break;
	}
	/* clang-format on */
	return (double)r;
}

static double twice(enum ptx_op op, double a, double b, double c)
{
	volatile double x = a, y = b, z = c, r;

	/* clang-format off */
	switch (op) {
	case PTX_OP_MUL: r = x * y; break;
	case PTX_OP_ADD: r = x + y; break;
	case PTX_OP_SUB: r = x - y; break;
	case PTX_OP_DIV: r = x / y; break;
	case PTX_OP_RCP: r = 1 / x; break;
	case PTX_OP_SQRT: r = sqrt(x); break;
	case PTX_OP_MIN: r = lesser(x, y); break;
	case PTX_OP_MAX: r = -lesser(-x, -y); break;
	default: r = fma(x, y, z); break;
	}
	/* clang-format on */
	return r;
}

/* What may have been rounded to v, or was too small. */
static double unrounded(const struct ptx_form *f, double v)
{
	if (ptx_form_has(f, PTX_MOD_FTZ) && v == 0)
		return (double)FLT_MIN * (double)(draw() % 1000) / 1000;
	double half = ((double)nextafterf((float)v, INFINITY) - v) / 2;

	double part = (double)(draw() % 2001) / 1000 - 1;

	return v + half * (v > 0 ? part : fabs(part)) * 0.999; /* a product keeps its sign */
}

static uint64_t calculate(const struct ptx_form *f, const uint64_t *v)
{
	unsigned to = f->types[0];
	double x[3], r;

	for (unsigned i = 0; i < 3; i++)
		x[i] = flushed(f, number(to, v[i]));
	bool is_loose = f->op == PTX_OP_ADD || f->op == PTX_OP_SUB;
	is_loose &= !ptx_form_has(f, PTX_MOD_RN) && rounding(f) == FE_TONEAREST && draw() % 2;
	fesetround(rounding(f));
	if (is_loose && bits_of(to) == 32) {
		fesetround(FE_TONEAREST);
		r = twice(f->op, unrounded(f, x[0]), unrounded(f, x[1]), 0);
		r = (double)(float)r;
	} else {
		r = bits_of(to) == 32 ? single(f->op, x[0], x[1], x[2])
				      : twice(f->op, x[0], x[1], x[2]);
	}
	fesetround(FE_TONEAREST);
	if (ptx_form_has(f, PTX_MOD_APPROX) || ptx_form_has(f, PTX_MOD_FULL))
		r += r * 0x1p-23 * ((double)(draw() % 401) / 100 - 2);
	return bits(to, flushed(f, r));
}

static double whole(const struct ptx_form *f, double v)
{
	return ptx_form_has(f, PTX_MOD_RNI)   ? rint(v)
	       : ptx_form_has(f, PTX_MOD_RMI) ? floor(v)
	       : ptx_form_has(f, PTX_MOD_RPI) ? ceil(v)
	       : ptx_form_has(f, PTX_MOD_RZI) ? trunc(v)
					      : v;
}

static uint64_t to_integer(unsigned type, double v)
{
	bool is_signed = ptx_type_class((enum ptx_type)type) == PTX_CLASS_SINT;
	double end = ldexp(1, (int)bits_of(type) - is_signed);
	uint64_t most = prove_ex_mask(bits_of(type));

	if (isnan(v))
		return 0; /* of f64 another number: such operands have no bounds */
	if (v >= end)
		return most >> is_signed;
	if (v < 0)
		return is_signed ? (v <= -end ? (most >> 1) + 1 : (uint64_t)(int64_t)v & most) : 0;
	return (uint64_t)v;
}

static uint64_t convert(const struct ptx_form *f, uint64_t v)
{
	unsigned to = f->types[0], from = f->types[1];
	bool is_signed = ptx_type_class((enum ptx_type)from) == PTX_CLASS_SINT;
	int64_t n = prove_ex_signed(v, bits_of(from));
	double r;

	if (is_float(from)) {
		volatile double x = whole(f, flushed(f, number(from, v)));
		if (!is_float(to))
			return to_integer(to, x);
		fesetround(rounding(f));
		volatile float y = (float)x;
		r = bits_of(to) == 32 ? (double)y : x;
	} else {
		volatile uint64_t u = v;
		volatile int64_t s = n;
		fesetround(rounding(f));
		volatile float y = is_signed ? (float)s : (float)u;
		volatile double z = is_signed ? (double)s : (double)u;
		r = bits_of(to) == 32 ? (double)y : z;
		if (!n)
			r = 0; /* clang's of an unsigned 0 is -0 in a direction downwards */
	}
	fesetround(FE_TONEAREST);
	return bits(to, r);
}

#define TURNS 1000

/* How many times the bounds say something. */
static unsigned ask(struct ex_pool *p, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	unsigned from = f->types[f->ntypes - 1], n = s->nops - 1u, said = 0;
	struct ir_step st = {.kind = IR_PURE, .w = (uint8_t)bits_of(f->types[0]), .at = s};

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const struct ex *x[3] = {NULL, NULL, NULL};
		uint64_t v[3] = {0, 0, 0};
		for (unsigned i = 0; i < n; i++) {
			uint64_t lo = any(from), hi = draw() % 4 ? any(from) : lo;
			struct ex_range r = {lo < hi ? lo : hi, lo < hi ? hi : lo};
			x[i] = prove_ex_leaf(p, EX_VAR, bits_of(from), 4ull * turn + i, EX_THREAD,
					     r, EX_NO_ARGS);
			v[i] = r.hi - r.lo == UINT64_MAX ? draw()
							 : r.lo + draw() % (r.hi - r.lo + 1);
			v[i] = draw() % 4 ? v[i] : draw() % 2 ? r.lo : r.hi;
		}
		struct ex_range is = prove_ev_float_bounds(&st, x);
		uint64_t got = f->op == PTX_OP_CVT ? convert(f, v[0]) : calculate(f, v);
		said += is.lo || is.hi != prove_ex_mask(st.w);
		if (got < is.lo || got > is.hi)
			fail_msg("%.*s of %llx, %llx, %llx: %llx is not from %llx to %llx",
				 (int)f->text.n, f->text.p, (unsigned long long)v[0],
				 (unsigned long long)v[1], (unsigned long long)v[2],
				 (unsigned long long)got, (unsigned long long)is.lo,
				 (unsigned long long)is.hi);
	}
	return said;
}

static void bounds_hold(void **unused)
{
	struct ex_launch launch = {.max = {1024, 1024, 64, INT32_MAX, 65535, 65535}};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct ex_pool p;
	unsigned n = 0;

	(void)unused;
	struct ptx_module *m = ptx_parse(&arena, "floats", text, strlen(text), &sink);
	assert_non_null(m);
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC)
			continue;
		ptx_each_stmt(it->func, s) if (s->form && s->nops > 1)
		{
			n++;
			prove_ex_pool_init(&p, &arena, &launch);
			if (ask(&p, s) < TURNS / 50)
				fail_msg("%.*s has hardly any bounds", (int)s->form->text.n,
					 s->form->text.p);
			prove_ex_pool_free(&p);
		}
	}
	assert_int_equal(n, 49);
	base_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_hold)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
