/*
 * reduce.c - collider reduce: the least that shows a finding again.
 *
 * Each step leaves something out of the run's options (an option that was given, the seed, a
 * detector with its delays, other kernels, launches before, launches after), makes one run, and is
 * kept if that run shows the finding, by its fingerprint. Launches are left out by halves, as a
 * finding of launch k is there with all of those before it left out or with none.
 *
 * On the CPU device threads and the schedule follow (reduce_steer.c).
 *
 * Misses: on a GPU blocks and threads can't be left out, as the program makes them, and a run may
 * miss what another would show: a step is lost then, never the finding, as the last runs say how
 * often the command shows it.
 * Costs: a run for each step, --most-runs at most.
 */
#include "cli/reduce.h"
#include "cli/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST_RUNS 10u

/* ---- which finding ---------------------------------------------------------------------- */

static int choose_finding(struct reduce *x, const char *path)
{
	const char *wanted = option_text(x->s.set, OPTION_FINDING);
	struct rep_brief *all = NULL;
	size_t n = rep_briefs(&x->s.arena, &x->r, &all);

	for (size_t i = 0; i < n; i++) {
		char digits[17];
		snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)all[i].print);
		if (wanted ? strncmp(digits, wanted, strlen(wanted)) != 0 : !all[i].is_race)
			continue;
		x->print = all[i].print;
		x->line = all[i].line;
		return 0;
	}
	if (wanted)
		base_say("error: %s: found %zu findings, none with fingerprint %s", path, n,
			 wanted);
	else
		base_say("error: %s: found %zu findings, expected a data race (--finding names "
			 "another)",
			 path, n);
	return BASE_EXIT_INPUT;
}

static const struct race_finding *finding(const struct reduce *x)
{
	for (size_t i = 0; i < x->r.findings.n; i++)
		if (x->r.findings.v[i].print == x->print)
			return &x->r.findings.v[i];
	return NULL;
}

/* ---- steps ------------------------------------------------------------------------------ */

bool reduce_shows(struct reduce *x)
{
	const struct sweep_item none = {{NULL}};

	x->runs++;
	if (x->s.is_tty) {
		fprintf(stderr, "\r\033[Kcollider: run %u, %zu options", x->runs, x->s.passed.n);
		fflush(stderr);
	}
	return sweep_shows(&x->s, &none, x->print);
}

bool reduce_has_run(const struct reduce *x)
{
	return x->runs < x->most;
}

bool reduce_adds(struct reduce *x, char *option)
{
	if (!reduce_has_run(x))
		return false;
	base_vec_push(&x->s.passed, option);
	if (reduce_shows(x))
		return true;
	x->s.passed.n--;
	return false;
}

bool reduce_drops(struct reduce *x, size_t i)
{
	char *was = x->s.passed.v[i];

	memmove(&x->s.passed.v[i], &x->s.passed.v[i + 1], (x->s.passed.n - i - 1) * sizeof(was));
	x->s.passed.n--;
	if (reduce_shows(x))
		return true;
	base_vec_push(&x->s.passed, NULL);
	memmove(&x->s.passed.v[i + 1], &x->s.passed.v[i], (x->s.passed.n - i - 1) * sizeof(was));
	x->s.passed.v[i] = was;
	return false;
}

/* Each of the options that can be left out. Where it runs isn't a cause. */
static void drop_options(struct reduce *x)
{
	for (size_t i = x->s.passed.n; i-- > 0 && reduce_has_run(x);)
		if (strncmp(x->s.passed.v[i], "--device", strlen("--device")))
			reduce_drops(x, i);
}

/* The oracle alone needs no delays, and no changed value. */
static void drop_detectors(struct reduce *x)
{
	if (x->s.is_cpu && option_source(x->s.set, OPTION_DETECTOR) == OPTION_FROM_DEFAULT)
		reduce_adds(x, base_strdup(&x->s.arena, "--detector=oracle"));
}

/* Is it a kernel of one of the finding's sides? */
static bool is_of_finding(const struct race_finding *f, const struct race_kernel *k)
{
	if (!f->sides)
		return !strcmp(f->func, k->name);
	return !strcmp(f->sides[0].kernel, k->name_shown) ||
	       !strcmp(f->sides[1].kernel, k->name_shown);
}

/* Other kernels run without checks. Returns how many launches are left. */
static uint64_t drop_kernels(struct reduce *x)
{
	const struct race_finding *f = finding(x);
	struct base_buf names = {0};
	uint64_t left = 0, all = 0;

	for (size_t i = 0; f && i < x->r.kernels.n; i++) {
		const struct race_kernel *k = &x->r.kernels.v[i];
		all += k->launches;
		if (!is_of_finding(f, k))
			continue;
		left += k->launches;
		base_buf_printf(&names, "%s%s", names.n ? "," : "", k->name);
	}
	if (!names.n ||
	    (left < all && !reduce_adds(x, base_printf(&x->s.arena, "--kernel-name=%s", names.p))))
		left = all;
	base_buf_free(&names);
	return left;
}

/* The launches before the first that matters, then those after the last. */
static void drop_launches(struct reduce *x, uint64_t launches)
{
	uint64_t skip = 0, low = 1, high = launches ? launches - 1 : 0;

	while (low <= high && reduce_has_run(x)) {
		uint64_t mid = low + (high - low) / 2;
		bool is = reduce_adds(
			x, base_printf(&x->s.arena, "--launch-skip=%llu", (unsigned long long)mid));
		x->s.passed.n -= is;
		skip = is ? mid : skip;
		low = is ? mid + 1 : low;
		high = is ? high : mid - 1;
	}
	if (skip)
		base_vec_push(&x->s.passed, base_printf(&x->s.arena, "--launch-skip=%llu",
							(unsigned long long)skip));
	uint64_t count = launches - skip;
	for (low = 1, high = count - 1; launches > 1 && low <= high && reduce_has_run(x);) {
		uint64_t mid = low + (high - low) / 2;
		bool is = reduce_adds(x, base_printf(&x->s.arena, "--launch-count=%llu",
						     (unsigned long long)mid));
		x->s.passed.n -= is;
		count = is ? mid : count;
		low = is ? low : mid + 1;
		high = is ? mid - 1 : high;
	}
	if (count < launches - skip)
		base_vec_push(&x->s.passed, base_printf(&x->s.arena, "--launch-count=%llu",
							(unsigned long long)count));
}

/* ---- the result ------------------------------------------------------------------------- */

static void say_command(const struct reduce *x, unsigned shown, struct base_buf *out)
{
	base_buf_printf(out, "%s\n    collider run", x->line);
	for (size_t i = 0; i < x->s.passed.n; i++)
		base_buf_printf(out, " %s", x->s.passed.v[i]);
	base_buf_puts(out, " --");
	for (size_t i = 0; i < x->s.set->args.n; i++)
		base_buf_printf(out, " %s", x->s.set->args.v[i]);
	base_buf_printf(out, "\nshows it in %u of %u runs, found in %u%s\n", shown, LAST_RUNS,
			x->runs - LAST_RUNS,
			x->runs - LAST_RUNS < x->most ? "" : " (--most-runs allows no more)");
	if (x->delayed)
		base_buf_printf(out, "%s\n", x->delayed);
	base_buf_puts(out, "\n");
}

/* Keeps the last run's report where --save says. */
static int save(struct reduce *x, const char *from)
{
	const char *to = option_text(x->s.set, OPTION_SAVE);
	char *text = NULL;
	size_t n = 0;
	int err = to ? base_read_file(from, &text, &n) : 0;

	if (to && !err)
		err = base_write_file(to, text, n);
	free(text);
	if (err)
		base_say("error: --save: %s: %s", to, base_file_error(err));
	return err ? BASE_EXIT_INPUT : 0;
}

static int report(struct reduce *x, unsigned shown)
{
	struct race_results last = {0};
	struct base_sink sink = {0};
	struct base_buf out = {0};
	struct cli_view view;
	const char *path = sweep_again(&x->s);
	int rc = cli_view_open(&view, x->s.set, STDOUT_FILENO);

	if (rc)
		return rc;
	say_command(x, shown, &out);
	rc = rep_json_read(path, &last, &sink);
	cli_flush(&sink);
	if (!rc) {
		rep_put(&last, &view.opt, &out);
		rc = cli_print(&out);
	}
	if (!rc)
		rc = save(x, path);
	if (!rc)
		rc = cli_view_code(&view, x->s.set, &last, 0);
	cli_view_close(&view);
	base_buf_free(&out);
	race_results_free(&last);
	return rc;
}

static int search(struct reduce *x)
{
	unsigned shown = 0;

	if (!reduce_shows(x) && !reduce_shows(x)) {
		base_say(
			"error: two runs with these options didn't show it: %s (the options of the "
			"run that found it are given again)",
			x->line);
		return BASE_EXIT_INPUT;
	}
	drop_options(x);
	drop_detectors(x);
	drop_launches(x, drop_kernels(x));
	if (x->s.is_cpu)
		reduce_steer(x);
	for (unsigned i = 0; i < LAST_RUNS; i++)
		shown += reduce_shows(x);
	if (x->s.is_tty)
		fputs("\r\033[K", stderr);
	return report(x, shown);
}

/* ---- the command line ------------------------------------------------------------------- */

/* Takes the report from the arguments, which are the program's then. */
static int take_report(struct reduce *x, const char **path)
{
	struct option_set *set = x->s.set;
	size_t n = set->args.n > 1 && !strcmp(set->args.v[1], "--") ? 2 : 1;

	if (set->args.n <= n) {
		base_say("error: reduce needs a report and a program: collider reduce [OPTIONS] "
			 "REPORT -- APP [ARGUMENTS]");
		return BASE_EXIT_USAGE;
	}
	*path = set->args.v[0];
	set->args.n -= n;
	memmove(set->args.v, set->args.v + n, (set->args.n + 1) * sizeof(set->args.v[0]));
	return 0;
}

/* The seed of the run that found it, which is the report's. */
static void take_seed(struct reduce *x)
{
	if (x->r.seed && option_source(x->s.set, OPTION_SEED) == OPTION_FROM_DEFAULT)
		base_vec_push(&x->s.passed, base_printf(&x->s.arena, "--seed=%u", x->r.seed));
}

static int open_reduce(struct reduce *x)
{
	static const char why[] = "collider reduce prints a report, and --save keeps it";
	struct base_sink sink = {0};
	const char *path;
	int rc = take_report(x, &path);

	if (!rc)
		rc = sweep_refuse_capsule(path);
	if (!rc)
		rc = sweep_refuse_capsule(x->s.set->args.v[0]);
	if (!rc)
		rc = sweep_refuse(x->s.set, OPTION_JSON, why);
	if (!rc)
		rc = sweep_refuse(x->s.set, OPTION_LOG_FILE, why);
	if (!rc)
		rc = rep_json_read(path, &x->r, &sink);
	cli_flush(&sink);
	if (!rc)
		rc = choose_finding(x, path);
	sweep_know(&x->s);
	sweep_pass_options(&x->s);
	take_seed(x);
	x->s.is_tty = isatty(STDERR_FILENO) && !option_flag(x->s.set, OPTION_QUIET);
	x->most = (unsigned)option_int(x->s.set, OPTION_MOST_RUNS) - LAST_RUNS;
	return rc;
}

int cli_reduce(struct option_set *set)
{
	struct reduce x = {.s = {.set = set, .runs = 1, .shares = 1}};
	const char *tmp = getenv("TMPDIR");
	int rc = open_reduce(&x);

	if (!rc) {
		char *dir =
			base_printf(&x.s.arena, "%s/collider-XXXXXX", tmp && *tmp ? tmp : "/tmp");
		x.s.dir = mkdtemp(dir);
		if (x.s.dir) {
			rc = search(&x);
			unlink(sweep_again(&x.s));
			rmdir(dir);
		} else {
			base_say("error: %s: %s", dir, strerror(errno));
			rc = BASE_EXIT_ENV;
		}
	}
	race_results_free(&x.r);
	base_vec_free(&x.s.passed);
	base_arena_free(&x.s.arena);
	return rc;
}
