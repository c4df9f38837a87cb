/*
 * complete.c - the words of the completeness verdict (race/file/gap.c).
 *
 * One line in the basis of every report, a line for each gap below it, and the gaps in short after
 * the result, so that a run of which a part was not checked never ends with "no race seen" alone.
 */
#include "report/internal.h"

#include <stdlib.h>
#include <string.h>

#define LAST_LINE 3u /* gaps that it names */

static const char *const names[] = {
	[RACE_COMPLETE] = "complete", [RACE_PARTIAL] = "partial", [RACE_NOTHING] = "nothing"};

const char *rep_completeness_name(unsigned completeness)
{
	return names[completeness];
}

static const struct race_gap_row *row_of(const struct race_gap *g)
{
	return &race_gap_rows[g->why];
}

/* "3 of 12 launches"; "" if nothing was counted. */
static const char *gap_count(struct base_arena *a, const struct race_gap *g)
{
	const char *noun = row_of(g)->noun;

	if (!g->count || !*noun)
		return "";
	if (g->of > 1)
		return base_printf(a, "%s of %s", rep_number(a, g->count),
				   rep_count(a, g->of, noun));
	return rep_count(a, g->count, noun);
}

const char *rep_gap_text(struct rep_view *v, const struct race_gap *g)
{
	struct base_arena *a = &v->arena;
	const char *kernel =
		*g->kernel ? base_printf(a, "kernel %s", rep_name(v, g->kernel_shown)) : "";
	const char *count = gap_count(a, g);
	const char *what = *g->what ? g->what : row_of(g)->text;

	bool has_lead = row_of(g)->is_last && *g->what; /* "GPU code could not be loaded: ..." */

	const char *judged = g->judged_of ? base_printf(a, " (beside the GPU %s of %s were judged)",
							rep_number(a, g->judged),
							rep_count(a, g->judged_of, "block"))
					  : "";

	return base_printf(a, "%s%s%s%s%s%s%s%s", kernel, *kernel && *count ? ", " : "", count,
			   *kernel || *count ? ": " : "", has_lead ? row_of(g)->text : "",
			   has_lead ? ": " : "", what, judged);
}

/* "kernel scan(int*) refused", "--kernel-name=scam matched nothing" */
static const char *gap_short(struct rep_view *v, const struct race_gap *g)
{
	struct base_arena *a = &v->arena;
	const char *name = rep_name(v, g->kernel_shown), *count = gap_count(a, g);
	const char *word = row_of(g)->word;
	bool is_of_launches = !strcmp(row_of(g)->noun, "launch");
	const char *counted = base_printf(a, "%s%s%s", count, *count && *word ? " " : "", word);

	if (*g->kernel)
		return *count && !is_of_launches ? base_printf(a, "kernel %s: %s", name, counted)
						 : base_printf(a, "kernel %s %s", name, word);
	if (g->why == RACE_GAP_NOT_LOADED)
		return base_printf(a, "GPU code %s", row_of(g)->word);
	if (g->why == RACE_GAP_LIBRARY)
		return base_printf(a, "%s %s", g->what, word);
	if (g->why == RACE_GAP_STOPPED || g->why == RACE_GAP_UNMATCHED)
		return *g->what ? g->what : row_of(g)->text;
	/* A counter has its words in `what`. */
	return *count || !*row_of(g)->noun ? counted : *g->what ? g->what : row_of(g)->text;
}

/* What the last line adds: the gaps that it always names, or all; "" if there are none. */
static const char *in_short(struct rep_view *v, bool is_all)
{
	const char *text = "";
	size_t n = 0, left = 0;

	for (size_t i = 0; i < v->ngaps; i++) {
		const struct race_gap *g = v->gaps[i];
		if (!is_all && !row_of(g)->is_last)
			continue;
		const char *one = gap_short(v, g);
		if (strstr(text, one))
			continue;
		if (n == LAST_LINE) {
			left++;
			continue;
		}
		text = base_printf(&v->arena, "%s%s%s", text, n++ ? ", " : "", one);
	}
	return left ? base_printf(&v->arena, "%s and %zu more", text, left) : text;
}

const char *rep_partial_words(struct rep_view *v)
{
	const char *text =
		v->completeness != RACE_PARTIAL ? "" : in_short(v, v->verdict == REP_VERDICT_CLEAN);

	return *text ? base_printf(&v->arena, "; PARTIAL: %s", text) : "";
}

const char *rep_nothing_gap(struct rep_view *v)
{
	for (size_t i = 0; i < v->ngaps; i++)
		/* What stopped it is above and below this line. */
		if (row_of(v->gaps[i])->is_last)
			return v->gaps[i]->why == RACE_GAP_STOPPED ? gap_short(v, v->gaps[i])
								   : rep_gap_text(v, v->gaps[i]);
	for (size_t i = 0; i < v->ngaps; i++)
		if (v->gaps[i]->why == RACE_GAP_CUT_OFF || v->gaps[i]->why == RACE_GAP_BUDGET)
			return rep_gap_text(v, v->gaps[i]);
	return NULL;
}

static bool has_sampled(const struct race_results *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		if (r->kernels.v[i].sampled)
			return true;
	return false;
}

/* Do collide's checks say alone what was found, and may some have been left out as they thin out?
 * Each thread's first `dense` are all made (but for late warps of very large grids). */
static bool has_thinned(const struct race_results *r)
{
	return !r->has_oracle && !r->has_history && !r->has_looks && r->dense &&
	       r->checked > r->dense;
}

void rep_completeness(struct base_buf *out, struct rep_view *v)
{
	static const char *const texts[] = {
		[RACE_COMPLETE] = "Complete: every access of the kernels that ran was checked",
		[RACE_PARTIAL] = "PARTIAL: not all of the run was checked:",
		[RACE_NOTHING] = "NOTHING was checked of what kernels did"};

	bool is_proven = v->completeness == RACE_COMPLETE && rep_is_all_proven(v->r);

	if (is_proven && v->verdict == REP_VERDICT_CLEAN)
		base_buf_puts(out, "Complete (proven): no schedule of the kernels' launches has a "
				   "race\n");
	else if (is_proven)
		base_buf_puts(out, "Complete: each launch is proven by itself, and judged with all "
				   "others\n");
	else if (v->completeness == RACE_COMPLETE && has_sampled(v->r))
		base_buf_puts(out,
			      "Complete but for kernels whose first launches were clean: of the "
			      "later ones one in 16 was checked\n");
	else if (v->completeness == RACE_COMPLETE && has_thinned(v->r))
		base_buf_puts(out, "Complete: every access of the kernels that ran was checked, in "
				   "long loops and repeated launches ever more rarely\n");
	else if (v->completeness == RACE_NOTHING && v->ngaps)
		base_buf_printf(out, "%s:\n", texts[RACE_NOTHING]);
	else
		base_buf_printf(out, "%s\n", texts[v->completeness]);
	for (size_t i = 0; i < v->ngaps; i++)
		base_buf_printf(out, "  %s\n", rep_gap_text(v, v->gaps[i]));
}

/* ---- the view -------------------------------------------------------------------------------- */

static int by_text(const void *pa, const void *pb)
{
	const struct race_gap *a = *(const struct race_gap *const *)pa;
	const struct race_gap *b = *(const struct race_gap *const *)pb;
	int c = strcmp(a->kernel_shown, b->kernel_shown);

	return c ? c : strcmp(a->what, b->what);
}

void rep_gaps_sort(struct rep_view *v)
{
	const struct race_results *r = v->r;

	v->completeness = race_completeness(r);
	v->gaps = BASE_NEWN(&v->arena, const struct race_gap *, r->gaps.n + 1);
	for (unsigned why = 1; why < RACE_GAPS; why++) {
		size_t from = v->ngaps;

		for (size_t i = 0; i < r->gaps.n; i++)
			if (r->gaps.v[i].why == why)
				v->gaps[v->ngaps++] = &r->gaps.v[i];
		/* They come in the order of hashes, as findings do (group.c). */
		if (why == RACE_GAP_UNDECIDED && v->ngaps > from)
			qsort(v->gaps + from, v->ngaps - from, sizeof(*v->gaps), by_text);
	}
}
