/*
 * form.h - findings as machines and pages want them: flat, one struct for runs and for proofs.
 *
 * text.c and json.c print a view as it is. The other forms of a report (SARIF, JUnit, lines for
 * editors and GitHub, HTML) need the same few facts of each finding, whether a run or
 * `collider prove` has it: form.c makes them once.
 */
#ifndef COLLIDER_REPORT_FORM_H
#define COLLIDER_REPORT_FORM_H

#include "report/internal.h"

/* One access. Texts are "" and numbers 0 where nothing is known. */
struct rep_form_side {
	const char *verb;     /* "load", "store", "atomic", "copy", "product", "read", "write" */
	const char *access;   /* "load of 4 bytes, shared memory" */
	const char *file;     /* below --source-root without that */
	bool is_relative;     /* below it, or not absolute in the first place */
	const char *func;     /* for people */
	const char *launched; /* "main.cu:40 in main" */
	uint32_t line, col;
	bool has_thread;
	uint32_t thread[3], block[3];
	const char *source; /* the line of the source, without its indent */
};

enum rep_form_level { REP_FORM_ERROR, REP_FORM_WARNING, REP_FORM_NOTE };

struct rep_form_item {
	const char *rule;	/* stable: "data-race/unordered", "proof/true-alarm" */
	const char *rule_title; /* what the rule finds, for a list of rules */
	enum rep_form_level level;
	const char *kind;	     /* "DATA RACE" */
	const char *title;	     /* "unordered read and write" */
	const char *sentence, *help; /* each one paragraph */
	const char *line;    /* all of it in one: "load races with a.cu:9: store, in kernel k" */
	const char *kernel;  /* for people; "" = the host's */
	const char *values;  /* "read 3, found 7" */
	const char *missing; /* what isn't between the two: "no order" */
	struct rep_form_side side[2];
	unsigned nsides;
	uint64_t count;	     /* of a proof 0 */
	const char *ignored; /* "" or why it is left out of the text report */
	uint64_t print;	     /* the same for the same finding after other lines have moved */
};

enum rep_form_state { REP_FORM_CHECKED, REP_FORM_PARTLY, REP_FORM_UNCHECKED };

struct rep_form_kernel {
	const char *name;
	enum rep_form_state state;
	const char *why; /* of the last two; and what of it is proven */
	uint64_t launches;
};

struct rep_form {
	struct base_arena arena;
	const struct rep_options *opt;
	const char *command; /* what ran, or the file that was proven */
	const char *result;  /* the last line of the text report */
	bool is_proof, is_complete;
	BASE_VEC(struct rep_form_item) items; /* in the order of the text report */
	BASE_VEC(struct rep_form_kernel) kernels;
	BASE_VEC(const char *) notes; /* what wasn't checked, and other remarks */
};

/* form.c: texts belong to the form, which is freed by rep_form_free. */
void rep_form_of_view(struct rep_form *f, struct rep_view *v);
void rep_form_of_proofs(struct rep_form *f, const struct race_proofs *r,
			const struct rep_options *opt);
void rep_form_free(struct rep_form *f);
/* "a.cu:9:4", "a.cu", "" */
const char *rep_form_place(struct base_arena *a, const struct rep_form_side *s, bool has_column);
/* "Thread (1,0,0), Block (0,0,0)" */
const char *rep_form_thread(struct base_arena *a, const struct rep_form_side *s);

/* The text as XML and HTML have it, in quotes or between tags */
void rep_escaped(struct base_buf *out, const char *s);

/* page.css, page.js: what html.c puts into a page */
extern const char rep_page_css[], rep_page_js[];

/* lines.c, junit.c, sarif.c, html.c */
void rep_short(struct base_buf *out, struct rep_form *f);
void rep_github(struct base_buf *out, struct rep_form *f);
void rep_junit(struct base_buf *out, struct rep_form *f);
void rep_sarif(struct base_buf *out, struct rep_form *f);
void rep_html(struct base_buf *out, struct rep_form *f);

#endif
