/*
 * residue.c - pairs whose offsets differ in their low bits, whatever the high ones are (check.h).
 *
 * Machine arithmetic is exact modulo any power of two up to its width, so that wrapping, sign
 * extension and the order of additions don't matter here. Each offset is read as a sum of numbers
 * times values. Modulo a power of two M, terms with a multiple of M vanish, even where the two
 * threads have different values there (the iterations of a loop that moves on by whole planes).
 * If what is left are values that both threads share, and positions of thread and block with a
 * mixed radix that fits into M, two different threads never touch a common byte.
 *
 * Misses: offsets that differ by a constant, and dimensions that the launch leaves open.
 * Costs: linear in the two offsets, at most 32 times.
 */
#include "prove/check.h"

#include <string.h>

#define MAX_TERMS 24
#define MAX_BITS  32

/* Position d of the thread (0 to 2), of its block (3 to 5). */
#define DIGITS 6

struct residue {
	unsigned bits; /* the sum is exact modulo 2^bits */
	uint64_t constant, digit[DIGITS];
	uint32_t n;
	struct {
		const struct ex *v;
		uint64_t times;
	} term[MAX_TERMS];
	bool is_lost;
};

static unsigned zeros(uint64_t v)
{
	return v ? (unsigned)__builtin_ctzll(v) : 64;
}

static void add_term(struct residue *r, const struct ex *v, uint64_t times)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->term[i].v == v) {
			r->term[i].times += times;
			return;
		}
	}
	if (r->n == MAX_TERMS) {
		r->is_lost = true;
		return;
	}
	r->term[r->n].v = v;
	r->term[r->n++].times = times;
}

static void add(struct residue *r, const struct ex *v, uint64_t times, unsigned depth)
{
	unsigned exact = v->w + zeros(times);

	if (depth > 60 || r->is_lost) {
		r->is_lost = true;
		return;
	}
	if (exact < r->bits)
		r->bits = exact;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		r->constant += v->imm * times;
		return;
	case EX_SPEC:
		if (v->imm <= EX_TID_Z)
			r->digit[v->imm - EX_TID_X] += times;
		else if (v->imm >= EX_CTAID_X && v->imm <= EX_CTAID_Z)
			r->digit[3 + v->imm - EX_CTAID_X] += times;
		else
			add_term(r, v, times);
		return;
	case EX_ADD:
		add(r, v->a[0], times, depth + 1);
		add(r, v->a[1], times, depth + 1);
		return;
	case EX_SUB:
		add(r, v->a[0], times, depth + 1);
		add(r, v->a[1], 0 - times, depth + 1);
		return;
	case EX_MUL:
		if (v->a[1]->op == EX_CONST)
			add(r, v->a[0], times * v->a[1]->imm, depth + 1);
		else
			add_term(r, v, times);
		return;
	case EX_SHL:
		if (v->a[1]->op == EX_CONST && v->a[1]->imm < 64)
			add(r, v->a[0], times << v->a[1]->imm, depth + 1);
		else
			add_term(r, v, times);
		return;
	case EX_ZEXT:
	case EX_SEXT:
	case EX_TRUNC:
		add(r, v->a[0], times, depth + 1);
		return;
	case EX_IND:
		if (v->a[1]->op != EX_CONST) {
			add_term(r, v, times);
			return;
		}
		add(r, v->a[0], times, depth + 1);
		add_term(r, v->a[2], times * v->a[1]->imm);
		return;
	default:
		add_term(r, v, times);
	}
}

/* Do both threads have the same value? As smt_is_shared. */
static bool is_shared(const struct check *c, const struct ex *v, const uint8_t *counters,
		      unsigned depth)
{
	if (v->level < (c->level <= RACE_LEVEL_BLOCK ? EX_CTA : EX_GRID) || depth > 20)
		return false;
	if (!v->has_ctr)
		return true;
	if (v->op == EX_CTR)
		return counters[v->imm] == SMT_SAME;
	for (uint32_t i = 0; i < v->n; i++)
		if (!is_shared(c, v->a[i], counters, depth + 1))
			return false;
	return true;
}

static uint64_t times_of(const struct residue *r, const struct ex *v)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->term[i].v == v)
			return r->term[i].times;
	return 0;
}

/* Modulo the mask + 1: each term vanishes, or is one value, the same number of times. */
static bool has_same_terms(const struct check *c, const struct residue *a, const struct residue *b,
			   const uint8_t *counters, uint64_t mask)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct ex *v = a->term[i].v;
		uint64_t x = a->term[i].times & mask, y = times_of(b, v) & mask;
		if ((x || y) && (x != y || !is_shared(c, v, counters, 0)))
			return false;
	}
	for (uint32_t i = 0; i < b->n; i++)
		if ((b->term[i].times & mask) && !(times_of(a, b->term[i].v) & mask))
			return false;
	return true;
}

/*
 * Are the positions apart modulo 2^bits? The smallest number comes first, each must be at least
 * what the smaller ones add up to, and one more access must fit between the largest sum and M.
 */
static bool has_radix(const struct check *c, const uint64_t *digit, unsigned bits, uint64_t width)
{
	const struct ex_launch *l = &c->pool->launch;
	uint64_t mask = ex_mask(bits), radix = width;
	bool is_far = c->level >= RACE_LEVEL_CLUSTER, is_done[DIGITS] = {false};

	for (unsigned n = 0; n < DIGITS; n++) {
		unsigned best = DIGITS;
		for (unsigned d = 0; d < DIGITS; d++) {
			bool varies = l->max[d] > 1 && (d < 3 || is_far);
			if (varies && !is_done[d] &&
			    (best == DIGITS || (digit[d] & mask) < (digit[best] & mask)))
				best = d;
		}
		if (best == DIGITS)
			return n > 0;
		uint64_t step = digit[best] & mask;
		if (step < radix || l->max[best] - 1 > (mask - radix + 1) / step)
			return false;
		radix += step * (l->max[best] - 1);
		is_done[best] = true;
	}
	return true;
}

bool residue_is_apart(const struct check *c, const uint8_t *counters)
{
	struct residue a = {.bits = MAX_BITS}, b = {.bits = MAX_BITS};
	uint64_t na = c->a->mem->bytes, nb = c->b->mem->bytes;

	add(&a, c->a->off, 1, 0);
	add(&b, c->b->off, 1, 0);
	if (a.is_lost || b.is_lost)
		return false;
	for (unsigned bits = a.bits < b.bits ? a.bits : b.bits; bits > 1; bits--) {
		uint64_t mask = ex_mask(bits);
		bool is_alike = (a.constant & mask) == (b.constant & mask);
		for (unsigned d = 0; d < DIGITS && is_alike; d++)
			is_alike = (a.digit[d] & mask) == (b.digit[d] & mask);
		if (is_alike && has_same_terms(c, &a, &b, counters, mask) &&
		    has_radix(c, a.digit, bits, na > nb ? na : nb))
			return true;
	}
	return false;
}
