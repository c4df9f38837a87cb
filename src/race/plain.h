/*
 * plain.h - the program's own code of a kernel, once more in its module without checks: which
 * launches run it, and what these have to be like.
 *
 * The instrumenter puts it in where code is instrumented as a GPU loads it (instrument/collide/
 * plain.c), with two variables for each kernel, named by a prefix and the kernel's name. The agent
 * reads one and writes the other before a launch, in its stream (agent/plain.c).
 */
#ifndef COLLIDER_RACE_PLAIN_H
#define COLLIDER_RACE_PLAIN_H

#include <stdint.h>

#define RACE_PLAIN_STATE  "__collider_state_" /* struct race_plain_state */
#define RACE_PLAIN_PROOF  "__collider_proof_" /* struct race_plain_proof; none: not proven */
#define RACE_PLAIN_ARRAYS 8u

/* Every access of one pointer's is tested to be in these bytes. */
struct race_plain_array {
	uint64_t from, bytes;
};

/* Which launches run without checks: those with a greater number than `over`. */
enum race_plain_on { RACE_PLAIN_CHECKED, RACE_PLAIN_PROVEN, RACE_PLAIN_SAMPLED };

/* What a launch finds. `over` is written at any time, what follows it in the launch's stream. The
 * module has as many arrays as the kernel's proof. */
struct race_plain_state {
	uint64_t over, on; /* enum race_plain_on */
	struct race_plain_array array[RACE_PLAIN_ARRAYS];
};

/* A number of a launch: a constant, blockDim x y z gridDim x y z by 0 to 5, or the parameter of 32
 * bits with that index, which must not be negative. */
enum race_plain_kind { RACE_PLAIN_CONST, RACE_PLAIN_DIM, RACE_PLAIN_PARAM };

struct race_plain_number {
	uint64_t kind, n;
};

/* (a * b) or (a % b), compared with (c * d), in 64 bits without sign. */
enum race_plain_cmp {
	RACE_PLAIN_EQ,
	RACE_PLAIN_NE,
	RACE_PLAIN_LT,
	RACE_PLAIN_LE,
	RACE_PLAIN_GT,
	RACE_PLAIN_GE,
	RACE_PLAIN_CMPS
};

struct race_plain_term {
	uint32_t cmp, is_rem;
	struct race_plain_number a, b, c, d;
};

/* A pointer: the parameter's index, and where in it. */
struct race_plain_pointer {
	uint32_t index, inner;
};

#define RACE_PLAIN_TERMS 24u

/*
 * The proof: where all terms hold, the pointers lead to different allocations, and each access
 * stays within its own, no two accesses of the launch race in any schedule. Followed by `narrays`
 * pointers and `nterms` terms.
 */
struct race_plain_proof {
	uint32_t narrays, nterms;
};

#endif
