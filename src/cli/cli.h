/*
 * cli.h - the subcommands, as main.c calls them.
 *
 * Each takes parsed options (the arguments are set->args) and returns the exit code. The tools that
 * pass on their command line take it whole.
 */
#ifndef COLLIDER_CLI_H
#define COLLIDER_CLI_H

#include "base/option.h"
#include "race/file/shm.h"

#include <sys/types.h>

int cli_run(struct option_set *set);	      /* run.c */
int cli_instrument(struct option_set *set);   /* instrument.c */
int cli_report(struct option_set *set);	      /* report.c */
int cli_judge(struct option_set *set);	      /* judge.c */
int cli_prove(struct option_set *set);	      /* prove.c */
int cli_prove_launch(int argc, char **argv);  /* prove_launch.c: for the CPU device */
int cli_recorded_text(int argc, char **argv); /* recorded.c: for a program on a GPU */
int cli_sweep_worker(int argc, char **argv);  /* sweep_worker.c: for collider-mpi */
int cli_hirace(struct option_set *set);	      /* hirace.c */
int cli_sweep(struct option_set *set);	      /* sweep.c */
int cli_reduce(struct option_set *set);	      /* reduce.c */
int cli_suppress(struct option_set *set);     /* suppress.c */
int cli_history(struct option_set *set);      /* history.c */
int cli_doctor(struct option_set *set);	      /* doctor.c */
int cli_help(struct option_set *set);	      /* help.c */

/* Prints the errors and warnings so far on stderr, and forgets them. */
void cli_flush(struct base_sink *sink);
/* Writes text on standard output. Returns an exit code: a full disk is an error. */
int cli_print(struct base_buf *text);

/*
 * file_name.c: the name of a file of --log-file, --json or --save, with what %p, %h, %r, %q{NAME}
 * and %% stand for. In the arena; NULL after filling in *why, if the pattern is wrong.
 */
const char *cli_file_name(struct base_arena *a, const char *pattern, pid_t pid, const char **why);
/* Why such a file can't be written; NULL: it can, as far as that is known before the run. */
const char *cli_file_problem(struct base_arena *a, const char *pattern);
/* The same of a file to which the program appends (--record-launches), whose name is as it is. */
const char *cli_lines_problem(struct base_arena *a, const char *path);

/* progress.c: the line on a terminal while a program runs, and its removal. count_shown: run.c, the
 * findings that the report would show now. */
uint64_t cli_count_shown(void *arg, const struct race_shm *shm);
void cli_progress(void *arg, const struct race_shm *shm, uint64_t ns);
void cli_progress_end(void);

/* no_call.c: why no CUDA call came from the program. */
struct base_arena;
const char *cli_no_call(struct base_arena *a, char *const *argv, bool is_cpu);
/* Why it launched no kernel on the CPU device; NULL: it shows nothing. */
const char *cli_no_kernel(struct base_arena *a, char *const *argv);

/* choice.c: the options about launches that are checked. Is a list of names wrong? 0, or an exit
 * code after saying it. */
struct option_set;
struct race_results;
int cli_choice_check(const struct option_set *set);
struct race_choice cli_choice_make(const struct option_set *set);
/* Adds notes: which launches were checked; and gaps: which of these options matched nothing. */
void cli_choice_note(struct race_results *r, const struct option_set *set);

/* load.c: --load. Sets what is preloaded on a GPU; where nothing can be, says so and leaves it.
 * is_asked: the detectors are the user's choice. */
struct spawn_request;
/* beside.c: the judge beside a GPU. Is one wanted? */
bool cli_beside_is_on(const struct option_set *set);
/* Before the program: "NAME=VALUE" for its environment; NULL: there is none. */
const char *cli_beside_choose(struct option_set *set);
/* When the shared file is there (spawn_request.beside), and after the program's end. */
void cli_beside_start(void *arg, int shm_fd);
void cli_beside_end(void);

void cli_load_choose(struct option_set *set, bool is_asked, struct spawn_request *req);
/* python.c: what compilers of GPU code that run in Python find in the environment, "NAME=VALUE" to
 * NULL. options: COLLIDER_TOOL_OPTIONS for our stand-in for ptxas; agent: the agent's file. */
char *const *cli_python_environment(struct base_arena *a, const char *options, const char *agent);
/* The same on the CPU device, whose runtime library is cudart. */
char *const *cli_python_cpu(struct base_arena *a, const char *cudart);
/* Adds a note: what was instrumented as it was loaded. */
void cli_load_note(struct race_results *r, const struct race_shm *shm,
		   const struct spawn_request *req);

/* recorded.c: --record-launches. The file's name becomes one that doesn't hang on the folder. */
void cli_recorded_place(struct option_set *set);
/* For the environment of a program on a GPU; NULL: there is none. */
char *cli_recorded_variable(struct base_arena *a, const char *path);
/* Why launches aren't recorded (enum race_unnoted), in words; NULL: none is for that reason. */
const char *cli_recorded_unnoted(struct base_arena *a, const struct race_shm *shm, unsigned why);
/* Adds notes: how many launches were recorded. */
void cli_recorded_note(struct race_results *r, const struct option_set *set,
		       const struct race_shm *shm);

/* replay.c: --replay. Sets the detector; 0, or an exit code after saying what is wrong. */
int cli_replay_check(struct option_set *set);
/* Reads the report, if one was given, into *out (race/site/replay.h); the caller frees it. 0, or
 * an exit code with one line in the sink. */
int cli_replay_read(const struct option_set *set, struct base_buf *out, struct base_sink *sink);

#endif
