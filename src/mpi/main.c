/*
 * main.c - collider-mpi: a sweep whose runs are handed out to the ranks of an MPI job.
 *
 *     mpirun -n 4 collider-mpi [OPTIONS of sweep] -- APP [ARGUMENTS]
 *
 * The folder of --dir is one that all ranks see. Rank 0 prints the report at the end, as `collider
 * sweep` does, which it calls for that. Without this program sweep shares its runs by rank and size
 * beforehand.
 *
 * Misses: without a launcher that tolerates it, the job ends with the rank that is lost; what has
 * ended is in the folder, and the same command goes on from there.
 */
#include "mpi/rank.h"

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAG 1

static bool send_line(void *arg, int to, const char *line)
{
	(void)arg;
	return MPI_Send(line, (int)strlen(line) + 1, MPI_CHAR, to, TAG, MPI_COMM_WORLD) ==
	       MPI_SUCCESS;
}

static bool receive_line(void *arg, int *from, char line[RANK_LINE])
{
	MPI_Status status;
	int is = 0;

	(void)arg;
	if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is, &status) != MPI_SUCCESS || !is)
		return false;
	*from = status.MPI_SOURCE;
	return MPI_Recv(line, RANK_LINE, MPI_CHAR, *from, TAG, MPI_COMM_WORLD, &status) ==
	       MPI_SUCCESS;
}

/* `collider` beside this program, or that of PATH. */
static const char *find_collider(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("/collider"));
	char *slash;

	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	if (slash) {
		memcpy(slash, "/collider", sizeof("/collider"));
		if (!access(path, X_OK))
			return path;
	}
	return "collider";
}

/* The report of all runs: what is left to be done is that. */
static int report(const char *collider, char **options)
{
	size_t n = 0;

	while (options[n])
		n++;
	char **argv = calloc(n + 4, sizeof(*argv));
	if (!argv)
		return 70;
	argv[0] = (char *)(uintptr_t) "collider";
	argv[1] = (char *)(uintptr_t) "sweep";
	argv[2] = (char *)(uintptr_t) "--shard=0/1";
	memcpy(argv + 3, options, n * sizeof(*argv));
	execvp(collider, argv);
	perror("collider-mpi: collider");
	return 3;
}

int main(int argc, char **argv)
{
	struct rank_carrier c = {.send = send_line, .receive = receive_line};
	const char *collider = find_collider();
	struct rank_worker w;
	bool is_whole = true;

	if (argc < 2) {
		fputs("usage: mpirun -n N collider-mpi [OPTIONS of collider sweep] -- APP "
		      "[ARGUMENTS]\n",
		      stderr);
		return 2;
	}
	int rc = rank_start(&w, collider, argv + 1);
	if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
		return 3;
	MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c.size);
	if (rc)
		MPI_Abort(MPI_COMM_WORLD, rc);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	rc = rank_main(&w, &c, &is_whole);
	rank_stop(&w);
	/* Where a rank is lost MPI can't be left in order, and what is left here needs no MPI. */
	if (is_whole)
		MPI_Finalize();
	return c.rank || rc ? rc : report(collider, argv + 1);
}
