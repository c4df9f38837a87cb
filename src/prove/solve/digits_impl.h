/*
 * digits_impl.h - bounds of values, that digits.c, digits_sum.c and digits_bounds.c share.
 */
#ifndef COLLIDER_PROVE_DIGITS_IMPL_H
#define COLLIDER_PROVE_DIGITS_IMPL_H

#include "prove/check.h"

#define MAX_FACTS 32
#define MAX_DEPTH 40
#define LIMIT	  ((int64_t)1 << 50)
#define DIMS	  3u

/* Signed bounds, both included. One that is LIMIT away from 0 is none: the value may be any. */
struct span {
	int64_t lo, hi;
};

struct facts {
	struct {
		const struct ex *v;
		struct span in;
	} v[MAX_FACTS];
	unsigned n;
};

static inline struct span digits_whole(unsigned w)
{
	if (w >= 52)
		return (struct span){-LIMIT, LIMIT};
	return (struct span){-((int64_t)1 << (w - 1)), ((int64_t)1 << (w - 1)) - 1};
}

static inline bool digits_is_open(struct span x)
{
	return x.lo <= -LIMIT || x.hi >= LIMIT;
}

/* The bounds of x + n: what may be any comes around. */
static inline struct span digits_moved(struct span x, int64_t n)
{
	if ((n > 0 && x.hi >= LIMIT) || (n < 0 && x.lo <= -LIMIT))
		return (struct span){-LIMIT, LIMIT};
	return (struct span){x.lo <= -LIMIT ? -LIMIT : x.lo + n, x.hi >= LIMIT ? LIMIT : x.hi + n};
}

static inline bool digits_is_inside(struct span x, struct span outer)
{
	return x.lo >= outer.lo && x.hi <= outer.hi;
}

static inline struct span digits_both(struct span x, struct span y)
{
	return (struct span){x.lo > y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
}

/* Is it blockIdx.d * blockDim.d + threadIdx.d, below 2^31 by the contract? d, or DIMS. */
unsigned digits_position(const struct check *c, const struct ex *v);
static inline bool digits_is_position(const struct check *c, const struct ex *v)
{
	return digits_position(c, v) < DIMS;
}

/* Are both the same, or what a counter makes of equal steps from different starts, without
 * wrapping? *gap: x less y. */
bool digits_are_in_step(const struct ex *x, const struct ex *y, int64_t *gap);
/* The bounds of a value, by what is known of it and of its parts. */
struct span digits_span(const struct check *c, const struct facts *f, const struct ex *v,
			unsigned depth);
/* Of start + step * counter: doesn't it wrap, by the loop's last iteration? */
bool digits_is_known(const struct check *c, const struct facts *f, const struct ex *v);
/* What a conjunction (is_not: the opposite of g) says of single values: x < y, x >= y, by the other
 * side's bounds. */
void digits_learn(const struct check *c, struct facts *f, const struct ex *g, bool is_not,
		  unsigned depth);
/* ... of inductions the loops around a block: it is their first iteration, or the one before went
 * on. */
void digits_learn_loops(const struct check *c, struct facts *f, uint32_t block);

#define MAX_TERMS 16

struct digit_term {
	const struct ex *v;  /* the value, or what a digit is one of */
	int64_t times, d, m; /* (v / d) % m; m = 0: v / d */
	struct span in;
	bool is_both; /* the other sum has as many of it */
};

struct digit_sum {
	const struct check *c;
	const struct facts *facts;
	int64_t constant;
	unsigned n;
	struct digit_term term[MAX_TERMS];
	bool is_lost;
	bool keeps_loops; /* a counter's value is one term, with its own bounds */
	unsigned choices, nfresh;
};

/* digits_sum.c: adds v times a number. is_top: what wraps here wraps as the whole offset does, so
 * that nothing is lost by it. */
void digits_take_apart(struct digit_sum *s, const struct ex *v, int64_t times, bool is_top,
		       unsigned depth);
/* Terms that came up and went, as n in n + 4 - (n + i): they say nothing of n. */
void digits_drop_nothing(struct digit_sum *s);
/* Has s some times all terms of v? Then v becomes one term, with the bounds that the facts give it,
 * as of a row's columns. The number; 0: it hasn't, or the bounds say no more than those of the
 * terms, and s stays as it is. */
int64_t digits_fold(struct digit_sum *s, const struct ex *v);
/* The same term of another sum, or NULL. */
struct digit_term *digits_find(struct digit_sum *s, const struct digit_term *t);

#endif
