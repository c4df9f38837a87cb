/*
 * internal.h - what the files of src/toolchain share; no other folder includes it.
 */
#ifndef COLLIDER_TOOLCHAIN_INTERNAL_H
#define COLLIDER_TOOLCHAIN_INTERNAL_H

#include "base/base.h"
#include "instrument/instrument.h"

#include <sys/types.h>

/* ---- options.c -------------------------------------------------------- */

/* Collider's own options, as they travel from nvcc to cicc and ptxas. */
struct tool_options {
	struct inst_options inst;
	bool keep_races;
	bool no_invented_reads;
	bool no_fit;
	bool strict;
	bool verbose;
	bool prune, prune_global;
	bool prune_timed;		  /* --prune=auto: in a part of the time that ptxas takes */
	bool samples;			  /* of clean kernels' launches, for all detectors */
	bool no_lineinfo, gpu_only, host; /* for nvcc only */
	const char *host_filter;	  /* likewise; NULL: all files */
	int64_t long_build_ms;		  /* say so when ptxas will need more; 0: never */
	int64_t load_limit_ms;		  /* of what a program loads; 0: none */
	char *root;			  /* the real toolkit, or NULL: look for it */
};

#define TOOL_ENV_OPTIONS "COLLIDER_TOOL_OPTIONS"

/* The defaults; then COLLIDER_TOOL_OPTIONS where it is set. Returns 0 or a base_exit code. */
int tool_options_init(struct tool_options *o, struct base_arena *a);
/* Takes one argument of a command line. 1: ours, taken; 0: not ours; -1: ours but wrong (with a
 * message). */
int tool_options_take(struct tool_options *o, const char *arg, struct base_arena *a);
/* As if --prune had that value in COLLIDER_TOOL_OPTIONS. */
void tool_options_prune(struct tool_options *o, const char *value);
/* The value for COLLIDER_TOOL_OPTIONS. */
char *tool_options_encode(const struct tool_options *o, struct base_arena *a);
/* COLLIDER_DISABLE is set, not empty and not 0. */
bool tool_is_disabled(void);
/* Are checks to be inserted? */
bool tool_is_on(const struct tool_options *o);

/* ---- args.c: what an nvcc command line says ---------------------------- */

struct tool_strings {
	char **v;
	size_t n, cap;
};

struct tool_nvcc_line {
	struct tool_strings args; /* for nvcc, ours removed; args.v[0] is the program */
	bool has_lineinfo;	  /* -lineinfo or -G in any spelling */
	bool has_source;	  /* something that cicc or ptxas will compile */
	bool has_noprof;	  /* --dont-use-profile: nvcc won't look into the mirror */
};

/* Splits the arguments; response files are only replaced by their content when they hold an
 * option of ours. Returns 0 or a base_exit code (with a message). Strings live in the arena. */
int tool_nvcc_parse(struct tool_nvcc_line *l, struct tool_options *o, int argc, char **argv,
		    struct base_arena *a);
/* Splits the text of a response file at blanks, minding quotes and backslashes. */
void tool_split_words(const char *text, struct tool_strings *out, struct base_arena *a);

/* ---- toolkit.c, mirror.c ------------------------------------------------ */

struct tool_kit {
	char *root; /* /usr/local/cuda-13.0 */
	char *bin;  /* where nvcc and nvcc.profile are */
	char *nvcc; /* all resolved paths */
	char *cicc;
	char *ptxas;
};

/* Finds the real toolkit; `root` is tried first when given. Returns 0, or BASE_EXIT_ENV (with a
 * message). */
int tool_kit_find(struct tool_kit *k, const char *root, struct base_arena *a);
/* What a stand-in for one of the toolkit's programs begins with: options from the environment, and
 * the toolkit. Returns 0, or a base_exit code (with a message). */
int tool_begin(struct tool_options *o, struct tool_kit *k, struct base_arena *a);
/* The cached mirror of the toolkit, created if missing. NULL if that fails (with a
 * message). */
char *tool_mirror_get(const struct tool_kit *k, struct base_arena *a);
/* The path of this executable. */
char *tool_self(struct base_arena *a);

/* anydevice.c: adds to nvcc's arguments what the CPU device requires of a program (shared cudart,
 * PTX), unless the user's own arguments decide otherwise. */
void tool_any_device(struct tool_strings *args, const struct tool_kit *kit, struct base_arena *a);

/* hostcc.c: adds to nvcc's arguments what makes the host compiler insert checks. Returns 0 or a
 * base_exit code (with a message). */
int tool_host_nvcc(struct tool_strings *args, const char *filter, struct base_arena *a);

/* ---- process.c ---------------------------------------------------------- */

/* A file name in this process's temporary folder (made on first use, removed with all that was
 * named in it by tool_cleanup and on SIGINT, SIGTERM, SIGHUP). NULL: no folder (with a message).
 * The name lives as long as the process; the file doesn't exist yet. */
const char *tool_temp(const char *name);
void tool_cleanup(void);

/* Replaces this process by the program. Returns only if that fails: BASE_EXIT_ENV, with a
 * message. */
int tool_exec(const char *path, char **argv);
/* Added to a signal number in the result of tool_run. */
#define TOOL_SIGNAL 256
/* Runs the program and waits: its exit code, or TOOL_SIGNAL + the signal that ended it. SIGINT
 * and the like are passed on; what was caught ends this process after the child. `messages`: a
 * file that gets what it prints, or NULL for our own stdout and stderr. */
int tool_run(const char *path, char **argv, const char *messages);
/* The same; about ten times a second tick gets the seconds so far, unless it is NULL. */
typedef void tool_tick(void *arg, double seconds);
int tool_run_ticking(const char *path, char **argv, const char *messages, tool_tick *tick,
		     void *arg);
/* Calls fn in a child process, so that its crash is only a result. Files that it makes must be
 * named by tool_temp before. Returns like tool_run, with what fn returned. */
int tool_call(int (*fn)(void *arg), void *arg);
/* Ends as the child did (the code of tool_run): by a signal if it was one. */
int tool_finish(int code);

/* ---- later.c: proofs after a load -------------------------------------------- */

#define TOOL_LATER_MOST 3u /* processes that try to prove the same */

/* In a process that is to prove what this entry lacks: 0 in the caller's, which then ends. In a
 * new one, which proves while `program` runs and a little longer, unseen by it: which of those
 * that have tried it is, from 1. */
unsigned tool_detach(const char *entry, pid_t program);

/* ---- cubin.c ------------------------------------------------------------- */

struct tool_regs {
	char *name; /* function symbol */
	unsigned count;
};

struct tool_reglist {
	struct tool_regs *v;
	size_t n, cap;
};

/* Registers per thread of each function of a cubin (EIATTR_REGCOUNT in .nv.info). Returns 0, or
 * an errno value. */
int tool_cubin_regs(const char *path, struct tool_reglist *out, struct base_arena *a);
/* The count of `name`; 0 if it is not listed. */
unsigned tool_reglist_get(const struct tool_reglist *l, const char *name);

/* ---- fit.c, rewrite.c ------------------------------------------------------ */

/* The most registers per thread with which a kernel still accepts every block size that it
 * accepts with `regs`; 255 means that any count does. */
unsigned tool_fit_cap(unsigned regs);
/* The most registers with which a kernel of `regs` registers still runs well (speed only). */
unsigned tool_fit_occupancy(unsigned regs);
/* The most registers that ptxas gives a kernel with these bounds (0: none given). */
unsigned tool_fit_bound(unsigned threads, unsigned min_blocks, unsigned maxnreg);
/* ptxas says "Entry function 'k' with max regcount of 64 calls function 'f' with regcount of 84":
 * the cap that f must keep, and with it the file. 0: another refusal. */
unsigned tool_fit_refused(const char *said);
/* The functions that every driver provides and that need few registers (PTX interoperability guide,
 * "System Calls"): printf, assert, malloc and free of a kernel. */
bool tool_fit_is_system(const char *name, size_t n);
/* The lines of a text. */
size_t tool_fit_lines(const char *text, size_t size);

/* One PTX text to be instrumented. */
struct tool_job {
	const struct tool_options *opt;
	const char *name;   /* for messages: the file the user knows */
	const char *arch;   /* "sm_90a", "compute_90"; NULL: no fit */
	const char *ptxas;  /* the real one */
	bool relocatable;   /* -rdc */
	bool has_maxreg;    /* the user caps registers for the whole file */
	bool is_debug;	    /* -G */
	bool has_lineinfo;  /* -lineinfo */
	bool is_waited_for; /* by a program that runs: ptxas may have all processors */
	int waiters;	    /* a descriptor for a line to them; 0: none */
	bool leaves_others; /* a text without a kernel that is asked for is left, as TOOL_LEFT */
	/* The text as it was assembled for its program, a file; NULL: unknown, it is assembled. */
	const char *assembled;
	/* Names the text where it has no lines (image/text.c); NULL: nothing does. */
	const char *text_file;
	/* A file that is made where time ran out for proofs; NULL: that isn't asked. */
	const char *late_file;
	/* A folder where the launches of what isn't proven are noted (race/noted.h); NULL: none. */
	const char *noted_folder;
	bool is_later; /* nothing waits for the proofs, but they must be made in time (later.c) */
};

enum tool_outcome {
	TOOL_CHANGED, /* `out` holds the instrumented text */
	TOOL_LEFT,    /* nothing to do: carries the marker, or contains no code */
	TOOL_FAILED,  /* could not be instrumented, with a message */
	TOOL_REFUSED  /* the same, and it will be so again: the text is the reason */
};

enum tool_outcome tool_rewrite(const struct tool_job *job, const char *text, size_t size,
			       struct base_buf *out);

/* ---- trial.c: assembling on trial -------------------------------------------- */

/* Seconds of a processor that this process, or its children so far, took (RUSAGE_...). */
double tool_seconds_of(int who);
/* The first error line of what ptxas said, without the trial file's name. */
const char *tool_first_error(const char *said, struct base_arena *a);
/* Adds the options that nvcc gives ptxas for such a text, sorted; strings live in the arena. */
void tool_trial_options(const struct tool_job *job, unsigned maxreg, struct tool_strings *o,
			struct base_arena *a);
/* Adds those for an object whose functions use `cap` registers at most. */
void tool_object_options(unsigned cap, struct tool_strings *o, struct base_arena *a);
/* Is there an nvlink beside ptxas? */
bool tool_can_link(const struct tool_job *job, struct base_arena *a);
/* Makes a cubin of such an object. Returns like tool_run. */
int tool_link_object(const struct tool_job *job, const char *object, const char *cubin,
		     struct base_arena *a);

/* ---- slow.c: builds that take long --------------------------------------------- */

struct inst_size;
struct tool_sizes {
	struct base_arena *arena;
	BASE_VEC(struct tool_size {
		const char *name;
		uint32_t n; /* instructions and labels */
		uint32_t lines;
		uint32_t lines_after;
		uint32_t sites;
		uint32_t groups;
	})
	list;
	bool is_said;
	double waits_said; /* the seconds in the last line of tool_wait_say */
};

/* For inst_options.on_size; the argument is a struct tool_sizes. */
void tool_sizes_note(void *arg, const struct inst_size *size);
/* For --collider-verbose: the functions with many sites. */
void tool_sizes_say(const struct tool_job *job, const struct tool_sizes *s);
/* What ptxas is expected to take for them. */
double tool_sizes_seconds(const struct tool_sizes *s);
/* The same on the clock, where all processors work at it. */
double tool_sizes_wall(const struct tool_sizes *s);
/* Says so, once, where it is more than --long-build. Sorts the list. */
void tool_slow_say(const struct tool_job *job, struct tool_sizes *s);
/* Says so to who waits for the code (job->waiters), where it is expected to take long; again where
 * a later form of the code takes twice as long. */
void tool_wait_say(const struct tool_job *job, struct tool_sizes *s);
/* tool_run of argv[0], with a line on a terminal while it works. */
int tool_run_shown(const struct tool_job *job, const struct tool_sizes *sizes, char **argv,
		   const char *messages);

/* ---- keep.c: the trial's result, for the ptxas that follows ---------------- */

/* A text, and the options with which it is assembled (input and output left out), sorted. */
struct tool_kept {
	const char *ptxas, *text;
	size_t size;
	char **options;
	size_t noptions;
};

/* Keeps a copy of the cubin, and what ptxas said about the input `in`; failing is no error. */
void tool_keep(const struct tool_kept *k, const char *cubin, const char *said, const char *in);
/* Writes what was kept to `out` and says what ptxas said, of `in` now; false: nothing was, or it
 * can't be written. Without `out`: was it kept? */
bool tool_take(const struct tool_kept *k, const char *in, const char *out);
/* For qsort: the order of options. */
int tool_by_text(const void *a, const void *b);

/* ---- caller.c: programs that call ptxas themselves ------------------------------ */

bool tool_asks_version(int argc, char **argv);
/* What ptxas says of its version, and which checks ours puts in. Returns its exit code. */
int tool_say_version(const struct tool_kit *k, int argc, char **argv, struct base_arena *a);

/* The comment with which tool_rewrite asks tool_ptxas for a cap on device functions. */
#define TOOL_MAXREG_COMMENT "// collider-maxrregcount "
/* ptxas.c: the cap that a text asks for; 0: none. */
unsigned tool_asked_maxreg(const char *text);
/* The comment in front of PTX that tool_cicc could not instrument: tool_ptxas does not try. */
#define TOOL_LEFT_COMMENT "// collider-left-as-it-was\n"

#endif
