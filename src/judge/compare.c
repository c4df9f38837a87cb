/*
 * compare.c - what a trial of a whole grid has left in memory, beside what the launch has
 * (--judge=verify): the CPU device held against hardware.
 *
 * Words that differ only as another order of sums in floating point would have them differ are
 * counted apart.
 */
#include "judge/internal.h"

#include <math.h>
#include <string.h>

#define NEAR 1e-3
#define TINY 1e-5

/* least: below it a number is rather a whole one. */
static bool is_near(double a, double b, double least)
{
	double most = fmax(fabs(a), fabs(b));

	if (most < least)
		return a == b;
	return (isnan(a) && isnan(b)) || (isfinite(most) && fabs(a - b) <= NEAR * most + TINY);
}

static double half(uint16_t h)
{
	int exponent = h >> 10 & 31;
	double m = h & 1023, v = exponent ? ldexp(m + 1024, exponent - 25) : ldexp(m, -24);

	if (exponent == 31)
		v = m != 0 ? (double)NAN : (double)INFINITY;
	return h >> 15 ? -v : v;
}

static bool is_near_double(const uint8_t *here, const uint8_t *there)
{
	double a, b;

	memcpy(&a, here, sizeof(a));
	memcpy(&b, there, sizeof(b));
	return fabs(a) < 1e30 && is_near(a, b, 1e-30);
}

/* at: the word's place in both; bytes: of both. */
static bool is_close(const uint8_t *here, const uint8_t *there, uint64_t at, uint64_t bytes)
{
	uint64_t pair = at / 8 * 8;
	uint16_t h[2], t[2];
	float a, b;

	memcpy(&a, here + at, sizeof(a));
	memcpy(&b, there + at, sizeof(b));
	memcpy(h, here + at, sizeof(h));
	memcpy(t, there + at, sizeof(t));
	return is_near((double)a, (double)b, 1e-30) ||
	       (is_near(half(h[0]), half(t[0]), 1e-4) && is_near(half(h[1]), half(t[1]), 1e-4)) ||
	       (pair + 8 <= bytes && is_near_double(here + pair, there + pair));
}

static void note(struct judge_compared *c, uint64_t at, const void *here, const void *there,
		 bool close)
{
	/* The first that isn't close, or else the first. */
	if (!c->differ || (!close && c->differ == c->close)) {
		c->at = at;
		memcpy(&c->here, here, sizeof(c->here));
		memcpy(&c->there, there, sizeof(c->there));
	}
	c->differ++;
	c->close += close;
}

/* A tensor map that a kernel has changed is in other bytes here than there. */
static bool is_written_map(const uint8_t *here, const uint8_t *there, uint64_t addr, uint64_t at,
			   uint64_t bytes)
{
	return (addr + at) % RACE_JUDGE_MAP_ALIGN == 0 && at + RACE_JUDGE_MAP_BYTES <= bytes &&
	       cpu_tensormap_is(here + at) && !cpu_tensormap_is(there + at);
}

void judge_compare(const struct judge_source *live, uint64_t addr, uint64_t bytes,
		   struct judge_compared *c)
{
	const uint8_t *here = (const uint8_t *)(uintptr_t)addr;
	static uint8_t there[RACE_JUDGE_PAGE];

	if (bytes > sizeof(there) || !live->after || !live->after(live->arg, addr, bytes, there))
		return;
	c->bytes += bytes;
	if (!memcmp(here, there, bytes))
		return;
	for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
		if (is_written_map(here, there, addr, i, bytes)) {
			i += RACE_JUDGE_MAP_BYTES - 4;
			continue;
		}
		if (memcmp(here + i, there + i, 4) != 0)
			note(c, addr + i, here + i, there + i, is_close(here, there, i, bytes));
	}
}
