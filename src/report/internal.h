/*
 * internal.h - what the files of src/report share.
 *
 * A view is the results as a reader sees them: ignored findings marked, one
 * entry per source line, function and kind, surest and most frequent first.
 * Both renderers print views, so that text and JSON never disagree.
 */
#ifndef COLLIDER_REPORT_INTERNAL_H
#define COLLIDER_REPORT_INTERNAL_H

#include "report/report.h"

#define REP_FUNCTIONS 8u /* that are listed by name */

struct rep_entry {
	struct race_finding f;
	const char *place[2];	/* of its sides: equal for all instances of a template */
	const char **functions; /* that have it, the first REP_FUNCTIONS */
	size_t nfunctions;	/* distinct ones: beyond the listed ones, sightings */
	enum race_ignored ignored;
	bool explains; /* a device's fault: struct race_stop */
	bool is_twin;  /* iguard has found the same pair: left out */
	size_t order;  /* of arrival: keeps the sort stable */
};

struct rep_view {
	struct base_arena arena;
	const struct race_results *r;
	const struct rep_options *opt;
	BASE_VEC(struct rep_entry) entries; /* ignored ones last */
	size_t nshown;			    /* entries that aren't ignored */
	uint64_t races, others;		    /* entries not ignored: data races, other classes */
	uint64_t ignored[RACE_IGNORED_COUNT];
	uint64_t *hits; /* findings that each suppression hid */
	enum rep_verdict verdict;
	enum race_completeness completeness;
	const struct race_gap **gaps; /* in the order of gaps.def */
	size_t ngaps;
	const char *reason; /* with REP_VERDICT_NOTHING: why, a whole sentence */
	unsigned detail;    /* text.c: what of a finding is left out, for its lines to be few */
};

/* group.c */
void rep_view_make(struct rep_view *v, const struct race_results *r, const struct rep_options *opt);
void rep_view_free(struct rep_view *v);
/* For qsort: ignored ones last, then what a reader wants first. */
int rep_entry_compare(const void *pa, const void *pb);

/* form.c: gives each entry's finding its print. */
void rep_prints_make(struct rep_view *v);

/* known.c: marks the entries that an earlier report has, and puts them among the ignored ones. */
void rep_known_mark(struct rep_view *v);

/* near.c: the entries with two sides that have a place or a line of entry `at`, itself among them,
 * in their order; *found is there until the next question. */
struct rep_near;
struct rep_near *rep_near_new(struct rep_view *v);
size_t rep_near_of(struct rep_near *x, struct rep_view *v, size_t at, const size_t **found);
void rep_near_free(struct rep_near *x);

/* words.c: the phrases of the text report. */
const char *rep_kind_title(const struct race_finding *f);
const char *rep_kind_sentence(const struct race_finding *f);
const char *rep_class_title(enum race_class cls);
/* "data race": what an alarm of collider prove is of. */
const char *rep_alarm_title(enum race_class cls);
/* "What usually helps: ...", and the same of an alarm of k, where that is certain. */
void rep_help_put(struct base_buf *out, const char *text, const char *unless);
void rep_proof_help_put(struct base_buf *out, const struct race_proof *k,
			const struct race_alarm *al);
/* "1,048,576" */
const char *rep_number(struct base_arena *a, uint64_t n);
/* "copy" for n = 1, else "copies"; the noun's last word is the one that changes. */
const char *rep_noun(struct base_arena *a, uint64_t n, const char *noun);
/* "1 asynchronous copy", "1,024 asynchronous copies" */
const char *rep_count(struct base_arena *a, uint64_t n, const char *noun);
/* A counter with its noun, as counters.def says: "1,234 accesses". */
const char *rep_counter(struct base_arena *a, const struct race_results *r,
			enum race_counter_id id);
/* "lanes 0-3, 7" */
const char *rep_lanes(struct base_arena *a, uint32_t lanes);
/* "load of 4 bytes from shared memory" */
const char *rep_access(struct base_arena *a, const struct race_finding *f);
/* "read 3 (0x3), found 7 (0x7)", "" where the record has no values */
const char *rep_values(struct base_arena *a, const struct race_finding *f);

/* pair.c: the same for findings with two sides. */
const char *rep_pair_title(const struct race_finding *f);
const char *rep_pair_sentence(const struct race_finding *f);
/* "byte 12 of bins, 1024 bytes, __device__", "" if it is not known. */
const char *rep_object(struct base_arena *a, const struct race_finding *f, bool is_long);
/* "relaxed, scope gpu" */
const char *rep_side_order(struct base_arena *a, const struct race_side *s);
const char *rep_scope_name(enum race_scope s);
const char *rep_strength_name(enum race_strength s);
const char *rep_proxy_name(enum race_proxy p);
/* Does a side go through a texture or surface? */
bool rep_is_texture(const struct race_finding *f);
/* "load", words.c */
const char *rep_access_title(enum race_access access);
/* "lanes of a warp, and warps of a block", "" where it is one or none; words.c */
const char *rep_apart_text(struct base_arena *a, const struct race_finding *f);
/* "load of 4 bytes, shared memory", words.c */
const char *rep_access_text(struct base_arena *a, enum race_access access, enum race_space space,
			    uint32_t width, uint32_t vec);

/* transfer.c: the same for copies and fills of the host. */
const char *rep_transfer_title(const struct race_finding *f);
const char *rep_transfer_sentence(const struct race_finding *f);
void rep_transfer_first(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
			const char *indent);
void rep_transfer_checked(struct base_buf *out, struct rep_view *v);
/* NULL: none was left out for this reason (enum race_transfer_skip). */
const char *rep_transfer_unchecked(struct rep_view *v, unsigned why);

/* complete.c: the completeness verdict. */
void rep_gaps_sort(struct rep_view *v); /* fills in the view's */
void rep_completeness(struct base_buf *out, struct rep_view *v);
/* footer.c: are all launches of all kernels proven? */
bool rep_is_all_proven(const struct race_results *r);
/* Kernels that were launched: of which all launches were proven, some, none; such launches. */
struct rep_proven {
	uint64_t all, some, none, launches;
};
struct rep_proven rep_count_proven(const struct race_results *r);
const char *rep_completeness_name(unsigned completeness); /* enum race_completeness */
/* "kernel scan(int*), 2 launches: refused: ..." */
const char *rep_gap_text(struct rep_view *v, const struct race_gap *g);
/* "; PARTIAL: kernel scan(int*) refused", for the end of the result's sentence; "" if all was
 * checked, or if there are findings and no gap that is always named there. */
const char *rep_partial_words(struct rep_view *v);
/* The gap that explains that nothing was checked; NULL: there is none. */
const char *rep_nothing_gap(struct rep_view *v);

/* holds.c: what --shuffle-streams did */
void rep_holds(struct base_buf *out, struct rep_view *v);

/* source.c: the source line; nothing when there is no source. */
enum rep_source_form {
	REP_SOURCE_AROUND, /* with its neighbours, and a caret */
	REP_SOURCE_LINE,   /* with a caret */
	REP_SOURCE_BARE
};
void rep_source(struct base_buf *out, const struct rep_options *opt, const char *file,
		uint32_t line, uint32_t col, enum rep_source_form form, const char *indent);

/* The file as rep_source would find it, malloc'd into *text. */
bool rep_source_read(const struct rep_options *opt, const char *file, char **text, size_t *n);

/* frames.c: chains of inlined calls, and names for people. */
struct rep_frame {
	const char *file, *func;
	uint32_t line, col;
	const char *library; /* "CUB"; NULL: the program's own */
};
/* The name without versions of libraries and, if it is long, without arguments. */
const char *rep_name(struct rep_view *v, const char *name);
/* f->ninlined + 1 frames, the access first. */
struct rep_frame *rep_chain(struct base_arena *a, const struct race_finding *f);
/* The first frame that is the program's own; 0, too, if there is none. */
size_t rep_own_frame(const struct rep_frame *chain, size_t n);
/* "3 frames of CUB and Thrust" */
const char *rep_fold(struct rep_view *v, const struct rep_frame *chain, size_t n);

/* place.c: where an access is, in the text report. */
const char *rep_place(struct base_arena *a, const char *file, uint32_t line, uint32_t col);
/* "/home/me/sum.cu:9:3 in sum(float*)"; `f` may be a side as a finding. */
const char *rep_where(struct rep_view *v, const struct race_finding *f);
/* What was inlined around or in it; nothing if there is nothing to say. */
void rep_calls(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
	       const char *indent);
/* Do the compiler's lines lead to more than one call? */
bool rep_is_unsure(const struct race_inlined *inlined, size_t n);
/* Says so of one access, of both in one line. */
void rep_unsure(struct base_buf *out, bool is_first, bool is_second, const char *indent);
/* The frame that rep_where names. */
const struct rep_frame *rep_shown_frame(struct rep_view *v, const struct race_finding *f);
/* What is known of a side's place, as a finding. */
struct race_finding rep_side_place(const struct race_side *s);
/* "/home/me/main.cu:40:2 in main"; "" if it is not known. */
const char *rep_line(struct rep_view *v, const struct race_line *l, const char *shown);

/* summary.c: a line for each finding. */
void rep_summary(struct base_buf *out, struct rep_view *v);

/* text.c, footer.c, json.c */
void rep_text(struct base_buf *out, struct rep_view *v);
void rep_text_footer(struct base_buf *out, struct rep_view *v);
void rep_json(struct base_buf *out, struct rep_view *v);
/* The sentence that states the result. */
const char *rep_result_sentence(struct rep_view *v);

/* ---- trees.c ------------------------------------------------------------------------------- */

/* Until the end, cJSON's trees take their memory from large pieces, by this thread alone. Pairs may
 * lie within one another. */
void rep_trees_begin(void);
void rep_trees_end(void);
/* The tree goes, and with it, within one pair, every other: their memory is used again. */
struct cJSON;
void rep_trees_drop(struct cJSON *tree);

#endif
