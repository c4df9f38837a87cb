/*
 * source.c - shows a line of source, with its neighbours and a caret.
 *
 * The path is tried as in the site table, then below the folder that the user gave. Only regular
 * files up to 32 MiB are read: the name comes from the program. The source may be newer than the
 * program; the line is shown all the same; the reader will notice if it doesn't fit.
 */
#include "report/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE_MAX  ((off_t)32 << 20)
#define SOURCE_COLS 110u
#define TAB	    4u

static bool source_open(const char *path, char **text, size_t *n)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SOURCE_MAX &&
	       base_read_file(path, text, n) == 0;
}

bool rep_source_read(const struct rep_options *opt, const char *file, char **text, size_t *n)
{
	struct base_arena a = {0};
	bool is_found = source_open(file, text, n);

	if (!is_found && opt->source_prefix) {
		const char *base = strrchr(file, '/');
		is_found = source_open(base_printf(&a, "%s/%s", opt->source_prefix, file), text, n);
		if (!is_found && base)
			is_found = source_open(
				base_printf(&a, "%s/%s", opt->source_prefix, base + 1), text, n);
	}
	base_arena_free(&a);
	return is_found;
}

/* Prints one line with tabs made spaces; returns the screen column of byte `col` (from 1). */
static unsigned line_put(struct base_buf *out, const char *s, size_t n, uint32_t col)
{
	unsigned at = 0, caret = 0;

	for (size_t i = 0; i < n && at < SOURCE_COLS; i++) {
		unsigned char c = (unsigned char)s[i];
		if (i + 1 == col)
			caret = at;
		if (c == '\t') {
			unsigned fill = TAB - at % TAB;
			base_buf_printf(out, "%*s", (int)fill, "");
			at += fill;
			continue;
		}
		base_buf_put(out, c < 0x20 || c == 0x7f ? " " : s + i, 1);
		/* Bytes inside a UTF-8 character take no column of their own. */
		at += (c & 0xc0) != 0x80;
	}
	base_buf_puts(out, "\n");
	return caret;
}

void rep_source(struct base_buf *out, const struct rep_options *opt, const char *file,
		uint32_t line, uint32_t col, enum rep_source_form form, const char *indent)
{
	uint32_t around = form == REP_SOURCE_AROUND;
	char *text;
	size_t n;

	if (!line || !*file || opt->no_source || !rep_source_read(opt, file, &text, &n))
		return;
	const char *p = text, *end = text + n;
	for (uint32_t at = 1; p < end && at <= (uint64_t)line + around; at++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl ? nl : end) - p);
		const char *raw = p;
		p = nl ? nl + 1 : end;
		if (at + around < line)
			continue;
		const char *clean = raw;
		struct base_arena a = {0};
		/* race_text keeps bytes in their places but turns tabs into single spaces. */
		if (!memchr(raw, '\t', len))
			clean = race_text(&a, raw, len);
		base_buf_printf(out, "%s%6u | ", indent, at);
		unsigned caret = line_put(out, clean, strnlen(clean, len), at == line ? col : 0);
		if (at == line && col && col <= len && form != REP_SOURCE_BARE)
			base_buf_printf(out, "%s       | %*s^\n", indent, (int)caret, "");
		base_arena_free(&a);
	}
	free(text);
}
