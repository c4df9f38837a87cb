/*
 * counter.c - the rows of counters.def and kinds.def as arrays.
 */
#include "race/race.h"

#define SAME(field) offsetof(struct race_results, field), sizeof(((struct race_results *)0)->field)

/* clang-format off */
const struct race_counter race_counters[RACE_COUNTERS_COUNT] = {
#define COUNTER(place, when, field, json, noun) \
	[RACE_COUNTER_##field] = {json, noun, SAME(field), RACE_IN_##place, RACE_WHEN_##when, false},
#define FLAG(place, field, json) \
	[RACE_COUNTER_##field] = {json, "", SAME(field), RACE_IN_##place, RACE_WHEN_FLAG, false},
#define EXACT(place, field, json, missing) \
	[RACE_COUNTER_##field] = {json, "", SAME(field), RACE_IN_##place, RACE_WHEN_EXACT, missing},
#include "race/counters.def"
};

const struct race_kind_row race_kinds[RACE_KIND_COUNT] = {
#define KIND(id, number, name, cls, title, sentence, fix, fix_shared, fix_cluster) \
	[number] = {name, RACE_CLASS_##cls, title, sentence, fix, fix_shared, fix_cluster},
#include "race/kinds.def"
};
/* clang-format on */

uint64_t race_counter_get(const struct race_results *r, enum race_counter_id id)
{
	const struct race_counter *c = &race_counters[id];
	const char *at = (const char *)r + c->at;

	if (c->bytes == sizeof(uint64_t))
		return *(const uint64_t *)(const void *)at;
	return c->bytes == sizeof(uint32_t) ? *(const uint32_t *)(const void *)at
					    : *(const bool *)(const void *)at;
}

void race_counter_add(struct race_results *r, enum race_counter_id id, uint64_t n)
{
	const struct race_counter *c = &race_counters[id];
	char *at = (char *)r + c->at;

	if (c->bytes == sizeof(uint64_t))
		*(uint64_t *)(void *)at += n;
	else if (c->bytes == sizeof(uint32_t))
		*(uint32_t *)(void *)at += (uint32_t)n;
	else
		*(bool *)(void *)at |= n != 0;
}
