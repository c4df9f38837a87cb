/*
 * diag.c - diagnostics as data: collected first, printed by the caller that knows where.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

void base_report(struct base_sink *s, enum base_severity sev, const char *file, struct base_span at,
		 const char *fmt, ...)
{
	unsigned limit = s->limit ? s->limit : 20;
	struct base_buf b = {0};
	va_list ap;

	if (sev == BASE_ERROR && s->errors++ >= limit)
		return;
	if (sev == BASE_WARNING)
		s->warnings++;
	va_start(ap, fmt);
	base_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	base_buf_put(&b, "", 1);
	struct base_diag d = {.severity = sev, .at = at, .file = file, .text = b.p};
	base_vec_push(&s->diags, d);
}

void base_sink_print(const struct base_sink *s, FILE *out)
{
	static const char *const word[] = {"note", "warning", "error"};
	unsigned limit = s->limit ? s->limit : 20;

	for (size_t i = 0; i < s->diags.n; i++) {
		const struct base_diag *d = &s->diags.v[i];

		if (d->file && d->at.line)
			fprintf(out, "%s:%u:%u: ", d->file, d->at.line, d->at.col);
		else if (d->file)
			fprintf(out, "%s: ", d->file);
		else
			fprintf(out, "collider: ");
		fprintf(out, "%s: %s\n", word[d->severity], d->text);
	}
	if (s->errors > limit)
		fprintf(out, "collider: %u more errors not shown\n", s->errors - limit);
}

void base_sink_free(struct base_sink *s)
{
	for (size_t i = 0; i < s->diags.n; i++)
		free(s->diags.v[i].text);
	base_vec_free(&s->diags);
	memset(s, 0, sizeof(*s));
}

void base_say(const char *fmt, ...)
{
	struct base_buf b = {0};
	va_list ap;

	base_buf_puts(&b, "collider: ");
	va_start(ap, fmt);
	base_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	base_buf_puts(&b, "\n");
	/* One write, so that lines of parallel builds don't mix. */
	fwrite(b.p, 1, b.n, stderr);
	base_buf_free(&b);
}
