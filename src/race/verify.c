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
 * Of a transfer its place and direction are enough: one line of the host copies several buffers in
 * turn, and a pair names the one where it was first met.
 *
 * Misses: a wrong report where another access to the same object on the same line really races, or
 * where a transfer of the same place does, in any object.
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
		return s->flags & way;
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

/* ---- one finding for a place ---------------------------------------------------------------- */

static bool is_of_oracle(const struct race_finding *f)
{
	return f->sides && !race_is_kept_pair(f->kind);
}

static bool is_doubtful(const struct race_finding *f)
{
	return f->cls == RACE_CLASS_POSSIBLE || f->cls == RACE_CLASS_UNDECIDED;
}

static bool is_on_host(const struct race_finding *f)
{
	return race_space_is_host(f->space) || f->transfer ||
	       (f->sides && (f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_HOST);
}

/* Has the oracle judged every access of the run's kernels, and kept it? */
static bool is_judged_whole(const struct race_results *r)
{
	if (!r->has_oracle || r->is_oracle_full || r->is_judged_inexact || !r->judged ||
	    r->dropped || r->raced_out)
		return false;
	for (size_t i = 0; i < r->kernels.n; i++)
		if (r->kernels.v[i].why || r->kernels.v[i].cuts)
			return false;
	return true;
}

static bool is_same_side(const struct race_side *a, const struct race_side *b)
{
	if (a->line || b->line)
		return a->line == b->line && !strcmp(a->file, b->file);
	return a->ptx_line == b->ptx_line && !strcmp(a->func, b->func);
}

/* The same two places, in either order. */
static bool is_same_pair(const struct race_finding *a, const struct race_finding *b)
{
	const struct race_side *x = a->sides, *y = b->sides;

	return (is_same_side(&x[0], &y[0]) && is_same_side(&x[1], &y[1])) ||
	       (is_same_side(&x[0], &y[1]) && is_same_side(&x[1], &y[0]));
}

/* The oracle leaves a pair possible, and another detector has seen that it is a race: the value of
 * this very load was used. The finding has the oracle's sides and the surer class. */
static void take_surest(struct race_results *r, struct race_finding *o)
{
	for (size_t i = 0; i < r->findings.n && o->cls == RACE_CLASS_POSSIBLE; i++) {
		const struct race_finding *f = &r->findings.v[i];
		if (f->cls != RACE_CLASS_RACE || is_of_oracle(f) || is_on_host(f))
			continue;
		for (unsigned k = 0; k < 2 && !f->sides; k++)
			if (is_place(f, &o->sides[k]) && is_instruction(f, &o->sides[k]))
				o->cls = RACE_CLASS_RACE;
		if (f->sides && is_same_pair(f, o))
			o->cls = RACE_CLASS_RACE;
	}
}

/* Does the oracle have this pair, as surely? */
static bool has_pair(const struct race_results *r, const struct race_finding *f)
{
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct race_finding *o = &r->findings.v[i];
		if (is_of_oracle(o) && o->cls <= f->cls && is_same_pair(o, f))
			return true;
	}
	return false;
}

/* Is what a detector that knows causes says of a pair of one launch enough, whatever hirace
 * leaves undecided? It follows fences, scopes and locks beyond what hirace does: what it is silent
 * about is decided. (Not the other way round: hirace keeps no strong load, and nothing after a
 * location's first race.) */
static bool is_decided(const struct race_results *r, const struct race_finding *f)
{
	return f->kind == RACE_KIND_HISTORY_POSSIBLE && f->sides[0].grid == f->sides[1].grid &&
	       !r->no_causes && !r->threads_aside && !r->accesses_aside;
}

static bool is_said_better(const struct race_results *r, const struct race_finding *f,
			   bool is_whole)
{
	if (is_of_oracle(f) || is_on_host(f))
		return false;
	if (!f->sides && !race_has_two_sides(f->kind))
		return is_confirmed(r, f, f->cls) || (is_whole && is_doubtful(f));
	if (!f->sides)
		return false;
	return has_pair(r, f) || (is_whole && is_doubtful(f)) || is_decided(r, f);
}

static const char *place_text(struct race_results *r, const struct race_side *s)
{
	if (!*s->file)
		return *s->func_shown ? s->func_shown : "a place that was not kept";
	return base_printf(&r->arena, "%s:%u", s->file, s->line);
}

/* A pair that is left undecided makes the run partial, and says what may order it. */
static void note_undecided(struct race_results *r)
{
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct race_finding *f = &r->findings.v[i];
		struct race_gap gap = {.why = RACE_GAP_UNDECIDED, .kernel = f->func, .count = 1};

		if (f->cls != RACE_CLASS_UNDECIDED)
			continue;
		gap.what = base_printf(&r->arena, "%s and %s: %s (--show-possible)",
				       place_text(r, &f->sides[0]), place_text(r, &f->sides[1]),
				       race_may_text(f->may));
		if (!race_gap_has(r, &gap))
			race_gap_add(r, &gap);
	}
}

/*
 * What a place has raced in is one finding: the surest one, with the words of the oracle, which has
 * both sides, if it has the pair. Where the oracle has judged the whole run, what it doesn't report
 * is ordered, or its value was not used: so its silence removes what others find doubtful.
 */
void race_merge(struct race_results *r)
{
	bool is_whole = is_judged_whole(r);
	size_t kept = 0;

	for (size_t i = 0; i < r->findings.n; i++)
		if (is_of_oracle(&r->findings.v[i]))
			take_surest(r, &r->findings.v[i]);
	for (size_t i = 0; i < r->findings.n; i++)
		r->findings.v[i].is_merged = is_said_better(r, &r->findings.v[i], is_whole);
	for (size_t i = 0; i < r->findings.n; i++)
		if (!r->findings.v[i].is_merged)
			r->findings.v[kept++] = r->findings.v[i];
	r->findings.n = kept;
	note_undecided(r);
}

/* ---- confirmation --------------------------------------------------------------------------- */

size_t race_unconfirmed(const struct race_results *r, size_t *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < r->findings.n; i++) {
		const struct race_finding *f = &r->findings.v[i];
		if (f->sides || is_doubtful(f) || race_space_is_host(f->space) ||
		    is_confirmed(r, f, RACE_CLASS_COUNT))
			continue;
		if (n < max)
			out[n] = i;
		n++;
	}
	return n;
}
