/*
 * loops.h - the pieces of host code that bench_host.c times; loops.c has them.
 *
 * LOOP(name): passes over arrays, as host code has beside kernels. CHASE(name): scalar code that
 * follows pointers.
 */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#define LOOPS(F)                                                                                   \
	F(saxpy)                                                                                   \
	F(dot)                                                                                     \
	F(stencil) F(matmul) F(histogram) F(prefix) F(transpose) F(filter) F(reduce_bytes) F(sort)
#define CHASES(F) F(list) F(tree) F(hash) F(graph) F(heap) F(trie)

#define BENCH_N (1u << 16) /* elements */

struct bench_node {
	struct bench_node *left, *right, *next;
	uint64_t key, value;
};

/* What a piece works on; all of it is where the setting wants it. */
struct bench_data {
	float *a, *b, *c;		  /* BENCH_N each */
	unsigned *u, *v;		  /* BENCH_N each */
	unsigned char *bytes;		  /* BENCH_N */
	struct bench_node *nodes;	  /* BENCH_N */
	struct bench_node **table, *root; /* BENCH_N / 4 lists; a tree of all nodes */
};

typedef double bench_fn(struct bench_data *d);
#define DECLARE(name) bench_fn plain_##name, host_##name;
LOOPS(DECLARE)
CHASES(DECLARE)
#undef DECLARE

#endif
