/*
 * summary.c - one line for each finding, at the end of the report: for grep, and for editors that
 * jump to the places they find in a text.
 *
 *	/home/me/sum.cu:9: load races with /home/me/sum.cu:11: store, in sum(float*)
 */
#include "report/internal.h"

#include <string.h>

/* "sum.cu:9: " or what else is known. */
static const char *place_of(struct rep_view *v, const struct race_finding *f)
{
	const struct rep_frame *fr = rep_shown_frame(v, f);

	if (*fr->file && fr->line)
		return base_printf(&v->arena, "%s:%u: ", fr->file, fr->line);
	if (f->object)
		return base_printf(&v->arena, "%s+0x%llx: ", f->object,
				   (unsigned long long)f->offset);
	return "";
}

static const char *access_of(const struct race_side *s)
{
	if (s->flags & RACE_SIDE_HOST && s->access != RACE_ACCESS_COPY)
		return s->flags & RACE_SIDE_WRITES ? "store of host code" : "load of host code";
	if (s->flags & RACE_SIDE_HOST)
		return s->text;
	return s->access ? rep_access_title(s->access) : "an access";
}

static const char *verb_of(const struct race_finding *f)
{
	switch (f->cls) {
	case RACE_CLASS_POSSIBLE:
	case RACE_CLASS_UNDECIDED:
		return "may race with";
	case RACE_CLASS_VOLATILE:
		return "conflicts with";
	default:
		return "races with";
	}
}

static const char *line_of(struct rep_view *v, const struct race_finding *f)
{
	struct base_arena *a = &v->arena;
	const char *func = rep_name(v, f->func_shown), *in;

	in = *func ? base_printf(a, ", in %s", func) : "";
	if (!f->sides)
		return base_printf(a, "%s%s: %s%s", place_of(v, f),
				   f->transfer && *f->transfer->api ? f->transfer->api
				   : f->access			    ? rep_access_title(f->access)
								    : "access",
				   rep_kind_title(f), in);
	const struct race_finding one = rep_side_place(&f->sides[0]);
	const struct race_finding two = rep_side_place(&f->sides[1]);
	return base_printf(a, "%s%s %s %s%s%s", place_of(v, &one), access_of(&f->sides[0]),
			   verb_of(f), place_of(v, &two), access_of(&f->sides[1]), in);
}

void rep_summary(struct base_buf *out, struct rep_view *v)
{
	for (size_t i = 0; i < v->nshown; i++)
		base_buf_printf(out, "%s\n", line_of(v, &v->entries.v[i].f));
}
