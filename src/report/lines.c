/*
 * lines.c - a line for each finding: for editors and grep (short), and for GitHub's checks.
 *
 * short is what compilers print, "file:line:col: error: text", so that an editor jumps to the
 * place. github is a workflow command, which GitHub shows beside the line of a change; it has its
 * own escapes. Ignored findings are left out; short has one line for what reads alike, as a race of
 * one block's threads and of different blocks does, with the gravest level. Its last line says what
 * was checked, after "collider: ", so that silence never means that all is well.
 */
#include "report/form.h"

#include <string.h>

static const char *const levels[] = {
	[REP_FORM_ERROR] = "error", [REP_FORM_WARNING] = "warning", [REP_FORM_NOTE] = "note"};

static bool reads_alike(const struct rep_form_item *a, const struct rep_form_item *b)
{
	return a->side[0].line == b->side[0].line && a->side[0].col == b->side[0].col &&
	       !strcmp(a->line, b->line) && !strcmp(a->side[0].file, b->side[0].file);
}

/* Does the line of another item, which is shown, say all that the line of item n says? */
static bool is_said(const struct rep_form *f, size_t n)
{
	const struct rep_form_item *it = &f->items.v[n];

	for (size_t i = 0; i < f->items.n; i++) {
		const struct rep_form_item *o = &f->items.v[i];
		bool is_graver = o->level < it->level || (o->level == it->level && i < n);
		if (is_graver && !*o->ignored && reads_alike(o, it))
			return true;
	}
	return false;
}

void rep_short(struct base_buf *out, struct rep_form *f)
{
	for (size_t i = 0; i < f->items.n; i++) {
		const struct rep_form_item *it = &f->items.v[i];
		const char *place = rep_form_place(&f->arena, &it->side[0], true);
		if (!*it->ignored && !is_said(f, i))
			base_buf_printf(out, "%s: %s: %s\n", *place ? place : "unknown place",
					levels[it->level], it->line);
	}
	base_buf_printf(out, "collider: %s\n", f->result);
}

/* A workflow command ends at a line's end, and its properties at a comma or colon. */
static void escaped(struct base_buf *out, const char *s, const char *also)
{
	for (; *s; s++) {
		if (*s == '%' || *s == '\n' || *s == '\r' || strchr(also, *s))
			base_buf_printf(out, "%%%02X", (unsigned char)*s);
		else
			base_buf_put(out, s, 1);
	}
}

static void command_put(struct base_buf *out, const struct rep_form_item *it)
{
	static const char *const commands[] = {[REP_FORM_ERROR] = "error",
					       [REP_FORM_WARNING] = "warning",
					       [REP_FORM_NOTE] = "notice"};
	const struct rep_form_side *s = &it->side[0];

	base_buf_printf(out, "::%s ", commands[it->level]);
	if (*s->file) {
		base_buf_puts(out, "file=");
		escaped(out, s->file, ":,");
		base_buf_puts(out, ",");
	}
	if (s->line)
		base_buf_printf(out, "line=%u,", s->line);
	if (s->line && s->col)
		base_buf_printf(out, "col=%u,", s->col);
	base_buf_puts(out, "title=");
	escaped(out, it->kind, ":,");
	base_buf_puts(out, "::");
	escaped(out, it->line, "");
	if (*it->help) {
		base_buf_puts(out, "%0A");
		escaped(out, it->help, "");
	}
	base_buf_puts(out, "\n");
}

void rep_github(struct base_buf *out, struct rep_form *f)
{
	for (size_t i = 0; i < f->items.n; i++)
		if (!*f->items.v[i].ignored)
			command_put(out, &f->items.v[i]);
	base_buf_printf(out, "::%s title=Collider::", f->is_complete ? "notice" : "warning");
	escaped(out, f->result, "");
	base_buf_puts(out, "\n");
}
