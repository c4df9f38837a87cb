/*
 * blocks.h - block shuffling: in which order the blocks of a grid run, and which kernels may be
 * shuffled.
 *
 * The hardware starts blocks by rising number. An instrumented kernel takes the number in %ctaid
 * only as a position in that order, and works as another block, the *logical* one: a bijection of
 * the whole grid (x, y and z as one number; of the clusters, if there are any) determines it.
 * Freestanding C: the host turns the numbers of a record into logical ones by the same arithmetic
 * as src/instrument/shuffle/shuffle.ptxt. Source: SuperCollider 3.5.2, for one dimension.
 *
 * Each object carries a table that says what its code can do, so that a program linked from objects
 * with and without Collider's marker keeps its order.
 */
#ifndef COLLIDER_RACE_SHUFFLE_BLOCKS_H
#define COLLIDER_RACE_SHUFFLE_BLOCKS_H

#include "race/record.h"

enum race_shuffle {
	RACE_SHUFFLE_PLAIN = 0,	 /* block i is block i */
	RACE_SHUFFLE_AFFINE = 1, /* a * i + b mod N */
	RACE_SHUFFLE_FOLD = 2,	 /* 0, N-1, 1, N-2, ... */
	RACE_SHUFFLE_AUTO = 3,	 /* by launch: plain, a prime a, fold, a = 1 */
	RACE_SHUFFLE_ALL = 4	 /* race_shm.order: kernels whose loops wait, too */
};

/* The knobs that a seed stands for. */
struct race_shuffle_keys {
	uint32_t a[2], b;
};

RACE_FN uint32_t race_shuffle_mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

RACE_FN int race_shuffle_is_prime(uint32_t x)
{
	for (uint32_t d = 3; d < 65536; d += 2)
		if (x % d == 0)
			return 0;
	return 1;
}

/*
 * a[0] is a prime above 2^31. It divides no grid: %nctaid.x is below 2^31 and y and z are below
 * 2^16, so no prime factor of N is that large, and a and N are coprime whatever N is. a[1] is 1:
 * a rotation, which keeps neighbours together and puts the last block next to the first.
 */
RACE_FN struct race_shuffle_keys race_shuffle_keys(uint32_t seed)
{
	uint32_t a = 0x80000001u | race_shuffle_mix(seed + 0x9e3779b9u);
	struct race_shuffle_keys k;

	if (a > 0xfffff000u) /* 4294967291 is a prime, but the search must not wrap */
		a -= 0x10000u;
	while (!race_shuffle_is_prime(a))
		a += 2;
	k.a[0] = a;
	k.a[1] = 1;
	k.b = race_shuffle_mix(seed ^ 0x85ebca6bu);
	return k;
}

/* The logical number of block i of n, for a grid with number `grid` (%gridid). i < n < 2^63. */
RACE_FN uint64_t race_shuffle_linear(uint32_t order, const struct race_shuffle_keys *k,
				     uint64_t grid, uint64_t i, uint64_t n)
{
	uint32_t g = (uint32_t)grid + k->b, a = g & 2 ? k->a[1] : k->a[0], b = g * 0x9e3779b1u;
	uint64_t v = 0;

	if (order == RACE_SHUFFLE_AUTO)
		order = g & 3;
	if (order == RACE_SHUFFLE_PLAIN)
		return i;
	if (order == RACE_SHUFFLE_FOLD)
		return i & 1 ? n - 1 - i / 2 : i / 2;
	if (n >> 32 == 0)
		return (i * a + b) % n;
	/* The product has more than 64 bits: by doubling. b is below n. */
	RACE_NO_UNROLL
	for (int bit = 31; bit >= 0; bit--) {
		v += v;
		v -= v >= n ? n : 0;
		v += a >> bit & 1 ? i : 0;
		v -= v >= n ? n : 0;
	}
	v += b;
	return v >= n ? v - n : v;
}

/* block[]: the hardware's number, becomes the logical one. cluster[]: 1, 1, 1 without clusters. */
RACE_FN void race_shuffle_block(uint32_t order, const struct race_shuffle_keys *k, uint64_t grid,
				const uint32_t size[3], const uint32_t cluster[3],
				uint32_t block[3])
{
	uint64_t n[3], c[3], v;

	for (int d = 0; d < 3; d++) {
		if (!cluster[d] || !size[d] || size[d] % cluster[d])
			return; /* a damaged record */
		n[d] = size[d] / cluster[d];
		c[d] = block[d] / cluster[d];
	}
	v = race_shuffle_linear(order, k, grid, c[0] + n[0] * (c[1] + n[1] * c[2]),
				n[0] * n[1] * n[2]);
	c[0] = v % n[0];
	c[1] = v / n[0] % n[1];
	c[2] = v / n[0] / n[1];
	for (int d = 0; d < 3; d++)
		block[d] = (uint32_t)c[d] * cluster[d] + block[d] % cluster[d];
}

/* ---- what an object's code can do ------------------------------------------------- */

/*
 * `.weak .global .b64 __collider_shuffle_<id><flags>[n + 1]`: the flags below, then the FNV-1a hash
 * of the name of each function of the object. A linked image is shuffled if every function in it
 * appears in one of its tables.
 */
#define RACE_SHUFFLE_FIXED 1u /* it reads %ctaid in a way that isn't replaced */
#define RACE_SHUFFLE_FOLLOWER                                                                      \
	2u /* a function beside the kernels that reads %ctaid or has
					 * checks */
#define RACE_SHUFFLE_WAITS                                                                         \
	4u			 /* a kernel or function whose loop waits for another
					 * block */
#define RACE_SHUFFLE_CALLS   8u	 /* a loop that calls a function of another object */
#define RACE_SHUFFLE_STRONG  16u /* a function that may be what such a loop waits for */
#define RACE_SHUFFLE_SKIPPED 32u /* a kernel that was left unchanged */

/*
 * May the image be shuffled whose tables' flags, or-ed together, are `flags`? *all: all its kernels
 * count as waiting ones, because functions that they share don't know in which kernel they run.
 */
RACE_FN int race_shuffle_allowed(uint64_t flags, int *all)
{
	*all = ((flags & RACE_SHUFFLE_WAITS) && (flags & RACE_SHUFFLE_FOLLOWER)) ||
	       ((flags & RACE_SHUFFLE_CALLS) && (flags & RACE_SHUFFLE_STRONG));
	if (flags & RACE_SHUFFLE_FIXED)
		return 0;
	return !((flags & RACE_SHUFFLE_SKIPPED) && (flags & RACE_SHUFFLE_FOLLOWER));
}

#endif
