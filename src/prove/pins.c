/*
 * pins.c - what the assumptions say a parameter is: a number, or bounds of one (check.h).
 *
 * __requires(pitch == 3072) as a mere condition leaves y * pitch + x a product of unknowns, which
 * integers know by its bounds alone. So a parameter that an assumption about every launch gives a
 * number is that number from the first expression on (prove_ex_param), and one that it bounds has
 * these bounds, when the kernel is evaluated again.
 *
 * Only what holds for every thread counts: facts that no branch guards and no loop holds. Of a
 * conjunction each part counts, of a negated disjunction too.
 *
 * Misses: relations between parameters, sums of several, parts of a parameter read in other widths.
 * Costs: microseconds; a second evaluation of the kernel where there is one.
 */
#include "prove/check.h"

struct bounds {
	struct ex_pin pin; /* unsigned ones */
	int64_t slo, shi;
};

struct pins {
	BASE_VEC(struct bounds) found;
};

static struct bounds *bounds_of(struct pins *p, const struct ex *param)
{
	unsigned w = param->w;

	for (size_t i = 0; i < p->found.n; i++)
		if (p->found.v[i].pin.off == param->imm && p->found.v[i].pin.w == w)
			return &p->found.v[i];
	struct bounds b = {.pin = {.off = param->imm, .w = w, .hi = prove_ex_mask(w)}};
	b.shi = (int64_t)(prove_ex_mask(w) >> 1);
	b.slo = -b.shi - 1;
	base_vec_push(&p->found, b);
	return &p->found.v[p->found.n - 1];
}

/* The parameter that v is, perhaps widened; *is_signed: how. NULL: something else. */
static const struct ex *param_in(const struct ex *v, bool *is_signed, bool *is_widened)
{
	*is_signed = v->op == EX_SEXT;
	*is_widened = v->op == EX_SEXT || v->op == EX_ZEXT;
	if (*is_widened)
		v = v->a[0];
	return v->op == EX_PARAM && v->w <= 64 && v->w >= 8 ? v : NULL;
}

static void at_least_signed(struct bounds *b, int64_t n)
{
	b->slo = n > b->slo ? n : b->slo;
}

static void at_most_signed(struct bounds *b, int64_t n)
{
	b->shi = n < b->shi ? n : b->shi;
}

static void at_least(struct bounds *b, uint64_t n)
{
	b->pin.lo = n > b->pin.lo ? n : b->pin.lo;
}

static void at_most(struct bounds *b, uint64_t n)
{
	b->pin.hi = n < b->pin.hi ? n : b->pin.hi;
}

/* v == c, of one width */
static void learn_equal(struct pins *p, const struct ex *v, uint64_t c)
{
	bool is_signed, is_widened;

	if (v->op == EX_ADD && v->a[1]->op == EX_CONST) {
		learn_equal(p, v->a[0], (c - v->a[1]->imm) & prove_ex_mask(v->w));
		return;
	}
	const struct ex *x = param_in(v, &is_signed, &is_widened);
	if (!x)
		return;
	uint64_t n = c & prove_ex_mask(x->w);
	uint64_t again = is_signed ? (uint64_t)prove_ex_signed(n, x->w) & prove_ex_mask(v->w) : n;
	if (again != c)
		return; /* it has no such value: contract.c says so */
	struct bounds *b = bounds_of(p, x);
	at_least(b, n);
	at_most(b, n);
}

/*
 * v < c, or !(v < c); is_above: c < v. As numbers of v's width, which a widened parameter's values
 * are a part of.
 */
static void learn_less(struct pins *p, const struct ex *v, uint64_t c, bool is_signed_test,
		       bool is_above, bool is_true)
{
	bool is_sext, is_widened;
	const struct ex *x = param_in(v, &is_sext, &is_widened);
	int64_t s = prove_ex_signed(c, v->w);
	bool is_upper = is_above != is_true; /* a bound from above */

	if (!x)
		return;
	struct bounds *b = bounds_of(p, x);
	if (is_signed_test && !(is_widened && !is_sext)) {
		int64_t least = prove_ex_signed(1ull << (v->w - 1), v->w), most = -(least + 1);
		/* v < c: at most c - 1; !(v < c): at least c; c < v: at least c + 1 */
		if (is_upper && !(is_true && s == least))
			at_most_signed(b, s - is_true);
		else if (!is_upper && !(is_true && s == most))
			at_least_signed(b, s + is_true);
		return;
	}
	/* unsigned, or a signed test of a value that is 0 or more */
	if (is_sext || (is_signed_test && s < 0))
		return;
	if (is_upper && !(is_true && !c))
		at_most(b, c - is_true);
	else if (!is_upper && !(is_true && c == prove_ex_mask(v->w)))
		at_least(b, c + is_true);
}

static void learn(struct pins *p, const struct ex *f, bool is_true, unsigned depth)
{
	if (depth > 64 || !f->n)
		return;
	const struct ex *a = f->a[0], *b = f->n == 2 ? f->a[1] : NULL;

	switch ((enum ex_op)f->op) {
	case EX_NOT:
		learn(p, a, !is_true, depth + 1);
		break;
	case EX_AND:
	case EX_OR:
		if (f->w != 1 || (f->op == EX_AND) != is_true)
			break;
		learn(p, a, is_true, depth + 1);
		learn(p, b, is_true, depth + 1);
		break;
	case EX_EQ:
		if (is_true && b->op == EX_CONST && a->w > 1)
			learn_equal(p, a, b->imm);
		break;
	case EX_ULT:
	case EX_SLT:
		if (b->op == EX_CONST)
			learn_less(p, a, b->imm, f->op == EX_SLT, false, is_true);
		else if (a->op == EX_CONST)
			learn_less(p, b, a->imm, f->op == EX_SLT, true, is_true);
		break;
	default:
		break;
	}
}

/* The signed bounds, where they say something of the unsigned number. False: there is none. */
static bool settle(struct bounds *b)
{
	if (b->slo > b->shi)
		return false;
	if (b->slo >= 0) {
		at_least(b, (uint64_t)b->slo);
		at_most(b, (uint64_t)b->shi);
	} else if (b->shi < 0) {
		at_least(b, (uint64_t)b->slo & prove_ex_mask(b->pin.w));
		at_most(b, (uint64_t)b->shi & prove_ex_mask(b->pin.w));
	}
	return b->pin.lo <= b->pin.hi && (b->pin.lo || b->pin.hi < prove_ex_mask(b->pin.w));
}

uint32_t prove_pins_find(const struct ev *e, struct ex_pin *out)
{
	struct pins p = {0};
	uint32_t n = 0;

	for (size_t i = 0; i < e->assumes.n; i++) {
		const struct ev_assume *as = &e->assumes.v[i];
		if (as->kind == IR_ASSUME_FACT && prove_ev_is_everywhere(as))
			learn(&p, as->fact, true, 0);
	}
	for (size_t i = 0; i < p.found.n && n < EX_MAX_PINS; i++)
		if (settle(&p.found.v[i]))
			out[n++] = p.found.v[i].pin;
	base_vec_free(&p.found);
	return n;
}
