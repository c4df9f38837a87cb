/*
 * render.c - the front of src/report: one view, one of the renderers, one write.
 *
 * The report is put together in memory and written at once, so that lines of a program that still
 * prints don't come between.
 */
#include "report/form.h"

#include <errno.h>
#include <string.h>

/* Text and JSON lines print a view or proofs as they are; the others the facts of form.h. */
static const struct {
	const char *name; /* as --format has it */
	void (*run)(struct base_buf *out, struct rep_view *v);
	void (*proof)(const struct race_proofs *r, const struct rep_options *opt,
		      struct base_buf *out);
	void (*form)(struct base_buf *out, struct rep_form *f);
} formats[REP_FORMATS] = {
	[REP_TEXT] = {"text", rep_text, rep_proof_text, NULL},
	[REP_JSON] = {"json", rep_json, rep_proof_json, NULL},
	[REP_SHORT] = {"short", NULL, NULL, rep_short},
	[REP_GITHUB] = {"github", NULL, NULL, rep_github},
	[REP_JUNIT] = {"junit", NULL, NULL, rep_junit},
	[REP_SARIF] = {"sarif", NULL, NULL, rep_sarif},
	[REP_HTML] = {"html", NULL, NULL, rep_html},
};

static void run_put(struct base_buf *out, struct rep_view *v, enum rep_format format)
{
	struct rep_form form;

	if (formats[format].run) {
		formats[format].run(out, v);
		return;
	}
	rep_form_of_view(&form, v);
	formats[format].form(out, &form);
	rep_form_free(&form);
}

void rep_proof_render(const struct race_proofs *r, const struct rep_options *opt,
		      struct base_buf *out)
{
	struct rep_form form;

	if (formats[opt->format].proof) {
		formats[opt->format].proof(r, opt, out);
		return;
	}
	rep_form_of_proofs(&form, r, opt);
	formats[opt->format].form(out, &form);
	rep_form_free(&form);
}

void rep_put(const struct race_results *r, const struct rep_options *opt, struct base_buf *out)
{
	struct rep_view v;

	rep_view_make(&v, r, opt);
	run_put(out, &v, opt->format);
	rep_view_free(&v);
}

int rep_render(const struct race_results *r, const struct rep_options *opt, FILE *out)
{
	struct base_buf text = {0};

	rep_put(r, opt, &text);
	errno = 0;
	bool is_ok = fwrite(text.p, 1, text.n, out) == text.n;
	is_ok = fflush(out) == 0 && is_ok;
	base_buf_free(&text);
	return is_ok ? 0 : errno ? errno : EIO;
}

uint64_t rep_count_shown(const struct race_results *r, const struct rep_options *opt)
{
	struct rep_view v;

	rep_view_make(&v, r, opt);
	uint64_t n = v.nshown;
	rep_view_free(&v);
	return n;
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
