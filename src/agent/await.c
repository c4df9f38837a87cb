/*
 * await.c - the launcher waits for the program: passes signals on, keeps the time limit, and ends
 * all that the program has started when it is over (spawn.c).
 *
 * At the limit kernels that loop are asked to stop first, where they look for that; then comes
 * SIGTERM, then SIGKILL.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "agent/await.h"
#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#define GRACE_MS  2000 /* between SIGTERM and SIGKILL */
#define STOP_MS	  1000 /* between the flag for loops that wait and SIGTERM */
#define HALT_MS	  500  /* the same for is_over, which is called every POLL_MS */
#define POLL_MS	  100
#define TICK_MS	  500
#define NS_PER_MS 1000000ull

/* Kills all children of this process except the keeper, until none is left. Orphans of the program
 * become our children one generation after the other. */
static void kill_children(pid_t keeper)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	for (int round = 0; round < 1000; round++) {
		FILE *f = fopen(path, "re");
		int child, n = 0;

		if (!f)
			return;
		while (fscanf(f, "%d", &child) == 1) {
			if ((pid_t)child == keeper)
				continue;
			kill((pid_t)child, SIGKILL);
			n++;
		}
		fclose(f);
		if (!n)
			return;
		/* WNOHANG first would spin; each SIGKILL ends one child soon. */
		if (waitpid(-1, NULL, 0) < 0 && errno != EINTR)
			return;
	}
}

/* The time limit: what to do next, and when. */
struct deadline {
	uint64_t at; /* ns, 0: none */
	bool is_term_sent, is_passed, is_halted;
	uint64_t poll; /* when to call is_over and tick again, 0: never */
	uint64_t began, ticked;
	struct race_shm *shm; /* kernels are asked there to stop; NULL: none would notice */
};

/* Signals the loops that wait, in all contexts. */
static void stop_kernels(struct race_shm *shm)
{
	struct race_region *r = (struct race_region *)(void *)((char *)shm + RACE_SHM_REGION0);

	for (unsigned i = 0; i < RACE_REGIONS; i++)
		if (__atomic_load_n(&r[i].state, __ATOMIC_ACQUIRE) != RACE_REGION_FREE)
			__atomic_store_n(&r[i].stop, 1, __ATOMIC_RELAXED);
}

static void pass_deadline(struct deadline *d, pid_t pid)
{
	d->is_passed = true;
	if (d->shm) {
		stop_kernels(d->shm);
		d->shm = NULL;
		d->at = base_now_ns() + STOP_MS * NS_PER_MS;
		return;
	}
	if (!d->is_term_sent) {
		kill(pid, SIGTERM);
		kill(pid, SIGCONT);
		d->is_term_sent = true;
		d->at = base_now_ns() + GRACE_MS * NS_PER_MS;
		return;
	}
	kill(pid, SIGKILL);
	d->at = 0;
}

static void halt(struct deadline *d, pid_t pid)
{
	d->is_halted = d->is_term_sent = true;
	d->shm = NULL;
	d->poll = 0;
	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
	d->at = base_now_ns() + HALT_MS * NS_PER_MS;
}

/* Does what is due: the time limit, or the call of is_over. */
static void pass_time(struct deadline *d, pid_t pid, const struct spawn_request *req,
		      const struct race_shm *shm)
{
	uint64_t start = base_now_ns(), cost;

	if (d->at && start >= d->at) {
		pass_deadline(d, pid);
		return;
	}
	if (!d->poll || start < d->poll)
		return;
	if (req->is_over && req->is_over(req->arg, shm)) {
		halt(d, pid);
		return;
	}
	if (req->tick && start - d->ticked >= TICK_MS * NS_PER_MS) {
		req->tick(req->arg, shm, start - d->began);
		d->ticked = start;
	}
	/* If the call takes long, it may take a fifth of the time. */
	cost = (base_now_ns() - start) * 4;
	d->poll = base_now_ns() + (cost > POLL_MS * NS_PER_MS ? cost : POLL_MS * NS_PER_MS);
}

/* Waits for one of the signals until something is due. Returns the signal, or 0. */
static int wait_signal(const sigset_t *set, const struct deadline *d, siginfo_t *info)
{
	uint64_t at = !d->poll || (d->at && d->at < d->poll) ? d->at : d->poll;

	if (!at) {
		int sig = sigwaitinfo(set, info);
		return sig < 0 ? SIGCHLD : sig;
	}
	uint64_t now = base_now_ns();
	uint64_t left = at > now ? at - now : 0;
	struct timespec t = {.tv_sec = (time_t)(left / 1000000000ull),
			     .tv_nsec = (long)(left % 1000000000ull)};
	int sig = sigtimedwait(set, info, &t);
	if (sig < 0)
		return errno == EAGAIN ? 0 : SIGCHLD;
	return sig;
}

int spawn_await(pid_t pid, const sigset_t *set, const struct spawn_request *req,
		struct race_shm *shm, pid_t keeper, struct spawn_result *res)
{
	struct deadline d = {
		.at = req->timeout_ms ? base_now_ns() + req->timeout_ms * NS_PER_MS : 0,
		.poll = req->is_over || req->tick ? base_now_ns() + POLL_MS * NS_PER_MS : 0,
		.began = base_now_ns(),
		.shm = req->order & RACE_SHUFFLE_ALL ? shm : NULL};
	int status = 0;

	for (;;) {
		/* Orphans of the program are reaped in passing. */
		pid_t got;
		while ((got = waitpid(-1, &status, WNOHANG)) > 0 && got != pid)
			;
		if (got == pid)
			break;
		if (got < 0 && errno != EINTR)
			return -1;
		siginfo_t info = {0};
		int sig = wait_signal(set, &d, &info);
		if (sig == 0)
			pass_time(&d, pid, req, shm);
		else if (sig != SIGCHLD && info.si_code != SI_KERNEL)
			kill(pid, sig);
	}
	res->is_halted = d.is_halted;
	res->is_timed_out = d.is_passed && !d.is_halted;
	if (d.is_passed || d.is_halted)
		kill_children(keeper);
	if (WIFSIGNALED(status)) {
		res->signal = WTERMSIG(status);
		res->exit_code = 128 + res->signal;
	} else {
		res->exit_code = WEXITSTATUS(status);
	}
	return 0;
}
