/*
 * view.h - what `run` and `report` share: options of a report, and where it goes.
 */
#ifndef COLLIDER_CLI_VIEW_H
#define COLLIDER_CLI_VIEW_H

#include "base/option.h"
#include "report/report.h"

struct cli_view {
	struct rep_options opt; /* points into `ignore` */
	struct race_ignore ignore;
	struct rep_known *known; /* of --new-since */
	struct base_arena arena;
};

/* Takes the options that both commands have; `fd` is where the report will go (for colours).
 * Returns 0, or an exit code with a message. Free with cli_view_close; don't move it. */
int cli_view_open(struct cli_view *v, const struct option_set *set, int fd);
void cli_view_close(struct cli_view *v);

/* --source-root as an absolute path, in the arena; NULL: not given. */
const char *cli_source_root(struct base_arena *a, const struct option_set *set);
/*
 * The exit code of a report: that of --error-exitcode, --fail-unchecked and --fail-partial, if they
 * are given and concern it, after saying why; else `otherwise`.
 */
int cli_view_code(const struct cli_view *v, const struct option_set *set,
		  const struct race_results *r, int otherwise);

/* Renders to standard output. Returns 0, or an exit code after saying what failed. */
int cli_view_print(const struct cli_view *v, const struct race_results *r);
/* Renders and writes one report; path NULL: standard error. False after saying what failed. */
bool cli_write_report(const struct race_results *r, const struct rep_options *opt,
		      const char *path);
/* A file that takes JSON lines, if the option was given; `pid` is for its name. */
bool cli_write_json(const struct race_results *r, const struct option_set *set, enum option_id id,
		    const struct race_ignore *ignore, pid_t pid);

#endif
