/*
 * render.c - the front of src/report: one view, one of the renderers, one write.
 *
 * The report is put together in memory and written at once, so that lines of a program that still
 * prints don't come between.
 */
#include "report/internal.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name; /* as --format has it */
	void (*render)(struct base_buf *out, struct rep_view *v);
} formats[REP_FORMATS] = {
	[REP_TEXT] = {"text", rep_text},
	[REP_JSON] = {"json", rep_json},
};

int rep_render(const struct race_results *r, const struct rep_options *opt, FILE *out)
{
	struct base_buf text = {0};
	struct rep_view v;

	rep_view_make(&v, r, opt);
	formats[opt->format].render(&text, &v);
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

enum rep_format rep_format_find(const char *name)
{
	for (unsigned i = 0; i < REP_FORMATS; i++)
		if (!strcmp(formats[i].name, name))
			return (enum rep_format)i;
	return REP_FORMATS;
}
