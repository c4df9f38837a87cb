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
#include "race/race.h"

enum prove_verdict { PROVE_FREE, PROVE_TRUE, PROVE_POTENTIAL, PROVE_UNPROVEN, PROVE_VACUOUS };

enum prove_problem_kind {
	PROVE_PROBLEM_UNPROVEN, /* not modelled, or the solver gave up */
	PROVE_PROBLEM_VACUOUS,	/* an assumption that contradicts others or the launch */
	PROVE_PROBLEM_EXCLUDED	/* an access that the assumptions exclude; leaves the verdict */
};

/* Why a kernel is "could not prove" or "vacuous", or what its verdict doesn't cover. */
struct prove_problem {
	enum prove_problem_kind kind;
	const char *text;
	const char *file; /* of the source; "" = unknown */
	uint32_t line, ptx_line;
};

struct prove_side {
	uint8_t kind;	  /* enum race_op_kind */
	uint8_t strength; /* enum race_strength */
	uint16_t bytes;
	const char *file; /* "" = unknown */
	uint32_t line, ptx_line;
	const char *text; /* the PTX instruction */
	uint32_t tid[3], ctaid[3];
	uint64_t offset; /* in the object */
	uint32_t phase;	 /* barriers before, in the launch that was replayed */
	bool is_approx_index, is_approx_path;
};

enum prove_level { PROVE_BLOCK, PROVE_GRID };

struct prove_alarm {
	bool is_true;
	enum race_class cls; /* RACE_CLASS_RACE, or RACE_CLASS_VOLATILE */
	enum prove_level level;
	bool is_exited; /* one thread has ended; no later barrier orders what it did */
	bool has_launch;
	const char *object; /* what both touch */
	const char *reason; /* why it is only potential, or "" */
	struct prove_side side[2];
	uint32_t ntid[3], nctaid[3];
	uint32_t nparams;
	struct {
		uint64_t off, value;
		uint32_t bytes;
	} param[64];
};

struct prove_counts {
	uint32_t accesses, pairs; /* that may conflict */
	uint32_t queries;
	uint32_t by_integers, by_bits, gave_up; /* queries answered, not answered */
	uint32_t replays, failed_replays;
};

struct prove_kernel {
	const char *name, *name_shown; /* mangled, demangled */
	enum prove_verdict verdict;
	BASE_VEC(struct prove_alarm) alarms;
	BASE_VEC(struct prove_problem) problems;
	BASE_VEC(const char *) contract; /* sentences */
	uint8_t free_dims;		 /* bit d: blockDim x y z, gridDim x y z may be anything */
	struct prove_counts counts;
	uint64_t ms; /* wall-clock, for the user only */
};

struct prove_results {
	struct base_arena arena; /* strings */
	const char *file;
	BASE_VEC(struct prove_kernel) kernels;
};

struct prove_options {
	uint32_t dim[6];     /* blockDim x y z, gridDim x y z; 0: any */
	const char *kernel;  /* only kernels whose name contains this, or NULL */
	bool may_alias;	     /* parameters may point into the same array */
	bool block, grid;    /* levels */
	unsigned timeout_ms; /* of one kernel */
	unsigned memory_mb;
	/* Values of 4-byte scalar parameters, by index; */
	uint32_t nparams;
	struct {
		uint32_t index;
		uint64_t value;
	} param[64];
};

/*
 * Analyses the kernels of a PTX text, each in a child process that is killed at its limits. Returns
 * 0, or BASE_EXIT_INPUT with errors in the sink when the text is no PTX. Free with
 * prove_results_free.
 */
int prove_text(const char *file, const char *text, size_t size, const struct prove_options *o,
	       struct prove_results *out, struct base_sink *sink);
void prove_results_free(struct prove_results *r);

/* The exit code for the results: docs/exit-codes.md. */
int prove_exit_code(const struct prove_results *r);
const char *prove_verdict_name(enum prove_verdict v); /* "race-free", "true-alarm", ... */

/* ---- text.c ------------------------------------------------------------------ */

void prove_print_text(const struct prove_results *r, struct base_buf *out);
/* One JSON object. */
void prove_print_json(const struct prove_results *r, struct base_buf *out);

#endif
