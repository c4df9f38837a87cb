/*
 * reduce.h - is there a run of a drawn program that fails, and which is the smallest such program?
 */
#ifndef SOUNDNESS_REDUCE_H
#define SOUNDNESS_REDUCE_H

#include "generate.h"
#include "run.h"

/* Runs the program plain, then instrumented in each memory model with `seeds` seeds from `seed`,
 * until one run fails: then *c is that run's. `expected` as for run_program. `done`: called with
 * each run; NULL: nobody. */
struct run_result reduce_check(const struct program *p, uint64_t seed, unsigned seeds,
			       enum run_damage damage, const unsigned char *expected,
			       struct run_config *c,
			       void (*done)(const struct program *p, const struct run_config *c,
					    const struct run_result *r));

/* One run of the drawn program. */
struct run_result reduce_run(const struct gen_program *k, const struct run_config *c);
unsigned reduce_size(const struct gen_program *k); /* statements that are left */

/* Makes *k smaller while a run with the model and damage of *c fails in the way of `verdict`; c->seed
 * becomes that of such a run. */
void reduce_program(struct gen_program *k, struct run_config *c, enum run_verdict verdict);

#endif
