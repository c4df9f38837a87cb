/*
 * children.c - the kernels of a PTX text, each analysed in a child of its own (prove.h).
 *
 * A solver may need any time and memory, so the child has limits and is killed at them: its kernel
 * becomes "could not prove". Children run side by side, as many as the machine has processors.
 *
 * Costs: a fork per kernel; the parsed text is shared by copy-on-write.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/processors.h"
#include "prove/check.h"
#include "ptx/ptx.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CHILDREN 64
/*
 * The child ends its queries at its limit of processor time itself, and is killed a little later.
 * On the clock on the wall it gets much more: a busy machine must not change a verdict.
 */
#define GRACE_MS    2000
#define MAX_WAIT    60
#define OUT_OF_TIME "the time limit was reached"
/* How often limits on the clock are looked at. */
#define POLL_MS	  20
#define HEAP_KEPT (16 << 20) /* bytes */

struct job {
	struct ptx_func *f;
	pid_t pid;
	int fd;
	struct base_buf got;
	uint64_t begun, deadline; /* base_now_ms */
	bool is_killed;
	size_t kernel;
	struct prove_options own; /* what is asked of this kernel */
	bool is_hasty;		  /* it has less time than was meant */
	struct wire_job wire;
};

/* Records of what a child has found, each with its length in front: the last one counts. */
static void put_record(const struct race_proof *k, void *arg)
{
	const int *fd = arg;
	struct base_buf out = {0};
	uint64_t bytes = 0;

	base_buf_put(&out, &bytes, sizeof(bytes));
	prove_wire_write(k, &out);
	bytes = out.n - sizeof(bytes);
	memcpy(out.p, &bytes, sizeof(bytes));
	for (size_t done = 0; done < out.n;) {
		ssize_t n = write(*fd, out.p + done, out.n - done);
		if (n < 0 && errno != EINTR)
			_exit(BASE_EXIT_INTERNAL);
		if (n > 0)
			done += (size_t)n;
	}
	base_buf_free(&out);
}

/* The last record that is there as a whole. */
static const char *last_record(const struct base_buf *got, size_t *n)
{
	const char *last = NULL;
	uint64_t bytes;

	*n = 0;
	for (size_t at = 0; got->n - at > sizeof(bytes); at += sizeof(bytes) + bytes) {
		memcpy(&bytes, got->p + at, sizeof(bytes));
		if (got->n - at - sizeof(bytes) < bytes)
			break;
		last = got->p + at + sizeof(bytes);
		*n = bytes;
	}
	return last;
}

static void run_child(struct ptx_module *m, struct ptx_func *f, const struct prove_options *o,
		      int fd)
{
	struct rlimit mem = {(rlim_t)o->memory_mb << 20, (rlim_t)o->memory_mb << 20};
	struct rlimit no_core = {0, 0};
	rlim_t seconds = (o->timeout_ms + GRACE_MS + 999) / 1000;
	struct rlimit cpu = {seconds, seconds};
	struct base_arena arena = {0};
	struct race_proof k = {0};
	struct kernel_early early = {put_record, &fd};

	/* what an arena gives back is asked for again at once, and fresh pages cost much */
	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	mallopt(M_MMAP_THRESHOLD, HEAP_KEPT);
	if (o->memory_mb)
		setrlimit(RLIMIT_AS, &mem);
	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_CPU, &cpu);
	prove_kernel(m, f, o, &arena, &k, &early);
	put_record(&k, &fd);
	_exit(0);
}

/* A kernel ends its queries before it would be killed at `end` (base_now_ms; 0: never). */
static void limit(struct job *j, uint64_t end)
{
	uint64_t now = base_now_ms(), left = end > now ? end - now : 0;

	j->is_hasty = end && left / 4 * 3 < j->own.timeout_ms;
	if (j->is_hasty)
		j->own.timeout_ms = (unsigned)(left / 4 * 3 + 1);
}

/* Starts the child of one kernel, which is killed at `end` (base_now_ms; 0: never). False: there
 * is no process or pipe to be had. */
static bool start(struct job *j, struct ptx_module *m, uint64_t end)
{
	const struct prove_options *o = &j->own;
	int fds[2];

	limit(j, end);
	if (pipe2(fds, O_CLOEXEC))
		return false;
	fflush(NULL);
	j->pid = fork();
	if (j->pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return false;
	}
	if (!j->pid) {
		close(fds[0]);
		run_child(m, j->f, o, fds[1]);
	}
	close(fds[1]);
	j->fd = fds[0];
	j->begun = base_now_ms();
	j->deadline = j->begun + MAX_WAIT * (uint64_t)o->timeout_ms + GRACE_MS;
	if (end && end < j->deadline)
		j->deadline = end;
	return true;
}

static void add_end(struct job *j, struct race_proof *k, const char *text)
{
	struct race_problem p = {.text = text, .file = "", .ptx_line = j->f->line};

	p.cause = j->is_killed ? RACE_CAUSE_TIMEOUT : RACE_CAUSE_CRASH;
	base_vec_push(&k->problems, p);
}

static void unproven(struct race_proofs *r, struct job *j, const char *text)
{
	struct race_proof k = {.verdict = RACE_VERDICT_UNPROVEN};

	k.name = base_strndup(&r->arena, j->f->name.p, j->f->name.n);
	k.name_shown = race_demangle(&r->arena, k.name);
	add_end(j, &k, text);
	r->kernels.v[j->kernel] = k;
}

static const char *words_for_end(const struct job *j)
{
	return j->is_killed ? OUT_OF_TIME : "the analysis died, perhaps at its memory limit";
}

/* Of a child that was cut off what it had found counts: of some of the recorded launches, or of all
 * of them, where it was at others. */
static void say_cut(struct job *j, struct race_proof *k)
{
	if (*k->others)
		return;
	add_end(j, k, words_for_end(j));
	k->sites.n = k->remedies.n = k->frees.n = 0;
	k->stays_shared = k->is_whole = false;
	if (k->verdict != RACE_VERDICT_TRUE)
		k->verdict = RACE_VERDICT_UNPROVEN;
}

/* Would another run say the same? Not where time ran out, which isn't always said: what is looked
 * for besides the verdict just isn't found then. */
static bool is_settled(const struct race_proof *k, unsigned timeout_ms)
{
	if (!k->is_settled || k->ms + k->ms / 8 >= timeout_ms)
		return false;
	for (size_t i = 0; i < k->problems.n; i++)
		if (k->problems.v[i].cause != RACE_CAUSE_OTHER)
			return false;
	return !k->counts.gave_up;
}

/* Remedies that a query of a short search was too short for aren't missed in the result, so of one
 * that had less time than was meant is kept what lacks none. What more time might change is kept if
 * asked for, but not where the child had to share its processor, which makes it slow. */
static bool may_keep(const struct race_proof *k, const struct job *j)
{
	if (!j->own.cache)
		return false;
	if (k->is_settled)
		return !j->is_hasty || k->verdict == RACE_VERDICT_FREE;
	return j->own.keeps_late && !j->is_hasty &&
	       base_now_ms() - j->begun <= k->ms + k->ms / 2 + GRACE_MS / 16;
}

static void finish(struct race_proofs *r, struct job *j)
{
	struct race_proof *k = &r->kernels.v[j->kernel];
	int status = 0;
	size_t n;

	close(j->fd);
	while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
		;
	/* At its limit of processor time a process gets a signal, SIGKILL at the hard one. */
	j->is_killed |=
		WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
	const char *last = last_record(&j->got, &n);
	bool is_there = last && prove_wire_read(&r->arena, last, n, k);
	bool is_cut = !WIFEXITED(status) || WEXITSTATUS(status);
	k->is_settled = is_there && !is_cut && is_settled(k, j->own.timeout_ms);
	if (!is_there)
		unproven(r, j, words_for_end(j));
	else if (is_cut)
		say_cut(j, k);
	else if (may_keep(k, j))
		prove_wire_keep(&j->wire, last, n, k->is_settled ? 0 : j->own.timeout_ms);
	base_buf_free(&j->got);
	j->pid = 0;
}

/* Waits for any child to say something or to reach its limit. */
static void serve(struct race_proofs *r, struct job *jobs, unsigned n)
{
	struct pollfd fds[MAX_CHILDREN];
	char chunk[65536];

	for (unsigned i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = jobs[i].pid ? jobs[i].fd : -1, .events = POLLIN};
	poll(fds, n, POLL_MS);
	for (unsigned i = 0; i < n; i++) {
		struct job *j = &jobs[i];
		if (!j->pid)
			continue;
		if (!j->is_killed && base_now_ms() > j->deadline) {
			kill(j->pid, SIGKILL);
			j->is_killed = true;
		}
		if (!fds[i].revents)
			continue;
		ssize_t got = read(j->fd, chunk, sizeof(chunk));
		if (got > 0)
			base_buf_put(&j->got, chunk, (size_t)got);
		else if (got == 0 || errno != EINTR)
			finish(r, j);
	}
}

static bool is_listed(const struct prove_options *o, const char *name)
{
	for (size_t i = 0; i < o->nonly; i++)
		if (!strcmp(o->only[i], name))
			return true;
	return !o->nonly;
}

static bool is_wanted(const struct ptx_func *f, const struct prove_options *o,
		      struct base_arena *arena)
{
	if (!f->is_entry || f->is_proto)
		return false;
	const char *name = base_strndup(arena, f->name.p, f->name.n);
	if ((o->only_launched && !launches_has(o, name)) || !is_listed(o, name))
		return false;
	if (!o->kernel)
		return true;
	return strstr(name, o->kernel) || strstr(race_demangle(arena, name), o->kernel);
}

/* What is asked of one kernel. */
static void make_job(struct job *j, const struct prove_options *o, struct wire_job wire)
{
	j->own = *o;
	j->wire = wire;
	j->wire.o = &j->own;
	for (size_t i = 0; i < o->neach; i++) {
		if (strcmp(o->each[i].kernel, wire.kernel) != 0)
			continue;
		j->own.assumes = &o->each[i].assume;
		j->own.nassumes = *o->each[i].assume != 0;
		memcpy(j->own.dim, o->each[i].dim, sizeof(j->own.dim));
	}
}

static void run_all(struct race_proofs *r, struct ptx_module *m, const struct prove_options *o,
		    struct wire_job wire)
{
	unsigned cpus = base_processors(), width = cpus > MAX_CHILDREN ? MAX_CHILDREN : cpus;
	struct job jobs[MAX_CHILDREN] = {0};
	struct ptx_item *next = m->first;
	uint64_t end = o->wall_ms ? base_now_ms() + o->wall_ms : 0;

	for (;;) {
		unsigned busy = 0;
		for (unsigned i = 0; i < width; i++) {
			while (!jobs[i].pid && next) {
				struct ptx_item *it = next;
				next = next->next;
				if (it->kind != PTX_ITEM_FUNC || !is_wanted(it->func, o, &r->arena))
					continue;
				struct race_proof k = {0};
				jobs[i] = (struct job){.f = it->func, .kernel = r->kernels.n};
				wire.kernel =
					base_strndup(&r->arena, it->func->name.p, it->func->name.n);
				make_job(&jobs[i], o, wire);
				bool is_known = prove_wire_recall(&r->arena, &jobs[i].wire, &k);
				base_vec_push(&r->kernels, k);
				if (is_known)
					continue;
				if (end && base_now_ms() >= end) {
					jobs[i].is_killed = true;
					unproven(r, &jobs[i], OUT_OF_TIME);
					continue;
				}
				/* where one is, more will be */
				if (r->kernels.n > 1)
					prove_smt_warm();
				if (!start(&jobs[i], m, end)) {
					jobs[i].pid = 0;
					unproven(r, &jobs[i], "no process could be started");
				}
			}
			busy += jobs[i].pid != 0;
		}
		if (!busy)
			return;
		serve(r, jobs, width);
	}
}

int prove_text(const char *file, const char *text, size_t size, const struct prove_options *o,
	       struct race_proofs *out, struct base_sink *sink)
{
	struct base_arena arena = {0};

	memset(out, 0, sizeof(*out));
	out->file = base_strdup(&out->arena, file);
	for (size_t i = 0; i < o->nassumes; i++) {
		const char *wrong = prove_check_assume(o->assumes[i], &arena);
		if (!wrong)
			continue;
		base_report(sink, BASE_ERROR, "--assume", (struct base_span){0}, "'%s': %s",
			    o->assumes[i], wrong);
		base_arena_free(&arena);
		return BASE_EXIT_USAGE;
	}
	struct ptx_module *m = ptx_parse(&arena, file, text, size, sink);
	if (!m || sink->errors || ptx_verify(m, sink)) {
		base_arena_free(&arena);
		return BASE_EXIT_INPUT;
	}
	run_all(out, m, o, (struct wire_job){.text = text, .size = size, .o = o});
	base_arena_free(&arena);
	return 0;
}
