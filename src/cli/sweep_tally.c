/*
 * sweep_tally.c - what the runs of a sweep found: how often each finding was seen, whether further
 * runs are worth it, and a command that shows a finding again.
 *
 * A finding is the same in two runs if its fingerprint is.
 *
 * When to stop: after n runs, the chance that the next one brings something new is about the share
 * of findings that were seen in one run only (Good's estimate). None was, and the last half of at
 * least 20 runs brought nothing new: that is the rule. Where nothing was found at all, it says
 * nothing, and all runs are made.
 */
#include "cli/sweep.h"
#include "cli/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENOUGH 20u
#define TRIES  2u /* of a command that may not show the finding each time */
#define SHOWN  50u

/* ---- counting ------------------------------------------------------------------------- */

static void count(struct sweep_tally *t, const struct rep_brief *f, unsigned i)
{
	struct sweep_found *e;

	HASH_FIND(hh, t->all, &f->print, sizeof(f->print), e);
	if (!e) {
		e = BASE_NEW(&t->arena, struct sweep_found);
		e->print = f->print;
		e->line = base_strdup(&t->arena, f->line);
		e->first = i;
		HASH_ADD(hh, t->all, print, sizeof(e->print), e);
		t->last_new = t->ended;
	}
	e->seen++;
	if (i < e->first)
		e->first = i;
}

int sweep_tally_add(struct sweep_tally *t, const char *path, unsigned i)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	struct base_arena a = {0};
	struct rep_brief *all = NULL;
	int rc = rep_json_read(path, &r, &sink);
	size_t n = rc ? 0 : rep_briefs(&a, &r, &all);

	cli_flush(&sink);
	t->ended++;
	for (size_t k = 0; k < n; k++)
		if (all[k].is_race)
			count(t, &all[k], i);
	base_arena_free(&a);
	race_results_free(&r);
	return rc;
}

bool sweep_tally_is_saturated(const struct sweep_tally *t)
{
	if (!t->all || t->ended < ENOUGH || t->last_new > t->ended / 2)
		return false;
	for (const struct sweep_found *e = t->all; e; e = e->hh.next)
		if (e->seen < 2)
			return false;
	return true;
}

void sweep_tally_free(struct sweep_tally *t)
{
	HASH_CLEAR(hh, t->all);
	base_arena_free(&t->arena);
}

/* ---- commands that show a finding -------------------------------------------------------- */

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

const char *sweep_again(struct sweep *s)
{
	return base_printf(&s->arena, "%s/again.%u.part", s->dir, s->share);
}

bool sweep_shows(struct sweep *s, const struct sweep_item *it, uint64_t print)
{
	const char *save = sweep_again(s);
	const char *log = base_printf(&s->arena, "%s/again.%u.out", s->dir, s->share);
	int status;

	unlink(save);
	pid_t pid = sweep_start(s, it, save, log);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	bool has = pid > 0 && has_print(save, print);
	unlink(log);
	return has;
}

/* Leaves out each of the options that the finding doesn't need. */
static void shorten(struct sweep *s, struct sweep_item *it, uint64_t print)
{
	for (unsigned k = 0; it->option[k];) {
		struct sweep_item less = *it;
		for (unsigned m = k; less.option[m]; m++)
			less.option[m] = less.option[m + 1];
		if (sweep_shows(s, &less, print))
			*it = less;
		else
			k++;
	}
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

void sweep_commands(struct sweep *s, struct sweep_tally *t, struct base_buf *out)
{
	unsigned n = 0;

	for (const struct sweep_found *e = t->all; e; e = e->hh.next) {
		if (n++ == SHOWN) {
			base_buf_printf(out, "... and %u more\n", HASH_COUNT(t->all) - SHOWN);
			break;
		}
		struct sweep_item it = sweep_item_make(s, e->first);
		bool again = false;
		for (unsigned k = 0; k < TRIES && !again; k++)
			again = sweep_shows(s, &it, e->print);
		if (again)
			shorten(s, &it, e->print);
		base_buf_printf(out, "%s: in %u of %u runs\n", e->line, e->seen, t->ended);
		put_command(s, &it, out);
		base_buf_puts(out, again ? "\n" : "    # not seen again in two more runs\n");
	}
	unlink(sweep_again(s));
}
