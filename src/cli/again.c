/*
 * again.c - the second run of a program in which a proof was not enough (cudart/report/proven.c).
 *
 * A launch that is proven is judged as a whole. Where it races with something else, or leaves its
 * arrays, the lines and threads come from the same program with the same seed and --prune=none. It
 * gets no input, and what it prints is not shown. If it doesn't race then, as it isn't the same
 * twice, the report is the first run's.
 */
#include "cli/cli.h"
#include "agent/spawn.h"
#include "race/race.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* How many findings a run has; *left: some launch was not to be judged as a whole. */
static size_t count(const struct spawn_result *res, bool *left)
{
	struct race_results r = {0};
	size_t n = 0;

	*left = false;
	if (!race_shm_read(res->shm, RACE_SHM_BYTES, &r))
		n = r.findings.n;
	for (size_t i = 0; i < r.kernels.n; i++)
		*left |= r.kernels.v[i].left != 0;
	race_results_free(&r);
	return n;
}

/* Standard files lead nowhere, or are `old` again. */
static void hide(int old[3], bool is_hidden)
{
	for (int fd = 0; fd < 3; fd++) {
		if (is_hidden) {
			int null = open("/dev/null", O_RDWR | O_CLOEXEC);
			old[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
			if (null >= 0)
				dup2(null, fd);
			if (null > 2)
				close(null);
		} else if (old[fd] >= 0) {
			dup2(old[fd], fd);
			close(old[fd]);
		}
	}
}

void cli_run_again(const struct spawn_request *req, struct spawn_result *res)
{
	struct base_sink sink = {0};
	struct spawn_result second;
	int old[3];
	bool left;
	size_t first = count(res, &left);

	if (!left || res->is_timed_out)
		return;
	base_say("launches that are proven race-free may race with others: the program is run "
		 "once more without proofs");
	hide(old, true);
	int rc = spawn_app(req, &second, &sink);
	hide(old, false);
	base_sink_free(&sink);
	if (rc)
		return;
	if (!count(&second, &left) && first) {
		spawn_free(&second);
		return;
	}
	second.exit_code = res->exit_code;
	second.signal = res->signal;
	second.pid = res->pid;
	spawn_free(res);
	*res = second;
}
