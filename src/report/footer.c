/*
 * footer.c - the basis of the verdict: what was checked, and what was not.
 *
 * Printed under every report. The result is one of four sentences that can't be confused: races
 * found, other findings only, no race seen in N checked accesses, NOTHING WAS CHECKED. Everything
 * that weakens "no race" is listed once: what makes the run partial by complete.c, the rest here.
 */
#include "report/internal.h"

#include <string.h>

static const char *accesses(struct rep_view *v)
{
	const struct race_results *r = v->r;
	bool is_judged = race_is_judged(r);
	uint64_t n = race_kernel_accesses(r);

	if (r->beside && !r->judged_kernels && !(r->checked + r->warp_checked))
		return base_printf(&v->arena, "%s judged beside the GPU",
				   rep_count(&v->arena, n, "access"));
	bool is_least = is_judged ? r->is_judged_inexact : r->is_inexact;

	return base_printf(&v->arena, "%s%s", is_least ? "at least " : "",
			   rep_count(&v->arena, n, is_judged ? "judged access" : "checked access"));
}

struct rep_proven rep_count_proven(const struct race_results *r)
{
	struct rep_proven n = {0};

	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct race_kernel *k = &r->kernels.v[i];
		n.launches += k->proven;
		if (k->launches)
			++*(!k->proven ? &n.none : k->proven < k->launches ? &n.some : &n.all);
	}
	return n;
}

bool rep_is_all_proven(const struct race_results *r)
{
	struct rep_proven n = rep_count_proven(r);

	return n.all && !n.some && !n.none;
}

static const char *result(struct rep_view *v)
{
	struct base_arena *a = &v->arena;
	uint64_t ignored = v->entries.n - v->nshown;

	switch (v->verdict) {
	case REP_VERDICT_RACES:
		if (v->others)
			return base_printf(a, "%s found, and %s",
					   rep_count(a, v->races, "data race"),
					   rep_count(a, v->others, "other finding"));
		return base_printf(a, "%s found", rep_count(a, v->races, "data race"));
	case REP_VERDICT_OTHER:
		if (!v->others)
			return base_printf(a, "%s lost: the table on the GPU was full",
					   rep_count(a, v->r->overflow, "report"));
		return base_printf(a, "no data race, but %s to look at in %s",
				   rep_count(a, v->others, "finding"), accesses(v));
	case REP_VERDICT_CLEAN:
		if (!ignored && rep_is_all_proven(v->r))
			return base_printf(a, "no race seen, and none possible in %s (proven)",
					   rep_count(a, rep_count_proven(v->r).launches, "launch"));
		if (ignored)
			return base_printf(a, "no race seen in %s, besides %s left out",
					   accesses(v), rep_count(a, ignored, "finding"));
		return base_printf(a, "no race seen in %s", accesses(v));
	case REP_VERDICT_NOTHING:
		return base_printf(a, "NOTHING WAS CHECKED: %s", v->reason);
	}
	return "";
}

const char *rep_result_sentence(struct rep_view *v)
{
	return base_printf(&v->arena, "%s%s", result(v), rep_partial_words(v));
}

/* ---- what was checked --------------------------------------------------------- */

#define CHECKED "What was checked: "

/* Each detector counts the launches of its own; where the oracle has judged as many, that was said.
 */
static void launches_put(struct base_buf *out, struct rep_view *v, const char *least)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;
	uint64_t n =
		r->host_launches && r->launches > r->host_launches ? r->host_launches : r->launches;

	if (r->has_oracle && n == r->judged_launches && n == r->host_launches)
		return;
	base_buf_printf(out, "%s%s%s with instrumentation", r->has_oracle ? "  " : CHECKED, least,
			rep_count(a, n, race_counters[RACE_COUNTER_launches].noun));
	if (r->host_launches)
		base_buf_printf(out, " (%s in all)", rep_counter(a, r, RACE_COUNTER_host_launches));
	base_buf_puts(out, "\n");
}

/* What the checks in the code did. */
static void counts_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;
	const char *least = r->is_inexact ? "at least " : "";

	launches_put(out, v, least);
	base_buf_printf(out, "  %s%s %s\n", least, rep_counter(a, r, RACE_COUNTER_checked),
			r->has_history ? "judged by the history of their locations"
			: r->has_looks ? "compared with the watchpoints of other threads"
				       : "read again after a delay");
	if (r->watches)
		base_buf_printf(out, "  %s%s set\n", least,
				rep_counter(a, r, RACE_COUNTER_watches));
	if (r->watches_alone)
		base_buf_puts(out, "  each GPU for itself: what another GPU accesses meets no "
				   "watchpoint\n");
	if (r->has_looks || r->watches)
		base_buf_puts(out,
			      r->has_host
				      ? "  host code: what it accesses of shared memory compared "
					"with them, too\n"
				      : "  what host code accesses meets no watchpoint "
					"(collider cc)\n");
	rep_transfer_checked(out, v);
	if (r->warp_checked)
		base_buf_printf(out, "  %s%s compared within %s warp\n", least,
				rep_counter(a, r, RACE_COUNTER_warp_checked),
				r->warp_checked == 1 ? "its" : "their");
	if (r->has_host)
		base_buf_printf(out, "  %s of host code to shared memory read again\n",
				rep_counter(a, r, RACE_COUNTER_host_checked));
	if (r->is_inexact)
		base_buf_puts(out, "  these counters are LOWER BOUNDS: the program or a context "
				   "ended while kernels were at work, or before\n"
				   "    the counters were read for the last time\n");
	else if (r->launches && v->opt->verbose)
		base_buf_puts(out, "  these counters are exact\n");
}

/* Where the oracle has judged every access, another detector beside it is no basis. */
static void checked_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;

	if (!r->has_oracle || v->opt->verbose)
		counts_put(out, v);
	if (r->sample == RACE_SAMPLE_NEVER)
		base_buf_puts(out, "  sampled: never\n");
	else if (r->sample > 1)
		base_buf_printf(out, "  SAMPLED: one execution in %u per warp was checked\n",
				r->sample);
	if (v->opt->verbose && r->launches && (r->rdelay || r->wdelay) && !r->has_history)
		base_buf_printf(out, "  delays up to %u ns after reads, %u ns after writes\n",
				r->rdelay, r->wdelay);
	if (v->opt->verbose && r->launches && r->dense && !r->has_history)
		base_buf_printf(
			out,
			"  checks thin out: a thread's first %s, then %u of n (--dense=0: all)\n",
			rep_count(a, r->dense, "check"), r->dense);
	rep_holds(out, v);
	if (v->verdict == REP_VERDICT_CLEAN && !r->has_oracle && !rep_is_all_proven(r))
		base_buf_puts(out, "  no proof: only what ran, in the order in which it ran, was "
				   "seen\n");
}

/* So many kernels are named, those with proven launches first (--verbose: all). */
#define NAMED 20u

static void proven_name(struct base_buf *out, struct rep_view *v, const struct race_kernel *k)
{
	struct base_arena *a = &v->arena;
	const char *launches = rep_count(a, k->launches, "launch");

	if (k->proven)
		base_buf_printf(out, "    %s: %s of %s proven\n", rep_name(v, k->name_shown),
				rep_number(a, k->proven), launches);
	else
		base_buf_printf(out, "    %s: %s checked\n", rep_name(v, k->name_shown), launches);
}

/* Launches that were left out, as the kernel was clean so far. */
static void sampled_put(struct base_buf *out, struct rep_view *v)
{
	for (size_t i = 0; i < v->r->kernels.n; i++) {
		const struct race_kernel *k = &v->r->kernels.v[i];
		if (k->sampled)
			base_buf_printf(
				out,
				"  %s: clean so far, so later launches were SAMPLED: %s of %s not "
				"checked (--dense=0: all are)\n",
				rep_name(v, k->name_shown), rep_number(&v->arena, k->sampled),
				rep_count(&v->arena, k->launches, "launch"));
	}
}

static void proven_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;
	struct rep_proven n = rep_count_proven(r);
	uint64_t kernels = n.all + n.some + n.none, named = 0;

	if (!n.launches)
		return;
	base_buf_printf(
		out,
		"  %s: %s proven for these launches (every schedule), %s checked, %s partial\n",
		rep_count(a, kernels, "kernel"), rep_number(a, n.all), rep_number(a, n.none),
		rep_number(a, n.some));
	for (size_t i = 0; i < 2 * r->kernels.n; i++) {
		const struct race_kernel *k = &r->kernels.v[i % r->kernels.n];
		bool is_turn = k->launches && !k->proven == (i >= r->kernels.n);
		if (is_turn && (named < NAMED || v->opt->verbose)) {
			proven_name(out, v, k);
			named++;
		}
	}
	if (named < kernels)
		base_buf_printf(out, "    %s more (--verbose)\n", rep_number(a, kernels - named));
	base_buf_puts(out,
		      r->has_oracle
			      ? "    each of them is one operation to other launches, copies "
				"and the host, with the bytes that it accesses\n"
			      : "    nothing else could access their memory while these ran\n");
}

/* The basis of the oracle's verdict. */
static void judged_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;

	base_buf_printf(out, CHECKED "%s, %s%s by %s, %s, judged by the PTX memory model\n",
			rep_counter(a, r, RACE_COUNTER_judged_launches),
			r->is_judged_inexact ? "at least " : "",
			rep_counter(a, r, RACE_COUNTER_judged), rep_count(a, r->actors, "thread"),
			r->actors == 1 ? "copy or operation" : "copies and operations");
	proven_put(out, v);
	if (v->opt->verbose)
		base_buf_printf(out, "  shadow: %s for %s, clocks: %s\n",
				rep_counter(a, r, RACE_COUNTER_shadow_bytes),
				rep_counter(a, r, RACE_COUNTER_shadow_words),
				rep_counter(a, r, RACE_COUNTER_clock_bytes));
	if (r->is_judged_inexact)
		base_buf_puts(out, "  the program ended while kernels or copies were at work: "
				   "what they had done until then is judged\n");
	if (r->is_sc_execution)
		base_buf_puts(out, "  fence.sc: ordered as they ran (--oracle=execution)\n");
	else if (v->opt->verbose)
		base_buf_puts(out, "  fence.sc: ordered where the program forces it\n");
	if (r->is_host_seen && (r->host_accesses || v->opt->verbose))
		base_buf_printf(out, "  %s of them %s\n", rep_number(a, r->host_accesses),
				r->host_accesses == 1 ? "is a load or store of host code"
						      : "are loads and stores of host code");
	/* A thread's own memory can't race. */
	if (!r->is_host_seen || r->is_host_unseen)
		base_buf_puts(out, "  not seen: loads and stores of host code\n");
	if (r->host_registered)
		base_buf_printf(
			out,
			"  NOT seen: host code in %s bytes of memory that the program "
			"registered (cudaHostRegister,\n    %s call%s); from the first on none "
			"of its loads and stores was judged\n",
			rep_number(a, r->host_registered_bytes), rep_number(a, r->host_registered),
			r->host_registered == 1 ? "" : "s");
	if (!r->launches)
		rep_holds(out, v);
	if (v->verdict == REP_VERDICT_CLEAN && rep_is_all_proven(r))
		base_buf_puts(out, "  other launches, of another input, may race\n");
	else if (v->verdict == REP_VERDICT_CLEAN)
		base_buf_puts(out,
			      "  no proof: another input or another way through the program may "
			      "race\n");
}

/* Sum of the instructions skipped for a reason that hides no race. */
static uint64_t skip_sum(const struct race_results *r, enum race_unchecked_why why)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->skips.n; i++)
		n += r->skips.v[i].why == why ? r->skips.v[i].count : 0;
	return n;
}

/* So many kernels with proven accesses are named (--verbose: all). */
#define PROVEN_NAMED 4u

/* " (reduce: 12, scan: 30)": which kernels' instructions, where that is known. */
static void skip_names_put(struct base_buf *out, struct rep_view *v, enum race_unchecked_why why)
{
	const char *head = " (";
	size_t more = 0, named = 0;

	for (size_t i = 0; i < v->r->skips.n; i++) {
		const struct race_skip *s = &v->r->skips.v[i];
		if (s->why != why || !*s->func)
			continue;
		if (named == PROVEN_NAMED && !v->opt->verbose) {
			more++;
			continue;
		}
		base_buf_printf(out, "%s%s: %s", head, rep_name(v, s->func_shown),
				rep_number(&v->arena, s->count));
		head = ", ";
		named++;
	}
	if (more)
		base_buf_printf(out, ", %s more", rep_count(&v->arena, more, "kernel"));
	base_buf_puts(out, named ? ")" : "");
}

/* Instructions that hide no race, by why; the oracle judges the first ones all the same. */
static void skips_put(struct base_buf *out, struct rep_view *v)
{
	static const struct {
		enum race_unchecked_why why;
		bool is_judged, is_named;
		const char *text;
	} rows[] = {
		{RACE_WHY_PRIVATE, true, false, "to the thread's own memory"},
		{RACE_WHY_DEAD, true, false, "whose value is never used"},
		{RACE_WHY_UNDISTURBED, true, false,
		 "to shared memory, kept apart from all writes by barriers"},
		{RACE_WHY_STRONG, true, false, "volatile, atomic or otherwise strong"},
		{RACE_WHY_MEANT, false, false, "in a collider_data_race() of the program"},
		{RACE_WHY_PROVEN, false, true, "to shared memory, proven race-free (--prune)"},
		{RACE_WHY_PROVEN_WITHIN, false, true,
		 "to shared memory, proven race-free for some launches; in all others they are "
		 "checked"},
		{RACE_WHY_PROVEN_ALONE, false, true,
		 "to global memory, proven race-free within a launch; followed where something "
		 "else may run beside it"},
	};
	const char *head = "No check needed (instructions): ";

	for (size_t i = 0; i < BASE_COUNTOF(rows); i++) {
		uint64_t n = skip_sum(v->r, rows[i].why);
		if (!n || (rows[i].is_judged && v->r->has_oracle && !v->opt->verbose))
			continue;
		base_buf_printf(out, "%s%s %s", head, rep_number(&v->arena, n), rows[i].text);
		if (rows[i].is_named)
			skip_names_put(out, v, rows[i].why);
		base_buf_puts(out, "\n");
		head = "  ";
	}
}

/* One line of the "NOT checked" list; the first one brings the heading. What makes the run partial
 * is said there (complete.c); this is what a detector leaves out by its nature, and modules that no
 * launch used. */
static void unchecked_line(struct base_buf *out, bool *has_head, const char *text)
{
	if (!*has_head)
		base_buf_puts(out, "NOT checked:\n");
	*has_head = true;
	base_buf_printf(out, "  %s\n", text);
}

static void unchecked_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;
	bool has_head = false;

	if (r->watch_busy)
		unchecked_line(out, &has_head,
			       base_printf(a,
					   "%s not set, since their place in the table was taken",
					   rep_counter(a, r, RACE_COUNTER_watch_busy)));
	for (size_t i = 0; i < r->plain.n && !r->has_oracle; i++)
		unchecked_line(out, &has_head,
			       base_printf(a, "%s: not instrumented", r->plain.v[i]));
	if (r->plain_modules && !r->plain.n && !r->has_oracle)
		unchecked_line(out, &has_head,
			       base_printf(a, "%s without instrumentation",
					   rep_counter(a, r, RACE_COUNTER_plain_modules)));
	for (unsigned why = 0; why < RACE_TRANSFER_SKIPS; why++) {
		const char *text = rep_transfer_unchecked(v, why);
		if (text)
			unchecked_line(out, &has_head, text);
	}
}

/* ---- what was left out ----------------------------------------------------------- */

static void ignored_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_ignore *ig = v->opt->ignore;
	struct base_arena *a = &v->arena;
	size_t n = v->entries.n - v->nshown;

	if (n)
		base_buf_puts(out, "Left out of this report:\n");
	if (v->ignored[RACE_IGNORED_SUPPRESSED])
		base_buf_printf(out, "  suppressed: %s\n",
				rep_number(a, v->ignored[RACE_IGNORED_SUPPRESSED]));
	if (v->ignored[RACE_IGNORED_SAME_VALUE])
		base_buf_printf(out, "  equal writes (--same-value=ignore): %s\n",
				rep_number(a, v->ignored[RACE_IGNORED_SAME_VALUE]));
	if (v->ignored[RACE_IGNORED_POSSIBLE])
		base_buf_printf(out, "  only possible (--show-possible=yes shows them): %s\n",
				rep_number(a, v->ignored[RACE_IGNORED_POSSIBLE]));
	if (v->ignored[RACE_IGNORED_UNDECIDED])
		base_buf_printf(out, "  undecided (--show-possible shows them): %s\n",
				rep_number(a, v->ignored[RACE_IGNORED_UNDECIDED]));
	if (v->ignored[RACE_IGNORED_ANNOTATED])
		base_buf_printf(out, "  meant, by collider_data_race() in the program: %s\n",
				rep_number(a, v->ignored[RACE_IGNORED_ANNOTATED]));
	if (v->ignored[RACE_IGNORED_KNOWN])
		base_buf_printf(out, "  known from an earlier report (--new-since): %s\n",
				rep_number(a, v->ignored[RACE_IGNORED_KNOWN]));
	for (size_t i = 0; ig && i < ig->rules.n; i++) {
		const struct race_rule *rule = &ig->rules.v[i];
		if (!v->hits[i])
			base_buf_printf(out, "Unused suppression: %s:%u: %s\n", ig->path, rule->at,
					rule->text);
		else if (v->opt->verbose)
			base_buf_printf(out, "Used suppression: %s:%u: %s (sites: %s)\n", ig->path,
					rule->at, rule->text, rep_number(a, v->hits[i]));
	}
}

static void trouble_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;

	if (r->transfers.lost)
		base_buf_printf(out, "Reports LOST: %s about copies of the host, no room\n",
				rep_number(a, r->transfers.lost));
	for (size_t i = 0; i < r->notes.n; i++)
		base_buf_printf(out, "Note: %s\n", r->notes.v[i]);
}

static void beside_put(struct base_buf *out, struct rep_view *v)
{
	struct base_arena *a = &v->arena;

	if (v->r->beside_launches)
		base_buf_printf(
			out,
			"  beside the GPU: %s, of which the blocks below, %s judged by the PTX "
			"memory model\n",
			rep_counter(a, v->r, RACE_COUNTER_beside_launches),
			rep_counter(a, v->r, RACE_COUNTER_beside));
}

void rep_text_footer(struct base_buf *out, struct rep_view *v)
{
	bool is_judged_only = v->r->has_oracle && v->r->sample == RACE_SAMPLE_NEVER;

	if (v->r->has_oracle)
		judged_put(out, v);
	if ((v->verdict != REP_VERDICT_NOTHING || v->r->launches) && !is_judged_only &&
	    (!v->r->has_oracle || v->r->launches))
		checked_put(out, v);
	if (!v->r->has_oracle)
		proven_put(out, v);
	sampled_put(out, v);
	beside_put(out, v);
	if (!is_judged_only) {
		skips_put(out, v);
		unchecked_put(out, v);
	}
	rep_completeness(out, v);
	ignored_put(out, v);
	trouble_put(out, v);
}
