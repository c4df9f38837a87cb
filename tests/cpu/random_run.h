/*
 * random_run.h - one launch of a random program, judged by the oracle or by a detector in it.
 */
#ifndef TESTS_CPU_RANDOM_RUN_H
#define TESTS_CPU_RANDOM_RUN_H

#include "cpu/cpu.h"
#include "race/file/pair.h"
#include "race/race.h"
#include "race/record.h"

#define RANDOM_PAIRS 512u

struct random_launch {
	const char *detector; /* hirace or iguard; NULL: the oracle */
	uint64_t seed;
	unsigned blocks, threads; /* the blocks are one cluster, where there are some */
	void *memory;		  /* the launch gets a copy, which is copied back */
	size_t bytes, out;
	uint32_t word;
};

/* What was found: the oracle's pairs, or a detector's records. */
struct random_run {
	struct race_pair pairs[RANDOM_PAIRS];
	unsigned npairs;
	struct race_record *records; /* RACE_SLOTS; NULL: no detector */
	struct race_sites sites;
	uint64_t at; /* of the copy */
};

/* Runs `k(.param .u64 memory, .param .u64 memory + out, .param .u32 word)`. False: it was not
 * executed, or not to its end. To be ended in any case. */
bool random_run(struct random_run *r, const struct base_buf *text, const struct random_launch *l);
/* The line in the program of a record's access; 0: the record is empty. */
uint32_t random_line(const struct random_run *r, unsigned record);
void random_run_end(struct random_run *r);

#endif
