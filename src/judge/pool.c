/*
 * pool.c - trials, each in a child process of its own.
 *
 * A trial executes code and reads memory that come from elsewhere: whatever it does to its process,
 * the others go on. Children write what they find into the shared file, which they have inherited;
 * how a trial ended comes through a pipe, in one piece.
 *
 * A pair that an earlier trial has found for certain isn't written again.
 *
 * Costs: a fork and a machine for each trial, 3 to 5 ms.
 */
#include "base/clock.h"
#include "judge/internal.h"
#include "race/file/pair.h"
#include "race/file/shm_write.h"
#include "race/race.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_MS 5000 /* from a trial's limit to the end of its child */
#define WAKE_MS	 100

struct slot {
	const struct judge_trial *t;
	pid_t pid; /* 0: the slot is free */
	int fd;
	uint64_t began; /* ms */
	bool is_late;
};

/* ---- what a trial finds, in its child ----------------------------------------------- */

/* By what a pair is recognised in another trial. */
static uint64_t key_of(const struct race_pair *p, const char *strings)
{
	uint64_t h = base_hash(&p->kind, sizeof(p->kind), BASE_FNV_INIT);

	for (unsigned i = 0; i < 2; i++) {
		const struct race_pair_side *s = &p->side[i];
		const char *of[] = {strings + s->func, strings + s->kernel, strings + s->file};
		for (size_t k = 0; k < BASE_COUNTOF(of); k++)
			h = base_hash(of[k], strlen(of[k]) + 1, h);
		h = base_hash(&s->ptx_line, sizeof(s->ptx_line), h);
	}
	return h;
}

/* "block (17,0,0) of launch 3", "launches 3 and 4". */
static void put_launches(struct base_buf *out, const struct judge_trial *t,
			 const struct race_pair *p)
{
	const struct race_pair_side *a = &p->side[0], *b = &p->side[1];

	if (!t->second && !t->operation && !memcmp(a->block, b->block, sizeof(a->block)))
		base_buf_printf(out, "block (%u,%u,%u) of ", a->block[0], a->block[1], a->block[2]);
	base_buf_printf(out, "launch%s %" PRIu64, t->second ? "es" : "", t->capsule->number);
	if (t->second)
		base_buf_printf(out, " and %" PRIu64, t->second->number);
	else if (t->operation)
		base_buf_puts(out, " and what the host had done beside it");
}

struct race_pair *judge_write_pair(void *arg, const struct race_pair *pair, size_t bytes)
{
	const struct judge_trial *t = arg;
	size_t head = sizeof(*pair) + pair->nframes * sizeof(struct race_frame), found;
	uint64_t key = key_of(pair, (const char *)pair + head);
	const struct race_pair *known = race_shm_find(RACE_CHUNK_PAIR, key, &found);
	struct base_buf all = {0};
	struct race_pair p = *pair;

	if (known && !known->is_possible)
		return NULL;
	/* Launches have the numbers of the program, not of the trial: those begin at 1. */
	for (unsigned i = 0; i < 2 && t->second; i++)
		p.side[i].grid = p.side[i].grid == 1 ? t->capsule->number : t->second->number;
	p.judged = p.strings ? p.strings : 1;
	base_buf_put(&all, &p, sizeof(p));
	base_buf_put(&all, (const char *)pair + sizeof(p), bytes - sizeof(p));
	if (!p.strings)
		base_buf_put(&all, "", 1);
	base_buf_puts(&all, "on the CPU device: ");
	put_launches(&all, t, pair);
	base_buf_puts(&all, ", ");
	if (!*t->name)
		base_buf_puts(&all, "from the GPU's memory");
	else
		base_buf_printf(&all, "as %s holds it", t->name);
	base_buf_printf(&all, ", seed %" PRIu64, t->seed);
	base_buf_put(&all, "", 1);
	p.strings = (uint32_t)(all.n - head);
	memcpy(all.p, &p, sizeof(p));
	struct race_pair *at = race_shm_chunk(RACE_CHUNK_PAIR, key, all.p, all.n, NULL, 0);
	base_buf_free(&all);
	return at;
}

static _Noreturn void child(const struct judge_trial *t, int fd)
{
	struct judge_outcome o;

	judge_execute(t, judge_write_pair, (void *)(uintptr_t)t, &o);
	if (write(fd, &o, sizeof(o)) != (ssize_t)sizeof(o))
		_exit(BASE_EXIT_INTERNAL);
	_exit(0);
}

/* ---- what became of it, for the report ---------------------------------------------- */

static void note_oracle(const struct judge_outcome *o)
{
	const struct race_oracle x = {
		.accesses = o->oracle.accesses,
		.kernel_accesses = o->oracle.accesses,
		.words = o->oracle.words,
		.shadow_bytes = o->oracle.shadow_bytes,
		.clock_bytes = o->oracle.clock_bytes,
		.dropped = o->oracle.dropped,
		.raced_out = o->oracle.raced_out,
		.actors = o->oracle.actors,
		.is_full = o->oracle.is_full,
		.launches = 1,
	};

	if (o->stats.launches)
		race_shm_chunk(RACE_CHUNK_ORACLE, 0, &x, sizeof(x), NULL, 0);
}

static void note_gap(enum race_gap_why why, const struct judge_trial *t,
		     const struct judge_outcome *o)
{
	char text[500];

	snprintf(text, sizeof(text), "%s%s%s", t->name, *t->name ? ": " : "", o->why);
	race_shm_gap(why, t->capsule->kernel, text, 1);
}

void judge_note(const struct judge_trial *t, const struct judge_outcome *o)
{
	const struct judge_capsule *c = t->capsule;
	struct race_fault fault = {.func = (uint32_t)strlen(o->why) + 1};
	uint64_t *count;
	char text[500] = {0};

	note_oracle(o);
	switch (o->end) {
	case JUDGE_FAULT:
		snprintf(text, sizeof(text), "%s", o->why);
		race_shm_chunk(RACE_CHUNK_FAULT, 0, &fault, sizeof(fault), text, fault.func + 1);
		break;
	case JUDGE_LATE:
	case JUDGE_UNKNOWN:
	case JUDGE_DIED:
		note_gap(RACE_GAP_STOPPED, t, o);
		break;
	case JUDGE_REFUSED:
		note_gap(RACE_GAP_REFUSED, t, o);
		break;
	default:
		break;
	}
	if (o->blocks >= o->of)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " blocks of launch %" PRIu64 "%s",
		 o->blocks, o->of, c->number,
		 o->end == JUDGE_WAITS ? ", which wait for others," : "");
	count = race_shm_gap(RACE_GAP_BLOCKS, c->kernel, text, 0);
	if (count)
		*count = o->of - o->blocks;
}

/* ---- children ----------------------------------------------------------------------- */

static bool start(struct slot *s, const struct judge_trial *t)
{
	int fd[2];

	if (pipe(fd))
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		close(fd[0]);
		child(t, fd[1]);
	}
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		return false;
	}
	*s = (struct slot){.t = t, .pid = pid, .fd = fd[0], .began = base_now_ms()};
	return true;
}

/* The child has written how it ended, or will never do so. */
static void finish(struct slot *s, struct judge_outcome *o)
{
	ssize_t n;
	int status = 0;

	while ((n = read(s->fd, o, sizeof(*o))) < 0 && errno == EINTR)
		;
	close(s->fd);
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	if (n == (ssize_t)sizeof(*o) && o->end < JUDGE_ENDS && memchr(o->why, 0, sizeof(o->why)))
		return;
	*o = (struct judge_outcome){.end = s->is_late ? JUDGE_LATE : JUDGE_DIED};
	if (s->is_late)
		snprintf(o->why, sizeof(o->why), "the time was over");
	else if (WIFSIGNALED(status))
		snprintf(o->why, sizeof(o->why), "the process that judged it was killed by %s",
			 strsignal(WTERMSIG(status)));
	else
		snprintf(o->why, sizeof(o->why), "the process that judged it ended with %d",
			 WEXITSTATUS(status));
}

static void end_late(struct slot *slots, unsigned n)
{
	uint64_t now = base_now_ms();

	for (unsigned i = 0; i < n; i++) {
		struct slot *s = &slots[i];
		if (!s->pid || s->is_late || !s->t->limit_ms ||
		    now - s->began < s->t->limit_ms + GRACE_MS)
			continue;
		s->is_late = true;
		kill(s->pid, SIGKILL);
	}
}

static unsigned wait_some(struct slot *slots, unsigned n, judge_done_fn *done, void *arg)
{
	struct pollfd *p = base_calloc(n, sizeof(*p));
	struct judge_outcome o;
	unsigned ended = 0;

	for (unsigned i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = slots[i].pid ? slots[i].fd : -1, .events = POLLIN};
	if (poll(p, n, WAKE_MS) > 0)
		for (unsigned i = 0; i < n; i++) {
			if (!slots[i].pid || !p[i].revents)
				continue;
			const struct judge_trial *t = slots[i].t;
			finish(&slots[i], &o);
			judge_note(t, &o);
			if (done)
				done(arg, t, &o);
			ended++;
		}
	end_late(slots, n);
	free(p);
	return ended;
}

/* No process can be had: it is judged by none. */
static void refuse(const struct judge_trial *t, judge_done_fn *done, void *arg)
{
	struct judge_outcome o = {.end = JUDGE_DIED};

	snprintf(o.why, sizeof(o.why), "no process could be started: %s", strerror(errno));
	judge_note(t, &o);
	if (done)
		done(arg, t, &o);
}

void judge_run(const struct judge_trial *trials, size_t n, unsigned jobs, judge_done_fn *done,
	       void *arg)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct slot *slots;
	unsigned running = 0;
	size_t next = 0;

	jobs = jobs ? jobs : cores > 0 ? (unsigned)cores : 1;
	jobs = jobs > n ? (unsigned)n : jobs;
	slots = base_calloc(jobs + 1u, sizeof(*slots));
	fflush(NULL);
	while (next < n || running) {
		for (unsigned i = 0; i < jobs && next < n; i++) {
			if (slots[i].pid)
				continue;
			if (start(&slots[i], &trials[next]))
				running++;
			else if (!running)
				refuse(&trials[next], done, arg);
			else
				break; /* there will be one when another has ended */
			next++;
		}
		if (running)
			running -= wait_some(slots, jobs, done, arg);
	}
	free(slots);
}
