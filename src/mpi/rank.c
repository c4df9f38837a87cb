/*
 * rank.c - what a rank does: runs by its worker, and on rank 0 their handing out (rank.h).
 *
 * Rank 0 has a worker, too, so one rank is a sweep like others. All wait by looking, some 500 times
 * a second, as the waiting of most MPI libraries takes a whole core. A rank that is lost is noticed
 * when it can't be reached, or when its run is out for too long (hand.h); the files of finished
 * runs are there whatever happens.
 */
#include "base/clock.h"
#include "mpi/rank.h"
#include "mpi/hand.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS	    2
#define PATIENCE_MS 2000 /* a run isn't taken for lost before */
#define FAREWELL_MS 5000 /* rank 0 waits that long for ranks that are to end */
#define MOST_PRINTS 400u

extern char **environ;

/* ---- the worker --------------------------------------------------------------------------- */

/* The environment without what makes a process a rank: the program isn't one. */
static char **plain_environment(void)
{
	static const char *const prefixes[] = {"OMPI_", "PMIX_", "PMI_",
					       "SLURM_PROCID=", "SLURM_NTASKS="};
	size_t n = 0, to = 0;

	while (environ[n])
		n++;
	char **env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++) {
		bool is = false;
		for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++)
			is |= !strncmp(environ[i], prefixes[k], strlen(prefixes[k]));
		if (!is)
			env[to++] = environ[i];
	}
	return env;
}

static bool say(struct rank_worker *w, const char *line)
{
	char text[RANK_LINE + 1];
	int n = snprintf(text, sizeof(text), "%s\n", line);

	return write(w->in, text, (size_t)n) == n;
}

/* A line of the worker's. 1; 0: none within that time; -1: it has ended. */
static int listen_for(struct rank_worker *w, char line[RANK_LINE], int ms)
{
	for (;;) {
		char *end = memchr(w->text, '\n', w->n);
		if (end) {
			size_t n = (size_t)(end - w->text);
			memcpy(line, w->text, n);
			line[n] = 0;
			w->n -= n + 1;
			memmove(w->text, end + 1, w->n);
			return 1;
		}
		struct pollfd p = {.fd = w->out, .events = POLLIN};
		int is = poll(&p, 1, ms);
		if (is < 0 && errno == EINTR)
			continue;
		if (is <= 0)
			return is;
		ssize_t got = read(w->out, w->text + w->n, sizeof(w->text) - 1 - w->n);
		if (got <= 0)
			return -1;
		w->n += (size_t)got;
	}
}

int rank_start(struct rank_worker *w, const char *collider, char **options)
{
	posix_spawn_file_actions_t files;
	int to[2] = {-1, -1}, from[2] = {-1, -1}, status, all = 0;
	char **env = plain_environment(), line[RANK_LINE];
	size_t n = 0;

	memset(w, 0, sizeof(*w));
	while (options[n])
		n++;
	char **argv = calloc(n + 2, sizeof(*argv));
	if (!argv || !env || pipe(to) || pipe(from)) {
		perror("collider-mpi");
		return 3;
	}
	argv[0] = (char *)(uintptr_t) "collider-sweep-worker";
	memcpy(argv + 1, options, n * sizeof(*argv));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, to[0], 0);
	posix_spawn_file_actions_adddup2(&files, from[1], 1);
	posix_spawn_file_actions_addclose(&files, to[1]);
	posix_spawn_file_actions_addclose(&files, from[0]);
	int err = posix_spawnp(&w->pid, collider, &files, NULL, argv, env);
	posix_spawn_file_actions_destroy(&files);
	free(argv);
	free(env);
	close(to[0]);
	close(from[1]);
	w->in = to[1];
	w->out = from[0];
	signal(SIGPIPE, SIG_IGN);
	if (err) {
		fprintf(stderr, "collider-mpi: error: %s: %s\n", collider, strerror(err));
		return 3;
	}
	if (listen_for(w, line, -1) == 1 && sscanf(line, "sweep %u %d", &w->runs, &all) == 2) {
		w->goes_on = all;
		return 0;
	}
	if (waitpid(w->pid, &status, 0) != w->pid || !WIFEXITED(status) || !WEXITSTATUS(status))
		return 70;
	return WEXITSTATUS(status);
}

void rank_stop(struct rank_worker *w)
{
	close(w->in);
	close(w->out);
	if (w->pid > 0)
		waitpid(w->pid, NULL, 0);
}

/* ---- a rank ------------------------------------------------------------------------------- */

static void rest(void)
{
	const struct timespec t = {0, LOOK_MS * 1000000};

	nanosleep(&t, NULL);
}

static int serve(struct rank_worker *w, const struct rank_carrier *c)
{
	char line[RANK_LINE];
	int from;

	if (!c->send(c->arg, 0, "want"))
		return 3;
	for (;;) {
		while (!c->receive(c->arg, &from, line))
			rest();
		if (!strcmp(line, "end"))
			return c->send(c->arg, 0, "bye") ? 0 : 3;
		if (!say(w, line) || listen_for(w, line, -1) != 1) {
			snprintf(line, sizeof(line), "failed 0 70 rank %d: its worker has ended",
				 c->rank);
			c->send(c->arg, 0, line);
			return 70;
		}
		if (!c->send(c->arg, 0, line))
			return 3;
	}
}

/* ---- rank 0 ------------------------------------------------------------------------------- */

struct giver {
	struct rank_worker *w;
	const struct rank_carrier *c;
	struct hand hand;
	uint32_t *out; /* by rank: its run, or HAND_NONE */
	bool *waits;   /* it has asked */
	bool *is_gone;
	bool has_lost; /* a rank that can't be reached */
	int rc;
};

/* "done RUN PRINT..." or "failed RUN CODE TEXT" of a rank. */
static void take(struct giver *g, int rank, const char *line)
{
	uint64_t prints[MOST_PRINTS];
	unsigned run = 0, code = 0;
	int at = 0, more;
	size_t n = 0;

	if (sscanf(line, "failed %u %u %n", &run, &code, &at) == 2) {
		if (!g->rc)
			fprintf(stderr, "collider: error: run %u wrote no report: %s\n", run,
				line + at);
		g->rc = g->rc ? g->rc : (int)code;
	} else if (sscanf(line, "done %u%n", &run, &at) == 1) {
		unsigned long long print;
		while (n < MOST_PRINTS && sscanf(line + at, " %llx%n", &print, &more) == 1) {
			prints[n++] = print;
			at += more;
		}
		hand_done(&g->hand, run, base_now_ms(), prints, n);
	} else if (!strcmp(line, "bye")) {
		g->is_gone[rank] = true;
		return;
	}
	g->out[rank] = HAND_NONE;
	g->waits[rank] = true;
}

static bool is_over(const struct giver *g)
{
	return g->rc || hand_is_over(&g->hand);
}

static void give(struct giver *g, int rank)
{
	char line[64];
	uint32_t run = is_over(g) ? HAND_NONE : hand_next(&g->hand, base_now_ms(), PATIENCE_MS);

	if (run == HAND_NONE)
		return;
	snprintf(line, sizeof(line), "run %u", run);
	g->waits[rank] = false;
	g->out[rank] = run;
	if (rank ? g->c->send(g->c->arg, rank, line) : say(g->w, line))
		return;
	hand_lost(&g->hand, run);
	g->is_gone[rank] = g->has_lost = true;
}

/* What has come, from the own worker, too. */
static void hear(struct giver *g)
{
	char line[RANK_LINE];
	int from, is;

	while (g->c->receive(g->c->arg, &from, line))
		take(g, from, line);
	while (g->out[0] != HAND_NONE && (is = listen_for(g->w, line, 0)) != 0) {
		if (is < 0) {
			snprintf(line, sizeof(line), "failed %u 70 its worker has ended",
				 g->out[0]);
			g->is_gone[0] = true;
		}
		take(g, 0, line);
	}
}

/* Runs that are there already. */
static bool list(struct giver *g)
{
	char line[RANK_LINE];

	if (!say(g->w, "list"))
		return false;
	while (listen_for(g->w, line, -1) == 1) {
		if (!strcmp(line, "ok"))
			return true;
		take(g, 0, line);
	}
	return false;
}

/* All ranks that answer end; those that make a run have more time. False: some don't. */
static bool say_end(struct giver *g)
{
	uint64_t until = base_now_ms() + FAREWELL_MS + 3 * g->hand.longest;
	bool is_all = false;

	for (int r = 1; r < g->c->size; r++)
		if (!g->is_gone[r] && !g->c->send(g->c->arg, r, "end"))
			g->is_gone[r] = g->has_lost = true;
	while (!is_all && base_now_ms() < until) {
		hear(g);
		is_all = true;
		for (int r = 1; r < g->c->size; r++)
			is_all &= g->is_gone[r];
		rest();
	}
	return is_all && !g->has_lost;
}

static int hand_out(struct giver *g, bool *is_whole)
{
	for (int r = 0; r < g->c->size; r++)
		g->out[r] = HAND_NONE;
	if (!list(g))
		return 70;
	g->waits[0] = true;
	while (!is_over(g)) {
		hear(g);
		for (int r = 0; r < g->c->size; r++)
			if (g->waits[r] && !g->is_gone[r])
				give(g, r);
		rest();
	}
	while (g->out[0] != HAND_NONE) {
		hear(g);
		rest();
	}
	*is_whole = say_end(g);
	return g->rc;
}

int rank_main(struct rank_worker *w, const struct rank_carrier *c, bool *is_whole)
{
	struct giver g = {.w = w, .c = c};
	int rc = 3;

	*is_whole = true;
	if (c->rank)
		return serve(w, c);
	g.out = calloc((size_t)c->size, sizeof(*g.out));
	g.waits = calloc((size_t)c->size, sizeof(*g.waits));
	g.is_gone = calloc((size_t)c->size, sizeof(*g.is_gone));
	if (g.out && g.waits && g.is_gone && hand_init(&g.hand, w->runs, w->goes_on))
		rc = hand_out(&g, is_whole);
	hand_free(&g.hand);
	free(g.out);
	free(g.waits);
	free(g.is_gone);
	return rc;
}
