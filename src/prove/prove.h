/*
 * prove.h - the front header of src/prove: race freedom of a kernel for every input, or alarms.
 *
 * A kernel is *free* of data races when every pair of its accesses is proven apart or ordered, in
 * every launch that keeps to the contract. An alarm is *true* when a launch was found and replayed
 * in which the race happens whatever memory holds, *potential* otherwise. What can't be analysed
 * makes the kernel *unproven*, with the place and the reason. Assumptions that no launch keeps make
 * it *vacuous*: nothing is proven. docs/prove.md explains all of it.
 */
#ifndef COLLIDER_PROVE_H
#define COLLIDER_PROVE_H

#include "base/base.h"
#include "race/contents.h"
#include "race/proof/proof.h"

/* What was recorded of all elements of an array, however many they are. */
#define PROVE_ALL_ELEMENTS (UINT64_MAX >> 8)

/* A word of a launch's parameters: a number, or a pointer. */
struct prove_word {
	uint64_t off, bytes, value;
	uint32_t array; /* 0: no pointer; the same number in one launch: one array */
	uint64_t at;	/* the place in the array */
	/* What it holds from there on; PROVE_ALL_ELEMENTS: to its end. Zeros: nothing is known. */
	struct race_contents holds;
};

/* A launch that a program made (collider run --record-launches). */
struct prove_launch {
	const char *kernel; /* mangled */
	uint32_t dim[6];    /* blockDim x y z, gridDim x y z */
	uint32_t nwords;
	const struct prove_word *word; /* in the order of their places */
};

struct prove_options {
	uint32_t dim[6];    /* blockDim x y z, gridDim x y z; 0: any */
	const char *kernel; /* only kernels whose name contains this, or NULL */
	bool may_alias;	    /* parameters may point into the same array */
	bool all_launches;  /* dimensions that aren't read may be any, products and counters wrap */
	bool counters_wrap; /* of the latter only: counters and pointers of loops */
	bool any_contents;  /* nothing rests on what memory holds before the launch */
	bool no_assumes; /* what the code itself assumes (collider/assume.h) counts for nothing */
	bool wants_extents;  /* struct race_proof's stays_shared, why_checked and frees */
	bool is_lockstep;    /* lanes of a warp meet at one instruction only */
	bool is_same_value;  /* stores of equal values are excused */
	bool wants_protocol; /* the access protocol of each array */
	bool wants_remedies; /* look for assumptions that take alarms away */
	bool of_many_blocks; /* ... to which launches of many blocks, of any size, keep */
	bool tries_many; /* first with several threads and blocks where the kernel reads neither */
	const char *const *system; /* folders of libraries: nvcc's -isystem */
	size_t nsystem;
	bool level[RACE_LEVEL_GRID + 1]; /* from WARP on; THREAD is always asked about */
	unsigned timeout_ms;		 /* of one kernel */
	/* Of all together, on the clock on the wall; 0: any. A kernel that this would cut off gets
	 * less than timeout_ms, so that what is proven by then counts. */
	unsigned wall_ms;
	unsigned memory_mb;
	/* Values of scalar parameters, by index from 1, or by name where index is 0. */
	uint32_t nparams;
	struct {
		uint32_t index;
		const char *name;
		uint64_t value;
	} param[64];
	const char *const *assumes; /* --assume: expressions, docs/prove.md */
	size_t nassumes;
	/* Or for each kernel, by its mangled name, one of its own ("": none), and dimensions of its
	 * own (0: any): neach of them; 0: none. */
	const struct prove_assume_of {
		const char *kernel, *assume;
		uint32_t dim[6];
	} * each;
	size_t neach;
	const struct prove_launch *launches; /* NULL: any */
	size_t nlaunches;
	bool only_launched;	   /* kernels that none of the launches is of are left out */
	bool is_of_launches_alone; /* nor is it asked what other launches would do */
	/* What their arrays held is assumed, and nothing is proven where that says nothing. */
	bool uses_contents;
	bool by_bounds; /* any launch within the bounds of their dimensions and scalars counts */
	/* Kernels by their mangled names, nonly of them; 0: all. No part of what is kept. */
	const char *const *only;
	size_t nonly;
	const char *cache;  /* folder for results, or NULL */
	bool keeps_late;    /* there, what more time might change, too */
	uint64_t cache_key; /* what else the results depend on: the program */
	/* The same kernels with their DWARF: names of parameters, for a text that has none. */
	struct ptx_module *named;
};

/*
 * Analyses the kernels of a PTX text, each in a child process that is killed at its limits. Returns
 * 0, or BASE_EXIT_INPUT with errors in the sink when the text is no PTX, BASE_EXIT_USAGE when an
 * expression is wrong. Free with race_proofs_free.
 */
int prove_text(const char *file, const char *text, size_t size, const struct prove_options *o,
	       struct race_proofs *out, struct base_sink *sink);
/* Sets cache to the user's folder of results, and what they depend on besides the kernel: this
 * program itself. The name is in the arena. */
void prove_use_cache(struct prove_options *o, struct base_arena *arena);
/* Is --assume's text a sentence? NULL: yes, else what is wrong, in the arena. Names are not looked
 * up: they depend on the kernel. */
const char *prove_check_assume(const char *text, struct base_arena *arena);

#endif
