/*
 * suppress.c - collider suppress: rules that leave out what a saved report shows.
 *
 * One rule for each place and kind, with the finding in words above it, so that a reader of the
 * file knows what was left out, and can delete what should have stayed. A rule names the last two
 * parts of the file's path and the line: it holds on machines where the sources lie elsewhere.
 * Where there is no line, it names the kernel. Findings that the report leaves out already get no
 * rule.
 */
#include "cli/cli.h"
#include "cli/view.h"

#include <string.h>

/* The last two parts of a path: "src/tile.cu". */
static const char *path_end(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return path;
	for (slash--; slash > path && *slash != '/'; slash--)
		;
	return *slash == '/' ? slash + 1 : slash;
}

static bool is_written(const struct base_buf *out, const char *rule)
{
	size_t n = strlen(rule);

	for (const char *at = out->p; at && (at = strstr(at, rule)); at += n)
		if ((at == out->p || at[-1] == '\n') && at[n] == '\n')
			return true;
	return false;
}

static void rule_put(struct base_buf *out, struct base_arena *a, const struct race_finding *f)
{
	const char *kind = race_kind_name((unsigned)f->kind);
	const char *rule = *f->file && f->line
				   ? base_printf(a, "%s:%s:%u", kind, path_end(f->file), f->line)
				   : base_printf(a, "%s:^%s$", kind, f->func_shown);

	if (is_written(out, rule))
		return;
	base_buf_printf(out, "\n# %s in %s\n", race_class_name(f->cls), f->func_shown);
	if (f->sides && *f->sides[1].file)
		base_buf_printf(out, "# the other side: %s:%u, in %s\n", f->sides[1].file,
				f->sides[1].line, f->sides[1].func_shown);
	base_buf_printf(out, "%s\n", rule);
}

int cli_suppress(struct option_set *set)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	struct base_buf out = {0};
	struct base_arena a = {0};
	struct cli_view view;
	int rc = 0;

	if (!set->args.n) {
		base_say("error: suppress needs at least one file that collider run --save wrote");
		return BASE_EXIT_USAGE;
	}
	rc = cli_view_open(&view, set, -1);
	if (rc)
		return rc;
	for (size_t i = 0; i < set->args.n && !rc; i++)
		rc = rep_json_read(set->args.v[i], &r, &sink);
	cli_flush(&sink);
	base_buf_puts(&out,
		      "# Rules for collider run --suppressions=FILE, made by collider suppress.\n"
		      "# None of them makes a race safe.\n");
	for (size_t i = 0; i < r.findings.n && !rc; i++) {
		size_t rule;
		if (!race_ignore_test(&view.ignore, &r.findings.v[i], &rule))
			rule_put(&out, &a, &r.findings.v[i]);
	}
	if (!rc)
		rc = cli_print(&out);
	base_buf_free(&out);
	base_arena_free(&a);
	race_results_free(&r);
	cli_view_close(&view);
	return rc;
}
