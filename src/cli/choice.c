/*
 * choice.c - which launches collider run checks: from the options to the shared file, and from what
 * the run has counted to notes of the report.
 */
#include "cli/cli.h"
#include "race/race.h"
#include "race/shuffle/place.h"

#include <inttypes.h>

static int check_places(const struct option_set *set, enum option_id id)
{
	const char *text = option_text(set, id), *wrong;
	struct base_arena a = {0};
	struct race_places places;
	bool is_ok = !text || race_places_read(&a, text, id == OPTION_DELAY, &places, &wrong);

	if (!is_ok)
		base_say("error: --%s: found '%s', expected BLOCK[.THREAD]%s", option_rows[id].name,
			 wrong, id == OPTION_DELAY ? "[@LINE]" : "");
	base_arena_free(&a);
	return is_ok ? 0 : BASE_EXIT_USAGE;
}

int cli_choice_check(const struct option_set *set)
{
	static const struct {
		enum option_id id;
		const char *name;
	} lists[] = {{OPTION_KERNEL_NAME, "kernel-name"},
		     {OPTION_KERNEL_NAME_EXCLUDE, "kernel-name-exclude"},
		     {OPTION_VARIABLE, "variable"},
		     {OPTION_TARGET_PROCESSES_FILTER, "target-processes-filter"},
		     {OPTION_NVTX_INCLUDE, "nvtx-include"},
		     {OPTION_NVTX_EXCLUDE, "nvtx-exclude"}};
	static const enum option_id places[] = {OPTION_DELAY, OPTION_ONLY};
	char why[512];

	for (size_t i = 0; i < BASE_COUNTOF(lists); i++) {
		const char *list = option_text(set, lists[i].id);
		if (list && race_name_check(list, why, sizeof(why))) {
			base_say("error: --%s: %s", lists[i].name, why);
			return BASE_EXIT_USAGE;
		}
	}
	for (size_t i = 0; i < BASE_COUNTOF(places); i++)
		if (check_places(set, places[i]))
			return BASE_EXIT_USAGE;
	return 0;
}

struct race_choice cli_choice_make(const struct option_set *set)
{
	uint64_t count = (uint64_t)option_int(set, OPTION_LAUNCH_COUNT);
	uint64_t ms = (uint64_t)option_int(set, OPTION_BUDGET);
	struct race_choice c = {
		.skip = (uint64_t)option_int(set, OPTION_LAUNCH_SKIP),
		.count = count ? count : UINT64_MAX,
		.budget_ns = ms ? ms * 1000000 : UINT64_MAX,
		.root = option_is(set, OPTION_TARGET_PROCESSES, "application-only")};

	c.is_on = c.skip || count || ms || c.root || option_text(set, OPTION_KERNEL_NAME) ||
		  option_text(set, OPTION_KERNEL_NAME_EXCLUDE) ||
		  option_text(set, OPTION_TARGET_PROCESSES_FILTER) ||
		  option_text(set, OPTION_NVTX_INCLUDE) || option_text(set, OPTION_NVTX_EXCLUDE);
	return c;
}

/* "launch 1", "launches 1 to 12", "13 launches, from the 1st to number 40". */
static void say_which(const struct race_kernel *k, struct base_buf *out)
{
	if (k->checked == 1)
		base_buf_printf(out, "launch %" PRIu64, k->first);
	else if (k->last - k->first + 1 == k->checked)
		base_buf_printf(out, "launches %" PRIu64 " to %" PRIu64, k->first, k->last);
	else
		base_buf_printf(out, "%" PRIu64 " launches, numbers %" PRIu64 " to %" PRIu64,
				k->checked, k->first, k->last);
}

/* What --budget has cut short. */
static void note_cut(struct race_results *r, const struct race_kernel *k)
{
	struct base_buf b = {0};

	base_buf_printf(&b, "%s: %" PRIu32 " launch%s judged in part (--budget)", k->name_shown,
			k->cuts, k->cuts == 1 ? "" : "es");
	base_buf_printf(&b, ", the first until %" PRIu64 " of its %" PRIu64 " block%s had begun",
			k->cut_blocks, k->cut_of, k->cut_of == 1 ? "" : "s");
	race_note_add(r, b.p, b.n);
	base_buf_free(&b);
}

/* ---- options that matched nothing ------------------------------------------------------------ */

/* Where no kernel was launched, that is the reason why nothing was checked. */
static bool has_launches(const struct race_results *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		if (r->kernels.v[i].launches)
			return true;
	return false;
}

static void note_unmatched(struct race_results *r, const char *what)
{
	struct race_gap g = {.why = RACE_GAP_UNMATCHED, .kernel = "", .what = what, .count = 1};

	race_gap_add(r, &g);
}

/* Each pattern that no kernel which was launched matches. */
static void find_unmatched(struct race_results *r, const char *option, const char *list)
{
	const char *pattern;

	while ((pattern = race_name_next(&r->arena, &list)) != NULL) {
		bool is = false;
		for (size_t i = 0; i < r->kernels.n && !is; i++)
			is = r->kernels.v[i].launches &&
			     race_name_is_listed(pattern, r->kernels.v[i].name);
		if (!is)
			note_unmatched(r, base_printf(&r->arena,
						      "--%s=%s matched no kernel that was launched",
						      option, pattern));
	}
}

static void find_unmatched_variables(struct race_results *r, const char *list)
{
	const char *pattern;
	uint64_t bit = 1;

	while ((pattern = race_name_next(&r->arena, &list)) != NULL) {
		if (!(r->patterns & bit))
			note_unmatched(r, base_printf(&r->arena,
						      "--variable=%s matched no variable that a "
						      "checked kernel accesses",
						      pattern));
		bit = bit << 1 ? bit << 1 : bit;
	}
}

/* Where options have left out all launches: those that did. --kernel-name has matched something. */
static void add_left_out(struct race_results *r, const struct option_set *set)
{
	const struct {
		uint32_t why;
		const char *name, *value;
	} options[] = {
		{RACE_LEFT_NAME, "kernel-name-exclude",
		 option_text(set, OPTION_KERNEL_NAME_EXCLUDE)},
		{RACE_LEFT_SKIP, "launch-skip",
		 base_printf(&r->arena, "%lld", (long long)option_int(set, OPTION_LAUNCH_SKIP))},
		{RACE_LEFT_PROCESS, "target-processes-filter",
		 option_text(set, OPTION_TARGET_PROCESSES_FILTER)},
		{RACE_LEFT_PROCESS, "target-processes",
		 option_is(set, OPTION_TARGET_PROCESSES, "application-only") ? "application-only"
									     : NULL},
		{RACE_LEFT_RANGE, "nvtx-include", option_text(set, OPTION_NVTX_INCLUDE)},
		{RACE_LEFT_RANGE, "nvtx-exclude", option_text(set, OPTION_NVTX_EXCLUDE)},
	};
	const char *said = NULL;
	uint32_t all = 0, why = 0;

	/* Plain kernels that were judged are in no list. */
	if (r->judged_kernels || r->beside)
		return;
	for (size_t i = 0; i < BASE_COUNTOF(options); i++)
		all |= options[i].why;
	for (size_t i = 0; i < r->kernels.n; i++) {
		if (r->kernels.v[i].checked || r->kernels.v[i].why & ~all)
			return;
		why |= r->kernels.v[i].why;
	}
	for (size_t i = 0; i < BASE_COUNTOF(options); i++)
		if (options[i].value && why & options[i].why)
			said = base_printf(&r->arena, "%s%s--%s=%s", said ? said : "",
					   said ? " and " : "", options[i].name, options[i].value);
	if (said)
		note_unmatched(r, base_printf(&r->arena, "%s left no launch to be checked", said));
}

static void add_unmatched(struct race_results *r, const struct option_set *set)
{
	const char *only = option_text(set, OPTION_KERNEL_NAME);
	const char *without = option_text(set, OPTION_KERNEL_NAME_EXCLUDE);
	const char *variable = option_text(set, OPTION_VARIABLE);
	const char *const ranges[] = {option_text(set, OPTION_NVTX_INCLUDE),
				      option_text(set, OPTION_NVTX_EXCLUDE)};

	if (!has_launches(r))
		return;
	if (only)
		find_unmatched(r, "kernel-name", only);
	if (without)
		find_unmatched(r, "kernel-name-exclude", without);
	if (variable)
		find_unmatched_variables(r, variable);
	for (unsigned i = 0; i < BASE_COUNTOF(ranges); i++)
		if (ranges[i] && !(r->ranges >> i & 1))
			note_unmatched(r,
				       base_printf(&r->arena,
						   "--nvtx-%s=%s matched no NVTX range that began",
						   i ? "exclude" : "include", ranges[i]));
	add_left_out(r, set);
}

static void note_only(struct race_results *r, const struct option_set *set)
{
	struct race_gap g = {
		.why = RACE_GAP_LEFT_OUT, .kernel = "", .what = "threads that --only leaves out"};

	if (option_text(set, OPTION_ONLY) && has_launches(r))
		race_gap_add(r, &g);
}

void cli_choice_note(struct race_results *r, const struct option_set *set)
{
	static const char *const names[] = {"by its name",
					    "--launch-skip",
					    "--launch-count",
					    "--budget",
					    "the GPU was never idle",
					    "launched by a process that is left out",
					    "by its NVTX range"};
	struct base_buf b = {0};

	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct race_kernel *k = &r->kernels.v[i];
		bool is_first = true;
		if (k->cuts)
			note_cut(r, k);
		if (!k->why)
			continue;
		b.n = 0;
		base_buf_printf(&b, "%s: ", k->name_shown);
		if (k->checked) {
			say_which(k, &b);
			base_buf_printf(&b,
					" of %" PRIu64 " checked, the others ran without checks (",
					k->started);
		} else {
			base_buf_printf(&b, "%" PRIu64 " launch%s, none checked (", k->started,
					k->started == 1 ? "" : "es");
		}
		for (unsigned w = 0; w < BASE_COUNTOF(names); w++) {
			if (!(k->why & 1u << w))
				continue;
			base_buf_printf(&b, "%s%s", is_first ? "" : ", ", names[w]);
			is_first = false;
		}
		base_buf_puts(&b, ")");
		race_note_add(r, b.p, b.n);
	}
	base_buf_free(&b);
	note_only(r, set);
	add_unmatched(r, set);
}
