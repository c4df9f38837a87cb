/*
 * later.c - what wasn't proven in time as a program loaded its code is proven after it.
 *
 * A load waits for proofs for a part of ptxas's time only (prune.c); where that was too little
 * its entry in the cache says so. The library in the program's process then starts collider-load
 * once more, which leaves a process behind and ends at once: nothing of the program waits. That
 * process proves for as long as a build may, assembles, and replaces the entry, so the next load of
 * the code has all proofs. It runs only where a processor is idle. It may go on while the program
 * runs and LATER_S longer, and is ended then; each proof is kept by the prover, and the next run
 * takes it up.
 *
 *	detach	  one process watches another, which does the work in a process group of its own
 *	lock	  a socket with the entry's name, which ends with its process: of many processes
 *		  that load the same code one makes proofs, also where each has replaced the entry
 *
 * Misses: the launches of this run; kernels that take longer than LATER_S in each of many short
 * runs. Costs: the start of a process, some 10 ms, at each load until all is proven.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "toolchain/internal.h"
#include "image/kept.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LATER_S	 60 /* after the program's end */
#define ENDING_S 2  /* to remove temporary files */
#define PAUSE_MS 50

/* Is no other process of this user at the entry? None will be, as long as this one lives. */
static bool lock_entry(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX}; /* sun_path[0] is 0: it is no file */
	const char *slash = strrchr(path, '/');
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "collider-later-%u-%s",
			 (unsigned)getuid(), slash ? slash + 1 : path);

	return fd >= 0 && n > 0 && (size_t)n < sizeof(name.sun_path) - 1 &&
	       bind(fd, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0;
}

static bool is_left_to_do(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct image_kept *k = NULL;
	size_t size;

	if (fd >= 0) {
		k = image_kept_map(fd, &size);
		close(fd);
	}
	bool is_late = k && k->is_late;
	if (k)
		munmap((void *)(uintptr_t)k, size);
	return is_late;
}

static void give_way(void)
{
	const struct sched_param none = {0};
	int null = open("/dev/null", O_RDWR);

	setsid();
	/* Where that is refused it is only less polite. */
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	/* Who reads the program's messages to their end must not wait for us. */
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static bool ends_within(pid_t worker, time_t seconds, pid_t program)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
	time_t end = now_s() + seconds;

	while (waitpid(worker, NULL, WNOHANG) == 0) {
		if (program > 0 && kill(program, 0) == 0)
			end = now_s() + seconds;
		if (now_s() >= end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static void watch(pid_t worker, pid_t program)
{
	if (ends_within(worker, LATER_S, program))
		return;
	kill(-worker, SIGTERM);
	(void)ends_within(worker, ENDING_S, 0);
	kill(-worker, SIGKILL);
}

bool tool_detach(const char *entry, pid_t program)
{
	/* Signals of the program's terminal and its end are none of ours. */
	prctl(PR_SET_PDEATHSIG, 0);
	pid_t pid = fork();

	if (pid != 0)
		return false;
	if (!lock_entry(entry) || !is_left_to_do(entry))
		_exit(BASE_EXIT_OK);
	give_way();
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		return true;
	}
	if (pid > 0) {
		setpgid(pid, pid);
		watch(pid, program);
	}
	_exit(BASE_EXIT_OK);
}
