/*
 * signals.c - the program's signals and lists of buffers, while loads and stores of host code are
 * seen.
 *
 * The machine needs SIGSEGV, SIGTRAP and SIGSYS (src/cpu/events/host_signal.c). A handler that the
 * program sets for one of them is kept and called for what isn't the machine's; a thread that
 * blocks all signals still receives these, as a fault while they are blocked would end the process.
 * Calls with a list of buffers get the addresses at which the kernel may write. Nothing changes
 * without --host-accesses, nor for calls by this library itself.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "cudart/state/internal.h"
#include "cudart/state/threads.h"

EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	REAL(sigaction)
	if (!IS_OURS() && cpu_host_sigaction(sig, act, old))
		return 0;
	return real(sig, act, old);
}

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

	REAL(signal)
	if (!IS_OURS() && cpu_host_sigaction(sig, &a, &old))
		return old.sa_handler;
	return real(sig, handler);
}

/* The set without what the machine needs; `room` holds the changed one. */
static const sigset_t *open_set(int how, const sigset_t *set, sigset_t *room)
{
	if (!set || how == SIG_UNBLOCK || !cpu_host_needs_signal(SIGSEGV))
		return set;
	*room = *set;
	sigdelset(room, SIGSEGV);
	sigdelset(room, SIGTRAP);
	sigdelset(room, SIGSYS);
	return room;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t room;

	REAL(pthread_sigmask)
	return real(how, open_set(how, set, &room), old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t room;

	REAL(sigprocmask)
	return real(how, open_set(how, set, &room), old);
}

/* ---- lists of buffers ------------------------------------------------------------------- */

#define LIST_MAX 1024 /* IOV_MAX: longer ones are refused by the kernel */

static const struct iovec *open_list(const struct iovec *v, size_t n, struct iovec *room)
{
	bool is_any = false;

	for (size_t i = 0; i < n && n <= LIST_MAX; i++) {
		room[i] = v[i];
		room[i].iov_base = cpu_host_pointer(v[i].iov_base);
		is_any = is_any || room[i].iov_base != v[i].iov_base;
	}
	return is_any ? room : v;
}

#define LIST_CALL(name, params, args)                                                              \
	EXPORT ssize_t name params                                                                 \
	{                                                                                          \
		struct iovec room[LIST_MAX];                                                       \
		REAL(name)                                                                         \
		v = open_list(v, n > 0 ? (size_t)n : 0, room);                                     \
		return real args;                                                                  \
	}
LIST_CALL(readv, (int fd, const struct iovec *v, int n), (fd, v, n))
LIST_CALL(writev, (int fd, const struct iovec *v, int n), (fd, v, n))
LIST_CALL(preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
LIST_CALL(pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
LIST_CALL(preadv64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))
LIST_CALL(pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct iovec room[LIST_MAX], *was;

	REAL(recvmsg)
	if (!m)
		return real(fd, m, flags);
	was = m->msg_iov;
	m->msg_iov = (struct iovec *)(uintptr_t)open_list(was, m->msg_iovlen, room);
	ssize_t rc = real(fd, m, flags);
	m->msg_iov = was;
	return rc;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct iovec room[LIST_MAX];
	struct msghdr copy;

	REAL(sendmsg)
	if (!m)
		return real(fd, m, flags);
	copy = *m;
	copy.msg_iov = (struct iovec *)(uintptr_t)open_list(m->msg_iov, m->msg_iovlen, room);
	return real(fd, &copy, flags);
}
