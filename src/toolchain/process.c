/*
 * process.c - child processes, signals and temporary files of one tool run.
 *
 * A wrapper must behave like the tool that it wraps: it ends with the same code, or by the same
 * signal. All temporary files lie in one folder of this process (mkdtemp, so parallel makes don't
 * meet). It is removed at the end and from the signal handler, which therefore only uses
 * async-signal-safe calls on names fixed beforehand. SIGKILL leaves the folder behind.
 */
#include "base/clock.h"
#include "toolchain/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TEMPS 80

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static volatile pid_t child;
static volatile sig_atomic_t got_signal;
static volatile bool is_guest; /* a child of tool_call: files belong to the parent */
static char *temp_dir;
static char *temps[MAX_TEMPS];
static volatile sig_atomic_t ntemps;

void tool_cleanup(void)
{
	if (is_guest)
		return;
	for (int i = 0; i < ntemps; i++)
		unlink(temps[i]);
	if (temp_dir)
		rmdir(temp_dir);
	temp_dir = NULL;
	ntemps = 0;
}

static void on_signal(int sig)
{
	if (child > 0) {
		got_signal = sig;
		kill(child, sig);
		return;
	}
	tool_cleanup();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_signals(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	for (size_t i = 0; i < BASE_COUNTOF(caught); i++) {
		struct sigaction sa = {.sa_handler = on_signal}, old;
		/* A signal that the caller ignores (nohup) stays ignored. */
		if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(caught[i], &sa, NULL);
	}
}

const char *tool_temp(const char *name)
{
	static struct base_arena arena; /* as long as the process */

	if (!temp_dir) {
		const char *dir = getenv("TMPDIR");
		char *path = base_printf(&arena, "%s/collider-XXXXXX", dir && *dir ? dir : "/tmp");
		catch_signals();
		if (!mkdtemp(path)) {
			base_say("%s: no temporary folder: %s", path, strerror(errno));
			return NULL;
		}
		temp_dir = path;
	}
	char *file = base_printf(&arena, "%s/%s", temp_dir, name);
	for (int i = 0; i < ntemps; i++) {
		if (!strcmp(temps[i], file)) {
			unlink(file);
			return temps[i];
		}
	}
	if (ntemps == MAX_TEMPS) {
		base_say("too many temporary files");
		return NULL;
	}
	temps[ntemps] = file;
	ntemps++;
	return file;
}

int tool_exec(const char *path, char **argv)
{
	tool_cleanup();
	execv(path, argv);
	base_say("%s: %s", path, strerror(errno));
	return BASE_EXIT_ENV;
}

/* In the child: messages to a file when asked for, default signals, then the program. */
static void become(const char *path, char **argv, const char *messages)
{
	for (size_t i = 0; i < BASE_COUNTOF(caught); i++) {
		struct sigaction old;
		if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler == on_signal)
			signal(caught[i], SIG_DFL);
	}
	if (messages) {
		int fd = open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
			_exit(BASE_EXIT_ENV);
		close(fd);
	}
	execv(path, argv);
	_exit(127);
}

/* Forks with signals held, so that none arrives before `child` is set, to which it is passed on. */
static pid_t fork_child(void)
{
	sigset_t block, old;

	catch_signals();
	sigfillset(&block);
	sigprocmask(SIG_BLOCK, &block, &old);
	fflush(NULL);
	pid_t pid = fork();
	child = pid;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		base_say("no new process: %s", strerror(errno));
	return pid;
}

/* waitpid, with a function called while it lasts. */
static pid_t wait_ticking(pid_t pid, int *status, tool_tick *tick, void *arg)
{
	const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
	uint64_t began = base_now_ns();
	pid_t got;

	if (!tick)
		return waitpid(pid, status, 0);
	while ((got = waitpid(pid, status, WNOHANG)) == 0) {
		tick(arg, 1e-9 * (double)(base_now_ns() - began));
		nanosleep(&pause, NULL);
	}
	return got;
}

/* The child's end, as tool_run returns it. */
static int wait_child(pid_t pid, tool_tick *tick, void *arg)
{
	int status;

	while (wait_ticking(pid, &status, tick, arg) < 0) {
		if (errno != EINTR) {
			base_say("waiting for a child: %s", strerror(errno));
			return BASE_EXIT_INTERNAL;
		}
	}
	child = 0;
	if (got_signal) {
		tool_cleanup();
		tool_finish(TOOL_SIGNAL + got_signal);
	}
	return WIFSIGNALED(status) ? TOOL_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int tool_run_ticking(const char *path, char **argv, const char *messages, tool_tick *tick,
		     void *arg)
{
	pid_t pid = fork_child();

	if (pid < 0)
		return BASE_EXIT_ENV;
	if (pid == 0)
		become(path, argv, messages);
	return wait_child(pid, tick, arg);
}

int tool_run(const char *path, char **argv, const char *messages)
{
	return tool_run_ticking(path, argv, messages, NULL, NULL);
}

int tool_call(int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork_child();

	if (pid < 0)
		return BASE_EXIT_ENV;
	if (pid == 0) {
		/* The folder is the parent's to remove. */
		is_guest = true;
		int rc = fn(arg);
		fflush(NULL);
		_exit(rc);
	}
	return wait_child(pid, NULL, NULL);
}

int tool_finish(int code)
{
	if (code > TOOL_SIGNAL && code < TOOL_SIGNAL + NSIG) {
		/* Only the child's core dump is of use. */
		struct rlimit none = {0};
		setrlimit(RLIMIT_CORE, &none);
		signal(code - TOOL_SIGNAL, SIG_DFL);
		raise(code - TOOL_SIGNAL);
	}
	return code;
}
