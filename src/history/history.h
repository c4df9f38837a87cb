/*
 * history.h - the front header of src/history: what the runs of weeks found, in one file.
 *
 * The file is an SQLite database with a row for each run, finding, sighting and site (store.c);
 * ask.c and bisect.c answer questions about it as text or JSON. One process writes at a time,
 * others wait; reports come in as files, so that machines without a common file system can take
 * part. Everything returns 0 or an exit code after saying what is wrong.
 */
#ifndef COLLIDER_HISTORY_H
#define COLLIDER_HISTORY_H

#include "base/base.h"
#include "race/race.h"
#include "report/report.h"

struct history;

/*
 * Opens the file; with `is_new_ok` one that isn't there is made. Closed by history_close. What
 * can't be opened, is no history, or one of a newer version: an exit code, *h is NULL.
 */
int history_open(struct history **h, const char *path, bool is_new_ok);
void history_close(struct history *h);

/* A run to add; texts are the caller's. */
struct history_run {
	const struct race_results *results;
	const struct rep_coverage *coverage; /* NULL: which sites it checked isn't known */
	uint64_t content; /* of its report: a run that is there already isn't added again */
	int64_t at;	  /* seconds since 1970 */
	const char *commit;
};
int history_add(struct history *h, const struct history_run *run, bool *was_new);
/* Adds of one transaction: quicker, and all or none. */
int history_begin(struct history *h);
int history_commit(struct history *h);

/* ---- questions; `is_json`: one JSON object (docs/history.schema.json) --------------------- */

/* All findings: how often seen, first and last time and commit. */
int history_list(struct history *h, bool is_json, struct base_buf *out);
/*
 * What differs between two sets of runs, each of one commit (a prefix of 4 or more characters) or
 * one day (2026-11-26). *nnew: how many findings only the second has.
 */
int history_compare(struct history *h, const char *one, const char *two, bool is_json,
		    struct base_buf *out, uint64_t *nnew);
/* The sites that no run has checked, by module. */
int history_unchecked(struct history *h, bool is_json, struct base_buf *out);
/*
 * Between which commits the finding with this fingerprint (a prefix of 4 or more characters) came.
 * `order` are commits, oldest first; norder 0: as their runs came.
 */
int history_bisect(struct history *h, const char *fingerprint, const char *const *order,
		   size_t norder, bool is_json, struct base_buf *out);

#endif
