/*
 * sample.c - the limit that chooses N sites of all that are known.
 *
 * Costs: 8 bytes per group, and a sort for each module that is loaded. Without memory the groups
 * of a table are not counted, so that more of the others are taken.
 */
#include "race/sample.h"

#include <stdlib.h>
#include <string.h>

void race_sample_add(struct race_sample *s, uint64_t table, const unsigned char *leads,
		     uint32_t nsites, uint32_t seed)
{
	if (s->n + nsites > s->cap) {
		size_t cap = 2 * (s->n + nsites);
		struct race_sample_group *grown = realloc(s->groups, cap * sizeof(*grown));
		if (!grown)
			return;
		s->groups = grown;
		s->cap = cap;
	}
	for (uint32_t i = 0; i < nsites; i++) {
		if (leads[i]) {
			uint64_t key = race_sample_key(table, i);
			s->groups[s->n++] =
				(struct race_sample_group){race_sample_number(key, seed), 1};
		} else if (i) {
			s->groups[s->n - 1].sites++;
		}
	}
}

static int compare(const void *a, const void *b)
{
	const struct race_sample_group *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

uint32_t race_sample_limit(struct race_sample *s, uint32_t sites)
{
	uint64_t taken = 0;

	if (s->n)
		qsort(s->groups, s->n, sizeof(*s->groups), compare);
	for (size_t i = 0; i < s->n; i++) {
		taken += s->groups[i].sites;
		if (taken >= sites)
			return s->groups[i].number + 1 > RACE_SAMPLE_LIMIT_ALL
				       ? RACE_SAMPLE_LIMIT_ALL
				       : s->groups[i].number + 1;
	}
	return RACE_SAMPLE_LIMIT_ALL;
}

void race_sample_free(struct race_sample *s)
{
	free(s->groups);
	memset(s, 0, sizeof(*s));
}
