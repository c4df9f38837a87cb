/*
 * slots.c - trials of a program's launches, each a child process, as many at once as idle.c allows.
 *
 * A trial that is over its time is asked by a signal to stop, so that it says what it has judged
 * until then; one that doesn't is killed.
 *
 * Costs: a fork for each trial.
 */
#include "base/clock.h"
#include "judge/live.h"
#include "judge/serve.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS 2000000000ull /* from the request to stop to the end of the child */

static int is_stopped; /* in a child: by the signal; atomic */

static void on_stop(int sig)
{
	(void)sig;
	__atomic_store_n(&is_stopped, 1, __ATOMIC_RELAXED);
}

static _Noreturn void child(const struct judge_trial *trial, int fd)
{
	struct judge_source live = judge_live_source(&fd);
	struct judge_trial t = *trial;
	struct judge_outcome o;

	if (!t.second && !t.operation)
		t.live = &live;
	t.is_stopped = &is_stopped;
	judge_execute(&t, judge_write_pair, &t, &o);
	_exit(race_judge_send(fd, RACE_JUDGE_DONE, 0, &o, sizeof(o), NULL, 0) ? 0 : 1);
}

/* What is the program's, and the other trials', isn't the child's. */
static void close_others(const struct judge_server *s)
{
	close(s->fd);
	if (s->control >= 0)
		close(s->control);
	for (size_t i = 0; i < s->launches.n; i++)
		if (s->launches.v[i]->pid)
			close(s->launches.v[i]->fd);
}

bool judge_slot_start(struct judge_server *s, struct judge_launch *l)
{
	const struct sigaction act = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	sigset_t stop, old;
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return false;
	fflush(NULL);
	/* Until its handler is there it isn't ended by the signal. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGUSR1);
	sigprocmask(SIG_BLOCK, &stop, &old);
	pid_t pid = fork();
	if (pid == 0) {
		close(fd[0]);
		close_others(s);
		sigaction(SIGUSR1, &act, NULL);
		sigprocmask(SIG_SETMASK, &old, NULL);
		child(&l->t, fd[1]);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		return false;
	}
	l->pid = pid;
	l->fd = fd[0];
	l->began = base_now_ns();
	l->until = judge_launch_latest(l);
	l->is_stopped = false;
	if (!s->running++)
		s->busy_since = l->began;
	return true;
}

static void end(struct judge_server *s, struct judge_launch *l, bool is_done)
{
	struct judge_outcome *o = &l->o;
	int status = 0;

	close(l->fd); /* a child that still asks ends at that */
	if (!is_done)
		kill(l->pid, SIGTERM);
	while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
		;
	l->pid = 0;
	if (!--s->running)
		s->spent += base_now_ns() - s->busy_since;
	if (is_done && o->end < JUDGE_ENDS && memchr(o->why, 0, sizeof(o->why)))
		return;
	*o = (struct judge_outcome){.end = l->is_stopped ? JUDGE_LATE : JUDGE_DIED};
	if (l->is_stopped)
		snprintf(o->why, sizeof(o->why), "the time was over");
	else
		snprintf(o->why, sizeof(o->why), "the process that judged it was killed by %s",
			 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "itself");
}

void judge_slot_serve(struct judge_server *s, struct judge_launch *l)
{
	struct race_judge_message msg;
	struct base_buf q = {0};
	bool goes_on = false, is_done = false;

	if (race_judge_next(l->fd, &msg) && msg.bytes <= RACE_JUDGE_PAGE) {
		base_buf_room(&q, msg.bytes + 1u);
		q.n = msg.bytes;
		goes_on = race_judge_read(l->fd, q.p, q.n);
	}
	if (goes_on && msg.op == RACE_JUDGE_DONE) {
		is_done = q.n == sizeof(l->o);
		if (is_done)
			memcpy(&l->o, q.p, sizeof(l->o));
		goes_on = false;
	} else if (goes_on) {
		goes_on = judge_answer(s, l, msg.op, &q);
	}
	base_buf_free(&q);
	if (!goes_on)
		end(s, l, is_done);
}

uint64_t judge_slot_watch(struct judge_server *s, struct judge_launch *l, uint64_t now)
{
	if (now >= l->until + GRACE_NS) {
		kill(l->pid, SIGKILL);
		end(s, l, false);
		return 0;
	}
	if (now < l->until)
		return l->until - now;
	if (!l->is_stopped)
		kill(l->pid, SIGUSR1);
	l->is_stopped = true;
	return l->until + GRACE_NS - now;
}

void judge_slot_kill(struct judge_server *s, struct judge_launch *l)
{
	if (l->pid)
		end(s, l, false);
}
