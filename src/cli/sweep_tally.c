/*
 * sweep_tally.c - what the runs of a sweep found: how often each finding was seen, and whether
 * further runs are worth it.
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

#define ENOUGH 20u

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
