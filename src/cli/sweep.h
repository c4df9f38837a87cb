/*
 * sweep.h - inside src/cli: a sweep's runs (sweep.c), what they found (sweep_tally.c), and runs
 * that look for one finding again (sweep_replay.c; reduce.c, too).
 */
#ifndef COLLIDER_CLI_SWEEP_H
#define COLLIDER_CLI_SWEEP_H

#include "cli/cli.h"
#include "race/race.h"

#include <uthash.h>

#define SWEEP_VARIED 5u

struct sweep {
	struct base_arena arena;
	struct option_set *set;
	const char *self, *dir;	 /* this executable; the folder */
	BASE_VEC(char *) passed; /* options of run, for each run */
	unsigned runs, jobs, share, shares;
	bool is_cpu, is_tty;
	uint64_t seed;
};

/* The options in which a run differs from the others; fewer than SWEEP_VARIED, then NULL. */
struct sweep_item {
	char *option[SWEEP_VARIED + 1];
};
/* Run i's: a function of the sweep's --seed, --vary and i alone. Run 0 is the plain one. */
struct sweep_item sweep_item_make(struct sweep *s, unsigned i);
/* Reads the options, and makes the folder: 0 or an exit code. */
int sweep_open(struct sweep *s);
bool sweep_is_there(const char *path);
/* The last line of a run's output: why it wrote no report, as the program wasn't found or an option
 * is wrong. */
const char *sweep_why(struct sweep *s, const char *log);
/* The report of run i, in the folder. */
const char *sweep_file(struct sweep *s, unsigned i, const char *end);
/*
 * Starts a run whose report goes to `save` and whose output to `log`. Returns the process, or -1.
 */
pid_t sweep_start(struct sweep *s, const struct sweep_item *it, const char *save, const char *log);

/* Options of run that were given, for each run. */
void sweep_pass_options(struct sweep *s);
/* An option that makes no sense here: 0, or an exit code after saying why. */
int sweep_refuse(const struct option_set *set, enum option_id id, const char *why);
/* A launch that was kept as a file, where a program or its report is wanted: likewise. */
int sweep_refuse_capsule(const char *path);
/* Where this executable is, and whether runs are on the CPU device. */
void sweep_know(struct sweep *s);
/* Does a run with these options show the finding? Its report stays in s->dir (sweep_again). */
bool sweep_shows(struct sweep *s, const struct sweep_item *it, uint64_t print);
const char *sweep_again(struct sweep *s);

/* A finding of the sweep, whatever the thread. */
struct sweep_found {
	UT_hash_handle hh;
	uint64_t print;	  /* its fingerprint */
	const char *line; /* in one line */
	unsigned seen, first;
};

struct sweep_tally {
	struct base_arena arena;
	struct sweep_found *all;
	unsigned ended, last_new; /* runs that were added; after how many the newest finding came */
};

/* Adds the report of run i. Returns 0 or an exit code after saying what is wrong with it. */
int sweep_tally_add(struct sweep_tally *t, const char *path, unsigned i);
/* Will further runs hardly bring anything new? */
bool sweep_tally_is_saturated(const struct sweep_tally *t);
void sweep_tally_free(struct sweep_tally *t);
/*
 * Appends for each finding how many runs saw it and a command that shows it, after trying that
 * command, and shorter ones.
 */
void sweep_commands(struct sweep *s, struct sweep_tally *t, struct base_buf *out);

#endif
