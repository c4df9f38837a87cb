/*
 * verify.c - does the oracle confirm what a detector has reported?
 *
 * A detector's finding is one access; a pair of the oracle confirms it when one of its sides is
 * that access. Both come from one schedule, but identify the instruction differently: the site
 * table counts lines of the PTX before instrumentation, the oracle those of the text that ran.
 * Instrumentation preserves the source line and the text of the user's statement, and both must be
 * equal where they are known. Operations of the host are compared by the number of the place that
 * requested them.
 *
 * Of two accesses of one thread to a location the oracle keeps the later one, which represents
 * both. So an access that it doesn't name is confirmed by another one of the same line and
 * direction, if that raced in the same object (variable or allocation).
 *
 * Misses: a wrong report where another access to the same object on the same line really races.
 */
#include "race/race.h"

#include <string.h>

static bool is_place(const struct race_finding *f, const struct race_side *s)
{
	if (f->transfer || s->flags & RACE_SIDE_HOST)
		return f->transfer && s->flags & RACE_SIDE_HOST && f->transfer->origin &&
		       f->transfer->origin == s->ptx_line;
	if (f->line || s->line)
		return f->line == s->line && !strcmp(f->file, s->file);
	return !strcmp(f->func, s->func);
}

/* Compares texts without what printers add at their end. */
static bool is_text(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	while (n && strchr(" \t\n", a[n - 1]))
		n--;
	while (m && strchr(" \t\n", b[m - 1]))
		m--;
	return n && n == m && !memcmp(a, b, n);
}

static bool is_instruction(const struct race_finding *f, const struct race_side *s)
{
	for (size_t i = 0; i < f->nsites; i++)
		if (is_text(f->sites[i].text, s->text))
			return true;
	return false;
}

static bool is_known(const struct race_finding *f)
{
	for (size_t i = 0; i < f->nsites; i++)
		if (*f->sites[i].text)
			return true;
	return false;
}

/* Was the finding's first sighting in the pair's object? A generic address of shared memory is not
 * compared: one would have to know whose block's it is. */
static bool is_object(const struct race_finding *f, const struct race_object *o)
{
	uint64_t at = f->first.address;

	if (o->memory == RACE_MEMORY_UNKNOWN ||
	    (o->memory == RACE_MEMORY_SHARED && f->first.is_generic))
		return true;
	return at >= o->base && at - o->base < o->bytes;
}

static bool is_there(const struct race_finding *f, const struct race_finding *pair, unsigned i)
{
	const struct race_side *s = &pair->sides[i];
	bool is_read = f->kind == RACE_KIND_CLOBBERED_READ || f->kind == RACE_KIND_NC_READ ||
		       f->kind == RACE_KIND_SPECULATED_READ;
	unsigned way = is_read ? RACE_SIDE_READS : RACE_SIDE_WRITES;

	if (!is_place(f, s))
		return false;
	if (f->transfer)
		return s->flags & way && is_object(f, &pair->met);
	if (is_instruction(f, s))
		return true;
	if (!f->line && !s->line)
		return false;
	return !is_known(f) || !*s->text || (s->flags & way && is_object(f, &pair->met));
}

/* By a pair of class `cls`, or one that is surer. */
static bool is_confirmed(const struct race_results *r, const struct race_finding *f,
			 enum race_class cls)
{
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct race_finding *o = &r->findings.v[i];
		if (o->sides && o->cls <= cls && (is_there(f, o, 0) || is_there(f, o, 1)))
			return true;
	}
	return false;
}

/* What a place has raced in is one finding, and the oracle's says more: it has both sides. */
void race_merge(struct race_results *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->findings.n; i++) {
		struct race_finding *f = &r->findings.v[i];
		bool is_single =
			!f->sides && f->kind < RACE_KIND_UNORDERED && !race_space_is_host(f->space);
		f->is_merged = is_single && is_confirmed(r, f, f->cls);
	}
	for (size_t i = 0; i < r->findings.n; i++)
		if (!r->findings.v[i].is_merged)
			r->findings.v[kept++] = r->findings.v[i];
	r->findings.n = kept;
}

size_t race_unconfirmed(const struct race_results *r, size_t *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < r->findings.n; i++) {
		const struct race_finding *f = &r->findings.v[i];
		if (f->sides || f->cls == RACE_CLASS_POSSIBLE || race_space_is_host(f->space) ||
		    is_confirmed(r, f, RACE_CLASS_COUNT))
			continue;
		if (n < max)
			out[n] = i;
		n++;
	}
	return n;
}
