/*
 * plain.h - HiRace's Algorithm 1 a second time, as plainly as possible, with unbounded numbers.
 *
 * Written from the paper and the published table (published.csv) with 15 rows changed as they are
 * printed in plain.c. Shares no code with src/hirace: fields are whole numbers, states are names,
 * nothing is left out, nothing wraps. Order by releases and partial masks isn't in it.
 */
#ifndef COLLIDER_TESTS_HIRACE_RULES_PLAIN_H
#define COLLIDER_TESTS_HIRACE_RULES_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

struct plain_word {
	const char *state;	      /* of the published table, NULL: INIT */
	uint64_t thread, block, warp; /* who accessed last */
	uint64_t block_clock, warp_clock, launch;
};

struct plain_thread {
	uint64_t thread, block, warp; /* unique numbers in the grid */
	uint64_t block_clock, warp_clock, launch;
};

/* Reads the published table, and corrects it if wanted. Returns false, and says why, on errors. */
bool plain_read_table(const char *csv, bool is_corrected);
/* An access "R", "W", "BA" or "GA". Is it the one that makes the word's state RACE? */
bool plain_update(struct plain_word *w, const struct plain_thread *t, const char *access);

#endif
