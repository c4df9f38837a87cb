/*
 * racefree.h - what the race-free programs share, on top of examples/example.h.
 *
 * Each takes an optional loop count, so that the same binary can be a quick test
 * or a long one. Its last line and its output depend on the count alone.
 */
#ifndef COLLIDER_RACEFREE_H
#define COLLIDER_RACEFREE_H

#include "example.h"

static inline int racefree_loops(int argc, char **argv, int by_default)
{
	int n = argc > 1 ? atoi(argv[1]) : by_default;

	return n > 0 ? n : by_default;
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
