/*
 * run.c - collider run: options to the launcher, the shared file to the report.
 *
 * Everything that can be wrong with the command line, the suppressions file or
 * the machine is found before the program starts. After that, the program's exit code is returned
 * whatever happens to the report.
 */
#include "cli/cli.h"
#include "cli/view.h"
#include "agent/spawn.h"
#include "host/host.h"
#include "race/detector.h"
#include "race/layout/iguard.h"
#include "hirace/hirace.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct delays {
	uint32_t rdelay, wdelay, dense;
};

/* --speed stands for two options; each of them takes precedence if it was given in a place of the
 * same rank (the command line, or the environment and no --speed on the command line). */
static struct delays choose_delays(const struct option_set *set)
{
	struct delays d = {(uint32_t)option_int(set, OPTION_RDELAY),
			   (uint32_t)option_int(set, OPTION_WDELAY),
			   (uint32_t)option_int(set, OPTION_DENSE)};
	enum option_source speed = option_source(set, OPTION_SPEED);
	struct delays preset = {5000, 1, d.dense};

	if (speed == OPTION_FROM_DEFAULT)
		return d;
	if (option_is(set, OPTION_SPEED, "fast"))
		preset.rdelay = 1;
	if (option_is(set, OPTION_SPEED, "thorough")) {
		preset.wdelay = 5000;
		preset.dense = 0;
	}
	if (option_source(set, OPTION_RDELAY) < speed)
		d.rdelay = preset.rdelay;
	if (option_source(set, OPTION_WDELAY) < speed)
		d.wdelay = preset.wdelay;
	if (option_source(set, OPTION_DENSE) < speed)
		d.dense = preset.dense;
	return d;
}

/* --shuffle as struct race_shm has it. */
static uint32_t choose_order(const struct option_set *set)
{
	if (option_is(set, OPTION_SHUFFLE, "affine"))
		return RACE_SHUFFLE_AFFINE;
	if (option_is(set, OPTION_SHUFFLE, "fold"))
		return RACE_SHUFFLE_FOLD;
	if (option_is(set, OPTION_SHUFFLE, "auto"))
		return RACE_SHUFFLE_AUTO;
	return option_is(set, OPTION_SHUFFLE, "all") ? RACE_SHUFFLE_AUTO | RACE_SHUFFLE_ALL
						     : RACE_SHUFFLE_PLAIN;
}

/* What only the launcher knows, as lines for the report. */
/* Has the device said that it couldn't load what the program runs? */
static bool has_unloaded(const struct race_results *r)
{
	for (size_t i = 0; i < r->gaps.n; i++)
		if (r->gaps.v[i].why == RACE_GAP_NOT_LOADED)
			return true;
	return false;
}

static void add_notes(struct race_results *r, const struct option_set *set,
		      const struct spawn_result *res, bool is_cpu)
{
	struct base_buf b = {0};

	if (res->is_timed_out)
		base_buf_printf(&b, "the program was ended by --timeout=%s%s\n",
				option_text(set, OPTION_TIMEOUT),
				option_is(set, OPTION_SHUFFLE, "all")
					? "; kernels that waited for other blocks were stopped"
					: "");
	else if (res->signal && !res->is_halted)
		base_buf_printf(&b, "the program was killed by signal %d (%s)\n", res->signal,
				strsignal(res->signal));
	if (!option_list(set, OPTION_DETECTOR))
		base_buf_puts(&b, "no detector was asked for (--detector=none)\n");
	if (res->is_halted)
		base_buf_puts(&b, "the program was ended by --halt-on-race\n");
	if (r->agent_state == RACE_AGENT_NONE && is_cpu && !has_unloaded(r))
		r->why_nothing = cli_no_call(&r->arena, set->args.v, true);
	else if (r->agent_state == RACE_AGENT_NONE && !is_cpu && spawn_has_driver())
		r->why_nothing = cli_no_call(&r->arena, set->args.v, false);
	else if (r->agent_state == RACE_AGENT_NONE && !is_cpu)
		base_buf_puts(&b, "no CUDA driver on this machine (libcuda.so.1)\n");
	if (r->agent_state == RACE_AGENT_ATTACHED && is_cpu && !r->kernels.n)
		r->why_nothing = cli_no_kernel(&r->arena, set->args.v);
	if (r->agent_state == RACE_AGENT_ATTACHED && res->is_eager)
		base_buf_puts(&b, "CUDA_MODULE_LOADING was set to EAGER, so that kernels are "
				  "checked from their first launch\n");
	for (size_t at = 0; at < b.n;) {
		size_t n = (size_t)((char *)memchr(b.p + at, '\n', b.n - at) - b.p) - at;
		race_note_add(r, b.p + at, n);
		at += n + 1;
	}
	base_buf_free(&b);
}

/* The same as a gap: what came after the end was not checked. */
static void add_end(struct race_results *r, const struct spawn_result *res)
{
	struct race_gap g = {.why = RACE_GAP_STOPPED, .kernel = "", .count = 1};

	if (res->is_timed_out)
		g.what = "the program was ended by --timeout";
	else if (res->is_halted)
		g.what = "the program was ended by --halt-on-race";
	else if (res->signal)
		g.what = base_printf(&r->arena, "the program was killed by signal %d (%s)",
				     res->signal, strsignal(res->signal));
	if (g.what)
		race_gap_add(r, &g);
}

static void add_command(struct race_results *r, char *const *argv)
{
	struct base_buf b = {0};

	for (size_t i = 0; argv[i]; i++) {
		base_buf_puts(&b, i ? " " : "");
		base_buf_puts(&b, argv[i]);
	}
	r->command = race_text(&r->arena, b.p, b.n);
	base_buf_free(&b);
}

#define VERIFY_SHOWN 20

/* --verify: does the oracle confirm all that collide has reported? */
static bool verify(const struct race_results *r)
{
	size_t which[VERIFY_SHOWN];
	size_t n = race_unconfirmed(r, which, VERIFY_SHOWN), found = 0;

	if (!r->has_oracle) {
		base_say("error: --verify: the oracle has judged nothing (see the report)");
		return false;
	}
	for (size_t i = 0; i < r->findings.n; i++)
		found += race_keeps(r->findings.v[i].kind) == RACE_KEEPS_VALUES;
	if (!n) {
		base_say("--verify: the oracle confirms all of collide's findings (%zu)", found);
		return true;
	}
	base_say(r->is_host_unseen ? "--verify: the oracle does not confirm all of collide's "
				     "findings (%zu of %zu); the "
				     "other side may be host code, which was not seen: not judged:"
				   : "error: --verify: the oracle does NOT confirm all of "
				     "collide's findings (%zu of %zu):",
		 n, found);
	for (size_t i = 0; i < n && i < VERIFY_SHOWN; i++) {
		const struct race_finding *f = &r->findings.v[which[i]];
		base_say("  %s in %s at %s:%u: %s", race_kind_name(f->kind), f->func_shown,
			 *f->file ? f->file : "?", f->line, f->nsites ? f->sites[0].text : "");
	}
	return r->is_host_unseen;
}

/* Adds lines of host code, and applies --host-filter. */
static void name_host_code(struct race_results *r, const struct option_set *set)
{
	const char *filter = option_text(set, OPTION_HOST_FILTER);

	host_symbolise(r);
	size_t n = filter ? host_filter_findings(r, filter) : 0;
	if (n) {
		char text[96];
		snprintf(text, sizeof(text), "findings in host code left out by --host-filter: %zu",
			 n);
		race_note_add(r, text, strlen(text));
	}
}

/* --sample and --coverage: which sites. Returns 0 or an exit code. */
static int choose_sites(const struct option_set *set, struct spawn_request *req,
			struct rep_coverage *coverage, struct base_sink *sink)
{
	const char *path = option_text(set, OPTION_COVERAGE);
	uint32_t sites = (uint32_t)option_int(set, OPTION_SAMPLE);
	int rc = path ? rep_coverage_read(coverage, path, sink) : 0;

	req->sites = sites ? sites : path ? UINT32_MAX : 0;
	if (sites)
		req->sites_limit = rep_coverage_limit(coverage, sites, req->seed);
	return rc;
}

/* The results of --sample and --coverage as notes; writes the coverage file. */
static void note_coverage(struct race_results *r, const struct option_set *set,
			  struct rep_coverage *coverage)
{
	const char *path = option_text(set, OPTION_COVERAGE);
	struct base_buf b = {0};
	int err;

	if (option_int(set, OPTION_SAMPLE)) {
		base_buf_printf(&b,
				"chosen to be checked: only %lld of the program's sites "
				"(--sample); another --seed chooses others",
				(long long)option_int(set, OPTION_SAMPLE));
		race_note_add(r, b.p, b.n);
		b.n = 0;
	}
	if (path) {
		rep_coverage_add(coverage, r);
		err = rep_coverage_write(coverage, path);
		if (err)
			base_say("error: the coverage was not written to %s: %s", path,
				 strerror(err));
		base_buf_printf(&b, "%s: ", path);
		rep_coverage_say(coverage, false, &b);
		race_note_add(r, b.p, b.n - 1);
	}
	base_buf_free(&b);
}

/* Turns the shared file into reports. Returns the exit code of the run. */
static int report_run(struct option_set *set, const struct cli_view *view,
		      const struct spawn_result *res, const struct spawn_request *req,
		      struct rep_coverage *coverage)
{
	const char *log = option_text(set, OPTION_LOG_FILE);
	struct race_results r = {0};
	int exit_code = res->exit_code;

	if (race_shm_read(res->shm, RACE_SHM_BYTES, &r))
		base_say("error: the program has overwritten the shared file of findings");
	name_host_code(&r, set);
	add_command(&r, set->args.v);
	add_notes(&r, set, res, req->cudart != NULL);
	add_end(&r, res);
	note_coverage(&r, set, coverage);
	cli_choice_note(&r, set);
	cli_load_note(&r, res->shm, req);
	cli_recorded_note(&r, set, res->shm);
	if (!option_flag(set, OPTION_VERIFY))
		race_merge(&r);
	bool is_silent = option_flag(set, OPTION_QUIET) &&
			 rep_get_verdict(&r, &view->opt) == REP_VERDICT_CLEAN &&
			 !(option_flag(set, OPTION_FAIL_PARTIAL) && r.gaps.n);
	if (!is_silent) {
		const char *why, *path = log ? cli_file_name(&r.arena, log, res->pid, &why) : NULL;
		/* A report that can't go to its file is better on the terminal than lost. */
		if (!cli_write_report(&r, &view->opt, path) && path)
			cli_write_report(&r, &view->opt, NULL);
	}
	cli_write_json(&r, set, OPTION_JSON, &view->ignore, res->pid);
	cli_write_json(&r, set, OPTION_SAVE, NULL, res->pid);
	if (r.is_oracle_full)
		base_say(
			"error: the oracle is full: too many threads, copies and operations, or no "
			"memory; the run was stopped and is not judged");
	if (option_flag(set, OPTION_VERIFY) && (!verify(&r) || r.is_oracle_full))
		exit_code = BASE_EXIT_UNCONFIRMED;
	else if (r.is_oracle_full)
		exit_code = BASE_EXIT_UNJUDGED;
	else
		exit_code = cli_view_code(view, set, &r, exit_code);
	race_results_free(&r);
	return exit_code;
}

/* How iguard works, for race_shm.flags. */
static uint32_t iguard_modes(const struct option_set *set)
{
	uint32_t modes =
		option_is(set, OPTION_IGUARD, "published") ? RACE_IGUARD_MODE_PUBLISHED : 0;

	modes |= option_is(set, OPTION_IGUARD_LANES, "alone") ? RACE_IGUARD_MODE_ALONE : 0;
	modes |= option_is(set, OPTION_IGUARD_SWAPS, "eager") ? RACE_IGUARD_MODE_EAGER : 0;
	return modes << RACE_RUN_IGUARD_AT;
}

static bool wants_oracle(const struct option_set *set)
{
	return (option_list(set, OPTION_DETECTOR) & RACE_DETECT_JUDGE) != 0;
}

/* What is asked while the program runs. */
struct asked {
	const struct cli_view *view;
	const struct option_set *set;
};

uint64_t cli_count_shown(void *arg, const struct race_shm *shm)
{
	const struct asked *x = arg;
	struct race_results r = {0};
	uint64_t n = 0;

	if (!race_shm_read(shm, RACE_SHM_BYTES, &r) && r.findings.n) {
		name_host_code(&r, x->set);
		if (!option_flag(x->set, OPTION_VERIFY))
			race_merge(&r);
		n = rep_count_shown(&r, &x->view->opt);
	}
	race_results_free(&r);
	return n;
}

/* --halt-on-race: is there a finding that counts for exit codes? */
static bool has_race(void *arg, const struct race_shm *shm)
{
	const struct cli_view *view = ((const struct asked *)arg)->view;
	struct race_results r = {0};
	bool has = false;

	if (!race_shm_read(shm, RACE_SHM_BYTES, &r))
		has = rep_exit_races(&r, &view->opt) != 0;
	/* Rules may name host code, whose lines are looked up for that only. */
	if (has && view->ignore.rules.n) {
		host_symbolise(&r);
		has = rep_exit_races(&r, &view->opt) != 0;
	}
	race_results_free(&r);
	return has;
}

/* That a report can't be written must be known before the program runs for hours. */
static int check_files(const struct option_set *set)
{
	static const struct {
		enum option_id id;
		const char *name;
	} files[] = {{OPTION_JSON, "json"}, {OPTION_SAVE, "save"}, {OPTION_COVERAGE, "coverage"}};

	const char *log = option_text(set, OPTION_LOG_FILE), *why = NULL;
	struct base_arena a = {0};
	int rc = 0;

	/* A report goes to standard error where its file can't be written. */
	if (log && !cli_file_name(&a, log, 0, &why)) {
		base_say("error: --log-file: %s: %s", log, why);
		rc = BASE_EXIT_USAGE;
	}
	for (size_t i = 0; i < BASE_COUNTOF(files) && !rc; i++) {
		const char *path = option_text(set, files[i].id);
		why = path ? cli_file_problem(&a, path) : NULL;
		if (why) {
			base_say("error: --%s: %s can't be written: %s", files[i].name, path, why);
			rc = BASE_EXIT_INPUT;
		}
	}
	const char *lines = option_text(set, OPTION_RECORD_LAUNCHES);
	why = lines && !rc ? cli_lines_problem(&a, lines) : NULL;
	if (why) {
		base_say("error: --record-launches: %s can't be written: %s", lines, why);
		rc = BASE_EXIT_INPUT;
	}
	base_arena_free(&a);
	return rc;
}

/* --capsules: the folder, made and named so that the program may change its own. */
static int make_folder(struct option_set *set)
{
	const char *path = option_text(set, OPTION_CAPSULES);
	char *full;

	if (!path)
		return 0;
	if ((mkdir(path, 0777) && errno != EEXIST) || access(path, W_OK | X_OK) ||
	    !(full = realpath(path, NULL))) {
		base_say("error: --capsules: %s: %s", path, strerror(errno));
		return BASE_EXIT_INPUT;
	}
	option_put(set, OPTION_CAPSULES, base_strdup(&set->arena, full));
	free(full);
	return 0;
}

/* --device=auto is the GPU where there is one. */
static bool takes_cpu(const struct option_set *set)
{
	return option_is(set, OPTION_DEVICE, "cpu") || wants_oracle(set) ||
	       (option_is(set, OPTION_DEVICE, "auto") && !spawn_has_gpu());
}

/* Is the schedule, or a part of it, given? */
static bool is_steered(const struct option_set *set)
{
	return option_source(set, OPTION_RANDOM_TURNS) != OPTION_FROM_DEFAULT ||
	       option_text(set, OPTION_DELAY) || option_text(set, OPTION_ONLY);
}

/* Checks what prevents starting the program. Returns 0 or an exit code. */
static int check_device(const struct option_set *set)
{
	if (set->args.n == 0) {
		base_say("error: run needs a program: collider run [OPTIONS] [--] APP [ARGUMENTS]");
		return BASE_EXIT_USAGE;
	}
	if (option_is(set, OPTION_DEVICE, "gpu") && !spawn_has_driver()) {
		base_say("error: --device=gpu: no CUDA driver on this machine (libcuda.so.1)");
		return BASE_EXIT_ENV;
	}
	if (option_text(set, OPTION_CAPSULES) && !takes_cpu(set) && !cli_beside_is_on(set)) {
		base_say("error: --capsules works on the CPU device (--device=cpu), or with "
			 "--judge=auto");
		return BASE_EXIT_USAGE;
	}
	if (option_is(set, OPTION_HOST_COPIES, "staged") && !takes_cpu(set)) {
		base_say("error: --host-copies works on the CPU device (--device=cpu)");
		return BASE_EXIT_USAGE;
	}
	if (is_steered(set) && !takes_cpu(set)) {
		base_say("error: --random-turns, --delay and --only work on the CPU device "
			 "(--device=cpu)");
		return BASE_EXIT_USAGE;
	}
	bool has_variable = option_text(set, OPTION_VARIABLE) != NULL;
	if ((has_variable || option_flag(set, OPTION_ALL_LOADS)) && !takes_cpu(set)) {
		base_say("error: --%s: for a GPU it is given to collider nvcc, which puts the "
			 "checks in",
			 has_variable ? "variable" : "all-loads");
		return BASE_EXIT_USAGE;
	}
	if (!option_is(set, OPTION_DEVICE, "gpu"))
		return 0;
	if (wants_oracle(set)) {
		base_say("error: the oracle works on the CPU device, not with --device=gpu");
		return BASE_EXIT_USAGE;
	}
	return 0;
}

/* Those that a run has by default, with the judges or without. */
static void put_defaults(struct option_set *set, unsigned judges)
{
	char names[RACE_DETECTORS_TEXT];

	race_detectors_text(race_detectors_with(RACE_DEFAULT) | judges, names, sizeof(names));
	option_put(set, OPTION_DETECTOR, base_strdup(&set->arena, names));
}

/* The detectors that --detector leaves to us. */
static void choose_detectors(struct option_set *set)
{
	if (option_source(set, OPTION_DETECTOR) == OPTION_FROM_DEFAULT)
		put_defaults(set, takes_cpu(set) ? RACE_DETECT_JUDGE : 0);
}

/* --iguard-kernels=auto. What is for research is to be seen by itself. */
static void choose_kernels(struct option_set *set)
{
	bool is_own = option_is(set, OPTION_IGUARD, "published") ||
		      option_is(set, OPTION_HIRACE, "published") ||
		      option_is(set, OPTION_IGUARD_LANES, "alone") ||
		      option_is(set, OPTION_IGUARD_SWAPS, "patient");

	if (option_is(set, OPTION_IGUARD_KERNELS, "auto"))
		option_put(set, OPTION_IGUARD_KERNELS, is_own ? "all" : "strong");
}

/* May kernels be judged by one detector for another, which would know the lines of both sides? */
static bool wants_lines(const struct option_set *set)
{
	return option_flag(set, OPTION_BOTH_SIDES) ||
	       (option_is(set, OPTION_IGUARD_KERNELS, "strong") &&
		option_list(set, OPTION_DETECTOR) & race_detectors_with(RACE_CAUSES));
}

/* Does the oracle see host code where that changes nothing for the program? Whatever checks beside
 * it: what it says must not depend on that. */
static bool is_host_auto(const struct option_set *set)
{
	return wants_oracle(set) && option_source(set, OPTION_HOST_ACCESSES) == OPTION_FROM_DEFAULT;
}

/* This program, which proves kernels for the CPU device. */
static void add_prover(struct option_set *set, struct base_buf *out)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = 0;
	if (*self && wants_oracle(set) && !option_flag(set, OPTION_VERIFY))
		option_encode_one(out, OPTION_PROVER, self);
}

/* The CPU device's options, as its library reads them. */
static const char *cpu_options(struct option_set *set)
{
	struct base_buf more = {0};

	base_buf_puts(&more, option_encode(set, OPTION_CMD_DEVICE));
	add_prover(set, &more);
	if (wants_oracle(set) && !option_flag(set, OPTION_VERIFY) &&
	    option_list(set, OPTION_DETECTOR) & RACE_DETECT_PUT)
		option_encode_one(&more, OPTION_ORACLE_ASIDE, "1");
	if (is_host_auto(set))
		option_encode_one(&more, OPTION_HOST_AUTO, "1");
	const char *all = base_strndup(&set->arena, more.p, more.n);
	base_buf_free(&more);
	return all;
}

/* --verify: collide and the oracle at the same time, and what the oracle needs for that. */
static void apply_verify(struct option_set *set)
{
	if (!option_flag(set, OPTION_VERIFY))
		return;
	put_defaults(set, RACE_DETECT_JUDGE);
	option_put(set, OPTION_HOST_ACCESSES, "1");
}

int cli_run(struct option_set *set)
{
	bool is_stderr = !option_text(set, OPTION_LOG_FILE);
	struct base_sink sink = {0};
	struct rep_coverage coverage = {0};
	struct base_buf replay = {0};
	struct spawn_result res;
	struct cli_view view;
	bool is_asked = option_source(set, OPTION_DETECTOR) != OPTION_FROM_DEFAULT;
	int rc;

	apply_verify(set);
	cli_recorded_place(set);
	rc = cli_replay_check(set);
	if (!rc)
		rc = check_device(set);
	if (!rc)
		choose_detectors(set);
	choose_kernels(set);
	if (!rc)
		rc = check_files(set);
	if (!rc)
		rc = make_folder(set);
	if (!rc)
		rc = cli_choice_check(set);
	if (!rc)
		rc = cli_view_open(&view, set, is_stderr ? STDERR_FILENO : -1);
	if (rc)
		return rc;
	struct delays delays = choose_delays(set);
	struct asked asked = {&view, set};
	struct spawn_request req = {
		.argv = set->args.v,
		.rdelay = delays.rdelay,
		.wdelay = delays.wdelay,
		.dense = delays.dense,
		.window = (uint32_t)option_int(set, OPTION_COPY_WINDOW),
		.sample = (uint32_t)option_int(set, OPTION_RATE),
		.seed = (uint32_t)option_int(set, OPTION_SEED),
		.flags = (option_flag(set, OPTION_VERBOSE) ? RACE_RUN_VERBOSE : 0) |
			 (option_is(set, OPTION_HOST_MEMORY, "all") ? RACE_RUN_HOST_ALL : 0) |
			 (option_flag(set, OPTION_SHUFFLE_STREAMS) ? RACE_RUN_STREAMS : 0) |
			 (wants_lines(set) ? RACE_RUN_BOTH : 0) | iguard_modes(set) |
			 (uint32_t)(option_list(set, OPTION_DETECTOR) | 1u << RACE_DETECTORS)
				 << RACE_RUN_DETECTORS_AT,
		.order = choose_order(set),
		.timeout_ms = (uint64_t)option_int(set, OPTION_TIMEOUT),
		.choice = cli_choice_make(set),
		.kernel_name = option_text(set, OPTION_KERNEL_NAME),
		.kernel_name_exclude = option_text(set, OPTION_KERNEL_NAME_EXCLUDE),
		.target_processes = option_text(set, OPTION_TARGET_PROCESSES_FILTER),
		.nvtx_include = option_text(set, OPTION_NVTX_INCLUDE),
		.nvtx_exclude = option_text(set, OPTION_NVTX_EXCLUDE),
		.tick = is_stderr && isatty(STDERR_FILENO) && !option_flag(set, OPTION_QUIET)
				? cli_progress
				: NULL,
		.is_over = option_flag(set, OPTION_HALT_ON_RACE) ? has_race : NULL,
		.arg = &asked,
		.machine = option_is(set, OPTION_HIRACE, "published")
				   ? hirace_table(HIRACE_PUBLISHED)
				   : NULL,
	};
	/* Checks in the program are switched off if none of their detectors is requested. */
	if (!(option_list(set, OPTION_DETECTOR) & RACE_DETECT_PUT))
		req.sample = RACE_SAMPLE_NEVER;
	rc = choose_sites(set, &req, &coverage, &sink);
	if (!rc)
		rc = cli_replay_read(set, &replay, &sink);
	if (rc)
		goto out;
	req.replay = &replay;
	if (takes_cpu(set)) {
		req.cudart = spawn_find_cudart(&set->arena, &sink);
		req.cpu_options = cpu_options(set);
		req.environment = cli_python_cpu(&set->arena, req.cudart);
	} else {
		req.agent = spawn_find_agent(&set->arena, &sink);
		cli_load_choose(set, is_asked, &req);
	}
	rc = req.agent || req.cudart ? spawn_app(&req, &res, &sink) : BASE_EXIT_ENV;
	cli_beside_end();
	cli_progress_end();
out:
	cli_flush(&sink);
	if (!rc) {
		rc = report_run(set, &view, &res, &req, &coverage);
		spawn_free(&res);
	}
	rep_coverage_free(&coverage);
	base_buf_free(&replay);
	cli_view_close(&view);
	return rc;
}
