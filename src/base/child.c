/*
 * child.c - starts a program from within the user's process, unseen by it.
 *
 * A child of the process would send SIGCHLD, be found by its waitpid(-1), and be reaped by the
 * kernel where the program ignores its children. So there is one between: a process that shares
 * our memory, as vfork's do, announces its end by no signal (exit signal 0), and is waited for with
 * __WALL. It starts the tool, waits, and hands on the exit code. Signals are blocked in it, as
 * its handlers would be the program's; it ends when we do. The tool gets standard error, two
 * files, and nothing else that is open; it runs with the signals as the program's thread has
 * them blocked, no handlers, and SIGCHLD not ignored.
 *
 * Costs: one process start, 1 to 2 ms, without a copy of the process's page tables.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

#define STACK_BYTES (128u << 10)
#define HIGH	    64 /* a descriptor above those that the tool gets */

struct start {
	const char *path;
	char *const *argv, *const *env;
	int in, out;
	const sigset_t *mask;
	char *stack; /* the tool's, until it is one: its end */
};

/* In the tool's process, which still shares our memory. What is ignored stays so, but for the ends
 * of children: the tool has some to wait for. */
static int become_tool(void *arg)
{
	const struct start *s = arg;
	struct sigaction dfl = {.sa_handler = SIG_DFL}, old;

	for (int sig = 1; sig < NSIG; sig++)
		if (sigaction(sig, NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || sig == SIGCHLD))
			sigaction(sig, &dfl, NULL);
	sigprocmask(SIG_SETMASK, s->mask, NULL);
	execve(s->path, s->argv, s->env);
	_exit(127);
	return 127;
}

/* Descriptors 3 and 4 are the tool's files, 0 and 1 lead nowhere, the rest is closed. */
static void set_files(const struct start *s)
{
	int in = fcntl(s->in, F_DUPFD, HIGH), out = fcntl(s->out, F_DUPFD, HIGH);
	int null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	dup2(in, 3);
	dup2(out, 4);
	syscall(SYS_close_range, 5u, ~0u, 0u);
}

static int between(void *arg)
{
	struct start *s = arg;
	int status = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_files(s);
	/* Not vfork: AddressSanitizer has one of its own, which takes this stack for another. */
	pid_t pid = clone(become_tool, s->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, s);
	if (pid < 0)
		_exit(127);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 126);
}

int base_child_run(const char *path, char *const argv[], char *const env[], int in, int out)
{
	sigset_t all, old;
	struct start s = {path, argv, env, in, out, &old, NULL};
	int status = 0, err = errno;
	char *stack = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return -1;
	s.stack = stack + 2 * STACK_BYTES;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t pid = clone(between, stack + STACK_BYTES, CLONE_VM, &s);
	pid_t got = -1;
	while (pid > 0 && (got = waitpid(pid, &status, __WALL)) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	munmap(stack, 2 * STACK_BYTES);
	errno = err;
	return got == pid && pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
