/*
 * sweep.c - collider sweep: many runs of one program, each in another schedule, and one report.
 *
 * Run i's options are a hash of the sweep's seed and i, so that any machine can do any run, and a
 * report names a run by its number. A run that has ended is a file in the folder, written beside it
 * and renamed: after a kill the next start goes on. Each run is a process of its own, `collider
 * run`; a crash costs that run.
 *
 * Misses: runs on several machines don't know of each other's findings until they end. Costs: a
 * process more a run.
 */
#include "cli/sweep.h"
#include "agent/spawn.h"
#include "cli/view.h"
#include "judge/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- what a run differs in ------------------------------------------------------------ */

enum vary { VARY_SEED, VARY_SHUFFLE, VARY_MODEL, VARY_SAMPLE, VARY_STREAMS };

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

struct sweep_item sweep_item_make(struct sweep *s, unsigned i)
{
	static const char *const shuffles[] = {"off", "affine", "fold"};
	static const char *const models[] = {"sc", "weak", "a1"};
	static const char *const speeds[] = {"fast", "balanced", "thorough"};
	unsigned vary = option_list(s->set, OPTION_VARY), n = 0;
	struct base_arena *a = &s->arena;
	struct sweep_item it = {{NULL}};
	uint64_t h = mix(s->seed) ^ i;

	if (!i)
		return it;
	if (vary >> VARY_SEED & 1)
		it.option[n++] = base_printf(a, "--seed=%u", (unsigned)(mix(h) >> 33));
	if (vary >> VARY_SHUFFLE & 1)
		it.option[n++] = base_printf(a, "--shuffle=%s", shuffles[mix(h + 1) % 3]);
	if (vary >> VARY_MODEL & 1 && s->is_cpu)
		it.option[n++] = base_printf(a, "--memory-model=%s", models[mix(h + 2) % 3]);
	if (vary >> VARY_SAMPLE & 1)
		it.option[n++] = base_printf(a, "--speed=%s", speeds[mix(h + 3) % 3]);
	if (vary >> VARY_STREAMS & 1 && mix(h + 4) & 1)
		it.option[n++] = base_strdup(a, "--shuffle-streams");
	return it;
}

/* ---- one run -------------------------------------------------------------------------- */

const char *sweep_file(struct sweep *s, unsigned i, const char *end)
{
	return base_printf(&s->arena, "%s/%u%s", s->dir, i, end);
}

/* In a file name of run's % has a meaning. */
static char *quote_percent(struct base_arena *a, const char *path)
{
	struct base_buf b = {0};

	for (; *path; path++)
		base_buf_puts(&b, *path == '%' ? "%%" : (char[]){*path, 0});
	char *text = base_strndup(a, b.p ? b.p : "", b.n);
	base_buf_free(&b);
	return text;
}

pid_t sweep_start(struct sweep *s, const struct sweep_item *it, const char *save, const char *log)
{
	struct base_arena *a = &s->arena;
	BASE_VEC(char *) argv = {0};
	posix_spawn_file_actions_t files;
	pid_t pid = -1;

	base_vec_push(&argv, (char *)(uintptr_t)s->self);
	base_vec_push(&argv, base_strdup(a, "run"));
	for (size_t i = 0; i < s->passed.n; i++)
		base_vec_push(&argv, s->passed.v[i]);
	for (unsigned i = 0; it->option[i]; i++)
		base_vec_push(&argv, it->option[i]);
	base_vec_push(&argv, base_strdup(a, "--quiet"));
	base_vec_push(&argv, base_printf(a, "--save=%s", quote_percent(a, save)));
	base_vec_push(&argv, base_strdup(a, "--"));
	for (size_t i = 0; i < s->set->args.n; i++)
		base_vec_push(&argv, s->set->args.v[i]);
	base_vec_push(&argv, NULL);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	if (posix_spawn(&pid, s->self, &files, NULL, argv.v, environ))
		pid = -1;
	posix_spawn_file_actions_destroy(&files);
	base_vec_free(&argv);
	return pid;
}

/* ---- all runs ------------------------------------------------------------------------- */

struct job {
	pid_t pid;
	unsigned i;
};

bool sweep_is_there(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

const char *sweep_why(struct sweep *s, const char *log)
{
	const char *why = "";
	char *text = NULL;
	size_t n = 0;

	if (!base_read_file(log, &text, &n)) {
		while (n && text[n - 1] == '\n')
			text[--n] = 0;
		const char *last = strrchr(text, '\n');
		why = base_strdup(&s->arena, last ? last + 1 : text);
	}
	free(text);
	return why;
}

static int say_failed(struct sweep *s, unsigned i, int status)
{
	base_say("error: run %u wrote no report: %s", i, sweep_why(s, sweep_file(s, i, ".out")));
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : BASE_EXIT_ENV;
}

static void show_progress(const struct sweep *s, const struct sweep_tally *t, bool is_over)
{
	if (!s->is_tty)
		return;
	fputs("\r\033[K", stderr);
	if (!is_over)
		fprintf(stderr, "collider: %u of %u runs, %u findings, the last new one after %u",
			t->ended, s->runs, HASH_COUNT(t->all), t->last_new);
	fflush(stderr);
}

/* A run has ended: its report becomes a file of the sweep. */
static int end_run(struct sweep *s, struct sweep_tally *t, unsigned i, int status)
{
	const char *part = sweep_file(s, i, ".part"), *done = sweep_file(s, i, ".jsonl");

	if (rename(part, done))
		return say_failed(s, i, status);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		unlink(sweep_file(s, i, ".out"));
	int rc = sweep_tally_add(t, done, i);
	show_progress(s, t, false);
	return rc;
}

/* Waits for one of the runs, which is taken off the list. Returns 0 or an exit code. */
static int wait_one(struct job *jobs, unsigned *n, struct job *ended, int *status)
{
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, status, 0);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return BASE_EXIT_ENV;
		for (unsigned k = 0; k < *n; k++) {
			if (jobs[k].pid != pid)
				continue;
			*ended = jobs[k];
			jobs[k] = jobs[--*n];
			return 0;
		}
	}
}

/* Starts runs from *next on until so many are under way as may be. Returns 0 or an exit code. */
static int start_some(struct sweep *s, const struct sweep_tally *t, unsigned *next,
		      struct job *jobs, unsigned *n)
{
	bool goes_on = option_flag(s->set, OPTION_ALL_RUNS);

	for (; *n < s->jobs && *next < s->runs; *next += s->shares) {
		unsigned i = *next;
		if (!goes_on && sweep_tally_is_saturated(t)) {
			*next = s->runs;
			break;
		}
		if (sweep_is_there(sweep_file(s, i, ".jsonl")))
			continue;
		struct sweep_item it = sweep_item_make(s, i);
		pid_t pid =
			sweep_start(s, &it, sweep_file(s, i, ".part"), sweep_file(s, i, ".out"));
		if (pid < 0) {
			base_say("error: no process for run %u: %s", i, strerror(errno));
			return BASE_EXIT_ENV;
		}
		jobs[(*n)++] = (struct job){pid, i};
	}
	return 0;
}

/*
 * With several jobs a run's place is taken by the next one before its report is read: a core would
 * be idle meanwhile. So the rule that stops a sweep sees the last report one run late.
 */
static int do_runs(struct sweep *s, struct sweep_tally *t)
{
	struct job *jobs = BASE_NEWN(&s->arena, struct job, s->jobs), ended;
	unsigned n = 0, next = s->share;
	int rc = 0, status;

	for (unsigned i = s->share; i < s->runs && !rc; i += s->shares)
		if (sweep_is_there(sweep_file(s, i, ".jsonl")))
			rc = sweep_tally_add(t, sweep_file(s, i, ".jsonl"), i);
	if (!rc)
		rc = start_some(s, t, &next, jobs, &n);
	while (n) {
		int late = wait_one(jobs, &n, &ended, &status);
		if (late)
			return rc ? rc : late;
		if (s->jobs > 1 && !rc)
			rc = start_some(s, t, &next, jobs, &n);
		late = end_run(s, t, ended.i, status);
		rc = rc ? rc : late;
		if (!rc)
			rc = start_some(s, t, &next, jobs, &n);
	}
	show_progress(s, t, true);
	return rc;
}

/* ---- the options ---------------------------------------------------------------------- */

/* What launchers call the number of a process, and how many there are. */
static void take_rank(struct sweep *s)
{
	static const char *const names[][2] = {
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"PMI_RANK", "PMI_SIZE"},
		{"SLURM_PROCID", "SLURM_NTASKS"},
		{"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
		{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"},
	};

	for (size_t i = 0; i < BASE_COUNTOF(names); i++) {
		const char *rank = getenv(names[i][0]), *size = getenv(names[i][1]);
		if (!rank || !size || atoi(size) < 2 || atoi(rank) < 0)
			continue;
		s->shares = (unsigned)atoi(size);
		s->share = (unsigned)atoi(rank) % s->shares;
		return;
	}
}

static int take_shard(struct sweep *s)
{
	const char *text = option_text(s->set, OPTION_SHARD);
	char end;

	s->shares = 1;
	if (!text) {
		take_rank(s);
		return 0;
	}
	if (sscanf(text, "%u/%u%c", &s->share, &s->shares, &end) == 2 && s->share < s->shares)
		return 0;
	base_say("error: --shard: found '%s', expected I/N with I from 0 to N - 1", text);
	return BASE_EXIT_USAGE;
}

/* Options of run that were given here, but for those of the report, which is ours. */
void sweep_pass_options(struct sweep *s)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_value *v = &s->set->v[i];
		if (v->source != OPTION_FROM_ARGV || i == OPTION_HELP || i == OPTION_QUIET ||
		    i == OPTION_SAVE || !option_belongs((enum option_id)i, OPTION_CMD_RUN) ||
		    option_belongs((enum option_id)i, OPTION_CMD_REPORT))
			continue;
		if (option_rows[i].type == OPTION_TYPE_FLAG)
			base_vec_push(&s->passed,
				      base_printf(&s->arena, "--%s=%s", option_rows[i].name,
						  v->num ? "yes" : "no"));
		else
			base_vec_push(&s->passed, base_printf(&s->arena, "--%s=%s",
							      option_rows[i].name, v->text));
	}
}

int sweep_refuse(const struct option_set *set, enum option_id id, const char *why)
{
	if (option_source(set, id) != OPTION_FROM_ARGV)
		return 0;
	base_say("error: --%s: %s", option_rows[id].name, why);
	return BASE_EXIT_USAGE;
}

int sweep_refuse_capsule(const char *path)
{
	struct judge_capsule c;

	if (judge_capsule_read(&c, path))
		return 0;
	judge_capsule_free(&c);
	base_say("error: %s: found a capsule, which is one launch: collider judge --judge-seeds=N "
		 "executes it in N schedules",
		 path);
	return BASE_EXIT_INPUT;
}

void sweep_know(struct sweep *s)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	s->self = base_strndup(&s->arena, self, n > 0 ? (size_t)n : 0);
	s->is_cpu = option_is(s->set, OPTION_DEVICE, "cpu") ||
		    (option_is(s->set, OPTION_DEVICE, "auto") && !spawn_has_gpu());
}

/* The folder belongs to one sweep: what it runs, with which options. */
static int open_folder(struct sweep *s)
{
	const char *path = base_printf(&s->arena, "%s/sweep", s->dir);
	struct base_buf b = {0};
	char *old = NULL;
	size_t n = 0;
	int rc = 0, err = mkdir(s->dir, 0777) && errno != EEXIST ? errno : 0;

	base_buf_printf(&b, "seed=%llu vary=%u", (unsigned long long)s->seed,
			option_list(s->set, OPTION_VARY));
	for (size_t i = 0; i < s->passed.n; i++)
		base_buf_printf(&b, " %s", s->passed.v[i]);
	base_buf_puts(&b, " --");
	for (size_t i = 0; i < s->set->args.n; i++)
		base_buf_printf(&b, " %s", s->set->args.v[i]);
	base_buf_puts(&b, "\n");
	if (!err && base_read_file(path, &old, &n))
		err = base_write_file(path, b.p, b.n);
	if (err) {
		base_say("error: --dir: %s: %s", s->dir, strerror(err));
		rc = BASE_EXIT_INPUT;
	} else if (old && (n != b.n || memcmp(old, b.p, n))) {
		base_say("error: --dir: %s holds another sweep: %.*s", s->dir,
			 (int)strcspn(old, "\n"), old);
		rc = BASE_EXIT_INPUT;
	}
	free(old);
	base_buf_free(&b);
	return rc;
}

int sweep_open(struct sweep *s)
{
	static const char why[] = "a sweep keeps the reports of its runs in --dir";
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int rc;

	if (!s->set->args.n) {
		base_say("error: sweep needs a program: collider sweep [OPTIONS] [--] APP "
			 "[ARGUMENTS]");
		return BASE_EXIT_USAGE;
	}
	rc = sweep_refuse_capsule(s->set->args.v[0]);
	if (rc)
		return rc;
	sweep_know(s);
	s->dir = option_text(s->set, OPTION_DIR);
	s->runs = (unsigned)option_int(s->set, OPTION_RUNS);
	s->seed = (uint64_t)option_int(s->set, OPTION_SEED);
	s->is_tty = isatty(STDERR_FILENO) && !option_flag(s->set, OPTION_QUIET);
	s->jobs = (unsigned)option_int(s->set, OPTION_JOBS);
	if (!s->jobs)
		s->jobs = s->is_cpu && cores > 0 ? (unsigned)cores : 1;
	rc = take_shard(s);
	if (!rc)
		rc = sweep_refuse(s->set, OPTION_SAVE, why);
	if (!rc)
		rc = sweep_refuse(s->set, OPTION_JSON, why);
	if (!rc)
		rc = sweep_refuse(s->set, OPTION_LOG_FILE, why);
	sweep_pass_options(s);
	return rc ? rc : open_folder(s);
}

/* All reports of the folder as one, those of other shares, too. */
static int read_all(struct sweep *s, struct race_results *r)
{
	struct base_sink sink = {0};
	int rc = 0;

	for (unsigned i = 0; i < s->runs && !rc; i++)
		if (sweep_is_there(sweep_file(s, i, ".jsonl")))
			rc = rep_json_read(sweep_file(s, i, ".jsonl"), r, &sink);
	cli_flush(&sink);
	return rc;
}

static int write_report(struct sweep *s, struct sweep_tally *t, const struct cli_view *view)
{
	struct race_results r = {0};
	struct base_buf out = {0};
	int rc = read_all(s, &r);

	if (!rc)
		rep_put(&r, &view->opt, &out);
	if (!rc && view->opt.format == REP_TEXT) {
		base_buf_printf(
			&out, "\n%u of %u runs in %s%s\n", t->ended, s->runs, s->dir,
			t->ended < (s->runs - s->share + s->shares - 1) / s->shares
				? ": the later half of them brought nothing new (--all-runs "
				  "goes on)"
				: "");
		sweep_commands(s, t, &out);
	}
	if (!rc)
		rc = cli_print(&out);
	if (!rc)
		rc = cli_view_code(view, s->set, &r, 0);
	base_buf_free(&out);
	race_results_free(&r);
	return rc;
}

int cli_sweep(struct option_set *set)
{
	struct sweep s = {.set = set};
	struct sweep_tally t = {0};
	struct cli_view view;
	int rc = sweep_open(&s);

	if (!rc)
		rc = cli_view_open(&view, set, STDOUT_FILENO);
	if (!rc) {
		rc = do_runs(&s, &t);
		if (!rc)
			rc = write_report(&s, &t, &view);
		cli_view_close(&view);
	}
	sweep_tally_free(&t);
	base_vec_free(&s.passed);
	base_arena_free(&s.arena);
	return rc;
}
