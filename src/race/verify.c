/*
 * verify.c - does the oracle confirm what a detector has told?
 *
 * A detector's finding is one access; a pair of the oracle confirms it when one of its sides is
 * that access. Both come from one schedule, but the instruction has two names: the site table
 * counts lines of the PTX before instrumentation, the oracle those of the text that ran. So places
 * are compared by source line, and without lines by function and PTX; operations of the host by
 * the number of the place that asked for them.
 *
 * Misses: a wrong report on a line that holds a real race of another access.
 */
#include "race/race.h"

#include <string.h>

static bool is_there(const struct race_finding *f, const struct race_side *s)
{
	if (f->transfer || s->flags & RACE_SIDE_HOST)
		return f->transfer && s->flags & RACE_SIDE_HOST && f->transfer->origin &&
		       f->transfer->origin == s->ptx_line;
	if (f->line || s->line)
		return f->line == s->line && !strcmp(f->file, s->file);
	if (strcmp(f->func, s->func))
		return false;
	for (size_t i = 0; i < f->nsites; i++)
		if (!strcmp(f->sites[i].text, s->text))
			return true;
	return false;
}

static bool is_confirmed(const struct race_results *r, const struct race_finding *f)
{
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct race_finding *o = &r->findings.v[i];
		if (o->sides && (is_there(f, &o->sides[0]) || is_there(f, &o->sides[1])))
			return true;
	}
	return false;
}

size_t race_unconfirmed(const struct race_results *r, size_t *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < r->findings.n; i++) {
		const struct race_finding *f = &r->findings.v[i];
		if (f->sides || f->cls == RACE_CLASS_POSSIBLE || is_confirmed(r, f))
			continue;
		if (n < max)
			out[n] = i;
		n++;
	}
	return n;
}
