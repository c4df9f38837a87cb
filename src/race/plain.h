/*
 * plain.h - launches that need no checks, or not all: what a kernel's module says of them, and what
 * the agent says to the kernel.
 *
 * The instrumenter puts it in (instrument/prune/launch.c): two variables for each kernel, named by
 * a prefix and the kernel's name. The agent reads one and writes the other before a launch, in its
 * stream (agent/plain.c); without an agent all launches are checked.
 */
#ifndef COLLIDER_RACE_PLAIN_H
#define COLLIDER_RACE_PLAIN_H

#include <stdint.h>

#define RACE_PLAIN_STATE  "__collider_state_" /* struct race_plain_state */
#define RACE_PLAIN_PROOF  "__collider_proof_" /* struct race_plain_proof; none: a sample only */
#define RACE_PLAIN_ARRAYS 16u

/* Every access of one pointer's is tested to be in these bytes. */
struct race_plain_array {
	uint64_t from, bytes;
};

/*
 * What a launch runs, where the number is greater than `over`: all checks; all but those of arrays
 * that it doesn't write, or of which each thread has its own part; the program's own code, once
 * more in the module, as it is proven or as it is not among those that are chosen.
 */
enum race_plain_on { RACE_PLAIN_CHECKED, RACE_PLAIN_PARTLY, RACE_PLAIN_PROVEN, RACE_PLAIN_SAMPLED };

/* What a launch finds. `over` is written at any time, what follows it in the launch's stream. The
 * module has as many arrays as the kernel's proof; one of no bytes has no access in it. */
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

/* A pointer: the parameter's index, where in it, and what for: RACE_PLAIN_OF_*. */
#define RACE_PLAIN_OF_PROOF 1u	/* accesses that are proven */
#define RACE_PLAIN_READ	    2u	/* reads, and the kernel has no write by it */
#define RACE_PLAIN_WRITTEN  4u	/* each write of the kernel is of such a one */
#define RACE_PLAIN_OWN	    8u	/* where its terms hold, each thread has its own bytes there */
#define RACE_PLAIN_TESTED   16u /* each read of a kernel that has OWN ones is of such, or WRITTEN */

struct race_plain_pointer {
	uint32_t index;
	uint16_t inner, uses;
};

#define RACE_PLAIN_TERMS     24u
#define RACE_PLAIN_OWN_TERMS 32u

/* On what a pointer OWN, by its place among the pointers, rests. */
struct race_plain_own {
	struct race_plain_term term;
	uint64_t pointer;
};

/*
 * RACE_PLAIN_WHOLE: where all terms hold, the pointers OF_PROOF lead to different allocations, and
 * each access stays within its own, no two accesses of the launch race in any schedule.
 * RACE_PLAIN_PART: reads by pointers READ race with nothing where no pointer WRITTEN leads to the
 * same allocation, and each write stays within its own. What is accessed by a pointer OWN races
 * with nothing where its terms hold, no other pointer of the kernel leads to the same allocation,
 * and each access stays within its own. RACE_PLAIN_ALL: the kernel has no other accesses to memory
 * that threads share, and all are tested: a launch with all arrays so is proven.
 * RACE_PLAIN_NO_SAMPLE: no launch is left out for a sample. RACE_PLAIN_ALONE: one is only where
 * nothing can be beside it, as the detectors know what launches do to each other. Followed by
 * `narrays` pointers, `nterms` terms and `nown` own terms.
 */
#define RACE_PLAIN_WHOLE     1u
#define RACE_PLAIN_PART	     2u
#define RACE_PLAIN_NO_SAMPLE 4u
#define RACE_PLAIN_ALL	     8u
#define RACE_PLAIN_ALONE     16u

struct race_plain_proof {
	uint16_t narrays, nterms, flags, nown;
};

#endif
