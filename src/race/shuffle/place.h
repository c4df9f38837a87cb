/*
 * place.h - threads, and lines that they come to, as --delay and --only name them:
 * BLOCK[.THREAD][@LINE], joined by commas. BLOCK and THREAD are coordinates as reports show them,
 * X:Y:Z, or numbers, x counted first, N or N-M, or *.
 */
#ifndef COLLIDER_RACE_SHUFFLE_PLACE_H
#define COLLIDER_RACE_SHUFFLE_PLACE_H

#include "base/base.h"

struct race_numbers {
	bool is_at; /* coordinates `at`, else numbers */
	uint64_t first, last;
	uint32_t at[3];
};

struct race_where {
	struct race_numbers block, thread;
	uint32_t line; /* 0: none */
};

static inline bool race_numbers_have(const struct race_numbers *r, uint64_t number,
				     const uint32_t at[3])
{
	if (r->is_at)
		return r->at[0] == at[0] && r->at[1] == at[1] && r->at[2] == at[2];
	return number >= r->first && number <= r->last;
}

struct race_places {
	struct race_where *v;
	size_t n;
};

/* In the arena. False: the text at *wrong is no place; `has_lines`: lines may be named. */
bool race_places_read(struct base_arena *a, const char *text, bool has_lines,
		      struct race_places *out, const char **wrong);

#endif
