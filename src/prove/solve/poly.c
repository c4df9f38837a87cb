/*
 * poly.c - sums of products of values, with exact numbers (rows.c).
 */
#include "prove/solve/rows_impl.h"

#include <string.h>

bool poly_is_alike(const struct mono *a, const struct mono *b)
{
	return a->n == b->n && !memcmp(a->atom, b->atom, a->n * sizeof(*a->atom));
}

void poly_add_mono(struct poly *p, const struct mono *m, int64_t times)
{
	int64_t t;

	if (__builtin_mul_overflow(m->times, times, &t) || t > MOST || t < -MOST) {
		p->is_lost = true;
		return;
	}
	for (unsigned i = 0; i < p->n; i++) {
		if (!poly_is_alike(&p->m[i], m))
			continue;
		p->m[i].times += t;
		p->is_lost |= p->m[i].times > MOST || p->m[i].times < -MOST;
		if (!p->m[i].times)
			p->m[i] = p->m[--p->n];
		return;
	}
	if (!t)
		return;
	if (p->n == MAX_MONOS) {
		p->is_lost = true;
		return;
	}
	p->m[p->n] = *m;
	p->m[p->n++].times = t;
}

void poly_add(struct poly *p, const struct poly *q, int64_t times)
{
	p->is_lost |= q->is_lost;
	for (unsigned i = 0; i < q->n; i++)
		poly_add_mono(p, &q->m[i], times);
}

void poly_add_number(struct poly *p, int64_t n)
{
	poly_add_mono(p, &(struct mono){.times = 1}, n);
}

/* a * b; false: too many factors. */
bool poly_product(const struct mono *a, const struct mono *b, struct mono *out)
{
	unsigned i = 0, k = 0;
	struct mono r = {.n = 0};

	if (a->n + b->n > MAX_DEGREE || __builtin_mul_overflow(a->times, b->times, &r.times))
		return false;
	while (i < a->n || k < b->n) {
		bool is_a = k == b->n || (i < a->n && a->atom[i]->id <= b->atom[k]->id);
		r.atom[r.n++] = is_a ? a->atom[i++] : b->atom[k++];
	}
	*out = r;
	return true;
}

/* p += q * m * times */
void poly_add_times(struct poly *p, const struct poly *q, const struct mono *m, int64_t times)
{
	struct mono x;

	p->is_lost |= q->is_lost;
	for (unsigned i = 0; i < q->n; i++) {
		if (poly_product(&q->m[i], m, &x))
			poly_add_mono(p, &x, times);
		else
			p->is_lost = true;
	}
}

/* a / b, without the numbers; false: b doesn't divide it. */
bool poly_quotient(const struct mono *a, const struct mono *b, struct mono *out)
{
	struct mono r = {.times = 1};
	unsigned k = 0;

	for (unsigned i = 0; i < a->n; i++) {
		if (k < b->n && a->atom[i] == b->atom[k])
			k++;
		else
			r.atom[r.n++] = a->atom[i];
	}
	*out = r;
	return k == b->n;
}

bool poly_is_equal(const struct poly *a, const struct poly *b)
{
	struct poly d = *a;

	poly_add(&d, b, -1);
	return !d.n && !d.is_lost;
}
