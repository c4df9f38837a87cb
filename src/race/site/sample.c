/*
 * sample.c - the limit that chooses N sites of all that are known; which were checked, afterwards.
 *
 * Costs: 8 bytes per group, and a sort for each module that is loaded. Without memory the groups
 * of a table are not counted, so that more of the others are taken. The coverage maps of all
 * contexts are joined; of two groups that share a place in the map neither counts as checked.
 */
#include "race/site/sample.h"
#include "race/race.h"

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

/* ---- which sites were checked ---------------------------------------------------------------- */

struct cover {
	unsigned char *seen; /* by place: marked in some context */
	unsigned char *uses; /* by place: groups that could have marked it, 2 for more */
	uint32_t limit, seed;
};

static bool is_leader(const struct race_sites *t, uint32_t i)
{
	struct race_site s;

	return race_sites_get(t, i, &s) && (i == 0 || (s.flags & RACE_SITE_LEADS));
}

static void cover_count(struct cover *c, const struct race_sites *t)
{
	for (uint32_t i = 0; i < t->h.nsites; i++) {
		uint64_t key = race_sample_key(t->h.hash, i);
		unsigned char *n = &c->uses[race_sample_place(key)];
		if (is_leader(t, i) && race_sample_number(key, c->seed) < c->limit && *n < 2)
			(*n)++;
	}
}

static const char *text_of(struct race_results *out, const char *s)
{
	return race_text(&out->arena, s, strlen(s));
}

static void cover_take(struct race_results *out, const struct cover *c, const struct race_sites *t)
{
	uint32_t n = t->h.nsites;
	bool is_checked = false;
	struct race_coverage v = {
		.table = t->h.hash,
		.module = text_of(out, race_sites_text(t, t->h.module_name)),
		.target = text_of(out, race_sites_text(t, t->h.target)),
		.nsites = n,
		.leads = base_alloc(&out->arena, n + 1u),
		.checked = base_alloc(&out->arena, n + 1u),
	};

	for (uint32_t i = 0; i < n; i++) {
		v.leads[i] = is_leader(t, i);
		if (v.leads[i]) {
			uint64_t key = race_sample_key(t->h.hash, i);
			uint32_t place = race_sample_place(key);
			is_checked = race_sample_number(key, c->seed) < c->limit &&
				     c->seen[place] && c->uses[place] == 1;
		}
		v.checked[i] = is_checked;
	}
	base_vec_push(&out->coverage, v);
}

void race_cover_read(struct race_results *out, const void *map, size_t bytes,
		     const struct race_sites *const *tables, size_t n)
{
	const struct race_shm *head = map;
	uint32_t regions = head->nregions < RACE_REGIONS ? head->nregions : RACE_REGIONS;
	struct cover c = {.limit = head->sites_limit_used, .seed = head->seed};
	struct base_arena a = {0};

	if (!head->sites)
		return;
	c.seen = base_zalloc(&a, RACE_COVER);
	c.uses = base_zalloc(&a, RACE_COVER);
	for (uint32_t r = 0; r < regions; r++) {
		size_t at = RACE_SHM_REGION0 + (size_t)r * sizeof(struct race_region);
		if (at + sizeof(struct race_region) > bytes)
			break;
		const unsigned char *seen =
			(const unsigned char *)map + at + offsetof(struct race_region, cover);
		for (uint32_t i = 0; i < RACE_COVER; i++)
			c.seen[i] |= seen[i] != 0;
	}
	for (size_t i = 0; i < n; i++)
		cover_count(&c, tables[i]);
	for (size_t i = 0; i < n; i++)
		cover_take(out, &c, tables[i]);
	base_arena_free(&a);
}
