/*
 * near.c - which entries of a view have a place in common: those that may be one finding.
 *
 * An entry is listed under the places of its two sides, as group.c compares them, and under the
 * line of each. So an entry is compared with those beside it, and not with all of a report.
 * Costs: four entries of a table for each entry with two sides.
 */
#include "report/internal.h"

#include "base/table.h"

#include <stdlib.h>
#include <string.h>

struct bucket {
	UT_hash_handle hh;
	BASE_VEC(size_t) at; /* rising */
};

struct rep_near {
	struct bucket *buckets;
	BASE_VEC(size_t) found;
};

/* A line, whichever function it is shown as. */
static const char *line_key(struct base_arena *a, const char *file, uint32_t line, const char *func)
{
	return base_printf(a, "line %u|%s|%s", line, file, func);
}

static void list(struct rep_near *x, struct base_arena *a, const char *key, size_t at)
{
	struct bucket *b;

	HASH_FIND_STR(x->buckets, key, b);
	if (!b) {
		b = BASE_NEW(a, struct bucket);
		HASH_ADD_KEYPTR(hh, x->buckets, key, strlen(key), b);
	}
	if (!b->at.n || b->at.v[b->at.n - 1] != at)
		base_vec_push(&b->at, at);
}

struct rep_near *rep_near_new(struct rep_view *v)
{
	struct rep_near *x = BASE_NEW(&v->arena, struct rep_near);

	for (size_t i = 0; i < v->entries.n; i++) {
		const struct rep_entry *e = &v->entries.v[i];
		for (unsigned k = 0; k < 2 && e->f.sides; k++) {
			const struct race_side *s = &e->f.sides[k];
			list(x, &v->arena, e->place[k], i);
			list(x, &v->arena, line_key(&v->arena, s->file, s->line, s->func), i);
		}
	}
	return x;
}

void rep_near_free(struct rep_near *x)
{
	struct bucket *b, *next;

	HASH_ITER(hh, x->buckets, b, next)
	{
		HASH_DEL(x->buckets, b);
		base_vec_free(&b->at);
	}
	base_vec_free(&x->found);
}

#define LISTS 3

static const struct bucket *take(const struct rep_near *x, const char *key)
{
	struct bucket *b;

	HASH_FIND_STR(x->buckets, key, b);
	return b;
}

/* All numbers of the lists, rising, each once. */
static void merge(struct rep_near *x, const struct bucket *const from[LISTS])
{
	size_t i[LISTS] = {0};

	x->found.n = 0;
	for (;;) {
		size_t least = SIZE_MAX;
		for (unsigned k = 0; k < LISTS; k++)
			if (from[k] && i[k] < from[k]->at.n && from[k]->at.v[i[k]] < least)
				least = from[k]->at.v[i[k]];
		if (least == SIZE_MAX)
			return;
		for (unsigned k = 0; k < LISTS; k++)
			i[k] += from[k] && i[k] < from[k]->at.n && from[k]->at.v[i[k]] == least;
		base_vec_push(&x->found, least);
	}
}

size_t rep_near_of(struct rep_near *x, struct rep_view *v, size_t at, const size_t **found)
{
	const struct rep_entry *e = &v->entries.v[at];
	const struct race_finding *f = &e->f;
	const struct bucket *from[LISTS] = {NULL};

	if (f->sides) {
		const struct race_side *s = &f->sides[0];
		from[0] = take(x, e->place[0]);
		from[1] = take(x, e->place[1]);
		from[2] = take(x, line_key(&v->arena, s->file, s->line, s->func));
	} else {
		from[0] = take(x, line_key(&v->arena, f->file, f->line, f->func));
	}
	merge(x, from);
	*found = x->found.v;
	return x->found.n;
}
