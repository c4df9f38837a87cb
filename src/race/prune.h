/*
 * prune.h - accesses that need no check, and the launches for which that is proven.
 *
 * src/cli finds them with collider prove, src/toolchain passes them on, src/instrument leaves the
 * checks out. A plain list: none of the three knows the others.
 */
#ifndef COLLIDER_RACE_PRUNE_H
#define COLLIDER_RACE_PRUNE_H

#include "base/base.h"

/* A number of a launch: blockDim x y z, gridDim x y z, a parameter of 32 bits by index from 0 (not
 * negative, or the condition fails), or a constant. */
enum race_prune_kind { RACE_PRUNE_CONST, RACE_PRUNE_DIM, RACE_PRUNE_PARAM };

struct race_prune_number {
	enum race_prune_kind kind;
	uint64_t n; /* the constant, the dimension 0..5, the parameter */
};

enum race_prune_cmp {
	RACE_PRUNE_EQ,
	RACE_PRUNE_NE,
	RACE_PRUNE_LT,
	RACE_PRUNE_LE,
	RACE_PRUNE_GT,
	RACE_PRUNE_GE,
	RACE_PRUNE_CMPS
};

/* (a * b) or (a % b), compared with (c * d), in 64 bits without sign. */
struct race_prune_term {
	enum race_prune_cmp cmp;
	bool is_rem;
	struct race_prune_number a, b, c, d;
};

#define RACE_PRUNE_TERMS 24

struct race_prune_site {
	uint32_t ptx_line;
	bool is_shared;	     /* else global */
	bool is_conditional; /* only where all terms hold */
};

/* One kernel. */
struct race_prune {
	const char *kernel; /* its name in the PTX */
	uint32_t nterms;
	struct race_prune_term term[RACE_PRUNE_TERMS];
	BASE_VEC(struct race_prune_site) sites;
};

struct race_prunes {
	struct base_arena arena;
	BASE_VEC(struct race_prune) kernels;
};

#endif
