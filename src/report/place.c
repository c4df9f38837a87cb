/*
 * place.c - where an access is, in the text report: its line, and the calls around it.
 *
 * The line is the program's own where a library was inlined into it; what lies between is a line
 * that counts the library's frames. Of the calls that were inlined around it two are named, all
 * with --verbose or --full-frames.
 */
#include "report/internal.h"

#include <string.h>

#define CALLS_MAX 2u

const char *rep_place(struct base_arena *a, const char *file, uint32_t line, uint32_t col)
{
	if (!*file)
		return "an unknown place (build with -lineinfo)";
	if (!line)
		return file;
	return col ? base_printf(a, "%s:%u:%u", file, line, col)
		   : base_printf(a, "%s:%u", file, line);
}

static const struct rep_frame *chain_of(struct rep_view *v, const struct race_finding *f,
					size_t *own)
{
	const struct rep_frame *chain = rep_chain(&v->arena, f);

	*own = v->opt->full_frames ? 0 : rep_own_frame(chain, f->ninlined + 1);
	return chain;
}

const struct rep_frame *rep_shown_frame(struct rep_view *v, const struct race_finding *f)
{
	size_t own;
	const struct rep_frame *chain = chain_of(v, f, &own);

	return &chain[own];
}

const char *rep_where(struct rep_view *v, const struct race_finding *f)
{
	const struct rep_frame *fr = rep_shown_frame(v, f);
	struct base_arena *a = &v->arena;
	const char *in = *fr->func ? base_printf(a, " in %s", rep_name(v, fr->func)) : "";

	if (f->object && !*f->file)
		return base_printf(a, "%s+0x%llx (build it with -g)%s", f->object,
				   (unsigned long long)f->offset, in);
	return base_printf(
		a, "%s%s%s", rep_place(a, fr->file, fr->line, fr->col),
		f->is_near ? " (the nearest line: the compiler made the instruction)" : "", in);
}

/* The frames that lead to the access through a library, innermost last. */
static void through_put(struct base_buf *out, struct rep_view *v, const struct rep_frame *chain,
			size_t own, const char *indent)
{
	const struct rep_frame *in = &chain[0];

	base_buf_printf(out, "%s  through %s, to %s in %s\n", indent, rep_fold(v, chain, own),
			rep_place(&v->arena, in->file, in->line, in->col),
			*in->func ? rep_name(v, in->func) : "an unknown function");
}

/* The calls that were inlined around frame `own`; runs of library frames are counted. */
static void callers_put(struct base_buf *out, struct rep_view *v, const struct rep_frame *chain,
			size_t own, size_t n, const char *indent)
{
	size_t nput = 0;

	for (size_t i = own + 1; i < n; i++, nput++) {
		const struct rep_frame *fr = &chain[i];
		size_t run = i;
		if (nput == CALLS_MAX && !v->opt->verbose && !v->opt->full_frames) {
			base_buf_printf(out, "%s  inlined through %s more (--full-frames)\n",
					indent, rep_count(&v->arena, n - i, "call"));
			return;
		}
		while (!v->opt->full_frames && run < n && chain[run].library)
			run++;
		if (run - i > 1) {
			const char *into = chain[run - 1].func;
			base_buf_printf(out, "%s  inlined through %s%s%s\n", indent,
					rep_fold(v, fr, run - i), *into ? " into " : "",
					rep_name(v, into));
			i = run - 1;
			continue;
		}
		base_buf_printf(out, "%s  inlined at %s%s%s\n", indent,
				rep_place(&v->arena, fr->file, fr->line, fr->col),
				*fr->func ? " in " : "", rep_name(v, fr->func));
	}
}

void rep_calls(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
	       const char *indent)
{
	size_t own;
	const struct rep_frame *chain = chain_of(v, f, &own);

	if (own)
		through_put(out, v, chain, own, indent);
	callers_put(out, v, chain, own, f->ninlined + 1, indent);
	if (v->opt->verbose && strcmp(f->func, f->func_shown))
		base_buf_printf(out, "%s  mangled %s\n", indent, f->func);
}

bool rep_is_unsure(const struct race_inlined *inlined, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (inlined[i].is_unsure)
			return true;
	return false;
}

void rep_unsure(struct base_buf *out, bool is_first, bool is_second, const char *indent)
{
	if (is_first || is_second)
		base_buf_printf(
			out,
			"%s  %sthis call or another one of the function: the compiler's lines of "
			"inlined code don't distinguish them\n",
			indent, is_first && is_second ? "both: " : "");
}

struct race_finding rep_side_place(const struct race_side *s)
{
	return (struct race_finding){.func = s->func,
				     .func_shown = s->func_shown,
				     .file = s->file,
				     .line = s->line,
				     .col = s->col,
				     .is_near = s->is_near,
				     .inlined = s->inlined,
				     .ninlined = s->ninlined};
}

const char *rep_line(struct rep_view *v, const struct race_line *l, const char *shown)
{
	const char *func = rep_name(v, shown);

	if (l->line)
		return base_printf(&v->arena, "%s%s%s",
				   rep_place(&v->arena, l->file, l->line, l->col),
				   *func ? " in " : "", func);
	return *func ? base_printf(&v->arena, "in %s (for its line: host code built with -g)", func)
		     : "";
}
