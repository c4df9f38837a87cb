/*
 * run.h - a program on the CPU device, plain and instrumented, judged.
 */
#ifndef SOUNDNESS_RUN_H
#define SOUNDNESS_RUN_H

#include "cpu/cpu.h"
#include "program.h"

enum run_verdict {
	RUN_FINE,
	RUN_FAULT,
	RUN_WRONG,     /* the plain program doesn't compute what it should */
	RUN_DIFFERENT, /* the instrumented one computes something else */
	RUN_FALSE_REPORT,
	RUN_FALSE_PAIR,
	RUN_UNCONFIRMED,
	RUN_MISSED,
	RUN_UNSEEN, /* hirace has not reported a planted race of its model */
	RUN_NOT_JUDGED,
	RUN_VERDICTS
};
extern const char *const run_verdict_names[RUN_VERDICTS];
extern const char *const run_model_names[];

/* Self-test: what is done to the instrumented text before it is loaded. */
enum run_damage { RUN_WHOLE, RUN_REREAD, RUN_VALUE };

struct run_config {
	enum cpu_model model;
	uint64_t seed;
	const struct base_buf *checked; /* the text with collide in it; NULL: as it is */
};

struct run_result {
	enum run_verdict verdict;
	char text[256]; /* what failed */
	unsigned reports, pairs;
	unsigned possible;   /* reports of hirace that aren't certain */
	unsigned told, seen; /* bit i: the oracle reported plant i, collide reported a line of it */
	unsigned found;	     /* the same, or reported it as possible */
};

/* The program's text with collide in it (COLLIDER_SOUNDNESS=hirace: with hirace), and damaged. */
void run_instrument(const struct program *p, enum run_damage how, struct base_buf *out);
/* Is it hirace or iguard that runs? */
bool run_has_history(void);
/* Does the oracle judge this model? */
bool run_has_oracle(enum cpu_model model);
/*
 * Runs the program and judges it. `expected`: NULL or what a race-free one leaves in memory.
 * `mem`: NULL, or where to put what it left (program_memory bytes).
 */
struct run_result run_program(const struct program *p, const struct run_config *c,
			      const unsigned char *expected, unsigned char *mem);

#endif
