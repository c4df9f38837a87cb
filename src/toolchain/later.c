/*
 * later.c - what wasn't proven in time as a program loaded its code is proven after it.
 *
 * A load waits for proofs for a part of ptxas's time only (prune.c); where that was too little
 * its entry in the cache says so. The library in the program's process then starts collider-load
 * once more, which leaves a process behind and ends at once: nothing of the program waits. That
 * process proves for LATER_MS (prune.c), assembles, and replaces the entry, so the next load of the
 * code has what was proven by then, mostly all. It runs only where a processor is idle. It may go
 * on while the program runs and LATER_S longer, and is ended then; each proof is kept by the
 * prover, and the next run takes it up.
 *
 *	detach	  one process watches another, which does the work in a process group of its own
 *	lock	  a socket with the entry's name, which ends with its process: of many processes
 *		  that load the same code one makes proofs, also where each has replaced the entry
 *	turns	  a socket with the user's name: one works at a time, with all processors; a program
 *		  with a hundred modules would have a hundred provers' memory else
 *
 * It begins when the program has made launches, at its end or NOTES_MS after it has loaded the
 * code: what they had in common may be what a proof needs (race/noted.h).
 *
 * What isn't proven by then, as there are many kernels or a busy machine leaves the process no
 * time, is tried again in a later run, TOOL_LATER_MOST times in all.
 *
 * Misses: the launches of this run; code that takes ptxas so long that it isn't done LATER_S after
 * short runs. Costs: the start of a process, some 10 ms, at each load until all is proven.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/clock.h"
#include "toolchain/internal.h"
#include "image/kept.h"

#include <fcntl.h>
#include <poll.h>
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
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LATER_S	 60u /* after the program's end */
#define ENDING_S 2u  /* to remove temporary files */
#define NOTES_MS 5000
#define PAUSE_MS 50

/* Has no other process of this user the name? None will have it, as long as this one lives. */
static bool lock(const char *of)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX}; /* sun_path[0] is 0: it is no file */
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "collider-later-%u-%s",
			 (unsigned)getuid(), of);
	bool is_ours =
		fd >= 0 && n > 0 && (size_t)n < sizeof(name.sun_path) - 1 &&
		bind(fd, (struct sockaddr *)&name,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0;

	if (!is_ours && fd >= 0)
		close(fd);
	return is_ours;
}

static bool lock_entry(const char *path)
{
	const char *slash = strrchr(path, '/');

	return lock(slash ? slash + 1 : path);
}

/* Which is this of the processes that try to prove what the entry lacks? 0: it lacks nothing. */
static unsigned find_nth(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct image_kept *k = NULL;
	size_t size;

	if (fd >= 0) {
		k = image_kept_map(fd, &size);
		close(fd);
	}
	unsigned nth = k ? k->late : 0;
	if (k)
		munmap((void *)(uintptr_t)k, size);
	return nth;
}

static void give_way(void)
{
	const struct sched_param none = {0};
	int null = open("/dev/null", O_RDWR);
	sigset_t none_blocked;

	setsid();
	/* As the program's thread had them blocked. */
	sigemptyset(&none_blocked);
	sigprocmask(SIG_SETMASK, &none_blocked, NULL);
	signal(SIGTERM, SIG_DFL);
	/* Where that is refused it is only less polite. */
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	/* Who reads the program's messages to their end must not wait for us. */
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

/* The program that loads the code. Once it has ended its number may be another process's, or it may
 * be a zombie: a descriptor says so; -1: there are none (Linux before 5.3). */
struct program {
	pid_t pid;
	int fd;
};

static struct program find_program(pid_t pid)
{
	return (struct program){pid, pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0u) : -1};
}

static bool is_running(const struct program *p)
{
	struct pollfd ends = {.fd = p->fd, .events = POLLIN};

	return p->fd >= 0 ? poll(&ends, 1, 0) == 0 : p->pid > 0 && kill(p->pid, 0) == 0;
}

static void wait_a_little(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};

	nanosleep(&pause, NULL);
}

/* The time that is left: it begins when the program has ended. */
static bool is_time_over(const struct program *p, uint64_t *end)
{
	if (is_running(p))
		*end = base_now_ms() + 1000 * LATER_S;
	return base_now_ms() >= *end;
}

static bool ends_within(pid_t worker, uint64_t end, const struct program *p)
{
	while (waitpid(worker, NULL, WNOHANG) == 0) {
		if (p ? is_time_over(p, &end) : base_now_ms() >= end)
			return false;
		wait_a_little();
	}
	return true;
}

static void watch(pid_t worker, uint64_t end, const struct program *p)
{
	if (ends_within(worker, end, p))
		return;
	kill(-worker, SIGTERM);
	(void)ends_within(worker, base_now_ms() + 1000 * ENDING_S, NULL);
	kill(-worker, SIGKILL);
}

static void wait_for_launches(const struct program *p)
{
	uint64_t end = base_now_ms() + NOTES_MS;

	while (is_running(p) && base_now_ms() < end)
		wait_a_little();
}

static bool takes_turn(uint64_t *end, const struct program *p)
{
	while (!lock("turn")) {
		if (is_time_over(p, end))
			return false;
		wait_a_little();
	}
	return true;
}

unsigned tool_detach(const char *entry, pid_t pid_of_program)
{
	struct program program = find_program(pid_of_program);
	uint64_t end = base_now_ms() + 1000 * LATER_S;

	/* Signals of the program's terminal and its end are none of ours. */
	prctl(PR_SET_PDEATHSIG, 0);
	pid_t pid = fork();

	if (pid != 0)
		return 0;
	unsigned nth = lock_entry(entry) ? find_nth(entry) : 0;
	if (!nth)
		_exit(BASE_EXIT_OK);
	give_way();
	wait_for_launches(&program);
	if (!takes_turn(&end, &program))
		_exit(BASE_EXIT_OK);
	pid_t watcher = getpid();
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		/* Who kills the one means both. */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != watcher)
			_exit(BASE_EXIT_OK);
		return nth;
	}
	if (pid > 0) {
		setpgid(pid, pid);
		watch(pid, end, &program);
	}
	_exit(BASE_EXIT_OK);
}
