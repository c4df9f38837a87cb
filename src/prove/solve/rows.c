/*
 * rows.c - pairs whose offsets are rows and planes of sizes that parameters give (check.h).
 *
 * An offset becomes a polynomial with exact integers over *atoms*: parameters, dimensions,
 * positions of the thread, counters. Machine arithmetic is exact modulo its width, so that only
 * where 32 bits become 64 the polynomial must be shown to fit. It is split by its strides, products
 * of what all threads share: S0 * D0 + S1 * D1 + ..., where each stride is a multiple of the one
 * before, S1 = E0 * S0. If 0 <= D0 < E0 in both threads and so on, the offsets are equal only where
 * all D are: then the positions in them are, as their factors are a mixed radix. So is a value of
 * which both x % m and x / m are equal: it may be another in each thread (digits.c).
 *
 * Of elements in rows whose pitch is in bytes it is asked whether the last byte of each lies in its
 * row. An offset that may wrap (32 bits, or a pitch of 64) must be shown not to.
 *
 * Where it isn't the same D in both threads, or no mixed radix, the solver is asked whether all can
 * be equal at once: without products of parameters that is a linear question.
 *
 * That a polynomial is 0 or more is shown by taking away others that are so, times atoms that are:
 * what the guards say (x < w), the assumptions, the dimensions of the launch. What is missing can
 * be collected instead: that is what remedy.c offers; first without what the guards need to say
 * something, then with it.
 *
 * Misses: strides that aren't multiples of each other, neighbours that the next row may have.
 * Costs: some ten microseconds.
 */
#include "prove/solve/rows_impl.h"

#include <string.h>

#define MAX_LEVELS CHECK_LEVELS
#define MAX_DEPTH  24

/* ---- levels ---------------------------------------------------------------------------------- */

/* One stride: `unit` of key, and what it is multiplied with in both threads. */
struct level {
	struct mono key;
	int64_t unit;
	struct poly own[2]; /* variant atoms with their numbers */
	bool is_same;	    /* ... the same in both */
	int64_t first[2];   /* number of each thread */
};

static struct level *level_of(struct level *l, unsigned *n, const struct mono *key)
{
	for (unsigned i = 0; i < *n; i++)
		if (poly_is_alike(&l[i].key, key))
			return &l[i];
	if (*n == MAX_LEVELS)
		return NULL;
	l[*n] = (struct level){.key = *key, .unit = 0};
	l[*n].key.times = 1;
	return &l[(*n)++];
}

static int64_t gcd(int64_t a, int64_t b)
{
	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	while (b) {
		int64_t c = a % b;
		a = b;
		b = c;
	}
	return a;
}

/* Splits the terms of p into shared strides times what varies. False: not so simple. */
static bool split(struct rows *r, unsigned t, const struct poly *p, struct level *l, unsigned *n)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct mono key = {.times = 1}, own = {.times = p->m[i].times};
		for (unsigned a = 0; a < p->m[i].n; a++) {
			struct mono *to = rows_is_variant(r, p->m[i].atom[a]) ? &own : &key;
			to->atom[to->n++] = p->m[i].atom[a];
		}
		struct level *x = own.n > 1 ? NULL : level_of(l, n, &key);
		if (!x)
			return false;
		if (own.n)
			poly_add_mono(&x->own[t], &own, 1);
		else
			x->first[t] += own.times;
	}
	return true;
}

/* The largest that facts let an atom be in either thread; -1: they don't say. */
static int64_t most_known(struct rows *r, const struct ex *v)
{
	int64_t one = rows_most_in(r, 0, v), other = rows_most_in(r, 1, v);

	return one < 0 || other < 0 ? -1 : one > other ? one : other;
}

/* By how much atom i moves the level's factor, up or down. */
static int64_t step_of(const struct level *l, unsigned i)
{
	int64_t n = l->own[0].m[i].times / l->unit;

	return n < 0 ? -n : n;
}

/* A remainder is at most `most`, where its divisor is no larger: which may be needed. */
static int64_t most_digit(struct rows *r, const struct ex *v, int64_t most)
{
	struct poly q = {.n = 0}, m = {.n = 0};

	if (!ROWS_IS_REMAINDER(v) || rows_is_variant(r, v->a[1]) || most < 0 ||
	    !rows_is_at_least_0(r, 0, v) || !rows_is_at_least_0(r, 1, v))
		return -1;
	rows_poly_of(r, 0, v->a[1], &m, 0);
	poly_add(&q, &m, -1);
	poly_add_number(&q, most + 1);
	return rows_require(r, 0, &q) && rows_require(r, 1, &q) ? most : -1;
}

/* Which positions are equal where this sum of numbers times variant atoms is? The numbers must be a
 * mixed radix; how many threads a block may have for that is needed. */
static bool positions_of(struct rows *r, struct level *l, unsigned *bits)
{
	const struct ex_launch *la = &r->c->pool->launch;
	bool is_far = r->c->level.apart >= RACE_LEVEL_CLUSTER, done[MAX_MONOS] = {false};
	int64_t span = 1;

	for (unsigned turn = 0; turn < l->own[0].n; turn++) {
		unsigned best = MAX_MONOS, next = MAX_MONOS, d;
		for (unsigned i = 0; i < l->own[0].n; i++)
			if (!done[i] && (best == MAX_MONOS || step_of(l, i) < step_of(l, best)))
				best = i;
		done[best] = true;
		for (unsigned i = 0; i < l->own[0].n; i++)
			if (!done[i] && (next == MAX_MONOS || step_of(l, i) < step_of(l, next)))
				next = i;
		const struct ex *v = l->own[0].m[best].atom[0];
		int64_t k = step_of(l, best);
		if (k < span)
			return false;
		if (r->nknown < MAX_KNOWN)
			r->known[r->nknown++] = v;
		if (rows_is_position(r, v, &d))
			*bits |= 1u << (is_far ? DIMS + d : d);
		else if (v->op == EX_SPEC && v->imm <= EX_TID_Z)
			*bits |= is_far ? 0 : 1u << v->imm;
		else if (v->op == EX_SPEC && v->imm <= EX_CTAID_Z)
			*bits |= 1u << v->imm;
		if (next == MAX_MONOS)
			return true;
		int64_t up = step_of(l, next), most = -1;
		if (v->op == EX_SPEC && v->imm <= EX_TID_Z) {
			const struct ex *n =
				prove_ex_spec(r->c->pool, (enum prove_ex_spec)(EX_NTID_X + v->imm));
			int64_t tile = (up - span) / k + 1;
			struct poly q = {.n = 0};
			if (tile < 1)
				return false;
			poly_add_mono(&q, &(struct mono){.times = 1, .n = 1, .atom = {n}}, -1);
			poly_add_number(&q, tile);
			most = la->max[v->imm] - 1;
			if (n->op == EX_CONST ? (int64_t)n->imm > tile
					      : !rows_require(r, 0, &q) || !rows_require(r, 1, &q))
				return false;
			if (n->op != EX_CONST && most > tile - 1)
				most = tile - 1;
			for (unsigned t = 0; t < 2 && r->needs; t++)
				rows_know_blocks(r, t);
		} else {
			most = most_known(r, v);
			if (most < 0)
				most = most_digit(r, v, (up - span) / k);
		}
		if (most < 0)
			return false;
		span += k * most;
		if (up < span)
			return false;
	}
	return true;
}

/* A smaller unit does as well. */
static void make_finer(struct level *x, int64_t unit, int64_t *left)
{
	for (unsigned t = 0; t < 2; t++) {
		x->first[t] *= x->unit / unit;
		if (!x->key.n) {
			x->first[t] += left[t] / unit;
			left[t] %= unit;
		}
	}
	x->unit = unit;
}

/* In order of their strides, each a multiple of the one before; per: how often. Of elements in
 * rows whose pitch is in bytes: times 0. */
static bool chain(struct level *l, unsigned n, struct mono *per, int64_t *left)
{
	for (unsigned i = 1; i < n; i++)
		for (unsigned k = i; k && l[k].key.n < l[k - 1].key.n; k--) {
			struct level x = l[k];
			l[k] = l[k - 1];
			l[k - 1] = x;
		}
	bool is_row = n > 1 && !l[0].key.n && (l[0].own[0].n || l[0].own[1].n);
	for (unsigned i = n; i-- > 1;)
		if (l[i].unit % l[i - 1].unit && !(i == 1 && is_row))
			make_finer(&l[i - 1], gcd(l[i].unit, l[i - 1].unit), left);
	for (unsigned i = 0; i + 1 < n; i++) {
		if (!poly_quotient(&l[i + 1].key, &l[i].key, &per[i]) || !per[i].n)
			return false;
		per[i].times = l[i + 1].unit % l[i].unit ? 0 : l[i + 1].unit / l[i].unit;
	}
	return true;
}

static bool has_term(const struct poly *p, const struct mono *m)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->m[i].times == m->times && poly_is_alike(&p->m[i], m))
			return true;
	return false;
}

/* The number that each level begins with becomes that of the earlier thread, and units. */
static bool settle_units(struct level *l, unsigned *n, int64_t *left)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < *n; i++) {
		struct level *x = &l[i];
		int64_t low = x->first[0] < x->first[1] ? x->first[0] : x->first[1];
		for (unsigned t = 0; t < 2; t++)
			for (unsigned k = 0; k < x->own[t].n; k++) {
				/* one that goes down goes up from its least, in both threads */
				if (x->own[t].m[k].times < 0 && !x->is_same &&
				    !has_term(&x->own[!t], &x->own[t].m[k]))
					return false;
				x->unit = gcd(x->unit, x->own[t].m[k].times);
			}
		for (unsigned t = 0; t < 2; t++)
			x->first[t] -= low;
		if (!x->own[0].n && !x->own[1].n && !x->first[0] && !x->first[1])
			continue;
		/* numbers that aren't multiples of the unit make it smaller */
		if (!x->unit || (x->key.n && (x->first[0] % x->unit || x->first[1] % x->unit)))
			x->unit = gcd(x->unit, gcd(x->first[0], x->first[1]));
		for (unsigned t = 0; t < 2; t++) {
			if (x->key.n && x->first[t] % x->unit)
				return false;
			if (!x->key.n)
				left[t] = x->first[t] % x->unit;
			x->first[t] /= x->unit;
		}
		l[kept++] = *x;
	}
	*n = kept;
	return kept > 0;
}

/* What the level is multiplied with in thread t; where an atom goes down, from the largest on that
 * it may be. */
static struct poly factor(const struct level *l, unsigned t)
{
	struct poly d = {.n = 0};

	for (unsigned i = 0; i < l->own[t].n; i++) {
		struct mono m = l->own[t].m[i];
		m.times /= l->unit;
		poly_add_mono(&d, &m, 1);
		if (m.times < 0 && m.atom[0]->hi >= (uint64_t)1 << 31)
			d.is_lost = true;
		else if (m.times < 0)
			poly_add_number(&d, -m.times * (int64_t)m.atom[0]->hi);
	}
	poly_add_number(&d, l->first[t]);
	return d;
}

/* The largest that D may be in thread t, of atoms that have a largest value; -1: it isn't known. */
static int64_t largest(struct rows *r, const struct level *l, unsigned t)
{
	int64_t all = l->first[t];

	for (unsigned i = 0; i < l->own[t].n; i++) {
		const struct mono *m = &l->own[t].m[i];
		int64_t one, most = rows_most_in(r, t, m->atom[0]);
		if (most < 0 || __builtin_mul_overflow(m->times / l->unit, most, &one) ||
		    __builtin_add_overflow(all, one, &all) || all > MOST)
			return -1;
	}
	return all;
}

/* 0 <= D < E in thread t. Where E is no multiple of the unit: what is accessed, up to `end` bytes
 * from a unit's start on, ends within E. */
static bool is_within(struct rows *r, unsigned t, const struct level *l, const struct mono *per,
		      int64_t end)
{
	struct poly d = factor(l, t), q = {.n = 0};

	if (per->times) {
		poly_add(&q, &d, -1);
		poly_add_mono(&q, per, 1);
		poly_add_number(&q, -1);
	} else {
		struct mono next = l[1].key;
		poly_add(&q, &d, -l->unit);
		next.times = l[1].unit;
		poly_add_mono(&q, &next, 1);
		poly_add_number(&q, -end);
	}
	return rows_require(r, t, &d) && rows_require(r, t, &q);
}

/* Is D another in the two threads, as one is at least what the other can't reach? */
static bool differs(struct rows *r, const struct level *l)
{
	for (unsigned t = 0; t < 2; t++) {
		struct poly d = factor(l, t), up = {.n = 0}, down = {.n = 0};
		int64_t most = largest(r, l, !t);
		poly_add(&up, &d, 1);
		poly_add_number(&up, -most - 1);
		poly_add(&down, &d, -1);
		poly_add_number(&down, l->first[!t] - 1);
		r->nodes = 0;
		if ((most >= 0 && rows_is_shown(r, t, &up, 8)) ||
		    (!l->own[!t].n && rows_is_shown(r, t, &down, 8)))
			return true;
	}
	return false;
}

/* Is D another, as what varies goes in steps that don't lead from one thread's start to the
 * other's? */
static bool differs_by_part(const struct level *l)
{
	int64_t step = 0;

	for (unsigned t = 0; t < 2; t++)
		for (unsigned i = 0; i < l->own[t].n; i++)
			step = gcd(step, l->own[t].m[i].times / l->unit);
	return step > 1 && (l->first[0] - l->first[1]) % step;
}

static bool is_known(const struct rows *r, const struct ex *v)
{
	for (unsigned i = 0; i < r->nknown; i++)
		if (r->known[i] == v)
			return true;
	return false;
}

/* The value of which q is the quotient and m the remainder, or NULL. x / (a * b) is x / a / b. */
static const struct ex *whole_of(struct rows *r, const struct ex *q, const struct ex *m)
{
	bool is_signed = q->op == EX_SDIV;
	const struct ex *x = m->a[0], *d = q->a[1];

	if ((q->op != EX_SDIV && q->op != EX_UDIV) || m->op != (is_signed ? EX_SREM : EX_UREM) ||
	    q->w != m->w || rows_is_variant(r, m->a[1]) || rows_is_variant(r, d))
		return NULL;
	struct poly least = {.n = 0};
	rows_poly_of(r, 0, m->a[1], &least, 0);
	if (!rows_are_positive(r, 0, &least)) /* else it isn't said what the machine gives */
		return NULL;
	if (x == q->a[0] && m->a[1] == d)
		return x;
	if (x->op != q->op || x->a[0] != q->a[0] || rows_is_variant(r, x->a[1]))
		return NULL;
	/* q = y / d, m = (y / a) % b, y from 0 on, and d = a * b as integers: then it is y / a */
	struct poly y = {.n = 0}, a = {.n = 0}, b = {.n = 0}, all = {.n = 0}, ab = {.n = 0};
	rows_poly_of(r, 0, x->a[1], &a, 0);
	rows_poly_of(r, 0, m->a[1], &b, 0);
	rows_poly_of(r, 0, d, &all, 0);
	for (unsigned i = 0; i < b.n && !b.is_lost; i++)
		poly_add_times(&ab, &a, &b.m[i], 1);
	ab.is_lost |= b.is_lost;
	bool fits = rows_are_positive(r, 0, &a) && rows_fits(r, 0, &a, 0, x->w) &&
		    rows_fits(r, 0, &all, 0, q->w);
	for (unsigned t = 0; t < 2 && fits; t++) {
		y = (struct poly){.n = 0};
		rows_poly_of(r, t, x->a[0], &y, 0);
		fits = rows_fits(r, t, &y, 0, x->w);
	}
	return fits && poly_is_equal(&ab, &all) ? x : NULL;
}

/* Do the known values hold all digits of one that is another in each thread? */
static bool has_all_digits(struct rows *r)
{
	for (unsigned i = 0; i < r->nknown; i++)
		for (unsigned k = 0; k < r->nknown; k++) {
			if (!ROWS_IS_DIGIT(r->known[i]) || !ROWS_IS_DIGIT(r->known[k]))
				continue;
			const struct ex *x = whole_of(r, r->known[i], r->known[k]);
			if (!x || is_known(r, x))
				continue;
			if (digits_differ(r->c, r->counters, x))
				return true;
			if (r->nknown == MAX_KNOWN)
				return false;
			r->known[r->nknown++] = x; /* it may be a digit of another */
			i = k = 0;
		}
	return false;
}

/* Where 64 bits hold more than sums of small products of 32 bits, they may wrap. */
static bool is_small(const struct ex *v, unsigned depth)
{
	if (depth > MAX_DEPTH || v->w < 64)
		return false;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		return v->imm < 1u << 20 || ~v->imm < 1u << 20;
	case EX_SEXT:
	case EX_ZEXT:
		return v->a[0]->w <= 32;
	case EX_ADD:
	case EX_SUB:
		return is_small(v->a[0], depth + 1) && is_small(v->a[1], depth + 1);
	case EX_MUL:
		return is_small(v->a[0], depth + 1) && v->a[1]->op == EX_CONST &&
		       v->a[1]->imm <= 4096;
	default:
		return false;
	}
}

/* Do both offsets differ as machine words where the polynomials do? */
static bool is_exact(struct rows *r, const struct poly *p)
{
	const struct ex *off[2] = {r->c->pair.a->off, r->c->pair.b->off};
	bool is = true;

	for (unsigned t = 0; t < 2 && is; t++) {
		struct poly above = {.n = 0}, below = {.n = 0};
		bool is_wide = off[t]->w == 64;
		if (is_small(off[t], 0))
			continue;
		poly_add(&above, &p[t], 1);
		poly_add_number(&above, is_wide ? MOST / 2 : 0);
		poly_add(&below, &p[t], -1);
		poly_add_number(&below, is_wide ? MOST / 2 : INT32_MAX - 64);
		is = rows_require(r, t, &above) && rows_require(r, t, &below);
	}
	return is;
}

/* The same as an expression of thread t, of 64 bits. */
static const struct ex *sum_of(struct rows *r, const struct level *l, unsigned t)
{
	struct ex_pool *p = r->c->pool;
	const struct ex *all = prove_ex_const(p, 64, (uint64_t)l->first[t]);

	for (unsigned i = 0; i < l->own[t].n; i++) {
		const struct mono *m = &l->own[t].m[i];
		const struct ex *v = m->atom[0];
		int64_t k = m->times / l->unit;
		if (v->w < 64)
			v = prove_ex_un(p, EX_SEXT, 64, v);
		if (k < 0)
			v = prove_ex_bin(p, EX_SUB, prove_ex_const(p, 64, m->atom[0]->hi), v);
		v = prove_ex_bin(p, EX_MUL, v, prove_ex_const(p, 64, (uint64_t)(k < 0 ? -k : k)));
		all = prove_ex_bin(p, EX_ADD, all, v);
	}
	return all;
}

/* Can't all levels be equal at once, in two threads? They are linear, which the solver knows. */
static bool are_never_equal(struct rows *r, const struct level *l, unsigned n)
{
	struct check_equal e = {.n = 0};

	for (unsigned i = 0; i < n; i++) {
		for (unsigned t = 0; t < 2; t++)
			e.sum[i][t] = sum_of(r, &l[i], t);
		e.n++;
	}
	return n > 1 && prove_are_never_equal(r->c, r->counters, &e);
}

static bool are_sorted_out(struct rows *r)
{
	const struct ev_access *x[2] = {r->c->pair.a, r->c->pair.b};
	struct level l[MAX_LEVELS];
	struct mono per[MAX_LEVELS];
	unsigned n = 0, bits = 0, need = 0;
	int64_t left[2] = {0, 0}, bytes[2] = {x[0]->mem->bytes, x[1]->mem->bytes};
	bool is_far = r->c->level.apart >= RACE_LEVEL_CLUSTER, is_other = false, is_open = false;
	struct poly p[2] = {{.n = 0}, {.n = 0}};

	for (unsigned t = 0; t < 2; t++)
		rows_poly_of(r, t, x[t]->off, &p[t], 0);
	if (p[0].is_lost || p[1].is_lost || !is_exact(r, p) || !split(r, 0, &p[0], l, &n) ||
	    !split(r, 1, &p[1], l, &n))
		return false;
	for (unsigned i = 0; i < n; i++)
		l[i].is_same = poly_is_equal(&l[i].own[0], &l[i].own[1]);
	if (!settle_units(l, &n, left) || !chain(l, n, per, left) || n < 1)
		return false;
	/* positions first: what they need of the blocks bounds the rest */
	for (unsigned i = 0; i < n; i++) {
		bool is_gap = l[i].first[0] != l[i].first[1];
		is_other |= !l[i].is_same && differs(r, &l[i]);
		is_other |= is_gap && !l[i].own[0].n && !l[i].own[1].n;
	}
	for (unsigned i = 0; i < n && !is_other; i++)
		is_other = differs_by_part(&l[i]);
	for (unsigned i = 0; i < n && !is_other && !is_open; i++)
		is_open = !l[i].is_same || l[i].first[0] != l[i].first[1] ||
			  !positions_of(r, &l[i], &bits);
	for (unsigned i = 0; i + 1 < n; i++)
		for (unsigned t = 0; t < 2; t++)
			if (!is_within(r, t, &l[i], &per[i], left[t] + bytes[t]))
				return false;
	/* what is left over fits below the smallest stride */
	for (unsigned t = 0; t < 2; t++) {
		struct poly q = {.n = 0};
		struct mono unit = l[0].key;
		unit.times = l[0].unit;
		poly_add_mono(&q, &unit, 1);
		poly_add_number(&q, -(left[t] + bytes[t]));
		if (!rows_require(r, t, &q))
			return false;
	}
	if (is_open)
		return are_never_equal(r, l, n);
	for (unsigned d = 0; d < DIMS; d++)
		need |= (unsigned)(r->c->pool->launch.max[d + (is_far ? DIMS : 0)] > 1)
			<< (d + (is_far ? DIMS : 0));
	for (unsigned d = 0; d < 2 * DIMS; d++) { /* a guard may leave only the first */
		struct poly q = {.n = 0};
		if (!(need & ~bits & 1u << d))
			continue;
		const struct ex *v = prove_ex_spec(r->c->pool, (enum prove_ex_spec)(EX_TID_X + d));
		poly_add_mono(&q, &(struct mono){.times = 1, .n = 1, .atom = {v}}, -1);
		r->nodes = 0;
		if (rows_is_shown(r, 0, &q, 6) && rows_is_shown(r, 1, &q, 6))
			bits |= 1u << d;
	}
	return is_other || left[0] >= left[1] + bytes[1] || left[1] >= left[0] + bytes[0] ||
	       (need && (!(need & ~bits) || has_all_digits(r)));
}

static bool run(struct check *c, const uint8_t *counters, struct rows_needs *needs, bool is_eager)
{
	struct base_arena tmp = {0};
	unsigned was = needs ? needs->n : 0;

	if (c->pair.a->off->w < 32 || c->pair.a->off->w != c->pair.b->off->w)
		return false;
	struct rows *r = base_zalloc(&tmp, sizeof(*r));
	r->c = c;
	r->counters = counters;
	r->needs = needs;
	r->is_eager = is_eager;
	rows_learn_all(r);
	bool is = are_sorted_out(r);
	base_arena_free(&tmp);
	if (!is && needs)
		needs->n = was;
	return is;
}

bool rows_are_apart(struct check *c, const uint8_t *counters)
{
	return run(c, counters, NULL, false);
}

/* Does one of them want a grid that is no larger than something? */
static bool asks_for_grid(const struct rows_needs *needs, unsigned from)
{
	for (unsigned i = from; i < needs->n; i++)
		if (strstr(needs->text[i], "gridDim"))
			return true;
	return false;
}

/* Where a guard keeps columns in their row the grid may be larger than that: what the guard needs
 * to say so is the lesser need. */
bool rows_find_needs(struct check *c, const uint8_t *counters, struct rows_needs *needs)
{
	struct rows_needs first = *needs;
	bool is = run(c, counters, &first, false);

	if ((!is || asks_for_grid(&first, needs->n)) && run(c, counters, needs, true))
		return true;
	if (is)
		*needs = first;
	return is;
}
