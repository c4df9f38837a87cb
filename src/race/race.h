/*
 * race.h - the front header of src/race on the host: what a race is, as data.
 *
 * A finding stays a struct until a renderer of src/report turns it into words.
 * The layouts that host and device share are record.h, site.h and shm.h; the
 * tables are written by site_build.h and read here. Everything read from a program's memory or from
 * a file is untrusted: it is bounds-checked and cleaned of control characters and invalid UTF-8;
 * damaged parts are counted.
 */
#ifndef COLLIDER_RACE_H
#define COLLIDER_RACE_H

#include "base/base.h"
#include "race/detector.h"
#include "race/finding.h"
#include "race/gap.h"
#include "race/file/host.h"
#include "race/file/pair.h"
#include "race/record.h"
#include "race/rules.h"
#include "race/file/transfer.h"
#include "race/file/shm.h"
#include "race/site/site.h"

/* ---- results: what a run found, and what it could not check ----------------- */

/* What was not checked, summed over modules. */
struct race_skip {
	const char *what;
	const char *func; /* mangled; "" = anywhere */
	const char *func_shown;
	enum race_unchecked_why why;
	uint64_t count; /* instructions */
	bool is_called; /* func is no kernel */
};

/* Why the run's verdict is partial (gap.h). */
struct race_gap {
	enum race_gap_why why;
	const char *kernel; /* mangled; "" = the run */
	const char *kernel_shown;
	const char *what;   /* "" = as gaps.def has it */
	uint64_t count, of; /* of the row's noun, and of how many; 0 = not counted */
	/* Blocks of one launch of the kernel that a judge beside the GPU judged, of how many; of 0:
	 * none. */
	uint64_t judged, judged_of;
};

struct race_judged_kernel {
	const char *name; /* mangled */
	uint64_t blocks, of;
};

struct race_kernel {
	const char *name; /* mangled */
	const char *name_shown;
	uint64_t launches;
	bool is_instrumented;
	/* Where the run left launches out (shm_write.h): how many began, and which were checked. */
	uint64_t started, checked, first, last;
	uint32_t why; /* RACE_LEFT_* */
	uint32_t cuts;
	uint64_t cut_blocks, cut_of;
	/* Launches that were proven free of races and judged as a whole; how often that was not
	 * enough. */
	uint64_t proven, left;
	uint64_t sampled; /* launches left out, after many that were clean */
};

/* What stopped a device. */
struct race_stop {
	const char *text;
	const char *func; /* mangled; "" = no instruction did it */
	uint32_t ptx_line;
	int32_t device;
};

/* All results of one run (or several, merged). Zero-initialised is valid and empty;
 * all strings, and arrays of findings, live in `arena`. */
/* Which sites of one table were ever checked. */
struct race_coverage {
	uint64_t table;
	const char *module, *target; /* source's name, "sm_90"; "" = unknown */
	uint32_t nsites;
	unsigned char *leads;	/* by site: 1, the first of its group */
	unsigned char *checked; /* by site: 1 */
};

struct race_results {
	struct base_arena arena;
	BASE_VEC(struct race_finding) findings; /* one per (table, site, kind), or read from JSON */
	BASE_VEC(struct race_skip) skips;
	BASE_VEC(struct race_kernel) kernels;
	BASE_VEC(struct race_gap) gaps;
	BASE_VEC(struct race_judged_kernel) beside_kernels; /* by a judge beside a GPU */
	BASE_VEC(const char *) plain; /* modules and kernels without instrumentation */
	BASE_VEC(const char *) notes;
	BASE_VEC(struct race_stop) stops;
	BASE_VEC(struct race_origin) origins;
	BASE_VEC(struct race_transfer_op *) launched; /* calls; api = the kernel, mangled */
	BASE_VEC(struct race_context) contexts;
	BASE_VEC(struct race_coverage) coverage; /* of runs that noted it, see race/site/sample.h */
	uint64_t checked;			 /* dynamic accesses that were re-read */
	uint64_t warp_checked;			 /* stores whose warp was compared */
	uint64_t launches;  /* grids of instrumented kernels, counted on the GPU */
	uint64_t overflow;  /* reports lost: the table on the GPU was full */
	uint64_t unboxed;   /* tensor copies that went unchecked: map not known, box clipped */
	bool has_history;   /* detector hirace was active */
	uint64_t no_causes; /* modules with words and no causes (base/detectors.def) */
	uint64_t threads_aside, accesses_aside; /* of it: without numbers, or words */
	/* Of detector watch: watchpoints, those whose slot was taken, hits without the other side.
	 */
	uint64_t watches, watch_busy, watch_lost;
	bool has_looks;	    /* it was active alone: `checked` counts looks */
	bool watches_alone; /* each GPU of several had its own watchpoints */
	uint64_t host_launches, host_launches_plain;
	uint64_t modules, plain_modules;
	uint64_t tables;	/* site tables read: instrumented modules that were seen */
	uint64_t damaged;	/* records, chunks or tables that could not be read */
	uint64_t lost_contexts; /* contexts for which the shared file had no region */
	uint32_t cuda_error;	/* CUresult that killed a context, 0 = none */
	uint32_t processes;
	bool is_inexact; /* the counters are lower bounds */
	enum race_agent_state agent_state;
	uint32_t rdelay, wdelay, dense, sample, seed;
	uint32_t sites; /* --sample; 0: all */
	/* Of the oracle (docs/soundness.md), summed over processes. */
	bool has_oracle, is_oracle_full, is_sc_execution;
	bool is_judged_inexact;		  /* the program ended while it judged: lower bounds */
	bool has_stepped_aside;		  /* it was full, and the detectors went on without it */
	uint64_t judged, judged_launches; /* accesses, launches */
	uint64_t beside, beside_launches; /* by a judge beside a GPU: accesses, launches */
	uint64_t judged_kernels;	  /* of `judged`: those of kernels' threads */
	uint64_t shadow_bytes, clock_bytes, shadow_words, actors;
	uint64_t dropped, raced_out; /* accesses: forgotten; whose later races are not reported */
	uint64_t host_accesses;	     /* of host code, judged too */
	uint64_t host_registered,
		host_registered_bytes; /* places where it isn't seen, their size */
	bool is_host_seen;
	bool is_host_unseen; /* host code may have accessed memory of kernels, and was not seen */
	/* Of host code (collider cc): accesses read again, findings lost, shared memory not
	 * known */
	bool has_host;
	uint64_t host_checked, host_lost, host_ranges_lost;
	struct race_transfer_counts transfers; /* copies of the host, summed over processes */
	struct race_holds holds;	       /* launches held back, summed over contexts */
	/* Why nothing was checked, where only the launcher knows it; NULL: the fields above show
	 * it. */
	const char *why_nothing;
	uint64_t failed_modules; /* that could not be loaded */
	uint64_t patterns;	 /* of --variable that match an access */
	uint32_t ranges;	 /* as in struct race_choice */
	const char *command;	 /* what ran, for the header; NULL or "" = unknown */
	uint32_t runs;		 /* reports merged; 0 counts as 1 */
	uint64_t empty_runs;	 /* of these, read from files: they had checked nothing */
};

/* ---- tables.c: counters and kinds as rows ---------------------------------- */

enum race_counter_id {
#define COUNTER(place, when, field, ...) RACE_COUNTER_##field,
#define FLAG(place, field, ...)		 RACE_COUNTER_##field,
#define EXACT(place, field, ...)	 RACE_COUNTER_##field,
#include "race/counters.def"
	RACE_COUNTERS_COUNT
};

enum race_counter_place { RACE_IN_SUMMARY, RACE_IN_ORACLE, RACE_IN_HIDDEN };
enum race_counter_when {
	RACE_WHEN_ALWAYS,
	RACE_WHEN_NONZERO,
	RACE_WHEN_HOST, /* where has_host is set */
	RACE_WHEN_FLAG,
	RACE_WHEN_EXACT /* a flag, written as its opposite */
};

struct race_counter {
	const char *json, *noun;
	size_t at, bytes; /* in struct race_results */
	enum race_counter_place place;
	enum race_counter_when when;
	bool missing; /* EXACT: the flag where JSON doesn't have it */
	const char *means;
};

extern const struct race_counter race_counters[RACE_COUNTERS_COUNT];
uint64_t race_counter_get(const struct race_results *r, enum race_counter_id id);
/* Adds to a counter, or sets a flag if n isn't 0. */
void race_counter_add(struct race_results *r, enum race_counter_id id, uint64_t n);

/* What kinds.def has for a kind; texts are NULL where it has none. */
struct race_kind_row {
	const char *name;
	enum race_detector_id source;
	bool has_two_sides;
	enum race_class cls;
	const char *title, *sentence;
};

extern const struct race_kind_row race_kinds[RACE_KIND_COUNT]; /* number 0: none */

/* ---- advice.c: what helps ------------------------------------------------- */

/* Up to four lines without a newline at the end. */
const char *race_advice(struct base_arena *a, const struct race_finding *f);
/* The bit of what is missing (layout/missing.def), by sightings and kind; 0: not known. */
uint32_t race_missing_of(const struct race_finding *f);
/* "no fence before the write of the flag" */
const char *race_missing_words(const struct race_finding *f);
/* Between the two sides that are shown. */
enum race_apart race_apart_of(const struct race_finding *f);
/* Names for JSON. */
const char *race_apart_name(unsigned apart);
const char *race_missing_name(unsigned missing);

void race_results_free(struct race_results *r);

/* A cleaned copy in the arena: control characters become spaces, invalid UTF-8 '?'. */
const char *race_text(struct base_arena *a, const char *s, size_t n);

/* Adds the context to the list unless it's there. */
void race_seen_add(struct base_arena *a, struct race_finding *f, const struct race_context *c);
/* Adds counts of a site, merging the same (table, site). */
void race_site_count(struct base_arena *a, struct race_finding *f,
		     const struct race_finding_site *s);
/* Adds to an equal entry (what, why, func), or as a new one. Strings must outlive r. */
void race_skip_add(struct race_results *r, const struct race_skip *s);
void race_kernel_add(struct race_results *r, const struct race_kernel *k);
/* Adds a line once; `s` is cleaned and copied. */
void race_note_add(struct race_results *r, const char *s, size_t n);
void race_plain_add(struct race_results *r, const char *s, size_t n);
void race_context_add(struct race_results *r, const struct race_context *c);

/* ---- demangle.c ---------------------------------------------------------- */

/* The C++ name in the arena; `name` itself when it isn't mangled, or when the machine has no
 * C++ runtime library (it is looked up at run time: a C tool shouldn't need it to start). */
const char *race_demangle(struct base_arena *a, const char *name);
/* The name for a line of text (short.c), demangled or not; in the arena, or `name` itself. */
const char *race_short_name(struct base_arena *a, const char *name);
/*
 * Is the kernel in the list, patterns joined by commas? A pattern with * for any text
 * matches a whole name: the mangled one, the programmer's, or that without parameters. One that
 * begins with "regex:" is a POSIX extended regular expression that is found in one of them.
 */
bool race_name_is_listed(const char *list, const char *name);
/* The same for something that has n names of its own. */
bool race_names_are_listed(const char *list, const char *const *names, size_t n);
/* Which patterns of the list match a variable, as bits; all from the 64th on share one. names: what
 * flow_object_names gives. */
uint64_t race_variable_patterns(const char *list, const char *const *names, size_t n);
/* The list's next pattern, and *list after it; NULL: there is none. */
const char *race_name_next(struct base_arena *a, const char **list);
/* What is wrong with the list (a regular expression), in `why`; NULL: nothing. */
const char *race_name_check(const char *list, char *why, size_t n);
/* The programmer's name without what it returns and its parameters. */
char *race_bare_name(struct base_arena *a, const char *shown);

/* ---- site_read.c --------------------------------------------------------- */

/* A decoded table. Read elements through the functions: nothing in the image is trusted. */
struct race_sites {
	struct race_site_header h;
	unsigned char *image; /* malloc'd */
	size_t size;
};

/*
 * Decodes a struct race_site_blob with its bytes; more may follow it (padding). Checks magic,
 * version, sizes, every section's bounds and the content hash. Returns NULL and fills *t, or
 * what is wrong with it (a constant string); then *t needs no free.
 */
const char *race_sites_decode(const void *blob, size_t size, struct race_sites *t);
void race_sites_close(struct race_sites *t);
/* False when there is no such element. */
bool race_sites_get(const struct race_sites *t, uint32_t index, struct race_site *out);
bool race_sites_get_frame(const struct race_sites *t, uint32_t index, struct race_frame *out);
bool race_sites_get_unchecked(const struct race_sites *t, uint32_t i, struct race_unchecked *out);
/* NUL-terminated; "" for an offset outside the table. */
const char *race_sites_text(const struct race_sites *t, uint32_t offset);

/* ---- pair_read.c --------------------------------------------------------- */

/* Adds a chunk RACE_CHUNK_PAIR, _ORACLE, _BESIDE or _BESIDE_KERNEL. False: it contradicts
 * itself. */
bool race_beside_kernel_read(struct race_results *out, const void *payload, size_t n);
bool race_beside_read(struct race_results *out, const void *payload, size_t n);
bool race_pair_read(struct race_results *out, const void *payload, size_t n, uint32_t pid);
bool race_oracle_read(struct race_results *out, const void *payload, size_t n);
/* The same for RACE_CHUNK_FAULT. */
bool race_fault_read(struct race_results *out, const void *payload, size_t n);
/* Is it a race of the instruction that stopped a device? */
bool race_explains(const struct race_finding *f, const struct race_stop *stop);

/* ---- host_read.c --------------------------------------------------------- */

/* Adds a chunk RACE_CHUNK_HOST_AREA or RACE_CHUNK_HOST_FIND. False: it contradicts itself. A
 * finding has its object and offset, and no line: src/host/symbol.c finds that. */
bool race_host_area_read(struct race_results *out, const void *payload, size_t n);
bool race_host_find_read(struct race_results *out, const void *payload, size_t n);
/* Is it a pair of host code and a kernel? Then race_host_pair_fill (pair_read.c) makes a finding of
 * it: f has what is known of the kernel's site, `flags` are its RACE_SITE_*. */
bool race_host_find_is_pair(const void *payload, size_t n);
void race_host_pair_fill(struct base_arena *a, const void *payload, size_t n, uint32_t flags,
			 int device, struct race_finding *f);

/* ---- sample.c ------------------------------------------------------------ */

struct race_sites;
/* Adds which sites of the tables were checked, if the run chose among them. `map`: the file. */
void race_cover_read(struct race_results *out, const void *map, size_t bytes,
		     const struct race_sites *const *tables, size_t n);

/* ---- transfer_read.c ----------------------------------------------------- */

/* Adds a chunk RACE_CHUNK_TRANSFER (of process `pid`) or RACE_CHUNK_TRANSFERS. False: it
 * contradicts itself. The calls have no lines, which src/host/symbol.c finds. */
bool race_transfer_read(struct race_results *out, const void *payload, size_t n, uint32_t pid);
bool race_transfer_counts_read(struct race_results *out, const void *payload, size_t n);
/* The same for RACE_CHUNK_ORIGIN. */
bool race_origin_read(struct race_results *out, const void *payload, size_t n, uint32_t pid);
bool race_launch_read(struct race_results *out, const void *payload, size_t n);
/* Attaches their calls to the host's operations of pairs: once all chunks have been read, and again
 * once the calls have lines. */
void race_origins_place(struct race_results *r);
/* library.c: the library whose header this is ("CUB"), NULL: none that is known. */
const char *race_library(const char *file);
/* The name of a shared library whose own kernels are machine code (cuBLAS and its like), of its
 * path; NULL: it is none. */
const char *race_kernel_library(const char *path);
/* Is a variable of this name a table of CUDA's own math functions (__cudart_i2opi_f, which sinf()
 * reads for large angles)? No program can name it, nothing writes it, and what reads it stays in
 * it. */
bool race_is_math_table(const char *name, size_t n);
/* The line of the program's own code from which `kernel` (demangled) was launched; all "" and 0 if
 * none is known. */
struct race_line race_launch_place(struct base_arena *a, const struct race_transfer_op *op,
				   const char *kernel);
/* Sets the place of a finding with calls; again once these have functions and lines. */
void race_transfer_place(struct base_arena *a, struct race_finding *f);
void race_transfer_counts_add(struct race_transfer_counts *to,
			      const struct race_transfer_counts *from);
/* "captured", for JSON; and the class of a finding about an operation of that many bytes. */
const char *race_transfer_skip_name(unsigned why);
enum race_class race_transfer_class(uint64_t bytes);

void race_holds_add(struct race_holds *to, const struct race_holds *from);
/* "captured", for JSON */
const char *race_hold_skip_name(unsigned why);

/* ---- verify.c ------------------------------------------------------------ */

/*
 * The findings of `collide` that no pair of the oracle confirms: no pair has a side in the same
 * place (file and line; without lines, the same function) that is the same instruction, or one of
 * the same direction on the same object that represents it; of a transfer, no pair has its place
 * and direction. Possible races need no confirmation, nor do findings in host code, whose lines the
 * oracle does not know. Returns how many; the indexes of the first `max` go to `out`.
 */
size_t race_unconfirmed(const struct race_results *r, size_t *out, size_t max);
/* Removes the findings of `collide` whose place some pair of the oracle names as a data race or, if
 * it is only possible, in any way. */
void race_merge(struct race_results *r);

/* ---- shm_read.c ---------------------------------------------------------- */

/*
 * Reads the file that the agent left (shm.h) and adds what it holds to *out. Tolerates half-written
 * data: records that aren't valid yet and chunks without their size are skipped; inconsistent ones
 * are counted in out->damaged. The same (table, site, kind) of several contexts is one finding.
 * Returns 0, or BASE_EXIT_INPUT if the bytes are not such a file.
 */
int race_shm_read(const void *map, size_t bytes, struct race_results *out);

/* ---- gap.c: the one place that says whether all was checked ---------------- */

struct race_gap_row {
	const char *name, *noun, *word, *text; /* as in gaps.def */
	bool is_unjudged, is_last;
};
extern const struct race_gap_row race_gap_rows[RACE_GAPS];
/* What follows in a gap's words where the kernels aren't known. */
#define RACE_GAP_IN_CALLED ", in functions that kernels call"

enum race_completeness {
	RACE_COMPLETE, /* every access of every kernel that ran was checked, as the options ask */
	RACE_PARTIAL,  /* there are gaps */
	RACE_NOTHING   /* no access of a kernel was checked */
};

/* Counts a gap, as a new one or with an equal one (why, kernel, what). */
void race_gap_add(struct race_results *r, const struct race_gap *gap);
bool race_gap_has(const struct race_results *r, const struct race_gap *gap);
/* Of reports that were read from files: some of them had checked nothing. */
void race_gaps_join(struct race_results *r);
/* Adds a chunk RACE_CHUNK_GAP. False: it contradicts itself. */
bool race_gap_read(struct race_results *r, const void *payload, size_t n);
/* Adds those that follow from the counters. Called when all chunks and regions have been read. */
void race_gaps_find(struct race_results *r);
enum race_completeness race_completeness(const struct race_results *r);
/* Accesses of kernels that were checked: those that the oracle judged, or those of the checks;
 * where there are none, those that were judged beside a GPU. */
uint64_t race_kernel_accesses(const struct race_results *r);
bool race_is_judged(const struct race_results *r); /* is it the oracle's number? */

/* The type of the lambda's parameter in collider/annotate.h: a part of the lambda's name, however
 * that is written. */
#define RACE_ANNOTATION "collider_data_race_t"

/* ---- ignore.c: the one place for what is left out of a report -------------- */

enum race_ignored {
	RACE_IGNORED_NOT = 0,
	RACE_IGNORED_SUPPRESSED, /* by a line of the suppressions file */
	RACE_IGNORED_SAME_VALUE, /* intra-warp conflict of equal values, --same-value=ignore */
	RACE_IGNORED_POSSIBLE,	 /* class possible, not requested */
	RACE_IGNORED_UNDECIDED,	 /* class undecided, not requested */
	RACE_IGNORED_KNOWN,	 /* an earlier report has it (--new-since) */
	RACE_IGNORED_ANNOTATED,	 /* a side is in a collider_data_race() of the program */
	RACE_IGNORED_COUNT
};

/* One line of a suppressions file. */
struct race_rule {
	unsigned kind;	     /* enum race_kind, 0 = every kind */
	const char *pattern; /* "" = everything */
	uint32_t line;	     /* in the source that the pattern names, 0 = any */
	uint32_t at;	     /* line of the suppressions file */
	const char *text;    /* as written */
};

struct race_ignore {
	struct base_arena arena;
	const char *path;
	BASE_VEC(struct race_rule) rules;
	bool same_value; /* leave out intra-warp conflicts of equal values */
	bool possible;	 /* leave out the class "possible" */
	bool undecided;	 /* leave out the class "undecided" */
};

/*
 * Reads a suppressions file (docs/reading-a-report.md): lines `race:PATTERN`, `KIND:PATTERN` or
 * `kind:KIND`, `#` comments. A pattern matches a part of a function's mangled or demangled name
 * or of a file's path; `*` stands for any text, `^` and `$` tie it to the ends, `:123` after a
 * path is a line. Errors go to the sink as path:line:col; returns false when there was one.
 */
bool race_ignore_read(struct race_ignore *ig, const char *path, struct base_sink *sink);
/* The same from text; `path` is for messages. */
bool race_ignore_parse(struct race_ignore *ig, const char *path, const char *text, size_t n,
		       struct base_sink *sink);
void race_ignore_free(struct race_ignore *ig);

/* Why the finding is left out; *rule is the index of the line that did it, else SIZE_MAX.
 * ig may be NULL (nothing is ignored but what the program itself annotates). */
enum race_ignored race_ignore_test(const struct race_ignore *ig, const struct race_finding *f,
				   size_t *rule);
const char *race_ignored_name(enum race_ignored why);

#endif
