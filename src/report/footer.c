/*
 * footer.c - the basis of the verdict: what was checked, and what was not.
 *
 * Printed under every report. The result is one of four sentences that can't be confused: races
 * found, other findings only, no race seen in N checked accesses, NOTHING WAS CHECKED. Everything
 * that weakens "no race" is listed: sampling, opcodes without a check, kernels that ran without
 * checks, suppressions, lost reports, counters read too early.
 */
#include "report/internal.h"

#include <string.h>

static const char *accesses(struct rep_view *v)
{
	const struct race_results *r = v->r;
	bool is_judged = race_is_judged(r);
	uint64_t n = race_kernel_accesses(r);
	bool is_least = is_judged ? r->is_judged_inexact : r->is_inexact;

	return base_printf(&v->arena, "%s%s", is_least ? "at least " : "",
			   rep_count(&v->arena, n, is_judged ? "judged access" : "checked access"));
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
	base_buf_printf(out, "  %s%s with instrumentation", least,
			rep_count(a, n, race_counters[RACE_COUNTER_launches].noun));
	if (r->host_launches)
		base_buf_printf(out, " (%s in all)", rep_counter(a, r, RACE_COUNTER_host_launches));
	base_buf_puts(out, "\n");
}

static void checked_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;
	const char *least = r->is_inexact ? "at least " : "";

	if (!r->has_oracle)
		base_buf_puts(out, "What was checked:\n");
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
			"  delays thin out: a thread's first %s, then %u of n (--dense=0: all)\n",
			rep_count(a, r->dense, "check"), r->dense);
	rep_holds(out, v);
	if (v->verdict == REP_VERDICT_CLEAN && !r->has_oracle)
		base_buf_puts(out, "  no proof: only what ran, in the order in which it ran, was "
				   "seen\n");
}

/* The basis of the oracle's verdict. */
static void judged_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;

	base_buf_puts(out, "What was checked:\n");
	base_buf_printf(out, "  %s, %s%s by %s, %s, judged by the PTX memory model\n",
			rep_counter(a, r, RACE_COUNTER_judged_launches),
			r->is_judged_inexact ? "at least " : "",
			rep_counter(a, r, RACE_COUNTER_judged), rep_count(a, r->actors, "thread"),
			r->actors == 1 ? "copy or operation" : "copies and operations");
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
	if (r->is_host_seen)
		base_buf_printf(out, "  %s of them %s\n", rep_number(a, r->host_accesses),
				r->host_accesses == 1 ? "is a load or store of host code"
						      : "are loads and stores of host code");
	base_buf_puts(out, r->is_host_seen && !r->is_host_unseen
				   ? "  not seen: private memory\n"
				   : "  not seen: loads and stores of host code, private memory\n");
	if (r->host_registered)
		base_buf_printf(
			out,
			"  NOT seen: host code in %s bytes of memory that the program "
			"registered (cudaHostRegister,\n    %s call%s); from the first on none "
			"of its loads and stores was judged\n",
			rep_number(a, r->host_registered_bytes), rep_number(a, r->host_registered),
			r->host_registered == 1 ? "" : "s");
	if (r->dropped)
		base_buf_printf(out, "  NOT judged: races with %s that no longer had room in %s\n",
				rep_counter(a, r, RACE_COUNTER_dropped),
				rep_noun(a, r->dropped, "word"));
	if (r->raced_out)
		base_buf_printf(out, "  NOT reported: later races of %s that had raced 256 times\n",
				rep_counter(a, r, RACE_COUNTER_raced_out));
	if (r->is_oracle_full)
		base_buf_puts(out, "  THE ORACLE WAS FULL: a part of the run was NOT judged\n");
	if (!r->launches)
		rep_holds(out, v);
	if (v->verdict == REP_VERDICT_CLEAN)
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

static const char *skip_reason(enum race_unchecked_why why)
{
	switch (why) {
	case RACE_WHY_UNKNOWN_OPCODE:
		return "Collider doesn't know this opcode";
	case RACE_WHY_UNSUPPORTED:
		return "no check for it yet";
	case RACE_WHY_PROVEN_GLOBAL:
		return "proven race-free within a launch; races with other kernels and the host "
		       "go unseen";
	case RACE_WHY_NOT_ASKED:
		return "--variable asks for others";
	default:
		return "unknown reason";
	}
}

static void skips_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct base_arena *a = &v->arena;
	uint64_t private = skip_sum(r, RACE_WHY_PRIVATE), dead = skip_sum(r, RACE_WHY_DEAD);
	uint64_t strong = skip_sum(r, RACE_WHY_STRONG);

	uint64_t proven = skip_sum(r, RACE_WHY_PROVEN);
	uint64_t within = skip_sum(r, RACE_WHY_PROVEN_WITHIN);
	uint64_t alone = skip_sum(r, RACE_WHY_PROVEN_ALONE);
	uint64_t undisturbed = skip_sum(r, RACE_WHY_UNDISTURBED);

	if (undisturbed || private || dead || strong || proven || within || alone)
		base_buf_puts(out, "No check needed (instructions in the program):\n");
	if (private)
		base_buf_printf(out, "  %s to the thread's own memory\n", rep_number(a, private));
	if (dead)
		base_buf_printf(out, "  %s whose value is never used\n", rep_number(a, dead));
	if (undisturbed)
		base_buf_printf(out,
				"  %s to shared memory, kept apart from all writes by barriers\n",
				rep_number(a, undisturbed));
	if (strong)
		base_buf_printf(out, "  %s volatile, atomic or otherwise strong\n",
				rep_number(a, strong));
	if (proven)
		base_buf_printf(out, "  %s to shared memory, proven race-free (--prune)\n",
				rep_number(a, proven));
	if (within)
		base_buf_printf(out,
				"  %s to shared memory, proven race-free for some launches; in all "
				"others they are checked\n",
				rep_number(a, within));
	if (alone)
		base_buf_printf(out,
				"  %s to global memory, proven race-free within a launch; followed "
				"where another kernel runs when the launch begins\n",
				rep_number(a, alone));
}

/* One line of the "NOT checked" list; the first one brings the heading. */
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

	for (size_t i = 0; i < r->skips.n; i++) {
		const struct race_skip *s = &r->skips.v[i];
		const char *text;
		if (s->why == RACE_WHY_PRIVATE || s->why == RACE_WHY_DEAD ||
		    s->why == RACE_WHY_UNDISTURBED || s->why == RACE_WHY_STRONG ||
		    s->why == RACE_WHY_PROVEN || s->why == RACE_WHY_PROVEN_WITHIN ||
		    s->why == RACE_WHY_PROVEN_ALONE)
			continue;
		if (s->why == RACE_WHY_ORDERS)
			text = base_printf(a,
					   "%s orders threads of %s in a way that isn't followed: "
					   "races in it are only possible",
					   s->what, rep_name(v, s->func_shown));
		else if (s->why == RACE_WHY_KERNEL_AS_IT_WAS)
			text = base_printf(a, "function %s runs as it was: %s",
					   rep_name(v, s->func_shown), s->what);
		else
			text = base_printf(a, "%s x %s%s%s: %s", rep_number(a, s->count), s->what,
					   *s->func ? " in " : "", rep_name(v, s->func_shown),
					   skip_reason(s->why));
		unchecked_line(out, &has_head, text);
	}
	if (r->threads_aside)
		unchecked_line(out, &has_head,
			       base_printf(a,
					   "%s stepped aside: no launch number was free, or a "
					   "number doesn't fit",
					   rep_counter(a, r, RACE_COUNTER_threads_aside)));
	if (r->accesses_aside)
		unchecked_line(out, &has_head,
			       base_printf(a, "%s of memory without history words",
					   rep_counter(a, r, RACE_COUNTER_accesses_aside)));
	if (r->watch_busy)
		unchecked_line(out, &has_head,
			       base_printf(a,
					   "%s not set, since their place in the table was taken",
					   rep_counter(a, r, RACE_COUNTER_watch_busy)));
	if (r->watch_lost)
		unchecked_line(out, &has_head,
			       base_printf(a, "%s whose other side had gone on before it was noted",
					   rep_counter(a, r, RACE_COUNTER_watch_lost)));
	if (r->unboxed)
		unchecked_line(
			out, &has_head,
			base_printf(a,
				    "%s (executed): the map is not known, was changed on the "
				    "device, or the box reaches over an edge",
				    rep_counter(a, r, RACE_COUNTER_unboxed)));
	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct race_kernel *k = &r->kernels.v[i];
		if (!k->is_instrumented && k->launches && !r->has_oracle)
			unchecked_line(out, &has_head,
				       base_printf(a, "kernel %s, %s: not instrumented",
						   rep_name(v, k->name_shown),
						   rep_count(a, k->launches, "launch")));
	}
	for (size_t i = 0; i < r->plain.n && !r->has_oracle; i++)
		unchecked_line(out, &has_head,
			       base_printf(a, "%s: not instrumented", r->plain.v[i]));
	if (r->host_launches_plain && !r->kernels.n && !r->has_oracle)
		unchecked_line(out, &has_head,
			       base_printf(a, "%s of kernels without instrumentation",
					   rep_counter(a, r, RACE_COUNTER_host_launches_plain)));
	if (r->plain_modules && !r->plain.n && !r->has_oracle)
		unchecked_line(out, &has_head,
			       base_printf(a, "%s without instrumentation",
					   rep_counter(a, r, RACE_COUNTER_plain_modules)));
	for (unsigned why = 0; why < RACE_TRANSFER_SKIPS; why++) {
		const char *text = rep_transfer_unchecked(v, why);
		if (text)
			unchecked_line(out, &has_head, text);
	}
	if (r->lost_contexts)
		unchecked_line(out, &has_head,
			       base_printf(a, "%s: only %u fit",
					   rep_counter(a, r, RACE_COUNTER_lost_contexts),
					   RACE_REGIONS));
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

	if (r->overflow)
		base_buf_printf(out,
				"Reports LOST: %s, the table on the GPU holds %u places (there are "
				"more findings than shown)\n",
				rep_number(a, r->overflow), RACE_SLOTS);
	if (r->host_lost)
		base_buf_printf(out, "Reports LOST: %s of host code (there may be more findings)\n",
				rep_number(a, r->host_lost));
	if (r->host_ranges_lost)
		base_buf_printf(out, "NOT checked in host code: %s, only %u at a time fit\n",
				rep_counter(a, r, RACE_COUNTER_host_ranges_lost), RACE_HOST_RANGES);
	if (r->transfers.lost)
		base_buf_printf(out, "Reports LOST: %s about copies of the host, no room\n",
				rep_number(a, r->transfers.lost));
	if (r->damaged)
		base_buf_printf(out, "Damaged: %s or %s could not be read\n",
				rep_count(a, r->damaged, "record"),
				rep_noun(a, r->damaged, "table"));
	if (r->cuda_error)
		base_buf_printf(out, "A CUDA context died with CUDA error %u\n", r->cuda_error);
	for (size_t i = 0; i < r->notes.n; i++)
		base_buf_printf(out, "Note: %s\n", r->notes.v[i]);
}

void rep_text_footer(struct base_buf *out, struct rep_view *v)
{
	bool is_judged_only = v->r->has_oracle && v->r->sample == RACE_SAMPLE_NEVER;

	if (v->r->has_oracle)
		judged_put(out, v);
	if ((v->verdict != REP_VERDICT_NOTHING || v->r->launches) && !is_judged_only &&
	    (!v->r->has_oracle || v->r->launches))
		checked_put(out, v);
	if (!is_judged_only) {
		skips_put(out, v);
		unchecked_put(out, v);
	}
	rep_completeness(out, v);
	ignored_put(out, v);
	trouble_put(out, v);
}
