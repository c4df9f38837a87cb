/*
 * sweep_replay.c - commands that show the findings of a sweep again, each tried before it is named.
 *
 * A finding's first run is made again, and then once more without each of its options, which stay
 * away where the finding is still shown. The steps of one finding follow from each other; up to
 * --jobs findings are tried at once.
 *
 * Misses: of an option that matters only with another one, that both can go.
 */
#include "cli/sweep.h"
#include "cli/view.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES 2u /* of a command that may not show the finding each time */
#define SHOWN 50u

/* ---- one run that looks for a finding -------------------------------------------------------- */

static const char *again_file(struct sweep *s, unsigned slot, const char *end)
{
	return base_printf(&s->arena, "%s/again.%u.%u%s", s->dir, s->share, slot, end);
}

const char *sweep_again(struct sweep *s)
{
	return again_file(s, 0, ".part");
}

static bool has_print(const char *path, uint64_t print)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	struct base_arena a = {0};
	struct rep_brief *all;
	bool has = false;
	size_t n = rep_json_read(path, &r, &sink) ? 0 : rep_briefs(&a, &r, &all);

	for (size_t i = 0; i < n && !has; i++)
		has = all[i].print == print;
	base_sink_free(&sink);
	base_arena_free(&a);
	race_results_free(&r);
	return has;
}

/* The process, or -1. Of each slot one runs at a time. */
static pid_t look(struct sweep *s, const struct sweep_item *it, unsigned slot)
{
	const char *save = again_file(s, slot, ".part");

	unlink(save);
	return sweep_start(s, it, save, again_file(s, slot, ".out"));
}

/* It has ended: did it show the finding? */
static bool has_shown(struct sweep *s, unsigned slot, uint64_t print)
{
	unlink(again_file(s, slot, ".out"));
	return has_print(again_file(s, slot, ".part"), print);
}

bool sweep_shows(struct sweep *s, const struct sweep_item *it, uint64_t print)
{
	pid_t pid = look(s, it, 0);
	int status;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return has_shown(s, 0, print) && pid > 0;
}

/* ---- the steps of a finding ------------------------------------------------------------------ */

struct replay {
	const struct sweep_found *found;
	struct sweep_item it, tried;
	unsigned tries; /* of the whole command */
	unsigned k;	/* the option that `tried` lacks, once the command has shown it */
	bool is_shown;
	pid_t pid;
	unsigned slot;
};

/* What is tried next; false: nothing, it is done. */
static bool choose(struct replay *x)
{
	x->tried = x->it;
	if (!x->is_shown)
		return x->tries++ < TRIES;
	for (unsigned m = x->k; x->tried.option[m]; m++)
		x->tried.option[m] = x->tried.option[m + 1];
	return x->it.option[x->k];
}

static void take(struct replay *x, bool has)
{
	if (!x->is_shown)
		x->is_shown = has;
	else if (has)
		x->it = x->tried;
	else
		x->k++;
}

/* Starts what can be tried next of it in its slot; false: it is done. */
static bool go_on(struct sweep *s, struct replay *x)
{
	while (choose(x)) {
		x->pid = look(s, &x->tried, x->slot);
		if (x->pid > 0)
			return true;
		take(x, false);
	}
	return false;
}

/* Waits for one of the n that run, and goes on with it; how many run then. */
static unsigned step(struct sweep *s, struct replay **running, unsigned n)
{
	int status;
	pid_t pid;

	do
		pid = waitpid(-1, &status, 0);
	while (pid < 0 && errno == EINTR);
	for (unsigned i = 0; i < n; i++) {
		struct replay *x = running[i];
		if (x->pid != pid)
			continue;
		take(x, has_shown(s, x->slot, x->found->print));
		if (go_on(s, x))
			return n;
		running[i] = running[n - 1];
		running[n - 1] = x; /* its slot is free */
		return n - 1;
	}
	return pid < 0 ? 0 : n;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void replay_all(struct sweep *s, struct replay *all, unsigned n)
{
	unsigned jobs = s->jobs < n ? s->jobs : n, busy = 0, next = 0;
	struct replay **running = BASE_NEWN(&s->arena, struct replay *, jobs + 1);
	unsigned *slots = BASE_NEWN(&s->arena, unsigned, jobs + 1);

	for (unsigned i = 0; i < jobs; i++)
		slots[i] = i;
	while (next < n || busy) {
		if (next < n && busy < jobs) {
			struct replay *x = &all[next++];
			x->slot = slots[busy];
			if (go_on(s, x))
				running[busy++] = x;
			continue;
		}
		unsigned left = step(s, running, busy);
		if (left < busy)
			slots[left] = running[left]->slot;
		busy = left;
	}
	for (unsigned i = 0; i < jobs; i++)
		unlink(again_file(s, i, ".part"));
}

static void put_command(struct sweep *s, const struct sweep_item *it, struct base_buf *out)
{
	base_buf_puts(out, "    collider run");
	for (size_t i = 0; i < s->passed.n; i++)
		base_buf_printf(out, " %s", s->passed.v[i]);
	for (unsigned i = 0; it->option[i]; i++)
		base_buf_printf(out, " %s", it->option[i]);
	base_buf_puts(out, " --");
	for (size_t i = 0; i < s->set->args.n; i++)
		base_buf_printf(out, " %s", s->set->args.v[i]);
}

/* In which order runs ended doesn't show. */
static int by_run(const struct sweep_found *x, const struct sweep_found *y)
{
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->print < y->print ? -1 : x->print > y->print;
}

void sweep_commands(struct sweep *s, struct sweep_tally *t, struct base_buf *out)
{
	unsigned count = HASH_COUNT(t->all), n = 0;
	struct replay *all = BASE_NEWN(&s->arena, struct replay, SHOWN);

	HASH_SORT(t->all, by_run);
	for (const struct sweep_found *e = t->all; e && n < SHOWN; e = e->hh.next, n++)
		all[n] = (struct replay){.found = e, .it = sweep_item_make(s, e->first)};
	replay_all(s, all, n);
	for (unsigned i = 0; i < n; i++) {
		const struct replay *x = &all[i];
		base_buf_printf(out, "%s: in %u of %u runs\n", x->found->line, x->found->seen,
				t->ended);
		put_command(s, &x->it, out);
		base_buf_puts(out, x->is_shown ? "\n" : "    # not seen again in two more runs\n");
	}
	if (count > n)
		base_buf_printf(out, "... and %u more\n", count - n);
}
