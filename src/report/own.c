/*
 * own.c - the report when the program was not started by `collider run`.
 *
 * Then no launcher reads the shared file, so our part of the program's process (the agent, the CPU
 * device's runtime) prints the text report to stderr at exit. A forked child does it: the renderers
 * may end their process when memory is exhausted, and the program's exit code must stay its own.
 * Costs a fork at exit. A program that is killed or calls _exit prints no report; that needs
 * `collider run`.
 */
#include "report/report.h"

#include <sys/wait.h>
#include <unistd.h>

#include "race/file/shm_write.h"

static int render(const struct race_shm *shm)
{
	struct rep_options opt = {.format = REP_TEXT};
	struct race_results r = {0};
	int rc = race_shm_read(shm, RACE_SHM_HEAP + shm->heap_limit, &r);

	if (rc == 0)
		rc = rep_render(&r, &opt, stderr);
	fflush(stderr);
	return rc;
}

void rep_own(const struct race_shm *shm)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		base_end_quietly(); /* the parent writes what the program has buffered */
		_exit(render(shm) ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		race_shm_say(
			"the report could not be written; start the program with `collider run`");
}
