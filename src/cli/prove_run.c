/*
 * prove_run.c - runs a program to see what it launches (prove.h).
 *
 * On a GPU where there is one, else on the CPU device, and without checks: what the kernels compute
 * decides only what the program launches next. The agent isn't needed for that.
 *
 * Misses: kernels that the CPU device refuses, and those after an end by a signal; on a GPU,
 * kernels without PTX for it. Costs: the program's time.
 */
#include "agent/spawn.h"
#include "base/option.h"
#include "cli/cli.h"
#include "cli/prove.h"
#include "race/file/shm_write.h"

static int choose_cpu(struct spawn_request *req, const char *path, struct base_arena *a,
		      struct base_sink *sink)
{
	struct base_buf options = {0};

	option_encode_one(&options, OPTION_RECORD_LAUNCHES, path);
	req->cudart = spawn_find_cudart(a, sink);
	req->cpu_options = base_strndup(a, options.p, options.n);
	base_buf_free(&options);
	return req->cudart ? 0 : BASE_EXIT_ENV;
}

/* Without the agent, whatever the program loads stays as it is. */
static int choose_gpu(struct spawn_request *req, const char *path, struct base_arena *a)
{
	const char *driver = spawn_find_driver(a), *why = "no CUDA driver on this machine";
	char **environment = BASE_NEWN(a, char *, 2);

	if (driver && spawn_has_rights(req->argv[0]))
		why = "the program runs with another user's rights, so that nothing is preloaded";
	else if (driver)
		req->forward = spawn_find_forward(a, driver, &why);
	environment[0] = cli_recorded_variable(a, path);
	if (!req->forward || !environment[0]) {
		base_say("error: launches on the GPU can't be seen: %s (--device=cpu needs none)",
			 why);
		return BASE_EXIT_ENV;
	}
	req->environment = environment;
	req->given = base_printf(a, "%s\n\n\n\n\n\n", driver);
	req->is_lazy = true;
	return 0;
}

static bool takes_gpu(const struct option_set *set)
{
	return option_is(set, OPTION_DEVICE, "gpu") ||
	       (option_is(set, OPTION_DEVICE, "auto") && spawn_has_gpu());
}

static void say_unnoted(const struct race_shm *shm, struct base_arena *a)
{
	const char *line;

	for (unsigned i = 0; i < RACE_UNNOTED_KINDS; i++)
		if ((line = cli_recorded_unnoted(a, shm, i)))
			base_say("%s", line);
}

int prove_record(const struct option_set *set, const char *path, struct base_arena *a)
{
	struct base_sink sink = {0};
	struct spawn_result res;
	struct spawn_request req = {.argv = set->args.v,
				    .sample = RACE_SAMPLE_NEVER,
				    .flags = 1u << RACE_DETECTORS << RACE_RUN_DETECTORS_AT};
	int rc = takes_gpu(set) ? choose_gpu(&req, path, a) : choose_cpu(&req, path, a, &sink);

	if (!rc)
		rc = spawn_app(&req, &res, &sink);
	cli_flush(&sink);
	if (rc)
		return rc;
	if (res.exit_code)
		base_say("the program ended with %d; what it launched until then is analysed",
			 res.exit_code);
	say_unnoted(res.shm, a);
	spawn_free(&res);
	return 0;
}
