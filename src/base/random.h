/*
 * random.h - numbers that look random and follow from a state of 64 bits: splitmix64.
 *
 * The state is the caller's and may begin as any number: a seed. Equal states, equal numbers.
 */
#ifndef COLLIDER_BASE_RANDOM_H
#define COLLIDER_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t base_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Uniform in 0..n-1 (n > 0). */
static inline uint32_t base_random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(((base_random(state) >> 32) * n) >> 32);
}

#endif
