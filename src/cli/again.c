/*
 * again.c - the second run of a program in which a proof was not enough (cudart/report/proven.c).
 *
 * A launch that is proven is judged as a whole. Where it races with something else, or leaves its
 * arrays, the lines and threads come from the same program with the same seed and --prune=none. It
 * gets its input again where that is a file, else none, and what it prints is not shown. If it
 * doesn't race then, as it isn't the same twice, or launches less, the report is the first run's:
 * partial, because of that launch.
 */
#include "cli/cli.h"
#include "agent/spawn.h"
#include "race/race.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct counts {
	uint64_t findings, launches;
	uint64_t left; /* launches that were not to be judged as a whole, and races with them */
};

static struct counts count(const struct spawn_result *res)
{
	struct race_results r = {0};
	struct counts n = {0};

	if (!race_shm_read(res->shm, RACE_SHM_BYTES, &r))
		n.findings = r.findings.n;
	for (size_t i = 0; i < r.kernels.n; i++) {
		n.left += r.kernels.v[i].left;
		n.launches += r.kernels.v[i].launches;
	}
	race_results_free(&r);
	return n;
}

/* Standard files lead nowhere, or are `old` again; input that is a file (its place, or -1) isn't
 * touched. */
static void hide(int old[3], bool is_hidden, off_t input)
{
	for (int fd = input >= 0; fd < 3; fd++) {
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

void cli_run_again(const struct spawn_request *req, struct spawn_result *res, off_t input)
{
	struct base_sink sink = {0};
	struct counts first = count(res), now;
	struct spawn_result second;
	int old[3];

	if (!first.left || res->is_timed_out)
		return;
	base_say("launches that are proven race-free may race with others: the program is run "
		 "once more without proofs");
	off_t end = input < 0 ? -1 : lseek(0, 0, SEEK_CUR);
	if (input >= 0)
		lseek(0, input, SEEK_SET);
	hide(old, true, input);
	int rc = spawn_app(req, &second, &sink);
	hide(old, false, input);
	if (input >= 0)
		lseek(0, end, SEEK_SET);
	base_sink_free(&sink);
	if (rc)
		return;
	now = count(&second);
	if (!now.findings && (first.findings || now.launches < first.launches)) {
		spawn_free(&second);
		return;
	}
	second.exit_code = res->exit_code;
	second.signal = res->signal;
	second.pid = res->pid;
	spawn_free(res);
	*res = second;
}
