/*
 * racefree.h - what the race-free programs share, on top of examples/example.h.
 *
 * Each takes an optional loop count, so that the same binary can be a quick test
 * or a long one; large ones take how many times smaller to be after it. The
 * output depends on these alone.
 */
#ifndef COLLIDER_RACEFREE_H
#define COLLIDER_RACEFREE_H

#include "example.h"

static inline int racefree_loops(int argc, char **argv, int by_default)
{
	int n = argc > 1 ? atoi(argv[1]) : by_default;

	return n > 0 ? n : by_default;
}

/* A size divided by the second argument: for machines on which the whole would take too long. */
static inline int racefree_part(int argc, char **argv, int whole)
{
	int n = argc > 2 && atoi(argv[2]) > 0 ? whole / atoi(argv[2]) : whole;

	return n > 0 ? n : 1;
}

static inline uint64_t racefree_mix(uint64_t h, uint64_t x)
{
	return (h ^ x) * 1099511628211ull;
}

/* Launches and checks: RUN(kernel<<<...>>>(...)). */
#define RUN(...)                                                                                   \
	do {                                                                                       \
		__VA_ARGS__;                                                                       \
		CHECK(cudaGetLastError());                                                         \
	} while (0)

#endif
