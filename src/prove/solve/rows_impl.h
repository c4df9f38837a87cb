/*
 * rows_impl.h - what poly.c, rows_facts.c, rows_values.c and rows.c share: exact integers as
 * polynomials, and what is known of them (rows.c).
 */
#ifndef COLLIDER_PROVE_SOLVE_ROWS_IMPL_H
#define COLLIDER_PROVE_SOLVE_ROWS_IMPL_H

#include "prove/check.h"

#define MAX_DEGREE 6
#define MAX_MONOS  28
#define MAX_FACTS  48
#define MOST	   ((int64_t)1 << 52)
#define DIMS	   3u
#define MAX_KNOWN  16

/* The digits of a value, x % m and x / m. */
#define ROWS_IS_REMAINDER(v) ((v)->op == EX_UREM || (v)->op == EX_SREM)
#define ROWS_IS_DIGIT(v)     (ROWS_IS_REMAINDER(v) || (v)->op == EX_UDIV || (v)->op == EX_SDIV)

struct mono {
	int64_t times;
	unsigned n;
	const struct ex *atom[MAX_DEGREE]; /* by id */
};

struct poly {
	struct mono m[MAX_MONOS];
	unsigned n;
	bool is_lost;
};

/* Polynomials that are 0 or more. */
struct side {
	struct poly fact[MAX_FACTS];
	unsigned n;
};

struct rows {
	struct check *c;
	const uint8_t *counters;
	struct side side[2];
	struct rows_needs *needs; /* what is missing goes there; NULL: then nothing is proven */
	bool is_lost, is_learning;
	bool is_eager; /* what a guard needs to say something is missing, too */
	unsigned nodes;
	/* values that are equal in the two threads where the offsets are */
	const struct ex *known[MAX_KNOWN];
	unsigned nknown;
};

/* poly.c */
/* The same atoms, whatever the numbers. */
bool poly_is_alike(const struct mono *a, const struct mono *b);
bool poly_is_equal(const struct poly *a, const struct poly *b);
/* p += m * times and so on; too large a number or too many terms make p lost. */
void poly_add_mono(struct poly *p, const struct mono *m, int64_t times);
void poly_add(struct poly *p, const struct poly *q, int64_t times);
void poly_add_number(struct poly *p, int64_t n);
void poly_add_times(struct poly *p, const struct poly *q, const struct mono *m, int64_t times);
/* a * b; false: too many factors. */
bool poly_product(const struct mono *a, const struct mono *b, struct mono *out);
/* a / b, without the numbers; false: b doesn't divide it. */
bool poly_quotient(const struct mono *a, const struct mono *b, struct mono *out);

/* rows_facts.c: of thread t */
bool rows_is_variant(const struct rows *r, const struct ex *v);
bool rows_has_variant(const struct rows *r, const struct mono *m);
/* blockIdx.d * blockDim.d + threadIdx.d of an open block size? */
bool rows_is_position(const struct rows *r, const struct ex *v, unsigned *d);
void rows_add_fact(struct rows *r, unsigned t, const struct poly *p);
bool rows_is_at_least_0(struct rows *r, unsigned t, const struct ex *v);
bool rows_are_at_least_0(struct rows *r, unsigned t, const struct mono *m);
/* The largest that facts of one atom, or its own bound, let it be; -1: they don't say. */
int64_t rows_most_in(struct rows *r, unsigned t, const struct ex *v);
/* Is p 0 or more? */
bool rows_is_shown(struct rows *r, unsigned t, const struct poly *p, unsigned depth);
/* The same; where needs are collected, what is missing for it becomes one. */
bool rows_require(struct rows *r, unsigned t, const struct poly *p);
/* How large a term may be; where a fact bounds two of its factors, by that. */
double rows_size_of(struct rows *r, unsigned t, const struct mono *m);
#define ROWS_EXACT 9e18 /* below 2^63 */

/* rows_values.c */
/* out += v, as an integer that is v modulo 2^w. */
void rows_poly_of(struct rows *r, unsigned t, const struct ex *v, struct poly *out, unsigned depth);
/* Does p lie between lo and the largest of w bits with a sign? It may be needed. */
bool rows_fits(struct rows *r, unsigned t, const struct poly *p, int64_t lo, unsigned w);
/* Is p 1 or more? It may be needed. */
bool rows_are_positive(struct rows *r, unsigned t, const struct poly *p);
/* Bounds of block sizes that are known bound the threads' numbers. */
void rows_know_blocks(struct rows *r, unsigned t);
/* What assumptions and guards say. */
void rows_learn_all(struct rows *r);

#endif
