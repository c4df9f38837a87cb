/*
 * gap.c - was all of a run checked? The one place for the rule.
 *
 * A gap is a reason why it wasn't. Some are noted while the program runs (race_shm_gap), others
 * follow from the counters of the run: race_gaps_find. A run without kernel accesses has checked
 * nothing, whatever copies and host code did; one with a gap is partial; all others are complete.
 * What a detector leaves out by its default is no gap: the checks that thin out, a window of a
 * bulk copy, the watchpoints that are drawn.
 *
 * Where the oracle has judged every access, its verdict is the run's, and gaps of the checks in the
 * program's code (UNJUDGED in gaps.def) are dropped.
 */
#include "race/race.h"
#include "race/file/shm_write.h"

#include <inttypes.h>
#include <string.h>

const struct race_gap_row race_gap_rows[RACE_GAPS] = {
#define GAP(id, name, when, place, noun, word, text)                                               \
	[RACE_GAP_##id] = {name, noun, word, text, RACE_GAP_IN_##when, RACE_GAP_IN_##place},
#define RACE_GAP_IN_ALWAYS   false
#define RACE_GAP_IN_UNJUDGED true
#define RACE_GAP_IN_BASIS    false
#define RACE_GAP_IN_LAST     true
#include "race/gaps.def"
};

/* ---- the list -------------------------------------------------------------------------------- */

/* NULL: there is none. */
static struct race_gap *gap_find(const struct race_results *r, enum race_gap_why why,
				 const char *kernel, const char *what)
{
	for (size_t i = 0; i < r->gaps.n; i++) {
		struct race_gap *g = &r->gaps.v[i];
		if (g->why == why && !strcmp(g->kernel, kernel) && !strcmp(g->what, what))
			return g;
	}
	return NULL;
}

static struct race_gap *gap_get(struct race_results *r, enum race_gap_why why, const char *kernel,
				const char *what)
{
	struct race_gap *old = gap_find(r, why, kernel, what);

	if (old)
		return old;
	struct race_gap g = {.why = why,
			     .kernel = race_text(&r->arena, kernel, strlen(kernel)),
			     .what = race_text(&r->arena, what, strlen(what))};
	g.kernel_shown = race_demangle(&r->arena, g.kernel);
	base_vec_push(&r->gaps, g);
	return &r->gaps.v[r->gaps.n - 1];
}

/* The launch of which a judge judged the most. */
static void note_judged(struct race_gap *g, uint64_t blocks, uint64_t of)
{
	if (blocks <= g->judged)
		return;
	g->judged = blocks;
	g->judged_of = of;
}

void race_gap_add(struct race_results *r, const struct race_gap *gap)
{
	struct race_gap *g = gap_get(r, gap->why, gap->kernel, gap->what);

	g->count += gap->count;
	g->of += gap->of;
	note_judged(g, gap->judged, gap->judged_of);
}

bool race_gap_has(const struct race_results *r, const struct race_gap *gap)
{
	return gap_find(r, gap->why, gap->kernel, gap->what) != NULL;
}

/* Of all counters of the results: found again when more is added to these. */
static void gap_put(struct race_results *r, enum race_gap_why why, const char *kernel,
		    const char *what, uint64_t count, uint64_t of)
{
	struct race_gap *g = gap_get(r, why, kernel, what);

	g->count = count;
	g->of = of;
}

static void gap_set(struct race_results *r, enum race_gap_why why, const char *kernel,
		    const char *what, uint64_t count, uint64_t of)
{
	if (count)
		gap_put(r, why, kernel, what, count, of);
}

bool race_gap_read(struct race_results *r, const void *payload, size_t n)
{
	const char *text = (const char *)payload + sizeof(struct race_gap_count);
	struct race_gap_count c;

	if (n < sizeof(c))
		return false;
	memcpy(&c, payload, sizeof(c));
	n -= sizeof(c);
	if (!c.why || c.why >= RACE_GAPS || c.what >= n || text[n - 1] || text[c.what - 1u])
		return false;
	/* Noted before it is known. */
	if (c.why == RACE_GAP_UNMATCHED && !c.count)
		return true;
	struct race_gap g = {.why = (enum race_gap_why)c.why,
			     .count = c.count,
			     .kernel = text,
			     .what = text + c.what};
	race_gap_add(r, &g);
	return true;
}

/* ---- from the counters ----------------------------------------------------------------------- */

/* Has the oracle judged every access? */
static bool is_judged(const struct race_results *r)
{
	return r->has_oracle && !r->is_oracle_full && !r->has_stepped_aside;
}

static uint64_t launches_of(const struct race_results *r, const char *func)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->kernels.n; i++)
		n += strcmp(r->kernels.v[i].name, func) ? 0 : r->kernels.v[i].launches;
	return n;
}

/* Is it in a kernel that didn't run? A function that kernels call is taken for one that ran. */
static bool is_idle(const struct race_results *r, const struct race_skip *s)
{
	return *s->func && !s->is_called && !launches_of(r, s->func);
}

static bool has_gap(const struct race_results *r, enum race_gap_why why)
{
	for (size_t i = 0; i < r->gaps.n; i++)
		if (r->gaps.v[i].why == why)
			return true;
	return false;
}

static void find_left_out(struct race_results *r, const struct race_kernel *k)
{
	static const struct {
		uint32_t bit;
		enum race_gap_why why;
		const char *what;
	} rows[] = {
		{RACE_LEFT_BUDGET, RACE_GAP_BUDGET, "no time was left (--budget)"},
		{RACE_LEFT_BUSY, RACE_GAP_LEFT_OUT, "the GPU was never idle"},
		{RACE_LEFT_COUNT, RACE_GAP_LEFT_OUT, "--launch-count"},
		{RACE_LEFT_SKIP, RACE_GAP_LEFT_OUT, "--launch-skip"},
		{RACE_LEFT_NAME, RACE_GAP_LEFT_OUT, "left out by its name"},
		{RACE_LEFT_PROCESS, RACE_GAP_LEFT_OUT, "launched by a process that is left out"},
		{RACE_LEFT_RANGE, RACE_GAP_LEFT_OUT, "left out by its NVTX range"},
	};

	/* One gap a kernel: the first of the reasons that it had. */
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++) {
		if (!(k->why & rows[i].bit))
			continue;
		gap_set(r, rows[i].why, k->name, rows[i].what, k->started - k->checked, k->started);
		break;
	}
	gap_set(r, RACE_GAP_BUDGET, k->name, "judged in part (--budget)", k->cuts, k->started);
	gap_set(r, RACE_GAP_LAUNCHES, k->name,
		"judged as a whole, where its proof was not enough (--prune=none: each access)",
		k->left, 0);
}

static void find_kernels(struct race_results *r)
{
	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct race_kernel *k = &r->kernels.v[i];
		find_left_out(r, k);
		/* Code that is instrumented as it is loaded has only the checks asked for. */
		if (!k->is_instrumented && !(k->why & RACE_LEFT_NAME))
			gap_set(r, RACE_GAP_NOT_INSTRUMENTED, k->name, "", k->launches, 0);
	}
	if (r->kernels.n)
		return;
	gap_set(r, RACE_GAP_NOT_INSTRUMENTED, "", "", r->host_launches_plain, 0);
}

/* The same of functions that kernels may call, all together. */
static void called_put(struct race_results *r, enum race_gap_why why, const char *what,
		       uint64_t count)
{
	const char *all = base_printf(&r->arena, "%s" RACE_GAP_IN_CALLED,
				      *what ? what : race_gap_rows[why].text);
	struct race_gap *g = gap_get(r, why, "", all);

	g->count = count > g->count ? count : g->count;
}

static void find_skips(struct race_results *r)
{
	for (size_t i = 0; i < r->skips.n; i++) {
		const struct race_skip *s = &r->skips.v[i];
		const char *what = s->what;
		enum race_gap_why why = RACE_GAP_NO_CHECK;
		uint64_t count = s->count;
		if (is_idle(r, s))
			continue;
		switch (s->why) {
		case RACE_WHY_UNKNOWN_OPCODE:
		case RACE_WHY_UNSUPPORTED:
			break;
		case RACE_WHY_KERNEL_AS_IT_WAS:
			why = RACE_GAP_NOT_INSTRUMENTED;
			count = launches_of(r, s->func);
			break;
		case RACE_WHY_NOT_ASKED:
			why = RACE_GAP_NOT_ASKED;
			what = "";
			break;
		case RACE_WHY_PROVEN_GLOBAL:
			why = RACE_GAP_LAUNCHES;
			what = "proven within a launch only (--prune): races with other "
			       "kernels and the host go unseen";
			break;
		case RACE_WHY_ORDERS:
			why = RACE_GAP_OUTSIDE;
			what = base_printf(&r->arena,
					   "%s orders threads in a way that isn't "
					   "followed",
					   s->what);
			break;
		case RACE_WHY_EXITS:
			why = RACE_GAP_OUTSIDE;
			what = s->what;
			break;
		case RACE_WHY_LOOKED_AT:
			why = RACE_GAP_LOOKED_AT;
			what = "";
			break;
		default: /* hides no race */
			continue;
		}
		if (s->is_called) /* by which kernels isn't known */
			called_put(r, why, what, count);
		else
			gap_put(r, why, s->func, what, count, 0);
	}
}

static const char *counted(struct race_results *r, enum race_counter_id id, const char *after)
{
	const char *noun = race_counters[id].noun;
	uint64_t n = race_counter_get(r, id);
	size_t len = strlen(noun);
	char last = len ? noun[len - 1] : 0;
	bool is_copy = n != 1 && last == 'y';

	return base_printf(&r->arena, "%" PRIu64 " %.*s%s %s", n, (int)(len - is_copy), noun,
			   n == 1	 ? ""
			   : is_copy	 ? "ies"
			   : last == 's' ? "es"
					 : "s",
			   after);
}

/* Gaps that are one counter: they have it in their words, which change with it, so old ones are
 * replaced. */
static void find_counters(struct race_results *r)
{
	static const struct {
		enum race_counter_id id;
		enum race_gap_why why;
		const char *text;
	} rows[] = {
		{RACE_COUNTER_threads_aside, RACE_GAP_FORGOTTEN,
		 "stepped aside: no launch number was free, or a number doesn't fit"},
		{RACE_COUNTER_accesses_aside, RACE_GAP_FORGOTTEN,
		 "of memory without history words, or beyond 64 copies of a thread"},
		{RACE_COUNTER_unboxed, RACE_GAP_NO_CHECK,
		 "whose map is not known or whose box reaches over an edge (of those that were "
		 "drawn)"},
		{RACE_COUNTER_watch_lost, RACE_GAP_UNDECIDED,
		 "whose other side had gone on before it was noted"},
		{RACE_COUNTER_overflow, RACE_GAP_FORGOTTEN,
		 "lost: the table on the GPU was full, there are more findings than shown"},
		{RACE_COUNTER_lost_contexts, RACE_GAP_FORGOTTEN, "beyond those that fit"},
		{RACE_COUNTER_damaged, RACE_GAP_FORGOTTEN, "could not be read"},
		{RACE_COUNTER_host_lost, RACE_GAP_FORGOTTEN,
		 "of host code lost: there may be more findings"},
		{RACE_COUNTER_host_ranges_lost, RACE_GAP_FORGOTTEN,
		 "not checked in host code: no more at a time fit"},
		{RACE_COUNTER_dropped, RACE_GAP_FORGOTTEN, "forgotten for want of room"},
		{RACE_COUNTER_raced_out, RACE_GAP_FORGOTTEN,
		 "had raced 256 times: their later races are not reported"},
	};

	for (size_t i = 0; i < BASE_COUNTOF(rows); i++)
		if (race_counter_get(r, rows[i].id))
			gap_put(r, rows[i].why, "", counted(r, rows[i].id, rows[i].text), 0, 0);
}

static void find_stops(struct race_results *r)
{
	for (size_t i = 0; i < r->stops.n; i++)
		gap_set(r, RACE_GAP_STOPPED, r->stops.v[i].func, r->stops.v[i].text, 1, 0);
	if (r->cuda_error && !r->stops.n)
		gap_set(r, RACE_GAP_STOPPED, "",
			base_printf(&r->arena, "CUDA error %u ended a context", r->cuda_error), 1,
			0);
	if (!r->cuda_error && !r->stops.n &&
	    (r->has_oracle ? r->is_judged_inexact
			   : r->is_inexact && (r->host_launches || r->findings.n)))
		gap_set(r, RACE_GAP_STOPPED, "", "the program ended while kernels were at work", 1,
			0);
	gap_set(r, RACE_GAP_NOT_LOADED, "", "",
		r->failed_modules && !has_gap(r, RACE_GAP_NOT_LOADED), 0);
}

static void find_rates(struct race_results *r)
{
	if (!r->launches)
		return;
	if (r->sample == RACE_SAMPLE_NEVER)
		gap_set(r, RACE_GAP_SAMPLED, "", "checking was switched off", !r->has_oracle, 0);
	else if (r->sample > 1)
		gap_set(r, RACE_GAP_SAMPLED, "",
			base_printf(&r->arena, "one execution in %u was checked (--rate)",
				    r->sample),
			1, 0);
	if (r->sites)
		gap_set(r, RACE_GAP_SAMPLED, "",
			base_printf(&r->arena, "%u sites were chosen to be checked (--sample)",
				    r->sites),
			1, 0);
	if (r->watches_alone)
		gap_set(r, RACE_GAP_OUTSIDE, "", "each GPU had watchpoints of its own", 1, 0);
}

/* What the detectors passed over may have been judged beside the GPU, in part. */
static void find_judged(struct race_results *r)
{
	for (size_t i = 0; i < r->gaps.n; i++)
		for (size_t k = 0; k < r->beside_kernels.n; k++) {
			const struct race_judged_kernel *j = &r->beside_kernels.v[k];
			if (!strcmp(j->name, r->gaps.v[i].kernel))
				note_judged(&r->gaps.v[i], j->blocks, j->of);
		}
}

void race_gaps_find(struct race_results *r)
{
	size_t n = 0;

	find_stops(r);
	find_kernels(r);
	find_rates(r);
	find_skips(r);
	find_counters(r);
	if (r->has_oracle && r->is_host_unseen && !has_gap(r, RACE_GAP_HOST))
		gap_set(r, RACE_GAP_HOST, "", "", 1, 0);
	if (r->is_oracle_full || r->has_stepped_aside)
		gap_set(r, RACE_GAP_FORGOTTEN, "", "the oracle was full", 1, 0);
	for (size_t i = 0; i < r->gaps.n; i++)
		if (!is_judged(r) || !race_gap_rows[r->gaps.v[i].why].is_unjudged)
			r->gaps.v[n++] = r->gaps.v[i];
	r->gaps.n = n;
	find_judged(r);
}

void race_gaps_join(struct race_results *r)
{
	if (r->runs > r->empty_runs)
		gap_set(r, RACE_GAP_EMPTY_RUN, "", "", r->empty_runs, r->runs);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

uint64_t race_kernel_accesses(const struct race_results *r)
{
	/* An oracle that stepped aside at once has judged nothing. */
	uint64_t n = race_is_judged(r) ? r->judged_kernels : r->checked + r->warp_checked;

	return n ? n : r->beside;
}

bool race_is_judged(const struct race_results *r)
{
	return r->has_oracle && (r->judged_kernels || !r->checked);
}

static bool has_proven(const struct race_results *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		if (r->kernels.v[i].proven)
			return true;
	return false;
}

enum race_completeness race_completeness(const struct race_results *r)
{
	/* A finding shows that accesses were checked whose count was never read. */
	bool has_checked =
		race_kernel_accesses(r) || (r->is_inexact && r->findings.n) || has_proven(r);

	if (r->is_oracle_full || !has_checked)
		return RACE_NOTHING;
	return r->gaps.n ? RACE_PARTIAL : RACE_COMPLETE;
}
