/*
 * place.c - reads the places of --delay and --only (place.h).
 */
#include "race/shuffle/place.h"

#include <stdlib.h>

static bool read_number(const char **at, uint64_t *n)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*n = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

/* "*", N, N-M or X:Y:Z; moves *at past it. */
static bool read_numbers(const char **at, struct race_numbers *r)
{
	uint64_t n[3] = {0};

	*r = (struct race_numbers){.last = UINT64_MAX};
	if (**at == '*') {
		++*at;
		return true;
	}
	if (!read_number(at, &n[0]))
		return false;
	r->first = r->last = n[0];
	if (**at == '-') {
		++*at;
		return read_number(at, &r->last) && r->first <= r->last;
	}
	for (unsigned i = 1; i < 3 && **at == ':'; i++) {
		++*at;
		r->is_at = true;
		if (!read_number(at, &n[i]))
			return false;
	}
	for (unsigned i = 0; i < 3; i++)
		r->at[i] = (uint32_t)n[i];
	return true;
}

static bool read_place(const char **at, bool has_lines, struct race_where *p)
{
	*p = (struct race_where){.thread = {.last = UINT64_MAX}};
	if (!read_numbers(at, &p->block))
		return false;
	if (**at == '.') {
		++*at;
		if (!read_numbers(at, &p->thread))
			return false;
	}
	if (**at == '@' && has_lines) {
		char *end;
		++*at;
		if (**at < '1' || **at > '9')
			return false;
		p->line = (uint32_t)strtoul(*at, &end, 10);
		*at = end;
	}
	return !**at || **at == ',';
}

bool race_places_read(struct base_arena *a, const char *text, bool has_lines,
		      struct race_places *out, const char **wrong)
{
	size_t n = 1;

	for (const char *at = text; *at; at++)
		n += *at == ',';
	out->v = BASE_NEWN(a, struct race_where, n);
	for (out->n = 0; out->n < n; out->n++) {
		*wrong = text;
		if (!read_place(&text, has_lines, &out->v[out->n]))
			return false;
		text += *text == ',';
	}
	return true;
}
