/*
 * sweep_worker.c - makes those runs of a sweep that it is asked for: the child of a rank of
 * collider-mpi (mpi/rank.h).
 *
 * First it says "sweep RUNS GOES-ON". It reads lines: "list" is answered with a line for each run
 * that is in the folder, and "ok"; "run I" with "done I PRINT...", the fingerprints of its races,
 * or "failed I CODE TEXT". A run's files have the process in their names until it has ended, as two
 * ranks may make the same run when one seems lost.
 */
#include "cli/sweep.h"
#include "cli/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_PRINTS 400u /* in an answer */

static void answer_done(unsigned i, const char *path)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	struct base_arena a = {0};
	struct rep_brief *all = NULL;
	size_t n = rep_json_read(path, &r, &sink) ? 0 : rep_briefs(&a, &r, &all), shown = 0;

	printf("done %u", i);
	for (size_t k = 0; k < n && shown < MOST_PRINTS; k++)
		if (all[k].is_race) {
			printf(" %" PRIx64, all[k].print);
			shown++;
		}
	putchar('\n');
	base_sink_free(&sink);
	base_arena_free(&a);
	race_results_free(&r);
}

static void make_run(struct sweep *s, unsigned i)
{
	const char *part = base_printf(&s->arena, "%s/%u.%d.part", s->dir, i, (int)getpid());
	const char *log = base_printf(&s->arena, "%s/%u.%d.out", s->dir, i, (int)getpid());
	struct sweep_item it = sweep_item_make(s, i);
	pid_t pid = sweep_start(s, &it, part, log);
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || rename(part, sweep_file(s, i, ".jsonl"))) {
		printf("failed %u %d %.1000s\n", i,
		       pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status)
									   : BASE_EXIT_ENV,
		       sweep_why(s, log));
		return;
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		unlink(log);
	answer_done(i, sweep_file(s, i, ".jsonl"));
}

static void work(struct sweep *s)
{
	char line[64];
	unsigned i;

	printf("sweep %u %d\n", s->runs, option_flag(s->set, OPTION_ALL_RUNS));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "list\n")) {
			for (i = 0; i < s->runs; i++)
				if (sweep_is_there(sweep_file(s, i, ".jsonl")))
					answer_done(i, sweep_file(s, i, ".jsonl"));
			puts("ok");
		} else if (sscanf(line, "run %u", &i) == 1 && i < s->runs) {
			if (sweep_is_there(sweep_file(s, i, ".jsonl")))
				answer_done(i, sweep_file(s, i, ".jsonl"));
			else
				make_run(s, i);
		}
		fflush(stdout);
	}
}

int cli_sweep_worker(int argc, char **argv)
{
	struct option_set set;
	struct sweep s = {.set = &set};
	struct base_sink sink = {0};
	const char *env = getenv("COLLIDER_OPTIONS");
	int rc = 0;

	option_init(&set, OPTION_CMD_SWEEP);
	if (env)
		rc = option_read_env(&set, "COLLIDER_OPTIONS", env, &sink);
	if (!rc)
		rc = option_parse(&set, argc - 1, argv + 1, &sink);
	cli_flush(&sink);
	if (!rc)
		rc = sweep_open(&s);
	if (!rc)
		work(&s);
	base_vec_free(&s.passed);
	base_arena_free(&s.arena);
	option_free(&set);
	return rc;
}
