/*
 * frontier.h - a set of equal-sized items, each with a number of times: the executions of one
 * length that an exhaustive test still follows. Items are compared as bytes, so they have no
 * padding.
 */
#ifndef COLLIDER_TESTS_HIRACE_RULES_FRONTIER_H
#define COLLIDER_TESTS_HIRACE_RULES_FRONTIER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct frontier {
	size_t size; /* bytes of an item; the rest begins as 0 */
	char *items;
	uint64_t *times;
	size_t n, room, *slots, nslots;
};

static inline size_t frontier_hash(const struct frontier *f, const void *item)
{
	const unsigned char *p = item;
	uint64_t h = 0xcbf29ce484222325ull, w;
	size_t i = 0;

	for (; i + 8 <= f->size; i += 8) {
		memcpy(&w, p + i, 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	for (; i < f->size; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return (size_t)(h ^ h >> 29);
}

static inline void frontier_enlarge(struct frontier *f)
{
	f->nslots = f->nslots ? f->nslots * 2 : 1u << 12;
	f->room = f->nslots / 2;
	free(f->slots);
	f->slots = calloc(f->nslots, sizeof(*f->slots));
	f->items = realloc(f->items, f->room * f->size);
	f->times = realloc(f->times, f->room * sizeof(*f->times));
	if (!f->slots || !f->items || !f->times)
		abort();
	for (size_t i = 0; i < f->n; i++) {
		size_t at = frontier_hash(f, f->items + i * f->size) & (f->nslots - 1);

		while (f->slots[at])
			at = (at + 1) & (f->nslots - 1);
		f->slots[at] = i + 1;
	}
}

static inline void frontier_add(struct frontier *f, const void *item, uint64_t times)
{
	if (f->n >= f->room)
		frontier_enlarge(f);
	size_t at = frontier_hash(f, item) & (f->nslots - 1);
	while (f->slots[at]) {
		if (!memcmp(f->items + (f->slots[at] - 1) * f->size, item, f->size)) {
			f->times[f->slots[at] - 1] += times;
			return;
		}
		at = (at + 1) & (f->nslots - 1);
	}
	memcpy(f->items + f->n * f->size, item, f->size);
	f->times[f->n++] = times;
	f->slots[at] = f->n;
}

static inline void frontier_free(struct frontier *f)
{
	free(f->items);
	free(f->times);
	free(f->slots);
	*f = (struct frontier){.size = f->size};
}

#endif
