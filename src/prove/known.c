/*
 * known.c - bits that a new value surely has or hasn't, whatever its leaves hold (expr.h).
 *
 * A field that is written into a word of unknown bits is known when it is read again: of
 * (old & ~0xfe) | 8 the bits 1 to 7 are those of 8. So the kind of a group that cooperative groups
 * keep in such a field chooses a branch without a solver. They bound the value, too: 8 | 4 | 2 of
 * three choices is 14 at most.
 *
 * Misses: carries of sums whose terms share bits, but for the zeros below both; factors that are no
 * power of two, but for their zeros.
 */
#include "prove/expr.h"

struct known {
	uint64_t zeros, ones;
};

static struct known of(const struct ex *v)
{
	return (struct known){v->zeros, v->ones};
}

/* Multiplied by a power of two, divided by it, or its remainder: zeros move in. */
static struct known of_power(enum ex_op op, struct known x, uint64_t by, uint64_t mask)
{
	unsigned n = (unsigned)__builtin_ctzll(by);

	if (op == EX_MUL)
		return (struct known){x.zeros << n | (by - 1), x.ones << n};
	if (op == EX_UDIV)
		return (struct known){x.zeros >> n | (mask & ~(mask >> n)), x.ones >> n};
	return (struct known){x.zeros | (mask & ~(by - 1)), x.ones & (by - 1)};
}

/* How many of the lowest bits are zeros. */
static unsigned low_zeros(struct known x)
{
	return ~x.zeros ? (unsigned)__builtin_ctzll(~x.zeros) : 64;
}

static struct known of_zeros(unsigned n)
{
	return (struct known){n < 64 ? (1ull << n) - 1 : UINT64_MAX, 0};
}

static struct known of_binary(enum ex_op op, const struct ex *a, const struct ex *b)
{
	struct known x = of(a), y = of(b);
	uint64_t mask = prove_ex_mask(a->w);

	switch (op) {
	case EX_AND:
		return (struct known){x.zeros | y.zeros, x.ones & y.ones};
	case EX_ADD:
		if ((x.zeros | y.zeros) == mask) /* without carries */
			return (struct known){x.zeros & y.zeros, x.ones | y.ones};
		return of_zeros(low_zeros(x) < low_zeros(y) ? low_zeros(x) : low_zeros(y));
	case EX_OR:
		return (struct known){x.zeros & y.zeros, x.ones | y.ones};
	case EX_XOR:
		return (struct known){(x.zeros & y.zeros) | (x.ones & y.ones),
				      (x.zeros & y.ones) | (x.ones & y.zeros)};
	case EX_MUL:
	case EX_UDIV:
	case EX_UREM:
		if (b->op == EX_CONST && b->imm && !(b->imm & (b->imm - 1)))
			return of_power(op, x, b->imm, mask);
		if (op == EX_MUL)
			return of_zeros(low_zeros(x) + low_zeros(y));
		break;
	default:
		break;
	}
	return (struct known){0, 0};
}

/* Of w bits of a. */
static struct known of_resized(enum ex_op op, const struct ex *a, unsigned w)
{
	struct known x = of(a);
	uint64_t sign = 1ull << (a->w - 1), above = prove_ex_mask(w) & ~prove_ex_mask(a->w);

	if (op == EX_ZEXT || (op == EX_SEXT && x.zeros & sign))
		x.zeros |= above;
	else if (op == EX_SEXT && x.ones & sign)
		x.ones |= above;
	return x;
}

void prove_ex_find_bits(struct ex *k, const struct ex *const *a)
{
	uint64_t mask = prove_ex_mask(k->w);
	struct known r = {0, 0};

	if (k->op == EX_CONST)
		r = (struct known){~k->imm, k->imm};
	else if (k->op == EX_NOT)
		r = (struct known){a[0]->ones, a[0]->zeros};
	else if (k->op == EX_ITE)
		r = (struct known){a[1]->zeros & a[2]->zeros, a[1]->ones & a[2]->ones};
	else if (k->op == EX_ZEXT || k->op == EX_SEXT || k->op == EX_TRUNC)
		r = of_resized((enum ex_op)k->op, a[0], k->w);
	else if (k->n == 2)
		r = of_binary((enum ex_op)k->op, a[0], a[1]);
	if (k->hi < mask) /* nothing above the largest number */
		r.zeros |= k->hi ? ~(UINT64_MAX >> __builtin_clzll(k->hi)) : mask;
	k->zeros = r.zeros & mask;
	k->ones = r.ones & mask;
	if (k->n && k->ones <= k->hi && k->lo <= (mask & ~k->zeros)) {
		k->lo = k->lo > k->ones ? k->lo : k->ones;
		k->hi = k->hi < (mask & ~k->zeros) ? k->hi : mask & ~k->zeros;
	}
}
