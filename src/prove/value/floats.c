/*
 * floats.c - bounds of floating-point values, and of the integers that are made of them.
 *
 * Of two numbers of an IEEE format that aren't negative the greater one has the greater bits, read
 * as an unsigned integer. So bounds of such a value are bounds of its bits, which every value has
 * (expr.h), and a length as ceilf(n * ratio) stays small where n does. Operations are done on the
 * ends: as the instruction rounds them where that is to nearest, else the ends of what any rounding
 * gives. `add` and `sub` without a rounding are done as if what goes in weren't rounded, as ptxas
 * may make one operation of a product and a sum.
 *
 * Misses: what may be negative, infinite or no number (a maximum with a number excludes that); half
 * precision; logarithms and the like.
 * Costs: a few operations for each instruction.
 */
#include "prove/value/private.h"

#include <float.h>
#include <math.h>

/* Numbers from lo to hi, not negative; lo > hi: nothing is known. */
struct span {
	double lo, hi;
};

static const struct span unknown = {1, 0};

static bool is_known(struct span s)
{
	return s.lo <= s.hi;
}

static unsigned bits_of(enum ptx_type t)
{
	return 8 * ptx_type_bytes(t);
}

static bool is_float(enum ptx_type t)
{
	return t == PTX_TYPE_F32 || t == PTX_TYPE_F64;
}

static bool is_whole(enum ptx_type t)
{
	enum ptx_type_class c = ptx_type_class(t);

	return (c == PTX_CLASS_UINT || c == PTX_CLASS_SINT) && bits_of(t) && bits_of(t) <= 64;
}

static uint64_t most_of(enum ptx_type t)
{
	return prove_ex_mask(bits_of(t)) >> (ptx_type_class(t) == PTX_CLASS_SINT);
}

static double number(enum ptx_type t, uint64_t bits)
{
	union {
		uint32_t u;
		float f;
	} single = {.u = (uint32_t)bits};
	union {
		uint64_t u;
		double f;
	} wide = {.u = bits};

	return t == PTX_TYPE_F32 ? (double)single.f : wide.f;
}

static uint64_t bits(enum ptx_type t, double v)
{
	union {
		float f;
		uint32_t u;
	} single = {.f = (float)v};
	union {
		double f;
		uint64_t u;
	} wide = {.f = v};

	return t == PTX_TYPE_F32 ? single.u : wide.u;
}

/* ---- an instruction ------------------------------------------------------------------------- */

struct operation {
	const struct ptx_stmt *s;
	const struct ex *const *x; /* its registers, in order */
	enum ptx_type to;
	bool is_nearest, is_flushed, is_approx, is_fused;
};

/* Sets what the instruction's modifiers say. False: there is one that isn't known. */
static bool read_form(struct operation *o)
{
	const struct ptx_form *f = o->s->form;

	o->is_nearest = o->is_fused = true;
	for (unsigned i = 0; i < f->nmods; i++) {
		switch (f->mods[i]) {
		case PTX_MOD_RN:
			o->is_fused = false;
			break;
		case PTX_MOD_RZ:
		case PTX_MOD_RM:
		case PTX_MOD_RP:
			o->is_fused = o->is_nearest = false;
			break;
		case PTX_MOD_FTZ:
			o->is_flushed = true;
			break;
		case PTX_MOD_APPROX:
		case PTX_MOD_FULL:
			o->is_approx = true;
			o->is_nearest = false;
			break;
		case PTX_MOD_RNI:
		case PTX_MOD_RZI:
		case PTX_MOD_RMI:
		case PTX_MOD_RPI:
			if (f->op != PTX_OP_CVT)
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}

static double next(enum ptx_type t, double v, double to)
{
	if (t == PTX_TYPE_F32)
		return (double)nextafterf((float)v, (float)to);
	return nextafter(v, to);
}

/* What rounds to within s may have come from. */
static struct span outwards(enum ptx_type t, struct span s)
{
	return (struct span){s.lo > 0 ? next(t, s.lo, 0) : 0, next(t, s.hi, INFINITY)};
}

#define EXACT (1ull << 53) /* integers below it are numbers of 64 bits */

/* Operand i, of type t. */
static struct span operand(const struct operation *o, unsigned i, enum ptx_type t)
{
	const struct ptx_opnd *p = &o->s->ops[i];
	uint64_t lo, hi;
	struct span r;
	unsigned reg = 0;

	if (p->flags)
		return unknown;
	if (p->kind == PTX_OPND_REG) {
		for (unsigned k = 1; k < i; k++)
			reg += o->s->ops[k].kind == PTX_OPND_REG;
		lo = o->x[reg]->lo;
		hi = o->x[reg]->hi;
		if (is_float(t) && o->x[reg]->w != bits_of(t))
			return unknown;
	} else if (p->kind == PTX_OPND_F32 || p->kind == PTX_OPND_F64) {
		lo = hi = prove_ir_literal(p, bits_of(t)) & prove_ex_mask(bits_of(t));
	} else {
		return unknown;
	}
	if (is_whole(t)) {
		r = (struct span){(double)lo, (double)hi};
		return hi > most_of(t) ? unknown : hi < EXACT ? r : outwards(PTX_TYPE_F64, r);
	}
	if (hi > bits(t, INFINITY))
		return unknown;
	r = (struct span){number(t, lo), number(t, hi)};
	if (o->is_flushed && r.lo < (double)FLT_MIN)
		r.lo = 0;
	return r;
}

/* The ends of a result of type t that comes to lo and hi, rounded to nearest. */
static struct span rounded(const struct operation *o, double lo, double hi)
{
	struct span r = {lo, hi};

	if (isnan(lo) || isnan(hi) || lo < 0)
		return unknown;
	if (o->is_approx) { /* two units in the last place of single precision, and more */
		r.lo -= r.lo * 0x1p-20;
		r.hi += r.hi * 0x1p-20;
	}
	if (!o->is_nearest)
		r = outwards(o->to, r);
	if (o->is_flushed && r.lo < (double)FLT_MIN)
		r.lo = 0;
	return isinf(r.hi) ? unknown : r;
}

/* One operation in the format of the instruction, to nearest. */
static double calculate(enum ptx_type t, enum ptx_op op, double a, double b)
{
	bool is_single = t == PTX_TYPE_F32;
	float x = (float)a, y = (float)b;

	switch (op) {
	case PTX_OP_ADD:
		return is_single ? (double)(float)(x + y) : a + b;
	case PTX_OP_SUB:
		return is_single ? (double)(float)(x - y) : a - b;
	case PTX_OP_DIV:
		return is_single ? (double)(float)(x / y) : a / b;
	case PTX_OP_SQRT:
		return is_single ? (double)sqrtf(x) : sqrt(a);
	default:
		return is_single ? (double)(float)(x * y) : a * b;
	}
}

/* A number of a sum, before it was rounded as a product and, where that was small, made 0. */
static struct span unrounded(const struct operation *o, struct span s)
{
	s = outwards(o->to, s);
	if (o->is_flushed && s.hi < (double)FLT_MIN)
		s.hi = (double)FLT_MIN;
	return s;
}

static struct span of_two(const struct operation *o, enum ptx_op op, struct span a, struct span b)
{
	enum ptx_type t = o->to;

	switch (op) {
	case PTX_OP_ADD:
		a = o->is_fused ? unrounded(o, a) : a;
		b = o->is_fused ? unrounded(o, b) : b;
		break;
	case PTX_OP_SUB: /* 0 - 0 may be the negative 0 */
		a = o->is_fused ? unrounded(o, a) : a;
		b = o->is_fused ? unrounded(o, b) : b;
		if (a.lo <= b.hi)
			return unknown;
		return rounded(o, calculate(t, op, a.lo, b.hi), calculate(t, op, a.hi, b.lo));
	case PTX_OP_DIV: /* approximately, or by what may count as 0: within usual numbers only */
		if (b.lo < (double)FLT_MIN || (o->is_approx && b.hi > 0x1p126))
			return unknown;
		return rounded(o, calculate(t, op, a.lo, b.hi), calculate(t, op, a.hi, b.lo));
	default:
		break;
	}
	return rounded(o, calculate(t, op, a.lo, b.lo), calculate(t, op, a.hi, b.hi));
}

/* What isn't a number loses against one. */
static struct span of_greatest(struct span a, struct span b)
{
	double lo = is_known(a) ? a.lo : 0;

	if (is_known(b) && b.lo > lo)
		lo = b.lo;
	if (!is_known(a) && !is_known(b))
		return unknown;
	return (struct span){lo, is_known(a) && is_known(b) ? fmax(a.hi, b.hi) : INFINITY};
}

static struct span arithmetic(const struct operation *o)
{
	enum ptx_op op = o->s->form->op;
	unsigned n = op == PTX_OP_FMA ? 3 : op == PTX_OP_RCP || op == PTX_OP_SQRT ? 1 : 2;
	struct span a, b = {1, 1}, c;

	if (o->s->nops != n + 1)
		return unknown;
	a = operand(o, 1, o->to);
	if (n > 1)
		b = operand(o, 2, o->to);
	if (op == PTX_OP_MAX)
		return of_greatest(a, b);
	if (!is_known(a) || !is_known(b))
		return unknown;
	if (op == PTX_OP_MIN)
		return (struct span){fmin(a.lo, b.lo), fmin(a.hi, b.hi)};
	if (isinf(a.hi) || isinf(b.hi))
		return unknown;
	switch (op) {
	case PTX_OP_RCP:
		return of_two(o, PTX_OP_DIV, b, a);
	case PTX_OP_SQRT:
		return rounded(o, calculate(o->to, op, a.lo, 0), calculate(o->to, op, a.hi, 0));
	case PTX_OP_FMA:
		c = operand(o, 3, o->to);
		if (!is_known(c) || isinf(c.hi))
			return unknown;
		if (o->to == PTX_TYPE_F32)
			return rounded(o, (double)fmaf((float)a.lo, (float)b.lo, (float)c.lo),
				       (double)fmaf((float)a.hi, (float)b.hi, (float)c.hi));
		return rounded(o, fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi));
	default:
		return of_two(o, op, a, b);
	}
}

/* ---- conversions ---------------------------------------------------------------------------- */

static double whole(const struct ptx_form *f, double v)
{
	return ptx_form_has(f, PTX_MOD_RNI)   ? rint(v)
	       : ptx_form_has(f, PTX_MOD_RMI) ? floor(v)
	       : ptx_form_has(f, PTX_MOD_RPI) ? ceil(v)
	       : ptx_form_has(f, PTX_MOD_RZI) ? trunc(v)
					      : v;
}

/* To floating point: from an integer, or another format, or to a whole number of the same. */
static struct span converted(const struct operation *o, enum ptx_type from, struct span a)
{
	const struct ptx_form *f = o->s->form;
	struct operation to = *o;

	a = (struct span){whole(f, a.lo), whole(f, a.hi)};
	if (isinf(a.hi))
		return unknown;
	if (from == o->to || (is_float(from) && bits_of(from) < bits_of(o->to)))
		return a;
	to.is_nearest &= is_float(from) || a.hi < (double)EXACT;
	if (o->to == PTX_TYPE_F32)
		return rounded(&to, (double)(float)a.lo, (double)(float)a.hi);
	return rounded(&to, a.lo, a.hi);
}

static uint64_t clamped(enum ptx_type t, double v)
{
	return v >= (double)most_of(t) ? most_of(t) : (uint64_t)v;
}

struct ex_range prove_ev_float_bounds(const struct ir_step *st, const struct ex *const *x)
{
	struct operation o = {.s = st->at, .x = x};
	const struct ptx_form *f = st->at ? st->at->form : NULL;
	struct span r = unknown;

	if (!f || !f->ntypes || !read_form(&o) || st->at->nops < 2)
		return prove_ex_full(st->w);
	o.to = (enum ptx_type)f->types[0];
	if (o.is_approx && o.to != PTX_TYPE_F32)
		return prove_ex_full(st->w);
	if (f->op == PTX_OP_CVT && f->ntypes == 2 && st->at->nops == 2) {
		enum ptx_type from = (enum ptx_type)f->types[1];
		if (!is_float(from) && !(is_whole(from) && is_float(o.to)))
			return prove_ex_full(st->w);
		struct span a = operand(&o, 1, from);
		if (!is_known(a))
			return prove_ex_full(st->w);
		if (is_whole(o.to) && st->w >= bits_of(o.to))
			return (struct ex_range){clamped(o.to, whole(f, a.lo)),
						 clamped(o.to, whole(f, a.hi))};
		if (is_float(o.to))
			r = converted(&o, from, a);
	} else if (is_float(o.to) && f->ntypes == 1) {
		switch (f->op) {
		case PTX_OP_ADD:
		case PTX_OP_SUB:
		case PTX_OP_MUL:
		case PTX_OP_DIV:
		case PTX_OP_FMA:
		case PTX_OP_RCP:
		case PTX_OP_SQRT:
		case PTX_OP_MIN:
		case PTX_OP_MAX:
			r = arithmetic(&o);
			break;
		default:
			break;
		}
	}
	if (!is_known(r) || st->w != bits_of(o.to))
		return prove_ex_full(st->w);
	return (struct ex_range){bits(o.to, r.lo), bits(o.to, r.hi)};
}
