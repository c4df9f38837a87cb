/*
 * stand_in.c - ranks without MPI: processes with a socket each to rank 0.
 *
 *     stand_in COLLIDER RANKS LOSE [OPTIONS of sweep] -- APP
 *
 * Rank LOSE is killed as it is about to send its third message, with a run that it has made and not
 * reported; 0: none is. Prints whether rank 0 has noticed a loss.
 */
#include "mpi/rank.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 16

static int sockets[MOST]; /* by rank; of a rank its own is at 0 */
static int rank, size, lose, sent;

static bool send_line(void *arg, int to, const char *line)
{
	(void)arg;
	if (rank && rank == lose && ++sent == 3)
		raise(SIGKILL);
	return send(sockets[to], line, strlen(line) + 1, MSG_NOSIGNAL) > 0;
}

static bool receive_line(void *arg, int *from, char line[RANK_LINE])
{
	(void)arg;
	for (int r = rank ? 0 : 1; r < (rank ? 1 : size); r++) {
		ssize_t n = recv(sockets[r], line, RANK_LINE, MSG_DONTWAIT);
		if (n > 0) {
			*from = r;
			return true;
		}
		/* Rank 0 has gone: so does this one. */
		if (!n && rank)
			exit(3);
	}
	return false;
}

int main(int argc, char **argv)
{
	struct rank_carrier c = {.send = send_line, .receive = receive_line};
	struct rank_worker w;
	bool is_whole = true;

	if (argc < 5 || (size = atoi(argv[2])) < 1 || size > MOST)
		return 2;
	lose = atoi(argv[3]);
	for (int r = 1; r < size && !rank; r++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return 3;
		pid_t pid = fork();
		if (pid < 0)
			return 3;
		if (!pid) {
			rank = r;
			sockets[0] = pair[1];
		} else {
			sockets[r] = pair[0];
		}
		close(pid ? pair[1] : pair[0]);
	}
	c.rank = rank;
	c.size = size;
	int rc = rank_start(&w, argv[1], argv + 4);
	if (!rc)
		rc = rank_main(&w, &c, &is_whole);
	rank_stop(&w);
	if (rank)
		return rc;
	for (int r = 1; r < size; r++)
		close(sockets[r]);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	puts(is_whole ? "whole" : "a rank is lost");
	return rc;
}
