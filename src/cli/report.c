/*
 * report.c - collider report: saved reports in, one merged report out.
 */
#include "cli/cli.h"
#include "cli/view.h"

#include <string.h>
#include <unistd.h>

/* report --coverage=FILE */
static int show_coverage(const char *path)
{
	struct rep_coverage coverage = {0};
	struct base_sink sink = {0};
	struct base_buf text = {0};
	int rc = rep_coverage_read(&coverage, path, &sink);

	cli_flush(&sink);
	if (!rc) {
		rep_coverage_say(&coverage, true, &text);
		rc = cli_print(&text);
	}
	base_buf_free(&text);
	rep_coverage_free(&coverage);
	return rc;
}

int cli_report(struct option_set *set)
{
	struct race_results results = {0};
	struct base_sink sink = {0};
	struct base_buf text = {0};
	struct cli_view view;

	if (set->args.n == 0 && option_text(set, OPTION_COVERAGE))
		return show_coverage(option_text(set, OPTION_COVERAGE));
	if (set->args.n == 0) {
		base_say("error: report needs at least one file that collider run --save wrote");
		return BASE_EXIT_USAGE;
	}
	int rc = cli_view_open(&view, set, STDOUT_FILENO);
	if (rc)
		return rc;
	for (size_t i = 0; i < set->args.n && !rc; i++)
		rc = rep_json_read(set->args.v[i], &results, &sink);
	cli_flush(&sink);
	if (!rc) {
		int err = cli_render(&results, &view.opt, &text);
		if (err) {
			base_say("error: the report: %s", strerror(err));
			rc = BASE_EXIT_ENV;
		} else {
			rc = cli_print(&text);
		}
	}
	base_buf_free(&text);
	race_results_free(&results);
	cli_view_close(&view);
	return rc;
}
