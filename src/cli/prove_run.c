/*
 * prove_run.c - runs a program to see what it launches (prove.h).
 *
 * On the CPU device, where each kernel's text is at hand too, and without checks: what the kernels
 * compute decides only what the program launches next.
 *
 * Misses: kernels that the CPU device refuses, and those after an end by a signal.
 * Costs: the program's time on the CPU device.
 */
#include "agent/spawn.h"
#include "base/option.h"
#include "cli/cli.h"
#include "cli/prove.h"
#include "race/file/shm_write.h"

int prove_record(char *const *argv, const char *path, struct base_arena *a)
{
	struct base_sink sink = {0};
	struct base_buf options = {0};
	struct spawn_result res;

	option_encode_one(&options, OPTION_RECORD_LAUNCHES, path);
	struct spawn_request req = {
		.argv = argv,
		.sample = RACE_SAMPLE_NEVER,
		.flags = 1u << RACE_DETECTORS << RACE_RUN_DETECTORS_AT,
		.cudart = spawn_find_cudart(a, &sink),
		.cpu_options = base_strndup(a, options.p, options.n),
	};
	int rc = req.cudart ? spawn_app(&req, &res, &sink) : BASE_EXIT_ENV;
	cli_flush(&sink);
	base_buf_free(&options);
	if (rc)
		return rc;
	if (res.exit_code)
		base_say("the program ended with %d; what it launched until then is analysed",
			 res.exit_code);
	spawn_free(&res);
	return 0;
}
