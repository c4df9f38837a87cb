/*
 * view.c - the options of a report, from the command line to struct rep_options.
 *
 * A report is rendered into memory and written in one piece: a file is never
 * half a report, and lines of other processes don't cut through it.
 */
#include "cli/cli.h"
#include "cli/view.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_color(const struct option_set *set, int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (!option_is(set, OPTION_COLOR, "auto"))
		return option_is(set, OPTION_COLOR, "always");
	return isatty(fd) && !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
}

const char *cli_source_root(struct base_arena *a, const struct option_set *set)
{
	const char *root = option_text(set, OPTION_SOURCE_ROOT);
	char *real = root ? realpath(root, NULL) : NULL;

	if (real)
		root = base_strdup(a, real);
	free(real);
	return root;
}

int cli_view_open(struct cli_view *v, const struct option_set *set, int fd)
{
	const char *rules = option_text(set, OPTION_SUPPRESSIONS);
	const char *earlier = option_text(set, OPTION_NEW_SINCE);
	struct base_sink sink = {0};
	int rc = 0;

	memset(v, 0, sizeof(*v));
	if (rules && !race_ignore_read(&v->ignore, rules, &sink))
		rc = BASE_EXIT_INPUT;
	v->known = earlier ? rep_known_read(earlier, &sink) : NULL;
	if (earlier && !v->known)
		rc = BASE_EXIT_INPUT;
	v->opt.known = v->known;
	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	v->ignore.same_value = option_is(set, OPTION_SAME_VALUE, "ignore");
	bool is_asked = option_source(set, OPTION_SHOW_POSSIBLE) != OPTION_FROM_DEFAULT;
	v->ignore.possible = is_asked && !option_flag(set, OPTION_SHOW_POSSIBLE);
	v->ignore.undecided = !is_asked || !option_flag(set, OPTION_SHOW_POSSIBLE);
	v->opt.ignore = &v->ignore;
	v->opt.format = rep_format_find(option_text(set, OPTION_FORMAT));
	assert(v->opt.format != REP_FORMATS); /* the choices in options.def are its names */
	v->opt.source_root = cli_source_root(&v->arena, set);
	v->opt.color = wants_color(set, fd);
	v->opt.full_frames = option_flag(set, OPTION_FULL_FRAMES);
	v->opt.verbose = option_flag(set, OPTION_VERBOSE);
	v->opt.print_limit = (unsigned)option_int(set, OPTION_PRINT_LIMIT);
	if (rc)
		cli_view_close(v);
	return rc;
}

void cli_view_close(struct cli_view *v)
{
	rep_known_free(v->known);
	race_ignore_free(&v->ignore);
	base_arena_free(&v->arena);
}

int cli_view_code(const struct cli_view *v, const struct option_set *set,
		  const struct race_results *r, int otherwise)
{
	bool is_partial = option_flag(set, OPTION_FAIL_PARTIAL);
	bool is_unchecked = option_flag(set, OPTION_FAIL_UNCHECKED) || is_partial;
	int code = (int)option_int(set, OPTION_ERROR_EXITCODE);

	if (code && rep_exit_races(r, &v->opt))
		return code;
	if (is_unchecked && rep_get_verdict(r, &v->opt) == REP_VERDICT_NOTHING) {
		base_say("error: --fail-%s: nothing was checked (see the report)",
			 option_flag(set, OPTION_FAIL_UNCHECKED) ? "unchecked" : "partial");
		return BASE_EXIT_UNCHECKED;
	}
	if (is_partial && race_completeness(r) != RACE_COMPLETE) {
		base_say("error: --fail-partial: not all of the run was checked (see the report)");
		return BASE_EXIT_PARTIAL;
	}
	return otherwise;
}

int cli_view_print(const struct cli_view *v, const struct race_results *r)
{
	struct base_buf text = {0};

	rep_put(r, &v->opt, &text);
	int rc = cli_print(&text);
	base_buf_free(&text);
	return rc;
}

bool cli_write_report(const struct race_results *r, const struct rep_options *opt, const char *path)
{
	struct base_buf text = {0};
	int err = 0;

	rep_put(r, opt, &text);
	if (path)
		err = rep_file_write(path, text.p, text.n);
	else if (fwrite(text.p, 1, text.n, stderr) != text.n)
		err = EIO;
	base_buf_free(&text);
	if (err)
		base_say("error: the report was not written to %s: %s",
			 path ? path : "standard error", base_file_error(err));
	return !err;
}

bool cli_write_json(const struct race_results *r, const struct option_set *set, enum option_id id,
		    const struct race_ignore *ignore, pid_t pid)
{
	const struct rep_options opt = {.format = REP_JSON, .ignore = ignore};
	const char *pattern = option_text(set, id);
	struct base_arena a = {0};
	const char *why, *path = pattern ? cli_file_name(&a, pattern, pid, &why) : NULL;
	bool is_ok = !path || cli_write_report(r, &opt, path);

	base_arena_free(&a);
	return is_ok;
}
