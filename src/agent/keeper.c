/*
 * keeper.c - holds the shared file while the program runs, in case `collider run` is killed.
 *
 * SIGKILL (by hand, or when memory is short) leaves no time for a report, and the file is a memfd:
 * it is gone with the last process that holds it. So a small process in a session of its own holds
 * it, and a pipe shows how we ended. After a byte it exits; at the end of the pipe without one it
 * waits for the program (which has received SIGTERM, its parent-death signal), kills it if that
 * takes longer than GRACE_MS, and writes the file to where `collider report --rescue` looks for it.
 *
 * Misses: SIGKILL to the whole session's control group ends the keeper, too. Children of the
 * program are not ended. Costs: a fork for each run; a rescued file has the size of what was
 * written.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "agent/keeper.h"
#include "agent/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS 2000
#define PIECE	 65536

/* ---- the folder ------------------------------------------------------------------------- */

const char *spawn_rescue_folder(struct base_arena *a)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");

	if (run && *run == '/')
		return base_printf(a, "%s/collider", run);
	return base_printf(a, "%s/collider-%u", tmp && *tmp == '/' ? tmp : "/tmp",
			   (unsigned)getuid());
}

/* ---- the program's end -------------------------------------------------------------------- */

static bool has_ended(int pidfd, pid_t app, int ms)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	static const struct timespec step = {.tv_nsec = 20000000};

	if (pidfd >= 0)
		return poll(&p, 1, ms) > 0;
	for (int waited = 0; waited < ms; waited += 20) {
		if (kill(app, 0) && errno == ESRCH)
			return true;
		nanosleep(&step, NULL);
	}
	return false;
}

static void end_program(int pidfd, pid_t app)
{
	if (has_ended(pidfd, app, GRACE_MS))
		return;
	if (pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	else
		kill(app, SIGKILL);
	has_ended(pidfd, app, GRACE_MS);
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool copy_piece(int from, int to, off_t at, off_t end)
{
	static char piece[PIECE];

	while (at < end) {
		ssize_t n = pread(from, piece,
				  end - at < PIECE ? (size_t)(end - at) : (size_t)PIECE, at);
		if (n <= 0 || pwrite(to, piece, (size_t)n, at) != n)
			return false;
		at += n;
	}
	return true;
}

/* What was written of a sparse file. */
static bool copy_file(int from, int to)
{
	struct stat st;
	off_t end = 0;

	if (fstat(from, &st) || ftruncate(to, st.st_size))
		return false;
	for (off_t at; (at = lseek(from, end, SEEK_DATA)) >= 0;) {
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0 || !copy_piece(from, to, at, end))
			return false;
	}
	return true;
}

static void rescue(int shm_fd, const char *folder, pid_t app)
{
	char part[PATH_MAX], path[PATH_MAX];
	struct stat st;

	if (mkdir(folder, 0700) && errno != EEXIST)
		return;
	/* In /tmp the name could belong to another user. */
	if (lstat(folder, &st) || !S_ISDIR(st.st_mode) || st.st_uid != getuid())
		return;
	if (snprintf(path, sizeof(path), "%s/%d" SPAWN_RESCUE_END, folder, (int)app) >= PATH_MAX ||
	    snprintf(part, sizeof(part), "%s/%d.part", folder, (int)app) >= PATH_MAX)
		return;
	int to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return;
	bool is_whole = copy_file(shm_fd, to);
	is_whole = close(to) == 0 && is_whole;
	if (!is_whole || rename(part, path))
		unlink(part);
}

/* ---- the process ----------------------------------------------------------------------------- */

static void close_others(int a, int b)
{
	int lo = a < b ? a : b, hi = a < b ? b : a;
	long max = sysconf(_SC_OPEN_MAX);

	/* No reader of our output may have to wait for the keeper. */
	if (max < 0 || max > 65536)
		max = 65536;
	for (int fd = 0; fd < max; fd++)
		if (fd != lo && fd != hi)
			close(fd);
}

__attribute__((noreturn)) static void keep(int in, int shm_fd, const char *folder)
{
	char byte;
	pid_t app;

	setsid();
	close_others(in, shm_fd);
	if (chdir("/"))
		_exit(0);
	prctl(PR_SET_NAME, "collider-keeper");
	if (read(in, &app, sizeof(app)) != (ssize_t)sizeof(app))
		_exit(0);
	int pidfd = (int)syscall(SYS_pidfd_open, app, 0);
	if (read(in, &byte, 1) != 0)
		_exit(0);
	end_program(pidfd, app);
	rescue(shm_fd, folder, app);
	_exit(0);
}

struct keeper keeper_start(int shm_fd)
{
	struct base_arena a = {0};
	const char *folder = spawn_rescue_folder(&a);
	struct keeper k = {0, -1};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == 0) {
		k.pid = fork();
		if (k.pid == 0)
			keep(ends[0], shm_fd, folder);
		close(ends[0]);
		if (k.pid > 0)
			k.fd = ends[1];
		else
			close(ends[1]);
	}
	if (k.pid < 0)
		k.pid = 0;
	base_arena_free(&a);
	return k;
}

/* Without a reader a write would end us. */
static void send(const struct keeper *k, const void *p, size_t n)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
	ssize_t sent;

	if (k->fd < 0)
		return;
	sigaction(SIGPIPE, &ignore, &old);
	sent = write(k->fd, p, n);
	(void)sent;
	sigaction(SIGPIPE, &old, NULL);
}

void keeper_watch(const struct keeper *k, pid_t app)
{
	send(k, &app, sizeof(app));
}

void keeper_end(struct keeper *k)
{
	send(k, "", 1);
	if (k->fd >= 0)
		close(k->fd);
	while (k->pid > 0 && waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*k = (struct keeper){0, -1};
}
