/*
 * rows_values.c - values as polynomials, and facts about them from guards and assumptions (rows.c).
 */
#include "prove/solve/rows_impl.h"

#define MAX_DEPTH 24

/* ---- values ---------------------------------------------------------------------------------- */

static void bound(struct rows *r, unsigned t, const struct ex *v, const struct ex *most,
		  const struct ex *times, int64_t number)
{
	struct poly p = {.n = 0};
	struct mono m = {.times = 1, .n = most ? 1 : 0, .atom = {most}}, x;
	struct mono by = {.times = 1, .n = times ? 1 : 0, .atom = {times}};

	if (poly_product(&m, &by, &x))
		poly_add_mono(&p, &x, most ? 1 : 0);
	poly_add_mono(&p, &(struct mono){.times = 1, .n = 1, .atom = {v}}, -1);
	poly_add_number(&p, number);
	rows_add_fact(r, t, &p);
}

static void add_atom(struct rows *r, unsigned t, const struct ex *v, struct poly *out);

/* Of a product: each of its factors? */
bool rows_are_positive(struct rows *r, unsigned t, const struct poly *p)
{
	bool is = !p->is_lost, is_product = p->n == 1 && p->m[0].times > 0;

	for (unsigned i = 0; is && i < (is_product ? p->m[0].n : 1); i++) {
		struct mono one = {.times = 1, .n = 1, .atom = {p->n ? p->m[0].atom[i] : NULL}};
		struct poly least = {.n = 0};
		if (is_product)
			poly_add_mono(&least, &one, 1);
		else
			least = *p;
		poly_add_number(&least, -1);
		is = rows_require(r, t, &least);
	}
	return is;
}

/* Is a remainder's or quotient's divisor 1 or more, and what is divided a number from 0 on? */
static bool divides(struct rows *r, unsigned t, const struct ex *v, struct poly *x, struct poly *m)
{
	rows_poly_of(r, t, v->a[0], x, 0);
	rows_poly_of(r, t, v->a[1], m, 0);
	return !x->is_lost && !m->is_lost && rows_fits(r, t, x, 0, v->w) &&
	       rows_are_positive(r, t, m) && rows_fits(r, t, m, 0, v->w);
}

/*
 * x % m is less than m, x / m * m at most x. (y % (a * b)) / b is less than a.
 */
static void know_digit(struct rows *r, unsigned t, const struct ex *v)
{
	struct poly x = {.n = 0}, m = {.n = 0}, f = {.n = 0}, y = {.n = 0}, all = {.n = 0};
	struct mono one = {.times = 1, .n = 1, .atom = {v}}, by;

	if (rows_is_variant(r, v->a[1]) || v->w != 32 || !divides(r, t, v, &x, &m))
		return;
	poly_add_mono(&f, &one, 1);
	rows_add_fact(r, t, &f);
	f = x;
	poly_add_mono(&f, &one, -1);
	rows_add_fact(r, t, &f);
	if (ROWS_IS_REMAINDER(v)) {
		f = m;
		poly_add_mono(&f, &one, -1);
		poly_add_number(&f, -1);
		rows_add_fact(r, t, &f);
		return;
	}
	f = x;
	poly_add_times(&f, &m, &one, -1);
	rows_add_fact(r, t, &f);
	const struct ex *in = v->a[0];
	if (ROWS_IS_REMAINDER(in) && !rows_is_variant(r, in->a[1]) && divides(r, t, in, &y, &all) &&
	    all.n == 1 && m.n == 1 && all.m[0].times == 1 && m.m[0].times == 1 &&
	    poly_quotient(&all.m[0], &m.m[0], &by)) {
		f = (struct poly){.n = 0};
		poly_add_mono(&f, &by, 1);
		poly_add_mono(&f, &one, -1);
		poly_add_number(&f, -1);
		rows_add_fact(r, t, &f);
	}
}

/* What is known of an atom by itself. */
static void know(struct rows *r, unsigned t, const struct ex *v)
{
	const struct ex_launch *l = &r->c->pool->launch;
	struct ex_pool *p = r->c->pool;
	unsigned d;

	for (unsigned i = 0; i < r->side[t].n; i++) { /* once */
		const struct poly *f = &r->side[t].fact[i];
		bool is_whole = ROWS_IS_DIGIT(v) && f->n == 1 && f->m[0].times == 1;
		for (unsigned k = 0; k < f->n; k++)
			if (f->m[k].n == 1 && f->m[k].atom[0] == v &&
			    (is_whole || (f->m[k].times == -1 && v->op == EX_SPEC)))
				return;
	}
	if (v->op == EX_SPEC && v->imm < EX_NTID_X) {
		d = (unsigned)v->imm;
		if (l->dim[d])
			bound(r, t, v, NULL, NULL, (int64_t)l->dim[d] - 1);
		else
			bound(r, t, v, prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d)), NULL,
			      -1);
	}
	if (rows_is_position(r, v, &d)) {
		const struct ex *n = prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d));
		const struct ex *g = prove_ex_spec(p, (enum prove_ex_spec)(EX_NCTAID_X + d));
		if (n->op != EX_CONST && g->op != EX_CONST)
			bound(r, t, v, n->id < g->id ? n : g, n->id < g->id ? g : n, -1);
		bound(r, t, v, NULL, NULL, INT32_MAX);
	} else if ((v->op != EX_SPEC || v->imm >= EX_NTID_X) && v->hi < (uint64_t)1 << 31) {
		bound(r, t, v, NULL, NULL, (int64_t)v->hi);
	}
	if (ROWS_IS_DIGIT(v))
		know_digit(r, t, v);
}

static void add_atom(struct rows *r, unsigned t, const struct ex *v, struct poly *out)
{
	if (v->op == EX_PARAM) { /* what is assumed of it speaks of one that isn't pinned */
		const struct ex *any = prove_ex_any_param(r->c->pool, v->w, v->imm);
		struct poly p = {.n = 0};
		if (v->hi <= prove_ex_mask(v->w) >> 1 && !rows_is_at_least_0(r, t, any)) {
			poly_add_mono(&p, &(struct mono){.times = 1, .n = 1, .atom = {any}}, 1);
			poly_add_number(&p, -(int64_t)v->lo);
			rows_add_fact(r, t, &p);
		}
		if (v->w == 32) /* with a sign */
			bound(r, t, any, NULL, NULL,
			      v->hi < INT32_MAX ? (int64_t)v->hi : INT32_MAX);
		v = any;
	}
	know(r, t, v);
	poly_add_mono(out, &(struct mono){.times = 1, .n = 1, .atom = {v}}, 1);
}

/* p lies between lo and the largest of w bits with a sign. */
bool rows_fits(struct rows *r, unsigned t, const struct poly *p, int64_t lo, unsigned w)
{
	struct poly below = {.n = 0}, above = {.n = 0};

	poly_add(&above, p, 1);
	poly_add_number(&above, -lo);
	poly_add(&below, p, -1);
	poly_add_number(&below, (int64_t)(prove_ex_mask(w) >> 1));
	return rows_require(r, t, &above) && rows_require(r, t, &below);
}

static bool is_simple(const struct poly *p)
{
	return p->n == 1 && p->m[0].times == 1 && p->m[0].n == 1;
}

/* A number or one atom: the very value that the machine has. */
static bool is_plain(const struct poly *p)
{
	return !p->is_lost && (!p->n || is_simple(p) || (p->n == 1 && !p->m[0].n));
}

/* The same of a sum that is known to fit, as blockIdx.x * 256 + threadIdx.x. */
static bool is_exact_start(struct rows *r, unsigned t, const struct poly *p)
{
	struct rows_needs *needs = r->needs;

	if (is_plain(p))
		return true;
	r->needs = NULL; /* nothing becomes one here */
	bool is = rows_fits(r, t, p, INT32_MIN, 32);
	r->needs = needs;
	return is;
}

/* What doesn't wrap lies within 32 bits with a sign. */
static void know_range(struct rows *r, unsigned t, const struct poly *p)
{
	struct poly low = {.n = 0}, high = {.n = 0};

	poly_add(&low, p, 1);
	poly_add_number(&low, -(int64_t)INT32_MIN);
	poly_add(&high, p, -1);
	poly_add_number(&high, INT32_MAX);
	rows_add_fact(r, t, &low);
	rows_add_fact(r, t, &high);
}

/* out += v, as an integer that is v modulo 2^w. */
void rows_poly_of(struct rows *r, unsigned t, const struct ex *v, struct poly *out, unsigned depth)
{
	struct poly a = {.n = 0}, b = {.n = 0}, start = {.n = 0}, all;
	unsigned d;

	if (depth > MAX_DEPTH || out->is_lost) {
		out->is_lost = true;
		return;
	}
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		poly_add_number(out, prove_ex_signed(v->imm, v->w));
		return;
	case EX_ADD:
	case EX_SUB:
		if (rows_is_position(r, v, &d))
			break;
		rows_poly_of(r, t, v->a[0], out, depth + 1);
		rows_poly_of(r, t, v->a[1], &b, depth + 1);
		poly_add(out, &b, v->op == EX_ADD ? 1 : -1);
		return;
	case EX_MUL:
	case EX_IND:
		rows_poly_of(r, t, v->a[v->op == EX_IND], &a, depth + 1);
		rows_poly_of(r, t, v->a[1 + (v->op == EX_IND)], &b, depth + 1);
		if (v->op == EX_IND)
			rows_poly_of(r, t, v->a[0], &start, depth + 1);
		all = start;
		all.is_lost |= a.is_lost;
		for (unsigned i = 0; i < a.n; i++)
			poly_add_times(&all, &b, &a.m[i], 1);
		if (v->op == EX_IND && v->imm == EX_IND_SIGNED && v->w == 32 && is_plain(&a) &&
		    is_exact_start(r, t, &start))
			know_range(r, t, &all);
		poly_add(out, &all, 1);
		return;
	case EX_SEXT:
	case EX_ZEXT:
		if (v->a[0]->w < 32)
			break;
		rows_poly_of(r, t, v->a[0], &a, depth + 1);
		if (a.is_lost ||
		    (!(is_simple(&a) && v->op == EX_SEXT) &&
		     !rows_fits(r, t, &a, v->op == EX_ZEXT ? 0 : INT32_MIN, v->a[0]->w))) {
			out->is_lost = true;
			return;
		}
		poly_add(out, &a, 1);
		return;
	default:
		break;
	}
	add_atom(r, t, v, out);
}

/* ---- what guards and assumptions say --------------------------------------------------------- */

/* Is a sum of products of the assumptions' 64 bits exact? */
static bool is_exact(struct rows *r, unsigned t, const struct poly *p)
{
	double all = 0;

	if (is_simple(p))
		return true;
	for (unsigned i = 0; i < p->n; i++) {
		all += rows_size_of(r, t, &p->m[i]);
		if (p->m[i].n > 2 && !rows_are_at_least_0(r, t, &p->m[i]))
			return false;
	}
	return all < ROWS_EXACT;
}

static void learn(struct rows *r, unsigned t, const struct ex *g, bool is_not, unsigned depth)
{
	struct poly a = {.n = 0}, b = {.n = 0}, f = {.n = 0};

	if (depth > MAX_DEPTH)
		return;
	if (g->op == EX_NOT)
		learn(r, t, g->a[0], !is_not, depth + 1);
	if (g->w == 1 && g->op == (is_not ? EX_OR : EX_AND)) {
		learn(r, t, g->a[0], is_not, depth + 1);
		learn(r, t, g->a[1], is_not, depth + 1);
	}
	bool is_equal = g->op == EX_EQ && !is_not && g->a[0]->w >= 32;
	if (g->op != EX_SLT && g->op != EX_ULT && !is_equal)
		return;
	rows_poly_of(r, t, g->a[0], &a, 0);
	rows_poly_of(r, t, g->a[1], &b, 0);
	if (a.is_lost || b.is_lost ||
	    (g->a[0]->w == 64 && !(is_exact(r, t, &a) && is_exact(r, t, &b))))
		return;
	int64_t lo = g->op == EX_ULT ? 0 : g->a[0]->w == 32 ? INT32_MIN : -MOST;
	const struct poly *side[2] = {&a, &b};
	for (unsigned i = 0; i < 2; i++)
		if (g->a[0]->w == 32 && !(is_simple(side[i]) && g->op != EX_ULT) &&
		    !rows_fits(r, t, side[i], lo, 32))
			return;
	for (unsigned i = 0; i < 2 && g->op == EX_ULT && g->a[0]->w != 32; i++)
		for (unsigned k = 0; k < side[i]->n; k++)
			if (side[i]->m[k].times < 0 || !rows_are_at_least_0(r, t, &side[i]->m[k]))
				return;
	poly_add(&f, is_not ? &a : &b, 1); /* b > a, or a >= b */
	poly_add(&f, is_not ? &b : &a, -1);
	poly_add_number(&f, is_not || is_equal ? 0 : -1);
	if (is_equal) {
		struct poly g2 = {.n = 0};
		poly_add(&g2, &f, -1);
		rows_add_fact(r, t, &g2);
	}
	/* x < n where x is 0 or more: n is 1 or more */
	struct poly rest = f;
	for (unsigned i = rest.n; i-- > 0;)
		if (rest.m[i].times < 0 && rows_has_variant(r, &rest.m[i]) &&
		    rows_are_at_least_0(r, t, &rest.m[i]))
			rest.m[i] = rest.m[--rest.n];
	if (rest.n < f.n)
		rows_add_fact(r, t, &rest);
	rows_add_fact(r, t, &f); /* the latest is tried first */
}

/* Bounds of block sizes that are assumed bound the threads' numbers. */
void rows_know_blocks(struct rows *r, unsigned t)
{
	unsigned n = r->side[t].n;

	for (unsigned i = 0; i < n; i++) {
		const struct poly *f = &r->side[t].fact[i];
		int64_t most = 0;
		const struct ex *v = NULL;
		for (unsigned k = 0; k < f->n && f->n == 2; k++) {
			if (!f->m[k].n)
				most = f->m[k].times;
			else if (f->m[k].n == 1 && f->m[k].times == -1)
				v = f->m[k].atom[0];
		}
		if (v && v->op == EX_SPEC && v->imm >= EX_NTID_X && v->imm <= EX_NTID_Z && most > 0)
			bound(r, t,
			      prove_ex_spec(r->c->pool, (enum prove_ex_spec)(v->imm - EX_NTID_X)),
			      NULL, NULL, most - 1);
	}
}

void rows_learn_all(struct rows *r)
{
	const struct ev *e = r->c->e;
	const struct ev_access *x[2] = {r->c->pair.a, r->c->pair.b};

	r->is_learning = true;
	for (unsigned t = 0; t < 2; t++) {
		/* what one says may need another, or a guard: a factor is no less than 0 */
		for (unsigned turn = 0; turn < 3; turn++) {
			for (size_t i = 0; i < e->assumes.n; i++)
				if (prove_ev_is_of_launch(&e->assumes.v[i]))
					learn(r, t, e->assumes.v[i].fact, false, 0);
			if (!turn)
				continue;
			rows_know_blocks(r, t);
			r->is_learning = !r->is_eager;
			learn(r, t, x[t]->guard, false, 0);
			r->is_learning = true;
		}
	}
	r->is_learning = false;
}
