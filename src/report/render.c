/*
 * render.c - the front of src/report: one view, one of the renderers, one write.
 *
 * The report is put together in memory and written at once, so that lines of a
 * program that still prints don't get between.
 */
#include "report/internal.h"

#include <errno.h>
#include <string.h>

int rep_render(const struct race_results *r, const struct rep_options *opt, FILE *out)
{
	struct base_buf text = {0};
	struct rep_view v;

	rep_view_make(&v, r, opt);
	if (opt->format == REP_JSON)
		rep_json(&text, &v);
	else
		rep_text(&text, &v);
	rep_view_free(&v);
	errno = 0;
	bool is_ok = fwrite(text.p, 1, text.n, out) == text.n;
	is_ok = fflush(out) == 0 && is_ok;
	base_buf_free(&text);
	return is_ok ? 0 : errno ? errno : EIO;
}

uint64_t rep_exit_races(const struct race_results *r, const struct rep_options *opt)
{
	struct rep_view v;

	rep_view_make(&v, r, opt);
	uint64_t n = v.races;
	rep_view_free(&v);
	return n + (r->overflow != 0);
}

enum rep_verdict rep_get_verdict(const struct race_results *r, const struct rep_options *opt)
{
	struct rep_view v;

	rep_view_make(&v, r, opt);
	enum rep_verdict verdict = v.verdict;
	rep_view_free(&v);
	return verdict;
}

bool rep_format_parse(const char *name, enum rep_format *out)
{
	bool is_json = !strcmp(name, "json");

	if (!is_json && strcmp(name, "text"))
		return false;
	*out = is_json ? REP_JSON : REP_TEXT;
	return true;
}
