/*
 * reduce.h - inside src/cli: the state of collider reduce, and steps (reduce.c, reduce_steer.c).
 */
#ifndef COLLIDER_CLI_REDUCE_H
#define COLLIDER_CLI_REDUCE_H

#include "cli/sweep.h"

struct reduce {
	struct sweep s; /* its options `passed` are those of the next run */
	struct race_results r;
	uint64_t print;
	const char *line;    /* the finding in one line */
	const char *delayed; /* what a delay does, in a sentence; NULL: none was tried */
	unsigned runs, most; /* most: without the last ones */
};

bool reduce_has_run(const struct reduce *x);
/* Makes a run: is the finding in its report? */
bool reduce_shows(struct reduce *x);
/* With one option more. False: the finding isn't there then, and the options are as before. */
bool reduce_adds(struct reduce *x, char *option);
/* Without option i. False likewise. */
bool reduce_drops(struct reduce *x, size_t i);

/* On the CPU device: the threads that are needed, the turns that must be drawn or the threads that
 * must wait, and what a delay shows. */
void reduce_steer(struct reduce *x);

#endif
