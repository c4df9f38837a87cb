/*
 * wire.c - messages between a program's half and its judge, whole or not at all.
 *
 * Used in the user's process: no memory is allocated, no signal is raised when the other end is
 * gone (MSG_NOSIGNAL).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "race/judge/wire.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

uint64_t race_judge_extent(const struct race_judge_operation *op, const struct race_judge_place *p)
{
	uint64_t rows = op->height ? op->height - 1 : 0, slices = op->depth ? op->depth - 1 : 0;

	return p->addr ? op->bytes + rows * p->pitch + slices * p->slice : 0;
}

bool race_judge_write(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t k = send(fd, at, n, MSG_NOSIGNAL);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

bool race_judge_send(int fd, enum race_judge_op op, uint64_t launch, const void *head, size_t n,
		     const void *more, size_t m)
{
	struct race_judge_message msg = {
		.op = (uint32_t)op, .bytes = (uint32_t)(n + m), .launch = launch};

	return n + m <= RACE_JUDGE_MOST && race_judge_write(fd, &msg, sizeof(msg)) &&
	       race_judge_write(fd, head, n) && race_judge_write(fd, more, m);
}

bool race_judge_read(int fd, void *to, size_t n)
{
	char *at = to;

	while (n) {
		ssize_t k = recv(fd, at, n, 0);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

bool race_judge_next(int fd, struct race_judge_message *msg)
{
	return race_judge_read(fd, msg, sizeof(*msg)) && msg->op >= RACE_JUDGE_MODULE &&
	       msg->op <= RACE_JUDGE_DONE && msg->bytes <= RACE_JUDGE_MOST;
}

bool race_judge_skip(int fd, size_t n)
{
	char some[4096];

	while (n) {
		size_t k = n < sizeof(some) ? n : sizeof(some);
		if (!race_judge_read(fd, some, k))
			return false;
		n -= k;
	}
	return true;
}
