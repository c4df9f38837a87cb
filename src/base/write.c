/*
 * write.c - writes within the user's process, without the signals that a write may send.
 *
 * They come to the thread that writes. It has them blocked meanwhile, and takes its own back; one
 * that was pending before stays so.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/child.h"

ssize_t base_write_unseen(int fd, const void *p, size_t n)
{
	static const struct timespec none;
	sigset_t ours, old, before, sent;

	sigemptyset(&ours);
	sigaddset(&ours, SIGXFSZ);
	sigaddset(&ours, SIGPIPE);
	sigpending(&before);
	pthread_sigmask(SIG_BLOCK, &ours, &old);
	ssize_t done = write(fd, p, n);
	int err = errno, sig = err == EFBIG ? SIGXFSZ : err == EPIPE ? SIGPIPE : 0;
	if (done < 0 && sig && !sigismember(&before, sig)) {
		sigemptyset(&sent);
		sigaddset(&sent, sig);
		sigtimedwait(&sent, NULL, &none);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = err;
	return done;
}

bool base_write_all_unseen(int fd, const void *p, size_t n)
{
	for (const char *at = p; n;) {
		ssize_t done = base_write_unseen(fd, at, n);
		if (done <= 0)
			return false;
		at += done;
		n -= (size_t)done;
	}
	return true;
}
