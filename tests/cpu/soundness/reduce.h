/*
 * reduce.h - is there a run of a program that fails, and which is the smallest drawn one that does?
 */
#ifndef SOUNDNESS_REDUCE_H
#define SOUNDNESS_REDUCE_H

#include "generate.h"
#include "run.h"

/* A way to run a program. */
struct reduce_case {
	enum cpu_model model;
	uint64_t seed;
	enum run_damage damage;
	bool is_plain; /* without collide */
};

typedef void reduce_done_fn(const struct program *p, const struct run_config *c,
			    const struct run_result *r);

/*
 * Runs the program plain, then instrumented (with start's damage) in each memory model with `seeds`
 * seeds from start's, until one run fails: then *c is that run's. `expected`: as for run_program.
 * `done`: called with each run; NULL: no call.
 */
struct run_result reduce_check(const struct program *p, const struct reduce_case *start,
			       unsigned seeds, const unsigned char *expected, struct reduce_case *c,
			       reduce_done_fn *done);

/* One run of a program, of a drawn one. */
struct run_result reduce_rerun(const struct program *p, const struct reduce_case *c,
			       const unsigned char *expected);
struct run_result reduce_run(const struct gen_program *k, const struct reduce_case *c);
unsigned reduce_size(const struct gen_program *k); /* statements that are left */

/* Makes *k smaller while a run with the model and damage of *c fails in the way of `verdict`;
 * c->seed becomes that of such a run. */
void reduce_program(struct gen_program *k, struct reduce_case *c, enum run_verdict verdict);

#endif
