/*
 * frames.c - the chain of inlined calls of an access, as its reader needs it.
 *
 * An access in a template library comes with tens of frames and names of up to two thousand
 * characters, of which the reader's own line is the one that counts. Library frames are those in
 * headers below folders with known names. The first frame that is not a library's is shown with its
 * source; runs of library frames become a line that counts them; names are shortened
 * (race/names/short.c). --full-frames shows everything as it is.
 *
 * Misses: a library that is not in the table (its frames are shown like the program's own).
 */
#include "report/internal.h"

#include <ctype.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------- */

const char *rep_name(struct rep_view *v, const char *name)
{
	return v->opt->full_frames ? name : race_short_name(&v->arena, name);
}

/* ---- chains ------------------------------------------------------------------------- */

struct rep_frame *rep_chain(struct base_arena *a, const struct race_finding *f)
{
	struct rep_frame *chain = BASE_NEWN(a, struct rep_frame, f->ninlined + 1);

	for (size_t i = 0; i <= f->ninlined; i++) {
		const struct race_inlined *in = i ? &f->inlined[i - 1] : NULL;
		chain[i].file = in ? in->file : f->file;
		chain[i].line = in ? in->line : f->line;
		chain[i].col = in ? in->col : f->col;
		chain[i].func = i < f->ninlined ? f->inlined[i].func_shown : f->func_shown;
		chain[i].library = race_library(chain[i].file);
	}
	return chain;
}

size_t rep_own_frame(const struct rep_frame *chain, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (chain[i].line && !chain[i].library)
			return i;
	return 0;
}

/* "CUB and Thrust" */
static const char *libraries_of(struct base_arena *a, const struct rep_frame *chain, size_t n)
{
	const char *text = "";

	for (size_t i = 0; i < n; i++) {
		const char *name = chain[i].library;
		bool is_new = true;
		for (size_t k = 0; k < i; k++)
			is_new = is_new && strcmp(chain[k].library, name);
		if (is_new)
			text = *text ? base_printf(a, "%s and %s", text, name) : name;
	}
	return text;
}

const char *rep_fold(struct rep_view *v, const struct rep_frame *chain, size_t n)
{
	struct base_arena *a = &v->arena;

	return base_printf(a, "%zu frame%s of %s", n, n == 1 ? "" : "s", libraries_of(a, chain, n));
}
