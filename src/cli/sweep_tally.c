/*
 * sweep_tally.c - what the runs of a sweep found: how often each finding was seen, whether further
 * runs are worth it, and a command that shows a finding again.
 *
 * A finding is the same in two runs if kind, kernel and the lines of both sides are, in either
 * order.
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

/* ---- keys ----------------------------------------------------------------------------- */

static const char *side_key(struct base_arena *a, const char *file, uint32_t line, const char *func)
{
	return base_printf(a, "%s:%u %s", file, line, func);
}

static const char *key_of(struct base_arena *a, const struct race_finding *f)
{
	const char *kind = race_kind_name((unsigned)f->kind);
	const char *one = side_key(a, f->file, f->line, f->func), *two = "";

	if (f->sides) {
		const struct race_side *s = f->sides;
		one = side_key(a, s[0].file, s[0].line, s[0].func);
		two = side_key(a, s[1].file, s[1].line, s[1].func);
	}
	return strcmp(one, two) <= 0 ? base_printf(a, "%s|%s|%s", kind, one, two)
				     : base_printf(a, "%s|%s|%s", kind, two, one);
}

static const char *line_of(struct base_arena *a, const struct race_finding *f)
{
	const char *access = race_access_name(f->access);

	if (!f->sides)
		return base_printf(a, "%s:%u: %s: %s, in %s", f->file, f->line, access,
				   race_kind_name((unsigned)f->kind), f->func_shown);
	return base_printf(a, "%s:%u: %s races with %s:%u: %s, in %s", f->sides[0].file,
			   f->sides[0].line, race_access_name(f->sides[0].access), f->sides[1].file,
			   f->sides[1].line, race_access_name(f->sides[1].access), f->func_shown);
}

/* ---- counting ------------------------------------------------------------------------- */

static void count(struct sweep_tally *t, const struct race_finding *f, unsigned i,
		  struct sweep_found **in_run)
{
	const char *key = key_of(&t->arena, f);
	struct sweep_found *e;

	HASH_FIND_STR(*in_run, key, e);
	if (e)
		return; /* a second site of the same lines */
	e = BASE_NEW(&t->arena, struct sweep_found);
	e->key = key;
	HASH_ADD_KEYPTR(hh, *in_run, e->key, strlen(e->key), e);
	HASH_FIND_STR(t->all, key, e);
	if (!e) {
		e = BASE_NEW(&t->arena, struct sweep_found);
		e->key = key;
		e->line = line_of(&t->arena, f);
		e->first = i;
		HASH_ADD_KEYPTR(hh, t->all, e->key, strlen(e->key), e);
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
	struct sweep_found *in_run = NULL;
	int rc = rep_json_read(path, &r, &sink);

	cli_flush(&sink);
	t->ended++;
	for (size_t k = 0; k < r.findings.n && !rc; k++)
		if (r.findings.v[k].cls == RACE_CLASS_RACE)
			count(t, &r.findings.v[k], i, &in_run);
	HASH_CLEAR(hh, in_run);
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

static bool has_key(const char *path, const char *key)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	struct base_arena a = {0};
	bool has = false;

	if (!rep_json_read(path, &r, &sink))
		for (size_t i = 0; i < r.findings.n && !has; i++)
			has = !strcmp(key_of(&a, &r.findings.v[i]), key);
	base_sink_free(&sink);
	base_arena_free(&a);
	race_results_free(&r);
	return has;
}

/* Does a run with these options show the finding? */
static bool shows(struct sweep *s, const struct sweep_item *it, const char *key)
{
	const char *save = base_printf(&s->arena, "%s/again.%u.part", s->dir, s->share);
	const char *log = base_printf(&s->arena, "%s/again.%u.out", s->dir, s->share);
	pid_t pid = sweep_start(s, it, save, log);
	int status;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	bool has = pid > 0 && has_key(save, key);
	unlink(save);
	unlink(log);
	return has;
}

/* Leaves out each of the options that the finding doesn't need. */
static void shorten(struct sweep *s, struct sweep_item *it, const char *key)
{
	for (unsigned k = 0; it->option[k];) {
		struct sweep_item less = *it;
		for (unsigned m = k; less.option[m]; m++)
			less.option[m] = less.option[m + 1];
		if (shows(s, &less, key))
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
			again = shows(s, &it, e->key);
		if (again)
			shorten(s, &it, e->key);
		base_buf_printf(out, "%s: in %u of %u runs\n", e->line, e->seen, t->ended);
		put_command(s, &it, out);
		base_buf_puts(out, again ? "\n" : "    # not seen again in two more runs\n");
	}
}
