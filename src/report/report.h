/*
 * report.h - the front header of src/report: findings into words.
 *
 * struct race_results (race/race.h) comes from the shared file or from saved
 * JSON lines; nothing here knows which. group.c makes one entry per source line
 * and kind, text.c and json.c render the same entries. Every report ends with what was checked, so
 * that "no race" can't be mistaken for "nothing was checked".
 */
#ifndef COLLIDER_REPORT_H
#define COLLIDER_REPORT_H

#include "race/proof/proof.h"
#include "race/race.h"

#define REP_SCHEMA	   "collider-report"
#define REP_SCHEMA_VERSION 1 /* docs/report-format.md */

enum rep_format {
	REP_TEXT = 0,
	REP_JSON,
	REP_SHORT,  /* a line for each finding, as compilers print them */
	REP_GITHUB, /* the same as GitHub's workflow commands */
	REP_JUNIT,
	REP_SARIF,
	REP_HTML,
	REP_FORMATS
};

struct rep_options {
	enum rep_format format;
	bool color;		   /* the caller decides (terminal, --color) */
	bool verbose;		   /* PTX instructions, names as mangled, every device */
	bool full_frames;	   /* every inlined call, names in full */
	bool no_source;		   /* don't show source lines */
	unsigned print_limit;	   /* findings shown as text, 0: all; the others are counted */
	const char *source_root;   /* paths below it are shown without it; NULL: as they are */
	const char *source_prefix; /* folder in which sources are looked for too; NULL: none */
	const struct race_ignore *ignore; /* suppressions, same value, possible; NULL: none */
	const struct rep_known *known;	  /* an earlier report's findings (known.c); NULL: none */
};

/* What the report concludes. */
enum rep_verdict {
	REP_VERDICT_RACES,  /* at least one data race that isn't ignored */
	REP_VERDICT_OTHER,  /* findings, none of them a data race */
	REP_VERDICT_CLEAN,  /* accesses were checked, no finding that isn't ignored */
	REP_VERDICT_NOTHING /* nothing was checked */
};

/* ---- render.c ------------------------------------------------------------ */

/* Appends the report. */
void rep_put(const struct race_results *r, const struct rep_options *opt, struct base_buf *out);

/* Writes the report. Returns 0, or an errno value when writing failed. */
int rep_render(const struct race_results *r, const struct rep_options *opt, FILE *out);

/* The findings that count for exit codes: data races, not ignored, one per source line, function
 * and kind. Reports for which the GPU had no room count as one. */
uint64_t rep_exit_races(const struct race_results *r, const struct rep_options *opt);

/* The findings that the report shows, of all classes. */
uint64_t rep_count_shown(const struct race_results *r, const struct rep_options *opt);

enum rep_verdict rep_get_verdict(const struct race_results *r, const struct rep_options *opt);

/* The format with this name (--format); REP_FORMATS: there is none. */
enum rep_format rep_format_find(const char *name);

/* ---- render.c, proof_text.c, proof_json.c: what collider prove found ------------------ */

/* In the options' format; only no_source, source_root and source_prefix are used besides. */
void rep_proof_render(const struct race_proofs *r, const struct rep_options *opt,
		      struct base_buf *out);
/* For people. */
void rep_proof_text(const struct race_proofs *r, const struct rep_options *opt,
		    struct base_buf *out);
/* One JSON object: docs/prove.md. */
void rep_proof_json(const struct race_proofs *r, const struct rep_options *opt,
		    struct base_buf *out);

/* ---- own.c ---------------------------------------------------------------- */

/* Prints the text report of this process's own shared file to stderr, by a forked child; prints a
 * message if it could not be written. */
void rep_own(const struct race_shm *shm);

/* ---- json_read.c --------------------------------------------------------- */

/* packed.c: a saved report as text, whether or not it is packed with zstd, with a NUL after it; and
 * the way back, packed where the name ends in .zst. 0 or an errno value (EBADMSG: bad zstd). */
int rep_file_read(const char *path, char **text, size_t *n);
int rep_file_write(const char *path, const char *text, size_t n);

/*
 * Adds a saved JSON-lines report to *r: counts are summed, equal findings become one when the
 * results are rendered. A report that ends without its summary line is taken as far as it goes,
 * with a warning. Returns 0, or BASE_EXIT_INPUT with "file:line: ..." in the sink.
 */
int rep_json_read(const char *path, struct race_results *r, struct base_sink *sink);
/* The same from text; `path` is for messages. */
int rep_json_parse(const char *path, const char *text, size_t n, struct race_results *r,
		   struct base_sink *sink);

/* ---- known.c: --new-since --------------------------------------------------- */

/*
 * The findings of an earlier report, a file of JSON lines: a view leaves out what is among them.
 * NULL, with "file:line: ..." in the sink, where it can't be read or has findings without a
 * fingerprint. Freed by rep_known_free, after the views that use it.
 */
struct rep_known *rep_known_read(const char *path, struct base_sink *sink);
void rep_known_free(struct rep_known *k);

/* ---- brief.c -------------------------------------------------------------- */

/* A finding in one line. */
struct rep_brief {
	uint64_t print;	  /* the same in each run: its fingerprint */
	bool is_race;	  /* a data race */
	const char *rule; /* "data-race/unordered" */
	const char *line; /* "a.cu:9: load races with a.cu:11: store, in sum(float*)" */
};

/* The findings that a report of these results shows by default; *out and its texts are in the
 * arena. Returns how many. */
size_t rep_briefs(struct base_arena *a, const struct race_results *r, struct rep_brief **out);

/* ---- coverage.c ---------------------------------------------------------- */

/* Which sites were ever checked, over runs. Zeroed at the start. */
struct rep_coverage {
	struct base_arena arena;
	BASE_VEC(struct race_coverage) tables;
	uint32_t runs;
};

/* Adds a file that --coverage wrote; one that doesn't exist is empty. Returns 0, or
 * BASE_EXIT_INPUT with one line in the sink. */
int rep_coverage_read(struct rep_coverage *c, const char *path, struct base_sink *sink);
/* Adds a run, whose results must outlive c. */
void rep_coverage_add(struct rep_coverage *c, const struct race_results *r);
/* Returns 0, or an errno value. */
int rep_coverage_write(const struct rep_coverage *c, const char *path);
/* "checked 3 of 12 sites in 2 runs", after a line per module if asked. */
void rep_coverage_say(const struct rep_coverage *c, bool has_modules, struct base_buf *out);
/* The limit (race/site/sample.h) that takes `sites` of the known sites; 0: none is known. */
uint32_t rep_coverage_limit(const struct rep_coverage *c, uint32_t sites, uint32_t seed);
void rep_coverage_free(struct rep_coverage *c);

#endif
