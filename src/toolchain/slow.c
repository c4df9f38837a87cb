/*
 * slow.c - a build that will take long says so, and shows that it is at work.
 *
 * The time of ptxas grows with a function's length to the power 1.85 (measured for sm_90 at -O3,
 * docs/results, 2026-11-22): the lengths of all functions with their checks give an estimate before
 * ptxas starts. Where that is above --long-build, one line names the functions that cost most, and
 * how to leave them out. On a terminal a line counts the seconds after a tenth of that time, and
 * goes away. A program that waits for the code that it loads gets one line, on a terminal or not;
 * with --load-limit it waits no longer: the kernels that cost most are left unchecked then.
 *
 * Misses: what makes one function three times as slow as another of its length; a slower machine.
 * The line of one of several compilations at the same time is overwritten by the others'.
 * Costs: ten short sleeps a second on a terminal, else nothing.
 */
#include "toolchain/rewrite.h"
#include "race/race.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds of one core for a function of n instructions and labels. */
#define SLOW_FACTOR   1.4e-7
#define SLOW_EXPONENT 1.85
/* How many functions are named, and from which part of the whole on. */
#define SLOW_NAMED 3
#define SLOW_PART  0.1
/* The line comes after so much of --long-build. */
#define SHOWN_PART 0.1
/* Seconds that a program may wait without a word about why. */
#define WAITED_LEAST 5
/* Functions with more sites than that have a line of their own under --collider-verbose. */
#define SAID_SITES 200

static double seconds_for(uint32_t n)
{
	return SLOW_FACTOR * pow(n, SLOW_EXPONENT);
}

void tool_sizes_note(void *arg, const struct inst_size *size)
{
	struct tool_sizes *s = arg;
	struct tool_size one = {.name = base_strndup(s->arena, size->name.p, size->name.n),
				.n = size->statements,
				.lines = size->lines,
				.lines_after = size->lines_after,
				.sites = size->sites,
				.groups = size->groups};

	/* Each detector calls in turn. */
	for (size_t i = 0; i < s->list.n; i++) {
		struct tool_size *was = &s->list.v[i];
		if (!strcmp(was->name, one.name)) {
			one.lines = was->lines;
			one.sites += was->sites;
			one.groups += was->groups;
			*was = one;
			return;
		}
	}
	base_vec_push(&s->list, one);
}

void tool_sizes_say(const struct tool_job *job, const struct tool_sizes *s)
{
	for (size_t i = 0; i < s->list.n; i++) {
		const struct tool_size *one = &s->list.v[i];
		if (one->sites > SAID_SITES)
			base_say("%s (%s): function %s: %u sites, %u groups, %u lines, "
				 "%u with checks",
				 job->name, job->arch ? job->arch : "any target", one->name,
				 one->sites, one->groups, one->lines, one->lines_after);
	}
}

double tool_sizes_seconds(const struct tool_sizes *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->list.n; i++)
		sum += seconds_for(s->list.v[i].n);
	return sum;
}

double tool_sizes_wall(const struct tool_sizes *s)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double longest = 0, share = tool_sizes_seconds(s) / (double)(cpus < 1 ? 1 : cpus);

	for (size_t i = 0; i < s->list.n; i++)
		if (seconds_for(s->list.v[i].n) > longest)
			longest = seconds_for(s->list.v[i].n);
	return longest > share ? longest : share;
}

static int by_size(const void *a, const void *b)
{
	const struct tool_size *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

/* How many functions take most of the time, the first ones then; and patterns for them. */
static size_t find_costly(struct tool_sizes *s, double all, struct base_buf *patterns)
{
	size_t n = 0;

	qsort(s->list.v, s->list.n, sizeof(*s->list.v), by_size);
	for (; n < s->list.n && n < SLOW_NAMED; n++) {
		const struct tool_size *one = &s->list.v[n];
		if (n && seconds_for(one->n) < SLOW_PART * all)
			break;
		base_buf_printf(patterns, "%s%s", n ? "," : "",
				inst_pattern_of(s->arena, one->name));
	}
	return n;
}

void tool_slow_say(const struct tool_job *job, struct tool_sizes *s)
{
	double all = tool_sizes_seconds(s);
	struct base_buf list = {0};

	if (s->is_said || !job->opt->long_build_ms || all * 1000 < (double)job->opt->long_build_ms)
		return;
	s->is_said = true;
	size_t n = find_costly(s, all, &list);
	for (size_t i = 0; i < n; i++)
		base_say("%s: %s has %u instructions with its checks", job->name,
			 race_demangle(s->arena, s->list.v[i].name), s->list.v[i].n);
	base_say("%s: ptxas is expected to take about %.0f s; --kernel-name-exclude='%s' builds "
		 "without these checks",
		 job->name, all < 1 ? 1 : all, list.p);
	base_buf_free(&list);
}

void tool_wait_say(const struct tool_job *job, struct tool_sizes *s)
{
	double wall = tool_sizes_wall(s);
	struct base_buf list = {0};

	if (!job->waiters || wall < WAITED_LEAST || wall < 2 * s->waits_said)
		return;
	s->waits_said = wall;
	(void)find_costly(s, tool_sizes_seconds(s), &list);
	dprintf(job->waiters,
		"collider: %s: its GPU code gets checks before it runs, once: ptxas is expected to "
		"take about %.0f s; --kernel-name-exclude='%s' leaves out what takes longest, "
		"--load-limit=S what would take longer than S seconds\n",
		job->name, wall, list.p);
	base_buf_free(&list);
}

/* The kernel that ptxas would take longest for; NULL: none is left. */
static struct tool_func *find_costliest(struct tool_work *w, struct tool_size **size)
{
	struct tool_func *found = NULL;

	for (size_t i = 0; i < w->sizes.list.n; i++) {
		struct tool_size *s = &w->sizes.list.v[i];
		for (size_t k = 0; k < w->funcs.n; k++) {
			struct tool_func *f = &w->funcs.v[k];
			if (!f->is_entry || f->skip || strcmp(f->name, s->name) != 0 ||
			    (found && (*size)->n >= s->n))
				continue;
			found = f;
			*size = s;
		}
	}
	return found;
}

bool tool_skip_slow(struct tool_work *w)
{
	double limit = 1e-3 * (double)w->job->opt->load_limit_ms, wall;
	struct tool_func *f;
	struct tool_size *s;
	bool is_changed = false;

	if (!w->job->is_waited_for || limit <= 0)
		return false;
	while ((wall = tool_sizes_wall(&w->sizes)) > limit && (f = find_costliest(w, &s))) {
		f->skip = is_changed = true;
		f->maxnreg = 0;
		f->why = base_printf(&w->arena,
				     "ptxas would take about %.0f s for it and others with checks "
				     "(--load-limit)",
				     wall < 1 ? 1 : wall);
		s->n = 0;
	}
	return is_changed;
}

struct shown {
	const struct tool_job *job;
	double expected, from; /* seconds */
	bool is_there;	       /* the line */
};

static void show(void *arg, double seconds)
{
	struct shown *s = arg;

	if (seconds < s->from)
		return;
	fprintf(stderr, "\r%s: ptxas on the code with checks: %.0f s", s->job->name, seconds);
	if (s->expected >= 1)
		fprintf(stderr, " of about %.0f", s->expected);
	fputs("\033[K", stderr);
	fflush(stderr);
	s->is_there = true;
}

int tool_run_shown(const struct tool_job *job, const struct tool_sizes *sizes, char **argv,
		   const char *messages)
{
	struct shown s = {.job = job,
			  .expected = tool_sizes_seconds(sizes),
			  .from = SHOWN_PART * 1e-3 * (double)job->opt->long_build_ms};
	bool is_wanted = isatty(STDERR_FILENO) && job->opt->long_build_ms;
	int rc = tool_run_ticking(argv[0], argv, messages, is_wanted ? show : NULL, &s);

	if (s.is_there)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	return rc;
}
