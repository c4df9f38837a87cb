/*
 * test_spawn.c - the launcher against fake_app: what the program left in the shared file is
 * there after every kind of end, and the exit code is its own.
 *
 * argv[1] is the path of fake_app. No test depends on how fast the machine is: the sleeps only
 * have to be longer than the limits that cut them off.
 */
#include "agent/spawn.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *fake_app;

/* Runs fake_app with the words of `line`; returns spawn_app's result. */
static int launch(const char *line, uint64_t timeout_ms, struct spawn_result *res,
		  struct base_sink *sink)
{
	static char copy[256];
	char *argv[16] = {fake_app};
	int n = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w && n < 15; w = strtok(NULL, " "))
		argv[n++] = w;
	struct spawn_request req = {.argv = argv,
				    .agent = "/nonexistent/agent.so",
				    .rdelay = 5000,
				    .wdelay = 1,
				    .sample = 2,
				    .seed = 3,
				    .flags = RACE_RUN_VERBOSE,
				    .timeout_ms = timeout_ms};
	memset(sink, 0, sizeof(*sink));
	return spawn_app(&req, res, sink);
}

static const struct race_region *region(const struct spawn_result *res, unsigned i)
{
	return (const void *)((const char *)res->shm + RACE_SHM_REGION0 +
			      i * sizeof(struct race_region));
}

/* The program ends as said, with or without a finding. */
static void check_end(const char *line, int exit_code, int sig, bool has_race)
{
	struct spawn_result res;
	struct base_sink sink;

	assert_int_equal(launch(line, 0, &res, &sink), 0);
	assert_int_equal(res.exit_code, exit_code);
	assert_int_equal(res.signal, sig);
	assert_false(res.is_timed_out);
	assert_int_equal(sink.diags.n, 0);
	assert_int_equal(res.shm->nregions, has_race ? 1 : 0);
	const struct race_record *rec = &region(&res, 0)->records[5];
	assert_int_equal(rec->valid, has_race ? RACE_RECORD_VALID : 0);
	assert_int_equal(rec->count, has_race ? 3 : 0);
	spawn_free(&res);
	base_sink_free(&sink);
}

static void test_ends(void **state)
{
	(void)state;
	check_end("race", 0, 0, true);
	check_end("race exit=3", 3, 0, true);
	check_end("race kill=9", 137, SIGKILL, true);
	check_end("race kill=15", 143, SIGTERM, true);
	check_end("exit=255", 255, 0, false);
	check_end("", 0, 0, false);
	check_end("fork race exit=4", 4, 0, true);
	check_end("fork race kill=9", 137, SIGKILL, true);
}

static void test_header(void **state)
{
	struct spawn_result res;
	struct base_sink sink;

	(void)state;
	assert_int_equal(launch("exit=0", 0, &res, &sink), 0);
	assert_true(res.shm->magic == RACE_SHM_MAGIC);
	assert_int_equal(res.shm->version, RACE_SHM_VERSION);
	assert_int_equal(res.shm->agent_state, RACE_AGENT_NONE);
	assert_int_equal(res.shm->heap_limit, RACE_SHM_HEAP_BYTES);
	/* The command line is in the file, for a report without the launcher. */
	const struct race_chunk *c = (const void *)((const char *)res.shm + RACE_SHM_HEAP);
	assert_int_equal(c->kind, RACE_CHUNK_COMMAND);
	assert_int_equal(res.shm->heap_used, c->room);
	assert_non_null(strstr((const char *)(c + 1), "exit=0"));
	assert_int_equal(res.shm->rdelay, 5000);
	assert_int_equal(res.shm->wdelay, 1);
	assert_int_equal(res.shm->sample, 2);
	assert_int_equal(res.shm->seed, 3);
	assert_int_equal(res.shm->flags, RACE_RUN_VERBOSE);
	spawn_free(&res);
}

static void test_time_limit(void **state)
{
	struct spawn_result res;
	struct base_sink sink;

	(void)state;
	assert_int_equal(launch("race sleep=600", 2000, &res, &sink), 0);
	assert_true(res.is_timed_out);
	assert_int_equal(res.signal, SIGTERM);
	assert_int_equal(res.shm->nregions, 1);
	spawn_free(&res);
	/* One that ignores the signal, and a child that nothing else would end. */
	assert_int_equal(launch("stubborn fork race sleep=600", 1000, &res, &sink), 0);
	assert_true(res.is_timed_out);
	assert_int_equal(res.signal, SIGKILL);
	assert_int_equal(res.shm->nregions, 1);
	pid_t child = (pid_t)region(&res, 0)->pid;
	assert_int_not_equal(child, res.pid);
	assert_int_equal(kill(child, 0), -1);
	spawn_free(&res);
	/* The twin: a program that is in time. */
	assert_int_equal(launch("race exit=5", 600000, &res, &sink), 0);
	assert_false(res.is_timed_out);
	assert_int_equal(res.exit_code, 5);
	spawn_free(&res);
}

static void test_not_startable(void **state)
{
	struct spawn_result res;
	struct base_sink sink = {0};
	char *missing[] = {"/nonexistent/app", NULL};
	char *folder[] = {"/", NULL};
	struct spawn_request req = {.argv = missing, .agent = "x"};

	(void)state;
	assert_int_equal(spawn_app(&req, &res, &sink), 127);
	assert_string_equal(sink.diags.v[0].text, "/nonexistent/app: No such file or directory");
	base_sink_free(&sink);
	req.argv = folder;
	assert_int_equal(spawn_app(&req, &res, &sink), 126);
	assert_string_equal(sink.diags.v[0].text, "/: Permission denied");
	base_sink_free(&sink);
}

static void test_eager(void **state)
{
	struct spawn_result res;
	struct base_sink sink;

	(void)state;
	unsetenv("CUDA_MODULE_LOADING");
	assert_int_equal(launch("exit=0", 0, &res, &sink), 0);
	assert_true(res.is_eager);
	spawn_free(&res);
	setenv("CUDA_MODULE_LOADING", "LAZY", 1);
	assert_int_equal(launch("exit=0", 0, &res, &sink), 0);
	assert_false(res.is_eager);
	spawn_free(&res);
	unsetenv("CUDA_MODULE_LOADING");
}

/* A second file is never the first one's: findings of one run can't show in another. */
static void test_fresh_file(void **state)
{
	(void)state;
	check_end("race", 0, 0, true);
	check_end("exit=0", 0, 0, false);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),	   cmocka_unit_test(test_header),
		cmocka_unit_test(test_time_limit), cmocka_unit_test(test_not_startable),
		cmocka_unit_test(test_eager),	   cmocka_unit_test(test_fresh_file),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: test_spawn FAKE_APP\n");
		return 2;
	}
	fake_app = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
