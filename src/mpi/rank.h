/*
 * rank.h - one rank of a sweep on many machines, whatever carries its messages.
 *
 * A message is a line of text. From a rank to rank 0: "want", "done RUN PRINT...", "failed RUN CODE
 * TEXT"; back: "run RUN" or "end". What makes the runs is a child of each rank, `collider` as
 * sweep-worker (cli/sweep_worker.c), which reads and writes the same lines by pipes.
 */
#ifndef COLLIDER_MPI_RANK_H
#define COLLIDER_MPI_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RANK_LINE 8192 /* bytes of a message, its NUL included */

struct rank_carrier {
	int rank, size;
	/* False: that rank can't be reached. */
	bool (*send)(void *arg, int to, const char *line);
	/* A line that has come, and from whom; false: none has so far. */
	bool (*receive)(void *arg, int *from, char line[RANK_LINE]);
	void *arg;
};

struct rank_worker {
	pid_t pid;
	int in, out; /* its standard input and output */
	unsigned runs;
	bool goes_on;
	char text[RANK_LINE]; /* come so far, without a line's end */
	size_t n;
};

/* Starts `collider` for the sweep's options and program, and reads what it says first. Before the
 * carrier is made, as not every MPI lets its processes fork. 0 or an exit code. */
int rank_start(struct rank_worker *w, const char *collider, char **options);
void rank_stop(struct rank_worker *w);
/* Makes runs until rank 0 says that the sweep is over. 0 or an exit code; *is_whole (rank 0): no
 * rank was lost. */
int rank_main(struct rank_worker *w, const struct rank_carrier *c, bool *is_whole);

#endif
